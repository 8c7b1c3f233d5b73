"""Integer noise on the kernel of an invariant: pure with an l1, l2, ellipsoid or hull norm,
or Gaussian (docs/theory/lattice.md)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.certificate import refuse_infinite, scale_up_to_private
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.ellipsoid import covering, covering_work, refuse_unusable
from designer.designing.family import Family, Sizes
from designer.designing.k_norm import HullBackend, hull_backend, hull_notes, hull_work, most_simplices, other_hull, spanning
from designer.designing.measured import Coordinates, moving_coordinates
from designer.lattice.chain import PAIRS, directions, planned
from designer.lattice.mechanism import LatticeMechanism, changes_on_cells
from designer.limits import MOST_HULL_DIMENSIONS
from designer.mechanism.interface import Falloff
from designer.problem.workload import Workload
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.problem import Problem
from solvers.polytopes.facets import Backend, HullFailed

Shape = Annotated[str, "The ball that the noise follows."]


def lattice_laplace(
    problem: Problem,
    shape: Shape = "l2",
    chain: Annotated[
        bool, "Allow a Markov chain where no exact sampler is feasible; the guarantee then holds an estimate."
    ] = False,
    steps: Annotated[int | None, "How many steps the chain takes."] = None,
    lag: Annotated[int | None, "By how many steps coupled chains are apart."] = None,
    pairs: Annotated[int | None, "How many coupled chains are run."] = None,
    backend: HullBackend | None = None,
) -> LatticeMechanism:
    """Exponential fall-off on the lattice: pure. shape: "l1", "l2", "ellipsoid" (least weighted squared error)
    or "hull" (the K-norm).

    Under a budget per distance the norm is that distance (or l2 under an l1 distance); no other shape is proven for it.
    chain: allow a Markov chain where no exact sampler is feasible, and only there. Its distance from the law is then an
    estimate, which the guarantee states and absorbs as a delta.
    steps, lag, pairs: of `ChainPlan`, found by pilot chains where they are not given.
    backend: who proposes the facets of the hull, "qhull" (the default) or "cdd"; both are proven alike.
    """
    if backend is not None and shape != "hull":
        raise InvalidProblem(
            "options.backend: proposes the facets of a hull; ask for one with shape = 'hull', or leave it out."
        )
    proposes = hull_backend("lattice_laplace", "qhull" if backend is None else backend)
    made = _lattice(problem, "lattice_laplace", "exponential", shape, ("l1", "l2", "ellipsoid", "hull"), proposes)
    if type(chain) is not bool:
        raise InvalidProblem(f"options.chain: {chain!r} is neither true nor false.", value=chain)
    if not chain:
        if (steps, lag, pairs) != (None, None, None):
            raise InvalidProblem("options.steps, lag, pairs: belong to a chain; ask for it with chain = true.")
        return _feasible(made)
    return made if made.choice.sampler is not None else _with_chain(made, steps, lag, pairs)


def _with_chain(made: LatticeMechanism, steps: int | None, lag: int | None, pairs: int | None) -> LatticeMechanism:
    moves = directions(made.relation.invariant.constraints, made.lattice)
    plan = planned(moves, made.law.energy(), steps, lag, PAIRS if pairs is None else pairs)
    result = LatticeMechanism(made.family, made.workload, made.relation, made.norm, made.falloff, made.cells, plan)
    _ = result.assessment
    return result.annotated(made.provenance)


def lattice_gaussian(problem: Problem, shape: Shape = "l2") -> LatticeMechanism:
    """Gaussian fall-off on the lattice: zCDP without a factor for the dimension. shape: "l2" or "ellipsoid"."""
    return _feasible(_lattice(problem, "lattice_gaussian", "gaussian", shape, ("l2", "ellipsoid")))


def _lattice(
    problem: Problem, family: str, falloff: Falloff, shape: str, known: tuple[str, ...], backend: Backend = "qhull"
) -> LatticeMechanism:
    cells, norm = protected_norm(problem, family, shape, known, backend)
    made = LatticeMechanism(family, problem.workload, problem.relation, norm, falloff, cells)  # type: ignore[arg-type]
    return made.annotated(hull_notes(norm))


def protected_norm(
    problem: Problem, family: str, shape: str, known: tuple[str, ...], backend: Backend = "qhull"
) -> tuple[tuple[int, ...] | None, Norm]:
    """The cells that a norm of this shape measures (None: all), and the norm, within every budget of the problem's relation.

    `InvalidProblem` for a shape that is not `known`, `DesignFailed` where the relation leaves no such norm.
    """
    relation = problem.relation
    if shape not in known:
        raise InvalidProblem(f"options.shape: {shape!r} is unknown to {family}; use one of {list(known)}.", value=shape)
    if isinstance(relation, InvariantDistance):
        if shape not in ("l1", "l2"):
            raise DesignFailed(f"{family}: a budget per distance needs the norm of that distance; use shape l1 or l2.")
        if (shape, relation.distance) == ("l1", "l2"):
            raise DesignFailed(f"{family}: an l1 norm exceeds an l2 distance; use shape l2, or a budget per l1 distance.")
        return None, Norm(np.full(relation.size, relation.epsilon), shape)  # type: ignore[arg-type]
    if not isinstance(relation, ChangeRelation):
        raise DesignFailed(
            f"{family}: integer noise keeps an invariant and this relation has none; use invariants.total for the records "
            "alone."
        )
    if not relation.spans_kernel:
        raise DesignFailed(
            f"{family}: the protected changes reach less than the lattice of the invariant; raise the adjacency."
        )
    if not relation.all_protected:
        raise DesignFailed(
            f"{family}: some change of the invariant is not protected at all; publish what it leaves, or give it a budget."
        )
    cells, norm = _shaped(problem, shape, backend)
    return cells, _at_the_limit(changes_on_cells(relation, cells, norm), norm)


def _at_the_limit(changes: SensitivitySet, norm: Norm) -> Norm:
    """The norm scaled so that the worst change spends its whole budget, up to what proves it: narrower noise or wider,
    as privacy allows."""
    worst = refuse_infinite(changes, norm)
    near = norm.divided(worst) if worst else norm
    return near.divided(scale_up_to_private(changes, near))


def _feasible(made: LatticeMechanism) -> LatticeMechanism:
    """The mechanism, if it can be drawn from."""
    _ = made.sampler
    return made


def _shaped(problem: Problem, shape: str, backend: Backend) -> tuple[tuple[int, ...] | None, Norm]:
    """Cells and a norm on them, before it is scaled to be private."""
    size = problem.relation.size
    if shape in ("l1", "l2"):
        return None, Norm(np.ones(size), shape)  # type: ignore[arg-type]
    # Counts of the elements themselves, in full-rank coordinates: some of the cells, and the public rows.
    table = Problem(Workload.identity(size), problem.relation, problem.notion)
    coordinates = moving_coordinates(table)
    cells = tuple(int(np.flatnonzero(row)[0]) for row in coordinates.matrix(table)[coordinates.heard])
    moving = coordinates.sensitivity(table)
    if shape == "hull":
        if len(cells) > MOST_HULL_DIMENSIONS:
            raise DesignFailed(
                f"lattice_laplace: the hull has {len(cells)} dimensions, more than {MOST_HULL_DIMENSIONS}; use "
                "lattice_gaussian, the shape l1 for classes or lattice_rows for margins."
            )
        try:
            return cells, spanning(moving, most_simplices(backend), backend).gauge(moving)
        except HullFailed as failed:
            raise DesignFailed(f"lattice_laplace: {failed}; use {other_hull(backend)}the shape ellipsoid.") from None
    full = np.eye(size) if coordinates.reconstruction is None else coordinates.reconstruction
    asked = Coordinates(coordinates.measured, problem.workload.dense() @ full, coordinates.heard)
    solution = covering(moving, problem, asked, "max" if problem.loss == "max" else "squared", 1e-6)
    refuse_unusable(solution, "ellipsoid")
    return cells, Norm(np.linalg.inv(np.linalg.cholesky(solution.point.covariance)), "l2")


def _work(sizes: Sizes, shape: str = "l2") -> float:
    """Seconds: of simulating the loss, and of inverting the norm of the lattice exactly; of an ellipsoid those of finding it,
    of a hull those of proving it, as a norm and on the lattice."""
    if shape == "l1":
        return 0.0015 * sizes.elements**2
    work: float = 0.02 * sizes.elements + 5e-9 * float(sizes.freedom) ** 4.6
    if shape == "hull":
        work += 1.3 * hull_work(sizes.freedom, sizes.pairs)
    return work + covering_work(sizes) if shape == "ellipsoid" else work


SEARCH = "The shape is the best of a few; of these the ellipsoid is a convex program."
LATTICE_LAPLACE = Family(
    "lattice_laplace",
    "integer noise that keeps the invariant",
    "pure",
    lattice_laplace,
    part="designer.programs:lattice",
    search=SEARCH,
    invariants_only=True,
    with_delta=False,
    choices=tuple({"shape": shape} for shape in ("l1", "l2", "ellipsoid", "hull")),
    work=_work,
    rank=0,
)
LATTICE_GAUSSIAN = Family(
    "lattice_gaussian",
    "integer Gaussian noise that keeps the invariant",
    "zcdp",
    lattice_gaussian,
    part="designer.programs:lattice",
    search=SEARCH,
    invariants_only=True,
    with_delta=False,
    choices=tuple({"shape": shape} for shape in ("l2", "ellipsoid")),
    work=_work,
    rank=0,
)
