"""Plans of tables as specs, and what is refused: altered files, weaker noise, malformed queries."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import InvalidProblem, InvalidSpec, NotPrivate
from designer.base.json_text import canonical
from designer.base.schema import bundle
from designer.certificate.frozen import page_lines, seal, summary_lines, to_spec
from designer.files import spec
from designer.tables import Average, Condition, Count, CountDistinct, Groups, Measure, Sum, TablePlan, UnitSplitting
from designer.tables.plan import PARAMETERS
from tests.oracles.records_tables import firms, on_duckdb
from tests.oracles.table_plans import EMP, FOUND, PAY, STATES, full_plan


def test_a_plan_is_saved_loaded_and_the_same(tmp_path: Path) -> None:
    plan = replace(full_plan(), unlisted="drop")
    loaded = spec.load(plan.save(tmp_path / "plan.json"))
    assert loaded == plan and hash(loaded) == hash(plan)
    assert loaded.core() == plan.core() and loaded.privacy == plan.privacy
    record = firms(9, seed=8)[3]
    assert loaded.loss(record) == plan.loss(record)
    assert pickle.loads(pickle.dumps(plan)) == plan == copy.deepcopy(plan)
    assert loaded.release(on_duckdb(firms(20, seed=8))).fingerprint == plan.fingerprint


def weaker(core: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Edits that weaken the plan and leave its claim as it was."""
    edits = []
    for i, query in enumerate(core["queries"]):
        for key in ("variance", "count_variance"):
            if key in query:
                changed = copy.deepcopy(core)
                old = query[key]
                changed["queries"][i][key] = "1/2" if isinstance(old, str) else ["1/2", *old[1:]]
                edits.append((f"{query['name']}.{key}", changed))
        if "rho" in query:
            changed = copy.deepcopy(core)
            changed["queries"][i]["rate"] *= 1.01
            edits.append((f"{query['name']}.rate", changed))
    changed = copy.deepcopy(core)
    changed["levels"][-1]["selection"]["variance"] = "1/100"
    return [*edits, ("selection.variance", changed)]


def test_weaker_noise_under_the_same_rate_is_not_private() -> None:
    for _, core in weaker(json.loads(canonical(full_plan().core()))):
        with pytest.raises(NotPrivate, match=r"spends its budget|one split row costs"):
            TablePlan.from_core(core)


def test_a_spec_with_weaker_noise_and_the_same_claim_is_refused() -> None:
    """Fingerprint and seal forged, too: the guarantee and the certificate are recomputed."""
    plan = TablePlan(full_plan().queries)
    written = to_spec(plan)
    edits = [(name, core) for name, core in weaker(json.loads(canonical(plan.core()))) if name != "median.rate"]
    assert len(edits) == 10
    for _, core in edits:
        forged = {**written, "mechanism": core, "fingerprint": TablePlan.from_core(core).fingerprint}
        forged["seal"] = seal(forged)
        with pytest.raises(InvalidSpec, match="guarantee: the file claims something else"):
            spec.from_spec(forged)


