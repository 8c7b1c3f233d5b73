"""What promises come to: tradeoff functions, conversions between notions of privacy, samples, and accounts of many releases.

Epsilons are in nats, deltas and errors are probabilities; every number is rounded to the side that promises less.

>>> from designer.accounting import zcdp_epsilon
>>> round(zcdp_epsilon(0.5, 1e-6), 2)
5.22
"""

from designer.relations.joint_promises import composition, for_groups, group_budget, group_privacy, post_processing
from designer.tradeoff.account import Account
from designer.tradeoff.comparison import compare_tradeoffs, poisson_subsampled, sampled_epsilon
from designer.tradeoff.conversions import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    gdp_rho,
    laplace_rho,
    pure_rho,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_epsilon_bun_steinke,
    zcdp_group_rho,
    zcdp_rho_below,
)
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Tradeoff, discrete_laplace

__all__ = [
    "Account",
    "EpsilonDelta",
    "Gaussian",
    "Tradeoff",
    "compare_tradeoffs",
    "composition",
    "discrete_laplace",
    "for_groups",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "gdp_rho",
    "group_budget",
    "group_privacy",
    "laplace_rho",
    "poisson_subsampled",
    "post_processing",
    "pure_rho",
    "sampled_epsilon",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_epsilon_bun_steinke",
    "zcdp_group_rho",
    "zcdp_rho_below",
]
