"""`dp-designer explore`: every number of the page is that of a design at that budget, and the file it hands out is one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from designer import Problem, Workload, design, metrics
from designer.base.display import at_least, at_most
from designer.base.errors import DesignFailed, InvalidProblem
from designer.cli import main
from designer.designing.least_noise import least_half_widths, limit
from designer.designing.rescale import certificate_work
from designer.local.problem import ReportProblem
from designer.problem_file.kinds import read_request
from designer.problem_file.what_if import varied_file
from designer.publish import exploring
from designer.publish.exploring import DRAWN, LEFT_OUT, Explorer, explored
from designer.publish.meanings import NO_LIMIT, Risk, below, off_by, percent
from designer.publish.page import contributor_of
from solvers.work import spend

REGIONS = '[elements]\ntable = "regions.csv"\nnames = ["region"]\n\n[workload]\nbuilder = "identity"\n\n'
FILES = {
    "uniform": REGIONS + '[relation]\nmetric = "uniform"\nepsilon = 0.5  # of one record\n',
    "distance": REGIONS + '[relation]\nmetric = "great_circle"\npoints = ["latitude", "longitude"]\nper_km = 0.004\n',
    "presence": REGIONS + '[relation]\nmetric = "add_remove"\nmu = 1\n\n[problem]\nnotion = "zcdp"\n',
    "delta": REGIONS + '[relation]\nmetric = "add_remove"\nepsilon = 1.0\n\n[problem]\nnotion = "approximate"\ndelta = 1e-6\n',
    "attributes": (
        '[domain]\nsex = ["F", "M"]\nage = 2\n\n[workload]\nbuilder = "identity"\n\n'
        '[relation]\nmetric = "hamming"\n\n[relation.budgets]\nsex = 1.0\nage = 0.5\n'
    ),
    "published": (
        '[domain]\nsex = ["F", "M"]\nage = 3\n\n[workload]\nbuilder = "identity"\n\n'
        '[invariant]\nmargins = [["sex"], ["age"]]\n\n[relation]\nepsilon = 1.0\n'
    ),
    "report": (
        'kind = "own_report"\n[elements]\ntable = "regions.csv"\nnames = ["region"]\n\n'
        '[relation]\nmetric = "uniform"\nepsilon = 1.0\n\n[report]\nloss = "zero_one"\n'
    ),
}
FAMILIES = {
    "presence": ["gaussian", "isotropic_gaussian"],
    "published": ["lattice_laplace", "projected_laplace"],
    "report": ["channel", "randomised_response"],
}
SMALL_FILES = [pytest.param(name, marks=pytest.mark.nightly) if name == "published" else name for name in FILES]
ROWS = 6_000  # inequalities of the programs behind a limit: a bound that is a little less sharp, in a tenth of the time
PLACES = {"delta": ["delta", "budget"], "published": ["adjacency", "budget"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "regions.csv").write_text("region,latitude,longitude\nnorth,54.3,10.1\neast,52.5,13.4\nsouth,48.1,11.6\n")
    (tmp_path / "records.csv").write_text("region,sex,age\nnorth,F,0\nsouth,M,1\n")
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exploring, "PROGRAM_ROWS", ROWS)
    return tmp_path


def embedded(page: Path) -> dict[str, Any]:
    """What a page holds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    return told


def write(name: str, *more: str) -> bytes:
    """The page of a file, in the folder of the test."""
    families = [word for family in FAMILIES.get(name, ["laplace", "ellipsoid"]) for word in ("--family", family)]
    assert main(["explore", f"{name}.toml", "-o", "page.html", "--points", "3", "--force", *families, *more]) == 0
    return Path("page.html").read_bytes()


WRITTEN: dict[tuple[str, ...], bytes] = {}


def written(name: str, *more: str) -> dict[str, Any]:
    """What a page holds that is written once a process, and is laid into the folder of each test."""
    if (name, *more) not in WRITTEN:
        WRITTEN[name, *more] = write(name, *more)
    Path("page.html").write_bytes(WRITTEN[name, *more])
    return embedded(Path("page.html"))


def file_of(told: dict[str, Any], place: int) -> str:
    """The problem file that a point of a page stands for, put together from the pieces of the page."""
    numbers: dict[str, str] = {}
    for choice in reversed(told["choices"]):
        place, k = divmod(place, len(choice["values"]))
        numbers[choice["name"]] = choice["values"][k]
    return "".join(numbers[piece] if k % 2 else piece for k, piece in enumerate(told["pieces"]))


