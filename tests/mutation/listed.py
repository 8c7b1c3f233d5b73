"""The listed mutants, read from `lists/`, a file a room, and those that no test has to see, from `equivalent.txt`.

Lines that begin with `tests/` name the tests that are to see the mutants below them, up to the next such lines: with its case
where that is not the first, for the default runs what is named here. A mutant is a
line `key: what is lost`, and below it, indented, `old => new`, snippets of one line or more; without a new one the old one is
dropped. A key may end with `#2`: the second of equal places. A line that begins with `#` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

from tests.mutation.mutant import Mutant

HERE = Path(__file__).parent
LISTS = sorted((HERE / "lists").glob("*.txt"))
HEAD = re.compile(r"([\w.:]+?)(?:#(\d+))?: (.+)")


def named_tests() -> set[str]:
    """What the lists name: `file::function`, one case of it, or a file of which every test is meant."""
    return {line for path in LISTS for line in path.read_text().splitlines() if line.startswith("tests/")}


def read(path: Path) -> Iterator[Mutant]:
    """The mutants of a list; `ValueError` with file and line where it has another form."""
    lines = path.read_text().splitlines()
    tests, heading, number = list[str](), False, 0
    while number < len(lines):
        line, number = lines[number], number + 1
        if line.startswith("tests/"):
            tests = [*(tests if heading else []), line]
        elif line and not line.startswith("#"):
            start = number
            while number < len(lines) and lines[number].startswith(" "):
                number += 1
            head, sides = HEAD.fullmatch(line), re.split(r"\s=>(?:\s|$)", dedent("\n".join(["", *lines[start:number]])))
            if head is None or len(sides) != 2:
                raise ValueError(f"{path.name}, line {start}: not `key: what is lost` with `old => new` below it.")
            yield Mutant(head[1], sides[0].strip("\n"), sides[1].strip("\n"), head[3], tuple(tests), int(head[2] or 0))
        heading = line.startswith("tests/")


def written(mutant: Mutant) -> str:
    """The lines of a mutant in a list, but for its tests."""
    nth = f"#{mutant.nth}" if mutant.nth else ""
    block = f"{mutant.old} => {mutant.new}"
    if "\n" in block:
        block = f"{mutant.old}\n=>\n{mutant.new}"
    elif len(block) > 124:
        block = f"{mutant.old}\n=> {mutant.new}"
    lines = [f"    {line}".rstrip() for line in block.rstrip().splitlines()]
    return "\n".join([f"{mutant.where}{nth}: {mutant.breaks}", *lines])


@cache
def equivalent() -> tuple[Mutant, ...]:
    """Drawn breaks that no test sees and none has to, each with the reason why nothing is lost by it."""
    return tuple(read(HERE / "equivalent.txt"))


def reason_for(mutant: Mutant, tree: Path) -> str | None:
    """Why nothing is lost by a break, where that is known of the same file with the same change."""
    becomes = mutant.becomes(tree)
    return next((one.breaks for one in equivalent() if one.file == mutant.file and one.becomes(tree) == becomes), None)


MUTANTS = tuple(mutant for path in LISTS for mutant in read(path))
