"""Words of the maker in specs and releases: they travel, are sealed, and are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import About, InvalidSpec, load, verify_release
from designer.certificate.frozen import FrozenMechanism, seal, to_spec
from designer.files.releases import SAID, release_document, save_release, sealed
from designer.files.schema import release_file_schema, spec_schema
from designer.files.spec import from_spec
from tests.oracles.release_specimens import releases
from tests.oracles.spec_specimens import one_of_each_format

ABOUT = About(
    "Commuters", "Register of residents", "2024", "City of Zürich", "office@example.org", "one resident", {"*": "persons"}
)
SPECS, RELEASES = (jsonschema.Draft202012Validator(schema()) for schema in (spec_schema, release_file_schema))
FIRST_OF_FORMAT = list(one_of_each_format().values())


def described(name: str) -> tuple[FrozenMechanism, Any]:
    maker, released = releases()[name]
    return maker.described(ABOUT), released


@pytest.mark.parametrize("name", FIRST_OF_FORMAT)
def test_words_come_back_from_a_spec_and_from_a_release(name: str, tmp_path: Path) -> None:
    maker, released = described(name)
    spec = maker.save(tmp_path / "spec.json")
    SPECS.validate(json.loads(spec.read_text()))
    assert load(spec, allow_vacuous=True).about == ABOUT
    path = save_release(maker, released, tmp_path / "release.json")
    document = json.loads(path.read_text())
    RELEASES.validate(document)
    assert document["about"] == ABOUT.to_dict()
    assert SAID in verify_release(spec, path, allow_vacuous=True).unchecked


def test_a_spec_without_words_says_none_and_is_verified_as_ever() -> None:
    maker, released = releases()[FIRST_OF_FORMAT[0]]
    document = release_document(maker, released)
    assert "about" not in document and "about" not in to_spec(maker)
    assert SAID not in verify_release(maker, document).unchecked
    verify_release(maker.described(ABOUT), document)  # released before it was described


def test_a_release_in_other_words_than_its_spec_is_refused() -> None:
    maker, released = described(FIRST_OF_FORMAT[0])
    document = release_document(maker, released)
    for other in (maker.described(About()), maker.described(About("Something else"))):
        with pytest.raises(InvalidSpec, match="about: the release describes itself in other words than its spec"):
            verify_release(other, document)
    with pytest.raises(InvalidSpec, match="seal: does not match"):
        verify_release(maker, {**document, "about": {"title": "Something else"}})
    for forged in ({"title": "Something else"}, [], "Commuters", {**ABOUT.to_dict(), "more": "x"}):
        with pytest.raises(InvalidSpec, match="about: "):
            verify_release(maker, sealed({**document, "about": forged}))


@pytest.mark.parametrize("given", [{}, [], "x", {"title": ""}, {"titel": "x"}, {"title": "a\nb"}, {"units": {"nobody": "m"}}])
def test_a_spec_whose_words_are_no_words_is_refused(given: Any) -> None:
    """Some of these fit the schema, which knows no names and no signs that cannot be seen."""
    spec = to_spec(releases()["laplace line"][0])
    with pytest.raises(InvalidSpec, match="about"):
        from_spec({**spec, "about": given, "seal": seal({**spec, "about": given})})


def test_words_are_sealed_in_a_spec() -> None:
    spec = to_spec(described("laplace line")[0])
    with pytest.raises(InvalidSpec, match="seal: does not match"):
        from_spec({**spec, "about": {"title": "Something else"}})
