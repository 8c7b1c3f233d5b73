"""Linked tables: several tables of the same records, which share margins, as one histogram whose cells are those of all tables.

A record is in one cell of every table, so that a change moves all tables at once, and tables that share attributes agree on
their margin whatever the data are. Noise that keeps both agrees too. The joint table of all attributes is never made
(docs/theory/invariants.md, 13).

The cells of several tables of the same records, one table after the other: their names, the columns that name them, and
what the tables have in common.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, real_array
from designer.base.checks import count, positive, shown
from designer.base.display import counted
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import COUNT, NAMES, POSITIVE, Named, keys, list_of, of_kind, record
from designer.certificate.change_norms import ByLength, Longest
from designer.certificate.implicit_changes import UnlistedSet
from designer.certificate.norms import NormOrder as Order
from designer.limits import MOST_LINKED_CELLS
from designer.problem.domain import Domain, require_domain
from designer.problem.histogram import REFUSE, Keys
from designer.problem.relation import Block, Indices, Read
from designer.problem.workload import Workload
from designer.relations.invariants.changes import ChangeRelation, change_words, points_of_change, sums_are_exact
from designer.relations.invariants.invariant import Invariant, margins, total
from designer.relations.invariants.known import Booleans, Change, KnownChanges, known_changes, measured
from designer.relations.invariants.one_budget import bounded_changes, in_row_space
from designer.relations.invariants.statistics import Integers, Statistics
from solvers.exact.rational import root_above


@dataclass(frozen=True)
class LinkedCells(Immutable):
    """Tables over subsets of the attributes of `domain`: a name and attributes each."""

    domain: Domain
    tables: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        unnamed = [name for name, _ in self.tables if not isinstance(name, str) or not name]
        if unnamed:
            raise InvalidProblem(
                f"tables: {shown(unnamed[0])} is no name of a table; give a text that is not empty.", value=unnamed[0]
            )
        if len(self.tables) < 2 or len({name for name, _ in self.tables}) < len(self.tables):
            raise InvalidProblem(f"tables: {shown([name for name, _ in self.tables])}; give two or more, each by its own name.")
        for name, attributes in self.tables:
            self.require_attributes(name, attributes)
        if self.domain.unlisted != REFUSE:
            raise InvalidProblem(
                f"unlisted: {self.domain.unlisted!r} does not go with linked tables, which count the same records; leave it "
                "out, and give every record a listed value.",
                value=self.domain.unlisted,
            )
        if self.size > MOST_LINKED_CELLS:
            raise InvalidProblem(f"tables: have {self.size} cells together, more than {MOST_LINKED_CELLS}; merge levels.")

    def require_attributes(self, name: str, attributes: Sequence[str]) -> None:
        """Refuse a table, or a margin, over anything but some attributes of the domain."""
        if not attributes or len(set(attributes)) < len(attributes):
            raise InvalidProblem(
                f"tables: {name!r} has the attributes {shown(list(attributes))}; name some, each once.", value=name
            )
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
        for (name, attributes), named in zip(self.tables, self.keys_of_tables, strict=True):
            places = [attributes.index(a) if a in attributes else None for a in self.domain.attributes]
            rows += [(name, *("" if k is None else row[k] for k in places)) for row in named.rows]
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


MOST_GROUPS = 8  # of attributes that are swapped in every way


@dataclass(frozen=True)
class LinkedTables(LinkedCells):
    """Tables over subsets of the attributes of `domain`, and the margins that are published of the records.

    tables: a name and attributes each. published: lists of attributes whose margin is public in every table, as far as it has
    them. That of no attributes, the number of records, always is.
    """

    published: tuple[tuple[str, ...], ...] = ()
    schema = Named(
        "linked_tables",
        record(
            {
                "attributes": NAMES,
                "values": list_of(NAMES),
                "names": NAMES,
                "tables": list_of(NAMES),
                "published": list_of(NAMES, least=0),
            },
            note="Tables of the same records over some of the attributes each, and the margins that are published.",
        ),
    )

    def __post_init__(self) -> None:
        for margin in self.published:
            self.require_attributes("published", margin)
        super().__post_init__()

    # What is public ---------------------------------------------------------------------------------------------------

    def published_in(self, table: int) -> list[tuple[str, ...]]:
        """The largest published margins of a table, none of which has another within it."""
        attributes = self.tables[table][1]
        found = {tuple(name for name in attributes if name in margin) for margin in self.published} - {()}
        return sorted(one for one in found if not any(set(one) < set(other) for other in found))

    def invariant_of(self, table: int) -> Invariant:
        """What is public of one table by itself."""
        groups = self.published_in(table)
        domain = self.subdomain(self.tables[table][1])
        return margins(domain, groups) if groups else total(domain.size)

    @cached_property
    def statistics(self) -> Statistics:
        """What a change leaves alone: the published margins of every table, and the differences of shared ones, which are 0."""
        rows, names = [self.links], [f"linked {k}" for k in range(len(self.links))]
        for table, (name, _) in enumerate(self.tables):
            invariant = self.invariant_of(table)
            rows.append(self.placed(table, invariant.matrix))
            names += [f"{name}: {row}" for row in invariant.names]
        return Statistics(np.vstack(rows), tuple(names))

    # Changes ----------------------------------------------------------------------------------------------------------

    def known(self, table: int, adjacency: int) -> KnownChanges:
        """What is known of the changes of one table when `adjacency` records change."""
        invariant = self.invariant_of(table)
        return known_changes(invariant, adjacency) or bounded_changes(invariant, adjacency)

    def typical_changes(self, adjacency: int) -> list[Change]:
        """Changes of all tables at once, by records of levels 0 and 1: all that is not public moves from one to the other, or
        two records swap some attributes, those of a published margin together."""
        public = {name for margin in self.published for name in margin}
        free = tuple(name for name in self.domain.attributes if name not in public)
        found = [self._of_records([({}, adjacency), (dict.fromkeys(free, 1), -adjacency)])] if free else []
        groups = self._groups(public)[:MOST_GROUPS]
        everything = dict.fromkeys(
            (name for name, n in zip(self.domain.attributes, self.domain.shape, strict=True) if n > 1), 1
        )
        for size in range(1, len(groups)):
            for chosen in itertools.combinations(groups, size):
                swapped = {name: 1 for group in chosen for name in group if name in everything}
                rest = {name: 1 for name in everything if name not in swapped}
                signs = [({}, 1), (everything, 1), (swapped, -1), (rest, -1)]
                found.append(self._of_records([(record, n * (adjacency // 2)) for record, n in signs]))
        return [change for change in dict.fromkeys(found) if change]

    def _groups(self, public: set[str]) -> list[set[str]]:
        """Attributes that published margins tie together; every free one by itself."""
        groups: list[set[str]] = [{name} for name in self.domain.attributes]
        for margin in self.published:
            tied = [group for group in groups if group & set(margin)]
            groups = [group for group in groups if group not in tied] + [set().union(*tied)]
        return groups

    def _of_records(self, records: Sequence[tuple[Mapping[str, int], int]]) -> Change:
        """The change of all tables by so many records of these levels, 0 where none is named."""
        counts: dict[int, int] = {}
        for levels, times in records:
            for (_, attributes), shape, start in zip(self.tables, self.shapes, self.starts, strict=False):
                places = [min(levels.get(name, 0), n - 1) for name, n in zip(attributes, shape, strict=True)]
                cell = start + int(np.ravel_multi_index(places, shape))
                counts[cell] = counts.get(cell, 0) + times
        return tuple(sorted((cell, n) for cell, n in counts.items() if n))

    # Files ------------------------------------------------------------------------------------------------------------

    def to_spec(self) -> dict[str, Any]:
        """Plain data, of `schema`; `from_spec` inverts it."""
        return {
            "attributes": list(self.domain.attributes),
            "values": [list(values) for values in self.domain.values],
            "names": [name for name, _ in self.tables],
            "tables": [list(attributes) for _, attributes in self.tables],
            "published": [list(margin) for margin in self.published],
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> LinkedTables:
        """From plain data."""
        domain = Domain(tuple(spec["attributes"]), tuple(map(tuple, spec["values"])))
        tables = tuple((name, tuple(attributes)) for name, attributes in zip(spec["names"], spec["tables"], strict=True))
        return cls(domain, tables, tuple(map(tuple, spec["published"])))

    def protect(self, epsilon: float, adjacency: int | None = None) -> LinkedChanges:
        """The relation that is left: at most `adjacency` records of the tables change, and what is published does not.

        adjacency: 1 unless it is stated. `InvalidProblem` where it is not and one record moves nothing of a table that is to
        have noise, as between published row and column sums: that table would not be protected.
        """
        stated = 1 if adjacency is None else count(adjacency, "adjacency")
        made = LinkedChanges(self, stated, positive(epsilon, "epsilon"))
        if adjacency is None and made.unmoved_tables:
            raise InvalidProblem(
                f"adjacency: one record can change nothing of {shown(list(made.unmoved_tables))} while the published margins "
                "stay, so that nothing of it would be protected; state how many records may change together: adjacency = 3, by "
                "which any record of a table between published row and column sums can become any other, or 2, by which two "
                "records can swap values."
            )
        return made


@dataclass(frozen=True, eq=False)
class LinkedChanges(ChangeRelation, ByLength):
    """One budget for every change of at most `adjacency` records that keeps the published margins, in all tables at once."""

    linked: LinkedTables
    adjacency: int
    epsilon: float
    kind = "linked_tables"
    schema = of_kind(
        "relation",
        kind,
        {"linked": LinkedTables.schema, "adjacency": COUNT, "epsilon": POSITIVE},
        "Changes of at most `adjacency` records that all of some tables count, with one budget.",
    )

    @property
    def invariant(self) -> Statistics:  # type: ignore[override]  # what is stored are the tables
        """What is public of the stacked tables."""
        return self.linked.statistics

    @property
    def agreeing(self) -> Integers:
        return self.linked.links

    @property
    def counted_tables(self) -> tuple[Keys, ...]:
        return self.linked.keys_of_tables

    @property
    def listed(self) -> bool:
        return False

    @property
    def exchanges(self) -> bool:
        return False

    @property
    def budget(self) -> Fraction:
        return Fraction(self.epsilon)

    @property
    def budgets(self) -> Floats:
        return np.array([self.epsilon])

    @cached_property
    def parts(self) -> tuple[KnownChanges, ...]:
        """What is known of the changes of each table."""
        return tuple(self.linked.known(table, self.adjacency) for table in range(len(self.linked.tables)))

    @cached_property
    def unmoved_tables(self) -> tuple[str, ...]:
        """Names of the tables that are not published whole, and of which no protected change moves anything."""
        tables = zip(self.linked.tables, self.linked.shapes, self.parts, strict=False)
        return tuple(
            name
            for place, ((name, attributes), shape, part) in enumerate(tables)
            if self.linked.published_in(place) != [tuple(attributes)]
            and not part.longest(np.ones(math.prod(shape)), "l1").bound
        )

    @cached_property
    def typical(self) -> tuple[Change, ...]:
        """Changes of all tables at once, among which a witness is chosen."""
        return tuple(self.linked.typical_changes(self.adjacency))

    def longest(self, weights: Floats, order: Order) -> Longest:
        """A bound for `|w v|_p`, table by table: the largest weight of each times the length of its changes. weights: (N,)."""
        slices = itertools.pairwise(self.linked.starts)
        parts = [part.longest(weights[start:end], order).bound for part, (start, end) in zip(self.parts, slices, strict=True)]
        if order == "l2":
            bound = root_above(sum((part * part for part in parts), Fraction(0)))
        else:
            bound = max(parts) if order == "linf" else sum(parts, Fraction(0))
        best = max(self.typical, key=lambda change: measured(change, weights, order), default=())
        reached = measured(best, weights, order)
        close = bound - reached <= bound * Fraction(1, 2**70)  # the roots of the tables were rounded up one by one
        return Longest(bound, bound if close else reached, best, "changes of linked tables")

    def set_of(self, matrix: Floats) -> UnlistedSet:
        return UnlistedSet(self, matrix)

    @property
    def separates(self) -> bool:
        return False

    def long_changes(self, weights: Floats, order: Order, limit: int) -> list[Change]:
        """The longest of the typical changes. weights: (N,)."""
        return sorted(self.typical, key=lambda change: -measured(change, weights, order))[:limit]

    def unmoved(self, rows: Floats) -> Booleans:
        """Rows, (R, N), that follow from what is public."""
        return in_row_space(self.invariant.constraints, rows)

    def is_vacuous(self) -> bool:
        return not self.typical

    def points(self, columns: NDArray[Any]) -> NDArray[Any]:
        """One change, of `columns`, (N, R), which stands for all where only its budget is asked for; and the origin."""
        return points_of_change(self.typical[0], columns)

    def blocks(self) -> Iterator[Block]:
        yield Block(np.array([0]), np.array([1]), self.budgets)

    def every_pair(self) -> Iterator[Block]:
        raise InvalidProblem(
            "relation: the changes of linked tables are known by their lengths, and (b, delta) is proven change by change; use "
            "the notion 'pure' or 'zcdp'."
        )

    def components(self) -> Indices:
        return np.zeros(2, dtype=np.intp)

    def exact_on(self, columns: NDArray[Any]) -> bool:
        return sums_are_exact(columns, 2 * self.adjacency * len(self.linked.tables))

    @property
    def spans_kernel(self) -> bool:
        return True

    def public_rows(self) -> Floats:
        return self.kept()

    def exact_budget(self, left: int, right: int) -> Fraction:
        return self.budget * (left != right)

    def largest_exact_budget(self) -> Fraction:
        return self.budget * (not self.is_vacuous())

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        return change_words(self.typical[0], elements)

    def sentence(self) -> str:
        names, unmoved = ", ".join(name for name, _ in self.linked.tables), self.unmoved_tables
        margins_words = "; ".join(" x ".join(margin) for margin in self.linked.published) or "none but the number of records"
        return (
            f"Databases at most {counted(self.adjacency, 'replaced record')} apart, of which the tables {names} are "
            f"counted, are protected from each other with budget {self.epsilon!r} where they agree in the published margins "
            f"({margins_words})."
            + (f" None of these changes moves anything of {', '.join(unmoved)}: not protected." if unmoved else "")
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> LinkedChanges:
        require_keys(spec["linked"], keys(LinkedTables.schema), "linked")
        return LinkedTables.from_spec(spec["linked"]).protect(spec["epsilon"], spec["adjacency"])


def linked(domain: Domain, tables: Mapping[str, Sequence[str]], published: Sequence[Sequence[str]] = ()) -> LinkedTables:
    """Link several tables of the same records: their attributes by the name of each table, and the margins that are published.

    Parameters
    ----------
    domain : of all attributes.
    tables : for each table, by its name, the attributes that it has.
    published : the attributes of each published margin; each margin is published in every table that has them.

    >>> people = Domain.of({"age": 2, "sex": 2, "county": 3})
    >>> two = linked(people, {"a": ["age", "sex"], "b": ["age", "county"]}, published=[["age"]])
    >>> two.size, two.protect(1.0).longest(np.ones(10), "l1").bound
    (10, Fraction(4, 1))
    """
    require_domain(domain)
    if not isinstance(tables, Mapping) or any(isinstance(part, str) for part in (*tables.values(), *published)):
        raise InvalidProblem(f"tables: {shown(tables)}; give lists of attributes by the name of each table.", value=tables)
    listed = tuple((str(name), tuple(attributes)) for name, attributes in tables.items())
    return LinkedTables(domain, listed, tuple(map(tuple, published)))
