#!/usr/bin/env bash
# A condition on a column of floats keeps NaN out in memory, and lets it in from a Parquet file.
#
# Guess before running: DuckDB orders NaN above every number, so `x BETWEEN 0 AND 10` is false of it wherever the column lies, and the
# sum of 1 and NaN under that condition is 1.
# Seen: from memory 1; from a Parquet file that pyarrow wrote, NaN. The statistics of the file leave NaN out (least and largest are
# both 1), and the planner takes the condition for true of every row. A sum or a mean that bounds its values by a comparison is NaN;
# `isnan` asked first, in a CASE, keeps it out in both.
# This program asks for NaN first, before any comparison.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==1.5.6 pyarrow==26.0.0 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - "$folder/values.parquet" <<'PYTHON'
import math
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

file = sys.argv[1]
values = pa.table({"x": pa.array([1.0, math.nan])})
pq.write_table(values, file)
least, largest = (getattr(pq.read_metadata(file).row_group(0).column(0).statistics, end) for end in ("min", "max"))
bounded = "SELECT sum(CASE WHEN x BETWEEN 0 AND 10 THEN x ELSE 0 END) FROM {}"
guarded = "SELECT sum(CASE WHEN isnan(x) THEN 0 WHEN x BETWEEN 0 AND 10 THEN x ELSE 0 END) FROM {}"
seen = {
    (words, place): duckdb.sql(query.format(source)).fetchone()[0]
    for words, query in (("bounded", bounded), ("guarded", guarded))
    for place, source in (("memory", "values"), ("file", f"'{file}'"))
}
print(f"duckdb {duckdb.__version__}, pyarrow {pa.__version__}; statistics of the file: {least} to {largest}")
for (words, place), value in seen.items():
    print(f"{words}, {place}: {value}")
assert (least, largest) == (1.0, 1.0)
assert seen["bounded", "memory"] == 1.0 and math.isnan(seen["bounded", "file"]), "the behaviour has changed"
assert seen["guarded", "memory"] == seen["guarded", "file"] == 1.0, "the behaviour has changed"
print("as stated")
PYTHON
