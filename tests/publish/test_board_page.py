"""The page for a board: every format has it whole, everybody can read it, and no name that a file chose breaks out of it."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Problem, Workload, compare, design, invariants, metrics
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import About
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.files.kinds import KINDS
from designer.files.releases import read_release, release_document, verify_release
from designer.problem.domain import Domain
from designer.problem.reading import ColumnReading, Reading
from designer.publish.content import Evidence, Listing, Picture, Prose, SeenRelease, Sheet
from designer.publish.contributor import ROWS
from designer.publish.meanings import NO_LIMIT
from designer.publish.page import (
    DARK,
    FORMS,
    LIGHT,
    MEANINGS,
    POLICY,
    WRITTEN,
    Linker,
    anchor_of,
    board_page,
    contrast,
    contributor_of,
    drawn,
    html_of,
    tidy,
    with_terms,
)
from designer.relations.metrics.presence import Presence
from designer.tables import Average, Count, Groups, Measure, Quantile, Sum, TablePlan
from tests.oracles.hostile_names import HOSTILE, LONG, MADE, PLAIN
from tests.oracles.pages import Page, faults
from tests.oracles.release_specimens import invented, releases, table_of
from tests.oracles.spec_specimens import one_of_each_format

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ONE_OF_EACH = one_of_each_format()
SHARED = ("published", "budgets", "unprotected", "accuracy", "answers", "certificate")
KEYS = [*SHARED, "verification", "check", "statement"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FAST = [f for f in KINDS if f not in ("dp-designer/structured-mechanism", "dp-designer/marginals")]


def seen(made: FrozenMechanism, released: Any) -> SeenRelease:
    document = release_document(made, released, time=NOON)
    return SeenRelease("release.json", read_release(made, document), document, verify_release(made, document))


@cache
def page_of(name: str) -> Page:
    made, released = releases()[name]
    return Page(html_of(board_page(Evidence(made=made, spec=Path("spec.json"), release=seen(made, released), time=NOON))))


def plainly(made: FrozenMechanism) -> str:
    """The page without a release."""
    return html_of(board_page(Evidence(made=made, time=NOON)))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without pictures, as where matplotlib is missing."""
    monkeypatch.setattr("designer.publish.page.drawings_of", lambda made, released: ())


def test_a_page_is_made_of_every_format() -> None:
    assert set(KINDS) == set(MADE)


@pytest.mark.parametrize("form", list(KINDS))
def test_a_page_is_whole_and_everybody_can_read_it(form: str) -> None:
    page = page_of(ONE_OF_EACH[form])
    assert faults(page) == []
    assert [e.attributes["id"] for e in page.all("h2") if e.attributes["id"] in KEYS] == KEYS
    assert len(page.all("dt")[:8]) == 8 and "What is NOT protected?" in page.source
    assert releases()[ONE_OF_EACH[form]][0].fingerprint in page.source


