"""Workloads: builders against counting by hand, dense against sparse, and every refusal."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from designer import Domain, InvalidProblem, MarginalWorkload, StructuredWorkload, Workload
from designer.base.json_text import plain
from designer.domains.products_workload import recognised
from designer.problem.histogram import Keys
from designer.problem.workload import workload_from_spec, workload_to_spec

DOMAIN = Domain.of({"sex": ["F", "M"], "age": 3, "region": ["north", "south"]})
RECORDS = [dict(zip(DOMAIN.attributes, row, strict=True)) for row in product(*DOMAIN.values)]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_builders_count_what_they_say(n: int) -> None:
    x = np.arange(1, n + 1) ** 2
    assert Workload.identity(n).answer(x).tolist() == x.tolist()
    assert Workload.prefix(n).answer(x).tolist() == [sum(x[: k + 1]) for k in range(n)]
    ranges = {f"e{a}..e{b}": sum(x[a : b + 1]) for a in range(n) for b in range(a, n)}
    made = Workload.all_ranges(n)
    assert dict(zip(made.queries, made.answer(x).tolist(), strict=True)) == ranges


def test_marginals_count_the_records_of_each_cell() -> None:
    subsets = [list(s) for size in range(4) for s in combinations(DOMAIN.attributes, size)]
    made = Workload.marginals(DOMAIN, subsets)
    x = np.arange(DOMAIN.size) + 1
    expected = {}
    for subset in subsets:
        for cell in product(*(DOMAIN.values[DOMAIN.axis(a)] for a in subset)):
            name = ", ".join(f"{a}={v}" for a, v in zip(subset, cell, strict=True)) or "total"
            expected[name] = sum(
                c for c, r in zip(x, RECORDS, strict=True) if all(r[a] == v for a, v in zip(subset, cell, strict=True))
            )
    assert dict(zip(made.queries, made.answer(x).tolist(), strict=True)) == expected
    assert made.elements == DOMAIN.elements


def test_predicates_by_table_and_by_function_agree() -> None:
    by_table = Workload.predicates(DOMAIN, {"a": {"sex": "M", "age": [0, 2]}, "b": {"region": ("north",)}, "all": {}})
    by_function = Workload.predicates(
        DOMAIN,
        {
            "a": lambda r: r["sex"] == "M" and r["age"] in ("0", "2"),
            "b": lambda r: r["region"] == "north",
            "all": lambda r: True,
        },
    )
    assert by_table == by_function
    assert by_table.dense().sum(axis=1).tolist() == [4.0, 6.0, 12.0]


@pytest.mark.parametrize(("kind", "allowed"), [("binary", {0.0, 1.0}), ("real", None)])
def test_random_is_repeatable_and_in_range(kind: str, allowed: set[float] | None) -> None:
    made = Workload.random(4, 6, kind, seed=5)
    assert made == Workload.random(4, 6, kind, seed=5)
    assert made != Workload.random(4, 6, kind, seed=6)
    assert made.shape == (4, 6)
    assert set(np.ravel(made.matrix)) <= allowed if allowed else (made.dense() >= 0).all() and (made.dense() < 1).all()


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_sparse_equals_dense(matrix: np.ndarray) -> None:
    dense = Workload(matrix)
    for form in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix, sparse.dok_array):
        made = Workload(form(matrix))
        assert made.is_sparse
        assert made == dense
        assert hash(made) == hash(dense)
    with np.errstate(all="ignore"):
        ones = np.ones(matrix.shape[1])
        np.testing.assert_allclose(
            made.answer(ones), dense.answer(ones), rtol=1e-9, atol=1e300 if np.abs(matrix).max() > 1e290 else 1e-9
        )


def test_nested_units_are_counted_level_by_level() -> None:
    levels = {"region": ["N", "S", "N", "S"], "county": [2, 1, 3, 1], "place": "abcd"}
    made = Workload.nested(4, levels)
    assert made.queries[:6] == ("total", "region=N", "region=S", "county=2", "county=1", "county=3")
    counts = np.array([1, 10, 100, 1000])
    assert made.answer(counts).tolist() == [1111, 101, 1010, 1, 1010, 100, *counts]
    assert made.levels.rows[4:7] == (("S", "1", ""), ("N", "3", ""), ("N", "2", "a"))
    assert workload_from_spec(plain(workload_to_spec(made))) == made
    assert Workload(made.matrix, made.queries) != made


def test_sparse_duplicates_are_summed_and_the_input_is_left_alone() -> None:
    parts = np.array([1.0, 2.0, 4.0])
    given_matrix = sparse.coo_array((parts, ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    made = Workload(given_matrix)
    assert made.dense().tolist() == [[0, 3], [4, 0]]
    parts[0] = 9.0
    assert made.dense().tolist() == [[0, 3], [4, 0]]


def test_arrays_are_copies_and_read_only() -> None:
    source = np.eye(2)
    made = Workload(source)
    source[0, 0] = 7
    assert made.matrix.tolist() == [[1, 0], [0, 1]]
    for twin in (made, copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        with pytest.raises(ValueError, match="read-only"):
            twin.matrix[0, 0] = 7
        with pytest.raises(ValueError, match="read-only"):
            twin.dense()[0, 0] = 7
    rows = Workload(sparse.csr_array(np.eye(2))).matrix
    with pytest.raises(ValueError, match="read-only"):
        rows.data[0] = 7


class Ragged:
    """What numpy cannot make rectangular."""


BAD_MATRICES: dict[str, object] = {
    "empty": [],
    "no columns": [[]],
    "no rows": np.empty((0, 3)),
    "1-D": [1.0, 2.0],
    "3-D": [[[1.0]]],
    "0-D": 3.0,
    "NaN": [[1.0, float("nan")]],
    "infinite": [[1.0, float("inf")]],
    "minus infinite": np.array([[-np.inf]]),
    "text": [["1", "2"]],
    "text array": np.array([["1"]]),
    "bytes": [[b"1"]],
    "complex": [[1j, 2.0]],
    "complex array": np.array([[1 + 0j]]),
    "ragged": [[1.0, 2.0], [3.0]],
    "None": [[None, 1.0]],
    "nothing": None,
    "objects": [[Ragged()]],
    "dates": np.array([["2020-01-01"]], dtype="datetime64[D]"),
    "2^53 + 1": [[2**53 + 1]],
    "2^53 + 1 among floats": [[2**53 + 1, 0.5]],
    "2^63 + 1": np.array([[2**63 + 1]], dtype=np.uint64),
    "2^63 + 1 and -1": [[2**63 + 1, -1]],
    "2^70 + 1": [[2**70 + 1]],
    "10^400": [[10**400]],
    "sparse empty": sparse.csr_array((0, 3)),
    "sparse NaN": sparse.csr_array(np.array([[np.nan, 1]])),
    "sparse infinite": sparse.csr_array(np.array([[np.inf, 1]])),
    "sparse complex": sparse.csr_array(np.array([[1j]])),
    "sparse 2^53 + 1": sparse.csr_array(np.array([[2**53 + 1]])),
    "sparse 1-D": sparse.coo_array(np.array([1.0, 2.0])),
    "sparse sum overflows": sparse.coo_array(([1.7e308, 1.7e308], ([0, 0], [0, 0])), shape=(1, 1)),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", BAD_MATRICES)
def test_bad_matrices_are_refused_by_field(name: str) -> None:
    with pytest.raises(InvalidProblem, match=r"^workload\.matrix: ") as refusal:
        Workload(BAD_MATRICES[name])
    assert "np." not in str(refusal.value)


@pytest.mark.parametrize("entry", [1e308, -1e308, 5e-324, True, 2**53, np.float32(0.1), 2**80])
def test_numbers_that_floats_hold_exactly_are_kept(entry: object) -> None:
    made = Workload([[entry, 0.0]])
    assert made.matrix[0, 0] == entry


BAD_CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "duplicate queries": (lambda: Workload([[1], [2]], queries=["a", "a"]), "workload.queries: the name 'a' appears twice"),
    "duplicate after str": (lambda: Workload([[1, 2]], elements=[1, "1"]), "workload.elements: the name '1' appears twice"),
    "too few names": (lambda: Workload([[1, 2]], elements=["a"]), "workload.elements: 1 names for 2"),
    "a text for names": (lambda: Workload([[1, 2]], elements="ab"), "workload.elements"),
    "half a surrogate": (lambda: Workload([[1, 2]], elements=["a", "\ud800"]), "surrogate"),
    "identity of 0": (lambda: Workload.identity(0), "universe: 0 is not a whole number"),
    "identity of True": (lambda: Workload.identity(True), "universe: True"),
    "identity of 2.5": (lambda: Workload.identity(2.5), "universe: 2.5"),
    "identity of numpy": (lambda: Workload.identity(np.float64(2.0)), "universe: 2.0 is"),
    "identity beyond memory": (lambda: Workload.identity(10**9), "more than"),
    "ranges beyond memory": (lambda: Workload.all_ranges(10**6), "more than"),
    "prefix beyond memory": (lambda: Workload.prefix(10**400), "an integer of 1329 bits"),
    "random beyond memory": (lambda: Workload.random(10**6, 10**6), "more than"),
    "random kind": (lambda: Workload.random(2, 2, "Gaussian"), "kind: 'Gaussian' is unknown"),
    "random seed": (lambda: Workload.random(2, 2, seed=-1), "seed: -1"),
    "no levels": (lambda: Workload.nested(2, {}), "levels: there are none"),
    "levels of other elements": (lambda: Workload.nested(3, {"region": "ab"}), "region has 2 units for 3 elements"),
    "a level that is empty": (lambda: Workload.nested(2, {"region": ["a", None]}), "region is empty in row 2"),
    "a unit in two": (
        lambda: Workload.nested(3, {"region": "aab", "county": "xyy"}),
        "county 'y' lies in region 'a' and in region 'b'",
    ),
    "levels of other queries": (lambda: Workload([[1]], levels=Keys(("a",), ((),))), "keys.rows"),
    "levels out of order": (lambda: Workload([[1], [1]], levels=Keys(("a",), (("x",), ("",)))), "coarse levels first"),
    "levels with gaps": (lambda: Workload([[1]], levels=Keys(("a", "b"), (("", "x"),))), "coarse levels first"),
    "too few levels": (lambda: Workload([[1], [1]], levels=Keys(("a",), (("",),))), "1 rows over"),
    "unknown attribute": (lambda: Workload.marginals(DOMAIN, [["height"]]), "attribute: 'height'"),
    "attribute twice": (lambda: Workload.marginals(DOMAIN, [["age", "age"]]), "each named once"),
    "a text for a subset": (lambda: Workload.marginals(DOMAIN, ["age"]), "not a list of attributes"),
    "no subsets": (lambda: Workload.marginals(DOMAIN, []), "workload.matrix"),
    "subset twice": (lambda: Workload.marginals(DOMAIN, [["age"], ["age"]]), "appears twice"),
    "unknown value": (lambda: Workload.predicates(DOMAIN, {"q": {"age": np.int64(7)}}), "value: 7 is not a value of 'age'"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_are_refused(name: str) -> None:
    call, text = BAD_CALLS[name]
    with pytest.raises(InvalidProblem) as refusal:
        call()
    assert text in str(refusal.value)


def test_answer_refuses_a_wrong_histogram() -> None:
    with pytest.raises(ValueError, match="histogram"):
        Workload.identity(2).answer([1.0, float("nan")])


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -2.0], [1.0, np.inf], [1.0, np.nan], [[1.0, 1.0]]])
def test_tables_have_a_positive_weight_each(weights: list[object]) -> None:
    subsets = MarginalWorkload.of(DOMAIN, [["sex"], ["age"]]).subsets
    assert MarginalWorkload(DOMAIN, subsets, np.array([1.0, 2.0])).weights.tolist() == [1.0, 2.0]
    with pytest.raises(InvalidProblem, match="weights: must be 2 positive finite numbers"):
        MarginalWorkload(DOMAIN, subsets, np.array(weights))


def test_a_table_has_up_to_2_to_the_28_cells() -> None:
    largest = Domain.of({"a": 2**7, "b": 2**7, "c": 2**7, "d": 2**7, "e": 2})
    assert MarginalWorkload.of(largest, [["a", "b", "c", "d"]]).cells.tolist() == [2.0**28]
    with pytest.raises(InvalidProblem, match=r"subsets: a table has 5.36871e\+08 cells, more than 268435456"):
        MarginalWorkload.of(largest, [["a", "b", "c", "d", "e"]])


@pytest.mark.parametrize(
    ("domain", "terms"), [({"sex": ["F", "M"]}, [{"sex": "identity"}]), (DOMAIN, {"sex": "identity"}), (DOMAIN, ["sex"])]
)
def test_products_are_of_a_domain_and_a_list_of_terms(domain: object, terms: object) -> None:
    assert StructuredWorkload.of(DOMAIN, [{"sex": "identity", "age": "prefix"}]).counts == (6,)
    with pytest.raises(InvalidProblem, match="domain, terms: give a Domain and a list of mappings"):
        StructuredWorkload.of(domain, terms)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "known"),
    [
        (np.eye(4), ("identity", None)),
        (np.ones((1, 4)), ("total", None)),
        (np.tri(4), ("prefix", None)),
        (Workload.all_ranges(4).dense(), ("ranges", None)),
        (np.array([[1, 1, 1, 0], [0, 1, 1, 1]]), ("widths", 3)),
        (np.tri(4)[::-1], None),
        (2 * np.eye(4), None),
    ],
)
def test_rows_of_a_kind_are_recognised_and_others_not(rows: np.ndarray, known: tuple[str, int | None] | None) -> None:
    found = recognised(np.asarray(rows, dtype=np.float64))
    assert (found and (found.kind, found.width)) == known
