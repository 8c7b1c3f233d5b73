"""The frozen additive mechanism: a norm, a fall-off and a grid, around the answers of a matrix. No proof, no mechanism.

First what it promises, in words: the theorem, the notion and the arithmetic that guarantees quote.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign
from designer.base.display import every_name
from designer.base.errors import InvalidProblem, InvalidSpec, NoAttribute
from designer.base.json_text import flagged_vacuous
from designer.base.run_length import in_runs
from designer.base.schema import (
    DELTA,
    MATRIX,
    VACUOUS,
    Named,
    Schema,
    exactly,
    keys,
    needs_one_of,
    noted,
    one_of,
    or_null,
    record,
)
from designer.certificate import frozen as facts
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate, certify, moves_nothing, settled_claim
from designer.certificate.frozen import SpecForm, settle_claim, warning
from designer.certificate.guarantee import (
    ADDITIVE_FAMILIES,
    BUDGET_RANGE,
    CHANGING,
    NOTIONS,
    Optimality,
    require_family,
)
from designer.certificate.implicit_rows import DescribedSet, certify_described, is_described
from designer.certificate.norm_kinds import NORM, norm_from_spec, norm_to_spec
from designer.certificate.norms import Norm, require_falloff
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import MOST_PROJECTED_ELEMENTS
from designer.mechanism.accuracy import answer_margins, facts_of
from designer.mechanism.interface import Falloff, GridMechanism, common_parts, fraction_lines, summary_lines
from designer.mechanism.noise import Grid, Noise, noise_for, require_sampler, require_weights
from designer.mechanism.release import kept_rows
from designer.problem.relation import Relation
from designer.problem.workload import WORKLOAD, Workload, changes_given, moved, workload_to_spec
from designer.relations.delta_lengths import AllowedLengths
from designer.relations.kinds import RELATION
from designer.sampling.entropy import Entropy
from designer.sampling.margins import NoiseFacts
from designer.tradeoff.delta_rule import DeltaRule, GaussianAllowance, PureAllowance, checked_delta
from solvers.exact.rational import float_above
from solvers.lattices.kernel import pseudo_inverse

PURE_SHIFT = (
    "P(z) is proportional to exp(-||z||) on the grid, so a shift by u changes it by at most exp(||u||) <= exp(b) "
    "(triangle inequality; DX Theorem 1 for the weighted l1 norm, docs/theory/foundations.md for any norm). Every u "
    "lies on the grid."
)
CONCENTRATED = (
    "P(z) is proportional to exp(-||z||^2 / 2) on the grid, ||.|| Euclidean, so a shift by a grid vector u has Renyi "
    "divergence of every order alpha at most alpha ||u||^2 / 2 <= alpha b^2 / 2 (Poisson summation; "
    "docs/theory/foundations.md). Every u lies on the grid."
)
PURE_WITH_DELTA = (
    "P(z) is proportional to exp(-||z||) on the grid, so a shift by u changes it by at most exp(||u||), and a pure promise of "
    "m is (b, delta) for delta = (e^m - e^b) / (1 + e^m) (docs/theory/approximate.md). ||u|| is at most the m that this allows "
    "at the budget b, for every protected pair, those that others imply among them. Every u lies on the grid."
)
ROUNDED = (
    "z is normal noise y, of density proportional to exp(-||y||^2 / 2), ||.|| Euclidean, rounded to the grid. Every answer and "
    "every u lies on the grid, so the release is a rounding of the answers plus y: post-processing. A shift of y by u with "
    "||u|| = m is (b, delta) exactly if Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) <= delta (Balle and Wang 2018, Theorem 8), which "
    "increases with m. ||u|| is at most the m that this allows at the budget b, rounded down, for every protected pair, those "
    "that others imply among them (docs/theory/approximate.md)."
)
LAWS = {
    "exponential": "P(z) proportional to exp(-||z||), ||z|| {norm}",
    "gaussian": "P(z) proportional to exp(-||z||^2 / 2), ||z|| {norm}",
    "rounded_gaussian": "z is y rounded to the grid, the density of y proportional to exp(-||y||^2 / 2), ||y|| {norm}",
}
WITH_DELTA: dict[str, type[DeltaRule]] = {"exponential": PureAllowance, "rounded_gaussian": GaussianAllowance}

# A spec whose mechanism has a delta states it, and no other does.
DELTA_IS_STATED: Schema = {
    "if": {"properties": {"mechanism": {"required": ["delta"]}}},
    "then": {
        "properties": {
            "mechanism": {"properties": {"falloff": one_of(*WITH_DELTA)}},
            "guarantee": {"properties": {"parameters": {"required": ["delta"]}}},
        }
    },
    "else": {
        "properties": {
            "mechanism": {"properties": {"falloff": one_of(*NOTIONS)}},
            "guarantee": {"properties": {"parameters": {"not": {"required": ["delta"]}}}},
        }
    },
}


def theorem(falloff: Falloff, delta: float | None) -> str:
    """Why the certificate proves the promise."""
    if falloff == "exponential":
        return PURE_SHIFT if delta is None else PURE_WITH_DELTA
    return CONCENTRATED if falloff == "gaussian" else ROUNDED


def with_lengths(relation: Relation, falloff: Falloff, delta: float | None) -> Relation:
    """The relation that a norm is held against: itself, or under a delta the lengths that its budgets allow."""
    return relation if delta is None else AllowedLengths(relation, WITH_DELTA[falloff](Fraction(delta)))


def budgets_spent(lengths: Floats, falloff: Falloff, delta: float | None) -> Floats:
    """The budgets that changes of these lengths spend, (M,) or (): the lengths, under a delta the least b with (b, delta)."""
    if delta is None:
        return lengths
    law = WITH_DELTA[falloff](Fraction(delta))
    told = [law.spent_budget(length) if math.isfinite(length) else math.inf for length in lengths.ravel().tolist()]
    return np.reshape(told, lengths.shape)


def budget_of_several(budget: Fraction, changes: int, falloff: Falloff, delta: float) -> float:
    """The least b with (b, delta) for so many changes of this budget together, rounded up: their difference is at most so many
    times as long as one may be."""
    law = WITH_DELTA[falloff](Fraction(delta))
    return law.spent_budget(float_above(changes * law.most(budget)))


def checked_notion(relation: Relation, falloff: Falloff, delta: object) -> float | None:
    """The delta: it goes with noise whose delta is proven, and rounded normal noise goes with a delta."""
    if delta is None:
        if falloff not in NOTIONS:
            raise InvalidProblem(
                f"delta: missing, but a {falloff!r} fall-off promises (b, delta); give one, or use 'gaussian'."
            )
        return None
    checked = checked_delta(delta, "delta")
    if falloff not in WITH_DELTA:
        raise InvalidProblem(f"falloff: no delta is proven for a {falloff!r} fall-off; use one of {sorted(WITH_DELTA)}.")
    relation.every_pair()
    return checked


# The counts of all elements with noise that agrees with what is public: the projection onto what protected changes reach (SEMI
# Proposition 26). A flag in a spec, no matrix: it follows from the relation alone.
PROJECTED = noted("The noise of the counts is projected; measured and reconstruction are null.", exactly(True))
BY_PROJECTION: Mapping[str, Any] = {"measured": None, "reconstruction": None, "projected": True}  # of the core of a spec


def asks_for_projection(core: Mapping[str, Any]) -> bool:
    """Whether the core of a spec says so; `InvalidSpec` where it says anything else."""
    if "projected" in core and any(core[key] is not value for key, value in BY_PROJECTION.items()):
        raise InvalidSpec("projected: must be true, or left out, and measured and reconstruction null beside it.")
    return "projected" in core


def projected_counts(workload: Workload, relation: Relation, norm: Norm) -> dict[str, Floats]:
    """What is measured, `[I; A]`, (N + p, N), and how the counts are put together, `[I - C A, C]`, (N, N + p), with the
    public rows A and `C = S A' (A S A')^+`, S the squared scales of the noise: the least variances that agree with A x.

    The first part takes from noisy counts what they say of the public statistics, the second puts the true ones there.
    Raises `InvalidProblem` for queries other than the counts of the elements, and above `MOST_PROJECTED_ELEMENTS` elements.
    """
    size = workload.shape[1]
    if size > MOST_PROJECTED_ELEMENTS:
        raise InvalidProblem(
            f"projected: {size} counts are projected by a dense matrix, up to {MOST_PROJECTED_ELEMENTS} of them; use a "
            "lattice family, or leave the noise unprojected (laplace)."
        )
    if not workload.is_identity:
        raise InvalidProblem("projected: is for the counts of the elements; give the reconstruction for other queries.")
    public = relation.public_rows()
    if norm.map.shape != (size + len(public),):
        raise InvalidProblem(
            f"projected: the norm has shape {norm.map.shape}; give a weight for each of {size} counts and {len(public)} public "
            "rows."
        )
    scales = 1 / norm.map[:size]
    scales /= scales.max() if scales.any() else 1.0
    back = scales[:, None] * pseudo_inverse(public * scales)
    rebuilt = np.hstack([-back @ public, back])
    rebuilt[:, :size] += np.eye(size)
    return {"measured": frozen(np.vstack([np.eye(size), public])), "reconstruction": frozen(rebuilt)}


NO_NOISE = "no answer gets any noise, so every one is published exactly"


@dataclass(frozen=True, eq=False)
class AdditiveMechanism(GridMechanism):
    """Releases `reconstruction (M x + z)`: M the measured matrix on a grid, z noise with density falling off in a norm.

    family: one of `designer.certificate.guarantee.ADDITIVE_FAMILIES`. workload: what was asked, Q (K, N). relation: what is
    hidden. norm, falloff: the noise, on R measured coordinates. grid: the steps of M and z. measured: M before rounding, (R,
    N); None for Q itself. reconstruction: (K, R), None for the identity. projected: Q are the counts of the elements, their
    noise projected onto what changes reach. Then measured and reconstruction follow from the relation, and a spec holds
    neither. allow_vacuous: accept a mechanism that hides nothing; such a mechanism is refused otherwise. delta: promise (b,
    delta) for every change of budget b, by rounded normal or exponential noise; None for the notion of the fall-off itself.
    Construction certifies `norm(u) <= b`, or at most what (b, delta) allows, for every protected difference u of M, and raises
    `NotPrivate` otherwise.
    """

    format = "dp-designer/mechanism"
    spec_form = SpecForm(
        Named(
            "mechanism",
            record(
                {
                    "family": one_of(*sorted(ADDITIVE_FAMILIES)),
                    "workload": WORKLOAD,
                    "relation": RELATION,
                    "norm": NORM,
                    "grid": Grid.schema,
                    "falloff": one_of(*LAWS),
                    "measured": or_null(MATRIX),
                    "reconstruction": or_null(MATRIX),
                },
                {"vacuous": VACUOUS, "delta": DELTA, "projected": PROJECTED},
                note="Additive noise: reconstruction (measured x + z).",
            ),
        ),
        Named(
            "parameters_of_additive_noise", record(BUDGET_RANGE, {**CHANGING, "delta": DELTA}, anyOf=needs_one_of(*CHANGING))
        ),
        rules=DELTA_IS_STATED,
    )

    family: str
    workload: Workload
    relation: Relation
    norm: Norm
    grid: Grid
    falloff: Falloff = "exponential"
    measured: Floats | None = None
    reconstruction: Floats | None = None
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    allow_vacuous: bool = False
    delta: float | None = field(default=None, kw_only=True)
    projected: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.projected:
            self.__dict__.update(projected_counts(self.workload, self.relation, self.norm))
        require_family(self.family, ADDITIVE_FAMILIES)
        require_falloff(self.falloff, tuple(LAWS), self.norm)
        self.relation.require_elements(self.workload.shape[1], self.workload.unlisted)
        assign(self, delta=checked_notion(self.relation, self.falloff, self.delta))
        require_sampler(self.norm, self.falloff)
        rows = self.workload.shape[0] if self.measured is None else len(self.measured)
        if not rows == len(self.grid.exponents) == self.norm.dimension:
            raise InvalidProblem(
                f"mechanism: {rows} rows, {len(self.grid.exponents)} steps and a norm on {self.norm.dimension} differ; make "
                "their numbers equal."
            )
        if self.reconstruction is None and rows != self.workload.shape[0]:
            raise InvalidProblem(
                f"reconstruction: missing, but {rows} measured answers do not name {self.workload.shape[0]} queries; give it."
            )
        require_weights(self.norm)
        self._settle_matrices()
        assign(self, privacy=self.verify().require())
        self._require_draws()
        self._require_substance()

    def _require_draws(self) -> None:
        """What the sampler, which is kept, refuses is no mechanism: singular and tall maps, rates and steps out of its range.
        The triangulation of a large gauge alone is proven at the first draw."""
        try:
            _ = self.noise
        except (ValueError, OverflowError, np.linalg.LinAlgError) as refusal:
            raise InvalidProblem(
                f"mechanism: no noise can be drawn exactly for this norm on this grid: {refusal} Choose an invertible map, "
                "and steps of about 2^-40 noise scales."
            ) from None

    integers: NDArray[np.int64] = field(init=False, repr=False)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    @cached_property
    def vacuous(self) -> str | None:
        if moves_nothing(self.privacy, self.sensitivity):
            return None if self._answers_by_constants else NOTHING_MOVES
        return NO_NOISE if len(self.exact) == self.workload.shape[0] else None

    @property
    def _answers_by_constants(self) -> bool:
        """Whether a biased design answers queries that protected changes move by numbers that
        depend on the number of records alone."""
        if self.measured is None:
            return False
        asked = SensitivitySet.of(self.workload.dense(), self.relation)
        one = self.relation.facts().get("connected_components") == 1
        return one and not asked.silent_coordinates().all()

    def _laplace_scales(self) -> Floats | None:
        plain = type(self.norm) is Norm and self.norm.order == "l1" and self.falloff == "exponential"
        own = plain and (self.reconstruction is None or self.noise.own_rows(self.reconstruction) is not None)
        return np.asarray(self.scales) if own else None

    @property
    def scales(self) -> Floats:
        """Laplace scales (l1 norms only) of answers of one measured coordinate each, (K,), else of these, (R,); 0: no noise."""
        if self.norm.map.ndim != 1:
            raise NoAttribute(f"scales: the noise of {self.family} has no scale for each query; use `covariance()`.")
        own = self.noise.own_rows(self.reconstruction)
        return 1.0 / self.norm.map if own is None else own @ (1.0 / self.norm.map[self.noise.heard])

    def verify(self) -> PrivacyCertificate:
        words, elements = theorem(self.falloff, self.delta), self.workload.elements
        if is_unwritten(self):
            return certify_described(self.sensitivity(), self.norm, words, elements)
        return certify(self.sensitivity(), self.norm, words, elements)

    def sensitivity(self) -> Any:
        """The differences that must be hidden in the measured answers, as they are on the grid, with what their norm may be:
        a `SensitivitySet`, or a `DescribedSet` where the queries are never written out."""
        if is_unwritten(self):
            return DescribedSet(self._told, self.integers, np.array(self.grid.exponents, dtype=np.int64))
        return super().sensitivity()

    @cached_property
    def _told(self) -> Relation:
        """What the norm of a difference may be, pair by pair."""
        return with_lengths(self.relation, self.falloff, self.delta)

    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """The budget that a change of the histogram spends, `||u||` of the difference u of the measured answers; under a delta,
        the least b for which the change is (b, delta).

        change: (N,) or (M, N), such as +1 for the element that a record leaves for that with -1. answers: a difference of the
        answers instead, (K,) or (M, K), where it tells u; exact up to the grid.
        Infinite where the change moves what is published exactly.
        """
        given = changes_given(change, answers, self.workload, self.relation, measured_matrix(self))
        if is_unwritten(self):
            differences = np.array([self.effective @ one for one in np.atleast_2d(given)]).reshape(*given.shape[:-1], -1)
        else:
            rows = self.grid.values(self.integers) if answers is None else measured_matrix(self)
            differences = moved(given, rows, self.norm.silent)
        return budgets_spent(self.norm(differences), self.falloff, self.delta)

    def _entity_budget(self, rows: int) -> float:
        """As of every mechanism; under a delta, whose budgets do not add up, the least b with (b, delta) for `rows` times the
        length of a difference that the largest budget allows.

        rows: how many records one entity may have.
        """
        alone = self._hidden.entity_budget(1)
        if self.delta is None or rows == 1:
            return super()._entity_budget(rows)
        return budget_of_several(alone, rows, self.falloff, self.delta)

    def query_variances(self) -> Floats:
        return self.noise.variances(self.reconstruction)

    def query_mean_absolutes(self) -> Floats:
        """Expected absolute noise of each of the K answers; simulated to about 0.3 % where no closed form is known."""
        return self.noise.mean_absolutes(self.reconstruction)

    def _proven_margins(self, level: float) -> Floats:
        """See the table of `designer.mechanism.accuracy`."""
        return answer_margins(self, level)

    def covariance(self) -> Floats:
        """Covariance matrix of the noise in the K answers."""
        own = self.noise.heard_covariance
        return self._covariance_of(np.diag(own) if own.ndim == 1 else own)

    @property
    def _noise_facts(self) -> NoiseFacts:
        return facts_of(self)

    @property
    def _target(self) -> Any:
        return measured_matrix(self)

    def _draws(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.noise.draw(size, entropy)

    @property
    def _law_words(self) -> str:
        after = "" if self.reconstruction is None else "; the answers are a fixed linear map of the noisy measurements"
        return f"{LAWS[self.falloff].format(norm=self.norm.sentence)}{after}"

    @cached_property
    def _kept(self) -> Floats | None:
        return kept_rows(self.relation, self.workload, self._heard, self.reconstruction)

    @property
    def _heard(self) -> NDArray[np.bool_]:
        return np.asarray(~self.norm.silent)

    @cached_property
    def noise(self) -> Noise:
        """The exact sampler of the noise, in grid steps, and the moments of its law."""
        return noise_for(self.norm, self.grid, self.falloff)

    def core(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "workload": workload_to_spec(self.workload),
            "relation": self.relation.to_spec(),
            "norm": norm_to_spec(self.norm),
            "grid": in_runs(list(self.grid.exponents)),
            "falloff": self.falloff,
            **({"measured": self.measured, "reconstruction": self.reconstruction} if not self.projected else BY_PROJECTION),
            **({} if self.delta is None else {"delta": self.delta}),
            **self._flag,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> AdditiveMechanism:
        allowed = flagged_vacuous(core, keys(cls.spec_form.core) | ({"delta", "projected"} & core.keys()))
        return cls(
            **common_parts(core),
            norm=norm_from_spec(core["norm"]),
            falloff=core["falloff"],
            allow_vacuous=allowed,
            delta=core.get("delta"),
            projected=asks_for_projection(core),
        )

    def _unprotected(self) -> tuple[str, ...]:
        silent = [
            name
            for name, quiet in zip(self.workload.queries, self.norm.silent, strict=False)
            if quiet and self.measured is None
        ]
        statements = list(warning(self))
        if silent:
            statements.append(f"Published exactly, because no protected change moves them: {every_name(silent)}.")
        return (*statements, *self.relation.unprotected())


def measured_matrix(mechanism: AdditiveMechanism) -> Any:
    """The measured matrix before rounding, (R, N); in the form of the queries where these are never written out."""
    if is_unwritten(mechanism):
        return mechanism.workload.matrix
    return mechanism.workload.dense() if mechanism.measured is None else mechanism.measured


def is_unwritten(mechanism: AdditiveMechanism) -> bool:
    """Whether the queries are never written out; see `designer.certificate.implicit_rows`."""
    return mechanism.measured is None and is_described(mechanism.workload, mechanism.relation)


# What exact arithmetic alone proves is the same everywhere.
settle_claim.register(
    AdditiveMechanism, lambda made, said, proven: said if is_unwritten(made) else settled_claim(made, said, proven)
)


@facts.summary_lines.register(AdditiveMechanism)
def _summary_lines(mechanism: AdditiveMechanism) -> list[str]:
    rebuilt = None if mechanism.reconstruction is None else mechanism.reconstruction[mechanism.workload.whole_rows]
    return [*summary_lines(mechanism), *fraction_lines(rebuilt, mechanism._heard, mechanism.grid.exponents)]