def designed(problem: Any, way: str) -> Any:
    """By a family and the options behind its name."""
    family, *chosen = way.split(", ")
    return design(problem, family, **dict(one.split(" ") for one in chosen))


def floor_of(problem: Any, designs: Mapping[str, Any]) -> list[str]:
    if isinstance(problem, ReportProblem):
        return [at_least(max(made.optimality.lower_bound for made in designs.values() if made.optimality)), ""]
    widths, loss = least_half_widths(problem), limit(problem, rows=ROWS)
    each = [""] * problem.workload.shape[0] if widths is None else [*map(below, widths.tolist())]
    return [*each, "" if loss is None else at_least(loss.value)]


@pytest.mark.parametrize("name", SMALL_FILES)
def test_every_number_is_that_of_a_design_of_the_file_that_is_handed_out(name: str, folder: Path) -> None:
    told = written(name)
    assert [choice["name"] for choice in told["choices"]] == PLACES.get(name, ["budget"])
    assert len(told["points"]) >= 3 and told["families"]
    last = len(told["points"]) - 1
    for place in (0, last // 2, last):
        point = told["points"][place]
        (folder / "chosen.toml").write_text(file_of(told, place))
        problem = read_request(folder / "chosen.toml").compared
        designs = {way: designed(problem, way) for way in point["families"]}
        for family, made in designs.items():
            if isinstance(problem, ReportProblem):
                expected = [at_most(made.loss), percent(made.mechanism.best_guess)]
            else:
                expected = [*map(off_by, made.mechanism.margins().tolist()), at_most(made.loss)]
            assert point["families"][family] == expected, (place, family)
        assert designs[point["best"]].loss == pytest.approx(min(made.loss for made in designs.values()), rel=1e-5)
        best = designs[point["best"]].mechanism
        worst = contributor_of(best).worst(best).cost
        assert point["odds"][-1][2:] == [*Risk.of(worst).cells(), Risk.of(worst).but_for]
        limited = point["odds"][-1][2] != NO_LIMIT  # zCDP leaves a chance of more
        assert bool(point["odds"][-1][5]) == limited or name != "presence"
        assert point["floor"] == floor_of(problem, designs)


@pytest.mark.parametrize("name", SMALL_FILES)
def test_the_file_that_is_handed_out_is_checked_and_designed(name: str, folder: Path) -> None:
    told = written(name)
    for place in (0, len(told["points"]) - 1):
        (folder / "chosen.toml").write_text(file_of(told, place))
        assert main(["check", "records.csv", "chosen.toml"]) == 0
        assert main(["design", "chosen.toml", "--family", FAMILIES.get(name, ["laplace"])[0]]) == 0


def test_the_same_problem_gives_the_same_bytes(folder: Path) -> None:
    written("uniform")
    first = (folder / "page.html").read_bytes()
    assert write("uniform") == first


def test_the_own_budget_is_a_point_as_the_file_writes_it_and_comments_stay(folder: Path) -> None:
    told = written("uniform")
    budget = told["choices"][-1]
    assert budget["values"] == ["0.11", "0.5", "2.3"] and budget["own"] == 1
    assert file_of(told, 1) == FILES["uniform"] and "# of one record" in file_of(told, 0)


def test_many_budgets_become_one_factor(folder: Path) -> None:
    file, _ = varied_file(folder / "attributes.toml")
    text = file.text({"budget": "0.25"})
    assert (
        '[relation]\nmetric = "scaled"\nfactor = 0.25\n\n[relation.part]\nmetric = "hamming"\n\n[relation.part.budgets]' in text
    )
    asked = file.request({"budget": "0.25"}).compared.relation
    assert asked.exact_budget(0, 1) == read_request(folder / "attributes.toml").compared.relation.exact_budget(0, 1) / 4


def test_distances_are_the_same_at_every_budget(folder: Path) -> None:
    told = written("distance")
    changes = {tuple(row[0] for row in point["odds"]) for point in told["points"]}
    assert len(changes) == 1 and any(" km" in change for change in changes.pop())


def test_a_long_search_is_made_once_and_certified_at_each_budget(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.publish.exploring.CHEAP", -1.0)
    scaled = explored(folder / "uniform.toml", ["ellipsoid"], points=3)
    assert scaled["notes"] == ["ellipsoid: one search, certified anew at each budget"]
    monkeypatch.undo()
    afresh = explored(folder / "uniform.toml", ["ellipsoid"], points=3)
    assert [point["families"] for point in scaled["points"]] == [point["families"] for point in afresh["points"]]


def test_what_does_not_fit_into_the_work_is_refused_with_a_forecast(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    floor = exploring._floor

    def dear(*given: Any) -> list[str]:
        """The bounds of the first budget, for a unit, which is no longer there for families."""
        spend(1.0)
        return floor(*given)

    monkeypatch.setattr(exploring, "_floor", dear)
    monkeypatch.setattr("designer.publish.exploring.estimated", lambda *_: 40.0)
    told = explored(folder / "uniform.toml", ["laplace"], points=3)
    assert [sorted(point["families"]) for point in told["points"]] == [["laplace"], ["laplace"], []]
    (note,) = told["notes"]
    assert note.startswith("laplace: not designed at 1 of 3 points;")
    assert "about 80 units of work, and all families have 59 t" in note
    monkeypatch.setattr("designer.publish.exploring.estimated", lambda *_: 70.0)
    with pytest.raises(DesignFailed, match=r"about 140 units of work.*--points"):
        explored(folder / "uniform.toml", ["laplace"], points=3)


def test_what_is_told_of_answers_is_forecast_from_the_budget_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.publish.exploring._floor", lambda *_: [])

    def costly(*_: object) -> list[str]:
        spend(25.0)
        return ["1"]

    monkeypatch.setattr("designer.publish.exploring._answers_of", costly)
    told = explored(folder / "uniform.toml", ["laplace"], points=3)
    assert [sorted(point["families"]) for point in told["points"]] == [["laplace"], ["laplace"], []]
    (note,) = told["notes"]
    assert note.startswith(
        "laplace: not designed at 1 of 3 points; all take about 50 units of work, and all families have 35 together"
    )


def test_certificates_are_forecast_and_counted_as_designs_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search is made once; its noise is certified at each of the other budgets."""
    monkeypatch.setattr("designer.publish.exploring.CHEAP", -1.0)
    monkeypatch.setattr("designer.publish.exploring._floor", lambda *_: [])
    monkeypatch.setattr("designer.publish.exploring.certificate_work", lambda _: 35.0)
    told = explored(folder / "uniform.toml", ["laplace"], points=3)
    assert [sorted(point["families"]) for point in told["points"]] == [["laplace"], ["laplace"], []]
    assert told["notes"][0].startswith("laplace: not designed at 1 of 3 points; all take about 70 units of work")
    monkeypatch.setattr(Explorer, "_units", lambda *_: 0.0)
    told = explored(folder / "uniform.toml", ["laplace"], points=5)
    assert [sorted(point["families"]) for point in told["points"]] == [[], ["laplace"], ["laplace"], ["laplace"], []]
    assert told["notes"][-1] == "2 of 5 points: some families left out when all 60 units were spent"


def test_the_work_of_a_certificate_grows_with_pairs_and_with_facets() -> None:
    few, many = (Problem(Workload.prefix(n), metrics.uniform(n, 1.0)) for n in (4, 8))
    few_pairs, many_pairs, shaped = (
        certificate_work(made) for made in (*map(design, (few, many), ["laplace"] * 2), design(many, "k_norm"))
    )
    assert 0 < few_pairs < many_pairs < shaped


def test_points_stop_when_the_work_is_spent_whatever_was_forecast(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Explorer.designed

    def costly(self: Explorer, name: str, values: Mapping[str, str], problem: Any) -> Any:
        spend(0.0 if values == self.file.own else 31.0)
        return real(self, name, values, problem)

    monkeypatch.setattr(Explorer, "designed", costly)
    monkeypatch.setattr("designer.publish.exploring._floor", lambda *_: [])
    told = explored(folder / "uniform.toml", ["laplace"], points=5)
    assert [sorted(point["families"]) for point in told["points"]] == [[], ["laplace"], ["laplace"], ["laplace"], []]
    assert told["notes"] == ["2 of 5 points: some families left out when all 60 units were spent"]


def test_widths_are_told_of_the_best_families_where_many_answers_would_be_simulated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = ["laplace", "k_norm", "ellipsoid", "l2_ball"]
    whole = explored(folder / "uniform.toml", families, points=3)
    monkeypatch.setattr("designer.publish.exploring.MOST_WIDTHS", 1)
    told = explored(folder / "uniform.toml", families, points=3)
    (note,) = told["notes"]
    assert not whole["notes"] and note.endswith(": how far off answers are is left out where another family loses less")
    left = note.partition(":")[0].split(", ")
    assert len(left) == len(families) - DRAWN
    for few, point in zip(told["points"], whole["points"], strict=True):
        for name, row in point["families"].items():
            out = name in left and name != point["best"]
            assert few["families"][name] == ([*[LEFT_OUT] * (len(row) - 1), row[-1]] if out else row)
    assert any(LEFT_OUT in row for point in told["points"] for row in point["families"].values())


def test_families_of_little_work_are_whole_before_others_begin_and_no_baseline_stands_for_a_family(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """k_norm loses least at the budget of the file, and here it is said to be slow; laplace and uniform_budget are the same."""
    work = {"k_norm": 50.0, "laplace": 5.0, "uniform_budget": 5.0}
    monkeypatch.setattr("designer.publish.exploring.estimated", lambda family, *_: work[family.name])
    told = explored(folder / "uniform.toml", ["uniform_budget", "k_norm", "laplace"], points=3)
    assert [sorted(point["families"]) for point in told["points"]] == [["laplace"], ["k_norm", "laplace"], ["laplace"]]
    assert [point["best"] for point in told["points"]] == ["laplace", "k_norm", "laplace"]
    assert [(family["name"], len(family["same"])) for family in told["families"]] == [("k_norm", 0), ("laplace", 1)]


def test_three_families_come_first_and_the_page_names_the_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """k_norm is said to be slow, and is never designed; the others lose no less at the budget of the file than those kept."""
    real, tried = exploring.design, list[str]()

    def recorded(problem: Any, family: str, **options: Any) -> Any:
        tried.append(family)
        return real(problem, family, **options)

    monkeypatch.setattr(exploring, "design", recorded)
    monkeypatch.setattr(exploring, "_floor", lambda *_: [])
    monkeypatch.setattr("designer.designing.auto.estimated", lambda family, *_: 7.0 * (family.name == "k_norm"))
    told = explored(folder / "uniform.toml", points=3)
    kept = [row for family in told["families"] for row in (family["words"], *family["same"])]
    assert "k_norm" not in tried and len(kept) <= DRAWN + 1 < len(set(tried))
    *_, left, later = told["notes"]
    assert left.endswith("left out, others lose less at the budget of the file; --family NAME adds one")
    assert later == "not designed, by units of work at one budget: k_norm (about 7); --family NAME adds one"
    own = told["points"][1]
    dropped = [name for name in left.partition(":")[0].split(", ") if name in tried]
    assert dropped and all(
        float(own["families"][own["best"]][-1].replace(",", ""))
        <= real(Problem(Workload.identity(3), metrics.uniform(3, 0.5)), name).loss * 1.001
        for name in dropped
    )


def test_names_cannot_leave_the_script_and_the_policy_allows_that_script_alone(folder: Path) -> None:
    (folder / "uniform.toml").write_text('title = "</script><script>alert(1)</script>"\n' + FILES["uniform"])
    page = write("uniform").decode()
    told = embedded(folder / "page.html")
    assert told["title"] == "</script><script>alert(1)</script>" and "<script>alert" not in page
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in page
    assert not re.search(r'(src|href)="(?!#)', page)


REFUSED = {
    "two": (
        "page.html",
        '[relation]\nmetric = "appear_or_change"\nepsilon = 1.0\nchange = {metric = "uniform", epsilon = 1.0}\n',
        "several budgets",
    ),
    "inline": ("page.html", None, "on a line of its own"),
    "ending": ("page.txt", FILES["uniform"].removeprefix(REGIONS), "name it, such as -o explore.html"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_remedy_and_write_nothing(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, relation, words = REFUSED[name]
    inline = 'relation = {metric = "uniform", epsilon = 1.0}\n' + REGIONS
    (folder / "bad.toml").write_text(inline if relation is None else REGIONS + relation)
    assert main(["explore", "bad.toml", "-o", output]) == 2
    assert words in capsys.readouterr().err and not (folder / output).exists()


def test_other_kinds_are_refused(folder: Path) -> None:
    (folder / "tables.toml").write_text(
        'kind = "marginals"\n[domain]\nsex = ["F", "M"]\n[workload]\ntables = [["sex"]]\n'
        '[relation]\nmetric = "hamming"\nbudgets = {sex = 1.0}\n'
    )
    with pytest.raises(InvalidProblem, match="'marginals'; change its budget or noise, and read what dp-designer design"):
        explored(folder / "tables.toml")
    with pytest.raises(InvalidProblem, match="points: 2 is not from 3 to 100"):
        explored(folder / "uniform.toml", points=2)
