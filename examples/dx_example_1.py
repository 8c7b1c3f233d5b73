"""DX Example 1: three binary attributes, of which the value "Native = Y" alone is sensitive; a metric in the place of budgets
that leak, and the scales that it asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designer import Domain, Problem, Workload, design, metrics
from designer.certificate.sensitivity import SensitivitySet
from designer.extend import Metric, figure
from examples.reproduction import Result, saved, show

DIFFERENCES: dict[str, str] = {}

DOMAIN = Domain.of({"gender": ["M", "F"], "native": ["Y", "N"], "age": ["A", "B"]})
EPSILON_0, EPSILON_1 = 0.25, 2.0
COUNTS = np.array([3, 5, 8, 2, 6, 4, 10, 7])  # a data set of the kind that Figure 1 shows, whose counts are in a picture only


def metric(rest: float = EPSILON_1) -> Metric:
    """Equation (3): `sum_k min(eps(u_k), eps(v_k)) [u_k != v_k]`, eps(Y) = epsilon_0, all other values epsilon_1."""
    return metrics.attribute_values(
        DOMAIN, {"gender": [rest, rest], "native": {"Y": EPSILON_0, "N": rest}, "age": [rest, rest]}
    )


def having(value: str) -> np.ndarray:
    """The query that counts the records with one value, over x_1 = MYA to x_8 = FNB in the paper's order."""
    return np.array([float(value in row) for row in DOMAIN.keys.rows])


def scale(query: np.ndarray, relation: Metric) -> float:
    """`c = max_ij |q_i - q_j| / d(i, j)`, the Laplace scale of a query."""
    return float(SensitivitySet.of(query[None], relation).worst_coordinates()[0])


def leak() -> float:
    """What an analyst is off by who asks (N) without noise and subtracts it from the public n: (Y), exactly."""
    native, not_native = having("Y") @ COUNTS, having("N") @ COUNTS
    return float(abs((COUNTS.sum() - not_native) - native))


def reproduce(full: bool = False) -> Result:
    """The distances and scales that Example 1 states, in units of epsilon_0 and epsilon_1, and certified designs with them."""
    d, free = metric().distances(), metric(np.inf)
    designed = {
        value: float(design(Problem(Workload([having(value)]), metric()), "laplace").mechanism.scales[0]) for value in "YNM"
    }
    noiseless = design(Problem(Workload([having("M")]), free, allow_vacuous=True), "laplace").mechanism
    computed = {
        "error of (Y) = n - (N) when (N) is noiseless": leak(),
        "d(1, 1)": float(d[0, 0]),
        "d(1, 2) / epsilon_1": float(d[0, 1]) / EPSILON_1,
        "d(1, 3) / epsilon_0": float(d[0, 2]) / EPSILON_0,
        "d(1, 8) - (epsilon_0 + 2 epsilon_1)": float(d[0, 7]) - (EPSILON_0 + 2 * EPSILON_1),
        "excess over the triangle inequality": float((d[:, :, None] - d[:, None, :] - d[None, :, :].swapaxes(1, 2)).max()),
        "scale of (N) x epsilon_0": scale(having("N"), metric()) * EPSILON_0,
        "scale of (N) / scale of (Y)": scale(having("N"), metric()) / scale(having("Y"), metric()),
        "scale of (M) x epsilon_1": scale(having("M"), metric()) * EPSILON_1,
        "designed scale of (N) x epsilon_0": designed["N"] * EPSILON_0,
        "designed scale of (M) x epsilon_1": designed["M"] * EPSILON_1,
        "scale of (M), epsilon_1 infinite": float(noiseless.scales[0]),
        "scale of (N) x epsilon_0, epsilon_1 infinite": scale(having("N"), free) * EPSILON_0,
    }
    stated = {
        "error of (Y) = n - (N) when (N) is noiseless": 0.0,
        "d(1, 1)": 0.0,
        "d(1, 2) / epsilon_1": 1.0,
        "d(1, 3) / epsilon_0": 1.0,
        "d(1, 8) - (epsilon_0 + 2 epsilon_1)": 0.0,
        "excess over the triangle inequality": 0.0,
        "scale of (N) x epsilon_0": 1.0,
        "scale of (N) / scale of (Y)": 1.0,
        "scale of (M) x epsilon_1": 1.0,
        "scale of (M), epsilon_1 infinite": 0.0,
        "scale of (N) x epsilon_0, epsilon_1 infinite": 1.0,
    }
    published = {name: (value, value) for name, value in stated.items()}
    # The mechanism is certified in rationals: its scale may exceed the paper's by the rounding of floats.
    for name in ("designed scale of (N) x epsilon_0", "designed scale of (M) x epsilon_1"):
        published[name] = (1.0, 1.0 + 1e-12)
    return computed, published


def draw_counts(folder: Path) -> Path:
    """Figure 1: the data set as a histogram."""
    drawing, axes = figure()
    axes.bar(["".join(row) for row in DOMAIN.keys.rows], COUNTS)
    axes.set_ylabel("records")
    return saved(drawing, folder / "dx_figure_1.svg")


def draw(folder: Path) -> Path:
    """The budgets between the eight elements."""
    drawing, axes = figure()
    names = ["".join(row) for row in DOMAIN.keys.rows]
    shown = axes.imshow(metric().distances())
    axes.set_xticks(range(8), names)
    axes.set_yticks(range(8), names)
    drawing.colorbar(shown, label="budget d(i, j)")
    saved(drawing, folder / "dx_example_1.svg")
    return folder / "dx_example_1.svg"


if __name__ == "__main__":
    show("DX Example 1: a metric for one sensitive value", reproduce, DIFFERENCES, draw)
