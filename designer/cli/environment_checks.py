"""What is tried of an installation, in an interpreter of its own: an import that ends it ends nothing else.

Run as a script with the names of modules and of `TRIALS`; writes one line of JSON for each, at once. The standard library alone
is imported here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module

OK, MISSING, BROKEN = "ok", "missing", "broken"


def exact_arithmetic() -> str:
    """Rationals and balls of FLINT, on sums whose values are known."""
    from flint import arb, fmpq

    if fmpq(1, 3) * 3 != 1 or not (arb(2).sqrt() ** 2).contains(2) or (arb(2).sqrt() ** 2).contains(3):
        raise ArithmeticError("FLINT computes something else than 1/3 * 3 = 1 and sqrt(2)^2 = 2")
    return "rationals and balls of FLINT compute what they should"


def entropy() -> str:
    """The operating system's generator: filled, and never the same twice."""
    if hasattr(os, "getrandom"):
        os.getrandom(32, os.GRND_NONBLOCK)  # BlockingIOError before it is filled
    if os.urandom(32) == os.urandom(32):
        raise OSError("the operating system gave the same 256 random bits twice")
    return "os.urandom gives random bits" + (", and its generator is filled (getrandom)" if hasattr(os, "getrandom") else "")


def convex_solvers() -> str:
    """The solvers that CVXPY finds, each tried on the smallest program there is."""
    import cvxpy as cp

    answers: list[str] = []
    silent: list[str] = []
    for name in sorted(cp.installed_solvers()):
        x = cp.Variable()
        try:
            cp.Problem(cp.Minimize(x), [x >= 1]).solve(solver=name)
            (answers if abs(float(x.value) - 1) < 1e-3 else silent).append(name)
        except Exception:  # a licence, a solver for programs of another kind
            silent.append(name)
    if not answers:
        raise RuntimeError("no solver solves min x, x >= 1")
    return f"{', '.join(answers)}" + (f"; found, but without an answer to min x, x >= 1: {', '.join(silent)}" if silent else "")


def cdd_numbers() -> str:
    """What pycddlib computes in."""
    try:
        import_module("cdd.gmp")
    except ImportError:
        import_module("cdd")
        return "in doubles; pycddlib computes in rationals where it is built with libcdd and GMP, which proves the same"
    return "in rationals (cdd.gmp)"


def whole_way() -> str:
    """Two invented counts, designed for, certified, and released."""
    from designer.designing.dispatch import design
    from designer.problem.workload import Workload
    from designer.relations import metrics
    from designer.relations.problem import Problem

    made = design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace").mechanism
    if not made.verify().holds or len(made.release([3, 4]).answers) != 2:
        raise ArithmeticError("two invented counts were not released as they should be")
    return "two invented counts were designed for, certified and released"


TRIALS: dict[str, Callable[[], str]] = {
    "exact arithmetic": exact_arithmetic,
    "entropy": entropy,
    "solvers of CVXPY": convex_solvers,
    "arithmetic of cdd": cdd_numbers,
    "a whole release": whole_way,
}


def imported(name: str) -> str:
    """Nothing is to be said of a module that is imported."""
    import_module(name)
    return ""


def tried(name: str) -> dict[str, str]:
    """The state of a module or of a trial, in words; whatever goes wrong is a state."""
    try:
        return {"name": name, "state": OK, "words": TRIALS[name]() if name in TRIALS else imported(name)}
    except ModuleNotFoundError as error:
        state = MISSING if name in (error.name, *TRIALS) else BROKEN
        return {"name": name, "state": state, "words": f"there is no module {error.name}"}
    except BaseException as error:
        return {"name": name, "state": BROKEN, "words": " ".join(f"{type(error).__name__}: {error}".split())[:300]}


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # modules that print when they are imported
    for asked in sys.argv[1:]:
        print(json.dumps(tried(asked)), file=out, flush=True)
