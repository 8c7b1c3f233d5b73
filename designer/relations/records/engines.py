"""Texts on an engine as their bytes: collations, which call different texts equal, have no say in groups,
conditions and distinct counts.

Under a collation 'a' and 'A' may be one group, which carries the label of whichever record the engine met first: a record of 1
then moves the whole group from one label to another. Bytes are compared as they are on every engine.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from designer.base.errors import InvalidProblem
from designer.base.labels import BOOLEANS, EXACT, MOST_DIGITS, Labels
from designer.base.version import installing_with

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


def require_column(table: Any, name: str) -> None:
    """Refuse an Ibis table without a column of that name. Which columns it has is for its holder to say."""
    if name not in table.columns:
        raise InvalidProblem(f"records: the table has no column {name!r}; correct that name, or rename a column.")


def require_table_columns(table: Any, names: Iterable[str]) -> None:
    """Refuse columns of an Ibis table whose type, which is public, has no labels: bytes may be numbers of a type that a file
    cannot hold (128-bit whole numbers of polars in Parquet), and a moment of a time zone is the day that a session says."""
    for name in names:
        require_column(table, name)
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


# What a name on DuckDB stands for: a stored table, a view of files whose records are read each by itself, or anything else.
#
# A name is accepted for what the engine plans to do for it, and never for what it is not: behind the text of a view may be a
# macro, behind a name a file, behind an array that was registered a query.


IDENTIFIER = r'(?:"(?:[^"]|"")*"|[^\s".()]+)'
VIEW = re.compile(rf"CREATE (?:TEMP |TEMPORARY )?VIEW {IDENTIFIER}(?:\.{IDENTIFIER})* AS (?P<query>SELECT .*?);?\s*\Z", re.S)
QUOTED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'")
DUCKDB_STORED, VIEWED = ["PROJECTION", "SEQ_SCAN"], ["PROJECTION", "PROJECTION"]

PARQUET = ("read_parquet", "parquet_scan")
CSV = ("read_csv", "read_csv_auto")
JSON = ("read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto")
FOLDERS = {"hive_partitioning", "hive_types_autocast"}  # columns that the names of folders hold
DIALECT = {"header", "delim", "sep", "quote", "escape", "nullstr", "decimal_separator"}
DATES = {"dateformat", "timestampformat"}
DECLARED = {"auto_detect", "columns"}
# Of each reader the options that leave every record to itself.
OPTIONS = {
    **dict.fromkeys(PARQUET, FOLDERS | {"binary_as_string"}),
    **dict.fromkeys(CSV, FOLDERS | DECLARED | DIALECT | DATES),
    **dict.fromkeys(JSON, FOLDERS | DECLARED | DATES | {"format", "records", "maximum_object_size"}),
}
FORMATS = ("newline_delimited", "nd", "array", "unstructured")
# What of a Parquet file says how its values are read. Whether one may be missing is no part of it.
SCHEMA = "name, type, type_length, num_children, converted_type, scale, precision, CAST(logical_type AS VARCHAR)"

DUCKDB_VIEW = "which is a view, or an array that was registered; pass the table, the data frame or the files behind it"
COMPUTED = "a table with generated columns, which need not depend on their own row alone; leave them out of the table"
GUESSED = {
    CSV: "whose records decide how all others are read; give read_csv auto_detect=False and the types of all columns "
    "(columns={...}), or open the file with designer.tables.open_table",
    JSON: "whose records decide how all others are read; give read_json auto_detect=False, the types of all columns "
    '(columns={...}) and a format, such as "newline_delimited"',
}
UNKNOWN_OPTION = "a view of {reader} with the option {option}, under which a record need not be read by itself; leave it out"
FOLDER_TYPES = (
    "a view of files whose folders name values, of types that all of these decide, and of which NULL is a missing value; give "
    "hive_partitioning=False, or copy the files to a table"
)
NOT_HERE = "a view of files that are not all regular files of this machine, or of none; name files, or copy them to a table"
DUCKDB_TWICE = "a view that reads a file twice, under one name or several; name each file once"
SCHEMAS = "a view of Parquet files of different schemas, of which one decides how the others are read; give all of them one"
DUCKDB_DECIMALS = (
    "a view of Parquet files with decimals of more than 38 digits, of which DuckDB makes other numbers; write them with fewer"
)
SHADOWED = "a view of functions that a macro of yours is named as; drop the macro"


def not_stored(node: Any) -> str | None:
    """Why the rows of a named table of DuckDB need not be records, each stored or read by itself; None where they are.

    Accepted are stored tables without generated columns; Parquet files of one schema; CSV and JSON files whose types are
    declared and whose form is not guessed. Each file is read once, links and globs resolved.
    """
    engine, name = node.source, node.name.casefold()
    steps = _steps(engine, engine.compile(node.to_expr()))
    if steps == DUCKDB_STORED:
        texts = _texts(engine, "SELECT table_name, sql FROM duckdb_tables()", name)
        return COMPUTED if any("GENERATED ALWAYS" in QUOTED.sub("", text).upper() for text in texts) else None
    views = _texts(engine, "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal", name)
    if not views:
        return DUCKDB_VIEW
    return next(filter(None, (_beyond_records(engine, view, steps) for view in views)), None)


def _texts(engine: Any, query: str, name: str) -> list[str]:
    """The statements that made what is called so, in whatever schema."""
    return [sql or "" for found, sql in engine.raw_sql(query).fetchall() if found.casefold() == name]


def _steps(engine: Any, query: str) -> list[str] | None:
    """The names of the steps of the plan of a query from the last to the first; None where one has several before it.

    The plan as it is before it is optimised: a limit that leaves all rows today is none on other data.
    """
    with _plans_shown(engine):
        plans = dict(engine.raw_sql(f"EXPLAIN (FORMAT json) {query}").fetchall())
    names, plan = [], json.loads(plans.get("logical_plan", "[]"))
    while plan:
        if len(plan) > 1:
            return None
        names.append(plan[0]["name"].strip())
        plan = plan[0]["children"]
    return names


@contextmanager
def _plans_shown(engine: Any) -> Iterator[None]:
    """All plans of a query are explained, for as long as this is open."""
    (known,) = engine.raw_sql("SELECT current_setting('explain_output')").fetchone()
    engine.raw_sql("SET explain_output = 'all'")
    try:
        yield
    finally:
        engine.raw_sql(f"SET explain_output = '{known}'")


def _beyond_records(engine: Any, view: str, steps: list[str] | None) -> str | None:
    """Why a view is more than one reader of files that takes each record by itself."""
    call = _reader_of(engine, view)
    if call is None or steps is None or [*VIEWED, call["function_name"].upper()] != steps:
        return DUCKDB_VIEW
    reader, arguments = call["function_name"].lower(), call["children"]
    if _shadowed(engine, {reader, "glob", "list_value", "struct_pack"}):
        return SHADOWED
    paths = _plain(arguments[0]) if arguments else None
    paths = [paths] if isinstance(paths, str) else paths
    options = _options(arguments[1:])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths) or options is None:
        return DUCKDB_VIEW
    unknown = sorted(set(options) - OPTIONS[reader])
    told = UNKNOWN_OPTION.format(reader=reader, option=unknown[0]) if unknown else None
    return _guessing(reader, options) or told or _files_beyond(engine, paths, reader, options)


def _guessing(reader: str, options: Mapping[str, Any]) -> str | None:
    """Does a reader look at records to find out how they are to be read?"""
    for readers, words in GUESSED.items():
        declared = options.get("auto_detect") is False and isinstance(options.get("columns"), dict)
        if readers is JSON:
            declared = declared and options.get("format") in FORMATS and options.get("records", True) is True
        if reader in readers and not declared:
            return words
    return None


def _files_beyond(engine: Any, paths: Sequence[str], reader: str, options: Mapping[str, Any]) -> str | None:
    """Are files read twice, or do some decide about others?"""
    if any("://" in path for path in paths):
        return NOT_HERE
    files = [file for path in paths for (file,) in engine.con.execute("SELECT file FROM glob(?)", [path]).fetchall()]
    found = []
    with suppress(OSError):
        found = [(known.st_dev, known.st_ino) for known in map(os.stat, files)]
    if not files or len(found) != len(files) or not all(map(os.path.isfile, files)):
        return NOT_HERE
    if len(set(found)) < len(found):
        return DUCKDB_TWICE
    if options.get("hive_partitioning") is not False and any("=" in os.path.dirname(file) for file in files):
        return FOLDER_TYPES
    if reader in PARQUET and has_long_decimals(engine, files):
        return DUCKDB_DECIMALS
    return SCHEMAS if reader in PARQUET and len(_schemas(engine, files)) > 1 else None


def has_long_decimals(engine: Any, files: Sequence[str]) -> bool:
    """Is there a column of decimals of more than 38 digits? DuckDB 1.5.6 reads 1.00 of DECIMAL(50, 2) as 16777216.0."""
    found = engine.con.execute("SELECT count(*) FROM parquet_schema(?) WHERE precision > 38", [list(files)]).fetchone()
    return bool(found[0])


def _schemas(engine: Any, files: Sequence[str]) -> set[Any]:
    """The schemas of Parquet files, columns in order."""
    found: dict[str, list[Any]] = {}
    for file, *column in engine.con.execute(f"SELECT file_name, {SCHEMA} FROM parquet_schema(?)", [list(files)]).fetchall():
        found.setdefault(file, []).append(tuple(column))
    return {tuple(columns[1:]) for columns in found.values()}  # the first is the root, which writers name as they like


def _reader_of(engine: Any, view: str) -> Any:
    """The call of the reader where a view is `SELECT * FROM reader(...)` and nothing more; None otherwise."""
    match = VIEW.match(view)
    if match is None:
        return None
    given, plain = (_parsed(engine, query) for query in (match["query"], "SELECT * FROM reader()"))
    try:
        call, template = (query["statements"][0]["node"]["from_table"].pop("function") for query in (given, plain))
    except (KeyError, IndexError, TypeError):
        return None
    own = {key: value for key, value in call.items() if key not in ("function_name", "children")}
    same = given == plain and own == {key: template.get(key) for key in own}
    return call if same and call["function_name"].lower() in OPTIONS else None


def _parsed(engine: Any, query: str) -> Any:
    """What DuckDB's own parser makes of a query, without the places of its words."""
    (text,) = engine.con.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchone()
    return json.loads(text, object_hook=lambda held: {key: held[key] for key in held if key != "query_location"})


