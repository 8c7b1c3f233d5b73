"""How far noise reaches, in each answer and in all at once: the least of what is proven and of what draws show
(docs/theory/intervals.md, 2 to 4).

| margins | law |
| --- | --- |
| of each answer | those that are proven; where these are bounds that no law attains, order statistics of draws, if less |
| of all, every answer from one coordinate with noise of its own | the product of the coordinates' probabilities, exactly |
| of all, elsewhere | Bonferroni's, times what draws show to be enough for all of them at once |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.sampling.entropy import Entropy, SeededEntropy
from solvers.work import spend

# How far noise reaches, from draws of its own sampler: order statistics that are too low with a probability that is known.
#
# Of M independent draws of a number, the i-th smallest is below its quantile at `level` only if at least i draws are, so with
# probability at most `P(Binomial(M, level) >= i)`, whatever the law, ties included (docs/theory/intervals.md, 3). Draws are
# repeatable: who has the mechanism has the same numbers.


FAILURE = 1e-9  # with which all order statistics of one question may be too low together
MOST_DRAWS = 100_000
WORK = 4 * 10**6  # coordinates that are drawn: about 2 s
PRODUCTS = 4 * 10**10  # of matrices: about 5 s
HELD = 2 * 10**7  # numbers that are held
AT_ONCE = 2**20
KEPT = 4 * 10**6  # numbers of draws that are asked for again: 32 MB
ANNOUNCED = 10**6
ROOMY = 1 + 1e-9
DRAWN = (
    70.0  # entries of `solvers.work` that a number of noise in an answer counts: 0.22 microseconds, measured over 13 families
)

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
    (986, None)
    """
    from scipy.stats import binom

    low, high = 0, draws + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binom.sf(middle - 1, draws, level) * ROOMY <= failure else (middle, high)
    return None if high > draws else high


