"""Marginals of a product domain of any size, with a budget for each attribute: asked, planned, certified, released,
put together."""

from designer.marginals.least import LeastMarginals, least_marginal_budget, marginals_meeting
from designer.marginals.mechanism import MarginalMechanism
from designer.marginals.plan import design_marginals
from designer.marginals.protection import Presence
from designer.marginals.release import MarginalRelease
from designer.marginals.whole import WholeTables, whole_tables
from designer.marginals.workload import MarginalWorkload

__all__ = [
    "LeastMarginals",
    "MarginalMechanism",
    "MarginalRelease",
    "MarginalWorkload",
    "Presence",
    "WholeTables",
    "design_marginals",
    "least_marginal_budget",
    "marginals_meeting",
    "whole_tables",
]
