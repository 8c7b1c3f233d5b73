"""What is said of a spec, or of a problem file: verify, report, show."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from designer.additive.interface import Mechanism
from designer.certified.specified import Specified, to_spec
from designer.cli.deep_verification import add_deep_options, deep_lines
from designer.cli.options import SPEC, Commands, add_output, caution_data, check_output, loaded
from designer.designing.relation_picture import save_relation_picture
from designer.errors import InvalidProblem
from designer.files.problem_file import ProblemFile, read_problem
from designer.report import cautions, page, summary
from designer.values.output import write_whole
from designer.values.printing import printed


def add_spec_commands(commands: Commands) -> None:
    """verify, report, show."""
    add_deep_options(commands.add("verify", _verify, "recompute the guarantee of a spec from its numbers", SPEC))
    made = commands.add("report", _report, "write a spec as a page to read (Markdown)", SPEC)
    add_output(made, "-o", "save the page instead of printing it")
    made = commands.add("show", _show, "summarise a problem file or a spec", "problem file (TOML) or spec (JSON)")
    add_output(made, "--plot", "also draw what a problem file protects from what to this picture (needs matplotlib)")


def _verify(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = loaded(options)
    data = {**asdict(mechanism.privacy), **_deltas(mechanism), "fingerprint": mechanism.fingerprint, **caution_data(mechanism)}
    verdict = "is what it says, which is nothing" if mechanism.vacuous else "holds"
    text = "\n".join([*cautions(mechanism), f"{printed(options.file)}: {verdict}. {mechanism.certificate_words()}"])
    deep_text, deep_data = deep_lines(mechanism, options)
    return text + deep_text, {**data, **deep_data}


def _deltas(mechanism: Specified) -> dict[str, float | None]:
    """The delta that is promised, and what the worst pair spends of it; nothing where there is none."""
    if not isinstance(mechanism, Mechanism) or mechanism.delta is None:
        return {}
    return {"delta": mechanism.delta, "spent_delta": mechanism.spent_delta()}


def _report(options: argparse.Namespace) -> tuple[str, Any]:
    check_output(options, [options.file])
    text = page(loaded(options))
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
    mechanism = loaded(options)
    return summary(mechanism), to_spec(mechanism)


def _drawn(file: ProblemFile, options: argparse.Namespace) -> Path | None:
    """The picture of what a problem file protects, where one is asked for."""
    if not options.output:
        return None
    check_output(options, file.files)
    names = file.problem.workload.elements
    return save_relation_picture(file.problem.relation, options.output, names, replace=options.force)
