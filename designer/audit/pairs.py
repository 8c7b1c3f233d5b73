"""The certificate by a second route: every protected pair in rationals, one by one; nothing is searched or bounded.

Choices for neighbouring data: their exact laws at a few public counts, against the budget of every protected change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from designer.audit.choice_sources import choice_law, few_counts, gains_of_databases, selection_gains
from designer.audit.verdict import Finding, not_looked_at, proven
from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import track
from designer.certified.sensitivity import SensitivitySet
from designer.mechanisms.channel.bound import LossPrices, proven_loss
from designer.mechanisms.channel.mechanism import Channel
from designer.mechanisms.choice.mechanism import Selection
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.marginals.protection import Presence
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.problem.relation import Relation, finite_pairs
from designer.relations.metrics.attributes import Hamming
from solvers.exact.balls import rational_ball
from solvers.exact.bits import working_precision
from solvers.exact.rational import float_below

LAW_SUBJECT = "law, enumerated"
MOST_COMPARED = 4000
Gains = Callable[[Sequence[int]], Floats]


def selections_compared(made: Selection) -> Finding:
    """The largest share of a budget that a choice spends, over the compared counts."""
    return _neighbours_compared(made.relation, made.law, lambda x: selection_gains(made, x), few_counts(made.score.size))


def databases_compared(made: SmallDB) -> Finding:
    """The same of the choice of a small database."""
    relation = made.queries.relation
    counts = _whole_counts(relation.size, made.records)
    return _neighbours_compared(relation, made.selection, lambda x: gains_of_databases(made, x), counts)


def _whole_counts(size: int, records: int) -> Iterator[list[int]]:
    """Counts of so many records in one element, or in two."""
    for first in range(min(size, 6)):
        for second in range(min(size, 6)):
            x = [0] * size
            x[first] += records - records // 3
            x[second] += records // 3
            yield x


def _neighbours_compared(relation: Relation, law: str, gains: Gains, counts: Iterator[list[int]]) -> Finding:
    if not relation.single_records:
        return not_looked_at(LAW_SUBJECT, "changes of several records at once are not listed one by one here")
    pairs = [pair for block in relation.blocks() for pair in zip(*(e.tolist() for e in finite_pairs(block)), strict=True)]
    worst, compared = 0.0, 0
    for x in counts:
        for ends in pairs:
            for i, j in (ends, ends[::-1]):
                budget = relation.exact_budget(i, j)
                moved = _moved(x, i, j)
                if moved is None or not budget or compared >= MOST_COMPARED:
                    continue
                share = _share(law, gains, x, moved, budget)
                worst, compared = max(worst, share or 0.0), compared + (share is not None)
    words = (
        f"{compared} pairs of neighbours at public counts: the largest share of a budget that a choice spends is {worst:.9g}"
    )
    return proven(LAW_SUBJECT, words, worst <= 1 + 1e-7, compared=compared, largest=worst)


def _moved(x: Sequence[int], i: int, j: int) -> list[int] | None:
    """A record of i becomes one of j; an index beyond the elements is no record."""
    moved = list(x)
    if i < len(x):
        moved[i] -= 1
        if moved[i] < 0:
            return None
    if j < len(x):
        moved[j] += 1
    return moved


def _share(law: str, gains: Gains, x: Sequence[int], moved: Sequence[int], budget: Fraction) -> float | None:
    """The largest log-likelihood ratio of two laws over the budget; None for counts that are refused."""
    try:
        both: list[Any] = [choice_law(law, gains(counts)) for counts in (x, moved)]
    except (InvalidProblem, ValueError, OverflowError):
        return None
    seen = (both[0] > 1e-250) & (both[1] > 1e-250)
    return float(np.abs(np.log(both[0][seen] / both[1][seen])).max(initial=0.0)) / float(budget)


def every_row_compared(made: Channel) -> Finding:
    """Every ordered pair of values of a channel, implied ones too: the largest ratio of two probabilities as a fraction, its
    logarithm in balls against the budget."""
    size, worst = made.relation.size, 0.0
    if size * (size - 1) > MOST_PAIRS:
        return not_looked_at(SUBJECT, f"more than {MOST_PAIRS} ordered pairs; the certificate goes through those that decide")
    kept = True
    with working_precision(256):
        for i, j in product(range(size), repeat=2):
            budget = made.relation.exact_budget(i, j)
            if i == j or budget is None:
                continue
            ratio = max(Fraction(p, q) for p, q in zip(made.numerators[i], made.numerators[j], strict=True))
            spent = rational_ball(ratio).log()
            kept = kept and bool(spent <= rational_ball(budget)) if ratio > 1 else kept
            worst = max(worst, float(spent.mid()) / float(budget) if budget else 0.0)
    pairs = size * (size - 1)
    words = f"{pairs} ordered pairs, every report as a fraction: the largest share of a budget that is spent is {worst:.9g}"
    return proven(SUBJECT, words, kept, pairs=pairs, largest=worst)


def bound_recomputed(made: Channel) -> Finding:
    """The loss that no channel is below, in rationals, from the prices that the spec carries as a note."""
    subject, note = "lower bound of the loss", made.provenance.get("prices")
    if note is None or made.optimality is None:
        return not_looked_at(subject, "the spec carries no prices that would prove one")
    try:
        prices = LossPrices.from_note(note, len(made.prior))
    except InvalidProblem as failure:
        return proven(subject, f"the note is none: {failure}", False)
    bound = float_below(proven_loss(made.relation, made.prior, made.losses, prices))
    reports = f"{len(made.reports) + prices.unused.shape[1]} reports"
    kind, loss = ("expected loss", made.loss) if prices.shares is None else ("loss at the worst value", made.worst_loss)
    words = (
        f"no channel with these budgets and these losses of {reports} has an {kind} below {bound!r}, in rationals from the "
        f"prices in the file; the note says {made.optimality.lower_bound!r}, and this one has {loss!r}"
    )
    return proven(subject, words, made.optimality.lower_bound <= bound, bound=bound, loss=loss)


MOST_PAIRS = 20_000
MOST_CELLS = 150
SUBJECT = "certificate, every pair"
Vector = list[Fraction]
Moved = Callable[[tuple[int, ...]], list[tuple[Fraction, int]]]


def every_pair(made: Any) -> Finding:
    """The largest ratio of all pairs of the certificate's own list."""
    sensitivity = _sensitivity(made)
    if isinstance(sensitivity, str):
        return not_looked_at(SUBJECT, sensitivity)
    try:
        pairs = _listed(sensitivity)
    except DesignFailed:
        return not_looked_at(SUBJECT, "changes of every size are protected, and no pairs are listed")
    if pairs is None:
        return not_looked_at(SUBJECT, f"more than {MOST_PAIRS} pairs; the certificate bounds or searches them")
    return _compared(made, sensitivity, pairs)


