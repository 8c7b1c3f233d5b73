"""Estimates of counts from their noisy answers, where the number of records is public: tables of least worst-case error.

A count of n records is one of 0..n, which unbiased answers do not use. A table y_0..y_n gives the estimate for each noisy count
(what is beyond 0 or n is taken as the end). No mechanism of any kind has a smaller worst-case error for one count than the best
table for two-sided geometric noise (docs/theory/readings.md). Solvers propose the table and a prior; the bounds of a
`MinimaxReading` are computed from these alone, in balls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from designer.base.answer_table import AnswerTable, ConfidenceLimits
from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count, shown
from designer.base.display import at_least, at_most
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism
from designer.limits import MOST_READ_ABSOLUTE, MOST_READ_IN_CELLS, MOST_READ_LOSS, MOST_READ_RECORDS
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
ALIKE = 1 + Fraction(1, 10**6)  # rates that one table serves
SPREAD = 64  # tables that a prior of several counts is made of
UNBIASED = 1e-8  # of a table that is rounded
NO_INTERVAL = "intervals: none is known around an estimate; take that of the released answer."


@dataclass(frozen=True)
class MinimaxReading:
    """An estimate of a count for each noisy count: `table[j]` for an answer j in 0..n, the ends for answers beyond them.

    query: the answer, or the table of answers, that it is for. rates: r of each count, whose noise has a law proportional to
    exp(-r |z|). One rate is for a count in 0..n, (N,) are for counts that add up to n. budget: between two values of a record
    of which one counts. table: (n + 1,). prior: whole weights of 0..n. loss: "squared" or "absolute". slope: b of lines a + b x
    above the errors at all x. at_most: the expected loss, of all counts together, is at most this whatever they are. at_least:
    in the worst case no mechanism with this guarantee has a smaller one; of several counts, no table for this noise. bias: how
    far an expected estimate is from its count at most. Raises `InvalidProblem` for a prior that does not fit.
    """

    query: str
    rates: tuple[Fraction, ...]
    budget: Fraction
    table: tuple[Fraction, ...]
    prior: tuple[int, ...]
    loss: Loss = "squared"
    slope: Fraction = Fraction(0)
    at_most: float = field(init=False)
    at_least: float = field(init=False)
    bias: float = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.table) - 1
        if not 2 <= n + 1 == len(self.prior) or min(self.prior) < 0 or not any(self.prior):
            raise InvalidProblem("prior: is no weight of at least 0 for each estimate; give as many, not all 0.")
        errors, least = (_squares, _square_of_prior) if self.loss == "squared" else (_sizes, _size_of_prior)
        cells, slope = len(self.rates), self.slope
        prior, draws = (self.prior, sum(self.prior)) if cells == 1 else (_of_tables(self.prior, cells), SPREAD * cells)
        kinds = Counter(self.rates)
        allowed = Counter([self.budget * ROUNDED_DOWN]) if cells == 1 else kinds

        def above(rate: Fraction) -> arb:
            line: Any = rational_ball(slope)
            return _largest(errors(exp_ball(-rate), self.table) - line * np.arange(n + 1))

        def below(rate: Fraction) -> arb:
            return least(exp_ball(-rate), prior) / draws

        assign(
            self,
            at_most=float_above_real(lambda: sum((k * above(r) for r, k in kinds.items()), n * rational_ball(slope))),
            at_least=float_below_real(lambda: sum((k * below(r) for r, k in allowed.items()), rational_ball(Fraction(0)))),
            bias=max(float_above_real(partial(_largest_bias, rate, self.table)) for rate in kinds),
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
        n, alone = len(self.table) - 1, len(self.rates) == 1
        of = f"a count between 0 and {n:,}" if alone else f"each of {len(self.rates):,} counts that add up to {n:,}"
        error = f"the expected {self.loss} error{'' if alone else ' of all'}"
        than = "mechanism with this guarantee" if alone else "one table of estimates for this noise"
        biased = f" Its bias is up to {at_most(self.bias, 3)}: average or add up released answers, not estimates."
        return (
            f"The estimate of {of}, from the released answer: {error} is at most {at_most(self.at_most, 6)} whatever the "
            f"{'count is' if alone else 'counts are'}, and no {than} has less than {at_least(self.at_least, 6)} in the worst "
            f"case.{biased if self.bias > UNBIASED else ''} Take intervals from the released answer."
        )


def minimax_reading(
    mechanism: object, n: int, *, loss: Loss = "squared", limit: bool = False, unbiased: bool = False
) -> MinimaxReading:
    """Find the table of estimates with the least worst-case error for one released count, or for the counts of all elements
    together. Raises `InvalidProblem` for a mechanism that does not add two-sided geometric noise, alike for all counts.

    Parameters
    ----------
    mechanism : a frozen mechanism that adds integer noise to one count, or to the counts of all elements.
    n : the public number of records, at most 10,000; of several counts 2,000, and 16 / epsilon for each.
    loss : "squared" or, of one count and at most 100 records, "absolute".
    limit : whether n is a public upper limit of the one count instead, which no data decided.
    unbiased
        take the one table whose expected estimate is the count, up to 1e-9; `at_least` speaks of biased ones, too.
    """
    query, rates, budget = _counts(mechanism, limit)
    cells, rate = len(rates), min(rates)
    records = count(n, "n")
    if loss not in ("squared", "absolute") or (loss == "absolute" and cells > 1):
        raise InvalidProblem(f'loss: {shown(loss)} is not offered; use "squared", or "absolute" for one count.', value=loss)
    most = MOST_READ_ABSOLUTE if loss == "absolute" else MOST_READ_RECORDS if cells == 1 else MOST_READ_IN_CELLS
    if records > most or (cells > 1 and 2 * rate * records > MOST_READ_LOSS * cells):
        raise InvalidProblem(
            f"n: {records:,} records are too many for {cells:,} counts; at most {most:,} are read, and of several counts up to "
            f"{MOST_READ_LOSS} / epsilon for each, where little is gained. Publish the answers as they are."
        )
    near = min(max(float(rate), SOLVED[0]), SOLVED[1])
    mean = None if cells == 1 else records / cells
    found = (least_worst_sizes(near, records) if loss == "absolute" else least_worst_squares(near, records, mean)).point
    table, slope = found.table, Fraction(found.slope)
    if unbiased:
        beyond = 1 / np.expm1(near)
        table, slope = np.array([-beyond, *range(1, records), records + beyond]), Fraction(0)
    rounded = tuple(Fraction(round(float(y) * UNIT), UNIT) for y in table)
    prior = tuple(round(float(q) * UNIT**2) for q in found.prior)
    return MinimaxReading(query, rates, budget, rounded, prior, loss, slope)


def _counts(mechanism: object, limit: bool) -> tuple[str, tuple[Fraction, ...], Fraction]:
    """What is read, the rate of the noise of each count, and the budget of a change of one record."""
    if not isinstance(mechanism, AdditiveMechanism) or mechanism.workload.levels is not None:
        raise InvalidProblem("mechanism: is not additive noise on one count, or on all; design such counts by themselves.")
    made, rates, pair = mechanism, tuple(laplace_rates(mechanism).values()), mechanism.privacy.witness
    plain = made.measured is None and made.reconstruction is None and not any(made.grid.exponents) and made.delta is None
    alike = len(rates) == made.workload.shape[0] and pair is not None and max(rates) <= ALIKE * min(rates)
    counting = plain and alike and set(np.unique(entries_of(made.integers)).tolist()) <= {0, 1}
    if pair is None or not counting or (len(rates) > 1 and (limit or not made.workload.is_identity)):
        raise InvalidProblem(
            "mechanism: is not two-sided geometric noise on one number of records, or alike on those of all elements; ask for "
            'a query of 0 and 1, or for the identity, under the notion "pure", and design it with the family "laplace".'
        )
    if not made.relation.single_records or not (limit or RECORDS_PUBLIC in made.relation.unprotected()):
        raise InvalidProblem(
            "mechanism: its relation does not make the number of records public, so a table for it would tell it; protect what "
            "a record is (metrics.uniform), or give a public upper limit of one count with limit=True."
        )
    budget = made.relation.exact_budget(pair.left, pair.right)
    assert budget is not None
    return made.workload.queries[0] if len(rates) == 1 else "answers", rates, budget


def _of_tables(prior: tuple[int, ...], cells: int) -> tuple[int, ...]:
    """How many cells of `SPREAD` tables have each count, whose counts add up to n: quantiles of the prior at equal distances,
    from as many starts, the largest that can be moved by the rest."""
    n, total, found = len(prior) - 1, sum(prior), np.zeros(len(prior), dtype=np.int64)
    for start in range(1, 2 * SPREAD, 2):
        below = [(2 * SPREAD * cells * sum_ - start * total) // (2 * SPREAD * total) + 1 for sum_ in accumulate(prior)]
        own = np.diff([0, *below])
        while short := n - int(own @ np.arange(n + 1)):
            there = np.flatnonzero(own)
            place = int(there[there + short <= n].max(initial=there[0]))
            own[place] -= 1
            own[min(n, max(0, place + short))] += 1
        found += own
    return tuple(found.tolist())


def _largest(values: Any) -> arb:
    """The largest of some balls."""
    found: arb = reduce(lambda one, other: one.max(other), values)
    return found


def _shifts(table: tuple[Fraction, ...]) -> Any:
    return np.array([rational_ball(y - j) for j, y in enumerate(table)])


def _squares(a: arb, table: tuple[Fraction, ...]) -> Any:
    return risks(_shifts(table), ends_kept(a, len(table) - 1), a)


def _largest_bias(rate: Fraction, table: tuple[Fraction, ...]) -> arb:
    a = exp_ball(-rate)
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


def _sizes(a: arb, table: tuple[Fraction, ...]) -> Any:
    sizes = np.array([[rational_ball(abs(y - x)) for y in table] for x in range(len(table))])
    return (_chances(a, len(table) - 1) * sizes).sum(axis=1)


def _size_of_prior(a: arb, prior: tuple[int, ...]) -> arb:
    """The least expected distance of an estimate for each outcome; an end of one of its linear parts, 0..n, has it."""
    n = len(prior) - 1
    apart = np.abs(np.subtract.outer(range(n + 1), range(n + 1)))
    joint = np.array(prior, dtype=object)[:, None] * _chances(a, n)
    found: arb = -sum((_largest(-column) for column in (apart.astype(object) @ joint).T), 0 * a)
    return found


@dataclass(frozen=True, eq=False)
class ReadAnswer(DerivedTable):
    """A table of estimates, beside that of the released answers."""

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
        return cls(given["name"], (), (), (), unit=unit, reading=reading)

    def require(self, mechanism: FrozenMechanism, level: float) -> None:
        """Nothing more: no interval is asked for."""

    def table(self, mechanism: FrozenMechanism, released: Any) -> AnswerTable:
        def limits(level: float, simultaneous: bool) -> ConfidenceLimits:
            raise InvalidProblem(NO_INTERVAL)

        found, words = self.reading.apply(released.answers), self.reading.sentence()
        own = released.answer_tables()[0]
        return AnswerTable(self.name, own.columns, own.keys, found, None, error_words=words, limits=limits, meaning=words)