class Draws:
    """Sizes of the noise in K answers, drawn from one stream; as many as fit are kept, and drawn once."""

    def __init__(self, draw: Draw, seed: int, answers: int) -> None:
        self.draw, self.seed, self.answers = draw, seed, answers
        self.kept: tuple[int, tuple[Floats, ...]] = (0, ())

    def blocks(self, size: int) -> Iterator[Floats]:
        """`size` draws in blocks, (a few, K) each."""
        if size == self.kept[0]:
            yield from self.kept[1]
            return
        if size * self.answers > ANNOUNCED:
            announce(f"drawing noise {size:,} times, to see how far it reaches")
        entropy, step, made = SeededEntropy(self.seed), max(1, AT_ONCE // max(1, self.answers)), list[Floats]()
        for start in range(0, size, step):
            made.append(frozen(np.abs(self.draw(min(step, size - start), entropy))))
            spend(entries=DRAWN * made[-1].size)
            yield made[-1]
            made = made if size * self.answers <= KEPT else []
        if size * self.answers <= KEPT:
            self.kept = size, tuple(made)


def margins_of_each(draws: Draws, size: int, level: float) -> Simulated | None:
    """Margins of each answer from `size` draws; None where these are too few."""
    rank = safe_rank(size, level, FAILURE / draws.answers)
    if rank is None:
        return None
    sizes = np.concatenate([*draws.blocks(size)])
    found = np.partition(sizes, rank - 1, axis=0)[rank - 1]
    return Simulated(np.where(found == np.rint(found), found, found * ROOMY), size)  # whole numbers are exact


def margins_of_all(draws: Draws, size: int, level: float, shape: Floats) -> Simulated | None:
    """`q shape` with the least q found for which all answers are within it at once; None where the draws are too few.

    shape: (K,), 0 of answers that are to have no noise: a draw in which one has some is beyond every q.
    """
    rank = safe_rank(size, level, FAILURE)
    noisy = shape > 0
    if rank is None or not noisy.any():
        return None

    def largest(own: Floats) -> Floats:
        within = (own[:, noisy] / shape[noisy]).max(axis=1)
        return np.where(own[:, ~noisy].any(axis=1), np.inf, within)

    found = np.concatenate([largest(own) for own in draws.blocks(size)])
    q = float(np.partition(found, rank - 1)[rank - 1]) * ROOMY
    return Simulated(q * shape, size) if q < np.inf else None


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


Margins = Callable[[float, bool], tuple[Floats, str]]  # by level, of each answer or of all at once; see `NoiseReach.margins`
PILOT = 1000  # draws that tell the answers' sizes apart where nothing is proven of them


class NoiseFacts(NamedTuple):
    """What decides how the reach of a law is found.

    law: by which law its margins are, in a sentence. tight: whether that law attains all of them, to a few per cent at most.
    coordinates: that a draw consists of, with those that are rejected; infinite where none is to be made. independent: how many
    coordinates have noise of their own, where every answer is a multiple of one of them; None elsewhere.
    """

    law: str
    tight: bool
    coordinates: float
    independent: int | None = None


@dataclass(frozen=True, eq=False)
class NoiseReach(Immutable):
    """Noise in K answers.

    proven: margins of each answer at a level, (K,), or None where nothing is. draw: of the noise in the answers. silent: (K,)
    booleans, the answers without noise. seed: of the draws. name: of whose noise this is, for refusals.
    """

    proven: Callable[[float], Floats | None]
    draw: Draw
    silent: NDArray[np.bool_]
    facts: NoiseFacts
    seed: int
    name: str

    @cached_property
    def draws(self) -> Draws:
        """Draws that everybody finds who has the mechanism."""
        return Draws(self.draw, self.seed, len(self.silent))

    def margins(self, level: float, simultaneous: bool) -> tuple[Floats, str]:
        """Margins of each answer, or of all at once, and by which law, in a sentence; `InvalidProblem` where none is known."""
        return self._of_all(level) if simultaneous else self._of_each(level)

    def _of_each(self, level: float) -> tuple[Floats, str]:
        known, answers = self.proven(level), len(self.silent)
        if known is not None and self.facts.tight:
            return known, self.facts.law
        draws = affordable(self.facts.coordinates, answers, answers)
        found = margins_of_each(self.draws, draws, level)
        return self._either(known, found, self.facts.law)

    def _of_all(self, level: float) -> tuple[Floats, str]:
        apart, answers = self.facts.independent, int((~self.silent).sum())
        shares = max(1, answers if apart is None else apart)
        share = (1 - level) / shares if apart is None else -math.expm1(math.log(level) / shares)
        known = self.proven(confidence_of(share))
        if apart is not None and known is not None:
            return known, f"{self.facts.law}, of coordinates that are independent"
        shape = self._pilot() if known is None else known
        draws = affordable(self.facts.coordinates, len(self.silent))
        found = margins_of_all(self.draws, draws, level, shape)
        return self._either(known, found, f"{self.facts.law}, Bonferroni over {answers} answers")

    def _pilot(self) -> Floats:
        """Sizes of the answers' noise as a few draws show them, (K,); none is 0 but those of exact answers."""
        if self.facts.coordinates == math.inf:
            return np.zeros(len(self.silent))
        noise = self.draw(PILOT, SeededEntropy(self.seed + 1))
        sizes = np.sqrt(np.square(noise).mean(axis=0))
        return np.where(self.silent, 0.0, np.where(sizes > 0, sizes, sizes.max()))

    def _either(self, known: Floats | None, found: Simulated | None, law: str) -> tuple[Floats, str]:
        """What is proven, what draws show, or the less of both."""
        if known is not None:
            return least(known, found, law)
        if found is None:
            raise InvalidProblem(
                f"intervals: no bound of the noise of {self.name} is proven, and as many draws as this level needs would take "
                "too long; ask for a lower level, or for fewer answers."
            )
        return found.margins, found.words


def confidence_of(share: float) -> float:
    """A float below 1 whose distance to 1, as floats compute it, is at most `share`."""
    confidence = 1 - share
    while 1 - confidence > share:
        confidence = float(np.nextafter(confidence, 1.0))
    return confidence
