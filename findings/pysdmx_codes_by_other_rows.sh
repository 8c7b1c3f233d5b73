#!/usr/bin/env bash
# How pysdmx spells a category's code depends on the codes of other rows.
#
# Guess before running: a dimension of SDMX-CSV is text, so that 02 is "02" whatever else the file holds.
# Seen: read without a structure, 02 is "2" beside 01, "02" beside a letter, and "2.0" beside 1E3, which is "1000.0" itself. So one
# record of another category changes the label of all, codes with leading zeros match no code list, and 01 and 1 become one. The
# column's type is text in all cases. sdmx1 keeps 01 as it stands.
# This program writes SDMX-CSV itself and reads code lists as text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'pysdmx[data]==1.21.0' pandas==3.1.1 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from pysdmx.io import read_sdmx

HEAD = "STRUCTURE,STRUCTURE_ID,ACTION,AGE,TIME_PERIOD,OBS_VALUE\n"


def codes(*ages: str) -> list:
    text = HEAD + "".join(f"dataflow,XX:TAB(1.0),I,{age},2026,7\n" for age in ages)
    (dataset,) = read_sdmx(text, validate=False).get_datasets()
    return list(dataset.data["AGE"])


seen = {ages: codes(*ages) for ages in (("02", "01"), ("02", "Y"), ("02", "1E3"), ("01", "1"))}
for ages, read in seen.items():
    print(ages, "->", read)
print("pysdmx", version("pysdmx"), "pandas", version("pandas"))
wanted = {("02", "01"): ["2", "1"], ("02", "Y"): ["02", "Y"], ("02", "1E3"): ["2.0", "1000.0"], ("01", "1"): ["1", "1"]}
assert seen == wanted, "the behaviour has changed"
print("as stated")
PYTHON
