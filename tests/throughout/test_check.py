"""What is refused for its form is refused before anything is reserved, by the words of `release`, and costs nothing."""

from __future__ import annotations

import math
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from designer import Counts, InvalidProblem, Problem, Workload, design, metrics
from designer.accounts import Ledger, Total
from designer.certificate.frozen import FrozenMechanism
from designer.domains.marginals import MarginalMechanism
from designer.domains.products import StructuredMechanism
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.problem.histogram import Keys, Universe, counts
from designer.relations.records.counting import TakesCounts
from designer.tables.plan import TablePlan
from tests.oracles.release_specimens import invented, table_of
from tests.oracles.spec_specimens import specimens

NO_COUNTS = [None, -0.0, -1, 1.5, 1j, "2", b"2", Decimal("-0"), Decimal("1.5"), float("nan"), math.inf, 2**53, 2**70]
NOTHING = [None, 5, "counts", b"counts", 2.5, object(), {1, 2}, (x for x in "abc"), [[1], [2, 3]], np.float64(1), print]


def data_for(made: FrozenMechanism) -> Any:
    return pd.DataFrame(table_of()) if isinstance(made, TablePlan) else invented(made)


def malformed(made: FrozenMechanism) -> list[Any]:
    """Requests whose form is wrong, whatever the numbers in them are."""
    if isinstance(made, TakesCounts):
        size, names = len(made.universe.elements), list(made.universe.elements)
        named = [
            {},
            dict.fromkeys([*names, "nobody"], 1),
            dict.fromkeys(names[1:], 1),
            OrderedDict.fromkeys(["nobody", *names[1:]], 1),
            pd.DataFrame({"a": [1], "b": [2]}),
            pd.Series([1] * size, index=[f"nobody {k}" for k in range(size)]),
            pl.DataFrame({"a": [1], "b": [2]}),
        ]
        wrong: list[Any] = [[entry, *[1] * (size - 1)] for entry in NO_COUNTS]
        held = [np.array(entries, dtype=object) for entries in wrong] + [dict(zip(names, own, strict=True)) for own in wrong]
        shapes = [[1] * (size + 1), [1] * (size - 1), np.ones((size, 2)), np.ones(0), [None] * size, [-0.0] * size]
        return [*NOTHING, *shapes, *wrong, *held, *named]
    if isinstance(made, OddsRatioTest):
        shapes = [[1, 2], [[1, 2, 3], [4, 5, 6]], {"a": 1}, pd.DataFrame({"a": [1, 2], "b": [3, 4]}), np.ones((3, 3))]
        return [*NOTHING, *shapes, *([[entry, 0], [0, 0]] for entry in NO_COUNTS)]
    frames = [{}, {"nobody": [1, 2]}, pd.DataFrame({"nobody": [1]}), pl.DataFrame({"nobody": [1]})]
    if isinstance(made, (MarginalMechanism, StructuredMechanism)):
        good = invented(made)
        first = next(iter(good))
        shorter, lacking = {**good, first: good[first][:-1]}, {name: good[name] for name in good if name != first}
        return [
            *NOTHING,
            *frames,
            *([shorter] if lacking else []),  # of a single column every length is right
            lacking,
            {**good, first: 5},
            pd.DataFrame(lacking),
            pl.DataFrame(lacking, strict=False),
        ]
    return [*NOTHING, *frames, [1, 2, 3]]


@pytest.mark.parametrize("name", list(specimens()))
def test_a_malformed_request_is_refused_by_the_words_of_release_and_costs_nothing(name: str, tmp_path: Path) -> None:
    made = specimens()[name]
    people = Ledger.create(tmp_path / "ledger").state("people", Total(epsilon=10**9, delta="1/2"), publishes=None)
    for given in malformed(made):
        with pytest.raises(InvalidProblem) as checked:
            made.check(given)
        with pytest.raises(InvalidProblem) as refused:
            made.release(given)
        assert str(checked.value) == str(refused.value), given
        try:
            people.release(made, given)
        except InvalidProblem as error:
            assert "spent" not in str(error)
        else:
            raise AssertionError(given)
    assert [entry.kind for entry in people.ledger.entries()] == ["opened", "stated"]


