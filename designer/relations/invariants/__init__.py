"""Invariants: statistics that are published exactly beside the noise,
and the relations that they leave to protect (SEMI section 3)."""

from __future__ import annotations

from designer.relations.invariants.invariant import Invariant, linear, margins, partition, total
from designer.relations.invariants.linked_tables import LinkedTables, linked
from designer.relations.invariants.statistics import Statistics

__all__ = ["Invariant", "LinkedTables", "Statistics", "linear", "linked", "margins", "partition", "total"]
