"""The additive mechanism as plain data: its core, and which claims about it two machines may state differently."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, Protocol

from designer.certificate import Witness, attains
from designer.errors import InvalidSpec
from designer.files.json_text import array, flagged_vacuous
from designer.files.spec_parts import norm_from_spec, norm_to_spec, relation_from_spec, workload_from_spec, workload_to_spec
from designer.grid import Grid
from designer.mechanism import Mechanism
from designer.sensitivity import SensitivitySet
from designer.workload import Workload


class Certified(Protocol):
    """What a certificate over the sensitivity set speaks of; additive mechanisms and selections have it."""

    @property
    def workload(self) -> Workload: ...
    @property
    def norm(self) -> Any: ...
    def sensitivity(self) -> SensitivitySet: ...


CORE_KEYS = {"family", "workload", "relation", "norm", "grid", "falloff", "measured", "reconstruction"}


def core(mechanism: Mechanism) -> dict[str, Any]:
    """Everything that decides what the mechanism does."""
    return {
        "family": mechanism.family,
        "workload": workload_to_spec(mechanism.workload),
        "relation": mechanism.relation.to_spec(),
        "norm": norm_to_spec(mechanism.norm),
        "grid": list(mechanism.grid.exponents),
        "falloff": mechanism.falloff,
        "measured": mechanism.measured,
        "reconstruction": mechanism.reconstruction,
        **mechanism.flag,
    }


def from_core(body: Mapping[str, Any]) -> Mechanism:
    """The mechanism of a core, certified anew."""
    allowed = flagged_vacuous(body, CORE_KEYS)
    if not all(type(e) is int and abs(e) < 2000 for e in body["grid"]):
        raise InvalidSpec(f"grid: {body['grid'][:4]} ... must be whole exponents of two.")
    return Mechanism(
        family=body["family"],
        workload=workload_from_spec(body["workload"]),
        relation=relation_from_spec(body["relation"]),
        norm=norm_from_spec(body["norm"]),
        grid=Grid(tuple(body["grid"])),
        falloff=body["falloff"],
        measured=None if body["measured"] is None else array(body["measured"], 2, "measured"),
        reconstruction=None if body["reconstruction"] is None else array(body["reconstruction"], 2, "reconstruction"),
        allow_vacuous=allowed,
    )


def settled_claim(mechanism: Certified, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """The worst ratio's float-covered digits may differ between machines, and so may the pair where several attain it: a claim within
    2^-40 of the proven ratio is the same claim, and another pair is checked by itself."""
    ratio = claimed.get("worst_ratio")
    # Only digits and a bar: an exponent in a few bytes would ask for a number that fills the memory.
    if not isinstance(ratio, str) or not re.fullmatch(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio):
        return claimed
    near = abs(Fraction(ratio) - Fraction(proven["worst_ratio"])) <= Fraction(1, 1 << 40)
    sentence = re.sub("[0-9]+", "", str(claimed.get("arithmetic"))) == re.sub("[0-9]+", "", proven["arithmetic"])
    if not (near and sentence):
        return claimed
    same = {**claimed, "worst_ratio": proven["worst_ratio"], "arithmetic": proven["arithmetic"]}
    if _is_witness(claimed.get("witness"), Fraction(ratio), mechanism):
        same["witness"] = proven["witness"]
    return same


def _is_witness(claimed: Any, ratio: Fraction, mechanism: Certified) -> bool:
    if not isinstance(claimed, dict) or set(claimed) != {field.name for field in fields(Witness)}:
        return False
    if type(claimed["left"]) is not int or type(claimed["right"]) is not int or not isinstance(claimed["difference"], list):
        return False
    witness = Witness(**{**claimed, "difference": tuple(claimed["difference"])})
    return attains(mechanism.sensitivity(), mechanism.norm, witness, ratio, mechanism.workload.elements)
