"""The names that a mechanism may give for its family: a closed list, because they are printed in guarantees."""

from __future__ import annotations

from designer.errors import InvalidProblem
from designer.values.checks import shown

CUSTOM = "custom"  # a mechanism made by hand

ADDITIVE_FAMILIES = frozenset(
    {
        *("laplace", "projected_laplace", "k_norm", "ellipsoid", "box", "strategy_laplace", "laplace_joint"),
        *("gaussian", "diagonal_gaussian", "isotropic_gaussian", "l2_ball"),
        *("strategy_1", "strategy_2", "strategy_3", "uniform_budget"),
        *("group_laplace", "group_l2_ball", "group_box", "group_gaussian"),
        *("subspace_laplace", "subspace_gaussian", "separable", CUSTOM),
    }
)
LATTICE_FAMILIES = frozenset({"lattice_laplace", "lattice_gaussian", CUSTOM})


def require_family(family: object, known: frozenset[str]) -> None:
    """Refuse any other name than those of `known`."""
    if not isinstance(family, str) or family not in known:
        raise InvalidProblem(
            f'family: {shown(family)} is unknown; use one of {sorted(known)}, "{CUSTOM}" for noise of your own.'
        )
