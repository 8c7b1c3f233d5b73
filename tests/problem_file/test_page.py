"""docs/guides/problem_files.md: its own examples are complete, fit the schema, and are designed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from designer.problem_file.forms import DEFAULT
from designer.problem_file.kinds import KINDS, read_request
from designer.problem_file.schema import problem_schema

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "problem_files.md").read_text(encoding="utf-8")
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
TABLES = dict(re.findall(r"`([\w.]+\.csv)`:\n\n```csv\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("place", range(len(FILES)), ids=[tomllib.loads(text).get("kind", DEFAULT) for text in FILES])
def test_examples_are_designed(place: int, tmp_path: Path) -> None:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "problem.toml"
    path.write_text(FILES[place], encoding="utf-8")
    jsonschema.validate(tomllib.loads(FILES[place]), problem_schema())
    request = read_request(path)
    outcome = request.made()
    assert request.title in outcome.lines[0] and outcome.data["fingerprint"] == outcome.mechanism.fingerprint


@pytest.mark.every_room
def test_every_kind_has_a_row_and_a_complete_example() -> None:
    rows = re.findall(r"^\| .*?`(\w+)` \| ", PAGE, re.MULTILINE)
    examples = ROOT / "examples"
    shown = [
        tomllib.loads((examples / f"{name}.toml").read_text("utf-8")) for name in re.findall(r"<!-- example (\w+) -->", PAGE)
    ]
    told = {data.get("kind", DEFAULT) for data in [*map(tomllib.loads, FILES), *shown]}
    assert [kind for kind in KINDS if kind in rows] == list(KINDS) and told == set(KINDS)
