"""What a release costs beside its noise: ours beside OpenDP called directly, in one run.

    python -m benchmarks.instant [answers ...]
    python -m benchmarks.instant designs
    python -m benchmarks.instant starts

Each line is one mechanism and its peer under the same promise: the first release of a new object, any later one, OpenDP's own
noise on the same number of answers, their ratio, and how often one later release asks for the guarantee, for connected
components and for bits of the operating system. Processor time of this process, the least of rounds that alternate between
the two, so that the load of the machine touches both. OpenDP gets the answers, ours the counts, which it reads, checks and
adds up; ours also hands out the guarantee. `designs`: what a design, its certificate recomputed, and a first release take.
`starts`: processor seconds of processes that begin anew, beside those of peers; a million counts, a recorded release, a large
hull, once each. Without an argument all of them.
"""

from __future__ import annotations

import os
import pickle
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.ledger_release import main as of_ledgers
from designer import DesignFailed, Problem, Workload, design, invariants, load, metrics
from designer.certificate.frozen import FrozenMechanism, release_lines
from designer.certificate.guarantee import Guarantee
from designer.certificate.norms import Norm
from designer.cli import main as run_command
from designer.exchange.opendp import features
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid
from designer.problem import relation

ANSWERS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
CELLS = 1_000  # counts of cells, whose certificate takes seconds above; more answers are sums over FEW elements
FEW = 8
MARGIN = 1e-12  # of a weight, so that no rounding exceeds a budget
ROUNDS, SHORTEST = 7, 0.01  # of each, at least so many seconds of calls


def seconds(*runs: Callable[[], object]) -> list[float]:
    """Processor seconds of a call of each, the least of rounds that alternate between them."""
    found = [[] for _ in runs]  # type: list[list[float]]
    for run in runs:
        run()
    times = [max(1, int(SHORTEST / max(_once(run, 1), 1e-6))) for run in runs]
    for _ in range(ROUNDS):
        for run, count, own in zip(runs, times, found, strict=True):
            own.append(_once(run, count))
    return [min(own) for own in found]


def _once(run: Callable[[], object], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """How often a release asks for what is a function of the frozen object, and for bits."""
    calls: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            calls[name] += 1
            return function(*args, **kwargs)

        return called

    with (
        patch.object(Guarantee, "__init__", counting("guarantees", Guarantee.__init__)),
        patch.object(relation, "graph_components", counting("components", relation.graph_components)),
        patch.object(os, "urandom", counting("reads", os.urandom)),
    ):
        yield calls


def asked(size: int) -> Workload:
    """So many answers: counts of cells, or where these are many, sums over a few elements."""
    if size <= CELLS:
        return Workload.identity(size)
    return Workload(np.random.default_rng(1).integers(0, 2, (size, FEW)).astype(float))


def of_opendp(size: int, moved: float, pure: bool) -> Any:
    """OpenDP's noise on a vector of so many answers at epsilon 1, or rho 1/2; on a single number where it is one."""
    import opendp.prelude as dp

    maker = dp.m.make_laplace if pure else dp.m.make_gaussian
    apart = int(moved) if pure or size == 1 else moved
    if size == 1:
        space: tuple[Any, Any] = (dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64))
    else:
        space = (dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64) if pure else dp.l2_distance(T=dp.f64))
    scale = dp.binary_search_param(lambda s: maker(*space, scale=s), d_in=apart, d_out=1.0 if pure else 0.5)
    return maker(*space, scale=scale)


def line(name: str, made: Any, data: Any, theirs: Any, size: int) -> None:
    """One line of the table."""
    fresh = pickle.loads(pickle.dumps(made))
    start = time.process_time()
    fresh.release(data)
    first = time.process_time() - start
    given = 5 if size == 1 else [5] * size
    ours, peer = seconds(lambda: fresh.release(data), lambda: theirs(given))
    with counted() as calls:
        fresh.release(data)
    told = f"{calls['guarantees']:>4}{calls['components']:>4}{calls['reads']:>5}"
    print(
        f"{name:22}{size:>9}{1e3 * first:>10.2f}{1e3 * ours:>10.3f}{1e3 * peer:>10.3f}{ours / peer:>8.2f}   {told}", flush=True
    )


