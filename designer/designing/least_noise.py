"""The limit: a loss that no mechanism can beat, and for whom that is proven (docs/theory/least_noise.md).

Additive noise that keeps a pure promise has, along every direction, at least the variance of the geometric mechanism (T2, T3):
`u' S^+ u <= 2 sinh^2(b/2)` for its covariance S and every protected difference u with budget b. So the ellipsoid program with
those lengths, evaluated from below, bounds its squared errors, and one coordinate after the other its absolute ones. Where the
number of records has no bound, no mechanism of any kind does better at its worst database (T1). Under Gaussian promises the
inequality of Hammersley, Chapman and Robbins takes the place of T3, under (b, delta) the least variance of one number (T13). It
also speaks of unbiased mechanisms that are not
additive, at databases from which every protected change is possible; with fewer public records these may need less noise. Of
one count among a public number of records the least of unbiased mechanisms is known (T10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from designer.base.arrays import Floats
from designer.base.display import printed_below
from designer.base.progress import step
from designer.certificate.change_norms import ByLength
from designer.certificate.guarantee import bounded
from designer.certificate.implicit_rows import is_described
from designer.designing.measured import Coordinates, moving_coordinates, once
from designer.designing.repair import CHUNK, ProtectedPairs, changes_of_few_records, lengths_of, rounding_of
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.interface import CONFIDENCE, Mechanism
from designer.problem.relation import Block, Indices, Relation, finite_pairs, graph_components
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.problem import Problem
from solvers.work import one_thread

PAGE = "docs/theory/least_noise.md"
THEOREMS = {
    "T2": f"every answer alone needs the geometric mechanism ({PAGE}, section 2)",
    "T3": f"every direction needs the geometric mechanism ({PAGE}, section 3)",
    "T4": f"independent geometric noise attains it ({PAGE}, section 4)",
    "T6": f"linear programs bound the noise on every coset ({PAGE}, section 6)",
    "T13": f"every direction needs the least noise of one number under (epsilon, delta) ({PAGE}, section 13)",
    "Hammersley-Chapman-Robbins": "divergences bound every direction (docs/theory/ellipsoid.md, section 7)",
}
CUT = f"geometric noise that is cut to the counts from 0 to {{}} attains it ({PAGE}, section 11)"
LOOSE = "Part of the distance is the limit's own: at ε = 1 a total and its two cells provably need 5 % more than it says."
# Losses are sums of thousands of positive floats, such as the moments of lattice noise.
LOSS_ROUNDING = 1e-9
# Six standard errors of a mean of squares whose kurtosis is 25; over this many draws, its root is a part of the loss.
SIMULATED = 36 * 25.0
# Noise in answers that were rounded to a grid, which may move a little less than the answers that were asked.
ON_GRID = 1 - 1e-6
# Multipliers for nested counts this near to what they reach: the bound is off by the square of what they are off.
ROUGH = 1e-4
# Of the least variance under (b, delta): nodes of its integral, tails that are summed, budgets that are looked at one by one,
# and what floats may be off by.
NODES, MOST_TAILS, MOST_BUDGETS, BELOW = 128, 2**12, 256, 1 - 1e-9
# A second or two of linear programs.
PROGRAM_ROWS = 150_000


@dataclass(frozen=True)
class Limit:
    """`value <=` the loss of all additive noise that keeps the promise, at any number of records from `least_records` on.

    gap: how far the proven value is from the program's own optimum, relative to it. least_records: from this number on every
    protected change is possible, each from some database; with fewer, noise that hides those that are may lose less. records:
    from this number of records on there are databases from which every protected change is possible. theorem: a key of
    `THEOREMS`. every_mechanism: whether no mechanism at all, biased or not, beats the value at its worst database, which holds
    where the number of records has no bound. unbiased: a loss that no unbiased mechanism beats at databases from which every
    protected change is possible; None where fewer records are public, and for absolute loss. cut: of one count, the public
    number of records at which `unbiased` is the least worst loss of unbiased mechanisms, and attained; None elsewhere.
    """

    value: float
    gap: float
    least_records: int
    records: int
    theorem: str
    every_mechanism: bool
    unbiased: float | None
    cut: int | None = None
    tree: bool = False

    @property
    def reason(self) -> str:
        """What the value rests on: the theorem, by its name and in words."""
        return f"{self.theorem}, {THEOREMS[self.theorem]}"

    @property
    def scope(self) -> tuple[str, ...]:
        """For whom the value, and the loss of unbiased mechanisms, are proven: one sentence each."""
        few = f" from {self.least_records} on" if self.least_records > 1 else ""
        additive = (
            f"No noise added to the answers with this guarantee loses less, at any number of records{few}; biased designs may."
        )
        return (additive, self._others(), *self._fair(), *([LOOSE] if self.tree else []))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for readers of JSON."""
        return {"value": self.value, "theorem": self.theorem, "reason": self.reason, "scope": list(self.scope)}

    def _others(self) -> str:
        if self.every_mechanism:
            return "If the number of records is unbounded, no mechanism at all, biased or not, has a smaller worst-case loss."
        return "At the public number of records, mechanisms that are not additive may lose less."

    def _fair(self) -> tuple[str, ...]:
        if self.unbiased is None:
            return ()
        if self.cut is not None:
            least = f"No unbiased mechanism, of any kind, loses less than {printed_below(self.unbiased)} at its worst database"
            return (f"{least} of {self.cut} record{'s' * (self.cut > 1)}; {CUT.format(self.cut)}.",)
        where = (
            f"databases from which every protected change is possible; from {self.records} records on there are some"
            if self.records
            else "any database"
        )
        return (f"No unbiased mechanism, of any kind, loses less than {printed_below(self.unbiased)} at {where}.",)


