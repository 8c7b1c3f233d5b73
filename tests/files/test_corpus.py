"""Every file of the corpus loads, verifies and keeps its fingerprint; the corpus is complete, and of the current form."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from designer import load
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.cli import main
from designer.designing.printouts import cautions, summary
from designer.files.kinds import KINDS
from designer.files.releases import verify_release
from tests.oracles.spec_corpus import LARGEST, closed_kinds, corpus, kinds_in

DATA = Path(__file__).parents[1] / "data"
SPECS = {path.stem: path for path in sorted((DATA / "specs").glob("*.json"))}
RELEASES = {path.stem: path for path in sorted((DATA / "releases").glob("*.json"))}


CLAIMS = ("format", "version", "mechanism", "guarantee", "fingerprint")


@cache
def loaded(name: str) -> FrozenMechanism:
    return load(SPECS[name], allow_vacuous=True)


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_of_the_corpus_loads_verifies_keeps_its_fingerprint_and_is_written_the_same(name: str) -> None:
    spec = json.loads(SPECS[name].read_text())
    made = loaded(name)
    assert made.fingerprint == spec["fingerprint"] and made.verify().holds
    again = json.loads(json.dumps(to_spec(made)))
    assert {key: again[key] for key in CLAIMS} == {key: spec[key] for key in CLAIMS}


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_of_the_corpus_is_shown_with_its_cautions(name: str) -> None:
    made = loaded(name)
    assert summary(made).startswith("\n".join(cautions(made)))


@pytest.mark.parametrize("name", SPECS)
def test_no_page_of_the_corpus_shows_a_blank_by_its_number(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Our own words have no runs of blanks, which are written as escapes in what comes from files."""
    assert main(["report", str(SPECS[name]), "--allow-vacuous"]) == 0
    assert "x20" not in capsys.readouterr().out


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_the_corpus_is_found_to_be_one_of_its_spec(name: str) -> None:
    release = json.loads(RELEASES[name].read_text())
    held = {json.loads(path.read_text())["fingerprint"]: key for key, path in SPECS.items()}
    assert verify_release(loaded(held[release["fingerprint"]]), RELEASES[name]).time == "2026-01-31T12:00:00Z"


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in SPECS.values()) < LARGEST


def test_every_closed_kind_is_in_a_spec_of_the_corpus() -> None:
    """A new format, relation, norm, score, query, tradeoff, family or value of a closed key needs a specimen."""
    held = set[tuple[str, str]]().union(*(kinds_in(json.loads(path.read_text())) for path in SPECS.values()))
    assert sorted(closed_kinds() - held) == []
    formats = {json.loads(path.read_text())["spec"]["format"] for path in RELEASES.values()}
    assert formats == set(KINDS)


@pytest.mark.heavy
def test_the_generator_writes_a_complete_corpus() -> None:
    written = corpus()
    assert set[tuple[str, str]]().union(*map(kinds_in, written.values())) == set(closed_kinds())
    assert {spec["format"] for spec in written.values()} == set(KINDS)


def test_kinds_are_told_apart_by_where_they_stand() -> None:
    """A tradeoff function "gaussian" is no norm, and a kind under another definition is none of it."""
    held = kinds_in(json.loads(next(path for name, path in SPECS.items() if "test_gaussian" in name).read_text()))
    assert ("definition", "tradeoff_gaussian") in held and ("definition", "relation_graph") not in held
    assert len(closed_kinds()) > 100
