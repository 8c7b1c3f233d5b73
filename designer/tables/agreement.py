"""Agreeing tables of a plan: counts, and sums of one measure, of the same records over several levels add up the same cells.

The cells of queries over different key columns are the combinations of their groups that fit together: equal labels in columns
that they share, and codes that begin with each other where columns are prefixes of one. Whether every record is in a listed
group is nothing that a release tells; it is taken for granted, and said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from designer.base.answer_table import AnswerTable, ConfidenceLimits, symmetric_limits, tables_in_order
from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.published_margins import PublishedSums
from designer.certificate.agreement import AgreeingTables, Agreement, agreed, require_cells
from designer.mechanism.agreeing_answers import LEAST_SQUARES, AnswerSpace, best_basis, require_few
from designer.tables.answers import Answer, TableRelease
from designer.tables.groups import Labels
from designer.tables.other_noise import PureSum
from designer.tables.plan import TablePlan
from designer.tables.queries import Additive, Aggregated, Count, CountDistinct, Sum
from designer.tables.unit_splitting import Key

LISTED = " Every record is taken to be in one listed group of every query; what no group counts is taken for noise."


class PlanAgreement(Agreement[TablePlan, TableRelease]):
    """Each family of queries by itself; quantiles, averages and groups that were found have no agreeing numbers."""

    def require(self, mechanism: TablePlan, published: PublishedSums | None) -> None:
        families, reasons = _families(mechanism)
        if not families:
            raise InvalidProblem(f"--consistent: no query of this plan has agreeing numbers: {next(iter(reasons.values()))}")
        for family in families:
            family.exact(published, alone=len(families) == 1)
        known = {query.name for family in families for query in family.queries}
        if published is not None and (unknown := set(published.tables) - known - {""}):
            raise InvalidProblem(
                f"published: table {shown(min(unknown))} is no query with agreeing numbers; use {shown(sorted(known))}."
            )

    def made(
        self, mechanism: TablePlan, released: TableRelease, published: PublishedSums | None, whole: bool
    ) -> AgreeingTables:
        families, reasons = _families(mechanism)
        found: dict[str, Floats] = {}
        for family in families:
            numbers, words = family.agreed(
                [released[query.name] for query in family.queries], published, len(families) == 1, whole
            )
            found |= numbers
        names = [table.name for table in released.answer_tables()]
        return AgreeingTables(
            tuple(map(found.get, names)), tuple("" if n in found else reasons[n] for n in names), words + LISTED, whole
        )

    def require_unbiased(self, mechanism: TablePlan, whole: bool) -> None:
        super().require_unbiased(mechanism, whole)
        families, reasons = _families(mechanism)
        if not families:
            raise InvalidProblem(f"--consistent: no query of this plan has agreeing numbers: {next(iter(reasons.values()))}")
        for family in families:
            if any(isinstance(query, PureSum) for query in family.queries):
                raise InvalidProblem("--consistent unbiased: is there for plans with Gaussian noise; use --consistent integer.")
            require_few(sum(len(query.groups.keys or ()) for query in family.queries), len(family.cells))

    def unbiased(self, mechanism: TablePlan, released: TableRelease, whole: bool) -> AgreeingTables:
        families, reasons = _families(mechanism)
        found = {name: own for family in families for name, own in family.least_squares(released).items()}
        names = [table.name for table in released.answer_tables()]
        tables = [
            found[name].table if name in found else own for name, own in zip(names, released.answer_tables(), strict=True)
        ]
        numbers = tuple(found[name].numbers if name in found else None for name in names)
        laws = tables_in_order(tables, LeastSquaresLaw(tuple(map(found.get, names))), released)
        why = tuple("" if name in found else reasons[name] for name in names)
        return AgreeingTables(numbers, why, LEAST_SQUARES + LISTED, False, laws=laws)


@dataclass(frozen=True, eq=False)
class QueryLeastSquares:
    """The least squares of the answers of one query, as a table, (G,); as decimals that add up; and how far the grid of the
    noise, in all and in each of them, moves what is normal.

    grid: the norm of half a step of all noise, in its deviations. reaches: (G,), the most that half a step of each adds up to.
    """

    table: AnswerTable
    numbers: Floats
    grid: float
    reaches: Floats

    def margins(self, share: float) -> Floats:
        """Numbers, (G,), that the noise of an answer exceeds with a probability of at most `share`: quantiles of the normal law
        and what the grid adds, or exponential moments (docs/theory/foundations.md, 5)."""
        from scipy.stats import norm

        assert self.table.standard_errors is not None
        by_cells = self.table.standard_errors * norm.isf(share * math.exp(-(self.grid**2) / 2) / 2) + self.reaches
        return np.asarray(np.minimum(by_cells, self.table.standard_errors * math.sqrt(2 * math.log(2 / share))))


@dataclass(frozen=True, eq=False)
class LeastSquaresLaw:
    """Intervals of the least squares of a plan; none of queries that have none."""

    parts: tuple[QueryLeastSquares | None, ...]

    def _limits_of(self, released: TableRelease, level: float, simultaneous: bool) -> ConfidenceLimits:
        """By Bonferroni's bound for all at once."""
        sizes = [len(table.answers) for table in released.answer_tables()]
        count = sum(size for part, size in zip(self.parts, sizes, strict=True) if part)
        share = (1 - level) / (count if simultaneous else 1)
        law = "quantiles of the normal law, and what the grid adds"
        ends = []
        for part, size in zip(self.parts, sizes, strict=True):
            margins = np.full(size, np.nan) if part is None else part.margins(share)
            answers = np.full(size, np.nan) if part is None else part.table.answers
            ends.append(symmetric_limits(answers, margins, np.zeros(size, dtype=bool), law))
        lower, upper = (np.concatenate(part) for part in zip(*((own.lower, own.upper) for own in ends), strict=True))
        return ConfidenceLimits(lower, upper, f"{law}, Bonferroni over {count} answers" if simultaneous else law)


