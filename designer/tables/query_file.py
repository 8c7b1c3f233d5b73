"""Queries from the plain data of a spec, each kind from a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from designer.errors import InvalidSpec
from designer.tables.condition import Condition
from designer.tables.groups import Groups
from designer.tables.measure import Measure
from designer.tables.quantile import Quantile
from designer.tables.queries import Average, Count, CountDistinct, Query, Sum
from designer.values.json_text import require_keys

KINDS: dict[str, type[Query]] = {cls.kind: cls for cls in (Count, CountDistinct, Sum, Average, Quantile)}
OWN_KEYS = {
    Count.kind: {"variance"},
    CountDistinct.kind: {"variance", "of"},
    Sum.kind: {"variance", "measure"},
    Average.kind: {"variance", "measure", "count_variance"},
    Quantile.kind: {"measure", "q", "candidates", "rho", "rate"},
}


def query_from_spec(spec: Mapping[str, Any], levels: list[Groups]) -> Query:
    """The query that `query_to_spec` wrote; InvalidSpec or InvalidProblem for anything else."""
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if kind not in KINDS:
        raise InvalidSpec(f"query.kind: must be one of {sorted(KINDS)}.")
    require_keys(spec, {"kind", "name", "groups", "where", *OWN_KEYS[kind]}, "query")
    if type(spec["groups"]) is not int or not 0 <= spec["groups"] < len(levels):
        raise InvalidSpec(f"query.groups: must be a place among the {len(levels)} groups of the plan.")
    own = {key: spec[key] for key in OWN_KEYS[kind]}
    if "measure" in own:
        own["measure"] = Measure.from_spec(own["measure"])
    if "candidates" in own:
        own["candidates"] = tuple(own["candidates"])
    where = tuple(map(Condition.from_spec, spec["where"]))
    return KINDS[kind](name=spec["name"], groups=levels[spec["groups"]], where=where, **own)


def query_to_spec(query: Query, levels: list[Groups]) -> dict[str, Any]:
    """Plain data; groups by their place in the plan, because lists of keys are long and shared."""
    return {**query.to_spec(), "groups": levels.index(query.groups)}
