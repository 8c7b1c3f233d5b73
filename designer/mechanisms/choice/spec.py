"""Scores from the plain data of a spec, each kind from a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from designer.base.errors import InvalidSpec
from designer.problem.workload import workload_from_spec
from designer.mechanisms.choice.scores import AbsoluteError, Closeness, LargestError, Linear, Score
from designer.mechanisms.choice.tabulated import Tabulated
from designer.base.json_text import array, require_keys
from designer.base.schema import either, keys

OF_FORMS: dict[str, type[Score]] = {cls.kind: cls for cls in (Linear, AbsoluteError, Closeness)}
EXTRA_KEYS = {cls.kind: keys(cls.schema) - keys(Linear.schema) for cls in (LargestError, Tabulated)}
SCORE = either(*(cls.schema for cls in OF_FORMS.values()), LargestError.schema, Tabulated.schema)


def score_from_spec(spec: Any) -> Score:
    """The score that `to_spec` wrote; InvalidSpec or InvalidProblem for anything else."""
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if kind not in [*OF_FORMS, *EXTRA_KEYS]:
        raise InvalidSpec(f"score.kind: must be one of {sorted([*OF_FORMS, *EXTRA_KEYS])}.")
    require_keys(spec, keys(Linear.schema) | EXTRA_KEYS.get(kind, set()), "score")
    workload, targets = (
        workload_from_spec(spec["workload"]),
        array(spec["targets"], 1 + (kind == LargestError.kind), "score.targets"),
    )
    if kind == LargestError.kind:
        return LargestError(workload, targets, spec["candidates"])
    if kind == Tabulated.kind:
        return Tabulated(workload, targets, spec["records"], spec["elements"])
    return OF_FORMS[kind](workload, targets)
