"""What a ledger promises: reserved before data are used, recorded before anything is shown, never more than the total."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    InvalidProblem,
    InvalidSpec,
    MarginalWorkload,
    Presence,
    Problem,
    Workload,
    design,
    invariants,
    load,
    metrics,
)
from designer.accounts import Ledger, Recorded, Total, checked, store
from designer.accounts import store as place
from designer.accounts.chain import output_hash
from designer.accounts.check import require_recorded
from designer.accounts.composition import cost_record as expense
from designer.accounts.composition.cost_record import expense_of, spent
from designer.accounts.ledger import Reservation
from designer.base.errors import InvalidLedger, LedgerUnavailable, OverTotal
from designer.domains.marginals_plan import design_marginals
from designer.files.releases import verify_release
from designer.problem.domain import Domain
from designer.problem.histogram import Keys
from designer.relations.records.row_unit import RowUnit
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from tests.oracles.ledgers import PUBLIC, Stamp, busy_ledger, normal, pure, reserved_only, stated, unlocked
from tests.oracles.ledgers import kinds_of as kinds


class Watched(Mapping[str, int]):
    """Confidential counts by name that tell what the ledger held when one was read last, and when a name was read first."""

    def __init__(self, counts: list[int], ledger: Ledger) -> None:
        self.counts = {f"e{place}": count for place, count in enumerate(counts)}
        self.ledger = ledger
        self.kinds: list[str] = []
        self.named: list[str] = []

    def __getitem__(self, name: str) -> int:
        self.kinds = kinds(self.ledger)
        return self.counts[name]

    def __iter__(self) -> Iterator[str]:
        self.named = self.named or kinds(self.ledger)
        return iter(self.counts)

    def __len__(self) -> int:
        self.named = self.named or kinds(self.ledger)
        return len(self.counts)


def test_a_release_is_reserved_before_data_are_used_and_recorded_when_it_is_handed_out(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    data = Watched([5, 6, 7], people.ledger)
    made = people.release(pure(), data)
    assert data.named == ["opened", "stated"] and data.kinds == ["opened", "stated", "reserved"]
    assert kinds(people.ledger) == ["opened", "stated", "reserved", "released"]
    assert isinstance(made, Recorded) and made.fingerprint == pure().fingerprint and len(made.released.answers) == 3
    last = people.ledger.entries()[-1]
    assert made.ledger == {"id": people.ledger.id, "dataset": "people", "reservation": 3, "entry": 4, "head": last.hash}
    assert last.content["output"] == output_hash(made.to_dict())
    assert "entry 4 of a ledger" in verify_release(pure(), made.to_dict()).to_text()


def test_what_exceeds_the_total_is_refused_before_data_are_touched(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="0.7"))
    people.release(pure(), [5, 6, 7])
    people.release(pure(), [5, 6, 7])
    before, data = people.ledger.entries(), Watched([5, 6, 7], people.ledger)
    with pytest.raises(OverTotal, match=r"total of epsilon 0.7; with this release epsilon 0.75 would be spent"):
        people.release(pure(), data)
    assert data.kinds == data.named == [] and people.ledger.entries() == before


@pytest.mark.parametrize(
    ("total", "made", "room"),
    [
        (Total(epsilon=1), [0.25], 4),
        (Total(epsilon="1.1"), [0.5, 0.25], 2),
        (Total(rho="1/8"), ["normal"], 4),
        (Total(epsilon=1, delta="1e-6"), [0.25], 4),
        (Total(epsilon=2, delta="1e-6"), ["normal"], None),
        (Total(epsilon=1), ["normal"], 0),
    ],
    ids=str,
)
def test_releases_are_made_as_long_as_they_add_up_within_the_total(
    tmp_path: Path, total: Total, made: list[Any], room: int | None
) -> None:
    """The number of them is recomputed here, from the expenses."""
    people, mechanisms = stated(tmp_path / "l", total), [normal() if m == "normal" else pure(m) for m in made]
    count = 0
    with pytest.raises(OverTotal):
        for count in range(100):
            people.release(mechanisms[count % len(mechanisms)], [5, 6, 7])
    expenses = [expense_of(mechanisms[k % len(mechanisms)]) for k in range(count + 1)]
    assert total.covers(spent(expenses[:count]).total) and not total.covers(spent(expenses).total)
    assert room is None or count == room
    assert people.balance().expenses == tuple(expenses[:count])
    checked(people.ledger)


def test_a_release_that_fails_stays_spent(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="0.25"))
    placed = Workload(np.eye(2), keys=Keys(("place",), (("a",), ("b",))))
    made = design(Problem(placed, metrics.uniform(2, 0.25)), "laplace").mechanism
    with pytest.raises(InvalidProblem):
        people.release(made, {"place": ["nowhere"]})
    assert kinds(people.ledger)[2:] == ["reserved", "abandoned"] and people.balance().reserves[0].state == "abandoned"
    with pytest.raises(OverTotal):
        people.release(pure(), [5, 6, 7])


def test_a_reservation_that_was_interrupted_stays_spent(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="0.25"))
    reserved_only(people, pure())
    assert checked(people.ledger).open == (3,) and people.balance().spent.epsilon == Fraction(1, 4)
    with pytest.raises(OverTotal):
        people.release(pure(), [5, 6, 7])


def test_a_release_by_hand_is_recorded_once(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    reservation = people.reserve(pure())
    with pytest.raises(InvalidProblem, match="nothing is reserved"):
        reservation.record({})
    with reservation:
        document = reservation.record(pure().release([5, 6, 7]).to_dict())
        with pytest.raises(InvalidProblem, match="has ended"):
            reservation.record({"answers": 1})
    with pytest.raises(InvalidProblem, match="entered before"), reservation:
        pass
    assert kinds(people.ledger)[2:] == ["reserved", "released"]
    assert document["ledger"]["entry"] == 4


def test_raising_a_total_is_an_entry_with_a_name_and_a_reason(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="0.25"))
    people.release(pure(), [5, 6, 7])
    with pytest.raises(OverTotal, match="state more"):
        people.raise_total(Total(epsilon="0.2"), "less")
    with pytest.raises(InvalidProblem, match="reason"):
        people.raise_total(Total(epsilon=1), " ")
    Ledger(tmp_path / "l", who="Eve").dataset("people").raise_total(Total(rho=1), "the council decided so")
    last = people.ledger.entries()[-1].content
    assert (last["who"], last["reason"], last["kind"]) == ("Eve", "the council decided so", "raised")
    assert people.release(normal(), [5, 6, 7]).released.answers.shape == (3,)
    checked(people.ledger)


def test_what_stays_unprotected_must_have_been_allowed(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l")
    people = ledger.state("people", Total(epsilon=10))
    kept = design(Problem(Workload.identity(3), invariants.total(3).protect(0.5)), "lattice_laplace").mechanism
    for mechanism in (pure(), kept):
        data = Watched([5, 6, 7], ledger)
        with pytest.raises(OverTotal) as refused:
            people.release(mechanism, data)
        new = set(mechanism.guarantee.unprotected) - set(people.balance().allowance.publishes or ())
        assert data.kinds == data.named == [] and new and all(repr(line) in str(refused.value) for line in new)
        people.raise_total(Total(epsilon=10), "allowed", publishes=mechanism.guarantee.unprotected)
        people.release(mechanism, [5, 6, 7])
    ledger.state("open", Total(epsilon=10), publishes=None).release(kept, [5, 6, 7])
    assert people.balance().allowance.publishes == tuple(
        dict.fromkeys((*pure().guarantee.unprotected, *kept.guarantee.unprotected))
    )


def test_data_sets_of_one_file_have_totals_of_their_own(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l")
    for name, total in (("a", Total(epsilon="0.25")), ("b", Total(rho=1))):
        ledger.state(name, total, publishes=[PUBLIC])
    ledger.dataset("a").release(pure(), [5, 6, 7])
    ledger.dataset("b").release(normal(), [5, 6, 7])
    with pytest.raises(OverTotal):
        ledger.dataset("a").release(pure(), [5, 6, 7])
    assert ledger.datasets == ["a", "b"] and len(ledger.dataset("b").balance().reserves) == 1
    with pytest.raises(InvalidProblem, match="is stated"):
        ledger.state("a", Total(epsilon=1))
    with pytest.raises(InvalidProblem, match="has no 'c'"):
        ledger.dataset("c")


def test_what_does_not_add_up_is_refused(tmp_path: Path) -> None:
    """A mechanism without a finite cost; single records that appear beside a public number of records."""
    people = stated(tmp_path / "l", Total(epsilon=100))
    appears = design(Problem(Workload.identity(3), metrics.add_remove(3, 0.5)), "laplace").mechanism
    people.release(pure(), [5, 6, 7])
    after = people.forecast(appears).after
    assert after is not None and after.epsilon == Fraction(1, 4) + 1  # to change is to disappear and to appear
    kept = design(Problem(Workload.identity(3), invariants.total(3).protect(0.5)), "lattice_laplace").mechanism
    people.raise_total(Total(epsilon=100), "all of it", publishes=None)
    people.release(kept, [5, 6, 7])
    chain: Any = best_selection(Linear(Workload.identity(3)), metrics.uniform(3, 0.5))
    assert people.forecast(chain).refusal is None


def test_entities_and_single_rows_are_not_added_up(tmp_path: Path) -> None:
    asked = MarginalWorkload.of(Domain.of({"sex": ["F", "M"]}), {("sex",): 1.0})
    mechanism = design_marginals(asked, Presence(mu=0.5))
    people = stated(tmp_path / "l", Total(rho=10))
    people.raise_total(Total(rho=10), "test", publishes=None)
    households = RowUnit(entity="household", rows_per_entity=3)
    with people.reserve(mechanism, households) as reservation:
        reservation.record({})
    one, three, two = (expense_of(mechanism, rows_per_entity=rows) for rows in (None, 3, 2))
    assert people.balance().expenses[0].rho == three.rho > 9 * one.rho
    with pytest.raises(InvalidProblem, match=r"entities of column 'household'; this release protects single rows"):
        people.release(mechanism, {"sex": ["F"]})
    more = people.forecast(mechanism, RowUnit(entity="household", rows_per_entity=2))
    assert more.refusal is None and more.after is not None and more.after.rho == three.rho + two.rho
    assert "single rows" in str(people.forecast(mechanism).refusal)
    assert people.forecast(mechanism, RowUnit("visit", entity="household", rows_per_entity=2)).refusal is not None


def test_a_plan_is_what_the_release_then_costs(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    planned = people.forecast(pure())
    assert kinds(people.ledger) == ["opened", "stated"]
    people.release(pure(), [5, 6, 7])
    assert planned.after is not None and planned.after.total == people.balance().spent.total
    assert people.balance().total.left(people.balance().spent.total)["pure"] == Fraction(3, 4)


# The file -----------------------------------------------------------------------------------------------------------------


def test_an_older_copy_is_seen_by_the_release_that_it_lacks(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    old = (tmp_path / "l").read_bytes()
    made = people.release(pure(), [5, 6, 7])
    (tmp_path / "release.json").write_text(json.dumps(made.to_dict()))
    assert require_recorded(people.ledger.entries(), tmp_path / "release.json").number == 4
    (tmp_path / "l").write_bytes(old)
    people = Ledger(tmp_path / "l").dataset("people")
    assert checked(people.ledger).open == ()  # within itself it is whole
    with pytest.raises(InvalidLedger, match="older copy"):
        require_recorded(people.ledger.entries(), tmp_path / "release.json")
    people.release(pure(), [5, 6, 7])  # another entry of that number
    with pytest.raises(InvalidLedger, match="older copy"):
        require_recorded(people.ledger.entries(), tmp_path / "release.json")


def test_a_release_that_was_altered_is_not_the_recorded_one(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    document = people.release(pure(), [5, 6, 7]).to_dict()
    for altered in ({**document, "answers": {}}, {**document, "more": 1}, {k: document[k] for k in document if k != "ledger"}):
        (tmp_path / "release.json").write_text(json.dumps(altered))
        with pytest.raises(InvalidLedger):
            require_recorded(people.ledger.entries(), tmp_path / "release.json")


def test_a_ledger_that_is_set_back_or_exchanged_during_a_release_stops_it(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    old = (tmp_path / "l").read_bytes()
    with pytest.raises(InvalidLedger, match="set back"), people.reserve(pure()) as reservation:
        (tmp_path / "l").write_bytes(old)
        reservation.record({})
    stated(tmp_path / "other")
    people = Ledger(tmp_path / "l").dataset("people")
    with pytest.raises(InvalidLedger, match="another ledger"), people.reserve(pure()) as reservation:
        os.replace(tmp_path / "other", tmp_path / "l")
        reservation.record({})


def test_what_is_public_of_the_data_is_looked_at_once_the_ledger_has_agreed_and_before_it_records(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="0.3"))
    seen: list[list[str]] = []

    def ready() -> None:
        seen.append(kinds(Ledger(tmp_path / "l")))

    def unfit() -> None:
        raise InvalidProblem("records: have no column 'state'.")

    with pytest.raises(InvalidProblem, match="no column"), people.reserve(pure(), ready=unfit):
        raise AssertionError("nothing is released")
    assert kinds(people.ledger) == ["opened", "stated"]
    with people.reserve(pure(), ready=ready) as reservation:
        reservation.record({})
    assert seen == [["opened", "stated"]]
    with pytest.raises(OverTotal), people.reserve(pure(), ready=ready):
        raise AssertionError("nothing is released")
    assert len(seen) == 1


def test_what_was_read_before_is_not_read_again_but_still_belongs_to_the_file(tmp_path: Path) -> None:
    """An object that has read a ledger sees what others add, and what they alter."""
    people = stated(tmp_path / "l")
    for _ in range(2):
        Ledger(tmp_path / "l").dataset("people").release(pure(), [5, 6, 7])
        assert people.ledger.entries() == Ledger(tmp_path / "l").entries()
    with unlocked(tmp_path / "l") as connection:
        connection.execute("UPDATE entries SET body = replace(body, 'people', 'peeple') WHERE number = 6")
    with pytest.raises(InvalidLedger, match="entry 6 was altered"):
        people.release(pure(), [5, 6, 7])


def test_a_ledger_that_was_moved_during_a_release_stops_it(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    with pytest.raises(LedgerUnavailable, match="cannot be opened") as refused, people.reserve(pure()) as reservation:
        os.rename(tmp_path / "l", tmp_path / "moved")
        reservation.record({})
    assert refused.value.spent is True and not refused.value.transient and "stays spent" in str(refused.value)
    moved = Ledger(tmp_path / "moved")
    assert moved.dataset("people").balance().spent.epsilon == Fraction(1, 4) and not (tmp_path / "l").exists()


def test_a_symbolic_link_is_the_same_ledger_and_a_hard_link_is_refused(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    (tmp_path / "soft").symlink_to(tmp_path / "l")
    assert Ledger(tmp_path / "soft").store == people.ledger.store
    os.link(tmp_path / "l", tmp_path / "hard")
    for name in ("l", "hard", "soft"):
        with pytest.raises(InvalidProblem, match="2 hard links"):
            Ledger(tmp_path / name)
    with pytest.raises(InvalidProblem, match="2 hard links"):
        people.release(pure(), [5, 6, 7])


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", True), ("fuse.sshfs", True), ("cifs", True), ("ext4", False)])
def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, refused: bool) -> None:
    people = stated(tmp_path / "l")
    mounts = tmp_path / "mountinfo"
    there = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {there} rw shared:1 - {kind} server:/x rw\n")
    monkeypatch.setattr(place, "MOUNTS", mounts)
    assert place.file_system(tmp_path / "l") == kind
    if not refused:
        people.release(pure(), [5, 6, 7])
        return
    with pytest.raises(InvalidProblem, match=kind.replace(".", r"\.")):
        people.release(pure(), [5, 6, 7])


def test_files_that_are_no_ledger_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other"
    text.write_text("This is a text of more than sixteen bytes.\n" * 40)
    empty.touch()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    for path in (text, empty, other):
        before = path.read_bytes()
        with pytest.raises(InvalidLedger, match="no ledger"):
            Ledger(path)
        assert path.read_bytes() == before
    for path in (text, other):
        with pytest.raises(InvalidLedger):
            Ledger.create(path)
    for path in (tmp_path, tmp_path / "none", tmp_path / "none" / "l", Path("/dev/null"), Path("a\0b")):
        with pytest.raises(InvalidProblem, match="ledger"):
            Ledger(path)
    assert not (tmp_path / "none").exists()
    assert Ledger.create(empty).datasets == []  # what a process leaves that was killed while it made one


def test_creating_a_ledger_that_is_there_changes_nothing(tmp_path: Path) -> None:
    """It is opened where that is asked for, and refused elsewhere."""
    people = busy_ledger(tmp_path / "l")
    before = people.ledger.entries()
    with pytest.raises(InvalidProblem, match="is there; open it"):
        Ledger.create(tmp_path / "l", signer=Stamp())
    assert Ledger.create(tmp_path / "l", exist_ok=True).entries() == before


def test_a_full_disk_stops_a_release_before_or_after_but_never_unrecorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = stated(tmp_path / "l", Total(epsilon=1000))
    connect, handed_out = sqlite3.connect, 0

    def full(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.execute("PRAGMA max_page_count = 12")
        return connection

    monkeypatch.setattr(store.sqlite3, "connect", full)
    with pytest.raises(LedgerUnavailable, match="disk is full") as refused:
        for _ in range(100):
            data = Watched([5, 6, 7], people.ledger)
            people.release(pure(), data)
            handed_out += 1
    assert refused.value.spent is False and not refused.value.transient and "stays spent" not in str(refused.value)
    assert handed_out > 2 and data.kinds.count("reserved") == kinds(people.ledger).count("released") == handed_out
    monkeypatch.undo()
    with (
        pytest.raises(LedgerUnavailable, match=r"disk is full.* stays spent") as refused,
        people.reserve(pure()) as reservation,
    ):
        monkeypatch.setattr(store.sqlite3, "connect", full)  # which lets it stay as large as it is
        people.ledger.who = "x" * 10_000
        reservation.record(pure().release([5, 6, 7]).to_dict())
        pytest.fail("was handed out")
    assert refused.value.spent is True and len(checked(people.ledger).open) == 1


def test_a_disk_that_fails_stops_a_release(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    data, limits = Watched([5, 6, 7], people.ledger), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "l").stat().st_size, limits[1]))
    try:
        with pytest.raises(LedgerUnavailable, match=r"disk|journal"):
            people.release(pure(), data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert data.kinds == kinds(people.ledger) == ["opened", "stated"]
    people.release(pure(), [5, 6, 7])


def test_a_ledger_that_another_process_holds_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    hurried = Ledger(tmp_path / "l", wait=0.05).dataset("people")
    with closing(sqlite3.connect(tmp_path / "l", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match=r"busy: another process has held it for more than 0.05 s") as refused:
            hurried.release(pure(), [5, 6, 7])
        assert refused.value.transient and refused.value.spent is False
        assert len(hurried.balance().reserves) == 0  # reading goes on
        threading.Timer(0.2, lambda: other.execute("ROLLBACK")).start()
        people.release(pure(), [5, 6, 7])
    assert kinds(people.ledger) == ["opened", "stated", "reserved", "released"]


def test_threads_and_forks_share_a_ledger(tmp_path: Path) -> None:
    """Eight threads want ten quarters of the two and a half there are room for... in one object."""
    people = stated(tmp_path / "l", Total(epsilon="0.8"))
    refused: list[Exception] = []

    def run() -> None:
        try:
            people.release(pure(), [5, 6, 7])
        except OverTotal as error:
            refused.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5 and kinds(people.ledger).count("released") == 3
    checked(people.ledger)


def test_what_is_reserved_while_the_ledger_is_asked_counts(tmp_path: Path) -> None:
    """Between the first look and the entry another process reserves what was left."""
    people = stated(tmp_path / "l", Total(epsilon="0.25"))
    with (
        pytest.raises(OverTotal),
        Reservation(
            people, pure(), RowUnit(), (), check=lambda: reserved_only(Ledger(tmp_path / "l").dataset("people"), pure())
        ),
    ):
        raise AssertionError("was let in")
    assert kinds(people.ledger) == ["opened", "stated", "reserved"]


def test_a_release_opens_the_file_of_its_ledger_for_its_two_entries_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an object has recorded itself is not read again, and what a mechanism costs is computed once."""
    people, mechanism = stated(tmp_path / "l"), pure()
    people.release(mechanism, [5, 6, 7])
    opened: list[str] = []
    connected = sqlite3.connect
    monkeypatch.setattr(store.sqlite3, "connect", lambda *given, **named: opened.append(given[0]) or connected(*given, **named))
    monkeypatch.setattr(expense, "costliest", lambda mechanism: pytest.fail("computed again"))
    people.release(mechanism, [5, 6, 7])
    assert len(opened) == 2


