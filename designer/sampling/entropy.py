"""Where random bits come from: the operating system for a release, a seed for a simulation."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem


class Entropy(Protocol):
    """A source of independent uniform 64-bit words; `private` is True only where nobody can reproduce them."""

    @property
    def private(self) -> bool:
        """May noise made from these words protect anybody?"""

    def random_words(self, count: int) -> NDArray[np.uint64]:
        """`count` fresh words, shape (count,), each uniform on 0 .. 2^64 - 1."""


@dataclass(frozen=True)
class SystemEntropy:
    """The operating system's generator, asked anew on every call: nothing is buffered, so forked processes cannot share words.

    >>> SystemEntropy().random_words(3).shape
    (3,)
    """

    private: bool = field(default=True, init=False)

    def random_words(self, count: int) -> NDArray[np.uint64]:
        """`count` words from `os.urandom`."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True)
class SeededEntropy:
    """A Philox stream, for simulation and tests only: whoever knows the seed knows the noise.

    Equal seeds give equal streams; the object moves along its stream, so two calls differ.

    >>> int(SeededEntropy(7).random_words(1)[0]) == int(SeededEntropy(7).random_words(1)[0])
    True
    """

    seed: int
    private: bool = field(default=False, init=False)
    _stream: np.random.Philox = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InvalidProblem(f"seed: {self.seed} is negative; give an integer >= 0.")
        assign(self, _stream=np.random.Philox(self.seed))

    def random_words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of the stream."""
        return self._stream.random_raw(count)
