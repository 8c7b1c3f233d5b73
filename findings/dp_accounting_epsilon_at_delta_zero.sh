#!/usr/bin/env bash
# A loss distribution of dp-accounting says that pure noise has no epsilon at delta 0.
#
# Guess before running: Laplace noise of scale 1 on a count has epsilon 1 at delta 0 (one step of the grid, 1e-4, above at most), and
# ten releases have 10.
# Seen: get_epsilon_for_delta(0) is infinite for one release and for ten. At delta 1e-12 it is 0.999999999998 and
# 9.99999999897728, so the epsilon is there: the distribution keeps a mass for what was rounded off, and at delta 0 nothing is left
# for it. A table that lists epsilon by delta shows pure mechanisms as unbounded in its first row.
# This program adds pure budgets exactly and never reads them off such a distribution.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dp-accounting==0.6.0 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import math
from importlib.metadata import version

from dp_accounting.pld import privacy_loss_distribution as pld

print("dp-accounting", version("dp-accounting"))
seen = {}
for releases in (1, 10):
    law = pld.from_laplace_mechanism(1.0, sensitivity=1.0).self_compose(releases)
    seen[releases] = law.get_epsilon_for_delta(0.0), law.get_epsilon_for_delta(1e-12)
    print(f"{releases} releases: epsilon {seen[releases][0]} at delta 0, {seen[releases][1]} at delta 1e-12")
assert all(math.isinf(at_zero) for at_zero, _ in seen.values()), "the behaviour has changed"
assert all(releases - 1e-6 < above < releases + 1e-3 for releases, (_, above) in seen.items()), "the behaviour has changed"
print("as stated")
PYTHON
