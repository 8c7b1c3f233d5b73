"""Where to measure: coordinates in which the protected differences have full rank, so that noise lives exactly where it must.

A rank-deficient set (an identity workload whose total is public, more queries than elements, dependent queries) is measured in
a basis of its span, on a plain grid. What no protected change moves is published beside it, exactly,
and the queries are put together again.
Grid and coordinates: docs/theory/foundations.md, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.certificate import refuse_extreme
from designer.certificate.change_norms import ByLength, too_many
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.compressed_rows import Matrix, compressed
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.problem import Problem
from solvers.exact.rational import dyadic_integers, exact_rank
from solvers.polytopes.extremes import pivots
from solvers.work import spend, within

T = TypeVar("T")

# A query within this of a combination of others, relative to its largest entry, is that combination; the grid rounds as much.
DEPENDENT = 2.0**-43


@dataclass(frozen=True)
class Coordinates:
    """`measured` (R, N) and `reconstruction` (K, R) with `Q = reconstruction measured`; None for Q itself and the identity.

    heard: (R,) booleans, the coordinates in which protected changes move the measurement; their differences have full rank.
    """

    measured: Floats | None
    reconstruction: Floats | None
    heard: NDArray[np.bool_]

    def matrix(self, problem: Problem) -> Floats:
        """The measured matrix, (R, N)."""
        return problem.workload.dense() if self.measured is None else self.measured

    def answers(self, problem: Problem) -> Floats:
        """The reconstruction restricted to the heard coordinates, (K, s)."""
        full = np.eye(problem.workload.shape[0]) if self.reconstruction is None else self.reconstruction
        return np.asarray(full[:, self.heard])

    def sensitivity(self, problem: Problem) -> SensitivitySet:
        """The differences in the heard coordinates."""
        full = SensitivitySet.of(self.matrix(problem), problem.relation)
        return SensitivitySet(problem.relation, full.points[:, self.heard])


_FOUND: WeakKeyDictionary[Problem, Coordinates] = WeakKeyDictionary()


def moving_coordinates(problem: Problem) -> Coordinates:
    """Find full-rank coordinates for a problem: the queries where they are independent, the elements where more queries
    determine them, and otherwise a basis among either. Found once for a problem, which every family asks about.

    problem: of linear queries.
    """
    if problem not in _FOUND:
        _FOUND[problem] = _coordinates(problem)
        _SPANNED.pop(problem, None)
    return _FOUND[problem]


def dimension_of(problem: Problem) -> int:
    """How many coordinates the differences of the answers span: at once where all elements are counted and statistics leave
    changes of a known kind, of which no list is made, and where each element is counted alone by some query and appears."""
    relation = problem.relation
    if relation.simple is not None and relation.simple.appear and _counts_each_element(problem.workload.matrix):
        return int(problem.workload.shape[1])
    if isinstance(relation, InvariantChanges) and problem.workload.is_identity and relation.known and relation.known.spans:
        return int(relation.invariant.freedom)
    return int(_FOUND[problem].heard.sum()) if problem in _FOUND else len(_spanned(problem).pivots)


_KNOWN: WeakKeyDictionary[Problem, dict[object, tuple[Any, float]]] = WeakKeyDictionary()


def once(problem: Problem, key: object, make: Callable[[], T]) -> T:
    """What `make` finds, once for a problem and a key: several families ask for it. Its work counts each time, so that nothing
    depends on who asked before, and what was cut off is not kept."""
    known = _KNOWN.setdefault(problem, {})
    if key in known:
        spend(known[key][1])
    else:
        with within() as budget:
            found = make()
        if budget.cut:
            return found
        known[key] = found, budget.spent
    return known[key][0]  # type: ignore[no-any-return]


def _counts_each_element(matrix: Matrix) -> bool:
    """Whether there is a row for each column with nothing but an entry in it."""
    rows = compressed(matrix)
    alone = rows.indptr[:-1][np.diff(rows.indptr) == 1]
    return len(np.unique(rows.indices[alone][rows.data[alone] != 0])) == rows.shape[1]


@dataclass(frozen=True)
class _Spanned:
    """Differences of the base (R, N), rows that span them, columns that determine all others, and which columns are moved."""

    base: Floats
    span: Floats
    pivots: NDArray[np.intp]
    heard: NDArray[np.bool_]
    wide: bool


_SPANNED: WeakKeyDictionary[Problem, _Spanned] = WeakKeyDictionary()


def _spanned(problem: Problem) -> _Spanned:
    """What the dimension takes, a small part of the work of the coordinates; kept until these are found."""
    if problem not in _SPANNED:
        _SPANNED[problem] = _span(problem)
    return _SPANNED[problem]


def _span(problem: Problem) -> _Spanned:
    queries, elements = problem.workload.shape
    if isinstance(problem.relation, ByLength) and not (problem.relation.listed or problem.relation.exchanges):
        raise DesignFailed(too_many(problem.relation))
    wide = queries > elements and _determine_elements(problem)
    base = np.eye(elements) if wide else problem.workload.dense()
    sensitivity = SensitivitySet.of(base, problem.relation)
    span = sensitivity.span()
    return _Spanned(base, span, _pivots(span), ~sensitivity.silent_coordinates(), wide)


def _coordinates(problem: Problem) -> Coordinates:
    spanned = _spanned(problem)
    base, span, chosen = spanned.base, spanned.span, spanned.pivots
    outer = problem.workload.dense() if spanned.wide else None
    if len(chosen) == int(spanned.heard.sum()):
        return Coordinates(base if spanned.wide else None, outer, spanned.heard)
    rest, combine = _remainder(base, span, chosen)
    public = problem.relation.public_rows()
    needed, shares = combination(rest, public, np.abs(base).max(axis=1))
    measured = np.vstack([base[chosen], public[needed]])
    reconstruction = np.hstack([combine, shares[:, needed]])
    if outer is not None:
        reconstruction = outer @ reconstruction
    return Coordinates(measured, reconstruction, np.arange(len(measured)) < len(chosen))


def _determine_elements(problem: Problem) -> bool:
    """Whether the answers move with every change of the histogram: their Gram matrix has full rank on the span of the changes.

    Only well-conditioned workloads (up to 1e6, in any units of the queries) are said to;
    any other finds its basis among the queries themselves.
    """
    span = SensitivitySet.of(np.eye(problem.relation.size), problem.relation).span()
    moved = problem.workload.dense() @ span.T
    size = np.abs(moved).max(axis=1, keepdims=True)
    moved = moved / np.where(size > 0, size, 1.0)
    values = np.linalg.eigvalsh(moved.T @ moved)
    return int((values > 1e-12 * values[-1]).sum()) == len(_pivots(span))


def _pivots(span: Floats) -> NDArray[np.intp]:
    """Columns of the span (differences as rows) that determine all others, up to `DEPENDENT` of their largest entries,
    in order."""
    size = np.abs(span).max(axis=0, initial=0.0)
    if not size.any():
        return np.empty(0, dtype=np.intp)
    order, distances = pivots(span / np.where(size > 0, size, 1.0))
    return np.sort(order[distances > DEPENDENT * distances[0]])


def _remainder(base: Floats, span: Floats, chosen: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """What the rows `base[chosen]` leave of all rows, and the matrix that combines them.

    chosen: p, (s,). T solves `S[:, p] T = S` over the rationals on s rows of the span S;
    the remainder is `base - T' base[p]`.
    """
    if not len(chosen):
        return base.copy(), np.zeros((len(base), 0))
    rows = pivots(span[:, chosen].T)[0]
    if exact_rank(span[np.ix_(rows, chosen)]) < len(chosen):
        raise ArithmeticError("the pivots chosen in floating point are dependent")

    solved = _exact(span[np.ix_(rows, chosen)]).solve(_exact(span[rows]))
    return _floats(_exact(base) - solved.transpose() * _exact(base[chosen])), _floats(solved.transpose())


def combination(rest: Floats, public: Floats, size: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Shares C (K, p) with `rest = C public`, and which of the p public rows they need.

    No protected change moves the rest, but for roundings of the queries: 0.3 + 0.7 is not 1 among the floats. What is published
    exactly must not be moved at all, so it is the public rows that are published.
    size: (K,), the largest entries of the queries.
    """
    columns = _pivots(public)
    rows = _pivots(public[:, columns].T)
    shares = np.zeros((len(rest), len(public)))
    if len(rows):
        basis = _exact(public[np.ix_(rows, columns)])
        shares[:, rows] = _floats(basis.transpose().solve(_exact(rest[:, columns]).transpose()).transpose())
    if (np.abs(rest - shares @ public).max(axis=1, initial=0.0) > 1e-9 * size).any():
        raise DesignFailed("workload: some query is nearly a combination of others; drop it or make it one.")
    parts = np.abs(shares * np.abs(public).max(axis=1, initial=1.0)) / np.where(size > 0, size, 1.0)[:, None]
    return parts.max(axis=0, initial=0.0) > DEPENDENT, shares


def _exact(matrix: Floats) -> Any:
    from flint import fmpq, fmpq_mat

    integers, exponent = dyadic_integers(matrix)
    unit = fmpq(2) ** exponent
    return fmpq_mat([[unit * n for n in row] for row in integers])


def _floats(matrix: object) -> Floats:
    """Nearest floats of a rational matrix; equal rationals give equal floats."""
    return np.array([[int(entry.p) / int(entry.q) for entry in row] for row in matrix.tolist()])  # type: ignore[attr-defined]


def measurable(problem: Problem) -> SensitivitySet:
    """The differences of the workload, refused where squares of differences would not be floats."""
    sensitivity = problem.sensitivity()
    with np.errstate(over="ignore"):
        spread = sensitivity.spread()
    refuse_extreme(spread[spread > 0])
    return sensitivity
