"""Records of unlisted keys in the groups of all others, where their labels are already few: by joins with the listed
beginnings of keys, or by comparing with each of them."""

from __future__ import annotations

from typing import Any

from designer.relations.rows.texts import octets_of
from designer.problem.unlisted import OTHERS
from designer.tables.groups import Groups


def with_others(level: Groups, rows: Any, joined: bool) -> Any:
    """Rows of an Ibis table whose columns `k0, ...` are the bytes of labels: now of the group that each row is in.

    joined: may the engine join a table in memory?
    """
    names = [f"k{place}" for place in range(len(level.columns))]
    if not joined:
        return rows.mutate(**level.labelled([rows[name] for name in names]))
    others = {name: octets_of(OTHERS, rows[name]) for name in names}
    for depth in range(1, len(names) + 1):
        rows = _known(level, rows, names[:depth])
    kept = {name: rows[_mark(place)].notnull().ifelse(rows[name], others[name]) for place, name in enumerate(names)}
    return rows.mutate(**kept).drop(*map(_mark, range(len(names))))


def _mark(place: int) -> str:
    return f"listed_{place}"


def _known(level: Groups, rows: Any, names: list[str]) -> Any:
    """Rows with a column that is missing unless their first labels begin a listed key."""
    import ibis

    mark = _mark(len(names) - 1)
    stems = sorted(stem for stem in level.stems if len(stem) == len(names))
    listed = {f"{mark}_{name}": [stem[place].encode() for stem in stems] for place, name in enumerate(names)}
    kinds = {**dict.fromkeys(listed, "binary"), mark: "boolean"}
    beside = ibis.memtable({**listed, mark: [True] * len(stems)}, schema=kinds)
    return rows.left_join(beside, [rows[name] == beside[f"{mark}_{name}"] for name in names]).drop(*listed)
