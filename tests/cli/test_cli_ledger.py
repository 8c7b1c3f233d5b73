"""The commands about ledgers, and releases that are recorded: exit codes, what is printed, and nothing of the data."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from designer import ReportProblem, design, metrics
from designer.accounts import DataSet, Ledger, Total
from designer.accounts.chain import output_hash
from designer.base.errors import OverTotal
from designer.cli import main
from designer.problem.histogram import Keys
from designer.tables import Count, Groups, TablePlan
from tests.oracles.ledgers import PUBLIC, pure

CANARY = "982451653"
COLLECTED = (("--histogram", "counts.csv", "--column", "people"), ("--table", "rows.csv"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pure().save("spec.json")
    Path("counts.csv").write_text(f"count\n{CANARY}\n1\n0\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of one command."""
    capsys.readouterr()
    code = main(arguments)
    return code, *capsys.readouterr()


def created(capsys: pytest.CaptureFixture[str], *more: str) -> None:
    total = more or ("--epsilon", "0.5", "--publishes", PUBLIC)
    assert run(capsys, "ledger", "create", "l", "--dataset", "people", *total)[0] == 0


RELEASE = ("release", "spec.json", "--histogram", "counts.csv", "--ledger", "l", "--dataset", "people")


def test_a_year_of_one_data_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys)
    code, out, _ = run(capsys, "ledger", "plan", "spec.json", "--ledger", "l", "--dataset", "people")
    assert code == 0 and "costs:      epsilon 0.25 (pure)" in out and "then left:  epsilon 0.25 (pure)" in out
    code, out, _ = run(capsys, *RELEASE, "--who", "Ada", "-o", "first.json")
    assert code == 0 and "entry 4 of ledger" in out and CANARY not in out
    first = json.loads(Path("first.json").read_text())
    entries = Ledger("l").entries()
    assert entries[-1].content["output"] == output_hash(first) and entries[-1].content["who"] == "Ada"
    assert first["ledger"]["head"] == entries[-1].hash and first["ledger"]["head"] in out
    code, out, _ = run(capsys, *RELEASE, "--json")
    second = json.loads(out)
    assert code == 0 and Ledger("l").entries()[-1].content["output"] == output_hash(second)
    code, out, err = run(capsys, *RELEASE)
    assert (code, out) == (6, "") and "total of epsilon 0.5; with this release epsilon 0.75" in err and len(err) < 2000
    assert len(Ledger("l").entries()) == 6
    assert run(capsys, "ledger", "raise", "l", "--dataset", "people", "--epsilon", "1", "--reason", "more to say")[0] == 0
    assert run(capsys, *RELEASE)[0] == 0
    code, out, _ = run(capsys, "ledger", "check", "l", "--release", "first.json", "--head", second["ledger"]["head"])
    assert code == 0 and "its chain of 9 entries was checked" in out and "first.json: recorded as entry 4" in out
    code, out, _ = run(capsys, "verify", "l", "--json")
    assert code == 0 and json.loads(out)["released"] == 3 and json.loads(out)["head"] == Ledger("l").head
    code, out, _ = run(capsys, "ledger", "show", "l", "--entries")
    assert code == 0 and "3 released" in out and "because: more to say" in out and "left:       epsilon 0.25 (pure)" in out
    shown = json.loads(run(capsys, "ledger", "show", "l", "--json")[1])
    assert shown["datasets"][0]["left"]["pure"] == "1/4" and len(shown["entries"]) == 9


