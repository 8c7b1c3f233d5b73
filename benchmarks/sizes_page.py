"""The tables of sizes and of steep growth on the page of limits (docs/guides/limits.md), made while the site is built from the
last runs of `python -m benchmarks.growth` (benchmarks/growth.json)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

GROWTH = Path(__file__).parent / "growth.json"
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
STEEP = 1.3
WHY = (  # words of the names of cases, and why their seconds grow faster than size^1.3
    (("published margins, cells",), "n levels a side are N = n^2 cells, and their listed changes N^2 / 2 rows of N numbers"),
    (("margins, a =", "of a cube"), "a side of n levels has n^2 or n^3 cells, in whose number the slope is 1.1 at most"),
    (("up to three attributes", "three-way tables"), "d attributes have d^3 / 6 tables of three"),
    (("one-way marginals of three",), "d attributes of three values are 3^d elements"),
    (("whole tables",), "d attributes of six values are 6^d cells"),
    (("from DuckDB",), "d attributes of 64 values are 64^d cells, 16.8 million for four"),
    (("matrices:",), "triangles and shortest paths of N elements are N^3 steps"),
    (("every pair looked at",), "all N^2 / 2 pairs, beside the search that replaces them"),
    (("Gaussian optimum", "strategy_"), "a strategy for N elements is a matrix of N^2 numbers, inverted again and again"),
    (("reduced basis",), "a basis of N vectors of N numbers is reduced, in N^3"),
    (("bundles, one record, elements",), "hulls have more corners among more elements, and each of their faces is proven"),
    (("bundles",), "pairs of queries are merged, and the queries are 48 at most"),
    (("laplace_joint",), "a convex program of a variable for each query and element"),
    (("uniform_budget, distances",), "all N^2 / 2 pairs are looked at for the largest change, whatever its budget"),
)


def reason(name: str) -> str:
    """Why a case grows as it does; empty where nobody has said."""
    return next((why for words, why in WHY if any(word in name for word in words)), "")


def steep(growth: dict[str, Any]) -> str:
    """A row for each reason why seconds grow faster than size^1.3, with the cases that it explains and their slopes."""
    found: dict[str, list[str]] = {}
    for name, case in growth["cases"].items():
        if (case["exponent"] or 0.0) > STEEP:
            said = found.setdefault(reason(name), [])
            said.append(f"{name.removeprefix('each family: ').split(', ')[0]} {case['exponent']:.1f}")
    rows = [f"| {why} | {', '.join(dict.fromkeys(cases))} |" for why, cases in found.items()]
    return "\n".join(["| why | case and slope |", "| --- | --- |", *rows])


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
