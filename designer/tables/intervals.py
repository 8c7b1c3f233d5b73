"""Intervals of the answers of a plan, from the laws of its noise (docs/theory/intervals.md, 6).

| query | interval |
| --- | --- |
| counts, distinct counts, sums | the quantile of the discrete Gaussian of each group |
| sums with Laplace noise | the quantile of the discrete law |
| Student noise | the quantile of the continuous law, which bounds the discrete one, and half a step |
| Gaussian noise on a logarithm or root | the quantile of the discrete Gaussian, taken back through the transformation |
| averages | Fieller's set of the noisy sum and the noisy count, within the public bounds of the measure |
| quantiles | none: the law bounds how many records the rank is off by, and that says nothing of values |

All numbers have noise of their own, so all are within their intervals at once with the product of the probabilities. Averages
follow from their sums and counts then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import ULP, ConfidenceLimits
from designer.base.arrays import Floats, Immutable
from designer.base.checks import assign, count, shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.limits import MOST_HIERARCHY_AXES
from designer.sampling.integer_margins import gaussian_margin, laplace_margin
from designer.tables.answers import Answer, Answers
from designer.tables.groups import Labels
from designer.tables.measure import Measure
from designer.tables.other_noise import PureSum, Quantile, SlowlyScaledSum
from designer.tables.policies.hierarchies import Hierarchy, Numbers
from designer.tables.queries import Additive, Aggregated, Average, Query

LAW = "quantiles of the discrete laws of independent noise; Fieller's set for averages; none for quantiles"
OF_QUANTILES = (
    "a quantile has none: the law of the selection bounds by how many records its rank is off, and which values those records "
    "have is confidential."
)
OF_FIELLER = 0.9  # of the probability that an average is missed with
CLEAR = 6  # deviations of its noise from which on a true count is told from 0
ROOMY = 1 + 1e-12


class Ends(NamedTuple):
    """Both ends of the intervals of the answers of one query, (G,) each."""

    lower: Floats
    upper: Floats


def limits_of_answers(
    queries: Sequence[Query], noisy: Sequence[Aggregated], released: Answers, level: float, simultaneous: bool
) -> ConfidenceLimits:
    """Intervals of all answers of all queries, in the order of the release; not a number for quantiles."""
    numbers = sum(len(released[part.name].keys) for part in noisy)
    share = -math.expm1(math.log(level) / max(1, numbers)) if simultaneous else 1 - level
    found = {part.name: ends_of_numbers(part, released[part.name], share) for part in noisy}
    for query in queries:
        if isinstance(query, Average):
            found[query.name] = _of_average(query, released, found, None if simultaneous else share)
        if isinstance(query, Quantile):
            unknown = np.full(len(released[query.name].keys), np.nan)
            found[query.name] = Ends(unknown, unknown)
    both = [found[name] for name in released.answers]
    return ConfidenceLimits(
        np.concatenate([own.lower for own in both]), np.concatenate([own.upper for own in both]), law_of(queries), OF_QUANTILES
    )


def law_of(queries: Sequence[Query]) -> str:
    """By which law, and of what: a sum or an average is of amounts that were clipped to the bounds of its measure."""
    summed = (query for query in queries if isinstance(query, (Aggregated, Average)))
    given = (getattr(query, "measure", None) for query in summed)
    measures = dict.fromkeys(measure for measure in given if isinstance(measure, Measure))
    clipped = ", ".join(f"{printed(m.column)} to [{m.lower}, {m.upper}]" for m in measures)
    said = "intervals of sums and averages say nothing of what clipping took away; counts of values outside would"
    return f"{LAW}; amounts clipped: {clipped}; {said}" if clipped else LAW


def ends_of_numbers(query: Aggregated, answer: Answer, share: float) -> Ends:
    """Intervals of the noisy numbers of one query, each missed with probability `share` at most."""
    if isinstance(query, SlowlyScaledSum):
        return _of_slow(query, answer, share)
    if isinstance(query, PureSum):
        margins = np.full(len(answer.keys), float(laplace_margin(float(query.step / query.scale), share)))
    else:
        assert isinstance(query, Additive)
        variances = query.grid_variances(answer.keys)
        margins = np.broadcast_to([gaussian_margin(float(v), share) for v in variances], len(answer.keys))
    return _around(answer.values, np.floor(margins) * float(query.step))


def _around(values: Floats, margins: Floats) -> Ends:
    slack = ULP * (np.abs(values) + margins)
    exact = (values == np.rint(values)) & (margins == np.rint(margins)) & (np.abs(values) + margins < 2.0**53)
    slack = np.where(exact, 0.0, slack)
    return Ends(values - margins - slack, values + margins + slack)


def _of_slow(query: SlowlyScaledSum, answer: Answer, share: float) -> Ends:
    """Noise on a fine grid: the sum, or what a transformation makes of it, was rounded to it by half a step."""
    noise, step = query.noise, float(query.noise.step)
    places = np.array(answer.integers or (), dtype=np.float64)
    if not hasattr(noise, "deviation"):
        return _around(places * step, np.full(len(places), student_margin(float(noise.scale), noise.power, step, share)))
    reach = gaussian_margin(float((noise.deviation / noise.step) ** 2), share) + 0.5 + 1e-9
    lower, upper = ((places + side * reach) * step * (1 + side * np.sign(places) * 1e-12) for side in (-1, 1))
    least = -math.inf if query.measure.bounds[0] < 0 else 0.0
    low = np.where(lower > 0, _untransformed(noise, np.maximum(lower, 0.0)), least)
    return Ends(low, _untransformed(noise, np.maximum(upper, 0.0)))


@lru_cache(1024)
def student_margin(scale: float, power: int, step: float, share: float) -> float:
    """`P(|z| > m) <= P(|y| >= m) / (1 - w(0) / integral)`, y of the continuous law of the same weights, which fall from 0 on;
    and the half step that the sum was rounded by."""
    from scipy.stats import t

    degrees = 2 * power - 1
    heaviest = step / scale * float(t.pdf(0.0, degrees)) * math.sqrt(degrees)
    quantile = float(t.isf(share * (1 - heaviest) / 2, degrees)) / math.sqrt(degrees)
    return (scale * quantile + 1.5 * step) * (1 + 1e-9)


def _untransformed(noise: object, transformed: Floats) -> Floats:
    """The sum whose logarithm or root this is."""
    offset = float(noise.offset)  # type: ignore[attr-defined]
    with np.errstate(over="ignore"):
        if noise.shape == "log":  # type: ignore[attr-defined]
            return np.asarray(offset * np.expm1(transformed))
        return np.asarray(transformed * (transformed + 2 * math.sqrt(offset)))


def _of_average(query: Average, released: Answers, found: dict[str, Ends], share: float | None) -> Ends:
    """share: of misses, for each; None: where sum and count are within their intervals, which hold together."""
    sums, counts = query.parts
    least, most = (float(units * query.measure.step) for units in query.measure.bounds)
    if share is None:
        made = _quotients(found[sums.name], found[counts.name])
    else:
        made = _of_both(query, released[sums.name], released[counts.name], share)
    lower, upper = (np.clip(ends, least, most) for ends in made)
    empty = made.lower > made.upper
    return Ends(np.where(empty, least, lower), np.where(empty, most, upper))


def _quotients(sums: Ends, counts: Ends) -> Ends:
    """All quotients of a sum and a count, at least 1, within their intervals."""
    least, most = np.maximum(counts.lower, 1.0), np.maximum(counts.upper, 1.0)
    lower = np.where(sums.lower >= 0, sums.lower / most, sums.lower / least)
    upper = np.where(sums.upper >= 0, sums.upper / least, sums.upper / most)
    return Ends(lower - ULP * np.abs(lower), upper + ULP * np.abs(upper))


def _of_both(query: Average, sums: Answer, counts: Answer, share: float) -> Ends:
    """The quotients that a test of each accepts, which depends on the true count alone (docs/theory/intervals.md, 6): from
    `CLEAR` deviations on Fieller's, missed with 9/10 of the share, within the quotients of what both may be, with the rest;
    below, where Fieller's set has no end, those of a sum and a count within margins of one level."""
    parts = query.parts
    of_count = np.broadcast_to([float(v) for v in parts[1].grid_variances(counts.keys)], len(counts.keys))
    clear = CLEAR * np.sqrt(of_count)

    def ends(missed: float) -> tuple[Ends, Ends]:
        return ends_of_numbers(parts[0], sums, missed), ends_of_numbers(parts[1], counts, missed)

    few_sums, few = ends(-math.expm1(math.log1p(-share) / 2))
    many_sums, many = ends((1 - OF_FIELLER) * share / 2)
    below = _quotients(few_sums, Ends(few.lower, np.minimum(few.upper, clear)))
    beyond = _quotients(many_sums, Ends(np.maximum(many.lower, clear), many.upper))
    own = _fieller(query, sums, counts, OF_FIELLER * share)
    is_few, is_many = few.lower < clear, many.upper >= clear
    return Ends(
        np.minimum(np.where(is_few, below.lower, np.inf), np.where(is_many, np.maximum(own.lower, beyond.lower), np.inf)),
        np.maximum(np.where(is_few, below.upper, -np.inf), np.where(is_many, np.minimum(own.upper, beyond.upper), -np.inf)),
    )


