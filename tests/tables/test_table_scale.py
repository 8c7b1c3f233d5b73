"""Many groups: only listed ones travel, noise of many laws costs little, keys are looked up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer.sampling import integer_gaussian as discrete_gaussian
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.tables import Condition, Count, Groups, Key, Measure, Quantile, Sum, TablePlan, aggregates, scans
from designer.tables.aggregates import cell_counts, exact_numbers
from designer.tables.answers import Answer
from designer.tables.exact_sums import limbs, totals
from designer.tables.scans import numbers

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")


class Keys(tuple):  # type: ignore[type-arg]
    """Keys that may be walked through once or twice, but not searched."""

    def __contains__(self, key: object) -> bool:
        raise AssertionError("a linear search")

    index = __contains__  # type: ignore[assignment]


def test_an_answer_is_looked_up() -> None:
    keys = [(str(i), "x") for i in range(1000)]
    answer = Answer("n", ("a", "b"), Keys(keys), np.arange(1000.0))
    assert [answer[key] for key in keys[::100]] == list(range(0, 1000, 100))
    assert answer[999, "x"] == 999


def test_variances_above_four_are_sums_that_need_no_summing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The closed form against the sum of all terms; 1 - 8 pi^2 v exp(-2 pi^2 v)
    at worst is 1 up to the last digit of a float."""
    variances = [Fraction(401, 100), Fraction(5), Fraction(33, 2), Fraction(700), Fraction(30000)]
    law = DiscreteGaussian(variances)
    expected = []
    for v in variances:
        z = np.arange(-math.ceil(14 * math.sqrt(v)), math.ceil(14 * math.sqrt(v)) + 1)
        weights = np.exp(-(z**2) / (2 * float(v)))
        expected.append((z**2 * weights).sum() / weights.sum())
    summed: list[int] = []
    energy = discrete_gaussian._energy
    monkeypatch.setattr(discrete_gaussian, "_energy", lambda variance, z: summed.append(z) or energy(variance, z))
    np.testing.assert_allclose(law.variance(), expected, rtol=1e-13)
    assert not summed


def test_one_law_is_summed_once_however_many_keys_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    law, summed = DiscreteGaussian([Fraction(1, 3), Fraction(2)] * 500), list[int]()
    energy = discrete_gaussian._energy
    monkeypatch.setattr(discrete_gaussian, "_energy", lambda variance, z: summed.append(z) or energy(variance, z))
    found = law.variance()
    assert len(summed) < 100
    assert (found == np.tile(DiscreteGaussian([Fraction(1, 3), Fraction(2)]).variance(), 500)).all()


