"""Every family under every kind of relation, elements and queries doubled; what it refuses by size, and how soon."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from benchmarks.growth.case import Case
from benchmarks.growth.million import places, regions_and_bumps
from designer import DesignFailed, InvalidProblem, Problem, Workload, design, invariants, metrics
from designer.designing import FAMILIES, Family
from designer.problem.relation import Relation

ELEMENTS = (125, 250, 500, 1_000, 2_000, 4_000, 16_000, 64_000, 128_000, 256_000)
QUERIES, OVER = (8, 16, 32, 64, 128, 256, 512, 2_048, 4_096, 8_192), 64  # sums over so many elements
LEVELS = (4, 6, 8, 11, 16, 23, 32, 45)  # a side: cells are doubled
FEW = {"k_norm": 2, "staircase": 2}  # dimensions of hulls, where four take long


def _of(elements: int, relation: str) -> Relation:
    return metrics.add_remove(elements, 1.0) if relation == "one record" else metrics.euclidean(places(elements))


def _stated(family: Family, relation: str, size: int, grown: str) -> Problem:
    if grown == "cells":
        published = invariants.margins((size, size)).protect(1.0, adjacency=2)
        return Problem(Workload.identity(size**2), published, notion=family.notion)
    if grown == "elements":
        elements, asked = size, Workload(regions_and_bumps(size, FEW.get(family.name, 4)).round(3))
    else:
        elements, asked = OVER, Workload(np.random.default_rng(size).integers(0, 2, (size, OVER)).astype(np.float64))
    records = 1000.0 if family.name == "laplace_joint" else None
    return Problem(asked, _of(elements, relation), notion=family.notion, records=records)


def _ready(family: Family, relation: str, grown: str, size: int) -> Problem:
    """The problem, after a small one, so that what is imported is imported."""
    with suppress(DesignFailed, InvalidProblem):  # what is refused at every size is said by the run itself
        design(_stated(family, relation, 4, grown), family.name)
    return _stated(family, relation, size, grown)


def _designed(family: str, problem: Problem) -> str:
    made = design(problem, family)
    ratio = made.privacy.ratio
    return "certified" if made.optimality is None else f"gap {made.optimality.gap:.1e}, worst ratio {ratio or 0:.6g}"


def _cases() -> list[Case]:
    found = []
    for family in FAMILIES:
        run = partial(_designed, family.name)
        kinds = [("published margins", "cells", LEVELS)]
        if not family.invariants_only:
            kinds += [
                (r, g, ELEMENTS if g == "elements" else QUERIES)
                for r in ("one record", "distances")
                for g in ("elements", "queries")
            ]
        for relation, grown, sizes in kinds:
            unit = "levels a side" if grown == "cells" else grown
            name = f"each family: {family.name}, {relation}, {grown}"
            found.append(Case(name, unit, sizes, run, partial(_ready, family, relation, grown)))
    return found


CASES = _cases()