def _fieller(query: Average, sums: Answer, counts: Answer, share: float) -> Ends:
    """The t for which `(s - t c)^2 <= k^2 (v_s + t^2 v_c)`: the noise of `s - t c`, t the true average, is within k of its
    deviations with probability 1 - share (docs/theory/intervals.md, 6); everything where the count may be 0."""
    of_sum, of_count = (
        np.broadcast_to([float(v) for v in part.grid_variances(answer.keys)], len(answer.keys))
        for part, answer in zip(query.parts, (sums, counts), strict=True)
    )
    k = two_gaussians(of_sum, of_count, share)
    s, c = sums.values, counts.values
    v, w = of_sum * float(query.measure.step) ** 2, of_count
    square = c**2 - k**2 * w
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(s**2 * k**2 * w + c**2 * k**2 * v - k**4 * v * w, 0.0))
        lower, upper = (s * c - root) / square, (s * c + root) / square
    known = (square > 0) & (c > 0)
    slack = 1e-9 * (np.abs(lower) + np.abs(upper))
    return Ends(np.where(known, lower - slack, -np.inf), np.where(known, upper + slack, np.inf))


def two_gaussians(one: Floats, other: Floats, share: float) -> Floats:
    """k, (G,), with `P(|a y + b z| > k sqrt(a^2 v + b^2 w)) <= share` for all a and b, y and z discrete Gaussians of the
    parameters v and w in steps: by cells, or by moments.

    one, other: v and w, (G,). By cells: half a step each leads at most `sqrt(1/v + 1/w) / 2` deviations on.
    """
    from scipy.stats import norm

    apart = 1 / one + 1 / other
    by_cells = norm.isf(share * np.exp(-apart / 8) / 2) + np.sqrt(apart) / 2
    return np.asarray(np.minimum(by_cells, math.sqrt(2 * math.log(2 / share))) * ROOMY)


