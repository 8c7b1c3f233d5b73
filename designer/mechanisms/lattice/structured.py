"""Exact noise on lattices whose statistics are classes with public sums, by their structure: no basis is computed.

Which sampler draws what: docs/theory/lattice.md, sections 3, 4 and 9.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from designer.relations.invariants.statistics import Statistics
from designer.relations.invariants.structure import Structure
from designer.sampling.lattices.crossed_gaussian import CellsInOrder, CrossedGaussian, PartitionGaussian
from designer.sampling.lattices.lattice_choice import LatticeChoice
from designer.sampling.lattices.line_gaussian import LineGaussian
from designer.sampling.lattices.zero_sum import PartitionLaplace

LARGEST_MIRRORED = 400  # cells of a table that is searched for l1 noise with few determined cells


def structured_l1(structure: Structure | None, rate: Fraction) -> LatticeChoice | None:
    """The sampler of `exp(-rate |z|_1)`; None where the statistics have to be searched for one."""
    if structure is None or structure.freedom < 2:
        return None
    if structure.kind != "margins":
        words = f"{len(structure.blocks())} fixed totals, {len(structure.free)} free cells: nothing is rejected."
        return LatticeChoice("totals", 1.0, PartitionLaplace(structure.classes[0].tolist(), rate), (words,))
    if structure.size <= LARGEST_MIRRORED or min(structure.levels) == 2:
        return None
    shape = " x ".join(map(str, structure.levels))
    words = f"A table of {shape} classes has too many determined cells for l1 noise; the family lattice_rows serves it."
    return LatticeChoice("none", 0.0, None, (words,))


def structured_gaussian(statistics: Statistics, variance: Fraction) -> LatticeChoice | None:
    """The sampler of `exp(-|z|_2^2 / (2 variance))`; None for statistics without a known structure, and for a single table."""
    known = statistics.layout
    if known is None or not known.freedom:
        return None
    if isinstance(known, Structure):
        sampler = _of_classes(known, variance)
    else:
        sampler = CellsInOrder(LineGaussian(known.place.shape, variance), known.place.ravel())
    words = "Halves of the cells, and halves of halves, with an exact acceptance."
    return LatticeChoice("halves, Gaussian", 1.0, sampler, (words,))


def _of_classes(structure: Structure, variance: Fraction) -> CellsInOrder | PartitionGaussian:
    if structure.kind == "margins":
        return CellsInOrder(CrossedGaussian(structure.levels, structure.repeats, variance), structure.order)
    return PartitionGaussian(tuple(np.asarray(block) for block in structure.blocks()), structure.size, variance)
