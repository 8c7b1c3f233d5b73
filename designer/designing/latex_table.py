"""A comparison as a table of LaTeX, for a paper: rules of booktabs, names escaped, bounds rounded to their own side."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from designer.designing.comparison_words import CELLS, COLUMNS, Row, limit_lines, sorted_rows
from designer.families.least_noise import Limit
from designer.base.errors import InvalidProblem
from designer.base.checks import meant, shown
from designer.base.printing import printed

DEFAULT = ("loss", "squared", "absolute", "max", "improvement", "efficiency")
_LATEX = str.maketrans(
    {mark: "\\" + mark for mark in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"}
)
_POWER = re.compile(r"e([+-]?)(\d+)$")


def in_latex(name: object) -> str:
    """A name fit for a cell of LaTeX: `printed`, and nothing in it is taken for a command.

    >>> print(in_latex("k_norm & 50% of {a^b}"))
    k\\_norm \\& 50\\% of \\{a\\textasciicircum{}b\\}
    """
    return printed(name).translate(_LATEX)


def comparison_latex(rows: Sequence[Row], limit: Limit | None, columns: Sequence[str] | None) -> str:
    """The families with a mechanism, best first; those without one, and what efficiency means, in comments above the table.

    columns: keys of `COLUMNS` behind the family; those of `DEFAULT` that hold a number where none are given.
    """
    done = [row for row in sorted_rows(rows) if row["loss"] is not None]
    chosen = _columns(done, columns)
    remarks = [r"needs \usepackage{booktabs}", *limit_lines(limit)]
    remarks += [f"{row['family']}: {row['note']}" for row in sorted_rows(rows) if row["note"]]
    head = " & ".join(in_latex(COLUMNS[name]) for name in chosen)
    body = [" & ".join(_cell(name, row) for name in chosen) + r" \\" for row in done]
    aligned = "".join("r" if name in CELLS else "l" for name in chosen)
    table = [
        rf"\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*(f"% {printed(remark)}" for remark in remarks), *table]) + "\n"


def _columns(done: Sequence[Row], asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked is None:
        return ("family", *(name for name in DEFAULT if any(row[name] is not None for row in done)))
    if isinstance(asked, str) or not asked:
        raise InvalidProblem(f"columns: {shown(asked)} is no list of columns; give some of {list(COLUMNS)[1:]}.")
    for name in asked:
        if name not in COLUMNS:
            raise InvalidProblem(f"columns: {shown(name)} is unknown; {meant(name, COLUMNS)}use some of {list(COLUMNS)[1:]}.")
    return ("family", *(name for name in asked if name != "family"))


def _cell(name: str, row: Row) -> str:
    value = row[name]
    if name not in CELLS:
        return in_latex(value)
    if value is None or math.isnan(value):
        return "--"
    return _POWER.sub(lambda found: rf"$\,\cdot 10^{{{found[1].strip('+')}{found[2].lstrip('0')}}}$", CELLS[name](value))