# Noisy answers of several margins of one table, made consistent: state x sector beside county x sector, by least squares.
#
# Margins of one table that share a hierarchy (state x sector beside county x sector, and beside counties alone): least
# squares over all of them, with exact variances.
#
# A margin keeps a level of the hierarchy and some of the axes, and sums the others out. Along the axes everything is diagonal
# in residuals (what a table adds to its own margins), and for each set of axes the residuals of all margins that keep it are
# answers of one hierarchy, solved in two passes. So nothing is larger than the tables themselves;
# docs/theory/record_design.md, 5.


Margin = tuple[int, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class MarginLattice(Immutable):
    """A hierarchy of n groups, crossed with axes of public sizes.

    A margin is `(level, axes)`, a level of the hierarchy and the names of the axes that are kept, in the order of `sizes`. Its
    answers have shape (groups of the level, size of each kept axis); its precision is 1 / variance of the noise in each of
    them, one number, or one for each group of the level. Every record is counted in one cell of every margin.

    >>> lattice = MarginLattice(Hierarchy.of(["NJ", "NJ", "NY"], ["Essex", "Bergen", "Kings"]), {"sector": 2})
    >>> precisions = {(0, ("sector",)): 1.0, (1, ("sector",)): 1.0, (1, ()): 1.0}
    >>> lattice.variances(precisions)[1, ("sector",)].round(3)
    array([0.467, 0.467, 0.375])
    """

    tree: Hierarchy
    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        if not isinstance(self.tree, Hierarchy) or not isinstance(self.sizes, Mapping) or len(self.sizes) > MOST_HIERARCHY_AXES:
            raise InvalidProblem(f"tree, sizes: give a Hierarchy, and the sizes of at most {MOST_HIERARCHY_AXES} axes by name.")
        assign(self, sizes={str(name): count(size, f"sizes[{name!r}]") for name, size in self.sizes.items()})

    def shape(self, margin: Margin) -> tuple[int, ...]:
        """The shape of the answers of a margin; InvalidProblem where there is no such margin."""
        level, axes = margin
        order = [name for name in self.sizes if name in axes]
        if not isinstance(level, int) or not 0 <= level < self.tree.depth or list(axes) != order:
            raise InvalidProblem(
                f"margin: {shown(margin)}; give a level from 0 to {self.tree.depth - 1} and some of the axes "
                f"{list(self.sizes)}, in this order.",
                value=margin,
            )
        rows = self.tree.slices[level]
        return (rows.stop - rows.start, *(self.sizes[name] for name in axes))

    def estimate(
        self, answers: Mapping[Margin, Any], precisions: Mapping[Margin, Any], wanted: Sequence[Margin] | None = None
    ) -> dict[Margin, Numbers]:
        """Consistent answers of least weighted squares over all margins that were answered.

        They agree in all sums that they share. Fractions in, Fractions out. Linear: noise of mean 0 leaves them without bias,
        and computed from private answers alone, they are as private as these. wanted: margins that the answered ones
        determine, by default those that were answered.
        """
        weights = self._weights(precisions)
        tables = {margin: self._table(margin, answers.get(margin)) for margin in weights}
        wanted = list(weights) if wanted is None else list(wanted)
        parts = {axes: self._residual(axes, weights, tables) for axes in _below(wanted)}
        return {margin: self._assembled(margin, {axes: values for axes, (values, _) in parts.items()}) for margin in wanted}

    def variances(self, precisions: Mapping[Margin, Any], wanted: Sequence[Margin] | None = None) -> dict[Margin, Numbers]:
        """The variances of the same, for each group of the margin's level: all its cells have the same one."""
        weights = self._weights(precisions)
        wanted = list(weights) if wanted is None else list(wanted)
        parts = {axes: self._forest(axes, weights) for axes in _below(wanted)}
        return {margin: self._spread(margin, parts) for margin in wanted}

    def _weights(self, precisions: Mapping[Margin, Any]) -> dict[Margin, Numbers]:
        weights = {margin: np.broadcast_to(np.asarray(given), self.shape(margin)[:1]) for margin, given in precisions.items()}
        if not weights or not all(np.all(own > 0) for own in weights.values()):
            raise InvalidProblem("precisions: give a positive number for each margin that was answered, at least one.")
        return weights

    def _table(self, margin: Margin, given: Any) -> Numbers:
        table = np.asarray(given)
        if given is None or table.shape != self.shape(margin):
            raise InvalidProblem(f"answers[{margin}]: shape {table.shape}; give {self.shape(margin)} numbers.")
        return table

    def _size(self, axes: Sequence[str]) -> int:
        return math.prod(self.sizes[name] for name in axes)

    def _telling(self, axes: tuple[str, ...], margins: Sequence[Margin]) -> list[Margin]:
        """The margins that keep all these axes; InvalidProblem where there are none."""
        telling = [margin for margin in margins if set(axes) <= set(margin[1])]
        if not telling:
            raise InvalidProblem(f"wanted: no answer tells the axes {list(axes)} apart; ask for a margin that keeps them.")
        return telling

    def _forest(self, axes: tuple[str, ...], weights: Mapping[Margin, Numbers]) -> tuple[Hierarchy, Numbers]:
        """The hierarchy down to the finest level that tells these axes, and the precision of their residual in each group:
        summing out an axis of n cells makes the noise n times as large."""
        telling = self._telling(axes, list(weights))
        end = self.tree.slices[max(level for level, _ in telling)].stop
        precisions = np.zeros(end, dtype=np.result_type(*(weights[margin] for margin in telling), np.float64))
        for level, kept in telling:
            precisions[self.tree.slices[level]] += weights[level, kept] / self._size([a for a in kept if a not in axes])
        return Hierarchy(self.tree.parents[:end], self.tree.labels[:end]), precisions

    def _residual(
        self, axes: tuple[str, ...], weights: Mapping[Margin, Numbers], tables: Mapping[Margin, Numbers]
    ) -> tuple[Numbers, Numbers]:
        """The residual of some axes in every group of the hierarchy, from all margins that tell it, and its precisions."""
        forest, precisions = self._forest(axes, weights)
        merged = np.zeros(
            (forest.size, *(self.sizes[name] for name in axes)), dtype=np.result_type(precisions, *tables.values())
        )
        across = (slice(None),) + (None,) * len(axes)
        for level, kept in self._telling(axes, list(weights)):
            rows, out = self.tree.slices[level], [name for name in kept if name not in axes]
            own = weights[level, kept] / self._size(out) / precisions[rows]
            merged[rows] += own[across] * _contrasts(_summed(tables[level, kept], [kept.index(name) for name in out]))
        return forest.estimate(merged, precisions), precisions

    def _assembled(self, margin: Margin, parts: Mapping[tuple[str, ...], Numbers]) -> Numbers:
        """A margin from its residuals, each spread evenly over the axes that it lacks."""
        level, kept = margin
        total: Any = 0
        for axes in _subsets(kept):
            part = parts[axes][self._rows(level, parts[axes])]
            missing = [place + 1 for place, name in enumerate(kept) if name not in axes]
            total = total + np.expand_dims(part, tuple(missing)) / self._size([name for name in kept if name not in axes])
        return np.asarray(total)

    def _spread(self, margin: Margin, parts: Mapping[tuple[str, ...], tuple[Hierarchy, Numbers]]) -> Numbers:
        level, kept = margin
        total: Any = 0
        for axes in _subsets(kept):
            forest, precisions = parts[axes]
            own = forest.variances(precisions)
            lost = self._size(axes) * self._size([name for name in kept if name not in axes]) ** 2
            total = total + own[self._rows(level, own)] * math.prod(self.sizes[name] - 1 for name in axes) / lost
        return np.asarray(total)

    def _rows(self, level: int, known: Numbers) -> slice:
        rows = self.tree.slices[level]
        if rows.stop > len(known):
            raise InvalidProblem(f"wanted: level {level} of the hierarchy is not determined; answer a margin of that level.")
        return rows


def _subsets(axes: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(axes) + 1) for chosen in combinations(axes, size)]


