"""The command `explore`: a page with sliders for the budget of a problem file."""

from __future__ import annotations

import argparse
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.output import write_whole
from designer.base.printing import counted, printed
from designer.cli.options import add_output, check_output
from designer.files.problem.kinds import read_request
from designer.reports.explorer import explorer_html
from designer.reports.exploring import POINTS, explored
from designer.reports.html import template


def add_explore(made: argparse.ArgumentParser) -> None:
    """explore."""
    made.set_defaults(run=_explore)
    made.add_argument("--family", action="append", help="only this family; may be given several times")
    made.add_argument("--points", type=int, default=POINTS, help=f"how many budgets (default {POINTS})")
    made.add_argument("--effort", help="how much work each search has: quick, normal (the default) or thorough")
    add_output(made, "-o", "the page to write: .html (needs Jinja2)")


def _explore(options: argparse.Namespace) -> tuple[str, Any]:
    if options.output is None or options.output.suffix.lower() != ".html":
        raise InvalidProblem("-o: explore writes a page; name it, such as -o explore.html.")
    check_output(options, read_request(options.file).files)
    template("explore.html.jinja")  # refused at once where it cannot be drawn
    found = explored(options.file, options.family, effort=options.effort or "normal", points=options.points)
    write_whole(options.output, explorer_html(found), replace=options.force)
    told = f"{counted(len(found['points']), 'point')}, {counted(len(found['families']), 'family', 'families')}"
    lines = [f"Written to {printed(options.output)}: {told}; open it in a browser.", *map(printed, found["notes"])]
    return "\n".join(lines), {"path": str(options.output), **found}