@pytest.mark.parametrize("form", list(KINDS))
def test_a_page_loads_nothing_and_runs_nothing(form: str) -> None:
    page = page_of(ONE_OF_EACH[form])
    policy = [e.attributes["content"] for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy == [POLICY] and policy[0].startswith("default-src 'none'")
    assert not page.all("script", "iframe", "object", "embed", "link", "base", "form", "input", "audio", "video", "img")
    assert not [e for e in page.elements if any(name.startswith("on") for name in e.attributes)]
    assert all(e.attributes.get("href", "#").startswith("#") for e in page.elements)
    assert "@import" not in page.source and "url(h" not in page.source


@pytest.mark.parametrize("form", list(KINDS))
def test_equal_evidence_makes_equal_pages_but_for_the_time(form: str, undrawn: None) -> None:
    made, released = releases()[ONE_OF_EACH[form]]
    evidence = Evidence(made=made, release=seen(made, released), time=NOON)
    first, later = html_of(board_page(evidence)), html_of(board_page(replace(evidence, time=NOON.replace(hour=13))))
    assert first != later and first == later.replace("31 January 2026, 13:00 UTC", "31 January 2026, 12:00 UTC")


@pytest.mark.parametrize("form", list(MADE))
def test_no_name_breaks_out_of_its_place(form: str, undrawn: None) -> None:
    plain, hostile = Page(plainly(MADE[form](PLAIN))), Page(plainly(MADE[form](HOSTILE)))
    assert hostile.shape == plain.shape
    assert faults(hostile) == [] and "\u202e" not in hostile.source and "\u2066" not in hostile.source
    if form != "dp-designer/odds-ratio-test":
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in hostile.source


@pytest.mark.parametrize("form", FAST)
def test_names_in_a_release_and_in_the_words_of_the_maker_stay_in_their_places(
    form: str, undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("designer.publish.summary.drowned", lambda release: (0, 0))  # a mark that depends on the noise

    def page(names: tuple[str, ...], words: About) -> Page:
        made = MADE[form](names).described(words)
        released = made.release(invented(made)) if form != "dp-designer/table-plan" else _of_table(made, names)
        return Page(html_of(board_page(Evidence(made=made, release=seen(made, released), time=NOON))))

    hostile = page(HOSTILE, About("<script>alert(2)</script>", data='"onload="x', contact="<b>&amp;"))
    plain = page(PLAIN, About("Title", data="Data", contact="Contact"))
    assert hostile.shape == plain.shape
    assert hostile.all("h1")[0].text == "<script>alert(2)</script>"


def _of_table(made: Any, names: tuple[str, ...]) -> Any:
    import ibis

    columns = {names[0]: list(names) * 2, names[1]: [1.0] * 8} if names[0] != names[1] else table_of()
    return made.release(ibis.memtable(columns))


@pytest.mark.parametrize("form", list(MADE))
def test_names_of_ten_thousand_characters_leave_a_page_of_bounded_size(form: str, undrawn: None) -> None:
    text = plainly(MADE[form](LONG))
    assert faults(Page(text)) == [] and len(text) < 200_000


def test_of_many_answers_a_page_shows_some_says_how_many_and_where_the_others_are(undrawn: None) -> None:
    asked = Workload(np.ones((1000, 2)), [f"q{k}" for k in range(1000)])
    made = design(Problem(asked, metrics.add_remove(2, 1.0)), "uniform_budget").mechanism
    text = html_of(board_page(Evidence(made=made, release=seen(made, made.release([3, 4])), time=NOON)))
    rows = [e for e in Page(text).all("tr") if e.path[-1] == "tbody"]
    assert len(text) < 200_000 and ROWS <= len(rows) < 2 * ROWS
    assert f"The first {ROWS} of 1,000 answers; the release file has all." in text
    assert f"The first {ROWS} of 1,000 rows" in plainly(made)


def test_of_ten_thousand_cells_a_page_shows_some_too(undrawn: None) -> None:
    domain = Domain.of({"left": 100, "right": 100, "third": 2})
    tables = [["left", "right"], ["third"], ["left"]]
    made = design_marginals(MarginalWorkload.of(domain, tables), Presence(mu=1.0))
    released = made.release({"left": [1, 99], "right": [0, 98], "third": [0, 1]})
    text = html_of(board_page(Evidence(made=made, release=seen(made, released), time=NOON)))
    assert len(text) < 200_000 and "<td" in text
    assert "of 10,000 answers; the release file has all." in text or "further table" in text


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_written_can_be_read_in_both_themes(palette: dict[str, str]) -> None:
    assert min(contrast(palette[ink], palette[paper]) for ink, paper in WRITTEN) >= 4.5
    assert contrast(palette["alarm-line"], palette["raised"]) >= 3
    assert set(LIGHT) == set(DARK)


def test_the_contrast_is_that_of_the_examples_of_the_standard() -> None:
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#0000ff", "#ffffff") == pytest.approx(8.59, abs=0.01)


@pytest.mark.parametrize("form", list(KINDS))
def test_every_word_of_the_field_leads_to_its_meaning_in_each_section(form: str) -> None:
    """Of the words that stand in a section outside its drawings, names and quotations, each has a link there."""
    page = page_of(ONE_OF_EACH[form])
    linked = {(e.path.count("section"), e.attributes["href"][1:]) for e in page.all("a") if e.attributes.get("class") == "term"}
    assert linked and {key for _, key in linked} <= {anchor_of(term) for term in MEANINGS}
    said = board_page(Evidence(made=releases()[ONE_OF_EACH[form]][0], time=NOON))
    words = {term for line in said.headlines for text in (line.answer, line.details) for _, term in with_terms(text) if term}
    assert {anchor_of(term) for term in words} <= {key for _, key in linked}


def test_every_word_has_a_meaning_and_every_form_one_word() -> None:
    forms = [form.lower() for listed in FORMS.values() for form in listed]
    assert set(FORMS) == set(MEANINGS) and len(forms) == len(set(forms))
    assert [term for piece, term in with_terms("The standard errors of zCDP, not of recordings")] == [
        None, "standard error", None, "zero-concentrated privacy", None,
    ]  # fmt: skip
    assert "".join(piece for piece, _ in with_terms("rho at a delta of noise")) == "rho at a delta of noise"


def test_a_place_called_delta_is_not_explained_as_a_delta() -> None:
    assert [term for _, term in with_terms("Sussex and Delta, at a delta of 1e-6")] == [None, "delta", None]


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<g onload="alert(1)"/>',
        '<image href="https://example.org/x.png"/>',
        '<use href="other.svg#a"/>',
        '<style>@import "x.css"</style>',
        '<rect fill="url(https://example.org)"/>',
        "<foreignObject/>",
        "<g>",
    ],
)
def test_a_drawing_that_is_more_than_one_is_refused(inside: str) -> None:
    with pytest.raises(InvalidProblem, match="picture: 'x'"):
        drawn(Picture("x", "title", "alt", f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>'))


def test_a_drawing_of_lines_goes_into_the_page_as_it_is() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><defs><path id="a" d="M0 0"/></defs><use href="#a"/></svg>'
    assert drawn(Picture("x", "title", "alt", svg)) == svg


def test_a_page_without_pictures_is_complete(undrawn: None) -> None:
    page = Page(plainly(releases()["laplace uniform"][0]))
    assert faults(page) == [] and not page.all("svg") and "of each answer" in page.source


def test_pictures_stand_in_the_page_with_their_sentences() -> None:
    page = page_of("laplace uniform")
    drawings = [e for e in page.all("svg") if "svg" not in e.path]
    assert len(drawings) >= 2 and all("currentColor" in page.source for _ in drawings)
    assert len(page.all("figcaption")) == len(drawings) and faults(page) == []


def test_a_format_that_no_spec_has_is_refused_by_name() -> None:
    class Strange:
        format = "strange"

    with pytest.raises(InvalidProblem, match="'strange' is no format of specs"):
        contributor_of(Strange())  # type: ignore[arg-type]  # what no type checker lets through


def test_an_object_that_hides_nothing_says_so_before_all_else() -> None:
    made = design(Problem(Workload([[1.0, 1.0]]), metrics.uniform(2, 1.0), allow_vacuous=True), "laplace").mechanism
    page = Page(plainly(made))
    warnings = [e.text for e in page.all("p") if e.attributes.get("class") == "warning"]
    assert "WARNING: this hides nothing" in warnings[0] and "Everything: nothing is hidden" in page.source
    assert faults(page) == []


def test_who_made_it_is_missed_where_no_file_says_so_and_one_time_is_on_the_page(undrawn: None) -> None:
    page = board_page(Evidence(made=releases()["laplace uniform"][0]))
    (maker,) = [line for line in page.headlines if line.question.startswith("Who made it")]
    assert maker.alarm and maker.answer == "Not stated in the files"
    text = html_of(page)
    assert set(re.findall(r"\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC", text)) == {page.time}
    assert not re.search(r"\d{4}-\d\d-\d\dT[\d:]+Z", text)


@pytest.mark.parametrize("budget", [2.0, 30.0])
def test_beyond_what_numbers_tell_no_share_of_right_guesses_is_claimed(budget: float, undrawn: None) -> None:
    made = design(Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, budget)), "laplace").mechanism
    (gain,) = [line for line in board_page(Evidence(made=made, time=NOON)).headlines if "attacker" in line.question]
    assert gain.alarm == (budget > 20) == (NO_LIMIT in gain.answer)
    assert ("right in at most" in gain.details) == (budget < 20) and "When one record has any other value" in gain.details


