"""A file states what its mechanism proves, in the one wording that there is; any other sentence is refused."""

from __future__ import annotations

import re

import pytest

from designer import InvalidSpec
from designer.certificate.frozen import seal, to_spec
from designer.certificate.guarantee import ESTIMATED, POST_PROCESSING, TRADEOFFS_MULTIPLY
from designer.files.spec import from_spec
from tests.oracles.spec_specimens import specimens


def refused(name: str, key: str, sentence: str) -> None:
    spec = to_spec(specimens()[name])
    assert spec["guarantee"][key] != sentence
    altered = {**spec, "guarantee": {**spec["guarantee"], key: sentence}}
    with pytest.raises(InvalidSpec, match="claims something else"):
        from_spec({**altered, "seal": seal(altered)})


@pytest.mark.parametrize(
    ("name", "said"), [("test pure", TRADEOFFS_MULTIPLY), ("lattice chain", ESTIMATED), ("lattice l1", POST_PROCESSING)]
)
def test_the_sentence_about_several_releases_is_that_of_its_kind(name: str, said: str) -> None:
    assert to_spec(specimens()[name])["guarantee"]["post_processing"] == said
    for other in {POST_PROCESSING, ESTIMATED, f"{said} And more."} - {said}:
        refused(name, "post_processing", other)


def test_the_number_of_records_is_the_one_that_is_proven() -> None:
    stated = to_spec(specimens()["lattice l1"])["guarantee"]
    assert "at most 1 replaced record are" in stated["relation"] and "Up to 1 record whose" in stated["unit"]
    for key in ("unit", "relation"):
        refused("lattice l1", key, re.sub(r"\b1 ((replaced )?record)\b", r"2 \1s", stated[key]))
        refused("lattice l1", key, re.sub(r"\b1 ((replaced )?record)\b", r"1 \1s", stated[key]))
