#!/usr/bin/env bash
# The average of decimals has no more digits than they have: in PyArrow the mean, in DuckDB the median; and a PyArrow sum turns negative.
#
# Guess before running: 1 and 2 as DECIMAL(9, 0) have the mean 1.5 in PyArrow, as a float or with more digits, and the median 1.5 in
# DuckDB, as the same whole numbers have; a sum of three decimals 9e37, more than 38 digits hold, is an error.
# Seen: PyArrow's mean is 2 (DuckDB's is 1.5), and that of 0.1 and 0.2 as DECIMAL(2, 1) is 0.2. DuckDB's median is 1 (PyArrow's
# quantile is 1.5), that of the integers 1 and 2 is 1.5. So the type in which a file keeps whole amounts moves an average by up to a half.
# PyArrow's sum is -70282366920938463463374607431768211456, without an error, in a group as well.
# This program adds up whole units of a public step in every engine, in parts that fit, and divides what it released itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==1.5.6 pyarrow==26.0.0 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

whole = pa.array([Decimal(1), Decimal(2)], pa.decimal128(9, 0))
tenths = pa.array([Decimal("0.1"), Decimal("0.2")], pa.decimal128(2, 1))
means = [str(pc.mean(column).as_py()) for column in (whole, tenths)]
amounts = pa.table({"x": whole})
by_duckdb = duckdb.sql("SELECT avg(x), median(x), median(x::INTEGER) FROM amounts").fetchall()[0]
quantile = pc.quantile(whole, 0.5)[0].as_py()
print("PyArrow, means:", means, "and quantile:", quantile, "| DuckDB, mean, median, median of integers:", by_duckdb)
large = pa.array([Decimal(9 * 10**37)] * 3, pa.decimal128(38, 0))
sums = [pc.sum(large).as_py(), pa.table({"g": [1, 1, 1], "x": large}).group_by("g").aggregate([("x", "sum")])["x_sum"][0].as_py()]
print("sums of three times 9e37:", *sums)
print("duckdb", duckdb.__version__, "pyarrow", pa.__version__)
assert means == ["2", "0.2"] and quantile == 1.5, "the behaviour has changed"
assert by_duckdb == (1.5, Decimal(1), 1.5), "the behaviour has changed"
assert all(found == Decimal(-70282366920938463463374607431768211456) for found in sums), "the behaviour has changed"
print("as stated")
PYTHON
