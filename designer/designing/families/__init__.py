"""The families of mechanisms, one file each: formulate the program, hand it to a solver, recover the mechanism."""

from designer.designing.family import Family
from designer.errors import InvalidProblem
from designer.values.checks import shown

FAMILIES = (
    Family("laplace", "independent Laplace noise, optimal scales", "pure", "laplace", scans_little=True),
    Family("projected_laplace", "Laplace noise, projected", "pure", "projected", scans_little=True, invariants_only=True),
    Family("k_norm", "K-norm: the convex hull of the sensitivity set", "pure", "k_norm"),
    Family("ellipsoid", "exponential noise in the best ellipsoid", "pure", "ellipsoid"),
    Family("box", "exponential noise in the smallest box", "pure", "box", scans_little=True),
    Family("strategy_laplace", "Laplace noise on optimised other queries", "pure", "strategy_laplace"),
    Family("laplace_joint", "biased Laplace for a known number of records", "pure", "laplace_joint"),
    Family("gaussian", "the optimal Gaussian matrix mechanism", "gaussian", "ellipsoid"),
    Family(
        "diagonal_gaussian",
        "independent Gaussian noise, optimal scales",
        "gaussian",
        "ellipsoid",
        scans_little=True,
    ),
    Family(
        "lattice_laplace", "integer noise that keeps the invariant", "pure", "lattice", on_request=True, invariants_only=True
    ),
    Family(
        "lattice_gaussian",
        "integer Gaussian noise that keeps the invariant",
        "gaussian",
        "lattice",
        on_request=True,
        invariants_only=True,
    ),
    Family("isotropic_gaussian", "equal Gaussian noise", "gaussian", "ellipsoid", baseline=True),
    Family("l2_ball", "exponential noise in a Euclidean ball", "pure", "ellipsoid", baseline=True),
    Family("strategy_1", "Laplace, the budget shared equally (DX Strategy 1)", "pure", "laplace", baseline=True),
    Family("strategy_2", "Laplace, equal scales (DX Strategy 2)", "pure", "laplace", baseline=True),
    Family("strategy_3", "Laplace, greedy split (DX Algorithm 3)", "pure", "laplace", baseline=True),
    Family("uniform_budget", "Laplace, one budget for all pairs", "pure", "laplace", baseline=True),
    Family(
        "group_laplace",
        "Laplace by group privacy (SEMI Algorithm 4)",
        "pure",
        "group_privacy",
        baseline=True,
        invariants_only=True,
    ),
    Family(
        "group_l2_ball",
        "a Euclidean ball by group privacy (SEMI Algorithm 5)",
        "pure",
        "group_privacy",
        baseline=True,
        invariants_only=True,
    ),
    Family(
        "group_box", "a cube by group privacy (SEMI Algorithm 6)", "pure", "group_privacy", baseline=True, invariants_only=True
    ),
    Family(
        "group_gaussian",
        "equal Gaussian noise by group privacy",
        "gaussian",
        "group_privacy",
        baseline=True,
        invariants_only=True,
    ),
)


def family_named(name: str) -> Family:
    """The family of that name."""
    for family in FAMILIES:
        if family.name == name:
            return family
    raise InvalidProblem(f"family: {shown(name)} is unknown; use one of {['auto', *(f.name for f in FAMILIES)]}.")
