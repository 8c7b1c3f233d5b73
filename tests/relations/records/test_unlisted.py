"""Records with values that are not listed: one rule for all kinds, what it does to the counts, to the promise and to the words;
and entities of several rows, whatever the relation. Counts are compared with a loop over the records."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    Domain,
    InvalidProblem,
    InvalidSpec,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredWorkload,
    Workload,
    design,
    load,
    metrics,
    save_release,
    verify_release,
)
from designer.accounts.composition.cost_record import expense_of
from designer.certificate.frozen import FrozenMechanism, seal, to_spec
from designer.cli import main
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.problem.histogram import OTHERS, RULES, WORDS, Keys
from designer.relations.records.counting import tabulated
from designer.relations.records.row_unit import RowUnit
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.tables import Condition, Count, Groups, Measure, PartitionSelection, Sum, TablePlan

ibis = pytest.importorskip("ibis")
pytest.importorskip("pyarrow")

SEXES, PLACES = ("F", "M", OTHERS), ("DE", "RI", OTHERS)
RAW = ("F", "M", "F ", "f", None)
ROWS = [
    *[("F", "DE")] * 7,
    *[("M", "RI")] * 5,
    *[("F ", "DE")] * 3,
    *[("m", "99+")] * 2,
    *[("M", None)] * 4,
    *[(None, "RI")] * 6,
]
MANY = 200.0  # a budget beside which noise is 0 but for a probability below 1e-20


def domain(rule: Any) -> Domain:
    return Domain.of({"sex": SEXES, "place": PLACES}, rule)


def linear(rule: Any, relation: Any = None) -> FrozenMechanism:
    asked = Workload.identity(domain(rule))
    return design(Problem(asked, relation or metrics.add_remove(9, MANY)), "laplace").mechanism


def marginals(rule: Any) -> FrozenMechanism:
    return design_marginals(MarginalWorkload.of(domain(rule), [["sex", "place"]]), Presence(mu=MANY))


def structured(rule: Any) -> FrozenMechanism:
    asked = StructuredWorkload.tables(domain(rule), [["sex", "place"]])
    return design_structured(asked, Presence(epsilon=MANY), "laplace")


def plan(rule: Any) -> FrozenMechanism:
    cells = itertools.product(SEXES[:2], PLACES[:2])
    return TablePlan((Count("n", Groups(["sex", "place"], list(cells)), variance="1/1000"),), unlisted=rule)


KINDS: dict[str, Callable[[Any], FrozenMechanism]] = {
    "linear": linear,
    "marginals": marginals,
    "structured": structured,
    "plan": plan,
}


def frames(rows: list[tuple[Any, ...]], names: tuple[str, ...] = ("sex", "place")) -> dict[str, Any]:
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    made: dict[str, Any] = {"ibis": ibis.memtable(columns), "mapping": columns}
    for library in ("pandas", "polars"):
        made[library] = pytest.importorskip(library).DataFrame(columns)
    return made


def counted(rule: str, rows: list[tuple[Any, ...]]) -> list[int]:
    """By a loop: what each record counts as."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        cell = tuple(v if v in listed else OTHERS for v, listed in zip(row, (SEXES, PLACES), strict=True))
        if rule == "count as others" or cell == row:
            found[cell] += 1
    return [found[cell] for cell in itertools.product(SEXES, PLACES)]


