"""The logger "dp-designer": what this program did, for a service that keeps a log. No line holds data, or anything drawn."""

from __future__ import annotations

import sys

NAME = "dp-designer"


def logged(text: str, *values: object) -> None:
    """A line at level INFO, `text % values`, where the process has loaded `logging`; elsewhere nobody can be listening.

    values: what is public: names, numbers of entries, fingerprints.
    """
    if (logging := sys.modules.get("logging")) is not None:
        logging.getLogger(NAME).info(text, *values)
