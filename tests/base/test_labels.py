"""What one value is: equal numbers are one label whatever holds them, and no other values are."""

from __future__ import annotations

import datetime
import math
import random
import uuid
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from designer.base.labels import Labels, label_of, listed_label, number_of, texts_of, values_of, whole_of

pd = pytest.importorskip("pandas")
DAY = datetime.date(2020, 1, 2)
ALIKE: dict[str, list[Any]] = {
    "1": [1, 1.0, np.int8(1), np.uint64(1), np.float32(1), Decimal("1.00"), Fraction(1), "1", pa.scalar(1), b"1"],
    "0": [0, 0.0, -0.0, np.float64(-0.0), Decimal("-0.00"), Fraction(0), "0"],
    "true": [True, np.bool_(True), "true"],
    "false": [False, np.bool_(False), "false"],
    "0.1": [0.1, Decimal("0.1"), Decimal("0.10"), Fraction(1, 10), "0.1"],
    "5e-324": [5e-324, "5e-324"],
    str(2**70): [2**70, Decimal(2**70), Fraction(2**70), str(2**70)],
    "2020-01-02": [
        DAY,
        pd.Timestamp(DAY),
        datetime.datetime(2020, 1, 2),
        np.datetime64("2020-01-02"),
        np.datetime64("2020-01-02T00:00", "ns"),
        "2020-01-02",
    ],
    "01": ["01"],
    "1/3": [Fraction(1, 3)],
    "(0, 1]": [pd.Interval(0, 1)],
    "00000000-0000-0000-0000-000000000001": [uuid.UUID(int=1)],
    "2020-01-02 00:00:00.000000001": [pd.Timestamp("2020-01-02 00:00:00.000000001")],
    "2020-01-02 00:00:00+00:00": [datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)],
}
NONE = [
    *(None, math.nan, np.float32("nan"), Decimal("nan"), Decimal("snan"), pd.NA, pd.NaT, np.datetime64("nat")),
    *(math.inf, -math.inf, Decimal("inf"), 2.0**53, -(2.0**53), 1e300, 10**500, Decimal("1e999999"), Decimal("1e-999999")),
    *([1], {"a": 1}, np.array([1])),
]


def test_values_that_are_equal_have_one_label() -> None:
    for label, values in ALIKE.items():
        assert {label_of(value) for value in values} == {label} == set(texts_of(values))
        assert {listed_label(value) for value in values} == {label}
        assert Labels(ALIKE).names(values) == [label] * len(values)


def test_missing_values_and_what_may_stand_for_several_have_none() -> None:
    assert [label_of(value) for value in NONE] == [None] * len(NONE) == Labels(["nan", "inf", "None"]).names(NONE)


@pytest.mark.parametrize("seed", range(3))
def test_the_label_of_a_value_does_not_depend_on_what_comes_before_it(seed: int) -> None:
    """`True`, 1 and 1.0 are equal to Python, and so are moments of two time zones."""
    zone = datetime.timezone(datetime.timedelta(hours=1))
    moments = [datetime.datetime(2020, 1, 2, 12, tzinfo=datetime.UTC), datetime.datetime(2020, 1, 2, 13, tzinfo=zone)]
    values = [*(value for own in ALIKE.values() for value in own), *NONE, *moments]
    alone = [texts_of([value])[0] for value in values]
    order = random.Random(seed).sample(range(len(values)), len(values))
    assert texts_of([values[place] for place in order]) == [alone[place] for place in order]
    assert len(set(texts_of(moments))) == 2
    known = Labels(["1", "true"])
    assert known.names([values[place] for place in order]) == [known.name(values[place]) for place in order]


LISTED: list[tuple[list[str], Any, str | None]] = [
    (["1", "2"], "1.0", "1"),
    (["1", "2"], "01", None),
    (["1", "2"], "1e0", None),
    (["1", "2"], True, None),
    (["1", "2"], 2**70, None),
    (["01", "1"], "01", "01"),
    (["01", "1"], 1, "1"),
    (["01", "02"], 1, None),
    (["1", "other"], "1.0", None),
    (["1", "other"], 1.0, "1"),
    (["1.0", "2.0"], 1, "1.0"),
    (["1", "1.0"], 1, None),
    (["1", "1.0"], "1.0", "1.0"),
    (["1E2", "100"], 100, "100"),
    (["1E2", "100"], "1E2", "1E2"),
    (["0E1", "0E2"], 0, None),
    (["0.3"], 0.1 + 0.2, None),
    (["True", "False"], True, "True"),
    (["true", "false"], "TRUE", "true"),
    (["true", "false"], 1.0, "true"),
    (["true", "false"], 0, "false"),
    (["true", "false"], 2, None),
    (["true", "1"], 1, "1"),
    (["true", "1"], True, "true"),
    (["true", "True"], True, None),
    (["2020-01-02"], "2020-01-02 00:00:00", "2020-01-02"),
    (["2020-01-02"], datetime.datetime(2020, 1, 2, 3), None),
    (["2020-01-02"], "2020-01-02 03:00:00", None),
    (["2020-13-02"], "2020-13-02", "2020-13-02"),
]


def test_a_value_is_the_listed_label_that_it_spells() -> None:
    for listed, value, expected in LISTED:
        assert Labels(listed).name(value) == Labels(reversed(listed)).name(value) == expected, (listed, value)


def test_a_label_that_stands_for_no_value_makes_no_numbers_texts() -> None:
    assert Labels(["1", "(all others)"], ["(all others)"]).names(["1.0", 1, "(all others)"]) == ["1", "1", "(all others)"]


def test_labels_of_a_list_are_told_apart() -> None:
    """No value has the labels of two, by brute force over pairs."""
    for one, other in combinations(ALIKE, 2):
        assert not {label_of(value) for value in ALIKE[one]} & {label_of(value) for value in ALIKE[other]}


def test_numbers_are_the_nearest_floats_and_what_is_none_is_missing() -> None:
    given = [1, True, "2.5", " 3 ", "1_0", "1,5", Decimal("0.1"), Fraction(1, 3), 2**2000, -(2**2000), np.timedelta64(1, "s")]
    assert list(map(number_of, given)) == [1, None, 2.5, 3, None, None, 0.1, 1 / 3, math.inf, -math.inf, None]
    assert [number_of(value) for value in (None, math.nan, Decimal("nan"), pd.NA, [1], DAY, "text")] == [None] * 7
    assert list(map(whole_of, [1.0, 2**63 - 1, 2**63, 0.5, "7.0", True, 2.0**53])) == [1, 2**63 - 1, None, None, 7, None, None]


def test_a_text_with_half_a_surrogate_pair_is_written_as_utf_8_can() -> None:
    assert texts_of(["\ud800", "é"]) == ["\\ud800", "é"]


def test_moments_of_an_array_stay_moments() -> None:
    assert texts_of(values_of(np.array(["2020-01-02", "NaT"], "datetime64[ns]"))) == ["2020-01-02", None]
