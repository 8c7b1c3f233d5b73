"""The optimal Gaussian matrix mechanism as a program in CVXPY (docs/guides/programs.md).

With `X = Sigma^-1`, q_k the rows of the reconstruction and v the weights of the queries:

    minimise    sum_k v_k q_k' X^-1 q_k             (squared;  max_k v_k q_k' X^-1 q_k  max)
                (2 / pi)^1/2 sum_k v_k (q_k' X^-1 q_k)^1/2   (absolute)
    subject to  u' X u <= b^2                       for every protected pair (u, b)

The same program as that of the ellipsoid with exponential fall-off, but for the covariance, which is Sigma itself.
"""

from __future__ import annotations

import math

from designer.families.programs.ellipsoid_program import EllipsoidProgram


class GaussianProgram(EllipsoidProgram):
    """The covariance of Gaussian noise. Variable X, (s, s): its inverse. The rest as in `EllipsoidProgram`.

    problem: of linear queries.
    """

    title = "gaussian"
    notion = "zcdp"
    falloff = "gaussian"

    @property
    def inflation(self) -> float:
        """The covariance is Sigma."""
        return 1.0

    @property
    def absolute_per_deviation(self) -> float:
        """`E|z|` over the standard deviation of a Gaussian."""
        return math.sqrt(2 / math.pi)
