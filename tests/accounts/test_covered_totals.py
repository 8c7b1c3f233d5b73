"""What a total covers, in its own notion: nothing that has no number there."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from designer.accounts import Ledger, Total, checked
from designer.accounts.chain import entry_reserved
from designer.accounts.composition.cost_record import expense_of
from designer.base.errors import InvalidLedger
from designer.relations.records.row_unit import RowUnit
from designer.tradeoff.costs import Cost, TotalCost
from tests.oracles.ledgers import pure, stated

SMALL = Fraction(1, 10)


def covered(total: Total, *costs: Cost) -> bool:
    return total.covers(TotalCost(costs))


def test_a_total_in_zcdp_covers_no_release_with_a_delta_of_its_own() -> None:
    total = Total(rho=1)
    assert covered(total, Cost.concentrated(SMALL)) and covered(total, Cost.pure(SMALL))
    assert not covered(total, Cost.concentrated(SMALL, Fraction(1, 10**6)))
    assert not covered(total, Cost(epsilon=SMALL, delta=Fraction(1, 10**6)))


def test_a_pure_total_covers_pure_releases_alone_up_to_their_sum() -> None:
    total = Total(epsilon="0.3")
    assert covered(total, Cost.pure(SMALL), Cost.pure(SMALL * 2))
    assert not covered(total, Cost.pure(SMALL), Cost.pure(SMALL * 2), Cost.pure(Fraction(1, 10**12)))
    assert not covered(total, Cost.concentrated(Fraction(1, 10**9)))


def test_a_total_with_a_delta_is_held_at_its_own_epsilon() -> None:
    allowed = Fraction(1, 2**20)
    total = Total(epsilon=1, delta=allowed)
    assert covered(total, Cost(epsilon=Fraction(1), delta=allowed))
    assert not covered(total, Cost(epsilon=Fraction(3, 2), delta=allowed / 8))
    assert not covered(total, Cost(epsilon=SMALL, delta=2 * allowed))


def test_a_ledger_that_was_set_back_and_written_to_again_records_nothing_of_before(tmp_path: Path) -> None:
    """The number of the reservation is there again, and it is another one."""
    people = stated(tmp_path / "l")
    old = (tmp_path / "l").read_bytes()
    with pytest.raises(InvalidLedger, match="set back"), people.reserve(pure()) as reservation:
        (tmp_path / "l").write_bytes(old)
        with Ledger(tmp_path / "l").dataset("people").reserve(pure(0.5)):
            reservation.record({})
    assert [entry.kind for entry in Ledger(tmp_path / "l").entries()][-2:] == ["reserved", "abandoned"]


def test_expenses_beyond_the_total_are_found_whoever_wrote_them(tmp_path: Path) -> None:
    """Entries that follow one another, and say more together than was allowed when they were made."""
    people, made = stated(tmp_path / "l", Total(epsilon="0.5")), pure()
    entry = entry_reserved("people", expense_of(made), made.guarantee, RowUnit())
    for _ in range(2):
        people.ledger.append(lambda standings, rows: [entry])
    assert checked(people.ledger).balances[0].spent.epsilon == Fraction(1, 2)
    people.ledger.append(lambda standings, rows: [entry])
    with pytest.raises(InvalidLedger, match="exceed the total"):
        checked(people.ledger)


class Stamp:
    """A signer whose signatures anybody could make."""

    key = "stamp"

    def sign(self, message: bytes) -> str:
        return f"signed {message.decode()}"


def test_every_signature_is_shown_to_who_is_trusted_to_judge_it(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", signer=Stamp())
    ledger.state("people", Total(epsilon=1))
    shown: list[tuple[str, bytes, str]] = []

    def refuse(key: str, message: bytes, signature: str) -> None:
        shown.append((key, message, signature))
        if len(shown) == 2:
            raise InvalidLedger("untrue")

    with pytest.raises(InvalidLedger):
        checked(ledger, trusted=refuse)
    assert shown == [("stamp", entry.hash.encode(), f"signed {entry.hash}") for entry in ledger.entries()]
