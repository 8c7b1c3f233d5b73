"""Convex programs of the field in CVXPY, to read, to change and to solve."""

from designer.families.programs import *  # noqa: F403
from designer.families.programs import __all__ as __all__
