"""One record that is inserted, removed or spoiled moves its own label and no other, whatever holds the records: counted
without noise by what every kind of release counts with."""

from __future__ import annotations

import datetime
import itertools
import math
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from designer import Domain, read_problem
from designer.base.errors import InvalidProblem
from designer.domains.marginals_tables import require_table, tables_of_columns, tables_of_database
from designer.domains.marginals_workload import MarginalWorkload
from designer.problem.histogram import OTHERS, Universe
from designer.relations.records.counting import records_of, require_tabulable, tabulated
from designer.relations.records.record_files import open_table
from designer.relations.records.row_unit import RowUnit
from designer.tables import Condition, Count, CountDistinct, Groups, Measure, Quantile, Sum, TablePlan
from tests.oracles.spelled_values import HELD, misread

pd = pytest.importorskip("pandas")
Values = list[Any]
DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
TYPES: dict[str, tuple[Values, list[str]]] = {
    "whole numbers": ([1, 2, 1, 3, 2, 1], ["1", "2", "3"]),
    "booleans": ([True, False, True, True, False, True], ["true", "false"]),
    "booleans as pandas spells them": ([True, False, True, True, False, True], ["True", "False"]),
    "numbers": ([0.5, 1.0, 0.5, 2.25, 1.0, 0.5], ["0.5", "1", "2.25"]),
    "days": ([DAYS[0], DAYS[1], DAYS[0], DAYS[2], DAYS[1], DAYS[0]], [day.isoformat() for day in DAYS]),
    "moments": ([pd.Timestamp(DAYS[k]) for k in (0, 1, 0, 2, 1, 0)], [day.isoformat() for day in DAYS]),
    "texts": (["a", "01", "a", "é", "01", "a"], ["a", "01", "é"]),
}
ODD: dict[str, Any] = {
    "missing": None,
    "NaN": math.nan,
    "boolean": True,
    "text": "odd",
    "infinite": math.inf,
    "huge": 2**70,
    "huge float": 1e300,
    "minus zero": -0.0,
    "Decimal": Decimal("1.00"),
    "Fraction": Fraction(1, 3),
    "subnormal": 5e-324,
    "a list": [1],
}


# Categories of pandas that are equal are one, whose value is the first of them: True for 1.
MERGED = {
    "whole numbers": ("boolean",),
    "numbers": ("boolean",),
    "booleans": ("minus zero", "Decimal"),
    "booleans as pandas spells them": ("minus zero", "Decimal"),
}


def with_types(values: Values) -> Any:
    return pd.DataFrame({"k": values}).convert_dtypes()


def written_by_pandas(values: Values) -> Any:
    import io

    file = io.BytesIO()
    pd.DataFrame({"k": values}).to_parquet(file)
    return pa.parquet.read_table(pa.BufferReader(file.getvalue()))


AT_HAND: dict[str, Callable[[Values], Any]] = {
    "rows": lambda values: [{"k": value} for value in values],
    "lists": lambda values: {"k": values},
    "arrays": lambda values: {"k": np.array(values)},
    "series": lambda values: {"k": pd.Series(values)},
    "pandas": lambda values: pd.DataFrame({"k": values}),
    "pandas, objects": lambda values: pd.DataFrame({"k": pd.Series(values, dtype=object)}),
    "pandas, nullable": with_types,
    "pandas, categories": lambda values: pd.DataFrame({"k": pd.Categorical(values)}),
    "pandas of Arrow": lambda values: pd.DataFrame(
        {"k": pd.Series(pa.array(values), dtype=pd.ArrowDtype(pa.array(values).type))}
    ),
    "polars": lambda values: pl.DataFrame({"k": values}),
    "polars from pandas": lambda values: pl.from_pandas(pd.DataFrame({"k": values})),
    "polars, lazy": lambda values: pl.LazyFrame({"k": values}),
    "Arrow": lambda values: pa.table({"k": values}),
    "Arrow from pandas": lambda values: pa.Table.from_pandas(pd.DataFrame({"k": values})),
    "Arrow, dictionary": lambda values: pa.table({"k": pa.array(values).dictionary_encode()}),
    "Parquet that pandas wrote": written_by_pandas,
}
FOLDER = tempfile.TemporaryDirectory()
FILES = itertools.count()