def test_entries_and_releases_are_signed_and_verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ada", "eve"):
        assert run(capsys, "keys", "new", name)[0] == 0
    created(capsys, "--epsilon", "1", "--publishes", PUBLIC, "--sign", "ada")
    assert run(capsys, *RELEASE, "-o", "first.json", "--sign", "ada")[0] == 0
    assert run(capsys, "verify", "spec.json", "first.json", "--signer", "ada.pub")[0] == 0
    fingerprint = json.loads(run(capsys, "keys", "show", "ada.pub", "--json")[1])["key_fingerprint"]
    code, out, _ = run(capsys, "verify", "l", "first.json", "--signer", "ada.pub")
    assert code == 0 and f"4 entries carry a signature of the key {fingerprint}." in out
    assert f"signed by the key {fingerprint}" in run(capsys, "ledger", "show", "l", "--entries")[1]
    code, out, _ = run(capsys, "ledger", "check", "l", "--release", "first.json", "--signer", "ada.pub", "--json")
    assert code == 0 and list(json.loads(out)["signed"].values()) == [4]
    code, _, err = run(capsys, "ledger", "check", "l", "--signer", "eve.pub")
    assert code == 7 and f"a valid signature of the key {fingerprint}, which no --signer names" in err
    raised = ("ledger", "raise", "l", "--dataset", "people", "--epsilon", "2", "--reason", "more")
    for refused in (raised, (*RELEASE, "-o", "second.json"), (*raised, "--sign", "eve")):
        code, _, err = run(capsys, *refused)
        assert code == 2 and f"it takes entries signed by the key {fingerprint} alone" in err
    assert run(capsys, "ledger", "check", "l", "--signer", "eve.pub", "--signer", "ada.pub")[0] == 0


def test_keys_follow_each_other_and_a_lost_one_is_a_break(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fingerprints = {}
    for name in ("ada", "bea", "cyd"):
        fingerprints[name] = json.loads(run(capsys, "keys", "new", name, "--json")[1])["key_fingerprint"]
    created(capsys, "--epsilon", "2", "--publishes", PUBLIC, "--sign", "ada")
    code, out, _ = run(capsys, "ledger", "keys", "l", "--name", "bea.pub", "--sign", "ada")
    assert code == 0 and f"signed by the key {fingerprints['ada']}.\nFrom entry 3 on" in out
    signed = (*RELEASE, "-o", "first.json", "--sign")
    assert run(capsys, *signed, "ada")[0] == 2 and run(capsys, *signed, "bea")[0] == 0
    assert run(capsys, "ledger", "check", "l", "--signer", "ada.pub")[0] == 0
    assert run(capsys, "ledger", "check", "l", "--signer", "bea.pub")[0] == 7
    lost = ("ledger", "keys", "l", "--name", "cyd.pub", "--lost", "Bea left.", "--sign", "cyd", "--json")
    head = json.loads(run(capsys, *lost)[1])["head"]
    code, out, _ = run(capsys, "ledger", "show", "l")
    assert code == 0 and "BREAK. The keys before entry 6 are said to be lost, because: Bea left." in out and head in out
    for command in (("ledger", "check", "l"), ("verify", "l"), ("ledger", "check", "l", "--accept-break", "0" * 64)):
        code, _, err = run(capsys, *command, "--signer", "ada.pub")
        assert code == 7 and f"compare the key {fingerprints['cyd']}" in err and f"--accept-break {head}" in err
    for command in (("ledger", "check", "l"), ("verify", "l")):
        code, out, _ = run(capsys, *command, "--signer", "ada.pub", "--accept-break", head)
        assert code == 0 and "BREAK." in out and f"signed by the key {fingerprints['cyd']}" in out
    assert json.loads(run(capsys, "verify", "l", "--json", "--accept-break", head)[1])["breaks"][0]["reason"] == "Bea left."


def test_two_people_sign_a_release_and_a_change_of_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ada", "bea", "cyd"):
        run(capsys, "keys", "new", name)
    two = ("--sign", "ada", "--also", "bea.pub", "--signatures", "2")
    created(capsys, "--epsilon", "2", "--publishes", PUBLIC, *two)
    code, _, err = run(capsys, "ledger", "create", "l", "--dataset", "firms", "--epsilon", "1", *two)
    assert code == 2 and "is there" in err
    signed = (*RELEASE, "-o", "first.json", "--sign", "ada")
    code, _, err = run(capsys, *signed, "--period", "2026")
    assert code == 2 and "needs two of" in err and "signer" in err
    plan = ("ledger", "plan", "spec.json", "--ledger", "l", "--dataset", "people", "--approve", "--sign", "bea")
    code, out, _ = run(capsys, *plan, "--period", "2026")
    assert code == 0 and "Approved: another key may release this once." in out
    code, out, _ = run(capsys, "ledger", "show", "l", "--entries")
    assert code == 0 and "Approved, and not yet made: entries 4." in out and "that may follow: a release from people" in out
    assert run(capsys, *signed)[0] == 2  # of no period
    code, _, err = run(capsys, *(word for word in plan if word != "--approve"))
    assert code == 2 and "are of an approval; add --approve" in err
    assert run(capsys, *signed, "--period", "2026")[0] == 0
    named = ("ledger", "keys", "l", "--name", "cyd.pub", "--sign")
    assert run(capsys, *named, "ada")[0] == 2 and run(capsys, *named, "bea", "--approve")[0] == 0
    assert run(capsys, *named, "ada")[0] == 0
    code, out, _ = run(capsys, "ledger", "check", "l", "--signer", "ada.pub")
    assert code == 0 and ", two of them for a release or a change of keys." in out and "From entry 8 on" in out


def test_an_empty_signer_trusts_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "keys", "new", "eve")[0] == 0
    created(capsys, "--epsilon", "1", "--publishes", PUBLIC, "--sign", "eve")
    assert run(capsys, *RELEASE, "-o", "first.json", "--sign", "eve")[0] == 0
    for command in (("ledger", "check", "l"), ("verify", "spec.json", "first.json"), ("verify", "l")):
        code, out, err = run(capsys, *command, "--signer", "")
        assert (code, out) == (2, "") and "signer: is empty" in err
        assert run(capsys, *command, "--signer", ".")[0] == 0


