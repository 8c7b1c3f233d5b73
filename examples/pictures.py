"""A gallery: every kind of picture, of real data and of what is hard to draw, written into a folder.

`python -m examples.pictures FOLDER` writes all of them, each as SVG. The numbers below compare what is drawn with what the
objects state: lengths of bars, places of points, norms of corners.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from designer import (
    AdditiveMechanism,
    Design,
    Domain,
    Drawing,
    MarginalProblem,
    MarginalWorkload,
    Problem,
    SelectionProblem,
    Targets,
    Workload,
    compare,
    datasets,
    design,
    drawings_of,
    least_budget,
    metrics,
    placed_drawing,
    plot,
    read_problem,
)
from designer.accounting import EpsilonDelta, Gaussian
from designer.problem.histogram import Keys
from designer.publish.pictures.drawing import side_by_side
from designer.publish.pictures.kinds import save_figure
from designer.publish.pictures.of_mechanisms import tradeoff_drawing
from designer.selection.scores import Closeness
from designer.tables import Count, Groups, Measure, Sum, TablePlan, UnitSplitting, variance_for
from examples.reproduction import Result, show

HERE = Path(__file__).parent
FOREIGN = ("北海道", "Île-de-France", "Ελλάδα", "Санкт-Петербург", "مصر", "ประเทศไทย", "$x_1$ & <b>", "_hidden", "a" * 90 + "1")
DIFFERENCES: dict[str, str] = {}


@cache
def cities() -> Design[Any]:
    """The mean centre of population of 755 US cities, places protected by distance."""
    file = read_problem(HERE / "us_cities.toml")
    return design(file.problem, "ellipsoid")


@cache
def places() -> AdditiveMechanism:
    """The inhabitants of every city in thousands, presence protected."""
    table = datasets.us_cities()
    keys = Keys(("name", "state"), tuple(zip(table["name"], table["state"], strict=True)))
    size = len(keys.names)
    asked = Workload(np.eye(size), keys.names, keys.names, keys)
    return design(Problem(asked, metrics.add_remove(size, 0.1)), "laplace").mechanism


def counted() -> list[int]:
    """Inhabitants in thousands."""
    return [number // 1000 for number in datasets.us_cities()["population"].tolist()]


def of_cities() -> dict[str, Drawing]:
    """Errors with units, neighbourhoods, maps of answers."""
    centre = cities()
    named = {f"cities {drawing.name}": drawing for drawing in drawings_of(centre)}
    released = places().release(counted())
    answers = drawings_of(places(), released)[0]
    return {**named, "cities answers": answers, "cities map": placed_drawing(places(), released, datasets.us_cities().path)}


def of_adult() -> dict[str, Drawing]:
    """Education by race under both margins, and marginals of eight attributes."""
    file = read_problem(HERE / "adult_margins.toml")
    lattice = design(file.compared, "lattice_gaussian").mechanism
    counts = datasets.adult_education_race()["count"]
    table = datasets.adult()
    domain = Domain.of({name: sorted(set(values)) for name, values in table.items()})
    pairs = [[a, b] for place, a in enumerate(domain.attributes) for b in domain.attributes[:place]]
    marginals = design(
        MarginalProblem(MarginalWorkload.of(domain, pairs), metrics.hamming(domain, [0.1] * len(domain.attributes)))
    ).mechanism
    released = marginals.release(table)
    return {
        **{f"adult {drawing.name}": drawing for drawing in drawings_of(lattice, lattice.release(counts))},
        **{f"marginals {drawing.name}": drawing for drawing in drawings_of(marginals, released)[-3:]},
    }


def of_hexagon() -> dict[str, Drawing]:
    """Norm balls: the hexagon of a table with a public total, and of three queries."""
    kept = Problem(Workload([[1, 0, 0], [0, 1, 0]]), metrics.uniform(3, 1.0))
    cube = Problem(Workload.random(3, 30, seed=1), metrics.euclidean(np.random.default_rng(2).random((30, 2)), 4.0))
    found = {f"hexagon {drawing.name}": drawing for drawing in drawings_of(design(kept, "k_norm"))}
    for family in ("k_norm", "ellipsoid", "laplace", "box"):
        found[f"space {family}"] = next(d for d in drawings_of(design(cube, family)) if d.name == "ball")
    return found


def of_business() -> dict[str, Drawing]:
    """Policies of a plan over establishments."""
    jobs, pay = Measure("EMP"), Measure("PAYANN")
    groups = Groups(["industry"], keys=[["Retail"], ["Mining"]])
    queries = [
        Sum("jobs", groups, variance=variance_for(50, "0.1"), measure=jobs),
        Sum("annual pay", groups, variance=variance_for(5000, "0.1"), measure=pay),
        Count("establishments", groups, variance=5),
    ]
    plan = TablePlan(queries, UnitSplitting([jobs, pay], [50, 5000]), constant="0.1")
    return {f"business {drawing.name}": drawing for drawing in drawings_of(plan)}


def of_counties() -> dict[str, Drawing]:
    """102 counties with a public total: the largest of many."""
    file = read_problem(HERE / "illinois.toml")
    made = design(file.compared, "lattice_laplace", shape="l1").mechanism
    people = datasets.us_counties_illinois()["population"]
    return {f"counties {drawing.name}": drawing for drawing in drawings_of(made, made.release(people))}


def of_hard_cases() -> dict[str, Drawing]:
    """One query, many, negative values, infinite budgets, names of every script."""
    one = design(Problem(Workload([[1.0, 0.0, 3.0]], ["the one"]), metrics.uniform(3, 0.5)), "auto")
    many = design(Problem(Workload.all_ranges(20), metrics.manhattan(np.arange(20.0))), "laplace")
    apart = metrics.partition(["a", "a", "b", "b"], 1.0)
    islands = design(Problem(Workload([[-5.0, 3.0, 0.0, 900.0], [1.0, 2.0, 2.0, 2.0]], ["signed", "small"]), apart), "laplace")
    named = design(Problem(Workload.identity(FOREIGN), metrics.add_remove(len(FOREIGN), 1.0)), "laplace").mechanism
    ranked = design(SelectionProblem(Closeness(Workload.identity(3)), metrics.uniform(3, 0.7))).mechanism
    curves = {"epsilon 1": EpsilonDelta(1), "epsilon 1/2, delta 0.05": EpsilonDelta("1/2", "1/20"), "mu 1": Gaussian.of(1)}
    return {
        **{f"one {drawing.name}": drawing for drawing in drawings_of(one)},
        **{f"many {drawing.name}": drawing for drawing in drawings_of(many)},
        **{f"islands {d.name}": d for d in drawings_of(islands.mechanism, islands.mechanism.release([0, 7, 3, 0]))},
        **{f"names {d.name}": d for d in drawings_of(named, named.release(range(len(FOREIGN))))},
        **{f"selection {drawing.name}": drawing for drawing in drawings_of(ranked)},
        "tradeoff curves": tradeoff_drawing(curves),
    }


def of_comparisons() -> dict[str, Drawing]:
    """Families side by side, and error against budget."""
    streets = Domain.of({"street": [f"{k} Long Avenue of the Republic, north side" for k in range(6)]})
    problem = Problem(Workload.prefix(streets), metrics.manhattan([0.0, 0.5, 1.5, 1.75, 2.75, 4.75]))
    compared = compare(problem, ["laplace", "k_norm", "ellipsoid", "box", "strategy_laplace", "uniform_budget"])
    least = least_budget(problem, Targets(standard_error=2.0), "laplace", curve=7)
    return {f"compared {drawing.name}": drawing for drawing in (*drawings_of(compared), *drawings_of(least))}


GALLERY: Mapping[str, Callable[[], dict[str, Drawing]]] = {
    "cities": of_cities,
    "adult": of_adult,
    "hexagon": of_hexagon,
    "business": of_business,
    "counties": of_counties,
    "hard cases": of_hard_cases,
    "comparisons": of_comparisons,
}


def write_all(folder: Path, ending: str = "svg", parts: Mapping[str, Callable[[], dict[str, Drawing]]] = GALLERY) -> list[Path]:
    """Every picture of the gallery, or of some of its parts, in a file of its own; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for make in parts.values():
        drawn = make()
        written += [drawing.save(folder / f"{name.replace(' ', '_')}.{ending}") for name, drawing in drawn.items()]
        if "compared families" in drawn:
            pair = [drawn["compared families"], drawn["compared deviations"]]
            written.append(save_figure(lambda shown=pair: side_by_side(shown), folder / f"compared_both.{ending}"))
    return written


