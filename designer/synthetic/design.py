"""Design of synthetic histograms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.designing.design_result import DesignOfKind
from designer.designing.of_kinds import BETA, chosen_family, design_of_kind, options_apart
from designer.synthetic.problem import SyntheticProblem


def design_synthetic(problem: SyntheticProblem, /, family: str = "auto", **rest: Any) -> DesignOfKind:
    """MWEM or SmallDB; "auto" takes the one of the smaller bound. options: those of the builder."""
    from designer.synthetic.multiplicative import mwem
    from designer.synthetic.small_databases import small_db

    start, (options, other) = time.perf_counter(), options_apart(rest)
    builders: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
        "mwem": (mwem, ("rounds", "constant", "selection", "output", "choice")),
        "small_db": (small_db, ("size", "constant", "exponent", "selection")),
    }
    if family == "auto":
        if options:
            raise InvalidProblem(f"options: {shown(sorted(options))} unknown to 'auto'; name a family beside them.")
        found = []
        for name in problem.families:
            try:
                found.append(design_synthetic(problem, name, **other))
            except DesignFailed as failure:
                last = failure
        if not found:
            raise last
        return replace(min(found, key=lambda one: one.loss), seconds=time.perf_counter() - start)
    build, known = builders.get(family, (mwem, ()))
    chosen_family(problem, family, options, known, other)
    made = build(problem.linear, **options)
    return design_of_kind(problem, start, made, made.bound(BETA))