def answers(released: Any) -> list[int]:
    (table,) = released.answer_tables()
    found = dict(zip(table.keys, table.answers.tolist(), strict=True))
    return [round(found.get(cell, 0.0)) for cell in itertools.product(SEXES, PLACES)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_one_rule_for_every_kind_and_every_form_of_records(kind: str, rule: str) -> None:
    if kind == "plan" and rule == "count as others":
        pytest.skip("a plan counts what is below a listed label apart: see the test of its groups")
    made = KINDS[kind](rule)
    for name, table in frames(ROWS).items():
        if kind == "plan" and name == "mapping":
            continue
        if rule == "refuse":
            with pytest.raises(InvalidProblem, match="dp-designer check") as refusal:
                made.release(table)
            assert not any(text in str(refusal.value) for text in ("F ", "'m'", "99+", "DE"))
            continue
        released = made.release(table)
        assert answers(released) == counted(rule, ROWS), name
        assert WORDS[rule] in released.guarantee.unit and released.row == RowUnit()  # type: ignore[attr-defined]
    clean = [row for row in ROWS if row[0] in SEXES and row[1] in PLACES]
    released = made.release(frames(clean)["pandas"])
    assert answers(released) == counted(rule, clean) and WORDS[rule] in released.guarantee.unit


@pytest.mark.parametrize("kind", ["linear", "marginals", "plan"])
def test_files_are_counted_by_the_same_rule(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["sex", "place"])
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";")
    frame.to_parquet(tmp_path / "a.parquet")
    for rule in ("refuse", "drop"):
        spec = KINDS[kind](rule).save(tmp_path / "spec.json")
        for file, marks in (("a.csv", ["--delimiter", ";"]), ("a.parquet", [])):
            code = main(
                ["release", str(spec), "--table", str(tmp_path / file), *marks, "-o", str(tmp_path / "out.json"), "--force"]
            )
            said = capsys.readouterr()
            assert code == (2 if rule == "refuse" else 0), said.err
            if rule == "drop":
                assert WORDS[rule] in json.loads((tmp_path / "out.json").read_text())["guarantee"]["unit"]
                assert verify_release(spec, tmp_path / "out.json").fingerprint == load(spec).fingerprint
    assert main(["release", str(spec), "--table", str(tmp_path / "a.csv")]) == 2
    assert "--delimiter ';'" in capsys.readouterr().err


def test_a_choice_and_counts_by_names_of_elements_follow_the_rule() -> None:
    """Combinations that no element has count as that of all others."""
    keys = Keys(("sex", "place"), (("F", "DE"), ("M", "RI"), (OTHERS, OTHERS)), "count as others")
    asked = Workload(np.eye(3), keys.names, None, keys)
    held = tabulated(frames(ROWS)["pandas"], asked.universe)
    assert held.tolist() == [7, 5, 15]
    chosen = best_selection(Linear(asked), metrics.uniform(3, MANY))
    released = chosen.release(frames(ROWS)["ibis"])
    assert released.choice == f"{OTHERS}, {OTHERS}" and WORDS["count as others"] in released.guarantee.unit


def test_groups_of_all_others_take_every_record_below_a_listed_label() -> None:
    groups = Groups(["sex", "place"], [["F", "DE"], ["M", "RI"]])
    with pytest.raises(InvalidProblem, match="below every listed label"):
        TablePlan((Count("n", groups, variance=1),), unlisted="count as others")
    with pytest.raises(InvalidProblem, match="a selection lists no groups"):
        found = Groups(["sex"], selection=PartitionSelection.design(1, 1e-6))
        TablePlan((Count("n", found, variance=1),), unlisted="count as others")
    made = TablePlan((Count("n", groups.completed(), variance="1/1000"),), unlisted="count as others")
    released = made.release(frames(ROWS)["pandas"])
    found = {key: round(released["n"][key]) for key in released["n"].keys}
    assert found == {("F", "DE"): 7, ("M", "RI"): 5, ("F", OTHERS): 0, ("M", OTHERS): 4, (OTHERS, OTHERS): 11}


def test_a_plan_looks_at_the_records_that_its_queries_ask_about() -> None:
    """A record that meets no condition of a query is none of its; a missing label is none that is listed, found groups too."""
    groups = Groups(["place"], [["DE"]])
    asked = TablePlan((Sum("x", groups, [Condition("sex", "==", "F")], 1, Measure("x")),))
    rows = [("F", "DE", 1), ("M", "RI", 2), (None, None, 3)]
    assert "counts as 0" in asked.release(frames(rows, ("sex", "place", "x"))["pandas"]).guarantee.unit
    with pytest.raises(InvalidProblem, match="none of its listed groups"):
        asked.release(frames([*rows, ("F", "RI", 1)], ("sex", "place", "x"))["pandas"])
    selected = TablePlan((Count("n", Groups(["sex"], selection=PartitionSelection.design(1, 1e-6)), variance=1),))
    selected.release(frames(rows[:2], ("sex", "place", "x"))["pandas"])
    with pytest.raises(InvalidProblem, match="lacks a label"):
        selected.release(frames(rows, ("sex", "place", "x"))["pandas"])


def small(rule: Any, relation: Any) -> Any:
    keys = Keys(("sex",), (("F",), ("M",), (OTHERS,)), rule)
    return design(Problem(Workload(np.eye(3), None, None, keys), relation), "laplace").mechanism


