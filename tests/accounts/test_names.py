"""One spelling for every data set, nothing in it that cannot be seen, and no two that look alike."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from designer import InvalidProblem
from designer.accounts import Ledger, Total, checked
from designer.accounts.chain import ALIKE, dataset_name, escaped, look_alike
from designer.base.display import one_line, printed
from designer.cli import main
from tests.oracles.ledgers import pure

CAFE = unicodedata.normalize("NFC", "café people")


def people(path: Path, name: str = CAFE) -> Ledger:
    ledger = Ledger.create(path / "l", exist_ok=True)
    ledger.state(name, Total(epsilon=1), publishes=None)
    return ledger


@pytest.mark.parametrize("name", [unicodedata.normalize("NFD", CAFE), f" {CAFE}", f"{CAFE}  ", "café   people"])
def test_other_spellings_of_one_name_are_that_name(name: str, tmp_path: Path) -> None:
    ledger = people(tmp_path)
    with pytest.raises(InvalidProblem, match="is stated; raise its total"):
        ledger.state(name, Total(epsilon=1))
    assert ledger.dataset(name).name == CAFE
    ledger.dataset(name).release(pure(), [1, 2, 3])
    assert len(ledger.dataset(CAFE).balance().expenses) == 1 and ledger.datasets == [CAFE]


@pytest.mark.parametrize(
    "odd",
    ["\u200b", "\ufe0f", "\ufe00", "\U00013430", "\u200e", "\u00ad", "\t", "\n", "\x1b", "\xa0", "\u3164", "\ue000", "\u0378"],
)
def test_what_cannot_be_seen_is_refused_and_shown_as_its_escape(odd: str, tmp_path: Path) -> None:
    for name in (f"people{odd}", f"{odd}people", f"peo{odd}ple"):
        with pytest.raises(InvalidProblem, match=f"U\\+{ord(odd):04X}") as refused:
            people(tmp_path, name)
        assert odd not in str(refused.value) and all(c.isprintable() for c in str(refused.value))
    assert Ledger(tmp_path / "l").datasets == []


@pytest.mark.parametrize(
    "name",
    [
        "People",
        "PEOPLE",
        "реорlе".replace("l", "l"),
        "ре\u043eр\u04cf\u0435",
        "ｐｅｏｐｌｅ",
        "peop1e",
        "peopIe",
        "𝐩𝐞𝐨𝐩𝐥𝐞",
        "pe0ple",
        "ρeople",
    ],
)
def test_look_alikes_get_no_budget_of_their_own(name: str, tmp_path: Path) -> None:
    ledger = people(tmp_path, "people")
    with pytest.raises(InvalidProblem, match=r"looks like 'people'|mixes letters of the alphabets") as refused:
        ledger.state(name, Total(epsilon=1))
    assert str(refused.value).isascii() and ledger.datasets == ["people"]


def test_the_command_line_refuses_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["ledger", "create", str(tmp_path / "l"), "--epsilon", "1", "--dataset"]
    assert main([*create, "people"]) == 0
    for name in ("People", "people\u200b", "p\u0435ople", "people "):
        assert main([*create, name]) == 2, name
    told = capsys.readouterr().err
    assert "U+200B ZERO WIDTH SPACE" in told and "\u200b" not in told and "\\u0435" in told
    assert Ledger(tmp_path / "l").datasets == ["people"]


def test_names_that_differ_for_a_reader_are_all_taken(tmp_path: Path) -> None:
    ledger = people(tmp_path, "people")
    for name in (
        "people 2024",
        "people 2025",
        "mail",
        "mall",
        "firms",
        "données 2024",
        "人口 2024",
        "перепись",
        "β-blockers",
        "cafe",
        "café",
    ):
        ledger.state(name, Total(epsilon=1))
    assert len(ledger.datasets) == 12
    assert ledger.state("données", Total(epsilon=1)).name == "données"


@pytest.mark.parametrize("name", ["", " ", "   ", "x" * 201, 5, None, b"people", ["people"]])
def test_other_things_are_no_names(name: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"dataset: .*give a name"):
        Ledger.create(tmp_path / "l").state(name, Total(epsilon=1))  # type: ignore[arg-type]


def test_the_table_of_look_alikes_is_by_letters_of_other_alphabets() -> None:
    """Every entry is no ASCII, is alone in the table, and has a name; what a pair of words differs in by it looks alike."""
    others = [c for word in ALIKE.split() for c in word[1:]]
    assert len(others) == len(set(others)) and not any(c.isascii() for c in others)
    for word in ALIKE.split():
        for c in word[1:]:
            assert unicodedata.name(c) and look_alike(f"x{c}", [f"x{word[0]}"]) == f"x{word[0]}"
    assert look_alike("people", ["people"]) is None


def test_every_character_that_cannot_be_seen_is_printed_as_its_escape() -> None:
    """By Unicode's own tables: control and format characters, separators, variation selectors. Signs of the category Cf that
    are drawn (of numbers, in Arabic, Syriac and Kaithi) stay as they are."""
    drawn = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    for code in range(sys.maxunicode + 1):
        c = chr(code)
        kind, name = unicodedata.category(c), unicodedata.name(c, "")
        hidden = kind in ("Cc", "Cf", "Cs", "Zl", "Zp") or (kind == "Zs" and c != " ") or "VARIATION SELECTOR" in name
        if hidden and code not in drawn:
            assert one_line(c) != c and c not in printed(f"a{c}b"), hex(code)
    assert "\\u043e" in escaped("pe\u043eple") and escaped("pe\u043eple").isascii()
    assert dataset_name(" a  b ") == "a b"


def test_a_check_tells_of_names_that_look_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = people(tmp_path, "people")
    monkeypatch.setattr("designer.accounts.ledger.require_distinct", lambda name, others: None)
    ledger.state("People", Total(epsilon=1))
    assert checked(ledger).notes == ("The names 'people' and 'People' look alike.",)
