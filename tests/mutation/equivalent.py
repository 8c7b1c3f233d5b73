"""Drawn breaks that no test sees and none has to, each with the reason why nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.mutant import Mutant

EQUIVALENT: tuple[Mutant, ...] = (
    Mutant(
        "solvers/exact/rational.py",
        "    shift = 84 + max(0, (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + 1)\n",
        "    shift = 84 + max(0, (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + (0))\n",
        "roots keep 83 bits beyond their first, where 80 are stated",
        (),
    ),
    Mutant(
        "designer/certified/drawn_tradeoffs.py",
        "PLACES = 401\n",
        "PLACES = (400)\n",
        "a picture of a curve has 400 points in place of 401",
        (),
    ),
    Mutant(
        "designer/additive/noise.py",
        "    return Noise(sampler, heard, units, covariance, _proportional(covariance, absolute))\n",
        "    return Noise(sampler, heard, units, covariance, (_proportional(absolute, covariance)))\n",
        "the two factors of a proportional matrix come in any order",
        (),
    ),
    Mutant(
        "solvers/polytopes/triangulation.py",
        "    per_word = max(1, int(62 / math.log2(max(2, base))))\n",
        "    per_word = max(1, int(62 / math.log2((max(base, 2)))))\n",
        "max takes its arguments in any order",
        (),
    ),
    Mutant(
        "designer/selection/mechanism.py",
        "LEAST_RATE = 1e-140\n",
        "LEAST_RATE = (1.01e-140)\n",
        "the least rate, far below every unit of score, moves by a hundredth",
        (),
    ),
    Mutant(
        "designer/sampling/lattices/klein_steps.py",
        "        doubts = np.abs(centres) * 2.0**-51\n",
        "        doubts = np.abs(centres) * (2.02)**-51\n",
        "the doubt of a centre stays above the rounding of its division, 2^-53 of it",
        (),
    ),
    Mutant(
        "designer/promises/piecewise.py",
        "    return fraction_above(lambda: exp_ball(exponent), bits=40)\n",
        "    return fraction_above(lambda: exp_ball(exponent), bits=(39))\n",
        "the number is rounded up all the same, to a bit less",
        (),
    ),
    Mutant(
        "designer/structured/drawn.py",
        "MOST_TERMS = 2000\n",
        "MOST_TERMS = (2001)\n",
        "a picture leaves out the cells of a table from 2001 terms on in place of 2000",
        (),
    ),
    Mutant(
        "designer/selection/tabulated.py",
        "        moved = np.subtract(self._databases[right], self._databases[left])\n",
        "        moved = (np.subtract(self._databases[left], self._databases[right]))\n",
        "budgets are symmetric: a change and its reverse have the same one",
        (),
    ),
    Mutant(
        "designer/certified/drawn_tradeoffs.py",
        '    return Drawing("tradeoff", "What any test can tell", alt, draw, width=5.0, height=4.6)\n',
        '    return Drawing("tradeoff", "What any test can tell", alt, draw, width=5.0, height=(4.553999999999999))\n',
        "the height of a picture",
        (),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "        order = order[self.ratios[order] > 0]\n",
        "        order = order[(self.ratios[order] >= 0)]\n",
        "pairs of ratio 0 are proposed to a design, which they do not constrain",
        (),
    ),
    Mutant(
        "designer/sampling/bodies/polytope_grid.py",
        "ENTRIES_AT_ONCE = 2**21  # products of draws and facets that are in memory together\n",
        "ENTRIES_AT_ONCE = (2 * 21)  # products of draws and facets that are in memory together\n",
        "fewer products are in memory together",
        (),
    ),
    Mutant(
        "solvers/pairs/directions.py",
        "AT_ONCE = 1 << 18  # numbers that are held at once: two megabytes, which stay in cache\n",
        "AT_ONCE = 1 << (17)  # numbers that are held at once: two megabytes, which stay in cache\n",
        "fewer numbers are in memory together",
        (),
    ),
    Mutant(
        "designer/tables/unit_splitting.py",
        "        return [ibis.cases(*branches, else_=default) for branches, default in zip(cases, defaults, strict=True)]\n",
        "        return [ibis.cases(*branches, else_=default) for branches, default in zip(cases, defaults, strict=(False))]\n",
        "both lists have an entry for each measure, by construction",
        (),
    ),
    Mutant(
        "designer/invariants/linked_cells.py",
        "        for (name, _), shape, array in zip(self.tables, self.shapes, arrays, strict=True):\n",
        "        for (name, _), shape, array in zip(self.tables, self.shapes, arrays, strict=(False)):\n",
        "the lists have an entry for each table, by construction",
        (),
    ),
    Mutant(
        "designer/invariants/transport.py",
        "TIED = 2.0**-40  # pairs whose float ratios are this near to the largest are looked at in rationals\n",
        "TIED = 2.0**-(41)  # pairs whose float ratios are this near to the largest are looked at in rationals\n",
        "what counts as tied stays far above the rounding of the ratios",
        (),
    ),
)


def reason_for(mutant: Mutant, tree: Path) -> str | None:
    """Why nothing is lost by a break, where that is known of the same file with the same change."""
    becomes = mutant.becomes(tree)
    return next((one.breaks for one in EQUIVALENT if one.file == mutant.file and one.becomes(tree) == becomes), None)
