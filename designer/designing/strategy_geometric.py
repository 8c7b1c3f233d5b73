"""Whole-number noise on whole-number queries: other rows than those asked, counted on the elements that the queries tell apart,
each with two-sided geometric noise at its own unit and rate; the answers are their weighted least squares.

It contains counts of the finest cells, added up, every query for itself, trees of every fan-out, and strategies of optimised
weights (docs/theory/strategies.md, section 7), so its loss is never above theirs. Of many cells, and of queries that are not
written out, it measures counts and weighted sums of them (section 4). The search counts its work and looks at no clock: equal
problems have equal designs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Annotated

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.certificate import refuse_extreme, refuse_infinite
from designer.certificate.implicit_rows import LARGE, disjoint, is_described
from designer.certificate.norms import weighted_l1
from designer.designing.evenness import MOST_UNITS, in_units
from designer.designing.family import Family, Sizes, reached_by_others, refuse_outdone
from designer.designing.hierarchy import has_best_tree
from designer.designing.laplace import weights_of_queries
from designer.designing.measured import Coordinates, combination, measurable
from designer.designing.repair import Atoms, Bound, freeze, refuse_bound
from designer.designing.strategy_laplace import BOUNDED, ON_STEPS, asked_gram, is_bounded
from designer.limits import MOST_TREE_ENTRIES
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.compressed_rows import compressed, counted, intervals_in, largest_entries
from designer.problem.relation import Indices
from designer.problem.workload import Workload
from designer.relations.metrics.presence import add_remove
from designer.relations.problem import Problem
from solvers.programs.changes import Changes
from solvers.programs.noise_costs import independent_noise_bound
from solvers.programs.strategy import (
    AppliedGram,
    best_p_identity,
    divided,
    hierarchical,
    large_p_identity,
    least_squares,
    p_identity_error,
    p_identity_matrix,
    prefix,
    wavelet,
)
from solvers.programs.strategy_search import singular_value_bound
from solvers.programs.tails import mean_absolute_of_geometrics
from solvers.programs.whole_strategy import (
    RateProblem,
    Rates,
    RowSet,
    measured_alone,
    plain_rates,
    plain_reconstruction,
    reconstruction,
    searched,
)
from solvers.rounding import reconstruction_of, rounded_alike

NAME = "strategy_geometric"
ATOMS, CHANGES = 512, 40_000  # beyond which only the counts of the atoms are measured
EFFORT = 20.0  # units of 10^8 numbers: two to four seconds of processor
ALL_TREES = 32  # atoms up to which a tree of every fan-out is among the starts
ALL_INTERVALS = 24  # atoms up to which every interval of them may be added
MOST_GROUPS = 200  # groups of rows that may be added
MERGED = 4  # partitions of the atoms that the queries form, whose tables are among the starts in all groupings
PAIRED = 6  # queries whose sums and differences are among the starts
P_SHARES, P_STEPS, P_LARGEST, STEPS = (8, 16), 1000, 256, 300
FROZEN = 4  # of several ends of the search that are compared by their exact expected absolute errors
STEEPEST = 600.0  # budgets beyond which no bound is computed, and rates are kept in proportion

WholeAnswers = Annotated[bool, "Whether answers stay whole numbers, at a larger loss."]
Search = Annotated[bool, "Whether other rows are searched for than counts that are added up and the queries themselves."]
FOLKLORE = ("counts of atoms", "the queries", "the queries at equal shares", "the queries at one rate")
PLAIN = (
    *FOLKLORE,
    "the queries and the atoms",
    "counts of atoms and their total",
    *(f"tree of {fan}" for fan in (2, 3, 4, 8, 16)),
)
Start = tuple[str, tuple[Floats, Floats | None]]
Rows = dict[str, tuple[Floats, Floats | None]]
OBJECTIVE = "sum_k v_k Var_k, the weighted squared error of additive noise with these budgets"


def design_whole_strategy(problem: Problem, whole: WholeAnswers = False, search: Search = True) -> AdditiveMechanism:
    """The strategy of least loss that the search found: whole-number rows with geometric noise, and the answers of least
    variance made of them, without bias.

    whole: answers are whole multiples of measured rows, and so whole numbers where the queries are; `DesignFailed` for others.
    search: without it only `FOLKLORE` is measured, in a moment, so that "auto" is never above it.
    """
    for name, value in (("whole", whole), ("search", search)):
        if not isinstance(value, bool):
            raise InvalidProblem(
                f"options.{name}: {shown(value)} is neither true nor false; give one of them.",
                field=f"options.{name}",
                value=value,
            )
    if _is_unwritten(problem):
        if whole or not _appears(problem):
            raise DesignFailed(
                f"{NAME}: takes queries that are not written out where every change is a record that appears or vanishes, and "
                "without options.whole; use laplace or hierarchy."
            )
        _require_room(problem, int(counted(problem.workload.matrix).sum()))
    atoms = Atoms.of(problem)
    blocks = _blocks(problem, atoms) if search and not whole else []
    if not blocks and (_is_unwritten(problem) or (search and not whole and _is_large(problem, atoms))):
        return _of_many(problem, atoms, search)
    if blocks:
        refuse_extreme(largest_entries(problem.workload.matrix))
        rates, answers, least = _of_blocks(problem, atoms, blocks)
        refuse_outdone(problem, rates.loss)
        return frozen(problem, atoms, rates, answers, least)
    sensitivity = measurable(problem)
    refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension)))
    changes = atoms.changes
    if not np.abs(changes.along(atoms.workload)).any():
        raise DesignFailed(f"{NAME}: no protected change moves an answer, so there is nothing to measure; use laplace.")
    asked = RateProblem(atoms.workload, problem.costs, problem.loss, changes)
    bound = _bound(asked) if search else None
    if whole:
        return frozen(problem, atoms, *_of_whole_answers(atoms, asked, _all_starts(problem, atoms, search)), bound)
    found = _searched(problem, atoms, asked, bound) if search else measured_alone(asked, _folklore(problem, atoms))
    if not found:
        raise DesignFailed(f"{NAME}: rounding loses every reconstruction of these queries; use laplace.")
    if problem.loss != "absolute":
        refuse_outdone(problem, found[0].loss)
        return next(_frozen_best(problem, atoms, asked, found, bound))
    first = {rates.name: rates for rates in reversed(found)}  # the best of every name
    chosen = [*found[:FROZEN], *(first[name] for name in FOLKLORE if name in first and first[name] not in found[:FROZEN])]
    made = _frozen_best(problem, atoms, asked, chosen, bound)
    return min(made, key=lambda one: problem.loss_of(one.query_variances(), one.query_mean_absolutes()))


def _is_unwritten(problem: Problem) -> bool:
    """Whether the queries are too many to be written out."""
    queries, elements = problem.workload.shape
    return queries * elements > LARGE and is_described(problem.workload, problem.relation)


def _appears(problem: Problem) -> bool:
    """Whether every change is one record that appears or vanishes."""
    simple = problem.relation.simple
    return simple is not None and simple.change is None


def _is_large(problem: Problem, atoms: Atoms) -> bool:
    """Whether the atoms are too many for a search by groups of rows, and the queries not few."""
    many = ATOMS < len(atoms) <= 2 * len(problem.costs)
    return many and problem.loss == "squared" and _appears(problem)


def _of_many(problem: Problem, atoms: Atoms, search: bool = True) -> AdditiveMechanism:
    """Counts of many atoms with geometric noise, and weighted sums of them; without a search the counts alone. The answers are
    their weighted least squares, found without a matrix of the square of the atoms (docs/theory/strategies.md, section 4)."""
    simple, (count, elements) = problem.relation.simple, problem.workload.shape
    assert simple is not None
    _require_room(problem, count * len(atoms))
    queries = compressed(problem.workload.matrix).tocsc()[:, atoms.first].tocsr()
    refuse_extreme(largest_entries(queries))
    budget = np.full(len(atoms), STEEPEST)
    np.minimum.at(budget, atoms.label, simple.of_appearing())
    refuse_bound(budget)
    asked = np.flatnonzero(abs(queries).sum(axis=0))
    queries, budget = queries[:, asked], budget[asked]
    ranges, theta = intervals_in(queries), np.zeros((1, len(asked)))
    gram: AppliedGram | Floats = AppliedGram.of(queries, problem.costs)
    if ranges is not None:
        gram = AppliedGram.of_intervals(ranges.starts, ranges.ends, len(asked), problem.costs)
    elif len(asked) ** 2 < min(8 * queries.nnz, MOST_TREE_ENTRIES // 8):  # written out, it is applied faster
        dense = queries.toarray()
        gram = (dense.T * problem.costs) @ dense
    if search:
        theta = large_p_identity(gram, budget, queries, STEPS)
    loss = p_identity_error(theta, gram, budget, whole=True)[0]
    if problem.loss == "squared":
        refuse_outdone(problem, loss)
    rates, rows = divided(theta, budget)
    rates[1:] *= 1 - 2.0**-24  # so that one record decides, and is measured exactly, where thousands would be equal
    _require_room(problem, (len(asked) + len(rows)) * max(elements, count))
    answers = least_squares(queries.toarray(), rates, rows)
    measured = np.zeros((len(asked) + len(rows), len(atoms)))
    measured[:, asked] = np.vstack([np.eye(len(asked)), rows])
    weights = np.append(rates, np.ones(len(rows)))
    norm = weighted_l1(weights)
    coordinates, bound = Coordinates(atoms.spread(measured), answers, weights > 0), None
    if search and problem.loss == "squared" and len(asked) <= P_LARGEST and budget.max() < STEEPEST:
        bound = _bound_of(np.eye(len(asked)) @ gram, Changes.units(budget))
    return freeze(problem, NAME, coordinates, 1 / weights, lambda _: norm, "exponential", bound, whole=True)


def _require_room(problem: Problem, entries: int) -> None:
    """`DesignFailed` where a matrix of so many entries is too large."""
    if entries > MOST_TREE_ENTRIES:
        queries, elements = problem.workload.shape
        raise DesignFailed(
            f"{NAME}: {queries:,} queries of {elements:,} elements would take matrices of {entries * 8e-9:.3g} GB; use "
            "laplace, or ask about fewer."
        )


Block = tuple[Indices, Indices]


def _blocks(problem: Problem, atoms: Atoms) -> list[Block]:
    """Queries and atoms that are designed alone, (k,) and (c,) each, where one record reaches one of them and all have one
    budget: their errors add up. Queries stand by their sizes, atoms by how much counts them, so that equal blocks look alike.
    Empty where there is one block, or one of many atoms, and for losses that do not add up."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    simple = problem.relation.simple
    if problem.loss != "squared" or simple is None or simple.change is not None or len(simple.appear) != 1:
        return []
    count, size = len(problem.costs), len(atoms)
    _require_room(problem, count * size)
    queries, places = np.nonzero(atoms.workload)
    joined = coo_array((np.ones(len(places)), (queries, count + places)), shape=(count + size,) * 2)
    label = connected_components(joined, directed=False)[1]
    of_queries, of_atoms = label[:count], label[count:]
    both = np.intersect1d(of_queries, of_atoms)
    sizes = [np.abs(atoms.workload).sum(axis=1), -np.abs(atoms.workload).sum(axis=0)]
    order = [np.argsort(size, kind="stable") for size in sizes]
    placed = [(order[0][of_queries[order[0]] == one], order[1][of_atoms[order[1]] == one]) for one in both]
    return placed if len(both) > 1 and max(len(own) for _, own in placed) <= ATOMS else []


