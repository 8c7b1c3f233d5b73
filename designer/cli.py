"""The command line: design, compare, budget, release, sample, verify, report, show.

Exit codes: 0 done; 2 invalid input, or output that cannot be written; 3 no mechanism for this problem; 4 not private, or no
spec that proves its claims; 5 a failure that nobody foresaw; 130 interrupted.
A release prints noisy answers and the guarantee; true values are never printed, logged or written.
"""

from __future__ import annotations

import argparse
import glob
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from designer import progress
from designer.additive.interface import Mechanism
from designer.certified.specified import Released, Specified, save, to_spec
from designer.designing.best import design
from designer.designing.choosing import chosen_families
from designer.designing.comparison import compare
from designer.designing.least import STEP, least_budget
from designer.designing.relation_picture import save_relation_picture
from designer.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.files.data_files import read_histogram
from designer.files.problem_file import ProblemFile, read_problem
from designer.files.spec import load
from designer.pictures import check_picture
from designer.report import budget_summary, cautions, design_summary, page, summary
from designer.tables.csv_rows import Marks
from designer.tables.opening import open_table
from designer.values.checks import shown
from designer.values.json_text import plain
from designer.values.output import checked_target, write_whole
from designer.values.printing import one_line, printed
from designer.version import VERSION

EXIT_CODES = ((DesignFailed, 3), (NotPrivate, 4), (InvalidSpec, 4), (InvalidProblem, 2))
UNFORESEEN = 5
# An exception's own words, and even its kind, may tell of confidential data.
SILENT = "release: failed in a way that nobody foresaw, perhaps over a damaged file; nothing was released."
FLAGS = {"histogram": "histogram", "records": "table"}  # the option that gives what a mechanism takes
COUNTED = "counts of the universe elements"
TOML = "problem file (TOML)"
CLOSED = "standard output: is closed; open it, or send it to a file or to /dev/null."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names that the terminal's encoding lacks
    options = parser().parse_args(arguments)
    try:
        _run(options)
    except BrokenPipeError:  # the reader, such as `head`, had enough
        _drop_output()
    except (Exception, KeyboardInterrupt) as error:
        code, words = _failure(error, options)
        _say(words)
        return code
    return 0


