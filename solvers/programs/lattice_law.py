"""The law on a coset of `Z^s` of least expected loss, no step of cost c changing it by more than a factor `exp(unit c)`.

A linear program on a finite domain, one unknown for each orbit of the symmetries. What lies outside is counted at the least that
a chain of steps from the domain allows: so the value of the program is a bound for all laws on the coset, whatever the domain,
and the smallest extension of its solution is a law whose loss is next to it. docs/theory/staircase.md, sections 1 and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.lattices.peaked_law import LawTooWide, PeakedLaw
from solvers.lattices.steps import FAR, Points, Walks, moves
from solvers.lattices.symmetries import Matrix, keeps_form, keeps_rows, symmetries
from solvers.solution import Solution
from solvers.status import Status

DOMAINS = ((1000, 12), (3500, 18))  # orbits, and how faint their points may be, exp(-10): until the gap is closed
MOST_ROWS = 120_000
WORKING_PLACES = 1_000_000  # of the box in which the program counts what lies outside its domain
COUNTED_TAIL = 1e-9  # what lies outside it may be left out of the bound
ROUNDS = 3
FINER = 2**20  # of a unit, where the largest of several losses leaves heights that are no whole units
TIGHT = 1e-7  # of a ratio of neighbouring probabilities


class TooFewSymmetries(ValueError):
    """Four dimensions are solved where symmetries leave few orbits; the message says how many there are."""


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

    def growth(self, widths: tuple[int, ...]) -> NDArray[np.float64]:
        """`parts <= growth k^power` in shell k, (J,)."""
        reach = (np.abs(self.rows) @ np.array(widths, dtype=np.float64)) ** self.power * self.weights
        return reach if self.kind == "max" else reach.sum(keepdims=True)

    def keeps(self, g: Matrix) -> bool:
        """Whether the loss of `z g` is that of z, exactly."""
        rows = [tuple(map(Fraction, row)) for row in self.rows.tolist()]
        weights = [Fraction(w) for w in self.weights.tolist()]
        if self.kind != "squared":
            return keeps_rows(g, rows, weights)
        exact = np.array(rows, dtype=object)
        return keeps_form(g, exact.T @ (np.array(weights, dtype=object)[:, None] * exact))

    def least_beyond(self, k: int, widths: tuple[int, ...], shares: NDArray[np.float64]) -> float:
        """A lower bound of `shares . parts` beyond shell k, by the least eigenvalue of a form."""
        weights = self.weights * shares if self.kind == "max" else self.weights
        scaled = self.rows * (weights[:, None] if self.kind == "absolute" else np.sqrt(weights)[:, None])
        least = max(0.0, float(np.linalg.eigvalsh(scaled.T @ scaled)[0]) * (1 - 1e-9))
        return float((math.sqrt(least) * k * min(widths)) ** self.power)


def expected_loss(law: PeakedLaw, loss: LinearLoss) -> float:
    """The loss of a law, the bound of its far tail included."""
    return float(law.expectation(loss.parts, loss.growth(law.walks.shells.widths), loss.power).high.max())


def least_law(walks: Walks, unit: Fraction, loss: LinearLoss, tolerance: float = 1e-4) -> Solution[PeakedLaw]:
    """The law of least loss, as peaks, with a lower bound for every law on the coset of `walks`.

    Domains grow until the gap is at most `tolerance`, or their limits are met. `LawTooWide` before anything is solved where no
    table of the law fits, `TooFewSymmetries` in four dimensions with fewer than 8.
    """
    group = symmetries(walks.steps, lambda g: loss.keeps(g) and _keeps_coset(g, walks.shells.halves))
    if walks.steps.dimension > 3 and len(group) < 8:
        raise TooFewSymmetries(f"{walks.steps.dimension} dimensions with {len(group)} symmetries, fewer than 8")
    program = _Program(walks, unit, loss, group)
    best: Solution[PeakedLaw] | None = None
    bound, rounds = 0.0, 0
    for orbits, faint in DOMAINS:
        domain, law = program.domain(orbits, faint), best.point if best else program.start
        counted = program.counted(domain, law)
        for further in range(ROUNDS):
            if further:  # a chain for half of what is counted keeps rounds from cycling
                counted = (counted + program.counted(domain, law)) / 2
            law, lower = program.solved(domain, counted)
            bound, value, rounds = max(bound, lower), expected_loss(law, loss), rounds + 1
            if best is None or value < best.value:
                best = Solution(Status.STALLED, law, value, bound, rounds, "linear program (HiGHS), dual evaluated anew")
            best = replace(best, lower_bound=min(bound, best.value), iterations=rounds)
            if best.gap <= tolerance:
                return replace(best, status=Status.OPTIMAL)
    assert best is not None
    return best


def _keeps_coset(g: Matrix, halves: tuple[int, ...]) -> bool:
    return bool(((np.array(halves) @ g - halves) % 2 == 0).all())


@dataclass(frozen=True, eq=False)
class _Domain:
    """The points whose height from the middle is at most `height`, by orbits.

    places: (n,), in the flat table of the working box. orbits: (n,), the orbit of each. whole: is it the whole box?
    """

    places: NDArray[np.int64]
    orbits: NDArray[np.int64]
    representatives: NDArray[np.int64]
    whole: bool


@dataclass(frozen=True, eq=False)
class _Program:
    walks: Walks
    unit: Fraction
    loss: LinearLoss
    group: list[Matrix]

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
        while self.start.tail(k, self.loss.power) > COUNTED_TAIL and self.walks.places(k + 1) <= WORKING_PLACES:
            k += 1
        if not math.isfinite(self.start.tail(k)) or self.walks.places(k) > WORKING_PLACES:
            raise LawTooWide(f"a table of more than {WORKING_PLACES} points")
        return k

    @cached_property
    def base(self) -> NDArray[np.int64]:
        """The heights of the start in the working box."""
        return self.start.table(self.shells)

    @property
    def _one_step(self) -> int:
        return int(self.walks.steps.costs.max())

    @cached_property
    def points(self) -> Points:
        return self.walks.shells.points(self.shells)

    @cached_property
    def parts(self) -> NDArray[np.float64]:
        return self.loss.parts(self.points)

    def domain(self, orbits: int, faint: int) -> _Domain:
        """The points of least height with about so many orbits; all of a height, or none."""
        # Whatever is lower than this lies in the box; what is less likely than this, the program cannot tell from nothing.
        edge = min(math.ceil(self.start.height_beyond(self.shells + 1)) - 1, max(math.floor(faint / self.unit), self._one_step))
        heights = np.unique(self.base[self.base <= edge])
        wanted = min(orbits, MOST_ROWS // len(self.walks.steps.costs)) * len(self.group)
        counts = np.searchsorted(np.sort(self.base), heights, side="right")
        last = max(int(np.searchsorted(counts, wanted, side="right")) - 1, 0)
        places = np.flatnonzero(self.base <= heights[last])
        images = np.stack([self.walks.shells.flat(self.points[places] @ g, self.shells) for g in self.group])
        representatives, numbers = np.unique(images.min(axis=0), return_inverse=True)
        return _Domain(places, numbers.ravel(), representatives, last == len(heights) - 1)

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
            left = np.full(int(last.sum()), math.exp(-float(known.unit * cost)))
            found.append((places[target][last], places[source][last], left))
        to, origin, left = (np.concatenate(part) for part in zip(*found, strict=True))
        return to, origin, left

    def _rows(self, domain: _Domain) -> _Rows:
        """`y_left <= factor y_right`, one for each two orbits that a step joins, y relative to the start."""
        orbit = np.full(len(self.base), -1)
        orbit[domain.places] = domain.orbits
        left, right, paid = [], [], []
        for vector, cost in zip(self.walks.steps.vectors, self.walks.steps.costs.tolist(), strict=True):
            places = self.walks.shells.flat(self.points[domain.representatives] + 2 * vector, self.shells)
            ends = np.where(places >= 0, orbit[places], -1)
            here = np.flatnonzero((ends >= 0) & (ends != np.arange(len(ends))))
            left, right, paid = [*left, here], [*right, ends[here]], [*paid, np.full(len(here), cost)]
        order = np.lexsort((np.concatenate(paid), np.concatenate(right), np.concatenate(left)))
        i, j, cost = (np.concatenate(part)[order] for part in (left, right, paid))
        first = np.ones(len(i), dtype=bool)
        first[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        i, j, cost = i[first], j[first], cost[first]
        height = self.base[domain.representatives]
        return _Rows(i, j, cost, np.exp(float(self.unit) * (cost - height[j] + height[i])))

    def _least_outside(self, domain: _Domain, shares: NDArray[np.float64]) -> float:
        """No point outside the domain has a loss below this."""
        outside = np.ones(len(self.base), dtype=bool)
        outside[domain.places] = False
        beyond = self.loss.least_beyond(self.shells, self.walks.shells.widths, shares)
        return min(beyond, float((self.parts[outside] @ shares).min(initial=math.inf)) * (1 - 1e-12))

    def _law(self, domain: _Domain, rows: _Rows, unknowns: NDArray[np.float64]) -> PeakedLaw:
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
        return PeakedLaw(walks, self.unit / parts, self.points[chosen], table[chosen])


@dataclass(frozen=True)
class _Rows:
    """`y_left <= factor y_right`; cost is that of the step between them."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    cost: NDArray[np.int64]
    factor: NDArray[np.float64]


