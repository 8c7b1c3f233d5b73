"""Who may sign a ledger over the years: keys that follow each other, keys that are lost, and releases that need two."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from designer import InvalidProblem, InvalidSpec
from designer.accounts import Ledger, Total, checked, ledger
from designer.accounts.chain import Edition, Entry, next_entry, noted_by
from designer.accounts.composition.cost_record import expense_of
from designer.accounts.dataset_state import SUMMED, advanced, summed
from designer.accounts.signers import SigningRule, entry_approved, entry_keys, rules_of
from designer.base.errors import InvalidLedger, OverTotal
from designer.base.json_text import canonical
from designer.verifier import standalone
from tests.oracles.ledgers import PUBLIC, Stamp, kinds_of, pure, stated, unlocked


def judge(key: str, message: bytes, signature: str) -> None:
    """What verifies a stamp."""
    if signature != f"{key} signed {message.decode()}":
        raise InvalidSpec("signature: untrue")


def opened(path: Path, key: str | None) -> Ledger:
    return Ledger(path, who=key or "nobody", signer=None if key is None else Stamp(key))


def signed(path: Path, **named: Any) -> Ledger:
    """A ledger that "a" opened, with room for eight releases."""
    made = Ledger.create(path, who="a", signer=Stamp("a"), **named)
    made.state("people", Total(epsilon=2), publishes=[PUBLIC])
    return made


def releases(path: Path, key: str | None) -> Any:
    return opened(path, key).dataset("people").release(pure(), [5, 6, 7])


def appended(path: Path, content: dict[str, Any], key: str | None) -> None:
    """An entry in the file that no rule was asked for, chained and signed as it should be."""
    before = Ledger(path).entries()[-1]
    entry = next_entry(before, noted_by(content, "Mallory", key))
    signature = None if key is None else Stamp(key).sign(entry.hash.encode())
    with unlocked(path) as connection:
        row = (entry.number, entry.previous, entry.body, entry.hash, signature)
        connection.execute("INSERT INTO entries (number, previous, body, hash, signature) VALUES (?, ?, ?, ?, ?)", row)


def test_only_the_key_that_opened_a_ledger_signs_it(tmp_path: Path) -> None:
    signed(tmp_path / "l")
    for key, words in ((None, "signer: is missing"), ("b", "signer: the key 'b' may not sign")):
        with pytest.raises(InvalidProblem, match=rf"{words}.*from entry 1 on .* signed by the key 'a' alone"):
            releases(tmp_path / "l", key)
    releases(tmp_path / "l", "a")
    assert checked(opened(tmp_path / "l", None), trusted=judge).rules == (SigningRule(("a",), since=1),)


def test_a_key_names_the_one_that_follows_it_and_signs_no_more(tmp_path: Path) -> None:
    path = tmp_path / "l"
    made = signed(path)
    releases(path, "a")
    with pytest.raises(InvalidProblem, match="'b' may not sign"):
        opened(path, "b").name_keys(["b"])
    assert made.name_keys(["b", "c"]) == SigningRule(("b", "c"), since=5)
    for key in ("a", None):
        with pytest.raises(InvalidProblem, match=r"from entry 5 on .* signed by the key 'b', the key 'c' alone"):
            releases(path, key)
    releases(path, "b")
    releases(path, "c")
    opened(path, "c").name_keys(["d"])
    releases(path, "d")
    found = checked(opened(path, None), trusted=judge)
    assert [(rule.since, rule.keys) for rule in found.rules] == [(1, ("a",)), (5, ("b", "c")), (10, ("d",))]
    assert found.signed == {"a": 5, "b": 2, "c": 3, "d": 2} and found.breaks == ()


def test_a_ledger_that_anybody_wrote_to_takes_a_rule_from_a_key_that_it_names_and_never_loses_it(tmp_path: Path) -> None:
    path = tmp_path / "l"
    stated(path)
    releases(path, None)
    for key in (None, "b"):
        with pytest.raises(InvalidProblem, match="none of the keys that the entry names"):
            opened(path, key).name_keys(["a"])
    opened(path, "a").name_keys(["a"])
    with pytest.raises(InvalidProblem, match="signer: is missing"):
        opened(path, None).name_keys(["b"])
    with pytest.raises(InvalidProblem, match="a rule is never taken back"):
        opened(path, "a").name_keys([])
    assert kinds_of(Ledger(path)) == ["opened", "stated", "reserved", "released", "keys"]


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (entry_keys(["b"]), "a"),  # of the key that was followed
        (entry_keys(["c"]), "c"),
        (entry_keys(["c"]), None),
        (entry_keys(["c"], lost="burnt"), "b"),  # a new key signs what is lost
        (entry_keys(["c"], lost="burnt"), None),
        (entry_approved(entry_keys(["c"])), "b"),  # where one signature is enough
        ({"kind": "keys", "keys": [], "signatures": 1}, "b"),
        ({"kind": "keys", "keys": ["c"], "signatures": 2}, "b"),
        ({"kind": "keys", "keys": ["c", "c"], "signatures": 2}, "b"),
        ({"kind": "keys", "keys": ["c", 1], "signatures": 1}, "b"),
        ({"kind": "keys", "keys": "c", "signatures": True}, "b"),
        ({"kind": "keys", "keys": ["c", "d", "e"], "signatures": 3}, "b"),
        ({"kind": "lost", "keys": ["c"], "signatures": 1, "reason": 7}, "c"),
        ({"kind": "lost", "keys": ["c"], "signatures": 1, "reason": None}, "c"),
        ({"kind": "keys", "keys": "c", "signatures": 1}, "b"),
        ({"kind": "approved", "entry": {}}, "b"),
        ({"kind": "approved", "entry": {"kind": "reserved", "dataset": "people"}}, "b"),
    ],
    ids=str,
)
def test_an_entry_that_may_not_stand_where_it_is_is_found_by_whoever_reads(
    tmp_path: Path, content: dict[str, Any], key: str | None
) -> None:
    path = tmp_path / "l"
    signed(path).name_keys(["b"])
    before = opened(path, "b")
    appended(path, content, key)
    for read in (lambda: Ledger(path), lambda: checked(Ledger(path)), lambda: before.head, lambda: releases(path, "b")):
        with pytest.raises(InvalidLedger, match="entry 4 may not stand where it is, by who signed it"):
            read()


def test_lost_keys_are_a_break_that_is_accepted_by_its_hash_alone(tmp_path: Path) -> None:
    path = tmp_path / "l"
    signed(path)
    made = opened(path, "n")
    with pytest.raises(InvalidProblem, match="none of the keys"):
        made.name_keys(["m"], lost="the safe burnt")
    made.name_keys(["n"], lost="the safe burnt")
    releases(path, "n")
    with pytest.raises(InvalidProblem, match=r"from entry 3 on .*'n' alone"):
        releases(path, "a")
    entry = made.entries()[2]
    for accepted in ((), ("0" * 64,), (made.head,)):
        with pytest.raises(InvalidLedger, match=rf"said to be lost, because: the safe burnt.* --accept-break {entry.hash}"):
            checked(made, trusted=judge, accepted=accepted)
    found = checked(Ledger(path), trusted=judge, accepted=[entry.hash])
    assert found.breaks == (entry,) and [rule.keys for rule in found.rules] == [("a",), ("n",)]
    assert checked(Ledger(path), accepted=None).breaks == (entry,)


def test_what_was_reserved_by_a_key_that_was_followed_meanwhile_is_not_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "l"
    people = signed(path).dataset("people")
    with (
        pytest.raises(InvalidProblem, match=r"'a' may not sign.* stays spent"),
        people.reserve(pure()) as reservation,
    ):
        opened(path, "a").name_keys(["b"])
        reservation.record({"answers": [5]})
        pytest.fail("was handed out")
    assert checked(Ledger(path), trusted=judge).open == (3,)


def test_nothing_is_lost_where_no_key_was_named(tmp_path: Path) -> None:
    stated(tmp_path / "l")
    with pytest.raises(InvalidProblem, match="no key was named yet"):
        opened(tmp_path / "l", "a").name_keys(["a"], lost="burnt")


def test_a_release_of_two_keys_is_approved_by_another_one_first_and_once(tmp_path: Path) -> None:
    path = tmp_path / "l"
    signed(path, also=["b", "c"], signatures=2)
    with pytest.raises(InvalidProblem, match=r"needs two of .* no other one has approved this"):
        releases(path, "a")
    people = opened(path, "b").dataset("people")
    people.approve(pure())
    with pytest.raises(InvalidProblem, match="no other one has approved"):
        releases(path, "b")  # its own approval
    assert releases(path, "a").ledger["entry"] == 6
    with pytest.raises(InvalidProblem, match="no other one has approved"):
        releases(path, "a")  # it was used
    people.approve(pure(0.5))
    people.approve(pure(), edition=Edition("2026"))
    with pytest.raises(InvalidProblem, match="no other one has approved"):
        releases(path, "c")  # of another mechanism, and of another period
    opened(path, "c").dataset("people").release(pure(), [5, 6, 7], period="2026")
    found = checked(opened(path, None), trusted=judge)
    assert [number for number, *_ in found.rules[-1].approvals] == [7] and found.rules[-1].signatures == 2
    with pytest.raises(OverTotal):
        people.approve(pure(8.0))
    with pytest.raises(InvalidProblem, match="signer: is missing"):
        opened(path, None).dataset("people").approve(pure())


def test_a_change_of_two_keys_needs_both_and_voids_what_was_approved(tmp_path: Path) -> None:
    path = tmp_path / "l"
    made = signed(path, also=["b"], signatures=2)
    with pytest.raises(InvalidProblem, match="no other one has approved"):
        made.name_keys(["a"])
    opened(path, "b").dataset("people").approve(pure())
    opened(path, "b").name_keys(["a", "c"], signatures=2, approve=True)
    assert made.name_keys(["a", "c"], signatures=2) == SigningRule(("a", "c"), 2, 6)
    with pytest.raises(InvalidProblem, match="no other one has approved"):
        releases(path, "a")
    appended(path, entry_keys(["a"]), "a")
    with pytest.raises(InvalidLedger, match="entry 7 may not stand"):
        Ledger(path)


@pytest.mark.parametrize(
    "named", [{"signatures": 2}, {"also": ["a"]}, {"also": [""]}, {"also": ["b"], "signatures": 3}], ids=str
)
def test_rules_that_cannot_be_kept_are_refused(tmp_path: Path, named: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblem, match=r"keys:|signatures:"):
        Ledger.create(tmp_path / "l", signer=Stamp("a"), **named)
    assert Ledger.create(tmp_path / "l").datasets == []


def test_further_keys_need_one_that_opens_the_ledger(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="signer: is missing"):
        Ledger.create(tmp_path / "l", also=["b"])
    assert not (tmp_path / "l").exists()


def allowed(entries: list[tuple[str, str | None, Any]]) -> bool:
    """May these stand, by the page alone: kind, key, and what is named or approved."""
    keys, needed, waiting = None, 1, list[tuple[str, Any]]()
    for kind, key, what in entries:
        if kind == "opened":
            keys = None if key is None else {key}
            continue
        if kind == "lost":
            if keys is None or key not in what[0]:
                return False
        elif keys is None:
            if kind == "approved" or (kind == "keys" and key not in what[0]):
                return False
        elif key not in keys:
            return False
        if kind == "approved":
            if needed == 1:
                return False
            waiting.append((str(key), what))
        elif kind in ("keys", "reserved") and needed == 2:
            own = next((one for one in waiting if one[1] == (kind, what) and one[0] != key), None)
            if own is None:
                return False
            waiting.remove(own)
        if kind in ("keys", "lost"):
            keys, needed, waiting = set(what[0]), what[1], []
    return True


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 12))])
def test_rules_are_those_of_the_page_on_random_ledgers(seed: int) -> None:
    """The rule, walked by the program and by the second verifier, and written down anew above: they agree."""
    dice, seen = random.Random(seed), {True: 0, False: 0}
    for _ in range(60):
        first = dice.choice(["a", "a", None])
        made: list[tuple[str, str | None, Any]] = [("opened", first, None)]
        before: Entry = entry_of(None, *made[0])
        rule, second = SigningRule().after([before]), SimpleNamespace(keys=[], signatures=1, since=0, approvals=[])
        standalone.ruled(before.content, 1, second)
        for _ in range(8):
            kind = dice.choice(["keys", "keys", "lost", "approved", "approved", "reserved", "stated"])
            named = (tuple(dice.sample("abc", 2)), dice.choice([1, 2]))
            release = dice.choice(["x", "y"])
            what: Any = {"keys": named, "lost": named, "reserved": release}.get(kind)
            if kind == "approved":
                what = dice.choice([("keys", named), ("reserved", release)])
            asked = (kind, dice.choice(["a", "b", "c", None]), what)
            entry, good = entry_of(before, *asked), allowed([*made, asked])
            seen[good] += 1
            after = None
            with suppress(InvalidLedger):
                after = rule.after([entry])
            tried = copy.deepcopy(second)
            with suppress(standalone.DoesNotHold):
                standalone.ruled(entry.content, entry.number, tried)
                second = tried
                assert good, [*made, asked]
            assert (after is not None) == good, [*made, asked]
            if after is not None:
                assert canonical(vars(second)) == canonical(after.to_dict()), [*made, asked]
                made, rule, before = [*made, asked], after, entry
    assert min(seen.values()) > 60


def entry_of(before: Entry | None, kind: str, key: str | None, what: Any) -> Entry:
    """An entry as short as can be."""

    def content(kind: str, what: Any) -> dict[str, Any]:
        if kind in ("keys", "lost"):
            return {"kind": kind, "keys": list(what[0]), "signatures": what[1], **({"reason": "r"} if kind == "lost" else {})}
        if kind == "reserved":
            plain = {"dataset": what, "expense": expense_of(pure()).to_dict(), "guarantee": {}, "rows": None}
            return {"kind": kind, **plain}
        return {"kind": kind, "entry": content(*what)} if kind == "approved" else {"kind": kind, "what": what}

    return next_entry(before, noted_by(content(kind, what), "w", key))


def test_a_sum_carries_the_rule_and_a_sum_that_says_another_is_found(tmp_path: Path) -> None:
    path = tmp_path / "l"
    signed(path, also=["b"], signatures=2)
    with patch.object(ledger, "LEAST_BETWEEN", 4):
        for _ in range(3):
            opened(path, "b").dataset("people").approve(pure())
            releases(path, "a")
        opened(path, "b").dataset("people").approve(pure())
        for _ in range(6):
            opened(path, "b").dataset("people").approve(pure(0.5))
    entries = Ledger(path).entries()
    sums = [entry for entry in entries if entry.kind == SUMMED]
    assert len(sums) > 2 and Ledger(path).signing == rules_of(entries)[-1]
    assert len(sums[-1].content["signing"]["approvals"]) >= 2
    checked(Ledger(path), trusted=judge)
    releases(path, "a")
    true = summed(advanced({}, Ledger(path).entries()), Ledger(path).signing)
    appended(path, {**true, "signing": {**true["signing"], "signatures": 1}}, "a")
    with pytest.raises(InvalidLedger, match="does not say what the entries before it add up to"):
        checked(Ledger(path))
    appended(path, {"kind": SUMMED, "standings": [], "signing": {"keys": ["a"]} | json.loads('{"since": [], "x": 1}')}, "a")
    with pytest.raises(InvalidLedger, match="not written by this program"):
        Ledger(path)


@pytest.mark.parametrize("write", [lambda made: made.name_keys(["b"]), lambda made: made.name_keys(["b"], lost="x")])
def test_who_gives_a_ledger_on_signs_no_sum_after_that(tmp_path: Path, write: Callable[[Ledger], object]) -> None:
    """A sum that is due then waits for the next entry of a key that may."""
    path = tmp_path / "l"
    with patch.object(ledger, "LEAST_BETWEEN", 2):
        Ledger.create(path, signer=Stamp("a"))
        Ledger(path, signer=Stamp("a")).name_keys(["b"])
        releases_of = Ledger(path, signer=Stamp("b"))
        releases_of.state("people", Total(epsilon=2), publishes=[PUBLIC])
    assert kinds_of(Ledger(path)) == ["opened", "keys", "stated", SUMMED]
    checked(Ledger(path), trusted=judge)
