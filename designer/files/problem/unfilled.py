"""Places of a starting file that are still to be filled in: a text that begins with `FILL IN`, wherever it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.printing import printed

MARK = "FILL IN"
LISTED = 12


def require_filled(path: Path, data: Mapping[str, Any]) -> None:
    """Refuse a file in which places are still to be filled in; the message names them."""
    places = list(dict.fromkeys(_unfilled(data, ())))
    if places:
        listed = ", ".join(places[:LISTED]) + (f" and {len(places) - LISTED} more" if len(places) > LISTED else "")
        raise InvalidProblem(
            f'{path}: still to be filled in: {listed}; replace each "{MARK}: .." by what it asks for, or delete it.'
        )


def _unfilled(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """The keys, with their sections, that hold a text with the mark."""
    if isinstance(value, str) and value.startswith(MARK):
        yield unfilled_place(keys)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _unfilled(part, (*keys, name))
    elif isinstance(value, list):
        for part in value:
            yield from _unfilled(part, keys)


def unfilled_place(keys: tuple[str, ...]) -> str:
    """`[section] key`, as TOML writes it where every table is a section.

    >>> unfilled_place(("relation", "budgets", "age of death"))
    '[relation.budgets] "age of death"'
    """
    *sections, own = map(key, keys)
    return printed(f"[{'.'.join(sections)}] {own}" if sections else own)


def key(name: str) -> str:
    """A key as TOML writes it."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
