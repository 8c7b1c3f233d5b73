"""The page for a board: of listed queries, and of a release of marginal tables, by the number of answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.growth.case import Case
from designer.domains.marginals_plan import design_marginals


def listed(queries: int) -> Any:
    """Independent noise in the answers of random queries of twenty elements."""
    from designer import Problem, Workload, design, metrics

    matrix = np.random.default_rng(0).integers(0, 2, (queries, 20)).astype(float)
    return design(Problem(Workload(matrix), metrics.add_remove(20, 1.0)), "uniform_budget").mechanism, None


def tables(side: int) -> Any:
    """A release of all pairs of three attributes of so many values."""
    from designer import MarginalWorkload, Presence
    from designer.files.releases import read_release, release_document, verify_release
    from designer.problem.domain import Domain
    from designer.publish.content import SeenRelease

    domain = Domain.of(dict.fromkeys(("a", "b", "c"), side))
    made = design_marginals(MarginalWorkload.up_to(domain, 2), Presence(mu=1.0))
    document = release_document(made, made.release({name: np.arange(side) for name in ("a", "b", "c")}))
    return made, SeenRelease("release.json", read_release(made, document), document, verify_release(made, document))


def page(given: Any) -> str:
    """The page as it is written, without its pictures, which have a size of their own."""
    from designer.publish import page as pages
    from designer.publish.content import Evidence
    from designer.publish.page import html_of

    made, release = given
    pages.drawings_of = lambda *_: ()  # type: ignore[attr-defined]  # in a process of its own
    return f"{len(html_of(pages.board_page(Evidence(made=made, release=release)))) / 1e3:.0f} kB"


CASES = (
    Case("page for a board, listed queries", "queries", (100, 300, 1_000, 3_000), page, listed),
    Case("page for a board, released tables of pairs", "values of each of three attributes", (10, 30, 100, 300), page, tables),
)
