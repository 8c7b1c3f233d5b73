"""Key columns: texts, whole numbers, booleans or dates that tell groups apart, or prefixes of nested codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from designer.base.arrays import Immutable
from designer.base.checks import count
from designer.base.errors import InvalidProblem
from designer.base.schema import COUNT, Named, or_null, record, text
from designer.relations.rows.texts import label_column, octets, require_keys
from designer.tables.policies.values import entry, label


@dataclass(frozen=True)
class Key(Immutable):
    """A key column as text, cut to its first `prefix` characters where codes are nested (NAICS 11, 111, 1111).

    column: of the table; prefix: how many characters, None for all. Raises `InvalidProblem` for neither a name nor a
    positive length.

    >>> Key("naics", 2).label({"naics": "1119"})
    '11'
    """

    column: str
    prefix: int | None = None
    schema = Named("column", record({"column": text(), "prefix": or_null(COUNT)}))

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidProblem(f"key: {self.column!r} is not the name of a column.", value=self.column)
        if self.prefix is not None:
            count(self.prefix, "prefix")

    @property
    def name(self) -> str:
        """The column, with the length of its prefix."""
        return self.column if self.prefix is None else f"{self.column}[:{self.prefix}]"

    def label(self, record: Mapping[str, Any]) -> str | None:
        """The label of a public or hypothetical record; None where it is missing or shorter than the prefix."""
        text = label(entry(record, self.column), self.column)
        return text if text is None or self.prefix is None else self._cut(text)

    def _cut(self, text: str) -> str | None:
        return text[: self.prefix] if len(text) >= (self.prefix or 0) else None

    def expression(self, table: Any) -> Any:
        """The column of an Ibis table to group by: texts as their bytes, so that no collation merges them;
        labels are its texts."""
        column = self.plain(table)
        return octets(column) if column.type().is_string() else column

    def plain(self, table: Any) -> Any:
        """The column whose texts are the labels, as it is; texts are not to be compared but by their bytes."""
        if self.column not in table.columns:
            raise InvalidProblem(f"records: the table has no column {self.column!r}; rename one.")
        require_keys(table, [self.column])
        column = label_column(table[self.column])
        if self.prefix is None:
            return column
        text = column.cast("string")
        return (text.length() >= self.prefix).ifelse(text.left(self.prefix), None)

    def octets(self, table: Any) -> Any:
        """The labels of an Ibis table as bytes, whatever the type of the column."""
        column = self.expression(table)
        return column if column.type().is_binary() else octets(column.cast("string"))
