#!/usr/bin/env bash
# Which records of a Stata file are missing depends on the order of the records, where tags of missing values are asked for.
#
# Guess before running: read with user_missing=True, a tagged missing value (.a) is its tag and a plain one (.) is missing, for every
# order of the rows.
# Seen: with pandas output, plain missing values are 0 in files where a tagged one stands before the first plain one, and missing
# where it stands after. With output_format="dict" a plain missing value is None in both orders. So 0 is counted or not by where
# another record stands.
# This program reads such files into dictionaries, never into data frames.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys

import pandas as pd
import pyreadstat

folder = sys.argv[1]
print(f"pyreadstat {pyreadstat.__version__}, pandas {pd.__version__}")
orders = {"tag first": [1, "a", None, 2, None], "plain first": [1, None, "a", 2, None]}
seen = {}
for name, values in orders.items():
    path = f"{folder}/{name.replace(' ', '_')}.dta"
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    pyreadstat.write_dta(frame, path, missing_user_values={"x": ["a"]})
    table = pyreadstat.read_dta(path, user_missing=True)[0]["x"].tolist()
    plain = pyreadstat.read_dta(path, user_missing=True, output_format="dict")[0]["x"]
    print(f"{name}: pandas {table}; dict {list(plain)}")
    seen[name] = (table, list(plain))
assert seen["tag first"][0] == [1, "a", 0, 2, 0], "the behaviour has changed"
assert [value for value in seen["plain first"][0] if not pd.isna(value)] == [1, "a", 2], "the behaviour has changed"
assert [[value is None for value in plain] for _, plain in seen.values()] == [[False, False, True, False, True], [False, True, False, False, True]]
print("as stated")
PYTHON
