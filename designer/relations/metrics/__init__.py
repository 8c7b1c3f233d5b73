"""dX metrics: a budget for every pair of universe elements (DX Definition 2), and the relations in which records appear,
beside them.

The functions below are the public names; the rooms they come from are named after the mathematics. A metric need not be handed
over as N x N numbers: points, attributes and graphs generate their budgets in blocks, and drop the pairs that the triangle
inequality of every norm implies (docs/theory/foundations.md, 4; docs/theory/metrics.md).
"""

from __future__ import annotations

from designer.relations.metrics.algebra import from_matrix, maximum, restriction, root_sum_squares
from designer.relations.metrics.attributes import attribute_values, hamming, product
from designer.relations.metrics.blowfish_policies import (
    blowfish,
    blowfish_attribute,
    blowfish_full_domain,
    blowfish_graph,
    blowfish_partition,
    smooth_threshold,
)
from designer.relations.metrics.element_budgets import instance, partition, per_element
from designer.relations.metrics.graphs import graph
from designer.relations.metrics.metric import scaled, sum_of, uniform
from designer.relations.metrics.points import chebyshev, euclidean, great_circle, line, manhattan
from designer.relations.metrics.presence import add_remove, after_noisy_total, appear_or_change, number_of_records
from designer.relations.metrics.taxonomies import taxonomy

__all__ = [
    "add_remove",
    "after_noisy_total",
    "appear_or_change",
    "attribute_values",
    "blowfish",
    "blowfish_attribute",
    "blowfish_full_domain",
    "blowfish_graph",
    "blowfish_partition",
    "chebyshev",
    "euclidean",
    "from_matrix",
    "graph",
    "great_circle",
    "hamming",
    "instance",
    "line",
    "manhattan",
    "maximum",
    "number_of_records",
    "partition",
    "per_element",
    "product",
    "restriction",
    "root_sum_squares",
    "scaled",
    "smooth_threshold",
    "sum_of",
    "taxonomy",
    "uniform",
]
