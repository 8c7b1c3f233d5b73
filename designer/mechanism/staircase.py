"""The frozen staircase mechanism: exact answers on a grid, and noise on the lattice of all protected differences.

What is certified, tails included: docs/theory/staircase.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import DELTA, MATRIX, ClosedList, Named, either, keys, needs_one_of, one_of, or_null, record
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate, describe_pair
from designer.certificate.frozen import SpecForm
from designer.certificate.guarantee import (
    BUDGET_RANGE,
    CHANGING,
    STAIRCASE_FAMILIES,
    Optimality,
    require_family,
)
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import MOST_LOSSES
from designer.mechanism.composition import single_changes
from designer.mechanism.count_noise import Moves, Truncated
from designer.mechanism.interface import Falloff, GridMechanism, common_parts
from designer.mechanism.noise import Grid
from designer.mechanism.spec import GridComposition
from designer.mechanism.staircase_noise import (
    Difference,
    DrawnNoise,
    Peaks,
    Stairs,
    protected_differences,
)
from designer.problem.relation import Relation
from designer.problem.workload import WORKLOAD, Workload, changes_given, moved, workload_to_spec
from designer.relations.kinds import RELATION
from designer.sampling.entropy import Entropy
from designer.sampling.margins import NoiseFacts
from designer.tradeoff.costs import Cost
from designer.tradeoff.functions import Tradeoff
from designer.tradeoff.response_mixture import ResponseMixture

LAWS = (Peaks, Stairs, Moves, Truncated)
KINDS: ClosedList[Peaks | Stairs | Moves | Truncated] = ClosedList(
    "noise", {law.kind: (law.schema, law.from_spec) for law in LAWS}
)
WALKS = (
    "P(z) is proportional to exp(-unit h(z)) on a coset of the lattice of all protected differences, and h(z + u) <= h(z) + "
    "c(u) for all z, because every way to z goes on to z + u at the cost c(u); so a shift by u changes P by at most "
    "exp(unit c(u)) <= exp(b), in the tails as well (docs/theory/staircase.md)."
)
THEOREMS = {
    "peaks": WALKS,
    "stairs": WALKS,
    "moves": (
        "P(z) is proportional to exp(-unit m(z)) on the whole vectors that add up to 0, m(z) = |z|_1 / 2 the number of records "
        "that move, and m(z + u) <= m(z) + m(u) for all z. So a shift by u, which adds up to 0, changes P by at most "
        "exp(unit m(u)) <= exp(b), in the tails as well (docs/theory/staircase.md)."
    ),
    "truncated": (
        "The coordinates of z are independent, each even with the tails P(z >= 1) = a (1 - delta) / (1 + a) and P(z >= k + 1) "
        "= max(0, a (P(z >= k) - delta)), a = exp(-rate), and every protected difference u is one step of one coordinate, of a "
        "rate of at most b. So P(z) - exp(rate) P(z + u) is above 0 for the last two values alone, where it adds up to delta. "
        "Every protected pair is (b, delta), those that others imply among them (docs/theory/staircase.md)."
    ),
}
ARITHMETIC = "exact rationals for all {pairs} pairs: whole units of the budgets, the cheapest ways tabulated in integers"
BY_STEPS = "exact rationals for all {pairs} pairs: rates, or units of records that move, over budgets"


@dataclass(frozen=True, eq=False)
class StaircaseMechanism(GridMechanism):
    """Releases `reconstruction (M x + z)`: M the measured matrix on a grid, z noise of one of `LAWS`.

    family: of `designer.certificate.guarantee.STAIRCASE_FAMILIES`. workload: what was asked, Q (K, N). relation: what is
    hidden. noise: the law, in steps of the grid, on the s measured coordinates that protected changes move. grid: the steps of
    M, in which all differences are whole. measured: M (R, N), on the grid; None for Q itself. reconstruction: (K, R), None for
    the identity. delta: that of the law; None where it is pure.
    Construction proves that no protected difference changes any probability by more than its budget, but for delta, and raises
    `NotPrivate` otherwise.
    """

    format = "dp-designer/staircase-mechanism"
    spec_form = SpecForm(
        Named(
            "staircase_mechanism",
            record(
                {
                    "family": one_of(*sorted(STAIRCASE_FAMILIES)),
                    "workload": WORKLOAD,
                    "relation": RELATION,
                    "noise": either(*(Named(law.kind, law.schema.body) for law in LAWS)),
                    "grid": Grid.schema,
                    "measured": or_null(MATRIX),
                    "reconstruction": or_null(MATRIX),
                },
                note="Noise of least loss on a lattice of few dimensions: reconstruction (measured x + z).",
            ),
        ),
        Named("parameters_of_staircases", record(BUDGET_RANGE, {**CHANGING, "delta": DELTA}, anyOf=needs_one_of(*CHANGING))),
    )

    family: str
    workload: Workload
    relation: Relation
    noise: Peaks | Stairs | Moves | Truncated
    grid: Grid
    measured: Floats | None = None
    reconstruction: Floats | None = None
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    falloff: Falloff = field(default="exponential", init=False)
    delta: float | None = field(default=None, init=False)
    integers: NDArray[np.int64] = field(init=False, repr=False)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_family(self.family, STAIRCASE_FAMILIES)
        self.relation.require_elements(self.workload.shape[1], self.workload.unlisted)
        if not isinstance(self.noise, LAWS):
            raise InvalidProblem("noise: is none of Peaks, Stairs, Moves and Truncated; see designer.mechanism.staircase.")
        assign(self, delta=self.noise.delta, falloff="exponential" if self.noise.delta is None else "truncated")
        self._settle_matrices()
        if not np.array_equal(self.grid.values(self.integers), self._target) and not isinstance(self.noise, Stairs):
            raise InvalidProblem("grid: does not hold the measured answers; noise on a lattice needs steps that divide them.")
        if self.noise.dimension != int(self._heard.sum()):
            raise InvalidProblem(
                f"noise: has {self.noise.dimension} dimensions, but protected changes move {int(self._heard.sum())} measured "
                "answers; measure in coordinates of full rank."
            )
        assign(self, privacy=self.verify().require())

    @cached_property
    def _heard(self) -> NDArray[np.bool_]:
        """(R,) booleans: the measured answers that some protected change moves, which get noise."""
        return np.asarray(~self.sensitivity().silent_coordinates())

    @cached_property
    def _differences(self) -> tuple[Difference, ...]:
        """The protected differences of the heard answers, in steps of the grid, with their exact budgets."""
        return self._protected(self.sensitivity())

    def _protected(self, sensitivity: SensitivitySet) -> tuple[Difference, ...]:
        """The same anew; under a delta those of every pair, because no pair implies another."""
        return protected_differences(sensitivity, self._heard, self.grid.steps, implied=self.delta is not None)

    @cached_property
    def _drawn(self) -> DrawnNoise:
        """The law with its sampler."""
        return self.noise.over(self._differences)

    @property
    def _rows(self) -> Floats:
        """What a step of the noise adds to each answer, (K, s)."""
        rebuilding = np.eye(len(self.grid.exponents)) if self.reconstruction is None else self.reconstruction
        return np.asarray((rebuilding * self.grid.steps)[:, self._heard])

    def covariance(self) -> Floats:
        """Covariance matrix of the noise in the K answers."""
        one, steps = np.eye(self.noise.dimension), self.grid.steps[self._heard]
        sums = np.array([self._drawn.variances(one + row) for row in one])
        own = sums.diagonal() / 4
        return self._covariance_of((sums - own[:, None] - own) / 2 * steps[:, None] * steps)

    @property
    def _law_words(self) -> str:
        return self.noise.sentence

    def _draws(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        drawn = np.zeros((size, len(self.grid.exponents)), dtype=np.int64)
        drawn[:, self._heard] = self._drawn.draw(size, entropy)
        return drawn

    @property
    def _coset(self) -> tuple[list[int], NDArray[Any] | None]:
        return self.noise.coset or super()._coset

    def verify(self) -> PrivacyCertificate:
        """The privacy certificate, recomputed from the frozen numbers: for each protected difference u of budget b the cost
        c(u) in units, and the ratio `unit c(u) / b`; no `log P(z) - log P(z + u)` is beyond `unit c(u)`, but for delta."""
        sensitivity = self.sensitivity()
        pairs = self.relation.pair_count()
        found = self._protected(sensitivity)
        if not found:
            raise InvalidProblem(f"relation: {NOTHING_MOVES}; a staircase needs a change that moves an answer.")
        free = next((u for u in found if u.budget <= 0), None)
        ratios = [Fraction(0)] if free else self._ratios(found)
        worst = free or found[ratios.index(max(ratios))]
        witness = describe_pair(sensitivity, worst.left, worst.right, self.workload.elements)
        ratio = None if free else max(ratios)
        holds = ratio is not None and ratio <= 1
        words = ARITHMETIC if isinstance(self.noise, (Peaks, Stairs)) else BY_STEPS
        return PrivacyCertificate(holds, ratio, witness, pairs, words.format(pairs=pairs), THEOREMS[self.noise.kind])

    def _ratios(self, found: tuple[Difference, ...]) -> list[Fraction]:
        drawn: DrawnNoise = self.noise.over(found)
        return [self.noise.unit * cost / u.budget for cost, u in zip(drawn.costs(found), found, strict=True)]

    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """The budget that a change of the histogram spends, `unit c(u)`, c(u) the cost of its difference u of the measured
        answers in units of the law.

        change: (N,) or (M, N). answers: a difference of the answers instead, (K,) or (M, K), where it tells u.
        Infinite where the change moves what is published exactly, or leads off the lattice of the noise.
        """
        given = changes_given(change, answers, self.workload, self.relation, self._target)
        shifts = moved(given, self.grid.values(self.integers), ~self._heard)
        rows = np.atleast_2d(shifts)
        spent = np.array([self._spent(row) for row in rows])
        return spent if np.ndim(shifts) == 2 else np.asarray(spent[0])

    def _spent(self, shift: Floats) -> float:
        if shift[~self._heard].any():
            return math.inf
        whole = np.rint(shift[self._heard] / self.grid.steps[self._heard])
        if not np.abs(whole * self.grid.steps[self._heard] - shift[self._heard]).max() <= 1e-9 * np.abs(shift).max(initial=0.0):
            return math.inf
        if not whole.any():
            return 0.0
        led = Difference(tuple(int(x) for x in whole), Fraction(1), 0, 0)
        if not self._drawn.reaches(led):
            return math.inf
        return float(self.noise.unit * self._drawn.costs([led])[0])

    def _entity_budget(self, rows: int) -> float:
        """As of every mechanism; of several rows under a delta nothing is proven."""
        if self.delta is not None and rows > 1:
            raise InvalidProblem(
                f"rows_per_entity: {rows}, but (epsilon, delta) of this noise is proven for one row; use gaussian or laplace."
            )
        return super()._entity_budget(rows)

    def query_variances(self) -> Floats:
        """Variance of the noise in each of the K answers; what a table leaves of the tail is counted at a bound."""
        return self._variances.copy()

    @cached_property
    def _variances(self) -> Floats:
        return self._drawn.variances(self._rows)

    @cached_property
    def _absolutes(self) -> Floats:
        return self._drawn.mean_absolutes(self._rows)

    def _proven_margins(self, level: float) -> Floats:
        """Quantiles of the law, summed up."""
        return self._drawn.margins(self._rows, 1 - level)

    @property
    def _noise_facts(self) -> NoiseFacts:
        tight = self._drawn.tight(self._rows)
        words = "quantiles of the tabulated law" if tight else "the variance, by Chebyshev's bound"
        return NoiseFacts(words, tight, self.noise.dimension)

    def query_mean_absolutes(self) -> Floats:
        """Expected absolute value of the noise in each of the K answers, as `query_variances`."""
        return self._absolutes.copy()

    def core(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "workload": workload_to_spec(self.workload),
            "relation": self.relation.to_spec(),
            "noise": self.noise.to_spec(),
            "grid": list(self.grid.exponents),
            "measured": self.measured,
            "reconstruction": self.reconstruction,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> StaircaseMechanism:
        """The mechanism of a spec, certified anew."""
        require_keys(core, keys(cls.spec_form.core), "mechanism")
        return cls(**common_parts(core), noise=KINDS.read(core["noise"]))


class StaircaseComposition(GridComposition[StaircaseMechanism]):
    """By the fall-off of the noise, and by the law of the loss where it is tabulated."""

    def of_budget(self, made: StaircaseMechanism, budget: Fraction) -> Cost:
        """Under a delta (b, delta), whose delta is the probability of an unbounded loss."""
        return super().of_budget(made, budget) if made.delta is None else Cost(epsilon=budget, delta=Fraction(made.delta))

    def cost_of_steps(self, made: StaircaseMechanism, steps: Sequence[Fraction]) -> Cost:
        """Budgets add; under a delta so many changes cost what as many of the largest budget do."""
        paid = [step for step in steps if step]
        if made.delta is None or len(paid) < 2:
            return super().cost_of_steps(made, steps)
        return self.cost(made, max(paid)).of_group(len(paid))

    def shapes_of_all(self, made: StaircaseMechanism, budget: Fraction) -> tuple[Tradeoff, ...]:
        return _loss_law(made, budget)


@lru_cache(maxsize=64)
def _loss_law(made: StaircaseMechanism, budget: Fraction) -> tuple[Tradeoff, ...]:
    """What every change of at most this budget, above 0, is promised (docs/theory/tradeoff.md, 12); nothing of stairs, of which
    no more is known than the budget."""
    if isinstance(made.noise, Stairs) or budget / made.noise.unit >= MOST_LOSSES:
        return ()
    moves = single_changes(made, budget)
    if moves is None or not len(moves):
        return ()
    whole = np.rint(moves[:, made._heard] / made.grid.steps[made._heard]).astype(np.int64)
    upward = np.where(np.take_along_axis(whole, (whole != 0).argmax(axis=1)[:, None], axis=1) < 0, -whole, whole)
    within = [Difference(tuple(row), budget, 0, 0) for row in np.unique(upward, axis=0).tolist()]
    try:
        chances = made._drawn.chances_of_losses(within)
    except InvalidProblem:  # one that follows from others leads beyond every table
        return ()
    return () if chances is None else (ResponseMixture.above(made.noise.unit, chances.tolist()),)
