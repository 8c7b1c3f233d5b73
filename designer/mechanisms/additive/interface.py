"""`Mechanism`: what every mechanism for linear queries can do, whatever its noise: real on a grid, integer on a lattice,
or yet to come."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, Limits, symmetric_limits
from designer.base.arrays import Floats
from designer.base.checks import count, probability, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import step
from designer.base.rounding import at_most
from designer.certified.certificate import PrivacyCertificate
from designer.certified.sensitivity import SensitivitySet
from designer.mechanisms.additive.release import Release, SimulatedNoise, require_no_data
from designer.problem.histogram import Universe
from designer.problem.relation import Relation
from designer.problem.rows import difference, largest_entries
from designer.problem.workload import Workload
from designer.relations.rows.tabulation import TakesCounts
from designer.sampling.entropy import Entropy, simulation_entropy
from designer.sampling.reach import Margins, NoiseFacts, NoiseReach
from designer.sampling.simulated_reach import seed_of

Falloff = Literal["exponential", "gaussian", "rounded_gaussian"]
CONFIDENCE = 0.95
BIASED = 1e-6  # of a standard error, for each record: a thousand records then move an answer by a thousandth of it


class Mechanism(TakesCounts[Release]):
    """Answers the queries of a workload with noise of some law; subclasses are frozen dataclasses.

    family: a name of the closed lists in `designer.certified.guarantee`. workload: what was asked, Q (K, N).
    relation: what is hidden. delta: that of (b, delta), where the promise is of this kind.
    falloff: of the law of the noise. Construction certifies that no protected difference spends more than its budget.
    """

    falloffs: ClassVar[tuple[str, ...]] = ("exponential", "gaussian")
    family: str
    workload: Workload
    relation: Relation
    falloff: Falloff
    privacy: PrivacyCertificate
    delta: float | None = None
    projected: bool = False
    lattice_noise: ClassVar[bool] = False  # whether noise is whole, and on the lattice that leaves published statistics alone

    @abstractmethod
    def verify(self) -> PrivacyCertificate:
        """The privacy certificate, recomputed from the frozen numbers."""

    @abstractmethod
    def sensitivity(self) -> SensitivitySet:
        """The differences that must be hidden, in the coordinates of the norm."""

    @abstractmethod
    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """The budget that a change of the histogram, or of the answers, spends;
        infinite where it moves what is published exactly.

        change: of the histogram, (N,). answers: in its place, the change of the answers, (K,).
        """

    @property
    def named_answers(self) -> tuple[str, ...]:
        return self.workload.queries

    def spent_delta(self) -> float | None:
        """The delta that the worst pair spends at its budget, rounded up; None where the promise has no delta."""
        return None

    def spent_deltas(self) -> dict[str, float | None]:
        return {} if self.delta is None else {"delta": self.delta, "spent_delta": self.spent_delta()}

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
        """Standard deviation of the noise in each of the K answers: the roots of `query_variances`."""
        return np.sqrt(self.query_variances())

    def deviations(self) -> Iterable[tuple[str, float]]:
        return zip(self.workload.queries, np.sqrt(self.query_variances()).tolist(), strict=True)

    def margins(self, confidence: float = CONFIDENCE) -> Floats:
        """Numbers t, (K,), with `P(|noise in answer k| <= t_k) >= confidence`, those of `reach_of_answers`: quantiles where the
        law of the noise gives them, elsewhere the less of a proven bound and what draws show."""
        return self.reach_of_answers(confidence, False)[0]

    def joint_margins(self, confidence: float = CONFIDENCE) -> Floats:
        """Numbers t, (K,), with `P(|noise in answer k| <= t_k for all k) >= confidence`."""
        return self.reach_of_answers(confidence, True)[0]

    def reach_of_answers(self, level: float, simultaneous: bool) -> tuple[Floats, str]:
        """Margins of each answer, or of all at once, (K,), and by which law, in a sentence: the one function behind every
        margin of a design, a release, a report, and a search for budgets. See `designer.sampling.reach`."""
        return self._reach(probability(level, "confidence"), simultaneous)

    @cached_property
    def _reach(self) -> Margins:
        exact = frozenset(self.exact)
        silent = (
            np.array([name in exact for name in self.workload.queries]) if exact else np.zeros(self.workload.shape[0], bool)
        )
        draw, seed = self.noise_in_answers, seed_of(self.fingerprint)
        return cache(NoiseReach(self._proven_margins, draw, silent, self.noise_facts, seed, self.family).margins)

    def _proven_margins(self, level: float) -> Floats | None:
        """Margins of each answer that are proven without draws, (K,), or None: Chebyshev's bound, where nothing better is
        known."""
        return np.asarray(self.standard_errors() / math.sqrt(1 - level))

    @property
    def noise_facts(self) -> NoiseFacts:
        """What decides how the reach of the noise is found."""
        return NoiseFacts("Chebyshev's bound", False, self.workload.shape[1])

    def rounding(self) -> Floats:
        """Largest change of an entry of each query by the grid: n records move answer k by at most n times this."""
        return largest_entries(difference(self.effective, self.workload.matrix))

    @cached_property
    def biases(self) -> Floats:
        """`rounding`, (K,), where it is more than `BIASED` of the noise of its answer, or, without noise, of the largest weight
        of its query; 0 elsewhere, and of projected counts, which are rounded together with their noise."""
        off = np.zeros(len(self.workload.queries)) if self.projected else self.rounding()
        if not off.any():
            return off
        errors, weights = self.known_errors(), largest_entries(self.workload.matrix)
        noisy = np.zeros(len(off)) if errors is None else np.nan_to_num(errors, posinf=0.0)
        return np.where(off > BIASED * np.where(noisy > 0, noisy, weights), off, 0.0)

    @property
    def biased(self) -> dict[str, float]:
        return {name: off for name, off in zip(self.workload.queries, self.biases.tolist(), strict=True) if off}

    def limits_of(self, released: Any, level: float, simultaneous: bool) -> Limits:
        """Intervals of the answers of a release of this mechanism; see `designer.base.answer_table`."""
        if self.biased:
            raise InvalidProblem(
                f"intervals: the answers are biased by up to {at_most(max(self.biased.values()))} for each record, and the "
                "release does not know how many there are; add `rounding()` times that number to `margins(level)`."
            )
        margins, law = self.reach_of_answers(level, simultaneous)
        return symmetric_limits(released.answers, margins, self.workload.whole_rows, law)

    def below_by_noise(self, table: AnswerTable) -> NDArray[np.bool_]:
        return np.asarray((table.answers < 0) & self.workload.nonnegative_rows & (self.biases == 0), dtype=np.bool_)

    def known_errors(self) -> Floats | None:
        """`standard_errors`; None where no bound of the noise in an answer is proven."""
        try:
            return self.standard_errors()
        except DesignFailed:
            return None

    @property
    def simulated_draws(self) -> int:
        """By how many draws variances are simulated; 0 where they are computed."""
        return 0

    @property
    def uncertain(self) -> float:
        """To which share simulated standard errors are told, twice their largest relative standard error; 0 where they are
        computed or bounds."""
        return 0.0

    @property
    def accuracy_words(self) -> str:
        """What standard errors are where they are not computed: simulated, to which error, or bounds; empty where they are."""
        return ""

    @cached_property
    def universe(self) -> Universe:
        """What counts are joined by."""
        made = self.relation
        return replace(self.workload.universe, impossible=made.impossible, agreeing=made.agreeing, tables=made.counted_tables)

    def error(self, loss: str = "squared") -> float:
        """Expected error of the noise that is in fact drawn.

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
        """`size` draws of the noise in the K answers, (size, K), for simulation only: the result is stamped as not private.

        seed: makes it repeatable. data: None, because the law of the noise does not depend on them.
        """
        require_no_data(data)
        return SimulatedNoise.of(self.noise_in_answers(count(size, "size"), simulation_entropy(seed)), seed)

    @property
    def ball_words(self) -> str:
        """Who proposed the ball of the norm that the noise follows, and what proves it; empty where there is nothing to say."""
        return ""

    def design_lines(self) -> list[str]:
        """The summary with the expected error, for the terminal."""
        ball = [f"Norm ball:   {self.ball_words}"] if self.ball_words else []
        error = f"Error:       expected total squared error {self.error():.6g} of the answers"
        return [*self.summary_lines(), *ball, error, *([f"             {self.accuracy_words}"] if self.accuracy_words else [])]
