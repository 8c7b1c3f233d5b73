"""Reports as files: how often each came.

What several reports cost together: budgets add.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from designer.base.errors import InvalidSpec
from designer.base.schema import noted
from designer.certified.release_form import RESTORE, ReleaseForm, ReleaseKeys, named_whole_numbers
from designer.mechanisms.channel.mechanism import Channel
from designer.mechanisms.channel.release import Reports
from designer.mechanisms.composition import Composition, Protected
from designer.problem.histogram import Universe
from designer.promises.costs import Cost


class ReportsForm(ReleaseForm[Channel, Reports]):
    """How often each report came, by name."""

    schema: ClassVar[ReleaseKeys] = {
        "reports": noted(
            "How often each report came.", {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
        )
    }
    checked = ("Every report is one that the channel makes, and is counted.",)

    def content(self, mechanism: Channel, released: Reports) -> dict[str, Any]:
        return {"reports": released.to_dict()["reports"]}

    def rebuilt(self, mechanism: Channel, content: Mapping[str, Any]) -> Reports:
        counted = named_whole_numbers(content["reports"], list(map(str, mechanism.reports)), "reports")
        if not all(0 <= times < 2**53 for times in counted):
            raise InvalidSpec(f"reports: hold what is no count; {RESTORE}")
        return mechanism._release_of(counted)

    def unchecked(self, mechanism: Channel) -> tuple[str, ...]:
        return ("That each person reported once.",)


class ChannelComposition(Composition[Channel]):
    """Pure."""

    def protected(self, made: Channel) -> Protected:
        return made.relation

    def counted(self, made: Channel) -> Universe:
        return made.universe

    def of_budget(self, made: Channel, budget: Fraction) -> Cost:
        return Cost.pure(budget)
