"""Rows of sections 2 and 3 of the paper on Semi-DP: preliminaries, invariants, conforming databases, promises."""

from __future__ import annotations

from examples.papers.frame import Erratum, Numbers, Read, Row, Section, Severity, Verdict
from examples.papers.semi import computed, errata, errata_promises

ADJACENCY, CHANGES = (f"designer/relations/invariants/{name}.py" for name in ("adjacency", "changes"))
SEMI_ADJACENCY = "tests/relations/invariants/test_semi_adjacency.py"
PROMISES = "tests/relations/invariants/test_invariant_analysis.py"
TRADEOFFS = "tests/tradeoff/test_tradeoff.py"


def databases(*names: str, read: Read = Read.TEXT) -> tuple[Numbers, ...]:
    """Numbers of `computed.databases`."""
    return (Numbers(computed.databases, names, read),)


def promises(*names: str, read: Read = Read.THEOREM) -> tuple[Numbers, ...]:
    """Numbers of `computed.promises`."""
    return (Numbers(computed.promises, names, read),)


PRELIMINARIES = Section(
    "Section 2: preliminaries",
    (
        Row(
            "Definition 1",
            "a metric whose distances are lengths of paths of single steps",
            Verdict.PROVEN,
            (f"{ADJACENCY}:Conforming.distance",),
            f"{SEMI_ADJACENCY}::test_example_2_every_two_databases_with_two_ones_differ_in_two_records",
        ),
        Row(
            "Example 1",
            "Hamming and symmetric distance are of that kind",
            Verdict.PROVEN,
            (f"{ADJACENCY}:Conforming.distance", "examples/papers/semi/computed.py:databases"),
            f"{SEMI_ADJACENCY}::test_example_2_every_two_databases_with_two_ones_differ_in_two_records",
            databases("Hamming distance of bits*", read=Read.THEOREM),
        ),
        Row(
            "Remark 2",
            "adjacency is about single records, so that people can read it",
            Verdict.DEFINITION,
            ("designer/certificate/guarantee.py:Guarantee",),
            "tests/relations/invariants/test_invariants.py::test_a_total_alone_is_ordinary_replacement",
        ),
        Row(
            "Definition 3",
            "f-DP: every test between adjacent databases errs at least as f says",
            Verdict.PROVEN,
            ("designer/tradeoff/functions.py:Tradeoff", "designer/tradeoff/functions.py:Tradeoff.paper_convention"),
            f"{TRADEOFFS}::test_discrete_tradeoff_is_the_best_test",
            promises("delta of mu = 1*"),
        ),
        Row(
            "Definition 4",
            "the sensitivity space: all differences between adjacent databases",
            Verdict.DEFINITION,
            ("designer/certificate/sensitivity.py:SensitivitySet",),
            "tests/relations/invariants/test_invariants.py::test_the_changes_are_those_of_all_pairs_of_small_databases",
        ),
        Row(
            "Definition 5",
            "the sensitivity in a norm: the longest difference",
            Verdict.DEFINITION,
            ("designer/certificate/certificate.py:certify", "designer/certificate/norms.py:Gauge"),
            "tests/relations/invariants/test_invariants.py::test_sensitivities_of_basic_moves_and_of_hexagons",
        ),
        Row(
            "Proposition 6",
            "Gaussian noise of standard deviation Delta_2 / mu is mu-GDP",
            Verdict.ERRATUM,
            ("designer/tradeoff/functions.py:Gaussian", "designer/designing/group_privacy.py:group_gaussian"),
            "tests/designing/test_semi_dp.py::test_group_privacy_in_closed_form",
            errata=(
                Erratum(
                    "sigma is a standard deviation (Proposition 6)",
                    "The proposition writes N(0, sigma I) and asks for sigma of at least Delta_2 / mu. Read as it stands, "
                    "sigma is a variance, and the noise gives more than mu away wherever Delta_2 > mu. With Delta_2 = 1 and "
                    "mu = 1/4 it is private with 1/2 only. Meant, and built here, is the covariance sigma^2 I.",
                    "at most",
                    errata.variance_of_proposition_6,
                    severity=Severity.SLIP,
                    force="N(0, S) with S the covariance",
                ),
            ),
        ),
        Row(
            "Proposition 7",
            "noise with a density that falls exponentially in a norm is epsilon-DP",
            Verdict.ERRATUM,
            ("designer/sampling/round_and_reject.py:RoundAndReject", "designer/certificate/norms.py:Norm"),
            "tests/sampling/test_round_and_reject.py::test_coarse_grids_follow_the_enumerated_law_and_wrong_scales_do_not",
            errata=(
                Erratum(
                    "the density of Proposition 7 has no finite mass",
                    "The exponent lacks its minus sign. The printed density rises with the length of the noise; in one "
                    "dimension it has more than the mass 1 on the unit ball alone.",
                    "at most",
                    errata.mass_of_proposition_7,
                    severity=Severity.SLIP,
                    force="Proposition 7 as printed",
                ),
                Erratum(
                    "the sensitivity of Proposition 7 is a supremum",
                    "It is printed as a sum over the sensitivity space. The sum over both signs of one change is twice the "
                    "sensitivity of Definition 5.",
                    "equal",
                    errata.sensitivity_of_proposition_7,
                    severity=Severity.SLIP,
                    force="the sensitivity of Definition 5",
                ),
            ),
        ),
        Row(
            "Definition 8",
            "of two norm balls the one within the other is preferred",
            Verdict.PROVEN,
            ("solvers/polytopes/norm_order.py:containment",),
            "tests/solvers/polytopes/test_hull.py::test_hull_of_the_vectors_lies_inside_every_other_ball",
        ),
        Row(
            "Proposition 9",
            "the hull of a sensitivity space of full rank is the best norm ball",
            Verdict.PROVEN,
            ("designer/designing/k_norm.py:design_k_norm",),
            "tests/designing/test_semi_dp.py::test_hull_facets_against_the_gauge_of_all_changes",
            (Numbers(computed.mechanisms, ("three cells, total public*",), Read.THEOREM),),
        ),
    ),
)

