"""Deep verification of one frozen object of any kind."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from designer.audit.choice_sources import channel_source, mwem_source, selection_source, small_db_source, staircase_source
from designer.audit.enumerated_laws import (
    WrittenOut,
    additive_source,
    additive_written_out,
    coarse_findings,
    lattice_source,
    lattice_written_out,
    one_coordinate,
)
from designer.audit.mean_tests import Source, watched
from designer.audit.pairs import (
    LAW_SUBJECT,
    REACHABLE,
    TIME,
    bound_recomputed,
    constructible,
    databases_compared,
    every_pair,
    every_row_compared,
    in_the_kernel,
    injective,
    listed_pairs,
    noise_of_answers,
    noise_of_table,
    noisy,
    on_the_grid,
    recomputed,
    selections_compared,
    timing,
    whole_releases,
)
from designer.audit.row_sources import (
    domain_source,
    enumerated_test,
    odds_ratio_source,
    plan_sources,
    row_source,
)
from designer.audit.verdict import DeepVerdict, Finding, TestPower, not_looked_at, proven
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.certificate.frozen import FrozenMechanism
from designer.files.kinds import mechanism_kind
from designer.files.releases import UNSEEN
from designer.limits import MOST_AUDIT_SECONDS
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.interface import Mechanism
from designer.mechanism.staircase import StaircaseMechanism
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy

if TYPE_CHECKING:
    from designer.domains.marginals import MarginalMechanism
    from designer.domains.products import StructuredMechanism
    from designer.lattice.mechanism import LatticeMechanism
    from designer.lattice.row_mechanism import RowMechanism
    from designer.local.mechanism import Channel
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.selection.mechanism import Selection
    from designer.synthetic.multiplicative import MWEM
    from designer.synthetic.small_databases import SmallDB
    from designer.tables.plan import TablePlan

# What deep verification looks at, kind by kind.
M = TypeVar("M", bound=FrozenMechanism)
K = TypeVar("K", bound=Mechanism)
Looked = tuple[list[Source], list[Finding]]


class Inspection(Generic[M]):
    """What is looked at in mechanisms M, and what is said where nothing is.

    reaches: why neighbours have the same possible outputs.
    """

    reaches: ClassVar[str] = "exact numbers are integers of fixed steps, and so is the noise, whose law has no gaps"

    def sources(self, made: M, entropy: Entropy, seed: int | None) -> Looked:
        """What draws there are, and what is not looked at. seed: None where nothing is seeded."""
        return [], [not_looked_at("noise", f"nothing is known of the draws of {made.format}")]

    def whole(self, made: M) -> Source | None:
        """Releases of a table of zeros, or of one record in every cell; None where they do not give the noise back."""
        return None

    def pairs(self, made: M) -> Finding:
        """Every protected pair in rationals, where the second verifier cannot check the spec."""
        return listed_pairs(made)

    def reachable(self, made: M) -> Finding:
        """That neighbours have the same set of possible outputs."""
        return proven(REACHABLE, self.reaches)

    def noisy(self, made: M, entropy: Entropy) -> Finding:
        """Which answers get noise, against those that are declared exact."""
        return proven("noisy", f"published without noise: {', '.join(made.exact) or 'none'}")

    def further(self, made: M) -> list[Finding]:
        """What is decided by enumeration, of this kind alone."""
        return []

    def written_out(self, made: M, entropy: Entropy) -> WrittenOut | str:
        """A coarse instance of the same kind, its law written out; or why there is none."""
        return "its law is written out whole above, or chosen from finitely many candidates"

    def timing(self, made: M, entropy: Entropy) -> Finding:
        """What the time of a draw tells of the noise."""
        return not_looked_at(TIME, "excluded by the guarantee; not measured for this kind")


class _OfAnswers(Inspection[K]):
    """Of noise in answers to linear queries."""

    def noisy(self, made: K, entropy: Entropy) -> Finding:
        return noisy(made, entropy)

    def timing(self, made: K, entropy: Entropy) -> Finding:
        return timing(made, entropy)


class OfAdditive(_OfAnswers[AdditiveMechanism]):
    """Noise on a grid."""

    def sources(self, made: AdditiveMechanism, entropy: Entropy, seed: int | None) -> Looked:
        if not len(made.noise.heard):
            return [], [not_looked_at("noise", "no answer gets any")]
        return [additive_source(made, entropy)], []

    def whole(self, made: AdditiveMechanism) -> Source | None:
        if made.reconstruction is not None or not len(made.noise.heard):
            return None
        return whole_releases(additive_source(made, SystemEntropy()), lambda: noise_of_answers(made))

    def reachable(self, made: AdditiveMechanism) -> Finding:
        return on_the_grid(made)

    def written_out(self, made: AdditiveMechanism, entropy: Entropy) -> WrittenOut | str:
        return additive_written_out(made, entropy)


class OfHierarchies(_OfAnswers[HierarchyMechanism]):
    """Noise in counts of nested groups."""

    def sources(self, made: HierarchyMechanism, entropy: Entropy, seed: int | None) -> Looked:
        return [additive_source(made, entropy)], []

    def written_out(self, made: HierarchyMechanism, entropy: Entropy) -> WrittenOut | str:
        return additive_written_out(made, entropy)


class OfLattices(_OfAnswers["LatticeMechanism"]):
    """Integer noise on a kernel."""

    def sources(self, made: LatticeMechanism, entropy: Entropy, seed: int | None) -> Looked:
        return [lattice_source(made, entropy)], []

    def whole(self, made: LatticeMechanism) -> Source | None:
        if made.chain is not None:
            return None
        return whole_releases(lattice_source(made, SystemEntropy()), lambda: noise_of_table(made))

    def reachable(self, made: LatticeMechanism) -> Finding:
        return in_the_kernel(made)

    def written_out(self, made: LatticeMechanism, entropy: Entropy) -> WrittenOut | str:
        return lattice_written_out(made, entropy)


class OfRows(_OfAnswers["RowMechanism"]):
    """Integer noise row by row."""

    def sources(self, made: RowMechanism, entropy: Entropy, seed: int | None) -> Looked:
        return [row_source(made, entropy)], []

    def whole(self, made: RowMechanism) -> Source | None:
        return whole_releases(row_source(made, SystemEntropy()), lambda: noise_of_table(made))

    def reachable(self, made: RowMechanism) -> Finding:
        return in_the_kernel(made)

    def written_out(self, made: RowMechanism, entropy: Entropy) -> WrittenOut | str:
        return "noise that is balanced has no formula; its moments are tested"


class OfStaircases(_OfAnswers[StaircaseMechanism]):
    """Noise of least loss."""

    reaches = "protected differences have whole coordinates in the basis, as construction proved"

    def sources(self, made: StaircaseMechanism, entropy: Entropy, seed: int | None) -> Looked:
        source, findings = staircase_source(made, entropy)
        return [source] if source else [], findings


class OfDomains(Inspection["MarginalMechanism | StructuredMechanism"]):
    """Marginals, and products of queries."""

    def sources(self, made: MarginalMechanism | StructuredMechanism, entropy: Entropy, seed: int | None) -> Looked:
        return [domain_source(made, entropy)], []

    def written_out(self, made: MarginalMechanism | StructuredMechanism, entropy: Entropy) -> WrittenOut | str:
        return one_coordinate(made.law == "laplace", entropy)


class OfPlans(Inspection["TablePlan"]):
    """Plans of tables."""

    def sources(self, made: TablePlan, entropy: Entropy, seed: int | None) -> Looked:
        from designer.tables.other_noise import Quantile

        found = [not_looked_at("aggregates of records", "exact numbers of an engine; nothing was counted here")]
        if any(level.selection for level in made.levels):
            found.append(not_looked_at("groups that are found", "the noisy numbers of rows against thresholds need records"))
        if any(isinstance(query, Quantile) for query in made.queries):
            found.append(not_looked_at("quantiles", "chosen by selections; give one of them (`query.choice`) to be looked at"))
        return plan_sources(made, entropy), found

    def written_out(self, made: TablePlan, entropy: Entropy) -> WrittenOut | str:
        return one_coordinate(False, entropy)


class OfTests(Inspection["OddsRatioTest"]):
    """Tests of odds ratios."""

    def sources(self, made: OddsRatioTest, entropy: Entropy, seed: int | None) -> Looked:
        return [odds_ratio_source(made, entropy)], []

    def further(self, made: OddsRatioTest) -> list[Finding]:
        return [enumerated_test(made)]


class OfSelections(Inspection["Selection"]):
    """Choices of one candidate."""

    reaches = "every candidate has a positive probability whatever the data"

    def sources(self, made: Selection, entropy: Entropy, seed: int | None) -> Looked:
        chosen = selection_source(made, seed)
        return ([chosen], []) if chosen else ([], [not_looked_at("choice", "no public counts of few elements tell its rate")])

    def further(self, made: Selection) -> list[Finding]:
        return [selections_compared(made)]


class OfMultiplicativeWeights(Inspection["MWEM"]):
    """Synthetic data by multiplicative weights."""

    reaches = "every query and every multiple of the step has a positive probability whatever the data"

    def sources(self, made: MWEM, entropy: Entropy, seed: int | None) -> Looked:
        return [mwem_source(made)], []

    def further(self, made: MWEM) -> list[Finding]:
        words = "rounds depend on each other; their laws are composed, and followed round by round below"
        return [not_looked_at(LAW_SUBJECT, words)]


class OfSmallDatabases(Inspection["SmallDB"]):
    """Choices of a small database."""

    reaches = "every candidate has a positive probability whatever the data"

    def sources(self, made: SmallDB, entropy: Entropy, seed: int | None) -> Looked:
        return [small_db_source(made)], []

    def further(self, made: SmallDB) -> list[Finding]:
        return [databases_compared(made)]


class OfChannels(Inspection["Channel"]):
    """Reports of single persons."""

    reaches = "every report has a positive probability whatever the value"

    def sources(self, made: Channel, entropy: Entropy, seed: int | None) -> Looked:
        return [channel_source(made, entropy)], []

    def pairs(self, made: Channel) -> Finding:
        return every_row_compared(made)

    def further(self, made: Channel) -> list[Finding]:
        return [bound_recomputed(made)]


def inspection_of(made: FrozenMechanism) -> Inspection[Any]:
    """What is looked at in an object; of a class that no spec can hold what is looked at in every one."""
    kind = mechanism_kind(made)
    found: type[Inspection[Any]] = Inspection if kind is None else kind.part("inspection")
    return found()


SECONDS = 60.0
RELEASE_SHARE = 0.15  # of the time, for whole releases


def audit(
    mechanism: FrozenMechanism, *, power: TestPower | None = None, seconds: float = SECONDS, seed: int | None = None
) -> DeepVerdict:
    """Verify a frozen object deeply, from its numbers and from its own draws.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    power : what the tests of its sampler must see, and how often they may be wrong.
    seconds : for all draws; where they do not suffice, the verdict says which power was reached.
    seed
        of a rehearsal whose draws can be repeated; None draws from the operating system, as releases do. Objects that
        choose by releasing whole (mwem, small-db) are never seeded.
    """
    if not isinstance(mechanism, FrozenMechanism):
        raise InvalidProblem(
            f"mechanism: {shown(mechanism)} is no frozen object; give one that was designed or loaded.", value=mechanism
        )
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < MOST_AUDIT_SECONDS:
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


def _from_numbers(made: FrozenMechanism, looked: Inspection[Any], entropy: Entropy, shared: TestPower) -> list[Finding]:
    """What the frozen numbers alone decide, and a coarse instance."""
    announce("deep verification: recomputing the certificate")
    findings = [recomputed(made), every_pair(made, looked.pairs), constructible(made), injective(made)]
    findings += [looked.reachable(made), looked.noisy(made, entropy), *looked.further(made)]
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
