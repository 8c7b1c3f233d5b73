"""What a page about a paper says: its items, their numbers as they were last computed, choices, differences and errata.

`docs/papers/KEY.md` names its paper in a mark, and the site puts in its place what `items` gives. Numbers take minutes to
compute: they are kept in `docs/papers/numbers/KEY.txt`, and when and how long each item was computed in `numbers/runs.txt`;
`python -m examples.papers` writes them.
"""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from examples.papers.frame import Erratum, Paper, Picture, Row, Section, Severity, Value, Verdict
from examples.papers.names import names_of, written
from examples.papers.settings import INSTANCE

PAGES = Path(__file__).parents[2] / "docs" / "papers"
RUNS = "numbers/runs.txt"
HEAD = "| item | what it says | verdict | public name, and how it is run | seconds |\n| --- | --- | --- | --- | --- |"
NUMBERS = "| item | quantity | paper | read from | computed |\n| --- | --- | --- | --- | --- |"
NUMBER = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$")
SETTINGS = "| item | the paper's design | chosen here | when the choice moves |\n| --- | --- | --- | --- |"
OUTSIDE = "outside"
NOTHING = "none"
Line = tuple[str, str]  # item, quantity
Cells = tuple[str, str, str]  # paper, read from, computed


class Run(NamedTuple):
    """An item when it was last computed. reached: how many of the quantities that are expected are as expected. against: why it
    contradicts its verdict, which is told and not kept."""

    paper: str
    item: str
    verdict: str
    reached: str
    seconds: str
    day: str
    against: tuple[str, ...] = ()


def run_lines(runs: Iterable[Run]) -> str:
    """A line for each item."""
    return "".join(f"| {' | '.join(run[:6])} |\n" for run in runs)


def runs_of(text: str) -> list[Run]:
    """The items of such lines."""
    return [Run(*line.strip("| ").split(" | ")) for line in text.splitlines()]


def stored_runs() -> list[Run]:
    """The items as they were last computed in full."""
    return runs_of((PAGES / RUNS).read_text())


def items(paper: Paper) -> str:
    """The page below its first paragraph."""
    numbers = numbers_of((PAGES / "numbers" / f"{paper.key}.txt").read_text())
    parts = [_tally(paper)]
    for section in paper.sections:
        parts += _section(paper, section, numbers)
    return "\n\n".join(dict.fromkeys(parts))  # a counter-example to several items stands once, at the first


def number_lines(paper: Paper, full: bool) -> str:
    """A line for each number of each row, computed."""
    lines = [_number(row, value) for row in paper.rows for value in row.values(full)]
    return "\n".join(dict.fromkeys(lines)) + "\n"


def paragraph(text: str) -> str:
    """Words in one line; paragraphs apart stay apart."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _tally(paper: Paper) -> str:
    runs = [run for run in stored_runs() if run.paper == paper.key]
    counted = Counter(run.verdict for run in runs)
    verdicts = ", ".join(f"{verdict} {counted[verdict]}" for verdict in Verdict if counted[verdict])
    return (
        f"Items by verdict, computed on {runs[0].day}: {verdicts}. {_faults([paper])} Severities, the gravest first: "
        f"{', '.join(Severity)}. Seconds count what items share at the first of them."
    )


def _faults(papers: list[Paper]) -> str:
    errata, faults = (sum(len(found) for found in each) for each in zip(*((p.errata, p.faults) for p in papers), strict=True))
    return f"{errata} errata tell of {faults} faults: the others follow from one of these."


def _section(paper: Paper, section: Section, numbers: dict[Line, Cells]) -> list[str]:
    parts = [f"## {section.title}"] + ([paragraph(section.text)] if section.text else [])
    parts.append("\n".join([HEAD, *(_row(paper, row) for row in section.rows)]))
    named = {row.item for row in section.rows}
    compared = [line for line in numbers if line[0] in named and numbers[line][0] != NOTHING]
    if compared:
        parts.append("\n".join([NUMBERS, *(f"| {' | '.join([*line, *numbers[line]])} |" for line in compared)]))
    parts += _settings(paper, section)
    parts += _reasons(section)
    parts += [paragraph(f"**{row.item}** differs. {row.because}") for row in section.rows if row.because]
    parts += [part for picture in section.pictures for part in _picture(picture)]
    return parts + [part for row in section.rows for erratum in row.errata for part in _erratum(row, erratum)]


def _settings(paper: Paper, section: Section) -> list[str]:
    """Designs of a section where something is chosen, items of one design and choice in one line."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in section.rows:
        setting = paper.settings.get(row.item, INSTANCE)
        for choice in () if setting is INSTANCE else setting.choices:
            found.setdefault((setting.paper, choice.what, choice.moved), []).append(row.item)
    lines = [f"| {', '.join(named)} | {' | '.join(cells)} |" for cells, named in found.items()]
    return ["\n".join([SETTINGS, *lines])] if lines else []