def _of_blocks(problem: Problem, atoms: Atoms, blocks: Sequence[Block]) -> tuple[Rates, Floats, Bound | None]:
    """The best rates of every block, equal ones searched once, the answers made of all rows, (K, p), and the bound: what noise
    loses in a block is bounded by that block alone, so the bounds add up, too."""
    simple = problem.relation.simple
    assert simple is not None
    budget, found = float(simple.appear[0]), dict[bytes, tuple[Rates, Floats, Bound | None]]()
    keys = []
    for queries, places in blocks:
        part, costs = np.ascontiguousarray(atoms.workload[np.ix_(queries, places)]), problem.costs[queries]
        keys.append(part.tobytes() + costs.tobytes() + bytes(f"{part.shape}", "ascii"))
        if keys[-1] not in found:
            found[keys[-1]] = _of_block(Problem(Workload(part), add_remove(len(places), budget), weights=costs))
    made = [found[key] for key in keys]
    ends = np.cumsum([0, *(len(rates.rows) for rates, *_ in made)])
    rows, answers = np.zeros((ends[-1], len(atoms))), np.zeros((len(atoms.workload), ends[-1]))
    for (queries, places), (rates, own, _), start, end in zip(blocks, made, ends, ends[1:], strict=False):
        rows[start:end, places] = rates.rows
        answers[queries, start:end] = own
    steps, weights = (np.concatenate([getattr(rates, name) for rates, *_ in made]) for name in ("steps", "weights"))
    bounds = [bound for *_, bound in made if bound is not None]
    whole = len(bounds) == len(made)
    bound = replace(bounds[0], lower=sum(each.lower for each in bounds)) if whole else None
    return Rates(rows, steps, weights, sum(rates.loss for rates, *_ in made), "blocks"), answers, bound


