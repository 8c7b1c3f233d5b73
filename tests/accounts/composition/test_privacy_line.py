"""The line that says epsilon and delta: there for every format, and equal to conversions that know nothing of the program."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from designer import Domain, Problem, StructuredWorkload, Workload, design, metrics
from designer.accounts import expense_of
from designer.accounts.composition.cost_record import costliest
from designer.accounts.composition.privacy_in_words import asked_words, cost_words, privacy_line
from designer.certificate.frozen import save
from designer.cli import main
from designer.domains.products_plan import design_structured
from designer.relations.metrics.presence import Presence
from designer.tradeoff.costs import Cost
from designer.tradeoff.functions import Gaussian
from tests.oracles.spec_specimens import specimens

PURE = re.compile(r"Privacy: +epsilon (?P<epsilon>[\d.,e+-]+), delta (?P<delta>[\d.e-]+), at most, where .+\.")
CONCENTRATED = re.compile(
    r"Privacy: +(?P<rho>[\d.,e+-]+)-zCDP; as \(epsilon, delta\): epsilon (?P<epsilon>[\d.,]+) at delta 1e-6, at most, "
    r"where .+\."
)
UNBOUNDED = {"table plan": "reaches rho = 7.58e+23", "lattice chain": "Markov chain"}
DIGITS = 1.0011  # four digits, rounded up


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12, as a least value over a dense line of orders."""
    alpha = 1 + np.logspace(-4, 6, 400_001)
    return float(np.min(rho * alpha + np.log1p(-1 / alpha) + (-np.log(delta) - np.log(alpha)) / (alpha - 1)))


