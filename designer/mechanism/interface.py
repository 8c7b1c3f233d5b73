"""`Mechanism`: what every mechanism for linear queries can do, whatever its noise: real on a grid, integer on a lattice,
or yet to come."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import ConfidenceLimits, symmetric_limits
from designer.base.arrays import Floats, frozen
from designer.base.checks import count, probability, shown
from designer.base.display import at_most, in_markdown, printed
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.certificate import frozen as facts
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.guarantee import Optimality
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.mechanism.noise import Grid
from designer.mechanism.release import ErrorSource, Release, SimulatedNoise, answers_of, known_errors, require_no_data, tells
from designer.problem.compressed_rows import difference, largest_entries
from designer.problem.histogram import ExactRows, Universe
from designer.problem.relation import Relation
from designer.problem.workload import Workload
from designer.relations.delta_lengths import AllowedLengths
from designer.relations.kinds import require_listed
from designer.relations.records.counting import TakesCounts
from designer.sampling.entropy import Entropy, simulation_entropy
from designer.sampling.margins import Margins, NoiseFacts, NoiseReach, seed_of

Falloff = Literal["exponential", "gaussian", "rounded_gaussian"]
CONFIDENCE = 0.95
BIASED = 1e-6  # of a standard error, for each record: a thousand records then move an answer by a thousandth of it


class Mechanism(TakesCounts[Release]):
    """Answers the queries of a workload with noise of some law; subclasses are frozen dataclasses.

    family: a name of the closed lists in `designer.certificate.guarantee`. workload: what was asked, Q (K, N).
    relation: what is hidden. delta: that of (b, delta), where the promise is of this kind.
    falloff: of the law of the noise. Construction certifies that no protected difference spends more than its budget.
    """

    family: str
    workload: Workload
    relation: Relation
    falloff: Falloff
    privacy: PrivacyCertificate
    delta: float | None = None

    @abstractmethod
    def verify(self) -> PrivacyCertificate:
        """Recompute the privacy certificate from the frozen numbers."""

    @abstractmethod
    def sensitivity(self) -> SensitivitySet:
        """The differences that must be hidden, in the coordinates of the norm."""

    @abstractmethod
    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """Compute the budget that a change of the histogram, or of the answers, spends; infinite where it moves what is
        published exactly.

        change: of the histogram, (N,). answers: in its place, the change of the answers, (K,).
        """

    @property
    @abstractmethod
    def effective(self) -> Any:
        """The matrix whose answers the release estimates without bias, (K, N)."""

    @abstractmethod
    def query_variances(self) -> Floats:
        """Variance of the noise in each of the K answers."""

    @abstractmethod
    def query_mean_absolutes(self) -> Floats:
        """Expected absolute value of the noise in each of the K answers."""

    @abstractmethod
    def covariance(self) -> Floats:
        """Covariance matrix of the noise in the K answers."""

    @abstractmethod
    def noise_in_answers(self, size: int, entropy: Entropy) -> Floats:
        """`size` draws of the noise in the K answers, (size, K)."""

    def standard_errors(self) -> Floats:
        """Compute the standard deviation of the noise in each of the K answers: the roots of `query_variances`."""
        return np.sqrt(self.query_variances())

    def margins(self, confidence: float = CONFIDENCE) -> Floats:
        """Numbers t, (K,), with `P(|noise in answer k| <= t_k) >= confidence`, those of `reach_of_answers`: quantiles where the
        law of the noise gives them, elsewhere the less of a proven bound and what draws show."""
        return reach_of_answers(self, confidence, False)[0]

    def joint_margins(self, confidence: float = CONFIDENCE) -> Floats:
        """Numbers t, (K,), with `P(|noise in answer k| <= t_k for all k) >= confidence`."""
        return reach_of_answers(self, confidence, True)[0]

    @cached_property
    def _reach(self) -> Margins:
        exact = frozenset(self.exact)
        silent = (
            np.array([name in exact for name in self.workload.queries]) if exact else np.zeros(self.workload.shape[0], bool)
        )
        draw, seed = self.noise_in_answers, seed_of(self.fingerprint)
        return cache(NoiseReach(self._proven_margins, draw, silent, self._noise_facts, seed, self.family).margins)

    def _proven_margins(self, level: float) -> Floats | None:
        """Margins of each answer that are proven without draws, (K,), or None: Chebyshev's bound, where nothing better is
        known."""
        return np.asarray(self.standard_errors() / math.sqrt(1 - level))

    @property
    def _noise_facts(self) -> NoiseFacts:
        """What decides how the reach of the noise is found."""
        return NoiseFacts("Chebyshev's bound", False, self.workload.shape[1])

    def rounding(self) -> Floats:
        """Largest change of an entry of each query by the grid: n records move answer k by at most n times this."""
        return largest_entries(difference(self.effective, self.workload.matrix))

    @cached_property
    def _biases(self) -> Floats:
        """`rounding`, (K,), where it is more than `BIASED` of the noise of its answer, or, without noise, of the largest weight
        of its query; 0 elsewhere, and of projected counts, which are rounded together with their noise."""
        off = np.zeros(len(self.workload.queries)) if getattr(self, "projected", False) else self.rounding()
        if not off.any():
            return off
        errors, weights = known_errors(self), largest_entries(self.workload.matrix)
        noisy = np.zeros(len(off)) if errors is None else np.nan_to_num(errors, posinf=0.0)
        return np.where(off > BIASED * np.where(noisy > 0, noisy, weights), off, 0.0)

    @property
    def biased(self) -> dict[str, float]:
        return {name: off for name, off in zip(self.workload.queries, self._biases.tolist(), strict=True) if off}

    def limits_of(self, released: Any, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Intervals of the answers of a release of this mechanism; see `designer.base.answer_table`."""
        if self.biased:
            raise InvalidProblem(
                f"intervals: the answers are biased by up to {at_most(max(self.biased.values()))} for each record, and the "
                "release does not know how many there are; add `rounding()` times that number to `margins(level)`."
            )
        margins, law = reach_of_answers(self, level, simultaneous)
        return symmetric_limits(released.answers, margins, self.workload.whole_rows, law)

    @property
    def error_source(self) -> ErrorSource:
        """How variances and standard errors are known."""
        return ErrorSource()

    def _require_listed(self) -> None:
        require_listed(self.relation)

    @cached_property
    def universe(self) -> Universe:
        made = self.relation
        return replace(self.workload.universe, impossible=made.impossible, agreeing=made.agreeing, tables=made.counted_tables)

    def error(self, loss: str = "squared") -> float:
        """Compute the expected error of the noise that is in fact drawn.

        "squared": sum over queries of the variance; "absolute": sum of the expected |noise|;
        "max": the largest variance of a query.
        """
        if loss not in ("squared", "absolute", "max"):
            raise InvalidProblem(f'loss: {shown(loss)} is unknown; use "squared", "absolute" or "max".', value=loss)
        if loss == "absolute":
            return float(self.query_mean_absolutes().sum())
        variances = self.query_variances()
        return float(variances.sum() if loss == "squared" else variances.max())

    @step("drawing noise")
    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> SimulatedNoise:
        """Draw the noise `size` times in the K answers, (size, K), for simulation only: the result is stamped as not private.

        seed: makes it repeatable. data: None, because the law of the noise does not depend on them.
        """
        require_no_data(data)
        return SimulatedNoise.of(self.noise_in_answers(count(size, "size"), simulation_entropy(seed)), seed)


