"""How far noise reaches, from draws of its own sampler: order statistics that are too low with a probability that is known.

Of M independent draws of a number, the i-th smallest is below its quantile at `level` only if at least i draws are, so with
probability at most `P(Binomial(M, level) >= i)`, whatever the law, ties included (docs/theory/intervals.md, 3). Draws are
repeatable: who has the mechanism has the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.progress import announce
from designer.sampling.entropy import Entropy, SeededEntropy
from designer.values.arrays import Floats

FAILURE = 1e-9  # with which all order statistics of one question may be too low together
MOST_DRAWS = 200_000
WORK = 4 * 10**6  # coordinates that are drawn: about 2 s
PRODUCTS = 4 * 10**10  # of matrices: about 5 s
HELD = 2 * 10**7  # numbers that are held
AT_ONCE = 2**20
ANNOUNCED = 10**6
ROOMY = 1 + 1e-9

Draw = Callable[[int, Entropy], Floats]  # (size, K), the noise in K answers


class Simulated(NamedTuple):
    """Margins (K,) and by how many draws they were found."""

    margins: Floats
    draws: int

    @property
    def words(self) -> str:
        """How they were found."""
        return f"{self.draws:,} repeatable draws of the exact sampler, an order statistic too low with probability {FAILURE:g}"


def affordable(coordinates: float, answers: int, held: int = 1) -> int:
    """How many draws of so many coordinates, mapped to so many answers, of which `held` numbers each are kept, take
    seconds."""
    each = max(1.0, coordinates)
    return int(min(MOST_DRAWS, WORK / each, PRODUCTS / (each * max(1, answers)), HELD / max(1, held)))


def safe_rank(draws: int, level: float, failure: float) -> int | None:
    """The least i with `P(Binomial(draws, level) >= i) <= failure`; None where even the largest of the draws may be too low.

    >>> safe_rank(1000, 0.95, 1e-9), safe_rank(100, 0.95, 1e-9)
    (987, None)
    """
    from scipy.stats import binom

    low, high = 0, draws + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binom.sf(middle - 1, draws, level) * ROOMY <= failure else (middle, high)
    return None if high > draws else high


def margins_of_each(draw: Draw, seed: int, draws: int, level: float, answers: int) -> Simulated | None:
    """Margins of each of K answers from so many draws; None where these are too few."""
    rank = safe_rank(draws, level, FAILURE / answers)
    if rank is None:
        return None
    sizes = np.concatenate([np.abs(own) for own in _blocks(draw, seed, draws, answers)])
    return Simulated(np.partition(sizes, rank - 1, axis=0)[rank - 1] * ROOMY, draws)


def margins_of_all(draw: Draw, seed: int, draws: int, level: float, shape: Floats) -> Simulated | None:
    """`q shape` with the least q found for which all answers are within it at once; None where the draws are too few.

    shape: (K,), 0 of answers that are to have no noise: a draw in which one has some is beyond every q.
    """
    rank = safe_rank(draws, level, FAILURE)
    noisy = shape > 0
    if rank is None or not noisy.any():
        return None

    def largest(own: Floats) -> Floats:
        within = (np.abs(own[:, noisy]) / shape[noisy]).max(axis=1)
        return np.where(own[:, ~noisy].any(axis=1), np.inf, within)

    found = np.concatenate([largest(own) for own in _blocks(draw, seed, draws, len(shape))])
    q = float(np.partition(found, rank - 1)[rank - 1]) * ROOMY
    return Simulated(q * shape, draws) if q < np.inf else None


def _blocks(draw: Draw, seed: int, draws: int, answers: int) -> list[Floats]:
    """Draws in blocks, from one stream."""
    if draws * answers > ANNOUNCED:
        announce(f"drawing noise {draws:,} times, to see how far it reaches")
    entropy, size = SeededEntropy(seed), max(1, AT_ONCE // max(1, answers))
    return [draw(min(size, draws - start), entropy) for start in range(0, draws, size)]


def seed_of(fingerprint: str) -> int:
    """A seed that everybody takes who knows the mechanism."""
    return int(fingerprint[:12], 16)


def least(margins: Floats, found: Simulated | None, law: str) -> tuple[Floats, str]:
    """The smaller of two kinds of margins, (K,), answer by answer, and by which law."""
    if found is None or not (found.margins < margins).any():
        return margins, law
    smaller = found.margins < margins
    words = found.words if (smaller | (margins <= 0)).all() else f"{law}, or {found.words}, whichever is less"
    return np.where(smaller, found.margins, margins), words
