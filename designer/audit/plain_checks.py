"""Checks that need no statistics: the certificate again, the file, fingerprints, grids, kernels, exact answers, time.

Whole releases of public data, as a caller makes them: what comes out less the exact answers is the noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from designer.audit.stated_law import Integers
from designer.audit.tally import Source
from designer.audit.verdict import Finding, not_looked_at, proven, tested
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.base.json_text import canonical, plain
from designer.certified.frozen import Specified, to_spec
from designer.files.spec import from_spec
from designer.mechanisms.additive.interface import Mechanism
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.problem.rows import compressed
from designer.sampling.entropy import Entropy

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


def recomputed(made: Specified) -> Finding:
    """The certificate, from the frozen numbers alone."""
    found = made.verify()
    holds = bool(getattr(found, "holds", True)) and plain(vars(found)) == plain(vars(made.privacy))
    return proven(
        "certificate", "recomputed from the frozen numbers in exact arithmetic: it holds and is the one of the spec", holds
    )


def constructible(made: Specified) -> Finding:
    """The object from its own plain data."""
    subject = "constructible"
    try:
        again = from_spec(plain(to_spec(made)), allow_vacuous=made.allow_vacuous)
    except (InvalidProblem, InvalidSpec, NotPrivate, DesignFailed) as refusal:
        return proven(subject, f"its own spec is refused: {str(refusal)[:200]}", False)
    return proven(
        subject, "its spec makes an equal object again, of the same fingerprint", again.fingerprint == made.fingerprint
    )


def injective(made: Specified) -> Finding:
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


SOME = 8  # rows of those that are not written out


def on_the_grid(made: AdditiveMechanism) -> Finding:
    """That protected differences are whole steps."""
    points, integers = made.grid.values(made.integers), made.integers
    if made.unwritten:
        points, integers = (compressed(rows[:SOME])[:, :200].toarray() for rows in (points, integers))
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


SEEN = 64  # whole noise of variance SEEN / DRAWS is 0 in all draws with a chance of about exp(-SEEN)


def noisy(made: Mechanism, entropy: Entropy) -> Finding:
    """Which answers get noise in draws, against those that are declared exact."""
    drawn = np.asarray(made.noise_in_answers(DRAWS, entropy))
    spread = np.abs(drawn).max(axis=0)
    still = spread <= KEPT_EXACT * spread.max(initial=0.0)
    silent = {name for name, quiet in zip(made.workload.queries, still, strict=True) if quiet}
    undeclared = sorted(silent - set(made.exact))
    variances = dict(zip(made.workload.queries, made.query_variances(), strict=True)) if undeclared else {}
    rare = [name for name in undeclared if 0 < variances[name] < SEEN / DRAWS]
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
