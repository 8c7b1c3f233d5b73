"""How often deep verification rejects samplers that are a little wrong, and samplers that are right.

Each row is a mechanism with one fault built around its sampler, or none. A run draws as many numbers as the declared power asks
for (1 % with probability 0.99, false alarms 10^-6), or 65,536 where the fault is gross; seeds are fixed. Shares are given with
limits that hold them with 95 % confidence (Clopper and Pearson). Right samplers come first, also with false alarms of 1 in 100,
so that they can be counted.

Measured, 2 runs a row, 10 of the cut tail: every fault of Laplace counts and of a K-norm in two dimensions was rejected in all
runs. Of 30 pooled coordinates, with statistics whose deviations came from draws alone, so were a wrong scale, a shift and a
dropped one. **Not seen** there: 2 % of draws turned over by the sign of one coordinate (0 of 12): where coordinates are pooled,
a small fault of a single one hides. Right samplers: 0 of 120 rejected at false alarms of 10^-6.

    OMP_NUM_THREADS=1 python -m benchmarks.audit_power [--runs 20] [--right 200] [--json FILE] [words of names]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from designer import Presence, Problem, StructuredWorkload, Workload, design, invariants, metrics
from designer.audit.balance_tests import BalanceStatistics, Integers
from designer.audit.enumerated_laws import additive_source, lattice_source
from designer.audit.mean_tests import Source, watched
from designer.audit.row_sources import domain_source
from designer.audit.verdict import TestPower
from designer.domains.products import StructuredMechanism
from designer.domains.products_plan import design_structured
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import noise_for
from designer.problem.domain import Domain
from designer.sampling.entropy import SeededEntropy

SHARE = 0.02  # of the draws that a rare fault meets
FEW = 2**16  # draws for faults that need no more
GROSS = ("dropped coordinate", "even coset")
TAIL = 0.999  # of the energies; draws beyond are drawn again
Draw = Callable[[int], Integers]
Fault = Callable[["Subject", Source, int], Draw]


@dataclass(frozen=True)
class Subject:
    """A mechanism, how its draws are watched, and how one with another scale is drawn from."""

    name: str
    source: Callable[[SeededEntropy], Source]
    wider: Callable[[float, SeededEntropy], Draw]


def subjects() -> Iterator[Subject]:
    """Independent and joint noise, on fine grids and on integers, on a lattice, and in many coordinates of one law."""
    line = metrics.euclidean([[0.0], [1.0], [2.5]], 0.3)
    counts = design(Problem(Workload([[1, 0, 0], [0, 1, 0]]), metrics.uniform(3, 0.5)), "laplace").mechanism
    fine = design(Problem(Workload([[0.0, 0.3, 1.1], [1.0, 0.2, 0.7]]), line), "laplace").mechanism
    hull = design(Problem(Workload([[0.0, 0.3, 1.1], [1.0, 0.2, 0.7]]), metrics.uniform(3, 1.0)), "k_norm").mechanism
    normal = design(
        Problem(Workload([[0.0, 0.3, 1.1], [1.0, 0.2, 0.7]]), metrics.uniform(3, 1.0), notion="zcdp"), "gaussian"
    ).mechanism
    for name, made in (("laplace, whole", counts), ("laplace, fine", fine), ("k_norm", hull), ("gaussian, joint", normal)):
        yield _additive(name, made)
    pure = Problem(Workload.identity(3), invariants.total(3).protect(0.5, 1))
    yield _lattice("lattice, l1", design(pure, "lattice_laplace", shape="l1").mechanism)
    domain = Domain.of({"a": 6, "b": 5})
    asked = StructuredWorkload.of(domain, [{"a": "prefix", "b": "prefix"}])
    yield _structured("structured, 30 coordinates", design_structured(asked, Presence(epsilon=0.5), "laplace"))


def _additive(name: str, made: AdditiveMechanism) -> Subject:
    heard = made.noise.heard

    def wider(factor: float, entropy: SeededEntropy) -> Draw:
        other = noise_for(made.norm.divided(factor), made.grid, made.falloff)
        return lambda size: other.draw(size, entropy)[:, heard]

    return Subject(name, lambda entropy: additive_source(made, entropy), wider)


def _lattice(name: str, made: LatticeMechanism) -> Subject:
    def wider(factor: float, entropy: SeededEntropy) -> Draw:
        sampler = replace(made.law, norm=made.norm.divided(factor)).exponential().sampler
        assert sampler is not None
        return lambda size: sampler.draw(size, entropy)

    return Subject(name, lambda entropy: lattice_source(made, entropy), wider)


def _structured(name: str, made: StructuredMechanism) -> Subject:
    def wider(factor: float, entropy: SeededEntropy) -> Draw:
        blocks = tuple(replace(block, strength=block.strength / factor) for block in made.blocks)
        other = object.__new__(StructuredMechanism)
        other.__dict__.update({**made.__dict__, "blocks": blocks})
        return domain_source(other, entropy).draw

    return Subject(name, lambda entropy: domain_source(made, entropy), wider)


def faults() -> dict[str, Fault]:
    """Name to a function of a subject, its right source and a seed, that makes wrong draws."""
    return {
        "scale x 1.01": lambda subject, _, seed: subject.wider(1.01, SeededEntropy(seed)),
        "scale x 0.99": lambda subject, _, seed: subject.wider(0.99, SeededEntropy(seed)),
        "shifted by a step, or 1 %": _altered(_shifted),
        "one-sided, 2 %": _altered(_one_sided),
        "dropped coordinate": _altered(_dropped),
        "stuck coordinate, 2 %": _altered(_stuck),
        "repeated draws, 2 %": _altered(_repeated),
        "coordinates alike, 2 %": _altered(_alike),
        "even coset": _altered(_even),
        "tail cut at 1 in 1000": _altered(_cut),
    }


def _altered(change: Callable[[BalanceStatistics, Integers, np.random.Generator], Integers]) -> Fault:
    """Right draws, changed afterwards; the law that is known of them is that of a pilot."""

    def build(_: Subject, source: Source, seed: int) -> Draw:
        generator = np.random.default_rng(seed)
        watch: Any = source.watch(source.draw(source.pilot))
        return lambda size: change(watch, source.draw(size), generator)

    return build


def _moved(watch: BalanceStatistics, draws: Integers, place: int, coordinates: Any) -> Integers:
    """The draws with their coordinate at a place changed to others."""
    before = np.rint(watch.law.coordinates(draws)[:, place]).astype(np.int64)
    change = np.asarray(coordinates - before).astype(np.int64)
    return np.asarray(draws + change[:, None] * watch.law.moves[place], dtype=np.int64)


def _first(watch: BalanceStatistics, draws: Integers, place: int = 0) -> Integers:
    return np.rint(watch.law.coordinates(draws)[:, place]).astype(np.int64)


def _shifted(watch: BalanceStatistics, draws: Integers, _: np.random.Generator) -> Integers:
    steps = max(1, round(0.01 * float(watch.law.coordinates(draws)[:, 0].std()))) if len(draws) > 1 else 1
    moved = draws
    for place in range(len(watch.law.moves)):
        moved = _moved(watch, moved, place, _first(watch, moved, place) + steps)
    return moved


def _one_sided(_: BalanceStatistics, draws: Integers, generator: np.random.Generator) -> Integers:
    turned = (draws[:, 0] < 0) & (generator.random(len(draws)) < SHARE)
    return np.where(turned[:, None], -draws, draws)


def _dropped(watch: BalanceStatistics, draws: Integers, _: np.random.Generator) -> Integers:
    return _moved(watch, draws, 0, 0 * _first(watch, draws))


def _stuck(watch: BalanceStatistics, draws: Integers, generator: np.random.Generator) -> Integers:
    first = _first(watch, draws)
    again = np.where(generator.random(len(draws)) < SHARE, np.roll(first, 1), first)
    return _moved(watch, draws, 0, again)


def _repeated(_: BalanceStatistics, draws: Integers, generator: np.random.Generator) -> Integers:
    return np.where((generator.random(len(draws)) < SHARE)[:, None], np.roll(draws, 1, axis=0), draws)


def _alike(watch: BalanceStatistics, draws: Integers, generator: np.random.Generator) -> Integers:
    chosen = generator.random(len(draws)) < SHARE
    return _moved(watch, draws, 1, np.where(chosen, _first(watch, draws), _first(watch, draws, 1)))


def _even(watch: BalanceStatistics, draws: Integers, _: np.random.Generator) -> Integers:
    first = _first(watch, draws)
    return _moved(watch, draws, 0, first - first % 2)


def _cut(watch: BalanceStatistics, draws: Integers, _: np.random.Generator) -> Integers:
    energy = watch.law.energies(draws)
    total = energy if energy.ndim == 1 else energy.sum(axis=1)
    kept = draws[total <= np.quantile(total, TAIL)]
    return np.concatenate([kept, kept[: len(draws) - len(kept)]])


def rejected(subject: Subject, fault: Fault | None, seed: int, power: TestPower, most: int | None = None) -> bool:
    """Whether one run rejects, as a verdict does."""
    source = subject.source(SeededEntropy(seed))
    if fault is not None:
        wrong = fault(subject, subject.source(SeededEntropy(seed + 10**6)), seed + 2 * 10**6)
        source = replace(source, draw=wrong)
    return any(finding.holds is False for finding in watched(source, power, 600.0, most))


def limits(hits: int, runs: int) -> tuple[float, float]:
    """Of a share, with 95 % confidence."""
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(beta.ppf(0.975, hits + 1, runs - hits))
    return low, high


def row(subject: Subject, name: str, hits: int, runs: int, seconds: float) -> dict[str, Any]:
    """One line of the table, printed as it is known."""
    low, high = limits(hits, runs)
    print(f"{subject.name:28} {name:28} {hits:4} of {runs:4}   {low:.3f} to {high:.3f}   {seconds:6.1f} s", flush=True)
    return {"subject": subject.name, "fault": name, "rejected": hits, "runs": runs, "low": low, "high": high}


def main() -> None:
    """All rows."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--runs", type=int, default=20)
    given.add_argument("--right", type=int, default=200)
    given.add_argument("--json", type=Path)
    given.add_argument("words", nargs="*")
    options = given.parse_args()
    chosen = [s for s in subjects() if not options.words or any(word in s.name for word in options.words)]
    rows = []
    for alarms in (1e-6, 0.01):
        for subject in chosen:
            start = time.perf_counter()
            power = TestPower(false_alarm=alarms)
            hits = sum(rejected(subject, None, 5000 + run, power, 2**15) for run in range(options.right))
            rows.append(row(subject, f"none, false alarm {alarms:g}", hits, options.right, time.perf_counter() - start))
    for subject in chosen:
        for name, fault in faults().items():
            start = time.perf_counter()
            most = FEW if name in GROSS else None
            hits = sum(rejected(subject, fault, 1000 + run, TestPower(), most) for run in range(options.runs))
            rows.append(row(subject, name, hits, options.runs, time.perf_counter() - start))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
