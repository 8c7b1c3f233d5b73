"""Statistics that are published exactly beside the noise."""

from designer.relations.invariants import *  # noqa: F403
from designer.relations.invariants import __all__ as __all__
