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
from designer.sampling.finite_law import Cells, FiniteLaw
from designer.sampling.integer_samplers import LazyUniform
from solvers.exact.balls import exp_ball

if TYPE_CHECKING:
    from designer.base.arrays import Floats
    from designer.sampling.entropy import Entropy

Exact = int | Fraction

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
    _law: FiniteLaw = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assign(self, gaps=_gaps(self.scores, self.factor))
        assign(self, _law=FiniteLaw(lambda: [exp_ball(-gap) for gap in self.gaps]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent indices."""
        return self._law.draw(size, entropy)

    def chosen(self, words: NDArray[np.uint64], entropy: Entropy) -> NDArray[np.int64]:
        """The indices that some words, (n,), stand for, (n,); entropy is asked for further bits where one leaves it open."""
        return self._law.chosen(words, entropy)

    def pmf(self) -> Floats:
        """The probabilities, (m,), as floats."""
        weights = _flips(self.gaps)
        return np.asarray(weights / weights.sum())


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
    _cells: Cells = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assign(self, gaps=_gaps(self.scores, self.factor))
        assign(self, _cells=Cells.around(lambda: [exp_ball(-gap) for gap in self.gaps]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.intp]:
        """`size` independent indices."""
        candidates = len(self.gaps)
        coins = entropy.random_words(size * candidates).reshape(size, candidates)
        heads = coins < self._cells.first
        sure = np.array([gap == 0 for gap in self.gaps])
        for i, r in np.argwhere(~heads & (coins <= self._cells.last) & ~sure):
            gap = self.gaps[r]
            heads[i, r] = LazyUniform(coins[i, r], 64, entropy).below(lambda gap=gap: exp_ball(-gap))  # type: ignore[misc]
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