def _reasons(section: Section) -> list[str]:
    """A paragraph for each reason why numbers differ, with the quantities that it explains."""
    named: dict[str, list[str]] = {}
    for row in section.rows:
        for name, reason in row.reasons().items():
            named.setdefault(reason, []).append(f"**{name}**")
    return [
        paragraph(f"{', '.join(dict.fromkeys(names))}: {OUTSIDE}. {reason[:1].upper()}{reason[1:]}")
        for reason, names in named.items()
    ]


def _row(paper: Paper, row: Row) -> str:
    public = map(written, names_of(paper.key).get(row.item, ()))
    took = next(run.seconds for run in stored_runs() if (run.paper, run.item) == (paper.key, row.item))
    return f"| {row.item} | {row.says} | {row.verdict} | {'<br>'.join([*public, f'`{row.run}`'])} | {took} |"


def _number(row: Row, value: Value) -> str:
    outside = "" if value.reached else f", {OUTSIDE}"
    name = value.name.removeprefix(f"{row.item}: ")
    cells = (row.item, name, interval(value.expected), str(value.read), figure(value.computed) + outside)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def figure(value: float) -> str:
    """A number to four digits; whole numbers below a million as they are."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def interval(expected: tuple[float, float] | None) -> str:
    """What is expected, as a number, a bound or a range."""
    if expected is None:
        return NOTHING
    low, high = expected
    if math.isclose(low, high, rel_tol=1e-5, abs_tol=1e-9):
        return figure(round(high, 9) if low != high else high)
    if math.isinf(high):
        return f"at least {figure(round(low, 9))}"
    return f"at most {figure(round(high, 9))}" if math.isinf(low) else f"{figure(low)} to {figure(round(high, 9))}"


def _picture(picture: Picture) -> list[str]:
    shown = [f"![{textwrap.shorten(picture.caption, 70, placeholder=' ...')}](pictures/{name})" for name in picture.files]
    return [*shown, paragraph(f"*{picture.caption}*")]


def _erratum(row: Row, erratum: Erratum) -> list[str]:
    stated, found = erratum.contradiction()
    follows = f' Follows from "{erratum.follows}".' if erratum.follows else ""
    relation = "" if erratum.claim == "equal" else f"{erratum.claim} "
    place = inspect.getmodule(erratum.contradiction)
    assert place is not None
    return [
        f"### Erratum: {erratum.title}",
        paragraph(f"*{row.item}; {erratum.severity}. In force: {erratum.force}.{follows}*"),
        paragraph(erratum.text),
        f"`{place.__name__}.{erratum.contradiction.__name__}()`: {found} where the paper has {relation}{stated}.",
    ]


def verdicts(papers: list[Paper]) -> str:
    """A table of all papers, as their items were last computed."""
    lines = []
    for paper in papers:
        runs = [run for run in stored_runs() if run.paper == paper.key]
        counted = Counter(run.verdict for run in runs)
        took = [runs[0].day, f"{sum(float(run.seconds) for run in runs):.0f}"]
        cells = [f"[{paper.title}]({paper.key}.md)", *(str(counted[verdict]) for verdict in Verdict), *took]
        lines.append(f"| {' | '.join(cells)} |")
    head = ["paper", *map(str, Verdict), "computed on", "seconds"]
    table = "\n".join(["| " + " | ".join(head) + " |", "| --- " * len(head) + "|", *lines])
    return f"{len(stored_runs())} items. {_faults(papers)}\n\n{table}"


def numbers_of(text: str) -> dict[Line, Cells]:
    """(item, quantity) -> (paper, read from, computed) of lines of numbers."""
    found = {}
    for line in text.splitlines():
        cells = NUMBER.match(line)
        if cells:
            item, name, expected, read, computed = cells.groups()
            found[item, name] = (expected, read, computed)
    return found
