"""What noise on a lattice promises beyond its budget: the law of the privacy loss, whichever protected change was made.

The loss of a change u at noise z is `||z + u|| - ||z||`, up to its sign. Closed forms for l1 noise on classes and on tables of
two rows, sums over the lattice elsewhere; what is not summed counts as the largest loss (docs/theory/lattice.md, 11).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.certificate.norms import Gauge, Norm
from designer.lattice.accuracy import LatticeBox, box_within, half_of
from designer.limits import MOST_LOSSES
from designer.relations.invariants.one_budget import InvariantChanges
from designer.sampling.integer_laplace import chance_of_move
from designer.tradeoff.functions import Tradeoff
from designer.tradeoff.response_mixture import ResponseMixture

if TYPE_CHECKING:
    from designer.lattice.law import LatticeLaw
    from designer.lattice.mechanism import LatticeMechanism

MOST_LISTED = 400  # changes whose losses are summed one by one
MOST_SUMMED = 100_000_000  # products of places, rows of the norm and changes: about a second
MOST_LENGTH = 45.0  # noise beyond has about 1e-16 of the mass
MOST_LEFT = 0.1  # of the mass: where more is not summed, the law says too little
SHORTER = 0.9
RUNGS = 64  # that the largest loss is divided into, where losses have no common unit
WITHIN = Fraction(1, 2**30)  # relatively: a unit that was rounded towards privacy
ROUNDED = 1 + 1e-9  # for the floats that added probabilities up
MOST_CELLS = 100_000  # of a class whose closed form is summed

_known: WeakKeyDictionary[LatticeMechanism, Tradeoff | None] = WeakKeyDictionary()


def law_of_loss(mechanism: LatticeMechanism) -> Tradeoff | None:
    """The promise for every protected change of exponential noise that is drawn exactly, under one budget for all changes;
    None where no more is known than the budget."""
    if mechanism not in _known:
        _known[mechanism] = _computed(mechanism)
    return _known[mechanism]


def _computed(mechanism: LatticeMechanism) -> Tradeoff | None:
    relation = mechanism.relation
    if mechanism.chain or mechanism.falloff != "exponential" or not isinstance(relation, InvariantChanges):
        return None
    law = mechanism.law
    found = _of_moves(law, relation)
    return found if found is not None else _summed(law, relation)


def _of_moves(law: LatticeLaw, relation: InvariantChanges) -> Tradeoff | None:
    """Of l1 noise, where every protected change is one record that moves within its class, or a pair of records within a table
    of two rows: the loss is the length of the change, either way, or 0
    (`chance_of_move` of the cells of a class, or of the columns)."""
    known = relation.invariant.structure
    if known is None or not law.equal_weights or law.norm.order != "l1":
        return None
    if known.kind == "margins":
        fits = relation.adjacency == 2 and len(known.levels) == 2 and min(known.levels) == 2 and known.repeats == 1
        sizes = {max(known.levels)}
    else:
        fits = relation.adjacency == 1 and not len(known.free)
        sizes = {len(block) for block in known.blocks()} - {1}
    if not fits or not sizes or max(sizes) > MOST_CELLS:
        return None
    length = 2 * relation.adjacency * Fraction(float(law.norm.map[0]))
    chance = max(chance_of_move(n, length) for n in sizes)
    return ResponseMixture.above(_up_to(relation.largest_exact_budget(), length, 1), [chance])


def _up_to(budget: Fraction, unit: Fraction, steps: int) -> Fraction:
    """The unit, a little larger where so many are the budget but for its rounding to a float."""
    return max(unit, budget / steps) if budget <= unit * steps * (1 + WITHIN) else unit


class _Lengths(NamedTuple):
    """Lengths of vectors of the measured cells, (R, n), in units of `unit`; whole: all of them are whole numbers."""

    of: Callable[[NDArray[Any]], Floats]
    unit: Fraction
    whole: bool
    rows: int


def _lengths(law: LatticeLaw, budget: Fraction) -> _Lengths:
    norm, rows = law.norm, len(np.atleast_2d(law.norm.factor))
    if isinstance(norm, Gauge):
        facets = norm.body.facets
        common = math.lcm(*(int(d) for d in facets.denominators))
        if budget * common * Fraction(norm.scale) >= MOST_LOSSES:  # units far below the losses
            return _Lengths(lambda z: np.asarray(norm(z.T)), Fraction(1), False, rows)
        faces = (facets.numerators * (common // facets.denominators)[:, None]).astype(np.float64)
        return _Lengths(lambda z: np.abs(faces @ z).max(axis=0), 1 / (common * Fraction(norm.scale)), True, rows)
    if norm.order == "l1" and law.equal_weights:
        return _Lengths(lambda z: np.abs(z).sum(axis=0), Fraction(float(norm.map[0])), True, rows)
    return _Lengths(lambda z: np.asarray(norm(z.T)), Fraction(1), False, rows)


def _summed(law: LatticeLaw, relation: InvariantChanges) -> Tradeoff | None:
    """Summed over the lattice for every change that is listed, up to signs and to what permutes the cells of a table."""
    if not relation.listed or len(relation.changes) > MOST_LISTED:
        return None
    budget = relation.largest_exact_budget()
    measure, changes = _lengths(law, budget), _representatives(law, relation)
    box = _affordable(law, measure.rows * (2 * len(changes) + 1))
    if box is None:
        return None
    steps = changes[:, law.columns].astype(np.float64)[:, :, None]
    rung, scale = measure.unit if measure.whole else budget / RUNGS, float(measure.unit)
    if budget / rung >= MOST_LOSSES:
        return None
    sums, mass, count = np.zeros((len(steps), int(budget / rung) + 2)), 0.5, 0.5
    for u, own in zip(steps, sums, strict=True):
        _add(own, measure.of(u), np.full(1, 0.5), measure, rung)
    for points in half_of(box):
        cells = (points @ box.basis).T
        lengths = measure.of(cells)
        near = scale * lengths <= box.length
        cells, lengths = cells[:, near], lengths[near]
        weights = np.exp(-scale * lengths)
        mass, count = mass + float(weights.sum()), count + len(lengths)
        for u, own in zip(steps, sums, strict=True):
            for moved in (cells + u, cells - u):
                _add(own, np.abs(measure.of(moved) - lengths), weights / 2, measure, rung)
    left = _left_out(law.norm, box, 2 * count) / (2 * mass)
    if not left <= MOST_LEFT:
        return None
    reached = np.cumsum((sums / mass)[:, ::-1], axis=1)[:, ::-1].max(axis=0) * ROUNDED + left
    last = int(np.flatnonzero(sums.any(axis=0))[-1])
    step = math.gcd(*np.flatnonzero(sums.any(axis=0)).tolist())  # the largest unit of the losses that occur
    return ResponseMixture.above(_up_to(budget, rung * step, last // step), reached[step : last + 1 : step].tolist())


def _add(own: Floats, sizes: Floats, weights: Floats, measure: _Lengths, rung: Fraction) -> None:
    """Add weights at the sizes of losses, in rungs. A loss between two of them is divided so that `tanh(loss / 2)`, how far
    the two laws are apart, is kept: two responses that tell more together than the one in their place."""
    if measure.whole:
        own += np.bincount(sizes.astype(np.int64), weights, len(own))
        return
    step = float(rung)
    low = np.minimum(np.floor(sizes / step).astype(np.int64), len(own) - 2)
    ends = np.tanh(step * np.arange(len(own)) / 2)
    share = np.clip((np.tanh(sizes / 2) - ends[low]) / (ends[low + 1] - ends[low]) + 1e-9, 0.0, 1.0)
    share = np.where(low == len(own) - 2, 0.0, share)  # the largest loss is the budget, but for floats
    own += np.bincount(low, weights * (1 - share), len(own)) + np.bincount(low + 1, weights * share, len(own))


def _representatives(law: LatticeLaw, relation: InvariantChanges) -> NDArray[np.int64]:
    """One of each pair u, -u of changes; one alone where permutations of rows and columns lead from any to any other: four
    cells of a table, under a norm that they leave as it is."""
    changes = np.asarray(relation.changes)
    leading = np.take_along_axis(changes, (changes != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    changes = changes[leading > 0]
    known = relation.invariant.structure
    table = known is not None and known.kind == "margins" and known.alike
    if (
        table
        and (np.abs(changes).sum(axis=1) == 4).all()
        and (law.equal_weights or _is_hull_of(law.norm, changes[:, law.columns]))
    ):
        return changes[:1]
    return changes


def _is_hull_of(norm: Norm, changes: NDArray[np.int64]) -> bool:
    """Is the norm the gauge of all changes, each over one budget?"""
    if not isinstance(norm, Gauge) or len(set(norm.budgets.tolist())) > 1:
        return False
    both = {tuple(row) for row in np.concatenate([changes, -changes]).tolist()}
    given = {tuple(row) for row in norm.differences.tolist()}
    return given <= both and {tuple(-x for x in row) for row in given} | given == both


def _affordable(law: LatticeLaw, products: int) -> LatticeBox | None:
    """The longest vectors that are summed within the work that is allowed."""
    length = MOST_LENGTH
    while length > 1:
        box = box_within(law, length)
        if box is None:
            return None
        if math.prod((2.0 * box.reach + 1).tolist()) * products <= MOST_SUMMED:
            return box
        length *= SHORTER
    return None


def _left_out(norm: Norm, box: LatticeBox, count: float) -> float:
    """A bound of `sum exp(-||z||)` over the vectors longer than `box.length` = R, of which `count` are not.

    With D the largest length in the cell of the basis around 0, each ball of length t holds at most `count ((t + D)/(R - D))^m`
    vectors, by volumes; summed by parts, the rest is at most `count e^D Gamma(m + 1, R + D) / (R - D)^m`."""
    from scipy.special import gamma, gammaincc

    m, reach = len(box.basis), box.length
    signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * m)).reshape(m, -1).T
    cell = float(np.asarray(norm(signs @ box.basis)).max()) * ROUNDED
    if reach <= cell:
        return math.inf
    return count * math.exp(cell) * float(gammaincc(m + 1, reach + cell) * gamma(m + 1)) / (reach - cell) ** m * ROUNDED
