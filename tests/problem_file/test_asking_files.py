"""Files that ask for selections, synthetic histograms, averages and tests: what they make is what Python makes, what is wrong
is refused with file, section, key, value and remedy, and the schema says what the reader does."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from math import comb, exp, isclose
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from designer import (
    DesignFailed,
    Domain,
    InvalidProblem,
    NotPrivate,
    Problem,
    ReportProblem,
    Selection,
    StatisticalQueries,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.averages.averages import separable
from designer.averages.joint_averages import squared_averages
from designer.certificate.frozen import FrozenMechanism
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.problem.histogram import Keys
from designer.problem_file.kinds import read_request
from designer.problem_file.schema import problem_schema
from designer.problem_file.sections import Choices
from designer.programs.preprocessing_program import PreprocessingProgram
from designer.programs.statistical_program import StatisticalProgram
from designer.relations.metrics.metric import Metric
from designer.selection.mechanism import best_selection
from designer.selection.scores import AbsoluteError, Closeness, LargestError, Linear
from designer.selection.tabulated import Tabulated
from designer.synthetic.multiplicative import MWEM, equal_shares, mwem
from designer.synthetic.queries import mwem_price, prepared, small_db_price, theorem_6_price, theorem_8_price
from designer.synthetic.small_databases import SmallDB, small_db
from designer.tradeoff.functions import EpsilonDelta, Gaussian, LaplaceTradeoff
from designer.tradeoff.piecewise import PiecewiseLinear
from tests.oracles.selection_by_definition import BY_DEFINITION
from tests.problem_file.test_problem_schema import as_json, as_toml, at, closed_tables

ASKED = '[domain]\nsex = ["F", "M"]\nage = 2\n[workload]\nmarginals = [["sex"], ["age"]]\n'
CITY = '[domain]\nsex = ["F", "M"]\nage = 2\n'
UNIFORM = '[relation]\nmetric = "uniform"\nepsilon = 1\n'
HAMMING = '[relation]\nmetric = "hamming"\nbudgets = {sex = 0.5, age = 1}\n'
KNOWN = "[problem]\nrecords = 100\n"
MANY_RECORDS = "[problem]\nrecords = 10000\n"
PEOPLE = '[domain]\nsex = ["F", "M"]\nage = [20, 30, 50]\njob = 500\n'
AVERAGES = (
    PEOPLE + '[statistics]\n"mean age" = {of = "age", values = "number"}\nwomen = {of = "sex", values = {F = 1, M = 0}}\n'
)
BUDGETS = '[relation]\nmetric = "hamming"\nbudgets = {sex = 0.5, age = 1, job = inf}\n'
TABLE = "[margins]\nrows = [6, 4]\ncolumns = [5, 5]\n"
SCORES = "a,b,many,one\n0,2,1,1\n1,1,2,1\n2,0,1,1.5\n"
DOMAIN = Domain.of({"sex": ["F", "M"], "age": 2})
QUERIES = Workload.marginals(DOMAIN, [["sex"], ["age"]])
ONE, TWO = metrics.uniform(4, 1.0), metrics.hamming(DOMAIN, {"sex": 0.5, "age": 1.0})
MANY = Domain.of({"sex": ["F", "M"], "age": [20, 30, 50], "job": 500})


def problem(relation: Metric = ONE, records: int = 100) -> Problem:
    return Problem(QUERIES, relation, records=records)


def averages(**more: Any) -> StatisticalQueries:
    asked = {"mean age": ("age", float), "women": ("sex", {"F": 1, "M": 0}), **more}
    return StatisticalQueries.of(MANY, asked, {"sex": 0.5, "age": 1.0, "job": float("inf")})


def optimal(price: Any) -> MWEM:
    queries, _ = prepared(problem(TWO, 10000), price, "optimal", -20)
    return MWEM(queries, 10000, equal_shares(3))


def odds(promise: Any, **options: Any) -> OddsRatioTest:
    return OddsRatioTest(Margins((6, 4), (5, 5)), promise, **options)


def written_out() -> Tabulated:
    scores = {(0, 2): [1, 1], (1, 1): [2, 1], (2, 0): [1, 1.5]}
    return Tabulated.of(lambda x: scores[x], ["a", "b"], 2, ["many", "one"])


# Text of the file after its kind, and the same in Python.
CELLS = Keys(("sex", "age"), (("F", "0"), ("F", "1"), ("M", "0"), ("M", "1")))
REPORTS: dict[str, tuple[str, Callable[[], FrozenMechanism]]] = {
    "the best channel": (CITY + HAMMING, lambda: reported(TWO)),
    "a family": (
        CITY + UNIFORM + '[report]\nloss = "zero_one"\nfamily = "randomised_response"\n',
        lambda: reported(ONE, "randomised_response", loss="zero_one"),
    ),
    "a prior of a file, and some reports": (
        CITY + HAMMING + '[report]\nloss = "squared"\nprior = "prior.csv"\nreports = ["sex=F, age=0", "sex=M, age=1"]\n',
        lambda: reported(TWO, prior=[0.5, 0.25, 0.125, 0.125], loss="squared", reports=["sex=F, age=0", "sex=M, age=1"]),
    ),
    "a matrix, and the worst value": (
        CITY + UNIFORM + '[report]\nloss = [[0, 1], [1, 0], [2, 3], [4, 5]]\nreports = ["x", "y"]\nprior = "worst"\n',
        lambda: reported(ONE, prior="worst", loss=[[0, 1], [1, 0], [2, 3], [4, 5]], reports=["x", "y"]),
    ),
}


def reported(metric: Any, family: str = "auto", **asked: Any) -> FrozenMechanism:
    made: FrozenMechanism = design(ReportProblem(metric, keys=CELLS, elements=CELLS.assignments, **asked), family).mechanism
    return made


SELECTIONS: dict[str, tuple[str, Callable[[], FrozenMechanism]]] = {
    "the largest count": (ASKED + UNIFORM + '[selection]\nscore = "linear"\n', lambda: best_selection(Linear(QUERIES), ONE)),
    "targets, law and constant": (
        ASKED
        + HAMMING
        + '[selection]\nscore = "absolute_error"\ntargets = [1, 2, 3.5, 4]\nlaw = "permute_and_flip"\nconstant = "theorem_3"\n',
        lambda: best_selection(AbsoluteError(QUERIES, np.array([1, 2, 3.5, 4])), TWO, "permute_and_flip", "theorem_3"),
    ),
    "targets of a file, and a rate": (
        ASKED + UNIFORM + '[selection]\nscore = "closeness"\ntargets = "targets.csv"\nrate = 0.125\n',
        lambda: Selection(Closeness(QUERIES, np.array([1.0, 2, 3, 4])), ONE, 0.125),
    ),
    "rows of targets": (
        ASKED
        + UNIFORM
        + '[selection]\nscore = "largest_error"\ntargets = [[1, 2, 3, 4], [4, 3, 2, 1]]\ncandidates = ["x", "y"]\n',
        lambda: best_selection(LargestError(QUERIES, np.array([[1.0, 2, 3, 4], [4, 3, 2, 1]]), ["x", "y"]), ONE),
    ),
    "rows of targets of a file": (
        ASKED + UNIFORM + '[selection]\nscore = "largest_error"\ntargets = "rows.csv"\n',
        lambda: best_selection(LargestError(QUERIES, np.array([[1.0, 2, 3, 4], [4, 3, 2, 1]])), ONE),
    ),
    "under a public total": (
        ASKED + '[invariant]\ntotal = true\n[relation]\nepsilon = 1\n[selection]\nscore = "linear"\n',
        lambda: best_selection(Linear(QUERIES), invariants.total(4).protect(1.0)),
    ),
    "a table of scores": (
        UNIFORM + '[selection]\nscore = "tabulated"\ntable = "scores.csv"\nrecords = 2\nelements = ["a", "b"]\n',
        lambda: best_selection(written_out(), metrics.uniform(2, 1.0)),
    ),
    "a table of scores, elements of a table": (
        '[elements]\ntable = "elements.csv"\nnames = ["name"]\n'
        + UNIFORM
        + '[selection]\nscore = "tabulated"\ntable = "scores.csv"\nrecords = 2\ncandidates = ["many", "one"]\n',
        lambda: best_selection(written_out(), metrics.uniform(2, 1.0)),
    ),
}
SYNTHETIC: dict[str, tuple[str, Callable[[], FrozenMechanism]]] = {
    "as it comes": (ASKED + UNIFORM + KNOWN, lambda: mwem(problem())),
    "all said": (
        ASKED + HAMMING + KNOWN + '[mwem]\nrounds = 3\nchoice = "1/3"\nselection = "permute_and_flip"\noutput = "replay"\n',
        lambda: mwem(problem(TWO), 3, selection="permute_and_flip", output="replay", choice=Fraction(1, 3)),
    ),
    "shares of each round": (
        ASKED + UNIFORM + KNOWN + '[mwem]\nshares = [["1/20", "1/20"], [0.25, "1/3"]]\noutput = "last"\n[preprocessing]\nconstant = 2\n',
        lambda: MWEM(
            mwem(problem(), 2, constant=2.0).queries,
            100,
            ((Fraction(1, 20), Fraction(1, 20)), (Fraction(1, 4), Fraction(1, 3))),
            output="last",
        ),
    ),
    "the least bound": (
        ASKED + HAMMING + MANY_RECORDS + '[mwem]\nrounds = 3\n[preprocessing]\nconstant = "optimal"\nexponent = -20\nbeta = 0.1\n',
        lambda: optimal(mwem_price(problem(TWO, 10000), 0.1)),
    ),
    "the price of theorem 6": (
        ASKED + HAMMING + MANY_RECORDS + '[mwem]\nrounds = 3\n[preprocessing]\nconstant = "optimal"\nexponent = -20\nprice = "theorem_6"\n',
        lambda: optimal(theorem_6_price(problem(TWO, 10000))),
    ),
    "the price of theorem 8": (
        ASKED + HAMMING + MANY_RECORDS + '[mwem]\nrounds = 3\n[preprocessing]\nconstant = "optimal"\nexponent = -20\nprice = "theorem_8"\n',
        lambda: optimal(theorem_8_price(problem(TWO, 10000))),
    ),
    "a solver of CVXPY": (
        ASKED + HAMMING + KNOWN.replace("100", "1000") + '[mwem]\nrounds = 2\n[preprocessing]\nconstant = "optimal"\nsolver = "HIGHS"\n',
        lambda: PreprocessingProgram(Problem(QUERIES, TWO, records=1000), "mwem", size=2).design("HIGHS"),
    ),
}  # fmt: skip
SMALL: dict[str, tuple[str, Callable[[], FrozenMechanism]]] = {
    "of a size": (
        ASKED + UNIFORM + KNOWN + '[small_db]\nsize = 4\nselection = "permute_and_flip"\n',
        lambda: small_db(problem(), 4, selection="permute_and_flip"),
    ),
    "the least bound on a coarse grid": (
        ASKED + HAMMING + KNOWN.replace("100", "1000") + '[small_db]\nsize = 3\n[preprocessing]\nconstant = "optimal"\nexponent = 0\n',
        lambda: SmallDB(
            prepared(Problem(QUERIES, TWO, records=1000), small_db_price(Problem(QUERIES, TWO, records=1000)), "optimal", 0)[0],
            1000,
            3,
        ),
    ),
}  # fmt: skip
OF_ROWS: dict[str, tuple[str, Callable[[], FrozenMechanism]]] = {
    "separable": (
        AVERAGES + BUDGETS + '[problem]\nrecords = 50\n[design]\nfamily = "separable"\n',
        lambda: separable(averages(), 50),
    ),
    "squared, weights by name": (
        AVERAGES + BUDGETS + '[problem]\nrecords = 50\nweights = {women = 3}\n[design]\nfamily = "squared_averages"\n',
        lambda: squared_averages(averages(), 50, {"women": 3}),
    ),
    "a family of linear queries, weights in order": (
        AVERAGES + BUDGETS + '[problem]\nweights = [1, 3]\n[design]\nfamily = "laplace"\n',
        lambda: design(averages().problem(weights=[1.0, 3.0]), "laplace").mechanism,
    ),
    "sums of terms, tables and arrays": (
        AVERAGES
        + 'paid = {of = ["sex", "age"], table = "paid.csv", column = "wage"}\n'
        + 'both = {terms = [{of = "age", values = [1, 2, 3]}, {of = ["sex", "age"], values = [[1, 0, 0], [0, 0, 1]]}]}\n'
        + BUDGETS
        + '[design]\nfamily = "laplace"\n',
        lambda: (
            design(
                averages(
                    paid=(("sex", "age"), lambda sex, age: int(age) + (sex == "F") / 2),
                    both=[("age", [1, 2, 3]), (("sex", "age"), [[1, 0, 0], [0, 0, 1]])],
                ).problem(),
                "laplace",
            ).mechanism
        ),
    ),
    "a metric for each attribute": (
        AVERAGES
        + '[relation]\nmetric = "product"\n[relation.attributes]\nsex = {metric = "uniform", epsilon = 0.5}\n'
        + 'age = {metric = "line", values = [20, 30, 50], period = 10, epsilon = 1}\njob = {metric = "uniform", epsilon = 1}\n'
        + '[problem]\nrecords = 50\n[design]\nfamily = "separable"\n',
        lambda: separable(
            StatisticalQueries.of(
                MANY,
                {"mean age": ("age", float), "women": ("sex", {"F": 1, "M": 0})},
                {"sex": 0.5, "age": metrics.line([20, 30, 50], period=10, epsilon=1.0), "job": 1.0},
            ),
            50,
        ),
    ),
    "a solver of CVXPY": (
        AVERAGES + BUDGETS + '[problem]\nrecords = 50\n[design]\nfamily = "separable"\nsolver = "CLARABEL"\n',
        lambda: StatisticalProgram(averages(), 50).design("CLARABEL").mechanism,
    ),
}
TESTS: dict[str, tuple[str, Callable[[], FrozenMechanism]]] = {
    "pure": (TABLE + '[promise]\nkind = "epsilon_delta"\nepsilon = "1/3"\n', lambda: odds(EpsilonDelta("1/3"))),
    "with delta": (
        TABLE + '[promise]\nkind = "epsilon_delta"\nepsilon = 1\ndelta = 0.125\n[test]\nadjacency = 2\nexponent = 20\n',
        lambda: odds(EpsilonDelta(1, 0.125), adjacency=2, exponent=20),
    ),
    "normal": (TABLE + '[promise]\nkind = "gaussian"\nmu = 0.5\n', lambda: odds(Gaussian.of(0.5))),
    "normal, squared": (TABLE + '[promise]\nkind = "gaussian"\nmu_squared = "1/3"\n', lambda: odds(Gaussian("1/3"))),
    "Laplace, built": (
        TABLE + '[promise]\nkind = "laplace"\nepsilon = 1\n[test]\nnoise = "piecewise"\n',
        lambda: odds(LaplaceTradeoff(1), noise="piecewise"),
    ),
    "corners": (
        TABLE + '[promise]\nkind = "piecewise_linear"\nalphas = [0, "1/4", 1]\nbetas = [1, "1/4", 0]\n',
        lambda: odds(PiecewiseLinear((0, "1/4", 1), (1, "1/4", 0))),
    ),
    "a group": (
        TABLE + '[promise]\nkind = "epsilon_delta"\nepsilon = 0.5\ngroup = 2\n',
        lambda: odds(EpsilonDelta(0.5).group(2)),
    ),
}
KINDS = {
    "selection": SELECTIONS,
    "mwem": SYNTHETIC,
    "small_db": SMALL,
    "statistical_queries": OF_ROWS,
    "odds_ratio_test": TESTS,
    "own_report": REPORTS,
}
GOOD = {(kind, name): f'kind = "{kind}"\n{text}' for kind, cases in KINDS.items() for name, (text, _) in cases.items()}
MAKERS = {(kind, name): maker for kind, cases in KINDS.items() for name, (_, maker) in cases.items()}
VALIDATOR = jsonschema.Draft202012Validator(problem_schema())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Everything that the files name."""
    (tmp_path / "targets.csv").write_text("1\n2\n3\n4\n")
    (tmp_path / "prior.csv").write_text("0.5\n0.25\n0.125\n0.125\n")
    (tmp_path / "rows.csv").write_text("1,2,3,4\n4,3,2,1\n")
    (tmp_path / "scores.csv").write_text(SCORES)
    (tmp_path / "elements.csv").write_text("name\na\nb\n")
    paid = [f"{age},{sex},{age + (sex == 'F') / 2}" for age in (50, 20, 30) for sex in "FM"]
    (tmp_path / "paid.csv").write_text("age,sex,wage\n" + "\n".join(paid) + "\n")
    return tmp_path


