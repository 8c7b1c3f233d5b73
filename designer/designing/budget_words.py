"""A least budget as tables for the terminal: by family, and error against budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from designer.designing.reasons import said_once
from designer.base.progress import time_words
from designer.base.on_terminal import Column, text_table, wrapped
from designer.base.printing import printed
from designer.base.rounding import at_least, at_most, closest

FACTOR = 6  # digits of factors


def families_text(rows: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """A line for each family with a factor, least first, and why the others have none."""
    done = sorted((row for row in rows if row["factor"] is not None), key=lambda row: row["factor"])
    bounds = [row["lower_bound"] for row in done]
    columns = [
        Column("factor", tuple(at_most(row["factor"], FACTOR) for row in done)),
        Column("no less than", tuple("" if low is None else at_least(low, FACTOR) for low in bounds)),
        Column("missed at", tuple(at_least(row["missed_at"], FACTOR) for row in done)),
        Column("loss there", tuple(at_most(row["loss"]) for row in done)),
        Column("time", tuple(time_words(row["seconds"]) for row in done)),
        Column("nearest to missing", tuple(printed(row["worst"]) for row in done), number=False),
    ]
    names = Column("family", tuple(printed(row["family"]) for row in done), number=False)
    failed = said_once((row["family"], row["note"]) for row in rows if row["factor"] is None)
    without = [line for reason in failed for line in wrapped(printed(reason), width)]
    return [*text_table([names, *columns], width), *(["", "Without a factor:", *without] if without else [])]


def curve_text(points: Sequence[tuple[float, int, int, str, float, float]], width: int) -> list[str]:
    """A line for each factor: how many targets are met, of how many, the query farthest from its own, what it reaches, and what
    it should."""
    factors, met, of, farthest, reached, wanted = zip(*points, strict=True)
    columns = [
        Column("factor", tuple(map(closest, factors)), number=False),
        Column("targets met", tuple(f"{a} of {b}" for a, b in zip(met, of, strict=True))),
        Column("reached", tuple(map(at_most, reached))),
        Column("target", tuple(map(closest, wanted))),
        Column("farthest from its target", tuple(map(printed, farthest)), number=False),
    ]
    return text_table(columns, width)
