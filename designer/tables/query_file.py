"""Queries from the plain data of a spec, each kind from a closed list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from designer.base.errors import InvalidSpec
from designer.base.schema import ClosedList, Named, either
from designer.tables.condition import Condition
from designer.tables.groups import Groups
from designer.tables.measure import Measure
from designer.tables.other_noise import PureSum, Quantile, SlowlyScaledSum, slow_noise_from_spec
from designer.tables.queries import ASKED, Average, Count, CountDistinct, Query, Sum
from designer.tables.variance_by import VarianceBy

KINDS: dict[str, type[Query]] = {
    cls.kind: cls for cls in (Count, CountDistinct, Sum, Average, Quantile, PureSum, SlowlyScaledSum)
}
QUERY = Named("query", either(*(cls.schema for cls in KINDS.values())))


def query_from_spec(spec: Any, levels: list[Groups]) -> Query:
    """The query that `query_to_spec` wrote; InvalidSpec or InvalidProblem for anything else."""
    return LISTED.read(spec, levels)


def _reader(kind: type[Query]) -> Callable[[Mapping[str, Any], list[Groups]], Query]:
    def read(spec: Mapping[str, Any], levels: list[Groups]) -> Query:
        if type(spec["groups"]) is not int or not 0 <= spec["groups"] < len(levels):
            raise InvalidSpec(f"query.groups: must be a place among the {len(levels)} groups of the plan.")
        own = {key: value for key, value in spec.items() if key not in {"kind", *ASKED}}
        if "measure" in own:
            own["measure"] = Measure.from_spec(own["measure"])
        if "candidates" in own:
            own["candidates"] = tuple(own["candidates"])
        if "noise" in own:
            own["noise"] = slow_noise_from_spec(own["noise"])
        for key in {"variance", "count_variance"} & set(own):
            own[key] = VarianceBy.from_spec(own[key]) if isinstance(own[key], dict) else own[key]
        where = tuple(map(Condition.from_spec, spec["where"]))
        return kind(name=spec["name"], groups=levels[spec["groups"]], where=where, **own)

    return read


LISTED: ClosedList[Query] = ClosedList("query", {kind: (cls.schema, _reader(cls)) for kind, cls in KINDS.items()})


def query_to_spec(query: Query, levels: list[Groups]) -> dict[str, Any]:
    """Plain data; groups by their place in the plan, because lists of keys are long and shared."""
    return {"kind": query.kind, "name": query.name, "groups": levels.index(query.groups), **query.to_spec()}