def travelled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rows that leave the engine, collected."""
    rows, fetched = list[int](), aggregates.fetched

    def counted(expression: Any) -> Any:
        found = fetched(expression)
        rows.append(len(found["k0"]))
        return found

    for room in (aggregates, scans):
        monkeypatch.setattr(room, "fetched", counted)
    return rows


TYPES: dict[str, tuple[Any, list[Any]]] = {
    "text": (pa.string(), ["a", "A", "á", "a ", "", "x'); --", "%", "\\", "\0", "ñ", None, "other"]),
    "whole": (pa.int64(), [7, -1, 0, 10**15, None, 5]),
    "boolean": (pa.bool_(), [True, False, None]),
    "date": (pa.date32(), [0, 18321, None]),
}


def test_limbs_of_large_amounts_add_up_and_stay_small() -> None:
    """Engines that sum in 64 bits get two limbs of each amount: every one is below 2^27, whatever its sign."""
    values = [2**52 - 1, -(2**52 - 1), 2**40 + 3, -1, -(2**27), 5] + [2**52 - 1] * 50
    table = ibis.memtable(pa.table({"x": pa.array(values, pa.int64())}))
    parts = limbs(table.x, 2**52 - 1)
    columns = table.select(**{f"limb{k}": part for k, part in enumerate(parts)}).to_pyarrow().to_pydict()
    assert len(parts) == 2 and max(abs(limb) for own in columns.values() for limb in own) < 2**27
    assert totals([[sum(own)] for own in columns.values()]) == [sum(values)]
    assert len(limbs(table.x, 2**27 - 1)) == 1


def test_groups_whose_labels_agree_as_texts_are_one_group() -> None:
    """An engine may tell apart what its texts do not: the numbers of both are added, and no record is lost."""
    level = Groups(["k"], [("1",), ("2",)])
    found = {"k0": ["1", "2", "1", None], "a0": [2, 3, 5, 7], "a1": [1, 1, 1, 1]}
    parts = [Count("n", level, variance=1), Count("m", level, variance=1)]
    assert exact_numbers(level, parts, [["a0"], ["a1"]], found) == {("1",): [7, 2], ("2",): [3, 1]}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("joins", [True, False])
def test_listed_keys_of_every_type_are_found_in_the_engine(kind: str, joins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed are all labels but the last; a joined table of them and a list of literals find the same groups as Python does."""
    for room in (aggregates, scans):
        monkeypatch.setattr(room, "joins", lambda _: joins)
    type_, values = TYPES[kind]
    array = pa.array(values, type_)
    given = array.to_pylist()
    table = ibis.memtable(pa.table({"k": pa.concat_arrays([array, array]), "emp": pa.array(range(2 * len(given)))}))
    labels = [Key("k").label({"k": value}) for value in given]
    listed = [(label,) for label in labels[:-1] if label is not None]
    level, rows = Groups(["k"], listed), travelled(monkeypatch)
    found = numbers(level, [Count("n", level, variance=1)], table)
    assert {key: found[key] for key in listed} == {key: [2] for key in listed}
    cells = cell_counts(Quantile("q", level, (), Measure("emp"), 0.5, (0, 5), "1/4"), table)
    assert {key: int(cells[key].sum()) for key in listed} == dict.fromkeys(listed, 2)
    dialects_differ = kind == "text" and not joins  # in how they write some of these: then nothing is left out
    assert rows[0] == len(set(labels) if dialects_differ else listed)


@pytest.mark.parametrize("joins", [True, False])
def test_unlisted_groups_stay_in_the_engine(joins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (aggregates, scans):
        monkeypatch.setattr(room, "joins", lambda _: joins)
    count = 20_000
    table = ibis.memtable(
        pa.table(
            {
                "a": pa.array(np.arange(count) % 5000),
                "b": pa.array([f"b{i % 3}" for i in range(count)]),
                "emp": pa.array(np.arange(count)),
            }
        )
    )
    listed = [(str(i), f"b{i % 3}") for i in range(50)] + [("-1", "b0"), ("x", "b1")]
    level, rows = Groups(["a", "b"], listed), travelled(monkeypatch)
    queries = [Count("n", level, variance=1), Sum("s", level, (Condition("emp", ">", 7),), 1, Measure("emp"))]
    found = numbers(level, queries, table)
    a, b, emp = np.arange(count) % 5000, np.arange(count) % 3, np.arange(count)
    for key in listed:
        inside = (a == int(key[0])) & (b == int(key[1][1])) if key[0] != "x" else np.zeros(count, dtype=bool)
        assert found.get(key, [0, 0]) == [int(inside.sum()), int(emp[inside & (emp > 7)].sum())]
    assert rows == [sum(key in found for key in listed)] if joins else rows[0] <= 3 * len(listed)
    plan = TablePlan((*queries, Count("prefix", Groups([Key("b", 2)], [["b0"], ["zz"]]), variance=1)), unlisted="drop")
    released = plan.simulate(1, seed=3, data=table)[0]
    assert released["n"].keys == tuple(listed) and abs(released["prefix"]["zz"]) < 40
    assert max(rows) <= 3 * len(listed)
