"""Per-record private releases of tables of any size: plans of queries, with their policies, run where the records live."""

from designer.problem.unlisted import OTHERS
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
