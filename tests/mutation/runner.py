"""Runs the tests that mutants name in a copy of the project, one break at a time, and says which test saw it.

A mutant is killed when a test fails, or when its tests no longer end.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

from designer.base.progress import track
from tests.mutation.drawn import with_tests
from tests.mutation.forks import Forks, Ran
from tests.mutation.mutant import Mutant
from tests.mutation.patterns import Misfit
from tests.mutation.scopes import ROOT

LEFT_OUT = (".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".venv", "*.egg-info")
SEEN = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\](?= - |$))?)", re.MULTILINE)
# A name that is not there is a slip in the list of mutants, and no break that a test had to find.
SLIPS = ("NameError", "UnboundLocalError", "SyntaxError", "ImportError", "ModuleNotFoundError")
LONG = 3600.0  # seconds, of tests that no mutant names
FAILED, INTERRUPTED = 1, 2


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: the test that saw it, None of a survivor; how far was searched; the seconds that it took.

    becomes: what tells whether the file is still the same.
    misfit: why nothing is known of it.
    """

    mutant: Mutant
    killer: str | None
    looked: str
    seconds: float
    becomes: str = ""
    misfit: str = ""

    def to_dict(self) -> dict[str, object]:
        """As plain data."""
        return {**asdict(self), "mutant": asdict(self.mutant), "seconds": round(self.seconds, 2)}


def killer_of(ran: Ran, limit: float, *, drawn: bool = False) -> str | None:
    """The test that failed, or None where all passed; `Misfit` where the run says nothing of the mutant.

    drawn: see `Mutant`.
    """
    if ran.code == 0:
        return None
    if ran.code is None:
        return f"(no end within {limit:.0f} s)"
    seen = SEEN.search(ran.text)
    if drawn:
        return seen[1] if seen else f"(pytest ended with {ran.code})"
    if ran.code not in (FAILED, INTERRUPTED) or seen is None:
        raise Misfit(f"pytest ended with {ran.code} and names no test:\n{ran.text[-2000:]}")
    if any(f"{slip}: " in ran.text for slip in SLIPS):
        raise Misfit(f"{seen[1]}: the mutant is a slip, and no break:\n{ran.text[-2000:]}")
    return seen[1]


def judge(forks: Forks, mutant: Mutant, wider: Sequence[str]) -> Verdict:
    """One mutant in one copy: its named tests, then each of `wider` until one fails: "room", or "default",
    what `python -m pytest` runs."""
    started, tree, becomes = time.monotonic(), forks.tree, mutant.becomes(forks.tree)
    places = {"named": list(mutant.tests), "room": [mutant.room], "default": []}
    with mutant.within(tree):
        for looked in ("named", *(place for place in wider if place != "room" or (tree / mutant.room).is_dir())):
            allowed = mutant.limit if looked == "named" else LONG
            killer = None
            if places[looked] or looked == "default":
                killer = killer_of(forks.run(places[looked], allowed), allowed, drawn=mutant.drawn)
            if killer is not None:
                break
    return Verdict(mutant, killer, looked, time.monotonic() - started, becomes)


def copied(target: Path) -> Path:
    """A copy of the project at `target`, without what is only kept for speed."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    return target


def require_passing(forks: Forks, mutants: Sequence[Mutant]) -> None:
    """`Misfit` where the named tests fail without any mutant, so that they could tell nothing."""
    ran = forks.run(sorted({test for mutant in mutants for test in mutant.tests}), LONG)
    if ran.code != 0:
        raise Misfit(f"named tests fail without any mutant, so they can tell nothing:\n{ran.text[-2000:]}")


def run(mutants: Sequence[Mutant], wider: Sequence[str] = ("room",), workers: int = 1) -> list[Verdict]:
    """All mutants, each in a copy of its worker's own; `Misfit` where one does not fit or the tests fail without it."""
    for mutant in mutants:
        mutant.site()
    with TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(workers) as pool:
        copies = [Forks(copied(Path(folder) / str(number))) for number in range(workers)]
        try:
            if all(mutant.drawn for mutant in mutants):
                mutants = with_tests(copies[0], mutants)
            else:
                list(pool.map(require_passing, copies, [mutants[number::workers] for number in range(workers)]))
            return _judged(copies, pool, mutants, wider)
        finally:
            for forks in copies:
                forks.close()


def taken_over(mutants: Sequence[Mutant], told: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """The verdicts of an earlier run that still hold: the broken file is the same, and the test that saw it is named."""
    known = {one["becomes"]: one for one in told if one["killer"]}
    found = []
    for mutant in mutants if known else ():
        becomes = mutant.becomes(ROOT)
        one = known.get(becomes)
        if one and any(one["killer"].startswith(test) for test in mutant.tests):
            found.append(Verdict(mutant, one["killer"], one["looked"], one["seconds"], becomes))
    return found


def _judged(copies: list[Forks], pool: ThreadPoolExecutor, mutants: Sequence[Mutant], wider: Sequence[str]) -> list[Verdict]:
    free: Queue[Forks] = Queue()
    for forks in copies:
        free.put(forks)

    def one(mutant: Mutant) -> Verdict:
        forks = free.get()
        try:
            return judge(forks, mutant, wider)
        except Misfit as misfit:  # of this one: the others are judged
            return Verdict(mutant, None, "nothing", 0.0, misfit=str(misfit))
        finally:
            free.put(forks)

    return list(track(pool.map(one, mutants), "mutants"))
