"""From a problem file: design, compare, budget."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from designer.accounts.together.privacy_in_words import asked_line, privacy_line
from designer.base.errors import InvalidProblem
from designer.base.on_terminal import terminal_width
from designer.base.output import checked_target
from designer.base.printing import printed
from designer.certified.frozen import save
from designer.cli.options import add_effort, add_full, add_output, check_output, given_effort
from designer.cli.signing_commands import add_sign_options, signed_line, signing_key
from designer.designing.choosing import chosen_families
from designer.designing.comparison import compare
from designer.designing.least import STEP, least_budget
from designer.designing.printouts import budget_summary
from designer.files.problem.kinds import read_request
from designer.files.problem.linear_request import ProblemFile
from designer.files.problem.request import Choices, Request
from designer.reports.pictures.figures import check_picture
from designer.reports.pictures.kinds import plot


def add_design(made: argparse.ArgumentParser) -> None:
    """design."""
    made.set_defaults(run=_design)
    add_output(made, "-o", "where to save the spec (JSON)")
    add_sign_options(made)
    _add_choices(made)
    add_effort(made)
    add_full(made, "also print how the design was found, what proves it, and what was tried")


def add_compare(made: argparse.ArgumentParser) -> None:
    """compare."""
    made.set_defaults(run=_compare)
    made.add_argument("--family", action="append", help="only this family; may be given several times")
    add_effort(made)
    add_full(made, "also print what the limit rests on, and why families have no mechanism")
    add_output(made, "--plot", "also draw the comparison to this picture (needs matplotlib)")
    made.add_argument("--markdown", action="store_true", help="print every column as a table in Markdown")


def _add_choices(made: argparse.ArgumentParser) -> None:
    """The family and the solver of a design, which override those of the problem file."""
    names = ", ".join(family.name for family in chosen_families())
    made.add_argument("--family", help=f"override the problem file: auto, {names}")
    made.add_argument("--solver", help="override the problem file: auto, or a solver of CVXPY such as CLARABEL, SCS, HIGHS")
    several = "of that solver; may be given several times"
    made.add_argument("--solver-option", action="append", type=_setting, metavar="NAME=VALUE", help=several)


def add_budget(made: argparse.ArgumentParser) -> None:
    """budget: which families, how near, and what to keep of the answer."""
    made.set_defaults(run=_budget)
    made.add_argument("--family", help="override the problem file, and try this family only, or auto for all")
    add_effort(made)
    made.add_argument("--step", type=float, default=STEP, help=f"relative width of the answer (default {STEP:g})")
    made.add_argument("--plot", type=Path, help="also draw error against budget to this picture (needs matplotlib)")
    add_output(made, "-o", "save the spec of the design at the least factor (JSON)")


def _design(options: argparse.Namespace) -> tuple[str, Any]:
    request = read_request(options.file)
    check_output(options, request.files)
    key = signing_key(options)
    choices = Choices(options.family, options.solver, dict(options.solver_option or ()), **given_effort(options))
    outcome = request.made(choices)
    saved = save(outcome.mechanism, options.output, replace=options.force) if options.output else None
    kept = f"Saved to {printed(saved)}." if saved else "Not saved: give -o SPEC.json to keep it."
    lines = outcome.lines if options.full or not outcome.brief else outcome.brief
    return "\n".join([*lines, privacy_line(outcome.mechanism), kept, *signed_line(options, key)]), outcome.data


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON writes it, or as a text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} should be NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _budget(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_request(options.file)
    if not isinstance(file, ProblemFile):
        return _other_budget(file, options)
    check_output(options, file.files)
    if file.targets is None:
        raise InvalidProblem(f"{options.file}: section [targets] is missing; say there how accurate the answers must be.")
    if options.plot:
        checked_target(options.plot, inputs=file.files, replace=options.force)
        check_picture(options.plot)
    family, chosen = Choices(options.family).of_file(file.family, file.options)
    result = least_budget(file.matrix_problem, file.targets, family, step=options.step, **{**chosen, **given_effort(options)})
    saved = (
        save(result.design.mechanism.described(file.about), options.output, replace=options.force) if options.output else None
    )
    text = f"{budget_summary(file.title, result, terminal_width())}\n{privacy_line(result.design.mechanism)}"
    text += f"\nSaved to {printed(saved)}." if saved else "\nNot saved: give -o SPEC.json to keep the design at this factor."
    if options.plot:
        text += f"\nDrawn to {printed(plot(result, options.plot, replace=options.force))}."
    return text, {"title": file.title, **result.to_dict()}


def _other_budget(request: Request, options: argparse.Namespace) -> tuple[str, Any]:
    """The same for what is no matrix of queries."""
    if options.plot:
        raise request.without("--plot", "error against budget is drawn for linear queries")
    check_output(options, request.files)
    outcome = request.least(Choices(options.family, **given_effort(options)), step=options.step)
    saved = save(outcome.mechanism, options.output, replace=options.force) if options.output else None
    kept = f"Saved to {printed(saved)}." if saved else "Not saved: give -o SPEC.json to keep the design at this factor."
    return "\n".join([*outcome.lines, privacy_line(outcome.mechanism), kept]), outcome.data


def _compare(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_request(options.file)
    problem = file.compared
    check_output(options, file.files)
    if options.output:
        check_picture(options.output)
    result = compare(problem, options.family, **given_effort(options))
    title = printed(file.title)
    head = title if options.markdown else f"{title}\n{'=' * len(title)}"
    text = f"{head}\n\n{result.to_markdown() if options.markdown else result.to_text(terminal_width(), full=options.full)}"
    text = f"{text.rstrip()}\n\n{asked_line(problem.relation, problem.notion, problem.delta)}"
    if options.output:
        text += f"\n\nDrawn to {printed(plot(result, options.output, replace=options.force))}."
    return text, {"title": file.title, "rows": result.rows, "limit": result.limit and result.limit.to_dict()}
