"""Norms in specs: the closed list of those that a file can ask for, their keys, and both ways."""

from __future__ import annotations

from typing import Any

from designer.base.json_text import array, require_keys
from designer.base.runs import RUNS, in_runs, numbers_from
from designer.base.schema import (
    COUNT,
    MATRIX,
    PLACE,
    POSITIVE,
    POSITIVE_BUDGET,
    POSITIVE_VECTOR,
    ClosedList,
    Named,
    either,
    exactly,
    keys,
    list_of,
    number,
    one_of,
    record,
)
from designer.certified.bundle_norm import BundleNorm
from designer.certified.capped_norm import CappedNorm
from designer.certified.norms import Gauge, Norm

WEIGHTS = either(
    RUNS,
    list_of(POSITIVE_BUDGET),
    list_of(list_of(either(number(), exactly("inf")))),
)
MAPPED = Named(
    "mapped_norm",
    record(
        {"map": WEIGHTS, "order": one_of("l1", "l2", "linf")},
        note='||u|| = |map u|_order; a vector is a diagonal; "inf" in it, or a column of "inf", is a coordinate without noise.',
    ),
)
GAUGE = Named(
    "gauge",
    record(
        {"order": exactly("gauge"), "differences": MATRIX, "budgets": POSITIVE_VECTOR, "scale": POSITIVE},
        note="The norm whose unit ball is scale * conv{+-differences_m / budgets_m}.",
    ),
)
BUNDLES = Named(
    "bundles",
    record(
        {
            "order": exactly("bundles"),
            "combine": one_of("sum", "max"),
            "size": COUNT,
            "bundles": list_of(record({"places": list_of(PLACE, distinct=True), "gauge": GAUGE})),
        },
        note="The largest, or the sum, of gauges of bundles of coordinates; the other coordinates of `size` get no noise.",
    ),
)
CAPPED = Named(
    "capped_norm",
    record(
        {"order": exactly("capped_l1"), "map": list_of(POSITIVE_BUDGET), "cap": POSITIVE},
        note='||u|| = max(|map u|_linf, |map u|_l1 / cap), map a diagonal; "inf" in it is a coordinate without noise.',
    ),
)
NORM = Named("norm", either(MAPPED, GAUGE, BUNDLES, CAPPED))
FALLOFF = one_of("exponential", "gaussian")


def norm_to_spec(norm: Norm) -> dict[str, Any]:
    """A gauge by the vectors that span its body, bundles by their gauges, any other norm by its map, and its cap."""
    if isinstance(norm, BundleNorm):
        pairs = [{"places": list(b), "gauge": norm_to_spec(g)} for b, g in zip(norm.places, norm.gauges, strict=True)]
        return {"order": "bundles", "combine": norm.combine, "size": norm.dimension, "bundles": pairs}
    if isinstance(norm, Gauge):
        return {"order": "gauge", "differences": norm.differences, "budgets": norm.budgets, "scale": norm.scale}
    if isinstance(norm, CappedNorm):
        return {"order": "capped_l1", "map": norm.weights, "cap": norm.cap}
    return {"order": norm.order, "map": in_runs(norm.map) if norm.map.ndim == 1 else norm.map}


def norm_from_spec(spec: Any) -> Norm:
    """The norm of a spec: a map, a gauge, bundles or a capped box; the constructors check the numbers."""
    return NORMS.read(spec)


def _mapped(spec: Any) -> Norm:
    depth = 2 if isinstance(spec["map"], list) and spec["map"] and isinstance(spec["map"][0], list) else 1
    return Norm(array(numbers_from(spec["map"], "norm.map"), depth, "norm.map"), spec["order"])


def _bundles(spec: Any) -> BundleNorm:
    for bundle in spec["bundles"]:
        require_keys(bundle, {"places", "gauge"}, "norm.bundles")
    gauges, places = ([bundle[key] for bundle in spec["bundles"]] for key in ("gauge", "places"))
    return BundleNorm([_gauge_from(gauge) for gauge in gauges], places, spec["combine"], spec["size"])


def _capped(spec: Any) -> CappedNorm:
    return CappedNorm(array(spec["map"], 1, "norm.map"), float(array(spec["cap"], 0, "norm.cap")))


def _gauge_from(spec: Any) -> Gauge:
    require_keys(spec, keys(GAUGE), "norm")
    scale = float(array(spec["scale"], 0, "norm.scale"))
    return Gauge(array(spec["differences"], 2, "norm.differences"), array(spec["budgets"], 1, "norm.budgets"), scale)


NORMS: ClosedList[Norm] = ClosedList(
    "norm",
    {
        **dict.fromkeys(("l1", "l2", "linf"), (MAPPED, _mapped)),
        "gauge": (GAUGE, _gauge_from),
        "bundles": (BUNDLES, _bundles),
        "capped_l1": (CAPPED, _capped),
    },
    key="order",
)
