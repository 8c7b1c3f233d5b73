"""Whether the noise of a mechanism leaves alone what was published beside it: released answers then agree with it.

Where a relation comes from an invariant, some combinations of the answers are told by its statistics. Noise on a lattice never
moves them; other noise may, and then the release contradicts what is out.
"""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.interface import Mechanism
from designer.relations.invariants.statistics import Statistics

MOST_QUERIES = 1500  # whose products are decomposed, or as many elements
PROBES, STEPS = (2, 3, 5), 2000  # by whose roots noise of very many queries is combined, and iterations for each
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


def told_combinations(mechanism: Mechanism, statistics: Statistics) -> Floats:
    """Combinations of the answers, (q, K), that the statistics tell: those whose sum of queries is a combination of the
    statistics."""
    queries = mechanism.workload
    if queries.is_identity:
        return np.asarray(statistics.constraints, dtype=np.float64)
    left = _moving_part(queries.dense(), statistics)
    values, vectors = np.linalg.eigh(left @ left.T)
    return np.asarray(vectors[:, values <= DEPENDENT * max(float(values[-1]), 1e-300)].T)


def _moving_part(rows: Floats, statistics: Statistics) -> Floats:
    """The queries, (K, N), without what is a combination of the statistics."""
    if statistics.layout is not None:
        return statistics.layout.projected(rows)
    _, values, basis = np.linalg.svd(statistics.constraints.astype(np.float64), full_matrices=False)
    basis = basis[values > DEPENDENT * values[0]]
    return np.asarray(rows - (rows @ basis.T) @ basis)


def keeps_published(mechanism: Mechanism) -> bool:
    """Whether released answers agree with the published statistics, whatever noise is drawn; True where there are none."""
    statistics = invariant_of(mechanism)
    if statistics is None or getattr(mechanism, "lattice_noise", False):
        return True
    if len(mechanism.workload.queries) > MOST_QUERIES and not mechanism.workload.is_identity:
        return _is_moved_alike(mechanism, statistics)
    told = told_combinations(mechanism, statistics)
    if not len(told):
        return True
    covariance = mechanism.covariance()
    moved = np.einsum("qk,kl,ql->q", told, covariance, told)
    largest = float(covariance.diagonal().max(initial=0.0))
    return bool((moved <= SILENT**2 * largest * np.square(told).sum(axis=1)).all())


def _is_moved_alike(mechanism: Mechanism, statistics: Statistics) -> bool:
    """The same for many queries: whether the noise moves the answers as some change does that keeps the statistics, up to
    `SILENT` of what moves most. Of very many elements, too, combinations of the noise are looked at instead of all of it, by
    iterations; where these do not reach that accuracy it counts as moved otherwise."""
    noise, left = _root_of_noise(mechanism), _moving_part(mechanism.workload.dense(), statistics)
    if left.shape[1] <= MOST_QUERIES:
        values, vectors = np.linalg.eigh(left.T @ left)
        kept = values > DEPENDENT * max(float(values[-1]), 1e-300)
        basis = np.linalg.qr(left @ vectors[:, kept])[0]
        rest = noise - basis @ (basis.T @ noise)
    else:
        from scipy.sparse.linalg import lsmr

        noise = noise @ np.cos(np.outer(np.arange(1, noise.shape[1] + 1), np.sqrt(PROBES)))  # no two weights alike
        found = [lsmr(left, one, atol=0.1 * SILENT / STEPS, btol=0.1 * SILENT, maxiter=STEPS)[0] for one in noise.T]
        rest = noise - left @ np.stack(found, axis=1)
    return bool(np.square(rest).sum(axis=1).max() <= SILENT**2 * np.square(noise).sum(axis=1).max(initial=0.0))


def _root_of_noise(mechanism: Mechanism) -> Floats:
    """F with `F F'` the covariance of the noise in the answers, (K, s)."""
    if not isinstance(mechanism, AdditiveMechanism):
        values, vectors = np.linalg.eigh(mechanism.covariance())
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    own, rows = mechanism.noise.heard_covariance, mechanism.noise.rows(mechanism.reconstruction)
    if own.ndim == 1:
        return np.asarray(rows * np.sqrt(own))
    values, vectors = np.linalg.eigh(own)
    return np.asarray(rows @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def is_whole(mechanism: Mechanism) -> bool:
    """Whether all answers to queries of whole numbers are whole."""
    if getattr(mechanism, "lattice_noise", False):
        return True
    if isinstance(mechanism, AdditiveMechanism):
        steps = np.ldexp(1.0, np.array(mechanism.grid.exponents, dtype=np.int64))
        combined = np.diag(steps) if mechanism.reconstruction is None else mechanism.reconstruction * steps
        return bool((combined == np.rint(combined)).all())
    noise = np.asarray(mechanism.simulate(DRAWS, seed=SEED))
    return bool((noise == np.rint(noise)).all())


def agreement_lines(made: object) -> list[str]:
    """A line where the noise of a mechanism breaks what was published."""
    if not isinstance(made, Mechanism) or keeps_published(made):
        return []
    return [f'DISAGREES: the noise of {made.family} breaks the published statistics; family = "auto" keeps them.']
