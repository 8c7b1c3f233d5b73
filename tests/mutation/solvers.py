"""Breaks of the mathematics that certificates stand on: exact numbers, groups of pairs, chains and bodies."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

TAILS, BRACKET, FIT = (f"solvers/programs/{name}.py" for name in ("symmetric_tails", "factor_bracket", "table_fit"))
OF_TAILS = ("tests/mechanisms/additive/test_margins.py::test_cones_beside_an_axis_do_not_widen_the_margin",)
OF_SHARP = ("tests/mechanisms/additive/test_margins.py::test_a_margin_of_cones_is_sharp_whether_narrow_ones_are_few_or_most",)
OF_NARROW = ("tests/mechanisms/additive/test_margins.py::test_the_tail_of_narrow_cones_is_bounded",)
OF_STEPS = (
    "tests/solvers/programs/test_factor_bracket.py"
    "::test_ratios_that_fall_in_steps_are_bracketed_where_they_first_come_down_to_1",
)
OF_SHARES = ("tests/mechanisms/marginals/test_whole_tables.py::test_a_public_number_of_records_is_shared_by_all_cells",)
OF_FITS = ("tests/mechanisms/marginals/test_whole_tables.py::test_a_public_number_of_records_is_kept",)

MUTANTS = (
    Mutant(
        "solvers/exact/rational.py",
        "return low if low * low == square else low * (1 + Fraction(1, 1 << 79))",
        "return low",
        "roots are rounded down on both sides",
        ("tests/solvers/exact/test_rational.py::test_roots_lie_on_their_side_and_as_near_as_stated",),
    ),
    Mutant(
        "solvers/exact/rational.py",
        "return nearest if Fraction(nearest) <= value else nextafter(nearest, -inf)",
        "return nearest",
        "floats below a number are the nearest ones",
        ("tests/solvers/exact/test_rational.py::test_floats_on_either_side_have_no_float_between_them_and_the_number",),
    ),
    Mutant(
        "solvers/exact/rational.py",
        "low = int(exponents[matrix != 0].min(initial=53)) - 53",
        "low = int(exponents[matrix != 0].max(initial=-1000)) - 53",
        "small entries of a matrix lose their digits",
        ("tests/solvers/exact/test_rational.py::test_ranks_and_whole_numbers_of_floats_are_those_of_the_rationals",),
    ),
    Mutant(
        "solvers/exact/balls.py",
        "    while not arb(value) >= ball:\n        value = math.nextafter(value, math.inf)\n    return value",
        "    return value",
        "floats above a real number are the nearest ones",
        ("tests/promises/test_accounting.py::test_gaussian_delta_far_out",),
    ),
    Mutant(
        "solvers/exact/balls.py",
        "return None if lower is None or upper is None or int(upper) - int(lower) > 1 else int(lower)",
        "return None if lower is None or upper is None else int(upper)",
        "fractions below a real number are above it",
        ("tests/solvers/exact/test_balls.py::test_a_number_that_is_next_to_a_multiple_is_rounded_to_the_side_that_is_proven",),
    ),
    Mutant(
        "solvers/exact/bits.py",
        "with _held, ctx.workprec(bits):",
        "with _held:",
        "the precision stays as it is, and more bits change nothing",
        ("tests/solvers/exact/test_precision.py::test_threads_compute_what_one_thread_computes",),
    ),
    Mutant(
        "solvers/pairs/walk.py",
        (
            "left = (2 * a[:, None] + np.array([0, 0, 1, 1])).ravel()\n"
            "    right = (2 * b[:, None] + np.array([0, 1, 0, 1])).ravel()"
        ),
        ("left = (2 * a[:, None] + np.array([0, 0, 1])).ravel()\n    right = (2 * b[:, None] + np.array([0, 1, 1])).ravel()"),
        "of the pairs of children one is never opened",
        ("tests/solvers/pairs/test_walk.py::test_every_pair_of_leaves_is_met_once",),
    ),
    Mutant(
        "solvers/pairs/walk.py",
        ("            waiting += [(level + 1, a[i : i + PIECE], b[i : i + PIECE]) for i in range(0, len(a), PIECE)]"),
        "            waiting += [(level + 1, a[:PIECE], b[:PIECE])]",
        "what is beyond a piece is left out",
        ("tests/solvers/pairs/test_walk.py::test_every_pair_of_leaves_is_met_once",),
    ),
    Mutant(
        "solvers/pairs/tree.py",
        "levels.append(of_two(levels[-1][::2], levels[-1][1::2]))",
        "levels.append(levels[-1][::2])",
        "boxes of groups are those of their first half",
        ("tests/certified/test_searched_pairs.py::test_a_search_finds_the_certificate_of_a_look_at_every_pair",),
    ),
    Mutant(
        "solvers/pairs/tree.py",
        "return np.asarray(np.maximum(np.maximum(lows[:, a] - highs[:, b], lows[:, b] - highs[:, a]), 0.0))",
        "return np.asarray(np.maximum(np.abs(lows[:, a] - lows[:, b]), 0.0))",
        "groups are taken for farther apart than they are",
        ("tests/certified/test_searched_pairs.py::test_a_search_finds_the_certificate_of_a_look_at_every_pair",),
    ),
    Mutant(
        "designer/problem/nearness.py",
        "return np.asarray(self.rule(gaps, low_a, low_b) * (1 - SLACK))",
        "return np.asarray(self.rule(gaps, low_a, low_b) * 1.5)",
        "the least budget between two groups is too large",
        ("tests/certified/test_searched_pairs.py::test_a_search_finds_the_certificate_of_a_look_at_every_pair",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "return np.asarray(np.where(sign * (1.0 + a) < 1.0, size, -1 - size))",
        "return np.asarray(np.where(sign < 0.5, size, -1 - size))",
        "the jumps of a chain lean to one side",
        ("tests/solvers/lattices/test_chain.py::test_many_chains_end_in_the_target",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "accept = threshold <= np.exp(np.minimum(energies - new, 0.0))",
        "accept = threshold <= np.exp(np.minimum((energies - new) / 2, 0.0))",
        "a chain accepts as if noise were twice as wide",
        ("tests/solvers/lattices/test_chain.py::test_many_chains_end_in_the_target",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "gap = self._coefficients(first[0] - second[0], chosen)",
        "gap = self._coefficients(second[0] - first[0], chosen)",
        "coupled chains jump apart",
        ("tests/solvers/lattices/test_chain.py::test_variation_bound_holds_for_the_exact_distance",),
    ),
    Mutant(
        TAILS,
        " + law.narrow_tail(middle)\n",
        "\n",
        "narrow cones beside wide ones have no tails",
        ("tests/mechanisms/additive/test_margins.py::test_a_margin_that_narrow_cones_decide_is_not_too_small",),
    ),
    Mutant(
        TAILS,
        "return float(self._wide[0].sum())",
        "return float(self.weights.sum())",
        "narrow cones count twice, and margins are wider than need be",
        OF_TAILS,
    ),
    Mutant(
        TAILS,
        "s * np.exp(-x / (s * heights))",
        "np.exp(-s * x / heights)",
        "of a sum of exponentials every one must be large",
        OF_NARROW,
    ),
    Mutant(
        TAILS,
        "NARROW = 1 / 32",
        "NARROW = 1e-12",
        "cones beside an axis widen the margins",
        OF_TAILS,
    ),
    Mutant(
        TAILS,
        "for narrow in (0.0, NARROW)",
        "for narrow in (NARROW,)",
        "where most of the weight is on narrow cones, margins are wider than need be",
        OF_SHARP,
    ),
    Mutant(
        BRACKET,
        "guess = met / stride",
        "guess = met / (1 + step) ** 0.999",
        "a ratio in steps is followed in steps that never reach its edge",
        OF_STEPS,
    ),
    Mutant(
        BRACKET,
        "guess = max(guess, missed * stride)",
        "guess = max(guess, missed)",
        "a ratio that stands still just above 1 is followed without end",
        OF_STEPS,
    ),
    Mutant(
        FIT,
        "            gains[:2] = [np.inf, np.inf]\n",
        "            pass\n",
        "a public number of records is fitted like any other",
        OF_FITS,
    ),
    Mutant(
        FIT,
        "real = real * (records / real.sum()) if real.sum() > 0 else",
        "real = real if real.sum() > 0 else",
        "what a public number of records is above the fit goes to the last cell",
        OF_SHARES,
    ),
    Mutant(
        FIT,
        "if real.sum() > 0 else np.full(shape, records / real.size)",
        "if real.sum() > 0 else real",
        "where the fit is empty, a public number of records goes to the last cell",
        OF_SHARES,
    ),
    Mutant(
        FIT,
        "        totals[-1] = max(rest, 0)\n",
        "        pass\n",
        "a large public number of records is missed by the rounding of sums",
        ("tests/mechanisms/marginals/test_whole_tables.py::test_a_public_number_of_records_is_kept_beyond_the_digits_of_sums",),
    ),
    Mutant(
        "solvers/exact/masses.py",
        "            if times % 2:\n",
        "            if times % 1:\n",
        "no power of masses has a factor",
        ("tests/solvers/exact/test_forms_and_points.py::test_powers_of_masses_are_their_repeated_convolution",),
    ),
    Mutant(
        "solvers/exact/masses.py",
        "else result * square\n",
        "else result / square\n",
        "powers of masses are divided",
        ("tests/solvers/exact/test_forms_and_points.py::test_powers_of_masses_are_their_repeated_convolution",),
    ),
    Mutant(
        "solvers/exact/masses.py",
        "            square = square * square if times else square\n",
        "            square = square if times else square * square\n",
        "a power of masses has as many factors as its exponent has ones",
        ("tests/solvers/exact/test_forms_and_points.py::test_powers_of_masses_are_their_repeated_convolution",),
    ),
    Mutant(
        "solvers/exact/points.py",
        "        if (common := math.gcd(*above)) == 0:\n            continue\n",
        "        if (common := math.gcd(*above)) == 0:\n            pass\n",
        "a row of zeros has a direction",
        (
            "tests/solvers/exact/test_forms_and_points.py::test_of_rows_on_one_line_the_longest_is_kept_and_rows_of_zeros_are_not",
        ),
    ),
    Mutant(
        "solvers/pairs/cones.py",
        '    if order == "linf":\n',
        '    if order != "linf":\n',
        "corners of the cube stand for the sphere, and the sphere for the cube",
        ("tests/solvers/pairs/test_cones.py::test_the_length_of_a_map_over_each_ball",),
    ),
    Mutant(
        "solvers/pairs/cones.py",
        "    full = np.zeros((len(at), at.shape[1] + 1))\n",
        "    full = np.zeros((len(at), at.shape[1] + 2))\n",
        "directions of a sphere have a coordinate too many",
        ("tests/solvers/pairs/test_cones.py::test_the_length_of_a_map_over_each_ball",),
    ),
    Mutant(
        "solvers/pairs/walk.py",
        "            a, b = opened(a[keep], b[keep])\n",
        "            a, b = opened(b[keep], a[keep])\n",
        "of pairs of two nodes near the root no children are met",
        ("tests/solvers/pairs/test_walk.py::test_every_pair_of_leaves_is_met_once",),
    ),
    Mutant(
        "solvers/pairs/tree.py",
        "        different = left != right\n",
        "        different = left == right\n",
        "a point is paired with itself, and with no other",
        ("tests/solvers/pairs/test_walk.py::test_pairs_between_leaves_are_all_pairs_of_different_points",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "        chosen = (uniforms((rows,), source) * len(self.directions)).astype(np.intp)\n",
        "        chosen = (uniforms((rows,), source) / len(self.directions)).astype(np.intp)\n",
        "a chain goes along its first direction alone",
        ("tests/solvers/lattices/test_chain.py::test_steps_go_along_each_direction_as_often",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "source: Words, thin: int = 0)",
        "source: Words, thin: int = -1)",
        "a chain keeps all states where none are asked for",
        ("tests/solvers/lattices/test_chain.py::test_steps_go_along_each_direction_as_often",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        "(words.astype(np.float64) + 0.5) * 2.0**-52",
        "(words.astype(np.float64) + 0.505) * 2.0**-52",
        "uniform numbers are not in the middle of their parts",
        ("tests/solvers/lattices/test_chain.py::test_uniforms_are_the_middles_of_equal_parts_and_never_an_end",),
    ),
    Mutant(
        "solvers/lattices/chain.py",
        ">> np.uint64(12)",
        ">> np.uint64(11)",
        "uniform numbers reach twice as far as 1",
        ("tests/solvers/lattices/test_chain.py::test_uniforms_are_the_middles_of_equal_parts_and_never_an_end",),
    ),
    Mutant(
        "solvers/lattices/steps.py",
        "        return tuple(max(1, round(",
        "        return tuple(max(2, round(",
        "no width of shells is 1",
        ("tests/solvers/lattices/test_walks.py::test_natural_widths_are_in_proportion_to_how_far_a_unit_of_cost_leads",),
    ),
    Mutant(
        "solvers/lattices/peaked_law.py",
        "        first = math.log(self.walks.shells.slope(k + 1)) +",
        "        first = math.log(self.walks.shells.slope(k - 1)) +",
        "the first shell of a tail has as many points as the last but one before it",
        ("tests/solvers/lattices/test_walks.py::test_tails_of_a_law_of_walks_are_at_most_as_bounded_and_little_less",),
    ),
    Mutant(
        "solvers/lattices/conforming_tables.py",
        "    if found.x is None or found.status != 0:\n",
        "    if found.x is None and found.status != 0:\n",
        "what a solver stops with is taken for the minimum",
        ("tests/solvers/lattices/test_walks.py::test_what_a_solver_stops_with_is_no_minimum",),
    ),
    Mutant(
        "solvers/lattices/agreeing_counts.py",
        "        return moves if moves is not None and self._keeps(moves) else None\n",
        "        return None if moves is not None and self._keeps(moves) else moves\n",
        "counts nearby that keep the totals are dropped, and others kept",
        ("tests/solvers/lattices/test_agreeing_counts.py::test_totals_that_no_window_reaches_are_kept_by_counts_nearby",),
    ),
    Mutant(
        "solvers/polytopes/extremes.py",
        "        go_on()\n        require_within(least",
        "        require_within(least",
        "hulls grow on when their work is done",
        ("tests/solvers/polytopes/test_extremes.py::test_rounds_end_where_their_work_is_done",),
    ),
    Mutant(
        "solvers/polytopes/triangulation.py",
        "np.where(counts > 0, counts,",
        "np.where(counts < 0, counts,",
        "one direction is tried in a facet without simplices, or with many",
        ("tests/solvers/polytopes/test_hull.py::test_one_direction_is_tried_in_a_facet_that_has_simplices",),
    ),
)
