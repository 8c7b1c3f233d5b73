"""Relations in which a record may appear or disappear,
and may also change by a metric: the number of records is protected too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from sys import float_info
from typing import Any, ClassVar

import numpy as np

from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count, positive, shown
from designer.base.errors import InvalidProblem
from designer.base.run_length import in_runs, numbers_from, or_runs
from designer.base.schema import BOOLEAN, BUDGETS, of_kind
from designer.limits import MOST_PRESENCE_ELEMENTS
from designer.problem.budget_bounds import Nearness
from designer.problem.histogram import Unlisted
from designer.problem.relation import Block, Indices, Read, Relation, SimpleBudgets, rectangles
from designer.relations.metrics.algebra import ROUNDING, unclipped
from designer.relations.metrics.element_budgets import own_budgets
from designer.relations.metrics.metric import METRIC, Metric, inner_words, metric_from_spec, require_metric
from designer.relations.metrics.points import Ordered
from solvers.exact.rational import float_above

NOTION_OF = {"epsilon": "pure", "mu": "zcdp"}
BUDGET_OF = {notion: name for name, notion in NOTION_OF.items()}


@dataclass(frozen=True, init=False, repr=False)
class Presence:
    """One record appears or disappears, whatever its values, with one budget: ordinary add/remove privacy, for a domain of any
    size.

    epsilon: the budget in nats, of the notion "pure". mu: the budget of the notion "zcdp", where rho is mu^2 / 2; the attribute
    `epsilon` holds it as well. Problems and mechanisms of the other notion refuse it. Raises `InvalidProblem` for a budget that
    is not positive or that no name says the notion of, and for none or both.

    >>> Presence(mu=0.5)
    Presence(mu=0.5)
    """

    epsilon: float
    notion: str = field(compare=False)  # which the name of the budget said
    absence: ClassVar[bool] = True

    def __init__(self, *unnamed: object, epsilon: object = None, mu: object = None) -> None:
        given = {name: value for name, value in (("epsilon", epsilon), ("mu", mu)) if value is not None}
        if unnamed or len(given) != 1:
            told = ", ".join([*map(shown, unnamed), *given]) or "no budget"
            raise InvalidProblem(
                f"presence: {told} given; name the one budget: epsilon=.. of pure privacy, or mu=.. of zCDP (rho = mu^2 / 2).",
                value=unnamed[0] if unnamed else None,
            )
        ((name, value),) = given.items()
        assign(self, epsilon=positive(value, name), notion=NOTION_OF[name])

    def __repr__(self) -> str:
        return f"Presence({BUDGET_OF[self.notion]}={self.epsilon!r})"

    def require_notion(self, notion: str) -> None:
        """Refuse a budget that was given by the name of another notion's."""
        if self.notion != notion:
            own, other = BUDGET_OF[self.notion], "epsilon" if notion == "pure" else "mu"
            raise InvalidProblem(
                f"relation: {own} is a budget of the notion {self.notion!r}, and the notion here is {notion!r}; give "
                f"Presence({other}=...), or design for the other notion.",
                value=self.epsilon,
            )

    def sentence(self) -> str:
        """One sentence: what may change, and what budget it has."""
        return f"Any one record may appear or disappear, with budget {self.epsilon!r}."

    def entity_budget(self, rows: int) -> Fraction:
        """What all rows of one entity cost together, at most `rows` of them."""
        return rows * Fraction(self.epsilon)

    def require_rule(self, unlisted: Unlisted) -> None:
        """Every rule for records with unlisted values fits: a record that is left out is one that disappears."""


