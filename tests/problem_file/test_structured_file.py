"""Structured workloads from a problem file: the whole way to a release, against the queries written out."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from designer import (
    Design,
    DesignFailed,
    InvalidProblem,
    Presence,
    Problem,
    StructuredMechanism,
    StructuredProblem,
    StructuredWorkload,
    design,
    load,
    metrics,
    read_problem,
)
from designer.base.json_text import plain
from designer.cli import main
from designer.domains.products_plan import design_structured
from designer.domains.products_workload import KINDS
from designer.domains.structured_file import ASKED_KINDS
from designer.domains.structured_problem import StructuredDesign
from designer.problem.domain import Domain

DOMAIN = Domain.of({"age": 6, "sex": ["F", "M"], "pay": 4})
HEAD = '[domain]\nage = 6\nsex = ["F", "M"]\npay = 4\n'
TERMS = (
    '[workload]\nterms = [{age = "prefix", sex = "identity"}, {pay = {widths = 2}}, {sex = [[1, -1]]}]\nweights = [1, 2, 0.5]\n'
)
TABLES = '[workload]\ntables = [["age"], ["age", "sex"], ["pay"]]\nasked = {age = "ranges"}\n'
PRESENCE = '[relation]\nmetric = "add_remove"\nepsilon = 0.5\n'
GAUSSIAN = '[problem]\nnotion = "zcdp"\n'
GOOD = HEAD + TERMS + PRESENCE.replace("epsilon", "mu") + GAUSSIAN
LINE = 'age = {metric = "line", values = [0, 1, 2, 3, 4, 5], period = 2, epsilon = 1}'
PARTS = f'[relation]\nmetric = "product"\n[relation.attributes]\n{LINE}\nsex = {{metric = "uniform", epsilon = 1}}\n'


def read(folder: Path, text: str) -> StructuredProblem:
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    found = read_problem(path).problem
    assert isinstance(found, StructuredProblem)
    return found


def grams(workload: StructuredWorkload) -> list[list[float]]:
    return [np.asarray(q.gram).tolist() for term in workload.terms for q in term.values()]


def test_terms_and_tables_of_a_file_are_those_of_python(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,0,2,0\n")
    widths = {"pay": ("widths", 2)}
    terms = StructuredWorkload.of(DOMAIN, [{"age": "prefix", "sex": "identity"}, widths, {"sex": [[1, -1]]}], [1, 2, 0.5])
    tables = StructuredWorkload.tables(DOMAIN, [["age"], ["age", "sex"], ["pay"]], {"age": "ranges"})
    rows = StructuredWorkload.of(DOMAIN, [{"pay": [[1, 0, 2, 0]]}])
    from_rows = HEAD + '[workload]\nterms = [{pay = {matrix = "rows.csv"}}]\n' + PRESENCE
    for text, wanted in ((GOOD, terms), (HEAD + TABLES + PRESENCE, tables), (from_rows, rows)):
        found = read(tmp_path, text)
        assert found.workload.counts == wanted.counts and grams(found.workload) == grams(wanted)
        assert found.workload.weights.tolist() == wanted.weights.tolist()
        assert found.relation == Presence(epsilon=0.5) and (found.relation.notion == "zcdp") == (text == GOOD)


def test_relations_of_a_file_are_budgets_or_metrics_of_attributes(tmp_path: Path) -> None:
    hamming = '[relation]\nmetric = "hamming"\nbudgets = {age = 1, sex = 0.5, pay = inf}\n'
    found = read(tmp_path, HEAD + TABLES + hamming).relation
    assert found.to_spec() == metrics.hamming(DOMAIN, [1, 0.5, math.inf]).to_spec()
    parts = PARTS + 'pay = {metric = "uniform", epsilon = 2}\n'
    found = read(tmp_path, HEAD + TABLES + parts)
    wanted = [metrics.line(range(6), 2, 1.0), metrics.uniform(2, 1.0), metrics.uniform(4, 2.0)]
    assert plain(found.relation.to_spec()) == plain(metrics.product(DOMAIN, wanted).to_spec())
    assert found.written_out().relation is found.relation


@pytest.mark.parametrize("relation", [None, metrics.hamming(DOMAIN, [1.0, 0.5, 2.0])])
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_written_out_problems_ask_and_hide_the_same(relation, notion, tmp_path: Path) -> None:
    """The loss is the weighted total over the queries of the other problem."""
    workload = read(tmp_path, GOOD).workload
    hidden = relation or Presence(**{"mu" if notion == "zcdp" else "epsilon": 0.5})
    problem = StructuredProblem(workload, hidden, notion)
    made, written = design(problem, "structured"), problem.written_out()
    assert isinstance(made, StructuredDesign) and made.privacy.holds
    assert written.workload.shape == workload.shape and written.loss_of(np.ones(workload.count)) == pytest.approx(
        float(np.repeat(workload.weights, workload.counts).sum())
    )
    dense = design(written, "gaussian" if notion == "zcdp" else "laplace")
    assert made.loss < 1.2 * dense.loss  # the Gaussian optimum, or the plain Laplace noise, of the same problem
    limit = dense.limit
    assert limit is not None and made.loss > limit.value * (1 - 1e-9)  # below no bound for all noise


@pytest.mark.nightly
def test_auto_tries_the_families_for_matrices_beside_and_takes_the_best(tmp_path: Path) -> None:
    people = Domain.of({"a": 2, "b": 2})
    problem = StructuredProblem(
        StructuredWorkload.of(people, [{"a": "identity"}, {"b": "identity"}]), Presence(epsilon=1.0), "pure"
    )
    best, alone = design(problem, effort="quick"), design(problem, "structured")
    assert isinstance(best, Design) and best.loss < 0.95 * alone.loss
    assert {"structured", "laplace"} <= set(best.mechanism.provenance["tried"])
    # Where the structured design is proven to be the best, nothing else is tried.
    least = design(
        StructuredProblem(StructuredWorkload.of(people, [{"a": "identity"}]), Presence(epsilon=1.0), "pure"), effort="quick"
    )
    assert isinstance(least, StructuredDesign) and list(least.mechanism.provenance["tried"]) == ["structured"]
    assert least.mechanism.optimality is not None and least.mechanism.optimality.gap < 1e-9
    large = StructuredWorkload.of(Domain.of({f"a{k}": 16 for k in range(5)}), [{f"a{k}": "prefix" for k in range(5)}])
    made = design(StructuredProblem(large, Presence(mu=1.0), "zcdp"))
    assert isinstance(made, StructuredDesign) and list(made.mechanism.provenance["tried"]) == ["structured"]
    with pytest.raises(InvalidProblem, match="StructuredProblem is designed without writing them out"):
        design(made.problem, "laplace")


def test_the_kinds_that_a_file_may_name_are_those_of_python() -> None:
    assert ASKED_KINDS == KINDS


def records() -> np.ndarray:
    return np.random.default_rng(3).integers(0, DOMAIN.shape, (500, 3))


def test_the_command_line_goes_the_whole_way_from_counts_and_from_records(tmp_path: Path, capsys) -> None:
    """Answers by name beside the true ones: within seven standard errors (failure probability below 1e-9)."""
    problem, spec = tmp_path / "problem.toml", tmp_path / "spec.json"
    problem.write_text(GOOD, encoding="utf-8")
    assert main(["design", str(problem), "--family", "structured", "-o", str(spec)]) == 0
    assert "Optimality:" in capsys.readouterr().out
    assert main(["verify", str(spec)]) == 0 and main(["show", str(problem)]) == 0
    assert "16" in capsys.readouterr().out.split("queries")[1].splitlines()[0]
    histogram, rows = tmp_path / "counts.csv", tmp_path / "rows.csv"
    counts = np.zeros(DOMAIN.shape, dtype=int)
    np.add.at(counts, tuple(records().T), 1)
    listed = [[*row, count] for row, count in zip(DOMAIN.keys.rows, counts.ravel().tolist(), strict=True)]
    for path, header, lines in (
        (histogram, [*DOMAIN.attributes, "n"], listed[::-1]),
        (rows, DOMAIN.attributes, [[DOMAIN.values[k][v] for k, v in enumerate(record)] for record in records()]),
    ):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *lines])
    true = read(tmp_path, GOOD).workload.written_out()
    capsys.readouterr()
    for source in (["--histogram", str(histogram), "--column", "n"], ["--table", str(rows)]):
        assert main(["release", str(spec), *source, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["answers"]
        assert [row["query"] for row in found] == list(true.queries)
        off = np.array([row["answer"] for row in found]) - true.matrix @ counts.ravel()
        assert (np.abs(off) < 7 * np.array([row["standard_error"] for row in found])).all() and off.any()
    assert main(["release", str(spec), "--histogram", str(histogram), "--column", "n"]) == 0
    assert "0..5, M" in capsys.readouterr().out
    assert main(["release", str(spec), "--histogram", str(histogram), "--column", "n", "--entity", "age"]) == 2
    assert main(["release", str(spec)]) == 2
    assert "--table: is missing" in capsys.readouterr().err
    assert main(["compare", str(problem), "--family", "gaussian"]) == 0  # with its queries written out


def test_counts_are_joined_by_name_and_those_of_large_domains_are_refused() -> None:
    made = design_structured(StructuredWorkload.of(DOMAIN, [{"age": "prefix"}, {"pay": "identity"}]), Presence(mu=1.0))
    counts = np.random.default_rng(0).integers(0, 99, DOMAIN.size)
    named = dict(sorted(zip(DOMAIN.elements, counts.tolist(), strict=True)))
    for given in (counts, named):
        released = made.release(given)
        off = released.table(1) - counts.reshape(6, 2, 4).sum(axis=(0, 1))
        # Seven standard errors: failure probability below 1e-9.
        assert (np.abs(off) < 7 * released.standard_errors(np.arange(4)[:, None], 1)).all()
    with pytest.raises(InvalidProblem, match="nothing was released"):
        made.release(counts - 1.5)
    wide = Domain.of({f"a{k}": 64 for k in range(4)})
    large = design_structured(StructuredWorkload.of(wide, [{"a0": "prefix"}]), Presence(mu=1.0))
    with pytest.raises(InvalidProblem, match="give a table of records"):
        large.release(np.zeros(4))


BAD = {
    "a misspelt attribute": (GOOD.replace("age = \"prefix\"", 'agee = "prefix"'), ["terms[0]", "perhaps 'age' is meant"]),
    "a misspelt kind": (GOOD.replace('"prefix"', '"prefixes"'), ["terms[0].age = 'prefixes'", "perhaps 'prefix' is meant"]),
    "an unknown kind": (GOOD.replace('"prefix"', '"quantiles"'), ["terms[0].age", "'ranges'", "widths"]),
    "a table of widths": (GOOD.replace("{widths = 2}", "{width = 2}"), ["terms[1].pay", "widths = 7"]),
    "a number": (GOOD.replace('"prefix"', "3"), ["terms[0].age = 3", "rows of numbers"]),
    "no terms": (HEAD + "[workload]\nterms = []\n" + PRESENCE, ["terms = []", "identity"]),
    "terms of text": (HEAD + '[workload]\nterms = "prefix"\n' + PRESENCE, ["terms = 'prefix'", "list"]),
    "tables of attributes": (HEAD + '[workload]\ntables = ["age"]\n' + PRESENCE, ["tables = ['age']", "lists of attributes"]),
    "a table of another": (HEAD + '[workload]\ntables = [["income"]]\n' + PRESENCE, ["tables[0]", "'income'"]),
    "too few weights": (GOOD.replace("[1, 2, 0.5]", "[1, 2]"), ["weights", "3 terms"]),
    "another metric": (GOOD.replace("add_remove", "uniform"), ["metric = 'uniform'", "'hamming'"]),
    "budgets of elements": (GOOD.replace("mu = 0.5", "mus = [1, 2]"), ["mus", "add_remove"]),
    "an invariant": (GOOD + "[invariant]\ntotal = true\n", ["[invariant]", "leave it out"]),
    "targets": (GOOD + "[targets]\nmargin = 3\n", ["[targets]", "leave it out"]),
    "another loss": (GOOD + 'loss = "max"\n', ["loss = 'max'", "squared"]),
    "records": (GOOD + "records = 10\n", ["records = 10", "leave it out"]),
    "a notion": (GOOD.replace('"zcdp"', '"approximate"').replace("mu = ", "epsilon = "), ["notion", "'zcdp'"]),
    "two kinds": (GOOD.replace("terms =", 'builder = "prefix"\nterms ='), ["exactly one of"]),
    "a term over too wide a window": (GOOD.replace("{widths = 2}", "{widths = 9}"), ["width", "from 1 to 4"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_a_remedy(name: str, tmp_path: Path) -> None:
    text, words = BAD[name]
    path = tmp_path / "problem.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidProblem) as refusal:
        read_problem(path)
    assert str(path) in str(refusal.value) and all(word in str(refusal.value) for word in words), refusal.value


def test_a_structured_workload_in_a_problem_for_matrices_says_where_it_goes() -> None:
    workload = StructuredWorkload.of(DOMAIN, [{"age": "prefix"}])
    with pytest.raises(InvalidProblem, match="goes into a StructuredProblem"):
        Problem(workload, metrics.uniform(48, 1.0))  # type: ignore[arg-type]
    for wrong, words in (
        ((workload.written_out(), Presence(epsilon=1.0)), "use Problem"),
        ((workload, metrics.uniform(48, 1.0)), "Presence"),
        ((workload, metrics.hamming(Domain.of({"a": 2}), [1.0])), "another domain"),
        ((workload, Presence(epsilon=1.0), "approximate"), "'zcdp'"),
    ):
        with pytest.raises(InvalidProblem, match=words):
            StructuredProblem(*wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match=r"options: .*records.* unknown"):
        design(StructuredProblem(workload, Presence(epsilon=1.0)), records=3)
    with pytest.raises(DesignFailed, match="no protected change"):
        design(StructuredProblem(workload, metrics.hamming(DOMAIN, [math.inf, 1.0, 1.0])))


def test_a_saved_design_is_the_mechanism_of_the_function_for_python(tmp_path: Path) -> None:
    problem = read(tmp_path, GOOD)
    made = design(problem, "structured")
    again = load(made.mechanism.save(tmp_path / "spec.json"))
    assert isinstance(again, StructuredMechanism)
    assert again.fingerprint == design_structured(problem.workload, problem.relation).fingerprint
