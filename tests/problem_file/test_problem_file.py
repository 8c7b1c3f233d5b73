"""Problem files: every builder and metric, and every mistake answered by file, key, value and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from designer import InvalidProblem, Workload, design, metrics, read_problem
from designer.base.json_text import plain
from designer.problem.histogram import Keys
from tests.problem_file.good_files import write

TABLE = "name,state,lat,lon,elevation,bad\nA,X,40.5,-74,10,1\nB,X,41.5,-75,20,\nC,Y,42.5,-76,30,x\n"
ELEMENTS = '[elements]\ntable = "cities.csv"\nnames = ["name", "state"]\n'
DOMAIN = '[domain]\nsex = ["F", "M"]\nage = 3\n'
UNIFORM = '[relation]\nmetric = "uniform"\nepsilon = 0.5\n'
IDENTITY = '[workload]\nbuilder = "identity"\nsize = 3\n'
HAMMING = '[relation]\nmetric = "hamming"\nbudgets = {sex = 0.5, age = inf}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cities.csv").write_text(TABLE)
    (tmp_path / "q.csv").write_text("a,b,c\n1,0,2\n0,1,0.5\n")
    (tmp_path / "plain.csv").write_text("1,0,2\n0,1,0.5\n")
    (tmp_path / "d.csv").write_text("0,1,2\n1,0,inf\n2,inf,0\n".replace("inf", "1"))
    (tmp_path / "open.csv").write_text("0,1,9\n1,0,1\n9,1,0\n")
    np.save(tmp_path / "q.npy", np.array([[1.0, 0, 2], [0, 1, 0.5]]))
    np.save(tmp_path / "complex.npy", np.array([[1j, 0, 2]]))
    np.save(tmp_path / "flat.npy", np.ones(3))
    np.save(tmp_path / "text.npy", np.array([["1", "2", "3"]]))
    np.save(tmp_path / "objects.npy", np.array([[{}, 1, 2]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "large.npy", np.array([[2**53 + 1, 1, 2]]))
    np.savez(tmp_path / "archive", a=np.ones((1, 3)))
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "bomb.npy").write_bytes(
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000000), }".ljust(117)
        + b"\n"
    )
    for name, content in (
        ("empty.csv", b""),
        ("header.csv", b"a,b,c\n"),
        ("ragged.csv", b"1,2,3\n1,2\n"),
        ("text.csv", b"1,2,3\n1,x,3\n"),
        ("binary.csv", bytes(range(256))),
        ("zero.csv", b"1,2,3\n\0,1,2\n"),
        ("twice.csv", b"name,name\na,b\n"),
        ("odd.txt", b"1,2,3\n"),
        ("broken.parquet", b"PAR1"),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.csv").mkdir()
    return tmp_path


CITIES = Keys(("name", "state"), (("A", "X"), ("B", "X"), ("C", "Y")))
PLACES = [[40.5, -74.0], [41.5, -75.0], [42.5, -76.0]]
GOOD: dict[str, tuple[str, Workload | None, dict[str, object] | None]] = {
    "identity": (IDENTITY + UNIFORM, Workload.identity(3), metrics.uniform(3, 0.5).to_spec()),
    "prefix": (IDENTITY.replace("identity", "prefix") + UNIFORM, Workload.prefix(3), None),
    "all_ranges": (IDENTITY.replace("identity", "all_ranges") + UNIFORM, Workload.all_ranges(3), None),
    "total": (
        IDENTITY.replace("identity", "total") + UNIFORM.replace("uniform", "add_remove"),
        Workload.total(3),
        None,
    ),
    "ranges by position": (
        "[workload]\nranges = [[0, 1], [1, 2]]\nsize = 3\n" + UNIFORM,
        Workload([[1, 1, 0], [0, 1, 1]], ["e0..e1", "e1..e2"]),
        None,
    ),
    "ranges by name": (
        ELEMENTS + '[workload]\nranges = [["A, X", "B, X"], ["C, Y", 2]]\n' + UNIFORM,
        Workload([[1, 1, 0], [0, 0, 1]], ["A, X..B, X", "C, Y..C, Y"], keys=CITIES),
        None,
    ),
    "partition by column": (
        ELEMENTS + '[workload]\npartition = "state"\n' + UNIFORM,
        Workload([[1, 1, 0], [0, 0, 1]], ["X", "Y"], keys=CITIES),
        None,
    ),
    "levels": (
        ELEMENTS + '[workload]\nlevels = ["state", "name"]\n' + UNIFORM,
        Workload(
            [[1, 1, 1], [1, 1, 0], [0, 0, 1], *np.eye(3)],
            ["total", "state=X", "state=Y", "name=A", "name=B", "name=C"],
            keys=CITIES,
            levels=Keys(("state", "name"), (("", ""), ("X", ""), ("Y", ""), ("X", "A"), ("X", "B"), ("Y", "C"))),
        ),
        None,
    ),
    "partition as a list": (
        '[workload]\npartition = ["b", "a", "b"]\nnames = ["two", "one"]\n' + UNIFORM,
        Workload([[1, 0, 1], [0, 1, 0]], ["two", "one"]),
        None,
    ),
    "random": (
        '[workload]\nbuilder = "random"\nqueries = 2\nsize = 4\nkind = "binary"\nseed = 7\n' + UNIFORM,
        Workload.random(2, 4, "binary", 7),
        None,
    ),
    "csv with header": (
        '[workload]\nmatrix = "q.csv"\nnames = ["x", "y"]\n' + UNIFORM,
        Workload([[1, 0, 2], [0, 1, 0.5]], ["x", "y"]),
        None,
    ),
    "csv": ('[workload]\nmatrix = "plain.csv"\n' + UNIFORM, Workload([[1, 0, 2], [0, 1, 0.5]]), None),
    "npy": ('[workload]\nmatrix = "q.npy"\n' + UNIFORM, Workload([[1, 0, 2], [0, 1, 0.5]]), None),
    "columns": (
        ELEMENTS + '[workload]\ncolumns = ["lat", "elevation"]\n' + UNIFORM,
        Workload([[40.5, 41.5, 42.5], [10, 20, 30]], ["lat", "elevation"], keys=CITIES),
        None,
    ),
    "great_circle": (
        ELEMENTS
        + '[workload]\nbuilder = "identity"\n[relation]\nmetric = "great_circle"\npoints = ["lat", "lon"]\nper_km = 1\n',
        Workload(np.eye(3), ["A, X", "B, X", "C, Y"], keys=CITIES),
        plain(metrics.great_circle(PLACES, 1).to_spec()),
    ),
    "euclidean": (
        ELEMENTS + IDENTITY + '[relation]\nmetric = "euclidean"\npoints = ["lat", "lon"]\nper_unit = 0.1\n',
        None,
        plain(metrics.euclidean(PLACES, 0.1).to_spec()),
    ),
    "line": (
        ELEMENTS + IDENTITY + '[relation]\nmetric = "euclidean"\npoints = ["elevation"]\nper_unit = 0.1\n',
        None,
        plain(metrics.euclidean([10, 20, 30], 0.1).to_spec()),
    ),
    "matrix": (
        IDENTITY + '[relation]\nmetric = "matrix"\nmatrix = "d.csv"\n',
        None,
        plain(metrics.from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]]).to_spec()),
    ),
    "closure": (IDENTITY + '[relation]\nmetric = "matrix"\nmatrix = "open.csv"\nclosure = true\n', None, None),
    "add_remove": (
        IDENTITY + '[relation]\nmetric = "add_remove"\nepsilon = 2\n',
        None,
        plain(metrics.add_remove(3, 2).to_spec()),
    ),
    "own epsilons": (
        IDENTITY + '[relation]\nmetric = "add_remove"\nepsilons = [1, 2.5, inf]\n',
        None,
        plain(metrics.add_remove(3, [1, 2.5, math.inf]).to_spec()),
    ),
    "predicates": (DOMAIN + '[workload]\npredicates = {men = {sex = "M"}, young = {age = [0, 1]}}\n' + HAMMING, None, None),
    "marginals": (DOMAIN + '[workload]\nmarginals = [["sex"], ["sex", "age"], []]\n' + HAMMING, None, None),
    "all options": (
        'title = "T"\n'
        + IDENTITY
        + UNIFORM
        + '[problem]\nloss = "absolute"\nnotion = "pure"\nrecords = 10\nweights = [1, 2, 3]\nallow_vacuous = false\n'
        '[design]\nfamily = "laplace"\ntolerance = 1e-6\n',
        None,
        None,
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read_and_designed(name: str, folder: Path) -> None:
    text, workload, relation = GOOD[name]
    file = read_problem(write(folder, text))
    assert workload is None or file.problem.workload == workload
    assert relation is None or plain(file.problem.relation.to_spec()) == plain(relation)
    # A file that names no family is read alike whatever it is designed by: one that costs nothing.
    cheap = {"pure": "laplace", "zcdp": "gaussian"}[file.problem.notion]
    made = design(file.problem, cheap if file.family == "auto" else file.family, **file.options)
    assert made.privacy.holds


def test_parquet(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"name": ["A", "B", "C"], "state": ["X", "Y", "Z"], "lat": [1.0, 2.0, 3.0], "lon": [1, 2, 3]})
    parquet.write_table(table, folder / "cities.parquet")
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "b": [0.5, 3.0], "c": [1, 1]}), folder / "q.parquet")
    parquet.write_table(pyarrow.table({"a": [2**53 + 1], "b": [1], "c": [2]}), folder / "large.parquet")
    parquet.write_table(pyarrow.table({"a": ["x"], "b": ["y"], "c": ["z"]}), folder / "text.parquet")
    parquet.write_table(pyarrow.table({}), folder / "none.parquet")
    elements = ELEMENTS.replace(".csv", ".parquet")
    file = read_problem(write(folder, elements + '[workload]\ncolumns = ["lat"]\n' + UNIFORM))
    assert file.problem.workload.dense().tolist() == [[1, 2, 3]]
    assert read_problem(write(folder, '[workload]\nmatrix = "q.parquet"\n' + UNIFORM)).problem.workload.dense().tolist() == [
        [1, 0.5, 1],
        [2, 3, 1],
    ]
    for name in ("large", "text", "none", "broken"):
        with pytest.raises(InvalidProblem, match=f"{name}.parquet"):
            read_problem(write(folder, f'[workload]\nmatrix = "{name}.parquet"\n' + UNIFORM))
    with pytest.raises(InvalidProblem):
        read_problem(write(folder, elements.replace("cities", "none") + '[workload]\nbuilder = "identity"\n' + UNIFORM))


def matrix(name: str) -> str:
    return f'[workload]\nmatrix = "{name}"\n' + UNIFORM


BAD: dict[str, tuple[str, list[str]]] = {
    "not TOML": ("[workload", ["is not TOML"]),
    "key twice": ("title = 1\ntitle = 2", ["is not TOML"]),
    "long integer": ("title = " + "9" * 10_000, ["is not TOML"]),
    "deep": ("a = " + "[" * 100_000, ["is not TOML"]),
    "empty": ("", ["section [workload] is missing"]),
    "no relation": (IDENTITY, ["section [relation] is missing"]),
    "unknown section": (IDENTITY + UNIFORM + "[querys]\na = 1\n", ["[querys] is unknown", "workload"]),
    "section as value": ("workload = 3\n" + UNIFORM, ["workload = 3", "[workload]"]),
    "unknown key": (IDENTITY + "sise = 3\n" + UNIFORM, ["[workload] sise = 3", "unknown key"]),
    "key of another builder": (IDENTITY + "seed = 3\n" + UNIFORM, ["[workload] seed = 3", "unknown key"]),
    "unknown problem key": (IDENTITY + UNIFORM + '[problem]\nlos = "max"\n', ["[problem] los = 'max'", "loss"]),
    "no queries": ('[workload]\nnames = ["a"]\n' + UNIFORM, ["[workload]", "exactly one of"]),
    "two workloads": (IDENTITY + 'matrix = "q.csv"\n' + UNIFORM, ["'matrix', 'builder'", "exactly one of"]),
    "unknown builder": (IDENTITY.replace("identity", "eye") + UNIFORM, ["builder = 'eye'", "identity"]),
    "builder of another type": ("[workload]\nbuilder = 3\nsize = 3\n" + UNIFORM, ["builder = 3", "a text"]),
    "no size": ('[workload]\nbuilder = "prefix"\n' + UNIFORM, ["[workload] size is missing", "whole number"]),
    "size 0": (IDENTITY.replace("3", "0") + UNIFORM, ["universe: 0"]),
    "size as text": (IDENTITY.replace("3", '"3"') + UNIFORM, ["size = '3'", "whole number"]),
    "size true": (IDENTITY.replace("3", "true") + UNIFORM, ["size = True", "whole number"]),
    "size 10^12": (IDENTITY.replace("3", "1000000000000") + UNIFORM, ["more than"]),
    "range backwards": ("[workload]\nranges = [[2, 1]]\nsize = 3\n" + UNIFORM, ["ranges = [2, 1]", "goes backwards"]),
    "range beyond": ("[workload]\nranges = [[2, 3]]\nsize = 3\n" + UNIFORM, ["ranges = [2, 3]", "beyond the 3 elements"]),
    "range of three": ("[workload]\nranges = [[0, 1, 2]]\nsize = 3\n" + UNIFORM, ["the first and the last element"]),
    "range of nobody": (
        ELEMENTS + '[workload]\nranges = [["A, X", "B, Y"]]\n' + UNIFORM,
        ["ranges = 'B, Y'", "is no element", "its position from 0 on"],
    ),
    "range below": ("[workload]\nranges = [[-1, 1]]\nsize = 3\n" + UNIFORM, ["ranges = -1", "is no element"]),
    "no ranges": ("[workload]\nranges = []\nsize = 3\n" + UNIFORM, ["ranges = []", "the first and the last"]),
    "partition of others": (ELEMENTS + '[workload]\npartition = ["a"]\n' + UNIFORM, ["partition = 1", "for 3 elements"]),
    "partition by no column": (ELEMENTS + '[workload]\npartition = "stat"\n' + UNIFORM, ["partition = 'stat'", "state"]),
    "no levels": (ELEMENTS + "[workload]\nlevels = []\n" + UNIFORM, ["levels = []", "at least one column"]),
    "levels as a text": (ELEMENTS + '[workload]\nlevels = "state"\n' + UNIFORM, ["levels = 'state'", "a list"]),
    "a level twice": (ELEMENTS + '[workload]\nlevels = ["state", "state"]\n' + UNIFORM, ["names 'state' twice"]),
    "an unknown level": (ELEMENTS + '[workload]\nlevels = ["stat"]\n' + UNIFORM, ["levels = 'stat'", "'state' is meant"]),
    "an empty level": (ELEMENTS + '[workload]\nlevels = ["bad"]\n' + UNIFORM, ["[workload] levels: bad is empty in row 2"]),
    "levels from fine to coarse": (
        ELEMENTS + '[workload]\nlevels = ["name", "state"]\n' + UNIFORM,
        ["state 'X' lies in name 'A' and in name 'B'", "from coarse to fine"],
    ),
    "levels without a table": ('[workload]\nlevels = ["state"]\n' + UNIFORM, ["section [elements] is missing"]),
    "names of levels": (ELEMENTS + '[workload]\nlevels = ["state"]\nnames = ["a"]\n' + UNIFORM, ["[workload] names", "unknown key"]),
    "random without seed": ('[workload]\nbuilder = "random"\nqueries = 2\nsize = 3\n' + UNIFORM, ["seed is missing"]),
    "negative seed": ('[workload]\nbuilder = "random"\nqueries = 2\nsize = 3\nseed = -1\n' + UNIFORM, ["seed: -1"]),
    "unknown kind": ('[workload]\nbuilder = "random"\nqueries = 2\nsize = 3\nseed = 1\nkind = "x"\n' + UNIFORM, ["kind: 'x'", "binary"]),
    "wrong number of names": (IDENTITY + 'names = ["a"]\n' + UNIFORM, ["workload.queries: 1 names for 3"]),
    "names twice": (IDENTITY + 'names = ["a", "a", "b"]\n' + UNIFORM, ["'a' appears twice"]),
    "unknown metric": (IDENTITY + '[relation]\nmetric = "mahalanobis"\n', ["metric = 'mahalanobis'", "euclidean"]),
    "no metric": (IDENTITY + "[relation]\nepsilon = 1\n", ["[relation] metric is missing"]),
    "metric as list": (IDENTITY + '[relation]\nmetric = ["uniform"]\n', ["metric = ['uniform']"]),
    "key of another metric": (IDENTITY + UNIFORM + "per_km = 1\n", ["per_km = 1", "does not go with metric 'uniform'"]),
    "no epsilon": (IDENTITY + '[relation]\nmetric = "uniform"\n', ["[relation] epsilon is missing"]),
    "epsilon as text": (IDENTITY + UNIFORM.replace("0.5", '"0.5"'), ["epsilon = '0.5'", "a number"]),
    "epsilon true": (IDENTITY + UNIFORM.replace("0.5", "true"), ["epsilon = True"]),
    "epsilon 0": (IDENTITY + UNIFORM.replace("0.5", "0"), ["epsilon", "positive"]),
    "epsilon nan": (IDENTITY + UNIFORM.replace("0.5", "nan"), ["epsilon", "positive"]),
    "epsilon inf": (IDENTITY + UNIFORM.replace("0.5", "inf"), ["epsilon", "positive"]),
    "epsilon 10^400": (IDENTITY + UNIFORM.replace("0.5", "1" + "0" * 400), ["epsilon", "positive"]),
    "epsilon and epsilons": (IDENTITY + '[relation]\nmetric = "add_remove"\nepsilon = 1\nepsilons = [1, 1, 1]\n', ["epsilons", "not both"]),
    "epsilons short": (IDENTITY + '[relation]\nmetric = "add_remove"\nepsilons = [1]\n', ["1 budgets for 3 elements"]),
    "epsilons as text": (IDENTITY + '[relation]\nmetric = "add_remove"\nepsilons = ["1", "1", "1"]\n', ["epsilons[0]", "positive number"]),
    "open triangle": (IDENTITY + '[relation]\nmetric = "matrix"\nmatrix = "open.csv"\n', ["d(0, 2) = 9.0", "closure=True"]),
    "closure as text": (IDENTITY + '[relation]\nmetric = "matrix"\nmatrix = "d.csv"\nclosure = "yes"\n', ["closure = 'yes'", "true or false"]),
    "matrix not square": (IDENTITY + '[relation]\nmetric = "matrix"\nmatrix = "q.csv"\n', ["shape (2, 3)", "square"]),
    "points without table": (IDENTITY + '[relation]\nmetric = "euclidean"\npoints = ["x"]\nper_unit = 1\n', ["section [elements] is missing"]),
    "points of another type": (ELEMENTS + IDENTITY + '[relation]\nmetric = "euclidean"\npoints = [["lat"]]\nper_unit = 1\n', ["points", "texts in quotes"]),
    "no points": (ELEMENTS + IDENTITY + '[relation]\nmetric = "euclidean"\npoints = []\nper_unit = 1\n', ["points = []", "at least one column"]),
    "unknown column": (ELEMENTS + '[workload]\ncolumns = ["height"]\n' + UNIFORM, ["cities.csv", "no column 'height'", "elevation"]),
    "empty cell": (ELEMENTS + '[workload]\ncolumns = ["bad"]\n' + UNIFORM, ["cities.csv", "'bad'", "data row 2"]),
    "column of text": (ELEMENTS + '[workload]\ncolumns = ["name"]\n' + UNIFORM, ["'name'", "data row 1"]),
    "three columns of places": (ELEMENTS + IDENTITY + (
        '[relation]\nmetric = "great_circle"\npoints = '
        '["lat", "lon", "lat"]\nper_km = 1\n'
    ), ["3 columns"]),
    "swapped places": (
        ELEMENTS.replace("cities", "west") + IDENTITY + (
            '[relation]\nmetric = "great_circle"\npoints = '
            '["lon", "lat"]\nper_km = 1\n'
        ),
        ["latitude -118.0", "latitude comes first"],
    ),
    "names of another type": (ELEMENTS.replace('["name", "state"]', "[[1]]") + IDENTITY + UNIFORM, ["[elements] names = [[1]]", "no column"]),
    "unknown name column": (ELEMENTS.replace('"state"', '"town"') + IDENTITY + UNIFORM, ["no column 'town'"]),
    "names not distinct": (ELEMENTS.replace('"name", "state"', '"state"') + IDENTITY + UNIFORM, ["'X' names two rows", "[domain]"]),
    "missing table": (ELEMENTS.replace("cities", "towns") + IDENTITY + (
        '[relation]\nmetric = "euclidean"\npoints '
        '= ["x"]\nper_unit = 1\n'
    ), ["towns.csv: no such file"]),
    "column names twice": (ELEMENTS.replace("cities", "twice") + IDENTITY + UNIFORM, ["twice.csv", "appears twice"]),
    "queries of a table by values": ('[elements]\ntable = "t.csv"\n[workload]\nmarginals = [["sex"]]\n' + UNIFORM, ["columns = [..]"]),
    "no domain": ('[workload]\nmarginals = [["sex"]]\n' + UNIFORM, ["section [domain] is missing"]),
    "domain of text": ('[domain]\nsex = "FM"\n[workload]\nmarginals = [["sex"]]\n' + UNIFORM, ["attribute 'sex'", "'FM'"]),
    "domain of a float": ("[domain]\nage = 2.5\n[workload]\nmarginals = [[]]\n" + UNIFORM, ["attribute 'age'", "2.5"]),
    "domain beyond memory": ("[domain]\nage = 99999999999\n[workload]\nmarginals = [[]]\n" + UNIFORM, ["attribute 'age'"]),
    "domain product beyond memory": (
        "[domain]\na = 10000\nb = 10000\nc = 10000\n[workload]\nmarginals = [[]]\n" + UNIFORM,
        ["1000000000000 elements", "more than"],
    ),
    "marginals of text": (DOMAIN + '[workload]\nmarginals = ["sex"]\n' + HAMMING, ["marginals = ['sex']", "lists of attributes"]),
    "marginals of numbers": (DOMAIN + "[workload]\nmarginals = [1]\n" + HAMMING, ["marginals = [1]"]),
    "no marginals": (DOMAIN + "[workload]\nmarginals = []\n" + HAMMING, ["marginals = []"]),
    "unknown attribute": (DOMAIN + '[workload]\nmarginals = [["town"]]\n' + HAMMING, ["attribute: 'town'"]),
    "predicates of numbers": (DOMAIN + "[workload]\npredicates = {a = 3}\n" + HAMMING, ["predicates = {'a': 3}"]),
    "no predicates": (DOMAIN + "[workload]\npredicates = {}\n" + HAMMING, ["predicates = {}"]),
    "unknown value": (DOMAIN + "[workload]\npredicates = {a = {age = 7}}\n" + HAMMING, ["value: 7", "'age'"]),
    "budgets of other attributes": (DOMAIN + '[workload]\nmarginals = [["sex"]]\n' + HAMMING.replace("sex =", "sax ="), ["['age', 'sax']"]),
    "budget of text": (DOMAIN + '[workload]\nmarginals = [["sex"]]\n' + HAMMING.replace("0.5", '"a"'), ["budgets[sex]: 'a'"]),
    "unknown loss": (IDENTITY + UNIFORM + '[problem]\nloss = "cubic"\n', ["problem.loss: 'cubic'", "squared"]),
    "loss of another type": (IDENTITY + UNIFORM + "[problem]\nloss = [1]\n", ["problem.loss: [1]"]),
    "unknown notion": (IDENTITY + UNIFORM + '[problem]\nnotion = "local"\n', ["problem.notion"]),
    "records of text": (IDENTITY + UNIFORM + '[problem]\nrecords = "many"\n', ["problem.records: 'many'"]),
    "weights short": (IDENTITY + UNIFORM + "[problem]\nweights = [1]\n", ["problem.weights: 1 weights"]),
    "a weight of 0": (
        ELEMENTS + '[workload]\nlevels = ["state"]\n' + UNIFORM + "[problem]\nweights = [1, 0, 1]\n",
        ["problem.weights: 3 weights, 0.0 for 'state=X'", "positive weight"],
    ),
    "weights of text": (IDENTITY + UNIFORM + '[problem]\nweights = "abc"\n', ["problem.weights"]),
    "vacuous of text": (IDENTITY + UNIFORM + '[problem]\nallow_vacuous = "no"\n', ["allow_vacuous = 'no'", "true or false"]),
    "family of another type": (IDENTITY + UNIFORM + "[design]\nfamily = 3\n", ["[design] family = 3"]),
    "budget before the sections": ("epsilon = 1.0\n" + IDENTITY + UNIFORM, ["the key epsilon = 1.0 stands before the first section", "[relation]"]),
    "title misspelt": ('titel = "T"\n' + IDENTITY + UNIFORM, ["'title' is meant"]),
    "section misspelt": (IDENTITY + UNIFORM + "[target]\nmargin = 1\n", ["section [target] is unknown", "'targets' is meant"]),
    "builder as a key": ("[workload]\nidentity = true\n" + UNIFORM, ['[workload] has ["identity"]'.replace('"', "'"), 'write builder = "identity"']),
    "builder as a kind": ('[workload]\nkind = "prefix"\n' + UNIFORM, ['write builder = "prefix"']),
    "builder misspelt": (IDENTITY.replace("identity", "identiy") + UNIFORM, ["'identity' is meant"]),
    "metric misspelt": (IDENTITY + UNIFORM.replace("uniform", "unifrom"), ["'uniform' is meant"]),
    "the key of the metric misspelt": (IDENTITY + UNIFORM.replace("metric", "metrik"), ["metrik = 'uniform'", "'metric' is meant", "metric is missing"]),
    "budget without metric or invariant": (IDENTITY + "[relation]\nepsilon = 1\n", ["metric is missing", "[invariant]", 'metric = "uniform"']),
    "key of a metric misspelt": (IDENTITY + UNIFORM.replace("epsilon", "epsilom"), ["'epsilon' is meant"]),
    "column misspelt": (ELEMENTS.replace('"name", "state"', '"nam"') + IDENTITY + UNIFORM, ["no column 'nam'", "'name' is meant"]),
    "sizes disagree": (IDENTITY + '[relation]\nmetric = "add_remove"\nepsilons = [1, 2]\n', ["2 budgets for 3"]),
    "missing matrix": (matrix("none.csv"), ["none.csv: no such file", "relative"]),
    "matrix is a folder": (matrix("folder.csv"), ["folder.csv: no such file"]),
    "matrix of another type": (matrix("odd.txt"), ["odd.txt", "'.txt'", ".npy"]),
    "zero byte in a name": (matrix("a\\u0000.csv"), ["no such file"]),
    **{
        f"matrix {name}": (matrix(name), [name])
        for name in (
            "empty.csv", "header.csv", "ragged.csv", "text.csv", "binary.csv", "zero.csv", "complex.npy", "flat.npy", "text.npy", "objects.npy",
            "large.npy", "archive.npy", "empty.npy", "bomb.npy", "broken.parquet",
        )
    },
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_answered_by_file_key_value_and_remedy(name: str, folder: Path) -> None:
    (folder / "west.csv").write_text("name,state,lat,lon\nA,X,34.0,-118.0\nB,X,34.5,-117\nC,Y,34.2,-116\n")
    text, expected = BAD[name]
    path = write(folder, text)
    with pytest.raises(InvalidProblem) as refusal:
        read_problem(path)
    message = str(refusal.value)
    assert str(path) in message
    for part in expected:
        assert part in message
    assert "np." not in message
    assert len(message) < 1500


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda f: f / "none.toml", "cannot be read"),
        (lambda f: f, "cannot be read"),
        (lambda f: f / "binary.csv", "is not TOML"),
        (lambda f: f / "q.npy", "is an array (NPY), not a problem file (TOML)"),
        (lambda f: f / "empty.csv", "section [workload] is missing"),
    ],
)
def test_other_files_are_refused(make: Callable[[Path], Path], text: str, folder: Path) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        read_problem(make(folder))
    assert text in str(refusal.value)
    assert str(make(folder)) in str(refusal.value)


@pytest.mark.parametrize("option", ['tolerance = "a"', "tolerance = 0", "tolerance = nan", "tolerance = true", "speed = 1"])
def test_bad_options_of_a_family_are_refused(option: str, folder: Path) -> None:
    file = read_problem(write(folder, IDENTITY + UNIFORM + f'[design]\nfamily = "laplace"\n{option}\n'))
    with pytest.raises(InvalidProblem, match="options"):
        design(file.problem, file.family, **file.options)


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, matrix("q.csv"))
    monkeypatch.chdir(folder.parent)
    assert read_problem(f"{folder.name}/problem.toml").problem.workload.shape == (2, 3)
