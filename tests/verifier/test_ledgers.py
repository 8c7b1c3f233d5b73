"""Ledgers in the second verifier: the chain, the terms, the totals; it accepts none that the first one refuses."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from designer import Problem, Workload, design, metrics
from designer.accounts import Ledger, Total, checked
from designer.accounts import ledger as ledger_module
from designer.accounts.chain import FIRST, Edition, entry_hash
from designer.base.errors import InvalidLedger, OverTotal, Refusal
from designer.base.json_text import canonical
from designer.cli.entry import main
from designer.verifier import standalone
from tests.oracles.ledgers import PUBLIC, Stamp, busy_ledger, normal, pure, stated, unlocked


@cache
def appears() -> Any:
    """Laplace noise that hides whether a record is there, at 0.25."""
    return design(Problem(Workload.identity(3), metrics.add_remove(3, [0.25] * 3)), "laplace").mechanism


def whole() -> Any:
    """Laplace noise that costs 1."""
    return pure(1.0)


def long_ledger(path: Path) -> Ledger:
    """Three data sets under three notions, with entries that sum up."""
    ledger = busy_ledger(path).ledger
    ledger.state("towns", Total(epsilon=3, delta="1e-6"), publishes=[PUBLIC])
    for name, made, times in (("firms", normal(), 12), ("towns", normal(), 4), ("people", pure(1 / 64), 14)):
        for _ in range(times):
            ledger.dataset(name).release(made, [1, 2, 3])
    return ledger


def verdict(path: Path) -> tuple[str, list[str]]:
    return standalone.verify(path.read_bytes())


def test_ledgers_of_the_project_hold(tmp_path: Path) -> None:
    ledger = long_ledger(tmp_path / "l")
    assert any(entry.kind == "summed" for entry in ledger.entries())
    found, (summary, *left) = verdict(tmp_path / "l")
    assert found == "holds" and ledger.entries()[-1].hash[:12] in summary and "35 reservations" in summary
    assert all(sentence.startswith("not compared: ") for sentence in left)


def test_periods_corrections_keys_and_approvals_hold_and_lost_keys_are_named(tmp_path: Path) -> None:
    people = Ledger.create(tmp_path / "l", signer=Stamp("a"), also=["b"], signatures=2).state("people", Total(epsilon=2))
    with patch.object(ledger_module, "LEAST_BETWEEN", 3):
        edition = Edition("2026")
        for _ in range(3):
            Ledger(tmp_path / "l", signer=Stamp("b")).dataset("people").approve(appears(), edition=edition)
            edition = Edition("2026", people.release(appears(), [5, 6, 7], **edition.to_dict()).ledger["entry"])
        Ledger(tmp_path / "l", signer=Stamp("c")).name_keys(["c"], lost="a flood")
    found, sentences = verdict(tmp_path / "l")
    assert found == "holds", sentences
    kinds = [entry.kind for entry in people.ledger.entries()]
    assert sentences[-1] == f"not compared: whether the keys before entry {kinds.index('lost') + 1} were lost"
    assert kinds.count("summed") > 2 and {"keys", "approved"} < set(kinds)


@pytest.mark.parametrize(
    "total, made, times, holds",
    [
        (Total(epsilon=1), pure, 4, True),
        (Total(rho="1/8"), normal, 4, True),
        (Total(epsilon=1), appears, 4, True),
        (Total(epsilon=1, delta="1e-9"), pure, 4, True),
        (Total(epsilon=3, delta="1e-6"), normal, 4, True),
        (Total(epsilon="2.6", delta="1e-6"), normal, 4, True),  # as normal noise, and not by its zCDP
        (Total(epsilon="2.9", delta="0.01"), whole, 3, False),  # the products of the project alone prove it
    ],
)
def test_totals_of_each_notion(total: Total, made: Any, times: int, holds: bool, tmp_path: Path) -> None:
    people = Ledger.create(tmp_path / "l", who="Ada").state("people", total, publishes=None if made is appears else [PUBLIC])
    for _ in range(times):
        people.release(made(), [5, 6, 7])
    assert verdict(tmp_path / "l")[0] == ("holds" if holds else "cannot check")


def bodies(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return [json.loads(body) for (body,) in connection.execute("SELECT body FROM entries ORDER BY number")]


def written(path: Path, entries: list[dict[str, Any]]) -> None:
    """The ledger with these entries, chained anew: what somebody writes who knows the form."""
    with unlocked(path) as connection:
        connection.execute("DELETE FROM entries")
        before = FIRST
        for number, entry in enumerate(entries, 1):
            body = canonical({**entry, "number": number}).decode()
            row = (number, before, body, before := entry_hash(before, body))
            connection.execute("INSERT INTO entries (number, previous, body, hash) VALUES (?, ?, ?, ?)", row)
        connection.execute("UPDATE sqlite_sequence SET seq = ?", (len(entries),))


def first_verdict(path: Path) -> str:
    try:
        checked(Ledger(path))
    except InvalidLedger:
        return "does not hold"
    return "holds"


@pytest.mark.parametrize("field, value", [("epsilon", "3/4"), ("epsilon", "1/1000"), ("delta", "1/8"), ("moves", "keep")])
def test_costs_that_are_altered_in_the_file_are_found_by_its_chain(field: str, value: str, tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    people.release(pure(), [5, 6, 7])
    with unlocked(tmp_path / "l") as connection:
        (body,) = connection.execute("SELECT body FROM entries WHERE number = 3").fetchone()
        entry = json.loads(body)
        entry["expense"][field] = value
        connection.execute("UPDATE entries SET body = ? WHERE number = 3", (canonical(entry).decode(),))
    assert verdict(tmp_path / "l") == ("does not hold", ["entry 3: was altered"])


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_more_than_the_total_is_refused_whoever_wrote_it(notion: str, tmp_path: Path) -> None:
    total, made = (Total(epsilon="1/4"), pure()) if notion == "pure" else (Total(rho="1/32"), normal())
    people = stated(tmp_path / "l", total)
    people.release(made, [5, 6, 7])
    entries = bodies(tmp_path / "l")
    written(tmp_path / "l", [*entries, entries[2]])
    found, (sentence,) = verdict(tmp_path / "l")
    assert found == first_verdict(tmp_path / "l") == "does not hold" and "more than its total" in sentence


def test_releases_that_fit_as_normal_noise_alone_hold_and_one_more_does_not(tmp_path: Path) -> None:
    """Ten are (3.748, 1e-6) by their lengths and (4.011, 1e-6) by their zCDP."""
    people = stated(tmp_path / "l", Total(epsilon="3.748", delta="1e-6"))
    for _ in range(10):
        people.release(normal(), [5, 6, 7])
    assert verdict(tmp_path / "l")[0] == first_verdict(tmp_path / "l") == "holds"
    with pytest.raises(OverTotal):
        people.release(normal(), [5, 6, 7])
    entries = bodies(tmp_path / "l")
    for wrong in ({"epsilon": "3747/1000"}, {"delta": "1/1010000"}):
        entries[1]["total"].update({"epsilon": "937/250", "delta": "1/1000000", **wrong})
        written(tmp_path / "l", entries)
        assert verdict(tmp_path / "l")[0] == "cannot check" and first_verdict(tmp_path / "l") == "does not hold"


def test_a_record_that_is_replaced_costs_what_one_that_goes_and_one_that_comes_cost(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="3/4"))
    people.release(appears(), [5, 6, 7])
    people.release(pure(), [5, 6, 7])
    assert verdict(tmp_path / "l")[0] == "holds"
    entries = bodies(tmp_path / "l")
    entries[1]["total"]["epsilon"] = "1/2"
    written(tmp_path / "l", entries)
    assert first_verdict(tmp_path / "l") == "does not hold" and verdict(tmp_path / "l")[0] == "cannot check"


def test_releases_that_protect_no_change_in_common_are_not_accepted(tmp_path: Path) -> None:
    people = Ledger.create(tmp_path / "l", who="Ada").state("people", Total(epsilon=1), publishes=None)
    people.release(appears(), [5, 6, 7])
    entries = bodies(tmp_path / "l")
    entries[1]["publishes"], entries[2]["expense"]["moves"] = [PUBLIC], "keep"
    written(tmp_path / "l", entries)
    assert first_verdict(tmp_path / "l") == "does not hold" and verdict(tmp_path / "l")[0] == "cannot check"


def test_a_view_in_the_place_of_the_table_is_no_ledger() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIEW entries AS SELECT 1 AS number, '' AS previous, '' AS body, '' AS hash, '' AS signature")
        content = connection.serialize()
    assert standalone.verify(content) == ("does not hold", ["this is no ledger: it has no table of entries"])


def test_entries_that_are_cut_off_are_missed(tmp_path: Path) -> None:
    busy_ledger(tmp_path / "l")
    with unlocked(tmp_path / "l") as connection:
        connection.execute("DELETE FROM entries WHERE number > 11")
    assert verdict(tmp_path / "l")[0] == first_verdict(tmp_path / "l") == "does not hold"


def other(value: Any, chance: random.Random) -> Any:
    """A value near this one, or of another kind."""
    if isinstance(value, str):
        return chance.choice(["", "1/4", "7", value + "0", value[:-1], "people", "replace", "appear", "keep", 1])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, 0, float(value), str(value)])
    return chance.choice([None, [], {}, "1/4", "people", 3])


def spots(data: Any) -> list[tuple[Any, Any]]:
    """Each place of nested data that holds no list or object: what holds it, and its key."""
    if not isinstance(data, (dict, list)):
        return []
    keys = list(data) if isinstance(data, dict) else range(len(data))
    return [spot for key in keys for spot in (spots(data[key]) or [(data, key)])]


@pytest.mark.parametrize("number", [60, pytest.param(400, marks=pytest.mark.nightly)])
def test_no_altered_ledger_is_accepted_that_the_first_verifier_refuses(number: int, tmp_path: Path) -> None:
    long_ledger(tmp_path / "l")
    entries, chance, count = bodies(tmp_path / "l"), random.Random(7), Counter[tuple[str, str]]()
    for _ in range(number):
        made = copy.deepcopy(entries)
        if chance.random() < 0.3:
            place = chance.randrange(len(made))
            made[place : place + 1] = chance.choice([[], [made[place]] * 2, [chance.choice(made)]])
        else:
            holder, key = chance.choice(spots(chance.choice(made)))
            holder[key] = other(holder[key], chance)
        written(tmp_path / "l", made)
        first, (second, sentences) = first_verdict(tmp_path / "l"), verdict(tmp_path / "l")
        count[first, second] += 1
        assert second != "holds" or first == "holds", sentences
    assert count["holds", "holds"] > number / 20 and count["does not hold", "does not hold"] > number / 4, count


SHAPES = [
    ({"kind": "epsilon_delta", "epsilon": "1/2", "delta": "1"}, {"delta": ["3/2", "keep"], "epsilon": ["-1", None]}),
    ({"kind": "gaussian", "mu_squared": "1/2"}, {"mu_squared": ["-1", "keep"], "kind": ["keep", None, []]}),
    ({"kind": "laplace", "epsilon": "1/2"}, {"epsilon": ["-1", []], "delta": ["0"]}),
    (
        {"kind": "group", "base": {"kind": "epsilon_delta", "epsilon": "1/2", "delta": "1/8"}, "size": 100},
        {"size": [101, 1, "3"], "base": [{"kind": "laplace", "epsilon": "1/2"}, 3]},
    ),
    (
        {"kind": "piecewise_linear", "alphas": ["0", "1/4", "3/4", "1"], "betas": ["1", "1/2", "1/8", "0"]},
        {"alphas": [["0", "1"], ["0", "3/4", "1/4", "1"]], "betas": [["3/4", "1/2", "1/4", "0"], ["1", "1/2", "1/3", "0"]]},
    ),
    (
        {"kind": "response_mixture", "unit": "1/2", "weights": ["1/4", "3/4"]},
        {"unit": ["0", "keep"], "weights": [["1/4", "1/2"], ["1", "0"], ["1"], ["5/4", "-1/4"]]},
    ),
]


@pytest.mark.parametrize(("shape", "wrong"), SHAPES, ids=[shape["kind"] for shape, _ in SHAPES])
def test_the_law_of_a_loss_is_read_as_the_first_verifier_reads_it(
    shape: dict[str, Any], wrong: dict[str, list[Any]], tmp_path: Path
) -> None:
    stated(tmp_path / "l").release(pure(), [5, 6, 7])
    entries = bodies(tmp_path / "l")
    made = [shape, *({**shape, key: value} for key, values in wrong.items() for value in values)]
    for told, holds in zip(made, (True, *[False] * len(made)), strict=False):
        entries[2]["expense"]["shapes"] = [told]
        written(tmp_path / "l", entries)
        assert (verdict(tmp_path / "l")[0], first_verdict(tmp_path / "l")) == (("holds" if holds else "does not hold"),) * 2, (
            told
        )


def test_a_release_is_what_its_entry_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = stated(tmp_path / "l")
    made = people.release(pure(), [5, 6, 7])
    release = json.loads(canonical(made.to_dict()))
    path = tmp_path / "r.json"
    path.write_text(json.dumps(release))
    assert standalone.verify((tmp_path / "l").read_bytes(), path.read_bytes())[0] == "holds"
    assert main(["verify", str(tmp_path / "l"), str(path), "--independent"]) == 0
    assert "and independently by designer/verifier/standalone.py:\n  a ledger of 4 entries" in capsys.readouterr().out
    release["ledger"]["entry"] = 3
    assert standalone.verify((tmp_path / "l").read_bytes(), json.dumps(release).encode())[0] == "does not hold"


@pytest.mark.parametrize("content", [b"SQLite format 3\x00", b"SQLite format 3\x00" + bytes(4096)])
def test_files_that_are_no_ledgers(content: bytes) -> None:
    assert standalone.verify(content)[0] == "does not hold"


def test_a_ledger_that_only_one_verifier_can_check_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = Ledger.create(tmp_path / "l", who="Ada").state("people", Total(epsilon="2.9", delta="0.01"), publishes=[PUBLIC])
    for _ in range(3):
        people.release(whole(), [5, 6, 7])
    assert issubclass(InvalidLedger, Refusal) and main(["verify", str(tmp_path / "l"), "--independent"]) == 3
    assert "keep its total by no rule that this program knows" in capsys.readouterr().err
