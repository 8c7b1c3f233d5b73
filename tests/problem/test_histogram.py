"""Counts that no data can have, keys that name no columns, and names that keys do not spell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from designer import Domain, InvalidProblem, InvalidSpec, Targets, Workload
from designer.base.json_text import plain
from designer.problem.histogram import DISAGREE, Keys, Universe, counts
from designer.problem.workload import workload_from_spec, workload_to_spec


def test_counts_whose_tables_have_other_totals_are_refused() -> None:
    """Two tables of the same records, of two and three cells: every small histogram, its totals added up by hand."""
    agreeing = np.array([[1, 1, -1, -1, -1]])
    universe = Universe(tuple("abcde"), agreeing=agreeing)
    for x in itertools.product(range(3), repeat=5):
        if sum(x[:2]) == sum(x[2:]):
            assert counts(x, universe).tolist() == list(x)
        else:
            with pytest.raises(InvalidProblem) as refusal:
                counts(x, universe)
            assert str(refusal.value) == DISAGREE


@pytest.mark.parametrize("columns", [(), ("sex", "sex")])
def test_keys_have_at_least_one_column_and_each_once(columns: tuple[str, ...]) -> None:
    with pytest.raises(InvalidProblem, match="must name at least one column, each once"):
        Keys(columns, (("F",) * len(columns), ("M",) * len(columns)))


def test_names_of_cells_of_several_tables_are_those_that_their_keys_spell() -> None:
    keys = Keys(("table", "sex", "age"), (("one", "F", "1"), ("one", "M", "1"), ("two", "", "2")))
    keys.require_spelled(("one: sex=F, age=1", "one: age=1, sex=M", "two: age=2"))
    two = Keys(("sex", "age"), (("F", "1"), ("M", "2")))
    for own in (two.names, two.assignments):
        two.require_spelled(own)
    for names in (
        ("one: sex=F, age=1", "one: sex=F, age=1", "two: age=2"),
        ("two: sex=F, age=1", "one: sex=M, age=1", "two: age=2"),
        ("one: sex=F", "one: sex=M, age=1", "two: age=2"),
    ):
        with pytest.raises(InvalidProblem, match="do not spell the names"):
            keys.require_spelled(names)


def test_an_attribute_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    domain = Domain.of({"sex": 2, "state": 3})
    assert domain.axis("state") == 1
    with pytest.raises(InvalidProblem, match=r"attribute: 'stat' is not one of \['sex', 'state'\]"):
        domain.axis("stat")


@pytest.mark.parametrize("wrong", ["012", [0, 1.0], [0, -1], [0, 2**31], [0, True], None])
def test_a_sparse_matrix_of_a_spec_has_whole_numbers_for_places(wrong: object) -> None:
    from scipy.sparse import csr_array

    made = Workload(csr_array(np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]])), ["a", "b"], ["x", "y", "z"])
    written = plain(workload_to_spec(made))
    assert workload_from_spec(written).dense().tolist() == [[1, 0, 1], [0, 2, 0]]
    for entry in ("starts", "columns"):
        broken = {**written, "rows": {**written["rows"], entry: wrong}}
        with pytest.raises(InvalidSpec):
            workload_from_spec(broken)


def test_nothing_is_relative_to_0() -> None:
    with pytest.raises(InvalidProblem, match="is 0, at which no error is relative"):
        Targets(relative_error=0.1, reference=0)
    assert Targets(relative_error=0.1, reference=1) != Targets(relative_error=0.1, reference=2)
