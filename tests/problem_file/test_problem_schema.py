"""The schema of problem files: what the reader reads fits it, and keys that the reader refuses do not."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import InvalidProblem, read_problem
from designer.designing import FAMILIES
from designer.problem_file.schema import problem_schema
from tests.problem_file import test_problem_file as problems
from tests.problem_file import test_relation_file as relations

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
VALIDATOR = jsonschema.Draft202012Validator(problem_schema())
GOOD = {
    **{name: text for name, (text, _, _) in problems.GOOD.items()},
    **{f"relation {name}": relations.HEAD + text for name, (text, _) in relations.GOOD.items()},
}
INVARIANT = '[domain]\nsex = ["F", "M"]\nage = 2\n[workload]\nbuilder = "identity"\nsize = 4\n[invariant]\n'
STRUCTURED = '[domain]\nsex = ["F", "M"]\nage = 3\n[workload]\n'
GOOD |= {
    "margins": INVARIANT + 'margins = [["sex"], ["age"]]\nadjacency = 2\n[relation]\nepsilon = 1\n',
    "impossible elements": INVARIANT + 'total = true\nimpossible = ["sex=F, age=0", 1]\n[relation]\nepsilon = 1\n',
    "total, a budget per distance": INVARIANT + 'total = true\n[relation]\nepsilon = 1\nper_distance = "l2"\n',
    "linked tables": INVARIANT.replace("size = 4\n", "").replace("age = 2", "age = 2\nplace = 3")
    + 'linked = {sexes = ["age", "sex"], places = ["age", "place"]}\npublished = [["age"]]\nadjacency = 2\n'
    + "[relation]\nepsilon = 1\n",
    "terms": STRUCTURED
    + 'terms = [{age = "prefix", sex = "identity"}, {age = {widths = 2}}, {sex = [[1, -1]]}]\n'
    + 'weights = [1, 2, 3]\n[relation]\nmetric = "add_remove"\nmu = 1\n[problem]\nnotion = "zcdp"\n',
    "tables": STRUCTURED
    + 'tables = [["age"], ["age", "sex"]]\nasked = {age = "ranges"}\n[relation]\nmetric = "hamming"\n'
    + "budgets = {sex = 1, age = inf}\n",
    "partition of a list": INVARIANT + 'partition = ["a", "b", "a", "b"]\n[relation]\nmetric = "uniform"\nepsilon = 1\n',
}
NEEDED = {"metric", "epsilon", "per_unit", "per_km", "points", "period", "builder", "workload", "relation", "table"}
folder = problems.folder


@pytest.fixture
def tables(folder: Path) -> Path:
    """Everything that the good files name."""
    (folder / "t.csv").write_text(relations.TABLE)
    (folder / "edges.csv").write_text("0,1,1\n1,2,0.5\n")
    return folder


def as_json(value: Any) -> Any:
    """TOML as JSON has it: dates are texts."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list) else str(value) if isinstance(value, date) else value


def as_toml(value: Any) -> str:
    """A value in TOML, tables in braces."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, (str, bool)) else str(value)


def read(folder: Path, data: dict[str, Any]) -> bool:
    """Whether the reader takes the data."""
    path = folder / "problem.toml"
    path.write_text("".join(f"{name} = {as_toml(section)}\n" for name, section in data.items()), encoding="utf-8")
    try:
        read_problem(path)
    except InvalidProblem:
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(problem_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_fit_the_schema(path: Path) -> None:
    VALIDATOR.validate(as_json(tomllib.loads(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("name", GOOD)
def test_what_the_reader_reads_fits_the_schema(name: str, tables: Path) -> None:
    data = tomllib.loads(GOOD[name])
    VALIDATOR.validate(as_json(data))
    assert read(tables, data)


def closed_tables(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a key may be unknown: every section but the domain, and every metric in a metric."""
    for key, item in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        place = (*path, key)
        if isinstance(item, dict) and ("metric" in item or (not path and key not in ("domain", "design"))):
            yield place
        yield from closed_tables(item, place)


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


@pytest.mark.parametrize("name", GOOD)
def test_unknown_and_missing_keys_are_refused_by_schema_and_reader(name: str, tables: Path) -> None:
    data = tomllib.loads(GOOD[name])
    for path in [(), *closed_tables(data)]:
        more = deepcopy(data)
        at(more, path)["unknown"] = 1
        assert not VALIDATOR.is_valid(as_json(more)) and not read(tables, more), path
        for key in at(data, path):
            less = deepcopy(data)
            del at(less, path)[key]
            assert VALIDATOR.is_valid(as_json(less)) or not read(tables, less), (path, key)
            if key in NEEDED and not (key == "metric" and "invariant" in data):
                assert not VALIDATOR.is_valid(as_json(less)) and not read(tables, less), (path, key)


@pytest.mark.parametrize("name", GOOD)
def test_values_of_another_type_are_refused_by_schema_and_reader(name: str, tables: Path) -> None:
    """Whatever the reader takes, the schema takes: an editor marks no file that works. And it marks what is of another type."""
    data = tomllib.loads(GOOD[name])
    for path in closed_tables(data):
        for key, value in at(data, path).items():
            for other in ({"unknown": 1}, True, "-", -1, [], [[[1]]]):
                if type(other) is type(value):
                    continue
                mutant = deepcopy(data)
                at(mutant, path)[key] = other
                taken = VALIDATOR.is_valid(as_json(mutant))
                assert taken or not read(tables, mutant), (path, key, other)
                if isinstance(other, (dict, bool)) and key != "predicates":
                    assert not taken, (path, key, other)


def test_options_of_families_are_those_of_their_builders() -> None:
    base = tomllib.loads(problems.IDENTITY + problems.UNIFORM)
    for family in FAMILIES:
        VALIDATOR.validate(base | {"design": {"family": family.name}})
        assert not VALIDATOR.is_valid(base | {"design": {"family": family.name, "unknown": 1}})
        for name in family.options():
            fits = [
                VALIDATOR.is_valid(base | {"design": {"family": family.name, name: value}})
                for value in (1, "l1", "cdd", "sum", True, [[1.0, 0.0]])
            ]
            assert any(fits) and not all(fits), (family.name, name)
    assert VALIDATOR.is_valid(base | {"design": {"family": "auto", "seconds": 2}})
    assert not VALIDATOR.is_valid(base | {"design": {"family": "unknown"}})
