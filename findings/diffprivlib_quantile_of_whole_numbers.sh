#!/usr/bin/env bash
# A private quantile of diffprivlib is anywhere between two values where many records share one.
#
# Guess before running: with 2,000 records at epsilon 1 the median of whole numbers lies within 1 of the true one, closer where more
# records have just that value: ages of children (0 to 3, median 2) give 2, and 1,999 records of 30 beside one of 31 give 30.
# Seen: the exponential mechanism draws a gap between neighbouring records, and then a point of it; what lies between equal records
# has length 0 and is never drawn. Medians of those ages are uniform between 1 and 2; those of the 30s are uniform over the whole
# range 0 to 100 (46 % of 200 draws outside of 20 to 70). No error, no warning; at epsilon 10 it ends with an error about candidates.
# OpenDP takes candidates that are values.
# This program chooses among public candidates, of which one that many records share has the best score.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check diffprivlib==0.6.6 scikit-learn==1.5.2 scipy==1.13.1 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from diffprivlib import __version__, tools

children = np.repeat([0.0, 1.0, 2.0, 3.0], 500)
children[:5] = 2.0
alike = np.full(2000, 30.0)
alike[0] = 31.0
assert np.median(children) == 2 and np.median(alike) == 30
young = np.array([tools.quantile(children, 0.5, epsilon=1, bounds=(0, 10), random_state=seed) for seed in range(200)])
print("children, quartiles of 200 medians:", np.quantile(young, [0.25, 0.5, 0.75]).round(2))
assert 0.3 < np.mean(young < 1.5) < 0.7 and young.min() >= 0.9 and young.max() <= 2.1, "the behaviour has changed"
drawn = [tools.quantile(alike, 0.5, epsilon=1, bounds=(0, 100), random_state=seed) for seed in range(200)]
outside = np.mean(np.abs(np.array(drawn) - 45) > 25)
print(f"1,999 of 30 and one 31, share of medians outside of 20 to 70: {outside:.2f}")
assert 0.3 < outside < 0.7, "the behaviour has changed"
print("diffprivlib", __version__)
print("as stated")
PYTHON
