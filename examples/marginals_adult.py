"""All 92 marginals of up to three attributes of 48,842 census records, with a budget for each attribute,
next to one budget for all."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from designer import (
    Domain,
    MarginalMechanism,
    MarginalProblem,
    MarginalRelease,
    MarginalWorkload,
    Presence,
    datasets,
    design,
    metrics,
)
from designer.extend import figure
from examples.reproduction import Result, show

ORDER = 3
# Four attributes are nobody's business; the others may be told apart five times as easily.
BUDGETS = {
    "age_group": 1.0, "workclass": 1.0, "education": 1.0, "occupation": 1.0,
    "marital_status": 0.2, "race": 0.2, "sex": 0.2, "income": 0.2,
}  # fmt: skip

DIFFERENCES: dict[str, str] = {}


@cache
def records() -> datasets.PublicData:
    """The columns."""
    return datasets.adult()


@cache
def domain() -> Domain:
    """Attributes and values. The lists of values are public: they are those of the census form, all of which occur."""
    return Domain.of({name: sorted(set(column)) for name, column in records().items()})


def workload() -> MarginalWorkload:
    """All tables of one to three attributes."""
    return MarginalWorkload.up_to(domain(), ORDER)


@cache
def own_budgets() -> MarginalMechanism:
    """The optimum under the budgets above."""
    return design(MarginalProblem(workload(), metrics.hamming(domain(), BUDGETS))).mechanism


@cache
def one_budget() -> MarginalMechanism:
    """What keeps the same promises with one budget for all attributes: the smallest."""
    return design(
        MarginalProblem(workload(), metrics.hamming(domain(), dict.fromkeys(BUDGETS, min(BUDGETS.values()))))
    ).mechanism


def closed_optimum(epsilon: float) -> float:
    """Least total variance when a record's presence has one budget (residual planning): `(sum_A sqrt(v_A g_A) / epsilon)^2`."""
    n = np.array(domain().shape)
    tables = [b for r in range(1, ORDER + 1) for b in combinations(range(len(n)), r)]
    total = 0.0
    for a in [(), *tables]:
        cells = sum(1 / np.prod([n[i] for i in b if i not in a]) for b in tables if set(a) <= set(b))
        total += np.sqrt(cells * np.prod([n[i] - 1 for i in a]) * np.prod([1 - 1 / n[i] for i in a]))
    return float((total / epsilon) ** 2)


def noise_share(mechanism: MarginalMechanism, draws: int) -> float:
    """Squared error of simulated noise over all cells of all tables, as a multiple of the expected one."""
    squares = [
        sum(float((table**2).sum()) for table in mechanism.simulate(1, seed=seed)[0].tables().values()) for seed in range(draws)
    ]
    return float(np.mean(squares)) / mechanism.error()


def real_release(database: bool) -> MarginalRelease:
    """A release of the records: counted by DuckDB through Ibis, or from columns."""
    if database and find_spec("ibis") is not None:
        from designer.relations.records.record_files import open_table

        return own_budgets().release(open_table(records().path))
    return own_budgets().release(records())


def disagreement(release: MarginalRelease) -> float:
    """Largest difference between a released table and the sum of a released table that contains it."""
    tables = release.tables()
    return max(
        float(np.abs(table.sum(axis=axis) - tables[tuple(name for name in names if name != dropped)]).max())
        for names, table in tables.items()
        if len(names) > 1
        for axis, dropped in enumerate(names)
    )


def per_cell(mechanism: MarginalMechanism) -> float:
    """Root mean squared error of a cell of a table."""
    return float(np.sqrt(mechanism.error() / workload().cells.sum()))


def reproduce(full: bool = False) -> Result:
    """Optimality, the known closed form, a real release, and what budgets of their own bring."""
    made, release = own_budgets(), real_release(database=full)
    presence = design(MarginalProblem(workload(), Presence(mu=1.0))).mechanism
    assert made.optimality is not None
    computed = {
        "relative optimality gap": made.optimality.gap,
        "presence of a record: loss over the closed optimum": presence.error() / closed_optimum(1.0),
        "squared error of simulated noise over the expected": noise_share(made, 20 if full else 2),
        "records in the released tables": float(release.table([])),
        "largest disagreement of released tables": disagreement(release),
        "root mean squared error of a cell, own budgets": per_cell(made),
        "root mean squared error of a cell, smallest budget for all": per_cell(one_budget()),
        "squared error, smallest budget over own budgets": one_budget().error() / made.error(),
    }
    return computed, {
        "relative optimality gap": (0.0, 1e-9),
        "presence of a record: loss over the closed optimum": (1 - 1e-9, 1 + 1e-9),
        "squared error of simulated noise over the expected": (0.97, 1.03) if full else (0.9, 1.1),
        "records in the released tables": (48842 - 1e-6, 48842 + 1e-6),
        "largest disagreement of released tables": (0.0, 1e-8),
    }


def draw(folder: Path) -> Path:
    """Left: standard error of a cell of each table under both mechanisms. Right: one released table."""
    drawing, (left, right) = figure(columns=2, width=6.5, height=4.5)
    _draw_tables(left)
    _draw_release(right, ("education", "income"))
    path = folder / "marginals_adult.png"
    drawing.savefig(path, dpi=150)
    return path


def _draw_tables(axes: Any) -> None:
    guarded = {name for name, budget in BUDGETS.items() if budget < 1}
    names = list(map(workload().names, workload().subsets.tuples()))
    ours, single = (np.sqrt([mechanism.cell_variance(n) for n in names]) for mechanism in (own_budgets(), one_budget()))
    share = np.array([len(guarded & set(n)) for n in names])
    for count in range(ORDER + 1):
        chosen = share == count
        axes.scatter(single[chosen], ours[chosen], s=18, color=f"C{count}", label=f"{count} attributes of budget 0.2")
    ends = [0.8 * min(ours.min(), single.min()), 1.2 * max(ours.max(), single.max())]
    axes.plot(ends, ends, color="0.6", linewidth=1, label="equal")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="standard error of a cell, budget 0.2 for all",
        ylabel="the same, own budgets (1 and 0.2)",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
        axis.set_ticks([], minor=True)
    axes.set_title("92 tables of up to three attributes", fontsize=10)
    axes.legend(fontsize=8)


def _draw_release(axes: Any, names: tuple[str, str]) -> None:
    released = real_release(database=False).table(names)
    error = np.sqrt(own_budgets().variances(names))
    first, second = (domain().values[domain().axis(name)] for name in names)
    codes = [np.array([values.index(v) for v in records()[name]]) for name, values in zip(names, (first, second), strict=True)]
    true = np.zeros(released.shape)
    np.add.at(true, tuple(codes), 1)
    order = np.argsort(true.sum(axis=1))
    for k, value in enumerate(second):
        place = np.arange(len(first)) + 0.35 * (k - 0.5)
        axes.barh(place, true[order, k], height=0.33, color=f"C{k}", alpha=0.4, label=f"{names[1]} {value}, true")
        axes.errorbar(released[order, k], place, xerr=2 * error[order, k], fmt="o", markersize=3, color=f"C{k}", linewidth=1)
    axes.set_yticks(range(len(first)), [first[i] for i in order], fontsize=7)
    axes.set(xscale="log", xlim=(10, None), xlabel="records; points: one release, with two standard errors")
    axes.set_title(f"{names[0]} by {names[1]}", fontsize=10)
    axes.legend(fontsize=8, loc="lower right")


if __name__ == "__main__":
    show("Marginals of the Adult data with a budget for each attribute", reproduce, DIFFERENCES, draw)
