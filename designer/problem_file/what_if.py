"""A problem file at other budgets, adjacencies and deltas: its own text, with other numbers in the places where they stand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem
from designer.problem_file.forms import AT_EACH_BUDGET, ProblemFile
from designer.problem_file.kinds import KINDS, read_request
from designer.problem_file.relations import APPEARING, RELATIONS
from designer.problem_file.sections import text_of_toml, toml_of

# What one number in [relation] multiplies all budgets, and what it is a budget of.
BUDGETS = {
    "epsilon": "budget (epsilon)",
    "mu": "budget (mu; rho = mu^2 / 2)",
    "per_km": "budget for each kilometre",
    "per_unit": "budget for each unit of distance",
    "per_edge": "budget for each unit of length of an edge",
    "factor": "times the budgets of the file",
}
SCALED = "scaled"
HEADER = re.compile(r"^[ \t]*\[+\s*([\w.-]+)\s*\]+", re.MULTILINE)
Values = Mapping[str, str]


@dataclass(frozen=True)
class Varied:
    """A problem file in which some numbers may be others.

    path: of the file. data: what it holds. pieces: its text, a piece of text and the name of a place by turns; the names are
    keys of `own`, which has the numbers as the file, or the rule of its kind, has them. label: what the budget is one of.
    """

    path: Path
    data: Mapping[str, Any]
    pieces: tuple[str, ...]
    own: Mapping[str, str]
    label: str

    def text(self, values: Values) -> str:
        """The file with these numbers in the places of the same names."""
        return "".join(values[piece] if k % 2 else piece for k, piece in enumerate(self.pieces))

    def request(self, values: Values) -> ProblemFile:
        """What it asks for then."""
        return KINDS[self.data.get("kind", "linear_queries")].read(self.path, _parsed(self.path, self.text(values)))


def varied_file(path: Path) -> tuple[Varied, ProblemFile]:
    """The file with its places, and what it asks for as it stands.

    There is a place for the budget, for the adjacency of an invariant that has one, and for the delta of (epsilon, delta).
    Raises `InvalidProblem` for a kind of file or a relation that has no one number for all budgets.
    """
    request, data = read_request(path), toml_of(path)
    if not request.explored:
        raise request.without("explore", AT_EACH_BUDGET)
    text, wanted = text_of_toml(path), deepcopy(data)
    key, own = _budget(path, data["relation"]), {}
    if key == SCALED:
        text = re.sub(r"^([ \t]*\[+\s*)relation\b", r"\1relation.part", text, flags=re.MULTILINE)
        text = re.sub(
            r"^([ \t]*\[relation\.part\])", f'[relation]\nmetric = "{SCALED}"\nfactor = 1\n\n\\1', text, flags=re.MULTILINE
        )
        wanted["relation"], key = {"metric": SCALED, "factor": 1, "part": data["relation"]}, "factor"
    found = [("budget", *_place(path, text, "relation", key))]
    adjacency = getattr(request.compared.relation, "adjacency", None)
    if adjacency is not None and "per_distance" not in data["relation"]:
        if "adjacency" not in data["invariant"]:
            text = _with_line(path, text, "invariant", f"adjacency = {adjacency}")
            wanted["invariant"]["adjacency"] = adjacency
        found = [("budget", *_place(path, text, "relation", key)), ("adjacency", *_place(path, text, "invariant", "adjacency"))]
    if request.compared.notion == "approximate":
        found.append(("delta", *_place(path, text, "problem", "delta")))
    if _parsed(path, text) != wanted:
        raise _unplaced(path, "relation", key)
    pieces, end = [], 0
    for name, start, stop in sorted(found, key=lambda place: place[1]):
        own[name] = text[start:stop]
        pieces += [text[end:start], name]
        end = stop
    return Varied(path, data, (*pieces, text[end:]), own, BUDGETS[key]), request


def _budget(path: Path, relation: Mapping[str, Any]) -> str:
    """The key whose number multiplies all budgets, or the metric that multiplies those of another."""
    metric = relation.get("metric")
    if metric is None:
        return "mu" if "mu" in relation else "epsilon"
    known: Sequence[str] = [key for key in BUDGETS if key in RELATIONS[metric].keys and key in relation]
    if known and "change" not in relation:
        return known[0]
    if metric in {form.name for form in APPEARING}:
        raise InvalidProblem(
            f'{path}: [relation] metric = "{metric}" has several budgets here, and explore turns one number; give one budget '
            'for all, as metric = "add_remove" takes it, or use dp-designer compare.'
        )
    return SCALED


def _place(path: Path, text: str, section: str, key: str) -> tuple[int, int]:
    """Where the number of a key stands in the text: its first character, and the one behind its last."""
    start, stop = _section(path, text, section, key)
    found = re.compile(rf"^[ \t]*{key}[ \t]*=[ \t]*([-+.\w]+)", re.MULTILINE).search(text, start, stop)
    if found is None:
        raise _unplaced(path, section, key)
    return found.span(1)


def _section(path: Path, text: str, section: str, key: str) -> tuple[int, int]:
    """Where the lines of a section begin, behind its header, and where they end."""
    headers = list(HEADER.finditer(text))
    for k, header in enumerate(headers):
        if header[1] == section:
            return header.end(), headers[k + 1].start() if k + 1 < len(headers) else len(text)
    raise _unplaced(path, section, key)


def _with_line(path: Path, text: str, section: str, line: str) -> str:
    """The text with one more line at the head of a section."""
    start, _ = _section(path, text, section, line.partition(" ")[0])
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return f"{text[:end]}\n{line}{text[end:]}"


def _unplaced(path: Path, section: str, key: str) -> InvalidProblem:
    return InvalidProblem(
        f"{path}: [{section}] {key}: explore finds no line for it to write another number in; write the section as "
        f"[{section}], with {key} = .. on a line of its own below."
    )


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        raise _unplaced(path, "relation", "its budgets") from None
