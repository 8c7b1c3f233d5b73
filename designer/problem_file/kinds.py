"""The closed list of kinds of problem files, and the reader of them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.lazy_imports import at_address, is_there
from designer.problem_file.forms import DEFAULT, ProblemFile
from designer.problem_file.sections import toml_of

# In the order in which schema and pages list them; the first is that of files that name none.
LISTED: Mapping[str, str] = {
    "linear_queries": "designer.problem_file.linear:LinearFile",
    "marginals": "designer.domains.marginals_file:MarginalsFile",
    "table_plan": "designer.tables.problem_file:TablePlanFile",
    "selection": "designer.selection.problem_file:SelectionFile",
    "mwem": "designer.synthetic.problem_file:MwemFile",
    "small_db": "designer.synthetic.problem_file:SmallDbFile",
    "statistical_queries": "designer.averages.problem_file:AveragesFile",
    "odds_ratio_test": "designer.odds_ratio.problem_file:OddsRatioFile",
    "own_report": "designer.local.problem_file:ReportFile",
}


class _Kinds(Mapping[str, type[ProblemFile]]):
    """The kinds of rooms that are there, by their names; a room is imported when its kind is first asked for."""

    def __getitem__(self, name: str) -> type[ProblemFile]:
        kind: type[ProblemFile] = at_address(LISTED[name])
        return kind

    def __iter__(self) -> Iterator[str]:
        return (name for name, address in LISTED.items() if is_there(address))

    def __len__(self) -> int:
        return len(list(iter(self)))


KINDS: Mapping[str, type[ProblemFile]] = _Kinds()


def read_request(path: str | Path) -> ProblemFile:
    """What a problem file of any kind asks for; paths in it are relative to it.

    Raises `InvalidProblem` that names file, section, key, value and remedy.
    """
    place = Path(path)
    data = toml_of(place)
    name = data.get("kind", DEFAULT)
    if not isinstance(name, str) or name not in KINDS:
        raise InvalidProblem(f"{place}: kind = {shown(name)}: unknown; {meant(name, KINDS)}use one of {list(KINDS)}.")
    return KINDS[name].read(place, data)