def opened(write: Callable[[str], Any], suffix: str) -> Any:
    path = Path(FOLDER.name) / f"{next(FILES)}{suffix}"
    write(str(path))
    return open_table(path)


def stored(values: Values) -> Any:
    """A table of an engine of its own, of the type that Arrow finds for all values."""
    engine, held = ibis.duckdb.connect(), pa.table({"k": values})
    engine.con.register("held", held)
    engine.con.execute("CREATE TABLE records AS SELECT * FROM held")
    return engine.table("records")


def typed(frame: Any) -> Any:
    """A polars frame of which a Parquet file holds the values: of 128-bit whole numbers polars 2.1 writes 16 bytes."""
    if frame["k"].dtype in (pl.Object, getattr(pl, "Int128", pl.Object)):
        raise TypeError
    return frame


ENGINES: dict[str, Callable[[Values], Any]] = {
    "memtable of pandas": lambda values: ibis.memtable(pd.DataFrame({"k": values})),
    "memtable of polars": lambda values: ibis.memtable(pl.DataFrame({"k": values})),
    "memtable of Arrow": lambda values: ibis.memtable(pa.table({"k": values})),
    "memtable of pandas, renamed": lambda values: ibis.memtable(pd.DataFrame({"j": values})).select(k=ibis._.j),
    "DuckDB": stored,
    "relation of DuckDB": lambda values: duckdb.from_arrow(pa.table({"k": values})),
    "Parquet of pandas": lambda values: opened(pd.DataFrame({"k": values}).to_parquet, ".parquet"),
    "Parquet of polars": lambda values: opened(typed(pl.DataFrame({"k": values})).write_parquet, ".parquet"),
    "Parquet of Arrow": lambda values: opened(lambda path: pa.parquet.write_table(pa.table({"k": values}), path), ".parquet"),
    "CSV of pandas": lambda values: opened(lambda path: pd.DataFrame({"k": values}).to_csv(path, index=False), ".csv"),
    # of two columns, because polars writes a missing value of one as a blank line, which is no record
    "CSV of polars": lambda values: opened(pl.DataFrame({"k": values, "j": values}).write_csv, ".csv"),
}


OFTEN = ("memtable of pandas", "DuckDB", "relation of DuckDB", "Parquet of pandas", "CSV of polars")


def with_rest_at_night(names: Iterable[str], *often: str) -> list[Any]:
    return [name if name in often else pytest.param(name, marks=pytest.mark.nightly) for name in names]


def by_universe(data: Any, domain: Domain) -> list[int]:
    return tabulated(records_of(data), Universe(domain.elements, domain.keys), fixed=False).tolist()


def by_entity(data: Any, domain: Domain) -> list[int]:
    """Each record is of an entity of its own, of which one row counts."""
    held = records_of(data)
    values = held["k"] if isinstance(held, dict) else held
    if not isinstance(held, dict):
        return by_universe(data, domain)
    own = {"k": values, "id": list(range(len(values)))}
    row = RowUnit(entity="id", rows_per_entity=1)
    return tabulated(own, Universe(domain.elements, domain.keys), row, fixed=False).tolist()


def by_marginals(data: Any, domain: Domain) -> list[int]:
    workload, records = MarginalWorkload.of(domain, [("k",)]), records_of(data)
    counted = tables_of_database if hasattr(records, "to_pyarrow_batches") else tables_of_columns
    rows = RowUnit().rows(records, ["k"]) if counted is tables_of_database else records
    return counted(workload, rows)[0,].tolist()


def by_histogram(data: Any, domain: Domain) -> list[int]:
    return domain.histogram([{"k": v} for v in data["k"]] if isinstance(data, dict) else data).tolist()


def by_plan(data: Any, domain: Domain) -> list[int]:
    """Counts, by the same groups; those of all others last, where they are listed."""
    groups = Groups(["k"], [[label] for label in domain.values[0]])
    plan = TablePlan((Count("c", groups, variance=1),), unlisted="drop")
    numbers = plan._exact(records_of(data), RowUnit()).levels[groups]
    return [numbers.get((label,), [0])[0] for label in domain.values[0]]


def domain_of(kind: str, others: bool) -> Domain:
    listed = TYPES[kind][1]
    return Domain(("k",), ((*listed, OTHERS) if others else tuple(listed),), "count as others" if others else "drop")


