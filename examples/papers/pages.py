"""Pages of Markdown from rows, and what a committed page says."""

from __future__ import annotations

import ast
import inspect
import math
import re
import subprocess
import sys
import textwrap
from collections import Counter
from functools import cache
from pathlib import Path

from examples.papers.frame import Choice, Erratum, Paper, Picture, Row, Section, Setting, Severity, Value, Verdict
from examples.papers.names import names_of, written

HEAD = "| item | what it says | verdict | by which public name, where it lives, and how it is run |\n| --- | --- | --- | --- |"
NUMBERS = "| item | quantity | published | expected | read from | computed |\n| --- | --- | --- | --- | --- | --- |"
NUMBER = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$")
SETTINGS = "| item | the paper's design | chosen here | when the choice moves |\n| --- | --- | --- | --- |"
ERRATA = "| item | erratum | severity | definition in force |\n| --- | --- | --- | --- |"
SIGN, GLUE = re.compile(r" ([-+*]) "), "\0"  # between terms, and what stands for the spaces around it
OUTSIDE = "outside"
DOCS = Path(__file__).parents[2] / "docs"
NOTHING = "none"
NO_CHOICE = Choice("nothing", "nothing to move")
Line = tuple[str, str]  # item, quantity


def page(paper: Paper, full: bool) -> str:
    """The whole page."""
    parts = [f"# {paper.title}", paragraph(paper.about), _tally(paper), *_errata(paper)]
    for section in paper.sections:
        parts += _section(paper, section, full)
    return "\n\n".join(dict.fromkeys(parts)) + "\n"  # a counter-example to several items stands once, at the first


def paragraph(text: str) -> str:
    """Words, in lines that fit; paragraphs apart stay apart, and sums and products whole: no line begins as a list."""
    whole = [SIGN.sub(rf"{GLUE}\1{GLUE}", " ".join(part.split())) for part in text.split("\n\n")]
    return "\n\n".join(textwrap.fill(part, 120, break_long_words=False) for part in whole).replace(GLUE, " ")


def _tally(paper: Paper) -> str:
    counted = Counter(row.verdict for row in paper.rows)
    lines = [f"| {verdict} | {counted[verdict]} |" for verdict in Verdict if counted[verdict]]
    return "\n".join(["| verdict | items |", "| --- | --- |", *lines])


def _errata(paper: Paper) -> list[str]:
    """A line for each erratum, at the first item that it belongs to: what it endangers, and what it is judged by."""
    first: dict[Erratum, str] = {}
    for row in paper.rows:
        for erratum in row.errata:
            first.setdefault(erratum, row.item)
    lines = [f"| {item} | {erratum.title} | {erratum.severity} | {erratum.force} |" for erratum, item in first.items()]
    return [f"Errata of this page. Severities, the gravest first: {', '.join(Severity)}.", "\n".join([ERRATA, *lines])]


def _section(paper: Paper, section: Section, full: bool) -> list[str]:
    parts = [f"## {section.title}"] + ([paragraph(section.text)] if section.text else [])
    parts.append("\n".join([HEAD, *(_row(paper, row) for row in section.rows)]))
    values = [(row, value) for row in section.rows for value in row.values(full)]
    if values:
        parts.append("\n".join([NUMBERS, *(_number(row, value) for row, value in values)]))
    parts += _settings(paper, section)
    parts += _reasons([value for _, value in values if value.reason])
    parts += [paragraph(f"**{row.item}** differs. {row.because}") for row in section.rows if row.because]
    parts += [part for picture in section.pictures for part in _picture(picture)]
    return parts + ["\n\n".join(_erratum(erratum)) for row in section.rows for erratum in row.errata]


def _settings(paper: Paper, section: Section) -> list[str]:
    """Designs and choices of a section, items of one setting in one line."""
    items: dict[Setting, list[str]] = {}
    for row in section.rows:
        if row.item in paper.settings:
            items.setdefault(paper.settings[row.item], []).append(row.item)
    lines = [
        f"| {', '.join(named)} | {setting.paper} | {choice.what} | {choice.moved} |"
        for setting, named in items.items()
        for choice in setting.choices or (NO_CHOICE,)
    ]
    return ["\n".join([SETTINGS, *lines])] if lines else []


def _reasons(values: list[Value]) -> list[str]:
    """A paragraph for each reason, with the quantities that it explains."""
    named: dict[str, list[str]] = {}
    for value in values:
        named.setdefault(value.reason, []).append(f"**{value.name}**")
    return [paragraph(f"{', '.join(names)}: {OUTSIDE}. {reason[:1].upper()}{reason[1:]}") for reason, names in named.items()]


def _row(paper: Paper, row: Row) -> str:
    files: dict[str, list[str]] = {}
    for file, name in (place.split(":") for place in row.lives):
        files.setdefault(file, []).append(f"`{name}`")
    places = [f"{', '.join(names)} in `{file}`" for file, names in files.items()]
    public = ", ".join(map(written, names_of(paper.key).get(row.item, ())))
    return f"| {row.item} | {row.says} | {row.verdict} | {'<br>'.join([*filter(None, [public]), *places, f'`{row.run}`'])} |"


