"""A promise that protects nothing is refused in every format unless it is asked for by name, and then it says so loudly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    AdditiveMechanism,
    InvalidProblem,
    InvalidSpec,
    NotPrivate,
    Problem,
    Workload,
    design,
    invariants,
    load,
    metrics,
)
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.certificate.norms import weighted_l1
from designer.cli import main
from designer.domains.marginals import MarginalMechanism
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.files.releases import read_release, save_release, verify_release
from designer.mechanism.noise import Grid
from designer.problem.domain import Domain
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import LipschitzQueries
from tests.files.test_spec import VALIDATOR, read, resealed
from tests.oracles.spec_specimens import specimens

INF = math.inf
NOTHING = metrics.from_matrix([[0.0, INF], [INF, 0.0]])
ISLANDS = metrics.from_matrix([[0, 1, INF, INF], [1, 0, INF, INF], [INF, INF, 0, 1], [INF, INF, 1, 0]])
DOMAIN = Domain.of({"sex": ["F", "M"], "age": 3})


def additive() -> AdditiveMechanism:
    return design(Problem(Workload.identity(2), NOTHING, allow_vacuous=True), "laplace").mechanism


def silent() -> AdditiveMechanism:
    """A relation that protects, and a query that no protected change moves."""
    total = Problem(Workload([[1.0, 1.0, 1.0]], ["all"]), metrics.uniform(3, 1.0), allow_vacuous=True)
    return design(total, "laplace").mechanism


def tables() -> MarginalMechanism:
    asked = MarginalWorkload.of(DOMAIN, {("sex", "age"): 1.0})
    return design_marginals(asked, metrics.hamming(DOMAIN, [INF, INF]), allow_vacuous=True)


def alone() -> MarginalMechanism:
    """A table over an unprotected attribute alone."""
    asked = MarginalWorkload.of(DOMAIN, {("sex",): 1.0})
    return design_marginals(asked, metrics.hamming(DOMAIN, [INF, 1.0]), allow_vacuous=True)


ASKED_FOR: dict[str, Callable[[], FrozenMechanism]] = {"additive": additive, "silent": silent, "tables": tables, "alone": alone}


@pytest.mark.parametrize("name", ASKED_FOR)
def test_loading_a_vacuous_spec_needs_the_option_and_the_flag(name: str, tmp_path: Path) -> None:
    made = ASKED_FOR[name]()
    path = made.save(tmp_path / "s.json")
    spec = json.loads(path.read_text())
    assert spec["mechanism"]["vacuous"] is True
    VALIDATOR.validate(spec)
    with pytest.raises(NotPrivate, match=r"hides nothing.*allow_vacuous=True"):
        load(path)
    twin = load(path, allow_vacuous=True)
    assert twin == made and twin.guarantee == made.guarantee and twin.vacuous == made.vacuous is not None
    assert twin.save(tmp_path / "again.json").read_bytes() == path.read_bytes()
    for flag in (None, False, 1, "true"):
        core = {key: value for key, value in spec["mechanism"].items() if key != "vacuous"}
        unflagged = resealed({**spec, "mechanism": core if flag is None else {**core, "vacuous": flag}})
        path.write_text(json.dumps(unflagged))
        for allowed in (False, True):
            with pytest.raises(InvalidSpec, match="allow_vacuous" if flag is None else "mechanism"):
                load(path, allow_vacuous=allowed)


def test_a_release_of_a_vacuous_spec_is_looked_at_only_with_the_option(tmp_path: Path) -> None:
    made = additive()
    spec, path = made.save(tmp_path / "s.json"), save_release(made, made.release([1, 2]), tmp_path / "r.json")
    for look in (verify_release, read_release):
        with pytest.raises(NotPrivate, match=r"hides nothing.*allow_vacuous=True"):
            look(spec, path)
        assert look(spec, path, allow_vacuous=True) is not None


@pytest.mark.parametrize("name", ASKED_FOR)
def test_construction_needs_the_option(name: str) -> None:
    made: Any = ASKED_FOR[name]()
    with pytest.raises(InvalidProblem, match=r"hides nothing.*allow_vacuous=True"):
        replace(made, allow_vacuous=False)


@pytest.mark.parametrize("name", ASKED_FOR)
def test_a_vacuous_promise_is_said_loudly(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ASKED_FOR[name]()
    spec, counts = made.save(tmp_path / "s.json"), tmp_path / "counts.csv"
    records = isinstance(made, MarginalMechanism)
    size = 2 if name == "additive" else 3
    counts.write_text("sex,age\nF,0\nM,2\n" if records else "count\n" + "7\n" * size)
    given = ["--table" if records else "--histogram", str(counts)]
    for command in (["verify"], ["report"], ["show"], ["release", *given]):
        arguments = [command[0], str(spec), *command[1:]]
        assert main(arguments) == 4
        refused = capsys.readouterr()
        assert "--allow-vacuous" in refused.err and "hides nothing" in refused.err and not refused.out
        if command[0] == "release" and records:
            pytest.importorskip("duckdb")
        assert main([*arguments, "--allow-vacuous"]) == 0
        said = capsys.readouterr().out
        assert "WARNING: this hides nothing" in said.splitlines()[0], command
        assert not any(claim in said for claim in (": holds.", "Holds.", "Certificate: holds"))
    assert made.guarantee.unprotected[0].startswith("WARNING: this hides nothing")
    assert main(["verify", str(spec), "--allow-vacuous", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vacuous"] == made.vacuous


def test_a_flag_on_a_spec_that_protects_is_refused(tmp_path: Path) -> None:
    spec = to_spec(design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace").mechanism)
    spec["mechanism"]["vacuous"] = True
    with pytest.raises(InvalidSpec):
        read(tmp_path, resealed(spec))


def test_a_hand_made_mechanism_without_any_noise_is_refused() -> None:
    raw = weighted_l1([INF, INF])
    with pytest.raises(InvalidProblem, match="hides nothing"):
        AdditiveMechanism("custom", Workload.identity(2), NOTHING, raw, Grid((0, 0)))
    with pytest.raises(InvalidProblem, match="hides nothing"):
        AdditiveMechanism("custom", Workload.identity(2), NOTHING, weighted_l1([1.0, 1.0]), Grid((0, 0)))
    # Noise in a measurement that no answer reads, beside the answer that everybody wants.
    measured, read_out = np.array([[1.0, 0, 0, 0], [1.0, 1.0, 0, 0]]), np.array([[0.0, 1.0]])
    with pytest.raises(InvalidProblem, match="hides nothing"):
        AdditiveMechanism(
            "custom",
            Workload([[1.0, 1.0, 0, 0]]),
            ISLANDS,
            weighted_l1([1.0, INF]),
            Grid((-20, 0)),
            measured=measured,
            reconstruction=read_out,
        )


@pytest.mark.parametrize("name", ["mwem", "small-db", "selection closeness", "lattice l1"])
def test_formats_that_never_publish_exact_answers_refuse_a_vacuous_relation_outright(name: str, tmp_path: Path) -> None:
    spec = json.loads(json.dumps(to_spec(specimens()[name])))
    core = spec["mechanism"]
    size = len((core.get("queries") or core)["workload"]["elements"]) if "score" not in core else 3
    apart = {"kind": "matrix", "budgets": [[0.0 if i == j else "inf" for j in range(size)] for i in range(size)]}
    apart = metrics.from_matrix(np.where(np.eye(size) == 1, 0, INF)).to_spec()
    if name == "lattice l1":
        core["relation"]["adjacency"] = 0
    elif "queries" in core:
        core["queries"]["relation"] = apart
    else:
        core["relation"] = apart
    text = json.loads(json.dumps(spec, default=lambda array: array.tolist()).replace("Infinity", '"inf"'))
    path = tmp_path / "s.json"
    path.write_text(json.dumps(resealed(text)))
    for allowed in (False, True):
        with pytest.raises(InvalidSpec, match=r"protect|adjacency"):
            load(path, allow_vacuous=allowed)


def test_exact_answers_beside_noisy_ones_are_named_loudly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = design(Problem(Workload.prefix(4), ISLANDS), "laplace").mechanism
    assert made.exact == ("<=e1", "<=e3") and made.vacuous is None
    spec, counts = made.save(tmp_path / "s.json"), tmp_path / "counts.csv"
    counts.write_text("count\n" + "7\n" * 4)
    for command in (["verify"], ["report"], ["show"], ["release", "--histogram", str(counts)]):
        assert main([command[0], str(spec), *command[1:]]) == 0
        assert "EXACT, without any noise: <=e1, <=e3." in capsys.readouterr().out.replace("\\", ""), command


def test_exact_answers_of_a_reconstruction_are_named() -> None:
    """A basis of the moving part is measured beside public rows: no query is a measurement,
    and one is read off the public rows alone."""
    asked = Workload([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]], ["one", "two", "both"])
    made = design(Problem(asked, ISLANDS), "k_norm").mechanism
    assert made.measured is not None and made.exact == ("both",)


def test_exact_answers_beside_integer_noise_are_named() -> None:
    problem = Problem(Workload([[1.0, 0, 0], [1.0, 1, 1]], ["one", "all"]), invariants.total(3).protect(0.5, 1))
    made = design(problem, "lattice_laplace").mechanism
    assert made.exact == ("all",) and made.vacuous is None


def test_exact_measurements_of_mwem_are_named() -> None:
    made = specimens()["mwem islands"]
    assert made.exact == () and specimens()["mwem"].exact == ()
    asked = Workload([[0.0, 1.0, 5.0], [2.0, 2.0, 9.0]], ["moved", "kept"])
    apart = metrics.from_matrix([[0, 0.5, INF], [0.5, 0, INF], [INF, INF, 0]])
    half = Fraction(1, 2)
    assert MWEM(LipschitzQueries.on_grid(asked, apart, asked.dense(), -3), 6, ((half, half),)).exact == ("kept",)


def test_exact_tables_are_named() -> None:
    asked = MarginalWorkload.of(DOMAIN, {("sex",): 1.0, ("sex", "age"): 1.0})
    made = design_marginals(asked, metrics.hamming(DOMAIN, [INF, 1.0]))
    assert made.exact == ("sex",) and made.vacuous is None


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("table plan", ("queries", 0, "variance"), "0"),
        ("table plan", ("queries", 0, "variance"), "inf"),
        ("test pure", ("tradeoff", "epsilon"), "inf"),
        ("test pure", ("tradeoff", "delta"), "1"),
    ],
)
def test_no_noise_cannot_be_written_in_table_plans_and_tests(
    name: str, path: tuple[Any, ...], value: str, tmp_path: Path
) -> None:
    spec = json.loads(json.dumps(to_spec(specimens()[name])))
    part = spec["mechanism"]
    for key in path[:-1]:
        part = part[key]
    assert path[-1] in part
    part[path[-1]] = value
    with pytest.raises((InvalidSpec, NotPrivate)):
        read(tmp_path, resealed(spec))
