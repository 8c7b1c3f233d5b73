"""A Spark of this machine, for the tests of a module, and a table that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ibis = pytest.importorskip("ibis")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    # One small table: what runs once need not be compiled for speed (61 s with the defaults, 25 s so, on two busy cores).
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield ibis.pyspark.connect(session)
    session.stop()


def as_table(spark: Any, arrow: Any, path: Path) -> Any:
    import pyarrow.parquet as pq

    pq.write_table(arrow, path)
    return spark.read_parquet(str(path))
