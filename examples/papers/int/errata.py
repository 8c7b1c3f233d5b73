"""What in the paper on integer subspace privacy does not hold as it is printed, each with a counter-example:
(as stated, as it is)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from designer import datasets
from designer.lattice.tails import definition_13_variance, log_theorem_constant
from solvers.exact.points import smith_transforms
from solvers.lattices.kernel import Lattice


def smooth_privacy_in_l2() -> tuple[Fraction, Fraction]:
    """Independent double geometric noise of rate 1 on two counts, private with epsilon = 1 for databases at l2 distance 1. The
    square of the loss between databases that differ by (1, 1): at most 2 if it grew with the l2 distance, root 2."""
    apart = (1, 1)
    loss = sum(abs(c) for c in apart)  # at the output equal to one of them
    return Fraction(sum(c * c for c in apart)), Fraction(loss) ** 2


def nearest_equivalent() -> tuple[int, int]:
    """The least l1 distance of two histograms on three elements with equal totals: neighbours of (1) are 1 apart."""
    histograms = [h for h in product(range(3), repeat=3) if sum(h) == 2]
    distances = [sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x in histograms for y in histograms if x != y]
    return 1, min(distances)


def rank_of_margins() -> tuple[int, int]:
    """Sets in the collection of rows and columns of a 4 x 4 table, and the rank of their incidence matrix."""
    rows = [[int(cell // 4 == i) for cell in range(16)] for i in range(4)]
    columns = [[int(cell % 4 == j) for cell in range(16)] for j in range(4)]
    return len(rows + columns), int(np.linalg.matrix_rank(np.array(rows + columns)))


def chance_of_an_event() -> tuple[Fraction, Fraction]:
    """Outputs 0 ... 9 from one database, 10 ... 19 from the other, each with 1/10. The delta that bounds every single output,
    and what the event {0, ..., 9} needs."""
    one, other = ({start + k: Fraction(1, 10) for k in range(10)} for start in (0, 10))
    single = max(chance - other.get(output, Fraction(0)) for output, chance in one.items())
    return single, sum(one.values(), -sum((other.get(output, Fraction(0)) for output in one), Fraction(0)))


def rows_of_smith() -> tuple[int, int]:
    """For the sum of three cells: the largest |A c| over the last d - k rows c of V, as printed. The columns have 0."""
    total = np.array([[1, 1, 1]])
    right = np.array(smith_transforms(total)[2], dtype=int)
    assert not (total @ right[:, 1:]).any()
    return 0, int(np.abs(total @ right[1:].T).max())


def points_in_an_ellipse() -> tuple[int, int]:
    """Points with `4 v_1^2 + 4 v_2^2 <= 200^2`: the printed volume `V_2 (s^2 / det Q)^(2/2)`, rounded, and their number."""
    radius = 100
    points = sum(2 * math.isqrt(radius**2 - x * x) + 1 for x in range(-radius, radius + 1))
    return round(math.pi * 200**2 / 16), points


def constant_of_definition_13() -> tuple[float, float]:
    """c_A on one line of 256 cells that alternate, x_1 + x_2, x_2 + x_3, ... published. With d - k = 1 and K = 1 both terms of
    the printed maximum, (d - k) ln(d - k) and ln K, are 0, and so is any multiple; the proof needs the second number."""
    line = Lattice.generated_by([[(-1) ** i for i in range(256)]])
    epsilon, delta = 0.25, 1e-6
    dimension = line.dimension
    printed = max(dimension * math.log(dimension), log_theorem_constant(line))
    needed = definition_13_variance(line, epsilon, delta) * epsilon**2 / (2 * math.log(1 / delta))
    return round(printed, 4), round(needed, 4)


def variance_of_equation_8() -> tuple[int, float]:
    """The variance of the law of equation (8) on the whole numbers, centre 0, at sigma = 4: as it is named, and as it is."""
    sigma, places = 4, range(-80, 81)  # beyond, less than 1e-86 of the mass
    weights = {z: math.exp(-(z**2) / (2 * sigma**2)) for z in places}
    return sigma, round(math.fsum(w * z * z for z, w in weights.items()) / math.fsum(weights.values()), 9)


def constant_of_theorem_15() -> tuple[int, int]:
    """K of Theorem 12 at m = 2, in units of `V_m / root(det)`, and K as the proof of Proposition 18 ends: the factor 2 of its
    ratio test is lost."""
    m = 2
    return 4 * 2**m, 2 ** (m + 1)


def coefficients_that_jump() -> tuple[int, int]:
    """Algorithm 2 as printed, line 4 within the loop over j: how many of three coefficients ever move in 500 proposals."""
    generator = np.random.default_rng(0)
    moved = np.zeros(3, dtype=bool)
    for _ in range(500):
        state = np.zeros(3, dtype=int)
        for j in range(3):
            proposed = state.copy()  # line 4: starts again from the state, and forgets the jumps before
            proposed[j] += generator.geometric(1 - math.exp(-1)) - generator.geometric(1 - math.exp(-1))
        moved |= proposed != state
    return 3, int(moved.sum())


def total_of_gamma() -> tuple[int, int]:
    """Table 2: the printed total of the county Gamma, and the sum of its cells."""
    table = datasets.delinquent_children()
    cells = [int(c) for county, c in zip(table["county"], table["count"], strict=True) if county == "Gamma"]
    return 35, sum(cells)


def green_boxes() -> tuple[float, float]:
    """Three counties, the state's total kept, epsilon = 0.192: the standard deviation of the green boxes over that of the blue
    ones, by the caption of Figure 10 (one law, since truncation changes nothing), and by appendix E.4, before rounding:
    discrete
    Laplace noise less its mean over the state."""
    rate, side = 0.192, np.arange(-250, 251)
    x, y = np.meshgrid(side, side)
    kept = np.exp(-rate * (np.abs(x) + np.abs(y) + np.abs(x + y)))  # noise (x, y, -x - y) of this paper
    free = np.exp(-rate * np.abs(side))
    blue, raw = (kept * x**2).sum() / kept.sum(), (free * side**2).sum() / free.sum()
    return 1.0, round(float(np.sqrt(2 / 3 * raw / blue)), 3)
