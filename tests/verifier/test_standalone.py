"""The second verifier against the project's own: the same verdict on every specimen and on altered ones, or it says that it
cannot check; and its mathematics against other libraries."""

from __future__ import annotations

import ast
import json
import math
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from designer import Domain, InvalidProblem, Problem, Workload, design, limits, metrics
from designer.base.display import INVISIBLE
from designer.base.errors import InvalidSpec
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from designer.certificate.guarantee import About
from designer.files.kinds import KINDS
from designer.files.releases import save_release, verify_release
from designer.files.spec import load
from designer.tables import Count, Groups
from designer.tradeoff.delta_rule import GaussianAllowance, PureAllowance
from designer.verifier import standalone
from tests.oracles.spec_specimens import specimens
from tests.verifier.altered import (
    ELSEWHERE,
    NO_FLOATS,
    RUNS,
    altered,
    bytes_of,
    core_verdicts,
    main_verdict,
    places,
    sealed,
    standalone_verdict,
    unusable,
    written_otherwise,
)
from tests.verifier.reading import lines_that_run

FILE = Path(standalone.__file__)
FILES = sorted((Path(__file__).parents[1] / "data" / "specs").glob("*.json"))
# Specimens of its formats that it does not check, and why; every other one it has to check.
LEFT = {
    **{f"channel{mark}{rule}": "losses that follow from a rule" for mark in "_ " for rule in ("distance", "squared")},
    "channel_zero_one": "losses that follow from a rule",
    "channel zero one": "losses that follow from a rule",
    "laplace_great_circle": "relation.kind: 'great_circle'",
    "laplace great_circle": "relation.kind: 'great_circle'",
    "linked_projected": "projected",
    "linked projected": "projected",
    "selection_table": "score.kind: 'tabulated'",
    "selection table": "score.kind: 'tabulated'",
    "lattice chain": "Markov chain",
    "lattice impossible": "no record can have",
    "table_others": "queries of kind 'pure_sum'",
    "table others": "queries of kind 'pure_sum'",
}


