"""The default beside HDMM's searches for pure strategies, written down as they were published (McKenna and others, VLDB 2018).

OPT_0: strategies `[I; T] diag(s)` with T >= 0 of n / 16 rows and columns of length 1, by L-BFGS-B from 25 random starts. OPT_M:
all marginals of the attributes with weights of their own that sum to 1, by L-BFGS from 25 random starts; in both the best end
counts, and noise is Laplace's, of variance 2 for every unit. One record appears or disappears. Total squared error and seconds
of processor of `design`, with its certificate and its frozen mechanism, and of the search alone.

    OMP_NUM_THREADS=1 python -m benchmarks.hdmm_pure [--starts 25]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.strategies_design import gram, plain_p_identity
from designer import Problem, Workload, design, metrics

Array = NDArray[np.float64]
BUDGETS = (0.1, 1.0, 4.0)


def opt_0(kind: str, size: int, starts: int) -> float:
    """The squared error at budget 1."""
    wanted = gram(kind, size)
    return min(plain_p_identity(wanted, max(1, size // 16), seed) for seed in range(starts))


def opt_m(sizes: Sequence[int], asked: Sequence[tuple[int, ...]], starts: int) -> float:
    """The squared error at budget 1 of the best weighted marginals theta. With `c_a` the product of the sizes that marginal a
    sums over, their Gram matrix has the eigenvalue `sum_(a >= b) theta_a^2 c_a` on the space of interactions b, of dimension
    `prod_(i in b) (n_i - 1)`, and that of the queries `sum_(asked a >= b) c_a`."""
    from scipy.optimize import minimize

    every = [set(part) for r in range(len(sizes) + 1) for part in combinations(range(len(sizes)), r)]
    over = np.array([math.prod(n for i, n in enumerate(sizes) if i not in part) for part in every], dtype=float)
    within = np.array([[b <= a for a in every] for b in every], dtype=float) * over  # (b, a)
    wanted = within @ np.array([float(tuple(sorted(part)) in asked) for part in every])
    wanted *= [math.prod(sizes[i] - 1 for i in part) for part in every]

    def objective(free: Array) -> tuple[float, Array]:
        theta = np.exp(free)
        values = within @ theta**2
        error, total = float((wanted / values).sum()), float(theta.sum())
        pull = -(within.T @ (wanted / values**2)) * 2 * theta**2
        return math.log(error) + 2 * math.log(total), pull / error + 2 * theta / total

    ends = []
    for seed in range(starts):
        begun = np.random.default_rng(seed).normal(size=len(every))
        ends.append(float(minimize(objective, begun, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).fun))
    return 2 * math.exp(min(ends))


def marginals(sizes: Sequence[int], ways: int) -> tuple[Array, list[tuple[int, ...]]]:
    """The queries of all marginals of so many attributes, and which these are."""
    asked = list(combinations(range(len(sizes)), ways))
    cells = list(product(*map(range, sizes)))
    rows = [
        [float(all(cell[i] == v for i, v in zip(kept, value, strict=True))) for cell in cells]
        for kept in asked
        for value in product(*(range(sizes[i]) for i in kept))
    ]
    return np.array(rows), asked


def problems(starts: int) -> Iterator[tuple[str, Workload, Callable[[], float]]]:
    """Names, queries, and the search at budget 1."""
    for kind, size in (("prefix", 16), ("prefix", 32), ("prefix", 64), ("ranges", 16), ("ranges", 32)):
        workload = Workload.prefix(size) if kind == "prefix" else Workload.all_ranges(size)
        yield f"{kind} of {size}, OPT_0", workload, lambda kind=kind, size=size: opt_0(kind, size, starts)  # type: ignore[misc]
    for sizes, ways in (((3, 4, 5), 1), ((3, 4, 5), 2), ((2, 2, 2, 2, 2), 2), ((10, 6), 1)):
        rows, asked = marginals(sizes, ways)
        told = f"{ways}-way marginals of {' x '.join(map(str, sizes))}, OPT_M"
        yield told, Workload(rows), lambda sizes=sizes, asked=asked: opt_m(sizes, asked, starts)  # type: ignore[misc]


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What is made, and the seconds of the processor."""
    start = time.process_time()
    made = run()
    return made, time.process_time() - start


def main() -> None:
    """A line for each problem and budget."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--starts", type=int, default=25)
    given = parser.parse_args()
    timed(lambda: design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0))))  # imports, outside the measurement
    worst = 0.0
    for name, workload, search in problems(given.starts):
        theirs, their_seconds = timed(search)
        for budget in BUDGETS:
            made, seconds = timed(lambda b=budget, w=workload: design(Problem(w, metrics.add_remove(w.shape[1], b))))  # type: ignore[misc]
            ratio = made.loss * budget**2 / theirs
            worst = max(worst, ratio)
            line = f"{name:40} budget {budget:3g}  {made.loss:10.5g} {theirs / budget**2:10.5g}  ratio {ratio:.4f}"
            print(f"{line}  {made.mechanism.family:20} {seconds:6.1f} s {their_seconds:6.1f} s", flush=True)
    print(f"largest ratio {worst:.4f}")


if __name__ == "__main__":
    main()