def _run(options: argparse.Namespace) -> None:
    """Do what is asked and print it."""
    if sys.stdout is None:
        raise InvalidProblem(CLOSED)
    with progress.showing_progress(sys.stderr is not None and sys.stderr.isatty() and not options.json):
        text, data = options.run(options)
    try:
        print(json.dumps(plain(data), allow_nan=False) if options.json else _printable(text), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk
        _drop_output()
        raise InvalidProblem(f"standard output: {error.strerror}.") from None


def _failure(error: BaseException, options: argparse.Namespace) -> tuple[int, str]:
    """The exit code and the sentence for what stopped a command."""
    for kind, code in EXIT_CODES:
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted."
    if isinstance(error, MemoryError):
        return 2, "this needs more memory than there is; make the problem, or the number of draws, smaller."
    if isinstance(error, ImportError) and error.name:
        return 2, f"this needs {shown(error.name)}, which is not installed; install dp-designer[all]."
    if isinstance(error, OSError) and error.strerror:
        return 2, f"{shown(str(error.filename)) if error.filename else 'file'}: {error.strerror}"
    if options.run is _release:
        return UNFORESEEN, SILENT
    return UNFORESEEN, f"this was not foreseen, please report it: {type(error).__name__}: {shown(str(error))}"


def _say(words: str) -> None:
    """One sentence on standard error, where there is one."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(one_line(f"dp-designer: {words}"), file=sys.stderr, flush=True)


def _drop_output() -> None:
    """What is left in the buffer goes nowhere, instead of failing once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _printable(text: str) -> str:
    """Names come from files: control characters in them must not reach the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        prog="dp-designer", description="Designs the noise of privacy mechanisms for linear queries, and proves it."
    )
    top.add_argument("--version", action="version", version=f"dp-designer {VERSION}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], tuple[str, Any]], help_text: str, target: str
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help_text, description=help_text)
        made.add_argument("file", type=Path, help=target)
        made.add_argument("--json", action="store_true", help="print JSON for machines")
        made.set_defaults(run=run)
        if "spec" in target:
            made.add_argument("--allow-vacuous", action="store_true", help="accept a spec that hides nothing, and says so")
        return made

    made = command("design", _design, "design a mechanism for a problem file and save its spec", TOML)
    _add_output(made, "-o", "where to save the spec (JSON)")
    _add_choices(made)
    _add_seconds(made)
    made = command("compare", _compare, "design all families for a problem file and compare them", TOML)
    made.add_argument("--family", action="append", help="only this family; may be given several times")
    _add_seconds(made)
    _add_output(made, "--plot", "also draw the comparison to this picture (needs matplotlib)")
    _add_budget_options(command("budget", _budget, "find the least factor on all budgets that meets the [targets]", TOML))
    made = command("release", _release, "release noisy answers for confidential data; spends the budget once", "spec (JSON)")
    _add_data_options(made)
    _add_output(made, "-o", "also save the release (JSON)")
    made = command("sample", _sample, "draw noise for simulation; never a release", "spec (JSON)")
    made.add_argument("-n", "--size", type=int, default=1000, help="number of draws (default 1000)")
    made.add_argument("--seed", type=int, help="make the simulation repeatable")
    _add_output(made, "-o", "save the draws (NPY)")
    command("verify", _verify, "recompute the guarantee of a spec from its numbers", "spec (JSON)")
    made = command("report", _report, "write a spec as a page to read (Markdown)", "spec (JSON)")
    _add_output(made, "-o", "save the page instead of printing it")
    made = command("show", _show, "summarise a problem file or a spec", "problem file (TOML) or spec (JSON)")
    _add_output(made, "--plot", "also draw what a problem file protects from what to this picture (needs matplotlib)")
    return top


def _add_choices(made: argparse.ArgumentParser) -> None:
    """The family and the solver of a design, which override those of the problem file."""
    names = ", ".join(family.name for family in chosen_families())
    made.add_argument("--family", help=f"override the problem file: auto, {names}")
    made.add_argument("--solver", help="override the problem file: auto, or a solver of CVXPY such as CLARABEL, SCS, HIGHS")
    several = "of that solver; may be given several times"
    made.add_argument("--solver-option", action="append", type=_setting, metavar="NAME=VALUE", help=several)


def _add_seconds(made: argparse.ArgumentParser) -> None:
    """The time that all families have together."""
    made.add_argument("--seconds", type=float, help="for all families together; none is started that will not fit into it")


def _add_output(made: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    """Where a result is saved, and leave to replace what is there."""
    flags = ["-o", "--output"] if flag == "-o" else [flag]
    made.add_argument(*flags, dest="output", type=Path, help=help_text)
    made.add_argument("--force", action="store_true", help="replace a file of that name; inputs are never replaced")


def _add_budget_options(made: argparse.ArgumentParser) -> None:
    """For the least budget: which families, how near, and what to keep of the answer."""
    made.add_argument("--family", help="override the problem file, and try this family only, or auto for all")
    _add_seconds(made)
    made.add_argument("--step", type=float, default=STEP, help=f"relative width of the answer (default {STEP:g})")
    made.add_argument("--plot", type=Path, help="also draw error against budget to this picture (needs matplotlib)")
    _add_output(made, "-o", "save the spec of the design at the least factor (JSON)")


def _add_data_options(made: argparse.ArgumentParser) -> None:
    """Where confidential data come from: counts or records, and how their file is written."""
    made.add_argument(
        "--histogram", type=Path, help="counts with the columns that name their elements (CSV, Parquet), or in order (NPY)"
    )
    made.add_argument("--column", help="the column of the histogram file that holds the counts")
    made.add_argument("--table", type=Path, help="records instead of counts (CSV, Parquet; needs DuckDB)")
    made.add_argument("--entity", help="protect whole entities: the column of the records that tells whose they are")
    made.add_argument("--rows-per-entity", type=int, help="how many records of each entity count")
    made.add_argument("--delimiter", default=",", help="what separates the fields of a CSV file (default ,)")
    made.add_argument("--decimal", default=".", help="the decimal mark in the numbers of --table (default .)")
    made.add_argument("--thousands", default="", help="the mark between groups of three digits there (default none)")


def _check_output(options: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Refuse what cannot be written before anything is computed for it, or spent."""
    if options.output:
        checked_target(options.output, inputs=inputs, replace=options.force)


def _design(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_problem(options.file)
    _check_output(options, file.files)
    # Options in the file belong to the family in the file, and those of a solver to that solver.
    chosen = {} if options.family else dict(file.options)
    if options.solver is not None:
        chosen = {**chosen, "solver": options.solver, "solver_options": {}}
    if options.solver_option:
        chosen["solver_options"] = {**chosen.get("solver_options", {}), **dict(options.solver_option)}
    made = design(file.problem, options.family or file.family, targets=file.targets, **{**chosen, **_seconds(options)})
    saved = save(made.mechanism, options.output, replace=options.force) if options.output else None
    text = design_summary(file.title, made) + (
        f"\nSaved to {printed(saved)}." if saved else "\nNot saved: give -o SPEC.json to keep it."
    )
    return text, to_spec(made.mechanism)


def _seconds(options: argparse.Namespace) -> dict[str, float]:
    """The time for all families, where it is given."""
    return {} if options.seconds is None else {"seconds": options.seconds}


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
    file = read_problem(options.file)
    _check_output(options, file.files)
    if file.targets is None:
        raise InvalidProblem(f"{options.file}: section [targets] is missing; say there how accurate the answers must be.")
    if options.plot:
        checked_target(options.plot, inputs=file.files, replace=options.force)
        check_picture(options.plot)
    family, chosen = (options.family, {}) if options.family else (file.family, file.options)
    result = least_budget(file.problem, file.targets, family, step=options.step, **{**chosen, **_seconds(options)})
    saved = save(result.design.mechanism, options.output, replace=options.force) if options.output else None
    text = budget_summary(file.title, result)
    text += f"\nSaved to {printed(saved)}." if saved else "\nNot saved: give -o SPEC.json to keep the design at this factor."
    if options.plot:
        text += f"\nDrawn to {printed(result.plot(options.plot, replace=options.force))}."
    return text, {"title": file.title, **result.to_dict()}


def _compare(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_problem(options.file)
    _check_output(options, file.files)
    if options.output:
        check_picture(options.output)
    result = compare(file.problem, options.family, **_seconds(options))
    text = f"{printed(file.title)}\n\n{result.to_markdown()}"
    if options.output:
        text += f"\nDrawn to {printed(result.plot(options.output, replace=options.force))}.\n"
    return text.rstrip(), {"title": file.title, "rows": result.rows, "limit": result.limit and result.limit.to_dict()}


def _release(options: argparse.Namespace) -> tuple[str, Any]:
    tables = [Path(name) for name in glob.glob(str(options.table))] if options.table else []
    _check_output(options, [path for path in (options.file, options.histogram, options.table, *tables) if path])
    mechanism = _loaded(options)
    released = _released(mechanism, options)
    data = {**released.to_dict(), **_cautions(mechanism)}
    if options.output:
        text = json.dumps(plain(data), indent=1, ensure_ascii=False) + "\n"
        write_whole(options.output, text, replace=options.force)
    answers = mechanism.answer_lines(released)
    return "\n".join([*cautions(mechanism), *answers, "", released.guarantee.to_text()]), data


def _cautions(mechanism: Specified) -> dict[str, Any]:
    """What readers of JSON must not miss; nothing where every answer gets noise."""
    return {key: value for key in ("vacuous", "exact") if (value := getattr(mechanism, key))}


def _released(mechanism: Specified, options: argparse.Namespace) -> Released:
    """What the spec releases from the file that it needs: records or counts."""
    needed, from_counts, from_either = mechanism.takes[0], "histogram" in mechanism.takes, len(mechanism.takes) > 1
    if not any(getattr(options, FLAGS[kind]) for kind in mechanism.takes):
        words, other = (COUNTED, "table") if from_counts else ("records, one row each", "histogram")
        raise InvalidProblem(
            f"--{FLAGS[needed]}: is missing; this spec releases from "
            f"{words}{', or from records (--table)' if from_either else f', not from --{other}'}."
        )
    if options.table and options.histogram:
        raise InvalidProblem("--table, --histogram: both are given; a release is from records or from counts, not from both.")
    Marks(options.delimiter, options.decimal, options.thousands)
    if from_counts and (options.entity is not None or options.rows_per_entity is not None):
        raise InvalidProblem("--entity, --rows-per-entity: bound the records of an entity; this spec releases from counts.")
    if options.histogram:
        return mechanism.release_counts(read_histogram(options.histogram, options.column, options.delimiter))
    return _released_from_records(mechanism, options)


def _released_from_records(mechanism: Specified, options: argparse.Namespace) -> Released:
    marks = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands")}
    table = open_table(options.table, mechanism.numbers, whole=mechanism.counted_keys, **marks)
    return mechanism.release_records(table, entity=options.entity, rows_per_entity=options.rows_per_entity)


def _sample(options: argparse.Namespace) -> tuple[str, Any]:
    _check_output(options, [options.file])
    mechanism = _loaded(options)
    drawn = mechanism.simulated(options.size, options.seed)
    if options.output:
        content = io.BytesIO()
        np.save(content, drawn.draws)
        write_whole(options.output, content.getvalue(), replace=options.force)
    seen = drawn.draws.std(axis=0)
    lines = [
        f"{printed(name)}: standard deviation {e:.6g} expected, {s:.6g} in the draws"
        for name, e, s in zip(drawn.queries, drawn.expected, seen, strict=True)
    ]
    data = {"stamp": drawn.stamp, "expected": drawn.expected, "drawn": seen, "queries": list(drawn.queries)}
    return "\n".join([drawn.stamp, *lines]), data


def _loaded(options: argparse.Namespace) -> Specified:
    """The mechanism of the spec that a command is about."""
    return load(options.file, allow_vacuous=options.allow_vacuous)


def _verify(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = _loaded(options)
    data = {**asdict(mechanism.privacy), **_deltas(mechanism), "fingerprint": mechanism.fingerprint, **_cautions(mechanism)}
    verdict = "is what it says, which is nothing" if mechanism.vacuous else "holds"
    return "\n".join([*cautions(mechanism), f"{printed(options.file)}: {verdict}. {mechanism.certificate_words()}"]), data


def _deltas(mechanism: Specified) -> dict[str, float | None]:
    """The delta that is promised, and what the worst pair spends of it; nothing where there is none."""
    if not isinstance(mechanism, Mechanism) or mechanism.delta is None:
        return {}
    return {"delta": mechanism.delta, "spent_delta": mechanism.spent_delta()}


def _report(options: argparse.Namespace) -> tuple[str, Any]:
    _check_output(options, [options.file])
    text = page(_loaded(options))
    if options.output:
        write_whole(options.output, text, replace=options.force)
        return f"Written to {printed(options.output)}.", {"path": str(options.output)}
    return text, {"markdown": text}


def _show(options: argparse.Namespace) -> tuple[str, Any]:
    if options.file.suffix == ".toml":
        file = read_problem(options.file)
        queries, elements = file.problem.workload.shape
        drawn = _drawn(file, options)
        data = {
            "title": file.title,
            "queries": queries,
            "elements": elements,
            "relation": file.problem.relation.sentence(),
            "notion": file.problem.notion,
            **({} if file.problem.delta is None else {"delta": file.problem.delta}),
            "family": file.family,
            **({"drawn to": str(drawn)} if drawn else {}),
        }
        return "\n".join(f"{key:10}{printed(value)}" for key, value in data.items()), data
    if options.output:
        raise InvalidProblem("--plot: draws what a problem file protects; a spec is shown without a picture.")
    mechanism = _loaded(options)
    return summary(mechanism), to_spec(mechanism)


def _drawn(file: ProblemFile, options: argparse.Namespace) -> Path | None:
    """The picture of what a problem file protects, where one is asked for."""
    if not options.output:
        return None
    _check_output(options, file.files)
    names = file.problem.workload.elements
    return save_relation_picture(file.problem.relation, options.output, names, replace=options.force)


if __name__ == "__main__":
    sys.exit(main())
