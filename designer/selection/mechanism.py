"""Choosing one of finitely many candidates privately: the exponential mechanism and permute-and-flip under any relation.

Scores from the plain data of a spec, each kind from a closed list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats
from designer.base.checks import assign, count, positive, probability, shown
from designer.base.display import HEAD, Displayed, printed
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.json_text import array, require_keys
from designer.base.schema import PLACE, POSITIVE, ClosedList, Named, either, keys, needs_one_of, number, one_of, record, text
from designer.certificate.agreement import RESTORE, ReleaseForm, ReleaseKeys
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate, certify, moves_nothing, settled_claim
from designer.certificate.frozen import SpecForm, settle_claim
from designer.certificate.guarantee import BUDGET_RANGE, CHANGING, NOTIONS, Guarantee, budget_range
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.mechanism.composition import CompositionOfCounts
from designer.problem.histogram import Universe, counts
from designer.problem.relation import Relation
from designer.problem.workload import Workload, workload_from_spec
from designer.relations.kinds import RELATION, relation_from_spec, require_listed
from designer.relations.records.counting import TakesCounts, require_public
from designer.relations.records.row_unit import RowUnit
from designer.sampling.entropy import Entropy, simulation_entropy, simulation_stamp
from designer.sampling.selection import ExponentialLaw, PermuteAndFlipLaw, draw_from_each
from designer.selection.scores import AbsoluteError, Closeness, LargestError, Linear, RankError, Score
from designer.selection.tabulated import Tabulated
from designer.tradeoff.costs import Cost

OF_FORMS: dict[str, type[Score]] = {cls.kind: cls for cls in (Linear, AbsoluteError, Closeness, RankError)}
SCORE = either(*(cls.schema for cls in OF_FORMS.values()), LargestError.schema, Tabulated.schema)


def score_from_spec(spec: Any) -> Score:
    """The score that `to_spec` wrote; InvalidSpec or InvalidProblem for anything else."""
    return SCORES.read(spec)


def _parts(spec: Mapping[str, Any], depth: int = 1) -> tuple[Workload, Floats]:
    return workload_from_spec(spec["workload"]), array(spec["targets"], depth, "score.targets")


def _of_form(kind: type[Score]) -> Callable[[Mapping[str, Any]], Score]:
    return lambda spec: kind(*_parts(spec))


SCORES: ClosedList[Score] = ClosedList(
    "score",
    {
        **{kind: (cls.schema, _of_form(cls)) for kind, cls in OF_FORMS.items()},
        LargestError.kind: (LargestError.schema, lambda spec: LargestError(*_parts(spec, 2), spec["candidates"])),
        Tabulated.kind: (Tabulated.schema, lambda spec: Tabulated(*_parts(spec), spec["records"], spec["elements"])),
    },
)

LawName = Literal["exponential", "permute_and_flip"]
RateConstant = Literal["range", "theorem_3"]

LAWS: dict[str, type[ExponentialLaw] | type[PermuteAndFlipLaw]] = {
    "exponential": ExponentialLaw,
    "permute_and_flip": PermuteAndFlipLaw,
}
LAW_WORDS = {
    "exponential": "Exponential mechanism: P(candidate) proportional to exp(rate * score)",
    "permute_and_flip": (
        "Permute-and-flip: every candidate flips a coin of bias exp(rate * (score - best score)), one of the heads is "
        "chosen uniformly"
    ),
}
THEOREM = (
    "When the scores move by v, every probability changes by a factor of at most exp(rate * (max v - min v)) <= exp(b) "
    "(docs/theory/selection.md, 2; DX Theorem 3 with the range of v in place of twice its largest absolute value)."
)
SAMPLING = (
    "Exact: random bits of the operating system are compared with probabilities in exact arithmetic; nothing is truncated."
)
NUMBERS = "Scores are computed in exact integers; only the name of the chosen candidate is released."
TIMING = (
    "The number of random words does not depend on the data, except with a probability below 2^-20; the time of exact sums "
    "and exponentials depends on the size of the scores and is not covered. The guarantee does not cover attackers who can "
    "time single releases precisely."
)
LEAST_RATE = 1e-140


@dataclass(frozen=True, eq=False)
class Selection(TakesCounts["Choice"]):
    """Chooses a candidate of `score` with a law of base `exp(rate * score)`: DX Definition 9 with `rate = 1 / (2 c)`,
    or permute-and-flip.

    `rate` is in budget per unit of score. Construction certifies `rate * (max v - min v) <= b` for the changes v of the scores
    under every protected change of the data, and raises `NotPrivate` otherwise. `design(SelectionProblem(score, relation))`
    finds the largest rate.

    score: of the candidates. relation: over the elements of the score. rate: above 0. law: "exponential" or "permute_and_flip".

    >>> from designer import Workload, metrics
    >>> from designer.selection.scores import Linear
    >>> chosen = best_selection(Linear(Workload.identity(3)), metrics.uniform(3, 1.0))
    >>> round(chosen.rate, 6), chosen.privacy.holds
    (0.5, True)
    """

    format = "dp-designer/selection"
    spec_form = SpecForm(
        Named(
            "selection",
            record(
                {
                    "score": SCORE,
                    "relation": RELATION,
                    "rate": number(least=LEAST_RATE, most=1 / LEAST_RATE),
                    "law": one_of(*LAWS),
                },
                note="A candidate chosen by a law of base exp(rate * score).",
            ),
        ),
        Named("parameters_of_selections", record({**BUDGET_RANGE, "rate": POSITIVE}, CHANGING, anyOf=needs_one_of(*CHANGING))),
    )

    score: Score
    relation: Relation
    rate: float
    law: LawName = "exponential"
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_parts(self.score, self.relation)
        if not isinstance(self.law, str) or self.law not in LAWS:
            raise InvalidProblem(f"law: {shown(self.law)} is unknown; use one of {sorted(LAWS)}.", value=self.law)
        self.relation.require_elements(self.score.size, self.score.workload.unlisted, "score")
        rate = positive(self.rate, "rate")
        if not LEAST_RATE <= rate <= 1 / LEAST_RATE:
            raise InvalidProblem(
                f"rate: {rate} is not between {LEAST_RATE} and {1 / LEAST_RATE}; choose other units of score.", value=rate
            )
        assign(self, rate=rate)
        assign(self, privacy=self.verify().require())
        if moves_nothing(self.privacy, self.sensitivity):
            raise InvalidProblem(
                f"relation: protects nothing in the scores: {NOTHING_MOVES}; give budgets to changes that move them."
            )

    @property
    def workload(self) -> Workload:
        """The linear forms that the score is made of."""
        return self.score.workload

    @property
    def norm(self) -> Norm:
        """The seminorm of changes of the linear forms whose values are the budgets spent."""
        return self.score.spread(self.rate)

    def sensitivity(self) -> SensitivitySet:
        """The changes of the linear forms that must be hidden."""
        return _moved_forms(self.score, self.relation)

    def verify(self) -> PrivacyCertificate:
        """The privacy certificate, recomputed from the frozen numbers."""
        return certify(self.sensitivity(), self.norm, THEOREM, self.workload.elements)

    @property
    def universe(self) -> Universe:
        return self.score.universe

    @hides_data_in_errors
    def _release_counts(self, given: NDArray[np.int64], /) -> Choice:
        return self._release_of(int(self._law(given).draw(1, self._release_entropy())[0]))

    def _release_of(self, chosen: int) -> Choice:
        """The release of the candidate of this number."""
        return Choice(self.score.candidates[chosen], chosen, self.guarantee, self.fingerprint)

    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> SimulatedChoices:
        """`size` choices for `data`, which are PUBLIC or invented: counts or records. Stamped as not private."""
        entropy, (_, given) = simulation_entropy(seed), self._given(require_public(data), RowUnit())
        drawn = self._law(given).draw(count(size, "size"), entropy)
        drawn.setflags(write=False)
        return SimulatedChoices(drawn, self.score.candidates, simulation_stamp(seed, f"{size} choices"))

    def choose_each(self, histograms: NDArray[np.int64], entropy: Entropy) -> NDArray[np.intp]:
        """One choice for each of many confidential histograms, (G, N): the part of `release` that meets the data, for objects
        that release many choices with one guarantee. Spends the budget once for each. Returns indices, (G,)."""
        if self.law != "exponential":
            return np.array([int(self._law(own).draw(1, entropy)[0]) for own in histograms], dtype=np.intp)
        scores, error = self.score.floats(histograms)
        # The difference of two scores and its product with the rate: two roundings of at most the largest of the gaps.
        gaps = self.rate * (scores.max(axis=1, keepdims=True) - scores)
        doubt = (2 * self.rate * error + 2.0**-51 * gaps.max(axis=1)) * (1 + 2.0**-40)
        return draw_from_each(gaps, doubt, lambda group: self._exponential(histograms[group]), entropy)

    def _exponential(self, histogram: object) -> ExponentialLaw:
        scores, step = self.score.exact(counts(histogram, self.universe))
        return ExponentialLaw(scores, Fraction(self.rate) * step)

    def probabilities(self, histogram: object) -> Floats:
        """The law of the choice, (R,), for public or synthetic data; it is exact up to the rounding of floats."""
        return self._law(histogram).pmf()

    def expected_shortfall(self, histogram: object) -> float:
        """`max score - E[score of the choice]` for public or synthetic data, exact by enumeration of the candidates."""
        law = self._law(histogram)
        return float(law.pmf() @ np.array([float(min(gap, Fraction(2**1000))) for gap in law.gaps])) / self.rate

    def shortfall_bound(self, beta: float, best: int = 1) -> float:
        """a with `P(score of the choice <= max score - a) <= beta` whatever the data,
        when at least `best` candidates have the largest score.

        `a = ln((R - best) (1 - beta) / (best beta)) / rate`, never above DX Theorem 4's `(ln(R / best) + ln(1 / beta)) / rate`,
        and attained by the exponential mechanism when all others score `max - a`; docs/theory/selection.md, 4.
        0 where no candidate can be worse.
        """
        probability(beta, "beta")
        candidates = len(self.score.candidates)
        if not count(best, "best") <= candidates:
            raise InvalidProblem(f"best: {best} of {candidates} candidates; give how many share the largest score.")
        odds = (candidates - best) / best * (1 - beta) / beta
        return math.log(odds) / self.rate if odds > 1 else 0.0

    def _law(self, histogram: object) -> ExponentialLaw | PermuteAndFlipLaw:
        scores, step = self.score.exact(counts(histogram, self.universe))
        return LAWS[self.law](scores, Fraction(self.rate) * step)

    def _require_listed(self) -> None:
        require_listed(self.relation)

    def core(self) -> dict[str, Any]:
        return {"score": self.score.to_spec(), "relation": self.relation.to_spec(), "rate": self.rate, "law": self.law}

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> Selection:
        require_keys(core, keys(cls.spec_form.core), "mechanism")
        return cls(score_from_spec(core["score"]), relation_from_spec(core["relation"]), core["rate"], core["law"])

    def _statement(self) -> Guarantee:
        """The statement of what is promised."""
        least, most = budget_range(self.relation)
        return Guarantee(
            unit=self.relation.protected_unit(),
            relation=self.relation.sentence(),
            unprotected=self._unprotected(),
            notion=NOTIONS["exponential"],
            parameters={
                "smallest_budget": least,
                "largest_finite_budget": most,
                "worst_ratio": self.privacy.ratio,
                "rate": self.rate,
                **self.relation.facts(),
            },
            mechanism=(
                f"{LAW_WORDS[self.law]}; {len(self.score.candidates)} public candidates; the score is {self.score.sentence()}."
            ),
            sampling=SAMPLING,
            floating_point=NUMBERS,
            timing=TIMING,
            fingerprint=self.fingerprint,
        )

    def _unprotected(self) -> tuple[str, ...]:
        chosen = "The candidates and their targets are public and must not have been chosen by looking at the data."
        return (chosen, *self.relation.unprotected())


settle_claim.register(Selection, settled_claim)


@dataclass(frozen=True)
class Choice(Displayed):
    """The chosen candidate, with the guarantee it carries and the fingerprint of the selection that made it.

    choice: the name of the candidate. index: its place among the candidates. guarantee: of the selection. fingerprint: of the
    selection.
    """

    choice: str
    index: int
    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"choice": self.choice, "fingerprint": self.fingerprint, "guarantee": self.guarantee.to_dict()}

    def _display_facts(self) -> Mapping[str, object]:
        """The choice, and the fingerprint."""
        return {"choice": self.choice, "fingerprint": self.fingerprint[:HEAD]}

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """None: a choice is no number."""
        return ()

    def to_text(self) -> str:
        """The choice in a line."""
        return f"Chosen: {printed(self.choice)}"


@dataclass(frozen=True, eq=False)
class SimulatedChoices:
    """Indices of choices, (size,), with a `stamp` that says they are not private."""

    indices: NDArray[np.intp]
    candidates: tuple[str, ...]
    stamp: str

    def __len__(self) -> int:
        return len(self.indices)


def best_selection(
    score: Score, relation: Relation, law: LawName = "exponential", constant: RateConstant = "range"
) -> Selection:
    """The selection with the largest private rate; see `SelectionProblem`. DesignFailed when no protected change moves scores
    apart (the best candidate may then be published as it is) or when a change without budget does."""
    return Selection(score, relation, largest_rate(score, relation, constant), law)


def largest_rate(score: Score, relation: Relation, constant: RateConstant = "range") -> float:
    """Find the largest private rate of a score, rounded towards privacy by less than one part in 10^11; see `best_selection`.
    Raises `InvalidProblem` where score and relation speak of different elements, `DesignFailed` where nothing moves.

    Parameters
    ----------
    score : of the candidates.
    relation : what is hidden.
    constant : "range", or "theorem_3" for that of DX, which is never larger.
    """
    from designer.certificate.certificate import refuse_infinite, scale_up_to_private

    require_parts(score, relation)
    if not isinstance(constant, str) or constant not in ("range", "theorem_3"):
        raise InvalidProblem(f'constant: {shown(constant)} is unknown; use "range" or "theorem_3".', value=constant)
    relation.require_elements(score.size, score.workload.unlisted, "score")
    sensitivity = _moved_forms(score, relation)
    unit = score.spread(1.0) if constant == "range" else Norm(np.full(score.workload.shape[0], 2.0), "linf")
    worst = refuse_infinite(sensitivity, unit)
    if worst == 0:
        raise DesignFailed(
            "relation: no protected change moves two scores apart, so any rate is private; publish the best candidate, or "
            "protect more."
        )
    return 1.0 / (worst * scale_up_to_private(sensitivity, unit.divided(worst)))


def _moved_forms(score: Score, relation: Relation) -> SensitivitySet:
    """The changes of the linear forms that must be hidden; refused where floats cannot hold their sums."""
    changes, forms = score.changes(relation), score.workload.dense()
    if not changes.exact_on(forms.T):
        raise InvalidProblem(
            "score: sums of its entries over a protected change are no floats, so nothing can be proven; round the entries "
            "to coarser steps."
        )
    return SensitivitySet.of(forms, changes)


def require_parts(score: object, relation: object) -> None:
    """`InvalidProblem` for what is no score, and for what is no relation."""
    if not isinstance(score, Score) or not isinstance(relation, Relation):
        raise InvalidProblem("score, relation: give a score of designer.selection.scores and a relation, such as a metric.")


# Releases of a chosen candidate as files.
#
# What releases cost together: budgets add.


class ChoiceForm(ReleaseForm[Selection, Choice]):
    """The name of the candidate and its place among the candidates."""

    schema: ClassVar[ReleaseKeys] = {"choice": text(), "index": PLACE}
    checked = ("The choice is one of the candidates, at its place.",)

    def content(self, mechanism: Selection, released: Choice) -> dict[str, Any]:
        return {"choice": released.choice, "index": released.index}

    def rebuilt(self, mechanism: Selection, content: Mapping[str, Any]) -> Choice:
        index, candidates = content["index"], len(mechanism.score.candidates)
        if type(index) is not int or not 0 <= index < candidates:
            raise InvalidSpec(f"index: is no place among the {candidates} candidates; {RESTORE}")
        return mechanism._release_of(index)

    def unchecked(self, mechanism: Selection) -> tuple[str, ...]:
        return ("How good the choice is: no score leaves, and none has a standard error.",)


class ChoiceComposition(CompositionOfCounts[Selection]):
    """Pure, and of bounded range under the exponential law."""

    def of_budget(self, made: Selection, budget: Fraction) -> Cost:
        return Cost.of_bounded_range(budget) if made.law == "exponential" else Cost.pure(budget)
