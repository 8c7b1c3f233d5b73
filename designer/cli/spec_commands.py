"""What is said of a spec, or of a problem file: verify, show."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from designer.accounts.composition.privacy_in_words import asked_words, cost_words, privacy_line
from designer.accounts.store import is_ledger
from designer.base.display import counted, printed
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.base.json_text import plain
from designer.certificate.frozen import FrozenMechanism, certificate_words, to_spec
from designer.certificate.guarantee import Guarantee
from designer.cli.ledger_options import add_check_options
from designer.cli.options import (
    add_output,
    caution_data,
    check_output,
    loaded,
    refuse_signer,
    release_and_signer,
    spec_and_signer,
)
from designer.files.releases import verify_release
from designer.files.signatures import SignedBy
from designer.mechanism.caution_lines import cautions
from designer.mechanism.interface import spent_deltas
from designer.problem.reading import Reading

if TYPE_CHECKING:
    from designer.audit.verdict import DeepVerdict
    from designer.problem_file.forms import ProblemFile


# `verify --deep`: beside the certificate, laws written out and the sampler's own draws.


def add_deep_options(made: argparse.ArgumentParser) -> None:
    """The options of `verify` that are about it."""
    made.add_argument("--deep", action="store_true", help="also enumerate laws and test the sampler that was built")
    made.add_argument("--seconds", type=float, help="for the draws of --deep (default 60); more see smaller errors")


def refuse_deep(options: argparse.Namespace) -> None:
    """What has no sampler is not verified deeply."""
    if options.deep or options.seconds is not None:
        raise InvalidProblem("--deep, --seconds: test the sampler of a spec; leave them out for releases and ledgers.")


def deep_lines(mechanism: FrozenMechanism, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The verdict in words and as data; nothing where it was not asked for. `NotPrivate`, once printed, where it fails."""
    if not options.deep:
        if options.seconds is not None:
            raise InvalidProblem("--seconds: is for the draws of --deep; give both, or neither.")
        return "", {}
    verdict = deeply(mechanism, options)
    text, data = verdict.to_text(), {"deep": verdict.to_dict()}
    if not verdict.holds:
        print(json.dumps(plain(data), allow_nan=False) if options.json else text, flush=True)
        subjects = ", ".join(finding.subject for finding in verdict.failures)
        raise NotPrivate(f"{options.file}: fails its deep verification ({subjects}); release nothing with it.")
    return f"\n\n{text}", data


def deeply(mechanism: FrozenMechanism, options: argparse.Namespace) -> DeepVerdict:
    """The verdict on a mechanism, of as many seconds of draws as are asked for."""
    from designer.audit.deep import SECONDS, audit

    return audit(mechanism, seconds=SECONDS if options.seconds is None else options.seconds)


# `verify --independent`: the second verifier, one file that shares no line with the first, has to come to the same verdict.


FIRST = "this program"
SECOND = "designer/verifier/standalone.py"


def add_independent(made: argparse.ArgumentParser) -> None:
    """The option of `verify` that asks for it."""
    made.add_argument(
        "--independent",
        action="store_true",
        help="also verify by a second program, a file that imports nothing of this one",
    )
    made.add_argument(
        "--verifier",
        type=Path,
        metavar="FILE",
        help="take the second program from this file, which is run; implies --independent",
    )


