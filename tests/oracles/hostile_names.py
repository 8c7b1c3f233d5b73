"""A small object of every format whose names are chosen by somebody who means harm, or by somebody who does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from designer import Problem, ReportProblem, StructuredWorkload, Workload, design, invariants, metrics
from designer.certificate.frozen import FrozenMechanism
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.products_plan import design_structured
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.problem.domain import Domain
from designer.relations.metrics.presence import Presence
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import SmallDB
from designer.tables import Count, Groups, Measure, Sum, TablePlan
from designer.tradeoff.functions import EpsilonDelta

PLAIN = ("north", "south", "east", "west")
HOSTILE = (
    "<script>alert(1)</script>",
    '"onload="alert(1)" x=\'',
    "\u202eevil\u2066 ]]><!--</style></svg></title>",
    "&lt;img src=x onerror=alert(1)&gt; | ` [a](javascript:alert(1)) {{ 7 * 7 }} {% raw %}",
)
LONG = tuple(mark * 10_000 for mark in "qxyz")
Names = tuple[str, ...]


def _asked(names: Names) -> Workload:
    return Workload([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 0.0]], list(names[:2]), list(names))


def _domain(names: Names) -> Domain:
    return Domain.of({names[0]: [names[1], names[2]], names[3]: 2})


def _lipschitz(names: Names) -> LipschitzQueries:
    asked = _asked(names)
    return LipschitzQueries.on_grid(asked, metrics.uniform(4, 0.5), asked.dense(), 0)


def _plan(names: Names) -> TablePlan:
    by = Groups([names[0]], [[name] for name in names])
    pay = Measure(names[1], upper=100)
    return TablePlan([Count("n" + names[2][:150], by, variance=4), Sum("s" + names[3][:150], by, variance=2500, measure=pay)])


def _of(names: Names, relation: Any, family: str, **options: Any) -> FrozenMechanism:
    return design(Problem(_asked(names), relation), family, **options).mechanism


MADE: Mapping[str, Callable[[Names], FrozenMechanism]] = {
    "dp-designer/mechanism": lambda names: _of(names, metrics.uniform(4, 0.5), "laplace"),
    "dp-designer/lattice-mechanism": lambda names: _of(names, invariants.total(4).protect(0.5), "lattice_laplace", shape="l1"),
    "dp-designer/row-mechanism": lambda names: _of(names, invariants.margins((2, 2)).protect(0.5, 2), "lattice_rows"),
    "dp-designer/staircase-mechanism": lambda names: _of(names, metrics.uniform(4, 1.0), "staircase"),
    "dp-designer/hierarchy-mechanism": lambda names: HierarchyMechanism(
        "hierarchy", _asked(names), metrics.add_remove(4, 1.0), np.eye(4), np.ones(4)
    ),
    "dp-designer/structured-mechanism": lambda names: design_structured(
        StructuredWorkload.tables(_domain(names), [[names[0]], [names[0], names[3]]]), Presence(mu=0.5)
    ),
    "dp-designer/marginals": lambda names: design_marginals(
        MarginalWorkload.of(_domain(names), [(names[0], names[3])]), metrics.hamming(_domain(names), [0.5, 1.0])
    ),
    "dp-designer/odds-ratio-test": lambda names: OddsRatioTest(Margins((6, 4), (5, 5)), EpsilonDelta(1)),
    "dp-designer/mwem": lambda names: MWEM(_lipschitz(names), 6, ((Fraction(1, 4), Fraction(1, 4)),)),
    "dp-designer/table-plan": _plan,
    "dp-designer/small-db": lambda names: SmallDB(_lipschitz(names), 6, 2),
    "dp-designer/channel": lambda names: (
        design(ReportProblem(metrics.uniform(4, 0.5), loss="zero_one", elements=names[:4]), "randomised_response").mechanism
    ),
    "dp-designer/selection": lambda names: best_selection(Linear(_asked(names)), metrics.uniform(4, 0.5)),
}
