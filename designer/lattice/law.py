"""How the noise of a lattice mechanism is drawn: the exact sampler of its norm, or a chain,
and what the guarantee says about it.

Samplers: docs/theory/lattice.md, sections 2 to 6.

Exact noise on lattices whose statistics are classes with public sums, by their structure: no basis is computed.

Which sampler draws what: docs/theory/lattice.md, sections 3, 4 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.certificate.norms import Gauge, Norm
from designer.lattice.chain import Assessment, ChainPlan, Energy, chain_sampler, directions
from designer.lattice.gaussian import LatticeGaussian
from designer.lattice.sampler_choice import EllipsoidNorm, LatticeChoice, PolytopeNorm, lattice_sampler_for
from designer.lattice.table_gaussians import CellsInOrder, CrossedGaussian, LineGaussian, PartitionGaussian, PartitionLaplace
from designer.mechanism.noise import gauge_parts
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.statistics import Statistics, Structure
from solvers.exact.rational import float_above
from solvers.lattices.chain import l1_energy, l2_energy
from solvers.lattices.kernel import Lattice

LARGEST_MIRRORED = 400  # cells of a table that is searched for l1 noise with few determined cells


def structured_l1(structure: Structure | None, rate: Fraction) -> LatticeChoice | None:
    """The sampler of `exp(-rate |z|_1)`; None where the statistics have to be searched for one."""
    if structure is None or structure.freedom < 2:
        return None
    if structure.kind != "margins":
        words = f"{len(structure.blocks())} fixed totals, {len(structure.free)} free cells: nothing is rejected."
        return LatticeChoice("totals", 1.0, PartitionLaplace(structure.classes[0].tolist(), rate), (words,))
    if structure.size <= LARGEST_MIRRORED or min(structure.levels) == 2:
        return None
    shape = " x ".join(map(str, structure.levels))
    words = f"A table of {shape} classes has too many determined cells for l1 noise; the family lattice_rows serves it."
    return LatticeChoice("none", 0.0, None, (words,))


def structured_gaussian(statistics: Statistics, variance: Fraction) -> LatticeChoice | None:
    """The sampler of `exp(-|z|_2^2 / (2 variance))`; None for statistics without a known structure, and for a single table."""
    known = statistics.layout
    if known is None or not known.freedom:
        return None
    if isinstance(known, Structure):
        sampler = _of_classes(known, variance)
    else:
        sampler = CellsInOrder(LineGaussian(known.place.shape, variance), known.place.ravel())
    words = "Halves of the cells, and halves of halves, with an exact acceptance."
    return LatticeChoice("halves, Gaussian", 1.0, sampler, (words,))


def _of_classes(structure: Structure, variance: Fraction) -> CellsInOrder | PartitionGaussian:
    if structure.kind == "margins":
        return CellsInOrder(CrossedGaussian(structure.levels, structure.repeats, variance), structure.order)
    return PartitionGaussian(tuple(np.asarray(block) for block in structure.blocks()), structure.size, variance)


EXACT = "Exact: random bits of the operating system, compared with probabilities in exact arithmetic."


@dataclass(frozen=True)
class LatticeLaw:
    """`P(z)` proportional to `exp(-||z||)`, or `exp(-||z||^2 / 2)`, on the integer kernel of an invariant's constraints.

    norm: on the cells `columns` (R,), which determine a vector of the kernel. whole: the norm is on all cells. kernel: gives
    the lattice with a reduced basis, which takes time; equal weights in l1 need none.
    """

    norm: Norm
    relation: ChangeRelation | InvariantDistance
    kernel: Callable[[], Lattice]
    columns: NDArray[np.intp]
    whole: bool

    @property
    def lattice(self) -> Lattice:
        """The kernel with its basis."""
        return self.kernel()

    @property
    def constraints(self) -> NDArray[np.int64]:
        """The rows that noise must leave alone."""
        return self.relation.invariant.constraints

    def seen(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows of queries, (K, N), some vector of the lattice moves."""
        known = self.relation.invariant.layout
        if known is not None:
            return known.seen(rows)
        return np.asarray((rows @ self.lattice.basis.T.astype(np.float64)).any(axis=1))

    @property
    def equal_weights(self) -> bool:
        """Whether every cell weighs the same."""
        weights = self.norm.map
        return self.whole and weights.ndim == 1 and len(set(weights.tolist())) == 1

    def exponential(self) -> LatticeChoice:
        """The exact sampler of the exponential fall-off; its `sampler` is None where none is feasible."""
        norm = self.norm
        if self.equal_weights and norm.order == "l1":  # which needs a basis for rank 1 alone
            rate, known = Fraction(float(norm.map[0])), self.relation.invariant.structure
            return structured_l1(known, rate) or lattice_sampler_for(self.constraints, "l1", rate)
        if isinstance(norm, Gauge):
            return lattice_sampler_for(self.constraints, self._polytope(norm), 1, self.lattice)
        if self.equal_weights and norm.order != "linf":
            return lattice_sampler_for(self.constraints, norm.order, Fraction(float(norm.map[0])), self.lattice)
        return lattice_sampler_for(self.constraints, EllipsoidNorm(self._factor()), 1, self.lattice)

    def require_served(self) -> None:
        """`InvalidProblem` for a norm that no exact sampler serves on a lattice."""
        norm = self.norm
        if not (isinstance(norm, Gauge) or norm.order == "l2" or (norm.order == "l1" and self.equal_weights)):
            raise InvalidProblem(
                f"norm: no exact sampler for this {norm.order} norm on a lattice; use equal l1 weights, l2 or a gauge, or "
                "ask for a chain."
            )

    def gaussian(self) -> LatticeChoice:
        """The exact sampler of the Gaussian fall-off."""
        if self.equal_weights:
            variance = 1 / Fraction(float(self.norm.map[0])) ** 2
            known = structured_gaussian(self.relation.invariant, variance)
            if known is not None:
                return known
            sampler = LatticeGaussian.isotropic(self.lattice, variance)
        else:
            columns = list(zip(*self._factor(), strict=True))
            precision = np.array(
                [[sum(a * b for a, b in zip(u, v, strict=True)) for v in columns] for u in columns], dtype=object
            )
            sampler = LatticeGaussian.ellipsoid(self.lattice, precision)
        return LatticeChoice("nearest plane, Gaussian", 1.0, sampler, ("Klein's proposal with an exact acceptance.",))

    def chain(self, plan: ChainPlan) -> LatticeChoice:
        """The chain that the plan asks for."""
        moves = directions(self.constraints, self.lattice)
        words = f"A Markov chain of {plan.steps} steps along {len(moves)} short vectors was asked for by name."
        return LatticeChoice("chain", 1.0, chain_sampler(moves, self.energy(), plan), (words,))

    def energy(self) -> Energy:
        """`||z||` of rows, in floats."""
        columns, norm = self.columns, self.norm
        if self.equal_weights and norm.order in ("l1", "l2"):  # twice as fast a step
            return (l1_energy if norm.order == "l1" else l2_energy)(float(norm.map[0]))
        return lambda z: np.asarray(norm(z[:, columns].astype(np.float64)))

    def _factor(self) -> list[list[Fraction]]:
        """The norm's map as a matrix of rationals on all N cells."""
        full = np.zeros((len(np.atleast_2d(self.norm.factor)), self.relation.size))
        full[:, self.columns] = self.norm.factor
        return [[Fraction(float(w)) for w in row] for row in full]

    def _polytope(self, norm: Gauge) -> PolytopeNorm:
        """The gauge's body lifted from the measured cells into the span of the lattice."""
        corners, simplices, normals = gauge_parts(norm, (Fraction(1),) * norm.dimension)
        lift = _lift(self.lattice.basis, self.columns)
        vertices = [
            [sum((c * r for c, r in zip(vertex, column, strict=True)), Fraction(0)) for column in lift] for vertex in corners
        ]
        place = {cell: k for k, cell in enumerate(self.columns.tolist())}
        facets = [[row[place[j]] if j in place else Fraction(0) for j in range(self.relation.size)] for row in normals]
        return PolytopeNorm(vertices, simplices, facets)


