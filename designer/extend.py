"""What a family, a metric, a norm or a picture of your own needs; it serves the program that defines it, and no file can ask
for it.

>>> from designer.extend import Norm
>>> Norm([1.0, 2.0], "l2").dimension
2
"""

from designer.certified.norms import Norm
from designer.families.family import Family
from designer.families.laplace import mechanism as laplace_mechanism
from designer.families.listed import forget, register
from designer.families.measured import moving_coordinates
from designer.families.repair import freeze, on_heard
from designer.mechanisms.additive.noise import Grid
from designer.relations.metrics.metric import Metric
from designer.reports.pictures.figures import figure
from designer.reports.pictures.registered import register_picture

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
