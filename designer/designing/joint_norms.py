"""Biased answers P x with the noise of least loss for them, chosen together for a known number of records n.

With Gaussian noise a convex program, solved to its optimum (docs/theory/biased.md, section 6). With K-norm noise a search from
the optima of such programs, beside a limit for every centred pure noise added to any P x. What is found is P alone: its noise
is that of the family `gaussian` or `k_norm` for P, frozen and certified as theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import count, positive
from designer.base.errors import DesignFailed
from designer.certificate.guarantee import bounded
from designer.designing.ellipsoid import gaussian
from designer.designing.family import Family, Sizes, Tolerance
from designer.designing.implicit_rows import Classes, classes
from designer.designing.k_norm import design_k_norm, hull_work
from designer.designing.laplace_joint import LOSSES, constant_on_components, loss_with_bias
from designer.designing.measured import dimension_of, measurable
from designer.designing.repair import CONTINUOUS, rounding_of
from designer.limits import MOST_BUNDLE_COORDINATES, MOST_HULL_PAIRS, MOST_JOINT_UNKNOWNS
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.workload import Workload
from designer.relations.problem import Problem
from solvers.programs.joint_ellipsoid import PairsOfPoints, RowsInEllipsoid, fit_in_ellipsoid
from solvers.programs.joint_hull import MOST_MOVED, HullDescent
from solvers.solution import Solution
from solvers.work import finishing

SQUARED = f"{LOSSES['squared'][0]}, {CONTINUOUS}"
ANY_NOISE = f"{LOSSES['squared'][0]}; the bound is for all pure centred noise around any P x"
MOST_BUDGET = 20.0  # of pairs that a limit sees: sinh of a longer one is nothing beside the others
FLAT = 1e-7  # of the largest deviation of noise: rows of P that vary by less are constants in that direction


class JointQuestion:
    """A problem in the units of the joint programs: rows times `n sqrt(v_k)` on the classes of elements, (K, C), and pairs.

    Refused: where the number of records is not known, other losses than the squared one, changes of several records, and more
    unknowns or pairs than are fitted together.
    """

    def __init__(self, problem: Problem, family: str, most: int = MOST_JOINT_UNKNOWNS) -> None:
        unbiased = "gaussian" if problem.notion == "zcdp" else "k_norm"
        if problem.records is None:
            raise DesignFailed(f"{family}: the bias grows with the number of records; give problem.records.")
        if not problem.relation.single_records or problem.loss != "squared":
            raise DesignFailed(
                f"{family}: designs bias for changes of single records and the loss 'squared' only; use {unbiased}."
            )
        queries, elements = problem.workload.shape
        if queries * elements > count(most, "options.most") or problem.relation.pair_count() > MOST_HULL_PAIRS:
            raise DesignFailed(
                f"{family}: {queries} queries of {elements} elements with {problem.relation.pair_count():,} pairs are more "
                f"than the {most} answers or {MOST_HULL_PAIRS:,} pairs that are fitted together; merge elements, or use "
                f"{unbiased}."
            )
        measurable(problem)
        self.problem, self.family, self.records = problem, family, float(problem.records)
        self.universe: Classes = classes(problem)
        self.factors = self.records * np.sqrt(problem.costs)[:, None]
        self.targets: Floats = self.universe.workload * self.factors
        self.pairs = self._pairs()
        if not np.abs(self.pairs.moves(self.targets)).max(initial=0.0) > 0:
            raise DesignFailed(
                f"{family}: no protected change moves an answer, so nothing is to be gained by bias; use laplace."
            )

    def _pairs(self) -> PairsOfPoints:
        """The protected pairs of classes, absence as the last point, in units in which a record counts n."""
        size = len(self.universe)
        label = np.append(self.universe.label, -1)
        label[label < 0] = size
        found = []
        for block in self.problem.relation.blocks():
            where = np.nonzero(np.isfinite(block.budgets))
            left, right = label[block.left[where[0]]], label[np.minimum(block.right[where[-1]], len(label) - 1)]
            apart = left != right
            low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
            found.append((low, high, block.budgets[where][apart]))
        left, right, budgets = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return PairsOfPoints(left, right, budgets * self.records)

    def of_divergence(self) -> PairsOfPoints:
        """The pairs with budgets in which pure noise obeys `u' S^-1 u <= d^2`: `sqrt(2) sinh(d / 2)`, of those where that is a
        moderate number; fewer pairs only lower a bound."""
        own = self.pairs.budgets / self.records
        near = np.flatnonzero(own < MOST_BUDGET)
        lengths = math.sqrt(2) * np.sinh(own[near] / 2) * self.records
        return PairsOfPoints(self.pairs.left[near], self.pairs.right[near], lengths)

    @property
    def constants(self) -> Floats:
        """What may be added to any row: the components of the classes but that of absence, (p, C)."""
        label = self.problem.relation.components()
        here, absent = label[: self.problem.relation.size][self.universe.first], label[self.problem.relation.size :]
        return np.array([here == one for one in np.setdiff1d(here, absent)], dtype=np.float64).reshape(-1, len(here))

    def solved(self, pairs: PairsOfPoints, tolerance: float) -> Solution[RowsInEllipsoid]:
        """The optimum of the convex program, flat directions of it made constant; `DesignFailed` where none is found."""
        found = self.attempted(pairs, tolerance)
        if not found.status.usable:
            raise DesignFailed(f"{self.family}: {found.status.value}")
        return found

    def attempted(self, pairs: PairsOfPoints, tolerance: float) -> Solution[RowsInEllipsoid]:
        """The same, and what the solver says where it finds none."""
        try:
            found = fit_in_ellipsoid(self.targets, pairs, positive(tolerance, "options.tolerance"))
        except ImportError as missing:
            raise DesignFailed(f"{self.family}: needs the convex solver clarabel ({missing}); install clarabel.") from None
        if not found.status.usable:
            return found
        return replace(found, point=replace(found.point, rows=self.without_flat(found.point.rows, found.point.covariance)))

    def without_flat(self, rows: Floats, covariance: Floats) -> Floats:
        """The rows, made constant on every component in the directions that have no noise."""
        values, vectors = np.linalg.eigh(covariance)
        kept = vectors[:, values > FLAT**2 * values[-1]]
        if kept.shape[1] == len(values):
            return rows
        still = constant_on_components(self.spread(rows), self.problem.relation)[:, self.universe.first] * self.factors
        return np.asarray(still + kept @ kept.T @ (rows - still))

    def spread(self, rows: Floats) -> Floats:
        """Rows on the classes, in these units, over the elements in those of the queries, (K, N)."""
        return self.universe.spread(rows / self.factors)

    def frozen(self, rows: Floats, build: Callable[[Problem], AdditiveMechanism]) -> AdditiveMechanism:
        """The noise that a family has for the answers P, around P x: certified for the problem. rows: (K, N)."""
        asked = self.problem.workload
        near = Workload(rows, queries=asked.queries, elements=asked.elements)
        made = build(replace(self.problem, workload=near, records=None))
        return AdditiveMechanism(
            self.family,
            asked,
            self.problem.relation,
            made.norm,
            made.grid,
            made.falloff,
            rows if made.measured is None else made.measured,
            made.reconstruction,
            allow_vacuous=self.problem.allow_vacuous,
        )


def achieved(problem: Problem, made: AdditiveMechanism) -> tuple[float, float]:
    """The loss with bias at a frozen mechanism, and how far floats and its grid may have brought it below a bound."""
    value = loss_with_bias(problem, made)
    return value, value * (4 * problem.relation.budget_error + 1e-12) + rounding_of(problem, made)


def _claimed(problem: Problem, made: AdditiveMechanism, words: str, found: Solution[RowsInEllipsoid]) -> AdditiveMechanism:
    value, rounding = achieved(problem, made)
    return made.annotated(made.provenance, bounded(words, value, found.lower_bound, found.method, rounding))


def design_gaussian_joint(
    problem: Problem,
    tolerance: Tolerance = 5e-7,
    most: Annotated[int, "Above so many answers at elements (K N) the family is refused."] = MOST_JOINT_UNKNOWNS,
) -> AdditiveMechanism:
    """The biased Gaussian mechanism of least worst squared error over n records: the optimum of a convex program, and never
    above that of the family `gaussian`."""
    asked = JointQuestion(problem, "gaussian_joint", most)
    found = asked.solved(asked.pairs, tolerance)
    candidates = [asked.spread(found.point.rows), problem.workload.dense()]
    made = min((asked.frozen(rows, gaussian) for rows in candidates), key=partial(loss_with_bias, problem))
    return _claimed(problem, made, SQUARED, found)


def design_k_norm_joint(
    problem: Problem,
    tolerance: Tolerance = 1e-5,
    most: Annotated[int, "Above so many answers at elements (K N) the family is refused."] = MOST_JOINT_UNKNOWNS,
) -> AdditiveMechanism:
    """Biased answers with K-norm noise in the hull of their differences: the best that a descent finds from optima of convex
    programs, and never above that of the family `k_norm`.

    The bound is a limit for all centred pure noise that is added to any answers P x; there is none where all budgets are large.
    """
    asked = JointQuestion(problem, "k_norm_joint", most)
    if (dimension := dimension_of(problem)) > MOST_BUNDLE_COORDINATES:
        raise DesignFailed(
            f"k_norm_joint: the hull has {dimension} dimensions, more than {MOST_BUNDLE_COORDINATES}; use k_norm or "
            "laplace_joint."
        )
    near = asked.of_divergence()
    sizes = (2.0, dimension + 1.0, 0.5) if asked.targets.size <= MOST_MOVED else (2.0,)
    programs = [near, *(asked.pairs.times(size**-0.5) for size in sizes)]
    solved = [asked.attempted(pairs, tolerance) if len(pairs.left) else None for pairs in programs]
    limit, *_ = usable = [one if one and one.status.usable else None for one in solved]
    starts = [one for one in usable if one]
    if not starts:
        raise DesignFailed("k_norm_joint: no convex program was solved, so there is no start; rescale it, or use k_norm.")
    found = HullDescent(asked.targets, asked.pairs, asked.constants).least(one.point.rows for one in starts)
    candidates = [asked.spread(asked.without_flat(found.rows, found.covariance)), problem.workload.dense()]
    with finishing():
        made = min((asked.frozen(rows, design_k_norm) for rows in candidates), key=partial(loss_with_bias, problem))
    return made if limit is None else _claimed(problem, made, ANY_NOISE, limit)


def _work(sizes: Sizes) -> float:
    """Seconds, from 50 and 755 elements of three queries; refused at once where no number of records is known."""
    unknowns = sizes.queries * sizes.elements
    if sizes.problem.records is None or unknowns > MOST_JOINT_UNKNOWNS or sizes.pairs > MOST_HULL_PAIRS:
        return 0.0
    return 5e-4 * unknowns * sizes.queries / 2


def _hull_work(sizes: Sizes) -> float:
    """Three programs and some hulls."""
    return 0.0 if (one := _work(sizes)) == 0 else 5 * one + 10 * hull_work(sizes.dimension, sizes.pairs)


GAUSSIAN_JOINT = Family(
    "gaussian_joint",
    "biased Gaussian noise for a known number of records",
    "zcdp",
    design_gaussian_joint,
    program="designer.programs:gaussian_joint",
    biased=True,
    with_delta=False,  # the bounds are of noise that keeps a pure promise, or zCDP
    work=_work,
)
K_NORM_JOINT = Family(
    "k_norm_joint",
    "biased K-norm noise for a known number of records",
    "pure",
    design_k_norm_joint,
    search="Rows and hull are found by a descent, from optima of the program of `gaussian_joint` with other budgets.",
    biased=True,
    with_delta=False,  # the bounds are of noise that keeps a pure promise, or zCDP
    work=_hull_work,
    anytime=True,
)
