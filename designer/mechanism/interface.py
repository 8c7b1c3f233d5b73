"""`Mechanism`: what every mechanism for linear queries can do, whatever its noise: real on a grid, integer on a lattice,
or yet to come."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, ConfidenceLimits, symmetric_limits
from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count, probability, shown
from designer.base.display import at_most, in_markdown, printed
from designer.base.errors import InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.json_text import array
from designer.base.progress import step
from designer.base.run_length import numbers_from
from designer.certificate import frozen as facts
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.guarantee import (
    APPROXIMATE,
    FLOATING_POINT,
    NOTIONS,
    POST_PROCESSING,
    TIMING,
    Guarantee,
    Optimality,
    budget_range,
)
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import LARGEST_GRID_EXPONENT
from designer.mechanism.noise import Grid
from designer.mechanism.release import (
    ErrorSource,
    Release,
    SimulatedNoise,
    answers_of,
    known_errors,
    publishes_integers,
    require_no_data,
    summed,
)
from designer.problem.compressed_rows import difference, largest_entries
from designer.problem.histogram import ExactRows, Universe
from designer.problem.relation import BUDGETS_ADD, Relation
from designer.problem.workload import Workload, workload_from_spec
from designer.relations.delta_lengths import AllowedLengths
from designer.relations.kinds import relation_from_spec, require_listed
from designer.relations.records.counting import TakesCounts
from designer.sampling.entropy import Entropy, simulation_entropy
from designer.sampling.margins import Margins, NoiseFacts, NoiseReach, seed_of

Falloff = Literal["exponential", "gaussian", "rounded_gaussian", "truncated"]
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

    @cached_property
    def preprocessing(self) -> tuple[Floats, Floats]:
        """The dX paper's `(Q', c)`, (K, N) and (K,), read-only: what is answered is `c Q' x`, with Laplace noise of scale c.

        Where an answer has no noise, or none of its own of this law, nothing is pre-processed: c is 1, and Q' what is answered.
        """
        rows, scales = self.effective, self._laplace_scales()
        if not isinstance(rows, np.ndarray):
            raise InvalidProblem("preprocessing: the queries are never written out; ask for `scales`.")
        c = np.ones(len(rows)) if scales is None else np.where(scales > 0, scales, 1.0)
        return frozen(rows / c[:, None]), frozen(c)

    def _laplace_scales(self) -> Floats | None:
        """The scale of the Laplace noise that each answer has by itself, (K,), 0 without noise; None of other noise."""
        return None

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

    def _limits_of(self, released: Any, level: float, simultaneous: bool) -> ConfidenceLimits:
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


@facts.answer_layout.register(Mechanism)
def _answer_layout(made: Mechanism) -> tuple[AnswerTable, ...]:
    names = made.workload.queries
    return Release(np.zeros(len(names)), names, made.guarantee, made.fingerprint, law=made).answer_tables()


@facts.below_by_noise.register(Mechanism)
def _below_by_noise(made: Mechanism, table: AnswerTable) -> NDArray[np.bool_]:
    counts = made.workload.nonnegative_rows & (made._biases == 0)
    return np.asarray((table.answers < 0) & counts[table.first : table.first + len(table.answers)])


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


def preprocessing_words(mechanism: Mechanism) -> str:
    """What is answered in the place of the queries, where it is another matrix on purpose; empty elsewhere."""
    if not mechanism.biased or not isinstance(mechanism.effective, np.ndarray):
        return ""
    c, off = mechanism.preprocessing[1], max(mechanism.biased.values())
    return (
        f"c Q' in the place of Q, off by up to {at_most(off)} for each record; c from {at_most(c.min())} to {at_most(c.max())}"
    )


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


NEGLIGIBLE_WEIGHT = 2.0**-43  # of the largest entry of a row of a reconstruction: rounding
BUDGETS_DO_NOT_ADD = (
    "budgets of groups do not add up under one delta; the privacy loss of a change of several records states what it spends."
)
DELTAS_ADD = (
    "Anything computed from a release alone keeps the guarantee. Of several releases about the same records both the budgets "
    "and the deltas add up, pair by pair."
)
_SAMPLED = "Exact: random bits of the operating system, compared with probabilities in exact arithmetic."
_ROUNDED_EXACTLY = (
    "Exact: normal variates are computed from random bits of the operating system, as many as their rounding to the grid needs."
)
SAMPLING = {"exponential": _SAMPLED, "gaussian": _SAMPLED, "rounded_gaussian": _ROUNDED_EXACTLY, "truncated": _SAMPLED}
ROWS_SHOWN = 12
UNMOVED, FAINT = "no protected change moves it", "its noise is smaller than floats tell, so it hides nothing"


class GridMechanism(Mechanism):
    """Releases `reconstruction (M x + z)`: M the measured matrix on a grid, z noise of some law in steps of this grid.

    grid: the steps of M and z. measured: M before rounding, (R, N); None for the queries themselves. reconstruction: (K, R);
    None for the identity. integers: M in steps. Subclasses have the law, what it proves and its moments.
    """

    grid: Grid
    measured: Floats | None
    reconstruction: Floats | None
    integers: NDArray[np.int64]

    @property
    @abstractmethod
    def _heard(self) -> NDArray[np.bool_]:
        """The measured coordinates that carry noise, (R,)."""

    @property
    @abstractmethod
    def _law_words(self) -> str:
        """The law of the noise in words."""

    @abstractmethod
    def _draws(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws of z in steps of the grid, (size, R)."""

    @property
    def _coset(self) -> tuple[list[int], NDArray[Any] | None]:
        """One vector that the noise of the heard coordinates can be, (s,), and rows that generate the differences of any two,
        (r, s); None for rows where they are all whole vectors."""
        return [0] * int(self._heard.sum()), None

    @property
    def _target(self) -> Any:
        """The measured matrix before rounding, (R, N)."""
        return self.workload.dense() if self.measured is None else self.measured

    @property
    def _told(self) -> Relation:
        """The relation that differences are held against."""
        return self.relation

    def _settle_matrices(self) -> None:
        """Refuse matrices that do not fit, and round what is measured to the grid."""
        for name in ("measured", "reconstruction"):
            if getattr(self, name) is not None:
                assign(self, **{name: real_array(getattr(self, name), name, 2)})
        (queries, elements), rows, target = self.workload.shape, len(self.grid.exponents), self._target
        rebuilding = (rows, rows) if self.reconstruction is None else self.reconstruction.shape
        for name, found, shape in (
            ("measured", target.shape, (rows, elements)),
            ("reconstruction", rebuilding, (queries, rows)),
        ):
            if found != shape:
                raise InvalidProblem(f"{name}: has shape {found}; {shape} is needed.")
        integers = self.grid.multiples(target)
        assign(self, integers=frozen(integers) if isinstance(integers, np.ndarray) else integers)

    @property
    def exact(self) -> tuple[str, ...]:
        """The names of the answers that no noise reaches, up to the rounding of the reconstruction."""
        noisy = self._heard
        if self.reconstruction is None and noisy.all():
            return ()
        if self.reconstruction is not None:
            reach = np.abs(self.reconstruction)
            noisy = reach[:, noisy].max(axis=1, initial=0.0) > NEGLIGIBLE_WEIGHT * reach.max(axis=1)
        return tuple(name for name, noise in zip(self.workload.queries, noisy, strict=True) if not noise)

    @property
    def effective(self) -> Any:
        """The matrix whose answers the release estimates without bias, (K, N); in the form of the queries where these are
        never written out."""
        rounded = self.grid.values(self.integers)
        return rounded if self.reconstruction is None else self.reconstruction @ rounded

    def sensitivity(self) -> Any:
        """The differences that must be hidden in the measured answers, as they are on the grid."""
        values = self.grid.values(self.integers)
        if not self.relation.exact_on(values.T):
            raise InvalidProblem("grid: is too fine for sums of its multiples to be floats; choose coarser steps.")
        return SensitivitySet.of(values, self._told)

    def _covariance_of(self, inner: Floats) -> Floats:
        """Covariance matrix of the noise in the K answers. inner: that in the coordinates with noise, (s, s)."""
        heard = np.flatnonzero(self._heard)
        full = np.zeros((len(self._heard), len(self._heard)))
        full[np.ix_(heard, heard)] = inner
        return full if self.reconstruction is None else self.reconstruction @ full @ self.reconstruction.T

    def noise_in_answers(self, size: int, entropy: Entropy) -> Floats:
        """`size` draws of the noise in the K answers, (size, K)."""
        draws: Floats = self.grid.values(self._draws(size, entropy).T).T
        return draws if self.reconstruction is None else draws @ self.reconstruction.T

    @hides_data_in_errors
    def _release_counts(self, given: NDArray[np.int64], /) -> Release:
        """M x is computed in exact integers, and so is the sum with the noise."""
        exact = self._measured.answers(given)
        noise = self._draws(1, self._release_entropy())[0]
        return self._release_of(summed(exact, noise))

    def _statement(self) -> Guarantee:
        """The statement of what is promised."""
        unit, (least, most) = self.relation.protected_unit(), budget_range(self.relation)
        return Guarantee(
            unit=unit if self.delta is None else unit.replace(BUDGETS_ADD, BUDGETS_DO_NOT_ADD),
            relation=self.relation.sentence(),
            unprotected=self._unprotected(),
            notion=NOTIONS[self.falloff] if self.delta is None else APPROXIMATE.format(delta=self.delta),
            parameters={
                "smallest_budget": least,
                "largest_finite_budget": most,
                "worst_ratio": self.privacy.ratio,
                **({} if self.delta is None else {"delta": self.delta}),
                **self.relation.facts(),
            },
            mechanism=f"Family {self.family}: integer noise on a grid, {self._law_words}.",
            sampling=SAMPLING[self.falloff],
            floating_point=FLOATING_POINT,
            timing=TIMING,
            post_processing=POST_PROCESSING if self.delta is None else DELTAS_ADD,
            fingerprint=self.fingerprint,
        )

    def _unprotected(self) -> tuple[str, ...]:
        return (*facts.warning(self), *self.relation.unprotected())

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
        """Whether a release holds the multiples; see `designer.mechanism.release.publishes_integers`."""
        return getattr(self, "projected", False) or publishes_integers(
            self.reconstruction, self._heard, self.integers, self.relation
        )


def common_parts(core: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a core that every law on a grid has, as its constructor takes them."""
    grid = numbers_from(core["grid"], "grid")
    grid = grid.tolist() if isinstance(grid, np.ndarray) else grid
    if not all(type(e) is int and abs(e) < LARGEST_GRID_EXPONENT for e in grid):
        raise InvalidSpec(f"grid: {grid[:4]} ... must be whole exponents of two.")
    return {
        "family": core["family"],
        "workload": workload_from_spec(core["workload"]),
        "relation": relation_from_spec(core["relation"]),
        "grid": Grid(tuple(grid)),
        **{k: None if core[k] is None else array(core[k], 2, k) for k in ("measured", "reconstruction")},
    }


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
        *([f"(Q', c):     {preprocessing_words(mechanism)}"] if preprocessing_words(mechanism) else []),
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
        facts.stated_guarantee(mechanism).to_text(),
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
