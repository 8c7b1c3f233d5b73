#!/usr/bin/env python3
"""A second, independent check of what a spec of dp-designer promises: one file, Python 3.11's standard library.

    python3 standalone.py SPEC [RELEASE]        exit 0: holds; 4: does not hold; 3: cannot be checked here; 2: no file
    python3 standalone.py --functions SPEC      the same, and which functions ran: nothing else decides about this spec
    python3 standalone.py --json SPEC           the same as one object of JSON; - in the place of a file is standard input

It imports nothing of the project, and shares with it only the sentences that guarantees must say; copy it anywhere. Contents:

  1  verdicts                  a file holds, does not hold, or is named as one that this program cannot check
  2  strict JSON               one meaning for every byte: no key twice, no NaN, numbers are binary64; readers of closed forms
  3  exact mathematics         roots, exp, the normal distribution and gauges, in fractions and in whole numbers with bounds
  4  norms                     ||u|| of one vector, as a fraction
  5  relations                 the budget of one pair, as a fraction rounded down, and the sentence that says so
  6  pairs, additive noise     every pair, one by one: ||u|| <= b
  7  own reports               every report of every pair: n <= e^b m
  8  integer tables            every change that keeps published statistics
  9  selections                how far a change pulls the scores of two candidates apart
 10  marginal tables           every kind of change: a sum over subsets of attributes
 11  structured queries        products of integer matrices of single attributes
 12  staircases                the cheapest walks, and stairs of one number
 13  synthetic data            how far a change moves the stand-in queries, and what all rounds spend
 14  tests of odds ratios      a tradeoff function that is symmetric
 15  table plans               what one record costs each query, and what a split row costs all of them
 16  what the file says        fingerprint, seal, guarantee, certificate: field by field
 17  releases                  that the numbers could have been drawn, and the answers that follow
 18  ledgers                   a chain of entries, and that no data set was charged more than its total
 19  sentences                 what guarantees say, as plain text with places for numbers
 20  the command

For one spec, read what --functions names; for all, 1 to 6 and 16, then the format at hand; 19 is there to be looked up. What is
believed: Python's integers, fractions, hashes, and its reading of decimals as binary64; and fourteen lemmas. Each is stated
where it is used, L1 to L14; they are proven in the project's docs/theory: foundations.md, 1 and 4 (L1 to L3), approximate.md, 1
(L4), invariants.md, 1 (L5), selection.md, 2 (L7), marginals.md, 2 (L8), structured.md, 2 (L9), staircase.md, 1 (L10),
synthetic.md, 2 (L11), tradeoff.md, 7 (L12), tables.md, 1 to 4 (L13) and composition.md, 2 to 4 (L14); L6 is the triangle
inequality. No float takes part in a proof.

Of a certificate, which is the designer's account of its own proof, the worst ratio alone is compared: the proof is found anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import sys
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, pairwise, permutations, product
from pathlib import Path
from types import SimpleNamespace

# ------------------------------------------------------------------------------------------------------------------ 1 verdicts


class DoesNotHold(Exception):
    """The file says what its numbers do not prove, or is no file of this form."""


class CannotCheck(Exception):
    """Nothing is known to be wrong, and nothing is said to hold: this program does not check such files."""


def require(condition, sentence):
    """Refuse the file."""
    if not condition:
        raise DoesNotHold(sentence)


def only(condition, sentence):
    """Leave the file to others."""
    if not condition:
        raise CannotCheck(sentence)


# --------------------------------------------------------------------------------------------------------------- 2 strict JSON

SIZE_LIMIT = 256 * 2**20  # bytes of a file
MOST_PAIRS, MOST_WORK = 400_000, 30_000_000  # pairs, and products of entries, that are looked at one by one
MOST_ENTRIES = 2**20  # of a list, and of described rows that are not 0
MOST_IN_RUNS = 8 * MOST_ENTRIES  # entries that all runs of a file stand for
DIGITS = Fraction(1, 10**9)  # how far answers may be off: other languages write 15 digits
NEAR = Fraction(1, 1 << 40)  # how far a worst ratio may be off that another machine found with floats
SMALLEST, LARGEST = 1e-60, 1e60  # every number but 0 lies between: what is outside is left to the project's own verifier

# Characters that break a line, move the cursor, turn the direction of text or cannot be seen.
UNSEEN = re.compile(
    "["
    "\\x00-\\x1f\\x7f-\\xa0\\xad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f"
    "\\u2800\\u3000\\u3164\\ud800-\\udfff\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\U00013430-\\U0001345f\\U00016fe4"
    "\\U0001bca0-\\U0001bca3\\U0001d159\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
    "]"
)


def read_json(content):
    """The object in these bytes. Two readers of one file must not read two things: a key stands once in an object, NaN and
    infinity are no numbers, and a decimal that is no binary64 number after rounding to the nearest is refused."""

    def distinct(pairs):
        require(len({key for key, _ in pairs}) == len(pairs), "an object has the same key twice")
        return dict(pairs)

    def finite(text):
        number = float(text)
        require(math.isfinite(number), f"the number {text[:30]} is beyond binary64")
        return number

    def constant(name):
        raise DoesNotHold(f"the bare word {name} is not JSON")

    require(len(content) <= SIZE_LIMIT, "the file is larger than 256 MiB")
    try:
        written = content.decode("utf-8-sig")
        data = json.loads(written, object_pairs_hook=distinct, parse_float=finite, parse_constant=constant)
        if "\\ud" in written.lower():  # half of a surrogate pair is no text
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise DoesNotHold(f"this is not JSON: {error}") from None
    require(isinstance(data, dict), "this is no JSON object")
    return data


def digest(data):
    """SHA-256 of the data with keys sorted and no spaces."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def seal_of(data):
    """The seal: of everything but the seal."""
    return digest({key: value for key, value in data.items() if key != "seal"})


def fields(data, where, /, optional=(), **readers):
    """The values of an object with exactly these keys, each read by its reader; of an optional key that is missing, None.
    A reader is a function of a value and of where it stands; it returns what the value means, or refuses it."""
    require(isinstance(data, dict), f"{where}: is no object")
    missing, unknown = set(readers) - set(data) - set(optional), set(data) - set(readers)
    require(not missing and not unknown, f"{where}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    require(all(data.get(key, "") is not None for key in optional), f"{where}: an optional key is null")
    return SimpleNamespace(**{k: read(data[k], f"{where}.{k}") if k in data else None for k, read in readers.items()})


def anything(value, where):
    """Read elsewhere, or a note."""
    return value


def text(value, where):
    """A text."""
    require(type(value) is str, f"{where}: {value!r} is no text")
    return value


def boolean(value, where):
    """true or false."""
    require(type(value) is bool, f"{where}: {value!r} is no boolean")
    return value


def one_of(*known):
    """One of these values."""

    def read(value, where):
        require(any(type(value) is type(one) and value == one for one in known), f"{where}: {value!r} is unknown")
        return value

    return read


def number(value, where):
    """A binary64 number as the fraction that it is. Only what is written as a float counts as one: the same number written as 1
    and as 1.0 would have two fingerprints."""
    require(type(value) is float, f"{where}: {value!r} is no float")
    only(value == 0 or SMALLEST <= abs(value) <= LARGEST, f"{where}: {value!r} is beyond 1e-60 to 1e60")
    return Fraction(value)


def positive(value, where):
    """A number above 0."""
    require(number(value, where) > 0, f"{where}: {value!r} is not positive")
    return Fraction(value)


def not_negative(value, where):
    """A number from 0 on; -0.0 is none."""
    require(number(value, where) >= 0 and math.copysign(1, value) > 0, f"{where}: {value!r} is negative")
    return Fraction(value)


def endless(read):
    """What `read` reads, or infinity: the text inf."""
    return lambda value, where: math.inf if type(value) is str and value == "inf" else read(value, where)


def budget(value, where):
    """A number above 0, or infinity."""
    return endless(positive)(value, where)


def whole(least=0, most=10**9):
    """A whole number; true and false are none."""

    def read(value, where):
        within = type(value) is int and least <= value <= most
        require(within, f"{where}: {value!r} is no whole number from {least} to {most}")
        return value

    return read


def integer(value, where):
    """Any whole number."""
    require(type(value) is int, f"{where}: {value!r} is no whole number")
    return value


def signed_ratio(value, where):
    """A fraction written as 3/4, or as 3."""
    shaped = type(value) is str and re.fullmatch("-?[0-9]{1,300}(/[1-9][0-9]{0,299})?", value)
    require(shaped and str(Fraction(value)) == value, f"{where}: {value!r} is no fraction in lowest terms")
    return Fraction(value)


def ratio(value, where):
    """A fraction that is at least 0."""
    require(signed_ratio(value, where) >= 0, f"{where}: {value!r} is negative")
    return Fraction(value)


def or_null(read):
    """What `read` reads, or null."""
    return lambda value, where: None if value is None else read(value, where)


def array(read, count=None, least=1):
    """A list of so many entries, each read by `read`."""

    def entries(value, where):
        require(isinstance(value, list) and len(value) >= least, f"{where}: is no list of at least {least}")
        require(count is None or len(value) == count, f"{where}: has {len(value)} entries, {count} are needed")
        return [read(entry, where) for entry in value]

    return entries


def matrix(read=number, rows=None, columns=None):
    """A list of rows of one length."""

    def entries(value, where):
        found = array(array(read, columns), rows)(value, where)
        require(len({len(row) for row in found}) == 1, f"{where}: has rows of different lengths")
        return found

    return entries


def names(value, where):
    """Different names."""
    found = array(anything)(value, where)
    require(all(type(name) is str for name in found), f"{where}: a name is no text")
    require(len(set(found)) == len(found), f"{where}: has a name twice")
    return found


def long(value, where, entries):
    """A list, or its runs [a, b, times] written out, by entries(a, b, times); a text in place of a run is itself."""
    if not isinstance(value, dict):
        return value
    made = []
    for run in fields(value, where, runs=array(anything)).runs:
        if type(run) is str:
            made.append(run)
            continue
        require(isinstance(run, list) and len(run) == 3 and type(run[1]) is int, f"{where}: no runs")
        times = whole(1, 2**31)(run[2], where)
        only(len(made) + times <= MOST_ENTRIES, f"{where}: more than {MOST_ENTRIES} entries")
        made += entries(run[0], run[1], times)
    return made


def in_runs(data):
    """How many entries the runs in nested data stand for."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    own = length(data) if isinstance(data, dict) and set(data) == {"runs"} else 0
    return own + sum(map(in_runs, inside))


def length(value):
    """How many entries a list has, or its runs have that are not written out."""
    runs = value.get("runs") if isinstance(value, dict) else None
    if not isinstance(runs, list):
        return len(value) if isinstance(value, list) else 0
    return sum(run[2] for run in runs if isinstance(run, list) and len(run) == 3 and type(run[2]) is int)


def listed(read):
    """A list whose entries `read` reads, or its runs. A run repeats its first entry, which is read once, or steps from there in
    whole numbers: as every reader of these asks for an interval, all are within it if the first and the last are."""

    def entries(value, where):
        def written_out(first, step, times):
            require(type(first) is int or step == 0, "runs: only whole numbers step")
            made = read(first, where)
            if step:
                read(first + step * (times - 1), where)
                return range(first, first + step * times, step)
            return [made] * times

        return long(value, where, written_out) if isinstance(value, dict) else array(read)(value, where)

    return entries


def numbered(value, where):
    """Different names; a run of them ends in rising numbers."""

    def written_out(stem, first, times):
        text(stem, where), whole()(first, where)
        return [f"{stem}{k}" for k in range(first, first + times)]

    return names(long(value, where, written_out), where)


def once(make, *lists):
    """What `make` makes of the entries of lists, once of the same objects: runs are of few."""
    known = {}
    return [
        known[key] if (key := tuple(map(id, entries))) in known else known.setdefault(key, make(*entries))
        for entries in zip(*lists, strict=False)
    ]


def distinct(values):
    """The different objects among values, in their order: runs are of few."""
    return {id(value): value for value in values}.values()


# --------------------------------------------------------------------------------------------------------- 3 exact mathematics

BITS = 480  # of numbers between bounds: [low, high] stands for low / 2^480 to high / 2^480
ONE = 1 << BITS


def root_below(square):
    """A fraction r with sqrt(square) (1 - 2^-80) <= r <= sqrt(square)."""
    shift = 88 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(math.isqrt((square.numerator << 2 * shift) // square.denominator), 1 << shift)


def root_above(square):
    """A fraction r with sqrt(square) <= r <= sqrt(square) (1 + 2^-78)."""
    low = root_below(square)
    return low if low * low == square else low * (1 + Fraction(1, 1 << 79))


def float_above(value):
    """The smallest binary64 number at least `value`."""
    nearest = float(value)
    return nearest + 0.0 if Fraction(nearest) >= value else math.nextafter(nearest, math.inf) + 0.0


def between(value):
    """The bounds of a fraction."""
    low = (value.numerator << BITS) // value.denominator
    return low, low + (low * value.denominator != value.numerator << BITS)


def times(one, other):
    """Bounds of the product."""
    products = [a * b for a in one for b in other]
    return min(products) >> BITS, -(-max(products) >> BITS)


def exp(value):
    """Bounds of e^value. With x = value / 2^k, |x| <= 1/2: the first n terms of the series, the rest being at most twice the
    next term; then k squarings. Every step rounds outwards."""
    k = max(0, (abs(value.numerator) // value.denominator).bit_length() + 1)
    x = between(value / (1 << k))
    total, term, n = (ONE, ONE), (ONE, ONE), 0
    while max(map(abs, term)) > 1:
        n += 1
        low, high = times(term, x)
        term = low // n, -(-high // n)
        total = total[0] + term[0], total[1] + term[1]
    total = total[0] - 4, total[1] + 4
    for _ in range(k):
        total = times(total, total)
    return total


def middle(bounds):
    """A fraction between two bounds, for what is told and proves nothing."""
    return Fraction(sum(bounds), 2 * ONE)


def root_of_two_pi():
    """Bounds of sqrt(2 pi), by Machin: pi / 4 = 4 arctan(1/5) - arctan(1/239); the series alternate, so two sums bound each."""

    def arctan(n):
        total, power, k, sign = 0, ONE // n, 1, 1
        while power:
            total, power, k, sign = total + sign * (power // k), power // (n * n), k + 2, -sign
        return total, k  # every term and every power is rounded down: off by less than k

    (a, more), (b, less) = arctan(5), arctan(239)
    two_pi, off = 8 * (4 * a - b), 80 * (more + less)
    return math.isqrt((two_pi - off) << BITS), math.isqrt((two_pi + off) << BITS) + 1


def normal(x):
    """Bounds of Phi(x) = 1/2 + (sum_n (-1)^n x^(2n+1) / (2^n n! (2n+1))) / sqrt(2 pi). Once terms fall, they alternate."""
    only(abs(x) <= 20, "a normal tail beyond 20 deviations")
    point = between(abs(x))
    square = times(point, point)
    term, total, n = point, point, 0
    while n <= x * x or max(map(abs, term)) > 1:
        n += 1
        low, high = times(term, square)
        term = low // (2 * n), -(-high // (2 * n))
        own = term[0] // (2 * n + 1), -(-term[1] // (2 * n + 1))
        total = (total[0] - own[1], total[1] - own[0]) if n % 2 else (total[0] + own[0], total[1] + own[1])
    total, root = (total[0] - 2, total[1] + 2), root_of_two_pi()
    low, high = max(0, total[0]) * ONE // root[1], total[1] * ONE // root[0] + 1
    return (ONE // 2 - high, ONE // 2 - low) if x < 0 else (ONE // 2 + low, ONE // 2 + high)


def allowed_length(falloff, budget, delta):
    """L4: how long u may be for (b, delta), rounded down. Exponential noise: e^m (1 - delta) <= e^b + delta, because a pure
    promise of m is (b, delta) for delta = (e^m - e^b) / (1 + e^m). Rounded normal noise: Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m)
    <= delta (Balle and Wang 2018, Theorem 8), which grows with m; rounding is post-processing."""
    only(budget <= 40 and Fraction(1, 10**30) <= delta <= Fraction(1, 2), "a budget above 40 or a delta beyond 1e-30 to 1/2")
    grown, slack = exp(budget), between(delta)

    def below(m):
        """Whether this length is proven to be allowed."""
        m = Fraction(m)
        if falloff == "exponential":
            return times(exp(m), between(1 - delta))[1] <= grown[0] + slack[0]
        if m / 2 + budget / m > 20:  # of budgets up to 40 the first is then below Phi(-17), or m / 2 above budget / m
            return m / 2 < budget / m
        first, second = normal(m / 2 - budget / m), normal(-m / 2 - budget / m)
        return first[1] - times(grown, second)[0] <= slack[0]

    low = 1.0
    while below(low):
        low *= 2
    while not below(low):
        low /= 2
    high = low * 2  # the largest binary64 number for which it is proven, by bisection
    while math.nextafter(low, high) < high:
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return Fraction(low)


def reduced(rows):
    """Gauss-Jordan elimination: {column: row}, as many as the rank; each is 1 at its own column and 0 at the others."""
    found = {}
    for row in rows:
        row = list(map(Fraction, row))
        for k, own in found.items():
            if row[k]:
                row = [a - row[k] * b for a, b in zip(row, own, strict=True)]
        pivot = next((k for k, c in enumerate(row) if c), None)
        if pivot is None:
            continue
        row = [c / row[pivot] for c in row]
        for k, own in found.items():
            if own[pivot]:
                found[k] = [a - own[pivot] * b for a, b in zip(own, row, strict=True)]
        found[pivot] = row
    return found


def echelon(rows):
    """Whole vectors that generate the same sums as these, {column of the first entry that is not 0: row}, by Euclid."""
    found, rows = {}, [list(row) for row in rows if any(row)]
    for k in range(len(rows[0]) if rows else 0):
        while sum(1 for row in rows if row[k]) > 1:
            pivot = min((row for row in rows if row[k]), key=lambda row: abs(row[k]))
            rows = [r if r is pivot else [a - r[k] // pivot[k] * b for a, b in zip(r, pivot, strict=True)] for r in rows]
        left = [row for row in rows if not row[k]]
        if len(left) < len(rows):
            found[k] = next(row for row in rows if row[k])
        rows = left
    return found


def is_sum(wanted, rows):
    """Whether a whole vector is a sum of whole multiples of these."""
    left = list(wanted)
    for k, row in echelon(rows).items():
        left = [a - left[k] // row[k] * b for a, b in zip(left, row, strict=True)]
    return not any(left)


def gauge(points, v):
    """The least sum |c_m| with sum c_m points_m = v: by duality of linear programs the largest a . v over all a with
    |a . points_m| <= 1. The simplex method in fractions from a = 0, with Bland's rule, which ends. Infinite: no such sum."""
    size = len(v)
    rows = [[*p, *(-c for c in p)] for point in points for p in (point, [-c for c in point])]
    count = len(rows)
    table = [[*row, Fraction(1)] for row in rows]  # columns of the nonbasic variables, and the right side
    cost = [*v, *(-c for c in v), Fraction(0)]
    basic, outside = list(range(2 * size, 2 * size + count)), list(range(2 * size))
    while True:
        entering = min((k for k in range(2 * size) if cost[k] > 0), key=lambda k: outside[k], default=None)
        if entering is None:
            return -cost[-1]
        bounds = [(row[-1] / row[entering], basic[i], i) for i, row in enumerate(table) if row[entering] > 0]
        if not bounds:
            return math.inf
        leaving = min(bounds)[2]
        pivot = table[leaving]
        divisor = pivot[entering]
        pivot[entering] = Fraction(1)
        table[leaving] = pivot = [entry / divisor for entry in pivot]
        for row in [*table[:leaving], *table[leaving + 1 :], cost]:
            factor, row[entering] = row[entering], Fraction(0)
            if factor:
                for k, entry in enumerate(pivot):
                    row[k] -= factor * entry
        basic[leaving], outside[entering] = outside[entering], basic[leaving]


# --------------------------------------------------------------------------------------------------------------------- 4 norms