def described() -> dict[str, Any]:
    """Rows that are ranges of ones, or compressed, and lists that are written as runs."""
    groups = sparse.csr_array((np.ones(1500), (np.arange(1500) // 40, np.arange(1500))), shape=(38, 1500))
    rows = sparse.csr_array((np.arange(1.0, 401), (np.arange(400) // 2, np.arange(400))), shape=(200, 400))
    one, appears = metrics.uniform(1500, 0.5), metrics.add_remove
    made = {
        "identity": design(Problem(Workload.identity(150), metrics.uniform(150, 0.5)), "laplace"),
        "long identity": design(Problem(Workload.identity(1100), appears(1100, 0.25)), "laplace"),
        "long groups": design(Problem(Workload(groups), one, notion="approximate", delta=1e-6), "gaussian"),
        "long normal": design(Problem(Workload(groups), one, notion="zcdp"), "diagonal_gaussian"),
        "compressed": design(Problem(Workload(rows), appears(400, np.linspace(0.25, 1, 400))), "laplace"),
        "compressed pairs": design(Problem(Workload(rows), metrics.uniform(400, 0.5), notion="zcdp"), "gaussian"),
        "levels": design(Problem(Workload.nested(3, {"region": "aab", "town": "xyz"}), appears(3, 0.5)), "laplace"),
        "totals": design(Problem(Workload(np.tril(np.ones((130, 130)))), metrics.uniform(130, 0.5)), "laplace"),
    }
    return {f"described {name}": result.mechanism for name, result in made.items()}


@cache
def all_specs() -> dict[str, dict[str, Any]]:
    """Those of `tests/data`, and the specimens made here."""
    read = {path.stem: json.loads(path.read_text()) for path in FILES}
    return read | {name: json.loads(json.dumps(plain(to_spec(made)))) for name, made in {**specimens(), **described()}.items()}


@cache
def checked() -> dict[str, dict[str, Any]]:
    """The specs that it checks, those with other names of families left out."""
    return {name: spec for name, spec in all_specs().items() if name not in LEFT and not name.startswith("named_")}


def test_it_is_one_file_of_the_standard_library() -> None:
    tree = ast.parse(FILE.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert not {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)} & {
        "eval",
        "exec",
        "__import__",
        "compile",
    }


@pytest.mark.parametrize("name", ["family_box", "lattice_rows", "staircase_metric"])
def test_what_decides_about_one_spec_is_read_in_an_evening(name: str) -> None:
    content = (FILES[0].parent / f"{name}.json").read_bytes()
    assert 300 < lines_that_run(content) < 700
    assert {"read_json", "seal_of", "check_guarantee", "Pairs.certify"} <= set(standalone.functions([content]).values())


def test_it_runs_where_nothing_is_installed(tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path / "verifier.py")
    codes = {}
    for name in ("family_box", "laplace_great_circle"):
        shutil.copy(next(path for path in FILES if path.stem == name), tmp_path / f"{name}.json")
        command = [sys.executable, "-I", "-S", "verifier.py", f"{name}.json"]
        codes[name] = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).returncode
    (tmp_path / "bad.json").write_text((tmp_path / "family_box.json").read_text().replace("0.5", "0.25"))
    command = [sys.executable, "-I", "-S", "verifier.py", "bad.json"]
    codes["bad"] = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).returncode
    assert codes == {"family_box": 0, "laplace_great_circle": 3, "bad": 4}


def test_every_specimen_has_the_same_verdict_or_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    table: Counter[tuple[str, str]] = Counter()
    for name, spec in all_specs().items():
        verdict, sentences = standalone_verdict(bytes_of(spec))
        table[spec["format"], verdict] += 1
        if name in LEFT:
            assert verdict == "cannot check" and LEFT[name] in sentences[0], (name, sentences)
        else:
            assert verdict == "holds", (name, sentences)
    with capsys.disabled():
        print()
        for (form, verdict), count in sorted(table.items()):
            print(f"{form:36} {verdict:14} {count}")


def require_agreement(spec: dict[str, Any], way: str, count: Counter[tuple[str, str]]) -> None:
    """Where it says that a file holds, the project does; only the number of pairs that were looked at it may not know."""
    content = bytes_of(spec)
    first, (second, sentences) = main_verdict(content), standalone_verdict(content)
    count[first, second] += 1
    form, core = spec["format"], spec.get("mechanism")

    def beside() -> bool:
        """Does the project refuse it for a reason that is none of privacy, or that the second one names?"""
        named = any(ELSEWHERE in sentence for sentence in sentences) and unusable(form, core)
        runs = any(RUNS in sentence for sentence in sentences) and written_otherwise(form, core)
        return named or runs or unusable(form, core, NO_FLOATS)

    if second == "holds" and first != "holds" and not beside():
        assert any("not compared: certificate." in sentence for sentence in sentences), (way, first, sentences)
        assert main_verdict(bytes_of(with_what_was_not_compared(spec, sentences))) == "holds", (way, sentences)
    if way.startswith("mechanism") and "mechanism" in spec:
        mine, theirs, words = core_verdicts(form, core)
        count["core " + mine, theirs] += 1
        assert not (theirs == "holds" and mine != "holds") or beside() or unusable(form, core), (way, mine, words)
    # What it refuses and the project does not: a number written as another type, a name that is no text, another last digit.
    if second == "does not hold" and first == "holds":
        assert any(part in sentences[0] for part in ("is no ", "no float", "witness", "parameters")), (way, sentences)


def with_what_was_not_compared(spec: dict[str, Any], sentences: list[str]) -> dict[str, Any]:
    """The spec with those parts of the certificate that the second verifier names as not compared, as proven, without notes."""
    proven = plain(asdict(KINDS[spec["format"]].part("mechanism").from_core(spec["mechanism"]).privacy))
    named = [
        word for sentence in sentences if sentence.startswith("not compared: ") for word in proven if f".{word}" in sentence
    ]
    notes = (
        {"optimality": None, "provenance": {}} if any("optimality, provenance" in sentence for sentence in sentences) else {}
    )
    return sealed({**spec, "certificate": {**spec["certificate"], **{word: proven[word] for word in named}}, **notes})


def search(seed: int, number: int) -> Counter[tuple[str, str]]:
    chance, count = random.Random(seed), Counter[tuple[str, str]]()
    listed = list(checked())
    for _ in range(number):
        name = chance.choice(listed)
        spec, way = altered(checked()[name], chance)
        found = Counter[tuple[str, str]]()
        require_agreement(spec, way, found)
        count += found
        if way.startswith(("mechanism", "guarantee")):
            count["both look at it", "all"] += 1
            count["both look at it", "both refuse"] += found["does not hold", "does not hold"]
    return count


# What the two read differently, and should not: where it stands in a spec, and what stands there.
READ_ALIKE: dict[str, tuple[str, list[Any], Any]] = {
    f"{called} in {file}": (file, place, value)
    for called, value in {"blanks": " a  b ", "no name": "", "a zero width": "a\u200bb"}.items()
    for file, place in {
        "laplace_blowfish": ["workload", "queries", 1],
        "laplace_product": ["relation", "attributes", 2],
        "laplace_row_groups": ["relation", "names", 0],
        "lattice_l1": ["relation", "invariant", "names", 0],
        "marginals_attributes": ["attributes", 2],
        "channel_line": ["elements", 0],
        "selection_linear": ["score", "workload", "queries", 0],
        "staircase_metric": ["workload", "queries", 0],
        "structured_attributes": ["attributes", 0],
        "table_plan": ["queries", 0, "name"],
    }.items()
}
READ_ALIKE |= {
    "an attribute called inf": ("laplace_product", ["relation", "attributes", 0], "inf"),
    "a value called inf": ("laplace_product", ["relation", "values", 2, 0], "inf"),
    "a group called inf": ("laplace_row_groups", ["relation", "names", 0], "inf"),
    "a column called inf": ("table_plan", ["levels", 5, "columns", 0, "column"], "inf"),
    "a column with blanks": ("table_plan", ["queries", 8, "measure", "column"], " pay "),
    "a maximum norm over a distance": ("lattice_distance_l1", ["norm", "order"], "linf"),
    "a maximum norm over an l2 distance": ("lattice_distance", ["norm", "order"], "linf"),
}


@pytest.mark.parametrize("name", READ_ALIKE)
def test_both_read_names_and_norms_alike(name: str) -> None:
    file, place, value = READ_ALIKE[name]
    core = json.loads(json.dumps(all_specs()[file]["mechanism"]))
    holder = core
    for key in place[:-1]:
        holder = holder[key]
    assert type(holder[place[-1]]) is str
    holder[place[-1]] = value
    first, second, words = core_verdicts(all_specs()[file]["format"], core)
    assert first == second, words


@pytest.mark.parametrize(
    ("alter", "verdict"),
    [
        (lambda content: b"\xef\xbb\xbf" + content, "holds"),
        (lambda content: content.replace(b'"title": "A table"', b'"title": "\\ud83d\\ude00"'), "does not hold"),  # another seal
        (lambda content: content.replace(b'"title": "A table"', b'"title": "\\ud83d"'), "does not hold"),
        (lambda content: content.decode().encode("utf-16"), "does not hold"),
    ],
    ids=["a byte order mark", "another title", "half a pair", "UTF-16"],
)
def test_both_read_bytes_alike(alter: Any, verdict: str) -> None:
    made = design(Problem(Workload.identity(3), metrics.uniform(3, 0.5)), "laplace").mechanism.described(About(title="A table"))
    content = alter(bytes_of(plain(to_spec(made))))
    assert (main_verdict(content), standalone_verdict(content)[0]) == (verdict, verdict)


@pytest.mark.parametrize("times", [2**16, 2**20 + 1, 10**12])
def test_files_whose_runs_stand_for_too_many_entries_are_refused_by_both_before_any_is_written_out(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the sum over a file, or in one list."""
    assert (standalone.MOST_ENTRIES, standalone.MOST_IN_RUNS) == (limits.MOST_ENTRIES_OF_RUNS, limits.MOST_ENTRIES_OF_FILE)
    assert standalone.SIZE_LIMIT == limits.MOST_JSON_BYTES
    made = design(Problem(Workload.identity(2000), metrics.add_remove(2000, 1.0)), "laplace").mechanism
    spec = json.loads(json.dumps(plain(to_spec(made))))
    spec["mechanism"]["grid"] = {"runs": [[0, 0, times]] * (129 if times < 2**20 else 1)}
    monkeypatch.setattr(np, "full", None)  # what writes them out
    monkeypatch.setattr(np, "arange", None)
    content = bytes_of(sealed(spec))
    with pytest.raises(InvalidSpec, match="entries, more than"):
        load(content)
    verdict, sentences = standalone_verdict(content)
    assert verdict == "cannot check" and "entries" in sentences[0]


def test_what_a_run_repeats_is_read_and_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = design(Problem(Workload.identity(2000), metrics.add_remove(2000, 1.0)), "laplace").mechanism
    read, positive = [], standalone.positive
    monkeypatch.setattr(standalone, "positive", lambda value, where: read.append(value) or positive(value, where))
    assert standalone_verdict(bytes_of(plain(to_spec(made))))[0] == "holds" and len(read) == 2


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        ([0, 1, 3], "holds"),
        ([0, 2, 3], "does not hold"),
        ([4, -2, 3], "holds"),
        ([1, -1, 3], "does not hold"),
        ([0.0, 1, 3], ""),
    ],
)
def test_a_run_is_within_an_interval_if_its_ends_are(run: list[Any], verdict: str) -> None:
    read = standalone.listed(standalone.whole(0, 3) if run[0] != 4 else standalone.whole(0, 4))
    if verdict == "holds":
        assert list(read({"runs": [run]}, "here")) == [run[0] + run[1] * k for k in range(run[2])]
    else:
        with pytest.raises(standalone.DoesNotHold):
            read({"runs": [run]}, "here")


def test_half_a_surrogate_pair_is_no_text() -> None:
    for make in (lambda: Domain.of({"a": ["\ud800"]}), lambda: Count("\udfff", Groups(), variance=1)):
        with pytest.raises(InvalidProblem):
            make()


@pytest.mark.parametrize("number", [150, pytest.param(400, marks=pytest.mark.nightly)])
def test_altered_specs_have_the_same_verdict(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    count = search(33, number)
    with capsys.disabled():
        print("\nthe project's verdict, the second one's:", dict(count))
    # Of notes and of how the proof was found, which the second one names as not compared, it refuses the form alone.
    looked_at, refused = count["both look at it", "all"], count["both look at it", "both refuse"]
    assert count["holds", "holds"] > number / 8 and looked_at > number / 2 and refused > 2 * looked_at / 3


def test_sums_that_are_no_floats_are_proven_by_one_and_refused_by_the_other() -> None:
    """A score whose sums need more than 53 bits: the project refuses it, with the remedy, and the second one has fractions."""
    spec = json.loads(json.dumps(checked()["selection invariant"]))
    entries = next(holder for holder, key in places(spec["mechanism"]["score"]) if key == 1 and isinstance(holder[1], float))
    entries[1] *= 1 + 1e-13
    assert unusable(spec["format"], spec["mechanism"], NO_FLOATS)
    found = Counter[tuple[str, str]]()
    require_agreement(sealed(spec), "mechanism: 1 little", found)
    assert found["core does not hold", "holds"] == 1


def spending_more() -> dict[str, dict[str, Any]]:
    """One spec of each format with numbers that spend more than the budget, all else made to fit by the project's own hand."""
    read = {name: json.loads((FILES[0].parent / f"{name}.json").read_text())["mechanism"] for name in MORE}
    rows = read["channel_line"]["numerators"]
    # From the first value the last report comes 7 % less often: more than e^b apart in one order of that pair.
    moved = rows[0][2] // 14
    rows[0] = [rows[0][0], rows[0][1] + moved, rows[0][2] - moved]
    read["selection_linear"]["rate"] *= 1.001
    read["marginals_attributes"]["precisions"] = [
        s if s == "inf" else s * 1.001 for s in read["marginals_attributes"]["precisions"]
    ]
    read["lattice_distance"]["norm"]["map"] = [w * 1.001 for w in read["lattice_distance"]["norm"]["map"]]
    for name in ("family_box", "lattice_rows"):
        read[name]["norm"]["map"] = [w * 1.001 for w in read[name]["norm"]["map"]]
    for name in ("structured_attributes", "structured_laplace"):
        for block in read[name]["blocks"]:
            block["strength"] *= 1.001
    read["staircase_real"]["noise"]["width"] -= 1
    read["mwem"]["shares"][0][0] = "1/9"
    read["small_db"]["queries"]["weights"] = [w * 1.001 for w in read["small_db"]["queries"]["weights"]]
    read["table_plan"]["queries"][3]["variance"] = "2000"
    read["test_rungs"]["tradeoff"] |= {"alphas": ["0", "1/4", "1"], "betas": ["1", "1/5", "0"]}
    return read


MORE = {
    "family_box": "spends its budget",
    "channel_line": "by more than e^b",
    "selection_linear": "spends its budget",
    "marginals_attributes": "times what it may",
    "lattice_distance": "spends its budget",
    "lattice_rows": "spends its budget",
    "structured_attributes": "times what it may",
    "structured_laplace": "times what it may",
    "staircase_real": "spends its budget",
    "mwem": "add up to",
    "small_db": "spends its budget",
    "test_rungs": "is not symmetric",
    "table_plan": "one split row costs",
}


@pytest.mark.parametrize("name", MORE)
def test_numbers_that_spend_more_are_refused(name: str) -> None:
    form = json.loads((FILES[0].parent / f"{name}.json").read_text())["format"]
    mine, theirs, words = core_verdicts(form, spending_more()[name])
    assert mine == theirs == "does not hold" and MORE[name] in words[0], words


# One value of a core is another one: where it stands, what stands there instead, and what both verifiers refuse.
NONE_SUCH: dict[str, tuple[str, list[Any], Any, str]] = {
    "a peak that walks reach": (
        "staircase_metric",
        ["noise", "levels"],
        [30 * 10**9, 3435973837, 0, 3435973837, 30 * 10**9],
        "reached",
    ),
    "a basis that is too coarse": ("staircase_metric", ["noise", "basis"], [[-4, 4], [2, 2]], "no whole sum"),
    "a basis that is too fine": ("staircase_metric", ["noise", "basis"], [[-1, 1], [1, 1]], "less than its lattice"),
    "peaks on one side": ("staircase_metric", ["noise", "peaks", 0], [-4, 6], "no opposite"),
    "a unit that no budget holds": ("staircase_metric", ["noise", "unit"], "2", "does not go into"),
    "noise of too few dimensions": ("staircase_real", ["noise", "unit"], "1/131072", "is not from 2^-16"),
    "a matrix that is not there": ("structured_attributes", ["blocks", 3, "matrices"], [2, 0], "no whole number"),
    "a matrix that spends more": ("structured_attributes", ["matrices", 1, "rows", 0, 0], [2, 0], "times what it may"),
    "another domain": ("structured_attributes", ["protection", "values", 1], ["F", "X"], "another domain"),
    "queries that keep no constant": ("mwem_islands", ["queries", "weights"], [0.75, 0.25], "spends its budget"),
    "a share of nothing": ("mwem", ["shares", 0, 0], "0", "not positive"),
    "an axis too many": ("lattice_rows", ["axis"], 2, "fewer margins"),
    "margins of other sums": ("test_pure", ["rows"], [6, 5], "add up to"),
    "a promise of nothing": ("test_pure", ["tradeoff", "epsilon"], "0", "no loss at all"),
    "a group of one": ("test_group", ["tradeoff", "size"], 1, "no whole number"),
    "a quantile that chooses too sharply": ("table_plan", ["queries", 8, "rate"], 1.5, "more than rho"),
    "two ways to clip": ("table_plan", ["queries", 3, "measure", "upper"], "10", "two ways"),
    "a split row that costs more": ("table_plan", ["rho"], "84/24", "lowest terms"),
    "a caution that is null": ("family_box", ["vacuous"], None, "null"),
    "keys that are null": ("channel_line", ["keys"], None, "null"),
    "a threshold for one label": ("table_plan", ["splitting", "own", "DE"], ["60", "1000"], "splits otherwise"),
}


@pytest.mark.parametrize("name", NONE_SUCH)
def test_cores_that_are_none_are_refused(name: str) -> None:
    file, place, value, why = NONE_SUCH[name]
    spec = json.loads((FILES[0].parent / f"{file}.json").read_text())
    holder = spec["mechanism"]
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    mine, theirs, words = core_verdicts(spec["format"], spec["mechanism"])
    assert mine == theirs == "does not hold" and why in words[0], (mine, theirs, words)


LEVEL_ROWS = [["", ""], ["a", ""], ["b", ""], ["a", "x"], ["a", "y"], ["b", "z"]]


@pytest.mark.parametrize(
    "levels",
    [
        {"rows": LEVEL_ROWS[:-1]},
        {"rows": [*LEVEL_ROWS[:-1], ["b", "z", ""]]},
        {"rows": [LEVEL_ROWS[1], LEVEL_ROWS[0], *LEVEL_ROWS[2:]]},
        {"rows": [["", "q"], *LEVEL_ROWS[1:]]},
        {"rows": [*LEVEL_ROWS[:-1], ["b", 3]]},
        {"unlisted": "drop"},
        {"columns": ["region", "region"]},
        {"column": ["region", "town"]},
    ],
)
def test_levels_that_are_none_are_refused(levels: dict[str, Any]) -> None:
    spec = all_specs()["described levels"]
    form, core = spec["format"], json.loads(json.dumps(spec["mechanism"]))
    assert core["workload"]["levels"]["rows"] == LEVEL_ROWS
    assert core_verdicts(form, core)[:2] == ("holds", "holds")
    core["workload"]["levels"].update(levels)
    assert core_verdicts(form, core)[:2] == ("does not hold", "does not hold")


def test_statistics_of_another_number_of_elements_are_refused() -> None:
    core = json.loads(json.dumps(checked()["selection invariant"]["mechanism"]))
    for row in core["relation"]["invariant"]["rows"]:
        row.append(row[-1])
    mine, theirs, words = core_verdicts("dp-designer/selection", core)
    assert mine == theirs == "does not hold" and "another number of elements" in words[0], words


@pytest.mark.parametrize("length", [194, 195])
def test_names_of_averages_leave_room_for_their_parts(length: int) -> None:
    spec = json.loads((FILES[0].parent / "table_plan.json").read_text())
    average = next(query for query in spec["mechanism"]["queries"] if query["kind"] == "average")
    average["name"] = "n" * length
    mine, theirs, words = core_verdicts(spec["format"], spec["mechanism"])
    assert mine == theirs == ("holds" if length == 194 else "does not hold"), words


def test_queries_keep_their_constants_however_little_the_rounds_spend() -> None:
    core = json.loads((FILES[0].parent / "mwem.json").read_text())["mechanism"]
    core["shares"] = [["1/10", "1/10"]]
    core["queries"]["weights"] = [2 * w for w in core["queries"]["weights"]]
    mine, theirs, words = core_verdicts("dp-designer/mwem", core)
    assert mine == theirs == "does not hold" and "more than its constant" in words[0], words


def test_the_worst_pair_of_a_report_may_be_in_either_order() -> None:
    core = json.loads((FILES[0].parent / "channel_line.json").read_text())["mechanism"]
    core["relation"]["points"] = [[-point] for (point,) in core["relation"]["points"]]
    assert core_verdicts("dp-designer/channel", core) == ("holds", "holds", [])


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(20))
def test_many_altered_specs_have_the_same_verdict(part: int) -> None:
    count = search(1000 + part, 5000)
    assert count["holds", "holds"] > 500


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "beyond"),
        ("[1]", "no JSON object"),
        ('{"a": ', "not JSON"),
        ('{"a": ' + "[" * 100_000, "not JSON"),
        ('{"a": "\xff"}', "not JSON"),
    ],
)
def test_its_reader_is_strict(text: str, why: str) -> None:
    verdict, sentences = standalone_verdict(text.encode("latin-1"))
    assert verdict == "does not hold" and why in sentences[0]


def test_a_relaxed_seal_and_fingerprint_are_refused() -> None:
    for field in ("seal", "fingerprint"):
        spec = json.loads(next(path for path in FILES if path.stem == "family_box").read_text())
        spec[field] = "0" * 64
        verdict, sentences = standalone_verdict(bytes_of(spec))
        assert verdict == "does not hold" and sentences[0].startswith("seal")


RELEASED = ("family_box", "family_gaussian", "bundles_sum", "laplace_partition", "line_days")


@pytest.mark.parametrize("name", RELEASED)
def test_releases_are_those_of_the_spec(name: str, tmp_path: Path) -> None:
    content = next(path for path in FILES if path.stem == name).read_bytes()
    made = load(content)
    path = tmp_path / "release.json"
    save_release(made, made.release([3] * made.workload.shape[1]), path)  # type: ignore[attr-defined]
    release = json.loads(path.read_text())
    verdict, sentences = standalone.verify(content, path.read_bytes())
    if release["measured"] is None:
        assert verdict == "cannot check"
        return
    assert verdict == "holds", sentences

    def refused(change: dict[str, Any], why: str) -> None:
        other = {**release, **change}
        other["seal"] = standalone.seal_of(other)
        found, said = standalone.verify(content, bytes_of(other))
        assert found == "does not hold" and why in said[0], said

    drawn = release["measured"]["multiples"]
    refused({"measured": {**release["measured"], "multiples": [*drawn[:-1], drawn[-1] + 2**40]}}, "answers")
    refused({"measured": {**release["measured"], "multiples": [float(n) for n in drawn]}}, "no whole number")
    refused({"measured": {**release["measured"], "multiples": drawn[:-1]}}, "one for each step")
    refused({"fingerprint": "0" * 64}, "another mechanism")
    refused({"guarantee": {**release["guarantee"], "unit": "Everybody."}}, "guarantee.unit")
    first = next(iter(release["answers"]))
    refused({"answers": {**release["answers"], first: release["answers"][first] + 1.0}}, "answers")


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(-7, 2), Fraction(25), Fraction(-40)])
def test_bounds_of_exp_and_of_the_normal_law_hold_the_numbers(x: Fraction) -> None:
    from flint import arb, ctx, fmpq

    old, ctx.prec = ctx.prec, 700
    try:
        ball = arb(fmpq(x.numerator, x.denominator))
        low, high = standalone.exp(x)
        scaled = ball.exp() * arb(2) ** standalone.BITS
        assert arb(low) <= scaled <= arb(high) and high - low < 2 ** (standalone.BITS - 150)
        if abs(x) <= 13:
            low, high = standalone.normal(x)
            scaled = (1 + (ball / arb(2).sqrt()).erf()) / 2 * arb(2) ** standalone.BITS
            assert arb(low) <= scaled <= arb(high) and high - low < 2 ** (standalone.BITS - 150)
    finally:
        ctx.prec = old


