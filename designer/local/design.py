"""Families of channels for one person's own report: from a problem to a frozen table of whole numbers.

A channel is a mixture of columns, each of which is, as a logarithm, 1-Lipschitz under the budgets; each column is handed the
report that it is best for (docs/theory/own_reports.md, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import positive, probability, shown
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate
from designer.base.progress import step
from designer.base.progress import step as told
from designer.certificate.guarantee import Optimality, bounded
from designer.designing.auto import cap_of, units_of
from designer.designing.design_result import Design
from designer.limits import MOST_CHANNEL_ENTRIES, MOST_ESTIMATED_VALUES, MOST_PLANAR_POINTS, MOST_REPORTED_SUBSETS
from designer.local.collector import estimation_losses, queries_of
from designer.local.mechanism import Channel
from designer.local.peaks import RULES, DescribedTable, LossPrices, LossRule, proven_loss
from designer.local.problem import ReportProblem
from designer.problem.relation import Indices
from designer.problem.targets import Targets, require_targets
from designer.relations.metrics.metric import Uniform
from designer.relations.metrics.points import Euclidean
from solvers.channel_lp import cone
from solvers.channel_lp.generation import ROUNDS, ChannelLP, LossLimits, Mixture, NoMixture, column_generation, mixture_of_poles
from solvers.channel_lp.mixtures import least_moment
from solvers.channel_lp.whole import NoSlack, peak_table, whole_table
from solvers.exact.rational import float_below
from solvers.programs.loads import least_factor
from solvers.solution import Solution

MOST_POLES = 3000
LEAST_PLACES = 5  # of a wider grid on each axis: two beyond the values at both ends, and one among them
MOST_RULED = 250_000  # entries of a table that is written out with its losses; larger ones have peaks, or losses by a rule
DESCRIBED_BITS = 36  # of the denominator of a described table: floats tell its ratios from their budgets
SHARP = 1e-12  # of a budget, what floats may be off by where a table is described
SMALLEST = 1e-13  # of the largest probability of a report that is kept
MOST_EXACT = 2500  # losses of a problem whose bound is proven in rationals: a second
FAITHFUL = Fraction(
    1, 10**8
)  # of a bound, by which it is stated lower: programs that prove it again may answer with other last digits
MOST_ROUNDS, ROUND_WORK = 20, 12500  # of local searches
FLAT_BUDGETS = (0.1, 0.3, 1.0, 2.0)  # budgets around a value up to which a column is flat
EVEN = 1e-9  # of steps on a line
FINE, COARSE = 2.0**-48, 1e-10  # of a budget: what floats are off by at least, and what costs more than it saves
TAIL, CHUNK = 35.0, 2048


@dataclass(frozen=True, eq=False)
class ProposedChannel:
    """Columns, (N, C), whose rows sum to about 1, and the report that each is, (C,). names, losses: of the reports, where they
    are others than those of the problem. bound: below which no private channel is, and how that was found. prices: that prove
    it in rationals."""

    columns: Floats
    reports: Indices
    names: tuple[str, ...] | None = None
    losses: Floats | None = None
    bound: tuple[float, str] | None = None
    prices: LossPrices | None = None
    peaked: bool = False


def best_reports(problem: ReportProblem, columns: Floats) -> tuple[Indices, Floats]:
    """The report of least expected loss for each column, (C,), and that loss, (C,)."""
    costs = columns.T @ (problem.prior[:, None] * problem.losses)
    return costs.argmin(axis=1), costs.min(axis=1)


def freeze_channel(problem: ReportProblem, proposal: ProposedChannel) -> Channel:
    """The proposal in whole numbers, certified: columns with the same report are added up, those without mass left out.

    Each column is raised to its Lipschitz envelope, rows are divided by their sums, and rounding gives every entry so many
    units alike that no ratio breaks (docs/theory/columns.md, 4).
    """
    if _described(problem, proposal):
        return _freeze_described(problem, proposal)
    used = sorted(set(proposal.reports.tolist()))
    gathered = np.stack([proposal.columns[:, proposal.reports == z].sum(axis=1) for z in used], axis=1)
    kept = gathered.max(axis=0) > SMALLEST
    gathered, used = gathered[:, kept], [z for z, keep in zip(used, kept, strict=True) if keep]
    if gathered.size > MOST_CHANNEL_ENTRIES:
        raise DesignFailed(
            f"channel: {gathered.shape[0]} values and {gathered.shape[1]} reports make more than {MOST_CHANNEL_ENTRIES} "
            "probabilities, too many to write out; use 'channel' or 'poles' under a metric whose budgets floats hold to 13 "
            "digits, merge values, or allow fewer reports."
        )
    losses = (problem.losses if proposal.losses is None else proposal.losses)[:, used]
    named = problem.report_names if proposal.names is None else proposal.names
    reports = tuple(named[z] for z in used)
    budgets, _ = _between(problem)
    with np.errstate(over="ignore"):
        ratios = np.exp(budgets) * (1 - 2.0**-48)
    if not (ratios[~np.eye(len(ratios), dtype=bool)] > 1 + 2.0**-40).all():
        raise DesignFailed(
            f"metric: its least budget, {_least(problem.budgets)}, is too small for the denominator; merge the nearest "
            "elements."
        )
    raised = cone.envelope(budgets, gathered)
    raised /= raised.sum(axis=1, keepdims=True)
    try:
        whole = whole_table(raised, ratios)
        numerators = tuple(map(tuple, whole.numerators.tolist()))
        if problem.queries is not None:
            losses = _of_estimates(problem, whole.numerators.astype(np.float64) / (1 << whole.bits))
        few = gathered.size <= MOST_RULED or proposal.losses is not None
        stated = losses if few else _stated_losses(problem, used)
        return Channel(
            problem.metric, problem.elements or (), reports, numerators, 1 << whole.bits, problem.prior, stated, problem.keys
        )
    except (NoSlack, NotPrivate) as failure:
        raise DesignFailed(
            f"channel: no table of whole numbers near the solution keeps every budget ({failure}); merge the nearest "
            "elements, or use 'exponential'."
        ) from failure


def _stated_losses(problem: ReportProblem, used: Sequence[int]) -> Floats | LossRule:
    """What the reports cost: by a rule where there is one."""
    if problem.loss not in RULES or problem.places is None:
        return np.asarray(problem.losses[:, used])
    return LossRule(problem.loss, tuple(problem.places[used].tolist()))


def _described(problem: ReportProblem, proposal: ProposedChannel) -> bool:
    """Whether a table is too large to be written out in few megabytes, and columns are of a kind that a few peaks describe."""
    many = len(problem.prior) * len(set(proposal.reports.tolist())) > MOST_RULED
    return many and proposal.peaked and problem.metric.budget_error <= SHARP


def _freeze_described(problem: ReportProblem, proposal: ProposedChannel) -> Channel:
    """The proposal by the peaks of its columns, in whole numbers, certified (docs/theory/columns.md, 4)."""
    used = sorted(set(proposal.reports[proposal.columns.max(axis=0) > SMALLEST].tolist()))
    place = {z: k for k, z in enumerate(used)}
    kept = np.array([z in place for z in proposal.reports.tolist()])
    handed = np.array([place[z] for z in proposal.reports[kept].tolist()], dtype=np.intp)
    rest = int((problem.prior @ problem.losses[:, used]).argmin())
    try:
        made = peak_table(problem.budgets, proposal.columns[:, kept], handed, rest, DESCRIBED_BITS)
        table = DescribedTable(problem.metric, len(used), 1 << made.bits, made.columns, made.units, made.rest)
        named = tuple(problem.report_names[z] for z in used)
        losses = _stated_losses(problem, used)
        return Channel(
            problem.metric, problem.elements or (), named, table, 1 << made.bits, problem.prior, losses, problem.keys
        )
    except (ValueError, NotPrivate) as failure:
        raise DesignFailed(
            f"channel: no table of whole numbers near the solution keeps every budget ({failure}); merge the nearest elements."
        ) from failure


def _of_estimates(problem: ReportProblem, table: Floats) -> Floats:
    """What each report of each value is off by in the estimates that are asked for, (N, M)."""
    matrix, _ = queries_of(problem.queries, tuple(map(str, problem.elements or ())))
    try:
        return estimation_losses(table, problem.prior, matrix)
    except InvalidProblem as failure:
        raise DesignFailed(f"channel: its reports do not tell what is asked apart ({failure}); use 'channel'.") from failure


def _between(problem: ReportProblem) -> tuple[Floats, Floats]:
    """Floats just below and just above the budgets, (N, N) each: from rationals where few of them are known coarsely."""
    budgets, off = problem.budgets, 2 * problem.metric.budget_error + FINE
    if off > COARSE and budgets.size <= MOST_EXACT:
        exact = [[problem.metric.exact_budget(i, j) or 0 for j in range(i)] for i in range(len(budgets))]
        lower = np.array([[float(budget) for budget in row] + [0.0] * (len(budgets) - len(row)) for row in exact])
        budgets, off = lower + lower.T, FINE
    return budgets * (1 - off), budgets * (1 + off)


def _least(budgets: Floats) -> float:
    return float(budgets[~np.eye(len(budgets), dtype=bool)].min())


def best_channel(problem: ReportProblem, *, gap: float = 1e-4) -> ProposedChannel:
    """The channel of least expected loss, by column generation from poles, up to a certified relative gap."""
    probability(gap, "gap")
    if problem.queries is not None:
        return _best_for_estimates(problem)
    try:
        found = _generated(problem, gap)
    except (ValueError, ArithmeticError, NoMixture) as failure:
        raise DesignFailed(
            f"channel: the solver stopped ({failure}); the budgets may span more orders of magnitude than floats hold: lower "
            "the largest, or use 'poles'."
        ) from failure
    mixture = found.point
    bound, prices = _bound(problem, found)
    return ProposedChannel(mixture.columns * mixture.weights, mixture.reports, bound=bound, prices=prices, peaked=True)


def _best_for_estimates(problem: ReportProblem) -> ProposedChannel:
    """The channel of the least expected squared error of estimates that local searches find from poles, with a bound on all
    (docs/theory/columns.md, 6)."""
    matrix, _ = queries_of(problem.queries, tuple(map(str, problem.elements or ())))
    size = len(problem.prior)
    if size > MOST_ESTIMATED_VALUES:
        raise DesignFailed(
            f"channel: {size} values; channels for estimates are searched for at most {MOST_ESTIMATED_VALUES}: merge near "
            "values, or use 'exponential'.",
            value=size,
        )
    start, own = cone.poles(pole_budgets(problem)), float(problem.prior @ (matrix**2).sum(axis=0))
    try:
        with step("channel for estimates"):
            rounds = max(1, min(MOST_ROUNDS, ROUND_WORK // size**2))
            found = least_moment(_between(problem)[1], problem.prior, matrix.T @ matrix, start, rounds)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as failure:
        raise DesignFailed(f"channel: the solver stopped ({failure}); use 'exponential'.") from failure
    table = found.point.table()
    names, bound = tuple(f"r{z}" for z in range(table.shape[1])), max(found.lower_bound * (1 - 1e-9) - own, 0.0)
    words = "ranges of the entries of every column that keeps the budgets, in floats (docs/theory/columns.md, 6)"
    return ProposedChannel(table, np.arange(table.shape[1]), names, np.zeros(table.shape), (bound, words))


def _bound(problem: ReportProblem, found: Solution[Mixture]) -> tuple[tuple[float, str], LossPrices | None]:
    """A loss that no private channel is below: in rationals where they take a moment, with the prices that prove
    it; elsewhere with rounding added up."""
    words = "prices of the values, against every column that keeps the budgets"
    if problem.losses.size > MOST_EXACT:
        costs, limits = _costs(problem)
        program, own = ChannelLP.of(_between(problem)[1], costs, problem.prior, limits), found.point.prices
        lower = max(program.bound(own), program.bound(program.lowered(own)))
        return (lower, f"{words}, in floats with their rounding added up (docs/theory/columns.md)"), None
    given = found.point.prices
    prices = LossPrices.rounded(given.rows, given.shares[0] if problem.worst else None)
    proven = proven_loss(problem.metric, problem.prior, problem.losses, prices)
    return (float_below(proven - FAITHFUL * abs(proven)), f"{words}, in rationals (docs/theory/columns.md)"), prices


def _generated(problem: ReportProblem, gap: float, rounds: int = ROUNDS) -> Solution[Mixture]:
    """Within the budgets that a table is rounded for, so that nothing is lost by raising its columns."""
    start, (costs, limits) = cone.poles(pole_budgets(problem)), _costs(problem)
    return column_generation(_between(problem)[0], costs, start, norm=problem.prior, limits=limits, gap=gap, rounds=rounds)


def _costs(problem: ReportProblem) -> tuple[Floats, tuple[LossLimits, ...]]:
    """What is minimised: expected losses, (N, M), or the largest of the losses of all values."""
    if problem.worst:
        return np.zeros_like(problem.losses), (LossLimits(np.eye(len(problem.prior)), problem.losses, None),)
    return problem.prior[:, None] * problem.losses, ()


def poles(problem: ReportProblem) -> ProposedChannel:
    """The mixture of columns `exp(-b(x, z))`, z among the values and a wider, finer grid, of least expected loss.

    Where places are so uneven that poles hardly mix, and the exponential mechanism at half of the budget loses less, its
    columns are mixed in, and some that are flat around the values.
    """
    _require_single(problem, "poles")
    if problem.worst:
        raise DesignFailed("poles: a prior is needed; use 'channel' for the worst one.")
    costs, apart = problem.prior[:, None] * problem.losses, pole_budgets(problem)
    plain = np.exp(-problem.budgets / 2)
    plain /= plain.sum(axis=1, keepdims=True)
    try:
        found = mixture_of_poles(apart, costs)
        if found.value > float((plain.T @ costs).min(axis=1).sum()):
            flat = [np.minimum(1.0, np.exp(top - problem.budgets)) for top in FLAT_BUDGETS]
            found = mixture_of_poles(apart, costs, further=np.hstack([plain, *flat]))
    except (ValueError, ArithmeticError, NoMixture) as failure:
        raise DesignFailed(f"poles: the solver stopped ({failure}); use 'exponential'.") from failure
    mixture = found.point
    return ProposedChannel(mixture.columns * mixture.weights, mixture.reports, peaked=True)


def _require_single(problem: ReportProblem, what: str) -> None:
    if problem.queries is not None:
        raise DesignFailed(f"{what}: estimates are asked for, and not single reports; use 'channel'.")


def pole_budgets(problem: ReportProblem) -> Floats:
    """Budgets from the values to poles, (N, C): the values, the allowed reports, the points of a wider grid of half steps, and,
    0 for all, a pole that is equally far from everybody."""
    found = [problem.budgets]
    if problem.report_points is not None:
        found.append(problem.budgets_to(problem.report_points))
    if problem.points is not None and LEAST_PLACES ** problem.points.shape[1] <= MOST_POLES:
        found.append(problem.budgets_to(_wider_grid(problem.points, problem.distances)))
    return np.concatenate([*found, np.zeros((problem.metric.size, 1))], axis=1)


def _wider_grid(points: Floats, distances: Floats) -> Floats:
    """Points in steps of half the least difference of coordinates, two differences beyond the values; in whole steps where that
    makes too many, and in wider ones where these are too many still: down to `LEAST_PLACES` on an axis."""
    axes = [np.diff(np.unique(axis)) for axis in points.T]
    step = min((float(gaps.min()) for gaps in axes if len(gaps)), default=1.0)
    low, high = points.min(axis=0), points.max(axis=0)
    beyond, fine = 2 * step, step / 2
    while True:
        counts = [max(1, round((b - a + 2 * beyond) / fine) + 1) for a, b in zip(low, high, strict=True)]
        if math.prod(counts) <= MOST_POLES:
            break
        fine = step if fine < step else 1.25 * fine
        beyond = max(beyond, 2 * fine)
    grid = np.meshgrid(*(a - beyond + fine * np.arange(n) for a, n in zip(low, counts, strict=True)), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


def exponential(problem: ReportProblem, *, remap: bool = False) -> ProposedChannel:
    """`K[x, z]` proportional to `exp(-b(x, z) / 2)`: the exponential mechanism, at half of the budget."""
    if remap:
        _require_single(problem, "exponential, remap")
    budgets = problem.budgets if problem.places is None else problem.budgets[:, problem.places]
    if problem.report_points is not None:
        budgets = problem.budgets_to(problem.report_points)
    channel = np.exp(-budgets / 2)
    channel /= channel.sum(axis=1, keepdims=True)
    own = problem.places is not None or problem.report_points is not None
    return ProposedChannel(channel, np.arange(channel.shape[1]) if own and not remap else best_reports(problem, channel)[0])


def _uniform_budget(problem: ReportProblem, family: str) -> float:
    if not isinstance(problem.metric, Uniform) and np.ptp(problem.budgets[~np.eye(problem.metric.size, dtype=bool)]) > 0:
        raise DesignFailed(
            f"{family}: one budget for all pairs is needed, and this metric has several; use 'channel' or 'poles'."
        )
    return _least(problem.budgets)


def randomised_response(problem: ReportProblem, *, remap: bool = False) -> ProposedChannel:
    """The value itself with probability `e^b / (e^b + N - 1)`, any other one with `1 / (e^b + N - 1)`."""
    if remap:
        _require_single(problem, "randomised_response, remap")
    budget, size = _uniform_budget(problem, "randomised_response"), problem.metric.size
    channel = np.where(np.eye(size, dtype=bool), 1.0, math.exp(-budget))
    channel /= channel.sum(axis=1, keepdims=True)
    own = problem.places is not None and np.array_equal(problem.places, np.arange(size))
    return ProposedChannel(channel, np.arange(size) if own and not remap else best_reports(problem, channel)[0])


def subset_selection(problem: ReportProblem, *, size: int | None = None) -> ProposedChannel:
    """A set of d values, with or without the own one, `C(N - 1, d - 1) e^b` to `C(N - 1, d)`; d is near `N / (e^b + 1)` by
    default (Ye and Barg 2018). Its loss is that of the best single report for each set."""
    budget, values = _uniform_budget(problem, "subset_selection"), problem.metric.size
    chosen = max(1, round(values / (math.exp(min(budget, 500.0)) + 1))) if size is None else size
    if not isinstance(chosen, int) or not 1 <= chosen < values:
        raise DesignFailed(f"subset_selection: size {chosen} is not from 1 to {values - 1}; leave it out.", value=chosen)
    if math.comb(values, chosen) > min(MOST_REPORTED_SUBSETS, MOST_CHANNEL_ENTRIES // values):
        raise DesignFailed(
            f"subset_selection: there are {math.comb(values, chosen)} sets of {chosen} of {values} values, too many to write "
            "out; give a smaller size, or use 'randomised_response'.",
            value=chosen,
        )
    sets: list[tuple[int, ...]] = list(combinations(range(values), chosen))
    channel = np.full((values, len(sets)), math.exp(-budget))
    for z, members in enumerate(sets):
        channel[list(members), z] = 1.0
    channel /= channel.sum(axis=1, keepdims=True)
    best, _ = best_reports(problem, channel)
    called = map(str, problem.elements or ())
    known = tuple(called)
    names = tuple("{" + ", ".join(known[x] for x in members) + "}" for members in sets)
    return ProposedChannel(channel, np.arange(len(sets)), names, problem.losses[:, best])


def geometric(problem: ReportProblem, *, remap: bool = True) -> ProposedChannel:
    """Two-sided geometric noise on a line, cut off at both ends, and each outcome handed its best report: on even steps no
    private channel is better, for any prior and any loss that grows with the distance (Ghosh, Roughgarden, Sundararajan 2012).

    On a line the poles at the values alone have nonnegative weights, `(tanh(left / 2) + tanh(right / 2)) / 2` with the budgets
    to both neighbours, 1 in the place of the tangent at an end; on even steps that is the truncated geometric mechanism.
    """
    if remap:
        _require_single(problem, "geometric")
    points = problem.points
    if points is None or points.shape[1] != 1:
        raise DesignFailed("geometric: is for values on a line; use metrics.line, or the family 'channel' or 'poles'.")
    order = np.argsort(points[:, 0], kind="stable")
    gaps = np.tanh(np.array([problem.budgets[a, b] for a, b in pairwise(order)]) / 2)
    sides = np.concatenate([[1.0], gaps, [1.0]])
    weights = np.empty(len(order))
    weights[order] = (sides[:-1] + sides[1:]) / 2
    channel = np.exp(-problem.budgets) * weights
    own = problem.places is not None and np.array_equal(problem.places, np.arange(len(order)))
    if own and not remap:
        return ProposedChannel(channel, np.arange(len(order)))
    reports, costs = best_reports(problem, channel)
    steps = np.diff(points[order, 0])
    even = np.ptp(steps) <= EVEN * steps.min() and problem.metric.budget_error < EVEN
    proven = even and own and not problem.worst and problem.loss in ("distance", "squared", "zero_one")
    words = "no private channel is better on even steps of a line (Ghosh, Roughgarden, Sundararajan 2012)"
    return ProposedChannel(channel, reports, bound=(float(costs.sum()) * (1 - 1e-12), words) if proven else None)


def planar(problem: ReportProblem) -> ProposedChannel:
    """The planar Laplace mechanism on a lattice: `exp(-b(x, l))` in equal parts over the points l of the lattice that the
    values lie on, each handed to the nearest report (Andres and others 2013, remapped as by Chatzikokolakis and others 2017).

    Its tail is cut off where it is below about e^-33, and the table that is left is certified like any other. `DesignFailed`
    where the values do not lie on a square lattice, and where it would have more than a million points.
    """
    if not isinstance(problem.metric, Euclidean) or problem.places is None or problem.metric.places.shape[1] > 2:
        raise DesignFailed(
            "planar: is for points of a square lattice in the plane or on a line, with values as reports; use 'poles' or "
            "'channel'."
        )
    points = problem.metric.places
    low, steps = points.min(axis=0), [np.diff(np.unique(axis)) for axis in points.T]
    step = min(float(gaps.min()) for gaps in steps if len(gaps))
    if not (np.abs((points - low) / step - np.rint((points - low) / step)) <= EVEN).all():
        raise DesignFailed("planar: the values do not lie on a square lattice; round them to one, or use 'poles' or 'channel'.")
    beyond = math.ceil(TAIL / (problem.rate * step))
    counts = [round(float(extent) / step) + 1 + 2 * beyond for extent in np.ptp(points, axis=0)]
    if math.prod(counts) > MOST_PLANAR_POINTS:
        raise DesignFailed(
            f"planar: {math.prod(counts)} points of the lattice carry its tail, more than {MOST_PLANAR_POINTS}; take a coarser "
            "lattice, or 'poles'."
        )
    axes = [a + step * (np.arange(n) - beyond) for a, n in zip(low, counts, strict=True)]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    reports = points[problem.places]
    columns = np.zeros((len(points), len(reports)))
    for start in range(0, len(grid), CHUNK):
        some = grid[start : start + CHUNK]
        nearest = np.argmin(((some[:, None] - reports[None]) ** 2).sum(axis=2), axis=1)
        np.add.at(columns.T, nearest, np.exp(-problem.budgets_to(some)).T)
    return ProposedChannel(columns / columns.sum(axis=1, keepdims=True), np.arange(len(reports)))


BUILDERS: Mapping[str, Callable[..., ProposedChannel]] = {
    "channel": best_channel,
    "poles": poles,
    "exponential": exponential,
    "randomised_response": randomised_response,
    "subset_selection": subset_selection,
    "geometric": geometric,
    "planar": planar,
}
WORDS = {
    "channel": "least expected loss of all channels",
    "poles": "mixture of exponential columns",
    "exponential": "exponential mechanism at half of the budget",
    "randomised_response": "randomised response",
    "subset_selection": "subset selection",
    "geometric": "truncated geometric noise on a line, with the best report for each outcome",
    "planar": "planar Laplace on a lattice, each outcome moved to the nearest report",
}
WORDS_OF_ESTIMATES = {"channel": "least squared error of estimates among the columns that local searches found"}
OPTIONS = {
    "channel": ("gap",),
    "exponential": ("remap",),
    "randomised_response": ("remap",),
    "subset_selection": ("size",),
    "geometric": ("remap",),
}


def build_channel(problem: ReportProblem, family: str, **options: Any) -> Channel:
    """The frozen channel of a family, with what is proven of its loss."""
    proposal = BUILDERS[family](problem, **options)
    made = freeze_channel(problem, proposal)
    optimality: Optimality | None = None
    if proposal.bound is not None:
        bound, method = proposal.bound
        optimality = bounded(problem.loss_words, loss_of(problem, made), bound, method, 1e-9 * max(1.0, bound))
    words = WORDS[family] if problem.queries is None else WORDS_OF_ESTIMATES.get(family, WORDS[family])
    notes: dict[str, Any] = {"family": words, "loss": problem.loss, "options": options}
    if proposal.prices is not None:
        unused = [z for z, name in enumerate(problem.report_names) if name not in made.reports]
        notes["prices"] = replace(proposal.prices, unused=problem.losses[:, unused]).to_note()
    return made.annotated(notes, optimality)


def loss_of(problem: ReportProblem, made: Channel) -> float:
    """The loss of a channel as the problem measures it: over the prior, or at the worst value."""
    return made.worst_loss if problem.worst else made.loss


# The smallest budgets at which a report that a person draws alone is as good as asked.


@dataclass(frozen=True, eq=False)
class LeastReport:
    """The least factor on all budgets at which a report loses no more than asked.

    problem: at the budgets of the factor. design: its certified design, of the loss `reached`; at `missed_at`, smaller by the
    relative `step`, the same family loses more than `loss`. lower_bound: no private channel of any family loses as little
    at a smaller factor; 0 where nothing is proven.
    """

    problem: ReportProblem
    loss: float
    factor: float
    design: Design[Any]
    missed_at: float
    step: float
    lower_bound: float

    @property
    def mechanism(self) -> Channel:
        """The channel at the factor."""
        made: Channel = self.design.mechanism
        return made

    @property
    def reached(self) -> float:
        """The loss of the channel, as the problem measures it."""
        return self.design.loss


def loss_asked(targets: Targets) -> float:
    """The loss that is asked for; `InvalidProblem` for targets of another kind."""
    if require_targets(targets).loss is None:
        (given, *_) = require_targets(targets).to_dict()
        raise InvalidProblem(
            f"targets.{given}: a report has no {given.replace('_', ' ')}; give Targets(loss=...), the loss of the problem.",
            value=targets,
        )
    assert targets.loss is not None
    return targets.loss


@told("the least budget of a report")
def least_report(
    problem: ReportProblem,
    targets: Targets,
    family: str = "auto",
    *,
    step: float = 1e-4,
    effort: str = "normal",
    seconds: float | None = None,
    **options: Any,
) -> LeastReport:
    """The least factor on the budgets at which the family's report loses no more than `targets.loss`.

    Losses fall as budgets grow: a channel that keeps small budgets keeps larger ones. So the largest factor at which a bound on
    all channels is above the target bounds the factor from below. Budgets alone are multiplied: distances stay as they are in
    the units of the points, and in the budgets that were given where the metric has none. Raises `DesignFailed` where the
    target is met without a word of the value, or by no finite budgets.

    >>> import math
    >>> from designer import ReportProblem, Targets, least_budget, metrics
    >>> two = ReportProblem(metrics.uniform(2, 1.0), loss="zero_one")
    >>> found = least_budget(two, Targets(loss=0.1))  # randomised response is wrong with 1 / (1 + e^budget)
    >>> found.missed_at < math.log(9) <= found.factor < math.log(9) * 1.001, found.lower_bound <= math.log(9)
    (True, True)
    """
    from designer.designing.dispatch import design

    asked, relative = loss_asked(targets), positive(step, "step")
    units_of(effort), cap_of(seconds)
    if not 1e-9 <= relative <= 1:
        raise InvalidProblem(f"step: {relative} is not from 1e-9 to 1; give the relative width of the answer.", value=relative)
    if problem.queries is None:
        _require_between(problem, asked)
    tried: dict[float, Design[Any]] = {}

    def ratio(factor: float) -> float:
        tried[factor] = design(problem.with_budgets_times(factor), family, **options)
        return tried[factor].loss / asked

    bracket = least_factor(ratio, relative)
    if bracket is None:
        raise DesignFailed(
            f"targets.loss: {shown(asked)} is met, or missed, by this family at every factor from 1e-30 to 1e30; ask for "
            "another loss, or leave the family out.",
            value=asked,
        )
    proven = [factor for factor, made in tried.items() if made.optimality is not None and made.optimality.lower_bound > asked]
    least = bracket.met
    at = problem.with_budgets_times(least)
    return LeastReport(at, asked, least, tried[least], bracket.missed, relative, max(proven, default=0.0))


def _require_between(problem: ReportProblem, asked: float) -> None:
    """`DesignFailed` for a loss that one report for all has, and for one that not even the values themselves would have."""
    least, silent = problem.losses.min(axis=1), problem.losses
    floor = float(least.max() if problem.worst else problem.prior @ least)
    says_nothing = silent.max(axis=0) if problem.worst else problem.prior @ silent
    z = int(np.argmin(says_nothing))
    if asked >= says_nothing[z]:
        raise DesignFailed(
            f"targets.loss: {shown(asked)} is met without any budget, by the report {shown(problem.report_names[z])} of "
            f"everybody, which has {says_nothing[z]:.6g}; ask for less.",
            value=asked,
        )
    if asked <= floor:
        raise DesignFailed(
            f"targets.loss: {shown(asked)} is met by no finite budgets: who tells the value itself has {floor:.6g}; ask for "
            "more, or allow nearer reports.",
            value=asked,
        )
