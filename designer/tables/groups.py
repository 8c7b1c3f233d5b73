"""Groups of a GROUP BY: key columns and the keys that are answered, public or found privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from designer.errors import InvalidProblem
from designer.files.json_text import require_keys
from designer.frozen import Immutable, shown
from designer.records.values import label
from designer.tables.key import Key
from designer.tables.partition_selection import PartitionSelection

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Groups(Immutable):
    """Which groups are answered: `keys`, a public list (rows of labels), or those that a private `selection` finds.

    Listed groups without records are answered like all others, noise around 0; records of unlisted groups count nowhere. Records with a
    missing key belong to no group. Without columns there is one group, everybody.

    >>> Groups(["state", Key("naics", 2)], keys=[["DE", 11], ["DE", 23]]).keys
    (('DE', '11'), ('DE', '23'))
    """

    columns: tuple[Key, ...] = ()
    keys: tuple[Labels, ...] | None = None
    selection: PartitionSelection | None = None

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
        for name, value in (("columns", columns), ("keys", labels), ("selection", selection)):
            object.__setattr__(self, name, value)

    def label(self, record: Mapping[str, Any]) -> Labels | None:
        """The group of a public or hypothetical record; None where it belongs to none that is, or may be, answered."""
        labels = tuple(key.label(record) for key in self.columns)
        known = None not in labels and (self.selection is not None or labels in self.place)
        return labels if known else None  # type: ignore[return-value]

    @property
    def place(self) -> dict[Labels, int]:
        """The position of every listed key."""
        cached: dict[Labels, int] | None = self.__dict__.get("_place")
        if cached is None:
            cached = {labels: i for i, labels in enumerate(self.keys or ())}
            object.__setattr__(self, "_place", cached)
        return cached

    def expressions(self, table: Any) -> dict[str, Any]:
        """Key columns `k0, k1, ...` of an Ibis table."""
        return {f"k{i}": key.expression(table) for i, key in enumerate(self.columns)}

    def words(self) -> str:
        by = " x ".join(key.name for key in self.columns) or "everybody"
        return (
            by
            if not self.columns
            else f"{by}, " + ("groups found privately" if self.keys is None else f"{len(self.keys)} public groups")
        )

    def to_spec(self) -> dict[str, Any]:
        return {
            "columns": [{"column": key.column, "prefix": key.prefix} for key in self.columns],
            "keys": None if self.keys is None else [list(labels) for labels in self.keys],
            "selection": None if self.selection is None else self.selection.to_spec(),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Groups:
        require_keys(spec, {"columns", "keys", "selection"}, "groups")
        for column in spec["columns"]:
            require_keys(column, {"column", "prefix"}, "groups.columns")
        selection = None if spec["selection"] is None else PartitionSelection.from_spec(spec["selection"])
        return cls([Key(column["column"], column["prefix"]) for column in spec["columns"]], spec["keys"], selection)


def hierarchy(columns: Sequence[str | Key], keys: Sequence[Sequence[object]]) -> tuple[Groups, ...]:
    """The levels from everybody down to the given groups: the first 0, 1, ..., n columns, with the parts of the public keys.

    >>> [len(level.keys) for level in hierarchy(["state", "county"], [["DE", 1], ["DE", 3], ["RI", 1]])]
    [1, 2, 3]
    """
    depths = range(len(columns) + 1)
    return tuple(Groups(columns[:depth], list(dict.fromkeys(tuple(key[:depth]) for key in keys))) for depth in depths)


def nested_codes(column: str, lengths: Sequence[int], codes: Sequence[str]) -> tuple[Groups, ...]:
    """The levels of a code by prefixes of rising lengths, with the prefixes of the public codes.

    >>> [level.keys for level in nested_codes("naics", [2, 3], ["111", "112", "236"])]
    [(('11',), ('23',)), (('111',), ('112',), ('236',))]
    """
    cut = [[(code[:length],) for code in codes if len(code) >= length] for length in lengths]
    return tuple(Groups([Key(column, length)], list(dict.fromkeys(keys))) for length, keys in zip(lengths, cut, strict=True))


def _labels(key: Any, columns: int) -> Labels:
    if isinstance(key, str) or not isinstance(key, Sequence) or len(key) != columns:
        raise InvalidProblem(f"keys: {shown(key)} is not a row of {columns} labels.")
    texts = tuple(_label(entry) for entry in key)
    if None in texts:
        raise InvalidProblem(f"keys: {shown(key)} holds a missing value; list texts, whole numbers, booleans or dates.")
    return texts  # type: ignore[return-value]


def _label(entry: object) -> str | None:
    try:
        return label(entry, "keys")
    except InvalidProblem:
        raise InvalidProblem(f"keys: {shown(entry)} is no text, whole number, boolean or date.") from None
