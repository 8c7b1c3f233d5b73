"""What may be published exactly, and how the relation that it leaves to protect is asked
for: the public constructors of invariants.

Once `A x = t` is published, only databases with the same statistics can be confused with the true one. What is protected are
changes v of the histogram with `A v = 0`, of at most `a` records (SEMI Definition 12 with adjacency `A_a`), or of any size with
a budget for every unit of distance (INT Definition 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import overload

import numpy as np

from designer.base.checks import count, positive, shown
from designer.base.errors import InvalidProblem, NoAttribute
from designer.base.labels import listed_label
from designer.limits import MOST_INVARIANT_ENTRIES
from designer.problem.domain import Domain
from designer.problem.histogram import Universe, counts, exact_answers
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.statistics import Distance, Integers, Statistics, proven_adjacency
from designer.relations.invariants.transport import InvariantMetric, transported
from designer.relations.metrics.metric import Metric
from designer.tradeoff.conversions import smooth_budget


@dataclass(frozen=True, eq=False)
class Invariant(Statistics):
    """Statistics `A x` that are published: what they leave to protect.

    adjacency: how many records may change in `metric & invariant`; None for the bound of SEMI Theorem 16.
    """

    adjacency: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adjacency is not None:
            count(self.adjacency, "invariant.adjacency")

    @property
    def semi_adjacency_bound(self) -> int:
        """`a(t) <= p + 1` for every value t (SEMI Theorem 16): a record can always become any other that t allows.

        Impossible elements ask for more where two margins cross: see `designer.relations.invariants.statistics`.
        """
        bound = proven_adjacency(self)
        if bound is None:
            raise NoAttribute(
                "adjacency: no bound of the semi-adjacency is known for this invariant; state how many records may change, "
                "or compute it for your data with designer.relations.invariants.adjacency."
            )
        return bound

    def without(self, elements: Sequence[int]) -> Invariant:
        """The invariant with elements declared impossible (structural zeros), by position: no record can have them, which is
        public. Protected changes and noise avoid them, and data that count a record there are refused.

        >>> table = margins((2, 3)).without([2])
        >>> table.freedom, table.semi_adjacency_bound
        (1, 3)
        """
        return replace(self, impossible=elements)  # type: ignore[arg-type]  # checked by the constructor

    def at(self, adjacency: int) -> Invariant:
        """State the adjacency of the invariant, for `metric & invariant`."""
        return replace(self, adjacency=count(adjacency, "adjacency"))

    def answers(self, histogram: object) -> Integers:
        """`A x` in integers. Confidential data: what comes out is published as it is."""
        return np.asarray(exact_answers(self.matrix, counts(histogram, Universe.of_size(self.size))))

    @overload
    def protect(self, epsilon: float, adjacency: int | None = None) -> InvariantChanges: ...
    @overload
    def protect(self, epsilon: float, *, per_distance: Distance, delta: float | None = None) -> InvariantDistance: ...
    def protect(
        self,
        epsilon: float,
        adjacency: int | None = None,
        *,
        per_distance: Distance | None = None,
        delta: float | None = None,
    ) -> InvariantChanges | InvariantDistance:
        """Derive the relation that the invariant leaves: databases with equal statistics.

        By default those at most `adjacency` records apart are protected from each other with budget `epsilon` (Semi-DP); the
        adjacency is the one stated here or with `at`, or else the bound of SEMI Theorem 16, the conservative reading of
        Definition 13. With `per_distance` databases of any distance are, with budget `epsilon` for every unit of
        that distance of their histograms (INT Definition 2).

        delta: (epsilon, delta) of INT Definition 2 by Gaussian noise, the relation then being for the notion "zcdp": its budget
        is the largest b, `b root(2 log 1/delta) + b^2 / 2 <= epsilon`, at which `lattice_gaussian` keeps that (INT Theorem 14),
        as `designer.lattices.smooth_privacy(mechanism, delta)` says. Raises `InvalidProblem` for a delta without a distance.

        >>> relation = total(3).protect(0.25, per_distance="l2", delta=1e-6)
        >>> round(relation.epsilon, 4)  # one over the standard deviation
        0.0473
        """
        budget = positive(epsilon, "epsilon")
        if per_distance is None:
            if delta is not None:
                raise InvalidProblem(
                    f"delta: {shown(delta)} goes with per_distance alone; beside an adjacency state it in the problem, under "
                    'the notion "approximate".',
                    value=delta,
                )
            return InvariantChanges(self, self.chosen_adjacency(adjacency), budget)
        if adjacency is not None:
            raise InvalidProblem(
                f"adjacency: {adjacency} beside per_distance={per_distance!r}; a budget per distance has no adjacency."
            )
        return InvariantDistance(self, budget if delta is None else smooth_budget(budget, delta), per_distance)

    def chosen_adjacency(self, stated: int | None = None) -> int:
        """`stated`, or that of the invariant, or the bound."""
        if stated is not None:
            return count(stated, "adjacency")
        return self.semi_adjacency_bound if self.adjacency is None else self.adjacency

    def __rand__(self, metric: object) -> InvariantMetric:
        """`metric & invariant`: changes that keep the statistics, with their transport cost under the metric as budget."""
        return transported(metric, self, self.chosen_adjacency()) if isinstance(metric, Metric) else NotImplemented


def linear(matrix: object, names: Sequence[object] | None = None, *, records_public: bool = True) -> Invariant:
    """Publish any linear statistics `A x` with integer A: intersecting counts, weighted sums, several tables at once. Raises
    `InvalidProblem` for entries that are no integers.

    Parameters
    ----------
    matrix : A, (p, N), of integers.
    names : of the rows.
    records_public : is the number of records public, too?

    >>> linear([[1, 1, 0], [0, 1, 1]]).constraints.tolist()
    [[1, 1, 0], [0, 1, 1], [1, 1, 1]]
    """
    if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
        raise InvalidProblem(f"names: {shown(names)} is not a list of names; give one for each statistic.", value=names)
    return Invariant(matrix, None if names is None else tuple(names), records_public)  # type: ignore[arg-type]


def total(n: int) -> Invariant:
    """Publish the number of records alone; adjacency 1 is ordinary differential privacy, replace one. n: how many elements.

    >>> total(3).matrix.tolist()
    [[1, 1, 1]]
    """
    if count(n, "n") > MOST_INVARIANT_ENTRIES:
        raise InvalidProblem(f"n: {shown(n)} elements are more than {MOST_INVARIANT_ENTRIES}; merge elements.", value=n)
    return Invariant(np.ones((1, n), dtype=np.int64), ("records",), True, 0)


def partition(labels: Sequence[object]) -> Invariant:
    """Publish the number of records in each class: `labels`, one for each element (counties by state, say).

    Raises `InvalidProblem` for no labels.

    labels: (N,), the class of each element.

    >>> partition(["DE", "MD", "DE"]).matrix.tolist()
    [[1, 0, 1], [0, 1, 0]]
    """
    if isinstance(labels, str) or not isinstance(labels, (Sequence, np.ndarray)) or not len(labels):
        raise InvalidProblem(f"labels: {shown(labels)} is not a list of labels; give one for each element.", value=labels)
    texts = list(map(listed_label, labels))
    classes = list(dict.fromkeys(texts))
    rows = np.array([[text == name for text in texts] for name in classes], dtype=np.int64)
    return Invariant(rows, tuple(classes), True, 1)


def margins(shape: Sequence[int] | Domain, groups: Sequence[Sequence[int] | Sequence[str]] | None = None) -> Invariant:
    """Publish the marginal tables over groups of features of a contingency table (SEMI section 3.4, Remark 17).

    Disjoint groups have semi-adjacency at most their number + 1 (SEMI Theorem 16). Raises `InvalidProblem` for features that
    there are not.

    Parameters
    ----------
    shape : the number of levels of each feature, or a `Domain`.
    groups : lists of features, by position or name; by default each feature by itself, the one-way margins.

    >>> margins((2, 2)).matrix.tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    >>> margins((2, 3, 2), [(0, 1), (2,)]).semi_adjacency_bound
    3
    """
    if not isinstance(shape, (Domain, Sequence, np.ndarray)) or isinstance(shape, (str, bytes)):
        raise InvalidProblem(
            f"shape: {shown(shape)} is neither a Domain nor a list of the number of levels of each feature.", value=shape
        )
    if not isinstance(groups, (Sequence, np.ndarray, type(None))) or isinstance(groups, str):
        raise InvalidProblem(f"groups: {shown(groups)} is not a list of lists of features.", value=groups)
    domain = (
        shape if isinstance(shape, Domain) else Domain.of({f"axis{i}": count(s, f"shape[{i}]") for i, s in enumerate(shape)})
    )
    chosen = [(name,) for name in domain.attributes] if groups is None else list(groups)
    axes = [_axes(domain, group) for group in chosen]
    if not axes:
        raise InvalidProblem("groups: names no margin; use invariants.total for the number of records alone.")
    if domain.size * sum(math.prod(domain.shape[axis] for axis in group) for group in axes) > MOST_INVARIANT_ENTRIES:
        raise InvalidProblem(
            f"shape: {shown(domain.size)} cells are too many for their margins to be written out; merge levels.",
            value=domain.size,
        )
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    rows, labels = [], []
    for group in axes:
        for cell in product(*(range(domain.shape[axis]) for axis in group)):
            rows.append(np.all([codes[axis] == value for axis, value in zip(group, cell, strict=True)], axis=0))
            parts = (f"{domain.attributes[axis]}={domain.values[axis][value]}" for axis, value in zip(group, cell, strict=True))
            labels.append(", ".join(parts))
    flat = [axis for group in axes for axis in group]
    disjoint = len(axes) if len(set(flat)) == len(flat) else None
    return Invariant(np.array(rows, dtype=np.int64), tuple(labels), True, disjoint)


def joint(*invariants: Statistics) -> Invariant:
    """Join all statistics of several invariants over the same elements, and all that they declare impossible. It is what x and
    x' share when they are equivalent for all of them (SEMI Remark 22, INT Proposition 6).

    Raises `InvalidProblem` for none, and for invariants over different numbers of elements.

    invariants: over the same N elements.

    >>> joint(total(3), partition(["north", "south", "north"])).names
    ('records', 'north', 'south')
    """
    for invariant in invariants:
        if not hasattr(invariant, "matrix"):
            raise InvalidProblem(f"invariants: {shown(invariant)} is none; make one with designer.invariants.", value=invariant)
    if not invariants or len({invariant.size for invariant in invariants}) > 1:
        raise InvalidProblem("invariants: must speak of the same elements, and at least one must be given.")
    rows, names = [], []
    for invariant in invariants:
        for row, name in zip(invariant.matrix.tolist(), invariant.names, strict=True):
            if row not in rows:
                rows.append(row)
                names.append(name if name not in names else f"{name} ({len(rows)})")
    impossible = tuple(sorted({element for invariant in invariants for element in invariant.impossible}))
    public = any(invariant.records_public for invariant in invariants)
    return Invariant(np.array(rows), tuple(names), public, None, impossible)


def _axes(domain: Domain, group: Sequence[int] | Sequence[str]) -> tuple[int, ...]:
    if isinstance(group, str) or not isinstance(group, (Sequence, np.ndarray)) or not len(group):
        raise InvalidProblem(f"groups: {shown(group)} is not a list of features; give positions or names.", value=group)
    axes = tuple(domain.axis(feature) if isinstance(feature, str) else count(feature, "groups", least=0) for feature in group)
    if len(set(axes)) != len(axes) or max(axes) >= len(domain.shape):
        raise InvalidProblem(
            f"groups: {shown(list(group))} must name features of {list(domain.attributes)}, each once.", value=group
        )
    return axes
