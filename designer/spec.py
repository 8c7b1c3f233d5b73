"""Mechanism specs: one closed, versioned JSON file. Loading recomputes the mechanism and its guarantee; claims are compared, not believed.

The schema is published in docs/spec.schema.json. Infinity is written as "inf"; floats are written with the digits that bring the same
float back; nothing in a file is executed or looked up by name beyond the closed lists in this module.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer import metrics
from designer.certificate import PrivacyCertificate, Witness, attains
from designer.errors import InvalidSpec, NotPrivate
from designer.grid import Grid
from designer.guarantee import Guarantee
from designer.json_text import SIZE_LIMIT, array, canonical, plain, read_json, require_keys, write_whole
from designer.mechanism import Mechanism
from designer.norms import Gauge, Norm
from designer.optimality import Optimality
from designer.relation import Relation
from designer.workload import Workload

FORMAT, FORMAT_VERSION = "dp-designer/mechanism", 1
DENSE_LIMIT = 2**28  # entries that compressed rows may unpack to: 2 GB

RELATIONS: dict[str, type[Relation]] = {
    cls.kind: cls
    for cls in (metrics.Uniform, metrics.Matrix, metrics.Euclidean, metrics.GreatCircle, metrics.Hamming, metrics.AddRemove)
}

TOP_KEYS = {"format", "version", "mechanism", "guarantee", "certificate", "optimality", "provenance", "fingerprint", "seal"}
CORE_KEYS = {"family", "workload", "relation", "norm", "grid", "falloff", "measured", "reconstruction"}


def core(mechanism: Mechanism) -> dict[str, Any]:
    """Everything that decides what the mechanism does."""
    return {
        "family": mechanism.family,
        "workload": _workload_to_spec(mechanism.workload),
        "relation": mechanism.relation.to_spec(),
        "norm": _norm_to_spec(mechanism.norm),
        "grid": list(mechanism.grid.exponents),
        "falloff": mechanism.falloff,
        "measured": mechanism.measured,
        "reconstruction": mechanism.reconstruction,
    }


def to_spec(mechanism: Mechanism) -> dict[str, Any]:
    """The whole spec as plain data."""
    body = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "mechanism": core(mechanism),
        "guarantee": mechanism.guarantee.to_dict(),
        "certificate": _certificate_to_spec(mechanism.privacy),
        "optimality": None if mechanism.optimality is None else asdict(mechanism.optimality),
        "provenance": dict(mechanism.provenance),
        "fingerprint": mechanism.fingerprint,
    }
    spec: dict[str, Any] = plain(body)
    return {**spec, "seal": seal(spec)}


def seal(spec: Mapping[str, Any]) -> str:
    """SHA-256 of the spec without its seal: shows accidental or careless alteration; the guarantee is recomputed besides."""
    return hashlib.sha256(canonical({key: value for key, value in spec.items() if key != "seal"})).hexdigest()


def save(mechanism: Mechanism, path: Path) -> Path:
    """Write the spec beside its destination and move it there, so that a reader never sees half a file."""
    return write_whole(path, json.dumps(to_spec(mechanism), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def load(path: str | Path, *, size_limit: int = SIZE_LIMIT) -> Mechanism:
    """The mechanism of a spec file, certified anew.

    Raises `InvalidSpec` for a file that is not a spec, is over `size_limit` bytes, was altered, or claims what its mechanism does not
    prove; `NotPrivate` when the mechanism in it breaks its own relation.
    """
    spec = read_json(Path(path), size_limit)
    try:
        return from_spec(spec)
    except RecursionError:
        raise InvalidSpec("spec: is nested far deeper than a spec is.") from None


def from_spec(spec: dict[str, Any]) -> Mechanism:
    """The mechanism of a spec that was read; see `load`."""
    require_keys(spec, TOP_KEYS, "spec")
    if (spec["format"], spec["version"]) != (FORMAT, FORMAT_VERSION) or isinstance(spec["version"], (bool, float)):
        raise InvalidSpec(
            f"spec: format {spec['format']!r} version {spec['version']!r}; this program reads {FORMAT!r} version {FORMAT_VERSION}."
        )
    if spec["seal"] != seal(spec):
        raise InvalidSpec(
            "seal: does not match the contents; the file was altered or damaged. Design the mechanism again or restore the file."
        )
    mechanism: Mechanism = _reading("mechanism", lambda: _mechanism(spec))
    if canonical(core(mechanism)) != canonical(spec["mechanism"]):
        raise InvalidSpec("mechanism: is not written as this program writes it; design the mechanism again.")
    _compare_claims(mechanism, spec)
    return mechanism


def _reading(field: str, build: Callable[[], Any]) -> Any:
    """Turn whatever goes wrong while rebuilding into one clear refusal."""
    try:
        return build()
    except (InvalidSpec, NotPrivate):
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as error:
        raise InvalidSpec(f"{field}: cannot be rebuilt ({type(error).__name__}: {error}).") from None


def _mechanism(spec: Mapping[str, Any]) -> Mechanism:
    body = spec["mechanism"]
    require_keys(body, CORE_KEYS, "mechanism")
    if not all(type(e) is int and abs(e) < 2000 for e in body["grid"]):
        raise InvalidSpec(f"grid: {body['grid'][:4]} ... must be whole exponents of two.")
    return Mechanism(
        family=str(body["family"]),
        workload=_workload_from_spec(body["workload"]),
        relation=_relation_from_spec(body["relation"]),
        norm=_norm_from_spec(body["norm"]),
        grid=Grid(tuple(body["grid"])),
        falloff=body["falloff"],
        measured=None if body["measured"] is None else array(body["measured"], 2, "measured"),
        reconstruction=None if body["reconstruction"] is None else array(body["reconstruction"], 2, "reconstruction"),
        optimality=_optimality_from_spec(spec["optimality"]),
        provenance=_provenance_from_spec(spec["provenance"]),
    )


def _optimality_from_spec(spec: Any) -> Optimality | None:
    if spec is None:
        return None
    require_keys(spec, {"objective", "value", "lower_bound", "method"}, "optimality")
    value, bound = spec["value"], spec["lower_bound"]
    if not (isinstance(spec["objective"], str) and isinstance(spec["method"], str)):
        raise InvalidSpec("optimality: objective and method must be texts.")
    if not (type(value) is float and type(bound) is float and 0 <= bound <= value * (1 + 1e-9)):
        raise InvalidSpec("optimality: value and lower_bound must be numbers, the bound from 0 to the value.")
    return Optimality(**spec)


def _provenance_from_spec(spec: Any) -> dict[str, Any]:
    kinds: dict[str, type | tuple[type, ...]] = {
        "software": str, "family": str, "loss": str, "options": dict, "seconds": (int, float), "tried": dict,
    }  # fmt: skip
    known = isinstance(spec, dict) and all(isinstance(value, kinds.get(key, ())) for key, value in spec.items())
    if not known or not all(isinstance(note, str) for note in spec.get("tried", {}).values()):
        raise InvalidSpec(f"provenance: must hold nothing but {sorted(kinds)}, of the types that this program writes.")
    return dict(spec)


def _norm_to_spec(norm: Norm) -> dict[str, Any]:
    """A gauge by the vectors that span its body, any other norm by its map."""
    if isinstance(norm, Gauge):
        return {"order": "gauge", "differences": norm.differences, "budgets": norm.budgets, "scale": norm.scale}
    return {"order": norm.order, "map": norm.map}


def _norm_from_spec(spec: Any) -> Norm:
    if isinstance(spec, dict) and spec.get("order") == "gauge":
        require_keys(spec, {"order", "differences", "budgets", "scale"}, "norm")
        scale = float(array(spec["scale"], 0, "norm.scale"))
        return Gauge(array(spec["differences"], 2, "norm.differences"), array(spec["budgets"], 1, "norm.budgets"), scale)
    require_keys(spec, {"order", "map"}, "norm")
    return Norm(array(spec["map"], 2 if isinstance(spec["map"][0], list) else 1, "norm.map"), spec["order"])


def _workload_to_spec(workload: Workload) -> dict[str, Any]:
    named = {"queries": list(workload.queries), "elements": list(workload.elements)}
    if isinstance(workload.matrix, np.ndarray):
        return {**named, "matrix": workload.matrix}
    rows = workload.matrix
    return {**named, "rows": {"values": rows.data, "columns": rows.indices, "starts": rows.indptr}}


def _workload_from_spec(spec: Mapping[str, Any]) -> Workload:
    require_keys(spec, {"queries", "elements", "rows" if "rows" in spec else "matrix"}, "workload")
    if "matrix" in spec:
        return Workload(array(spec["matrix"], 2, "workload.matrix"), spec["queries"], spec["elements"])
    from scipy.sparse import csr_array

    require_keys(spec["rows"], {"values", "columns", "starts"}, "workload.rows")
    values = array(spec["rows"]["values"], 1, "workload.rows.values")
    columns, starts = (_indices(spec["rows"][key], f"workload.rows.{key}") for key in ("columns", "starts"))
    shape = (len(spec["queries"]), len(spec["elements"]))
    if shape[0] * shape[1] > DENSE_LIMIT:
        raise InvalidSpec(
            f"workload.rows: {shape[0]} queries over {shape[1]} elements unpack to more than {DENSE_LIMIT} entries."
        )
    # Checked here and before scipy sees them: its compiled loops trust these numbers with the memory of the process.
    row = np.searchsorted(starts, np.arange(len(columns)), side="right")
    ordered = (
        len(starts) == shape[0] + 1
        and starts[0] == 0
        and (np.diff(starts) >= 0).all()
        and starts[-1] == len(columns) == len(values)
    )
    if not (ordered and (columns < shape[1]).all() and (np.diff(row * shape[1] + columns) > 0).all()):
        raise InvalidSpec(
            "workload.rows: starts must rise from 0 to the number of values, and columns within each row, below the number of elements."
        )
    return Workload(csr_array((values, columns, starts), shape=shape), spec["queries"], spec["elements"])


def _indices(value: Any, field: str) -> NDArray[np.int64]:
    if not isinstance(value, list) or not all(type(entry) is int and 0 <= entry < 2**31 for entry in value):
        raise InvalidSpec(f"{field}: must be a list of whole numbers from 0 to 2^31.")
    return np.array(value, dtype=np.int64)


def _relation_from_spec(spec: Any) -> Relation:
    if not isinstance(spec, dict) or spec.get("kind") not in RELATIONS:
        raise InvalidSpec(
            f"relation.kind: {spec.get('kind') if isinstance(spec, dict) else spec!r} is unknown; one of {sorted(RELATIONS)}."
        )
    restored = {key: _with_infinity(value) for key, value in spec.items()}
    relation = RELATIONS[spec["kind"]].from_spec(restored)
    if canonical(relation.to_spec()) != canonical(spec):
        raise InvalidSpec(f"relation: the entries {sorted(spec)} do not describe a relation of kind {spec['kind']!r} exactly.")
    return relation


def _with_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_infinity(item) for item in value]
    return np.inf if value == "inf" else value


def _certificate_to_spec(certificate: PrivacyCertificate) -> dict[str, Any]:
    return asdict(certificate)


def _compare_claims(mechanism: Mechanism, spec: Mapping[str, Any]) -> None:
    """Every claim of the file must be what its mechanism proves here and now."""
    proven = {
        "fingerprint": mechanism.fingerprint,
        "guarantee": plain(Guarantee.from_dict(mechanism.guarantee.to_dict()).to_dict()),
        "certificate": plain(_certificate_to_spec(mechanism.privacy)),
    }
    for name, value in proven.items():
        claimed = spec[name]
        if name == "guarantee" and isinstance(claimed, dict):
            claimed = _proven_statement(claimed, value)
        if name == "certificate" and isinstance(claimed, dict):
            claimed = _proven_at_least(claimed, value, mechanism)
        if canonical(claimed) != canonical(value):
            raise InvalidSpec(f"{name}: the file claims something else than its mechanism proves; design the mechanism again.")


def _proven_statement(claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """The version that designed may be another one, and budgets rounded to floats may differ between machines in the last digits."""
    result = dict(claimed)
    if re.fullmatch(r"dp-designer [0-9a-z.+]{1,40}", str(claimed.get("software"))):
        result["software"] = proven["software"]
    parameters = claimed.get("parameters")
    if isinstance(parameters, dict):
        result["parameters"] = {
            key: proven["parameters"].get(key) if _same_float(value, proven["parameters"].get(key)) else value
            for key, value in parameters.items()
        }
    return result


def _same_float(one: Any, other: Any) -> bool:
    return type(one) is float and type(other) is float and abs(one - other) <= 1e-9 * abs(other)


def _proven_at_least(claimed: dict[str, Any], proven: dict[str, Any], mechanism: Mechanism) -> dict[str, Any]:
    """The worst ratio's float-covered digits may differ between machines, and so may the pair where several attain it: a claim within
    2^-40 of the proven ratio is the same claim, and another pair is checked by itself."""
    ratio = claimed.get("worst_ratio")
    # Only digits and a bar: an exponent in a few bytes would ask for a number that fills the memory.
    if not isinstance(ratio, str) or not re.fullmatch(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio):
        return claimed
    near = abs(Fraction(ratio) - Fraction(proven["worst_ratio"])) <= Fraction(1, 1 << 40)
    sentence = re.sub("[0-9]+", "", str(claimed.get("arithmetic"))) == re.sub("[0-9]+", "", proven["arithmetic"])
    if not (near and sentence):
        return claimed
    same = {**claimed, "worst_ratio": proven["worst_ratio"], "arithmetic": proven["arithmetic"]}
    if _is_witness(claimed.get("witness"), Fraction(ratio), mechanism):
        same["witness"] = proven["witness"]
    return same


def _is_witness(claimed: Any, ratio: Fraction, mechanism: Mechanism) -> bool:
    if not isinstance(claimed, dict) or set(claimed) != {field.name for field in fields(Witness)}:
        return False
    if type(claimed["left"]) is not int or type(claimed["right"]) is not int or not isinstance(claimed["difference"], list):
        return False
    witness = Witness(**{**claimed, "difference": tuple(claimed["difference"])})
    return attains(mechanism.sensitivity(), mechanism.norm, witness, ratio, mechanism.workload.elements)