@pytest.mark.nightly
def test_what_holds_but_for_rare_outputs_says_so_where_the_worst_has_no_limit(undrawn: None) -> None:
    made = design(
        Problem(Workload([[0.0, 1.0, 99.0]]), metrics.euclidean([[0.0], [1.0], [99.0]], 1.0), notion="zcdp"), "gaussian"
    )
    page = board_page(Evidence(made=made.mechanism, time=NOON))
    (gain,) = [line for line in page.headlines if "attacker" in line.question]
    assert "at worst no meaningful protection is proven" in gain.answer
    assert "except with a chance of at most 1 in 1,000,000; at worst" in gain.answer
    assert "For the worst change no meaningful protection is proven." in html_of(
        page
    ) and "with a chance of at most delta" not in html_of(page)


@pytest.mark.nightly
def test_what_is_not_protected_is_told_in_whole_sentences(undrawn: None) -> None:
    margins = invariants.margins((9, 9))
    made = design(Problem(Workload.identity(81), margins.protect(1.0), notion="zcdp"), "lattice_gaussian").mechanism
    (line,) = [line for line in board_page(Evidence(made=made, time=NOON)).headlines if "NOT" in line.question]
    assert line.alarm and line.answer == "The invariant statistics are published exactly. The number of records is public"
    assert "characters)" not in line.details and "..." not in line.details


