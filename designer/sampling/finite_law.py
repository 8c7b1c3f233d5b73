"""Exact draws from a finite law whose weights are known as balls of any radius.

Why the law is exact: docs/theory/sampling.md, section 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import assign
from designer.sampling.integer_samplers import LazyUniform, resolve
from solvers.exact.balls import working_precision

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

PRECISION = 192
WORD = 2**64


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Integers k = 0 .. n - 1 with probability proportional to `weights()[k]`,
    nonnegative reals recomputed at every working precision.

    One word decides, by its place among the cumulative shares times 2^64; where it lies next to one of them, further bits do.

    >>> from flint import arb
    >>> from designer.sampling.entropy import SeededEntropy
    >>> FiniteLaw(lambda: [arb(1), arb(-1).exp()]).draw(4, SeededEntropy(1)).shape
    (4,)
    """

    weights: Callable[[], Sequence[arb]]
    _below: NDArray[np.uint64] = field(init=False, repr=False)
    _above: NDArray[np.uint64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        with working_precision(PRECISION):
            shares = [share * WORD for share in self._shares()]
            ends = [
                [min(max(int(end.floor().mid().unique_fmpz() or 0), 0), WORD - 1) for end in (s.lower(), s.upper())]
                for s in shares
            ]
        for name, place in (("_below", 0), ("_above", 1)):
            array = np.array([end[place] for end in ends], dtype=np.uint64)
            array.setflags(write=False)
            assign(self, **{name: array})

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent integers."""
        words = entropy.random_words(size)
        # A word below the integer part of a share is below the share, whatever its further bits; a word above it is above.
        drawn = np.searchsorted(self._above, words, side="left")
        for i in np.flatnonzero(drawn != np.searchsorted(self._below, words, side="right")):
            drawn[i] = self._decide(LazyUniform(int(words[i]), 64, entropy))
        return drawn.astype(np.int64)

    def _shares(self) -> list[arb]:
        """Cumulative shares of all but the last."""
        cumulative = list(accumulate(self.weights()))
        return [weight / cumulative[-1] for weight in cumulative[:-1]]

    def _decide(self, uniform: LazyUniform) -> int:
        def answer() -> int | None:
            shares = self._shares()
            over = [uniform.is_below(share) for share in shares]
            return None if None in over else over.count(False)

        return resolve([uniform], answer)
