"""A metric and an invariant together: changes of several records cost what moving the records costs.

Few changes are written out; under a taxonomy and published branches of it exchanges of two elements imply all of them
(docs/theory/invariants.md, 4 and 14).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import count
from designer.base.errors import InvalidProblem, NoAttribute
from designer.base.schema import COUNT, exactly, of_kind
from designer.certificate.change_norms import ByLength, Longest
from designer.certificate.implicit_changes import UnlistedSet
from designer.certificate.norms import NormOrder as Order
from designer.limits import MOST_TRANSPORTED_RECORDS
from designer.problem.relation import Block, Indices, Read, Relation, rectangles
from designer.relations.invariants.changes import ChangeRelation, change_words, most_changes
from designer.relations.invariants.known import Booleans, Change, known_changes, measured
from designer.relations.invariants.statistics import Statistics
from designer.relations.metrics.algebra import Restricted
from designer.relations.metrics.metric import METRIC, Metric, Scaled
from designer.relations.metrics.taxonomies import Taxonomy, taxonomy
from solvers.exact.rational import float_below

# Exchanges within published classes under a taxonomy: what every change of any number of records is made of, where the
# cheapest transport never leaves a class (docs/theory/invariants.md, 14).


JOINT: Mapping[Order, np.ufunc] = {"l1": np.add, "l2": np.hypot, "linf": np.maximum}
LEAST_COST = 1e-200  # of an exchange, so that floats hold what is divided by it


@dataclass(frozen=True, eq=False)
class Levels(Immutable):
    """Groups of elements, the published classes first, each level within the groups of the one before.

    groups: (H, N), the group of each element on every level. costs: what it costs to exchange two elements whose lowest common
    group is of that level, one for each, never rising; None where that is not protected. Elements of different classes are
    never exchanged.
    """

    groups: Indices
    costs: tuple[Fraction | None, ...]

    @property
    def size(self) -> int:
        """N, the number of elements."""
        return int(self.groups.shape[1])

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        """The cost of an exchange; None where it changes what is published, or is not protected."""
        if left == right:
            return Fraction(0)
        shared = int((self.groups[:, left] == self.groups[:, right]).sum())
        return self.costs[shared - 1] if shared else None

    @cached_property
    def floats(self) -> Floats:
        """The costs rounded down, (H,)."""
        return np.array([np.inf if cost is None else float_below(cost) for cost in self.costs])

    @cached_property
    def components(self) -> Indices:
        """The group of each element within which all exchanges are protected, and none beyond, (N,), from 0 on."""
        finite = [level for level, cost in enumerate(self.costs) if cost is not None]
        chosen = self.groups[finite[0]] if finite else np.arange(self.size)
        return np.asarray(np.unique(chosen, return_inverse=True)[1].ravel(), dtype=np.intp)

    def blocks(self) -> Iterator[Block]:
        """Every exchange within a class, once."""
        order = np.argsort(self.groups[0], kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(self.groups[0][order])) + 1):
            for rows, columns in rectangles(len(here)):
                left, right = here[rows], here[columns]
                shared = sum((level[left][:, None] == level[right]).astype(np.intp) for level in self.groups)
                yield Block(left, right, np.where(left[:, None] < right, self.floats[np.asarray(shared) - 1], np.inf))

    def farthest(self) -> list[Fraction | None]:
        """The costs that occur, from the top."""
        below = [*self.groups[1:], np.arange(self.size)]
        counts = [len(np.unique(level)) for level in (*self.groups, below[-1])]
        return [cost for cost, here, next_ in zip(self.costs, counts[:-1], counts[1:], strict=True) if next_ > here]

    def nearest(self) -> Floats:
        """The least cost of an exchange of each element, (N,); infinite where it has none that is protected."""
        least = np.full(self.size, np.inf)
        for level, cost in zip(self.groups, self.floats, strict=True):
            least[np.bincount(level, minlength=self.size)[level] > 1] = cost
        return least

    def partners(self, weights: Floats, order: Order) -> tuple[Indices, Indices, Floats]:
        """For each element and level the partner of largest `|(w_i, w_j)|_p / d(i, j)`: left and right, (m,), and the ratios,
        the largest of all first. weights w: (N,)."""
        lefts, rights, ratios = [], [], []
        below = [*self.groups[1:], np.arange(self.size)]
        for level, child, cost in zip(self.groups, below, self.floats, strict=True):
            if not np.isfinite(cost):
                continue
            partner = _heaviest_elsewhere(weights, level, child)
            here = np.flatnonzero(partner >= 0)
            lefts.append(here)
            rights.append(partner[here])
            ratios.append(JOINT[order](weights[here], weights[partner[here]]) / cost)
        none: Indices = np.empty(0, dtype=np.intp)
        found = np.concatenate([np.empty(0), *ratios])
        best = np.argsort(-found, kind="stable")
        return np.concatenate([none, *lefts])[best], np.concatenate([none, *rights])[best], found[best]


def _heaviest_elsewhere(weights: Floats, level: Indices, child: Indices) -> Indices:
    """For each element the heaviest of its group that lies in another child of it, (N,); -1 where there is none."""
    best = _heaviest(weights, level, np.ones(len(weights), dtype=bool))
    apart = child != child[best[level]]
    second = _heaviest(weights, level, apart)
    return np.where(apart, best[level], second[level])


def _heaviest(weights: Floats, level: Indices, among: NDArray[np.bool_]) -> Indices:
    """The heaviest of the given elements in each group, by the number of the group; -1 where there is none."""
    here = np.flatnonzero(among)
    rising = here[np.argsort(weights[here], kind="stable")]
    found = np.full(int(level.max()) + 1, -1, dtype=np.intp)
    found[level[rising]] = rising  # the last one stays
    return found


def levels_within(metric: Metric, invariant: Statistics) -> Levels | None:
    """The exchanges that imply every change of any number of records with its transport cost; None where that is not proven.

    It is for a taxonomy, or multiples of one, and published sums over sets of elements that lie in each other or apart, each
    made of whole branches of one group of the taxonomy.
    """
    factor, tree, chosen = _tree_of(metric)
    structure = invariant.structure if tree is not None and invariant.records_public else None
    if tree is None or structure is None or structure.kind == "margins":
        return None
    ancestors = tree.ancestors[chosen]
    if not all(cost is None or cost * factor > LEAST_COST for cost in tree.costs):
        return None
    if len(ancestors) != invariant.size or not all(_is_close(ancestors, row != 0) for row in invariant.constraints):
        return None
    paths = np.column_stack([structure.classes[0], ancestors]).tolist()
    within = taxonomy(paths, [np.inf, *tree.budgets.tolist()], form=tree.form)
    costs = tuple(None if cost is None else cost * factor for cost in within.costs[1:])
    return Levels(frozen(np.ascontiguousarray(within.ancestors.T)), costs)


def _tree_of(metric: Metric) -> tuple[Fraction, Taxonomy | None, Indices]:
    """A metric as a factor times a taxonomy between some of its leaves; None for others."""
    factor, chosen = Fraction(1), np.arange(metric.size)
    while isinstance(metric, (Scaled, Restricted)):
        if isinstance(metric, Scaled):
            factor *= Fraction(metric.factor)
        else:
            chosen = metric.elements[chosen]
        metric = metric.part
    return factor, metric if isinstance(metric, Taxonomy) else None, chosen


def _is_close(ancestors: Indices, inside: NDArray[np.bool_]) -> bool:
    """Whether elements are all of some branches of the lowest group that holds them: none of these holds another element.

    ancestors: (N, H - 1). inside: (N,).
    """
    own = ancestors[inside]
    shared = int((own == own[0]).all(axis=0).sum()) if len(own) else 0
    if shared == ancestors.shape[1]:
        return True
    return not bool(np.isin(ancestors[~inside, shared], own[:, shared]).any())


LONG = 2_000  # changes; the transport costs of a longer list take seconds
TIED = 2.0**-40  # pairs whose float ratios are this near to the largest are looked at in rationals
EXCHANGED = "of an exchange for its budget, the heaviest two of every group"


@dataclass(frozen=True, eq=False)
class InvariantMetric(ChangeRelation, ByLength):
    """A metric and an invariant together: the budget of a change v is its optimal transport cost, the least `sum d(i, j)` over
    the ways to move the records of v- to v+ one by one.
    With one budget for all pairs it is epsilon times the number of moved records.

    by_exchanges: exchanges of two elements, which imply all changes, take the place of their list, however short that is."""

    metric: Metric
    invariant: Statistics
    adjacency: int
    by_exchanges: bool = False
    kind = "metric_and_invariant"
    schema = of_kind(
        "relation",
        kind,
        {"metric": METRIC, "invariant": Statistics.schema, "adjacency": COUNT},
        "The same changes, with their transport cost under the metric as budget. by_exchanges: exchanges of two elements, "
        "which imply them, are looked at in their place.",
        {"by_exchanges": exactly(True)},
    )
    budget_error = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        self.metric.require_symmetric("metric & invariant")
        if self.metric.size != self.invariant.size:
            raise InvalidProblem(
                f"metric & invariant: the metric speaks of {self.metric.size} elements, the invariant of "
                f"{self.invariant.size}; make them equal."
            )
        if not self.invariant.records_public:
            raise InvalidProblem(
                "metric & invariant: a metric speaks of replaced records; use an invariant with records_public=True."
            )
        if self.by_exchanges and self.levels is None:
            raise InvalidProblem(
                "relation.by_exchanges: is proven for a taxonomy and published sums of whole branches of it only; leave it "
                "out, and the changes are listed."
            )
        if self.adjacency > MOST_TRANSPORTED_RECORDS and self.levels is None:
            raise InvalidProblem(
                f"adjacency: {self.adjacency} records moved at once; at most {MOST_TRANSPORTED_RECORDS} are costed."
            )

    @cached_property
    def levels(self) -> Levels | None:
        """The exchanges that imply every change; None where that is not proven."""
        return levels_within(self.metric, self.invariant)

    @cached_property
    def listed(self) -> bool:
        """Whether the changes are written out: where exchanges are not proven to imply them, or where they are few."""
        if self.by_exchanges or (self.adjacency > MOST_TRANSPORTED_RECORDS and self.levels is not None):
            return False
        return self.levels is None or number_of_changes(self.invariant, self.adjacency) <= most_changes(self.size)

    @property
    def exchanges(self) -> bool:
        return not self.listed

    @property
    def _within(self) -> Levels:
        if self.levels is None:
            raise NoAttribute(
                "relation: its changes are listed one by one, and not implied by exchanges of two elements; ask for an "
                "adjacency (`within`)."
            )
        return self.levels

    @property
    def budget(self) -> Fraction:
        """The least of an exchange."""
        return min((cost for cost in self._within.farthest() if cost is not None), default=Fraction(1))

    def cost(self, change: Change) -> Fraction:
        """The budget of an exchange."""
        ends = [element for element, _ in change]
        return self._within.exact_budget(ends[0], ends[-1]) or self.budget

    def longest(self, weights: Floats, order: Order) -> Longest:
        """The exchange of largest `|w v|_p` for its budget, exact up to the rounding of a root. weights: (N,)."""
        left, right, ratios = self._within.partners(weights, order)
        near = ratios >= ratios.max(initial=0.0) * (1 - TIED)
        shared = (self._within.groups[:, left[near]] == self._within.groups[:, right[near]]).sum(axis=0)
        low, high = np.sort([weights[left[near]], weights[right[near]]], axis=0)
        alike = np.unique(np.stack([low, high, shared], axis=1), axis=0, return_index=True)[1]
        found = [((int(left[k]), 1), (int(right[k]), -1)) for k in np.flatnonzero(near)[alike]]
        changes: list[Change] = [tuple(sorted(change)) for change in found]
        lengths = [measured(change, weights, order) for change in changes]
        if not changes:
            return Longest(Fraction(0), Fraction(0), (), EXCHANGED)
        length, change = max(zip(lengths, changes, strict=True), key=lambda one: one[0] / self.cost(one[1]))
        return Longest(length, length, change, EXCHANGED)

    @property
    def separates(self) -> bool:
        return True

    def long_changes(self, weights: Floats, order: Order, limit: int) -> list[Change]:
        left, right, _ = self._within.partners(weights, order)
        pairs = dict.fromkeys((min(i, j), max(i, j)) for i, j in zip(left.tolist(), right.tolist(), strict=True))
        return [((i, 1), (j, -1)) for i, j in list(pairs)[:limit]]

    def set_of(self, matrix: Floats) -> UnlistedSet:
        return UnlistedSet(self, matrix)

    def unmoved(self, rows: Floats) -> Booleans:
        label = self.components()
        order = np.argsort(label, kind="stable")
        same = label[order[1:]] == label[order[:-1]]
        steps = rows[:, order[1:][same]] != rows[:, order[:-1][same]]
        return np.asarray(~steps.any(axis=1))

    def nearest(self) -> Floats:
        """The least budget of an exchange of each element, (N,); infinite where none is protected."""
        return self._within.nearest()

    def points(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Those of the list; of exchanges the columns, (N, R)."""
        return super().points(columns) if self.listed else columns

    def exact_on(self, columns: NDArray[Any]) -> bool:
        return super().exact_on(columns) if self.listed else True

    def blocks(self) -> Iterator[Block]:
        return super().blocks() if self.listed else self._within.blocks()

    def every_pair(self) -> Iterator[Block]:
        """All changes of the list; exchanges where one record changes, since they are all changes then."""
        if not self.listed and self.adjacency > 1:
            raise InvalidProblem(
                f"relation: (b, delta) has to hold for each change of {self.adjacency} records, which exchanges do not "
                "imply; use the notion 'pure' or 'zcdp', or state that one record changes: invariant.at(1)."
            )
        return self.blocks()

    def components(self) -> Indices:
        return super().components() if self.listed else self._within.components

    @property
    def spans_kernel(self) -> bool:
        return self.listed_spans if self.listed else self.size - self._parts == self.invariant.freedom

    @property
    def _parts(self) -> int:
        return int(self._within.components.max()) + 1

    def public_rows(self) -> Floats:
        return super().public_rows() if self.listed else Relation.public_rows(self)

    @cached_property
    def budgets(self) -> Floats:
        """Float transport costs, rounded down from the exact ones; of exchanges those that occur."""
        costs = self._costs if self.listed else self._within.farthest()
        return frozen(np.array([np.inf if cost is None else float_below(cost) for cost in costs]))

    @cached_property
    def _costs(self) -> tuple[Fraction | None, ...]:
        return tuple(self.exact_budget(m, len(self.changes)) for m in range(len(self.changes)))

    def largest_exact_budget(self) -> Fraction:
        """That of all records going the farthest way, where exchanges take the place of a list."""
        costs = self._costs if self.listed else self._within.farthest()
        return max((cost for cost in costs if cost is not None), default=Fraction(0)) * (1 if self.listed else self.adjacency)

    def is_vacuous(self) -> bool:
        if not self.listed:
            return self._parts == self.size
        return all(self.exact_budget(m, len(self.changes)) is None for m in range(len(self.changes)))

    def to_networkx(self, elements: Sequence[object] | None = None, *, implied: bool = True) -> Any:
        """The graph of the metric, between whose elements several records move at once."""
        return self.metric.to_networkx(elements, implied=implied)

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if not self.listed:
            return self._within.exact_budget(left, right)
        change = self.changes[min(left, right)]
        origins = np.repeat(np.arange(self.size), np.maximum(-change, 0))
        targets = np.repeat(np.arange(self.size), np.maximum(change, 0))
        cost = [[self.metric.exact_budget(int(i), int(j)) for j in targets] for i in origins]
        sums = ([cost[i][j] for i, j in enumerate(order)] for order in permutations(range(len(targets))))
        finite = [sum((c for c in terms if c is not None), Fraction(0)) for terms in sums if None not in terms]
        return min(finite, default=None)

    def largest_budget(self) -> float:
        largest = float(self.budgets[np.isfinite(self.budgets)].max(initial=0.0))
        return largest if self.listed else self.adjacency * largest

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        return super().pair_words(left, right, elements) if self.listed else change_words(((left, 1), (right, -1)), elements)

    def sentence(self) -> str:
        return (
            f"{self._moved()} are protected from each other with the transport cost of the moved records as budget; for one "
            f"record: "
            f"{self.metric.sentence()}"
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> InvariantMetric:
        metric = read(spec["metric"])
        if not isinstance(metric, Metric):
            raise InvalidProblem(f"metric & invariant: {metric.kind!r} is no metric.", value=metric.kind)
        return cls(
            metric, Statistics.from_spec(spec["invariant"]), count(spec["adjacency"], "adjacency"), "by_exchanges" in spec
        )


def number_of_changes(invariant: Statistics, adjacency: int) -> int:
    """A number of changes of at most `adjacency` replaced records that there are; 0 where nothing is known of them."""
    known = known_changes(invariant, adjacency)
    return 0 if known is None else known.count_at_least()


def transported(metric: Metric, invariant: Statistics, adjacency: int) -> InvariantMetric:
    """`metric & invariant`: by exchanges where these are proven to imply all changes, and a list would be long."""
    relation = InvariantMetric(metric, invariant, adjacency)
    long = relation.levels is not None and number_of_changes(invariant, adjacency) > LONG
    return InvariantMetric(metric, invariant, adjacency, by_exchanges=True) if long else relation
