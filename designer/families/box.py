"""Noise with an l-infinity norm ball: the weighted maximum norm (SEMI Algorithm 6, with a side for each query)."""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.norms import Norm, weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.families.family import Family
from designer.families.measured import moving_coordinates
from designer.families.repair import freeze, on_heard
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem


def design_box(problem: Problem) -> AdditiveMechanism:
    """The smallest box that contains every u / b: side k is the largest |u_k| / b.
    Optimal for every loss, because no side can shrink."""
    coordinates = moving_coordinates(problem)
    if not coordinates.heard.any():
        raise DesignFailed("box: no protected change moves an answer, so there is nothing to shape; use laplace.")
    moving = coordinates.sensitivity(problem)
    refuse_infinite(moving, weighted_l1(np.ones(moving.dimension)))
    sides: Floats = moving.worst_coordinates()
    weights = on_heard(1 / sides, coordinates, np.inf)
    return freeze(problem, "box", coordinates, 1 / weights, lambda _: Norm(weights, "linf"), "exponential")


BOX = Family(
    "box", "exponential noise in the smallest box", "pure", design_box, scans_little=True, fractions=True, has_program=True
)
