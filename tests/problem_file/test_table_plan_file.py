"""Problem files of kind "table_plan": the plan that Python makes, the whole way on the command line, and every mistake."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from designer import InvalidProblem, Targets, datasets, load
from designer.cli.entry import main
from designer.problem_file.kinds import read_request
from designer.tables import (
    OTHERS,
    Average,
    Condition,
    Count,
    CountDistinct,
    Groups,
    Key,
    Measure,
    PartitionSelection,
    PureSum,
    Quantile,
    SlowlyScaledSum,
    StudentNoise,
    Sum,
    TablePlan,
    TransformedNoise,
    UnitSplitting,
    VarianceBy,
    hierarchy,
    tree,
    variance_for,
)
from designer.tables.hierarchy_plan import design_table_plan
from designer.tables.least import least_plan
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords
from tests.problem_file.good_files import CAP, DESIGN, PLAN, write, write_tables

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "business_patterns.toml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tables(tmp_path)


def test_every_query_is_the_one_of_python(folder: Path) -> None:
    jobs, wages = Measure("jobs", upper=1000), Measure("pay", "0.01", "-1/2", 5000)
    conditions = (Condition("status", "in", ("open", "new")), Condition("jobs", "present"))
    region = Groups(["region"], [["N"], ["S"], [OTHERS]])
    pair = Groups(["region", Key("naics", 2)], [["N", "11"], ["S", "11"], ["S", "23"]])
    split = UnitSplitting([jobs, wages], [50, 500], "region", {"N": [20, 200]})
    found = Groups(["zip"], selection=PartitionSelection.design("1/10", 1e-6, split, 3))
    also = Groups(["street"], selection=PartitionSelection.design("1/10", 1e-6, split))
    noise = VarianceBy("region", {"N": 4}, "9/2")
    mean = Average("mean", also, (), wages, variance_for(100, "0.1"), 1)
    stated = [
        Count("firms by region", region, conditions, noise),
        Count("firms by pair", pair, conditions, noise),
        Count("all", Groups(), (), 1),
        CountDistinct("ids", region, (), [4, 5, "6.5"], "owner"),
        Sum("staff", found, (), variance_for(50, "0.1"), jobs),
        mean,
        Quantile("middle", region, (), wages, 0.5, (0, "2.5", 5, "7.5", 10), "0.05"),
        Quantile("high", Groups(), (), jobs, 0.9, (0, 5, 10), "1/20"),
        PureSum("plain", Groups(), (), jobs, 100),
        SlowlyScaledSum("heavy", Groups(), (), wages, StudentNoise.of_deviation(1000, 3)),
        SlowlyScaledSum("log", Groups(), (), jobs, TransformedNoise("log", 100, Fraction(1, 20))),
    ]
    aimed = least_plan(stated, Targets(margin={"mean.count": 10}))
    assert read_request(write(folder, PLAN)).made().mechanism == TablePlan(aimed.queries, split, constant=4)


def test_a_design_is_the_one_of_python(folder: Path) -> None:
    levels = dict(zip(["nation", "region"], hierarchy(["region"], [["N"], ["S"]]), strict=True))
    assert tree([*levels.values()]).labels == ("", "N", "S", OTHERS)
    z = {share: NormalDist().inv_cdf((1 + share) / 2) for share in (0.9, 0.95)}
    staff = Accuracy("jobs", np.array([100, 0.1 * 1020 / z[0.9], np.inf, np.inf]), on_average=True)
    pay = Accuracy("pay", np.array([np.inf, 0.2 * 1020 / z[0.95], 0.2 * 500 / z[0.95], np.inf]))
    count = Accuracy(COUNT, np.array([np.inf, 10, 10, np.inf]))
    columns = {"jobs": [5, 50, 1], "pay": [10, 200, 1]}
    prior = PriorRecords.quantiles(columns, [0.5, 0.9], [0.1, 1])
    naics = hierarchy([Key("naics", 2), Key("naics", 3)], [["11", "111"], ["11", "112"], ["23", OTHERS]])
    beside = [Count(f"firms by {name}", level, (), 9) for name, level in (("fine", naics[2]), ("wide", naics[1]))]
    wanted = design_table_plan(
        levels,
        [Measure("jobs"), Measure("pay")],
        [staff, pay, count],
        prior,
        where=[Condition("status", "==", "open")],
        beside=beside,
        tolerance=1e-5,
    )
    outcome = read_request(write(folder, DESIGN)).made()
    assert outcome.mechanism == wanted and outcome.mechanism.optimality == wanted.optimality
    text = "\n".join(outcome.lines)
    for words in (
        "Noise:       jobs by",
        "Consistent:  count by region: standard error",
        "Optimality:",
        "Certificate",
    ):
        assert words in text
    assert all(text.count(term) == 1 for term in wanted.privacy.terms)
    capped = read_request(write(folder, CAP)).made().mechanism
    assert capped.optimality is not None and capped != wanted


def test_the_example_goes_from_file_to_verified_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, release = tmp_path / "spec.json", tmp_path / "release.json"
    assert main(["show", str(EXAMPLE)]) == 0 and "designed  employees, payroll_usd by state, county" in capsys.readouterr().out
    assert main(["design", str(EXAMPLE), "-o", str(spec)]) == 0
    assert "Consistent:  employees by county: standard error 1000" in capsys.readouterr().out
    plan = load(spec, TablePlan)
    assert len(plan.levels) == 3 and plan.optimality is not None
    records = datasets.establishments().path
    assert main(["release", str(spec), "--table", str(records), "-o", str(release)]) == 0
    capsys.readouterr()
    assert main(["verify", str(spec), str(release)]) == 0 and "is a release" in capsys.readouterr().out
    assert main(["budget", str(EXAMPLE)]) == 2 and "makes the plan of least loss already" in capsys.readouterr().err


def test_numbers_are_the_decimals_that_are_written(folder: Path) -> None:
    text = 'kind = "table_plan"\n[measures.pay]\nstep = 0.1\n[queries.q]\nask = "sum"\nmeasure = "pay"\nvariance = 0.3\n'
    made = read_request(write(folder, text)).made().mechanism
    assert isinstance(made, TablePlan) and made.queries[0].variance == Fraction(3, 10)  # type: ignore[attr-defined]
    assert made.measures[0].step == Fraction(1, 10)


MISTAKES: dict[str, tuple[str, str, str]] = {  # what is replaced, by what, and what is said
    "an unknown query": ('ask = "count"\nloss', 'ask = "cuont"\nloss', r"\[queries.all\] ask = 'cuont': unknown; perhaps 'count' is"),
    "no query": ('ask = "count"\nloss', "loss", r"\[queries.all\] ask is missing; give one of \['count'"),
    "an unknown key": ("scale = 100", "scales = 100", r"\[queries.plain\] scales = 100: unknown key; perhaps 'scale' is meant"),
    "no column of ids": ('of = "owner"\n', "", r"\[queries.ids\] of is missing; give it, as a text in quotes"),
    "an unknown measure": ('measure = "wages"\ngroups = "also"', 'measure = "wagse"', r"\[queries.mean\] measure = 'wagse': .*perhaps 'wages'"),
    "unknown groups": ('groups = "also"', 'groups = "als"', r"\[queries.mean\] groups = 'als': .*perhaps 'also' is meant"),
    "unknown groups of several": ('["region", "pair"]', '["region", "pari"]', r"\[queries.firms\] groups = 'pari': .*perhaps 'pair'"),
    "groups twice": ('["region", "pair"]', '["pair", "pair"]', r"\[queries.firms\] groups\[1\] = 'pair': stands there twice"),
    "an unknown condition": ('["open", "told"]', '["opn"]', r"\[queries.firms\] where = 'opn': .*perhaps 'open' is meant"),
    "no noise": ("loss = {rho = 0.5}\n", "", r"\[queries.all\] noise is missing; give variance, loss, or a target in \[targets\]"),
    "two noises": ("loss = {rho = 0.5}", "loss = {rho = 0.5}\nvariance = 2", r"\[queries.all\] loss = .*: does not go with variance"),
    "no size": ("{size = 50, rho = 0.1}", "{rho = 0.1}", r"\[queries.staff\] loss = .*: give the size of the record"),
    "no noise of a count": ('margin = {"mean.count" = 10}', 'margin = {"plain" = 1}', r"\[queries.mean\] noise is missing; give count_variance"),
    "no variance": ("variance = [4, 5,", "variance = [4, 0,", r"\[queries.ids\] variance: must lie above 0"),
    "too few variances": ('[4, 5, "6.5"]', "[4, 5]", r"\[queries.ids\] variance: 2 for 3 public keys"),
    "a word for a variance": ('[4, 5, "6.5"]', '"much"', r"\[queries.ids\] variance: 'much' is not a number"),
    "noise by no key": ('by = "region", own = {N = 4}', 'by = "zip", own = {N = 4}', r"\[queries.firms\] variance: goes by 'zip'"),
    "an unknown law": ('law = "student"', 'law = "studnt"', r"\[queries.heavy.noise\] law = 'studnt': unknown; perhaps 'student'"),
    "two scales": ("deviation = 1000", "deviation = 1000, scale = 2", r"\[queries.heavy\] noise = .*: has \['scale', 'deviation'\]"),
    "an unknown shape": ('shape = "log"', 'shape = "lag"', r"\[queries.log.noise\] shape = 'lag': unknown; perhaps 'log' is meant"),
    "a share of everything": ('q = "1/2"', "q = 1", r"\[queries.middle\].*q: 1.0 is not between 0 and 1"),
    "candidates beside steps": ("step = 2.5}", "step = 3}", r"\[queries.middle\] candidates = .*: `to` should be above `from`"),
    "falling candidates": ('[0, 5, "10"]', '[0, 5, "3"]', r"\[queries.high\] candidates: must rise"),
    "a measure that is no column": ("upper = 1000", "upper = 1000\ncolumns = 2", r"\[measures.jobs\] columns = 2: unknown key; perhaps 'column'"),
    "bounds without 0": ('lower = "-1/2"', "lower = 1", r"\[measures.wages\] lower, upper: 1 and 5000 do not enclose 0"),
    "no step": ("step = 0.01", "step = 0", r"\[measures.wages\] step: 0 is not a positive rational"),
    "a rule for a column of its own": ('[measures.jobs]', '[measures.more]\ncolumn = "jobs"\n[measures.jobs]', "^$"),
    "an unknown operator": ('op = "in"', 'op = "is"', r"\[conditions.open\] op = 'is': unknown; "),
    "a value that does not fit": ('op = "in"\nvalue = ["open", "new"]', 'op = "<"\nvalue = "a"', r"\[conditions.open\] where: 'status' <"),
    "no groups": ('keys = ["N", "S"]\n', "", r"\[groups.region\] does not say which groups there are; give one of keys"),
    "two ways to groups": ('keys_from = "codes.csv"', 'keys_from = "codes.csv"\nkeys = ["N"]', r"\[groups.pair\] has \['keys', 'keys_from'\]"),
    "a label too many": ('keys = ["N", "S"]', 'keys = ["N", ["S", "T"]]', r"\[groups.region\] keys\[1\] = \['S', 'T'\]: should have 1 labels"),
    "a group twice": ('keys = ["N", "S"]', 'keys = ["N", "N"]', r"\[groups.region\] keys: none, or one of them twice"),
    "a table without the column": ('{column = "naics", prefix = 2}', '{column = "naic", prefix = 2}', r"keys_from = .*no column 'naic'; perhaps 'naics'"),
    "a prefix of nothing": ("prefix = 2", "prefix = 0", r"\[groups.pair\] columns\[1\].prefix = 0: should be a whole number of at least 1"),
    "a code that is too short": ("prefix = 2", "prefix = 3", r"\[groups.pair\] keys_from = .*row 3 has an empty cell, or a code that"),
    "an empty cell": ('"region", {column = "naics", prefix = 2}', '"sex"', r"\[groups.pair\] keys_from = .*row 3 has an empty cell"),
    "others beside a selection": ("selection = {rho = 0.1,", "others = true\nselection = {rho = 0.1,", r"\[groups.also\] others = True: goes with"),
    "no delta": ("delta = 1e-6, split", "delta = 2, split", r"\[groups.also.selection\] delta = 2: should be a number above 0 and below 1"),
    "split twice": ("delta = 1e-6, split = true", "delta = 1e-6, split = true, thresholds = {jobs = 5}", "does not go with thresholds of its own"),
    "no splitting": ('[splitting]\nthresholds = {jobs = 50, wages = 500}\nby = "region"\nown = {N = {jobs = 20, wages = 200}}\nconstant = 4\n', "", r"split = True: needs a section \[splitting\]"),
    "a threshold of nothing": ("constant = 4", "constant = 4\n[splitting.thresholds]", "is not TOML"),
    "a threshold of no measure": ("[splitting]\nthresholds = {jobs", "[splitting]\nthresholds = {job", r"\[splitting\] thresholds = 'job': .*perhaps 'jobs'"),
    "a threshold that is missing": ("own = {N = {jobs = 20, wages = 200}}\nconstant", "own = {N = {wages = 20}}\nconstant", r"own.N = .*: should have a threshold for each of \['jobs', 'wages'\]"),
    "by without its own": ("own = {N = {jobs = 20, wages = 200}}\nconstant", "constant", r"\[splitting\] by = 'region': needs own beside it"),
    "noise and a target": ('"mean.count" = 10', 'ids = 10, "mean.count" = 10', r"\[queries.ids\] variance = .*: 'ids' has a target in \[targets\], too"),
    "a constant that is no number": ("constant = 4", 'constant = "four"', r"\[splitting\] constant: 'four' is not a number"),
    "a target of nothing": ('"mean.count" = 10', '"mean.count" = 10, "mean.cuont" = 3', r"\[targets\] margin: 'mean.cuont' is no query"),
}  # fmt: skip


def test_noise_beside_a_target_is_refused_by_the_key_that_states_it(folder: Path) -> None:
    for key, value in (("variance", "3"), ("loss", "{rho = 0.5}")):
        text = f'kind = "table_plan"\n[queries.q]\nask = "count"\n{key} = {value}\n[targets]\nmargin = {{q = 10}}\n'
        with pytest.raises(InvalidProblem, match=rf"\[queries.q\] {key} = .*: 'q' has a target in \[targets\], too; keep one"):
            read_request(write(folder, text))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered_by_file_section_key_value_and_remedy(name: str, folder: Path) -> None:
    old, new, words = MISTAKES[name]
    assert old in PLAN
    path = write(folder, PLAN.replace(old, new, 1))
    if words == "^$":
        assert read_request(path).kind == "table_plan"
        return
    with pytest.raises(InvalidProblem, match=words) as refusal:
        read_request(path)
    assert str(refusal.value).startswith(f"{path}: ")


DESIGN_MISTAKES: dict[str, tuple[str, str, str]] = {
    "an unknown hierarchy": ('hierarchy = "place"', 'hierarchy = "palce"', r"\[design\] hierarchy = 'palce': .*perhaps 'place' is meant"),
    "levels that are too few": ('["nation", "region"]', '["nation", "state", "region"]', r"\[hierarchies.place\] levels = .*: name 2: everybody"),
    "a level named twice": ('["nation", "region"]', '["fine", "region"]', r"\[hierarchies.industry\] levels = 'fine': is the name of a level"),
    "no keys": ('keys_from = "codes.csv"\nlevels = ["nation"', 'levels = ["nation"', r"section \[hierarchies.place\] has none of|\[hierarchies\] place = .*: has none of"),
    "an accuracy of nothing": ("[design.accuracy.pay.levels]", "[design.accuracy.pya.levels]", r"\[design.accuracy\] pya = 'pya': .*perhaps 'pay' is meant"),
    "an unknown level": ("nation = {standard_error", "natoin = {standard_error", r"\[design.accuracy.staff.levels\] natoin = .*perhaps 'nation'"),
    "two targets": ("{standard_error = 100}", "{standard_error = 100, relative_error = 0.1}", r"nation = .*: .*give exactly one of: standard_error, or"),
    "an unknown target": ("{standard_error = 100}", "{standard_eror = 100}", r"standard_eror = 100: unknown key; perhaps 'standard_error'"),
    "no totals": (', totals_from = "last_year.csv", confidence', ", confidence", r"totals_from is missing; give it"),
    "totals of nothing": ('column = "jobs"}', 'column = "job"}', r"totals_from = .*: has no column 'job'; perhaps 'jobs' is meant"),
    "no such file": ('records_from = "typical.csv"', 'records_from = "typicl.csv"', "typicl.csv: no such file"),
    "records without a measure": ('records_from = "typical.csv"', 'records_from = "last_year.csv"', r"\[design.prior\] records_from = .*no column 'pay'"),
    "allowed without quantiles": ("quantiles = [0.5, 0.9]\n", "", r"\[design.prior\] allowed = .*: needs quantiles beside it"),
    "too few allowed": ("allowed = [0.1, 1]", "allowed = [0.1]", r"\[design\] weights: shape"),
    "no prior": ('[design.prior]\nrecords_from = "typical.csv"\nquantiles = [0.5, 0.9]\nallowed = [0.1, 1]\n', "", r"\[design\] prior is missing"),
    "two priors": ("quantiles = [0.5, 0.9]", "cap = {staff = 5}", r"\[design\] prior = .*: .*give exactly one of: cap, or records_from"),
    "a measure called count": ("[measures.pay]\n", '[measures.pay]\n[measures.count]\ncolumn = "jobs"\n', "is what the number of records is called; rename it"),
    "no others": ('levels = ["nation", "region"]', 'levels = ["nation", "region"]\nothers = false', r"\[design\] levels: .*none of all others below"),
    "an unknown condition": ('where = ["open"]', 'where = ["opne"]', r"\[design\] where = 'opne': .*perhaps 'open' is meant"),
    "targets beside": ('[queries.firms]\nask = "count"\ngroups = ["fine", "wide"]\nvariance = 9\n', "[targets]\nmargin = 3\n", r"\[targets\] speaks of \[queries\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", DESIGN_MISTAKES)
def test_mistakes_in_a_design_are_named(name: str, folder: Path) -> None:
    old, new, words = DESIGN_MISTAKES[name]
    assert old in DESIGN
    with pytest.raises(InvalidProblem, match=words):
        read_request(write(folder, DESIGN.replace(old, new, 1)))


def test_what_only_the_design_finds_is_named_as_well(folder: Path) -> None:
    text = CAP.replace("cap = {staff = 50, pay = 100}", "cap = {staff = 50}")
    with pytest.raises(InvalidProblem, match="prior: has no measure 'pay'"):
        read_request(write(folder, text)).made()
    twice = PLAN.replace("[measures.jobs]", '[measures.more]\ncolumn = "jobs"\nupper = 5\n[measures.jobs]').replace(
        'measure = "jobs"\nscale', 'measure = "more"\nscale'
    )
    with pytest.raises(InvalidProblem, match="'jobs' is clipped or rounded in two ways"):
        read_request(write(folder, twice)).made()


CROSSED = """kind = "table_plan"
[groups.crossed]
columns = ["sex", "region"]
keys = KEYS
[queries.people]
ask = "count"
groups = "crossed"
variance = 100
"""


def test_labels_of_every_column_are_a_group_of_each_combination(folder: Path) -> None:
    listed = '[["F", "N"], ["F", "S"], ["M", "N"], ["M", "S"]]'
    plans = [
        read_request(write(folder, CROSSED.replace("KEYS", keys))).made().mechanism
        for keys in (listed, '{ region = ["N", "S"], sex = ["F", "M"] }')
    ]
    assert plans[0].fingerprint == plans[1].fingerprint


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('["F", "M"]', r"keys\[0\] = \['F'\].*2 labels.*for every combination write keys = \{ 'sex' = \[\.\.\], 'region'"),
        ('{ sex = ["F", "M"] }', r"\[groups.crossed\] keys.*labels of each key column, once; they are \['sex', 'region'\]"),
        (f"{{ sex = {list(range(1001))}, region = {list(range(1000))} }}", r"more than 1,000,000 combinations; list those"),
    ],
)
def test_combinations_that_are_none_are_refused_with_a_way_on(keys: str, words: str, folder: Path) -> None:
    with pytest.raises(InvalidProblem, match=words):
        read_request(write(folder, CROSSED.replace("KEYS", keys)))