def held(container: Callable[[Values], Any], values: Values) -> Any:
    """None where the container takes no such values: then there is no data set."""
    try:
        return container(values)
    except (pa.ArrowException, KeyError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return None


def moved(count: Any, container: Any, kind: str, others: bool, places: tuple[int, ...], odd: list[str]) -> int:
    """How many data sets with an odd record were read; each has the counts of those without, and one more at most."""
    domain, values, read = domain_of(kind, others), TYPES[kind][0], 0
    without = count(container(values), domain)
    assert sum(without) == len(values), (kind, without)
    for name in odd:
        for place in places:
            data = held(container, [*values[:place], ODD[name], *values[place:]])
            if data is None or (container is AT_HAND["pandas, categories"] and name in MERGED.get(kind, ())):
                continue
            read += 1
            more = np.subtract(count(data, domain), without).tolist()
            assert (min(more) >= 0 and sum(more) <= 1 and sum(more) == 1) or (not others and not any(more)), (name, place, more)
    return read


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("container", AT_HAND)
def test_an_odd_record_moves_no_other_label(container: str, kind: str) -> None:
    for count, others in ((by_universe, True), (by_marginals, False), (by_histogram, True))[
        : 3 if container == "pandas" else 2
    ]:
        if held(AT_HAND[container], TYPES[kind][0]) is not None:
            assert moved(count, AT_HAND[container], kind, others, (3,), list(ODD)) or container in ("Arrow",)


@pytest.mark.parametrize("container", with_rest_at_night(ENGINES, *OFTEN))
def test_an_odd_record_moves_no_other_label_of_an_engine(container: str) -> None:
    for kind in ("whole numbers", "booleans", "moments"):
        assert moved(by_universe, ENGINES[container], kind, True, (3,), ["missing", "minus zero", "huge float"])
    if not container.startswith("CSV"):  # whose cells no type was found for yet
        assert moved(by_histogram, ENGINES[container], "whole numbers", True, (3,), ["missing", "minus zero", "huge float"])
    assert moved(by_marginals, ENGINES[container], "numbers", False, (3,), ["missing", "text"])
    assert moved(by_plan, ENGINES[container], "numbers", False, (3,), ["missing", "text"])


@pytest.mark.parametrize("kind", ["whole numbers", "booleans", "days", "moments", "texts"])
@pytest.mark.parametrize("container", ["pandas", "arrays", "polars"])
def test_an_odd_record_moves_no_other_group_of_a_plan(container: str, kind: str) -> None:
    odd = list(ODD) if container == "pandas" and kind == "whole numbers" else ["missing"]
    assert moved(by_plan, AT_HAND[container], kind, False, (3,), odd)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("container", {**AT_HAND, **ENGINES})
@pytest.mark.parametrize("count", [by_universe, by_entity, by_marginals, by_plan])
def test_an_odd_record_moves_no_other_label_however_it_is_counted(count: Any, container: str, kind: str) -> None:
    made = {**AT_HAND, **ENGINES}[container]
    if held(made, TYPES[kind][0]) is not None:
        for others in (False,) if count is by_plan else (False, True):
            moved(count, made, kind, others, (0, 3, 6), list(ODD))


def test_an_engine_reads_a_value_as_the_label_that_it_is_elsewhere() -> None:
    for values in HELD:
        assert not misread(ibis.memtable(pa.table({"k": values})), values)


def test_keys_of_a_plan_are_numbers_however_they_are_written() -> None:
    groups = Groups(["k"], [["0.5"], [1], [OTHERS]])
    plan = TablePlan((Count("c", groups, variance=1),), unlisted="count as others")
    for values in (
        ["0.50", "1.0", "1", "01", None],
        [0.5, 1.0, 1.0, 7.0, None],
        [Decimal(k) for k in ("0.5", "1.0", "1", "7", "8")],
    ):
        for data in (ibis.memtable(pa.table({"k": values})), pd.DataFrame({"k": values})):
            found = plan._exact(data, RowUnit(name="row")).levels[groups]
            assert {key: numbers[0] for key, numbers in found.items()} == {("0.5",): 1, ("1",): 2, (OTHERS,): 2}
    assert [groups.label({"k": value}) for value in ("0.50", 1.0, "01")] == [("0.5",), ("1",), (OTHERS,)]


BASE = {"k": [1, 2, 1, 2], "n": [10, 20, 30, 40], "id": [7, 7, 8, 9], "b": [True, False, True, True]}
BOTH = Groups(["k"], [["1"], ["2"]])
MONEY = Measure("n", upper=100)
PLAN = TablePlan(
    (
        Count("c", BOTH, variance=1),
        Sum("s", BOTH, variance=1, measure=MONEY),
        CountDistinct("d", BOTH, variance=1, of="id"),
        Quantile("q", BOTH, measure=MONEY, candidates=(0, 15, 25, 35, 100), rho=1),
        Count("w", Groups(["b"], [["true"], ["false"]]), (Condition("n", ">=", 20),), variance=1),
    ),
    unlisted="drop",
)
SHORT = TablePlan(PLAN.queries[:3], unlisted="drop")


def said_shortly(data: Any) -> dict[Any, Any]:
    return {(BOTH, key): own for key, own in SHORT._exact(data, RowUnit(name="row")).levels[BOTH].items()}


def said(data: Any) -> dict[Any, Any]:
    exact = PLAN._exact(data, RowUnit(name="row"))
    listed = {(level, key): exact.levels[level].get(key) for level in exact.levels for key in level.keys or ()}
    return listed | {key: own.tolist() for key, own in exact.cells["q"].items() if key in BOTH.place}


@pytest.mark.parametrize(
    ("container", "odd"),
    [
        (pd.DataFrame, ["missing", "text"]),
        *(pytest.param(made, list(ODD), marks=pytest.mark.nightly) for made in (pd.DataFrame, dict, pl.DataFrame)),
    ],
)
@pytest.mark.parametrize("column", BASE)
def test_a_value_that_cannot_be_read_moves_nothing_of_the_others(container: Any, odd: list[str], column: str) -> None:
    """The odd record is in a group that is not listed (k = 3), but where its own key is odd."""
    without = said(container(BASE))
    assert without[BOTH, ("1",)][:3] == [2, 40, 2] and without[BOTH, ("2",)][:3] == [2, 60, 2]
    record = {"k": 3, "n": 50, "id": 6, "b": None}
    for value in (ODD[name] for name in odd):
        data = held(container, {name: [*own, value if name == column else record[name]] for name, own in BASE.items()})
        listed = (column == "k" and value in (True, Decimal(1))) or (column == "b" and value in (True, False))
        if data is not None and not listed:
            assert said(data) == without, (column, value)


def test_texts_of_a_typed_table_are_numbers_where_they_spell_some() -> None:
    """As in a CSV file: a column of texts in Parquet need not have been one before a record was."""
    table = ibis.memtable(pa.table({**BASE, "n": ["10", " 20.0 ", "+3e1", "40"]}))
    assert said(table) == said(BASE)
    odd = ibis.memtable(pa.table({name: [*own, own[0]] for name, own in BASE.items()} | {"n": ["10", "20", "30", "40", "n/a"]}))
    assert said(odd)[BOTH, ("1",)][:2] == [3, 40]


@pytest.mark.parametrize("make", [lambda v: ibis.memtable(pa.table({"k": v})), lambda v: {"k": v}])
def test_decimals_are_keys_by_their_value(make: Any) -> None:
    values = [Decimal("1.00"), Decimal("2.50"), Decimal("100.00"), Decimal("-0.00"), None]
    groups = Groups(["k"], [["1"], ["2.5"], ["100"], ["0"]])
    plan = TablePlan((Count("c", groups, variance=1),), unlisted="drop")
    found = plan._exact(make(values), RowUnit(name="row")).levels[groups]
    assert [found[key][0] for key in groups.keys or ()] == [1, 1, 1, 1]


def test_a_decimal_that_duckdb_writes_without_a_zero_is_the_label_with_one() -> None:
    groups = Groups(["k"], [["0.5"], ["-0.25"]])
    plan = TablePlan((Count("c", groups, variance=1),), unlisted="drop")
    table = ibis.memtable(pa.table({"k": pa.array([Decimal("0.50"), Decimal("-0.25")], pa.decimal128(2, 2))}))
    assert table.k.cast("string").execute().tolist() in (["0.50", "-0.25"], [".50", "-.25"])
    assert list(plan._exact(table, RowUnit(name="row")).levels[groups].values()) == [[1], [1]]


LONG = [2**62 + k for k in range(4)]
LONG_HELD: dict[str, tuple[Any, bool]] = {
    name: (made, exact)
    for name, made, exact in (
        ("pandas", lambda held: pd.DataFrame(held), False),
        ("arrays", lambda held: {name: np.array(own, object if "x" in own else None) for name, own in held.items()}, False),
        ("series", lambda held: {name: pd.Series(own) for name, own in held.items()}, False),
        ("pandas, objects", lambda held: pd.DataFrame(held).astype({"id": object}), False),
        ("pandas, categories", lambda held: pd.DataFrame({**held, "id": pd.Categorical(held["id"])}), False),
        ("Arrow from pandas", lambda held: pa.Table.from_pandas(pd.DataFrame(held)), False),
        ("memtable of pandas", lambda held: ibis.memtable(pd.DataFrame(held)), False),
        ("memtable of Arrow from pandas", lambda held: ibis.memtable(pa.Table.from_pandas(pd.DataFrame(held))), False),
        ("Parquet of pandas", lambda held: opened(pd.DataFrame(held).to_parquet, ".parquet"), False),
        ("pandas, nullable", lambda held: pd.DataFrame(held).astype({"id": "Int64"}), True),
        ("pandas of Arrow", lambda held: pd.DataFrame(held).astype({"id": pd.ArrowDtype(pa.int64())}), True),
        ("Arrow", lambda held: pa.table(held), True),
        ("polars", lambda held: pl.DataFrame(held), True),
        ("memtable of Arrow", lambda held: ibis.memtable(pa.table(held)), True),
        ("Parquet of Arrow", lambda held: opened(lambda path: pa.parquet.write_table(pa.table(held), path), ".parquet"), True),
        ("lists", dict, True),
    )
}


@pytest.mark.parametrize("name", with_rest_at_night(LONG_HELD, "pandas", "memtable of pandas", "Parquet of pandas", "lists"))
def test_long_identifiers_are_exact_where_a_missing_one_leaves_them_so(name: str) -> None:
    """In types of NumPy a missing one makes floats of all, so that they are identifiers nowhere; nor are floats anywhere."""
    made, exact = LONG_HELD[name]
    if made is dict or exact:
        assert said_shortly(made({**BASE, "id": LONG}))[BOTH, ("1",)][2] == 2
        assert said_shortly(made({**BASE, "id": list(map(float, LONG))}))[BOTH, ("1",)][2] == 0 or made is not dict
        return
    whole = {name: [*own, own[0]] for name, own in {**BASE, "id": LONG, "n": [2**60, 20, 30, 40]}.items()}
    one_missing = {**whole, "id": [*LONG, None], "n": [*whole["n"][:4], None]}
    one_a_text = {**whole, "id": [*LONG, "x"]}
    found = [said_shortly(made(data))[BOTH, ("1",)][:3] for data in (whole, one_missing)]
    assert found == [[3, 230, 0], [3, 130, 0]]
    with suppress(pa.ArrowException):
        assert said_shortly(made(one_a_text))[BOTH, ("1",)][:3] == [3, 230, 1]


def of_duckdb(kind: str, *values: object) -> Any:
    engine = ibis.duckdb.connect()
    engine.con.execute(f"CREATE TABLE records (k {kind})")
    engine.con.executemany("INSERT INTO records VALUES (?)", [[value] for value in values])
    return engine.table("records")


def in_parquet(table: Any) -> Any:
    return opened(lambda path: pa.parquet.write_table(table, path), ".parquet")


LONG_DECIMALS = pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal256(50, 2))
NO_LABELS: dict[str, tuple[Callable[[], Any], str]] = {
    "bytes": (lambda: of_duckdb("BLOB", b"1", b"2"), "binary"),
    "bytes in Parquet": (lambda: in_parquet(pa.table({"k": [b"1", b"2"]})), "binary"),
    "lists": (lambda: of_duckdb("INTEGER[]", [1], [2]), "array"),
    "moments of a zone": (lambda: of_duckdb("TIMESTAMPTZ", "2020-01-01 00:00:00+00"), "timestamp"),
    "short floats in memory": (lambda: ibis.memtable(pa.table({"k": pa.array(np.float16([1, 2]))})), "float16"),
    "long decimals in memory": (lambda: ibis.memtable(pa.table({"k": LONG_DECIMALS})), "decimal"),
}
if hasattr(pl, "Int128"):  # polars 1.0 has none
    NO_LABELS["128-bit numbers in Parquet of polars"] = (
        lambda: opened(pl.DataFrame({"k": pl.Series([1, 2], dtype=pl.Int128)}).write_parquet, ".parquet"),
        "binary",
    )


