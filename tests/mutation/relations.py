"""Breaks of relations: pairs that are not listed, budgets that are larger than stated, groups and sums that come out wrong."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/relations/metrics/metric.py",
        "budgets[:, : len(budgets)][np.tri(len(budgets), dtype=bool)] = np.inf",
        (
            "budgets[:, : len(budgets) + 1][np.tri(len(budgets), budgets[:, : len(budgets) + 1].shape[1], 1, "
            "dtype=bool)] = np.inf"
        ),
        "neighbouring elements are not listed",
        ("tests/relations/metrics/test_metrics.py::test_float_budgets_are_within_the_stated_error_of_the_exact_ones",),
    ),
    Mutant(
        "designer/relations/metrics/metric.py",
        "return None if budget is None else budget * Fraction(self.factor)",
        "return None if budget is None else 2 * budget * Fraction(self.factor)",
        "the budget of a scaled pair is doubled",
        ("tests/relations/metrics/test_metric_kinds.py::test_one_of_every_kind",),
    ),
    Mutant(
        "designer/relations/metrics/metric.py",
        "return self.exact(known) if len(known) == len(budgets) else None",
        "return self.exact(known) if known else None",
        "what is unprotected in one part is protected in the whole",
        ("tests/relations/test_composition.py::test_pure_budgets_add_and_gaussian_ones_in_squares",),
    ),
    Mutant(
        "designer/relations/metrics/metric.py",
        "left, right = np.tile(lines[value], value), lines[:value].ravel()",
        "left, right = np.tile(lines[value], 1), lines[value - 1].ravel()",
        "of an attribute only neighbouring values are paired",
        ("tests/relations/metrics/test_sums_over_attributes.py::test_the_worst_ratio_is_that_of_every_pair_by_brute_force",),
    ),
    Mutant(
        "designer/relations/metrics/algebra.py",
        "        return max(budgets)\n",
        "        return sum(budgets, Fraction(0))\n",
        "the maximum of metrics is their sum",
        ("tests/relations/metrics/test_metric_kinds.py::test_any",),
    ),
    Mutant(
        "designer/relations/metrics/algebra.py",
        "return root_below(sum((budget**2 for budget in budgets), Fraction(0)))",
        "return sum(budgets, Fraction(0))",
        "Gaussian budgets add up without squares",
        ("tests/relations/test_composition.py::test_pure_budgets_add_and_gaussian_ones_in_squares",),
    ),
    Mutant(
        "designer/relations/metrics/algebra.py",
        "return self.part.exact_budget(int(self.elements[left]), int(self.elements[right]))",
        "return self.part.exact_budget(left, right)",
        "a restriction takes the budgets of other elements",
        ("tests/relations/metrics/test_metric_kinds.py::test_any",),
    ),
    Mutant(
        "designer/relations/metrics/presence.py",
        "yield Block(np.arange(self.size), np.full(self.size, self.size), np.array(self.epsilons))",
        "yield Block(np.arange(self.size - 1), np.full(self.size - 1, self.size), np.array(self.epsilons[:-1]))",
        "the last element may appear unseen",
        ("tests/relations/metrics/test_metrics.py::test_largest_budget_is_the_largest_of_all_pairs",),
    ),
    Mutant(
        "designer/relations/metrics/presence.py",
        "            yield Block(block.left, block.right, budgets)\n        yield from self.beside()\n",
        "            yield Block(block.left, block.right, budgets)\n",
        "records that appear are not among the pairs",
        ("tests/relations/metrics/test_metric_kinds.py::test_any",),
    ),
    Mutant(
        "designer/relations/metrics/presence.py",
        "implied = block.budgets * (1 - 2 * self.budget_error) > given",
        "implied = 2 * block.budgets > given",
        "changes are taken for implied by appearing",
        ("tests/relations/metrics/test_metric_kinds.py::test_any",),
    ),
    Mutant(
        "designer/relations/metrics/presence.py",
        "yield None if math.isinf(largest) else Fraction(largest) * (1 + 2 * Fraction(change.budget_error))",
        "yield None if math.isinf(largest) else Fraction(largest) / 2",
        "behind a noisy total a record costs half",
        (
            "tests/relations/metrics/test_budgets_from_above.py::test_a_record_after_a_noisy_total_costs_the_share_and_its_farthest_exact_change",
        ),
    ),
    Mutant(
        "designer/relations/metrics/triangle.py",
        "implied |= (total < d) | ((total == d) & (error <= 0) & np.isfinite(total))",
        "implied |= (total < 2 * d) & np.isfinite(total)",
        "pairs are dropped that nothing implies",
        ("tests/relations/metrics/test_metrics.py::test_a_pair_whose_float_sum_hides_an_excess_is_not_implied",),
    ),
    Mutant(
        "designer/relations/metrics/triangle.py",
        "closed = np.where(lowered, closed * (1 + 2.0**-50 * len(d)), d)",
        "closed = np.where(lowered, closed * (1 - 2.0**-50 * len(d)), d)",
        "the closure of a matrix is rounded down: it claims what is not implied",
        ("tests/relations/metrics/test_metrics.py::test_blocks_imply_every_protected_pair",),
    ),
    Mutant(
        "designer/relations/metrics/triangle.py",
        "found[start + i] = found[start + k] = True",
        "found[start + i] = True",
        "detours through later points are not seen",
        (
            "tests/relations/metrics/test_large_matrices.py::test_the_one_point_through_which_a_way_is_shorter_is_found_wherever_it_stands",
        ),
    ),
    Mutant(
        "designer/relations/metrics/matrix.py",
        "budgets = np.minimum(given, given.T)",
        "budgets = np.maximum(given, given.T)",
        "of two budgets of a pair the larger one is taken",
        (
            "tests/relations/metrics/test_metric_refusals.py::test_of_two_budgets_that_differ_by_a_rounding_the_smaller_one_counts",
        ),
    ),
    Mutant(
        "designer/relations/kinds.py",
        "    if canonical(relation.to_spec()) != canonical(spec):\n",
        "    if False:\n",
        "a relation need not be written as it is",
        ("tests/relations/test_kinds.py::test_a_relation_is_written_as_this_program_writes_it",),
    ),
    Mutant(
        "designer/relations/kinds.py",
        "    for part in relation.inner():\n        require_listed(part)\n",
        "",
        "a rule of the caller's is saved inside another one",
        ("tests/relations/metrics/test_own_metric.py::test_saving_is_refused_with_a_way_on_and_writes_nothing",),
    ),
    Mutant(
        "designer/relations/row_groups.py",
        "            yield from (moved_by(start, block) for block in part.blocks())\n\n    def drawn",
        "            yield from (moved_by(0, block) for block in part.blocks())\n\n    def drawn",
        "changes of every group are those of the first",
        ("tests/families/averages/test_statistical_queries.py::test_the_optimum_is_that_of_the_full_domain",),
    ),
    Mutant(
        "designer/relations/row_groups.py",
        "sum((Fraction(part.largest_budget()) for part in self.parts), Fraction(0))",
        "max(Fraction(part.largest_budget()) for part in self.parts)",
        "the largest budget of a record is that of one group",
        ("tests/families/averages/test_statistical_queries.py::test_relation_of_groups",),
    ),
    Mutant(
        "designer/relations/allowed.py",
        "return None if budget is None else self.allowance.most(budget)",
        "return None if budget is None else self.allowance.most(2 * budget)",
        "under a delta the budget of a pair is doubled",
        ("tests/designing/test_approximate_notion.py::test_pairs_that_others_imply_are_not_implied_here",),
    ),
    Mutant(
        "designer/relations/allowed.py",
        "for block in self.part.every_pair():\n            yield",
        "for block in self.part.blocks():\n            yield",
        "under a delta implied pairs are not listed",
        (
            "tests/designing/test_approximate_notion.py::test_no_protected_pair_is_told_apart_by_more_than_delta_of_the_rounded_law",
        ),
    ),
    Mutant(
        "designer/relations/joint_promises.py",
        "    if len(presences) < len(listed):\n        return change\n",
        "",
        "records may appear although one release does not protect them",
        ("tests/relations/test_composition.py::test_pure_budgets_add_and_gaussian_ones_in_squares",),
    ),
    Mutant(
        "designer/relations/joint_promises.py",
        'change = root_sum_squares(*changes) if notion == "zcdp" else sum_of(*changes)',
        "change = root_sum_squares(*changes)",
        "pure budgets are combined in squares",
        ("tests/relations/test_composition.py::test_pure_budgets_add_and_gaussian_ones_in_squares",),
    ),
    Mutant(
        "designer/relations/joint_promises.py",
        'return scaled(count(records, "records"), relation)',
        'return scaled(max(count(records, "records") - 1, 1), relation)',
        "group privacy counts one record too few",
        ("tests/relations/test_composition.py::test_groups",),
    ),
    Mutant(
        "designer/relations/joint_promises.py",
        "            if budget is None:\n                return None\n            spent += budget",
        "            spent += budget or 0",
        "unprotected changes of a group cost nothing",
        ("tests/relations/test_composition.py::test_groups",),
    ),
    Mutant(
        "designer/relations/budget_factor.py",
        "return AddRemove(frozen(relation.epsilons * times))",
        "return AddRemove(frozen(relation.epsilons))",
        "a least budget is told and not kept",
        ("tests/designing/test_least_budget.py::test_one_count_needs_what_the_closed_forms_say",),
    ),
    Mutant(
        "designer/relations/invariants/changes.py",
        "return 2 * self.adjacency if self.invariant.records_public else self.adjacency",
        "return self.adjacency",
        "changes of half as many records are listed",
        ("tests/relations/invariants/test_invariants.py::test_the_changes_are_those_of_all_pairs_of_small_databases",),
    ),
    Mutant(
        "designer/relations/invariants/transport.py",
        "return min(finite, default=None)\n\n    def largest_budget",
        "return max(finite, default=None)\n\n    def largest_budget",
        "the transport of records takes the longest way",
        (
            "tests/relations/invariants/test_invariants.py::test_a_metric_under_an_invariant_costs_what_moving_the_records_costs",
        ),
    ),
    Mutant(
        "designer/relations/invariants/changes.py",
        "else root_below(Fraction(sum(c * c for c in whole)))",
        "else Fraction(sum(c * c for c in whole))",
        "the l2 distance of databases is squared",
        ("tests/relations/invariants/test_invariants.py::test_budgets_per_distance_are_epsilon_times_the_distance",),
    ),
    Mutant(
        "designer/relations/invariants/adjacency.py",
        'outer = min if reading == "literal" else max',
        "outer = min",
        "semi-adjacency is read from the best database",
        ("tests/relations/invariants/test_semi_adjacency.py::test_integer_programs_agree_with_all_databases",),
    ),
)