def test_a_record_that_is_left_out_costs_what_an_absent_one_does() -> None:
    """All data of up to two records, one of which appears: whatever it holds, listed or not, the loss is within its budget."""
    made = small("drop", metrics.add_remove(3, [0.5, 0.25, 0.75]))
    budgets = {"F": 0.5, "M": 0.25, "F ": 0, "f": 0, None: 0}
    for others in itertools.chain([()], itertools.product(RAW, repeat=1), itertools.product(RAW, repeat=2)):
        for raw in RAW:
            both = [tabulated({"sex": list(rows)}, made.universe, fixed=False) for rows in ((*others, raw), others)]
            assert made.privacy_loss(both[0] - both[1]) <= budgets[raw] * (1 + 1e-9)


def test_a_record_that_counts_as_others_is_protected_as_these_are() -> None:
    """All changes of one record: the budget is that between what the two values count as, 0 between two that are not listed."""
    relation = metrics.line([0, 1, 5], period=1, epsilon=0.25)
    made = small("count as others", relation)
    place = {"F": 0, "M": 1, "F ": 2, "f": 2, None: 2}
    for first, second, other in itertools.product(RAW, repeat=3):
        both = [tabulated({"sex": [own, other]}, made.universe) for own in (first, second)]
        allowed = relation.exact_budget(place[first], place[second])
        assert made.privacy_loss(both[0] - both[1]) <= float(allowed) * (1 + 1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Problem(Workload.identity(domain("drop")), metrics.uniform(9, 1.0)),
        lambda: design_marginals(MarginalWorkload.of(domain("drop"), [["sex"]]), metrics.hamming(domain("drop"), [1.0, 1.0])),
        lambda: design_structured(
            StructuredWorkload.tables(domain("drop"), [["sex"]]), metrics.hamming(domain("drop"), [1.0, 1.0])
        ),
        lambda: best_selection(Linear(Workload.identity(domain("drop"))), metrics.uniform(9, 1.0)),
    ],
)
def test_records_are_not_left_out_where_their_number_is_public(make: Callable[[], Any]) -> None:
    """One that comes to be unlisted would change the number, and no budget covers that."""
    with pytest.raises(InvalidProblem, match='"drop" leaves records out'):
        make()


def test_a_spec_that_leaves_out_what_it_may_not_is_refused(tmp_path: Path) -> None:
    for made, place in ((linear("refuse", metrics.uniform(9, 1.0)), ("workload", "keys")), (marginals("refuse"), ())):
        for rule in ("drop", "perhaps"):
            if rule == "drop" and isinstance(getattr(made, "protection", None), Presence):
                continue
            spec = json.loads(made.save(tmp_path / "a.json").read_text())
            core = spec["mechanism"]
            for key in place:
                core = core[key]
            core["unlisted"] = rule
            spec["seal"] = seal(spec)
            (tmp_path / "b.json").write_text(json.dumps(spec))
            with pytest.raises((InvalidSpec, InvalidProblem)):
                load(tmp_path / "b.json")
    for rule in RULES:
        assert load(marginals(rule).save(tmp_path / "a.json")) == marginals(rule)
        assert ("unlisted" in to_spec(marginals(rule))["mechanism"]) == (rule != "refuse")
    assert len({marginals(rule).fingerprint for rule in RULES}) == len({linear(rule).fingerprint for rule in RULES}) == 3


def test_others_need_a_value_of_their_own() -> None:
    with pytest.raises(InvalidProblem, match="among the values of 'age'"):
        Domain.of({"sex": SEXES, "age": 3}, "count as others")
    with pytest.raises(InvalidProblem, match="use one of"):
        Domain.of({"sex": SEXES}, "others")  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="needs"):
        Keys(("sex",), (("F",),), "count as others")


# Entities -----------------------------------------------------------------------------------------------------------------


def entity_rows(own: tuple[Any, ...], others: tuple[Any, ...]) -> Any:
    return ibis.memtable(
        {"who": ["a"] * len(own) + ["b"] * len(others), "sex": [*own, *others]}, schema={"who": "string", "sex": "string"}
    )


def test_what_an_entity_costs_covers_that_it_appears_with_all_its_rows() -> None:
    """All entities of up to three rows, two of which count; the bound is attained."""
    made = small("drop", metrics.add_remove(3, [0.5, 0.25, 0.75]))
    row, worst = RowUnit(entity="who", rows_per_entity=2), 0.0
    stated = made.guarantee_for(row)
    counting = stated.parameters["epsilon_of_rows_left_out"]
    assert stated.parameters["budget_of_an_entity"] == 1.5 and counting == pytest.approx(2 / math.ceil(20 / 0.75), rel=1e-15)
    assert float(expense_of(made, rows_per_entity=2).epsilon or 0) == pytest.approx(1.5 + counting, rel=1e-15)
    for size in range(4):
        for own in itertools.combinations_with_replacement((*RAW[:3], OTHERS), size):
            both = [tabulated(entity_rows(rows, ("F",)), made.universe, row, fixed=False) for rows in (own, ())]
            worst = max(worst, float(made.privacy_loss(both[0] - both[1])))
    assert 0.99 * 1.5 <= worst <= 1.5


