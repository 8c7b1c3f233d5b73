"""Constructors of JSON Schema: what a validator of its own accepts and refuses by them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from designer.base.errors import InvalidSpec
from designer.base.schema import (
    BUDGETS,
    COUNT,
    Fragment,
    Named,
    all_keys,
    bundle,
    keys,
    list_of,
    number,
    or_null,
    record,
    refer,
    text,
)


def fits(fragment: Fragment, value: Any) -> bool:
    """As a library says that knows nothing of the constructors."""
    schema = bundle(fragment)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def test_a_count_is_a_whole_number_from_one_on() -> None:
    assert [value for value in (-1, 0, 1, 2, 1.5, "1", None) if fits(COUNT, value)] == [1, 2]


def test_a_list_may_be_empty_only_where_that_is_said() -> None:
    assert not fits(list_of(number()), []) and fits(list_of(number()), [1])
    assert fits(list_of(number(), least=0), [])
    assert [length for length in range(6) if fits(list_of(number(), 2, 4), [1] * length)] == [2, 3, 4]
    assert not fits(list_of(number(), distinct=True), [1, 1]) and fits(list_of(number(), distinct=True), [1, 2])


def test_a_list_says_no_limit_that_holds_anyway() -> None:
    assert set(list_of(number(), least=0)) == {"type", "items"}


def test_a_record_needs_its_keys_and_has_no_others() -> None:
    point = record({"x": number()}, {"name": or_null(text())})
    assert (keys(point), all_keys(point)) == ({"x"}, {"x", "name"})
    assert fits(point, {"x": 1}) and fits(point, {"x": 1, "name": None})
    assert not fits(point, {"name": "a"}) and not fits(point, {"x": 1, "y": 2})


def test_what_is_named_stands_once_and_what_holds_itself_ends() -> None:
    tree = Named("tree", record({"budgets": BUDGETS}, {"below": list_of(refer("tree"))}))
    assert set(bundle(or_null(tree))["$defs"]) == {"tree", "budgets", "positive_budget"}
    assert fits(or_null(tree), {"budgets": [1], "below": [{"budgets": ["inf", 2]}]})
    assert not fits(or_null(tree), {"budgets": [1], "below": [{"budgets": [0]}]})


def test_a_reference_without_a_definition_and_a_name_of_two_fragments_are_refused() -> None:
    with pytest.raises(InvalidSpec, match=r"refers to \['nothing'\], which nothing defines"):
        bundle(list_of(refer("nothing")))
    with pytest.raises(InvalidSpec, match="two different fragments are called 'one'"):
        bundle(record({"a": Named("one", text()), "b": Named("one", number())}))
