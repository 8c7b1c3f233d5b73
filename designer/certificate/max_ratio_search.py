"""The largest `||u|| / b` of very many pairs without looking at all of them.

Clusters of elements have a centre and a radius in the norm, and a box of the numbers that budgets follow from: so the ratio of
every pair between two groups is bounded, and groups whose bound is below what some pair attains are never opened. What is left
is handed on pair by pair. Bounds cover the rounding of whoever looks at a pair afterwards: docs/theory/million.md.

Answers that are affine in the places, up to little: how long a difference is, by the distance alone.

Of `p_i = A x_i + c + r_i` and a budget `rate |x_i - x_j|` the ratio is at most `max_v ||A v|| / (rate |v|)`, and what the
remainders r differ by over the budget: docs/theory/million.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.base.progress import announce, track
from designer.certificate.norms import Norm, RatioBounds
from designer.limits import MOST_COMPARED_PAIRS
from designer.problem.budget_bounds import Nearness
from solvers.dual_tree import PIECE, Boxes, DirectionTable, Foretold, Indices, PairWalk, PointTree, gauges, grown, steepest

LARGEST = 1e100  # numbers up to this size have products with slopes that are finite
GUARD = 2.0**-40  # relative, far above the rounding of float budgets and of a few sums


@dataclass(frozen=True)
class Slope:
    """`||p_i - p_j|| <= steep b(i, j) + apart` for all pairs of elements; way: the direction of places in which answers differ
    most for their budget."""

    steep: float
    apart: float
    way: tuple[float, ...]

    @classmethod
    def of(cls, near: Nearness, points: Floats, norm: Norm) -> Slope | None:
        """From the slopes that fit best; None where budgets are no norm of differences, there are too many coordinates, or
        the answers are far from affine.

        points: (N, R), of the elements.
        """
        places, sizes = near.features, np.abs(points).max(axis=0, initial=0.0)
        reaches = np.abs(places).max(axis=0, initial=0.0)
        if near.ball is None or not max(sizes.max(initial=0.0), reaches.max(initial=0.0)) < LARGEST:
            return None
        order, rate = near.ball
        if not rate < LARGEST:
            return None
        slopes = np.linalg.lstsq(places - places.mean(axis=0), points - points.mean(axis=0), rcond=None)[0]
        if not np.abs(slopes).max(initial=0.0) < LARGEST:
            return None
        rounding = (places.shape[1] + 8) * 2.0**-51 * (reaches @ np.abs(slopes) + sizes)
        widths = np.ptp(points - places @ slopes, axis=0) + 2 * rounding
        images, sums = norm.factor, (norm.dimension + places.shape[1] + len(norm.map) + 16) * 2.0**-50
        apart = float(norm.length(np.abs(images) @ widths[~norm.silent])) * (1 + sums)
        moves = images @ slopes[:, ~norm.silent].T
        highest = steepest(lambda ways: norm.length(ways @ moves.T), places.shape[1], order)
        if highest is None:
            return None
        error = sums * float(norm.length((np.abs(images) @ np.abs(slopes[:, ~norm.silent]).T).sum(axis=1)))
        steep = (highest[0] + error) * (1 + GUARD) / rate
        far = rate * float(np.ptp(places, axis=0).max(initial=0.0))
        return cls(steep, apart, tuple(highest[1].tolist())) if apart < steep * far else None


TOLERANCES = (0.01, 0.02, 0.05)  # how far bounds of groups may be above the worst pair seen, where ties defeat the search
FINE = (1e-9, 1e-6, 1e-4, 1e-3)  # the same, where slopes bound the answers: such bounds are near the worst pair
EACH = 500  # pairs for each element that a search looks at before a slope is taken instead, so that its time grows as they do
COARSE = (0.1, 0.2)  # the same, of searches that seek pairs for a design: what these miss costs noise, and no privacy
HEAVY = 2e9  # pairs; a search that looks at more gives way to a bound: a minute
WORTH = 0.5  # a bound that is no quicker than this part of the time of an exact ratio is not worth what it gives away
BOUNDED, SCANNED_EACH = 12.0, 0.6  # the time of a bound between groups, and of a pair in a scan of all, in pairs looked at
AT_ONCE = 1 << 17  # numbers of pairs that are held at once: a megabyte, which stays in cache
LONG = 1e9  # so many are announced: half a minute
MODERATE = 1e150  # numbers up to this size have differences and products that are finite
CORNERS = 8  # groups far out in each direction are compared with each other first
STRAIGHT, BESIDE = 64, 4  # so many pairs of elements that lie along the steepest way, of the next few of each across it


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of the elements, and what bounds ||u|| / b between two of them.

    points: (N, R), of the elements. errors: those of float ratios, which bounds allow for.
    """

    near: Nearness
    points: Floats
    norm: Norm
    errors: RatioBounds

    @cached_property
    def tree(self) -> PointTree:
        """Near elements together; where budgets tell them apart by little, elements of near answers."""
        if self.near.apart:
            return self.near.tree
        spread = np.ptp(self.points, axis=0)
        own = self.near.features * self.near.units
        wide = np.ptp(own, axis=0)
        return grown(np.hstack([own / np.where(wide > 0, wide, 1.0), self.points / np.where(spread > 0, spread, 1.0)]))

    @cached_property
    def boxes(self) -> Boxes:
        """Of the features."""
        return self.near.boxes if self.near.apart else Boxes.of(self.tree, self.near.features)

    @cached_property
    def mapped(self) -> bool:
        """Whether images are held: gauges of many facets map differences instead."""
        return self.norm.map.ndim == 1 or len(self.norm.map) <= 2 * self.norm.dimension + 8

    @cached_property
    def places(self) -> Floats:
        """What lengths are taken of, (S, N): images, or the coordinates of the points that get noise."""
        held = self.norm.image(self.points) if self.mapped else self.points[:, ~self.norm.silent]
        return np.ascontiguousarray(held.T)

    @cached_property
    def facets(self) -> Floats:
        """Of a gauge, without what gets no noise: (F, S)."""
        return np.ascontiguousarray(self.norm.map[:, ~self.norm.silent])

    @cached_property
    def table(self) -> DirectionTable | None:
        """Bounds of a gauge of many facets, where it has one."""
        small = float(np.abs(self.points).max(initial=0.0)) < MODERATE
        return DirectionTable.of(self.facets) if small and not self.mapped and self.norm.of_order else None

    @property
    def width(self) -> int:
        """How many numbers are held for each length."""
        if self.mapped:
            return 1
        return len(self.facets) if self.table is None else 2 ** len(self.places)

    def lengths(self, differences: list[Floats]) -> Floats:
        """Norms (...,) of differences of places, S arrays (...,), which are used up; of many facets bounds from above."""
        if self.table is not None:
            return self.table.above(differences)
        if not self.mapped:
            stacked = np.stack(differences, axis=-1)
            rows = stacked.reshape(-1, stacked.shape[-1])
            measured = gauges(rows, self.facets) if self.norm.of_order else self._measured(rows)
            return measured.reshape(stacked.shape[:-1])
        if not self.norm.of_order:
            return self.norm.length(np.stack(differences, axis=-1))
        total = np.zeros(differences[0].shape) if differences else np.zeros(())
        for each in differences:
            if self.norm.order == "l2":
                each *= each
                total += each
            else:
                np.abs(each, out=each)
                total = total + each if self.norm.order == "l1" else np.maximum(total, each)
        return np.sqrt(total) if self.norm.order == "l2" else total

    def _measured(self, rows: Floats) -> Floats:
        """What a norm of its own makes of the images of differences (n, S), which are never held together."""
        step = max(1, AT_ONCE // len(self.facets))
        parts = [self.norm.length(rows[i : i + step] @ self.facets.T) for i in range(0, len(rows), step)]
        return np.concatenate([*parts, np.zeros(0)])

    @cached_property
    def balls(self) -> tuple[list[Floats], list[Floats]]:
        """Centres (S, 2^level) and radii (2^level,) of all nodes, for each level from the root."""
        boxes = Boxes.of(self.tree, self.places.T)
        centres = [(low + high) / 2 for low, high in zip(boxes.lows, boxes.highs, strict=True)]
        at = self.places[:, self.tree.leaves]
        radii = [self.lengths([row - centre[:, None] for row, centre in zip(at, centres[-1], strict=True)]).max(axis=-1)]
        for level in range(self.tree.depth - 1, -1, -1):
            centre, below = centres[level], centres[level + 1]
            apart = self.lengths([row - np.repeat(middle, 2) for row, middle in zip(below, centre, strict=True)])
            radius = (radii[0] + apart).reshape(-1, 2).max(axis=1)
            width = len(self.tree.leaves) // (1 << level) * self.tree.leaves.shape[1]
            if width <= CLOSE:
                held = at.reshape(len(at), 1 << level, width)
                straight = self.lengths([row - middle[:, None] for row, middle in zip(held, centre, strict=True)])
                radius = np.minimum(radius, straight.max(axis=-1))
            radii.insert(0, radius)
        return centres, radii

    def bound(self, level: int, a: Indices, b: Indices) -> Floats:
        """No ratio between elements of the nodes a and b, (n,), is larger, whoever computes it in floats."""
        centres, radii = self.balls
        step = min(PIECE, max(1, AT_ONCE // self.width))
        parts = []
        for start in range(0, len(a), step):
            x, y = a[start : start + step], b[start : start + step]
            apart = self.lengths([centre[x] - centre[y] for centre in centres[level]])
            parts.append(apart + radii[level][x] + radii[level][y])
        lengths = np.concatenate(parts) if parts else np.zeros(0)
        return np.where(self.alike.coincide(level, a, b), 0.0, self._ratios(lengths, self.least(level, a, b), of_pairs=False))

    def least(self, level: int, a: Indices, b: Indices) -> Floats:
        """No budget between elements of the nodes a and b, (n,), is smaller."""
        return self.near.least(self.boxes.gaps(level, a, b), self.boxes.low(level, a), self.boxes.low(level, b))

    @cached_property
    def slope(self) -> Slope | None:
        """What bounds answers that are affine in the features."""
        return Slope.of(self.near, self.points, self.norm)

    def by_slope(self, slope: Slope, level: int, a: Indices, b: Indices) -> Floats:
        """As `bound`, from the budgets alone."""
        least = self.least(level, a, b)
        return self._ratios(slope.steep * least + slope.apart, least, of_pairs=False)

    @cached_property
    def alike(self) -> Boxes:
        """Numbers of the points, the same for equal ones: groups of one point need not be opened, whatever their budgets."""
        if not self.near.twins:
            return Boxes.of(self.tree, np.arange(len(self.points), dtype=np.float64)[:, None])
        _, number = np.unique(self.points, axis=0, return_inverse=True)
        return Boxes.of(self.tree, number.astype(np.float64).reshape(-1, 1))

    def _ratios(self, lengths: Floats, least: Floats, *, of_pairs: bool) -> Floats:
        """Bounds of what `RatioBounds.upper` may say: of pairs, whose lengths are summed from the same images in another order,
        or of groups.

        Two float lengths l and l' of a pair of length L are within `absolute + s L` of it, s a fourth of `sums` at most. So
        `l (1 + sums) + 3 absolute - l'` is at least `2 s (1 - 2 s) L + (1 - sums) absolute`, which is above what its two
        roundings lose; 2 in the place of 3 is too little where L is `absolute` (docs/theory/million.md, 2).
        """
        sums = (len(self.norm.map) + 4) * 2.0**-51 if of_pairs else self.errors.relative
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            longest = lengths * (1 + sums) + 3 * self.errors.absolute
            budgets = least / (1 + self.near.off)
            found = self.errors.above(longest / budgets, budgets)
        return np.where(np.isnan(found), np.inf, found)

    @cached_property
    def members(self) -> tuple[Indices, Floats, Floats]:
        """The elements of the leaves, (m, L), with their places (S, m, L) and features (f, m, L)."""
        held = np.ascontiguousarray(self.tree.leaves.T)
        return held, self.places[:, held], np.ascontiguousarray(self.near.features.T)[:, held]

    def between_leaves(self, a: Indices, b: Indices, least: float) -> Floats:
        """Bounds of the ratios of all pairs of elements of the leaves a and b: (m, m, n), 0 where both are one point.

        Those that are below `least` may be rougher than the others.
        """
        held, places, features = self.members
        differences = [row[:, a][:, None] - row[:, b] for row in places]
        x, y = features[:, :, a][:, :, None], features[:, :, b][:, None]
        budgets = self.near.least(np.abs(x - y), x, y)
        if self.table is None:
            ratios = self._ratios(self.lengths(differences), budgets, of_pairs=True)
        else:
            ratios = self._ratios(self.table.above(differences), budgets, of_pairs=True)
            near = np.nonzero(ratios >= least)
            lengths = gauges(np.stack([part[near] for part in differences], axis=-1), self.facets)
            ratios[near] = self._ratios(lengths, budgets[near], of_pairs=True)
        row, column, place = np.nonzero(np.isinf(ratios))
        here, there = self.points[held[row, a[place]]], self.points[held[column, b[place]]]
        ratios[row, column, place] = np.where((here == there).all(axis=1), 0.0, np.inf)
        return ratios

    def first(self) -> tuple[Indices, Indices]:
        """Pairs of leaves whose ratios are often large: each with itself and the next, those that are far out in the answers,
        and those along the steepest way."""
        leaves = np.arange(len(self.tree.leaves))
        centre = self.balls[0][-1]
        ways = np.random.default_rng(1).choice([-1.0, 1.0], size=(8, len(centre)))
        scaled = centre / np.where(np.ptp(centre, axis=1, keepdims=True) > 0, np.ptp(centre, axis=1, keepdims=True), 1.0)
        far = np.argsort(np.vstack([scaled, -scaled, ways @ scaled])[:64], axis=1)[:, : CORNERS // 2]
        x, y = np.triu_indices(len(far := np.unique(far)), 1)
        here, there = self._straight()
        return np.concatenate([leaves, leaves[:-1], far[x], here]), np.concatenate([leaves, leaves[1:], far[y], there])

    def _straight(self) -> tuple[Indices, Indices]:
        """The leaves of elements that differ nearly along the steepest way alone: of those that are near each other across it,
        the ones that are farthest apart along it for that."""
        places = self.near.features
        if self.slope is None or places.shape[1] < 2:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        turned = np.linalg.svd(np.array([self.slope.way]))[2]
        along, across = (places - places.mean(axis=0)) @ turned[0], (places - places.mean(axis=0)) @ turned[1:].T
        left, right = _neighbours(across)
        with np.errstate(divide="ignore", invalid="ignore"):
            slant = np.sqrt(((across[left] - across[right]) ** 2).sum(axis=1)) / np.abs(along[left] - along[right])
        chosen = np.argsort(np.where(np.isnan(slant), np.inf, slant), kind="stable")[:STRAIGHT]
        leaf = np.empty(len(places), dtype=np.intp)
        leaf[self.tree.leaves] = np.arange(len(self.tree.leaves))[:, None]
        return leaf[left[chosen]], leaf[right[chosen]]


def _neighbours(points: Floats) -> tuple[Indices, Indices]:
    """Each point with the next few, (n,) and (n,); points (N, d)."""
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")
        steps = range(1, min(BESIDE, len(order) - 1) + 1)
        return np.concatenate([order[:-k] for k in steps]), np.concatenate([order[k:] for k in steps])
    from scipy.spatial import cKDTree

    near = np.asarray(cKDTree(points).query(points, k=min(BESIDE, len(points)))[1])
    return np.repeat(np.arange(len(points)), near.shape[1] - 1), near[:, 1:].ravel()


CLOSE = 1 << 12  # points of a group whose radius is measured; larger groups take that of their halves


@dataclass
class Hunt:
    """The search for the pairs of largest ratio.

    look(left, right): proven lower bounds of the ratios of pairs in step; what cannot reach the best of them is settled.
    kept: how many pairs are held; where more could be the worst, `covered` bounds those that were let go.
    below: a tolerance is used only as long as what it lets pass stays below this. least: lower ratios are of no interest.

    tolerance: groups whose bound is above the best ratio by at most this part of it are settled, and `covered` bounds them;
    above 0 only where a search for the worst pair itself would be long. in_vain: a look at every pair is quicker, and nothing
    was searched.
    """

    groups: Clusters
    look: Callable[[Indices, Indices], Floats]
    kept: int
    partners: bool = False
    below: float = np.inf
    least: float = 0.0
    tolerance: float = 0.0
    in_vain: bool = False
    floor: float = field(default=0.0, init=False)
    covered: float = 0.0

    def __post_init__(self) -> None:
        self.floor = self.least
        self.bounds, self.left, self.right = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)

    def run(self) -> None:
        """Look at every pair that bounds do not settle."""
        for a, b in self._pieces(iter([self.groups.first()])):
            self._take(a, b)
        self._search()
        self.covered = self._enough
        self._trim()

    def _search(self) -> None:
        """By the shortest way: counts decide, never clocks, so that whoever repeats it decides the same."""
        scan = self.groups.near.pairs * SCANNED_EACH if self.groups.mapped else np.inf
        if self._by_slope(min(scan, EACH * len(self.groups.points))) or not self._walk(0.0, min(scan, HEAVY)):
            return
        steps = (*(FINE if self.groups.slope else ()), *TOLERANCES, *(COARSE if self.partners else ()))
        if scan > HEAVY and any(not self._walk(t, HEAVY) for t in steps):
            return
        exact = self._walk(0.0, 0.0, whole=True)
        shortest, largest = min(scan, exact), TOLERANCES[-1]
        if scan > HEAVY and self._allows(largest) and not self._walk(largest, max(HEAVY, WORTH * shortest)):
            return
        self.tolerance = 0.0
        if exact > scan:
            self._allow(self.groups.near.pairs)
            self.in_vain = True
        else:
            self._walk(0.0, np.inf)

    def _by_slope(self, limit: float) -> bool:
        """Whether little work finds the worst pair of answers with a slope, or the least tolerance by which it bounds them."""
        return self.groups.slope is not None and any(self._allows(t) and not self._walk(t, limit) for t in (0.0, *FINE))

    def _allows(self, tolerance: float) -> bool:
        """Whether what the tolerance lets pass stays below what it has to."""
        return self.floor * (1 + tolerance) <= self.below

    def _walk(self, tolerance: float, limit: float, *, whole: bool = False) -> float:
        """0 after the walk; where that would be more work than the limit, about that work: where it is known to be above the
        limit, or, if asked for, from the whole of the sample."""
        self.tolerance = tolerance
        walk = PairWalk(
            self.groups.tree.depth,
            self._opens,
            lambda pairs, asked, ended: self._foretell(pairs, asked, limit, ended) if ended or not whole else None,
        )
        try:
            for a, b in track(self._pieces(iter(walk)), "searching pairs"):
                self._take(a, b)
        except Foretold as given_up:
            return given_up.work
        return 0.0

    @property
    def _enough(self) -> float:
        """Groups with no larger bound are covered."""
        near = min(self.floor * (1 + self.tolerance), self.below) if self.tolerance else 0.0
        return max(self.covered, near)

    def _opens(self, level: int, a: Indices, b: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        opens = np.ones(len(a), dtype=np.bool_)
        if self.tolerance and self.groups.slope is not None:
            opens = np.asarray(self.groups.by_slope(self.groups.slope, level, a, b) > self._enough)
        bound = self.groups.bound(level, a[opens], b[opens])
        opens[opens] = (bound >= self.floor) & (bound > self._enough)
        return opens

    def _foretell(self, leaf_pairs: float, asked: float, limit: float, ended: bool) -> None:
        """Give up what is above the limit."""
        looked_at = leaf_pairs * self.groups.tree.leaves.shape[1] ** 2
        work = looked_at + BOUNDED * asked
        if work > limit:
            raise Foretold(work)
        if ended:
            self._allow(looked_at)

    def _allow(self, looked_at: float) -> None:
        """Refuse what would take days, announce what takes minutes."""
        words = f"about {looked_at:.2g} of {self.groups.near.pairs:.2g} pairs must be looked at"
        if looked_at > MOST_COMPARED_PAIRS:
            raise DesignFailed(
                f"relation: {words}, because elements that are near each other differ as much in their answers as others, or "
                "have many coordinates; merge elements, ask for fewer or smoother queries, or give elements fewer coordinates."
            )
        if looked_at > LONG:
            announce(f"{words}, about {looked_at / 2e9:.0f} minutes")

    def _pieces(self, walk: Iterator[tuple[Indices, Indices]]) -> Iterator[tuple[Indices, Indices]]:
        width = self.groups.tree.leaves.shape[1] ** 2 * self.groups.width
        step = max(1, AT_ONCE // width)
        for a, b in walk:
            for start in range(0, len(a), step):
                yield a[start : start + step], b[start : start + step]

    def _take(self, a: Indices, b: Indices) -> None:
        """Keep the pairs of some leaves that may be the worst, or the worst partner of each element."""
        bounds, held = self.groups.between_leaves(a, b, self.floor), self.groups.members[0]
        chosen: tuple[Indices, ...]
        if self.partners:
            row, place = np.indices(bounds[0].shape)
            chosen = (row, bounds.argmax(axis=1), place)
        else:
            chosen = np.nonzero(bounds >= max(self.floor, np.nextafter(self.covered, np.inf)))
        values = bounds[chosen].ravel()
        left, right = held[chosen[0], a[chosen[2]]].ravel(), held[chosen[1], b[chosen[2]]].ravel()
        top = np.flatnonzero(values >= self.least) if self.partners else np.flatnonzero(values > 0)
        if self.partners:
            top = top[np.argsort(-values[top])[: 4 * self.kept]]
        if not len(top):
            return
        self._raise_floor(values[top], left[top], right[top])
        self.bounds = np.concatenate([self.bounds, values[top]])
        self.left, self.right = np.concatenate([self.left, left[top]]), np.concatenate([self.right, right[top]])
        if len(self.bounds) > 16 * self.kept:
            self._trim()

    def _raise_floor(self, values: Floats, left: Indices, right: Indices) -> None:
        most = np.argsort(-values)[:8]
        if values[most[0]] > self.floor:
            found = self.look(left[most], right[most])
            self.floor = max(self.floor, float(found[~np.isnan(found)].max(initial=0.0)))

    def _trim(self) -> None:
        """Let go what the floor has settled, and pairs that are there twice; then the least of what is too many."""
        lower, upper = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        _, once = np.unique(lower * len(self.groups.points) + upper, return_index=True)
        if not self.partners:
            once = once[self.bounds[once] >= self.floor]
        once = once[np.argsort(-self.bounds[once], kind="stable")]
        if self.partners:
            once = once[np.sort(np.unique(lower[once], return_index=True)[1])]
        rest = once[4 * self.kept :]
        if not self.partners and len(rest):
            self.covered = max(self.covered, float(self.bounds[rest[0]]))
        once = once[: 4 * self.kept]
        self.bounds, self.left, self.right = self.bounds[once], lower[once], upper[once]
