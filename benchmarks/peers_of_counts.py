"""Twenty workloads of 500 to 100,000 counts beside the tools that others publish, all in one run: squared error and processor
seconds of the design. Other tools run in an environment of their own, which nothing else here needs:

    pip install opendp==0.16.0 numpy==2.4.6 scipy==1.17.1 mbi==2.0.0 jax_privacy==2.0.0 cvxpy pandas
    PYTHONPATH: src of github.com/dpcomp-org/hdmm at 5aa9df93a46e, residual_planner of github.com/dkifer/ResidualPlanner at
    ef9c17041954, and, with opendp==0.12.1 and pandas instead, inf-tda==0.1

    OMP_NUM_THREADS=1 python -m benchmarks.peers_of_counts --peers PYTHON [--inftda PYTHON] [words of names ...]

Figures are kept in `benchmarks/peers_of_counts.json`, where workloads that are measured anew replace theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_suffix(".json")
RHO = 0.5  # of zCDP, where a workload asks for it
DRAWS, EXACT = 100, 5000  # draws of a tool whose error is simulated; nodes up to which that of a tree is not
SMALL, LARGE = 0.3, 300.0  # counts of a cell on average, in a sparse and a dense population
LEAST = 1e-3  # rate of a level that is not worth measuring
DELTA = 1e-6  # of InfTDA's own promise

Found = dict[str, Any]


def pairs(size: int) -> list[tuple[int, ...]]:
    return list(combinations(range(size), 2))


def every(size: int) -> list[tuple[int, ...]]:
    return [table for order in range(size + 1) for table in combinations(range(size), order)]


# kind, arguments, notion, tools whose answers have no bias, tools whose answers have one
Case = tuple[str, Any, str, tuple[str, ...], tuple[str, ...]]
TABLES: dict[str, tuple[tuple[int, ...], list[tuple[int, ...]]]] = {
    "all tables of 10 x 12 x 8": ((10, 12, 8), every(3)),
    "all tables of 27 x 2 x 20": ((27, 2, 20), every(3)),
    "all tables of 400 x 2 x 20": ((400, 2, 20), every(3)),
    "tables of two of 20 x 20 x 20": ((20, 20, 20), pairs(3)),
    "tables of two of 30 x 2 x 2 x 40": ((30, 2, 2, 40), pairs(4)),
    "cells and margins of 50 x 50": ((50, 50), [(0, 1), (0,), (1,)]),
}
CASES: dict[str, Case] = {
    "running totals of 500": ("prefix", 500, "pure", ("opendp", "hdmm"), ()),
    "running totals of 1,000": ("prefix", 1000, "pure", ("opendp",), ()),
    "running totals of 2,000": ("prefix", 2000, "pure", ("opendp",), ()),
    "running totals of 10,000": ("prefix", 10_000, "pure", ("opendp",), ()),
    "running totals of 100,000": ("prefix", 100_000, "pure", (), ()),
    "running totals of 512, zCDP": ("prefix", 512, "zcdp", ("jax_privacy",), ()),
    "all ranges of 64": ("ranges", 64, "pure", ("hdmm",), ()),
    "all ranges of 200": ("ranges", 200, "pure", ("hdmm",), ()),
    "nested, 10 x 100": ("nested", (10, 100), "pure", (), ("top-down",)),
    "nested, 10 x 10 x 12": ("nested", (10, 10, 12), "pure", (), ("top-down",)),
    "nested, 51 x 62": ("nested", (51, 62), "pure", (), ("top-down",)),
    "nested, 51 x 62, zCDP": ("nested", (51, 62), "zcdp", (), ("inftda",)),
    "nested, 20 x 25 x 10": ("nested", (20, 25, 10), "pure", (), ("top-down",)),
    "nested, 10 x 20 x 80": ("nested", (10, 20, 80), "pure", (), ("top-down",)),
    **{name: ("tables", name, "pure", ("hdmm",), ("mbi",) if "10 x 12" in name else ()) for name in TABLES},
    "all tables of 10 x 12 x 8, zCDP": ("tables", "all tables of 10 x 12 x 8", "zcdp", ("residual_planner",), ()),
}


def variance(rate: float) -> float:
    """Of two-sided geometric noise."""
    return float(1 / (np.cosh(rate) - 1))


def levels(sizes: tuple[int, ...]) -> list[int]:
    """How many groups each level of a nested workload has, from everybody to the cells."""
    return [1, *np.cumprod(sizes).tolist()]


def population(cells: int, mean: float) -> Any:
    """Counts of cells whose means are very different."""
    random = np.random.default_rng(7)
    return random.poisson(random.lognormal(np.log(mean) - 0.5, 1.0, cells))


def simple(kind: str, given: Any, notion: str) -> dict[str, float]:
    """Noise on the queries at one rate, and noise on the cells, added up; for zCDP whole-number noise of the same variance as
    continuous noise."""
    if kind == "tables":
        sizes, asked = TABLES[given]
        queries = [int(np.prod([sizes[axis] for axis in table])) for table in asked]
        entries, deepest, count = len(asked) * int(np.prod(sizes)), len(asked), sum(queries)
    elif kind == "nested":
        entries, deepest, count = len(levels(given)) * int(np.prod(given)), len(levels(given)), sum(levels(given))
    elif kind == "prefix":
        entries, deepest, count = given * (given + 1) // 2, given, given
    else:
        lengths = np.arange(1, given + 1)
        entries = int((lengths * (given + 1 - lengths)).sum())
        deepest, count = int(((lengths) * (given + 1 - lengths)).max()), given * (given + 1) // 2
    if notion == "zcdp":
        return {"on queries": count * deepest / (2 * RHO), "on cells": entries / (2 * RHO)}
    return {"on queries": count * variance(1 / deepest), "on cells": entries * variance(1.0)}


def ours(kind: str, given: Any, notion: str) -> Found:
    """The default of this package."""
    from designer import Domain, MarginalProblem, MarginalWorkload, Presence, Problem, Workload, design, metrics

    if kind == "tables":
        sizes, asked = TABLES[given]
        domain = Domain.of({f"a{axis}": size for axis, size in enumerate(sizes)})
        workload = MarginalWorkload.of(domain, [tuple(f"a{axis}" for axis in table) for table in asked])
        relation = Presence(epsilon=1.0) if notion == "pure" else Presence(mu=1.0)
        problem: Any = MarginalProblem(workload, relation, notion=notion)  # type: ignore[arg-type]
    else:
        make = {"prefix": Workload.prefix, "ranges": Workload.all_ranges, "nested": _nested}[kind]
        queries = make(given)
        public = kind == "nested" and notion == "zcdp"  # InfTDA publishes the total
        relation = metrics.uniform(queries.shape[1], 1.0) if public else metrics.add_remove(queries.shape[1], 1.0)
        problem = Problem(queries, relation, notion=notion)  # type: ignore[arg-type]
    start = time.process_time()
    made = design(problem)
    return {"error": made.loss, "seconds": time.process_time() - start, "family": getattr(made.mechanism, "family", "products")}


def _nested(sizes: tuple[int, ...]) -> Any:
    from benchmarks.thousands_of_counts import even

    return even(*sizes)


def opendp(kind: str, size: int, notion: str) -> Iterable[tuple[str, Found]]:
    """The consistent tree of the fan-out that OpenDP chooses, and of 8, all levels alike: exact by its own linear map, and of
    draws where that has many nodes."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    for name, fan in (("OpenDP, its own tree", dp.t.choose_branching_factor(size)), ("OpenDP, tree of 8", 8)):
        start = time.process_time()
        domain = dp.vector_domain(dp.atom_domain(T=int), size)
        tree = dp.t.make_b_ary_tree(domain, dp.l1_distance(T=int), leaf_count=size, branching_factor=fan)
        nodes, depth = len(tree([0] * size)), sum(tree([1] + [0] * (size - 1)))
        consistent = dp.t.make_consistent_b_ary_tree(fan)
        seconds = time.process_time() - start
        if nodes <= EXACT:
            units = ([int(i == j) for i in range(nodes)] for j in range(nodes))
            error = variance(1 / depth) * sum(float((np.cumsum(consistent(one)[:size]) ** 2).sum()) for one in units)
            yield name, {"error": error, "seconds": seconds}
            continue
        noise = np.random.default_rng(0).geometric(1 - np.exp(-1 / depth), (2, DRAWS, nodes))
        found = [float((np.cumsum(consistent(one.tolist())[:size]) ** 2).sum()) for one in noise[0] - noise[1]]
        yield name, {"error": float(np.mean(found)), "deviation": float(np.std(found) / np.sqrt(DRAWS)), "seconds": seconds}


