"""What a registered family hands back, made anew for the problem that was asked.

A mechanism is certified by its constructor, from its own numbers, for its own questions and relation. A family of one's own may
hand back an honest proof of something else, or an object whose numbers, or what was computed from them, were changed later. So
it is constructed once more, by classes of the house alone, from its numbers and the problem's own questions and relation.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from designer.mechanisms.additive.interface import BIASED, Mechanism
from designer.families.approximate import FALLOFFS
from designer.families.family import Family
from designer.relations.problem import Problem
from designer.base.errors import InvalidProblem
from designer.problem.relation import Relation
from designer.base.checks import shown
from designer.base.json_text import canonical

OF_THE_HOUSE = ("designer", "builtins", "numpy", "fractions")  # whose classes may be parts of a mechanism
OF_THE_PROBLEM = ("workload", "relation")


def certified_anew(family: Family, problem: Problem, made: Mechanism) -> Mechanism:
    """The mechanism of a registered family, constructed and certified once more.

    Raises `InvalidProblem` if it does not answer what was asked, protects another relation, keeps another notion or another
    delta, is of a class of one's own, hides nothing although that was not asked for, or is biased although the family does not
    say so; `NotPrivate` if its numbers do not keep the promise.
    """
    _require_classes(family, made)
    asked = made.workload is problem.workload or made.workload == problem.workload
    if not asked or not _same_relation(made.relation, problem.relation):
        other = "protects another relation" if asked else "answers other queries"
        raise InvalidProblem(
            f"family: a mechanism of {family.name!r} {other} than the problem; take problem.workload and problem.relation."
        )
    _require_notion(family, problem, made)
    mine: Any = {"workload": problem.workload, "relation": problem.relation, "allow_vacuous": problem.allow_vacuous}
    anew: Mechanism = replace(made, **mine).described(made.about)  # type: ignore[type-var]
    _require_unbiased(family, anew)
    return anew


def _same_relation(one: Relation, other: Relation) -> bool:
    """Whether both protect the same changes with the same budgets, by their data."""
    return one is other or (type(one) is type(other) and canonical(one.to_spec()) == canonical(other.to_spec()))


def _require_classes(family: Family, made: Any) -> None:
    """Neither it nor a part of it, but the problem's own, is of a class whose methods nobody proved."""
    for part in (made, *(getattr(made, name) for name in _parts(made))):
        if type(part).__module__.partition(".")[0] not in OF_THE_HOUSE:
            raise InvalidProblem(
                f"family: a mechanism of {family.name!r} is or holds a {type(part).__name__}, a class of your own, for which "
                "nothing is proven; use the classes of designer themselves."
            )


def _parts(made: Any) -> list[str]:
    """What it was constructed from, beside what the problem gives."""
    return (
        [field.name for field in fields(made) if field.init and field.name not in OF_THE_PROBLEM] if is_dataclass(made) else []
    )


def _require_notion(family: Family, problem: Problem, made: Mechanism) -> None:
    if made.delta != problem.delta:
        raise InvalidProblem(
            f"family: a mechanism of {family.name!r} has delta {shown(made.delta)}, the problem {shown(problem.delta)}; take "
            "problem.delta."
        )
    if problem.notion != "approximate" and made.falloff != FALLOFFS[problem.notion][0]:
        raise InvalidProblem(
            f"family: {family.name!r} is {family.notion}, and its mechanism has noise of {made.falloff} fall-off; "
            f"build it with {FALLOFFS[problem.notion][0]!r}, or state the other notion."
        )


def _require_unbiased(family: Family, made: Mechanism) -> None:
    errors = made.known_errors()
    if family.biased or made.projected or errors is None:
        return
    off = float(made.rounding().max())
    if off > BIASED * np.max(errors):
        raise InvalidProblem(
            f"family: the answers of {family.name!r} are off by up to {off:.3g} for each record; give it a reconstruction "
            "with reconstruction x measured = the queries, or state Family(..., biased=True)."
        )
