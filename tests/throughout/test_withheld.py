"""A canary in confidential data: whatever fails on the way to a release, no message,
no chain of exceptions and no printed traceback holds it."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    Counts,
    Domain,
    InvalidProblem,
    Problem,
    StatisticalQueries,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.base.errors import WITHHELD, hides_data_in_errors
from designer.cli import main
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.relations.metrics.presence import Presence
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import mwem
from designer.synthetic.small_databases import small_db
from designer.tables import Condition, Count, CountDistinct, Groups, Measure, Quantile, Sum, TablePlan
from designer.tradeoff.functions import EpsilonDelta

SECRET = "SECRET-7431"
PEOPLE = Domain.of({"sex": ["F", "M"], "place": ["here", "there"]})
BY_SEX = Groups(["sex"], [["F"], ["M"]])


@cache
def by_counts() -> dict[str, Any]:
    """Everything that releases from counts, by its format."""
    vague, bell = metrics.uniform(3, 1e-2), invariants.total(3).protect(1.0, 1)
    asked = Workload([[1.0, 0, 0.5], [0, 2.0, 1.0]])
    return {
        "mechanism": design(Problem(asked, vague), "laplace").mechanism,
        "lattice-mechanism": design(Problem(Workload.identity(3), bell), "lattice_laplace", shape="l1").mechanism,
        "odds-ratio-test": OddsRatioTest(Margins((15, 9), (13, 11)), EpsilonDelta("1/10")),
        "mwem": mwem(Problem(asked, metrics.uniform(3, 1.0), records=60), rounds=2, constant="unbiased"),
        "small-db": small_db(Problem(asked, metrics.uniform(3, 1.0), records=60), size=3, constant="unbiased", exponent=-1),
        "selection": best_selection(Linear(asked), vague),
    }


@cache
def by_records() -> dict[str, Any]:
    """Everything that releases from records."""
    emp = Measure("emp", upper=100)
    queries = (
        Count("n", BY_SEX, variance=1),
        CountDistinct("d", Groups(), (Condition("place", "==", "here"),), variance=1, of="place"),
        Sum("s", BY_SEX, variance=1, measure=emp),
        Quantile("q", BY_SEX, (), emp, 0.5, (0, 10), "1/4"),
    )
    workload = MarginalWorkload.of(PEOPLE, [["sex", "place"]])
    return {"table-plan": TablePlan(queries), "marginals": design_marginals(workload, Presence(mu=1.0))}


def held(error: BaseException) -> str:
    """All that an exception and its chain say, and what Python prints of it."""
    said, waiting, seen = [], [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            said += [repr(one), repr(one.args), repr(getattr(one, "__notes__", ""))]
            waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
    return "\n".join([*said, *traceback.format_exception(error)])


def refused(send: Callable[[], Any]) -> str:
    with pytest.raises(InvalidProblem) as caught:
        send()
    assert SECRET not in held(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    return str(caught.value)


def fail(*_: object, **__: object) -> Any:
    try:
        raise LookupError(f"inner {SECRET}")
    except LookupError as error:
        raise RuntimeError(f"Original Line: M,{SECRET},there") from error


class Hostile:
    """Data whose every use fails with a message that quotes them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return fail()

    __array__ = __iter__ = __len__ = __getitem__ = __str__ = __float__ = __int__ = __index__ = __bool__ = __eq__ = fail  # type: ignore[assignment]
    __hash__ = __contains__ = fail  # type: ignore[assignment]

    def __repr__(self) -> str:
        return SECRET


class HostileText(str):
    """A value that is one of the domain until it is read."""

    __str__ = __hash__ = __eq__ = fail  # type: ignore[assignment]


@pytest.mark.parametrize("name", list(by_counts()))
def test_data_that_fail_when_they_are_read_as_counts(name: str) -> None:
    send = by_counts()[name].release
    for data in (
        Hostile(),
        [Hostile()] * 3,
        [[Hostile(), 1], [2, 3]],
        [SECRET, 1, 2],
        [[SECRET, 1], [2, 3]],
        SECRET,
        {SECRET: 1},
    ):
        refused(lambda data=data: send(data))