INVARIANTS = Section(
    "Sections 3.1 to 3.3: invariants and adjacency",
    (
        Row(
            "Example 2",
            "two ones among three bits are published: three databases remain, all two records apart",
            Verdict.REPRODUCED,
            (f"{ADJACENCY}:Conforming.of",),
            f"{SEMI_ADJACENCY}::test_example_2_every_two_databases_with_two_ones_differ_in_two_records",
            databases("databases with two ones of three", "records apart, any two of them"),
        ),
        Row(
            "Definition 10",
            "subspace privacy: only what the invariant leaves open is compared",
            Verdict.ERRATUM,
            ("designer/designing/laplace.py:subspace_mechanism",),
            "tests/designing/test_semi_dp.py::test_subspace_privacy_spends_more_than_it_says",
            errata=(
                Erratum(
                    "the projection of Definition 10 looks at nothing",
                    "As printed, C is the span of the sensitivity space and outputs are projected onto its complement: onto "
                    "what changes never move. So a mechanism that publishes the table itself keeps the definition with "
                    "perfect privacy. Meant is the space that the invariant leaves open, the kernel of the matrix C of T(X) = "
                    "C phi(X), as in Gao, Gong and Yu. Even so it compares databases that the invariant tells apart: what it "
                    "gives for the others is in `docs/theory/invariants.md`, section 7.",
                    "equal",
                    errata_promises.truth_under_definition_10,
                    severity=Severity.SLIP,
                    force="Definition 10 as printed",
                ),
            ),
        ),
        Row(
            "Proposition 11",
            "databases d records apart are protected by f composed d times",
            Verdict.PROVEN,
            (f"{ADJACENCY}:by_distance",),
            f"{PROMISES}::test_every_distance_has_its_own_promise",
            promises("mu between databases two records apart*"),
        ),
        Row(
            "Definition 12",
            "f-semi DP: f-DP among the databases that conform to the invariant",
            Verdict.DEFINITION,
            (f"{CHANGES}:ChangeRelation", f"{ADJACENCY}:ScopedPromise"),
            f"{PROMISES}::test_the_promise_under_an_invariant_holds_for_a_real_mechanism",
        ),
        Row(
            "Definition 13",
            "a(t): how many records have to change with one",
            Verdict.ERRATUM,
            (f"{ADJACENCY}:semi_adjacency",),
            f"{SEMI_ADJACENCY}::test_integer_programs_agree_with_all_databases",
            errata=(
                Erratum(
                    "Definition 13 and Example 5 are two different numbers",
                    "The definition takes the infimum over both databases X and Y, so X may be chosen to suit. Example 5 "
                    "takes the worst X and the best Y, and finds 3 where the definition gives 2. Only the reading of the "
                    "example lets every "
                    'database pretend about every record. Both are here, as `"literal"` and `"worst_case"`, and the larger one '
                    "is the default.",
                    "equal",
                    errata.literal_definition_13,
                    severity=Severity.SLIP,
                    force="Definition 13 as printed (the infimum over both databases), beside Example 5 (the worst X)",
                ),
            ),
        ),
        Row(
            "Remark 14",
            "the least distance leaves databases alone; the largest least one has no meaning for a record",
            Verdict.ERRATUM,
            (f"{ADJACENCY}:Conforming.least_distance", f"{ADJACENCY}:Conforming.largest_least_distance"),
            f"{SEMI_ADJACENCY}::test_nearest_distances_of_remark_14",
            databases("a_min*", "a_maxmin*", "databases alone within a_min", read=Read.OWN),
            errata=(
                Erratum(
                    "Definition 13 as printed leaves databases alone, too (Remark 14)",
                    "The remark turns a_min down since a database may have no neighbour within it, and adopts Definition 13, "
                    "which is said to give every database one. As printed, with the infimum over both databases, it does not: "
                    "of the databases 0000, 1000, 0100, 0010, 0001 and 1111 any record takes both values in 0000 and a "
                    "database one record away, so a(t) = 1, and 1111 is three records from all others. With the worst X, as "
                    "in Example 5, a(t) is 3 and the remark is right.",
                    "at most",
                    errata.alone_under_definition_13,
                    severity=Severity.THEOREM,
                    force="Definition 13 as printed (the infimum over both databases)",
                    follows="Definition 13 and Example 5 are two different numbers",
                ),
            ),
        ),
        Row(
            "Example 3",
            "a(t) is 2 for two ones of three, and 0 for none",
            Verdict.REPRODUCED,
            (f"{ADJACENCY}:Conforming.semi_adjacency",),
            f"{SEMI_ADJACENCY}::test_example_3_both_values_of_the_invariant",
            databases("a(t) of*"),
        ),
        Row(
            "Proposition 15",
            "f for one record gives f composed a(t) times among conforming databases",
            Verdict.PROVEN,
            (f"{ADJACENCY}:under_invariant",),
            f"{PROMISES}::test_the_promise_under_an_invariant_holds_for_a_real_mechanism",
        ),
    ),
)

