"""What in the paper on Semi-DP does not hold as it is printed, each with a counter-example: (as stated, as it is).

Mechanisms first; statements on promises and tests are in `errata_promises.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from designer import Problem, Workload, design, invariants
from designer.certificate.certificate import certify
from designer.certificate.sensitivity import SensitivitySet
from designer.relations.invariants.adjacency import Conforming, semi_adjacency


def hexagon_length() -> tuple[int, int]:
    """Three records of a 3 x 3 table move in a cycle: no margin changes, and six cells do."""
    one = np.zeros((3, 3), dtype=int)
    other = np.zeros((3, 3), dtype=int)
    for (row, column), (new_row, new_column) in (((0, 0), (0, 1)), ((1, 1), (1, 2)), ((2, 2), (2, 0))):
        one[row, column] += 1
        other[new_row, new_column] += 1
    assert (one.sum(axis=0) == other.sum(axis=0)).all() and (one.sum(axis=1) == other.sum(axis=1)).all()
    return 4, int(np.abs(one - other).sum())


def hexagon_square() -> tuple[int, int]:
    """The square of the longest change in l2 among up to three records: `Delta_2^2`."""
    changes = invariants.margins((3, 3)).protect(1.0, adjacency=3).changes
    return 4, int((changes**2).sum(axis=1).max())


def records_of_a_rectangle() -> tuple[int, int]:
    """The least number of records whose replacement changes a 3 x 3 table by the rectangle of the cells 0, 1, 3 and 4."""
    moves = [(old, new) for old in range(9) for new in range(9) if old != new]
    rectangle = {0: -1, 1: 1, 3: 1, 4: -1}

    def change(replaced: tuple[tuple[int, int], ...]) -> dict[int, int]:
        counts = Counter(new for _, new in replaced)
        counts.subtract(old for old, _ in replaced)
        return {cell: moved for cell, moved in counts.items() if moved}

    counted = (n for n in (1, 2, 3) if any(change(some) == rectangle for some in combinations_with_replacement(moves, n)))
    return 3, next(counted)


def budget_of_k_norm() -> tuple[Fraction, Fraction]:
    """The K-norm noise of the basic moves, made for epsilon = 1: what it spends on the changes of three records."""
    margins = invariants.margins((3, 3))
    made = design(Problem(Workload.identity(9), margins.protect(1.0, adjacency=2)), "k_norm").mechanism
    pairs = SensitivitySet.of(made.grid.values(made.integers), margins.protect(1.0, adjacency=3))
    worst = certify(pairs, made.norm).worst_ratio
    assert worst is not None
    return Fraction(1), Fraction(worst).limit_denominator(10**6)


def budget_of_algorithm_1() -> tuple[Fraction, Fraction]:
    """mu^2 that Gaussian noise of standard deviation 2 in every direction spends on the changes of three records."""
    changes = invariants.margins((3, 3)).protect(1.0, adjacency=3).changes
    return Fraction(1), Fraction(int((changes**2).sum(axis=1).max()), 4)


def literal_definition_13() -> tuple[int, int]:
    """a(t) of a 2 x 2 table with margins (2, 1) and (2, 1): Example 5 has 3, the definition's infimum over X and Y gives"""
    return 3, semi_adjacency(invariants.margins((2, 2)), [2, 1, 2, 1], "literal").value


def an_impossible_cell() -> tuple[int, int]:
    """p + 1 = 3; in 4 x 4 tables of which only the cells (i, i) and (i, i + 1) can be taken, four records must move, in both
    readings of Definition 13."""
    cells = [4 * i + j for i in range(4) for j in (i, (i + 1) % 4)]
    table = invariants.margins((4, 4)).without([cell for cell in range(16) if cell not in cells])
    statistics = table.answers([int(cell % 5 == 0) for cell in range(16)])
    found = {reading: semi_adjacency(table, statistics, reading).value for reading in ("literal", "worst_case")}
    return 3, min(found.values())


