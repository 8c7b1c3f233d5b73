"""The names that a mechanism may give for its family: a closed list, because they are printed in guarantees."""

from __future__ import annotations

from typing import Literal, get_args

from designer.base.checks import shown
from designer.base.errors import InvalidProblem

CUSTOM = "custom"  # a mechanism made by hand, or by a family of one's own

AdditiveFamily = Literal[
    "laplace",
    "projected_laplace",
    "k_norm",
    "ellipsoid",
    "box",
    "bundles",
    "capped_l1",
    "strategy_laplace",
    "strategy_gaussian",
    "laplace_joint",
    "gaussian",
    "diagonal_gaussian",
    "isotropic_gaussian",
    "l2_ball",
    "strategy_1",
    "strategy_2",
    "strategy_3",
    "uniform_budget",
    "group_laplace",
    "group_l2_ball",
    "group_box",
    "group_gaussian",
]
LatticeFamily = Literal["lattice_laplace", "lattice_gaussian", "lattice_rows"]
RowFamily = Literal["lattice_rows"]
StaircaseFamily = Literal["staircase"]

ADDITIVE_FAMILIES = frozenset({*get_args(AdditiveFamily), "subspace_laplace", "subspace_gaussian", "separable", CUSTOM})
LATTICE_FAMILIES = frozenset({*get_args(LatticeFamily), CUSTOM})
ROW_FAMILIES = frozenset({*get_args(RowFamily), CUSTOM})
STAIRCASE_FAMILIES = frozenset({*get_args(StaircaseFamily), CUSTOM})


def require_family(family: object, known: frozenset[str]) -> None:
    """Refuse any other name than those of `known`."""
    if not isinstance(family, str) or family not in known:
        raise InvalidProblem(
            f'family: {shown(family)} is unknown; use one of {sorted(known)}, "{CUSTOM}" for noise of your own.', value=family
        )
