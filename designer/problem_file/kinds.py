"""The closed list of kinds of problem files, and the reader of them all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from designer.averages.problem_file import AVERAGES
from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.domains.marginals_file import MARGINALS
from designer.local.problem_file import OWN_REPORT
from designer.odds_ratio.problem_file import ODDS_RATIO
from designer.problem_file.forms import DEFAULT, Kind
from designer.problem_file.linear import LINEAR
from designer.problem_file.sections import Request, toml_of
from designer.selection.problem_file import SELECTION
from designer.synthetic.problem_file import MWEM_KIND, SMALL_DB
from designer.tables.problem_file import TABLE_PLAN

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
