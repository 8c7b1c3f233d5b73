"""Releases of synthetic histograms, and what the guarantees of the mechanisms that make them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, ConfidenceLimits, LawOfAnswers, Tabular, symmetric_limits, tables_in_order
from designer.base.arrays import Floats, frozen
from designer.base.checks import count
from designer.base.schema import COUNT, Named, noted, one_of, record, whole
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.guarantee import BUDGET_RANGE, NOTIONS, Guarantee, budget_range
from designer.problem.histogram import Universe
from designer.problem.relation import BUDGETS_ADD, Relation
from designer.relations.kinds import require_listed
from designer.relations.records.counting import TakesCounts, require_public
from designer.relations.records.row_unit import RowUnit
from designer.sampling.entropy import Entropy, simulation_entropy, stamp_of_each
from designer.sampling.selection import ExponentialLaw, PermuteAndFlipLaw
from designer.synthetic.queries import LipschitzQueries

FLOATING_POINT = (
    "Scores and measurements are exact integers in steps of a grid fixed at design time, probabilities exact. The synthetic "
    "histogram and its answers are floats computed from released choices, released measurements and public numbers only."
)
TIMING = (
    "The time of a choice or of a draw may depend on the data and the noise and is not covered. The guarantee does not cover "
    "attackers who can time single releases precisely."
)
LAWS: dict[str, type[ExponentialLaw] | type[PermuteAndFlipLaw]] = {
    "exponential": ExponentialLaw,
    "permute_and_flip": PermuteAndFlipLaw,
}

RECORDS = Named("records", noted("The public number of records.", whole(least=1, most=2**53 - 1)))
SELECTION = one_of(*LAWS)
PARAMETERS = Named("parameters_of_synthetic_data", record({**BUDGET_RANGE, "connected_components": COUNT}))


@dataclass(frozen=True)
class Round:
    """One round of a transcript: the chosen query, its noisy answer, the Laplace scale of the noise, and the noisy answer in
    whole steps of the grid."""

    query: int
    measurement: float
    scale: float
    steps: int


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A synthetic histogram y, (N,), of the public number of records; `answers` P y, (K,);
    `rounds`, the transcript y is computed from.

    `workload.answer(y)` answers the original queries from the same y: consistent with each other,
    at most n max |P - Q| further off.
    """

    histogram: Floats
    answers: Floats
    queries: tuple[str, ...]
    rounds: tuple[Round, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "histogram": self.histogram.tolist(),
            "answers": dict(zip(self.queries, self.answers.tolist(), strict=True)),
            "rounds": [{"query": self.queries[r.query], "measurement": r.measurement, "scale": r.scale} for r in self.rounds],
        }


@dataclass(frozen=True, eq=False)
class SyntheticRelease(Synthetic, Tabular):
    """A release, with the guarantee it carries and the fingerprint of the mechanism that made it."""

    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)
    law: LawOfAnswers | None = field(default=None, kw_only=True, repr=False)

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The answers by query; standard errors follow from no law, because the error depends on the data."""
        keys = tuple((name,) for name in self.queries)
        return tables_in_order([AnswerTable("answers", ("query",), keys, self.answers, None)], self.law, self)

    def _display_facts(self) -> Mapping[str, object]:
        return {"elements": len(self.histogram), "answers": len(self.answers), **super()._display_facts()}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "fingerprint": self.fingerprint, "guarantee": self.guarantee.to_dict()}


@dataclass(frozen=True, eq=False)
class SyntheticSimulation(Synthetic):
    """What a release might look like, made with a seed; `stamp` says that it is not private."""

    stamp: str

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "stamp": self.stamp}


class SynthesisedFromCounts(TakesCounts[SyntheticRelease]):
    """What makes a synthetic histogram from counts; a release and `bound` speak of its answers."""

    synthetic: ClassVar[bool] = True
    bound_proof: ClassVar[str]  # the section that proves `bound`
    queries: LipschitzQueries

    @abstractmethod
    def _simulated(self, given: NDArray[np.int64], entropy: Entropy, stamp: str) -> SyntheticSimulation: ...

    @abstractmethod
    def bound(self, beta: float = 0.05) -> float:
        """With probability 1 - beta no answer is further off than this."""

    @property
    def _hidden(self) -> Relation:
        return self.queries.relation

    @property
    def universe(self) -> Universe:
        return self.queries.workload.universe

    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> tuple[SyntheticSimulation, ...]:
        """What `size` releases of `data` would be, PUBLIC or invented counts or records: each is stamped as not private."""
        entropy, (_, given) = simulation_entropy(seed), self._given(require_public(data), RowUnit())
        return tuple(self._simulated(given, entropy, stamp) for stamp in stamp_of_each(seed, count(size, "size")))

    def _answered(self, y: Floats) -> tuple[Floats, tuple[str, ...]]:
        return frozen(self.queries.values @ y), self.queries.workload.queries

    def _limits_of(self, released: SyntheticRelease, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Intervals of all answers together, from `bound`; no narrower ones are proven for each."""
        return symmetric_limits(
            released.answers,
            np.full(len(released.answers), self.bound(1 - level)),
            self.queries.workload.whole_rows,
            f"a proven bound of the largest error of all answers, whatever the data ({self.bound_proof})",
        )

    def _require_listed(self) -> None:
        require_listed(self.queries.relation)


def statement(queries: LipschitzQueries, privacy: PrivacyCertificate, mechanism: str, fingerprint: str) -> Guarantee:
    """What a synthetic-data mechanism promises; `mechanism` says in words what it does."""
    least, most = budget_range(queries.relation)
    return Guarantee(
        unit=f"The value of one record, as the relation states; {BUDGETS_ADD}",
        relation=queries.relation.sentence(),
        unprotected=queries.relation.unprotected(),
        notion=NOTIONS["exponential"],
        parameters={
            "smallest_budget": least,
            "largest_finite_budget": most,
            "worst_ratio": privacy.ratio,
            **queries.relation.facts(),
        },
        mechanism=mechanism,
        sampling="Exact: random bits of the operating system, compared with probabilities in exact arithmetic.",
        floating_point=FLOATING_POINT,
        timing=TIMING,
        fingerprint=fingerprint,
    )
