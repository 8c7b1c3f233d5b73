"""The jobs of `examples/office`, read back by readers that others wrote: codes, labels, order, numbers, units, periods."""

from __future__ import annotations

import csv
import json
import math
import runpy
import tomllib
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from designer import load
from designer.base.answer_table import AnswerTable
from designer.cli import main
from designer.files.releases import read_release
from designer.mechanism import derived
from designer.mechanism.derived import Ratios
from designer.problem.reading import UNSAID
from designer.relations.records.row_unit import RowUnit
from designer.sampling.entropy import SystemEntropy
from designer.tables.answers import TableRelease
from designer.tables.scans import noisy_answers

pytest.importorskip("pyreadstat")
FOLDER = Path(__file__).parents[2] / "examples" / "office"
RECORDS = {"survey": "survey.sav", "firms": "firms.dta", "persons": "persons.xlsx"}
Labels = dict[str, dict[str, str]]


@dataclass
class Found:
    """What a reader finds in a table. labels: by column and code, in order. cells: answers by codes, in order."""

    title: str
    unit: str
    period: str
    labels: Labels
    cells: dict[tuple[str, ...], float] = field(default_factory=dict)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder, with the records."""
    folder = tmp_path_factory.mktemp("office")
    for path in FOLDER.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    with chdir(folder):
        runpy.run_path("make_files.py", run_name="__main__")
    return folder


def released(office: Path, job: str) -> tuple[str, str]:
    """The spec and the release of a job, made once."""
    spec = office / f"{job}.json"
    if not spec.exists():
        assert main(["design", str(office / f"{job}.toml"), "-o", str(spec)]) == 0
        assert main(["release", str(spec), "--table", str(office / RECORDS[job]), "-o", f"{office / job}/"]) == 0
    return str(spec), str(office / job / "release.json")


def by_openpyxl(folder: Path, index: dict[str, Any]) -> dict[str, Found]:
    book = pytest.importorskip("openpyxl").load_workbook(folder / "tables.xlsx")
    found = {}
    for sheet, known in zip(book, index["tables"], strict=True):
        rows = list(sheet.iter_rows(values_only=True))
        first = next(k for k, row in enumerate(rows) if not any(row)) + 1
        said = dict(row[0].split(": ", 1) for row in rows[1:first] if row[0])
        header, below = rows[first], rows[first + 1 :]
        names = [name for name in header[: header.index("answer")] if not name.endswith("_label")]
        at = {name: header.index(name) for name in (*names, "answer")}
        labels = {
            name: {row[at[name]]: row[at[name] + (header[at[name] + 1] == f"{name}_label")] for row in below} for name in names
        }
        own = found[known["name"]] = Found(rows[0][0], said["Unit"], said["Period"], labels)
        own.cells = {tuple(row[at[name]] for name in names): row[at["answer"]] for row in below}
        assert not any(row[header.index("status")] for row in below)
    return found


def by_pyjstat(folder: Path, index: dict[str, Any]) -> dict[str, Found]:
    pyjstat = pytest.importorskip("pyjstat.pyjstat")
    found = {}
    for known in index["tables"]:
        text = (folder / known["file"]).read_text()
        frames = [pyjstat.Dataset.read(text).write("dataframe", naming=naming) for naming in ("id", "label")]
        given, names = json.loads(text), [name for name in frames[0] if name not in ("period", "measure", "value")]
        assert "status" not in given
        labels = {name: dict(zip(frames[0][name], frames[1][name], strict=True)) for name in names}
        (period,) = set(frames[0]["period"])
        unit = given["dimension"]["measure"]["category"]["unit"]["answer"]["label"]
        own = found[known["name"]] = Found(given["label"], unit, period, labels)
        rows = frames[0][frames[0]["measure"] == "answer"].to_dict("records")
        own.cells = {tuple(row[name] for name in names): row["value"] for row in rows}
    return found


def by_pyaxis(folder: Path, index: dict[str, Any]) -> dict[str, Found]:
    pyaxis = pytest.importorskip("pyaxis.pyaxis")
    found = {}
    for known in index["tables"]:
        parsed = pyaxis.parse(str(folder / known["file"]), "utf-8")
        said, names = parsed["METADATA"], [name for name in parsed["DATA"] if name not in ("measure", "DATA")]
        labels = {name: dict(zip(said[f"CODES({name})"], said[f"VALUES({name})"], strict=True)) for name in names}
        codes = {name: {label: code for code, label in own.items()} for name, own in labels.items()}
        own = found[known["name"]] = Found(said["TITLE"][0], said["UNITS"][0], said["REFPERIOD"][0], labels)
        rows = parsed["DATA"][parsed["DATA"]["measure"] == "answer"].to_dict("records")
        own.cells = {tuple(codes[name][row[name]] for name in names): float(row["DATA"]) for row in rows}
    return found


def by_sdmx1(folder: Path, index: dict[str, Any]) -> dict[str, Found]:
    sdmx = pytest.importorskip("sdmx")
    from sdmx.model import v30

    found = {}
    for known in index["tables"]:
        path = folder / known["file"]
        header = next(csv.reader(path.open()))
        structure = v30.DataStructureDefinition(id=known["name"])
        names = header[3 : header.index("OBS_VALUE")]
        for name in names:
            structure.dimensions.getdefault(id=name)
        structure.measures.getdefault(id="OBS_VALUE")
        for name in header[header.index("OBS_VALUE") + 1 :]:
            structure.attributes.getdefault(id=name)
        read = sdmx.read_sdmx(str(path), structure=structure).data[0].obs
        (unit,) = {str(one.attached_attribute["UNIT_MEASURE"].value) for one in read}
        (period,) = {one.dimension["TIME_PERIOD"].value for one in read}
        assert {str(one.attached_attribute["OBS_STATUS"].value) for one in read} == {"A"}
        own = found[known["name"]] = Found("", unit, period, {})
        keys = [tuple(one.dimension[name].value for name in names if name != "TIME_PERIOD") for one in read]
        own.cells = {key: float(one.value) for key, one in zip(keys, read, strict=True)}
    return found


READERS: dict[str, tuple[str, Callable[[Path, dict[str, Any]], dict[str, Found]]]] = {
    "openpyxl": ("xlsx", by_openpyxl),
    "pyjstat": ("json-stat", by_pyjstat),
    "pyaxis": ("px", by_pyaxis),
    "sdmx1": ("sdmx-csv", by_sdmx1),
}


@pytest.mark.parametrize("job", RECORDS)
@pytest.mark.parametrize("reader", READERS)
def test_foreign_readers_find_what_was_released(reader: str, job: str, office: Path) -> None:
    kind, read = READERS[reader]
    made = office / f"{job}_{kind}"
    spec, release = released(office, job)
    assert main(["tables", spec, release, "-o", f"{made}/", "--format", kind, "--digits", "all"]) == 0
    found = read(made, json.loads((made / "tables.json").read_text()))
    asked = tomllib.loads((FOLDER / f"{job}.toml").read_text())
    stated = {**asked.get("domain", {}), **asked.get("columns", {})}
    about, units = asked["about"], asked["about"]["units"]
    tables = read_release(spec, release).answer_tables()
    assert [*found] == [table.name for table in tables]
    for table in tables:
        own, columns = found[table.name], table.columns
        keys = [tuple(map(str, key)) for key in table.keys]
        if job == "persons" and kind in ("json-stat", "px"):
            columns, keys = columns[-1:], [key[-1:] for key in keys]
        assert [*own.cells] == keys
        digits = 16 if kind == "xlsx" else 17  # what a workbook holds
        assert [*own.cells.values()] == [float(f"{answer:.{digits}G}") for answer in table.answers.tolist()]
        assert own.unit == (units if isinstance(units, str) else units[table.name]) and own.period == about["period"]
        if kind == "sdmx-csv":
            continue
        assert own.title == f"{asked['title']}: {table.name}" and [*own.labels] == [*columns]
        before = [""] * len(keys)
        if len(columns) < len(table.columns):
            part = {"N": "North", "S": "South"}
            before = ["".join(f"{code} / " for code in (part[str(key[0])], *key[1:-1])) for key in table.keys]
        for place, name in enumerate(columns):
            known = stated.get(name, {}).get("labels", {})
            known = dict(csv.reader((office / known).open())) if isinstance(known, str) else known
            expected = {key[place]: up + known.get(key[place], key[place]) for up, key in zip(before, keys, strict=True)}
            assert [*own.labels[name].items()] == [*expected.items()]


def kept_survey(made: dict[str, Any]) -> pd.DataFrame:
    """The first two persons of each household who answered, as the codes and bins of the problem file."""
    frame = made["survey"](np.random.default_rng(made["SEED"]))
    frame = frame[frame["work"] != 98].groupby("household").head(2)
    age = pd.cut(frame["age"], [0, 15, 25, 45, 65, 200], right=False, labels=["0-14", "15-24", "25-44", "45-64", "65+"])
    return frame.astype(str).assign(age=age.astype(str)).drop(columns="household")


def all_firms(made: dict[str, Any]) -> pd.DataFrame:
    random = np.random.default_rng(made["SEED"])
    made["survey"](random)
    frame = made["firms"](random)
    return frame.assign(size=frame["size"].astype(str))


def without_noise(table: AnswerTable, frame: pd.DataFrame) -> list[float]:
    """What pandas counts and adds up."""
    bounds = {"employees": 1000, "turnover": 100_000}
    by = frame.groupby(list(table.columns))
    summed = by[table.name].apply(lambda own: own.clip(0, bounds[table.name]).sum()) if table.name in bounds else by.size()
    held = {key if isinstance(key, tuple) else (key,): value for key, value in summed.to_dict().items()}
    return [float(held.get(key, 0)) for key in table.keys]


@pytest.mark.nightly
@pytest.mark.parametrize("job", ["firms", "survey"])
def test_every_interval_holds_what_was_counted_as_often_as_it_says(
    office: Path, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 2,000 releases: five deviations below the level are less than 1 in a million for each number."""
    draws = 2000
    monkeypatch.setattr(derived, "LARGEST_SAMPLE", 3000)
    derived._drawn.cache_clear()
    mechanism = load(released(office, job)[0])
    mechanism = mechanism.described(replace(mechanism.about, records=UNSAID))
    makers = runpy.run_path(str(FOLDER / "make_files.py"))
    frame = kept_survey(makers) if job == "survey" else all_firms(makers)
    ratios = [Ratios.of(mechanism, own) for own in tomllib.loads((FOLDER / f"{job}.toml").read_text()).get("derived", [])]
    one = mechanism.release(frame)
    true = {table.name: without_noise(table, frame) for table in one.answer_tables()}
    if job == "firms":
        firms = np.array(true["firms by sector"])
        true["turnover per employee"] = (np.array(true["turnover"]) / np.array(true["employees"])).tolist()
        true["share of firms"] = (100 * firms / firms.sum()).tolist()
        counted = mechanism._exact(frame, RowUnit())
    held = {name: np.zeros(len(values)) for name, values in true.items()}
    for _ in range(draws):
        if job == "firms":
            answers = noisy_answers(mechanism.queries, mechanism.noisy, counted, SystemEntropy())
            one = TableRelease(answers, mechanism.guarantee, mechanism.fingerprint, law=mechanism)
        else:
            one = mechanism.release(frame)
        for table in (*one.answer_tables(), *(own.table(mechanism, one) for own in ratios)):
            found = table.intervals()
            held[table.name] += (found.lower <= true[table.name]) & (true[table.name] <= found.upper)
    derived._drawn.cache_clear()
    least = 0.95 * draws - 5 * math.sqrt(0.95 * 0.05 * draws)
    assert {name: times.tolist() for name, times in held.items() if times.min() < least} == {}
    assert sum(map(len, held.values())) == {"firms": 28, "survey": 32}[job]
