"""Lines about a frozen mechanism that must not be missed, wherever it is shown."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats
from designer.base.display import at_most, counted, printed
from designer.certificate.frozen import HALF_UNIT, FrozenMechanism, deviations_in_units, stated_budgets, warning
from designer.problem.relation import Relation
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.metrics.attributes import Hamming, Product

ROWS_SHOWN = 12
MOST_PAIRS = 2**20  # whose budgets are looked at one by one
LARGE_BUDGET = 20  # odds of exp(20) to 1: 500 million


def cautions(made: FrozenMechanism) -> list[str]:
    """Lines that must not be missed: that the object hides nothing, or next to nothing, which answers it publishes without
    noise or with a bias, and that its noise breaks what was published."""
    listed = ", ".join(map(printed, made.exact[:ROWS_SHOWN])) + (
        f" and {len(made.exact) - ROWS_SHOWN} more" if len(made.exact) > ROWS_SHOWN else ""
    )
    exact = [f"EXACT, without any noise: {listed}."] if listed else []
    return [*warning(made), *_weak(made), *_disagrees(made), *_biased(made), *exact]


def _biased(made: FrozenMechanism) -> list[str]:
    """A line where answers are off by more than their noise."""
    if not (biased := made.biased):
        return []
    worst = max(biased, key=lambda name: biased[name])
    return [
        f"BIASED: for each record an answer may be off by up to {at_most(biased[worst])} more than by its noise "
        f"({printed(worst)}; {counted(len(biased), 'answer')} in all). Errors stated here are those of the noise alone."
    ]


def _disagrees(made: FrozenMechanism) -> list[str]:
    """A line where the noise of a mechanism breaks what was published."""
    if getattr(getattr(made, "relation", None), "invariant", None) is None:
        return []
    from designer.mechanism.consistency import agreement_lines

    return agreement_lines(made)


def _weak(made: FrozenMechanism) -> list[str]:
    """Lines where budgets are so large that what is protected can be told with near certainty: how they are distributed, and
    which answers they leave nearly without noise."""
    least = made.guarantee.parameters.get("smallest_budget")
    if isinstance(least, (int, float)) and LARGE_BUDGET <= least < math.inf:
        budgets = (
            f"WEAK: the smallest budget is {at_most(least)}; budgets above {LARGE_BUDGET} hide next to nothing, give about 1."
        )
        return [budgets, *_bare(made)]
    return _spread(made)


def _spread(made: FrozenMechanism) -> list[str]:
    """How many budgets hide next to nothing, where some do and the smallest does not."""
    most = made.guarantee.parameters.get("largest_finite_budget")
    if isinstance(most, (int, float)) and most <= LARGE_BUDGET:
        return []
    of, found = _budgets(made)
    if found is None:
        if not isinstance(most, (int, float)):
            return []
        return [
            f"WEAK in part: budgets go up to {at_most(most)}; those above {LARGE_BUDGET} hide next to nothing.",
            *_bare(made),
        ]
    large = int((found > LARGE_BUDGET).sum())
    if not large:
        return []
    return [
        f"WEAK in part: {large:,} of {len(found):,} {of} have a budget above {LARGE_BUDGET}, which hides "
        f"next to nothing; smallest {at_most(float(found.min()))}, median {at_most(float(np.median(found)))}.",
        *_bare(made),
    ]


def _budgets(made: FrozenMechanism) -> tuple[str, Floats | None]:
    """Budgets above 0 that are finite, (n,), and what each is of; None where they are too many to look at."""
    protected = getattr(made, "relation", None) or getattr(made, "protection", None)
    if isinstance(protected, Hamming):
        sizes = protected.domain.shape
        return "attributes", _positive([b for b, values in zip(protected.budgets, sizes, strict=True) if values > 1])
    if isinstance(protected, Product):
        many = sum(part.size**2 for part in protected.parts) > MOST_PAIRS
        within = [] if many else [part.distances()[np.triu_indices(part.size, 1)] for part in protected.parts]
        return "pairs of values of an attribute", None if many else _positive(np.concatenate(within))
    if not isinstance(protected, Relation) or isinstance(protected, InvariantDistance):  # whose changes nobody can list
        return stated_budgets(made)
    if protected.pair_count() > MOST_PAIRS:
        return "pairs that decide", None
    return "pairs that decide", _positive(np.concatenate([np.zeros(0), *(b.budgets.ravel() for b in protected.blocks())]))


def _positive(budgets: ArrayLike) -> Floats:
    found = np.asarray(budgets, dtype=np.float64)
    return found[np.isfinite(found) & (found > 0)]


def _bare(made: FrozenMechanism) -> list[str]:
    """The answers in whole numbers whose noise is below half a unit: rounding gives the truth most of the time."""
    exact = made.exact
    named = [printed(name) for name, deviation in deviations_in_units(made) if deviation < HALF_UNIT and name not in exact]
    more = f" and {len(named) - ROWS_SHOWN} more" if len(named) > ROWS_SHOWN else ""
    return [f"NEARLY EXACT: the noise is below half a unit in {', '.join(named[:ROWS_SHOWN])}{more}."] if named else []
