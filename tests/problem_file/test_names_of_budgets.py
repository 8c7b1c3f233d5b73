"""A budget in [relation] has the name of its notion: epsilon, or mu under zCDP; the other name is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from designer import InvalidProblem
from designer.accounts.composition.cost_record import expense_of
from designer.problem_file.kinds import read_request
from designer.problem_file.sections import Choices
from designer.problem_file.templates import decided_file, paths
from designer.problem_file.what_if import varied_file
from tests.problem_file.good_files import write
from tests.problem_file.test_problem_schema import VALIDATOR

# Attributes may be called as budgets are.
HEAD = '[domain]\nepsilon = 2\nmetric = 2\n[workload]\nbuilder = "identity"\n'
TERMS = HEAD.replace('builder = "identity"', 'terms = [{epsilon = "prefix"}]')
AVERAGES = 'kind = "statistical_queries"\n[domain]\na = 2\n[statistics]\nm = {of = "a", values = "number"}\n'
ZCDP, DELTA = '[problem]\nnotion = "zcdp"\n', '[problem]\nnotion = "approximate"\ndelta = 1e-6\n'
UNIFORM = '[relation]\nmetric = "uniform"\nB = 0.5\n'
PRESENCE = '[relation]\nmetric = "add_remove"\nB = 0.5\n'
INNER = '[relation]\nmetric = "product"\n[relation.attributes]\n' + "".join(
    f'{name} = {{metric = "uniform", B = 0.5}}\n' for name in ("epsilon", "metric")
)
CHANGE = '[relation]\nmetric = "after_noisy_total"\nB = 0.5\nchange = {metric = "uniform", B = 0.5}\n'
# B stands for the budget of a file that may have [problem] behind it.
FILES = {
    "metric": HEAD + UNIFORM,
    "presence": HEAD + PRESENCE,
    "metrics of attributes": HEAD + INNER,
    "metrics that are added": HEAD + '[relation]\nmetric = "sum"\nparts = [{metric = "uniform", B = 0.5}]\n',
    "each element": HEAD + '[relation]\nmetric = "per_element"\nBs = [1, 1, 1, inf]\n',
    "presence of each element": HEAD + '[relation]\nmetric = "add_remove"\nBs = [1, 1, 1, 2]\n',
    "change": HEAD + CHANGE,
    "invariant": HEAD + "[invariant]\ntotal = true\n[relation]\nB = 0.5\n",
    "metric and invariant": HEAD + "[invariant]\ntotal = true\n" + UNIFORM,
    "structured": TERMS + PRESENCE,
    "structured metrics": TERMS + INNER,
    "averages": AVERAGES + UNIFORM,
}


def named(text: str, name: str) -> str:
    return text.replace("B = ", f"{name} = ").replace("Bs = ", f"{name}s = ")


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize(("notion", "right", "wrong"), [("", "epsilon", "mu"), (ZCDP, "mu", "epsilon")])
def test_a_budget_has_the_name_of_its_notion_and_no_other(
    text: str, notion: str, right: str, wrong: str, tmp_path: Path
) -> None:
    good, bad = named(text, right) + notion, named(text, wrong) + notion
    VALIDATOR.validate(tomllib.loads(good))
    read_request(write(tmp_path, good))
    assert not VALIDATOR.is_valid(tomllib.loads(bad))
    words = (
        rf"\[relation\] {wrong}s? = .* rho = mu\^2 / 2.*{right}"
        if notion == ""
        else r"is no epsilon .* mus? = .* rho = mu\^2 / 2"
    )
    with pytest.raises(InvalidProblem, match=words):
        read_request(write(tmp_path, bad))


@pytest.mark.parametrize(
    ("notion", "right", "wrong"), [("zcdp", "mu", "epsilon"), ("pure", "epsilon", "mu"), ("", "mu", "epsilon")]
)
def test_a_budget_of_marginals_has_the_name_of_its_notion_and_no_other(
    notion: str, right: str, wrong: str, tmp_path: Path
) -> None:
    head = 'kind = "marginals"\n[domain]\nepsilon = 2\nmu = 2\n[workload]\nup_to = 1\n'
    text = head + PRESENCE + (f'[problem]\nnotion = "{notion}"\n' if notion else "")
    good, bad = named(text, right), named(text, wrong)
    both = good.replace("[relation]", f"[relation]\n{wrong} = 1")
    VALIDATOR.validate(tomllib.loads(good))
    read_request(write(tmp_path, good))
    for wrong_text, words in (
        (bad, rf"\[relation\] {wrong} = .*{right}"),
        (both, wrong),
        (text.replace("B = 0.5", ""), f"{right} is missing"),
    ):
        assert not VALIDATOR.is_valid(tomllib.loads(wrong_text)), wrong_text
        with pytest.raises(InvalidProblem, match=words):
            read_request(write(tmp_path, wrong_text))


def test_a_delta_goes_with_an_epsilon(tmp_path: Path) -> None:
    read_request(write(tmp_path, named(HEAD + UNIFORM, "epsilon") + DELTA))
    with pytest.raises(InvalidProblem, match="under the notion 'approximate' give epsilon"):
        read_request(write(tmp_path, named(HEAD + UNIFORM, "mu") + DELTA))


@pytest.mark.parametrize("kind", ['kind = "own_report"\n', 'kind = "selection"\n'])
def test_kinds_that_are_pure_take_no_mu(kind: str, tmp_path: Path) -> None:
    section = '[report]\nloss = "zero_one"\n' if "report" in kind else '[selection]\nscore = "linear"\n'
    head = kind + (HEAD if "selection" in kind else "[domain]\na = 2\n")
    read_request(write(tmp_path, head + named(UNIFORM, "epsilon") + section))
    wrong = head + named(UNIFORM, "mu") + section
    assert not VALIDATOR.is_valid(tomllib.loads(wrong))
    with pytest.raises(InvalidProblem, match=r"mu = 0\.5: is a budget of zCDP"):
        read_request(write(tmp_path, wrong))


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        ('metric = "uniform"', r"\[relation\] mu is missing"),
        ('metric = "uniform"\nmu = -1', r"\[relation\] mu: -1.0 is not a positive"),
        ('metric = "uniform"\nmu = "1"', r"\[relation\] mu = '1': should be a number"),
        ('metric = "uniform"\nmu = 1\nepsilon = 1', r"\[relation\] epsilon = 1: is no epsilon"),
        ('metric = "uniform"\nma = 1', r"it takes \['metric', 'mu'\]"),
        ('metric = "per_element"\nmus = [1, -1, 1, 1]', r"\[relation\] mus\[1\] = -1: is not a positive"),
        ('metric = "add_remove"\nmus = [1, 1, 1]', r"\[relation\] mus = .* 3 budgets for 4 elements"),
        ('metric = "add_remove"\nmu = 1\nmus = [1, 1, 1, 1]', "give mu for all elements or mus for each"),
    ],
)
def test_refusals_name_the_key_of_the_notion(relation: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=words):
        read_request(write(tmp_path, f"{HEAD}[relation]\n{relation}\n{ZCDP}"))


def test_explore_turns_the_budget_by_its_name(tmp_path: Path) -> None:
    for text in (FILES["metric"], FILES["invariant"]):
        varied, _ = varied_file(write(tmp_path, named(text, "mu") + ZCDP))
        assert varied.label == "budget (mu; rho = mu^2 / 2)" and varied.own["budget"] == "0.5"
        assert "mu = 0.25\n" in varied.text({**varied.own, "budget": "0.25"})


def test_what_init_asks_for_has_the_name_of_the_notion(tmp_path: Path) -> None:
    for answers in paths(("region: north, east", "region: north, east; sex: F, M")):
        text = decided_file(answers)
        assert ("\nepsilon = " not in text) if answers["promise"] == "zcdp" else ("\nmu = " not in text)
        if answers["strength"] == "1":
            read_request(write(tmp_path, text))


def test_the_promise_of_mu_is_half_its_square(tmp_path: Path) -> None:
    for text in (FILES["metric"], FILES["structured"]):
        request = read_request(write(tmp_path, named(text, "mu") + ZCDP))
        assert float(expense_of(request.make(Choices())).rho) == pytest.approx(0.125, rel=1e-6)
