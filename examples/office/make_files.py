"""Made-up records of an office, with a seed: a survey (SPSS), a register (Stata) and a list of persons by place (Excel).

    python make_files.py

writes survey.sav, firms.dta, persons.xlsx, and the public tables sectors.csv and places.csv to this folder. Nobody in them
exists.
"""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import xlsxwriter

SEED = 20260930
WORK = {1: "Employed", 2: "Unemployed", 3: "Not in the labour force", 98: "Refused", 99: "Not asked"}
SEX = {1: "Women", 2: "Men"}
SECTORS = {"C": "Manufacturing", "F": "Construction", "G": "Trade", "I": "Accommodation and food", "J": "Information"}
SIZES = {1: "0 to 9 persons", 2: "10 to 49 persons", 3: "50 persons and more"}


def survey(random: np.random.Generator) -> pd.DataFrame:
    """Persons in households, a row each; work is 99 below the age of 15, and 98 where no answer was given."""
    household = np.repeat(np.arange(1, 1201), random.integers(1, 6, 1200))
    age = random.integers(0, 95, household.size)
    work = random.choice([1, 2, 3, 98], household.size, p=[0.6, 0.05, 0.32, 0.03])
    work = np.where(age < 15, 99, np.where((age > 66) & (work < 3), 3, work))
    return pd.DataFrame({"household": household, "sex": random.integers(1, 3, household.size), "age": age, "work": work})


def firms(random: np.random.Generator) -> pd.DataFrame:
    """Firms, a row each; a few are a thousand times larger than most."""
    employees = np.minimum(random.pareto(1.1, 2000) * 3, 5000).astype(int)
    return pd.DataFrame(
        {
            "sector": random.choice(list(SECTORS), 2000, p=[0.2, 0.2, 0.35, 0.15, 0.1]),
            "size": np.digitize(employees, [10, 50]) + 1,
            "employees": employees,
            "turnover": np.round((employees + 1) * random.lognormal(4.5, 0.6, 2000), 1),  # thousand euro
        }
    )


def places() -> list[tuple[str, ...]]:
    """The 64 municipalities of five levels of regions; a code begins with that of the region above."""
    paths = product("NS", "12", "12", "12", "1234")
    return [tuple("".join(path[: level + 1]) for level in range(5)) for path in paths]


def main() -> None:
    """Write the five files."""
    random = np.random.default_rng(SEED)
    labels = {"sex": SEX, "work": WORK}
    titles = ["Number of the household", "Sex", "Age in years", "Work in the week before"]
    pyreadstat.write_sav(
        survey(random), "survey.sav", column_labels=titles, variable_value_labels=labels, missing_ranges={"work": [98]}
    )
    pyreadstat.write_dta(firms(random), "firms.dta", variable_value_labels={"size": SIZES})
    rows = places()
    public = {
        "sectors.csv": [("code", "label"), *SECTORS.items()],
        "places.csv": [("part", "state", "region", "district", "municipality"), *rows],
    }
    for name, table in public.items():
        with open(name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
    weights = random.dirichlet(np.full(len(rows), 0.7))
    with xlsxwriter.Workbook("persons.xlsx") as book:
        sheet = book.add_worksheet("Persons")
        for place, name in enumerate(["municipality", "born"]):
            sheet.write_string(0, place, name)
        for row, home in enumerate(random.choice(len(rows), 3000, p=weights), 1):
            sheet.write_string(row, 0, rows[home][-1])
            sheet.write_number(row, 1, int(random.integers(1930, 2026)))
        book.add_worksheet("Notes").write_string(0, 0, "Persons on 30 September 2026, made up")
    for name in ("survey.sav", "firms.dta", "persons.xlsx", *public):
        print(f"{name}: {Path(name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
