"""Channels for a person's own device: a table and a sampler of a few lines, in JavaScript for pages and in C.

Both draw as `uniform_below` of `designer.sampling.integer_samplers` does: 8 random bytes, the first the lowest, whose leading
bits are a whole number; if it is not below the denominator, they are drawn again. All ends of the row are compared, whatever
the number is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from designer.base.errors import InvalidProblem
from designer.certified.frozen import Specified
from designer.mechanisms.channel.mechanism import MOST_ENTRIES, Channel

MOST = 2**53  # whole numbers that JavaScript holds exactly
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


def device_text(mechanism: Specified, language: str) -> str:
    """A channel as a program: "javascript" or "c". `InvalidProblem` for other mechanisms, and for denominators above 2^53."""
    if not isinstance(mechanism, Channel):
        raise InvalidProblem(
            f"export: a {mechanism.format} is released where the data are, and not on the device of each person; design a "
            "ReportProblem."
        )
    if mechanism.denominator > MOST:
        raise InvalidProblem(
            f"export: the denominator has {mechanism.denominator.bit_length()} bits, more than JavaScript holds exactly; "
            "design the channel again, whose denominator is then 2^48."
        )
    entries = len(mechanism.elements) * len(mechanism.reports)
    if entries > MOST_ENTRIES:
        raise InvalidProblem(
            f"export: {entries} probabilities, more than {MOST_ENTRIES} that a program of a device writes out; let the device "
            "load the spec, or merge values."
        )
    ends = [list(accumulate(row)) for row in mechanism.numerators]
    elements, reports = list(map(str, mechanism.elements)), list(map(str, mechanism.reports))
    shared = {
        "fingerprint": mechanism.fingerprint,
        "total": mechanism.denominator,
        "bits": (mechanism.denominator - 1).bit_length(),
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
