#!/usr/bin/env bash
# A decimal below 1 has no zero before its point when DuckDB writes it and its column has no digit to spare for one.
#
# Guess before running: 0.5 of any DECIMAL(p, s) is the text 0.5, followed by zeros up to s digits, in casts, CSV and JSON, as in
# PyArrow, polars and PostgreSQL; the JSON that DuckDB writes is JSON, and DuckDB reads it.
# Seen: where p = s it is .5, so that the same share is another label in DECIMAL(1, 1) than in DECIMAL(2, 1), in CSV as in a cast to
# text. COPY to JSON writes y = .500000000000000000 for DECIMAL(18, 18), without an error or a warning, which neither Python nor
# DuckDB itself reads. to_json and COPY write 0.5 for a DECIMAL(2, 2): decimals of at most 15 digits become doubles in JSON.
# Who makes labels or JSON of decimals with DuckDB casts to DECIMAL(s + 1, s) first.
# This program takes decimals as keys by their value, so that both are one label.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==1.5.6 pyarrow==26.0.0 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import json
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa


def text(kind: str) -> str:
    return duckdb.sql(f"SELECT '0.5'::{kind}::VARCHAR").fetchone()[0]


kinds = ("DECIMAL(1, 1)", "DECIMAL(2, 1)", "DECIMAL(2, 2)", "DECIMAL(3, 2)")
texts = {kind: text(kind) for kind in kinds}
peer = pa.array([Decimal("0.5")], pa.decimal128(1, 1)).cast(pa.string())[0].as_py()
print("as text:", texts, "| PyArrow of (1, 1):", peer)

wide, safe, table = "'0.5'::DECIMAL(18, 18)", "'0.5'::DECIMAL(19, 18)", Path(sys.argv[1], "table")
duckdb.sql(f"COPY (SELECT '0.5'::DECIMAL(2, 2) AS x, '0.5'::DECIMAL(3, 2) AS z) TO '{table}.csv'")
duckdb.sql(f"COPY (SELECT '0.5'::DECIMAL(2, 2) AS x, {wide} AS y) TO '{table}.json'")
row, lines = Path(f"{table}.csv").read_text().split()[1], Path(f"{table}.json").read_text().strip()
print("CSV:", row, "| JSON:", lines)


def refused(read, error: type[Exception]) -> bool:
    try:
        read()
    except error as failure:
        print(f"{error.__name__}: {failure}")
        return True
    return False


by_python = refused(lambda: json.loads(lines), json.JSONDecodeError)
by_duckdb = refused(lambda: duckdb.sql(f"SELECT * FROM read_json('{table}.json')").fetchall(), duckdb.Error)
valid = duckdb.sql(f"SELECT json_valid(to_json({wide})::VARCHAR), json_valid(to_json({safe})::VARCHAR)").fetchone()
print("valid JSON of 18 and of 19 digits:", valid)
print(f"duckdb {duckdb.__version__}, pyarrow {pa.__version__}")
assert (list(texts.values()), peer) == ([".5", "0.5", ".50", "0.50"], "0.5"), "the behaviour has changed"
assert (row, lines) == (".50,0.50", '{"x":0.5,"y":.500000000000000000}'), "the behaviour has changed"
assert by_python and by_duckdb and valid == (False, True), "the behaviour has changed"
print("as stated")
PYTHON
