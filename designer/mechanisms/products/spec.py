"""Structured mechanisms as plain data: factors only, never their products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from designer.base.errors import InvalidSpec
from designer.mechanisms.marginals.protection import Presence
from designer.mechanisms.marginals.protection import PRESENCE, protection_from_spec, protection_to_spec
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.metric import METRIC
from designer.problem.domain import Domain
from designer.problem.unlisted import IN_SPECS, rule_entry, rule_from
from designer.relations.kinds import relation_from_spec
from designer.problem.attribute_queries import QUERIES, queries_from_spec
from designer.mechanisms.products.blocks import MeasuredProduct, Protection, StrategyMatrix
from designer.mechanisms.products.described import Described
from designer.problem.products_workload import StructuredWorkload
from designer.base.json_text import array, flagged_vacuous, require_keys
from designer.base.schema import NAMES, Named, PLACE, POSITIVE, POSITIVE_VECTOR, VACUOUS, VALUES, either, keys, list_of, noted, one_of, or_null, record, whole

TERM = Named("structured_term", record({"axes": list_of(PLACE, least=0, distinct=True), "queries": list_of(QUERIES, least=0)}))
AXIS = Named("strategy_matrices", record({"axis": PLACE, "rows": list_of(list_of(list_of(whole())))}))
BLOCK = Named(
    "structured_block",
    record({"axes": list_of(PLACE, least=0, distinct=True), "matrices": list_of(PLACE, least=0), "strength": POSITIVE}),
)
CORE = Named(
    "structured_mechanism",
    record(
        {
            "attributes": NAMES,
            "values": VALUES,
            "terms": list_of(TERM),
            "weights": POSITIVE_VECTOR,
            "protection": either(PRESENCE, METRIC),
            "noise": one_of("gaussian", "laplace"),
            "matrices": list_of(AXIS, least=0),
            "blocks": list_of(BLOCK),
            "serves": noted("The block that answers each term; null for residuals.", or_null(list_of(PLACE))),
        },
        {"vacuous": VACUOUS, **IN_SPECS},
        note="Kronecker products of integer matrices of single attributes, each measured with one noise.",
    ),
)


def core_of(made: Described) -> dict[str, Any]:
    """Everything that decides what a structured mechanism does."""
    workload, protection = made.workload, made.protection
    return {
        "attributes": list(workload.domain.attributes),
        "values": [list(values) for values in workload.domain.values],
        "terms": [{"axes": list(term), "queries": [q.to_spec() for q in term.values()]} for term in workload.terms],
        "weights": workload.weights,
        "protection": protection_to_spec(protection) if isinstance(protection, Presence) else protection.to_spec(),
        "noise": made.noise,
        "matrices": [
            {"axis": axis, "rows": [matrix.rows.tolist() for matrix in listed]}
            for axis, listed in sorted(made.matrices.items())
        ],
        "blocks": [
            {"axes": list(block.parts), "matrices": list(block.parts.values()), "strength": block.strength}
            for block in made.blocks
        ],
        "serves": None if made.serves is None else list(made.serves),
        **rule_entry(workload.domain.unlisted),
    }


def parts_of_core(core: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the mechanism, checked as far as its constructor does not."""
    allowed = flagged_vacuous(core, keys(CORE) | ({"unlisted"} & core.keys()))
    if not all(type(text) is str for names in (core["attributes"], *core["values"]) for text in names):
        raise InvalidSpec("attributes: names and values must be texts.")
    listed = tuple(core["attributes"]), tuple(tuple(values) for values in core["values"])
    domain = Domain(*listed, rule_from(core))
    terms = tuple(
        {axis: queries_from_spec(q, domain.shape[axis]) for axis, q in _placed(term, TERM, "axes", "queries", domain)}
        for term in core["terms"]
    )
    matrices = {}
    for entry in core["matrices"]:
        require_keys(entry, keys(AXIS), "matrices")
        matrices[_axis(entry["axis"], domain)] = tuple(_integer_rows(rows) for rows in entry["rows"])
    blocks = tuple(
        MeasuredProduct(
            {axis: _place(k) for axis, k in _placed(block, BLOCK, "axes", "matrices", domain)}, float(block["strength"])
        )
        for block in core["blocks"]
    )
    return {
        "workload": StructuredWorkload(domain, terms, array(core["weights"], 1, "weights")),
        "protection": _protection(core["protection"], domain),
        "noise": core["noise"],
        "matrices": matrices,
        "blocks": blocks,
        "serves": None if core["serves"] is None else tuple(map(_place, core["serves"])),
        "allow_vacuous": allowed,
    }


def _placed(entry: Any, named: Named, axes: str, values: str, domain: Domain) -> list[tuple[int, Any]]:
    """Pairs of an axis and what stands for it, axes rising."""
    require_keys(entry, keys(named), named.name)
    if len(entry[axes]) != len(entry[values]) or entry[axes] != sorted(set(entry[axes])):
        raise InvalidSpec(f"{named.name}: axes must rise, with one entry of {values!r} for each.")
    return [(_axis(axis, domain), value) for axis, value in zip(entry[axes], entry[values], strict=True)]


def _axis(value: Any, domain: Domain) -> int:
    if _place(value) >= len(domain.attributes):
        raise InvalidSpec(f"axis: must be a position from 0 to {len(domain.attributes) - 1}.")
    return int(value)


def _place(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InvalidSpec("structured mechanism: positions must be whole numbers from 0.")
    return value


def _integer_rows(rows: Any) -> StrategyMatrix:
    values = array(rows, 2, "matrices.rows")
    if not (np.isfinite(values).all() and (values == np.rint(values)).all() and (np.abs(values) < 2**52).all()):
        raise InvalidSpec("matrices.rows: must hold whole numbers.")
    return StrategyMatrix(values.astype(np.int64))


def _protection(spec: Any, domain: Domain) -> Protection:
    if isinstance(spec, dict) and spec.get("kind") == "presence":
        made = protection_from_spec(spec, domain)
        assert isinstance(made, Presence)
        return made
    relation = relation_from_spec(spec)
    if not isinstance(relation, (Hamming, Product)):
        raise InvalidSpec("protection.kind: must be presence, hamming or product.")
    return relation
