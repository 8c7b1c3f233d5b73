"""How the noise of a lattice mechanism is drawn: the exact sampler of its norm, or a chain, and what the guarantee says about it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.errors import InvalidProblem
from designer.invariants.changes import InvariantDistance
from designer.norms import Gauge
from designer.sampling.lattice_chain import ChainPlan, Energy, chain_sampler, directions
from designer.sampling.lattice_choice import Ellipsoid, LatticeChoice, Polytope, lattice_sampler_for
from designer.sampling.lattice_gaussian import LatticeGaussian
from solvers.chain import l1_energy, l2_energy
from solvers.rational import float_above

if TYPE_CHECKING:
    from designer.lattice.mechanism import LatticeMechanism

EXACT = "Exact: random bits of the operating system, compared with probabilities in exact arithmetic."


def exact_choice(mechanism: LatticeMechanism) -> LatticeChoice:
    """The exact sampler of the mechanism's law; its `sampler` is None where none is feasible."""
    norm, constraints = mechanism.norm, mechanism.relation.invariant.constraints
    if mechanism.falloff == "gaussian":
        return _gaussian(mechanism)
    if _equal_weights(mechanism) and norm.order == "l1":
        return lattice_sampler_for(constraints, "l1", Fraction(float(norm.map[0])))  # which needs a basis for rank 1 alone
    lattice = mechanism.lattice
    if isinstance(norm, Gauge):
        return lattice_sampler_for(constraints, _polytope(mechanism, norm), 1, lattice)
    if _equal_weights(mechanism) and norm.order != "linf":
        return lattice_sampler_for(constraints, norm.order, Fraction(float(norm.map[0])), lattice)
    return lattice_sampler_for(constraints, Ellipsoid(_factor(mechanism)), 1, lattice)


def require_served(mechanism: LatticeMechanism) -> None:
    """`InvalidProblem` for a norm that no exact sampler serves on a lattice."""
    norm = mechanism.norm
    if not (isinstance(norm, Gauge) or norm.order == "l2" or (norm.order == "l1" and _equal_weights(mechanism))):
        raise InvalidProblem(
            f"norm: no exact sampler for this {norm.order} norm on a lattice; use equal l1 weights, l2 or a gauge, or ask for a chain."
        )


def _equal_weights(mechanism: LatticeMechanism) -> bool:
    weights = mechanism.norm.map
    return mechanism.cells is None and weights.ndim == 1 and len(set(weights.tolist())) == 1


def chain_choice(mechanism: LatticeMechanism, plan: ChainPlan) -> LatticeChoice:
    """The chain that the plan asks for."""
    moves = directions(mechanism.relation.invariant.constraints, mechanism.lattice)
    words = f"A Markov chain of {plan.steps} steps along {len(moves)} short vectors was asked for by name."
    return LatticeChoice("chain", 1.0, chain_sampler(moves, energy(mechanism), plan), (words,))


def energy(mechanism: LatticeMechanism) -> Energy:
    """`||z||` of rows, in floats."""
    columns, norm = mechanism.columns, mechanism.norm
    if _equal_weights(mechanism) and norm.order in ("l1", "l2"):  # twice as fast a step
        return (l1_energy if norm.order == "l1" else l2_energy)(float(norm.map[0]))
    return lambda z: np.asarray(norm(z[:, columns].astype(np.float64)))


def sampling_words(mechanism: LatticeMechanism) -> str:
    """The sentence of the guarantee about how noise is drawn."""
    plan, found = mechanism.chain, mechanism.assessment
    if plan is None or found is None:
        return EXACT
    return (
        f"NOT exact: a Markov chain of {plan.steps} steps from the origin for every draw, driven by random bits of the operating system. Its "
        "law is close to the one stated, and how close is an ESTIMATE, not a proof: by coupled chains the total variation distance is at most "
        f"{found.estimate:.3g} (95 % confidence {found.low:.3g} to {found.high:.3g}, {found.pairs} pairs of chains, all met, at lag {plan.lag}); "
        f"largest R-hat over the cells {found.largest_r_hat:.4f}. Acceptances and jump sizes are decided in floats of 53 bits."
    )


