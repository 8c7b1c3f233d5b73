"""JSON that means what it says: strict reading within limits, infinity as "inf", one canonical form to hash."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown, system_words
from designer.base.errors import InvalidProblem, InvalidSpec, OtherFile
from designer.base.output import mistaken
from designer.base.progress import step
from designer.limits import MOST_JSON_BYTES

AS_THEY_ARE = frozenset((str, int, bool, type(None)))
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # one without its other half is no text: no file could be written of it
LARGE = re.compile(rb"[eE]\+?[0-9]{3,}\s*[,\]}]|[0-9]{200}")  # what a number beyond the floats has; where none has it, none is


def plain(value: Any) -> Any:
    """Nested data as JSON values: arrays as lists, infinity as "inf", NaN as "nan" (which no spec takes),
    fractions as strings."""
    if isinstance(value, np.ndarray):
        numbers = value.dtype.kind in "iu" or (value.dtype == np.float64 and bool(np.isfinite(value).all()))
        return value.tolist() if numbers else plain(value.tolist())  # a walk takes 2 microseconds an entry
    if isinstance(value, (list, tuple)):
        kinds = set(map(type, value))
        if kinds <= AS_THEY_ARE or (kinds == {float} and all(map(math.isfinite, value))):
            return list(value)  # as a file has them: 20 times as fast as one by one
        return [item if type(item) in AS_THEY_ARE else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return plain(value.item()) if isinstance(value, np.generic) else value


def canonical(data: Any) -> bytes:
    """The bytes that are hashed: sorted keys, no spaces, plain values."""
    return canonical_text(plain(data))


def canonical_text(data: Any) -> bytes:
    """`canonical` of what is plain already, such as what was read from a file: one pass."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode()


@step("writing a file")
def readable_text(data: Any) -> str:
    """Plain data as JSON for people: a line for each entry of an object and of a list, one space a level, entries of lists that
    hold no objects as they are. Five times as fast as the indented text of the standard library, which is written in Python."""
    return "".join(_lines(data, "\n")) + "\n"


def _lines(data: Any, margin: str) -> Iterator[str]:
    inner = margin + " "
    if isinstance(data, dict) and data:
        yield "{"
        for place, (key, value) in enumerate(data.items()):
            yield f"{',' if place else ''}{inner}{_text(key)}: "
            yield from _lines(value, inner)
        yield margin + "}"
    elif isinstance(data, list) and data:
        yield "["
        for place, value in enumerate(data):
            yield ("," if place else "") + inner
            yield from _lines(value, inner) if isinstance(value, dict) else (_text(value),)
        yield margin + "]"
    else:
        yield _text(data)


_text = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


@step("reading a file")
def read_json(path: Path, size_limit: int = MOST_JSON_BYTES) -> dict[str, Any]:
    """A JSON object from a file of limited size."""
    try:
        with path.open("rb") as file:
            content = file.read(size_limit + 1)  # of a pipe or a device, too, no more is read
    except (OSError, ValueError) as error:
        held = path / "release.json"  # of a folder of tables
        given = str(held) if isinstance(error, IsADirectoryError) and held.is_file() else "the path of a spec or a release"
        raise InvalidSpec(f"path: cannot read {path}: {system_words(error)}; give {given}.") from None
    if len(content) > size_limit:
        raise InvalidSpec(f"path: {path} has more than {size_limit} bytes; pass a larger size_limit if it is meant to.")
    return json_object(content, f"path: {path}")


def json_object(content: bytes, where: str) -> dict[str, Any]:
    """The JSON object that some bytes are; `where`: what they are called in a refusal."""
    try:
        reader = _finite if LARGE.search(content) else float
        text = content.decode("utf-8-sig")
        data = json.loads(text, parse_constant=_no_constant, parse_float=reader, object_pairs_hook=_distinct)
        if SURROGATE.search(content):
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidSpec):
            raise
        if content.strip() and (told := mistaken(content, "a spec or a release (JSON)")):
            raise OtherFile(f"{where} {told}.") from None
        told = (
            "is empty; restore it, or make it again"
            if not content.strip()
            else f"is not a JSON file ({error}); {_json_remedy(content)}"
        )
        raise InvalidSpec(f"{where} {told}.") from None
    if not isinstance(data, dict):
        raise InvalidSpec(f"{where} holds no JSON object; give a spec, or a release behind its spec.")
    return data