def _sensitivity(made: Any) -> SensitivitySet | str:
    """The pairs of a certificate and their norm; in words why there are none."""
    owner = getattr(made, "queries", made)
    if not hasattr(owner, "sensitivity") or not hasattr(owner, "norm"):
        return "the certificate is no list of pairs of points"
    found = owner.sensitivity()
    if type(found) is not SensitivitySet:
        return "the longest change is computed, and no pairs are listed"
    return found


def _listed(sensitivity: SensitivitySet) -> set[tuple[int, int]] | None:
    found: set[tuple[int, int]] = set()
    for block in sensitivity.relation.blocks():
        left, right = finite_pairs(block)
        found.update(zip(left.tolist(), right.tolist(), strict=True))
        if len(found) > MOST_PAIRS:
            return None
    return found


def _compared(made: Any, sensitivity: SensitivitySet, pairs: set[tuple[int, int]]) -> Finding:
    owner, worst = getattr(made, "queries", made), Fraction(0)
    for left, right in track(sorted(pairs), "pairs in rationals"):
        u, budget = sensitivity.exact(left, right)
        if budget is None or not any(u):
            continue
        length = owner.norm.exact(u)
        if length is None or budget == 0:
            return proven(SUBJECT, f"the pair {left}, {right} is told apart for certain", False)
        worst = max(worst, length / budget)
    claimed = owner.privacy.worst_ratio
    agrees = claimed is not None and worst <= claimed <= worst * (1 + Fraction(1, 10**6)) + Fraction(1, 10**9)
    words = (
        f"{len(pairs)} pairs in rationals: the largest ratio is {float(worst):.12g}, the certificate says {float(claimed):.12g}"
    )
    return proven(SUBJECT, words, worst <= 1 and (agrees or worst <= claimed), pairs=len(pairs), largest=float(worst))


