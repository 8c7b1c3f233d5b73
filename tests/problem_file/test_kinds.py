"""Problem files of every kind: one form for the schema and the reader, and what every kind has in common."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import InvalidProblem
from designer.base.schema import Named, record
from designer.problem_file.forms import RULES, ProblemFile, _fits, require_form, with_dates_written
from designer.problem_file.kinds import KINDS, read_request
from designer.problem_file.schema import problem_schema
from designer.problem_file.sections import Choices
from tests.problem_file.good_files import GOOD, write_tables
from tests.problem_file.test_problem_schema import as_json, as_toml

VALIDATOR = jsonschema.Draft202012Validator(problem_schema())
OTHERS = ({"unknown": 1}, True, "-", "", -1, 0, 1.5, float("inf"), [], [[[1]]], ["-", "-"], date(2020, 1, 1))
Place = tuple[Any, ...]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tables(tmp_path)


def written(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "problem.toml"
    path.write_text("".join(f"{name} = {as_toml(section)}\n" for name, section in data.items()), encoding="utf-8")
    return path


def own_sections(kind: type[ProblemFile]) -> Any:
    """The form without the sections that are read as those of linear queries, by a reader of their own."""
    whole, own = kind.whole(), {name.split()[0] for name in GOOD}
    shared = (
        () if kind.kind in own else ("workload", "relation", "invariant", "domain", "elements", "problem", "design", "targets")
    )
    return record({name: form for name, form in whole["properties"].items() if name not in shared})


def fits(kind: type[ProblemFile], data: dict[str, Any]) -> bool:
    try:
        require_form(Path("p.toml"), kind.whole(), with_dates_written(data))
    except InvalidProblem:
        return False
    return True


def places(data: Any, path: Place = ()) -> Iterator[Place]:
    """Every key of every table, and every place of every list."""
    for key, item in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(item, (*path, key))


def at(data: Any, path: Place) -> Any:
    for key in path:
        data = data[key]
    return data


def altered(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The data with one thing changed: a value of another type or size, a key less, a key more."""
    for path in places(data):
        if path[0] == "kind":
            continue
        for other in OTHERS:
            mutant = deepcopy(data)
            at(mutant, path[:-1])[path[-1]] = other
            yield f"{path} = {other!r}", mutant
        less = deepcopy(data)
        del at(less, path[:-1])[path[-1]]
        yield f"{path} left out", less
        if isinstance(at(data, path), dict):
            more = deepcopy(data)
            at(more, path)["unknown"] = "-"
            yield f"{path} with a key more", more


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read_and_fit_the_schema(name: str, folder: Path) -> None:
    path = folder / "good.toml"
    path.write_text(GOOD[name], encoding="utf-8")
    request = read_request(path)
    VALIDATOR.validate(as_json(tomllib.loads(GOOD[name])))
    assert request.kind == name.split()[0] and request.title in ("good", *GOOD[name].split('"'))
    assert request.files[0] == path and all(file.is_file() for file in request.files)
    assert {"kind", "relation"} <= set(request.description())


def completed(form: Any, data: Any) -> Any:
    """The data with every key that has a default and is left out."""
    body = form.body if isinstance(form, Named) else form
    if "anyOf" in body and "type" not in body:
        form = next((each for each in body["anyOf"] if _fits(each, data)), {})
        return completed(form, data)
    if not isinstance(data, dict):
        return data
    known, rest = body.get("properties", {}), body.get("additionalProperties")
    found = {
        key: completed(known.get(key, rest), value) if key in known or isinstance(rest, (dict, Named)) else value
        for key, value in data.items()
    }
    defaults = {key: own.body if isinstance(own, Named) else own for key, own in known.items()}
    return {key: own["default"] for key, own in defaults.items() if "default" in own} | found


@pytest.mark.parametrize("name", GOOD)
def test_a_default_that_is_written_out_changes_nothing(name: str, folder: Path) -> None:
    data = tomllib.loads(GOOD[name])
    whole = completed(KINDS[data["kind"]].whole(), data)
    left_out, written_out = (read_request(written(folder, each)) for each in (data, whole))
    assert repr(left_out) == repr(written_out)


@pytest.mark.parametrize("name", GOOD)
def test_schema_and_form_agree_about_altered_files(name: str) -> None:
    """Whatever is changed: what the schema tells an editor is what the reader asks for. Every third change, of long files."""
    data = tomllib.loads(GOOD[name])
    kind, refused, taken = KINDS[data["kind"]], 0, 0
    changes = list(altered(data))
    for what, mutant in changes[:: 1 if len(changes) < 700 else 3]:
        ours = fits(kind, mutant)
        assert ours == VALIDATOR.is_valid(as_json(mutant)), what
        refused, taken = refused + (not ours), taken + ours
    assert refused > 100 and taken > 20


