"""Exact choice among finitely many candidates: the exponential law, and permute-and-flip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import GUARD_BITS, LazyUniform, resolve
from solvers.exact.balls import rational_ball, working_precision

if TYPE_CHECKING:
    from flint import arb

    from designer.base.arrays import Floats
    from designer.sampling.entropy import Entropy

Exact = int | Fraction

LAST_WORD = 2**64 - 1
# Gauss-Legendre with n nodes is exact up to degree 2 n - 1; beyond 1,024 candidates the integrand is as good as an exponential.
MOST_NODES = 512


@dataclass(frozen=True)
class ExponentialLaw:
    """`P(r)` proportional to `exp(factor * scores[r])`, exact rationals; draws invert one uniform number, nothing is rejected.

    Every draw takes one word of entropy, whatever the scores, and further words with probability below `m 2^-62`. ValueError
    without candidates, for scores that are not exact rationals, or for a negative factor.

    >>> ExponentialLaw([0, 1]).pmf().round(4).tolist()
    [0.2689, 0.7311]
    """

    scores: Sequence[Exact]
    factor: Exact = 1
    gaps: tuple[Fraction, ...] = field(init=False, repr=False)
    _cells: _Cells = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assign(self, gaps=_gaps(self.scores, self.factor))
        cells = _Cells.around(self._cumulative)
        # Thresholds rise, their enclosures need not: widened until they do, so that a binary search may be trusted.
        first, last = np.minimum.accumulate(cells.first[::-1])[::-1], np.maximum.accumulate(cells.last)
        assign(self, _cells=_Cells(first, last))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.intp]:
        """`size` independent indices."""
        return self.chosen(entropy.random_words(size), entropy)

    def chosen(self, words: NDArray[np.uint64], entropy: Entropy) -> NDArray[np.intp]:
        """The indices that some words stand for; entropy is asked for further bits where a word leaves one open.

        words: (n,). Returns (n,).
        """
        chosen = np.searchsorted(self._cells.last, words, side="left")
        for i in np.flatnonzero(chosen != np.searchsorted(self._cells.first, words, side="right")):
            chosen[i] = self._decide(LazyUniform(words[i], 64, entropy))
        return chosen

    def pmf(self) -> Floats:
        """The probabilities, (m,), as floats."""
        weights = _flips(self.gaps)
        return np.asarray(weights / weights.sum())

    def _cumulative(self) -> list[arb]:
        """`P(index <= r)` for all but the last r, as balls."""
        sums = [rational_ball(-self.gaps[0]).exp()]
        for gap in self.gaps[1:]:
            sums.append(sums[-1] + rational_ball(-gap).exp())
        return [part / sums[-1] for part in sums[:-1]]

    def _decide(self, uniform: LazyUniform) -> int:
        def answer() -> int | None:
            below = [uniform.is_below(threshold) for threshold in self._cumulative()]
            return None if None in below else below.count(False)

        return resolve([uniform], answer)


def draw_from_each(gaps: Floats, error: Floats, exact: Callable[[int], ExponentialLaw], entropy: Entropy) -> NDArray[np.intp]:
    """One index from each of G exponential laws of m candidates, P(r) proportional to `exp(-gap_r)`; a word of entropy each.

    gaps: (G, m), floats. error: (G,), how far they may be from the exact ones. exact: the law itself, asked for
    only where floats leave open which index a word stands for: a relative error of `expm1(error)` in every weight, of 2^-50 in
    each exponential and 2^-53 in each sum, moves a cumulative probability by less than four times their sum. Returns (G,).
    """
    words = entropy.random_words(len(gaps))
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        below = np.cumsum(np.exp(-gaps), axis=1)
        below /= below[:, -1:]
        doubt = 4 * (np.expm1(error) + (gaps.shape[1] + 16) * 2.0**-50)
        uniform = words / 2.0**64
        chosen = (below[:, :-1] <= uniform[:, None]).sum(axis=1)
        sure = (doubt < 0.01) & (np.abs(below[:, :-1] - uniform[:, None]) > doubt[:, None]).all(axis=1)
    for group in np.flatnonzero(~sure).tolist():
        chosen[group] = exact(group).chosen(words[group : group + 1], entropy)[0]
    return np.asarray(chosen)


@dataclass(frozen=True)
class PermuteAndFlipLaw:
    """Every candidate flips a coin of bias `p_r = exp(factor * (scores[r] - max scores))`;
    one of the heads is chosen uniformly.

    That is permute-and-flip, whose random order is independent of the coins: `P(r) = p_r * integral over z in [0, 1] of
    prod over t != r of (1 - p_t + p_t z)`, the mean of `1 / (1 + other heads)`. All coins are flipped, so a draw takes `2 m`
    words of entropy whatever the scores, and further words with probability below `m^2 2^-62`.

    >>> PermuteAndFlipLaw([0, 1]).pmf().round(4).tolist()
    [0.1839, 0.8161]
    """

    scores: Sequence[Exact]
    factor: Exact = 1
    gaps: tuple[Fraction, ...] = field(init=False, repr=False)
    _cells: _Cells = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assign(self, gaps=_gaps(self.scores, self.factor))
        assign(self, _cells=_Cells.around(lambda: [rational_ball(-gap).exp() for gap in self.gaps]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.intp]:
        """`size` independent indices."""
        candidates = len(self.gaps)
        coins = entropy.random_words(size * candidates).reshape(size, candidates)
        heads = coins < self._cells.first
        sure = np.array([gap == 0 for gap in self.gaps])
        for i, r in np.argwhere(~heads & (coins <= self._cells.last) & ~sure):
            gap = self.gaps[r]
            heads[i, r] = LazyUniform(coins[i, r], 64, entropy).below(lambda gap=gap: rational_ball(-gap).exp())  # type: ignore[misc]
        heads |= sure
        return _one_of_each(heads, entropy)

    def pmf(self) -> Floats:
        """The probabilities, (m,), as floats: the integrand is a polynomial of degree m - 1."""
        flips = _flips(self.gaps)
        nodes, weights = np.polynomial.legendre.leggauss(min((len(flips) + 1) // 2, MOST_NODES))
        tails = np.outer((1 - nodes) / 2, flips)
        with np.errstate(under="ignore"):
            others = np.exp(np.log1p(-tails).sum(axis=1, keepdims=True) - np.log1p(-tails))
        return np.asarray(flips * (weights / 2 @ others))


@dataclass(frozen=True)
class _Cells:
    """For thresholds C_k in [0, 1]: words w below `first_k` are below C_k, words above `last_k` are above,
    the few between are open."""

    first: NDArray[np.uint64]
    last: NDArray[np.uint64]

    @classmethod
    def around(cls, thresholds: Callable[[], list[arb]]) -> _Cells:
        """A word w stands for a number in [w, w + 1] / 2^64."""
        with working_precision(64 + GUARD_BITS):
            scaled = [threshold * 2**64 for threshold in thresholds()]
            ends = [(_floor(ball.lower()), _floor(ball.upper())) for ball in scaled]
        first, last = np.array(ends, dtype=np.uint64).reshape(-1, 2).T
        return cls(first, last)


def _floor(end: arb) -> int:
    """The floor of an exact number, cut to the words."""
    floor = end.floor().unique_fmpz()
    assert floor is not None, "the end of a ball is exact"
    return min(max(0, int(floor)), LAST_WORD)


def _gaps(scores: Sequence[Exact], factor: Exact) -> tuple[Fraction, ...]:
    """`factor * (max scores - scores[r])`."""
    if not len(scores):
        raise InvalidProblem("scores: empty; give one score for each candidate, and at least one candidate.")
    if not all(isinstance(score, Rational) for score in (*scores, factor)):
        raise InvalidProblem("scores, factor: must be exact rationals (integers or Fractions); floats decide nothing here.")
    if factor < 0:
        raise InvalidProblem("factor: is negative; change the sign of the scores instead.")
    exact, rate = [Fraction(score) for score in scores], Fraction(factor)
    largest = max(exact)
    return tuple(rate * (largest - score) for score in exact)


def _flips(gaps: Sequence[Fraction]) -> Floats:
    """`exp(-gap)` as floats."""
    return np.asarray(np.exp(-np.array([float(min(gap, Fraction(2000))) for gap in gaps])))


def _one_of_each(heads: NDArray[np.bool_], entropy: Entropy) -> NDArray[np.intp]:
    """A uniform choice among the True entries of each row: the largest of random keys,
    drawn again for rows where two are the largest."""
    keys = np.where(heads, entropy.random_words(heads.size).reshape(heads.shape), np.uint64(0))
    chosen = keys.argmax(axis=1)
    largest = keys[np.arange(len(keys)), chosen]
    tied = np.flatnonzero((largest == 0) | ((keys == largest[:, None]).sum(axis=1) > 1))
    if len(tied):
        chosen[tied] = _one_of_each(heads[tied], entropy)
    return np.asarray(chosen)
