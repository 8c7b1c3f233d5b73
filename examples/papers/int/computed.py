"""Small numbers of the paper on integer subspace privacy that no example computes: its examples, lattices, tails."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from designer import Problem, Workload, design, invariants
from designer.accounting import gdp_delta
from designer.base.arrays import Floats
from designer.lattice.mechanism import LatticeMechanism
from designer.lattice.smoothing import SmoothPrivacy, composed_smooth, smooth_privacy
from designer.lattice.tails import definition_13_variance, mean_norm, noise_tail, theorem_12_tail, theorem_15_tail
from designer.relations.invariants import Invariant
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.tradeoff.conversions import smooth_deviation
from examples.int_delinquent import DRAWN, table
from examples.int_delinquent import margins as delinquent_margins
from examples.reproduction import Result
from solvers.exact.points import smith_transforms
from solvers.lattices.chain import JumpLaw
from solvers.lattices.kernel import integer_kernel

EPSILON, DELTA = 0.25, 1e-6
SUM = np.array([[1, 1, 1]])
REACH = 140


def stated(rows: dict[str, tuple[float, tuple[float, float] | None]]) -> Result:
    """(computed, published) by name as a result."""
    return {n: v[0] for n, v in rows.items()}, {n: v[1] for n, v in rows.items() if v[1] is not None}


@cache
def law(norm: str, gaussian: bool = False) -> tuple[Floats, Floats]:
    """All vectors of three whole numbers with sum 0 that matter at rate 1/4, or standard deviation 4, and their chances."""
    side = np.arange(-REACH, REACH + 1)
    x, y = (part.ravel() for part in np.meshgrid(side, side))
    vectors = np.column_stack([x, y, -x - y]).astype(float)
    lengths = np.linalg.norm(vectors, ord=1 if norm == "l1" else 2, axis=1)
    weights = np.exp(-(lengths**2) / 32 if gaussian else -EPSILON * lengths)
    return vectors, weights / weights.sum()


def made(invariant: Invariant, family: str, norm: str, epsilon: float = EPSILON) -> LatticeMechanism:
    """Lattice noise of a budget for every unit of distance."""
    relation = invariant.protect(epsilon, per_distance=norm)  # type: ignore[call-overload]
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    options = {} if family == "lattice_gaussian" else {"shape": norm}
    mechanism = design(Problem(Workload.identity(invariant.size), relation, notion=notion), family, **options).mechanism
    assert isinstance(mechanism, LatticeMechanism)
    return mechanism


def loss(norm: str, shift: tuple[int, ...]) -> float:
    """The largest log-ratio of the law and the law moved by a lattice vector, over outputs within reach, over its length."""
    order = 1 if norm == "l1" else 2
    vectors, _ = law(norm)
    inner = vectors[np.abs(vectors).max(axis=1) < REACH / 2]
    moved = np.linalg.norm(inner - shift, ord=order, axis=1) - np.linalg.norm(inner, ord=order, axis=1)
    return float(EPSILON * np.abs(moved).max() / np.linalg.norm(shift, ord=order))


def definitions(full: bool = False) -> Result:
    """Invariants and privacy: Definitions 1, 2 and 9, Examples 3 to 5, Propositions 6 to 8, Theorem 10."""
    square, states = invariants.margins((4, 4)), invariants.partition(["a", "a", "b", "b", "b"])
    kept = made(square, "lattice_laplace", "l1").release(list(range(16)))
    changed = np.abs(square.matrix @ np.array(kept.table) - square.answers(np.arange(16))).max()
    parts = SmoothPrivacy(0.25, 1e-6, "l1"), SmoothPrivacy(0.5, 2e-6, "l1")
    both = composed_smooth(*parts)
    grown = [sum(part.at(r)[1] for part in parts) - both.at(r)[1] for r in (1, 2, 5, 20)]
    rate = DiscreteLaplace([Fraction(1, 4)])
    left, form, right = (np.array(part, dtype=int) for part in smith_transforms(square.constraints))
    rank = sum(any(row) for row in form)
    basis = integer_kernel(square.constraints)
    report = SmoothPrivacy(EPSILON, 0.0, "l1").for_records(1)[0]
    return stated(
        {
            "4 x 4: largest change of a margin in a release": (float(changed), (0, 0)),
            "pure noise: epsilon of Definition 2": (
                smooth_privacy(made(states, "lattice_laplace", "l1")).epsilon,
                (0.25, 0.25),
            ),
            "one record replaced, epsilon 0.25 a unit of l1": (report, None),
            "states a and b: independent statistics": (float(np.linalg.matrix_rank(states.matrix)), (2, 2)),
            "two releases: epsilon": (both.epsilon, (0.75, 0.75 + 1e-9)),
            "two releases: delta": (both.delta, (3e-6 - 1e-12, 3e-6 + 1e-12)),
            "two releases: deltas at distances 1 to 20 beyond the joint one": (max(grown), (-1.0, 1e-15)),
            "4 x 4: U A V less D, largest entry": (float(np.abs(left @ square.constraints @ right - form).max()), (0, 0)),
            "4 x 4: |det V|": (float(round(abs(np.linalg.det(right.astype(float))))), (1, 1)),
            "4 x 4: d - rank, the dimension of the lattice": (float(basis.dimension), (16 - rank, 16 - rank)),
            "no invariant, d = 1: variance over that of the double geometric law": (
                float(rate.variance()[0]) / (2 * math.exp(-0.25) / (1 - math.exp(-0.25)) ** 2),
                (1 - 1e-9, 1 + 1e-9),
            ),
            "sum of three, l1: largest loss over epsilon times distance": (_worst("l1"), (0, 1 + 1e-12)),
            "sum of three, l2: largest loss over epsilon times distance": (_worst("l2"), (0, 1 + 1e-12)),
        }
    )


def _worst(norm: str) -> float:
    return max(loss(norm, shift) for shift in ((1, -1, 0), (2, -1, -1), (5, 0, -5), (7, -3, -4))) / EPSILON


def tails(full: bool = False) -> Result:
    """Accuracy: Lemma 11, Theorems 12, 15 and 17, Proposition 18, and what Definition 13 asks for beyond what is needed."""
    kernel = integer_kernel(SUM)
    rows: dict[str, tuple[float, tuple[float, float] | None]] = {}
    for radius in (5.0, 20.0, 60.0):
        inside = float((np.linalg.norm(law("l2")[0], axis=1) <= radius).sum())
        bound = 2 * math.pi / math.sqrt(kernel.squared_determinant) * radius**2
        rows[f"sum of three: lattice points within {radius:g} over the bound of Lemma 11"] = (inside / bound, (0, 1))
    laplace = made(invariants.linear(SUM.tolist()), "lattice_laplace", "l2")
    for size in (20.0, 40.0):
        truth, ours = _beyond(False, size), noise_tail(laplace, EPSILON * size)
        printed = theorem_12_tail(kernel, EPSILON, size)
        rows[f"sum of three, l2: P(|z| >= {size:g}) over the bound of Theorem 12"] = (truth / printed, (0, 1))
        rows[f"sum of three, l2: P(|z| >= {size:g}) over our bound"] = (truth / ours, (0, 1))
        gauss, wide = _beyond(True, size), theorem_15_tail(kernel, 4.0, size)
        rows[f"sum of three, Gaussian of deviation 4: P(|z| >= {size:g}) over the bound of Theorem 15"] = (gauss / wide, (0, 1))
    near = _beyond(False, 0.05)
    rows["sum of three, l2: P(|z| >= 0.05) over the formula of Theorem 12, for t not large"] = (
        near / theorem_12_tail(kernel, EPSILON, 0.05),
        None,
    )
    for gaussian, name in ((False, "l2"), (True, "Gaussian")):
        vectors, chances = law("l2", gaussian)
        rows[f"sum of three, {name}: largest mean of a cell"] = (float(np.abs(chances @ vectors).max()), (0, 1e-9))
    rows["sum of three, l2: mean length over m / epsilon"] = (
        float(law("l2")[1] @ np.linalg.norm(law("l2")[0], axis=1)) * EPSILON / mean_norm(laplace),
        (0.9, 1),
    )
    ours = smooth_deviation(EPSILON, DELTA) ** 2
    for side in (2, 4, 10):
        lattice = integer_kernel(invariants.margins((side, side)).constraints)
        rows[f"{side} x {side}: variance of Definition 13 over one that suffices, {ours:.1f}"] = (
            definition_13_variance(lattice, EPSILON, DELTA) / ours,
            (1, math.inf),
        )
    rows["least variance of continuous noise at distance 1"] = (_least_variance(), None)
    rows["delta of the variance that suffices at distance 1, over the one asked for"] = (_needed() / DELTA, (0, 1))
    return stated(rows)


def _beyond(gaussian: bool, size: float) -> float:
    vectors, chances = law("l2", gaussian)
    return float(chances[np.linalg.norm(vectors, axis=1) >= size].sum())


def _least_variance() -> float:
    """The variance at which normal noise, moved by 1, has the asked delta at the asked epsilon: bisection of `gdp_delta`."""
    low, high = 1.0, 1e4
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if gdp_delta(middle**-0.5, EPSILON) <= DELTA else (middle, high)
    return high


def _needed() -> float:
    """delta at epsilon of the discrete Gaussian of the variance that suffices, moved by 1: INT Definition 2 at r = 1."""
    variance = smooth_deviation(EPSILON, DELTA) ** 2
    places = np.arange(-2000, 2001)
    chances = np.exp(-(places**2) / (2 * variance))
    chances /= chances.sum()
    return float(np.maximum(chances[1:] - math.exp(EPSILON) * chances[:-1], 0).sum())


def jumps(full: bool = False) -> Result:
    """The proposal of section 4 (equation 11) and Tables 1 to 3."""
    places, jump = np.arange(-400, 401), JumpLaw((math.exp(-1),))
    chances = jump.mass(places)
    drawn = {name: np.array(values).reshape(4, 4) for name, values in DRAWN.items()}
    children = table().reshape(4, 4)
    sums = {name: float(max(np.abs(t.sum(axis=0)).max(), np.abs(t.sum(axis=1)).max())) for name, t in drawn.items()}
    printed_rows, printed_columns = [20, 55, 35, 35], [50, 35, 30, 20]
    return stated(
        {
            "double geometric jumps: total mass": (float(chances.sum()), (1 - 1e-12, 1 + 1e-12)),
            "double geometric jumps: mean": (float(chances @ places), (-1e-12, 1e-12)),
            "double geometric jumps: largest margin of 4 x 4 that a jump moves": (_moved(), (0, 0)),
            "Table 1: largest margin of the noise": (sums["l1"], (0, 0)),
            "Table 3: largest margin of the noise": (sums["l2"], (0, 0)),
            "Table 2: column totals that are as printed": (float((children.sum(axis=0) == printed_columns).sum()), (4, 4)),
            "Table 2: row totals that are as printed": (float((children.sum(axis=1) == printed_rows).sum()), (4, 4)),
            "Table 2: total": (float(children.sum()), (135, 135)),
        }
    )


def _moved() -> float:
    margins = delinquent_margins()
    right = np.array(smith_transforms(margins.constraints)[2], dtype=int)
    generator = np.random.default_rng(2)
    steps = generator.geometric(0.6, (200, 9)) - generator.geometric(0.6, (200, 9))
    return float(np.abs(margins.matrix @ right[:, -9:] @ steps.T).max())


def budgets(full: bool = False) -> Result:
    """Budgets that the text states."""
    return stated(
        {
            "epsilon of the county query, 4 x 0.16 x 0.3": (
                float(Fraction(4) * Fraction("0.16") * Fraction("0.3")),
                (0.192, 0.192),
            )
        }
    )