def test_a_total_that_another_process_raised_is_seen_before_a_release_is_refused(tmp_path: Path) -> None:
    people = stated(tmp_path / "l", Total(epsilon="0.25"))
    people.release(pure(), [5, 6, 7])
    with pytest.raises(OverTotal):
        people.release(pure(), [5, 6, 7])
    Ledger(tmp_path / "l").dataset("people").raise_total(Total(epsilon="0.5"), "a second question")
    people.release(pure(), [5, 6, 7])
    assert people.standing().spent.epsilon == Fraction(1, 2)


def test_a_ledger_that_was_set_back_counts_what_it_says(tmp_path: Path) -> None:
    """An object that is opened afterwards follows the file: what was cut off is found by the head of a release alone."""
    people = stated(tmp_path / "l", Total(epsilon="0.25"))
    old = (tmp_path / "l").read_bytes()
    people.release(pure(), [5, 6, 7])
    (tmp_path / "l").write_bytes(old)
    people = Ledger(tmp_path / "l").dataset("people")
    assert people.standing().equal == ()
    people.release(pure(), [5, 6, 7])
    with pytest.raises(OverTotal):
        people.release(pure(), [5, 6, 7])


def _written_over(path: Path, old: bytes) -> None:
    path.write_bytes(old)


def _renamed_over(path: Path, old: bytes) -> None:
    path.with_name("copy").write_bytes(old)
    os.replace(path.with_name("copy"), path)