facts.named_answers.register(Mechanism, lambda made: made.workload.queries)
facts.below_by_noise.register(
    Mechanism, lambda made, table: (table.answers < 0) & made.workload.nonnegative_rows & (made._biases == 0)
)
facts.deviations_in_units.register(
    Mechanism, lambda made: zip(made.workload.queries, np.sqrt(made.query_variances()).tolist(), strict=True)
)


def reach_of_answers(mechanism: Mechanism, level: float, simultaneous: bool) -> tuple[Floats, str]:
    """Margins of each answer, or of all at once, (K,), and by which law, in a sentence: the one function behind every margin
    of a design, a release, a report, and a search for budgets. See `designer.sampling.margins`."""
    return mechanism._reach(probability(level, "confidence"), simultaneous)


def spent_delta(mechanism: Mechanism) -> float | None:
    """The delta that the worst pair spends at its budget, from its exact difference and in balls, rounded up; None where the
    promise has no delta."""
    pair, norm = mechanism.privacy.witness, getattr(mechanism, "norm", None)
    if mechanism.delta is None or pair is None or norm is None:
        return None
    sensitivity = mechanism.sensitivity()
    relation = sensitivity.relation
    assert isinstance(relation, AllowedLengths)
    length = norm.exact(sensitivity.exact(pair.left, pair.right)[0])
    budget = relation.part.exact_budget(pair.left, pair.right)
    assert length is not None and budget is not None, "certified"
    return relation.allowance.spent_delta(length, budget)


