"""Subspace differential privacy (SEMI Definition 10), the comparison: noise for ONE record,
projected onto what the statistics leave open.

It measures closeness of outputs within the subspace for databases one record apart, although no two databases with the same
statistics may be one record apart. For those that are, several records apart, it spends more than its epsilon: the ratio of the
largest change that the invariant allows to that of one record. No family of `design` is built on it;
`subspace_mechanism` states what is really spent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from designer.base.errors import DesignFailed
from designer.certified.norms import Norm, NormOrder
from designer.families.group_privacy import weights_for_records
from designer.families.measured import Coordinates
from designer.families.projected import project
from designer.families.repair import freeze
from designer.mechanisms.additive.interface import Falloff
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations import metrics
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.problem import Problem

# The stated budget exceeds the computed one by this factor, so that the norm passes as it is.
ROOM = 1 + 2.0**-30


def subspace_mechanism(problem: Problem) -> AdditiveMechanism:
    """The subspace mechanism whose subspace-DP budget is that of the problem: Laplace ("pure") or Gaussian noise.

    Its relation has the invariant and the adjacency of the problem, with the Semi-DP budget that the mechanism really gives:
    `epsilon sup ||u|| / Delta(S_DP)` over the differences u that the invariant leaves.
    Under the problem's own budget its certificate fails.

    problem: under an invariant.
    """
    relation = problem.relation
    if not isinstance(relation, InvariantChanges) or not relation.invariant.records_public:
        raise DesignFailed("subspace: needs a relation from invariants.<...>.protect(...) whose number of records is public.")
    pure = problem.notion == "pure"
    order: NormOrder = "l1" if pure else "l2"
    weights = weights_for_records(problem, metrics.uniform(relation.size, relation.epsilon), order)
    norm = Norm(weights, order)
    spent = relation.epsilon * problem.sensitivity().worst(norm)[0] * ROOM
    honest = replace(problem, relation=replace(relation, epsilon=max(spent, relation.epsilon)))
    heard = np.isfinite(weights)
    family = "subspace_laplace" if pure else "subspace_gaussian"
    falloff: Falloff = "exponential" if pure else "gaussian"
    return project(freeze(honest, family, Coordinates(None, None, heard), 1 / weights, lambda _: norm, falloff, whole=pure))