def _written_on(path: Path, old: bytes) -> None:
    """Set back, and as many entries written as were lost."""
    path.write_bytes(old)
    Ledger(path).dataset("people").release(pure(), [1, 1, 1])


def _another(path: Path, old: bytes) -> None:
    stated(path.with_name("other"))
    os.replace(path.with_name("other"), path)


def _cut_with_care(path: Path, old: bytes) -> None:
    with unlocked(path) as connection:
        connection.execute("DELETE FROM entries WHERE number > 2")
        connection.execute("UPDATE sqlite_sequence SET seq = 2")


def _cut_in_the_middle(path: Path, old: bytes) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _emptied(path: Path, old: bytes) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize(
    "altered", [_written_over, _renamed_over, _written_on, _another, _cut_with_care, _cut_in_the_middle, _emptied]
)
@pytest.mark.parametrize(
    "use",
    [
        lambda people: people.release(pure(), [5, 6, 7]),
        lambda people: people.ledger.entries(),
        lambda people: people.ledger.head,
        lambda people: people.balance(),
        lambda people: people.forecast(pure()),
        lambda people: people.raise_total(Total(epsilon=9), "more"),
        lambda people: people.ledger.state("firms", Total(epsilon=1)),
        lambda people: checked(people.ledger),
    ],
    ids=["release", "entries", "head", "balance", "forecast", "raise_total", "state", "checked"],
)
def test_an_open_ledger_that_was_altered_beneath_is_refused_for_ever(tmp_path: Path, altered: Any, use: Any) -> None:
    """Also once the file is whole again: nobody knows what was released from it meanwhile."""
    people, path = stated(tmp_path / "l"), tmp_path / "l"
    old = path.read_bytes()
    people.release(pure(), [5, 6, 7])
    newest, data = path.read_bytes(), Watched([5, 6, 7], people.ledger)
    altered(path, old)
    with pytest.raises(InvalidLedger):
        use(people)
    _renamed_over(path, newest)
    with pytest.raises(InvalidLedger, match="refused for ever by this object"):
        people.release(pure(), data)
    assert data.kinds == data.named == [] and kinds(Ledger(path))[2:] == ["reserved", "released"]
    assert Ledger(path).dataset("people").release(pure(), [5, 6, 7]).ledger["entry"] == 6


