"""Specs: one closed, versioned JSON file for a frozen object. Loading recomputes the object and its guarantee;
claims are compared, not believed.

`dp-designer schema spec` prints the schema. Infinity is written as "inf"; floats are
written with the digits that bring the same float back; nothing in a file is executed or looked up by name beyond the closed
lists in `designer.files.kinds` and `designer.relations.kinds`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from designer.base.checks import shown
from designer.base.errors import InvalidProblem, InvalidSpec, NotPrivate
from designer.base.json_text import canonical, json_object, plain, read_json, require_keys, signature_path
from designer.base.progress import step
from designer.base.progress_line import logged
from designer.base.run_length import number_of_names, require_few_in_runs
from designer.base.schema import HASH, Named, either, exactly, keys, list_of, noted, number, one_of, or_null, record, text
from designer.certificate.agreement import RELEASE_FORMAT
from designer.certificate.frozen import FORMAT_VERSION, FrozenMechanism, seal, settle_claim
from designer.certificate.guarantee import SOFTWARE, About, Guarantee, Optimality
from designer.files.kinds import KINDS
from designer.limits import MOST_JSON_BYTES
from solvers.exact.rational import float_above

if TYPE_CHECKING:
    from designer.files.signatures import PublicKey, SignedBy, Trusted

Source = str | Path | bytes | Mapping[str, Any]  # of a spec, or of a release
PROVENANCE = Named(
    "provenance",
    record(
        {},
        {
            "software": text(),
            "family": text(),
            "loss": text(),
            "options": {"type": "object"},
            "prices": {"type": "object"},
            "effort": text(),
            "cut": text(),
            "tried": {"type": "object", "additionalProperties": text()},
            "targets": list_of(text()),
            "targets_are": text(),
            "budgets_times": number(above=0),
            "hull": text(),
            **{key: text() for key in ("program", "objective", "solver", "status")},
            **{key: number(least=0) for key in ("raw_violation", "own_violation", "repaired_loss", "rounds", "pairs")},
            "constraints": list_of(text(), least=0),
        },
        note="Notes of the maker: loading neither believes nor recomputes them.",
    ),
)
FRAME = record(
    {
        "format": one_of(*KINDS),
        "version": exactly(FORMAT_VERSION),
        "mechanism": noted("Everything that decides what the mechanism does.", {}),
        "guarantee": Guarantee.schema,
        "certificate": noted("What was recomputed on construction.", {}),
        "optimality": or_null(Optimality.schema),
        "provenance": PROVENANCE,
        "fingerprint": noted("SHA-256 of `mechanism`, keys sorted, no spaces.", either(HASH)),
        "seal": noted("SHA-256 of the whole object without `seal`.", either(HASH)),
    },
    {"about": About.schema},
)
# What may differ in its last digits between machines, because floats or bounds of real numbers lead to it; all else is exact.
ROUNDED = (
    *("smallest_budget", "largest_finite_budget", "worst_ratio", "estimated_total_variation", "estimated_delta"),
    *("largest_r_hat", "least_alpha_plus_beta", "delta_of_one_row"),
)
TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "object": dict, "number": (int, float), "array": list}


S = TypeVar("S", bound=FrozenMechanism)


@overload
def load(
    source: Source, *, trusted: Trusted | None = None, size_limit: int = MOST_JSON_BYTES, allow_vacuous: bool = False
) -> FrozenMechanism: ...
@overload
def load(
    source: Source,
    kind: Callable[..., S],
    *,
    trusted: Trusted | None = None,
    size_limit: int = MOST_JSON_BYTES,
    allow_vacuous: bool = False,
) -> S: ...
def load(
    source: Source,
    kind: Callable[..., FrozenMechanism] = FrozenMechanism,
    *,
    trusted: Trusted | None = None,
    size_limit: int = MOST_JSON_BYTES,
    allow_vacuous: bool = False,
) -> FrozenMechanism:
    """Load the mechanism of a spec, of any kind in `KINDS`, and certify it anew. Raises `InvalidSpec` for what is not a spec,
    is over `size_limit` bytes, was altered, lacks the signature, or claims what its mechanism does not prove. Raises
    `NotPrivate` when the mechanism in it breaks its own relation, or hides nothing.

    Parameters
    ----------
    source
        the path of a file that `mechanism.save` wrote, its bytes, or its plain data (a mapping). A file is read once, and a
        signature beside it (`.sig`) is always checked.
    kind : the class that is needed, such as `designer.Mechanism`; a spec of any other is refused.
    trusted : public keys, or their files, one of which must have signed the file; None asks for no signature.
    size_limit : the most bytes that a file may have.
    allow_vacuous : load a mechanism that hides nothing, too, if its spec says that this was asked for.
    """
    made = from_spec(read_signed(source, trusted, size_limit)[0], allow_vacuous=allow_vacuous)
    if not isinstance(made, cast(type, kind)):
        raise InvalidSpec(f"spec: holds a {type(made).__name__}, not a {kind.__name__}; name the kind that it is, or none.")
    logged("loaded %s: %s", made.format, made.fingerprint)
    return made


def read_signed(
    source: Source, trusted: Trusted | None = None, size_limit: int = MOST_JSON_BYTES
) -> tuple[dict[str, Any], SignedBy | None]:
    """The plain data of a spec or a release, read once, and who signed them: a signature beside a file is always checked.

    source: a path, the bytes of a file, or plain data. trusted: as for `file_signer`, also as paths of public keys; what is no
    file has no signature beside it, and is refused where one is asked for. Raises `InvalidSpec` for a signature that is not
    there, does not fit, or is of another key; `InvalidProblem` for anything else than these sources.
    """
    asked: Sequence[PublicKey] | None = None
    if trusted is not None:
        from designer.files.signatures import public_keys

        asked = public_keys(trusted)
    if isinstance(source, (str, Path)):
        content = read_json(Path(source), size_limit)
        if asked is None and not signature_path(source).exists():
            return content, None
        from designer.files.signatures import file_signer

        return content, file_signer(source, content, asked)
    if asked is not None:
        raise InvalidSpec(
            "signature: was asked for, and stands beside a file only; give the path, or check the signature with signer_of."
        )
    if isinstance(source, bytes):
        if len(source) > size_limit:
            raise InvalidSpec(f"bytes: more than {size_limit}; pass a larger size_limit if it is meant to.")
        return json_object(source, "bytes: what was given"), None
    if not isinstance(source, Mapping):
        raise InvalidProblem(
            f"source: {shown(source)} is no path, bytes or mapping of a spec or a release; give one of these.", value=source
        )
    try:
        return plain(source), None
    except RecursionError:
        raise InvalidSpec("spec: is nested far deeper than a spec is; give a spec that this program wrote.") from None


@step("certifying a spec")
def from_spec(spec: dict[str, Any], *, allow_vacuous: bool = False) -> FrozenMechanism:
    """The mechanism of a spec that was read; see `load`."""
    try:
        return _certified(spec, allow_vacuous)
    except RecursionError:
        raise InvalidSpec("spec: is nested far deeper than a spec is; give a spec that this program wrote.") from None


def _certified(spec: dict[str, Any], allow_vacuous: bool) -> FrozenMechanism:
    if spec.get("format") == RELEASE_FORMAT:
        raise InvalidSpec("spec: is a release; give its spec, and the release behind it: dp-designer verify SPEC RELEASE.")
    require_keys({key: value for key, value in spec.items() if key != "about"}, keys(FRAME), "spec")
    version = spec["version"]
    if spec["format"] not in list(KINDS):
        raise InvalidSpec(
            f"spec: format {shown(spec['format'])} is unknown; this program reads {sorted(KINDS)}; a newer program may have "
            "written it."
        )
    if type(version) is not int or version != FORMAT_VERSION:
        older = type(version) is int and version < FORMAT_VERSION
        remedy = "design it again from its problem file" if older else "a newer program may have written it: update this one"
        raise InvalidSpec(f"spec: has version {shown(version)} of its format; this program reads {FORMAT_VERSION}; {remedy}.")
    _check_shape(spec)
    if spec["seal"] != seal(spec):
        raise InvalidSpec(
            "seal: does not match the contents; the file was altered or damaged. Design the mechanism again or restore the "
            "file."
        )
    mechanism: FrozenMechanism = reading("mechanism", lambda: _mechanism(spec))
    if mechanism.fingerprint != hashlib.sha256(canonical(spec["mechanism"])).hexdigest():
        raise InvalidSpec("mechanism: is not written as this program writes it; design the mechanism again.")
    _compare_claims(mechanism, spec)
    if mechanism.vacuous and not allow_vacuous:
        raise NotPrivate(
            f"spec: the mechanism hides nothing: {mechanism.vacuous}. If that is meant, pass allow_vacuous=True "
            "(--allow-vacuous)."
        )
    return mechanism


def _check_shape(spec: Mapping[str, Any]) -> None:
    """What costs nothing comes before the seal, which reads every number: kinds of values,
    and the size of a matrix of queries."""
    for key in ("mechanism", "guarantee", "certificate", "provenance"):
        if not isinstance(spec[key], dict):
            raise InvalidSpec(
                f"{key}: {shown(type(spec[key]).__name__)} is no object; restore the file.", value=type(spec[key]).__name__
            )
    for key in ("fingerprint", "seal"):
        if not isinstance(spec[key], str) or len(spec[key]) != 64:
            raise InvalidSpec(f"{key}: is not a text of 64 hexadecimal digits; restore the file.")
    require_few_in_runs(spec)
    workload = spec["mechanism"].get("workload")
    if isinstance(workload, dict) and "matrix" in workload:
        rows = workload["matrix"]
        height, width = (number_of_names(workload.get(key), f"workload.{key}") for key in ("queries", "elements"))
        widths = {len(row) if isinstance(row, list) else -1 for row in rows} if isinstance(rows, list) else set()
        if widths != {width} or len(rows) != height:
            raise InvalidSpec(
                "workload.matrix: must have one row for each query and one column for each element; restore the file."
            )


def _mechanism(spec: Mapping[str, Any]) -> FrozenMechanism:
    kind: type[FrozenMechanism] = KINDS[spec["format"]].part("mechanism")
    optimality, provenance = _optimality_from_spec(spec["optimality"]), _provenance_from_spec(spec["provenance"])
    made = kind.from_core(spec["mechanism"]).annotated(provenance, optimality)
    return made.described(About.from_dict(spec["about"])) if "about" in spec else made


def reading(field: str, build: Callable[[], Any]) -> Any:
    """Turn whatever goes wrong while rebuilding into one clear refusal."""
    try:
        return build()
    except (InvalidSpec, NotPrivate):
        raise
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError) as error:
        raise InvalidSpec(
            f"{field}: cannot be rebuilt ({type(error).__name__}: {str(error)[:500]}); give a spec that this program wrote."
        ) from None


def _optimality_from_spec(spec: Any) -> Optimality | None:
    if spec is None:
        return None
    require_keys(spec, keys(Optimality.schema), "optimality")
    value, bound = spec["value"], spec["lower_bound"]
    if not (isinstance(spec["objective"], str) and isinstance(spec["method"], str)):
        raise InvalidSpec("optimality: objective and method must be texts.")
    if not (type(value) is float and type(bound) is float and 0 <= bound <= value * (1 + 1e-9)):
        raise InvalidSpec("optimality: value and lower_bound must be numbers, the bound from 0 to the value.")
    return Optimality(**spec, verified=False)


def _provenance_from_spec(spec: Any) -> dict[str, Any]:
    kinds = {key: TYPES[form["type"]] for key, form in PROVENANCE.body["properties"].items()}
    known = isinstance(spec, dict) and all(isinstance(value, kinds.get(key, ())) for key, value in spec.items())
    listed = [*spec.get("tried", {}).values(), *spec.get("targets", ()), *spec.get("constraints", ())] if known else []
    if not known or not all(isinstance(note, str) for note in listed):
        raise InvalidSpec(f"provenance: must hold nothing but {sorted(kinds)}, of the types that this program writes.")
    return dict(spec)


def _compare_claims(mechanism: FrozenMechanism, spec: Mapping[str, Any]) -> None:
    """Every claim of the file must be what its mechanism proves here and now."""
    proven = {
        "fingerprint": mechanism.fingerprint,
        "guarantee": plain(Guarantee.from_dict(mechanism.guarantee.to_dict()).to_dict()),
        "certificate": plain(asdict(mechanism.privacy)),
    }
    for name, value in proven.items():
        claimed = spec[name]
        if name == "guarantee" and isinstance(claimed, dict):
            claimed = proven_statement(claimed, value)
            claimed = _with_ratio(claimed, spec["certificate"], mechanism, proven)
        if name == "certificate" and isinstance(claimed, dict):
            claimed = settle_claim(mechanism, claimed, value)
        if canonical(claimed) != canonical(value):
            raise InvalidSpec(f"{name}: the file claims something else than its mechanism proves; design the mechanism again.")


def _with_ratio(statement: Any, claimed: dict[str, Any], mechanism: FrozenMechanism, proven: dict[str, Any]) -> Any:
    """The statement with the proven worst ratio where it has that of a certificate which is true though it claims less."""
    said = statement.get("parameters")
    if canonical(settle_claim(mechanism, claimed, proven["certificate"])) != canonical(proven["certificate"]):
        return statement
    if not isinstance(said, dict) or type(said.get("worst_ratio")) is not float:
        return statement
    same = _same_float(said["worst_ratio"], float_above(Fraction(claimed["worst_ratio"])))
    ratio = proven["guarantee"]["parameters"].get("worst_ratio") if same else said["worst_ratio"]
    return {**statement, "parameters": {**said, "worst_ratio": ratio}}


def proven_statement(claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """The claims of a file, with the proven values where they may honestly differ: another version may have designed it, and
    budgets that are rounded to floats may differ between machines in the last digits."""
    result = dict(claimed)
    if re.fullmatch(SOFTWARE, str(claimed.get("software"))):
        result["software"] = proven["software"]
    parameters = claimed.get("parameters")
    if isinstance(parameters, dict):
        result["parameters"] = {
            key: proven["parameters"].get(key)
            if key in ROUNDED and _same_float(value, proven["parameters"].get(key))
            else value
            for key, value in parameters.items()
        }
    return result


def _same_float(one: Any, other: Any) -> bool:
    return type(one) is float and type(other) is float and abs(one - other) <= 1e-9 * abs(other)
