"""Biased answers and the covariance of their Gaussian noise for n public records, as one program in CVXPY
(docs/guides/programs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.certificate.guarantee import Optimality
from designer.designing.ellipsoid import heard_set, refuse_flat, shaped
from designer.designing.joint_norms import SQUARED, JointQuestion, achieved
from designer.mechanism.additive import AdditiveMechanism
from designer.programs.constraints import NOTICED, Separated
from designer.programs.rounds import Solved
from designer.programs.search import MechanismProgram, question_of
from designer.relations.problem import Problem
from solvers.lattices.kernel import pseudo_inverse
from solvers.programs.joint_ellipsoid import bound_of, noise_alone, squared_lengths, steepest_pairs


class GaussianJointProgram(MechanismProgram):
    """Variables Q, (K, N), the answered rows, S, (K, K), the covariance of their noise, and e, the largest bias of a record.

    problem: of linear queries, with `records`, under zCDP, and the loss "squared".
    """

    title = "gaussian_joint"
    source = "jointly convex by Schur's complement; docs/theory/biased.md, section 6"
    formula = """
        minimise    n^2 e + sum_k v_k S_kk     where  sum_k v_k (Q'_ki - Q_ki)^2 <= e  for every element i
        subject to  [[S, u], [u', d(i, j)^2]] >= 0,  u = Q'_i - Q'_j,  for every protected pair of elements
    """
    notion = "zcdp"

    def __init__(self, problem: Problem) -> None:
        super().__init__(question_of(problem, self.title, self.notion))
        self.asked = JointQuestion(problem, self.title)
        self.objective_words = SQUARED
        queries, elements = problem.workload.shape
        self.Q = cp.Variable((queries, elements), name="Q")
        self.S = cp.Variable((queries, queries), name="S", PSD=True)
        self.e = cp.Variable(nonneg=True, name="e")
        self.query, self.root = problem.workload.dense(), np.sqrt(problem.costs)
        self._typical, self._unit = noise_alone(self.asked.targets, self.asked.pairs)
        self._places = steepest_pairs(self.asked.targets, self.asked.pairs)

    @property
    def variables(self) -> dict[str, Any]:
        return {"Q": self.Q, "S": self.S, "e": self.e}

    @cached_property
    def variances(self) -> Any:
        """The diagonal of S, (K,)."""
        return cp.hstack([self.S[k, k] for k in range(len(self.root))])

    @cached_property
    def loss(self) -> Any:
        """`n^2 e + sum_k v_k S_kk`."""
        return self.asked.records**2 * self.e + cp.sum(cp.multiply(self.question.costs, self.variances))

    @property
    def pairs(self) -> int:
        return len(self._places)

    @property
    def privacy(self) -> tuple[Any, ...]:
        """A semidefinite block for each pair of the working set, in units in which d is 1."""
        first, held = self.asked.universe.first, self.asked.pairs.chosen(self._places)
        scale = self.root / self._unit
        inner = cp.multiply(np.outer(scale, scale), self.S)
        blocks = []
        for left, right, budget in zip(held.left, held.right, held.budgets, strict=True):
            move = self.Q[:, first[left]] - self.Q[:, first[right]] if right < len(first) else self.Q[:, first[left]]
            column = cp.reshape(cp.multiply(scale * self.asked.records / budget, move), (len(scale), 1), order="F")
            blocks.append(cp.bmat([[inner, column], [column.T, np.ones((1, 1))]]) >> 0)
        return tuple(blocks)

    @property
    def definitions(self) -> tuple[Any, ...]:
        """e is at least the bias of every element."""
        size = self._unit / self.asked.records
        off = (self.Q - self.query)[:, self.asked.universe.first]
        return (cp.sum(cp.square(cp.multiply(self.root[:, None] / size, off)), axis=0) <= self.e / size**2,)

    @cached_property
    def in_units(self) -> Mapping[Any, Any]:
        """The bias and the deviations of n records in units of the loss."""
        rows, spread = cp.Variable((len(self.root), len(self.asked.universe))), self.asked.universe.spread
        inner, size = cp.Variable(self.S.shape, PSD=True), self._unit / self.root
        near = self.query + cp.multiply((size / self.asked.records)[:, None], rows) @ spread(np.eye(rows.shape[1]))
        return {
            self.Q: near,
            self.S: cp.multiply(np.outer(size, size), inner),
            self.e: (self._unit / self.asked.records) ** 2 * cp.Variable(nonneg=True),
        }

    def start(self) -> None:
        """Q itself, with noise that is large enough for it."""
        self._set(self.query, self._typical / np.outer(self.root, self.root))

    def _set(self, rows: Floats, covariance: Floats) -> None:
        self.Q.save_value(rows)
        self.S.save_value((covariance + covariance.T) / 2)
        self.e.save_value(np.asarray(np.square(self.root[:, None] * (rows - self.query)).sum(axis=0).max()))

    def _point(self) -> tuple[Floats, Floats]:
        """Rows and covariance in the units of `JointQuestion`."""
        rows = np.asarray(self.Q.value)[:, self.asked.universe.first] * self.asked.factors
        return rows, np.asarray(self.S.value) * np.outer(self.root, self.root)

    def separate(self) -> Separated:
        """A scan of all pairs; those beyond their budgets join."""
        rows, covariance = self._point()
        lengths = squared_lengths(self.asked.pairs.moves(rows), covariance)
        found = self.asked.pairs.best_of_each(lengths, rows.shape[1])
        more = np.setdiff1d(found[lengths[found] > 1 + NOTICED], self._places)
        self._places = np.concatenate([self._places, more])
        return Separated(float(np.sqrt(lengths.max())), len(more))

    def state_all(self) -> None:
        self._places = np.arange(len(self.asked.pairs.budgets))

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
        """The dual in closed form. multipliers: (K + 1, K + 1) of each pair."""
        held = self.asked.pairs.chosen(self._places)
        forces = -np.array([part[:-1, -1] for part in multipliers]).T / held.budgets
        prices = np.array([part[-1, -1] for part in multipliers]) / held.budgets**2
        return bound_of(self.asked.targets, held, forces, prices)

    def frozen(self) -> AdditiveMechanism:
        """The noise of this covariance around these rows, scaled to what privacy requires."""
        rows, covariance = self._point()
        rows = self.asked.without_flat(rows, covariance)
        covariance = covariance / np.outer(self.root, self.root)

        def build(near: Problem) -> AdditiveMechanism:
            coordinates = heard_set(near, self.title)[0]
            back = pseudo_inverse(coordinates.answers(near))
            measured = back @ covariance @ back.T
            refuse_flat(measured, self.title)
            return shaped(near, "gaussian", coordinates, measured, "gaussian", None)

        return self.asked.frozen(self.asked.spread(rows), build)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """Rows and covariance of a frozen mechanism."""
        self._set(mechanism.effective, mechanism.covariance())

    def _claim(self, mechanism: AdditiveMechanism, solved: Solved) -> Optimality | None:
        value, rounding = achieved(self.question, mechanism)
        return self.claim_of(self.objective_words, value, solved, rounding)