@pytest.mark.parametrize("budget", [Fraction(1, 10), Fraction(0.5), Fraction(3)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_lengths_under_a_delta_are_those_of_the_project(budget: Fraction, delta: float) -> None:
    for falloff, law in (("exponential", PureAllowance), ("rounded_gaussian", GaussianAllowance)):
        theirs = law(Fraction(delta)).most(budget)
        mine = standalone.allowed_length(falloff, budget, Fraction(delta))
        assert abs(mine - theirs) <= theirs * Fraction(1, 2**45)


@pytest.mark.parametrize(("budget", "delta"), [(40, 1e-30), (39.5, 1e-25), (20, 1e-30)])
def test_lengths_far_in_the_tails_are_those_of_the_project(budget: float, delta: float) -> None:
    """A length whose second normal tail lies beyond 13 deviations is not allowed for that alone."""
    theirs = GaussianAllowance(Fraction(delta)).most(Fraction(budget))
    mine = standalone.allowed_length("rounded_gaussian", Fraction(budget), Fraction(delta))
    assert abs(mine - theirs) <= theirs * Fraction(1, 2**45)


def test_gauges_are_those_of_a_linear_program() -> None:
    from scipy.optimize import linprog

    chance = np.random.default_rng(3)
    for _ in range(30):
        size = int(chance.integers(1, 4))
        points = chance.integers(-3, 4, (size + 3, size)).astype(float)
        if np.linalg.matrix_rank(points) < size:
            continue
        v = chance.integers(-5, 6, size).astype(float)
        mine = standalone.gauge([list(map(Fraction, p)) for p in points.tolist()], list(map(Fraction, v.tolist())))
        both = np.hstack([points.T, -points.T])
        assert mine == pytest.approx(linprog(np.ones(both.shape[1]), A_eq=both, b_eq=v).fun, abs=1e-9)
    assert standalone.gauge([[Fraction(1), Fraction(0)]], [Fraction(0), Fraction(1)]) == math.inf


def test_a_release_with_the_digits_that_other_languages_write_holds_in_both(tmp_path: Path) -> None:
    """15 digits; what is off by more than the first verifier allows, 1e-9, is refused by both."""
    weights = [[0.1, 0.37, 1 / 3], [1.7, 12345.678, 0.0]]
    made = design(Problem(Workload(weights), metrics.uniform(3, 0.5)), "laplace").mechanism
    spec = json.loads(json.dumps(plain(to_spec(made))))
    save_release(made, made.release([100, 200, 300]), tmp_path / "release.json")
    release = json.loads((tmp_path / "release.json").read_text())

    def verdicts(times: float) -> tuple[str, str]:
        shown = {name: float(f"{answer * times:.15g}") for name, answer in release["answers"].items()}
        content = bytes_of(resealed({**release, "answers": shown}))
        (tmp_path / "other.json").write_bytes(content)
        try:
            verify_release(made, tmp_path / "other.json")
            first = "holds"
        except InvalidSpec:
            first = "does not hold"
        return first, standalone.verify(bytes_of(spec), content)[0]

    assert verdicts(1.0) == ("holds", "holds")
    assert verdicts(1 + 1e-8) == ("does not hold", "does not hold")


def test_what_the_maker_says_is_read_as_the_first_verifier_reads_it(tmp_path: Path) -> None:
    made = design(Problem(Workload([[1.0, 1.0]], queries=["all"]), metrics.add_remove(2, 0.5)), "laplace").mechanism
    about = About("A title", publisher="An office", units={"*": "persons", "all": "people"})
    told = made.described(about)
    spec = json.loads(json.dumps(plain(to_spec(told))))
    save_release(told, told.release([3, 4]), tmp_path / "release.json")
    release = json.loads((tmp_path / "release.json").read_text())

    def verdict(changed: dict[str, Any], published: dict[str, Any] | None = None) -> tuple[str, str]:
        content = bytes_of(resealed({**spec, "about": changed}))
        second = standalone.verify(content, None if published is None else bytes_of(published))[0]
        try:
            found = load(content)
            if published is not None:
                (tmp_path / "other.json").write_bytes(bytes_of(published))
                verify_release(found, tmp_path / "other.json")
        except InvalidSpec:
            return "does not hold", second
        return "holds", second

    assert verdict(spec["about"], release) == ("holds", "holds")
    for other in ({"title": "A\u202etitle"}, {"title": ""}, {"units": {"*": ""}}, {"units": "persons", "title": 3}):
        assert verdict({**spec["about"], **other}) == ("does not hold", "does not hold"), other
    assert verdict({**spec["about"], "publisher": "Another office"}, release) == ("does not hold", "does not hold")
    assert standalone.UNSEEN.pattern == f"[{INVISIBLE}]"


def resealed(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "seal": standalone.seal_of(data)}


@pytest.mark.parametrize(("deviation", "start"), [(1, 1), (3, 20), (40, 30), (1000, 1000), (1000, 4000)])
def test_tails_of_noise_are_at_least_their_sum_and_hardly_more(deviation: int, start: int) -> None:
    """All terms up to 12 deviations beyond the start, over those of all whole numbers: far more than 64 where noise is wide."""
    weight = {z: math.exp(-z * z / (2 * deviation**2)) for z in range(12 * deviation + start)}
    exact = math.fsum(w for z, w in weight.items() if z >= start) / (2 * math.fsum(weight.values()) - 1)
    found = standalone.TablePlan.tail(None, start, Fraction(deviation) ** 2)
    assert exact * (1 - 1e-12) <= found <= exact * 1.02
