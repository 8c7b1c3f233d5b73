"""How values show themselves: one line in a terminal, a small table in a notebook; never thousands of numbers.

Whatever a file calls a query, it is escaped here, once. The HTML takes its colours from the page around it, so it reads in
light and in dark, and it loads nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from designer.base.printing import printed

SHOWN_ROWS = 10
LONGEST = 60  # characters of a value in a line
HEAD = 12  # of a fingerprint


@dataclass(frozen=True)
class Preview:
    """The first rows of a table, under its columns, and how many there are."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    total: int


class Displayed(ABC):
    """What shows itself by a few facts and perhaps the first rows of a table.

    Whoever derives from it as a dataclass keeps this `repr`: the decorator leaves a `__repr__` alone that the class has.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def display_facts(self) -> Mapping[str, object]:
        """What to say, by name, in order; what is None is left out. Quick, whatever the size."""

    def display_rows(self) -> Preview | None:
        """The first rows of what it holds; None where that is no table."""
        return None

    def __repr__(self) -> str:
        """One line; never an exception, because debuggers ask objects that are half made."""
        try:
            facts = _told(self.display_facts())
        except Exception:
            return object.__repr__(self)
        return f"<{type(self).__name__}: {', '.join(f'{name} {value}' for name, value in facts.items())}>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return as_html(type(self).__name__, self.display_facts(), self.display_rows())


def as_html(kind: str, facts: Mapping[str, object], preview: Preview | None = None) -> str:
    """A heading, a line for the facts, and a table of the first rows."""
    said = "; ".join(f"{escape(name)} {escape(value)}" for name, value in _told(facts).items())
    heading = f"<p><strong>{escape(kind)}</strong>{': ' if said else ''}{said}</p>"
    return f"<div>{heading}{'' if preview is None else _table(preview)}</div>"


def _table(preview: Preview) -> str:
    head = "".join(f"<th>{escape(printed(name))}</th>" for name in preview.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in preview.rows)
    left = preview.total - len(preview.rows)
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td style="text-align: right">{_text(value)}</td>'
    return f'<td style="text-align: left">{escape(_text(value))}</td>'


def _told(facts: Mapping[str, object]) -> dict[str, str]:
    return {printed(name): _text(value) for name, value in facts.items() if value is not None}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printed(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
