"""Tables of a release as files: answers in several units have a column of them, under a name that is free."""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np

from designer import About, Domain, Problem, Workload, design, metrics
from designer.files.releases import release_document
from designer.files.table_files import TableOptions, files_of_tables


def written(attribute: str, values: list[str], units: dict[str, str]) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """The rows of the one table of a release of counts by an attribute, and what the index says of it."""
    domain = Domain.of({attribute: values})
    workload = Workload(np.eye(len(values)), values, elements=domain.elements, keys=domain.keys)
    made = design(Problem(workload, metrics.add_remove(len(values), 1.0)), "laplace").mechanism.described(About(units=units))
    released = made.release([3] * len(values))
    files = dict(files_of_tables(made, released, release_document(made, released), TableOptions()))
    (table,) = json.loads(files["tables.json"])["tables"]
    return list(csv.DictReader(files[table["file"]].decode().splitlines())), table


def test_a_category_that_is_called_unit_stays_beside_the_column_of_units() -> None:
    rows, table = written("unit", ["a", "b"], {"a": "persons", "b": "EUR"})
    assert [(row["unit"], row["unit_"]) for row in rows] == [("a", "persons"), ("b", "EUR")]
    kinds = {column["name"]: column["kind"] for column in table["columns"]}
    assert list(kinds)[:3] == ["unit", "unit_", "answer"] and kinds["unit_"] == "category"


def test_units_stand_in_every_row_as_soon_as_there_are_two() -> None:
    rows, _ = written("item", ["a", "b", "c"], {"*": "persons", "b": "EUR"})
    assert [(row["item"], row["unit"]) for row in rows] == [("a", "persons"), ("b", "EUR"), ("c", "persons")]


def test_one_unit_of_all_answers_is_said_once() -> None:
    rows, table = written("item", ["a", "b"], {"*": "persons"})
    assert "unit" not in rows[0]
    assert next(column for column in table["columns"] if column["name"] == "answer")["unit"] == "persons"
