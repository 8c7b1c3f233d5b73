"""Which releases can be made to agree, and by what: nonnegative, perhaps whole, tables with the published margins."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.published import PublishedSums
from designer.base.tabular import Tabular
from designer.certified.agreement import AgreeingTables, Agreement
from designer.certified.frozen import Released, Specified
from designer.files.kinds import KINDS

GIVEN = "Margins that a file gave are taken as public, and the guarantee does not cover what they tell of the records."


@cache
def _agreement(format: str) -> Agreement[Any, Any] | None:
    """How releases of a format are made to agree, imported when it is needed; None where none are."""
    found: type[Agreement[Any, Any]] | None = KINDS[format].part("agreement") if format in KINDS else None
    return None if found is None else found()


def require_agreement(mechanism: Specified, published: PublishedSums | None = None) -> Agreement[Any, Any]:
    """How releases are made to agree; `InvalidProblem` with the reason, before any data are touched, where they never are."""
    agreement = _agreement(mechanism.format)
    if agreement is None:
        raise InvalidProblem(
            f"--consistent: releases of {mechanism.format!r} have no agreeing tables: none are implemented, or there is no "
            "table; leave the option out."
        )
    agreement.require(mechanism, published)
    return agreement


def negative_words(mechanism: Specified, released: Released, *, agreed: bool = False) -> list[str]:
    """A sentence where noise brought answers below 0 that cannot be so without it, and what gives numbers from 0 on; nothing
    elsewhere: a sum of longitudes may rightly be below 0.

    agreed: tables with the column of these numbers were written.
    """
    if not isinstance(released, Tabular):
        return []
    try:
        tables = released.answer_tables()
    except InvalidProblem:  # too many to be written out
        return []
    below = sum(int(mechanism.below_by_noise(table).sum()) for table in tables)
    all_of_them = sum(len(table.answers) for table in tables)
    if not below:
        return []
    said = f"Below 0: {below:,} of {all_of_them:,} answers, where noise makes them so; they are unbiased as they are."
    if agreed:
        return [f"{said} The column consistent has numbers from 0 on, which agree."]
    try:
        require_agreement(mechanism)
    except InvalidProblem:
        return [said]
    return [f"{said} Numbers from 0 on that agree: dp-designer tables SPEC RELEASE -o FOLDER/ --consistent integer."]


def agreeing_tables(
    mechanism: Specified, released: Released, published: PublishedSums | None = None, *, whole: bool = True
) -> AgreeingTables:
    """Nonnegative numbers beside the answers of a release, whole unless said otherwise, that agree with one another and with
    what was published: post-processing of the release and of public numbers alone.

    published: margins that the release does not hold. Raises `InvalidProblem` where none are implemented or no table has the
    margins, `DesignFailed` where the solver gives up.
    """
    agreement = require_agreement(mechanism, published)
    made = agreement.made(mechanism, released, published, whole).compared(released.answer_tables())
    return made if published is None else replace(made, words=f"{made.words} {GIVEN}")
