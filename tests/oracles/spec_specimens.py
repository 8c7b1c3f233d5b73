"""A small mechanism of every format and kind that a spec file holds, each made when it is first asked for.

Names and formats are known before, so that tests are collected without a design.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np

from designer import Problem, Workload, invariants, metrics
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.norms import Norm
from designer.files.kinds import KINDS
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.problem.domain import Domain
from designer.problem.histogram import OTHERS, Keys
from designer.relations.metrics.presence import Presence
from designer.relations.row_groups import RowGroups
from designer.tradeoff.functions import EpsilonDelta, Gaussian, LaplaceTradeoff
from designer.tradeoff.piecewise import from_distributions
from tests.oracles.lazy import Lazy, designed
from tests.oracles.metric_kinds import SPECIMENS as RELATIONS
from tests.rooms import ABSENT

TRIANGLE = [[0, 0.3, 1.1], [0.3, 0, 1.0], [1.1, 1.0, 0]]
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


Made = Callable[[], FrozenMechanism]
# By the first words of the names of specimens.
FORMATS = {
    "lattice rows": "dp-designer/row-mechanism",
    "table": "dp-designer/table-plan",
    "lattice": "dp-designer/lattice-mechanism",
    "staircase": "dp-designer/staircase-mechanism",
    "hierarchy": "dp-designer/hierarchy-mechanism",
    "marginals": "dp-designer/marginals",
    "structured": "dp-designer/structured-mechanism",
    "test": "dp-designer/odds-ratio-test",
    "mwem": "dp-designer/mwem",
    "small-db": "dp-designer/small-db",
    "selection": "dp-designer/selection",
    "channel": "dp-designer/channel",
    **dict.fromkeys(("linked", "laplace", "bundles", "capped_l1"), "dp-designer/mechanism"),
}


def lattices() -> dict[str, Made]:
    """Integer noise on a kernel: every shape, and every relation it is for."""
    from designer.lattice.chain import ChainPlan
    from designer.lattice.mechanism import LatticeMechanism

    total, total4, tables = invariants.total(3), invariants.total(4), invariants.margins((2, 2))
    pure = Problem(Workload.identity(3), total.protect(0.5, 1))
    square = Problem(Workload([[1, 0, 0.5, 0]]), tables.protect(0.5, 2))
    normal = Problem(Workload.identity(4), tables.protect(0.5, 2), notion="zcdp")
    costs = Problem(Workload.identity(3), metrics.from_matrix(TRIANGLE) & total.at(2))
    walk = ChainPlan(steps=60, decay=0.5, lag=60, pairs=60)
    moved = partial(
        LatticeMechanism, "custom", Workload.identity(4), tables.protect(0.5, 2), Norm(np.full(4, 0.125), "l1"), chain=walk
    )
    far = Problem(Workload.identity(4), tables.protect(0.5, per_distance="l2"))
    return {
        "lattice l1": designed(pure, "lattice_laplace", shape="l1"),
        "lattice ellipsoid": designed(square, "lattice_laplace", shape="ellipsoid"),
        "lattice hull": designed(pure, "lattice_laplace", shape="hull"),
        "lattice gaussian": designed(normal, "lattice_gaussian", shape="ellipsoid"),
        "lattice metric": designed(costs, "lattice_laplace", shape="l2"),
        "lattice chain": moved,
        "lattice rows": designed(Problem(Workload.identity(4), tables.protect(0.5, 2)), "lattice_rows"),
        "lattice impossible": designed(
            Problem(Workload.identity(4), total4.without([2]).protect(0.5)), "lattice_laplace", shape="l2"
        ),
        "lattice distance": designed(far, "lattice_laplace", shape="l2"),
    }


def staircases() -> dict[str, Made]:
    """Noise of least loss: on a lattice with unequal budgets, on a coset, on a kernel, and stairs of one real number."""
    costs = metrics.from_matrix(TRIANGLE)
    far = Problem(Workload([[0, 5, 2]]), metrics.uniform(3, 4.0))
    kept = Problem(Workload.identity(3), invariants.total(3).protect(1.5, 2))
    steps = Problem(Workload.identity(3), metrics.add_remove(3, [0.5, 1.0, 1.0]), "approximate", delta=0.0625)
    return {
        "staircase metric": designed(Problem(Workload([[0, 1, 2], [1, 0, 1]]), costs), "staircase"),
        "staircase coset": designed(far, "staircase", offset="best"),
        "staircase total": designed(kept, "staircase"),
        "staircase moves": designed(Problem(Workload.identity(3), metrics.uniform(3, 0.5)), "by_moves"),
        "staircase truncated": designed(steps, "truncated_geometric"),
        "staircase real": designed(Problem(Workload([[0, 0.3, 2.7182818]]), metrics.uniform(3, 2.0)), "staircase"),
    }


def hierarchies() -> dict[str, Made]:
    """Counts of nested groups: ranges of elements where one is added, and others where one is replaced."""
    ranges = np.vstack([np.ones(5), np.repeat(np.eye(2), [2, 3], axis=1), np.eye(5)])
    others = ranges[:, [0, 2, 1, 3, 4]]
    rates, halves = [0.125, *[0.25] * 2, *[0.625] * 5], [1.0, *[0.125] * 2, *[0.375] * 5]
    running = Workload(np.tril(np.ones((5, 5))))
    return {
        "hierarchy ranges": partial(
            HierarchyMechanism, "hierarchy", running, metrics.add_remove(5, 1.0), ranges, np.array(rates)
        ),
        "hierarchy rows": partial(
            HierarchyMechanism, "custom", Workload(others), metrics.uniform(5, 1.0), others, np.array(halves)
        ),
    }


def linked() -> dict[str, Made]:
    """Two tables of the same records with projected noise, whose matrices no spec holds."""
    people = Domain.of({"age": 2, "sex": ["F", "M"], "place": 2})
    both = invariants.linked(people, {"sexes": ["age", "sex"], "places": ["age", "place"]}, [["age"]])
    return {"linked projected": designed(Problem(both.workload(), both.protect(0.5, 2)), "projected_laplace")}


def marginals() -> dict[str, Made]:
    """Marginals with a budget per attribute, one of them unprotected, and with a budget for the presence of a record."""
    from designer.domains.marginals_plan import design_marginals
    from designer.domains.marginals_workload import MarginalWorkload

    domain = Domain.of({"sex": ["F", "M"], "age": 3, "place": ["here", "there"]})
    asked = MarginalWorkload.of(domain, {("sex", "age"): 1.0, ("place",): 2.0})
    others = MarginalWorkload.of(Domain.of({"sex": ["F", "M", OTHERS]}, "count as others"), [["sex"]])
    return {
        "marginals attributes": partial(design_marginals, asked, metrics.hamming(domain, [0.5, 1.0, math.inf])),
        "marginals presence": partial(design_marginals, asked, Presence(mu=0.5), "max"),
        "marginals others": partial(design_marginals, others, Presence(mu=0.5)),
        "marginals drop": partial(
            design_marginals, MarginalWorkload.of(Domain.of({"sex": ["F", "M"]}, "drop"), [["sex"]]), Presence(mu=0.5)
        ),
    }


def structured() -> dict[str, Made]:
    """Products of queries: one product, residuals with budgets for attributes, residuals with a metric for each, Laplace."""
    from designer.domains.products_plan import design_structured
    from designer.domains.products_workload import StructuredWorkload

    domain = Domain.of({"age": 4, "sex": ["F", "M"], "pay": 3})
    tables = StructuredWorkload.tables(domain, [["age"], ["age", "sex"], ["sex", "pay"]], {"age": "prefix"})
    single = StructuredWorkload.of(domain, [{"age": ("widths", 2), "pay": [[1, 0, 2]]}])
    line = metrics.from_matrix(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    parts = metrics.product(domain, [line, metrics.from_matrix(1 - np.eye(2)), metrics.from_matrix(2 - 2 * np.eye(3))])
    return {
        "structured attributes": partial(design_structured, tables, metrics.hamming(domain, [0.5, 1.0, math.inf])),
        "structured metrics": partial(design_structured, tables, parts),
        "structured presence": partial(design_structured, single, Presence(mu=0.5)),
        "structured laplace": partial(design_structured, tables, Presence(epsilon=0.5), "laplace"),
        "structured together": partial(design_structured, tables, Presence(mu=4.0)),
        "structured together laplace": partial(
            design_structured, tables, metrics.hamming(domain, [0.5, 1.0, math.inf]), "laplace"
        ),
    }


def odds_ratio_tests() -> dict[str, Made]:
    """A test for every kind of tradeoff function."""
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.odds_ratio.umpu import Margins

    rung, margins = from_distributions([3, 1], [1, 3]), Margins((6, 4), (5, 5))
    return {
        "test pure": partial(OddsRatioTest, margins, EpsilonDelta(1)),
        "test approximate": partial(OddsRatioTest, margins, EpsilonDelta("1/2", "1/100"), adjacency=2, exponent=20),
        "test gaussian": partial(OddsRatioTest, margins, Gaussian.of("1/2")),
        "test laplace": partial(OddsRatioTest, margins, LaplaceTradeoff("1/2")),
        "test rungs": partial(OddsRatioTest, margins, rung, noise="piecewise"),
        "test group": partial(OddsRatioTest, margins, EpsilonDelta("1/2").group(2)),
    }


def synthetic() -> dict[str, Made]:
    """MWEM and SmallDB on three elements."""
    from designer.synthetic.multiplicative import MWEM
    from designer.synthetic.queries import LipschitzQueries
    from designer.synthetic.small_databases import SmallDB

    asked = Workload([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]], ["far", "ends"], ["a", "b", "c"])
    line = LipschitzQueries.on_grid(asked, metrics.euclidean([[0.0], [1.0], [2.5]]), asked.dense(), 0)
    apart = metrics.from_matrix([[0, 0.5, math.inf], [0.5, 0, math.inf], [math.inf, math.inf, 0]])
    islands = LipschitzQueries.on_grid(asked, apart, asked.dense(), -3)
    return {
        "mwem": partial(MWEM, line, 6, ((TENTH, HALF), (TENTH, Fraction(3, 10)))),
        "mwem islands": partial(MWEM, islands, 6, ((HALF, HALF),), "permute_and_flip", "replay"),
        "small-db": partial(SmallDB, line, 6, 2),
        "small-db islands": partial(SmallDB, islands, 6, 3, "permute_and_flip"),
    }


def selections() -> dict[str, Made]:
    """A selection for every kind of score, over a metric and with records that appear."""
    from designer.selection.mechanism import best_selection
    from designer.selection.scores import AbsoluteError, Closeness, LargestError, Linear, RankError
    from designer.selection.tabulated import Tabulated

    asked = Workload([[0.0, 1.0, 2.5], [2.0, 0.0, 2.0], [-1.0, 0.5, 0.0]], ["p", "q", "r"])
    median = Workload([[-0.5, 0.5, 0.5], [-0.5, -0.5, 0.5], [-0.5, -0.5, -0.5], [0.5, -0.5, -0.5]], ["a", "b", "a <", "b <"])
    metric, rows = metrics.from_matrix(TRIANGLE), [[1.0, 0.0, 2.0], [0.5, 0.5, 0.5]]
    table = Tabulated.of(lambda x: [float(min(x)), x[0] / 2], ["a", "b"], records=3, candidates=["low", "half"])
    return {
        "selection linear": partial(best_selection, Linear(asked, [0.5, 0.0, 0.0]), metric),
        "selection error": partial(
            best_selection, AbsoluteError(asked, [1.0, 2.0, 3.0]), metrics.add_remove(3, [0.4, 0.9, 0.5])
        ),
        "selection closeness": partial(best_selection, Closeness(asked), metrics.uniform(3, 0.7), "permute_and_flip"),
        "selection rank": partial(best_selection, RankError(median), metrics.add_remove(3, 0.5)),
        "selection database": partial(best_selection, LargestError(asked, rows, ["one", "two"]), metric),
        "selection table": partial(best_selection, table, metrics.uniform(2, 0.5)),
        "selection invariant": partial(best_selection, Linear(asked), invariants.total(3).protect(0.5, 2)),
    }


def channels() -> dict[str, Made]:
    """One person's own report: over a metric of points, and over one budget, with names of a column."""
    from designer.local.mechanism import Channel
    from designer.local.peaks import LossRule
    from designer.local.problem import ReportProblem

    line, codes = metrics.euclidean([0.0, 1.0, 3.0], 0.5), Keys(("answer",), (("no",), ("yes",)))
    answers = ReportProblem(metrics.uniform(2, 1.0), prior=[0.75, 0.25], loss="zero_one", keys=codes)
    two, both = metrics.euclidean([[0.0], [1.0]], 1.0), ("here", "there")
    return {
        "channel line": designed(ReportProblem(line), "channel"),
        "channel answers": designed(answers, "randomised_response"),
        "channel distance": partial(Channel, two, both, both, ((7, 3), (3, 7)), 10, [0.5, 0.5], LossRule("distance", (0, 1))),
        "channel squared": partial(Channel, two, both, both, ((7, 3), (3, 7)), 10, [0.5, 0.5], LossRule("squared", (0, 1))),
        "channel zero one": partial(Channel, two, both, both, ((7, 3), (3, 7)), 10, [0.5, 0.5], LossRule("zero_one", (0, 1))),
    }


