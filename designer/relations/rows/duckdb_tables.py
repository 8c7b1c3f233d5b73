"""What a name on DuckDB stands for: a stored table, a view of files whose records are read each by itself, or anything else.

A name is accepted for what the engine plans to do for it, and never for what it is not: behind the text of a view may be a
macro, behind a name a file, behind an array that was registered a query.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

IDENTIFIER = r'(?:"(?:[^"]|"")*"|[^\s".()]+)'
VIEW = re.compile(rf"CREATE (?:TEMP |TEMPORARY )?VIEW {IDENTIFIER}(?:\.{IDENTIFIER})* AS (?P<query>SELECT .*?);?\s*\Z", re.S)
QUOTED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'")
STORED, VIEWED = ["PROJECTION", "SEQ_SCAN"], ["PROJECTION", "PROJECTION"]

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

A_VIEW = "which is a view, or an array that was registered; pass the table, the data frame or the files behind it"
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
TWICE = "a view that reads a file twice, under one name or several; name each file once"
SCHEMAS = "a view of Parquet files of different schemas, of which one decides how the others are read; give all of them one"
DECIMALS = (
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
    if steps == STORED:
        texts = _texts(engine, "SELECT table_name, sql FROM duckdb_tables()", name)
        return COMPUTED if any("GENERATED ALWAYS" in QUOTED.sub("", text).upper() for text in texts) else None
    views = _texts(engine, "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal", name)
    if not views:
        return A_VIEW
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
        return A_VIEW
    reader, arguments = call["function_name"].lower(), call["children"]
    if _shadowed(engine, {reader, "glob", "list_value", "struct_pack"}):
        return SHADOWED
    paths = _plain(arguments[0]) if arguments else None
    paths = [paths] if isinstance(paths, str) else paths
    options = _options(arguments[1:])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths) or options is None:
        return A_VIEW
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
        return TWICE
    if options.get("hive_partitioning") is not False and any("=" in os.path.dirname(file) for file in files):
        return FOLDER_TYPES
    if reader in PARQUET and has_long_decimals(engine, files):
        return DECIMALS
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
