"""Levels of public keys that are not all keys: what no key lists is in a group of its own below every parent,
so that children add up."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem
from designer.files import spec
from designer.tables import (
    OTHERS,
    Average,
    Condition,
    Count,
    CountDistinct,
    Groups,
    Key,
    Measure,
    Quantile,
    Sum,
    TablePlan,
    UnitSplitting,
    hierarchy,
    nested_codes,
    tree,
)
from designer.tables.aggregates import cell_counts
from designer.tables.scans import numbers
from tests.oracles.records_tables import firms, on_duckdb

ibis = pytest.importorskip("ibis")
pytest.importorskip("pyarrow")

EMP = Measure("emp", upper=10**6)
ROWS = firms(400, seed=21)
LEVELS = hierarchy(["state", "county"], [["DE", 1], ["DE", 2], ["RI", 3]])
NESTED = nested_codes("naics", [2, 3, 4], ["1112", "236", "99"])


def exact(levels: tuple[Groups, ...], rows: Any, kind: Any = Sum, **own: Any) -> list[dict[Any, int]]:
    table = on_duckdb(rows)
    found = [numbers(level, [kind("q", level, variance=1, **own)], table) for level in levels]
    return [{key: counts.get(key, [0])[0] for key in level.keys or ()} for level, counts in zip(levels, found, strict=True)]


def test_1000_in_a_state_of_which_100_in_the_listed_county_stay_1000() -> None:
    rows = [{"id": i, "state": "DE", "county": 1 if i < 100 else 2, "naics": "11", "emp": 1, "pay": 0.0} for i in range(1000)]
    levels = hierarchy(["state", "county"], [["DE", 1]])
    plan = TablePlan(tuple(Count(f"n{i}", level, variance="1/1000") for i, level in enumerate(levels)))
    release = plan.release(on_duckdb(rows))
    answers = np.concatenate([release[f"n{i}"].values for i in range(3)])
    made = tree(levels).estimate(answers, np.ones(len(answers)))
    expected = {"": 1000, "DE": 1000, OTHERS: 0, f"DE/{1}": 100, f"DE/{OTHERS}": 900, f"{OTHERS}/{OTHERS}": 0}
    # Noise of variance 1/1000 is not 0 with probability below 1e-200.
    assert dict(zip(tree(levels).labels, made.round(6).tolist(), strict=True)) == expected


@pytest.mark.parametrize("levels", [LEVELS, NESTED], ids=["columns", "codes"])
@pytest.mark.parametrize("where", [(), (Condition("emp", ">", 5),)], ids=str)
def test_children_add_up_to_their_parents_whatever_is_listed(levels: tuple[Groups, ...], where: Any) -> None:
    forest = tree(levels)
    for kind, own in ((Sum, {"measure": EMP}), (Count, {})):
        found = exact(levels, ROWS, kind, where=where, **own)
        totals = np.array([number for level in found for number in level.values()])
        assert (forest.totals(totals[~forest.inner]) == totals).all()
        met = [row for row in ROWS if all(condition.meets(row) for condition in where)]
        everybody = sum(EMP.units(row["emp"]) for row in met) if kind is Sum else len(met)
        assert sum(found[0].values()) == everybody


@pytest.mark.parametrize("level", [*LEVELS, *NESTED], ids=lambda level: level.sentence())
def test_the_engine_puts_records_where_a_loop_puts_them(level: Groups) -> None:
    table = on_duckdb(ROWS)
    inside: dict[Any, list[Any]] = {}
    for row in ROWS:
        label = level.label(row)
        assert label is not None
        inside.setdefault(label, []).append(row)
    distinct = {key: [len({row["id"] for row in rows})] for key, rows in inside.items()}
    assert numbers(level, [CountDistinct("d", level, variance=1, of="id")], table) == distinct
    cells = cell_counts(Quantile("q", level, (), EMP, 0.5, (0, 10), Fraction(1)), table)
    present = {key: sum(row["emp"] is not None for row in rows) for key, rows in inside.items()}
    assert {key: int(counts.sum()) for key, counts in cells.items()} == {k: n for k, n in present.items() if n}


def test_which_groups_there_are() -> None:
    assert LEVELS[0].keys == ((),) and LEVELS[1].keys == (("DE",), ("RI",), (OTHERS,))
    assert LEVELS[2].keys == (("DE", "1"), ("DE", "2"), ("DE", OTHERS), ("RI", "3"), ("RI", OTHERS), (OTHERS, OTHERS))
    assert NESTED[0].keys == (("11",), ("23",), ("99",), (OTHERS,))
    assert NESTED[1].keys == (
        ("11", "111"), ("11", OTHERS), ("23", "236"), ("23", OTHERS), ("99", OTHERS), (OTHERS, OTHERS),
    )  # fmt: skip
    labels = [NESTED[2].label({"naics": code}) for code in ("1112", "1119", "111", "11", "1", None, "2361", "9999")]
    assert labels == [
        ("11", "111", "1112"), ("11", "111", OTHERS), ("11", "111", OTHERS), ("11", OTHERS, OTHERS), (OTHERS, OTHERS, OTHERS),
        (OTHERS, OTHERS, OTHERS), ("23", "236", OTHERS), ("99", OTHERS, OTHERS),
    ]  # fmt: skip


def test_a_text_shorter_than_a_prefix_has_no_label_for_a_record_as_for_the_engine() -> None:
    texts = ["", "1", "11", "1119", "ab"]
    table = ibis.memtable({"naics": texts})
    for prefix in (1, 2, 3):
        key = Key("naics", prefix)
        told = [key.label({"naics": text}) for text in texts]
        assert told == [text[:prefix] if len(text) >= prefix else None for text in texts]
        assert table.select(told=key.plain(table)).to_pyarrow()["told"].to_pylist() == told


def test_a_record_of_an_unlisted_key_pays_for_the_group_of_all_others() -> None:
    plan = TablePlan(tuple(Sum(f"s{i}", level, variance=50, measure=EMP) for i, level in enumerate(LEVELS)))
    for state, county in (("DE", 1), ("DE", 9), ("ZZ", 1), (None, None)):
        assert plan.loss({"state": state, "county": county, "emp": 10}) == 3
    own = Count("n", LEVELS[1], variance=(1, 2, 5))
    assert [own.loss({"state": s}) for s in ("DE", "RI", "ZZ", None)] == [
        Fraction(1, 2),
        Fraction(1, 4),
        Fraction(1, 10),
        Fraction(1, 10),
    ]


def test_the_rate_of_all_others_counts_every_threshold_that_one_of_them_may_have() -> None:
    """ZZ, which no key lists, has the largest threshold; the noise is least among the others."""
    split = UnitSplitting([EMP], [10], "state", {"ZZ": [1000], "DE": [20]})
    plan = TablePlan((Sum("s", LEVELS[1], (), (50, 50, 50), EMP),), split)
    assert plan.rho == Fraction(1000**2, 100)
    assert plan.loss({"state": "ZZ", "emp": 1000}) == plan.rho
    every = hierarchy(["state"], [["DE"], ["ZZ"]])[1]
    assert TablePlan((Sum("s", every, (), (50, 200, 50), EMP),), split).rho == Fraction(1000**2, 100)


def test_specs_keep_the_groups_of_all_others(tmp_path: Any) -> None:
    plan = TablePlan((Count("a", LEVELS[2], variance=1), Average("b", NESTED[1], (), EMP, 1, 1)))
    loaded = spec.load(plan.save(tmp_path / "plan.json"))
    assert loaded == plan and loaded.queries[0].groups.label({"state": "DE", "county": 7}) == ("DE", OTHERS)


def test_levels_whose_children_do_not_add_up_are_no_tree() -> None:
    bare = hierarchy(["state", "county"], [["DE", 1], ["RI", 3]], others=False)
    assert [level.keys for level in bare[1:]] == [(("DE",), ("RI",)), (("DE", "1"), ("RI", "3"))]
    codes = nested_codes("naics", [2, 3], ["111"], others=False)
    assert [level.keys for level in codes] == [(("11",),), (("111",),)]
    for levels in (
        bare,
        LEVELS[::-1],
        (LEVELS[0], LEVELS[2]),
        (LEVELS[0], hierarchy(["state"], [["CT"]])[1], LEVELS[2]),
        (),
        codes,
    ):
        with pytest.raises(InvalidProblem, match="levels"):
            tree(levels)
    found = Groups(["state"], keys=[["DE"], [OTHERS]])
    assert tree((Groups(), found)).labels == ("", "DE", OTHERS)


def test_the_order_of_a_tree_is_that_of_the_answers() -> None:
    forest = tree(LEVELS)
    assert forest.labels == tuple("/".join(key) for level in LEVELS for key in level.keys or ())
    parents = ["/".join(label.split("/")[:-1]) for label in forest.labels[1:]]
    assert [forest.labels[i] for i in forest.parents[1:]] == parents
    assert [len(list(group)) for _, group in groupby(forest.level)] == [1, 3, 6]


@pytest.mark.parametrize("keys", [[[OTHERS, "1"]], [["DE", "1"], [OTHERS, "2"]]], ids=str)
def test_keys_below_all_others_are_refused(keys: Any) -> None:
    with pytest.raises(InvalidProblem, match="all others"):
        Groups(["state", Key("county")], keys)


def test_a_key_that_is_no_row_of_a_label_for_each_column_is_refused() -> None:
    """A text is no row of its letters, however many columns there are."""
    for columns, key in ((["a"], "x"), (["a", "b"], "xy"), (["a"], ("x", "y")), (["a", "b"], ("x",)), (["a"], 3), (["a"], ())):
        with pytest.raises(InvalidProblem, match=rf"keys: .* is not a row of {len(columns)} labels"):
            Groups(columns, [key])  # type: ignore[list-item]
