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
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.certified.sensitivity import SensitivitySet
from designer.families.measured import DEPENDENT, Coordinates
from designer.mechanisms.additive.noise import LARGEST, coarsest_exponent
from designer.problem.relation import Indices, Relation

# A query of larger multiples keeps its grid: noise at the budgets of such a query cannot be told from continuous noise.
MOST_UNITS = 2**20
# Common units are sought among parts of the largest entry up to such a denominator, of so many different entries.
DENOMINATOR, ENTRIES = 1000, 1000


@dataclass(frozen=True, eq=False)
class Whole:
    """Rows, (R, N), as whole multiples of units: `diag(units) multiples + shares public`.

    multiples: (R, N). units: (R,), 1 for a row that stays as it is. public: (P, N), rows that no protected change moves.
    shares: (R, P).
    """

    multiples: Floats
    units: Floats
    public: Floats
    shares: Floats

    @property
    def steps(self) -> Floats:
        """The steps of the coarsest grid of every row, in the units of the row itself, (R,)."""
        return np.ldexp(self.units, [coarsest_exponent(row) for row in self.multiples])

    @property
    def changed(self) -> bool:
        """Whether some row does not stay as it is."""
        return len(self.public) > 0 or bool((self.units != 1).any())

    def coordinates(self, heard: NDArray[np.bool_], reconstruction: Floats | None = None) -> Coordinates:
        """Where to measure: the multiples, and the public rows beside them.

        heard: (R,), the rows with noise. reconstruction: (K, R), the answers from these; None: they are them.
        """
        if not self.changed:
            return Coordinates(None if reconstruction is None else self.multiples, reconstruction, heard)
        rows = np.hstack([np.diag(self.units), self.shares])
        noisy = np.append(heard, np.zeros(len(self.public), dtype=bool))
        return Coordinates(
            np.vstack([self.multiples, self.public]), rows if reconstruction is None else reconstruction @ rows, noisy
        )

    def weights(self, weights: Floats) -> Floats:
        """Weights of what is measured, (R + P,), for weights of the rows, (R,); infinite where there is no noise."""
        return np.append(weights * self.units, np.full(len(self.public), np.inf))


def in_units(rows: Floats, relation: Relation) -> Whole:
    """Every row in the largest unit of which its protected differences are multiples, found exactly or up to `DEPENDENT`.

    Constants are set aside where a relation of single records publishes the sizes of its components.
    rows: (R, N).
    """
    heard = ~SensitivitySet.of(rows, relation).silent_coordinates()
    first = _first_of_component(relation)
    units, multiples, offsets = np.ones(len(rows)), rows.copy(), np.zeros_like(rows)
    for k in np.flatnonzero(heard).tolist():
        if (found := _unit(rows[k], first)) is not None:
            units[k], multiples[k] = found
            off = (rows[k] - units[k] * multiples[k])[first]
            offsets[k] = off * ((first >= 0) & (np.abs(off) > DEPENDENT * np.abs(rows[k]).max()))
    public, shares = _public(first, offsets)
    return Whole(multiples, units, public, shares)


def _first_of_component(relation: Relation) -> Indices:
    """For every element the first one of its connected component, -1 in that of the origin and where several records change at
    once, (N,)."""
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
