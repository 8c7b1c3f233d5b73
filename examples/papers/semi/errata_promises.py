"""What in the paper on Semi-DP does not hold as it is printed: promises, their order, and the test of an odds ratio."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from designer.odds_ratio.umpu import Margins
from designer.tradeoff.functions import EpsilonDelta


def truth_under_definition_10() -> tuple[int, int]:
    """A mechanism that publishes a table of two cells as it is: how far the projected outputs of two databases one record apart
    are from each other, which is all that the printed definition looks at, and the total variation between the outputs."""
    one, other = np.array([2, 0]), np.array([1, 1])
    change = one - other
    outside = np.eye(2) - np.outer(change, change) / (change @ change)  # the orthogonal complement of the changes' span
    seen = np.abs(outside @ one - outside @ other).max()
    return int(seen), int((one != other).any())


def places_of_a_tie() -> tuple[int, int]:
    """At how many of 0, 1/4, ..., 1 f of 2-privacy is not below f of 1-privacy: the printed strict order allows none."""
    weaker, stronger = EpsilonDelta(Fraction(2)), EpsilonDelta(Fraction(1))
    places = np.linspace(0, 1, 5)
    return 0, int((weaker.paper_convention(places) >= stronger.paper_convention(places)).sum())


def law_under_the_alternative() -> tuple[Fraction, Fraction]:
    """P(x11 = 1 | margins 1, 1; 1, 1) at theta_1 = 3/4, theta_2 = 1/4: by the printed odds ratio, and by the binomial laws."""
    one, two = Fraction(3, 4), Fraction(1, 4)
    printed = two / (1 - two) / (one / (1 - one))
    both = one * (1 - two) + (1 - one) * two
    return printed / (1 + printed), one * (1 - two) / both


def mean_in_the_proof() -> tuple[Fraction, Fraction]:
    """Margins (3, 1) and (2, 2): the mean of the law in the proof's condition on m(t), and that of x11 at odds ratio 1."""
    in_proof, of_test = Margins((1, 3), (2, 2)), Margins((3, 1), (2, 2))
    means = [Fraction(float(m.pmf() @ np.array(m.support))).limit_denominator(100) for m in (in_proof, of_test)]
    return means[0], means[1]