def additive() -> dict[str, Made]:
    """An additive mechanism for every relation that has no other home here."""
    generator = np.random.default_rng(5)
    drawn = {name: generator.integers(-2, 3, (2, relation.size)).astype(float) for name, relation in RELATIONS.items()}
    made = {name: Problem(Workload(drawn[name]), relation) for name, relation in RELATIONS.items()}
    groups = RowGroups((metrics.uniform(2, 0.5), metrics.euclidean([0.0, 1.0, 2.5], 0.3)), ("sex", "age"))
    sums = Problem(Workload([[1, 0, 1, 0, 0], [0, 2, 0, 1, 3]]), groups)
    kept = Problem(Workload([[1, 0, 0.5, 0]]), invariants.margins((2, 2)).protect(0.5, 2))
    costs = Problem(Workload([[1, 0, 2]]), metrics.from_matrix(TRIANGLE) & invariants.total(3).at(2))
    globe = Problem(Workload([[1, 0, 2]]), metrics.great_circle([[0.0, 1.0], [2.0, 3.0], [5.0, 1.0]], 0.01))
    told = Problem(Workload([[1, 0, 2, 0]]), metrics.graph([(0, 1), (1, 2), (2, 3)], nodes=4), notion="approximate", delta=0.01)
    cells = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 2], [0, 1, 0, 1, 0]]
    crowd = Problem(Workload(cells), metrics.euclidean([0.0, 1.0, 2.5, 3.0, 5.0], 0.3))
    bundled = {f"bundles {way}": designed(crowd, "bundles", largest=2, combine=way) for way in ("sum", "max")}
    capped = {"capped_l1": designed(crowd, "capped_l1")}
    others = {"with delta": told, "great_circle": globe, "row_groups": sums, "invariant": kept, "metric_and_invariant": costs}
    plain = {f"laplace {name}": designed(problem, "laplace") for name, problem in made.items()}
    return plain | bundled | capped | {f"laplace {name}": designed(problem, "laplace") for name, problem in others.items()}


