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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from designer.base.errors import InvalidProblem
from designer.sampling.entropy import SeededEntropy
from designer.sampling.simulated_reach import Draw, Draws, Simulated, affordable, least, margins_of_all, margins_of_each

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
