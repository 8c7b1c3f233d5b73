"""What promises come to: tradeoff functions, conversions between notions of privacy, samples, and accounts of many releases.

Epsilons are in nats, deltas and errors are probabilities; every number is rounded to the side that promises less.

>>> from designer.accounting import zcdp_epsilon
>>> round(zcdp_epsilon(0.5, 1e-6), 2)
5.22
"""

from designer.promises.account import Account
from designer.promises.accounting import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    gdp_rho,
    laplace_rho,
    pure_rho,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_group_rho,
    zcdp_rho_below,
)
from designer.promises.kinds import poisson_subsampled, sampled_epsilon
from designer.promises.laplace import discrete_laplace
from designer.promises.tradeoff import EpsilonDelta, Gaussian

__all__ = [
    "Account",
    "EpsilonDelta",
    "Gaussian",
    "discrete_laplace",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "gdp_rho",
    "laplace_rho",
    "poisson_subsampled",
    "pure_rho",
    "sampled_epsilon",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_group_rho",
    "zcdp_rho_below",
]
