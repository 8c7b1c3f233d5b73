"""Problem files of kind "marginals": the mechanism that Python makes, the whole way on the command line, and every mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    InvalidProblem,
    MarginalMechanism,
    MarginalProblem,
    MarginalWorkload,
    Presence,
    StructuredMechanism,
    Targets,
    datasets,
    design,
    load,
    metrics,
)
from designer.accounts import expense_of, spent
from designer.certificate.guarantee import NOTIONS
from designer.cli.entry import main
from designer.domains.marginals_file import MarginalsFile
from designer.domains.marginals_least import marginals_meeting
from designer.problem.domain import Domain
from designer.problem_file.kinds import read_request
from tests.problem_file.good_files import MARGINALS, MARGINALS_WITH_TARGETS, write, write_tables

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "adult_marginals.toml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tables(tmp_path)


def test_a_file_makes_what_python_makes(folder: Path) -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3, "region": ["N", "S"], "place": ["N", "S"]})
    ask = MarginalWorkload.of(domain, {("sex",): 1.0, ("sex", "age"): 2.5, (): 3.0})
    wanted = design(MarginalProblem(ask, metrics.hamming(domain, [1, 0.5, np.inf, 2]), "max"), tolerance=1e-5).mechanism
    request = read_request(write(folder, MARGINALS))
    outcome = request.made()
    assert outcome.mechanism == wanted and request.title == "Three attributes"
    text = "\n".join(outcome.lines)
    for words in ("Three attributes", "Certificate: holds\n", "sex x age: standard error"):
        assert words in text


def test_values_stand_in_the_order_of_their_table_and_budgets_go_by_name(folder: Path) -> None:
    (folder / "codes.csv").write_text("region\nS\nW\nS\nN\n")
    swapped = MARGINALS.replace("sex = 1, age = 0.5, region = inf, place = 2", "place = 2, region = inf, age = 0.5, sex = 1")
    assert swapped != MARGINALS
    request = read_request(write(folder, swapped))
    assert isinstance(request, MarginalsFile)
    domain = Domain.of({"sex": ["F", "M"], "age": 3, "region": ["S", "W", "N"], "place": ["S", "W", "N"]})
    assert request.problem.workload.domain == domain
    assert request.problem.relation.to_spec() == metrics.hamming(domain, [1, 0.5, np.inf, 2]).to_spec()


def test_targets_in_a_file_are_those_of_python(folder: Path) -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    ask, targets = (
        MarginalWorkload.up_to(domain, 2),
        Targets(standard_error={"sex x age": 3}, relative_error={"sex": 0.5}, reference={"sex": 10}),
    )
    request = read_request(write(folder, MARGINALS_WITH_TARGETS))
    assert request.made().mechanism == marginals_meeting(ask, Presence(mu=1), targets)
    found = request.least()
    assert found.data["factor"] < 1 and found.data["reached"]["sex x age"] <= 3 and "Least factor:" in "\n".join(found.lines)


def test_the_example_goes_from_file_to_verified_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, release, least = tmp_path / "spec.json", tmp_path / "release.json", tmp_path / "least.json"
    assert main(["show", str(EXAMPLE)]) == 0 and "36" in capsys.readouterr().out
    assert main(["design", str(EXAMPLE), "-o", str(spec)]) == 0
    assert "Saved to" in capsys.readouterr().out
    made = load(spec, MarginalMechanism)
    assert float(np.sqrt(made.variances(["sex", "income"]).max())) <= 8
    records = datasets.adult().path
    assert main(["release", str(spec), "--table", str(records), "-o", str(release)]) == 0
    capsys.readouterr()
    assert main(["verify", str(spec), str(release)]) == 0 and "is a release" in capsys.readouterr().out
    assert main(["budget", str(EXAMPLE), "--only-targets", "-o", str(least), "--json"]) == 0
    factor = json.loads(capsys.readouterr().out)["factor"]
    assert 0 < factor < 1 and load(least, MarginalMechanism).protection.budgets[0] == pytest.approx(factor)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare"], "compare: does not go with a file of kind 'marginals'; design it with each --family NAME"),
        (["explore", "-o", "x.html"], "explore: does not go with a file of kind 'marginals'; change its budget or noise"),
        (["design", "--family", "laplace"], "family: 'laplace' is unknown to a MarginalProblem; use 'auto' or 'residual'"),
        (["design", "--solver", "SCS"], "solver: 'SCS' does not go with"),
        (["design", "--seconds", "3"], "seconds: 3.0 does not go with"),
        (["budget", "--plot", "p.png"], "--plot: does not go with a file of kind 'marginals'"),
        (["show", "--plot", "p.png"], "--plot: does not go with a file of kind 'marginals'"),
    ],
)
def test_commands_and_options_that_do_not_apply_say_so(
    arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder, MARGINALS)
    assert main([arguments[0], str(path), *arguments[1:]]) == 2
    assert words in capsys.readouterr().err


def test_a_budget_needs_targets(folder: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"section \[targets\] is missing"):
        read_request(write(folder, MARGINALS)).least()


MISTAKES: dict[str, tuple[str, str, str]] = {  # what is replaced, by what, and what is said
    "an empty list of values": ('sex = ["F", "M"]', "sex = []", r"\[domain\] sex = \[\]: should"),
    "a value twice": ('sex = ["F", "M"]', 'sex = ["F", "F"]', "attribute 'sex' has values"),
    "half a value": ("age = 3", "age = 3.5", r"\[domain\] age = 3.5: should be .*a whole number of at least 1"),
    "no table of that name": ('{table = "codes.csv"}', '{table = "code.csv"}', r"code.csv: no such file"),
    "no column of that name": ('column = "region"', 'column = "regin"', "no column 'regin'; perhaps 'region' is meant"),
    "an unknown key of a domain": (
        'column = "region"',
        'colum = "region"',
        r"\[domain.place\] colum = .*unknown key; perhaps 'column'",
    ),
    "an unknown table": ('["sex", "age"]', '["sex", "aeg"]', r"\[workload\] tables\[1\] = 'aeg': .*perhaps 'age' is meant"),
    "a table twice": (
        '["sex", "age"], []',
        '["sex", "age"], ["age", "sex"]',
        r"\[workload\] tables = \['sex', 'age'\]: stands there twice",
    ),
    "weights for another number": ("[1, 2.5, 3]", "[1, 2.5]", r"\[workload\] weights = \[1, 2.5\]: are 2 for 3 tables"),
    "no positive weight": ("[1, 2.5, 3]", "[1, 2.5, 0]", r"\[workload\] weights\[2\] = 0: should be a number above 0"),
    "two ways to say it": (
        "weights =",
        "up_to = 2\nweights =",
        r"section \[workload\] has .*; give exactly one of: tables, or up_to",
    ),
    "no way to say it": ("tables =", "table =", r"\[workload\] table = .*: unknown key; perhaps 'tables' is meant"),
    "no budget": ("sex = 1, ", "", r"\[relation\] budgets = .*: has none for \['sex'\]; inf leaves an attribute unprotected"),
    "a budget of nothing": ("sex = 1, ", "sex = 1, sez = 2, ", r"\[relation\] budgets = 'sez': .*perhaps 'sex' is meant"),
    "a negative budget": ("age = 0.5", "age = -0.5", r"\[relation.budgets\] age = -0.5: should be a number above 0"),
    "an unknown metric": ('"hamming"', '"haming"', r"\[relation\] metric = 'haming': unknown; perhaps 'hamming' is meant"),
    "no metric": ('metric = "hamming"\n', "", r"\[relation\] metric is missing; give one of \['hamming', 'add_remove'\]"),
    "another metric": (
        '"hamming"',
        '"add_remove"',
        r"\[relation\] budgets = .*: unknown key; \[relation\] takes \['epsilon', 'metric', 'mu'\]",
    ),
    "an unknown loss": ('"max"', '"absolute"', r"\[problem\] loss = 'absolute': unknown; use one of \['squared', 'max'\]"),
    "another notion": ('"zcdp"', '"approximate"', r"\[problem\] notion = 'approximate': .*use one of \['zcdp', 'pure'\]"),
    "no tolerance": ("1e-5", "1", r"\[problem\] tolerance = 1: should be a number above 0 and below 1"),
    "a key of nothing": ("loss =", "losses =", r"\[problem\] losses = 'max': unknown key; perhaps 'loss' is meant"),
    "an unknown section": ("[problem]", "[problems]", r"section \[problems\] is unknown; perhaps 'problem' is meant"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered_by_file_section_key_value_and_remedy(name: str, folder: Path) -> None:
    old, new, words = MISTAKES[name]
    assert old in MARGINALS
    path = write(folder, MARGINALS.replace(old, new, 1))
    with pytest.raises(InvalidProblem, match=words) as refusal:
        read_request(path)
    assert str(refusal.value).startswith(f"{path}: ") or str(refusal.value).startswith(f"{path.parent}/code.csv")


PURE = """kind = "marginals"
[domain]
sex = ["F", "M"]
age = 3
[workload]
up_to = 2
[relation]
metric = "add_remove"
epsilon = 2
[problem]
notion = "pure"
"""


def test_a_pure_file_goes_all_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pure.toml").write_text(PURE, encoding="utf-8")
    (tmp_path / "records.csv").write_text("sex,age\nF,0\nM,2\nF,1\n")
    spec, release = tmp_path / "spec.json", tmp_path / "release.json"
    assert main(["show", str(tmp_path / "pure.toml")]) == 0 and "pure" in capsys.readouterr().out
    assert main(["design", str(tmp_path / "pure.toml"), "-o", str(spec)]) == 0
    assert "sex x age: standard error" in capsys.readouterr().out
    made = load(spec, StructuredMechanism)
    assert made.noise == "laplace" and made.protection == Presence(epsilon=2.0) and made.privacy.holds
    assert made.guarantee.notion == NOTIONS["exponential"] and made.guarantee.parameters["largest_finite_budget"] == 2.0
    assert spent([expense_of(made)]).total.epsilon == 2
    assert main(["release", str(spec), "--table", str(tmp_path / "records.csv"), "-o", str(release)]) == 0
    assert main(["verify", str(spec), str(release)]) == 0
    assert main(["report", str(spec), "-o", str(tmp_path / "page.html")]) == 0
    (tmp_path / "aimed.toml").write_text(PURE + "[targets]\nstandard_error = {sex = 3}\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["budget", str(tmp_path / "aimed.toml"), "--only-targets"]) == 0
    printed = capsys.readouterr().out
    assert "rho" not in printed and "for all additive noise" in printed and "Reached:      sex: 2.99" in printed
    assert main(["design", str(tmp_path / "aimed.toml"), "-o", str(tmp_path / "aimed.json")]) == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "epsilon = 2",
            "mu = 2",
            r"\[relation\] mu = 2: is a budget of zCDP, .* under the notion 'pure' give epsilon",
        ),
        ("epsilon = 2\n", "", r"\[relation\] epsilon is missing"),
        (
            'notion = "pure"\n',
            "",
            r"\[relation\] epsilon = 2: is no epsilon under zCDP; write mu = 2, which promises rho = mu\^2 / 2",
        ),
    ],
)
def test_the_name_of_a_budget_is_that_of_its_notion(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "pure.toml").write_text(PURE.replace(old, new), encoding="utf-8")
    with pytest.raises(InvalidProblem, match=words):
        read_request(tmp_path / "pure.toml")


TARGET_MISTAKES = {
    "no domain": ('[domain]\nsex = ["F", "M"]\nage = 3\n', "", "domain is missing; give it, as a table .*Attributes"),
    "no mu": ("mu = 1\n", "", r"\[relation\] mu is missing; give it, as a number"),
    "an epsilon": ("mu = 1\n", "epsilon = 1\n", r"\[relation\] epsilon = 1: is no epsilon under zCDP; write mu"),
    "no table": ('{"sex x age" = 3}', '{"sex x aeg" = 3}', r"\[targets\] standard_error: 'sex x aeg' is no query"),
    "no reference": ("reference = {sex = 10}\n", "", r"\[targets\] relative_error = .*: needs reference beside it"),
    "two targets": ('{"sex x age" = 3}', "{sex = 3}", r"\[targets\] .*'sex' has a target in"),
    "too much": (
        '{"sex x age" = 3}',
        '{"sex x age" = -3}',
        r"\[targets.standard_error\] sex x age = -3: should be a number above 0",
    ),
    "an unknown key": ("standard_error", "standard_eror", r"\[targets\] standard_eror = .*perhaps 'standard_error' is meant"),
}


@pytest.mark.parametrize("name", TARGET_MISTAKES)
def test_mistakes_in_targets_are_named(name: str, folder: Path) -> None:
    old, new, words = TARGET_MISTAKES[name]
    assert old in MARGINALS_WITH_TARGETS
    with pytest.raises(InvalidProblem, match=words):
        read_request(write(folder, MARGINALS_WITH_TARGETS.replace(old, new, 1)))


def test_a_domain_is_never_read_from_records_that_are_released(folder: Path) -> None:
    """The table of values is among the files that are read, so that it is refused as a place for results."""
    files: Any = read_request(write(folder, MARGINALS)).files
    assert [file.name for file in files] == ["problem.toml", "codes.csv", "codes.csv"]


def test_a_certificate_is_printed_in_sentences_and_not_as_fractions_and_mappings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `verify` prints of a spec that is not additive: a ratio that people can read, the change in words."""
    assert main(["design", str(write(folder, MARGINALS)), "-o", str(folder / "spec.json")]) == 0
    capsys.readouterr()
    assert main(["verify", str(folder / "spec.json")]) == 0
    said = capsys.readouterr().out
    worst = (
        r"holds\. Worst ratio of loss to budget over \d+ pairs: 0\.9+\d* \(attained at one record changes in '\w+' alone\)\.\n"
    )
    assert re.search(worst, said)
    assert "{" not in said and not re.search(r"\d{20}", said.split("Fingerprint")[0])