def test_the_words_of_the_maker_are_told_as_such(undrawn: None) -> None:
    words = About("Commuters of the north", record="one commuter", publisher="The office", units={"*": "persons"})
    page = Page(plainly(releases()["laplace uniform"][0].described(words)))
    assert page.all("h1")[0].text == "Commuters of the north" and page.all("title")[0].text == "Commuters of the north"
    answers = [e.text for e in page.all("dd")[:9]]
    assert "one commuter" in answers[1] and " persons for a typical answer" in answers[5]
    assert answers[8].startswith("The office") and "not proven" in answers[8] and "No signature" in answers[8]
    assert "Stated by the publisher (not verified)" in page.source and "The office" in page.source


def test_whatever_is_written_shows_every_character() -> None:
    """The last place that a text passes, whoever forgot to make it fit before."""
    assert tidy("a\u202eb 5 %") == "a\\u202eb 5\N{NO-BREAK SPACE}%" and tidy(7) == 7
    assert str(Linker().said("\u2066<b>")) == "\\u2066&lt;b&gt;"


def test_a_comparison_on_a_page_says_for_whom_its_limit_is_proven() -> None:
    problem = Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, 1.0), records=2)
    found = compare(problem, ["laplace"])
    page = board_page(Evidence(made=found.designs["laplace"].mechanism, comparison=found, time=NOON))
    section = next(one for one in page.sections if one.key == "comparison")
    assert found.limit is not None and Listing(found.limit.scope) in section.pieces and len(found.limit.scope) == 3
    assert any(isinstance(piece, Prose) and "no additive noise is below" in piece.text for piece in section.pieces)


BOARDS = ("laplace uniform", "a plan", "an office", "hierarchy ranges", "lattice rows")
WORD = re.compile(r"\S*\w\S*")


def for_boards(name: str) -> tuple[FrozenMechanism, Any]:
    """That specimen with a release; a plan whose largest records are protected."""
    if name not in ("a plan", "an office"):
        return releases()[name]
    pytest.importorskip("ibis")
    if name == "an office":
        return of_an_office()
    sexes = Groups(["sex"], keys=[["F"], ["M"]])
    plan = TablePlan((Count("persons", Groups(), variance=25), Count("persons by sex", sexes, variance=25)))
    return plan, plan.release({"sex": ["F", "M", "M"]})


def of_an_office() -> tuple[FrozenMechanism, Any]:
    """Seven queries of firms, as `examples/office` asks them, with noise so large that every line has its alarm."""
    sectors, sizes = Groups(["sector"], keys=[["C"], ["F"], ["G"]]), Groups(["size"], keys=[["1"], ["2"], ["3"]])
    employees, turnover = Measure("employees", upper=1000), Measure("turnover", "0.1", upper=100_000)
    plan = TablePlan(
        (
            Count("firms by sector", sectors, variance=6000),
            Count("firms by size", sizes, variance=6000),
            Sum("employees", sectors, variance=10**8, measure=employees),
            Sum("turnover", sectors, variance=10**12, measure=turnover),
            Sum("turnover by size", sizes, variance=10**12, measure=turnover),
            Average("employees of a firm", sectors, measure=employees, variance=10**8, count_variance=22_500),
            Quantile("median employees", sizes, (), employees, 0.5, (0, 5, 10, 25, 50, 100, 250), "0.01"),
        )
    )
    labels = {"sector": {"C": "Manufacturing", "F": "Construction", "G": "Trade"}, "size": {"1": "Small", "2": "Medium"}}
    about = About(
        title="Firms, employees and turnover by sector",
        data="Register of firms, made up",
        period="2026",
        publisher="Office of the example",
        record="one firm",
        units={"firms by sector": "firms", "firms by size": "firms", "employees": "persons", "turnover": "thousand euro"},
        records=Reading(columns={name: ColumnReading(labels=own) for name, own in labels.items()}),
    )
    made = plan.described(about)
    rows = {"sector": ["C", "F", "G"], "size": ["1", "2", "3"], "employees": [3, 20, 90], "turnover": [100, 900, 20_000]}
    return made, made.release(rows)


