"""A family under the notion of a problem: its own, or (b, delta) for every change, one by one.

Under (b, delta) a family builds for its own notion, with the lengths in the place of the budgets that (b, delta) allows its
noise. What it hands back is frozen again with the delta: continuous Gaussian noise, rounded to the grid, in the place of
discrete Gaussian noise. docs/theory/approximate.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from designer.base.errors import DesignFailed
from designer.certified.guarantee import Optimality
from designer.certified.sensitivity import SensitivitySet
from designer.families.family import Family
from designer.mechanisms.additive.interface import Falloff, Mechanism
from designer.mechanisms.additive.mechanism import AdditiveMechanism, with_lengths
from designer.problem.relation import Relation
from designer.relations.problem import Problem

# The fall-off that families of a notion have, and that of their noise under a delta.
FALLOFFS: dict[str, tuple[Falloff, Falloff]] = {
    "pure": ("exponential", "exponential"),
    "zcdp": ("gaussian", "rounded_gaussian"),
}


def under_the_notion(family: Family, problem: Problem, options: Mapping[str, Any]) -> Mechanism:
    """The family's mechanism for a problem of its own notion, or of "approximate"."""
    if problem.notion != "approximate":
        return family.build(problem, **options)
    own, falloff = FALLOFFS[family.notion]
    relation = with_lengths(problem.relation, falloff, problem.delta)
    made = family.build(replace(problem, relation=relation, notion=family.notion, delta=None), **options)
    if not isinstance(made, AdditiveMechanism) or made.falloff != own:
        raise DesignFailed(
            f"family: no delta is proven for the noise of {family.name!r}, which has no {own} fall-off on a grid; use a family "
            "such as 'gaussian' or 'laplace'."
        )
    frozen = replace(made, relation=problem.relation, falloff=falloff, delta=problem.delta, optimality=None)
    return frozen.annotated(made.provenance, _claim(problem, frozen, made.optimality, relation))


def _claim(problem: Problem, made: AdditiveMechanism, claim: Optimality | None, relation: Relation) -> Optimality | None:
    """The claim at the noise that is drawn, of which the rounding is part.

    The program saw lengths that may be too short by a relative error, so no design has a loss below its bound for lengths
    that much longer. On whole numbers losses fall faster than by their power, by at most the weight of one step that a
    coordinate could have alone.
    """
    if claim is None:
        return None
    error = relation.budget_error
    value = problem.loss_of(made.query_variances()) if made.falloff == "rounded_gaussian" else claim.value
    power = 1.0 if problem.loss == "absolute" else 2.0
    if made.falloff == "exponential" and made.norm.order == "l1":
        power += _weight_of_a_step(made, relation) * (1 + 2 * error)
    return replace(claim, value=value, lower_bound=claim.lower_bound / (1 + 2 * error) ** power)


def _weight_of_a_step(made: AdditiveMechanism, relation: Relation) -> float:
    """The largest weight of one step that a coordinate could have alone, or a bound: some change moves it by a step."""
    if made.unwritten:
        return relation.largest_budget()
    alone = SensitivitySet.of(made.grid.values(made.integers), relation).worst_coordinates()[made.noise.heard]
    return float((made.grid.steps[made.noise.heard] / alone).max(initial=0.0))
