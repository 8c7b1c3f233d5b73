#!/usr/bin/env bash
# A linear program loses its privacy constraints where budgets are above 20.7: HiGHS takes a coefficient below 1e-9 for 0.
#
# Guess before running: min q with e^-b p <= q and p = 1, in scipy's linprog by HiGHS, has the optimum e^-b to a relative 1e-6 for every
# b whose e^-b a double holds, or a status that is not optimal.
# Seen: q = e^-20 is found to all digits; from b = 20.8 on it is 0.0 with status 0, "Optimization terminated successfully". A mechanism
# with that q tells two elements apart for certain. The limit is HiGHS's option small_matrix_value, 1e-9, which linprog does not hand
# on. Budgets of 21 and more are ordinary between far elements of a metric.
# This program scales what it solves, and proves a channel and its prices in rationals, so that what a solver drops is seen.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import numpy as np
import scipy
from scipy.optimize import linprog

seen = {}
for budget in (15, 20, 20.8, 25):
    factor = float(np.exp(-budget))
    found = linprog([0, 1], A_ub=[[factor, -1]], b_ub=[0], A_eq=[[1, 0]], b_eq=[1], method="highs")
    seen[budget] = found.status, float(found.x[1]) / factor
    print(f"budget {budget}: status {found.status}, {found.message[:38]}; q over e^-budget: {seen[budget][1]}")
print("scipy", scipy.__version__, "numpy", np.__version__)
assert all(status == 0 for status, _ in seen.values()), "the behaviour has changed"
assert [round(ratio, 9) for _, ratio in seen.values()] == [1, 1, 0, 0], "the behaviour has changed"
print("as stated")
PYTHON