def largest_gap(lengths: Any, stated: Any) -> float:
    """How far drawn numbers are from the stated ones, relatively."""
    return float(np.max(np.abs(np.asarray(lengths) - np.asarray(stated)) / np.abs(np.asarray(stated))))


def reproduce(full: bool = False) -> Result:
    """Numbers read back from pictures beside the numbers of the objects."""
    centre = cities()
    points = plot(centre, kind="errors").collections[0].get_offsets()
    hexagon = design(Problem(Workload([[1, 0, 0], [0, 1, 0]]), metrics.uniform(3, 1.0)), "k_norm")
    outline = plot(hexagon, kind="ball").lines[0].get_xydata()
    computed = {
        "cities: points against standard errors": largest_gap(points[:, 0], centre.mechanism.standard_errors()),
        "hexagon: least norm on the outline": float(hexagon.mechanism.norm(outline).min()),
        "hexagon: largest norm on the outline": float(hexagon.mechanism.norm(outline).max()),
    }
    published = {
        "cities: points against standard errors": (0.0, 1e-12),
        "hexagon: least norm on the outline": (1 - 1e-12, 1.0),
        "hexagon: largest norm on the outline": (1.0, 1 + 1e-12),
    }
    if full:
        computed["pictures of the gallery"] = float(sum(len(make()) for make in GALLERY.values()))
        published["pictures of the gallery"] = (40.0, 100.0)
    return computed, published


def draw(folder: Path) -> str:
    """All of them."""
    return f"{len(write_all(folder / 'pictures'))} files in {folder / 'pictures'}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{len(write_all(Path(sys.argv[1]), *sys.argv[2:3]))} pictures in {sys.argv[1]}")
    else:
        show("Pictures", reproduce, DIFFERENCES, draw)
