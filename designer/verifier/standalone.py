#!/usr/bin/env python3
"""A second, independent check of what a spec of dp-designer promises: one file, Python 3.11's standard library.

    python3 standalone.py SPEC [RELEASE]        exit 0: holds; 4: does not hold; 3: cannot be checked here, and why

It imports nothing of the project, and shares with it only the sentences that guarantees must say; copy it anywhere. Contents:

  1  verdicts                  a file holds, does not hold, or is named as one that this program cannot check
  2  strict JSON               one meaning for every byte: no key twice, no NaN, numbers are binary64, within a range
  3  exact mathematics         roots, exp, the normal distribution and gauges, in fractions and in whole numbers with bounds
  4  norms                     ||u|| of one vector, as a fraction
  5  relations                 the budget of one pair, as a fraction rounded down, and the sentence that says so
  6  additive noise            every pair, one by one: ||u|| <= b
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
 17  releases                  of additive noise: whole multiples of steps, and the answers that follow
 18  the command

What is believed: Python's integers, fractions, hashes, and its reading of decimals as binary64; and thirteen lemmas. Each is
stated where it is used, L1 to L13; they are proven in the project's docs/theory: foundations.md, 1 and 4 (L1 to L3),
approximate.md, 1 (L4), invariants.md, 1 (L5), selection.md, 2 (L7), marginals.md, 2 (L8), structured.md, 2 (L9), staircase.md,
1 (L10), synthetic.md, 2 (L11), tradeoff.md, 7 (L12) and tables.md, 1 to 4 (L13); L6 is the triangle inequality. No float takes
part in a proof.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

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
DIGITS = Fraction(1, 10**9)  # how far answers may be off: other languages write 15 digits
NEAR = Fraction(1, 1 << 40)  # how far a worst ratio may be off that another machine found with floats
MOST_ENTRIES = 2_000_000  # of a list, and of described rows that are not 0
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
        data = json.loads(content.decode("utf-8"), object_pairs_hook=distinct, parse_float=finite, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise DoesNotHold(f"this is not JSON: {error}") from None
    require(isinstance(data, dict), "this is no JSON object")
    return data


def digest(data):
    """SHA-256 of the data with keys sorted and no spaces."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def every_name(called):
    """All names; of more than 100 the first 8, how many more, and a hash of all."""
    if len(called) <= 100:
        return ", ".join(called)
    hashed = hashlib.sha256(json.dumps(list(called)).encode()).hexdigest()[:16]
    return f"{', '.join(called[:8])} and {len(called) - 8} more (SHA-256 of all names: {hashed})"


def seal_of(data):
    """The seal: of everything but the seal."""
    return digest({key: value for key, value in data.items() if key != "seal"})


def keys(data, needed, optional=(), where="an object"):
    """Exactly these keys, and some of the optional ones."""
    require(isinstance(data, dict), f"{where} is no object")
    missing, further = set(needed) - set(data), set(data) - set(needed) - set(optional)
    require(not missing and not further, f"{where}: missing {sorted(missing)}, unknown {sorted(further)}")


def number(value, where, positive=False, infinite=False):
    """A binary64 number as the fraction that it is; None for infinity. Only what is written as a float counts as one: the same
    number written as 1 and as 1.0 would have two fingerprints."""
    if infinite and value == "inf" and type(value) is str:
        return None
    require(type(value) is float, f"{where}: {value!r} is no float")
    require(not positive or value > 0, f"{where}: {value!r} is not positive")
    only(value == 0 or SMALLEST <= abs(value) <= LARGEST, f"{where}: {value!r} is beyond 1e-60 to 1e60")
    return Fraction(value)


def ratio(value, where, signed=False):
    """A fraction, at least 0 unless it is signed, written as 3/4, or as 3."""
    shaped = type(value) is str and re.fullmatch(f"{'-?' * signed}[0-9]{{1,300}}(/[1-9][0-9]{{0,299}})?", value)
    require(shaped and str(Fraction(value)) == value, f"{where}: {value!r} is no fraction in lowest terms")
    return Fraction(value)


def listed(value, where):
    """A list of numbers, or its runs [first, step, times] written out. There is one way to write a list: in runs where it has
    more than 1,024 entries and 8 times fewer runs, each as long as it can be."""
    runs = value["runs"] if isinstance(value, dict) and set(value) == {"runs"} else None
    if runs is not None:
        require(isinstance(runs, list) and runs and all(isinstance(r, list) and len(r) == 3 for r in runs), f"{where}: no runs")
        made, size = [], sum(whole(times, where, 1, 2**31) for _, _, times in runs)
        only(size <= MOST_ENTRIES, f"{where}: has {size} entries, of more than {MOST_ENTRIES}")
        for first, step, times in runs:
            require(
                type(step) is int and (type(first) is int or (step == 0 and (type(first) is float or first == "inf"))), where
            )
            made += [first + step * k for k in range(times)] if type(first) is int else [first] * times
    require(runs is not None or isinstance(value, list), f"{where}: is no list")
    made = value if runs is None else made
    if len(made) > 1024:
        found, at = [], 0
        while at < len(made):
            first, rest = made[at], len(made) - at
            step = made[at + 1] - first if rest > 1 and type(first) is type(made[at + 1]) is int else 0
            times = 1
            while times < rest and (
                made[at + times] == first + times * step if type(first) is int else made[at + times] == first
            ):
                times += 1
            found.append([first, step if times > 1 else 0, times])
            at += times
        few = 8 * (len(found) - 1) <= len(made)
        require(json.dumps(value) == json.dumps({"runs": found} if few else made), f"{where}: is not written as lists are")
    else:
        require(runs is None, f"{where}: a short list is written as it is")
    return made


def numbers(value, where, positive=False, infinite=False, count=None, runs=False):
    """A list of numbers, not empty; it may be written as runs where that is said."""
    value = listed(value, where) if runs else value
    require(isinstance(value, list) and value, f"{where} is no list of numbers")
    require(count is None or len(value) == count, f"{where} has {len(value)} entries, {count} are needed")
    return [number(entry, where, positive, infinite) for entry in value]


def matrix(value, where, rows=None, columns=None, infinite=False):
    """A list of rows of one length."""
    require(isinstance(value, list) and value and all(isinstance(row, list) for row in value), f"{where} is no matrix")
    require(rows is None or len(value) == rows, f"{where} has {len(value)} rows, {rows} are needed")
    width = len(value[0]) if columns is None else columns
    return [numbers(row, where, infinite=infinite, count=width) for row in value]


def whole(value, where, least=0, most=10**9):
    """A whole number; true and false are none."""
    require(type(value) is int and least <= value <= most, f"{where}: {value!r} is no whole number from {least} to {most}")
    return value


def numbered(value, where):
    """Names, or runs of them: one by itself, or [text, n, times] for text followed by n, n + 1, ...; as for `listed`."""
    if isinstance(value, dict):
        require(set(value) == {"runs"} and isinstance(value["runs"], list) and value["runs"], f"{where}: no runs")
        made = []
        for run in value["runs"]:
            if type(run) is str:
                made.append(run)
                continue
            require(isinstance(run, list) and len(run) == 3 and type(run[0]) is str, f"{where}: no runs")
            first, times = (whole(n, where, 0, 2**31 - 1) for n in run[1:])
            only(len(made) + times <= MOST_ENTRIES, f"{where}: has more than {MOST_ENTRIES} names")
            made += [f"{run[0]}{n}" for n in range(first, first + times)]
        require(len(made) > 1024, f"{where}: a short list is written as it is")
    else:
        made = value
    if isinstance(made, list) and len(made) > 1024 and all(type(name) is str for name in made):
        runs, at = [], 0
        while at < len(made):
            found, last = re.fullmatch("(.*?)(0|[1-9][0-9]{0,8})", made[at], re.DOTALL), at + 1
            while found and last < len(made) and made[last] == f"{found[1]}{int(found[2]) + last - at}":
                last += 1
            runs.append([found[1], int(found[2]), last - at] if found else made[at])
            at = last
        few = 8 * len(runs) <= len(made)
        require(value == ({"runs": runs} if few else made), f"{where}: is not written as names are")
    return made


def names(value, where, count=None):
    """Different texts."""
    require(isinstance(value, list) and value and all(type(name) is str for name in value), f"{where} is no list of texts")
    require(count is None or len(value) == count, f"{where} has {len(value)} names, {count} are needed")
    require(len(set(value)) == len(value), f"{where} has a name twice")
    for name in value:
        # Sentences quote names. The project escapes what cannot be seen; here such names are left alone.
        only(
            name.strip() and name.isprintable() and "  " not in name,
            f"{where}: the name {name!r} has characters that are not plainly printed",
        )
    return value


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
    only(abs(x) <= 13, "a normal tail beyond 13 deviations")
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


def largest_float(guess, below):
    """The largest binary64 number for which `below` is proven: bisection between half of a guess and twice it."""
    low, high = guess / 2, guess * 2
    require(below(Fraction(low)), "no length keeps this delta")
    while math.nextafter(low, high) < high:
        middle = (low + high) / 2
        low, high = (middle, high) if below(Fraction(middle)) else (low, middle)
    return Fraction(low)


def allowed_length(falloff, budget, delta):
    """L4: how long u may be for (b, delta), rounded down. Exponential noise: e^m (1 - delta) <= e^b + delta, because a pure
    promise of m is (b, delta) for delta = (e^m - e^b) / (1 + e^m). Rounded normal noise: Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m)
    <= delta (Balle and Wang 2018, Theorem 8), which grows with m; rounding is post-processing."""
    only(budget <= 40 and Fraction(1, 10**30) <= delta <= Fraction(1, 2), "a budget above 40 or a delta beyond 1e-30 to 1/2")
    grown, slack = exp(budget), between(delta)
    if falloff == "exponential":

        def below(m):
            return times(exp(m), between(1 - delta))[1] <= grown[0] + slack[0]

        guess = math.log((math.exp(budget) + float(delta)) / (1 - float(delta)))
    else:

        def below(m):
            try:
                first, second = normal(m / 2 - budget / m), normal(-m / 2 - budget / m)
            except CannotCheck:
                return budget / m > 13 - m / 2 and m / 2 < budget / m  # delta is below Phi(-12) < 1e-32
            return first[1] - times(grown, second)[0] <= slack[0]

        guess = 1.0
        while below(Fraction(guess)):
            guess *= 2
        while not below(Fraction(guess)):
            guess /= 2
    return largest_float(guess, below)


def gauge(points, v):
    """The least sum |c_m| with sum c_m points_m = v: by duality of linear programs the largest a . v over all a with
    |a . points_m| <= 1. The simplex method in fractions from a = 0, with Bland's rule, which ends. None: not in the span."""
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
            return None
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


def rank(rows):
    """Rank of a matrix of fractions."""
    rows, found = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


# --------------------------------------------------------------------------------------------------------------------- 4 norms


class Norm:
    """||u|| as a fraction, rounded up where it is a root; None where it is infinite. silent: the coordinates without noise."""

    def __init__(self, spec, falloff):
        require(isinstance(spec, dict) and type(spec.get("order")) is str, "norm: is no object with an order")
        self.order, self.products, self.weights = spec.get("order"), 1, None
        {"l1": self._mapped, "l2": self._mapped, "linf": self._mapped, "gauge": self._gauge, "bundles": self._bundles}.get(
            self.order, self._capped
        )(spec)
        require(falloff == "exponential" or self.order == "l2", "norm: this fall-off is proven for l2 norms only")

    def length(self, u):
        """||u||: infinite where u moves what has no noise."""
        if any(c for c, quiet in zip(u, self.silent, strict=True) if quiet):
            return None
        return self.measure(u)

    def _mapped(self, spec):
        keys(spec, ("order", "map"), where="norm")
        if isinstance(spec["map"], list) and spec["map"] and isinstance(spec["map"][0], list):
            require(self.order == "l2", "norm: a matrix goes with l2 only")
            rows = matrix(spec["map"], "norm.map", infinite=True)
            self.silent = [all(entry is None for entry in column) for column in zip(*rows, strict=True)]
            heard = [k for k, quiet in enumerate(self.silent) if not quiet]
            require(all(row[k] is not None for row in rows for k in heard), "norm.map: a column is infinite in part")
            rows = [[row[k] for k in heard] for row in rows]
            require(len(rows) == len(heard) == rank(rows) and heard, "norm.map: is not an invertible square matrix")
            self.products = len(rows) ** 2
            self.rates = [max(map(abs, column)) for column in zip(*rows, strict=True)]
            self.measure = lambda u: root_above(
                sum((sum((a * u[k] for a, k in zip(row, heard, strict=True)), Fraction(0)) ** 2 for row in rows), Fraction(0))
            )
        else:
            weights = numbers(spec["map"], "norm.map", positive=True, infinite=True, runs=True)
            self.silent, self.products = [w is None for w in weights], len(weights)
            self.rates, self.weights = [w for w in weights if w is not None], weights

            def measure(u):
                images = [w * abs(c) for w, c in zip(weights, u, strict=True) if c and w is not None]
                if self.order == "l1":
                    return sum(images, Fraction(0))
                return (
                    max(images, default=Fraction(0))
                    if self.order == "linf"
                    else root_above(sum((i * i for i in images), Fraction(0)))
                )

            self.measure = measure
        self.sentence = {
            "l1": "a weighted l1 norm (independent discrete Laplace coordinates)",
            "l2": "a Euclidean norm (ellipsoid)",
            "linf": "a weighted maximum norm (box)",
        }[self.order]

    def _body(self, spec):
        """The points u_m / b_m scale, of the body whose gauge is meant, and which coordinates they move."""
        keys(spec, ("order", "differences", "budgets", "scale"), where="norm")
        require(spec["order"] == "gauge", "norm: the parts of bundles are gauges")
        rows, scale = matrix(spec["differences"], "norm.differences"), number(spec["scale"], "norm.scale", positive=True)
        budgets = numbers(spec["budgets"], "norm.budgets", positive=True, count=len(rows))
        moving = [k for k, column in enumerate(zip(*rows, strict=True)) if any(column)]
        points = {tuple(scale * row[k] / b for k in moving) for row, b in zip(rows, budgets, strict=True)}
        points = [p for p in points if any(p) and not (tuple(-c for c in p) in points and p < tuple(-c for c in p))]
        require(moving and rank(points) == len(moving), "norm.differences: do not span the coordinates that they move")
        only(len(points) <= 120 and len(moving) <= 8, "norm: a gauge of more than 120 vectors or 8 coordinates")
        self.products += 40 * len(points) * len(moving) ** 2
        return points, moving, len(rows[0])

    def _gauge(self, spec):
        points, moving, size = self._body(spec)
        self.silent = [k not in moving for k in range(size)]
        self.rates = [1 / max(abs(p[i]) for p in points) for i in range(len(moving))]
        self.measure = lambda u: gauge(points, [u[k] for k in moving])
        self.sentence = "a polytope gauge (K-norm)"

    def _bundles(self, spec):
        keys(spec, ("order", "combine", "size", "bundles"), where="norm")
        size, combine = whole(spec["size"], "norm.size", 1, 10**5), spec["combine"]
        require(
            combine in ("sum", "max") and isinstance(spec["bundles"], list) and spec["bundles"], "norm.bundles: unknown form"
        )
        parts = []
        for bundle in spec["bundles"]:
            keys(bundle, ("places", "gauge"), where="norm.bundles")
            places = bundle["places"]
            require(isinstance(places, list) and places, "norm.bundles: no places")
            require(
                places == sorted(places) and [whole(k, "norm.places", 0, size - 1) for k in places], "norm.places: unsorted"
            )
            points, moving, width = self._body(bundle["gauge"])
            require(width == len(moving) == len(places), "norm.bundles: differences and places do not fit")
            parts.append((places, points))
        listed = [k for places, _ in parts for k in places]
        require(len(set(listed)) == len(listed), "norm.bundles: a place twice")
        require([p for p, _ in parts] == sorted(p for p, _ in parts), "norm.bundles: not sorted")
        self.silent = [k not in listed for k in range(size)]
        self.rates = [1 / max(abs(p[i]) for p in points) for places, points in parts for i in range(len(places))]

        def measure(u):
            own = [gauge(points, [u[k] for k in places]) for places, points in parts]
            return max(own) if combine == "max" else sum(own, Fraction(0))

        self.measure = measure
        self.sentence = (
            f"the {'largest' if combine == 'max' else 'sum'} of {len(parts)} polytope gauges of disjoint coordinates"
        )

    def _capped(self, spec):
        require(self.order == "capped_l1", f"norm.order: {self.order!r} is unknown")
        keys(spec, ("order", "map", "cap"), where="norm")
        weights = numbers(spec["map"], "norm.map", positive=True, infinite=True)
        cap = number(spec["cap"], "norm.cap", positive=True)
        only(cap <= 4 * len(weights), "a cap far above the number of coordinates")
        self.silent, self.products = [w is None for w in weights], len(weights)
        self.rates = [w for w in weights if w is not None]

        def measure(u):
            images = [w * abs(c) for w, c in zip(weights, u, strict=True) if c and w is not None]
            return max([sum(images, Fraction(0)) / cap, *images])

        self.measure = measure
        self.sentence = f"a box with its corners cut: at most {float(cap):.4g} of its {len(self.rates)} sides in all"


# ----------------------------------------------------------------------------------------------------------------- 5 relations


def shortest_paths(count, edges):
    """The length of the shortest path between all pairs, edges {(i, j): length}; None where there is none."""
    only(count <= 150, f"shortest paths between {count} elements, of more than 150")
    d = [[Fraction(0) if i == j else None for j in range(count)] for i in range(count)]
    for (i, j), length in edges.items():
        if d[i][j] is None or length < d[i][j]:
            d[i][j] = d[j][i] = length
    for k in range(count):
        for i in range(count):
            if d[i][k] is not None:
                for j in range(count):
                    if d[k][j] is not None and (d[i][j] is None or d[i][k] + d[k][j] < d[i][j]):
                        d[i][j] = d[i][k] + d[k][j]
    return d


