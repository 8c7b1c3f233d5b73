"""What is asked of other packages: ranges with both ends, and an engine whose own calls work."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOUNDED = (
    "numpy",
    "scipy",
    "python-flint",
    "cvxpy",
    "clarabel",
    "networkx",
    "threadpoolctl",
    "narwhals",
    "ibis-framework",
    "duckdb",
    "pandas",
    "pyarrow",
    "pyspark",
)


def ranges() -> dict[str, str]:
    """What is asked of each package, by its name without extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(entry for extra in project["optional-dependencies"].values() for entry in extra)]
    return {match[1]: match[2] for entry in asked if (match := re.fullmatch(r"([a-z-]+)(?:\[.*?\])?([<>].*)", entry))}


@pytest.mark.parametrize("name", BOUNDED)
def test_a_dependency_has_a_least_and_a_first_untried_version(name: str) -> None:
    assert re.fullmatch(r">=[0-9.]+,<[0-9.]+", ranges()[name])


def test_the_engine_answers_the_calls_of_ibis_itself() -> None:
    ibis = pytest.importorskip("ibis")
    least, first_untried = re.findall("[0-9]+", ranges()["duckdb"])[0], int(ranges()["duckdb"].rpartition("<")[2])
    if not int(least) <= int(version("duckdb").split(".")[0]) < first_untried:
        pytest.skip(f"DuckDB {version('duckdb')} is beyond the range that was tried")
    engine = ibis.duckdb.connect()
    table = engine.create_table("t", schema={"a": "int64"})
    assert engine.list_tables() == ["t"] and engine.sql("SELECT 3 AS x").execute().x.tolist() == [3]
    assert table.to_pyarrow().num_rows == 0 == sum(batch.num_rows for batch in table.to_pyarrow_batches())
