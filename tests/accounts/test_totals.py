"""Totals: exact numbers, what they cover, and what is left, against closed forms and against the accountant itself. What a
total covers, in its own notion: nothing that has no number there.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import InvalidProblem
from designer.accounts import Ledger, Total, checked
from designer.accounts.chain import entry_reserved
from designer.accounts.composition.cost_record import expense_of
from designer.accounts.totals import decimal_text
from designer.base.errors import InvalidLedger
from designer.relations.records.row_unit import RowUnit
from designer.tradeoff.costs import Cost, TotalCost
from tests.oracles.ledgers import pure, stated

QUARTERS = TotalCost((Cost.pure(Fraction(1, 4)), Cost.pure(Fraction(1, 4))))


@pytest.mark.parametrize(
    ("given_as", "exact"),
    [
        ("0.3", Fraction(3, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("2.5E+1", Fraction(25)),
        ("1/3", Fraction(1, 3)),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(0.1)),
        (2, Fraction(2)),
        (Fraction(2, 3), Fraction(2, 3)),
        ("0", Fraction(0)),
    ],
)
def test_numbers_are_taken_exactly(given_as: Any, exact: Fraction) -> None:
    total = Total(epsilon=given_as)
    assert total.epsilon == exact and Total.from_dict(total.to_dict()) == total


@pytest.mark.parametrize("wrong", ["", "x", "1e", "-1", -1, "1e9999", math.inf, math.nan, True, "0x1", "1_0", "1e-9999", [1]])
@pytest.mark.parametrize("field", ["epsilon", "rho"])
def test_what_is_no_number_is_refused(wrong: Any, field: str) -> None:
    with pytest.raises(InvalidProblem, match=rf"total.{field}"):
        Total(**{field: wrong})


@pytest.mark.parametrize(
    "wrong", [{}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 0.1}, {"delta": 0.1}, {"epsilon": 1, "delta": 1}]
)
def test_totals_that_are_none_or_two_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidProblem, match="total"):
        Total(**wrong)


@pytest.mark.parametrize("wrong", [None, {}, {"epsilon": "1"}, {"epsilon": "1", "delta": None, "rho": None, "more": 1}])
def test_an_entry_with_another_total_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidLedger, match="total"):
        Total.from_dict(wrong)


def test_a_delta_of_zero_is_a_pure_total() -> None:
    assert Total(epsilon=1, delta=0) == Total(epsilon=1) and Total(epsilon=1).notion == "pure"


def test_what_is_left_is_what_is_missing() -> None:
    normal = TotalCost((Cost.concentrated(Fraction(1, 8)),))
    assert Total(epsilon=1).left(QUARTERS) == {"pure": Fraction(1, 2), "zcdp": None}
    assert Total(epsilon=1).left(normal) == {"pure": None, "zcdp": None}
    assert Total(rho=1).left(normal)["zcdp"] == Fraction(7, 8)
    pure = Total(rho=1).left(normal)["pure"]  # by its closed form, epsilon tanh(epsilon / 2)
    assert pure is not None and 0.875 * (1 - 3e-6) < float(pure) * math.tanh(pure / 2) <= 0.875
    assert Total(epsilon="0.4").left(QUARTERS) == {"pure": None, "zcdp": None}
    assert Total(epsilon="0.5").left(QUARTERS)["pure"] == 0


@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 2), max_value=3, max_denominator=50),
    exponent=st.integers(2, 9),
    spent=st.lists(st.fractions(min_value=Fraction(1, 100), max_value=Fraction(1, 10), max_denominator=100), max_size=4),
)
def test_a_release_of_the_size_that_is_left_is_covered_and_a_larger_one_hardly(
    epsilon: Fraction, exponent: int, spent: list[Fraction]
) -> None:
    total = Total(epsilon=epsilon, delta=f"1e-{exponent}")
    before = [Cost.concentrated(value**2 / 2) for value in spent]
    for notion, maker in (("pure", Cost.pure), ("zcdp", Cost.concentrated)):
        most = total.left(TotalCost(tuple(before)))[notion]
        if most is None:
            assert not total.covers(TotalCost(tuple(before)))
            continue
        assert total.covers(TotalCost((*before, maker(most))))
        if most > Fraction(1, 100):
            larger = TotalCost((*before, maker(most * Fraction(101, 100))))
            assert larger.delta_at(epsilon, precise=False) > total.limit


@given(st.fractions(min_value=0, max_value=10**6), st.booleans())
def test_printed_numbers_are_on_the_safe_side(value: Fraction, up: bool) -> None:
    shown = Fraction(Decimal(decimal_text(value, up=up)))
    assert (shown >= value if up else shown <= value) and abs(shown - value) <= value * Fraction(1, 10**5)


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
