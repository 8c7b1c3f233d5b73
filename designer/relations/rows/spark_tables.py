"""What a name on Spark stands for, and what to do with a data frame of Spark."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from designer.base.errors import InvalidProblem

STORED = ("MANAGED", "EXTERNAL")
# The analysed plan of a view of Parquet files and nothing more.
PARQUET = re.compile(r"SubqueryAlias [^\n]*\n\+- View \([^\n]*\n   \+- Relation \[[^\n]*\] parquet\s*")
A_VIEW = (
    "a view on Spark of more than Parquet files, or of files that Spark guesses how to read; save it as a table "
    '(con.create_table("records", view)) and pass that'
)
TWICE = "a view on Spark that reads a Parquet file twice, or partitions by the names of folders; name each file once"
FRAME = (
    'records: is a data frame of Spark; pass a table of Ibis. Save it, frame.write.saveAsTable("records"), and pass '
    'ibis.pyspark.connect(session).table("records").'
)


def is_of_spark(table: object) -> bool:
    """Is it of a type of Spark?"""
    return type(table).__module__.partition(".")[0] == "pyspark"


def refuse_spark_frame(table: Any) -> None:
    """`InvalidProblem` with the way on where a data frame of Spark stands for records; no other type is looked at."""
    if is_of_spark(table):
        raise InvalidProblem(FRAME)


def not_stored_by_spark(node: Any) -> str | None:
    """Why the rows of a named table of Spark need not be records that are each stored by itself; None where they are.

    Accepted are tables of a catalogue, and views of Parquet files that are each read once.
    """
    session, space = node.source._session, node.namespace
    name = ".".join(f"`{part}`" for part in (space.catalog, space.database, node.name) if part)
    if session.catalog.getTable(name).tableType in STORED:
        return None
    plan = getattr(getattr(session.table(name), "_jdf", None), "queryExecution", lambda: None)()
    if plan is None or not PARQUET.fullmatch(plan.analyzed().toString()):
        return A_VIEW
    index = plan.analyzed().collectLeaves().head().relation().location()
    roots = [index.rootPaths().apply(place).toString() for place in range(index.rootPaths().size())]
    return TWICE if index.partitionSchema().size() or _overlap(roots) or _linked(list(index.inputFiles())) else None


def _overlap(roots: list[str]) -> bool:
    """Is a path named twice, or within another?"""
    ends = sorted(root.rstrip("/") + "/" for root in roots)
    return any(later.startswith(earlier) for earlier, later in pairwise(ends))


def _linked(files: list[str]) -> bool:
    """Are two files of this machine one, by links?"""
    paths = [unquote(urlsplit(file).path) for file in files if urlsplit(file).scheme == "file"]
    known = [(found.st_dev, found.st_ino) for found in map(os.stat, filter(os.path.exists, paths))]
    return len(set(known)) < len(known)