@step("the least loss of any noise")
@one_thread()
def limit(problem: Problem, tolerance: float = 1e-6, rows: int = PROGRAM_ROWS, closed: bool = False) -> Limit | None:
    """The limit of a problem; None for absolute loss under a Gaussian promise or (b, delta), for budgets of 0
    that would need infinite noise, for queries that are not written out, for budgets per distance of which many changes of few
    records bear one, in many dimensions for sets too large to write out, and where so few records are public that some
    protected change is impossible.

    Of budgets per distance the limit sees the changes of few records, and it does not speak of unbiased mechanisms. Of sets of
    more than `WRITTEN_OUT` numbers it sees the worst partner of every point only: true, and less sharp.
    tolerance: of the ellipsoid program. rows: how many inequalities the linear programs of T6 may have together, where all
    differences have a common unit and few dimensions; 0 leaves them out. closed: nothing but closed forms, at once; None where
    there is none.

    >>> from designer import Workload, metrics
    >>> found = limit(Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0)))
    >>> round(float(found.value * 2 * np.sinh(0.5) ** 2), 6), found.theorem
    (1.0, 'T4')
    """
    if problem.loss == "absolute" and problem.notion != "pure":
        return None
    if isinstance(problem.relation, ByLength) and not problem.relation.listed:
        return None
    if _is_tree(problem):
        return None if closed else _limit_of_tree(problem, tolerance)
    if is_described(problem.workload, problem.relation):
        return None
    if isinstance(problem.relation, InvariantDistance):
        if closed:
            return None
        return _limit_per_distance(problem, problem.relation, tolerance, rows)
    coordinates = moving_coordinates(problem)
    pairs = ProtectedPairs.of(problem, coordinates)
    if closed and not _is_closed(problem, pairs):
        return None
    return _limit_of(problem, coordinates, pairs, tolerance, 0 if closed else rows)


def least_half_widths(problem: Problem, confidence: float = CONFIDENCE) -> Floats | None:
    """For each answer, (K,), what `t` with `P(|noise| <= t) >= confidence` is never below for additive noise that keeps the
    promise (T11); None for the notion "approximate", for queries that are not written out, for budgets per distance, and where
    so few records are public that some protected change is impossible.

    Under a pure promise geometric noise attains it on whole multiples of a difference; 0 for what no protected change moves.

    >>> from designer import Workload, metrics
    >>> least_half_widths(Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0))).round(5).tolist()
    [2.5]
    """
    relation, few = problem.relation, problem.records
    listed = not isinstance(relation, ByLength) or relation.listed
    if problem.notion == "approximate" or isinstance(relation, InvariantDistance) or not listed:
        return None
    if is_described(problem.workload, relation) or (few is not None and few < records_for_each_change(relation)):
        return None
    coordinates = moving_coordinates(problem)
    reach = np.zeros(len(problem.costs))
    if not coordinates.heard.any():
        return reach
    pairs = ProtectedPairs.of(problem, coordinates)
    if pairs is None or not (pairs.budgets > 0).all():
        return None
    widths = _half_widths(pairs.budgets, problem.notion, 1 - confidence)
    for chunk in pairs.chunks():
        moves = np.maximum(np.abs(pairs.differences(chunk)) - pairs.slack, 0.0)
        reach = np.maximum(reach, (moves * widths[chunk, None]).max(axis=0))
    return reach * ON_GRID


