"""Prefix sums over n steps: the matrix factorisations of jax_privacy, which DP-FTRL trains models with."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.table import PUBLISHED, PeerTable, Row, measured
from designer import Problem, Workload, design, metrics


def error(steps: int, loss: str) -> tuple[float, float]:
    """The mean, or the largest, squared error of a prefix sum, and its bound."""
    problem = Problem(Workload.prefix(steps), metrics.add_remove(steps, 1.0), notion="zcdp", loss=loss)  # type: ignore[arg-type]
    made = design(problem, "gaussian")
    assert made.optimality is not None
    sums = steps if loss == "squared" else 1
    return made.loss / sums, made.optimality.lower_bound / sums


def rows_of(given: dict[str, Any]) -> tuple[Row, Row]:
    """The mean and the largest squared error of a number of steps."""
    steps = given["steps"]
    mean = {"dense": given["dense mean"], "Toeplitz": given["Toeplitz mean"]}
    largest = {"dense": None, "Toeplitz": given["Toeplitz largest"]}
    return (
        measured(f"mean, {steps} steps", mean, lambda: error(steps, "squared")),
        measured(f"largest, {steps} steps", largest, lambda: error(steps, "max")),
    )


def table(small: bool) -> PeerTable:
    """The comparison; small: up to 32 steps."""
    published = PUBLISHED["running_sums"]
    chosen = [given for given in published["rows"] if given["steps"] <= (32 if small else 256)]
    about = (
        "Each record takes part in one step. The peer's dense strategies are optimal too, up to where its search stops. Its "
        "Toeplitz strategies are made for noise that is drawn step by step in little memory, for thousands of steps and for "
        "records that take part several times: this package has none of that, and needs the whole matrix."
    )
    rows = tuple(row for given in chosen for row in rows_of(given))
    number = "squared error at noise of variance 1 for a difference of length 1"
    return PeerTable("running_sums", "Running sums: jax_privacy", about, number, published["source"], rows)