@pytest.mark.parametrize(
    "path", ["queries", "levels", "splitting", "rho", "queries.0", "levels.0", "queries.3.measure", "levels.5.selection"]
)
@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [{}], -1.5, "nan"])
def test_specs_of_any_other_shape_are_refused(path: str, value: Any) -> None:
    plan = full_plan()
    written = json.loads(canonical(to_spec(plan)))
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place: Any = written["mechanism"]
    for part in way:
        place = place[part]
    place[last] = value
    written["seal"] = seal(written)
    with pytest.raises((InvalidSpec, NotPrivate)):
        spec.from_spec(written)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TablePlan(()), "give 1 to 1000 queries"),
        (lambda: TablePlan((Count("n", STATES, variance=1), Count("n", STATES, variance=2))), "two are named 'n'"),
        (
            lambda: TablePlan((Average("a", STATES, (), EMP, 1, 1), Count("a.count", STATES, variance=1))),
            "two are named 'a.count'",
        ),
        (lambda: TablePlan((Count("n", STATES, variance=1),), rho=1), "give the splitting"),
        (
            lambda: TablePlan((Sum("s", STATES, variance=1, measure=PAY),), UnitSplitting([EMP], [5])),
            "has no threshold for 'pay'",
        ),
        (
            lambda: TablePlan(
                (Sum("a", STATES, variance=1, measure=EMP), Sum("b", STATES, variance=1, measure=Measure("emp")))
            ),
            "in two ways",
        ),
        (lambda: TablePlan((Sum("a", FOUND, variance=1, measure=EMP),), UnitSplitting([EMP, PAY], [5, 5])), "splits otherwise"),
        (lambda: Count("n", STATES), "variance: must lie above 0"),
        (lambda: Count("n", STATES, variance=(1, 2)), "2 for 3 public keys"),
        (lambda: Count("n", FOUND, variance=(1, 2)), "2 for 0 public keys"),
        (lambda: Count("n", STATES, variance=2**111), "at most 2\\^110"),
        (lambda: Count("", STATES, variance=1), "is no name"),
        (lambda: Count("n", "state", variance=1), "is not a Groups"),
        (lambda: CountDistinct("n", STATES, variance=1), "of: missing"),
        (lambda: Sum("n", STATES, variance=1), "measure: missing"),
        (lambda: Groups(["state"]), "keys: missing"),
        (lambda: Groups(["state"], [["DE"], ["DE"]]), "one of them twice"),
        (lambda: Groups(["state"], ["DE"]), "not a row of 1 labels"),
        (lambda: Groups(["state"], [[5j]]), "5j is no text, whole number, boolean or date"),
        (lambda: Groups(["state"], [["DE"]], FOUND.selection), "give one of the two"),
        (lambda: Condition("emp", "<", "20"), "does not fit"),
        (lambda: Condition("emp", "~", 20), "give a column and one of"),
        (lambda: Condition("emp", "in", (1, "a")), "does not fit"),
        (lambda: Condition("emp", "<", 2**53), "beyond 2\\^53"),
    ],
)
def test_refusals_of_plans(build: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        build()


def test_plans_need_no_engine(tmp_path: Path) -> None:
    code = """
import sys
for name in ("ibis", "duckdb", "pyspark", "pandas", "pyarrow", "cvxpy"):
    sys.modules[name] = None
from designer.files import spec
from designer.tables import Count, Groups, TablePlan
plan = TablePlan((Count("n", Groups(["state"], [["DE"]]), variance=2),))
print(spec.load(plan.save(sys.argv[1])).loss({"state": "DE"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s.json")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1/4"


def test_the_words_of_a_plan_say_its_fingerprint_once_and_hold_no_values_of_python() -> None:
    plan = full_plan()
    summary, page = "\n".join(summary_lines(plan)), "\n".join(page_lines(plan))
    assert summary.count(plan.fingerprint) == 1
    certificate = page.split("## Privacy certificate")[1]
    assert certificate.splitlines()[2] == "- Holds" and len(certificate.splitlines()) == 3 + len(plan.privacy.lines())
    assert not any(word in certificate for word in ("True", "None", "['", "terms:"))


def test_what_the_schema_asks_of_the_parameters_of_a_plan() -> None:
    """The number of its queries, and a delta; the loss of a split row is there only where one is stated."""
    form = jsonschema.Draft202012Validator(bundle(PARAMETERS))
    plain = to_spec(TablePlan([Count("all", Groups(), variance=4)]))["guarantee"]["parameters"]
    split = to_spec(full_plan())["guarantee"]["parameters"]
    assert form.is_valid(plain) and form.is_valid(split) and plain == {"queries": 1, "delta": 0}
    for wrong in ({"delta": 0}, {"queries": 1}, {"queries": 0, "delta": 0}, {**plain, "delta": 2}, {**plain, "more": 1}):
        assert not form.is_valid(wrong), wrong
