"""Releases of the test of an odds ratio as files: a noisy count on a grid, and the p-values that follow from it.

What releases cost together: tradeoff functions multiply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from designer.base.errors import InvalidSpec
from designer.base.schema import SIGNED_RATIONAL, either, list_of, number, one_of, or_null
from designer.certified.release_form import RESTORE, ReleaseForm, ReleaseKeys, told
from designer.mechanisms.composition import Composition, Protected
from designer.mechanisms.odds_ratio.mechanism import OddsRatioRelease, OddsRatioTest
from designer.problem.histogram import Universe
from designer.promises.costs import Cost, cost_of_tradeoff
from designer.relations.invariants.invariant import margins
from designer.relations.invariants.one_budget import InvariantChanges

LIMIT = either(number(least=0), one_of("inf"))
P_VALUE = number(least=0, most=1)


class OddsRatioForm(ReleaseForm[OddsRatioTest, OddsRatioRelease]):
    """The noisy count with its standard error where the law has one in closed form, p-values and limits."""

    schema: ClassVar[ReleaseKeys] = {
        "statistic": SIGNED_RATIONAL,
        "standard_error": or_null(number(least=0)),
        "p_greater": P_VALUE,
        "p_less": P_VALUE,
        "interval_95": list_of(LIMIT, least=2, most=2),
    }
    checked = (
        "The statistic is a multiple of its step that the noise can reach from some table with the public margins.",
        "The p-values and the limits are those that follow from it.",
    )

    def content(self, mechanism: OddsRatioTest, released: OddsRatioRelease) -> dict[str, Any]:
        stated = released.to_dict()
        own = {key: stated[key] for key in ("statistic", "p_greater", "p_less", "interval_95")}
        return {**own, "standard_error": mechanism.law.standard_deviation()}

    def published(self, mechanism: OddsRatioTest, released: OddsRatioRelease) -> list[dict[str, Any]]:
        margins = mechanism.margins
        return [told("row sums", list(margins.rows)), told("column sums", list(margins.columns))]

    def rebuilt(self, mechanism: OddsRatioTest, content: Mapping[str, Any]) -> OddsRatioRelease:
        given = content["statistic"]
        if not isinstance(given, str) or not re.fullmatch("-?[0-9]{1,40}(/[1-9][0-9]{0,39})?", given):
            raise InvalidSpec(f"statistic: is not a fraction; {RESTORE}")
        steps = Fraction(given) * 2**mechanism.exponent
        if steps.denominator != 1:
            raise InvalidSpec(f"statistic: is no multiple of 2^-{mechanism.exponent}, as every release is; {RESTORE}")
        least, most = mechanism.margins.support[0], mechanism.margins.support[-1]
        above, below = float(Fraction(given) - least) + 2.0**-mechanism.exponent, float(most - Fraction(given))
        if not (mechanism.law.cdf(above) > 0 and mechanism.law.cdf(below) > 0):
            raise InvalidSpec(f"statistic: is farther from every possible count than the noise reaches; {RESTORE}")
        return mechanism._release_of(int(steps))


class OddsRatioComposition(Composition[OddsRatioTest]):
    """The stated tradeoff function for any protected change: one budget, whose number says nothing. Cells go row by row."""

    def protected(self, made: OddsRatioTest) -> Protected:
        return InvariantChanges(margins((2, 2)), made.adjacency, 1.0)

    def counted(self, made: OddsRatioTest) -> Universe:
        return Universe.of_size(4)

    def of_budget(self, made: OddsRatioTest, budget: Fraction) -> Cost:
        return cost_of_tradeoff(made.tradeoff)
