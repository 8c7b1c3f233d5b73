"""A starting problem file: from the names of the columns of a file of records, or from answers to seven questions: init."""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any

from designer.accounts.together.privacy_in_words import privacy_line
from designer.base import progress
from designer.base.errors import InvalidProblem
from designer.base.output import write_whole
from designer.base.printing import printed
from designer.cli.check_command import add_delimiter
from designer.cli.options import add_output, check_output
from designer.files.headers import columns_of_file
from designer.files.problem.deciding import QUESTIONS, Question, decided_file
from designer.files.problem.kind import DEFAULT
from designer.files.problem.starting import STARTS, starting_file


def add_init(made: argparse.ArgumentParser) -> None:
    """init."""
    made.set_defaults(run=_init)
    made.add_argument(
        "file", type=Path, nargs="?", help="records (CSV, Parquet), of which the names of the columns are read and no row"
    )
    made.add_argument("--ask", action="store_true", help="ask seven questions in the place of a file of records, and design")
    made.add_argument("--kind", default=DEFAULT, help=f"of problem file: {', '.join(STARTS)}")
    made.add_argument("--column", action="append", default=[], help="ask about this column; may be given several times")
    made.add_argument("--number", action="append", default=[], help="this column holds numbers; may be given several times")
    add_delimiter(made)
    add_output(made, "-o", "where to save the problem file (TOML); without it, it is printed")


def _init(options: argparse.Namespace) -> tuple[str, Any]:
    if options.ask:
        return _asked(options)
    if options.file is None:
        raise InvalidProblem("file: missing; give the records whose columns are asked about, or --ask to answer questions.")
    check_output(options, [options.file])
    columns = columns_of_file(options.file, options.delimiter)
    text = starting_file(columns, options.file.stem, options.kind, options.number, options.column)
    data = {"kind": options.kind, "columns": [column.name for column in columns], "toml": text}
    if not options.output:
        return text.rstrip("\n"), data
    write_whole(options.output, text, replace=options.force)
    taken = ", ".join(printed(name) for name in dict.fromkeys(options.column or [column.name for column in columns]))
    told = f"Written to {printed(options.output)}, from the names of the columns: {taken}."
    return f"{told}\nFill in what is marked; dp-designer design {printed(options.output)} names what is left.", data


def _asked(options: argparse.Namespace) -> tuple[str, Any]:
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
    lines = [*brief, privacy_line(made), f"Guarantee:   {made.guarantee.relation}"]
    data = {"answers": answers, "toml": text, "guarantee": made.guarantee.relation}
    if not options.output:
        return "\n".join([text, *(f"# {line}" for block in lines for line in block.split("\n"))]), data
    write_whole(options.output, text, replace=options.force)
    written = printed(options.output)
    told = [f"Written to {written}.", f"Next: dp-designer design {written} -o spec.json"]
    return "\n".join([*lines, *told]), data


def _request(options: argparse.Namespace, text: str) -> Any:
    """What the file asks for; the kinds of files bring the families along."""
    from designer.files.problem.kinds import KINDS

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
