"""Counts by name: whatever carries names is joined by them, in every kind of table,
and what names nothing is refused in one text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Counts, Domain, InvalidProblem, Problem, Workload, design, invariants, load, metrics, read_problem
from designer.cli import main
from designer.domains.marginals_plan import design_marginals
from designer.problem.histogram import MISNAMED, UNUSABLE, Keys, Universe, counts, whole_counts
from designer.relations.records.counting import OUTSIDE, tabulated
from designer.relations.records.csv_rows import COMMAS

PEOPLE = Domain.of({"sex": ["F", "M"], "age": ["young", "old", "1"]})
TRUE = {("F", "young"): 5, ("F", "old"): 0, ("F", "1"): 7, ("M", "young"): 1000, ("M", "old"): 3, ("M", "1"): 12}
UNIVERSE = Universe(PEOPLE.elements, PEOPLE.keys)
SHUFFLED = random.Random(3).sample(list(TRUE.items()), len(TRUE))


def rows(pairs: Any = SHUFFLED) -> dict[str, list[Any]]:
    """A table of three columns, its rows and columns in another order than the domain's."""
    return {
        "age": [age for (_, age), _ in pairs],
        "count": [number for _, number in pairs],
        "sex": [sex for (sex, _), _ in pairs],
    }


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(rows())


def polars_frame() -> Any:
    return pytest.importorskip("polars").DataFrame(rows())


def arrow_table() -> Any:
    import pyarrow as pa

    return pa.table({**rows(), "age": pa.array(rows()["age"]).dictionary_encode()})


FORMS: dict[str, Callable[[], Any]] = {
    "frame": pandas_frame,
    "categories": lambda: pandas_frame().astype({"sex": "category", "age": "category"}),
    "frame by its index": lambda: pandas_frame().set_index(["age", "sex"]),
    "frame by index and column": lambda: pandas_frame().set_index("age"),
    "series by its index": lambda: pandas_frame().set_index(["age", "sex"])["count"],
    "nullable integers": lambda: pandas_frame().set_index(["age", "sex"])["count"].astype("Int64"),
    "polars": polars_frame,
    "Arrow": arrow_table,
    "mapping of tuples": lambda: dict(SHUFFLED),
    "mapping of names": lambda: {f"sex={sex}, age={age}": number for (sex, age), number in SHUFFLED},
    "array": lambda: np.array(list(TRUE.values())),
    "list": lambda: list(TRUE.values()),
}


@pytest.mark.parametrize("form", FORMS)
def test_counts_of_any_kind_are_joined_by_name(form: str) -> None:
    assert counts(FORMS[form](), UNIVERSE).tolist() == list(TRUE.values())


@pytest.mark.parametrize("form", FORMS)
def test_what_is_published_exactly_stands_under_its_own_name(form: str) -> None:
    """Sex is public: its exact margin is that of the data, by brute force, in whatever order the rows come;
    no other cell is exact."""
    relation = metrics.hamming(PEOPLE, {"sex": float("inf"), "age": 0.5})
    made = design(Problem(Workload.marginals(PEOPLE, [["sex"], ["sex", "age"]]), relation), "laplace").mechanism
    released = made.release(Counts(FORMS[form]()))
    exact = {name: answer for name, answer in zip(released.queries, released.answers.tolist(), strict=True) if ", " not in name}
    by_hand = {f"sex={s}": sum(number for (sex, _), number in TRUE.items() if sex == s) for s in "FM"}
    assert exact == by_hand
    assert made.norm.silent.tolist() == [True, True] + [False] * 6


def test_the_lattice_keeps_the_margins_of_the_named_cells() -> None:
    margins = invariants.margins(PEOPLE, [["sex"], ["age"]])
    named = Problem(Workload(np.eye(6), elements=PEOPLE.elements, keys=PEOPLE.keys), margins.protect(1.0))
    made = design(named, "lattice_laplace", shape="l1").mechanism
    table = made.release(Counts(pandas_frame())).table
    assert (margins.matrix @ np.array(table)).tolist() == (margins.matrix @ np.array(list(TRUE.values()))).tolist()


