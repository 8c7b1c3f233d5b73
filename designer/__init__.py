"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

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
from designer.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.files.releases import read_release, save_release, verify_release
from designer.files.spec import load
from designer.problem_files.linear import read_problem
from designer.question.domain import Domain
from designer.question.targets import Targets
from designer.question.workload import Workload
from designer.version import VERSION as __version__

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
    "read_problem",
    "read_release",
    "save_release",
    "verify_release",
]