def _shadowed(engine: Any, names: set[str]) -> bool:
    """Does a function of the user's stand before one of these?"""
    own = engine.raw_sql("SELECT function_name FROM duckdb_functions() WHERE NOT internal").fetchall()
    return any(name.lower() in names for (name,) in own)


def _options(arguments: Sequence[Any]) -> dict[str, Any] | None:
    """The named arguments of a call; None where one is no name and constant."""
    found: dict[str, Any] = {}
    for argument in arguments:
        if argument.get("type") != "COMPARE_EQUAL" or argument["left"].get("type") != "COLUMN_REF":
            return None
        name, value = argument["left"]["column_names"], _plain(argument["right"])
        if len(name) != 1 or value is None or name[0].lower() in found:
            return None
        found[name[0].lower()] = value
    return found


def _plain(expression: Mapping[str, Any]) -> Any:
    """What a constant, a list or a struct of constants stands for; None for anything else."""
    kind = expression.get("type")
    if kind == "VALUE_CONSTANT":
        return None if expression["value"]["is_null"] else expression["value"]["value"]
    if kind == "OPERATOR_CAST" and expression["cast_type"]["id"] == "BOOLEAN":
        return {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}.get(
            str(_plain(expression["child"])).lower()
        )
    if kind == "FUNCTION" and expression["function_name"] in ("list_value", "struct_pack"):
        values = [_plain(child) for child in expression["children"]]
        if None in values:
            return None
        names = [child["alias"] for child in expression["children"]]
        return values if expression["function_name"] == "list_value" else dict(zip(names, values, strict=True))
    return None