def hdmm(kind: str, given: Any, notion: str) -> Iterable[tuple[str, Found]]:
    """Its p-identity, or its marginals, from its own start; Laplace noise, whose variance is 2 at epsilon 1."""
    from hdmm import templates, workload

    start = time.process_time()
    if kind == "tables":
        sizes, asked = TABLES[given]
        place = {sum(1 << axis for axis in table) for table in asked}
        weights = np.array([float(key in place) for key in range(2 ** len(sizes))])
        made, queries = templates.Marginals(sizes, seed=0), workload.Marginals(sizes, weights)
    else:
        queries = {"prefix": workload.Prefix, "ranges": workload.AllRange}[kind](given)
        made = templates.PIdentity(max(1, given // 16), given, seed=0)
    error = 2 * float(made.optimize(queries))
    yield "HDMM", {"error": error, "seconds": time.process_time() - start}


def jax_privacy(kind: str, size: int, notion: str) -> Iterable[tuple[str, Found]]:
    """Its dense factorisation of running totals."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax_privacy import matrix_factorization

    start = time.process_time()
    strategy = np.asarray(matrix_factorization.dense.optimize(size))
    answers = np.tri(size) @ np.linalg.inv(strategy)
    error = float((answers**2).sum() * (strategy**2).sum(axis=0).max() / (2 * RHO))
    yield "jax_privacy", {"error": error, "seconds": time.process_time() - start}


def residual_planner(kind: str, given: str, notion: str) -> Iterable[tuple[str, Found]]:
    """Its closed form for the sum of variances."""
    import class_resplan

    sizes, asked = TABLES[given]
    start = time.process_time()
    system = class_resplan.ResidualPlanner(list(sizes))
    for table in asked:
        system.input_mech(table)
    costs: dict[tuple[int, ...], float] = {}
    for table in asked:
        cells = float(np.prod([sizes[axis] for axis in table]))
        for part in class_resplan.all_subsets(table):
            costs[part] = costs.get(part, 0.0) + cells * system.var_coeff[table, part]
    spent = [system.pcost_coeff[part] for part in costs]
    _, error = class_resplan.find_var_sum_cauchy(np.array(list(costs.values())), np.array(spent), 2 * RHO)
    yield "ResidualPlanner", {"error": float(error), "seconds": time.process_time() - start}


def top_down(kind: str, sizes: tuple[int, ...], notion: str) -> Iterable[tuple[str, Found]]:
    """Weighted least squares at the best shares of the levels, and then from the top down the nearest counts that are not
    negative and add up; squared error on the population, which has a bias."""
    from scipy.optimize import minimize

    number = np.array(levels(sizes), dtype=float)
    start = time.process_time()
    starts = [np.where(np.arange(len(number)) >= first, 0.0, -6.0) for first in range(len(number))]
    ended = [minimize(lambda x: np.log(_of_levels(number, x)), x, method="Nelder-Mead") for x in starts]
    rates = np.maximum(_shares(min(ended, key=lambda one: one.fun).x), LEAST)
    rates /= rates.sum()
    seconds = time.process_time() - start
    for name, mean in (("sparse", SMALL), ("dense", LARGE)):
        true = population(int(number[-1]), mean)
        tables = [true.reshape(int(groups), -1).sum(axis=1) for groups in number]
        random, found = np.random.default_rng(0), []
        for _ in range(DRAWS // 5):
            noise = [random.geometric(1 - np.exp(-rate), (2, len(table))) for rate, table in zip(rates, tables, strict=True)]
            noisy = [table + one[0] - one[1] for table, one in zip(tables, noise, strict=True)]
            found.append(_squared(tables, noisy, sizes, np.cosh(rates) - 1))
        error = {"error": float(np.mean(found)), "deviation": float(np.std(found) / np.sqrt(len(found)))}
        yield f"top-down, {name}", error | {"seconds": seconds}


def _shares(x: Any) -> Any:
    """Rates of levels that add up to 1."""
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def _of_levels(number: Any, x: Any) -> float:
    """The error of least squares before anything is clipped: each difference between levels is a direction of its own."""
    held = number[-1] / number
    own = np.diff(number, prepend=0.0)
    asked, known = (np.cumsum(part[::-1])[::-1] for part in (held, held * (np.cosh(_shares(x)) - 1)))
    return float((own * asked / known).sum())


def _squared(tables: list[Any], noisy: list[Any], sizes: tuple[int, ...], precise: Any) -> float:
    """The squared error of one draw."""
    known, below = [noisy[-1].astype(float)], 1 / precise[-1]
    for size, own, p in zip(sizes[::-1], noisy[-2::-1], precise[-2::-1], strict=True):  # what is known from a node and below
        sums, spread = known[0].reshape(-1, size).sum(axis=1), size * below
        below = 1 / (p + 1 / spread)
        known.insert(0, below * (p * own + sums / spread))
    counts = np.maximum(known[0], 0.0)
    error = float(((counts - tables[0]) ** 2).sum())
    for size, own, table in zip(sizes, known[1:], tables[1:], strict=True):
        parts = own.reshape(-1, size)
        order = -np.sort(-parts, axis=1)
        over = (np.cumsum(order, axis=1) - counts[:, None]) / np.arange(1, size + 1)
        kept = (order > over).sum(axis=1) - 1
        counts = np.maximum(parts - over[np.arange(len(parts)), np.maximum(kept, 0)][:, None], 0.0).ravel()
        error += float(((counts - table) ** 2).sum())
    return error


def inftda(kind: str, sizes: tuple[int, ...], notion: str) -> Iterable[tuple[str, Found]]:
    """InfTDA, of the same rho, on both populations; it publishes the total, and drops what it finds to be 0."""
    import InfTDA.mechanism as theirs
    import pandas as pd

    theirs.get_rho_from_budget = lambda budget: RHO
    groups, each = sizes
    index = pd.MultiIndex.from_product([range(groups), range(each)])
    for name, mean in (("sparse", SMALL), ("dense", LARGE)):
        data, found = pd.Series(population(groups * each, mean), index=index), []
        for _ in range(DRAWS // 5):
            start = time.process_time()
            made = theirs.inf_tda(data=data, budget=(1.0, DELTA), contribution=1).reindex(index, fill_value=0)
            seconds = time.process_time() - start
            off = (made - data).to_numpy()
            found.append(float((off**2).sum() + (off.reshape(groups, each).sum(axis=1) ** 2).sum() + off.sum() ** 2))
        deviation = float(np.std(found) / np.sqrt(len(found)))
        yield f"InfTDA, {name}", {"error": float(np.mean(found)), "deviation": deviation, "seconds": seconds}


def mbi(kind: str, given: str, notion: str) -> Iterable[tuple[str, Found]]:
    """Mirror descent, at its own settings, on equal shares of all tables."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi as theirs
    from mbi.estimation import MirrorDescent

    sizes, asked = TABLES[given]
    domain, cells = theirs.Domain([f"a{axis}" for axis in range(len(sizes))], sizes), int(np.prod(sizes))
    rate, random = 1 / len(asked), np.random.default_rng(0)
    for name, mean in (("sparse", SMALL), ("dense", LARGE)):
        true = population(cells, mean).reshape(sizes)
        start, found = time.process_time(), 0.0
        measured, tables = [], []
        for table in asked:
            kept = true.sum(axis=tuple(axis for axis in range(len(sizes)) if axis not in table))
            noise = random.geometric(1 - np.exp(-rate), (2, kept.size))
            noisy = np.ravel(kept) + noise[0] - noise[1]
            clique = tuple(f"a{axis}" for axis in table)
            measured.append(theirs.LinearMeasurement(noisy.astype(float), clique, stddev=float(np.sqrt(variance(rate)))))
            tables.append((clique, kept))
        model = MirrorDescent().estimate(domain, [one for one in measured if one.clique])
        for clique, kept in tables:
            values = np.asarray(model.project(clique).datavector()) if clique else np.array([float(model.total)])
            found += float(((values.reshape(kept.shape) - kept) ** 2).sum())
        yield f"mbi, {name}", {"error": found, "seconds": time.process_time() - start}


TOOLS: dict[str, Callable[[str, Any, str], Iterable[tuple[str, Found]]]] = {
    "opendp": opendp,
    "hdmm": hdmm,
    "jax_privacy": jax_privacy,
    "residual_planner": residual_planner,
    "top-down": top_down,
    "inftda": inftda,
    "mbi": mbi,
}


def run(python: str, tool: str, name: str) -> Found:
    """One tool on one workload, in a process of its own; why not, where it fails."""
    file = ["-m", "benchmarks.peers_of_counts"] if tool == "ours" else [str(Path(__file__))]
    ended = subprocess.run([python, "-W", "ignore", *file, "--tool", tool, name], capture_output=True, text=True, check=False)
    if ended.returncode:
        return {tool: {"failed": (ended.stderr.strip() or f"exit code {ended.returncode}").splitlines()[-1][:200]}}
    return dict(json.loads(ended.stdout.strip().splitlines()[-1]))


def main() -> None:
    """Measure the workloads whose name has one of the words, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", choices=["ours", *TOOLS], help="one tool alone, in this environment, on one workload")
    parser.add_argument("--peers", default=sys.executable, help="the Python in whose environment other tools are installed")
    parser.add_argument("--inftda", help="the same of InfTDA, whose opendp is an older one")
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    if asked.tool:
        kind, given, notion, _, _ = CASES[asked.words[0]]
        print(json.dumps(ours(kind, given, notion) if asked.tool == "ours" else dict(TOOLS[asked.tool](kind, given, notion))))
        return
    for name, (kind, given, notion, unbiased, biased) in CASES.items():
        if asked.words and not any(word in name for word in asked.words):
            continue
        found: Found = {"notion": notion, "simple": simple(kind, given, notion), "ours": run(sys.executable, "ours", name)}
        for label, tools in (("unbiased", unbiased), ("biased", biased)):
            pythons = [(tool, asked.inftda if tool == "inftda" and asked.inftda else asked.peers) for tool in tools]
            found[label] = {key: value for tool, python in pythons for key, value in run(python, tool, name).items()}
        print(name, json.dumps(found), flush=True)
        kept = json.loads(FILE.read_text())["cases"] if FILE.exists() else {}
        machine = {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}
        FILE.write_text(json.dumps({"machine": machine, "cases": kept | {name: found}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