@pytest.mark.parametrize("name", NO_LABELS)
def test_keys_of_a_type_without_labels_are_refused_by_their_schema(name: str) -> None:
    made, kind = NO_LABELS[name]
    domain, data = domain_of("whole numbers", False), made()
    workload = MarginalWorkload.of(domain, [("k",)])
    asked = [lambda count=count: count(data, domain) for count in (by_universe, by_marginals, by_plan)]
    asked += [
        lambda: require_tabulable(data, Universe(domain.elements, domain.keys), RowUnit(name="row"), fixed=False),
        lambda: require_table(workload, data, RowUnit(name="row"), fixed=False),
    ]
    for ask in asked:
        with pytest.raises(InvalidProblem, match=f"column 'k' is of type {kind}"):
            ask()


def test_decimals_that_duckdb_misreads_are_refused(tmp_path: Path) -> None:
    """Of more than 38 digits in Parquet files it makes other numbers: 16777216.0 of 1.00."""
    pa.parquet.write_table(pa.table({"k": LONG_DECIMALS}), tmp_path / "d.parquet")
    with pytest.raises(InvalidProblem, match="decimals of more than 38 digits"):
        open_table(tmp_path / "d.parquet")
    with pytest.raises(InvalidProblem, match="decimals of more than 38 digits"):
        RowUnit().rows(ibis.duckdb.connect().read_parquet(tmp_path / "d.parquet"), ["k"])