def made(folder: Path, text: str) -> FrozenMechanism:
    (folder / "problem.toml").write_text(text, encoding="utf-8")
    return read_request(folder / "problem.toml").made().mechanism


def reads(folder: Path, data: dict[str, Any]) -> bool:
    path = folder / "problem.toml"
    path.write_text("".join(f"{name} = {as_toml(section)}\n" for name, section in data.items()), encoding="utf-8")
    try:
        read_request(path)
    except InvalidProblem as error:
        assert str(error).startswith(f"{path}: "), error
        return False
    return True


@pytest.mark.parametrize("case", GOOD, ids=" ".join)
def test_a_file_makes_what_python_makes(case: tuple[str, str], folder: Path) -> None:
    mechanism = made(folder, GOOD[case])
    assert mechanism.fingerprint == MAKERS[case]().fingerprint
    request = read_request(folder / "problem.toml")
    assert request.kind == case[0] and all(str(value) for value in request.description().values())
    assert request.accuracy_lines(mechanism) and all(path.is_file() for path in request.files)


def test_files_beside_the_problem_are_named_so_that_no_output_replaces_them(folder: Path) -> None:
    (folder / "problem.toml").write_text(GOOD["statistical_queries", "sums of terms, tables and arrays"])
    assert [path.name for path in read_request(folder / "problem.toml").files] == ["problem.toml", "paid.csv"]
    (folder / "problem.toml").write_text(GOOD["selection", "a table of scores, elements of a table"])
    assert {path.name for path in read_request(folder / "problem.toml").files} == {"problem.toml", "scores.csv", "elements.csv"}


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_the_law_of_a_selection_from_a_file_is_that_of_the_definition(law: str, folder: Path) -> None:
    text = GOOD["selection", "a table of scores"] + f'law = "{law}"\n'
    selection = made(folder, text)
    assert isinstance(selection, Selection)
    table = {(0, 2): [1, 1], (1, 1): [2, 1], (2, 0): [1, 1.5]}
    laws = {}
    for counts, scores in table.items():
        expected = [float(p) for p in BY_DEFINITION[law]([Fraction(s) for s in scores], Fraction(selection.rate))]
        laws[counts] = selection.probabilities(counts)
        assert laws[counts] == pytest.approx(expected, rel=1e-12)
    # Privacy by enumeration: one record moves between the two elements, with budget 1.
    for left, right in (((0, 2), (1, 1)), ((1, 1), (2, 0))):
        assert np.abs(np.log(laws[left] / laws[right])).max() <= 1 + 1e-9