@pytest.mark.parametrize("name", GOOD)
def test_the_reader_refuses_in_one_sentence_what_the_form_refuses(name: str, folder: Path) -> None:
    data = tomllib.loads(GOOD[name])
    kind = KINDS[data["kind"]]
    for place, (what, mutant) in enumerate(altered(data)):
        if place % 7 or fits(kind, mutant):
            continue
        path = written(folder, mutant)
        with pytest.raises(InvalidProblem) as refusal:
            read_request(path)
        words = str(refusal.value)
        assert words.startswith(f"{path}: ") and words.endswith(".") and "\n" not in words, what


@pytest.mark.parametrize("name", GOOD)
def test_what_fits_the_form_is_read_or_refused_by_a_sentence(name: str, folder: Path) -> None:
    data = tomllib.loads(GOOD[name])
    kind = KINDS[data["kind"]]
    for place, (what, mutant) in enumerate(altered(data)):
        if place % 11 == 0 and fits(kind, mutant):
            path = written(folder, mutant)
            try:
                read_request(path)
            except InvalidProblem as refusal:
                assert str(refusal).startswith(f"{path}: "), (what, refusal)


def test_forms_use_no_word_that_the_reader_does_not_know() -> None:
    def words(node: Any) -> Iterator[str]:
        body = node.body if isinstance(node, Named) else node
        for word, inner in body.items():
            yield word
            if word == "properties":
                yield from (w for form in inner.values() for w in words(form))
            elif word in ("anyOf", "oneOf"):
                yield from (w for form in inner for w in words(form))
            elif word in ("items", "additionalProperties") and not isinstance(inner, bool):
                yield from words(inner)

    for kind in KINDS.values():
        assert set(words(own_sections(kind))) <= set(RULES)


def test_every_key_of_a_kind_has_a_note() -> None:
    def keys(node: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
        body = node.body if isinstance(node, Named) else node
        for key, form in body.get("properties", {}).items():
            yield (*path, key), form
            yield from keys(form, (*path, key))
        for form in (*body.get("anyOf", ()), *(body[word] for word in ("items",) if word in body)):
            yield from keys(form, path)
        if not isinstance(body.get("additionalProperties", False), bool):
            yield from keys(body["additionalProperties"], (*path, "*"))

    for name, kind in KINDS.items():
        bodies = [(path, form.body if isinstance(form, Named) else form) for path, form in keys(own_sections(kind))]
        assert not [path for path, body in bodies if len(path) > 1 and not {"description", "const"} & set(body)], name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "marginal"\n', r"kind = 'marginal': unknown; perhaps 'marginals' is meant; use one of"),
        ("kind = 3\n", "kind = 3: unknown; use one of"),
        ('[kind]\nname = "marginals"\n', "kind = .*: unknown; use one of"),
        ('kind = "table_plan"\ntitle = 3\n', "title = 3: should be a text in quotes"),
        ('kind = "table_plan"\n', r"needs one of \['queries', 'design'\]"),
        ('kind = "table_plan"\nqueries = 3\n', r"queries = 3: should be a section: write \[queries\]"),
        ('kind = "table_plan"\n[query.a]\nask = "count"\n', r"section \[query\] is unknown; perhaps 'queries' is meant"),
        ('kind = "marginals"\ntitel = "x"\n', "titel = 'x': unknown key; perhaps 'title' is meant"),
        ('kind = "linear_queries"\n', r"section \[workload\] is missing"),
    ],
)
def test_mistakes_before_any_section(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidProblem, match=words) as refusal:
        read_request(path)
    assert str(refusal.value).startswith(str(path))


def test_choices_that_a_kind_does_not_take_are_refused(folder: Path) -> None:
    path = folder / "p.toml"
    path.write_text(GOOD["marginals"], encoding="utf-8")
    request = read_request(path)
    for choices in (Choices(solver="SCS"), Choices(seconds=3.0)):
        with pytest.raises(InvalidProblem, match="does not go with files of kind 'marginals'"):
            request.made(choices)
    with pytest.raises(InvalidProblem, match="'laplace' is unknown to a MarginalProblem; use 'auto' or 'residual'"):
        request.made(Choices(family="laplace"))