@pytest.mark.parametrize("name", list(specimens()))
def test_what_is_well_formed_passes(name: str) -> None:
    made = specimens()[name]
    made.check(data_for(made))


def asked() -> FrozenMechanism:
    return design(Problem(Workload(np.eye(3), None, ["a", "b", "c"]), metrics.add_remove(3, 0.5)), "laplace").mechanism


def _declared() -> dict[str, Any]:
    """Three counts in types that no number has, which are known before an entry is read."""
    days = np.array(["2026-01-01"] * 3, dtype="M8[D]")
    arrays: dict[str, Any] = {
        "days": days,
        "spans": days - days,
        "complex": np.array([1 + 0j, 2, 3]),
        "texts": np.array(["1", "2", "3"]),
        "bytes": np.array([b"1", b"2", b"3"]),
    }
    columns: dict[str, Any] = {
        "pandas days": pd.Series(days.astype("M8[s]")),
        "pandas complex": pd.Series(arrays["complex"]),
        "pandas texts": pd.Series(["1", "2", "3"], dtype="string"),
        "polars texts": pl.Series(["1", "2", "3"]),
        "polars days": pl.Series(days),
        "arrow texts": pa.chunked_array([["1", "2", "3"]]),
        "one array of arrow": pa.array(["1", "2", "3"]),
    }
    named = {"place": ["a", "b", "c"]}
    frames: dict[str, Any] = {
        "pandas frame": pd.DataFrame({**named, "count": columns["pandas texts"]}),
        "polars frame": pl.DataFrame({**named, "count": ["1", "2", "3"]}),
        "lazy frame": pl.LazyFrame({**named, "count": ["1", "2", "3"]}),
        "arrow table": pa.table({**named, "count": columns["arrow texts"]}),
    }
    return {**arrays, **columns, **{name: Counts(frame) for name, frame in frames.items()}}


def numbered() -> FrozenMechanism:
    """Elements that need no name, and may have one."""
    asked = Workload(np.eye(3), None, ["e0", "e1", "e2"])
    return design(Problem(asked, metrics.add_remove(3, 0.5)), "laplace").mechanism


def by_place() -> FrozenMechanism:
    """Elements that a column names."""
    asked = Workload(np.eye(3), keys=Keys(("place",), (("a",), ("b",), ("c",))))
    return design(Problem(asked, metrics.add_remove(3, 0.5)), "laplace").mechanism


@pytest.mark.parametrize("name", list(_declared()))
def test_counts_that_are_declared_to_be_no_numbers_cost_nothing(name: str, tmp_path: Path) -> None:
    given = _declared()[name]
    made = by_place() if isinstance(given, Counts) else numbered()
    people = Ledger.create(tmp_path / "ledger").state("people", Total(epsilon=5), publishes=None)
    for use in (made.check, made.release, lambda data: people.release(made, data)):
        with pytest.raises(InvalidProblem, match="must hold one nonnegative whole number") as refused:
            use(given)
        assert "spent" not in str(refused.value)
    assert [entry.kind for entry in people.ledger.entries()] == ["opened", "stated"]


