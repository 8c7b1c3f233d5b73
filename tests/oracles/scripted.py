"""Entropy that is known in advance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from designer.sampling.entropy import SeededEntropy


class Scripted:
    """Words given in advance, then an error: nothing may ask for more."""

    private = False

    def __init__(self, *words: int) -> None:
        self.script = list(words)

    def random_words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words, (count,)."""
        assert count <= len(self.script), "more words asked for than the script holds"
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken, dtype=np.uint64)


class Replayed:
    """The given words first, then a seeded stream for the further bits."""

    private = False

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.first, self.later = words, SeededEntropy(5)

    def random_words(self, count: int) -> NDArray[np.uint64]:
        if self.first.size == count:
            taken, self.first = self.first, self.first[:0]
            return taken
        return self.later.random_words(count)
