"""Per-record privacy: policies, their design on public prior data, hierarchies, and what a policy costs."""

from typing import TYPE_CHECKING

from designer.base.lazily import public_names

if TYPE_CHECKING:
    from designer.tables.policies.group_privacy import (
        advanced_group_loss,
        group_loss,
        group_losses,
        group_policy_loss,
        one_sided_loss,
        simple_group_loss,
    )
    from designer.tables.policies.metrics import (
        Losses,
        NoisySum,
        absolute_relative_error,
        gaussian_relative_error,
        policy_losses,
        policy_min,
        realized_losses,
    )
    from designer.tables.policies.plain_policies import ConstantPolicy, LaplaceSums, Splitting
    from designer.tables.policies.policies import AsZcdp, MaximumOfPolicies, Piecewise, ScaledPolicy, SumOfPolicies
    from designer.tables.policies.policy import Policy

__all__ = [
    "AsZcdp",
    "ConstantPolicy",
    "LaplaceSums",
    "Losses",
    "MaximumOfPolicies",
    "NoisySum",
    "Piecewise",
    "Policy",
    "ScaledPolicy",
    "Splitting",
    "SumOfPolicies",
    "absolute_relative_error",
    "advanced_group_loss",
    "gaussian_relative_error",
    "group_loss",
    "group_losses",
    "group_policy_loss",
    "one_sided_loss",
    "policy_losses",
    "policy_min",
    "realized_losses",
    "simple_group_loss",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "group_privacy": "advanced_group_loss group_loss group_losses group_policy_loss one_sided_loss simple_group_loss",
        "metrics": "Losses NoisySum absolute_relative_error gaussian_relative_error policy_losses policy_min realized_losses",
        "plain_policies": "ConstantPolicy LaplaceSums Splitting",
        "policies": "AsZcdp MaximumOfPolicies Piecewise ScaledPolicy SumOfPolicies",
        "policy": "Policy",
    },
)
