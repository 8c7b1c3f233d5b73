"""The version that specs and guarantees name, and the file that it is installed from."""

import json
import re

VERSION = "0.1.0"
WHEEL = f"dp_designer-{VERSION}-py3-none-any.whl"  # no package index has it: nobody owns the name there


def wheel_hash() -> str | None:
    """The SHA-256 of the wheel that this was installed from, as the installer recorded it (PEP 610); None of a source tree."""
    from importlib import metadata

    try:
        recorded = metadata.distribution("dp-designer").read_text("direct_url.json")
        found = json.loads(recorded or "{}").get("archive_info", {}).get("hash", "")
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        return None
    return found.removeprefix("sha256=") if re.fullmatch("sha256=[0-9a-f]{64}", str(found)) else None


def installing_with(extra: str) -> str:
    """The command that installs an extra: from the wheel, or from the source tree, and never by a name.

    >>> installing_with("tables")
    "pip install './dp_designer-0.1.0-py3-none-any.whl[tables]' (or '.[tables]' in the source tree)"
    """
    return f"pip install './{WHEEL}[{extra}]' (or '.[{extra}]' in the source tree)"
