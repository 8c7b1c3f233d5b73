"""Where random bits come from: the operating system for a release, a seed for a simulation."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import assign
from designer.base.checks import count as whole_number
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
            raise InvalidProblem(f"seed: {self.seed} is negative; give an integer >= 0.", value=self.seed)
        assign(self, _stream=np.random.Philox(self.seed))

    def random_words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of the stream."""
        return self._stream.random_raw(count)


def simulation_entropy(seed: int | None) -> Entropy:
    """The entropy of a simulation: that of the operating system, or a seeded one, never that of a release."""
    return SystemEntropy() if seed is None else SeededEntropy(whole_number(seed, "seed", least=0))


def simulation_stamp(seed: int | None, what: str = "") -> str:
    """What a simulation says of itself, with `what` was drawn."""
    drawn = f"{what}, " if what else ""
    return f"simulation, not private: {drawn}" + ("no seed" if seed is None else f"seed {seed}")


def stamp_of_each(seed: int | None, size: int) -> list[str]:
    """The stamps of `size` draws that are handed out one by one."""
    return [simulation_stamp(seed, f"draw {place + 1} of {size}" if size > 1 else "") for place in range(size)]