def test_a_file_of_linear_queries_is_read_by_its_kind_too(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    text = '[workload]\nbuilder = "identity"\nsize = 3\n[relation]\nmetric = "uniform"\nepsilon = 1\n'
    fingerprints = set()
    for head in ("", 'kind = "linear_queries"\n'):
        path.write_text(head + text + '[design]\nfamily = "laplace"\n', encoding="utf-8")
        outcome = read_request(path).made()
        fingerprints.add(outcome.mechanism.fingerprint)
        assert outcome.lines[0].startswith("p\n=\n") and outcome.data["format"] == "dp-designer/mechanism"
    assert len(fingerprints) == 1


def test_the_reader_of_linear_queries_says_who_reads_the_others(folder: Path) -> None:
    from designer import read_problem

    path = folder / "p.toml"
    path.write_text(GOOD["marginals"], encoding="utf-8")
    with pytest.raises(InvalidProblem, match="kind = 'marginals': is no problem of linear queries; read_request"):
        read_problem(path)


MOMENTS = "2020-01-01, 2020-01-02T00:00:00, 2020-01-02T07:30:00, 2020-01-02T00:00:00Z, 07:30:00"
DAYS = ["2020-01-01", "2020-01-02", "2020-01-02 07:30:00", "2020-01-02 00:00:00+00:00", "07:30:00"]
DATED = f"[domain]\nd = [{MOMENTS}]\n"
EQUAL = '[relation]\nmetric = "uniform"\nepsilon = 1\n'
PLANNED = 'kind = "table_plan"\n[queries.n]\nask = "count"\n'
# A file with dates or times of TOML, and what is read of it.
READ_BY_DAY: dict[str, tuple[str, Callable[[Any], object], object]] = {
    "values of marginals": (
        f'kind = "marginals"\n{DATED}[workload]\nup_to = 1\n[relation]\nmetric = "add_remove"\nmu = 1\n',
        lambda asked: list(asked.listing().values["d"]),
        DAYS,
    ),
    "values": (f'{DATED}[workload]\nbuilder = "identity"\n{EQUAL}', lambda asked: list(asked.listing().values["d"]), DAYS),
    "predicates": (
        f"{DATED}[workload]\npredicates = {{q = {{d = [2020-01-02, 07:30:00]}}}}\n{EQUAL}",
        lambda asked: asked.problem.workload.dense().tolist(),
        [[0, 1, 0, 0, 1]],
    ),
    "groups and names": (
        f"[workload]\npartition = [2020-01-01, 2020-01-01T00:00:00, 2020-01-02]\nnames = [2020-01-01, 07:30:00]\n{EQUAL}",
        lambda asked: (asked.problem.workload.queries, asked.problem.workload.dense().tolist()),
        (("2020-01-01", "07:30:00"), [[1, 1, 0], [0, 0, 1]]),
    ),
    "classes": (
        '[workload]\npartition = ["a", "b", "c"]\n[relation]\nmetric = "partition"\n'
        "labels = [2020-01-01, 2020-01-01T00:00:00, 2020-01-02]\nepsilon = 1\n",
        lambda asked: [asked.problem.relation.exact_budget(0, k) for k in (1, 2)],
        [1, None],
    ),
    "published": (
        '[workload]\npartition = ["a", "b", "c"]\n[invariant]\npartition = [2020-01-01, 2020-01-01T00:00:00, 2020-01-02]\n'
        "[relation]\nepsilon = 1\n",
        lambda asked: asked.problem.relation.invariant.matrix.tolist(),
        [[1, 1, 0], [0, 0, 1]],
    ),
    "moments on a line": (
        '[workload]\npartition = ["a", "b", "c"]\n[relation]\nmetric = "line"\nperiod = 1\nepsilon = 1\n'
        "values = [2020-01-01T00:00:00, 2020-01-01T12:00:00, 2020-01-03T00:00:00]\n",
        lambda asked: [asked.problem.relation.exact_budget(0, k) for k in (1, 2)],
        [Fraction(1, 2), 2],
    ),
    "keys": (
        f'{PLANNED}variance = 1\ngroups = "g"\n[groups.g]\ncolumns = ["d"]\nkeys = [2020-01-01, 2020-01-02T00:00:00]\n',
        lambda asked: asked.queries[0].groups.keys,
        (("2020-01-01",), ("2020-01-02",)),
    ),
    "conditions": (
        f'{PLANNED}variance = 1\nwhere = ["c"]\n[conditions.c]\ncolumn = "d"\nop = "=="\nvalue = 2020-01-02T00:00:00\n',
        lambda asked: asked.queries[0].where[0].value,
        "2020-01-02",
    ),
}


@pytest.mark.parametrize("name", READ_BY_DAY)
def test_dates_and_times_are_labels_by_day_or_moments_on_a_line(name: str, tmp_path: Path) -> None:
    """As records have them: midnight of no time zone is a day."""
    text, told, expected = READ_BY_DAY[name]
    (tmp_path / "p.toml").write_text(text)
    assert told(read_request(tmp_path / "p.toml")) == expected


@pytest.mark.parametrize("name", GOOD)
def test_a_date_in_any_place_is_read_or_refused_as_its_text_is(name: str, folder: Path) -> None:
    data, refused = tomllib.loads(GOOD[name]), 0
    for path in places(data):
        if path == ("kind",) or isinstance(at(data, path), dict):
            continue
        outcomes = []
        for value in (datetime(2020, 1, 2, 7, 30), "2020-01-02 07:30:00"):
            mutant = deepcopy(data)
            at(mutant, path[:-1])[path[-1]] = value
            try:
                outcomes.append(repr(read_request(written(folder, mutant)).listing()))
            except InvalidProblem as error:
                outcomes.append(str(error))
                refused += 1
        assert outcomes[0] == outcomes[1], path
    assert refused > 10
