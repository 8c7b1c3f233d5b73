"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from designer.base.errors import DesignFailed, InvalidLedger, InvalidProblem, InvalidSpec, NotPrivate, OverTotal, Refusal
    from designer.base.version import VERSION as __version__
    from designer.certified.about import About
    from designer.certified.certificate import PrivacyCertificate
    from designer.certified.guarantee import Guarantee, Optimality
    from designer.designing.best import design
    from designer.designing.comparison import Comparison, compare
    from designer.designing.least import LeastBudget, least_budget
    from designer.designing.problems import HierarchyProblem, MarginalProblem, PlanProblem, SelectionProblem, SyntheticProblem
    from designer.designing.structured_problem import StructuredProblem
    from designer.families import programs
    from designer.families.averages.queries import Statistic, StatisticalQueries, Term
    from designer.families.made import Design
    from designer.files import datasets
    from designer.files.problem.linear import read_problem
    from designer.files.releases import read_release, save_release, verify_release
    from designer.files.spec import load
    from designer.mechanisms.additive.interface import Mechanism
    from designer.mechanisms.additive.mechanism import AdditiveMechanism
    from designer.mechanisms.additive.release import Release
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
    from designer.relations import invariants, metrics
    from designer.relations.problem import Problem
    from designer.reports.pictures.chosen_balls import norm_ball
    from designer.reports.pictures.drawing import Drawing
    from designer.reports.pictures.kinds import drawings_of, plot
    from designer.reports.pictures.places import placed_drawing

# Where each public name lives; it is imported when it is first asked for.
_HOMES = {
    "designer.base.errors": "DesignFailed InvalidLedger InvalidProblem InvalidSpec NotPrivate OverTotal Refusal",
    "designer.base.version": "__version__=VERSION",
    "designer.certified.about": "About",
    "designer.certified.certificate": "PrivacyCertificate",
    "designer.certified.guarantee": "Guarantee Optimality",
    "designer.designing.best": "design",
    "designer.designing.comparison": "Comparison compare",
    "designer.designing.least": "LeastBudget least_budget",
    "designer.designing.problems": "HierarchyProblem MarginalProblem PlanProblem SelectionProblem SyntheticProblem",
    "designer.designing.structured_problem": "StructuredProblem",
    "designer.families.averages.queries": "Statistic StatisticalQueries Term",
    "designer.families.made": "Design",
    "designer.files.problem.linear": "read_problem",
    "designer.files.releases": "read_release save_release verify_release",
    "designer.files.spec": "load",
    "designer.mechanisms.additive.interface": "Mechanism",
    "designer.mechanisms.additive.mechanism": "AdditiveMechanism",
    "designer.mechanisms.additive.release": "Release",
    "designer.mechanisms.choice.mechanism": "Choice Selection largest_rate",
    "designer.mechanisms.marginals.mechanism": "MarginalMechanism",
    "designer.mechanisms.marginals.protection": "Presence",
    "designer.mechanisms.marginals.release": "MarginalRelease",
    "designer.mechanisms.marginals.whole": "WholeTables whole_tables",
    "designer.mechanisms.products.mechanism": "StructuredMechanism",
    "designer.mechanisms.products.release": "StructuredRelease",
    "designer.problem.attribute_queries": "AttributeQueries",
    "designer.problem.domain": "Domain",
    "designer.problem.histogram": "Counts",
    "designer.problem.marginals_workload": "MarginalWorkload",
    "designer.problem.products_workload": "StructuredWorkload",
    "designer.problem.targets": "Targets",
    "designer.problem.workload": "Workload",
    "designer.relations.problem": "Problem",
    "designer.reports.pictures.chosen_balls": "norm_ball",
    "designer.reports.pictures.drawing": "Drawing",
    "designer.reports.pictures.kinds": "drawings_of plot",
    "designer.reports.pictures.places": "placed_drawing",
}
_ROOMS = {
    "accounting": "designer.accounting",
    "datasets": "designer.files.datasets",
    "extend": "designer.extend",
    "invariants": "designer.relations.invariants",
    "metrics": "designer.relations.metrics",
    "programs": "designer.families.programs",
}

__all__ = [
    "About",
    "AdditiveMechanism",
    "AttributeQueries",
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


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found = globals()[name] = import_module(_ROOMS[name])
        return found
    for home, names in _HOMES.items():
        for given in names.split():
            public, _, own = given.partition("=")
            if public == name:
                found = globals()[name] = getattr(import_module(home), own or public)
                return found
    raise AttributeError(f"module 'designer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