def test_a_ledger_that_is_there_is_named_by_who_opened_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys, "--epsilon", "1", "--who", "Ada")
    assert run(capsys, "keys", "new", "eve")[0] == 0
    another = ("ledger", "create", "l", "--dataset", "firms", "--epsilon", "1", "--sign", "eve")
    code, out, _ = run(capsys, *another)
    assert code == 0 and "It was there before" in out and "Ada: opened" in out
    code, _, err = run(capsys, "ledger", "check", "l", "--signer", "eve.pub")
    assert code == 7 and "entry 1 is not signed" in err


def test_plans_and_totals_in_each_notion(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, total in {"a": ["--rho", "0.5"], "b": ["--epsilon", "1", "--delta", "1e-6"]}.items():
        assert run(capsys, "ledger", "create", "l", "--dataset", name, *total, "--allow-unprotected")[0] == 0
        plan = json.loads(run(capsys, "ledger", "plan", "spec.json", "--ledger", "l", "--dataset", name, "--json")[1])
        assert plan["refusal"] is None and plan["cost"]["epsilon"] == "1/4" and plan["left_after"]["zcdp"] is not None
    assert plan["cost"]["delta"] == 0 and 0.2499 < plan["cost"]["epsilon_at_delta"] <= 0.25
    assert Ledger("l").datasets == ["a", "b"]


def test_a_refused_plan_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys, "--epsilon", "0.1")
    code, out, _ = run(capsys, "ledger", "plan", "spec.json", "--ledger", "l", "--dataset", "people")
    assert code == 0 and "Would be refused." in out and f"--publishes '{PUBLIC}'" in out
    assert run(capsys, *RELEASE)[0] == 6


