"""The page for a board from the command line: a spec, its release, its ledger, a deep verification and other families."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from designer import compare
from designer.audit.verdict import proven
from designer.base.version import installing_with
from designer.cli import main
from tests.oracles.ledgers import PUBLIC, pure
from tests.oracles.pages import Page, faults

RELEASE = ("release", "spec.json", "--histogram", "counts.csv", "--ledger", "l", "--dataset", "people", "-o", "first.json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("designer.publish.page.drawings_of", lambda made, released: ())
    pure().save("spec.json")
    Path("counts.csv").write_text("count\n5\n1\n0\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of one command."""
    capsys.readouterr()
    code = main(arguments)
    return code, *capsys.readouterr()


def words(path: str) -> str:
    """The text of a page, in one line."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", Path(path).read_text())).replace("\N{NO-BREAK SPACE}", " ").split())


def released(capsys: pytest.CaptureFixture[str]) -> None:
    total = ("--epsilon", "0.5", "--publishes", PUBLIC)
    assert run(capsys, "ledger", "create", "l", "--dataset", "people", *total)[0] == 0
    assert run(capsys, *RELEASE)[0] == 0


def test_a_page_of_a_spec_its_release_and_its_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys)
    code, out, _ = run(capsys, "report", "spec.json", "first.json", "--ledger", "l", "--dataset", "people", "-o", "page.html")
    page = Page(Path("page.html").read_text())
    assert (code, out) == (0, "Written to page.html.\n") and faults(page) == []
    text = words("page.html")
    assert "epsilon 0.25 (pure), rho 0.0156" in text and "of epsilon 0.5" in text and "Left: epsilon 0.25 (pure)" in text
    assert "odds shift by at most 29 % (×1.29)" in text and "right in at most 56.3 %" in text
    assert "It names entry 4 of a ledger" in text and "The first 100" not in text
    assert {"answers", "ledger"} <= {e.attributes["id"] for e in page.all("h2")}


def test_a_raised_total_is_told_with_its_reason_and_one_that_limits_nothing_is_not_missed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    released(capsys)
    raised = ("ledger", "raise", "l", "--dataset", "people", "--publishes", PUBLIC, "--reason", "the council of 3 May")
    for epsilon, missed in (("4", False), ("500", True)):
        assert run(capsys, *raised, "--epsilon", epsilon)[0] == 0
        asked = ("report", "spec.json", "first.json", "--ledger", "l", "--dataset", "people", "-o", "page.html", "--force")
        assert run(capsys, *asked)[0] == 0
        text = words("page.html")
        assert f"epsilon {epsilon} " in text and "the council of 3 May" in text and "stated at first" in text
        assert ("leaves no meaningful protection" in text) == missed
    assert "The total was raised 2 times." in text


def test_who_signed_the_ledger_and_lost_keys_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = {name: json.loads(run(capsys, "keys", "new", name, "--json")[1])["key_fingerprint"] for name in ("ada", "bea", "cyd")}
    total = ("--dataset", "people", "--epsilon", "0.5", "--publishes", PUBLIC)
    assert run(capsys, "ledger", "create", "l", *total, "--sign", "ada")[0] == 0
    assert run(capsys, "ledger", "keys", "l", "--name", "bea.pub", "--sign", "ada")[0] == 0
    assert run(capsys, *RELEASE, "--sign", "bea")[0] == 0
    asked = ("report", "spec.json", "first.json", "--ledger", "l", "--dataset", "people", "-o", "page.html", "--force")
    assert run(capsys, *asked)[0] == 0
    text = words("page.html")
    assert f"signed by the key {new['ada']}. From entry 3 on" in text and f"signed by the key {new['bea']}." in text
    assert "5 carry a valid signature of a key that might sign it" in text and "lost" not in text
    lost = ("ledger", "keys", "l", "--name", "cyd.pub", "--sign", "cyd", "--lost", "Bea <left>.")
    assert run(capsys, *lost)[0] == 0 and run(capsys, *asked)[0] == 0
    text = words("page.html")
    assert "BREAK. The keys before entry 6 are said to be lost, because: Bea <left>." in text
    assert "ask who answers for it" in text and "whether that is true, in entries 6 of the ledger" in text


def test_the_signature_of_the_spec_is_on_the_page_of_its_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography")
    assert run(capsys, "keys", "new", "office")[0] == 0 and run(capsys, "sign", "spec.json", "--key", "office")[0] == 0
    assert run(capsys, "release", "spec.json", "--histogram", "counts.csv", "-o", "r.json")[0] == 0
    assert run(capsys, "report", "spec.json", "r.json", "-o", "page.html")[0] == 0
    assert "Signature of the spec: Signed at" in words("page.html") and "that nobody vouched for here" in words("page.html")


def test_without_a_release_the_ledger_says_what_one_would_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys)
    assert run(capsys, *RELEASE[:-1], "second.json")[0] == 0
    assert run(capsys, "report", "spec.json", "--ledger", "l", "--dataset", "people", "-o", "page.html")[0] == 0
    text = words("page.html")
    assert "One more release of this mechanism would be refused." in text and "It would be refused." in text


def test_a_release_that_the_ledger_does_not_have_makes_no_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys)
    total = ("--epsilon", "0.5", "--publishes", PUBLIC)
    assert run(capsys, "ledger", "create", "other", "--dataset", "people", *total)[0] == 0
    asked = ("report", "spec.json", "first.json", "--dataset", "people", "-o", "page.html", "--ledger")
    code, _, err = run(capsys, *asked, "other")
    assert code == 7 and "which this ledger does not have" in err and not Path("page.html").exists()
    assert run(capsys, "ledger", "create", "l", "--dataset", "firms", *total)[0] == 0
    code, _, err = run(capsys, *[a if a != "people" else "firms" for a in asked], "l")
    assert code == 2 and "the release is of 'people', not of 'firms'" in err and not Path("page.html").exists()


def test_a_deep_verification_and_other_families_stand_in_the_page(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ["laplace", "uniform_budget"]
    monkeypatch.setattr("designer.cli.page_commands.compare", lambda problem: compare(problem, few))
    monkeypatch.setattr("designer.designing.comparison.limit", lambda problem: None)  # it takes seconds
    code, _, _ = run(capsys, "report", "spec.json", "-o", "page.html", "--deep", "--seconds", "0.2", "--compare")
    text = words("page.html")
    assert code == 0 and "Deep verification was run, too." in text and "Comparison of families" in text
    assert "uniform_budget" in text and faults(Page(Path("page.html").read_text())) == []
    code, out, _ = run(capsys, "report", "spec.json", "--deep", "--seconds", "0.2")
    assert code == 0 and "## Deep verification" in out and out.startswith("# Mechanism")


def test_a_deep_verification_that_fails_is_on_the_page_and_ends_with_its_code(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from designer.audit import deep

    monkeypatch.setattr(
        deep, "_from_numbers", lambda made, looked, entropy, shared: [proven("certificate", "is not what it says", False)]
    )
    code, _, err = run(capsys, "report", "spec.json", "-o", "page.html", "--deep", "--seconds", "0.1")
    assert code == 4 and "fails its deep verification, as the page says" in err
    assert "NO: deep verification fails" in words("page.html") and "NO, it fails" in words("page.html")


def test_the_page_in_markdown_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "report", "spec.json")
    assert code == 0 and out.startswith("# Mechanism")
    assert run(capsys, "report", "spec.json", "-o", "page.md")[0] == 0
    assert Path("page.md").read_text() + "\n" == out


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("-o", "page.pdf"), "-o: page.pdf ends in neither .html nor .md"),
        (("-o", "page"), "-o: page ends in neither .html nor .md"),
        (("--compare",), "--compare: the page in Markdown has no place for that; give -o page.html"),
        (("first.json", "-o", "page.md"), "RELEASE: the page in Markdown has no place for that"),
        (("--ledger", "l", "-o", "page.html"), "--ledger, --dataset: one is given without the other"),
        (("--seconds", "3"), "--seconds: is for the draws of --deep"),
        (("-o", "spec.html", "--dataset", "x"), "--ledger, --dataset: one is given without the other"),
    ],
)
def test_what_a_page_cannot_hold_is_refused_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, "report", "spec.json", *arguments)
    assert (code, out) == (2, "") and said in err and sorted(p.name for p in folder.iterdir()) == ["counts.csv", "spec.json"]


def test_a_page_is_written_over_no_input_and_over_nothing_unasked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("page.html").write_text("mine")
    assert run(capsys, "report", "spec.json", "-o", "page.html")[0] == 2 and Path("page.html").read_text() == "mine"
    assert run(capsys, "report", "spec.json", "-o", "page.html", "--force")[0] == 0
    assert Path("page.html").read_text().startswith("<!doctype html>")


def test_the_command_on_the_page_prints_the_fingerprint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands there, in a shell, without this program."""
    assert run(capsys, "report", "spec.json", "-o", "page.html")[0] == 0
    typed = [e.text for e in Page(Path("page.html").read_text()).all("code") if e.text.startswith("python3 -c")]
    command = typed[0].replace("python3", sys.executable, 1)
    printed = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == pure().fingerprint


def test_without_the_template_engine_the_page_says_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from designer.publish import page as form

    form.template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, err = run(capsys, "report", "spec.json", "-o", "page.html")
    assert code == 2 and installing_with("report") in err and not Path("page.html").exists()
    form.template.cache_clear()