# What a name on Spark stands for, and data frames of Spark as tables of Ibis.


SPARK_STORED = ("MANAGED", "EXTERNAL")
# The analysed plan of a view of one relation, of which columns are left out or renamed, and nothing is computed but CHAR(3).
PADDED = r"static_invoke\(CharVarcharCodegenUtils\.readSidePadding\(\w+#\d+L?, \d+\)\)"
COLUMN = r"(?:\w+#\d+L?|" + PADDED + r")(?: AS \w+#\d+L?)?"
PLAIN = re.compile(
    r"SubqueryAlias [^\n]*\n"
    rf"(?: *\+- (?:SubqueryAlias [^\n]*|View \([^\n]*|Project \[{COLUMN}(?:, {COLUMN})*\])\n)*"
    r" *\+- Relation [^\n]*\] (\w+)\s*"
)
LOGICAL = re.compile(r"(?:^| )Relation [^\n]*\] parquet\s*\Z")
NAME_OR_MISSING = re.compile(r"\Amessage [^\n]*|\b(?:optional|required) ")
SELECTED = re.compile(r"Project \[([^\n]*)\]\n")
READ = re.compile(r"(?:^|, |readSidePadding\()\w+(#\d+)")
SPARK_VIEW = (
    "a view on Spark, or a data frame, of more than the columns of a saved table or of Parquet files; save it "
    '(frame.write.saveAsTable("records")) and pass session.table("records"), or filter and compute with Ibis'
)
SPARK_TWICE = "a view on Spark that reads a Parquet file twice, or partitions by the names of folders; name each file once"
CUT = (
    "Parquet files on Spark whose columns are not all of the names and types that they are read as: Spark takes those of one "
    "file, or those that were declared, and cuts other values to them without a word; write all files with one schema, and "
    "read them, or declare the table, with that"
)
NO_FRAME = "records: is a {kind} of Spark, not a data frame of it; pass a data frame (to_spark(), toDF())."
NAMES = itertools.count(1)


