"""A function for each table that is shipped. What its columns hold, where it comes from and whom to name: `.provenance`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from designer.files.datasets.public_data import PublicData


@cache
def adult() -> PublicData:
    """48,842 persons of the 1994 US Current Population Survey, a row each: eight categorical attributes, among them age_group,
    education, race, sex and income. Texts; "?" where a value is missing. CC BY 4.0."""
    return PublicData("adult")


@cache
def adult_counts() -> PublicData:
    """The same persons counted by age_group, marital_status, race, sex and income: the 476 combinations that occur, with
    `count`, persons. CC BY 4.0."""
    return PublicData("adult_counts", whole=("count",))


@cache
def adult_doctorates() -> PublicData:
    """Sex by income of the 594 persons of `adult` with a doctorate: `count`, persons, row by row. CC BY 4.0."""
    return PublicData("adult_doctorates", whole=("count",))


@cache
def adult_education_race() -> PublicData:
    """The persons of `adult` by education (16) and race (5): `count`, persons, zeros included. CC BY 4.0."""
    return PublicData("adult_education_race", whole=("count",))


@cache
def cbp_state_industry() -> PublicData:
    """Businesses of the United States by state and 4-digit industry, 2011: `establishments`, `employees` (persons in March),
    `payroll_1000usd` (thousands of US dollars a year). Public domain."""
    return PublicData("cbp_state_industry", whole=("establishments", "employees", "payroll_1000usd"))


@cache
def cbp_state_sector() -> PublicData:
    """Businesses by state (51) and sector (20), 2011: `establishments`; the margins are exact, 7,354,043 in all. Public
    domain."""
    return PublicData("cbp_state_sector", whole=("establishments",))


@cache
def delinquent_children() -> PublicData:
    """A fictitious 4 x 4 table of children by county and education of the household head: `count`. Public domain."""
    return PublicData("delinquent_children", whole=("count",))


@cache
def establishments() -> PublicData:
    """6,115 cells, county by 6-digit industry, in New Jersey, first quarter of 2016: `establishments`, `employees` (jobs in
    March), `payroll_usd` (US dollars in the quarter). Public domain."""
    return PublicData("establishments", whole=("establishments", "employees", "payroll_usd"))


@cache
def nj_county_sector() -> PublicData:
    """New Jersey's 228,728 private establishments by county (21) and sector (20), first quarter of 2016. Public domain."""
    return PublicData("nj_county_sector", whole=("establishments",))


@cache
def power_plants() -> PublicData:
    """9,804 power plants of the United States, 2019, a row each: `capacity_mw` (megawatts), `generation_gwh_2019`
    (gigawatt-hours; NaN for 139, negative for 217). CC BY 4.0."""
    return PublicData("power_plants", whole=("plant_id",), real=("capacity_mw", "generation_gwh_2019"))


@cache
def us_cities() -> PublicData:
    """755 US cities of more than 50,000 inhabitants: `latitude`, `longitude` (degrees, WGS84), `population`, `elevation_m`
    (metres). CC BY 4.0."""
    whole = ("population", "elevation_m", "incorporated", "geonameid")
    return PublicData("us_cities", whole=whole, real=("latitude", "longitude"))


@cache
def us_counties() -> PublicData:
    """All 3,143 US counties: `population` (2010 Census), `population_2019` (estimate; NaN for one). Public domain."""
    return PublicData("us_counties", whole=("population",), real=("population_2019",))


@cache
def us_counties_illinois() -> PublicData:
    """The 102 counties of Illinois: those rows of `us_counties`. Public domain."""
    return PublicData("us_counties_illinois", whole=("population", "population_2019"))


PUBLIC: tuple[Callable[[], PublicData], ...] = (
    adult,
    adult_counts,
    adult_doctorates,
    adult_education_race,
    cbp_state_industry,
    cbp_state_sector,
    delinquent_children,
    establishments,
    nj_county_sector,
    power_plants,
    us_cities,
    us_counties,
    us_counties_illinois,
)
