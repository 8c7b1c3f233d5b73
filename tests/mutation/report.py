"""What a mutation run found, as lines to read and as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mutation.listed import written
from tests.mutation.runner import Verdict

OPENING = """# Mutation testing

Each line is a deliberate fault injected into the code that privacy rests on, and the first test that fails with it. Written by
`python -m tests.mutation --markdown FILE`, which takes verdicts over from earlier runs (`--since`); the breaks themselves, old
code and new, are in `tests/mutation/lists/`.

"""


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """One line a mutant and what saw it, survivors last and as they stand in a list, and what they amount to."""
    told = [_told(verdict) for verdict in verdicts]
    survivors = [verdict for verdict in verdicts if verdict.killer is None]
    order = sorted(range(len(verdicts)), key=lambda i: verdicts[i].killer is None)
    return [*(told[i] for i in order), f"{len(verdicts)} mutants, {len(survivors)} survivors"]


def markdown(verdicts: Sequence[Verdict]) -> str:
    """The page: the table, sorted by file, and its sum."""
    rows = [
        f"| `{verdict.mutant.file}` | {verdict.mutant.breaks} | {_killer(verdict)} |"
        for verdict in sorted(verdicts, key=lambda verdict: (verdict.mutant.file, verdict.mutant.breaks))
    ]
    survivors = sum(verdict.killer is None for verdict in verdicts)
    counted = f"{len(verdicts)} mutants, {survivors} survivors.\n\n"
    return OPENING + counted + "\n".join(["| file | broken | seen by |", "| --- | --- | --- |", *rows]) + "\n"


def _killer(verdict: Verdict) -> str:
    if verdict.killer is None:
        return "**none**"
    return f"`{verdict.killer.removeprefix('tests/').partition('[')[0]}`"


def _what(verdict: Verdict) -> str:
    if verdict.killer is None:
        return "MISFIT" if verdict.misfit else "SURVIVED"
    return "killed" if verdict.looked == "named" else "killed*"


def _told(verdict: Verdict) -> str:
    mutant, by = verdict.mutant, f"{'':18}by {verdict.killer}"
    first = f"{_what(verdict):8} {verdict.seconds:6.1f} s  {mutant.file}: {mutant.where}: {mutant.breaks}"
    return "\n".join([first, verdict.misfit or written(mutant) if verdict.killer is None else by])
