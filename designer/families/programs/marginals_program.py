"""Precisions of Gaussian noise in the residuals of marginal tables, as a program in CVXPY (docs/theory/marginals.md, 3).

Residual A has precision `s_A = 1 / sigma_A^2`; G has a row for each kind of protected change, V a row for each table B:

    minimise    sum_B cells_B weight_B (V s^-1)_B     (squared;  max_B weight_B (V s^-1)_B  max)
    subject to  G s <= 1

Source of the residuals: Xiao, He, Zhang and Kifer 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certified.guarantee import bounded
from designer.families.convex.bounds import Slopes
from designer.families.convex.program import Program
from designer.families.convex.separation import Separated
from designer.families.convex.solving import DEFAULT
from designer.families.convex.wording import Named
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.marginals.plan import CONTINUOUS, OBJECTIVES, private_precisions, whole_parts
from designer.mechanisms.marginals.protection import changes, load_matrix
from designer.problem.marginals_workload import MarginalWorkload

MOST_ENTRIES = 2_000_000  # of the matrices of the program
VANISHED = 1e-9  # of the precision that a residual could have alone: less is a solver's zero


class MarginalsProgram(Program):
    """Variable s, (M,), the precisions of the residuals that some protected change moves; the others are published exactly.

    problem: a MarginalProblem of the notion "zcdp". variances: that of a cell of each requested table, (K,), for continuous
    noise, which whole-number noise does not exceed.
    """

    title = "marginals"
    encloses_all = True

    def __init__(self, problem: Any) -> None:
        super().__init__()
        if not isinstance(getattr(problem, "workload", None), MarginalWorkload):
            raise InvalidProblem(
                "problem: is no MarginalProblem; build one with MarginalProblem(workload, protection).", value=problem
            )
        if problem.notion != "zcdp":
            raise DesignFailed(f"program: 'marginals' is zcdp, the problem asks for {problem.notion!r}; use design.")
        self.question, workload = problem, problem.workload
        self.found = changes(problem.relation, workload.domain, workload.measured)
        if not self.found:
            raise DesignFailed("marginals: no protected change moves a table, so there is no noise to choose; use design.")
        self.moved = np.unique(np.concatenate([change.members for change in self.found]))
        if (len(self.found) + len(workload.subsets)) * len(self.moved) > MOST_ENTRIES:
            raise DesignFailed(
                f"marginals: {len(workload.subsets)} tables of {len(self.moved)} residuals are more than CVXPY takes in "
                "reasonable time; use design, whose own solver takes more."
            )
        loads = load_matrix(self.found, len(workload.measured))[:, self.moved]
        self.loads = np.asarray(loads if isinstance(loads, np.ndarray) else loads.toarray(), dtype=np.float64)
        self.spread = np.asarray(workload.cell_variances[:, self.moved].toarray(), dtype=np.float64)
        self.s = cp.Variable(len(self.moved), name="s", pos=True)
        self._shares = cp.Variable(len(self.moved), name="x", pos=True)

    @property
    def costs(self) -> Floats:
        """What variances of tables cost, (K,): their weights, and for "squared" times their cells."""
        workload = self.question.workload
        return np.asarray(workload.weights * (workload.cells if self.question.loss == "squared" else 1.0))

    @property
    def variables(self) -> dict[str, Any]:
        return {"s": self.s}

    @property
    def named(self) -> Named:
        workload = self.question.workload
        measured = tuple(workload.measured.tuples())
        residuals = tuple(" x ".join(workload.names(measured[place])) or "total" for place in self.moved)
        tables = tuple(" x ".join(workload.names(axes)) or "total" for axes in workload.subsets.tuples())
        return {"s": (self.s, residuals), "variances": (self.variances, tables)}

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`G s <= 1`."""
        return (self.loads @ self.s <= 1,)

    @cached_property
    def inverses(self) -> Any:
        """`1 / s`, (M,): the variances of the residuals."""
        return cp.multiply(np.ones(self.s.size), cp.inv_pos(self.s))  # a product is replaced in units, a power is not

    @cached_property
    def roots(self) -> Any:
        """`s^-1/2`, (M,)."""
        return cp.multiply(np.ones(self.s.size), cp.power(self.s, -0.5))

    @cached_property
    def variances(self) -> Any:
        """`V s^-1`, (K,)."""
        return self.spread @ self.inverses

    @cached_property
    def standard_errors(self) -> Any:
        """`(V s^-1)^1/2`, (K,): a Euclidean norm of `s^-1/2` in each entry."""
        return cp.norm(np.sqrt(self.spread) @ cp.diag(self.roots), 2, axis=1)

    @cached_property
    def loss(self) -> Any:
        """The total of weighted variances of all cells, or the largest weighted variance."""
        weighted = cp.multiply(self.costs, self.variances)
        return cp.sum(weighted) if self.question.loss == "squared" else cp.max(weighted)

    def separate(self) -> Separated:
        """Nothing joins: every change is stated."""
        return Separated(float((self.loads @ self.s.value).max()), 0)

    def state_all(self) -> None:
        """Every change is stated."""

    @cached_property
    def _units(self) -> Floats:
        """Precisions of the right order, (M,): the best ones for the sum of all loads."""
        share = np.sqrt((self.costs @ self.spread) / self.loads.sum(axis=0))
        return np.asarray(share / (self.loads @ share).max())

    @cached_property
    def in_units(self) -> Mapping[Any, Any]:
        units, x = self._units, self._shares
        return {
            self.s: cp.multiply(units, x),
            self.inverses: cp.multiply(1 / units, cp.inv_pos(x)),
            self.roots: cp.multiply(units**-0.5, cp.power(x, -0.5)),
        }

    def start(self) -> None:
        self.s.save_value(self._units)

    @cached_property
    def alone(self) -> Floats:
        """The largest precision that each residual could have alone, (M,)."""
        return np.asarray(1 / self.loads.max(axis=0))

    def least_linear(self, slopes: Slopes) -> float:
        return float(np.minimum(slopes["s"] * self.alone, 0.0).sum())

    def least_loss(self, slopes: Slopes, parts: Floats | None) -> float:
        """`sum b / s + <slope, s>`, residual by residual: at `(b / slope)^1/2`, or at what a residual could have alone.

        parts: (K,), or None.
        """
        costs = (self.costs if parts is None else self.costs * parts) @ self.spread
        slope = slopes["s"]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(slope > 0, np.minimum(np.sqrt(costs / slope), self.alone), self.alone)
        return float((costs / best + slope * best).sum())

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats | None) -> float | None:
        """`F^2 / sum lambda` with `F = sum (a b)^1/2`, a = G' lambda and b = V' costs (docs/theory/marginals.md, (4)).

        multipliers: one array, (changes,). parts: (K,), or None.
        """
        costs = (self.costs if parts is None else self.costs * parts) @ self.spread
        total = float(multipliers[0].sum())
        if not total > 0:
            return None
        return float(np.sqrt((multipliers[0] @ self.loads) * costs).sum()) ** 2 / total * (1 - 1e-11)

    def design(self, solver: str = DEFAULT, **options: Any) -> MarginalMechanism:
        """Solve, scale until every promise is kept exactly, and certify; the user's constraints hold at what is frozen."""
        made, solved = self.frozen_within(solver, options, self._built, self._take)
        value, claim = made.error(self.question.loss), None
        kept = whole_parts(self.question.workload, self.found, self.moved)
        if self._objective is None and solved.lower_bound is not None and kept.min() >= CONTINUOUS:
            words = OBJECTIVES[self.question.loss] + ("" if self.is_standard else ", under constraints of the user's own")
            bound = max(0.0, solved.lower_bound) * float(kept.min())
            claim = bounded(words, value, bound, f"{solved.solver}: {solved.bound_from}", value * (self.s.size + 16) * 2.0**-50)
        told = {"family": "residual", "repaired_loss": float(self.loss.value)}
        return made.annotated({**self.history_of(solved), **told}, claim)

    def _built(self) -> MarginalMechanism:
        workload = self.question.workload
        precisions = np.full(len(workload.measured), np.inf)
        precisions[self.moved] = np.maximum(np.asarray(self.s.value, dtype=np.float64), VANISHED * self.alone)
        made = private_precisions(self.found, precisions, self.moved)
        return MarginalMechanism(workload, self.question.relation, made, allow_vacuous=self.question.allow_vacuous)

    def _take(self, made: MarginalMechanism) -> None:
        self.s.save_value(np.array(made.precisions[self.moved]))
