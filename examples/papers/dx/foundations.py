"""DX sections 2 and 3: definitions, mechanisms, their privacy and their utility."""

from __future__ import annotations

import examples.dx_example_1 as example_1
import examples.dx_synthetic as synthetic
import examples.dx_us_cities as cities
from examples.papers.dx import errata
from examples.papers.frame import Picture, Read, Row, Section, Verdict, of_example

BACKGROUND = Section(
    "Section 2: background and dX-privacy",
    (
        Row(
            "Definition 1",
            "epsilon-differential privacy, one record replaced",
            Verdict.DEFINITION,
            ("designer/relations/metrics/metric.py:uniform",),
            "tests/mechanism/test_laplace.py::test_uniform_metric_gives_the_standard_laplace_scale",
        ),
        Row(
            "Definition 2",
            "dX-privacy: a budget d(i, j) for every pair of elements",
            Verdict.DEFINITION,
            ("designer/relations/metrics/metric.py:Metric",),
            "tests/relations/metrics/test_metrics.py::test_exact_budgets_are_a_metric",
        ),
        Row(
            "Fact 1",
            "post-processing, composition (budgets add), groups",
            Verdict.PROVEN,
            (
                "designer/relations/joint_promises.py:composition",
                "designer/relations/joint_promises.py:group_budget",
                "designer/relations/joint_promises.py:post_processing",
            ),
            "tests/relations/test_composition.py::test_group_and_composition_bounds_hold_for_the_noise",
        ),
        Row(
            "Definition 3",
            "sensitivity of a query for each pair of elements",
            Verdict.DEFINITION,
            ("designer/certificate/sensitivity.py:SensitivitySet",),
            "tests/relations/metrics/test_metrics.py::test_blocks_imply_every_protected_pair",
        ),
        Row(
            "Definition 4",
            "Laplace mechanism for the smallest budget",
            Verdict.DEFINITION,
            ("designer/designing/laplace.py:uniform_budget",),
            "tests/mechanism/test_laplace.py::test_strategies_are_feasible_and_as_defined",
        ),
        Row(
            "Definition 5",
            "sensitivity of a utility function for each pair",
            Verdict.DEFINITION,
            ("designer/selection/scores.py:Score",),
            "tests/selection/test_selection.py::test_certificate_equals_the_largest_range_over_data",
        ),
        Row(
            "Definition 6",
            "exponential mechanism for the smallest budget",
            Verdict.DEFINITION,
            ("designer/selection/mechanism.py:Selection",),
            "tests/selection/test_selection.py::test_simulation_follows_the_probabilities",
        ),
        Row(
            "Definition 7",
            "largest expected error over all data sets",
            Verdict.DEFINITION,
            ("designer/mechanism/bounds.py:ErrorBounds",),
            "tests/designing/test_families.py::test_error_bounds_keep_bias_apart_and_hold_for_the_worst_histogram",
        ),
        Row(
            "Definition 8",
            "(alpha, beta)-accuracy in l1 and l-infinity",
            Verdict.DEFINITION,
            ("designer/mechanism/accuracy.py:accuracy_of",),
            "tests/mechanism/test_accuracy.py::test_no_histogram_of_three_records_fails_more_often",
        ),
    ),
)
MECHANISMS = Section(
    "Sections 3, 3.1 and 3.2: the meta procedure, Laplace and exponential mechanisms",
    (
        Row(
            "Example 1",
            "budgets for each value of an attribute; budgets that leak; equation (3) and the scales of four queries",
            Verdict.CONSISTENT,
            ("designer/relations/metrics/attributes.py:attribute_values", "examples/dx_example_1.py:reproduce"),
            "python -m examples.dx_example_1",
            (of_example(example_1),),
        ),
        Row(
            "Figure 1",
            "the data set of Example 1 as a histogram of eight counts",
            Verdict.DIFFERS,
            ("examples/dx_example_1.py:draw_counts",),
            "python -m examples.dx_example_1",
            because="""The eight counts are the heights of bars in a picture and nowhere in the text, so eight counts of
            one's own are
            drawn. Nothing that the example states depends on them: the leak is an identity, (Y) = n - (N), for all
            counts.""",
        ),
        Row(
            "Program (4)",
            "the meta procedure: choose Q' and c beforehand, then release c Q'x with noise of scale c",
            Verdict.ERRATUM,
            ("designer/designing/dispatch.py:design", "designer/designing/laplace_joint.py:design_jointly"),
            "tests/designing/test_laplace_joint_program.py::test_no_search_from_the_answer_finds_better_rows_and_scales",
            errata=(errata.PROGRAM_4,),
        ),
        Row(
            "Remark 1",
            "matrix and K-norm mechanisms under a metric are left as future work; both are families here",
            Verdict.PROVEN,
            (
                "designer/designing/k_norm.py:design_k_norm",
                "designer/designing/strategy_laplace.py:design_strategy",
            ),
            "tests/designing/test_compare.py::test_every_pure_family_has_a_row_and_markdown_lists_the_best_first",
        ),
        Row(
            "Theorem 1",
            "c Q'x with independent noise of scales c is private where Q' moves by at most d(i, j) in l1",
            Verdict.PROVEN,
            ("designer/certificate/certificate.py:certify",),
            "tests/relations/metrics/test_metric_kinds.py::test_laplace_keeps_its_promise_on_every_pair",
        ),
        Row(
            "Theorem 2",
            "three bounds on the error, bias and noise; the factor 2 of the first is not needed",
            Verdict.PROVEN,
            ("designer/mechanism/bounds.py:error_bounds",),
            "tests/designing/test_families.py::test_error_bounds_keep_bias_apart_and_hold_for_the_worst_histogram",
        ),
        Row(
            "Program (6)",
            "Q' and c of least squared error, called hard: one query to the optimum, several with a certified gap",
            Verdict.PROVEN,
            ("designer/designing/laplace_joint.py:design_jointly",),
            "tests/designing/test_laplace_joint_program.py::test_one_query_is_the_optimum_of_the_specialised_solver",
            (of_example(cities, "program (6)*", read=Read.OWN),),
        ),
        Row(
            "Definition 9",
            "exponential mechanism with a surrogate score u' and a rate 1 / (2 c)",
            Verdict.DEFINITION,
            ("designer/selection/mechanism.py:Selection",),
            "tests/selection/test_selection.py::test_simulation_follows_the_probabilities",
        ),
        Row(
            "Theorem 3",
            "it is private where u' moves by at most c d(i, j); the rate here is never smaller",
            Verdict.PROVEN,
            ("designer/selection/mechanism.py:largest_rate",),
            "tests/selection/test_selection.py::test_the_sharp_rate_is_never_below_the_paper_s",
        ),
        Row(
            "Theorem 4",
            "how far the chosen candidate falls short of the best",
            Verdict.ERRATUM,
            ("designer/selection/mechanism.py:Selection",),
            "tests/selection/test_selection.py::test_shortfall_bound_against_enumeration",
            errata=(errata.THEOREM_4,),
        ),
    ),
    (
        Picture(example_1.draw_counts, ("dx_figure_1.svg",), "Figure 1, with counts of one's own."),
        Picture(example_1.draw, ("dx_example_1.svg",), "Example 1: the budgets of equation (3) between the eight elements."),
    ),
)
SYNTHETIC = Section(
    "Sections 3.3 and 3.4: small databases and MWEM",
    (
        Row(
            "Algorithm 1",
            "SmallDB: draw a small histogram that answers well",
            Verdict.ERRATUM,
            ("designer/synthetic/small_databases.py:SmallDB",),
            "tests/synthetic/test_small_db.py::test_algorithm_1_as_printed_answers_for_m_records_only",
            errata=(errata.PROPOSITION_1,),
        ),
        Row(
            "Theorem 5",
            "SmallDB is private",
            Verdict.PROVEN,
            ("designer/synthetic/small_databases.py:SmallDB",),
            "tests/synthetic/test_small_db.py::test_every_outcome_of_every_pair_of_neighbours",
        ),
        Row(
            "Proposition 1",
            "a bound on its largest error",
            Verdict.ERRATUM,
            ("designer/synthetic/small_databases.py:proposition_1",),
            "tests/synthetic/test_small_db.py::test_bound_holds",
            errata=(errata.PROPOSITION_1,),
        ),
        Row(
            "Theorem 6",
            "the same with the best alpha, (c n^2 gamma)^(1/3)",
            Verdict.ERRATUM,
            ("designer/synthetic/queries.py:theorem_6_price",),
            "tests/synthetic/test_preprocessing.py::test_prices_are_the_papers",
            errata=(errata.THEOREM_6,),
        ),
        Row(
            "Program (8)",
            "the best stand-in queries for both, called non-convex: its global optimum is found",
            Verdict.PROVEN,
            ("designer/synthetic/queries.py:preprocess",),
            "tests/synthetic/test_preprocessing.py::test_optimum_against_a_grid_over_c_and_linear_programs_over_q",
            (of_example(synthetic, "least bound ratio", "smooth at n = 3000, unbiased / optimal", read=Read.OWN),),
        ),
        Row(
            "Algorithm 2",
            "MWEM: choose a query answered badly, measure it, reweight",
            Verdict.ERRATUM,
            ("designer/synthetic/multiplicative.py:mwem",),
            "tests/synthetic/test_mwem.py::test_algorithm_2_as_printed_compares_on_two_scales",
            errata=(errata.ALGORITHM_2,),
        ),
        Row(
            "Theorem 7",
            "MWEM is private",
            Verdict.PROVEN,
            ("designer/synthetic/multiplicative.py:MWEM",),
            "tests/synthetic/test_mwem.py::test_every_transcript_of_one_round_and_every_pair_of_neighbours",
        ),
        Row(
            "Theorem 8",
            "a bound on its largest error; tested with the update corrected, beside a sharper one",
            Verdict.ERRATUM,
            (
                "designer/synthetic/multiplicative.py:theorem_8",
                "designer/synthetic/queries.py:theorem_8_price",
            ),
            "tests/synthetic/test_mwem.py::test_bound_holds_and_is_sharper_than_theorem_8",
            errata=(errata.THEOREM_8_RANGE, errata.THEOREM_8_SCALES),
        ),
    ),
    (
        Picture(
            synthetic.draw,
            ("dx_synthetic.svg",),
            "Not in the paper: what the optimum of program (8) is worth, bound and measured error, for MWEM and SmallDB.",
        ),
    ),
)
