"""A mechanism as a measurement of OpenDP (extra `opendp`): its release, with a privacy map from the certificate.

The noise stays that of the mechanism. What OpenDP is told: which histograms it takes, by which distance they are compared, and
what the releases of two histograms at distance d_in promise: epsilon (`max_divergence`), rho (`zero_concentrated_divergence`)
or (epsilon, delta) (`approximate`), rounded up. OpenDP's features "contrib" and "honest-but-curious" are needed to build a
measurement of one's own; they are switched on while it is built, and left as they were. docs/guides/exchange.md, section 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from designer.accounts.together.terms import largest_budget
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import canonical, plain
from designer.certified.frozen import Specified
from designer.exchange.noise_law import diagonal_of
from designer.exchange.spending import Distance, Spending, counts_alone, require_noisy, spending_of
from designer.mechanisms.additive.interface import Mechanism
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.problem.relation import Relation, rectangles
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AppearOrChange
from solvers.exact.rational import float_above

Handed = Literal["answers", "release"]
LARGEST_COUNT = 2**53 - 1
DISTANCES: dict[Distance, str] = {
    "records": "the least number of protected changes that lead from one histogram to the other",
    "budget": "the least sum of budgets of protected changes that lead from one histogram to the other",
    "l1": "the l1 distance of the counts",
}
Constructor = Literal["make_laplace", "make_gaussian"]
OWN_KINDS: dict[tuple[str, str], Constructor] = {
    ("l1", "exponential"): "make_laplace",
    ("l2", "gaussian"): "make_gaussian",
}
FEATURES = ("contrib", "honest-but-curious")


def as_measurement(mechanism: Specified, *, distance: Distance = "records", output: Handed = "answers") -> Any:
    """The mechanism as an `opendp.mod.Measurement` of counts of the universe elements, in their order.

    distance: what d_in measures, see `designer.exchange.spending`. With "l1" the input metric is OpenDP's own
    `l1_distance(T=i64)`, so that `make_count_by_categories` chains with it; negative counts are taken for 0, and counts beyond
    2^53 - 1 for that, because OpenDP knows no domain of counts. With the others it is a `user_distance` whose description names
    the relation: two of them are equal only if they protect the same changes.
    output: "answers", a list of floats, or "release", the whole `Release`, with fingerprint and guarantee.
    Raises `InvalidProblem` with the reason where the mechanism has no such map.
    """
    import opendp.prelude as dp

    if output not in get_args(Handed):
        raise InvalidProblem(f"output: {shown(output)} is unknown; use one of {list(get_args(Handed))}.", value=output)
    noisy, spending = require_noisy(mechanism), spending_of(mechanism, distance)
    with features():
        space = _input_space(noisy, distance)
        kind = "Vec<f64>" if output == "answers" else "ExtrinsicObject"
        return dp.m.make_user_measurement(
            *space, _measure(spending), _releasing(noisy, distance, output), _map_of(spending), TO=kind
        )


def counting(
    mechanism: Specified, *, size: int | None = None, unknown: str | None = None, distance: Distance = "records"
) -> Any:
    """The transformation of OpenDP from a list of names of elements, one for each record, to the counts that `as_measurement`
    takes with the same distance, "records" or "budget".

    Where records appear and disappear, its input metric is `symmetric_distance`, and names of no element are left out. Where a
    record changes, the lists have a public `size`, the metric is `change_one_distance`, and names of no element count as the
    element `unknown`. `InvalidProblem` where such distances do not bound what the mechanism protects.

    mechanism: of linear queries. size: the number of records, where it is public. unknown: the element that stands for all
    others. distance: "records" or "budget".
    """
    import opendp.prelude as dp

    noisy = require_noisy(mechanism)
    if distance == "l1":
        raise InvalidProblem('distance: "l1" is what OpenDP\'s own make_count_by_categories gives; use that, or "records".')
    elements, appears = noisy.workload.elements, _appears(noisy.relation)
    if appears and (size is not None or unknown is not None):
        raise InvalidProblem("size, unknown: records appear and disappear here; leave both out.")
    if not appears:
        size = count(size, "size") if size is not None else None
        if size is None or unknown not in elements:
            raise InvalidProblem(
                f"size, unknown: records change here, and their number is public; give it, and the element that stands for "
                f"other names (not {shown(unknown)}), such as unknown={elements[0]!r}."
            )
    scale = Fraction(1) if distance == "records" else largest_budget(noisy.relation)
    with features():
        names = dp.vector_domain(dp.atom_domain(T=str), size=size)
        metric = dp.symmetric_distance() if appears else dp.change_one_distance()
        tabulate = _tabulating(elements, unknown)
        return dp.t.make_user_transformation(
            names, metric, *_input_space(noisy, distance), tabulate, lambda apart: _scaled(apart, scale)
        )


@dataclass(frozen=True)
class OwnNoise:
    """The constructor of OpenDP that draws noise of the same law as a mechanism: `make_laplace` or `make_gaussian` on vectors
    of floats, with the granularity 2^k. scale: the mechanism's, rounded up to a float; `exact` where it is one."""

    constructor: Constructor
    scale: float
    k: int
    exact: bool


