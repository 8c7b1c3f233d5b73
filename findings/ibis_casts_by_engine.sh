#!/usr/bin/env bash
# One Ibis expression puts a record into another group on another engine: casts, remainders and roundings differ.
#
# Guess before running: x.cast("int64") cuts off the fraction as Python's int() does, wherever it runs; x.round() and % are one function.
# Seen: the cast of 15.7 is 16 by DuckDB, and 15 by Polars and by SQLite; 2.5 and 3.5 become 2 and 4, and 2 and 3. round of 2.5 is 3 by
# DuckDB and SQLite, and 2 by Polars. The remainder of -2 by 5 is -2 by DuckDB and SQLite, and 3 by Polars. x // 1 is the floor in all.
# So an age of 15.7 years counts in the group from 16 on or below it by where the table lies.
# This program floors before it casts, takes no remainders, and tests every engine against the same records.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'ibis-framework[duckdb,polars,sqlite]==12.0.0' duckdb==1.5.6 polars==2.1.0 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import ibis

VALUES = [2.5, 3.5, 15.7, -2.0]
seen = {}
for name in ("duckdb", "polars", "sqlite"):
    table = getattr(ibis, name).connect().create_table("t", ibis.memtable({"x": VALUES}))
    whole = table.x.cast("int64")
    asked = table.mutate(cast=whole, rounded=table.x.round().cast("float64"), rest=whole % 5, floor=(table.x // 1).cast("float64"))
    seen[name] = {column: asked[column].execute().tolist() for column in ("cast", "rounded", "rest", "floor")}
    print(name, seen[name])
print("ibis", ibis.__version__)
assert [seen[name]["cast"][:3] for name in seen] == [[2, 4, 16], [2, 3, 15], [2, 3, 15]], "the behaviour has changed"
assert [seen[name]["rounded"][0] for name in seen] == [3, 2, 3], "the behaviour has changed"
assert [seen[name]["rest"][3] for name in seen] == [-2, 3, -2], "the behaviour has changed"
assert all(seen[name]["floor"] == [2, 3, 15, -2] for name in seen), "the behaviour has changed"
print("as stated")
PYTHON
