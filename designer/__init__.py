"""Designs the noise of privacy mechanisms for linear queries, and proves it.

>>> from designer import Problem, Workload, design, metrics
>>> problem = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.euclidean([[0, 0], [0, 3], [4, 0]], per_unit=0.5))
>>> design(problem).privacy.holds
True
"""

from designer import invariants, metrics
from designer.certificate import PrivacyCertificate
from designer.compare import Comparison, compare
from designer.design import Design, design
from designer.domain import Domain
from designer.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.files.problem_file import read_problem
from designer.files.spec import load
from designer.guarantee import Guarantee
from designer.mechanism import Mechanism
from designer.optimality import Optimality
from designer.problem import Problem
from designer.release import Release
from designer.version import VERSION as __version__
from designer.workload import Workload

__all__ = [
    "Comparison",
    "Design",
    "DesignFailed",
    "Domain",
    "Guarantee",
    "InvalidProblem",
    "InvalidSpec",
    "Mechanism",
    "NotPrivate",
    "Optimality",
    "PrivacyCertificate",
    "Problem",
    "Release",
    "Workload",
    "__version__",
    "compare",
    "design",
    "invariants",
    "load",
    "metrics",
    "read_problem",
]