def _number(row: Row, value: Value) -> str:
    outside = "" if value.reached else f", {OUTSIDE}"
    stated = interval(value.expected)
    cells = (
        row.item,
        value.name.removeprefix(f"{row.item}: "),
        stated if value.read.printed else NOTHING,
        NOTHING if value.read.printed else stated,
        str(value.read),
        figure(value.computed) + outside,
    )
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


def _erratum(erratum: Erratum) -> list[str]:
    stated, found = erratum.contradiction()
    called = f">>> {erratum.contradiction.__name__}()\n({stated!r}, {found!r})"
    return [
        f"### Erratum: {erratum.title}",
        paragraph(f"*Severity: {erratum.severity}. In force: {erratum.force}.*"),
        paragraph(erratum.text),
        f"```python\n{code(erratum)}\n```",
        f"As the paper states it, and as it is; the paper has the second {erratum.claim}{_joined(erratum.claim)} the first:",
        f"```python\n{called}\n```",
    ]


def _joined(claim: str) -> str:
    return " to" if claim == "equal" else ""


def code(erratum: Erratum) -> str:
    """The code of a counter-example, with the imports of its file that it uses, so that it runs by itself."""
    sources = [inspect.getsource(function).rstrip() for function in (*erratum.needs, erratum.contradiction)]
    used = {node.id for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    tree = ast.parse(Path(inspect.getfile(erratum.contradiction)).read_text())
    lines = [line for node in tree.body for line in _imported(node, used)]
    return in_columns("\n\n\n".join([*(["\n".join(lines)] if lines else []), *sources]))


@cache
def in_columns(text: str) -> str:
    """Code as the pages of the site have it, in columns of 88."""
    ruff = [sys.executable, "-m", "ruff", "format", "--config", str(DOCS / "ruff.toml"), "--stdin-filename", "page.py", "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout.rstrip()


def _imported(node: ast.stmt, used: set[str]) -> list[str]:
    """The names of an import that the code uses."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    names = [alias for alias in node.names if (alias.asname or alias.name).split(".")[0] in used]
    written = ", ".join(alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in names)
    if not names:
        return []
    return [f"from {node.module} import {written}" if isinstance(node, ast.ImportFrom) else f"import {written}"]


def index(papers: list[Paper]) -> str:
    """The page that lists the pages."""
    head = ["paper", *map(str, Verdict)]
    counted = [Counter(row.verdict for row in paper.rows) for paper in papers]
    lines = [
        f"| [{paper.title}]({paper.key}.md) | " + " | ".join(str(counts[verdict]) for verdict in Verdict) + " |"
        for paper, counts in zip(papers, counted, strict=True)
    ]
    table = "\n".join(["| " + " | ".join(head) + " |", "| --- " * len(head) + "|", *lines])
    listed = "\n".join(["```{toctree}", ":hidden:", "", *(paper.key for paper in papers), "```"])
    return "\n\n".join(["# The papers, side by side", paragraph(ABOUT), table, paragraph(READING), listed]) + "\n"


ABOUT = """For researchers who know one of the four papers that dp-designer unites, and want to see what became of each
definition,
theorem, algorithm, table and figure: where it lives in the code, the published numbers beside those that the code computes,
and
what in the paper does not hold, each with a counter-example that runs."""
READING = """The pages are written by one command, `python -m examples.papers`, in a checkout, pictures and all; it computes
every number anew. A number is *published* where it is printed in the paper: in a sentence (text), in a cell (table), or in
a picture, read off as an interval (plot). It is *expected* where it follows from the paper and is not printed there: said in
words and turned into an inequality here (words), given by a formula at an instance of our own (theorem), or within 4.5
standard errors of a file of results in the authors' repository (authors' file). What is expected as an *own check* is not
in the paper: another computation of the same, or what must hold besides.

*Reproduced* says that design and data are the paper's, and nothing is chosen here. *Consistent with, under these choices* says
that the paper leaves something open: each page names the paper's design, every choice, and what the result does when the choice
moves; the numbers there are printed by the command that they name. An erratum has a severity and the definition that it is
judged by. The public name of each item leads to its
entry in the [reference](../reference/index.md); a code file is given as a path from the root of the checkout."""


def numbers_of(text: str) -> dict[Line, tuple[str, str, str, str]]:
    """(item, quantity) -> (published, expected, read from, computed) of a page."""
    found = {}
    for line in text.splitlines():
        cells = NUMBER.match(line)
        if cells and not line.startswith(("| item |", "| --- |")):
            item, name, published, expected, read, computed = cells.groups()
            found[item, name] = (published, expected, read, computed)
    return found


def frame_of(text: str) -> list[str]:
    """The page without its numbers, and without the paragraphs that explain them: its structure."""
    return [line for line in text.splitlines() if not NUMBER.match(line) or line.startswith(("| item |", "| --- |"))]
