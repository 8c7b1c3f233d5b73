"""Tests of the odds ratio from x11 plus noise, margins fixed: the private uniformly most powerful unbiased one, and naive ones.

With margins t public a protected change moves x11 by 1. `phi(x) = F(x - m)`, F canonical for f and `E F(X - m) = alpha` under
omega = 1, is the most powerful unbiased f-private test (SEMI Theorem 37). It rejects when `U = x11 + N` is at least m, so U
carries all of it. Everything here is about laws, with no data in sight; the release is in
`designer.odds_ratio.mechanism`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import comb, inf
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats, Immutable
from designer.base.checks import assign, count, positive
from designer.base.errors import InvalidProblem
from designer.limits import MOST_TESTED_RECORDS
from designer.odds_ratio.noise import CanonicalNoise
from solvers.exact.balls import decided, float_above_real, precision, rational_ball

if TYPE_CHECKING:
    from flint import arb


# 2x2 tables with fixed margins: Fisher's noncentral hypergeometric law, and the best unbiased test that sees the table.
#
# The table (x11, x12; x21, x22) with margins t is x11 alone. `omega = (x11 x22) / (x12 x21)` in expectation: the odds of
# column 1 in row 1 over those in row 2. SEMI prints the inverse ratio beside the same law `P(x) ~ C(t1., x) C(t2., t.1 - x)
# omega^x`; this law decides.


@dataclass(frozen=True)
class Margins(Immutable):
    """The public margins of a 2x2 table: row sums and column sums, in records.

    Raises `InvalidProblem` for other than two whole numbers each, sums that differ, and more than 100,000 records.

    rows: the two row sums. columns: the two column sums.

    >>> Margins((3, 5), (4, 4)).support
    range(0, 4)
    """

    rows: tuple[int, int]
    columns: tuple[int, int]

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            given = getattr(self, name)
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise InvalidProblem(f"{name}: must be two whole numbers.")
            assign(self, **{name: tuple(count(entry, f"{name}[{i}]", least=0) for i, entry in enumerate(given))})
        if sum(self.rows) != sum(self.columns):
            raise InvalidProblem(
                f"columns: add up to {sum(self.columns)}, rows to {sum(self.rows)}; both must be the number of records."
            )
        if sum(self.rows) > MOST_TESTED_RECORDS:
            raise InvalidProblem(f"rows: {sum(self.rows)} records; exact sums are kept to {MOST_TESTED_RECORDS}.")

    @property
    def support(self) -> range:
        """The values that x11 can take."""
        return range(max(0, self.columns[0] - self.rows[1]), min(self.rows[0], self.columns[0]) + 1)

    def table(self, first: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The table with x11 = first."""
        below = self.columns[0] - first
        return (first, self.rows[0] - first), (below, self.rows[1] - below)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """`C(t1., x) C(t2., t.1 - x)` over the support: the law at omega = 1 up to its sum, in exact integers."""
        (first, second), column, x = self.rows, self.columns[0], self.support[0]
        weights = [comb(first, x) * comb(second, column - x)]
        for x in self.support[:-1]:  # each from the one before, exactly: no binomial coefficient is computed twice
            weights.append(weights[-1] * (first - x) * (column - x) // ((x + 1) * (second - column + x + 1)))
        return tuple(weights)

    def pmf(self, omega: object = 1.0) -> Floats:
        """The law of x11 given the margins at odds ratio omega > 0, over the support.

        >>> Margins((2, 2), (2, 2)).pmf(1).round(4).tolist()
        [0.1667, 0.6667, 0.1667]
        """
        ratio = positive(omega, "omega")
        if ratio == 1.0:
            whole = sum(self.weights)
            return np.array([weight / whole for weight in self.weights])  # Python rounds quotients of integers correctly
        # Odds enter through logarithms, because omega^x may leave the floats.
        logs = np.array([_log(weight) for weight in self.weights]) + np.log(ratio) * np.arange(len(self.weights))
        powers = np.exp(logs - logs.max())
        return np.asarray(powers / powers.sum())


def _log(value: int) -> float:
    shift = max(0, value.bit_length() - 900)
    return float(np.log(float(value >> shift)) + shift * np.log(2.0))


def fisher_test(margins: Margins, alpha: object) -> Floats:
    """Run the randomised Fisher test of omega <= 1 against omega > 1, not private: rejection probabilities over the support.

    1 above a threshold, a fraction at it, 0 below, with size exactly alpha: uniformly most powerful among unbiased tests.
    Raises `InvalidProblem` for a level that is not between 0 and 1.

    Parameters
    ----------
    margins : the public margins of the table.
    alpha : the level, between 0 and 1.

    >>> fisher_test(Margins((2, 2), (2, 2)), 0.5).round(4).tolist()
    [0.0, 0.5, 1.0]
    """
    left = Fraction(level(alpha))
    weights = margins.weights
    whole = sum(weights)
    rejection: list[float] = []
    for weight in reversed(weights):
        share = min(Fraction(1), left * whole / weight)
        left -= share * Fraction(weight, whole)
        rejection.append(float(share))
    return np.array(rejection[::-1])


def fisher_p_value(margins: Margins, first: int) -> float:
    """Compute the p-value of the usual, not randomised, one-sided Fisher test: `P(X >= first)` at omega = 1; not private.

    Parameters
    ----------
    margins : the public margins of the table.
    first : x11, the first count; it may lie outside the support, as noisy counts do.

    >>> round(fisher_p_value(Margins((2, 2), (2, 2)), 2), 4)
    0.1667
    """
    weights = margins.weights
    above = sum(weight for x, weight in zip(margins.support, weights, strict=True) if x >= first)
    return above / sum(weights)


def level(alpha: object) -> float:
    """A level of a test, strictly between 0 and 1."""
    value = positive(alpha, "alpha")
    if value >= 1:
        raise InvalidProblem(f"alpha: {value} must lie strictly between 0 and 1.", value=value)
    return value


class Law(Protocol):
    """A symmetric noise law."""

    def cdf(self, x: ArrayLike) -> Floats:
        """F(x).

        x: (...,). Returns the same shape.
        """


@dataclass(frozen=True)
class NoisyCountTest(Immutable):
    """The test of omega <= 1 against omega > 1 that rejects when x11 + N is large, N of any symmetric law.

    >>> from designer.odds_ratio.noise import Tulap
    >>> from designer.tradeoff.functions import EpsilonDelta
    >>> test = NoisyCountTest(Margins((10, 10), (10, 10)), Tulap(EpsilonDelta(1)))
    >>> round(test.size(0.05), 12), round(test.power(0.05, 4.0), 3)
    (0.05, 0.234)
    """

    margins: Margins
    noise: Law

    def critical_value(self, alpha: object) -> float:
        """m(t): the float next to the solution of `E F(X - m) = alpha` at omega = 1, on the side of a larger m."""
        target, pmf, x = level(alpha), self.margins.pmf(), self._x
        low, high = _bracket(lambda m: float(pmf @ self.noise.cdf(x - m)) - target)
        while (middle := low + (high - low) / 2) not in (low, high):
            low, high = (middle, high) if pmf @ self.noise.cdf(x - middle) > target else (low, middle)
        return high

    def rejection(self, alpha: object) -> Floats:
        """phi(x) over the support."""
        return self.noise.cdf(self._x - self.critical_value(alpha))

    def size(self, alpha: object) -> float:
        """`E phi(X)` at omega = 1."""
        return float(self.margins.pmf() @ self.rejection(alpha))

    def power(self, alpha: object, omega: object) -> float:
        """`E phi(X)` at odds ratio omega."""
        return float(self.margins.pmf(omega) @ self.rejection(alpha))

    def p_value(self, statistic: ArrayLike, omega: object = 1.0) -> Floats:
        """`P(X + N >= u)` at omega, for statistics u of any shape (...,): at omega = 1 the p-value of the test,
        as `E F(X - u)`."""
        given = np.asarray(statistic, dtype=np.float64)
        return np.asarray(self.noise.cdf(self._x - given[..., None]) @ self.margins.pmf(omega))

    @property
    def _x(self) -> Floats:
        return np.array(self.margins.support, dtype=np.float64)


def _bracket(falling: Callable[[float], float]) -> tuple[float, float]:
    """Floats at which a falling function is positive and at most zero."""
    low, high = -1.0, 1.0
    while falling(low) <= 0:
        low *= 2
    while falling(high) > 0:
        high *= 2
    return low, high


def exceedance_ball(margins: Margins, noise: CanonicalNoise, statistic: Fraction, omega: Fraction) -> arb:
    """`P(X + N >= u)` as a ball, u and omega rational."""
    return _mean(_terms(margins, noise, statistic), omega)


def _terms(margins: Margins, noise: CanonicalNoise, statistic: Fraction) -> list[tuple[arb, arb]]:
    """The weight of every x of the support at omega = 1, and that weight times `P(x + N >= u)`."""
    exceedances = noise.row(margins.support[0] - statistic, len(margins.support))
    weights = [rational_ball(Fraction(weight)) for weight in margins.weights]
    return [(weight, weight * value) for weight, value in zip(weights, exceedances, strict=True)]


def _mean(terms: list[tuple[arb, arb]], omega: Fraction) -> arb:
    """The ratio of the two polynomials in omega, by Horner's rule: one multiplication a term,
    all of them of positive numbers."""
    ratio = rational_ball(omega)
    whole, part = terms[-1]
    for weight, value in reversed(terms[:-1]):
        whole, part = whole * ratio + weight, part * ratio + value
    mean: arb = part / whole
    return mean


def p_value_above(margins: Margins, noise: CanonicalNoise, statistic: Fraction, omega: Fraction = Fraction(1)) -> float:
    """The p-value of odds ratios up to omega against larger ones, rounded up."""
    return min(1.0, float_above_real(lambda: exceedance_ball(margins, noise, statistic, omega)))


def lower_limit(margins: Margins, noise: CanonicalNoise, statistic: Fraction, error: float) -> float:
    """An odds ratio that is rejected, with every smaller one, at level `error`; 0 where none is, 2^64 where all are.

    `P(X + N >= u)` rises with omega, from `F(L - u)` to `F(U - u)`, L and U the ends of the support. The limit is proven to be
    rejected, and within 1e-6 (relative) of the last ratio that is; it is sought from 2^-64 to 2^64.
    """

    # The noise is evaluated once a precision, not once an omega: 290 s before, 1 s after,
    # for an interval with 5,001 values of x11.
    @cache
    def terms(bits: int) -> list[tuple[arb, arb]]:
        return _terms(margins, noise, statistic)

    def rejected(exponent: int) -> bool:
        omega = Fraction(2.0 ** (exponent / 2**20))
        return bool(decided(lambda: _below(_mean(terms(precision()), omega), error)))

    low, high = -(2**26), 2**26
    if not rejected(low):
        return 0.0
    if rejected(high):
        return 2.0**64
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return float(2.0 ** (low / 2**20))


def _below(probability: arb, error: float) -> bool | None:
    if probability <= error:
        return True
    return False if probability > error else None


def interval(margins: Margins, noise: CanonicalNoise, cell: tuple[Fraction, Fraction], error: float) -> tuple[float, float]:
    """Limits that hold the true odds ratio with probability at least 1 - error, for a statistic known to lie in `cell`.

    Equal tails. The upper limit is the lower one of the table with its columns exchanged:
    x12 = t1. - x11 has odds ratio 1 / omega.
    """
    mirrored = Margins(margins.rows, (margins.columns[1], margins.columns[0]))
    least = lower_limit(margins, noise, cell[0], error / 2)
    other = lower_limit(mirrored, noise, margins.rows[0] - cell[1], error / 2)
    return least, inf if other == 0 else float(np.nextafter(1 / other, inf))
