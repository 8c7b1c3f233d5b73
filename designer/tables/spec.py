"""Releases of plans over a table as files: noisy whole numbers by query and group, and the values that follow from them.

What releases cost together: policies add up, record by record (docs/theory/composition.md, 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from designer.base.checks import shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.schema import RATIONAL, list_of, noted, number, or_null, record, text, whole
from designer.certificate.agreement import NUMBER, RESTORE, ReleaseForm, ReleaseKeys, whole_numbers
from designer.limits import MOST_MEASURE_STEPS
from designer.mechanism.composition import Composition, Protected, no_rule
from designer.problem.domain import Domain
from designer.problem.histogram import Universe
from designer.tables.answers import Answer, TableRelease
from designer.tables.groups import Groups, Labels
from designer.tables.other_noise import OtherNoise, Quantile
from designer.tables.plan import TablePlan
from designer.tables.policies.policy import Policy
from designer.tables.queries import Aggregated, Average
from designer.tables.scans import answer_of, chosen_answer, ratio_of
from designer.tradeoff.costs import Cost

ERRORS = or_null(list_of(number(least=0), least=0))
ANSWER = record(
    {
        "columns": list_of(text(), least=0),
        "keys": list_of(list_of(text(), least=0), least=0),
        "values": list_of(NUMBER, least=0),
        "variances": ERRORS,
        "standard_errors": ERRORS,
        "integers": or_null(list_of(whole(), least=0)),
        "step": or_null(RATIONAL),
    },
    note="One entry for each key, in order. Values follow from the integers; null where there is no such number.",
)


class TableForm(ReleaseForm[TablePlan, TableRelease]):
    """The answers of every query, a row for each group."""

    schema: ClassVar[ReleaseKeys] = {
        "answers": noted("By the names of the queries.", {"type": "object", "additionalProperties": ANSWER})
    }
    checked = (
        "Every query and every public group of the plan is answered, and no other; groups that were found have as many "
        "labels as the plan has columns, are in order, and are the same in every query of their level.",
        "Every value, variance and standard error is the one that follows from the noisy whole numbers; quantiles are among "
        "the candidates, averages are the quotients of their parts.",
    )

    def content(self, mechanism: TablePlan, released: TableRelease) -> dict[str, Any]:
        stated = released.to_dict()["answers"]
        return {"answers": {name: {**own, "standard_errors": _roots(released[name])} for name, own in stated.items()}}

    def rebuilt(self, mechanism: TablePlan, content: Mapping[str, Any]) -> TableRelease:
        listed = content["answers"]
        names = {part.name for part in mechanism.noisy} | {query.name for query in mechanism.queries}
        if not isinstance(listed, dict) or set(listed) != names or not all(isinstance(a, dict) for a in listed.values()):
            raise InvalidSpec(f"answers: are not those of the {len(names)} queries of the plan; {RESTORE}")
        keys = {part.groups: _keys_of(part, listed[part.name].get("keys")) for part in mechanism.noisy}
        made = {part.name: _numbers(part, keys[part.groups], listed[part.name]) for part in mechanism.noisy}
        for query in mechanism.queries:
            if isinstance(query, Quantile):
                made[query.name] = _quantile(query, listed[query.name].get("values"))
            elif isinstance(query, Average):
                made[query.name] = ratio_of(query, *(made[part.name] for part in query.parts))
        return TableRelease({name: made[name] for name in listed}, mechanism.guarantee, mechanism.fingerprint, law=mechanism)

    def unchecked(self, mechanism: TablePlan) -> tuple[str, ...]:
        errors = (
            "Standard errors of quantiles, of averages and of sums whose noise depends on the sum: none follow from the law."
        )
        sought = "Whether every group that is there was found: the noise decides."
        return (errors, sought) if any(level.selection for level in mechanism.levels) else (errors,)


def _roots(answer: Answer) -> list[float] | None:
    return None if answer.variances is None else np.sqrt(answer.variances).tolist()


def _keys_of(query: Aggregated, given: Any) -> tuple[Labels, ...]:
    """The groups of a query: those of the plan, or some that may have been found."""
    groups: Groups = query.groups
    if groups.keys is not None:
        return groups.keys
    listed = isinstance(given, list) and all(
        isinstance(key, list) and len(key) == len(groups.columns) and all(isinstance(label, str) for label in key)
        for key in given
    )
    keys = tuple(map(tuple, given)) if listed else ()
    if not listed or list(keys) != sorted(set(keys)):
        raise InvalidSpec(
            f"answers.{shown(query.name)}.keys: are no groups in order, each once, of the plan's columns; {RESTORE}"
        )
    return keys


def _numbers(query: Aggregated, keys: tuple[Labels, ...], given: Mapping[str, Any]) -> Answer:
    integers = whole_numbers(given.get("integers"), len(keys), f"answers.{shown(query.name)}.integers")
    return answer_of(query, keys, tuple(integers))


def _quantile(query: Quantile, values: Any) -> Answer:
    place = {float(candidate): k for k, candidate in enumerate(query.candidates)}
    if not isinstance(values, list) or not all(type(value) is float and value in place for value in values):
        raise InvalidSpec(f"answers.{shown(query.name)}.values: are not all among the candidates of the plan; {RESTORE}")
    whole_numbers([place[value] for value in values], len(query.groups.keys or ()), f"answers.{shown(query.name)}.values")
    return chosen_answer(query, [place[value] for value in values])


class PlanComposition(Composition[TablePlan]):
    """What a record loses is a public function of it."""

    by_record = True

    def protected(self, made: TablePlan) -> Protected:
        raise no_rule(made)

    def counted(self, made: TablePlan) -> Domain | Universe:
        raise no_rule(made)

    def of_budget(self, made: TablePlan, budget: Fraction) -> Cost:
        raise no_rule(made)

    def largest(self, made: TablePlan) -> Cost:
        """Policies do not fall with a measure, so that record has the largest of each, and one of the keys that the policy
        knows or another. `InvalidProblem` where a loss is bounded in name only."""
        most = {measure.column: max(map(abs, measure.bounds)) * measure.step for measure in made.measures}
        known = {name: (*values, None) for name, values in made.policy.keys().items()}
        records = [{**most, **dict(zip(known, chosen, strict=True))} for chosen in product(*known.values())]
        cost = max((cost_of_amounts(made, record) for record in records), key=lambda cost: (cost.rho, cost.epsilon))
        _require_bounded(made, cost)
        return cost

    def of_record(self, made: TablePlan, record: Mapping[str, Any]) -> Cost:
        delta = Fraction(made.delta(record))
        if made.pure:
            return Cost(epsilon=made.pure_loss(record), rho=made.loss(record))
        return Cost.concentrated(made.loss(record), delta)


def cost_of_amounts(plan: TablePlan, amounts: Mapping[str, object]) -> Cost:
    """What a public or hypothetical record, as the plan measures it, costs at most: its policies at these amounts."""
    delta = sum((Fraction(s.delta_of(s.bound)) for level in plan.levels if (s := level.selection)), Fraction(0))
    rho = plan.policy.exact(amounts)
    if delta or not plan.pure:
        return Cost.concentrated(rho, min(Fraction(1), delta))
    return Cost(epsilon=sum((policy.exact(amounts) for policy in _pure_policies(plan)), Fraction(0)), rho=rho)


def _pure_policies(plan: TablePlan) -> list[Policy]:
    return [query.pure_policy for query in plan.queries if isinstance(query, OtherNoise) and query.pure_policy is not None]


def _require_bounded(plan: TablePlan, cost: Cost) -> None:
    assert cost.rho is not None
    if cost.rho > 2**20:
        free = [measure.column for measure in plan.measures if measure.upper >= (MOST_MEASURE_STEPS - 1) * measure.step]
        words = f" {', '.join(map(repr, free))} has no bound but that of all numbers;" if free else ""
        raise InvalidProblem(
            f"mechanism: the policy of the plan reaches rho = {float(cost.rho):.3g}, a promise of nothing to some records: "
            f"there is no largest loss to add up;{words} state a smaller `upper` in the measures, or add policies up record by "
            "record (designer.accounts.composed)."
        )
    if cost.delta >= 1:
        raise InvalidProblem(
            "mechanism: records of many split rows make their group appear with probability 1, so the plan has no delta for "
            "all records; give its group selection an `at_most`."
        )
