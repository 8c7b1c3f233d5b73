"""A mechanism as a few lines of text that a program in another language releases from, and what it has to come to.

A portable file holds whole numbers, one item a line, fields apart by tabs: the law of each number of noise, the matrix in
steps, and the release file in pieces, with places for the time, the whole numbers and the answers. No JSON has to be read, and
none to be put in order. The format and the rules in words: docs/guides/other_languages.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.base.json_text import canonical_text
from designer.base.times import utc_text
from designer.certified.frozen import Specified, to_spec
from designer.exchange.byte_sampler import ByteGaussian, ByteLaplace, GivenBytes
from designer.exchange.noise_law import noise_document
from designer.files.releases import release_document
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.problem.histogram import counts, exact_answers
from designer.problem.rows import counted, written_out

PORTABLE_VERSION = 1
MOST_ENTRIES = 1_000_000  # of the matrix and of the reconstruction, written out
MADE_AT = datetime(2026, 1, 31, 12, tzinfo=UTC)  # of test vectors
VECTOR_BLOCKS = 64  # of 32 bytes, for each number and one more
BYTE_LAWS: dict[str, type[ByteLaplace] | type[ByteGaussian]] = {
    "discrete_laplace": ByteLaplace,
    "discrete_gaussian": ByteGaussian,
}


@dataclass(frozen=True)
class Place:
    """Where a release file holds what is known only when it is made: an `answer`, a `multiple` or the `time`."""

    kind: str
    number: int = 0


def portable_text(mechanism: Specified) -> str:
    """The portable file of a mechanism; `InvalidProblem`, with the reason, where there is none.

    mechanism: with independent noise of each answer.
    """
    made = require_portable(mechanism)
    lines = [
        ("dp-designer-portable", PORTABLE_VERSION),
        ("fingerprint", made.fingerprint),
        ("law", _kind(made)),
        *_shape(made),
        *(("coordinate", k, made.grid.exponents[k], *law.numbers) for k, law in enumerate(byte_laws(made))),
        *(("row", k, *_entries(row)) for k, row in enumerate(_integers(made).tolist())),
        *_rebuilding(made),
        *(("piece", *piece) for piece in _pieces(made)),
        ("end", "dp-designer-portable"),
    ]
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def require_portable(mechanism: Specified) -> AdditiveMechanism:
    """The mechanism, if a release of it takes nothing but whole numbers; refused with the reason otherwise."""
    law = noise_document(mechanism)["law"]["kind"]
    if not isinstance(mechanism, AdditiveMechanism) or law not in BYTE_LAWS:
        raise InvalidProblem(
            f"mechanism: its noise, of the law {law!r}, is not drawn one number by one; other languages release from discrete "
            f"Laplace and discrete Gaussian noise on a grid (family laplace, and gaussian with independent noise)."
        )
    if not mechanism.heard.all() or not mechanism.tells_multiples:
        raise InvalidProblem("mechanism: publishes numbers without noise, which other languages do not; release it here.")
    relation = mechanism.relation
    if (
        relation.impossible
        or relation.agreeing is not None
        or mechanism._release_of([0] * len(mechanism.grid.exponents)).kept is not None
    ):
        raise InvalidProblem("mechanism: keeps public statistics, which other languages do not check; release it here.")
    entries = int(counted(mechanism.integers).sum()) + (
        0 if mechanism.reconstruction is None else mechanism.reconstruction.size
    )
    if entries > MOST_ENTRIES:
        raise InvalidProblem(f"mechanism: has {entries} entries to write out, more than {MOST_ENTRIES}; release it here.")
    return mechanism


def _integers(made: AdditiveMechanism) -> NDArray[np.int64]:
    """The measured matrix in steps, written out."""
    return made.integers if isinstance(made.integers, np.ndarray) else written_out(made.integers).astype(np.int64)


def byte_laws(mechanism: AdditiveMechanism) -> list[ByteLaplace | ByteGaussian]:
    """The law of each measured number, in steps."""
    law = noise_document(mechanism)["law"]
    numbers = law["rates" if law["kind"] == "discrete_laplace" else "variances"]
    return [BYTE_LAWS[law["kind"]](Fraction(number)) for number in numbers]


def portable_noise(mechanism: Specified, random: bytes) -> tuple[list[int], int]:
    """The noise in steps, one number for each measured answer in their order, that these bytes stand for, and how many of them
    it took. For test vectors: noise from bytes that anybody knows hides nothing.

    mechanism: with independent noise of each answer. random: the bytes that the noise is made of.
    """
    given = GivenBytes(random)
    return [law.draw(given) for law in byte_laws(require_portable(mechanism))], given.used


def release_vectors(mechanism: Specified, histograms: Sequence[Sequence[int]] = (), *, seed: int = 1) -> dict[str, Any]:
    """What a program in another language has to come to, for known bytes and counts: whole numbers and release files.

    histograms: counts in the order of the elements; a few where none are given. seed: of the bytes, SHA-256 of "dp-designer
    SEED CASE BLOCK" block after block.
    """
    made = require_portable(mechanism)
    size = made.workload.shape[1]
    given = list(histograms) or [[0] * size, [3 * k + 1 for k in range(size)], [2**40 + 7**k % 1000 for k in range(size)]]
    return {
        "format": "dp-designer/vectors",
        "version": 1,
        "warning": "Noise from bytes that are published hides nothing: these are for tests alone.",
        "spec": to_spec(made),
        "portable": portable_text(made),
        "cases": [_case(made, histogram, _bytes(seed, case, len(made.grid.exponents))) for case, histogram in enumerate(given)],
    }


def _case(made: AdditiveMechanism, histogram: Sequence[int], random: bytes) -> dict[str, Any]:
    noise, used = portable_noise(made, random)
    exact = exact_answers(_integers(made), counts(list(histogram), made.universe))
    multiples = [int(a) + z for a, z in zip(exact, noise, strict=True)]
    release = release_document(made, made._release_of(multiples), time=MADE_AT)
    return {
        "counts": list(histogram),
        "random": random[:used].hex(),
        "time": utc_text(MADE_AT),
        "noise": noise,
        "multiples": multiples,
        "release": release,
    }


def _bytes(seed: int, case: int, numbers: int) -> bytes:
    blocks = (sha256(f"dp-designer {seed} {case} {block}".encode()).digest() for block in range(VECTOR_BLOCKS * (numbers + 1)))
    return b"".join(blocks)


def _kind(made: AdditiveMechanism) -> str:
    return str(noise_document(made)["law"]["kind"])


def _shape(made: AdditiveMechanism) -> Iterator[tuple[Any, ...]]:
    yield "elements", made.workload.shape[1]
    yield "measured", len(made.grid.exponents)
    yield "answers", made.workload.shape[0]
    for k, name in enumerate(made.workload.elements):
        yield "element", k, json.dumps(name)


def _entries(row: Sequence[int]) -> list[str]:
    """The entries of a row that are not 0, with their places."""
    return [f"{place}:{value}" for place, value in enumerate(row) if value]


def _rebuilding(made: AdditiveMechanism) -> Iterator[tuple[Any, ...]]:
    """A line for each answer; none where the measured numbers are the answers."""
    if made.reconstruction is not None:
        for k, row in enumerate(made.reconstruction.tolist()):
            yield "rebuild", k, *(f"{place}:{value!r}" for place, value in enumerate(row) if value)


def _pieces(made: AdditiveMechanism) -> Iterator[tuple[Any, ...]]:
    """The canonical text of a release file without its seal, cut where a place is."""
    zeros = release_document(made, made._release_of([0] * len(made.grid.exponents)), time=MADE_AT)
    body = {key: value for key, value in zeros.items() if key != "seal"}
    body["time"] = Place("time")
    body["answers"] = {name: Place("answer", k) for k, name in enumerate(made.workload.queries)}
    places = [Place("multiple", k) for k in range(len(made.grid.exponents))]
    body["measured"] = {**body["measured"], "multiples": places}
    pending = ""
    for part in _canonical(body):
        if isinstance(part, str):
            pending += part
            continue
        yield "text", pending
        yield (part.kind, part.number) if part.kind != "time" else (part.kind,)
        pending = ""
    yield "text", pending


def _canonical(data: Any) -> Iterator[str | Place]:
    """The canonical text of plain data, with its places between."""
    if isinstance(data, Place):
        yield data
    elif isinstance(data, Mapping):
        yield from _between("{", "}", ([canonical_text(key).decode() + ":", *_canonical(data[key])] for key in sorted(data)))
    elif isinstance(data, list):
        yield from _between("[", "]", map(_canonical, data))
    else:
        yield canonical_text(data).decode()


def _between(opening: str, closing: str, items: Any) -> Iterator[str | Place]:
    yield opening
    for rank, item in enumerate(items):
        if rank:
            yield ","
        yield from item
    yield closing


def short_number(value: float) -> str:
    """A float with 15 significant digits, as JSON of this program has floats: what has no more digits is the same number in
    every language. `InvalidProblem` beyond the floats.

    >>> short_number(2.0), short_number(-1e-7), short_number(1e16 / 3)
    ('2.0', '-1e-07', '3333333333333330.0')
    """
    if not math.isfinite(value):
        raise InvalidProblem("answer: is beyond the floats; use smaller weights or steps.")
    return repr(float(f"{value:.14e}"))
