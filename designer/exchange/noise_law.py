"""The law of a mechanism's noise as plain data that need no program of ours: what an error model or a Bayesian analysis of
noisy numbers asks for. Formulas for every family: docs/guides/exchange.md, section 2.

    answers = reconstruction (true measured answers + step z),    step_k = 2^exponents[k]

z is a vector of whole numbers with the law in the document, 0 in coordinates that are not `noisy`. Rationals are texts.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from designer.base.errors import InvalidProblem
from designer.base.json_text import plain
from designer.base.schema import (
    COUNT,
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
from designer.certified.bundle_norm import BundleNorm
from designer.certified.capped_norm import CappedNorm
from designer.certified.frozen import FORMAT_VERSION, Specified
from designer.certified.norms import Gauge, Norm
from designer.exchange.spending import require_noisy
from designer.files.kinds import KINDS
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.staircase.noise import Peaks, whole_units

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
    """The schema of documents of noise."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://dp-designer.example/noise.schema.json",
        "title": f"dp-designer noise, version {NOISE_VERSION}",
    }
    return bundle({**head, **NOISE})


def noise_document(mechanism: Specified) -> dict[str, Any]:
    """The law of the noise as plain data; see the module; `dp-designer schema noise` prints its schema.

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
        "simulated_draws": noisy.simulated_draws if few else 0,
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
    places = np.flatnonzero(mechanism.heard).tolist()
    return [weight * mechanism.grid.step(k) for weight, k in zip(weights, places, strict=True)]


def additive_law_parts(mechanism: Any) -> dict[str, Any]:
    """The parts of a document that say the law of noise on a grid, and what is made of it."""
    return {
        "exponents": list(mechanism.grid.exponents),
        "noisy": np.flatnonzero(mechanism.heard).tolist(),
        "law": _law_on_a_grid(mechanism),
        "reconstruction": mechanism.reconstruction,
    }


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


def staircase_law_parts(mechanism: Any) -> dict[str, Any]:
    """The same of noise of least loss: stairs, or peaks with the costs of the steps that lead from them."""
    noise = mechanism.noise
    law = noise.to_spec()
    if isinstance(noise, Peaks):
        found = ((u.steps, whole_units(u.budget, noise.unit)) for u in mechanism.differences)
        law["steps"] = [{"move": list(steps), "cost": cost} for steps, cost in found]
    return {
        "exponents": list(mechanism.grid.exponents),
        "noisy": np.flatnonzero(mechanism.heard).tolist(),
        "law": law,
        "reconstruction": mechanism.reconstruction,
    }


SINGLE = ("query", "law", "exponent", "rate_or_variance", "scale_or_deviation", "variance", "standard_error")


def noise_rows(mechanism: Specified) -> list[tuple[str, ...]]:
    """The same as a table, a row for each answer, headed by `SINGLE`: of mechanisms that add independent noise to each answer.

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
