"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names

if TYPE_CHECKING:
    from designer.averages.queries import Statistic, StatisticalQueries, Term
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
    from designer.certificate.certificate import PrivacyCertificate
    from designer.certificate.guarantee import About, Guarantee, Optimality
    from designer.designing.comparison import Comparison, compare
    from designer.designing.design_result import Design
    from designer.designing.dispatch import design
    from designer.designing.least import LeastBudget, least_budget
    from designer.domains.marginals import MarginalMechanism, MarginalRelease
    from designer.domains.marginals_spec import WholeTables, whole_tables
    from designer.domains.marginals_workload import MarginalWorkload
    from designer.domains.problem import MarginalProblem
    from designer.domains.products import StructuredMechanism
    from designer.domains.products_release import StructuredRelease
    from designer.domains.products_workload import AttributeQueries, StructuredWorkload
    from designer.domains.structured_problem import StructuredProblem
    from designer.files.releases import read_release, save_release, verify_release
    from designer.files.spec import load
    from designer.local.mechanism import Channel
    from designer.local.problem import ReportProblem
    from designer.mechanism.additive import AdditiveMechanism
    from designer.mechanism.interface import Mechanism
    from designer.mechanism.release import Release
    from designer.problem.domain import Domain
    from designer.problem.histogram import Counts
    from designer.problem.targets import Targets
    from designer.problem.workload import Workload
    from designer.problem_file.linear import read_problem
    from designer.publish.pictures.chosen_balls import norm_ball
    from designer.publish.pictures.drawing import Drawing
    from designer.publish.pictures.kinds import drawings_of, plot
    from designer.publish.pictures.places import placed_drawing
    from designer.relations.metrics.presence import Presence
    from designer.relations.problem import Problem
    from designer.selection.mechanism import Choice, Selection, largest_rate
    from designer.selection.problem import SelectionProblem
    from designer.synthetic.problem import SyntheticProblem
    from designer.tables.problem import HierarchyProblem, PlanProblem

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
        "designer.base.errors": (
            "CannotWrite DesignFailed InvalidLedger InvalidProblem InvalidSpec LedgerUnavailable NotPrivate OverTotal Refusal"
        ),
        "designer.base.version": "__version__=VERSION",
        "designer.certificate.guarantee": "About Guarantee Optimality",
        "designer.certificate.certificate": "PrivacyCertificate",
        "designer.designing.dispatch": "design",
        "designer.designing.comparison": "Comparison compare",
        "designer.designing.least": "LeastBudget least_budget",
        "designer.domains.problem": "MarginalProblem",
        "designer.selection.problem": "SelectionProblem",
        "designer.synthetic.problem": "SyntheticProblem",
        "designer.tables.problem": "HierarchyProblem PlanProblem",
        "designer.domains.structured_problem": "StructuredProblem",
        "designer.averages.queries": "Statistic StatisticalQueries Term",
        "designer.designing.design_result": "Design",
        "designer.problem_file.linear": "read_problem",
        "designer.files.releases": "read_release save_release verify_release",
        "designer.files.spec": "load",
        "designer.mechanism.interface": "Mechanism",
        "designer.mechanism.additive": "AdditiveMechanism",
        "designer.mechanism.release": "Release",
        "designer.local.mechanism": "Channel",
        "designer.local.problem": "ReportProblem",
        "designer.selection.mechanism": "Choice Selection largest_rate",
        "designer.domains.marginals": "MarginalMechanism MarginalRelease",
        "designer.relations.metrics.presence": "Presence",
        "designer.domains.marginals_spec": "WholeTables whole_tables",
        "designer.domains.products": "StructuredMechanism",
        "designer.domains.products_release": "StructuredRelease",
        "designer.domains.products_workload": "AttributeQueries StructuredWorkload",
        "designer.problem.domain": "Domain",
        "designer.problem.histogram": "Counts",
        "designer.domains.marginals_workload": "MarginalWorkload",
        "designer.problem.targets": "Targets",
        "designer.problem.workload": "Workload",
        "designer.relations.problem": "Problem",
        "designer.publish.pictures.chosen_balls": "norm_ball",
        "designer.publish.pictures.drawing": "Drawing",
        "designer.publish.pictures.kinds": "drawings_of plot",
        "designer.publish.pictures.places": "placed_drawing",
        "designer.accounting": "accounting=",
        "designer.extend": "extend=",
        "designer.programs": "programs=",
        "designer.datasets": "datasets=",
        "designer.invariants": "invariants=",
        "designer.lattices": "lattices=",
        "designer.metrics": "metrics=",
    },
)
