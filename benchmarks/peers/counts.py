"""Workloads of 500 to 100,000 counts, as `python -m benchmarks.peers_of_counts` measured them beside other tools in one run."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.peers.table import PeerTable, Row
from benchmarks.peers_of_counts import FILE

SOURCE = (
    "Run beside each other by `python -m benchmarks.peers_of_counts`, which names versions: HDMM's p-identity (a sixteenth of "
    "the counts) and marginals, from one start; OpenDP's consistent tree of the fan-out it chooses, and of 8, exact by its "
    "own linear map, at 10,000 counts the mean of 100 draws; dense.optimize of jax_privacy; the closed form of ResidualPlanner."
)


def tables(small: bool) -> tuple[PeerTable, PeerTable, PeerTable]:
    """Errors of tools without a bias, times of the design, and errors of tools with one; the same for small."""
    kept: dict[str, Any] = json.loads(FILE.read_text())["cases"]
    cases = {name: case for name, case in kept.items() if "error" in case["ours"]}
    about = (
        "One record appears or disappears; epsilon 1, or 0.5-zCDP where that is said. Other tools have Laplace noise or whole "
        "numbers, whichever is their own. Simple strategies are noise on the queries at one rate, and noise on the cells, "
        "added up."
    )
    errors = PeerTable(
        "counts", "Thousands of counts", about, "total squared error", SOURCE, tuple(_errors(cases)), "seconds of design"
    )
    times = PeerTable(
        "counts_time",
        "Thousands of counts: time of the design",
        "Tools that search nothing, such as trees of equal shares, take next to no time.",
        "processor seconds of one thread",
        SOURCE,
        tuple(_times(cases)),
    )
    biased = PeerTable(
        "counts_biased",
        "Thousands of counts: answers with a bias",
        "These answers are never negative, and have a bias. Their squared error depends on the data: here a sparse population "
        "(0.3 records a cell on average) and a dense one (300), of very different cells. Ours has no bias, and the same error "
        "on both.",
        "total squared error, the mean of 20 draws (mbi: one)",
        "Top-down: least squares at the best shares of levels, then the nearest counts that are not negative and add up, level "
        "by level. InfTDA 0.1 with opendp 0.12.1 at rho 0.5, whose total is public. mbi 2.0.0: mirror descent at its own "
        "settings, which does not end near the optimum on the dense population.",
        tuple(_biased(cases)),
    )
    return errors, times, biased


def _columns(cases: dict[str, Any], label: str, value: str) -> dict[str, dict[str, float | None]]:
    """Of each workload the value of every tool of this kind, None where it has none."""
    names = dict.fromkeys(name for case in cases.values() for name in case[label])
    return {case: {name: own[label].get(name, {}).get(value) for name in names} for case, own in cases.items()}


def _errors(cases: dict[str, Any]) -> list[Row]:
    others = _columns(cases, "unbiased", "error")
    return [
        Row(name, {"simple": min(own["simple"].values()), **others[name]}, own["ours"]["error"], None, own["ours"]["seconds"])
        for name, own in cases.items()
    ]


def _times(cases: dict[str, Any]) -> list[Row]:
    others = _columns(cases, "unbiased", "seconds")
    told = [name for name, values in others.items() if any(value is not None for value in values.values())]
    return [Row(name, others[name], cases[name]["ours"]["seconds"], None, None) for name in told]


def _biased(cases: dict[str, Any]) -> list[Row]:
    rows = []
    for name, own in cases.items():
        for kind in ("sparse", "dense"):
            theirs = {tool: own["biased"].get(f"{tool}, {kind}", {}).get("error") for tool in ("top-down", "InfTDA", "mbi")}
            if any(value is not None for value in theirs.values()):
                rows.append(Row(f"{name}, {kind}", theirs, own["ours"]["error"], None, None))
    return rows
