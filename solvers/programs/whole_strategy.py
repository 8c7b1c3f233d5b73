"""Strategies with whole-number noise: which whole-number rows A to measure, and at which rates.

Row i is measured with noise on the multiples of its step h_i, of rate w_i: `P(z h) ~ exp(-w h |z|)`, variance
`h^2 / (2 sinh^2(w h / 2))`. Feasible means `sum_i w_i |A_i d_m| <= b_m` for every change, which is linear in the rates. The
answers are the weighted least squares of what was measured, so with the precisions `p_i = 2 sinh^2(w_i h_i / 2) / h_i^2` and
`X = A' diag(p) A` answer k has the variance `q_k X^-1 q_k'`. Convex in p, not in w: what is found is a local optimum from many
starts, never worse than any of them. Derivations in docs/theory/strategies.md, section 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from solvers.programs.changes import Changes
from solvers.programs.loads import minimised
from solvers.programs.noise_costs import GaussianCost, NoiseCost
from solvers.programs.scales import minimise_scales
from solvers.programs.strategy import Strategy
from solvers.work import is_over, spend

Array = NDArray[np.float64]
Loss = Literal["squared", "absolute", "max"]

# Powers of the norms that stand in for the largest length of a change and, in the loss "max", for the largest variance.
POWERS = (8.0, 64.0, 512.0, 4096.0)
FEW, SHORT, LONG = 8, 30, 200  # steps of a descent: of every start, of those in the race, and of what is followed to its end
NEAR = 1.5  # times the least loss after a few steps, beyond which a start leaves the race
REACHED = 1e-9  # relative distance from the bound at which nothing is left to search
FAR = 3.0  # times the least loss of a start, beyond which others are not followed
OUTDONE, OUTRACED = 2.5, 1.5  # times what is reached elsewhere, beyond which starts, and the race, are in vain
AHEAD = 2  # starts that are followed to their ends
POLISHED, POLISH_STEPS = 400, 12  # rows up to which rates are polished, and how often
REWEIGHED = 10  # convex programs that weigh the answers anew, for fixed answers in other losses than the squared one
GAIN = 1e-4  # of the loss: what a further row must save
FAINT = 3e-5  # of the largest rate: below it a row is left out where it is not needed
TRIED = 4  # further rows that are tried before there is none
UNIT = 10**8  # entries that one unit of effort looks at: about a tenth of a second
OVERHEAD = 200_000  # entries that the calls of one evaluation take as long as
MOVES = 2**20  # of rows that are looked at together
WRITTEN = 10**5  # entries of the moves of rows up to which they are written out, zeros and all
LOST = 1e-7  # of a column: what others leave of one that rounding cannot tell from them
STEEP = 600.0  # a rate times a step beyond which noise is nothing that floats could tell from none
ROUNDING = 1e-12  # of the largest move of a row: how far others may be from whole numbers
MOST_WHOLE = 2.0**40  # moves of a row beyond which its step is not looked for


@dataclass
class Effort:
    """Entries that a search may still look at; they are counted as work (`solvers/work.py`), and none is left where that is
    over."""

    left: float

    def take(self, entries: float) -> None:
        """Count what is done next."""
        self.left -= entries
        spend(units=entries / (10 * UNIT))

    def share(self, part: float) -> Effort:
        """A part of what is left, to be given back by `returned`."""
        own = Effort(part * self.left)
        self.left -= own.left
        return own

    def returned(self, other: Effort) -> None:
        """What a part did not use."""
        self.left += max(other.left, 0.0)

    def steps(self, most: int, entries: float) -> int:
        """How many steps of so many entries there is effort for, at most `most`."""
        left = max(0, min(most, int(self.left / max(entries, 1.0))))
        return 0 if left and is_over() else left


@dataclass(frozen=True, eq=False)
class RateProblem:
    """What is asked: answers `Q x` (K, C) with costs v (K,), and the changes that rates are limited by."""

    workload: Array
    costs: Array
    loss: Loss
    changes: Changes

    @cached_property
    def span(self) -> Array:
        """An orthonormal basis of the changes, (C, s)."""
        return self.changes.span()

    @cached_property
    def wanted(self) -> Array:
        """The queries along it, (K, s)."""
        return np.asarray(self.workload @ self.span)

    def of_variances(self, variances: Array) -> float:
        """The loss at these variances of the answers, (K,); deviations stand in for expected absolute values."""
        if self.loss == "absolute":
            return float(self.costs @ np.sqrt(variances))
        return float(self.costs @ variances if self.loss == "squared" else (self.costs * variances).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Rates:
    """Rows A (p, C), their steps (p,), 0 on the real line, and feasible rates (p,); the loss that they reach."""

    rows: Array
    steps: Array
    weights: Array
    loss: float
    name: str

    @property
    def precisions(self) -> Array:
        """One over the variance of the noise of each row, (p,)."""
        return precision(self.weights, self.steps)[0]


def precision(weights: Array, steps: Array, noise: type[NoiseCost] = NoiseCost) -> tuple[Array, Array]:
    """One over the variance of each row, and `w` times its derivative: `2 sinh^2(w h / 2) / h^2` of Laplace noise, `w^2 / 2` on
    the real line; `1 / (h^2 v(w h^2 / 2))` of Gaussian noise."""
    power = 1 if noise is GaussianCost else 2
    cost = noise(np.ones_like(weights), power, np.minimum(steps, STEEP / np.maximum(weights, 1e-300)))
    part = cost.values(weights)
    found = 1 / (power * part)
    return found, found * (cost.pull(weights) / part)


def norm_of(values: Array, power: float) -> tuple[float, Array]:
    """The norm of that power, which is at least the largest of the values, and what its logarithm gains in each of them."""
    top = float(values.max())
    shares = (values / top) ** power
    total = float(shares.sum())
    return top * total ** (1 / power), shares / (total * np.maximum(values, 1e-300))


def spread_out(theta: Array, loads: Any, back: Any, power: float) -> tuple[Array, Array]:
    """The rates `exp(theta)` over the norm of their loads, (p,), and what the logarithm of the norm gains in each of theta.

    loads: (changes, p), and back: its transpose.
    """
    free = np.exp(np.clip(theta, -40.0, 40.0))
    worst, gains = norm_of(loads @ free, power)
    return free / worst, free * (back @ gains)


def steps_of(rows: Array, changes: Changes) -> Array:
    """The largest number of which all moves of a row are whole multiples, (p,); 0 where they are no whole numbers."""
    found = np.zeros(len(rows))
    moved = changes.matrix.data
    exact = np.abs(rows).sum() * np.abs(moved).max(initial=0.0) < MOST_WHOLE
    if exact and all((part == np.rint(part)).all() for part in (rows, moved)):
        some = changes.along(rows, slice(None, None, 1 + changes.count // 64))  # few of them often have 1
        found[np.gcd.reduce(np.abs(some).astype(np.int64), axis=1) == 1] = 1.0
    rest = np.flatnonzero(found == 0)
    at_once = max(1, MOVES // max(1, changes.count))
    for chosen in np.split(rest, range(at_once, len(rest), at_once)):
        moves = changes.along(rows[chosen])
        whole = np.rint(moves)
        top = np.abs(moves).max(axis=1, initial=0.0)
        near = (np.abs(moves - whole) <= ROUNDING * top[:, None]).all(axis=1)
        counted = np.flatnonzero((top < MOST_WHOLE) & near & whole.any(axis=1))
        found[chosen[counted]] = np.gcd.reduce(np.abs(whole[counted]).astype(np.int64), axis=1)
    return found


def _row_space(rows: Array) -> Array | None:
    """An orthonormal basis of what rows (p, s) span, (s, r), from the smaller of their Gram matrices; None where they span
    all."""
    few = len(rows) < rows.shape[1]
    gram = rows @ rows.T if few else rows.T @ rows
    values = np.linalg.eigvalsh(gram)
    if not few and values.min(initial=1.0) > 1e-10 * values.max(initial=1e-300):
        return None
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * values.max(initial=1e-300)
    return np.asarray(rows.T @ (vectors[:, kept] / np.sqrt(values[kept])) if few else vectors[:, kept])


class RowSet:
    """Rows with what a descent needs of them: how they lie in the span, and how much each change moves them."""

    def __init__(self, asked: RateProblem, rows: Array, name: str, steps: Array | None = None) -> None:
        from scipy.sparse import csr_array

        self.asked, self.rows, self.name = asked, rows, name
        self.steps = steps_of(rows, asked.changes) if steps is None else steps
        moves = csr_array(csr_array(rows) @ asked.changes.matrix)
        self.lengths: Any = csr_array(abs(moves).multiply(1.0 / asked.changes.budget[None, :])).T.tocsr()
        self._by_change: Any = self.lengths.toarray() if np.prod(self.lengths.shape) <= WRITTEN else self.lengths
        self._by_row: Any = self._by_change.T if np.prod(self.lengths.shape) <= WRITTEN else self.lengths.T.tocsr()
        along = rows @ asked.span
        basis = _row_space(along)
        self.basis, self.along, self.wanted, self.complete = asked.span, along, asked.wanted, True
        if basis is not None:
            self.basis, self.along, self.wanted = asked.span @ basis, along @ basis, asked.wanted @ basis
            off = np.abs(self.wanted @ basis.T - asked.wanted).max(initial=0.0)
            self.complete = off <= 1e-7 * max(np.abs(asked.wanted).max(initial=0.0), 1e-300)
        weighted = np.sqrt(asked.costs)[:, None] * self.wanted
        self.root = np.asarray(np.linalg.qr(weighted, mode="r"))  # of `sum_k v_k q_k' q_k`

    @classmethod
    def begun_with(cls, asked: RateProblem, rows: Array, weights: Array | None, name: str) -> tuple[RowSet, Array]:
        """The rows that some change moves, and `begun` of their rates."""
        candidates, begun = cls.of_rows(asked, rows, {name: weights})
        return candidates, begun[name]

    @classmethod
    def of_rows(cls, asked: RateProblem, rows: Array, rates: Mapping[str, Array | None]) -> tuple[RowSet, dict[str, Array]]:
        """The same for several rates of the same rows, by name."""
        moved = np.abs(asked.changes.along(rows)).max(axis=1, initial=0.0) > 0
        candidates = cls(asked, rows[moved], next(iter(rates)))
        begun = {name: candidates.begun(None if weights is None else weights[moved]) for name, weights in rates.items()}
        return candidates, begun

    @property
    def entries(self) -> float:
        """What one evaluation of loss and gradient looks at."""
        p, r = self.along.shape
        k = 0 if self.asked.loss == "squared" else len(self.wanted)
        return float(4 * p * r**2 + r**3 + k * r**2 + 4 * self.lengths.nnz + OVERHEAD)

    def worst(self, weights: Array) -> float:
        """The largest length of a change over its budget."""
        return float((self._by_change @ weights).max(initial=0.0))

    def fitted(self, weights: Array) -> Array:
        """The rates, as large as is feasible."""
        worst = self.worst(weights)
        return weights / worst if worst > 0.0 else weights

    def begun(self, weights: Array | None) -> Array:
        """These rates, as large as is feasible; where none are given, those at which the change that moves a row most moves
        every row alike."""
        if weights is not None:
            return self.fitted(weights)
        longest = self.lengths.max(axis=0).toarray().ravel()
        return self.fitted(1.0 / np.where(longest > 0.0, longest, 1.0))

    def variances(self, weights: Array) -> Array | None:
        """Of the answers, (K,); None where rounding loses them."""
        found = self._solved(precision(weights, self.steps)[0])
        return None if found is None else np.square(self.wanted @ found[0]).sum(axis=1)

    def loss(self, weights: Array) -> float:
        """The loss at feasible rates; infinite where rounding loses it."""
        variances = self.variances(weights)
        if variances is None or not (variances >= 0).all():
            return math.inf
        return self.asked.of_variances(variances)

    def at(self, weights: Array) -> Rates:
        """The rows at these rates, made feasible."""
        fitted = self.fitted(weights)
        return Rates(self.rows, self.steps, fitted, self.loss(fitted), self.name)

    def _solved(self, precisions: Array) -> tuple[Array, Array] | None:
        """H with `H H' = X^-1`, (r, r), and `H' A'`, (r, p), by the triangle of `diag(p)^1/2 A` with columns of length one:
        rounding then grows with the root of what it grows with in X, as variances `|q H|^2` keep it."""
        rows = np.sqrt(precisions)[:, None] * self.along
        size = np.sqrt(np.square(rows).sum(axis=0))
        if not (np.isfinite(size).all() and (size > 0).all()):
            return None
        factor: Array = np.asarray(np.linalg.qr(rows / size, mode="r"))
        if np.abs(factor.diagonal()).min(initial=1.0) < LOST:
            return None
        half = np.linalg.inv(factor) / size[:, None]
        return half, half.T @ self.along.T

    def _weights_of_answers(self, half: Array, power: float) -> tuple[float, Array]:
        """The smooth loss, and the matrix `H' (sum_k (d loss / d var_k) q_k' q_k) H`."""
        costs = self.asked.costs
        if self.asked.loss == "squared":
            each = self.root @ half
            return float(np.square(each).sum()), each.T @ each
        answers = self.wanted @ half
        variances = np.maximum(np.square(answers).sum(axis=1), 1e-300)
        if self.asked.loss == "absolute":
            deviations = np.sqrt(variances)
            return float(costs @ deviations), (answers.T * (costs / (2 * deviations))) @ answers
        value, gains = norm_of(costs * variances, power)
        return value, (answers.T * (costs * value * gains)) @ answers

    def smooth(self, theta: Array, power: float) -> tuple[float, Array]:
        """The logarithm of the loss at `exp(theta)`, divided by a norm of the lengths that is at least the largest; its
        gradient."""
        weights, pulled = spread_out(theta, self._by_change, self._by_row, power)
        precisions, slopes = precision(weights, self.steps)
        solved = self._solved(precisions)
        if solved is None:
            return 1e3, np.zeros_like(theta)
        value, inner = self._weights_of_answers(solved[0], power)
        if not value > 0.0:
            return 1e3, np.zeros_like(theta)
        reached = np.einsum("ip,ip->p", solved[1], inner @ solved[1])
        gradient = -reached * slopes / value
        return math.log(value), gradient - gradient.sum() * pulled

    def pressure(self, weights: Array) -> tuple[Array, Array, Array, float]:
        """At feasible rates: H, `H' (sum_k (d loss / d var_k) q_k' q_k) H`, the shares of the changes in what binds, (M,), and
        about how much loss a larger budget would save."""
        precisions, slopes = precision(weights, self.steps)
        solved = self._solved(precisions)
        assert solved is not None
        _, inner = self._weights_of_answers(solved[0], POWERS[-1])
        reached = np.einsum("ip,ip->p", solved[1], inner @ solved[1])
        shares = np.asarray(self.lengths @ weights) ** 200.0
        return solved[0], inner, shares / shares.sum(), float(reached @ slopes)

    def without(self, kept: NDArray[np.bool_]) -> RowSet:
        """Without the other rows; kept: (p,)."""
        return RowSet(self.asked, self.rows[kept], self.name, self.steps[kept])


class RateObjective(Protocol):
    """What a descent needs of the rates that it changes."""

    @property
    def entries(self) -> float: ...
    def fitted(self, weights: Array) -> Array: ...
    def loss(self, weights: Array) -> float: ...
    def smooth(self, theta: Array, power: float) -> tuple[float, Array]: ...


def descended(candidates: RateObjective, start: Array, most: int, effort: Effort, powers: Iterable[float] = POWERS) -> Array:
    """Feasible rates that a descent reached from `start`, (p,), by the exact loss never worse than it."""
    best = candidates.fitted(start)
    lowest = candidates.loss(best)
    for power in powers:
        steps = effort.steps(most, candidates.entries)
        if steps < 2:
            break
        origin = np.log(np.maximum(best, 1e-12 * best.max()))

        def objective(theta: Array, power: float = power) -> tuple[float, Array]:
            effort.take(candidates.entries)
            return candidates.smooth(theta, power)

        found, _ = minimised(objective, origin, steps)
        moved = candidates.fitted(np.exp(np.clip(found, -40.0, 40.0)))
        value = candidates.loss(moved)
        if value < lowest:
            best, lowest = moved, value
    return best


def polished(candidates: RowSet, start: Array, effort: Effort) -> Array:
    """Rates that alternate between the best reconstruction and the best rates for it, a convex program each: the loss of the
    first, with the reconstruction held, bounds that of the second, so every round is kept only where it is better."""
    best, lowest = start, candidates.loss(start)
    for _ in range(POLISH_STEPS):
        p, r = candidates.along.shape
        each = 40.0 * (p**3 + 2 * p**2 * r)
        if p > POLISHED or effort.steps(1, each) < 1 or not np.isfinite(lowest) or lowest <= 0.0:
            break
        effort.take(each)
        target = _for_this_reconstruction(candidates, best)
        if target is None:
            break
        tried = [candidates.fitted(best ** (1 - t) * target**t) for t in (1.0, 0.5, 0.1)]
        values = [candidates.loss(weights) for weights in tried]
        least = int(np.argmin(values))
        if not values[least] < lowest:
            break
        settled = values[least] > lowest * (1 - 1e-9)
        best, lowest = tried[least], values[least]
        if settled:
            break
    return best


def _for_this_reconstruction(candidates: RowSet, weights: Array) -> Array | None:
    """The best rates while the answers stay these sums of the measured rows."""
    precisions, _ = precision(weights, candidates.steps)
    solved = candidates._solved(precisions)
    if solved is None:
        return None
    _, inner = candidates._weights_of_answers(solved[0], POWERS[-1])
    with np.errstate(over="ignore", invalid="ignore"):  # at budgets of hundreds: then there are no shares, and no rates
        shares = precisions**2 * np.einsum("ip,ip->p", solved[1], inner @ solved[1])
    found = _least_cost(candidates, shares)
    return None if found is None else np.where(found > 0.0, found, 1e-9 * weights)


def _least_cost(candidates: RowSet, shares: Array) -> Array | None:
    """Feasible rates of the least `sum_i c_i Var_i`, (p,), 0 for rows that cost nothing; None where floats do not hold them.

    shares c: (p,).
    """
    kept = shares > 1e-14 * shares.max(initial=0.0)
    if not kept.any():
        return None
    lengths = candidates.lengths[:, np.flatnonzero(kept)]

    def separate(rates: Array) -> tuple[float, Array]:
        found = np.asarray(lengths @ rates)
        worst = np.argsort(-found, kind="stable")[: max(100, 2 * len(rates))]
        return float(found.max()), lengths[worst].toarray()

    _, first = separate(np.ones(lengths.shape[1]))
    for column in np.flatnonzero(first.max(axis=0) == 0):
        moved = lengths[:, [int(column)]].tocoo().row[:1]
        first = np.concatenate([first, lengths[moved].toarray()])
    found = minimise_scales(first, shares[kept], 2, separate, steps=candidates.steps[kept], tolerance=1e-7, rounds=20)
    if not (found.status.usable and np.isfinite(found.point).all() and (found.point > 0).all()):
        return None
    full = np.zeros(len(shares))
    full[kept] = found.point
    return full


def pruned(candidates: RowSet, weights: Array) -> tuple[RowSet, Array]:
    """Without rows of faint rates, where the loss does not grow."""
    lowest = candidates.loss(weights)
    rate = weights * np.sqrt(np.square(candidates.along).sum(axis=1))
    kept = rate > FAINT * rate.max(initial=0.0)
    thinner = candidates.without(kept) if not kept.all() else candidates
    if thinner.complete and thinner is not candidates:
        fitted = thinner.fitted(weights[kept])
        if thinner.loss(fitted) <= lowest * (1 + 1e-9):
            candidates, weights = thinner, fitted
    return candidates, weights


def measured_alone(asked: RateProblem, starts: Sequence[tuple[Array, Mapping[str, Array | None]]]) -> list[Rates]:
    """What these rows (p, C) reach at these rates (p,), by name, or None for equal shares of the budgets: those of least loss
    first, without what does not determine the answers."""
    found = []
    for rows, rates in starts:
        candidates, begun = RowSet.of_rows(asked, rows, rates)
        if candidates.complete:
            found += [replace(candidates.at(weights), name=name) for name, weights in begun.items()]
    return sorted((one for one in found if np.isfinite(one.loss)), key=lambda one: one.loss)


def searched(
    asked: RateProblem,
    starts: Mapping[str, tuple[Array, Array | None]],
    pool: Callable[[], Mapping[str, Array]],
    effort: float,
    bound: float = 0.0,
    seed: int = 0,
    ahead: float = math.inf,
) -> list[Rates]:
    """The best rates found, those of least loss first: of each start that was followed to its end, with further rows of the
    pool where these helped.

    starts: rows (p, C) by name, with rates (p,) to begin with or None for equal ones. pool: makes groups of rows (g, C) by
    name, each added as one. effort: units of `UNIT` entries. bound: a loss that nothing beats, at which the search ends; it
    does where the best start has no noise on whole numbers, too. Nothing depends on a clock. Starts that do not determine the
    answers are left out; an empty list where none does. ahead: a loss that is reached elsewhere; the search ends where its
    starts are `OUTDONE` times above it, and where its race is `OUTRACED` times above it.
    """
    budget = Effort(effort * UNIT)
    begun = [RowSet.begun_with(asked, rows, weights, name) for name, (rows, weights) in starts.items()]
    ends = [candidates.at(weights) for candidates, weights in begun if candidates.complete]
    first = min(ends, key=lambda end: end.loss, default=None)
    if first is None or first.loss <= bound * (1 + REACHED) or not first.steps.any() or first.loss > OUTDONE * ahead:
        return sorted((end for end in ends if np.isfinite(end.loss)), key=lambda end: end.loss)
    complete = (one for one in begun if one[0].complete)
    near = [one for one, end in zip(complete, ends, strict=True) if end.loss <= FAR * first.loss]
    raced = [pruned(candidates, weights) for candidates, weights in _race(near, budget, np.random.default_rng(seed))]
    ends += [candidates.at(weights) for candidates, weights in raced]
    if min(end.loss for end in ends) > OUTRACED * ahead:
        raced = []
    for place, (candidates, weights) in enumerate(raced[:AHEAD]):
        own = budget.share(0.25)
        weights = descended(candidates, weights, LONG, own)
        candidates, weights = pruned(candidates, polished(candidates, weights, own))
        ends.append(candidates.at(weights))
        raced[place] = (candidates, weights)
        budget.returned(own)
    if raced:
        ends.append(_with_more_rows(asked, min(raced, key=lambda one: one[0].loss(one[1])), pool(), budget))
    return sorted((end for end in ends if np.isfinite(end.loss)), key=lambda end: end.loss)


def _race(starts: Sequence[tuple[RowSet, Array]], effort: Effort, random: np.random.Generator) -> list[tuple[RowSet, Array]]:
    """The starts that are near the first after a few steps, after more of them, from there and from random rates; those that
    are ahead first. From a third of the effort."""
    own = effort.share(1 / 3)
    first = [(candidates, _ahead(candidates, [weights], FEW, own)) for candidates, weights in starts]
    losses = [candidates.loss(weights) for candidates, weights in first]
    near = [one for one, loss in zip(first, losses, strict=True) if loss <= NEAR * min(losses)]
    raced = []
    for place, (candidates, weights) in enumerate(near):
        part = own.share(1 / (len(near) - place))
        begun = [weights, weights * random.lognormal(0.0, 1.0, len(weights))]
        raced.append((candidates, _ahead(candidates, begun, SHORT, part)))
        own.returned(part)
    effort.returned(own)
    return sorted(raced, key=lambda one: one[0].loss(one[1]))


def _ahead(candidates: RowSet, begun: Sequence[Array], steps: int, effort: Effort) -> Array:
    """The best of what a few steps make of these rates, and of the first of them."""
    ran = [descended(candidates, weights, steps, effort, POWERS[1:3]) for weights in begun]
    return min([begun[0], *ran], key=candidates.loss)


def _with_more_rows(asked: RateProblem, start: tuple[RowSet, Array], pool: Mapping[str, Array], effort: Effort) -> Rates:
    """The start with groups of further rows, one after the other, each the one that promises most of those left."""
    candidates, weights = start
    lowest = candidates.loss(weights)
    groups = dict(pool)
    better = True
    while groups and better and np.isfinite(lowest) and lowest > 0.0 and effort.steps(4, candidates.entries) == 4:
        promising = sorted(_promises(candidates, weights, groups), key=lambda one: -one[0])
        effort.take(len(groups) * candidates.along.shape[1] ** 2)
        better = False
        for gain, name, rate in promising[:TRIED]:
            if not gain > 0.0:
                break
            rows = groups.pop(name)
            more = RowSet(asked, np.vstack([candidates.rows, rows]), f"{candidates.name}, {name}")
            begun = more.fitted(np.concatenate([weights, np.full(len(rows), rate)]))
            moved = descended(more, begun, SHORT, effort, POWERS[1:])
            if more.loss(moved) < lowest * (1 - GAIN):
                candidates, weights = pruned(more, polished(more, moved, effort))
                lowest, better = candidates.loss(weights), True
                break
    moved = polished(candidates, descended(candidates, weights, LONG, effort), effort)
    candidates, weights = pruned(candidates, moved)
    return candidates.at(weights)


def _promises(candidates: RowSet, weights: Array, groups: Mapping[str, Array]) -> Iterator[tuple[float, str, float]]:
    """About how much each group would save at its best common rate, with that rate: `p g / (1 + p k)` of every row, g the
    gradient in its precision and k what is known of it, less what the budget it takes is worth."""
    half, inner, shares, worth = candidates.pressure(weights)
    asked = candidates.asked
    for name, rows in groups.items():
        lengths = np.abs(asked.changes.along(rows)) / asked.changes.budget
        longest = float(lengths.sum(axis=0).max(initial=0.0))
        if longest == 0.0:
            continue
        along = rows @ candidates.basis  # what lies outside is left out
        through = half.T @ along.T
        gained, known = np.einsum("sg,sg->g", through, inner @ through), np.square(through).sum(axis=0)
        taken = float((lengths @ shares).sum()) * worth
        steps = steps_of(rows, asked.changes)
        best = (-np.inf, 0.0)
        for rate in (np.array([0.03, 0.1, 0.2, 0.3, 0.5, 0.8]) / longest).tolist():
            each = precision(np.full(len(rows), rate), steps)[0]
            saved = float((each * gained / (1 + each * known)).sum()) - rate * taken
            best = max(best, (saved, rate))
        yield best[0], name, best[1]


def reconstruction(asked: RateProblem, rates: Rates) -> Array:
    """The weighted least squares of what was measured, (K, p): `G A d = Q d` for every change; whole numbers where they are.
    ValueError where some answer moves where no measured row does."""
    size = np.sqrt(rates.precisions)
    found = Strategy(rates.rows * size[:, None], rates.name).reconstruction(asked.workload, asked.changes) * size
    near = np.rint(found)
    whole = np.asarray((np.abs(found - near) <= 1e-9 * (1 + np.abs(near))).all(axis=1))
    kept = np.where(whole[:, None], near, found)
    right = np.abs((kept @ rates.rows - asked.workload) @ asked.span).max(axis=1, initial=0.0)
    exact: NDArray[np.bool_] = np.asarray(right <= 1e-12 * np.abs(asked.workload).max(axis=1, initial=1e-300))
    return np.asarray(np.where(exact[:, None], kept, found))


def plain_reconstruction(asked: RateProblem, rates: Rates) -> Array | None:
    """Answers of whole multiples of measured rows, (K, p): the row itself, the disjoint rows that it is the sum of, or its
    atoms, whichever has the least variance; 0 for a query that no change moves. None where another one is none of these."""
    variances = 1.0 / rates.precisions
    counted = np.asarray(abs(asked.changes.matrix).sum(axis=1)) > 0  # the elements that some change moves
    rows = np.where(counted, rates.rows, 0.0)
    counts = np.flatnonzero((np.isin(rows, (0.0, 1.0))).all(axis=1) & rows.any(axis=1))
    order = counts[np.argsort(-rows[counts].sum(axis=1), kind="stable")]
    alone = {int(rows[i].argmax()): int(i) for i in counts if rows[i].sum() == 1.0}
    found = np.zeros((len(asked.workload), len(rows)))
    moving = np.abs(asked.changes.along(asked.workload)).max(axis=1, initial=0.0) > 0
    for k in np.flatnonzero(moving).tolist():
        query = np.where(counted, asked.workload[k], 0.0)
        ways = (_itself(rows, query), _covered(rows, order, query), _added_up(alone, query))
        options = [way for way in ways if way]
        if not options:
            return None
        best = min(options, key=lambda one: sum(share**2 * variances[i] for i, share in one.items()))
        for i, share in best.items():
            found[k, i] = share
    return found


def _itself(rows: Array, query: Array) -> dict[int, float]:
    """The measured row of which the query is a whole multiple."""
    place = int((query != 0).argmax())
    for i, row in enumerate(rows):
        if row[place] and (query == row * (query[place] / row[place])).all() and (query[place] / row[place]).is_integer():
            return {i: float(query[place] / row[place])}
    return {}


def _covered(rows: Array, order: NDArray[np.intp], query: Array) -> dict[int, float]:
    """Disjoint rows, the largest first, that the query is the sum of."""
    left, parts = query.copy(), {}
    for i in order.tolist():
        if (rows[i] <= left).all():
            left = left - rows[i]
            parts[int(i)] = 1.0
    return parts if not left.any() else {}


def _added_up(alone: Mapping[int, int], query: Array) -> dict[int, float]:
    """The atoms of the query, each as often as it counts."""
    places = np.flatnonzero(query).tolist()
    return {alone[place]: float(query[place]) for place in places} if all(place in alone for place in places) else {}


def plain_rates(asked: RateProblem, rates: Rates, rounds: int = 8) -> tuple[Rates, Array] | None:
    """Rates for answers of whole multiples of these rows, and the answers, in turn until neither changes; rows that no answer
    uses are left out. None where some query has no such answer."""
    best: tuple[Rates, Array] | None = None
    for _ in range(rounds):
        answers = plain_reconstruction(asked, rates)
        if answers is None:
            return best
        used = answers.any(axis=0)
        candidates = RowSet(asked, rates.rows[used], rates.name, rates.steps[used])
        answers = answers[:, used]
        weights = candidates.fitted(_for_these_answers(candidates, answers, candidates.fitted(rates.weights[used])))
        variances = np.square(answers) @ (1.0 / precision(weights, candidates.steps)[0])
        rates = Rates(candidates.rows, candidates.steps, weights, asked.of_variances(variances), rates.name)
        if best is not None and not rates.loss < best[0].loss * (1 - 1e-9):
            return best
        best = rates, answers
    return best


def _for_these_answers(candidates: RowSet, answers: Array, weights: Array) -> Array:
    """The best rates for fixed answers `G A x`, G (K, p): a convex program, in the loss "max" for shares of the answers that
    follow their variances."""
    asked, best = candidates.asked, weights
    costs, lowest = asked.costs.copy(), np.inf
    for _ in range(1 if asked.loss == "squared" else REWEIGHED):
        found = _least_cost(candidates, costs @ np.square(answers))
        if found is None:
            return best
        fitted = candidates.fitted(found)
        variances = np.square(answers) @ (1.0 / precision(fitted, candidates.steps)[0])
        value = asked.of_variances(variances)
        if value < lowest:
            best, lowest = fitted, value
        if asked.loss == "absolute":
            costs = asked.costs / np.sqrt(np.maximum(variances, 1e-300))
        else:
            each = asked.costs * variances
            costs = costs * np.sqrt(each / max(each.max(), 1e-300))
            costs = np.maximum(costs / costs.max(), 1e-12)
    return best
