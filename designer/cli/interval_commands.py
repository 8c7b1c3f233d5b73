"""From a saved release to the intervals of its answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from designer.cli.options import SPEC, Commands, loaded
from designer.files.releases import read_release
from designer.values.answer_table import LEVEL, interval_data
from designer.values.answers_for_people import answer_lines
from designer.values.checks import probability


def add_interval_commands(commands: Commands) -> None:
    """intervals."""
    made = commands.add(
        "intervals", _intervals, "print the answers of a saved release with intervals that hold the truth", SPEC
    )
    made.add_argument("release", type=Path, help="a release of this spec (JSON)")
    made.add_argument("--level", type=float, default=LEVEL, help=f"the probability of each interval (default {LEVEL})")
    made.add_argument("--together", action="store_true", help="intervals that hold all true answers at once")


def _intervals(options: argparse.Namespace) -> tuple[str, Any]:
    level = probability(options.level, "--level")
    mechanism = loaded(options)
    released = read_release(mechanism, options.release)
    tables = released.answer_tables()
    if options.json:
        return "", {"fingerprint": released.fingerprint, "intervals": interval_data(tables, level)}
    return "\n".join(answer_lines(tables, mechanism.about.unit, level=level, simultaneous=options.together)), None
