"""Families of channels for one person's own report: from a problem to a frozen table of whole numbers.

A channel is a mixture of columns, each of which is, as a logarithm, 1-Lipschitz under the budgets; each column is handed the
report that it is best for (docs/theory/own_reports.md, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, NotPrivate
from designer.certified.guarantee import Optimality, bounded
from designer.mechanisms.channel.mechanism import MOST_BITS, MOST_ENTRIES, Channel
from designer.mechanisms.channel.problem import ReportProblem
from designer.problem.relation import Indices
from designer.relations.metrics.metric import Uniform

MOST_POLES = 3000
MOST_UNKNOWNS = 20_000  # of the whole program
MOST_SUBSETS = 5000
DIGITS = 48  # binary digits of the least probability
ATTEMPTS = 24
EVEN = 1e-9  # of steps on a line


@dataclass(frozen=True, eq=False)
class Proposal:
    """Columns, (N, C), whose rows sum to about 1, and the report that each is, (C,). names, losses: of the reports, where they
    are others than those of the problem. bound: below which no private channel is, and how that was found."""

    columns: Floats
    reports: Indices
    names: tuple[str, ...] | None = None
    losses: Floats | None = None
    bound: tuple[float, str] | None = None


def best_reports(problem: ReportProblem, columns: Floats) -> tuple[Indices, Floats]:
    """The report of least expected loss for each column, (C,), and that loss, (C,)."""
    costs = columns.T @ (problem.prior[:, None] * problem.losses)
    return costs.argmin(axis=1), costs.min(axis=1)


def freeze_channel(problem: ReportProblem, proposal: Proposal) -> Channel:
    """The proposal in whole numbers, certified: columns with the same report are added up, those without mass left out.

    Each column is raised to its Lipschitz envelope under slightly smaller budgets; what is missing in the rows is filled up in
    one report, behind a share that every value gives alike.
    """
    used = sorted(set(proposal.reports.tolist()))
    gathered = np.stack([proposal.columns[:, proposal.reports == z].sum(axis=1) for z in used], axis=1)
    kept = gathered.max(axis=0) > 1e-13
    gathered, used = gathered[:, kept], [z for z, keep in zip(used, kept, strict=True) if keep]
    if gathered.size > MOST_ENTRIES:
        raise DesignFailed(
            f"channel: {gathered.shape[0]} values and {gathered.shape[1]} reports make more than {MOST_ENTRIES} "
            "probabilities; merge values, or allow fewer reports."
        )
    losses = (problem.losses if proposal.losses is None else proposal.losses)[:, used]
    named = problem.report_names if proposal.names is None else proposal.names
    reports = tuple(named[z] for z in used)
    margin = (1 - 4 * problem.metric.budget_error) * (1 - 4e-13 / min(1.0, _least(problem.budgets)))
    if not margin > 0.5:
        raise DesignFailed(
            f"metric: its least budget, {_least(problem.budgets)}, is too small for floats to tell; merge the nearest elements."
        )
    raised = _envelope(gathered, problem.budgets * margin)
    raised /= raised.sum(axis=1).max()
    fill = int((problem.prior @ losses).argmin())
    missing = 1 - raised.sum(axis=1)
    share = max(2 * float(np.ptp(missing)) / math.expm1(min(1.0, _least(problem.budgets))), 1e-14)
    for _ in range(ATTEMPTS):
        mixed = raised * (1 - share)
        mixed[:, fill] += share
        numerators, denominator = in_whole_numbers(mixed, fill)
        try:
            return Channel(
                problem.metric, problem.elements or (), reports, numerators, denominator, problem.prior, losses, problem.keys
            )
        except NotPrivate as refused:
            failure, share = refused, 4 * share
        if share > 0.1:
            break
    raise DesignFailed(f"channel: no table of whole numbers near the solution keeps every budget: {failure}")


def in_whole_numbers(channel: Floats, fill: int) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Whole numbers over one denominator, a power of two, rounded down; what is missing in a row goes to report `fill`.

    channel: (N, M), above 0, rows that sum to at most 1, up to rounding.
    """
    bits = max(64, DIGITS + math.ceil(-math.log2(float(channel.min()))))
    if bits > MOST_BITS:
        raise DesignFailed(
            f"channel: probabilities down to {channel.min():.3g} need a denominator of {bits} bits, and at most {MOST_BITS} "
            "are kept; lower the budgets, or ask about values that are less far apart."
        )
    total, rows = 1 << bits, []
    for row in channel.tolist():
        whole = [int(math.ldexp(entry, bits)) for entry in row]
        whole[fill] += total - sum(whole)
        rows.append(tuple(whole))
    return tuple(rows), total


