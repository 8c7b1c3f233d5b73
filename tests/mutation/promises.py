"""Breaks of what promises imply: conversions that round to the unsafe side, deltas that are lost, constants that are wrong."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/promises/accounting.py",
        "return float_above_real(lambda: rational_ball(power) * rational_ball(power / 2).tanh())",
        "return float_above_real(lambda: rational_ball(power) * rational_ball(power / 2).tanh() / 2)",
        "pure promises are half as much zCDP",
        ("tests/promises/test_accounting.py::test_pure_is_zcdp_and_no_better",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "return float_above_real(lambda: rational_ball(squared / 2))",
        "return float_above_real(lambda: rational_ball(squared / 4))",
        "mu-GDP is a quarter of its square in zCDP",
        ("tests/promises/test_accounting.py::test_zcdp_calibration",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        '* count(size, "size") ** 2',
        '* count(size, "size")',
        "zCDP of groups grows with their size, not its square",
        ("tests/promises/test_accounting.py::test_census",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "exp_ball(-((power - budget) ** 2) / (4 * budget))",
        "exp_ball(-((power - budget) ** 2) / (2 * budget))",
        "the delta of zCDP is squared",
        ("tests/promises/test_accounting.py::test_bun_steinke_directions_agree",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "+ a * (-1 / a).log1p() - (a - 1).log()",
        "+ a * (-1 / a).log1p() - a.log()",
        "the best delta of zCDP is divided by the order",
        ("tests/promises/test_accounting.py::test_zcdp_against_dp_accounting",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "least: arb = rational_ball(rho / 2).sqrt().min((1 - exp_ball(-rho)).sqrt())",
        "least: arb = rational_ball(rho / 4).sqrt()",
        "total variation is too small by a root of 2",
        ("tests/promises/test_accounting.py::test_zcdp_covers_every_single_bit",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "    if power < budget:\n        return 1.0\n",
        "",
        "a delta is stated where Bun and Steinke have none",
        ("tests/promises/test_accounting.py::test_bun_steinke_directions_agree",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "return False if ball > limit else None",
        "return True",
        "what balls leave open counts as proven",
        ("tests/promises/test_accounting.py::test_gaussian_delta_far_out",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "low, high = (low, middle) if holds(middle) else (middle, high)\n    return high",
        "low, high = (low, middle) if holds(middle) else (middle, high)\n    return low",
        "the epsilon is rounded to the side that is not proven",
        ("tests/promises/test_accounting.py::test_gaussian_delta_far_out",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        'return math.nextafter(least_float(too_large, "rho"), 0.0)',
        'return least_float(too_large, "rho")',
        "the largest rho is rounded up",
        ("tests/promises/test_accounting.py::test_zcdp_calibration",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "return float_above_real(lambda: -2 * normal_quantile(1 / (1 + exp_ball(power)))) if power else 0.0",
        "return float_above_real(lambda: -normal_quantile(1 / (1 + exp_ball(power)))) if power else 0.0",
        "pure promises have half their mu",
        ("tests/promises/test_accounting.py::test_pure_to_others",),
    ),
    Mutant(
        "designer/promises/accounting.py",
        "    if target >= power:\n        return float_above_real(lambda: rational_ball(promise.delta))\n",
        "    if target >= power:\n        return 0.0\n",
        "the delta is lost at a larger epsilon",
        ("tests/promises/test_accounting.py::test_pure_to_others",),
    ),
    Mutant(
        "designer/promises/approximate.py",
        "((1 + delta * exp_ball(-min(budget, Fraction(LARGEST_TOLD)))) / (1 - delta)).log()",
        "((1 + 2 * delta * exp_ball(-min(budget, Fraction(LARGEST_TOLD)))) / (1 - delta)).log()",
        "a delta allows longer changes than it does",
        ("tests/promises/test_approximate.py::test_randomised_response_spends_the_whole_delta_of_its_length",),
    ),
    Mutant(
        "designer/promises/approximate.py",
        "return Fraction(float_below_real(lambda: self._length(budget)))",
        "return Fraction(float_above_real(lambda: self._length(budget)))",
        "the length that a delta allows is rounded up",
        ("tests/promises/test_approximate.py::test_randomised_response_spends_the_whole_delta_of_its_length",),
    ),
    Mutant(
        "designer/promises/approximate.py",
        "result[positive] = right[at] + share * (right[at + 1] - right[at])",
        "result[positive] = right[at + 1]",
        "lengths between two nodes are those of the upper one",
        ("tests/promises/test_approximate.py::test_float_lengths_are_within_their_error",),
    ),
    Mutant(
        "designer/promises/approximate.py",
        "rational_ball(m) + (1 - rational_ball(delta) * (1 + exp_ball(-m))).log()",
        "rational_ball(m) + 2 * (1 - rational_ball(delta) * (1 + exp_ball(-m))).log()",
        "a change spends less than it does under a delta",
        ("tests/promises/test_approximate.py::test_randomised_response_spends_the_whole_delta_of_its_length",),
    ),
    Mutant(
        "designer/promises/analytic_gaussian.py",
        "    while not _keeps(mu, budget, delta):\n        mu = nextafter(mu, 0.0)\n",
        "    mu *= 1 + 2.0**-40\n",
        "the mu of a delta is not brought back to what is proven",
        ("tests/promises/test_approximate.py::test_the_length_is_the_float_below_the_root",),
    ),
    Mutant(
        "designer/promises/analytic_gaussian.py",
        "spent: arb = normal_cdf(near) - b.exp() * normal_cdf(far)",
        "spent: arb = normal_cdf(near) - 2 * b.exp() * normal_cdf(far)",
        "the delta of a Gaussian is too small",
        ("tests/promises/test_approximate.py::test_the_length_is_the_float_below_the_root",),
    ),
    Mutant(
        "designer/promises/tradeoff.py",
        'return Gaussian(self.mu_squared * count(size, "size") ** 2)',
        'return Gaussian(self.mu_squared * count(size, "size"))',
        "Gaussian groups grow with the root of their size",
        ("tests/promises/test_tradeoff.py::test_group_chains_and_refusals",),
    ),
    Mutant(
        "designer/promises/tradeoff.py",
        "        for _ in range(self.size - 1):\n            value = self.base.ball(1 - value, value)",
        "        for _ in range(self.size - 2):\n            value = self.base.ball(1 - value, value)",
        "group privacy is off by one record",
        ("tests/promises/test_tradeoff.py::test_conventions_balls_and_axioms",),
    ),
    Mutant(
        "designer/promises/tradeoff.py",
        "gap: arb = normal_cdf(mu / 2 - epsilon / mu) - slope * normal_cdf(-mu / 2 - epsilon / mu)",
        "gap: arb = normal_cdf(mu / 2 - epsilon / mu) - normal_cdf(-mu / 2 - epsilon / mu)",
        "the delta of a tradeoff forgets the factor e^epsilon",
        ("tests/promises/test_tradeoff.py::test_delta_is_the_largest_gap",),
    ),
    Mutant(
        "designer/promises/tradeoff.py",
        (
            "        last = () if self.delta == 0 else ((one, zero),)\n"
            "        return ((zero, most), (c, c), (most, zero), *last)"
        ),
        "        return ((c, c), (most, zero))",
        "a corner of (epsilon, delta) is left out",
        ("tests/promises/test_tradeoff.py::test_delta_is_the_largest_gap",),
    ),
    Mutant(
        "designer/promises/losses.py",
        "lowered, slack = _lowered(slopes, heights, (curve.unseen if backwards else curve.certain)(), ends)",
        "lowered, slack = _lowered(slopes, heights, (curve.certain if backwards else curve.unseen)(), ends)",
        "a lower ladder ends at the mass of the other direction",
        ("tests/promises/test_losses.py::test_what_one_law_never_has_is_counted_in_its_own_direction",),
    ),
    Mutant(
        "designer/promises/losses.py",
        "rest = (curve.unseen if backwards else curve.certain)() +",
        "rest = (curve.certain if backwards else curve.certain)() +",
        "tails are cut by the mass of the other direction",
        ("tests/promises/test_losses.py::test_what_one_law_never_has_is_counted_in_its_own_direction",),
    ),
)