def _of_block(problem: Problem) -> tuple[Rates, Floats, Bound | None]:
    """The best rates of a block, on its atoms, the answers made of its rows, (k, p), and its bound."""
    atoms = Atoms.of(problem)
    asked = RateProblem(atoms.workload, problem.costs, problem.loss, atoms.changes)
    bound = _bound(asked)
    found = _searched(problem, atoms, asked, bound)
    if not found:
        raise DesignFailed(f"{NAME}: rounding loses every reconstruction of these queries; use laplace.")
    return found[0], _answers_of(asked, found[0]), bound


def _searched(problem: Problem, atoms: Atoms, asked: RateProblem, bound: Bound | None) -> list[Rates]:
    """The rates that the search found, the best first."""

    def pool() -> dict[str, Floats]:
        return _pool(_in_steps(problem, atoms)[0]) if _is_small(atoms, atoms.changes) else {}

    ahead = math.inf if problem.loss == "absolute" else reached_by_others(problem)
    return searched(asked, _all_starts(problem, atoms), pool, EFFORT, 0.0 if bound is None else bound.lower, ahead=ahead)


def _frozen_best(
    problem: Problem,
    atoms: Atoms,
    asked: RateProblem,
    found: Sequence[Rates],
    bound: Bound | None,
) -> Iterator[AdditiveMechanism]:
    """The mechanisms of these rates, without those that floats do not hold; what was wrong with the first, if that is all."""
    failed: DesignFailed | None = None
    held = False
    for rates in found:
        try:
            made = frozen(problem, atoms, rates, _answers_of(asked, rates), bound)
        except DesignFailed as wrong:
            failed = failed or wrong
            continue
        held = True
        yield made
    if failed is not None and not held:
        raise failed


