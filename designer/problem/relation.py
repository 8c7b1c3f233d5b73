"""What must be hidden: which changes of the data are protected, and the budget for telling each apart.

Changes, points and budgets: docs/theory/foundations.md, section 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import assign, names, shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.schema import Named, spec_of
from designer.limits import MOST_NETWORKX_EDGES
from designer.problem.budget_bounds import Nearness
from designer.problem.histogram import Keys, Unlisted

# The protected pairs of a relation as a graph of networkx: elements for nodes, budgets on edges.


ABSENT = "(no record)"  # the origin, where a record is absent

Pairs = Iterable[tuple[Any, Any, Floats]]


def point_names(elements: Sequence[object] | None, size: int, points: int) -> tuple[str, ...]:
    """Names of all points, those of the elements first: `e0, e1, ...` where none are given, as in a workload without names."""
    named = names(elements, size, "elements", "e")
    if points == size:
        return named
    if ABSENT in named:
        raise InvalidProblem(
            f"elements: {shown(ABSENT)} is the name of no record in this graph; give the element another one.", value=ABSENT
        )
    return (*named, ABSENT)


def networkx_graph(nodes: Sequence[str], pairs: Pairs, notes: Mapping[str, str]) -> Any:
    """An undirected `networkx.Graph` with the edge attribute `budget`, a float; of a pair that comes twice, the smaller one.

    pairs: left (E,), right (E,) and budgets (E,) in step, all finite. Refused above `MOST_NETWORKX_EDGES` edges.
    """
    import networkx

    listed: list[tuple[Any, Any, Floats]] = []
    count = 0
    for left, right, budgets in pairs:
        listed.append((left, right, budgets))
        count += len(budgets)
        if count > MOST_NETWORKX_EDGES:
            raise InvalidProblem(
                f"to_networkx: more than {MOST_NETWORKX_EDGES:,} pairs of the {len(nodes):,} elements have a finite budget; "
                "ask for those that no others imply (implied=False), merge elements, or restrict the relation."
            )
    drawn = networkx.Graph(**notes)
    drawn.add_nodes_from(nodes)
    for left, right, budgets in listed:
        for i, j, budget in zip(left.tolist(), right.tolist(), budgets.tolist(), strict=True):
            known = drawn.get_edge_data(nodes[i], nodes[j], {"budget": np.inf})["budget"]
            drawn.add_edge(nodes[i], nodes[j], budget=min(known, budget))
    return drawn


Indices = NDArray[np.intp]
Read = Callable[[Any], "Relation"]

# Pairs per block: 2^21 float64 distances fill 16 MB, which keeps a scan of 2e8 pairs in cache and far below 1 GB.
BLOCK_PAIRS = 1 << 21
RECORDS_PUBLIC = "The number of records is public."
BUDGETS_ADD = "budgets of groups add up, and nothing more is claimed for them."


@dataclass(frozen=True)
class Block:
    """Protected pairs of points: a rectangle `left x right` (budgets 2-D), or `left[m]` with `right[m]` (budgets 1-D).

    An infinite budget leaves the pair unprotected.
    left: (L,), right: (M,), point indices. budgets: (L, M), or (M,) where both run in step; nonnegative.
    """

    left: Indices
    right: Indices
    budgets: Floats

    @property
    def paired(self) -> bool:
        """True when `left` and `right` run in step."""
        return self.budgets.ndim == 1

    def pair(self, flat: int) -> tuple[int, int]:
        """The two point indices of the flat position `flat` in `budgets`."""
        if self.paired:
            return int(self.left[flat]), int(self.right[flat])
        row, column = divmod(flat, len(self.right))
        return int(self.left[row]), int(self.right[column])


@dataclass(frozen=True, eq=False)
class SimpleBudgets(Immutable):
    """The budgets of a relation in which all changes of a record cost alike: `change`, None where a record does not change;
    and of a record that appears, `appear[kinds[i]]` for element i, (N,); none where no record appears. All are finite."""

    change: Fraction | None
    appear: tuple[Fraction, ...] = ()
    kinds: NDArray[np.intp] | None = None

    @classmethod
    def appearing(cls, epsilons: Floats, change: Fraction | None = None) -> SimpleBudgets | None:
        """Of records that appear with budgets epsilon_i, (N,); None where one of them is infinite."""
        values, kinds = np.unique(epsilons, return_inverse=True)
        return None if np.isinf(values[-1]) else cls(change, tuple(map(Fraction, values.tolist())), frozen(kinds.ravel()))

    def of_appearing(self) -> Floats:
        """The budget of a record of every element to appear, (N,)."""
        return np.array([float(budget) for budget in self.appear])[self.kinds]

    def mapped(self, rule: Callable[[Fraction], Fraction]) -> SimpleBudgets:
        """What a rule makes of every budget."""
        return SimpleBudgets(None if self.change is None else rule(self.change), tuple(map(rule, self.appear)), self.kinds)


class Relation(Immutable, ABC):
    """A symmetric family of protected changes of the histogram, each with a budget.

    Changes are pairs of *points*: the images of the universe elements under a query matrix, and (index N) the origin, where a
    record is absent. Budgets used in scans are floats within `budget_error` (relative) of the exact rational budget of
    `exact_budget`, which is never above the budget that was promised.
    """

    kind: ClassVar[str]
    schema: ClassVar[Named]  # of `to_spec()`
    single_records: ClassVar[bool] = True  # the points are the images of the elements, and the origin
    absence: ClassVar[bool] = False  # may a record appear or disappear at its budget, whatever the others are?
    budget_error: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if isinstance(value := getattr(self, field.name), np.ndarray) and (value.flags.writeable or value.base is not None):
                assign(self, **{field.name: frozen(value)})

    @property
    @abstractmethod
    def size(self) -> int:
        """N, the number of universe elements."""

    def require_elements(self, elements: int, unlisted: Unlisted, of: str = "workload", field: str = "relation") -> None:
        """Refuse a workload of another number of elements, or with a rule for others that the relation cannot have.

        of: what it is called, where it is none.
        """
        if self.size != elements:
            raise InvalidProblem(f"{field}: speaks of {self.size} elements, the {of} of {elements}; make them equal.")
        self.require_rule(unlisted)

    def require_rule(self, unlisted: Unlisted) -> None:
        """Refuse to leave records out where the number of those that count is public: one that comes to be left out would
        change it, which no budget covers."""
        if unlisted == "drop" and not self.absence:
            raise InvalidProblem(
                f'unlisted: "drop" leaves records out, and the relation, {self.kind!r}, does not protect whether a record is '
                'there; take "refuse" or "count as others", or a relation in which a record may appear or disappear '
                "(add_remove, appear_or_change)."
            )

    def entity_budget(self, rows: int) -> Fraction:
        """What all rows of one entity cost together, at most `rows` of them: so many times the largest budget of one, because
        budgets add up along changes of single rows, in pure privacy and in the roots of zCDP (docs/theory/entities.md).

        `InvalidProblem` where that is no bound: a change of one row has no budget, or is none that the relation speaks of.
        """
        raise InvalidProblem(
            f"entity: the relation, {self.kind!r}, speaks of records that change together so that published statistics stay as "
            "they are, which says nothing of the rows of one entity; leave it out, or protect the rows by a metric or their "
            "presence."
        )

    def _budget_of_rows(self, rows: int) -> Fraction:
        """`rows` times the largest budget of a change of one row, rounded up."""
        if self.components().any():
            raise InvalidProblem(
                "entity: some change of a single row is not protected, hence the rows of an entity are not; give every change "
                "a finite budget, or leave it out."
            )
        return rows * Fraction(self.largest_budget()) * (1 + 2 * Fraction(self.budget_error))

    @property
    def impossible(self) -> tuple[int, ...]:
        """The elements that no record can have: data that count one there are refused."""
        return ()

    @property
    def simple(self) -> SimpleBudgets | None:
        """Its budgets where every change of a record has the same one, and none is infinite; None elsewhere. With them, rows
        that nobody writes out are certified."""
        return None

    @property
    def agreeing(self) -> NDArray[np.int64] | None:
        """Rows, (q, N), whose answers are 0 whatever the data are, such as what two tables of the same records count in common:
        data that have others are refused. None where there are none."""
        return None

    @property
    def counted_tables(self) -> tuple[Keys, ...]:
        """The columns that name the cells of each table, where the elements are the cells of several tables of the same
        records; none otherwise."""
        return ()

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Every protected pair at least once, apart from pairs that others imply exactly."""

    def every_pair(self) -> Iterator[Block]:
        """Every protected pair at least once, those that others imply among them: for promises that do not chain."""
        raise InvalidProblem(
            f"relation: {self.kind!r} does not list the pairs that others imply, and (b, delta) has to hold for each of them; "
            "give it a method every_pair, or use the notion 'pure' or 'zcdp'.",
            value=self.kind,
        )

    def drawn_pairs(self, *, implied: bool) -> Iterator[Block]:
        """The pairs of a picture: all that one change makes, or without those that others imply."""
        return self.every_pair() if implied else self.blocks()

    def to_networkx(self, elements: Sequence[object] | None = None, *, implied: bool = True) -> Any:
        """What is protected from what, as a `networkx.Graph`: a node for each element, an edge with its `budget` for each pair
        whose budget is finite.

        elements: the names of the elements, such as `workload.elements`; `e0, e1, ...` where none are given. Where records
        appear, one more node stands for no record. Budgets are floats, within `budget_error` of the exact ones.
        implied: with those pairs whose budget others imply; False leaves the fewest, whose shortest paths are all budgets.
        `metrics.graph(drawn, weight="budget", elements=names)` makes a relation of it again.
        Raises `InvalidProblem` above 500,000 edges, and for relations whose changes are no pairs of elements.
        """
        count = len(self.points(np.empty((self.size, 0))))
        blocks = self.drawn_pairs(implied=implied)
        pairs = ((*finite_pairs(block), block.budgets[np.isfinite(block.budgets)]) for block in blocks)
        nodes = point_names(elements, self.size, count)
        return networkx_graph(nodes, pairs, {"kind": self.kind, "sentence": self.sentence()})

    @abstractmethod
    def exact_budget(self, left: int, right: int) -> Fraction | None:
        """The budget of a pair as a rational number, rounded down where it is irrational; None when infinite."""

    @abstractmethod
    def sentence(self) -> str:
        """One sentence: what may change, and what budget it has."""

    def to_spec(self) -> dict[str, Any]:
        """The relation as plain data, `kind` first; `from_spec` inverts it.

        `InvalidProblem` for a class without a `schema` that does not say it itself.
        """
        if not hasattr(self, "schema"):
            raise InvalidProblem(f"relation: nothing says what a {type(self).__name__} is made of; give it a method to_spec.")
        return spec_of(self, self.schema)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Relation:
        """The relation from plain data; `read` turns the data of an inner relation into one.
        Those of the closed list have it."""
        raise InvalidSpec(f"relation.kind: {cls.kind!r} is not read from files; make it in Python.", value=cls.kind)

    def inner(self) -> list[Relation]:
        """The relations that this one holds."""
        values: list[object] = [getattr(self, field.name) for field in fields(self)] if is_dataclass(self) else []
        return [
            part for value in values for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Relation)
        ]

    def points(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The points whose protected pairs differ by sensitivity vectors, from `columns` of shape (N, R)."""
        return columns

    def is_vacuous(self) -> bool:
        """Whether no change at all is protected, so that any guarantee would be empty."""
        return not any(np.isfinite(block.budgets).any() for block in self.blocks())

    def exact_on(self, columns: NDArray[Any]) -> bool:
        """Whether `points(columns)` holds without rounding, columns (N, R); a certificate needs that."""
        return True

    def public_rows(self) -> Floats:
        """Rows (p, N) whose answers no protected change moves, and that span all such rows: the sizes of the connected
        components, but for that of the origin."""
        label = self.components()
        public = np.setdiff1d(label, label[self.size :])
        return np.asarray(label[: self.size] == public[:, None], dtype=np.float64)

    def protected_unit(self) -> str:
        """What is protected, for the guarantee."""
        return f"The participation of one record, or its value, as the relation states; {BUDGETS_ADD}"

    def unprotected(self) -> tuple[str, ...]:
        """Sentences: what the relation leaves public."""
        label = self.components()
        counted = () if len(label) > self.size else (RECORDS_PUBLIC,)
        apart = ("Changes between different connected components of the relation are not protected.",)
        return counted + (apart if label.any() else ())

    def facts(self) -> dict[str, float | int | None]:
        """Numbers for the guarantee beside the budgets."""
        return {"connected_components": int(self.components().max()) + 1}

    def largest_budget(self) -> float:
        """The largest finite budget of any pair, implied pairs included, as a float; 0 where every budget is infinite."""
        return max((float(b.budgets[np.isfinite(b.budgets)].max(initial=0.0)) for b in self.blocks()), default=0.0)

    @property
    def searched(self) -> Nearness | None:
        """What bounds the budgets between groups of elements, where `blocks` lists every pair that has a finite budget or only
        leaves out what others imply; None where there is no such rule, and pairs are looked at one by one."""
        return None

    def beside(self) -> Iterator[Block]:
        """The blocks that `searched` does not speak of."""
        return iter(())

    def along(self, left: Indices, right: Indices) -> Floats:
        """Float budgets of pairs in step, (M,), where the relation is `searched`: as its blocks have them, up to rounding.

        left, right: (M,), element indices.
        """
        raise NotImplementedError

    def pair_count(self) -> int:
        """How many pairs with a finite budget `blocks()` and `beside()` list."""
        near = self.searched
        blocks = self.blocks() if near is None else self.beside()
        return (0 if near is None else near.pairs) + sum(int(np.isfinite(block.budgets).sum()) for block in blocks)

    def least_budget(self, *, positive: bool = False) -> float:
        """The least float budget of the pairs of `blocks()`, or the least above 0; infinite where there is none."""
        near = self.searched
        if near is None or not near.many:
            return min((_least(block.budgets, positive) for block in self.blocks()), default=np.inf)
        others = (_least(block.budgets, positive) for block in self.beside())
        return min(near.closest(self.along, positive=positive), min(others, default=np.inf))

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        """A pair in words."""
        return f"{elements[left]} -> {elements[right]}"

    def components(self) -> Indices:
        """Label of the connected component of every point when finite budgets are edges;
        pairs in different components are unprotected."""
        return graph_components(self.blocks(), len(self.points(np.empty((self.size, 0)))))


def _least(budgets: Floats, positive: bool) -> float:
    return float((budgets[budgets > 0] if positive else budgets).min(initial=np.inf))


def graph_components(blocks: Iterator[Block], points: int) -> Indices:
    """Connected components of the graph whose edges are the finite budgets, numbered in the order of their first points.

    Every point knows the least point that it was found connected with: of two such points that an edge joins, the larger one
    follows the smaller, until no edge joins two.

    >>> graph_components(iter([Block(np.array([4, 2]), np.array([3, 4]), np.ones(2))]), 5)
    array([0, 1, 2, 2, 2])
    """
    least: Indices = np.arange(points)
    for block in blocks:
        left, right = finite_pairs(block)
        while len(left):
            left, right = least[left], least[right]
            apart = left != right
            left, right = left[apart], right[apart]
            np.minimum.at(least, np.maximum(left, right), np.minimum(left, right))
            while not np.array_equal(further := least[least], least):
                least = further
    return np.unique(least, return_inverse=True)[1].astype(np.intp).reshape(points)


def of_ones_own(kind: type[Relation]) -> bool:
    """Whether a class of relations is the caller's own, and none of this program."""
    return kind.__module__.split(".")[0] != "designer"


def finite_pairs(block: Block) -> tuple[Indices, Indices]:
    """The point indices of the pairs of a block that have a finite budget."""
    where = np.nonzero(np.isfinite(block.budgets))
    if block.paired:
        return block.left[where[0]], block.right[where[0]]
    return block.left[where[0]], block.right[where[1]]


def rectangles(size: int) -> Iterator[tuple[slice, slice]]:
    """Slices that cover every pair i < j of `size` points with rectangles of about `BLOCK_PAIRS` entries.

    >>> list(rectangles(3))
    [(slice(0, 3, None), slice(0, 3, None))]
    """
    start = 0
    while start < size:
        stop = min(size, start + max(1, BLOCK_PAIRS // (size - start)))
        yield slice(start, stop), slice(start, size)
        start = stop
