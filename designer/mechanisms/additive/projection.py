"""The counts of all elements, with noise that agrees with what is public: the projection onto what protected changes reach
(SEMI Proposition 26).

Written as a flag in a spec, not as a matrix: it follows from the relation alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.schema import exactly, noted
from designer.certified.norms import Norm
from designer.problem.relation import Relation
from designer.problem.workload import Workload

LARGEST = 6_000  # elements: two dense matrices of 0.3 GB
PROJECTED = noted("The noise of the counts is projected; measured and reconstruction are null.", exactly(True))
IMPLIED: Mapping[str, Any] = {"measured": None, "reconstruction": None, "projected": True}  # of the core of a spec


def asks_for_projection(core: Mapping[str, Any]) -> bool:
    """Whether the core of a spec says so; `InvalidSpec` where it says anything else."""
    if "projected" in core and any(core[key] is not value for key, value in IMPLIED.items()):
        raise InvalidSpec("projected: must be true, or left out, and measured and reconstruction null beside it.")
    return "projected" in core


def projected_counts(workload: Workload, relation: Relation, norm: Norm) -> dict[str, Floats]:
    """What is measured, `[I; A]`, (N + p, N), and how the counts are put together, `[I - C A, C]`, (N, N + p), with the
    public rows A and `C = S A' (A S A')^+`, S the squared scales of the noise: the least variances that agree with A x.

    The first part takes from noisy counts what they say of the public statistics, the second puts the true ones there.
    Raises `InvalidProblem` for queries other than the counts of the elements, and above `LARGEST` elements.
    """
    size = workload.shape[1]
    if size > LARGEST:
        raise InvalidProblem(
            f"projected: {size} counts are projected by a dense matrix, up to {LARGEST} of them; use a lattice family, or "
            "leave the noise unprojected (laplace)."
        )
    if not workload.is_identity:
        raise InvalidProblem("projected: is for the counts of the elements; give the reconstruction for other queries.")
    public = relation.public_rows()
    if norm.map.shape != (size + len(public),):
        raise InvalidProblem(
            f"projected: the norm has shape {norm.map.shape}; give a weight for each of {size} counts and {len(public)} public "
            "rows."
        )
    scales = 1 / norm.map[:size]
    scales /= scales.max() if scales.any() else 1.0
    back = scales[:, None] * np.linalg.pinv(public * scales)
    rebuilt = np.hstack([-back @ public, back])
    rebuilt[:, :size] += np.eye(size)
    return {"measured": frozen(np.vstack([np.eye(size), public])), "reconstruction": frozen(rebuilt)}
