"""The least expected cost of all tables whose rows sum to 1 and whose columns lie in the cone, by column generation.

A table is a mixture of columns of the cone, each handed to a report z at the cost `C_z v`: a linear program of N rows. Its
prices say which columns would improve it (`pricing`), and bound what any could.
Derivations in docs/theory/columns.md, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from solvers.channel_lp.cone import (
    STEEPEST,
    Array,
    Edges,
    Flow,
    Indices,
    Mask,
    NoOptimum,
    Symmetries,
    checked_budgets,
    components,
    exactly_proven,
    least,
    near_edges,
    no_flow,
    none_of,
    poles,
    priced,
    proven,
    symmetries,
)
from solvers.channel_lp.interior import REACH, ROWS, Interior, TooLarge, interior_prices
from solvers.solution import Solution, Status
from solvers.work import is_over, one_thread, spend

ROUNDS = 200
DULL = 1e-9  # of the largest cost: what gains less is not added
MANY = 3  # columns for each row of the master program, when those that cost most are left out
SOME = 100  # elements; with more, far ones are left out of the first rounds, which need columns more than bounds
FIRST_REACH = 2.0  # budgets
FURTHER = 1.0  # reach, in budgets, where a program without far elements was too loose
LITTLE = 1e-6  # of a weight may change until rows are 1
SAME = 1e-9  # columns that differ by no more are one
SMOOTHING = 0.5  # of the prices with the best bound, in those at which columns are priced


class NoMixture(Exception):
    """No table keeps the limits; the message says which bound proves it."""


@dataclass(frozen=True, eq=False)
class LossLimits:
    """Further losses `g_k(K) = sum_x weights_kx sum_z losses_xz K_xz`, k < J, with `g_k <= caps_k`; where caps is None, the
    largest of them all is added to what is minimised.

    weights: (J, N), at least 0. losses: (N, M). Weights that are the rows of an identity, without caps and beside costs of 0,
    ask for the least loss at the worst element.
    """

    weights: Array
    losses: Array
    caps: Array | None = None

    def loads(self, columns: Array, reports: Indices) -> Array:
        """What columns (N, C), each handed to its report, add to each loss: (J, C)."""
        return np.asarray(self.weights @ (columns * self.losses[:, reports]))


@dataclass(frozen=True, eq=False)
class Prices:
    """What proves a lower bound: prices `rows` (N,) of the elements, `shares` (J,) of the limits, a flow of each report.

    Shares are at least 0, those of limits without caps sum to 1.
    """

    rows: Array
    shares: tuple[Array, ...]
    flows: tuple[Flow, ...]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Columns (N, C) of the cone, their weights (C,) and the report (C,) of each: `K[:, z] = sum of weight times column`."""

    columns: Array
    weights: Array
    reports: Indices
    prices: Prices

    def table(self, reports: int) -> Array:
        """K (N, M)."""
        found = np.zeros((reports, len(self.columns)))
        np.add.at(found, self.reports, (self.columns * self.weights).T)
        return found.T