def every_pair_of_cells(made: StructuredMechanism | MarginalMechanism, moved: Moved) -> Finding:
    """The largest share of a budget of all pairs of cells of a small domain, and of every cell against none where presence is
    protected. moved: what a record of a cell moves measured numbers by."""
    domain = made.workload.domain
    if float(np.prod([float(n) for n in domain.shape])) > MOST_CELLS:
        return not_looked_at(SUBJECT, f"more than {MOST_CELLS} cells; the certificate multiplies factors")
    cells = list(product(*(range(n) for n in domain.shape)))
    images = [moved(cell) for cell in cells]
    power = 1 if getattr(made, "noise", None) == "laplace" else 2
    worst, pairs = Fraction(0), 0
    for spent, budget in _cell_pairs(made, cells, images, power):
        pairs += 1
        worst = max(worst, spent / budget**power)
    words = f"{pairs} pairs of cells in rationals: the largest share of a budget is {float(worst) ** (1 / power):.12g}"
    return proven(SUBJECT, words, worst <= 1, pairs=pairs, largest=float(worst) ** (1 / power))


def _cell_pairs(made: Any, cells: list[Any], images: list[Any], power: int) -> Iterator[tuple[Fraction, Fraction]]:
    """What each protected pair spends (of squares, under Gaussian noise), and its budget."""
    if isinstance(made.protection, Presence):
        for image in images:
            yield _spent(image, [0] * len(image), power), Fraction(made.protection.epsilon)
        return
    for i, j in combinations(range(len(cells)), 2):
        budget = _budget(made.protection, cells[i], cells[j])
        if budget is not None:
            yield _spent(images[i], images[j], power), budget


def _budget(protection: Any, left: tuple[int, ...], right: tuple[int, ...]) -> Fraction | None:
    """The sum over the attributes that differ, None where one is unprotected."""
    total = Fraction(0)
    for axis, (a, b) in enumerate(zip(left, right, strict=True)):
        if a == b:
            continue
        if isinstance(protection, Hamming):
            part = None if np.isinf(protection.budgets[axis]) else Fraction(protection.budgets[axis])
        else:
            part = protection.parts[axis].exact_budget(a, b)
        if part is None:
            return None
        total += part
    return total


def _spent(left: list[tuple[Fraction, int]], right: list[Any], power: int) -> Fraction:
    """The sum of strength times size, or squared size, of the differences; a strength of None is published exactly."""
    total = Fraction(0)
    for k, (strength, value) in enumerate(left):
        other = right[k][1] if right[k] else 0
        if value != other:
            total += strength * abs(value - other) ** power
    return total


def moved_products(made: StructuredMechanism) -> Moved:
    """What a record of a cell adds to each measured coordinate, with the strength of its noise."""

    def moved(cell: tuple[int, ...]) -> list[tuple[Fraction, int]]:
        found = []
        for block in made.blocks:
            entries = [1]
            for axis in sorted(block.parts):
                column = made.matrices[axis][block.parts[axis]].rows[:, cell[axis]].tolist()
                entries = [e * int(c) for e in entries for c in column]
            found += [(Fraction(block.strength), entry) for entry in entries]
        return found

    return moved


def moved_residuals(made: MarginalMechanism) -> Moved:
    """The contrasts of a record of a cell, with their precisions: `+1` below the place, `-k` at it, 0 beyond."""
    loud = Fraction(10**30)  # a residual that is published exactly must not move

    def moved(cell: tuple[int, ...]) -> list[tuple[Fraction, int]]:
        found = []
        for k, subset in enumerate(made.workload.measured.tuples()):
            precision = Fraction(float(made.precisions[k])) if np.isfinite(made.precisions[k]) else loud
            entries = [(1, 1)]
            for axis in subset:
                own = [(1 if cell[axis] < i else -i if cell[axis] == i else 0, i * (i + 1)) for i in range(1, _n(made, axis))]
                entries = [(e * c, n * m) for e, n in entries for c, m in own]
            found += [(precision / norm, entry) for entry, norm in entries]
        return found

    return moved


def _n(made: MarginalMechanism, axis: int) -> int:
    return int(made.workload.domain.shape[axis])