def test_data_are_looked_at_only_after_the_total(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that no release could read makes no difference where the total refuses; where it does not, it costs."""
    created(capsys, "--epsilon", "0.3", "--publishes", PUBLIC)
    Path("counts.csv").write_text(f"count\n{CANARY}x\n1\n0\n")
    code, _, err = run(capsys, *RELEASE)
    assert code == 2 and CANARY not in err and [e.kind for e in Ledger("l").entries()][2:] == ["reserved", "abandoned"]
    code, _, err = run(capsys, *RELEASE)
    assert code == 6 and len(Ledger("l").entries()) == 4


OPENED: list[list[str]] = []  # a hook of the interpreter stays for good: it notes only while somebody listens


def _noted(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and OPENED and isinstance(arguments[0], (str, bytes)):
        OPENED[-1].append(Path(str(arguments[0])).name)


@contextmanager
def listening() -> Iterator[list[str]]:
    """The names of the files that Python opens."""
    OPENED.append([])
    try:
        yield OPENED[-1]
    finally:
        OPENED.pop()


sys.addaudithook(_noted)


@pytest.mark.parametrize("name", ["counts.csv", "counts.parquet", "counts.npy", "rows.csv", "rows.parquet"])
def test_no_file_of_data_is_opened_before_the_ledger_agrees(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python tells what it opens; what other readers open would end with another refusal, because it cannot be read."""
    created(capsys, "--epsilon", "0.1", "--publishes", PUBLIC)
    Path(name).write_text("\0 nothing that a reader takes \0")
    given = (*RELEASE[:2], "--histogram" if name.startswith("counts") else "--table", name, *RELEASE[4:])
    with listening() as opened:
        assert run(capsys, *given)[0] == 6
    assert "spec.json" in opened and name not in opened
    with listening() as opened:
        assert run(capsys, *given[:4])[0] == 2
    assert name in opened or name.endswith(".parquet")


def test_who_loses_a_race_for_the_last_of_a_total_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = Ledger.create(tmp_path / "l").state("people", Total(epsilon="0.25"), publishes=[PUBLIC])
    before, looked = people.balance(), []
    people.release(pure(), [5, 6, 7])
    entries = len(people.ledger.entries())
    monkeypatch.setattr(DataSet, "balance", lambda self: before)
    reservation = people.reserve(pure(), ready=lambda: looked.append("looked"))
    with pytest.raises(OverTotal), reservation:
        pass
    assert not looked and len(people.ledger.entries()) == entries


def test_periods_and_corrections_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys, "--epsilon", "2", "--publishes", PUBLIC)
    assert run(capsys, *RELEASE, "--period", "2026-Q3")[0] == 0
    code, out, _ = run(capsys, *RELEASE, "--period", "2026-Q3", "--replaces", "4", "-o", "again.json")
    assert code == 0 and "Period:        2026-Q3\n" in out and "Replaces:      the release of entry 4" in out
    code, out, _ = run(capsys, "ledger", "show", "l", "--entries")
    assert code == 0 and "2026-Q3:    2 releases, 1 of them replaced (spent)" in out and "period 2026-Q3, replaces 4" in out
    code, out, _ = run(capsys, "report", "spec.json", "again.json", "--ledger", "l", "--dataset", "people", "-o", "p.html")
    page = Path("p.html").read_text()
    assert code == 0 and "Releases by period of the data" in page
    assert "released, replaced by entry 6" in page and "released, replaces entry 4" in page
    entries = len(Ledger("l").entries())
    for wrong, words in ([["--period", "autumn"], "period: 'autumn' is none"], [["--replaces", "99"], "records no release"]):
        code, out, err = run(capsys, *RELEASE, *wrong)
        assert (code, out) == (2, "") and words in err and len(Ledger("l").entries()) == entries