def sampling_words(plan: ChainPlan | None, found: Assessment | None) -> str:
    """The sentence of the guarantee about how noise is drawn."""
    if plan is None or found is None:
        return EXACT
    return (
        f"NOT exact: a Markov chain of {plan.steps} steps from the origin for every draw, driven by random bits of the "
        "operating system. Its law is close to the one stated, and how close is an ESTIMATE, not a proof: by coupled chains "
        f"the total variation distance is at most {found.estimate:.3g} (95 % confidence {found.low:.3g} to {found.high:.3g}, "
        f"{found.pairs} pairs of chains, all met, at lag {plan.lag}); largest R-hat over the cells "
        f"{found.largest_r_hat:.4f}. Acceptances and jump sizes are decided in floats of 53 bits."
    )


def chain_notion(relation: ChangeRelation | InvariantDistance) -> str:
    """What is added to the notion of privacy by the noise of a chain."""
    text = (
        " Approximate, because the noise is: for every set S of outputs and every protected change, P(x + v)(S) <= exp(b) "
        "P(x)(S) + (1 + exp(b)) tau, where tau, the distance of the chain's law, is estimated and not proven."
    )
    if not isinstance(relation, InvariantDistance):
        return text
    return text + (
        " In the form of INT Definition 2, delta (exp(epsilon r) - 1) / (exp(epsilon) - 1) at distance r, with the "
        f"estimated delta below, since every change has r at least {_least_length(relation):.6g}."
    )


def chain_parameters(found: Assessment | None, relation: ChangeRelation | InvariantDistance) -> dict[str, float | int | None]:
    """The estimates as numbers, named as estimates."""
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


def _lift(basis: NDArray[Any], columns: NDArray[np.intp]) -> list[list[Fraction]]:
    """Row j gives cell j of a kernel vector from its measured cells: `B' (B_cells')^-1`, exactly."""
    from flint import fmpq_mat, fmpz_mat

    whole = fmpz_mat([[int(x) for x in row] for row in basis])
    square = fmpz_mat([[int(x) for x in row] for row in basis[:, columns]])
    lifted = (fmpq_mat(square).inv() * fmpq_mat(whole)).transpose()
    return [[Fraction(int(c.p), int(c.q)) for c in row] for row in lifted.tolist()]