def words_of(text: str) -> int:
    return len(WORD.findall(html.unescape(re.sub("<style>.*?</style>|<svg.*?</svg>|<[^>]*>", " ", text, flags=re.DOTALL))))


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("with_release", [True, False])
def test_a_signer_reads_300_words_and_the_annex_has_1000(name: str, with_release: bool, undrawn: None) -> None:
    """Beside names of answers and their numbers, and beside the guarantee, which is quoted as it stands."""
    made, released = for_boards(name)
    text = html_of(board_page(Evidence(made=made, release=seen(made, released) if with_release else None, time=NOON)))
    first, _, annex = text.partition("</section>")
    quoted = re.search('<section aria-labelledby="statement">.*?</section>', annex, re.DOTALL)
    assert quoted is not None
    rest = re.sub("<tbody.*?</tbody>", " ", annex.replace(quoted[0], " "), flags=re.DOTALL)
    assert words_of(first) <= 300 and words_of(rest) <= 1000


@pytest.mark.parametrize("budget", [5.0, 5.1])
def test_an_epsilon_above_five_asks_for_attention(budget: float, undrawn: None) -> None:
    made = design(Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, budget)), "laplace").mechanism
    (line,) = [line for line in board_page(Evidence(made=made, time=NOON)).headlines if line.question == "What is promised?"]
    assert line.alarm == (budget > 5) == ("Above 5: a weak promise." in line.details)


def test_margins_are_told_as_shares_of_released_answers_and_marked_where_they_are_more(undrawn: None) -> None:
    made = design(Problem(Workload([[1.0, 0.0], [0.0, 1.0]]), metrics.add_remove(2, 0.5)), "laplace").mechanism
    released = made.release([100_000, 0])
    page = board_page(Evidence(made=made, release=seen(made, released), time=NOON))
    (sheet,) = [piece for part in page.sections if part.key == "answers" for piece in part.pieces if isinstance(piece, Sheet)]
    found = released.intervals(0.95)
    margins = (found.upper - found.lower) / 2
    few = sum(margin > abs(answer) for margin, answer in zip(margins, released.answers, strict=True))
    shares = [row[-1] for row in sheet.rows]
    assert (
        100 * margins[0] / released.answers[0] <= float(shares[0].removesuffix(" %")) <= 105 * margins[0] / released.answers[0]
    )
    assert (shares[1] == "MORE than the answer") == (few == 1)
    (line,) = [line for line in page.headlines if line.question == "How accurate is it?"]
    assert line.alarm == bool(few) == ("1 of 2 answers are below their margin." in line.details)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine, which draws the page")
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.nightly) for name in BOARDS])
def test_on_a_phone_a_page_is_8000_pixels_tall_and_nothing_is_cut(name: str, tmp_path: Path) -> None:
    made, released = for_boards(name)
    text = html_of(board_page(Evidence(made=made, spec=Path("spec.json"), release=seen(made, released), time=NOON)))
    (tmp_path / "page.html").write_text(text)
    measured = """const home = this.contentDocument, page = home.documentElement, width = this.contentWindow.innerWidth;
      const cut = [...home.querySelectorAll('table,pre,svg,dl')].filter(
        one => one.getBoundingClientRect().right > width + 1 && !one.closest('.wide'));
      document.title = 'BEG' + 'IN' + [page.scrollHeight, page.scrollWidth, cut.length] + 'E' + 'ND'"""
    frame = f'<iframe src="page.html" style="width:390px;height:800px;border:0" onload="{measured}"></iframe>'
    (tmp_path / "frame.html").write_text(frame)
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'user'}", (tmp_path / "frame.html").as_uri()]
    told = re.search("BEGIN(.*)END", subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told is not None
    tall, wide, cut = map(int, told[1].split(","))
    assert 1000 < tall <= 8000 and wide <= 390 and cut == 0


def test_the_sample_of_the_page_is_as_pages_are_today() -> None:
    sample = Page((Path(__file__).parents[2] / "docs" / "_static" / "board_page.html").read_text())
    assert faults(sample) == [] and "High incomes by age group" in sample.source
    page = board_page(Evidence(made=releases()["laplace uniform"][0], time=NOON))
    assert [e.text.strip() for e in sample.all("dt")][: len(page.headlines)] == [line.question for line in page.headlines]
    assert words_of(sample.source.partition("</section>")[0]) <= 300