@dataclass(frozen=True, eq=False)
class AddRemove(Relation):
    """A record of element i appears or disappears, with budget epsilon_i. The number of records is protected too.

    epsilons: (N,), nonnegative, infinite where an element is unprotected. docs/theory/metrics.md, section 5.
    """

    epsilons: Floats
    kind = "add_remove"
    absence = True
    schema = of_kind("relation", kind, {"epsilons": or_runs(BUDGETS)})

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def points(self, columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate([columns, np.zeros_like(columns[:1])])

    def blocks(self) -> Iterator[Block]:
        yield Block(np.arange(self.size), np.full(self.size, self.size), np.array(self.epsilons))

    @cached_property
    def simple(self) -> SimpleBudgets | None:
        return SimpleBudgets.appearing(self.epsilons)

    def every_pair(self) -> Iterator[Block]:
        """One record appears; that another disappears is a second change."""
        return self.blocks()

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if left == right or self.size not in (left, right):
            return None  # that a record changes is two changes, and no pair
        epsilon = float(self.epsilons[min(left, right)])
        return None if np.isinf(epsilon) else Fraction(epsilon)

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        return f"a record of {elements[min(left, right)]} appears"

    def entity_budget(self, rows: int) -> Fraction:
        return self._budget_of_rows(rows)

    def sentence(self) -> str:
        low, high = float(self.epsilons.min()), float(self.epsilons.max())
        budget = (
            f"budget {low!r}" if low == high else f"a budget of its own for each universe element, from {low!r} to {high!r}"
        )
        return f"Any one record may appear or disappear, with {budget}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilons": in_runs(self.epsilons)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> AddRemove:
        epsilons = numbers_from(spec["epsilons"], "relation.epsilons")
        return add_remove(len(epsilons), epsilons)


@dataclass(frozen=True, eq=False)
class AppearOrChange(Relation):
    """A record of element i appears or disappears with budget epsilon_i, or changes from i to j with budget d(i, j).

    Together they are a metric on the elements and the origin, where a record is absent: `|epsilon_i - epsilon_j| <= d(i, j)
    <= epsilon_i + epsilon_j`. With `closure`, budgets that are longer than a way round are taken for that way. change: a metric
    on the N elements. epsilons: (N,), in nats.
    """

    change: Metric
    epsilons: Floats
    closure: bool = False
    kind = "appear_or_change"
    absence = True
    schema = of_kind(
        "relation",
        kind,
        {"change": METRIC, "epsilons": or_runs(BUDGETS), "closure": BOOLEAN},
        "A record appears with its budget, or changes by the metric.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_metric(self.change, "relation.change", len(self.epsilons))
        assign(self, budget_error=self.change.budget_error + 2.0**-48)
        if not self.closure:
            self._require_consistent()

    @property
    def size(self) -> int:
        return self.change.size

    def points(self, columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate([columns, np.zeros_like(columns[:1])])

    @cached_property
    def simple(self) -> SimpleBudgets | None:
        change = None if self.closure else self.change.simple
        return None if change is None else SimpleBudgets.appearing(self.epsilons, change.change)

    @cached_property
    def _presence_floats(self) -> Floats:
        """Budget of each element to appear, the way through another element included where the closure is meant."""
        if not self.closure:
            return self.epsilons
        ways = [
            (self.change.rectangle(slice(i, i + 1), slice(0, self.size))[0] + self.epsilons).min() for i in range(self.size)
        ]
        return frozen(np.minimum(self.epsilons, np.array(ways)))

    def blocks(self) -> Iterator[Block]:
        """The given pairs with what they cost in the closure, without those that are proven to cost less through the origin:
        its two steps are shorter, and imply them."""
        presence = self._presence_floats
        for block in self.change.blocks():
            budgets = self._closed(block, presence) if self.closure else block.budgets
            yield Block(block.left, block.right, budgets)
        yield from self.beside()

    @property
    def searched(self) -> Nearness | None:
        return None if self.closure else self.change.searched

    def beside(self) -> Iterator[Block]:
        yield Block(np.arange(self.size), np.full(self.size, self.size), np.array(self._presence_floats))

    def along(self, left: Indices, right: Indices) -> Floats:
        return self.change.along(left, right)

    def every_pair(self) -> Iterator[Block]:
        """All changes at what they cost, in the closure directly or through the origin."""
        presence = self._presence_floats
        for rows, columns in rectangles(self.size):
            here, there = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
            direct, around = self.change.rectangle(rows, columns), presence[rows, None] + presence[None, columns]
            least = np.minimum(direct, around) if self.closure else direct
            yield Block(here, there, np.where(here[:, None] < there, least, np.inf))
        yield from self.beside()

    def _closed(self, block: Block, presence: Floats) -> Floats:
        """Budgets of a block of changes in the closure; infinite where the change is dropped.

        Float budgets are at most `1 + budget_error` times the exact ones, and may be far below them where they were clipped;
        the given epsilons are exact, and the way through the origin costs no more than two of them. So only a change beyond its
        error longer than these is proven to be implied.
        """
        around, given = (
            at[block.left] + at[block.right] if block.paired else at[block.left][:, None] + at[block.right]
            for at in (presence, self.epsilons)
        )
        implied = block.budgets * (1 - 2 * self.budget_error) > given
        dropped = implied | np.isinf(block.budgets)
        return np.where(dropped, np.inf, np.minimum(block.budgets, around))

    def _require_consistent(self) -> None:
        """Raise `InvalidProblem` with three points that break the triangle inequality, the origin among them.

        Distances in floats miss it by a few roundings; every pair is certified by itself anyway.
        """
        own = self.epsilons
        for rows, columns in rectangles(self.size):
            d = self.change.rectangle(rows, columns)
            left, right = np.broadcast_arrays(own[rows, None], own[None, columns])
            for longer, way, words in (
                (d, left + right, "d({i}, {j}) = {a!r} is more than epsilon_{i} + epsilon_{j} = {b!r}"),
                (left, d + right, "epsilon_{i} = {a!r} is more than d({i}, {j}) + epsilon_{j} = {b!r}"),
                (right, d + left, "epsilon_{j} = {a!r} is more than d({i}, {j}) + epsilon_{i} = {b!r}"),
            ):
                broken = longer > way * (1 + ROUNDING)
                if broken.any():
                    i, j = (int(v) for v in np.argwhere(broken)[0])
                    excess = words.format(i=rows.start + i, j=columns.start + j, a=float(longer[i, j]), b=float(way[i, j]))
                    raise InvalidProblem(
                        f"relation.epsilons: break the triangle inequality: {excess}. The way round already costs less; pass "
                        "closure=True to accept what it implies."
                    )

    @cached_property
    def _presence(self) -> Callable[[int], Fraction | None]:
        """Budget of a record of an element to appear, found once: by itself or, in the closure, as another one that then
        changes."""
        return cache(self._found_presence)

    def _found_presence(self, element: int) -> Fraction | None:
        own = float(self.epsilons[element])
        least = None if np.isinf(own) else Fraction(own)
        return self._shortest(element, least) if self.closure else least

    def _shortest(self, element: int, least: Fraction | None) -> Fraction | None:
        """The smaller of `least` and the exact way through any other element;
        floats, below the exact ways, spare most of these."""
        ways = self.change.rectangle(slice(element, element + 1), slice(0, self.size))[0] + self.epsilons
        below = ways * (1 - 2 * self.budget_error)
        for other in np.argsort(below).tolist():
            if np.isinf(below[other]) or (least is not None and Fraction(float(below[other])) >= least):
                return least
            budget = self.change.exact_budget(element, other)
            if budget is not None:
                way = budget + Fraction(float(self.epsilons[other]))
                least = way if least is None else min(least, way)
        return least

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if left == right:
            return Fraction(0)
        if self.size in (left, right):
            return self._presence(min(left, right))
        direct = self.change.exact_budget(left, right)
        ends = [self._presence(left), self._presence(right)] if self.closure or direct is None else [None]
        around = None if None in ends else sum(filter(None, ends), Fraction(0))
        return min((budget for budget in (direct, around) if budget is not None), default=None)

    def largest_budget(self) -> float:
        presence = self._presence_floats
        largest = float(presence[np.isfinite(presence)].max(initial=0.0))
        if not self.closure:
            return max(self.change.largest_budget(), largest)
        for rows, columns in rectangles(self.size):
            around = presence[rows, None] + presence[None, columns]
            closed = np.minimum(self.change.rectangle(rows, columns), around)
            np.fill_diagonal(closed, 0.0)
            largest = max(largest, float(closed[np.isfinite(closed)].max(initial=0.0)))
        return largest

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        if self.size in (left, right):
            return f"a record of {elements[min(left, right)]} appears"
        return super().pair_words(left, right, elements)

    def entity_budget(self, rows: int) -> Fraction:
        return self._budget_of_rows(rows)

    def sentence(self) -> str:
        low, high = float(self.epsilons.min()), float(self.epsilons.max())
        closed = " (where a way round costs less, that cost)" if self.closure else ""
        return (
            f"Any one record may appear or disappear, with a budget from {low!r} to {high!r} by its element, or change by the "
            f"rule that follows{closed}: {inner_words(self.change)}."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "change": self.change.to_spec(), "epsilons": in_runs(self.epsilons), "closure": self.closure}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> AppearOrChange:
        return appear_or_change(
            metric_from_spec(spec["change"], read), numbers_from(spec["epsilons"], "relation.epsilons"), closure=spec["closure"]
        )


def add_remove(n: int, epsilon: float | Sequence[float]) -> AddRemove:
    """Let one record appear or disappear. Raises `InvalidProblem` for budgets that are not positive, or not one for each
    element.

    Parameters
    ----------
    n : the number of elements.
    epsilon : in nats, for all elements or a sequence with one for each (infinite: unprotected).

    >>> add_remove(3, [0.5, 1.0, 1.0]).sentence()
    'Any one record may appear or disappear, with a budget of its own for each universe element, from 0.5 to 1.0.'
    """
    size = count(n, "n")
    if size > MOST_PRESENCE_ELEMENTS:
        raise InvalidProblem(f"n: {shown(n)} elements are more than {MOST_PRESENCE_ELEMENTS}; merge elements.", value=n)
    if not isinstance(epsilon, (list, tuple)) and np.ndim(epsilon) == 0:
        return AddRemove(frozen(np.full(size, positive(epsilon, "epsilon"))))
    epsilons = real_array(epsilon, "epsilon", 1, allow_inf=True)
    if len(epsilons) != size:
        raise InvalidProblem(f"epsilon: {len(epsilons)} budgets for {size} elements; give one for each.")
    for i in np.flatnonzero(~(epsilons > 0)).tolist():
        positive(epsilons[i], f"epsilon[{i}]", allow_inf=True)
    return AddRemove(epsilons)


def appear_or_change(change: Metric, epsilon: float | Sequence[float] | Floats, *, closure: bool = False) -> AppearOrChange:
    """Let a record appear or disappear with budget `epsilon`, or change with the budget of `change`.

    Unbounded data under a metric (DX section 5): the number of records is protected. The budgets must be a metric with the
    origin added. Otherwise the refusal names a way round that costs less, and `closure=True` accepts what it implies. Raises
    `InvalidProblem` there, and for budgets that are not positive.

    Parameters
    ----------
    change : the metric by which a record changes.
    epsilon : the budget of its presence, one for all or (N,).
    closure : accept what budgets imply that break the triangle inequality.

    >>> from designer import metrics
    >>> relation = appear_or_change(metrics.line([0, 1, 4], period=1, epsilon=1.0), 2.0)
    >>> relation.exact_budget(0, 2), relation.exact_budget(0, 3)
    (Fraction(4, 1), Fraction(2, 1))
    """
    size = require_metric(change, "relation.change").size
    if not isinstance(closure, bool):
        raise InvalidProblem(
            f"relation.closure: {closure!r} is neither True nor False; say whether the closure is accepted.", value=closure
        )
    several = isinstance(epsilon, (list, tuple)) or np.ndim(epsilon)
    given = epsilon if several else np.full(size, positive(epsilon, "relation.epsilons"))
    epsilons = own_budgets(given, "relation.epsilons")
    if len(epsilons) != size:
        raise InvalidProblem(f"relation.epsilons: {len(epsilons)} budgets for {size} elements; give one for each.")
    return AppearOrChange(change, epsilons, closure)


def number_of_records(n: int, epsilon: float) -> AppearOrChange:
    """Protect the total alone: records appear with budget `epsilon`, and changes of a record move nothing (budget 0).

    A mechanism that keeps it, the noisy number of records, composes with others without spending anything of their change
    budgets. Raises `InvalidProblem` for either that is not positive.

    Parameters
    ----------
    n : the number of elements.
    epsilon : in nats.

    >>> from designer import Problem, Workload, design
    >>> design(Problem(Workload([[1, 1, 1]]), number_of_records(3, 0.5)), "laplace").privacy.holds
    True
    """
    nothing = Ordered(frozen(np.zeros(count(n, "n"))), 1.0, 1.0)
    return AppearOrChange(nothing, frozen(np.full(n, positive(epsilon, "epsilon"))))


def after_noisy_total(change: Metric, epsilon: float) -> AppearOrChange:
    """Guarantee what a noisy number of records, and a mechanism that must know it, keep together.

    The protocol: release m, the number of records with noise of budget `epsilon` for one more record. Cut the list of
    records after m entries, or fill it up to m with records of one fixed element. Then run a mechanism that is private under
    `change` for exactly m records. Then a change i -> j keeps its budget d(i, j), and a record of element i that appears
    anywhere in the list costs `epsilon + max_j d(i, j)`. m hides it, and behind m one record of the list becomes another
    (docs/theory/metrics.md, 5; DX section 5). Records must be cut by their place in the list, not by their value. Budgets are
    rounded up. Raises `InvalidProblem` for a `change` that is no metric, and a budget that is not positive.

    Parameters
    ----------
    change : the metric by which a record changes.
    epsilon : the budget of the noisy number of records.

    >>> from designer import metrics
    >>> after_noisy_total(metrics.uniform(3, 1.0), 0.25).exact_budget(0, 3)
    Fraction(5, 4)
    """
    require_metric(change, "change")
    share = Fraction(positive(epsilon, "epsilon"))
    costs = [math.inf if budget is None else min(float_above(share + budget), float_info.max) for budget in _farthest(change)]
    # The closure takes back what rounding up adds beyond the triangle inequality;
    # the true budgets keep it, so they are not above it.
    return AppearOrChange(change, own_budgets(costs, "relation.epsilons"), True)


def _farthest(change: Metric) -> Iterator[Fraction | None]:
    """At least `max_j d(i, j)` for each element i; None where it is infinite.
    Floats tell where none was clipped, exact budgets otherwise."""
    everything, faithful = range(change.size), unclipped(change)
    for i in everything:
        if faithful:
            largest = float(change.rectangle(slice(i, i + 1), slice(0, change.size))[0].max())
            yield None if math.isinf(largest) else Fraction(largest) * (1 + 2 * Fraction(change.budget_error))
            continue
        budgets = [change.exact_budget(i, j) for j in everything]
        known = [budget for budget in budgets if budget is not None]
        yield max(known) if len(known) == len(budgets) else None