def spent_deltas(mechanism: facts.FrozenMechanism) -> dict[str, float | None]:
    """The `delta` that is promised, and the `spent_delta` of the worst pair; nothing where the promise has none, or is a
    function of the record."""
    if not isinstance(mechanism, Mechanism) or mechanism.delta is None:
        return {}
    return {"delta": mechanism.delta, "spent_delta": spent_delta(mechanism)}


def ball_words(mechanism: Mechanism) -> str:
    """Who proposed the ball of the norm that the noise follows, and what proves it; empty where there is nothing to say."""
    norm: Norm | None = getattr(mechanism, "norm", None)
    return "" if norm is None else norm.proof_words


@singledispatch
def design_lines(mechanism: Mechanism) -> list[str]:
    """The summary with the expected error, for the terminal."""
    words, source = ball_words(mechanism), mechanism.error_source.words
    error = f"Error:       expected total squared error {mechanism.error():.6g} of the answers"
    ball = [f"Norm ball:   {words}"] if words else []
    return [*facts.summary_lines(mechanism), *ball, error, *([f"             {source}"] if source else [])]


ROWS_SHOWN = 12
UNMOVED, FAINT = "no protected change moves it", "its noise is smaller than floats tell, so it hides nothing"


class GridMechanism(Mechanism):
    """Noise on the grid of the measured queries; answers are rebuilt from noisy multiples of its steps, in sentences for
    people beside the certificate."""

    grid: Grid
    integers: NDArray[np.int64]
    reconstruction: Floats | None

    @property
    @abstractmethod
    def _heard(self) -> NDArray[np.bool_]:
        """The measured coordinates that carry noise, (R,)."""

    @property
    def _kept(self) -> Floats | None:
        return None

    @cached_property
    def _measured(self) -> ExactRows:
        return ExactRows(self.integers)

    def _release_of(self, multiples: Sequence[int]) -> Release:
        """The release of noisy multiples of the steps, (R,): what is computed from them alone."""
        answers = frozen(answers_of(multiples, self.grid, self.reconstruction))
        told = tuple(multiples) if self._tells_multiples else None
        return Release(
            answers, self.workload.queries, self.guarantee, self.fingerprint, kept=self._kept, multiples=told, law=self
        )

    @cached_property
    def _tells_multiples(self) -> bool:
        """Whether a release holds the multiples; see `designer.mechanism.release.tells`."""
        return getattr(self, "projected", False) or tells(self.reconstruction, self._heard, self.integers, self.relation)


design_lines.register(GridMechanism, facts.summary_lines)


@facts.certificate_words.register(GridMechanism)
def _certificate_words(mechanism: GridMechanism) -> str:
    """The certificate in sentences, and the fingerprint."""
    return "\n".join([*mechanism.privacy.lines(), f"{delta_words(mechanism)}Fingerprint {mechanism.fingerprint}"])


def delta_words(mechanism: Mechanism) -> str:
    """A line on the delta that the worst pair spends; nothing where the promise has none."""
    spent = spent_delta(mechanism)
    return "" if spent is None else f"That pair spends delta {spent!r} of {mechanism.delta!r}, recomputed in balls.\n"


@facts.summary_lines.register(GridMechanism)
def summary_lines(mechanism: GridMechanism) -> list[str]:
    """Size, noise of each query, certificate and fingerprint, in a dozen lines."""
    queries, elements = mechanism.workload.shape
    certificate = mechanism.privacy
    return [
        f"Workload:    {queries} queries over {elements} universe elements",
        f"Relation:    {printed(mechanism.relation.sentence())}",
        f"Mechanism:   {mechanism.family}; expected total squared error {at_most(mechanism.error(), 6)}",
        *_noise_lines(mechanism),
        *([f"Norm ball:   {ball_words(mechanism)}"] if ball_words(mechanism) else []),
        f"Certificate: {'empty' if mechanism.vacuous else 'holds'}; worst loss / budget "
        f"{at_most(certificate.ratio or 0.0, 6)} over {certificate.pairs:,} pairs, {certificate.place}",
        f"             {certificate.arithmetic}",
        *(f"             {line}" for line in delta_words(mechanism).splitlines()),
        f"Fingerprint: {mechanism.fingerprint}",
    ]


