"""Integer noise that keeps an invariant: what it promises by distance, how large it gets, and the chains of its paper.

>>> from designer.lattices import smooth_deviation
>>> round(smooth_deviation(0.25, 1e-6), 2)
21.12
"""

from designer.lattice.chain import ChainPlan
from designer.lattice.mechanism import LatticeMechanism
from designer.lattice.smoothing import SmoothPrivacy, composed_smooth, smooth_privacy
from designer.lattice.tails import (
    cell_tail,
    definition_13_variance,
    mean_norm,
    mean_square,
    noise_tail,
    theorem_12_tail,
    theorem_15_tail,
    theorem_constant,
)
from designer.tradeoff.conversions import smooth_budget, smooth_deviation, smooth_epsilon
from solvers.lattices.chain import Chain, JumpLaw, VariationBound, r_hat, variation_bound
from solvers.lattices.kernel import Lattice, integer_kernel

__all__ = [
    "Chain",
    "ChainPlan",
    "JumpLaw",
    "Lattice",
    "LatticeMechanism",
    "SmoothPrivacy",
    "VariationBound",
    "cell_tail",
    "composed_smooth",
    "definition_13_variance",
    "integer_kernel",
    "mean_norm",
    "mean_square",
    "noise_tail",
    "r_hat",
    "smooth_budget",
    "smooth_deviation",
    "smooth_epsilon",
    "smooth_privacy",
    "theorem_12_tail",
    "theorem_15_tail",
    "theorem_constant",
    "variation_bound",
]