def of_ours(asked: Workload, moved: float, pure: bool) -> AdditiveMechanism:
    """Noise of one scale in every answer: the law of OpenDP's."""
    weights = np.full(asked.shape[0], (1 - MARGIN) / moved)
    return AdditiveMechanism(
        "laplace" if pure else "diagonal_gaussian",
        asked,
        metrics.add_remove(asked.shape[1], 1.0),
        Norm(weights, "l1" if pure else "l2"),
        Grid.for_scales(asked.dense(), 1 / weights, whole=True),
        "exponential" if pure else "gaussian",
    )


def main(*sizes: int) -> None:
    """Print the table."""
    heads = f"{'family':22}{'answers':>9}{'first ms':>10}{'later ms':>10}{'OpenDP':>10}{'ratio':>8}"
    print(f"{heads}   guarantees, components, reads of one later release")
    for size in sizes or ANSWERS:
        for pure in (True, False):
            workload = asked(size)
            moved = float(np.linalg.norm(workload.dense(), ord=1 if pure else 2, axis=0).max())
            made = of_ours(workload, moved, pure)
            with features():
                line(made.family, made, [5] * workload.shape[1], of_opendp(size, moved, pure), size)
    _others()


def _others() -> None:
    """Families whose noise is not drawn answer by answer, beside OpenDP's on as many numbers; and the commands' path."""
    prefix, ring = Workload(np.tri(16)), Workload([[1, 0, 1], [0, 1, 1]])
    table = invariants.margins((6, 6)).protect(1.0, adjacency=2)
    for family, problem in (
        ("strategy_geometric", Problem(prefix, metrics.add_remove(16, 1.0))),
        ("k_norm", Problem(ring, metrics.add_remove(3, 1.0))),
        ("lattice_laplace", Problem(Workload.identity(36), table)),
    ):
        made = design(problem, family).mechanism
        size = made.workload.shape[0]
        with features():
            line(family, made, [5] * made.workload.shape[1], of_opendp(size, 2.0, True), size)
    path(made, [5] * 36)


def starts() -> None:
    """Fresh processes, and what takes long enough to be measured once."""
    counts = (Problem(Workload.identity(4), metrics.add_remove(4, 1.0)), [5] * 4)
    print(f"{'a process of its own':44}{'seconds':>9}")
    with TemporaryDirectory() as folder:
        spec, data = design(counts[0], "laplace").mechanism.save(Path(folder) / "spec.json"), Path(folder) / "counts.npy"
        np.save(data, counts[1])
        for name, arguments in {
            "import numpy": ["-c", "import numpy"],
            "import opendp.prelude": ["-c", "import opendp.prelude"],
            "import designer": ["-c", "import designer"],
            "dp-designer --version": ["-m", "designer", "--version"],
            "dp-designer --help": ["-m", "designer", "--help"],
            "dp-designer verify, 4 counts": ["-m", "designer", "verify", str(spec)],
            "dp-designer release, 4 counts": ["-m", "designer", "release", str(spec), "--histogram", str(data)],
        }.items():
            print(f"{name:44}{min(_of_child(arguments) for _ in range(ROUNDS)):>9.2f}", flush=True)
    for size in (8, 9, 10):
        asked = Workload(np.random.default_rng(0).integers(0, 2, (size, 40)).astype(float))
        print(f"{f'k_norm, {size} queries on 40 elements':44}{_of_hull(asked):>9.2f}", flush=True)
    million = 10**6
    start = time.process_time()
    made = design(Problem(Workload.identity(million), metrics.add_remove(million, 1.0)), "laplace").mechanism
    made.release([5] * million)
    print(f"{'a million counts, designed and released':44}{time.process_time() - start:>9.2f}\n", flush=True)
    of_ledgers(50, 700, 50_000)


