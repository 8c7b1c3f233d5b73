"""Specs altered at random, one place at a time, and sealed anew: what an adversary writes who knows the form."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from typing import Any

from designer.base.errors import DesignFailed, Refusal
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from designer.files.kinds import KINDS
from designer.files.spec import load
from designer.verifier import standalone

Place = tuple[Any, Any]  # an object or a list, and a key in it


def places(data: Any) -> Iterator[Place]:
    """Every place of nested data."""
    if isinstance(data, (dict, list)):
        for key in list(data) if isinstance(data, dict) else range(len(data)):
            yield data, key
            yield from places(data[key])


def sealed(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with the fingerprint and the seal of what it says now."""

    def digest(value: Any) -> str:
        return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    spec["fingerprint"] = digest(spec.get("mechanism"))
    if isinstance(spec.get("guarantee"), dict):
        spec["guarantee"]["fingerprint"] = spec["fingerprint"]
    spec["seal"] = digest({key: value for key, value in spec.items() if key != "seal"})
    return spec


def altered(spec: dict[str, Any], chance: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one place altered, and which: a digit, a sign, a key, a label, a row swapped, a value of another kind."""
    made = copy.deepcopy(spec)
    part = chance.choice(["mechanism", "mechanism", "mechanism", "guarantee", "certificate", "optimality", "provenance"])
    listed = [(made, part), *places(made[part])]
    holder, key = chance.choice(listed)
    value = holder[key]
    ways = ["none", "drop", "double"]
    if isinstance(value, float):
        ways += ["sign", "digit", "little", "ulp", "whole", "inf", "huge", "zero"] * 3
    elif isinstance(value, bool):
        ways += ["flip"] * 4
    elif isinstance(value, int):
        ways += ["one", "sign", "float", "boolean"] * 2
    elif isinstance(value, str):
        ways += ["text", "digit", "empty"] * 2
    elif isinstance(value, list) and len(value) > 1:
        ways += ["swap", "repeat", "shorten"] * 3
    elif isinstance(value, dict):
        ways += ["rename", "further"]
    way = chance.choice(ways)
    holder[key] = _other(value, way, chance)
    if way == "drop":
        del holder[key]
    return sealed(made), f"{part}: {key} {way}"


def _digit(text: str, chance: random.Random) -> str:
    where = [i for i, c in enumerate(text) if c.isdigit()]
    if not where:
        return text + "x"
    i = chance.choice(where)
    return text[:i] + chance.choice("0123456789") + text[i + 1 :]


def _other(value: Any, way: str, chance: random.Random) -> Any:
    import math

    if way == "none":
        return None
    if way == "double":
        return [value, value]
    if way == "digit" and isinstance(value, float):
        other = float(_digit(repr(value), chance))
        return other if math.isfinite(other) else 1e300
    changes: dict[str, Any] = {
        "drop": lambda: value,
        "sign": lambda: -value,
        "little": lambda: value * (1 + chance.choice([-1, 1]) * 10.0 ** -chance.randrange(1, 14)),
        "ulp": lambda: math.nextafter(value, chance.choice([-math.inf, math.inf])),
        "whole": lambda: round(value),
        "inf": lambda: "inf",
        "huge": lambda: value * 1e40,
        "zero": lambda: 0.0,
        "flip": lambda: not value,
        "one": lambda: value + chance.choice([-1, 1]),
        "float": lambda: float(value),
        "boolean": lambda: bool(value),
        "text": lambda: value + "x",
        "digit": lambda: _digit(value, chance),
        "empty": lambda: "",
        "swap": lambda: [value[1], value[0], *value[2:]],
        "repeat": lambda: [*value, value[-1]],
        "shorten": lambda: value[:-1],
        "rename": lambda: {("x" if i == 0 else name): item for i, (name, item) in enumerate(value.items())},
        "further": lambda: {**value, "x": 1},
    }
    return changes[way]()


def bytes_of(spec: dict[str, Any]) -> bytes:
    """The file."""
    return json.dumps(spec).encode()


def main_verdict(content: bytes) -> str:
    """What the project's own verifier says of a file."""
    try:
        load(content)
    except DesignFailed:
        return "cannot check"
    except Refusal:
        return "does not hold"
    return "holds"


def standalone_verdict(content: bytes) -> tuple[str, list[str]]:
    """What the second verifier says of it."""
    return standalone.verify(content)


# What the first verifier refuses although it would be private: answers that do not follow, and tables that fit no memory. The
# second one says of the formats concerned that it does not look at that.
ELSEWHERE = "which is no matter of privacy"
UNUSABLE = (
    "do not determine",
    "is not measured",
    "that it does not measure",
    "share no basis of directions",
    "a residual has n - 1 rows",
    "so wide that its table",
    "leads too far to be tabulated",
)
# What the first verifier refuses because it states sums as floats, and these are none; the second one has them as fractions.
NO_FLOATS = ("sums of its entries over a protected change are no floats",)


RUNS = "whether long lists are written as runs"


def written_otherwise(form: str, core: Any) -> bool:
    """Does the first verifier refuse these numbers because it writes them in another way, of which they have one for it?"""
    try:
        return bool(KINDS[form].part("mechanism").from_core(core).fingerprint != standalone.digest(core))
    except (Refusal, ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError):
        return False


def unusable(form: str, core: Any, reasons: tuple[str, ...] = UNUSABLE) -> bool:
    """Does the first verifier refuse these numbers for one of these reasons, which are no matter of privacy?"""
    try:
        KINDS[form].part("mechanism").from_core(core)
    except Refusal as reason:
        return any(words in str(reason) for words in reasons)
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError):
        return False
    return False


def core_verdicts(form: str, core: Any) -> tuple[str, str, list[str]]:
    """What both make of a core alone, whatever is claimed of it: the project's verdict, the second one's, and in what their
    statements differ where both hold. form: of the spec."""
    try:
        made: Any = KINDS[form].part("mechanism").from_core(core)
        first = "holds" if made.fingerprint == standalone.digest(core) else "does not hold"
    except DesignFailed:
        first = "cannot check"
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError):
        first = "does not hold"
    try:
        standalone.FORMATS[form](core)
    except standalone.DoesNotHold as reason:
        return first, "does not hold", [str(reason)]
    except standalone.CannotCheck as reason:
        return first, "cannot check", [str(reason)]
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, ArithmeticError) as reason:
        return first, "does not hold", [repr(reason)]
    if first != "holds":
        return first, "holds", []
    spec = json.loads(json.dumps(plain(to_spec(made))))
    try:
        standalone.check_spec(spec)
    except standalone.DoesNotHold as reason:
        return first, "does not hold", [str(reason)]
    except standalone.CannotCheck as reason:
        return first, "cannot check", [str(reason)]
    return first, "holds", []