def test_the_test_from_a_file_has_the_p_values_of_a_direct_sum(folder: Path) -> None:
    """Discrete Laplace plus a uniform number on (-1/2, 1/2) beside Fisher's law at odds ratio 1, written out."""
    test = made(folder, GOOD["odds_ratio_test", "pure"])
    assert isinstance(test, OddsRatioTest)
    b = exp(-1 / 3)

    def above(gap: float) -> float:
        """P(N >= gap), summed over the whole part of N."""
        weights = {k: (1 - b) / (1 + b) * b ** abs(k) for k in range(-200, 201)}
        return sum(weight * min(1.0, max(0.0, k + 0.5 - gap)) for k, weight in weights.items())

    for statistic in (-1.25, 2.0, 3.375, 6.5):
        pmf = {x: comb(6, x) * comb(4, 5 - x) / comb(10, 5) for x in range(1, 6)}
        direct = sum(p * above(statistic - x) for x, p in pmf.items())
        released = test._release_of(int(statistic * 2**40))
        assert isclose(released.p_greater, direct, rel_tol=1e-9)


BAD = [  # kind, name of a good file, what is replaced by what, and what the refusal must say
    ("selection", "the largest count", '"linear"', '"liner"', "[selection] score = 'liner'", "perhaps 'linear' is meant"),
    ("selection", "the largest count", '"linear"', '"scores.py:best"', "[selection] score", "is a Python function"),
    ("selection", "the largest count", "score =", "law =", "[selection] score is missing", "tabulated"),
    ("selection", "the largest count", '"linear"\n', '"linear"\nlaw = "exponental"', "law = 'exponental'", "'exponential' is meant"),
    ("selection", "the largest count", '"linear"\n', '"linear"\ntargets = [1]', "[selection] targets: 1 for 4", "give one for each"),
    ("selection", "the largest count", '"linear"\n', '"linear"\ncandidates = ["a"]', "[selection] candidates = ['a']", "unknown key"),
    ("selection", "the largest count", "[selection]", "[selecton]", "[selecton] is unknown", "perhaps 'selection' is meant"),
    ("selection", "the largest count", '"uniform"', '"unifrom"', "[relation] metric = 'unifrom'", "perhaps 'uniform' is meant"),
    ("selection", "the largest count", ASKED, CITY, "section [workload] is missing", "give the queries"),
    ("selection", "the largest count", "marginals", "tables", "[workload] tables = ", "give one of ['matrix'"),
    ("selection", "targets of a file, and a rate", "rate = 0.125", "rate = 0", "[selection] rate = 0", "of at least 1e-140"),
    ("selection", "targets of a file, and a rate", "rate", 'constant = "range"\nrate', "[selection] constant = 'range'", "gives one"),
    ("selection", "targets of a file, and a rate", "targets.csv", "rows.csv", "[selection] targets = 'rows.csv'", "one row or one"),
    ("selection", "targets of a file, and a rate", "targets.csv", "none.csv", "none.csv: no such file", "relative to the file"),
    ("selection", "rows of targets", "[4, 3, 2, 1]", "[4, 3, 2]", "[selection] targets", "give"),
    ("selection", "rows of targets", '["x", "y"]', '["x"]', "[selection] named: 1 names for 2 entries", "give one name"),
    ("selection", "a table of scores", "records = 2", "records = 3", "row 1, (0, 2), is no histogram of 3", "give each one row"),
    ("selection", "a table of scores", '["a", "b"]', '["a", "c"]', "no column 'c'", "its columns are"),
    ("selection", "a table of scores", "records = 2", 'records = 2\ncandidates = ["any"]', "candidates = 'any'", "no column of scores"),
    ("selection", "a table of scores", UNIFORM, UNIFORM + ASKED, "[selection] score = 'tabulated'", "leave [workload] out"),
    ("selection", "a table of scores, elements of a table", "records", 'elements = ["a"]\nrecords', "elements = ['a']", "leave it out"),
    ("mwem", "as it comes", "records = 100", "record = 100", "[problem] record = 100: unknown key", "perhaps 'records' is meant"),
    ("mwem", "as it comes", "records = 100", "records = 1.5", "[problem] records = 1.5", "a whole number"),
    ("mwem", "as it comes", KNOWN, "", "problem is missing", "records"),
    ("mwem", "as it comes", '"uniform"', '"add_remove"', "hides the number of records", "use a metric"),
    ("mwem", "all said", '"1/3"', '"4/3"', "[mwem] choice: 4/3", "between 0 and 1"),
    ("mwem", "all said", '"1/3"', '"third"', "[mwem] choice: 'third'", "a text like '1/3'"),
    ("mwem", "all said", "rounds = 3", "rounds = 0", "[mwem] rounds = 0", "of at least 1"),
    ("mwem", "all said", '"replay"', '"reply"', "[mwem] output = 'reply'", "perhaps 'replay' is meant"),
    ("mwem", "shares of each round", "output", "rounds = 2\noutput", "[mwem] rounds = 2", "leave one of the two out"),
    ("mwem", "shares of each round", '"1/3"]]', '"1"]]', "1.3499", "at most 1"),
    ("mwem", "shares of each round", "constant = 2", "constant = 0", "[preprocessing] constant = 0", "above 0"),
    ("mwem", "the price of theorem 8", '"theorem_8"', '"theorem_8"\nbeta = 0.1', "[preprocessing] beta: 0.1", "leave it out"),
    ("mwem", "the least bound", 'constant = "optimal"', 'solver = "SCS"', "[preprocessing] solver: 'SCS'", "say 'optimal'"),
    ("mwem", "the least bound", "beta = 0.1", "beta = 1", "[preprocessing] beta = 1", "below 1"),
    ("small_db", "of a size", "size = 4", "size = 4.5", "[small_db] size = 4.5", "a whole number"),
    ("small_db", "of a size", "size", "sise", "[small_db] sise = 4", "perhaps 'size' is meant"),
    ("statistical_queries", "separable", '"number"', '"numbers"', "[statistics.mean age] values = 'numbers'", "'number'"),
    ("statistical_queries", "separable", '{of = "age", values = "number"}', '"mean(age)"', "[statistics] mean age", "Python function"),
    ("statistical_queries", "separable", "F = 1", "f = 1", "[statistics] women = 'f'", "is no value of sex"),
    ("statistical_queries", "separable", "F = 1, M = 0", "F = 1", "statistics[women]: has no number for ('M',)", "every combination"),
    ("statistical_queries", "separable", 'of = "age"', 'of = "aeg"', "has no attribute 'aeg'", "perhaps 'age' is meant"),
    ("statistical_queries", "separable", "20, 30, 50", '20, 30, "old"', "[statistics] mean age = 'old'", "give values = {..}"),
    ("statistical_queries", "separable", "job = inf", "jobs = inf", "jobs", "job"),
    ("statistical_queries", "separable", BUDGETS, '[relation]\nmetric = "add_remove"\nepsilon = 1\n', "'add_remove'", "use another"),
    ("statistical_queries", "separable", "records = 50", "records = 0.5", "[problem] records: 0.5", "from 1 to 2^53"),
    ("statistical_queries", "separable", "F = 1", "F = 1e200", "[statistics] women = 1e+200", "in units in which they are moderate"),
    ("statistical_queries", "separable", "records = 50", "", "[problem] records: is missing", "separable"),
    ("statistical_queries", "separable", "records = 50", 'records = 50\nnotion = "zcdp"', "notion: 'zcdp'", "leave it out"),
    ("statistical_queries", "squared, weights by name", "women = 3", "men = 3", "[problem] weights = 'men'", "perhaps 'women'"),
    ("statistical_queries", "a family of linear queries, weights in order", "[1, 3]", "[1]", "weights = [1]", "one for each"),
    ("statistical_queries", "sums of terms, tables and arrays", '"wage"', '"wages"', "no column 'wages'", "perhaps 'wage' is meant"),
    ("statistical_queries", "sums of terms, tables and arrays", '"paid.csv"', '"rows.csv"', "[statistics] paid = 'rows.csv'", "columns"),
    ("statistical_queries", "sums of terms, tables and arrays", "[[1, 0, 0], [0, 0, 1]]", "[[1, 0, 0]]", "statistics[both]", "shape"),
    ("odds_ratio_test", "pure", "rows = [6, 4]", "rows = [6, 5]", "[margins] columns: add up to 10, rows to 11", "both must be"),
    ("odds_ratio_test", "pure", "rows = [6, 4]", "rows = [6]", "[margins] rows = [6]", "at least 2"),
    ("odds_ratio_test", "pure", "[6, 4]", "[10, 0]", "[test] margins", "nothing to protect"),
    ("odds_ratio_test", "pure", '"epsilon_delta"', '"epsilondelta"', "[promise] kind = 'epsilondelta'", "'epsilon_delta' is meant"),
    ("odds_ratio_test", "pure", '"1/3"', '"a third"', "[promise] epsilon: 'a third'", "a text like '1/3'"),
    ("odds_ratio_test", "pure", '"1/3"', "-1", "[promise] epsilon = -1", "of at least 0"),
    ("odds_ratio_test", "normal", "mu = 0.5", "mu = 0.5\nmu_squared = 1", "[promise]", "give exactly one"),
    ("odds_ratio_test", "with delta", "adjacency = 2", "adjacency = 4", "[test] adjacency = 4", "use one of [2, 3]"),
    ("odds_ratio_test", "corners", '[1, "1/4", 0]', '[1, "1/2", 0]', "[promise] betas: are not symmetric", "let (b, a) be a corner"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "old", "new", "place", "remedy"), BAD)
