"""What every frozen object keeps, whatever its format: each specimen, made once and released from once, passes every check."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from designer import InvalidSpec, read_release, save_release, verify_release
from designer.base.display import one_line, printed
from designer.base.json_text import plain
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.frozen import FrozenMechanism, Released, to_spec
from designer.files.releases import release_document, sealed
from designer.files.schema import release_file_schema
from tests.certificate.test_about import EVERYTHING
from tests.files.test_spec import VALIDATOR, read
from tests.oracles.release_specimens import releases
from tests.oracles.spec_specimens import specimens

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RELEASES = jsonschema.Draft202012Validator(release_file_schema())
NEEDED = {"about", "check", "fingerprint", "guarantee", "privacy", "release", "save", "simulate", "verify"}


@pytest.mark.parametrize("name", list(specimens()))
def test_a_mechanism_states_one_promise_in_clean_text_under_whatever_words(name: str) -> None:
    made = specimens()[name]
    if name != "table plan":  # whose certificate is a policy
        states_one_ratio_and_never_a_smaller_one(made)
    prints_as_it_is(made)
    does_the_same_under_words_of_the_maker(made)
    lists_what_a_user_needs(made)


@pytest.mark.parametrize("name", list(specimens()))
def test_a_spec_and_a_release_come_back_from_their_files_as_what_they_were(name: str, tmp_path: Path) -> None:
    made, released = releases()[name]
    document = json.loads(json.dumps(release_document(made, released, time=NOON)))
    comes_back_from_its_spec(made, tmp_path)
    comes_back_from_its_release(made, released, document, tmp_path)
    says_the_same_in_python_and_in_the_file(released, document)
    passes_for_no_release_of_another_spec(document)


def states_one_ratio_and_never_a_smaller_one(made: Any) -> None:
    """The ratio is rounded up to a float, in the guarantee, the certificate and its sentence alike."""
    assert isinstance(made.privacy, PrivacyCertificate)
    exact, ratio = made.privacy.worst_ratio, made.privacy.ratio
    assert exact is not None and ratio >= exact and (exact == 0 or np.nextafter(ratio, -1) < exact)
    assert made.guarantee.parameters.get("worst_ratio", ratio) == ratio
    assert f" {ratio!r} (" in made.privacy.lines()[0]


def prints_as_it_is(made: FrozenMechanism) -> None:
    guarantee = made.guarantee
    for text in [*guarantee.unprotected, *(t for t in guarantee.to_dict().values() if isinstance(t, str))]:
        assert printed(text) == one_line(text) == text


def does_the_same_under_words_of_the_maker(made: Any) -> None:
    said = made.described(EVERYTHING)
    assert said == made and said.fingerprint == made.fingerprint and not made.about and said.about is EVERYTHING
    assert said.privacy is made.privacy and said.core() == made.core()
    before, after = to_spec(made), to_spec(said)
    assert "about" not in before
    assert {key for key in after if after[key] != before.get(key)} == {"about", "seal"}


def lists_what_a_user_needs(made: Any) -> None:
    """Names to complete, and one verb that releases; no name takes a release back from a file."""
    listed = [word for word in dir(made) if not word.startswith("_")]
    assert set(listed) >= NEEDED
    assert all(hasattr(type(made), word) or word in vars(made) for word in listed)
    assert [word for word in listed if word.startswith("releas")] == ["release"]


def comes_back_from_its_spec(made: Any, folder: Path) -> None:
    path = made.save(folder / "s.json")
    content = json.loads(path.read_text())
    VALIDATOR.validate(content)
    twin = read(folder, content)
    assert type(twin) is type(made) and twin == made and twin.fingerprint == made.fingerprint
    assert (twin.privacy, twin.guarantee) == (made.privacy, made.guarantee)
    assert twin.save(folder / "again.json").read_bytes() == path.read_bytes()


def comes_back_from_its_release(made: FrozenMechanism, released: Released, document: dict[str, Any], folder: Path) -> None:
    RELEASES.validate(document)
    path = save_release(made, released, folder / "release.json", time=NOON)
    verdict = verify_release(made, path)
    assert verdict.fingerprint == document["fingerprint"] == made.fingerprint and verdict.time == "2026-01-31T12:00:00Z"
    assert len(verdict.checked) >= 3 and "no file shows that" in verdict.to_text()
    again = read_release(made if made.vacuous else made.save(folder / "spec.json"), path)
    assert again.fingerprint == released.fingerprint and again.guarantee == released.guarantee
    assert told(again) == told(released)


def told(released: Released) -> list[tuple[object, ...]]:
    """What its tables say."""
    return [
        (table.name, table.columns, table.keys, table.answers.tolist(), None if errors is None else errors.tolist())
        for table in released.answer_tables()
        for errors in [table.standard_errors]
    ]


def says_the_same_in_python_and_in_the_file(released: Released, document: dict[str, Any]) -> None:
    """Who reads what `to_dict` says finds it at the same place of the file, too."""

    def within(small: Any, large: Any) -> bool:
        if isinstance(small, dict):
            return all(key in large and within(value, large[key]) for key, value in small.items())
        if isinstance(small, list):
            return len(small) == len(large) and all(map(within, small, large))
        return bool(small == large)

    assert within(json.loads(json.dumps(plain(released.to_dict()))), document)


def passes_for_no_release_of_another_spec(document: dict[str, Any]) -> None:
    other = next(maker for maker in specimens().values() if maker.fingerprint != document["fingerprint"])
    with pytest.raises(InvalidSpec, match="fingerprint: the release was made by"):
        verify_release(other, document)
    stolen = sealed({**document, "fingerprint": other.fingerprint, "spec": {"format": other.format, "version": 1}})
    with pytest.raises(InvalidSpec):
        verify_release(other, stolen)
