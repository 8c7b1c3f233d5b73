"""The pieces that specs are made of, to and from plain data: relations, norms and workloads, each from a closed list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from designer.base.checks import shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import canonical
from designer.base.schema import ClosedList, Named, either, noted
from designer.problem.relation import Relation, of_ones_own
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.algebra import Matrix, Maximum, Restricted, RootSumSquares
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.blowfish_policies import SmoothThreshold, Threshold
from designer.relations.metrics.element_budgets import Instance, Partition, PerElement
from designer.relations.metrics.graphs import Graph
from designer.relations.metrics.metric import Metric, Scaled, SumOfMetrics, Uniform
from designer.relations.metrics.points import Chebyshev, Euclidean, GreatCircle, Manhattan, Ordered
from designer.relations.metrics.presence import AddRemove, AppearOrChange
from designer.relations.metrics.taxonomies import Taxonomy
from designer.relations.row_groups import RowGroups

RELATIONS: dict[str, type[Relation]] = {
    cls.kind: cls
    for cls in (
        Uniform,
        PerElement,
        Instance,
        Partition,
        Matrix,
        Euclidean,
        GreatCircle,
        Ordered,
        Chebyshev,
        Manhattan,
        Graph,
        Taxonomy,
        Threshold,
        SmoothThreshold,
        Hamming,
        Product,
        Scaled,
        SumOfMetrics,
        Maximum,
        RootSumSquares,
        Restricted,
        AddRemove,
        AppearOrChange,
        RowGroups,
        InvariantChanges,
        InvariantMetric,
        InvariantDistance,
        LinkedChanges,
    )
}

# Metrics hold metrics by this name. Changes of any size under an invariant are for integer noise on its kernel alone.
METRIC = Named(
    "metric",
    noted("Metrics nest at most 8 deep.", either(*(cls.schema for cls in RELATIONS.values() if issubclass(cls, Metric)))),
)
OTHERS = (AddRemove, AppearOrChange, RowGroups, InvariantChanges, InvariantMetric, LinkedChanges)
RELATION = Named("relation", either(METRIC, *(cls.schema for cls in OTHERS)))
OF_INVARIANTS = either(*(cls.schema for cls in (InvariantChanges, InvariantMetric, InvariantDistance, LinkedChanges)))


def require_listed(relation: Relation) -> None:
    """Refuse a relation that no reader of a spec would know: of a class of the caller, or with one inside."""
    if of_ones_own(type(relation)) or relation.kind not in RELATIONS:
        raise InvalidProblem(
            f"relation: {shown(relation.kind)} is a rule of your own, which no file can hold: what reads a spec knows only "
            "its list of kinds. Release from the object that you have, or use metrics.from_matrix(rule.distances()) in its "
            "place.",
            value=relation.kind,
        )
    for part in relation.inner():
        require_listed(part)


def relation_from_spec(spec: Any) -> Relation:
    """The relation of a spec: one of `RELATIONS`, written as this program writes it; `InvalidSpec` otherwise."""
    relation = KINDS.read(spec)
    if canonical(relation.to_spec()) != canonical(spec):
        raise InvalidSpec(
            f"relation: the entries {sorted(spec)} do not describe a relation of kind {spec['kind']!r} exactly; give its "
            "keys, all of them.",
        )
    return relation


def _reader(kind: type[Relation]) -> Callable[[Mapping[str, Any]], Relation]:
    return lambda spec: kind.from_spec(
        {key: value if key in TEXTS else _with_infinity(value) for key, value in spec.items()}, relation_from_spec
    )


TEXTS = ("names", "attributes", "values", "labels")  # of which "inf" may be one; numbers under these keys are finite


def _with_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_infinity(item) for item in value]
    return np.inf if isinstance(value, str) and value == "inf" else value


KINDS = ClosedList("relation", {kind: (cls.schema, _reader(cls)) for kind, cls in RELATIONS.items()})
