"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from designer.relations import invariants, metrics
    from designer.mechanisms.additive.interface import Mechanism
    from designer.mechanisms.additive.mechanism import AdditiveMechanism
    from designer.mechanisms.additive.release import Release
    from designer.certified.about import About
    from designer.certified.certificate import PrivacyCertificate
    from designer.certified.guarantee import Guarantee
    from designer.certified.optimality import Optimality
    from designer.designing.best import design
    from designer.designing.comparison import Comparison, compare
    from designer.designing.least import LeastBudget, least_budget
    from designer.families.made import Design
    from designer.relations.problem import Problem
    from designer.designing.structured_problem import StructuredDesign, StructuredProblem
    from designer.reports.pictures.collected import plot
    from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
    from designer.files.releases import read_release, save_release, verify_release
    from designer.files.spec import load
    from designer.files.problem.linear import read_problem
    from designer.problem.domain import Domain
    from designer.problem.targets import Targets
    from designer.problem.workload import Workload
    from designer.base.version import VERSION as __version__

# Where each public name lives; it is imported when it is first asked for.
_HOMES = {
    "designer.mechanisms.additive.interface": "Mechanism",
    "designer.mechanisms.additive.mechanism": "AdditiveMechanism",
    "designer.mechanisms.additive.release": "Release",
    "designer.certified.about": "About",
    "designer.certified.certificate": "PrivacyCertificate",
    "designer.certified.guarantee": "Guarantee",
    "designer.certified.optimality": "Optimality",
    "designer.designing.best": "design",
    "designer.designing.comparison": "Comparison compare",
    "designer.designing.least": "LeastBudget least_budget",
    "designer.families.made": "Design",
    "designer.relations.problem": "Problem",
    "designer.designing.structured_problem": "StructuredDesign StructuredProblem",
    "designer.reports.pictures.collected": "plot",
    "designer.base.errors": "DesignFailed InvalidProblem InvalidSpec NotPrivate",
    "designer.files.releases": "read_release save_release verify_release",
    "designer.files.spec": "load",
    "designer.files.problem.linear": "read_problem",
    "designer.problem.domain": "Domain",
    "designer.problem.targets": "Targets",
    "designer.problem.workload": "Workload",
    "designer.base.version": "__version__=VERSION",
}
_ROOMS = ("invariants", "metrics")

__all__ = [
    "About",
    "AdditiveMechanism",
    "Comparison",
    "Design",
    "DesignFailed",
    "Domain",
    "Guarantee",
    "InvalidProblem",
    "InvalidSpec",
    "LeastBudget",
    "Mechanism",
    "NotPrivate",
    "Optimality",
    "PrivacyCertificate",
    "Problem",
    "Release",
    "StructuredDesign",
    "StructuredProblem",
    "Targets",
    "Workload",
    "__version__",
    "compare",
    "design",
    "invariants",
    "least_budget",
    "load",
    "metrics",
    "plot",
    "read_problem",
    "read_release",
    "save_release",
    "verify_release",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"designer.{name}")
    for home, names in _HOMES.items():
        for given in names.split():
            public, _, own = given.partition("=")
            if public == name:
                found = globals()[name] = getattr(import_module(home), own or public)
                return found
    raise AttributeError(f"module 'designer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
