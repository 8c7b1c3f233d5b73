"""What a name on Spark stands for, and data frames of Spark as tables of Ibis."""

from __future__ import annotations

import itertools
import os
import re
import weakref
from contextlib import suppress
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from designer.base.errors import InvalidProblem
from designer.base.version import installing_with

STORED = ("MANAGED", "EXTERNAL")
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
A_VIEW = (
    "a view on Spark, or a data frame, of more than the columns of a saved table or of Parquet files; save it "
    '(frame.write.saveAsTable("records")) and pass session.table("records"), or filter and compute with Ibis'
)
TWICE = "a view on Spark that reads a Parquet file twice, or partitions by the names of folders; name each file once"
CUT = (
    "Parquet files on Spark whose columns are not all of the names and types that they are read as: Spark takes those of one "
    "file, or those that were declared, and cuts other values to them without a word; write all files with one schema, and "
    "read them, or declare the table, with that"
)
NO_FRAME = "records: is a {kind} of Spark, not a data frame of it; pass a data frame (to_spark(), toDF())."
NAMES = itertools.count(1)


def is_of_spark(table: object) -> bool:
    """Is it of a type of Spark?"""
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
    if session.catalog.getTable(name).tableType in STORED:
        return None if plan is None else _cut(session, plan.analyzed())
    if plan is None:
        return A_VIEW
    found = PLAIN.fullmatch(plan.analyzed().toString())
    if found is None or _reads_twice(found[0]):
        return A_VIEW
    leaf = plan.analyzed().collectLeaves().head()
    if leaf.catalogTable().isDefined():
        return _cut(session, plan.analyzed()) if leaf.catalogTable().get().tableType().name() in STORED else A_VIEW
    if found[1] != "parquet":
        return A_VIEW
    index = leaf.relation().location()
    roots = [index.rootPaths().apply(place).toString() for place in range(index.rootPaths().size())]
    twice = index.partitionSchema().size() or _overlap(roots) or _linked(list(index.inputFiles()))
    return TWICE if twice else _cut(session, plan.analyzed())


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
