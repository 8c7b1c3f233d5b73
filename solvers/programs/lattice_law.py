"""The law on a coset of `Z^s` of least expected loss, no step of cost c changing it by more than a factor `exp(unit c)`.

A linear program on a finite domain, one unknown for each orbit of the symmetries. What lies outside is counted at the least
that a chain of steps from the domain allows: so the value of the program is a bound for all laws on the coset, whatever the
domain, and the smallest extension of its solution is a law whose loss is next to it. docs/theory/staircase.md, sections 1
and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.exact.rational import float_above
from solvers.lattices.peaked_law import (
    FAR,
    LawTooWide,
    Matrix,
    PeakedLaw,
    Points,
    Walks,
    keeps_form,
    keeps_rows,
    moves,
    symmetries_of,
)
from solvers.limited import Method, linear_program
from solvers.limits import MOST_WORKING_PLACES
from solvers.solution import Solution, Status, relative_gap
from solvers.work import is_over, spend, units_left

# Losses that are expectations of a function of the noise on a lattice, or the largest of a few of them.


@dataclass(frozen=True, eq=False)
class LinearLoss:
    """`sum_k w_k (r_k . z)^2`, `sum_k w_k |r_k . z|`, or the largest `w_k E (r_k . z)^2`; rows r (K, s), w (K,), positive."""

    rows: NDArray[np.float64]
    weights: NDArray[np.float64]
    kind: Literal["squared", "absolute", "max"]

    @property
    def power(self) -> int:
        """1 for absolute values, 2 for squares."""
        return 1 if self.kind == "absolute" else 2

    def each(self, points: Points) -> NDArray[np.float64]:
        """The weighted loss of each row at doubled points, (n, s) -> (n, K)."""
        return np.asarray(np.abs(points @ (self.rows.T / 2)) ** self.power * self.weights)

    def parts(self, points: Points) -> NDArray[np.float64]:
        """The losses of which the expectations count, the largest one alone: (n, J), J = 1 for sums."""
        each = self.each(points)
        return each if self.kind == "max" else each.sum(axis=1, keepdims=True)

    def keeps(self, g: Matrix) -> bool:
        """Whether the loss of `z g` is that of z, exactly."""
        rows = [tuple(map(Fraction, row)) for row in self.rows.tolist()]
        weights = [Fraction(w) for w in self.weights.tolist()]
        if self.kind != "squared":
            return keeps_rows(g, rows, weights)
        exact = np.array(rows, dtype=object)
        return keeps_form(g, exact.T @ (np.array(weights, dtype=object)[:, None] * exact))

    def least_beyond(self, k: int, widths: tuple[int, ...], shares: NDArray[np.float64]) -> float:
        """A lower bound of `shares . parts`, shares (J,), beyond shell k, by the least eigenvalue of a form."""
        weights = self.weights * shares if self.kind == "max" else self.weights
        scaled = self.rows * (weights[:, None] if self.kind == "absolute" else np.sqrt(weights)[:, None])
        least = max(0.0, float(np.linalg.eigvalsh(scaled.T @ scaled)[0]) * (1 - 1e-9))
        return float((math.sqrt(least) * k * min(widths)) ** self.power)


# Orbits, how faint their points may be, exp(-12), the gap above which the domain is worth its work, and that, in units.
DOMAINS = ((800, 12, 0.0, 1.0), (2500, 16, 0.0, 2.0), (6000, 16, 1e-3, 6.0), (12_000, 20, 5e-3, 20.0))
MOST_ROWS = 240_000
COUNTED_TAIL = 1e-9  # what lies outside it may be left out of the bound
ROUNDS = 2
MOST_SIMPLEX = 20_000  # rows up to which the simplex method is tried where the interior point method fails
PIVOTS = 60  # of the linear solver, about, each of which looks at every entry
FINER = 2**20  # of a unit, where the largest of several losses leaves heights that are no whole units
TIGHT = 1e-7  # of a ratio of neighbouring probabilities


class TooFewSymmetries(ValueError):
    """Four dimensions are solved where symmetries leave few orbits; the message says how many there are."""


class LawNotSolved(ArithmeticError):
    """The linear solver gave up; the message is its own."""


def least_law(
    walks: Walks,
    unit: Fraction,
    loss: LinearLoss,
    tolerance: float = 1e-4,
    ample: Fraction = Fraction(1),
    ahead: float = math.inf,
) -> Solution[PeakedLaw]:
    """The law of least loss, as peaks, with a lower bound for every law on the coset of `walks`. The value leaves out what lies
    outside the working box.

    ample: at least 1; the bound holds for all laws that no step of cost c changes by more than `exp(ample unit c)`.
    ahead: a loss that is reached elsewhere; where the bound is above it, nothing more is sought.
    Domains grow until the gap is at most `tolerance`, to their limits, or as far as work allows. `LawTooWide` where no table of
    the law fits, `TooFewSymmetries` in four dimensions with fewer than 8, before anything is solved.
    """
    group = symmetries_of(walks.steps, lambda g: loss.keeps(g) and _keeps_coset(g, walks.shells.halves))
    if walks.steps.dimension > 3 and len(group) < 8:
        raise TooFewSymmetries(f"{walks.steps.dimension} dimensions with {len(group)} symmetries, fewer than 8")
    program = _LawProgram(walks, unit, loss, group, float_above(ample))
    search = _LawSearch(program, tolerance, ahead, program.start)
    for orbits, faint, worth, units in DOMAINS:
        if search.rounds and (search.gap <= worth or units_left() < units or is_over(ahead=units)):
            break
        likely = program.domain(orbits, faint)
        search.go(likely, ROUNDS)
        if not search.over:  # likely points serve the law, cheap ones its bound
            cheap = program.domain(orbits, faint, program.value(search.best))
            search.go(cheap, 1 if len(cheap.places) != len(likely.places) else 0)
        if search.over:
            break
    status = Status.OPTIMAL if search.gap <= tolerance else Status.STALLED
    bound = min(search.bound, search.least)
    return Solution(status, search.best, search.least, bound, search.rounds, "linear program (HiGHS), dual evaluated anew")


@dataclass(eq=False)
class _LawSearch:
    """The best law so far, its loss, and a bound for all. over: within the tolerance, above what is reached elsewhere, out of
    time, or without a solution."""

    program: _LawProgram
    tolerance: float
    ahead: float
    best: PeakedLaw
    least: float = math.inf
    bound: float = 0.0
    rounds: int = 0
    over: bool = False

    @property
    def gap(self) -> float:
        """How far the loss may be above the least."""
        return relative_gap(self.least, self.bound)

    def go(self, domain: _Domain, rounds: int) -> None:
        """So many programs on a domain, the first with the tails of the best law, each next one with those of its own."""
        law, counted = self.best, None
        for _ in range(rounds):
            here = self.program.counted(domain, law)
            counted = here if counted is None else (counted + here) / 2  # half of what was counted keeps rounds from cycling
            try:
                law, lower = self.program.solved(domain, counted)
            except LawNotSolved:  # what is known is a law with its bound
                self.over = True
                return
            value, self.bound, self.rounds = self.program.value(law), max(self.bound, lower), self.rounds + 1
            if value < self.least:
                self.best, self.least = law, value
            if is_over() or self.gap <= self.tolerance or self.bound > self.ahead:
                self.over = True
                return


def _keeps_coset(g: Matrix, halves: tuple[int, ...]) -> bool:
    return bool(((np.array(halves) @ g - halves) % 2 == 0).all())


@dataclass(frozen=True, eq=False)
class _Domain:
    """Points, by orbits: their places (n,) in the flat table of the working box, the orbit (n,) of each, and the places (o,) of
    one representative of each orbit."""

    places: NDArray[np.int64]
    orbits: NDArray[np.int64]
    representatives: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _LawProgram:
    walks: Walks
    unit: Fraction
    loss: LinearLoss
    group: list[Matrix]
    ample: float

    @cached_property
    def start(self) -> PeakedLaw:
        """The law that falls off from the points of least length in the sum of all steps' forms, which all symmetries keep."""
        steps, shells = self.walks.steps, self.walks.shells
        weighted = steps.vectors / steps.costs[:, None]
        form = np.linalg.inv(weighted.T @ weighted)
        points = shells.points(2)
        lengths = np.einsum("ni,ij,nj->n", points, form, points)
        peaks = points[lengths <= lengths.min() * (1 + 1e-9) + 1e-300]
        return PeakedLaw(self.walks, self.unit, peaks, np.zeros(len(peaks), dtype=np.int64))

    @cached_property
    def shells(self) -> int:
        """How far the working box reaches: until the tail is negligible, or as far as its places go."""
        k = self.start.first_shell
        while self.start.tail(k, self.loss.power) > COUNTED_TAIL and self.walks.places(k + 1) <= MOST_WORKING_PLACES:
            k += 1
        if not math.isfinite(self.start.tail(k)) or self.walks.places(k) > MOST_WORKING_PLACES:
            raise LawTooWide(f"a table of more than {MOST_WORKING_PLACES} points")
        return k

    @cached_property
    def base(self) -> NDArray[np.int64]:
        """The heights of the start in the working box."""
        return self.start.table(self.shells)

    @cached_property
    def points(self) -> Points:
        return self.walks.shells.points(self.shells)

    @cached_property
    def parts(self) -> NDArray[np.float64]:
        return self.loss.parts(self.points)

    def value(self, law: PeakedLaw) -> float:
        """The loss of a law without what lies outside the working box."""
        sums, mass = law.sums(self.shells, self.loss.parts, self.parts.shape[1])
        return float(sums.max()) / mass

    def domain(self, orbits: int, faint: int, value: float = 0.0) -> _Domain:
        """The points of least height with about so many orbits; all of a height, or none. Where they are few enough, all points
        of a loss up to `value` are among them: no bound is above the least loss outside."""
        # Whatever is lower than this lies in the box; what is less likely than this, the program cannot tell from nothing.
        told = max(math.floor(faint / self.unit), int(self.walks.steps.costs.max()))
        edge = min(math.ceil(self.start.height_beyond(self.shells + 1)) - 1, told)
        heights = np.unique(self.base[self.base <= edge])
        wanted = min(orbits, MOST_ROWS // len(self.walks.steps.costs)) * len(self.group)
        cheap = self.parts.mean(axis=1) <= value
        cheap &= cheap.sum() <= wanted
        added = cheap.sum() - np.searchsorted(np.sort(self.base[cheap]), heights, side="right")
        counts = np.searchsorted(np.sort(self.base), heights, side="right") + added
        last = max(int(np.searchsorted(counts, wanted, side="right")) - 1, 0)
        places = np.flatnonzero((self.base <= heights[last]) | cheap)
        images = np.stack([self.walks.shells.flat(self.points[places] @ g, self.shells) for g in self.group])
        representatives, numbers = np.unique(images.min(axis=0), return_inverse=True)
        return _Domain(places, numbers.ravel(), representatives)

    def solved(self, domain: _Domain, counted: NDArray[np.float64]) -> tuple[PeakedLaw, float]:
        """The law that the program proposes, what lies outside counted by chains of `known`, and the bound."""
        rows = self._rows(domain)
        found = _optimum(rows, counted[1:], counted[0])
        bound = min(_bound(rows, counted[1:], counted[0], found), self._least_outside(domain, found.shares))
        return self._law(domain, rows, found.unknowns), bound

    def counted(self, domain: _Domain, known: PeakedLaw) -> NDArray[np.float64]:
        """Mass and losses, (1 + J, n), that go with a probability at each place of the domain: its own, and those of all that
        chains of `known` reach from there. Where several chains tie, each counts for its part."""
        from scipy.sparse import coo_array

        spend(calls=50, entries=100.0 * self.base.size * (1 + len(self.parts.T)))
        values = np.vstack([np.ones(len(self.base)), self.parts.T])
        inside = np.zeros(len(self.base), dtype=bool)
        inside[domain.places] = True
        target, source, left = self._links(known, inside)
        ties = np.bincount(target, minlength=len(inside))
        back = coo_array((left / ties[target], (source, target)), (len(inside), len(inside))).tocsr()
        found, moving = values[:, inside], np.where(inside, 0.0, values)
        while moving.any():
            moving = (back @ moving.T).T
            found = found + moving[:, inside]
            moving[:, inside] = 0.0
        scale = np.exp(-float(self.unit) * self.base[domain.representatives])
        return np.stack([np.bincount(domain.orbits, row) * scale for row in found])

    def _links(
        self, known: PeakedLaw, inside: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The last steps of all chains: places outside the domain, where they come from, and what is left of a probability."""
        shape = self.walks.shells.shape(self.shells)
        places, free = np.arange(len(inside)).reshape(shape), ~inside.reshape(shape)
        grid = known.table(self.shells).reshape(shape)
        found = []
        for source, target, cost in moves(known.walks.steps, shape):
            last = (grid[target] == grid[source] + cost) & free[target]
            left = np.full(int(last.sum()), math.exp(-float(known.unit * cost) * self.ample))
            found.append((places[target][last], places[source][last], left))
        to, origin, left = (np.concatenate(part) for part in zip(*found, strict=True))
        return to, origin, left

    def _rows(self, domain: _Domain) -> _RatioRows:
        """`y_left <= factor y_right`, one for each two orbits that a step joins, y relative to the start."""
        orbit = np.full(len(self.base), -1)
        orbit[domain.places] = domain.orbits
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        for vector, cost in zip(self.walks.steps.vectors, self.walks.steps.costs.tolist(), strict=True):
            places = self.walks.shells.flat(self.points[domain.representatives] + 2 * vector, self.shells)
            ends = np.where(places >= 0, orbit[places], -1)
            here = np.flatnonzero((ends >= 0) & (ends != np.arange(len(ends))))
            found.append((here, ends[here], np.full(len(here), cost)))
        left, right, paid = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((paid, right, left))
        i, j, cost = left[order], right[order], paid[order]
        first = np.ones(len(i), dtype=bool)
        first[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        i, j, cost = i[first], j[first], cost[first]
        height = self.base[domain.representatives]
        return _RatioRows(i, j, cost, np.exp(float(self.unit) * (self.ample * cost - height[j] + height[i])))

    def _least_outside(self, domain: _Domain, shares: NDArray[np.float64]) -> float:
        """No point outside the domain has a loss below this."""
        outside = np.ones(len(self.base), dtype=bool)
        outside[domain.places] = False
        beyond = self.loss.least_beyond(self.shells, self.walks.shells.widths, shares)
        return min(beyond, float((self.parts[outside] @ shares).min(initial=math.inf)) * (1 - 1e-12))

    def _law(self, domain: _Domain, rows: _RatioRows, unknowns: NDArray[np.float64]) -> PeakedLaw:
        """The smallest extension of the solution, with heights that are whole by a tree of tight rows."""
        heights, parts = _tree(rows, unknowns, self.base[domain.representatives], float(self.unit))
        reached = heights[domain.orbits] < FAR
        places, values = domain.places[reached], heights[domain.orbits[reached]]
        walks = self.walks if parts == 1 else replace(self.walks, steps=self.walks.steps.divided(parts))
        full = PeakedLaw(walks, self.unit / parts, self.points[places], values - values.min())
        table, shape = full.table(self.shells), walks.shells.shape(self.shells)
        peak = np.zeros(len(table), dtype=bool)
        peak[places] = True
        grid, peaks = table.reshape(shape), peak.reshape(shape)
        for source, target, cost in moves(walks.steps, shape):
            peaks[target] &= grid[target] != grid[source] + cost
        chosen = np.flatnonzero(peaks.ravel())
        return PeakedLaw(walks, self.unit / parts, self.points[chosen], table[chosen], (self.shells, table))


@dataclass(frozen=True)
class _RatioRows:
    """`y_left <= factor y_right`; cost is that of the step between them."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    cost: NDArray[np.int64]
    factor: NDArray[np.float64]


@dataclass(frozen=True)
class _Optimum:
    """A solution: the unknowns, the multipliers of the rows, and the shares of the losses, which sum to 1."""

    unknowns: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    shares: NDArray[np.float64]


def _optimum(rows: _RatioRows, costs: NDArray[np.float64], mass: NDArray[np.float64]) -> _Optimum:
    """Minimise the largest of `costs y` over `y >= 0` with `mass y = 1` under the rows."""
    (sums, n), m = costs.shape, len(rows.left)
    middle = float((costs.sum(axis=1) / mass.sum()).max())
    unknowns, marginals = _minimised(_matrix(rows, costs / middle), np.append(mass, 0.0))
    duals = np.maximum(-marginals, 0.0)
    shares = duals[m:] / duals[m:].sum() if duals[m:].any() else np.full(sums, 1 / sums)
    return _Optimum(unknowns[:n], duals[:m] * middle, shares)


def _matrix(rows: _RatioRows, costs: NDArray[np.float64]) -> Any:
    """The program's inequalities `<= 0` in y and the largest cost: sparse, (m + J, n + 1)."""
    from scipy.sparse import coo_array

    (sums, n), m = costs.shape, len(rows.left)
    index, last = np.arange(m), np.arange(m, m + sums)
    values = np.concatenate([np.ones(m), -rows.factor, costs.ravel(), -np.ones(sums)])
    lines = np.concatenate([index, index, np.repeat(last, n), last])
    columns = np.concatenate([rows.left, rows.right, np.tile(np.arange(n), sums), np.full(sums, n)])
    return coo_array((values, (lines, columns)), (m + sums, n + 1)).tocsr()


def _minimised(matrix: Any, mass: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least last unknown of all x >= 0 with `matrix x <= 0` and `mass x = 1`: x, and the marginals of the inequalities."""
    spend(calls=200, pivots=PIVOTS * matrix.nnz)
    done: Any = None
    methods: tuple[Method, ...] = ("highs-ipm", "highs-ds") if matrix.shape[0] <= MOST_SIMPLEX else ("highs-ipm",)
    for method in methods:  # the first, with a crossover to a vertex, is several times faster here
        done = linear_program(
            np.eye(len(mass))[-1],
            A_ub=matrix,
            b_ub=np.zeros(matrix.shape[0]),
            A_eq=mass[None],
            b_eq=[1.0],
            bounds=(0, None),
            method=method,
            exactness=1e-10,
        )
        if done.status == 0:
            return done.x, done.ineqlin.marginals
    raise LawNotSolved(f"the linear program of the law found no solution: {done.message}")


def _bound(rows: _RatioRows, costs: NDArray[np.float64], mass: NDArray[np.float64], found: _Optimum) -> float:
    """The value of the dual at the multipliers, whatever they are, less what its rounding may be."""
    n, taken = len(mass), found.multipliers * rows.factor
    given = np.bincount(rows.left, found.multipliers, n)
    spent = np.bincount(rows.right, taken, n)
    own = found.shares @ costs
    return float(((own + given - spent - 1e-13 * (own + given + spent)) / mass).min()) * (1 - 1e-13)


def _tree(rows: _RatioRows, unknowns: NDArray[np.float64], base: NDArray[np.int64], unit: float) -> tuple[NDArray[Any], int]:
    """The heights of the orbits, sums of costs along trees of tight rows, and of how many parts of a unit they are multiples.

    At a vertex of the program one tree joins all orbits, and heights are whole units. Where the largest of several losses
    counts, there may be a few trees, whose highest points differ by any number.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    n = len(unknowns)
    tight = np.abs(unknowns[rows.left] - unknowns[rows.right] * rows.factor) <= TIGHT * unknowns[rows.left]
    i, j, cost = rows.left[tight].tolist(), rows.right[tight].tolist(), rows.cost[tight].tolist()
    graph = coo_array((np.ones(len(i)), (i, j)), (n, n)).tocsr()
    rises = {
        **dict(zip(zip(j, i, strict=True), (-c for c in cost), strict=True)),
        **dict(zip(zip(i, j, strict=True), cost, strict=True)),
    }
    with np.errstate(divide="ignore"):
        rough = base - np.log(unknowns) / unit
    trees = connected_components(graph, directed=False)[1]
    one = (trees == trees[rough.argmin()]).all()
    parts = 1 if one or rows.cost.max() > FINER else FINER
    heights = np.full(n, FAR, dtype=np.int64)
    for tree in np.unique(trees).tolist():
        root = int(np.where(trees == tree, rough, np.inf).argmin())
        if not np.isfinite(rough[root]):
            continue
        order, previous = breadth_first_order(graph, root, directed=False)
        heights[root] = round(float(rough[root] - rough.min()) * parts)
        for place in order[1:].tolist():
            heights[place] = heights[previous[place]] + parts * rises[int(previous[place]), place]
    return heights, parts
