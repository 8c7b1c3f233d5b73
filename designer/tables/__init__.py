"""Per-record private releases of tables of any size: plans of queries, with their policies, run where the records live."""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names
from designer.problem.histogram import OTHERS

if TYPE_CHECKING:
    from designer.tables.answers import Answer, TableRelease
    from designer.tables.condition import Condition
    from designer.tables.groups import Groups, hierarchy, nested_codes, tree
    from designer.tables.hierarchy_plan import consistent_levels
    from designer.tables.intervals import consistent_margins
    from designer.tables.measure import Measure
    from designer.tables.other_noise import PureSum, Quantile, SlowlyScaledSum
    from designer.tables.partition_selection import PartitionSelection
    from designer.tables.plan import TablePlan
    from designer.tables.plan_words import PolicyCertificate
    from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, design_records
    from designer.tables.policies.hierarchies import Hierarchy
    from designer.tables.policies.policies import GaussianSums
    from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise
    from designer.tables.queries import Average, Count, CountDistinct, Sum, variance_for
    from designer.tables.unit_splitting import Key, UnitSplitting
    from designer.tables.variance_by import VarianceBy

__all__ = [
    "COUNT",
    "OTHERS",
    "Accuracy",
    "Answer",
    "Average",
    "Condition",
    "Count",
    "CountDistinct",
    "GaussianSums",
    "Groups",
    "Hierarchy",
    "Key",
    "Measure",
    "PartitionSelection",
    "PolicyCertificate",
    "PriorRecords",
    "PureSum",
    "Quantile",
    "SlowlyScaledSum",
    "StudentNoise",
    "Sum",
    "TablePlan",
    "TableRelease",
    "TransformedNoise",
    "UnitSplitting",
    "VarianceBy",
    "consistent_levels",
    "consistent_margins",
    "design_records",
    "hierarchy",
    "nested_codes",
    "tree",
    "variance_for",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "designer.tables.answers": "Answer TableRelease",
        "designer.tables.condition": "Condition",
        "designer.tables.hierarchy_plan": "consistent_levels",
        "designer.tables.groups": "Groups hierarchy nested_codes tree",
        "designer.tables.unit_splitting": "Key UnitSplitting",
        "designer.tables.intervals": "consistent_margins",
        "designer.tables.measure": "Measure",
        "designer.tables.other_noise": "PureSum Quantile SlowlyScaledSum",
        "designer.tables.partition_selection": "PartitionSelection",
        "designer.tables.plan": "TablePlan",
        "designer.tables.plan_words": "PolicyCertificate",
        "designer.tables.policies.design": "Accuracy COUNT PriorRecords design_records",
        "designer.tables.policies.hierarchies": "Hierarchy",
        "designer.tables.policies.policies": "GaussianSums",
        "designer.tables.policies.slow_policies": "StudentNoise TransformedNoise",
        "designer.tables.queries": "Average Count CountDistinct Sum variance_for",
        "designer.tables.variance_by": "VarianceBy",
    },
)
