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
  7  what the file says        fingerprint, seal, guarantee, certificate: field by field
  8  releases                  whole multiples of steps, and the answers that follow
  9  the command

What is believed: Python's integers, fractions, hashes, and its reading of decimals as binary64; and five lemmas. Each is
stated where it is used, L1 to L5; they are proven in the project's docs/theory: foundations.md, 1 and 4, approximate.md, 1, and
invariants.md, 1.
No float takes part in a proof.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from fractions import Fraction
from itertools import combinations, permutations
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
SMALLEST, LARGEST = 1e-60, 1e60  # every number but 0 lies between: what is outside is left to the project's own verifier


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


def written_out(value, where):
    """Lists of more than 1,024 entries may have to be written as runs, which this program does not read."""
    only(not isinstance(value, dict) or "runs" not in value, f"{where}: is written as runs")
    only(not isinstance(value, list) or len(value) <= 1024, f"{where}: has more than 1,024 entries")


def numbers(value, where, positive=False, infinite=False, count=None):
    """A list of numbers, not empty."""
    written_out(value, where)
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


def names(value, where, count=None):
    """Different texts."""
    written_out(value, where)
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
        self.order, self.products = spec.get("order"), 1
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
            weights = numbers(spec["map"], "norm.map", positive=True, infinite=True)
            self.silent, self.products = [w is None for w in weights], len(weights)
            self.rates = [w for w in weights if w is not None]

            def measure(u):
                images = [w * abs(c) for w, c in zip(weights, u, strict=True) if w is not None]
                if self.order == "l1":
                    return sum(images, Fraction(0))
                return max(images, default=Fraction(0)) if self.order == "linf" else root_above(sum(i * i for i in images))

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
            images = [w * abs(c) for w, c in zip(weights, u, strict=True) if w is not None]
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

    absent, alone, listed, changes = False, False, None, None

    def __init__(self, spec, depth=1):
        require(isinstance(spec, dict) and type(spec.get("kind")) is str, "relation.kind: is missing")
        require(depth <= 8, "relation: is nested more than 8 deep")
        self.depth = depth
        make = getattr(self, "_" + spec["kind"], None) if spec["kind"] in KINDS else None
        only(make, f"relation.kind: {spec['kind']!r} is not one that this program checks")
        only("by_length" not in spec and "by_exchanges" not in spec, "changes that are known without a list of them")
        keys(spec, ("kind", *KINDS[spec["kind"]].split()), where=f"relation {spec['kind']}")
        make(spec)
        only(self.size <= 2000, f"a relation on {self.size} elements, of more than 2000")
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
        self.sentence = (
            f"One record may change from any universe element to any other, with budget {float(epsilon)!r} "
            f"whatever the two are."
        )

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
            f"One record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, {span}."
        )

    def _own(self, spec, count=None):
        return numbers(spec["epsilons"], "relation.epsilons", positive=True, infinite=True, count=count)

    def _run(self, own):
        """The budgets of elements from the least to the largest, in words."""
        texts = [math.inf if e is None else float(e) for e in own]
        return f"{min(texts)!r}", f"{max(texts)!r}"

    def _per_element(self, spec):
        own = self._own(spec)
        self.size, (low, high) = len(own), self._run(own)
        self.budget = lambda i, j: None if own[i] is None or own[j] is None else own[i] + own[j]
        self.sentence = (
            "One record may change from any universe element to any other, with the sum of the two elements' own budgets, "
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
            "One record may change from any universe element to any other, with the smaller of the two elements' own budgets, "
            f"which run from {low} to {high}{also}."
        )

    def _partition(self, spec):
        labels, epsilon = spec["labels"], number(spec["epsilon"], "epsilon", True)
        require(isinstance(labels, list) and labels and all(type(x) is str for x in labels), "relation.labels: are no texts")
        self.size, self.budget = len(labels), lambda i, j: epsilon if labels[i] == labels[j] else None
        self.sentence = (
            f"One record may change from any universe element to any other of the same part, with budget {float(epsilon)!r}; "
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
            f"One record may change from any point to any other, with budget {float(per)!r} for every unit of the straight "
            f"distance between the two ({len(places[0])} coordinates)."
        )

    def _chebyshev(self, spec, measure=max, words="the largest difference at any position of the two series"):
        places, per, apart = self._points(spec, "per_unit")
        require(len(places[0]) > 1, "relation.points: of one coordinate are written as euclidean")
        self.budget, self.listed = lambda i, j: measure(apart(i, j)) * per, self._all()
        self.sentence = (
            f"One record may change from any element to any other, with budget {float(per)!r} for every unit of {words} "
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
        self.sentence = f"One record may change from any value to any other, with budget {float(epsilon)!r} for every {step}."

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
            f"One record may change along the {len(edges)} edges of a graph of {self.size} elements{span}, with budget "
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
            f"One record may change between elements at most {float(reach)!r} apart with budget {float(epsilon)!r}, "
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
            f"One record may change from any universe element to any other, with budget {float(epsilon)!r} up to a distance of "
            f"{float(reach)!r} and in proportion to the distance beyond. Distance means the budget of: "
            f"{ground.sentence.removesuffix('.')}."
        )

    def _domain(self, spec):
        """The attributes, and for each element the places of its values: the last attribute runs fastest."""
        attributes = names(spec["attributes"], "relation.attributes")
        require(isinstance(spec["values"], list) and len(spec["values"]) == len(attributes), "relation.values: one list each")
        counts = [len(names(values, "relation.values")) for values in spec["values"]]
        self.size = math.prod(counts)
        only(self.size <= 2000, f"a relation on {self.size} elements, of more than 2000")
        codes = [()]
        for count in counts:
            codes = [(*code, value) for code in codes for value in range(count)]
        return attributes, counts, codes

    def _hamming(self, spec):
        attributes, counts, codes = self._domain(spec)
        own = numbers(spec["budgets"], "relation.budgets", positive=True, infinite=True, count=len(counts))

        def budget(i, j):
            moved = [b for b, one, other in zip(own, codes[i], codes[j], strict=True) if one != other]
            return None if None in moved else sum(moved, Fraction(0))

        self.budget = budget
        self.listed = sum(self.size * (n - 1) // 2 for n, b in zip(counts, own, strict=True) if b is not None)
        said = ", ".join(f"{name} {math.inf if b is None else float(b)!r}" for name, b in zip(attributes, own, strict=True))
        self.sentence = (
            f"One record may change in any of its attributes; the budget is the sum over the changed attributes of: {said}."
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

        self.budget = budget
        said = "; ".join(f"{name} ({part.sentence.removesuffix('.')})" for name, part in zip(attributes, parts, strict=True))
        self.sentence = (
            f"One record may change in any of its attributes; the budget is the sum over the attributes, "
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
        self.sentence = f"One record may change with {words} the budgets of these rules: {said}."

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
        self.sentence = f"One record may change with {float(factor)!r} times the budget of this rule: {part.sentence}"

    def _restricted(self, spec):
        part, chosen = self.inside(spec["part"]), spec["elements"]
        require(isinstance(chosen, list) and chosen, "relation.elements: are no list")
        require(len({whole(i, "relation.elements", 0, part.size - 1) for i in chosen}) == len(chosen), "elements: one twice")
        self.size = len(chosen)
        self.budget = lambda i, j: part.budget(min(chosen[i], chosen[j]), max(chosen[i], chosen[j]))
        self.sentence = (
            f"One record may change between {len(chosen)} chosen elements of {part.size}, by this rule: {part.sentence}"
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
            f"One record may change from any of the {len(groups)} leaves of a taxonomy of {len(levels)} levels to any "
            f"other, with "
            f"{words} of the budgets of the levels below the lowest group that holds both; from the top they are {said}."
        )

    def _add_remove(self, spec):
        own = self._own(spec)
        self.size, self.absent, self.listed = len(own), True, sum(e is not None for e in own)
        self.budget, self.origin, (low, high) = lambda i, j: None, lambda i: own[i], self._run(own)
        said = f"budget {low}" if low == high else f"a budget of its own for each universe element, from {low} to {high}"
        self.sentence = f"One record may appear or disappear, with {said}."

    def _appear_or_change(self, spec):
        change, closed = self.inside(spec["change"]), spec["closure"]
        own, size = self._own(spec, change.size), change.size
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
            f"One record may appear or disappear, with a budget from {low} to {high} by its element, or change by the "
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

    def _statistics(self, spec, adjacency):
        """All changes v of at most `adjacency` records that keep the published statistics, one of each pair +-v: A v = 0, and v
        sums to 0 and has at most 2 a entries in size where the number of records is public; |v|_1 <= a elsewhere. L5: these are
        all differences of two histograms so close, whatever the histogram (docs/theory/invariants.md, 1)."""
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
        whole(adjacency, "relation.adjacency", 1)
        reach, constraints = adjacency * (1 + public), [*rows, [1] * size] if public else rows
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
        self.changes, self.adjacency, self.constraints = found, adjacency, constraints
        many = "s" if len(called) > 1 else ""
        kind = "replaced" if public else "added or removed"
        self.moved = (
            f"Databases with the same {len(called):,} invariant statistic{many} and at most {self._records(kind + ' record')}"
        )
        listed = ", ".join(called[:8]) + (" and more" if len(called) > 8 else "")
        said = f"The invariant statistics are published exactly: {listed}. Databases that differ in them are not protected."
        self.public = [said] + ["The number of records is public."] * public

    def _records(self, noun):
        return f"{self.adjacency:,} {noun}{'s' if self.adjacency > 1 else ''}"

    def _invariant(self, spec):
        self._statistics(spec["invariant"], spec["adjacency"])
        epsilon = number(spec["epsilon"], "epsilon", positive=True)
        self.costs = [epsilon] * len(self.changes)
        self.sentence = f"{self.moved} are told apart with budget {float(epsilon)!r} (Semi-DP)."

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
            f"{self.moved} are told apart with the transport cost of the moved records as budget; for one record: "
            f"{metric.sentence}"
        )

    def pairs(self):
        """All pairs (i, j, b) with a budget; j = size stands for no record. L2: budgets of a metric, or of a change in several
        groups, that are sums over pairs listed here need no look of their own, because ||u + v|| <= ||u|| + ||v||."""
        if self.changes is not None:
            yield from ((n, len(self.changes), b) for n, b in enumerate(self.costs) if b is not None)
            return
        for i, j in combinations(range(self.size), 2):
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


def workload(spec):
    """Names of queries and elements, and the matrix between them, from rows or compressed rows."""
    only(not isinstance(spec, dict) or "ranges" not in spec, "a workload of ranges")
    form = "rows" if isinstance(spec, dict) and "rows" in spec else "matrix"
    keys(spec, ("queries", "elements", form), ("keys",), "workload")
    queries, elements = names(spec["queries"], "workload.queries"), names(spec["elements"], "workload.elements")
    if "keys" in spec:
        keys(spec["keys"], ("columns", "rows"), ("unlisted",), "workload.keys")
        only("unlisted" not in spec["keys"], "a workload with a rule for values that are not listed")
        columns, rows = names(spec["keys"]["columns"], "workload.keys"), spec["keys"]["rows"]
        fits = isinstance(rows, list) and all(isinstance(r, list) and len(r) == len(columns) for r in rows)
        require(fits and len(rows) == len(elements), "workload.keys: one row for each element")
        require(all(type(text) is str for r in rows for text in r), "workload.keys: are no texts")
        require(len(set(map(tuple, rows))) == len(rows), "workload.keys: a row twice")
    if form == "matrix":
        return queries, elements, matrix(spec["matrix"], "workload.matrix", len(queries), len(elements))
    only(len(queries) * len(elements) <= 10**6, "a sparse workload of more than a million entries")
    rows = spec["rows"]
    keys(rows, ("values", "columns", "starts"), where="workload.rows")
    for part in rows.values():
        written_out(part, "workload.rows")
        require(isinstance(part, list), "workload.rows: are no lists")
    values = [number(entry, "workload.rows") for entry in rows["values"]]
    columns = [whole(c, "workload.rows", 0, len(elements) - 1) for c in rows["columns"]]
    starts = [whole(s, "workload.rows", 0, len(values)) for s in rows["starts"]]
    shaped = len(starts) == len(queries) + 1 and starts == sorted(starts) and starts[0] == 0 and starts[-1] == len(values)
    require(shaped and len(columns) == len(values), "workload.rows: starts do not rise from 0 to the number of values")
    dense = [[Fraction(0)] * len(elements) for _ in queries]
    for k in range(len(queries)):
        own = columns[starts[k] : starts[k + 1]]
        require(own == sorted(set(own)), "workload.rows: columns do not rise")
        for c, value in zip(own, values[starts[k] : starts[k + 1]], strict=True):
            dense[k][c] = value
    return queries, elements, dense


class Additive:
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
        self.queries, self.elements, asked = workload(core["workload"])
        self.relation, self.norm = Relation(core["relation"]), Norm(core["norm"], self.falloff)
        require(self.relation.size == len(self.elements), "relation: speaks of another number of elements")
        written_out(core["grid"], "grid")
        require(isinstance(core["grid"], list), "grid: is no list")
        self.grid = [whole(e, "grid", -1999, 1999) for e in core["grid"]]
        only(all(abs(e) <= 400 for e in self.grid), "grid: steps beyond 2^-400 to 2^400")
        size = len(self.grid)
        self.direct = core["measured"] is None
        target = asked if self.direct else matrix(core["measured"], "measured", size, len(self.elements))
        require(len(target) == size == len(self.norm.silent), "the numbers of rows, steps and coordinates differ")
        self.back = None
        if core["reconstruction"] is not None:
            self.back = matrix(core["reconstruction"], "reconstruction", len(self.queries), size)
        require(self.back is not None or size == len(self.queries), "reconstruction: is missing")
        # Entries are rounded to the nearest multiples, halves to the even one.
        self.multiples = [[round(c / Fraction(2) ** e) for c in row] for row, e in zip(target, self.grid, strict=True)]
        require(all(abs(n) <= 2**52 for row in self.multiples for n in row), "grid: entries are beyond 2^52 steps")
        self.points = [
            [n * Fraction(2) ** e for n, e in zip(column, self.grid, strict=True)]
            for column in zip(*self.multiples, strict=True)
        ]
        self.points.append([Fraction(0)] * size)
        heard = [e for e, quiet in zip(self.grid, self.norm.silent, strict=True) if not quiet]
        rates = [rate * Fraction(2) ** e for rate, e in zip(self.norm.rates, heard, strict=True)]
        only(all(Fraction(1, 2**48) <= rate <= 64 for rate in rates), "grid: a step is below 2^-48 or above 64 noise scales")
        shaped = self.norm.order != "l1" and self.falloff == "exponential"  # drawn from a body: a coarse grid fits it badly
        only(not shaped or all(rate <= Fraction(1, 1000) for rate in rates), "grid: a step is above a thousandth of the body")
        self._certify()
        self._substance()

    def difference(self, i, j):
        """u of a pair; of a change and its end, in this order, the sum of what it moves."""
        if self.relation.changes is not None:
            change, sign = self.relation.changes[min(i, j)], 1 if i < j else -1
            moved = [
                (sign * n, point) for n, point in zip(change, self.points, strict=False) if n
            ]  # the last point is no record
            return [sum((n * point[k] for n, point in moved), Fraction(0)) for k in range(len(self.grid))]
        return [a - b for a, b in zip(self.points[i], self.points[j], strict=True)]

    def ratio(self, u, b):
        """||u|| over what it may be; None where that is infinite."""
        length = self.norm.length(u)
        allowed = b
        if self.delta is not None:
            if b not in self.lengths:
                only(len(self.lengths) < 200, "more than 200 different budgets under a delta")
                self.lengths[b] = allowed_length(self.falloff, b, self.delta)
            allowed = self.lengths[b]
        return None if length is None or not allowed else length / allowed

    def _certify(self):
        pairs = list(self.relation.pairs())
        only(len(pairs) <= MOST_PAIRS, f"{len(pairs)} pairs, of more than {MOST_PAIRS}")
        only(len(pairs) * self.norm.products <= MOST_WORK, "pairs times the products of the norm are too many")
        only(pairs, "a relation that protects nothing")
        require(self.delta is None or not self.relation.alone, "relation: row groups have no promise with a delta")
        self.worst, self.least, self.lengths, self.count = Fraction(0), min(b for _, _, b in pairs), {}, len(pairs)
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

    def words(self, i, j):
        """A pair in the words of a witness."""
        if self.relation.changes is not None:
            moved = zip(self.relation.changes[min(i, j)], self.elements, strict=True)
            return "the histogram changes by " + ", ".join(f"{n:+d} {name}" for n, name in moved if n)
        if self.relation.size in (i, j):
            return f"a record of {self.elements[min(i, j)]} appears"
        return f"{self.elements[i]} -> {self.elements[j]}"

    def theorem(self):
        """The sentence of the certificate."""
        return THEOREMS[self.falloff, self.delta is not None]

    def statement(self):
        """Every field of the guarantee that follows from the numbers."""
        count, most, public = self.relation.facts()
        if self.delta is None:
            unit, notion, after = ALONE + BUDGETS_ADD, NOTIONS[self.falloff], AFTERWARDS
        else:
            unit, notion, after = ALONE + DELTA_GROUPS, APPROXIMATE.format(delta=float(self.delta)), DELTAS_ADD
        if self.relation.changes is not None:
            unit = (
                f"Up to {self.relation._records('record')} whose change leaves the invariant statistics as they are; nothing "
                "is claimed for more, or for other changes."
            )
        quiet = [name for name, silent in zip(self.queries, self.norm.silent, strict=True) if silent] if self.direct else []
        listed = ", ".join(quiet[:8]) + (" and more" if len(quiet) > 8 else "")
        exactly = [f"Published exactly, because no protected change moves them: {listed}."] if quiet else []
        rebuilt = "; the answers are a fixed linear map of the noisy measurements" if self.back is not None else ""
        parameters = {"smallest_budget": self.least, "largest_finite_budget": most, "worst_ratio": self.worst}
        parameters |= count | ({} if self.delta is None else {"delta": self.delta})
        return {
            "unit": unit,
            "relation": self.relation.sentence,
            "unprotected": exactly + public,
            "notion": notion,
            "parameters": parameters,
            "mechanism": f"Family {self.family}: integer noise on a grid, "
            f"{LAWS[self.falloff].format(self.norm.sentence)}{rebuilt}.",
            "sampling": SAMPLED[self.falloff],
            "floating_point": FLOATS,
            "timing": TIMING,
            "post_processing": after,
        }


ALONE = "The participation of one record, or its value, as the relation says; "
BUDGETS_ADD = "nothing is claimed for groups beyond adding budgets."
DELTA_GROUPS = (
    "for groups budgets do not add up under one delta; the privacy loss of a change of several records says what it spends."
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
EXACT_BITS = "Exact: random bits of the operating system, compared with probabilities in exact arithmetic."
SAMPLED = {
    "exponential": EXACT_BITS,
    "gaussian": EXACT_BITS,
    "rounded_gaussian": "Exact: normal numbers are functions of random bits of the operating system, of which as many "
    "are drawn as "
    "their rounding to the grid takes.",
}
LAWS = {
    "exponential": "P(z) proportional to exp(-||z||), ||z|| {}",
    "gaussian": "P(z) proportional to exp(-||z||^2 / 2), ||z|| {}",
    "rounded_gaussian": "z is y rounded to the grid, the density of y proportional to exp(-||y||^2 / 2), ||y|| {}",
}
FLOATS = (
    "Every answer is an integer multiple of a step fixed at design time; answers before noise are summed in exact "
    "integers. The "
    "float that is handed out is computed from that integer alone."
)
TIMING = (
    "Noise is drawn in batches by table look-up; the time of a draw may depend on the noise and is not covered. Anyone "
    "who can time "
    "single releases precisely is outside the guarantee."
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

# --------------------------------------------------------------------------------------------------------- 7 what the file says

FORMATS = {"dp-designer/mechanism": Additive}
NAMED_ELSEWHERE = set(
    "lattice-mechanism row-mechanism staircase-mechanism structured-mechanism marginals odds-ratio-test mwem "
    "table-plan small-db "
    "selection channel".split()
)
SOFTWARE = "dp-designer [0-9a-z.+]{1,40}"
NOTES = {
    **dict.fromkeys("software family loss effort cut targets_are hull program objective solver status".split(), str),
    **dict.fromkeys("budgets_times raw_violation own_violation repaired_loss rounds pairs".split(), (int, float)),
    "options": dict, "tried": dict, "targets": list, "constraints": list,
}  # fmt: skip
NEAR = Fraction(1, 1 << 40)


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
    known = spec["format"].removeprefix("dp-designer/")
    only(spec["format"] in FORMATS or known not in NAMED_ELSEWHERE, f"format: {spec['format']} is not checked by this program")
    require(spec["format"] in FORMATS, f"format: {spec['format'][:60]!r} is unknown")
    require(isinstance(spec["mechanism"], dict), "mechanism: is no object")
    require(spec["seal"] == seal_of(spec), "seal: is not that of the contents")
    require(spec["fingerprint"] == digest(spec["mechanism"]), "fingerprint: is not that of the mechanism")
    made = FORMATS[spec["format"]](spec["mechanism"])
    check_guarantee(spec["guarantee"], made, spec["fingerprint"])
    left = check_certificate(spec["certificate"], made)
    check_notes(spec, made)
    return made, left


def same(claimed, exact, where):
    """A float that stands for an exact number: another machine may round the last digits otherwise."""
    require(type(claimed) is float, f"{where}: {claimed!r} is no float")
    off = abs(Fraction(claimed) - exact)
    require(off <= abs(exact) * Fraction(9, 10**10), f"{where}: says {claimed!r}, recomputed {float(exact)!r}")


def check_guarantee(said, made, fingerprint):
    """Every field of the guarantee against what was recomputed."""
    proven = made.statement()
    keys(said, (*proven, "software", "fingerprint"), where="guarantee")
    for field, value in proven.items():
        if field != "parameters":
            require(said[field] == value, f"guarantee.{field}: says {said[field]!r}, recomputed {value!r}")
    keys(said["parameters"], proven["parameters"], where="guarantee.parameters")
    for field, value in proven["parameters"].items():
        claimed, where = said["parameters"][field], f"guarantee.parameters.{field}"
        if type(value) is int:
            require(type(claimed) is int and claimed == value, f"{where}: says {claimed!r}, recomputed {value}")
        elif field == "delta":
            require(type(claimed) is float and Fraction(claimed) == value, f"{where}: is not that of the mechanism")
        else:
            same(claimed, value, where)
    require(type(said["software"]) is str and re.fullmatch(SOFTWARE, said["software"]), "guarantee.software: is no version")
    require(said["fingerprint"] == fingerprint, "guarantee.fingerprint: is another one")


def check_certificate(said, made):
    """The certificate against what was recomputed; returns what was not compared."""
    keys(said, "holds worst_ratio witness pairs arithmetic theorem".split(), where="certificate")
    require(said["holds"] is True, "certificate.holds: is not true")
    require(said["theorem"] == made.theorem(), "certificate.theorem: is another one")
    ratio = said["worst_ratio"]
    require(type(ratio) is str and re.fullmatch("[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio), "worst_ratio: is no fraction")
    claimed = Fraction(ratio)
    require(
        claimed <= 1 and abs(claimed - made.worst) <= NEAR, f"worst_ratio: says {ratio[:40]}, recomputed {float(made.worst)!r}"
    )
    only(
        type(said["arithmetic"]) is not str or not said["arithmetic"].startswith("exact rationals: "), "lengths without a list"
    )
    shape = "exact rationals for the [0-9]+ pairs that decide, floating-point upper bounds with a proven error for all [0-9]+"
    only(
        type(said["arithmetic"]) is str and "whole groups" not in said["arithmetic"],
        "a certificate by bounds on groups of pairs",
    )
    require(re.fullmatch(shape, said["arithmetic"]), "certificate.arithmetic: is another sentence")
    require(type(said["pairs"]) is int and 0 < said["pairs"] <= made.count, "certificate.pairs: is not a number of pairs")
    left = []
    if made.relation.listed is not None and made.delta is None:
        require(
            said["pairs"] == made.relation.listed, f"certificate.pairs: says {said['pairs']}, {made.relation.listed} decide"
        )
    else:
        left = [f"certificate.pairs, {said['pairs']}: how many pairs the designer looked at; here all {made.count} were"]
    pair = said["witness"]
    keys(pair, "left right words difference budget".split(), where="certificate.witness")
    relation = made.relation
    last = relation.size - 1 + relation.absent if relation.changes is None else len(relation.changes)
    i, j = (whole(pair[key], f"witness.{key}", 0, last) for key in ("left", "right"))
    require(i != j and (relation.changes is None or last in (i, j)), "witness: is no pair")
    if relation.changes is not None:  # the list of the designer may be in another order: the words say which change it is
        left.append("certificate.witness.left and .right: the number of the change in a list that the file does not hold")
        own = next((n for n in range(last) if made.words(n, last) == pair["words"].partition(" (budget ")[0]), None)
        require(own is not None, "witness.words: name no change")
        i, j = (own, last) if j == last else (last, own)
        b = relation.costs[own]
    else:
        b = relation.origin(min(i, j)) if max(i, j) == relation.size else relation.budget(min(i, j), max(i, j))
    require(b is not None, "witness: has no budget")
    u = made.difference(i, j)
    found = made.ratio(u, b)
    require(found is not None and abs(found - made.worst) <= NEAR, "witness: does not have the worst ratio")
    under = "" if made.delta is None else f" (budget {float(b)!r} with delta {float(made.delta)!r})"
    require(pair["words"] == made.words(i, j) + under, f"witness.words: should be {made.words(i, j) + under!r}")
    told = b if made.delta is None else made.lengths[b]
    require(type(pair["budget"]) is float and pair["budget"] == float(told), "witness.budget: is another one")
    require(isinstance(pair["difference"], list), "witness.difference: is no list")
    require(all(type(c) is float for c in pair["difference"]), "witness.difference: are no floats")
    require(pair["difference"] == [float_above(c) for c in u], "witness.difference: is another one")
    return left


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
        only("units" not in spec["about"], "a spec that names units of answers")
        require(all(type(text) is str for text in spec["about"].values()), "about: is no text")


# ------------------------------------------------------------------------------------------------------------------- 8 releases


def check_release(release, spec, made):
    """A release of this spec: whole multiples of its steps, and the answers that follow. What is left is returned in words."""
    needed = (
        "format version spec fingerprint time rows published guarantee ledger seal answers standard_errors measured".split()
    )
    keys(release, needed, ("exact", "about"), "the release")
    require(release["format"] == "dp-designer/release" and release["version"] == 1, "format: is no release")
    require(release["seal"] == seal_of(release), "seal of the release: is not that of the contents")
    require(release["fingerprint"] == spec["fingerprint"], "fingerprint: the release was made by another mechanism")
    require(release["guarantee"] == spec["guarantee"], "guarantee: the release claims another one than the spec")
    answers, errors, measured = release["answers"], release["standard_errors"], release["measured"]
    for table, where in ((answers, "answers"), (errors, "standard_errors")):
        keys(table, made.queries, where=where)
        require(all(type(v) is float or v in ("inf", "-inf", "nan") for v in table.values()), f"{where}: no floats")
    only(measured is not None, "a release whose answers do not determine what was measured")
    keys(measured, ("exponents", "multiples"), where="measured")
    require(measured["exponents"] == made.grid, "measured.exponents: are not the steps of the spec")
    drawn = measured["multiples"]
    require(isinstance(drawn, list) and len(drawn) == len(made.grid), "measured.multiples: are not one for each step")
    require(all(type(n) is int for n in drawn), "measured.multiples: are no whole numbers")
    for n, row, quiet in zip(drawn, made.multiples, made.norm.silent, strict=True):
        # Without noise a number is a sum of entries of its row, so a multiple of what they have in common.
        unit = math.gcd(*row)
        require(not quiet or (n % unit == 0 if unit else n == 0), "measured.multiples: a number without noise is out of reach")
    values = [n * Fraction(2) ** e for n, e in zip(drawn, made.grid, strict=True)]
    for k, name in enumerate(made.queries):
        said = answers[name]
        only(type(said) is float, f"answers: {name!r} is beyond binary64")
        if made.back is None:
            require(Fraction(said) == Fraction(float(values[k])), f"answers: {name!r} is not its multiple of its step")
        else:
            terms = [c * v for c, v in zip(made.back[k], values, strict=True)]
            room = sum(map(abs, terms)) * Fraction(len(terms) + 4, 2**51)
            require(abs(Fraction(said) - sum(terms)) <= room, f"answers: {name!r} does not follow from what was measured")
    return [
        "standard_errors, published, rows, time and ledger of the release",
        "whether the noise was drawn by the stated law, and from these data: no file shows that",
    ]


# -------------------------------------------------------------------------------------------------------------------- 9 command


def verify(spec_bytes: bytes, release_bytes: bytes | None = None) -> tuple[str, list[str]]:
    """("holds" | "does not hold" | "cannot check", sentences)."""
    try:
        spec = read_json(spec_bytes)
        made, left = check_spec(spec)
        if release_bytes is not None:
            left = left + check_release(read_json(release_bytes), spec, made)
        ratio = f"the largest ratio of ||u|| to its budget over all {made.count} pairs is {float_above(made.worst)!r}"
        return "holds", [
            ratio,
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
    print(f"{verdict}: {' and '.join(arguments)}", *(f"  {ascii(sentence)[1:-1]}" for sentence in sentences), sep="\n")
    return EXIT[verdict]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