@pytest.mark.parametrize("wrap", [list, lambda entries: np.array(entries, dtype=object), lambda e: pd.Series(e, dtype=object)])
@pytest.mark.parametrize(
    ("entries", "whole"),
    [
        ([1, 2, 3], True),
        ([Decimal("1.00"), Decimal("2E0"), Decimal(3)], True),
        ([np.int8(1), Fraction(2), 3.0], True),
        ([True, 2, 3], True),
        ([1, None, 3], False),
        ([None] * 3, False),
        ([1, "2", 3], False),
        ([Decimal("1.5"), 2, 3], False),
        ([Decimal("-0"), 2, 3], False),
        ([Decimal("sNaN"), 2, 3], False),
        ([Decimal("1E+999999"), 2, 3], False),
        ([-0.0, Fraction(2), 3], False),
        ([float("nan"), Fraction(2), 3], False),
        ([Fraction(1, 2), 2, 3], False),
        ([2**53, Fraction(2), 3], False),
        ([1j, 2, 3], False),
    ],
    ids=str,
)
def test_an_entry_counts_by_its_value_whatever_holds_it(entries: list[Any], whole: bool, wrap: Any) -> None:
    """A list, an array and a column of Python objects are read alike."""
    given = wrap(entries)
    if whole:
        made = counts(given, Universe.of_size(3))
        assert made.dtype == np.int64 and made.tolist() == [1, 2, 3]
        numbered().check(given)
        return
    with pytest.raises(InvalidProblem, match="must hold one nonnegative whole number"):
        counts(given, Universe.of_size(3))
    with pytest.raises(InvalidProblem, match="must hold one nonnegative whole number"):
        numbered().check(given)


def test_tables_of_types_that_hold_no_counts_cost_nothing() -> None:
    table = specimens()["marginals attributes"]
    assert isinstance(table, MarginalMechanism)
    shapes = {table.workload.names(subset): table.workload.shape(subset) for subset in table.workload.maximal.tuples()}
    given = Counts({names: np.full(shape, "1") for names, shape in shapes.items()})
    square = next(made for made in specimens().values() if isinstance(made, OddsRatioTest))
    wrong: list[tuple[FrozenMechanism, Any]] = [(table, given), *((square, np.full((2, 2), x)) for x in ("1", 1.0, None, 1j))]
    for made, data in wrong:
        for use in (made.check, made.release):
            with pytest.raises(InvalidProblem):
                use(data)
    for entry in NO_COUNTS:
        with pytest.raises(InvalidProblem):
            table.check(Counts({names: np.full(shape, entry) for names, shape in shapes.items()}))


def test_what_only_the_records_tell_is_spent_and_the_message_says_so(tmp_path: Path) -> None:
    people = Ledger.create(tmp_path / "ledger").state("people", Total(epsilon=5), publishes=None)
    for number, wrong in enumerate(({"place": ["nowhere"]}, {"place": [None, "a"]}, pd.DataFrame({"place": ["b", 1]}))):
        with pytest.raises(InvalidProblem, match=f"The budget stays spent: it was reserved in entry {3 + 2 * number}"):
            people.release(by_place(), wrong)
    assert [entry.kind for entry in people.ledger.entries()] == ["opened", "stated", *["reserved", "abandoned"] * 3]
    assert people.balance().spent.total.epsilon == 1.5


def test_records_of_a_wrong_form_cost_nothing_either(tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis")
    records = pd.DataFrame({"age": [0, 1], "sex": ["F", "M"], "place": ["here", "there"]})
    table = ibis.memtable(records)
    people = Ledger.create(tmp_path / "ledger").state("people", Total(epsilon=10**9, delta="1/2"), publishes=None)
    plan, tables = specimens()["table plan"], specimens()["marginals presence"]
    other = specimens()["marginals attributes"]
    wrong: list[tuple[FrozenMechanism, Any, dict[str, Any]]] = [
        (plan, table, {}),
        (plan, table.limit(1), {}),
        (plan, None, {}),
        (plan, records, {"entity": "person", "rows_per_entity": 2}),
        (tables, table.drop("age"), {}),
        (tables, table.distinct(), {}),
        (tables, table, {"entity": "person", "rows_per_entity": 2}),
        (tables, table, {"entity": "age"}),
        (other, table.filter(table["age"] > 0), {}),
        (other, table, {"entity": "age", "rows_per_entity": 2}),
        (asked(), table, {}),
        (specimens()["laplace uniform"], table, {"entity": "age", "rows_per_entity": 2}),
    ]
    for made, given, options in wrong:
        with pytest.raises(InvalidProblem):
            made.release(given, **options)
        with pytest.raises(InvalidProblem):
            people.release(made, given, **options)
    assert [entry.kind for entry in people.ledger.entries()] == ["opened", "stated"]
    tables.check(table)
    other.check(records)
