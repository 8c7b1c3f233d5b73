"""Breaks of accounts of several releases, of sampling, of bounds from slopes, and of exchanges by level."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

LOSSES = ("tests/promises/test_losses.py", "tests/promises/test_account.py")
ACCOUNT = ("tests/promises/test_account.py",)
SAMPLED = ("tests/promises/test_subsampled.py",)
SLOPES = ("tests/certified/test_slopes.py",)
LEVELS = ("tests/relations/invariants/test_levels.py",)

MUTANTS = (
    Mutant(
        "designer/promises/losses.py",
        "units = [_units(bend * one, up=above) for bend in bends]",
        "units = [_units(bend * one, up=not above) for bend in bends]",
        "masses of losses are rounded to the unsafe side",
        LOSSES,
    ),
    Mutant(
        "designer/promises/losses.py",
        "_units(certain * one, up=above)",
        "_units(certain * 0, up=above)",
        "certain losses are forgotten",
        LOSSES,
    ),
    Mutant(
        "designer/promises/losses.py",
        "return [(low, q - upper), (low + 1, upper)], ZERO",
        "return [(low, q)], ZERO",
        "an atom between two rungs counts as the smaller loss",
        LOSSES,
    ),
    Mutant(
        "designer/promises/losses.py",
        "return min(curve.largest, FARTHEST)",
        "return min(curve.largest / 2, FARTHEST)",
        "losses are cut at half of the largest",
        LOSSES,
    ),
    Mutant(
        "designer/promises/account.py",
        "times[promise] += count(repeated",
        "times[promise] = count(repeated",
        "a promise that stands twice counts once",
        ACCOUNT,
    ),
    Mutant(
        "designer/promises/account.py",
        "return Account.of([*self.factors, *other.factors], self.rho + other.rho)",
        "return Account.of([*self.factors, *other.factors], max(self.rho, other.rho))",
        "budgets of zCDP do not add up",
        ACCOUNT,
    ),
    Mutant(
        "designer/promises/account.py",
        "return 1 - kept[0].min(kept[1])",
        "return 1 - kept[0].max(kept[1])",
        "certain losses of the better direction count",
        (*SAMPLED, *ACCOUNT),
    ),
    Mutant(
        "designer/promises/account.py",
        'return cls(_joined(times), rational_from(rho, "rho", 0))',
        'return cls(_joined(times), rational_from(rho, "rho", 0) / 2)',
        "half of a budget of zCDP counts",
        ACCOUNT,
    ),
    Mutant(
        "designer/promises/kinds.py",
        "inner = (slope - 1) / rate + 1",
        "inner = (slope - 1) / rate / rate + 1",
        "sampling amplifies twice",
        SAMPLED,
    ),
    Mutant(
        "designer/promises/kinds.py",
        "return float_above_real(lambda: (rational_ball(share) * (exp_ball(power) - 1)).log1p())",
        "return float_above_real(lambda: rational_ball(share) * rational_ball(power))",
        "sampling makes epsilon proportional to the rate",
        SAMPLED,
    ),
    Mutant(
        "designer/promises/kinds.py",
        'if relation != "add_remove":',
        "if False:",
        "sampling is said to amplify for records that are replaced",
        SAMPLED,
    ),
    Mutant(
        "designer/certified/steep.py",
        "widths = np.ptp(points - places @ slopes, axis=0) + 2 * rounding",
        "widths = 0 * np.ptp(points - places @ slopes, axis=0) + 2 * rounding",
        "answers that are not affine count as affine",
        SLOPES,
    ),
    Mutant(
        "designer/certified/steep.py",
        "steep = (highest[0] + error) * (1 + GUARD) / rate",
        "steep = (highest[0] + error) * (1 + GUARD) / rate / 2",
        "the slope of answers is half as steep",
        SLOPES,
    ),
    Mutant(
        "solvers/pairs/cones.py",
        "bounds = values / cosines",
        "bounds = values * cosines",
        "a cone is bounded by less than its corners",
        SLOPES,
    ),
    Mutant(
        "designer/certified/certificate.py",
        'if Fraction(proven["worst_ratio"]) <= Fraction(ratio) <= 1 and',
        "if Fraction(ratio) <= 1 and",
        "a claim below what is proven is taken for a bound",
        ("tests/certified/test_slopes.py", "tests/files/test_spec.py"),
    ),
    Mutant(
        "designer/relations/invariants/levels.py",
        "second = _heaviest(weights, level, apart)",
        "second = best",
        "the heaviest partner of the heaviest element is itself",
        LEVELS,
    ),
    Mutant(
        "designer/relations/invariants/levels.py",
        "return not bool(np.isin(ancestors[~inside, shared], own[:, shared]).any())",
        "return True",
        "exchanges are said to imply changes where a sum splits a branch",
        LEVELS,
    ),
    Mutant(
        "designer/relations/invariants/levels.py",
        "costs = tuple(None if cost is None else cost * factor for cost in within.costs[1:])",
        "costs = tuple(None if cost is None else 2 * cost * factor for cost in within.costs[1:])",
        "an exchange costs twice its budget",
        LEVELS,
    ),
)