def plans() -> dict[str, Made]:
    """A plan with every kind of query."""
    from tests.oracles.table_plans import full_plan

    return {"table plan": full_plan}


BY_ROOM = (
    *(("tables", plans), ("lattice", lattices), ("mechanism", staircases), ("mechanism", hierarchies), ("mechanism", linked)),
    *(("domains", marginals), ("domains", structured), ("odds_ratio", odds_ratio_tests), ("synthetic", synthetic)),
    *(("selection", selections), ("local", channels), ("mechanism", additive)),
)


class Specimens(Lazy[FrozenMechanism]):
    """Those of a room that is not there are asked for in vain, as the kind itself is."""

    def __getitem__(self, name: str) -> FrozenMechanism:
        if name not in self.makers:
            KINDS[format_of(name)].part("mechanism")
        return super().__getitem__(name)


@cache
def specimens() -> Lazy[FrozenMechanism]:
    """Those of the rooms that are there, by name."""
    makers = dict[str, Made]()
    for room, of_kind in BY_ROOM:
        if room not in ABSENT:
            makers |= of_kind()
    return Specimens({name: partial(_of_its_format, name, make) for name, make in makers.items()})


def _of_its_format(name: str, make: Made) -> FrozenMechanism:
    made = make()
    assert made.format == format_of(name), name
    return made


def format_of(name: str) -> str:
    """The format of the specimen of that name, which is not made."""
    words = name.split(" ")
    return FORMATS.get(" ".join(words[:2])) or FORMATS[words[0]]


def names_of(*formats: str) -> list[str]:
    """The specimens of these formats, in order."""
    return [name for name in specimens() if format_of(name) in formats]


def one_of_each_format() -> dict[str, str]:
    """The first specimen of every format."""
    return {format_of(name): name for name in reversed(list(specimens()))}
