"""Channels for a person's own device: a table and a sampler of a few lines, in JavaScript for pages and in C.

Both draw as `uniform_below` of `designer.sampling.integer_samplers` does: 8 random bytes, the first the lowest, whose leading
bits are a whole number; if it is not below the denominator, they are drawn again. All ends of the row are compared, whatever
the number is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.base.json_text import canonical_text, utc_text
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.exchange.opendp import noise_document
from designer.files.kinds import CHANNEL
from designer.files.releases import release_document
from designer.limits import LARGEST_DEVICE_DENOMINATOR, MOST_CHANNEL_ENTRIES, MOST_EXPORTED_ENTRIES
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.compressed_rows import counted, written_out
from designer.problem.histogram import counts, exact_answers

JAVASCRIPT = """\
// One person's own report, drawn on the person's device: report(x) is the name of a report for the name of a value.
// Made by dp-designer from the spec with the fingerprint {fingerprint}; the spec has the proof.
// Each call spends the budget once. A random source of your own is for tests only.
"use strict";
const channel = (() => {{
  const elements = {elements};
  const reports = {reports};
  const total = {total}, bits = {bits};
  const ends = {ends};
  const bytes = (n) => crypto.getRandomValues(new Uint8Array(n));
  function below(random) {{
    for (;;) {{
      const b = random(8);
      const low = b[0] + b[1] * 256 + b[2] * 65536 + b[3] * 16777216;
      const high = b[4] + b[5] * 256 + b[6] * 65536 + b[7] * 16777216;
      const number = bits <= 32
        ? Math.floor(high / 2 ** (32 - bits))
        : high * 2 ** (bits - 32) + Math.floor(low / 2 ** (64 - bits));
      if (number < total) return number;
    }}
  }}
  function report(x, random = bytes) {{
    const row = elements.indexOf(x);
    if (row < 0) throw new Error("the value is none of the channel's; nothing was reported");
    const number = below(random);
    let place = 0;
    for (const end of ends[row]) place += end <= number ? 1 : 0;
    return reports[place];
  }}
  // One report for each value of a period, sent again whenever the value comes back: budgets add up over `most` values at most.
  function remembered(most, sent = new Map(), random = bytes) {{
    return (x) => {{
      if (!sent.has(x) && sent.size >= most) throw new Error("the budget of this period is spent; nothing was reported");
      if (!sent.has(x)) sent.set(x, report(x, random));
      return sent.get(x);
    }};
  }}
  return {{ elements, reports, report, remembered }};
}})();
if (typeof module !== "undefined") module.exports = channel;
"""
C = """\
/* One person's own report, drawn on the person's device: dp_report(x) is the place of a report for the place of a value.
   Made by dp-designer from the spec with the fingerprint {fingerprint}; the spec has the proof.
   Each call spends the budget once. -1: no such value, or no random bytes; nothing was reported. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {{ DP_ELEMENTS = {size}, DP_REPORTS = {count}, DP_BITS = {bits} }};
static const char *const dp_elements[DP_ELEMENTS] = {{{elements}}};
static const char *const dp_reports[DP_REPORTS] = {{{reports}}};
static const uint64_t dp_total = UINT64_C({total});
static const uint64_t dp_ends[DP_ELEMENTS][DP_REPORTS] = {{
{ends}
}};

static int dp_system_bytes(unsigned char *into, size_t count) {{
  FILE *source = fopen("/dev/urandom", "rb");
  size_t got = source ? fread(into, 1, count, source) : 0;
  if (source) fclose(source);
  return got == count;
}}

static int dp_report_from(int x, int (*random_bytes)(unsigned char *, size_t)) {{
  unsigned char b[8];
  uint64_t number;
  int place = 0;
  if (x < 0 || x >= DP_ELEMENTS) return -1;
  do {{
    if (!random_bytes(b, sizeof b)) return -1;
    number = 0;
    for (int k = 7; k >= 0; k--) number = number << 8 | b[k];
    number = DP_BITS ? number >> (64 - (DP_BITS ? DP_BITS : 64)) : 0;
  }} while (number >= dp_total);
  for (int k = 0; k < DP_REPORTS; k++) place += dp_ends[x][k] <= number;
  return place;
}}

static int dp_report(int x) {{ return dp_report_from(x, dp_system_bytes); }}
"""


def device_text(mechanism: FrozenMechanism, language: str) -> str:
    """A channel as a program: "javascript" or "c". `InvalidProblem` for other mechanisms, and for denominators above 2^53."""
    if mechanism.format != CHANNEL.format:
        raise InvalidProblem(
            f"export: a {mechanism.format} is released where the data are, and not on the device of each person; design a "
            "ReportProblem."
        )
    channel: Any = mechanism
    if channel.denominator > LARGEST_DEVICE_DENOMINATOR:
        raise InvalidProblem(
            f"export: the denominator has {channel.denominator.bit_length()} bits, more than JavaScript holds exactly; "
            "design the channel again, whose denominator is then 2^48."
        )
    entries = len(channel.elements) * len(channel.reports)
    if entries > MOST_CHANNEL_ENTRIES:
        raise InvalidProblem(
            f"export: {entries} probabilities, more than {MOST_CHANNEL_ENTRIES} that a program of a device writes out; let "
            "the device load the spec, or merge values."
        )
    ends = [list(accumulate(row)) for row in channel.numerators]
    elements, reports = list(map(str, channel.elements)), list(map(str, channel.reports))
    shared = {
        "fingerprint": channel.fingerprint,
        "total": channel.denominator,
        "bits": (channel.denominator - 1).bit_length(),
    }
    if language == "javascript":
        return JAVASCRIPT.format(elements=_in_script(elements), reports=_in_script(reports), ends=json.dumps(ends), **shared)
    rows = ",\n".join("  {" + ", ".join(f"UINT64_C({end})" for end in row) + "}" for row in ends)
    return C.format(
        size=len(elements), count=len(reports), elements=_in_c(elements), reports=_in_c(reports), ends=rows, **shared
    )


def _in_script(names: Sequence[str]) -> str:
    """A list of texts that ends no script, wherever it stands in a page."""
    return json.dumps(names).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _in_c(names: Sequence[str]) -> str:
    return ", ".join('"' + "".join(_byte(byte) for byte in name.encode()) + '"' for name in names)


def _byte(byte: int) -> str:
    """As it is where it means itself in a text of C, otherwise by three octal digits."""
    plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"


# Exact integer noise from bytes, by whole numbers alone, in so few rules that any language can follow them to the bit.
#
# The samplers of releases made here are faster and take other bits; these are for releases from elsewhere, with the same
# laws: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020), algorithms 1 to 3, each uniform
# number by rejection. Proofs and the rules in words: docs/guides/other_languages.md.


Read = Callable[[int], bytes]  # so many fresh bytes, each uniform and independent of all else


@dataclass
class GivenBytes:
    """Bytes that are handed out once, in their order; `InvalidProblem` where more are asked for.

    >>> given = GivenBytes(bytes([7, 1, 2]))
    >>> given(2), given.used
    (b'\\x07\\x01', 2)
    """

    content: bytes
    used: int = field(default=0, init=False)

    def __call__(self, count: int) -> bytes:
        """The next `count` bytes."""
        if self.used + count > len(self.content):
            raise InvalidProblem(f"random: {len(self.content)} bytes are too few; give more.")
        self.used += count
        return self.content[self.used - count : self.used]


def uniform_number(limit: int, read: Read) -> int:
    """A number from 0 to `limit - 1`: the fewest bytes that hold `limit - 1`, the most significant first, without the bits
    above its highest one; drawn again while it is not below `limit`. No bytes where `limit` is 1.

    >>> uniform_number(5, GivenBytes(bytes([0xFF, 0x0C])))
    4
    """
    bits = (limit - 1).bit_length()
    while True:
        number = int.from_bytes(read((bits + 7) // 8), "big") & ((1 << bits) - 1) if bits else 0
        if number < limit:
            return number


def exp_chance(over: int, under: int, read: Read) -> bool:
    """True with probability `exp(-over / under)`, over >= 0, under > 0 (algorithm 1)."""
    while over > under:
        if not _small_chance(1, 1, read):
            return False
        over -= under
    return _small_chance(over, under, read)


def _small_chance(over: int, under: int, read: Read) -> bool:
    """The same for `over <= under`: the first k at which a chance of `over / (k under)` fails is odd."""
    k = 1
    while uniform_number(under * k, read) < over:
        k += 1
    return k % 2 == 1


def laplace_number(s: int, t: int, read: Read) -> int:
    """`P(z)` proportional to `exp(-|z| s / t)` (algorithm 2)."""
    while True:
        low = uniform_number(t, read)
        if not _small_chance(low, t, read):
            continue
        high = 0
        while _small_chance(1, 1, read):
            high += 1
        size = (low + t * high) // s
        negative = uniform_number(2, read) == 1
        if size or not negative:
            return -size if negative else size


def gaussian_number(p: int, q: int, t: int, read: Read) -> int:
    """`P(z)` proportional to `exp(-z^2 q / (2 p))`, from Laplace numbers of scale t, best `floor(sqrt(p / q)) + 1`
    (algorithm 3)."""
    while True:
        z = laplace_number(1, t, read)
        if exp_chance((abs(z) * q * t - p) ** 2, 2 * p * q * t * t, read):
            return z


@dataclass(frozen=True)
class ByteLaplace:
    """Discrete Laplace noise of a rational rate."""

    rate: Fraction

    @property
    def numbers(self) -> tuple[int, int]:
        """s, t of `laplace_number`."""
        return self.rate.numerator, self.rate.denominator

    def draw(self, read: Read) -> int:
        """One number."""
        return laplace_number(*self.numbers, read)


@dataclass(frozen=True)
class ByteGaussian:
    """Discrete Gaussian noise of a rational variance."""

    variance: Fraction

    @property
    def numbers(self) -> tuple[int, int, int]:
        """p, q, t of `gaussian_number`."""
        p, q = self.variance.numerator, self.variance.denominator
        return p, q, math.isqrt(p // q) + 1

    def draw(self, read: Read) -> int:
        """One number."""
        return gaussian_number(*self.numbers, read)


# A mechanism as a few lines of text that a program in another language releases from, and what it has to come to.
#
# A portable file holds whole numbers, one item a line, fields apart by tabs: the law of each number of noise, the matrix in
# steps, and the release file in pieces, with places for the time, the whole numbers and the answers. No JSON has to be read,
# and none to be put in order. The format and the rules in words: docs/guides/other_languages.md.


PORTABLE_VERSION = 1
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


def portable_text(mechanism: FrozenMechanism) -> str:
    """Write the portable file of a mechanism; `InvalidProblem`, with the reason, where there is none.

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


def require_portable(mechanism: FrozenMechanism) -> AdditiveMechanism:
    """The mechanism, if a release of it takes nothing but whole numbers; refused with the reason otherwise."""
    law = noise_document(mechanism)["law"]["kind"]
    if not isinstance(mechanism, AdditiveMechanism) or law not in BYTE_LAWS:
        raise InvalidProblem(
            f"mechanism: its noise, of the law {law!r}, is not drawn one number by one; other languages release from discrete "
            f"Laplace and discrete Gaussian noise on a grid (family laplace, and gaussian with independent noise)."
        )
    zeros = mechanism._release_of([0] * len(mechanism.grid.exponents))
    if mechanism.norm.silent.any() or zeros.multiples is None:
        raise InvalidProblem("mechanism: publishes numbers without noise, which other languages do not; release it here.")
    relation = mechanism.relation
    if relation.impossible or relation.agreeing is not None or zeros.kept is not None:
        raise InvalidProblem("mechanism: keeps public statistics, which other languages do not check; release it here.")
    entries = int(counted(mechanism.integers).sum()) + (
        0 if mechanism.reconstruction is None else mechanism.reconstruction.size
    )
    if entries > MOST_EXPORTED_ENTRIES:
        raise InvalidProblem(
            f"mechanism: has {entries} entries to write out, more than {MOST_EXPORTED_ENTRIES}; release it here."
        )
    return mechanism


def _integers(made: AdditiveMechanism) -> NDArray[np.int64]:
    """The measured matrix in steps, written out."""
    return made.integers if isinstance(made.integers, np.ndarray) else written_out(made.integers).astype(np.int64)


def byte_laws(mechanism: AdditiveMechanism) -> list[ByteLaplace | ByteGaussian]:
    """The law of each measured number, in steps."""
    law = noise_document(mechanism)["law"]
    numbers = law["rates" if law["kind"] == "discrete_laplace" else "variances"]
    return [BYTE_LAWS[law["kind"]](Fraction(number)) for number in numbers]


def portable_noise(mechanism: FrozenMechanism, random: bytes) -> tuple[list[int], int]:
    """Compute the noise in steps, one number for each measured answer, that these bytes stand for, and how many of them it
    took. For test vectors: noise from bytes that anybody knows hides nothing.

    Parameters
    ----------
    mechanism : with independent noise of each answer.
    random : the bytes that the noise is made of.
    """
    given = GivenBytes(random)
    return [law.draw(given) for law in byte_laws(require_portable(mechanism))], given.used


def release_vectors(mechanism: FrozenMechanism, histograms: Sequence[Sequence[int]] = (), *, seed: int = 1) -> dict[str, Any]:
    """Compute what a program in another language has to come to: whole numbers and release files for known bytes and counts.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    histograms : counts in the order of the elements; a few where none are given.
    seed : of the bytes, SHA-256 of "dp-designer SEED CASE BLOCK" block after block.
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
