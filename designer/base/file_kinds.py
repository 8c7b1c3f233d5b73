"""What a file looks like that was given in the place of another, so that a refusal can say it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping

# What files begin with, and what they are then.
BEGINNINGS: Mapping[bytes, str] = {
    b"SQLite format 3\x00": "a ledger",
    b"PK\x03\x04": "a spreadsheet, or another archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"PAR1": "a table (Parquet)",
    b"\x93NUMPY": "an array (NPY)",
    b"-----BEGIN": "a key",
    b"\xff\xfe": "a text in UTF-16",
    b"\xfe\xff": "a text in UTF-16",
}
FORMATS_OF_OWN = {"dp-designer/release": "a release", "dp-designer/signature": "a signature"}
REMEDIES: Mapping[str, str] = {
    "a spec": "verify, show, report, release and sample take it",
    "a release": "it goes behind its spec: dp-designer verify SPEC RELEASE",
    "a signature": "give the file that it signs; verify finds the signature beside it",
    "a ledger": "dp-designer ledger, and verify, take it; give it behind --ledger to release",
    "a problem file": "make a spec of it: dp-designer design FILE.toml -o SPEC.json",
    "a table (CSV)": "the table of a release goes behind the spec: dp-designer release SPEC --histogram FILE, or --table FILE",
    "a text in UTF-16": "save it as UTF-8",
    "a spreadsheet": "save the sheet as CSV",
    "a spreadsheet, or another archive": "save the sheet as CSV",
    "empty": "restore it, or make it again",
}
LOOKED_AT = 1 << 20  # bytes: a larger file is told by its beginning
NEAR = 4000  # characters within which files of this program name their format
_FORMAT = re.compile(r'"format"\s*:\s*"(dp-designer/[a-z-]+)"')


def looks_like(content: bytes) -> str:
    """What the bytes of a file look like, such as "a spec"; empty where nobody knows.

    >>> looks_like(b""), looks_like(b"title = 'x'"), looks_like(b"name,count\\nA,1")
    ('empty', 'a problem file', 'a table (CSV)')
    """
    if not content.strip():
        return "empty"
    found = next((words for start, words in BEGINNINGS.items() if content.startswith(start)), "")
    if found:
        return found
    try:
        text = content[:LOOKED_AT].decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    return _of_json(text) or _of_toml(text) or _of_lines(text)


def mistaken(content: bytes, wanted: str) -> str:
    """A clause for a refusal: what the file is instead of what was wanted, and what to do with it; empty where nobody knows.

    >>> mistaken(b"name,count", "a problem file")[:40]
    'is a table (CSV), not a problem file; th'
    """
    found = looks_like(content)
    if not found or found in wanted:
        return ""
    said = "is empty" if found == "empty" else f"is {found}, not {wanted}"
    return f"{said}; {REMEDIES.get(found, f'give {wanted}')}"


def _of_json(text: str) -> str:
    if not text.lstrip().startswith("{"):
        return ""
    if own := _FORMAT.search(text[:NEAR]):
        return FORMATS_OF_OWN.get(own[1], "a spec")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return "a JSON file of another program"


def _of_toml(text: str) -> str:
    try:
        return "a problem file" if tomllib.loads(text) else ""
    except (ValueError, RecursionError):
        return ""


def _of_lines(text: str) -> str:
    """Lines with as many separators each are a table."""
    lines = [line for line in text.splitlines()[:5] if line.strip()]
    for mark in (",", ";", "\t"):
        counts = {line.count(mark) for line in lines}
        if len(counts) == 1 and counts != {0} and "=" not in lines[0] and not lines[0].lstrip().startswith(("{", "[")):
            return "a table (CSV)"
    return ""