MISNAMED_PAIRS = {
    "unknown": [*SHUFFLED[:-1], (("X", "old"), 3)],
    "twice": [*SHUFFLED, SHUFFLED[0]],
    "missing": SHUFFLED[:-1],
    "missing value": [*SHUFFLED[:-1], ((None, "old"), 3)],
    "not a number": [*SHUFFLED[:-1], ((float("nan"), "old"), 3)],
    "joined elsewhere": [*SHUFFLED[:-1], (("F, age=old", ""), 3)],
    "empty": [],
}


@pytest.mark.parametrize("name", MISNAMED_PAIRS)
def test_names_that_do_not_fit_are_refused_in_one_text(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows(MISNAMED_PAIRS[name]), columns=["age", "count", "sex"])
    for given in (frame, frame.set_index(["sex", "age"])["count"]):
        with pytest.raises(InvalidProblem) as refusal:
            counts(given, UNIVERSE)
        assert str(refusal.value) == MISNAMED


def test_a_column_that_names_elements_stands_there_once() -> None:
    """Of two columns of one name neither is taken: they may hold different names."""
    pandas = pytest.importorskip("pandas")
    frame = pandas_frame()
    both = pandas.concat([frame, frame[["sex"]][::-1].reset_index(drop=True)], axis=1)
    with pytest.raises(InvalidProblem, match=r"columns .* once"):
        counts(both, UNIVERSE)


def test_a_level_of_the_index_and_a_column_of_one_name_are_both_refused() -> None:
    """The frame itself has every column once; which of the two names the elements is not known."""
    frame = pandas_frame()
    frame.index = frame["sex"][::-1]
    with pytest.raises(InvalidProblem, match="histogram: has 2 columns named 'sex'; rename all but one"):
        counts(frame, UNIVERSE)


def test_a_text_that_is_the_name_of_one_element_and_the_key_of_another_names_none() -> None:
    keys = Keys(("c",), (("a",), ("c=a",)))
    universe = Universe(keys.assignments, keys)
    assert universe.elements == ("c=a", "c=c=a")
    for given in ({"c=a": 1, "c=c=a": 2}, {("a",): 1, "c=a": 2}, {"c=a": 1, ("c=a",): 2}):
        with pytest.raises(InvalidProblem) as refusal:
            counts(given, universe)
        assert str(refusal.value) == MISNAMED
    assert counts({("a",): 1, ("c=a",): 2}, universe).tolist() == [1, 2]


def test_positions_of_a_table_are_no_names() -> None:
    pandas, bare = pytest.importorskip("pandas"), list(TRUE.values())
    structured = np.array([tuple(bare)], dtype=[(f"f{i}", int) for i in range(6)])
    unnamed_levels = pandas_frame().set_index(["sex", "age"])["count"].rename_axis([None, None])
    hidden = np.ma.masked_array(bare, mask=[1, 0, 0, 0, 0, 0])
    two = pandas_frame().assign(more=1)
    for given in (
        pandas.Series(bare),
        pandas.DataFrame({"count": bare}),
        structured,
        unnamed_levels,
        hidden,
        two,
        {"a": bare},
        "x",
    ):
        with pytest.raises(InvalidProblem):
            counts(given, UNIVERSE)
    numbered = Universe.of_size(6)
    assert counts(pandas.Series(bare), numbered).tolist() == bare
    assert counts(pandas.Series(bare, index=[f"e{i}" for i in range(6)])[::-1], numbered).tolist() == bare
    with pytest.raises(InvalidProblem, match="name every universe element"):
        counts(pandas.Series(bare)[::-1], numbered)


def test_numbers_name_what_they_spell_and_nothing_when_they_spell_two() -> None:
    pandas = pytest.importorskip("pandas")
    ages = Domain.of({"age": 3})
    for labels in ([2, 0, 1], [2.0, 0.0, 1.0], ["2", "0", "1"], np.array([2, 0, 1], dtype=np.int8)):
        series = pandas.Series([30, 10, 20], index=pandas.Index(labels, name="age"))
        assert counts(series, Universe(ages.elements, ages.keys)).tolist() == [10, 20, 30]
    both = Keys(("x",), (("1",), ("1.0",)))
    for other in ("1", "1.0"):  # whichever of the two would be taken for 1
        with pytest.raises(InvalidProblem, match="name every universe element"):
            counts({1: 5, other: 6}, Universe(both.names, both))
    assert counts({"1.0": 6, "1": 5}, Universe(both.names, both)).tolist() == [5, 6]


