"""How far the noise of the answers of structured workloads reaches with a given probability."""

from __future__ import annotations

import math

import numpy as np

from designer.structured.release import Structured, StructuredAnswers
from designer.values.answer_table import Limits, symmetric_limits
from designer.values.arrays import Floats


def limits_of_terms(mechanism: Structured, released: StructuredAnswers, level: float, simultaneous: bool) -> Limits:
    """Intervals of all answers of all terms, in order."""
    terms = range(len(mechanism.workload.terms))
    answers = np.concatenate([released.table(term).ravel() for term in terms])
    whole = np.concatenate([np.full(mechanism.workload.counts[term], _whole(mechanism, term)) for term in terms])
    errors = np.concatenate([_errors(mechanism, term) for term in terms])
    share = (1 - level) / (len(answers) if simultaneous else 1)
    unit = math.sqrt(2 * math.log(2 / share)) if mechanism.noise == "gaussian" else 1 / math.sqrt(share)
    return symmetric_limits(answers, errors * unit, whole, "tails of sums of independent noise")


def _whole(mechanism: Structured, term: int) -> bool:
    """Whether the answers of a term are whole numbers."""
    rows = (queries.rows() for queries in mechanism.workload.terms[term].values())
    return all(bool((own == np.rint(own)).all()) for own in rows)


def _errors(mechanism: Structured, term: int) -> Floats:
    places = np.argwhere(np.ones([queries.count for queries in mechanism.workload.terms[term].values()], dtype=bool))
    return np.sqrt(mechanism.variances(term, places))
