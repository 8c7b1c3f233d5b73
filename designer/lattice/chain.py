"""Lattice noise from a Markov chain where nothing exact is feasible,
with an estimate of how far its law is from the one wanted.

What a chain returns has the wanted law up to a total variation distance that is estimated from coupled chains, never proven
(INT section 4; docs/theory/lattice.md, section 6).
It is used only where it was asked for by name, and the guarantee carries the estimate as an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import count, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.json_text import require_keys
from designer.base.progress import announce
from designer.base.schema import Named, keys, number, record, whole
from designer.limits import MOST_CHAIN_STEPS, MOST_CHAIN_WORK
from designer.sampling.body_grids import EllipsoidGrid, PolytopeGrid, Rationals
from designer.sampling.entropy import SeededEntropy
from designer.sampling.round_and_reject import NearestPlane, RoundAndReject
from solvers.exact.points import Points
from solvers.lattices.chain import Chain, JumpLaw, VariationBound, r_hat, tuned_decay, variation_bound
from solvers.lattices.kernel import Lattice

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy


Floats = NDArray[np.float64]
Energy = Callable[[NDArray[np.int64]], Floats]

CONFIDENCE = 0.95
PAIRS = 200
# A step of any number of chains costs that of 200 more.
STEP_WORK, SLOW_WORK = 200, 500_000
FIRST_LAG, PILOT_PAIRS = 200, 40
DECAYS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
SHORT_VECTORS = 20_000
# Chains of an assessment are seeded: they are no noise, and whoever loads the plan must find the numbers that were stated.
SEED = 0
R_HAT_CHAINS, R_HAT_DRAWS = 8, 100

LARGEST_EXPONENT = 700.0  # exp beyond is no float


@dataclass(frozen=True)
class ChainPlan:
    """How noise is drawn by a chain and how it was judged: everything that decides the law and the estimate.

    steps: from the origin to the draw, each a jump along one short lattice vector.
    decay: a of the jumps' double geometric law `a^|e|`.
    lag, pairs: of the coupled chains whose meeting times give the estimate (INT Algorithm 3).
    """

    steps: int
    decay: float
    lag: int
    pairs: int = PAIRS
    schema = Named(
        "chain",
        record(
            {
                "steps": whole(least=1, most=MOST_CHAIN_STEPS),
                "decay": number(least=0.1, most=0.99),
                "lag": whole(least=1, most=MOST_CHAIN_STEPS),
                "pairs": whole(least=2, most=MOST_CHAIN_STEPS),
            },
            note=(
                "Noise of a Markov chain, and the coupled chains that estimate how far it is from the law; null for "
                "exact noise."
            ),
        ),
    )

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("lag", 1), ("pairs", 2)):
            count(getattr(self, name), f"chain.{name}", least=least)
        if type(self.decay) is not float or not 0 < self.decay < 1:
            raise InvalidProblem(f"chain.decay: {shown(self.decay)} is no number between 0 and 1.", value=self.decay)
        if max(self.steps, self.lag) > MOST_CHAIN_STEPS or self.pairs > MOST_CHAIN_STEPS:
            raise InvalidProblem(
                f"chain: {self.steps} steps, lag {self.lag}, {self.pairs} pairs; each at most {MOST_CHAIN_STEPS}."
            )
        if self.work > MOST_CHAIN_WORK:
            raise InvalidProblem(
                f"chain: {self.steps} steps, lag {self.lag} and {self.pairs} pairs take {self.work} steps to assess, which "
                f"every load repeats; at most {MOST_CHAIN_WORK}. Lower the largest of them, or use an l2 norm, which needs no "
                "chain."
            )

    @property
    def work(self) -> int:
        """Steps of single chains that an assessment takes before any pair may have met,
        the cost of calling a step among them."""
        return self.lag * (STEP_WORK + self.pairs) + 3 * self.steps * (STEP_WORK + R_HAT_CHAINS)

    def to_spec(self) -> dict[str, Any]:
        """Plain data; `from_spec` inverts it."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> ChainPlan:
        """From plain data."""
        require_keys(spec, keys(cls.schema), "chain")
        return cls(**spec)


