"""MWEM on census records (UCI Adult): every three-way marginal, against rounds and budgets,
beside independent Laplace and other additive noise.

One budget for all changes, or one for each attribute (marital status and income four times as well hidden as the others).
Errors are means over all cells of all marginals, in persons. Every three-way marginal of four attributes contains a sensitive
one, so its constant, and all that MWEM does, is the same under both: MWEM has one scale for all queries and gains nothing from
generous attributes, additive noise does. Additive noise is cut at 0, as anybody would: counts are not negative.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from designer import Domain, Mechanism, Problem, SyntheticProblem, Workload, datasets, design, metrics
from designer.extend import figure
from designer.synthetic.multiplicative import MWEM, equal_shares
from examples.reproduction import Floats, Result, show

ALL = ("age_group", "marital_status", "race", "sex", "income")  # 840 cells, 710 queries
FOUR = ("age_group", "marital_status", "sex", "income")  # 168 cells, 220 queries
SENSITIVE = ("marital_status", "income")
EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
ROUNDS = (2, 4, 8, 16, 32, 64)
# `design()` takes the best of all families: box and l2_ball are worse than these. The ellipsoid takes 4 s here;
# strategy_laplace took 180 s on the two-way marginals and gave 12 % less error than independent Laplace.
ADDITIVE = ("laplace", "ellipsoid")
Names = tuple[str, ...]
DIFFERENCES: dict[str, str] = {}


@cache
def census(names: Names) -> tuple[Domain, Workload, Floats]:
    """The domain, all three-way marginals, and the histogram."""
    rows = datasets.adult_counts().rows
    domain = Domain.of({name: sorted({row[name] for row in rows}) for name in names})
    x = np.zeros(domain.shape)
    for row in rows:
        x[tuple(domain.code(name, row[name]) for name in names)] += row["count"]
    return domain, Workload.marginals(domain, list(combinations(names, 3))), x.ravel()


def problem(names: Names, budgets: str, epsilon: float) -> Problem:
    """ "one": epsilon for every change; "attributes": epsilon for a sensitive attribute, 4 epsilon for another, added up."""
    domain, workload, x = census(names)
    own = {name: epsilon * (1 if name in SENSITIVE else 4) for name in names}
    relation = metrics.uniform(domain.size, epsilon) if budgets == "one" else metrics.hamming(domain, own)
    return Problem(workload, relation, records=int(x.sum()))


@cache
def queries(names: Names, budgets: str, epsilon: float) -> Any:
    """The marginals themselves with their constants: for zero-one queries under these metrics bias does not pay."""
    asked = problem(names, budgets, epsilon)
    records = int(asked.records or 0)
    made = design(SyntheticProblem(asked.workload, asked.relation, records), "mwem", rounds=1, constant="unbiased")
    return made.mechanism.queries


def mwem_errors(names: Names, budgets: str, epsilon: float, rounds: int, runs: int) -> dict[str, float]:
    """Mean absolute error of each output over `runs` simulations, and the largest error of "average" over its bound."""
    _, workload, x = census(names)
    made = MWEM(queries(names, budgets, epsilon), int(x.sum()), equal_shares(rounds))
    found: dict[str, list[float]] = {"average": [], "last": [], "replay": [], "over bound": []}
    for seed in range(runs):
        transcript = made.simulate(1, seed=seed, data=x)[0].rounds
        for output in ("average", "last", "replay"):
            off = np.abs(workload.answer(made.histogram_of(transcript, output)) - workload.answer(x))
            found[output].append(float(off.mean()))
            if output == "average":
                found["over bound"].append(float(off.max()) / made.bound(0.05))
    return {name: float(np.mean(values)) for name, values in found.items()}


@cache
def additive(names: Names, budgets: str, family: str) -> Mechanism:
    """A family at epsilon = 1: its noise grows as 1 / epsilon, so one design serves all."""
    return design(problem(names, budgets, 1.0), family).mechanism


def additive_error(names: Names, budgets: str, family: str, epsilon: float) -> float:
    """Mean absolute error of the answers cut at 0, from 50 draws of the noise."""
    _, workload, x = census(names)
    noise = np.asarray(additive(names, budgets, family).simulate(50, seed=1)) / epsilon
    truth = workload.answer(x)
    return float(np.abs(np.maximum(truth + noise, 0) - truth).mean())


def best_rounds(names: Names, budgets: str, epsilon: float, output: str, runs: int, rounds: tuple[int, ...] = ROUNDS) -> float:
    """The least mean error over a few numbers of rounds. Chosen on these data, so a little too good;
    no budget is charged for the choice."""
    return min(mwem_errors(names, budgets, epsilon, t, runs)[output] for t in rounds)


def reproduce(full: bool = False) -> Result:
    """Least error of MWEM over rounds, beside Laplace; and the proven bound beside what was measured."""
    cases = list(product(("one", "attributes"), EPSILONS)) if full else [("one", 0.003), ("attributes", 0.3)]
    rounds, runs = (ROUNDS, 3) if full else ((2, 16), 2)
    computed: dict[str, float] = {}
    for budgets, epsilon in cases:
        computed[f"{budgets}, {epsilon}: MWEM replay"] = best_rounds(FOUR, budgets, epsilon, "replay", runs, rounds)
        computed[f"{budgets}, {epsilon}: laplace"] = additive_error(FOUR, budgets, "laplace", epsilon)
    if full:
        for budgets in ("one", "attributes"):
            computed[f"{budgets}, 0.01: best additive"] = min(additive_error(FOUR, budgets, f, 0.01) for f in ADDITIVE)
        computed["710 queries, one, 0.01: MWEM replay"] = best_rounds(ALL, "one", 0.01, "replay", runs, (2, 4, 8))
        computed["710 queries, one, 0.01: laplace"] = additive_error(ALL, "one", "laplace", 0.01)
    over = [mwem_errors(FOUR, budgets, epsilon, t, runs)["over bound"] for budgets, epsilon in cases for t in rounds]
    computed["largest error over its bound"] = max(over)
    small = computed["one, 0.003: MWEM replay"] / computed["one, 0.003: laplace"]
    large = computed["attributes, 0.3: MWEM replay"] / computed["attributes, 0.3: laplace"]
    computed |= {"one budget of 0.003, MWEM over laplace": small, "attributes of 0.3, MWEM over laplace": large}
    # MWEM is for budgets so small that noise on every answer would drown them, and for nothing else.
    return computed, {
        "largest error over its bound": (0.0, 1.0),
        "one budget of 0.003, MWEM over laplace": (0.0, 1.0),
        "attributes of 0.3, MWEM over laplace": (1.0, np.inf),
    }


def draw(folder: Path) -> Path:
    """Left: error against rounds. Right: error against epsilon, MWEM with its best rounds beside additive noise."""
    drawing, (left, right) = figure(columns=2)
    for epsilon, colour in ((0.01, "tab:red"), (0.1, "tab:blue"), (1.0, "tab:green")):
        for output, line in (("average", ":"), ("last", "--"), ("replay", "-")):
            errors = [mwem_errors(FOUR, "one", epsilon, t, 3)[output] for t in ROUNDS]
            left.plot(ROUNDS, errors, line, color=colour, marker=".", label=f"{output}, epsilon {epsilon}")
    replay = [best_rounds(FOUR, "one", e, "replay", 3) for e in EPSILONS]
    right.plot(EPSILONS, replay, color="k", marker=".", label="MWEM, replay, one or attributes")
    for budgets, line in (("one", "-"), ("attributes", "--")):
        shown = {family: [additive_error(FOUR, budgets, family, e) for e in EPSILONS] for family in ADDITIVE}
        for number, (name, errors) in enumerate(shown.items()):
            right.plot(EPSILONS, errors, line, color=f"C{number}", marker=".", label=f"{name}, {budgets}")
    start = np.abs(
        census(FOUR)[1].dense().mean(axis=1) * census(FOUR)[2].sum() - census(FOUR)[1].answer(census(FOUR)[2])
    ).mean()
    for axes, name in ((left, "rounds T (one budget)"), (right, "epsilon")):
        axes.axhline(start, color="0.6", linewidth=1, label="uniform histogram, no data")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(name)
        axes.set_ylabel("mean absolute error of a cell, persons")
        axes.legend(fontsize=6)
    left.set_xticks(ROUNDS, [str(t) for t in ROUNDS])
    left.minorticks_off()
    path = folder / "mwem_adult.png"
    drawing.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show("MWEM on the three-way marginals of UCI Adult", reproduce, DIFFERENCES, draw)