def _of_whole_answers(atoms: Atoms, asked: RateProblem, starts: Rows) -> tuple[Rates, Floats]:
    """The best of the starts whose answers are whole multiples of measured rows, and these multiples, (K, p)."""
    if not (atoms.workload == np.rint(atoms.workload)).all():
        raise DesignFailed(f"{NAME}: options.whole: some query has entries that are no whole numbers; leave whole out.")
    begun = (RowSet.begun_with(asked, starts[name][0], None, name) for name in PLAIN if name in starts)
    made = [plain_rates(asked, candidates.at(weights)) for candidates, weights in begun if candidates.complete]
    return min((one for one in made if one is not None), key=lambda one: one[0].loss)  # counts of atoms always serve


def _is_small(atoms: Atoms, changes: Changes) -> bool:
    """Whether there is room for a search among many rows."""
    return len(atoms) <= ATOMS and changes.count <= CHANGES


def frozen(problem: Problem, atoms: Atoms, rates: Rates, answers: Floats, bound: Bound | None) -> AdditiveMechanism:
    """The certified mechanism of these rates, every row in its own unit, and of the answers `answers @ measured`, (K, p);
    constants that no change moves are published."""
    rows = atoms.spread(rates.rows)
    whole = in_units(rows, problem.relation)
    within = whole.coordinates(np.ones(len(rows), dtype=bool), answers)
    assert within.reconstruction is not None
    wanted, public = problem.workload.dense(), problem.relation.public_rows()
    size = np.abs(wanted).max(axis=1)
    needed, shares = combination(_cleared(wanted - answers @ rows, size), public, size)
    measured = np.vstack([within.matrix(problem), public[needed]])
    weights = np.append(whole.weights(rates.weights), np.full(int(needed.sum()), np.inf))
    rebuilt = reconstruction_of(np.hstack([within.reconstruction, shares[:, needed]]), measured, wanted)
    coordinates = Coordinates(measured, rebuilt, np.isfinite(weights))
    norm = weighted_l1(weights)
    return freeze(problem, NAME, coordinates, 1 / weights, lambda _: norm, "exponential", bound, whole=True)


