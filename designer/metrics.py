"""Metrics: what each pair of records may cost.

>>> from designer.metrics import uniform
>>> uniform(3, epsilon=1.0)
Uniform(elements=3, epsilon=1.0)
"""

from designer.relations.metrics import *  # noqa: F403
from designer.relations.metrics import __all__ as __all__
