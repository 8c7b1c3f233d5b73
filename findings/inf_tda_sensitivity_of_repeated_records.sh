#!/usr/bin/env bash
# InfTDA exchanges the sensitivities of distinct and of repeated tuples: a user with several equal tuples is protected less.
#
# Guess, from its description: with distinct_tuples=False and m tuples a user, noise is for an l2 distance of root 2 times m
# under bounded privacy, and for root (2 m) with distinct_tuples=True.
# Seen: the two are exchanged. For m = 4 repeated tuples noise is for 2.83, half of the 5.66 by which one user moves two counts
# (all four tuples from one cell to another), so that four times the rho is spent that was asked for; distinct tuples get 5.66,
# twice what they need. At m = 1 both are the same.
# Who has several tuples a user passes distinct_tuples=True, whatever they are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/pip" install --quiet --disable-pip-version-check)
"${pip[@]}" inf-tda==0.1 opendp==0.12.1 pandas==3.1.1 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from InfTDA.mechanism import get_sensitivity

MOST = 4
moved = np.linalg.norm(np.array([MOST, 0]) - np.array([0, MOST]))  # all tuples of a user, from one cell to another
apart = np.linalg.norm(np.repeat([1, -1], MOST))  # one in each of as many cells, to as many others
found = {distinct: float(get_sensitivity(MOST, "bounded", distinct)) for distinct in (False, True)}
print(f"repeated: needs {moved:.4f}, has {found[False]:.4f} | distinct: needs {apart:.4f}, has {found[True]:.4f}")
assert abs(found[False] - apart) < 1e-12 and abs(found[True] - moved) < 1e-12 and apart < moved, "the behaviour has changed"
print("as stated")
PYTHON
