"""What a spec of integer noise on a kernel holds."""

from __future__ import annotations

from designer.certified.family_names import LATTICE_FAMILIES
from designer.certified.guarantee import RATIO
from designer.certified.norm_specs import FALLOFF, NORM
from designer.problem.workload import WORKLOAD
from designer.relations.kinds import OF_INVARIANTS
from designer.sampling.lattices.lattice_chain import ChainPlan
from designer.base.schema import COUNT, Named, POSITIONS, POSITIVE, either, exactly, needs_one_of, number, one_of, or_null, record

LATTICE_MECHANISM = Named(
    "lattice_mechanism",
    record(
        {
            "family": one_of(*sorted(LATTICE_FAMILIES)),
            "workload": WORKLOAD,
            "relation": OF_INVARIANTS,
            "norm": NORM,
            "falloff": FALLOFF,
            "cells": or_null(POSITIONS),
            "chain": or_null(ChainPlan.schema),
        },
        note=(
            "The table plus integer noise on the kernel of an invariant; `cells` are the elements that the norm "
            "measures, null for all."
        ),
    ),
)
# How large the changes are, and what coupled chains estimate where noise is drawn by one.
SIZES = {"adjacency": COUNT, "budget_per_unit_of_distance": POSITIVE}
ESTIMATES = {
    "estimated_total_variation": number(least=0),
    "estimated_delta": number(least=0, below=1),
    "largest_r_hat": either(number(least=0), exactly("inf")),
}
LATTICE_PARAMETERS = Named(
    "parameters_of_lattice_noise",
    record(
        {"worst_ratio": RATIO, "dimension": COUNT},
        {**SIZES, **ESTIMATES},
        anyOf=needs_one_of(*SIZES),
        dependentRequired={name: [other for other in ESTIMATES if other != name] for name in ESTIMATES},
    ),
)