def test_names_of_columns_that_do_not_fit_cost_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys)
    Path("counts.csv").write_text("a,b\n1,2\n")
    code, _, err = run(capsys, *RELEASE)
    assert code == 2 and "has 2 columns" in err and len(Ledger("l").entries()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dataset", "people"], "--dataset, --who, --period, --replaces: belong to a ledger"),
        (["--who", "Ada"], "--dataset, --who, --period, --replaces: belong to a ledger"),
        (["--ledger", "l"], "--dataset: is missing"),
        (["--ledger", "none", "--dataset", "people"], "none' is not there"),
        (["--ledger", "l", "--dataset", "firms"], "has no 'firms'"),
        (["--ledger", "l", "--dataset", "people", "--who", ""], "who:"),
        (["--ledger", "l", "--dataset", "people", "-o", "l", "--force"], "is an input"),
        (["--ledger", "l", "--dataset", "people", "-o", "spec.json", "--force"], "is an input"),
        (["--ledger", "l", "--dataset", "people", "-o", "none/x.json"], "not a folder"),
    ],
)
def test_nothing_is_reserved_for_what_cannot_be_released(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    created(capsys)
    code, out, err = run(capsys, "release", "spec.json", "--histogram", "counts.csv", *arguments)
    assert (code, out) == (2, "") and words in err and len(Ledger("l").entries()) == 2 and not Path("none").exists()


@pytest.mark.parametrize(
    "data",
    [
        ["--histogram", "none.csv"],
        ["--histogram", "spec.json"],
        ["--histogram", "counts.csv", "--column", "kount"],
        ["--histogram", "counts.csv", "--entity", "x", "--rows-per-entity", "2"],
        ["--table", "none.csv"],
        ["--table", "none/*.parquet"],
        ["--table", "spec.json"],
        [],
    ],
)
def test_nothing_is_reserved_without_data(folder: Path, capsys: pytest.CaptureFixture[str], data: list[str]) -> None:
    created(capsys)
    assert run(capsys, "release", "spec.json", *data, "--ledger", "l", "--dataset", "people")[0] == 2
    assert len(Ledger("l").entries()) == 2


def test_a_file_with_another_content_is_refused_where_the_content_was_stated(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    created(capsys, "--epsilon", "1", "--publishes", PUBLIC, "--content", "counts.csv")
    assert run(capsys, *RELEASE)[0] == 0
    Path("counts.csv").write_text(f"count\n{CANARY}\n1\n1\n")
    code, _, err = run(capsys, *RELEASE)
    assert code == 2 and "another content" in err and CANARY not in err and len(Ledger("l").entries()) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs epsilon"),
        (["--epsilon", "1", "--rho", "1"], "one of them"),
        (["--rho", "1", "--delta", "1e-6"], "goes with epsilon"),
        (["--epsilon", "-1"], "total.epsilon"),
        (["--epsilon", "1e9999"], "total.epsilon"),
        (["--epsilon", "nan"], "total.epsilon"),
        (["--epsilon", "1", "--delta", "1"], "not below 1"),
        (["--epsilon", "1", "--content", "none"], "content"),
    ],
)
def test_a_total_that_is_none_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, _, err = run(capsys, "ledger", "create", "l", "--dataset", "people", *arguments)
    assert code == 2 and words in err


def test_a_damaged_ledger_has_an_exit_code_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys)
    content = Path("l").read_bytes()
    Path("l").write_bytes(content.replace(b"people", b"peeple"))
    commands: list[Any] = [("ledger", name, "l") for name in ("check", "show")]
    commands += [RELEASE, ("verify", "l"), ("ledger", "plan", "spec.json", "--ledger", "l", "--dataset", "people")]
    for command in commands:
        code, out, err = run(capsys, *command)
        assert (code, out) == (7, "") and "entry 2 was altered" in err
    for command in (("ledger", "check", "counts.csv"), ("ledger", "show", "spec.json")):
        assert run(capsys, *command)[0] == 7


