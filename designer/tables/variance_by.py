"""Noise by group where the groups are not known beforehand: a variance for each of some labels of a key column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from designer.base.arrays import Immutable
from designer.base.checks import assign, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import RATIONAL, Named, keys, record
from designer.relations.records.values import label
from designer.tables.groups import Groups, Labels
from designer.tables.measure import Given
from designer.tables.unit_splitting import Key


@dataclass(frozen=True)
class VarianceBy(Immutable):
    """The variance of a group's noise, by its label in one key column. It is a public function of what the group is called, so
    that it serves groups that are found privately.

    by: one of the key columns of the query. own: variances by label. other: of all other labels.

    >>> noise = VarianceBy("industry", {"Mining": 400}, 25)
    >>> noise.of(Groups(["industry"], [["Mining"], ["Retail"]]), ("Retail",))
    Fraction(25, 1)
    """

    by: Key
    own: tuple[tuple[str, Fraction], ...]
    other: Fraction
    schema = Named(
        "variance_by",
        record(
            {"by": Key.schema, "own": {"type": "object", "additionalProperties": RATIONAL}, "other": RATIONAL},
            note="A variance for each of some labels of a key column, and one for all others.",
        ),
    )

    def __init__(self, by: str | Key, own: Mapping[Any, object], other: object) -> None:
        given = own if isinstance(own, Mapping) else dict(own)
        listed = {
            text: rational(v, f"variance[{key!r}]") for key, v in given.items() if (text := label(key, "own")) is not None
        }
        if not listed or len(listed) != len(given):
            raise InvalidProblem(f"own: {shown(own)}; give a variance for each of one or more different labels.", value=own)
        fields = {"by": Key(by) if isinstance(by, str) else by, "own": tuple(sorted(listed.items()))}
        for name, value in {**fields, "other": rational(other, "variance")}.items():
            assign(self, **{name: value})

    @property
    def values(self) -> tuple[Fraction, ...]:
        """All variances that a group may have."""
        return (self.other, *(variance for _, variance in self.own))

    def place(self, groups: Groups) -> int:
        """Which key column of some groups it reads; InvalidProblem where it is none of them."""
        if self.by not in groups.columns:
            raise InvalidProblem(f"variance: goes by {self.by.name!r}, which is no key column of the query's groups.")
        return groups.columns.index(self.by)

    def of(self, groups: Groups, labels: Labels) -> Fraction:
        """The variance of one group."""
        return self._by_label.get(labels[self.place(groups)], self.other)

    @cached_property
    def _by_label(self) -> dict[str, Fraction]:
        return dict(self.own)

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        by = {"column": self.by.column, "prefix": self.by.prefix}
        return {"by": by, "own": {text: str(variance) for text, variance in self.own}, "other": str(self.other)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> VarianceBy:
        """From plain data; `InvalidProblem` where a key is missing or unknown."""
        require_keys(spec, keys(cls.schema), "variance")
        require_keys(spec["by"], keys(Key.schema), "variance.by")
        return cls(Key(**spec["by"]), spec["own"], spec["other"])


class Variances:
    """A field that is given as one rational, one for each group, or one by label (`VarianceBy`)."""

    def __get__(self, owner: object, kind: type | None = None) -> Fraction | tuple[Fraction, ...] | VarianceBy:
        raise NotImplementedError

    def __set__(self, owner: object, value: Given | Sequence[Given] | VarianceBy) -> None:
        raise NotImplementedError
