"""What a family, a metric, a norm or a picture of your own needs; it serves the program that defines it, and no file can ask
for it.

>>> from designer.extend import Norm
>>> Norm([1.0, 2.0], "l2").dimension
2
"""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names
from designer.certificate.norms import Norm
from designer.designing.family import Family
from designer.designing.laplace import mechanism as laplace_mechanism
from designer.designing.listed import forget, register
from designer.designing.measured import moving_coordinates
from designer.designing.repair import freeze, on_heard
from designer.mechanism.noise import Grid
from designer.relations.metrics.metric import Metric

if TYPE_CHECKING:
    from designer.publish.pictures.figures import figure
    from designer.publish.pictures.kinds import register_picture

__all__ = [
    "Family",
    "Grid",
    "Metric",
    "Norm",
    "figure",
    "forget",
    "freeze",
    "laplace_mechanism",
    "moving_coordinates",
    "on_heard",
    "register",
    "register_picture",
]
__getattr__, __dir__ = public_names(
    __name__, {"designer.publish.pictures.figures": "figure", "designer.publish.pictures.kinds": "register_picture"}
)
