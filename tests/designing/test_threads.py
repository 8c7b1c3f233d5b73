"""The number of threads of the linear algebra decides no design."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from designer import Problem, Targets, Workload, compare, design, least_budget, metrics
from designer.designing import forget, register
from designer.designing.family import Family
from designer.designing.laplace import design_laplace
from designer.mechanism.additive import AdditiveMechanism
from solvers.work import one_thread

ASKED = """
import numpy as np
from designer import Problem, Targets, Workload, compare, design, invariants, least_budget, metrics

places = metrics.euclidean(np.random.default_rng(2).random((20, 2)))
normal = Problem(Workload.random(60, 100, seed=5), metrics.add_remove(100, 1.0), notion="zcdp")
asked = [
    normal,
    Problem(Workload.random(8, 20, seed=5), places, notion="zcdp"),
    Problem(Workload(np.tril(np.ones((16, 16)))), metrics.add_remove(16, 1.0)),
    Problem(Workload.random(4, 20, seed=1), places),
    Problem(Workload([[6.0, 4, 0], [1, 3, 6]]), metrics.uniform(3, 4.0)),
    Problem(Workload.identity(6), invariants.margins((2, 3)).protect(3.0)),
]
for problem in asked:
    print(design(problem, effort="quick").mechanism.fingerprint)
print(compare(normal, ["gaussian", "diagonal_gaussian"]).best.mechanism.fingerprint)
print(least_budget(normal, Targets(standard_error=1.0), "gaussian", curve=1).factor)
"""
SET = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def fingerprints(threads: str | None) -> list[str]:
    """Those of the designs in an interpreter of its own, whose linear algebra may use so many threads."""
    around = {name: value for name, value in os.environ.items() if name not in SET}
    given = {} if threads is None else {"OPENBLAS_NUM_THREADS": threads}
    ran = subprocess.run([sys.executable, "-c", ASKED], env=around | given, capture_output=True, text=True, check=True)
    return ran.stdout.split()


@pytest.mark.nightly
def test_designs_are_the_same_with_any_number_of_threads() -> None:
    alone = fingerprints("1")
    assert len(alone) == 8
    for threads in ("2", "4", None):
        assert fingerprints(threads) == alone, threads


def threads_used() -> set[int]:
    """How many threads the libraries of linear algebra that are loaded would use."""
    from threadpoolctl import threadpool_info

    return {library["num_threads"] for library in threadpool_info()}


def test_one_thread_is_used_until_the_last_block_ends() -> None:
    """Of any thread of Python; before and after it is what it was."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    pytest.importorskip("scipy.linalg")  # has a library of its own, whose threads are to be set here, too
    inside, out = threading.Event(), threading.Event()

    def hold() -> None:
        with one_thread():
            inside.set()
            out.wait(60)

    with threadpoolctl.threadpool_limits(2):
        before = threads_used()
        other = threading.Thread(target=hold)
        with one_thread():
            other.start()
            assert inside.wait(60)
            with one_thread():
                assert threads_used() == {1}
            assert threads_used() == {1}
        assert threads_used() == {1}  # the other holds it
        out.set()
        other.join()
        assert threads_used() == before
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert threads_used() == before


def test_a_design_runs_on_one_thread() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    used = []

    def build(problem: Problem) -> AdditiveMechanism:
        used.append(threads_used())
        return replace(design_laplace(problem), family="custom")

    try:
        register(Family("watched", "Laplace, watched", "pure", build))
        with threadpoolctl.threadpool_limits(2):
            problem = Problem(Workload.identity(2), metrics.uniform(2, 1.0))
            design(problem, "watched")
            compare(problem, "watched")
            least_budget(problem, Targets(standard_error=1.0), "watched", curve=1, step=0.5)
    finally:
        forget("watched")
    assert len(used) > 3 and set.union(*used) == {1}
