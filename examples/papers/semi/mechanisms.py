"""Rows of sections 4 and 5.1 to 5.2 of the paper on Semi-DP: mechanisms, tables with public margins, experiments."""

from __future__ import annotations

from examples import semi_dp_figures, semi_dp_hexagon, semi_dp_nearest_tables, semi_dp_published, semi_dp_tables
from examples.papers.frame import Erratum, Numbers, Picture, Read, Row, Section, Severity, Verdict, of_example
from examples.papers.semi import computed, errata

SEMI_DP = "tests/designing/test_semi_dp.py"
INVARIANTS = "tests/relations/invariants/test_invariants.py"


def mechanisms(*names: str, read: Read = Read.TEXT) -> Numbers:
    """Numbers of `computed.mechanisms`."""
    return Numbers(computed.mechanisms, names, read)


DESIGN = Section(
    "Section 4: mechanisms",
    (
        Row(
            "Proposition 24",
            "changes within the invariant are shorter than those of a group, and these than a changes of one record",
            Verdict.PROVEN,
            ("designer/relations/invariants/changes.py:ChangeRelation", "designer/designing/group_privacy.py:group_laplace"),
            f"{INVARIANTS}::test_larger_sensitivity_spaces_contain_smaller_ones",
            (mechanisms("3 x 3, A_3, *", "3 x 3, l*", read=Read.THEOREM),),
        ),
        Row(
            "Proposition 25",
            "if the invariant is linear in the query, changes do not span everything",
            Verdict.PROVEN,
            ("designer/relations/invariants/changes.py:ChangeRelation", "designer/certificate/sensitivity.py:SensitivitySet"),
            f"{INVARIANTS}::test_every_family_keeps_every_margin_and_is_private_over_all_changes",
            (mechanisms("3 x 3: dimension*", "3 x 3: cells", read=Read.THEOREM),),
        ),
        Row(
            "Proposition 26",
            "additive noise may be projected onto the span of the changes",
            Verdict.ERRATUM,
            ("designer/designing/laplace.py:project",),
            f"{SEMI_DP}::test_projection_keeps_the_certificate_and_the_margins_and_costs_less",
            errata=(
                Erratum(
                    "projection shortens noise in l2, not in every norm (after Proposition 26)",
                    "The proposition holds for any noise. The sentence after it, that the projected noise is no longer in any "
                    "norm, holds for l2 alone. Noise of 1 in one cell of a 3 x 3 table has length 1 in l1; projected onto "
                    "tables with all margins 0 it has 16/9.",
                    "at most",
                    errata.length_after_projection,
                    severity=Severity.THEOREM,
                    force="the sentence after Proposition 26, any norm",
                ),
            ),
        ),
        Row(
            "Remark 27",
            "for invariants linear in the query this is the projection of subspace privacy",
            Verdict.PROVEN,
            ("designer/designing/laplace.py:subspace_mechanism",),
            f"{SEMI_DP}::test_subspace_privacy_at_its_true_budget_is_projected_noise",
        ),
        Row(
            "Algorithm 1",
            "Gaussian noise in the span of the changes",
            Verdict.PROVEN,
            ("designer/designing/ellipsoid.py:isotropic_gaussian",),
            f"{INVARIANTS}::test_example_8_the_gaussian_of_algorithm_1_has_covariance_four_times_the_projection",
            (
                of_example(
                    semi_dp_tables, "2 x 2, A_2, isotropic_gaussian", "3 x 3, A_3, isotropic_gaussian", read=Read.THEOREM
                ),
            ),
        ),
        Row(
            "Proposition 28",
            "Algorithm 1 is mu-GDP among the conforming databases",
            Verdict.PROVEN,
            ("designer/certificate/certificate.py:certify",),
            f"{INVARIANTS}::test_every_family_keeps_every_margin_and_is_private_over_all_changes",
        ),
        Row(
            "Lemma 29",
            "the hull of the changes is a norm ball in their span",
            Verdict.PROVEN,
            ("solvers/polytopes/hull.py:convex_hull", "designer/certificate/norms.py:Gauge"),
            f"{SEMI_DP}::test_hull_facets_against_the_gauge_of_all_changes",
        ),
        Row(
            "Algorithm 2",
            "noise that falls off in the gauge of that hull",
            Verdict.PROVEN,
            ("designer/designing/k_norm.py:design_k_norm", "designer/sampling/body_grids.py:PolytopeGrid"),
            f"{SEMI_DP}::test_exact_errors_of_small_hulls_against_another_triangulation_and_draws",
        ),
        Row(
            "Proposition 30",
            "the sensitivity in that gauge is 1",
            Verdict.PROVEN,
            ("designer/certificate/norms.py:Gauge",),
            f"{SEMI_DP}::test_hull_facets_against_the_gauge_of_all_changes",
            (mechanisms("3 x 3: worst gauge*", read=Read.THEOREM),),
        ),
        Row(
            "Theorem 31",
            "Algorithm 2 is private, and no norm ball within its own will do",
            Verdict.PROVEN,
            ("designer/designing/k_norm.py:design_k_norm", "solvers/polytopes/norm_order.py:containment"),
            "tests/solvers/polytopes/test_hull.py::test_hull_of_the_vectors_lies_inside_every_other_ball",
            (of_example(semi_dp_tables, "3 x 3, A_2: hull*", "3 x 3, A_3: hull*", read=Read.WORDS),),
        ),
    ),
)

