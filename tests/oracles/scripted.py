"""Entropy that is known in advance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