class Relation:
    """size: the number of elements. budget(i, j): of a pair i < j of elements, rounded down where it is irrational; None where
    it is not protected. origin(i): of a record of element i that appears; `absent` says that this is protected at all. listed:
    how many pairs the certificate counts, those that imply all others, where that is told by a formula; None elsewhere."""

    absent, alone, listed, changes, plain = False, False, None, None, False

    def __init__(self, spec, depth=1, written_out=True):
        require(isinstance(spec, dict) and type(spec.get("kind")) is str, "relation.kind: is missing")
        require(depth <= 8, "relation: is nested more than 8 deep")
        self.depth, self.written_out = depth, written_out
        make = getattr(self, "_" + spec["kind"], None) if spec["kind"] in KINDS else None
        only(make, f"relation.kind: {spec['kind']!r} is not one that this program checks")
        only("by_length" not in spec and "by_exchanges" not in spec, "changes that are known without a list of them")
        keys(spec, ("kind", *KINDS[spec["kind"]].split()), where=f"relation {spec['kind']}")
        make(spec)
        self.kind = spec["kind"]
        most = MOST_ENTRIES if depth == 1 and self.kind in ("uniform", "add_remove") else 2000
        only(self.size <= most or not written_out, f"a relation on {self.size} elements, of more than {most}")
        if spec["kind"] in NONE_IMPLIED:
            self.listed = sum(self.budget(i, j) is not None for i, j in combinations(range(self.size), 2))

    def inside(self, spec):
        """A metric within this relation."""
        part = Relation(spec, self.depth + 1)
        whole_changes = part.absent or part.alone or part.changes is not None
        require(not whole_changes, "relation: only metrics go inside another relation")
        return part

    def _all(self):
        return self.size * (self.size - 1) // 2

    def _uniform(self, spec):
        self.size, epsilon = whole(spec["elements"], "relation.elements", 1), number(spec["epsilon"], "epsilon", True)
        self.budget, self.listed = lambda i, j: epsilon, self._all()
        self.sentence = f"Any one record may change to any other value, with budget {float(epsilon)!r}."

    def _matrix(self, spec):
        only(spec["closure"] is False, "a matrix of budgets that is to be closed by shortest paths")
        require(isinstance(spec["budgets"], list), "relation.budgets is no matrix")
        size = self.size = len(spec["budgets"])
        d = matrix(spec["budgets"], "relation.budgets", size, size, infinite=True)
        entries = [[math.inf if e is None else e for e in row] for row in d]
        require(all(e >= 0 for row in entries for e in row), "relation.budgets: an entry is negative")
        require("-0.0" not in json.dumps(spec["budgets"]), "relation.budgets: holds -0.0")
        require(not any(entries[i][i] for i in range(size)), "relation.budgets: the diagonal is not 0")
        for i, j in combinations(range(size), 2):
            only(entries[i][j] == entries[j][i], "relation.budgets: is not symmetric to the last digit")
        for i in range(size):  # up to rounding of the entries, 2^-31; every entry is certified by itself all the same
            for k in range(size):
                for j in range(size):
                    way = entries[i][k] + entries[k][j]
                    require(entries[i][j] <= way * (1 + Fraction(1, 2**31)), "relation.budgets: a way round costs less")
        self.budget = lambda i, j: d[i][j]
        known = [e for i, row in enumerate(d) for j, e in enumerate(row) if i != j and e is not None]
        span = f"from {float(min(known))!r} to {float(max(known))!r}" if known else "all infinite"
        self.sentence = (
            f"Any one record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, {span}."
        )

    def _own(self, spec, count=None, runs=False):
        return numbers(spec["epsilons"], "relation.epsilons", positive=True, infinite=True, count=count, runs=runs)

    def _run(self, own):
        """The budgets of elements from the least to the largest, in words."""
        texts = [math.inf if e is None else float(e) for e in own]
        return f"{min(texts)!r}", f"{max(texts)!r}"

    def _per_element(self, spec):
        own = self._own(spec)
        self.size, (low, high) = len(own), self._run(own)
        self.budget = lambda i, j: None if own[i] is None or own[j] is None else own[i] + own[j]
        self.sentence = (
            "Any one record may change to any other value, with the sum of the two elements' own budgets, "
            f"which run from {low} to {high}."
        )

    def _instance(self, spec):
        own, closed = self._own(spec), spec["closure"]
        require(type(closed) is bool, "relation.closure: is no boolean")
        values = sorted(math.inf if e is None else e for e in own)
        only(values[0] != math.inf, "a relation that protects nothing")
        require(closed or len(own) < 3 or values[-2] <= 2 * values[0], "relation.epsilons: a way round costs less")
        cap, (low, high) = 2 * values[0] if closed else math.inf, self._run(own)

        def budget(i, j):
            least = min(math.inf if e is None else e for e in (own[i], own[j]))
            return None if min(least, cap) == math.inf else min(least, cap)

        self.size, self.budget = len(own), budget
        also = f", but never more than {float(cap)!r} (the shortest-path closure)" if closed else ""
        self.sentence = (
            "Any one record may change to any other value, with the smaller of the two elements' own budgets, "
            f"which run from {low} to {high}{also}."
        )

    def _partition(self, spec):
        labels, epsilon = spec["labels"], number(spec["epsilon"], "epsilon", True)
        require(isinstance(labels, list) and labels and all(type(x) is str for x in labels), "relation.labels: are no texts")
        self.size, self.budget = len(labels), lambda i, j: epsilon if labels[i] == labels[j] else None
        self.sentence = (
            f"Any one record may change to any other value of the same part, with budget {float(epsilon)!r}; "
            f"there are {len(set(labels))} parts, and which part a record is in is not protected."
        )

    def _points(self, spec, rate):
        places, per = matrix(spec["points"], "relation.points"), number(spec[rate], rate, positive=True)
        self.size = len(places)
        return places, per, lambda i, j: [abs(a - b) for a, b in zip(places[i], places[j], strict=True)]

    def _euclidean(self, spec):
        places, per, apart = self._points(spec, "per_unit")
        self.budget = lambda i, j: root_below(per**2 * sum(a * a for a in apart(i, j)))
        self.listed = self.size - 1 if len(places[0]) == 1 else self._all()
        self.sentence = (
            f"Any one record may change to any other point, with budget {float(per)!r} for every unit of the Euclidean "
            f"distance between the two ({len(places[0])} coordinate{'s' * (len(places[0]) != 1)})."
        )

    def _chebyshev(self, spec, measure=max, words="the largest difference at any position of the two series"):
        places, per, apart = self._points(spec, "per_unit")
        require(len(places[0]) > 1, "relation.points: of one coordinate are written as euclidean")
        self.budget, self.listed = lambda i, j: measure(apart(i, j)) * per, self._all()
        self.sentence = (
            f"Any one record may change to any other value, with budget {float(per)!r} for every unit of {words} "
            f"({len(places[0])} numbers each)."
        )

    def _manhattan(self, spec):
        self._chebyshev(spec, sum, "the sum of the differences at all positions")

    def _line(self, spec):
        values = numbers(spec["values"], "relation.values")
        period, epsilon = (number(spec[key], key, positive=True) for key in ("period", "epsilon"))
        require(spec["unit"] in ("unit", "day", "microsecond"), "relation.unit: is unknown")
        self.size, self.budget = len(values), lambda i, j: abs(values[i] - values[j]) * epsilon / period
        self.listed = len(values) - 1
        days = float(period) / 86400e6 if spec["unit"] == "microsecond" else float(period)
        step = f"{days!r} of difference in value" if spec["unit"] == "unit" else f"{days!r} days between them"
        self.sentence = f"Any one record may change to any other value, with budget {float(epsilon)!r} for every {step}."

    def _graph(self, spec):
        self.size, per = whole(spec["nodes"], "relation.nodes", 1, 10**6), number(spec["per_edge"], "per_edge", True)
        require(isinstance(spec["edges"], list) and isinstance(spec["weights"], list), "relation.edges: are no list")
        only(spec["edges"], "a graph without edges")
        weights = numbers(spec["weights"], "relation.weights", positive=True, count=len(spec["edges"]))
        edges = []
        for edge in spec["edges"]:
            require(isinstance(edge, list) and len(edge) == 2, "relation.edges: an edge has two ends")
            require(all(whole(i, "relation.edges", 0, self.size - 1) >= 0 for i in edge) and edge[0] < edge[1], "edges: order")
            edges.append(tuple(edge))
        require(edges == sorted(set(edges)), "relation.edges: are not in rising order")
        d = shortest_paths(self.size, dict(zip(edges, weights, strict=True)))
        self.budget = lambda i, j: None if d[i][j] is None else d[i][j] * per
        span = f", of length {float(min(weights))!r} to {float(max(weights))!r}"
        self.sentence = (
            f"Any one record may change along the {len(edges)} edges of a graph of {self.size} elements{span}, with budget "
            f"{float(per)!r} for every unit of the shortest path; elements that no path joins are not protected from "
            f"each other."
        )

    def _blowfish(self, spec):
        ground, (reach, epsilon) = self.inside(spec["ground"]), self._thresholds(spec)
        size = self.size = ground.size
        near = [p for p in combinations(range(size), 2) if (b := ground.budget(*p)) is not None and b <= reach]
        hops = shortest_paths(size, dict.fromkeys(near, Fraction(1)))
        self.budget = lambda i, j: None if hops[i][j] is None else hops[i][j] * epsilon
        self.sentence = (
            f"Any one record may change between elements at most {float(reach)!r} apart with budget {float(epsilon)!r}, "
            f"and further "
            "with that budget for each such step on the way; elements that no steps join are not protected from each other. "
            f"Apart means the budget of: {ground.sentence.removesuffix('.')}."
        )

    def _thresholds(self, spec):
        return [number(spec[key], key, positive=True) for key in ("threshold", "epsilon")]

    def _smooth_threshold(self, spec):
        ground, (reach, epsilon) = self.inside(spec["ground"]), self._thresholds(spec)

        def budget(i, j):
            apart = ground.budget(i, j)
            return None if apart is None else epsilon * max(Fraction(1), apart / reach)

        self.size, self.budget = ground.size, budget
        self.sentence = (
            f"Any one record may change to any other value, with budget {float(epsilon)!r} up to a distance of "
            f"{float(reach)!r} and in proportion to the distance beyond. Distance means the budget of: "
            f"{ground.sentence.removesuffix('.')}."
        )

    def _domain(self, spec):
        """The attributes, and for each element the places of its values: the last attribute runs fastest."""
        attributes = names(spec["attributes"], "relation.attributes")
        require(isinstance(spec["values"], list) and len(spec["values"]) == len(attributes), "relation.values: one list each")
        counts = [len(names(values, "relation.values")) for values in spec["values"]]
        self.size, self.attributes, self.values = math.prod(counts), attributes, spec["values"]
        if not self.written_out:
            return attributes, counts, None
        only(self.size <= 2000, f"a relation on {self.size} elements, of more than 2000")
        return attributes, counts, list(product(*map(range, counts)))

    def _hamming(self, spec):
        attributes, counts, codes = self._domain(spec)
        own = numbers(spec["budgets"], "relation.budgets", positive=True, infinite=True, count=len(counts))

        def budget(i, j):
            moved = [b for b, one, other in zip(own, codes[i], codes[j], strict=True) if one != other]
            return None if None in moved else sum(moved, Fraction(0))

        self.budget, self.own = budget, own
        self.listed = sum(self.size * (n - 1) // 2 for n, b in zip(counts, own, strict=True) if b is not None)
        said = ", ".join(f"{name} {math.inf if b is None else float(b)!r}" for name, b in zip(attributes, own, strict=True))
        self.sentence = (
            f"Any one record may change in any of its attributes; the budget is the sum over the changed attributes of: {said}."
        )

    def _product(self, spec):
        attributes, counts, codes = self._domain(spec)
        require(isinstance(spec["parts"], list) and len(spec["parts"]) == len(counts), "relation.parts: one for each attribute")
        parts = [self.inside(part) for part in spec["parts"]]
        require([part.size for part in parts] == counts, "relation.parts: speak of other numbers of values")

        def budget(i, j):
            moved = [
                part.budget(min(one, other), max(one, other))
                for part, one, other in zip(parts, codes[i], codes[j], strict=True)
                if one != other
            ]
            return None if None in moved else sum(moved, Fraction(0))

        self.budget, self.parts = budget, parts
        said = "; ".join(f"{name} ({part.sentence.removesuffix('.')})" for name, part in zip(attributes, parts, strict=True))
        self.sentence = (
            f"Any one record may change in any of its attributes; the budget is the sum over the attributes, "
            f"each by its own rule: {said}."
        )

    def _combined(self, spec, combine, words):
        require(isinstance(spec["parts"], list) and spec["parts"], "relation.parts: are no list")
        parts = [self.inside(part) for part in spec["parts"]]
        require(len({part.size for part in parts}) == 1, "relation.parts: speak of different numbers of elements")

        def budget(i, j):
            own = [part.budget(i, j) for part in parts]
            return None if None in own else combine(own)

        self.size, self.budget = parts[0].size, budget
        said = "; ".join(f"({n + 1}) {part.sentence.removesuffix('.')}" for n, part in enumerate(parts))
        self.sentence = f"Any one record may change with {words} the budgets of these rules: {said}."

    def _sum(self, spec):
        self._combined(spec, lambda own: sum(own, Fraction(0)), "the sum of")

    def _maximum(self, spec):
        self._combined(spec, max, "the largest of")

    def _root_sum_squares(self, spec):
        self._combined(spec, lambda own: root_below(sum(b * b for b in own)), "the root of the sum of squares of")

    def _scaled(self, spec):
        factor, part = number(spec["factor"], "relation.factor", positive=True), self.inside(spec["part"])
        self.size = part.size
        self.budget = lambda i, j: None if (b := part.budget(i, j)) is None else factor * b
        self.sentence = f"Any one record may change with {float(factor)!r} times the budget of this rule: {part.sentence}"

    def _restricted(self, spec):
        part, chosen = self.inside(spec["part"]), spec["elements"]
        require(isinstance(chosen, list) and chosen, "relation.elements: are no list")
        require(len({whole(i, "relation.elements", 0, part.size - 1) for i in chosen}) == len(chosen), "elements: one twice")
        self.size = len(chosen)
        self.budget = lambda i, j: part.budget(min(chosen[i], chosen[j]), max(chosen[i], chosen[j]))
        self.sentence = (
            f"Any one record may change between {len(chosen)} chosen elements of {part.size}, by this rule: {part.sentence}"
        )

    def _taxonomy(self, spec):
        levels = numbers(spec["budgets"], "relation.budgets", positive=True, infinite=True)
        groups, form = spec["ancestors"], spec["form"]
        require(form in ("sum", "max") and isinstance(groups, list) and groups, "relation.form: is unknown")
        for row in groups:
            require(isinstance(row, list) and len(row) == len(levels) - 1, "relation.ancestors: one group for each level")
        for level in range(len(levels) - 1):
            met = [whole(row[level], "relation.ancestors") for row in groups]
            require(all(n <= max(met[:i], default=-1) + 1 for i, n in enumerate(met)), "ancestors: not numbered as met")
            above = {}
            for row in groups:
                require(above.setdefault(row[level], row[:level]) == row[:level], "ancestors: a group lies in two groups")

        def budget(i, j):
            shared = sum(one == other for one, other in zip(groups[i], groups[j], strict=True))
            below = levels[shared:]
            return None if None in below else sum(below, Fraction(0)) if form == "sum" else max(below)

        self.size, self.budget = len(groups), budget
        words = {"sum": "the sum", "max": "the largest"}[form]
        said = ", ".join(repr(math.inf if b is None else float(b)) for b in levels)
        self.sentence = (
            f"Any one record may change from any of the {len(groups)} leaves of a taxonomy of {len(levels)} levels to any "
            f"other, with "
            f"{words} of the budgets of the levels below the lowest group that holds both; from the top they are {said}."
        )

    def _add_remove(self, spec):
        own = self._own(spec, runs=True)
        self.size, self.absent, self.listed = len(own), True, sum(e is not None for e in own)
        self.budget, self.origin, (low, high) = lambda i, j: None, lambda i: own[i], self._run(own)
        said = f"budget {low}" if low == high else f"a budget of its own for each universe element, from {low} to {high}"
        self.sentence = f"Any one record may appear or disappear, with {said}."

    def _appear_or_change(self, spec):
        change, closed = self.inside(spec["change"]), spec["closure"]
        own, size = self._own(spec, change.size, runs=True), change.size
        self.plain = change.kind == "uniform" and not closed
        require(type(closed) is bool, "relation.closure: is no boolean")
        exact = [[Fraction(0) if i == j else change.budget(min(i, j), max(i, j)) for j in range(size)] for i in range(size)]
        d = [[math.inf if b is None else b for b in row] for row in exact]
        e = [math.inf if b is None else b for b in own]
        for i, j in combinations(range(size), 2):
            for longer, way in ((d[i][j], e[i] + e[j]), (e[i], d[i][j] + e[j]), (e[j], d[i][j] + e[i])):
                require(closed or longer <= way * (1 + Fraction(1, 2**31)), "relation.epsilons: a way round costs less")
        if closed:  # a record appears as another one that then changes; a change may lead through no record
            e = [min(d[i][k] + e[k] for k in range(size)) for i in range(size)]
            d = [[min(d[i][j], e[i] + e[j]) for j in range(size)] for i in range(size)]
        self.size, self.absent, (low, high) = size, True, self._run(own)
        self.budget = lambda i, j: None if d[i][j] == math.inf else d[i][j]
        self.origin = lambda i: None if e[i] == math.inf else e[i]
        also = " (where a way round costs less, that cost)" if closed else ""
        self.sentence = (
            f"Any one record may appear or disappear, with a budget from {low} to {high} by its element, or change by the "
            f"rule that "
            f"follows{also}: {change.sentence}"
        )

    def _row_groups(self, spec):
        require(self.depth == 1 and isinstance(spec["parts"], list) and spec["parts"], "relation.parts: are no list")
        parts = [self.inside(part) for part in spec["parts"]]
        called = names(spec["names"], "relation.names", len(parts))
        place = [(g, i) for g, part in enumerate(parts) for i in range(part.size)]

        def budget(i, j):
            (g, one), (h, other) = place[i], place[j]
            return parts[g].budget(one, other) if g == h else None

        self.size, self.budget, self.alone, self.parts = len(place), budget, True, parts
        said = "; ".join(f"{name} ({part.sentence.removesuffix('.')})" for name, part in zip(called, parts, strict=True))
        self.sentence = (
            f"A record has one value in each of {len(parts)} groups and may change in all of them; the budget is the "
            f"sum over the "
            f"changed groups of: {said}."
        )

    def _parse_statistics(self, spec):
        """Published statistics A x of the histogram x; whether the number of records is one of them is returned."""
        keys(spec, ("rows", "names", "records_public", "groups"), ("impossible",), "relation.invariant")
        only("impossible" not in spec, "elements that no record can have")
        require(
            isinstance(spec["rows"], list) and spec["rows"] and isinstance(spec["rows"][0], list), "invariant.rows: no rows"
        )
        size = self.size = len(spec["rows"][0])
        require(all(isinstance(row, list) and len(row) == size for row in spec["rows"]) and size, "invariant.rows: no matrix")
        rows = [[whole(n, "invariant.rows", -(2**30), 2**30) for n in row] for row in spec["rows"]]
        called, public = names(spec["names"], "invariant.names", len(rows)), spec["records_public"]
        require(type(public) is bool, "invariant.records_public: is no boolean")
        require(spec["groups"] is None or whole(spec["groups"], "invariant.groups") >= 0, "invariant.groups: is no number")
        self.called, self.constraints = called, [*rows, [1] * size] if public else rows
        listed = every_name(called)
        said = f"The invariant statistics are published exactly: {listed}. Databases that differ in them are not protected."
        self.public = [said] + ["The number of records is public."] * public
        return public

    def _statistics(self, spec, adjacency):
        """All changes v of at most `adjacency` records that keep the published statistics, one of each pair +-v: A v = 0, and v
        sums to 0 and has at most 2 a entries in size where the number of records is public; |v|_1 <= a elsewhere. L5: these are
        all differences of two histograms so close, whatever the histogram (docs/theory/invariants.md, 1)."""
        public = self._parse_statistics(spec)
        size, called, constraints = self.size, self.called, self.constraints
        reach = whole(adjacency, "relation.adjacency", 1) * (1 + public)
        only(
            sum(math.comb(size, k) * math.comb(reach, k) << k for k in range(reach + 1)) <= 200_000,
            "a list of too many changes",
        )
        found, v = [], [0] * size

        def extend(k, left, sums):
            if k == size:
                if not any(sums) and any(v) and next(n for n in v if n) > 0:
                    found.append(tuple(v))
                return
            for v[k] in range(-left, left + 1):
                extend(k + 1, left - abs(v[k]), [total + v[k] * row[k] for total, row in zip(sums, constraints, strict=True)])
            v[k] = 0

        extend(0, reach, [0] * len(constraints))
        self.changes, self.adjacency = found, adjacency
        many = "s" if len(called) > 1 else ""
        kind = "replaced" if public else "added or removed"
        self.moved = (
            f"Databases with the same {len(called):,} invariant statistic{many} and at most {self._records(kind + ' record')}"
        )

    def _records(self, noun):
        return f"{self.adjacency:,} {noun}{'s' if self.adjacency > 1 else ''}"

    def _invariant(self, spec):
        self._statistics(spec["invariant"], spec["adjacency"])
        epsilon = number(spec["epsilon"], "epsilon", positive=True)
        self.costs = [epsilon] * len(self.changes)
        self.sentence = f"{self.moved} are protected from each other with budget {float(epsilon)!r} (Semi-DP)."

    def _metric_and_invariant(self, spec):
        """The budget of a change is the least cost of moving its records, one by one, from where it is negative to where it is
        positive: along any such way budgets add up."""
        metric = self.inside(spec["metric"])
        self._statistics(spec["invariant"], spec["adjacency"])
        require(metric.size == self.size, "relation.metric: speaks of another number of elements")
        require(spec["invariant"]["records_public"], "relation.invariant: the number of records has to be public")
        only(self.adjacency <= 5, "changes of more than 5 records under a metric")
        d = [
            [Fraction(0) if i == j else metric.budget(min(i, j), max(i, j)) for j in range(self.size)] for i in range(self.size)
        ]

        def cost(v):
            leave, enter = ([k for k, n in enumerate(v) for _ in range(max(0, sign * n))] for sign in (-1, 1))
            ways = ([d[i][j] for i, j in zip(leave, order, strict=True)] for order in set(permutations(enter)))
            return min((sum(way) for way in ways if None not in way), default=None)

        self.costs = [cost(v) for v in self.changes]
        self.sentence = (
            f"{self.moved} are protected from each other with the transport cost of the moved records as budget; for one "
            f"record: "
            f"{metric.sentence}"
        )

    def pairs(self):
        """All pairs (i, j, b) with a budget; j = size stands for no record. L2: budgets of a metric, or of a change in several
        groups, that are sums over pairs listed here need no look of their own, because ||u + v|| <= ||u|| + ||v||."""
        if self.changes is not None:
            yield from ((n, len(self.changes), b) for n, b in enumerate(self.costs) if b is not None)
            return
        for i, j in combinations(range(self.size), 2) if self.kind != "add_remove" else ():
            if (b := self.budget(i, j)) is not None:
                yield i, j, b
        if self.absent:
            for i in range(self.size):
                if (b := self.origin(i)) is not None:
                    yield i, self.size, b

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
            moved = [v for v, b in zip(self.changes, self.costs, strict=True) if b is not None]
            spans = rank([list(map(Fraction, v)) for v in moved]) + rank([list(map(Fraction, c)) for c in self.constraints])
            further = ["No protected change moves some further statistics either, so those are published exactly too."]
            most = max(b for b in self.costs if b is not None)
            return {"adjacency": self.adjacency}, most, self.public + further * (spans < self.size)
        if self.alone:
            own = [part.components() for part in self.parts]
            most = sum(max((b for _, _, b in part.pairs()), default=Fraction(0)) for part in self.parts)
            apart = ["Changes between different connected components of a group are not protected."] * (max(own) > 1)
            return {"connected_components": math.prod(own)}, most, ["The number of records is public.", *apart]
        if self.kind == "uniform":
            count, most = 1, self.budget(0, 1) if self.size > 1 else Fraction(0)
        else:
            count, most = self.components(), max((b for _, _, b in self.pairs()), default=Fraction(0))
        apart = ["Changes between different connected components of the relation are not protected."] * (count > 1)
        return {"connected_components": count}, most, ["The number of records is public."] * (not self.absent) + apart


NONE_IMPLIED = ("per_element", "partition", "taxonomy", "restricted", "smooth_threshold")
KINDS = {
    "uniform": "elements epsilon", "matrix": "budgets closure", "per_element": "epsilons", "instance": "epsilons closure",
    "partition": "labels epsilon", "euclidean": "points per_unit", "chebyshev": "points per_unit",
    "manhattan": "points per_unit", "line": "values period epsilon unit", "graph": "nodes edges weights per_edge",
    "blowfish": "ground threshold epsilon", "smooth_threshold": "ground threshold epsilon",
    "hamming": "attributes values budgets", "product": "attributes values parts", "sum": "parts", "maximum": "parts",
    "root_sum_squares": "parts", "scaled": "factor part", "restricted": "part elements",
    "taxonomy": "ancestors budgets form", "add_remove": "epsilons", "appear_or_change": "change epsilons closure",
    "row_groups": "names parts", "invariant": "invariant adjacency epsilon",
    "metric_and_invariant": "metric invariant adjacency",
}  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ 6 additive noise

FAMILIES = set(
    "box bundles capped_l1 custom diagonal_gaussian ellipsoid gaussian group_box group_gaussian group_l2_ball group_laplace "
    "isotropic_gaussian k_norm l2_ball laplace laplace_joint projected_laplace separable strategy_1 strategy_2 strategy_3 "
    "strategy_gaussian strategy_geometric strategy_laplace subspace_gaussian subspace_laplace uniform_budget".split()
)


def require_spelled(spec, elements):
    """Columns of a table of records, and what they hold for each element: its name says the same."""
    keys(spec, ("columns", "rows"), ("unlisted",), "keys")
    only("unlisted" not in spec, "a workload with a rule for values that are not listed")
    columns, rows = names(spec["columns"], "keys"), spec["rows"]
    fits = isinstance(rows, list) and all(isinstance(r, list) and len(r) == len(columns) for r in rows)
    require(fits and len(rows) == len(elements), "keys: one row for each element")
    require(all(type(text) is str for r in rows for text in r), "keys: are no texts")
    require(len(set(map(tuple, rows))) == len(rows), "keys: a row twice")
    spelled = [", ".join(f"{c}={text}" for c, text in zip(columns, r, strict=True)) for r in rows]
    only(elements in (spelled, [", ".join(r) for r in rows]), "keys of elements that do not spell their names")


def workload(spec):
    """Names of queries and elements, rows {element: entry} of what is not 0, and which form they have. An object has
    one form: up to 2^14 entries as it was given, above that ranges of ones where all rows are such, and above 2^20 compressed
    rows where 8 times fewer entries are not 0."""
    form = next((key for key in ("rows", "ranges") if isinstance(spec, dict) and key in spec), "matrix")
    keys(spec, ("queries", "elements", form), ("keys",), "workload")
    queries, elements = (names(numbered(spec[key], key), f"workload.{key}") for key in ("queries", "elements"))
    if "keys" in spec:
        require_spelled(spec["keys"], elements)
    size, entries = len(elements), len(queries) * len(elements)
    if form == "matrix":
        only(entries <= 2**20, "a matrix of more than 2^20 entries")
        dense = matrix(spec["matrix"], "workload.matrix", len(queries), size)
        found = [{k: c for k, c in enumerate(row) if c} for row in dense]
    elif form == "rows":
        keys(spec["rows"], ("values", "columns", "starts"), where="workload.rows")
        values, columns, starts = (listed(spec["rows"][key], f"workload.rows.{key}") for key in ("values", "columns", "starts"))
        values = [number(entry, "workload.rows") for entry in values]
        columns = [whole(c, "workload.rows", 0, size - 1) for c in columns]
        starts = [whole(n, "workload.rows", 0, len(values)) for n in starts]
        shaped = len(starts) == len(queries) + 1 and starts == sorted(starts) and starts[0] == 0 and starts[-1] == len(values)
        require(shaped and len(columns) == len(values), "workload.rows: starts do not rise from 0 to the number of values")
        found = []
        for start, end in pairwise(starts):
            own = columns[start:end]
            require(own == sorted(set(own)), "workload.rows: columns do not rise")
            found.append(dict(zip(own, values[start:end], strict=True)))
        only(all(values), "compressed rows that hold a 0")
    else:
        keys(spec["ranges"], ("starts", "ends"), where="workload.ranges")
        starts, ends = ([whole(n, key, 0, size) for n in listed(spec["ranges"][key], key)] for key in ("starts", "ends"))
        require(len(starts) == len(ends) == len(queries), "workload.ranges: one start and one end for each query")
        require(all(a < b or a == b == 0 for a, b in zip(starts, ends, strict=True)), "workload.ranges: end before they start")
        only(sum(ends) - sum(starts) <= MOST_ENTRIES, f"ranges of more than {MOST_ENTRIES} entries")
        found = [dict.fromkeys(range(a, b), Fraction(1)) for a, b in zip(starts, ends, strict=True)]
    ranges = all(set(row.values()) <= {1} and (not row or max(row) - min(row) == len(row) - 1) for row in found)
    few = 8 * sum(map(len, found)) <= entries
    require((form == "ranges") == (ranges and entries > 2**14), "workload: is ranges of ones, or none, and written otherwise")
    require(form == "ranges" or entries <= 2**20 or (form == "rows") == few, "workload: is written in another form")
    return queries, elements, found, form


class Pairs:
    """What every format has that is proven pair by pair: the columns `points` of the elements, the last one 0, their relation,
    and `length(u)`, which is at most b for every pair."""

    delta, lengths, kinds = None, {}, "pairs"
    shape = "exact rationals for the [0-9]+ pairs that decide, floating-point upper bounds with a proven error for all [0-9]+"

    def difference(self, i, j):
        """u of a pair; of a change and its end, in this order, the sum of what it moves."""
        if self.relation.changes is not None:
            change, sign = self.relation.changes[min(i, j)], 1 if i < j else -1
            moved = [(sign * n, p) for n, p in zip(change, self.points, strict=False) if n]  # the last point is no record
            return [sum((n * p[k] for n, p in moved), Fraction(0)) for k in range(len(self.points[0]))]
        return [a - b for a, b in zip(self.points[i], self.points[j], strict=True)]

    def allowed(self, b):
        """The length that a budget allows: itself, or under a delta what L4 says."""
        if self.delta is None:
            return b
        if b not in self.lengths:
            only(len(self.lengths) < 200, "more than 200 different budgets under a delta")
            self.lengths[b] = allowed_length(self.falloff, b, self.delta)
        return self.lengths[b]

    def ratio(self, u, b):
        """||u|| over what it may be; None where that is infinite."""
        length, allowed = self.length(u), self.allowed(b)
        return None if length is None or not allowed else length / allowed

    def certify(self, products):
        """Every pair, one by one."""
        pairs = list(self.relation.pairs())
        only(len(pairs) <= MOST_PAIRS, f"{len(pairs)} pairs, of more than {MOST_PAIRS}")
        only(len(pairs) * products <= MOST_WORK, "pairs times the products of the norm are too many")
        only(pairs, "a relation that protects nothing")
        self.worst, self.least, self.count = Fraction(0), min(b for _, _, b in pairs), len(pairs)
        known = {}
        for i, j, b in pairs:
            u = self.difference(i, j)
            if not any(u):
                continue
            key = (tuple(u), b)
            if key not in known:
                known[key] = self.ratio(u, b)
            said = f"the change {i} -> {j} ({self.words(i, j)})"
            require(known[key] is not None, f"{said} moves what has no noise, or has no budget")
            require(known[key] <= 1, f"{said} spends its budget {float(b)!r} {float(known[key])!r} times")
            self.worst = max(self.worst, known[key])
        require(self.worst > 0, "no protected change moves anything that is released")

    def words(self, i, j):
        """A pair in the words of a witness."""
        if self.relation.changes is not None:
            moved = zip(self.relation.changes[min(i, j)], self.elements, strict=True)
            return "the histogram changes by " + ", ".join(f"{n:+d} {name}" for n, name in moved if n)
        if self.relation.size in (i, j):
            return f"a record of {self.elements[min(i, j)]} appears"
        return f"{self.elements[i]} -> {self.elements[j]}"

    def certificate(self, said):
        """That of the file against what was recomputed; returns what was not compared."""
        claimed = frame(said, self, self.shape, reduced=False)
        require(abs(claimed - self.worst) <= NEAR, f"worst_ratio: says {float(claimed)!r}, recomputed {float(self.worst)!r}")
        require(type(said["pairs"]) is int and 0 < said["pairs"] <= self.count, "certificate.pairs: is not a number of pairs")
        left = []
        if self.relation.listed is not None and self.delta is None:
            require(
                said["pairs"] == self.relation.listed, f"certificate.pairs: says {said['pairs']}, {self.relation.listed} decide"
            )
        else:
            left = [f"certificate.pairs, {said['pairs']}: how many pairs the designer looked at; here all {self.count} were"]
        pair = said["witness"]
        keys(pair, "left right words difference budget".split(), where="certificate.witness")
        relation = self.relation
        last = relation.size - 1 + relation.absent if relation.changes is None else len(relation.changes)
        i, j = (whole(pair[key], f"witness.{key}", 0, last) for key in ("left", "right"))
        require(i != j and (relation.changes is None or last in (i, j)), "witness: is no pair")
        if relation.changes is not None:  # the list of the designer may be in another order: the words say which change it is
            left.append("certificate.witness.left and .right: the number of the change in a list that the file does not hold")
            own = next((n for n in range(last) if self.words(n, last) == pair["words"].partition(" (budget ")[0]), None)
            require(own is not None, "witness.words: name no change")
            i, j = (own, last) if j == last else (last, own)
            b = relation.costs[own]
        else:
            b = relation.origin(min(i, j)) if max(i, j) == relation.size else relation.budget(min(i, j), max(i, j))
        require(b is not None, "witness: has no budget")
        u = self.difference(i, j)
        found = self.ratio(u, b)
        require(found is not None and abs(found - self.worst) <= NEAR, "witness: does not have the worst ratio")
        require(
            pair["words"] == self.words(i, j) + self.under(b), f"witness.words: should be {self.words(i, j) + self.under(b)!r}"
        )
        told = b if self.delta is None else self.lengths[b]
        require(type(pair["budget"]) is float and pair["budget"] == float(told), "witness.budget: is another one")
        require(isinstance(pair["difference"], list), "witness.difference: is no list")
        require(all(type(c) is float for c in pair["difference"]), "witness.difference: are no floats")
        require(digest(pair["difference"]) == digest([float_above(c) for c in u]), "witness.difference: is another one")
        return left

    def under(self, b):
        """What a witness adds where there is a delta."""
        return "" if self.delta is None else f" (budget {float(b)!r} with delta {float(self.delta)!r})"

    def unit(self):
        """Who is protected."""
        if self.relation.changes is None:
            return ALONE + (BUDGETS_ADD if self.delta is None else DELTA_GROUPS)
        return (
            f"Up to {self.relation._records('record')} whose change leaves the invariant statistics unchanged; nothing "
            "is claimed for more, or for other changes."
        )

    def promise(self, falloff):
        """The fields of a guarantee that the relation decides."""
        count, most, public = self.relation.facts()
        ratios = {"smallest_budget": self.least, "largest_finite_budget": most, "worst_ratio": self.worst}
        return {
            "unit": self.unit(), "relation": self.relation.sentence, "unprotected": public, "notion": NOTIONS[falloff],
            "parameters": ratios | count, "post_processing": AFTERWARDS,
        }  # fmt: skip

    def summary(self):
        """What was found, in words."""
        return f"the largest ratio of ||u|| to its budget over all {self.count} {self.kinds} is {float_above(self.worst)!r}"


class Additive(Pairs):
    """Noise z on the multiples of steps 2^e_k, P(z) proportional to exp(-||z||) or exp(-||z||^2 / 2), around M x.

    L1 (exponential): a shift by u, itself of multiples, changes P by at most exp(||u||), by the triangle inequality.
    L3 (gaussian, ||.|| Euclidean): the Renyi divergence of order alpha between the two is at most alpha ||u||^2 / 2.
    So the promise is kept if ||u|| <= b for every protected difference u = M e_i - M e_j of entries as rounded to the steps,
    M e_i alone where a record appears. Under a delta L4's length is in the place of b, for every pair, implied or not.
    """

    def __init__(self, core):
        only("projected" not in core, "noise that is projected onto what protected changes reach")
        needed = ("family", "workload", "relation", "norm", "grid", "falloff", "measured", "reconstruction")
        keys(core, needed, ("vacuous", "delta"), "mechanism")
        require("vacuous" not in core, "the mechanism says of itself that it hides nothing")
        self.family, self.falloff = core["family"], core["falloff"]
        require(type(self.family) is str and self.family in FAMILIES, "family: is unknown")
        self.delta = None if "delta" not in core else number(core["delta"], "delta", positive=True)
        known = ("exponential", "gaussian") if self.delta is None else ("exponential", "rounded_gaussian")
        require(self.falloff in known, f"falloff: {self.falloff!r} is not one of {known}")
        self.queries, self.elements, asked, form = workload(core["workload"])
        self.relation, self.norm = Relation(core["relation"]), Norm(core["norm"], self.falloff)
        require(self.relation.size == len(self.elements), "relation: speaks of another number of elements")
        self.grid = [whole(e, "grid", -1999, 1999) for e in listed(core["grid"], "grid")]
        only(all(abs(e) <= 400 for e in self.grid), "grid: steps beyond 2^-400 to 2^400")
        size = len(self.grid)
        self.direct = core["measured"] is None
        self.described = self.direct and form != "matrix" and self._is_described(asked)
        require(not self.described or form != "ranges" or not any(self.grid), "grid: of ranges that are described it is 2^0")
        if not self.direct:
            target = matrix(core["measured"], "measured", size, len(self.elements))
            asked = [{k: c for k, c in enumerate(row) if c} for row in target]
        require(len(asked) == size == len(self.norm.silent), "the numbers of rows, steps and coordinates differ")
        self.back = None
        if core["reconstruction"] is not None:
            self.back = matrix(core["reconstruction"], "reconstruction", len(self.queries), size)
        require(self.back is not None or size == len(self.queries), "reconstruction: is missing")
        # Entries are rounded to the nearest multiples, halves to the even one.
        self.multiples = [
            {k: round(c / Fraction(2) ** e) for k, c in row.items()} for row, e in zip(asked, self.grid, strict=True)
        ]
        require(all(abs(n) <= 2**52 for row in self.multiples for n in row.values()), "grid: entries are beyond 2^52 steps")
        heard = [e for e, quiet in zip(self.grid, self.norm.silent, strict=True) if not quiet]
        rates = [rate * Fraction(2) ** e for rate, e in zip(self.norm.rates, heard, strict=True)]
        only(all(Fraction(1, 2**48) <= rate <= 64 for rate in rates), "grid: a step is below 2^-48 or above 64 noise scales")
        shaped = self.norm.order != "l1" and self.falloff == "exponential"  # drawn from a body: a coarse grid fits it badly
        only(not shaped or all(rate <= Fraction(1, 1000) for rate in rates), "grid: a step is above a thousandth of the body")
        self.lengths, self.length = {}, self.norm.length
        self.theorem = THEOREMS[self.falloff, self.delta is not None]
        if self.described:
            self._certify_described()
        else:
            only(size * len(self.elements) <= 2**20, "rows of more than 2^20 entries, under a relation of many budgets")
            steps = [Fraction(2) ** e for e in self.grid]
            dense = [
                [row.get(i, 0) * e for row, e in zip(self.multiples, steps, strict=True)] for i in range(len(self.elements) + 1)
            ]
            self.points = [
                [int(c) if c.denominator == 1 else c for c in column] for column in dense
            ]  # whole numbers are faster
            self.certify(self.norm.products)
        require(self.delta is None or not self.relation.alone, "relation: row groups have no promise with a delta")
        self._substance()

    def _is_described(self, rows):
        """Whether nobody writes these rows out: every change has one budget, and they are many, or no element is in two."""
        entries, appears = len(rows) * len(self.elements), self.relation.kind == "add_remove"
        finite = self.relation.absent and all(self.relation.origin(i) is not None for i in range(self.relation.size))
        if not (self.relation.kind == "uniform" or (finite and (appears or self.relation.plain))):
            return False
        touched = [k for row in rows for k in row]
        found = entries > (2**21 if appears else 2**25) or (entries > 2**14 and len(touched) == len(set(touched)))
        only(not found or not self.relation.plain, "described rows where a record may both appear and change")
        return found

    def _certify_described(self):
        """Rows that nobody writes out. Where a record appears, every column. Where it changes, all pairs of different columns
        if they are few, and else L6: |p - q| <= |p - m| + |q - m| in l1; in l2 the squares of the two add up to at least that
        of p - q if no entry of p - m has another sign than one of q - m, and twice them always. m: 0, or the middle column."""
        only(self.norm.weights is not None and self.norm.order in ("l1", "l2"), "described rows under another norm")
        power, size, appears = 1 if self.norm.order == "l1" else 2, len(self.elements), self.relation.absent
        weight, columns = [], [{} for _ in range(size)]
        for k, (row, w, e) in enumerate(zip(self.multiples, self.norm.weights, self.grid, strict=True)):
            moves = any(row.values()) if appears else len({*row.values(), *[0] * (len(row) < size)}) > 1
            require(w is not None or not moves, f"a protected change moves {self.queries[k]!r}, which has no noise")
            weight.append(Fraction(0) if w is None else (w * Fraction(2) ** e) ** power)
            for i, n in row.items() if moves else ():  # what no change moves counts nowhere
                columns[i][k] = n
        columns.append({})  # no record
        unit = math.lcm(*(w.denominator for w in weight))
        weight = [w.numerator * (unit // w.denominator) for w in weight]

        def total(p, q):
            return sum(weight[k] * abs(p.get(k, 0) - q.get(k, 0)) ** power for k in p.keys() | q.keys())

        def length(total_of_it):
            return Fraction(total_of_it, unit) if power == 1 else root_above(Fraction(total_of_it, unit))

        self.between = lambda i, j: length(total(columns[i], columns[j]))
        if appears:
            budgets = [self.relation.origin(i) for i in range(size)]
            self.least, self.count = min(budgets), size
            self.worst = self.bound = max(self.between(i, size) / self.allowed(b) for i, b in enumerate(budgets))
        else:
            self.least, self.count = self.relation.budget(0, 1), size * (size - 1) // 2
            kinds = list({tuple(sorted(column.items())): column for column in columns[:size]}.values())
            looked_at, bounds = kinds, []
            if len(kinds) * sum(map(len, kinds)) > MOST_WORK // 10:
                for m in ({}, columns[size // 2]):
                    apart = sorted(((total(p, m), n) for n, p in enumerate(kinds)), reverse=True)
                    signs = {
                        p.get(k, 0) > m.get(k, 0) for p in kinds for k in p.keys() | m.keys() if p.get(k, 0) != m.get(k, 0)
                    }
                    bounds.append((1 if power == 1 or len(signs) < 2 else 2) * (apart[0][0] + apart[1][0]))
                looked_at = [kinds[n] for _, n in apart[:20]]
            found = max((total(p, q) for p, q in combinations(looked_at, 2)), default=0)
            self.worst, self.bound = (length(t) / self.allowed(self.least) for t in (found, min(bounds, default=found)))
        require(self.worst <= 1, f"a change spends its budget {float(self.worst)!r} times")
        only(self.bound <= 1, "so many pairs that they are not looked at one by one, and no bound for all of them is known")

    def certificate(self, said):
        """That of the file against what was recomputed."""
        if not self.described:
            return super().certificate(said)
        sentence = re.escape(BY_COLUMNS)
        bounded = (
            sentence + ", as a bound for the pairs that were not looked at, up to [0-9.e+-]+ percent above the worst pair seen"
        )
        claimed, pair = frame(said, self, f"{sentence}|{bounded}"), said["witness"]
        require(said["pairs"] == self.count, f"certificate.pairs: says {said['pairs']}, there are {self.count}")
        keys(pair, ("left", "right", "words", "difference", "budget"), where="certificate.witness")
        i, j = whole(pair["left"], "witness.left", 0, self.count), whole(pair["right"], "witness.right", 0, self.count)
        size = len(self.elements)
        require(i < size and (j == size if self.relation.absent else i < j < size), "witness: is no pair")
        b = self.relation.origin(i) if self.relation.absent else self.least
        reached = self.between(i, j) / self.allowed(b)
        require(
            self.worst <= reached + NEAR and reached <= claimed + NEAR, "witness: does not have the worst ratio that was seen"
        )
        told = b if self.delta is None else self.lengths[b]
        require(type(pair["budget"]) is float and pair["budget"] == float(told), "witness.budget: is another one")
        require(
            pair["words"] == self.words(i, j) + self.under(b) and pair["difference"] == [], "witness: is described otherwise"
        )
        exact = self.bound == self.worst == claimed and said["arithmetic"] == BY_COLUMNS
        self.worst = claimed
        looser = (
            "certificate.worst_ratio, .arithmetic: last digits, and how far above the worst pair seen the designer's bound is"
        )
        return ["certificate.witness: which of the pairs with the worst ratio it is"] + [looser] * (not exact)

    def _substance(self):
        """What hides nothing is refused: no pair is moved, or no noise reaches any answer (a reconstruction reaches what it
        multiplies by more than 2^-43 of its largest entry)."""
        require(self.worst > 0, "no protected change moves anything that is released")
        heard = [not quiet for quiet in self.norm.silent]
        if self.back is None:
            reached = heard
        else:
            reached = [
                max((abs(c) for c, h in zip(row, heard, strict=True) if h), default=0) > Fraction(1, 2**43) * max(map(abs, row))
                for row in self.back
            ]
        require(any(reached), "no answer gets any noise")

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        told, rebuilt = self.promise(self.falloff if self.delta is None else "exponential"), ""
        if self.delta is not None:
            told |= {"notion": APPROXIMATE.format(delta=float(self.delta)), "post_processing": DELTAS_ADD}
            told["parameters"]["delta"] = float(self.delta)
        quiet = [name for name, silent in zip(self.queries, self.norm.silent, strict=True) if silent] if self.direct else []
        if quiet:
            exactly = f"Published exactly, because no protected change moves them: {every_name(quiet)}."
            told["unprotected"] = [exactly, *told["unprotected"]]
        if self.back is not None:
            rebuilt = "; the answers are a fixed linear map of the noisy measurements"
        law = LAWS[self.falloff].format(self.norm.sentence)
        return {
            **told, "mechanism": f"Family {self.family}: integer noise on a grid, {law}{rebuilt}.",
            "sampling": SAMPLED[self.falloff], "floating_point": FLOATS, "timing": TIMING,
        }  # fmt: skip


ALONE = "The participation of one record, or its value, as the relation states; "
BUDGETS_ADD = "budgets of groups add up, and nothing more is claimed for them."
DELTA_GROUPS = (
    "budgets of groups do not add up under one delta; the privacy loss of a change of several records states what it spends."
)
NOTIONS = {
    "exponential": "Pure dX-privacy: for every protected change with budget b, every set of outputs has probabilities within a "
    "factor exp(b) (DX Definition 2; with one budget for all changes this is epsilon-differential privacy).",
    "gaussian": "Zero-concentrated dX-privacy: for every protected change with budget b, the Renyi divergence of order "
    "alpha is at "
    "most alpha b^2 / 2, that is b^2/2-zCDP for the change (in the continuous limit b-Gaussian differential privacy).",
}
APPROXIMATE = (
    "Approximate dX-privacy: for every protected change with budget b, every set of outputs has probabilities P and P' "
    "with P <= "
    "exp(b) P' + delta, delta = {delta!r}. It holds change by change: the budgets of changes that follow one another "
    "do not add up "
    "under one delta."
)
AFTERWARDS = (
    "Anything computed from a release alone keeps the guarantee. Budgets of several releases about the same records "
    "add up pair by "
    "pair (pure) or in squares (gaussian)."
)
DELTAS_ADD = (
    "Anything computed from a release alone keeps the guarantee. Of several releases about the same records both the "
    "budgets and "
    "the deltas add up, pair by pair."
)
BY_COLUMNS = "exact rationals: the largest length of all, from sums over the entries that are not 0"
EXACT_BITS = "Exact: random bits of the operating system, compared with probabilities in exact arithmetic."
SAMPLED = {
    "exponential": EXACT_BITS,
    "gaussian": EXACT_BITS,
    "rounded_gaussian": "Exact: normal variates are computed from random bits of the operating system, as many as their "
    "rounding to the grid needs.",
}
LAWS = {
    "exponential": "P(z) proportional to exp(-||z||), ||z|| {}",
    "gaussian": "P(z) proportional to exp(-||z||^2 / 2), ||z|| {}",
    "rounded_gaussian": "z is y rounded to the grid, the density of y proportional to exp(-||y||^2 / 2), ||y|| {}",
}
FLOATS = (
    "Every answer is an integer multiple of a step fixed at design time; answers before noise are summed in exact "
    "integers. The "
    "float returned is computed from that integer alone."
)
TIMING = (
    "Noise is drawn in batches by table look-up; the time of a draw may depend on the noise and is not covered. The guarantee "
    "does not cover attackers who can time single releases precisely."
)
THEOREMS = {
    (
        "exponential",
        False,
    ): "P(z) is proportional to exp(-||z||) on the grid, so a shift by u changes it by at most exp(||u||) <= "
    "exp(b) (triangle inequality; DX Theorem 1 for the weighted l1 norm, docs/theory/foundations.md for any norm). "
    "Every u lies on "
    "the grid.",
    (
        "gaussian",
        False,
    ): "P(z) is proportional to exp(-||z||^2 / 2) on the grid, ||.|| Euclidean, so a shift by a grid vector u has "
    "Renyi divergence of every order alpha at most alpha ||u||^2 / 2 <= alpha b^2 / 2 (Poisson summation; "
    "docs/theory/foundations.md). Every u lies on the grid.",
    (
        "exponential",
        True,
    ): "P(z) is proportional to exp(-||z||) on the grid, so a shift by u changes it by at most exp(||u||), and a "
    "pure promise of m is (b, delta) for delta = (e^m - e^b) / (1 + e^m) (docs/theory/approximate.md). ||u|| is at "
    "most the m that "
    "this allows at the budget b, for every protected pair, those that others imply among them. Every u lies on the grid.",
    (
        "rounded_gaussian",
        True,
    ): "z is normal noise y, of density proportional to exp(-||y||^2 / 2), ||.|| Euclidean, rounded to the "
    "grid. Every answer and every u lies on the grid, so the release is a rounding of the answers plus y: "
    "post-processing. A shift "
    "of y by u with ||u|| = m is (b, delta) exactly if Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) <= delta (Balle and Wang "
    "2018, Theorem "
    "8), which increases with m. ||u|| is at most the m that this allows at the budget b, rounded down, for every "
    "protected pair, "
    "those that others imply among them (docs/theory/approximate.md).",
}

# --------------------------------------------------------------------------------------------------------------- 7 own reports


class OwnReport(Pairs):
    """A value x is replaced by a report z with probability n[x][z] / D, n whole numbers above 0 whose rows sum to D.

    By definition the promise is n[x][z] <= e^b n[y][z] for every report z and both orders of every pair x, y. Each is compared
    in whole numbers with a bound that is proven to be at most e^b."""

    theorem = (
        "K[x, z] <= exp(b) K[x', z] for every report z and both orders of every pair, so no report is more than exp(b) times "
        "as likely from one value as from the other (docs/theory/own_reports.md, 1; DX Definition 2)."
    )

    def __init__(self, core):
        keys(core, "relation elements reports numerators denominator prior losses".split(), ("keys",), "mechanism")
        self.relation = Relation(core["relation"])
        metric = self.relation.changes is None and not self.relation.absent and not self.relation.alone
        require(metric, "relation: of a report it is a metric")
        size = self.relation.size
        self.elements, self.reports = names(core["elements"], "elements", size), names(core["reports"], "reports")
        if "keys" in core:
            require_spelled(core["keys"], self.elements)
        self.bits = whole(core["denominator"], "denominator", 1, 2**512).bit_length()
        self.rows = core["numerators"]
        only(not isinstance(self.rows, dict), "a table that is described by the peaks of its columns, and not written out")
        only(not isinstance(core["losses"], dict), "losses that follow from a rule, and are not written out")
        only(size * len(self.reports) <= 250_000, "a table of more than 250,000 entries")
        require(isinstance(self.rows, list) and len(self.rows) == size, "numerators: are not one row for each element")
        for row in self.rows:
            require(isinstance(row, list) and len(row) == len(self.reports), "numerators: are not one for each report")
            require(
                sum(whole(n, "numerators", 1, 2**512) for n in row) == core["denominator"], "numerators: rows sum to another"
            )
        prior = numbers(core["prior"], "prior", positive=True, count=size)
        require(abs(sum(prior) - 1) <= Fraction(1, 10**9), "prior: does not sum to 1")
        matrix(core["losses"], "losses", size, len(self.reports))
        pairs = list(self.relation.pairs())
        require(len(pairs) == self.relation._all(), "relation: leaves a pair unprotected, which a report always is")
        only(len(pairs) * len(self.reports) <= MOST_WORK, "more pairs and reports than are looked at one by one")
        most, self.count = {Fraction(0): ONE}, len(pairs)
        only(len({b for _, _, b in pairs}) <= 20_000, "more than 20,000 different budgets")
        self.least, self.near = min((b for _, _, b in pairs), default=None), []
        for i, j, b in pairs:
            if b > 512:  # e^512 is above 2^512, and no two entries are as far apart
                continue
            if b not in most:
                most[b] = exp(b)[0]
            for z, (n, m) in enumerate(zip(self.rows[i], self.rows[j], strict=True)):
                kept = n * ONE <= most[b] * m and m * ONE <= most[b] * n
                require(
                    kept, f"report {self.reports[z]!r} tells {self.elements[i]!r} from {self.elements[j]!r} by more than e^b"
                )
        # How near the table comes, for the words of the certificate alone: logarithms as floats.
        logs = [[math.log(n) for n in row] for row in self.rows]
        apart = {(i, j): max(abs(n - m) for n, m in zip(logs[i], logs[j], strict=True)) for i, j, _ in pairs}
        self.ratios = {(i, j): 0.0 if apart[i, j] < 1e-11 else apart[i, j] / float(b) for i, j, b in pairs}
        largest = max(self.ratios.values(), default=0.0)
        self.worst = min(Fraction(1), Fraction(math.ceil((largest + 1e-9) * 2**24), 2**24)) if largest else Fraction(0)

    def summary(self):
        """What was found, in words."""
        return f"every report of all {self.count} pairs of values, both ways, is within e^b"

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        told = self.promise("exponential")
        del told["parameters"]["connected_components"]
        return {
            **told, "unit": REPORT_UNIT,
            "mechanism": f"Each of {len(self.elements)} values has its own row of a public table of probabilities over "
            f"{len(self.reports)} public reports, whole numbers over one denominator of {self.bits} bits.",
            "sampling": REPORT_SAMPLING, "floating_point": REPORT_NUMBERS, "timing": REPORT_TIMING,
        }  # fmt: skip

    def certificate(self, said):
        """That of the file against what was recomputed; returns what was not compared."""
        claimed, pair = frame(said, self, re.escape(REPORT_ARITHMETIC)), said["witness"]
        only(claimed == self.worst or abs(claimed - self.worst) > Fraction(1, 2**24), "worst_ratio: one step of rounding off")
        require(claimed == self.worst, f"worst_ratio: says {float(claimed)!r}, recomputed {float(self.worst)!r}")
        require(self.count > 0 and said["pairs"] <= self.count, "certificate.pairs: is not a number of pairs")
        keys(pair, ("left", "right", "words", "difference", "budget"), where="certificate.witness")
        i, j = (whole(pair[key], f"witness.{key}", 0, len(self.elements) - 1) for key in ("left", "right"))
        near = min(i, j), max(i, j)
        require(near in self.ratios, "witness: is no pair")
        require(self.ratios[near] >= max(self.ratios.values()) * (1 - 3e-9), "witness: does not have the worst ratio")
        words = {f"{self.words(i, j)}, report {name}" for name in self.reports}
        require(type(pair["words"]) is str and pair["words"] in words and pair["difference"] == [], "witness: other words")
        require(
            type(pair["budget"]) is float and pair["budget"] == float(self.relation.budget(*near)), "witness.budget: another"
        )
        if self.relation.listed is not None:
            require(said["pairs"] == self.relation.listed, f"certificate.pairs: {self.relation.listed} decide")
        return ["certificate.witness: which of the pairs and reports with the worst ratio it is"] + [
            f"certificate.pairs, {said['pairs']}: how many the designer looked at; here all {self.count} were"
        ] * (self.relation.listed is None)


REPORT_ARITHMETIC = (
    "whole numbers for every report of every pair that floats with a proven error do not settle, against a rational at most "
    "exp(budget); the worst ratio is rounded up to a multiple of 2^-24"
)
REPORT_SAMPLING = (
    "Exact: one uniform whole number below the denominator, from random bits of the operating system, by rejection; nothing "
    "is truncated and no float is involved."
)
REPORT_NUMBERS = "A report is a name of a public list. Estimates are computed from reports and public numbers alone."
REPORT_TIMING = (
    "How many random bits a report takes does not depend on the value; the time of a look-up in a table may, and is not "
    "covered. The guarantee does not cover attackers who can time single reports precisely."
)
REPORT_UNIT = (
    "The value of one person. A report is drawn from one person's value alone, so the guarantee holds for each report by "
    "itself, "
    "before anybody collects it; the budgets of several reports of a person add up pair by pair."
)

# ------------------------------------------------------------------------------------------------------------------- 8 lattice


class Lattice(Pairs):
    """The table x + z, z whole numbers with A z = 0 for the published statistics A, P(z) proportional to exp(-||z||) or
    exp(-||z||^2 / 2).

    Every protected change v has A v = 0, so L1 and L3 hold for it as they do on a grid: the promise is ||v|| <= b for every
    listed change. Where there is a budget for every unit of distance, w ||v||_q <= w ||v||_p <= epsilon ||v||_p for q >= p."""

    kinds, families, theorem = "changes", ("lattice_laplace", "lattice_gaussian", "custom"), None

    def __init__(self, core):
        keys(core, "family workload relation norm falloff cells chain".split(), where="mechanism")
        only(core["chain"] is None, "noise of a Markov chain, of which nothing is proven")
        self.family, self.falloff = core["family"], core["falloff"]
        require(self.family in self.families and self.falloff in ("exponential", "gaussian"), "family or falloff: is unknown")
        self.theorem = self.theorem or LATTICE_THEOREMS[self.falloff]
        self.queries, self.elements, _, _ = workload(core["workload"])
        spec, self.norm = core["relation"], Norm(core["norm"], self.falloff)
        only(not any(self.norm.silent), "integer noise that leaves some cells without noise")
        plain = self.norm.weights is not None and len(set(self.norm.weights)) == 1
        only(plain or core["falloff"] == "gaussian" or self.norm.order in ("l2", "gauge"), "integer noise under this norm")
        weight = max(self.norm.rates)
        only(min(self.norm.rates) >= Fraction(1, 2**30) and weight <= 2**15, "noise wider than 2^30 or narrower than 2^-15")
        require(isinstance(spec, dict) and type(spec.get("kind")) is str, "relation.kind: is missing")
        self.distance = spec["kind"] == "invariant_distance"
        if self.distance:
            keys(spec, ("kind", "invariant", "epsilon", "distance"), where="relation")
            require(spec["distance"] in ("l1", "l2"), "relation.distance: is unknown")
            only(plain and core["cells"] is None, "a budget for every unit of distance, under another norm than equal weights")
            self.least, self.apart = number(spec["epsilon"], "relation.epsilon", positive=True), spec["distance"]
            self.relation = Relation.__new__(Relation)
            self.relation._parse_statistics(spec["invariant"])
            require(self.norm.order == "l2" or self.apart == "l1", "norm: an l1 norm exceeds an l2 distance")
            self.worst, self.count = weight / self.least, 0
            require(self.worst <= 1, f"every unit of distance spends its budget {float(self.worst)!r} times")
        else:
            self.relation = Relation(spec)
            only(self.relation.changes is not None, "integer noise under this relation")
        size = len(self.elements)
        cells = list(range(size)) if core["cells"] is None else core["cells"]
        require(isinstance(cells, list) and all(whole(c, "cells", 0, size - 1) >= 0 for c in cells), "cells: are no elements")
        require(len(set(cells)) == len(cells) == len(self.norm.silent), "cells: not one for each coordinate of the norm")
        require(self.relation.size == size, "relation: speaks of another number of elements")
        kept = [list(map(Fraction, row)) for row in self.relation.constraints]
        self.dimension = size - rank(kept)
        only(1 <= self.dimension <= 4 or (self.dimension <= 200 and self.falloff == "gaussian"), "a lattice of large rank")
        seen = [
            [Fraction(int(c == k)) for k in range(size)] for c in cells
        ]  # a norm that is 0 on a change of the table has no law
        require(rank(kept + seen) == size, "norm: is 0 on some change that keeps the statistics")
        require(
            self.norm.order != "gauge" or len(cells) == self.dimension,
            "cells: of a gauge as many as the lattice has dimensions",
        )
        if not self.distance:
            self.points = [[int(i == c) for c in cells] for i in range(size + 1)]
            self.length = self.norm.length
            self.certify(self.norm.products)

    def summary(self):
        """What was found, in words."""
        if self.distance:
            return f"every unit of distance spends at most {float_above(self.worst)!r} of its budget, by the weights alone"
        return super().summary()

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        relation = self.relation
        unit, sentence = super().unit() if not self.distance else LATTICE_UNIT, getattr(relation, "sentence", None)
        if self.distance:
            size, public = {"budget_per_unit_of_distance": float(self.least)}, relation.public
            sentence = (
                f"Databases with the same {len(relation.called)} invariant statistics are protected from each other with "
                f"budget "
                f"{float(self.least)!r} for every unit of {self.apart} distance between their histograms (a replaced record: "
                f"{'2' if self.apart == 'l1' else 'root 2'} units)."
            )
        else:
            size, _, public = relation.facts()
        law = "exp(-||z||)" if self.falloff == "exponential" else "exp(-||z||^2 / 2)"
        return {
            "unit": unit, "relation": sentence, "unprotected": public, "notion": LATTICE_NOTIONS[self.falloff],
            "parameters": {"worst_ratio": self.worst, "dimension": self.dimension, **size},
            "mechanism": f"Family {self.family}: integer noise on the kernel of the invariant, P(z) proportional to {law}, "
            f"||z|| {'a polytope gauge' if self.norm.order == 'gauge' else f'an {self.norm.order} norm'} of the table.",
            "sampling": EXACT_BITS, "floating_point": LATTICE_WHOLE, "timing": TIMING, "post_processing": AFTERWARDS,
        }  # fmt: skip

    def certificate(self, said):
        """That of the file against what was recomputed; returns what was not compared."""
        if not self.distance:
            return super().certificate(said)
        claimed = frame(said, self, "exact rationals: the norm is a multiple of the distance, or of a smaller one")
        words = "any change of the table by one unit of distance"
        pair = {"left": 0, "right": 1, "words": words, "difference": [], "budget": float(self.least)}
        require(claimed == self.worst and said["pairs"] == 0, "certificate: another worst ratio or number of pairs")
        require(digest(said["witness"]) == digest(pair), "certificate.witness: is another one")
        return []


class Rows(Lattice):
    """Tables with published margins, noise y whose slices along one margin sum to 0, P(y) proportional to exp(-||y||_1).

    Protected changes keep all margins, so they are among those y, and L1 holds for x + y. What is released is computed from
    x + y and the published margins alone: post-processing. The statistics have to be margins: the classes of each one partition
    the cells, and all combinations of classes have equally many cells."""

    theorem = (
        "P(y) is proportional to exp(-||y||) on integer tables whose slices along one axis sum to 0, which contain every "
        "protected change v, so adding v changes it by at most exp(||v||) <= exp(b); the release is computed from x + y and "
        "the published margins alone."
    )
    families = ("lattice_rows", "custom")

    def __init__(self, core):
        keys(core, "family workload relation norm axis".split(), where="mechanism")
        self.axis = whole(core["axis"], "axis", 0, 10**6)
        whole_core = {key: core[key] for key in ("family", "workload", "relation", "norm")}
        super().__init__({**whole_core, "falloff": "exponential", "cells": None, "chain": None})
        require(self.norm.order == "l1", "norm: rows are drawn for an l1 norm")
        margins, rest = [], [row for row in self.relation.constraints if not all(row)]
        only(all(set(row) == {0, 1} for row in rest), "statistics that are not plainly margins")
        while rest:
            label = [None] * self.relation.size
            while None in label:
                only(
                    rest and all(label[k] is None for k, n in enumerate(rest[0]) if n),
                    "statistics that are not plainly margins",
                )
                own, number_of_it = rest.pop(0), max((n for n in label if n is not None), default=-1) + 1
                label = [number_of_it if n else old for n, old in zip(own, label, strict=True)]
            margins.append(label)
        combined = list(zip(*margins, strict=True))
        cells = [combined.count(one) for one in product(*(range(max(label) + 1) for label in margins))]
        only(len(margins) > 1 and min(cells) == max(cells) > 0, "statistics that are not plainly margins")
        require(self.axis < len(margins), "axis: there are fewer margins")

    def statement(self):
        """As for integer tables, but for how they are made."""
        made = (
            f"Family {self.family}: integer noise z = y - w on a table with published margins, P(y) proportional to "
            f"exp(-||y||) on tables whose slices along margin {self.axis} sum to 0, ||y|| an l1 norm, w an integer table with "
            "the margins of y that depends on them alone."
        )
        return {**super().statement(), "mechanism": made}


LATTICE_UNIT = (
    "All records together: any two databases with the same invariant statistics, at a budget that grows with their distance."
)
LATTICE_THEOREMS = {
    "exponential": "P(z) is proportional to exp(-||z||) on the integer kernel of the invariant, which contains every protected "
    "change v, so adding v changes it by at most exp(||v||) <= exp(b) (triangle inequality; INT Theorem 10 for the norm of the "
    "distance itself).",
    "gaussian": "P(z) is proportional to exp(-||z||^2 / 2) on the integer kernel of the invariant, ||.|| Euclidean, so adding "
    "a kernel vector v has Renyi divergence of every order alpha at most alpha ||v||^2 / 2 <= alpha b^2 / 2 (Poisson "
    "summation; docs/theory/lattice.md).",
}
LATTICE_NOTIONS = {
    "exponential": "Pure: for every protected change with budget b, every set of outputs has probabilities within a factor "
    "exp(b).",
    "gaussian": "Zero-concentrated: for every protected change with budget b, the Renyi divergence of order alpha is at most "
    "alpha b^2 / 2, that is b^2/2-zCDP for the change.",
}
LATTICE_WHOLE = (
    "The released table is the true table plus integer noise, added in integers; it is checked to keep every invariant "
    "statistic before it is released. Answers to queries are computed from that table alone."
)

# ----------------------------------------------------------------------------------------------------------------- 9 selection


class Selection(Pairs):
    """A candidate r is chosen with probability proportional to exp(rate s_r), or by permute-and-flip, s_r a score.

    L7: if the scores move by v, every probability moves by a factor of at most exp(rate (max v - min v)). The answers Q x move
    by u: v = u for linear scores; |v_r| <= |u_r|, of unknown sign, for |Q x - t| and its negative, so that the range is at most
    the sum of the two largest |u_r|; and twice the largest |u_k| for the largest error of several answers."""

    theorem = (
        "When the scores move by v, every probability changes by a factor of at most exp(rate * (max v - min v)) <= exp(b) "
        "(docs/theory/selection.md, 2; DX Theorem 3 with the range of v in place of twice its largest absolute value)."
    )

    def __init__(self, core):
        keys(core, ("score", "relation", "rate", "law"), where="mechanism")
        score = core["score"]
        require(isinstance(score, dict) and type(score.get("kind")) is str, "score.kind: is missing")
        only(score["kind"] in SCORES, f"score.kind: {score['kind']!r} is not one that this program checks")
        several = ("candidates",) if score["kind"] == "largest_error" else ()
        keys(score, ("kind", "workload", "targets", *several), where="score")
        require(core["law"] in SELECTION_LAWS, "law: is unknown")
        self.kind, self.law, self.rate = score["kind"], core["law"], number(core["rate"], "rate", positive=True)
        self.queries, self.elements, rows, _ = workload(score["workload"])
        if several:
            self.candidates = names(score["candidates"], "score.candidates")
            matrix(score["targets"], "score.targets", len(self.candidates), len(self.queries))
        else:
            self.candidates = self.queries
            numbers(score["targets"], "score.targets", count=len(self.queries))
        require(len(self.candidates) >= 2, "score: a choice needs two candidates")
        self.relation = Relation(core["relation"])
        require(self.relation.size == len(self.elements), "relation: speaks of another number of elements")
        only(len(rows) * len(self.elements) <= 10**6, "scores of more than a million entries")
        self.points = [[row.get(i, 0) for row in rows] for i in range(len(self.elements) + 1)]
        if self.relation.changes is not None:
            moved = (c for n in range(len(self.relation.changes)) for c in self.difference(n, len(self.relation.changes)))
            only(all(c == Fraction(float(c)) for c in moved), "scores whose sums over a change are no floats")
        self.certify(len(rows))

    def length(self, u):
        """What the change u of the answers may spend."""
        if self.kind == "linear":
            return self.rate * (max(u) - min(u))
        sizes = sorted(map(abs, u))
        return self.rate * (2 * sizes[-1] if self.kind == "largest_error" else sum(sizes[-2:]))

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        told = self.promise("exponential")
        return {
            **told, "unprotected": [CANDIDATES, *told["unprotected"]],
            "parameters": {**told["parameters"], "rate": float(self.rate)},
            "mechanism": f"{SELECTION_LAWS[self.law]}; {len(self.candidates)} public candidates; the score is "
            f"{SCORES[self.kind]}.",
            "sampling": SELECTION_SAMPLING, "floating_point": SELECTION_NUMBERS, "timing": SELECTION_TIMING,
        }  # fmt: skip


SCORES = {
    "linear": "the answer to the candidate's query less its public target",
    "absolute_error": "the absolute error of the public target as an answer to the candidate's query",
    "closeness": "minus the absolute difference of the answer to the candidate's query and its public target",
    "largest_error": "minus the largest absolute error of the candidate's public answers over all queries",
}
SELECTION_LAWS = {
    "exponential": "Exponential mechanism: P(candidate) proportional to exp(rate * score)",
    "permute_and_flip": "Permute-and-flip: every candidate flips a coin of bias exp(rate * (score - best score)), one of the "
    "heads is chosen uniformly",
}
CANDIDATES = "The candidates and their targets are public and must not have been chosen by looking at the data."
SELECTION_SAMPLING = (
    "Exact: random bits of the operating system are compared with probabilities in exact arithmetic; nothing is truncated."
)
SELECTION_NUMBERS = "Scores are computed in exact integers; only the name of the chosen candidate is released."
SELECTION_TIMING = (
    "The number of random words does not depend on the data, except with a probability below 2^-20; the time of exact sums "
    "and exponentials depends on the size of the scores and is not covered. The guarantee does not cover attackers who can "
    "time single releases precisely."
)

# ----------------------------------------------------------------------------------------------------------------- 10 marginals


class Kinds:
    """What both formats have that are proven for a few kinds of changes, which imply all others by the triangle inequality."""

    arithmetic = "exact rationals for all {count} kinds of changes that imply the others"

    def read_domain(self, core):
        """Attributes and their values, and what happens to records with others."""
        self.attributes, self.values = names(core["attributes"], "attributes"), core["values"]
        require(isinstance(self.values, list) and len(self.values) == len(self.attributes), "values: one list each")
        self.sizes, self.rule = [len(names(own, "values")) for own in self.values], core.get("unlisted", "refuse")
        require("unlisted" not in core or self.rule in ("count as others", "drop"), "unlisted: is unknown")
        named = all("(all others)" in own for own in self.values)
        require(self.rule != "count as others" or named, "unlisted: no value for all others")

    def read_presence(self, spec):
        """The budget of a record that appears."""
        keys(spec, ("kind", "epsilon"), where="protection")
        self.least = self.most = number(spec["epsilon"], "epsilon", positive=True)
        self.sentence, self.public = f"Any one record may appear or disappear, with budget {float(self.least)!r}.", []

    def decide(self, found):
        """The largest load of [(words, budget, load)], a load being the squared length, or the length, over that budget."""
        load = max(share for _, _, share in found)
        require(load <= 1, f"a change spends {float(load)!r} times what it may")
        self.worst = load if self.falloff == "exponential" else min(root_above(load), Fraction(1))
        self.words, self.budget, _ = next(kind for kind in found if kind[2] == load)
        self.count = len(found)

    def summary(self):
        """What was found, in words."""
        return f"the largest ratio over all {self.count} kinds of changes that imply the others is {float_above(self.worst)!r}"

    def parameters(self):
        """Those of the guarantee."""
        return {"smallest_budget": self.least, "largest_finite_budget": self.most, "worst_ratio": self.worst}

    def certificate(self, said):
        """That of the file against what was recomputed; returns what was not compared."""
        claimed = frame(said, self, re.escape(self.arithmetic.format(count=self.count)))
        require(abs(claimed - self.worst) <= NEAR, f"worst_ratio: says {float(claimed)!r}, recomputed {float(self.worst)!r}")
        pair = {"left": 0, "right": 1, "words": self.words, "difference": [], "budget": float(self.budget)}
        require(digest(said["witness"]) == digest(pair), f"certificate.witness: is another one than {self.words}")
        require(said["pairs"] == self.count, f"certificate.pairs: says {said['pairs']}, there are {self.count}")
        return ["certificate.worst_ratio beyond its first 12 digits"] * (claimed != self.worst)


class Marginals(Kinds):
    """Tables over subsets of attributes with n_1, ..., n_d values. The part of the histogram that belongs to a subset A of the
    attributes of some table, its residual, is measured in whole contrasts with variances (squared norm of the contrast) / s_A.

    L8 (docs/theory/marginals.md, 2): the squared length of a change is sum_A s_A |its projection on A|^2, which for a record
    that appears is sum_A s_A prod_{j in A} (n_j - 1) / n_j, and for attribute i of a record, 2 sum over A with i of s_A
    prod_{j in A, j != i} (n_j - 1) / n_j. L3 then bounds divergences, and changes of several attributes are sums of these."""

    theorem = (
        "Integer contrasts of every measured residual get independent discrete Gaussian noise of variance (squared norm of the "
        "contrast) / s_A; a protected change moves them by a lattice vector of squared length sum_A s_A |projection|^2 / b^2 "
        "(docs/theory/marginals.md, 2), so its Renyi divergence of every order alpha is at most alpha b^2 / 2 (Poisson "
        "summation; docs/theory/foundations.md, 1)."
    )

    def __init__(self, core):
        needed = "attributes values subsets weights protection precisions".split()
        keys(core, needed, ("unlisted", "vacuous"), "mechanism")
        only("vacuous" not in core, "tables that are all published exactly")
        self.falloff, protection, subsets = "gaussian", core["protection"], core["subsets"]
        self.read_domain(core)
        sizes, rule = self.sizes, self.rule
        require(isinstance(subsets, list) and subsets and all(isinstance(part, list) for part in subsets), "subsets: no lists")
        for part in subsets:
            places = [whole(i, "subsets", 0, len(sizes) - 1) for i in part]
            require(places == sorted(set(places)), "subsets: positions do not rise")
            only(
                len(part) <= 16 and math.prod(sizes[i] for i in part) <= 2**28,
                "a table of more than 16 attributes or 2^28 cells",
            )
        order = sorted(subsets, key=lambda part: (len(part), part))
        require(subsets == order and len(set(map(tuple, subsets))) == len(subsets), "subsets: are not in order, each once")
        self.tables = len(subsets)
        numbers(core["weights"], "weights", positive=True, count=len(subsets))
        wide = [[i for i in part if sizes[i] > 1] for part in subsets]
        only(sum(2 ** len(part) for part in wide) <= 10**6, "tables of more than a million parts")
        parts = {part for own in wide for size in range(len(own) + 1) for part in combinations(own, size)}
        self.measured = sorted(parts, key=lambda part: (len(part), part))
        strength = numbers(core["precisions"], "precisions", positive=True, infinite=True, count=len(self.measured))
        widest = [math.prod(sizes[i] * (sizes[i] - 1) for i in part) for part in self.measured]
        only(all(s is None or n <= s * 2**75 for n, s in zip(widest, strength, strict=True)), "noise wider than 2^37")
        require(
            isinstance(protection, dict) and protection.get("kind") in ("attributes", "presence"), "protection: unknown kind"
        )
        self.presence = protection["kind"] == "presence"

        def load(places, i):
            """sum_A s_A prod over j in A, j != i."""
            chosen = [(part, s) for part, s in zip(self.measured, strength, strict=True) if i is None or i in part]
            require(all(s is not None for _, s in chosen), f"precisions: infinite where {places}")
            shares = (s * math.prod(Fraction(sizes[j] - 1, sizes[j]) for j in part if j != i) for part, s in chosen)
            return sum(shares, Fraction(0))

        if self.presence:
            self.read_presence(protection)
            found = [("a record appears", self.least, load("a record appears", None))]
        else:
            keys(protection, ("kind", "budgets"), where="protection")
            own = numbers(protection["budgets"], "budgets", positive=True, infinite=True, count=len(sizes))
            require(rule != "drop", "unlisted: drop leaves records out, whose number is public")
            found = []
            for i, (name, b) in enumerate(zip(self.attributes, own, strict=True)):
                if b is not None and any(i in part for part in self.measured):
                    words = f"one record changes in {name!r} alone"
                    found.append((words, b, 2 * load(words, i)))
            texts = [(name, math.inf if b is None else float(b)) for name, b in zip(self.attributes, own, strict=True)]
            self.sentence = (
                "Any one record may change in any of its attributes; the budget is the sum over the changed attributes of: "
            )
            self.sentence += ", ".join(f"{name} {b!r}" for name, b in texts) + "."
            finite = [b for b in own if b is not None]
            require(finite, "no attribute is protected")
            self.least, self.most = min(finite), sum(b for b, n in zip(own, sizes, strict=True) if b is not None and n > 1)
            free = ", ".join(repr(name) for name, b in texts if b == math.inf)
            told = f"Unprotected attributes, with tables over them alone published exactly: {free}."
            self.public = ["The number of records is public."] + [told] * bool(free)
        require(found and any(s is not None for s in strength), "no protected change moves anything that gets noise")
        self.decide([(words, b, square / b**2) for words, b, square in found])

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        return {
            "unit": "The presence of one record." if self.presence else MARGINALS_UNIT, "relation": self.sentence,
            "unprotected": self.public, "notion": NOTIONS["gaussian"],
            "parameters": self.parameters(),
            "mechanism": f"Marginals of {self.tables} subsets of {len(self.attributes)} attributes: independent integer noise "
            f"in the contrasts of {len(self.measured)} residuals, P(z) proportional to exp(-z^2 / (2 variance)); tables are a "
            "fixed linear map of them.",
            "sampling": EXACT_BITS, "floating_point": MARGINALS_NUMBERS, "timing": TIMING, "post_processing": AFTERWARDS,
        }  # fmt: skip


MARGINALS_UNIT = "The attribute values of one record, each with its own budget."
MARGINALS_NUMBERS = (
    "Contrasts before noise and their noise are integers, summed exactly; the noisy integers are part of the release. "
    "Tables are floats computed from those integers alone."
)

# ------------------------------------------------------------------------------------------------------- 11 structured queries


class Structured(Kinds):
    """Blocks M_1 x ... x M_r x, Kronecker products of integer matrices of single attributes applied to the histogram x, each
    with independent noise in all its coordinates: of variance 1 / s (gaussian), or of rate s (laplace), s its strength.

    L9: a record of values (u_1, ..., u_r) is moved to the Kronecker product of the columns M_i e_{u_i}, and |a x b| = |a| |b|
    for l1 and for l2. So a record that appears has length sum over blocks of s prod_i max_u |M_i e_u|, in l2 the squared one;
    and a record whose attribute i alone changes at most sum of s max_{u, v} |M_i (e_u - e_v)| prod_{j != i} max_u |M_j e_u|,
    over the blocks with i, each maximum taken by itself. L1 and L3 bound what that spends; changes of several are sums."""

    arithmetic = Kinds.arithmetic + ", through the factors"

    def __init__(self, core):
        needed = "attributes values terms weights protection noise matrices blocks serves".split()
        keys(core, needed, ("unlisted", "vacuous"), "mechanism")
        only("vacuous" not in core, "answers that are all published exactly")
        require(core["noise"] in STRUCTURED_THEOREMS, "noise: is unknown")
        self.falloff, power = ("gaussian", 2) if core["noise"] == "gaussian" else ("exponential", 1)
        self.theorem = STRUCTURED_THEOREMS[core["noise"]]
        self.read_domain(core)
        terms, serves = core["terms"], core["serves"]
        require(isinstance(terms, list) and terms and isinstance(core["blocks"], list) and core["blocks"], "terms: no list")
        numbers(core["weights"], "weights", positive=True, count=len(terms))
        asked = [self.placed(term, "queries") for term in terms]
        self.used = {i for term in asked for i in term}
        self.answers = sum(math.prod(self.queries(i, spec) for i, spec in term.items()) for term in asked)
        listed = {}
        require(isinstance(core["matrices"], list), "matrices: are no list")
        for entry in core["matrices"]:
            keys(entry, ("axis", "rows"), where="matrices")
            i = whole(entry["axis"], "matrices.axis", max(listed, default=-1) + 1, len(self.sizes) - 1)
            require(isinstance(entry["rows"], list) and entry["rows"], "matrices.rows: are no list")
            listed[i] = [self.columns(rows, self.sizes[i]) for rows in entry["rows"]]
        self.coordinates, self.blocks, blocks = 0, len(core["blocks"]), []
        for block in core["blocks"]:
            made = self.placed(block, "matrices", ("strength",))
            strength = number(block["strength"], "blocks.strength", positive=True)
            require(strength > Fraction(1, 2**110 if power == 2 else 2**55), "blocks: noise is beyond 64 bits")
            for i, n in made.items():
                require(
                    i in listed and whole(n, "blocks", 0, len(listed[i]) - 1) >= 0, "blocks: name a matrix that is not there"
                )
            blocks.append((strength, {i: listed[i][n] for i, n in made.items()}))
            self.coordinates += math.prod(len(listed[i][n][0]) for i, n in made.items())
        if isinstance(serves, list):
            require(
                len(serves) == len(terms) and all(whole(n, "serves", 0, len(blocks) - 1) >= 0 for n in serves), "serves: odd"
            )
        require(serves is None or serves == "together" or isinstance(serves, list), "serves: is unknown")

        def size(column):
            return sum(abs(n) ** power for n in column)

        def apart(columns, i):
            """The largest size of a difference of two columns, over the budget of the pair where pairs have their own."""
            pairs = combinations(range(len(columns)), 2)
            ends = ((size(a - b for a, b in zip(columns[u], columns[v], strict=True)), u, v) for u, v in pairs)
            if self.relation.kind == "hamming":
                return max((moved for moved, _, _ in ends), default=0)
            budget = self.relation.parts[i].budget
            return max((moved / b**power for moved, u, v in ends if (b := budget(u, v)) is not None), default=Fraction(0))

        def load(i):
            """What a record that appears (None), or a change of attribute i, spends."""
            total = Fraction(0)
            for strength, made in blocks:
                if i is None or i in made:
                    others = math.prod(max(map(size, columns)) for j, columns in made.items() if j != i)
                    total += strength * others * (1 if i is None else apart(made[i], i))
            return total

        protection = core["protection"]
        require(isinstance(protection, dict), "protection: is no object")
        self.presence = protection.get("kind") == "presence"
        if self.presence:
            self.read_presence(protection)
            found = [("a record appears", self.least, load(None) / self.least**power)]
        else:
            require(protection.get("kind") in ("hamming", "product"), "protection.kind: is not presence, hamming or product")
            require(self.rule != "drop", "unlisted: drop leaves records out, whose number is public")
            self.relation = Relation(protection, written_out=False)
            same = self.relation.attributes == self.attributes and self.relation.values == self.values
            require(same, "protection: speaks of another domain")
            budgets = self.relation.own if self.relation.kind == "hamming" else [Fraction(1)] * len(self.sizes)
            words = [f"one record changes in {name!r} alone" for name in self.attributes]
            found = [(words[i], budgets[i], load(i) / budgets[i] ** power) for i in sorted(self.used) if budgets[i] is not None]
            self.told()
        require(found, "no protected change moves an answer")
        self.decide(found)

    def placed(self, entry, key, further=()):
        """{attribute: what is listed for it}, of rising positions."""
        keys(entry, ("axes", key, *further), where=key)
        places, listed = entry["axes"], entry[key]
        require(isinstance(places, list) and isinstance(listed, list) and len(places) == len(listed), f"{key}: one for each")
        require([whole(i, "axes", 0, len(self.sizes) - 1) for i in places] == sorted(set(places)), "axes: do not rise")
        return dict(zip(places, listed, strict=True))

    def queries(self, i, spec):
        """How many queries of attribute i these are."""
        n = self.sizes[i]
        require(isinstance(spec, dict), "queries: are no object")
        if spec.get("kind") == "matrix":
            keys(spec, ("kind", "matrix"), where="queries")
            rows = matrix(spec["matrix"], "queries.matrix", columns=n)
            require(any(any(row) for row in rows), "queries.matrix: is 0")
            return len(rows)
        keys(spec, ("kind",), ("width",), "queries")
        counts = {"identity": n, "prefix": n, "ranges": n * (n + 1) // 2}
        require(n > 1 and (spec["kind"] in counts or spec["kind"] == "widths"), "queries.kind: is unknown, or asks for a total")
        require((spec["kind"] == "widths") == ("width" in spec), "queries.width: goes with widths")
        require(n <= 2048, "queries: an attribute has more than 2,048 values")
        return n - whole(spec["width"], "queries.width", 1, n) + 1 if "width" in spec else counts[spec["kind"]]

    def columns(self, rows, count):
        """The columns of an integer matrix."""
        require(
            isinstance(rows, list) and 0 < len(rows) <= 4096 and all(isinstance(row, list) for row in rows), "matrices: rows"
        )
        require(all(len(row) == count for row in rows), "matrices.rows: not one entry for each value")
        only(len(rows) * count**2 <= MOST_WORK // 10, "a matrix of very many values")
        return list(zip(*([whole(n, "matrices.rows", -(2**24), 2**24) for n in row] for row in rows), strict=True))

    def told(self):
        """Sentence, budgets and what is public, where attributes change."""
        self.sentence, self.public = self.relation.sentence, ["The number of records is public."]
        if self.relation.kind == "hamming":
            finite = [b for b in self.relation.own if b is not None]
            self.least = min(finite, default=None)
            self.most = sum(b for b, n in zip(self.relation.own, self.sizes, strict=True) if b is not None and n > 1) or None
            free = [repr(name) for name, b in zip(self.attributes, self.relation.own, strict=True) if b is None]
            told = f"Unprotected attributes, with queries of them alone answered exactly: {', '.join(free)}."
        else:
            budgets = [[b for _, _, b in part.pairs()] for part in self.relation.parts]
            self.least = min((b for own in budgets for b in own), default=None)
            self.most = sum(max(own, default=0) for own in budgets) or None
            named = zip(self.attributes, self.relation.parts, strict=True)
            free = [repr(name) for name, part in named if part.components() > 1]
            told = f"Changes between different connected components of {', '.join(free)} are not protected."
        self.public += [told] * bool(free)

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        law = "exp(-z^2 / (2 variance))" if self.falloff == "gaussian" else "exp(-rate |z|)"
        return {
            "unit": "The presence of one record." if self.presence else "The attribute values of one record.",
            "relation": self.sentence, "unprotected": self.public, "notion": NOTIONS[self.falloff],
            "parameters": self.parameters(),
            "mechanism": f"{self.blocks} Kronecker products of integer matrices over {len(self.used)} attributes: "
            f"independent integer noise in their {self.coordinates} coordinates, P(z) proportional to {law}; the "
            f"{self.answers} answers are fixed linear maps of them.",
            "sampling": EXACT_BITS, "floating_point": STRUCTURED_NUMBERS, "timing": TIMING, "post_processing": AFTERWARDS,
        }  # fmt: skip

    def certificate(self, said):
        """As for all kinds of changes."""
        return [*super().certificate(said), "whether what is measured determines the answers, which is no matter of privacy"]


STRUCTURED_THEOREMS = {
    "gaussian": "Every coordinate of a product of integer matrices gets independent discrete Gaussian noise of variance 1 / s. "
    "A change moves the products by integer vectors whose squared lengths are products of squared column lengths; if the sum "
    "of s times these is at most b^2, the Renyi divergence of every order alpha is at most alpha b^2 / 2 "
    "(docs/theory/structured.md, 2; foundations.md, 1).",
    "laplace": "Every coordinate of a product of integer matrices gets independent discrete Laplace noise of rate r. A change "
    "moves the products by integer vectors whose l1 norms are products of l1 column norms; if the sum of r times these is at "
    "most b, likelihoods differ by a factor of at most exp(b) (docs/theory/structured.md, 2).",
}
STRUCTURED_NUMBERS = (
    "Measured products and their noise are integers, summed exactly; the noisy integers are part of the release. Answers are "
    "floats computed from those integers alone."
)

# --------------------------------------------------------------------------------------------------------------- 12 staircases


class Staircase(Pairs):
    """Noise z of P(z) proportional to exp(-unit h(z)), h whole numbers, in steps of the grid of what is measured.

    L10. Peaks: h(z) is the least, over peaks and over walks from a peak to z by protected differences, of the level of the peak
    plus the costs of the steps, a step u costing the whole units in its budget. A way to z goes on to z + u, so h(z + u) <=
    h(z) + c(u), c(u) the cheapest walk from 0 to u, at most the step u itself: probabilities change by at most exp(unit c(u))
    <= exp(b), and sets of them too, tails included. Stairs, of one number: h(z) = ceil(max(0, |z| - top) / width) grows by at
    most ceil(|u| / width). Costs of walks are found by Dijkstra's search, in whole numbers."""

    theorem = (
        "P(z) is proportional to exp(-unit h(z)) on a coset of the lattice of all protected differences, and h(z + u) <= h(z) "
        "+ c(u) for all z, because every way to z goes on to z + u at the cost c(u); so a shift by u changes P by at most "
        "exp(unit c(u)) <= exp(b), in the tails as well (docs/theory/staircase.md)."
    )
    shape = "exact rationals for all [0-9]+ pairs: whole units of the budgets, the cheapest ways tabulated in integers"

    def __init__(self, core):
        keys(core, "family workload relation noise grid measured reconstruction".split(), where="mechanism")
        require(core["family"] in ("staircase", "custom"), "family: is unknown")
        self.family, (self.queries, self.elements, rows, _) = core["family"], workload(core["workload"])
        self.relation, grid = Relation(core["relation"]), listed(core["grid"], "grid")
        require(self.relation.size == len(self.elements), "relation: speaks of another number of elements")
        steps = [Fraction(2) ** whole(e, "grid", -400, 400) for e in grid]
        if core["measured"] is not None:
            target = matrix(core["measured"], "measured", len(grid), len(self.elements))
            rows = [{k: c for k, c in enumerate(row) if c} for row in target]
        if core["reconstruction"] is not None:
            matrix(core["reconstruction"], "reconstruction", len(self.queries), len(grid))
        require(core["reconstruction"] is not None or len(grid) == len(self.queries), "reconstruction: is missing")
        require(len(rows) == len(grid), "grid: not one step for each number that is measured")
        whole_rows = [{i: round(c / e) for i, c in row.items()} for row, e in zip(rows, steps, strict=True)]
        require(all(abs(n) <= 2**52 for row in whole_rows for n in row.values()), "grid: entries are beyond 2^52 steps")
        self.points = [
            [row.get(i, 0) * e for row, e in zip(whole_rows, steps, strict=True)] for i in range(len(self.elements) + 1)
        ]
        pairs = list(self.relation.pairs())
        only(len(pairs) * len(grid) <= MOST_WORK // 100, "very many pairs")
        differences = [(self.difference(i, j), b) for i, j, b in pairs]
        self.heard = [any(u[k] for u, _ in differences) for k in range(len(grid))]
        require(any(self.heard), "no protected change moves anything that is measured")
        self.steps = [e for e, moved in zip(steps, self.heard, strict=True) if moved]
        least = {}  # the budget of each difference, in steps
        for u, b in differences:
            u = self.in_steps(u)
            if any(u):
                least[u] = least[tuple(-n for n in u)] = min(b, least.get(u, b))
        noise = core["noise"]
        require(isinstance(noise, dict) and noise.get("kind") in ("peaks", "stairs"), "noise.kind: is unknown")
        if noise["kind"] == "stairs":
            self._stairs(noise)
        else:
            given = zip(whole_rows, rows, steps, strict=True)
            require(all(row[i] * e == c for row, own, e in given for i, c in own.items()), "grid: does not hold the answers")
            self._peaks(noise, least)
        self.certify(1)

    def in_steps(self, u):
        """What moves, in whole steps."""
        moved = (c for c, heard in zip(u, self.heard, strict=True) if heard)
        return tuple(int(c / e) for c, e in zip(moved, self.steps, strict=True))

    def length(self, u):
        """What the cheapest walk to u costs."""
        return self.unit_cost * self.cost(self.in_steps(u))

    def _stairs(self, noise):
        keys(noise, ("kind", "unit", "width", "top"), where="noise")
        self.unit_cost = ratio(noise["unit"], "noise.unit")
        require(Fraction(1, 2**16) <= self.unit_cost <= 2**10, "noise.unit: is not from 2^-16 to 2^10")
        width, top = whole(noise["width"], "noise.width", 1, 2**50), whole(noise["top"], "noise.top", 0, 2**50)
        require(len(self.steps) == 1, "noise: stairs are for one number")
        self.cost = lambda u: -(-abs(u[0]) // width)
        self.law = (
            f"P(z) proportional to exp(-{float(self.unit_cost)!r} k), k = 0 for |z| <= {top} steps and ceil((|z| - {top}) / "
            f"{width}) beyond"
        )

    def _peaks(self, noise, least):
        keys(noise, ("kind", "unit", "basis", "halves", "peaks", "levels"), where="noise")
        self.unit_cost, size = ratio(noise["unit"], "noise.unit"), len(self.steps)
        require(0 < self.unit_cost <= 2**10, "noise.unit: is not from 0 to 2^10")
        basis, halves, peaks = ([noise[key]] if key == "halves" else noise[key] for key in ("basis", "halves", "peaks"))
        require(isinstance(basis, list) and len(basis) == size <= 4, "noise.basis: not one row for each number that moves")
        for rows, most in ((basis, 2**45), (halves, 1), (peaks, 10**6)):
            fits = isinstance(rows, list) and rows and all(isinstance(row, list) and len(row) == size for row in rows)
            require(
                fits and all(whole(n, "noise", -most, most) <= most for row in rows for n in row), "noise: not whole numbers"
            )
        (halves,), levels = halves, noise["levels"]
        require(all(n >= 0 for n in halves), "noise.halves: are not 0 or 1")
        require(not any(n % 2 for half, row in zip(halves, basis, strict=True) for n in row if half), "noise.basis: odd")
        require(all((n - half) % 2 == 0 for peak in peaks for n, half in zip(peak, halves, strict=True)), "noise.peaks: coset")
        require(isinstance(levels, list) and len(levels) == len(peaks), "noise.levels: not one for each peak")
        known = {tuple(peak): whole(level, "noise.levels", 0, 2**44) for peak, level in zip(peaks, levels, strict=True)}
        require(
            peaks == sorted(peaks) and len(known) == len(peaks) and min(levels) == 0, "noise.peaks: not in order, each once"
        )
        require(all(known.get(tuple(-n for n in peak)) == level for peak, level in known.items()), "noise.peaks: no opposite")
        # Everything from here on is in the coordinates of the basis, doubled.
        inverse, paid = inverse_of(basis), {}
        for u, b in least.items():
            places = [sum(n * row[k] for n, row in zip(u, inverse, strict=True)) for k in range(size)]
            require(all(c.denominator == 1 for c in places), "noise.basis: a protected difference is no whole sum of its rows")
            require(all(abs(c) <= 10**6 for c in places), "noise.basis: a difference has coordinates beyond 10^6")
            paid[tuple(2 * int(c) for c in places)] = b // self.unit_cost
        require(all(1 <= cost <= 2**44 for cost in paid.values()), "noise.unit: does not go into every budget 1 to 2^44 times")
        require(len(paid) <= 800, "noise: more than 800 protected differences")
        require(
            generates([[n // 2 for n in u] for u in paid], size), "noise.basis: the differences generate less than its lattice"
        )
        walked = walks({(0,) * size: 0}, paid, set(paid), {})
        self.cost = lambda u: walked[
            tuple(2 * int(sum(n * row[k] for n, row in zip(u, inverse, strict=True))) for k in range(size))
        ]
        walks(known, paid, set(known), known)
        self.law = (
            f"P(z) proportional to exp(-{float(self.unit_cost)!r} h(z)) on a lattice of {size} dimensions, h(z) the least of "
            f"the level of one of {len(peaks)} peaks and the budgets, in whole units, of protected differences that lead from "
            "it to z"
        )

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        return {
            **self.promise("exponential"), "mechanism": f"Family {self.family}: integer noise on a grid, {self.law}.",
            "sampling": EXACT_BITS, "floating_point": FLOATS, "timing": TIMING,
        }  # fmt: skip

    def certificate(self, said):
        """As for all pairs; the sentence names their number once more."""
        named = f"exact rationals for all {said.get('pairs')} pairs:"
        require(str(said.get("arithmetic")).startswith(named), "certificate.arithmetic: names another number of pairs")
        return [*super().certificate(said), "whether a table of the law fits into memory, which is no matter of privacy"]


def walks(started, paid, wanted, lowest):
    """The least cost to reach each wanted place from one of `started` {place: cost} by steps {u: cost}. A place of `lowest`
    that steps reach at its own cost or less is refused."""
    reached, waiting, left = {}, [(cost, place) for place, cost in started.items()], set(wanted)
    waiting.sort()
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


def inverse_of(rows):
    """The inverse of a square matrix of whole numbers, in fractions."""
    size = len(rows)
    table = [[*map(Fraction, row), *(Fraction(int(i == k)) for k in range(size))] for i, row in enumerate(rows)]
    for k in range(size):
        at = next((i for i in range(k, size) if table[i][k]), None)
        require(at is not None, "noise.basis: its rows are dependent")
        table[k], table[at] = table[at], table[k]
        table[k] = [c / table[k][k] for c in table[k]]
        for i in range(size):
            if i != k:
                table[i] = [a - table[i][k] * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[size:] for row in table]


def generates(vectors, size):
    """Whether whole vectors generate all of Z^size: Euclid's algorithm column by column leaves 1 on the diagonal."""
    rows = [list(v) for v in vectors]
    for k in range(size):
        while sum(1 for row in rows if row[k]) > 1:
            pivot = min((row for row in rows if row[k]), key=lambda row: abs(row[k]))
            rows = [
                row if row is pivot else [a - row[k] // pivot[k] * b for a, b in zip(row, pivot, strict=True)] for row in rows
            ]
        pivots = [row for row in rows if row[k]]
        if not pivots or abs(pivots[0][k]) != 1:
            return False
        rows = [row for row in rows if not row[k]]
    return True


# ----------------------------------------------------------------------------------------------------------- 13 synthetic data


class Synthetic(Pairs):
    """A public histogram of n records, computed from noisy answers of stand-in queries P, whole numbers of one step.

    L11: |P_k e_i - P_k e_j| <= d(i, j) / w_k for every pair is what is proven. Then a choice by scores |P_k x - public number|
    with rate s w / 2, w the least w_k, spends at most s d, because each score moves by at most d / w, up or down (L7); a
    measurement of row k with discrete Laplace noise of rate s w_k spends s d (L1); and what rounds spend adds up, whatever the
    rounds before led to. A mechanism of shares s in all spends (sum of the shares) times the worst ratio of P."""

    theorem = (
        "Every row of P moves by at most c_k d(i, j) when one record changes from i to j (the condition of DX Theorems 5 and "
        "7, P = c Q'). A score |P_k x - public number| moves by no more, so a choice with rate s / (2 c), c = max c_k, costs s "
        "d(i, j), a discrete Laplace measurement of row k with rate s / c_k costs s d(i, j), and costs add up "
        "(docs/theory/synthetic.md, 2)."
    )

    def __init__(self, core):
        self.law, records = core["selection"], whole(core["records"], "records", 1, 2**53 - 1)
        require(self.law in SELECTION_LAWS and records, "selection: is unknown")
        spec = core["queries"]
        keys(spec, "workload relation integers exponent weights".split(), where="queries")
        self.queries, self.elements, _, _ = workload(spec["workload"])
        self.relation, self.step = Relation(spec["relation"]), Fraction(2) ** whole(spec["exponent"], "exponent", -400, 400)
        metric = self.relation.changes is None and not self.relation.absent and not self.relation.alone
        require(metric and self.relation.size == len(self.elements), "relation: is no metric on these elements")
        rows = self.integers = spec["integers"]
        require(isinstance(rows, list) and len(rows) == len(self.queries), "queries.integers: not one row for each query")
        for row in rows:
            require(isinstance(row, list) and len(row) == len(self.elements), "queries.integers: not one for each element")
            require(
                all(whole(n, "queries.integers", -(2**52), 2**52) <= 2**52 for n in row), "queries.integers: no whole numbers"
            )
        self.weights = numbers(spec["weights"], "queries.weights", positive=True, infinite=True, count=len(rows))
        require(any(w is not None for w in self.weights), "no protected change moves an answer")
        self.points = [[row[i] * self.step for row in rows] for i in range(len(self.elements))]
        self.rate, self.spent = min(w for w in self.weights if w is not None), Fraction(1)

    def length(self, u):
        """The largest move of a row, over its constant, times what all rounds spend."""
        if any(c and w is None for c, w in zip(u, self.weights, strict=True)):
            return None
        return self.spent * max(abs(c) * w for c, w in zip(u, self.weights, strict=True) if c)

    def prove(self):
        """Every pair; the queries have to keep their constants by themselves, however little the rounds spend."""
        self.certify(len(self.weights))
        require(self.worst <= self.spent, "queries.weights: a row moves by more than its constant allows")

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        return {
            **self.promise("exponential"), "mechanism": self.words_of_it, "sampling": EXACT_BITS,
            "unit": f"The value of one record, as the relation states; {BUDGETS_ADD}",
            "floating_point": SYNTHETIC_NUMBERS, "timing": SYNTHETIC_TIMING,
        }  # fmt: skip


class MultiplicativeWeights(Synthetic):
    """MWEM: rounds of a choice and a measurement, with a share of the budget for each."""

    def __init__(self, core):
        keys(core, "queries records shares selection output".split(), where="mechanism")
        super().__init__(core)
        require(core["output"] in OUTPUTS, "output: is unknown")
        shares = core["shares"]
        require(isinstance(shares, list) and 1 <= len(shares) <= 10_000, "shares: are not one pair for each round")
        require(all(isinstance(pair, list) and len(pair) == 2 for pair in shares), "shares: are no pairs")
        pairs = [tuple(ratio(part, "shares") for part in pair) for pair in shares]
        require(all(part > 0 for pair in pairs for part in pair), "shares: one is not positive")
        require(min(b for _, b in pairs) * self.rate * self.step >= Fraction(1, 2**55), "shares: noise is beyond 64 bits")
        self.spent = sum((a + b for a, b in pairs), Fraction(0))
        require(self.spent <= 1, f"shares: add up to {float(self.spent)!r}")
        self.prove()
        self.words_of_it = (
            f"MWEM, {len(pairs)} rounds: each chooses one of {len(self.weights)} queries by the {self.law} law of its error, "
            f"and measures it with discrete Laplace noise; the synthetic histogram is {OUTPUTS[core['output']]}. Shares of the "
            f"budget (choice, measurement): {'; '.join(f'{a}, {b}' for a, b in dict.fromkeys(pairs))}. Largest Lipschitz "
            f"constant c = {1 / float(self.rate)!r}."
        )


class SmallDatabase(Synthetic):
    """One of all histograms of m records is chosen by its largest error."""

    def __init__(self, core):
        keys(core, "queries records size selection".split(), where="mechanism")
        super().__init__(core)
        size, sums, work = whole(core["size"], "size", 1), {(0,) * len(self.weights)}, 0
        columns = set(zip(*self.integers, strict=True))
        for _ in range(size):
            work += 1000 + len(sums) * len(columns)
            only(work <= 10**6, "a choice among very many histograms")
            sums = {tuple(a + b for a, b in zip(one, column, strict=True)) for one in sums for column in columns}
        only(len(sums) <= 50_000, "a choice among more than 50,000 vectors of answers")
        self.prove()
        self.words_of_it = (
            f"SmallDB: one of {len(sums)} distinct answer vectors of histograms of {size} records, by the {self.law} law "
            f"of its largest error; the histogram is scaled to all records. Lipschitz constant c = {1 / float(self.rate)!r}."
        )


OUTPUTS = {
    "average": "the mean of the histograms before each round (DX Theorem 8)",
    "last": "the histogram after the last round",
    "replay": "the histogram after the last round and 30 passes through all measurements",
}
SYNTHETIC_NUMBERS = (
    "Scores and measurements are exact integers in steps of a grid fixed at design time, probabilities exact. The synthetic "
    "histogram and its answers are floats computed from released choices, released measurements and public numbers only."
)
SYNTHETIC_TIMING = (
    "The time of a choice or of a draw may depend on the data and the noise and is not covered. The guarantee does not cover "
    "attackers who can time single releases precisely."
)

# ------------------------------------------------------------------------------------------------------ 14 tests of odds ratios


class OddsRatio:
    """The count x11 of a table of two by two with public margins, plus noise N of a continuous law F, rounded down to a grid.

    Tables with these margins differ by multiples k of (1, -1, -1, 1), so by 4 |k| counts: of at most 3 records that differ,
    |k| <= 1. f is a tradeoff function: f(a) bounds the least type II error of tests of type I error a from below.
    L12 (Awan and Vadhan 2023, Theorem 3.9; docs/theory/tradeoff.md, 7): for each symmetric f but 1 - a there is a law F with
    F(x) = f(1 - F(x + 1)) and F(-x) = 1 - F(x), linear within half a unit of 0 where no closed form is used, and shifts by at
    most 1 keep f. Closed forms: for (epsilon, delta) a discrete Laplace and a uniform number, cut where delta > 0; normal for
    G_mu. The file chooses f, which is checked to be symmetric, convex, and not trivial; rounding is post-processing."""

    worst = Fraction(1)
    theorem = "Cho and Awan, Theorem 37; Awan and Vadhan 2023, Theorem 3.9; docs/theory/tradeoff.md, section 7"

    def __init__(self, core):
        keys(core, "rows columns tradeoff adjacency noise exponent".split(), where="mechanism")
        for key in ("rows", "columns"):
            require(isinstance(core[key], list) and len(core[key]) == 2, f"{key}: are not two whole numbers")
            require(all(whole(n, key, 0, 100_000) >= 0 for n in core[key]), f"{key}: are no whole numbers")
        self.rows, self.columns = tuple(core["rows"]), tuple(core["columns"])
        require(sum(self.rows) == sum(self.columns) <= 100_000, "columns: add up to something else than rows")
        tables = min(self.rows[0], self.columns[0]) - max(0, self.columns[0] - self.rows[1]) + 1
        require(tables >= 2, "margins: leave a single table")
        self.adjacency = whole(core["adjacency"], "adjacency", 2, 3)
        self.exponent = whole(core["exponent"], "exponent", 1, 64)
        require(core["noise"] in ("closed_form", "piecewise"), "noise: is unknown")
        spec = core["tradeoff"]
        require(isinstance(spec, dict), "tradeoff: is no object")
        only(spec.get("kind") in TRADEOFFS, f"a tradeoff function of kind {spec.get('kind')!r}")
        keys(spec, ("kind", *TRADEOFFS[spec["kind"]].split()), where="tradeoff")
        closed, least = None, Fraction(1)
        if spec["kind"] == "epsilon_delta":
            epsilon, delta = self._pure(spec)
            self.fixed, closed = (1 - delta) / (1 + middle(exp(epsilon))), "Tulap" if epsilon else None
            least = epsilon if closed else least
            self.words = f"f_(epsilon, delta) with epsilon = {float(epsilon)!r}, delta = {float(delta)!r}"
        elif spec["kind"] == "gaussian":
            square = ratio(spec["mu_squared"], "tradeoff.mu_squared")
            require(square > 0, "tradeoff: allows no loss at all")
            only(Fraction(1, 2**80) <= square <= 500, "a normal tradeoff function of mu beyond 2^-40 to 22")
            self.fixed, closed = middle(normal(-root_below(square) / 2)), "GaussianNoise"
            self.words = f"G_mu with mu = {math.sqrt(float(square))!r}"
        elif spec["kind"] == "laplace":
            epsilon = ratio(spec["epsilon"], "tradeoff.epsilon")
            require(epsilon > 0, "tradeoff: allows no loss at all")
            only(epsilon <= 500, "a loss above 500")
            self.fixed = 1 / (2 * middle(exp(epsilon / 2)))
            self.words = f"the tradeoff function of Laplace noise with epsilon = {float(epsilon)!r}"
        elif spec["kind"] == "group":
            require(
                isinstance(spec["base"], dict) and spec["base"].get("kind") == "epsilon_delta", "tradeoff.base: another kind"
            )
            keys(spec["base"], ("kind", "epsilon", "delta"), where="tradeoff.base")
            epsilon, delta = self._pure(spec["base"])
            size = whole(spec["size"], "tradeoff.size", 2, 100 if delta else 4096)
            steep = middle(exp(epsilon))
            x = (1 - delta) / (1 + steep) if size % 2 else Fraction(1, 2)
            for _ in range(size // 2):
                x = Fraction(round(max(0, 1 - delta - steep * (1 - x), (x - delta) / steep) * ONE), ONE)
            self.fixed = x
            self.words = f"{size} times composed f_(epsilon, delta) with epsilon = {float(epsilon)!r}, delta = {float(delta)!r}"
        else:
            self._corners(spec)
        self.noise = closed if closed and core["noise"] == "closed_form" else "PiecewiseNoise"
        require(float(self.fixed) > 0, "tradeoff: protects nobody")
        if self.noise != "Tulap":
            least = Fraction(1)
        allowed = Fraction(1, 2 ** (9 if self.noise == "PiecewiseNoise" else 40))
        require(min(1 - 2 * self.fixed, least) >= allowed, "tradeoff: the noise would be too wide to draw")

    def _pure(self, spec):
        epsilon, delta = (ratio(spec[key], f"tradeoff.{key}") for key in ("epsilon", "delta"))
        require(delta <= 1 and (epsilon or delta), "tradeoff: delta is above 1, or no loss at all is allowed")
        only(epsilon <= 500, "a loss above 500")
        return epsilon, delta

    def _corners(self, spec):
        """A convex, falling function through corners that is its own inverse; c with f(c) = c."""
        require(all(isinstance(spec[key], list) for key in ("alphas", "betas")), "tradeoff: are no lists")
        alphas, betas = ([ratio(text, key) for text in spec[key]] for key in ("alphas", "betas"))
        require(len(alphas) == len(betas) >= 2 and alphas[0] == 0 and alphas[-1] == 1 and betas[-1] == 0, "tradeoff: its ends")
        points = list(zip(alphas, betas, strict=True))
        slopes = [(b - d) / (c - a) if c > a else None for (a, b), (c, d) in pairwise(points)]
        require(None not in slopes and all(steep > flat for steep, flat in pairwise(slopes)), "tradeoff: is not convex")
        require(slopes[-1] >= 0 and betas[0] <= 1 and len(points) > 2 - (betas[0] < 1), "tradeoff: is not below 1 - alpha")
        mirrored = {}
        for b, a in [*((b, a) for a, b in points), *([(Fraction(1), Fraction(0))] if betas[0] < 1 else [])]:
            mirrored[b] = min(a, mirrored.get(b, a))
        require(sorted(mirrored.items()) == points, "tradeoff: is not symmetric")
        (a, b), (c, d) = next(ends for ends in pairwise(points) if ends[1][1] <= ends[1][0])
        steep = (b - d) / (c - a)
        self.fixed, self.words = (
            (b + steep * a) / (1 + steep),
            f"a piecewise linear tradeoff function with {len(points)} corners",
        )

    def summary(self):
        """What was found, in words."""
        return f"tables differ by one move, and {self.words} is symmetric, so that {self.noise} noise keeps it"

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        margins = f"row sums {self.rows} and column sums {self.columns}"
        return {
            "unit": f"The values of up to {self.adjacency} records, changed so that all margins stay.",
            "relation": f"Databases with {margins} of which at most {self.adjacency} records differ: x11 changes by at most 1. "
            "Databases with other margins are not protected from each other.",
            "unprotected": [f"R{margins[1:]} are public and exact."],
            "notion": "f-private given the margins: telling two such databases apart is at least as hard as "
            f"{self.words} says.",
            "parameters": {"adjacency": self.adjacency, "least_alpha_plus_beta": 2 * self.fixed},
            "mechanism": f"x11 + N with N canonical for the tradeoff function ({self.noise}); p-values and limits follow "
            "from it.",
            "sampling": "Exact: random bits of the operating system, drawn until ball arithmetic proves between which grid "
            "points the noise lies.",
            "floating_point": f"The statistic is an integer multiple of 2^-{self.exponent}, the exact real statistic "
            "rounded down.",
            "timing": "The number of random bits and of search steps depends on the noise; the time of a release is not "
            "covered.",
            "post_processing": "Anything computed from a release alone keeps the guarantee. Several releases about the same "
            "records keep the tensor product of their tradeoff functions, change by change.",
        }

    def certificate(self, said):
        """That of the file; returns what was not compared."""
        arithmetic = (
            "the sensitivity in integers; F(x) = f(F(x + 1)) and symmetry of the noise in balls of 128 bits at 40 points"
        )
        claimed = frame(said, self, re.escape(arithmetic))
        words = "one basic move: (x11, x12, x21, x22) changes by (1, -1, -1, 1)"
        pair = {"left": 0, "right": 1, "words": words, "difference": [1.0], "budget": 1.0}
        require(claimed == 1 and said["pairs"] == 2 and digest(said["witness"]) == digest(pair), "certificate: is another one")
        return ["the law of the noise at single points: that it keeps f is lemma L12"]


TRADEOFFS = {
    "epsilon_delta": "epsilon delta", "gaussian": "mu_squared", "laplace": "epsilon", "piecewise_linear": "alphas betas",
    "group": "base size",
}  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- 15 table plans


class TablePlan:
    """Counts, sums, averages and quantiles of the groups of one table, each with its noise, and groups that are found.

    L13 (docs/theory/tables.md, 1 to 4): a record r is in at most one group of a query and moves its whole number by at most its
    amount, so Gaussian noise of variance v costs it amount^2 / (2 v) in zCDP (L3: alpha u^2 / (2 v)). A quantile is a choice by
    the exponential mechanism; one that is e-private in the sense of L7 costs e^2 / 8. Finding groups by their noisy numbers of
    split rows c(r) costs c(r)^2 / (2 v), and with probability delta a group appears because of r alone. Costs add up to P(r).
    A record of m rows, split at thresholds T, has amounts of at most m T: it costs at most (what every record costs) plus m^2
    times the sum over queries of max T^2 / (2 v), the maximum over what one record may have together."""

    worst = Fraction(1)

    def __init__(self, core):
        keys(core, "levels queries splitting rho".split(), ("constant", "unlisted"), "mechanism")
        rule = core.get("unlisted", "refuse")
        require("unlisted" not in core or rule in ("count as others", "drop"), "unlisted: is unknown")
        self.measures = {}
        self.levels = [self.level(spec, rule) for spec in self.listed(core["levels"], "levels")]
        require(len({digest(spec) for spec in core["levels"]}) == len(self.levels), "levels: one twice")
        self.splitting = None if core["splitting"] is None else self.split(core["splitting"])
        self.terms, self.flat, self.rate, self.names = [], Fraction(0), Fraction(0), []
        self.sums, self.counts, self.constants = {}, [], []
        queries, places = self.listed(core["queries"], "queries"), []
        require(len(queries) <= 1000, "queries: more than 1000")
        for spec in queries:
            require(isinstance(spec, dict) and type(spec.get("kind")) is str, "queries: one is no object with a kind")
            only(spec["kind"] in ASKED, f"queries of kind {spec['kind']!r}")
            keys(spec, ("kind", "name", "groups", "where", *ASKED[spec["kind"]].split()), where="queries")
            places.append(whole(spec["groups"], "queries.groups", 0, len(self.levels) - 1))
            self.terms.append(self.query(spec, self.levels[places[-1]]))
        require(list(dict.fromkeys(places)) == list(range(len(self.levels))), "levels: not in the order of their queries")
        require(len(set(self.names)) == len(self.names), "queries: two have one name")
        self.queries, self.found = len(queries), [level for level in self.levels if level["selection"]]
        self.deltas = [self.selection(level["selection"]) for level in self.found]
        self._rho(core)

    def listed(self, value, where):
        """A list, not empty."""
        require(isinstance(value, list) and value, f"{where}: are no list")
        return value

    def text(self, value, where):
        """A name that sentences quote."""
        require(type(value) is str, f"{where}: is no text")
        return names([value], where)[0]

    def column(self, spec):
        """A key column, by its name with the length of its prefix."""
        keys(spec, ("column", "prefix"), where="columns")
        prefix = spec["prefix"] is not None and whole(spec["prefix"], "columns.prefix", 1)
        name = self.text(spec["column"], "columns")
        only("[:" not in name, "a column whose name looks like a prefix")
        return name + (f"[:{prefix}]" if prefix else "")

    def level(self, spec, rule):
        """Groups: their key columns, and the listed keys or how groups are found."""
        keys(spec, ("columns", "keys", "selection"), where="levels")
        require(isinstance(spec["columns"], list), "levels.columns: are no list")
        columns, rows = [self.column(one) for one in spec["columns"]], spec["keys"]
        require((rows is None) != (spec["selection"] is None), "levels: either keys or a selection")
        only(columns or rows is not None, "a selection among one group")
        by = " x ".join(columns) or "everybody"
        if rows is None:
            require(rule != "count as others", "unlisted: a selection lists no groups")
            return {"columns": columns, "keys": None, "selection": spec["selection"], "words": f"{by}, groups found privately"}
        shaped = all(isinstance(row, list) and len(row) == len(columns) for row in self.listed(rows, "levels.keys"))
        require(shaped and all(type(label) is str for row in rows for label in row), "levels.keys: are no labels")
        keyed, width = {tuple(row) for row in rows}, len(columns)
        require(len(keyed) == len(rows), "levels.keys: one twice")
        require(not any(a == OTHERS != b for row in rows for a, b in pairwise(row)), "levels.keys: a label below all others")
        stems = {row[:n] for row in keyed for n in range(width) if OTHERS not in row[:n]} if width else set()
        complete = all((*stem, *[OTHERS] * (width - len(stem))) in keyed for stem in stems)
        require(rule != "count as others" or complete, "unlisted: a level has no group for all others")
        others = ", all others among them" if any(OTHERS in row for row in rows) else ""
        words = f"{by}, {len(rows)} public groups{others}" if columns else by
        return {"columns": columns, "keys": rows, "selection": None, "words": words}

    def where(self, conditions, level):
        """Groups and conditions in words."""
        require(isinstance(conditions, list), "where: is no list")
        said = []
        for spec in conditions:
            keys(spec, ("column", "op", "value"), where="where")
            column, op, value = self.text(spec["column"], "where.column"), spec["op"], spec["value"]
            values = value if isinstance(value, list) else [value]
            kinds = {type(one) for one in values}
            fits = {"present": value is None, "in": isinstance(value, list) and len(kinds) == 1 and kinds <= {str, int}}
            orders = kinds == {int} or (kinds == {str} and op in ("==", "!="))
            only(op == "in" or not isinstance(value, list), "a condition with several values")
            require(op in ("present", "in", "==", "!=", "<", "<=", ">", ">=") and fits.get(op, orders), "where: no condition")
            require(all(type(one) is not int or abs(one) < 2**53 for one in values), "where: a number beyond 2^53")
            only(all(type(one) is not str or not one or self.text(one, "where") for one in values), "where: an unusual text")
            told = tuple(value) if isinstance(value, list) else value
            said.append(f"{column} is present" if op == "present" else f"{column} {op} {told!r}")
        return f"by {level['words']}" + (f" where {' and '.join(said)}" if said else "")

    def measure(self, spec):
        """A column, clipped and rounded to whole steps; (column, step, words)."""
        keys(spec, ("column", "step", "lower", "upper"), where="measure")
        column, step = self.text(spec["column"], "measure.column"), ratio(spec["step"], "measure.step")
        require(step > 0 and max(step.numerator, step.denominator) <= 2**52, "measure.step: is not moderate")
        lower, upper = (ratio(spec[key], f"measure.{key}", signed=True) for key in ("lower", "upper"))
        require(lower <= 0 <= upper and lower < upper, "measure: bounds do not enclose 0")
        require(max(-lower, upper) / step <= 2**52 - 1, "measure: bounds are beyond 2^52 steps")
        made = column, step, f"{column} (steps of {step}, clipped to [{lower}, {upper}])"
        require(self.measures.setdefault(column, made) == made, "measures: a column is clipped or rounded in two ways")
        return made

    def variance(self, spec, level, step=Fraction(1)):
        """({label or None: variance}, the column that labels go by, words); labels are places where keys have their own."""
        if isinstance(spec, dict):
            keys(spec, ("by", "own", "other"), where="variance")
            by = self.column(spec["by"])
            require(by in level["columns"] and isinstance(spec["own"], dict) and spec["own"], "variance: by no key column")
            found = {None: ratio(spec["other"], "variance"), **{k: ratio(v, "variance") for k, v in spec["own"].items()}}
        elif isinstance(spec, list):
            require(level["keys"] is not None and len(spec) == len(level["keys"]), "variance: not one for each key")
            by, found = "group", {place: ratio(v, "variance") for place, v in enumerate(spec)}
        else:
            by, found = None, {None: ratio(spec, "variance")}
        least, most = min(found.values()), max(found.values())
        require(least > 0 and most <= 2**110 * step**2, "variance: is not from above 0 to 2^110 squared steps")
        return found, by, f"{least} .. {most} by {by}" if by else f"{least}"

    def split(self, spec):
        """Thresholds of measures, some for single labels: {label or None: {column: threshold}}, by which column, words."""
        keys(spec, ("measures", "thresholds", "by", "own"), where="splitting")
        measures = [self.measure(one) for one in self.listed(spec["measures"], "splitting.measures")]
        require(len({column for column, _, _ in measures}) == len(measures), "splitting.measures: one twice")
        require(isinstance(spec["own"], dict) and bool(spec["own"]) == (spec["by"] is not None), "splitting: by and own")

        def thresholds(given):
            require(isinstance(given, list) and len(given) == len(measures), "splitting.thresholds: one for each measure")
            made = {column: ratio(T, "splitting.thresholds") for (column, _, _), T in zip(measures, given, strict=True)}
            require(
                all(0 < made[c] / step < 2**52 and (made[c] / step).denominator == 1 for c, step, _ in measures), "thresholds"
            )
            return made

        by = None if spec["by"] is None else self.column(spec["by"])
        found = {None: thresholds(spec["thresholds"]), **{k: thresholds(v) for k, v in sorted(spec["own"].items())}}
        words = ", ".join(f"{column} {T}" for column, T in found[None].items()) + (f", others by {by}" if by else "")
        return found, by, words

    def query(self, spec, level):
        """The sentence of a query; what it costs goes to the sums of all."""
        name, kind = spec["name"], spec["kind"]
        require(type(name) is str and 0 < len(self.text(name, "queries.name")) <= 200, "queries.name: is no name")
        if kind == "average":
            with_value, present = spec["where"], {"column": spec["measure"].get("column"), "op": "present", "value": None}
            with_value = with_value if present in with_value else [*with_value, present]
            total = {**spec, "kind": "sum", "name": f"{name}.sum"}
            count = {**spec, "kind": "count", "name": f"{name}.count", "where": with_value, "variance": spec["count_variance"]}
            said = f"{name}: AVG as {self.query(total, level)} over {self.query(count, level)}"
            self.names.append(name)
            return said
        self.names.append(name)
        words = self.where(spec["where"], level)
        if kind == "quantile":
            return self.quantile(spec, level, words)
        if kind == "sum":
            column, step, measured = self.measure(spec["measure"])
            variances, by, said = self.variance(spec["variance"], level, step)
            self.sums[column] = self.sums.get(column, Fraction(0)) + 1 / min(variances.values())
            if self.splitting:
                require(column in self.splitting[0][None], f"splitting: has no threshold for {column!r}")
                self.rate += max(T**2 / (2 * v) for T, v in self.together(column, variances, by, level))
            return f"{name}: SUM {measured} {words}, loss {column}^2 / (2 * {said})"
        variances, _, said = self.variance(spec["variance"], level)
        self.counts.append(min(variances.values()))
        self.flat += 1 / (2 * min(variances.values()))
        asked = "COUNT" if kind == "count" else f"COUNT DISTINCT {self.text(spec['of'], 'queries.of')}"
        return f"{name}: {asked} {words}, loss 1 / (2 * {said})"

    def together(self, column, variances, by, level):
        """All pairs of a threshold and a variance that one record may have: where labels of the groups tell both, by label."""
        thresholds, split_by, _ = self.splitting
        others = any(OTHERS in row for row in level["keys"] or ())
        if 0 in variances and split_by in level["columns"]:  # one variance for each key
            place = level["columns"].index(split_by)
            for n, v in variances.items():
                label = level["keys"][n][place]
                known = thresholds.values() if label == OTHERS else [thresholds.get(label, thresholds[None])]
                yield from ((own[column], v) for own in known)
        elif 0 not in variances and by == split_by and by is not None and not others:
            for label in {*thresholds, *variances}:
                yield thresholds.get(label, thresholds[None])[column], variances.get(label, variances[None])
        else:
            yield from ((own[column], v) for own in thresholds.values() for v in variances.values())

    def quantile(self, spec, level, words):
        """A choice by -|(1 - q) #{x <= g} - q #{x > g}|: a record that appears moves scores by the two largest of its column,
        entries 1 - q and -q, at most (L7)."""
        (_, step, measured), q = self.measure(spec["measure"]), spec["q"]
        require(level["keys"] is not None, "queries: a quantile needs public groups")
        require(type(q) is float and 0 < q < 1, "queries.q: is no number between 0 and 1")
        candidates = [ratio(g, "candidates", signed=True) / step for g in self.listed(spec["candidates"], "candidates")]
        require(2 <= len(candidates) <= 256 and all(a < b for a, b in pairwise(candidates)), "candidates: do not rise")
        require(all(g.denominator == 1 and abs(g) <= 2**52 for g in candidates), "candidates: are no whole numbers of steps")
        rho, rate = ratio(spec["rho"], "rho"), number(spec["rate"], "rate", positive=True)
        require(0 < rho <= 10**6, "rho: is not above 0, and at most 10^6")
        above, below = Fraction(1 - q), Fraction(q)
        moved = max(sum(sorted([above] * (len(candidates) - k) + [below] * k)[-2:]) for k in range(len(candidates) + 1))
        require((rate * moved) ** 2 <= 8 * rho, "queries.rate: spends more than rho")
        only((rate * moved) ** 2 <= 8 * rho * (1 - Fraction(1, 2**50)), "queries.rate: is at its limit")
        self.constants.append(f"{rho}")
        self.flat += rho
        return f"{spec['name']}: quantile {q} of the present values of {measured} {words}, among {len(candidates)} public " + (
            f"candidates, loss {rho}"
        )

    def selection(self, spec):
        """The delta of groups that are found."""
        keys(spec, ("variance", "threshold", "splitting", "at_most"), where="selection")
        variance, threshold = ratio(spec["variance"], "selection.variance"), whole(spec["threshold"], "selection.threshold", 2)
        require(0 < variance <= 2**110, "selection.variance: is not from above 0 to 2^110")
        most, split = spec["at_most"], None if spec["splitting"] is None else self.split(spec["splitting"])
        require(most is None or (whole(most, "selection.at_most", 1) and split), "selection.at_most: goes with a splitting")
        rho, delta = 1 / (2 * variance), self.tail(threshold - (most or 1), variance)
        if split is None:
            self.constants.append(f"{rho}")
        else:
            ways = {k: ", ".join(f"|{c}| / {bracketed(T)}" for c, T in own.items()) for k, own in split[0].items()}
            costs = {k: f"{rho} * max(1, ceil(max({way})))^2" for k, way in ways.items()}
            cases = "; ".join(f"{cost} where {split[1]} = {k!r}" for k, cost in costs.items() if k is not None)
            self.constants.append(f"[{cases}; {costs[None]} otherwise]" if cases else costs[None])
        if self.splitting:
            require(split in (None, self.splitting), "splitting: the selection of groups splits otherwise")
            self.flat, self.rate = self.flat + rho * (split is None), self.rate + rho * (split is not None)
        rows = "records" if split is None else "split rows" + (f", at most {most} a record" if most else "")
        every = split is None or most is not None
        self.terms.append(
            f"groups whose noisy number of {rows} (variance {variance}) is at least {threshold}: loss c^2 / (2 * {variance}), "
            f"delta {delta!r} of {'every record' if every else 'a record of one row'}"
        )
        return delta, every

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

    def _rho(self, core):
        constant = None if "constant" not in core else ratio(core["constant"], "constant")
        require(self.splitting or (core["rho"] is None and constant is None), "rho: says what split rows cost, of no splitting")
        self.constant, self.rho, self.least = constant, None, None
        if self.splitting:
            self.rho, self.least = ratio(core["rho"], "rho"), self.rate + max(Fraction(0), self.flat - (constant or 0))
            require(self.least <= self.rho, f"rho: one split row costs {float(self.least)!r}")

    def summary(self):
        """What was found, in words."""
        rows = "" if self.rho is None else f", and a split row costs {float_above(self.least)!r}"
        return f"the losses of all {self.queries} queries are those that follow from their noise{rows}"

    def certificate(self, said):
        """All of it is recomputed."""
        keys(said, "holds terms rho_per_split_row arithmetic theorem".split(), where="certificate")
        proven = [True, self.terms, None if self.least is None else str(self.least), PLAN_ARITHMETIC, PLAN_THEOREM]
        for key, value in zip("holds terms rho_per_split_row arithmetic theorem".split(), proven, strict=True):
            require(digest(said[key]) == digest(value), f"certificate.{key}: is another one")
        return []

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        variances = {column: 1 / precision for column, precision in self.sums.items()}
        sums = [f"{column}^2 / {bracketed(2 * v)}" for column, v in variances.items()]
        sums += [f"1 / {bracketed(2 * v)}" for v in self.counts]
        parts = [" + ".join(sums)] * bool(sums) + self.constants
        policy = parts[0] if len(parts) == 1 else " + ".join(f"({part})" for part in parts)
        rows = ""
        if self.splitting:
            flat = f"{self.constant} + " if self.constant else ""
            rows = f" P(r) <= {flat}{self.rho} * m(r)^2, m(r) the rows of r after splitting at {self.splitting[2]}."
        public, every = list(PLAN_PUBLIC[:2]), all(each for _, each in self.deltas)
        public += [PLAN_PUBLIC[2]] * any(level["keys"] is not None and level["columns"] for level in self.levels)
        public += [PLAN_PUBLIC[3]] * (not every)
        delta = min(1.0, sum(delta for delta, _ in self.deltas) * (1 + 2.0**-40)) if self.deltas else 0.0
        told = {"queries": self.queries, "delta" if every else "delta_of_one_row": Fraction(delta)}
        told |= {} if self.rho is None else {"rho_per_split_row": float_above(self.rho)}
        told |= {} if self.constant is None else {"constant_loss": float_above(self.constant)}
        return {
            "unit": "One record of the table, with a loss P(r) of its own: a public function of the record.",
            "relation": "Any one record may appear or disappear, whatever the others are.", "unprotected": public,
            "notion": PLAN_NOTION + PLAN_FOUND * bool(self.deltas), "parameters": told,
            "mechanism": "P(r) adds up what follows over the queries in which r counts, r clipped and rounded as stated: "
            f"{'; '.join(self.terms)}. Where r counts in all of them, with the least noise of each, that is {policy}.{rows}",
            "sampling": PLAN_SAMPLING, "floating_point": PLAN_NUMBERS,
            "timing": f"{TIMING} The time of an aggregation may depend on the table, too.", "post_processing": PLAN_AFTERWARDS,
        }  # fmt: skip


def bracketed(value):
    """A fraction to divide by, in words."""
    return f"{value}" if value.denominator == 1 else f"({value})"


OTHERS = "(all others)"
ASKED = {
    "count": "variance", "count_distinct": "variance of", "sum": "variance measure",
    "average": "variance measure count_variance", "quantile": "measure q candidates rho rate",
}  # fmt: skip
PLAN_ARITHMETIC = "exact rationals; tails rounded up"
PLAN_THEOREM = (
    "A record r moves the exact integer of one group of each query by at most its amount, so discrete Gaussian noise of "
    "variance v costs it amount^2 / (2 v) of zCDP; costs add up over queries and levels (docs/theory/tables.md, 1 and 2; "
    "Seeman et al., Lemmas 4.2 and 5.3)."
)
PLAN_PUBLIC = (
    "The schema of the table, its columns and their types, is public.",
    "The value of P at a record of the data is as confidential as the record: publish the function, not its values.",
    "The listed groups are public and must not have been chosen by looking at the data.",
    "A record that is alone in its group makes the group appear with probability delta(r), near 1 for records of very many "
    "split rows.",
)
PLAN_NOTION = (
    "Per-record zero-concentrated privacy: for all data sets that differ in the record r, the Renyi divergence of order "
    "alpha is at most alpha P(r), for every alpha > 1."
)
PLAN_FOUND = (
    " But for events of probability delta(r) on one side (delta(r)-approximate, Bun and Steinke 2016, Definition 8.1): that "
    "r alone makes a group be found. delta(r) is a public function, too."
)
PLAN_SAMPLING = (
    "Exact: discrete Gaussians from random bits of the operating system, compared with probabilities in exact arithmetic."
)
PLAN_NUMBERS = (
    "Every record is rounded to whole steps by a fixed rule of its own; sums, noise and thresholds are exact integers. The "
    "float returned is computed from the noisy integer alone."
)
PLAN_AFTERWARDS = (
    "Anything computed from a release alone keeps the guarantee. Policies of several releases about the same records add up; "
    "a group of records loses at most (sum of sqrt(P(r)))^2."
)

# -------------------------------------------------------------------------------------------------------- 16 what the file says

FORMATS = {
    "dp-designer/mechanism": Additive, "dp-designer/channel": OwnReport, "dp-designer/lattice-mechanism": Lattice,
    "dp-designer/row-mechanism": Rows, "dp-designer/selection": Selection, "dp-designer/marginals": Marginals,
    "dp-designer/structured-mechanism": Structured, "dp-designer/staircase-mechanism": Staircase,
    "dp-designer/mwem": MultiplicativeWeights, "dp-designer/small-db": SmallDatabase,
    "dp-designer/odds-ratio-test": OddsRatio, "dp-designer/table-plan": TablePlan,
}  # fmt: skip
SOFTWARE = "dp-designer [0-9a-z.+]{1,40}"
NOTES = {
    **dict.fromkeys("software family loss effort cut targets_are hull program objective solver status".split(), str),
    **dict.fromkeys("budgets_times raw_violation own_violation repaired_loss rounds pairs".split(), (int, float)),
    "options": dict, "prices": dict, "tried": dict, "targets": list, "constraints": list,
}  # fmt: skip


def check_spec(spec):
    """The mechanism of a spec that holds, and what was not compared."""
    keys(
        spec,
        "format version mechanism guarantee certificate optimality provenance fingerprint seal".split(),
        ("about",),
        "the spec",
    )
    require(type(spec["format"]) is str, "format: is no text")
    require(type(spec["version"]) is int and spec["version"] == 1, "version: is not 1")
    require(spec["format"] in FORMATS, f"format: {spec['format'][:60]!r} is unknown")
    require(isinstance(spec["mechanism"], dict), "mechanism: is no object")
    require(spec["seal"] == seal_of(spec), "seal: is not that of the contents")
    require(spec["fingerprint"] == digest(spec["mechanism"]), "fingerprint: is not that of the mechanism")
    made = FORMATS[spec["format"]](spec["mechanism"])
    left = made.certificate(spec["certificate"])
    check_guarantee(spec["guarantee"], made, spec["fingerprint"])
    check_notes(spec, made)
    return made, left


def same(claimed, exact, where):
    """A float that stands for an exact number: another machine may round the last digits otherwise."""
    require(type(claimed) is float, f"{where}: {claimed!r} is no float")
    off = abs(Fraction(claimed) - exact)
    require(off <= abs(exact) * Fraction(9, 10**10), f"{where}: says {claimed!r}, recomputed {float(exact)!r}")


# What files say that were written before these sentences were reworded, and what is said today. Each pair means the same.
FORMER_WORDS = (
    (
        r"One record may change from any (?:universe element|element|value) to any other",
        "Any one record may change to any other value",
    ),
    (r"One record may change from any (point|place) to any other", r"Any one record may change to any other \1"),
    (r"One record may", "Any one record may"),
    (r" whatever the two are", ""),
    (r"straight distance between the two", "Euclidean distance between the two"),
    (r"\(1 coordinates\)", "(1 coordinate)"),
    (r"are told apart with (budget|the transport)", r"are protected from each other with \1"),
    (r"other margins are told apart", "other margins are not protected from each other"),
    (r"as the relation says", "as the relation states"),
    (r"nothing is claimed for groups beyond adding budgets", "budgets of groups add up, and nothing more is claimed for them"),
    (r"for groups budgets do not add up under one delta", "budgets of groups do not add up under one delta"),
    (r"says what it spends", "states what it spends"),
    (r"invariant statistics as they are", "invariant statistics unchanged"),
    (r"so the promise holds for each report", "so the guarantee holds for each report"),
    (
        r"Anyone who can time single (releases|reports) precisely is outside the guarantee",
        r"The guarantee does not cover attackers who can time single \1 precisely",
    ),
    (r"So may the time of an aggregation depend on the table", "The time of an aggregation may depend on the table, too"),
    (r"float (?:that is )?handed out", "float returned"),
    (r"the chosen candidate leaves", "the chosen candidate is released"),
    (r"before it leaves", "before it is released"),
    (r"normal numbers are functions of random bits", "normal variates are computed from random bits"),
    (r"of which as many are drawn as their rounding to the grid takes", "as many as their rounding to the grid needs"),
    (r"drawn again where it is not below; nothing", "by rejection; nothing"),
)


def words(said):
    """A sentence, or a list of them, in the words of today."""
    if isinstance(said, list):
        return [words(one) for one in said]
    require(type(said) is str, f"guarantee: {said!r} is no text")
    for former, now in FORMER_WORDS:
        said = re.sub(former, now, said)
    return said


def check_guarantee(said, made, fingerprint):
    """Every field of the guarantee against what was recomputed."""
    proven = made.statement()
    keys(said, (*proven, "software", "fingerprint"), where="guarantee")
    for field, value in proven.items():
        if field != "parameters":
            require(words(said[field]) == words(value), f"guarantee.{field}: says {said[field]!r}, recomputed {value!r}")
    keys(said["parameters"], proven["parameters"], where="guarantee.parameters")
    for field, value in proven["parameters"].items():
        claimed, where = said["parameters"][field], f"guarantee.parameters.{field}"
        if type(value) is int:
            require(type(claimed) is int and claimed == value, f"{where}: says {claimed!r}, recomputed {value}")
        elif type(value) is float:
            require(type(claimed) is float and claimed == value, f"{where}: is not that of the mechanism")
        else:
            same(claimed, value, where)
    require(type(said["software"]) is str and re.fullmatch(SOFTWARE, said["software"]), "guarantee.software: is no version")
    require(said["fingerprint"] == fingerprint, "guarantee.fingerprint: is another one")


def frame(said, made, arithmetic, reduced=True):
    """What all certificates say; returns the worst ratio that this one claims. arithmetic: what sentences about it may be."""
    keys(said, "holds worst_ratio witness pairs arithmetic theorem".split(), where="certificate")
    require(said["holds"] is True, "certificate.holds: is not true")
    require(said["theorem"] == made.theorem, "certificate.theorem: is another one")
    ratio = said["worst_ratio"]
    require(type(ratio) is str and re.fullmatch("[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio), "worst_ratio: is no fraction")
    claimed = Fraction(ratio)
    require(
        claimed <= 1 and (str(claimed) == ratio or not reduced),
        f"worst_ratio: says {ratio[:40]}, recomputed {float(made.worst)!r}",
    )
    require(type(said["arithmetic"]) is str and type(said["pairs"]) is int, "certificate: arithmetic or pairs of another type")
    others = (
        "exact rationals: the largest length of all known|exact rationals: (the largest length|a bound for the length) of all "
    )
    only(not re.match(others, said["arithmetic"]) or re.fullmatch(arithmetic, said["arithmetic"]), "lengths without a list")
    only("whole groups" not in said["arithmetic"], "a certificate by bounds on groups of pairs")
    require(re.fullmatch(arithmetic, said["arithmetic"]), "certificate.arithmetic: is another sentence")
    return claimed


def check_notes(spec, made):
    """Notes prove nothing, and are named as notes; only their form is looked at."""
    note = spec["optimality"]
    if note is not None:
        keys(note, "objective value lower_bound method".split(), where="optimality")
        value, bound = note["value"], note["lower_bound"]
        require(type(note["objective"]) is str and type(note["method"]) is str, "optimality: objective and method are texts")
        require(
            type(value) is float and type(bound) is float and 0 <= bound <= value * (1 + 1e-9), "optimality: value and bound"
        )
    keys(spec["provenance"], (), NOTES, "provenance")
    for key, value in spec["provenance"].items():
        require(isinstance(value, NOTES[key]) and type(value) is not bool, f"provenance.{key}: is of another kind")
    texts = [*spec["provenance"].get("tried", {}).values(), *spec["provenance"].get("targets", ())]
    texts += spec["provenance"].get("constraints", ())
    require(all(type(text) is str for text in texts), "provenance: a note is no text")
    if "about" in spec:
        keys(spec["about"], (), [*"title data period publisher contact record".split(), "units"], "about")
        units = spec["about"].get("units", {})
        require(isinstance(units, dict), "about.units: is no object")
        said = [text for key, text in spec["about"].items() if key != "units"]
        lines = [*said, *units, *units.values()]
        require(all(type(text) is str and text for text in lines), "about: is no text")
        require(not any(UNSEEN.search(text) for text in lines), "about: has a character that cannot be seen")


# ------------------------------------------------------------------------------------------------------------------ 17 releases


def check_release(release, spec, made):
    """A release of this spec: whole multiples of its steps, and the answers that follow. What is left is returned in words."""
    only(isinstance(made, Additive), "a release of another format than additive noise")
    needed = (
        "format version spec fingerprint time rows published guarantee ledger seal answers standard_errors measured".split()
    )
    keys(release, needed, ("exact", "about"), "the release")
    require(
        release["format"] == "dp-designer/release" and type(release["version"]) is int and release["version"] == 1,
        "format: is no release",
    )
    require(release["seal"] == seal_of(release), "seal of the release: is not that of the contents")
    require(release["fingerprint"] == spec["fingerprint"], "fingerprint: the release was made by another mechanism")
    check_guarantee(release["guarantee"], made, spec["fingerprint"])
    if "about" in release:
        require(release["about"] == spec.get("about", {}), "about: the release describes itself in other words than its spec")
    answers, errors, measured = release["answers"], release["standard_errors"], release["measured"]
    for table, where in ((answers, "answers"), (errors, "standard_errors")):
        keys(table, made.queries, where=where)
        require(all(type(v) is float or v in ("inf", "-inf", "nan") for v in table.values()), f"{where}: no floats")
    only(measured is not None, "a release whose answers do not determine what was measured")
    keys(measured, ("exponents", "multiples"), where="measured")
    require(digest(measured["exponents"]) == digest(made.grid), "measured.exponents: are not the steps of the spec")
    drawn = measured["multiples"]
    require(isinstance(drawn, list) and len(drawn) == len(made.grid), "measured.multiples: are not one for each step")
    require(all(type(n) is int for n in drawn), "measured.multiples: are no whole numbers")
    for n, row, quiet in zip(drawn, (row.values() for row in made.multiples), made.norm.silent, strict=True):
        # Without noise a number is a sum of entries of its row, so a multiple of what they have in common.
        unit = math.gcd(*row)
        require(not quiet or (n % unit == 0 if unit else n == 0), "measured.multiples: a number without noise is out of reach")
    values = [n * Fraction(2) ** e for n, e in zip(drawn, made.grid, strict=True)]
    for k, name in enumerate(made.queries):
        said = answers[name]
        only(type(said) is float, f"answers: {name!r} is beyond binary64")
        if made.back is None:
            exact, room = values[k], abs(values[k]) * DIGITS
            require(abs(Fraction(said) - exact) <= room, f"answers: {name!r} is not its multiple of its step")
        else:
            terms = [c * v for c, v in zip(made.back[k], values, strict=True)]
            room = sum(map(abs, terms)) * Fraction(len(terms) + 4, 2**51) + abs(sum(terms)) * DIGITS
            require(abs(Fraction(said) - sum(terms)) <= room, f"answers: {name!r} does not follow from what was measured")
    return [
        "standard_errors, published, rows, time and ledger of the release",
        "whether the noise was drawn by the stated law, and from these data: no file shows that",
    ]


# ------------------------------------------------------------------------------------------------------------------- 18 command


def verify(spec_bytes: bytes, release_bytes: bytes | None = None) -> tuple[str, list[str]]:
    """("holds" | "does not hold" | "cannot check", sentences)."""
    try:
        spec = read_json(spec_bytes)
        made, left = check_spec(spec)
        if release_bytes is not None:
            left = left + check_release(read_json(release_bytes), spec, made)
        return "holds", [
            made.summary(),
            *(f"not compared: {what}" for what in left),
            "notes, which prove nothing: optimality, provenance",
        ]
    except DoesNotHold as reason:
        return "does not hold", [str(reason)]
    except CannotCheck as reason:
        return "cannot check", [str(reason)]
    except RecursionError:
        return "does not hold", ["the file is nested far deeper than a spec is"]
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, ArithmeticError) as error:
        return "does not hold", [f"a value is of another kind than the form has there ({type(error).__name__}: {error})"]


def plain(sentence):
    """A sentence for the terminal: what cannot be seen is written as its escape."""
    return UNSEEN.sub(lambda found: ascii(found.group())[1:-1], sentence)


EXIT = {"holds": 0, "does not hold": 4, "cannot check": 3}


def main(arguments: list[str]) -> int:
    """The command: prints the verdict, returns the exit code."""
    if not 1 <= len(arguments) <= 2:
        print("usage: python3 standalone.py SPEC [RELEASE]", file=sys.stderr)
        return 2
    try:
        contents = []
        for path in arguments:
            with Path(path).open("rb") as file:
                contents.append(file.read(SIZE_LIMIT + 1))
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    verdict, sentences = verify(*contents)
    print(f"{verdict}: {' and '.join(arguments)}", *(f"  {plain(sentence)}" for sentence in sentences), sep="\n")
    return EXIT[verdict]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
