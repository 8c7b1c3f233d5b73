"""Texts on an engine as their bytes: collations, which call different texts equal, have no say in groups,
conditions and distinct counts.

Under a collation 'a' and 'A' may be one group, which carries the label of whichever record the engine met first: a record of 1
then moves the whole group from one label to another. Bytes are compared as they are on every engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from designer.errors import InvalidProblem

# How each engine turns a text into its UTF-8, by its own documentation: a cast to binary,
# or a function with constant arguments after the text.
CASTS = ("pyspark", "databricks", "bigquery")
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "duckdb": ("encode",),
    "postgres": ("convert_to", "UTF8"),
    "snowflake": ("to_binary", "UTF-8"),
    "trino": ("to_utf8",),
}


def octets(column: Any) -> Any:
    """The UTF-8 of a text column of an Ibis table; InvalidProblem on engines of which it
    is not known how to compare texts byte by byte."""
    return _octets(column, engine_of(column))


def _octets(text: Any, engine: str) -> Any:
    if engine in CASTS:
        return text.cast("binary")
    if engine not in FUNCTIONS:
        known = ", ".join(sorted((*CASTS, *FUNCTIONS)))
        raise InvalidProblem(
            f"records: it is not known how {engine} compares texts byte by byte; move the table to one of {known}."
        )
    name, *constants = FUNCTIONS[engine]
    return _function(name, len(constants))(text, *constants)


def engine_of(column: Any) -> str:
    """The name of the engine that an Ibis column lives on."""
    from ibis.common.exceptions import IbisError

    try:
        return str(column.get_backend().name)
    except IbisError:
        pass
    raise InvalidProblem("records: the table lives on no engine, or on several; connect to one and pass a table of it.")


def octets_of(text: str, column: Any) -> Any:
    """The UTF-8 of a constant on the engine of a column, to compare octets with; by the same function, because engines write
    constant bytes in different ways."""
    import ibis

    return _octets(ibis.literal(text, "string"), engine_of(column))


def is_among(column: Any, texts: Iterable[str]) -> Any:
    """Which texts of a column are, byte for byte, among some constants; missing where the text is."""
    return octets(column).isin([octets_of(text, column) for text in texts])


def text_of(octets: Any) -> str | None:
    """A text back from an engine, where it came as bytes; bytes that are no UTF-8 are escaped."""
    return octets.decode(errors="backslashreplace") if isinstance(octets, (bytes, bytearray)) else octets


@cache
def _function(name: str, constants: int) -> Any:
    """A function of the engine, from a text and constant texts to bytes."""
    import ibis

    def of_one(text: Any) -> Any:
        """Only the names of the arguments are read."""

    def of_two(text: Any, encoding: Any) -> Any:
        """Only the names of the arguments are read."""

    signature = (("string",) * (1 + constants), "binary")
    return ibis.udf.scalar.builtin(of_two if constants else of_one, name=name, signature=signature)
