"""Choosing privately: the standard exponential mechanism beside the dX one (DX Theorem 3), the sharp rate,
and permute-and-flip.

Three choices over the synthetic universe of DX section 4 (50 places), distance as budget: a site with the least total distance
to all records, the median longitude, and the query that a uniform histogram answers worst (MWEM's first round). Expected
shortfalls are exact, by enumeration.
There is no such table in the paper: published is what theorems allow,
the mean shortfall `(1 + ln R) / rate` (integrating DX Theorem 4).
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np

from designer import Selection, SelectionProblem, Workload, design, largest_rate, metrics
from designer.extend import figure
from designer.selection.scores import AbsoluteError, Closeness, Linear
from examples.dx_setting import universe
from examples.reproduction import Floats, Result, show

RECORDS = 100
PER_UNIT = 0.01  # budget for each unit of distance: 1.4 across the square
DIFFERENCES: dict[str, str] = {}


@cache
def counts() -> tuple[int, ...]:
    """A histogram that is public here: most records live near one corner."""
    weights = np.exp(-universe().sum(axis=1) / 40)
    return tuple(np.random.default_rng(1).multinomial(RECORDS, weights / weights.sum()).tolist())


def site() -> Linear:
    """Each place scores minus the total distance of all records to it."""
    places = universe()
    return Linear(Workload(-np.linalg.norm(places[:, None] - places[None], axis=2)))


def median() -> Closeness:
    """Each longitude scores minus |records to the left - records to the right|."""
    longitude = universe()[:, 0]
    return Closeness(Workload(np.sign(longitude[:, None] - longitude[None])))


def worst_query() -> AbsoluteError:
    """Each of 30 smooth queries (a record's nearness to a centre, 0 to 1)
    scores the error of a uniform histogram as its answer."""
    places, centres = universe(), np.random.default_rng(2).random((30, 2)) * 100
    matrix = np.maximum(0.0, 1 - np.linalg.norm(places[None] - centres[:, None], axis=2) / 50)
    return AbsoluteError(Workload(matrix), matrix.mean(axis=1) * RECORDS)


TASKS = {"site": site, "median": median, "worst query": worst_query}


@cache
def selections(task: str) -> dict[str, Selection]:
    """The four mechanisms, all private under the same metric."""
    score, metric = TASKS[task](), metrics.euclidean(universe(), PER_UNIT)
    distances = metric.distances()
    smallest = float(distances[distances > 0].min())
    standard = largest_rate(score, metrics.uniform(len(distances), smallest), "theorem_3")
    return {
        "standard, one budget": Selection(score, metric, standard),
        "dX, DX Theorem 3": design(SelectionProblem(score, metric, constant="theorem_3")).mechanism,
        "dX, range": design(SelectionProblem(score, metric)).mechanism,
        "permute-and-flip": design(SelectionProblem(score, metric), "permute_and_flip").mechanism,
    }


def shortfalls(task: str) -> Floats:
    """Expected shortfall of each mechanism, as a share of the spread of all scores."""
    values, step = TASKS[task]().exact(np.array(counts()))
    spread = float((max(values) - min(values)) * step)
    return np.array([made.expected_shortfall(counts()) / spread for made in selections(task).values()])


def reproduce(full: bool = False) -> Result:
    """Shortfalls within their theorems, and never worse from one mechanism to the next."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    for task in TASKS:
        made, short = selections(task), shortfalls(task)
        values, step = made["dX, range"].score.exact(np.array(counts()))
        spread = float((max(values) - min(values)) * step)
        for (name, selection), value in zip(made.items(), short, strict=True):
            computed[f"{task}: {name}"] = value
            published[f"{task}: {name}"] = (0.0, min(1.0, (1 + math.log(len(values))) / selection.rate / spread))
        rates = [selection.rate for selection in made.values()]
        for name, gain in (("dX / standard", rates[1] / rates[0]), ("range / DX Theorem 3", rates[2] / rates[1])):
            computed[f"{task}: rate, {name}"], published[f"{task}: rate, {name}"] = gain, (1 - 1e-11, math.inf)
        computed[f"{task}: shortfall, permute-and-flip / exponential"] = short[3] / short[2]
        published[f"{task}: shortfall, permute-and-flip / exponential"] = (0.0, 1.0)
    return computed, published


def draw(folder: Path) -> Path:
    """Expected shortfall of the four mechanisms in the three tasks."""
    drawing, axis = figure(width=8.0)
    height = 0.2
    for k, name in enumerate(selections("site")):
        bars = axis.barh(np.arange(len(TASKS)) - k * height, [shortfalls(task)[k] for task in TASKS], height, label=name)
        axis.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
    axis.set_yticks(np.arange(len(TASKS)) - 1.5 * height, list(TASKS))
    axis.margins(x=0.1)
    axis.set_xlabel("expected shortfall / spread of the scores")
    drawing.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    path = folder / "selection_mechanisms.png"
    drawing.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show("Selection mechanisms under distances as budgets", reproduce, DIFFERENCES, draw)
