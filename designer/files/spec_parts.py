"""The pieces that specs are made of, to and from plain data: relations, norms and workloads, each from a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer import metrics
from designer.errors import InvalidSpec
from designer.files.json_text import array, canonical, require_keys
from designer.frozen import shown
from designer.histogram import Keys
from designer.invariants.changes import InvariantChanges, InvariantDistance, InvariantMetric
from designer.norms import Gauge, Norm
from designer.relation import Relation
from designer.statistical_queries.row_groups import RowGroups
from designer.workload import Workload

DENSE_LIMIT = 2**28  # entries that compressed rows may unpack to: 2 GB

RELATIONS: dict[str, type[Relation]] = {
    cls.kind: cls
    for cls in (
        metrics.Uniform,
        metrics.PerElement,
        metrics.Instance,
        metrics.Partition,
        metrics.Matrix,
        metrics.Euclidean,
        metrics.GreatCircle,
        metrics.Ordered,
        metrics.Chebyshev,
        metrics.Manhattan,
        metrics.Graph,
        metrics.Threshold,
        metrics.SmoothThreshold,
        metrics.Hamming,
        metrics.Product,
        metrics.Scaled,
        metrics.Sum,
        metrics.Maximum,
        metrics.RootSumSquares,
        metrics.Restricted,
        metrics.AddRemove,
        metrics.AppearOrChange,
        RowGroups,
        InvariantChanges,
        InvariantMetric,
        InvariantDistance,
    )
}


def relation_from_spec(spec: Any) -> Relation:
    """The relation of a spec: one of `RELATIONS`, written as this program writes it; `InvalidSpec` otherwise."""
    if not isinstance(spec, dict) or spec.get("kind") not in RELATIONS:
        raise InvalidSpec(
            f"relation.kind: {shown(spec.get('kind') if isinstance(spec, dict) else spec)} is unknown; one of {sorted(RELATIONS)}."
        )
    restored = {key: _with_infinity(value) for key, value in spec.items()}
    relation = RELATIONS[spec["kind"]].from_spec(restored, relation_from_spec)
    if canonical(relation.to_spec()) != canonical(spec):
        raise InvalidSpec(f"relation: the entries {sorted(spec)} do not describe a relation of kind {spec['kind']!r} exactly.")
    return relation


def _with_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_infinity(item) for item in value]
    return np.inf if value == "inf" else value


def norm_to_spec(norm: Norm) -> dict[str, Any]:
    """A gauge by the vectors that span its body, any other norm by its map."""
    if isinstance(norm, Gauge):
        return {"order": "gauge", "differences": norm.differences, "budgets": norm.budgets, "scale": norm.scale}
    return {"order": norm.order, "map": norm.map}


def norm_from_spec(spec: Any) -> Norm:
    """The norm of a spec, a gauge or a map; the constructors check the numbers."""
    if isinstance(spec, dict) and spec.get("order") == "gauge":
        require_keys(spec, {"order", "differences", "budgets", "scale"}, "norm")
        scale = float(array(spec["scale"], 0, "norm.scale"))
        return Gauge(array(spec["differences"], 2, "norm.differences"), array(spec["budgets"], 1, "norm.budgets"), scale)
    require_keys(spec, {"order", "map"}, "norm")
    return Norm(array(spec["map"], 2 if isinstance(spec["map"][0], list) else 1, "norm.map"), spec["order"])


def workload_to_spec(workload: Workload) -> dict[str, Any]:
    """A workload by its names and its matrix, or by compressed rows where it is sparse."""
    named: dict[str, Any] = {"queries": list(workload.queries), "elements": list(workload.elements)}
    if workload.keys is not None:
        named["keys"] = workload.keys.to_spec()
    if isinstance(workload.matrix, np.ndarray):
        return {**named, "matrix": workload.matrix}
    rows = workload.matrix
    return {**named, "rows": {"values": rows.data, "columns": rows.indices, "starts": rows.indptr}}


def workload_from_spec(spec: Mapping[str, Any]) -> Workload:
    """The workload of a spec; compressed rows are checked before anything trusts them."""
    optional = {key for key in ("keys",) if key in spec}
    require_keys(spec, {"queries", "elements", "rows" if "rows" in spec else "matrix", *optional}, "workload")
    keys = _keys_from_spec(spec["keys"]) if optional else None
    if "matrix" in spec:
        return Workload(array(spec["matrix"], 2, "workload.matrix"), spec["queries"], spec["elements"], keys)
    from scipy.sparse import csr_array

    require_keys(spec["rows"], {"values", "columns", "starts"}, "workload.rows")
    values = array(spec["rows"]["values"], 1, "workload.rows.values")
    columns, starts = (_indices(spec["rows"][key], f"workload.rows.{key}") for key in ("columns", "starts"))
    shape = (len(spec["queries"]), len(spec["elements"]))
    if shape[0] * shape[1] > DENSE_LIMIT:
        raise InvalidSpec(
            f"workload.rows: {shape[0]} queries over {shape[1]} elements unpack to more than {DENSE_LIMIT} entries."
        )
    # Checked here and before scipy sees them: its compiled loops trust these numbers with the memory of the process.
    row = np.searchsorted(starts, np.arange(len(columns)), side="right")
    ordered = (
        len(starts) == shape[0] + 1
        and starts[0] == 0
        and (np.diff(starts) >= 0).all()
        and starts[-1] == len(columns) == len(values)
    )
    if not (ordered and (columns < shape[1]).all() and (np.diff(row * shape[1] + columns) > 0).all()):
        raise InvalidSpec(
            "workload.rows: starts must rise from 0 to the number of values, and columns within each row, below the number of elements."
        )
    return Workload(csr_array((values, columns, starts), shape=shape), spec["queries"], spec["elements"], keys)


def _keys_from_spec(spec: Any) -> Keys:
    require_keys(spec, {"columns", "rows"}, "workload.keys")
    return Keys(tuple(spec["columns"]), tuple(map(tuple, spec["rows"])))


def _indices(value: Any, field: str) -> NDArray[np.int64]:
    if not isinstance(value, list) or not all(type(entry) is int and 0 <= entry < 2**31 for entry in value):
        raise InvalidSpec(f"{field}: must be a list of whole numbers from 0 to 2^31.")
    return np.array(value, dtype=np.int64)
