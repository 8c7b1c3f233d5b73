"""What other tools take of a spec: export --as opendp, noise, registry, portable, vectors, javascript, c."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from designer.accounts.check import checked, require_recorded
from designer.accounts.composition.privacy_in_words import LABEL, privacy_words
from designer.accounts.ledger import Ledger
from designer.base.checks import shown
from designer.base.display import printed
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate
from designer.base.json_text import readable_text
from designer.base.labels import as_csv
from designer.base.output import write_whole
from designer.certificate.frozen import FrozenMechanism
from designer.cli.options import add_output, check_output, loaded, release_and_signer, spec_and_signer
from designer.cli.spec_commands import add_deep_options, deeply
from designer.designing.comparison import Comparison, compare
from designer.designing.printouts import page
from designer.files.releases import read_release, verify_release
from designer.files.schema import release_file_schema, signature_schema, spec_schema
from designer.files.signatures import trusted_keys
from designer.mechanism.interface import Mechanism
from designer.problem_file.schema import problem_schema
from designer.publish.content import Evidence, SeenLedger, SeenRelease
from designer.publish.page import board_page, html_of
from designer.relations.problem import Problem
from designer.relations.records.row_unit import row_as_stated

if TYPE_CHECKING:
    from designer.audit.verdict import DeepVerdict

Exported = tuple[str, Any]  # the text of the file, and the data for `--json`


class Export(NamedTuple):
    """A kind of export: what writes it, what the help says of it, and the options that only it takes."""

    write: Callable[[FrozenMechanism, argparse.Namespace], Exported]
    what: str
    own_options: tuple[str, ...] = ()


def add_export(made: argparse.ArgumentParser) -> None:
    """export."""
    from designer.exchange.spending import Distance

    made.set_defaults(run=_export)
    made.add_argument("--as", dest="kind", required=True, choices=list(EXPORTS), help=_what_each_is())
    add_output(made, "-o", "save it instead of printing it")
    made.add_argument("--release", type=Path, help="registry: the release (JSON) that is published")
    made.add_argument("--ledger", type=Path, help="registry: the ledger that records the releases")
    made.add_argument("--dataset", help="registry: the data set in it")
    made.add_argument("--distance", choices=get_args(Distance), help="opendp: what d_in measures (default: records)")
    made.add_argument("--seed", type=int, help="vectors: of the known bytes (default: 1)")


def _export(options: argparse.Namespace) -> Exported:
    _require_own_options(options)
    inputs = [path for path in (options.file, options.release, options.ledger) if path is not None]
    check_output(options, inputs)
    text, data = EXPORTS[options.kind].write(loaded(options), options)
    if options.output:
        write_whole(options.output, text, replace=options.force)
        told = f"Written to {printed(options.output)}."
        return "\n".join([told, *_unknown_lines(data)]), {"path": str(options.output)}
    return text.removesuffix("\n"), data


def _require_own_options(options: argparse.Namespace) -> None:
    """Refuse what the kind does not ask for, rather than leaving it out unsaid."""
    for kind, known in EXPORTS.items():
        given = [name for name in known.own_options if getattr(options, name) is not None]
        if given and kind != options.kind:
            raise InvalidProblem(f"--{given[0]}: goes with --as {kind}, not with --as {options.kind}; leave it out.")
    if (options.ledger is None) != (options.dataset is None):
        raise InvalidProblem("--ledger, --dataset: go together; give both, or none.")


def _opendp(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.opendp import measurement_module

    folder = options.output.parent if options.output else Path()
    spec = Path(os.path.relpath(options.file, folder)).as_posix()
    text = measurement_module(mechanism, spec, distance=options.distance or "records")
    return text, {"module": text}


def _noise(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.opendp import noise_document, noise_rows

    if options.output and options.output.suffix == ".csv":
        rows = noise_rows(mechanism)
        header, *answers = rows
        return as_csv(dict(zip(header, zip(*answers, strict=True), strict=True))), {"rows": rows}
    document = noise_document(mechanism)
    return readable_text(document), document


def _registry(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.registry import registry_entry

    release = None
    if options.release is not None:
        release = release_and_signer(options)[0]
        verify_release(mechanism, release, allow_vacuous=options.allow_vacuous)
    balance = None if options.ledger is None else Ledger(options.ledger).dataset(options.dataset).balance()
    entry = registry_entry(mechanism, release=release, balance=balance)
    return entry.to_yaml(), {"entry": entry.to_dict(), "unknown": dict(entry.unknown)}


def _portable(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.device import portable_text

    text = portable_text(mechanism)
    return text, {"portable": text}


def _vectors(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.device import release_vectors

    vectors = release_vectors(mechanism, seed=1 if options.seed is None else options.seed)
    return readable_text(vectors), vectors


def _javascript(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.device import device_text

    text = device_text(mechanism, "javascript")
    return text, {"javascript": text}


def _c(mechanism: FrozenMechanism, options: argparse.Namespace) -> Exported:
    from designer.exchange.device import device_text

    text = device_text(mechanism, "c")
    return text, {"c": text}


def _unknown_lines(data: Any) -> list[str]:
    """What is left to people, of an entry of the registry."""
    unknown = data.get("unknown") if isinstance(data, dict) else None
    return [f"Nobody told {len(unknown)} fields, marked UNKNOWN: {', '.join(unknown)}."] if unknown else []


EXPORTS = {
    "opendp": Export(_opendp, "a Python module that makes the measurement", ("distance",)),
    "noise": Export(_noise, "the law of the noise (JSON, or CSV by the name of the file)"),
    "registry": Export(_registry, "an entry of the deployments registry (YAML)", ("release", "ledger", "dataset")),
    "portable": Export(_portable, "lines that R and other languages release from"),
    "vectors": Export(_vectors, "what they have to come to, for known bytes (JSON)", ("seed",)),
    "javascript": Export(_javascript, "a person's own report in a page, of a channel"),
    "c": Export(_c, "the same on a device"),
}


def _what_each_is() -> str:
    return "; ".join(f"{name}: {known.what}" for name, known in EXPORTS.items())


# A spec as a page to read: for the terminal and in Markdown, or whole in HTML, for a board that decides.


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


def _deep(options: argparse.Namespace, made: FrozenMechanism) -> DeepVerdict | None:
    return deeply(made, options) if options.deep else None


def _release(options: argparse.Namespace, made: FrozenMechanism) -> SeenRelease | None:
    """The release, verified; the signature that is asked for is its own, which names its spec."""
    if options.release is None:
        return None
    document, signer = release_and_signer(options)
    verdict = verify_release(made, document, allow_vacuous=options.allow_vacuous)
    released = read_release(made, document, allow_vacuous=options.allow_vacuous)
    return SeenRelease(options.release.name, released, document, verdict, signer)


def _ledger(options: argparse.Namespace, made: FrozenMechanism, release: SeenRelease | None) -> SeenLedger | None:
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
    row = balance.standing.row or row_as_stated(made.about.records)
    return SeenLedger(options.ledger.name, found, balance, dataset.forecast(made, row))


def _require_of(options: argparse.Namespace, name: str) -> None:
    if name != options.dataset:
        raise InvalidProblem(f"--dataset: the release is of {shown(name)}, not of {shown(options.dataset)}; give its own.")


def _comparison(made: FrozenMechanism) -> Comparison | str:
    """Other families for the same queries, relation and notion; the reason where there are none."""
    if not isinstance(made, Mechanism):
        return f"Other families were asked for, but only noise for listed queries has any; this is {made.format}."
    noise: Literal["pure", "zcdp"] = "pure" if made.falloff == "exponential" else "zcdp"
    try:
        return compare(Problem(made.workload, made.relation, "approximate" if made.delta else noise, delta=made.delta))
    except (DesignFailed, InvalidProblem) as refusal:
        return f"Other families were asked for, but cannot be compared: {refusal}"


# The JSON Schemas of all files, for editors and for programs in other languages: schema.


def _noise_schema() -> dict[str, Any]:
    from designer.exchange.opendp import noise_schema

    return noise_schema()


SCHEMAS = {
    "problem": problem_schema,
    "spec": spec_schema,
    "release": release_file_schema,
    "signature": signature_schema,
    "noise": _noise_schema,
}


def add_schema(made: argparse.ArgumentParser) -> None:
    """schema."""
    made.set_defaults(run=_schema)
    made.add_argument("name", choices=list(SCHEMAS), help=f"of which files: {', '.join(SCHEMAS)}")
    add_output(made, "-o", "where to save it (JSON); without it, it is printed")


def schema_text(name: str) -> str:
    """A schema as a file holds it."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


def _schema(options: argparse.Namespace) -> tuple[str, Any]:
    check_output(options, [])
    text = schema_text(options.name)
    if not options.output:
        return text.rstrip("\n"), json.loads(text)
    write_whole(options.output, text, replace=options.force)
    return f"Written to {printed(options.output)}.", json.loads(text)
