"""Releases of every format that the second verifier reads: those that were made hold, and numbers that no draw gives do not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from designer import Domain, Problem, Workload, design, metrics
from designer.base.errors import Refusal
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.files.releases import save_release, verify_release
from designer.files.spec import load
from designer.relations.metrics.presence import Presence
from designer.tables import Count, Groups, Measure, PartitionSelection, Sum, TablePlan
from designer.verifier import standalone
from tests.verifier.altered import bytes_of

DATA = Path(__file__).parents[1] / "data"
LEFT = {"linked_projected": "projected", "mwem": "release of this format", "small_db": "release of this format"}
LEFT["test_pure"] = "release of this format"
# What no draw gives: where it stands in the release, and what stands there instead.
NO_DRAW: dict[str, tuple[str, list[Any], Any]] = {
    "a report that is none": ("channel_line", ["reports"], {"e0": 2, "e1": 3, "x": 1}),
    "reports that are no number": ("channel_line", ["reports", "e0"], -1),
    "a table below its statistics": ("lattice_l1", ["table", "e0"], -6),
    "answers of another table": ("lattice_l1", ["answers", "q0"], 2.0),
    "a table of floats": ("lattice_rows", ["table", "e0"], -2.0),
    "a candidate at another place": ("selection_linear", ["index"], 1),
    "a place behind the last": ("selection_linear", ["index"], 99),
    "a contrast that is no whole number": ("marginals_attributes", ["residuals", 0, "values"], 1.5),
    "a residual of other attributes": ("marginals_attributes", ["residuals", 1, "attributes"], ["nobody"]),
    "a product of another shape": ("structured_attributes", ["blocks", 0, "values"], [1]),
    "a sum of half a step": ("table_plan", ["answers", "records", "integers", 0], 0.5),
    "another spec": ("channel_line", ["fingerprint"], "0" * 64),
    "a guarantee that claims more": ("lattice_l1", ["guarantee", "relation"], "Nothing may be learnt."),
    "caveats that are left out": ("marginals_attributes", ["guarantee", "unprotected"], []),
}


def spec_and_release(name: str) -> tuple[bytes, dict[str, Any]]:
    return (DATA / "specs" / f"{name}.json").read_bytes(), json.loads((DATA / "releases" / f"{name}.json").read_text())


@pytest.mark.parametrize("path", sorted((DATA / "releases").glob("*.json")), ids=lambda path: path.stem)
def test_releases_hold_or_are_named_as_not_checked(path: Path) -> None:
    spec, release = spec_and_release(path.stem)
    verdict, sentences = standalone.verify(spec, bytes_of(release))
    if path.stem in LEFT:
        assert verdict == "cannot check" and LEFT[path.stem] in sentences[0]
    else:
        assert verdict == "holds" and any("no file shows that" in sentence for sentence in sentences), sentences


@pytest.mark.parametrize("name", NO_DRAW)
def test_numbers_that_no_draw_gives_are_refused_by_both(name: str, tmp_path: Path) -> None:
    file, place, value = NO_DRAW[name]
    spec, release = spec_and_release(file)
    other = copy.deepcopy(release)
    holder = other
    for key in place[:-1]:
        holder = holder[key]
    assert holder[place[-1]] != value or type(holder[place[-1]]) is not type(value)
    holder[place[-1]] = value
    other["seal"] = standalone.seal_of(other)
    verdict, sentences = standalone.verify(spec, bytes_of(other))
    assert verdict == "does not hold", sentences
    (tmp_path / "release.json").write_bytes(bytes_of(other))
    with pytest.raises(Refusal):
        verify_release(load(spec), tmp_path / "release.json")


@pytest.mark.parametrize("name", ["staircase_metric", "staircase_real"])
def test_staircases_release_what_is_on_their_coset(name: str, tmp_path: Path) -> None:
    spec = (DATA / "specs" / f"{name}.json").read_bytes()
    made: Any = load(spec)
    for _ in range(5):
        save_release(made, made.release([3] * made.workload.shape[1]), tmp_path / "release.json")
        verdict, sentences = standalone.verify(spec, (tmp_path / "release.json").read_bytes())
        assert verdict == "holds", sentences


def test_noise_off_its_coset_is_refused_by_both(tmp_path: Path) -> None:
    """Answers that follow from multiples that no counts and no noise add up to; two steps further they are reached again."""
    spec, release = spec_and_release("staircase_metric")
    made: Any = load(spec)
    found = []
    for steps in range(1, 5):
        other = copy.deepcopy(release)
        other["measured"]["multiples"][0] += steps
        name, value = next(iter(release["answers"].items()))
        other["answers"][name] = value + steps * float(made.grid.step(0))
        other["seal"] = standalone.seal_of(other)
        (tmp_path / "release.json").write_bytes(bytes_of(other))
        found.append(standalone.verify(spec, bytes_of(other))[0])
        try:
            verify_release(made, tmp_path / "release.json")
            first = "holds"
        except Refusal:
            first = "does not hold"
        assert found[-1] == first
    assert "holds" in found and "does not hold" in found


# Releases of entities ------------------------------------------------------------------------------------------------------

DOMAIN = Domain.of({"sex": ["F", "M"], "age": ["0", "1"]})
TABLES = MarginalWorkload.of(DOMAIN, [["sex", "age"]])
ASKED = Workload.marginals(DOMAIN, [["sex"], ["age"]])
FOUND = Groups(["sex"], selection=PartitionSelection(variance=40, threshold=60))
ENTITIES: dict[str, Any] = {
    "a plan": lambda: TablePlan(
        (
            Count("n", Groups(["sex"], [["F"], ["M"]]), variance=1),
            Sum("pay", Groups(), variance=1, measure=Measure("pay", upper=100)),
        )
    ),
    "a plan that finds groups": lambda: TablePlan((Count("n", FOUND, variance=1),)),
    "marginals, presence": lambda: design_marginals(TABLES, Presence(mu=0.5)),
    "marginals, attributes": lambda: design_marginals(TABLES, metrics.hamming(DOMAIN, [0.5, 0.3])),
    "queries, presence": lambda: design(Problem(ASKED, metrics.add_remove(4, 0.3)), "laplace").mechanism,
    "queries, hamming": lambda: design(Problem(ASKED, metrics.hamming(DOMAIN, [0.5, 0.3])), "laplace").mechanism,
}


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.nightly), 3])
@pytest.mark.parametrize("name", ENTITIES)
def test_releases_of_entities_are_proven_by_both(name: str, rows: int, tmp_path: Path) -> None:
    made = ENTITIES[name]()
    people = {"person": ["a  b"] * 5 + ["c"], "sex": ["F", "M"] * 3, "age": ["0", "1"] * 3, "pay": [1.0] * 6}
    pandas = pytest.importorskip("pandas")
    released = made.release(pandas.DataFrame(people).rename(columns={"person": " id "}), entity=" id ", rows_per_entity=rows)
    spec = bytes_of(plain(to_spec(made)))
    save_release(made, released, tmp_path / "release.json")
    document = json.loads((tmp_path / "release.json").read_text())
    assert standalone.verify(spec, bytes_of(document))[0] == "holds", standalone.verify(spec, bytes_of(document))
    verify_release(made, document)
    parameters = document["guarantee"]["parameters"]
    lies = [("rows_per_entity", rows + 1), ("budget_of_an_entity", 0.01), ("epsilon_of_rows_left_out", 1e-3), ("delta", 1e-30)]
    told = [(key, value) for key, value in lies if parameters.get(key)]
    changed = [{**document["guarantee"], "parameters": {**parameters, key: value}} for key, value in told]
    changed += [{**document["guarantee"], field: "One entity."} for field in ("unit", "relation", "mechanism", "notion")]
    for guarantee in changed:
        lie = {**document, "guarantee": guarantee}
        lie["seal"] = standalone.seal_of(lie)
        assert standalone.verify(spec, bytes_of(lie))[0] == "does not hold", guarantee
        with pytest.raises(Refusal):
            verify_release(made, lie)
