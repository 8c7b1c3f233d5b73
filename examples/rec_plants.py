"""Per-record zCDP on 9,804 real power plants in place of the cattle inventory: Seeman et al., Table 5 and Figure 2 b,
and a consistent design.

Cattle records are not public by county. A plant stands for a county, its generation for the cattle inventory, its capacity
factor (a rate between 0 and 1) for the pasture rent,
its primary fuel for the agricultural district: State and State x Fuel for State and State x AD.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from designer import datasets
from designer.base.arrays import Floats
from designer.certificate.frozen import named_answers
from designer.extend import figure
from designer.tables import Average, Groups, Measure, Sum, TablePlan, UnitSplitting, variance_for
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, RecordDesign, design_records
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.policies.metrics import absolute_relative_error, policy_losses
from designer.tables.policies.policies import ConstantPolicy, Policy, SumOfPolicies
from examples.rec_setting import Places, draw_distribution, draw_errors, frame, group_sums
from examples.reproduction import Result, saved, show

SPLIT_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
RHOS = (0.1, 1.0, 10.0)
LEVELS = {"State": 1, "State x Fuel": 2}
QUERIES = 4  # SUM and AVG at both levels share rho equally

DIFFERENCES: dict[str, str] = {}
PAPER = "Seeman et al. draw cattle (Table 5, Figure 2 b), which are not public by county: no number of theirs is comparable"


@cache
def plants() -> tuple[Hierarchy, Places, dict[str, Floats]]:
    """Nation > state > fuel, the place of every plant's finest group, and the measures;
    plants without positive generation are left out."""
    table = datasets.power_plants()
    generation, capacity = np.nan_to_num(table["generation_gwh_2019"]), table["capacity_mw"]
    kept = generation > 0
    keys = [[text for text, keep in zip(table[name], kept, strict=True) if keep] for name in ("state", "primary_fuel")]
    tree = Hierarchy.of(*keys, top="US")
    places = np.array([tree.place[f"US/{state}/{fuel}"] for state, fuel in zip(*keys, strict=True)])
    # GWh a year over MW: 8.76 at full power all year.
    rate = np.clip(generation[kept] / (8.76 * capacity[kept]), 0.0, 1.0)
    return tree, places, {"generation": generation[kept], "rate": rate, COUNT: np.ones(int(kept.sum()))}


def truth(measure: str) -> Floats:
    """(n,) totals of all groups."""
    tree, places, columns = plants()
    return tree.totals(group_sums(places, columns[measure], tree.size)[~tree.inner])


def sums(rho: float, share: float) -> TablePlan:
    """Table 5: SUM(generation) by state and by state and fuel, a quarter of rho each, a share of the plants split."""
    quarter = Fraction(str(rho)) / QUERIES
    threshold = Fraction(round(1000 * float(np.quantile(plants()[2]["generation"], 1 - share))), 1000)
    generation, noise = Measure("generation", "0.001"), variance_for(threshold, quarter)
    queries = [Sum(level, groups, variance=noise, measure=generation) for level, groups in groups_of().items()]
    return TablePlan(queries, UnitSplitting([generation], [threshold]), 2 * quarter)


def averages(rho: float) -> TablePlan:
    """Table 5: AVG(rate) on plants that are not split, a quarter of rho each, half of it for the sum and half for the count."""
    rate, noise = Measure("rate", "0.0001", upper=1), variance_for(1, Fraction(str(rho)) / QUERIES / 2)
    return TablePlan(
        [Average(level, groups, measure=rate, variance=noise, count_variance=noise) for level, groups in groups_of().items()]
    )


@cache
def groups_of() -> dict[str, Groups]:
    """The public groups of both levels, in the tree's order."""
    tree = plants()[0]
    keys = {level: [path.split("/")[1:] for path in tree.labels[tree.slices[number]]] for level, number in LEVELS.items()}
    return {level: Groups(["state", "fuel"][: LEVELS[level]], keys=listed) for level, listed in keys.items()}


@cache
def plants_table() -> Any:
    """The plants as a data frame: state, fuel, generation, rate."""
    tree, places, columns = plants()
    _, states, fuels = zip(*(tree.labels[place].split("/") for place in places), strict=True)
    return frame({"state": states, "fuel": fuels, "generation": columns["generation"], "rate": columns["rate"]})


def simulated(made: TablePlan, draws: int) -> dict[str, Floats]:
    """Released numbers of a plan, by name: shape (draws, groups)."""
    released = [made.simulate(1, seed=seed, data=plants_table())[0] for seed in range(draws)]
    return {name: np.array([answers[name].values for answers in released]) for name in named_answers(made)}


@cache
def released_sums(rho: float, share: float, draws: int) -> dict[str, Floats]:
    """Both sums, drawn several times."""
    return simulated(sums(rho, share), draws)


def errors(level: str, rho: float, share: float, draws: int) -> Floats:
    """ARE of SUM(generation) by the groups of a level."""
    totals = truth("generation")[plants()[0].slices[LEVELS[level]]]
    return absolute_relative_error(released_sums(rho, share, draws)[level], totals).ravel()


def average_errors(level: str, rho: float, draws: int) -> Floats:
    """ARE of AVG(rate): a noisy sum over a noisy count."""
    rows = plants()[0].slices[LEVELS[level]]
    total, number = truth("rate")[rows], truth(COUNT)[rows]
    found = simulated(averages(rho), draws)
    answers = found[f"{level}.sum"] / np.maximum(found[f"{level}.count"], 1.0)
    return absolute_relative_error(answers, total / number).ravel()


