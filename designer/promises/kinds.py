"""The closed list of tradeoff functions, and how one is read from plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from designer.base.errors import InvalidProblem
from designer.promises.laplace import LaplaceTradeoff
from designer.promises.piecewise import PiecewiseLinear
from designer.promises.subsampled import Subsampled
from designer.promises.tradeoff import EpsilonDelta, Gaussian, Group, Tradeoff
from designer.base.checks import shown
from designer.base.json_text import require_keys
from designer.base.schema import Named, RATIONAL, either, keys, of_kind

SYMMETRIC = (EpsilonDelta.schema, Gaussian.schema, LaplaceTradeoff.schema, PiecewiseLinear.schema, Group.schema)
TRADEOFFS = Named("tradeoff", either(*SYMMETRIC))
SUBSAMPLED = of_kind("tradeoff", Subsampled.kind, {"base": TRADEOFFS, "rate": RATIONAL}, "Poisson sampling before it.")


def tradeoff_from_spec(spec: Any) -> Tradeoff:
    """The tradeoff function of plain data, from a closed list of kinds."""
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if kind == "epsilon_delta":
        require_keys(spec, keys(EpsilonDelta.schema), "tradeoff")
        return EpsilonDelta(spec["epsilon"], spec["delta"])
    if kind == "gaussian":
        require_keys(spec, keys(Gaussian.schema), "tradeoff")
        return Gaussian(spec["mu_squared"])
    if kind == "piecewise_linear":
        require_keys(spec, keys(PiecewiseLinear.schema), "tradeoff")
        return PiecewiseLinear(tuple(spec["alphas"]), tuple(spec["betas"]))
    if kind == "group":
        require_keys(spec, keys(Group.schema), "tradeoff")
        return Group(tradeoff_from_spec(spec["base"]), spec["size"])
    if kind == "laplace":
        require_keys(spec, keys(LaplaceTradeoff.schema), "tradeoff")
        return LaplaceTradeoff(spec["epsilon"])
    if kind == "subsampled":
        require_keys(spec, keys(SUBSAMPLED), "tradeoff")
        return Subsampled(tradeoff_from_spec(spec["base"]), spec["rate"])
    known = "epsilon_delta, gaussian, laplace, piecewise_linear, group, subsampled"
    raise InvalidProblem(f"tradeoff.kind: {shown(kind)} is unknown; one of {known}.")
