"""2x2 tables with fixed margins: Fisher's noncentral hypergeometric law, and the best unbiased test that sees the table.

The table (x11, x12; x21, x22) with margins t is x11 alone. `omega = (x11 x22) / (x12 x21)` in expectation: the odds of column 1
in row 1 over those in row 2. SEMI prints the inverse ratio beside the same law `P(x) ~ C(t1., x) C(t2., t.1 - x) omega^x`;
this law decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np

from designer.base.arrays import Floats, Immutable
from designer.base.checks import count, positive
from designer.base.declared import assign
from designer.base.errors import InvalidProblem

LARGEST_TOTAL = 100_000


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
        if sum(self.rows) > LARGEST_TOTAL:
            raise InvalidProblem(f"rows: {sum(self.rows)} records; exact sums are kept to {LARGEST_TOTAL}.")

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

    def exact_pmf(self, omega: Fraction) -> list[Fraction]:
        """The law at a rational odds ratio, in rationals."""
        powers = [weight * omega**i for i, weight in enumerate(self.weights)]
        whole = sum(powers, Fraction(0))
        return [power / whole for power in powers]


def _log(value: int) -> float:
    shift = max(0, value.bit_length() - 900)
    return float(np.log(float(value >> shift)) + shift * np.log(2.0))


def fisher_test(margins: Margins, alpha: object) -> Floats:
    """The randomised Fisher test of omega <= 1 against omega > 1, not private: rejection probabilities over the support.

    1 above a threshold, a fraction at it, 0 below, with size exactly alpha: uniformly most powerful among unbiased tests.
    Raises `InvalidProblem` for a level that is not between 0 and 1.

    margins: public. alpha: the level, between 0 and 1.

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
    """The p-value of the usual, not randomised, one-sided Fisher test: `P(X >= first)` at omega = 1; not private.

    `first` may lie outside the support, as noisy counts do.

    margins: public. first: x11, the first count.

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
