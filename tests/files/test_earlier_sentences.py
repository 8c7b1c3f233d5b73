"""Files that say what is promised in the words of earlier versions load; files that claim something else do not."""

from __future__ import annotations

import copy
import re

import pytest

from designer import InvalidSpec
from designer.certified.frozen import seal, to_spec
from designer.certified.guarantee import ESTIMATED, POST_PROCESSING, TRADEOFFS_MULTIPLY
from designer.files.spec import from_spec
from tests.oracles.spec_specimens import specimens


@pytest.mark.parametrize(("name", "said"), [("test pure", TRADEOFFS_MULTIPLY), ("lattice chain", ESTIMATED)])
def test_the_earlier_sentence_about_several_releases_loads(name: str, said: str) -> None:
    spec = to_spec(specimens()[name])
    assert spec["guarantee"]["post_processing"] == said
    earlier = {**spec, "guarantee": {**spec["guarantee"], "post_processing": POST_PROCESSING}}
    made = from_spec({**earlier, "seal": seal(earlier)})
    assert made.guarantee.post_processing == said
    other = {**spec, "guarantee": {**spec["guarantee"], "post_processing": f"{POST_PROCESSING} And more."}}
    with pytest.raises(InvalidSpec, match="claims something else"):
        from_spec({**other, "seal": seal(other)})


def test_what_never_said_otherwise_must_say_what_it_proves() -> None:
    spec = to_spec(specimens()["lattice l1"])
    assert spec["guarantee"]["post_processing"] == POST_PROCESSING
    altered = {**spec, "guarantee": {**spec["guarantee"], "post_processing": ESTIMATED}}
    with pytest.raises(InvalidSpec, match="claims something else"):
        from_spec({**altered, "seal": seal(altered)})


def test_one_record_in_the_plural_of_earlier_versions_loads_and_another_number_does_not() -> None:
    spec = to_spec(specimens()["lattice l1"])
    assert "at most 1 replaced record are" in spec["guarantee"]["relation"]
    assert "Up to 1 record whose" in spec["guarantee"]["unit"]
    earlier = copy.deepcopy(spec)
    for key in ("unit", "relation"):
        earlier["guarantee"][key] = re.sub(r"\b1 ((replaced )?record|invariant statistic)\b", r"1 \1s", spec["guarantee"][key])
    assert from_spec({**earlier, "seal": seal(earlier)}).guarantee == from_spec(spec).guarantee
    other = copy.deepcopy(earlier)
    other["guarantee"]["relation"] = earlier["guarantee"]["relation"].replace("1 replaced", "2 replaced")
    with pytest.raises(InvalidSpec, match="claims something else"):
        from_spec({**other, "seal": seal(other)})
