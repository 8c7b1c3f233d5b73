"""Relations whose protected changes move several records at once: `u = Q v` for the
changes v that an invariant leaves (SEMI section 4).

The sensitivity space of a linear invariant is exact and finite. With the number of records public, the changes of the histogram
between databases with equal statistics and at most `a` records apart are the integer
v with `A v = 0` and `||v||_1 <= 2a` (docs/theory/invariants.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import positive, shown
from designer.base.display import counted
from designer.base.errors import DesignFailed, InvalidProblem, NoFeasibleAttribute
from designer.base.schema import POSITIVE, of_kind, one_of
from designer.certificate.norms import NormOrder
from designer.problem.relation import Block, Indices, Read, Relation
from designer.relations.invariants.statistics import Distance, Integers, Statistics
from solvers.exact.rational import integer_rank, root_below

CHANGES = 400_000
WRITTEN_OUT = 10**8  # numbers in all changes: 0.8 GB

NO_GRAPH = (
    "to_networkx: changes under an invariant move several records at once, so they are no pairs of elements; list "
    "`relation.changes` with `relation.budgets`, or draw a metric alone, before it is joined with the invariant."
)


def most_changes(size: int) -> int:
    """How many changes of that many elements are written out."""
    return min(CHANGES, WRITTEN_OUT // size)


def change_words(change: Sequence[tuple[int, int]], elements: Sequence[str]) -> str:
    return "the histogram changes by " + ", ".join(f"{amount:+d} {elements[i]}" for i, amount in change)


def points_of_change(change: Sequence[tuple[int, int]], columns: NDArray[Any]) -> NDArray[Any]:
    """The points of one change and of the origin, (2, R). columns: (N, R)."""
    moved = sum((n * columns[i] for i, n in change), np.zeros(columns.shape[1]))
    return np.stack([moved, np.zeros(columns.shape[1])])


def sums_are_exact(columns: NDArray[Any], terms: int) -> bool:
    """Whether sums of so many entries of one column are floats: multiples of one step are while they stay below 2^53 steps.

    columns: (N, R).
    """
    if float(np.abs(columns).max(initial=0.0)) < 2.0**53 / terms and np.array_equal(columns, np.rint(columns)):
        return True
    mantissas, exponents = np.frexp(columns)
    whole = (mantissas * 2.0**53).astype(np.int64)
    with np.errstate(divide="ignore"):
        trailing = np.log2((whole & -whole).astype(float))
    lowest = np.where(whole == 0, np.inf, exponents - 53 + trailing).min(axis=0, initial=np.inf)
    largest = np.abs(columns).max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):
        bound = terms * largest
    return bool((bound[largest > 0] < 2.0 ** (lowest[largest > 0] + 53)).all())


class KeepsStatistics(Relation):
    """Changes of the histogram that keep some statistics."""

    invariant: Statistics
    single_records = False

    @property
    def size(self) -> int:
        return self.invariant.size

    @property
    def impossible(self) -> tuple[int, ...]:
        return self.invariant.impossible

    def to_networkx(self, elements: Sequence[object] | None = None, *, implied: bool = True) -> Any:
        raise InvalidProblem(NO_GRAPH)


class ChangeRelation(KeepsStatistics):
    """Protected changes v of the histogram written out, one of each pair +-v.
    Point m is `Q v_m`, and the last point is the origin."""

    adjacency: int

    @cached_property
    def changes(self) -> Integers:
        """All v != 0 with `A v = 0` that move at most `adjacency` records, (M, N), in lexicographic order."""
        from solvers.lattices.enumeration import short_vectors

        most = most_changes(self.size)
        found = short_vectors(self.invariant.constraints, self._radius, limit=most) if self._exchanges <= most else None
        if found is None or not found.status.usable:
            raise NoFeasibleAttribute(
                f"relation: the invariant leaves more than {most} changes of {self.adjacency} records of {self.size} "
                "elements; lower the adjacency, merge elements, or protect every distance at a budget for each unit "
                "(per_distance); a few tables of the same records are asked for as linked tables, whose changes are not listed."
            )
        return found.vectors

    @property
    def _radius(self) -> int:
        """The largest `||v||_1` of a change."""
        return 2 * self.adjacency if self.invariant.records_public else self.adjacency

    @cached_property
    def _exchanges(self) -> int:
        """How many changes are the exchange of one element for another: a lower bound for all changes, known at once."""
        if self._radius < 2:
            return 0
        alike = np.unique(self.invariant.constraints, axis=1, return_counts=True)[1]
        return int((alike * (alike - 1) // 2).sum())

    @property
    @abstractmethod
    def budgets(self) -> Floats:
        """Budget of each change, (M,)."""

    def kept(self) -> Floats:
        return self.invariant.constraints.astype(np.float64)

    def change_words(self, change: Sequence[tuple[int, int]], elements: Sequence[str]) -> str:
        return change_words(change, elements)

    @property
    def all_protected(self) -> bool:
        """Whether every change has a finite budget."""
        return bool(np.isfinite(self.budgets).all())

    def needs_no_list(self, weights: Floats, order: NormOrder) -> bool:
        """Whether the changes are many and the largest `|w v|_p` over all of them is known without a list. weights w: (N,)."""
        return False

    def points(self, columns: NDArray[Any]) -> NDArray[Any]:
        moved = self._sparse @ columns
        return np.concatenate([moved, np.zeros((1, columns.shape[1]), dtype=moved.dtype)])

    @cached_property
    def _sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.changes)

    def exact_on(self, columns: NDArray[Any]) -> bool:
        """Sums of at most 2a multiples of one step are floats while they stay below 2^53 steps.

        columns: (N, R).
        """
        return sums_are_exact(columns, int(np.abs(self.changes).sum(axis=1).max(initial=0)))

    def blocks(self) -> Iterator[Block]:
        here = np.arange(len(self.changes))
        yield Block(here, np.full(len(here), len(here)), np.array(self.budgets))

    def every_pair(self) -> Iterator[Block]:
        """All changes are written out, those of several records too."""
        return self.blocks()

    def components(self) -> Indices:
        return np.where(np.append(np.isfinite(self.budgets), True), 0, np.arange(len(self.changes) + 1))

    @cached_property
    def _public(self) -> Integers:
        """The constraints or, where the protected changes span less than their kernel, all that these leave alone."""
        from solvers.lattices.kernel import integer_kernel

        protected = self._sparse[np.flatnonzero(np.isfinite(self.budgets))]
        # V'V has the rank of V, and is small however many changes there are;
        # dense integers took 7 s for the 88,425 of 10 x 10 tables.
        gram = (protected.T @ protected).toarray()
        fixed = integer_kernel(gram).basis
        constraints = self.invariant.constraints
        return constraints if integer_rank(constraints.tolist()) == len(fixed) else np.asarray(fixed, dtype=np.int64)

    @property
    def spans_kernel(self) -> bool:
        """Whether the protected changes reach every direction that the statistics leave open."""
        return self.listed_spans

    @cached_property
    def listed_spans(self) -> bool:
        """The same, of the list."""
        return integer_rank(self._public.tolist()) == integer_rank(self.invariant.constraints.tolist())

    def public_rows(self) -> Floats:
        return self._public.astype(np.float64)

    def unprotected(self) -> tuple[str, ...]:
        apart = "No protected change moves some further statistics either, so those are published exactly too."
        return self.invariant.published() + (() if self.spans_kernel else (apart,))

    def protected_unit(self) -> str:
        return (
            f"Up to {counted(self.adjacency, 'record')} whose change leaves the invariant statistics unchanged; nothing is "
            "claimed for more, or for other changes."
        )

    def facts(self) -> dict[str, float | int | None]:
        return {"adjacency": self.adjacency}

    def largest_budget(self) -> float:
        return float(self.budgets.max(initial=0.0))

    @abstractmethod
    def largest_exact_budget(self) -> Fraction:
        """The largest finite budget of a change, exactly; 0 where there is none."""

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        change = self.changes[min(left, right)]
        return change_words([(i, int(change[i])) for i in np.flatnonzero(change).tolist()], elements)

    def _moved(self) -> str:
        kind = "replaced" if self.invariant.records_public else "added or removed"
        return (
            f"Databases with the same {counted(len(self.invariant.names), 'invariant statistic')} and at most "
            f"{counted(self.adjacency, f'{kind} record')}"
        )


@dataclass(frozen=True, eq=False)
class InvariantDistance(KeepsStatistics):
    """A budget of `epsilon` for every unit of distance between two databases with the same statistics, however far apart (INT
    Definition 2 with delta = 0): `b(v) = epsilon ||v||` for every v of the integer kernel. There are infinitely many changes,
    so only noise on the lattice itself, which measures them by the same norm, is designed for it."""

    invariant: Statistics
    epsilon: float
    distance: Distance
    kind = "invariant_distance"
    schema = of_kind(
        "relation",
        kind,
        {"invariant": Statistics.schema, "epsilon": POSITIVE, "distance": one_of("l1", "l2")},
        "Changes of any size that keep the statistics, with a budget of epsilon for every unit of distance; for integer "
        "noise on the kernel only.",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.distance, str) or self.distance not in ("l1", "l2"):
            raise InvalidProblem(f"per_distance: {shown(self.distance)} is unknown; use 'l1' or 'l2'.", value=self.distance)

    def is_vacuous(self) -> bool:
        return self.invariant.freedom == 0

    def blocks(self) -> Iterator[Block]:
        raise DesignFailed(
            "relation: changes of every size are protected, infinitely many; use lattice_laplace or lattice_gaussian, or "
            "state an adjacency."
        )

    def every_pair(self) -> Iterator[Block]:
        raise InvalidProblem(
            "relation: changes of every size are protected, infinitely many, and (b, delta) has to hold for each of them; "
            "state an adjacency in the place of per_distance, or use the notion 'pure' or 'zcdp': the latter with "
            "protect(..., per_distance=..., delta=...), for (epsilon, delta) that grow with the distance."
        )

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        raise DesignFailed("relation: its changes are not numbered; ask for the budget of a vector with `budget_of`.")

    def budget_of(self, change: Sequence[int]) -> Fraction:
        """`epsilon ||v||`, rounded down by less than 2^-80 (relative) for l2."""
        whole = [int(c) for c in change]
        length = Fraction(sum(map(abs, whole))) if self.distance == "l1" else root_below(Fraction(sum(c * c for c in whole)))
        return Fraction(self.epsilon) * length

    def public_rows(self) -> Floats:
        return self.invariant.constraints.astype(np.float64)

    def protected_unit(self) -> str:
        return (
            "All records together: any two databases with the same invariant statistics, at a budget that grows with their "
            "distance."
        )

    def unprotected(self) -> tuple[str, ...]:
        return self.invariant.published()

    def facts(self) -> dict[str, float | int | None]:
        return {"budget_per_unit_of_distance": self.epsilon}

    def sentence(self) -> str:
        return (
            f"Databases with the same {len(self.invariant.names)} invariant statistics are protected from each other with "
            f"budget "
            f"{self.epsilon!r} for every unit of {self.distance} distance between their histograms (a replaced record: "
            f"{'2' if self.distance == 'l1' else 'root 2'} units)."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> InvariantDistance:
        return cls(Statistics.from_spec(spec["invariant"]), positive(spec["epsilon"], "epsilon"), spec["distance"])
