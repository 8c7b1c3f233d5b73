"""Claims of a file about a certificate over the sensitivity set: which of them two machines may state differently."""

from __future__ import annotations

import re
from dataclasses import fields
from fractions import Fraction
from typing import Any, Protocol

from designer.certified.certificate import SEEN, Witness, attains
from designer.certified.sensitivity import SensitivitySet
from designer.problem.workload import Workload

# How far above its pair the claim says that it is, in percent.
BOUND = re.compile(rf"[^,]*, [^,]*, which for whole groups of pairs are up to ([0-9]{{1,3}}(?:[.][0-9]{{1,3}})?) {SEEN}")


class Certified(Protocol):
    """What a certificate over the sensitivity set speaks of; additive mechanisms and selections have it."""

    @property
    def workload(self) -> Workload: ...
    @property
    def norm(self) -> Any: ...
    def sensitivity(self) -> SensitivitySet: ...


def settled_claim(mechanism: Certified, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """The worst ratio's float-covered digits may differ between machines, and so may the pair where several attain it: a claim
    within 2^-40 of the proven ratio is the same claim, and another pair is checked by itself. A larger bound claims less:
    another version searched otherwise, and its claim is true if its pair is as near to the bound as it says."""
    ratio = claimed.get("worst_ratio")
    # Only digits and a bar: an exponent in a few bytes would ask for a number that fills the memory.
    if not isinstance(ratio, str) or not re.fullmatch(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio):
        return claimed
    if Fraction(proven["worst_ratio"]) <= Fraction(ratio) <= 1 and _is_bound(claimed, Fraction(ratio), mechanism):
        return {**claimed, **{key: proven[key] for key in ("worst_ratio", "arithmetic", "witness")}}
    near = abs(Fraction(ratio) - Fraction(proven["worst_ratio"])) <= Fraction(1, 1 << 40)
    sentence = re.sub("[0-9]+", "", str(claimed.get("arithmetic"))) == re.sub("[0-9]+", "", proven["arithmetic"])
    if not (near and sentence):
        return claimed
    same = {**claimed, "worst_ratio": proven["worst_ratio"], "arithmetic": proven["arithmetic"]}
    if claimed.get("witness") == proven["witness"] or _is_witness(claimed.get("witness"), proven["witness"], mechanism):
        same["witness"] = proven["witness"]
    return same


def _is_witness(claimed: Any, proven: dict[str, Any] | None, mechanism: Certified) -> bool:
    """Is the claimed witness a pair with the ratio of the proven one, which may be below a worst ratio that is a bound?"""
    witness = _witness(claimed)
    if proven is None or witness is None:
        return False
    sensitivity = mechanism.sensitivity()
    u, budget = sensitivity.exact(proven["left"], proven["right"])
    length: Fraction | None = mechanism.norm.exact(u)
    assert budget and length is not None
    return attains(sensitivity, mechanism.norm, witness, length / budget, mechanism.workload.elements)


def _is_bound(claimed: dict[str, Any], ratio: Fraction, mechanism: Certified) -> bool:
    """Is the claimed ratio as little above that of the claimed pair as the claim says?"""
    said, witness = BOUND.fullmatch(str(claimed.get("arithmetic"))), _witness(claimed.get("witness"))
    if said is None or witness is None:
        return False
    sensitivity = mechanism.sensitivity()
    points = range(len(sensitivity.points))
    if witness.left not in points or witness.right not in points:
        return False
    u, budget = sensitivity.exact(witness.left, witness.right)
    length: Fraction | None = mechanism.norm.exact(u)
    if not budget or length is None or ratio > length / budget * (1 + Fraction(said[1]) / 100) + Fraction(1, 1 << 40):
        return False
    return attains(sensitivity, mechanism.norm, witness, length / budget, mechanism.workload.elements)


def _witness(claimed: Any) -> Witness | None:
    """A claimed witness, if it has the form of one."""
    if not isinstance(claimed, dict) or set(claimed) != {field.name for field in fields(Witness)}:
        return None
    if type(claimed["left"]) is not int or type(claimed["right"]) is not int or not isinstance(claimed["difference"], list):
        return None
    return Witness(**{**claimed, "difference": tuple(claimed["difference"])})