def is_of_spark(table: object) -> bool:
    return type(table).__module__.partition(".")[0] == "pyspark"


def table_of_spark(frame: Any) -> Any:
    """A data frame of Spark as a table of Ibis on its session, which counts there.

    It is known to the session as a temporary view, for as long as the table is in use. As anywhere with Ibis on Spark, times
    are read in UTC.
    """
    if not hasattr(frame, "createOrReplaceTempView"):
        raise InvalidProblem(NO_FRAME.format(kind=type(frame).__name__), value=type(frame).__name__)
    try:
        import ibis
    except ImportError:
        raise InvalidProblem(f"records: data frames of Spark need Ibis; {installing_with('spark')}.") from None
    session, name = frame.sparkSession, f"dp_designer_records_{next(NAMES)}"
    frame.createOrReplaceTempView(name)
    engine = ibis.pyspark.connect(session)
    weakref.finalize(engine, _forgotten, session, name).atexit = False
    return engine.table(name)


def _forgotten(session: Any, name: str) -> None:
    """Drop a view that nobody uses any more, if its session is still there."""
    with suppress(Exception):
        session.catalog.dropTempView(name)


def not_stored_by_spark(node: Any) -> str | None:
    """Why the rows of a named table of Spark need not be records that are each stored by itself; None where they are.

    Accepted are tables of a catalogue, Parquet files that are each read once, and their columns by these or other names, each
    once: a filter or a computed column that is not seen here would go unnoticed where the number of records is public. Parquet
    files, those of a table of the catalogue among them, all have the columns that they are read as.
    """
    session, space = node.source._session, node.namespace
    name = ".".join(f"`{part}`" for part in (space.catalog, space.database, node.name) if part)
    plan = getattr(getattr(session.table(name), "_jdf", None), "queryExecution", lambda: None)()
    if session.catalog.getTable(name).tableType in SPARK_STORED:
        return None if plan is None else _cut(session, plan.analyzed())
    if plan is None:
        return SPARK_VIEW
    found = PLAIN.fullmatch(plan.analyzed().toString())
    if found is None or _reads_twice(found[0]):
        return SPARK_VIEW
    leaf = plan.analyzed().collectLeaves().head()
    if leaf.catalogTable().isDefined():
        return _cut(session, plan.analyzed()) if leaf.catalogTable().get().tableType().name() in SPARK_STORED else SPARK_VIEW
    if found[1] != "parquet":
        return SPARK_VIEW
    index = leaf.relation().location()
    roots = [index.rootPaths().apply(place).toString() for place in range(index.rootPaths().size())]
    twice = index.partitionSchema().size() or _overlap(roots) or _linked(list(index.inputFiles()))
    return SPARK_TWICE if twice else _cut(session, plan.analyzed())


