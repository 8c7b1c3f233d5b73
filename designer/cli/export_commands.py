"""What other tools take of a spec: export --as opendp, noise, registry, portable, vectors, javascript, c."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args

from designer.accounts.ledger import Ledger
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.json_text import readable_text
from designer.base.labels import as_csv
from designer.base.output import write_whole
from designer.certificate.frozen import FrozenMechanism
from designer.cli.options import add_output, check_output, loaded, release_and_signer
from designer.files.releases import verify_release
from designer.files.schema import release_file_schema, signature_schema, spec_schema
from designer.problem_file.schema import problem_schema

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