def test_what_is_wrong_is_refused_with_its_place_and_a_remedy(
    kind: str, name: str, old: str, new: str, place: str, remedy: str, folder: Path
) -> None:
    text = GOOD[kind, name]
    assert old in text
    with pytest.raises((InvalidProblem, NotPrivate)) as refused:
        made(folder, text.replace(old, new, 1))
    told = str(refused.value)
    assert place in told and remedy in told and "\n" not in told, told
    assert isinstance(refused.value, NotPrivate) or "problem.toml" in told or ".csv" in told


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (SCORES.replace("1,1,2,1", "2,0,2,1"), "stands there twice"),
        (SCORES.replace("1,1,2,1\n", ""), "has 2 histograms of 2 records, of 3"),
        (SCORES.replace("1,1,2,1", "1,1,two,1"), "column many, row 2 is no number"),
        (SCORES.replace("1,1,2,1", "1.5,0.5,2,1"), "column a, row 2 is no whole number"),
        (SCORES.replace("1,1,2,1", "-1,3,2,1"), "is no histogram of 2 records"),
    ],
)
def test_a_table_of_scores_that_is_not_whole_is_refused(rows: str, told: str, folder: Path) -> None:
    (folder / "scores.csv").write_text(rows)
    with pytest.raises(InvalidProblem, match=r"\[selection\] table = 'scores.csv'") as refused:
        made(folder, GOOD["selection", "a table of scores"])
    assert told in str(refused.value)


