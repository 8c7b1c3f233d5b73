"""`PublicData`: a public table that is shipped, as columns, with what is known of where it comes from."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import frozen
from designer.base.checks import meant, shown
from designer.base.frames import frame_of
from designer.base.output import write_whole

FOLDER = Path(__file__).parent / "files"
_NOTE = re.compile(r"^\* ([\w-]+): (.*(?:\n  .*)*)", re.MULTILINE)


@dataclass(frozen=True, eq=False, repr=False)
class PublicData(Mapping[str, NDArray[Any]]):
    """A public table: a mapping from the names of its columns to arrays that nobody can change, all of `shape[0]` entries.

    Columns in `whole` hold int64, those in `real` float64 (NaN where a cell is blank), all others texts. Marginals are released
    from it as it is; `to_frame()` is what plans and counts by name take, and `path` what the command line does.

    >>> from designer import datasets
    >>> children = datasets.delinquent_children()
    >>> children.columns, children.shape
    (('county', 'education', 'count'), (16, 3))
    >>> children.rows[0]
    {'county': 'Alpha', 'education': 'Low', 'count': 15}
    >>> children.licence
    'US government work, public domain. Credit: Federal Committee on Statistical Methodology.'
    """

    name: str
    whole: tuple[str, ...] = ()
    real: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The CSV file where the program is installed; `save` makes a copy that may be changed."""
        return FOLDER / f"{self.name}.csv"

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        header, *rows = csv.reader(io.StringIO(self.path.read_text(encoding="utf-8")))
        return {name: self._array(name, cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)}

    def _array(self, name: str, cells: Sequence[str]) -> NDArray[Any]:
        if name in self.whole:
            return frozen(np.array([int(cell) for cell in cells], dtype=np.int64))
        if name in self.real:
            return frozen(np.array([float(cell) if cell else np.nan for cell in cells]))
        return frozen(np.array(cells, dtype=object))

    def __getitem__(self, column: str) -> NDArray[Any]:
        if column not in self._arrays:
            raise KeyError(
                f"column: {shown(column)} is none of {self.name}; {meant(column, self.columns)}it has {list(self.columns)}."
            )
        return self._arrays[column]

    def __contains__(self, column: object) -> bool:
        return column in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        """The number of columns, as of every mapping; `shape` says how many rows there are."""
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.shape[0]:,} rows of {', '.join(self.columns)}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the file."""
        return tuple(self._arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self._arrays[self.columns[0]]), len(self.columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain texts and numbers."""
        cells = zip(*(self[name].tolist() for name in self.columns), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in cells]

    def to_frame(self, backend: str = "pandas") -> Any:
        """A data frame.

        backend: "pandas", "polars" or "pyarrow". `InvalidProblem` where it is not installed.
        """
        kept = {name: array if array.dtype.kind in "if" else array.tolist() for name, array in self._arrays.items()}
        return frame_of(kept, backend)

    def save(self, path: str | Path, *, replace: bool = False) -> Path:
        """Write the CSV file as it is shipped, whole or not at all; returns where.

        replace: may a regular file of that name be replaced? `InvalidProblem` where there is one and it may not.
        """
        return write_whole(Path(path), self.path.read_bytes(), replace=replace)

    @property
    def provenance(self) -> str:
        """All that is known of it: what its columns hold, source, derivation, checksum, licence."""
        return _sections()[self.name]

    @property
    def about(self) -> str:
        """What it is, in a sentence."""
        return self.provenance.partition("\n")[0].replace("`", "").replace("**", "")

    @property
    def source(self) -> str:
        """Where it was taken from."""
        return self._noted("Source")

    @property
    def licence(self) -> str:
        """The licence, and whom to name."""
        return self._noted("Licence")

    @property
    def checksum(self) -> str:
        """The SHA-256 of the file, in hexadecimal digits."""
        return self._noted("SHA-256").strip("`")

    def _noted(self, key: str) -> str:
        return " ".join(dict(_NOTE.findall(self.provenance))[key].split())