def _half_widths(budgets: Floats, notion: str, beyond: float) -> Floats:
    """The same for a difference of 1 with these budgets, (m,), where noise is farther off with a chance of at most `beyond`."""
    less = 1 - 1e-12  # what is rounded up to the next whole number errs to the smaller one
    if notion == "zcdp":
        apart = (1 - beyond) * math.log(2 / beyond - 1)
        return np.asarray(np.maximum(np.ceil(math.sqrt(2 * apart) / budgets * less) - 1, 0.0) / 2)
    even = 2 * np.ceil(-math.log(beyond) / budgets * less)
    odd = 2 * np.ceil(-np.log(beyond * (1 + np.exp(-budgets)) / 2) / budgets * less) - 1
    return np.asarray((np.maximum(np.minimum(even, odd), 1.0) - 1) / 2)


def _is_closed(problem: Problem, pairs: ProtectedPairs | None) -> bool:
    """Whether the limit is that of every answer alone."""
    return problem.notion != "zcdp" and pairs is not None and (problem.loss == "absolute" or pairs.move_one_answer_each)


def _limit_per_distance(problem: Problem, relation: InvariantDistance, tolerance: float, rows: int) -> Limit | None:
    near = changes_of_few_records(relation)
    if near is None:
        return None
    part = replace(problem, relation=near)
    coordinates = moving_coordinates(part)
    pairs = ProtectedPairs.of(part, coordinates)
    if pairs is not None:
        pairs = replace(pairs, budgets=pairs.budgets * lengths_of(near, relation.distance)[pairs.left])
    found = _limit_of(part, coordinates, pairs, tolerance, rows)
    return found and replace(found, unbiased=None)


def _is_tree(problem: Problem) -> bool:
    """Whether many nested counts are asked for, and single records appear with one pure budget."""
    from designer.designing.hierarchy import has_best_tree

    simple = problem.relation.simple
    if simple is None or simple.change is not None or len(simple.appear) != 1:
        return False
    return problem.notion == "pure" and problem.loss == "squared" and simple.appear[0] > 0 and has_best_tree(problem)


def _limit_of_tree(problem: Problem, tolerance: float) -> Limit | None:
    everyone, each = problem.records is None, records_for_each_change(problem.relation)
    if not everyone and problem.records < each:  # type: ignore[operator]
        return None
    least = records_for_every_change(problem.relation)
    found = once(problem, ("together", tolerance), lambda: _nested(problem, tolerance))
    unbiased = found.value / 2 if everyone or problem.records >= least else None  # type: ignore[operator]
    return Limit(found.value, found.gap, each, least, found.theorem, everyone, unbiased, tree=True)


def _nested(problem: Problem, tolerance: float) -> _Bound:
    """`_joint` of nested counts, in passes over the nodes."""
    from designer.designing.hierarchy import own_tree
    from solvers.programs.nested_counts import tree_bound
    from solvers.programs.trees import with_equal_leaves_merged

    counts, simple = own_tree(problem), problem.relation.simple
    assert counts is not None and simple is not None
    costs = counts.node_costs(problem.costs)
    tree, place = with_equal_leaves_merged(counts.tree, costs)
    weights = np.zeros(len(tree.parent))
    weights[place] = costs
    found = tree_bound(tree, weights, max(tolerance, ROUGH))
    root = float(root_of_divergence(np.array([float(simple.appear[0])]), "pure")[0])
    value = 2 * (found.value / root) / root * (1 - (len(costs) + 8) * 2.0**-52)
    return _Bound(value, max(0.0, 1 - found.value / found.reached), "T3", problem.costs)


def _limit_of(
    problem: Problem, coordinates: Coordinates, pairs: ProtectedPairs | None, tolerance: float, rows: int
) -> Limit | None:
    everyone = problem.records is None
    if not coordinates.heard.any():
        return Limit(0.0, 0.0, 0, 0, "T2", everyone, 0.0)
    each = records_for_each_change(problem.relation)
    if pairs is None or not (pairs.budgets > 0).all() or (not everyone and problem.records < each):  # type: ignore[operator]
        return None
    least = records_for_every_change(problem.relation)
    closed = _is_closed(problem, pairs)
    joint = partial(_joint, problem, coordinates, pairs, tolerance)  # "auto" asks for it with linear programs and without
    first = _alone(problem, pairs) if closed else once(problem, ("together", tolerance), joint)
    found = _sharpened(problem, pairs, first, rows) if first.theorem in ("T2", "T3") else first
    if (cut := _records_of_one_count(problem, pairs)) is not None:
        unbiased = first.value * _part_of_cut_noise(cut, float(pairs.budgets.min()))
        return Limit(found.value, found.gap, each, least, found.theorem, everyone, unbiased, cut)
    part = 2.0 if problem.notion == "pure" else 1.0
    unknown = problem.loss == "absolute" or problem.delta is not None or (not everyone and problem.records < least)  # type: ignore[operator]
    return Limit(found.value, found.gap, each, least, found.theorem, everyone, None if unknown else first.value / part)