def _answers_of(asked: RateProblem, rates: Rates) -> Floats:
    """The weighted least squares; in the absolute loss whole multiples of rows for the queries that they serve better, as they
    do where noise is seldom anything but 0."""
    try:
        best = reconstruction(asked, rates)
    except ValueError as failed:
        raise DesignFailed(f"{NAME}: {failed}") from None
    plain = plain_reconstruction(asked, rates) if asked.loss == "absolute" else None
    if plain is None or not (rates.steps > 0).all():
        return best
    each = rates.weights * rates.steps
    errors = [mean_absolute_of_geometrics(answers * rates.steps, each) for answers in (best, plain)]
    return np.where((errors[1] < errors[0])[:, None], plain, best)


def _cleared(rest: Floats, size: Floats) -> Floats:
    """What the reconstruction leaves of the queries, without its rounding."""
    return np.where(np.abs(rest) > 1e-11 * size[:, None], rest, 0.0)


def _bound(asked: RateProblem) -> Bound | None:
    """What no additive noise beats in the squared loss: the precision of any has `d' X d <= 2 sinh^2(b / 2)`."""
    if asked.loss != "squared" or asked.changes.budget.max(initial=0.0) > STEEPEST:
        return None
    return _bound_of((asked.workload.T * asked.costs) @ asked.workload, asked.changes)


def _bound_of(gram: Floats, changes: Changes) -> Bound:
    """The same of a Gram matrix (C, C)."""
    return Bound(OBJECTIVE, _of_all_noise(gram, changes), "the bound for all additive noise", on_grid=True)


def _of_all_noise(gram: Floats, changes: Changes) -> float:
    """A lower bound of `tr(W S)` over the covariances S of additive noise, gram W: (C, C)."""
    return singular_value_bound(gram, Changes(changes.matrix, 2 * np.sinh(changes.budget / 2)))


def floor(problem: Problem) -> float:
    """What every design of this family loses at least, as `designer.designing.strategy_laplace.floor`, for noise in whole
    numbers."""
    if not is_bounded(problem) or _is_unwritten(problem):
        return 0.0
    atoms = Atoms.of(problem)
    if len(atoms) > BOUNDED:
        return 0.0
    changes, gram = atoms.changes, asked_gram(problem, atoms.workload)
    if not 0 < changes.budget.max(initial=0.0) <= STEEPEST:
        return 0.0
    return ON_STEPS * max(independent_noise_bound(gram, changes, whole=True), _of_all_noise(gram, changes))


def _in_steps(problem: Problem, atoms: Atoms) -> tuple[Floats, Floats]:
    """The queries on the atoms in the largest steps of which all their protected differences are multiples, (K, C), and these
    steps, (K,); as they are, and 0, where there is none."""
    steps = in_units(problem.workload.dense(), problem.relation).steps
    steps = np.where(steps * MOST_UNITS > np.abs(atoms.workload).max(axis=1), steps, 0.0)
    return atoms.workload / np.where(steps > 0, steps, 1.0)[:, None], steps


def _folklore(problem: Problem, atoms: Atoms) -> list[tuple[Floats, dict[str, Floats | None]]]:
    """What needs no search, rows with rates by name: counts of the atoms, added up, and every query for itself, at the best
    rates, at those of equal shares of the budgets, and at one for all."""
    queries, steps = _in_steps(problem, atoms)
    moving = np.abs(atoms.changes.along(atoms.workload)).max(axis=1) > 0
    alone = weights_of_queries(problem, moving, steps).point
    sizes = np.where(steps > 0, steps, 1.0)[moving]
    rates = dict(zip(FOLKLORE[1:], (alone * sizes, None, sizes), strict=True))
    return [(np.eye(len(atoms)), {FOLKLORE[0]: None}), (queries[moving], rates)]


