"""Product domains against plain enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer import Domain, InvalidProblem

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@given(shapes, st.randoms(use_true_random=False))
def test_histogram_counts_records_in_the_order_of_the_elements(sizes: list[int], random) -> None:
    domain = Domain.of({f"a{i}": size for i, size in enumerate(sizes)})
    rows = list(product(*domain.values))
    records = [dict(zip(domain.attributes, random.choice(rows), strict=True)) for _ in range(20)]
    expected = [sum(tuple(r.values()) == row for r in records) for row in rows]
    assert domain.histogram(records).tolist() == expected
    assert domain.size == len(rows) == len(domain.elements) == len(set(domain.elements))
    assert domain.shape == tuple(sizes)


def test_axis_and_code() -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    assert (domain.axis("age"), domain.code("age", 2), domain.code("sex", "M")) == (1, 2, 1)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, "no attributes"),
        ({"a": []}, "attribute 'a'"),
        ({"a": 0}, "attribute 'a'"),
        ({"a": -3}, "attribute 'a'"),
        ({"a": True}, "attribute 'a'"),
        ({"a": 2.5}, "attribute 'a'"),
        ({"a": None}, "attribute 'a'"),
        ({"a": "FM"}, "attribute 'a'"),
        ({"a": {"x": 1}}, "attribute 'a'"),
        ({"a": ["x", "x"]}, "each once"),
        ({"a": [1, "1"]}, "each once"),
        ({"a": 10**12}, "attribute 'a'"),
        ({"a": 10**400}, "attribute 'a'"),
    ],
)
def test_bad_domains_are_refused(attributes: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidProblem, match=text) as refusal:
        Domain.of(attributes)
    assert len(str(refusal.value)) < 500


def test_an_attribute_twice_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="appears twice"):
        Domain(("a", "a"), (("0", "1"), ("0", "1")))


@pytest.mark.parametrize("record", [{"age": 1}, {"sex": "F", "age": 99_991_001}, {"sex": "canary", "age": 0}])
def test_a_record_outside_the_domain_is_refused_without_being_shown(record: dict[str, object]) -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    with pytest.raises(InvalidProblem) as refusal:
        domain.histogram([{"sex": "F", "age": 0}, record])
    assert (
        str(refusal.value) == "records: a record lacks an attribute or has a value outside the domain; clean the records first."
    )


@pytest.mark.parametrize("value", [np.int64(9), "9", 9.5, None])
def test_unknown_values_are_named(value: object) -> None:
    with pytest.raises(InvalidProblem, match="is not a value of 'age'") as refusal:
        Domain.of({"age": 3}).code("age", value)
    assert "np." not in str(refusal.value)
