"""Uniform numbers whose further bits are drawn only when a decision needs them.

Why the law is exact: docs/theory/sampling.md, section 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from solvers.exact.bits import working_precision

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

Answer = TypeVar("Answer")
GUARD_BITS = 64


class LazyUniform:
    """A number uniform on (0, 1), known so far to lie in `[head, head + 1] / 2^bits`.

    The bits not yet drawn are independent of everything, so drawing them later gives the same law as having had them all along.
    """

    def __init__(self, head: int, bits: int, entropy: Entropy) -> None:
        self.head = int(head)
        self.bits = bits
        self._entropy = entropy

    def refine(self) -> None:
        """Draw 64 further bits."""
        self.head = (self.head << 64) | int(self._entropy.random_words(1)[0])
        self.bits += 64

    def ball(self) -> arb:
        """A ball that contains every value still possible, exact at a precision of at least `bits + 1`."""
        from flint import arb

        ball: arb = arb(2 * self.head + 1, 1) / 2 ** (self.bits + 1)
        return ball

    def below(self, bound: Callable[[], arb]) -> bool:
        """Is the number below `bound()`, a ball around a real number that is recomputed at every precision?

        True with probability exactly that real number, clipped to [0, 1].
        """

        return resolve([self], lambda: self.is_below(bound()))

    def is_below(self, limit: arb) -> bool | None:
        """Is the number below `limit`, or None while the bits known and the radius of `limit` leave it open."""
        number = self.ball()
        if number < limit:
            return True
        return False if number > limit else None


def resolve(uniforms: Sequence[LazyUniform], answer: Callable[[], Answer | None]) -> Answer:
    """The answer to a question about `uniforms`, asked with ever more of their bits until it is not None.

    `answer` runs in ball arithmetic at a precision beyond the bits known, so what it decides holds for every
    value still possible. It ends with probability 1 where the values that no precision decides form a null set: each
    round divides the measure of the undecided ones by about 2^64.
    """
    while True:
        with working_precision(max(uniform.bits for uniform in uniforms) + GUARD_BITS):
            decided = answer()
        if decided is not None:
            return decided
        for uniform in uniforms:
            uniform.refine()
