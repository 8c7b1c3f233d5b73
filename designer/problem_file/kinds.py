"""The closed list of kinds of problem files, and the reader of them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.lazy_imports import at_address
from designer.problem_file.forms import DEFAULT, ProblemFileKind
from designer.problem_file.sections import Request, toml_of

# In the order in which schema and pages list them; the first is that of files that name none.
LISTED: Mapping[str, str] = {
    "linear_queries": "designer.problem_file.linear:LINEAR",
    "marginals": "designer.domains.marginals_file:MARGINALS",
    "table_plan": "designer.tables.problem_file:TABLE_PLAN",
    "selection": "designer.selection.problem_file:SELECTION",
    "mwem": "designer.synthetic.problem_file:MWEM_KIND",
    "small_db": "designer.synthetic.problem_file:SMALL_DB",
    "statistical_queries": "designer.averages.problem_file:AVERAGES",
    "odds_ratio_test": "designer.odds_ratio.problem_file:ODDS_RATIO",
    "own_report": "designer.local.problem_file:OWN_REPORT",
}


class _Kinds(Mapping[str, ProblemFileKind]):
    """The kinds by their names; the room of a kind is imported when it is first asked for."""

    def __getitem__(self, name: str) -> ProblemFileKind:
        kind: ProblemFileKind = at_address(LISTED[name])
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(LISTED)

    def __len__(self) -> int:
        return len(LISTED)


KINDS: Mapping[str, ProblemFileKind] = _Kinds()


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
