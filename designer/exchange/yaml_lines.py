"""Plain data as YAML of a closed form: blocks of keys, texts in quotes or as literal lines, comments where something is
unknown.

Nothing that a text holds can end it, begin a key, or be taken for a number, a date or a word of YAML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.printing import one_line


@dataclass(frozen=True)
class Unknown:
    """What nobody told: why, in words, and what stands in its place, None where the key is left out."""

    why: str
    value: Any = None


def yaml_text(data: Mapping[str, Any]) -> str:
    """A mapping of names to texts, numbers, lists, mappings and `Unknown` as YAML.

    >>> print(yaml_text({"name": "no", "year": Unknown("when?", "1900"), "size": 1e-6}), end="")
    name: "no"
    # UNKNOWN: when?
    year: "1900"
    size: 1.0e-06
    """
    return "".join(line + "\n" for line in _lines(data, ""))


def known_data(data: Any) -> Any:
    """The same as plain data: what a reader of the YAML gets."""
    if isinstance(data, Mapping):
        told = ((key, value.value if isinstance(value, Unknown) else value) for key, value in data.items())
        return {key: known_data(value) for key, value in told if value is not None}
    return [known_data(item) for item in data] if isinstance(data, (list, tuple)) else data


def unknown_fields(data: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """The path and the reason of everything that is unknown."""
    for key, value in data.items():
        if isinstance(value, Unknown):
            yield place + key, value.why
        elif isinstance(value, Mapping):
            yield from unknown_fields(value, f"{place}{key}.")


def _lines(data: Mapping[str, Any], margin: str) -> Iterator[str]:
    for key, value in data.items():
        if isinstance(value, Unknown):
            yield f"{margin}# UNKNOWN: {one_line(value.why)}"
            if value.value is None:
                yield f"{margin}# {key}:"
                continue
            value = value.value
        yield from _entry(key, value, margin)


def _entry(key: str, value: Any, margin: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield f"{margin}{key}:"
        yield from _lines(value, margin + "  ")
    elif isinstance(value, (list, tuple)):
        yield f"{margin}{key}:"
        yield from (f"{margin}  - {_scalar(item)}" for item in value)
    elif isinstance(value, str) and _literal(value):
        yield f"{margin}{key}: |-"
        yield from (f"{margin}  {line}" for line in value.split("\n"))
    else:
        yield f"{margin}{key}: {_scalar(value)}"


def _literal(text: str) -> bool:
    """Several lines that can stand as they are: none empty, none with spaces at an end, nothing that cannot be seen."""
    lines = text.split("\n")
    return len(lines) > 1 and all(line and line == line.strip() and one_line(line) == line for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return in_double_quotes(value)
    if type(value) is int:
        return str(value)
    if type(value) is float and math.isfinite(value):
        return _number(value)
    raise InvalidProblem(f"value: {shown(value)} is no text and no finite number; YAML of this form has no other.", value=value)


def _number(value: float) -> str:
    """With a point, without which readers of YAML 1.1 take an exponent for a text."""
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    return text if "." in mantissa or not exponent else f"{mantissa}.0e{exponent}"


def in_double_quotes(text: str) -> str:
    """A text in double quotes, with an escape for whatever cannot be seen.

    >>> print(in_double_quotes('a "b": c'))
    "a \\"b\\": c"
    """
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\\n':
        return json.dumps(character)[1:-1]
    if one_line(character) == character and character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 2**8 else f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