def independently(options: argparse.Namespace, fingerprint: str | None) -> tuple[str, dict[str, Any]]:
    """Which verifiers were used, in words and as data, once the first has accepted the file: where the second was asked for and
    does not accept it, too, `InvalidSpec`; where it cannot check it, `DesignFailed`.

    fingerprint: of the mechanism that the first one certified, which the file has to have still; None for a ledger.
    """
    used = [f"{FIRST} ({Guarantee.software})"]
    if not options.independent and options.verifier is None:
        return f"Verified by: {used[0]}. --independent also asks a second one.", {"verified_by": used}
    from designer.verifier import INSTALLED, NoVerdict, verify

    file = options.verifier or INSTALLED
    second = SECOND if options.verifier is None else printed(file)
    hashed, content = hashlib.sha256(file.read_bytes()).hexdigest(), _content(options.file)
    try:
        verdict, sentences = verify(file, content, options.release)
    except NoVerdict as failure:
        raise DesignFailed(f"--verifier: {printed(file)} gives no verdict ({failure}); give a copy of {SECOND}.") from None
    said = "; ".join(map(printed, sentences))
    named = " with ".join(printed(path) for path in (options.file, options.release) if path)
    if verdict == "cannot check":
        raise DesignFailed(
            f"--independent: {named} holds by this program, and {second} cannot check it: {said}. Leave the "
            "option out to go by one verifier."
        )
    same = fingerprint is None or json.loads(content)["fingerprint"] == fingerprint
    if verdict != "holds" or not same:
        raise InvalidSpec(
            f"--independent: {named} holds by this program, but not by {second}: {said}. One of the two is "
            "wrong: release nothing with it, and report it as SECURITY.md says."
        )
    lines = [f"Verified by: {used[0]}, and independently by {second}:", *(f"  {printed(each)}" for each in sentences)]
    words = "\n".join([*lines, f"  SHA-256 of that file: {hashed}"])
    return words, {"verified_by": [*used, second], "verifier_sha256": hashed}


def _content(path: Path) -> bytes:
    """The bytes of a file; of a ledger those between two transactions."""
    if not is_ledger(path):
        return path.read_bytes()
    from designer.accounts.ledger import Ledger

    with Ledger(path).store.rows() as rows:
        return rows.content


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
        **spent_deltas(mechanism),
        "fingerprint": mechanism.fingerprint,
        **caution_data(mechanism),
    }
    verdict = "is what it says, which is nothing" if mechanism.vacuous else "holds"
    holds = f"{printed(options.file)}: {verdict}. {certificate_words(mechanism)}"
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
    from designer.problem_file.kinds import read_request

    if options.file.suffix == ".toml":
        refuse_signer(options)
        file = read_request(options.file)
        drawn = _drawn(file, options)
        data = {"title": file.title, **file.description(), **_budgets(file), **_entity(file.about.records)}
        data |= {"drawn to": str(drawn)} if drawn else {}
        width = max(map(len, data)) + 2
        return "\n".join(f"{key:{width}}{printed(value)}" for key, value in data.items()), data
    if options.output:
        raise InvalidProblem("--plot: draws what a problem file protects; a spec is shown without a picture.")
    from designer.designing.printouts import summary

    mechanism = loaded(options)
    return f"{summary(mechanism)}\n{privacy_line(mechanism)}", to_spec(mechanism)


def _entity(records: Reading) -> dict[str, str]:
    """Whose records are protected together."""
    if records.entity is None or records.rows_per_entity is None:
        return {}
    rows = counted(records.rows_per_entity, "record")
    return {"entity": f"{records.entity}, of which at most {rows} count"}


def _budgets(file: Any) -> dict[str, str]:
    """Epsilon and delta of what a problem file asks for, where that is known before the design."""
    from designer.tradeoff.costs import cost_of_tradeoff

    if file.kind == "odds_ratio_test":
        return {"privacy": cost_words(cost_of_tradeoff(file.promise))}
    if file.kind in ("linear_queries", "marginals", "selection", "mwem", "small_db"):
        asked = file.problem.relation, file.problem.notion, getattr(file.problem, "delta", None)
        return {"privacy": asked_words(*asked, file.about.records)}
    return {"privacy": "dp-designer design states epsilon and delta of what it makes"}


def _drawn(file: ProblemFile, options: argparse.Namespace) -> Path | None:
    """The picture of what a problem file protects, where one is asked for."""
    if not options.output:
        return None
    from designer.problem_file.linear import LinearFile
    from designer.publish.pictures.of_designs import save_relation_picture

    if not isinstance(file, LinearFile):
        raise file.without("--plot", "pictures are drawn of what linear queries protect")
    check_output(options, file.files)
    problem = file.compared
    return save_relation_picture(problem.relation, options.output, problem.workload.elements, replace=options.force)