def test_a_table_of_scores_without_a_column_of_an_element_is_refused(folder: Path) -> None:
    (folder / "scores.csv").write_text(SCORES.replace("a,b,", "a,bb,"))
    told = (
        r"\[selection\] table = 'scores.csv': has no column 'b' of counts; perhaps 'bb' is meant; its columns are \['a', 'bb'"
    )
    with pytest.raises(InvalidProblem, match=told):
        made(folder, GOOD["selection", "a table of scores"])


def test_options_of_the_caller_stand_before_those_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside its own solver the file's options stay; with another solver they are gone."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def kept(_: object, solver: str, **options: Any) -> Any:
        asked.append((solver, options))
        return SimpleNamespace(mechanism=None)

    monkeypatch.setattr(StatisticalProgram, "design", kept)
    head = f'kind = "statistical_queries"\n{AVERAGES}{BUDGETS}[problem]\nrecords = 50\n[design]\nfamily = "separable"\n'
    for more in ("", 'solver = "SCS"\n', 'solver = "SCS"\nsolver_options = {eps_abs = 1e-5, max_iters = 9}\n'):
        (folder / "problem.toml").write_text(head + more)
        request = read_request(folder / "problem.toml")
        request.make(Choices(solver="CLARABEL", solver_options={"max_iter": 7}))
        if more:
            request.make(Choices(solver_options={"max_iters": 8}))
    other = ("CLARABEL", {"max_iter": 7})
    assert asked == [other, other, ("SCS", {"max_iters": 8}), other, ("SCS", {"eps_abs": 1e-5, "max_iters": 8})]


