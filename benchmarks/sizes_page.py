"""The table of sizes on the page of limits, from the last run of `python -m benchmarks.growth` (benchmarks/growth.json).

python -m benchmarks.sizes_page    # write it into docs/guides/limits.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GROWTH = Path(__file__).parent / "growth.json"
PAGE = Path(__file__).parents[1] / "docs" / "guides" / "limits.md"
BEGIN, END = "<!-- sizes: begin -->", "<!-- sizes: end -->"
CASES = {
    "million: laplace, K 4": "Laplace noise for four sums over places",
    "million: k_norm, K 2": "the K-norm of two sums over places",
    "million: laplace on the globe, K 4": "Laplace noise, four sums, distances on the globe",
    "million: spec saved and loaded, K 4": "a spec saved, loaded and certified anew",
    "graphs: roads of a grid": "a graph of roads as the metric",
    "matrices: checked": "a metric given as a matrix",
    "invariant: counties within states, a = 2": "counties whose state totals are published",
    "integer noise row by row, square tables with published margins": "a table with published margins, integers",
    "invariant: three linked tables, a = 2": "three tables that share published margins",
    "strategy_laplace, prefix sums": "optimised queries for running totals, pure",
    "Gaussian optimum, all ranges": "the optimal Gaussian noise for all ranges",
    "marginals of up to three attributes": "marginals of up to three of d attributes",
    "products of 64 prefix sums, Gaussian": "running totals along d attributes of 64 values",
    "whole tables, all pairs": "whole tables that agree with all pairs of marginals",
    "table release, five levels": "a release from records on DuckDB, five levels",
    "table plan, saved and loaded": "a table plan with keys listed",
    "composition, four kinds in turn": "releases of four kinds, composed",
    "ledger, check of the whole": "a ledger, checked from end to end",
}


def table(growth: dict[str, Any]) -> str:
    """A row for each case: the largest size of the run, its seconds and memory, and how seconds grew with size."""
    lines = ["| what | largest of the run | seconds | MB | seconds grow as |", "| --- | --- | --- | --- | --- |"]
    for name, words in CASES.items():
        case = growth["cases"][name]
        largest = case["points"][-1]
        grown = "too short to say" if case["exponent"] is None else f"size^{max(0.0, case['exponent']):.1f}"
        size = f"{largest['size']:,} {case['unit']}"
        lines.append(f"| {words} | {size} | {largest['seconds']:.1f} | {largest['megabytes']:.0f} | {grown} |")
    return "\n".join(lines)


def written(text: str, growth: dict[str, Any]) -> str:
    """The page with its table made anew."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(growth)}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Write the page."""
    growth = json.loads(GROWTH.read_text(encoding="utf-8"))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), growth), encoding="utf-8")


if __name__ == "__main__":
    main()