def test_names_that_join_to_one_text_are_told_apart() -> None:
    """("a, b", "c") and ("a", "b, c") are both written "a, b, c": a row of one is no row of the other."""
    pandas = pytest.importorskip("pandas")
    keys = Keys(("x", "y"), (("a, b", "c"), ("d", "e")))
    wrong = pandas.DataFrame({"x": ["a", "d"], "y": ["b, c", "e"], "n": [1, 2]})
    with pytest.raises(InvalidProblem, match="name every universe element"):
        counts(wrong, Universe(keys.names, keys))
    assert counts(wrong.replace({"a": "a, b", "b, c": "c"}), Universe(keys.names, keys)).tolist() == [1, 2]
    with pytest.raises(InvalidProblem, match="do not spell"):
        Workload(np.eye(2), elements=["d, e", "a, b, c"], keys=keys)


@pytest.mark.parametrize("text", ["١٢٣", "7_654_321", "-0", "-0.0", "1,234", "1e3", "0x10", "", "1.5", "nan", "+5", "9" * 21])
def test_texts_that_are_no_counts(text: str) -> None:
    assert COMMAS.count(text) is None


def test_minus_zero_is_no_count() -> None:
    assert [COMMAS.count(text) for text in ("0", " 12", "007", "12.0", "12.")] == [0, 12, 7, 12, 12]
    for given in ([1, -0.0], np.array([-0.0, 1]), {"e0": -0.0, "e1": 1}):
        with pytest.raises(InvalidProblem) as refusal:
            counts(given, Universe.of_size(2))
        assert str(refusal.value) == UNUSABLE


def records() -> dict[str, list[str]]:
    """The people behind TRUE, one a row."""
    each = [pair for pair, number in SHUFFLED for _ in range(number)]
    return {"age": [age for _, age in each], "more": ["x"] * len(each), "sex": [sex for sex, _ in each]}


def test_records_are_tabulated_over_the_domain() -> None:
    """By an engine, and from columns at hand; the mechanism then sees the same counts."""
    ibis, pandas = pytest.importorskip("ibis"), pytest.importorskip("pandas")
    for table in (records(), pandas.DataFrame(records())[["sex", "age"]], ibis.memtable(pandas.DataFrame(records()))):
        assert tabulated(table, UNIVERSE).tolist() == list(TRUE.values())
    relation = metrics.hamming(PEOPLE, {"sex": float("inf"), "age": 0.5})
    made = design(Problem(Workload.marginals(PEOPLE, [["sex"], ["age"]]), relation), "laplace").mechanism
    assert made.release(records()).answers[:2].tolist() == [12, 1015]
    for sex, age in (("X", "old"), (None, "old"), (["F"], "old")):
        wrong = {"sex": [*records()["sex"], sex], "age": [*records()["age"], age]}
        with pytest.raises(InvalidProblem) as refusal:
            made.release(wrong)
        assert str(refusal.value) == OUTSIDE
    series = {name: pandas.Series(column) for name, column in records().items()}
    with pytest.raises(InvalidProblem, match="indexed differently"):
        made.release({**series, "sex": series["sex"][::-1]})
    with pytest.raises(InvalidProblem, match="nothing says which columns"):
        design(Problem(Workload.prefix(3), metrics.uniform(3, 1.0)), "laplace").mechanism.release([{"sex": "F"}])


