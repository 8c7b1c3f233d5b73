"""Integer noise that keeps an invariant: `x + z`, z in the kernel of the constraints (INT section 3; docs/theory/lattice.md).

The released table is a table of integers with the published statistics of the data, whatever they are. The law of z falls off
in a norm of z, exponentially or like a Gaussian, and privacy is the same one inequality as for every additive mechanism:
`||v|| <= b` for every protected change v. All noise is drawn exactly; where that is not feasible a Markov chain may be asked
for by name, and the guarantee says what it adds.

What a spec of integer noise on a kernel holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign, count, shown
from designer.base.display import printed
from designer.base.errors import DesignFailed, InvalidProblem, NoFeasibleAttribute
from designer.base.json_text import require_keys
from designer.base.progress import announce
from designer.base.schema import (
    COUNT,
    POSITIONS,
    POSITIVE,
    Named,
    either,
    exactly,
    keys,
    needs_one_of,
    number,
    one_of,
    or_null,
    record,
)
from designer.certificate.certificate import PrivacyCertificate, Witness, certify, moves_nothing, settled_claim
from designer.certificate.frozen import SpecForm, settle_claim
from designer.certificate.guarantee import (
    ESTIMATED,
    LATTICE_FAMILIES,
    POST_PROCESSING,
    RATIO,
    TIMING,
    Guarantee,
    Optimality,
    require_family,
)
from designer.certificate.norm_kinds import FALLOFF, NORM, norm_from_spec, norm_to_spec
from designer.certificate.norms import Gauge, Norm, require_falloff
from designer.certificate.sensitivity import SensitivitySet
from designer.lattice.accuracy import (
    OF_SLICES,
    SUMMED,
    CellLaws,
    Moments,
    SummedTails,
    cell_laws,
    continuous_moments,
    drawn_moments,
    draws_for,
    error_bounds_of_answers,
    facts_of_lattice,
    margin_bounds_of_answers,
    sliced_tails,
    summed_moments,
    summed_tails,
)
from designer.lattice.chain import Assessment, ChainPlan, LatticeChain
from designer.lattice.law import LatticeLaw, chain_notion, chain_parameters, sampling_words
from designer.lattice.sampler_choice import LatticeChoice, LatticeSampler
from designer.limits import MOST_LATTICE_RANK
from designer.mechanism.interface import Falloff, Mechanism
from designer.mechanism.noise import SMALLEST_WEIGHT
from designer.mechanism.release import ErrorSource, Release, summed
from designer.problem.histogram import ExactRows
from designer.problem.workload import WORKLOAD, Workload, changes_given, moved, workload_from_spec, workload_to_spec
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.kinds import OF_INVARIANTS, relation_from_spec
from designer.sampling.entropy import Entropy, simulation_entropy
from designer.sampling.margins import NoiseFacts
from designer.tradeoff.conversions import zcdp_epsilon
from solvers.exact.rational import exact_rank, float_above
from solvers.lattices.kernel import Lattice, integer_kernel

# What integer noise on a lattice promises, in words: the theorem, the notion and the arithmetic that guarantees quote.
#
# Proofs: docs/theory/lattice.md, sections 5 and 7.


THEOREMS = {
    "exponential": (
        "P(z) is proportional to exp(-||z||) on the integer kernel of the invariant, which contains every protected change "
        "v, so adding v changes it by at most exp(||v||) <= exp(b) (triangle inequality; INT Theorem 10 for the norm of the "
        "distance itself)."
    ),
    "gaussian": (
        "P(z) is proportional to exp(-||z||^2 / 2) on the integer kernel of the invariant, ||.|| Euclidean, so adding a "
        "kernel vector v has Renyi divergence of every order alpha at most alpha ||v||^2 / 2 <= alpha b^2 / 2 (Poisson "
        "summation; docs/theory/lattice.md)."
    ),
}
NOTIONS = {
    "exponential": (
        "Pure: for every protected change with budget b, every set of outputs has probabilities within a factor exp(b)."
    ),
    "gaussian": (
        "Zero-concentrated: for every protected change with budget b, the Renyi divergence of order alpha is at most alpha "
        "b^2 / 2, that is b^2/2-zCDP for the change."
    ),
}
WHOLE = (
    "The released table is the true table plus integer noise, added in integers; it is checked to keep every invariant "
    "statistic before it is released. Answers to queries are computed from that table alone."
)


# What a lattice mechanism releases: a table of integers that keeps the invariant statistics, and the answers from it.


@dataclass(frozen=True, eq=False)
class LatticeRelease(Release):
    """A release whose `table`, integers with the invariant statistics of the data, answers the queries."""

    table: tuple[int, ...] = ()
    elements: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "table": dict(zip(self.elements, self.table, strict=True))}

    @property
    def further_lines(self) -> list[str]:
        """The table for the terminal, where it is not what was asked for."""
        return [] if self.queries == self.elements else ["", self.to_text()]

    def to_text(self) -> str:
        """The table, a line for each element."""
        names = list(map(printed, self.elements))
        width = max(map(len, names))
        return "\n".join(
            ["Noisy table", *(f"{name:{width}}  {value:>16,}" for name, value in zip(names, self.table, strict=True))]
        )


LATTICE_MECHANISM = Named(
    "lattice_mechanism",
    record(
        {
            "family": one_of(*sorted(LATTICE_FAMILIES)),
            "workload": WORKLOAD,
            "relation": OF_INVARIANTS,
            "norm": NORM,
            "falloff": FALLOFF,
            "cells": or_null(POSITIONS),
            "chain": or_null(ChainPlan.schema),
        },
        note=(
            "The table plus integer noise on the kernel of an invariant; `cells` are the elements that the norm "
            "measures, null for all."
        ),
    ),
)
# How large the changes are, and what coupled chains estimate where noise is drawn by one.
SIZES = {"adjacency": COUNT, "budget_per_unit_of_distance": POSITIVE}
ESTIMATES = {
    "estimated_total_variation": number(least=0),
    "estimated_delta": number(least=0, below=1),
    "largest_r_hat": either(number(least=0), exactly("inf")),
}
LATTICE_PARAMETERS = Named(
    "parameters_of_lattice_noise",
    record(
        {"worst_ratio": RATIO, "dimension": COUNT},
        {**SIZES, **ESTIMATES},
        anyOf=needs_one_of(*SIZES),
        dependentRequired={name: [other for other in ESTIMATES if other != name] for name in ESTIMATES},
    ),
)


def changes_on_cells(relation: ChangeRelation | InvariantDistance, cells: tuple[int, ...] | None, norm: Norm) -> SensitivitySet:
    """The protected changes on these cells (None: all). Of many of them whose largest norm is known no list is made."""
    every = np.eye(relation.size)
    if cells is not None:
        return SensitivitySet.of(every[list(cells)], relation)
    if isinstance(relation, InvariantChanges) and norm.map.ndim == 1 and relation.needs_no_list(norm.map, norm.order):
        return relation.set_of(every)
    return SensitivitySet.of(every, relation)


LEAST_DECAY, LARGEST_DECAY = 0.1, 0.99  # of the jumps of a chain: from about 1 to 100 vectors
SLOW_BASIS = 200  # rank whose basis takes about half a second


@dataclass(frozen=True, eq=False)
class LatticeMechanism(Mechanism):
    """Releases the table `x + z` and the answers `Q (x + z)`.

    workload: Q (K, N), asked of the released table. relation: what is hidden, under its invariant. norm: on the R cells listed
    in `cells` (None: all N), which determine a vector of the kernel. falloff: "exponential", or "gaussian" with an l2 norm.
    chain: None for exact noise; a plan draws from a Markov chain instead, and its estimated distance from the law enters the
    guarantee. Construction certifies `norm(v) <= b` for every protected change v and raises `NotPrivate` otherwise;
    `DesignFailed` where no exact sampler is feasible.
    """

    format = "dp-designer/lattice-mechanism"
    spec_form = SpecForm(LATTICE_MECHANISM, LATTICE_PARAMETERS)
    lattice_noise = True

    family: str
    workload: Workload
    relation: ChangeRelation | InvariantDistance
    norm: Norm
    falloff: Falloff = "exponential"
    cells: tuple[int, ...] | None = None
    chain: ChainPlan | None = None
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_family(self.family, LATTICE_FAMILIES)
        if not isinstance(self.relation, (ChangeRelation, InvariantDistance)):
            raise InvalidProblem("relation: integer noise on a lattice keeps an invariant; use one of designer.invariants.")
        require_falloff(self.falloff, tuple(THEOREMS), self.norm)
        self.relation.require_elements(self.workload.shape[1], self.workload.unlisted)
        size = self.relation.size
        here = tuple(range(size)) if self.cells is None else self.cells
        known = all(type(c) is int and 0 <= c < size for c in here)
        if not known or len(set(here)) != len(here) or len(here) != self.norm.dimension:
            raise InvalidProblem(
                f"cells: {shown(self.cells)} must name {self.norm.dimension} different elements, one for each coordinate of "
                "the norm.",
                value=self.cells,
            )
        self._require_norm()
        if self.chain is not None and self.falloff == "gaussian":
            raise InvalidProblem(
                "chain: goes with an exponential fall-off, whose exact samplers may be infeasible; leave it out."
            )
        if self.chain is not None and not LEAST_DECAY <= self.chain.decay <= LARGEST_DECAY:
            raise InvalidProblem(
                f"chain.decay: {self.chain.decay} is not from {LEAST_DECAY} to {LARGEST_DECAY}; one that stays adds no noise.",
                value=self.chain.decay,
            )
        assign(self, privacy=self.verify().require())
        if moves_nothing(self.privacy, self.sensitivity):
            raise InvalidProblem("relation: protects no change at all; an invariant may need a larger adjacency.")
        self._require_draws()

    def _require_draws(self) -> None:
        """What exact samplers refuse is no mechanism: norms that none serves, rates and variances out of their range.
        Above `SLOW_BASIS` dimensions only the kind of the norm is looked at: the sampler takes seconds, at the first draw.
        """
        if self.chain is not None:
            return
        self.law.require_served()
        if self.dimension > SLOW_BASIS:
            return
        try:
            _ = self.choice
        except (ValueError, OverflowError, np.linalg.LinAlgError) as refusal:
            raise InvalidProblem(
                f"norm: no noise can be drawn exactly for it on this lattice: {refusal} Choose budgets that give noise "
                "between 2^-20 and 2^40 wide."
            ) from None

    @property
    def exact(self) -> tuple[str, ...]:
        """The names of the answers that no vector of the lattice moves; the table itself gets noise."""
        seen = self.law.seen(self.workload.dense())
        return tuple(name for name, noise in zip(self.workload.queries, seen, strict=True) if not noise)

    def _require_promise(self) -> None:
        """A chain whose estimate leaves nothing promised is refused."""
        delta = chain_parameters(self.assessment, self.relation).get("estimated_delta")
        if delta is not None and not delta < 1:
            raise DesignFailed(
                f"chain: its estimated delta is {delta:.3g}, which promises nothing; take more steps, or more pairs."
            )

    def _require_norm(self) -> None:
        """The norm must tell all kernel vectors apart: otherwise there is no law to draw from."""
        weights = np.abs(np.atleast_2d(self.norm.map)).max(axis=0)
        if not SMALLEST_WEIGHT <= weights.min() <= weights.max() <= 1 / SMALLEST_WEIGHT:
            raise InvalidProblem(
                f"norm.map: weights from {weights.min()} to {weights.max()}; every cell of a lattice mechanism gets noise, "
                f"so give weights between {SMALLEST_WEIGHT} and {1 / SMALLEST_WEIGHT}."
            )
        if not self.dimension:
            raise InvalidProblem(
                "relation: the statistics determine the whole table, so there is nothing to protect or to release; publish "
                "fewer statistics."
            )
        if isinstance(self.norm, Gauge) and self.norm.dimension != self.dimension:
            raise InvalidProblem(
                f"cells: a gauge on {self.norm.dimension} cells for a lattice of rank {self.dimension}; give as many cells "
                "as the rank."
            )
        if self.cells is None and self.norm.map.ndim == 1:
            return  # positive weights on all cells: no basis is needed to know that nothing but 0 has norm 0
        image = np.atleast_2d(self.norm.factor) @ self.lattice.basis[:, self.columns].T.astype(np.float64)
        if exact_rank(image) < self.dimension:
            raise InvalidProblem("norm: is 0 on some change that keeps the invariant; measure it by more cells.")

    @property
    def columns(self) -> NDArray[np.intp]:
        """The cells that the norm measures."""
        return np.arange(self.relation.size) if self.cells is None else np.array(self.cells, dtype=np.intp)

    @cached_property
    def lattice(self) -> Lattice:
        """The integer kernel of the constraints with a reduced basis: time grows with the rank cubed, 60 s at 1,000."""
        if self.dimension > MOST_LATTICE_RANK:
            raise NoFeasibleAttribute(
                f"{self.family}: the lattice has rank {self.dimension}, and a basis is reduced up to {MOST_LATTICE_RANK}; use "
                "lattice_gaussian, the shape l1 for classes or lattice_rows for margins, which need none, or merge elements."
            )
        if self.dimension > SLOW_BASIS:
            announce(f"reducing a lattice basis of rank {self.dimension}")
        return integer_kernel(self.relation.invariant.constraints)

    @property
    def dimension(self) -> int:
        """The rank of the lattice."""
        return self.relation.invariant.freedom

    def sensitivity(self) -> SensitivitySet:
        """The protected changes, on the cells that the norm measures."""
        return changes_on_cells(self.relation, self.cells, self.norm)

    def verify(self) -> PrivacyCertificate:
        if isinstance(self.relation, InvariantDistance):
            return self._verify_distance(self.relation)
        return certify(self.sensitivity(), self.norm, THEOREMS[self.falloff], self.workload.elements)

    def _verify_distance(self, relation: InvariantDistance) -> PrivacyCertificate:
        """`w ||v||_q <= epsilon ||v||_p` for all v, as `||v||_2 <= ||v||_1` and weights w are
        equal: the worst ratio is w / epsilon."""
        weights = {Fraction(float(w)) for w in self.norm.map.ravel()} if self.norm.map.ndim == 1 else set()
        if self.cells is not None or len(weights) != 1 or self.norm.order not in ("l1", "l2"):
            raise InvalidProblem(
                "norm: a budget per distance is kept by an l1 or l2 norm with equal weights on all cells only; give one."
            )
        if self.norm.order == "l1" and relation.distance == "l2":
            raise InvalidProblem("norm: an l1 norm exceeds an l2 distance; use an l2 norm, or a budget per l1 distance.")
        ratio = weights.pop() / Fraction(relation.epsilon)
        arithmetic = "exact rationals: the norm is a multiple of the distance, or of a smaller one"
        witness = Witness(0, 1, "any change of the table by one unit of distance", (), relation.epsilon)
        return PrivacyCertificate(ratio <= 1, ratio, witness, 0, arithmetic, THEOREMS[self.falloff])

    @cached_property
    def choice(self) -> LatticeChoice:
        """The exact sampler, how it was chosen and what was considered; or the chain that was asked for by name."""
        if self.chain is not None:
            return self.law.chain(self.chain)
        return self.law.gaussian() if self.falloff == "gaussian" else self.law.exponential()

    @property
    def law(self) -> LatticeLaw:
        """The law of the noise, from which samplers are made."""
        return LatticeLaw(self.norm, self.relation, lambda: self.lattice, self.columns, self.cells is None)

    @cached_property
    def assessment(self) -> Assessment | None:
        """What is estimated about the chain, recomputed from its plan; None where the noise is exact."""
        return self.sampler.assess(self.chain) if self.chain and isinstance(self.sampler, LatticeChain) else None

    @cached_property
    def sampler(self) -> LatticeSampler:
        """The exact sampler; `DesignFailed` where none is feasible."""
        if self.choice.sampler is None:
            raise NoFeasibleAttribute(
                f"{self.family}: no exact sampler is feasible here: {' '.join(self.choice.considered)} Use an l2 norm or a "
                "Gaussian, or ask for chain=True."
            )
        return self.choice.sampler

    def draw(self, size: int, seed: int | None = None) -> NDArray[np.int64]:
        """Draw noise on the table, (size, N), for simulation only.

        size: how many. seed: of repeatable draws.
        """
        return self.sampler.draw(count(size, "size"), simulation_entropy(seed))

    def noise_in_answers(self, size: int, entropy: Entropy) -> Floats:
        return np.asarray(self.sampler.draw(size, entropy) @ self.workload.dense().T, dtype=np.float64)

    def check(
        self, data: object, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        _ = self.sampler
        self._require_promise()
        super().check(data, unit=unit, entity=entity, rows_per_entity=rows_per_entity)

    def release(
        self, data: object, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> LatticeRelease:
        """The noisy table and the answers, for confidential counts or records; see `Mechanism.release`."""
        _ = self.sampler
        self._require_promise()
        released = super().release(data, unit=unit, entity=entity, rows_per_entity=rows_per_entity)
        assert isinstance(released, LatticeRelease)
        return released

    def _release_counts(self, table: NDArray[np.int64], /) -> LatticeRelease:
        sampler = self.sampler
        noise = sampler.draw(1, self._release_entropy())[0]
        if self._public.answers(noise).any():
            raise RuntimeError(
                "release: the noise does not keep the invariant; nothing was released. This is an error of the program."
            )
        return self._release_of(summed(table, noise))

    @cached_property
    def _public(self) -> ExactRows:
        """The rows whose answers are public."""
        return ExactRows(self.relation.invariant.constraints)

    def _release_of(self, noisy: Sequence[int]) -> LatticeRelease:
        """The release of a noisy table, (N,): what is computed from it alone."""
        asked = self.workload
        with np.errstate(over="ignore", invalid="ignore"):  # of queries whose entries are near the largest float
            answers = frozen(asked.dense() @ np.array(noisy, dtype=np.float64))
        stated = (answers, asked.queries, self.guarantee, self.fingerprint)
        return LatticeRelease(*stated, tuple(noisy), asked.elements, kept=self._kept, law=self)

    @cached_property
    def _kept(self) -> Floats | None:
        """What a release keeps: the public rows, (p, N), where its answers are the counts."""
        return frozen(self.relation.invariant.constraints.astype(np.float64)) if self.workload.is_identity else None

    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """The budget that a change v of the table spends, `||v||`; infinite where v changes what is public.

        change: (N,) or (M, N). answers: a difference of the answers instead, (K,) or (M, K), where it determines v.
        """
        given = changes_given(change, answers, self.workload, self.relation, np.eye(self.relation.size))
        public = self.relation.public_rows()
        kept = ~moved(given, public, np.ones(len(public), dtype=bool)).any(axis=-1)
        return np.asarray(np.where(kept, self.norm(given[..., self.columns]), np.inf))

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon known at which all changes of the largest budget are (epsilon, delta)-private, rounded up."""
        if isinstance(self.relation, InvariantDistance):
            raise InvalidProblem(
                "delta: the budget grows with the distance without end; ask for an adjacency first (`within`)."
            )
        budget = self.relation.largest_exact_budget()
        if self.assessment is not None and delta < self.assessment.delta(float_above(budget)):
            raise InvalidProblem(f"delta: {delta!r} is below what the chain adds, by its estimate; ask for more.", value=delta)
        return float_above(budget) if self.falloff == "exponential" else zcdp_epsilon(budget**2 / 2, delta)

    @cached_property
    def _cells(self) -> CellLaws | None:
        """Exact laws of single cells, where the structure of the statistics gives them."""
        return None if self.chain else cell_laws(self.law, self.falloff)

    @cached_property
    def _summed(self) -> Moments | None:
        return None if self.chain else summed_moments(self.law, self.falloff, self.workload.dense())

    @cached_property
    def _moments(self) -> Moments:
        if self._cells is not None:
            return self._cells.moments(self.workload.dense())
        if self._summed is not None:
            return self._summed
        near = None if self.chain else continuous_moments(self.law, self.falloff, self.workload.dense())
        return self._drawn if near is None else near

    @cached_property
    def _drawn(self) -> Moments:
        """What repeatable draws say."""
        queries, layout = self.workload.dense(), self.relation.invariant.layout
        accepted = 0.0 if self.chain is not None else self.choice.acceptance
        noise = self.draw(draws_for(accepted, self.relation.size), seed=0)
        alike = layout is not None and layout.alike and self.law.equal_weights and self.chain is None
        symmetric = (layout.projected(queries), self.dimension) if layout is not None and alike else None
        return drawn_moments(noise.astype(np.float64), queries, symmetric, self._error_bounds())

    def _error_bounds(self) -> Floats:
        """Upper bounds of the standard errors, (K,); infinite where none is proven."""
        try:
            return error_bounds_of_answers(self)
        except DesignFailed:
            return np.full(len(self.workload.queries), np.inf)

    @property
    def error_source(self) -> ErrorSource:
        return ErrorSource(self._moments.words, self._moments.draws, 2 * self._moments.uncertain)

    def covariance(self) -> Floats:
        """Covariance of the noise in the K answers: see `designer.lattice.accuracy`."""
        return self._moments.second

    def query_variances(self) -> Floats:
        """Variance of each answer, computed or simulated, or a bound, as `error_source` says."""
        return np.asarray(self._moments.second.diagonal())

    def standard_errors(self) -> Floats:
        """The roots of `query_variances`; `error_source` says what they rest on."""
        return self._moments.errors

    @cached_property
    def _tails(self) -> SummedTails | None:
        exact = None if self._cells is None else self._cells.tails(self.workload.dense())
        if exact is not None:
            return exact
        known = None if self.chain or isinstance(self.norm, Gauge) else self._summed
        return None if known is None else summed_tails(self.law, self.falloff, self.workload.dense())

    @cached_property
    def _of_slices(self) -> SummedTails | None:
        plain = self._tails is None and self.chain is None and self.dimension > 1
        return sliced_tails(self.law, self.falloff, self.workload.dense()) if plain else None

    def _proven_margins(self, level: float) -> Floats | None:
        tails = self._tails or self._of_slices
        found = None if tails is None else tails.margins(1 - level)
        if found is not None:
            return found
        try:
            bounds = margin_bounds_of_answers(self, 1 - level)
        except DesignFailed:
            return None
        return np.where(self.workload.whole_rows, np.floor(bounds), bounds)  # noise in whole numbers

    @property
    def _noise_facts(self) -> NoiseFacts:
        facts = facts_of_lattice(self)
        if self._tails is not None:
            return facts._replace(law=SUMMED, tight=True)
        return facts if self._of_slices is None else facts._replace(law=OF_SLICES, tight=True)

    def query_mean_absolutes(self) -> Floats:
        """Expected absolute noise of each answer: summed over the lattice, elsewhere simulated."""
        known = self._moments if self._summed is None else self._summed
        found = self._drawn.absolute if known.absolute is None else known.absolute
        assert found is not None
        return found

    @property
    def effective(self) -> Floats:
        """The queries that are answered, which are those that were asked: noise on integers rounds nothing."""
        return self.workload.dense()

    def _statement(self) -> Guarantee:
        law = "exp(-||z||)" if self.falloff == "exponential" else "exp(-||z||^2 / 2)"
        shape = "a polytope gauge" if isinstance(self.norm, Gauge) else f"an {self.norm.order} norm"
        return Guarantee(
            unit=self.relation.protected_unit(),
            relation=self.relation.sentence(),
            unprotected=self.relation.unprotected(),
            notion=NOTIONS[self.falloff] + ("" if self.assessment is None else chain_notion(self.relation)),
            parameters={
                "worst_ratio": self.privacy.ratio,
                "dimension": self.dimension,
                **self.relation.facts(),
                **chain_parameters(self.assessment, self.relation),
            },
            mechanism=(
                f"Family {self.family}: integer noise on the kernel of the invariant, P(z) proportional to {law}, ||z|| "
                f"{shape} of the table."
            ),
            sampling=sampling_words(self.chain, self.assessment),
            floating_point=WHOLE,
            timing=TIMING,
            post_processing=POST_PROCESSING if self.chain is None else ESTIMATED,
            fingerprint=self.fingerprint,
        )

    def core(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "workload": workload_to_spec(self.workload),
            "relation": self.relation.to_spec(),
            "norm": norm_to_spec(self.norm),
            "falloff": self.falloff,
            "cells": None if self.cells is None else list(self.cells),
            "chain": None if self.chain is None else self.chain.to_spec(),
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> LatticeMechanism:
        require_keys(core, keys(cls.spec_form.core), "mechanism")
        made = cls(
            family=core["family"],
            workload=workload_from_spec(core["workload"]),
            relation=relation_from_spec(core["relation"]),  # type: ignore[arg-type]  # the constructor checks it
            norm=norm_from_spec(core["norm"]),
            falloff=core["falloff"],
            cells=None if core["cells"] is None else tuple(core["cells"]),
            chain=None if core["chain"] is None else ChainPlan.from_spec(core["chain"]),
        )
        made._require_promise()
        if made.chain is None and made.dimension <= SLOW_BASIS:
            _ = made.sampler
        return made


@settle_claim.register(LatticeMechanism)
def _settle_claim(mechanism: LatticeMechanism, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """See `designer.certificate.certificate.settled_claim`."""
    return claimed if isinstance(mechanism.relation, InvariantDistance) else settled_claim(mechanism, claimed, proven)