def policy(rho: float, share: float) -> Policy:
    """What both plans cost together (Lemmas 4.2 and 5.6): a constant for the averages, and the split rows for the sums."""
    return SumOfPolicies((ConstantPolicy(rho / 2), sums(rho, share).split_policy))


@cache
def designed() -> RecordDesign:
    """Generation to 0.01 % in the nation, 1 % in 95 % of the states, 50 % in 90 % of the states' fuels,
    all with at least 10 plants."""
    tree, places, columns = plants()
    totals, numbers = truth("generation"), truth(COUNT)
    asked = [
        Accuracy.relative("generation", totals, error, share=share, asked=(tree.level == level) & (numbers >= 10))
        for level, (error, share) in enumerate([(1e-4, 1.0), (0.01, 0.95), (0.5, 0.9)])
    ]
    target = Accuracy("generation", np.minimum.reduce([accuracy.deviations for accuracy in asked]))
    return design_records(tree, [target], PriorRecords.sample({"generation": columns["generation"]}, places))


def simulated_share_within(draws: int) -> float:
    """The share of consistent answers within 1.96 of their stated standard deviations."""
    made = designed()
    tree, precisions = made.hierarchy, made.group_precisions("generation")
    scales = np.where(precisions > 0, 1 / np.sqrt(np.maximum(precisions, 1e-300)), 0.0)
    rng, deviations = np.random.default_rng(7), made.deviations("generation")
    noise = [tree.estimate(rng.normal(size=tree.size) * scales, precisions) for _ in range(draws)]
    return float(np.mean(np.abs(noise) <= 1.959964 * deviations))


def reproduce(full: bool = False) -> Result:
    """The trade-off of Figure 2 b on plants, and what a consistent design brings."""
    draws = 40 if full else 2
    medians = np.array([[np.median(errors("State", rho, share, draws)) for share in SPLIT_SHARES] for rho in RHOS])
    columns = plants()[2]
    losses = policy_losses(policy(1.0, 0.01), columns, public=True)
    made = designed()
    assert made.optimality is not None
    schemes = {name: value / made.optimality.value for name, value in made.schemes.items()}
    computed = {
        "median ARE by state, rho = 1, 1 % of plants split": float(medians[1, 2]),
        "median ARE by state and fuel, rho = 1, 1 % of plants split": float(
            np.median(errors("State x Fuel", 1.0, 0.01, draws))
        ),
        "median ARE of AVG by state, rho = 1, ordinary zCDP": float(np.median(average_errors("State", 1.0, draws))),
        "median ARE of AVG by state and fuel, rho = 1": float(np.median(average_errors("State x Fuel", 1.0, draws))),
        "largest change of the median ARE with more split": float((medians[:, 1:] / medians[:, :-1]).max()),
        "largest change of the median ARE with more rho": float((medians[1:] / medians[:-1]).max()),
        "share of plants that lose more than rho = 1": losses.share_above(1 + 1e-9),
        "design: relative gap": made.optimality.gap,
        "design: answers within 1.96 stated deviations": simulated_share_within(50 if full else 10),
        **{f"design: policy of scheme {name!r} over the optimum": value for name, value in schemes.items()},
    }
    return computed, {
        "largest change of the median ARE with more split": (0.0, 1.0),
        "largest change of the median ARE with more rho": (0.0, 1.0),
        "share of plants that lose more than rho = 1": (0.0, 0.0101),
        "design: relative gap": (0.0, 1e-6),
        "design: answers within 1.96 stated deviations": (0.935, 0.965),
        **{f"design: policy of scheme {name!r} over the optimum": (1.0 - 1e-9, np.inf) for name in schemes},
    }


def draw(folder: Path) -> Path:
    """Errors by share of split plants at both levels, distribution of losses, and deviations of consistent answers."""
    drawing, axes = figure(columns=4, width=4.2, height=4.2)
    for place, level in enumerate(LEVELS):
        shown = [errors(level, 1.0, share, 20) for share in SPLIT_SHARES] + [average_errors(level, 1.0, 20)]
        labels = [f"{share:.1%}" for share in SPLIT_SHARES] + ["AVG"]
        draw_errors(axes[place], shown, labels, {1.0: "tab:red", 0.1: "tab:green"})
        axes[place].set(title=f"{level}, $\\rho$ = 1", xlabel="plants that are split", ylabel="ARE")
    for k, share in enumerate(SPLIT_SHARES):
        draw_distribution(axes[2], policy(1.0, share)(plants()[2]), color=f"C{k}", label=f"{share:.1%} split")
    axes[2].set(xlabel="policy loss", ylabel="share of plants", title="$\\rho$ = 1")
    axes[2].legend(fontsize=8, loc="lower right")
    made, totals = designed(), truth("generation")
    for level, name in enumerate(("nation", *LEVELS)):
        rows = made.hierarchy.slices[level]
        axes[3].scatter(totals[rows], made.deviations("generation")[rows], s=9, color=f"C{level}", label=f"{name}, consistent")
        if np.isfinite(made.sigmas[0, level]):
            axes[3].axhline(made.sigmas[0, level], color=f"C{level}", linestyle="--", linewidth=0.9, label=f"{name}, alone")
    axes[3].set(
        xscale="log", yscale="log", xlabel="generation of the group, GWh", ylabel="standard deviation, GWh", title="design"
    )
    axes[3].legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, 0.8))
    path = folder / "rec_plants.svg"
    saved(drawing, path)
    return path


if __name__ == "__main__":
    show(f"Per-record zCDP on power plants. {PAPER}", reproduce, DIFFERENCES, draw)
