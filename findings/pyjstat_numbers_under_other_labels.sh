#!/usr/bin/env bash
# A table that pyjstat writes has its numbers under other labels, unless its rows come in one certain order.
#
# Guess before running: Dataset.read(frame).write() puts every number at the place of its own categories, as the frame says it by name
# in each row, whatever the order of the rows.
# Seen: categories are numbered as they first appear, and the numbers are written in the order of the rows. Of the rows F 09 = 3, M 01 =
# 4, F 01 = 1, ... the file says that F 01 is 4. Three of six cells are wrong, and both totals by sex; a validator has nothing to
# object, and pyjstat reads the wrong table back. Sorted rows of a full table come out right.
# Who writes with pyjstat sorts by all dimensions, with every cell present.
# This program writes JSON-stat itself, and reads it with pyjstat in its tests alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyjstat==2.4.0 pandas==3.1.1 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

warnings.simplefilter("ignore")
import pandas as pd
from pyjstat import pyjstat

cells = {("F", "09"): 3, ("M", "01"): 4, ("F", "01"): 1, ("M", "09"): 6, ("F", "02"): 2, ("M", "02"): 5}


def found(rows: list) -> dict:
    frame = pd.DataFrame([(*key, number) for key, number in rows], columns=["sex", "age", "value"])
    text = pyjstat.Dataset.read(frame).write()
    back = pyjstat.Dataset.read(text).write("dataframe")
    return {(row.sex, row.age): row.value for row in back.itertuples()}


moved, kept = found(list(cells.items())), found(sorted(cells.items()))
wrong = {key: (number, moved[key]) for key, number in cells.items() if moved[key] != number}
print("written -> read where they differ:", wrong)
print("sorted rows are right:", kept == cells)
assert len(wrong) == 3 and moved["F", "01"] == 4 and kept == cells, "the behaviour has changed"
assert sum(number for key, number in moved.items() if key[0] == "F") != 6, "the behaviour has changed"
print("pyjstat 2.4.0 pandas", pd.__version__)
print("as stated")
PYTHON
