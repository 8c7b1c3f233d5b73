"""DX sections 4 and 5 and Appendices A and C: experiments, metrics, statistical queries."""

from __future__ import annotations

import examples.dx_blowfish as blowfish
import examples.dx_multiple_queries as several
import examples.dx_single_queries as single
import examples.dx_us_cities as cities
import examples.statistical_queries as statistical
from examples.papers.dx import errata
from examples.papers.frame import Numbers, Picture, Read, Row, Section, Verdict, of_example

EXPERIMENTS = Section(
    "Sections 4.1 to 4.3: improvement factors",
    (
        Row(
            "Figure 2 (a)",
            "50 points of a square of side 100",
            Verdict.DEFINITION,
            ("examples/dx_setting.py:universe",),
            "python -m examples.dx_single_queries",
        ),
        Row(
            "Figure 2 (b)",
            "histogram of the improvement factor of 1,000 single queries",
            Verdict.CONSISTENT,
            ("examples/dx_single_queries.py:reproduce", "examples/dx_setting.py:improvement_factors"),
            "python -m examples.dx_single_queries",
            (of_example(single, read=Read.WORDS), Numbers(single.moved, (), Read.OWN)),
        ),
        Row(
            "Figure 2",
            "(c), (d): Strategies 1 to 3 for 1 to 10 queries, real and binary, beside the optimum of the program",
            Verdict.CONSISTENT,
            ("examples/dx_multiple_queries.py:reproduce", "designer/designing/laplace.py:strategy_3"),
            "python -m examples.dx_multiple_queries",
            (
                of_example(several, "binary: mean IF(Q) of Strategy 1 at K = 10"),
                of_example(
                    several,
                    "real: Strategy 3*",
                    "binary: Strategy 3*",
                    read=Read.WORDS,
                ),
                of_example(several, "real: squared*", "binary: squared*", read=Read.OWN),
                Numbers(several.moved, (), Read.OWN),
            ),
        ),
        Row(
            "Algorithm 3",
            "split the remaining budget of every pair in proportion to need, again and again",
            Verdict.ERRATUM,
            ("designer/designing/laplace.py:strategy_3",),
            "tests/mechanism/test_laplace.py::test_strategies_are_feasible_and_as_defined",
            errata=(errata.ALGORITHM_3,),
        ),
        Row(
            "Figure 3",
            "cities of more than 50,000 inhabitants, and the improvement factor of 1,000 queries and of the elevation",
            Verdict.DIFFERS,
            ("examples/dx_us_cities.py:reproduce",),
            "python -m examples.dx_us_cities",
            (of_example(cities, "average IF", "largest IF", "IF of the elevation"),),
            because="""The paper's 741 cities (SimpleMaps 2018, elevations of a service that answers for money) cannot be
            had; the 755
            here are GeoNames of 2014. The average factor is the paper's. The largest one and that of the elevation each hang
            on
            one or two pairs of neighbouring cities, as the paragraphs above say.""",
        ),
    ),
    (
        Picture(
            single.draw, ("dx_figure_2ab.svg",), "Figure 2 (a, b): the universe, and the improvement factors of 1,000 queries."
        ),
        Picture(several.draw, ("dx_figure_2cd.svg",), "Figure 2 (c, d), with the optimum beside the three strategies."),
        Picture(cities.draw, ("dx_figure_3.svg",), "Figure 3, for 755 cities."),
    ),
)
BLOWFISH = Section(
    "Section 4.4: Blowfish policies",
    (
        Row(
            "Section 4.4, metrics",
            "d_Blow (a threshold, closed to hop distances so that it is a metric) and d_Smooth",
            Verdict.ERRATUM,
            (
                "designer/relations/metrics/blowfish_policies.py:blowfish",
                "designer/relations/metrics/blowfish_policies.py:smooth_threshold",
            ),
            "tests/relations/metrics/test_blowfish.py::test_distance_threshold_is_hops",
            errata=(errata.BLOWFISH,),
        ),
        Row(
            "Figure 4",
            "RMSE against epsilon: more error at a higher threshold, more under d_Smooth, averages roughly the same",
            Verdict.DIFFERS,
            ("examples/dx_blowfish.py:reproduce",),
            "python -m examples.dx_blowfish",
            (of_example(blowfish, "queries with less*", "average RMSE*", "RMSE at epsilon*", read=Read.WORDS),),
            because="""All statements hold query by query but one: at T = 2 the averages are not roughly the same, as the
            paragraph
            above says, because hardly any two of 50 points in a square of side 100 are within 2 of each other.""",
        ),
        Row(
            "Figure 5",
            "distribution of the improvement factor at epsilon = 1: alike for high thresholds, Blowfish ahead at T = 2",
            Verdict.CONSISTENT,
            ("examples/dx_blowfish.py:factors",),
            "python -m examples.dx_blowfish",
            (
                of_example(blowfish, "smallest IF", "median IF*", "distance of*", read=Read.WORDS),
                of_example(blowfish, "certified*", read=Read.OWN),
                Numbers(blowfish.moved, (), Read.OWN),
            ),
        ),
    ),
    (
        Picture(
            blowfish.draw,
            ("dx_figure_4.svg", "dx_figure_5.svg"),
            "Figures 4 and 5: average error against epsilon, and improvement factors at epsilon = 1.",
        ),
    ),
)
DISCUSSION = Section(
    "Section 5: other metrics, and data whose size is not public",
    (
        Row(
            "Section 5, tables",
            "the sum of two values' budgets in the place of the smaller one",
            Verdict.DEFINITION,
            (
                "designer/relations/metrics/attributes.py:attribute_values",
                "designer/relations/metrics/element_budgets.py:per_element",
            ),
            "tests/relations/metrics/test_metric_kinds.py::test_sum_form_of_section_5",
        ),
        Row(
            "Section 5, dates and series",
            "a date known within a period; the largest difference of two time series",
            Verdict.DEFINITION,
            ("designer/relations/metrics/points.py:line", "designer/relations/metrics/points.py:chebyshev"),
            "tests/relations/metrics/test_metric_refusals.py::test_dates_and_other_ordered_values",
        ),
        Row(
            "Section 5, networks",
            "hops of a spanning tree, edges of unequal weight",
            Verdict.DEFINITION,
            ("designer/relations/metrics/blowfish_policies.py:blowfish_graph",),
            "tests/relations/metrics/test_blowfish.py::test_weighted_graphs_are_shortest_paths",
        ),
        Row(
            "Section 5, unbounded data",
            "part of the budget pays for the number of records; without bias none is needed",
            Verdict.ERRATUM,
            (
                "designer/relations/metrics/presence.py:after_noisy_total",
                "designer/relations/metrics/presence.py:appear_or_change",
            ),
            "tests/relations/test_composition.py::test_cut_or_filled_lists_keep_the_promise_of_after_noisy_total",
            errata=(errata.UNBOUNDED,),
        ),
    ),
)
APPENDICES = Section(
    "Appendices A and C: small databases, statistical queries",
    (
        Row(
            "Theorem 9",
            "some histogram of log K / alpha^2 records answers within alpha n",
            Verdict.ERRATUM,
            ("designer/synthetic/small_databases.py:literal_size",),
            "tests/synthetic/test_small_db.py::test_bound_holds",
            errata=(errata.THEOREM_9,),
        ),
        Row(
            "Definition 10",
            "sensitivity of an average for each pair of rows",
            Verdict.DEFINITION,
            ("designer/averages/queries.py:StatisticalQueries",),
            "tests/averages/test_statistical_queries.py::test_budgets_between_images",
        ),
        Row(
            "Definition 11",
            "dX-privacy for lists of rows; instance-specific privacy as a case",
            Verdict.ERRATUM,
            ("designer/relations/metrics/element_budgets.py:instance",),
            "tests/relations/metrics/test_metric_refusals.py::test_the_minimum_is_refused_exactly_where_three_elements_break_it",
            errata=(errata.DEFINITION_11,),
        ),
        Row(
            "Theorem 10",
            "averages with Laplace noise are private where rows move by at most n d(u, v)",
            Verdict.PROVEN,
            ("designer/averages/queries.py:StatisticalQueries",),
            "tests/averages/test_statistical_queries.py::test_every_change_of_rows_is_within_its_budget_exactly",
        ),
        Row(
            "Theorem 11",
            "three bounds on their error",
            Verdict.PROVEN,
            ("designer/averages/averages.py:average_bounds",),
            "tests/averages/test_statistical_queries.py::test_bounds_of_theorem_11",
        ),
        Row(
            "Program (13)",
            "mapping of rows and scales of least error, over all attributes at once",
            Verdict.PROVEN,
            ("designer/averages/joint_averages.py:squared_averages",),
            "tests/averages/test_joint_averages.py::test_the_descent_finds_what_a_search_over_scales_finds",
            (of_example(statistical, "optimum over that on all rows*", "worst loss / budget", read=Read.OWN),),
        ),
        Row(
            "Program (14)",
            "one program for each attribute, called a relaxation: nothing is lost",
            Verdict.PROVEN,
            ("designer/averages/averages.py:separable",),
            "tests/averages/test_statistical_queries.py::test_separable_answers_are_best_among_all_functions_of_a_row",
        ),
    ),
)
