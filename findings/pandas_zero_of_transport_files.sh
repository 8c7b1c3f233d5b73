#!/usr/bin/env bash
# A zero in a SAS transport file is a positive number to pandas.
#
# Guess before running: 0.0 in an .xpt file of version 5 is 0.0 when pandas.read_sas reads it; ones and halves are exact, too.
# Seen: 0.0 and -0.0 are 5.397605346934028e-79, 1 and 0.5 are right. So no record has an income of 0, "more than 0" holds of all of
# them, and log finds a number. pyreadstat reads 0.0.
# This program reads such files with pyreadstat.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 pyreadstat==1.3.7 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
import pandas as pd
import pyreadstat

path = str(Path(sys.argv[1]) / "income.xpt")
income = [0.0, 1.0, -0.0, 0.5]
pyreadstat.write_xport(pd.DataFrame({"INCOME": income}), path, file_format_version=5)
by_pandas = pd.read_sas(path, format="xport")["INCOME"].tolist()
by_pyreadstat = pyreadstat.read_xport(path, output_format="dict")[0]["INCOME"]
print("pandas:", by_pandas, "| above 0:", sum(x > 0 for x in by_pandas))
print("pyreadstat:", list(by_pyreadstat))
print("pandas", pd.__version__, "pyreadstat", pyreadstat.__version__)
assert by_pandas == [5.397605346934028e-79, 1.0, 5.397605346934028e-79, 0.5], "the behaviour has changed"
assert list(by_pyreadstat) == income, "the behaviour has changed"
print("as stated")
PYTHON