def test_what_an_entity_costs_covers_that_all_its_rows_change() -> None:
    made = small("refuse", metrics.uniform(3, 0.5))
    row, worst = RowUnit(entity="who", rows_per_entity=2), 0.0
    stated = made.guarantee_for(row)
    assert stated.parameters["budget_of_an_entity"] == 1.0 and "together" in stated.relation
    assert "How many rows count, of each entity and in all, is public." in stated.unprotected
    listed = ("F", "M", OTHERS)
    for size in (1, 2, 3):
        rows = itertools.combinations_with_replacement(listed, size)
        tables = [tabulated(entity_rows(one, ("F",)), made.universe, row) for one in rows]
        worst = max(worst, *(float(made.privacy_loss(one - other)) for one in tables for other in tables))
    assert 0.99 <= worst <= 1.0


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_an_entity_under_a_delta_costs_what_the_length_of_its_change_does(family: str) -> None:
    asked = Problem(Workload.identity(Domain.of({"sex": ["F", "M"]})), metrics.add_remove(2, 0.5), "approximate", delta=1e-6)
    made: Any = design(asked, family).mechanism
    stated = made.guarantee_for(RowUnit(entity="who", rows_per_entity=3)).parameters["budget_of_an_entity"]
    spent = float(made.privacy_loss([3, 0]))
    assert spent <= stated <= spent * (1 + 1e-3) + 1e-9 and stated > 0.5


def test_entities_of_linear_queries_are_released_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = design(Problem(Workload.identity(Domain.of({"sex": ["F", "M"]})), metrics.add_remove(2, MANY)), "laplace").mechanism
    spec = made.save(tmp_path / "s.json")
    (tmp_path / "a.csv").write_text("who,sex\n" + "a,F\n" * 9 + "b,M\n" * 2 + "c,M\n")
    options = ["--entity", "who", "--rows-per-entity", "2", "-o", str(tmp_path / "r.json")]
    assert main(["release", str(spec), "--table", str(tmp_path / "a.csv"), *options]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["guarantee"]["parameters"]["budget_of_an_entity"] == 2 * MANY
    assert verify_release(spec, tmp_path / "r.json").fingerprint == made.fingerprint
    capsys.readouterr()
    frame = pytest.importorskip("pandas").read_csv(tmp_path / "a.csv")
    released = made.release(frame, entity="who", rows_per_entity=2)
    mapped = made.release(frame.to_dict("list"), entity="who", rows_per_entity=2)
    assert [2, 3] == [round(x) for x in released.answers] == [round(x) for x in mapped.answers]
    save_release(made, released, tmp_path / "again.json")
    assert verify_release(made, tmp_path / "again.json").fingerprint == made.fingerprint


def test_an_entity_is_refused_where_its_rows_are_not_protected() -> None:
    open_ended = design_marginals(
        MarginalWorkload.of(Domain.of({"a": 2, "b": 2}), [["a", "b"]]),
        metrics.hamming(Domain.of({"a": 2, "b": 2}), [1.0, np.inf]),
    )
    apart = design(Problem(Workload.identity(Domain.of({"a": 3})), metrics.partition([0, 0, 1], 1.0)), "laplace").mechanism
    for made in (open_ended, apart):
        with pytest.raises(InvalidProblem, match="not protected, hence the rows of an entity"):
            made.release({"a": [0], "b": [0], "who": [1]}, entity="who", rows_per_entity=2)
    whole = design_marginals(
        MarginalWorkload.of(Domain.of({"a": 2, "b": 2}), [["a", "b"]]), metrics.hamming(Domain.of({"a": 2, "b": 2}), [1.0, 0.5])
    )
    frame = pytest.importorskip("pandas").DataFrame({"a": [0], "b": [0], "who": [1]})
    stated = whole.release(frame, entity="who", rows_per_entity=3).guarantee
    assert stated.parameters["budget_of_an_entity"] == 4.5
    assert expense_of(whole, rows_per_entity=3).rho == Fraction(9, 2) * Fraction(3, 2) ** 2
