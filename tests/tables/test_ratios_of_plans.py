"""Tables of ratios and shares of released answers: which they divide, how often intervals hold, what is refused."""

from __future__ import annotations

import json
import math
from contextlib import chdir
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from designer import Domain, InvalidProblem, MarginalProblem, MarginalWorkload, design, metrics
from designer.certificate.frozen import answer_layout
from designer.cli import main
from designer.files.releases import release_document
from designer.files.table_files import TableOptions, files_of_tables
from designer.files.table_writers import FORMATS
from designer.mechanism import derived
from designer.mechanism.derived import ChangesSince, Ratios, difference, ratio
from designer.relations.records.row_unit import RowUnit
from designer.sampling.entropy import SeededEntropy
from designer.tables import Average, Count, Groups, Measure, PureSum, Quantile, Sum, TablePlan
from designer.tables.answers import Answer, TableRelease
from designer.tables.partition_selection import PartitionSelection
from designer.tables.scans import noisy_answers

SECTOR, KIND = Groups(["sector"], [["A"], ["B"], ["C"]]), Groups(["sector", "kind"], [[s, k] for s in "ABC" for k in "xy"])
PAY, STAFF = Measure("pay", upper=2000), Measure("staff", upper=400)


@cache
def plan(quiet: bool = False) -> TablePlan:
    """quiet: with noise that is 0, but for a probability of e^-50."""
    small = Fraction(1, 100)
    noise = {"pay": 90_000, "count": 9, "scale": 40} if not quiet else {"pay": small, "count": small, "scale": Fraction(1, 50)}
    return TablePlan(
        [
            Count("firms by kind", KIND, variance=noise["count"]),
            Sum("pay", SECTOR, variance=noise["pay"], measure=PAY),
            PureSum("staff", SECTOR, measure=STAFF, scale=noise["scale"]),
            Count("firms", SECTOR, variance=noise["count"]),
            Average("mean pay", SECTOR, measure=PAY, variance=noise["pay"], count_variance=noise["count"]),
            Quantile("median", Groups(), (), PAY, 0.5, (0, 10, 100), "0.1"),
        ],
        unlisted="drop",
    )


@cache
def firms() -> pd.DataFrame:
    """Skewed: most firms are small, few are hundreds of times larger, and some are above the bounds."""
    rng = np.random.default_rng(1)
    size = 600
    staff = np.minimum(rng.pareto(1.1, size) * 3, 5000).astype(int)
    return pd.DataFrame(
        {
            "sector": rng.choice(list("ABC"), size, p=[0.6, 0.3, 0.1]),
            "kind": rng.choice(list("xy"), size, p=[0.8, 0.2]),
            "staff": staff,
            "pay": ((staff + 1) * rng.lognormal(1, 0.5, size)).astype(int),
        }
    )


def true_answers() -> dict[str, Any]:
    """Without noise, by pandas."""
    table = firms().assign(pay=firms()["pay"].clip(0, 2000), staff=firms()["staff"].clip(0, 400))
    by = table.groupby("sector")
    kinds = table.groupby(["sector", "kind"]).size().to_dict()
    return {
        "pay": by["pay"].sum().to_dict(),
        "staff": by["staff"].sum().to_dict(),
        "firms": by.size().to_dict(),
        "kinds": kinds,
    }


ASKED = {
    "pay per head": {"ratio": ["pay", "staff"], "unit": "euro"},
    "share": {"share": "firms", "per": 100},
    "within": {"share": "firms by kind", "within": ["sector"]},
    "by margin": {"ratio": ["firms by kind", "firms"]},
    "alone": {"ratio": ["pay / A", ["staff / A", "staff / B"]]},
}


def asked(made: TablePlan) -> dict[str, Ratios]:
    return {name: Ratios.of(made, {"name": name, **own}) for name, own in ASKED.items()}


def released(made: TablePlan, seed: int = 0) -> TableRelease:
    """A release, from records that are counted once."""
    return TableRelease(
        noisy_answers(made.queries, made.noisy, counted(), SeededEntropy(seed)), made.guarantee, made.fingerprint, law=made
    )


