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

from designer.accounts.composition.terms import largest_budget
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import canonical, plain
from designer.base.run_length import or_runs
from designer.base.schema import (
    COUNT,
    DELTA,
    HASH,
    MATRIX,
    NAMES,
    PLACE,
    POSITIONS,
    POSITIVE,
    POSITIVE_VECTOR,
    RATIONAL,
    RATIONALS,
    SIGNED_RATIONAL,
    VECTOR,
    Fragment,
    Named,
    bundle,
    either,
    exactly,
    list_of,
    noted,
    of_kind,
    one_of,
    or_null,
    record,
    text,
    whole,
)
from designer.certificate.frozen import FORMAT_VERSION, FrozenMechanism
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm
from designer.exchange.spending import Distance, Spending, counts_alone, require_noisy, spending_of
from designer.files.kinds import KINDS
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.interface import Mechanism
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import Peaks, whole_units
from designer.problem.relation import Relation, rectangles
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AppearOrChange
from solvers.exact.rational import float_above

# The law of a mechanism's noise as plain data that need no program of ours: what an error model or a Bayesian analysis of
# noisy numbers asks for. Formulas for every family: docs/guides/exchange.md, section 2.
#
# answers = reconstruction (true measured answers + step z),    step_k = 2^exponents[k]
#
# z is a vector of whole numbers with the law in the document, 0 in coordinates that are not `noisy`. Rationals are texts.


NOISE_FORMAT, NOISE_VERSION = "dp-designer/noise", 1
MOST_COVARIANCES = 1_000  # queries whose covariances are written out; above, standard errors alone
FALLOFF = one_of("exponential", "gaussian", "rounded_gaussian")
POINTS = list_of(list_of(SIGNED_RATIONAL))
POLYTOPE = {
    "vertices": noted("One of each pair +-v, rationals.", POINTS),
    "facets": noted("One of each pair +-a: ||y|| = max |a . y|.", POINTS),
}
PARTS = list_of(of_kind("norm_part", "polytope", {"coordinates": POSITIONS, **POLYTOPE}))
NORMS: tuple[Fragment, ...] = (
    of_kind("noise_norm", "ellipsoid", {"factor": MATRIX}, "||y|| is the Euclidean length of factor y."),
    of_kind("noise_norm", "weighted_l1", {"weights": POSITIVE_VECTOR}, "||y|| = sum w_k |y_k|."),
    of_kind("noise_norm", "box", {"weights": POSITIVE_VECTOR}, "||y|| = max w_k |y_k|."),
    of_kind("noise_norm", "polytope", POLYTOPE, "||y|| is the gauge of the polytope."),
    of_kind("noise_norm", "bundles", {"combine": one_of("max", "sum"), "parts": PARTS}, "Of gauges of disjoint coordinates."),
    of_kind("noise_norm", "capped_l1", {"weights": POSITIVE_VECTOR, "cap": POSITIVE}, "max(max w |y|, sum w |y| / cap)."),
)
NORM = Named("noise_norm", either(*NORMS))
LAWS: tuple[Fragment, ...] = (
    of_kind("law", "discrete_laplace", {"rates": RATIONALS, "scales": POSITIVE_VECTOR}, "P(z) = prod tanh(r/2) exp(-r |z|)."),
    of_kind("law", "discrete_gaussian", {"variances": RATIONALS, "deviations": POSITIVE_VECTOR}, "P(z) ~ exp(-z^2 / (2 v))."),
    of_kind("law", "rounded_normal", {"variances": RATIONALS, "deviations": POSITIVE_VECTOR}, "z = floor(N(0, v) + 1/2)."),
    of_kind("law", "norm", {"falloff": FALLOFF, "norm": NORM}, "P(z) ~ exp(-||y||) or exp(-||y||^2 / 2), y = step z."),
    of_kind(
        "law",
        "lattice",
        {
            "falloff": FALLOFF,
            "norm": NORM,
            "cells": noted("Which numbers y of z the norm looks at.", list_of(PLACE, distinct=True)),
            "constraints": noted("z is a whole vector with constraints z = 0.", list_of(list_of(whole()))),
        },
        "P(z) ~ exp(-||y||) or exp(-||y||^2 / 2) on the integer kernel of the constraints.",
    ),
    of_kind("law", "stairs", {"unit": RATIONAL, "width": COUNT, "top": PLACE}, "P(z) ~ exp(-unit ceil((|z| - top) / width))."),
    of_kind("law", "moves", {"unit": RATIONAL, "cells": COUNT}, "P(z) ~ exp(-unit |z|_1 / 2) on whole z that add up to 0."),
    of_kind(
        "law",
        "truncated",
        {"rates": or_runs(POSITIVE_VECTOR), "delta": DELTA},
        "Even: T_k = P(z >= k), a = exp(-rate), T_1 = a (1 - delta) / (1 + a), T_(k+1) = max(0, a (T_k - delta)).",
    ),
    of_kind(
        "law",
        "peaks",
        {
            "unit": RATIONAL,
            "basis": list_of(list_of(whole())),
            "halves": list_of(whole(least=0, most=1)),
            "peaks": list_of(list_of(whole())),
            "levels": list_of(whole(least=0)),
            "steps": list_of(record({"move": list_of(whole()), "cost": COUNT})),
        },
        "P(z) ~ exp(-unit h(z)), h the least of a level and the costs of steps that lead from its peak to z.",
    ),
)
NOISE = record(
    {
        "format": exactly(NOISE_FORMAT),
        "version": exactly(NOISE_VERSION),
        "spec": record({"format": one_of(*KINDS), "version": exactly(FORMAT_VERSION)}),
        "fingerprint": HASH,
        "family": text(),
        "queries": NAMES,
        "exponents": noted("Number k of z is in steps of 2^exponents[k].", list_of(whole())),
        "noisy": noted("The coordinates of z that get noise; law k is that of coordinate noisy[k].", list_of(PLACE, least=0)),
        "law": either(*LAWS),
        "reconstruction": noted("From measured answers to answers; null for the identity.", or_null(MATRIX)),
        "standard_errors": noted("Of the answers, or bounds above them.", either(VECTOR)),
        "covariance": noted("Of the answers, where they are few; null elsewhere.", or_null(MATRIX)),
        "simulated_draws": noted("By how many draws the covariance is simulated; 0 where it is computed.", whole(least=0)),
    },
    note="The law of the noise of one mechanism. Every mean is 0.",
)


