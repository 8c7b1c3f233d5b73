"""Structured workloads: Kronecker products of queries of single attributes and unions of them, of any number of queries."""

from designer.structured.attribute_queries import AttributeQueries
from designer.structured.mechanism import StructuredMechanism
from designer.structured.plan import design_structured
from designer.structured.release import StructuredRelease
from designer.structured.workload import StructuredWorkload

__all__ = [
    "AttributeQueries",
    "StructuredMechanism",
    "StructuredRelease",
    "StructuredWorkload",
    "design_structured",
]
