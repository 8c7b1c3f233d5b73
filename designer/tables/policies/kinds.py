"""The closed list of policies, and how one is read from plain data.

>>> from designer.tables.policies.policies import ConstantPolicy, Splitting, SumOfPolicies
>>> total = SumOfPolicies([ConstantPolicy("1/4"), Splitting(1, {"pay": 10})])
>>> policy_from_spec(total.to_spec()) == total
True
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from designer.base.errors import InvalidSpec
from designer.base.schema import ClosedList, exactly, record
from designer.limits import DEEPEST_NESTING
from designer.tables.policies.plain_policies import ConstantPolicy, GaussianSums, LaplaceSums, Splitting
from designer.tables.policies.policies import AsZcdp, MaximumOfPolicies, Piecewise, ScaledPolicy, SumOfPolicies
from designer.tables.policies.policy import Policy
from designer.tables.policies.slow_policies import StudentSum, TransformedSum

POLICIES: dict[str, type[Policy]] = {
    cls.kind: cls
    for cls in (
        ConstantPolicy,
        Splitting,
        GaussianSums,
        LaplaceSums,
        SumOfPolicies,
        MaximumOfPolicies,
        ScaledPolicy,
        Piecewise,
        AsZcdp,
        TransformedSum,
        StudentSum,
    )
}


def policy_from_spec(spec: Any, levels: int = DEEPEST_NESTING) -> Policy:
    """A policy from plain data: of the closed list of kinds, with exactly the keys of its kind, every number checked again."""
    if not levels:
        raise InvalidSpec(f"policy: nests policies more than {DEEPEST_NESTING} deep; write it with fewer levels.")
    return KINDS.read(spec, lambda part: policy_from_spec(part, levels - 1))


KINDS: ClosedList[Policy] = ClosedList(
    "policy",
    {
        kind: (record({"kind": exactly(kind), **{f.name: {} for f in fields(cls)}}), cls.from_spec)  # type: ignore[arg-type]
        for kind, cls in POLICIES.items()
    },
)
