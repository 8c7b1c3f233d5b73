"""Texts on an engine as their bytes: collations, which call different texts equal, have no say in groups,
conditions and distinct counts.

Under a collation 'a' and 'A' may be one group, which carries the label of whichever record the engine met first: a record of 1
then moves the whole group from one label to another. Bytes are compared as they are on every engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.labels import BOOLEANS, EXACT, MOST_DIGITS, Labels

# How each engine turns a text into its UTF-8, by its own documentation: a cast to binary,
# or a function with constant arguments after the text.
CASTS = ("pyspark", "databricks", "bigquery")
ALIAS = "rows_by_bytes"  # of rows within one statement; what a database calls so keeps its name there
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


def by_bytes(rows: Any, names: Sequence[str]) -> Any:
    """Rows of an Ibis table with some text columns that may be grouped by: under the collation of bytes where an engine has one
    that costs nothing (DuckDB, 10^7 rows by a text and a number: 0.14 s, as for the texts themselves; 0.21 s by their octets),
    as octets elsewhere."""
    if not names:
        return rows
    if engine_of(rows) != "duckdb" or not _is_stored(rows):
        return rows.mutate(**{name: octets(rows[name]) for name in names})
    collated = ", ".join(f'CAST("{name}" AS VARCHAR) COLLATE "C" AS "{name}"' for name in names)
    return rows.alias(ALIAS).sql(f"SELECT * REPLACE ({collated}) FROM {ALIAS}", dialect="duckdb")


def _is_stored(rows: Any) -> bool:
    """Are all rows those of tables and files of an engine, which reads SQL about them?"""
    import ibis.expr.operations as ops

    return not rows.op().find(ops.InMemoryTable) and bool(rows.op().find(ops.DatabaseTable))


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


DIGITS = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"  # as `number_in_file` reads them
DECIMALS = r"^-?(0|[1-9][0-9]*)\.[0-9]+$"
DAY_AT_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(\.0+)?$"
MISSING_NUMBER = r"^[ \t]*([+-]?[nN][aA][nN])?[ \t]*$"
TRIES = (*CASTS, "duckdb", "snowflake", "trino")  # engines with casts that give NULL where they fail


def label_column(column: Any) -> Any:
    """A column whose texts are the labels of its values (`designer.base.labels`), missing where a value is no label: of floats
    the whole numbers below 2^53 in size, of decimals their digits without zeros at the end, of moments the days they begin."""
    kind = column.type()
    if kind.is_floating():
        floats = column.cast("float64")
        small = ~floats.isnan() & (floats.abs() < float(EXACT))
        whole = small.ifelse(floats, None)
        whole = whole.try_cast("int64") if engine_of(column) in TRIES else whole.floor().cast("int64")
        return (small & (whole.cast("float64") == floats)).ifelse(whole, None)
    if kind.is_decimal():
        text = column.cast("string")
        if kind.precision == kind.scale:  # DuckDB writes .5 of a DECIMAL(1, 1)
            text = text.re_replace(r"^\.", "0.").re_replace(r"^-\.", "-0.")
        return _without_zeros(text)
    if kind.is_timestamp() and kind.timezone is None:
        return (column == column.truncate("D")).ifelse(column.date(), None)
    return column


def require_keys(table: Any, names: Iterable[str]) -> None:
    """Refuse columns of an Ibis table whose type, which is public, has no labels: bytes may be numbers of a type that a file
    cannot hold (128-bit whole numbers of polars in Parquet), and a moment of a time zone is the day that a session says."""
    for name in names:
        kind = table[name].type()
        moment = kind.is_timestamp() and kind.timezone is None
        if not (kind.is_string() or kind.is_numeric() or kind.is_boolean() or kind.is_date() or moment):
            raise InvalidProblem(
                f"records: column {name!r} is of type {kind}; keys are texts, whole numbers, booleans or dates. Convert it."
            )


def listed_column(column: Any, listed: Labels) -> Any:
    """The label of each value of a column among some that are all numbers, booleans or days, as `Labels.name` says; missing, or
    another text, where it is none of them. A column whose texts are the labels is left as it is."""
    import ibis

    kind, text, known = column.type(), label_column(column), listed.spellings()
    if kind.is_floating():
        cases = [(column.cast("float64") == value, label) for value, label in listed.floats().items()]
        text = ibis.cases(*cases, else_=text.cast("string")) if cases else text
    if kind.is_string():
        text = is_among(text, listed.texts).ifelse(text, _plainly(text))
    if listed.kind == "boolean":
        known |= {spelled: listed.name(value) for spelled, value in BOOLEANS.items() if spelled not in listed.texts}
        known |= {} if kind.is_boolean() else {"1": listed.name(1), "0": listed.name(0)}
    if kind.is_boolean():
        text = ibis.cases((column, "true"), (~column, "false"), else_=None)
    if not known or not (kind.is_string() or kind.is_numeric() or kind.is_boolean() or kind.is_date() or kind.is_timestamp()):
        return text
    text = text.cast("string")
    cases = [(is_among(text, [spelled]), label) for spelled, label in known.items() if label is not None]
    return ibis.cases(*cases, else_=text) if cases else text


def _plainly(text: Any) -> Any:
    """Texts that spell a number without zeros at the end of its decimals, those that spell midnight as the day."""
    plain = _without_zeros(text.re_search(DAY_AT_MIDNIGHT).ifelse(text.left(10), text))
    return (text.length() <= MOST_DIGITS).ifelse(plain.re_replace("^-0$", "0"), text)


def _without_zeros(text: Any) -> Any:
    """Numbers without zeros at the end of their decimals. Nothing is replaced by a part of its pattern: Ibis has Spark write 1
    for \\1."""
    return text.re_search(DECIMALS).ifelse(text.re_replace("0+$", "").re_replace(r"\.$", ""), text)


def distinct_column(column: Any) -> Any:
    """A column of which equal values are one label, whatever the collation: floats from 2^53 on are none."""
    if column.type().is_string():
        return octets(column)
    if not column.type().is_floating():
        return column
    floats = column.cast("float64")
    label = ~floats.isnan() & (floats.abs() < float(EXACT))
    return label.ifelse((floats == 0).ifelse(0.0, floats), None)


def number_column(column: Any) -> Any:
    """A column of numbers; of texts the numbers that they spell, missing where one spells none."""
    if not column.type().is_string():
        return column
    text = column.re_search(DIGITS).ifelse(column.strip().re_replace(r"^\+", ""), None)
    return text.try_cast("float64") if engine_of(column) in TRIES else text.cast("float64")


def unreadable(column: Any) -> Any:
    """Which texts of a column of numbers spell none, blank ones and NaN apart, which are missing."""
    return ~column.re_search(MISSING_NUMBER) & number_column(column).isnull()


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