def test_tables_are_recorded_as_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = TablePlan((Count("n", Groups(["state"], [["DE"], ["MD"]]), variance=2),))
    plan.save("plan.json")
    Path("table.csv").write_text("state,person\nDE,1\nDE,1\nMD,2\n")
    allowed = [part for line in plan.guarantee.unprotected for part in ("--publishes", line)]
    created(capsys, "--rho", "5", *allowed)
    given = ["release", "plan.json", "--table", "table.csv", "--ledger", "l", "--dataset", "people", "--json", "--quiet"]
    code, out, err = run(capsys, *given, "--entity", "person", "--rows-per-entity", "2")
    assert (code, err) == (0, "") and json.loads(out)["ledger"]["entry"] == 4
    # Two rows, four times 1 / (2 * 2); the number of rows left out takes a twentieth of sqrt(2 rho), as pure noise at most its
    # square over 2.
    assert 1 < Ledger("l").dataset("people").balance().spent.rho <= 1 + Fraction(2, 20**2) / 2
    code, _, err = run(capsys, *given)
    assert code == 2 and "entities of column 'person'" in err and len(Ledger("l").entries()) == 4


def test_what_a_refusal_names_is_allowed_by_the_command_that_it_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created(capsys, "--epsilon", "0.5")
    code, _, err = run(capsys, *RELEASE)
    assert code == 6 and f"--publishes '{PUBLIC}'" in err
    again = ("ledger", "raise", "l", "--dataset", "people", "--reason", "a census counts everybody")
    code, out, _ = run(capsys, *again, "--publishes", PUBLIC)
    assert code == 0 and "total epsilon 0.5" in out and PUBLIC in out
    assert run(capsys, *RELEASE)[0] == 0
    code, _, err = run(capsys, *again)
    assert code == 2 and "changes nothing" in err and len(Ledger("l").entries()) == 5


def test_own_reports_are_recorded_where_the_number_of_records_is_public(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every collection from the same people costs the budget of a report again."""
    ways = Keys(("way",), (("on foot",), ("bicycle",)))
    asked = ReportProblem(metrics.uniform(2, 1.0), loss="zero_one", keys=ways)
    design(asked, "randomised_response").mechanism.save("spec.json")
    Path("counts.csv").write_text("way,people\non foot,300\nbicycle,100\n")
    Path("rows.csv").write_text("way\nbicycle\non foot\nbicycle\n")
    recorded = ("--ledger", "l", "--dataset", "people")
    by_counts, by_rows = (("release", "spec.json", *data, *recorded) for data in COLLECTED)
    created(capsys, "--epsilon", "2")
    code, out, _ = run(capsys, "ledger", "plan", "spec.json", *recorded)
    assert code == 0 and "Would be refused." in out and f"--publishes '{PUBLIC}'" in out
    assert run(capsys, *by_counts)[0] == 6 and len(Ledger("l").entries()) == 2
    again = ("ledger", "raise", "l", "--dataset", "people", "--reason", "who is asked is known")
    assert run(capsys, *again, "--publishes", PUBLIC)[0] == 0
    code, out, _ = run(capsys, "ledger", "plan", "spec.json", *recorded)
    assert code == 0 and "costs:      epsilon 1 (pure)" in out and "then left:  epsilon 1 (pure)" in out
    assert run(capsys, *by_counts, "-o", "first.json")[0] == 0
    document = json.loads(Path("first.json").read_text())
    assert sum(document["reports"].values()) == 400
    assert Ledger("l").entries()[-1].content["output"] == output_hash(document)
    assert run(capsys, "verify", "spec.json", "first.json")[0] == 0
    assert run(capsys, *by_rows)[0] == 0 and run(capsys, "ledger", "check", "l", "--release", "first.json")[0] == 0
    code, _, err = run(capsys, *by_rows)
    assert code == 6 and "total of epsilon 2; with this release epsilon 3" in err
    shown = json.loads(run(capsys, "ledger", "show", "l", "--json")[1])
    assert shown["datasets"][0]["left"]["pure"] == "0" and "2 released" in run(capsys, "ledger", "show", "l")[1]
