"""Entries of the deployments registry: its form, what is known, what is marked as unknown, and names that mean harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Domain, InvalidProblem, MarginalWorkload, Mechanism, Problem, Workload, design, invariants, metrics
from designer.accounts import Ledger, Total, expense_of
from designer.base.schema import bundle
from designer.certificate.guarantee import About
from designer.domains.marginals_plan import design_marginals
from designer.exchange.registry import ENTRY, NO_DATE, TO_FILL_IN, Unknown, known_data, registry_entry, yaml_text
from designer.files.releases import release_document
from tests.oracles.spec_specimens import specimens

yaml: Any = pytest.importorskip("yaml", reason="PyYAML reads what is written here")
SCHEMA, INF = bundle(ENTRY), float("inf")
HOSTILE = ["no", "- a: b", "x\n# y: |", 'q"\\n{{', "&anchor *alias !tag", "1e3", "2026-01-31", "\u0085\u2028\U0001f600$x$`"]
ABOUT = About(
    title="Commuters: *by* county #1",
    data="A survey",
    period="2025",
    publisher="Office of <b>Statistics</b>",
    contact="dp@example.org",
    record="one person",
)


def made(relation: Any = None, family: str = "laplace", notion: str = "pure", **options: Any) -> Mechanism:
    asked = Workload([[1, 1, 0], [0, 0, 1]], queries=["n", "s"], elements=HOSTILE[:3])
    problem = Problem(asked, relation or metrics.add_remove(3, 1.0), notion=notion, **options)
    return design(problem, family).mechanism


def read(entry: Any) -> dict[str, Any]:
    """The entry as a reader has it, in the registry's form."""
    data = yaml.safe_load(entry.to_yaml())
    assert data == entry.to_dict()
    jsonschema.validate(data, SCHEMA)
    found: dict[str, Any] = data["deployment"]
    return found


def test_an_entry_says_what_the_spec_its_words_and_a_release_tell() -> None:
    mechanism = made().described(ABOUT)
    release = release_document(mechanism, mechanism.release([5, 6, 7]))
    entry = registry_entry(mechanism, release=release)
    deployment = read(entry)
    basic, loss = deployment["basic"], deployment["privacy_loss"]
    assert basic["name"] == "Commuters: \\*by\\* county #1" and basic["publication_date"] == release["time"][:10]
    assert "Survey" not in basic["description"] and "A survey" in basic["description"] and "2025" in basic["description"]
    assert basic["data_curators"] == ["Office of \\<b>Statistics\\</b>"]
    assert deployment["dp_variant"]["variant_name"] == "Pure DP" and loss["privacy_parameters"] == {"epsilon": 1.0}
    assert "one person" in loss["privacy_unit"] and mechanism.fingerprint in deployment["implementation"]["mechanisms"]
    assert deployment["deployment_model"] == {
        "model_name": "Central",
        "release_type": "One release",
        "access_type": "Non-interactive",
    }
    paths = [path for path, _ in entry.unknown]
    assert {"deployment.basic.intended_use", "deployment.basic.data_product_region"} <= set(paths)
    assert "deployment.basic.name" not in paths and "deployment.basic.publication_date" not in paths


def test_what_nobody_told_is_marked_and_counted() -> None:
    entry = registry_entry(made())
    basic = read(entry)["basic"]
    assert basic["name"] == basic["intended_use"] == TO_FILL_IN and basic["publication_date"] == NO_DATE
    text = entry.to_yaml()
    assert text.count("# UNKNOWN: ") == len(entry.unknown) >= 10
    marked = text.splitlines()
    for path, why in entry.unknown:
        place = next(k for k, line in enumerate(marked) if line.strip() == f"# UNKNOWN: {why}")
        assert marked[place + 1].strip(" #").startswith(path.rpartition(".")[2] + ":")