def chain_notion(mechanism: LatticeMechanism) -> str:
    """What is added to the notion of privacy by noise that is not exact."""
    if mechanism.assessment is None:
        return ""
    text = (
        " Approximate, because the noise is: for every set S of outputs and every protected change, "
        "P(x + v)(S) <= exp(b) P(x)(S) + (1 + exp(b)) tau, where tau, the distance of the chain's law, is estimated and not proven."
    )
    if not isinstance(mechanism.relation, InvariantDistance):
        return text
    return text + (
        " In the form of INT Definition 2, delta (exp(epsilon r) - 1) / (exp(epsilon) - 1) at distance r, with the estimated delta below, "
        f"since every change has r at least {_least_length(mechanism.relation):.6g}."
    )


def chain_parameters(mechanism: LatticeMechanism) -> dict[str, float | int | None]:
    """The estimates as numbers, named as estimates."""
    found, relation = mechanism.assessment, mechanism.relation
    if found is None:
        return {}
    delta = (
        found.smooth_delta(relation.epsilon, _least_length(relation))
        if isinstance(relation, InvariantDistance)
        else found.delta(float_above(relation.largest_exact_budget()))
    )
    return {"estimated_total_variation": found.high, "estimated_delta": delta, "largest_r_hat": found.largest_r_hat}


def _least_length(relation: InvariantDistance) -> float:
    """A lower bound of the length of every change: with a public number of records one cell loses what another gains."""
    if not relation.invariant.records_public:
        return 1.0
    return 2.0 if relation.distance == "l1" else 2**0.5


def _gaussian(mechanism: LatticeMechanism) -> LatticeChoice:
    columns = list(zip(*_factor(mechanism), strict=True))
    precision = np.array([[sum(a * b for a, b in zip(u, v, strict=True)) for v in columns] for u in columns], dtype=object)
    diagonal = set(precision.diagonal())
    isotropic = mechanism.cells is None and len(diagonal) == 1 and mechanism.norm.map.ndim == 1
    if isotropic:
        sampler = LatticeGaussian.isotropic(mechanism.lattice, 1 / diagonal.pop())
    else:
        sampler = LatticeGaussian.ellipsoid(mechanism.lattice, precision)
    return LatticeChoice("nearest plane, Gaussian", 1.0, sampler, ("Klein's proposal with an exact acceptance.",))


def _factor(mechanism: LatticeMechanism) -> list[list[Fraction]]:
    """The norm's map as a matrix of rationals on all N cells."""
    full = np.zeros((len(np.atleast_2d(mechanism.norm.factor)), mechanism.relation.size))
    full[:, mechanism.columns] = mechanism.norm.factor
    return [[Fraction(float(w)) for w in row] for row in full]


def _polytope(mechanism: LatticeMechanism, norm: Gauge) -> Polytope:
    """The gauge's body lifted from the measured cells into the span of the lattice."""
    from designer.noise import gauge_grid

    grid = gauge_grid(norm, (Fraction(1),) * norm.dimension)
    lift = _lift(mechanism.lattice.basis, mechanism.columns)
    vertices = [
        [sum((c * r for c, r in zip(vertex, column, strict=True)), Fraction(0)) for column in lift] for vertex in grid.vertices
    ]
    place = {cell: k for k, cell in enumerate(mechanism.columns.tolist())}
    facets = [[row[place[j]] if j in place else Fraction(0) for j in range(mechanism.relation.size)] for row in grid.facets]
    return Polytope(vertices, grid.simplices, facets)


def _lift(basis: NDArray[Any], columns: NDArray[np.intp]) -> list[list[Fraction]]:
    """Row j gives cell j of a kernel vector from its measured cells: `B' (B_cells')^-1`, exactly."""
    from flint import fmpq_mat, fmpz_mat

    whole = fmpz_mat([[int(x) for x in row] for row in basis])
    square = fmpz_mat([[int(x) for x in row] for row in basis[:, columns]])
    lifted = (fmpq_mat(square).inv() * fmpq_mat(whole)).transpose()
    return [[Fraction(int(c.p), int(c.q)) for c in row] for row in lifted.tolist()]
