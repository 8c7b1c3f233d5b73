"""Agreeing tables of answers to linear queries: the counts of the elements behind them, with the published statistics.

Releases of answers to linear queries as files: noisy multiples of the steps, and the answers that follow from them.

What releases cost together: a budget, or the length that it allows under a delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.published_margins import PublishedSums
from designer.base.schema import list_of, noted, or_null, record, whole
from designer.certificate.agreement import (
    BY_NAME,
    RESTORE,
    AgreeingTables,
    Agreement,
    ReleaseForm,
    ReleaseKeys,
    agreed,
    as_entry,
    require_cells,
    whole_numbers,
)
from designer.certificate.change_norms import ByLength
from designer.certificate.norms import Norm
from designer.mechanism.additive import WITH_DELTA, AdditiveMechanism, is_unwritten
from designer.mechanism.composition import CompositionOfCounts, cost_of_falloff, single_changes
from designer.mechanism.interface import GridMechanism, Mechanism
from designer.mechanism.release import Release, kept_rows
from designer.problem.compressed_rows import IntervalRows, entries_of, extremes, rows_of
from designer.problem.relation import Relation
from designer.problem.workload import Workload
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.tradeoff.conversions import rho_of_pure
from designer.tradeoff.costs import Cost
from designer.tradeoff.functions import EpsilonDelta, Tradeoff, discrete_laplace
from solvers.exact.points import is_combination

MEASURED = noted(
    "What got noise: number k is multiples[k] times 2^exponents[k]. Null where the answers do not determine all of them.",
    or_null(record({"exponents": list_of(whole()), "multiples": list_of(whole())})),
)
MOST_NAMED = 8
G = TypeVar("G", bound=GridMechanism)


class GridForm(ReleaseForm[GridMechanism, Release]):
    """Answers by the names of their queries."""

    schema: ClassVar[ReleaseKeys] = {"answers": BY_NAME, "standard_errors": BY_NAME, "measured": MEASURED}
    checked = (
        "Every measured number is a whole multiple of its step, and on the coset that the noise can reach.",
        "Every answer, standard error and exactly published statistic is the one that follows from these multiples.",
    )

    def content(self, mechanism: GridMechanism, released: Release) -> dict[str, Any]:
        names = mechanism.workload.queries
        multiples = released.multiples
        return {
            "answers": dict(zip(names, released.answers.tolist(), strict=True)),
            "standard_errors": dict(zip(names, mechanism.standard_errors().tolist(), strict=True)),
            "measured": None
            if multiples is None
            else {"exponents": list(mechanism.grid.exponents), "multiples": list(multiples)},
        }

    def unchecked(self, mechanism: GridMechanism) -> tuple[str, ...]:
        if mechanism._tells_multiples:
            return ()
        return ("Whether the answers are on the grid: they do not determine what was measured, so that is not in the file.",)

    def published(self, mechanism: GridMechanism, released: Release) -> list[dict[str, Any]]:
        return [
            *_exact_answers(mechanism, released),
            *_number_of_records(mechanism, released),
            *_kept_statistics(mechanism, released),
        ]

    def rebuilt(self, mechanism: GridMechanism, content: Mapping[str, Any]) -> Release:
        if not mechanism._tells_multiples:
            return _as_answered(mechanism, content["answers"])
        if not isinstance(content["measured"], dict):
            raise InvalidSpec(f"measured: is missing, which this mechanism's answers determine; {RESTORE}")
        multiples = whole_numbers(content["measured"].get("multiples"), len(mechanism.grid.exponents), "measured.multiples")
        self._require_reachable(mechanism, multiples)
        return mechanism._release_of(multiples)

    def _require_reachable(self, mechanism: GridMechanism, multiples: list[int]) -> None:
        """The multiples are `M x + z` for whole counts x and some z on the coset of the noise: less its offset, a whole
        combination of the columns of M and of the rows of its lattice."""
        heard, silent = np.flatnonzero(mechanism._heard), np.flatnonzero(~mechanism._heard)
        if any(multiples[k] < 0 <= rows_of(mechanism.integers, [k]).min() for k in silent):
            raise InvalidSpec(f"measured.multiples: a number without noise is below 0, which no counts give; {RESTORE}")
        offset, lattice = mechanism._coset
        places = silent if lattice is None else np.concatenate([heard, silent])
        wanted = [multiples[k] for k in places]
        if not wanted:
            return
        rows = np.unique(rows_of(mechanism.integers, places).T, axis=0).astype(np.int64).astype(object)
        if lattice is not None:
            wanted = [m - o for m, o in zip(wanted, [*offset, *[0] * len(silent)], strict=True)]
            rows = np.vstack([rows, np.hstack([lattice, np.zeros((len(lattice), len(silent)), dtype=object)])])
        if not is_combination(wanted, rows):
            raise InvalidSpec(f"measured.multiples: no counts and no noise of this mechanism add up to them; {RESTORE}")


def _as_answered(mechanism: GridMechanism, answers: Any) -> Release:
    """A release whose measured numbers are not told: the answers as they are, by the names of the queries."""
    names = mechanism.workload.queries
    floats = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
    if not isinstance(answers, dict) or set(answers) != set(names):
        raise InvalidSpec(f"answers: has not exactly the names of the queries; {RESTORE}")
    values = [floats.get(value, value) if isinstance(value, str) else value for value in map(answers.__getitem__, names)]
    if not all(type(value) is float for value in values):
        raise InvalidSpec(f"answers: {shown(answers)} are not all floats; {RESTORE}", value=answers)
    blank = mechanism._release_of([0] * len(mechanism.grid.exponents))
    return Release(np.array(values), names, blank.guarantee, blank.fingerprint, kept=blank.kept, law=blank.law)


def _exact_answers(mechanism: GridMechanism, released: Release) -> list[dict[str, Any]]:
    """The answers that no noise reaches."""
    place = {name: k for k, name in enumerate(mechanism.workload.queries)}
    found = []
    for name in mechanism.exact:
        k = place[name]
        if mechanism.reconstruction is None and released.multiples is not None:
            found.append(as_entry(name, released.multiples[k] * mechanism.grid.step(k)))
        else:
            found.append(as_entry(name, float(released.answers[k])))
    return found


def _number_of_records(mechanism: GridMechanism, released: Release) -> list[dict[str, Any]]:
    """What measured numbers without noise tell of it, where every record counts alike in one of them."""
    if mechanism.reconstruction is None or released.multiples is None:
        return []
    units = {k: {*mechanism.integers[k].tolist()} for k in np.flatnonzero(~mechanism._heard)}
    alike = [Fraction(released.multiples[k], unit.pop()) for k, unit in units.items() if len(unit) == 1 and unit != {0}]
    return [as_entry("number of records", alike[0])] if alike else []


def _kept_statistics(mechanism: GridMechanism, released: Release) -> list[dict[str, Any]]:
    """The statistics of the answers that are those of the true counts."""
    kept = np.zeros((0, 0)) if released.kept is None else released.kept
    known, elements = known_statistics(mechanism.relation), mechanism.workload.elements
    return [
        as_entry(known.get(tuple(row), _sum_words(row, elements)), _whole_sum(row, released.answers)) for row in kept.tolist()
    ]


def known_statistics(relation: Relation) -> dict[tuple[float, ...], str]:
    """The names of the public statistics of an invariant, by their rows; none under a metric."""
    invariant = getattr(relation, "invariant", None)
    if invariant is None:
        return {}
    names = [*invariant.names, *["number of records"] * (len(invariant.sums) - len(invariant.names))]
    return {tuple(map(float, row)): name for row, name in zip(invariant.sums.tolist(), names, strict=True)}


def _sum_words(row: list[float], elements: tuple[str, ...]) -> str:
    """A statistic in words: its elements with their factors."""
    parts = [f"{'' if a == 1 else f'{a:g} '}{name}" for a, name in zip(row, elements, strict=True) if a]
    return " + ".join(parts[:MOST_NAMED]) + (" and more" if len(parts) > MOST_NAMED else "")


def _whole_sum(row: list[float], answers: Floats) -> int | float:
    """`row answers`: a whole number where the row is whole and floats tell it, because true counts are whole."""
    with np.errstate(over="ignore", invalid="ignore"):
        value, size = float(np.dot(row, answers)), float(np.abs(row) @ np.abs(answers))
    return round(value) if all(map(float.is_integer, row)) and size < 2.0**50 else value


Exact = list[tuple[Any, Any]]


class CountAgreement(Agreement[GridMechanism, Release]):
    """The counts x whose answers Q x are nearest to those that were released."""

    def require(self, mechanism: GridMechanism, published: PublishedSums | None) -> None:
        require_cells(mechanism.workload.shape[1], "the elements of the workload")
        _require_whole(mechanism.workload)
        rows = [] if published is None else [published_rows(mechanism, published)[0]]
        self._require_known(mechanism, rows)

    def made(self, mechanism: GridMechanism, released: Release, published: PublishedSums | None, whole: bool) -> AgreeingTables:
        exact: Exact = unchanging_rows(mechanism)
        if released.kept is not None:
            kept = released.kept[(released.kept == np.rint(released.kept)).all(axis=1)]
            exact.append((kept, np.rint(kept @ released.answers)))
        if published is not None:
            exact.append(published_rows(mechanism, published))
        matrix = mechanism.workload.matrix
        asked = matrix.tocsr() if isinstance(matrix, IntervalRows) else matrix
        found, words = agreed(asked, released.answers, released.standard_errors, exact, whole)
        return AgreeingTables.joined(found, released.answer_tables(), words, whole)

    def _require_known(self, mechanism: GridMechanism, published: list[Any]) -> None:
        """Every statistic of the invariant is told by the release, or published; which are is a matter of the spec."""
        named = known_statistics(mechanism.relation)
        kept = kept_rows(mechanism.relation, mechanism.workload, mechanism._heard, mechanism.reconstruction)
        held = [part for part in (kept, *published) if part is not None and len(part)]
        told = {*mechanism.exact}
        places = [k for k, name in enumerate(mechanism.workload.queries) if name in told]
        own = rows_of(mechanism.workload.matrix, places)
        known = np.vstack([np.zeros((0, mechanism.workload.shape[1])), *held, own])
        missing = [name for row, name in named.items() if not _within(np.array(row), known)]
        if missing:
            raise InvalidProblem(
                f"--published: is missing; the release does not hold the published statistics {shown(missing)}, with which the "
                "tables are to agree: give them in a CSV file, with the columns statistic and value."
            )


def unchanging_rows(mechanism: Mechanism) -> Exact:
    """What is so whatever the data are: elements that no record can have, and tables of the same records."""
    size, impossible = mechanism.workload.shape[1], list(mechanism.relation.impossible)
    rows: Exact = []
    if impossible:
        rows.append((np.eye(size, dtype=np.int64)[impossible], np.zeros(len(impossible))))
    agreeing = mechanism.relation.agreeing
    return rows if agreeing is None else [*rows, (agreeing, np.zeros(len(agreeing)))]


def published_rows(mechanism: Mechanism, published: PublishedSums) -> tuple[Any, Floats]:
    """Published sums over the elements, by their columns or by the names of the statistics."""
    keys = mechanism.workload.keys
    columns, rows = (keys.columns, keys.rows) if keys else (("element",), [(name,) for name in mechanism.workload.elements])
    named = {name: row for row, name in known_statistics(mechanism.relation).items()}
    return published.matched(columns, rows, named)


def _require_whole(workload: Workload) -> None:
    entries = entries_of(workload.matrix)
    if (entries != np.rint(entries)).any():
        raise InvalidProblem(
            "--consistent: the queries have entries that are no whole numbers, so their answers need not be; ask for counts of "
            "the elements, or leave the option out."
        )


def _within(row: Floats, known: Floats) -> bool:
    """Is a row a combination of others?"""
    if not len(known):
        return False
    found = np.linalg.lstsq(known.T, row, rcond=None)[0]
    return bool(np.abs(known.T @ found - row).max() <= 1e-6 * np.abs(row).max())


MOST_SHAPES = 16  # answers that one change moves


class GridComposition(CompositionOfCounts[G]):
    """By the fall-off of the noise."""

    def of_budget(self, made: G, budget: Fraction) -> Cost:
        return cost_of_falloff(made, made.falloff, budget)


class AdditiveComposition(GridComposition[AdditiveMechanism]):
    """The same; under a delta by the length that a budget allows, and of normal noise on a fine grid nearly as without one."""

    def of_budget(self, made: AdditiveMechanism, budget: Fraction) -> Cost:
        return cost_of_falloff(made, made.falloff, budget, _fineness(made))

    def shapes_of_all(self, made: AdditiveMechanism, budget: Fraction) -> tuple[Tradeoff, ...]:
        return _common_shapes(made, budget)

    def cost(self, made: AdditiveMechanism, budget: Fraction) -> Cost:
        """The same; a budget of 0 allows a length, too, where there is a delta."""
        return super().cost(made, budget) if made.delta is None else _cost_under_delta(made, budget, Fraction(made.delta))

    def noise_of_laplace(self, made: AdditiveMechanism) -> Iterable[tuple[Fraction, int | None]]:
        """Where budgets are those of changes, and not of units of a distance."""
        rates = {} if made.delta is not None or isinstance(made.relation, InvariantDistance) else laplace_rates(made)
        farthest = _farthest(made) if rates else None
        return [(rate, None if farthest is None else farthest[k]) for k, rate in rates.items()]

    def cost_of_steps(self, made: AdditiveMechanism, steps: Sequence[Fraction]) -> Cost:
        """Budgets add, and under a delta the lengths that they allow do."""
        if made.delta is None or len(steps) <= 1:
            return super().cost_of_steps(made, steps)
        allowance = WITH_DELTA[made.falloff](Fraction(made.delta))
        length = sum(map(allowance.most, steps), Fraction(0))
        return Cost.pure(length) if made.falloff == "exponential" else Cost.normal(length**2)

    def shapes(self, made: AdditiveMechanism, change: Sequence[tuple[int, int]]) -> tuple[Tradeoff, ...]:
        """Those of independent Laplace noise whose answers the change moves by known steps of the grid; none where many
        answers move."""
        if made.falloff != "exponential" or made.delta is not None:
            return ()
        rates = laplace_rates(made)
        moved = np.zeros(len(made.grid.exponents), dtype=object)
        for element, amount in change:
            if is_unwritten(made):
                for k, entry in made.sensitivity().column(element).items():
                    moved[k] += amount * entry
            else:
                moved += amount * made.integers[:, element].astype(object)
        places = [k for k in np.flatnonzero(moved).tolist() if k in rates]
        if len(places) > MOST_SHAPES:
            return ()
        return tuple(discrete_laplace(rates[k] * abs(int(moved[k])), abs(int(moved[k]))) for k in places)


@lru_cache(maxsize=64)
def _common_shapes(made: AdditiveMechanism, budget: Fraction) -> tuple[Tradeoff, ...]:
    """Those of the change that moves the same answers as all others of at most the budget, by as many steps of the grid or
    more; none where no single one does."""
    rates = {} if made.delta is not None or is_unwritten(made) else laplace_rates(made)
    moves = single_changes(made, budget) if rates else None
    if moves is None:
        return ()
    moved = np.unique(np.abs(np.rint(moves / made.grid.steps)).astype(np.int64), axis=0)
    kinds = {tuple(sorted(((rates[k], row[k]) for k in rates if row[k]), reverse=True)) for row in moved.tolist()}
    longest = max(kinds, key=lambda kind: sum((rate * steps for rate, steps in kind), Fraction(0)), default=())
    if not 1 <= len(longest) <= MOST_SHAPES or not all(_within_moves(kind, longest) for kind in kinds):
        return ()
    return tuple(discrete_laplace(rate * steps, steps) for rate, steps in longest)


@lru_cache(maxsize=64)
def _fineness(made: AdditiveMechanism) -> tuple[float, int] | None:
    """A bound on the largest eigenvalue of the inverse covariance of the noise, in steps of the grid, and how many coordinates
    have noise; None where the law is not known by a matrix."""
    norm = made.norm
    if made.falloff != "gaussian" or type(norm) is not Norm or norm.order != "l2":
        return None
    heard = ~norm.silent
    entries = np.abs(norm.map[..., heard]) * made.grid.steps[heard]
    whole = entries.max(initial=0.0) ** 2 if entries.ndim == 1 else entries.sum(axis=0).max() * entries.sum(axis=1).max()
    return float(whole) * (1 + entries.size * 2.0**-50), int(heard.sum())


def _within_moves(moves: Sequence[tuple[Fraction, int]], others: Sequence[tuple[Fraction, int]]) -> bool:
    """Has each move, (rate, steps), another of its own at the same rate with as many steps or more? Both in falling order."""
    left = list(others)
    for rate, steps in moves:
        found = next((k for k, (own, most) in enumerate(left) if own == rate), None)
        if found is None or left.pop(found)[1] < steps:
            return False
    return True


def laplace_rates(made: AdditiveMechanism) -> dict[int, Fraction]:
    """The rate for each step of the grid of every coordinate with noise, where the noise is independent discrete Laplace noise;
    empty where it is not."""
    norm = made.norm
    if made.falloff != "exponential" or type(norm) is not Norm or norm.order != "l1" or norm.map.ndim != 1:
        return {}
    weights, steps = norm.map.tolist(), made.grid.steps.tolist()
    pairs = list(zip(weights, steps, strict=True))
    rates = {pair: Fraction(pair[0]) * Fraction(pair[1]) for pair in dict.fromkeys(pairs) if 0 < pair[0] < np.inf}
    return {k: rates[pair] for k, pair in enumerate(pairs) if pair in rates}


def _farthest(made: AdditiveMechanism) -> list[int] | None:
    """How many steps one protected change moves each coordinate at most; None where the changes are not written out."""
    relation = made.relation
    if not relation.single_records and not isinstance(relation, ChangeRelation):
        return None
    if isinstance(relation, ByLength) and not relation.listed:
        return None
    if is_unwritten(made):
        least, most = extremes(made.integers)
        farthest: list[int] = (np.maximum(most, 0) - np.minimum(least, 0)).tolist()
        return farthest
    points = relation.points(made.integers.T)
    moved: list[int] = (np.ptp(points, axis=0) if relation.single_records else np.abs(points).max(axis=0)).tolist()
    return moved


def _cost_under_delta(made: AdditiveMechanism, budget: Fraction, delta: Fraction) -> Cost:
    """(b, delta), and what the length that it allows promises besides: pure for exponential noise, mu-GDP for normal noise."""
    length = WITH_DELTA[made.falloff](delta).most(budget)
    if made.falloff == "exponential":
        return Cost(epsilon=budget, delta=delta, rho=rho_of_pure(length), shapes=(EpsilonDelta(length),))
    return Cost(epsilon=budget, delta=delta, rho=length**2 / 2, mu_squared=length**2)
