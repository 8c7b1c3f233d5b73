#!/usr/bin/env bash
# A decimal of more than 38 digits in a Parquet file is mostly another number when DuckDB reads it.
#
# Guess before running: DuckDB holds decimals of at most 38 digits, so it refuses a Parquet column of DECIMAL(50, 2), or gives 1.00
# as the float 1.0.
# Seen: the column is DOUBLE, and its 1.00 is 16777216.0 (2^24); of 39 digits it is 2^56, of 45 digits 2^40, of 60 digits 2^48; of 57
# digits and of 76 it is 1.0. Such a decimal has 17 bytes or more, and comes out as if zeros filled them up to a multiple of eight.
# Sums and groups follow, without an error or a warning. PyArrow reads 1.00 from all of them. Who must read such a file with DuckDB
# casts to 38 digits when writing it.
# This program refuses such a column of a Parquet file by its schema.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==1.5.6 pyarrow==26.0.0 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

seen = {}
for digits in (38, 39, 45, 50, 57, 60, 76):
    file = f"{sys.argv[1]}/{digits}.parquet"
    kind = pa.decimal128(digits, 2) if digits <= 38 else pa.decimal256(digits, 2)
    pq.write_table(pa.table({"x": pa.array([Decimal("1.00")], kind)}), file)
    assert pq.read_table(file)["x"].to_pylist() == [Decimal("1.00")]
    value, kind = duckdb.sql(f"SELECT x, typeof(x) FROM '{file}'").fetchone()
    seen[digits] = float(value)
    print(f"DECIMAL({digits}, 2): 1.00 is {value} ({kind})")
print(f"duckdb {duckdb.__version__}, pyarrow {pa.__version__}")
zeros = {38: 0, 39: 7, 45: 5, 50: 3, 57: 0, 60: 6, 76: 0}  # bytes
assert seen == {digits: 256.0**filled for digits, filled in zeros.items()}, "the behaviour has changed"
print("as stated")
PYTHON
