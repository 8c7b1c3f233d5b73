"""The whole page, put together from what each section says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.base.times import utc_text
from designer.base.version import VERSION
from designer.certified.frozen import Specified
from designer.designing.caution_lines import cautions
from designer.files.kinds import kind_of
from designer.reports import sections
from designer.reports.content import BoardPage, PageSection, Picture
from designer.reports.contributor import Contributor
from designer.reports.evidence import Evidence
from designer.reports.names import named
from designer.reports.pictures.kinds import drawings_of
from designer.reports.standing import by_oneself, deep_section, verification
from designer.reports.summary import headlines


def contributor_of(made: Specified) -> Contributor[Any]:
    """What speaks for the format of an object; `InvalidProblem` for one that no spec can hold."""
    kind = kind_of(made)
    if kind is None:
        raise InvalidProblem(
            f"mechanism: {made.format!r} is no format of specs, so there is no page for it.", value=made.format
        )
    contributor: Contributor[Any] = kind.part("page")()
    return contributor


def board_page(evidence: Evidence) -> BoardPage:
    """What is said of an object, and of its release and its ledger where they were looked at.

    The same evidence gives the same page, but for the time.
    """
    made, time = evidence.made, utc_text(evidence.time)
    contributor = contributor_of(made)
    announce("report: writing the page")
    told, accurate = contributor.published(made), contributor.accuracy(made)
    title = named(made.about.title, 200) if made.about.title else told.answer
    parts = [
        sections.published(made, told),
        sections.hidden(evidence.guarantee),
        sections.budgets(evidence, contributor),
        sections.unprotected(evidence, contributor),
        sections.accuracies(accurate),
        *([sections.answers(evidence.release)] if evidence.release else []),
        *_pictures(evidence),
        *sections.spending(evidence),
        sections.comparison(evidence),
        sections.certificate(made, contributor),
        sections.proof(made, contributor),
        verification(evidence, time, contributor),
        *deep_section(evidence),
        by_oneself(evidence),
        sections.full_statement(evidence.guarantee),
    ]
    return BoardPage(
        title=title,
        subtitle=f"Mechanism {made.fingerprint[:12]}, for a disclosure review",
        time=time,
        software=f"dp-designer {VERSION}",
        fingerprint=made.fingerprint,
        headlines=headlines(evidence, contributor, told, accurate, time),
        sections=tuple(parts),
        warnings=tuple(named(line, 600) for line in cautions(made)),
    )


def _pictures(evidence: Evidence) -> Iterator[PageSection]:
    """What there is to be seen, where drawings can be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    released = None if evidence.release is None else evidence.release.released
    try:
        drawn = tuple(Picture(d.name, d.title, d.alt, d.svg()) for d in drawings_of(evidence.made, released))
    except (DesignFailed, InvalidProblem):
        return  # what has no number has no picture; its sections say why
    if drawn:
        yield PageSection("pictures", "Pictures", drawn)
