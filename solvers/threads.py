"""Linear algebra on one thread, so that the digits of a search do not depend on how many threads a machine offers.

A sum that several threads share is added up in another order: its last digits differ, and a search may end elsewhere. Small
matrices, which most searches handle, are also multiplied faster by one thread than by several that wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_here = threading.local()  # depth: of the blocks around, in each thread of Python
_threads = 0  # of Python, within a block
_before: list[tuple[Any, int]] = []  # the libraries, and how many threads each used


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this block BLAS and OpenMP use one thread; with the end of the last block, whatever thread of Python had it, they
    use as many as before.

    It limits what threadpoolctl knows (OpenBLAS, MKL, BLIS, OpenMP; Apple's Accelerate is not among them), of libraries that
    were loaded when the first block began: those of NumPy and SciPy are. The limits of most hold for the whole process. Where
    threadpoolctl is not installed, nothing is limited.

    >>> with one_thread():
    ...     pass
    """
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        if _here.depth == 1:
            _enter()
        yield
    finally:
        _here.depth -= 1
        if _here.depth == 0:
            _leave()


def _enter() -> None:
    global _threads
    with _lock:
        if not _threads:
            _before.extend((library, library.num_threads) for library in _libraries())
            _take_control()
        _threads += 1
        for library, _ in _before:
            library.set_num_threads(1)


def _leave() -> None:
    global _threads
    with _lock:
        _threads -= 1
        if not _threads:
            _take_control()
        for library, number in _before:
            if not _threads or getattr(library, "threading_layer", "") == "openmp":  # whose numbers are of each thread
                library.set_num_threads(number)
        if not _threads:
            _take_control()
            _before.clear()


def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  # brings a library of its own, which otherwise is loaded later, with all its threads

    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return []
    return [library for library in ThreadpoolController().lib_controllers if library.num_threads]


def _take_control() -> None:
    """Later versions of threadpoolctl heed one thread of Python alone, the first that sets OpenBLAS: let it be the next."""
    for library, _ in _before:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
