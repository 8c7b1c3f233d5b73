"""Integer noise that keeps published statistics, designed, certified and drawn: classes, crossed classes, impossible cells.

The first three need no basis of the lattice; the last two do, and show what that costs.
"""

from __future__ import annotations

import numpy as np

from benchmarks.growth.case import Case
from designer import Problem, Workload, design
from designer.lattice.mechanism import LatticeMechanism
from designer.relations.invariants import Invariant, linear, margins
from solvers.lattices.kernel import integer_kernel

DRAWS = 10


def _counties(size: int) -> Invariant:
    """Counties in 51 states or fewer in 9 regions, all of whose sums are published, state by state of different sizes."""
    states = min(51, size // 10)
    state = np.sort(np.random.default_rng(0).integers(0, states, size))
    rows = [state == s for s in range(states)] + [state * 9 // states == r for r in range(9)]
    return linear(np.array([row for row in rows if row.any()], dtype=np.int64))


def _square(cells: int) -> Invariant:
    side = round(cells**0.5)
    return margins((side, side))


def _noise(invariant: Invariant, family: str, **options: str) -> str:
    """Design for two records, draw, and say the standard error of a count."""
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    problem = Problem(Workload(np.eye(1, invariant.size)), invariant.protect(1.0, 2), notion)  # type: ignore[arg-type]
    mechanism = design(problem, family, **options).mechanism  # type: ignore[call-overload]
    assert isinstance(mechanism, LatticeMechanism)
    drawn = mechanism.draw(DRAWS)
    assert not (drawn @ invariant.constraints.T).any()
    return f"ratio {float(mechanism.privacy.worst_ratio or 0):.9f}, error of a count {drawn.std():.3g}"


def gaussian_counties(size: int) -> str:
    return _noise(_counties(size), "lattice_gaussian")


def laplace_counties(size: int) -> str:
    return _noise(_counties(size), "lattice_laplace", shape="l1")


def gaussian_tables(cells: int) -> str:
    return _noise(_square(cells), "lattice_gaussian")


def row_tables(cells: int) -> str:
    return _noise(_square(cells), "lattice_rows")


def gaussian_cubes(cells: int) -> str:
    side = round(cells ** (1 / 3))
    return _noise(margins((side, side, side)), "lattice_gaussian")


def impossible_tables(cells: int) -> str:
    table = _square(cells)
    holes = np.random.default_rng(0).choice(cells, cells // 10, replace=False)
    return _noise(table.without(sorted(holes.tolist())), "lattice_gaussian")


def reduced_basis(size: int) -> str:
    return f"rank {integer_kernel(_counties(size).constraints).dimension}"


COUNTIES, TABLES = (200, 800, 3_143, 12_572), (100, 400, 2_500, 10_000)
CASES = (
    Case("integer Gaussian noise, counties in states in regions", "counties", COUNTIES, gaussian_counties),
    Case("integer l1 noise, counties in states in regions", "counties", COUNTIES, laplace_counties),
    Case("integer Gaussian noise, square tables with published margins", "cells", TABLES, gaussian_tables),
    Case("integer noise row by row, square tables with published margins", "cells", TABLES, row_tables),
    Case("integer Gaussian noise, cubes with published margins", "cells", (125, 1_000, 3_375, 8_000), gaussian_cubes),
    Case("integer Gaussian noise, a tenth of the cells impossible", "cells", (36, 64, 144, 256), impossible_tables),
    Case("a reduced basis, counties in states in regions", "counties", (100, 200, 400, 800), reduced_basis),
)
