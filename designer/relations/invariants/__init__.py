"""Invariants: statistics that are published exactly beside the noise,
and the relations that they leave to protect (SEMI section 3)."""

from __future__ import annotations

from designer.relations.invariants.adjacency import ZCDP, Scope, semi_adjacency, under_invariant
from designer.relations.invariants.invariant import Invariant, linear, margins, partition, total
from designer.relations.invariants.linked_tables import LinkedTables, linked
from designer.relations.invariants.statistics import Statistics

__all__ = [
    "ZCDP",
    "Invariant",
    "LinkedTables",
    "Scope",
    "Statistics",
    "linear",
    "linked",
    "margins",
    "partition",
    "semi_adjacency",
    "total",
    "under_invariant",
]
