"""The list of families, in the order in which "auto" tries them, and those that a program registers of its own."""

from __future__ import annotations

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.lazy_imports import at_addresses
from designer.designing.count_noise import BY_MOVES, TRUNCATED_GEOMETRIC
from designer.designing.ellipsoid import DIAGONAL_GAUSSIAN, ELLIPSOID, GAUSSIAN, ISOTROPIC_GAUSSIAN, L2_BALL
from designer.designing.family import Family
from designer.designing.group_privacy import GROUP_BOX, GROUP_GAUSSIAN, GROUP_L2_BALL, GROUP_LAPLACE
from designer.designing.hierarchy import HIERARCHY
from designer.designing.joint_norms import GAUSSIAN_JOINT, K_NORM_JOINT
from designer.designing.k_norm import BOX, BUNDLES, CAPPED_L1, K_NORM
from designer.designing.laplace import LAPLACE, PROJECTED_LAPLACE, STRATEGY_1, STRATEGY_2, STRATEGY_3, UNIFORM_BUDGET
from designer.designing.laplace_joint import LAPLACE_JOINT
from designer.designing.staircase import STAIRCASE
from designer.designing.strategy_geometric import STRATEGY_GEOMETRIC
from designer.designing.strategy_laplace import STRATEGY_GAUSSIAN, STRATEGY_LAPLACE

LATTICE = (
    "designer.lattice.design:LATTICE_LAPLACE",
    "designer.lattice.row_by_row:LATTICE_ROWS",
    "designer.lattice.design:LATTICE_GAUSSIAN",
)


FAMILIES: tuple[Family, ...] = (
    *(LAPLACE, BY_MOVES, TRUNCATED_GEOMETRIC, HIERARCHY, PROJECTED_LAPLACE, K_NORM, ELLIPSOID, BOX, CAPPED_L1, BUNDLES),
    *(GAUSSIAN, DIAGONAL_GAUSSIAN),  # before what may use up the time, where a notion is served by both kinds
    *(STRATEGY_GEOMETRIC, STRATEGY_LAPLACE, STRATEGY_GAUSSIAN, LAPLACE_JOINT, K_NORM_JOINT, GAUSSIAN_JOINT),
    *at_addresses(LATTICE),
    STAIRCASE,
    *(ISOTROPIC_GAUSSIAN, L2_BALL, STRATEGY_1, STRATEGY_2, STRATEGY_3, UNIFORM_BUDGET),
    *(GROUP_LAPLACE, GROUP_L2_BALL, GROUP_BOX, GROUP_GAUSSIAN),
)
_registered: dict[str, Family] = {}


def known_families() -> tuple[Family, ...]:
    return (*FAMILIES, *_registered.values())


def family_named(name: str) -> Family:
    for family in known_families():
        if family.name == name:
            return family
    names = ["auto", *(family.name for family in known_families())]
    raise InvalidProblem(f"family: {shown(name)} is unknown; {meant(name, names)}use one of {names}.", value=name)


def register(family: Family) -> Family:
    """Make a family of your own known to `design` and `compare`, for as long as the program runs; returns it.

    Its mechanisms are certified like all others and carry the family "custom", because the names in guarantees and specs are a
    closed list. "auto" tries it too, unless it is a baseline or on request. Raises `InvalidProblem` for anything but a
    `Family`, and for a name that is taken.

    family: with a name of its own.
    """
    if not isinstance(family, Family):
        raise InvalidProblem(
            f"family: {shown(family)} is no Family; wrap the builder: Family(name, title, notion, build).", value=family
        )
    if family.name in ("auto", *(known.name for known in known_families())):
        raise InvalidProblem(f"family: the name {shown(family.name)} is taken; choose another one.")
    _registered[family.name] = family
    return family


def forget(name: str) -> None:
    """Take back the registration of a family; `InvalidProblem` for a name that was not registered.

    name: of a family that was registered.
    """
    if _registered.pop(name, None) is None:
        raise InvalidProblem(f"family: {shown(name)} is not registered; there are {sorted(_registered)}.", value=name)
