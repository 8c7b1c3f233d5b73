"""The public data that are shipped: the files are the ones that their page describes, and say where they come from."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from designer import Domain, InvalidProblem, MarginalWorkload, datasets, metrics
from designer.domains.marginals_plan import design_marginals
from designer.files.datasets.__main__ import main
from designer.files.datasets.public_data import FOLDER, PublicData
from tests.house.test_public_names import NAMES

ROOT = Path(__file__).parents[3]
EVERY = [getattr(datasets, name)() for name in datasets.__all__ if name != "PublicData"]
CHECKSUMS = {
    "adult": "da1146bd22a9d4499a706794706eb3675d146b7158b6c8514f3c5457c4f4db22",
    "adult_counts": "323966e129e0767d450cd101962ee074907e11ef1819229641537e76217360d4",
    "adult_doctorates": "3380c924eda75dafd747e271d513c02902d556f7666857471a344f8827f8e2b2",
    "adult_education_race": "d1bca7c778487989c71a3468d8025f14bb34b2097701f0ed2181510f20013732",
    "cbp_state_industry": "7f8c29261cf407743becb31328d28e7b0ef666ce7f3f6ff7ed49745f68591783",
    "cbp_state_sector": "f43388b0391255fb78f4682f208eb2e3b6995f15e5f0058c023ec383ab65314e",
    "delinquent_children": "cea6934676a46e9341e4be9185bde6aa3ea871c62295d8e7cdbd5efebba0b9fb",
    "establishments": "2fdb0b99d513ab8cfd6a2c81e0d6ccc9cd65892e1f458fc1415098b3ceecb39e",
    "nj_county_sector": "837e68e1d86276aa9e91dc54e85e9e8c35fb2682fc75477064e292a18b773171",
    "power_plants": "0a70a5892ac2aedab564b9a7de2ef5e96f43500f5ba476e28e243975ae21d350",
    "us_cities": "126dfc9ca518778c0f92dabe638fcff8464aab5a909e117689bc754d8445a6dd",
    "us_counties": "aadcf92be7b0a53dd9f4a2329b26d85994289f57a05a85c7bc02f0d9b89a21f4",
    "us_counties_illinois": "a61e1cd591713d8ae05ced87881a3150d5767aa425f83b7780ea777f1fa1507b",
}


def by_name(data: PublicData) -> str:
    return data.name


@pytest.mark.parametrize("data", EVERY, ids=by_name)
def test_a_file_is_the_one_that_its_page_describes(data: PublicData) -> None:
    found = hashlib.sha256(data.path.read_bytes()).hexdigest()
    assert found == data.checksum == CHECKSUMS[data.name]
    assert 20 < len(data.about) < 130 and data.about.endswith(".")
    assert len(data.source) > 15 and data.licence.startswith(
        ("CC BY 4.0. Attribution: ", "US government work, public domain. ")
    )


def test_every_file_and_every_public_function_is_there_once() -> None:
    names = [data.name for data in EVERY]
    assert names == sorted(path.stem for path in FOLDER.glob("*.csv"))
    assert {"PublicData", *names} == set(datasets.__all__) == set(NAMES["designer.datasets"].split())


@pytest.mark.parametrize("data", EVERY, ids=by_name)
def test_columns_hold_what_the_file_holds(data: PublicData) -> None:
    with data.path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert data.shape == (len(rows), len(rows[0])) and list(data) == list(rows[0]) and len(data) == len(rows[0])
    for name, array in data.items():
        written = [row[name] for row in rows]
        numbers = array.dtype.kind in "if"
        assert (
            [float(text) if text else None for text in written] == [None if x != x else x for x in array.tolist()]
            if (numbers)
            else array.tolist() == written
        )
        assert not array.flags.writeable and (numbers or all(type(text) is str for text in array))
        # A column of digits alone that is not a number is a code: its length says something.
        assert (
            numbers
            or not all(text.isdigit() for text in written)
            or {"fips", "naics", "naics4", "sector"} & {name.removeprefix("county_")}
        )


def test_what_is_derived_is_derived_from_what_is_shipped() -> None:
    """The smaller tables, counted again from the larger ones."""
    adult = datasets.adult()

    def counted(*columns: str) -> Counter[tuple[str, ...]]:
        return Counter(zip(*(adult[name] for name in columns), strict=True))

    five = datasets.adult_counts()
    names = five.columns[:-1]
    assert counted(*names) == dict(zip(zip(*(five[name] for name in names), strict=True), five["count"].tolist(), strict=True))
    pairs = datasets.adult_education_race()
    assert pairs["count"].tolist() == [counted("education", "race")[row["education"], row["race"]] for row in pairs.rows]
    doctors = Counter(
        (sex, income)
        for sex, income, school in zip(adult["sex"], adult["income"], adult["education"], strict=True)
        if school == "Doctorate"
    )
    order = [(sex, income) for sex in ("Female", "Male") for income in (">50K", "<=50K")]
    assert datasets.adult_doctorates()["count"].tolist() == [doctors[cell] for cell in order]
    counties = datasets.us_counties()
    assert datasets.us_counties_illinois().rows == [row for row in counties.rows if row["state"] == "Illinois"]


def test_what_the_page_says_of_totals_is_so() -> None:
    counties, cities, plants = datasets.us_counties(), datasets.us_cities(), datasets.power_plants()
    assert counties["population"].sum() == 308_745_538 and int(np.isnan(counties["population_2019"]).sum()) == 1
    assert datasets.us_counties_illinois()["population"].sum() == 12_830_632
    assert cities["incorporated"].sum() == 706 and len(set(cities["geonameid"].tolist())) == 755
    given = plants["generation_gwh_2019"]
    assert [int(np.isnan(given).sum()), int((given == 0).sum()), int((given < 0).sum())] == [139, 318, 217]
    assert datasets.cbp_state_sector()["establishments"].sum() == 7_354_043
    assert datasets.nj_county_sector()["establishments"].sum() == 228_728
    assert int((datasets.cbp_state_industry()["employees"] == 0).sum()) == 2
    children = datasets.delinquent_children()["count"].reshape(4, 4)
    assert children.sum(axis=1).tolist() == [20, 55, 25, 35] and children.sum(axis=0).tolist() == [50, 35, 30, 20]


def test_a_table_is_a_mapping_of_columns_and_names_the_nearest_of_a_mistyped_one() -> None:
    cities = datasets.us_cities()
    assert cities is datasets.us_cities() and "name" in cities and cities.get("nothing") is None
    with pytest.raises(KeyError, match="perhaps 'population' is meant"):
        cities["populaton"]
    assert repr(datasets.delinquent_children()) == "<delinquent_children: 16 rows of county, education, count>"


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_of_each_library_holds_the_same(backend: str) -> None:
    pytest.importorskip(backend)
    frame = datasets.us_counties().to_frame(backend)
    column = frame["fips"]
    assert frame.shape == (3143, 6) and (column.to_pylist() if backend == "pyarrow" else column.to_list())[0] == "01001"


def test_marginals_are_released_from_a_table_as_it_is() -> None:
    adult = datasets.adult()
    domain = Domain.of({name: sorted(set(adult[name])) for name in ("sex", "income")})
    made = design_marginals(MarginalWorkload.of(domain, [["sex", "income"]]), metrics.hamming(domain, [1.0, 1.0]))
    answers = made.release(adult).table(["sex", "income"])
    pairs = Counter(zip(adult["sex"], adult["income"], strict=True))
    truth = [[pairs[sex, income] for income in domain.values[1]] for sex in domain.values[0]]
    # Gaussian noise beyond 12 standard errors has probability below 1e-30.
    assert np.abs(answers - truth).max() < 12 * made.variances(["sex", "income"]).max() ** 0.5


def test_the_command_lists_explains_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"{data.name}\n  {data.about}\n  Source: {data.source}\n  Licence: " in listed for data in EVERY)
    assert main(["us_cities"]) == 0
    assert datasets.us_cities().provenance in capsys.readouterr().out
    written = tmp_path / "cities.csv"
    assert main(["us_cities", "-o", str(written)]) == 0
    assert written.read_bytes() == datasets.us_cities().path.read_bytes() and "CC BY 4.0" in capsys.readouterr().out


def test_the_command_replaces_no_file_unless_it_is_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "mine.csv"
    there.write_text("mine")
    assert main(["adult_doctorates", "-o", str(there)]) == 2
    assert there.read_text() == "mine" and "exists" in capsys.readouterr().err
    assert main(["adult_doctorates", "-o", str(there), "--force"]) == 0 and there.read_text().startswith("count\n64\n")
    with pytest.raises(InvalidProblem, match="exists"):
        datasets.adult_doctorates().save(there)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["us_city"], "perhaps 'us_cities' is meant"),
        (["-o", "x.csv"], "say which table"),
        (["adult", "-o", "."], "is a folder"),
    ],
)
def test_what_the_command_cannot_do_is_refused(asked: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked) == 2
    assert said in capsys.readouterr().err


def test_reading_imports_no_library_of_frames() -> None:
    code = "from designer import datasets; datasets.adult().rows; import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {"pandas", "polars", "pyarrow", "narwhals", "scipy", "matplotlib"} & set(loaded) == set()


def test_the_data_of_the_examples_are_the_shipped_ones() -> None:
    """Problem files of the examples name `data/...`: a link, so that no table is there twice."""
    assert os.readlink(ROOT / "examples" / "data") == "../designer/files/datasets/files"
    assert [path for path in (ROOT / "examples").glob("*.csv") if path.name.startswith(("adult", "us_"))] == []