COUNTS = Section(
    "Section 3.4: counts",
    (
        Row(
            "Example 4",
            "the one-way margins of a 2 x 2 table as counts of features",
            Verdict.PROVEN,
            ("designer/relations/invariants/invariant.py:margins",),
            "tests/relations/invariants/test_invariants.py::test_example_4_one_way_margins_of_a_two_by_two_table",
            databases("margins of (2, 3; 5, 7)*", read=Read.OWN),
        ),
        Row(
            "Theorem 16",
            "with one-way margins of p features a(t) is at most p + 1",
            Verdict.ERRATUM,
            ("designer/relations/invariants/statistics.py:proven_adjacency", f"{ADJACENCY}:semi_adjacency"),
            "tests/relations/invariants/test_invariant_analysis.py::test_one_impossible_cell_breaks_the_bound_of_the_paper_and_attains_the_proven_one",
            databases("three features: the bound p + 1", "three features: attained*", read=Read.THEOREM),
            errata=(
                Erratum(
                    "Theorem 16 needs every combination of levels",
                    "The proof gives each helper the old level of one feature and leaves its others: a combination that has "
                    "to be possible. Structural zeros are not in the paper, and without them the theorem holds, and is "
                    "attained. With them it does not: of a 4 x 4 table whose cells (i, i) and (i, i + 1) alone can be taken, "
                    "the four records of the diagonal move together or not at all, in both readings of Definition 13. (One "
                    "impossible cell of a 3 x 3 table has a(t) = 4 in the reading of Example 5 only, and 3 = p + 1 in the "
                    "printed one.) What is true there, and in general, is proven in `docs/theory/invariants.md`, section 12.",
                    "at most",
                    errata.an_impossible_cell,
                    severity=Severity.ARGUABLE,
                    force="Definition 13 in both readings; a table with structural zeros, of which the paper does not speak",
                ),
            ),
        ),
        Row(
            "Example 5",
            "a 2 x 2 table in which three records have to change",
            Verdict.ERRATUM,
            (f"{ADJACENCY}:semi_adjacency",),
            f"{SEMI_ADJACENCY}::test_example_5_worst_case_of_two_by_two_margins",
            databases("2 x 2, margins (2, 1) and (2, 1)*"),
            errata=(
                Erratum(
                    "the second helper of Example 5",
                    "The number 3 is right. Of the two further individuals, the second is printed as one with A_1 = 1 and A_2 "
                    "= 1, who becomes what it was; the row sums then move. It has to be one with A_1 = 2 and A_2 = 1.",
                    "equal",
                    errata.moves_of_example_5,
                    severity=Severity.SLIP,
                    force="the margins of Example 5",
                ),
            ),
        ),
        Row(
            "Remark 17",
            "more detailed margins have a smaller bound, down to 2",
            Verdict.PROVEN,
            ("designer/relations/invariants/invariant.py:Invariant.semi_adjacency_bound",),
            f"{SEMI_ADJACENCY}::test_joint_margins_bound_lower_than_one_way_margins",
            databases("two features published together*", "all features published together*", read=Read.THEOREM),
        ),
        Row(
            "Corollary 18",
            "with margins of p features f becomes f composed p + 1 times",
            Verdict.PROVEN,
            (f"{ADJACENCY}:under_invariant", "designer/relations/invariants/invariant.py:Invariant.semi_adjacency_bound"),
            f"{PROMISES}::test_the_promise_under_an_invariant_holds_for_a_real_mechanism",
        ),
    ),
)

