"""Convex programs of the field in CVXPY, to read, to change and to solve."""

from typing import TYPE_CHECKING

from designer.families import programs
from designer.families.programs import __all__ as __all__

if TYPE_CHECKING:
    from designer.families.programs import *  # noqa: F403

__getattr__, __dir__ = programs.__getattr__, programs.__dir__
