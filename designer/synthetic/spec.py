"""Releases of synthetic histograms as files: choices and whole measurements, and the histogram that follows from them.

What releases cost together: the shares of the budget that rounds spend, or all of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from designer.base.errors import InvalidSpec
from designer.base.schema import NAMES, PLACE, list_of, number, record, text, whole
from designer.certificate.agreement import BY_NAME, RESTORE, ReleaseForm, ReleaseKeys, as_entry, whole_numbers
from designer.mechanism.composition import CompositionOfCounts
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.release import Round, SyntheticRelease
from designer.synthetic.small_databases import SmallDB
from designer.tradeoff.conversions import rho_of_bounded_range, rho_of_pure
from designer.tradeoff.costs import Cost

HISTOGRAM: ReleaseKeys = {"elements": NAMES, "histogram": list_of(number()), "answers": BY_NAME}
ROUNDS = list_of(
    record(
        {
            "query": text(),
            "measurement": number(),
            "scale": number(least=0),
            "steps": whole(),
            "standard_error": number(least=0),
        }
    ),
    least=0,
)
NO_ERRORS = "How far the answers are off: it depends on the data, so that no standard error follows from the law."


class MultiplicativeForm(ReleaseForm[MWEM, SyntheticRelease]):
    """A synthetic histogram with the transcript it was learnt from; standard errors are those of the measurements."""

    schema: ClassVar[ReleaseKeys] = {**HISTOGRAM, "rounds": ROUNDS}
    checked = (
        "Every round measured a query of the mechanism, in whole steps of the grid, with the noise of its share; a query "
        "without noise is within what counts can give.",
        "The histogram, the answers and the errors are those that follow from the rounds.",
    )

    def content(self, mechanism: MWEM, released: SyntheticRelease) -> dict[str, Any]:
        rounds = zip(released.to_dict()["rounds"], enumerate(released.rounds), strict=True)
        return {
            **_answered(mechanism, released),
            "rounds": [
                {**stated, "steps": done.steps, "standard_error": _error(mechanism, t, done)} for stated, (t, done) in rounds
            ],
        }

    def published(self, mechanism: MWEM, released: SyntheticRelease) -> list[dict[str, Any]]:
        names, step = mechanism.queries.workload.queries, mechanism.queries.step
        silent = (done for done in released.rounds if math.isinf(mechanism.queries.weights[done.query]))
        exact = {names[done.query]: done.steps * step for done in silent}
        return [as_entry("number of records", mechanism.records), *(as_entry(name, value) for name, value in exact.items())]

    def rebuilt(self, mechanism: MWEM, content: Mapping[str, Any]) -> SyntheticRelease:
        listed = content["rounds"]
        place = {name: k for k, name in enumerate(mechanism.queries.workload.queries)}
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise InvalidSpec(f"rounds: are no list of rounds; {RESTORE}")
        if len(listed) != mechanism.rounds or any(entry.get("query") not in place for entry in listed):
            raise InvalidSpec(f"rounds: are not {mechanism.rounds} measurements of queries of the mechanism; {RESTORE}")
        steps = whole_numbers([entry.get("steps") for entry in listed], len(listed), "rounds.steps")
        transcript = [
            mechanism.round_of(t, place[entry["query"]], measured)
            for t, (entry, measured) in enumerate(zip(listed, steps, strict=True))
        ]
        _require_possible(mechanism, transcript)
        return mechanism._release_of(transcript)

    def unchecked(self, mechanism: MWEM) -> tuple[str, ...]:
        return (NO_ERRORS,)


class SmallDatabaseForm(ReleaseForm[SmallDB, SyntheticRelease]):
    """A histogram that was chosen among those of a few records, scaled to all records."""

    schema: ClassVar[ReleaseKeys] = {**HISTOGRAM, "rounds": ROUNDS, "candidate": PLACE}
    checked = ("The histogram is one of the candidates, and its answers follow from it.",)

    def content(self, mechanism: SmallDB, released: SyntheticRelease) -> dict[str, Any]:
        wanted = np.rint(np.ldexp(released.answers * (mechanism.size / mechanism.records), -mechanism.queries.exponent))
        places = np.flatnonzero((mechanism.candidates.answers == wanted).all(axis=1))
        return {**_answered(mechanism, released), "rounds": [], "candidate": int(places[0])}

    def published(self, mechanism: SmallDB, released: SyntheticRelease) -> list[dict[str, Any]]:
        return [as_entry("number of records", mechanism.records)]

    def rebuilt(self, mechanism: SmallDB, content: Mapping[str, Any]) -> SyntheticRelease:
        candidate = content["candidate"]
        if type(candidate) is not int or not 0 <= candidate < len(mechanism.candidates.answers):
            raise InvalidSpec(f"candidate: is none of the {len(mechanism.candidates.answers)} candidates; {RESTORE}")
        return mechanism._release_of(candidate)

    def unchecked(self, mechanism: SmallDB) -> tuple[str, ...]:
        return (NO_ERRORS,)


def _answered(mechanism: MWEM | SmallDB, released: SyntheticRelease) -> dict[str, Any]:
    stated = released.to_dict()
    elements = list(mechanism.queries.workload.elements)
    return {"elements": elements, "histogram": stated["histogram"], "answers": stated["answers"]}


def _error(mechanism: MWEM, t: int, done: Round) -> float:
    """The standard deviation of the noise of a measurement."""
    noise = mechanism.noise_of(t, done.query)
    return 0.0 if noise is None else math.sqrt(float(noise.variance()[0])) * float(mechanism.queries.step)


def _require_possible(mechanism: MWEM, transcript: list[Round]) -> None:
    """A query without noise is a sum of entries of its row, one for each record."""
    for done in transcript:
        row = mechanism.queries.integers[done.query]
        least, most = int(row.min()) * mechanism.records, int(row.max()) * mechanism.records
        if math.isinf(mechanism.queries.weights[done.query]) and not least <= done.steps <= most:
            raise InvalidSpec(f"rounds: a measurement without noise is not what any counts give; {RESTORE}")


class MultiplicativeComposition(CompositionOfCounts[MWEM]):
    """Pure: the shares of all rounds add up, and no more than the budget is spent. The rhos of rounds add up, too."""

    def of_budget(self, made: MWEM, budget: Fraction) -> Cost:
        whole = Cost.pure(budget * min(Fraction(1), sum((a + b for a, b in made.shares), Fraction(0))))
        chosen = rho_of_bounded_range if made.selection == "exponential" else rho_of_pure
        rounds = ((chosen(a * budget) + rho_of_pure(b * budget)) * times for (a, b), times in Counter(made.shares).items())
        return replace(whole, rho=min(rho_of_pure(budget), sum(rounds, Fraction(0))))


class SmallDatabaseComposition(CompositionOfCounts[SmallDB]):
    """Pure, and of bounded range under the exponential law."""

    def of_budget(self, made: SmallDB, budget: Fraction) -> Cost:
        return Cost.of_bounded_range(budget) if made.selection == "exponential" else Cost.pure(budget)
