"""Averages over people with a budget for each attribute (DX Appendix C): 8 attributes, 1,814,400 kinds of rows,
designed on 26 images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from designer import Domain, Problem, StatisticalQueries, Workload, datasets, design, metrics
from designer.averages.averages import average_bounds
from designer.extend import Metric, figure
from examples.reproduction import Floats, Result, show

DIFFERENCES: dict[str, str] = {}

# Middle of each age group, and years of schooling of each degree, both in the order of the attribute's values.
AGES = {"17-24": 20.5, "25-34": 29.5, "35-44": 39.5, "45-54": 49.5, "55-64": 59.5, "65+": 70.0}
SCHOOLING = {
    "Preschool": 0,
    "1st-4th": 3,
    "5th-6th": 6,
    "7th-8th": 8,
    "9th": 9,
    "10th": 10,
    "11th": 11,
    "12th": 12,
    "HS-grad": 12,
    "Some-college": 13,
    "Assoc-voc": 14,
    "Assoc-acdm": 14,
    "Bachelors": 16,
    "Masters": 18,
    "Prof-school": 19,
    "Doctorate": 21,
}
STATISTICS: dict[str, Any] = {
    "mean age": ("age_group", AGES),
    "mean years of schooling": ("education", SCHOOLING),
    "share of women": ("sex", {"Female": 1, "Male": 0}),
    "share with more than 50K": ("income", {">50K": 1, "<=50K": 0}),
    "share of women with more than 50K": (("sex", "income"), lambda sex, income: sex == "Female" and income == ">50K"),
    "share that is or was married": ("marital_status", lambda status: status != "Never-married"),
}
USED = ("marital_status", "age_group", "education", "sex", "income")


def domain() -> Domain:
    """The attributes with the values they may take: the codebook of the survey, which is public,
    and not what the file happens to hold."""
    return Domain.of(
        {
            "age_group": list(AGES),
            "workclass": [
                "Private",
                "Self-emp-not-inc",
                "Self-emp-inc",
                "Federal-gov",
                "Local-gov",
                "State-gov",
                "Without-pay",
                "Never-worked",
                "?",
            ],
            "education": list(SCHOOLING),
            "marital_status": [
                "Married-civ-spouse",
                "Divorced",
                "Never-married",
                "Separated",
                "Widowed",
                "Married-spouse-absent",
                "Married-AF-spouse",
            ],
            "occupation": [
                "Tech-support",
                "Craft-repair",
                "Other-service",
                "Sales",
                "Exec-managerial",
                "Prof-specialty",
                "Handlers-cleaners",
                "Machine-op-inspct",
                "Adm-clerical",
                "Farming-fishing",
                "Transport-moving",
                "Priv-house-serv",
                "Protective-serv",
                "Armed-Forces",
                "?",
            ],
            "race": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"],
            "sex": ["Female", "Male"],
            "income": [">50K", "<=50K"],
        }
    )


@cache
def people() -> datasets.PublicData:
    """The columns of the file."""
    return datasets.adult()


def budgets() -> dict[str, float | Metric]:
    """Near ages and near degrees are hard to tell apart, income is guarded most, what is visible least."""
    near_degrees = metrics.euclidean([float(k) for k in range(len(SCHOOLING))], per_unit=0.05)
    near_ages = metrics.euclidean(list(AGES.values()), per_unit=0.02)
    given: dict[str, float | Metric] = {"age_group": near_ages, "education": near_degrees, "income": 0.1}
    return {**dict.fromkeys(("workclass", "occupation", "marital_status"), 0.25), "race": 0.5, "sex": 0.5, **given}


def queries(attributes: Sequence[str] = USED) -> StatisticalQueries:
    """The averages over rows that need no more than these attributes."""
    return StatisticalQueries.of(domain(), asked_of(attributes), budgets())


def asked_of(attributes: Sequence[str]) -> dict[str, Any]:
    """The statistics that need no more than these attributes."""
    return {name: given for name, given in STATISTICS.items() if set(_listed(given[0])) <= set(attributes)}


def _listed(attributes: str | Sequence[str]) -> list[str]:
    return [attributes] if isinstance(attributes, str) else list(attributes)


def on_the_full_domain(attributes: Sequence[str]) -> Problem:
    """The same answers and budgets without any transform: on all combinations of the attributes that the statistics use."""
    everything, given = domain(), budgets()
    small = Domain.of({name: everything.values[everything.axis(name)] for name in attributes})
    parts = [
        b if isinstance(b := given[name], Metric) else metrics.uniform(n, b)
        for name, n in zip(attributes, small.shape, strict=True)
    ]
    rows = [dict(zip(attributes, row, strict=True)) for row in product(*small.values)]
    matrix = [
        [_value(function, [row[a] for a in _listed(names)]) for row in rows]
        for names, function in asked_of(attributes).values()
    ]
    return Problem(Workload(matrix), metrics.product(small, parts))


def _value(function: Any, values: list[str]) -> float:
    return float(function(*values) if callable(function) else function[values[0]])


def reproduce(full: bool = False) -> Result:
    """Design, release and compare with the truth. `published` holds what must be: bounds,
    and the optimum of the full domain."""
    asked = queries()
    made = design(asked.problem(), "laplace")
    released, truth = asked.release(made.mechanism, people()).answers, asked.answer(people())
    bounds = average_bounds(asked, made.mechanism, len(people()["sex"]), delta=1e-9)
    one_budget = design(asked.problem(), "uniform_budget")
    # All five attributes make 2688 rows, four of them 384.
    compared = USED if full else USED[1:]
    on_images, on_rows = (design(problem, "laplace") for problem in (queries(compared).problem(), on_the_full_domain(compared)))
    computed = {
        "kinds of rows": float(asked.domain.size),
        "elements of the design": float(asked.workload.shape[1]),
        "optimum over that on all rows of the attributes used": on_images.loss / on_rows.loss,
        "worst loss / budget": float(made.privacy.worst_ratio or 0),
        "largest error": float(np.abs(released - truth).max()),
        "squared error, one budget for all over a budget for each": one_budget.loss / made.loss,
    }
    published = {
        "kinds of rows": (1_814_400.0, 1_814_400.0),
        "elements of the design": (26.0, 26.0),
        "optimum over that on all rows of the attributes used": (1 - 1e-6, 1 + 1e-6),
        "worst loss / budget": (1 - 1e-9, 1.0),
        "largest error": (0.0, bounds.high_probability),
        "squared error, one budget for all over a budget for each": (1.0, np.inf),
    }
    return computed, published


def deviations(family: str) -> Floats:
    """Standard deviation of the noise of each average over the people of the file."""
    return np.sqrt(design(queries().problem(), family).mechanism.query_variances()) / len(people()["sex"])


def draw(folder: Path) -> Path:
    """Noise of each average, with one budget for all and with a budget for each attribute."""
    drawing, axis = figure(width=8.0)
    names = list(STATISTICS)
    place = np.arange(len(names))[::-1]
    for shift, family, label in (
        (0.2, "uniform_budget", "one budget for all"),
        (-0.2, "laplace", "a budget for each attribute"),
    ):
        bars = axis.barh(place + shift, deviations(family), height=0.38, label=label, color="0.6" if shift > 0 else "tab:blue")
        axis.bar_label(bars, fmt=lambda v: f"{v:.5f}", padding=3, fontsize=8)
    axis.set_yticks(place, names)
    axis.set_xscale("log")
    axis.margins(x=0.25)
    axis.set_xlabel("standard deviation of the noise, 48,842 people")
    axis.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    path = folder / "statistical_queries.png"
    drawing.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show(
        "Averages over rows with a budget for each attribute (bounds that must hold in place of a paper's numbers)",
        reproduce,
        DIFFERENCES,
        draw,
    )