def own_noise(mechanism: Specified) -> OwnNoise | None:
    """Which constructor of OpenDP draws noise of the mechanism's law; None where none does: noise that is not independent,
    scales or steps that differ between answers, answers without noise.

    mechanism: of linear queries.
    """
    if not isinstance(mechanism, AdditiveMechanism) or mechanism.norm.silent.any():
        return None
    weights = diagonal_of(mechanism.norm)
    kind = OWN_KINDS.get((mechanism.norm.order, mechanism.falloff))
    if weights is None or kind is None or len(set(weights)) != 1 or len(set(mechanism.grid.exponents)) != 1:
        return None
    scale = float_above(1 / weights[0])
    return OwnNoise(kind, scale, mechanism.grid.exponents[0], Fraction(scale) * weights[0] == 1)


MODULE = '''"""A measurement of OpenDP, from the spec beside this file.

What d_in says: {apart}.
At d_in = 1: {promised}.
"""

from pathlib import Path

from designer import load
from designer.exchange.opendp import as_measurement

SPEC = Path(__file__).parent / {spec!r}
FINGERPRINT = {fingerprint!r}


def measurement():
    """The measurement, its guarantee proven anew from the spec."""
    mechanism = load(SPEC)
    if mechanism.fingerprint != FINGERPRINT:
        raise ValueError("the spec is another one than this file was made for")
    return as_measurement(mechanism, distance={distance!r})
'''


def measurement_module(mechanism: Specified, spec: str, *, distance: Distance = "records") -> str:
    """A Python module whose `measurement()` is that of `as_measurement`, read from the spec at the path `spec`, seen from the
    folder of the module. It is written where OpenDP is not installed, too.

    mechanism: of linear queries. spec: the path of its spec, from the folder of the module. distance: "records" or "budget".
    """
    spending = spending_of(mechanism, distance)
    promised = {"pure": "epsilon", "zcdp": "rho of zCDP"}.get(spending.notion, f"delta {spending.delta!r} with epsilon")
    return MODULE.format(
        apart=_apart(require_noisy(mechanism).relation, distance),
        promised=f"{promised} {spending.of(1)!r}",
        spec=str(spec),
        fingerprint=mechanism.fingerprint,
        distance=distance,
    )


@contextmanager
def features() -> Iterator[None]:
    """OpenDP's features that a measurement of one's own needs, for as long as it is built; afterwards as they were."""
    import opendp.prelude as dp
    from opendp.mod import GLOBAL_FEATURES

    added = [name for name in FEATURES if name not in GLOBAL_FEATURES]
    dp.enable_features(*added)
    try:
        yield
    finally:
        dp.disable_features(*added)


def _input_space(mechanism: Mechanism, distance: Distance) -> tuple[Any, Any]:
    """The domain and the metric of what the measurement takes."""
    import opendp.prelude as dp

    if distance == "l1":
        return dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    relation = mechanism.relation
    told = hashlib.sha256(canonical(plain(relation.to_spec()))).hexdigest()
    counts = dp.vector_domain(dp.atom_domain(T="i64", bounds=(0, LARGEST_COUNT)), size=relation.size)
    return counts, dp.user_distance(f"{_apart(relation, distance)}; {relation.sentence()} (relation {told})")


def _apart(relation: Relation, distance: Distance) -> str:
    """What d_in measures, in words; a budget for each unit of distance makes that unit a step."""
    if isinstance(relation, InvariantDistance) and distance == "records":
        return f"the {relation.distance} distance of two tables of counts, infinite where what is published differs"
    return DISTANCES[distance]


def _measure(spending: Spending) -> Any:
    import opendp.prelude as dp

    if spending.notion == "zcdp":
        return dp.zero_concentrated_divergence()
    return dp.approximate(dp.max_divergence()) if spending.notion == "approximate" else dp.max_divergence()


def _map_of(spending: Spending) -> Callable[[Any], Any]:
    """The map that OpenDP asks with its own numbers."""
    if spending.notion == "approximate":
        return lambda apart: (spending.of(apart), spending.delta if spending.length_of(apart) else 0.0)
    return lambda apart: spending.of(apart)


def _releasing(mechanism: Mechanism, distance: Distance, output: Handed) -> Callable[[Any], Any]:
    """What OpenDP runs on the counts that it hands over."""

    def released(given: Sequence[int]) -> Any:
        histogram = np.array(given, dtype=np.int64)
        found = mechanism.release(np.clip(histogram, 0, LARGEST_COUNT) if distance == "l1" else histogram)
        return [float(answer) for answer in found.answers] if output == "answers" else found

    return released


def _tabulating(elements: tuple[str, ...], unknown: str | None) -> Callable[[Sequence[str]], list[int]]:
    place = {name: k for k, name in enumerate(elements)}

    def tabulated(names: Sequence[str]) -> list[int]:
        counted = [0] * len(elements)
        for name in names:
            if (known := place.get(name, None if unknown is None else place[unknown])) is not None:
                counted[known] += 1
        return counted

    return tabulated


def _scaled(apart: int, scale: Fraction) -> int | float:
    """A number of records in units of the distance, rounded up."""
    return apart if scale == 1 else float_above(apart * scale)


def _appears(relation: Relation) -> bool:
    """Whether one record more or less is one protected change; refused where neither this nor that a record changes is."""
    if counts_alone(relation) or (isinstance(relation, AppearOrChange) and bool(np.isfinite(relation.epsilons).all())):
        return True
    if isinstance(relation, Metric) and _all_finite(relation):
        return False
    raise InvalidProblem(
        "relation: protects neither that any record appears nor that any record changes to any other, so no distance of lists "
        "of records bounds what is spent; hand counts to as_measurement, compared by its own distance."
    )


def _all_finite(metric: Metric) -> bool:
    """Whether every change of a record is one protected change."""
    return all(bool(np.isfinite(metric.rectangle(*block)).all()) for block in rectangles(metric.size))
