"""The version that specs and guarantees name, and the file that it is installed from."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

VERSION = "0.1.0"
WHEEL = f"dp_designer-{VERSION}-py3-none-any.whl"  # no package index has it: nobody owns the name there


def _origin() -> dict[str, Any]:
    """Where this was installed from, as the installer recorded it (PEP 610); empty where nothing did."""
    from importlib import metadata

    try:
        recorded = json.loads(metadata.distribution("dp-designer").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError, OSError):
        return {}
    return recorded if isinstance(recorded, dict) else {}


def installed_from() -> str:
    """The source tree or the wheel that this was installed from, as an argument of pip without its extras.

    Nothing else would do: the name stands in no package index. Where no installer recorded one: the source tree that holds this
    file, otherwise the wheel by its name.
    """
    url = urlsplit(str(_origin().get("url", "")))
    tree = Path(__file__).parents[2]
    if url.scheme == "file":
        return unquote(url.path)
    return str(tree) if (tree / "pyproject.toml").is_file() else f"./{WHEEL}"


def wheel_hash() -> str | None:
    """The SHA-256 of the wheel that this was installed from, as the installer recorded it; None of a source tree."""
    try:
        found = _origin().get("archive_info", {}).get("hash", "")
    except AttributeError:
        return None
    return found.removeprefix("sha256=") if re.fullmatch("sha256=[0-9a-f]{64}", str(found)) else None


def installing_with(extra: str) -> str:
    """The command that installs an extra from where this was installed from.

    >>> installing_with("tables").endswith("[tables]'")
    True
    """
    return f"pip install '{installed_from()}[{extra}]'"