def test_no_more_than_the_total_is_spent_by_an_object_whose_file_is_set_back_again_and_again(tmp_path: Path) -> None:
    people, made = stated(tmp_path / "l"), 0
    old = (tmp_path / "l").read_bytes()
    for _ in range(7):
        with suppress(InvalidLedger):
            people.release(pure(), [5, 6, 7])
            made += 1
        (tmp_path / "l").write_bytes(old)
    assert made == 1


def test_a_file_that_is_exchanged_while_an_entry_is_committed_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite commits into the file that it has open, which has no name any more."""
    people, path = stated(tmp_path / "l"), tmp_path / "l"
    old, insert = path.read_bytes(), store.insert

    def inserted(connection: sqlite3.Connection, entries: Any) -> None:
        insert(connection, entries)
        _renamed_over(path, old)

    monkeypatch.setattr(store, "insert", inserted)
    data = Watched([5, 6, 7], people.ledger)
    with pytest.raises((InvalidLedger, LedgerUnavailable), match="exchanged"):
        people.release(pure(), data)
    monkeypatch.undo()
    assert data.kinds == kinds(Ledger(path)) == ["opened", "stated"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (lambda ledger: ledger.state("", Total(epsilon=1)), "dataset"),
        (lambda ledger: ledger.state("x" * 201, Total(epsilon=1)), "dataset"),
        (lambda ledger: ledger.state("x", 1.0), "total"),
        (lambda ledger: ledger.state("x", Total(epsilon=1), publishes=[3]), "publishes"),
        (lambda ledger: ledger.dataset("people").release(3, [1]), "mechanism"),
        (lambda ledger: ledger.dataset("people").release(pure(), [1], entity="a"), "rows_per_entity"),
        (lambda ledger: Ledger(ledger.store.path, who=""), "who"),
        (lambda ledger: Ledger(ledger.store.path, wait=-1), "wait"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, wrong: Any, field: str) -> None:
    people = stated(tmp_path / "l")
    with pytest.raises(InvalidProblem, match=field):
        wrong(people.ledger)
    assert kinds(people.ledger) == ["opened", "stated"]


def test_names_stay_within_their_line(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", who="Ada\nHead: 000")
    people = ledger.state("people", Total(epsilon=1))
    assert people.ledger.entries()[-1].content["who"] == "Ada\\nHead: 000" and ledger.datasets == ["people"]
    with pytest.raises(InvalidProblem, match=r"x1b\[2J' holds U\+001B"):
        ledger.state("people\x1b[2J", Total(epsilon=1))


def test_a_mechanism_that_was_saved_is_charged_as_the_one_that_was_designed(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    people.release(load(pure().save(tmp_path / "spec.json")), [5, 6, 7])
    assert people.balance().expenses == (expense_of(pure()),)


@pytest.mark.parametrize(
    "write",
    [
        lambda ledger: ledger.dataset("people").release(pure(), Watched([5, 6, 7], ledger)),
        lambda ledger: ledger.dataset("people").reserve(pure()).__enter__(),
        lambda ledger: ledger.dataset("people").raise_total(Total(epsilon=2), "more"),
        lambda ledger: ledger.state("firms", Total(epsilon=1)),
    ],
    ids=["release", "reserve", "raise_total", "state"],
)
def test_an_entry_without_a_signature_is_refused_where_all_are_signed(tmp_path: Path, write: Any) -> None:
    ledger = Ledger.create(tmp_path / "l", signer=Stamp())
    ledger.state("people", Total(epsilon=1), publishes=[PUBLIC])
    unsigned = Ledger(tmp_path / "l")
    with pytest.raises(InvalidProblem, match=r"signed by the key 'stamp' alone. Give such a key"):
        write(unsigned)
    assert kinds(unsigned) == ["opened", "stated"]  # reading needs no key
    Ledger(tmp_path / "l", signer=Stamp()).dataset("people").release(pure(), [5, 6, 7])
    assert checked(ledger).signed == {"stamp": 4}


def test_a_ledger_that_was_opened_without_a_key_takes_entries_of_both_kinds(tmp_path: Path) -> None:
    people = stated(tmp_path / "l")
    Ledger(tmp_path / "l", signer=Stamp()).dataset("people").release(pure(), [5, 6, 7])
    people.release(pure(), [5, 6, 7])
    assert checked(people.ledger).signed == {"stamp": 2}


def test_entries_are_signed_where_there_is_a_key(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", signer=Stamp())
    people = ledger.state("people", Total(epsilon=1), publishes=[PUBLIC])
    people.release(pure(), [5, 6, 7])
    assert all(entry.signature is not None for entry in ledger.entries()) and len(ledger.entries()) == 4

    def verify(key: str, message: bytes, signature: str) -> None:
        if (key, signature) != ("stamp", f"stamp signed {message.decode()}"):
            raise InvalidLedger("untrue")

    assert checked(ledger, trusted=verify).signed == {"stamp": 4}

    def refuse(key: str, message: bytes, signature: str) -> None:
        raise InvalidSpec(f"signature: {signature[:6]}")

    with pytest.raises(InvalidLedger, match="signature of entry 1 does not hold: signature: stamp"):
        checked(ledger, trusted=refuse)
    with closing(sqlite3.connect(tmp_path / "l")) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'entries_stay'")
        connection.commit()
    with pytest.raises(InvalidLedger, match="altered"):
        checked(ledger)