def _json_remedy(content: bytes) -> str:
    """What is mostly wrong with a file that is no JSON."""
    if content.lstrip().startswith(b"{") and not content.rstrip().endswith(b"}"):
        return "it ends in the middle: restore it, or make it again"
    return "give a spec, or a release behind its spec"


def _no_constant(name: str) -> float:
    raise InvalidSpec(f"spec: the bare word {name} is not JSON; infinity is written as a string.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidSpec(f"spec: the number {text[:40]} is beyond the floats; infinity is written as a string.")
    return number


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise InvalidSpec("spec: an object has the same key twice; readers would disagree about what it says.")
    return data


def array(value: Any, ndim: int, field: str) -> Floats:
    """A numeric array from JSON; "inf" stands for infinity, anything else that is not a number is refused."""

    def number(item: Any) -> Any:
        if isinstance(item, list):
            if set(map(type, item)) <= {int, float}:
                return item
            return [number(entry) for entry in item]
        if item == "inf":
            return np.inf
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            raise InvalidSpec(f"{field}: {shown(item)} is not a number.", value=item)
        return float(item)

    array = np.array(value if isinstance(value, np.ndarray) else number(value), dtype=np.float64)
    if array.ndim != ndim:
        raise InvalidSpec(f"{field}: has {array.ndim} dimensions; {ndim} are needed.")
    return array


def flagged_vacuous(core: Any, keys: set[str]) -> bool:
    """Whether a core says that what it describes hides nothing; refused where its keys are others than `keys` and that flag."""
    if isinstance(core, Mapping) and "vacuous" in core:
        require_keys(core, {*keys, "vacuous"}, "mechanism")
        return core["vacuous"] is True
    require_keys(core, keys, "mechanism")
    return False


def require_keys(data: Any, keys: set[str], field: str) -> None:
    """Refuse anything but an object with exactly these keys; `field` names it in the message."""
    if not isinstance(data, dict) or set(data) != keys:
        found = shown(sorted(data)) if isinstance(data, dict) else type(data).__name__
        raise InvalidSpec(f"{field}: has {found}; exactly the keys {sorted(keys)} are needed.")


def signature_path(path: str | Path) -> Path:
    """Where the signature of a file stands: its name with `.sig` behind."""
    return Path(f"{path}.sig")


# Times in files: UTC, to the second, in one form.


UTC_TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
FORM = "%Y-%m-%dT%H:%M:%SZ"


def utc_text(time: datetime | None = None) -> str:
    """A time as files hold it; now unless given. `InvalidProblem` for one that says no zone.

    >>> utc_text(datetime(2026, 1, 31, 12, tzinfo=UTC)), utc_text(datetime(999, 1, 1, tzinfo=UTC))
    ('2026-01-31T12:00:00Z', '0999-01-01T00:00:00Z')
    """
    moment = datetime.now(UTC) if time is None else time
    if moment.tzinfo is None:
        raise InvalidProblem(
            f"time: {shown(str(time))} says no zone; give one that does, such as datetime.now(UTC).", value=time
        )
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"  # strftime pads no year


PERIOD = "[0-9]{4}(-(S[12]|Q[1-4]|W(0[1-9]|[1-4][0-9]|5[0-3])|(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?))?"


def require_period(text: object) -> str:
    """A period that data are about, as SDMX and ISO 8601 write it: a year, half, quarter, month, week or day.

    >>> require_period("2026-Q3")
    '2026-Q3'
    """
    if not isinstance(text, str) or not re.fullmatch(PERIOD, text):
        raise InvalidProblem(f"period: {shown(text)} is none; write 2026, 2026-S1, 2026-Q3, 2026-09, 2026-W38 or 2026-09-14.")
    return text


def is_utc_text(text: object) -> bool:
    """Whether a value from a file is a time of this form."""
    if not isinstance(text, str) or not re.fullmatch(UTC_TIME, text):
        return False
    try:
        datetime.strptime(text, FORM)
    except ValueError:
        return False
    return True
