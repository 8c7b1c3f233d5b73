"""Complete problem files of every kind that is read against a form, with the tables that they name."""

from __future__ import annotations

from pathlib import Path

TABLES = {
    "codes.csv": "region,sex,naics\nN,F,111\nS,M,112\nS,,23\n",
    "last_year.csv": "region,jobs\nN,1000\nS,500\nN,20\n",
    "typical.csv": "region,jobs,pay\nN,5,10\nS,50,200\nN,1,1\n",
}

MARGINALS = """
kind = "marginals"
title = "Three attributes"
[domain]
sex = ["F", "M"]
age = 3
region = {table = "codes.csv"}
place = {table = "codes.csv", column = "region"}
[workload]
tables = [["sex"], ["sex", "age"], []]
weights = [1, 2.5, 3]
[relation]
metric = "hamming"
budgets = {sex = 1, age = 0.5, region = inf, place = 2}
[problem]
loss = "max"
notion = "zcdp"
tolerance = 1e-5
allow_vacuous = false
"""
MARGINALS_WITH_TARGETS = """
kind = "marginals"
[domain]
sex = ["F", "M"]
age = 3
[workload]
up_to = 2
[relation]
metric = "add_remove"
mu = 1
[targets]
standard_error = {"sex x age" = 3}
relative_error = {sex = 0.5}
reference = {sex = 10}
"""
PLAN = """
kind = "table_plan"
title = "Every query"
[measures.jobs]
upper = 1000
[measures.wages]
column = "pay"
step = 0.01
lower = "-1/2"
upper = 5000
[conditions.open]
column = "status"
op = "in"
value = ["open", "new"]
[conditions.told]
column = "jobs"
op = "present"
[groups.region]
columns = ["region"]
keys = ["N", "S"]
others = true
[groups.pair]
columns = ["region", {column = "naics", prefix = 2}]
keys_from = "codes.csv"
[groups.found]
columns = ["zip"]
[groups.found.selection]
rho = "1/10"
delta = 1e-6
thresholds = {jobs = 50, wages = 500}
by = "region"
own = {N = {wages = 200, jobs = 20}}
at_most = 3
[groups.also]
columns = ["street"]
selection = {rho = 0.1, delta = 1e-6, split = true}
[queries.firms]
ask = "count"
groups = ["region", "pair"]
where = ["open", "told"]
variance = {by = "region", own = {N = 4}, other = "9/2"}
[queries.all]
ask = "count"
loss = {rho = 0.5}
[queries.ids]
ask = "count_distinct"
of = "owner"
groups = "region"
variance = [4, 5, "6.5"]
[queries.staff]
ask = "sum"
measure = "jobs"
groups = "found"
loss = {size = 50, rho = 0.1}
[queries.mean]
ask = "average"
measure = "wages"
groups = "also"
loss = {size = 100, rho = "0.1"}
[queries.middle]
ask = "quantile"
measure = "wages"
groups = "region"
q = "1/2"
candidates = {from = 0, to = 10, step = 2.5}
rho = 0.05
[queries.high]
ask = "quantile"
measure = "jobs"
q = 0.9
candidates = [0, 5, "10"]
rho = "1/20"
[queries.plain]
ask = "pure_sum"
measure = "jobs"
scale = 100
[queries.heavy]
ask = "slow_sum"
measure = "wages"
noise = {law = "student", deviation = 1000, power = 3}
[queries.log]
ask = "slow_sum"
measure = "jobs"
noise = {law = "gaussian", shape = "log", offset = 100, deviation = 0.05}
[splitting]
thresholds = {jobs = 50, wages = 500}
by = "region"
own = {N = {jobs = 20, wages = 200}}
constant = 4
[targets]
margin = {"mean.count" = 10}
"""
DESIGN = """
kind = "table_plan"
[measures.staff]
column = "jobs"
[measures.pay]
[conditions.open]
column = "status"
op = "=="
value = "open"
[hierarchies.place]
columns = ["region"]
keys_from = "codes.csv"
levels = ["nation", "region"]
[hierarchies.industry]
columns = [{column = "naics", prefix = 2}, {column = "naics", prefix = 3}]
keys_from = "codes.csv"
levels = ["all industries", "wide", "fine"]
[design]
hierarchy = "place"
where = ["open"]
tolerance = 1e-5
[design.accuracy.staff]
on_average = true
[design.accuracy.staff.levels]
nation = {standard_error = 100}
region = {relative_error = 0.1, totals_from = "last_year.csv", confidence = 0.9, share = 0.5}
[design.accuracy.pay.levels]
region = {relative_error = 0.2, totals_from = "last_year.csv", column = "jobs"}
[design.accuracy.count.levels]
region = {standard_error = 10}
[design.prior]
records_from = "typical.csv"
quantiles = [0.5, 0.9]
allowed = [0.1, 1]
[queries.firms]
ask = "count"
groups = ["fine", "wide"]
variance = 9
"""
CAP = DESIGN[: DESIGN.index("[design.prior]")] + "[design.prior]\ncap = {staff = 50, pay = 100}\n"
GOOD = {
    "marginals": MARGINALS,
    "marginals with targets": MARGINALS_WITH_TARGETS,
    "table_plan": PLAN,
    "table_plan by design": DESIGN,
    "table_plan for a largest record": CAP,
}


def write(folder: Path, text: str) -> Path:
    """A problem file in a folder."""
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return path


def write_tables(folder: Path) -> Path:
    """The tables beside the files."""
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
