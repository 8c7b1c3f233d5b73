"""Claims of a file about a certificate over the sensitivity set: which of them two machines may state differently."""

from __future__ import annotations

import re
from dataclasses import fields
from fractions import Fraction
from typing import Any, Protocol

from designer.certified.certificate import Witness, attains
from designer.certified.sensitivity import SensitivitySet
from designer.question.workload import Workload


class Certified(Protocol):
    """What a certificate over the sensitivity set speaks of; additive mechanisms and selections have it."""

    @property
    def workload(self) -> Workload: ...
    @property
    def norm(self) -> Any: ...
    def sensitivity(self) -> SensitivitySet: ...


def settled_claim(mechanism: Certified, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """The worst ratio's float-covered digits may differ between machines, and so may the pair where several attain it: a claim
    within 2^-40 of the proven ratio is the same claim, and another pair is checked by itself."""
    ratio = claimed.get("worst_ratio")
    # Only digits and a bar: an exponent in a few bytes would ask for a number that fills the memory.
    if not isinstance(ratio, str) or not re.fullmatch(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio):
        return claimed
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
    if proven is None or not isinstance(claimed, dict) or set(claimed) != {field.name for field in fields(Witness)}:
        return False
    if type(claimed["left"]) is not int or type(claimed["right"]) is not int or not isinstance(claimed["difference"], list):
        return False
    sensitivity = mechanism.sensitivity()
    u, budget = sensitivity.exact(proven["left"], proven["right"])
    length: Fraction | None = mechanism.norm.exact(u)
    witness = Witness(**{**claimed, "difference": tuple(claimed["difference"])})
    assert budget and length is not None
    return attains(sensitivity, mechanism.norm, witness, length / budget, mechanism.workload.elements)
