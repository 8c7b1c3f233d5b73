"""Values as engines hold and write them, and the labels that one finds for them."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from designer.base.labels import Labels
from designer.relations.records.engines import listed_column

LISTED = [
    *(["1", "2"], ["0.5", "1", "2.25"], ["1.0", "0.50", "1e-05", "0.00002"], ["-1.5", "0"], [str(10**22)]),
    *(["true", "false"], ["True", "False"], ["2020-01-02", "2020-01-03"]),
]
WRITTEN = [
    *(
        "1",
        "1.0",
        "01",
        "1.00",
        "1.0\n",
        "10",
        "100.0",
        "0.5",
        "0.50",
        "2.250",
        "-1.5",
        "-1.50",
        "-0",
        "-0.0",
        "0",
        "",
        None,
        "é",
    ),
    *("1e-05", "0.00001", "0.0000100", "1e-5", "2e-05", "0.00002", "1e0", "1e+22", str(10**22), "1." + 400 * "0"),
    *(
        "true",
        "True",
        "TRUE",
        "tRUE",
        "false",
        "2020-01-02",
        "2020-01-02 00:00:00",
        "2020-01-02T00:00:00.000",
        "2020-01-02 01:00:00",
    ),
]
HELD = [
    pa.array(WRITTEN),
    pa.array([0, 1, 2, -1, None]),
    pa.array([0.5, 1.0, 2.25, 1e-5, 2e-5, -0.0, -1.5, None, math.nan, math.inf, 2.0**60, 1e22, 0.3]),
    pa.array([0.5, 1.0, np.float32(0.1)], pa.float32()),
    pa.array([Decimal("1.00"), Decimal("0.50"), Decimal("-1.50"), Decimal("0.00"), None]),
    pa.array([Decimal("0.00001"), Decimal("0.00002")]),  # of which DuckDB writes no digit before the point
    pa.array([True, False, None]),
    pa.array([datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, 1), None]),
    pa.array([datetime.date(2020, 1, 2), None]),
]


def misread(table: Any, values: Any) -> list[Any]:
    """Lists of labels among which an engine finds others for its column k than `Labels` does for each of its values."""
    read = {f"l{place}": listed_column(table.k, Labels(own)).cast("string") for place, own in enumerate(LISTED)}
    found = zip(LISTED, table.select(**read).to_pyarrow().columns, strict=True)
    told = [(own, [text if text in own else None for text in column.to_pylist()]) for own, column in found]
    return [(own, texts) for own, texts in told if texts != Labels(own).names(values.to_pylist())]
