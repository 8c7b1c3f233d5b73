"""Invariants: statistics that are published exactly beside the noise,
and the relations that they leave to protect (SEMI section 3)."""

from __future__ import annotations

from designer.relations.invariants.adjacency import (
    ZCDP,
    Conforming,
    Scope,
    ScopedPromise,
    allocation,
    by_distance,
    compare_promises,
    composition_first,
    semi_adjacency,
    semi_first,
    under_invariant,
)
from designer.relations.invariants.invariant import Invariant, joint, linear, margins, partition, total
from designer.relations.invariants.linked_tables import LinkedTables, linked
from designer.relations.invariants.statistics import Statistics

__all__ = [
    "ZCDP",
    "Conforming",
    "Invariant",
    "LinkedTables",
    "Scope",
    "ScopedPromise",
    "Statistics",
    "allocation",
    "by_distance",
    "compare_promises",
    "composition_first",
    "joint",
    "linear",
    "linked",
    "margins",
    "partition",
    "semi_adjacency",
    "semi_first",
    "total",
    "under_invariant",
]
