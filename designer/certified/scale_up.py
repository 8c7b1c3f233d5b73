"""Repair towards privacy: the factor by which a norm is divided so that every pair is proven within its budget.

Why the certificate then holds: docs/theory/foundations.md, section 2.
"""

from __future__ import annotations

from designer.certified.certificate import certify, rounding_error
from designer.certified.norms import Norm
from designer.certified.refusals import refuse_infinite
from designer.certified.sensitivity import SensitivitySet
from solvers.exact.rational import float_above

# Norms are divided by this much beyond the exact requirement, so that a certificate recomputed on another machine, whose float
# scan may round otherwise, still holds.
MARGIN = 2.0**-40


def scale_up_to_private(sensitivity: SensitivitySet, norm: Norm) -> float:
    """A factor, at least 1, by which the norm must be divided so that every pair is proven within its budget,
    with `MARGIN` to spare.

    A first float scan with its error allowance makes the norm private for certain; the certificate of that norm then says,
    almost exactly or as a bound, how much of the allowance was not needed.
    """
    if norm.silent.all():
        return 1.0
    worst = refuse_infinite(sensitivity, norm)
    if worst == 0.0:
        return 1.0
    if sensitivity.longest(norm) is not None:
        return max(1.0, worst * (1 + MARGIN))
    # An error of the float scan on the length of a pair weighs most at the smallest budget.
    least = sensitivity.relation.least_budget(positive=True)
    # Where many pairs tie, floats must settle them: K = 300 equal coordinates would otherwise ask for every pair in rationals.
    margin = 1 + max(MARGIN, 4 * rounding_error(sensitivity, norm))
    safe = (worst + 2 * (sensitivity.relation.budget_error + norm.image_error(sensitivity.points) / least)) * margin
    if sensitivity.searches(norm):
        safe *= 2.0  # room for a worst ratio that is a bound, and for a worst pair that such a search did not see
    proven = certify(sensitivity, norm.divided(safe)).worst_ratio
    return safe if proven is None else max(1.0, safe * float_above(proven) * margin)
