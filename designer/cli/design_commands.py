"""From a problem file: design, compare, budget."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from designer.accounts.composition.privacy_in_words import asked_line, privacy_line
from designer.base import progress
from designer.base.checks import shown
from designer.base.display import counted, printed, terminal_width
from designer.base.errors import InvalidProblem
from designer.base.output import checked_target, write_whole
from designer.certificate.frozen import save, stated_guarantee
from designer.cli.check_command import add_delimiter
from designer.cli.options import (
    add_allow_vacuous,
    add_effort,
    add_full,
    add_output,
    check_output,
    given_effort,
    require_protection,
)
from designer.cli.signing_commands import add_sign_options, signed_line, signing_key
from designer.designing.auto import chosen_families
from designer.designing.comparison import compare
from designer.designing.least import STEP, least_budget
from designer.designing.printouts import budget_summary
from designer.files.data_files import columns_of_file
from designer.files.office_files import RECORD_FILES, WORKBOOK, dictionary_of, is_office_file
from designer.problem.reading import Reading
from designer.problem_file.forms import DEFAULT, ProblemFile
from designer.problem_file.kinds import read_request
from designer.problem_file.linear import LinearFile
from designer.problem_file.sections import Choices
from designer.problem_file.templates import QUESTIONS, STARTS, Question, decided_file, starting_file


def add_design(made: argparse.ArgumentParser) -> None:
    """design."""
    made.set_defaults(run=_design)
    add_output(made, "-o", "where to save the spec (JSON)")
    add_sign_options(made)
    add_allow_vacuous(made, "a design")
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
    made.add_argument("--only-targets", action="store_true", help="queries without a target may have any noise")
    add_allow_vacuous(made, "a design")
    made.add_argument("--step", type=float, default=STEP, help=f"relative width of the answer (default {STEP:g})")
    made.add_argument("--plot", type=Path, help="also draw error against budget to this picture (needs matplotlib)")
    add_output(made, "-o", "save the spec of the design at the least factor (JSON)")


def _design(options: argparse.Namespace) -> tuple[str, Any]:
    request = read_request(options.file)
    check_output(options, request.files)
    key = signing_key(options)
    choices = Choices(options.family, options.solver, dict(options.solver_option or ()), **given_effort(options))
    outcome = request.made(choices)
    require_protection(options, outcome.mechanism)
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
    _require_all_targets(options, file)
    if not isinstance(file, LinearFile):
        return _other_budget(file, options)
    check_output(options, file.files)
    if file.targets is None:
        raise InvalidProblem(f"{options.file}: section [targets] is missing; say there how accurate the answers must be.")
    if options.plot:
        checked_target(options.plot, inputs=file.files, replace=options.force)
        _check_picture(options.plot)
    family, chosen = Choices(options.family).of_file(file.family, file.options)
    result = least_budget(file.compared, file.targets, family, step=options.step, **{**chosen, **given_effort(options)})
    made = result.design.mechanism.described(file.about)
    require_protection(options, made)
    saved = save(made, options.output, replace=options.force) if options.output else None
    text = f"{budget_summary(file.title, result, terminal_width())}\n{privacy_line(made)}"
    text += f"\nSaved to {printed(saved)}." if saved else "\nNot saved: give -o SPEC.json to keep the design at this factor."
    if options.plot:
        text += f"\nDrawn to {_drawn(result, options.plot, options.force)}."
    return text, {"title": file.title, **result.to_dict()}


def _require_all_targets(options: argparse.Namespace, file: ProblemFile) -> None:
    """Refuse a query without a target, which the least budget leaves with whatever noise is left for it."""
    if options.only_targets or file.targets is None or file.named_answers is None:
        return
    aimed = {target.query for target in file.targets.of(file.named_answers)}
    if left := [name for name in file.named_answers if name not in aimed]:
        raise InvalidProblem(
            f"{file.files[0]}: [targets] says nothing of {counted(len(left), 'query', 'queries')}, {shown(left)}; the least "
            "budget may leave them noise of any size: give each a target, or pass --only-targets."
        )


def _other_budget(request: ProblemFile, options: argparse.Namespace) -> tuple[str, Any]:
    """The same for what is no matrix of queries."""
    if options.plot:
        raise request.without("--plot", "error against budget is drawn for linear queries")
    check_output(options, request.files)
    outcome = request.least(Choices(options.family, **given_effort(options)), step=options.step)
    require_protection(options, outcome.mechanism)
    saved = save(outcome.mechanism, options.output, replace=options.force) if options.output else None
    kept = f"Saved to {printed(saved)}." if saved else "Not saved: give -o SPEC.json to keep the design at this factor."
    return "\n".join([*outcome.lines, privacy_line(outcome.mechanism), kept]), outcome.data


def _check_picture(path: Path) -> None:
    """Refuse a picture before the work begins; the room of pictures is loaded where one is asked for."""
    from designer.publish.pictures.figures import check_picture

    check_picture(path)


def _drawn(result: Any, path: Path, replace: bool) -> str:
    from designer.publish.pictures.kinds import plot

    return printed(plot(result, path, replace=replace))


def _compare(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_request(options.file)
    problem = file.compared
    check_output(options, file.files)
    if options.output:
        _check_picture(options.output)
    result = compare(problem, options.family, **given_effort(options))
    title = printed(file.title)
    head = title if options.markdown else f"{title}\n{'=' * len(title)}"
    text = f"{head}\n\n{result.to_markdown() if options.markdown else result.to_text(terminal_width(), full=options.full)}"
    text = f"{text.rstrip()}\n\n{asked_line(problem.relation, problem.notion, problem.delta, file.about.records)}"
    if options.output:
        text += f"\n\nDrawn to {_drawn(result, options.output, options.force)}."
    return text, {"title": file.title, "rows": result.rows, "limit": result.limit and result.limit.to_dict()}


# A starting problem file: from the names of the columns of a file of records, or from answers to seven questions: init.


def add_init(made: argparse.ArgumentParser) -> None:
    """init."""
    made.set_defaults(run=_init)
    made.add_argument(
        "file",
        type=Path,
        nargs="?",
        help=f"records ({', '.join(RECORD_FILES)}), of which the names of the columns are read, or the dictionary, and no row",
    )
    made.add_argument("--ask", action="store_true", help="ask seven questions in the place of a file of records, and design")
    made.add_argument("--kind", default=DEFAULT, help=f"of problem file: {', '.join(STARTS)}")
    made.add_argument("--column", action="append", default=[], help="ask about this column; may be given several times")
    made.add_argument("--number", action="append", default=[], help="this column holds numbers; may be given several times")
    made.add_argument("--sheet", help="the sheet of a workbook")
    add_delimiter(made)
    add_output(made, "-o", "where to save the problem file (TOML); without it, it is printed")


def _init(options: argparse.Namespace) -> tuple[str, Any]:
    if options.ask:
        return _from_answers(options)
    if options.file is None:
        raise InvalidProblem("file: missing; give the records whose columns are asked about, or --ask to answer questions.")
    check_output(options, [options.file])
    reading = Reading(sheet=options.sheet)
    office = is_office_file(options.file)
    if options.sheet is not None and options.file.suffix.lower() != WORKBOOK:
        raise InvalidProblem(f"--sheet: {options.file} is no workbook (.xlsx); leave it out.")
    columns = dictionary_of(options.file, reading) if office else columns_of_file(options.file, options.delimiter or ",")
    text = starting_file(columns, options.file.stem, options.kind, options.number, options.column, reading)
    data = {"kind": options.kind, "columns": [column.name for column in columns], "toml": text}
    if not options.output:
        return text.rstrip("\n"), data
    write_whole(options.output, text, replace=options.force)
    taken = ", ".join(printed(name) for name in dict.fromkeys(options.column or [column.name for column in columns]))
    source = "dictionary of the file" if office and any(column.type for column in columns) else "names of the columns"
    told = f"Written to {printed(options.output)}, from the {source}: {taken}."
    return f"{told}\nFill in what is marked; dp-designer design {printed(options.output)} names what is left.", data


def _from_answers(options: argparse.Namespace) -> tuple[str, Any]:
    """The file that the answers lead to, what its design is off by, and what it promises; written once it could be designed."""
    if options.file is not None or options.kind != DEFAULT or options.column or options.number:
        raise InvalidProblem(
            "--ask: reads no records, so that no file, --kind, --column or --number goes with it; leave it out."
        )
    check_output(options, [])
    answers: dict[str, str] = {}
    with progress.unseen():  # nothing is drawn over a question
        for number, question in enumerate(QUESTIONS, 1):
            answers[question.name] = _answer(question, number, answers)
    text = decided_file(answers)
    request = _request(options, text)
    outcome = request.made()
    made = outcome.mechanism
    brief = outcome.brief or (printed(request.title), *request.accuracy_lines(made))
    lines = [*brief, privacy_line(made), f"Guarantee:   {stated_guarantee(made).relation}"]
    data = {"answers": answers, "toml": text, "guarantee": stated_guarantee(made).relation}
    if not options.output:
        return "\n".join([text, *(f"# {line}" for block in lines for line in block.split("\n"))]), data
    write_whole(options.output, text, replace=options.force)
    written = printed(options.output)
    told = [f"Written to {written}.", f"Next: dp-designer design {written} -o spec.json"]
    return "\n".join([*lines, *told]), data


def _request(options: argparse.Namespace, text: str) -> Any:
    """What the file asks for; the kinds of files bring the families along."""
    from designer.problem_file.kinds import KINDS

    data = tomllib.loads(text)
    return KINDS[data.get("kind", DEFAULT)].read(options.output or Path("problem.toml"), data)


def _answer(question: Question, number: int, answers: dict[str, str]) -> str:
    """What a line of standard input answers; a terminal is asked again after a line that answers nothing."""
    left = question.open_choices(answers)
    if len(left) == 1:
        told = f"\n{number} of {len(QUESTIONS)}. {question.words} Only this is left: {left[0].words}."
        print(told, file=sys.stderr, flush=True)
        return left[0].name
    choices = [f"  {place}  {choice.words}" for place, choice in enumerate(left, 1)]
    told = "\n".join([f"\n{number} of {len(QUESTIONS)}. {question.words}", *choices, f"[{question.typed or 1}] "])
    while True:
        print(told, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line:
            raise InvalidProblem(
                f"standard input: ended before question {number} of {len(QUESTIONS)}, {question.words!r}; give a line for each "
                "question, an empty one for its default, or answer in a terminal. Nothing was written."
            )
        try:
            return question.answer(line, answers)
        except InvalidProblem as refusal:
            if not sys.stdin.isatty():
                raise refusal.within(f"question {number} of {len(QUESTIONS)}: ") from None
            print(refusal, file=sys.stderr)
