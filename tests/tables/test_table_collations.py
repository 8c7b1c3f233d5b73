"""Texts are told apart by their bytes, whatever a collation of the engine says: one
record moves one group by its own amount."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from designer import InvalidProblem, MarginalWorkload
from designer.domains.marginals_tables import tables_of_database
from designer.problem.domain import Domain
from designer.tables import (
    Condition,
    Count,
    CountDistinct,
    Groups,
    Key,
    Measure,
    PartitionSelection,
    Quantile,
    Sum,
    UnitSplitting,
)
from designer.tables.aggregates import cell_counts
from designer.tables.policies.policies import ConstantPolicy, Piecewise
from designer.tables.scans import numbers

ibis = pytest.importorskip("ibis")
pytest.importorskip("pyarrow")

TEXTS = ["a", "A", "a ", " a", "á", "a\u0301", "ß", "SS", "", "\\x61", "a\0", "01", "1", "İ", "👩\u200d👩"]
ROWS = [(text, 10**6 + i) for i, text in enumerate(TEXTS)] + [(None, 5), ("a", 1)]
COLLATIONS = ["", "collate nocase", "collate noaccent", "collate nocase.noaccent", "default nocase.noaccent"]
EMP = Measure("emp")
GROUPS = Groups(["k"], [[text] for text in TEXTS])


def collated(collation: str) -> Any:
    """ROWS in a table of the embedded engine, its texts under a collation of the column or of the whole engine."""
    engine = ibis.duckdb.connect()
    if collation.startswith("default"):
        engine.raw_sql(f"set default_collation = '{collation.split()[1]}'")
    engine.raw_sql(f"create table t (k varchar {'' if collation.startswith('default') else collation}, emp bigint)")
    engine.con.executemany("insert into t values (?, ?)", ROWS)
    return engine.table("t")


@pytest.fixture(scope="module", params=COLLATIONS)
def table(request: pytest.FixtureRequest) -> Any:
    return collated(request.param)


def by_loop(groups: Groups) -> dict[Any, list[int]]:
    rows = [{"k": k, "emp": emp} for k, emp in ROWS]
    found: dict[Any, list[int]] = {}
    for row in rows:
        if (label := groups.label(row)) is not None:
            found.setdefault(label, [0])[0] += row["emp"]
    return found


def test_the_embedded_engine_would_merge_what_a_collation_calls_equal() -> None:
    """The danger that the tests below are about: one record moves a million to another label."""
    rows = collated("collate nocase")
    known = rows.filter(rows.k.notnull())
    merged = known.group_by("k").agg(emp=known.emp.sum()).to_pyarrow().to_pydict()
    alone = {text: sum(emp for k, emp in ROWS if k == text) for text in TEXTS}
    assert len(merged["emp"]) == len(TEXTS) - 1 and alone["a"] + alone["A"] in merged["emp"]
    assert sorted(rows.filter(rows.k == "a").emp.to_pyarrow().to_pylist()) == [1, 10**6, 10**6 + 1]


@pytest.mark.parametrize("prefix", [None, 1, 2])
def test_groups_are_told_apart_by_bytes(table: Any, prefix: int | None) -> None:
    level = Groups([Key("k", prefix)], selection=PartitionSelection.design("1/8", 1e-6))
    found = numbers(level, [Sum("s", level, variance=1, measure=EMP)], table)
    assert {key: sums[:1] for key, sums in found.items()} == by_loop(level)


def test_conditions_compare_bytes(table: Any) -> None:
    for op, value in (("==", "a"), ("!=", "a"), ("in", ("A", "\\x61")), ("in", ("á",)), ("==", "")):
        condition = Condition("k", op, value)
        found = table.filter(condition.expression(table)).emp.to_pyarrow().to_pylist()
        assert sorted(found) == sorted(emp for k, emp in ROWS if condition.meets({"k": k}))


def test_distinct_texts_are_counted_by_bytes(table: Any) -> None:
    for where in ((), (Condition("emp", ">", 0),)):
        query = CountDistinct("d", Groups(), where, variance=1, of="k")
        assert numbers(Groups(), [query], table) == {(): [len(TEXTS)]}


def test_thresholds_by_label_and_cells_are_by_bytes(table: Any) -> None:
    split = UnitSplitting([EMP], [10**6], "k", {"a": [10**5], "á": [7]})
    found = dict(table.select(emp=table.emp, m=split.count(table)).to_pyarrow().to_pandas().itertuples(index=False))
    assert found == {emp: split.splits({"k": k, "emp": emp}) for k, emp in ROWS}
    cells = cell_counts(Quantile("q", GROUPS, (), EMP, 0.5, (0, 10), Fraction(1)), table)
    assert {key: int(counts.sum()) for key, counts in cells.items()} == {(t,): 1 + (t == "a") for t in TEXTS}


def test_pieces_of_a_policy_are_by_bytes(table: Any) -> None:
    policy = Piecewise("k", {"a": ConstantPolicy(3), "SS": ConstantPolicy(5)}, ConstantPolicy(1))
    found = dict(table.select(emp=table.emp, loss=policy.expression(table)).to_pyarrow().to_pandas().itertuples(index=False))
    assert found == {emp: float(policy.exact({"k": k})) for k, emp in ROWS}


def test_marginals_are_counted_by_bytes(table: Any) -> None:
    domain = Domain.of({"k": TEXTS})
    found = tables_of_database(MarginalWorkload.of(domain, [("k",)]), table.filter(table.k.notnull()))
    assert found[0,].tolist() == [2] + [1] * (len(TEXTS) - 1)


def test_zeros_of_either_sign_are_one_value_of_a_marginal() -> None:
    domain = Domain.of({"x": ["0.0", "1.5"]})
    for zeros in ([0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]):
        table = ibis.memtable({"x": [*zeros, 1.5]})
        assert tables_of_database(MarginalWorkload.of(domain, [("x",)]), table)[0,].tolist() == [3, 1]


def test_enums_group_by_their_texts() -> None:
    engine = ibis.duckdb.connect()
    engine.raw_sql(
        "create type size as enum ('small', 'LARGE', 'large'); create table t as select 'large'::size as k, 7 as emp"
    )
    level = Groups(["k"], [["large"], ["LARGE"]])
    query = Sum("s", level, (Condition("k", "!=", "LARGE"),), 1, EMP)
    assert numbers(level, [query], engine.table("t")) == {("large",): [7]}


def test_key_columns_whose_texts_depend_on_more_than_the_value_are_refused() -> None:
    """Instants (the session's time zone), nested and unknown types."""
    engine = ibis.duckdb.connect()
    for kind in ("timestamptz", "time", "uuid", "json", "varchar[]", "blob", "bit"):
        engine.raw_sql(f"create or replace table t (k {kind}, emp int)")
        with pytest.raises(InvalidProblem, match="keys are texts"):
            numbers(GROUPS, [Count("n", GROUPS, variance=1)], engine.table("t"))


@pytest.mark.parametrize("name", ["mysql", "oracle", "mssql", "sqlite", "some other"])
def test_engines_whose_comparison_is_not_known_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import designer.relations.records.engines as engine_text

    monkeypatch.setattr(engine_text, "engine_of", lambda column: name)
    for query in (Sum("s", GROUPS, variance=1, measure=EMP), Count("c", Groups(), (Condition("k", "==", "a"),), 1)):
        with pytest.raises(InvalidProblem, match="byte by byte"):
            numbers(query.groups, [query], collated(""))
    codes = Groups(["emp"], [[5]])  # whole numbers are equal, or not, on every engine
    assert numbers(codes, [Count("c", codes, variance=1)], collated(""))["5",] == [1]


def test_tables_of_no_engine_are_refused() -> None:
    table = ibis.table({"k": "string", "emp": "int64"}, name="t")
    with pytest.raises(InvalidProblem, match="no engine"):
        numbers(GROUPS, [Sum("s", GROUPS, variance=1, measure=EMP)], table)