def _cut(session: Any, plan: Any) -> str | None:
    """Why values of Parquet files may be cut to other types: a file has other columns than another, or than those read.

    Spark 4.3: a 32-bit 40000 is read as the 16-bit -25536, in ANSI mode too, and a column that a file lacks as missing.
    """
    leaf = plan.collectLeaves().head()
    relation = leaf.relation() if LOGICAL.search(plan.toString()) else None
    if relation is None or relation.fileFormat().toString() != "Parquet":
        return None
    jvm, conf = session._jvm, session._jsc.hadoopConfiguration()
    open_, path = jvm.org.apache.parquet.hadoop.ParquetFileReader.open, jvm.org.apache.hadoop.fs.Path
    schemas = {}
    for file in relation.location().inputFiles():
        reader = open_(jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path(jvm.java.net.URI(file)), conf))
        schema = reader.getFileMetaData().getSchema()
        schemas[NAME_OR_MISSING.sub("", schema.toString())] = schema
        reader.close()
    if len(schemas) > 1:
        return CUT
    parquet = jvm.org.apache.spark.sql.execution.datasources.parquet
    convert = parquet.ParquetToSparkSchemaConverter(session._jsparkSession.sessionState().conf()).convert
    held = {field for schema in schemas.values() for field in _fields(convert(schema))}
    return CUT if schemas and not _fields(relation.dataSchema()) <= held else None


def _fields(schema: Any) -> set[tuple[str, str]]:
    """The names and types of the columns of a schema of Spark."""
    columns = [schema.apply(place) for place in range(schema.size())]
    return {(column.name(), column.dataType().simpleString()) for column in columns}


def _reads_twice(plan: str) -> bool:
    """Does a selection of columns name one of them twice?"""
    read = [READ.findall(selected) for selected in SELECTED.findall(plan)]
    return any(len(set(own)) < len(own) for own in read)


def _overlap(roots: list[str]) -> bool:
    """Is a path named twice, or within another?"""
    ends = sorted(root.rstrip("/") + "/" for root in roots)
    return any(later.startswith(earlier) for earlier, later in pairwise(ends))


def _linked(files: list[str]) -> bool:
    """Are two files of this machine one, by links?"""
    paths = [unquote(urlsplit(file).path) for file in files if urlsplit(file).scheme == "file"]
    known = [(found.st_dev, found.st_ino) for found in map(os.stat, filter(os.path.exists, paths))]
    return len(set(known)) < len(known)
