"""Figures 2 and 3 of the Semi-DP paper: L2 losses of tables with published one-way margins,
30 replicates beside the exact expectation.

The paper states adjacency A_3 and calibrates its own mechanisms to basic moves, all that A_2 allows; what A_3 needs (hexagons)
is added. Noise does not depend on the table, so models I and II differ by their random numbers only.
The paper does not state mu for Figure 2; here it is 1. The published averages themselves: examples/semi_dp_published.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from designer import AdditiveMechanism, Problem, Workload, design, invariants
from designer.base.arrays import Floats
from designer.certificate.norms import Gauge
from designer.extend import figure
from examples.reproduction import Result, saved, show

SIZES = range(2, 11)
EPSILONS = (0.1, 0.5, 1.0)
REPLICATES, MODELS = 30, ("I", "II")
GAUSSIANS = (("group_gaussian", 3), ("isotropic_gaussian", 2), ("isotropic_gaussian", 3))
PURE = (("group_laplace", 3), ("group_l2_ball", 3), ("group_box", 3), ("k_norm", 2), ("k_norm", 3))
NAMES = {
    ("group_gaussian", 3): "naive Gaussian",
    ("isotropic_gaussian", 2): "Algorithm 1 as printed (basic moves)",
    ("isotropic_gaussian", 3): "Algorithm 1 for A_3 (with hexagons)",
    ("group_laplace", 3): "naive l1",
    ("group_l2_ball", 3): "naive l2",
    ("group_box", 3): "naive l-infinity",
    ("k_norm", 2): "K-norm as printed (basic moves)",
    ("k_norm", 3): "K-norm for A_3 (with hexagons)",
}
# The loss at k = 2 and epsilon = 1 that Figure 3 shows for the K-norm mechanism, to the width of a mark.
READ_OFF = (0.7, 1.3)
HEXAGONS = (
    "three records may move in a cycle, which changes six cells by one each (Proposition 32 lists basic moves only); see "
    "examples/semi_dp_hexagon.py."
)
DIFFERENCES = {
    "Delta_1 of 3 x 3 tables under A_3": HEXAGONS,
    "Delta_2 of 3 x 3 tables under A_3": HEXAGONS,
    "K-norm, k = 2, epsilon = 1: expected L2 loss": (
        "the authors' code draws the radius with Gamma shape s. Algorithm 3 says s + 1, which doubles the loss "
        "at s = 1: the noise is t (1, -1, -1, 1) with t double exponential, E|t| = 1, and the vector has length 2."
    ),
    "shape s: density ratio near the true answer / exp(epsilon)": (
        "with shape s the density is the exponential integral E_1(epsilon ||z||), which grows without bound at the true "
        "answer, so no epsilon holds. Shape s + 1 gives exp(-epsilon ||z||)."
    ),
}


@cache
def mechanism(family: str, adjacency: int, size: int, epsilon: float = 1.0) -> AdditiveMechanism:
    """The mechanism for k x k tables, certified for the adjacency it is named with."""
    relation = invariants.margins((size, size)).protect(epsilon, adjacency)
    notion = "zcdp" if "gaussian" in family else "pure"
    return design(Problem(Workload.identity(size * size), relation, notion=notion), family).mechanism


def replicated(made: AdditiveMechanism, model: str) -> float:
    """Average L2 loss of 30 draws."""
    draws = np.asarray(made.simulate(REPLICATES, seed=1000 + MODELS.index(model)))
    return float(np.linalg.norm(draws, axis=1).mean())


def expected(made: AdditiveMechanism) -> float:
    """`E ||z||_2`, exactly or by quadrature to many digits."""
    covariance = made.covariance()
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if made.falloff == "gaussian":
        # Equal variances in `rank` directions: a chi distribution.
        return math.sqrt(2 * np.trace(covariance) / rank) * math.exp(math.lgamma((rank + 1) / 2) - math.lgamma(rank / 2))
    if isinstance(made.norm, Gauge):
        return hull_length(made)
    d, scale = rank, 1 / float(made.norm.map.ravel()[0])
    if made.norm.order == "l2":
        return d * scale  # a direction times a Gamma(d) radius
    if made.norm.order == "l1":
        return scale * length_of_independent(d, 2.0, lambda t: math.sqrt(math.pi / t) / 2 * _erfcx(1 / (2 * math.sqrt(t))))
    return (d + 1) * scale * length_of_independent(d, 1 / 3, lambda t: math.sqrt(math.pi / t) / 2 * math.erf(math.sqrt(t)))


def _erfcx(x: float) -> float:
    from scipy.special import erfcx

    return float(erfcx(x))


def length_of_independent(d: int, variance: float, transform: Callable[[float], float]) -> float:
    """`E sqrt(S)`, S the sum of d independent X^2 with `transform(t) = E exp(-t X^2)`:
    `(1 / 2 sqrt(pi)) int (1 - E e^(-tS)) t^(-3/2) dt`.

    Integrated in `y = log t`; below 1e-8, where `1 - E e^(-tS)` is rounded away, it is `t E S`, beyond e^40 it is 1.
    """
    from scipy.integrate import quad

    low, high = math.log(1e-8), 40.0
    middle = quad(lambda y: (1 - transform(math.exp(y)) ** d) * math.exp(-y / 2), low, high, limit=200)[0]
    return float(2 * d * variance * math.exp(low / 2) + middle + 2 * math.exp(-high / 2)) / (2 * math.sqrt(math.pi))


def hull_length(made: AdditiveMechanism, nodes: int = 12) -> float:
    """E||z||_2 of a K-norm: s times the mean length over the boundary simplices,
    points of which are Dirichlet combinations of their corners."""
    assert isinstance(made.norm, Gauge) and made.reconstruction is not None
    body = made.norm.body
    lifted = made.reconstruction[:, made.noise.heard] @ (made.norm.scale * body.vertices.floats).T
    corners = np.concatenate([lifted.T, -lifted.T])[body.simplices]
    shares, weights = dirichlet(corners.shape[1], nodes)
    lengths = np.linalg.norm(np.einsum("qi,mik->mqk", shares, corners), axis=2) @ weights
    return float(corners.shape[1] * (body.weights @ lengths) / body.weights.sum())


def dirichlet(s: int, nodes: int) -> tuple[Floats, Floats]:
    """Quadrature for the uniform law on a simplex of s corners: stick breaking with Gauss-Jacobi nodes, (n, s)
    shares and (n,) weights."""
    from scipy.special import roots_jacobi

    shares, weights, left = np.zeros((1, 0)), np.ones(1), np.ones(1)
    for m in range(s - 1, 0, -1):
        # What is left for the later m corners is Beta(m, 1) of what was left before.
        x, w = roots_jacobi(nodes, 0, m - 1)
        kept, w = (1 + x) / 2, w / w.sum()
        shares = np.column_stack([np.repeat(shares, nodes, axis=0), np.outer(left, 1 - kept).ravel()])
        left, weights = np.outer(left, kept).ravel(), np.outer(weights, w).ravel()
    return np.column_stack([shares, left]), weights


def ratio_with_shape_s(distance: float = 1e-6) -> float:
    """Density ratio of the wrong radius at `||z|| = distance` and one protected change away,
    over exp(epsilon): `E_1(t) / (e E_1(1 + t))`."""
    from scipy.special import exp1

    return float(exp1(distance) / exp1(1 + distance) / math.e)


def reproduce(full: bool = False) -> Result:
    """Sensitivities, our losses over the naive ones at every size,
    and the loss at k = 2 with the right and the wrong radius."""
    sizes = SIZES if full else (2, 3)
    gaussians = {(which, k): expected(mechanism(*which, k)) for which in GAUSSIANS for k in sizes}
    pure = {(which, k): expected(mechanism(*which, k)) for which in PURE for k in (2, 3)}
    changes = invariants.margins((3, 3)).protect(1.0, adjacency=3).changes
    naive = {k: min(pure[which, k] for which in PURE[:3]) for k in (2, 3)}
    computed = {
        "Delta_1 of 3 x 3 tables under A_3": float(np.abs(changes).sum(axis=1).max()),
        "Delta_2 of 3 x 3 tables under A_3": float(np.linalg.norm(changes, axis=1).max()),
        "Delta_inf of 3 x 3 tables under A_3": float(np.abs(changes).max()),
        "K-norm, k = 2, epsilon = 1: expected L2 loss": pure[("k_norm", 2), 2],
        "K-norm, k = 2, epsilon = 1, Gamma shape s: expected L2 loss": pure[("k_norm", 2), 2] / 2,
        "shape s: density ratio near the true answer / exp(epsilon)": ratio_with_shape_s(),
    }
    published = {
        "Delta_1 of 3 x 3 tables under A_3": (4.0, 4.0),
        "Delta_2 of 3 x 3 tables under A_3": (2.0, 2.0),
        "Delta_inf of 3 x 3 tables under A_3": (1.0, 1.0),
        "K-norm, k = 2, epsilon = 1: expected L2 loss": READ_OFF,
        "K-norm, k = 2, epsilon = 1, Gamma shape s: expected L2 loss": READ_OFF,
        "shape s: density ratio near the true answer / exp(epsilon)": (0.0, 1.0),
    }
    for which in GAUSSIANS[1:]:
        name = f"{NAMES[which]} / naive Gaussian, largest over k"
        computed[name] = max(gaussians[which, k] / gaussians[GAUSSIANS[0], k] for k in sizes)
        published[name] = (0.0, 1.0)
    for which in PURE[3:]:
        name = f"{NAMES[which]} / best naive, largest over k"
        computed[name] = max(pure[which, k] / naive[k] for k in (2, 3))
        published[name] = (0.0, 1.0)
    return computed, published


def draw(folder: Path) -> Path:
    """Left: Figure 2. Middle and right: Figure 3. Lines and bars are expectations,
    marks averages of 30 replicates in either model."""
    drawing, axes = figure(columns=3, width=5.5, height=4.8)
    marks = {"I": "o", "II": "x"}
    for which, colour in zip(GAUSSIANS, ("tab:red", "tab:blue", "tab:green"), strict=True):
        made = [mechanism(*which, k) for k in SIZES]
        axes[0].plot(SIZES, [expected(m) for m in made], color=colour, label=NAMES[which])
        for model, mark in marks.items():
            axes[0].plot(SIZES, [replicated(m, model) for m in made], mark, color=colour, markersize=4, label=None)
    axes[0].set_xlabel("k, tables of k x k cells")
    axes[0].set_ylabel("L2 loss")
    axes[0].set_title("Figure 2: Gaussian, mu = 1")
    colours = ("tab:red", "tab:orange", "tab:purple", "tab:blue", "tab:green")
    for axis, size in zip(axes[1:], (2, 3), strict=True):
        for j, (which, colour) in enumerate(zip(PURE, colours, strict=True)):
            places = np.arange(len(EPSILONS)) + 0.16 * (j - 2)
            made = [mechanism(*which, size, epsilon) for epsilon in EPSILONS]
            axis.bar(places, [expected(m) for m in made], 0.14, color=colour, alpha=0.45, label=NAMES[which])
            for model, mark in marks.items():
                axis.plot(places, [replicated(m, model) for m in made], mark, color=colour, markersize=4)
        axis.set_yscale("log")
        axis.set_xticks(range(len(EPSILONS)), [f"epsilon {epsilon:g}" for epsilon in EPSILONS])
        axis.set_title(f"Figure 3: pure, k = {size}")
    axes[1].plot([len(EPSILONS) - 1 + 0.16], [1.0], "k*", markersize=9, label="with Gamma shape s: not private")
    for axis in axes[:2]:
        for model, mark in marks.items():
            axis.plot([], [], mark, color="0.3", markersize=4, label=f"30 replicates, model {model}")
        axis.legend(fontsize=7)
    return saved(drawing, folder / "semi_dp_figures.svg")


if __name__ == "__main__":
    show("Figures 2 and 3 of the Semi-DP paper: expected L2 loss of tables with public margins", reproduce, DIFFERENCES, draw)
