"""Products of prefix sums and of ranges over five attributes: HDMM's templates and ResidualPlanner+."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.peers.table import PUBLISHED, PeerTable, Row, measured
from designer import Domain, Presence, StructuredWorkload
from designer.domains.products_plan import design_structured

ATTRIBUTES = 5


def error(workload: str, values: int) -> tuple[float, float]:
    """The root mean squared error of a query, and its bound."""
    domain = Domain.of({f"a{i}": values for i in range(ATTRIBUTES)})
    made = design_structured(StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, workload)]), Presence(mu=1.0))
    assert made.optimality is not None
    return made.root_mean_squared_error, made.root_mean_squared_error * math.sqrt(1 - made.optimality.gap)


def row(given: dict[str, Any]) -> Row:
    """A line of the published tables."""
    theirs = {name: given[name] for name in ("OPT_X", "OPT_M", "ResidualPlanner+")}
    problem = f"{given['workload']} of 5 attributes of {given['values']} values"
    return measured(problem, theirs, lambda: error(given["workload"], given["values"]))


def table(small: bool) -> PeerTable:
    """The comparison; small: up to 8 values."""
    published = PUBLISHED["products"]
    rows = tuple(row(given) for given in published["rows"] if given["values"] <= (8 if small else 64))
    about = (
        "One record appears or disappears; the queries are all products of prefix sums, or of ranges, one of each attribute. "
        "Strategies are rounded to whole numbers here, so that noise can be exact: this costs up to half a percent, and is why "
        "ResidualPlanner+ is ahead at two values."
    )
    number = "root mean squared error of a query at 0.5-zCDP"
    return PeerTable("products", "Products of ranges: HDMM and ResidualPlanner+", about, number, published["source"], rows)