def _below(margins: Sequence[Margin]) -> list[tuple[str, ...]]:
    """The sets of axes whose residuals make up some margins."""
    return list(dict.fromkeys(axes for _, kept in margins for axes in _subsets(kept)))


def _summed(table: Numbers, places: Sequence[int]) -> Numbers:
    return np.asarray(table.sum(axis=tuple(place + 1 for place in places))) if places else table


def _contrasts(table: Numbers) -> Numbers:
    """What a table adds to its own margins along every axis but the first."""
    for axis in range(1, table.ndim):
        table = table - table.sum(axis=axis, keepdims=True) / table.shape[axis]
    return table


@step("consistent margins")
def consistent_margins(answers: Sequence[Answer], nested: Sequence[str] = ()) -> tuple[Answer, ...]:
    """Make answers agree in all sums that they share, by least weighted squares. They come with their variances, and how far
    they were moved (`post_processing`).

    List complete keys, because what no group counts is taken for noise. Post-processing: as private as what it is computed
    from. InvalidProblem where combinations are missing, or cells of a group have noise of their own.

    Parameters
    ----------
    answers : each lists all combinations of its groups and labels, and every record is in one group of each.
    nested
        the names of key columns of which each divides the one before (state, county); an answer has the first few of them.
        All its other key columns cross them.

    >>> from designer.tables import Answer
    >>> one = Answer("a", ("sex",), (("f",), ("m",)), np.array([3.0, 5.0]), np.array([1.0, 1.0]))
    >>> two = Answer("b", (), ((),), np.array([11.0]), np.array([2.0]))
    >>> [part.values.tolist() for part in consistent_margins([one, two])]
    [[3.75, 5.75], [9.5]]
    """
    known = _Layout.of(answers, tuple(nested))
    placed = [known.placed(answer) for answer in answers]
    margins = [margin for margin, _, _ in placed]
    if len(set(margins)) < len(margins):
        raise InvalidProblem("answers: two are of the same key columns; give one of each, or their weighted mean.")
    values = {
        margin: known.table(margin, answer.values, places) for answer, (margin, places, _) in zip(answers, placed, strict=True)
    }
    precisions = {margin: 1 / variances for margin, _, variances in placed}
    made, spread = known.lattice.estimate(values, precisions), known.lattice.variances(precisions)
    return tuple(
        answer.consistent(made[margin].ravel()[places], np.repeat(spread[margin], made[margin][0].size)[places])
        for answer, (margin, places, _) in zip(answers, placed, strict=True)
    )


