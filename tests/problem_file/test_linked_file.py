"""Linked tables from a problem file: the whole way to a release, against the same built in Python, and what is wrong named."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from designer import Counts, InvalidProblem, design, invariants, load, read_problem
from designer.cli import main
from designer.problem.domain import Domain

HEAD = '[domain]\nage = ["young", "old"]\nsex = ["F", "M"]\nplace = 3\n'
LINKED = 'linked = {sexes = ["age", "sex"], places = ["age", "place"]}\n'
REST = '[relation]\nmu = 0.5\n[problem]\nnotion = "zcdp"\n'
IDENTITY = '[workload]\nbuilder = "identity"\n'
GOOD = HEAD + IDENTITY + "[invariant]\n" + LINKED + 'published = [["age"]]\nadjacency = 2\n' + REST
PEOPLE = Domain.of({"age": ["young", "old"], "sex": ["F", "M"], "place": 3})
TABLES = {"sexes": ["age", "sex"], "places": ["age", "place"]}


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "linked.toml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def records(count: int = 300) -> np.ndarray:
    return np.random.default_rng(5).integers(0, PEOPLE.shape, (count, 3))


def true_tables() -> dict[str, np.ndarray]:
    found = {}
    for name, attributes in TABLES.items():
        axes = [PEOPLE.axis(attribute) for attribute in attributes]
        found[name] = np.zeros([PEOPLE.shape[axis] for axis in axes], dtype=int)
        np.add.at(found[name], tuple(records()[:, axis] for axis in axes), 1)
    return found


def histogram_file(path: Path) -> Path:
    """All tables below each other, rows in any order, columns that a table does not have empty."""
    rows = []
    for name, table in true_tables().items():
        for places, count in np.ndenumerate(table):
            cells = dict(zip(TABLES[name], places, strict=True))
            named = [PEOPLE.values[k][cells[a]] if a in cells else "" for k, a in enumerate(PEOPLE.attributes)]
            rows.append([name, *named, int(count)])
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["table", *PEOPLE.attributes, "people"], *rows[::-1]])
    return path


def test_a_file_says_what_python_says(problem: Path) -> None:
    linked = invariants.linked(PEOPLE, TABLES, published=[["age"]])
    read = read_problem(problem).problem
    assert read.relation.to_spec() == linked.protect(0.5, 2).to_spec()
    assert read.workload == linked.workload()
    assert read.workload.elements[0] == "sexes: age=young, sex=F" and read.workload.keys.columns[0] == "table"


@pytest.mark.parametrize("family", ["gaussian", "lattice_gaussian"])
def test_the_command_line_goes_the_whole_way_and_tables_agree(family, problem, tmp_path, capsys):
    """From a histogram file of all tables, and from the records that they count."""
    spec = tmp_path / "linked.json"
    assert main(["design", str(problem), "--family", family, "-o", str(spec)]) == 0
    assert main(["verify", str(spec)]) == 0
    histogram = histogram_file(tmp_path / "tables.csv")
    rows = tmp_path / "records.csv"
    with rows.open("w", newline="", encoding="utf-8") as file:
        named = [[PEOPLE.values[k][code] for k, code in enumerate(record)] for record in records()]
        csv.writer(file).writerows([PEOPLE.attributes, *named])
    capsys.readouterr()
    true = true_tables()
    for source in (["--histogram", str(histogram), "--column", "people"], ["--table", str(rows)]):
        assert main(["release", str(spec), *source, "--json"]) == 0
        noisy = invariants.linked(PEOPLE, TABLES).split(list(json.loads(capsys.readouterr().out)["answers"].values()))
        for name, table in noisy.items():
            assert np.abs(table.sum(axis=1) - true["sexes"].sum(axis=1)).max() < 1e-8
            # The noise of a cell has a standard deviation below 6: seven of them are exceeded with probability below 1e-10.
            assert 0 < np.abs(table - true[name]).max() < 42


def test_a_frame_with_gaps_is_joined_by_name(problem: Path) -> None:
    pandas = pytest.importorskip("pandas")
    made = design(read_problem(problem).problem, "gaussian").mechanism
    linked = made.relation.linked
    frame = pandas.DataFrame(linked.keys.rows, columns=linked.keys.columns).replace("", None)
    frame["people"] = linked.stack(true_tables()).astype(int)
    noisy = linked.split(made.release(Counts(frame.sample(frac=1, random_state=1))).answers)
    assert np.abs(noisy["sexes"].sum(axis=1) - true_tables()["sexes"].sum(axis=1)).max() < 1e-8
    with pytest.raises(InvalidProblem, match="exactly once"):
        made.release(Counts(frame.iloc[1:]))


def test_tables_of_records_that_disagree_are_refused(problem: Path, tmp_path: Path) -> None:
    made = design(read_problem(problem).problem, "gaussian").mechanism
    made = load(made.save(tmp_path / "spec.json"))
    columns = {name: [PEOPLE.values[k][code] for code in records()[:, k]] for k, name in enumerate(PEOPLE.attributes)}
    assert len(made.release(columns).answers) == 10
    wrong = dict(zip(made.workload.elements, [7, 0, 0, 0, 6, 0, 0, 0, 0, 0], strict=True))
    with pytest.raises(InvalidProblem, match="disagree on a margin"):
        made.release(wrong)


BAD = {
    "a misspelt attribute": (GOOD.replace('["age", "sex"]', '["age", "sx"]'), ["linked.sexes", "perhaps 'sex' is meant"]),
    "an unknown attribute": (GOOD.replace('["age", "sex"]', '["income"]'), ["linked.sexes", "'income'", "'place'"]),
    "a misspelt margin": (GOOD.replace('[["age"]]', '[["agee"]]'), ["published[0]", "perhaps 'age' is meant"]),
    "no list": (GOOD.replace('["age", "sex"]', '"age"'), ["linked.sexes = 'age'", "lists of attributes"]),
    "no margin": (GOOD.replace('[["age"]]', '["age"]'), ["published[0] = 'age'", "lists of attributes"]),
    "one table": (GOOD.replace(', places = ["age", "place"]', ""), ["two or more"]),
    "another attribute twice": (GOOD.replace('["age", "sex"]', '["sex", "sex"]'), ["each once"]),
    "elements beside": ('[elements]\ntable = "t.csv"\n' + GOOD, ["[elements]", "leave it out"]),
    "a metric beside": (GOOD.replace("mu", 'metric = "uniform"\nmu'), ["metric = 'uniform'", "linked tables; it takes ['mu']"]),
    "a budget per distance": (GOOD.replace("mu", 'per_distance = "l2"\nmu'), ["per_distance", "it takes ['mu']"]),
    "queries of the joint table": (
        GOOD.replace('builder = "identity"', 'marginals = [["age"]]'), ["marginals = [['age']]", "builder", "each cell"],
    ),
    "impossible cells": (GOOD.replace("adjacency = 2", "impossible = [0]"), ["impossible = [0]", "linked"]),
    "another kind beside": (GOOD.replace("adjacency = 2", "total = true"), ["exactly one of"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_a_remedy(name: str, problem: Path) -> None:
    text, words = BAD[name]
    problem.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidProblem) as refusal:
        read_problem(problem)
    assert str(problem) in str(refusal.value) and all(word in str(refusal.value) for word in words), refusal.value


def test_a_table_that_no_change_moves_asks_how_many_records_may_change(problem: Path) -> None:
    crossed = GOOD.replace('["age"]]\nadjacency = 2\n', '["age"], ["sex"]]\n')
    problem.write_text(crossed, encoding="utf-8")
    with pytest.raises(InvalidProblem, match=r"adjacency: one record can change nothing of \['sexes'\].*adjacency = 3"):
        read_problem(problem)
    problem.write_text(crossed.replace("[relation]", "adjacency = 2\n[relation]"), encoding="utf-8")
    assert "not protected" not in read_problem(problem).problem.relation.sentence()
    problem.write_text(crossed.replace("[relation]", "adjacency = 1\n[relation]"), encoding="utf-8")
    assert "None of these changes moves anything of sexes: not protected." in read_problem(problem).problem.relation.sentence()
