"""Tables of a pure budget that are as accurate as asked, by products of whole-number rows (docs/theory/marginals.md, 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.base.version import VERSION
from designer.domains.marginals_least import BEYOND, CLOSE, CONTINUOUS, AimedPlans, tables_alone, times, weights_of
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.mechanism import Protection
from designer.domains.problem import MarginalProblem
from designer.domains.products import StructuredMechanism
from designer.domains.products_noise import MeasuredProduct, StrategyMatrix
from designer.domains.products_plan import design_structured, least_in_counts, with_whole_numbers, within_budget
from designer.domains.products_release import TOGETHER, margins_of_term
from designer.domains.products_workload import StructuredWorkload
from designer.problem.targets import Target
from designer.relations.metrics.presence import Presence

ADDITIVE = "all additive noise"
WEIGHTED = 8  # rounds of multipliers in which the total of variances is to follow the targets
UNASKED_RATE = 1e-6  # of the least rate of a plan: those of tables without a target, over the number of them


@dataclass(frozen=True, eq=False)
class ProductPlans(AimedPlans[StructuredMechanism]):
    """By products of whole-number rows, in the pure notion: whole-number noise is of another shape at other budgets, so plans
    are designed anew at the factor that was found."""

    rounds: ClassVar[int] = 12
    replanned: ClassVar[int] = 5
    bounded: ClassVar[str] = ADDITIVE

    @property
    def proven(self) -> bool:
        """A margin bounds no variance."""
        return self.problem.loss == "squared" and all(target.kind != "margin" for target in self.asked)

    def designed(self, weights: Floats | None = None) -> StructuredMechanism:
        tables = self.problem.workload
        return _design_of(self.problem, tables if weights is None else replace(tables, weights=weights))

    def near(self, factor: float) -> Iterator[StructuredMechanism]:
        """Plans for the tables with targets: of the least largest ratio of a variance to what is allowed, of the least sum of
        weighted variances, with weights that follow these ratios, and each table for itself. The others are measured with what
        is next to nothing."""
        relation = times(self.problem.relation, factor)
        at, rows = replace(self.problem, relation=relation, loss="squared"), self.problem.workload.subsets.tuples()
        alone, allowed = tables_alone(self.problem.workload, self.asked, 1 / self.allowed), self.allowed
        with suppress(DesignFailed):
            yield self._for_all(relation, _design_of(replace(at, loss="max"), alone))
        best: StructuredMechanism | None = None
        weights = 1 / allowed / self.problem.workload.cells[[target.place for target in self.asked]]
        for _ in range(WEIGHTED):
            with suppress(DesignFailed):
                plan = self._for_all(relation, _design_of(at, replace(alone, weights=weights)))
                ratios = self.ratios(plan)
                if best is None or ratios.max() < self.ratio(best) ** 2 * (1 - CLOSE):
                    best = plan
                if not ratios.min() > 0 or ratios.max() <= ratios.min() * (1 + CLOSE):
                    break
                weights = weights * ratios / ratios.max()
        if best is not None:
            yield best
        each = (2 * np.arcsinh(1 / np.sqrt(2 * allowed))).tolist()
        yield self._of_rates(relation, {rows[t.place]: rate for t, rate in zip(self.asked, each, strict=True)})

    def margins(self, made: StructuredMechanism, place: int) -> Floats:
        return margins_of_term(made, place, BEYOND)

    def stretched(self, plan: StructuredMechanism, factor: float) -> StructuredMechanism:
        relation = times(self.problem.relation, factor)
        made = within_budget(plan.workload, relation, plan.noise, plan.matrices, plan.blocks, plan.serves)
        return made.annotated(dict(plan.provenance))

    def measured(self, made: StructuredMechanism) -> StructuredMechanism:
        return self._for_all(self.problem.relation, made)

    def pairs(
        self, plans: list[StructuredMechanism], near: list[StructuredMechanism]
    ) -> Iterable[tuple[StructuredMechanism, StructuredMechanism]]:
        """Each plan with each that meets the targets."""
        distinct = list({plan.fingerprint: plan for plan in plans}.values())
        return product(distinct, [plan for plan in (*near, *distinct) if self.ratio(plan) <= 1])

    def mixture(self, own: StructuredMechanism, nearest: StructuredMechanism, part: float) -> StructuredMechanism:
        rates = {parts: (1 - part) * rate for parts, rate in _rates(own).items()}
        for parts, rate in _rates(nearest).items():
            rates[parts] = rates.get(parts, 0.0) + part * rate
        return self._of_rates(self.problem.relation, rates)

    def least_possible(self, met: float) -> float:
        """Under presence, from what all cells with targets need together, and those of each table: variances that are a_t at
        most sum up to N at most when they are divided by a_t, N the cells; no additive noise of budget b has less than
        `L / (2 sinh^2(b / 2))` of that sum (docs/theory/structured.md, 4). A margin bounds no variance."""
        errors = [target for target in self.asked if target.kind != "margin"]
        if not isinstance(self.problem.relation, Presence) or not errors:
            return 0.0

        def of(chosen: Sequence[Target]) -> float:
            alone = tables_alone(self.problem.workload, chosen, weights_of(tuple(chosen)))
            needed, _ = least_in_counts(StructuredWorkload.of_marginals(alone))
            return 2 * math.asinh(math.sqrt(needed / (2 * float(alone.cells.sum()))))

        least = max(map(of, [errors, *([target] for target in errors)]))
        return least / self.problem.relation.epsilon * CONTINUOUS

    def _for_all(self, relation: Protection, plan: StructuredMechanism) -> StructuredMechanism:
        """The products of a plan, put together, for the tables as they are asked for, with their own weights."""
        return self._of_rates(relation, _rates(plan))

    def _of_rates(self, relation: Protection, rates: Mapping[tuple[int, ...], float]) -> StructuredMechanism:
        """Cells of tables over these axes, at rates in proportion to these, and a little of the tables that they do not
        answer."""
        workload = StructuredWorkload.of_marginals(self.problem.workload)
        axes = sorted({*workload.used, *(axis for parts in rates for axis in parts)})
        matrices = {axis: (StrategyMatrix(np.eye(workload.domain.shape[axis], dtype=np.int64)),) for axis in axes}
        blocks = [MeasuredProduct(dict.fromkeys(parts, 0), rate) for parts, rate in rates.items()]
        made = within_budget(workload, relation, "laplace", matrices, [*blocks, *_faint(workload, blocks)], TOGETHER)
        family = {"software": f"dp-designer {VERSION}", "family": "Kronecker strategy"}
        return made.annotated({**family, "loss": self.problem.loss})


def _rates(plan: StructuredMechanism) -> dict[tuple[int, ...], float]:
    """The rate of each block, by its axes."""
    return {tuple(block.parts): block.strength for block in plan.blocks}


def _design_of(problem: MarginalProblem, tables: MarginalWorkload) -> StructuredMechanism:
    """The design without targets of these tables."""
    asked = StructuredWorkload.of_marginals(tables)
    if problem.loss == "squared":
        return design_structured(asked, problem.relation, "laplace")
    return with_whole_numbers(asked, problem.relation, "laplace", None, problem.loss)


def _faint(workload: StructuredWorkload, blocks: Sequence[MeasuredProduct]) -> list[MeasuredProduct]:
    """Blocks of the tables that none of these answers, at rates that are next to nothing beside them."""
    axes = [set(block.parts) for block in blocks]
    least = UNASKED_RATE * min(block.strength for block in blocks)
    return [
        MeasuredProduct(dict.fromkeys(term, 0), least) for term in workload.terms if not any(set(term) <= own for own in axes)
    ]