Places = NDArray[np.intp]


@dataclass(frozen=True)
class _Layout:
    """Where the groups of answers stand in the tables of a lattice."""

    lattice: MarginLattice
    nested: tuple[str, ...]
    groups: tuple[dict[Labels, int], ...]  # of each level of the hierarchy, everybody first
    labels: dict[str, dict[str, int]]  # of each axis

    @classmethod
    def of(cls, answers: Sequence[Answer], nested: tuple[str, ...]) -> _Layout:
        paths: dict[Labels, None] = {}
        labels: dict[str, dict[str, int]] = {}
        for answer in answers:
            _require_noise(answer)
            _depth(answer, nested)
            here = [place for place, name in enumerate(answer.columns) if name in nested]
            paths.update(dict.fromkeys(tuple(key[place] for place in here) for key in answer.keys))
            for place, name in enumerate(answer.columns):
                if name not in nested:
                    own = labels.setdefault(name, {})
                    for key in answer.keys:
                        own.setdefault(key[place], len(own))
        every = sorted({path[:depth] for path in paths for depth in range(len(path) + 1)}, key=lambda path: (len(path), path))
        where = {path: i for i, path in enumerate(every)}
        parents = np.array([where[path[:-1]] if path else -1 for path in every])
        tree = Hierarchy(parents, tuple("/".join(("all", *path)) for path in every))
        groups = tuple(
            {path: i - rows.start for i, path in enumerate(every) if len(path) == level}
            for level, rows in enumerate(tree.slices)
        )
        return cls(MarginLattice(tree, {name: len(own) for name, own in labels.items()}), nested, groups, labels)

    def placed(self, answer: Answer) -> tuple[Margin, Places, Floats]:
        """The margin of an answer, the place of each of its keys in the margin's table, and a variance for each group."""
        level = _depth(answer, self.nested)
        margin = (level, tuple(name for name in self.labels if name in answer.columns))
        inner, axes = [answer.columns.index(name) for name in self.nested[:level]], [answer.columns.index(n) for n in margin[1]]
        shape = self.lattice.shape(margin)
        cells = [
            (self.groups[level][tuple(key[i] for i in inner)], *(self.labels[answer.columns[i]][key[i]] for i in axes))
            for key in answer.keys
        ]
        places = np.ravel_multi_index(tuple(np.array(cells).T), shape)
        if len(places) != np.prod(shape):
            raise InvalidProblem(
                f"answers: {answer.name!r} has {len(places)} groups of {np.prod(shape)} combinations; list all of them.",
                value=answer.name,
            )
        assert answer.variances is not None
        variances = self.table(margin, answer.variances, places).reshape(shape[0], -1)
        if (variances != variances[:, :1]).any():
            raise InvalidProblem(
                f"answers: {answer.name!r} has noise that differs within a group of {list(self.nested)}; give it one variance.",
                value=answer.name,
            )
        return margin, places, variances[:, 0]

    def table(self, margin: Margin, values: Floats, places: Places) -> Floats:
        """Numbers by key as the table of a margin."""
        table = np.empty(len(places))
        table[places] = values
        return table.reshape(self.lattice.shape(margin))


def _require_noise(answer: Answer) -> None:
    if not isinstance(answer, Answer) or answer.variances is None or not len(answer.keys):
        raise InvalidProblem(
            f"answers: {shown(getattr(answer, 'name', answer))} has no variances, or no groups; give sums and counts."
        )


def _depth(answer: Answer, nested: Sequence[str]) -> int:
    """How many of the nested columns an answer has: the first few."""
    depth = sum(name in nested for name in answer.columns)
    if not set(nested[:depth]) <= set(answer.columns):
        raise InvalidProblem(
            f"nested: {answer.name!r} has {list(answer.columns)}, which are not the first few of {list(nested)}.",
            value=answer.name,
        )
    return depth