class Norm:
    """||u||, a fraction that is rounded up where it is a root, of u = {coordinate: whole number of its steps, not 0}.

    silent: the coordinates without noise; ||u|| is infinite where u moves one. rates: for each of the others, how much one step
    counts at least. work: how many products a length takes, roughly."""

    def __init__(self, spec, falloff, steps):
        require(isinstance(spec, dict), "norm: is no object")
        self.order, self.steps, self.work, self.weights = spec.get("order"), steps, 1, None
        forms = {
            "l1": self.weighted, "l2": self.weighted, "linf": self.weighted, "capped_l1": self.capped, "gauge": self.single,
            "bundles": self.bundles,
        }  # fmt: skip
        require(type(self.order) is str and self.order in forms, f"norm.order: {self.order!r} is unknown")
        if self.order == "l2" and isinstance(spec.get("map"), list) and spec["map"] and isinstance(spec["map"][0], list):
            self.ellipsoid(spec)
        else:
            forms[self.order](spec)
        require(len(self.silent) == len(steps), "norm: not one coordinate for each step")
        require(falloff == "exponential" or self.order == "l2", "norm: this fall-off is proven for l2 norms only")

    def length(self, u):
        """||u||."""
        return math.inf if any(self.silent[k] for k in u) else self.measure(u)

    def read_weights(self, value, read):
        """One weight for each coordinate, infinite where there is no noise; counted in steps from here on, as whole numbers of
        one unit, or of its square under an l2 norm."""
        weights = read(value, "norm.map")
        self.silent = [w is math.inf for w in weights]
        self.power = 2 if self.order == "l2" else 1
        rates = once(lambda w, step: None if w is math.inf else w * step, weights, self.steps)
        self.rates = [rate for rate in rates if rate is not None]
        scaled = once(lambda rate: 0 if rate is None else rate**self.power, rates)
        self.unit = math.lcm(*{w.denominator for w in scaled})
        self.weights = once(lambda w: w.numerator * (self.unit // w.denominator), scaled)
        self.lengths = {}

    def total(self, u):
        """The sum of all |w_k u_k|, or of their squares, in units."""
        return sum(self.weights[k] * abs(c) ** self.power for k, c in u.items())

    def root(self, total):
        """The length that has this total."""
        if total not in self.lengths:
            self.lengths[total] = Fraction(total, self.unit) if self.power == 1 else root_above(Fraction(total, self.unit))
        return self.lengths[total]

    def largest(self, u):
        """The largest |w_k u_k|."""
        return Fraction(max((self.weights[k] * abs(c) for k, c in u.items()), default=0), self.unit)

    def weighted(self, spec):
        """l1, l2 and maximum norms with a weight for each coordinate."""
        self.read_weights(fields(spec, "norm", order=text, map=anything).map, listed(budget))
        self.measure = self.largest if self.order == "linf" else lambda u: self.root(self.total(u))
        self.sentence = TEXT[f"norm {self.order}"]

    def capped(self, spec):
        """The larger of the maximum norm and an l1 norm over a cap."""
        own = fields(spec, "norm", order=text, map=anything, cap=positive)
        self.read_weights(own.map, array(budget))
        only(own.cap <= 4 * len(self.silent), "a cap far above the number of coordinates")
        self.measure = lambda u: max(self.root(self.total(u)) / own.cap, self.largest(u))
        self.sentence = sentence("norm capped_l1", cap=f"{float(own.cap):.4g}", sides=len(self.rates))

    def ellipsoid(self, spec):
        """|A u|, A square and invertible on the coordinates with noise."""
        rows = fields(spec, "norm", order=text, map=matrix(endless(number))).map
        self.silent = [all(entry == math.inf for entry in column) for column in zip(*rows, strict=True)]
        heard = [k for k, quiet in enumerate(self.silent) if not quiet]
        require(all(row[k] != math.inf for row in rows for k in heard), "norm.map: a column is infinite in part")
        rows = [[row[k] * self.steps[k] for k in heard] for row in rows]
        require(len(rows) == len(heard) == len(reduced(rows)) and heard, "norm.map: is not an invertible square matrix")
        place, self.work = {k: n for n, k in enumerate(heard)}, len(rows) ** 2
        self.rates = [max(map(abs, column)) for column in zip(*rows, strict=True)]

        def measure(u):
            images = (sum((row[place[k]] * c for k, c in u.items()), Fraction(0)) for row in rows)
            return root_above(sum((image * image for image in images), Fraction(0)))

        self.measure, self.sentence = measure, TEXT["norm l2"]

    def body(self, spec, places):
        """The points u_m / b_m scale, in steps, of the body whose gauge is meant, and which coordinates they move."""
        known = {"order": one_of("gauge"), "differences": matrix(), "budgets": array(positive), "scale": positive}
        own = fields(spec, "norm", **known)
        rows = own.differences
        require(len(own.budgets) == len(rows), "norm.budgets: not one for each difference")
        moving = [k for k, column in enumerate(zip(*rows, strict=True)) if any(column)]
        steps = [self.steps[k if places is None else places[k]] for k in moving]
        points = set()
        for row, b in zip(rows, own.budgets, strict=True):
            point = tuple(own.scale * row[k] / b / step for k, step in zip(moving, steps, strict=True))
            if any(point):
                points.add(max(point, tuple(-c for c in point)))  # one of each pair of opposites
        require(moving and len(reduced(points)) == len(moving), "norm.differences: do not span the coordinates they move")
        only(len(points) <= 120 and len(moving) <= 8, "norm: a gauge of more than 120 vectors or 8 coordinates")
        self.work += 40 * len(points) * len(moving) ** 2
        return sorted(points), moving, len(rows[0])

    def single(self, spec):
        """The gauge of one body."""
        points, moving, size = self.body(spec, None)
        self.silent = [k not in moving for k in range(size)]
        self.rates = [1 / max(abs(p[i]) for p in points) for i in range(len(moving))]
        self.measure = lambda u: gauge(points, [Fraction(u.get(k, 0)) for k in moving])
        self.sentence = TEXT["norm gauge"]

    def bundles(self, spec):
        """The sum, or the largest, of gauges of disjoint coordinates."""
        known = {"order": text, "combine": one_of("sum", "max"), "size": whole(1, 10**5), "bundles": array(anything)}
        own, parts = fields(spec, "norm", **known), []
        for bundle in own.bundles:
            part = fields(bundle, "norm.bundles", places=array(whole(0, own.size - 1)), gauge=anything)
            require(part.places == sorted(part.places), "norm.places: unsorted")
            points, moving, width = self.body(part.gauge, part.places)
            require(width == len(moving) == len(part.places), "norm.bundles: differences and places do not fit")
            parts.append((part.places, points))
        taken = [k for places, _ in parts for k in places]
        require(len(set(taken)) == len(taken), "norm.bundles: a place twice")
        require([p for p, _ in parts] == sorted(p for p, _ in parts), "norm.bundles: not sorted")
        self.silent = [k not in taken for k in range(own.size)]
        self.rates = [1 / max(abs(p[i]) for p in points) for places, points in parts for i in range(len(places))]
        combine = max if own.combine == "max" else sum
        self.measure = lambda u: combine(gauge(points, [Fraction(u.get(k, 0)) for k in places]) for places, points in parts)
        self.sentence = sentence("norm bundles", how={"max": "largest", "sum": "sum"}[own.combine], count=len(parts))


# ----------------------------------------------------------------------------------------------------------------- 5 relations


def shortest_paths(count, edges):
    """The length of the shortest path between all pairs, edges {(i, j): length}; infinite where there is none."""
    only(count <= 150, f"shortest paths between {count} elements, of more than 150")
    d = [[Fraction(0) if i == j else math.inf for j in range(count)] for i in range(count)]
    for (i, j), length in edges.items():
        d[i][j] = d[j][i] = min(length, d[i][j])
    for k, i in product(range(count), repeat=2):
        if d[i][k] != math.inf:
            for j in range(count):
                if d[k][j] != math.inf and d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d


class Relation:
    """size: the number of elements. budget(i, j): of two different elements, rounded down where it is irrational, infinite
    where the change is not protected. origin(i): of a record of element i that appears; `absent`: whether that is protected.
    changes: of published statistics, all protected changes of the histogram with their `costs`, in place of pairs.
    alone: records change in groups of columns, each a relation of its own. sentence: what guarantees say of it.

    Each kind below reads its keys and sets these. Wherever one is a metric, a change is one of a single record."""

    absent, alone, changes, attributes, found = False, False, None, None, None

    def __init__(self, spec, where, depth=1, written_out=True):
        require(isinstance(spec, dict) and type(spec.get("kind")) is str, "relation.kind: is missing")
        require(depth <= 8, "relation: is nested more than 8 deep")
        self.spec, self.kind, self.depth, self.written_out = spec, spec["kind"], depth, written_out
        make = getattr(self, f"kind_{self.kind}", None)
        only(make, f"relation.kind: {self.kind!r} is not one that this program checks")
        only("by_length" not in spec and "by_exchanges" not in spec, "changes that are known without a list of them")
        make()
        most = MOST_ENTRIES if depth == 1 and self.kind in ("uniform", "add_remove") else 2000
        only(self.size <= most or not written_out, f"a relation on {self.size} elements, of more than {most}")

    def read(self, **readers):
        """The values of the keys beside the kind."""
        return fields(self.spec, f"relation {self.kind}", kind=text, **readers)

    def inside(self, spec, where):
        """A reader: of a metric within this relation."""
        part = Relation(spec, where, self.depth + 1)
        require(not part.absent and not part.alone and part.changes is None, f"{where}: only metrics go inside another")
        return part

    def say(self, **values):
        """The sentence of this kind."""
        self.sentence = sentence(f"relation {self.kind}", **values)

    def say_parts(self, called, parts, **values):
        """The sentence of a relation with others inside."""
        said = "; ".join(f"{name} ({part.sentence.removesuffix('.')})" for name, part in zip(called, parts, strict=True))
        self.say(parts=said, count=len(parts), **values)

    def kind_uniform(self):
        """b(i, j) = epsilon."""
        own = self.read(elements=whole(1), epsilon=positive)
        self.size, self.budget = own.elements, lambda i, j: own.epsilon
        self.say(epsilon=own.epsilon)

    def kind_matrix(self):
        """b(i, j) = d[i][j], as written."""
        own = self.read(budgets=matrix(endless(not_negative)), closure=boolean)
        only(not own.closure, "a matrix of budgets that is to be closed by shortest paths")
        d, size = own.budgets, len(own.budgets)
        require(all(len(row) == size for row in d) and not any(d[i][i] for i in range(size)), "relation.budgets: no metric")
        only(
            all(d[i][j] == d[j][i] for i, j in combinations(range(size), 2)), "budgets that are not symmetric to the last digit"
        )
        for i, k, j in product(range(size), repeat=3):  # up to rounding of the entries; every one is certified by itself
            require(d[i][j] <= (d[i][k] + d[k][j]) * (1 + Fraction(1, 2**31)), "relation.budgets: a way round costs less")
        known = [b for i, row in enumerate(d) for j, b in enumerate(row) if i != j and b != math.inf]
        self.size, self.budget = size, lambda i, j: d[i][j]
        self.say(span=sentence("span", low=min(known), high=max(known)) if known else "all infinite")

    def kind_per_element(self):
        """b(i, j) = epsilon_i + epsilon_j."""
        own = self.read(epsilons=array(budget)).epsilons
        self.size, self.budget = len(own), lambda i, j: own[i] + own[j]
        self.say(low=min(own), high=max(own))

    def kind_instance(self):
        """b(i, j) = min(epsilon_i, epsilon_j); closed, at most twice the least epsilon."""
        read = self.read(epsilons=array(budget), closure=boolean)
        own, low = read.epsilons, min(read.epsilons)
        only(low != math.inf, "a relation that protects nothing")
        require(read.closure or len(own) < 3 or sorted(own)[-2] <= 2 * low, "relation.epsilons: a way round costs less")
        cap = 2 * low if read.closure else math.inf
        self.size, self.budget = len(own), lambda i, j: min(own[i], own[j], cap)
        also = f", but never more than {float(cap)!r} (the shortest-path closure)" if read.closure else ""
        self.say(low=low, high=max(own), also=also)

    def kind_partition(self):
        """b(i, j) = epsilon within a part, infinite between parts."""
        own = self.read(labels=array(text), epsilon=positive)
        self.size = len(own.labels)
        self.budget = lambda i, j: own.epsilon if own.labels[i] == own.labels[j] else math.inf
        self.say(epsilon=own.epsilon, parts=len(set(own.labels)))

    def points(self, measure):
        """Budgets by a distance of points, measured from the list of their differences."""
        own = self.read(points=matrix(), per_unit=positive)
        places, self.size = own.points, len(own.points)
        self.budget = lambda i, j: measure([abs(a - b) * own.per_unit for a, b in zip(places[i], places[j], strict=True)])
        self.say(rate=own.per_unit, count=len(places[0]), s="s" * (len(places[0]) != 1))
        require(len(places[0]) > 1 or self.kind == "euclidean", "relation.points: of one coordinate are written as euclidean")

    def kind_euclidean(self):
        """b(i, j) = per_unit times the Euclidean distance."""
        self.points(lambda apart: root_below(sum(a * a for a in apart)))

    def kind_chebyshev(self):
        """b(i, j) = per_unit times the largest difference of coordinates."""
        self.points(max)

    def kind_manhattan(self):
        """b(i, j) = per_unit times the sum of the differences of coordinates."""
        self.points(sum)

    def kind_line(self):
        """b(i, j) = |x_i - x_j| epsilon / period."""
        unit = one_of("unit", "day", "microsecond")
        own = self.read(values=array(number), period=positive, epsilon=positive, unit=unit)
        self.size = len(own.values)
        self.budget = lambda i, j: abs(own.values[i] - own.values[j]) * own.epsilon / own.period
        days = float(own.period) / 86400e6 if own.unit == "microsecond" else float(own.period)
        step = f"{days!r} of difference in value" if own.unit == "unit" else f"{days!r} days between them"
        self.say(epsilon=own.epsilon, step=step)

    def kind_graph(self):
        """b(i, j) = per_edge times the length of the shortest path."""
        ends, lengths = array(array(whole(), 2), least=0), array(positive, least=0)
        own = self.read(nodes=whole(1, 10**6), edges=ends, weights=lengths, per_edge=positive)
        only(own.edges, "a graph without edges")
        edges = [tuple(edge) for edge in own.edges]
        require(all(i < j < own.nodes for i, j in edges) and edges == sorted(set(edges)), "relation.edges: not in rising order")
        require(len(edges) == len(own.weights), "relation.weights: not one for each edge")
        d = shortest_paths(own.nodes, dict(zip(edges, own.weights, strict=True)))
        self.size, self.budget = own.nodes, lambda i, j: d[i][j] * own.per_edge
        low, high = min(own.weights), max(own.weights)
        self.say(edges=len(edges), nodes=own.nodes, low=low, high=high, rate=own.per_edge)

    def kind_blowfish(self):
        """b(i, j) = epsilon times the fewest steps of at most the threshold each."""
        own = self.read(ground=self.inside, threshold=positive, epsilon=positive)
        size = self.size = own.ground.size
        near = [pair for pair in combinations(range(size), 2) if own.ground.budget(*pair) <= own.threshold]
        hops = shortest_paths(size, dict.fromkeys(near, Fraction(1)))
        self.budget = lambda i, j: hops[i][j] * own.epsilon
        self.say(reach=own.threshold, epsilon=own.epsilon, ground=own.ground.sentence.removesuffix("."))

    def kind_smooth_threshold(self):
        """b(i, j) = epsilon max(1, ground(i, j) / threshold)."""
        own = self.read(ground=self.inside, threshold=positive, epsilon=positive)
        self.size = own.ground.size
        self.budget = lambda i, j: own.epsilon * max(1, own.ground.budget(i, j) / own.threshold)
        self.say(reach=own.threshold, epsilon=own.epsilon, ground=own.ground.sentence.removesuffix("."))

    def domain(self, own):
        """Reads the attributes, and returns for each element the places of its values: the last attribute runs fastest."""
        require(len(own.values) == len(own.attributes), "relation.values: one list for each attribute")
        self.attributes, self.values, self.size = own.attributes, own.values, math.prod(map(len, own.values))
        only(self.size <= 2000 or not self.written_out, f"a relation on {self.size} elements, of more than 2000")
        return list(product(*(range(len(values)) for values in own.values))) if self.written_out else None

    def kind_hamming(self):
        """b(i, j) = the sum of the budgets of the attributes that differ."""
        own = self.read(attributes=names, values=array(names), budgets=array(budget))
        codes, self.own = self.domain(own), own.budgets
        require(len(own.budgets) == len(own.attributes), "relation.budgets: one for each attribute")
        self.budget = lambda i, j: sum(b for b, one, other in zip(self.own, codes[i], codes[j], strict=True) if one != other)
        said = ", ".join(f"{name} {float(b)!r}" for name, b in zip(own.attributes, self.own, strict=True))
        self.say(budgets=said)

    def kind_product(self):
        """b(i, j) = the sum over attributes of what the part of each says."""
        own = self.read(attributes=names, values=array(names), parts=array(self.inside))
        codes, self.parts = self.domain(own), own.parts
        require([part.size for part in self.parts] == list(map(len, own.values)), "relation.parts: of other numbers of values")

        def of_pair(i, j):
            ends = zip(self.parts, codes[i], codes[j], strict=True)
            return sum(part.budget(one, other) for part, one, other in ends if one != other)

        self.budget = of_pair
        self.say_parts(own.attributes, self.parts)

    def combined(self, combine):
        """The budgets of several relations on the same elements, combined."""
        parts = self.read(parts=array(self.inside)).parts
        require(len({part.size for part in parts}) == 1, "relation.parts: speak of different numbers of elements")

        def of_pair(i, j):
            own = [part.budget(i, j) for part in parts]
            return math.inf if math.inf in own else combine(own)

        self.size, self.budget = parts[0].size, of_pair
        said = "; ".join(f"({n + 1}) {part.sentence.removesuffix('.')}" for n, part in enumerate(parts))
        self.say(parts=said)

    def kind_sum(self):
        """b(i, j) = the sum of the parts."""
        self.combined(sum)

    def kind_maximum(self):
        """b(i, j) = the largest of the parts."""
        self.combined(max)

    def kind_root_sum_squares(self):
        """b(i, j) = the root of the sum of the squares of the parts."""
        self.combined(lambda own: root_below(sum(b * b for b in own)))

    def kind_scaled(self):
        """b(i, j) = factor times the budget of the part."""
        own = self.read(factor=positive, part=self.inside)
        self.size, self.budget = own.part.size, lambda i, j: own.factor * own.part.budget(i, j)
        self.say(factor=own.factor, rule=own.part.sentence)

    def kind_restricted(self):
        """b(i, j) = the budget of the part for the chosen elements i and j."""
        own = self.read(part=self.inside, elements=array(whole()))
        part, chosen = own.part, own.elements
        require(len(set(chosen)) == len(chosen) and max(chosen) < part.size, "relation.elements: one twice, or none of them")
        self.size, self.budget = len(chosen), lambda i, j: part.budget(chosen[i], chosen[j])
        self.say(count=len(chosen), size=part.size, rule=part.sentence)

    def kind_taxonomy(self):
        """b(i, j) = the sum, or the largest, of the budgets of the levels at which the groups of i and j differ."""
        own = self.read(ancestors=array(array(whole(), least=0)), budgets=array(budget), form=one_of("sum", "max"))
        groups, levels, combine = own.ancestors, own.budgets, {"sum": sum, "max": max}[own.form]
        require(all(len(row) == len(levels) - 1 for row in groups), "relation.ancestors: one group for each level but the last")
        for level in range(len(levels) - 1):
            known, above = -1, {}
            for row in groups:
                require(row[level] <= known + 1, "relation.ancestors: not numbered as met")
                known = max(known, row[level])
                require(above.setdefault(row[level], row[:level]) == row[:level], "relation.ancestors: a group in two groups")

        def of_pair(i, j):
            shared = sum(one == other for one, other in zip(groups[i], groups[j], strict=True))
            return combine(levels[shared:])

        self.size, self.budget = len(groups), of_pair
        said = ", ".join(repr(float(b)) for b in levels)
        self.say(leaves=len(groups), levels=len(levels), how={"sum": "the sum", "max": "the largest"}[own.form], budgets=said)

    def kind_add_remove(self):
        """A record of element i appears or disappears, at epsilon_i; none changes."""
        own = self.read(epsilons=listed(budget)).epsilons
        self.size, self.absent = len(own), True
        self.budget, self.origin, low, high = lambda i, j: math.inf, own.__getitem__, min(distinct(own)), max(distinct(own))
        each = "a budget of its own for each universe element, "
        self.say(span=f"budget {float(low)!r}" if low == high else each + sentence("span", low=low, high=high))

    def kind_appear_or_change(self):
        """A record of element i appears or disappears, at epsilon_i, or changes, at the budget of `change`."""
        own = self.read(change=self.inside, epsilons=listed(budget), closure=boolean)
        change, size, e = own.change, own.change.size, own.epsilons
        require(len(e) == size, "relation.epsilons: not one for each element")
        d = [[Fraction(0) if i == j else change.budget(i, j) for j in range(size)] for i in range(size)]
        for i, j in () if own.closure else combinations(range(size), 2):
            for longer, way in ((d[i][j], e[i] + e[j]), (e[i], d[i][j] + e[j]), (e[j], d[i][j] + e[i])):
                require(longer <= way * (1 + Fraction(1, 2**31)), "relation.epsilons: a way round costs less")
        self.say(low=min(e), high=max(e), also=f" {TEXT['closed']}" * own.closure, rule=change.sentence)
        if own.closure:  # a record appears as another one that then changes; a change may lead through no record
            e = [min(d[i][k] + e[k] for k in range(size)) for i in range(size)]
            d = [[min(d[i][j], e[i] + e[j]) for j in range(size)] for i in range(size)]
        self.size, self.absent, self.budget, self.origin = size, True, lambda i, j: d[i][j], lambda i: e[i]

    def kind_row_groups(self):
        """b(i, j) = the budget of the part within a group, infinite between groups."""
        own = self.read(names=names, parts=array(self.inside))
        require(self.depth == 1 and len(own.names) == len(own.parts), "relation.parts: one for each name, at the top")
        place = [(g, i) for g, part in enumerate(own.parts) for i in range(part.size)]

        def of_pair(i, j):
            (g, one), (h, other) = place[i], place[j]
            return own.parts[g].budget(one, other) if g == h else math.inf

        self.size, self.budget, self.alone, self.parts = len(place), of_pair, True, own.parts
        self.say_parts(own.names, own.parts)

    def statistics(self, spec):
        """Published statistics A x of the histogram x; whether the number of records is one of them is returned."""
        groups = or_null(whole())
        rows = matrix(whole(-(2**30), 2**30))
        known = {"rows": rows, "names": names, "records_public": boolean, "groups": groups, "impossible": anything}
        own = fields(spec, "relation.invariant", ("impossible",), **known)
        only("impossible" not in spec, "elements that no record can have")
        require(len(own.names) == len(own.rows), "invariant.names: one for each row")
        self.size, self.called = len(own.rows[0]), own.names
        self.constraints = [*own.rows, [1] * self.size] if own.records_public else own.rows
        self.public = [sentence("published", names=every_name(own.names))] + [TEXT["public"]] * own.records_public
        return own.records_public

    def protected(self, spec, adjacency):
        """All changes v of at most `adjacency` records that keep the published statistics, one of each pair +-v: A v = 0, and v
        sums to 0 and has at most 2 a entries in size where the number of records is public; |v|_1 <= a elsewhere. L5: these are
        all differences of two histograms so close, whatever the histogram (docs/theory/invariants.md, 1)."""
        public = self.statistics(spec)
        reach = adjacency * (1 + public)
        many = 0
        for k in range(min(reach, self.size) + 1):
            many += math.comb(self.size, k) * math.comb(reach, k) << k
            only(many <= 200_000, "a list of too many changes")
        found, v = [], [0] * self.size

        def extend(k, left, sums):
            """All changes that begin as v does up to place k, `left` being what may still move, `sums` A v so far."""
            if k == self.size:
                if not any(sums) and any(v) and next(n for n in v if n) > 0:
                    found.append(tuple(v))
                return
            for v[k] in range(-left, left + 1):
                further = [total + v[k] * row[k] for total, row in zip(sums, self.constraints, strict=True)]
                extend(k + 1, left - abs(v[k]), further)
            v[k] = 0

        extend(0, reach, [0] * len(self.constraints))
        self.changes, self.adjacency = found, adjacency
        records = self.records("replaced record" if public else "added or removed record")
        return {"count": len(self.called), "s": "s" * (len(self.called) > 1), "records": records}

    def records(self, noun):
        """How many records change."""
        return f"{self.adjacency:,} {noun}{'s' * (self.adjacency > 1)}"

    def kind_invariant(self):
        """Every change of at most so many records that keeps the statistics, at epsilon."""
        own = self.read(invariant=anything, adjacency=whole(1), epsilon=positive)
        told = self.protected(own.invariant, own.adjacency)
        self.costs = [own.epsilon] * len(self.changes)
        self.say(epsilon=own.epsilon, **told)

    def kind_metric_and_invariant(self):
        """The budget of a change is the least cost of moving its records, one by one, from where it is negative to where it is
        positive: along any such way budgets add up."""
        own = self.read(metric=self.inside, invariant=anything, adjacency=whole(1))
        told = self.protected(own.invariant, own.adjacency)
        require(own.metric.size == self.size, "relation.metric: speaks of another number of elements")
        require(own.invariant["records_public"], "relation.invariant: the number of records has to be public")
        only(self.adjacency <= 5, "changes of more than 5 records under a metric")

        def cost(v):
            leave, enter = ([k for k, n in enumerate(v) for _ in range(max(0, sign * n))] for sign in (-1, 1))
            ways = (zip(leave, order, strict=True) for order in set(permutations(enter)))
            return min(sum(own.metric.budget(i, j) for i, j in way) for way in ways)

        self.costs = [cost(v) for v in self.changes]
        self.say(rule=own.metric.sentence, **told)

    def pairs(self):
        """All pairs (i, j, b) with a budget; j = size stands for no record. L2: budgets of a metric, or of a change in several
        groups, that are sums over pairs listed here need no look of their own, because ||u + v|| <= ||u|| + ||v||."""
        if self.found is not None:
            return self.found
        if self.changes is not None:
            changes = ((n, len(self.changes), b) for n, b in enumerate(self.costs))
        elif self.kind == "add_remove":
            changes = ((i, self.size, self.origin(i)) for i in range(self.size))
        else:
            changes = [(i, j, self.budget(i, j)) for i, j in combinations(range(self.size), 2)]
            changes += [(i, self.size, self.origin(i)) for i in range(self.size) if self.absent]
        self.found = [change for change in changes if type(change[2]) is Fraction or change[2] != math.inf]
        return self.found

    def components(self):
        """How many classes the points fall into when every pair with a budget is an edge."""
        label = list(range(self.size + self.absent))

        def top(i):
            while label[i] != i:
                i = label[i]
            return i

        for i, j, _ in self.pairs():
            label[max(top(i), top(j))] = min(top(i), top(j))
        return sum(label[i] == i for i in range(len(label)))

    def facts(self):
        """What is told of the relation in a number, the largest finite budget, and what it leaves public, in sentences."""
        if self.changes is not None:
            moved = [v for v, b in zip(self.changes, self.costs, strict=True) if b != math.inf]
            spans = len(reduced(moved)) + len(reduced(self.constraints))
            most = max(b for b in self.costs if b != math.inf)
            return {"adjacency": self.adjacency}, most, self.public + [TEXT["kept"]] * (spans < self.size)
        if self.alone:
            own = [part.components() for part in self.parts]
            most = sum(max((b for _, _, b in part.pairs()), default=0) for part in self.parts)
            return {"connected_components": math.prod(own)}, most, [TEXT["public"]] + [TEXT["apart"]] * (max(own) > 1)
        if self.kind == "uniform":
            count, most = 1, self.budget(0, 1) if self.size > 1 else 0
        else:
            count, most = self.components(), max(distinct(b for _, _, b in self.pairs()), default=0)
        public = [TEXT["public"]] * (not self.absent) + [TEXT["apart of relation"]] * (count > 1)
        return {"connected_components": count}, most, public


# ------------------------------------------------------------------------------------------------------------ 6 additive noise

FAMILIES = (
    "box bundles capped_l1 custom diagonal_gaussian ellipsoid gaussian gaussian_joint group_box group_gaussian group_l2_ball "
    "group_laplace hierarchy isotropic_gaussian k_norm k_norm_joint l2_ball laplace laplace_joint projected_laplace separable "
    "strategy_1 strategy_2 strategy_3 strategy_gaussian strategy_geometric strategy_laplace subspace_gaussian subspace_laplace "
    "uniform_budget".split()
)


def require_spelled(spec, elements):
    """Columns of a table of records, and what they hold for each element: its name says the same."""
    own = fields(spec, "keys", ("unlisted",), columns=names, rows=array(array(text)), unlisted=anything)
    only("unlisted" not in spec, "a workload with a rule for values that are not listed")
    require(all(len(row) == len(own.columns) for row in own.rows), "keys.rows: one entry for each column")
    require(len(own.rows) == len(set(map(tuple, own.rows))) == len(elements), "keys.rows: one row for each element, each once")
    spelled = [", ".join(f"{c}={entry}" for c, entry in zip(own.columns, row, strict=True)) for row in own.rows]
    only(elements in (spelled, [", ".join(row) for row in own.rows]), "keys of elements that do not spell their names")


def require_levels(spec, count):
    """Levels of nested units, and for each query its unit and those above it: coarse levels first, nothing in finer ones."""
    own = fields(spec, "levels", (), columns=names, rows=array(array(text)))
    depths = [sum(map(bool, row)) for row in own.rows]
    filled = all(all(row[:depth]) and len(row) == len(own.columns) for row, depth in zip(own.rows, depths, strict=True))
    require(filled and len(depths) == count and depths == sorted(depths), "levels.rows: one for each query, coarse first")


def workload(spec, where):
    """Names of queries and elements, and rows {element: entry} of what is not 0. An object has one form: up to 2^14 entries as
    it was given, above that ranges of ones where all rows are such, and above 2^20 compressed rows where 8 times fewer entries
    are not 0."""
    form = next((key for key in ("rows", "ranges") if isinstance(spec, dict) and key in spec), "matrix")
    known = {"queries": numbered, "elements": numbered, "keys": anything, "levels": anything, form: anything}
    own = fields(spec, where, ("keys", "levels"), **known)
    queries, elements = own.queries, own.elements
    if "keys" in spec:
        require_spelled(own.keys, elements)
    if "levels" in spec:
        require_levels(own.levels, len(queries))
    size, entries = len(elements), len(queries) * len(elements)
    if form == "matrix":
        only(entries <= 2**20, "a matrix of more than 2^20 entries")
        found = sparse(matrix(number, len(queries), size)(own.matrix, "workload.matrix"))
    else:
        found = described(form, getattr(own, form), len(queries), size, "workload")
    ranges = form == "ranges" or all(
        set(row.values()) <= {1} and (not row or max(row) - min(row) == len(row) - 1) for row in found
    )
    few = 8 * sum(map(len, found)) <= entries
    require((form == "ranges") == (ranges and entries > 2**14), "workload: is ranges of ones, or none, and written otherwise")
    require(form == "ranges" or entries <= 2**20 or (form == "rows") == few, "workload: is written in another form")
    return queries, elements, found


def described(form, spec, count, size, where):
    """So many rows {element: entry} of compressed rows, or of ranges of ones."""
    if form == "rows":
        entry, column, start = listed(number), listed(whole(0, size - 1)), listed(whole())
        rows = fields(spec, f"{where}.rows", values=entry, columns=column, starts=start)
        values, columns, starts = rows.values, rows.columns, rows.starts
        shaped = len(starts) == count + 1 and starts == sorted(starts) and starts[0] == 0 and starts[-1] == len(values)
        require(shaped and len(columns) == len(values), f"{where}.rows: starts do not rise from 0 to the number of values")
        inside = [columns[start:end] for start, end in pairwise(starts)]
        require(all(row == sorted(set(row)) for row in inside), f"{where}.rows: columns do not rise")
        only(all(values), "compressed rows that hold a 0")
        return [dict(zip(row, values[start:], strict=False)) for row, start in zip(inside, starts, strict=False)]
    ends = listed(whole(0, size))
    own = fields(spec, f"{where}.ranges", starts=ends, ends=ends)
    require(len(own.starts) == len(own.ends) == count, f"{where}.ranges: one start and one end for each row")
    found = list(zip(own.starts, own.ends, strict=True))
    require(all(a < b or a == b == 0 for a, b in found), f"{where}.ranges: end before they start")
    one = Fraction(1)
    only(sum(b - a for a, b in found) <= MOST_ENTRIES, f"ranges of more than {MOST_ENTRIES} entries")
    return [dict.fromkeys(range(a, b), one) for a, b in found]


def sparse(rows):
    """Rows {place: entry} of what is not 0."""
    return [{k: c for k, c in enumerate(row) if c} for row in rows]


def transposed(rows, size):
    """The columns {row: entry} of sparse rows, and one more that is empty: that of no record."""
    columns = [{} for _ in range(size + 1)]
    for k, row in enumerate(rows):
        for i, c in row.items():
            if c:
                columns[i][k] = c
    return columns


class Format:
    """What the classes of all formats have. Making one proves that its changes are within their budgets, or refuses the file.

    worst: the largest ratio that was found, and `near`, how far that of the file may be off. bounded: it may also be above.
    says: the sentences, by the field of the guarantee. statement(): the whole guarantee that follows from the numbers."""

    worst, near, bounded, says = Fraction(1), NEAR, False, {}
    released = None  # the keys of a release with their readers, where releases of this format are checked

    def fixed_fields(self):
        """The sentences of the guarantee in which no number stands."""
        every = {"sampling": "exact bits", "floating_point": "floats", "timing": "timing", "post_processing": "afterwards"}
        return {field: TEXT[name] for field, name in {**every, **self.says}.items()}

    def certificate(self, said):
        """That of the file against what was recomputed; returns what was not compared."""
        known = dict.fromkeys(("witness", "pairs", "arithmetic", "theorem"), anything)
        claimed = fields(said, "certificate", holds=one_of(True), worst_ratio=text, **known).worst_ratio
        shaped = re.fullmatch("[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", claimed)
        require(shaped and Fraction(claimed) <= 1, f"worst_ratio: {claimed[:40]!r} is no fraction up to 1")
        proven, self.worst = self.worst, Fraction(claimed)
        loose = self.bounded or "percent above the worst pair seen" in str(said["arithmetic"])
        off = self.worst - proven
        fits = abs(off) <= self.near or (loose and off > 0)
        require(fits, f"worst_ratio: says {float(self.worst)!r}, recomputed {float(proven)!r}")
        left = ["certificate.witness, .pairs, .arithmetic, .theorem: how the designer found the worst ratio, found anew here"]
        if claimed != str(proven):
            left.append(f"certificate.worst_ratio beyond the bound that was recomputed here, {float_above(proven)!r}")
        return left

    def possible(self, own):
        """What of the numbers of a release could not have been drawn is refused; returns what was not compared."""
        return []

    def entity(self, k):
        """Of releases of which k rows of an entity count: whether these may appear or disappear, the parameters that the
        guarantee states besides, and what its notion says besides."""
        raise CannotCheck("a release of this format of what several rows of a table tell of one entity")


class Pairs(Format):
    """What every format has that is proven pair by pair: the columns {coordinate: whole number} of the elements, the last one
    that of no record, their relation, and `length(u)`, which is at most b for every pair."""

    delta, kinds, work = None, "pairs", 1

    def difference(self, i, j):
        """u of a pair, of what is not 0; of a change, the sum of what it moves."""
        if self.relation.changes is None:
            p, q = self.columns[i], self.columns[j]
            moved = {k: p.get(k, 0) - q.get(k, 0) for k in p.keys() | q.keys()}
        else:
            moved = {}
            for n, column in zip(self.relation.changes[i], self.columns, strict=False):
                for k, c in column.items() if n else ():
                    moved[k] = moved.get(k, 0) + n * c
        return {k: c for k, c in moved.items() if c}

    def allowed(self, b):
        """The length that a budget allows: itself, or under a delta what L4 says."""
        if self.delta is None:
            return b
        if b not in self.lengths:
            only(len(self.lengths) < 200, "more than 200 different budgets under a delta")
            self.lengths[b] = allowed_length(self.falloff, b, self.delta)
        return self.lengths[b]

    def certify(self):
        """Every pair, one by one: where all changes have one budget, of elements with different columns."""
        relation, size = self.relation, self.relation.size
        require(size == len(self.columns) - 1, "relation: speaks of another number of elements")
        if relation.kind == "uniform" and size > 1:
            self.count, b = size * (size - 1) // 2, relation.budget(0, 1)
            different = list({tuple(sorted(column.items())): i for i, column in enumerate(self.columns[:size])}.values())
            if len(different) ** 2 > MOST_PAIRS:
                self.bound(different, b)
                return
            pairs = [(i, j, b) for i, j in combinations(sorted(different), 2)]
            require(pairs, "no protected change moves anything that is released")
        else:
            only(relation.kind == "add_remove" or size**2 <= 2 * MOST_PAIRS, f"more than {MOST_PAIRS} pairs")
            pairs = relation.pairs()
            self.count = len(pairs)
        only(pairs, "a relation that protects nothing")
        entries = sum(map(len, self.columns)) // len(self.columns)
        only(len(pairs) * max(self.work, entries) <= MOST_WORK, "pairs times the products of the norm are too many")
        self.least, self.worst, known, ratios = min(distinct(b for _, _, b in pairs)), Fraction(0), set(), {}
        for i, j, b in pairs:
            u = self.difference(i, j)
            key = (tuple(sorted(u.items())), b.numerator, b.denominator)
            if not u or key in known:
                continue
            known.add(key)
            length = self.length(u)
            own = (id(length), id(b))  # of objects that `ratios` and `pairs` keep
            if own in ratios:
                continue
            ratios[own], ratio = length, length / self.allowed(b) if b else math.inf
            if ratio > self.worst:
                said = f"the change {self.words(i, j)}"
                require(ratio != math.inf, f"{said} moves what has no noise, or has no budget")
                require(ratio <= 1, f"{said} spends its budget {float(b)!r} {float(ratio)!r} times")
                self.worst, self.pair = ratio, said
        require(self.worst > 0, "no protected change moves anything that is released")

    def bound(self, different, b):
        """L6, m being 0 or a middle column: |p - q| <= |p - m| + |q - m| in l1; in l2 the squares of the two add up to at least
        that of p - q if no entry of p - m has another sign than one of q - m, and twice them always."""
        only(self.norm.weights is not None and self.norm.order in ("l1", "l2"), "very many pairs under another norm")
        bounds = []
        for m in (self.relation.size, self.relation.size // 2):
            moved = [self.difference(i, m) for i in different]
            quiet = any(self.norm.silent[k] for u in moved for k in u)
            require(m == self.relation.size or not quiet, "a protected change moves what has no noise")
            totals = sorted(((self.norm.total(u), i) for u, i in zip(moved, different, strict=True)), reverse=True)
            signs = {c > 0 for u in moved for c in u.values()}
            bounds.append((1 if self.norm.power == 1 or len(signs) < 2 else 2) * (totals[0][0] + totals[1][0]))
        farthest = [i for _, i in totals[:20]]
        seen = max(self.norm.total(self.difference(i, j)) for i, j in combinations(farthest, 2))
        self.least, self.bounded, self.pair = b, True, "many changes"
        self.worst = self.norm.root(seen) / self.allowed(b)
        require(self.worst > 0, "no protected change moves anything that is released")
        require(self.worst <= 1, f"a change spends its budget {float(b)!r} {float(self.worst)!r} times")
        proven = self.norm.root(min(bounds)) / self.allowed(b)
        only(proven <= 1, "so many pairs that they are not looked at one by one, and no bound for all of them is known")

    def entity(self, k):
        """Any row may change to any other, or appear."""
        only(self.delta is None or k == 1, "entities of several rows under a delta")
        count, most, _ = self.relation.facts()
        require(count == {"connected_components": 1}, "rows: of entities, and some change of one row is not protected")
        return self.relation.absent, {"budget_of_an_entity": k * Fraction(most)}, ""

    def words(self, i, j):
        """A pair in words."""
        if self.relation.changes is not None:
            moved = zip(self.relation.changes[i], self.elements, strict=True)
            return "of the histogram by " + ", ".join(f"{n:+d} {name}" for n, name in moved if n)
        if self.relation.size == j:
            return f"that a record of {self.elements[i]} appears"
        return f"{self.elements[i]} -> {self.elements[j]}"

    def promise(self, notion):
        """The fields of a guarantee that the relation decides."""
        count, most, public = self.relation.facts()
        ratios = {"smallest_budget": self.least, "largest_finite_budget": Fraction(most), "worst_ratio": self.worst}
        if self.relation.changes is None:
            unit = f"{TEXT['unit']} {TEXT['budgets add' if self.delta is None else 'deltas of groups']}"
        else:
            unit = sentence("unit of changes", records=self.relation.records("record"))
        promised = {"unit": unit, "relation": self.relation.sentence, "unprotected": public, "parameters": ratios | count}
        told = {**self.fixed_fields(), **promised, "notion": TEXT[f"notion {notion}"]}
        if self.delta is not None:
            delta = float(self.delta)
            told |= {"notion": sentence("notion approximate", delta=delta), "post_processing": TEXT["deltas add"]}
            told["parameters"]["delta"] = delta
        return told

    def summary(self):
        """What was found, in words."""
        found = f"the largest ratio of ||u|| to its budget over all {self.count} {self.kinds} is {float_above(self.worst)!r}"
        return f"{found}, of {self.pair}"


class OnGrid(Pairs):
    """Numbers M x that are measured in steps 2^e_k, M the queries or other rows, rounded to the steps; the answers are they, or
    a fixed linear map of them."""

    released = {"answers": anything, "standard_errors": anything, "measured": anything}

    def read_grid(self, core):
        """Columns of M in steps, and what was given: rows before rounding."""
        self.queries, self.elements, rows = workload(core.workload, "workload")
        self.relation, self.grid = Relation(core.relation, "relation"), core.grid
        only(all(abs(e) <= 400 for e in self.grid), "grid: steps beyond 2^-400 to 2^400")
        self.steps, self.direct, self.back, size = (
            once(lambda e: Fraction(2) ** e, self.grid),
            core.measured is None,
            None,
            len(core.grid),
        )
        if not self.direct:
            rows = sparse(matrix(number, size, len(self.elements))(core.measured, "measured"))
        require(len(rows) == size, "grid: not one step for each number that is measured")
        if core.reconstruction is not None:
            self.back = matrix(number, len(self.queries), size)(core.reconstruction, "reconstruction")
        require(self.back is not None or size == len(self.queries), "reconstruction: is missing")
        # Entries are rounded to the nearest multiples, halves to the even one.
        self.multiples = [
            {i: round(c / step) if e or c.denominator > 1 else c.numerator for i, c in row.items()}
            for row, e, step in zip(rows, self.grid, self.steps, strict=True)
        ]
        require(all(abs(n) <= 2**52 for row in self.multiples for n in row.values()), "grid: entries are beyond 2^52 steps")
        self.columns = transposed(self.multiples, len(self.elements))
        return rows

    def possible(self, own):
        """Whole multiples that some counts and some noise add up to, and the answers that follow from them."""
        only(own.measured is not None, "a release whose answers do not determine what was measured")
        measured = fields(own.measured, "measured", exponents=array(whole(-400, 400)), multiples=array(integer, least=0))
        drawn = measured.multiples
        require(measured.exponents == self.grid, "measured.exponents: are not the steps of the spec")
        require(len(drawn) == len(self.grid), "measured.multiples: are not one for each step")
        quiet = [k for k, silent in enumerate(self.silent) if silent]
        for k in quiet:
            require(drawn[k] >= 0 or min(self.multiples[k].values(), default=0) < 0, "measured.multiples: one is below 0")
        offset, noise = self.coset()
        places = quiet if noise is None else list(range(len(drawn)))
        wanted = [drawn[k] - offset.get(k, 0) for k in places]
        ways = {tuple(column.get(k, 0) for k in places) for column in self.columns}
        ways |= {tuple(u.get(k, 0) for k in places) for u in noise or ()}
        require(is_sum(wanted, ways), "measured.multiples: a number without noise is out of reach, or one off the coset")
        values = [n * step for n, step in zip(drawn, self.steps, strict=True)]
        for table in (own.answers, own.standard_errors):
            fields(table, "answers", **dict.fromkeys(self.queries, anything))
        for k, name in enumerate(self.queries):
            said = own.answers[name]
            only(type(said) is float, f"answers: {name!r} is beyond binary64")
            terms = [values[k]] if self.back is None else [c * v for c, v in zip(self.back[k], values, strict=True)]
            room = abs(sum(terms)) * DIGITS
            if self.back is not None:
                room += sum(map(abs, terms)) * Fraction(len(terms) + 4, 2**51)
            require(abs(Fraction(said) - sum(terms)) <= room, f"answers: {name!r} does not follow from what was measured")
        return ["standard_errors of the release"]

    def coset(self):
        """A noise vector that can be, and vectors that generate the differences of any two; None: all whole vectors."""
        return {}, None


class Additive(OnGrid):
    """Noise z on the multiples of steps 2^e_k, P(z) proportional to exp(-||z||) or exp(-||z||^2 / 2), around M x.

    L1 (exponential): a shift by u, itself of multiples, changes P by at most exp(||u||), by the triangle inequality.
    L3 (gaussian, ||.|| Euclidean): the Renyi divergence of order alpha between the two is at most alpha ||u||^2 / 2.
    So the promise is kept if ||u|| <= b for every protected difference u = M e_i - M e_j of entries as rounded to the steps,
    M e_i alone where a record appears. Under a delta L4's length is in the place of b, for every pair, implied or not.
    """

    def __init__(self, core):
        further = dict.fromkeys(
            ("workload", "relation", "norm", "measured", "reconstruction", "projected", "vacuous"), anything
        )
        known = {"family": one_of(*FAMILIES), "grid": listed(whole(-1999, 1999)), "falloff": text, "delta": positive}
        core = fields(core, "mechanism", ("projected", "vacuous", "delta"), **known, **further)
        only(core.projected is None, "noise that is projected onto what protected changes reach")
        require(core.vacuous is None, "the mechanism says of itself that it hides nothing")
        self.family, self.falloff, self.delta, self.lengths = core.family, core.falloff, core.delta, {}
        laws = ("exponential", "gaussian") if self.delta is None else ("exponential", "rounded_gaussian")
        require(self.falloff in laws, f"falloff: {self.falloff!r} is not one of {laws}")
        self.read_grid(core)
        only(not self.direct or "ranges" not in core.workload or not any(self.grid), "ranges of ones in other steps than 1")
        self.norm = Norm(core.norm, self.falloff, self.steps)
        self.silent, self.length, self.work, rates = self.norm.silent, self.norm.length, self.norm.work, self.norm.rates
        only(
            all(Fraction(1, 2**48) <= rate <= 64 for rate in distinct(rates)),
            "grid: a step is below 2^-48 or above 64 noise scales",
        )
        shaped = self.norm.order != "l1" and self.falloff == "exponential"  # drawn from a body: a coarse grid fits it badly
        only(
            not shaped or all(rate <= Fraction(1, 1000) for rate in distinct(rates)),
            "grid: a step is above a thousandth of the body",
        )
        self.certify()
        require(self.delta is None or not self.relation.alone, "relation: row groups have no promise with a delta")
        # What hides nothing is refused: a reconstruction reaches what it multiplies by more than 2^-43 of its largest entry.
        heard = [k for k, quiet in enumerate(self.silent) if not quiet]
        rows = [] if self.back is None else [list(map(abs, row)) for row in self.back]
        reached = any(row[k] > Fraction(1, 2**43) * max(row) for row in rows for k in heard)
        require(heard and (self.back is None or reached), "no answer gets any noise")

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        told = self.promise(self.falloff if self.delta is None else "exponential")
        quiet = [name for name, silent in zip(self.queries, self.silent, strict=False) if silent] if self.direct else []
        if quiet:
            told["unprotected"] = [sentence("published exactly", names=every_name(quiet)), *told["unprotected"]]
        law = sentence(f"law {self.falloff}", norm=self.norm.sentence)
        rebuilt = "" if self.back is None else "; the answers are a fixed linear map of the noisy measurements"
        sampled = "rounded bits" if self.falloff == "rounded_gaussian" else "exact bits"
        mechanism = f"Family {self.family}: integer noise on a grid, {law}{rebuilt}."
        return {**told, "mechanism": mechanism, "sampling": TEXT[sampled]}


class Hierarchy(Additive):
    """Two-sided geometric noise in the counts of nested groups, of a rate each; the answers are the weighted least squares.

    L1 in the norm sum_g rate_g |u_g| of the counts, which a record moves by 1 for each group that holds it.
    """

    def __init__(self, core):
        known = {"family": one_of("hierarchy", "custom"), "rates": listed(positive)}
        known |= dict.fromkeys(("workload", "relation", "groups", "vacuous"), anything)
        core = fields(core, "mechanism", ("vacuous",), **known)
        require(core.vacuous is None, "the mechanism says of itself that it hides nothing")
        self.family, self.falloff, self.delta, self.lengths = core.family, "exponential", None, {}
        self.queries, self.elements, self.asked = workload(core.workload, "workload")
        self.relation, self.grid = Relation(core.relation, "relation"), [0] * len(core.rates)
        self.steps, self.direct, self.back = [Fraction(1)] * len(core.rates), False, None
        require(isinstance(core.groups, dict) and len(core.groups) == 1, "groups: are neither rows nor ranges")
        (form,) = core.groups
        require(form in ("rows", "ranges"), "groups: are neither rows nor ranges")
        rows = described(form, core.groups[form], len(core.rates), len(self.elements), "groups")
        require(all(rows) and all(c == 1 for row in rows for c in row.values()), "groups: one is empty, or no group")
        require(
            (form == "ranges") == all(max(row) - min(row) == len(row) - 1 for row in rows),
            "groups: are ranges of ones, or none, and written otherwise",
        )
        only(all(rate <= 64 for rate in distinct(core.rates)), "rates: one is above 64")
        self.rates, self.groups = core.rates, rows
        self.multiples = [dict.fromkeys(row, 1) for row in rows]
        self.columns = transposed(self.multiples, len(self.elements))
        self.norm = Norm({"order": "l1", "map": list(map(float, core.rates))}, "exponential", self.steps)
        self.silent, self.length, self.work = self.norm.silent, self.norm.length, self.norm.work
        self.read_tree()
        self.certify()

    def read_tree(self):
        """The smallest group around each, and the groups as sums of which every query is asked."""
        order = sorted(range(len(self.groups)), key=lambda k: -len(self.groups[k]))
        owner, self.above, self.within = {}, [None] * len(order), [[] for _ in order]
        for k in order:
            around = {owner.get(i) for i in self.groups[k]}
            require(len(around) == 1, f"groups: {k} is partly within another")
            (self.above[k],) = around
            owner.update(dict.fromkeys(self.groups[k], k))
            if self.above[k] is not None:
                self.within[self.above[k]].append(k)
        for k, inside in enumerate(self.within):
            require(not inside or sum(len(self.groups[c]) for c in inside) == len(self.groups[k]), f"groups: {k} has a rest")
        self.order, self.parts = order, []
        for name, row in zip(self.queries, self.asked, strict=True):
            require(all(i in owner for i in row), f"workload: {name!r} asks about what is in no group")
            parts = {owner[i]: c for i, c in row.items()}
            whole_groups = all(row.get(i) == c for k, c in parts.items() for i in self.groups[k])
            require(whole_groups, f"workload: {name!r} tells elements of a group apart")
            self.parts.append(parts)

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        law = sentence("law exponential", norm=self.norm.sentence)
        words = f"Family {self.family}: integer noise on a grid, {law}{TEXT['least squares']}."
        return {**self.promise("exponential"), "mechanism": words, "sampling": TEXT["exact bits"]}

    def possible(self, own):
        """Counts with noise, and the answers that follow from them: sums of the counts of the smallest groups by least
        squares."""
        only(own.measured is not None, "a release without its counts")
        measured = fields(own.measured, "measured", exponents=array(whole(-400, 400)), multiples=array(integer, least=0))
        require(measured.exponents == self.grid, "measured.exponents: are not those of whole numbers")
        require(len(measured.multiples) == len(self.grid), "measured.multiples: are not one for each group")
        drawn = list(map(float, measured.multiples))
        known = [2 * math.sinh(float(rate) / 2) ** 2 for rate in self.rates]
        alone, best = [0.0] * len(drawn), [0.0] * len(drawn)
        for k in reversed(self.order):
            inside = self.within[k]
            below = math.fsum(alone[c] for c in inside)
            alone[k] = 1 / (known[k] + (1 / below if inside else 0))
            best[k] = alone[k] * (known[k] * drawn[k] + (math.fsum(best[c] for c in inside) / below if inside else 0))
        final = list(best)
        for k in self.order:
            inside = self.within[k]
            below, summed = math.fsum(alone[c] for c in inside), math.fsum(best[c] for c in inside)
            for c in inside:
                final[c] = best[c] + alone[c] / below * (final[k] - summed)
        for table in (own.answers, own.standard_errors):
            fields(table, "answers", **dict.fromkeys(self.queries, anything))
        for name, parts in zip(self.queries, self.parts, strict=True):
            said = own.answers[name]
            only(type(said) is float, f"answers: {name!r} is beyond binary64")
            terms = [float(c) * final[k] for k, c in parts.items()]
            room = 1e-9 * (1 + sum(map(abs, terms)) + max(map(abs, drawn)))
            require(abs(said - math.fsum(terms)) <= room, f"answers: {name!r} does not follow from the counts")
        return ["standard_errors of the release"]


# --------------------------------------------------------------------------------------------------------------- 7 own reports


class OwnReport(Pairs):
    """A value x is replaced by a report z with probability n[x][z] / D, n whole numbers above 0 whose rows sum to D.

    By definition the promise is n[x][z] <= e^b n[y][z] for every report z and both orders of every pair x, y. Each is compared
    in whole numbers with a bound that is proven to be at most e^b."""

    says = {"sampling": "report sampling", "floating_point": "report numbers", "timing": "report timing"}
    near, released = Fraction(1, 2**23), {"reports": anything}

    def __init__(self, core):
        described = {key for key in ("numerators", "losses") if isinstance(core, dict) and isinstance(core.get(key), dict)}
        only("numerators" not in described, "a table that is described by the peaks of its columns, and not written out")
        only("losses" not in described, "losses that follow from a rule, and are not written out")
        known = {"relation": Relation, "elements": names, "reports": names, "keys": anything}
        known |= {"numerators": matrix(whole(1, 2**512)), "denominator": whole(1, 2**512), "losses": matrix()}
        core = fields(core, "mechanism", ("keys",), prior=array(positive), **known)
        self.relation, self.elements, self.reports = core.relation, core.elements, core.reports
        metric = self.relation.changes is None and not self.relation.absent and not self.relation.alone
        size, many = len(self.elements), len(self.reports)
        require(metric and self.relation.size == size, "relation: of a report it is a metric, on these elements")
        if core.keys is not None:
            require_spelled(core.keys, self.elements)
        for table, where in ((core.numerators, "numerators"), (core.losses, "losses")):
            require(len(table) == size and len(table[0]) == many, f"{where}: not one row for each element, of its reports")
        only(size * many <= 250_000, "a table of more than 250,000 entries")
        rows, self.bits = core.numerators, core.denominator.bit_length()
        require(all(sum(row) == core.denominator for row in rows), "numerators: a row does not sum to the denominator")
        fits = len(core.prior) == size and abs(sum(core.prior) - 1) <= Fraction(1, 10**9)
        require(fits, "prior: does not sum to 1, one for each element")
        pairs = self.relation.pairs()
        self.count, self.least = len(pairs), min((b for _, _, b in pairs), default=None)
        require(self.count == size * (size - 1) // 2 > 0, "relation: leaves a pair unprotected, which a report always is")
        only(self.count * many <= MOST_WORK, "more pairs and reports than are looked at one by one")
        only(len({b for _, _, b in pairs}) <= 20_000, "more than 20,000 different budgets")
        most, largest = {Fraction(0): ONE}, 0.0
        logs = [[math.log(n) for n in row] for row in rows]
        for i, j, b in pairs:
            if b > 512:  # e^512 is above 2^512, and no two entries are as far apart
                continue
            if b not in most:
                most[b] = exp(b)[0]
            for z, (n, m) in enumerate(zip(rows[i], rows[j], strict=True)):
                kept = n * ONE <= most[b] * m and m * ONE <= most[b] * n
                require(kept, f"report {self.reports[z]!r} tells {self.words(i, j)} apart by more than e^b")
            # How near the table comes is told in the certificate, and proves nothing: logarithms as floats.
            apart = max(abs(n - m) for n, m in zip(logs[i], logs[j], strict=True))
            largest = max(largest, apart / float(b) if apart >= 1e-11 else 0.0)
        self.worst = min(Fraction(1), Fraction(math.ceil((largest + 1e-9) * 2**24), 2**24)) if largest else Fraction(0)

    def summary(self):
        """What was found, in words."""
        return f"every report of all {self.count} pairs of values, both ways, is within e^b"

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        told = self.promise("exponential")
        del told["parameters"]["connected_components"]
        how = sentence("report mechanism", values=len(self.elements), reports=len(self.reports), bits=self.bits)
        return {**told, "unit": TEXT["report unit"], "mechanism": how}

    def possible(self, own):
        """How often each report came."""
        fields(own.reports, "reports", **dict.fromkeys(self.reports, whole(0, 2**53 - 1)))
        return []


# ------------------------------------------------------------------------------------------------------------------- 8 lattice


class Lattice(Pairs):
    """The table x + z, z whole numbers with A z = 0 for the published statistics A, P(z) proportional to exp(-||z||) or
    exp(-||z||^2 / 2).

    Every protected change v has A v = 0, so L1 and L3 hold for it as they do on a grid: the promise is ||v|| <= b for every
    listed change. Where there is a budget for every unit of distance, w ||v||_q <= w ||v||_p <= epsilon ||v||_p for q >= p."""

    kinds, families, says = "changes", ("lattice_laplace", "lattice_gaussian", "custom"), {"floating_point": "lattice numbers"}
    released = {"answers": anything, "standard_errors": anything, "table": anything}

    def __init__(self, core):
        known = dict.fromkeys(("workload", "relation", "norm", "chain"), anything)
        falloff, cells = one_of("exponential", "gaussian"), or_null(array(whole()))
        core = fields(core, "mechanism", family=one_of(*self.families), falloff=falloff, cells=cells, **known)
        only(core.chain is None, "noise of a Markov chain, of which nothing is proven")
        self.family, self.falloff, spec = core.family, core.falloff, core.relation
        self.queries, self.elements, self.rows = workload(core.workload, "workload")
        size = len(self.elements)
        cells = list(range(size)) if core.cells is None else core.cells
        self.norm = norm = Norm(core.norm, self.falloff, [Fraction(1)] * len(cells))
        only(not any(norm.silent), "integer noise that leaves some cells without noise")
        plain = norm.weights is not None and norm.order != "capped_l1" and len(set(norm.weights)) == 1
        only(plain or self.falloff == "gaussian" or norm.order in ("l2", "gauge"), "integer noise under this norm")
        within = min(norm.rates) >= Fraction(1, 2**30) and max(norm.rates) <= 2**15
        only(within, "noise wider than 2^30 or narrower than 2^-15")
        require(isinstance(spec, dict) and type(spec.get("kind")) is str, "relation.kind: is missing")
        self.distance = spec["kind"] == "invariant_distance"
        if self.distance:
            known = {"kind": text, "invariant": anything, "epsilon": positive, "distance": one_of("l1", "l2")}
            own = fields(spec, "relation", **known)
            only(plain and core.cells is None, "a budget for every unit of distance, under another norm than equal weights")
            self.least, self.apart = own.epsilon, own.distance
            self.relation = Relation.__new__(Relation)
            self.relation.statistics(own.invariant)
            fits = norm.order == "l2" or norm.order == self.apart
            require(fits, "norm: exceeds the distance, or is no l1 or l2")
            self.worst, self.count = max(norm.rates) / self.least, 0
            require(self.worst <= 1, f"every unit of distance spends its budget {float(self.worst)!r} times")
        else:
            self.relation = Relation(spec, "relation")
            only(self.relation.changes is not None, "integer noise under this relation")
        require(self.relation.size == size, "relation: speaks of another number of elements")
        require(len(set(cells)) == len(cells) and max(cells) < size, "cells: are no elements, each once")
        kept = self.relation.constraints
        self.dimension = size - len(reduced(kept))
        only(1 <= self.dimension <= 4 or (self.dimension <= 200 and self.falloff == "gaussian"), "a lattice of large rank")
        seen = [[int(c == k) for k in range(size)] for c in cells]  # a norm that is 0 on a change of the table has no law
        require(len(reduced(kept + seen)) == size, "norm: is 0 on some change that keeps the statistics")
        require(norm.order != "gauge" or len(cells) == self.dimension, "cells: not as many as the lattice has dimensions")
        if not self.distance:
            self.columns = transposed([{c: 1} for c in cells], size)
            self.length, self.work = norm.length, norm.work
            self.certify()

    def summary(self):
        """What was found, in words."""
        if self.distance:
            return f"every unit of distance spends at most {float_above(self.worst)!r} of its budget, by the weights alone"
        return super().summary()

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        called = {
            "family": self.family,
            "order": "a polytope gauge" if self.norm.order == "gauge" else f"an {self.norm.order} norm",
        }
        told = {"parameters": {"worst_ratio": self.worst, "dimension": self.dimension}}
        if self.distance:
            units = "2" if self.apart == "l1" else "root 2"
            values = {"epsilon": self.least, "distance": self.apart, "units": units, "count": len(self.relation.called)}
            told |= {"unit": TEXT["distance unit"], "relation": sentence("distance", **values)}
            told["unprotected"] = self.relation.public
            told["parameters"]["budget_per_unit_of_distance"] = float(self.least)
        else:
            told = {**self.promise("exponential"), **told}
            told["parameters"]["adjacency"] = self.relation.adjacency
        notion, mechanism = TEXT[f"lattice notion {self.falloff}"], sentence(f"lattice {self.falloff}", **called)
        return {**self.fixed_fields(), **told, "notion": notion, "mechanism": mechanism}

    def possible(self, own):
        """A table of whole numbers none of whose published statistics is below what counts can give, and its answers."""
        known = dict.fromkeys(self.elements, integer)
        table = [vars(fields(own.table, "table", **known))[name] for name in self.elements]
        for row in self.relation.constraints:
            total = sum(a * x for a, x in zip(row, table, strict=True))
            require(min(row) < 0 or total >= 0, "table: a published statistic is below 0")
        answers = vars(fields(own.answers, "answers", **dict.fromkeys(self.queries, number)))
        for name, row in zip(self.queries, self.rows, strict=True):
            terms = [c * table[i] for i, c in row.items()]
            room = sum(map(abs, terms)) * Fraction(len(terms) + 4, 2**51) + abs(sum(terms)) * DIGITS
            require(abs(answers[name] - sum(terms)) <= room, f"answers: {name!r} does not follow from the table")
        return ["standard_errors of the release", "whether the published statistics are those of the data"]


class Rows(Lattice):
    """Tables with published margins, noise y whose slices along one margin sum to 0, P(y) proportional to exp(-||y||_1).

    Protected changes keep all margins, so they are among those y, and L1 holds for x + y. What is released is computed from
    x + y and the published margins alone: post-processing. The statistics have to be margins: the classes of each one partition
    the cells, and all combinations of classes have equally many cells."""

    families = ("lattice_rows", "custom")

    def __init__(self, core):
        known = dict.fromkeys(("family", "workload", "relation", "norm"), anything)
        self.axis = fields(core, "mechanism", axis=whole(0, 10**6), **known).axis
        inner = {key: core[key] for key in known}
        super().__init__({**inner, "falloff": "exponential", "cells": None, "chain": None})
        require(self.norm.order == "l1", "norm: rows are drawn for an l1 norm")
        margins, rest = [], [row for row in self.relation.constraints if not all(row)]
        only(all(set(row) == {0, 1} for row in rest), "statistics that are not plainly margins")
        while rest:  # the next statistics, until they partition the cells, are the classes of one margin
            label, classes = [None] * self.relation.size, 0
            while None in label:
                free = rest and all(label[k] is None for k, n in enumerate(rest[0]) if n)
                only(free, "statistics that are not plainly margins")
                label = [classes if n else old for n, old in zip(rest.pop(0), label, strict=True)]
                classes += 1
            margins.append(label)
        combined = list(zip(*margins, strict=True))
        cells = [combined.count(one) for one in product(*(range(max(label) + 1) for label in margins))]
        only(len(margins) > 1 and min(cells) == max(cells) > 0, "statistics that are not plainly margins")
        require(self.axis < len(margins), "axis: there are fewer margins")

    def statement(self):
        """As for integer tables, but for how they are made."""
        return {**super().statement(), "mechanism": sentence("lattice rows", family=self.family, axis=self.axis)}


# ----------------------------------------------------------------------------------------------------------------- 9 selection


class Selection(Pairs):
    """A candidate r is chosen with probability proportional to exp(rate s_r), or by permute-and-flip, s_r a score.

    L7: if the scores move by v, every probability moves by a factor of at most exp(rate (max v - min v)). The answers Q x move
    by u: v = u for linear scores; |v_r| <= |u_r|, of unknown sign, for |Q x - t| and its negative, so that the range is at most
    the sum of the two largest |u_r|, and so is the larger of two excesses; and twice the largest |u_k| for the largest error of
    several answers."""

    says = {"sampling": "choice sampling", "floating_point": "choice numbers", "timing": "choice timing"}
    released = {"choice": anything, "index": anything}

    def __init__(self, core):
        law = one_of("exponential", "permute_and_flip")
        core = fields(core, "mechanism", score=anything, relation=anything, rate=positive, law=law)
        require(isinstance(core.score, dict) and type(core.score.get("kind")) is str, "score.kind: is missing")
        self.kind, self.law, self.rate = core.score["kind"], core.law, core.rate
        known = ("linear", "absolute_error", "closeness", "rank_error", "largest_error")
        only(self.kind in known, f"score.kind: {self.kind!r} is unknown")
        several = {"candidates": names} if self.kind == "largest_error" else {}
        score = fields(core.score, "score", kind=text, workload=workload, targets=anything, **several)
        self.queries, self.elements, rows = score.workload
        self.candidates = score.candidates if several else self.queries
        if self.kind == "rank_error":
            require(len(self.queries) % 2 == 0, "score.workload: a rank has two queries for each candidate")
            self.candidates = self.queries[: len(self.queries) // 2]
        targets = matrix(number, len(self.candidates), len(self.queries)) if several else array(number, len(self.queries))
        targets(score.targets, "score.targets")
        require(len(self.candidates) >= 2, "score: a choice needs two candidates")
        self.relation, self.columns = Relation(core.relation, "relation"), transposed(rows, len(self.elements))
        only(len(rows) * len(self.elements) <= 10**6, "scores of more than a million entries")
        self.work = len(rows)
        for n, b in enumerate(self.relation.costs if self.relation.changes is not None else ()):
            moved = self.difference(n, len(self.relation.changes)).values()
            only(b == math.inf or all(c == Fraction(float(c)) for c in moved), "scores whose sums over a change are no floats")
        self.certify()

    def length(self, u):
        """What the change u of the answers may spend."""
        moved = [*u.values(), *[0] * (len(self.queries) - len(u))]
        if self.kind == "linear":
            return self.rate * (max(moved) - min(moved))
        sizes = sorted(map(abs, moved))
        return self.rate * (2 * sizes[-1] if self.kind == "largest_error" else sum(sizes[-2:]))

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        told, law, score = self.promise("exponential"), TEXT[f"choice {self.law}"], TEXT[f"score {self.kind}"]
        told["parameters"]["rate"] = float(self.rate)
        told["unprotected"] = [TEXT["candidates"], *told["unprotected"]]
        return {**told, "mechanism": f"{law}; {len(self.candidates)} public candidates; the score is {score}."}

    def possible(self, own):
        """A candidate, and its place."""
        place = whole(0, len(self.candidates) - 1)(own.index, "index")
        require(own.choice == self.candidates[place], "choice: is not the candidate at its place")
        return []


# ----------------------------------------------------------------------------------------------------------------- 10 marginals


class Kinds(Format):
    """What both formats have that are proven for a few kinds of changes, which imply all others by the triangle inequality."""

    def read_domain(self, core):
        """Attributes and their values, and what happens to records with others."""
        self.attributes, self.values, self.rule = core.attributes, core.values, core.unlisted
        require(len(self.values) == len(self.attributes), "values: one list for each attribute")
        self.sizes = list(map(len, self.values))
        named = all("(all others)" in own for own in self.values)
        require(self.rule != "count as others" or named, "unlisted: no value for all others")

    def read_presence(self, spec):
        """The budget of a record that appears."""
        self.least = self.most = fields(spec, "protection", kind=text, epsilon=positive).epsilon
        self.sentence, self.public = sentence("relation add_remove", span=f"budget {float(self.least)!r}"), []

    def of_attributes(self, budgets, answered):
        """The least budget of single attributes, their sum, and the sentence on those that have none."""
        finite = [b for b in budgets if b != math.inf]
        self.least = min(finite, default=None)
        self.most = sum(b for b, n in zip(budgets, self.sizes, strict=True) if b != math.inf and n > 1) or None
        free = [repr(name) for name, b in zip(self.attributes, budgets, strict=True) if b == math.inf]
        self.public = [TEXT["public"]] + [sentence(answered, names=", ".join(free))] * bool(free)

    def decide(self, found):
        """The largest load of [(words, load)], a load being the squared length, or the length, over that budget."""
        require(found, "no protected change moves an answer")
        load, self.words = max((share, words) for words, share in found)
        require(load <= 1, f"a change spends {float(load)!r} times what it may: {self.words}")
        self.worst = load if self.falloff == "exponential" else min(root_above(load), Fraction(1))
        self.count = len(found)

    def summary(self):
        """What was found, in words."""
        found = f"the largest ratio over all {self.count} kinds of changes that imply the others is {float_above(self.worst)!r}"
        return f"{found}: {self.words}"

    def promise(self):
        """The fields of a guarantee that the kinds of changes decide."""
        ratios = {"smallest_budget": self.least, "largest_finite_budget": self.most, "worst_ratio": self.worst}
        unit = TEXT["presence" if self.presence else self.unit]
        told = {"unit": unit, "relation": self.sentence, "unprotected": self.public, "parameters": ratios}
        return {**self.fixed_fields(), **told, "notion": TEXT[f"notion {self.falloff}"]}

    def entity(self, k):
        """All values of a row may change, or it may appear."""
        require(self.presence or len(self.public) == 1, "rows: of entities, and some change of one row is not protected")
        return self.presence, {"budget_of_an_entity": k * self.most}, ""

    def whole_tables(self, listed, shapes, key):
        """One table of whole numbers for each shape, nested lists, under this key of the entries of a list."""
        require(isinstance(listed, list) and len(listed) == len(shapes), f"{key}: not one table for each that is measured")
        for entry, shape in zip(listed, shapes, strict=True):
            read = integer
            for size in reversed(shape):
                read = array(read, size, 0)
            require(isinstance(entry, dict) and "values" in entry, f"{key}: is no object with values")
            read(entry["values"], f"{key}.values")


class Marginals(Kinds):
    """Tables over subsets of attributes with n_1, ..., n_d values. The part of the histogram that belongs to a subset A of the
    attributes of some table, its residual, is measured in whole contrasts with variances (squared norm of the contrast) / s_A.

    L8 (docs/theory/marginals.md, 2): the squared length of a change is sum_A s_A |its projection on A|^2, which for a record
    that appears is sum_A s_A prod_{j in A} (n_j - 1) / n_j, and for attribute i of a record, 2 sum over A with i of s_A
    prod_{j in A, j != i} (n_j - 1) / n_j. L3 then bounds divergences, and changes of several attributes are sums of these."""

    falloff, unit, says = "gaussian", "attributes, each", {"floating_point": "marginals numbers"}
    released = {"categories": anything, "tables": anything, "residuals": anything}

    def __init__(self, core):
        known = {"attributes": names, "values": array(names), "subsets": array(array(whole(), least=0)), "vacuous": anything}
        known |= {"weights": array(positive), "precisions": array(budget), "protection": anything}
        known["unlisted"] = one_of("count as others", "drop")
        core = fields(core, "mechanism", ("unlisted", "vacuous"), **known)
        only(core.vacuous is None, "tables that are all published exactly")
        self.read_domain(core)
        sizes, subsets = self.sizes, core.subsets
        for part in subsets:
            require(part == sorted(set(part)) and (not part or part[-1] < len(sizes)), "subsets: positions do not rise")
            moderate = len(part) <= 16 and math.prod(sizes[i] for i in part) <= 2**28
            only(moderate, "a table of more than 16 attributes or 2^28 cells")
        rising = sorted(subsets, key=lambda part: (len(part), part))
        require(subsets == rising and len(set(map(tuple, subsets))) == len(subsets), "subsets: are not in order, each once")
        require(len(core.weights) == len(subsets), "weights: not one for each subset")
        wide = [[i for i in part if sizes[i] > 1] for part in subsets]
        only(sum(2 ** len(part) for part in wide) <= 10**6, "tables of more than a million parts")
        parts = {part for own in wide for size in range(len(own) + 1) for part in combinations(own, size)}
        self.measured, self.tables = sorted(parts, key=lambda part: (len(part), part)), len(subsets)
        require(len(core.precisions) == len(self.measured), "precisions: not one for each part of a table")
        strengths = list(zip(self.measured, core.precisions, strict=True))
        for part, s in strengths:
            only(math.prod(sizes[i] * (sizes[i] - 1) for i in part) <= s * 2**75, "noise wider than 2^37")
        require(any(s != math.inf for s in core.precisions), "no protected change moves anything that gets noise")

        def load(i):
            """sum_A s_A prod over j in A, j != i, for the A with i; for all A where i is None."""
            moved = [(part, s) for part, s in strengths if i is None or i in part]
            require(all(s != math.inf for _, s in moved), "precisions: infinite where a protected change moves them")
            return sum(s * math.prod(Fraction(sizes[j] - 1, sizes[j]) for j in part if j != i) for part, s in moved)

        protection = core.protection
        require(isinstance(protection, dict), "protection: is no object")
        self.presence = protection.get("kind") == "presence"
        if self.presence:
            self.read_presence(protection)
            self.decide([("a record appears", load(None) / self.least**2)])
            return
        own = fields(protection, "protection", kind=one_of("attributes"), budgets=array(budget, len(sizes))).budgets
        require(core.unlisted != "drop", "unlisted: drop leaves records out, whose number is public")
        moved = [i for i, b in enumerate(own) if b != math.inf and any(i in part for part in self.measured)]
        self.decide([(f"one record changes in {self.attributes[i]!r} alone", 2 * load(i) / own[i] ** 2) for i in moved])
        said = ", ".join(f"{name} {float(b)!r}" for name, b in zip(self.attributes, own, strict=True))
        self.sentence = sentence("relation hamming", budgets=said)
        self.of_attributes(own, "tables published exactly")

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        counts = {"tables": self.tables, "attributes": len(self.attributes), "measured": len(self.measured)}
        return {**self.promise(), "mechanism": sentence("marginals", **counts)}

    def possible(self, own):
        """Whole contrasts of the measured residuals."""
        shapes = [[self.sizes[i] - 1 for i in part] for part in self.measured]
        self.whole_tables(own.residuals, shapes, "residuals")
        called = [[self.attributes[i] for i in part] for part in self.measured]
        require([entry.get("attributes") for entry in own.residuals] == called, "residuals: of other attributes")
        return ["tables of the release, which follow from its residuals, and whether tables without noise hold counts"]


# ------------------------------------------------------------------------------------------------------- 11 structured queries


class Structured(Kinds):
    """Blocks M_1 x ... x M_r x, Kronecker products of integer matrices of single attributes applied to the histogram x, each
    with independent noise in all its coordinates: of variance 1 / s (gaussian), or of rate s (laplace), s its strength.

    L9: a record of values (u_1, ..., u_r) is moved to the Kronecker product of the columns M_i e_{u_i}, and |a x b| = |a| |b|
    for l1 and for l2. So a record that appears has length sum over blocks of s prod_i max_u |M_i e_u|, in l2 the squared one;
    and a record whose attribute i alone changes at most sum of s max_{u, v} |M_i (e_u - e_v)| prod_{j != i} max_u |M_j e_u|,
    over the blocks with i, each maximum taken by itself. L1 and L3 bound what that spends; changes of several are sums."""

    unit, says = "attributes", {"floating_point": "structured numbers"}
    released = {"categories": anything, "answers": anything, "blocks": anything}

    def __init__(self, core):
        known = {"attributes": names, "values": array(names), "terms": array(anything), "weights": array(positive)}
        known |= {"noise": one_of("gaussian", "laplace"), "matrices": array(anything, least=0), "blocks": array(anything)}
        known |= dict.fromkeys(("protection", "serves", "vacuous"), anything)
        known["unlisted"] = one_of("count as others", "drop")
        core = fields(core, "mechanism", ("unlisted", "vacuous"), **known)
        only(core.vacuous is None, "answers that are all published exactly")
        self.falloff, self.power = ("gaussian", 2) if core.noise == "gaussian" else ("exponential", 1)
        self.read_domain(core)
        require(len(core.weights) == len(core.terms), "weights: not one for each term")
        asked = [self.placed(term, "queries") for term in core.terms]
        self.used = {i for term in asked for i in term}
        self.answers = sum(math.prod(self.queries(i, spec) for i, spec in term.items()) for term in asked)
        self.read_blocks(core)
        protection = core.protection
        require(isinstance(protection, dict), "protection: is no object")
        self.presence = protection.get("kind") == "presence"
        if self.presence:
            self.read_presence(protection)
            self.decide([("a record appears", self.load(None) / self.least**self.power)])
            return
        require(protection.get("kind") in ("hamming", "product"), "protection.kind: is not presence, hamming or product")
        require(core.unlisted != "drop", "unlisted: drop leaves records out, whose number is public")
        self.relation = Relation(protection, "protection", written_out=False)
        same = self.relation.attributes == self.attributes and self.relation.values == self.values
        require(same, "protection: speaks of another domain")
        own = self.relation.own if self.relation.kind == "hamming" else [Fraction(1)] * len(self.sizes)
        moved = [i for i in sorted(self.used) if own[i] != math.inf]
        self.decide(
            [(f"one record changes in {self.attributes[i]!r} alone", self.load(i) / own[i] ** self.power) for i in moved]
        )
        self.sentence = self.relation.sentence
        if self.relation.kind == "hamming":
            self.of_attributes(own, "queries answered exactly")
            return
        budgets = [[b for _, _, b in part.pairs()] for part in self.relation.parts]
        self.least = min((b for of_part in budgets for b in of_part), default=None)
        self.most = sum(max(of_part, default=0) for of_part in budgets) or None
        named = zip(self.attributes, self.relation.parts, strict=True)
        free = ", ".join(repr(name) for name, part in named if part.components() > 1)
        self.public = [TEXT["public"]] + [sentence("apart of attributes", names=free)] * bool(free)

    def read_blocks(self, core):
        """The measured products: how strong each is, and its matrices by their attributes, as columns."""
        found = {}
        for entry in core.matrices:
            own = fields(entry, "matrices", axis=whole(max(found, default=-1) + 1, len(self.sizes) - 1), rows=array(anything))
            found[own.axis] = [self.matrix_columns(rows, self.sizes[own.axis]) for rows in own.rows]
        self.shapes, self.blocks = [], []
        for block in core.blocks:
            made, strength = self.placed(block, "matrices", strength=positive), Fraction(block["strength"])
            require(strength > Fraction(1, 2**110 if self.power == 2 else 2**55), "blocks: noise is beyond 64 bits")
            for i, n in made.items():
                require(i in found, "blocks: name a matrix that is not there")
                whole(0, len(found[i]) - 1)(n, "blocks.matrices")
            self.blocks.append((strength, {i: found[i][n] for i, n in made.items()}))
            self.shapes.append([len(found[i][n][0]) for i, n in made.items()])
        if core.serves not in (None, "together"):
            array(whole(0, len(self.blocks) - 1), len(core.terms))(core.serves, "serves")

    def size(self, column):
        """The l1 norm of a column, or its squared length."""
        return sum(abs(n) ** self.power for n in column)

    def apart(self, columns, i):
        """The largest size of a difference of two columns, over the budget of the pair where pairs have their own."""
        ends = combinations(range(len(columns)), 2)
        moved = ((self.size(a - b for a, b in zip(columns[u], columns[v], strict=True)), u, v) for u, v in ends)
        if self.relation.kind == "hamming":
            return max((far for far, _, _ in moved), default=0)
        of = self.relation.parts[i].budget
        return max((far / of(u, v) ** self.power for far, u, v in moved if of(u, v) != math.inf), default=Fraction(0))

    def load(self, i):
        """What a record that appears (None), or a change of attribute i, spends."""
        total = Fraction(0)
        for strength, made in self.blocks:
            if i is None or i in made:
                others = math.prod(max(map(self.size, columns)) for j, columns in made.items() if j != i)
                total += strength * others * (1 if i is None else self.apart(made[i], i))
        return total

    def placed(self, entry, key, **further):
        """{attribute: what is listed for it}, of rising positions."""
        places = array(whole(0, len(self.sizes) - 1), least=0)
        own = vars(fields(entry, key, axes=places, **{key: array(anything, least=0)}, **further))
        require(
            own["axes"] == sorted(set(own["axes"])) and len(own["axes"]) == len(own[key]), "axes: do not rise, one for each"
        )
        return dict(zip(own["axes"], own[key], strict=True))

    def queries(self, i, spec):
        """How many queries of attribute i these are."""
        n = self.sizes[i]
        require(isinstance(spec, dict), "queries: are no object")
        if spec.get("kind") == "matrix":
            rows = fields(spec, "queries", kind=text, matrix=matrix(number, columns=n)).matrix
            require(any(any(row) for row in rows), "queries.matrix: is 0")
            return len(rows)
        own = fields(spec, "queries", ("width",), kind=text, width=whole(1, n))
        counts = {"identity": n, "prefix": n, "ranges": n * (n + 1) // 2, "widths": n - (own.width or 1) + 1}
        require(n > 1 and own.kind in counts, "queries.kind: is unknown, or asks for a total")
        require((own.kind == "widths") == (own.width is not None), "queries.width: goes with widths")
        require(n <= 2048, "queries: an attribute has more than 2,048 values")
        return counts[own.kind]

    def matrix_columns(self, rows, count):
        """The columns of an integer matrix, one for each value."""
        found = matrix(whole(-(2**24), 2**24), columns=count)(rows, "matrices.rows")
        require(len(found) <= 4096, "matrices.rows: are more than 4,096")
        only(len(rows) * count**2 <= MOST_WORK // 10, "a matrix of very many values")
        return list(zip(*found, strict=True))

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        law = "exp(-z^2 / (2 variance))" if self.falloff == "gaussian" else "exp(-rate |z|)"
        counts = {"blocks": len(self.shapes), "attributes": len(self.used), "answers": self.answers}
        counts["coordinates"] = sum(map(math.prod, self.shapes))
        return {**self.promise(), "mechanism": sentence("structured", law=law, **counts)}

    def certificate(self, said):
        """As for all formats."""
        return [*super().certificate(said), "whether what is measured determines the answers, which is no matter of privacy"]

    def possible(self, own):
        """Whole numbers in the shapes of the blocks."""
        self.whole_tables(own.blocks, self.shapes, "blocks")
        return ["answers and standard errors of the release, which follow from its blocks"]


# --------------------------------------------------------------------------------------------------------------- 12 staircases


class Staircase(OnGrid):
    """Noise z of P(z) proportional to exp(-unit h(z)), h whole numbers, in steps of the grid of what is measured.

    L10. Peaks: h(z) is the least, over peaks and over walks from a peak to z by protected differences, of the level of the peak
    plus the costs of the steps, a step u costing the whole units in its budget. A way to z goes on to z + u, so h(z + u) <=
    h(z) + c(u), c(u) the cheapest walk from 0 to u, at most the step u itself: probabilities change by at most exp(unit c(u))
    <= exp(b), and sets of them too, tails included. Stairs, of one number: h(z) = ceil(max(0, |z| - top) / width) grows by at
    most ceil(|u| / width). Costs of walks are found by Dijkstra's search, in whole numbers. Moves: z adds up to 0, and h(z) is
    half the sum of |z|. Truncated: T_k = P(z_k >= k), T_1 = a (1 - delta) / (1 + a), T_(k+1) = max(0, a (T_k - delta)), a =
    exp(-rate): moved by one step, P(z) - P(z + u) / a is above 0 for the last two values alone, delta in all. Under it every
    pair is one step of one number, of a rate of at most b."""

    def __init__(self, core):
        known = dict.fromkeys(("workload", "relation", "noise", "measured", "reconstruction"), anything)
        family = one_of("staircase", "by_moves", "truncated_geometric", "custom")
        core = fields(core, "mechanism", family=family, grid=listed(whole(-1999, 1999)), **known)
        told = core.relation.get("epsilons", ()) if isinstance(core.relation, dict) else ()
        only(length(told) * len(core.grid) <= MOST_WORK // 100, "very many pairs")
        self.family, rows, noise = core.family, self.read_grid(core), core.noise
        pairs = self.relation.pairs()
        only(len(pairs) * len(self.grid) <= MOST_WORK // 100, "very many pairs")
        differences = [(self.difference(i, j), b) for i, j, b in pairs]
        self.heard = sorted({k for u, _ in differences for k in u})
        self.silent = [k not in self.heard for k in range(len(self.grid))]
        require(self.heard, "no protected change moves anything that is measured")
        least = {}  # the budget of each difference
        for u, b in differences:
            for there in (self.vector(u), self.vector({k: -c for k, c in u.items()})):
                if any(there):
                    least[there] = min(b, least.get(there, b))
        require(
            isinstance(noise, dict) and noise.get("kind") in ("peaks", "stairs", "moves", "truncated"), "noise.kind: unknown"
        )
        if noise["kind"] != "stairs":
            given = zip(self.multiples, rows, self.steps, strict=True)
            require(all(row[i] * e == c for row, own, e in given for i, c in own.items()), "grid: does not hold the answers")
        self.noise = None
        if noise["kind"] == "peaks":
            self.peaks(noise, least)
        else:
            {"stairs": self.stairs, "moves": self.moves, "truncated": self.truncated}[noise["kind"]](noise)
        self.certify()

    def vector(self, u):
        """u without the coordinates that nothing moves."""
        return tuple(u.get(k, 0) for k in self.heard)

    def length(self, u):
        """What the cheapest walk to u costs."""
        return self.height * self.cost(self.vector(u))

    def stairs(self, noise):
        """One number: a top and steps of one width."""
        read = {"kind": text, "unit": ratio, "width": whole(1, 2**50), "top": whole(0, 2**50)}
        own = fields(noise, "noise", **read)
        self.height = own.unit
        require(Fraction(1, 2**16) <= own.unit <= 2**10, "noise.unit: is not from 2^-16 to 2^10")
        require(len(self.heard) == 1, "noise: stairs are for one number")
        self.cost = lambda u: -(-abs(u[0]) // own.width)
        self.law = sentence("stairs", unit=float(own.unit), top=own.top, width=own.width)

    def moves(self, noise):
        """Counts that add up to 0."""
        own, size = fields(noise, "noise", kind=text, unit=ratio, cells=whole(2, 10**6)), len(self.heard)
        require(0 < own.unit <= 2**10 and own.cells == size, "noise: the unit is not from 0 to 2^10, or not all counts move")

        def cost(u):
            require(sum(u) == 0, "noise: a protected difference does not add up to 0")
            return sum(c for c in u if c > 0)

        self.height, self.cost, self.law = own.unit, cost, sentence("moves", unit=float(own.unit), cells=size)
        basis = [[(k == i) - (k == i + 1) for k in range(size)] for i in range(size - 1)]
        self.noise = basis, [0] * (size - 1)

    def truncated(self, noise):
        """Independent counts, under a delta."""
        own = fields(noise, "noise", kind=text, rates=listed(positive), delta=positive)
        require(len(own.rates) == len(self.heard) and all(rate <= 2**10 for rate in own.rates), "noise.rates: not one for each")
        require(Fraction(1, 10**100) <= own.delta < 1, "noise.delta: is not from 1e-100 to 1")

        def cost(u):
            require(sum(map(abs, u)) == 1, "noise: a protected difference is more than one step of one count")
            return next(rate for rate, c in zip(own.rates, u, strict=True) if c)

        low, high = float(min(own.rates)), float(max(own.rates))
        told = repr(low) if low == high else f"from {low!r} to {high!r}"
        self.height, self.cost, self.delta = 1, cost, own.delta
        self.law = sentence("truncated", delta=float(own.delta), rates=told)

    def allowed(self, b):
        """The budget itself, under a delta too."""
        return b

    def peaks(self, noise, least):
        """Peaks with levels, on a coset of the lattice that a basis generates; coordinates of peaks are doubled."""
        size = len(self.heard)
        basis, peak = matrix(whole(-(2**45), 2**45), size, size), matrix(whole(-(10**6), 10**6), columns=size)
        read = {"kind": text, "unit": ratio, "basis": basis, "halves": array(whole(0, 1), size), "peaks": peak}
        own = fields(noise, "noise", levels=array(whole(0, 2**44)), **read)
        self.height, basis, halves, peaks = own.unit, own.basis, own.halves, own.peaks
        require(0 < own.unit <= 2**10 and size <= 4, "noise.unit: is not from 0 to 2^10, or more than 4 numbers move")
        require(not any(n % 2 for half, row in zip(halves, basis, strict=True) for n in row if half), "noise.basis: odd")
        require(all((n - half) % 2 == 0 for peak in peaks for n, half in zip(peak, halves, strict=True)), "noise.peaks: coset")
        require(len(own.levels) == len(peaks), "noise.levels: not one for each peak")
        known = {tuple(peak): level for peak, level in zip(peaks, own.levels, strict=True)}
        require(peaks == sorted(peaks) and len(known) == len(peaks), "noise.peaks: not in order, each once")
        require(min(own.levels) == 0, "noise.levels: none is 0")
        require(all(known.get(tuple(-n for n in peak)) == level for peak, level in known.items()), "noise.peaks: no opposite")
        # Everything from here on is in the coordinates of the basis, doubled: u = y basis, y = u times its inverse.
        inverse = reduced([[*row, *(int(i == k) for k in range(size))] for i, row in enumerate(basis)])
        require(sorted(inverse) == list(range(size)), "noise.basis: its rows are dependent")

        def doubled(u):
            places = [2 * sum(n * inverse[i][size + k] for i, n in enumerate(u)) for k in range(size)]
            whole_ones = all(c.denominator == 1 and c % 2 == 0 for c in places)
            require(whole_ones, "noise.basis: a protected difference is no whole sum of its rows")
            require(all(abs(c) <= 2 * 10**6 for c in places), "noise.basis: a difference has coordinates beyond 10^6")
            return tuple(map(int, places))

        paid = {doubled(u): b // own.unit for u, b in least.items()}
        require(all(1 <= cost <= 2**44 for cost in paid.values()), "noise.unit: does not go into every budget 1 to 2^44 times")
        require(len(paid) <= 800, "noise: more than 800 protected differences")
        generated = echelon([[n // 2 for n in u] for u in paid])
        full = len(generated) == size and all(abs(row[k]) == 1 for k, row in generated.items())
        require(full, "noise.basis: the differences generate less than its lattice")
        walked = walks({(0,) * size: 0}, paid, set(paid), {})
        self.cost = lambda u: walked[doubled(u)]
        walks(known, paid, set(known), known)
        self.law, self.noise = sentence("peaks", unit=float(own.unit), size=size, peaks=len(peaks)), (basis, halves)

    def coset(self):
        """Half of the rows that `halves` tell, and sums of the basis."""
        if self.noise is None:
            return {}, None
        basis, halves = self.noise
        offset = [sum(half * row[k] for half, row in zip(halves, basis, strict=True)) // 2 for k in range(len(self.heard))]
        return dict(zip(self.heard, offset, strict=True)), [dict(zip(self.heard, row, strict=True)) for row in basis]

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        return {**self.promise("exponential"), "mechanism": f"Family {self.family}: integer noise on a grid, {self.law}."}

    def certificate(self, said):
        """As for all formats."""
        return [*super().certificate(said), "whether a table of the law fits into memory, which is no matter of privacy"]


def walks(started, paid, wanted, lowest):
    """The least cost to reach each wanted place from one of `started` {place: cost} by steps {u: cost}. A place of `lowest`
    that steps reach at its own cost or less is refused."""
    reached, waiting, left = {}, sorted((cost, place) for place, cost in started.items()), set(wanted)
    while left:
        only(len(reached) * len(paid) <= MOST_WORK // 10 and waiting, "walks that lead very far")
        cost, place = heappop(waiting)
        if place in reached:
            continue
        reached[place] = cost
        left.discard(place)
        for step, more in paid.items():
            there = tuple(a + b for a, b in zip(place, step, strict=True))
            require(cost + more > lowest.get(there, -1), "noise.peaks: one is reached from another at its level or below")
            if there not in reached:
                heappush(waiting, (cost + more, there))
    return reached


# ----------------------------------------------------------------------------------------------------------- 13 synthetic data


class Synthetic(Pairs):
    """A public histogram of n records, computed from noisy answers of stand-in queries P, whole numbers of one step.

    L11: |P_k e_i - P_k e_j| <= d(i, j) / w_k for every pair is what is proven. Then a choice by scores |P_k x - public number|
    with rate s w / 2, w the least w_k, spends at most s d, because each score moves by at most d / w, up or down (L7); a
    measurement of row k with discrete Laplace noise of rate s w_k spends s d (L1); and what rounds spend adds up, whatever the
    rounds before led to. A mechanism of shares s in all spends (sum of the shares) times the worst ratio of P."""

    says = {"floating_point": "synthetic numbers", "timing": "synthetic timing"}

    def read_queries(self, core):
        """The stand-in queries, and how many records there are."""
        self.law, spec = core.selection, core.queries
        known = {"workload": workload, "relation": Relation, "integers": matrix(whole(-(2**52), 2**52))}
        own = fields(spec, "queries", exponent=whole(-400, 400), weights=array(budget), **known)
        self.queries, self.elements, _ = own.workload
        self.relation, self.step, self.integers, self.weights = (
            own.relation,
            Fraction(2) ** own.exponent,
            own.integers,
            own.weights,
        )
        metric = self.relation.changes is None and not self.relation.absent and not self.relation.alone
        require(metric and self.relation.size == len(self.elements), "relation: is no metric on these elements")
        shaped = len(own.integers) == len(self.queries) and len(own.integers[0]) == len(self.elements)
        require(shaped, "queries.integers: not one row for each query, of its elements")
        require(len(self.weights) == len(self.queries), "queries.weights: not one for each query")
        require(any(w != math.inf for w in self.weights), "no protected change moves an answer")
        self.columns, self.work = transposed(sparse(own.integers), len(self.elements)), len(self.weights)
        self.rate, self.spent = min(self.weights), Fraction(1)

    def length(self, u):
        """The largest move of a row, over its constant, times what all rounds spend."""
        return self.spent * max(abs(c) * self.step * self.weights[k] for k, c in u.items())

    def prove(self):
        """Every pair; the queries have to keep their constants by themselves, however little the rounds spend."""
        self.certify()
        require(self.worst <= self.spent, "queries.weights: a row moves by more than its constant allows")

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        unit = sentence("value of one", further=TEXT["budgets add"])
        return {**self.promise("exponential"), "unit": unit, "mechanism": self.mechanism}


class MultiplicativeWeights(Synthetic):
    """MWEM: rounds of a choice and a measurement, with a share of the budget for each."""

    def __init__(self, core):
        known = {
            "records": whole(1, 2**53 - 1),
            "shares": array(array(ratio, 2)),
            "output": one_of("average", "last", "replay"),
        }
        law = one_of("exponential", "permute_and_flip")
        core = fields(core, "mechanism", queries=anything, selection=law, **known)
        self.read_queries(core)
        pairs = [tuple(pair) for pair in core.shares]
        require(len(pairs) <= 10_000 and all(part > 0 for pair in pairs for part in pair), "shares: one is not positive")
        require(min(b for _, b in pairs) * self.rate * self.step >= Fraction(1, 2**55), "shares: noise is beyond 64 bits")
        self.spent = sum((a + b for a, b in pairs), Fraction(0))
        require(self.spent <= 1, f"shares: add up to {float(self.spent)!r}")
        self.prove()
        shares = "; ".join(f"{a}, {b}" for a, b in dict.fromkeys(pairs))
        counts = {"rounds": len(pairs), "queries": len(self.weights), "law": self.law, "shares": shares}
        self.mechanism = sentence("mwem", output=TEXT[f"output {core.output}"], constant=1 / float(self.rate), **counts)


class SmallDatabase(Synthetic):
    """One of all histograms of m records is chosen by its largest error."""

    def __init__(self, core):
        law = one_of("exponential", "permute_and_flip")
        known = {"queries": anything, "records": whole(1, 2**53 - 1), "size": whole(1), "selection": law}
        core = fields(core, "mechanism", **known)
        self.read_queries(core)
        sums, columns, work = {(0,) * len(self.weights)}, set(zip(*self.integers, strict=True)), 0
        for _ in range(core.size):
            work += 1000 + len(sums) * len(columns)
            only(work <= 10**6, "a choice among very many histograms")
            sums = {tuple(a + b for a, b in zip(one, column, strict=True)) for one in sums for column in columns}
        only(len(sums) <= 50_000, "a choice among more than 50,000 vectors of answers")
        self.prove()
        counts = {"candidates": len(sums), "records": core.size, "law": self.law, "constant": 1 / float(self.rate)}
        self.mechanism = sentence("small database", **counts)


# ------------------------------------------------------------------------------------------------------ 14 tests of odds ratios


def shape_of(value, where):
    """A tradeoff function."""
    many = array(ratio, least=2)
    known = {
        "epsilon_delta": {"epsilon": ratio, "delta": ratio}, "gaussian": {"mu_squared": ratio}, "laplace": {"epsilon": ratio},
        "piecewise_linear": {"alphas": many, "betas": many}, "response_mixture": {"unit": ratio, "weights": many},
        "group": {"base": shape_of, "size": whole(2, 4096)},
    }  # fmt: skip
    require(isinstance(value, dict), f"{where}: is no object")
    kind = one_of(*known)(value.get("kind"), f"{where}.kind")
    own = fields(value, where, kind=text, **known[kind])
    require(kind != "epsilon_delta" or own.delta <= 1, f"{where}: delta is above 1")
    if kind == "group":
        small = own.base.kind == "epsilon_delta" and own.size <= (100 if own.base.delta else 4096)
        require(small, f"{where}: is of another base than epsilon_delta, or of more than 100 where there is a delta")
    if kind == "response_mixture":
        require(own.unit and own.weights[-1] and sum(own.weights) == 1 and len(own.weights) <= 4097, f"{where}: its weights")
    if kind == "piecewise_linear":
        ends = len(own.alphas) == len(own.betas) and own.alphas[0] == 0 and own.alphas[-1] == 1 and own.betas[-1] == 0
        require(ends and all(a < c for a, c in pairwise(own.alphas)), f"{where}: its ends")
        own.points = list(zip(own.alphas, own.betas, strict=True))
        slopes = [(b - d) / (c - a) for (a, b), (c, d) in pairwise(own.points)]
        require(all(steep > flat for steep, flat in pairwise(slopes)), f"{where}: is not convex")
        below = slopes[-1] >= 0 and own.betas[0] <= 1 and len(own.points) > 2 - (own.betas[0] < 1)
        require(below, f"{where}: is not below 1 - alpha")
    return own


class OddsRatio(Format):
    """The count x11 of a table of two by two with public margins, plus noise N of a continuous law F, rounded down to a grid.

    Tables with these margins differ by multiples k of (1, -1, -1, 1), so by 4 |k| counts: of at most 3 records that differ,
    |k| <= 1. f is a tradeoff function: f(a) bounds the least type II error of tests of type I error a from below.
    L12 (Awan and Vadhan 2023, Theorem 3.9; docs/theory/tradeoff.md, 7): for each symmetric f but 1 - a there is a law F with
    F(x) = f(1 - F(x + 1)) and F(-x) = 1 - F(x), linear within half a unit of 0 where no closed form is used, and shifts by at
    most 1 keep f. Closed forms: for (epsilon, delta) a discrete Laplace and a uniform number, cut where delta > 0; normal for
    G_mu. The file chooses f, which is checked to be symmetric, convex, and not trivial; rounding is post-processing."""

    says = {"sampling": "test sampling", "timing": "test timing", "post_processing": "test afterwards"}

    def __init__(self, core):
        margins = array(whole(0, 100_000), 2)
        known = {"rows": margins, "columns": margins, "adjacency": whole(2, 3), "exponent": whole(1, 64), "tradeoff": shape_of}
        core = fields(core, "mechanism", noise=one_of("closed_form", "piecewise"), **known)
        self.rows, self.columns, self.adjacency, self.exponent = core.rows, core.columns, core.adjacency, core.exponent
        require(sum(self.rows) == sum(self.columns) <= 100_000, "columns: add up to something else than rows")
        tables = min(self.rows[0], self.columns[0]) - max(0, self.columns[0] - self.rows[1]) + 1
        require(tables >= 2, "margins: leave a single table")
        make = getattr(self, f"kind_{core.tradeoff.kind}", None)
        only(make, f"a tradeoff function of kind {core.tradeoff.kind!r}")
        # fixed: c with f(c) = c. closed: the law in closed form, and the least number that its width goes by.
        self.fixed, closed, least, self.words = make(core.tradeoff)
        self.noise = closed if closed and core.noise == "closed_form" else "PiecewiseNoise"
        require(float(self.fixed) > 0, "tradeoff: protects nobody")
        allowed = Fraction(1, 2 ** (9 if self.noise == "PiecewiseNoise" else 40))
        narrow = min(1 - 2 * self.fixed, least if self.noise == "Tulap" else 1) >= allowed
        require(narrow, "tradeoff: the noise would be too wide to draw")

    def pure(self, own):
        """epsilon and delta, and e^epsilon."""
        require(own.epsilon or own.delta, "tradeoff: no loss at all is allowed")
        only(own.epsilon <= 500, "a loss above 500")
        return own.epsilon, own.delta, middle(exp(own.epsilon))

    def kind_epsilon_delta(self, own):
        """f(a) = max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a))."""
        epsilon, delta, steep = self.pure(own)
        words = sentence("f of epsilon and delta", epsilon=epsilon, delta=delta)
        return (1 - delta) / (1 + steep), "Tulap" if epsilon else None, epsilon, words

    def kind_gaussian(self, own):
        """f(a) = Phi(Phi^-1(1 - a) - mu)."""
        require(own.mu_squared > 0, "tradeoff: allows no loss at all")
        only(Fraction(1, 2**80) <= own.mu_squared <= 500, "a normal tradeoff function of mu beyond 2^-40 to 22")
        fixed, words = middle(normal(-root_below(own.mu_squared) / 2)), f"G_mu with mu = {math.sqrt(float(own.mu_squared))!r}"
        return fixed, "GaussianNoise", 1, words

    def kind_laplace(self, own):
        """f of Laplace noise with a loss of at most epsilon."""
        require(own.epsilon > 0, "tradeoff: allows no loss at all")
        only(own.epsilon <= 500, "a loss above 500")
        words = f"the tradeoff function of Laplace noise with epsilon = {float(own.epsilon)!r}"
        return 1 / (2 * middle(exp(own.epsilon / 2))), None, 1, words

    def kind_group(self, own):
        """f of epsilon and delta, for a group of `size` records."""
        epsilon, delta, steep = self.pure(own.base)
        x = (1 - delta) / (1 + steep) if own.size % 2 else Fraction(1, 2)
        for _ in range(own.size // 2):
            x = Fraction(round(max(0, 1 - delta - steep * (1 - x), (x - delta) / steep) * ONE), ONE)
        words = sentence("f of epsilon and delta", epsilon=epsilon, delta=delta)
        return x, None, 1, f"{own.size} times composed {words}"

    def kind_piecewise_linear(self, own):
        """A convex, falling function through corners that is its own inverse."""
        points = own.points
        mirrored = {}
        for a, b in points + [(Fraction(0), Fraction(1))] * (points[0][1] < 1):
            mirrored[b] = min(a, mirrored.get(b, a))
        require(sorted(mirrored.items()) == points, "tradeoff: is not symmetric")
        (a, b), (c, d) = next(ends for ends in pairwise(points) if ends[1][1] <= ends[1][0])
        steep = (b - d) / (c - a)
        return (b + steep * a) / (1 + steep), None, 1, f"a piecewise linear tradeoff function with {len(points)} corners"

    def summary(self):
        """What was found, in words."""
        return f"tables differ by one move, and {self.words} is symmetric, so that {self.noise} noise keeps it"

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        margins = f"ow sums {tuple(self.rows)} and column sums {tuple(self.columns)}"
        return {
            **self.fixed_fields(), "unit": sentence("test unit", records=self.adjacency),
            "relation": sentence("test relation", margins=f"r{margins}", records=self.adjacency),
            "unprotected": [f"R{margins} are public and exact."], "notion": sentence("test notion", function=self.words),
            "parameters": {"adjacency": self.adjacency, "least_alpha_plus_beta": 2 * self.fixed},
            "mechanism": sentence("test", noise=self.noise), "floating_point": sentence("test numbers", exponent=self.exponent),
        }  # fmt: skip

    def certificate(self, said):
        """As for all formats."""
        return [*super().certificate(said), "the law of the noise at single points: that it keeps f is lemma L12"]


# ------------------------------------------------------------------------------------------------------------- 15 table plans

OTHERS = "(all others)"


class TablePlan(Format):
    """Counts, sums, averages and quantiles of the groups of one table, each with its noise, and groups that are found.

    L13 (docs/theory/tables.md, 1 to 4): a record r is in at most one group of a query and moves its whole number by at most its
    amount, so Gaussian noise of variance v costs it amount^2 / (2 v) in zCDP (L3: alpha u^2 / (2 v)). A quantile is a choice by
    the exponential mechanism; one that is e-private in the sense of L7 costs e^2 / 8. Finding groups by their noisy numbers of
    split rows c(r) costs c(r)^2 / (2 v), and with probability delta a group appears because of r alone. Costs add up to P(r).
    A record of m rows, split at thresholds T, has amounts of at most m T: it costs at most (what every record costs) plus m^2
    times the sum over queries of max T^2 / (2 v), the maximum over what one record may have together."""

    says = {"sampling": "plan sampling", "floating_point": "plan numbers", "post_processing": "plan afterwards"}
    released = {"answers": anything}

    def __init__(self, core):
        known = {"levels": array(anything), "queries": array(anything), "splitting": anything, "rho": or_null(ratio)}
        known |= {"constant": ratio, "unlisted": one_of("count as others", "drop")}
        core = fields(core, "mechanism", ("constant", "unlisted"), **known)
        self.measures, self.terms, self.names, self.asked, self.tails = {}, [], [], {}, []
        # What every record costs beside its amounts; what one split row costs; the parts of the policy, in words.
        self.flat, self.rate, self.sums, self.counts, self.constants = Fraction(0), Fraction(0), {}, [], []
        self.levels = [self.level(spec, core.unlisted) for spec in core.levels]
        require(len({digest(spec) for spec in core.levels}) == len(self.levels), "levels: one twice")
        self.splitting = None if core.splitting is None else self.split(core.splitting)
        require(len(core.queries) <= 1000, "queries: more than 1000")
        places = [self.query(spec) for spec in core.queries]
        require(list(dict.fromkeys(places)) == list(range(len(self.levels))), "levels: not in the order of their queries")
        require(len(set(self.names)) == len(self.names), "queries: two have one name")
        self.queries = len(core.queries)
        self.deltas = [self.selection(level.selection) for level in self.levels if level.selection]
        require(self.splitting or (core.rho is None and core.constant is None), "rho: of split rows, without a splitting")
        self.constant, self.rho, self.least = core.constant, core.rho, None
        if self.splitting:
            require(self.rho is not None, "rho: is missing")
            self.least = self.rate + max(Fraction(0), self.flat - (self.constant or 0))
            require(self.least <= self.rho, f"rho: one split row costs {float(self.least)!r}")

    def column(self, spec, where="columns"):
        """A reader: of a key column, by its name with the length of its prefix."""
        own = fields(spec, where, column=text, prefix=or_null(whole(1)))
        only("[:" not in own.column, "a column whose name looks like a prefix")
        return own.column + (f"[:{own.prefix}]" if own.prefix else "")

    def level(self, spec, rule):
        """Groups: their key columns, and the listed keys or how groups are found."""
        columns = array(self.column, least=0)
        found = fields(spec, "levels", columns=columns, keys=or_null(array(array(text, least=0))), selection=anything)
        columns, rows, by = found.columns, found.keys, " x ".join(found.columns) or "everybody"
        require((rows is None) != (found.selection is None), "levels: either keys or a selection")
        only(columns or rows is not None, "a selection among one group")
        if rows is None:
            require(rule != "count as others", "unlisted: a selection lists no groups")
            found.words = f"{by}, groups found privately"
            return found
        keyed, width = {tuple(row) for row in rows}, len(columns)
        require(
            all(len(row) == width for row in rows) and len(keyed) == len(rows), "levels.keys: not one label for each column"
        )
        require(not any(a == OTHERS != b for row in rows for a, b in pairwise(row)), "levels.keys: a label below all others")
        stems = {row[:n] for row in keyed for n in range(width) if OTHERS not in row[:n]}
        complete = all((*stem, *[OTHERS] * (width - len(stem))) in keyed for stem in stems)
        require(rule != "count as others" or complete, "unlisted: a level has no group for all others")
        others = ", all others among them" if any(OTHERS in row for row in rows) else ""
        found.words = f"{by}, {len(rows)} public groups{others}" if columns else by
        return found

    def condition(self, spec, where):
        """A reader: of one condition on records, in words."""
        operation = one_of("present", "in", "==", "!=", "<", "<=", ">", ">=")
        own = fields(spec, where, column=text, op=operation, value=anything)
        values = own.value if isinstance(own.value, list) else [own.value]
        kinds = {type(one) for one in values}
        fits = {"present": own.value is None, "in": isinstance(own.value, list) and len(kinds) == 1 and kinds <= {str, int}}
        orders = kinds == {int} or (kinds == {str} and own.op in ("==", "!="))
        only(own.op == "in" or not isinstance(own.value, list), "a condition with several values")
        require(fits.get(own.op, orders), "where: is no condition")
        require(all(type(one) is not int or abs(one) < 2**53 for one in values), "where: a number beyond 2^53")
        told = tuple(values) if isinstance(own.value, list) else own.value
        return f"{own.column} is present" if own.op == "present" else f"{own.column} {own.op} {told!r}"

    def measure(self, spec, where="measure"):
        """A reader: of a column, clipped and rounded to whole steps; (column, step, words)."""
        own = fields(spec, where, column=text, step=ratio, lower=signed_ratio, upper=signed_ratio)
        column, step, lower, upper = own.column, own.step, own.lower, own.upper
        require(step > 0 and max(step.numerator, step.denominator) <= 2**52, "measure.step: is not moderate")
        require(lower <= 0 <= upper and lower < upper, "measure: bounds do not enclose 0")
        require(max(-lower, upper) / step <= 2**52 - 1, "measure: bounds are beyond 2^52 steps")
        made = column, step, f"{column} (steps of {step}, clipped to [{lower}, {upper}])"
        require(self.measures.setdefault(column, made) == made, "measures: a column is clipped or rounded in two ways")
        return made

    def variance(self, spec, level, step=Fraction(1)):
        """({label or None: variance}, the column that labels go by, words); labels are places where keys have their own."""
        by = None
        if isinstance(spec, dict):
            own = fields(spec, "variance", by=self.column, own=anything, other=ratio)
            by = own.by
            require(by in level.columns and isinstance(own.own, dict) and own.own, "variance: by no key column")
            found = {None: own.other, **{label: ratio(v, "variance") for label, v in own.own.items()}}
        elif isinstance(spec, list):
            require(level.keys is not None and len(spec) == len(level.keys), "variance: not one for each key")
            by, found = "group", {place: ratio(v, "variance") for place, v in enumerate(spec)}
        else:
            found = {None: ratio(spec, "variance")}
        least, most = min(found.values()), max(found.values())
        require(least > 0 and most <= 2**110 * step**2, "variance: is not from above 0 to 2^110 squared steps")
        return found, by, f"{least} .. {most} by {by}" if by else f"{least}"

    def split(self, spec):
        """Thresholds of measures, some for single labels: {label or None: {column: threshold}}, by which column, words."""
        known = {"thresholds": anything, "by": or_null(self.column), "own": anything}
        read = fields(spec, "splitting", measures=array(self.measure), **known)
        measures, by, own = read.measures, read.by, read.own
        require(len({column for column, _, _ in measures}) == len(measures), "splitting.measures: one twice")
        require(isinstance(own, dict) and bool(own) == (by is not None), "splitting: by and own")

        def thresholds(given):
            values = array(ratio, len(measures))(given, "splitting.thresholds")
            for (_, step, _), T in zip(measures, values, strict=True):
                require(0 < T / step < 2**52 and (T / step).denominator == 1, "splitting.thresholds: no whole number of steps")
            return {column: T for (column, _, _), T in zip(measures, values, strict=True)}

        found = {None: thresholds(read.thresholds), **{label: thresholds(v) for label, v in sorted(own.items())}}
        words = ", ".join(f"{column} {T}" for column, T in found[None].items()) + (f", others by {by}" if by else "")
        return found, by, words

    def query(self, spec):
        """What a query says, to the terms, and what it costs, to the sums of all; returns its level."""
        asked = {
            "count": "variance", "count_distinct": "variance of", "sum": "variance measure",
            "average": "variance measure count_variance", "quantile": "measure q candidates rho rate",
        }  # fmt: skip
        require(isinstance(spec, dict) and type(spec.get("kind")) is str, "queries: one is no object with a kind")
        only(spec["kind"] in asked, f"queries of kind {spec['kind']!r}")
        known = {"kind": text, "name": text, "groups": whole(0, len(self.levels) - 1)}
        known |= {"where": array(self.condition, least=0), "measure": self.measure, "q": anything, "of": text}
        known |= {"rho": ratio, "rate": positive, "candidates": array(signed_ratio)}
        chosen = ["kind", "name", "groups", "where", *asked[spec["kind"]].split()]
        own = fields(spec, "queries", **{key: known.get(key, anything) for key in chosen})
        require(0 < len(own.name) <= (194 if own.kind == "average" else 200), "queries.name: is empty or too long")
        level, kind = self.levels[own.groups], own.kind
        self.names.append(own.name)
        if kind == "average":
            present = f"{own.measure[0]} is present"
            with_value = own.where if present in own.where else [*own.where, present]
            self.names += [f"{own.name}.sum", f"{own.name}.count"]
            total = self.sum(f"{own.name}.sum", own.measure, own.variance, own.where, level)
            number_of_it = self.count(f"{own.name}.count", "COUNT", own.count_variance, with_value, level)
            self.terms.append(f"{own.name}: AVG as {total} over {number_of_it}")
        elif kind == "quantile":
            self.terms.append(self.quantile(own, level))
        elif kind == "sum":
            self.terms.append(self.sum(own.name, own.measure, own.variance, own.where, level))
        else:
            what = "COUNT" if kind == "count" else f"COUNT DISTINCT {own.of}"
            self.terms.append(self.count(own.name, what, own.variance, own.where, level))
        return own.groups

    def grouped(self, where, level):
        """Groups and conditions in words."""
        return f"by {level.words}" + (f" where {' and '.join(where)}" if where else "")

    def count(self, name, what, spec, where, level):
        """The sentence of a count; every record moves one by 1."""
        variances, _, said = self.variance(spec, level)
        self.asked[name] = level, Fraction(1)
        self.counts.append(min(variances.values()))
        self.flat += 1 / (2 * min(variances.values()))
        return f"{name}: {what} {self.grouped(where, level)}, loss 1 / (2 * {said})"

    def sum(self, name, measure, spec, where, level):
        """The sentence of a sum; a split row moves one by at most its threshold."""
        column, step, measured = measure
        variances, by, said = self.variance(spec, level, step)
        self.asked[name] = level, step
        self.sums[column] = self.sums.get(column, Fraction(0)) + 1 / min(variances.values())
        if self.splitting:
            require(column in self.splitting[0][None], f"splitting: has no threshold for {column!r}")
            self.rate += max(T**2 / (2 * v) for T, v in self.together(column, variances, by, level))
        return f"{name}: SUM {measured} {self.grouped(where, level)}, loss {column}^2 / (2 * {said})"

    def together(self, column, variances, by, level):
        """All pairs of a threshold and a variance that one record may have: where labels of the groups tell both, by label."""
        thresholds, split_by, _ = self.splitting
        others = any(OTHERS in row for row in level.keys or ())
        found = []
        if 0 in variances and split_by in level.columns:  # one variance for each key
            place = level.columns.index(split_by)
            for n, v in variances.items():
                label = level.keys[n][place]
                known = thresholds.values() if label == OTHERS else [thresholds.get(label, thresholds[None])]
                found += [(own[column], v) for own in known]
        elif 0 not in variances and by == split_by and by is not None and not others:
            for label in {*thresholds, *variances}:
                own = thresholds.get(label, thresholds[None])
                found.append((own[column], variances.get(label, variances[None])))
        else:
            found = [(own[column], v) for own in thresholds.values() for v in variances.values()]
        return found

    def quantile(self, own, level):
        """A choice by -max(0, q n - #{x <= g}, #{x < g} - q n): a record that appears moves every score by at most the larger
        of q and 1 - q, up or down, and two of them apart by twice that (L7)."""
        _, step, measured = own.measure
        require(level.keys is not None, "queries: a quantile needs public groups")
        require(type(own.q) is float and 0 < own.q < 1, "queries.q: is no number between 0 and 1")
        candidates = [g / step for g in own.candidates]
        require(2 <= len(candidates) <= 256 and all(a < b for a, b in pairwise(candidates)), "candidates: do not rise")
        require(all(g.denominator == 1 and abs(g) <= 2**52 for g in candidates), "candidates: are no whole numbers of steps")
        require(0 < own.rho <= 10**6, "rho: is not above 0, and at most 10^6")
        moved, many = 2 * max(Fraction(1 - own.q), Fraction(own.q)), len(candidates)
        require((own.rate * moved) ** 2 <= 8 * own.rho, "queries.rate: spends more than rho")
        only((own.rate * moved) ** 2 <= 8 * own.rho * (1 - Fraction(1, 2**50)), "queries.rate: is at its limit")
        self.constants.append(f"{own.rho}")
        self.flat += own.rho
        words = {"q": own.q, "measured": measured, "words": self.grouped(own.where, level), "many": many}
        return sentence("quantile", name=own.name, rho=str(own.rho), **words)

    def selection(self, spec):
        """(delta, whether it is that of every record) of groups that are found."""
        split, most = or_null(lambda value, where: self.split(value)), or_null(whole(1))
        own = fields(spec, "selection", variance=ratio, threshold=whole(2), splitting=split, at_most=most)
        variance, split, most = own.variance, own.splitting, own.at_most
        require(0 < variance <= 2**110, "selection.variance: is not from above 0 to 2^110")
        require(most is None or split, "selection.at_most: goes with a splitting")
        rho, delta = 1 / (2 * variance), self.tail(own.threshold - (most or 1), variance)
        self.tails.append((own.threshold, most or 1, variance))
        if split is None:
            self.constants.append(f"{rho}")
        else:
            ways = {label: ", ".join(f"|{c}| / {bracketed(T)}" for c, T in by.items()) for label, by in split[0].items()}
            costs = {label: f"{rho} * max(1, ceil(max({way})))^2" for label, way in ways.items()}
            cases = "; ".join(f"{cost} where {split[1]} = {label!r}" for label, cost in costs.items() if label is not None)
            self.constants.append(f"[{cases}; {costs[None]} otherwise]" if cases else costs[None])
        if self.splitting:
            require(split in (None, self.splitting), "splitting: the selection of groups splits otherwise")
            self.flat, self.rate = self.flat + rho * (split is None), self.rate + rho * (split is not None)
        rows = "records" if split is None else "split rows" + (f", at most {most} a record" if most else "")
        every = split is None or most is not None
        of = "every record" if every else "a record of one row"
        told = {"rows": rows, "variance": str(variance), "threshold": own.threshold, "delta": delta, "of": of}
        self.terms.append(sentence("groups found", **told))
        return delta, every

    def entity(self, k):
        """All rows appear; parts of j of them make a group appear by the tail that j times as many split rows leave, and parts
        that add up to k cost at most k times the largest of these over j (docs/theory/tables.md)."""
        each = [max(self.tail(t - j * most, v) / j for j in range(1, k + 1)) for t, most, v in self.tails]
        delta = min(1.0, sum(min(1.0, k * one * (1 + 2.0**-40)) for one in each) * (1 + 2.0**-40)) if each else 0.0
        name = "delta" if all(every for _, every in self.deltas) else "delta_of_one_row"
        return True, {name: Fraction(delta)}, sentence("plan entities", k=k)

    def tail(self, t, variance):
        """P(Z >= t) of a discrete Gaussian, from above: 64 terms exp(-z^2 / (2 v)), which fall, the rest being at most the
        integral that starts at the last of them, over sqrt(2 pi v), which the sum over all whole numbers is at least."""
        if t <= 0:
            return 1.0
        only(variance <= 2**60 and t * t <= 160 * variance, "a delta below 1e-35")
        terms = [exp(-Fraction(z * z) / (2 * variance)) for z in range(t, t + 64)]
        high, (low, _) = sum(top for _, top in terms), times(root_of_two_pi(), between(root_below(variance)))
        beyond = Fraction(t + 63) / root_above(variance)
        rest = normal(-beyond)[1] if beyond <= 13 else exp(-beyond * beyond / 2)[1]
        return min(1.0, float_above(Fraction(high, low) + Fraction(rest, ONE)))

    def summary(self):
        """What was found, in words."""
        rows = "" if self.rho is None else f", and a split row costs {float_above(self.least)!r}"
        return f"the losses of all {self.queries} queries are those that follow from their noise{rows}"

    def certificate(self, said):
        """What the queries and a split row cost."""
        left = {"arithmetic": anything, "theorem": anything}
        own = fields(said, "certificate", holds=one_of(True), terms=anything, rho_per_split_row=anything, **left)
        require(digest(own.terms) == digest(printed(self.terms)), "certificate.terms: are others")
        least = None if self.least is None else str(self.least)
        require(own.rho_per_split_row == least, f"certificate.rho_per_split_row: is not {least}")
        return ["certificate.arithmetic, .theorem: how the designer proved it, proven anew here"]

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        sums = [f"{column}^2 / {bracketed(2 / precision)}" for column, precision in self.sums.items()]
        sums += [f"1 / {bracketed(2 * v)}" for v in self.counts]
        parts = [" + ".join(sums)] * bool(sums) + self.constants
        policy = parts[0] if len(parts) == 1 else " + ".join(f"({part})" for part in parts)
        rows, every = "", all(each for _, each in self.deltas)
        if self.splitting:
            flat = f"{self.constant} + " if self.constant else ""
            rows = f" P(r) <= {flat}{self.rho} * m(r)^2, m(r) the rows of r after splitting at {self.splitting[2]}."
        grouped = any(level.keys is not None and level.columns for level in self.levels)
        public = (
            [TEXT["plan schema"], TEXT["plan policy"]] + [TEXT["plan groups"]] * grouped + [TEXT["plan alone"]] * (not every)
        )
        delta = min(1.0, sum(delta for delta, _ in self.deltas) * (1 + 2.0**-40)) if self.deltas else 0.0
        told = {"queries": self.queries, "delta" if every else "delta_of_one_row": Fraction(delta)}
        told |= {} if self.rho is None else {"rho_per_split_row": float_above(self.rho)}
        told |= {} if self.constant is None else {"constant_loss": float_above(self.constant)}
        notion = TEXT["plan notion"] + f" {TEXT['plan found']}" * bool(self.deltas)
        mechanism = sentence("plan", terms="; ".join(self.terms), policy=policy, rows=rows)
        return {
            **self.fixed_fields(), "unit": TEXT["plan unit"], "relation": TEXT["plan relation"], "unprotected": public,
            "notion": notion, "parameters": told, "mechanism": mechanism, "timing": f"{TEXT['timing']} {TEXT['plan timing']}",
        }  # fmt: skip

    def possible(self, own):
        """One whole number for each group of each count and sum, and its value."""
        fields(own.answers, "answers", **dict.fromkeys(self.names, anything))
        for name, (level, step) in self.asked.items():
            answer = own.answers[name]
            require(isinstance(answer, dict) and isinstance(answer.get("keys"), list), f"answers: {name!r} has no keys")
            require(level.keys is None or answer["keys"] == level.keys, f"answers: {name!r} is of other groups")
            drawn = array(integer, len(answer["keys"]), 0)(answer.get("integers"), "answers.integers")
            for n, value in zip(drawn, array(number, len(drawn), 0)(answer.get("values"), "answers.values"), strict=True):
                require(abs(value - n * step) <= abs(n * step) * DIGITS, f"answers: {name!r} is not its whole number of steps")
        return ["variances, averages and quantiles of the release, and the order of groups that were found"]


def bracketed(value):
    """A fraction to divide by, in words."""
    return f"{value}" if value.denominator == 1 else f"({value})"


# -------------------------------------------------------------------------------------------------------- 16 what the file says

FORMATS = {
    "dp-designer/mechanism": Additive, "dp-designer/channel": OwnReport, "dp-designer/lattice-mechanism": Lattice,
    "dp-designer/row-mechanism": Rows, "dp-designer/selection": Selection, "dp-designer/marginals": Marginals,
    "dp-designer/structured-mechanism": Structured, "dp-designer/staircase-mechanism": Staircase,
    "dp-designer/hierarchy-mechanism": Hierarchy,
    "dp-designer/mwem": MultiplicativeWeights, "dp-designer/small-db": SmallDatabase,
    "dp-designer/odds-ratio-test": OddsRatio, "dp-designer/table-plan": TablePlan,
}  # fmt: skip


def check_spec(spec):
    """The mechanism of a spec that holds, and what was not compared."""
    known = text(spec.get("format"), "format")
    require(known != "dp-designer/release", "format: this is a release; give the spec that made it first")
    only(known in FORMATS, f"format: {known[:60]!r} is not one that this program checks")
    parts = "format mechanism guarantee certificate optimality provenance fingerprint seal about".split()
    version = fields(spec, "the spec", ("about",), version=whole(), **dict.fromkeys(parts, anything)).version
    require(version == 1, "version: is not 1")
    require(isinstance(spec["mechanism"], dict), "mechanism: is no object")
    only(in_runs(spec) <= MOST_IN_RUNS, f"runs that stand for more than {MOST_IN_RUNS} entries")
    require(spec["seal"] == seal_of(spec), "seal: is not that of the contents")
    require(spec["fingerprint"] == digest(spec["mechanism"]), "fingerprint: is not that of the mechanism")
    made = FORMATS[spec["format"]](spec["mechanism"])
    left = made.certificate(spec["certificate"])
    check_guarantee(spec["guarantee"], stated(made), spec["fingerprint"])
    if "about" in spec:
        check_about(spec["about"])
    if '"runs"' in json.dumps(spec["mechanism"]):
        left.append("whether long lists are written as runs that are each as long as can be: here runs are written out")
    return made, [*left, "optimality, provenance: notes, which prove nothing"]


def check_about(about):
    """What the maker says of the data: lines of text that show what they hold."""
    units = about.get("units", {}) if isinstance(about, dict) else {}
    require(isinstance(units, dict), "about.units: is no object")
    known = ("title", "data", "period", "publisher", "contact", "record", "units", "records")
    fields(about, "about", known, **dict.fromkeys(known, anything))
    require(isinstance(about.get("records", {}), dict), "about.records: is no object")
    lines = [*units, *units.values(), *(line for key, line in about.items() if key not in ("units", "records"))]
    shown = all(type(line) is str and line and not UNSEEN.search(line) for line in lines)
    require(shown, "about: is no text, or has a character that cannot be seen")


def stated(made):
    """Every field of the guarantee that follows from the numbers, as files hold it."""
    return {field: said if field == "parameters" else printed(said) for field, said in made.statement().items()}


def check_guarantee(said, proven, fingerprint):
    """Every field of the guarantee against what was recomputed. Parameters are floats that stand for exact numbers: another
    machine may round the last digits otherwise."""
    fields(said, "guarantee", **dict.fromkeys((*proven, "software", "fingerprint"), anything))
    for field, value in proven.items():
        if field != "parameters":
            require(said[field] == value, f"guarantee.{field}: says {said[field]!r}, recomputed {value!r}")
    fields(said["parameters"], "guarantee.parameters", **dict.fromkeys(proven["parameters"], anything))
    for field, value in proven["parameters"].items():
        claimed, where = said["parameters"][field], f"guarantee.parameters.{field}"
        require(type(claimed) is (int if type(value) is int else float), f"{where}: {claimed!r} is no float")
        room = abs(value) * Fraction(9, 10**10) if type(value) is Fraction else 0
        off = abs(Fraction(claimed) - Fraction(value))
        require(off <= room, f"{where}: says {claimed!r}, recomputed {float(value)!r}")
    software = text(said["software"], "guarantee.software")
    require(re.fullmatch("dp-designer [0-9a-z.+]{1,40}", software), "guarantee.software: is no version")
    require(said["fingerprint"] == fingerprint, "guarantee.fingerprint: is another one")


# ------------------------------------------------------------------------------------------------------------------ 17 releases


def of_entities(made, every, row, said):
    """What the guarantee of a release says otherwise where all rows of an entity change together, of which k count: a
    change of one row after the other, so at most k times the largest budget (L2; docs/theory/entities.md, 2). The number of
    rows left out moves by at most k, under noise of a scale s that the sentence states, which costs k / s."""
    k = row.rows_per_entity
    appears, numbers, notion = made.entity(k)
    told = {"rows_per_entity": k, **numbers}
    mechanism = every["mechanism"] + sentence("entity chosen", k=k)
    if appears:
        scale = whole(1, 10**30)(int("0" + said.rpartition(" of scale ")[2].partition(":")[0]), "guarantee.mechanism: scale")
        told["epsilon_of_rows_left_out"] = Fraction(k, scale)
        mechanism += sentence("entity left out", k=k, scale=scale)
    else:
        require(row.left_out >= 0, "rows.left_out: is negative")
        mechanism += sentence("entity left out public", k=k)
    return {
        "unit": printed(sentence("entity unit", entity=repr(row.entity), k=k, unit=every["unit"])),
        "relation": TEXT["entity appears" if appears else "entity changes"],
        "notion": every["notion"] + notion,
        "mechanism": mechanism,
        "parameters": every["parameters"] | told,
    }


def check_release(release, spec, made):
    """A release of this spec: its numbers could have been drawn, and its answers follow. What is left is returned in words."""
    require(release.get("format") == "dp-designer/release", "the second file is no release")
    require(release.get("fingerprint") == spec["fingerprint"], "fingerprint: the release was made by another mechanism")
    only(made.released is not None, "a release of this format")
    keys = "format version spec fingerprint time rows published guarantee ledger seal exact about".split()
    own = fields(release, "the release", ("exact", "about"), **dict.fromkeys(keys, anything), **made.released)
    require(type(own.version) is int and own.version == 1, "version: is not 1")
    require(own.seal == seal_of(release), "seal of the release: is not that of the contents")
    require(digest(own.spec) == digest({"format": spec["format"], "version": 1}), "spec: names another format")
    left, guarantee, every = [], own.guarantee, stated(made)
    if own.rows is not None:
        row = {"unit": or_null(text), "entity": or_null(text), "rows_per_entity": or_null(whole(1, 1000))}
        row = fields(own.rows, "rows", ("left_out", "engine"), left_out=integer, engine=text, **row)
        given = {value is None for value in (row.entity, row.rows_per_entity, row.left_out)}
        require(len(given) == 1, "rows: entity, rows_per_entity and left_out go together")
        if row.entity is not None:
            every |= of_entities(made, every, row, text(guarantee["mechanism"], "guarantee.mechanism"))
            left.append("the scale of the noise in the number of rows left out, which costs what is stated whatever it is")
        for field in ("unit", "unprotected"):  # a text and a list, which go on behind what the spec says
            proven, said = every[field], guarantee[field]
            require(type(said) is type(proven) and said[: len(proven)] == proven, f"guarantee.{field}: recomputed {proven!r}")
            left.append(f"guarantee.{field} of the release, where it tells what one row was: {said[len(proven) :]}")
            guarantee = {**guarantee, field: proven}
    check_guarantee(guarantee, every, spec["fingerprint"])
    if "about" in release:
        require(own.about == spec.get("about", {}), "about: the release describes itself in other words than its spec")
    return [
        *left,
        *made.possible(own),
        "published, rows, time, exact and ledger of the release",
        "whether the noise was drawn by the stated law, and from these data: no file shows that",
    ]


# ------------------------------------------------------------------------------------------------------------------ 18 ledgers

# What several releases cost together. A ledger is a chain of entries: the hash of one is SHA-256 of the hash before it, a line
# feed, and its text. A release counts from the entry that reserves it on, whatever becomes of it. L14: of releases of which
# each may be chosen after the last, epsilons and deltas add up, and so do rhos; rho-zCDP is (epsilon, delta)-private for every
# epsilon >= rho and delta = exp(-(epsilon - rho)^2 / (4 rho)) (Bun and Steinke 2016, Proposition 1.3); squares of mu add up
# (Dong, Roth and Su 2022, Corollary 3.3), and chances to tell all beside them; a record that is replaced is one that disappears
# and one that appears, at twice the epsilon and four times the rho of each.

ENTRIES = {
    "opened": "format version ledger software", "stated": "dataset total publishes content",
    "raised": "dataset total publishes reason", "reserved": "dataset expense guarantee rows",
    "released": "dataset reservation output", "abandoned": "dataset reservation", "summed": "standings signing",
    "keys": "keys signatures", "lost": "keys signatures reason", "approved": "entry",
}  # fmt: skip
EDITION = ("period", "replaces")  # which an entry that reserves may have, too
LEDGER_LEFT = (
    "what each release cost: compare the fingerprint and the guarantee of its entry with its spec",
    "signatures, times, names, what may be published, and whether every release was recorded",
)


def expense_of(entry):
    """What the entry of a reservation says that the release costs."""
    known = dict.fromkeys("fingerprint format notion unit".split(), text)
    known |= dict.fromkeys(("epsilon", "rho", "delta", "mu_squared"), or_null(ratio))
    known |= {"moves": one_of("appear", "replace", "either", "keep", "l1", "l2"), "records": whole(1), "replaced": boolean}
    known |= {"shapes": array(shape_of, least=0), "scope": or_null(text), "unprotected": array(text, least=0)}
    own = fields(entry["expense"], "expense", **known)
    require(own.epsilon is not None or own.rho is not None, "expense: has neither an epsilon nor a rho")
    return own


def total_of(entry):
    """The total that an entry states or raises, and the sentences on what may be published."""
    total = fields(entry["total"], "total", **dict.fromkeys(("epsilon", "delta", "rho"), or_null(ratio)))
    require((total.epsilon is None) != (total.rho is None) and not (total.rho and total.delta), "total: is of no notion")
    return total, or_null(array(text, least=0))(entry["publishes"], "publishes")


def require_covered(name, total, publishes, expenses):
    """Together, on the change that all of them protect, they cost at most the total."""
    public = any(own.replaced for own in expenses) or "The number of records is public." in (publishes or ())
    kinds = {(own.moves, own.records, own.replaced) if own.moves not in ("appear", "replace") else "record" for own in expenses}
    only(len(kinds) <= 1, f"{name!r}, whose releases protect changes of several kinds")
    single = any(own.moves == "keep" and own.records == 1 and not own.replaced for own in expenses)
    only(not (public and single), f"{name!r}, whose releases protect no change in common")
    times = [2 if public and own.moves == "appear" else 1 for own in expenses]
    epsilons = [None if own.epsilon is None else own.epsilon * k for own, k in zip(expenses, times, strict=True)]
    known = [own.rho is not None and (own.epsilon is not None or not own.delta) for own in expenses]
    rho = sum(own.rho * k * k for own, k in zip(expenses, times, strict=True)) if all(known) else None
    deltas = [own.delta or 0 for own in expenses]
    if total.delta is None:
        if total.epsilon is None:
            spent, allowed = rho, total.rho
        else:
            spent, allowed = None if None in epsilons or any(deltas) else sum(epsilons), total.epsilon
        require(spent is not None, f"{name!r} was charged for a release without a promise of the kind of its total")
        if spent > allowed:
            only(set(times) <= {1}, f"{name!r}, whose releases cost less than this program can prove")
            raise DoesNotHold(f"{name!r} was charged {float(spent):.6g}, more than its total of {float(allowed):.6g}")
        return
    plain = None not in epsilons and not any(delta and k > 1 for delta, k in zip(deltas, times, strict=True))
    within = plain and sum(epsilons) <= total.epsilon and sum(deltas) <= total.delta
    if not within and rho is not None and rho <= total.epsilon:
        within = rho == 0 or exp(-((total.epsilon - rho) ** 2) / (4 * rho))[1] <= between(total.delta)[0]
    within = within or (set(times) <= {1} and within_as_normal(expenses, total))
    only(within, f"{name!r}, whose releases keep its total by no rule that this program knows")


def within_as_normal(expenses, total):
    """Whether releases that promise mu-GDP and a chance to tell all keep (epsilon, delta) together."""
    listed = [shape for own in expenses for shape in own.shapes]
    chances = [shape for shape in listed if shape.kind == "epsilon_delta" and shape.epsilon == 0]
    normals = [shape for shape in listed if shape.kind == "gaussian"]
    if len(chances) + len(normals) < len(listed) or not all(own.shapes for own in expenses):
        return False
    mu, epsilon = root_above(sum(shape.mu_squared for shape in normals)), total.epsilon
    left = total.delta - sum(shape.delta for shape in chances)
    if mu == 0 or left <= 0 or epsilon > 40 or mu / 2 + epsilon / mu > 20:
        return mu == 0 and left >= 0
    first, second = normal(mu / 2 - epsilon / mu), normal(-mu / 2 - epsilon / mu)
    return first[1] - times(exp(epsilon), second)[0] <= between(left)[0]


def check_ledger(content, release_bytes):
    """The chain, the terms of each data set, and that each of its totals covered what was reserved while it stood: what holds,
    and what is left, in words."""
    only(len(content) <= SIZE_LIMIT, "a ledger of more than 256 MiB")
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(content)
        stored = connection.execute("SELECT type FROM sqlite_master WHERE name = 'entries'").fetchall()
        require(stored == [("table",)], "this is no ledger: it has no table of entries")
        rows = connection.execute("SELECT number, previous, body, hash, signature FROM entries ORDER BY number").fetchall()
        ever = connection.execute("SELECT seq FROM sqlite_sequence").fetchall()
    except sqlite3.DatabaseError as error:
        raise DoesNotHold(f"this is no ledger: {error}") from None
    head, sets, rule = "0" * 64, {}, SimpleNamespace(keys=[], signatures=1, since=0, approvals=[])
    for place, (number, previous, body, hashed, signature) in enumerate(rows, 1):
        where = f"entry {place}"
        require(number == place and previous == head, f"{where}: does not follow the entry before it")
        require(hashed == hashlib.sha256(f"{head}\n{body}".encode()).hexdigest(), f"{where}: was altered")
        entry = read_json(body.encode())
        same = json.dumps(entry, sort_keys=True, separators=(",", ":")) == body and entry.get("number") == place
        require(same and entry.get("kind") in ENTRIES, f"{where}: is not written as the project writes it")
        own = f"number kind time who signer {ENTRIES[entry['kind']]}".split()
        more = EDITION if entry["kind"] == "reserved" else ()
        fields(entry, where, more, **dict.fromkeys([*own, *more], anything))
        require((entry["signer"] is None) == (signature is None), f"{where}: its signature is of nobody, or missing")
        head = hashed
        noted(entry, hashed, place, sets, rule)
        ruled(entry, place, rule)
    require(rows and ever == [(len(rows),)], "the last entries of the ledger are missing")
    for name, own in sets.items():
        require_covered(name, *own.terms, own.expenses)
    if release_bytes is not None:
        recorded(read_json(release_bytes), rows)
    many = sum(len(own.expenses) for own in sets.values())
    summary = (
        f"a ledger of {len(rows)} entries, the last one {head[:12]}: {many} reservations, {len(sets)} data sets within totals"
    )
    lost = [f"whether the keys before entry {row[0]} were lost" for row in rows if json.loads(row[2])["kind"] == "lost"]
    return [summary, *(f"not compared: {what}" for what in (*LEDGER_LEFT, *lost))]


def require_keys_of(entry, where):
    """It names different keys, and asks for one or two of them."""
    named = array(text)(entry["keys"], f"{where}: keys")
    require(len({*named}) == len(named) and all(named), f"{where}: names a key twice, or none")
    require(whole(1)(entry["signatures"], where) <= min(2, len(named)), f"{where}: asks for too many signatures")


def ruled(entry, place, rule):
    """One entry more, by the keys that entries name as theirs: those that may sign, and a second one where two are needed."""
    where, kind, key = f"entry {place}", entry["kind"], or_null(text)(entry["signer"], "signer")
    if kind == "opened":
        rule.keys, rule.since = ([], 0) if key is None else ([key], 1)
        return
    named = array(text)(entry["keys"], f"{where}: keys") if kind in ("keys", "lost") else []
    require(kind == "lost" or not rule.keys or key in rule.keys, f"{where}: is signed by nobody who may")
    if named:
        require(key in named or (kind == "keys" and rule.keys), f"{where}: is signed by no key that it names")
        require_keys_of(entry, where)
    if kind == "lost":
        said = text(entry["reason"], where)
        require(rule.keys and said.strip() and said.isprintable() and len(said) <= 500, f"{where}: no key is lost for a reason")
    if kind == "approved":
        content = entry["entry"]
        told = content.get("kind") if isinstance(content, dict) else None
        require(rule.signatures == 2 and told in ("reserved", "keys"), f"{where}: approves what needs no approval")
        more = EDITION if told == "reserved" else ()
        fields(content, where, more, **dict.fromkeys(["kind", *ENTRIES[told].split(), *more], anything))
        require_keys_of(content, where) if told == "keys" else expense_of(content)
        rule.approvals.append([place, key, digest(content)])
    elif rule.signatures == 2 and kind in ("reserved", "keys"):
        wanted = digest({said: entry[said] for said in entry if said not in ("number", "time", "who", "signer")})
        used = next((made for made in rule.approvals if made[2] == wanted and made[1] != key), None)
        require(used is not None, f"{where}: was approved by no other key")
        rule.approvals.remove(used)
    if named:
        rule.keys, rule.signatures, rule.since, rule.approvals = named, entry["signatures"], place, []


def noted(entry, hashed, place, sets, rule):
    """One entry more. sets: {name: terms, reservations and what equal ones cost}. rule: of who may sign."""
    where, kind = f"entry {place}", entry["kind"]
    if place == 1 or kind == "opened":
        opened = (place, kind, entry.get("format"), entry.get("version"))
        require(opened == (1, "opened", "dp-designer/ledger", 1), f"{where}: opens no ledger of version 1")
        return
    if kind == "summed":
        said = [{"dataset": name, **own.stated, "rows": own.rows, "scope": own.scope, "expenses": [*own.equal.values()]}
                for name, own in sets.items()]  # fmt: skip
        same = digest([entry["standings"], entry["signing"]]) == digest([said, vars(rule)])
        require(same, f"{where}: is not what the entries before it add up to")
        return
    if kind in ("keys", "lost", "approved"):
        return
    name = text(entry["dataset"], where)
    require((name in sets) != (kind == "stated"), f"{where}: {name!r} is not stated once, before it is spoken of")
    if kind == "stated":
        sets[name] = SimpleNamespace(
            expenses=[], open=set(), equal={}, rows=None, scope=None, stated={"content": entry["content"]}
        )
    own = sets[name]
    if kind in ("stated", "raised"):
        if own.expenses:
            require_covered(name, *own.terms, own.expenses)
        own.terms = total_of(entry)
        own.stated |= {"total": entry["total"], "publishes": entry["publishes"]}
    elif kind == "reserved":
        expense = expense_of(entry)
        rows = {"name": or_null(text), "entity": or_null(text), "rows_per_entity": or_null(whole(1))}
        own.rows = vars(fields(dict.fromkeys(rows) if entry["rows"] is None else entry["rows"], f"{where}: rows", **rows))
        own.scope = own.scope if own.expenses else expense.scope
        cost = digest({key: said for key, said in entry["expense"].items() if key not in ("fingerprint", "format")})
        own.equal.setdefault(cost, [place, hashed, 0])[2] += 1
        own.expenses.append(expense)
        own.open.add(place)
    else:
        require(
            type(entry["reservation"]) is int and entry["reservation"] in own.open,
            f"{where}: ends a reservation that is not open",
        )
        own.open.remove(entry["reservation"])


def recorded(release, rows):
    """The release is what its entry recorded."""
    where = release.get("ledger")
    require(isinstance(where, dict) and type(where.get("entry")) is int, "the release: says of no ledger that it recorded it")
    require(0 < where["entry"] <= len(rows), "the release: is of a later entry than this ledger has")
    _, _, body, hashed, _ = rows[where["entry"] - 1]
    entry, output = json.loads(body), digest({k: v for k, v in release.items() if k not in ("ledger", "seal", "signature")})
    same = hashed == where.get("head") and (entry["kind"], entry.get("output")) == ("released", output)
    require(same, f"the release: is not what entry {where['entry']} recorded")


# ----------------------------------------------------------------------------------------------------------------- 19 sentences

# One sentence after another, as "name: what it says", with further lines indented; numbers stand where a name is in braces.
SENTENCES = """
norm l1: a weighted l1 norm (independent discrete Laplace coordinates)
norm l2: a Euclidean norm (ellipsoid)
norm linf: a weighted maximum norm (box)
norm gauge: a polytope gauge (K-norm)
norm capped_l1: a box with its corners cut: at most {cap} of its {sides} sides in all
norm bundles: the {how} of {count} polytope gauges of disjoint coordinates
law exponential: P(z) proportional to exp(-||z||), ||z|| {norm}
law gaussian: P(z) proportional to exp(-||z||^2 / 2), ||z|| {norm}
law rounded_gaussian: z is y rounded to the grid, the density of y proportional to exp(-||y||^2 / 2), ||y|| {norm}
least squares: ; the answers are the least squares of all noisy counts

span: from {low} to {high}
relation uniform: Any one record may change to any other value, with budget {epsilon}.
relation matrix: Any one record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, {span}.
relation per_element: Any one record may change to any other value, with the sum of the two elements' own budgets, which run
    from {low} to {high}.
relation instance: Any one record may change to any other value, with the smaller of the two elements' own budgets, which run
    from {low} to {high}{also}.
relation partition: Any one record may change to any other value of the same part, with budget {epsilon}; there are {parts}
    parts, and which part a record is in is not protected.
relation euclidean: Any one record may change to any other point, with budget {rate} for every unit of the Euclidean distance
    between the two ({count} coordinate{s}).
relation chebyshev: Any one record may change to any other value, with budget {rate} for every unit of the largest difference at
    any position of the two series ({count} numbers each).
relation manhattan: Any one record may change to any other value, with budget {rate} for every unit of the sum of the
    differences at all positions ({count} numbers each).
relation line: Any one record may change to any other value, with budget {epsilon} for every {step}.
relation graph: Any one record may change along the {edges} edges of a graph of {nodes} elements, of length {low} to {high},
    with budget {rate} for every unit of the shortest path; elements that no path joins are not protected from each other.
relation blowfish: Any one record may change between elements at most {reach} apart with budget {epsilon}, and further with that
    budget for each such step on the way; elements that no steps join are not protected from each other. Apart means the budget
    of: {ground}.
relation smooth_threshold: Any one record may change to any other value, with budget {epsilon} up to a distance of {reach} and
    in proportion to the distance beyond. Distance means the budget of: {ground}.
relation hamming: Any one record may change in any of its attributes; the budget is the sum over the changed attributes of:
    {budgets}.
relation product: Any one record may change in any of its attributes; the budget is the sum over the attributes, each by its own
    rule: {parts}.
relation sum: Any one record may change with the sum of the budgets of these rules: {parts}.
relation maximum: Any one record may change with the largest of the budgets of these rules: {parts}.
relation root_sum_squares: Any one record may change with the root of the sum of squares of the budgets of these rules: {parts}.
relation scaled: Any one record may change with {factor} times the budget of this rule: {rule}
relation restricted: Any one record may change between {count} chosen elements of {size}, by this rule: {rule}
relation taxonomy: Any one record may change from any of the {leaves} leaves of a taxonomy of {levels} levels to any other, with
    {how} of the budgets of the levels below the lowest group that holds both; from the top they are {budgets}.
relation add_remove: Any one record may appear or disappear, with {span}.
relation appear_or_change: Any one record may appear or disappear, with a budget from {low} to {high} by its element, or change
    by the rule that follows{also}: {rule}
closed: (where a way round costs less, that cost)
relation row_groups: A record has one value in each of {count} groups and may change in all of them; the budget is the sum over
    the changed groups of: {parts}.
relation invariant: Databases with the same {count:,} invariant statistic{s} and at most {records} are protected from each other
    with budget {epsilon} (Semi-DP).
relation metric_and_invariant: Databases with the same {count:,} invariant statistic{s} and at most {records} are protected from
    each other with the transport cost of the moved records as budget; for one record: {rule}
distance: Databases with the same {count} invariant statistics are protected from each other with budget {epsilon} for every
    unit of {distance} distance between their histograms (a replaced record: {units} units).
published: The invariant statistics are published exactly: {names}. Databases that differ in them are not protected.
kept: No protected change moves some further statistics either, so those are published exactly too.
public: The number of records is public.
apart: Changes between different connected components of a group are not protected.
apart of relation: Changes between different connected components of the relation are not protected.
apart of attributes: Changes between different connected components of {names} are not protected.
published exactly: Published exactly, because no protected change moves them: {names}.
tables published exactly: Unprotected attributes, with tables over them alone published exactly: {names}.
queries answered exactly: Unprotected attributes, with queries of them alone answered exactly: {names}.

unit: The participation of one record, or its value, as the relation states;
value of one: The value of one record, as the relation states; {further}
budgets add: budgets of groups add up, and nothing more is claimed for them.
deltas of groups: budgets of groups do not add up under one delta; the privacy loss of a change of several records states what
    it spends.
unit of changes: Up to {records} whose change leaves the invariant statistics unchanged; nothing is claimed for more, or for
    other changes.
distance unit: All records together: any two databases with the same invariant statistics, at a budget that grows with their
    distance.
presence: The presence of one record.
attributes: The attribute values of one record.
attributes, each: The attribute values of one record, each with its own budget.
report unit: The value of one person. A report is drawn from one person's value alone, so the guarantee holds for each report by
    itself, before anybody collects it; the budgets of several reports of a person add up pair by pair.
notion exponential: Pure dX-privacy: for every protected change with budget b, every set of outputs has probabilities within a
    factor exp(b) (DX Definition 2; with one budget for all changes this is epsilon-differential privacy).
notion gaussian: Zero-concentrated dX-privacy: for every protected change with budget b, the Renyi divergence of order alpha is
    at most alpha b^2 / 2, that is b^2/2-zCDP for the change (in the continuous limit b-Gaussian differential privacy).
notion approximate: Approximate dX-privacy: for every protected change with budget b, every set of outputs has probabilities P
    and P' with P <= exp(b) P' + delta, delta = {delta}. It holds change by change: the budgets of changes that follow one
    another do not add up under one delta.
lattice notion exponential: Pure: for every protected change with budget b, every set of outputs has probabilities within a
    factor exp(b).
lattice notion gaussian: Zero-concentrated: for every protected change with budget b, the Renyi divergence of order alpha is at
    most alpha b^2 / 2, that is b^2/2-zCDP for the change.
afterwards: Anything computed from a release alone keeps the guarantee. Budgets of several releases about the same records add
    up pair by pair (pure) or in squares (gaussian).
deltas add: Anything computed from a release alone keeps the guarantee. Of several releases about the same records both the
    budgets and the deltas add up, pair by pair.

exact bits: Exact: random bits of the operating system, compared with probabilities in exact arithmetic.
rounded bits: Exact: normal variates are computed from random bits of the operating system, as many as their rounding to the
    grid needs.
floats: Every answer is an integer multiple of a step fixed at design time; answers before noise are summed in exact integers.
    The float returned is computed from that integer alone.
timing: Noise is drawn in batches by table look-up; the time of a draw may depend on the noise and is not covered. The guarantee
    does not cover attackers who can time single releases precisely.
report sampling: Exact: one uniform whole number below the denominator, from random bits of the operating system, by rejection;
    nothing is truncated and no float is involved.
report numbers: A report is a name of a public list. Estimates are computed from reports and public numbers alone.
report timing: How many random bits a report takes does not depend on the value; the time of a look-up in a table may, and is
    not covered. The guarantee does not cover attackers who can time single reports precisely.
lattice numbers: The released table is the true table plus integer noise, added in integers; it is checked to keep every
    invariant statistic before it is released. Answers to queries are computed from that table alone.
choice sampling: Exact: random bits of the operating system are compared with probabilities in exact arithmetic; nothing is
    truncated.
choice numbers: Scores are computed in exact integers; only the name of the chosen candidate is released.
choice timing: The number of random words does not depend on the data, except with a probability below 2^-20; the time of exact
    sums and exponentials depends on the size of the scores and is not covered. The guarantee does not cover attackers who can
    time single releases precisely.
marginals numbers: Contrasts before noise and their noise are integers, summed exactly; the noisy integers are part of the
    release. Tables are floats computed from those integers alone.
structured numbers: Measured products and their noise are integers, summed exactly; the noisy integers are part of the release.
    Answers are floats computed from those integers alone.
synthetic numbers: Scores and measurements are exact integers in steps of a grid fixed at design time, probabilities exact. The
    synthetic histogram and its answers are floats computed from released choices, released measurements and public numbers
    only.
synthetic timing: The time of a choice or of a draw may depend on the data and the noise and is not covered. The guarantee does
    not cover attackers who can time single releases precisely.

report mechanism: Each of {values} values has its own row of a public table of probabilities over {reports} public reports,
    whole numbers over one denominator of {bits} bits.
lattice exponential: Family {family}: integer noise on the kernel of the invariant, P(z) proportional to exp(-||z||), ||z||
    {order} of the table.
lattice gaussian: Family {family}: integer noise on the kernel of the invariant, P(z) proportional to exp(-||z||^2 / 2), ||z||
    {order} of the table.
lattice rows: Family {family}: integer noise z = y - w on a table with published margins, P(y) proportional to exp(-||y||) on
    tables whose slices along margin {axis} sum to 0, ||y|| an l1 norm, w an integer table with the margins of y that depends on
    them alone.
choice exponential: Exponential mechanism: P(candidate) proportional to exp(rate * score)
choice permute_and_flip: Permute-and-flip: every candidate flips a coin of bias exp(rate * (score - best score)), one of the
    heads is chosen uniformly
candidates: The candidates and their targets are public and must not have been chosen by looking at the data.
score linear: the answer to the candidate's query less its public target
score absolute_error: the absolute error of the public target as an answer to the candidate's query
score closeness: minus the absolute difference of the answer to the candidate's query and its public target
score rank_error: minus the larger of what the answers to the candidate's two queries exceed their public targets by, or 0
score largest_error: minus the largest absolute error of the candidate's public answers over all queries
marginals: Marginals of {tables} subsets of {attributes} attributes: independent integer noise in the contrasts of {measured}
    residuals, P(z) proportional to exp(-z^2 / (2 variance)); tables are a fixed linear map of them.
structured: {blocks} Kronecker products of integer matrices over {attributes} attributes: independent integer noise in their
    {coordinates} coordinates, P(z) proportional to {law}; the {answers} answers are fixed linear maps of them.
stairs: P(z) proportional to exp(-{unit} k), k = 0 for |z| <= {top} steps and ceil((|z| - {top}) / {width}) beyond
moves: P(z) proportional to exp(-{unit} m) on whole vectors z of {cells} counts that add up to 0, m the number of records that
    move
truncated: independent even coordinates with P(z >= 1) = a (1 - delta) / (1 + a) and P(z >= k + 1) = max(0, a (P(z >= k) -
    delta)), a = exp(-rate), delta {delta}, rates {rates}
peaks: P(z) proportional to exp(-{unit} h(z)) on a lattice of {size} dimensions, h(z) the least of the level of one of {peaks}
    peaks and the budgets, in whole units, of protected differences that lead from it to z
mwem: MWEM, {rounds} rounds: each chooses one of {queries} queries by the {law} law of its error, and measures it with discrete
    Laplace noise; the synthetic histogram is {output}. Shares of the budget (choice, measurement): {shares}. Largest Lipschitz
    constant c = {constant}.
output average: the mean of the histograms before each round (DX Theorem 8)
output last: the histogram after the last round
output replay: the histogram after the last round and 30 passes through all measurements
small database: SmallDB: one of {candidates} distinct answer vectors of histograms of {records} records, by the {law} law of its
    largest error; the histogram is scaled to all records. Lipschitz constant c = {constant}.

f of epsilon and delta: f_(epsilon, delta) with epsilon = {epsilon}, delta = {delta}
test unit: The values of up to {records} records, changed so that all margins stay.
test relation: Databases with {margins} of which at most {records} records differ: x11 changes by at most 1. Databases with
    other margins are not protected from each other.
test notion: f-private given the margins: telling two such databases apart is at least as hard as {function} says.
test: x11 + N with N canonical for the tradeoff function ({noise}); p-values and limits follow from it.
test sampling: Exact: random bits of the operating system, drawn until ball arithmetic proves between which grid points the
    noise lies.
test numbers: The statistic is an integer multiple of 2^-{exponent}, the exact real statistic rounded down.
test timing: The number of random bits and of search steps depends on the noise; the time of a release is not covered.
test afterwards: Anything computed from a release alone keeps the guarantee. Several releases about the same records keep the
    tensor product of their tradeoff functions, change by change.

quantile: {name}: quantile {q} of the present values of {measured} {words}, among {many} public candidates, loss {rho}
groups found: groups whose noisy number of {rows} (variance {variance}) is at least {threshold}: loss c^2 / (2 * {variance}),
    delta {delta} of {of}
entity unit: One entity: all rows with one value in {entity}, of which at most {k} count. {unit}
entity appears: One entity may appear or disappear with all its rows, whatever the others are.
entity changes: All rows of one entity may change their values together, whatever the others are; how many there are stays as it
    is.
entity chosen:  Which {k} rows of an entity count is drawn at random, for each entity by itself and by nothing but its own rows;
    rows without an entity count nowhere, where they are not refused. Answers and intervals speak of the rows that were kept.
entity left out:  How many rows were left out, of each entity at most {k}, is published with discrete Laplace noise of scale
    {scale}: it costs an entity `epsilon_of_rows_left_out` beside the answers.
entity left out public:  How many rows were left out, of each entity at most {k}, is public, and published exactly.
plan entities:  An entity loses at most (sum of sqrt(P(r)))^2 over its at most {k} rows that count, so at most {k}^2 times the
    largest P(r). The stated delta is that of {k} such rows.
plan: P(r) adds up what follows over the queries in which r counts, r clipped and rounded as stated: {terms}. Where r counts in
    all of them, with the least noise of each, that is {policy}.{rows}
plan unit: One record of the table, with a loss P(r) of its own: a public function of the record.
plan relation: Any one record may appear or disappear, whatever the others are.
plan schema: The schema of the table, its columns and their types, is public.
plan policy: The value of P at a record of the data is as confidential as the record: publish the function, not its values.
plan groups: The listed groups are public and must not have been chosen by looking at the data.
plan alone: A record that is alone in its group makes the group appear with probability delta(r), near 1 for records of very
    many split rows.
plan notion: Per-record zero-concentrated privacy: for all data sets that differ in the record r, the Renyi divergence of order
    alpha is at most alpha P(r), for every alpha > 1.
plan found: But for events of probability delta(r) on one side (delta(r)-approximate, Bun and Steinke 2016, Definition 8.1):
    that r alone makes a group be found. delta(r) is a public function, too.
plan sampling: Exact: discrete Gaussians from random bits of the operating system, compared with probabilities in exact
    arithmetic.
plan numbers: Every record is rounded to whole steps by a fixed rule of its own; sums, noise and thresholds are exact integers.
    The float returned is computed from the noisy integer alone.
plan timing: The time of an aggregation may depend on the table, too.
plan afterwards: Anything computed from a release alone keeps the guarantee. Policies of several releases about the same records
    add up; a group of records loses at most (sum of sqrt(P(r)))^2.
"""


def read_sentences():
    """{name: sentence}."""
    found, name = {}, ""
    for line in filter(None, SENTENCES.splitlines()):
        if line.startswith(" "):
            found[name] += line.removeprefix("   ")
        else:
            name, _, found[name] = line.partition(": ")
    return found


TEXT = read_sentences()


def sentence(name, /, **values):
    """A sentence with numbers in it: fractions are written as floats."""
    shown = {key: repr(float(v)) if isinstance(v, (Fraction, float)) else v for key, v in values.items()}
    return TEXT[name].format(**shown)


def plain(said):
    """A sentence in one line: what cannot be seen is written as its escape."""
    return UNSEEN.sub(lambda found: ascii(found.group())[1:-1], said)


def printed(said):
    """A sentence, or each of a list, as files hold it: in one line, and a run of blanks after the first is escaped, too."""
    if type(said) is not str:
        return list(map(printed, said))
    return re.sub("(?<= ) +", lambda run: "\\x20" * len(run.group()), plain(said))


def every_name(called):
    """All names; of more than 100 the first 8, how many more, and a hash of all."""
    if len(called) <= 100:
        return ", ".join(called)
    hashed = hashlib.sha256(json.dumps(list(called)).encode()).hexdigest()[:16]
    return f"{', '.join(called[:8])} and {len(called) - 8} more (SHA-256 of all names: {hashed})"


# ------------------------------------------------------------------------------------------------------------------- 20 command


def verify(spec_bytes: bytes, release_bytes: bytes | None = None) -> tuple[str, list[str]]:
    """("holds" | "does not hold" | "cannot check", sentences)."""
    try:
        if spec_bytes.startswith(b"SQLite format 3\0"):
            return "holds", check_ledger(spec_bytes, release_bytes)
        spec = read_json(spec_bytes)
        made, left = check_spec(spec)
        if release_bytes is not None:
            left = left + check_release(read_json(release_bytes), spec, made)
        return "holds", [made.summary(), *(f"not compared: {what}" for what in left)]
    except DoesNotHold as reason:
        return "does not hold", [str(reason)]
    except CannotCheck as reason:
        return "cannot check", [str(reason)]
    except RecursionError:
        return "does not hold", ["the file is nested far deeper than a spec is"]
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, ArithmeticError) as error:
        return "does not hold", [f"a value is of another kind than the form has there ({type(error).__name__}: {error})"]


def functions(contents):
    """{line: name} of the functions that run while these files are verified, in the order of this file."""
    ran = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename == verify.__code__.co_filename:
            ran[frame.f_code.co_firstlineno] = frame.f_code.co_qualname

    sys.setprofile(note)
    verify(*contents)
    sys.setprofile(None)
    return dict(sorted(ran.items()))


EXIT = {"holds": 0, "does not hold": 4, "cannot check": 3}


def main(arguments: list[str]) -> int:
    """The command: prints the verdict, returns the exit code."""
    option = arguments[0] if arguments[:1] in (["--functions"], ["--json"]) else ""
    arguments = arguments[bool(option) :]
    if not 1 <= len(arguments) <= 2:
        print("usage: python3 standalone.py [--functions | --json] SPEC [RELEASE]", file=sys.stderr)
        return 2
    try:
        contents = []
        for path in arguments:
            with sys.stdin.buffer if path == "-" else Path(path).open("rb") as file:
                contents.append(file.read(SIZE_LIMIT + 1))
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    verdict, sentences = verify(*contents)
    if option == "--json":
        print(json.dumps({"verdict": verdict, "sentences": sentences}))
        return EXIT[verdict]
    print(f"{verdict}: {plain(' and '.join(arguments))}", *(f"  {plain(said)}" for said in sentences), sep="\n")
    for line, name in functions(contents).items() if option else ():
        print(f"  line {line}: {name}")
    return EXIT[verdict]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
