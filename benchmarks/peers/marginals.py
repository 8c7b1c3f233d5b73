"""Marginals under Gaussian noise: ResidualPlanner on the domains of its paper, and up to 10^100 cells."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

from benchmarks.peers.table import PUBLISHED, PeerTable, Row, measured
from designer import Domain, MarginalMechanism, MarginalWorkload, Presence
from designer.domains.marginals_plan import design_marginals

SIZES = {
    "CPS": (50, 100, 7, 4, 2),
    "Adult": (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2),
    "Loans": (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15),
}
LARGEST_OF_SMALL = 5000


def orders(tables: str, attributes: int) -> range:
    """Which numbers of attributes a word of the paper's experiments means."""
    if tables in ("3D", "Small"):
        return range(4 if tables == "3D" else attributes + 1)
    return range(int(tables), int(tables) + 1)


def asked(sizes: tuple[int, ...], tables: str) -> tuple[MarginalWorkload, float]:
    """The workload, and how many cells it has."""
    domain = Domain.of({f"a{i}": size for i, size in enumerate(sizes)})
    chosen = [c for order in orders(tables, len(sizes)) for c in combinations(range(len(sizes)), order)]
    cells = {c: math.prod(sizes[i] for i in c) for c in chosen}
    kept = [c for c in chosen if tables != "Small" or cells[c] <= LARGEST_OF_SMALL]
    return MarginalWorkload.of(domain, [[f"a{i}" for i in c] for c in kept]), float(sum(cells[c] for c in kept))


def least(made: MarginalMechanism) -> float:
    """The proven least value of the objective."""
    assert made.optimality is not None
    return made.optimality.lower_bound


def mean_error(sizes: tuple[int, ...], tables: str) -> tuple[float, float]:
    """The root mean squared error of a cell, and its bound."""
    workload, cells = asked(sizes, tables)
    made = design_marginals(workload, Presence(mu=1.0))
    return math.sqrt(made.error() / cells), math.sqrt(least(made) / cells)


def largest_variance(sizes: tuple[int, ...], tables: str) -> tuple[float, float]:
    """The largest variance of a cell, and its bound."""
    made = design_marginals(asked(sizes, tables)[0], Presence(mu=1.0), "max")
    return made.error("max"), least(made)


def words(tables: str) -> str:
    """What the paper's word stands for."""
    named = {"3D": "tables of 0 to 3 attributes", "Small": "tables of up to 5,000 cells"}
    return named.get(tables, f"tables of {tables} attribute{'s' if tables != '1' else ''}")


def row(given: dict[str, Any], loss: str) -> Row:
    """A domain and its tables."""
    design = mean_error if loss == "mean" else largest_variance
    theirs = {"ResidualPlanner": given["ResidualPlanner"]}
    problem = f"{given['data']}: {words(given['tables'])}"
    return measured(problem, theirs, lambda: design(SIZES[given["data"]], given["tables"]))


def many(given: dict[str, Any]) -> Row:
    """Attributes of the same size, all tables of 0 up to some order."""
    values, attributes, order = given["values"], given["attributes"], given["order"]
    domain = Domain.of({f"a{i}": values for i in range(attributes)})
    kept = [c for size in range(order + 1) for c in combinations(domain.attributes, size)]
    cells = sum(float(values) ** len(c) for c in kept)

    def design() -> tuple[float, float]:
        made = design_marginals(MarginalWorkload.of(domain, kept), Presence(mu=1.0))
        return math.sqrt(made.error() / cells), math.sqrt(least(made) / cells)

    problem = f"{values}^{attributes} cells: tables of 0 to {order} attributes"
    return measured(problem, {"ResidualPlanner": given["ResidualPlanner"]}, design)


def tables(small: bool) -> tuple[PeerTable, PeerTable]:
    """Means and largest variances; small: CPS alone."""
    published = PUBLISHED["marginals"]
    means, largest = (
        [given for given in published[loss] if not small or given["data"] == "CPS"]
        for loss in ("root_mean_squared_error", "largest_variance")
    )
    about = (
        "One record appears or disappears. Both are optimal among Gaussian mechanisms here, so equal numbers are right. "
        "What this package adds is the certificate, whole-number noise, and budgets for each attribute."
    )
    first = PeerTable(
        "marginals",
        "Marginals: ResidualPlanner",
        about,
        "root mean squared error of a cell at 0.5-zCDP",
        published["source"],
        (*(row(given, "mean") for given in means), *(many(given) for given in published["same_sizes"][: 1 if small else 3])),
    )
    second = PeerTable(
        "largest_variances",
        "Marginals, the worst cell: ResidualPlanner",
        "The same with the largest variance of a cell as the objective.",
        "largest variance of a cell at 0.5-zCDP",
        "Sources: as in the table before.",
        tuple(row(given, "largest") for given in largest),
    )
    return first, second