def test_labelled_tables_of_marginals_and_of_the_odds_ratio_are_not_taken_by_position() -> None:
    from designer import MarginalWorkload
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.odds_ratio.umpu import Margins
    from designer.tradeoff.functions import EpsilonDelta

    pandas = pytest.importorskip("pandas")
    made = design_marginals(MarginalWorkload.of(PEOPLE, [["sex", "age"]]), metrics.hamming(PEOPLE, {"sex": 1.0, "age": 1.0}))
    cross = pandas.crosstab(pandas.Series(records()["sex"]), pandas.Series(records()["age"]))
    with pytest.raises(InvalidProblem, match="labels of its own"):
        made.release(Counts({("sex", "age"): cross}))
    apart = {name: pandas.Series(column) for name, column in records().items()}
    with pytest.raises(InvalidProblem, match="indexed differently"):
        made.release({**apart, "age": apart["age"][::-1]})
    test = OddsRatioTest(Margins((5, 5), (5, 5)), EpsilonDelta(1))
    with pytest.raises(InvalidProblem, match="carries names"):
        test.release(pandas.DataFrame([[3, 2], [2, 3]]))


PROBLEM = """
[elements]
table = "cells.csv"
names = ["sex", "age"]
[domain]
sex = ["F", "M"]
age = ["young", "old", "1"]
[workload]
builder = "identity"
[relation]
metric = "hamming"
budgets = {sex = 0.5, age = 0.5}
[design]
family = "laplace"
"""


def write_cells(folder: Path, pairs: Any) -> Path:
    (folder / "cells.csv").write_text("sex,age,n\n" + "".join(f"{sex},{age},{number}\n" for (sex, age), number in pairs))
    (folder / "problem.toml").write_text(PROBLEM)
    return folder / "problem.toml"


def test_elements_and_domain_in_different_orders_are_refused(tmp_path: Path) -> None:
    assert read_problem(write_cells(tmp_path, TRUE.items())).problem.workload.keys == PEOPLE.keys
    swapped = [*list(TRUE.items())[:3], *list(TRUE.items())[4:], list(TRUE.items())[3]]
    for pairs, row in ((swapped, 4), (list(TRUE.items())[:4], 5), ([*TRUE.items(), (("M", "2"), 1)], 7)):
        with pytest.raises(InvalidProblem, match=f"disagree: row {row} of the table"):
            read_problem(write_cells(tmp_path, pairs))
    (tmp_path / "cells.csv").write_text("sex,years\n")
    with pytest.raises(InvalidProblem, match=r"no columns \['age'\]"):
        read_problem(tmp_path / "problem.toml")


def test_budgets_of_a_domain_in_another_order_are_refused() -> None:
    """The same attributes and values, turned: positions would give the budget of age to sex."""
    turned = Domain.of({"age": ["young", "old", "1"], "sex": ["F", "M"]})
    others = Domain.of({"sex": ["F", "M"], "age": ["old", "young", "1"]})
    asked = Workload.marginals(PEOPLE, [["sex"]])
    for domain in (turned, others):
        budgets = metrics.hamming(domain, {"sex": 0.5, "age": 1.0})
        for relation in (budgets, 2 * budgets, budgets & invariants.total(6)):
            with pytest.raises(InvalidProblem, match="make both from one domain"):
                Problem(asked, relation)
    assert Problem(asked, metrics.hamming(PEOPLE, {"sex": 0.5, "age": 1.0})).workload.keys == PEOPLE.keys


