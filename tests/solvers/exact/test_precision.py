"""FLINT's precision is that of the process: what threads compute at once is what one computes alone."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx

from designer.relations.metrics import great_circle
from designer.sampling.body_grids import EllipsoidGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.finite_law import FiniteLaw
from designer.tradeoff import conversions as accounting
from solvers.exact.balls import float_above_real, fraction_below, precision, sharp, working_precision

ROOT = Path(__file__).parents[3]
PLACES = great_circle([[52.5, 13.4], [48.1, 11.6]], 0.05)
WORK: list[Callable[[], Any]] = [
    lambda: float_above_real(lambda: arb(1) / 3),
    lambda: str(fraction_below(lambda: arb(2).sqrt(), bits=300)),
    lambda: sharp(lambda: arb(1).exp() - 1, 400).str(60),
    lambda: PLACES.exact_budget(0, 1),
    lambda: accounting.zcdp_epsilon(Fraction(1, 2), Fraction(1, 10**6)),
    lambda: FiniteLaw(lambda: [arb(1), arb(-1).exp(), arb(2).sqrt()]).draw(20, SeededEntropy(5)).tolist(),
    lambda: float_above_real(lambda: EllipsoidGrid([[1.0, 0.25], [0.5, 3.0]]).norm_ball([2, 5])),
]


@pytest.fixture
def hasty() -> Any:
    """Threads that change places all the time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty")
def test_threads_compute_what_one_thread_computes() -> None:
    alone, before = [work() for work in WORK], precision()
    with ThreadPoolExecutor(4) as pool:
        together = [pool.submit(work) for _ in range(10) for work in WORK]
        assert [done.result() for done in together] == alone * 10
    assert precision() == before == ctx.prec


@pytest.mark.usefixtures("hasty")
def test_a_precision_holds_to_the_end_of_its_block() -> None:
    """Without a lock, another thread's block ends in the middle of this one and takes its precision away."""
    seen: list[bool] = []

    def block(bits: int) -> None:
        for _ in range(300):
            with working_precision(bits):
                seen.extend(precision() == bits for _ in range(20))
                with working_precision(2 * bits):
                    seen.append(precision() == 2 * bits)

    before = precision()
    threads = [threading.Thread(target=block, args=(bits,)) for bits in (64, 160, 4096)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen) and precision() == before


def test_no_other_module_sets_the_precision() -> None:
    users = {
        path.name
        for path in [*(ROOT / "designer").rglob("*.py"), *(ROOT / "solvers").rglob("*.py")]
        if "flint" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "flint" and any(name.name == "ctx" for name in node.names)
    }
    assert users == {"balls.py"}
