"""The certificate by a second route: the second verifier, or protected pairs in rationals where that cannot check a spec.

Choices for neighbouring data: their exact laws at a few public counts, against the budget of every protected change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from designer.audit.balance_tests import Integers
from designer.audit.choice_sources import choice_law, few_counts, gains_of_databases, selection_gains
from designer.audit.mean_tests import Source
from designer.audit.verdict import Finding, not_looked_at, proven, tested
from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.base.json_text import canonical, plain, readable_text
from designer.base.progress import track
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.certificate.sensitivity import SensitivitySet
from designer.files.spec import from_spec
from designer.mechanism.additive import AdditiveMechanism, is_unwritten
from designer.mechanism.interface import Mechanism
from designer.problem.compressed_rows import compressed
from designer.problem.relation import Relation, finite_pairs
from designer.sampling.entropy import Entropy
from solvers.exact.balls import rational_ball, working_precision
from solvers.exact.rational import float_below

if TYPE_CHECKING:
    from designer.lattice.mechanism import LatticeMechanism
    from designer.local.mechanism import Channel
    from designer.selection.mechanism import Selection
    from designer.synthetic.small_databases import SmallDB

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
    from designer.local.peaks import LossPrices, proven_loss

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
SUBJECT = "certificate, every pair"


def every_pair(made: FrozenMechanism, own: Callable[[Any], Finding]) -> Finding:
    """Every protected pair by the second verifier, a process of its own; where that cannot check the spec, by `own`."""
    from designer.verifier import INSTALLED, NoVerdict, verify

    try:
        verdict, sentences = verify(INSTALLED, readable_text(to_spec(made)).encode())
    except (NoVerdict, InvalidProblem) as failure:
        verdict, sentences = "cannot check", [str(failure)]
    second, said = f"the second verifier, {INSTALLED.name}", "; ".join(sentences)
    if verdict != "cannot check":
        return proven(SUBJECT, f"{second}: {said}", verdict == "holds")
    found = own(made)
    return replace(found, words=f"{found.words}; {second}, cannot check the spec: {said}")


def listed_pairs(made: Any) -> Finding:
    """The largest ratio of all pairs of the certificate's own list."""
    owner, pairs, worst = getattr(made, "queries", made), None, Fraction(0)
    if hasattr(owner, "sensitivity") and hasattr(owner, "norm"):
        sensitivity = owner.sensitivity()
        pairs = _listed(sensitivity.relation) if type(sensitivity) is SensitivitySet else None
    if pairs is None:
        return not_looked_at(SUBJECT, f"the certificate lists no pairs of points, or more than {MOST_PAIRS}")
    for left, right in track(sorted(pairs), "pairs in rationals"):
        u, budget = sensitivity.exact(left, right)
        if budget is None or not any(u):
            continue
        length = owner.norm.exact(u)
        if length is None or budget == 0:
            return proven(SUBJECT, f"the pair {left}, {right} is told apart for certain", False)
        worst = max(worst, length / budget)
    claimed = owner.privacy.worst_ratio
    words = (
        f"{len(pairs)} pairs in rationals: the largest ratio is {float(worst):.12g}, the certificate says {float(claimed):.12g}"
    )
    return proven(SUBJECT, words, worst <= min(1, claimed), pairs=len(pairs), largest=float(worst))


def _listed(relation: Relation) -> set[tuple[int, int]] | None:
    """The protected pairs; None where changes of every size are protected, and where they are too many."""
    found: set[tuple[int, int]] = set()
    with suppress(DesignFailed):
        for block in relation.blocks():
            left, right = finite_pairs(block)
            found.update(zip(left.tolist(), right.tolist(), strict=True))
            if len(found) > MOST_PAIRS:
                return None
        return found
    return None


# Checks that need no statistics: the certificate again, the file, fingerprints, grids, kernels, exact answers, time.
#
# Whole releases of public data, as a caller makes them: what comes out less the exact answers is the noise.


WIDTH = 2**10  # a release costs as much as this many numbers


def whole_releases(source: Source, once: Callable[[], Integers]) -> Source | None:
    """The same source with releases in the place of draws. once: the noise of one, (m,)
    in steps. None where that is refused."""
    try:
        once()
    except InvalidProblem:
        return None

    def draw(size: int) -> Integers:
        return np.array([once() for _ in range(size)], dtype=np.int64)

    return replace(source, name="whole releases", draw=draw, width=max(WIDTH, source.width))


def noise_of_answers(made: AdditiveMechanism) -> Integers:
    """The answers to no records, in steps."""
    released = made.release([0] * made.relation.size).answers
    found = np.rint(np.asarray(released)[made.noise.heard] / made.grid.steps[made.noise.heard])
    return np.asarray(found, dtype=np.int64)


def noise_of_table(made: LatticeMechanism) -> Integers:
    """The released table less the table."""
    impossible = set(made.relation.impossible)
    table = [0 if k in impossible else 1 for k in range(made.relation.size)]
    return np.array(made.release(table).table, dtype=np.int64) - np.array(table, dtype=np.int64)


MOST_LEAVES = 400
DRAWS = 256
TIMED = 400
KEPT_EXACT = 2.0**-40
REACHABLE = "reachable outputs"
TIME = "time of a draw"


def recomputed(made: FrozenMechanism) -> Finding:
    """The certificate, from the frozen numbers alone."""
    found = made.verify()
    holds = bool(getattr(found, "holds", True)) and plain(vars(found)) == plain(vars(made.privacy))
    return proven(
        "certificate", "recomputed from the frozen numbers in exact arithmetic: it holds and is the one of the spec", holds
    )