def _of_child(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _of_hull(asked: Workload) -> float:
    start = time.process_time()
    with suppress(DesignFailed):
        design(Problem(asked, metrics.add_remove(asked.shape[1], 1.0)), "k_norm")
    return time.process_time() - start


def designs() -> None:
    """What is designed in closed form, or from what is known of changes that are not listed: each in an object of its own."""
    print(f"{'problem':44}{'design ms':>11}{'verify ms':>11}{'release ms':>12}")
    for name, family, problem in _closed():
        frozen = design(problem, family).mechanism
        data = [5] * frozen.workload.shape[1]
        runs: tuple[Callable[[], object], ...] = (
            lambda problem=problem, family=family: design(_anew(problem), family),
            lambda frozen=frozen: _anew(frozen).verify(),
            lambda frozen=frozen, data=data: frozen.release(data),
        )
        made, verified, released = (1e3 * took for took in seconds(*runs))
        print(f"{name:44}{made:>11.2f}{verified:>11.2f}{released:>12.2f}", flush=True)
    _agreeing()


def _agreeing() -> None:
    """Whole numbers that agree over three levels of a plan, for 5,000 firms in 100 groups."""
    from benchmarks.growth.tables_out import agreeing_levels, hierarchy_of

    given = hierarchy_of(5_000)
    took, said = seconds(lambda: agreeing_levels(given))[0], agreeing_levels(given)
    print(f"{'whole numbers that agree, 5,000 firms, ' + said:66}{1e3 * took:>12.2f}", flush=True)


def _closed() -> Iterator[tuple[str, str, Problem]]:
    for size in (1_024, 10_000):
        yield f"{size:,} counts, Laplace", "laplace", Problem(Workload.identity(size), metrics.add_remove(size, 1.0))
    for size in (256, 1_000):
        problem = Problem(Workload.identity(size), metrics.add_remove(size, 1.0), notion="zcdp")
        yield f"{size:,} counts, Gaussian", "gaussian", problem
    for size in (6, 12, 16, 64):
        problem = Problem(Workload.prefix(size), metrics.add_remove(size, 1.0))
        yield f"running totals over {size}, a strategy", "strategy_laplace", problem
    for size in (4_000, 8_000, 16_000):
        places = np.random.default_rng(0).random((size, 2)) * np.sqrt(size)
        asked = Workload((places @ [[1.0, 0.3], [0.2, 1.0]] / size).T)
        yield f"two linear answers over {size:,} places", "laplace", Problem(asked, metrics.euclidean(places))
    for size in (10, 12, 16):
        table = invariants.margins((size, size)).protect(1.0, adjacency=3)
        yield (
            f"published margins, {size} x {size}, three records",
            "lattice_laplace",
            Problem(Workload.identity(size**2), table),
        )


def _anew(given: Any) -> Any:
    """An equal object that has computed nothing yet."""
    return pickle.loads(pickle.dumps(given))


def path(made: FrozenMechanism, data: list[int]) -> None:
    """What `dp-designer release` does with one mechanism when all is imported: whole, and its three largest parts."""
    with TemporaryDirectory() as folder:
        spec, counts = made.save(Path(folder) / "spec.json"), Path(folder) / "counts.npy"
        np.save(counts, data)

        def command() -> None:
            with redirect_stdout(StringIO()):
                assert run_command(["release", str(spec), "--histogram", str(counts)]) == 0

        def intervals() -> None:
            loaded = pickle.loads(pickle.dumps(made))
            release_lines(loaded, loaded.release(data))

        parts = {
            "the command": command,
            "loading the spec, certified anew": lambda: load(spec),
            "an object built anew": lambda: pickle.loads(pickle.dumps(made)),
            "the same, a release, its intervals": intervals,
            "one more release": lambda: made.release(data),
        }
        print("\nA release of a lattice mechanism of 36 cells, through the command's path")
        for name, took in zip(parts, seconds(*parts.values()), strict=True):
            print(f"{name:36}{1e3 * took:>10.2f} ms", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["starts"]):
        starts()
    if sys.argv[1:] in ([], ["designs"]):
        designs()
    if sys.argv[1:] not in (["starts"], ["designs"]):
        main(*map(int, sys.argv[1:]))
