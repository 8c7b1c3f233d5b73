"""Per-record privacy: policies, their design on public prior data, hierarchies, and what a policy costs."""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names

if TYPE_CHECKING:
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
    from designer.tables.policies.renyi import (
        advanced_group_loss,
        group_loss,
        group_losses,
        group_policy_loss,
        one_sided_loss,
        simple_group_loss,
    )

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
        "designer.tables.policies.renyi": (
            "advanced_group_loss group_loss group_losses group_policy_loss one_sided_loss simple_group_loss"
        ),
        "designer.tables.policies.metrics": (
            "Losses NoisySum absolute_relative_error gaussian_relative_error policy_losses policy_min realized_losses"
        ),
        "designer.tables.policies.plain_policies": "ConstantPolicy LaplaceSums Splitting",
        "designer.tables.policies.policies": "AsZcdp MaximumOfPolicies Piecewise ScaledPolicy SumOfPolicies",
        "designer.tables.policies.policy": "Policy",
    },
)
