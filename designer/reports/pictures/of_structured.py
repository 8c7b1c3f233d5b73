"""The errors of products of queries as a picture, term by term."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.reports.pictures.charts import bars_by_name, size_for
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.numerals import no_less
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.base.arrays import Floats

MOST_TERMS = 2000


def term_drawings(mechanism: StructuredMechanism) -> tuple[Drawing, ...]:
    """Bars: the root mean squared error of an answer of each term; none of thousands of terms."""
    if len(mechanism.workload.terms) > MOST_TERMS:
        return ()
    names, errors = errors_by_term(mechanism)
    low, high = no_less(float(errors.min())), no_less(float(errors.max()))
    alt = f"Bars for the root mean squared error of an answer of each of {len(names)} terms, from {low} to {high}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, "root mean squared error of an answer")

    return (Drawing("errors", "Error of the answers of each term", alt, draw, **size_for(names)),)


def errors_by_term(mechanism: StructuredMechanism) -> tuple[list[str], Floats]:
    """The attributes of each term, and the root mean squared error of its answers, (T,)."""
    attributes, terms = mechanism.workload.domain.attributes, mechanism.workload.terms
    sizes = [float(np.prod([float(queries.count) for queries in term.values()])) for term in terms]
    names = [" x ".join(attributes[axis] for axis in term) or "total" for term in terms]
    return names, np.sqrt(np.asarray(mechanism.term_errors) / sizes)