@dataclass
class _Family:
    """Queries whose answers are sums of the same cells.

    columns: the key columns of all of them, by name. cells: their labels, (N, columns).
    """

    queries: list[Aggregated]
    columns: list[Key] = field(default_factory=list)
    cells: list[Labels] = field(default_factory=list)

    @property
    def step(self) -> Fraction:
        """Of which the answers are whole multiples."""
        return self.queries[0].step

    def laid_out(self) -> _Family:
        """The same with its cells; `InvalidProblem` where groups of one query have no part in another."""
        for one, other in combinations(self.queries, 2):
            shared = [key for key in one.groups.columns if key in other.groups.columns]
            mine, theirs = _projected(one, shared), _projected(other, shared)
            if mine != theirs:
                raise InvalidProblem(
                    f"--consistent: {shown(one.name)} and {shown(other.name)} list different groups of "
                    f"{[key.name for key in shared]}, such as {shown(min(mine ^ theirs))}; list the same ones in both.",
                    value=one.name,
                )
        self.columns, self.cells = [], [()]
        for query in self.queries:
            self._join(query)
        for query in self.queries:
            if missing := set(query.groups.keys or ()) - set(self._parts(query)):
                raise InvalidProblem(
                    f"--consistent: group {shown(min(missing))} of {shown(query.name)} has no part in the other queries; list "
                    "complete groups."
                )
        return self

    def _join(self, query: Aggregated) -> None:
        """The cells that go with a group of the query, each with the labels that are new."""
        own, keys = query.groups.columns, query.groups.keys or ()
        here = [(self.columns.index(key), place) for place, key in enumerate(own) if key in self.columns]
        new = [place for place, key in enumerate(own) if key not in self.columns]
        by_shared: dict[Labels, list[Labels]] = {}
        for labels in keys:
            by_shared.setdefault(tuple(labels[place] for _, place in here), []).append(tuple(labels[p] for p in new))
        columns = [*self.columns, *(own[place] for place in new)]
        nested = [(a, b) for a, b in combinations(range(len(columns)), 2) if columns[a].column == columns[b].column]
        cells: list[Labels] = []
        for cell in self.cells:
            for more in by_shared.get(tuple(cell[place] for place, _ in here), []):
                joined = (*cell, *more)
                if all(_begin(joined[a], joined[b]) for a, b in nested):
                    cells.append(joined)
            require_cells(len(cells), "the groups of its queries")
        self.columns, self.cells = columns, cells

    def _parts(self, query: Aggregated) -> list[Labels]:
        """The group of a query that each cell is in."""
        places = [self.columns.index(key) for key in query.groups.columns]
        return [tuple(cell[place] for place in places) for cell in self.cells]

    def rows(self, query: Aggregated) -> Any:
        """Its answers as sums of cells, (G, N), sparse."""
        from scipy.sparse import csr_array

        place = query.groups.place
        rows = np.array([place[labels] for labels in self._parts(query)], dtype=np.intp)
        return csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(len(place), len(rows)))

    def exact(self, published: PublishedSums | None, alone: bool) -> list[tuple[Any, Floats]]:
        """Published sums of its cells, in steps. alone: rows that name no query speak of it."""
        if published is None:
            return []
        if not alone and "" in published.tables:
            raise InvalidProblem(
                "published: a row names no query, and the plan has several kinds; name it in the column table."
            )
        own = published.about("", *(query.name for query in self.queries))
        rows, values = own.matched([key.name for key in self.columns], self.cells)
        return [(rows, values / float(self.step))]

    def agreed(
        self, answers: Sequence[Answer], published: PublishedSums | None, alone: bool, whole: bool
    ) -> tuple[dict[str, Floats], str]:
        """The numbers of each of its queries, by name, and what was done."""
        from scipy.sparse import vstack

        step = float(self.step)
        near = np.concatenate([answer.values for answer in answers]) / step
        spread = np.concatenate([np.sqrt(np.asarray(answer.variances)) for answer in answers]) / step
        sums = vstack([self.rows(query) for query in self.queries])
        joined, words = agreed(sums, near, spread, self.exact(published, alone), whole)
        ends = np.cumsum([len(answer.keys) for answer in answers])[:-1]
        return {a.name: part * step for a, part in zip(answers, np.split(joined, ends), strict=True)}, words

    def least_squares(self, released: TableRelease) -> dict[str, QueryLeastSquares]:
        """The least squares of the answers of each of its queries, by name."""
        from scipy.sparse import vstack

        answers = [released[query.name] for query in self.queries]
        step = float(self.step)
        units = np.concatenate([_parameters(query, answer) for query, answer in zip(self.queries, answers, strict=True)])
        space = AnswerSpace.of(vstack([self.rows(query) for query in self.queries]).toarray(), np.zeros(len(units), dtype=bool))
        kept = best_basis(space, np.diag(units))
        weights = np.eye(len(units)) if kept is None else space.sums @ kept
        values = weights @ np.concatenate([answer.values for answer in answers])
        errors = step * np.sqrt(np.square(weights) @ units)
        numbers, grid = space.decimals(values, errors), math.sqrt((1 / units).sum()) / 2
        reaches = step * np.abs(weights).sum(axis=1) / 2
        made, first = {}, 0
        for answer in answers:
            own = slice(first, first + len(answer.keys))
            first = own.stop
            table = replace(answer.table(), answers=values[own], standard_errors=errors[own])
            made[answer.name] = QueryLeastSquares(table, numbers[own], grid, reaches[own])
        return made


