"""Key columns: texts, whole numbers, booleans or dates that tell groups apart, or prefixes of nested codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from designer.errors import InvalidProblem
from designer.frozen import Immutable, count


@dataclass(frozen=True)
class Key(Immutable):
    """A key column as text, cut to its first `prefix` characters where codes are nested (NAICS 11, 111, 1111)."""

    column: str
    prefix: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidProblem(f"key: {self.column!r} is not the name of a column.")
        if self.prefix is not None:
            count(self.prefix, "prefix")

    @property
    def name(self) -> str:
        """The column, with the length of its prefix."""
        return self.column if self.prefix is None else f"{self.column}[:{self.prefix}]"

    def label(self, record: Mapping[str, Any]) -> str | None:
        """The label of a public or hypothetical record; None where it is missing, shorter than the prefix, or not a key."""
        value = record.get(self.column)
        if value is None or isinstance(value, float):
            return None
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text if self.prefix is None else self._cut(text)

    def _cut(self, text: str) -> str | None:
        return text[: self.prefix] if len(text) >= (self.prefix or 0) else None

    def expression(self, table: Any) -> Any:
        """The column, or its prefix, of an Ibis table; labels are its texts."""
        if self.column not in table.columns:
            raise InvalidProblem(f"records: the table has no column {self.column!r}; rename one.")
        column, kind = table[self.column], table[self.column].type()
        if not (kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date()):
            raise InvalidProblem(
                f"records: column {self.column!r} is of type {kind}; keys are texts, whole numbers, booleans or dates."
            )
        if self.prefix is None:
            return column
        text = column.cast("string")
        return (text.length() >= self.prefix).ifelse(text.left(self.prefix), None)