@pytest.mark.parametrize(
    ("mechanism", "variant", "parameters"),
    [
        (made(metrics.uniform(3, 0.5)), "Pure DP", {"epsilon": 0.5}),
        (made(family="gaussian", notion="zcdp"), "Zero-concentrated DP", {"rho": 0.5}),
        (
            made(family="gaussian", notion="approximate", delta=1e-6),
            "Approximate DP",
            {"epsilon": 1.0, "delta": 1e-6},
        ),
        (made(metrics.from_matrix([[0, INF, 1], [INF, 0, INF], [1, INF, 0]])), "Custom", {"epsilon": 1.0}),
    ],
    ids=["pure", "zcdp", "approximate", "custom"],
)
def test_the_variant_and_its_numbers_are_those_of_the_expense(mechanism: Any, variant: str, parameters: Any) -> None:
    deployment = read(registry_entry(mechanism))
    assert deployment["dp_variant"]["variant_name"] == variant
    told = deployment["privacy_loss"]["privacy_parameters"]
    expense = expense_of(mechanism)
    if variant == "Zero-concentrated DP":
        assert told == {"rho": pytest.approx(parameters["rho"])} and told["rho"] >= expense.rho
    elif variant == "Approximate DP":
        assert told == {"epsilon": 1.0, "delta": pytest.approx(1e-6)} and told["delta"] >= expense.delta
    else:
        assert told == parameters and told["epsilon"] >= expense.epsilon


def test_published_statistics_make_a_variant_of_its_own() -> None:
    kept = design(
        Problem(Workload.identity(4), invariants.margins((2, 2)).protect(0.5, adjacency=2)), "lattice_laplace"
    ).mechanism
    deployment = read(registry_entry(kept))
    assert deployment["dp_variant"]["variant_name"] == "Custom"
    assert "published" in deployment["dp_variant"]["unprotected_quantities"].lower()


def test_a_ledger_tells_how_often_and_what_it_all_costs(tmp_path: Path) -> None:
    mechanism = made()
    ledger = Ledger.create(tmp_path / "agency.ledger")
    people = ledger.state("people", Total(epsilon=3), publishes=mechanism.guarantee.unprotected)
    for _ in range(2):
        people.release(mechanism, [1, 2, 3])
    other = made(metrics.add_remove(3, 0.25))
    people.release(other, [1, 2, 3])
    deployment = read(registry_entry(mechanism, balance=people.balance()))
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0}
    assert deployment["deployment_model"]["release_type"] == "Many releases"
    assert "2.25" in deployment["accounting"]["composition"] and "epsilon 3" in deployment["accounting"]["composition"]
    with pytest.raises(InvalidProblem, match="no release of this spec"):
        registry_entry(made(metrics.add_remove(3, 0.125)), balance=people.balance())


def test_every_kind_of_spec_has_an_entry() -> None:
    for name, specimen in specimens().items():
        deployment = read(registry_entry(specimen))
        assert deployment["privacy_loss"]["privacy_unit"], name
    domain = Domain.of({"age": 3, "sex": 2})
    plan = design_marginals(MarginalWorkload.up_to(domain, 1), metrics.hamming(domain, [1, 1]))
    assert "rho" in read(registry_entry(plan))["privacy_loss"]["privacy_parameters"]


def test_files_of_other_mechanisms_are_refused() -> None:
    release = release_document(made(), made().release([5, 6, 7]))
    with pytest.raises(InvalidProblem, match="another spec"):
        registry_entry(made(metrics.add_remove(3, 0.5)), release=release)
    unspecified: Any = "spec.json"
    with pytest.raises(InvalidProblem, match="no frozen object"):
        registry_entry(unspecified)


@settings(max_examples=50)
@given(st.text() | st.sampled_from(HOSTILE) | st.integers() | st.floats(0, 1e300))
def test_whatever_a_value_holds_comes_back(value: Any) -> None:
    data = {"a": value, "b": {"c": [str(value), "x"], "d": f"first\n{value}"}, "e": Unknown(f"why {value}", str(value))}
    assert yaml.safe_load(yaml_text(data)) == known_data(data)


def test_text_of_this_form_has_no_other_values() -> None:
    with pytest.raises(InvalidProblem, match="no text and no finite number"):
        yaml_text({"a": float("nan")})
    with pytest.raises(InvalidProblem, match="no text and no finite number"):
        yaml_text({"a": True})
    lines = {"a": " first\nsecond", "b": "first \n second", "c": "first\n\nthird\n", "d": "- x\n# y: |\n---"}
    assert yaml.safe_load(yaml_text(lines)) == lines and "d: |-" in yaml_text(lines)
    assert yaml.safe_load(yaml_text({"a": 1e-10, "b": 3, "c": 2.0})) == {"a": 1e-10, "b": 3, "c": 2.0}