def alone_under_definition_13() -> tuple[int, int]:
    """a(t) as printed of the databases 0000, 1000, 0100, 0010, 0001 and 1111, and how far the last is from the nearest."""
    databases = [(0, 0, 0, 0), *(tuple(int(i == k) for i in range(4)) for k in range(4)), (1, 1, 1, 1)]

    def apart(one: tuple[int, ...], other: tuple[int, ...]) -> int:
        return sum(a != b for a, b in zip(one, other, strict=True))

    values = [(i, x, y) for i in range(4) for x in (0, 1) for y in (0, 1)]
    printed = max(min(apart(X, Y) for X in databases for Y in databases if (X[i], Y[i]) == (x, y)) for i, x, y in values)
    assert printed == Conforming(tuple(databases)).semi_adjacency("literal").value
    return printed, min(apart(databases[-1], other) for other in databases[:-1])


def moves_of_example_5() -> tuple[int, int]:
    """How far a row's sum moves when (1, 1) -> (2, 2), (1, 2) -> (1, 1) and, as printed, (1, 1) -> (1, 1)."""
    change = np.zeros((2, 2), dtype=int)
    for old, new in (((0, 0), (1, 1)), ((0, 1), (0, 0)), ((0, 0), (0, 0))):
        change[old] -= 1
        change[new] += 1
    return 0, int(np.abs(change.sum(axis=1)).max())


def mass_of_proposition_7() -> tuple[int, float]:
    """The printed density at d = 1, K = [-1, 1], Delta = epsilon = 1, `e^|v| / 2`, has more than all mass within K alone."""
    step = 1e-4
    places = np.arange(-1 + step / 2, 1, step)
    return 1, round(float((np.exp(np.abs(places)) / 2).sum() * step), 4)


def sensitivity_of_proposition_7() -> tuple[int, int]:
    """`Delta_K` of one count in [-1, 1] that changes by one: the largest length of a change, and the printed sum of them."""
    lengths = [abs(change) for change in (-1, 1)]
    return max(lengths), sum(lengths)


def variance_of_proposition_6() -> tuple[Fraction, Fraction]:
    """mu of N(0, sigma) at sigma = Delta_2 / mu, mu = 1/4: sigma is the standard deviation, not the variance."""
    variance = 1 / Fraction(1, 4)
    return Fraction(1, 4), 1 / Fraction(math.isqrt(int(variance)))


def length_after_projection() -> tuple[Fraction, Fraction]:
    """The l1 length of noise in one cell of a 3 x 3 table, before and after the projection onto tables with margins 0."""
    noise = [[Fraction(int(i == j == 0)) for j in range(3)] for i in range(3)]
    rows, columns = [sum(row) / 3 for row in noise], [sum(noise[i][j] for i in range(3)) / 3 for j in range(3)]
    everything = sum(rows) / 3
    projected = [[noise[i][j] - rows[i] - columns[j] + everything for j in range(3)] for i in range(3)]
    return Fraction(1), sum((abs(cell) for row in projected for cell in row), Fraction(0))


def constant_of_lemma_42() -> tuple[int, int]:
    """How many values the part of phi takes that the changes leave: databases (0, 0) and (1, 1), one record may change,
    phi counts ones. No two of them are adjacent, so the span of the changes is {0}, and nothing is projected away."""
    conforming = Conforming(((0, 0), (1, 1)))
    assert len(conforming.components(1)) == 2
    return 1, len({database.count(1) for database in conforming.databases})


def trace_of_example_8() -> tuple[int, int]:
    """The rank of the projection of a 2 x 2 table, and the trace of `u u'` for the vector u that is printed as its basis."""
    u = np.array([1, -1, -1, 1])
    return 1, int(np.trace(np.outer(u, u)))


def exponential_integral(x: float) -> float:
    """`E_1(x)`, by its series."""
    return -0.5772156649015329 - math.log(x) + sum(-((-x) ** k) / (k * math.factorial(k)) for k in range(1, 60))


def ratio_of_shape_s() -> tuple[float, float]:
    """e^epsilon at epsilon = 1, and the ratio of densities a millionth from one answer, the other one protected change away,
    where the radius has Gamma shape s: the density at the gauge t is proportional to `E_1(epsilon t)`."""
    near = 1e-6
    return round(math.e, 4), round(exponential_integral(near) / exponential_integral(1 + near), 4)
