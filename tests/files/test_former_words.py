"""Files keep the words with which they were written: guarantees in former words hold, and other words do not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from designer.certified.guarantee import FORMER_WORDS, words_of_today
from designer.verifier import standalone
from tests.verifier.altered import bytes_of, main_verdict, sealed, standalone_verdict

DATA = Path(__file__).parents[1] / "data"
FORMER: dict[str, dict[str, Any]] = json.loads((DATA / "former_words.json").read_text())


def in_former_words(name: str) -> dict[str, Any]:
    spec = json.loads((DATA / "specs" / f"{name}.json").read_text())
    return sealed({**spec, "guarantee": {**spec["guarantee"], **FORMER[name]}})


@pytest.mark.parametrize("name", FORMER)
def test_a_spec_in_former_words_holds_in_both_verifiers(name: str) -> None:
    content = bytes_of(in_former_words(name))
    assert main_verdict(content) == "holds"
    assert standalone_verdict(content)[0] in {"holds", "cannot check"}


@pytest.mark.parametrize("name", sorted(FORMER)[::7])
@pytest.mark.parametrize("field", ["unit", "relation"])
def test_words_that_claim_more_are_refused_whether_former_or_not(name: str, field: str) -> None:
    spec = in_former_words(name)
    said = spec["guarantee"][field]
    for claimed in (re.sub("[Aa]ny|[Oo]ne|same", "every", said, count=1), f"{said} Nothing else is revealed."):
        content = bytes_of(sealed({**spec, "guarantee": {**spec["guarantee"], field: claimed}}))
        assert claimed != said
        assert (main_verdict(content), standalone_verdict(content)[0]) == ("does not hold", "does not hold")


def test_the_two_verifiers_have_the_same_list_and_every_entry_is_in_a_file() -> None:
    assert standalone.FORMER_WORDS == FORMER_WORDS
    said = json.dumps(FORMER, ensure_ascii=False)
    assert [former for former, _ in FORMER_WORDS if not re.search(former, said)] == []


def test_words_of_today_are_kept() -> None:
    for name in FORMER:
        guarantee = json.loads((DATA / "specs" / f"{name}.json").read_text())["guarantee"]
        for said in (guarantee["unit"], guarantee["relation"], guarantee["timing"], guarantee["floating_point"]):
            assert words_of_today(said) == said
