"""What a mutation run found, as lines to read and as the page docs/explanation/mutants.md."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mutation.runner import Verdict

OPENING = """# Mutation testing

Each line is a deliberate fault injected into the code that privacy rests on, and the first test that fails with it. Written by
`python -m tests.mutation --markdown docs/explanation/mutants.md`, which takes verdicts over from earlier runs (`--since`); the
breaks themselves, old text and new, are in `tests/mutation/`.

"""


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """One line a mutant, survivors last, and what they amount to."""
    told = [f"{_what(verdict):8} {verdict.seconds:6.1f} s  {_place(verdict)}: {verdict.mutant.breaks}" for verdict in verdicts]
    told = [
        text if verdict.killer is None else f"{text}\n{'':18}by {verdict.killer}"
        for text, verdict in zip(told, verdicts, strict=True)
    ]
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
        return "SURVIVED"
    return "killed" if verdict.looked == "named" else "killed*"


def _place(verdict: Verdict) -> str:
    return verdict.mutant.file
