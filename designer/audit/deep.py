"""Deep verification of one frozen object of any kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from designer.audit.choice_sources import mwem_source, selection_source, small_db_source
from designer.audit.coarse import coarse_findings
from designer.audit.noise_sources import additive_source, lattice_source
from designer.audit.pairs import every_pair, neighbours_enumerated
from designer.audit.peaked_heights import staircase_source
from designer.audit.plain_checks import constructible, injective, noisy, reachable, recomputed, released_source, timing
from designer.audit.row_sources import (
    enumerated_test,
    marginal_source,
    odds_ratio_source,
    plan_sources,
    row_source,
    structured_source,
)
from designer.audit.tally import Source, watched
from designer.audit.verdict import DeepVerdict, Finding, TestPower, not_looked_at
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.certified.frozen import Specified
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.choice.mechanism import Selection
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.mechanisms.lattice.row_mechanism import RowMechanism
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.odds_ratio.mechanism import OddsRatioTest
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.mechanisms.staircase.mechanism import StaircaseMechanism
from designer.mechanisms.synthetic.multiplicative import MWEM
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from designer.tables.plan import TablePlan
from designer.tables.quantile import Quantile

SECONDS = 60.0
RELEASE_SHARE = 0.15  # of the time, for whole releases
UNSEEN = (
    ("the operating system's random bits", "taken as uniform and independent; whoever controls them knows the noise"),
    ("the relation itself", "whether it is what the data's owner means is for people to judge"),
)


def audit(
    mechanism: Specified, *, power: TestPower | None = None, seconds: float = SECONDS, seed: int | None = None
) -> DeepVerdict:
    """What can be found out about a frozen object, from its numbers and from its own draws.

    power: what the tests of its sampler must see, and how often they may be wrong. seconds: for all draws; where they do not
    suffice, the verdict says which power was reached. seed: of a rehearsal whose draws can be repeated; None draws from the
    operating system, as releases do. Objects that choose by releasing whole (mwem, small-db) are never seeded.
    """
    if not isinstance(mechanism, Specified):
        raise InvalidProblem(f"mechanism: {shown(mechanism)} is no frozen object; give one that was designed or loaded.")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e7:
        raise InvalidProblem(f"seconds: {shown(seconds)} is not a positive number below 10^7.")
    power = power or TestPower()
    if not isinstance(power, TestPower):
        raise InvalidProblem(f"power: {shown(power)} is none; give a designer.audit.TestPower.")
    entropy: Entropy = SystemEntropy() if seed is None else SeededEntropy(count(seed, "seed", least=0))
    start = time.perf_counter()
    sources, unseen = _sources(mechanism, entropy, seed)
    whole = released_source(mechanism) if seed is None else None
    shared = power.shared(len(sources) + (whole is not None) + 1)  # and the sampler of the coarse instance
    findings = [*_from_numbers(mechanism, entropy, shared), *unseen]
    findings += _from_draws(sources, whole, shared, float(seconds), seeded=seed is not None)
    findings += [timing(mechanism, entropy), *(not_looked_at(*line) for line in UNSEEN)]
    elapsed = time.perf_counter() - start
    return DeepVerdict(mechanism.format, mechanism.fingerprint, power, tuple(findings), elapsed, seed)


def _from_numbers(made: Specified, entropy: Entropy, shared: TestPower) -> list[Finding]:
    """What the frozen numbers alone decide, and a coarse instance."""
    announce("deep verification: recomputing the certificate")
    findings = [recomputed(made), every_pair(made), constructible(made), injective(made), reachable(made), noisy(made, entropy)]
    if isinstance(made, OddsRatioTest):
        findings.append(enumerated_test(made))
    if isinstance(made, (Selection, SmallDB, MWEM)):
        findings.append(neighbours_enumerated(made))
    return findings + coarse_findings(made, entropy, shared.false_alarm)


def _from_draws(
    sources: Sequence[Source], whole: Source | None, shared: TestPower, seconds: float, *, seeded: bool
) -> Iterator[Finding]:
    """What draws speak for or against; the time is shared out."""
    left = time.perf_counter() + seconds * (1 - RELEASE_SHARE * (whole is not None))
    for k, source in enumerate(sources):
        yield from watched(source, shared, max(0.05, (left - time.perf_counter()) / (len(sources) - k)))
    if whole is not None:
        yield from watched(whole, shared, seconds * RELEASE_SHARE)
    elif not seeded:
        yield not_looked_at("whole releases", "those of this kind are watched above, or need records; only draws were compared")


def _sources(made: Specified, entropy: Entropy, seed: int | None) -> tuple[list[Source], list[Finding]]:
    """What draws there are of an object of this kind."""
    if isinstance(made, StaircaseMechanism):
        source, findings = staircase_source(made, entropy)
        return [source] if source else [], findings
    if isinstance(made, TablePlan):
        return plan_sources(made, entropy), _of_plan(made)
    if isinstance(made, AdditiveMechanism) and not len(made.noise.heard):
        return [], [not_looked_at("noise", "no answer gets any")]
    if isinstance(made, Selection):
        chosen = selection_source(made, seed)
        return ([chosen], []) if chosen else ([], [not_looked_at("choice", "no public counts of few elements tell its rate")])
    for kind, build in _kinds(entropy):
        if isinstance(made, kind):
            return [build(made)], []
    return [], [not_looked_at("noise", f"nothing is known of the draws of {made.format}")]


def _kinds(entropy: Entropy) -> list[tuple[type[Any], Callable[[Any], Source]]]:
    """The sources of all other kinds, the special ones first."""
    return [
        (AdditiveMechanism, lambda made: additive_source(made, entropy)),
        (RowMechanism, lambda made: row_source(made, entropy)),
        (LatticeMechanism, lambda made: lattice_source(made, entropy)),
        (StructuredMechanism, lambda made: structured_source(made, entropy)),
        (MarginalMechanism, lambda made: marginal_source(made, entropy)),
        (OddsRatioTest, lambda made: odds_ratio_source(made, entropy)),
        (MWEM, mwem_source),
        (SmallDB, small_db_source),
    ]


def _of_plan(made: TablePlan) -> list[Finding]:
    """What is not looked at in plans of tables."""
    found = [not_looked_at("aggregates of records", "exact numbers of an engine; nothing was counted here")]
    if any(level.selection for level in made.levels):
        found.append(not_looked_at("groups that are found", "the noisy numbers of rows against thresholds need records"))
    if any(isinstance(query, Quantile) for query in made.queries):
        found.append(not_looked_at("quantiles", "chosen by selections; give one of them (`query.choice`) to be looked at"))
    return found