@dataclass(frozen=True, eq=False)
class ChannelLP:
    """What is asked. costs (N, M); norm (N,) > 0 sums to 1; allowed (N, M) says which entries may be more than 0, alike in each
    component of the budgets."""

    budgets: Array
    costs: Array
    norm: Array
    limits: tuple[LossLimits, ...]
    allowed: Mask

    @classmethod
    def of(
        cls,
        budgets: ArrayLike,
        costs: ArrayLike,
        norm: ArrayLike | None = None,
        limits: Sequence[LossLimits] = (),
        allowed: ArrayLike | None = None,
    ) -> ChannelLP:
        """With all defaults filled in; ValueError for shapes that do not match.

        budgets: (N, N). costs: (N, M). norm: (N,). allowed: (N, M).
        """
        b, c = checked_budgets(budgets), np.asarray(costs, dtype=float)
        n = len(b)
        if c.ndim != 2 or len(c) != n or not c.shape[1] or not np.isfinite(c).all():
            raise ValueError(f"costs of shape {c.shape}: give finite numbers, ({n}, reports).")
        q = np.full(n, 1 / n) if norm is None else np.asarray(norm, dtype=float)
        if q.shape != (n,) or not (q >= 0).all() or not q.sum() > 0:
            raise ValueError(f"norm of shape {q.shape}: give {n} numbers of at least 0, not all 0.")
        may = np.ones(c.shape, dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
        if may.shape != c.shape:
            raise ValueError(f"allowed of shape {may.shape}: give one entry for each cost, {c.shape}.")
        part = components(b)
        # An entry that is 0 makes all of its component 0.
        may = np.stack([may[part == k].all(axis=0) for k in range(part.max() + 1)])[part]
        if not may.any(axis=1).all():
            raise NoMixture(f"element {int(np.argmin(may.any(axis=1)))} has no report that its whole component may give.")
        return cls(b, c, 0.5 * q / q.sum() + 0.5 / n, tuple(limits), may)

    def priced_costs(self, shares: Sequence[Array]) -> Array:
        """Costs with the limits' losses at their shares, (N, M)."""
        return self.costs + sum(
            ((share @ limits.weights)[:, None] * limits.losses for share, limits in zip(shares, self.limits, strict=True)),
            start=np.zeros_like(self.costs),
        )

    def capped(self, shares: Sequence[Array]) -> float:
        """What the caps cost at these shares."""
        pairs = zip(shares, self.limits, strict=True)
        return float(sum(share @ limits.caps for share, limits in pairs if limits.caps is not None))

    def symmetries(self) -> Symmetries:
        """Those of budgets, costs, norm and what is allowed; the identity alone beside limits."""
        if self.limits or not self.allowed.all():
            return none_of(*self.costs.shape)
        found = symmetries(self.budgets, self.costs)
        even = np.allclose(self.norm[found.elements], self.norm, rtol=1e-12, atol=0)
        return found if even else none_of(*self.costs.shape)

    def value(self, mixture: Mixture) -> float:
        """The cost of a mixture, with the largest loss of the limits that have no caps."""
        own = float(np.einsum("nc,nc,c->", self.costs[:, mixture.reports], mixture.columns, mixture.weights))
        open_ = [
            limits.loads(mixture.columns, mixture.reports) @ mixture.weights for limits in self.limits if limits.caps is None
        ]
        return own + (float(max(loads.max() for loads in open_)) if open_ else 0.0)

    def broken(self, mixture: Mixture) -> float:
        """By how much a mixture is above a cap, at most; 0 without caps."""
        pairs = [(limits.loads(mixture.columns, mixture.reports) @ mixture.weights, limits.caps) for limits in self.limits]
        return max((float((loads - caps).max()) for loads, caps in pairs if caps is not None), default=0.0)

    def bound(self, prices: Prices) -> float:
        """What every table costs at least, by any prices: `sum of rows - d - what the caps cost`, d the largest `proven`."""
        costs = self.priced_costs(prices.shares)
        gains = [
            proven(costs[:, z] - prices.rows, self.norm, flow, self.budgets, self.allowed[:, z])
            for z, flow in enumerate(prices.flows)
            if self.allowed[:, z].any()
        ]
        total = float(prices.rows.sum())
        return total - max(gains) - self.capped(prices.shares) - 1e-13 * float(np.abs(prices.rows).sum())

    def lowered(self, prices: Prices) -> Prices:
        """Prices of the elements, at most these, at which the flows prove that no column gains but for rounding: a better bound
        where they miss that in a few elements alone, as flows for slightly smaller budgets do."""
        rows, costs = prices.rows, self.priced_costs(prices.shares)
        for z, flow in enumerate(prices.flows):
            rows = np.where(self.allowed[:, z], np.minimum(rows, costs[:, z] + flow.net(self.budgets)[0]), rows)
        return replace(prices, rows=rows)


def exact_bound(
    prices: Prices, costs: Sequence[Sequence[Fraction]], norm: Sequence[Fraction], ratio_above: Callable[[int, int], Fraction]
) -> Fraction:
    """What every table costs at least, in rationals: `sum of rows - d` (docs/theory/columns.md, section 2).

    costs: (N, M), at the shares of the limits, if there are any; what caps cost is for the caller to subtract. norm: (N,), at
    least 0, sums to 1. ratio_above: of a pair of elements a rational at least `exp(b)`. ValueError for another norm.
    """
    if sum(norm) != 1 or min(norm) <= 0:
        raise ValueError("norm: give positive rationals that sum to 1.")
    rows = [Fraction(y) for y in prices.rows.tolist()]
    gains: list[Fraction] = []
    for z, flow in enumerate(prices.flows):
        ends = list(zip(flow.from_.tolist(), flow.to.tolist(), strict=True))
        amounts = [(i, j, Fraction(f)) for (i, j), f in zip(ends, flow.amounts.tolist(), strict=True)]
        margin = [cost[z] - y for cost, y in zip(costs, rows, strict=True)]
        gains.append(exactly_proven(margin, list(norm), amounts, {pair: ratio_above(*pair) for pair in ends}))
    return sum(rows, start=Fraction(0)) - max(gains)


def column_generation(
    budgets: ArrayLike,
    costs: ArrayLike,
    start: ArrayLike,
    *,
    norm: ArrayLike | None = None,
    limits: Sequence[LossLimits] = (),
    allowed: ArrayLike | None = None,
    gap: float = 1e-4,
    rounds: int = ROUNDS,
    edges: Edges | None = None,
) -> Solution[Mixture]:
    """The least `sum C_xz K_xz` of all tables K (N, M) >= 0 with rows that sum to 1 and columns in the cone of the budgets.

    budgets: (N, N), see `cone`. costs: (N, M). start: columns of the cone (N, P), such as poles; those of `exp(-b / 2)` over
    the sums of its rows are among the first, too, so that no answer is worse than that table. norm: (N,), of the bound; the
    prior. limits: further losses. allowed: (N, M), which entries may be more than 0. gap: relative, certified. edges: pairs of
    elements that programs ask first; others follow as they are violated.
    ValueError for what does not fit, NoMixture where no table keeps the limits.

    >>> b = np.log(3) * (1 - np.eye(4))  # 4 values, any two alike up to a factor 3: the best table is 1/2 and 1/6
    >>> found = column_generation(b, (1 - np.eye(4)) / 4, np.exp(-b))
    >>> round(found.value, 9), round(found.lower_bound, 9), found.point.table(4).round(9).tolist()[0]
    (0.5, 0.5, [0.5, 0.166666667, 0.166666667, 0.166666667])
    """
    program = ChannelLP.of(budgets, costs, norm, limits, allowed)
    shapes = np.asarray(start, dtype=float)
    if shapes.ndim != 2 or len(shapes) != len(program.budgets) or not (shapes >= 0).all():
        raise ValueError(f"start of shape {shapes.shape}: give columns of at least 0, ({len(program.budgets)}, columns).")
    with one_thread():
        return _ColumnGeneration(program, shapes, near_edges(program.budgets) if edges is None else edges).run(gap, rounds)


def mixture_of_poles(
    budgets_to_poles: ArrayLike,
    costs: ArrayLike,
    limits: Sequence[LossLimits] = (),
    allowed: ArrayLike | None = None,
    further: ArrayLike | None = None,
) -> Solution[Mixture]:
    """The best mixture of the columns `exp(-b(x, pole))`, each handed to its best report: a linear program of N rows.

    budgets_to_poles: (N, P), which may be infinite; a pole that is equally far from all elements, by half of the largest budget
    or more, makes sure that there is a mixture. costs: (N, M). further: other columns of the cone, (N, C), to be mixed in. The
    lower bound is -inf: `column_generation` proves one.
    NoMixture where these columns do not mix to rows of 1, or no mixture keeps the limits.

    >>> b = np.log(3) * (1 - np.eye(4))
    >>> round(mixture_of_poles(b, (1 - np.eye(4)) / 4).value, 9)
    0.5
    """
    apart = np.asarray(budgets_to_poles, dtype=float)
    n = len(apart)
    program = ChannelLP.of(np.where(np.eye(n, dtype=bool), 0.0, np.inf), costs, None, limits, allowed)
    master = _Master(program, none_of(*program.costs.shape))
    shapes = poles(apart) if further is None else np.hstack([poles(apart), np.asarray(further, dtype=float)])
    shapes = shapes[:, shapes.max(axis=0) > 0]
    # HiGHS takes entries below 1e-9 for 0, which those of a far pole may be, all of them.
    master.offer(shapes / shapes.max(axis=0), [np.full(len(each.weights), 1 / len(each.weights)) for each in program.limits])
    try:
        found = master.solved()
    except NoOptimum as error:
        raise NoMixture(f"the columns of {apart.shape[1]} poles do not mix to rows of 1 within the limits: {error}") from error
    flows = tuple(no_flow() for _ in range(program.costs.shape[1]))
    mixture = master.mixture(found, Prices(found.rows, found.shares, flows))
    return Solution(Status.STALLED, mixture, program.value(mixture), -np.inf, 1, "linear program of poles (HiGHS)")


@dataclass(frozen=True, eq=False)
class _MasterSolution:
    """A solution of the master program: weights of all columns, prices of the elements, shares of the limits, the value, and
    those columns that have weight, with their reports."""

    weights: Array
    rows: Array
    shares: tuple[Array, ...]
    value: float
    columns: Array
    reports: Indices


class _Master:
    """The linear program over the columns so far: `min cost mu + t`, `columns mu = 1`, loads at most caps, or t.

    slack: what a load may be above its cap, at the price 1; the search for a table within the caps minimises that alone.
    """

    def __init__(self, program: ChannelLP, group: Symmetries, slack: bool = False) -> None:
        self.program, self.group, self.slack = program, group, slack
        self.averages = group.averages() if len(group) > 1 else np.eye(len(program.budgets))
        self.source = group.ways()[0]
        self.columns: list[Array] = []
        self.reports: list[int] = []
        self.known: set[tuple[int, bytes]] = set()

    def add(self, column: Array, report: int) -> bool:
        """Whether the column is new."""
        alike = self.averages @ column if len(self.group) > 1 else column
        key = (int(self.source[report]), np.round(alike / SAME).astype(np.int64).tobytes())
        if key in self.known:
            return False
        self.known.add(key)
        self.columns.append(column)
        self.reports.append(report)
        return True

    def offer(self, shapes: Array, shares: Sequence[Array], prices: Array | None = None) -> int:
        """Add each shape with its best report at these shares; where prices are given, only what gains. How many are new."""
        costs = self.program.priced_costs(shares) - (0.0 if prices is None else prices[:, None])
        spend(calls=shapes.shape[1], flops=2.0 * costs.size * shapes.shape[1])
        each = shapes.T @ costs
        if not self.program.allowed.all():
            each[(shapes > 0).T.astype(float) @ ~self.program.allowed > 0] = np.inf
        best = each.argmin(axis=1)
        least_cost = each[np.arange(len(each)), best]
        worth = np.isfinite(least_cost) & (shapes.max(axis=0) > 0)
        if prices is not None:
            worth &= least_cost < -DULL * max(1e-300, float(np.abs(costs).max()))
        return sum(self.add(shapes[:, c], int(best[c])) for c in np.flatnonzero(worth).tolist())

    def solved(self) -> _MasterSolution:
        """The optimum. `NoOptimum` where there is none."""
        program = self.program
        columns, reports = np.array(self.columns).T, np.array(self.reports, dtype=np.intp)
        count = columns.shape[1]
        costs = np.zeros(count) if self.slack else np.einsum("nc,nc->c", program.costs[:, reports], columns)
        used = [limits for limits in program.limits if not (self.slack and limits.caps is None)]
        loads = [limits.loads(columns, reports) for limits in used]
        sides = [np.zeros(len(load)) if limits.caps is None else limits.caps for limits, load in zip(used, loads, strict=True)]
        rows = sum(map(len, loads))
        extra = rows if self.slack else int(any(limits.caps is None for limits in used))
        cost = np.concatenate([costs, np.ones(extra)])
        upper = None
        if rows:
            above = (
                np.eye(rows)
                if self.slack
                else np.concatenate(
                    [np.full((len(load), extra), float(limits.caps is None)) for limits, load in zip(used, loads, strict=True)]
                )
            )
            upper = np.hstack([np.concatenate(loads), -above])
        rows_of = self.averages @ columns if len(self.group) > 1 else columns
        equal = np.hstack([rows_of, np.zeros((len(rows_of), extra))])
        scale = float(np.abs(cost[:count]).max(initial=0.0)) or 1.0
        found = least(cost / scale, upper, np.concatenate(sides) if rows else np.zeros(0), equal, np.ones(len(equal)))
        shares = np.split(-found.of_limits * scale, np.cumsum([len(load) for load in loads])[:-1]) if rows else []
        given = iter(shares)
        every = tuple(
            np.zeros(len(limits.weights)) if self.slack and limits.caps is None else next(given) for limits in program.limits
        )
        if not self.slack:
            every = _of_sum_one(program.limits, every)
        weights = found.point[:count]
        some = weights > 0
        prices = (found.of_sides * scale) @ self.averages
        return _MasterSolution(weights, prices, every, float(cost @ found.point), columns[:, some], reports[some])

    def prune(self, found: _MasterSolution) -> bool:
        """Leave out the columns that cost most at the last prices, where they are many; whether some were."""
        most = MANY * len(self.averages)
        return len(self.columns) > 2 * most and self.keep(found.rows, found.shares, found.weights > 0, most)

    def keep(self, rows: Array, shares: Sequence[Array], always: Mask, most: int) -> bool:
        """Leave out all but `most` columns, those that are kept always and those that cost least at these prices."""
        columns, reports = np.array(self.columns).T, np.array(self.reports, dtype=np.intp)
        costs = self.program.priced_costs(shares) - rows[:, None]
        reduced = np.where(always, -np.inf, np.einsum("nc,nc->c", costs[:, reports], columns))
        kept = np.sort(np.argsort(reduced, kind="stable")[: max(most, int(always.sum()))])
        self.columns, self.reports, self.known = [], [], set()
        for c in kept.tolist():
            self.add(columns[:, c], int(reports[c]))
        return True

    def mixture(self, found: _MasterSolution, prices: Prices) -> Mixture:
        """The columns that count, by report, with weights that make rows 1 as sharply as floats can say; all images of each."""
        columns, reports, weights = found.columns, found.reports, found.weights[found.weights > 0]
        weights = _refined(self.averages @ columns, weights) / len(self.group)
        moved = np.empty((len(self.group), *columns.shape))
        for image, elements in zip(moved, self.group.elements, strict=True):
            image[elements] = columns
        every = np.concatenate(list(moved), axis=1)
        handed = np.concatenate([images[reports] for images in self.group.reports])
        keys: dict[tuple[int, bytes], int] = {}
        place = [
            keys.setdefault((z, np.round(column / SAME).astype(np.int64).tobytes()), c)
            for c, (z, column) in enumerate(zip(handed.tolist(), every.T, strict=True))
        ]
        total: Array = np.bincount(place, np.tile(weights, len(self.group)), every.shape[1]).astype(float)
        kept = np.unique(place)
        kept = kept[np.argsort(handed[kept], kind="stable")]
        return Mixture(every[:, kept], total[kept], handed[kept], prices)


def _of_sum_one(limits: tuple[LossLimits, ...], shares: tuple[Array, ...]) -> tuple[Array, ...]:
    """Shares of the limits without caps add up to 1, whatever the backend's last digits say."""
    total = sum(float(share.sum()) for each, share in zip(limits, shares, strict=True) if each.caps is None)
    rows = sum(len(each.weights) for each in limits if each.caps is None)
    return tuple(
        share if each.caps is not None else share / total if total > 0 else np.full(len(share), 1 / rows)
        for each, share in zip(limits, shares, strict=True)
    )


def _refined(columns: Array, weights: Array) -> Array:
    """Weights nearby, at least 0, for which rows add up to 1 as sharply as floats can say."""
    from scipy.linalg import lstsq

    for _ in range(2):
        spend(flops=4.0 * len(columns) * columns.size)
        with one_thread():
            change = lstsq(columns, 1 - columns @ weights, lapack_driver="gelsy", cond=SAME)[0]
        changed = np.maximum(weights + change, 0.0)
        if np.abs(change).max() > LITTLE or _off(columns, changed) >= _off(columns, weights):
            break
        weights = changed
    return weights


def _off(columns: Array, weights: Array) -> float:
    return float(np.abs(1 - columns @ weights).max())


class _ColumnGeneration:
    """Rounds of the master program and of pricing, until the bound is near enough, nothing gains, or the work is over."""

    def __init__(self, program: ChannelLP, shapes: Array, edges: Edges) -> None:
        self.program, self.edges = program, edges
        part = components(program.budgets)
        within = [np.where((part == k)[:, None], shapes, 0.0) for k in range(part.max() + 1)]
        ones = np.stack([(part == k).astype(float) for k in range(part.max() + 1)], axis=1)
        halves = np.exp(-program.budgets / 2)
        halves /= halves.sum(axis=1, keepdims=True)
        shapes = np.hstack([ones, halves, *within]) if part.any() else np.hstack([ones, halves, shapes])
        self.shapes = shapes[:, shapes.max(axis=0) > 0]
        self.shapes = self.shapes / self.shapes.max(axis=0)
        self.pruned = False
        self.group = program.symmetries()
        self.source, self.by = self.group.ways()
        self.reports = [z for z in np.unique(self.source).tolist() if program.allowed[:, z].any()]
        self.flows = [no_flow() for _ in range(program.costs.shape[1])]
        self.reach = 0.0

    def run(self, gap: float, rounds: int) -> Solution[Mixture]:
        """The search; where there are caps, first one for a table that keeps them."""
        self.reach = 1.5 - float(np.log(gap)) if len(self.program.budgets) <= SOME else FIRST_REACH
        master = _Master(self.program, self.group)
        if (inside := self._interior(gap)) is not None:
            found = self._whole(inside)
            if found.status is Status.STALLED and found.value - found.lower_bound <= gap * abs(found.value):
                return replace(found, status=Status.OPTIMAL)
            self._start_from(master, inside)
            return self._improve(master, gap, rounds, found.point.prices)
        even = [np.full(len(each.weights), 1 / len(each.weights)) for each in self.program.limits]
        master.offer(self.shapes, even)
        if any(limits.caps is not None for limits in self.program.limits):
            free = tuple(np.zeros(len(each.weights)) for each in self.program.limits)
            master.offer(self.shapes, free)
            self._keep_caps(master, rounds)
        return self._improve(master, gap, rounds)

    def _interior(self, gap: float) -> Interior | None:
        """A table and prices by an interior point method, where elements are many and nothing else simplifies the program."""
        program = self.program
        plain = len(self.group) == 1 and not program.limits and program.allowed.all() and np.isfinite(program.budgets).all()
        if not plain or len(program.budgets) <= SOME:
            return None
        try:
            found = interior_prices(program.budgets, program.costs, gap)
        except (TooLarge, np.linalg.LinAlgError):
            return None
        self.flows, self.reach = list(found.flows), REACH
        return found

    def _whole(self, inside: Interior) -> Solution[Mixture]:
        """The table of an interior point as a mixture, each report one column; infinitely dear where its rows are not 1."""
        weights, prices = inside.columns.max(axis=0), Prices(inside.rows, (), inside.flows)
        mixture = Mixture(inside.columns / weights, weights, np.arange(len(weights)), prices)
        value = self.program.value(mixture) if inside.missing <= ROWS else np.inf
        return Solution(Status.STALLED, mixture, value, min(self.program.bound(prices), value), 1, "interior point method")

    def _start_from(self, master: _Master, inside: Interior) -> None:
        """Columns of an interior table and of the exponential mechanism, and of all others those that cost least there."""
        for z, column in enumerate(inside.columns.T):
            master.add(column / column.max(), z)
        n = len(self.program.budgets)
        master.offer(self.shapes[:, : n + 1], ())
        first = len(master.columns)
        master.offer(self.shapes, ())
        self.pruned = master.keep(inside.rows, (), np.arange(len(master.columns)) < first, first + n)

    def _keep_caps(self, master: _Master, rounds: int) -> None:
        """Add columns until some mixture keeps the caps. NoMixture where prices prove that none does."""
        master.slack = True
        plain = self.program
        self.program = master.program = replace(plain, costs=np.zeros_like(plain.costs))
        for _ in range(rounds):
            found = master.solved()
            scale = max(float(np.abs(limits.caps).max()) for limits in plain.limits if limits.caps is not None) or 1.0
            if found.value <= DULL * scale:
                break
            new = self._price(master, found.rows, found.shares, 0.0, found)[1]
            bound = self.program.bound(Prices(found.rows, found.shares, self._every_flow()))
            if bound > 0 or not new:
                raise NoMixture(f"no table keeps the caps: their excess adds up to at least {max(bound, 0.0):.6g}")
        master.slack, self.program, master.program = False, plain, plain
        self.flows = [no_flow() for _ in self.flows]

    def _improve(self, master: _Master, gap: float, rounds: int, start: Prices | None = None) -> Solution[Mixture]:
        """Rounds, the first at prices to start from, where there are any."""
        best, lower, value, kept = None, -np.inf, np.inf, 0.0 if start is None else 1.0
        prices = Prices(np.zeros(len(self.program.budgets)), (), ()) if start is None else start
        count = 0
        while count < rounds:
            count += 1
            found = master.solved()
            value = found.value
            best = found
            if value - lower <= gap * abs(value):
                break
            self.pruned |= master.prune(found)
            rows, shares = found.rows, found.shares
            if kept:
                rows = kept * prices.rows + (1 - kept) * rows
                shares = tuple(kept * a + (1 - kept) * b for a, b in zip(prices.shares, shares, strict=True))
            room = float(rows.sum()) - self.program.capped(shares) - (1 - gap) * value
            gain, new = self._price(master, rows, shares, room, found)
            at = float(rows.sum()) - self.program.capped(shares) - gain
            if at > lower:
                lower, prices = at, Prices(rows, shares, self._every_flow())
            if is_over():
                break
            if not new and not kept:
                break
            kept = 0.0 if not new else SMOOTHING
        assert best is not None, "at least one round"
        mixture = master.mixture(best, prices)
        value, lower = self.program.value(mixture), self.program.bound(prices)
        status = Status.OPTIMAL if value - lower <= gap * abs(value) else Status.STALLED
        return Solution(
            status, mixture, value, min(lower, value), count, f"column generation, {len(master.columns)} columns (HiGHS)"
        )

    def _every_flow(self) -> tuple[Flow, ...]:
        """Of each report, the flow of the one that stands for it, moved by its symmetry."""
        return tuple(
            self.flows[source].moved(self.group.elements[by])
            for source, by in zip(self.source.tolist(), self.by.tolist(), strict=True)
        )

    def _price(
        self, master: _Master, rows: Array, shares: tuple[Array, ...], room: float, found: _MasterSolution
    ) -> tuple[float, bool]:
        """Columns that gain at these prices are added: the largest gain that any can have, and whether something is new.

        Reports that cannot gain more than half of the room, by their last flow, are left out.
        """
        program = self.program
        costs = program.priced_costs(shares)
        margins = costs - rows[:, None]
        spend(entries=4.0 * margins.size)
        worth = program.priced_costs(found.shares) - found.rows[:, None]
        dull = DULL * max(1e-300, float(np.abs(costs).max()) * len(rows) ** -0.5)
        largest, new, missing = -np.inf, False, []
        for z in self.reports:
            usable = program.allowed[:, z]
            known = proven(margins[:, z], program.norm, self.flows[z], program.budgets, usable)
            if known <= room / 2:
                largest = max(largest, known)
                continue
            try:
                made = priced(margins[:, z], program.norm, self.edges, program.budgets, usable, self.reach)
            except NoOptimum:
                largest = max(largest, known)
                continue
            if made.bound < known:
                self.flows[z] = made.flow
            largest = max(largest, min(known, made.bound))
            if made.bound - made.gain > max(room, 0.0) / 4:
                missing.append(made.missing)
            if worth[:, z] @ made.column < -dull:
                new |= master.add(made.column, z)
        if program.limits or self.pruned:
            new |= bool(master.offer(self.shapes, found.shares, found.rows))
        if missing:
            pairs = np.concatenate(missing)
            before = len(self.edges)
            self.edges = self.edges.joined(program.budgets, pairs[:, 0], pairs[:, 1])
            new |= len(self.edges) > before or self.reach < STEEPEST
            self.reach += FURTHER
        return largest, new
