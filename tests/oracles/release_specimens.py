"""A release of every specimen of a spec, from invented data, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from designer.certificate.frozen import FrozenMechanism, Released
from designer.relations.records.counting import TakesCounts
from tests.oracles.lazy import Lazy
from tests.oracles.spec_specimens import specimens

RECORDS = {
    "age": [0, 1, 2, 2, 1, 0, 3],
    "sex": ["F", "M", "F", "M", "M", "F", "F"],
    "pay": [0, 1, 2, 2, 1, 0, 2],
    "place": ["here", "there", "here", "here", "there", "there", "here"],
}


def columns_for(domain: Any) -> dict[str, Any]:
    """Seven records of a domain, each value within it."""
    sizes = dict(zip(domain.attributes, domain.values, strict=True))
    return {
        name: [values[k % len(values)] if str(v) not in values else v for k, v in enumerate(RECORDS[name])]
        for name, values in sizes.items()
    }


def invented(maker: Any) -> Any:
    """Counts or records that a mechanism takes."""
    if maker.format == "dp-designer/odds-ratio-test":
        return [[4, 2], [1, 3]]
    if maker.format in ("dp-designer/marginals", "dp-designer/structured-mechanism"):
        return columns_for(maker.workload.domain)
    assert isinstance(maker, TakesCounts)
    size = len(maker.universe.elements)
    counts = np.arange(1, size + 1) % 4
    if hasattr(maker, "records"):
        counts = np.bincount(np.arange(maker.records) % size, minlength=size)
    counts[list(maker.universe.impossible)] = 0
    agreeing = maker.universe.agreeing
    return counts if agreeing is None else _agreeing(np.asarray(agreeing), counts)


def _agreeing(rows: Any, counts: Any) -> Any:
    """Counts 1 in every cell agree in any margin of tables of equal sizes."""
    alike = np.ones_like(counts)
    assert not (rows @ alike).any()
    return alike


def table_of(rows: int = 40) -> Mapping[str, list[Any]]:
    """Records of the full plan."""
    return {
        "id": list(range(rows)),
        "state": ["DE", "RI", "NV", "DE"] * (rows // 4),
        "county": [1, 3, 1, 2] * (rows // 4),
        "naics": ["111", "236", "999", "112"] * (rows // 4),
        "emp": [7, 30, 45, 1000] * (rows // 4),
        "pay": [0.25, 12.5, 99.0, 10**6] * (rows // 4),
    }


@cache
def releases() -> Lazy[tuple[FrozenMechanism, Released]]:
    """Every specimen with a release of it."""
    return Lazy({name: partial(_released, name) for name in specimens()})


def _released(name: str) -> tuple[FrozenMechanism, Released]:
    maker = specimens()[name]
    return maker, _release(maker)


def _release(maker: FrozenMechanism) -> Released:
    if maker.format == "dp-designer/table-plan":
        import ibis

        return maker.release(ibis.memtable(dict(table_of())))
    return maker.release(invented(maker))
