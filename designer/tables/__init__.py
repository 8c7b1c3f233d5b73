"""Per-record private releases of tables of any size: plans of queries, with their policies, run where the records live."""

from typing import TYPE_CHECKING

from designer.base.lazily import public_names
from designer.problem.unlisted import OTHERS

if TYPE_CHECKING:
    from designer.tables.answers import Answer, TableRelease
    from designer.tables.condition import Condition
    from designer.tables.from_records import consistent_levels
    from designer.tables.groups import Groups, hierarchy, nested_codes, tree
    from designer.tables.key import Key
    from designer.tables.margins import consistent_margins
    from designer.tables.measure import Measure
    from designer.tables.other_noise import PureSum, SlowlyScaledSum
    from designer.tables.partition_selection import PartitionSelection
    from designer.tables.plan import TablePlan
    from designer.tables.plan_words import PolicyCertificate
    from designer.tables.policies.design import design_records
    from designer.tables.policies.hierarchies import Hierarchy
    from designer.tables.policies.policies import GaussianSums
    from designer.tables.policies.slow_policies import StudentNoise, TransformedNoise
    from designer.tables.policies.targets import COUNT, Accuracy, PriorRecords
    from designer.tables.quantile import Quantile
    from designer.tables.queries import Average, Count, CountDistinct, Sum, variance_for
    from designer.tables.unit_splitting import UnitSplitting
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
        "answers": "Answer TableRelease",
        "condition": "Condition",
        "from_records": "consistent_levels",
        "groups": "Groups hierarchy nested_codes tree",
        "key": "Key",
        "margins": "consistent_margins",
        "measure": "Measure",
        "other_noise": "PureSum SlowlyScaledSum",
        "partition_selection": "PartitionSelection",
        "plan": "TablePlan",
        "plan_words": "PolicyCertificate",
        "policies.design": "design_records",
        "policies.hierarchies": "Hierarchy",
        "policies.policies": "GaussianSums",
        "policies.slow_policies": "StudentNoise TransformedNoise",
        "policies.targets": "COUNT Accuracy PriorRecords",
        "quantile": "Quantile",
        "queries": "Average Count CountDistinct Sum variance_for",
        "unit_splitting": "UnitSplitting",
        "variance_by": "VarianceBy",
    },
)
