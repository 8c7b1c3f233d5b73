"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from designer import invariants, metrics
    from designer.additive.interface import Mechanism
    from designer.additive.mechanism import AdditiveMechanism
    from designer.additive.release import Release
    from designer.certified.about import About
    from designer.certified.certificate import PrivacyCertificate
    from designer.certified.guarantee import Guarantee
    from designer.certified.optimality import Optimality
    from designer.designing.best import design
    from designer.designing.comparison import Comparison, compare
    from designer.designing.least import LeastBudget, least_budget
    from designer.designing.made import Design
    from designer.designing.problem import Problem
    from designer.designing.structured_problem import StructuredDesign, StructuredProblem
    from designer.drawings.collected import plot
    from designer.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
    from designer.files.releases import read_release, save_release, verify_release
    from designer.files.spec import load
    from designer.problem_files.linear import read_problem
    from designer.question.domain import Domain
    from designer.question.targets import Targets
    from designer.question.workload import Workload
    from designer.version import VERSION as __version__

# Where each public name lives; it is imported when it is first asked for.
_HOMES = {
    "designer.additive.interface": "Mechanism",
    "designer.additive.mechanism": "AdditiveMechanism",
    "designer.additive.release": "Release",
    "designer.certified.about": "About",
    "designer.certified.certificate": "PrivacyCertificate",
    "designer.certified.guarantee": "Guarantee",
    "designer.certified.optimality": "Optimality",
    "designer.designing.best": "design",
    "designer.designing.comparison": "Comparison compare",
    "designer.designing.least": "LeastBudget least_budget",
    "designer.designing.made": "Design",
    "designer.designing.problem": "Problem",
    "designer.designing.structured_problem": "StructuredDesign StructuredProblem",
    "designer.drawings.collected": "plot",
    "designer.errors": "DesignFailed InvalidProblem InvalidSpec NotPrivate",
    "designer.files.releases": "read_release save_release verify_release",
    "designer.files.spec": "load",
    "designer.problem_files.linear": "read_problem",
    "designer.question.domain": "Domain",
    "designer.question.targets": "Targets",
    "designer.question.workload": "Workload",
    "designer.version": "__version__=VERSION",
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