def epsilon_of_gaussian(mu: float, delta: float) -> float:
    """The analytic Gaussian mechanism (Balle and Wang 2018, Theorem 8), by bisection."""

    def phi(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        spent = phi(mu / 2 - middle / mu) - math.exp(middle) * phi(-mu / 2 - middle / mu)
        low, high = (low, middle) if spent <= delta else (middle, high)
    return high


@pytest.mark.parametrize("name", list(specimens()))
def test_every_format_has_the_line_and_its_numbers_agree_with_another_conversion(name: str) -> None:
    line = privacy_line(specimens()[name])
    if name in UNBOUNDED:
        assert line.startswith("Privacy:     no single number: ") and UNBOUNDED[name] in line
        return
    if (found := CONCENTRATED.fullmatch(line)) is None:
        assert PURE.fullmatch(line), line
        return
    rho, epsilon = float(found["rho"]), float(found["epsilon"])
    least, most = epsilon_of_gaussian(math.sqrt(2 * rho), 1e-6), epsilon_of_zcdp(rho, 1e-6)
    assert least <= epsilon * (1 + 1e-9) and epsilon <= most * DIGITS
    normal = any(isinstance(function, Gaussian) for function in costliest(specimens()[name])[0].functions or ())
    assert epsilon <= (least if normal else most) * (1.05 if normal else DIGITS) and (normal or most <= epsilon * (1 + 1e-9))


def test_the_largest_budget_is_the_epsilon_of_pure_promises() -> None:
    made = specimens()
    for name in ("laplace uniform", "laplace line", "laplace row_groups", "staircase metric", "mwem", "selection error"):
        found = PURE.fullmatch(privacy_line(made[name]))
        assert found is not None and found["delta"] == "0"
        guarantee = made[name].guarantee.parameters
        known = guarantee.get("largest_finite_budget")
        if name not in ("mwem",):
            assert isinstance(known, (int, float))
            assert known <= float(found["epsilon"]) * (1 + 1e-9) <= known * DIGITS
    found = PURE.fullmatch(privacy_line(made["laplace with delta"]))
    assert found is not None and (found["epsilon"], found["delta"]) == ("3", "0.01")


def test_a_budget_of_one_for_marginals_is_said_to_be_no_epsilon_of_one() -> None:
    assert cost_words(Cost.concentrated(Fraction(1, 2))) == "0.5-zCDP; as (epsilon, delta): epsilon 5.222 at delta 1e-6"
    assert asked_words(Presence(mu=1.0), "zcdp").endswith("at delta 1e-6, at most, where one record appears or disappears")
    assert epsilon_of_zcdp(0.5, 1e-6) == pytest.approx(5.222, abs=1e-3)


def test_an_entity_of_several_rows_has_a_line_of_its_own() -> None:
    made = specimens()["marginals presence"]
    for rows, words in ((1, "1 row"), (3, "3 rows")):
        found = CONCENTRATED.fullmatch(privacy_line(made, rows_per_entity=rows))
        rho = expense_of(made, rows_per_entity=rows).rho
        assert found is not None and rho is not None and float(found["rho"]) == pytest.approx(float(rho), rel=1e-3)
        assert rows**2 * 0.125 < rho < rows**2 * 0.1255
        assert f"one entity appears or disappears with its at most {words}" in found[0]


def test_what_has_no_budget_is_not_passed_over() -> None:
    domain = Domain.of({"sex": 2, "pay": 3})
    asked = StructuredWorkload.tables(domain, [["sex"], ["sex", "pay"]])
    made = design_structured(asked, metrics.hamming(domain, [0.5, math.inf]))
    assert privacy_line(made).endswith("what is listed as unprotected, or has no budget, has no such limit.")
    finite = design_structured(asked, metrics.hamming(domain, [0.5, 1.0]))
    assert "no such limit" not in privacy_line(finite)


def test_a_delta_besides_zcdp_is_added_and_named() -> None:
    words = cost_words(Cost.concentrated(Fraction(1, 2), Fraction(1, 10**6)))
    found = re.fullmatch(
        r"0\.5-zCDP but for events of chance 1e-6; as \(epsilon, delta\): epsilon ([\d.]+) at delta 2e-6", words
    )
    assert found is not None and float(found[1]) <= epsilon_of_zcdp(0.5, 1e-6) * DIGITS
    assert cost_words(Cost.concentrated(Fraction(1, 2), Fraction(1))).endswith("no epsilon at delta 1")


FILE = '[workload]\nbuilder = "identity"\nsize = 3\n[relation]\nmetric = "uniform"\nmu = 1\n[problem]\nnotion = "zcdp"\n'


def test_every_command_prints_the_same_line_of_what_is_asked_and_of_what_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, spec, counts, release = (tmp_path / name for name in ("problem.toml", "spec.json", "counts.npy", "release.json"))
    problem.write_text(FILE)
    np.save(counts, np.array([3, 5, 7]))
    made = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0), notion="zcdp")).mechanism
    save(made, spec)
    line = privacy_line(made)
    assert "0.5-zCDP; as (epsilon, delta): epsilon 4.887 at delta 1e-6" in line
    asked = line.replace("4.887", "5.222")  # of whatever noise keeps the zCDP that a problem asks for
    runs = (
        ["design", problem],
        ["compare", problem],
        ["show", spec],
        ["verify", spec],
        ["release", spec, "--histogram", counts, "-o", release],
        ["verify", spec, release],
    )
    for arguments in runs:
        assert main([str(argument) for argument in arguments]) == 0
        assert (asked if arguments[0] == "compare" else line) in capsys.readouterr().out.splitlines(), arguments
    assert main(["show", str(problem)]) == 0
    assert asked.removeprefix("Privacy:     ").rstrip(".") in capsys.readouterr().out
    assert main(["report", str(spec)]) == 0
    assert "0.5-zCDP; as (epsilon, delta): epsilon 4.887 at delta 1e-6" in capsys.readouterr().out.replace("\\", "")
    page = tmp_path / "page.html"
    assert main(["report", str(spec), "-o", str(page)]) == 0
    assert "0.5-zCDP; as (epsilon, delta): epsilon 4.887 at delta 1e-6" in re.sub("<[^>]*>", "", page.read_text())
    assert json.loads(release.read_text())
