"""Integer noise that keeps an invariant: `x + z` with z in the integer kernel of the constraints, at any scale (INT section 3; docs/theory/lattice.md).

The released table is a table of integers with the published statistics of the data, whatever they are. The law of z falls off in a norm of z,
exponentially or like a Gaussian, and privacy is the same one inequality as for every additive mechanism: `||v|| <= b` for every protected
change v. All noise is drawn exactly; where that is not feasible a Markov chain may be asked for by name, and the guarantee says what it adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.additive.mechanism import SMALLEST_WEIGHT
from designer.additive.release import Release, SimulatedNoise
from designer.certified.certificate import PrivacyCertificate, Witness, certify, moves_nothing
from designer.certified.family_names import LATTICE_FAMILIES, require_family
from designer.certified.guarantee import TIMING, Guarantee
from designer.certified.norms import Gauge, Norm, norm_from_spec, norm_to_spec
from designer.certified.optimality import Optimality
from designer.certified.sensitivity import SensitivitySet
from designer.certified.specified import Specified
from designer.engines.tabulation import TakesCounts
from designer.errors import DesignFailed, InvalidProblem
from designer.invariants.changes import ChangeRelation, InvariantDistance
from designer.lattice.law import LatticeLaw, chain_notion, chain_parameters, sampling_words
from designer.progress import announce
from designer.promises.accounting import zcdp_epsilon
from designer.question.differences import changes_given, moved
from designer.question.histogram import Universe, counts
from designer.question.workload import Workload, workload_from_spec, workload_to_spec
from designer.relations.kinds import relation_from_spec, require_listed
from designer.sampling.entropy import SeededEntropy, SystemEntropy
from designer.sampling.lattices.lattice_chain import Assessment, ChainPlan, LatticeChain
from designer.sampling.lattices.lattice_choice import LatticeChoice, LatticeSampler
from designer.values.arrays import Floats, frozen
from designer.values.checks import count, shown
from designer.values.confidential import withholding
from designer.values.json_text import require_keys
from designer.values.printing import printed
from solvers.exact.rational import exact_rank
from solvers.lattices.kernel import Lattice, integer_kernel

Falloff = Literal["exponential", "gaussian"]
LEAST_DECAY, LARGEST_DECAY = 0.1, 0.99  # of the jumps of a chain: from about 1 to 100 vectors
SIMULATED_DRAWS, LEAST_DRAWS = 20_000, 150  # of the noise, where its error is asked for: a few seconds
PROPOSALS = 500_000
SLOW_BASIS, LARGEST_BASIS = 200, 1000  # ranks whose bases take about half a second, and a minute

THEOREMS = {
    "exponential": (
        "P(z) is proportional to exp(-||z||) on the integer kernel of the invariant, which contains every protected change v, so adding v changes "
        "it by at most exp(||v||) <= exp(b) (triangle inequality; INT Theorem 10 for the norm of the distance itself)."
    ),
    "gaussian": (
        "P(z) is proportional to exp(-||z||^2 / 2) on the integer kernel of the invariant, ||.|| Euclidean, so adding a kernel vector v has Renyi "
        "divergence of every order alpha at most alpha ||v||^2 / 2 <= alpha b^2 / 2 (Poisson summation; docs/theory/lattice.md)."
    ),
}
NOTIONS = {
    "exponential": "Pure: for every protected change with budget b, every set of outputs has probabilities within a factor exp(b).",
    "gaussian": (
        "Zero-concentrated: for every protected change with budget b, the Renyi divergence of order alpha is at most alpha b^2 / 2, that is "
        "b^2/2-zCDP for the change."
    ),
}
WHOLE = (
    "The released table is the true table plus integer noise, added in integers; it is checked to keep every invariant statistic before it "
    "leaves. Answers to queries are computed from that table alone."
)


@dataclass(frozen=True, eq=False)
class LatticeMechanism(Specified, TakesCounts):
    """Releases the table `x + z` and the answers `Q (x + z)`.

    workload: Q (K, N), asked of the released table. relation: what is hidden, under its invariant. norm: on the R cells listed in `cells`
    (None: all N), which determine a vector of the kernel. falloff: "exponential", or "gaussian" with an l2 norm.
    chain: None for exact noise; a plan draws from a Markov chain instead, and its estimated distance from the law enters the guarantee.
    Construction certifies `norm(v) <= b` for every protected change v and raises `NotPrivate` otherwise; `DesignFailed` where no exact
    sampler is feasible.
    """

    format = "dp-designer/lattice-mechanism"

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
        if self.falloff not in THEOREMS:
            raise InvalidProblem(f"falloff: {shown(self.falloff)} is unknown; use one of {sorted(THEOREMS)}.")
        if self.falloff == "gaussian" and self.norm.order != "l2":
            raise InvalidProblem(f"falloff: a gaussian fall-off needs an l2 norm, not {self.norm.order}; use exponential.")
        size = self.relation.size
        if self.workload.shape[1] != size:
            raise InvalidProblem(f"relation: speaks of {size} elements, the workload of {self.workload.shape[1]}.")
        here = tuple(range(size)) if self.cells is None else self.cells
        if (
            len(set(here)) != len(here)
            or not all(type(c) is int and 0 <= c < size for c in here)
            or len(here) != self.norm.dimension
        ):
            raise InvalidProblem(
                f"cells: {shown(self.cells)} must name {self.norm.dimension} different elements, one for each coordinate of the norm."
            )
        self._require_norm()
        if self.chain is not None and self.falloff == "gaussian":
            raise InvalidProblem(
                "chain: goes with an exponential fall-off, whose exact samplers may be infeasible; leave it out."
            )
        if self.chain is not None and not LEAST_DECAY <= self.chain.decay <= LARGEST_DECAY:
            raise InvalidProblem(
                f"chain.decay: {self.chain.decay} is not from {LEAST_DECAY} to {LARGEST_DECAY}; a chain that stays where it starts passes for one that "
                "has converged, and adds no noise."
            )
        object.__setattr__(self, "privacy", self.verify().require())
        if moves_nothing(self.privacy, self.sensitivity):
            raise InvalidProblem("relation: protects no change at all; an invariant may need a larger adjacency.")

    @property
    def exact(self) -> tuple[str, ...]:
        """The names of the answers that no vector of the lattice moves; the table itself gets noise."""
        moved = np.abs(self.workload.dense() @ self.lattice.basis.T.astype(np.float64)).max(axis=1)
        return tuple(name for name, noise in zip(self.workload.queries, moved, strict=True) if not noise)

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
                f"norm.map: weights from {weights.min()} to {weights.max()}; every cell of a lattice mechanism gets noise, so give weights "
                f"between {SMALLEST_WEIGHT} and {1 / SMALLEST_WEIGHT}."
            )
        if not self.dimension:
            raise InvalidProblem(
                "relation: the statistics determine the whole table, so there is nothing to protect or to release."
            )
        if isinstance(self.norm, Gauge) and self.norm.dimension != self.dimension:
            raise InvalidProblem(
                f"cells: a gauge on {self.norm.dimension} cells for a lattice of rank {self.dimension}; give as many cells as the rank."
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
        """The integer kernel of the constraints, with a reduced basis; its time grows with the cube of the rank, 60 s at 1,000."""
        if self.dimension > LARGEST_BASIS:
            raise DesignFailed(
                f"{self.family}: the lattice of the invariant has rank {self.dimension}, and a basis is reduced up to {LARGEST_BASIS}; use the "
                "shape l1, which needs none, publish more statistics, or merge elements."
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
        return SensitivitySet.of(np.eye(self.relation.size)[self.columns], self.relation)

    def verify(self) -> PrivacyCertificate:
        """The privacy certificate, recomputed from the frozen numbers."""
        if isinstance(self.relation, InvariantDistance):
            return self._verify_distance(self.relation)
        return certify(self.sensitivity(), self.norm, THEOREMS[self.falloff], self.workload.elements)

    def _verify_distance(self, relation: InvariantDistance) -> PrivacyCertificate:
        """`w ||v||_q <= epsilon ||v||_p` for every v, from `||v||_2 <= ||v||_1` and equal weights w: the worst ratio is w / epsilon."""
        weights = {Fraction(float(w)) for w in self.norm.map.ravel()} if self.norm.map.ndim == 1 else set()
        if self.cells is not None or len(weights) != 1 or self.norm.order not in ("l1", "l2"):
            raise InvalidProblem(
                "norm: a budget per distance is kept by an l1 or l2 norm with equal weights on all cells only."
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
            raise DesignFailed(
                f"{self.family}: no exact sampler is feasible here: {' '.join(self.choice.considered)} Use an l2 norm or a Gaussian, or ask for chain=True."
            )
        return self.choice.sampler

    def draw(self, size: int, seed: int | None = None) -> NDArray[np.int64]:
        """Noise on the table, (size, N), for simulation only."""
        entropy = SystemEntropy() if seed is None else SeededEntropy(count(seed, "seed", least=0))
        return self.sampler.draw(count(size, "size"), entropy)

    def sample_noise(self, size: int, seed: int | None = None) -> SimulatedNoise:
        """`size` draws of the noise in the K answers, (size, K), stamped as not private."""
        return SimulatedNoise.of(np.asarray(self.draw(size, seed) @ self.workload.dense().T, dtype=np.float64), seed)

    @property
    def universe(self) -> Universe:
        """What counts are joined by."""
        return self.workload.universe

    def release(self, histogram: object) -> LatticeRelease:
        """The noisy table and the answers, for confidential counts, joined by name where they have names. Spends the budget once."""
        sampler = self.sampler
        self._require_promise()
        table = withholding(counts)(histogram, self.universe)
        noise = sampler.draw(1, SystemEntropy())[0]
        noisy = [int(x) + int(z) for x, z in zip(table, noise, strict=True)]
        constraints = self.relation.invariant.constraints
        if any(sum(a * int(z) for a, z in zip(row, noise.tolist(), strict=True) if a) for row in constraints.tolist()):
            raise RuntimeError(
                "release: the noise does not keep the invariant; nothing was released. This is an error of the program."
            )
        with np.errstate(over="ignore", invalid="ignore"):  # of queries whose entries are near the largest float
            answers = self.workload.dense() @ np.array(noisy, dtype=np.float64)
        return LatticeRelease(
            frozen(answers),
            self.workload.queries,
            self.guarantee,
            self.fingerprint,
            tuple(noisy),
            self.workload.elements,
            kept=frozen(constraints.astype(np.float64)) if self.workload.is_identity else None,
        )

    def privacy_loss(self, change: object = None, *, answers: object = None) -> Floats:
        """The budget that a change v of the table spends, `||v||`; infinite where v changes what is public.

        change: (N,) or (M, N). answers: a difference of the answers instead, (K,) or (M, K), where it determines v.
        """
        given = changes_given(change, answers, self.workload, self.relation, np.eye(self.relation.size))
        public = self.relation.public_rows()
        kept = ~moved(given, public, np.ones(len(public), dtype=bool)).any(axis=-1)
        return np.asarray(np.where(kept, self.norm(given[..., self.columns]), np.inf))

    def epsilon_at(self, delta: float) -> float:
        """The smallest epsilon known such that every change of the largest budget is (epsilon, delta)-private, rounded up."""
        if isinstance(self.relation, InvariantDistance):
            raise InvalidProblem(
                "delta: the budget grows with the distance without end; ask for an adjacency first (`within`)."
            )
        if self.assessment is not None and delta < self.assessment.delta(self.relation.largest_budget()):
            raise InvalidProblem(f"delta: {delta!r} is below what the chain adds, by its estimate; ask for more.")
        budget = Fraction(self.relation.largest_budget())
        return float(budget) if self.falloff == "exponential" else zcdp_epsilon(budget**2 / 2, delta)

    @property
    def simulated_draws(self) -> int:
        """Draws behind the errors: as many as 500,000 proposals give, from 150 for a table that accepts few, or for a chain, to 20,000."""
        rate = 0.0 if self.chain is not None else self.choice.acceptance
        return min(SIMULATED_DRAWS, max(LEAST_DRAWS, int(PROPOSALS * rate)))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Simulated covariance and mean absolute value of the noise in the answers: no closed form is known on a lattice."""
        noise = np.asarray(self.sample_noise(self.simulated_draws, seed=0))
        return noise.T @ noise / len(noise), np.abs(noise).mean(axis=0)

    def covariance(self) -> Floats:
        """Covariance of the noise in the K answers, simulated by `simulated_draws`: 20,000 give variances to about 1 %."""
        return self._moments[0]

    def query_variances(self) -> Floats:
        """Variance of each answer, simulated as `covariance` is; Gaussian noise has at most that of its continuous counterpart."""
        return np.asarray(self._moments[0].diagonal())

    def query_mean_absolutes(self) -> Floats:
        """Expected absolute noise of each answer, simulated as `covariance` is."""
        return self._moments[1]

    def error(self, loss: str = "squared") -> float:
        """Expected error of the noise, simulated as `covariance` is: see `Mechanism.error`."""
        if loss not in ("squared", "absolute", "max"):
            raise InvalidProblem(f'loss: {shown(loss)} is unknown; use "squared", "absolute" or "max".')
        if loss == "absolute":
            return float(self.query_mean_absolutes().sum())
        return float(self.query_variances().sum() if loss == "squared" else self.query_variances().max())

    @property
    def effective(self) -> Floats:
        """The queries that are answered, which are those that were asked: noise on integers rounds nothing."""
        return self.workload.dense()

    @property
    def guarantee(self) -> Guarantee:
        law = "exp(-||z||)" if self.falloff == "exponential" else "exp(-||z||^2 / 2)"
        shape = "a polytope gauge" if isinstance(self.norm, Gauge) else f"an {self.norm.order} norm"
        return Guarantee(
            unit=self.relation.protected_unit(),
            relation=self.relation.words(),
            unprotected=self.relation.unprotected(),
            notion=NOTIONS[self.falloff] + ("" if self.assessment is None else chain_notion(self.relation)),
            parameters={
                "worst_ratio": float(self.privacy.worst_ratio or 0),
                "dimension": self.dimension,
                **self.relation.facts(),
                **chain_parameters(self.assessment, self.relation),
            },
            mechanism=f"Family {self.family}: integer noise on the kernel of the invariant, P(z) proportional to {law}, ||z|| {shape} of the table.",
            sampling=sampling_words(self.chain, self.assessment),
            floating_point=WHOLE,
            timing=TIMING,
            fingerprint=self.fingerprint,
        )

    def require_listed(self) -> None:
        require_listed(self.relation)

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
        require_keys(core, {"family", "workload", "relation", "norm", "falloff", "cells", "chain"}, "mechanism")
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
        return made

    def settled_claim(self, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
        """See `designer.certified.claims.settled_claim`."""
        from designer.certified.claims import settled_claim

        return claimed if isinstance(self.relation, InvariantDistance) else settled_claim(self, claimed, proven)


@dataclass(frozen=True, eq=False)
class LatticeRelease(Release):
    """A release whose `table`, integers with the invariant statistics of the data, answers the queries."""

    table: tuple[int, ...] = ()
    elements: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "table": dict(zip(self.elements, self.table, strict=True))}

    def to_text(self) -> str:
        """The table, a line for each element."""
        names = list(map(printed, self.elements))
        width = max(map(len, names))
        return "\n".join(
            ["Noisy table", *(f"{name:{width}}  {value:>16,}" for name, value in zip(names, self.table, strict=True))]
        )
