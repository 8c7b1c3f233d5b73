"""Deep verification of one frozen object of any kind."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from designer.audit.coarse import coarse_findings
from designer.audit.inspections import Inspection, inspection_of
from designer.audit.plain_checks import constructible, injective, recomputed
from designer.audit.tally import Source, watched
from designer.audit.verdict import DeepVerdict, Finding, TestPower, not_looked_at
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.certified.frozen import Specified
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy

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
        raise InvalidProblem(
            f"mechanism: {shown(mechanism)} is no frozen object; give one that was designed or loaded.", value=mechanism
        )
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e7:
        raise InvalidProblem(f"seconds: {shown(seconds)} is not a positive number below 10^7; give one.", value=seconds)
    power = power or TestPower()
    if not isinstance(power, TestPower):
        raise InvalidProblem(f"power: {shown(power)} is none; give a designer.audit.TestPower.", value=power)
    entropy: Entropy = SystemEntropy() if seed is None else SeededEntropy(count(seed, "seed", least=0))
    start = time.perf_counter()
    looked = inspection_of(mechanism)
    sources, unseen = looked.sources(mechanism, entropy, seed)
    whole = looked.whole(mechanism) if seed is None else None
    shared = power.shared(len(sources) + (whole is not None) + 1)  # and the sampler of the coarse instance
    findings = [*_from_numbers(mechanism, looked, entropy, shared), *unseen]
    findings += _from_draws(sources, whole, shared, float(seconds), seeded=seed is not None)
    findings += [looked.timing(mechanism, entropy), *(not_looked_at(*line) for line in UNSEEN)]
    elapsed = time.perf_counter() - start
    return DeepVerdict(mechanism.format, mechanism.fingerprint, power, tuple(findings), elapsed, seed)


def _from_numbers(made: Specified, looked: Inspection[Any], entropy: Entropy, shared: TestPower) -> list[Finding]:
    """What the frozen numbers alone decide, and a coarse instance."""
    announce("deep verification: recomputing the certificate")
    findings = [recomputed(made), looked.pairs(made), constructible(made), injective(made), looked.reachable(made)]
    findings += [looked.noisy(made, entropy), *looked.further(made)]
    return findings + coarse_findings(lambda: looked.written_out(made, entropy), shared.false_alarm)


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