PROPERTIES = Section(
    "Sections 3.5 and 3.6: comparing and composing promises",
    (
        Row(
            "Example 6",
            "group privacy is stronger than the same f under an invariant",
            Verdict.PROVEN,
            (f"{ADJACENCY}:compare_promises",),
            f"{PROMISES}::test_example_6_group_privacy_is_stronger_than_the_same_number_under_an_invariant",
        ),
        Row(
            "Definition 19",
            "the pairs of databases that a promise speaks of",
            Verdict.PROVEN,
            (f"{ADJACENCY}:Scope", f"{ADJACENCY}:Conforming.indistinguishable"),
            f"{PROMISES}::test_scopes_by_inference_agree_with_scopes_written_out",
            databases("pairs of*", read=Read.WORDS),
        ),
        Row(
            "Definition 20",
            "a promise is stronger with more pairs and a larger f",
            Verdict.ERRATUM,
            (f"{ADJACENCY}:compare_promises", "designer/tradeoff/comparison.py:compare_tradeoffs"),
            f"{PROMISES}::test_definition_20_is_an_order_and_no_implication",
            promises("verdicts of Definition 20*", read=Read.WORDS),
            errata=(
                Erratum(
                    "g < f has to be read as an order of functions (Definition 20)",
                    "The first case of the strict order asks for g < f. As an order of functions that says g at most f, and "
                    "not equal to it, which is what `compare_promises` decides, exactly. Read point by point it holds for no "
                    "two of them: all tradeoff functions of this paper are 0 at 0, and those of pure privacy 1 at 1. Note "
                    "that the order is not implication: f "
                    "for one record implies f composed with itself for two, whose pairs are more, and the definition calls "
                    "the two incomparable.",
                    "equal",
                    errata_promises.places_of_a_tie,
                    severity=Severity.ARGUABLE,
                    force="g < f read as g(x) < f(x) for every x",
                ),
            ),
        ),
        Row(
            "Proposition 21",
            "several releases: groups first, then composition, is never the weaker statement",
            Verdict.PROVEN,
            (f"{ADJACENCY}:semi_first", f"{ADJACENCY}:composition_first"),
            f"{PROMISES}::test_groups_first_is_never_the_weaker_statement",
            (
                *promises("two coins*", "pure 1 and 1/2, groups*", "Gaussian 3 and 4*"),
                *promises("pure 1 and 1/2, Semi-DP*", "pure 1 and 1/2, composition*", read=Read.OWN),
            ),
        ),
        Row(
            "Remark 22",
            "several invariants count as one",
            Verdict.PROVEN,
            ("designer/relations/invariants/invariant.py:joint",),
            "tests/lattice/test_smooth_privacy.py::test_joint_invariants_have_all_statistics_and_all_impossible_elements",
        ),
        Row(
            "Proposition 23",
            "a function of the release and of t keeps the promise",
            Verdict.PROVEN,
            ("designer/mechanism/release.py:nearest_table",),
            "tests/mechanism/test_nearest_tables.py::test_a_release_keeps_its_guarantee_and_its_fingerprint",
        ),
    ),
)
SECTIONS = (PRELIMINARIES, INVARIANTS, COUNTS, PROPERTIES)
