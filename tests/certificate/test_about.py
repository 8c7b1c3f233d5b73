"""Words of the maker: what they may be, and that they decide nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from designer import About, InvalidProblem, Problem, Workload, design, metrics
from designer.base.schema import bundle
from designer.certificate.frozen import named_answers, to_spec
from designer.limits import LONGEST_ABOUT
from tests.oracles.spec_specimens import specimens

WORDS = {name: f"the {name}, Zürich 東京" for name in LONGEST_ABOUT}
EVERYTHING = About(**WORDS, units={"*": "persons"})
MADE = design(Problem(Workload([[1, 1, 0], [0, 0, 1]], ["north", "share"]), metrics.uniform(3, 0.5)), "laplace").mechanism
SCHEMA = jsonschema.Draft202012Validator(bundle(About.schema))


def test_plain_data_and_back() -> None:
    assert About.from_dict(EVERYTHING.to_dict()) == EVERYTHING != About() and EVERYTHING
    assert About().to_dict() == {} and not About()
    assert About(units="km").units == {"*": "km"} and not About(units={})
    assert list(EVERYTHING.to_dict()) == [*LONGEST_ABOUT, "units"]
    SCHEMA.validate(EVERYTHING.to_dict())


def test_units_are_found_by_the_name_of_the_query_or_for_all() -> None:
    about = About(units={"share": "percent", "*": "persons"})
    assert (about.unit("share"), about.unit("north"), About().unit("north")) == ("percent", "persons", "")


def test_nobody_changes_them_afterwards_and_copies_are_equal() -> None:
    given = {"*": "persons"}
    about = About("Commuters", units=given)
    given["*"] = "cars"
    assert about.unit("x") == "persons" and hash(about) == hash(About("Commuters", units={"*": "persons"}))
    with pytest.raises(TypeError):
        about.units["*"] = "cars"  # type: ignore[index]
    assert pickle.loads(pickle.dumps(about)) == copy.deepcopy(about) == about


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"title": "a\nb"}, "about.title: 'a\\\\nb' holds a line break"),
        ({"title": 3}, "about.title: 3 is no text"),
        ({"title": "a" * 201}, "about.title: 'a.* has 201 characters; give 0 to 200"),
        ({"contact": "a\u202eb"}, "about.contact: .* cannot be seen"),
        ({"units": 3}, "about.units: 3 is no text and no mapping"),
        ({"units": {"north": ""}}, r"about.units\['north'\]: '' has 0 characters; give 1 to 80"),
        ({"units": {"north": "a" * 81}}, "has 81 characters; give 1 to 80"),
        ({"units": {"": "persons"}}, "about.units: '' is no name of a query"),
        ({"units": {3: "persons"}}, "about.units: 3 is no name of a query"),
        ({"units": dict.fromkeys(map(str, range(10_001)), "x")}, "about.units: has 10001 entries; give at most 10000"),
    ],
)
def test_what_is_no_line_of_text_is_refused(given: Mapping[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        About(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"titel": "x"}, "about.titel: is unknown; perhaps 'title' is meant; the keys are"),
        ({"title": ""}, "about.title: '' says nothing; leave the key out"),
        ({}, "about: {} says nothing"),
        ({"units": {}}, "about.units: {} says nothing"),
        (["x"], r"about: \['x'\] says nothing; give some of the keys"),
    ],
)
def test_plain_data_are_closed(given: Any, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        About.from_dict(given)
    assert not SCHEMA.is_valid(given)


def test_words_stay_through_notes_and_copies_and_are_taken_away_by_none() -> None:
    said = MADE.described(EVERYTHING)
    assert said.annotated({"family": "laplace"}).about is EVERYTHING
    assert pickle.loads(pickle.dumps(said)).about == EVERYTHING and not pickle.loads(pickle.dumps(MADE)).about
    assert not said.described(About()).about and "about" not in to_spec(said.described(About()))


def test_units_of_answers_that_there_are_not_are_refused() -> None:
    with pytest.raises(InvalidProblem, match=r"about.units: 'nort' is the name of no query; perhaps 'north' is meant"):
        MADE.described(About(units={"nort": "persons"}))
    plan = specimens()["table plan"]
    assert named_answers(plan)
    with pytest.raises(InvalidProblem, match=r"about.units: 'nobody' is the name of no query"):
        plan.described(About(units={"nobody": "persons"}))
    plan.described(About(units={named_answers(plan)[0]: "persons"}))


def test_only_an_about_describes() -> None:
    with pytest.raises(InvalidProblem, match=r"about: {'title': 'x'} is no About; give About\(title=...\)"):
        MADE.described({"title": "x"})  # type: ignore[arg-type]
