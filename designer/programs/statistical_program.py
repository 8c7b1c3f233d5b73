"""Programs (13) and (14) of the dX paper: averages over n rows, answered by other functions of a row, in CVXPY.

Q'_k(u) is answered in the place of f_k(u), the sum over groups of attributes of what each group's values decide; c are the
scales of the averages' noise, e_g the largest bias that a value of group g makes (docs/guides/programs.md):

    minimise    sum_g e_g + sum_k c_k         where  sum_k |Q'_k(s) - f_k(s)| <= e_g   for all values s of group g  (absolute)
                sum_g e_g^2 + 2 sum_k c_k^2   where  ||Q'(s) - f(s)||_2 <= e_g                                     (squared)
    subject to  sum_k |Q'_k(s) - Q'_k(t)| / c_k <= n d_g(s, t)   for all values s, t of every group g

Where every group decides one statistic this is program (14) and convex; the squared bias is `(sum_g e_g)^2` where groups
share one. Otherwise it is program (13), solved by convex restrictions as program (6) is.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import cvxpy as cp
import numpy as np

from designer.averages.averages import statistic_of_each_group, worst_row_bias
from designer.averages.queries import StatisticalQueries
from designer.base.arrays import Floats
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.designing.design_result import Design
from designer.designing.laplace_joint import frozen_fit
from designer.mechanism.additive import AdditiveMechanism
from designer.programs.biased_program import BiasedProgram
from designer.programs.constraints import Named
from designer.programs.rounds import Solved
from solvers.programs.row_losses import WORST_ABSOLUTES, WORST_SQUARES, GroupedSquares, RowsLoss


class StatisticalProgram(BiasedProgram):
    """Variables Q, (K, images), c, (K,), and e, (groups,). Standard errors and variances are those of the averages.

    queries: the averages that are asked for. records: n, the public number of records. loss: "absolute" or "squared".
    """

    title = "statistical"
    source = "DX programs (13) and (14), n averages; docs/theory/statistical.md"
    formula = """
        minimise    sum_g e_g + sum_k c_k         where  sum_k |Q'_k(s) - f_k(s)| <= e_g   for all s of group g   (absolute)
                    sum_g e_g^2 + 2 sum_k c_k^2   where  ||Q'(s) - f(s)||_2 <= e_g                                (squared)
        subject to  sum_k |Q'_k(s) - Q'_k(t)| / c_k <= n d_g(s, t)   for all values s, t of every group g
    """
    notion = "pure"

    def __init__(self, queries: StatisticalQueries, records: float, loss: Literal["absolute", "squared"] = "absolute") -> None:
        if not isinstance(queries, StatisticalQueries):
            raise InvalidProblem(f"queries: {shown(queries)} are none; build them with `StatisticalQueries.of`.", value=queries)
        if loss not in ("absolute", "squared"):
            raise InvalidProblem(f"loss: {shown(loss)} is unknown; use 'absolute' or 'squared'.", value=loss)
        n = positive(records, "records")
        self.queries, self.power = queries, 1 if loss == "absolute" else 2
        self.offsets = np.cumsum([0, *(group.metric.size for group in queries.groups)], dtype=np.intp)
        self.members = [np.arange(first, end) for first, end in itertools.pairwise(self.offsets)]
        self.decided = np.array([np.ptp(group.columns, axis=1) > 0 for group in queries.groups])
        self.apart = bool((self.decided.sum(axis=0) <= 1).all())
        free = np.repeat(self.decided, [len(group) for group in self.members], axis=0).T
        super().__init__(queries.problem(loss=loss), n, free, gain=n)
        self.e = cp.Variable(len(self.members), nonneg=True, name="e")
        self._biases = cp.Variable(len(self.members), nonneg=True)
        self.objective_words = self._words()

    def _words(self) -> str:
        if self.power == 1:
            return "max_u ||Q'(u) - f(u)||_1 + ||c||_1, the worst expected l1 error of the averages (DX program 13)"
        return "max_u ||Q'(u) - f(u)||_2^2 + 2 ||c||_2^2, the worst expected squared error of the averages (DX program 13)"

    @property
    def is_convex(self) -> bool:
        return bool((self.decided[:, self.heard].sum(axis=1) <= 1).all())

    @property
    def variables(self) -> dict[str, Any]:
        return {**super().variables, "e": self.e}

    @property
    def named(self) -> Named:
        return {**super().named, "e": (self.e, tuple(", ".join(group.domain.attributes) for group in self.queries.groups))}

    @property
    def in_units(self) -> Mapping[Any, Any]:
        return {**super().in_units, self.e: self._size * self._biases}

    @property
    def _size(self) -> float:
        """About the largest bias of an entry."""
        return float(self.lengths.max() / self.records)

    @property
    def definitions(self) -> tuple[Any, ...]:
        """e is at least the bias of every value of its group."""
        return tuple(part <= self.e[g] / self._size for g in range(len(self.members)) for part in self._bias_of(g))

    def _bias_of(self, group: int) -> tuple[Any, ...]:
        """What e bounds, for every value of a group, in units of `_size`."""
        free = np.flatnonzero(self.free[:, self.members[group]].any(axis=1))
        off = self.off[:, self.members[group]] / self._size
        if len(free) == 1:  # linear, so that multipliers prove a bound where an answer has no bias
            return off[free[0]], -off[free[0]]
        return (cp.norm(off, 1 if self.power == 1 else 2, axis=0),)

    @cached_property
    def loss(self) -> Any:
        """The worst expected error of the averages over n records."""
        return self._loss_of(self.e, self.c, 1.0)

    def loss_in_units(self, scaled: Mapping[Any, Any]) -> Any:
        return self._loss_of(self._biases, scaled[self.c], self._size)

    def _loss_of(self, biases: Any, scales: Any, size: float) -> Any:
        """The loss at biases in units of `size`, (groups,), and scales, (K,)."""
        if self.power == 1:
            return size * cp.sum(biases) + cp.sum(scales)
        bias = cp.sum_squares(biases) if self.apart else cp.square(cp.sum(biases))
        return size**2 * bias + 2 * cp.sum_squares(scales)

    def reach(self, loss: float) -> tuple[Floats, Floats]:
        most = np.full(len(self.query), loss if self.power == 1 else np.sqrt(loss))
        return most, most if self.power == 1 else most / np.sqrt(2)

    def least_linear(self, slopes: Mapping[str, Floats]) -> float | None:
        others = super().least_linear(slopes)
        if others is None:
            return None
        apart, _ = self.reach(2 * float(self.loss.value))
        return others + float(np.minimum(slopes["e"], 0.0).sum()) * float(apart[0])

    @property
    def factors(self) -> Floats:
        return np.ones(len(self.query))

    @property
    def rows_loss(self) -> RowsLoss:
        """Of one group's values, or, where groups decide different statistics, of the sum of groups."""
        if self.power == 1:
            return WORST_ABSOLUTES
        return GroupedSquares(self.offsets, self.decided.argmax(axis=0)[self.heard]) if self.apart else WORST_SQUARES

    def set_values(self, rows: Floats, noise: Floats) -> None:
        super().set_values(rows, noise)
        off = np.linalg.norm(rows - self.query, 1 if self.power == 1 else 2, axis=0)
        self.e.save_value(np.array([off[members].max() for members in self.members]))

    def frozen(self) -> AdditiveMechanism:
        """The mechanism for n times the averages; `queries.release` divides by n."""
        family = "separable" if self._is_program_14() else "laplace_joint"
        return frozen_fit(self.question, *self.repaired(), self.records, family)

    def achieved(self, mechanism: AdditiveMechanism) -> tuple[float, float]:
        scales = mechanism.scales / self.records
        bias = worst_row_bias(self.queries, mechanism, self.power) ** self.power
        value = bias + (float(scales.sum()) if self.power == 1 else 2 * float(scales @ scales))
        return value, value * (self.query.size + 16) * 2.0**-50

    def _is_program_14(self) -> bool:
        try:
            statistic_of_each_group(self.queries)
        except DesignFailed:
            return False
        return self.power == 1

    def take(self, mechanism: AdditiveMechanism) -> None:
        self.set_values(mechanism.effective, np.sqrt(mechanism.query_variances() / 2))

    def _provenance(self, made: Design[AdditiveMechanism], solved: Solved, options: Mapping[str, Any]) -> dict[str, Any]:
        """With the loss of the averages, bias included, in the place of that of n times the averages."""
        return {**super()._provenance(made, solved, options), "repaired_loss": float(self.loss.value)}
