"""Estimates of one count from its noisy answer, where the number of records is public: tables of least worst-case error.

A count of n records is one of 0..n, which unbiased answers do not use. A table y_0..y_n gives the estimate for each noisy count
(what is beyond 0 or n is taken as the end). No mechanism of any kind has a smaller worst-case error than the best table for
two-sided geometric noise (docs/theory/readings.md). Solvers propose the table and a prior; both bounds of a `MinimaxReading`
are computed from these alone, in balls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from designer.base.answer_table import AnswerTable, ConfidenceLimits
from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count, shown
from designer.base.display import at_least, at_most
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism
from designer.limits import MOST_READ_ABSOLUTE, MOST_READ_RECORDS
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.derived import DerivedTable
from designer.mechanism.spec import laplace_rates
from designer.problem.compressed_rows import entries_of
from designer.problem.relation import RECORDS_PUBLIC
from solvers.exact.balls import exp_ball, float_above_real, float_below_real, rational_ball
from solvers.programs.worst_estimates import bayes, ends_kept, least_worst_sizes, least_worst_squares, moments, risks

if TYPE_CHECKING:
    from flint import arb

Loss = Literal["squared", "absolute"]
UNIT = 10**9  # of the estimates that are frozen, and of the weights of the prior
ROUNDED_DOWN = 1 + Fraction(1, 2**70)  # irrational budgets are, by less than 2^-79 of themselves
SOLVED = 1e-9, 300.0  # rates of the noise whose ratio is a float below 1 and above 0; the table of the nearest serves others
UNBIASED = 1e-8  # of a table that is rounded
NO_INTERVAL = "intervals: none is known around an estimate; take that of the released answer."


@dataclass(frozen=True)
class MinimaxReading:
    """An estimate of a count for each noisy count: `table[j]` for an answer j in 0..n, the ends for answers beyond them.

    rate: of the noise, whose law is proportional to exp(-rate |z|). budget: between two values of a record of which one
    counts. table: (n + 1,). prior: whole weights of 0..n. loss: "squared" or "absolute". at_most: the expected loss at any
    count is at most this. at_least: in the worst case, no mechanism with this guarantee has a smaller one. bias: how far the
    expected estimate is from the count at most. Raises `InvalidProblem` for a prior that does not fit.
    """

    query: str
    rate: Fraction
    budget: Fraction
    table: tuple[Fraction, ...]
    prior: tuple[int, ...]
    loss: Loss = "squared"
    at_most: float = field(init=False)
    at_least: float = field(init=False)
    bias: float = field(init=False)

    def __post_init__(self) -> None:
        if not 2 <= len(self.table) == len(self.prior) or min(self.prior) < 0 or not any(self.prior):
            raise InvalidProblem("prior: is no weight of at least 0 for each estimate; give as many, not all 0.")
        worst, of_prior = (_worst_square, _square_of_prior) if self.loss == "squared" else (_worst_size, _size_of_prior)
        assign(
            self,
            at_most=float_above_real(lambda: worst(exp_ball(-self.rate), self.table)),
            at_least=float_below_real(lambda: of_prior(exp_ball(-self.budget * ROUNDED_DOWN), self.prior) / sum(self.prior)),
            bias=float_above_real(lambda: _largest_bias(exp_ball(-self.rate), self.table)),
        )

    def apply(self, answers: object) -> Floats:
        """Look up the estimate of each released answer, (M,): post-processing, which spends no budget.

        answers: (M,) whole numbers, as they were released.
        """
        raw = real_array(answers, "answers", 1)
        if (raw != np.rint(raw)).any():
            raise InvalidProblem("answers: are not all whole numbers; give the answers as they were released.")
        return frozen(np.array([float(y) for y in self.table])[np.clip(raw, 0, len(self.table) - 1).astype(np.int64)])

    def sentence(self) -> str:
        """State the accuracy, and what the estimate is not for."""
        biased = f" Its bias is up to {at_most(self.bias, 3)}: average or add up released answers, not estimates."
        return (
            f"The estimate of a count between 0 and {len(self.table) - 1:,} from the released answer: its expected {self.loss} "
            f"error is at most {at_most(self.at_most, 6)} whatever the count is, and no mechanism with this guarantee has less "
            f"than {at_least(self.at_least, 6)} in the worst case.{biased if self.bias > UNBIASED else ''} Take intervals from "
            "the released answer."
        )


def minimax_reading(
    mechanism: object, n: int, *, loss: Loss = "squared", limit: bool = False, unbiased: bool = False
) -> MinimaxReading:
    """Find the table of estimates with the least worst-case error for one released count. Raises `InvalidProblem` for a
    mechanism that does not add two-sided geometric noise to one count.

    Parameters
    ----------
    mechanism : a frozen mechanism that adds integer noise to one count.
    n : the public number of records, at most 10,000; for the absolute loss at most 100.
    loss : "squared" or "absolute".
    limit : whether n is a public upper limit of the count instead, which no data decided.
    unbiased
        take the one table whose expected estimate is the count, up to 1e-9; `at_least` speaks of biased mechanisms, too.
    """
    query, rate, budget = _one_count(mechanism, limit)
    records = count(n, "n")
    if loss not in ("squared", "absolute"):
        raise InvalidProblem(f'loss: {shown(loss)} is unknown; use "squared" or "absolute".', value=loss)
    if records > (most := MOST_READ_RECORDS if loss == "squared" else MOST_READ_ABSOLUTE):
        raise InvalidProblem(
            f"n: {records:,} is more than {most:,}, up to which tables are found; publish the answer as it is."
        )
    near = min(max(float(rate), SOLVED[0]), SOLVED[1])
    found = (least_worst_squares if loss == "squared" else least_worst_sizes)(near, records).point
    table = found.table
    if unbiased:
        beyond = 1 / np.expm1(near)
        table = np.array([-beyond, *range(1, records), records + beyond])
    rounded = tuple(Fraction(round(float(y) * UNIT), UNIT) for y in table)
    return MinimaxReading(query, rate, budget, rounded, tuple(round(float(q) * UNIT**2) for q in found.prior), loss)


def _one_count(mechanism: object, limit: bool) -> tuple[str, Fraction, Fraction]:
    """The name of the query, the rate of its noise, and the budget of a change of one record that moves it."""
    if not isinstance(mechanism, AdditiveMechanism) or mechanism.workload.shape[0] != 1:
        raise InvalidProblem(
            "mechanism: is not additive noise on one query; design one count by itself, such as Workload([[1, 0]])."
        )
    rate, pair = laplace_rates(mechanism).get(0), mechanism.privacy.witness
    plain = mechanism.measured is None and mechanism.reconstruction is None and mechanism.grid.exponents == (0,)
    counting = plain and set(np.unique(entries_of(mechanism.integers)).tolist()) <= {0, 1}
    if rate is None or pair is None or mechanism.delta is not None or not counting:
        raise InvalidProblem(
            "mechanism: is not two-sided geometric noise on the number of records of some kind; ask for a query of 0 and 1 "
            'under the notion "pure", and design it with the family "laplace".'
        )
    relation = mechanism.relation
    if not relation.single_records or not (limit or RECORDS_PUBLIC in relation.unprotected()):
        raise InvalidProblem(
            "mechanism: its relation does not make the number of records public, so a table for it would tell it; protect what "
            "a record is (metrics.uniform), or give a public upper limit of the count with limit=True."
        )
    budget = relation.exact_budget(pair.left, pair.right)
    assert budget is not None
    return mechanism.workload.queries[0], rate, budget


def _largest(values: Any) -> arb:
    """The largest of some balls."""
    found: arb = reduce(lambda one, other: one.max(other), values)
    return found


def _shifts(table: tuple[Fraction, ...]) -> Any:
    return np.array([rational_ball(y - j) for j, y in enumerate(table)])


def _worst_square(a: arb, table: tuple[Fraction, ...]) -> arb:
    return _largest(risks(_shifts(table), ends_kept(a, len(table) - 1), a))


def _largest_bias(a: arb, table: tuple[Fraction, ...]) -> arb:
    c = ends_kept(a, len(table) - 1)
    return _largest(np.abs(moments(c * _shifts(table), a)[0] - moments(c, a)[1]))


def _square_of_prior(a: arb, prior: tuple[int, ...]) -> arb:
    weights = np.array([rational_ball(Fraction(q)) for q in prior])
    found: arb = bayes(weights, ends_kept(a, len(prior) - 1), a)[1]
    return found


def _chances(a: arb, n: int) -> Any:
    """The chance of outcome j at count x, (n + 1, n + 1)."""
    apart = np.abs(np.subtract.outer(range(n + 1), range(n + 1)))
    return np.array([a**k for k in range(n + 1)])[apart] * ends_kept(a, n)


def _worst_size(a: arb, table: tuple[Fraction, ...]) -> arb:
    sizes = np.array([[rational_ball(abs(y - x)) for y in table] for x in range(len(table))])
    return _largest((_chances(a, len(table) - 1) * sizes).sum(axis=1))


def _size_of_prior(a: arb, prior: tuple[int, ...]) -> arb:
    """The least expected distance of an estimate for each outcome; an end of one of its linear parts, 0..n, has it."""
    n = len(prior) - 1
    apart = np.abs(np.subtract.outer(range(n + 1), range(n + 1)))
    joint = np.array(prior, dtype=object)[:, None] * _chances(a, n)
    found: arb = -sum((_largest(-column) for column in (apart.astype(object) @ joint).T), 0 * a)
    return found


@dataclass(frozen=True, eq=False)
class ReadAnswer(DerivedTable):
    """A table of one estimate, beside the released answer."""

    reading: MinimaxReading = field(kw_only=True)

    @classmethod
    def of(cls, mechanism: FrozenMechanism, given: Mapping[str, Any]) -> ReadAnswer:
        """From plain data of the form `DERIVED`; the table of estimates is found here, before there is a release."""
        where = f"derived {shown(given['name'])}"
        if ("records" in given) == ("limit" in given):
            raise InvalidProblem(f"{where}: give the public number of records, or a public limit of the count; not both.")
        reading = minimax_reading(mechanism, given.get("records", given.get("limit")), limit="limit" in given)
        if given["reading"] != reading.query:
            raise InvalidProblem(f"{where}: {shown(given['reading'])} is no answer; use {shown(reading.query)}.")
        unit = given.get("unit", mechanism.about.unit(reading.query))
        return cls(given["name"], ("query",), ((reading.query,),), (), unit=unit, reading=reading)

    def require(self, mechanism: FrozenMechanism, level: float) -> None:
        """Nothing more: no interval is asked for."""

    def table(self, mechanism: FrozenMechanism, released: Any) -> AnswerTable:
        def limits(level: float, simultaneous: bool) -> ConfidenceLimits:
            raise InvalidProblem(NO_INTERVAL)

        found, words = self.reading.apply(released.answers), self.reading.sentence()
        return AnswerTable(self.name, self.columns, self.keys, found, None, error_words=words, limits=limits, meaning=words)
