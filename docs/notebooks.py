"""Notebooks on the site, with what they print: run while the site is built, from `examples/notebooks`.

A page says `<!-- notebook NAME -->`. The cells run one after the other in a folder of their own, as Jupyter runs them; what
they write to the terminal stands below each.
"""

from __future__ import annotations

import json
import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pages import below

NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"
MARK = re.compile(r"^<!-- notebook (\w+) -->$", re.MULTILINE)


def shown(printed: str) -> str:
    """What a cell printed: tables in Markdown as tables, everything else as text.

    >>> print(shown("| a |\\n| --- |\\n| 1 |\\n"))
    | a |
    | --- |
    | 1 |
    """
    pieces = []
    for is_table, lines in groupby(
        printed.splitlines(), lambda line: line.startswith("|")
    ):
        text = "\n".join(lines).strip("\n")
        if text:
            pieces.append(
                text
                if is_table
                else f"```{{code-block}} text\n:class: printed\n\n{text}\n```"
            )
    return "\n\n".join(pieces)


def run(cells: list[dict[str, Any]]) -> list[str]:
    """The cells as Markdown, each program with what it printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    made = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            made.append(below(text))
            continue
        with redirect_stdout(StringIO()) as printed:
            exec(compile(text, "a cell", "exec"), names)
        made += [f"```python\n{text}\n```", shown(printed.getvalue())]
    return [piece for piece in made if piece]


def notebook(name: str) -> str:
    """A notebook as a section of a page."""
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    with TemporaryDirectory() as folder, chdir(folder):
        return "\n\n".join(run(cells["cells"]))


def with_notebooks(text: str) -> str:
    """A page with the notebooks that it names."""
    return MARK.sub(lambda mark: notebook(mark[1]), text)
