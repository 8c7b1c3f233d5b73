"""What a frozen mechanism reaches of the targets, and the problem whose design reaches most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.mechanisms.additive.interface import CONFIDENCE, Mechanism
from designer.problem.targets import Target, Targets
from designer.relations.problem import Problem

# Of the largest loss of a query with a target: what those without one may take of it together, as a share of its root.
UNASKED = 1e-4


@dataclass(frozen=True)
class Reached:
    """What one query reaches: the standard error (the margin, for a margin), biases included where records are known."""

    target: Target
    value: float

    @property
    def ratio(self) -> float:
        """What is reached over what may be reached at most: met up to 1."""
        return self.value / self.target.most

    @property
    def in_units(self) -> float:
        """The value in the units of the target: a relative error is relative."""
        return self.value if self.target.reference is None else self.value / abs(self.target.reference)

    def sentence(self) -> str:
        """The target in words, and what is reached."""
        return f"{self.target.sentence()}, reached {self.in_units:.6g}"


def reached_by(mechanism: Mechanism, problem: Problem, targets: Targets) -> tuple[Reached, ...]:
    """What the noise that is in fact drawn reaches of every target, in the order of the queries.

    Standard errors are those of `mechanism.standard_errors()`, margins those of `mechanism.margins()`, as releases and reports
    state them; `standing_words` says what they are where they are not computed. With a public number of records n the largest
    bias over histograms of n records, `n max_i |P - Q|_ki`, is part of it: `root(variance + bias^2)`, margin + bias.
    """
    asked = targets.of(mechanism.workload.queries)
    kinds = {target.kind == "margin" for target in asked}
    bias = largest_biases(mechanism, problem)
    margins = mechanism.margins(CONFIDENCE) + bias if True in kinds else bias
    errors = np.hypot(mechanism.standard_errors(), bias) if False in kinds else bias
    return tuple(Reached(t, float((margins if t.kind == "margin" else errors)[t.place])) for t in asked)


def largest_biases(mechanism: Mechanism, problem: Problem) -> Floats:
    """Of every answer the largest bias over histograms of the public number of records, (K,); 0 where it is not public."""
    if problem.records is None:
        return np.zeros(len(mechanism.workload.queries))
    off = np.abs(mechanism.effective - problem.workload.dense())
    return np.asarray(problem.records * off.max(axis=1))


def standing_words(mechanism: Mechanism, targets: Sequence[Target]) -> list[str]:
    """What the numbers that meet these targets are, where they are not computed, and by which law margins are; in sentences."""
    kinds = {target.kind == "margin" for target in targets}
    errors = [mechanism.accuracy_words] if False in kinds and mechanism.accuracy_words else []
    return [*errors, *([f"Margins by {mechanism.reach_of_answers(CONFIDENCE, False)[1]}."] if True in kinds else [])]


def worst_of(reached: Sequence[Reached]) -> Reached:
    """The query that is farthest from its target, or nearest to missing it."""
    return max(reached, key=lambda one: one.ratio)


def missed_words(reached: Sequence[Reached]) -> str:
    """Which targets are missed, worst first, the first few by name."""
    missed = sorted((one for one in reached if one.ratio > 1), key=lambda one: -one.ratio)
    listed = "; ".join(shown(one.sentence())[1:-1] for one in missed[:3])
    return f"{len(missed)} of {len(reached)} are missed: {listed}" + ("; ..." if len(missed) > 3 else "")


def towards(problem: Problem, targets: Targets, mechanism: Mechanism) -> Problem:
    """The problem whose loss is the largest `(error / target)^2`: its best design meets the targets at the least budgets, for
    families that heed losses and weights.

    mechanism: of the problem. Its ratios of margins to standard errors turn margins into standard errors, and its variances
    say what is little for a query without a target, which gets what is left.
    """
    asked = targets.of(problem.workload.queries)
    errors = mechanism.standard_errors()
    per_error = np.ones(len(asked))
    if any(target.kind == "margin" for target in asked):
        margins = mechanism.margins(CONFIDENCE)
        places = [target.place if target.kind == "margin" else -1 for target in asked]
        per_error = np.array([margins[k] / errors[k] if k >= 0 and margins[k] and errors[k] else 1.0 for k in places])
    own = per_error / np.array([target.most for target in asked])
    return replace(problem, loss="max", weights=_spread(own, [target.place for target in asked], errors))


def _spread(own: Floats, places: Sequence[int], errors: Floats) -> Floats:
    """Weights of all queries, (K,): the squares of `own` at `places`, and little elsewhere."""
    worst = float((own * errors[list(places)]).max()) or float(own.max())
    little = UNASKED / len(errors) * worst / np.where(errors > 0, errors, worst / own.min())
    little[list(places)] = own
    return np.asarray(little**2)
