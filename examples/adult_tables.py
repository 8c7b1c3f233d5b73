"""Microdata in, tables out: 48,842 census records become folders of CSV files with intervals and with whole numbers that agree.

Three releases as the command line makes them: a table under two published margins, four marginals of which one is published
exactly, and a plan of two levels. What a reader of the files would look at is computed from the files alone and from the truth.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from designer import Domain, MarginalProblem, MarginalWorkload, datasets, design, metrics, read_problem
from designer.tables import Count, TablePlan, hierarchy
from examples.reproduction import Result, show

FILE = datasets.adult().path
PROBLEM = Path(__file__).parent / "adult_margins.toml"
DIFFERENCES: dict[str, str] = {}
Rows = list[dict[str, str]]
Columns = Mapping[str, Any]


def written(mechanism: Any, folder: Path) -> dict[str, Rows]:
    """The tables of a release of the records, by file, as `dp-designer release SPEC --table adult.csv -o tables/` writes."""
    spec, tables = folder / "spec.json", folder / "tables"
    mechanism.save(spec)
    asked = ["release", str(spec), "--table", str(FILE), "-o", f"{tables}/", "--consistent", "integer"]
    subprocess.run([sys.executable, "-m", "designer", *asked], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for path in sorted(tables.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found[path.stem] = list(csv.DictReader(file))
    return found


def compared(rows: Rows, columns: list[str], records: Columns) -> dict[str, float]:
    """What the rows say against the truth: the share of intervals that hold it, the largest error in standard errors, how far
    both columns are off."""
    true = Counter(zip(*(records[name] for name in columns), strict=True))
    truth = np.array([true[tuple(row[name] for name in columns)] for row in rows])
    numbers = {
        name: np.array([float(row[name]) for row in rows])
        for name in ("answer", "consistent", "standard_error", "lower_95", "upper_95", "joint_lower_95", "joint_upper_95")
    }
    off = numbers["answer"] - truth
    return {
        "share of intervals that hold the truth": float(
            ((numbers["lower_95"] <= truth) & (truth <= numbers["upper_95"])).mean()
        ),
        "share of joint intervals that do": float(
            ((numbers["joint_lower_95"] <= truth) & (truth <= numbers["joint_upper_95"])).mean()
        ),
        "largest error in standard errors": float(np.abs(off / numbers["standard_error"]).max()),
        "root mean square error, consistent over raw": float(
            np.linalg.norm(numbers["consistent"] - truth) / np.linalg.norm(off)
        ),
        "least consistent number": float(numbers["consistent"].min()),
    }


def sums(rows: Rows, column: str) -> Counter[str]:
    """Consistent numbers added up by the values of a column."""
    total: Counter[str] = Counter()
    for row in rows:
        total[row[column]] += int(row["consistent"])
    return total


def off_by(one: Counter[str], other: Counter[str]) -> float:
    """The largest difference between sums."""
    return float(max(abs(one[key] - other[key]) for key in {*one, *other}))


def reproduce(full: bool = False) -> Result:
    """Three folders, and what their files say."""
    records = datasets.adult()
    domain = Domain.of({name: sorted(set(records[name])) for name in ("education", "race", "sex", "income")})
    computed: dict[str, float] = {}
    with TemporaryDirectory() as made:
        under = design(read_problem(PROBLEM).problem, "gaussian").mechanism
        (rows,) = written(under, _new(made, "margins")).values()
        computed |= compared(rows, ["education", "race"], records)
        for name in ("education", "race"):
            computed[f"largest error of the published margin, {name}"] = off_by(sums(rows, name), Counter(records[name]))
        asked = MarginalWorkload.of(domain, [["education", "sex"], ["race", "sex"], ["sex", "income"], ["education", "income"]])
        budgets = {"education": 0.5, "race": 0.5, "sex": float("inf"), "income": 0.5}
        tables = written(design(MarginalProblem(asked, metrics.hamming(domain, budgets))).mechanism, _new(made, "marginals"))
        by_sex = [sums(tables[name], "sex") for name in ("education_x_sex", "race_x_sex", "sex_x_income")]
        computed["marginals: largest error of the exact margin"] = max(off_by(one, Counter(records["sex"])) for one in by_sex)
        by_income = [sums(tables[name], "income") for name in ("sex_x_income", "education_x_income")]
        computed["marginals: largest disagreement"] = off_by(*by_income)
        keys = sorted(set(zip(records["education"], records["race"], strict=True)))
        levels = hierarchy(["education", "race"], keys)[1:]
        plan = TablePlan([Count("by education", levels[0], variance=9), Count("by race, too", levels[1], variance=25)])
        tables = written(plan, _new(made, "plan"))
        computed["plan: largest disagreement of levels"] = off_by(
            sums(tables["by_education"], "education"), sums(tables["by_race_too"], "education")
        )
    published = {
        "share of intervals that hold the truth": (0.8, 1.0),  # of 80; below with probability less than 1e-6
        "share of joint intervals that do": (0.9, 1.0),
        "largest error in standard errors": (0.0, 7.0),  # above with probability less than 1e-9
        "root mean square error, consistent over raw": (0.3, 1.5),
        "least consistent number": (0.0, 1e9),
        "largest error of the published margin, education": (0.0, 0.0),
        "largest error of the published margin, race": (0.0, 0.0),
        "marginals: largest error of the exact margin": (0.0, 0.0),
        "marginals: largest disagreement": (0.0, 0.0),
        "plan: largest disagreement of levels": (0.0, 0.0),
    }
    return computed, published


def _new(folder: str, name: str) -> Path:
    path = Path(folder, name)
    path.mkdir()
    return path


if __name__ == "__main__":
    show(__doc__, reproduce, DIFFERENCES)
