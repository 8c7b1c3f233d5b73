"""The page that verifies specs in a browser, against the verifier in Python: it accepts nothing that that one refuses."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from designer import Problem, Workload, design, metrics
from designer.base.json_text import plain
from designer.certificate.frozen import seal, to_spec
from designer.certificate.guarantee import About
from designer.files.releases import release_document
from designer.problem.domain import Domain
from designer.verifier import standalone
from tests.verifier.altered import altered, bytes_of, core_verdicts, sealed
from tests.verifier.test_standalone import FILES, all_specs

PAGE = Path(__file__).parents[2] / "docs" / "_static" / "verify.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SEEN = {"dp-designer/mechanism", "dp-designer/channel"}
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine, which runs the page")
RUN = """<script>
const out = SPECS.map(text => {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const answer = check(new TextDecoder("utf-8", { fatal: true }).decode(bytes), known);
  if (answer.spec) known = answer.spec;
  return [answer.verdict, answer.words, answer.found && answer.found.ratio ? String(answer.found.ratio) : null];
});
document.body.textContent = "BEGIN" + btoa(unescape(encodeURIComponent(JSON.stringify(out)))) + "END";
</script></body>"""


def of_page(contents: list[bytes], folder: Path) -> list[tuple[str, str, str | None]]:
    """Verdict, reason and worst ratio of each file, as the page in headless Chromium finds them."""
    texts = json.dumps([base64.b64encode(content).decode() for content in contents])
    page = folder / "page.html"
    page.write_text(PAGE.read_text().replace("</body>", RUN.replace("SPECS", texts)))
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder}",
        "--dump-dom",
        page.as_uri(),
    ]
    found = re.search("BEGIN(.*)END", subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found is not None, "the page fails"
    return [tuple(answer) for answer in json.loads(base64.b64decode(found[1]))]


@cache
def small() -> dict[str, dict[str, Any]]:
    return {name: spec for name, spec in all_specs().items() if spec["format"] in SEEN and not name.startswith("named_")}


def test_the_page_needs_no_network_and_no_library() -> None:
    text = PAGE.read_text()
    assert "default-src 'none'" in text and not re.search(r"https?:|<link|<img|src=|import |fetch|XMLHttp|eval\(", text)


@needs_browser
def test_every_specimen_has_the_same_verdict_or_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents = [path.read_bytes() for path in FILES] + [bytes_of(spec) for spec in small().values()]
    count: Counter[tuple[str, str]] = Counter()
    for content, (verdict, words, ratio) in zip(contents, of_page(contents, tmp_path), strict=True):
        second, _ = standalone.verify(content)
        count[verdict, second] += 1
        assert verdict in ("cannot check", second), words
        if ratio is not None:
            made = standalone.check_spec(json.loads(content))[0]
            assert abs(standalone.Fraction(ratio) - made.worst) <= standalone.NEAR
    with capsys.disabled():
        print("\nthe page's verdict, the one in Python:", dict(count))
    assert count["holds", "holds"] > 40


@needs_browser
def test_it_accepts_no_altered_file_whose_numbers_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(7)
    some = [spec for name, spec in small().items() for _ in range(2 if name.startswith("described") else 6)]  # those are large
    made = [altered(spec, chance) for spec in some]
    made += [({**spec, "seal": "0" * 64}, "seal") for spec in small().values()]
    count: Counter[tuple[str, str]] = Counter()
    for (spec, way), (verdict, words, _) in zip(made, of_page([bytes_of(spec) for spec, _ in made], tmp_path), strict=True):
        second, sentences = standalone.verify(bytes_of(spec))
        count[verdict, second] += 1
        if verdict == "holds" and second != "holds":  # a sentence, a note, or a number that a certificate says
            assert not way.startswith("seal") and core_verdicts(spec["format"], spec["mechanism"])[1] == "holds", (
                way,
                sentences,
            )
        assert verdict != "does not hold" or second != "holds", (way, words)
    with capsys.disabled():
        print("\nthe page's verdict, the one in Python:", dict(count))
    assert count["does not hold", "does not hold"] > 50 and count["holds", "holds"] > 20


@needs_browser
def test_its_reader_is_strict(tmp_path: Path) -> None:
    texts = [b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": 1e999}', b"[1]", b'{"a": ', b'{"a": 01}', b'{"a": 1} x', b'{"a": 1}']
    assert [verdict for verdict, *_ in of_page(texts, tmp_path)] == ["no spec"] * len(texts)


def resealed(release: dict[str, Any]) -> dict[str, Any]:
    return {**release, "seal": seal(release)}


@needs_browser
def test_a_release_is_compared_with_the_spec_before_it(tmp_path: Path) -> None:
    """Written whole; an answer, the guarantee, the seal or the mechanism is another one; and without a spec before it."""
    asked = Problem(Workload([[1, 1, 0], [0, 1, 1]], ["left", "right"]), metrics.uniform(3, 0.5))
    made, other = (
        design(asked, "laplace").mechanism,
        design(Problem(Workload.identity(3), metrics.uniform(3, 1)), "laplace").mechanism,
    )
    spec = bytes_of(json.loads(json.dumps(plain(to_spec(made)))))
    whole = json.loads(json.dumps(plain(release_document(made, made.release([5, 6, 7])))))
    changed: list[dict[str, Any]] = [whole]
    changed += [resealed({**whole, "answers": {**whole["answers"], "left": whole["answers"]["left"] + 1e-6}})]
    changed += [resealed({**whole, "guarantee": {**whole["guarantee"], "relation": "Nothing changes."}})]
    changed += [{**whole, "seal": "0" * 64}, json.loads(json.dumps(plain(release_document(other, other.release([1, 2, 3])))))]
    second = [bytes_of(one) for one in changed]
    told = of_page([spec, *second], tmp_path)
    assert [verdict for verdict, *_ in told] == ["holds", "holds", *["does not hold"] * 4], told
    verdict, words, _ = of_page(second[:1], tmp_path)[0]
    assert verdict == "cannot check" and whole["fingerprint"] in words


@needs_browser
def test_names_that_cannot_be_seen_are_not_shown_on_a_page(tmp_path: Path) -> None:
    spec = to_spec(design(Problem(Workload.identity(3), metrics.uniform(3, 0.5)), "laplace").mechanism)
    spec, contents = json.loads(json.dumps(plain(spec))), []
    for name in ("", " ", "a  b", "a\u200bb", "a\nb", "a\u00a0b", "\u2028"):
        spec["mechanism"]["workload"]["elements"][1] = name
        contents.append(bytes_of(sealed(spec)))
    verdicts = zip((verdict for verdict, *_ in of_page(contents, tmp_path)), map(standalone.verify, contents), strict=True)
    assert {(page, second) for page, (second, _) in verdicts} == {("cannot check", "holds")}


def with_keys() -> dict[str, Any]:
    """Elements that are named by columns of a table, as problem files with a domain make them."""
    workload = Workload.marginals(Domain(("sex", "age"), (("F", "M"), ("young", "old"))), [["sex"], ["age"]])
    made = design(Problem(workload, metrics.uniform(4, 0.5)), "laplace").mechanism.described(About(title="A table\u0041"))
    spec: dict[str, Any] = json.loads(json.dumps(plain(to_spec(made))))
    assert "keys" in spec["mechanism"]["workload"]
    return spec


@needs_browser
def test_elements_named_by_columns_are_read_as_python_reads_them(tmp_path: Path) -> None:
    spec = with_keys()
    keys = spec["mechanism"]["workload"]["keys"]
    other = json.loads(json.dumps(spec))
    other["mechanism"]["workload"]["keys"]["rows"][0] = ["M", "old"]
    twice = sealed(other)
    spelled = json.loads(json.dumps(spec))
    spelled["mechanism"]["workload"]["keys"] = {**keys, "columns": ["a", "b"], "rows": [[r[1], r[0]] for r in keys["rows"]]}
    files = [bytes_of(one) for one in (spec, twice, sealed(spelled))]
    assert [verdict for verdict, *_ in of_page(files, tmp_path)] == [standalone.verify(content)[0] for content in files]
    assert standalone.verify(files[0])[0] == "holds"


@needs_browser
def test_the_page_shows_fingerprint_and_sentences_and_says_that_it_does_not_compare_them(tmp_path: Path) -> None:
    spec = with_keys()
    spec["guarantee"]["relation"] = "Nothing may be learnt.\u202e"
    text = base64.b64encode(bytes_of(sealed(spec))).decode()
    run = f"""<script>show("a.json", check(new TextDecoder().decode(Uint8Array.from(atob("{text}"), c => c.charCodeAt(0)))));
    const shown = document.getElementById("result").innerText;
    document.body.textContent = "BEGIN" + btoa(unescape(encodeURIComponent(shown))) + "END";
    </script></body>"""
    page = tmp_path / "shown.html"
    page.write_text(PAGE.read_text().replace("</body>", run))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    found = re.search(
        "BEGIN(.*)END", subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True).stdout
    )
    assert found is not None
    said = base64.b64decode(found[1]).decode()
    assert spec["fingerprint"] in said and "A tableA" in said
    assert "sentences of the file are not compared" in said.split("A tableA")[0]
    assert "Nothing may be learnt.\\u{202e}" in said
