"""Names that files chose, fit for a page: every character seen, and of very long ones the beginning with their length."""

from __future__ import annotations

from collections.abc import Sequence

from designer.base.printing import printed

LONGEST = 80  # characters of a name in a table or a sentence
LONGEST_TEXT = 6_000  # of a sentence that lists names


def named(name: object, longest: int = LONGEST) -> str:
    """A name within a sentence or a cell.

    >>> named("north"), named("a" * 100, 5)
    ('north', 'aaaaa... (100 characters)')
    """
    text = printed(name)
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text):,} characters)"


def verbatim_of(text: str, where: str, longest: int = LONGEST_TEXT) -> str:
    """A sentence of a guarantee as it stands; of one that lists very many names the beginning, and `where` the rest is."""
    text = printed(text)
    if len(text) <= longest:
        return text
    return f"{text[:longest]} ... [the first {longest:,} of {len(text):,} characters; the whole stands in the spec, {where}]"


def some(names: Sequence[object], most: int = 6) -> str:
    """Some of several names, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    listed = ", ".join(map(named, names[:most]))
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"
