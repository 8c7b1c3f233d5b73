"""Whether the noise of a mechanism leaves alone what was published beside it: released answers then agree with it.

Where a relation comes from an invariant, some combinations of the answers are told by its statistics. Noise on a lattice never
moves them; other noise may, and then the release contradicts what is out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from designer.base.arrays import Floats
from designer.mechanisms.additive.interface import Mechanism
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.invariants.statistics import Statistics

if TYPE_CHECKING:
    from designer.families.made import Design
    from designer.relations.problem import Problem

MOST_QUERIES = 1500  # whose products are decomposed
DEPENDENT = 1e-9  # of the largest number of a decomposition: what is below it is 0
SILENT = 1e-6  # of the largest standard deviation: what is below it is the rounding of a grid
DRAWS, SEED = 64, 1
BROKEN = 2  # the place of noise that breaks what is published
BREAKS = "breaks the published statistics, so that it is designed only by its name"
FRACTIONS = "in fractions, where counts were asked"


def invariant_of(made: object) -> Statistics | None:
    """The published statistics of the relation of a problem or a mechanism; None where it has none."""
    found = getattr(getattr(made, "relation", None), "invariant", None)
    return found if isinstance(found, Statistics) else None


def told_combinations(mechanism: Mechanism, statistics: Statistics) -> Floats | None:
    """Combinations of the answers, (q, K), that the statistics tell: those whose sum of queries is a combination of the
    statistics. None where they are too many to find."""
    queries = mechanism.workload
    if queries.is_identity:
        return np.asarray(statistics.constraints, dtype=np.float64)
    if len(queries.queries) > MOST_QUERIES:
        return None
    rows, layout = queries.dense(), statistics.layout
    if layout is not None:
        left = layout.projected(rows)
    else:
        _, values, basis = np.linalg.svd(statistics.constraints.astype(np.float64), full_matrices=False)
        basis = basis[values > DEPENDENT * values[0]]
        left = rows - (rows @ basis.T) @ basis
    values, vectors = np.linalg.eigh(left @ left.T)
    return np.asarray(vectors[:, values <= DEPENDENT * max(float(values[-1]), 1e-300)].T)


def keeps_published(mechanism: Mechanism) -> bool:
    """Whether released answers agree with the published statistics, whatever noise is drawn; True where there are none."""
    statistics = invariant_of(mechanism)
    if statistics is None or mechanism.lattice_noise:
        return True
    told = told_combinations(mechanism, statistics)
    if told is None or not len(told):
        return True
    covariance = mechanism.covariance()
    moved = np.einsum("qk,kl,ql->q", told, covariance, told)
    largest = float(covariance.diagonal().max(initial=0.0))
    return bool((moved <= SILENT**2 * largest * np.square(told).sum(axis=1)).all())


def is_whole(mechanism: Mechanism) -> bool:
    """Whether all answers to queries of whole numbers are whole."""
    if mechanism.lattice_noise:
        return True
    if isinstance(mechanism, AdditiveMechanism):
        steps = np.ldexp(1.0, np.array(mechanism.grid.exponents, dtype=np.int64))
        combined = np.diag(steps) if mechanism.reconstruction is None else mechanism.reconstruction * steps
        return bool((combined == np.rint(combined)).all())
    noise = np.asarray(mechanism.simulate(DRAWS, seed=SEED))
    return bool((noise == np.rint(noise)).all())


def asks_for_whole(problem: Problem) -> bool:
    """Whether statistics are published and every query is one of whole numbers, so that whole answers go before others."""
    return invariant_of(problem) is not None and bool(problem.workload.whole_rows.all())


def standing(problem: Problem, made: Design[Mechanism]) -> tuple[int, str]:
    """0 where the default may take a design, 1 where another one that releases whole numbers goes before it, 2 where it breaks
    what is published; and why, in words."""
    if invariant_of(problem) is None:
        return 0, ""
    if not keeps_published(made.mechanism):
        return BROKEN, BREAKS
    if asks_for_whole(problem) and not is_whole(made.mechanism):
        return 1, FRACTIONS
    return 0, ""


def agreement_lines(made: object) -> list[str]:
    """A line where the noise of a mechanism breaks what was published."""
    if not isinstance(made, Mechanism) or keeps_published(made):
        return []
    return [f'DISAGREES: the noise of {made.family} breaks the published statistics; family = "auto" keeps them.']