def _envelope(columns: Floats, budgets: Floats) -> Floats:
    """`max over x' of v_x' exp(-b(x, x'))` for each column v, (N, C): the least function above it that keeps the budgets."""
    falls = np.exp(-budgets)
    return np.stack([(columns * falls[x][:, None]).max(axis=0) for x in range(len(columns))])


def _least(budgets: Floats) -> float:
    return float(budgets[~np.eye(len(budgets), dtype=bool)].min())


def whole_program(problem: ReportProblem) -> Proposal:
    """The channel of least expected loss: one linear program of all its entries and every pair that no others imply."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    size, reports = problem.losses.shape
    if size * reports > MOST_UNKNOWNS:
        raise DesignFailed(
            f"channel: {size} values and {reports} reports make {size * reports} unknowns; at most {MOST_UNKNOWNS} are "
            "solved for. Use 'poles', or fewer reports.",
            value=size * reports,
        )
    pairs = [(int(i), int(j)) for i, j in np.argwhere(_needed(problem.budgets))]
    budgets = problem.budgets
    places, rows, columns, entries = np.arange(reports), [], [], []
    for k, (i, j) in enumerate(pairs):
        for at, value in ((i, 1.0), (j, -math.exp(budgets[i, j]))):
            rows.append(k * reports + places)
            columns.append(at * reports + places)
            entries.append(np.full(reports, value))
    inequalities: Any = sp.csr_array(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(len(pairs) * reports, size * reports)
    )
    sums: Any = sp.kron(sp.eye_array(size), np.ones((1, reports)), format="csr")
    cost = (problem.prior[:, None] * problem.losses).ravel()
    found = linprog(cost, A_ub=inequalities, b_ub=np.zeros(len(pairs) * reports), A_eq=sums, b_eq=np.ones(size), method="highs")
    if found.x is None:
        raise DesignFailed(f"channel: the linear program was not solved ({found.message}); use 'poles'.")
    return Proposal(np.maximum(found.x.reshape(size, reports), 0.0), np.arange(reports))


def _needed(budgets: Floats) -> Any:
    """Which ordered pairs no chain of others implies, up to rounding, (N, N)."""
    needed = ~np.eye(len(budgets), dtype=bool)
    for k in range(len(budgets)):
        detour = budgets[:, k, None] + budgets[None, k]
        implied = detour <= budgets * (1 + 1e-12)
        implied[k] = implied[:, k] = False
        needed &= ~implied
    return needed


def poles(problem: ReportProblem) -> Proposal:
    """The mixture of columns `exp(-b(x, z))`, z among the values and a wider, finer grid, of least expected loss."""
    columns = pole_columns(problem)
    reports, costs = best_reports(problem, columns)
    from scipy.optimize import linprog

    found = linprog(costs, A_eq=columns, b_eq=np.ones(len(columns)), method="highs")
    if found.x is None:
        raise DesignFailed(f"poles: the linear program was not solved ({found.message}); use 'exponential'.")
    weights = np.maximum(found.x, 0.0)
    used = weights > 0
    return Proposal(columns[:, used] * weights[used], reports[used])


def pole_columns(problem: ReportProblem) -> Floats:
    """Columns of the cone, (N, C): one for each value, each allowed report and each point of a wider grid of half steps, and
    the column of ones, of a pole that is infinitely far."""
    found = [np.exp(-problem.budgets)]
    if problem.report_points is not None:
        found.append(np.exp(-problem.budgets_to(problem.report_points)))
    if problem.points is not None:
        found.append(np.exp(-problem.budgets_to(_wider_grid(problem.points, problem.distances))))
    return np.concatenate([*found, np.ones((problem.metric.size, 1))], axis=1)


def _wider_grid(points: Floats, distances: Floats) -> Floats:
    """Points in steps of half the least difference of coordinates, two differences beyond the values; fewer where that makes
    too many."""
    axes = [np.diff(np.unique(axis)) for axis in points.T]
    step = min((float(gaps.min()) for gaps in axes if len(gaps)), default=1.0)
    low, high = points.min(axis=0), points.max(axis=0)
    while True:
        counts = [max(1, round((b - a + 4 * step) / (step / 2)) + 1) for a, b in zip(low, high, strict=True)]
        if math.prod(counts) <= MOST_POLES:
            break
        step *= 1.25
    grid = np.meshgrid(*(a - 2 * step + step / 2 * np.arange(n) for a, n in zip(low, counts, strict=True)), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


def exponential(problem: ReportProblem, *, remap: bool = False) -> Proposal:
    """`K[x, z]` proportional to `exp(-b(x, z) / 2)`: the exponential mechanism, at half of the budget."""
    budgets = problem.budgets if problem.places is None else problem.budgets[:, problem.places]
    if problem.report_points is not None:
        budgets = problem.budgets_to(problem.report_points)
    channel = np.exp(-budgets / 2)
    channel /= channel.sum(axis=1, keepdims=True)
    own = problem.places is not None or problem.report_points is not None
    return Proposal(channel, np.arange(channel.shape[1]) if own and not remap else best_reports(problem, channel)[0])


def _uniform_budget(problem: ReportProblem, family: str) -> float:
    if not isinstance(problem.metric, Uniform) and np.ptp(problem.budgets[~np.eye(problem.metric.size, dtype=bool)]) > 0:
        raise DesignFailed(f"{family}: is for one budget for all pairs, and this metric has several; use 'channel' or 'poles'.")
    return _least(problem.budgets)


def randomised_response(problem: ReportProblem, *, remap: bool = False) -> Proposal:
    """The value itself with probability `e^b / (e^b + N - 1)`, any other one with `1 / (e^b + N - 1)`."""
    budget, size = _uniform_budget(problem, "randomised_response"), problem.metric.size
    channel = np.where(np.eye(size, dtype=bool), 1.0, math.exp(-budget))
    channel /= channel.sum(axis=1, keepdims=True)
    own = problem.places is not None and np.array_equal(problem.places, np.arange(size))
    return Proposal(channel, np.arange(size) if own and not remap else best_reports(problem, channel)[0])


def subset_selection(problem: ReportProblem, *, size: int | None = None) -> Proposal:
    """A set of d values, with or without the own one, `C(N - 1, d - 1) e^b` to `C(N - 1, d)`; d is near `N / (e^b + 1)` by
    default (Ye and Barg 2018). Its loss is that of the best single report for each set."""
    budget, values = _uniform_budget(problem, "subset_selection"), problem.metric.size
    chosen = max(1, round(values / (math.exp(min(budget, 500.0)) + 1))) if size is None else size
    if not isinstance(chosen, int) or not 1 <= chosen < values:
        raise DesignFailed(f"subset_selection: size {chosen} is not from 1 to {values - 1}; leave it out.", value=chosen)
    if math.comb(values, chosen) > min(MOST_SUBSETS, MOST_ENTRIES // values):
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
    return Proposal(channel, np.arange(len(sets)), names, problem.losses[:, best])


def geometric(problem: ReportProblem, *, remap: bool = True) -> Proposal:
    """Two-sided geometric noise on a line, cut off at both ends, and each outcome handed its best report: on even steps no
    private channel is better, for any prior and any loss that grows with the distance (Ghosh, Roughgarden, Sundararajan 2012).

    On a line the poles at the values alone have nonnegative weights, `(tanh(left / 2) + tanh(right / 2)) / 2` with the budgets
    to both neighbours, 1 in the place of the tangent at an end; on even steps that is the truncated geometric mechanism.
    """
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
        return Proposal(channel, np.arange(len(order)))
    reports, costs = best_reports(problem, channel)
    steps = np.diff(points[order, 0])
    even = np.ptp(steps) <= EVEN * steps.min() and problem.metric.budget_error < EVEN
    proven = even and own and problem.loss in ("distance", "squared", "zero_one")
    words = "no private channel is better on even steps of a line (Ghosh, Roughgarden, Sundararajan 2012)"
    return Proposal(channel, reports, bound=(float(costs.sum()) * (1 - 1e-12), words) if proven else None)


BUILDERS: Mapping[str, Callable[..., Proposal]] = {
    "channel": whole_program,
    "poles": poles,
    "exponential": exponential,
    "randomised_response": randomised_response,
    "subset_selection": subset_selection,
    "geometric": geometric,
}
WORDS = {
    "channel": "least expected loss of all channels",
    "poles": "mixture of exponential columns",
    "exponential": "exponential mechanism at half of the budget",
    "randomised_response": "randomised response",
    "subset_selection": "subset selection",
    "geometric": "truncated geometric noise on a line, with the best report for each outcome",
}
OPTIONS = {"exponential": ("remap",), "randomised_response": ("remap",), "subset_selection": ("size",), "geometric": ("remap",)}


def build_channel(problem: ReportProblem, family: str, **options: Any) -> Channel:
    """The frozen channel of a family, with what is proven of its loss."""
    proposal = BUILDERS[family](problem, **options)
    made = freeze_channel(problem, proposal)
    optimality: Optimality | None = None
    if proposal.bound is not None:
        bound, method = proposal.bound
        optimality = bounded(problem.loss_words, made.loss, bound, method, 1e-9 * max(1.0, bound))
    return made.annotated({"family": WORDS[family], "loss": problem.loss, "options": options}, optimality)
