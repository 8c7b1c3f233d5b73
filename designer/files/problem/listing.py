"""What a problem file says of the records that it asks about: which values, groups and numbers are expected where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from designer.problem.domain import Domain
from designer.problem.histogram import Keys, Universe
from designer.problem.unlisted import REFUSE, Unlisted
from designer.tables.condition import Condition
from designer.tables.groups import Groups


@dataclass(frozen=True, kw_only=True)
class Listing:
    """rule: what happens to a record with a value that is not listed. values: those of each column. universes: the combinations
    of them that count, where not all do. groups: those of a plan, each with the conditions of the queries about it. numbers:
    measured columns with their bounds.
    """

    rule: Unlisted = REFUSE
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    universes: tuple[Universe, ...] = ()
    groups: Sequence[tuple[Groups, Sequence[tuple[Condition, ...]]]] = ()
    numbers: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)

    @classmethod
    def of_keys(cls, *keys: Keys) -> Listing:
        """The elements that columns name, of one table or of several."""
        values: dict[str, dict[str, None]] = {}
        for own in keys:
            for name, column in zip(own.columns, zip(*own.rows, strict=True), strict=True):
                values.setdefault(name, {}).update(dict.fromkeys(column))
        universes = tuple(Universe(own.names, own) for own in keys)
        return cls(rule=keys[0].unlisted, values={name: tuple(own) for name, own in values.items()}, universes=universes)

    @classmethod
    def of_domain(cls, domain: Domain, axes: Sequence[int]) -> Listing:
        """Some attributes of a domain, all of whose combinations count."""
        return cls(rule=domain.unlisted, values={domain.attributes[axis]: domain.values[axis] for axis in axes})

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        keys = [key.column for groups, _ in self.groups for key in groups.columns]
        asked = [condition.column for _, wheres in self.groups for where in wheres for condition in where]
        return tuple(dict.fromkeys([*self.values, *keys, *asked, *self.numbers]))

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        wheres = (where for _, own in self.groups for where in own)
        asked = [c.column for where in wheres for c in where if c.values and isinstance(c.values[0], int)]
        return tuple(dict.fromkeys([*self.numbers, *asked]))
