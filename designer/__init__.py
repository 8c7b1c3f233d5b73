"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

from typing import TYPE_CHECKING

from designer.base.lazily import public_names

if TYPE_CHECKING:
    from designer.base.errors import (
        CannotWrite,
        DesignFailed,
        InvalidLedger,
        InvalidProblem,
        InvalidSpec,
        LedgerUnavailable,
        NotPrivate,
        OverTotal,
        Refusal,
    )
    from designer.base.version import VERSION as __version__
    from designer.certified.about import About
    from designer.certified.certificate import PrivacyCertificate
    from designer.certified.guarantee import Guarantee, Optimality
    from designer.designing.best import design
    from designer.designing.comparison import Comparison, compare
    from designer.designing.least import LeastBudget, least_budget
    from designer.designing.problems import HierarchyProblem, MarginalProblem, PlanProblem, SelectionProblem, SyntheticProblem
    from designer.designing.structured_problem import StructuredProblem
    from designer.families.averages.queries import Statistic, StatisticalQueries, Term
    from designer.families.made import Design
    from designer.files.problem.linear import read_problem
    from designer.files.releases import read_release, save_release, verify_release
    from designer.files.spec import load
    from designer.mechanisms.additive.interface import Mechanism
    from designer.mechanisms.additive.mechanism import AdditiveMechanism
    from designer.mechanisms.additive.release import Release
    from designer.mechanisms.channel.mechanism import Channel
    from designer.mechanisms.channel.problem import ReportProblem
    from designer.mechanisms.choice.mechanism import Choice, Selection, largest_rate
    from designer.mechanisms.marginals.mechanism import MarginalMechanism
    from designer.mechanisms.marginals.protection import Presence
    from designer.mechanisms.marginals.release import MarginalRelease
    from designer.mechanisms.marginals.whole import WholeTables, whole_tables
    from designer.mechanisms.products.mechanism import StructuredMechanism
    from designer.mechanisms.products.release import StructuredRelease
    from designer.problem.attribute_queries import AttributeQueries
    from designer.problem.domain import Domain
    from designer.problem.histogram import Counts
    from designer.problem.marginals_workload import MarginalWorkload
    from designer.problem.products_workload import StructuredWorkload
    from designer.problem.targets import Targets
    from designer.problem.workload import Workload
    from designer.relations.problem import Problem
    from designer.reports.pictures.chosen_balls import norm_ball
    from designer.reports.pictures.drawing import Drawing
    from designer.reports.pictures.kinds import drawings_of, plot
    from designer.reports.pictures.places import placed_drawing

__all__ = [
    "About",
    "AdditiveMechanism",
    "AttributeQueries",
    "CannotWrite",
    "Channel",
    "Choice",
    "Comparison",
    "Counts",
    "Design",
    "DesignFailed",
    "Domain",
    "Drawing",
    "Guarantee",
    "HierarchyProblem",
    "InvalidLedger",
    "InvalidProblem",
    "InvalidSpec",
    "LeastBudget",
    "LedgerUnavailable",
    "MarginalMechanism",
    "MarginalProblem",
    "MarginalRelease",
    "MarginalWorkload",
    "Mechanism",
    "NotPrivate",
    "Optimality",
    "OverTotal",
    "PlanProblem",
    "Presence",
    "PrivacyCertificate",
    "Problem",
    "Refusal",
    "Release",
    "ReportProblem",
    "Selection",
    "SelectionProblem",
    "Statistic",
    "StatisticalQueries",
    "StructuredMechanism",
    "StructuredProblem",
    "StructuredRelease",
    "StructuredWorkload",
    "SyntheticProblem",
    "Targets",
    "Term",
    "WholeTables",
    "Workload",
    "__version__",
    "accounting",
    "compare",
    "datasets",
    "design",
    "drawings_of",
    "extend",
    "invariants",
    "largest_rate",
    "lattices",
    "least_budget",
    "load",
    "metrics",
    "norm_ball",
    "placed_drawing",
    "plot",
    "programs",
    "read_problem",
    "read_release",
    "save_release",
    "verify_release",
    "whole_tables",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "base.errors": (
            "CannotWrite DesignFailed InvalidLedger InvalidProblem InvalidSpec LedgerUnavailable NotPrivate OverTotal Refusal"
        ),
        "base.version": "__version__=VERSION",
        "certified.about": "About",
        "certified.certificate": "PrivacyCertificate",
        "certified.guarantee": "Guarantee Optimality",
        "designing.best": "design",
        "designing.comparison": "Comparison compare",
        "designing.least": "LeastBudget least_budget",
        "designing.problems": "HierarchyProblem MarginalProblem PlanProblem SelectionProblem SyntheticProblem",
        "designing.structured_problem": "StructuredProblem",
        "families.averages.queries": "Statistic StatisticalQueries Term",
        "families.made": "Design",
        "files.problem.linear": "read_problem",
        "files.releases": "read_release save_release verify_release",
        "files.spec": "load",
        "mechanisms.additive.interface": "Mechanism",
        "mechanisms.additive.mechanism": "AdditiveMechanism",
        "mechanisms.additive.release": "Release",
        "mechanisms.channel.mechanism": "Channel",
        "mechanisms.channel.problem": "ReportProblem",
        "mechanisms.choice.mechanism": "Choice Selection largest_rate",
        "mechanisms.marginals.mechanism": "MarginalMechanism",
        "mechanisms.marginals.protection": "Presence",
        "mechanisms.marginals.release": "MarginalRelease",
        "mechanisms.marginals.whole": "WholeTables whole_tables",
        "mechanisms.products.mechanism": "StructuredMechanism",
        "mechanisms.products.release": "StructuredRelease",
        "problem.attribute_queries": "AttributeQueries",
        "problem.domain": "Domain",
        "problem.histogram": "Counts",
        "problem.marginals_workload": "MarginalWorkload",
        "problem.products_workload": "StructuredWorkload",
        "problem.targets": "Targets",
        "problem.workload": "Workload",
        "relations.problem": "Problem",
        "reports.pictures.chosen_balls": "norm_ball",
        "reports.pictures.drawing": "Drawing",
        "reports.pictures.kinds": "drawings_of plot",
        "reports.pictures.places": "placed_drawing",
        "accounting": "accounting=",
        "extend": "extend=",
        "programs": "programs=",
        "datasets": "datasets=",
        "invariants": "invariants=",
        "lattices": "lattices=",
        "metrics": "metrics=",
    },
)
