"""Queries as whole multiples of a unit: what may be measured on a grid of units, so that its noise is a whole number of them.

The answers to a query (3, 6, 0) move by multiples of 3, those to (1, 3, 5), where the number of records is public, by multiples
of 2, and those to (1/3, 2/3) by thirds. Noise on these multiples is private by the same proof as any other, and spreads less
than finer noise of the same weight (docs/theory/scales.md). Grids have steps that are powers of two; where the unit is none, or
where a constant is in the way, the query is measured in units, and the answer is made of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from designer.additive.grid import LARGEST, coarsest_exponent
from designer.designing.measured import DEPENDENT, Coordinates
from designer.designing.problem import Problem
from designer.question.relation import Indices
from designer.values.arrays import Floats

# A query of larger multiples keeps its grid: noise at the budgets of such a query cannot be told from continuous noise.
MOST_UNITS = 2**20
# Common units are sought among parts of the largest entry up to such a denominator, of so many different entries.
DENOMINATOR, ENTRIES = 1000, 1000


@dataclass(frozen=True, eq=False)
class Whole:
    """The K queries, each measured in its own unit: `Q = diag(units) M + C P`, M the first K rows of what is measured, P rows
    that no protected change moves.

    units: (K,); 1 where the query is measured as it is.
    """

    coordinates: Coordinates
    units: Floats

    def measured_weights(self, weights: Floats) -> Floats:
        """Weights of the measured rows, (R,), for weights of the answers, (K,); infinite where there is no noise."""
        full = np.full(len(self.coordinates.heard), np.inf)
        full[: len(weights)] = weights * self.units
        return full

    def steps(self, problem: Problem) -> Floats:
        """The steps of the coarsest grid of every query, in the units of its answer, (K,)."""
        rows = self.coordinates.matrix(problem)[: len(self.units)]
        return np.ldexp(self.units, [coarsest_exponent(row) for row in rows])


def in_units(problem: Problem) -> Whole:
    """Every query in the largest unit of which its protected differences are multiples, found exactly or up to `DEPENDENT`.

    Constants are set aside where a relation of single records publishes the sizes of its components.
    """
    queries = problem.workload.dense()
    heard = ~problem.sensitivity().silent_coordinates()
    first = _first_of_component(problem)
    found = {k: _unit(queries[k], first) for k in np.flatnonzero(heard).tolist()}
    scaled = {k: part for k, part in found.items() if part is not None}
    if not scaled:
        return Whole(Coordinates(None, None, heard), np.ones(len(queries)))
    units, rows = np.ones(len(queries)), queries.copy()
    offsets = np.zeros_like(queries)
    for k, (unit, multiples) in scaled.items():
        units[k], rows[k] = unit, multiples
        off = queries[k] - unit * multiples
        offsets[k] = off[first] * ((first >= 0) & (np.abs(off[first]) > DEPENDENT * np.abs(queries[k]).max()))
    public, shares = _public(first, offsets)
    noisy = np.append(heard, np.zeros(len(public), dtype=bool))
    return Whole(Coordinates(np.vstack([rows, public]), np.hstack([np.diag(units), shares]), noisy), units)


def _first_of_component(problem: Problem) -> Indices:
    """For every element the first one of its connected component, -1 in that of the origin and where several records change at
    once, (N,)."""
    relation = problem.relation
    none = np.full(relation.size, -1, dtype=np.intp)
    if not relation.single_records:
        return none
    label = relation.components()
    at_origin = np.isin(label[: relation.size], label[relation.size :])
    first = np.unique(label, return_index=True)[1][label[: relation.size]]
    return np.where(at_origin, none, first)


def _unit(row: Floats, first: Indices) -> tuple[float, Floats] | None:
    """The unit of a query and the multiples of it, (N,), that differ as the query does; None where the plain grid has the same
    unit, or none is found.

    row: (N,). first: (N,).
    """
    exponent = coarsest_exponent(row)
    integers = np.ldexp(row, -exponent)
    if np.abs(integers).max() > LARGEST:
        return _common_unit(row, first)
    whole = integers.astype(np.int64)
    moves = whole - whole[first] * (first >= 0)
    divisor, top = int(np.gcd.reduce(moves)), int(np.abs(moves).max())
    if top > MOST_UNITS * divisor:
        return _common_unit(row, first)
    if divisor == 1:
        return None
    multiples = moves if (whole % divisor).any() else whole
    return math.ldexp(float(divisor), exponent), (multiples // divisor).astype(np.float64)


def _common_unit(row: Floats, first: Indices) -> tuple[float, Floats] | None:
    """The same for entries that differ by fractions of each other up to rounding. row: (N,). first: (N,)."""
    moves = row - row[first] * (first >= 0)
    top, allowed = float(np.abs(moves).max()), DEPENDENT * float(np.abs(row).max())
    ratios, place = np.unique(moves / top, return_inverse=True)
    parts, whole = [], 1
    for ratio in ratios.tolist():
        parts.append(Fraction(ratio).limit_denominator(DENOMINATOR))
        whole = math.lcm(whole, parts[-1].denominator)
        if abs(float(parts[-1]) - ratio) * top > allowed or whole > MOST_UNITS or len(parts) > ENTRIES:
            return None
    counts = [int(part * whole) for part in parts]
    divisor = math.gcd(*counts)
    unit = float(_rounded(top) * divisor / whole)
    multiples = np.array(counts, dtype=np.float64)[place] / divisor
    given = np.rint(row / unit)
    if np.abs(given).max() <= MOST_UNITS and np.abs(row - unit * given).max() <= allowed:
        multiples = given
    off = row - unit * multiples
    return (unit, multiples) if np.abs(off - off[first] * (first >= 0)).max() <= allowed else None


def _rounded(number: float) -> Fraction:
    """The short fraction that a float stands for; the float itself where there is none."""
    near = Fraction(number).limit_denominator(DENOMINATOR)
    return near if abs(near - Fraction(number)) <= Fraction(number) / 2**50 else Fraction(number)


def _public(first: Indices, offsets: Floats) -> tuple[Floats, Floats]:
    """The public rows that constants on components need, (P, N), and their shares, (K, P).

    first: (N,). offsets: (K, N), constant on components.
    """
    named = np.unique(first[(offsets != 0).any(axis=0)])
    return (first[None, :] == named[:, None]).astype(np.float64), offsets[:, named]
