"""MWEM under a metric (DX Algorithm 2, corrected): find a query that the synthetic histogram answers badly, measure it,
learn from it, repeat."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import ConfidenceLimits
from designer.base.arrays import Floats, frozen
from designer.base.checks import assign, count, positive, shown
from designer.base.errors import InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.schema import RATIONAL, Named, list_of, one_of, record
from designer.certificate.certificate import PrivacyCertificate, settled_claim
from designer.certificate.frozen import SpecForm, settle_claim
from designer.certificate.guarantee import Guarantee, Optimality
from designer.limits import MOST_ROUNDS
from designer.problem.histogram import exact_answers
from designer.relations.problem import Problem
from designer.sampling.entropy import Entropy
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.integer_samplers import SMALLEST_RATE
from designer.sampling.selection import ExponentialLaw, PermuteAndFlipLaw
from designer.synthetic.queries import LipschitzQueries, public_records, read_core, require_queries, whole_histogram
from designer.synthetic.release import (
    LAWS,
    PARAMETERS,
    RECORDS,
    SELECTION,
    Round,
    SynthesisedFromCounts,
    SyntheticRelease,
    SyntheticSimulation,
    statement,
)
from solvers.programs.nearest_sums import distribution, replayed, updated

Shares = tuple[tuple[Fraction, Fraction], ...]
OUTPUTS = {
    "average": "the mean of the histograms before each round (DX Theorem 8)",
    "last": "the histogram after the last round",
    "replay": "the histogram after the last round and {} passes through all measurements",
}
PASSES = 30


@dataclass(frozen=True, eq=False)
class MWEM(SynthesisedFromCounts):
    """T rounds of a choice and a measurement, each for its share of the metric;
    the synthetic histogram is computed from them alone.

    queries: P with constants c_k, c their largest. records: n, public. shares: for each round the shares (a, b) of every budget
    d(i, j) spent on the choice and the measurement, at most 1 together. In a round with histogram y, answers P y rounded to the
    grid:

    1. query k is chosen with weight `exp(a s_k / (2 c))`, `s_k = |P_k x - P_k y|`;
    2. `m = P_k x + z`, z discrete Laplace of scale `c_k / b`;
    3. `y_i *= exp(rate P_ki (m - P_k y) / n)`, then y is scaled to n records; rate = 4 / R^2, R the largest range of a row.

    (The paper compares m, which is on the scale of P = c q', with q'(y); that is off by the factor c. See
    docs/theory/synthetic.md, 5.) selection: "exponential", or "permute_and_flip", which is never worse. output: "average",
    "last" or "replay". Raises `NotPrivate` when constants or shares promise more than they prove.
    """

    format: ClassVar[str] = "dp-designer/mwem"
    bound_proof: ClassVar[str] = "docs/theory/synthetic.md, 4"
    spec_form = SpecForm(
        Named(
            "mwem",
            record(
                {
                    "queries": LipschitzQueries.schema,
                    "records": RECORDS,
                    "shares": list_of(list_of(RATIONAL, least=2, most=2), most=MOST_ROUNDS),
                    "selection": SELECTION,
                    "output": one_of(*OUTPUTS),
                },
                note="Rounds of a choice and a measurement; `shares` of the budget for each, which add up to at most 1.",
            ),
        ),
        PARAMETERS,
    )

    queries: LipschitzQueries
    records: int
    shares: Shares
    selection: str = "exponential"
    output: str = "average"
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        assign(self, records=public_records(self.records), shares=_checked_shares(self.shares))
        for name, known in (("selection", LAWS), ("output", OUTPUTS)):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in known:
                raise InvalidProblem(f"{name}: {shown(getattr(self, name))} is unknown; use one of {sorted(known)}.")
        require_queries(self.queries)
        slowest = min(b for _, b in self.shares) * self.queries.rate * self.queries.step
        if slowest < SMALLEST_RATE:
            raise InvalidProblem(
                f"shares: a measurement of rate {float(slowest):.3g} a step is too wide for 64 bits; use fewer rounds, or a "
                "coarser grid (exponent)."
            )
        # The queries proved themselves when they were made: a second proof for every set of rounds
        # would take seconds at K = 300.
        assign(self, privacy=self._composed(self.queries.privacy).require())

    def verify(self) -> PrivacyCertificate:
        """The certificate of the queries, recomputed, times the sum of all shares (composition,
        docs/theory/synthetic.md, 2)."""
        return self._composed(self.queries.verify())

    def _composed(self, proof: PrivacyCertificate) -> PrivacyCertificate:
        total = sum((a + b for a, b in self.shares), Fraction(0))
        worst = None if proof.worst_ratio is None else proof.worst_ratio * total
        return replace(proof, worst_ratio=worst, holds=worst is not None and worst <= 1)

    @property
    def preprocessing(self) -> tuple[Floats, Floats]:
        """The dX paper's `(Q', c)`, (K, N) and (K,), read-only; see `LipschitzQueries`."""
        return self.queries.preprocessing

    @property
    def exact(self) -> tuple[str, ...]:
        """The names of the queries that are measured without noise when they are chosen."""
        return tuple(name for name, w in zip(self.queries.workload.queries, self.queries.weights, strict=True) if math.isinf(w))

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.shares)

    @property
    def rate(self) -> float:
        """The step of the update, 4 / R^2."""
        return 4 / self.queries.spread**2

    def _statement(self) -> Guarantee:
        q, kept = self.queries, OUTPUTS[self.output].format(PASSES)
        words = (
            f"MWEM, {self.rounds} rounds: each chooses one of {len(q.weights)} queries by the {self.selection} law of its "
            f"error, and measures it with discrete Laplace noise; the synthetic histogram is {kept}. Shares of the budget "
            "(choice, measurement): "
            + "; ".join(f"{a}, {b}" for a, b in dict.fromkeys(self.shares))
            + f". Largest Lipschitz constant c = {q.constant!r}."
        )
        return statement(q, self.privacy, words, self.fingerprint)

    @property
    def proves_bound(self) -> bool:
        """Does `bound` speak of what is released? It is proven of the average over all rounds."""
        return self.output == "average"

    @hides_data_in_errors
    def _release_counts(self, given: NDArray[np.int64], /) -> SyntheticRelease:
        return self._release_of(self._transcript(given, self._release_entropy()))

    def _release_of(self, transcript: Sequence[Round]) -> SyntheticRelease:
        """The release of a transcript: what is computed from it alone."""
        y = self.histogram_of(transcript)
        return SyntheticRelease(y, *self._answered(y), tuple(transcript), self.guarantee, self.fingerprint, law=self)

    def _simulated(self, given: NDArray[np.int64], entropy: Entropy, stamp: str) -> SyntheticSimulation:
        transcript = self._transcript(given, entropy)
        y = self.histogram_of(transcript)
        return SyntheticSimulation(y, *self._answered(y), tuple(transcript), stamp)

    def _transcript(self, histogram: object, entropy: Entropy) -> list[Round]:
        """The rounds: the one place where the counts are touched."""
        exact, logs, done = self._exact(histogram), np.zeros(self.queries.values.shape[1]), list[Round]()
        for t in range(self.rounds):
            k = int(self._choice(exact, logs, t).draw(1, entropy)[0])
            noise = self.noise_of(t, k)
            drawn = 0 if noise is None else int(noise.draw(1, entropy)[0, 0])
            done.append(self.round_of(t, k, exact[k] + drawn))
            logs = self._learn(logs, done[-1])
        return done

    def log_likelihood(self, histogram: object, steps: Sequence[tuple[int, int]]) -> float:
        """The log-probability of a transcript `(query, measurement in grid steps)`,
        for analysis on public counts: it is confidential otherwise."""
        exact, logs, total = self._exact(histogram), np.zeros(self.queries.values.shape[1]), 0.0
        for t, (k, measured) in enumerate(steps):
            noise, off = self.noise_of(t, k), measured - exact[k]
            rare = (0.0 if off == 0 else -math.inf) if noise is None else _log_pmf(noise, off)
            total += math.log(self._choice(exact, logs, t).pmf()[k]) + rare
            logs = self._learn(logs, self.round_of(t, k, measured))
        return total

    def _exact(self, histogram: object) -> list[int]:
        """P x in grid steps."""
        counts = whole_histogram(histogram, self.universe, self.records)
        return [int(v) for v in exact_answers(self.queries.integers, counts)]

    def _choice(self, exact: list[int], logs: Floats, t: int) -> ExponentialLaw | PermuteAndFlipLaw:
        """The law of the query in round t. Scores are integers: P y is a function of earlier outputs, rounded to the grid."""
        answers = np.ldexp(self.queries.values @ distribution(logs) * self.records, -self.queries.exponent)
        scores = [abs(a - round(b)) for a, b in zip(exact, answers.tolist(), strict=True)]
        return LAWS[self.selection](scores, self.shares[t][0] * self.queries.rate * self.queries.step / 2)

    def noise_of(self, t: int, k: int) -> DiscreteLaplace | None:
        """The noise of query k in round t, in grid steps; none where no protected change moves the query."""
        weight = float(self.queries.weights[k])
        return None if math.isinf(weight) else DiscreteLaplace([self.shares[t][1] * Fraction(weight) * self.queries.step])

    def round_of(self, t: int, k: int, steps: int) -> Round:
        """Round t, in which query k was measured to be so many steps."""
        return Round(k, float(steps * self.queries.step), float(1 / self.queries.weights[k] / self.shares[t][1]), steps)

    def _learn(self, logs: Floats, done: Round) -> Floats:
        return updated(logs, self.queries.values[done.query], done.measurement / self.records, self.rate)

    def _states(self, transcript: Sequence[Round]) -> list[Floats]:
        """Log-weights before the first and after each round."""
        logs = [np.zeros(self.queries.values.shape[1])]
        for done in transcript:
            logs.append(self._learn(logs[-1], done))
        return logs

    def histogram_of(self, transcript: Sequence[Round], output: str | None = None) -> Floats:
        """The synthetic histogram of a transcript under `output` (None: the mechanism's own): post-processing,
        free of charge."""
        chosen, states = self.output if output is None else output, self._states(transcript)
        if chosen == "average":
            return frozen(self.records * np.mean([distribution(logs) for logs in states[:-1]], axis=0))
        if chosen == "last":
            return frozen(self.records * distribution(states[-1]))
        if chosen != "replay":
            raise InvalidProblem(f"output: {shown(chosen)} is unknown; use one of {sorted(OUTPUTS)}.", value=chosen)
        rows = [self.queries.values[done.query] for done in transcript]
        values = [done.measurement / self.records for done in transcript]
        return frozen(self.records * distribution(replayed(states[-1], rows, values, self.rate, PASSES)))

    def bound(self, beta: float = 0.05) -> float:
        """With probability 1 - beta no answer of the "average" output is further off than this (docs/theory/synthetic.md, 4).

        `n max |P - Q| + n R sqrt(log N / 2 T) + mean of 2 c log(2 T K / beta) / a_t + root mean square of c log(2 T / beta)
        / b_t`, and two grid steps.
        """
        positive(beta, "beta")
        queries, elements = self.queries.workload.shape
        n, c, rounds = self.records, self.queries.constant, self.rounds
        choice = np.mean([2 * c * math.log(2 * rounds * queries / beta) / float(a) for a, _ in self.shares])
        noise = math.sqrt(np.mean([(c * math.log(2 * rounds / beta) / float(b)) ** 2 for _, b in self.shares]))
        learning = n * self.queries.spread * math.sqrt(math.log(elements) / (2 * rounds))
        return float(n * self.queries.bias + learning + choice + noise + 2 * float(self.queries.step))

    def _limits_of(self, released: SyntheticRelease, level: float, simultaneous: bool) -> ConfidenceLimits:
        if self.output != "average":
            raise InvalidProblem(
                f"intervals: no bound of the error is proven for the output {self.output!r}, which depends on the data; the "
                "output 'average' has one."
            )
        return super()._limits_of(released, level, simultaneous)

    def core(self) -> dict[str, Any]:
        return {
            "queries": self.queries.to_spec(),
            "records": self.records,
            "shares": [[str(a), str(b)] for a, b in self.shares],
            "selection": self.selection,
            "output": self.output,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> MWEM:
        queries, records = read_core(core, cls.spec_form.core)
        shares = tuple((_fraction(a), _fraction(b)) for a, b in core["shares"])
        return cls(queries, records, shares, core["selection"], core["output"])


settle_claim.register(MWEM, lambda mechanism, claimed, proven: settled_claim(mechanism.queries, claimed, proven))


def theorem_8(queries: LipschitzQueries, records: int, rounds: int) -> float:
    """Compute DX Theorem 8 with its own constants, for the mechanism with equal halves:
    `2 n B sqrt(log N / T) + 10 T c log K + n max |P - Q|`.

    Holds with probability 1 - 2 T / K; B is the largest entry of P, which the paper takes to be at most 1.

    Parameters
    ----------
    queries : certified, with their constant c.
    records : n, the public number.
    rounds : T, from 1.
    """
    size, elements = queries.workload.shape
    largest = float(np.abs(queries.values).max())
    learning = 2 * records * largest * math.sqrt(math.log(elements) / rounds)
    return learning + 10 * rounds * queries.constant * math.log(size) + records * queries.bias


def equal_shares(rounds: int, choice: Fraction = Fraction(1, 2)) -> Shares:
    """T equal rounds that spend the whole budget, `choice` of each on the choice (the paper: one half).

    Raises `InvalidProblem` for too many rounds, and for a choice that is no `Fraction` between 0 and 1.

    >>> equal_shares(2, Fraction(1, 4))
    ((Fraction(1, 8), Fraction(3, 8)), (Fraction(1, 8), Fraction(3, 8)))
    """
    t = count(rounds, "rounds")
    if t > MOST_ROUNDS:
        raise InvalidProblem(f"rounds: {shown(rounds)} are more than {MOST_ROUNDS}.", value=rounds)
    if not isinstance(choice, Fraction) or not 0 < choice < 1:
        raise InvalidProblem(
            f"choice: {shown(choice)} is not a Fraction between 0 and 1, the part of a round spent on the choice.", value=choice
        )
    return ((choice / t, (1 - choice) / t),) * t


def mwem(
    problem: Problem,
    rounds: int | None = None,
    constant: str | float = "unbiased",
    selection: str = "exponential",
    output: str = "average",
    choice: Fraction = Fraction(1, 2),
) -> MWEM:
    """Build the MWEM of a problem. Raises `InvalidProblem` for a problem without a public number of records.

    Parameters
    ----------
    problem : with a public number of records.
    rounds : None for the number that makes the bound least at that c.
    constant
        "unbiased" for P = Q, which measures best (docs/theory/synthetic.md, 1), or a number c. "optimal" for the least
        bound, program (8) with the price of `preprocessing.mwem_price`, which wants constant answers for few records and
        refuses those.
    selection : "exponential", or "permute_and_flip", which is never worse.
    output : "average", "last" or "replay" of the rounds.
    choice : the share of each round's budget that its choice spends.
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem: {shown(problem)} is none; give a `Problem` with its number of records.", value=problem)
    from designer.synthetic.queries import mwem_price, prepared, records_of

    price = mwem_price(problem)
    queries, optimality = prepared(problem, price, constant)
    shares = equal_shares(price.best(queries.constant) if rounds is None else rounds, choice)
    made = MWEM(queries, records_of(problem), shares, selection, output)
    return made.annotated({"family": "mwem"}, optimality)


def _checked_shares(shares: object) -> Shares:
    pairs = tuple(shares) if isinstance(shares, (tuple, list)) else ()
    if not 1 <= len(pairs) <= MOST_ROUNDS:
        raise InvalidProblem(f"shares: {len(pairs)} rounds; give a pair of fractions for each of 1 to {MOST_ROUNDS} rounds.")
    for t, pair in enumerate(pairs):
        if not (
            isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(part, Fraction) and part > 0 for part in pair)
        ):
            raise InvalidProblem(
                f"shares[{t}]: {shown(pair)} is not a pair of positive fractions (choice, measurement).", value=pair
            )
    return cast("Shares", tuple(map(tuple, pairs)))


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,40}(/[1-9][0-9]{0,39})?", text):
        raise InvalidSpec(f"shares: {shown(text)} is not a fraction such as 1/20.", value=text)
    return Fraction(text)


def _log_pmf(noise: DiscreteLaplace, z: int) -> float:
    rate = float(noise.rates[0])
    return math.log(math.tanh(rate / 2)) - rate * abs(z)
