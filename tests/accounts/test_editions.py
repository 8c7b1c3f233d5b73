"""Releases over years: the period that one is about, and the release that it corrects."""

from __future__ import annotations

from pathlib import Path

import pytest

from designer.accounts.chain import Edition
from designer.accounts.check import checked
from designer.accounts.ledger_text import balance_lines, entry_lines
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.files.releases import sealed, verify_release
from tests.accounts.test_ledger import kinds, pure, stated


def test_a_correction_is_recorded_and_what_it_replaces_stays_spent(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    first = people.release(pure(), [5, 6, 7], period="2026-Q3")
    again = people.release(pure(), [5, 6, 8], period="2026-Q3", replaces=first.ledger["entry"])
    people.release(pure(), [1, 2, 3], period="2026-Q4")
    assert again.ledger["period"] == "2026-Q3" and again.ledger["replaces"] == first.ledger["entry"] == 4
    balance = people.balance()
    assert balance.spent.epsilon == 3 * balance.expenses[0].epsilon
    assert [balance.is_replaced(reserve) for reserve in balance.reserves] == [True, False, False]
    assert balance.replaced == {4: 6} and list(balance.periods) == ["2026-Q3", "2026-Q4"]
    assert "  2026-Q3:    2 releases, 1 of them replaced (spent)" in balance_lines(balance)
    assert "  2026-Q4:    1 release" in balance_lines(balance)
    assert ", period 2026-Q3, replaces 4" in entry_lines(people.ledger.entries()[4])[0]
    listed = balance.to_dict()["reserves"]
    assert listed[0]["replaced_by"] == 6 and listed[1]["replaces"] == 4 and "replaces" not in listed[2]
    assert checked(people.ledger).balances[0].replaced == {4: 6}
    verify_release(pure(), again.to_dict())


def test_only_a_release_of_these_data_that_stands_can_be_replaced(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    first = people.release(pure(), [5, 6, 7])
    before = people.ledger.entries()
    for number in (1, 2, 3, 99):  # opened, stated, reserved, none
        with pytest.raises(InvalidProblem, match=rf"replaces: entry {number} records no release of 'people'"):
            people.release(pure(), [5, 6, 7], replaces=number)
    other = people.ledger.state("firms", people.balance().total, publishes=None)
    with pytest.raises(InvalidProblem, match="replaces: entry 4 records no release of 'firms'"):
        other.release(pure(), [5, 6, 7], replaces=4)
    assert kinds(people.ledger) == [*(entry.kind for entry in before), "stated"]
    people.release(pure(), [5, 6, 7], replaces=first.ledger["entry"])
    with pytest.raises(InvalidProblem, match="replaces: entry 4 is replaced already, by the release of entry 6"):
        people.release(pure(), [5, 6, 7], replaces=4)


def test_a_correction_that_failed_replaces_nothing(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    people.release(pure(), [5, 6, 7])
    with pytest.raises(InvalidProblem), people.reserve(pure(), edition=Edition(replaces=4)):
        raise InvalidProblem("data: could not be read.")
    assert people.balance().replaced == {}
    people.release(pure(), [5, 6, 7], replaces=4)
    assert people.balance().replaced == {4: 8}


@pytest.mark.parametrize("period", ["2026", "2026-S1", "2026-Q3", "2026-09", "2026-W38", "2026-09-14"])
def test_a_period_is_one_of_sdmx(period: str) -> None:
    assert Edition(period).to_dict() == {"period": period}


@pytest.mark.parametrize(
    "period", ["", "26", "2026-Q5", "2026-S3", "2026-13", "2026-W54", "2026-9", "Q3 2026", "2026-Q3 ", 2026]
)
def test_any_other_period_is_refused(period: object) -> None:
    with pytest.raises(InvalidProblem, match=r"period: .* is none; write 2026, "):
        Edition(period)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "4"])
def test_what_is_replaced_is_the_number_of_an_entry(number: object) -> None:
    with pytest.raises(InvalidProblem, match=r"replaces: .* is no number of an entry"):
        Edition(replaces=number)  # type: ignore[arg-type]


@pytest.mark.parametrize("altered", [{"period": "soon"}, {"replaces": 0}, {"replaces": "4"}, {"period": 2026}, {"edition": 1}])
def test_a_release_with_another_edition_is_refused(tmp_path: Path, altered: dict[str, object]) -> None:
    people = stated(tmp_path / "l")
    document = people.release(pure(), [5, 6, 7], period="2026").to_dict()
    with pytest.raises(InvalidSpec, match="ledger"):
        verify_release(pure(), sealed({**document, "ledger": {**document["ledger"], **altered}}))
