"""What is said of a spec, or of a problem file: verify, show."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from designer.accounts.store import is_ledger
from designer.accounts.together.privacy_in_words import asked_words, cost_words, privacy_line
from designer.base.errors import InvalidProblem
from designer.base.printing import printed
from designer.certified.frozen import to_spec
from designer.cli.deep_verification import add_deep_options, deep_lines, refuse_deep
from designer.cli.independent import add_independent, independently
from designer.cli.options import (
    add_output,
    caution_data,
    check_output,
    loaded,
    refuse_signer,
    release_and_signer,
    spec_and_signer,
)
from designer.cli.recording import add_check_options
from designer.designing.caution_lines import cautions
from designer.files.releases import verify_release
from designer.files.signatures import SignedBy

if TYPE_CHECKING:
    from designer.files.problem.request import Request


def add_verify(made: argparse.ArgumentParser) -> None:
    """verify."""
    made.set_defaults(run=_verify)
    made.add_argument("release", type=Path, nargs="?", help="a release (JSON), to be checked against the spec, or the ledger")
    add_check_options(made)
    add_deep_options(made)
    add_independent(made)


def add_show(made: argparse.ArgumentParser) -> None:
    """show."""
    made.set_defaults(run=_show)
    add_output(made, "--plot", "also draw what a problem file protects from what to this picture (needs matplotlib)")


def _verify(options: argparse.Namespace) -> tuple[str, Any]:
    if is_ledger(options.file) or options.release is not None:
        refuse_deep(options)
    if is_ledger(options.file):
        from designer.cli.ledger_commands import check_ledger

        text, data = check_ledger(options, [] if options.release is None else [options.release])
        by_words, by_data = independently(options, None)
        return f"{text}\n{by_words}", {**data, **by_data}
    if options.release is not None:
        return _verify_release(options)
    mechanism, signer = spec_and_signer(options)
    data = {
        **asdict(mechanism.privacy),
        **mechanism.spent_deltas(),
        "fingerprint": mechanism.fingerprint,
        **caution_data(mechanism),
    }
    verdict = "is what it says, which is nothing" if mechanism.vacuous else "holds"
    holds = f"{printed(options.file)}: {verdict}. {mechanism.certificate_words()}"
    by_words, by_data = independently(options, mechanism.fingerprint)
    lines = [*cautions(mechanism), holds, privacy_line(mechanism), by_words]
    deep_text, deep_data = deep_lines(mechanism, options)
    return "\n".join([*lines, *_signer_line(signer)]) + deep_text, {**data, **by_data, **_signer_data(signer), **deep_data}


def _verify_release(options: argparse.Namespace) -> tuple[str, Any]:
    """A release against its spec: the signature that is asked for is that of the release, which names its spec."""
    mechanism, (release, signer) = loaded(options), release_and_signer(options)
    verdict = verify_release(mechanism, release, allow_vacuous=options.allow_vacuous)
    lines = [*cautions(mechanism), f"{printed(options.release)}: is a release that the spec may have made.", verdict.to_text()]
    lines.append(privacy_line(mechanism, rows_per_entity=(release.get("rows") or {}).get("rows_per_entity")))
    by_words, by_data = independently(options, mechanism.fingerprint)
    data = {**verdict.to_dict(), **caution_data(mechanism), **by_data, **_signer_data(signer)}
    return "\n".join([*lines, by_words, *_signer_line(signer)]), data


def _signer_line(signer: SignedBy | None) -> list[str]:
    return [] if signer is None else [signer.sentence()]


def _signer_data(signer: SignedBy | None) -> dict[str, Any]:
    return {} if signer is None else {"signer": signer.to_dict()}


def _show(options: argparse.Namespace) -> tuple[str, Any]:
    from designer.files.problem.kinds import read_request

    if options.file.suffix == ".toml":
        refuse_signer(options)
        file = read_request(options.file)
        drawn = _drawn(file, options)
        data = {"title": file.title, **file.description(), **_asked(file), **({"drawn to": str(drawn)} if drawn else {})}
        width = max(map(len, data)) + 2
        return "\n".join(f"{key:{width}}{printed(value)}" for key, value in data.items()), data
    if options.output:
        raise InvalidProblem("--plot: draws what a problem file protects; a spec is shown without a picture.")
    from designer.designing.printouts import summary

    mechanism = loaded(options)
    return f"{summary(mechanism)}\n{privacy_line(mechanism)}", to_spec(mechanism)


def _asked(file: Request) -> dict[str, str]:
    """Epsilon and delta of what a problem file asks for, where that is known before the design."""
    from designer.files.problem.linear_request import ProblemFile
    from designer.files.problem.marginals import MarginalsRequest
    from designer.files.problem.odds_ratio import OddsRatioFile
    from designer.files.problem.selection import SelectionFile
    from designer.files.problem.synthetic import SyntheticFile
    from designer.promises.costs import cost_of_tradeoff

    if isinstance(file, OddsRatioFile):
        return {"privacy": cost_words(cost_of_tradeoff(file.promise))}
    if isinstance(file, MarginalsRequest):
        return {"privacy": asked_words(file.protection, file.notion)}
    if isinstance(file, SelectionFile):
        return {"privacy": asked_words(file.relation, "pure")}
    if isinstance(file, (ProblemFile, SyntheticFile)):
        return {"privacy": asked_words(file.problem.relation, file.problem.notion, file.problem.delta)}
    return {"privacy": "dp-designer design states epsilon and delta of what it makes"}


def _drawn(file: Request, options: argparse.Namespace) -> Path | None:
    """The picture of what a problem file protects, where one is asked for."""
    from designer.files.problem.linear_request import ProblemFile
    from designer.reports.pictures.of_designs import save_relation_picture

    if not options.output:
        return None
    if not isinstance(file, ProblemFile):
        raise file.without("--plot", "pictures are drawn of what linear queries protect")
    check_output(options, file.files)
    problem = file.matrix_problem
    return save_relation_picture(problem.relation, options.output, problem.workload.elements, replace=options.force)