TABLES = Section(
    "Section 5.1: tables with published margins",
    (
        Row(
            "Figure 1",
            "a change of a 7 x 6 table: two cells +1, two cells -1",
            Verdict.REPRODUCED,
            ("designer/relations/invariants/changes.py:ChangeRelation", "examples/papers/semi/computed.py:mechanisms"),
            f"{INVARIANTS}::test_margins_of_three_by_three_tables_have_basic_moves_and_hexagons",
            (
                mechanisms("7 x 6: cells*", "7 x 6: largest*", "7 x 6: v_2255*", read=Read.PLOT),
                mechanisms("7 x 6: changes*", read=Read.THEOREM),
            ),
        ),
        Row(
            "Proposition 32",
            "with three records, changes of a table are those rectangles and 0",
            Verdict.ERRATUM,
            ("designer/relations/invariants/changes.py:ChangeRelation", "examples/semi_dp_hexagon.py:mechanism"),
            f"{INVARIANTS}::test_hexagons_break_mechanisms_for_basic_moves",
            (of_example(semi_dp_hexagon, read=Read.THEOREM), of_example(semi_dp_figures, "Delta_*")),
            errata=(
                Erratum(
                    "three records move in a hexagon (Proposition 32)",
                    "Three records of a table with at least three rows and columns may move in a cycle, each to the column of "
                    "the next. All margins stay, six cells change by one: the l1 length is 6 where the paper has Delta_1 = 4. "
                    "With two records the proposition is right. What three or more records can change is derived in "
                    "`docs/theory/invariants.md`, sections 2 and 11.",
                    "at most",
                    errata.hexagon_length,
                    severity=Severity.THEOREM,
                    force="A_3, changes of up to three records",
                ),
                Erratum(
                    "Delta_2 of three records is root 6 (Proposition 32)",
                    "The square of the l2 length of the hexagon, beside the square of the printed Delta_2 = 2.",
                    "at most",
                    errata.hexagon_square,
                    severity=Severity.THEOREM,
                    force="A_3, changes of up to three records",
                    follows="three records move in a hexagon (Proposition 32)",
                ),
                Erratum(
                    "the first budget of the hexagon: K-norm noise spends 2 epsilon",
                    "The K-norm mechanism of the paper is built on the hull of the rectangles and called private for A_3. A "
                    "hexagon is the sum of two rectangles and no convex combination of fewer, so its gauge is exactly 2: two "
                    "databases three records apart are told apart with 2 epsilon. It is private with epsilon for A_2.",
                    "at most",
                    errata.budget_of_k_norm,
                    severity=Severity.PRIVACY,
                    force="epsilon-DP between databases of A_3",
                    follows="three records move in a hexagon (Proposition 32)",
                ),
                Erratum(
                    "the second budget of the hexagon: Algorithm 1 spends root(3/2) mu",
                    "With Delta_2 = 2 in the place of root 6, the square of what Algorithm 1 spends is 3/2 times mu^2.",
                    "at most",
                    errata.budget_of_algorithm_1,
                    severity=Severity.PRIVACY,
                    force="mu-GDP between databases of A_3",
                    follows="three records move in a hexagon (Proposition 32)",
                ),
                Erratum(
                    "a rectangle takes two records, not three (after Proposition 32)",
                    "The nonzero changes are said to come from modifying three individuals in all. Two make each of them: "
                    "(i, j) becomes (i, l) and (k, l) becomes (k, j), and no change of one record keeps the margins. So the "
                    "rectangles are the sensitivity space of A_2, and A_3 has the hexagons besides. (Figure 1, which alone "
                    "says where the entries of v_ijlk are, has l for a row and k for a column; the proposition has them the "
                    "other way round.)",
                    "equal",
                    errata.records_of_a_rectangle,
                    severity=Severity.SLIP,
                    force="the changes that Figure 1 draws, records replaced one by one",
                ),
            ),
        ),
        Row(
            "Example 7",
            "the changes of a 2 x 2 table are two",
            Verdict.REPRODUCED,
            ("designer/relations/invariants/changes.py:ChangeRelation",),
            f"{INVARIANTS}::test_example_7_the_sensitivity_space_of_a_two_by_two_table",
            (mechanisms("changes of 2 x 2*"),),
        ),
        Row(
            "Example 8",
            "the projection of Algorithm 1 for a 2 x 2 table",
            Verdict.ERRATUM,
            ("designer/designing/ellipsoid.py:isotropic_gaussian",),
            f"{INVARIANTS}::test_example_8_the_gaussian_of_algorithm_1_has_covariance_four_times_the_projection",
            (mechanisms("2 x 2*"),),
            errata=(
                Erratum(
                    "the basis of Example 8 has to have length 1",
                    "The matrix P of the example is right. It is said to be the sum of u u' over the basis {(1, -1, -1, 1)}: "
                    "that has the trace 4, where a projection onto one direction has 1. The vector has to be halved.",
                    "equal",
                    errata.trace_of_example_8,
                    severity=Severity.SLIP,
                    force="the projection P of Example 8",
                ),
            ),
        ),
        Row(
            "Algorithm 3",
            "K-norm noise by rejection from a cube, and a radius of Gamma shape s + 1",
            Verdict.PROVEN,
            ("examples/semi_dp_published.py:in_hull", "designer/sampling/body_grids.py:PolytopeGrid"),
            f"{SEMI_DP}::test_radius_of_shape_s_has_an_unbounded_density_at_the_true_answer",
            (of_example(semi_dp_published, "K-norm, k = *", read=Read.THEOREM),),
        ),
        Row(
            "Remark 33",
            "released counts may be made whole and nonnegative afterwards",
            Verdict.PROVEN,
            ("designer/mechanism/release.py:nearest_table",),
            "tests/mechanism/test_nearest_tables.py::test_a_release_keeps_its_guarantee_and_its_fingerprint",
            (of_example(semi_dp_nearest_tables, "nonnegative*", "integer*", read=Read.WORDS),),
        ),
    ),
    (Picture(semi_dp_hexagon.draw, ("semi_dp_hexagon.svg",), "The hexagon, and what two mechanisms tell of it."),),
)