def _all_starts(problem: Problem, atoms: Atoms, search: bool = True) -> Rows:
    """What needs no search, each at its best rates, and the rows that a search begins with besides."""
    plain = {name: (rows, weights) for rows, rates in _folklore(problem, atoms) for name, weights in list(rates.items())[:1]}
    return plain | dict(_starts(problem, atoms, _in_steps(problem, atoms)[0]) if search else {})


def _starts(problem: Problem, atoms: Atoms, queries: Floats) -> Iterator[Start]:
    """Further rows that the search begins with, by name, with rates where some are known."""
    size, changes = len(atoms), atoms.changes
    queries = queries[np.abs(changes.along(atoms.workload)).max(axis=1) > 0]
    if not _is_small(atoms, changes):
        return
    distinct = _distinct(queries)
    yield "the queries and the atoms", (_distinct(np.vstack([np.eye(size), distinct])), None)
    few = distinct[:PAIRED]
    paired = [one + sign * other for place, one in enumerate(few) for other in few[:place] for sign in (1.0, -1.0)]
    if paired:
        yield "sums and differences of the queries", (_distinct(np.vstack([*paired, distinct[PAIRED:]])), None)
    parts = _partitions(distinct)
    for blocks in _groupings(len(parts)) if len(parts) <= MERGED else ():
        tables = [reduce(_met, (parts[i] for i in block)) for block in blocks]
        told = " and ".join("x".join(map(str, block)) for block in blocks)
        yield f"tables {told}", (_distinct(np.vstack([_indicators(table) for table in tables])), None)
    total = np.ones((1, size))
    yield "counts of atoms and their total", (_distinct(np.vstack([np.eye(size), total])), None)
    if size > 2:
        yield "running totals", (prefix(size), None)
        yield "wavelet", (wavelet(size), None)
        fans = range(2, size) if size <= ALL_TREES else [k for k in (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32) if k < size]
        for fan in fans:
            yield f"tree of {fan}", (hierarchical(size, fan), None)
    yield from _weighted(problem, atoms, changes)


def _weighted(problem: Problem, atoms: Atoms, changes: Changes) -> Iterator[Start]:
    """Where changes are single counts: p-identity strategies, whose further rows have real weights."""
    alone, size = changes.unit_budgets(), len(atoms)
    if alone is None or not np.isfinite(alone).all() or size < 4:
        return
    gram = (atoms.workload.T * problem.costs) @ atoms.workload
    if size > P_LARGEST:
        found = {"p-identity": large_p_identity(gram, np.minimum(alone, STEEPEST), compressed(atoms.workload), STEPS)}
    else:
        found = {
            f"p-identity, {share}, {restarts}": best_p_identity(gram, alone, round(size / share) or 1, restarts, 0, P_STEPS)[0]
            for share in P_SHARES
            for restarts in (1, 4)
        }
    for name, theta in found.items():
        theta = theta[theta.sum(axis=1) > 1e-6]
        if len(theta):
            rates = np.diagonal(p_identity_matrix(theta, alone)[:size])
            rows = np.vstack([np.eye(size), rounded_alike(theta * rates, 1)])
            yield name, (rows, np.append(rates, np.ones(len(theta))))


def _pool(queries: Floats) -> dict[str, Floats]:
    """Groups of rows that may be added, each once, by name."""
    found: dict[str, Floats] = {}
    seen: set[bytes] = set()
    for name, rows in _groups(_distinct(queries)):
        group = _distinct(rows)
        if len(found) < MOST_GROUPS and len(group) and group.tobytes() not in seen:
            seen.add(group.tobytes())
            found[f"{name} {len(found)}"] = group
    return found