def noise_schema() -> dict[str, Any]:
    """Give the schema of documents of noise."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://dp-designer.example/noise.schema.json",
        "title": f"dp-designer noise, version {NOISE_VERSION}",
    }
    return bundle({**head, **NOISE})


def noise_document(mechanism: FrozenMechanism) -> dict[str, Any]:
    """State the law of the noise as plain data; see the module; `dp-designer schema noise` prints its schema.

    `InvalidProblem`, with the reason, where the noise depends on the data, is that of a Markov chain, or hides nothing.

    mechanism: frozen, with noise that does not depend on the data.
    """
    noisy = require_noisy(mechanism)
    few = len(noisy.workload.queries) <= MOST_COVARIANCES
    body = {
        "format": NOISE_FORMAT,
        "version": NOISE_VERSION,
        "spec": {"format": noisy.format, "version": FORMAT_VERSION},
        "fingerprint": noisy.fingerprint,
        "family": noisy.family,
        "queries": list(noisy.workload.queries),
        **KINDS[noisy.format].part("noise_law")(noisy),
        "standard_errors": noisy.standard_errors(),
        "covariance": noisy.covariance() if few else None,
        "simulated_draws": noisy.error_source.draws if few else 0,
    }
    document: dict[str, Any] = plain(body)
    return document


def diagonal_of(norm: Norm) -> list[Fraction] | None:
    """The weights, in the order of the coordinates that get noise, of a norm that looks at each by itself: l1, and l2 with a
    diagonal map. None for others."""
    if type(norm) is not Norm or norm.order == "linf":
        return None
    factor = norm.factor
    square = factor.shape[0] == factor.shape[1]
    if not square or np.count_nonzero(factor) != np.count_nonzero(factor.diagonal()):
        return None
    return [Fraction(float(weight)) for weight in np.abs(factor.diagonal())]


def in_steps(mechanism: AdditiveMechanism, weights: list[Fraction]) -> list[Fraction]:
    """These weights for a unit of one step."""
    places = np.flatnonzero(~mechanism.norm.silent).tolist()
    return [weight * mechanism.grid.step(k) for weight, k in zip(weights, places, strict=True)]


def grid_law_parts(mechanism: Any) -> dict[str, Any]:
    """The parts of a document that say the law of noise on a grid, and what is made of it."""
    return {
        "exponents": list(mechanism.grid.exponents),
        "noisy": np.flatnonzero(mechanism._heard).tolist(),
        "law": _law_on_a_grid(mechanism) if isinstance(mechanism, AdditiveMechanism) else _law_of_least_loss(mechanism),
        "reconstruction": mechanism.reconstruction,
    }


def _law_of_least_loss(mechanism: StaircaseMechanism) -> dict[str, Any]:
    """Stairs, or peaks with the costs of the steps that lead from them."""
    noise = mechanism.noise
    law = noise.to_spec()
    if isinstance(noise, Peaks):
        found = ((u.steps, whole_units(u.budget, noise.unit)) for u in mechanism._differences)
        law["steps"] = [{"move": list(steps), "cost": cost} for steps, cost in found]
    return law


def _law_on_a_grid(mechanism: AdditiveMechanism) -> dict[str, Any]:
    """Independent numbers where they are, and the norm elsewhere."""
    weights = diagonal_of(mechanism.norm)
    own = mechanism.norm.order == ("l1" if mechanism.falloff == "exponential" else "l2")
    if weights is None or not own:
        return {"kind": "norm", "falloff": mechanism.falloff, "norm": _norm(mechanism.norm)}
    rates, widths = in_steps(mechanism, weights), [float(1 / weight) for weight in weights]
    if mechanism.falloff == "exponential":
        return {"kind": "discrete_laplace", "rates": rates, "scales": widths}
    kind = "discrete_gaussian" if mechanism.falloff == "gaussian" else "rounded_normal"
    return {"kind": kind, "variances": [1 / rate**2 for rate in rates], "deviations": widths}


def _norm(norm: Norm) -> dict[str, Any]:
    """A norm of the coordinates that get noise, in the units of the answers."""
    heard = ~norm.silent
    if isinstance(norm, BundleNorm):
        place = {int(k): rank for rank, k in enumerate(np.flatnonzero(heard))}
        bundles = zip(norm.places, norm.gauges, strict=True)
        parts = [{"kind": "polytope", "coordinates": [place[k] for k in where], **_polytope(gauge)} for where, gauge in bundles]
        return {"kind": "bundles", "combine": norm.combine, "parts": parts}
    if isinstance(norm, Gauge):
        return {"kind": "polytope", **_polytope(norm)}
    if isinstance(norm, CappedNorm):
        return {"kind": "capped_l1", "weights": norm.weights[heard], "cap": norm.cap}
    if norm.order == "l2":
        return {"kind": "ellipsoid", "factor": norm.factor}
    return {"kind": "weighted_l1" if norm.order == "l1" else "box", "weights": norm.map[heard]}


def _polytope(gauge: Gauge) -> dict[str, Any]:
    scale = Fraction(gauge.scale)
    return {
        "vertices": [[c * scale for c in row] for row in gauge.body.vertices.fractions()],
        "facets": [[c / scale for c in row] for row in gauge.body.facets.fractions()],
    }


def lattice_law_parts(mechanism: Any) -> dict[str, Any]:
    """The same of integer noise on a kernel, cell by cell."""
    size = mechanism.relation.size
    return {
        "exponents": [0] * size,
        "noisy": list(range(size)),
        "law": {
            "kind": "lattice",
            "falloff": mechanism.falloff,
            "norm": _norm(mechanism.norm),
            "cells": mechanism.columns.tolist(),
            "constraints": mechanism.relation.invariant.constraints.tolist(),
        },
        "reconstruction": mechanism.workload.dense(),
    }


SINGLE = ("query", "law", "exponent", "rate_or_variance", "scale_or_deviation", "variance", "standard_error")


def noise_rows(mechanism: FrozenMechanism) -> list[tuple[str, ...]]:
    """Tabulate the same, a row for each answer, headed by `SINGLE`, where each answer has independent noise.

    rate_or_variance: of the law in steps of 2^exponent, exact. scale_or_deviation, variance and standard_error: of the answer.
    `InvalidProblem` where noise is shared by answers, which takes matrices.

    mechanism: with independent noise of each answer.
    """
    document = noise_document(mechanism)
    law, errors = document["law"], document["standard_errors"]
    columns = {"discrete_laplace": ("rates", "scales"), "discrete_gaussian": ("variances", "deviations")}
    columns["rounded_normal"] = columns["discrete_gaussian"]
    if law["kind"] not in columns or document["reconstruction"] is not None:
        raise InvalidProblem(
            f"noise: a {law['kind']} law with what is made of it is no table of independent answers; name a .json file."
        )
    exact, width = columns[law["kind"]]
    own = dict(zip(document["noisy"], zip(law[exact], law[width], strict=True), strict=True))
    rows: list[tuple[str, ...]] = [SINGLE]
    for k, (name, error) in enumerate(zip(document["queries"], errors, strict=True)):
        numbers = own.get(k, ("", 0.0))
        kind = law["kind"] if k in own else "exact"
        shown = (document["exponents"][k], numbers[0], repr(numbers[1]), repr(error * error), repr(error))
        rows.append((name, kind, *map(str, shown)))
    return rows


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


def as_measurement(mechanism: FrozenMechanism, *, distance: Distance = "records", output: Handed = "answers") -> Any:
    """Wrap the mechanism as an `opendp.mod.Measurement` of counts of the universe elements, in their order.

    With the distance "l1" the input metric is OpenDP's own `l1_distance(T=i64)`, so that `make_count_by_categories` chains with
    it. Negative counts are taken for 0, and counts beyond 2^53 - 1 for that, because OpenDP knows no domain of counts. With the
    others it is a `user_distance` whose description names the relation: two of them are equal only if they protect the same
    changes. Raises `InvalidProblem` with the reason where the mechanism has no such map.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    distance : what d_in measures, see `designer.exchange.spending`.
    output : "answers", a list of floats, or "release", the whole `Release`, with fingerprint and guarantee.
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
    mechanism: FrozenMechanism, *, size: int | None = None, unknown: str | None = None, distance: Distance = "records"
) -> Any:
    """Build OpenDP's transformation from a list of names of elements, one for each record, to counts. `as_measurement` takes
    them with the same distance.

    Where records appear and disappear, its input metric is `symmetric_distance`, and names of no element are left out. Where a
    record changes, the lists have a public `size`, and the metric is `change_one_distance`. `InvalidProblem` where such
    distances do not bound what the mechanism protects.

    Parameters
    ----------
    mechanism : of linear queries.
    size : the number of records, where it is public.
    unknown : the element that names of no element count as.
    distance : "records" or "budget".
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


def own_noise(mechanism: FrozenMechanism) -> OwnNoise | None:
    """Name the constructor of OpenDP that draws noise of the mechanism's law; None where none does. That is for noise that is
    not independent, scales or steps that differ between answers, and answers without noise.

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


def measurement_module(mechanism: FrozenMechanism, spec: str, *, distance: Distance = "records") -> str:
    """Write a Python module whose `measurement()` is that of `as_measurement`, read from the spec at the path `spec`. It is
    written where OpenDP is not installed, too.

    Parameters
    ----------
    mechanism : of linear queries.
    spec : the path of its spec, from the folder of the module.
    distance : "records" or "budget".
    """
    spending = spending_of(mechanism, distance)
    promised = {"pure": "epsilon", "zcdp": "rho of zCDP"}.get(spending.notion, f"delta {spending.delta!r} with epsilon")
    return MODULE.format(
        apart=_distance_words(require_noisy(mechanism).relation, distance),
        promised=f"{promised} {spending.of(1)!r}",
        spec=str(spec),
        fingerprint=mechanism.fingerprint,
        distance=distance,
    )


@contextmanager
def features() -> Iterator[None]:
    """Enable OpenDP's features that a measurement of one's own needs, for as long as it is built; afterwards as they were."""
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
    return counts, dp.user_distance(f"{_distance_words(relation, distance)}; {relation.sentence()} (relation {told})")


def _distance_words(relation: Relation, distance: Distance) -> str:
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
