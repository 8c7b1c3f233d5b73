"""Long lists in files as runs: whole numbers that rise by equal steps, numbers that are equal, names that are numbered.

A list of at most `SHORT` entries, of more than `MOST_ENTRIES_OF_RUNS`, or of few repetitions, is written as it is. There is one
way to write a list, so that equal objects have equal fingerprints.

>>> in_runs(list(range(2000)) + [7])
{'runs': [[0, 1, 2000], [7, 0, 1]]}
>>> names_in_runs([f"e{k}" for k in range(2000)])
{'runs': [['e', 0, 2000]]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import shown
from designer.base.errors import InvalidSpec
from designer.base.schema import Named, Schema, either, exactly, list_of, number, record, text, whole
from designer.limits import MOST_ENTRIES_OF_FILE, MOST_ENTRIES_OF_RUNS

SHORT = 1024  # entries
SAVED = 8  # entries that one run takes the place of, at least
NUMBER = {"prefixItems": [either(number(), exactly("inf")), number(), whole(least=1)], "minItems": 3, "maxItems": 3}
NAMED = {"prefixItems": [text(), whole(least=0), whole(least=1)], "minItems": 3, "maxItems": 3}
RUNS = Named(
    "runs",
    record(
        {"runs": list_of({"type": "array", **NUMBER})},
        note="A long list: of every run the first entry, the step from one to the next, and how many there are.",
    ),
)
NAME_RUNS = Named(
    "name_runs",
    record(
        {"runs": list_of(either(text(), {"type": "array", **NAMED}))},
        note="Many names: one by itself, or of numbered ones what stands before the number, the first number, and how many.",
    ),
)


def or_runs(fragment: Any) -> Schema:
    """The form of a list, or of its runs."""
    return either(fragment, RUNS)


def in_runs(values: Any) -> Any:
    """A list of numbers, (n,), as it goes into a file: runs where it is long and these are few, else as it is."""
    if not SHORT < len(values) <= MOST_ENTRIES_OF_RUNS:
        return values
    given = np.asarray(values)
    runs = _runs_of(given)
    return values if runs is None else {"runs": runs}


def _runs_of(given: NDArray[Any]) -> list[list[Any]] | None:
    whole = given.dtype.kind in "iu"
    steps = np.diff(given) if whole else (given[1:] != given[:-1]).astype(np.int64)
    breaks = np.append(np.flatnonzero(np.diff(steps)), len(steps) - 1)  # the last place of each stretch of equal steps
    if SAVED * len(breaks) > 4 * len(given):
        return None
    runs: list[list[Any]] = []
    at = 0
    while at < len(given):
        if SAVED * len(runs) > len(given):
            return None
        if at == len(steps) or (not whole and steps[at]):
            step, last = 0, at
        else:
            step, last = int(steps[at]), int(breaks[np.searchsorted(breaks, at)]) + 1
        runs.append([given[at].item(), step, last - at + 1])
        at = last + 1
    return runs


def numbers_from(spec: Any, field: str) -> Any:
    """The list that `in_runs` wrote: as it stands, or its runs as an array; `InvalidSpec` for what is neither."""
    if not isinstance(spec, Mapping):
        return spec
    if not _has_runs(spec) or not all(
        isinstance(run, (list, tuple))
        and len(run) == 3
        and (type(run[0]) in (int, float) or run[0] == "inf")
        and type(run[1]) is int
        and type(run[2]) is int
        and run[2] > 0
        and (type(run[0]) is int or run[1] == 0)
        and max(abs(run[1]), abs(run[0]) if type(run[0]) is int else 0, run[2]) < 2**31
        for run in spec["runs"]
    ):
        raise InvalidSpec(f"{field}: {shown(spec)} is neither a list nor its runs; restore the file.")
    _require_few(sum(run[2] for run in spec["runs"]), MOST_ENTRIES_OF_RUNS, field)
    parts = [
        first + step * np.arange(times) if type(first) is int else np.full(times, float(first))
        for first, step, times in spec["runs"]
    ]
    return np.concatenate(parts)


def names_in_runs(names: Sequence[str]) -> Any:
    """Names as they go into a file: runs of numbered names where there are many and these are few, else a list."""
    if not SHORT < len(names) <= MOST_ENTRIES_OF_RUNS:
        return list(names)
    runs: list[Any] = []
    at = 0
    while at < len(names):
        if SAVED * len(runs) > len(names):
            return list(names)
        found = re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", names[at], re.DOTALL)
        if found is None:
            runs.append(names[at])
            at += 1
            continue
        before, first, last = found[1], int(found[2]), at + 1
        while last < len(names) and names[last] == f"{before}{first + last - at}":
            last += 1
        runs.append([before, first, last - at])
        at = last
    return {"runs": runs} if SAVED * len(runs) <= len(names) else list(names)


def number_of_names(spec: Any, field: str) -> int:
    """How many names `names_in_runs` wrote, without writing them out; `InvalidSpec` for what is no list, and no runs."""
    if isinstance(spec, (list, tuple)):
        return len(spec)
    if (
        not isinstance(spec, Mapping)
        or not _has_runs(spec)
        or not all(
            isinstance(run, str)
            or (
                isinstance(run, (list, tuple))
                and len(run) == 3
                and isinstance(run[0], str)
                and all(type(part) is int and 0 <= part < 2**31 for part in run[1:])
            )
            for run in spec["runs"]
        )
    ):
        raise InvalidSpec(f"{field}: {shown(spec)} is neither a list of names nor runs of them; restore the file.")
    found = sum(1 if isinstance(run, str) else run[2] for run in spec["runs"])
    _require_few(found, MOST_ENTRIES_OF_RUNS, field)
    return found


def names_from(spec: Any, field: str) -> Any:
    """The names that `names_in_runs` wrote."""
    if not isinstance(spec, Mapping):
        return spec
    number_of_names(spec, field)
    found: list[str] = []
    for run in spec["runs"]:
        found += [run] if isinstance(run, str) else [f"{run[0]}{k}" for k in range(run[1], run[1] + run[2])]
    return found


def _has_runs(spec: Mapping[str, Any]) -> bool:
    return set(spec) == {"runs"} and isinstance(spec["runs"], (list, tuple)) and bool(spec["runs"])


def require_few_in_runs(spec: Any) -> None:
    """Refuse a file whose runs stand for more than `MOST_ENTRIES_OF_FILE` entries, before any is written out."""
    _require_few(_entries_in_runs(spec), MOST_ENTRIES_OF_FILE, "the file")


def _entries_in_runs(data: Any) -> int:
    inside = data.values() if isinstance(data, Mapping) else data if isinstance(data, (list, tuple)) else ()
    runs = data["runs"] if isinstance(data, Mapping) and _has_runs(data) else ()
    own = sum(run[2] for run in runs if isinstance(run, (list, tuple)) and len(run) == 3 and type(run[2]) is int)
    return own + sum(map(_entries_in_runs, inside))


def _require_few(entries: int, most: int, field: str) -> None:
    if entries > most:
        raise InvalidSpec(f"{field}: its runs stand for {shown(entries)} entries, more than {most:,}; merge elements.")
