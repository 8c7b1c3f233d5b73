"""Releases of a chosen candidate as files.

What releases cost together: budgets add.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from designer.base.errors import InvalidSpec
from designer.base.schema import PLACE, text
from designer.certified.release_form import RESTORE, ReleaseForm, ReleaseKeys
from designer.mechanisms.choice.mechanism import Choice, Selection
from designer.mechanisms.composition import Composition, Protected
from designer.problem.histogram import Universe
from designer.promises.costs import Cost


class ChoiceForm(ReleaseForm[Selection, Choice]):
    """The name of the candidate and its place among the candidates."""

    schema: ClassVar[ReleaseKeys] = {"choice": text(), "index": PLACE}
    checked = ("The choice is one of the candidates, at its place.",)

    def content(self, mechanism: Selection, released: Choice) -> dict[str, Any]:
        return {"choice": released.choice, "index": released.index}

    def rebuilt(self, mechanism: Selection, content: Mapping[str, Any]) -> Choice:
        index, candidates = content["index"], len(mechanism.score.candidates)
        if type(index) is not int or not 0 <= index < candidates:
            raise InvalidSpec(f"index: is no place among the {candidates} candidates; {RESTORE}")
        return mechanism._release_of(index)

    def unchecked(self, mechanism: Selection) -> tuple[str, ...]:
        return ("How good the choice is: no score leaves, and none has a standard error.",)


class ChoiceComposition(Composition[Selection]):
    """Pure, and of bounded range under the exponential law."""

    def protected(self, made: Selection) -> Protected:
        return made.relation

    def counted(self, made: Selection) -> Universe:
        return made.universe

    def of_budget(self, made: Selection, budget: Fraction) -> Cost:
        return Cost.of_bounded_range(budget) if made.law == "exponential" else Cost.pure(budget)
