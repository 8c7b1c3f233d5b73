"""Breaks of the second verifier: each lets it accept what it should refuse."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

FILE = "designer/verifier/standalone.py"
RELEASES = ("tests/verifier/test_releases.py",)
HOLES, ALONE = ("tests/verifier/test_holes.py",), ("tests/verifier/test_standalone.py",)
ALTERED = ("tests/verifier/test_standalone.py::test_numbers_that_spend_more_are_refused",)
LEDGERS = ("tests/verifier/test_ledgers.py",)
REFUSED = ("tests/verifier/test_standalone.py::test_cores_that_are_none_are_refused",)

MUTANTS = (
    Mutant(FILE, "if spent > allowed:", "if spent > 2 * allowed:", "a data set may be charged twice its total", LEDGERS),
    Mutant(
        FILE,
        "require(hashed == hashlib.sha256",
        "require(True or hashed == hashlib.sha256",
        "an entry of a ledger may be altered",
        LEDGERS,
    ),
    Mutant(
        FILE,
        "2 if public and own.moves ==",
        "1 if public and own.moves ==",
        "a record that is replaced costs what one that appears does",
        LEDGERS,
    ),
    Mutant(FILE, "require(rows and ever ==", "require(rows or ever ==", "the last entries of a ledger may be cut off", LEDGERS),
    Mutant(FILE, 'require(known[key] <= 1, f"{said} spends', 'require(True, f"{said} spends', "any ratio holds", HOLES),
    Mutant(FILE, 'require(spec["seal"] == seal_of(spec)', "require(True", "no seal is compared", HOLES),
    Mutant(
        FILE,
        "require(len({key for key, _ in pairs}) == len(pairs)",
        "require(True",
        "an object may have a key twice",
        HOLES,
    ),
    Mutant(
        FILE,
        "require(number(value, where) > 0, f",
        "require(number(value, where) is not None, f",
        "a rate may be negative",
        HOLES,
    ),
    Mutant(
        FILE,
        "for i, j in combinations(sorted(different), 2)]",
        "for i, j in combinations(sorted(different)[:-1], 2)]",
        "the pairs of the last element are skipped",
        HOLES,
    ),
    Mutant(
        FILE,
        'require(words(said[field]) == words(value), f"guarantee.{field}',
        'require(True, f"guarantee.{field}',
        "the guarantee may say anything",
        ALONE,
    ),
    Mutant(
        FILE,
        'require(release.get("fingerprint") == spec["fingerprint"]',
        "require(True",
        "a release of another mechanism is accepted",
        ALONE,
    ),
    Mutant(
        FILE,
        "kept = n * ONE <= most[b] * m and m * ONE <= most[b] * n",
        "kept = n * ONE <= most[b] * m",
        "reports are compared in one order of a pair alone",
        ALTERED,
    ),
    Mutant(
        FILE,
        "return self.rate * (max(moved) - min(moved))",
        "return self.rate * max(moved)",
        "a score that falls spends nothing",
        ALTERED,
    ),
    Mutant(
        FILE,
        "2 * load(i) / own[i] ** 2",
        "load(i) / own[i] ** 2",
        "a change of an attribute is a record that appears",
        ALTERED,
    ),
    Mutant(
        FILE,
        "self.worst, self.count = max(norm.rates) / self.least, 0",
        "self.worst, self.count = min(Fraction(1), max(norm.rates) / self.least), 0",
        "a unit of distance may cost more than its budget",
        ALTERED,
    ),
    Mutant(
        FILE,
        "low, high = (middle, high) if below(middle) else (low, middle)",
        "low, high = (middle, high) if below(middle * (1 - 1e-9)) else (low, middle)",
        "a length under a delta is too long",
        ALONE,
    ),
    Mutant(
        FILE,
        "total += strength * others * (1 if i is None else self.apart(made[i], i))",
        "total += strength * others",
        "a change of an attribute moves one column alone",
        ALTERED,
    ),
    Mutant(FILE, "require(load <= 1, f", "require(True, f", "a kind of change may cost anything", ALTERED),
    Mutant(
        FILE,
        "self.cost = lambda u: -(-abs(u[0]) // own.width)",
        "self.cost = lambda u: abs(u[0]) // own.width",
        "a step over part of a stair costs nothing",
        ALTERED,
    ),
    Mutant(
        FILE,
        "require(cost + more > lowest.get(there, -1)",
        "require(True",
        "a peak may be one that walks reach",
        REFUSED,
    ),
    Mutant(
        FILE,
        "require(self.worst <= self.spent",
        "require(True",
        "stand-in queries may move more than their constants where rounds spend little",
        ALONE,
    ),
    Mutant(
        FILE,
        'require(self.spent <= 1, f"shares',
        'require(self.spent <= 2, f"shares',
        "the rounds may spend the budget twice",
        ALTERED,
    ),
    Mutant(
        FILE, "require(sorted(mirrored.items()) == points", "require(True", "one direction of a test is not protected", ALTERED
    ),
    Mutant(
        FILE,
        'require(self.least <= self.rho, f"rho',
        'require(True, f"rho',
        "a split row may cost more than is stated",
        ALTERED,
    ),
    Mutant(
        FILE,
        "require((own.rate * moved) ** 2 <= 8 * own.rho",
        "require(True",
        "a quantile may choose more sharply than its rho",
        REFUSED,
    ),
    Mutant(
        FILE,
        "require(is_sum(wanted, ways)",
        "require(True",
        "a release may be off the coset of its noise",
        RELEASES,
    ),
    Mutant(
        FILE,
        "totals[0][0] + totals[1][0]",
        "totals[0][0]",
        "of very many pairs one column is taken for two",
        ("tests/verifier/test_many_pairs.py",),
    ),
)
