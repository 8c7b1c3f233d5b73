"""A spec as a page to read: for the terminal and in Markdown, or whole in HTML, for a board that decides."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from designer.accounts.check import checked, require_recorded
from designer.accounts.ledger import Ledger
from designer.accounts.together.privacy_in_words import LABEL, privacy_words
from designer.audit.verdict import DeepVerdict
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate
from designer.base.output import write_whole
from designer.base.printing import printed
from designer.certified.frozen import Specified
from designer.cli.deep_verification import add_deep_options, deeply
from designer.cli.options import add_output, check_output, release_and_signer, spec_and_signer
from designer.designing.comparison import Comparison, compare
from designer.designing.printouts import page
from designer.files.releases import read_release, verify_release
from designer.files.signatures import trusted_keys
from designer.mechanisms.additive.interface import Mechanism
from designer.relations.problem import Problem
from designer.reports.evidence import Evidence, SeenLedger, SeenRelease
from designer.reports.html import html_of
from designer.reports.page import board_page

ENDINGS = (".html", ".md")


def add_report(made: argparse.ArgumentParser) -> None:
    """report."""
    made.set_defaults(run=_report)
    made.add_argument("release", type=Path, nargs="?", help="also a release (JSON) of it, which is verified")
    made.add_argument("--ledger", type=Path, help="also what this ledger says of the data set")
    made.add_argument("--dataset", help="the data set of the ledger")
    made.add_argument("--compare", action="store_true", help="also design every other family for the same questions")
    add_deep_options(made)
    add_output(made, "-o", "save the page: .html for the whole of it, .md for Markdown")


def _report(options: argparse.Namespace) -> tuple[str, Any]:
    ending = "" if options.output is None else options.output.suffix.lower()
    _require_possible(options, ending)
    check_output(options, [path for path in (options.file, options.release, options.ledger) if path])
    evidence = _evidence(options)
    text = html_of(board_page(evidence)) if ending == ".html" else _markdown(evidence)
    if options.output is not None:
        write_whole(options.output, text, replace=options.force)
    _require_held(options, evidence, text)
    if options.output is None:
        return text, {"markdown": text}
    return f"Written to {printed(options.output)}.", {"path": str(options.output)}


def _require_held(options: argparse.Namespace, evidence: Evidence, text: str) -> None:
    """`NotPrivate`, once the page is written or printed, where a deep verification fails."""
    if evidence.deep is None or evidence.deep.holds:
        return
    if options.output is None:
        print(text, flush=True)
    raise NotPrivate(f"{options.file}: fails its deep verification, as the page says; release nothing with it.")


def _require_possible(options: argparse.Namespace, ending: str) -> None:
    """Refuse what the page asked for cannot hold."""
    if options.output is not None and ending not in ENDINGS:
        raise InvalidProblem(
            f"-o: {printed(options.output)} ends in neither {' nor '.join(ENDINGS)}; a page is written as one of these. For "
            "PDF, open the HTML in a browser and print it."
        )
    if (options.ledger is None) != (options.dataset is None):
        raise InvalidProblem("--ledger, --dataset: one is given without the other; give both, or neither.")
    if options.seconds is not None and not options.deep:
        raise InvalidProblem("--seconds: is for the draws of --deep; give both, or neither.")
    extra = {"RELEASE": options.release, "--ledger": options.ledger, "--compare": options.compare}
    if ending != ".html" and (given := [name for name, value in extra.items() if value]):
        raise InvalidProblem(f"{', '.join(given)}: the page in Markdown has no place for that; give -o page.html.")


def _markdown(evidence: Evidence) -> str:
    found = evidence.deep
    text = page(evidence.made, f"{LABEL} {privacy_words(evidence.made)}.")
    return text if found is None else "\n".join([text, *found.page_lines(), ""])


def _evidence(options: argparse.Namespace) -> Evidence:
    made, signer = spec_and_signer(options)
    if options.release is not None and signer is not None:  # whose signature names its spec, which need not be signed
        signer = replace(signer, trusted=signer.key in trusted_keys(options.signer or ()))
    release = _release(options, made)
    return Evidence(
        made=made,
        spec=options.file,
        release=release,
        ledger=_ledger(options, made, release),
        deep=_deep(options, made),
        comparison=_comparison(made) if options.compare else None,
        signer=signer,
    )


def _deep(options: argparse.Namespace, made: Specified) -> DeepVerdict | None:
    return deeply(made, options) if options.deep else None


def _release(options: argparse.Namespace, made: Specified) -> SeenRelease | None:
    """The release, verified; the signature that is asked for is its own, which names its spec."""
    if options.release is None:
        return None
    document, signer = release_and_signer(options)
    verdict = verify_release(made, document, allow_vacuous=options.allow_vacuous)
    released = read_release(made, document, allow_vacuous=options.allow_vacuous)
    return SeenRelease(options.release.name, released, document, verdict, signer)


def _ledger(options: argparse.Namespace, made: Specified, release: SeenRelease | None) -> SeenLedger | None:
    """The ledger, followed to its end; a release that names an entry must be there, without one the next is forecast."""
    if options.ledger is None:
        return None
    ledger = Ledger(options.ledger)
    found, dataset = checked(ledger), ledger.dataset(options.dataset)
    if release is not None:
        require_recorded(found.entries, release.document)
        _require_of(options, release.document["ledger"]["dataset"])
        return SeenLedger(options.ledger.name, found, dataset.balance())
    balance = dataset.balance()
    return SeenLedger(options.ledger.name, found, balance, dataset.forecast(made, balance.standing.row))


def _require_of(options: argparse.Namespace, name: str) -> None:
    if name != options.dataset:
        raise InvalidProblem(f"--dataset: the release is of {shown(name)}, not of {shown(options.dataset)}; give its own.")


def _comparison(made: Specified) -> Comparison | str:
    """Other families for the same queries, relation and notion; the reason where there are none."""
    if not isinstance(made, Mechanism):
        return f"Other families were asked for, but only noise for listed queries has any; this is {made.format}."
    noise: Literal["pure", "zcdp"] = "pure" if made.falloff == "exponential" else "zcdp"
    try:
        return compare(Problem(made.workload, made.relation, "approximate" if made.delta else noise, delta=made.delta))
    except (DesignFailed, InvalidProblem) as refusal:
        return f"Other families were asked for, but cannot be compared: {refusal}"