def _noise_lines(mechanism: Mechanism) -> list[str]:
    deviations = np.sqrt(mechanism.query_variances())
    exact = () if deviations.all() else mechanism.exact
    queries = mechanism.workload.queries[:ROWS_SHOWN]
    names = list(map(printed, queries))
    units = [printed(mechanism.about.unit(name)) for name in queries]
    width = min(40, max(map(len, names)))
    shown = [
        f"  {name:{width}} noise of standard deviation {at_most(s)}{unit and f' {unit}'}"
        if s
        else f"  {name:{width}} published exactly: {UNMOVED if name in exact else FAINT}"
        for name, s, unit in zip(names, deviations, units, strict=False)
    ]
    return shown + ([f"  ... and {len(deviations) - ROWS_SHOWN} more"] if len(deviations) > ROWS_SHOWN else [])


def fraction_lines(rebuilt: Floats | None, noisy: NDArray[np.bool_], exponents: Sequence[int]) -> list[str]:
    """That whole-number measurements make answers that are no whole numbers.

    rebuilt: the reconstruction of answers that are asked to be whole numbers, (K, R), or None. noisy: (R,), the coordinates
    with noise. exponents: (R,), of the grid.
    """
    if rebuilt is None or not noisy.any() or any(e < 0 for e, one in zip(exponents, noisy, strict=True) if one):
        return []
    shares = rebuilt[:, noisy]
    whole = (shares == np.rint(shares)).all()
    return [] if whole else ["Answers:     unbiased, not whole numbers: weighted sums of noisy counts"]


@facts.page_lines.register(GridMechanism)
def _page_lines(mechanism: GridMechanism) -> list[str]:
    """A page in Markdown: the guarantee, the noise of every query, the certificate and optimality."""
    certificate, words = mechanism.privacy, ball_words(mechanism)
    deviations = np.sqrt(mechanism.query_variances())
    noise = [
        f"| {in_markdown(name)} | {f'{s:.6g}' if s else 'none: exact'} |"
        for name, s in zip(mechanism.workload.queries, deviations, strict=True)
    ]
    return [
        f"# Mechanism {mechanism.fingerprint[:12]}",
        "",
        "## Guarantee",
        "",
        "```",
        mechanism.guarantee.to_text(),
        "```",
        "",
        "## Noise",
        "",
        f"Expected total squared error: {mechanism.error():.8g}.",
        "",
        "| query | standard deviation |",
        "| --- | --- |",
        *noise,
        "",
        *([f"Norm ball: {words}.", ""] if words else []),
        *("## Privacy certificate", ""),
        f"{'Empty' if mechanism.vacuous else 'Holds'}. Worst loss over budget: {certificate.ratio or 0.0!r}, over "
        f"{certificate.pairs:,} pairs. {certificate.arithmetic}.",
        *_worst_pair(mechanism),
        certificate.theorem,
        "",
        "## Optimality",
        "",
        optimality_words(mechanism.optimality),
    ]


def _worst_pair(mechanism: Mechanism) -> list[str]:
    """The worst pair in Markdown, with its budget or, under a delta, the length that it may have."""
    witness = mechanism.privacy.witness
    if witness is None:
        return []
    told = "budget" if mechanism.delta is None else "a length of at most"
    return [f"The worst pair: {in_markdown(witness.words)}, {told} {witness.budget:.8g}.", *delta_words(mechanism).splitlines()]


def optimality_words(best: Optimality | None) -> str:
    """A claim of optimality in Markdown; that of a file is its own note, without a gap, which would pass for a proof."""
    if best is None:
        return "No claim of optimality."
    asked, how = in_markdown(best.objective), in_markdown(best.method)
    if not best.verified:
        return (
            f"The file's own note, not verified: minimised {asked}; reached {best.value:.8g}, at least "
            f"{best.lower_bound:.8g} ({how})."
        )
    return (
        f"Minimised: {asked}. Reached {best.value:.8g}; no design of its kind reaches less than {best.lower_bound:.8g} (gap "
        f"{best.gap:.1e}, {how})."
    )
