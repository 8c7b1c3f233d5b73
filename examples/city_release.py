"""The whole path on real data: problem file, design, spec, release, verification;
and how far the answers are from the truth."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from designer import datasets, design, load, read_problem
from examples.reproduction import Result, show

PROBLEM = Path(__file__).parent / "us_cities.toml"
DIFFERENCES: dict[str, str] = {}


def reproduce(full: bool = False) -> Result:
    """Mean elevation and centre of population of US city dwellers, released once.
    `published` holds bounds that must contain the error."""
    file = read_problem(PROBLEM)
    made = design(file.problem, file.family, **file.options)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(made.mechanism.save(Path(folder) / "spec.json"))
    # The populations stand in for confidential data, so that the release can be compared with the truth.
    residents = datasets.us_cities()["population"]
    people = residents.sum()
    released = loaded.release(residents).answers / people
    truth = file.problem.workload.answer(residents) / people
    # Noise beyond an ellipsoid of radius r has probability e^-r (1 + r + r^2 / 2 + r^3 / 6): below 1e-19 at 30 standard errors.
    limits = 30 * loaded.standard_errors() / people
    computed = {
        f"error of the mean {name}": abs(a - t)
        for name, a, t in zip(file.problem.workload.queries, released, truth, strict=True)
    }
    published = {name: (0.0, float(limit)) for name, limit in zip(computed, limits, strict=True)}
    computed["worst loss / budget"] = float(loaded.verify().worst_ratio or 0)
    return computed, {**published, "worst loss / budget": (1 - 1e-9, 1.0)}


if __name__ == "__main__":
    np.set_printoptions(precision=6)
    show(
        "Mean centre of population over US cities (bounds that must hold in place of a paper's numbers)", reproduce, DIFFERENCES
    )
