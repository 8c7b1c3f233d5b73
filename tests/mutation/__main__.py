"""`python -m tests.mutation [WORDS] [--sample N | --random N] [--seed S] [--wider none|room|default] [--since FILE]
[--json FILE] [--markdown FILE]`: which test sees which break.

Ends with 1 when a mutant survives or does not fit the source, with 0 when tests see every one.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from designer.base.progress import showing_progress
from tests.mutation.drawn import drawn
from tests.mutation.listed import MUTANTS, reason_for
from tests.mutation.mutant import Mutant
from tests.mutation.patterns import Misfit
from tests.mutation.report import lines, markdown
from tests.mutation.runner import Verdict, run, taken_over
from tests.mutation.scopes import ROOT

WIDER = {"none": (), "room": ("room",), "default": ("room", "default")}


def chosen(words: Sequence[str], sample: int | None, seed: int) -> list[Mutant]:
    """The mutants whose file, scope or description has one of the words, all if none is given; of these `sample`, by `seed`."""
    named = _named(words, MUTANTS)
    return named if sample is None or sample >= len(named) else random.Random(seed).sample(named, sample)


def _named(words: Sequence[str], mutants: Sequence[Mutant]) -> list[Mutant]:
    return [
        mutant
        for mutant in mutants
        if not words or any(word in f"{mutant.file} {mutant.where} {mutant.breaks}" for word in words)
    ]


def source() -> str:
    """The commit that is broken, which a draw depends on; `-dirty` after it where files differ from it."""
    described = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    ran = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or "no commit"


def main(arguments: Sequence[str] | None = None) -> int:
    """What the module does: see there."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description="Break the code on purpose; which test sees it?"
    )
    parser.add_argument(
        "words", nargs="*", help="mutants whose file, scope or description has one of them; all, if none is given"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, drawn at random")
    parser.add_argument("--random", type=int, metavar="N", help="not those listed but so many random changes of lines")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of that draw")
    parser.add_argument(
        "--wider", choices=WIDER, default="room", help="where to look when the named tests pass: the default tier takes long"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="copies of the project that are tested at a time")
    parser.add_argument("--since", type=Path, metavar="FILE", help="what --json wrote: only what changed since is run again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each, with seconds and the commit")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as a page")
    wanted = parser.parse_args(arguments)
    if wanted.random:
        mutants = _named(wanted.words, drawn(wanted.random, wanted.seed))
    else:
        mutants = chosen(wanted.words, wanted.sample, wanted.seed)
    if not mutants:
        parser.error(f"no mutant has one of {wanted.words} in its file, scope or description; there are {len(MUTANTS)}.")
    commit = source()
    try:
        earlier = taken_over(mutants, [] if wanted.since is None else json.loads(wanted.since.read_text()))
        seen = {verdict.mutant for verdict in earlier}
        with showing_progress(sys.stderr.isatty()):
            rest = [mutant for mutant in mutants if mutant not in seen]
            verdicts = [*earlier, *(run(rest, WIDER[wanted.wider], wanted.workers) if rest else [])]
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        return 1
    if wanted.random:
        verdicts = [verdict if verdict.killer else _excused(verdict) for verdict in verdicts]
    print("\n".join(lines(verdicts)))
    if wanted.random:
        print(f"drawn from {commit}: --random {wanted.random} --seed {wanted.seed}")
    _write(wanted.json, json.dumps([{**verdict.to_dict(), "commit": commit} for verdict in verdicts], indent=1) + "\n")
    _write(wanted.markdown, markdown(verdicts))
    return int(any(verdict.killer is None for verdict in verdicts))


def _excused(verdict: Verdict) -> Verdict:
    reason = reason_for(verdict.mutant, ROOT)
    return verdict if reason is None else replace(verdict, killer=f"nothing: {reason}")


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
