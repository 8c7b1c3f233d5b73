"""The closed list of kinds of problem files, and the reader of them all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.files.problem.averages import AVERAGES
from designer.files.problem.kind import DEFAULT, Kind
from designer.files.problem.linear import LINEAR
from designer.files.problem.marginals import MARGINALS
from designer.files.problem.odds_ratio import ODDS_RATIO
from designer.files.problem.own_report import OWN_REPORT
from designer.files.problem.request import Request
from designer.files.problem.sections import toml_of
from designer.files.problem.selection import SELECTION
from designer.files.problem.synthetic import MWEM_KIND, SMALL_DB
from designer.files.problem.table_plan import TABLE_PLAN

# In the order in which schema and pages list them; the first is that of files that name none.
LISTED = (LINEAR, MARGINALS, TABLE_PLAN, SELECTION, MWEM_KIND, SMALL_DB, AVERAGES, ODDS_RATIO, OWN_REPORT)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in LISTED}


def read_request(path: str | Path) -> Request:
    """What a problem file of any kind asks for; paths in it are relative to it.

    Raises `InvalidProblem` that names file, section, key, value and remedy.
    """
    place = Path(path)
    data = toml_of(place)
    name = data.get("kind", DEFAULT)
    if not isinstance(name, str) or name not in KINDS:
        raise InvalidProblem(f"{place}: kind = {shown(name)}: unknown; {meant(name, KINDS)}use one of {list(KINDS)}.")
    return KINDS[name].read(place, data)
