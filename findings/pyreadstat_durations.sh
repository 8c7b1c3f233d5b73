#!/usr/bin/env bash
# A duration of more than a day in an SPSS file loses its days.
#
# Guess before running: 40 hours in a variable of format TIME (weekly hours of work, waiting times) come as 40 hours: as seconds, a
# timedelta, or with an error or a warning where a time of day cannot hold them.
# Seen: by pyreadstat and by pandas 16 hours and 40 hours are both the time of day 16:00, and 25 hours and a minute are 01:01. With
# disable_datetime_conversion=True they are seconds, 57600 and 144000.
# This program reads them as seconds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 pyreadstat==1.3.7 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from pathlib import Path

import pandas as pd
import pyreadstat

path = str(Path(sys.argv[1]) / "hours.sav")
seconds = [16 * 3600.0, 40 * 3600.0, 25 * 3600.0 + 60]
pyreadstat.write_sav(pd.DataFrame({"hours": seconds}), path, variable_format={"hours": "TIME8"})
read = {
    "pyreadstat": pyreadstat.read_sav(path)[0]["hours"],
    "pandas": pd.read_spss(path)["hours"],
    "as seconds": pyreadstat.read_sav(path, disable_datetime_conversion=True, output_format="dict")[0]["hours"],
}
for name, column in read.items():
    print(name, [str(value) for value in column])
print("pyreadstat", pyreadstat.__version__, "pandas", pd.__version__)
for name in ("pyreadstat", "pandas"):
    assert [str(value) for value in read[name]] == ["16:00:00", "16:00:00", "01:01:00"], "the behaviour has changed"
assert list(read["as seconds"]) == seconds, "the behaviour has changed"
print("as stated")
PYTHON
