"""The closed list of what speaks for each format of specs on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from designer.certified.frozen import Specified
from designer.base.errors import InvalidProblem
from designer.reports.contributor import Contributor
from designer.reports.of_choices import SelectedCandidates, Synthesised, TestsOfOddsRatios
from designer.reports.of_linear_queries import LinearQueries
from designer.reports.of_plans import QueriesOfTables
from designer.reports.of_tables import MarginalTables, ProductQueries

CONTRIBUTORS: Mapping[str, Contributor[Any]] = {
    "dp-designer/mechanism": LinearQueries(),
    "dp-designer/lattice-mechanism": LinearQueries(),
    "dp-designer/row-mechanism": LinearQueries(),
    "dp-designer/staircase-mechanism": LinearQueries(),
    "dp-designer/structured-mechanism": ProductQueries(),
    "dp-designer/marginals": MarginalTables(),
    "dp-designer/odds-ratio-test": TestsOfOddsRatios(),
    "dp-designer/mwem": Synthesised(),
    "dp-designer/table-plan": QueriesOfTables(),
    "dp-designer/small-db": Synthesised(),
    "dp-designer/selection": SelectedCandidates(),
}


def contributor_of(made: Specified) -> Contributor[Any]:
    """What speaks for the format of an object; `InvalidProblem` for one that no spec can hold."""
    if made.format not in CONTRIBUTORS:
        raise InvalidProblem(f"mechanism: {made.format!r} is no format of specs, so there is no page for it.")
    return CONTRIBUTORS[made.format]
