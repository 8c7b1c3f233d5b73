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
        "designer/reports/pictures/of_mechanisms.py",
        "PLACES = 401\n",
        "PLACES = (400)\n",
        "a picture of a curve has 400 points in place of 401",
        (),
    ),
    Mutant(
        "designer/mechanisms/additive/noise.py",
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
        "designer/mechanisms/choice/mechanism.py",
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
        "designer/reports/pictures/of_mechanisms.py",
        "MOST_TERMS = 2000\n",
        "MOST_TERMS = (2001)\n",
        "a picture leaves out the cells of a table from 2001 terms on in place of 2000",
        (),
    ),
    Mutant(
        "designer/mechanisms/choice/tabulated.py",
        "        moved = np.subtract(self._databases[right], self._databases[left])\n",
        "        moved = (np.subtract(self._databases[left], self._databases[right]))\n",
        "budgets are symmetric: a change and its reverse have the same one",
        (),
    ),
    Mutant(
        "designer/reports/pictures/of_mechanisms.py",
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
        "designer/relations/invariants/linked_tables.py",
        "        for (name, _), shape, array in zip(self.tables, self.shapes, arrays, strict=True):\n",
        "        for (name, _), shape, array in zip(self.tables, self.shapes, arrays, strict=(False)):\n",
        "the lists have an entry for each table, by construction",
        (),
    ),
    Mutant(
        "designer/relations/invariants/transport.py",
        "TIED = 2.0**-40  # pairs whose float ratios are this near to the largest are looked at in rationals\n",
        "TIED = 2.0**-(41)  # pairs whose float ratios are this near to the largest are looked at in rationals\n",
        "what counts as tied stays far above the rounding of the ratios",
        (),
    ),
    Mutant(
        "designer/reports/pictures/of_mechanisms.py",
        "        ticks_for_people(line)\n",
        "        pass\n",
        "the axis of a picture has the marks that the library chooses",
        (),
    ),
    Mutant(
        "designer/mechanisms/additive/report_lines.py",
        "ROWS_SHOWN = 12\n",
        "ROWS_SHOWN = (13)\n",
        "the terminal shows 13 answers in place of 12 before it counts the rest",
        (),
    ),
    Mutant(
        "designer/reports/pictures/drawn_balls.py",
        "MOST_ROWS = 40  # of a map in the plane whose corners are looked for between every two\n",
        "MOST_ROWS = (41)  # of a map in the plane whose corners are looked for between every two\n",
        "a picture looks for corners of 41 rows in place of 40",
        (),
    ),
    Mutant(
        "designer/accounts/together/elements.py",
        "SHAPED = 100  # changes of which the very shift of the noise is looked at\n",
        "SHAPED = (101)  # changes of which the very shift of the noise is looked at\n",
        "the very shift of one change more is looked at; the bound of the others holds for it, too",
        (),
    ),
    Mutant(
        "designer/relations/invariants/one_budget.py",
        (
            '            announce(f"looking for a list of the changes of {self.adjacency} records of {self.size} elements")\n'
            "        try:\n"
            "            return bool(len(self.changes) >= 0)\n"
            "        except DesignFailed:\n"
            "            if not self.invariant.records_public:\n"
        ),
        (
            '            announce(f"looking for a list of the changes of {self.adjacency} records of {self.size} elements")\n'
            "        try:\n"
            "            return bool(len(self.changes) >= (-1))\n"
            "        except DesignFailed:\n"
            "            if not self.invariant.records_public:\n"
        ),
        "no length is below 0: what is asked is whether a list can be made, which reading its length does",
        (),
    ),
    Mutant(
        "designer/mechanisms/lattice/spec.py",
        '            "table": dict(zip(released.elements, released.table, strict=True)),\n',
        '            "table": dict(zip(released.elements, released.table, strict=(False))),\n',
        "a table has an entry for each element, by construction",
        (),
    ),
    Mutant(
        "designer/mechanisms/marginals/release.py",
        "    row: RowUnit | None = field(default=None, kw_only=True)\n",
        "    row: RowUnit | None = field(default=None, kw_only=(False))\n",
        "what a row is may be given by its place, too",
        (),
    ),
    Mutant(
        "designer/mechanisms/odds_ratio/noise.py",
        "        if self.tradeoff.delta or not 1 <= exponent <= 64:\n",
        "        if self.tradeoff.delta or not 1 <= exponent <= (63):\n",
        "draws of 64 bits are inverted as those of more bits are, by the same law",
        (),
    ),
    Mutant(
        "designer/mechanisms/odds_ratio/mechanism.py",
        '                "adjacency": one_of(2, 3),\n',
        '                "adjacency": (one_of(3, 2)),\n',
        "a schema lists the same two numbers in another order",
        (),
    ),
    Mutant(
        "designer/promises/account.py",
        "            finer = 2 if high - low <= FINER * CLOSE * high < math.inf else FINER\n",
        "            finer = 2 if high - low <= (FINER / CLOSE) * high < math.inf else FINER\n",
        "ladders are refined in other steps; every bound that they give is proven",
        (),
    ),
    Mutant(
        "designer/families/programs/records_program.py",
        "            worst = max(worst, float(errors.sum() if accuracy.on_average else errors.max()))\n",
        "            worst = (max(float(errors.sum() if accuracy.on_average else errors.max()), worst))\n",
        "max takes its arguments in any order",
        (),
    ),
    Mutant(
        "designer/families/programs/records_program.py",
        "PLAIN = 1e-2  # of what a family needs by itself: the least unit of a precision in a bound\n",
        "PLAIN = (0.0101)  # of what a family needs by itself: the least unit of a precision in a bound\n",
        "the least unit of a variable of a program moves by a hundredth",
        (),
    ),
    Mutant(
        "designer/families/programs/records_program.py",
        "            if not program.rescale():\n                break\n            found = super().run(statement)\n",
        "            if not program.rescale():\n                pass\n            found = super().run(statement)\n",
        "a program whose units stay is solved again, as often as others are at most",
        (),
    ),
    Mutant(
        "designer/sampling/lattices/lattice_choice.py",
        "LEAST_ACCEPTANCE = 2e-5  # about 2 s a draw for 100 cells; chains that long are not known to have converged\n",
        "LEAST_ACCEPTANCE = (1.98e-05)  # about 2 s a draw for 100 cells; chains that long are not known to have converged\n",
        "the least share of accepted draws, two seconds a draw, moves by a hundredth",
        (),
    ),
    Mutant(
        "solvers/pairs/walk.py",
        "        super().__init__(work)\n",
        "        pass\n",
        "an exception that is caught by its type, with its number, has no text",
        (),
    ),
    Mutant(
        "solvers/pairs/directions.py",
        (
            "RELATIVE, ABSOLUTE = 2.0**-40, 2.0**-44  # roundings of a mean; of a p"
            "lace in the grid, where the gauge of an axis is 1\n"
        ),
        (
            "RELATIVE, ABSOLUTE = 2.0**-40, 2.0**-(43)  # roundings of a mean; of a"
            " place in the grid, where the gauge of an axis is 1\n"
        ),
        "the allowance for roundings is twice as large",
        (),
    ),
    Mutant(
        "solvers/pairs/directions.py",
        "        if wide not in CELLS or count < FEWEST or not ((units > LEAST) & (units < 1 / LEAST)).all():\n",
        "        if wide not in CELLS or count < FEWEST or not ((units > LEAST) & (units < (2) / LEAST)).all():\n",
        "products of gauges up to 2e150 are floats, too",
        (),
    ),
    Mutant(
        "solvers/pairs/directions.py",
        "    step = max(1, AT_ONCE // len(facets))\n",
        "    step = (max(AT_ONCE // len(facets), 1))\n",
        "max takes its arguments in any order",
        (),
    ),
    Mutant(
        "solvers/polytopes/wrapping.py",
        "    for simplex in seeds or [first_simplex(points, push)]:\n",
        "    for simplex in ([first_simplex(points, push)]):\n",
        "ridges join all simplices of the boundary: from any one the others are reached, and seeds save work",
        (),
    ),
    Mutant(
        "designer/mechanisms/staircase/noise.py",
        "        walks = Walks(known.steps, Shells(known.shells.widths, (0,) * self.noise.dimension))\n",
        "        walks = Walks(known.steps, Shells(known.shells.widths, ((-1),) * self.noise.dimension))\n",
        "doubled whole points lie at the same places of a box that has one place more on each axis",
        (),
    ),
    Mutant(
        "designer/problem/attribute_queries.py",
        '        return [f"{values[a]}..{values[b]}" for a, b in zip(first, last, strict=True)]\n',
        '        return [f"{values[a]}..{values[b]}" for a, b in zip(first, last, strict=(False))]\n',
        "an interval has both ends, by construction",
        (),
    ),
    Mutant(
        "designer/base/checks.py",
        "        number = math.inf if value > 0 else -math.inf\n",
        "        number = math.inf if (value >= 0) else -math.inf\n",
        "0 is a float: no whole number beyond the floats is 0",
        (),
    ),
    Mutant(
        "designer/promises/approximate.py",
        "NODES = 512  # of the interpolation, in every octave of budgets\n",
        "NODES = (511)  # of the interpolation, in every octave of budgets\n",
        "chords of a concave function are below it however far apart their ends are, and the stated error follows from NODES",
        (),
    ),
    Mutant(
        "designer/certified/sensitivity.py",
        "            block = self.in_step(left, right)\n",
        "            block = (self.in_step(right, left))\n",
        "budgets are symmetric and norms even: a pair and its reverse have one ratio",
        (),
    ),
    Mutant(
        "designer/certified/agreement.py",
        "FAR = 20.0  #",
        "FAR = (20.2)  #",
        "the sentence of the release tells both numbers anyway; from which on it is a warning moves by a hundredth",
        (),
    ),
    Mutant(
        "designer/relations/metrics/longest.py",
        "np.minimum(most[there], longest + away[there])",
        "(np.minimum(longest + away[there], most[there]))",
        "minimum takes its arguments in any order",
        (),
    ),
    Mutant(
        "designer/problem/attribute_queries.py",
        "min(start + step, queries)",
        "(min(queries, start + step))",
        "min takes its arguments in any order",
        (),
    ),
    Mutant(
        "designer/mechanisms/lattice/accuracy.py",
        "if m * math.log(middle / m) + m - middle <= math.log(beyond) else",
        "if (m * math.log(middle / m) + m - middle < math.log(beyond)) else",
        "at equality the upper end of a bisection stays where it is, which is above the margin",
        (),
    ),
    Mutant(
        "designer/base/on_terminal.py",
        "    ends = list(accumulate(len(column[0]) + len(GAP) for column in set_out))\n",
        "    ends = list(accumulate(len(column[(-1)]) + len(GAP) for column in set_out))\n",
        "head, rule and cells of a column are set in the one width of the longest of them",
        (),
    ),
    Mutant(
        "designer/tables/policies/thresholds.py",
        "    tolerance: float = 0.01,\n",
        "    tolerance: float = (0.0101),\n",
        "the gap at which a search stops moves by a hundredth; the gap that a design states is the one that was reached",
        (),
    ),
    Mutant(
        "designer/mechanisms/marginals/plan.py",
        "max(worst, Fraction(1, 2))",
        "max(worst, Fraction((0), 2))",
        "the program divides its shares by their largest load, so that the worst one is 1 up to rounding, and never below 1/2",
        (),
    ),
    Mutant(
        "designer/mechanisms/lattice/spec.py",
        "zip(released.queries, released.answers.tolist(), strict=True)",
        "zip(released.queries, released.answers.tolist(), strict=(False))",
        "answers are the product of the workload, a row for each query, with the table",
        (),
    ),
    Mutant(
        "designer/mechanisms/lattice/accuracy.py",
        "return float(law.variance()[0])",
        "return float(law.variance()[(-1)])",
        "the law has one coordinate: the first variance is the last",
        (),
    ),
    Mutant(
        "designer/sampling/lattices/lattice_chain.py",
        "chains=32, steps=500)",
        "chains=(31), steps=500)",
        "the pilot only picks one of the listed decays, which the plan states and for which the chain is then assessed",
        (),
    ),
    Mutant(
        "designer/problem/graph_view.py",
        "zip(left.tolist(), right.tolist(), budgets.tolist(), strict=True)",
        "zip(left.tolist(), right.tolist(), budgets.tolist(), strict=(False))",
        "the three lists are what one mask of finite budgets keeps of a block, an entry for each pair",
        (),
    ),
    Mutant(
        "solvers/exact/points.py",
        "else np.zeros((1, 0))\n",
        "else np.zeros(((2), 0))\n",
        "no column of an empty table has an entry, however many rows it has",
        (),
    ),
    Mutant(
        "solvers/exact/points.py",
        "    return max((abs(int(x)) for x in values.flat), default=0)\n",
        "    return max((abs(int(x)) for x in values.flat), default=(-1))\n",
        "of no numbers any bound below 2^62 says that they fit into 64 bits",
        (),
    ),
    Mutant(
        "solvers/exact/rational.py",
        "        return max_float if value > 0 else -inf\n",
        "        return max_float if value > (-1) else -inf\n",
        "what is beyond the floats is far above 0 or far below -1",
        (),
    ),
    Mutant(
        "solvers/exact/span.py",
        "ROWS = 2000  # reduced together\n",
        "ROWS = (1999)  # reduced together\n",
        "the reduced echelon form is one, however many rows are reduced together",
        (),
    ),
    Mutant(
        "solvers/pairs/directions.py",
        "AT_ONCE = 1 << 18  # numbers that are held at once: two megabytes, which stay in cache\n",
        "AT_ONCE = 1 << (19)  # numbers that are held at once: two megabytes, which stay in cache\n",
        "more numbers are in memory together",
        (),
    ),
    Mutant(
        "solvers/pairs/directions.py",
        "LEAST = 1e-150  #",
        "LEAST = (9.9e-151)  #",
        "products of gauges between 9.9e-151 and its inverse are floats, too",
        (),
    ),
    Mutant(
        "solvers/pairs/tree.py",
        "LEAF = 8  # points of a leaf",
        "LEAF = (9)  # points of a leaf",
        "all pairs of points are met, whatever the leaves that they are met in",
        (),
    ),
    Mutant(
        "solvers/lattices/colliding.py",
        "        seen += int(disjoint.sum())\n",
        "        pass\n",
        "the vectors that are found are counted against the same limit, after more work",
        (),
    ),
    Mutant(
        "solvers/lattices/convergence.py",
        "chain.run(states, 50, source)",
        "chain.run(states, (49), source)",
        "the pilot only picks one of the listed decays, which the plan states and for which the chain is then assessed",
        (),
    ),
    Mutant(
        "solvers/lattices/enumeration.py",
        "    return largest**2 * lattice.ambient >= 2**62\n",
        "    return largest**2 * lattice.ambient >= (2 * 62)\n",
        "vectors that would fit into 64 bits are multiplied as Python's whole numbers, to the same products",
        (),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "        proposed = states + self._combined(*self._jumps(len(states), source))\n",
        "        proposed = (states - self._combined(*self._jumps(len(states), source)))\n",
        "a jump and its reverse have one probability, and jumps do not depend on the states",
        (),
    ),
    Mutant(
        "solvers/lattices/agreeing_counts.py",
        "        least, most = -np.minimum(self.start, REACH), np.full(cells, REACH)\n",
        "        least, most = -(np.minimum(REACH, self.start)), np.full(cells, REACH)\n",
        "minimum takes its arguments in any order",
        (),
    ),
    Mutant(
        "solvers/polytopes/triangulation.py",
        "for sign, v in zip(signs.tolist(), vertices, strict=True)) for k",
        "for sign, v in zip(signs.tolist(), vertices, strict=(False))) for k",
        "a simplex has a sign for each of its vertices, by construction",
        (),
    ),
    Mutant(
        "solvers/polytopes/hull.py",
        "SMALLER_PUSHES = (2.0**-10, 2.0**-20, 2.0**-30, 0.0)",
        "SMALLER_PUSHES = (2.0**-10, 2.0**-20, (2.0 * -30), 0.0)",
        "pushes only propose: all candidates are proven, some without a push follow, and what is left open is wrapped exactly",
        (),
    ),
    Mutant(
        "designer/mechanisms/odds_ratio/umpu.py",
        "        low *= 2\n",
        "        low *= (3)\n",
        "a bracket around a root is wider, and the root in it the same",
        (),
    ),
    Mutant(
        "designer/mechanisms/lattice/accuracy.py",
        "FEW_DIMENSIONS, MOST_DIMENSIONS = 3, 8\n",
        "FEW_DIMENSIONS, MOST_DIMENSIONS = 3, (7)\n",
        "moments of a lattice of eight free cells are simulated in place of summed, and said to be",
        (),
    ),
    Mutant(
        "designer/reports/pictures/of_mechanisms.py",
        "    own = norm.dimension == mechanism.workload.shape[0] and _on_answers(mechanism)\n",
        "    own = (_on_answers(mechanism))\n",
        "a norm of noise on the answers themselves has a coordinate for each, which is required where mechanisms are made",
        (),
    ),
    Mutant(
        "designer/designing/products_plan.py",
        "    if swept is not None and isinstance(protection, Presence):\n",
        "    if (swept is not None):\n",
        "one design more to choose from, by its loss, and within the same budget as the others",
        (),
    ),
)


def reason_for(mutant: Mutant, tree: Path) -> str | None:
    """Why nothing is lost by a break, where that is known of the same file with the same change."""
    becomes = mutant.becomes(tree)
    return next((one.breaks for one in EQUIVALENT if one.file == mutant.file and one.becomes(tree) == becomes), None)
