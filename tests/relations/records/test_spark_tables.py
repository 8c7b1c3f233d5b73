"""What a name on Spark stands for, decided without Spark: stand-ins answer with plans and paths as Spark 4.3 prints them.

`tests/tables/test_tables_on_spark.py` asks Spark itself.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from designer.relations.records.engines import SPARK_TWICE, SPARK_VIEW, _linked, _overlap, not_stored_by_spark

VIEW = "SubqueryAlias v\n+- View (`v`, [a#0L])\n   +- "
FILES = VIEW + "Relation [a#0L] parquet\n"


def named(
    kind: str,
    plan: str = FILES,
    roots: tuple[str, ...] = (),
    partitions: int = 0,
    files: tuple[str, ...] = (),
    saved: str | None = None,
) -> Any:
    """A node of Ibis whose name stands for such a plan."""
    paths = SimpleNamespace(size=lambda: len(roots), apply=lambda place: SimpleNamespace(toString=lambda: roots[place]))
    index = SimpleNamespace(
        rootPaths=lambda: paths,
        partitionSchema=lambda: SimpleNamespace(size=lambda: partitions),
        inputFiles=lambda: list(files),
    )
    kind_of = SimpleNamespace(isDefined=lambda: saved is not None, get=lambda: SimpleNamespace(tableType=lambda: named_kind))
    named_kind = SimpleNamespace(name=lambda: saved)
    unread = SimpleNamespace(toString=lambda: "of files that are not there")
    relation = SimpleNamespace(location=lambda: index, fileFormat=lambda: unread)
    leaf = SimpleNamespace(relation=lambda: relation, catalogTable=lambda: kind_of)
    analysed = SimpleNamespace(toString=lambda: plan, collectLeaves=lambda: SimpleNamespace(head=lambda: leaf))
    frame = SimpleNamespace(_jdf=SimpleNamespace(queryExecution=lambda: SimpleNamespace(analyzed=lambda: analysed)))
    asked: list[str] = []
    session = SimpleNamespace(
        catalog=SimpleNamespace(getTable=lambda name: asked.append(name) or SimpleNamespace(tableType=kind)),
        table=lambda name: asked.append(name) or frame,
        asked=asked,
    )
    space = SimpleNamespace(catalog="c", database="d")
    return SimpleNamespace(source=SimpleNamespace(_session=session), namespace=space, name="v")


def test_tables_of_a_catalogue_are_taken_and_views_by_their_plan() -> None:
    assert all(not_stored_by_spark(named(kind, "no plan is looked at")) is None for kind in ("MANAGED", "EXTERNAL"))
    assert not_stored_by_spark(named("TEMPORARY", roots=("file:/r.parquet",))) is None
    for other in (
        VIEW + "GlobalLimit 5\n      +- LocalLimit 5\n         +- Relation [a#2L] parquet\n",
        VIEW + "Relation [a#20] csv\n",
        VIEW + "Filter (rand(1) < 2)\n      +- Relation [a#2L] parquet\n",
        FILES + "Relation [a#0L] parquet\n",
    ):
        assert not_stored_by_spark(named("TEMPORARY", other, ("file:/r.parquet",))) == SPARK_VIEW
    asked = named("MANAGED")
    not_stored_by_spark(asked)
    assert set(asked.source._session.asked) == {"`c`.`d`.`v`"}


SAVED = "SubqueryAlias spark_catalog.default.kept\n      +- Relation spark_catalog.default.kept[a#14L,b#15] csv\n"


def test_columns_of_a_saved_table_are_taken_and_what_is_computed_is_not() -> None:
    """Selected and renamed, each once; as Spark 4.3 prints the plans of such data frames."""
    for plan in (
        SAVED,
        "Project [b#15, a#14L AS z#21L]\n      +- " + SAVED,
        "Project [a#14L]\n      +- Project [a#14L, b#15]\n   +- " + SAVED,
    ):
        assert not_stored_by_spark(named("TEMPORARY", VIEW + plan, saved="MANAGED")) is None, plan
        assert not_stored_by_spark(named("TEMPORARY", VIEW + plan, saved="VIEW")) == SPARK_VIEW
        assert not_stored_by_spark(named("TEMPORARY", VIEW + plan)) == SPARK_VIEW
    for plan in (
        "Project [a#14L, a#14L AS z#21L]\n      +- " + SAVED,
        "Project [(a#14L + b#15L) AS z#21L]\n      +- " + SAVED,
        "Project [rand() AS a#21]\n      +- " + SAVED,
        "Filter (a#14L > 1)\n      +- " + SAVED,
        "Sample 0.0, 0.5, false, 1\n      +- " + SAVED,
        SAVED + SAVED,
    ):
        assert not_stored_by_spark(named("TEMPORARY", VIEW + plan, saved="MANAGED")) == SPARK_VIEW, plan


def test_what_a_session_far_away_does_not_show_is_refused() -> None:
    node = named("TEMPORARY")
    node.source._session.table = lambda name: SimpleNamespace()
    assert not_stored_by_spark(node) == SPARK_VIEW


def test_files_that_are_read_twice_and_folders_that_name_values_are_refused(tmp_path: Path) -> None:
    file = f"file:{tmp_path}/r.parquet"
    (tmp_path / "r.parquet").touch()
    os.link(tmp_path / "r.parquet", tmp_path / "another.parquet")
    once = {"roots": (file,), "files": (file,)}
    assert not_stored_by_spark(named("VIEW", **once)) is None
    assert not_stored_by_spark(named("VIEW", **once, partitions=1)) == SPARK_TWICE
    assert not_stored_by_spark(named("VIEW", roots=(file, file), files=(file,))) == SPARK_TWICE
    linked = (file, f"file:{tmp_path}/another.parquet")
    assert not_stored_by_spark(named("VIEW", roots=linked, files=linked)) == SPARK_TWICE


def test_paths_overlap_where_the_folders_of_one_begin_those_of_another() -> None:
    """Every three of some paths, against their parts compared one by one."""
    paths = [
        "file:/a",
        "file:/a/",
        "file:/a/b",
        "file:/ab",
        "file:/a b",
        "file:/a!",
        "file:/b/a",
        "s3:/a",
        "file:/a/b/c.parquet",
    ]

    def within(one: str, other: str) -> bool:
        first, second = one.rstrip("/").split("/"), other.rstrip("/").split("/")
        return second[: len(first)] == first

    for size in (0, 1, 2, 3):
        for roots in itertools.product(paths, repeat=size):
            pairs = itertools.permutations(roots, 2)
            assert _overlap(list(roots)) == any(within(one, other) for one, other in pairs), roots


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_links_to_one_file_are_one_file(link: Any, tmp_path: Path) -> None:
    (tmp_path / "one file.parquet").touch()
    (tmp_path / "other.parquet").touch()
    link(tmp_path / "one file.parquet", tmp_path / "link.parquet")
    one, other, linked = (f"file://{tmp_path}/{name}.parquet" for name in ("one%20file", "other", "link"))
    assert not _linked([one, other]) and not _linked([other, linked]) and not _linked([])
    assert _linked([one, linked]) and _linked([other, linked, one])
    assert not _linked([one, f"s3://bucket{tmp_path}/link.parquet", f"file://{tmp_path}/gone.parquet"])