def constructible(made: FrozenMechanism) -> Finding:
    """The object from its own plain data."""
    subject = "constructible"
    try:
        again = from_spec(plain(to_spec(made)), allow_vacuous=made.allow_vacuous)
    except (InvalidProblem, InvalidSpec, NotPrivate, DesignFailed) as refusal:
        return proven(subject, f"its own spec is refused: {str(refusal)[:200]}", False)
    return proven(
        subject, "its spec makes an equal object again, of the same fingerprint", again.fingerprint == made.fingerprint
    )


def injective(made: FrozenMechanism) -> Finding:
    """Every entry of the core changed, one at a time: no two fingerprints agree."""
    core = plain(made.core())
    leaves = list(_leaves(core))[:MOST_LEAVES]
    seen = {canonical(core)}
    for path in leaves:
        seen.add(canonical(_changed(core, path)))
    holds = len(seen) == len(leaves) + 1
    return proven(
        "injective", f"{len(leaves)} entries of the core changed one at a time: {len(seen)} different fingerprints", holds
    )


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to numbers, texts and empty entries."""
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
    if entries is None:
        yield path
        return
    for key, value in entries:
        yield from _leaves(value, (*path, key))


def _changed(node: Any, path: tuple[Any, ...]) -> Any:
    """The same data with one leaf changed."""
    if not path:
        if isinstance(node, bool) or node is None:
            return "changed"
        return node + "0" if isinstance(node, str) else node + 1 + abs(node)
    copied = dict(node) if isinstance(node, dict) else list(node)
    copied[path[0]] = _changed(copied[path[0]], path[1:])
    return copied


ROWS_COMPARED = 8  # rows of those that are not written out


def on_the_grid(made: AdditiveMechanism) -> Finding:
    """That protected differences are whole steps."""
    points, integers = made.grid.values(made.integers), made.integers
    if is_unwritten(made):
        points, integers = (compressed(rows[:ROWS_COMPARED])[:, :200].toarray() for rows in (points, integers))
    steps = [made.grid.step(k) for k in range(len(points))]
    whole = all(
        Fraction(float(value)) == int(number) * step
        for row, numbers, step in zip(points, integers, steps, strict=True)
        for value, number in zip(row[:200], numbers[:200], strict=True)
    )
    words = (
        "what an element adds to a measured answer is a whole number of the steps that noise is drawn in, for all neighbours"
    )
    return proven(REACHABLE, words, whole)


def in_the_kernel(made: LatticeMechanism) -> Finding:
    """That protected differences keep the constraints."""
    try:
        moved = made.sensitivity().all_pairs(100_000)
    except DesignFailed:
        words = "every protected change keeps the constraints by definition; they are not listed"
        return proven(REACHABLE, words)
    if made.cells is not None:
        return proven(REACHABLE, "every draw keeps the constraints (below), as protected changes do by definition")
    kept = not (moved.differences @ made.relation.invariant.constraints.T).any()
    return proven(REACHABLE, f"{len(moved)} protected changes keep the constraints, as every draw does (below)", kept)


SURELY_SEEN = 64  # whole noise of variance SURELY_SEEN / DRAWS is 0 in all draws with a chance of about exp(-SURELY_SEEN)


def noisy(made: Mechanism, entropy: Entropy) -> Finding:
    """Which answers get noise in draws, against those that are declared exact."""
    drawn = np.asarray(made.noise_in_answers(DRAWS, entropy))
    spread = np.abs(drawn).max(axis=0)
    still = spread <= KEPT_EXACT * spread.max(initial=0.0)
    silent = {name for name, quiet in zip(made.workload.queries, still, strict=True) if quiet}
    undeclared = sorted(silent - set(made.exact))
    variances = dict(zip(made.workload.queries, made.query_variances(), strict=True)) if undeclared else {}
    rare = [name for name in undeclared if 0 < variances[name] < SURELY_SEEN / DRAWS]
    wrong = sorted((set(undeclared) - set(rare)) | (set(made.exact) - silent))
    words = f"{DRAWS} draws: {len(silent) - len(undeclared)} answers without noise, all declared exact"
    if wrong:
        words = f"{DRAWS} draws: not as declared: {', '.join(wrong[:5])}"
    return tested("noisy", words, not wrong, draws=DRAWS)


def timing(made: Mechanism, entropy: Entropy) -> Finding:
    """The rank correlation of the time of a draw with the size of the noise: reported, and excluded by the threat model."""
    from scipy.stats import spearmanr

    taken, sizes = [], []
    for _ in range(TIMED):
        start = time.perf_counter_ns()
        drawn = made.noise_in_answers(1, entropy)
        taken.append(time.perf_counter_ns() - start)
        sizes.append(float(np.abs(drawn).sum()))
    if np.ptp(sizes) == 0:
        return not_looked_at(TIME, "no answer gets any noise")
    found = float(spearmanr(taken, sizes).statistic)
    words = (
        f"rank correlation with the size of the noise {found:+.3f} over {TIMED} single draws (by chance up to "
        f"{2.6 / TIMED**0.5:.2f} in 99 of 100 runs); reported and not judged: the guarantee excludes time"
    )
    return Finding("not looked at", TIME, words, None, {"rank_correlation": found, "draws": TIMED})
