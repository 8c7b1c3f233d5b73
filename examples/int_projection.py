"""INT appendix E, comparisons: noise in the invariant's lattice against noise that is projected afterwards, cell by cell,
with its bias.

The 4 x 4 table of delinquent children, both margins public. Discrete Laplace noise of the same budget per unit of l1 distance,
or discrete Gaussian noise of the same variance, then the nearest table with the margins in l2, then the nearest integer table
in l1 (the paper's comparison; the top-down way); and all of them once more with cells kept at 0 or more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from designer.base.arrays import Floats
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace
from examples.int_delinquent import EPSILON, LABELS, margins, noise, table
from examples.int_setting import Integers
from examples.reproduction import Result, saved, show

DRAWS = 500
TIES = 1e-3  # of several nearest whole tables one at random, whatever the solver; their distances are multiples of 1/8
WAYS = ("lattice", "projected Laplace", "projected Gaussian")
DIFFERENCES: dict[str, str] = {}


def noisy(way: str, size: int) -> Integers:
    """Noisy tables before any projection, (size, 16)."""
    if way == "lattice":
        return table() + noise("l1", size)
    laplace = DiscreteLaplace([Fraction(EPSILON)])
    if way == "projected Laplace":
        drawn = laplace.draw(16 * size, SeededEntropy(3))
    else:
        drawn = DiscreteGaussian([Fraction(round(float(laplace.variance()[0])))]).draw(16 * size, SeededEntropy(4))
    return table() + np.asarray(drawn).reshape(size, 16)


@cache
def released(way: str, nonnegative: bool, size: int) -> Floats:
    """Errors of the tables after projection, (size, 16)."""
    from solvers.lattices.transport import nearest_integer, nearest_real

    rows, sums = margins().matrix, margins().answers(table())
    tables = noisy(way, size)
    if way == "lattice" and not nonnegative:
        return (tables - table()).astype(float)
    errors = []
    ties = TIES * np.random.default_rng(5).random(tables.shape)
    for counts, tie in zip(tables, ties, strict=True):
        if way != "lattice" or (counts < 0).any():
            near = nearest_real(rows, sums, counts, nonnegative).point
            assert near is not None
            point = nearest_integer(rows, sums, near + tie, nonnegative, "l1").point
            assert point is not None
            counts = point
        errors.append(counts - table())
    return np.array(errors, dtype=float)


def reproduce(full: bool = False) -> Result:
    """Bias and error by way: none is biased before cells are kept from falling below 0, and all are then."""
    size = DRAWS if full else 60
    computed, published = {}, {}
    for way in WAYS:
        for nonnegative in (False, True):
            errors = released(way, nonnegative, size)
            name = way + (", cells >= 0" if nonnegative else "")
            computed[f"{name}: root mean square"] = float(np.sqrt((errors**2).mean()))
            worst = np.abs(errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(size))).max()
            if full or not nonnegative:  # the bias of cells that are kept at 0 or more shows in many draws only
                computed[f"{name}: largest bias in standard errors"] = float(worst)
                published[f"{name}: largest bias in standard errors"] = (4.5, np.inf) if nonnegative else (0.0, 4.5)
    ratio = computed["lattice: root mean square"] / computed["projected Laplace: root mean square"]
    computed["lattice over projected Laplace, root mean square"] = ratio
    published["lattice over projected Laplace, root mean square"] = (0.0, 1.0)
    return computed, published


def draw(folder: Path) -> Path:
    """Bias of every cell, small cells first."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    order = np.argsort(table(), kind="stable")
    for axis, nonnegative in zip(figure.subplots(1, 2, sharey=True), (False, True), strict=True):
        for shift, (way, marker) in enumerate(zip(WAYS, "osD", strict=True)):
            errors = released(way, nonnegative, DRAWS)[:, order]
            axis.errorbar(
                np.arange(16) + 0.2 * (shift - 1),
                errors.mean(axis=0),
                2 * errors.std(axis=0) / np.sqrt(len(errors)),
                fmt=marker,
                markersize=3,
                label=f"{way}: rms {np.sqrt((errors**2).mean()):.2f}",
            )
        axis.axhline(0, color="gray", linewidth=0.5)
        axis.set_xticks(range(16), [f"{LABELS[i]} ({table()[i]})" for i in order], rotation=90, fontsize=7)
        axis.set_title("cells kept at 0 or more" if nonnegative else "as they fall", fontsize=10)
        axis.legend(fontsize=7)
    figure.supylabel("mean error of a cell, 2 standard errors", fontsize=9)
    return saved(figure, folder / "int_projection.svg")


if __name__ == "__main__":
    show("INT appendix E: noise in the lattice, or noise and then projection", reproduce, DIFFERENCES, draw)
