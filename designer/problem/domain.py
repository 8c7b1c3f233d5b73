"""Product domains: attributes, their values, and the histogram of a set of records over all combinations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import is_text, near, shown
from designer.base.display import SHOWN_ROWS, Preview, as_html
from designer.base.errors import InvalidProblem
from designer.base.frames import columns_of
from designer.base.labels import Labels, listed_label
from designer.limits import MOST_VALUES_OF_ATTRIBUTE
from designer.problem.histogram import OTHERS, REFUSE, Keys, Unlisted, checked_rule, needs_others
from designer.problem.relation import Indices


@dataclass(frozen=True)
class Domain:
    """The universe `A_1 x ... x A_d`: element `i` is the i-th combination, the last attribute changing fastest.

    unlisted: what happens to a record with a value that is not listed; see `designer.problem.histogram`.

    >>> domain = Domain.of({"sex": ["F", "M"], "age": 3})
    >>> domain.shape, domain.size, domain.elements[1]
    ((2, 3), 6, 'sex=F, age=1')
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    unlisted: Unlisted = field(default=REFUSE, compare=False)

    @classmethod
    def of(cls, attributes: Mapping[str, Sequence[object] | int], unlisted: Unlisted = REFUSE) -> Domain:
        """From `{attribute: values}`; an integer n stands for the values 0, ..., n - 1.

        attributes: the values of each, or how many. unlisted: what happens to records with other values, "refuse" unless given.
        """
        if not isinstance(attributes, Mapping):
            raise InvalidProblem(
                f"domain: {shown(attributes)} maps no attributes to their values; give {{attribute: values}}.", value=attributes
            )
        return cls(tuple(attributes), tuple(_values(name, vs) for name, vs in attributes.items()), unlisted)

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InvalidProblem("domain: has no attributes; name at least one.")
        if not all(isinstance(name, str) and is_text(name) for given in (self.attributes, *self.values) for name in given):
            raise InvalidProblem("domain: attributes and their values must be texts; make it with `Domain.of`.")
        if len(set(self.attributes)) != len(self.attributes):
            raise InvalidProblem(f"domain: an attribute appears twice in {list(self.attributes)}; make the names distinct.")
        for name, values in zip(self.attributes, self.values, strict=True):
            if not values or len(set(values)) != len(values):
                raise InvalidProblem(f"domain: attribute {name!r} has values {list(values)[:6]}; give at least one, each once.")
        if checked_rule(self.unlisted) == "count as others" and (bare := [n for n, vs in self.listed if OTHERS not in vs]):
            raise needs_others(f"among the values of {shown(bare[0])}", f"list it there: {bare[0]} = [..., {OTHERS!r}]")

    def _repr_html_(self) -> str:
        """What notebooks show: a row for each attribute."""
        rows = [(name, ", ".join(values), len(values)) for name, values in self.listed[:SHOWN_ROWS]]
        facts = {"attributes": len(self.attributes), "elements": self.size}
        return as_html("Domain", facts, Preview(("attribute", "values", "number"), rows, len(self.attributes)))

    @property
    def listed(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each attribute with its values."""
        return tuple(zip(self.attributes, self.values, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(values) for values in self.values)

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(self.shape)

    @property
    def elements(self) -> tuple[str, ...]:
        """Name of every combination, in the order of the histogram."""
        return self.keys.assignments

    @property
    def keys(self) -> Keys:
        """The attributes as the columns that name the combinations."""
        return Keys(self.attributes, tuple(product(*self.values)), self.unlisted)

    def axis(self, attribute: str) -> int:
        """Position of an attribute.

        attribute: its name.
        """
        if attribute not in self.attributes:
            raise InvalidProblem(
                f"attribute: {shown(attribute)} is not one of {list(self.attributes)}{near(attribute, self.attributes)}.",
                value=attribute,
            )
        return self.attributes.index(attribute)

    def code(self, attribute: str, value: object) -> int:
        """Position of a value within its attribute.

        attribute: its name. value: one of its values.
        """
        values = self.values[self.axis(attribute)]
        name = self.labels(self.axis(attribute)).name(value)
        if name is None:
            raise InvalidProblem(
                f"value: {shown(value)} is not a value of {attribute!r}; it has {list(values)[:8]}{near(str(value), values)}.",
                value=value,
            )
        return values.index(name)

    def histogram(self, records: object) -> NDArray[np.int64]:
        """Counts of every combination among `records`, (N,); a record outside the domain is refused without being shown, or
        counts as `unlisted` says.

        records: mappings from attributes to values, one for each record; or a pandas, polars, Arrow or Ibis table, a row for
        each, with a column for each attribute. What else a record or a table holds is not looked at.
        """
        counts = np.zeros(self.shape, dtype=np.int64)
        codes = [self.codes(axis, column) for axis, column in enumerate(self._columns(records))]
        if self.unlisted == REFUSE and any((own < 0).any() for own in codes):
            raise InvalidProblem(
                "records: a record lacks an attribute or has a value outside the domain; clean the records first."
            )
        listed = np.logical_and.reduce([own >= 0 for own in codes])
        np.add.at(counts, tuple(own[listed] for own in codes), 1)
        return counts.ravel()

    def labels(self, axis: int) -> Labels:
        """Which values of an attribute the values of records are."""
        return Labels(self.values[axis], (OTHERS,))

    def codes(self, axis: int, column: Iterable[object]) -> NDArray[np.int64]:
        """The positions of what records hold for an attribute among its values: of what is not listed, or missing, that of all
        others where the domain counts it so, and -1 elsewhere."""
        place = {value: code for code, value in enumerate(self.values[axis])}
        outside = place[OTHERS] if self.unlisted == "count as others" else -1
        names = self.labels(axis).names(column)
        return np.array([outside if name is None else place[name] for name in names], dtype=np.int64)

    def _columns(self, records: Any) -> list[Sequence[object]]:
        """What the records hold for each attribute; which columns a table has is public."""
        if hasattr(records, "to_pyarrow_batches") and hasattr(records, "select"):  # a table of Ibis
            there = [name for name in self.attributes if name in records.columns]
            records = records.select(*(there or records.columns[:1])).to_pyarrow()
        columns = columns_of(records, self.attributes)
        if columns is None:
            expression = hasattr(records, "to_pyarrow_batches")
            if expression or isinstance(records, (Mapping, str)) or not isinstance(records, Iterable):
                raise InvalidProblem(
                    f"records: are of type {type(records).__name__}; give a list of mappings from attributes to values, or a "
                    "pandas, polars, Arrow or Ibis table."
                )
            rows = [record if isinstance(record, Mapping) else {} for record in records]
            return [[row.get(name) for row in rows] for name in self.attributes]
        held = [[values for label, values in columns if label == name] for name in self.attributes]
        if wrong := [name for name, found in zip(self.attributes, held, strict=True) if len(found) != 1]:
            raise InvalidProblem(f"records: the table must have each of the columns {wrong} once; rename its columns.")
        return [found[0] for found in held]


def _values(name: str, given: Sequence[object] | int) -> tuple[str, ...]:
    """The values of one attribute as texts."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given <= MOST_VALUES_OF_ATTRIBUTE:
        return tuple(map(str, range(given)))
    if isinstance(given, (int, float, str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidProblem(
            f"domain: attribute {name!r} has {shown(given)}; give the list of its values, or their number from 1 to "
            f"{MOST_VALUES_OF_ATTRIBUTE}."
        )
    return tuple(map(listed_label, given))


def attribute_lines(domain: Domain, axis: int) -> Indices:
    """Element indices of shape (values of the attribute,
    combinations of the others): columns hold what one attribute can change."""
    index = np.arange(domain.size).reshape(domain.shape)
    return np.moveaxis(index, axis, 0).reshape(domain.shape[axis], -1)


def require_domain(domain: object) -> None:
    """Refuse what is no `Domain`."""
    if not isinstance(domain, Domain):
        raise InvalidProblem(f"domain: {shown(domain)} is none; make one with `Domain.of`.", value=domain)