EXPERIMENTS = Section(
    "Section 5.2: experiments",
    (
        Row(
            "Figure 2",
            "Algorithm 1 loses less than naive noise for tables of 2 x 2 to 10 x 10",
            Verdict.CONSISTENT,
            ("examples/semi_dp_published.py:gaussian_losses", "examples/semi_dp_figures.py:expected"),
            "python -m examples.semi_dp_published",
            (
                Numbers(semi_dp_published.figure_2, (), Read.FILE),
                of_example(semi_dp_figures, "Algorithm 1*", read=Read.WORDS),
            ),
        ),
        Row(
            "Figure 3",
            "K-norm noise loses less than naive l1, l2 and l-infinity noise",
            Verdict.ERRATUM,
            ("examples/semi_dp_published.py:losses", "examples/semi_dp_figures.py:expected"),
            "python -m examples.semi_dp_published",
            (
                Numbers(semi_dp_published.figure_3, (), Read.FILE),
                of_example(semi_dp_figures, "K-norm as printed*", "K-norm for A_3*", read=Read.WORDS),
                Numbers(semi_dp_published.radii, ("Figure 3*", "shape s*"), Read.OWN, semi_dp_published.DIFFERENCES),
            ),
            errata=(
                Erratum(
                    "the noise of Figure 3 is not private",
                    "Algorithm 3 draws the radius from a Gamma law of shape s + 1. `scripts/semidp_Knorm_linear.R` and its "
                    "twin in the authors' repository, yhcho-stat/semiDP, draw `rgamma(1, shape = s, rate = eps / SensK)`. The "
                    "density of that noise at the gauge t is proportional to the exponential integral E_1(epsilon t), which "
                    "has no bound at the true answer: a millionth away the ratio to the other database is 60 where e^epsilon "
                    "is 2.7, and it grows with log(1/t). For 2 x 2 tables the noise is private at the promised epsilon = 1 "
                    "only with delta = 0.447. The figure shows losses too small by s / (s + 1): the mean radius is s where it "
                    "should be s + 1, which is half at k = 2 and four fifths at k = 3. The l-infinity noise of the scripts "
                    "has the same fault: shape d, where Algorithm 6 has d + 1. The scripts know 2 x 2 swaps only, so hexagons "
                    "are missing as well.",
                    "at most",
                    errata.ratio_of_shape_s,
                    severity=Severity.PRIVACY,
                    force="Algorithm 3, which is right; what fails is the authors' published scripts",
                ),
            ),
        ),
    ),
    (
        Picture(
            semi_dp_published.draw,
            ("semi_dp_published.svg",),
            "Left: Figure 2, the published averages and what they are averages of. Right: the density of the noise behind "
            "Figure 3 at k = 2, and that of Algorithm 3.",
        ),
        Picture(
            semi_dp_figures.draw,
            ("semi_dp_figures.svg",),
            "Figures 2 and 3 with private mechanisms, at mu = 1, without cutting at 0, and with those that A_3 needs.",
        ),
        Picture(semi_dp_tables.draw, ("semi_dp_tables.svg",), "Beyond the figures: all families, tables of 2 x 2 to 10 x 10."),
    ),
    "The paper does not state mu, nor that negative counts are set to 0 before losses are taken. The scripts of the authors' "
    "repository, yhcho-stat/semiDP, say so (mu = 0.1), and the files `output/gaussian_*.csv` and `results/Knorm_*.csv` beside "
    "them hold the plotted averages of 30 replicates. The intervals below are 4.5 standard errors around these averages; "
    "computed are expectations, by 10,000 draws of what the scripts draw. `scripts/make_paper_plots.py` plots the linear "
    "model as Model I and the uniform one as Model II, the paper names them the other way round. All three budgets of Figure "
    "3 have the same seeds, so its three points are one experiment, rescaled.",
)
SECTIONS = (DESIGN, TABLES, EXPERIMENTS)