@dataclass(frozen=True)
class Assessment:
    """Estimates about a chain after its steps, from `pairs` coupled and a few parallel chains. None of them is a proof.

    estimate, low, high: an upper bound of the total variation distance to the wanted law (Biswas, Jacob, Vanetti 2019, Theorem
    2.5) and its 95 % confidence limits; n pairs never give a limit below about 3/n.
    largest_r_hat: over the cells, from over-dispersed starts.
    """

    estimate: float
    low: float
    high: float
    pairs: int
    largest_r_hat: float

    def delta(self, budget: float) -> float:
        """`(1 + e^b) tau`: what a distance tau between laws adds to a pure budget b.

        Q(x) is within tau of P(x) for every x, so
        `Q(x)(S) <= P(x)(S) + tau <= e^b P(x')(S) + tau <= e^b Q(x')(S) + (1 + e^b) tau`.
        """
        return (1 + math.exp(budget)) * self.high if budget < LARGEST_EXPONENT else math.inf

    def smooth_delta(self, epsilon: float, least: float) -> float:
        """The delta of INT Definition 2 for changes of length r at least `least`:
        `tau (e^eps - 1) (e^(eps r) + 1) / (e^(eps r) - 1)` there.

        `(1 + e^(eps r)) tau <= delta (e^(eps r) - 1) / (e^eps - 1)` is tightest at the shortest change,
        as `coth(eps r / 2)` falls in r.
        """
        return self.high * math.expm1(epsilon) / math.tanh(epsilon * least / 2)