def _parameters(query: Aggregated, answer: Answer) -> Floats:
    """Variances of discrete Gaussian noise, in squared steps, or a little more, (G,)."""
    assert isinstance(query, Additive)
    return np.broadcast_to([float(v) for v in query.grid_variances(answer.keys)], len(answer.keys))


def _families(plan: TablePlan) -> tuple[list[_Family], dict[str, str]]:
    """The queries that are sums of the same cells, laid out, and why others have no agreeing numbers."""
    kinds: dict[Any, _Family] = {}
    reasons = {query.name: "It is no sum of parts, so nothing must add up." for query in plan.queries}
    for query in plan.noisy:
        reason = _alone(query)
        if reason:
            reasons[query.name] = reason
        else:
            kinds.setdefault(_kind(query), _Family([])).queries.append(query)
    return [family.laid_out() for family in kinds.values()], reasons


def _kind(query: Aggregated) -> Any:
    """What is counted or added up of which records; distinct values are of no other query's."""
    if isinstance(query, CountDistinct):
        return query.name
    return "sum" if isinstance(query, (Sum, PureSum)) else "count", getattr(query, "measure", None), frozenset(query.where)


def _alone(query: Aggregated) -> str:
    """Why a query has no agreeing numbers; nothing where it has."""
    if not isinstance(query, (Count, CountDistinct, Sum, PureSum)):
        return "The variance of its noise depends on the sum, so nothing says what is near."
    if query.groups.keys is None:
        return "Its groups were found by their noisy sizes, so that others are missing."
    if getattr(query, "measure", None) is not None and query.measure.lower < 0:  # type: ignore[union-attr]
        return "Its measure may be below 0."
    return ""


def _projected(query: Aggregated, shared: Sequence[Key]) -> set[Labels]:
    places = [query.groups.columns.index(key) for key in shared]
    return {tuple(labels[place] for place in places) for labels in query.groups.keys or ()}


def _begin(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
