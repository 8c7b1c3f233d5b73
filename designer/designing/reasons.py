"""Why families have no mechanism, each reason once."""

from __future__ import annotations

from collections.abc import Iterable

NOTHING_MADE = "no mechanism: "


def said_once(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """The reasons, each behind the families that have it; most refusals name their family themselves.

    >>> said_once([("laplace", "laplace: too large"), ("box", "no mechanism: too large"), ("even", "left out")])
    ['laplace, box: too large', 'even: left out']
    """
    by_reason: dict[str, list[str]] = {}
    for family, reason in reasons:
        bare = reason.removeprefix(NOTHING_MADE).removeprefix(f"{family.split(',')[0]}: ")
        by_reason.setdefault(bare, []).append(family)
    return [f"{', '.join(families)}: {reason}" for reason, families in by_reason.items()]
