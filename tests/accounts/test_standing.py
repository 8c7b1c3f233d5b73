"""What data sets stand at: the same from a sum and a few entries as from all of them, and sealed by the chain."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from designer import InvalidProblem
from designer.accounts import DataSet, Ledger, Total, chain, checked, ledger
from designer.accounts.chain import Entry, entry_reserved, next_entry
from designer.accounts.composition.cost_record import expense_of, spent
from designer.accounts.dataset_state import SUMMED, DataSetState, advanced, summed
from designer.accounts.signers import SigningRule
from designer.base.errors import InvalidLedger, OverTotal
from designer.relations.records.row_unit import RowUnit
from designer.tradeoff.costs import Cost, TotalCost
from tests.oracles.ledgers import PUBLIC, normal, pure, reserved_only, stated, unlocked


def reserve(people: DataSet, mechanisms: list[Any]) -> None:
    """So many releases, reserved, as if each had been killed."""
    made = [entry_reserved(people.name, expense_of(m), m.guarantee, RowUnit()) for m in mechanisms]
    for entry in made:
        people.ledger.append(lambda standings, rows, entry=entry: [entry])  # type: ignore[misc]


def rewritten(path: Path, number: int, content: dict[str, Any]) -> None:
    """An entry says something else, and every later one follows it again: only a head that was kept tells."""
    entries = Ledger(path).entries()
    before: Entry | None = entries[number - 2]
    with unlocked(path) as connection:
        for entry in entries[number - 1 :]:
            said = content if entry.number == number else entry.content
            before = next_entry(before, {key: value for key, value in said.items() if key != "number"})
            row = (before.previous, before.body, before.hash, before.number)
            connection.execute("UPDATE entries SET previous = ?, body = ?, hash = ? WHERE number = ?", row)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 6))])
def test_a_fresh_reader_knows_what_all_entries_come_to(tmp_path: Path, seed: int) -> None:
    """Random releases, raises and data sets; another reader at each step, who starts from the last sum."""
    draw = random.Random(seed)
    with patch.object(ledger, "LEAST_BETWEEN", draw.choice([1, 2, 5])):
        people = stated(tmp_path / "l", Total(epsilon=3))
        sets = [people]
        for step in range(30):
            one = draw.choice(sets)
            kind = draw.random()
            if kind < 0.1:
                sets.append(people.ledger.state(f"set {step}", Total(epsilon=3), publishes=[PUBLIC]))
            elif kind < 0.2:
                one.raise_total(None, "a reason", publishes=[f"line {step}"])
            elif kind < 0.4:
                with suppress(OverTotal):
                    reserved_only(one, pure(0.0625))
            else:
                with suppress(OverTotal):
                    one.release(pure(draw.choice([0.125, 0.25])), [5, 6, 7])
            fresh = Ledger(tmp_path / "l")
            for name, standing in advanced({}, fresh.entries()).items():
                assert fresh.dataset(name).standing() == standing == Ledger(tmp_path / "l").dataset(name).balance().standing
                assert standing.spent.epsilon == spent(fresh.dataset(name).balance().expenses, records_public=True).epsilon
        assert SUMMED in [entry.kind for entry in people.ledger.entries()]
        found = checked(people.ledger)
        assert len(found.balances) == len(sets)


def test_how_many_entries_are_read_does_not_grow_with_the_ledger(tmp_path: Path) -> None:
    counted = []
    for releases in (40, 400):
        people = stated(tmp_path / f"l{releases}", Total(epsilon=1000))
        reserve(people, [pure()] * releases)
        read = 0

        def following(*given: Any, plain: Any = chain._following) -> Entry:
            nonlocal read
            read += 1
            found: Entry = plain(*given)
            return found

        with patch.object(chain, "_following", following):
            Ledger(people.ledger.store.path).dataset("people").release(pure(), [5, 6, 7])
        counted.append(read)
        assert people.balance().spent.epsilon == Fraction(releases + 1, 4)
    assert max(counted) < 120 and counted[1] < counted[0] + 40


def test_what_is_over_the_total_is_refused_by_a_reader_of_sums_alone(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon=25))
    reserve(people, [pure()] * 100)
    assert Ledger(tmp_path / "l").entries()[-1].kind != "opened"
    with pytest.raises(OverTotal, match=r"epsilon 25\.25 would be spent"):
        Ledger(tmp_path / "l").dataset("people").release(pure(), [5, 6, 7])


def test_a_sum_that_says_something_else_is_found(tmp_path: Path) -> None:
    """Its chain made to fit; and where only what it names was altered, at once."""
    people = stated(tmp_path / "l", Total(epsilon=100))
    reserve(people, [pure()] * 40)
    found = next(entry for entry in people.ledger.entries() if entry.kind == SUMMED)
    said = found.content["standings"][0]
    (number, hash, times) = said["expenses"][0]
    assert (number, hash) == (3, people.ledger.entries()[2].hash)
    original = (tmp_path / "l").read_bytes()
    for altered in ({**said, "expenses": [[number, hash, times - 1]]}, {**said, "expenses": []}):
        (tmp_path / "l").write_bytes(original)
        rewritten(tmp_path / "l", found.number, {**found.content, "standings": [altered]})
        with pytest.raises(InvalidLedger, match="does not say what the entries before it add up to"):
            checked(Ledger(tmp_path / "l"))
    (tmp_path / "l").write_bytes(original)
    cheaper = next_entry(
        people.ledger.entries()[1],
        {**people.ledger.entries()[2].content, "expense": {**expense_of(pure()).to_dict(), "epsilon": "1/100"}},
    )
    with unlocked(tmp_path / "l") as connection:
        connection.execute("UPDATE entries SET body = ?, hash = ? WHERE number = 3", (cheaper.body, cheaper.hash))
    with pytest.raises(InvalidLedger, match="altered after it was summed up"):
        Ledger(tmp_path / "l").dataset("people").release(pure(), [5, 6, 7])


@pytest.mark.parametrize("times", [0, -1, 1.0, "1", None, True])
def test_a_sum_of_no_number_of_releases_is_told(tmp_path: Path, times: Any) -> None:
    people = stated(tmp_path / "l", Total(epsilon=100))
    reserve(people, [pure()] * 40)
    found = next(entry for entry in people.ledger.entries() if entry.kind == SUMMED)
    said = found.content["standings"][0]
    expenses = [[*said["expenses"][0][:2], times]]
    rewritten(tmp_path / "l", found.number, {**found.content, "standings": [{**said, "expenses": expenses}]})
    with pytest.raises(InvalidLedger, match="was not written by this program"):
        Ledger(tmp_path / "l")


@pytest.mark.parametrize("standings", [None, [1], [{}], [{"dataset": "people"}], 5])
def test_a_sum_of_another_form_is_told(tmp_path: Path, standings: Any) -> None:
    people = stated(tmp_path / "l", Total(epsilon=100))
    reserve(people, [pure()] * 40)
    found = next(entry for entry in people.ledger.entries() if entry.kind == SUMMED)
    rewritten(tmp_path / "l", found.number, {**found.content, "standings": standings})
    with pytest.raises(InvalidLedger, match="was not written by this program"):
        Ledger(tmp_path / "l")


def test_sums_are_written_so_that_the_file_does_not_grow_faster_than_its_releases(tmp_path: Path) -> None:
    """Of many different costs a sum is long, and comes rarely."""
    people = stated(tmp_path / "l", Total(epsilon=1000))
    standing = people.standing()
    many = [pure(0.25), pure(0.5), normal(0.25)]
    assert isinstance(standing, DataSetState) and standing.equal == ()
    with patch.object(ledger, "LEAST_BETWEEN", 2):
        reserve(people, [many[k % 2] for k in range(12)])
    entries = people.ledger.entries()
    sums = [entry.number for entry in entries if entry.kind == SUMMED]
    assert all(after - before > 2 for before, after in pairwise(sums)) and len(sums) >= 3
    assert (
        summed(advanced({}, entries[: sums[-1] - 1]), SigningRule())["standings"] == entries[sums[-1] - 1].content["standings"]
    )


def test_releases_of_equal_cost_are_added_up_by_their_number() -> None:
    """Every number is the same as of the list of all."""
    costs = [Cost.pure(Fraction(1, 3)), Cost.normal(Fraction(1, 7)), Cost(epsilon=Fraction(1, 5), delta=Fraction(1, 10**7))]
    for chosen in ([0], [0, 1], [1], [0, 2], [2], [0, 1, 2]):
        some = tuple(costs[k] for k in chosen)
        times = tuple(k + 2 for k in chosen)
        short, long = (
            TotalCost(some, times),
            TotalCost(tuple(cost for cost, k in zip(some, times, strict=True) for _ in range(k))),
        )
        for name in ("epsilon", "rho", "approximate_rho", "mu_squared", "plain", "releases"):
            assert getattr(short, name) == getattr(long, name), name
        assert short.delta_at(2) == long.delta_at(2) and short.epsilon_at("1e-5") == long.epsilon_at("1e-5")
        assert short.of_group(2).plain == long.of_group(2).plain if 1 not in chosen else True
        one_more = TotalCost((*long.costs, costs[0]))
        assert short.with_one_more(costs[0]).epsilon == one_more.epsilon and short.with_one_more(costs[0]).rho == one_more.rho


@pytest.mark.parametrize("times", [(0,), (1, 1), (-1,), (1.0,), (True,)])
def test_times_that_are_no_numbers_of_releases_are_refused(times: Any) -> None:
    with pytest.raises(InvalidProblem, match="times"):
        TotalCost((Cost.pure(Fraction(1)),), times)
