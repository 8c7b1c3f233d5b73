"""The loss of one record, of every type a value can have,
against what the engine's own aggregates do when that record is added."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem
from designer.tables import (
    Average,
    Condition,
    Count,
    CountDistinct,
    Groups,
    Key,
    Measure,
    PartitionSelection,
    Quantile,
    Sum,
    TablePlan,
    UnitSplitting,
)
from designer.tables.aggregates import cell_counts
from designer.tables.policies.policies import ConstantPolicy, GaussianSums, Piecewise, Splitting
from designer.tables.scans import numbers

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

CONTEXT = Context(prec=60)
EMP, X = Measure("emp"), Measure("x", "1/2", lower=-1000)
X_GROUPS = Groups(["k"], [["a"], ["7"], ["-1"], ["true"], ["false"], ["2020-02-29"], ["é"]])
SPLITTING = UnitSplitting([X], [5], "k", {"a": [2], "7": [3]})


def plan() -> TablePlan:
    """Every kind of query about a number `x`, a key `k`."""
    found = Groups([Key("k", 1)], selection=PartitionSelection.design("1/8", 1e-6, SPLITTING))
    return TablePlan(
        (
            Sum("sum", X_GROUPS, variance=3, measure=X),
            Sum("all", Groups(), (Condition("x", "!=", 5),), 5, X),
            Count("count", X_GROUPS, (Condition("x", ">", 5),), 7),
            Count("listed", X_GROUPS, (Condition("x", "in", (5, 16777217)),), 7),
            CountDistinct("ids", X_GROUPS, variance=11, of="x"),
            Average("mean", X_GROUPS, (), X, 13, 17),
            Quantile("median", X_GROUPS, (), X, 0.5, (0, 5, 10), Fraction(1, 4)),
            Sum("found", found, variance=19, measure=X),
        )
    )


def on_engine(**columns: Any) -> Any:
    """A table of one record, each column of the Arrow type given beside its value."""
    return ibis.memtable(pa.table({name: pa.array([value], type=kind) for name, (value, kind) in columns.items()}))


def charged(asked: TablePlan, table: Any) -> Fraction:
    """`change^2 step^2 / (2 variance)` over all aggregates, the change being from the empty table;
    rho where a cell of a quantile moves."""
    total = Fraction(0)
    for level in asked.levels:
        queries = [query for query in asked.noisy if query.groups == level]
        for key, found in (numbers(level, queries, table) if queries else {}).items():
            if level.selection is None and key not in level.place:
                continue
            total += sum((n * q.step) ** 2 / (2 * q.variance_of(key)) for q, n in zip(queries, found, strict=False))
            total += Fraction(found[-1]) ** 2 / (2 * level.selection.variance) if level.selection else 0
    for query in asked.queries:
        if isinstance(query, Quantile):
            cells = {key: counts for key, counts in cell_counts(query, table).items() if key in query.groups.place}
            total += query.rho * sum(bool(counts.any()) for counts in cells.values())
    return total


NUMBERS = [
    (5, pa.int64()), (np.int64(5000), pa.int64()), (np.int8(-7), pa.int8()), (np.uint64(2**64 - 1), pa.uint64()),
    (np.float64(5.25), pa.float64()), (np.float32(0.3), pa.float32()), (np.float16(2.5), pa.float32()),
    (np.float32(16777216), pa.float32()), (16777217, pa.int64()), (5.0, pa.float64()), (-0.0, pa.float64()),
    (math.inf, pa.float64()), (-math.inf, pa.float64()), (math.nan, pa.float64()), (None, pa.int64()), (None, pa.float64()),
    (Decimal("5.000"), pa.decimal128(18, 3)), (Decimal("5.00000000000000000001"), pa.decimal128(38, 20)),
    (Decimal("0.2499999999999999999"), pa.decimal128(38, 19)), (Decimal("123.456"), pa.decimal128(38, 30)),
    (Decimal("-12.25"), pa.decimal128(6, 2)), (None, pa.decimal128(6, 2)),
]  # fmt: skip
LABELS = [
    ("a", pa.string()), (np.str_("a"), pa.string()), ("A", pa.string()), ("a ", pa.string()), ("e\u0301", pa.string()),
    ("é", pa.string()), ("", pa.string()), (None, pa.string()), (7, pa.int64()), (np.int32(7), pa.int32()), (-1, pa.int8()),
    (np.uint8(7), pa.uint8()), (True, pa.bool_()), (np.bool_(False), pa.bool_()), (date(2020, 2, 29), pa.date32()),
    (np.datetime64("2020-02-29"), pa.date32()),
]  # fmt: skip


@pytest.mark.parametrize(("x", "kind"), NUMBERS, ids=repr)
def test_a_number_of_any_type_costs_what_the_engine_charges(x: Any, kind: Any) -> None:
    asked, stored = plan(), x.item() if isinstance(x, np.generic) else x
    assert asked.loss({"x": x, "k": "a"}) == charged(asked, on_engine(x=(stored, kind), k=("a", pa.string())))


@pytest.mark.parametrize(("k", "kind"), LABELS, ids=repr)
def test_a_key_of_any_type_costs_what_the_engine_charges(k: Any, kind: Any) -> None:
    asked, stored = plan(), k.item() if isinstance(k, np.generic) else k
    assert asked.loss({"x": 9, "k": k}) == charged(asked, on_engine(x=(9, pa.int64()), k=(stored, kind)))


@pytest.mark.parametrize(
    "nothing", [None, math.nan, np.float32("nan"), Decimal("nan"), Decimal("snan"), pd.NA, pd.NaT], ids=repr
)
def test_every_missing_value_counts_as_null(nothing: Any) -> None:
    asked = plan()
    number = nothing if nothing is None or not isinstance(nothing, (float, np.floating, Decimal)) else None
    assert asked.loss({"x": number, "k": "a"}) == charged(asked, on_engine(x=(None, pa.int64()), k=("a", pa.string())))
    assert X.units(nothing) == 0 == SPLITTING.splits({"x": nothing, "k": "a"}) - 1
    assert Key("k").label({"k": nothing}) is None
    assert not Condition("x", "present").meets({"x": nothing}) and not Condition("x", "!=", 5).meets({"x": nothing})
    assert GaussianSums({"x": 1}).exact({"x": nothing}) == 0


def test_numpy_integers_cost_what_python_integers_cost() -> None:
    asked = TablePlan((Sum("s", Groups(), variance=100, measure=Measure("x")),), UnitSplitting([Measure("x")], [50]))
    assert asked.loss({"x": np.int64(5000)}) == 125_000 == asked.loss({"x": 5000})
    assert asked.splitting is not None and asked.splitting.splits({"x": np.int64(5000)}) == 100
    assert asked.policy.exact(asked.amounts({"x": np.int64(5000)})) == 125_000


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.bool_(True),
        "5",
        b"5",
        5j,
        [5],
        {"x": 5},
        datetime(2020, 1, 1),
        date(2020, 1, 1),
        np.timedelta64(5),
        np.array(5),
        ...,
    ],
    ids=repr,
)
def test_what_no_column_of_numbers_holds_is_refused(value: Any) -> None:
    record = {"x": value, "k": "a", "emp": 1}
    columns = {"x": np.array([value, 1], dtype=object)}
    for call in (
        lambda: plan().loss(record),
        lambda: plan().amounts(record),
        lambda: X.units(value),
        lambda: SPLITTING.splits(record),
        lambda: SPLITTING.rows(record),
        lambda: Condition("x", ">", 5).meets({"x": [value] if isinstance(value, (bool, np.bool_)) else value}),
        lambda: PartitionSelection.design("1/8", 1e-6, SPLITTING).loss(record),
        lambda: Splitting(1, {"x": 5}).exact(record),
        lambda: GaussianSums({"x": 1})(columns),
    ):
        with pytest.raises(InvalidProblem, match=r"'x'|columns"):
            call()


@pytest.mark.parametrize("values", [["5", "nan"], [b"5"], [True, False], [5j], ["2020-01-01"]])
def test_columns_of_no_numbers_have_no_losses(values: list[Any]) -> None:
    given = np.array(values, dtype="datetime64[D]") if values == ["2020-01-01"] else np.array(values)
    for policy in (GaussianSums({"x": 1}), Splitting(1, {"x": 5})):
        with pytest.raises(InvalidProblem, match="holds no numbers"):
            policy({"x": given})


@pytest.mark.parametrize("value", [5j, b"a", time(1), pd.Timedelta(1), ["a"], "\ud800"], ids=repr)
def test_what_no_key_column_holds_is_refused(value: Any) -> None:
    record = {"x": 5, "k": value}
    for call in (plan().loss, Key("k").label, X_GROUPS.label, SPLITTING.splits, Key("k", 1).label):
        with pytest.raises(InvalidProblem, match=r"record\['k'\]"):
            call(record)


def test_columns_that_a_record_lacks_are_named() -> None:
    split = UnitSplitting([EMP], [50])
    for call in (
        lambda: plan().loss({"X": 5, "k": "a"}),
        lambda: plan().loss({"x": 5, "K": "a"}),
        lambda: plan().delta({"x": 5}),
        lambda: plan().amounts({"k": "a"}),
        lambda: split.splits({"Emp": 5000}),
        lambda: split.rows({}),
        lambda: Condition("emp", "present").meets({"Emp": 1}),
        lambda: Key("emp").label({}),
        lambda: TablePlan((Count("n", Groups(), (Condition("a", "==", 1), Condition("b", "==", 1)), 1),)).loss({"a": 2}),
        lambda: TablePlan((Sum("s", Groups(["k"], [["a"]]), variance=1, measure=EMP),)).loss({"k": "b", "Emp": 1}),
        lambda: TablePlan((CountDistinct("d", Groups(), variance=1, of="firm"),)).loss({"Firm": 1}),
    ):
        with pytest.raises(InvalidProblem, match="record: has no"):
            call()


def test_an_id_costs_whatever_its_type_and_none_costs_nothing() -> None:
    plan = TablePlan((CountDistinct("ids", Groups(), variance=1, of="id"),))
    ids = (2.5, np.float64(4), 7, "a", Decimal("NaN"), math.nan, None)
    assert [plan.loss({"id": given}) for given in ids] == [Fraction(1, 2)] * 5 + [0, 0]


def test_conditions_refuse_the_other_type() -> None:
    for condition, value in ((Condition("k", "==", "5"), 5), (Condition("k", "in", (5,)), "5"), (Condition("k", "!=", 5), "x")):
        with pytest.raises(InvalidProblem, match=r"record\['k'\]"):
            condition.meets({"k": value})
    assert Condition("k", "==", 1).meets({"k": True}) and not Condition("k", ">", 1).meets({"k": np.bool_(True)})


def test_keys_are_listed_in_every_type_that_a_column_has() -> None:
    given = [[np.int64(7)], [np.str_("a")], [np.bool_(True)], [date(2020, 2, 29)]]
    assert Groups(["k"], given).keys == (("7",), ("a",), ("true",), ("2020-02-29",))
    assert Groups(["k"], [[1.0], [Decimal("2.50")], [datetime(2020, 1, 1)]]).keys == (("1",), ("2.5",), ("2020-01-01",))
    for bad in (5j, None, math.inf):
        with pytest.raises(InvalidProblem, match="keys"):
            Groups(["k"], [[bad]])
    own = UnitSplitting([EMP], [50], "k", {True: [5], np.int64(7): [10]})
    assert [own.splits({"emp": 50, "k": k}) for k in (True, 7, "x")] == [10, 5, 1]
    with pytest.raises(InvalidProblem, match="own"):
        UnitSplitting([EMP], [50], "k", {5j: [5]})
    with pytest.raises(InvalidProblem, match="twice"):
        UnitSplitting([EMP], [50], "k", {1: [5], "1": [6]})


def test_pieces_refuse_keys_of_another_type_than_theirs() -> None:
    texts, codes = (Piecewise("k", {key: ConstantPolicy(3)}, ConstantPolicy(1)) for key in ("1", 1))
    assert [texts.exact({"k": k}) for k in ("1", "x", None, math.nan, pd.NA)] == [3, 1, 1, 1, 1]
    assert [codes.exact({"k": k}) for k in (1, np.int8(1), 2, None)] == [3, 3, 1, 1]
    for policy, key in ((texts, 1), (texts, True), (codes, "1"), (codes, 1.0), (codes, True), (codes, Decimal(1))):
        with pytest.raises(InvalidProblem, match="'k'"):
            policy.exact({"k": key})
        with pytest.raises(InvalidProblem, match="'k'"):
            policy({"k": np.array([key], dtype=object)})
    assert codes({"k": np.array([1, 2, None, math.nan], dtype=object)}).tolist() == [3, 1, 1, 1]


@pytest.mark.parametrize(("precision", "scale"), [(4, 1), (9, 4), (15, 2), (18, 3), (18, 17), (30, 12), (38, 20), (38, 30)])
def test_decimals_of_any_width_are_measured_and_compared_as_here(precision: int, scale: int) -> None:
    """Next to halves of a step, where one rounding more would show, and next to whole numbers."""
    generator = np.random.default_rng(precision * 100 + scale)
    most = 10 ** min(precision - scale, 7)
    halves = [Fraction(int(n), 4) for n in generator.integers(-4 * most, 4 * most, 300)]
    grid = [round(x * 10**scale) + int(d) for x, d in zip(halves, generator.integers(-2, 3, 300), strict=True)]
    values = [Decimal(n).scaleb(-scale, CONTEXT) for n in [*grid, 5 * 10**scale, 0] if abs(n) < 10**precision]
    table = ibis.memtable(pa.table({"x": pa.array([*values, None], type=pa.decimal128(precision, scale))}))
    for measure in (X, Measure("x"), Measure("x", "0.01", lower=-(10**6))):
        found = table.select(u=measure.expression(table)).to_pyarrow()["u"].to_pylist()
        assert found == [measure.units(x) for x in [*values, None]]
    for op in ("==", "!=", "<", "<=", ">", ">=", "present"):
        condition = Condition("x", op, None if op == "present" else 5)
        found = table.select(met=condition.expression(table)).to_pyarrow()["met"].to_pylist()
        assert found == [condition.meets({"x": x}) for x in [*values, None]]


def test_whole_numbers_of_any_width_are_compared_as_here() -> None:
    values = {
        "int8": [-128, 127, 5],
        "uint8": [255, 5, 0],
        "int64": [2**63 - 1, -(2**63), 2**53 - 1],
        "uint64": [2**64 - 1, 5, 0],
    }
    values |= {"float32": [5.0, 2.0**24, math.inf], "float64": [5.0, 2.0**53, -math.inf], "bool_": [True, False, None]}
    for kind, given in values.items():
        table = ibis.memtable(pa.table({"x": pa.array([*given, None], type=getattr(pa, kind)())}))
        for op, value in product(("==", "!=", "<", "<=", ">", ">="), (5, 1, -1, 300, 2**24 + 1, 1 - 2**53, 2**53 - 1)):
            condition = Condition("x", op, value)
            found = table.select(met=condition.expression(table)).to_pyarrow()["met"].to_pylist()
            assert found == [condition.meets({"x": x}) for x in [*given, None]]