@dataclass(frozen=True, eq=False)
class LatticeChain:
    """The sampler: independent chains, `steps` each, one for every draw. Acceptances and jump sizes are decided in floats."""

    chain: Chain
    steps: int

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, (size, d)."""
        return self.chain.run(self.chain.start(size), self.steps, entropy)[0]

    def assess(self, plan: ChainPlan) -> Assessment:
        """The estimates for this plan; `DesignFailed` where coupled chains do not meet, so that nothing can be said."""
        if plan.work > SLOW_WORK:
            announce(f"assessing a Markov chain: lag {plan.lag}, {plan.pairs} pairs, {plan.steps} steps")
        source = SeededEntropy(SEED)
        bound = _bound(self.chain, plan, [plan.steps], source)
        wide = Chain(self.chain.directions, lambda z: self.chain.energy(z) / 2, self.chain.law)
        states = wide.run(wide.start(R_HAT_CHAINS), plan.steps, source)[0]
        thin = max(1, 2 * plan.steps // R_HAT_DRAWS)
        trace = self.chain.run(states, thin * R_HAT_DRAWS, source, thin)[2]
        estimate, low, high = (float(x[0]) for x in (bound.estimate, bound.low, bound.high))
        return Assessment(estimate, low, high, plan.pairs, float(r_hat(trace).max()))


def directions(constraints: NDArray[np.integer], lattice: Lattice) -> NDArray[np.int64]:
    """Short vectors of the lattice, a reduced basis among them: jumps along them change the norm least.

    All vectors no longer in l1 than the shortest one of the basis are taken, unless they are too many (basic moves of a table).
    constraints A: (k, d) integers. Returns (J, d). docs/theory/lattice.md, section 6.
    """
    from solvers.lattices.enumeration import short_vectors

    basis = lattice.basis.astype(np.int64)
    radius = int(np.abs(basis).sum(axis=1).min())
    found = short_vectors(constraints, radius, limit=SHORT_VECTORS)
    both = np.concatenate([basis, found.vectors]) if found.status.usable else basis
    leading = np.sign(both[np.arange(len(both)), (both != 0).argmax(axis=1)])
    return np.unique(both * leading[:, None], axis=0)


def planned(
    moves: NDArray[np.int64], energy: Energy, steps: int | None = None, lag: int | None = None, pairs: int = PAIRS
) -> ChainPlan:
    """Decay, lag and steps that nobody stated.

    The decay that travels farthest, a lag within which nine in ten of some pilot pairs meet, and twice the steps after which
    the bound is as low as its pairs let it be.

    moves: (J, d), see `directions`. docs/theory/lattice.md, section 6.
    """
    announce("planning a Markov chain by pilot chains")
    source = SeededEntropy(SEED)
    decay = tuned_decay(lambda a: Chain(moves, energy, JumpLaw((a,))), DECAYS, source, chains=32, steps=500)
    chain = Chain(moves, energy, JumpLaw((decay,)))
    if lag is None:
        lag = _pilot_lag(chain, _pilot_lag(chain, FIRST_LAG, source), source)
    if steps is None:
        every = np.arange(1, MOST_CHAIN_STEPS // 2, max(1, lag // 20))
        bound = _bound(chain, ChainPlan(1, decay, lag, pairs), every, source)
        steps = 2 * int(bound.steps_for(float(bound.high.min())) or every[-1])
    return ChainPlan(steps, decay, lag, pairs)


def _pilot_lag(chain: Chain, lag: int, source: Entropy) -> int:
    """What nine in ten of the pairs at this lag need to meet.
    Chains that start together at lag 1 mostly meet before they have moved."""
    times = chain.meeting_times(lag, PILOT_PAIRS, source, MOST_CHAIN_STEPS)
    if (times < 0).any():
        raise _not_met(int((times < 0).sum()), PILOT_PAIRS)
    return max(FIRST_LAG, int(np.quantile(times - lag, 0.9)))


def _bound(chain: Chain, plan: ChainPlan, steps: Any, source: Entropy) -> VariationBound:
    bound = variation_bound(
        chain.meeting_times(plan.lag, plan.pairs, source, MOST_CHAIN_STEPS), plan.lag, steps, CONFIDENCE, MOST_CHAIN_STEPS
    )
    if bound.censored:
        raise _not_met(bound.censored, plan.pairs)
    return bound


def _not_met(censored: int, pairs: int) -> DesignFailed:
    return DesignFailed(
        f"chain: {censored} of {pairs} pairs of chains did not meet in {MOST_CHAIN_STEPS} steps, so nothing is known about "
        "its law; use an l2 norm."
    )


def chain_sampler(moves: NDArray[np.int64], energy: Energy, plan: ChainPlan) -> LatticeChain:
    """The sampler of a plan, along `moves` (J, d): see `directions`."""
    return LatticeChain(Chain(moves, energy, JumpLaw((plan.decay,))), plan.steps)


# Exact noise on a lattice with the fall-off of an l2, ellipsoid or polytope norm: round to nearest plane, reject a little.


RationalLike = Fraction | int | float


@dataclass(frozen=True, eq=False)
class LatticeShape:
    """A norm on a lattice, in coordinates of its basis, with the nearest plane that suits it;
    ValueError for the origin alone."""

    lattice: Lattice
    shape: EllipsoidGrid | PolytopeGrid
    plane: NearestPlane

    @classmethod
    def euclidean(cls, lattice: Lattice, rate: RationalLike) -> LatticeShape:
        """`||z|| = rate |z|_2`."""
        if not rate > 0:
            raise InvalidProblem(f"rate: {rate} is not positive; give a number above 0.", value=rate)
        _refuse_origin(lattice)
        columns, exact = lattice.basis.T.tolist(), Fraction(rate)
        scaled = {x: exact * x for x in {x for column in columns for x in column}}  # of many entries few differ
        factor = [[scaled[x] for x in column] for column in columns]
        return cls(lattice, EllipsoidGrid(factor), NearestPlane(lattice.float_shear.T))

    @classmethod
    def ellipsoid(cls, lattice: Lattice, factor: Sequence[Sequence[RationalLike]]) -> LatticeShape:
        """`||z|| = |F z|_2`, F (K, d) of rationals, injective on the span. The basis is reduced anew, for this norm."""
        _refuse_origin(lattice)
        floats = np.array([[float(x) for x in row] for row in factor])
        lattice = lattice.reduced_for(floats)
        rows = Points.of(factor)
        in_basis = Points.from_integers(rows.numerators @ lattice.basis.T.astype(object), rows.denominators)
        return cls(lattice, EllipsoidGrid(in_basis.fractions()), _plane(floats @ lattice.basis.T.astype(np.float64)))

    @classmethod
    def polytope(
        cls, lattice: Lattice, vertices: Rationals, simplices: Sequence[Sequence[int]], facets: Rationals
    ) -> LatticeShape:
        """The gauge `max a_f . z` of a polytope in the span, with its star triangulation (see `PolytopeGrid`)
        in coordinates of R^d."""
        _refuse_origin(lattice)
        rows = Points.of(facets)
        normals = Points.from_integers(rows.numerators @ lattice.basis.T.astype(object), rows.denominators)
        shape = PolytopeGrid(lattice.rational_coordinates(vertices), simplices, normals.fractions())
        return cls(lattice, shape, NearestPlane(lattice.float_shear.T))


@dataclass(frozen=True, eq=False)
class LatticeNorm:
    """Lattice vectors z, (size, d), with `P(z)` exactly proportional to `exp(-||z||)`,
    by `rounded` coordinates in the lattice's basis.

    Build it with `euclidean`, `ellipsoid` or `polytope`, or `of` a shape. ValueError where the lattice is the origin alone, and
    where fewer than one draw in 10^4 would be accepted. THEORY: docs/theory/lattice.md, section 2.

    >>> from solvers.lattices.kernel import integer_kernel
    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = LatticeNorm.euclidean(integer_kernel([[1, 1, 1]]), Fraction(1, 4))
    >>> noise.draw(4, SeededEntropy(1)).sum(axis=1).tolist()
    [0, 0, 0, 0]
    """

    lattice: Lattice
    rounded: RoundAndReject

    @classmethod
    def of(cls, shape: LatticeShape) -> LatticeNorm:
        """The sampler of a shape."""
        return cls(shape.lattice, RoundAndReject(shape.shape, shape.plane))

    @classmethod
    def euclidean(cls, lattice: Lattice, rate: RationalLike) -> LatticeNorm:
        """`||z|| = rate |z|_2`."""
        return cls.of(LatticeShape.euclidean(lattice, rate))

    @classmethod
    def ellipsoid(cls, lattice: Lattice, factor: Sequence[Sequence[RationalLike]]) -> LatticeNorm:
        """`||z|| = |F z|_2`: see `LatticeShape.ellipsoid`."""
        return cls.of(LatticeShape.ellipsoid(lattice, factor))

    @classmethod
    def polytope(
        cls, lattice: Lattice, vertices: Rationals, simplices: Sequence[Sequence[int]], facets: Rationals
    ) -> LatticeNorm:
        """The gauge of a polytope: see `LatticeShape.polytope`."""
        return cls.of(LatticeShape.polytope(lattice, vertices, simplices, facets))

    @property
    def acceptance(self) -> float:
        """At least about this part of the draws is accepted."""
        return self.rounded.expected_acceptance

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent lattice vectors, (size, d)."""
        return combined(self.rounded.draw(size, entropy), self.lattice)


