"""Groups of a GROUP BY: key columns and the keys that are answered, public or found privately.

Groups that are found privately: docs/theory/tables.md, section 4.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from designer.base.arrays import Immutable
from designer.base.checks import assign, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.labels import Labels as Listed
from designer.base.schema import Named, list_of, or_null, record, text
from designer.base.schema import keys as required
from designer.problem.histogram import OTHERS
from designer.relations.records.engines import octets_of
from designer.relations.records.values import label
from designer.tables.partition_selection import PartitionSelection
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.unit_splitting import Key

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Groups(Immutable):
    """Which groups are answered: `keys`, a public list (rows of labels), or those that a private `selection` finds.

    Listed groups without records are answered like all others, noise around 0. Records of unlisted groups, or with a missing
    key, count where a key ends in `OTHERS`. `["DE", OTHERS]` is all of DE that no key lists, `[OTHERS, OTHERS]` all that is in
    no listed state. What happens to those that are in no group says the plan. Without columns there is one group, everybody.

    columns: the key columns. keys: rows of labels, one label for each column. selection: in the place of keys.

    >>> Groups(["state", Key("naics", 2)], keys=[["DE", 11], ["DE", 23]]).keys
    (('DE', '11'), ('DE', '23'))
    >>> Groups(["state"], keys=[["DE"], [OTHERS]]).label({"state": "RI"})
    ('(all others)',)
    """

    columns: tuple[Key, ...] = ()
    keys: tuple[Labels, ...] | None = None
    selection: PartitionSelection | None = None
    schema = Named(
        "groups",
        record(
            {
                "columns": list_of(Key.schema, least=0),
                "keys": or_null(list_of(list_of(text(), least=0))),
                "selection": or_null(PartitionSelection.schema),
            },
            note="Groups by columns, or by prefixes of their texts: the listed ones, or those that a private selection finds.",
        ),
    )

    def __init__(
        self,
        columns: Sequence[str | Key] = (),
        keys: Sequence[Sequence[object]] | None = None,
        selection: PartitionSelection | None = None,
    ) -> None:
        columns = tuple(column if isinstance(column, Key) else Key(column) for column in columns)
        if keys is None and selection is None:
            if columns:
                raise InvalidProblem("keys: missing; list the public groups, or give a selection that finds them privately.")
            keys = ((),)
        if keys is not None and selection is not None:
            raise InvalidProblem("keys, selection: give one of the two.")
        labels = None if keys is None else tuple(_labels(key, len(columns)) for key in keys)
        if labels is not None and (not labels or len(set(labels)) != len(labels)):
            raise InvalidProblem("keys: none, or one of them twice; list every group once.")
        if any(a == OTHERS != b for key in labels or () if OTHERS in key for a, b in pairwise(key)):
            raise InvalidProblem(f"keys: a label below all others, {OTHERS!r}; end the key in it.")
        assign(self, columns=columns, keys=labels, selection=selection)

    def label(self, record: Mapping[str, Any]) -> Labels | None:
        """The group of a public or hypothetical record; None where it belongs to none that is, or may be, answered.

        record: by the names of its columns.
        """
        labels = tuple(
            label if known is None else known.name(label)
            for label, known in zip((key.label(record) for key in self.columns), self.spelled, strict=True)
        )
        if self.selection is not None:
            return None if None in labels else labels  # type: ignore[return-value]
        depth = 0
        while depth < len(labels) and labels[: depth + 1] in self.stems:
            depth += 1
        group = (*labels[:depth], *(OTHERS,) * (len(labels) - depth))
        return group if group in self.place else None  # type: ignore[return-value]

    @cached_property
    def spelled(self) -> tuple[Listed | None, ...]:
        """The labels of each column that lists nothing but numbers, booleans or days: a text that spells one of them is it."""
        columns = zip(*(self.keys or ()), strict=True)
        found = [None if key.prefix else Listed(own, (OTHERS,)) for key, own in zip(self.columns, columns, strict=False)]
        return (*(known if known and known.kind else None for known in found), *(None for _ in self.columns[len(found) :]))

    @cached_property
    def stems(self) -> frozenset[Labels]:
        """The beginnings of listed keys, before all others."""
        return frozenset(key[:d] for key in self.keys or () for d in range(1, len(key) + 1) if key[d - 1] != OTHERS)

    @property
    def place(self) -> Mapping[Labels, int]:
        """The position of every listed key."""
        cached: Mapping[Labels, int] | None = self.__dict__.get("_place")
        if cached is None:
            cached = MappingProxyType({labels: i for i, labels in enumerate(self.keys or ())})
            assign(self, _place=cached)
        return cached

    def __hash__(self) -> int:
        cached: int | None = self.__dict__.get("_hash")
        if cached is None:
            cached = hash((self.columns, self.keys, self.selection))
            assign(self, _hash=cached)
        return cached

    @property
    def has_others(self) -> bool:
        """Is there a listed group of all others?"""
        return any(OTHERS in key for key in self.keys or ())

    @property
    def is_complete(self) -> bool:
        """Is every record in a listed group? Then there is one of all others below every beginning of a listed key."""
        if not self.columns or self.keys is None:
            return not self.columns
        return self.keys == self.completed().keys

    def completed(self) -> Groups:
        """The same with groups of all others, last: one below each beginning of a listed key that has none."""
        width = len(self.columns)
        stems = sorted((stem for stem in self.stems if len(stem) < width), key=lambda stem: (-len(stem), stem))
        others = [(*stem, *(OTHERS,) * (width - len(stem))) for stem in (*stems, ())]
        return Groups(self.columns, [*(self.keys or ()), *(key for key in others if key not in self.place)], None)

    def expressions(self, table: Any) -> dict[str, Any]:
        """Key columns `k0, k1, ...` of an Ibis table."""
        if not self.has_others:
            return {f"k{i}": key.expression(table) for i, key in enumerate(self.columns)}
        return self.labelled([key.octets(table) for key in self.columns])

    def labelled(self, columns: list[Any]) -> dict[str, Any]:
        """The labels of groups, all others among them, from the bytes of the labels of rows."""
        listed = [self._is_listed(columns[: d + 1]) for d in range(len(columns))]
        return {
            f"k{i}": known.ifelse(column, octets_of(OTHERS, column))
            for i, (column, known) in enumerate(zip(columns, listed, strict=True))
        }

    def _is_listed(self, columns: list[Any]) -> Any:
        """Do the first labels of a row begin a listed key? Never missing. One branch for each parent of such beginnings."""
        import ibis

        children: dict[Labels, list[Any]] = {}
        for stem in sorted(stem for stem in self.stems if len(stem) == len(columns)):
            children.setdefault(stem[:-1], []).append(octets_of(stem[-1], columns[-1]))
        branches = []
        for parent, labels in children.items():
            here = [column == octets_of(text, column) for column, text in zip(columns, parent, strict=False)]
            branches.append((reduce(operator.and_, here, ibis.literal(True)), columns[-1].isin(labels).fill_null(False)))
        return ibis.cases(*branches, else_=False) if branches else ibis.literal(False)

    def sentence(self) -> str:
        """The groups in words."""
        by = " x ".join(key.name for key in self.columns) or "everybody"
        return (
            by
            if not self.columns
            else f"{by}, "
            + (
                "groups found privately"
                if self.keys is None
                else f"{len(self.keys)} public groups" + (", all others among them" if self.has_others else "")
            )
        )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "columns": [{"column": key.column, "prefix": key.prefix} for key in self.columns],
            "keys": None if self.keys is None else [list(labels) for labels in self.keys],
            "selection": None if self.selection is None else self.selection.to_spec(),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Groups:
        """From plain data; `InvalidProblem` where a key is missing or unknown."""
        require_keys(spec, required(cls.schema), "groups")
        for column in spec["columns"]:
            require_keys(column, required(Key.schema), "groups.columns")
        selection = None if spec["selection"] is None else PartitionSelection.from_spec(spec["selection"])
        return cls([Key(column["column"], column["prefix"]) for column in spec["columns"]], spec["keys"], selection)


def hierarchy(columns: Sequence[str | Key], keys: Sequence[Sequence[object]], others: bool = True) -> tuple[Groups, ...]:
    """List the levels from everybody down to the groups: the first 0, 1, ..., n columns, with the parts of the public keys.

    Below every group there is one more, `OTHERS`, of what the keys do not list there, so that children add up to their parents
    (`tree`).

    Parameters
    ----------
    columns : from coarse to fine.
    keys : of the finest groups, public; one value for each column.
    others : False leaves them out; then a record of an unlisted key counts in some levels and not in those below.

    >>> for level in hierarchy(["state", "county"], [["DE", 1], ["RI", 3]])[1:]:
    ...     print(level.keys)
    (('DE',), ('RI',), ('(all others)',))
    (('DE', '1'), ('DE', '(all others)'), ('RI', '3'), ('RI', '(all others)'), ('(all others)', '(all others)'))
    """
    rows = [_labels(key, len(columns)) for key in keys]
    levels: list[list[Labels]] = [[()]]
    for depth in range(1, len(columns) + 1):
        children: dict[Labels, list[Labels]] = {parent: [] for parent in levels[-1]}
        for child in dict.fromkeys(row[:depth] for row in rows):
            children[child[:-1]].append(child)
        if others:
            children = {parent: list(dict.fromkeys([*listed, (*parent, OTHERS)])) for parent, listed in children.items()}
        levels.append([child for listed in children.values() for child in listed])
    return tuple(Groups(columns[:depth], level) for depth, level in enumerate(levels))


def nested_codes(column: str, lengths: Sequence[int], codes: Sequence[str], others: bool = True) -> tuple[Groups, ...]:
    """List the levels of a code by prefixes, each a key column, with the prefixes of the public codes.

    Parameters
    ----------
    column : of the codes.
    lengths : of the prefixes, rising.
    codes : all that are public.
    others : as in `hierarchy`; False gives levels of one column each, of the prefixes alone.

    >>> wide, fine = nested_codes("naics", [2, 3], ["111", "23"])
    >>> wide.keys
    (('11',), ('23',), ('(all others)',))
    >>> fine.keys
    (('11', '111'), ('11', '(all others)'), ('23', '(all others)'), ('(all others)', '(all others)'))
    """
    if others:
        rows = [[code[:n] if len(code) >= n else OTHERS for n in lengths] for code in codes]
        return hierarchy([Key(column, n) for n in lengths], rows)[1:]
    cut = [[(code[:length],) for code in codes if len(code) >= length] for length in lengths]
    return tuple(Groups([Key(column, length)], list(dict.fromkeys(keys))) for length, keys in zip(lengths, cut, strict=True))


def tree(levels: Sequence[Groups]) -> Hierarchy:
    """Join levels as the `Hierarchy` that makes their answers consistent: its groups are their keys, one level after the other.

    InvalidProblem where children may not add up to their parent because there is no group of all others below it.

    levels: coarse to fine.
    """
    if not levels or any(level.keys is None for level in levels):
        raise InvalidProblem("levels: give at least one, of public keys.")
    keys: list[Labels] = []
    place: dict[Labels, int] = {}
    parents = [-1] * len(levels[0].keys or ())
    for above, level in zip([None, *levels], levels, strict=False):
        if above is not None:
            _require_complete(above, level)
            parents += [place[key[:-1]] for key in level.keys or ()]
        place = {key: len(keys) + i for i, key in enumerate(level.keys or ())}
        keys += list(level.keys or ())
    return Hierarchy(np.array(parents), tuple("/".join(key) for key in keys))


def _require_complete(above: Groups, level: Groups) -> None:
    """Every group is in one of the level above, and all of these have their others below."""
    if level.columns[:-1] != above.columns or len(level.columns) != len(above.columns) + 1:
        raise InvalidProblem(
            "levels: each must have the key columns of the one above and one more; take them from `hierarchy`."
        )
    orphans = [key for key in level.keys or () if key[:-1] not in above.place]
    open_ = [key for key in above.keys or () if (*key, OTHERS) not in level.place]
    if orphans or open_:
        raise InvalidProblem(
            f"levels: {shown((orphans or open_)[0])} has no group above it, or none of all others below; children would not "
            "add up. Take the levels from `hierarchy`, with `others`.",
            value=(orphans or open_)[0],
        )


def _labels(key: Any, columns: int) -> Labels:
    if isinstance(key, str) or not isinstance(key, Sequence) or len(key) != columns:
        raise InvalidProblem(f"keys: {shown(key)} is not a row of {columns} labels.", value=key)
    if set(map(type, key)) <= {str} and "".join(key).isascii():
        return tuple(key)
    texts = tuple(_label(entry) for entry in key)
    if None in texts:
        raise InvalidProblem(
            f"keys: {shown(key)} holds a missing value; list texts, whole numbers, booleans or dates.", value=key
        )
    return texts  # type: ignore[return-value]


def _label(entry: object) -> str | None:
    try:
        return label(entry, "keys")
    except InvalidProblem:
        raise InvalidProblem(f"keys: {shown(entry)} is no text, whole number, boolean or date.", value=entry) from None
