"""The same noise at other budgets: with all budgets times f, noise narrower by f is as private, and certified anew."""

from __future__ import annotations

import math

import numpy as np

from designer.certificate.certificate import scale_up_to_private
from designer.certificate.guarantee import Optimality, bounded
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.design_result import Design
from designer.designing.family import Sizes
from designer.designing.repair import refuse_swallowed
from designer.mechanism.additive import AdditiveMechanism, is_unwritten, measured_matrix
from designer.mechanism.interface import Mechanism
from designer.mechanism.noise import ENTRY_FINENESS, FINENESS, FINEST, Grid, coarsest_exponent
from designer.relations.problem import Problem
from solvers.work import ENTRIES

LOOKS = 10  # at each pair, of all that certifies a design; measured: 3 to 10, for 400 to 1,200 elements
HOMOGENEOUS = 1 - 1e-12  # a bound of the program with other budgets: they were multiplied in floats


def stretches(made: Design[Mechanism]) -> bool:
    """Whether the best noise at other budgets is the same, narrower or wider: not for integer noise, nor on whole multiples of
    units, nor where bias is traded for noise, nor under (b, delta), whose lengths are no multiples of the budgets; nor where
    queries are never written out, whose designs take a moment."""
    mechanism = made.mechanism
    if made.problem.notion == "approximate" or not isinstance(mechanism, AdditiveMechanism) or is_unwritten(mechanism):
        return False
    return not made.is_biased and not _whole(mechanism)


def certificate_work(made: Design[Mechanism]) -> float:
    """About how many units of work certify a design, once more at each budget: each look at a pair is one at every row of the
    map of its norm. 0 where no pairs are scanned, as for queries that are never written out."""
    mechanism = made.mechanism
    if not isinstance(mechanism, AdditiveMechanism) or is_unwritten(mechanism):
        return 0.0
    near = made.problem.relation.searched
    pairs = Sizes(made.problem).pairs if near is None else min(near.pairs, near.few)
    return LOOKS * pairs * len(mechanism.norm.map) / ENTRIES


def _whole(mechanism: AdditiveMechanism) -> bool:
    """Whether some noise lies on the coarsest grid that holds what is measured, which does not get finer with the noise."""
    rows = np.flatnonzero(~mechanism.norm.silent)
    return any(mechanism.grid.exponents[k] == coarsest_exponent(measured_matrix(mechanism)[k]) for k in rows)


def stretched(made: Design[Mechanism], factor: float, there: Problem) -> Design[Mechanism]:
    """The design for the problem `there`, whose budgets are those of `made.problem` times the factor.

    All programs are homogeneous: errors of continuous noise, and bounds of them, are divided by the factor. The frozen
    mechanism is built and certified for the new budgets, on a grid as fine beside the noise as before.
    """
    old = made.mechanism
    assert isinstance(old, AdditiveMechanism)
    grid = _finer(old, math.floor(math.log2(factor)))
    norm = old.norm.divided(1 / factor)
    on_grid = grid.values(grid.integers(measured_matrix(old)))
    refuse_swallowed(there.relation, measured_matrix(old), on_grid, np.where(old.norm.silent, 0.0, 1.0))
    rounded = SensitivitySet.of(on_grid, there.relation)
    new = AdditiveMechanism(
        old.family,
        old.workload,
        there.relation,
        norm.divided(scale_up_to_private(rounded, norm)),
        grid,
        old.falloff,
        old.measured,
        old.reconstruction,
        allow_vacuous=there.allow_vacuous,
    )
    notes = {**old.provenance, "budgets_times": factor}
    found = Design(there, new, made.seconds)
    return Design(there, new.annotated(notes, _claim(made.optimality, found, factor)), made.seconds)


def _finer(old: AdditiveMechanism, exponent: int) -> Grid:
    """Steps divided by a power of two where there is noise; the entries of the matrix keep their digits, and stay below 2^52
    steps, as in `Grid.for_scales`."""
    tops = np.frexp(np.abs(measured_matrix(old)).max(axis=1))[1].tolist()

    def moved(step: int, top: int) -> int:
        return max(top - 52, min(step, max(top - 1 - ENTRY_FINENESS, step - (FINEST - FINENESS))))

    steps = zip(old.grid.exponents, old.norm.silent, tops, strict=True)
    return Grid(tuple(e if quiet else moved(e - exponent, top) for e, quiet, top in steps))


def _claim(known: Optimality | None, found: Design[Mechanism], factor: float) -> Optimality | None:
    """What was proven at the old budgets, at the new ones."""
    if known is None:
        return None
    power, value = (1 if found.problem.loss == "absolute" else 2), found.loss
    lower = known.lower_bound / factor**power * HOMOGENEOUS
    return bounded(known.objective, value, min(lower, value), known.method)