def combined(coordinates: NDArray[np.int64], lattice: Lattice) -> NDArray[np.int64]:
    """`coordinates @ basis`, exactly: in float64 where no partial sum reaches 2^53, else in 64-bit or unbounded integers.

    A product of float matrices takes 1/10 of the time of one of integer matrices (81 x 100).
    coordinates: (n, m). basis: m rows of integers (m, d). Returns (n, d).
    """
    largest = int(np.abs(coordinates).max(initial=0)) * int(np.abs(lattice.basis).sum(axis=0).max(initial=0))
    if largest < 2**53:
        return (coordinates.astype(np.float64) @ lattice.basis.astype(np.float64)).astype(np.int64)
    vectors = coordinates.astype(object) @ lattice.basis
    if max((abs(x) for x in vectors.flat), default=0) >= 2**63:
        raise OverflowError("a noise coordinate left the 64-bit integers: the rate is too small for this lattice.")
    return np.asarray(vectors.astype(np.int64))


def _plane(image: NDArray[np.float64]) -> NearestPlane:
    """Nearest plane for basis vectors with these images, in the columns, in a Euclidean space."""
    upper = np.linalg.qr(image)[1]
    shear = np.triu(upper / upper.diagonal()[:, None])
    np.fill_diagonal(shear, 1.0)
    return NearestPlane(shear)


def _refuse_origin(lattice: Lattice) -> None:
    if not lattice.dimension:
        raise InvalidProblem("lattice: only the origin belongs to it, nothing is free to vary; release the data as they are.")