@pytest.mark.parametrize("kind", ["UBIGINT", "HUGEINT", "DECIMAL(38, 0)"])
def test_whole_keys_beyond_63_bits_are_the_same_everywhere(kind: str) -> None:
    values = [1, 2**63 + 5, 1]
    domain = Domain(("k",), (("1", str(2**63 + 5)),), "drop")
    arrow = pa.array(values, pa.uint64() if kind == "UBIGINT" else pa.decimal128(38, 0))
    for data in (of_duckdb(kind, *values), pa.table({"k": arrow}), ibis.memtable(pa.table({"k": arrow}))):
        for count in (by_universe, by_marginals, by_plan):
            assert count(data, domain) == [2, 1]


def test_rows_need_not_have_all_columns() -> None:
    domain = domain_of("whole numbers", False)
    assert by_universe([{"k": 1}, {"j": 1}, {"k": 2}], domain) == [1, 1, 0]
    assert domain.histogram([{"k": 1}, {"j": 1}, {"k": 2}]).tolist() == [1, 1, 0]


@pytest.mark.parametrize("section", ["invariant", "workload", "relation"])
def test_codes_of_a_partition_are_texts(section: str, tmp_path: Path) -> None:
    """0E1 and 0E2 are equal as numbers, "1" and "01" too."""
    codes = ["0E1", "0E2", "01", "1", "1E2", "100"]
    (tmp_path / "e.csv").write_text("name,code\n" + "".join(f"e{k},{code}\n" for k, code in enumerate([*codes, *codes])))
    sections = {
        "invariant": '[workload]\nbuilder = "identity"\n[invariant]\npartition = "code"\n[relation]\nepsilon = 1.0\n',
        "workload": '[workload]\npartition = "code"\n[relation]\nmetric = "uniform"\nepsilon = 1.0\n',
        "relation": '[workload]\nbuilder = "identity"\n[relation]\nmetric = "partition"\nlabels = "code"\nepsilon = 1.0\n',
    }
    (tmp_path / "p.toml").write_text(f'[elements]\ntable = "e.csv"\nnames = ["name"]\n{sections[section]}')
    problem = read_problem(tmp_path / "p.toml").problem
    if section == "workload":
        assert list(problem.workload.queries) == codes
    elif section == "relation":
        assert list(problem.relation.labels) == [*codes, *codes]
    else:
        assert problem.relation.invariant.matrix.tolist() == np.hstack([np.eye(6), np.eye(6)]).tolist()
