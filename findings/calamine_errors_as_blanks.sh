#!/usr/bin/env bash
# An error in a workbook is an empty cell to calamine.
#
# Guess before running: a cell with #N/A or #DIV/0! comes as a text with those signs, or as an error of Python, and an empty cell
# otherwise, so that who counts records can tell "not there" from "went wrong".
# Seen: all three are "", the text that an empty cell is, beside numbers, texts and booleans that come as they are. openpyxl gives
# "#N/A" and None. A formula that failed in one record makes it a record without a value.
# This program takes both for missing, for all records alike, and says so before it reads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openpyxl==3.1.5 python-calamine==0.9.1 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

import openpyxl
import python_calamine

path = str(Path(sys.argv[1]) / "cells.xlsx")
book = openpyxl.Workbook()
for row, value in enumerate(["#N/A", None, "#DIV/0!", "text", 1.5, True], 1):
    cell = book.active.cell(row, 1, value)
    if isinstance(value, str) and value.startswith("#"):
        cell.data_type = "e"
    book.active.cell(row, 2, "record")
book.save(path)
read = [row[0] for row in python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()]
told = [cell.value for cell, _ in openpyxl.load_workbook(path).active.iter_rows()]
print("calamine:", read)
print("openpyxl:", told)
print("python-calamine", version("python-calamine"), "openpyxl", openpyxl.__version__)
assert read == ["", "", "", "text", 1.5, True] and told == ["#N/A", None, "#DIV/0!", "text", 1.5, True], "the behaviour has changed"
print("as stated")
PYTHON
