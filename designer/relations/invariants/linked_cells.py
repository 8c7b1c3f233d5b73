"""The cells of several tables of the same records, one table after the other: their names, the columns that name them, and
what the tables have in common."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.base.errors import InvalidProblem
from designer.relations.invariants.invariant import margins, total
from designer.relations.invariants.statistics import Integers
from designer.problem.domain import Domain
from designer.problem.histogram import Keys
from designer.problem.unlisted import REFUSE
from designer.problem.workload import Workload
from designer.base.arrays import Floats, Immutable, real_array
from designer.base.checks import shown

MOST_CELLS = 6_000  # of all tables together


@dataclass(frozen=True)
class LinkedCells(Immutable):
    """Tables over subsets of the attributes of `domain`: a name and attributes each."""

    domain: Domain
    tables: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        unnamed = [name for name, _ in self.tables if not isinstance(name, str) or not name]
        if unnamed:
            raise InvalidProblem(f"tables: {shown(unnamed[0])} is no name of a table; give a text that is not empty.")
        if len(self.tables) < 2 or len({name for name, _ in self.tables}) < len(self.tables):
            raise InvalidProblem(f"tables: {shown([name for name, _ in self.tables])}; give two or more, each by its own name.")
        for name, attributes in self.tables:
            self.require_attributes(name, attributes)
        if self.domain.unlisted != REFUSE:
            raise InvalidProblem(
                f"unlisted: {self.domain.unlisted!r} does not go with linked tables, which count the same records; leave it "
                "out, and give every record a listed value."
            )
        if self.size > MOST_CELLS:
            raise InvalidProblem(f"tables: have {self.size} cells together, more than {MOST_CELLS}; merge levels.")

    def require_attributes(self, name: str, attributes: Sequence[str]) -> None:
        """Refuse a table, or a margin, over anything but some attributes of the domain."""
        if not attributes or len(set(attributes)) < len(attributes):
            raise InvalidProblem(f"tables: {name!r} has the attributes {shown(list(attributes))}; name some, each once.")
        for attribute in attributes:
            self.domain.axis(attribute)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The levels of each table."""
        return tuple(tuple(self.domain.shape[self.domain.axis(name)] for name in attributes) for _, attributes in self.tables)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each table begins in the histogram, and where the last one ends."""
        return tuple(itertools.accumulate((int(np.prod(shape)) for shape in self.shapes), initial=0))

    @property
    def size(self) -> int:
        """N, the cells of all tables."""
        return self.starts[-1]

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """The names of the cells, after that of their table."""
        parts = (self.subdomain(attributes).elements for _, attributes in self.tables)
        return tuple(f"{name}: {cell}" for (name, _), cells in zip(self.tables, parts, strict=True) for cell in cells)

    def subdomain(self, attributes: tuple[str, ...]) -> Domain:
        """Some of the attributes."""
        return Domain(attributes, tuple(self.domain.values[self.domain.axis(name)] for name in attributes))

    @cached_property
    def keys_of_tables(self) -> tuple[Keys, ...]:
        """The columns that name the cells of each table: its attributes."""
        return tuple(self.subdomain(attributes).keys for _, attributes in self.tables)

    @cached_property
    def keys(self) -> Keys | None:
        """The columns that name the cells of all tables: "table", and every attribute, empty where a table does not have it.
        None where a value is an empty text."""
        if any("" in values for values in self.domain.values):
            return None
        column = "table"
        while column in self.domain.attributes:
            column += "_"
        rows = []
        for (name, attributes), keys in zip(self.tables, self.keys_of_tables, strict=True):
            places = [attributes.index(a) if a in attributes else None for a in self.domain.attributes]
            rows += [(name, *("" if k is None else row[k] for k in places)) for row in keys.rows]
        return Keys((column, *self.domain.attributes), tuple(rows))

    def workload(self) -> Workload:
        """The counts of all cells of all tables."""
        return Workload(Workload.identity(self.size).matrix, self.elements, self.elements, self.keys)

    def stack(self, tables: Mapping[str, object]) -> Floats:
        """One histogram of all tables, (N,), from an array of counts by the name of each.

        Confidential: that tables disagree on what they share is said without numbers.
        """
        if set(tables) != {name for name, _ in self.tables}:
            raise InvalidProblem(f"tables: {shown(sorted(tables))} are given; give {[name for name, _ in self.tables]}.")
        arrays = [
            real_array(tables[name], f"tables[{name}]", len(shape))
            for (name, _), shape in zip(self.tables, self.shapes, strict=True)
        ]
        for (name, _), shape, array in zip(self.tables, self.shapes, arrays, strict=True):
            if array.shape != shape:
                raise InvalidProblem(f"tables[{name}]: has shape {array.shape}; {shape} is needed.")
        whole = np.concatenate([array.ravel() for array in arrays])
        if (self.links @ whole).any():
            raise InvalidProblem("tables: disagree on a margin that they share; count all of them from the same records.")
        return whole

    def split(self, answers: Sequence[float] | Floats) -> dict[str, Floats]:
        """The answers of all cells, (N,), as one array for each table, by name."""
        flat = np.asarray(answers)
        if flat.shape != (self.size,):
            raise InvalidProblem(f"answers: has shape {flat.shape}; give one number for each of the {self.size} cells.")
        parts = zip(self.tables, self.shapes, itertools.pairwise(self.starts), strict=True)
        return {name: flat[start:end].reshape(shape) for (name, _), shape, (start, end) in parts}

    @cached_property
    def links(self) -> Integers:
        """Differences of the margins that two tables share, (p, N): 0 whatever the records are."""
        rows = []
        for one, other in itertools.combinations(range(len(self.tables)), 2):
            shared = tuple(name for name in self.tables[one][1] if name in self.tables[other][1])
            rows.append(self.placed(one, self._margin(one, shared)) - self.placed(other, self._margin(other, shared)))
        return np.vstack(rows)

    def _margin(self, table: int, shared: tuple[str, ...]) -> Integers:
        domain = self.subdomain(self.tables[table][1])
        return np.asarray(margins(domain, [shared]).matrix if shared else total(domain.size).matrix)

    def placed(self, table: int, rows: Integers) -> Integers:
        """Rows over the cells of one table as rows over all cells, (p, N)."""
        full = np.zeros((len(rows), self.size), dtype=np.int64)
        full[:, self.starts[table] : self.starts[table + 1]] = rows
        return full
