"""The working precision of ball arithmetic: FLINT has one for the whole process, so one thread at a time may set it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_held = RLock()


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute with balls of `bits` bits in this block.
    Other threads wait at theirs: they would change the precision in the middle of it."""
    from flint import ctx

    with _held, ctx.workprec(bits):
        yield


def precision() -> int:
    """The working precision in bits."""
    from flint import ctx

    return int(ctx.prec)