@dataclass(frozen=True)
class _Optimum:
    """A solution of the program: the unknowns, the multipliers of the rows, and the shares of the losses, which sum to 1."""

    unknowns: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    shares: NDArray[np.float64]


def _optimum(rows: _Rows, costs: NDArray[np.float64], mass: NDArray[np.float64]) -> _Optimum:
    """Minimise the largest of `costs y` over `y >= 0` with `mass y = 1` under the rows."""
    from scipy.optimize import linprog
    from scipy.sparse import block_array, coo_array

    n, m, sums = len(mass), len(rows.left), len(costs)
    index = np.arange(m)
    below = coo_array(
        (np.concatenate([np.ones(m), -rows.factor]), (np.tile(index, 2), np.concatenate([rows.left, rows.right]))), (m, n)
    )
    middle = float((costs.sum(axis=1) / mass.sum()).max())
    matrix = block_array([[below, None], [coo_array(costs / middle), coo_array(-np.ones((sums, 1)))]])
    done = linprog(
        np.eye(n + 1)[n],
        A_ub=matrix.tocsr(),
        b_ub=np.zeros(m + sums),
        A_eq=np.append(mass, 0.0)[None],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs-ipm",  # with a crossover to a vertex; several times faster here than the simplex method
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if done.x is None:
        raise ArithmeticError(f"the linear program of the law has no solution: {done.message}")
    duals = np.maximum(-done.ineqlin.marginals, 0.0)
    shares = duals[m:] / duals[m:].sum() if duals[m:].any() else np.full(sums, 1 / sums)
    return _Optimum(done.x[:n], duals[:m] * middle, shares)


def _bound(rows: _Rows, costs: NDArray[np.float64], mass: NDArray[np.float64], found: _Optimum) -> float:
    """The value of the dual at the multipliers, whatever they are, less what its rounding may be."""
    n, taken = len(mass), found.multipliers * rows.factor
    given = np.bincount(rows.left, found.multipliers, n)
    spent = np.bincount(rows.right, taken, n)
    own = found.shares @ costs
    return float(((own + given - spent - 1e-13 * (own + given + spent)) / mass).min()) * (1 - 1e-13)


def _tree(rows: _Rows, unknowns: NDArray[np.float64], base: NDArray[np.int64], unit: float) -> tuple[NDArray[Any], int]:
    """The heights of the orbits, sums of costs along trees of tight rows, and of how many parts of a unit they are multiples.

    At a vertex of the program one tree joins all orbits, and heights are whole units. Where the largest of several losses counts,
    there may be a few trees, whose highest points differ by any number.
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
    parts = 1 if (trees == trees[rough.argmin()]).all() else FINER
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
