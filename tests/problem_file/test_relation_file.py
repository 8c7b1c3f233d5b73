"""Relations in problem files: every metric by its keys, nested ones as tables, and mistakes answered by key,
value and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from designer import Domain, InvalidProblem, Problem, design, invariants, metrics, read_problem
from designer.base.json_text import plain
from designer.problem.relation import Relation
from designer.problem_file import relations
from designer.relations.kinds import RELATIONS
from tests.problem_file.good_files import write

HEAD = (
    '[elements]\ntable = "t.csv"\nnames = ["name"]\n[domain]\nsex = ["F", "M"]\nage = 2\n[workload]\nbuilder = '
    '"identity"\nsize = 4\n[relation]\n'
)
TABLE = "name,x,y,when,side,sex,age\nA,0,1,2020-01-31,l,F,0\nB,2,5,2020-02-29,r,F,1\nC,1,1,2021-01-01,l,M,0\nD,7,0,2020-03-01,l,M,1\n"
X, Y = [0.0, 2.0, 1.0, 7.0], [1.0, 5.0, 1.0, 0.0]
PLACES = list(zip(X, Y, strict=True))
DATES = ["2020-01-31", "2020-02-29", "2021-01-01", "2020-03-01"]
DOMAIN = Domain.of({"sex": ["F", "M"], "age": 2})
UNIFORM = '{metric = "uniform", epsilon = 1}'

GOOD: dict[str, tuple[str, Relation]] = {
    "per_element": ('metric = "per_element"\nepsilons = [1, 2, inf, 4]', metrics.per_element([1, 2, float("inf"), 4])),
    "instance": ('metric = "instance"\nepsilons = [1, 2, 3, 4]\nclosure = true', metrics.instance([1, 2, 3, 4], closure=True)),
    "attribute_values": (
        'metric = "attribute_values"\nbudgets = {sex = {F = 0.5, M = inf}, age = [1, 2]}',
        metrics.attribute_values(DOMAIN, {"sex": [0.5, float("inf")], "age": [1, 2]}),
    ),
    "attribute_values summed": (
        'metric = "attribute_values"\nform = "sum"\nbudgets = {sex = [1, 2], age = [1, 2]}',
        metrics.attribute_values(DOMAIN, [[1, 2], [1, 2]], form="sum"),
    ),
    "line of a column": ('metric = "line"\nvalues = "x"\nperiod = 7\nepsilon = 0.5', metrics.line(X, 7, 0.5)),
    "line of dates": ('metric = "line"\nvalues = "when"\nperiod = 7\nepsilon = 0.5', metrics.line(DATES, 7, 0.5)),
    "line of a list": ('metric = "line"\nvalues = [0, 2, 1, 7]\nperiod = 7\nepsilon = 0.5', metrics.line(X, 7, 0.5)),
    "line of TOML dates": (
        'metric = "line"\nvalues = [2020-01-31, 2020-02-29, 2021-01-01, 2020-03-01]\nperiod = 7\nepsilon = 0.5',
        metrics.line(DATES, 7, 0.5),
    ),
    "chebyshev": ('metric = "chebyshev"\npoints = ["x", "y"]\nper_unit = 0.5', metrics.chebyshev(PLACES, 0.5)),
    "manhattan": ('metric = "manhattan"\npoints = ["x", "y"]\nper_unit = 0.5', metrics.manhattan(PLACES, 0.5)),
    "graph": ('metric = "graph"\nedges = [[0, 1], [1, 2, 0.5]]\nper_edge = 2', metrics.graph([(0, 1), (1, 2, 0.5)], per_edge=2, nodes=4)),
    "graph of a file": ('metric = "graph"\nedges = "edges.csv"\nper_edge = 2', metrics.graph([(0, 1, 1), (1, 2, 0.5)], per_edge=2, nodes=4)),
    "graph by name": (
        'metric = "graph"\nedges = [["C", "A"], ["A", "D", 0.5]]\nper_edge = 2',
        metrics.graph([(0, 2), (0, 3, 0.5)], per_edge=2, nodes=4),
    ),
    "taxonomy": (
        'metric = "taxonomy"\nlevels = ["side", "sex"]\nbudgets = [inf, 1, 0.5]\nform = "max"',
        metrics.taxonomy([["l", "F"], ["r", "F"], ["l", "M"], ["l", "M"]], [float("inf"), 1, 0.5], form="max"),
    ),
    "blowfish": ('metric = "blowfish"\npoints = ["x", "y"]\nthreshold = 3\nepsilon = 0.5', metrics.blowfish(PLACES, 3, 0.5)),
    "smooth_threshold": (
        'metric = "smooth_threshold"\npoints = {metric = "line", values = "x", period = 1, epsilon = 1}\nthreshold = '
        '3\nepsilon = 0.5',
        metrics.smooth_threshold(metrics.line(X, 1, 1), 3, 0.5),
    ),
    "partition": ('metric = "partition"\nlabels = "side"\nepsilon = 0.5', metrics.partition(["l", "r", "l", "l"], 0.5)),
    "partition by a list": ('metric = "partition"\nlabels = [1, 2, 1, 1]\nepsilon = 0.5', metrics.partition([1, 2, 1, 1], 0.5)),
    "product": (
        f'metric = "product"\n[relation.attributes]\nsex = {UNIFORM}\nage = {{metric = "line", values = [30, 40], period = '
        '10, epsilon = 1}',
        metrics.product(DOMAIN, [metrics.uniform(2, 1.0), metrics.line([30, 40], 10, 1)]),
    ),
    "scaled": (f'metric = "scaled"\nfactor = 2\npart = {UNIFORM}', 2 * metrics.uniform(4, 1.0)),
    **{
        kind: (
            f'metric = "{kind}"\nparts = [{UNIFORM}, {{metric = "manhattan", points = ["x", "y"], per_unit = 1}}]',
            combine(metrics.uniform(4, 1.0), metrics.manhattan(PLACES)),
        )
        for kind, combine in (("sum", metrics.sum_of), ("maximum", metrics.maximum), ("root_sum_squares", metrics.root_sum_squares))
    },
    "appear_or_change": (
        f'metric = "appear_or_change"\nchange = {UNIFORM}\nepsilon = 2',
        metrics.appear_or_change(metrics.uniform(4, 1.0), 2.0),
    ),
    "appear_or_change by element": (
        f'metric = "appear_or_change"\nchange = {UNIFORM}\nepsilons = [1, 2, 9, 1]\nclosure = true',
        metrics.appear_or_change(metrics.uniform(4, 1.0), [1, 2, 9, 1], closure=True),
    ),
    "restriction": (
        'metric = "restriction"\nsize = 7\nelements = [3, 4, 5, 6]\n'
        'part = {metric = "graph", edges = [[0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]], per_edge = 0.5}',
        metrics.restriction(metrics.graph([(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)], per_edge=0.5), [3, 4, 5, 6]),
    ),
    "restriction by a column": (
        'metric = "restriction"\nsize = 8\nelements = "x"\npart = {metric = "line", values = [0, 1, 2, 3, 4, 5, 6, 9], '
        'period = 1, epsilon = 1}',
        metrics.restriction(metrics.line([0, 1, 2, 3, 4, 5, 6, 9], 1, 1), [0, 2, 1, 7]),
    ),
    "restriction inside": (
        'metric = "scaled"\nfactor = 2\npart = {metric = "restriction", size = 5, elements = [4, 0, 1, 2], part = '
        '{metric = "uniform", epsilon = 1}}',
        2 * metrics.restriction(metrics.uniform(5, 1.0), [4, 0, 1, 2]),
    ),
    "after_noisy_total": (
        'metric = "after_noisy_total"\nepsilon = 0.25\nchange = {metric = "manhattan", points = ["x", "y"], per_unit = 0.5}',
        metrics.after_noisy_total(metrics.manhattan(PLACES, 0.5), 0.25),
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "edges.csv").write_text("0,1,1\n1,2,0.5\n")
    return tmp_path


@pytest.mark.parametrize("name", GOOD)
def test_relation_of_a_file(name: str, folder: Path) -> None:
    text, wanted = GOOD[name]
    assert plain(read_problem(write(folder, HEAD + text)).problem.relation.to_spec()) == plain(wanted.to_spec())


def test_every_kind_can_be_written_in_a_file() -> None:
    assert {name.split(" ")[0] for name in GOOD} | {
        "uniform",
        "matrix",
        "euclidean",
        "great_circle",
        "hamming",
        "add_remove",
    } == set(relations.RELATIONS)
    # Restrictions are named by their function; invariants have a section of their own; groups of rows are what statistical
    # queries form of a domain; linked tables have the section of invariants.
    assert set(RELATIONS) - set(relations.RELATIONS) == {
        "restricted",
        "invariant",
        "metric_and_invariant",
        "invariant_distance",
        "row_groups",
        "linked_tables",
    }


BAD: dict[str, tuple[str, list[str]]] = {
    "key of another metric": ('metric = "per_element"\nepsilons = [1, 1, 1, 1]\nperiod = 3', ["period = 3", "'per_element'"]),
    "epsilons as text": ('metric = "instance"\nepsilons = "1"', ["epsilons = '1'", "a list"]),
    "broken minimum": ('metric = "instance"\nepsilons = [1, 3, 3, 3]', ["breaks the triangle inequality", "closure=True"]),
    "no column": ('metric = "line"\nvalues = "z"\nperiod = 1\nepsilon = 1', ["values = 'z'", "'when'"]),
    "column of text": ('metric = "line"\nvalues = "name"\nperiod = 1\nepsilon = 1', ["entry 0 is 'A'", "2020-01-31"]),
    "edges of numbers": ('metric = "graph"\nedges = [1]\nper_edge = 1', ["metric.edges[0]: 1 is no edge"]),
    "edge beyond": ('metric = "graph"\nedges = [[0, 4]]\nper_edge = 1', ["joins 0 and 4 of 4 elements"]),
    "part of text": ('metric = "scaled"\nfactor = 2\npart = "uniform"', ["part = 'uniform'", "a table"]),
    "part without metric": ('metric = "scaled"\nfactor = 2\npart = {epsilon = 1}', ["[relation] metric is missing"]),
    "part with a wrong key": ('metric = "sum"\nparts = [{metric = "uniform", epsilonn = 1}]', ["epsilonn = 1", "'uniform'"]),
    "parts of numbers": ('metric = "sum"\nparts = [1]', ["parts[0] = 1", "should be a table"]),
    "no parts": ('metric = "maximum"\nparts = []', ["metric.parts: () lists no metrics"]),
    "part that is no metric": ('metric = "sum"\nparts = [{metric = "add_remove", epsilon = 1}]', ["parts[0]", "give a metric"]),
    "attribute missing": (f'metric = "product"\nattributes = {{sex = {UNIFORM}}}', ["metric.parts: given for ['sex']"]),
    "attribute unknown": (f'metric = "product"\nattributes = {{sax = {UNIFORM}, age = {UNIFORM}}}', [(
        "metric.parts: given for ['age', "
        "'sax']"
    )]),
    "attribute of text": ('metric = "product"\nattributes = {sex = 1, age = 2}', ["attributes.sex = 1", "a table"]),
    "unknown form": ('metric = "attribute_values"\nform = "max"\nbudgets = {sex = [1, 1], age = [1, 1]}', ["metric.form: 'max'"]),
    "change missing": ('metric = "appear_or_change"\nepsilon = 1', ["[relation] change is missing"]),
    "one budget and one for each": (
        f'metric = "appear_or_change"\nchange = {UNIFORM}\nepsilon = 2\nepsilons = [1, 2, 9, 1]\nclosure = true',
        ["epsilons = [1, 2, 9, 1]", "not both"],
    ),
    "inconsistent": (f'metric = "appear_or_change"\nchange = {UNIFORM}\nepsilon = 0.25', ["epsilon_0 + epsilon_1 = 0.5", "closure=True"]),
    "restriction without its universe": (
        f'metric = "restriction"\nelements = [0, 1, 2, 3]\npart = {UNIFORM}', ["[relation] size is missing"],
    ),
    "restriction of another size": (
        'metric = "restriction"\nsize = 9\nelements = [0, 1, 2, 3]\npart = {metric = "line", values = [1, 2, 3, 4, 5], period = 1, '
        'epsilon = 1}', ["size = 9", "has 5"],
    ),
    "restriction beyond": (f'metric = "restriction"\nsize = 4\nelements = [0, 1, 2, 4]\npart = {UNIFORM}', ["metric.elements", "0 to 3"]),
    "restriction by a column of text": (
        f'metric = "restriction"\nsize = 4\nelements = "name"\npart = {UNIFORM}', ["metric.elements[0]: 'A' is not a whole number"],
    ),
    "restriction to too few": (f'metric = "restriction"\nsize = 9\nelements = [0, 8]\npart = {UNIFORM}', ["speaks of 2 elements"]),
    "restriction of records that appear": (
        'metric = "restriction"\nsize = 4\nelements = [0, 1, 2, 3]\npart = {metric = "add_remove", epsilon = 1}', ["give a metric"],
    ),
    "noisy total without its budget": (f'metric = "after_noisy_total"\nchange = {UNIFORM}', ["[relation] epsilon is missing"]),
    "noisy total after records that appear": (
        'metric = "after_noisy_total"\nepsilon = 1\nchange = {metric = "add_remove", epsilon = 1}', ["change", "give a metric"],
    ),
    "noisy total within a metric": (
        f'metric = "scaled"\nfactor = 2\npart = {{metric = "after_noisy_total", epsilon = 1, change = {UNIFORM}}}', ["give a metric"],
    ),
    "labels short": ('metric = "partition"\nlabels = [1]\nepsilon = 1', ["speaks of 1 elements, the workload of 4"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_mistakes_name_key_value_and_remedy(name: str, folder: Path) -> None:
    text, expected = BAD[name]
    path = write(folder, HEAD + text)
    with pytest.raises(InvalidProblem) as refusal:
        read_problem(path)
    assert str(path) in str(refusal.value)
    for part in expected:
        assert part in str(refusal.value)


def test_one_budget_beside_one_for_each_is_refused_of_every_metric_that_takes_either(folder: Path) -> None:
    both = "epsilon = 2\nepsilons = [1, 2, 9, 1]\n"
    for head in ('metric = "add_remove"\n', f'metric = "appear_or_change"\nchange = {UNIFORM}\nclosure = true\n'):
        told = r"\[relation\] epsilons = \[1, 2, 9, 1\]: give epsilon for all elements or epsilons for each, not both"
        with pytest.raises(InvalidProblem, match=told):
            read_problem(write(folder, HEAD + head + both))


def test_deep_nests_are_refused(folder: Path) -> None:
    text = UNIFORM
    for _ in range(9):
        text = f'{{metric = "scaled", factor = 2, part = {text}}}'
    with pytest.raises(InvalidProblem, match="nests metrics 8 deep"):
        read_problem(write(folder, HEAD + f'metric = "scaled"\nfactor = 2\npart = {text}'))


@pytest.mark.parametrize("name", ["restriction", "after_noisy_total"])
def test_what_a_file_protects_is_designed_and_certified(name: str, folder: Path) -> None:
    text, wanted = GOOD[name]
    problem = read_problem(write(folder, HEAD + text)).problem
    made = design(problem, "laplace")
    assert made.privacy.holds and made.privacy.worst_ratio > 1 - 1e-9
    assert made.loss == pytest.approx(design(Problem(problem.workload, wanted), "laplace").loss, rel=1e-12)


def test_without_a_metric_the_budget_is_that_of_the_file(folder: Path) -> None:
    published, rest = invariants.total(4), "[invariant]\ntotal = true\n"
    wanted = {
        "epsilon = 0.5\n": published.protect(0.5),
        'epsilon = 0.5\nper_distance = "l1"\n': published.protect(0.5, per_distance="l1"),
        'epsilon = 0.5\nper_distance = "l2"\n': published.protect(0.5, per_distance="l2"),
    }
    for text, relation in wanted.items():
        assert plain(read_problem(write(folder, HEAD + text + rest)).problem.relation.to_spec()) == plain(relation.to_spec())


IMPOSSIBLE = "epsilon = 1\n[invariant]\ntotal = true\n"


@pytest.mark.parametrize("element", ['"D"', '"name=D"', "3"])
def test_elements_are_declared_impossible_by_name_keys_or_position(element: str, folder: Path) -> None:
    problem = read_problem(write(folder, HEAD + IMPOSSIBLE + f"impossible = [{element}]\n")).problem
    assert problem.relation.impossible == (3,)


@pytest.mark.parametrize("element", ['"E"', "4", "true", "1.5"])
def test_what_is_no_element_is_not_impossible(element: str, folder: Path) -> None:
    with pytest.raises(InvalidProblem, match="impossible"):
        _ = read_problem(write(folder, HEAD + IMPOSSIBLE + f"impossible = [{element}]\n")).problem
