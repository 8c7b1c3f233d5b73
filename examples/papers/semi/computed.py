"""Small numbers of the paper on Semi-DP that no example computes: its examples, sensitivities, orders of promises."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from designer import Problem, Workload, design, invariants
from designer.accounting import EpsilonDelta, Gaussian, gdp_delta, zcdp_group_rho
from designer.base.arrays import Floats
from designer.certificate.norms import Gauge
from designer.odds_ratio.noise import Tulap
from designer.odds_ratio.umpu import Margins, NoisyCountTest
from designer.relations.invariants.adjacency import (
    Conforming,
    Scope,
    ScopedPromise,
    by_distance,
    compare_promises,
    composition_first,
    semi_adjacency,
    semi_first,
)
from designer.tradeoff.comparison import Strength
from designer.tradeoff.conversions import zcdp_epsilon_bun_steinke
from designer.tradeoff.piecewise import from_distributions
from examples.reproduction import Result

BITS = list(product((0, 1), repeat=3))


def exactly(value: float) -> tuple[float, float]:
    """A number that has to be met to rounding."""
    return value - 1e-9, value + 1e-9


def stated(rows: dict[str, tuple[float, tuple[float, float] | None]]) -> Result:
    """(computed, published) by name as a result."""
    return {n: v[0] for n, v in rows.items()}, {n: v[1] for n, v in rows.items() if v[1] is not None}


def databases(full: bool = False) -> Result:
    """Conforming databases and a(t): Examples 1 to 5, Remarks 14 and 17, Theorem 16, Definition 19."""
    two, none = Conforming.of(BITS, sum, 2), Conforming.of(BITS, sum, 0)
    apart = {two.distance(i, j) for i in range(3) for j in range(3) if i != j}
    everything = Conforming(tuple(BITS))
    scattered = Conforming(((0, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 0)))
    joint = [((0,), (1,), (2,)), ((0, 1), (2,)), ((0, 1, 2),)]
    bounds = [invariants.margins((2, 2, 2), groups).semi_adjacency_bound for groups in joint]
    crowded = np.zeros((2, 2, 2), dtype=int)
    crowded[0, 0, 0] = crowded[1, 0, 0] = crowded[0, 1, 0] = crowded[0, 0, 1] = 1
    three = invariants.margins((2, 2, 2))
    table = invariants.margins((2, 2)).answers([2, 3, 5, 7])
    return stated(
        {
            "Hamming distance of bits: longest shortest path less the distance": (_detour(everything), (0, 0)),
            "databases with two ones of three": (len(two.databases), (3, 3)),
            "records apart, any two of them": (max(apart) if len(apart) == 1 else math.nan, (2, 2)),
            "a(t) of two ones": (two.semi_adjacency().value, (2, 2)),
            "a(t) of no ones": (none.semi_adjacency().value, (0, 0)),
            "a_min of three databases": (float(scattered.least_distance() or 0), (1, 1)),
            "a_maxmin of three databases": (float(scattered.largest_least_distance() or 0), (3, 3)),
            "databases alone within a_min": (
                float(sum(len(part) == 1 for part in scattered.components(scattered.least_distance() or 0))),
                (1, 1),
            ),
            "margins of (2, 3; 5, 7), first": (float(table[0]), (5, 5)),
            "margins of (2, 3; 5, 7), last": (float(table[-1]), (10, 10)),
            "2 x 2, margins (2, 1) and (2, 1): a(t), worst case": (
                semi_adjacency(invariants.margins((2, 2)), [2, 1, 2, 1]).value,
                (3, 3),
            ),
            "three features: the bound p + 1": (float(bounds[0]), (4, 4)),
            "three features: attained by four records": (
                semi_adjacency(three, three.answers(crowded.ravel()).tolist()).value,
                (4, 4),
            ),
            "two features published together: the bound": (float(bounds[1]), (3, 3)),
            "all features published together: the bound": (float(bounds[2]), (2, 2)),
            "pairs of IND(D, A_2), D = {0, 1}^3": (float(len(everything.indistinguishable(2))), None),
            "pairs of IND(D_t, A_2), two ones": (float(len(two.indistinguishable(2))), None),
            "pairs of the second that the first leaves out": (
                float(len(two.indistinguishable(2) - everything.indistinguishable(2))),
                (0, 0),
            ),
        }
    )


def _detour(space: Conforming) -> float:
    """The longest detour of shortest paths by steps of one record, over the Hamming distance."""
    here = range(len(space.databases))
    steps = np.array([[1.0 if space.distance(i, j) == 1 else 0.0 if i == j else math.inf for j in here] for i in here])
    for k in here:
        steps = np.minimum(steps, steps[:, k : k + 1] + steps[k : k + 1])
    return float(max(steps[i, j] - space.distance(i, j) for i in here for j in here))


def mechanisms(full: bool = False) -> Result:
    """Sensitivity spaces and mechanisms of tables with published margins: Examples 7 and 8, Propositions 24 to 30, Figure 1."""
    square, small = invariants.margins((3, 3)), invariants.margins((2, 2))
    semi = square.protect(1.0, adjacency=3).changes.astype(float)
    single = np.array([np.eye(9)[i] - np.eye(9)[j] for i, j in product(range(9), repeat=2) if i != j])
    group = {"l1": 6.0, "l2": math.sqrt(18), "l-infinity": 3.0}  # all three records from one cell to another
    orders = {"l1": 1, "l2": 2, "l-infinity": np.inf}
    rows: dict[str, tuple[float, tuple[float, float] | None]] = {}
    for name, order in orders.items():
        longest = float(np.linalg.norm(semi, ord=order, axis=1).max())
        naive = 3 * float(np.linalg.norm(single, ord=order, axis=1).max())
        rows[f"3 x 3, A_3, {name}: longest change"] = (longest, (0, group[name] + 1e-9))
        rows[f"3 x 3, A_3, {name}: group of three"] = (group[name], (longest - 1e-9, naive + 1e-9))
        rows[f"3 x 3, {name}: three times the longest change of one record"] = (naive, None)
    gaussian = design(Problem(Workload.identity(4), small.protect(1.0, 3), notion="zcdp"), "isotropic_gaussian").mechanism
    covariance = np.asarray(gaussian.covariance())
    projection = np.outer([1, -1, -1, 1], [1, -1, -1, 1]) / 4
    hull = design(Problem(Workload.identity(9), square.protect(1.0, 2)), "k_norm").mechanism
    one = design(Problem(Workload.identity(3), invariants.total(3).protect(1.0, 1)), "k_norm").mechanism
    assert isinstance(hull.norm, Gauge) and isinstance(one.norm, Gauge)
    figure_1 = _rectangle((7, 6), (1, 1), (4, 4))
    return stated(
        rows
        | {
            "3 x 3: dimension of the span of the changes": (float(np.linalg.matrix_rank(semi)), (4, 4)),
            "3 x 3: cells": (9.0, None),
            "changes of 2 x 2 tables, both signs": (2.0 * len(small.protect(1.0, 3).changes), (2, 2)),
            "2 x 2, Algorithm 1, mu = 1: covariance less 4 P, largest": (
                float(np.abs(covariance - 4 * projection).max()),
                (0, 1e-6),
            ),
            "2 x 2: trace of P": (float(np.trace(projection)), (1, 1)),
            "3 x 3: worst gauge of a change, hull of basic moves": (float(hull.privacy.worst_ratio or 0), (1 - 1e-6, 1)),
            "three cells, total public: gauge of a change": (float(one.privacy.worst_ratio or 0), (1 - 1e-6, 1)),
            "7 x 6: cells of v_2255 that are not 0": (float(np.count_nonzero(figure_1)), (4, 4)),
            "7 x 6: largest margin of v_2255": (
                float(max(np.abs(figure_1.sum(0)).max(), np.abs(figure_1.sum(1)).max())),
                (0, 0),
            ),
            "7 x 6: v_2255 is a change of A_2": (float(_is_change(figure_1)), (1, 1)),
            "7 x 6: changes of A_2, both signs": (2.0 * len(invariants.margins((7, 6)).protect(1.0, 2).changes), (630, 630)),
        }
    )


def _rectangle(shape: tuple[int, int], one: tuple[int, int], other: tuple[int, int]) -> Floats:
    change = np.zeros(shape)
    change[one] = change[other] = 1
    change[one[0], other[1]] = change[other[0], one[1]] = -1
    return change


def _is_change(change: Floats) -> bool:
    changes = invariants.margins(change.shape).protect(1.0, 2).changes
    return bool(((changes == change.ravel()).all(axis=1) | (changes == -change.ravel()).all(axis=1)).any())


def promises(full: bool = False) -> Result:
    """Group privacy, composition and the order of promises: Propositions 11, 15 and 21, Definition 20, Lemmas 39 to 43."""
    two = Conforming.of(BITS, sum, 2)
    pure, alpha = [EpsilonDelta(Fraction(1)), EpsilonDelta(Fraction(1, 2))], np.array([0.1])
    coins = [from_distributions([1 - lie, lie], [lie, 1 - lie]) for lie in (Fraction(1, 4), Fraction(1, 3))]
    sharp, blunt = (float(order(coins, 2).type_two(alpha)[0]) for order in (semi_first, composition_first))
    bounds = [float(order(pure, 2).type_two(alpha)[0]) for order in (semi_first, composition_first)]
    lies = [Fraction(1 / (1 + math.exp(epsilon))) for epsilon in (1, 0.5)]  # a coin of epsilon is as bad as pure privacy may be
    attained = [from_distributions([1 - lie, lie], [lie, 1 - lie]) for lie in lies]
    exact = [float(order(attained, 2).type_two(alpha)[0]) for order in (semi_first, composition_first)]
    normal = [
        float(getattr(order([Gaussian.of(3), Gaussian.of(4)], 2), "mu", math.nan)) for order in (semi_first, composition_first)
    ]
    group, semi = (
        ScopedPromise(Scope(2), EpsilonDelta(Fraction(1)).group(2)),
        ScopedPromise(Scope(2, invariants.total(4)), EpsilonDelta(Fraction(1)).group(2)),
    )
    single = ScopedPromise(Scope(1), EpsilonDelta(Fraction(1)))
    verdicts = [compare_promises(*pair).order for pair in ((group, semi), (semi, group), (semi, semi), (single, group))]
    wanted = (Strength.STRONGER, Strength.WEAKER, Strength.EQUAL, Strength.INCOMPARABLE)
    distance = by_distance(Gaussian.of(1), two)[2]
    whitened = np.linalg.norm(np.linalg.solve(np.linalg.cholesky([[4.0, 1.0], [1.0, 2.0]]), [1.0, 2.0]))
    return stated(
        {
            "mu between databases two records apart, mu = 1 for one": (float(getattr(distance, "mu", math.nan)), (2, 2)),
            "two coins, groups of two, type II error at 0.1: Semi-DP first": (sharp, (blunt, 1)),
            "two coins, groups of two, type II error at 0.1: composition first": (blunt, None),
            "pure 1 and 1/2, groups of two, type II error at 0.1: Semi-DP first": (exact[0], (exact[1], 1)),
            "pure 1 and 1/2, groups of two, type II error at 0.1: composition first": (exact[1], None),
            "pure 1 and 1/2, Semi-DP first: the lower bound that is certified here": (bounds[0], (exact[0] - 1e-2, exact[0])),
            "pure 1 and 1/2, composition first: the lower bound that is certified here": (
                bounds[1],
                (exact[1] - 1e-2, exact[1]),
            ),
            "Gaussian 3 and 4, groups of two: mu, Semi-DP first": (normal[0], exactly(10)),
            "Gaussian 3 and 4, groups of two: mu, composition first": (normal[1], exactly(10)),
            "verdicts of Definition 20 that are as they should be, of four": (
                float(sum(found is right for found, right in zip(verdicts, wanted, strict=True))),
                (4, 4),
            ),
            "rho of groups of two, rho = 2.56": (float(zcdp_group_rho("2.56", 2)), exactly(10.24)),
            "epsilon of rho = 2.56 at delta = 1e-10": (zcdp_epsilon_bun_steinke("2.56", 1e-10), (17.915275, 17.915285)),
            "delta of mu = 1 at epsilon = 1, Balle and Wang": (
                gdp_delta(1, 1),
                exactly((math.erfc(0.125**0.5) - math.e * math.erfc(1.125**0.5)) / 2),
            ),
            "Lemma 43 at Sigma = (4, 1; 1, 2), shift (1, 2): mu^2": (float(whitened**2), exactly(2.0)),
        }
    )


def odds_ratio(full: bool = False) -> Result:
    """Canonical noise and the test: Definition 35, Lemma 36, Lemma 34, Theorem 37."""
    epsilon = Fraction(1)
    law = Tulap(EpsilonDelta(epsilon))
    places = np.linspace(-3, 3, 25)
    f = EpsilonDelta(epsilon).paper_convention
    middle = float(law.cdf(np.array([-0.5]))[0])
    margins = Margins((6, 5), (7, 4))
    test = NoisyCountTest(margins, law)
    rejection = np.asarray(test.rejection(0.05))
    neighbours = np.concatenate([rejection[1:] - (1 - f(1 - rejection[:-1])), rejection[:-1] - (1 - f(1 - rejection[1:]))])
    shifted = np.abs(law.cdf(places - 1) - f(law.cdf(places))).max()
    return stated(
        {
            "Tulap, epsilon = 1: F(x) + F(-x) - 1, largest": (
                float(np.abs(law.cdf(places) + law.cdf(-places) - 1).max()),
                (0, 1e-12),
            ),
            "Tulap, epsilon = 1: F(x - 1) less f(F(x)), largest": (float(shifted), (0, 1e-12)),
            "Lemma 36, epsilon = 1: F(-1/2) less c, f(1 - c) = c": (middle - 1 / (1 + math.e), (-1e-12, 1e-12)),
            "margins (6, 5), (7, 4): size of the test at 0.05": (float(rejection @ margins.pmf()), exactly(0.05)),
            "margins (6, 5), (7, 4): how far equation (2) is exceeded": (float(neighbours.max()), (-1, 1e-12)),
        }
    )