def test_what_no_mechanism_can_do_says_so(folder: Path) -> None:
    text = GOOD["mwem", "the least bound"].replace("records = 10000", "records = 1")
    with pytest.raises(DesignFailed, match="constant='unbiased'"):
        made(folder, text)
    for kind, family in (("selection", "the largest count"), ("odds_ratio_test", "pure")):
        (folder / "problem.toml").write_text(GOOD[kind, family])
        with pytest.raises(InvalidProblem, match=f"budget: does not go with a file of kind '{kind}'"):
            read_request(folder / "problem.toml").least()


@pytest.mark.parametrize("case", GOOD, ids=" ".join)
def test_schema_and_reader_agree(case: tuple[str, str], folder: Path) -> None:
    """What is good fits the schema; unknown keys, and values of another type, are refused by both; what the reader takes,
    the schema takes."""
    data = tomllib.loads(GOOD[case])
    VALIDATOR.validate(as_json(data))
    assert reads(folder, data)
    for path in [(), *closed_tables({name: part for name, part in data.items() if name != "statistics"})]:
        more = deepcopy(data)
        at(more, path)["unknown"] = 1
        assert not VALIDATOR.is_valid(as_json(more)) and not reads(folder, more), path
        for key, value in at(data, path).items():
            for other in ({"unknown": {}}, True, -1, [], None):
                if type(other) is type(value) or (key, other) == ("design", {"unknown": {}}):
                    continue
                mutant = deepcopy(data)
                at(mutant, path)[key] = other
                if other is None:
                    del at(mutant, path)[key]
                assert VALIDATOR.is_valid(as_json(mutant)) or not reads(folder, mutant), (path, key, other)
