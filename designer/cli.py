"""The command line: design, compare, release, sample, verify, report, show.

Exit codes: 0 done; 2 invalid input; 3 no mechanism for this problem; 4 not private, or no spec that proves its claims.
A release prints noisy answers and the guarantee; true values are never printed, logged or written.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from designer import progress
from designer.compare import compare
from designer.design import FAMILIES, design
from designer.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.files.data_files import read_histogram
from designer.files.json_text import plain, write_whole
from designer.files.problem_file import read_problem
from designer.files.spec import load, to_spec
from designer.histogram import Labelled, carries_names
from designer.lattice.mechanism import LatticeMechanism
from designer.mechanism import Mechanism
from designer.release import Release
from designer.report import certificate_words, design_summary, page, summary
from designer.specified import Specified
from designer.tabulation import TakesCounts
from designer.version import VERSION

EXIT_CODES = ((DesignFailed, 3), (NotPrivate, 4), (InvalidSpec, 4), (InvalidProblem, 2))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names that the terminal's encoding lacks
    options = parser().parse_args(arguments)
    try:
        with progress.shown(sys.stderr.isatty() and not options.json):
            text, data = options.run(options)
        print(json.dumps(plain(data), allow_nan=False) if options.json else _printable(text), flush=True)
    except (DesignFailed, NotPrivate, InvalidSpec, InvalidProblem) as error:
        print(_printable(f"dp-designer: {error}"), file=sys.stderr)
        return next(code for kind, code in EXIT_CODES if isinstance(error, kind))
    except BrokenPipeError:  # the reader, such as `head`, had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"dp-designer: {error.filename or 'file'}: {error.strerror}", file=sys.stderr)
        return 2
    except MemoryError:
        print(
            "dp-designer: this needs more memory than there is; make the problem, or the number of draws, smaller.",
            file=sys.stderr,
        )
        return 2
    return 0


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
        return made

    names = ", ".join(family.name for family in FAMILIES)
    made = command("design", _design, "design a mechanism for a problem file and save its spec", "problem file (TOML)")
    made.add_argument("-o", "--output", type=Path, help="where to save the spec (JSON)")
    made.add_argument("--family", help=f"override the problem file: auto, {names}")
    made = command("compare", _compare, "design all families for a problem file and compare them", "problem file (TOML)")
    made.add_argument("--family", action="append", help="only this family; may be given several times")
    made.add_argument("--plot", type=Path, help="also draw the comparison to this picture (needs matplotlib)")
    made = command("release", _release, "release noisy answers for confidential data; spends the budget once", "spec (JSON)")
    made.add_argument(
        "--histogram", type=Path, help="counts with the columns that name their elements (CSV, Parquet), or in order (NPY)"
    )
    made.add_argument("--column", help="the column of the histogram file that holds the counts")
    made.add_argument("--table", type=Path, help="records instead of counts (CSV, Parquet; needs DuckDB)")
    made.add_argument("--delimiter", default=",", help="what separates the fields of a CSV file (default ,)")
    made.add_argument("--decimal", default=".", help="the decimal mark in the numbers of --table (default .)")
    made.add_argument("--thousands", default="", help="the mark between groups of three digits there (default none)")
    made.add_argument("-o", "--output", type=Path, help="also save the release (JSON)")
    made = command("sample", _sample, "draw noise for simulation; never a release", "spec (JSON)")
    made.add_argument("-n", "--size", type=int, default=1000, help="number of draws (default 1000)")
    made.add_argument("--seed", type=int, help="make the simulation repeatable")
    made.add_argument("-o", "--output", type=Path, help="save the draws (NPY)")
    command("verify", _verify, "recompute the guarantee of a spec from its numbers", "spec (JSON)")
    made = command("report", _report, "write a spec as a page to read (Markdown)", "spec (JSON)")
    made.add_argument("-o", "--output", type=Path, help="save the page instead of printing it")
    command("show", _show, "summarise a problem file or a spec", "problem file (TOML) or spec (JSON)")
    return top


def _design(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_problem(options.file)
    # Options in the file belong to the family in the file.
    made = design(file.problem, options.family) if options.family else design(file.problem, file.family, **file.options)
    saved = made.mechanism.save(options.output) if options.output else None
    text = design_summary(file.title, made) + (
        f"\nSaved to {saved}." if saved else "\nNot saved: give -o SPEC.json to keep it."
    )
    return text, to_spec(made.mechanism)


def _compare(options: argparse.Namespace) -> tuple[str, Any]:
    file = read_problem(options.file)
    result = compare(file.problem, options.family)
    text = f"{file.title}\n\n{result.to_markdown()}"
    if options.plot:
        text += f"\nDrawn to {result.plot(options.plot)}.\n"
    return text.rstrip(), {"title": file.title, "rows": result.rows}


def _release(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = load(options.file)
    released = _released(mechanism, options)
    data = released.to_dict()
    if options.output:
        write_whole(options.output, json.dumps(plain(data), indent=1, ensure_ascii=False) + "\n")
    if isinstance(mechanism, Mechanism):
        answers = _answer_lines(mechanism, released)
    elif hasattr(released, "to_text"):
        answers = [released.to_text()]
    else:
        answers = [json.dumps(plain({key: data[key] for key in data if key != "guarantee"}), indent=1, ensure_ascii=False)]
    return "\n".join([*answers, "", released.guarantee.to_text()]), data


def _released(mechanism: Specified, options: argparse.Namespace) -> Any:
    """What the spec releases from the file that it needs: records or counts."""
    from_counts = mechanism.format not in ("dp-designer/table-plan", "dp-designer/marginals")
    given, needed = ("table", "histogram") if from_counts else ("histogram", "table")
    from_either = isinstance(mechanism, TakesCounts)
    if getattr(options, needed) is None and not (from_either and options.table):
        words = "counts of the universe elements" if from_counts else "records, one row each"
        raise InvalidProblem(
            f"--{needed}: is missing; this spec releases from {words}{', or from records (--table)' if from_either else f', not from --{given}'}."
        )
    if options.table and options.histogram:
        raise InvalidProblem("--table, --histogram: both are given; a release is from records or from counts, not from both.")
    from designer.tables.csv_rows import Marks

    Marks(options.delimiter, options.decimal, options.thousands)
    if options.histogram:
        return _released_from_counts(mechanism, read_histogram(options.histogram, options.column, options.delimiter))
    return _released_from_records(mechanism, options)


def _released_from_counts(mechanism: Specified, counts: Any) -> Any:
    if mechanism.format == "dp-designer/odds-ratio-test":
        plain: Any = counts.counts if isinstance(counts, Labelled) and not counts.columns else counts
        counts = np.reshape(plain, (2, 2)) if not carries_names(plain) and np.size(plain) == 4 else plain
    return mechanism.release(counts)  # type: ignore[attr-defined]


def _released_from_records(mechanism: Specified, options: argparse.Namespace) -> Any:
    from designer.tables.open_table import open_table

    marks = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands")}
    if mechanism.format == "dp-designer/table-plan":
        return mechanism.release(open_table(options.table, mechanism.numbers, whole=mechanism.counted_keys, **marks))  # type: ignore[attr-defined]
    table = open_table(options.table, **marks)
    if mechanism.format == "dp-designer/marginals":
        return mechanism.release_database(table)  # type: ignore[attr-defined]
    return mechanism.release_records(table)  # type: ignore[attr-defined]


def _answer_lines(mechanism: Mechanism, released: Release) -> list[str]:
    width = max(len(name) for name in released.queries)
    deviations = np.sqrt(mechanism.query_variances())
    lines = [
        f"{name:{width}}  {_rounded(a, s):>24}  +- {s:,.4g}"
        for name, a, s in zip(released.queries, released.answers, deviations, strict=True)
    ]
    return ["Noisy answers, with the standard deviation of their noise", *lines]


def _rounded(answer: float, deviation: float) -> str:
    """An answer with two digits beyond the size of its noise."""
    if not np.isfinite(answer) or deviation <= 0:
        return f"{answer:,.15g}"
    return f"{answer:,.{min(12, max(0, 1 - int(np.floor(np.log10(deviation)))))}f}"


def _sample(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = load(options.file)
    if not isinstance(mechanism, (Mechanism, LatticeMechanism)):
        raise InvalidProblem(f"{options.file}: holds no additive mechanism, so there is no noise to draw; use release.")
    noise = mechanism.sample_noise(options.size, options.seed)
    if options.output:
        np.save(options.output, np.asarray(noise))
    expected, seen = np.sqrt(mechanism.query_variances()), np.asarray(noise).std(axis=0)
    lines = [
        f"{name}: standard deviation {e:.6g} expected, {s:.6g} in the draws"
        for name, e, s in zip(mechanism.workload.queries, expected, seen, strict=True)
    ]
    data = {"stamp": noise.stamp, "expected": expected, "drawn": seen, "queries": list(mechanism.workload.queries)}
    return "\n".join([noise.stamp, *lines]), data


def _verify(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = load(options.file)
    data = {**asdict(mechanism.privacy), "fingerprint": mechanism.fingerprint}
    return f"{options.file}: holds. {certificate_words(mechanism)}", data


def _report(options: argparse.Namespace) -> tuple[str, Any]:
    text = page(load(options.file))
    if options.output:
        write_whole(options.output, text)
        return f"Written to {options.output}.", {"path": str(options.output)}
    return text, {"markdown": text}


def _show(options: argparse.Namespace) -> tuple[str, Any]:
    if options.file.suffix == ".toml":
        file = read_problem(options.file)
        queries, elements = file.problem.workload.shape
        data = {
            "title": file.title,
            "queries": queries,
            "elements": elements,
            "relation": file.problem.relation.words(),
            "family": file.family,
        }
        return "\n".join(f"{key:10}{value}" for key, value in data.items()), data
    mechanism = load(options.file)
    return summary(mechanism), to_spec(mechanism)


if __name__ == "__main__":
    sys.exit(main())
