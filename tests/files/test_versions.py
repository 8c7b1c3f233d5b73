"""Files of every released version load, verify and keep their fingerprints; the corpus of this version is complete."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from designer import InvalidSpec, load
from designer.base.version import VERSION
from designer.certified.frozen import Specified, seal, to_spec
from designer.cli import main
from designer.files import spec as reader
from designer.files.kinds import KINDS
from designer.files.migrations import MIGRATIONS, Migration, readable_versions
from designer.files.releases import verify_release
from designer.files.spec import from_spec
from tests.oracles.spec_corpus import LARGEST, closed_kinds, corpus, kinds_in

DATA = Path(__file__).parents[1] / "data"
SPECS = {f"{path.parent.name} {path.stem}": path for path in sorted((DATA / "specs").glob("v*/*.json"))}
RELEASES = {f"{path.parent.name} {path.stem}": path for path in sorted((DATA / "releases").glob("v*/*.json"))}
BEFORE = DATA / "specs_previous" / "lattice_chain.json"  # of the family "mine", which was never released


@cache
def loaded(name: str) -> Specified:
    return load(SPECS[name], allow_vacuous=True)


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_of_a_released_version_loads_verifies_and_keeps_its_fingerprint(name: str) -> None:
    spec = json.loads(SPECS[name].read_text())
    made = loaded(name)
    assert made.fingerprint == spec["fingerprint"] and made.verify().holds and not made.migrations


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_a_released_version_is_found_to_be_one_of_its_spec(name: str) -> None:
    release = json.loads(RELEASES[name].read_text())
    held = {json.loads(path.read_text())["fingerprint"]: key for key, path in SPECS.items()}
    assert verify_release(loaded(held[release["fingerprint"]]), RELEASES[name]).time == "2026-01-31T12:00:00Z"


def test_every_released_version_has_a_corpus_and_a_small_one() -> None:
    versions = {path.parent.name for path in SPECS.values()}
    assert f"v{VERSION}" in versions and versions == {path.parent.name for path in RELEASES.values()}
    for version in versions:
        assert sum(path.stat().st_size for path in (DATA / "specs" / version).iterdir()) < LARGEST
        assert {json.loads(path.read_text())["spec"]["format"] for path in (DATA / "releases" / version).iterdir()} <= set(
            KINDS
        )


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


def test_a_spec_from_before_closed_families_is_migrated_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = json.loads(BEFORE.read_text())
    made = load(BEFORE)
    assert made.migrations and "Save it anew" in made.migrations[0]
    assert made.fingerprint != old["fingerprint"] and made.core() == {**made.core(), "family": "custom"}
    assert {**old["mechanism"], "family": "custom"} == json.loads(json.dumps(to_spec(made)))["mechanism"]
    assert main(["verify", str(BEFORE)]) == 0
    assert "Save it anew" in capsys.readouterr().out
    assert main(["verify", "--json", str(BEFORE)]) == 0
    assert json.loads(capsys.readouterr().out)["migrations"] == list(made.migrations)
    again = load(made.save(tmp_path / "anew.json"))
    assert again == made and not again.migrations


def sealed(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "seal": seal(spec)}


def test_a_migration_excuses_nothing() -> None:
    """The seal, the fingerprint and every claim of an old file are compared as those of a new one."""
    old = json.loads(BEFORE.read_text())
    wider = {**old["mechanism"], "norm": {**old["mechanism"]["norm"], "map": [2 * w for w in old["mechanism"]["norm"]["map"]]}}
    stated = {**old["guarantee"], "mechanism": old["guarantee"]["mechanism"].replace("mine", "laplace")}
    for mutant, words in (
        ({**old, "provenance": {"software": "another"}}, "seal"),
        (sealed({**old, "fingerprint": "0" * 64}), "family"),
        (sealed({**old, "mechanism": wider}), "family"),
        (sealed({**old, "guarantee": stated}), "family"),
        (sealed({**old, "guarantee": {**old["guarantee"], "unit": "Nobody."}}), "guarantee"),
        (sealed({**old, "version": 0}), "version"),
        (sealed({**old, "version": 2}), "a newer program may have written it"),
    ):
        with pytest.raises(InvalidSpec, match=words):
            from_spec(mutant)


def test_a_version_that_ended_is_read_by_its_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Synthetic: a version 0 whose notes were another program's."""
    spec = json.loads(SPECS[f"v{VERSION} lattice_l1"].read_text())
    ended = sealed({**spec, "version": 0, "provenance": {"software": "before"}})

    def to_version_1(given: Any) -> dict[str, Any]:
        return {**given, "version": 1, "provenance": {"software": f"{given['provenance']['software']}, migrated"}}

    with pytest.raises(InvalidSpec, match="version 0"):
        from_spec(ended)
    step = Migration(0, lambda _: True, to_version_1, "Version 0, a form that never was.")
    monkeypatch.setattr("designer.files.migrations.MIGRATIONS", (step, *MIGRATIONS))
    assert readable_versions() == [0, 1]
    made = reader.from_spec(ended)
    assert made.migrations == (step.note,) and made.provenance["software"] == "before, migrated"
    assert made.fingerprint == spec["fingerprint"]
