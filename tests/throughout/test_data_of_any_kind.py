"""`release` and `simulate` are the only verbs of every kind of mechanism, and the type of the data says what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from designer import (
    Counts,
    Domain,
    InvalidProblem,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredWorkload,
    Workload,
    design,
    metrics,
)
from designer.accounts import Ledger, Total
from designer.certificate.frozen import FrozenMechanism
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.relations.records.counting import TakesCounts, form_for
from designer.selection.mechanism import best_selection
from designer.tables.plan import TablePlan
from tests.oracles.release_specimens import invented, table_of
from tests.oracles.spec_specimens import specimens

ibis, pandas = pytest.importorskip("ibis"), pytest.importorskip("pandas")
duckdb = pytest.importorskip("duckdb")
polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
PEOPLE = Domain.of({"sex": ["F", "M"], "age": ["young", "old"]})
ROWS = [("F", "young")] * 3 + [("M", "old")] * 2 + [("F", "old")]
TRUE = [3, 1, 0, 2]
COLUMNS = {"sex": [sex for sex, _ in ROWS], "age": [age for _, age in ROWS]}
COUNTED = {"sex": ["F", "F", "M", "M"], "age": ["young", "old", "young", "old"], "n": TRUE}
RECORDS: dict[str, Callable[[], Any]] = {
    "mapping of lists": lambda: COLUMNS,
    "mapping of arrays": lambda: {name: np.array(column) for name, column in COLUMNS.items()},
    "list of rows": lambda: [{"age": age, "sex": sex} for sex, age in ROWS],
    "tuple of rows": lambda: tuple({"age": age, "sex": sex} for sex, age in ROWS),
    "pandas": lambda: pandas.DataFrame(COLUMNS),
    "polars": lambda: polars.DataFrame(COLUMNS),
    "lazy polars": lambda: polars.LazyFrame(COLUMNS),
    "Arrow": lambda: arrow.table(COLUMNS),
    "relation of DuckDB": lambda: duckdb.from_arrow(arrow.table(COLUMNS)),
    "Ibis": lambda: ibis.memtable(pandas.DataFrame(COLUMNS)),
}
COUNTS: dict[str, Callable[[], Any]] = {
    "list": lambda: TRUE,
    "array": lambda: np.array(TRUE),
    "array of floats": lambda: np.array(TRUE, dtype=float),
    "mapping": lambda: dict(zip(PEOPLE.elements, TRUE, strict=True)),
    "mapping of tuples": lambda: dict(zip([("F", "young"), ("F", "old"), ("M", "young"), ("M", "old")], TRUE, strict=True)),
    "series": lambda: pandas.DataFrame(COUNTED).set_index(["age", "sex"])["n"],
    "value_counts": lambda: (
        pandas.DataFrame(COLUMNS)
        .value_counts()
        .reindex(pandas.MultiIndex.from_product([["M", "F"], ["old", "young"]], names=["sex", "age"]), fill_value=0)
    ),
    "Counts of a list": lambda: Counts(TRUE),
    "Counts of pandas": lambda: Counts(pandas.DataFrame(COUNTED)),
    "Counts of an index": lambda: Counts(pandas.DataFrame(COUNTED).set_index(["sex", "age"])),
    "Counts of polars": lambda: Counts(polars.DataFrame(COUNTED)),
    "Counts of Arrow": lambda: Counts(arrow.table(COUNTED)),
}
FORMS = RECORDS | COUNTS


def quiet() -> Any:
    """Noise of a thousandth: rounding finds the counts."""
    asked = Workload(np.eye(4), elements=PEOPLE.elements, keys=PEOPLE.keys)
    return design(Problem(asked, metrics.uniform(4, 1e4)), "laplace").mechanism


@pytest.mark.parametrize("form", FORMS)
def test_the_type_and_the_names_of_the_data_decide_and_every_form_counts_the_same(form: str) -> None:
    made, given = quiet(), FORMS[form]()
    assert form_for(given, made.universe) == ("records" if form in RECORDS else "histogram")
    made.check(given)
    released = made.release(given)
    assert released.answers.round().tolist() == TRUE
    assert (released.row is not None) == (form in RECORDS)  # the guarantee says what a row is, where there are rows
    assert ("row-wise view" in released.guarantee.to_text()) == (form in RECORDS)


@pytest.mark.parametrize("form", RECORDS)
def test_marginals_products_and_plans_take_every_form_of_records(form: str) -> None:
    from designer.tables import Count, Groups, Key

    loud = 1e4
    marginals = design_marginals(MarginalWorkload.of(PEOPLE, [["sex", "age"]]), Presence(mu=loud))
    assert np.rint(marginals.release(FORMS[form]()).table(("sex", "age"))).ravel().tolist() == TRUE
    products = design_structured(StructuredWorkload.tables(PEOPLE, [["sex", "age"]]), Presence(mu=loud))
    assert np.rint(products.release(FORMS[form]()).table(0)).ravel().tolist() == TRUE
    plan = TablePlan([Count("n", Groups((Key("sex"),), (("F",), ("M",))), variance="1/10000")])
    assert np.rint(plan.release(FORMS[form]())["n"].values).tolist() == [4, 2]
    for made in (marginals, products, plan):
        made.check(FORMS[form]())


def test_true_tables_are_counts_too() -> None:
    made = design_marginals(MarginalWorkload.of(PEOPLE, [["sex", "age"]]), Presence(mu=1e4))
    table = Counts({("sex", "age"): np.reshape(TRUE, (2, 2))})
    made.check(table)
    assert np.rint(made.release(table).table(("sex", "age"))).ravel().tolist() == TRUE
    for wrong in (Counts({("sex",): [4, 2]}), Counts(TRUE), {("sex", "age"): np.reshape(TRUE, (2, 2))}, TRUE, Counts({})):
        with pytest.raises(InvalidProblem) as checked:
            made.check(wrong)
        with pytest.raises(InvalidProblem) as refused:
            made.release(wrong)
        assert str(checked.value) == str(refused.value)


@pytest.mark.parametrize("form", FORMS)
def test_words_on_rows_go_with_records_alone(form: str) -> None:
    made, given = quiet(), FORMS[form]()
    if form in RECORDS:
        assert "declared to be one visit" in made.release(given, unit="visit").guarantee.to_text()
        return
    for send in (made.check, made.release):
        with pytest.raises(InvalidProblem, match="counts have no rows"):
            send(given, unit="visit")


def test_a_data_frame_of_counts_that_its_index_names_is_no_table_of_records() -> None:
    """What `value_counts` of pandas makes would else count every group once."""
    frame = pandas.DataFrame(COLUMNS).value_counts().to_frame()
    for send in (quiet().check, quiet().release):
        with pytest.raises(InvalidProblem, match=r"Counts\(table\)"):
            send(frame)


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, polars.LazyFrame, arrow.table])
def test_a_data_frame_that_may_hold_counts_or_records_is_refused_until_that_is_said(make: Callable[[Any], Any]) -> None:
    """By the names of its columns: one text among its numbers would make a table of records of it, or of all but the others."""
    frame = make(COUNTED)
    for held in (frame, make({**COUNTED, "n": list("abcd")}), make({**COUNTED, "more": list("abcd")})):
        for send in (quiet().check, quiet().release):
            with pytest.raises(InvalidProblem, match=r"Counts\(table\) where it holds counts"):
                send(held)
    assert quiet().release(Counts(frame)).answers.round().tolist() == TRUE
    assert quiet().release(frame, unit="visit").answers.round().tolist() == [1, 1, 1, 1]


def test_a_row_without_a_column_has_no_value_there_and_is_refused_as_one_that_is_not_listed() -> None:
    rows = [{"sex": "F", "age": "old"}, {"sex": "F"}]
    quiet().check(rows)
    with pytest.raises(InvalidProblem, match="lack one"):
        quiet().release(rows)


def test_counts_hide_what_they_hold() -> None:
    assert "8731" not in repr(Counts([8731, 1, 1, 1])) + str(Counts({"n": 8731}))


@pytest.mark.parametrize("name", list(specimens()))
def test_every_kind_has_one_verb_for_releases_and_one_for_simulations(name: str) -> None:
    made = specimens()[name]
    others = [word for word in object.__dir__(made) if word.startswith(("release", "simulate", "sample_", "check"))]
    assert sorted(others) == ["check", "release", "simulate"]
    needs_data = isinstance(made, TablePlan) or "data: are missing" in refusal_of_no_data(made)
    data = {} if not needs_data else {"data": pandas.DataFrame(table_of()) if isinstance(made, TablePlan) else invented(made)}
    one, two = (made.simulate(2, seed=7, **data) for _ in range(2))
    assert len(one) == 2
    for first, second in zip(drawn(one), drawn(two), strict=True):
        assert np.array_equal(first, second)
    stamps = [one.stamp] if hasattr(one, "stamp") else [each.stamp for each in one]
    assert all("not private" in stamp and "seed 7" in stamp for stamp in stamps) and len(set(stamps)) == len(stamps)
    for size, seed in ((0, 1), (1.5, 1), (1, -1)):
        with pytest.raises(InvalidProblem):
            made.simulate(size, seed, **data)
    if not needs_data:
        with pytest.raises(InvalidProblem, match="have no part"):
            made.simulate(1, 1, data=[1])


def refusal_of_no_data(made: FrozenMechanism) -> str:
    try:
        made.simulate(1, seed=1)
    except InvalidProblem as error:
        return str(error)
    return ""


def drawn(simulated: Any) -> list[Any]:
    """The numbers of a simulation, whatever holds them."""
    if hasattr(simulated, "indices"):
        return [simulated.indices]
    if hasattr(simulated, "counts"):
        return [simulated.counts]
    if isinstance(simulated, np.ndarray):
        return [np.asarray(simulated)]
    found: list[Any] = []
    for each in simulated:
        for name in ("residuals", "measured", "histogram", "answers"):
            value = vars(each).get(name)
            if isinstance(value, dict) or hasattr(value, "values"):
                value = [getattr(one, "values", one) for one in value.values()]
            found += [np.asarray(part) for part in (value if isinstance(value, (list, tuple)) else [value]) if part is not None]
    assert found
    return found


def test_a_selection_is_simulated_from_records_as_from_counts() -> None:
    from designer.selection.scores import Linear

    asked = Workload(np.eye(4), elements=PEOPLE.elements, keys=PEOPLE.keys)
    made = best_selection(Linear(asked), metrics.uniform(4, 1.0))
    assert isinstance(made, TakesCounts)
    from_records, from_counts = (made.simulate(50, seed=1, data=data) for data in (COLUMNS, TRUE))
    assert from_records.indices.tolist() == from_counts.indices.tolist() and len(from_counts) == 50


def test_a_ledger_records_releases_from_any_data(tmp_path: Any) -> None:
    people = Ledger.create(tmp_path / "ledger").state("people", Total(epsilon=10**6), publishes=None)
    made = quiet()
    assert people.release(made, TRUE).released.row is None
    assert people.release(made, COLUMNS).released.row is not None
    with pytest.raises(InvalidProblem, match="single rows"):
        people.release(made, COLUMNS, unit="visit")
    visits = people.ledger.state("visits", Total(epsilon=10**6), publishes=None)
    with pytest.raises(InvalidProblem, match="counts have no rows"):
        visits.release(made, TRUE, unit="visit")
    assert visits.balance().spent.total.epsilon == 0
    assert visits.release(made, COLUMNS, unit="visit").released.row.name == "visit"
