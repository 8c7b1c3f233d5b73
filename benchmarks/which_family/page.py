"""The chart and the tables of docs/guides/which_family.md, which are made while the site is built."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from benchmarks.which_family.chart import chart_lines, ratio_text
from benchmarks.which_family.measuring import Measured, Row


def parts(figures: Sequence[Measured]) -> dict[str, str]:
    """The three parts of the page that the figures make."""
    return {
        "chart": "\n".join(chart_lines(figures)),
        "summary": "\n".join(_summary(figures)),
        "tables": tables_text(figures),
    }


def tables_text(figures: Sequence[Measured]) -> str:
    """A table for each problem."""
    return "\n\n".join(_table(one) for one in figures)


def _summary(figures: Sequence[Measured]) -> list[str]:
    """A row for each problem: the best family, its efficiency, the next one, and what `design` chose."""
    head = ["| problem | best | efficiency | next | `design` chose | in |", "| --- | --- | --- | --- | --- | --- |"]
    return head + [_summary_row(one) for one in figures]


def _summary_row(one: Measured) -> str:
    own = [row for row in one.rows if not row.baseline]
    best = own[0]
    other = next((row for row in own if row.family.split(",")[0] != best.family.split(",")[0]), None)
    following = f"`{other.family}` × {ratio_text(other.ratio)}" if other else "none"
    chosen = f"`{one.chosen}`" + (f" × {ratio_text(one.chosen_ratio)}" if one.chosen_ratio > 1.005 else "")
    return f"| {one.key} | `{best.family}` | {_part(best)} | {following} | {chosen} | {_seconds(one.chosen_seconds)} |"


def _part(row: Row) -> str:
    """An efficiency, rounded down."""
    return "" if row.efficiency is None else f"{int(row.efficiency * 1000) / 1000:.3f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.0f} s"


def _table(one: Measured) -> str:
    """All families on one problem, folded away; the best first."""
    lines = [f"**Asked:** {one.asked}. **Hidden:** {one.hidden}.", ""]
    lines += ["| family | loss over the least | efficiency | design |", "| --- | --- | --- | --- |"]
    lines += [_line(row) for row in one.rows]
    if one.without:
        names = ", ".join(f"`{name}`" for name in one.without)
        lines += ["", fill(f"Without a mechanism: {names}.", 128, break_long_words=False, break_on_hyphens=False)]
    return "\n".join([f"````{{dropdown}} {one.key}", *lines, "````"])


def _line(row: Row) -> str:
    named = f"`{row.family}`" + (" (baseline)" if row.baseline else "")
    return f"| {named} | {ratio_text(row.ratio)} | {_part(row)} | {_seconds(row.seconds)} |"
