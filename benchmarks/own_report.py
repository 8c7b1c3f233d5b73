"""One person's own report under a metric: the best table by column generation beside the whole program, and what is in the
literature beside the proven bound.

Places of a square grid of spacing 1, or 755 US cities of more than 50,000 inhabitants with great-circle distances; the loss is
the expected distance, or its square, of the report. The budget is per unit of distance on the grid; between the cities 50 km
change the chance of a report by a factor of 3 at most. Each row runs in a process of its own, whose peak memory it states.

    python -m benchmarks.own_report [--rows small|large|cities|programs|designed] [--json FILE]

"designed" asks `designer.design` for the channel, saves it and reads it back, which certifies every pair again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.own_report import full_program, spanner_program
from solvers.channel_lp.cone import poles
from solvers.channel_lp.generation import Mixture, column_generation, mixture_of_poles
from solvers.solution import Solution

Array = NDArray[np.float64]
EARTH = 6371.0088  # km
STRETCH = 1.1
FLAT = (0.1, 0.3, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Asked:
    """Budgets (N, N), a loss (N, N), a prior (N,), budgets to poles (N, P), and up to which others are flat."""

    budgets: Array
    loss: Array
    prior: Array
    to_poles: Array
    flat: tuple[float, ...] = ()

    @property
    def costs(self) -> Array:
        """Prior times loss."""
        return self.prior[:, None] * self.loss


def grid(side: int, budget: float, kind: str, prior: str = "equal", step: float = 0.5, beyond: float = 2.0) -> Asked:
    """Places of a square; poles on a lattice of the given step that goes `beyond` its border."""
    x = np.array([(i, j) for i in range(side) for j in range(side)], dtype=float)
    line = np.arange(-beyond, side - 1 + beyond + 1e-9, step)
    wide = np.array([(i, j) for i in line for j in line])
    d, apart = (np.sqrt(((x[:, None] - y) ** 2).sum(axis=2)) for y in (x, wide))
    p = np.full(len(x), 1 / len(x)) if prior == "equal" else np.random.default_rng(0).dirichlet(np.full(len(x), 0.5))
    return Asked(budget * d, d if kind == "distance" else d**2, p, budget * apart)


def cities(kind: str, prior: str, kilometres: float = 50.0, near: int = 3) -> Asked:
    """755 cities; poles there and half way to the nearest of each."""
    from designer.datasets import us_cities

    table = us_cities()
    lat, lon = (np.radians(np.asarray(table[name], dtype=float)) for name in ("latitude", "longitude"))
    x = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    d = _arcs(x, x)
    np.fill_diagonal(d, 0.0)
    around = np.argsort(d, axis=1, kind="stable")[:, 1 : near + 1]
    middle = np.concatenate([x + x[around[:, k]] for k in range(near)])
    middle = np.unique(np.round(middle / np.linalg.norm(middle, axis=1, keepdims=True), 12), axis=0)
    people = np.asarray(table["population"], dtype=float)
    p = np.full(len(x), 1 / len(x)) if prior == "equal" else people / people.sum()
    unit = np.log(3) / kilometres
    return Asked(unit * d, d if kind == "distance" else d**2, p, unit * np.hstack([d, _arcs(x, middle)]), FLAT)


def _arcs(x: Array, y: Array) -> Array:
    chord = np.sqrt(((x[:, None] - y) ** 2).sum(axis=2))
    return np.asarray(2 * EARTH * np.arcsin(np.clip(chord / 2, 0.0, 1.0)))


def remapped(columns: Array, asked: Asked) -> float:
    """The loss of columns (N, Z) that sum to 1 in rows, each handed to its best report."""
    return float((columns.T @ asked.costs).min(axis=1).sum())


def exponential(asked: Asked) -> Array:
    """The exponential mechanism at half of the budgets: rows proportional to `exp(-b / 2)`."""
    made = np.exp(-asked.budgets / 2)
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def planar(side: int, budget: float) -> Array:
    """The discrete planar Laplace of the half lattice, (N, Z), reports beyond 12 / budget left with the last."""
    x = np.array([(i, j) for i in range(side) for j in range(side)], dtype=float)
    line = np.arange(-np.ceil(24 / budget) / 2, side - 1 + np.ceil(24 / budget) / 2 + 0.1, 0.5)
    at = np.array([(i, j) for i in line for j in line])
    made = np.exp(-budget * np.sqrt(((x[:, None] - at) ** 2).sum(axis=2)))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def truncated(side: int, budget: float) -> Array:
    """The same, each report moved to the nearest place of the grid."""
    x = np.array([(i, j) for i in range(side) for j in range(side)], dtype=float)
    line = np.arange(-np.ceil(24 / budget) / 2, side - 1 + np.ceil(24 / budget) / 2 + 0.1, 0.5)
    at = np.clip(np.array([(i, j) for i in line for j in line]), 0, side - 1)
    nearest = ((at[:, None] - x) ** 2).sum(axis=2).argmin(axis=1)
    return np.asarray(planar(side, budget) @ np.eye(len(x))[nearest])


def tight(asked: Asked) -> Array | None:
    """Poles at the places alone, with weights that make rows 1 (Chatzikokolakis, ElSalamouny, Palamidessi 2017): None where one
    is negative."""
    weights = np.linalg.solve(np.exp(-asked.budgets), np.ones(len(asked.budgets)))
    return np.asarray(np.exp(-asked.budgets) * weights) if (weights >= 0).all() else None


def searched(asked: Asked, gap: float) -> Solution[Mixture]:
    """Column generation from poles, and from columns that are flat around them where the problem says so."""
    start = np.hstack([poles(asked.to_poles), *(np.minimum(1.0, np.exp(flat - asked.budgets)) for flat in asked.flat)])
    return column_generation(asked.budgets, asked.costs, start, norm=asked.prior, gap=gap)


def clarabel(asked: Asked) -> float:
    """The whole program in CVXPY with Clarabel."""
    import cvxpy as cp

    n, m = asked.loss.shape
    table = cp.Variable((n, m), nonneg=True)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    factors = np.exp(asked.budgets[i, j])
    pairs = table[i] <= cp.multiply(factors[:, None], table[j])
    program = cp.Problem(cp.Minimize(cp.sum(cp.multiply(asked.costs, table))), [pairs, cp.sum(table, axis=1) == 1])
    return float(program.solve(solver=cp.CLARABEL))


def small(side: str, budget: str, kind: str, prior: str) -> dict[str, Any]:
    """The optimum at a gap of 1e-4, and ratios to its bound."""
    asked = grid(int(side), float(budget), kind, prior)
    start = time.process_time()
    found = searched(asked, 1e-4)
    spent = time.process_time() - start
    low = found.lower_bound
    at_places = tight(asked)
    ratios = {
        "exponential": (exponential(asked) * asked.costs).sum() / low,
        "exponential, remapped": remapped(exponential(asked), asked) / low,
        "planar, truncated": (truncated(int(side), float(budget)) * asked.costs).sum() / low,
        "planar, remapped": remapped(planar(int(side), float(budget)), asked) / low,
        "tight": None if at_places is None else remapped(at_places, asked) / low,
        "spanner": spanner_program(asked.budgets, asked.costs, STRETCH)[1] / low,
        "poles": mixture_of_poles(asked.to_poles, asked.costs).value / low,
    }
    whole = full_program(asked.budgets, asked.costs)[1]
    return {
        "value": found.value,
        "bound": low,
        "gap": found.gap,
        "rounds": found.iterations,
        "s": spent,
        "whole": whole,
        **ratios,
    }


def large(side: str, budget: str, kind: str, step: str, gap: str) -> dict[str, Any]:
    """The optimum of a large grid within a gap."""
    return _within(grid(int(side), float(budget), kind, step=float(step)), float(gap))


def of_cities(kind: str, prior: str, gap: str) -> dict[str, Any]:
    """The optimum of the cities within a gap."""
    return _within(cities(kind, prior), float(gap))


def _within(asked: Asked, gap: float) -> dict[str, Any]:
    start = time.process_time()
    found = searched(asked, gap)
    spent = time.process_time() - start
    plain = remapped(exponential(asked), asked)
    return {
        "value": found.value,
        "bound": found.lower_bound,
        "gap": found.gap,
        "rounds": found.iterations,
        "s": spent,
        "columns": len(found.point.weights),
        "exponential, remapped": plain / found.lower_bound,
    }


def program(side: str, budget: str, kind: str, method: str) -> dict[str, Any]:
    """One way to solve one grid: its value and processor time."""
    asked = grid(int(side), float(budget), kind)
    ways: dict[str, Callable[[], float]] = {
        "columns": lambda: searched(asked, 1e-4).value,
        "highs": lambda: full_program(asked.budgets, asked.costs)[1],
        "clarabel": lambda: clarabel(asked),
        "spanner": lambda: spanner_program(asked.budgets, asked.costs, STRETCH)[1],
        "poles": lambda: mixture_of_poles(asked.to_poles, asked.costs).value,
    }
    start = time.process_time()
    value = ways[method]()
    return {"value": value, "s": time.process_time() - start}


def designed(places: str, budget: str, kind: str, prior: str, gap: str) -> dict[str, Any]:
    """A channel by `design`, frozen, saved and read back: what is proven, seconds, and bytes of the file."""
    from designer import Channel, ReportProblem, datasets, design, load, metrics

    if places == "cities":
        table = datasets.us_cities()
        metric: Any = metrics.great_circle(np.column_stack([table["latitude"], table["longitude"]]), np.log(3) / float(budget))
        people = np.asarray(table["population"], dtype=float)
    else:
        side = int(np.sqrt(int(places)))
        metric = metrics.euclidean([[i, j] for i in range(side) for j in range(side)], float(budget))
        people = np.ones(side**2)
    problem = ReportProblem(metric, prior=None if prior == "equal" else people / people.sum(), loss=kind)
    start = time.process_time()
    made = design(problem, "channel", gap=float(gap), effort="thorough")
    spent = time.process_time() - start
    assert made.optimality is not None
    with tempfile.TemporaryDirectory() as folder:
        made.mechanism.save(Path(folder) / "channel.json")
        size = (Path(folder) / "channel.json").stat().st_size
        start = time.process_time()
        again = load(Path(folder) / "channel.json")
        loading = time.process_time() - start
        assert isinstance(again, Channel)
        start = time.process_time()
        for _ in range(1_000):
            again.report(0)
        drawing = time.process_time() - start
    return {
        "value": made.optimality.value,
        "bound": made.optimality.lower_bound,
        "gap": made.optimality.gap,
        "s": spent,
        "holds": again.privacy.holds,
        "reports": len(again.reports),
        "MB of the spec": size / 1e6,
        "s to load and certify": loading,
        "s for 1,000 reports": drawing,
    }


ROWS: dict[str, Callable[..., dict[str, Any]]] = {
    "small": small,
    "large": large,
    "cities": of_cities,
    "programs": program,
    "designed": designed,
}


def wanted(kind: str) -> Iterator[list[str]]:
    """The arguments of each row."""
    if kind == "small":
        yield from (
            ["5", budget, loss, prior]
            for loss in ("distance", "squared")
            for budget in ("0.5", "1", "2")
            for prior in ("equal", "skewed")
        )
    if kind == "large":
        yield from (["20", budget, loss, "1", "1e-2"] for budget in ("0.5", "1", "2") for loss in ("distance", "squared"))
        yield from (["50", "1", loss, "1", "5e-2"] for loss in ("distance", "squared"))
    if kind == "cities":
        yield from ([loss, prior, "5e-2"] for loss in ("distance", "squared") for prior in ("equal", "people"))
    if kind == "designed":
        yield from (["400", budget, loss, "equal", "1e-2"] for budget in ("0.5", "1", "2") for loss in ("distance", "squared"))
        yield from (["2500", "1", loss, "equal", "5e-2"] for loss in ("distance", "squared"))
        yield from (["cities", "50", loss, prior, "5e-2"] for loss in ("distance", "squared") for prior in ("equal", "people"))
    if kind == "programs":
        ways = ("columns", "highs", "spanner", "poles", "clarabel")
        yield from ([side, "1", "distance", way] for side in ("4", "5", "6", "7") for way in ways)


def row(kind: str, given: list[str]) -> dict[str, Any]:
    """A row in a process of its own, with its peak memory in MB."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.own_report", "--one", kind, *given], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print each row as it is done."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--rows", choices=tuple(ROWS), action="append")
    reader.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    reader.add_argument("--json", type=Path)
    given = reader.parse_args()
    if given.one:
        found = ROWS[given.one[0]](*given.one[1:])
        found["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    every: list[dict[str, Any]] = []
    for kind in given.rows or ROWS:
        for arguments in wanted(kind):
            found = row(kind, arguments)
            every.append({"row": [kind, *arguments], **found})
            told = (f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in found.items())
            print(" ".join([kind, *arguments]), "|", ", ".join(told), flush=True)
            if given.json:
                given.json.write_text(json.dumps(every, indent=1) + "\n")


if __name__ == "__main__":
    main()
