"""Comparisons: rows, the improvement factor, Markdown, refusals kept as rows, and the picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, compare, metrics, plot
from designer.designing import FAMILIES
from designer.designing.comparison import COLUMNS, Comparison
from designer.designing.printouts import sorted_rows
from designer.mechanism.additive import AdditiveMechanism


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem(Workload.random(3, 20, seed=1), metrics.euclidean(np.random.default_rng(1).random((20, 2))))


@pytest.fixture(scope="module")
def table(problem: Problem) -> Comparison:
    """Every family on the problem, compared once."""
    return compare(problem)


def test_improvement_is_the_geometric_mean_of_scale_ratios(table: Comparison) -> None:
    rows = {row["family"]: row for row in table.rows}
    reference = table.designs["uniform_budget"].mechanism.scales
    for name, made in table.designs.items():
        if not isinstance(made.mechanism, AdditiveMechanism):
            continue
        if made.mechanism.norm.map.ndim == 1 and made.mechanism.norm.order == "l1" and made.mechanism.measured is None:
            factors = reference / made.mechanism.scales
            assert rows[name]["improvements"] == pytest.approx(factors, rel=1e-6)
            assert rows[name]["improvement"] == pytest.approx(np.exp(np.log(factors).mean()), rel=1e-6)


def test_every_pure_family_has_a_row_and_markdown_lists_the_best_first(table: Comparison) -> None:
    applicable = {family.name for family in FAMILIES if family.notion == "pure" and not family.invariants_only}
    applicable -= {"hierarchy"}  # which is for many queries
    assert {row["family"].partition(",")[0] for row in table.rows} == applicable
    lines = table.to_markdown().splitlines()
    assert lines[0].split("|")[1:-1] == [f" {title} " for title in COLUMNS.values()]
    assert lines[2].startswith(f"| {table.best.mechanism.family} ")


def test_weighted_losses_rank_by_the_weighted_loss() -> None:
    relation = metrics.euclidean(np.random.default_rng(1).random((20, 2)))
    weighted = Problem(Workload.random(3, 20, seed=1), relation, weights=[1e6, 1, 1])
    table = compare(weighted, ["laplace", "strategy_2"])
    variances = table.designs["laplace"].mechanism.query_variances()
    assert {row["family"]: row["loss"] for row in table.rows}["laplace"] == pytest.approx(
        float((weighted.costs * variances).sum())
    )
    assert table.best.mechanism.family == "laplace"


def test_a_family_without_a_mechanism_keeps_its_reason() -> None:
    d = np.array([[0, 0], [0, 0.0]])
    table = compare(Problem(Workload([[1, 1]]), metrics.from_matrix(d), allow_vacuous=True), ["laplace", "uniform_budget"])
    rows = {row["family"]: row for row in table.rows}
    assert rows["laplace"]["note"] == "" and "no positive finite budget" in rows["uniform_budget"]["note"]


def test_unknown_and_empty_family_lists_are_refused(problem: Problem) -> None:
    with pytest.raises(InvalidProblem, match="'nothing' is unknown"):
        compare(problem, ["nothing"])
    with pytest.raises(InvalidProblem, match="empty"):
        compare(problem, [])
    with pytest.raises(InvalidProblem, match="'laplce' is unknown; perhaps 'laplace' is meant"):
        compare(problem, "laplce")


def test_one_family_may_be_named_by_itself(problem: Problem) -> None:
    assert [row["family"] for row in compare(problem, "uniform_budget").rows] == ["uniform_budget"]


def test_plot_writes_a_picture(problem: Problem, tmp_path: Path) -> None:
    path = plot(compare(problem, ["laplace", "strategy_1"]), tmp_path / "table.png")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_text_for_people_fits_and_lists_the_best_first(table: Comparison, width: int) -> None:
    lines = table.to_text(width).splitlines()
    assert max(map(len, lines)) <= width
    best = table.best.mechanism.family
    assert lines[0].startswith(f"{best} has the least expected total squared error, ")
    rule = next(place for place, line in enumerate(lines) if line.startswith("---"))
    ranked = [row["family"] for row in sorted(table.rows, key=lambda row: row["loss"] or np.inf) if row["loss"] is not None]
    assert [line.partition("  ")[0] for line in lines[rule + 1 : rule + 1 + len(ranked)]] == ranked
    assert lines[rule - 1].split()[:3] == ["family", "loss", "efficiency"] and ("gap" in lines[rule - 1]) == (width >= 80)


def test_figures_for_people_are_on_the_side_that_stays_true(table: Comparison) -> None:
    """Losses and errors are not told below what they are, efficiencies not above; floats apart by 1e-9 are the same."""
    lines = table.to_text(200).splitlines()
    rule = next(place for place, line in enumerate(lines) if line.startswith("---"))
    heads = lines[rule - 1].split()
    for row in (row for row in table.rows if row["loss"] is not None):
        line = next(line for line in lines[rule:] if line.partition("  ")[0] == row["family"])
        cells = [cell.replace(",", "") for cell in line.removeprefix(row["family"]).replace(" %", "%").split()]
        told = dict(zip(heads[1:], cells, strict=False))
        assert float(told["loss"]) >= row["loss"] * (1 - 1e-9) and float(told["loss"]) <= row["loss"] * 1.0011
        if row["efficiency"] is not None:
            assert float(told["efficiency"].rstrip("%")) / 100 <= row["efficiency"] * (1 + 1e-9)


@pytest.mark.nightly
def test_errors_of_a_typical_answer_are_told_of_counts_and_never_over_answers_that_may_have_different_units() -> None:
    relation = metrics.uniform(3, 1.0)
    for entries, told in (
        ([[1, 1, 0], [0, 1, 1]], True),
        ([[10.5, 3.25, 8], [1, 1, 0]], False),
        ([[2, 0, 0], [0, 2, 0]], False),
    ):
        table = compare(Problem(Workload(entries), relation), ["laplace"])
        (row,), text = table.rows, table.to_text(200)
        head = next(line.split() for line in text.splitlines() if line.startswith("family "))
        assert (head[2:4] == ["typical", "worst"]) == told == ("typical, worst:" in text)
        if told:
            cells = next(line.split() for line in text.splitlines() if line.startswith("laplace  "))
            assert float(cells[3]) ** 2 >= row["max"] * (1 - 1e-8)


def test_notes_stand_below_with_a_mark_and_reasons_once(table: Comparison) -> None:
    rows = [dict(row) for row in table.rows if row["loss"] is not None][:3]
    rows[0]["note"] = rows[2]["note"] = "efficiency: stopped by ValueError"
    empty = dict.fromkeys(rows[0])
    rows += [{**empty, "family": name, "note": f"{name}: too large"} for name in ("box", "bundles")]
    text = replace(table, rows=rows).to_text(100)
    assert text.count("[1]") == 3 and text.count("stopped by ValueError") == 1
    assert text.endswith("Without a mechanism:\nbox, bundles: too large\n")


def test_a_width_that_holds_no_table_is_refused(table: Comparison) -> None:
    with pytest.raises(InvalidProblem, match="width: 10 is not a whole number of at least 40"):
        table.to_text(10)


def test_the_table_of_latex_holds_what_the_frame_holds_rounded_to_the_side_that_stays_true(table: Comparison) -> None:
    lines = [line for line in table.to_latex().splitlines() if not line.startswith("%")]
    assert lines[0] == r"\begin{tabular}{lrrrrrr}" and lines[1::2][0] == r"\toprule" and lines[-1] == r"\end{tabular}"
    assert lines[2] == r"family & loss & squared error & absolute error & worst query variance & IF(Q) & efficiency \\"
    done = [row for row in sorted(table.rows, key=lambda row: row["loss"] or np.inf) if row["loss"] is not None]
    assert len(lines) == len(done) + 6
    for row, line in zip(done, lines[4:], strict=False):
        family, *cells = line.removesuffix(r" \\").split(" & ")
        loss, *_, efficiency = (cell.replace(",", "") for cell in cells)
        assert family == row["family"].replace("_", r"\_")
        assert row["loss"] * (1 - 1e-9) <= float(loss) <= row["loss"] * 1.0011
        assert (efficiency == "--") if row["efficiency"] is None else float(efficiency) <= row["efficiency"] * (1 + 1e-9)


def test_what_has_no_mechanism_and_notes_stand_in_comments_of_latex_one_line_each(table: Comparison) -> None:
    empty = dict.fromkeys(table.rows[0])
    row = {**empty, "family": "odd_one", "loss": 1.25e-20, "gap": 0.0, "note": "100 % of {x}"}
    failed = {**empty, "family": "none", "note": "too\nlarge"}
    lines = replace(table, rows=[failed, row], limit=None).to_latex(["loss", "efficiency", "note"]).splitlines()
    assert lines[:3] == [r"% needs \usepackage{booktabs}", "% odd_one: 100 % of {x}", r"% none: too\nlarge"]
    assert lines[3:5] == [r"\begin{tabular}{lrrl}", r"\toprule"]
    assert lines[7:] == [
        r"odd\_one & 1.25$\,\cdot 10^{-20}$ & -- & 100 \% of \{x\} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize(
    ("columns", "words"),
    [(["los"], "'los' is unknown; perhaps 'loss' is meant"), ("loss", "is no list of columns"), ([], "is no list of columns")],
)
def test_columns_of_latex_that_are_none_are_refused(table: Comparison, columns: list[str], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        table.to_latex(columns)


@pytest.mark.parametrize("weights", [[1, 1e308], [1e-150, 1.0]])
def test_weights_beyond_what_losses_can_hold_are_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidProblem, match=r"problem\.weights: from .* to .*divide all\s+weights by the same number"):
        Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.uniform(3, 1.0), weights=weights)


def test_a_short_table_has_the_best_families_what_they_are_and_the_names_of_the_others() -> None:
    table = compare(Problem(Workload.identity(4), metrics.uniform(4, 1.0)))
    done = [row for row in sorted_rows(table.rows) if row["loss"] is not None]
    own = [row for row in done if not row["baseline"]][:5]
    short = " ".join(table.to_text(100, full=False).split())
    described, _, others = short.partition("more, with --full:")
    for row in own + [row for row in done if row["family"] == "uniform_budget"]:
        assert f"{row['family']}: {row['title']}" in described
    left = [row["family"] for row in done if row not in own and row["family"] != "uniform_budget"]
    assert len(left) > 3 and others.strip().startswith(", ".join(left) + ".")
    assert "gain" not in short.split() and "gain" in table.to_text(100).split()


def test_a_baseline_stands_behind_a_family_that_loses_the_same_whatever_the_last_digits() -> None:
    rows = [
        {"family": "plain", "loss": 2.0, "baseline": True},
        {"family": "ours", "loss": 2.0000000001, "baseline": False},
        {"family": "none", "loss": None},
    ]
    assert [row["family"] for row in sorted_rows(rows)] == ["ours", "plain", "none"]
    designs: dict[str, Any] = {"plain": "of the baseline", "ours": "of ours"}
    assert Comparison(None, rows, designs).best == "of ours"