@cache
def _sections() -> dict[str, str]:
    """What the page of the folder says of each file."""
    _, *sections = (FOLDER / "README.md").read_text(encoding="utf-8").split("\n## ")
    return {heading.removesuffix(".csv"): text.strip() for heading, _, text in (part.partition("\n") for part in sections)}


# A function for each table that is shipped. What its columns hold, where it comes from and whom to name: `.provenance`.


@cache
def adult() -> PublicData:
    """Load 48,842 persons of the 1994 US Current Population Survey, a row each: eight categorical attributes, among them
    age_group, education, race, sex and income. Texts; "?" where a value is missing. CC BY 4.0."""
    return PublicData("adult")


@cache
def adult_counts() -> PublicData:
    """Load the same persons counted by age_group, marital_status, race, sex and income: the 476 combinations that occur, with
    `count`, persons. CC BY 4.0."""
    return PublicData("adult_counts", whole=("count",))


@cache
def adult_doctorates() -> PublicData:
    """Load sex by income of the 594 persons of `adult` with a doctorate: `count`, persons, row by row. CC BY 4.0."""
    return PublicData("adult_doctorates", whole=("count",))


@cache
def adult_education_race() -> PublicData:
    """Load the persons of `adult` by education (16) and race (5): `count`, persons, zeros included. CC BY 4.0."""
    return PublicData("adult_education_race", whole=("count",))


@cache
def cbp_state_industry() -> PublicData:
    """Load businesses of the United States by state and 4-digit industry, 2011: `establishments`, `employees` (persons in
    March), `payroll_1000usd` (thousands of US dollars a year). Public domain."""
    return PublicData("cbp_state_industry", whole=("establishments", "employees", "payroll_1000usd"))


@cache
def cbp_state_sector() -> PublicData:
    """Load businesses by state (51) and sector (20), 2011: `establishments`; the margins are exact, 7,354,043 in all. Public
    domain."""
    return PublicData("cbp_state_sector", whole=("establishments",))


@cache
def delinquent_children() -> PublicData:
    """Load a fictitious 4 x 4 table of children by county and education of the household head: `count`. Public domain."""
    return PublicData("delinquent_children", whole=("count",))


@cache
def establishments() -> PublicData:
    """Load 6,115 cells, county by 6-digit industry, in New Jersey, first quarter of 2016: `establishments`, `employees` (jobs
    in March), `payroll_usd` (US dollars in the quarter). Public domain."""
    return PublicData("establishments", whole=("establishments", "employees", "payroll_usd"))


@cache
def nj_county_sector() -> PublicData:
    """Load New Jersey's 228,728 private establishments by county (21) and sector (20), first quarter of 2016. Public domain."""
    return PublicData("nj_county_sector", whole=("establishments",))


@cache
def power_plants() -> PublicData:
    """Load 9,804 power plants of the United States, 2019, a row each: `capacity_mw` (megawatts), `generation_gwh_2019`
    (gigawatt-hours; NaN for 139, negative for 217). CC BY 4.0."""
    return PublicData("power_plants", whole=("plant_id",), real=("capacity_mw", "generation_gwh_2019"))


@cache
def us_cities() -> PublicData:
    """Load 755 US cities of more than 50,000 inhabitants: `latitude`, `longitude` (degrees, WGS84), `population`, `elevation_m`
    (metres). CC BY 4.0."""
    whole = ("population", "elevation_m", "incorporated", "geonameid")
    return PublicData("us_cities", whole=whole, real=("latitude", "longitude"))


@cache
def us_counties() -> PublicData:
    """Load all 3,143 US counties: `population` (2010 Census), `population_2019` (estimate; NaN for one). Public domain."""
    return PublicData("us_counties", whole=("population",), real=("population_2019",))


@cache
def us_counties_illinois() -> PublicData:
    """Load the 102 counties of Illinois: those rows of `us_counties`. Public domain."""
    return PublicData("us_counties_illinois", whole=("population", "population_2019"))
