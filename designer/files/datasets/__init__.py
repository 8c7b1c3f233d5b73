"""Public data to try things with: real tables that are shipped, each with its source and licence.

>>> from designer import datasets
>>> cities = datasets.us_cities()
>>> cities.shape, cities["name"][0], int(cities["population"].sum())
((755, 8), 'New York City', 117759702)
"""

from designer.files.datasets.public_data import (
    PublicData,
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

__all__ = [
    "PublicData",
    "adult",
    "adult_counts",
    "adult_doctorates",
    "adult_education_race",
    "cbp_state_industry",
    "cbp_state_sector",
    "delinquent_children",
    "establishments",
    "nj_county_sector",
    "power_plants",
    "us_cities",
    "us_counties",
    "us_counties_illinois",
]