@cache
def counted() -> Any:
    return plan()._exact(firms(), RowUnit())


def true_ratios() -> dict[str, dict[tuple[str, ...], float]]:
    true = true_answers()
    total = sum(true["firms"].values())
    return {
        "pay per head": {(s,): true["pay"][s] / true["staff"][s] for s in "ABC"},
        "share": {(s,): 100 * true["firms"][s] / total for s in "ABC"},
        "within": {(s, k): true["kinds"][s, k] / (true["kinds"][s, "x"] + true["kinds"][s, "y"]) for s in "ABC" for k in "xy"},
        "by margin": {(s, k): true["kinds"][s, k] / true["firms"][s] for s in "ABC" for k in "xy"},
        "alone": {("alone",): true["pay"]["A"] / (true["staff"]["A"] + true["staff"]["B"])},
    }


def test_each_row_divides_the_answers_of_equal_groups_as_pandas_does() -> None:
    made = plan(quiet=True)
    exact = released(made)
    for name, own in asked(made).items():
        table = own.table(made, exact)
        assert dict(zip(table.keys, table.answers.tolist(), strict=True)) == pytest.approx(true_ratios()[name]), name
        found = table.intervals()
        assert np.all((found.lower <= table.answers) & (table.answers <= found.upper) & (found.upper - found.lower < 1e-6))


def test_noise_is_drawn_in_every_answer_as_it_is_released_and_in_no_other() -> None:
    """Standard errors against those of the laws, within 4 % for 20,000 draws."""
    made = plan()
    drawn, tables = made.noise_in_answers(20_000, SeededEntropy(1)), answer_layout(made)
    assert tables is not None
    held = {table.name: table for table in released(made).answer_tables()}
    assert {table.name: (table.columns, table.keys) for table in tables} == {n: (t.columns, t.keys) for n, t in held.items()}
    first = 0
    for table in tables:
        own, errors = drawn[:, first : first + len(table.keys)], held[table.name].standard_errors
        first += len(table.keys)
        if errors is None:
            assert table.name in ("mean pay", "median") and np.isnan(own).all()
        else:
            assert own.std(axis=0) == pytest.approx(errors, rel=0.04)
            assert np.abs(np.corrcoef(own.T) - np.eye(len(table.keys))).max() < 0.05


def test_a_quotient_of_normal_sums_has_the_interval_of_fieller() -> None:
    made = plan()
    own, found = asked(made)["by margin"], released(made, 3)
    kinds, all_of = found["firms by kind"], found["firms"]
    limits = own.table(made, found).intervals()
    for k, (sector, kind) in enumerate(KIND.keys or ()):
        u, v, variance = kinds[sector, kind], all_of[sector], norm.isf(0.025) ** 2 * 9
        roots = np.sort(np.roots([v**2 - variance, -2 * u * v, u**2 - variance]))
        assert (limits.lower[k], limits.upper[k]) == pytest.approx(tuple(roots), abs=0.12 * (roots[1] - roots[0]))