def _records_of_one_count(problem: Problem, pairs: ProtectedPairs) -> int | None:
    """The public number of records, where what is asked is one count of them, up to its unit and an offset, under a pure
    promise to single records that change (T10); None elsewhere."""
    relation, records = problem.relation, problem.records
    if problem.notion != "pure" or problem.loss == "absolute" or records is None or not float(records).is_integer():
        return None
    if isinstance(relation, ChangeRelation):
        protected = relation.changes[np.isfinite(relation.budgets)]
        replaced = bool((protected.sum(axis=1) == 0).all() and (np.abs(protected).sum(axis=1) == 2).all())
    else:
        replaced = relation.single_records and not relation.absence
    answers = problem.workload.dense()
    one = len(answers) == 1 and len(np.unique(answers)) == 2
    return int(records) if replaced and one and pairs.move_one_answer_each else None


def _part_of_cut_noise(records: int, budget: float) -> float:
    """The largest variance of cut geometric noise over that of uncut noise, rounded down (T10)."""
    less = math.exp(-budget * (records // 2)) / (2.0 if records % 2 else 1 + math.exp(-budget))
    return (1 - less) * (1 - 1e-14)


@dataclass(frozen=True)
class _Bound:
    """A proven value, its gap, and the theorem. weights: (K,), of the answers' losses in the sum that was bounded."""

    value: float
    gap: float
    theorem: str
    weights: Floats


def _sharpened(problem: Problem, pairs: ProtectedPairs, first: _Bound, rows: int) -> _Bound:
    """A better bound by linear programs, where there is one."""
    from designer.designing.staircase import bound_by_programs

    power: Literal[1, 2] = 1 if problem.loss == "absolute" else 2
    mixtures = [first.weights]
    if problem.loss == "max":  # the largest error is at least any mean of all errors
        mixtures.append((first.weights + problem.costs / (len(problem.costs) * (1 + 1e-12))) / 2)
    tried = [bound_by_programs(pairs, weights, power, first.value, rows // len(mixtures)) for weights in mixtures]
    found = max((bound for bound in tried if bound is not None), key=lambda bound: bound.value, default=None)
    if found is None or found.value <= first.value:
        return first
    return replace(first, value=found.value, gap=max(0.0, 1 - found.value / found.best), theorem="T6")


def part_of_loss(least: Limit, problem: Problem, mechanism: Mechanism, loss: float) -> float:
    """The limit over the loss of a mechanism, at most 1; raises `UntrueBound` where the limit is above the loss by more than
    rounding the answers to their grid, adding the loss up in floats, or simulating it explains."""
    allowed = LOSS_ROUNDING * loss
    if draws := mechanism.error_source.draws:
        allowed += loss * math.sqrt(SIMULATED / draws)
    if least.value > loss and isinstance(mechanism, AdditiveMechanism):
        allowed += rounding_of(problem, mechanism, on_grid=True)
    return bounded("the loss of the problem", loss, least.value, least.reason, allowed).lower_bound / loss


def _alone(problem: Problem, pairs: ProtectedPairs) -> _Bound:
    """What every answer needs alone, rounded down: `max |u_k| / sinh b`, or the largest `u_k^2 / (2 sinh^2(b/2))`."""
    absolute = problem.loss == "absolute"
    reach = np.zeros(len(problem.costs))
    with np.errstate(over="ignore"):
        pure = np.sinh(pairs.budgets) if absolute else np.sqrt(2) * np.sinh(pairs.budgets / 2)
        lengths = pure * (1 + 1e-14) if problem.delta is None else _lengths(problem, pairs.budgets)
    for chunk in pairs.chunks():
        moves = np.abs(pairs.differences(chunk)) - pairs.slack
        reach = np.maximum(reach, (moves / lengths[chunk, None]).max(axis=0))
    parts = problem.costs * (reach if absolute else reach**2)
    value = float(parts.max() if problem.loss == "max" else parts.sum()) * (1 - (len(reach) + 8) * 2.0**-52)
    theorem = "T13" if problem.delta is not None else "T4" if pairs.move_one_answer_each else "T2"
    return _Bound(value, 0.0, theorem, problem.costs)


def _lengths(problem: Problem, budgets: Floats) -> Floats:
    """Bounds of `sqrt(u' S^+ u)`, (m,), for the covariance S of noise that hides u at these budgets, rounded up."""
    if problem.delta is not None:
        kinds, places = np.unique(budgets, return_inverse=True)
        if len(kinds) > MOST_BUDGETS:  # a larger budget needs less noise
            ends = np.linspace(0, len(kinds) - 1, MOST_BUDGETS).round().astype(np.intp)
            places, kinds = np.searchsorted(kinds[ends], budgets), kinds[ends]
        with np.errstate(divide="ignore"):
            return np.asarray(np.array([least_variance(b, problem.delta) for b in kinds.tolist()]) ** -0.5)[places.ravel()]
    return root_of_divergence(budgets, problem.notion) * (np.sqrt(0.5) * (1 + 1e-15) if problem.notion == "pure" else 1.0)


def least_variance(budget: float, delta: float) -> float:
    """A variance that no real noise has less than of which a shift by 1 is (budget, delta), rounded down (T13).

    >>> round(least_variance(1.0, 0.01) / 1.516297, 4)
    0.9998
    """
    ratio = math.exp(-budget)
    left, first = ratio * delta / -math.expm1(-budget), ratio * (1 - delta) / (1 + ratio)
    if not left > 0 or delta > 0.99:
        return 0.0
    count = math.ceil(math.log1p(1 / left) / budget)
    if (many := math.ceil(count / MOST_TAILS)) > 1:  # so many steps at once
        return many**2 * least_variance(many * budget, delta * math.expm1(many * budget) / math.expm1(budget) * (1 + 1e-12))
    # The kinks of the sum in t, which is convex and linear between them: tails that end for T(x) = t, or for T(1 - x) = t'.
    ends = left * np.expm1(budget * np.arange(count))
    t = np.clip(np.concatenate([ends, 1 - delta - ends / ratio, [1 - delta, first, 0.5]]), min(first, 0.5), 0.5)
    beside = np.maximum(0.0, ratio * (1 - delta - t))
    (sums, moments), (other, others) = _sums_of_tails(t, ratio, delta), _sums_of_tails(beside, ratio, delta)
    x = np.linspace(0.0, 0.5, NODES + 1)
    least = np.array([float((place * sums + moments + (1 - place) * other + others).min()) for place in x])
    return float(np.trapezoid(4 * least, x)) * BELOW  # concave: chords are below it


def _sums_of_tails(first: Floats, ratio: float, delta: float) -> tuple[Floats, Floats]:
    """`sum_k f_k` and `sum_k k f_k` of the tails `f_(k+1) = a (f_k - delta)` as long as they are above 0: all terms are
    positive, so that floats are right to a part of 1e-12."""
    tails, sums, moments, k = first, np.zeros_like(first), np.zeros_like(first), 0
    while (tails > 0).any():
        sums += tails
        moments += k * tails
        tails, k = np.maximum(ratio * (tails - delta), 0.0), k + 1
    return sums, moments


def _joint(problem: Problem, coordinates: Coordinates, pairs: ProtectedPairs, tolerance: float) -> _Bound:
    """The proven bound of the ellipsoid program."""
    from solvers.ellipsoids.program import minimise_maximum, minimise_trace

    lengths = _lengths(problem, pairs.budgets)
    rows = pairs.measured / lengths[:, None]
    unit = float(np.abs(rows).max()) or 1.0  # rows of budgets in the hundreds have squares that are no floats
    rows = rows / unit
    answers = coordinates.answers(problem) * np.sqrt(problem.costs)[:, None]
    weights = problem.costs
    if problem.loss == "max":
        found = minimise_maximum(rows, answers, tolerance=tolerance)
        weights = weights * found.point.query_weights / (1 + (len(answers) + 8) * 2.0**-52)
    else:
        found = minimise_trace(rows, answers.T @ answers, tolerance=tolerance)
    reached = found.value * unit * unit
    value = _proven(rows, coordinates.answers(problem), found.point.directions, pairs, np.sqrt(weights), lengths, reached)
    gap = max(0.0, 1 - value / reached) if reached > 0 else 0.0
    return _Bound(value, gap, {"pure": "T3", "approximate": "T13"}.get(problem.notion, "Hammersley-Chapman-Robbins"), weights)


def _proven(
    rows: Floats,
    answers: Floats,
    directions: Floats,
    pairs: ProtectedPairs,
    scales: Floats,
    lengths: Floats,
    reached: float,
) -> float:
    """The dual bound, from the differences of the answers themselves: each direction with the pair that reaches farthest, which
    in symmetric problems is the pair that it belongs to."""
    from solvers.ellipsoids.dual import proven_trace

    if not len(directions):
        return 0.0
    left, sizes, right = np.linalg.svd(answers * scales[:, None], full_matrices=False)
    kept = sizes > 1e-13 * sizes[0]
    frame = left[:, kept]
    turned, _, other = np.linalg.svd((directions @ right[kept].T) / sizes[kept], full_matrices=False)

    def value(farthest: Indices) -> float:
        scaled = pairs.differences(farthest) * scales
        off = np.linalg.norm(pairs.slack * scales) + 4 * 2.0**-52 * np.linalg.norm(scaled, axis=1)
        near = lengths[farthest]
        return proven_trace(scaled / near[:, None], off / near, frame, turned @ other) * (1 - 2.0**-48)

    if len(directions) == len(rows) and (own := value(np.arange(len(rows)))) >= (1 - LOSS_ROUNDING) * reached:
        return own
    return value(_farthest(rows, directions))


def _farthest(rows: Floats, directions: Floats) -> Indices:
    """For every direction the row of the largest product with it."""
    best, found = np.zeros(len(directions)), np.zeros(len(directions), dtype=np.intp)
    step = max(1, CHUNK // len(directions))
    for start in range(0, len(rows), step):
        products = np.abs(directions @ rows[start : start + step].T)
        here = products.argmax(axis=1)
        size = products[np.arange(len(directions)), here]
        found, best = np.where(size > best, start + here, found), np.maximum(size, best)
    return found


def records_for_each_change(relation: Relation) -> int:
    """The least number n such that every protected change, or its opposite, is possible from some histogram of n records: for a
    change v of several cells the sum of v-, or of v+; a record that changes is one."""
    if not isinstance(relation, ChangeRelation):
        return 1
    protected = relation.changes[np.isfinite(relation.budgets)]
    sums = [np.maximum(sign * protected, 0).sum(axis=1) for sign in (1, -1)]
    return int(np.minimum(*sums).max(initial=0))


def records_for_every_change(relation: Relation) -> int:
    """A number of records n such that some histogram of n records, and of every larger number,
    allows every protected change or its opposite.

    A record changes from i to j or back where one of the two elements has a record: a record in all elements but one of each
    component is enough, and necessary where all pairs of a component are protected. A record that appears needs none before.
    For changes v of several cells, `max over v of v-` in every cell, or the same with v+.
    """
    if isinstance(relation, ChangeRelation):
        protected = relation.changes[np.isfinite(relation.budgets)]
        return min(int(np.maximum(sign * protected, 0).max(axis=0, initial=0).sum()) for sign in (1, -1))
    elements, label = relation.size, relation.components()
    if len(label) > elements:  # the component of the origin may hold elements that no change of a record connects
        changed = (between for block in relation.blocks() if len((between := _among(block, elements)).budgets))
        label = graph_components(changed, elements)
    return elements - int(label.max()) - 1


def _among(block: Block, elements: int) -> Block:
    """The finite pairs of a block that are pairs of elements."""
    left, right = finite_pairs(block)
    both = (left < elements) & (right < elements)
    return Block(left[both], right[both], np.ones(int(both.sum())))


def root_of_divergence(budgets: Floats, notion: str) -> Floats:
    """The root of the largest chi-squared divergence that a budget allows, rounded up by 1e-12; infinite where it overflows.

    For a ratio bounded by `e^b` both ways the divergence is largest for a law on two points,
    `(e^b - 1)(1 - e^-b) = 4 sinh^2(b / 2)`; under `b^2/2`-zCDP the Renyi divergence of order 2 is at most b^2,
    and `chi^2 = e^(D_2) - 1`.
    budgets: (m,). Returns (m,). docs/theory/ellipsoid.md, section 7.
    """
    with np.errstate(over="ignore"):
        root = 2 * np.sinh(budgets / 2) if notion == "pure" else np.sqrt(np.expm1(budgets**2))
    return np.asarray(root * (1 + 1e-12))
