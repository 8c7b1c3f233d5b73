"""Public data that the examples use, each with its source."""

from designer.files.datasets import *  # noqa: F403
from designer.files.datasets import __all__ as __all__