def _groups(queries: Floats) -> Iterator[tuple[str, Floats]]:
    """The total, margins that runs of disjoint queries form, intervals of every width of a tree, queries, what two queries
    share, and single intervals."""
    size = queries.shape[1]
    parts = _partitions(queries)
    yield "total", np.ones((1, size))
    for place, part in enumerate(parts):
        yield "margin", _indicators(part)
        for other in parts[:place]:
            yield "margin", _indicators(_joined(part, other))
            yield "margin", _indicators(_met(part, other))
    for fan in (2, 3, 4, 8):
        width = fan
        while width < size:
            yield "intervals", _indicators(np.arange(size) // width)
            width *= fan
    for row in queries:
        yield "query", row[None]
    for place, row in enumerate(queries[:24]):
        for other in queries[:place]:
            yield "shared", (row * other)[None]
    ends = [(first, last) for first in range(size) for last in range(first + 2, size)] if size <= ALL_INTERVALS else []
    ends += [(first, first + width) for width in (2, 4, 8, 16, 32, 64) for first in range(0, size - width + 1, width)]
    for first, last in ends:
        yield "interval", ((np.arange(size) >= first) & (np.arange(size) < last))[None].astype(np.float64)


def _distinct(rows: Floats) -> Floats:
    """The rows that differ, whatever their signs, in order, without those of zeros."""
    kept: Floats = rows[np.abs(rows).max(axis=1, initial=0.0) > 0]
    if not len(kept):
        return kept
    signed = kept * np.sign(kept[np.arange(len(kept)), (kept != 0).argmax(axis=1)])[:, None]
    return np.asarray(kept[np.sort(np.unique(signed, axis=0, return_index=True)[1])])


def _partitions(queries: Floats) -> list[Indices]:
    """Labels of the atoms, (C,), by runs of consecutive queries that do not overlap; what none of them counts is a part."""
    found, label, part = [], np.zeros(queries.shape[1], dtype=np.intp), 0
    for row in queries:
        if not np.isin(row, (0.0, 1.0)).all():
            continue
        inside = row > 0
        if (label[inside] > 0).any():
            found.append(label)
            label, part = np.zeros_like(label), 0
        part += 1
        label[inside] = part
    found.append(label)
    return [label for label in found if len(np.unique(label)) > 1][:12]


def _groupings(count: int) -> Iterator[list[list[int]]]:
    """The ways to put so many things into blocks, each block in order, but one block each and one block for all.

    >>> list(_groupings(3))
    [[[0, 1], [2]], [[0, 2], [1]], [[0], [1, 2]]]
    """
    found: list[list[list[int]]] = [[]]
    for new in range(count):
        found = [
            [*blocks[:at], [*blocks[at], new], *blocks[at + 1 :]] if at < len(blocks) else [*blocks, [new]]
            for blocks in found
            for at in range(len(blocks) + 1)
        ]
    yield from (blocks for blocks in found if 1 < len(blocks) < count)


def _joined(one: Indices, other: Indices) -> Indices:
    """The finest partition that both refine."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(one.max()) + 1
    graph = coo_array((np.ones(len(one)), (one, size + other)), shape=(size + int(other.max()) + 1,) * 2)
    return np.asarray(connected_components(graph, directed=False)[1][one])


def _met(one: Indices, other: Indices) -> Indices:
    """The coarsest partition that refines both."""
    return np.ravel(np.unique(one * (int(other.max()) + 1) + other, return_inverse=True)[1])


def _indicators(label: Indices) -> Floats:
    """A row for each part, (g, C)."""
    return np.asarray(label == np.unique(label)[:, None], dtype=np.float64)


def _work(sizes: Sizes, search: bool = True) -> float:
    """Units of work: a search that ends at its effort, or sooner where little is asked; a moment without one."""
    if not search:
        return 0.0
    dimension = np.inf if _is_unwritten(sizes.problem) else sizes.dimension
    return float(min(0.1 + 0.02 * dimension, EFFORT / 10))


def _concerns(problem: Problem) -> bool:
    """Queries that are not written out only where records appear and the queries share them; elsewhere `laplace` is as good.
    And no nested counts, where they are many."""
    if has_best_tree(problem):
        return False
    described = is_described(problem.workload, problem.relation)
    return not described or (_is_unwritten(problem) and _appears(problem) and not disjoint(problem.workload.matrix))


STRATEGY_GEOMETRIC = Family(
    NAME,
    "whole-number noise on optimised whole-number queries",
    "pure",
    design_whole_strategy,
    search="Whole-number rows are searched by descent, in turns with the rates of their noise.",
    scans_little=True,
    described=True,
    where=_concerns,
    choices=({"search": False}, {"search": True}),
    work=_work,
    anytime=True,
    rank=0,
    floor=floor,
)
