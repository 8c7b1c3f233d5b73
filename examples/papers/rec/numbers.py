"""Values of REC's tables and examples: exact ones through splittings and plans, percentiles and tails on data drawn here."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from designer.tables import CountDistinct, Groups, Measure, Quantile, Sum, TablePlan, UnitSplitting, variance_for
from examples.papers.frame import Interval
from examples.rec_business import MEASURES, PERCENTILES, THRESHOLDS, year
from examples.rec_setting import frame
from examples.rec_sim import RECORDS, TAILS, simulate
from examples.reproduction import Result

TABLE_1 = [
    ("Retail", 5), ("Retail", 5), ("Retail", 10), ("Retail", 1000), ("Technology", 10_000), ("Services", 5), ("Hospitality", 5),
]  # fmt: skip
TABLE_2: list[dict[str, Any]] = [
    {"id": 1, "industry": "Agriculture", "emp": 150, "pay": 10_000_000},
    {"id": 2, "industry": "Agriculture", "emp": 50, "pay": 15_000_000},
    {"id": 3, "industry": "Mining", "emp": 100, "pay": 10_000_000},
    {"id": 4, "industry": "Mining", "emp": 50, "pay": 10_000_000},
    {"id": 5, "industry": "Retail", "emp": 20, "pay": 1_000_000},
]
EMP, PAY = Measure("emp"), Measure("pay")
SPLIT = UnitSplitting([EMP, PAY], [50, 5_000_000])
BY_INDUSTRY = UnitSplitting([EMP, PAY], [50, 5_000_000], "industry", {"Mining": [50, 10_000_000]})
RHO = Fraction(1, 5)


def exactly(stated: dict[str, float]) -> dict[str, Interval]:
    """Published values as intervals of no length."""
    return {name: (value, value) for name, value in stated.items()}


def table_1(full: bool = False) -> Result:
    """The sum that the introduction asks for, with and without the record that makes it hard; what the plan answers them
    with."""
    asked = Sum("jobs", Groups(["industry"], keys=[["Retail"]]), variance=1, measure=Measure("emp"))
    table = frame({"industry": [row[0] for row in TABLE_1], "emp": [row[1] for row in TABLE_1]})
    answered = TablePlan([asked], unlisted="drop").simulate(1, seed=0, data=table)[0]["jobs"].values[0]
    retail = [jobs for industry, jobs in TABLE_1 if industry == "Retail"]
    computed = {
        "SUM(Employees) in Retail": float(sum(retail)),
        "share of record 4": max(retail) / sum(retail),
        "answer with noise of variance 1": float(answered),
    }
    return computed, {"SUM(Employees) in Retail": (1020, 1020), "answer with noise of variance 1": (1010.0, 1030.0)}


def table_2(full: bool = False) -> Result:
    """Rows after splitting, and the policies of the examples on them."""
    rows = [len(SPLIT.rows(record)) for record in TABLE_2]
    own = [len(BY_INDUSTRY.rows(record)) for record in TABLE_2]
    split = [row for record in TABLE_2 for row in SPLIT.rows(record)]
    total = TablePlan([Sum("jobs", Groups(), variance=variance_for(50, RHO), measure=EMP)], SPLIT, RHO)
    policies = [total.split_policy.exact(total.amounts(record)) / RHO for record in TABLE_2]
    computed = {
        "Table 2: rows after splitting": float(len(split)),
        **{f"Table 2: rows of record {k}": float(n) for k, n in enumerate(rows, 1)},
        "Table 2: employees after splitting less before": float(sum(r["emp"] for r in split) - sum(r["emp"] for r in TABLE_2)),
        **{f"Example 5.4: loss of record {k} / rho": float(loss) for k, loss in enumerate(policies, 1)},
        "Example 5.5: largest number of employees of a row": float(max(row["emp"] for row in split)),
        **{f"Example 5.8: rows of record {k}, squared": float(n * n) for k, n in enumerate(own[:4], 1)},
    }
    stated = {
        "Table 2: rows after splitting": 11,
        **{f"Table 2: rows of record {k}": n for k, n in enumerate((3, 3, 2, 2, 1), 1)},
        "Table 2: employees after splitting less before": 0,
        **{f"Example 5.4: loss of record {k} / rho": n for k, n in enumerate((9, 9, 4, 4, 1), 1)},
        "Example 5.5: largest number of employees of a row": 50,
        **{f"Example 5.8: rows of record {k}, squared": n for k, n in enumerate((9, 9, 4, 1), 1)},
    }
    return computed, exactly(stated)


def example_3_3(full: bool = False) -> Result:
    """The policy `rho ceil(employees / 50)`, and what splitting costs, the square of it."""
    jobs = UnitSplitting([EMP], [50])
    rows = {record["id"]: len(jobs.rows(record)) for record in TABLE_2}
    computed = {f"ceil(employees / 50), record {k}": float(rows[k]) for k in (1, 2, 5)}
    computed["what splitting costs record 1, over rho"] = float(rows[1] ** 2)
    return computed, exactly({f"ceil(employees / 50), record {k}": n for k, n in ((1, 3), (2, 1), (5, 1))})


def table_3(full: bool = False) -> Result:
    """Losses of the rewritten queries for record 1 of Table 2, split into three rows of 50 employees; rho of a row."""
    whole = CountDistinct("firms", Groups(), variance=variance_for(1, RHO), of="id")
    total = Sum("jobs", Groups(), variance=variance_for(50, RHO), measure=EMP)
    computed = {
        "COUNT_DISTINCT: loss of record 1 / rho": float(whole.loss(TABLE_2[0]) / RHO),
        "SUM: loss of record 1 / rho": float(total.loss(TABLE_2[0]) / RHO),
    }
    return computed, exactly({"COUNT_DISTINCT: loss of record 1 / rho": 1, "SUM: loss of record 1 / rho": 9})


def example_5_7(full: bool = False) -> Result:
    """A median at rho_1 before splitting and a sum at rho_2 after it: `(P(r) - rho_1) / rho_2` of each record."""
    first = Fraction(1, 10)
    median = Quantile("median", Groups(), (), PAY, 0.5, (0, 10**7, 2 * 10**7), first)
    total = Sum("jobs", Groups(), variance=variance_for(50, RHO), measure=EMP)
    plan = TablePlan([median, total], SPLIT, constant=first)
    losses = [(plan.split_policy.exact(plan.amounts(record)) - first) / RHO for record in TABLE_2]
    computed = {f"(loss of record {k} - rho_1) / rho_2": float(loss) for k, loss in enumerate(losses, 1)}
    return computed, exactly({f"(loss of record {k} - rho_1) / rho_2": n for k, n in enumerate((9, 9, 4, 4, 1), 1)})


def table_4(full: bool = False) -> Result:
    """Shares of simulated records above 2 and 10 beside `x^-a`; five standard errors of 200,000 draws."""
    values = simulate(RECORDS, 1)[1]
    computed, published = {}, {}
    for name, tail in TAILS.items():
        for x in (2, 10):
            share = x**-tail
            error = 5 * (share * (1 - share) / RECORDS) ** 0.5
            computed[f"{name}: share above {x}"] = float(np.mean(values[name] > x))
            published[f"{name}: share above {x}"] = (share - error, share + error)
    return computed, published


def table_8(full: bool = False) -> Result:
    """The percentile of each threshold, in whole per cent, among the establishments drawn here."""
    columns = year(0).columns
    computed, stated = {}, {}
    for scheme, thresholds in THRESHOLDS.items():
        for name in MEASURES:
            computed[f"{scheme}, {name}"] = float(round(100 * float(np.mean(columns[name] <= thresholds[name]))))
            stated[f"{scheme}, {name}"] = float(PERCENTILES[scheme][name])
    return computed, exactly(stated)