def test_data_that_fail_when_they_are_read_as_records() -> None:
    marginals = by_records()["marginals"]
    columns: list[Any] = [
        Hostile(),
        {"sex": Hostile(), "place": ["here"]},
        {"sex": [Hostile()], "place": ["here"]},
        {"sex": [SECRET], "place": ["here"]},
        type("Frame", (dict,), {"__getitem__": fail})(sex=["F"], place=["here"]),
    ]
    for given in columns:
        refused(lambda given=given: marginals.release(given))
    marginals.release(
        {"sex": [HostileText("F")], "place": ["here"]}
    )  # its characters are read, and nothing of its own is called
    tables: list[Any] = [Hostile(), {("sex", "place"): Hostile()}, {("sex", "place"): [[Hostile(), 1], [2, 3]]}]
    for given in [*tables, {("sex", "place"): [[SECRET, 1], [2, 3]]}, {("sex", "place"): [[SECRET], [1, 2]]}]:
        refused(lambda given=given: marginals.release(Counts(given)))
    for made in by_records().values():
        send = made.release
        refused(lambda send=send: send(Hostile()))
    means = StatisticalQueries.of(PEOPLE, {"sex": ("sex", lambda value: float(value == "F"))}, {"sex": 1.0, "place": 1.0})
    noise = design(means.problem(), "laplace").mechanism
    for given in (
        Hostile(),
        {"sex": [SECRET], "place": ["here"]},
        {"sex": Hostile(), "place": ["here"]},
        {"sex": [Hostile()], "place": [1]},
    ):
        refused(lambda given=given: means.release(noise, given))


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Records, one of which no reader of integers, or of short lines, takes."""
    path = tmp_path / "records.csv"
    path.write_text("sex,place,emp\nF,here,1\n" + "M,there,2\n" * 3000 + f"M,{SECRET},there,{SECRET}\n")
    return path


def engine_tables(path: Path) -> Iterator[tuple[str, Any]]:
    """Tables of engines that fail in the middle of a query, or later."""
    import ibis

    engine = ibis.duckdb.connect()
    columns = {"sex": "VARCHAR", "place": "VARCHAR", "emp": "INTEGER"}
    yield "a line that is too long", engine.read_csv(str(path), auto_detect=False, header=True, columns=columns, delim=",")
    engine.raw_sql(
        f"CREATE TABLE texts AS SELECT sex, place, sex AS emp FROM (VALUES ('7', 'here'), ('{SECRET}', '{SECRET}')) AS "
        "t(sex, place)"
    )
    texts = engine.table("texts")
    yield "a cast that fails", texts.mutate(emp=texts.emp.cast("int64"), sex=texts.sex.cast("int64").cast("string"))
    gone = path.parent / "gone.csv"
    gone.write_text(path.read_text())
    table = open_quietly(engine, gone)
    gone.unlink()
    yield "a file that is gone", table.mutate(emp=table.emp.try_cast("int64"))


def open_quietly(engine: Any, path: Path) -> Any:
    columns = {"sex": "VARCHAR", "place": "VARCHAR", "emp": "VARCHAR"}
    return engine.read_csv(str(path), auto_detect=False, header=True, columns=columns, delim=",")


@pytest.mark.parametrize("name", list(by_records()))
def test_engines_that_fail_in_the_middle_of_a_query(name: str, lines: Path) -> None:
    pytest.importorskip("ibis")
    made = by_records()[name]
    sends = [made.release] + ([lambda table, **rows: made.simulate(1, data=table, **rows)] if name == "table-plan" else [])
    for _, table in engine_tables(lines):
        with pytest.raises(Exception, match=r"SECRET|gone") as own:
            table.to_pyarrow()
        assert not isinstance(own.value, InvalidProblem)
        for send, options in product(sends, ({}, {"unit": "visit"}, {"entity": "place", "rows_per_entity": 2})):
            refused(lambda send=send, table=table, options=options: send(table, **options))


def specs(folder: Path, made: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    for name, one in made.items():
        yield name, one.save(folder / f"{name}.json")


def canaries(folder: Path) -> list[Path]:
    """Files of counts or records that are damaged, or of the wrong kind, with the canary in them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    good, whole = (
        folder / "good.parquet",
        pa.table({"sex": ["F"] * 50, "place": [SECRET] * 50, "emp": [1] * 50, "count": [SECRET] * 50}),
    )
    pq.write_table(whole, good, compression="none")
    raw = good.read_bytes()
    given: dict[str, bytes] = {
        "text.csv": f"count,sex,place,emp\n{SECRET},{SECRET},{SECRET},{SECRET}\n".encode(),
        "ragged.csv": f"count\n1\n2,{SECRET}\n{SECRET}\n".encode(),
        "bytes.csv": f"count,sex,place,emp\n1,F,{SECRET},".encode() + b"\xff\xfe\n",
        "quote.csv": f'count,sex,place,emp\n"1,F,{SECRET}\n'.encode(),
        "headless.csv": f"{SECRET}\n{SECRET},{SECRET}\n".encode(),
        "zero.csv": f"count,sex,place,emp\n1,F\0,{SECRET},3\n".encode(),
        "text.parquet": SECRET.encode() * 20,
        "cut.parquet": raw[: len(raw) // 2],
        "bent.parquet": raw[:60] + SECRET.encode() + raw[60 + len(SECRET) :],
        "shifted.parquet": raw[:-120] + SECRET.encode() + raw[-120 + len(SECRET) :],
        "text.npy": b"\x93NUMPY\x01\x00v\x00"
        + f"{{'descr': '{SECRET}', 'fortran_order': False, 'shape': (3,)}}".encode().ljust(118)
        + b"\n",
        "head.npy": b"\x93NUMPY\x01\x00v\x00" + f"{{'{SECRET}': 3".encode().ljust(118) + b"\n",
        "strings.npy": b"",
    }
    for name, content in given.items():
        (folder / name).write_bytes(content)
    np.save(folder / "strings.npy", np.array([SECRET, SECRET, SECRET]))
    return [good, *(folder / name for name in given)]


@pytest.mark.parametrize("kind", ["counts", "records"])
def test_files_on_the_command_line(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No line of the two streams holds the canary, and every run ends with a code of its own: no traceback."""
    pytest.importorskip("ibis")
    option, made = ("--histogram", by_counts()) if kind == "counts" else ("--table", by_records())
    ended = set()
    for _, spec in specs(tmp_path, made):
        for path in canaries(tmp_path):
            for more in ([], ["--column", "count"]) if kind == "counts" else ([],):
                code = main(["release", str(spec), option, str(path), *more])
                out, err = capfd.readouterr()
                assert SECRET not in out + err, (spec.name, path.name)
                assert "Traceback" not in err and code in (0, 2), (spec.name, path.name)
                ended.add(code)
    assert 2 in ended


def test_a_process_that_dies_of_it_prints_no_canary(tmp_path: Path, lines: Path) -> None:
    """The traceback on the standard error of a Python that catches nothing."""
    pytest.importorskip("ibis")
    spec = by_records()["marginals"].save(tmp_path / "marginals.json")
    code = f"""
import ibis, designer
columns = {{"sex": "VARCHAR", "place": "VARCHAR"}}
table = ibis.duckdb.connect().read_csv({str(lines)!r}, auto_detect=False, header=True, delim=",", columns=columns)
designer.load({str(spec)!r}).release(table)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" in done.stderr and "InvalidProblem" in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_the_wrapper_keeps_refusals_and_forgets_their_chain() -> None:
    @hides_data_in_errors
    def read(error: BaseException | None) -> int:
        if error is None:
            return 7
        try:
            fail()
        except RuntimeError:
            raise error from None
        return 0

    assert read(None) == 7
    assert refused(lambda: read(InvalidProblem("a fixed text"))) == "a fixed text"
    assert refused(lambda: read(ValueError(SECRET))) == WITHHELD
    assert "memory" in refused(lambda: read(MemoryError(SECRET)))
    with pytest.raises(KeyboardInterrupt) as stopped:
        read(KeyboardInterrupt(SECRET))
    assert SECRET not in held(stopped.value)
    with pytest.raises(TypeError, match="missing a required argument"):
        read()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "wrong", [{}, {"data": Hostile()}, {"given": Hostile(), "unit": 1}, [Hostile(), Hostile()], [SECRET, "unit"]], ids=str
)
def test_wrong_arguments_are_a_type_error_that_says_nothing_of_data(wrong: Any) -> None:
    """Also where the arguments are data whose every use fails; and what is right is called once, and not looked at before."""
    made = by_counts()["mechanism"]
    positional, named = (wrong, {}) if isinstance(wrong, list) else ([], wrong)
    for guarded in (made.release, made._release_counts, hides_data_in_errors(lambda given, /, *, unit=None: fail())):
        with pytest.raises(TypeError) as caught:
            guarded(*positional, **named)
        assert SECRET not in held(caught.value) and "records" not in str(caught.value)
    called: list[object] = []
    assert hides_data_in_errors(called.append)(0) is None and called == [0]  # type: ignore[func-returns-value]