def test_matrices_whose_columns_are_called_like_other_elements_are_refused(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("name\na\nb\n")
    (tmp_path / "plain.csv").write_text("1,0\n0,1\n")
    for name, columns in (("right", "a,b"), ("turned", "b,a"), ("half", "a,x"), ("other", "x,y")):
        (tmp_path / f"{name}.csv").write_text(f"{columns}\n0,1\n1,0\n")
    elements, problem = '[elements]\ntable = "names.csv"\nnames = ["name"]\n', tmp_path / "problem.toml"

    def refused(head: str, asked: str, hidden: str) -> bool:
        problem.write_text(
            f'{head}[workload]\nmatrix = "{asked}.csv"\n[relation]\nmetric = "matrix"\nmatrix = "{hidden}.csv"\n'
        )
        try:
            read_problem(problem)
        except InvalidProblem as error:
            return "into the order of the elements" in str(error)
        return False

    assert refused(elements, "turned", "right") and refused(elements, "right", "turned") and refused(elements, "half", "right")
    assert refused("", "right", "turned") and refused("", "turned", "right")
    assert not any(refused(elements, asked, hidden) for asked in ("right", "plain", "other") for hidden in ("right", "other"))
    assert not refused("", "right", "right")


def test_the_command_line_joins_counts_and_tabulates_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All budgets are large, so that the noise of 6 cells is below 20 but for a probability of 6 exp(-20 / 2)."""
    problem, spec, out = write_cells(tmp_path, TRUE.items()), tmp_path / "spec.json", tmp_path / "out.json"
    problem.write_text(PROBLEM.replace("0.5", "2.0"))
    assert main(["design", str(problem), "-o", str(spec)]) == 0
    assert load(spec).workload.keys == PEOPLE.keys
    write_cells(tmp_path, SHUFFLED)
    (tmp_path / "people.csv").write_text(
        "\ufeffsex;age\n" + "".join(f"{s};{a}\n" for s, a in zip(records()["sex"], records()["age"], strict=True))
    )
    counted = ["--histogram", str(tmp_path / "cells.csv"), "--column", "n"]
    listed = ["--table", str(tmp_path / "people.csv"), "--delimiter", ";"]
    for source in (counted, listed):
        assert main(["release", str(spec), *source, "-o", str(out), "--force"]) == 0
        answers = json.loads(out.read_text())["answers"]
        assert all(abs(answers[f"{sex}, {age}"] - number) < 20 for (sex, age), number in TRUE.items())
    (tmp_path / "cells.csv").write_text("sex,years,n\nF,old,3\n")
    assert main(["release", str(spec), *counted]) == 2
    assert "cells.csv: has no column 'age'; the elements" in capsys.readouterr().err


def test_a_spec_without_the_columns_of_its_names_still_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As written before names had columns: one column of names is joined, several are refused with a way on."""
    relation = metrics.uniform(2, 1.0)
    spec = design(Problem(Workload(np.eye(2), elements=["A, X", "B, X"]), relation), "laplace").mechanism.save(
        tmp_path / "old.json"
    )
    assert "keys" not in json.loads(spec.read_text())["mechanism"]["workload"]
    file = tmp_path / "counts.csv"
    file.write_text('city,n\n"B, X",7\n"A, X",900\n')
    assert main(["release", str(spec), "--histogram", str(file), "--column", "n"]) == 0
    file.write_text("name,state,n\nB,X,7\nA,X,900\n")
    assert main(["release", str(spec), "--histogram", str(file), "--column", "n"]) == 2
    assert "design the mechanism again" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "\n", "\0,n\n1,2\n", "n\0\n1\n", '"' + "x" * 200_000 + '",n\n1,2\n', ",\n,\n", "n,n\n1,2\n"]
)
def test_odd_files_of_counts_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = design(Problem(Workload.prefix(2), metrics.uniform(2, 1.0)), "laplace").mechanism.save(tmp_path / "spec.json")
    (tmp_path / "odd.csv").write_text(text)
    assert main(["release", str(spec), "--histogram", str(tmp_path / "odd.csv"), "--column", "n"]) == 2
    assert main(["release", str(spec), "--histogram", str(tmp_path / "odd.csv")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_odds_ratio_is_released_from_a_file(tmp_path: Path) -> None:
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.odds_ratio.umpu import Margins
    from designer.tradeoff.functions import EpsilonDelta

    spec = OddsRatioTest(Margins((5, 6), (7, 4)), EpsilonDelta(1)).save(tmp_path / "test.json")
    for text in ("3,2\n4,2\n", "count\n3\n2\n4\n2\n", "3\n2\n4\n2\n"):
        (tmp_path / "table.csv").write_text(text)
        assert main(["release", str(spec), "--histogram", str(tmp_path / "table.csv")]) == 0
    (tmp_path / "table.csv").write_text("yes,no\n3,2\n4,2\n")
    assert main(["release", str(spec), "--histogram", str(tmp_path / "table.csv")]) == 2


@pytest.mark.filterwarnings("error")
def test_short_floats_are_counts_without_a_warning() -> None:
    assert whole_counts(np.array([1, 2048], dtype=np.float16)).tolist() == [1, 2048]
    for value in (0.5, -0.0, np.inf, np.nan):
        with pytest.raises(InvalidProblem):
            whole_counts(np.array([1, value], dtype=np.float16))