@pytest.mark.parametrize("draws", [20, pytest.param(2000, marks=pytest.mark.nightly)])
def test_intervals_of_all_answers_and_ratios_hold_as_often_as_they_say(draws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In so many releases of skewed amounts, with seeds: five deviations below the level are 1 in a million."""
    monkeypatch.setattr(derived, "LARGEST_SAMPLE", 3000)
    derived._drawn.cache_clear()
    made, true, ratios = plan(), {**true_ratios()}, asked(plan())
    exact = {table.name: table.answers for table in released(plan(quiet=True)).answer_tables()}
    held: dict[tuple[str, int], int] = {}
    for seed in range(draws):
        own = released(made, seed)
        tables = [(t, exact[t.name]) for t in own.answer_tables() if t.name != "median"]
        tables += [(r.table(made, own), np.array([*true[name].values()])) for name, r in ratios.items()]
        for table, right in tables:
            found = table.intervals()
            for k in range(len(right)):
                key = (table.name, k)
                held[key] = held.get(key, 0) + bool(found.lower[k] <= right[k] <= found.upper[k])
    derived._drawn.cache_clear()
    least = 0.95 * draws - 5 * math.sqrt(0.95 * 0.05 * draws)
    assert {key: times for key, times in held.items() if times < least} == {}
    assert len(held) == 43 and (draws < 1000 or np.mean([*held.values()]) < 0.985 * draws)


def test_an_interval_without_ends_is_written_in_every_format(tmp_path: Path) -> None:
    """The noise in the count of firms of sector C may be as large as the count."""
    made = plan()
    one = released(made)
    answers = {name: replace(own, values=own.values * 0.01) for name, own in one.answers.items()}
    own = Ratios.of(made, {"name": "per head", "ratio": ["pay", "firms"]})
    found = own.table(made, replace(one, answers=answers)).intervals()
    assert found.lower[2] == -math.inf and found.upper[2] == math.inf
    document = release_document(made, one)
    options = (TableOptions(kind, derived=[own]) for kind in FORMATS)
    for wanted in options:
        files = dict(files_of_tables(made, replace(one, answers=answers), document, wanted))
        page = next(content for name, content in files.items() if name.startswith(("per_head", "tables.xlsx")))
        assert wanted.kind in ("parquet", "xlsx") or b"nan" not in page.lower()


DOMAIN = Domain.of({"sex": ["F", "M"], "age": ["0", "1", "2"]})


@cache
def margins() -> Any:
    workload = MarginalWorkload.of(DOMAIN, [["sex", "age"], ["sex"], []])
    return design(MarginalProblem(workload, metrics.hamming(DOMAIN, {"sex": 1.0, "age": 1.0}))).mechanism


def test_ratios_of_marginals_are_those_of_their_answers_and_follow_no_order() -> None:
    made = margins()
    found = made.release({"sex": ["F", "M", "M"] * 100, "age": ["0", "1", "2"] * 100})
    own = Ratios.of(made, {"name": "rows", "ratio": ["sex x age", "sex"]}).table(made, found)
    for key, value, lower in zip(own.keys, own.answers, own.intervals().lower, strict=True):
        one = ratio(made, found, f"sex x age / {key[0]} / {key[1]}", f"sex / {key[0]}")
        assert (value, lower) == (one.value, one.lower)
    again = Ratios.of(made, {"name": "all", "ratio": ["sex", "total"], "per": 100}).table(made, found)
    assert again.answers.sum() == pytest.approx(100, abs=20) and again.keys == (("F",), ("M",))


REFUSED = [
    ({"ratio": ["pay", "staf"]}, "'staf' is neither a table nor an answer; perhaps 'staff' is meant"),
    ({"ratio": ["pay", "firms by kind"]}, r"denominator has columns \['sector', 'kind'\], the numerator \['sector'\]"),
    ({"ratio": ["mean pay", "firms"]}, "'mean pay / A' is an average, a quantile or a sum whose noise"),
    ({"ratio": ["pay", "staff"], "share": "pay"}, "not both"),
    ({"ratio": ["pay", "staff"], "within": ["sector"]}, "not both"),
    ({"share": "pay / A"}, "'pay / A' is no table of rows; use one of"),
    ({"share": "pay", "within": ["kind"]}, r"within: 'kind' is no column of it; use some of \['sector'\]"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_cannot_be_divided_is_refused_before_there_is_a_release(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        Ratios.of(plan(), {"name": "x", **given}).require(plan(), 0.95)


def test_groups_that_are_found_have_no_ratios() -> None:
    found = Groups(["sector"], selection=PartitionSelection(variance=4, threshold=50))
    with pytest.raises(InvalidProblem, match="groups that are found by their noisy sizes, have no derived answers"):
        Ratios.of(TablePlan([Count("firms", found, variance=4)]), {"name": "x", "share": "firms"})


def test_changes_are_of_sums_in_rows_that_both_have_with_the_noise_of_both() -> None:
    """Of normal noise with variances v and w, the margin is the quantile of variance v + w."""
    made, less = plan(), TablePlan([Count("firms", Groups(["sector"], [["B"], ["A"], ["Z"]]), variance=16)])
    table = answer_layout(less)
    assert table is not None
    before = TableRelease(
        {"firms": Answer("firms", ("sector",), table[0].keys, np.array([9.0, 7.0, 1.0]))}, less.guarantee, less.fingerprint
    )
    after = released(made, 5)
    (one,) = ChangesSince.of(made, less, before, "2025")
    one.require(made, 0.9)
    changed = one.table(made, after)
    assert (changed.name, changed.keys) == ("firms, change since 2025", (("A",), ("B",)))
    assert changed.answers.tolist() == [after["firms"]["A"] - 7, after["firms"]["B"] - 9]
    reach = changed.intervals(0.9).upper - changed.answers
    assert reach == pytest.approx([5 * norm.isf(0.05)] * 2, abs=1)
    assert {own.name for own in ChangesSince.of(made, made, released(made, 6))} == {
        *("firms by kind, change", "pay, change", "staff, change", "firms, change", "mean pay.sum, change"),
        "mean pay.count, change",
    }
    again = difference(made, after, made, released(made, 6), "pay / A")
    own = next(own for own in ChangesSince.of(made, made, released(made, 6)) if own.name == "pay, change").table(made, after)
    assert (own.answers[0], own.intervals().lower[0]) == (again.value, again.lower)
    with pytest.raises(InvalidProblem, match="earlier: is the same release, whose noise cancels"):
        own = ChangesSince.of(made, made, after)[0].table(made, after)
    with pytest.raises(InvalidProblem, match="--earlier: has no table of sums with a row of this release"):
        ChangesSince.of(margins(), less, before)


PROBLEM = """
[domain]
work = { labels = { "1" = "Employed", "2" = "Unemployed" } }
[workload]
builder = "identity"
[relation]
metric = "add_remove"
epsilon = 1.0
[[derived]]
name = "rate"
ratio = ["answers / 2", ["answers / 1", "answers / 2"]]
per = 100
unit = "per cent"
"""


def test_a_problem_file_asks_for_ratios_which_spend_nothing_more(tmp_path: Path, capsys: Any) -> None:
    with chdir(tmp_path):
        Path("p.toml").write_text(PROBLEM)
        Path("t.csv").write_text("work\n" + "1\n" * 900 + "2\n" * 100)
        assert main(["design", "p.toml", "-o", "s.json"]) == 0
        assert main(["release", "s.json", "--table", "t.csv", "-o", "a/", "--derived", "p.toml"]) == 0
        assert "1 table, 2 answers, 1 table computed from them" in capsys.readouterr().out
        (row,) = pd.read_csv("a/rate.csv").to_dict("records")
        assert row["lower_95"] < row["answer"] < row["upper_95"] and 8 < row["answer"] < 12
        index = json.loads(Path("a/tables.json").read_text())
        assert index["tables"][-1]["columns"][-1]["unit"] == "per cent"
        assert main(["tables", "s.json", "a/release.json", "--derived", "p.toml", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["derived"]["rate"]
        assert told == {name: [value] for name, value in row.items()}
        assert main(["tables", "s.json", "a/release.json", "--derived", "p.toml"]) == 0
        said = capsys.readouterr().out
        assert "Computed from these answers" in said and "per cent" in said
        assert main(["release", "s.json", "--table", "t.csv", "-o", "c/"]) == 0
        since = ["tables", "s.json", "a/release.json", "--earlier", "c/release.json", "-o", "d/", "--format", "csv-semicolon"]
        assert main(since) == 0 and Path("d/answers_change.csv").exists()
        assert main([*since[:4], "a/release.json", "-o", "e/"]) == 2 and not Path("e").exists()
        assert "is the same release" in capsys.readouterr().err
        Path("bad.toml").write_text(PROBLEM.replace('"answers / 2", [', '"answers / 3", ['))
        assert main(["release", "s.json", "--table", "t.csv", "-o", "b/", "--derived", "bad.toml"]) == 2
        assert "'answers / 3' is neither a table nor an answer" in capsys.readouterr().err and not Path("b").exists()
