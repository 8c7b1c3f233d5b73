"""Rows of sections 5.3 and 6 and of the appendices of the paper on Semi-DP: the private test, the census, lemmas."""

from __future__ import annotations

from examples import census_2020, semi_dp_tables, semi_dp_umpu
from examples.papers.frame import Erratum, Numbers, Picture, Read, Row, Section, Severity, Verdict, of_example
from examples.papers.semi import computed, errata, errata_promises
from examples.papers.semi.framework import promises

UMPU, CANONICAL = "tests/odds_ratio/test_umpu.py", "tests/odds_ratio/test_canonical_noise.py"


def odds_ratio(*names: str, read: Read = Read.THEOREM) -> tuple[Numbers, ...]:
    """Numbers of `computed.odds_ratio`."""
    return (Numbers(computed.odds_ratio, names, read),)


TEST = Section(
    "Section 5.3: the private test of an odds ratio",
    (
        Row(
            "Lemma 34",
            "a test is private when its chances at adjacent databases obey f",
            Verdict.PROVEN,
            ("designer/odds_ratio/umpu.py:NoisyCountTest",),
            f"{UMPU}::test_test_is_private_and_monotone",
            odds_ratio("margins (6, 5), (7, 4): how far*"),
        ),
        Row(
            "Definition 35",
            "canonical noise: private, tight, with thresholds as best tests, symmetric",
            Verdict.PROVEN,
            ("designer/odds_ratio/noise.py:CanonicalNoise",),
            f"{CANONICAL}::test_definition",
            odds_ratio("Tulap*"),
        ),
        Row(
            "Lemma 36",
            "a canonical law for every f",
            Verdict.PROVEN,
            ("designer/odds_ratio/noise.py:PiecewiseNoise", "designer/odds_ratio/noise.py:Tulap"),
            f"{CANONICAL}::test_tulap_is_lemma_36",
            odds_ratio("Lemma 36*"),
        ),
        Row(
            "Theorem 37",
            "x11 with canonical noise gives the best unbiased private test, and a p-value",
            Verdict.ERRATUM,
            (
                "designer/odds_ratio/umpu.py:NoisyCountTest",
                "designer/odds_ratio/mechanism.py:OddsRatioTest",
            ),
            f"{UMPU}::test_no_private_test_is_more_powerful",
            (
                *odds_ratio("margins (6, 5), (7, 4): size*"),
                of_example(semi_dp_umpu, "n = *", read=Read.THEOREM),
            ),
            errata=(
                Erratum(
                    "the odds ratio of section 5.3 is upside down",
                    "The law of x11 given the margins is Fisher's noncentral hypergeometric law with omega the odds of row 1 "
                    "over those of row 2. The paper prints the inverse ratio above it. With theta_1 = 3/4, theta_2 = 1/4 and "
                    "all margins 1, x11 is 1 with probability 9/10; with the printed ratio it would be 1/10, and large x11, "
                    "which the test rejects for, would speak for the null. Here omega is that of the law.",
                    "equal",
                    errata_promises.law_under_the_alternative,
                    severity=Severity.SLIP,
                    force="Fisher's noncentral hypergeometric law of x11",
                ),
                Erratum(
                    "the law in the proof of Theorem 37 is that of another cell",
                    "The proof finds m(t) under H of Hyper(t2., t1., t.1), the law of x21, and uses it for a test of x11. The "
                    "theorem itself names Hyper(t1., t2., t.1), which is right. Where the rows differ in size so do the laws: "
                    "for margins (3, 1) and (2, 2) they have the means 1/2 and 3/2.",
                    "equal",
                    errata_promises.mean_in_the_proof,
                    severity=Severity.SLIP,
                    force="the law that Theorem 37 names",
                ),
            ),
        ),
    ),
    (Picture(semi_dp_umpu.draw, ("semi_dp_umpu.svg",), "Power of the test of Theorem 37; the paper has no figure of it."),),
)

CENSUS = Section(
    "Section 6: the census of 2020",
    (
        Row(
            "Definition 38",
            "rho-zCDP: Renyi divergences of order alpha are at most rho alpha",
            Verdict.PROVEN,
            ("designer/relations/invariants/adjacency.py:ZCDP",),
            "tests/tradeoff/test_accounting.py::test_zcdp_covers_every_single_bit",
        ),
        Row(
            "Lemma 39",
            "groups of k have k^2 rho",
            Verdict.PROVEN,
            ("designer/tradeoff/conversions.py:zcdp_group_rho",),
            "tests/relations/invariants/test_invariant_analysis.py::test_the_2020_census_under_state_totals",
            promises("rho of groups*"),
        ),
        Row(
            "Lemma 40",
            "epsilon = rho + 2 root(rho log(1/delta))",
            Verdict.REPRODUCED,
            ("designer/tradeoff/conversions.py:zcdp_epsilon_bun_steinke", "designer/tradeoff/conversions.py:zcdp_epsilon"),
            "tests/tradeoff/test_accounting.py::test_census",
            promises("epsilon of rho*", read=Read.TEXT),
        ),
        Row(
            "Section 6.1",
            "state totals make 2.56-zCDP 10.24-zCDP, and epsilon 17.9 becomes 41.0 at delta 1e-10",
            Verdict.REPRODUCED,
            ("designer/relations/invariants/adjacency.py:allocation", "examples/census_2020.py:reproduce"),
            "python -m examples.census_2020",
            (of_example(census_2020, "rho under*", "epsilon*"),),
        ),
    ),
    (Picture(census_2020.draw, ("census_2020.svg",), "Epsilon by level, as announced and under the published totals."),),
    "Bun and Steinke's conversion is what the paper prints. The best one known gives 17.16 and 39.82 for the same releases.",
)

APPENDIX = Section(
    "Appendices: lemmas and baselines",
    (
        Row(
            "Lemma 41",
            "groups of a product are below products of groups",
            Verdict.PROVEN,
            (
                "designer/relations/invariants/adjacency.py:semi_first",
                "designer/relations/invariants/adjacency.py:composition_first",
            ),
            "tests/relations/invariants/test_invariant_analysis.py::test_groups_of_a_product_are_below_the_product_of_groups",
        ),
        Row(
            "Lemma 42",
            "what changes do not span is constant over all databases",
            Verdict.ERRATUM,
            (
                "designer/problem/relation.py:Relation.public_rows",
                "designer/relations/invariants/adjacency.py:Conforming.components",
            ),
            "tests/relations/invariants/test_invariants.py::test_unprotected_attributes_under_an_invariant_publish_more",
            errata=(
                Erratum(
                    "constant along changes, not everywhere (Lemma 42)",
                    "The lemma's proof compares adjacent databases. Databases that no chain of changes joins may differ: of "
                    "two databases (0, 0) and (1, 1), of which one record at a time may change, the changes span {0} and "
                    "nothing is projected away, so the number of ones is published as it is. Proposition 26 stays true, since "
                    "it promises something for adjacent databases alone, but what is published without noise has to be said: "
                    "`Relation.public_rows` lists it, and the guarantee names it.",
                    "equal",
                    errata.constant_of_lemma_42,
                    severity=Severity.THEOREM,
                    force="all databases that conform, joined by changes or not",
                ),
            ),
        ),
        Row(
            "Lemma 43",
            "two normal laws of one covariance are told apart by the whitened distance of their means",
            Verdict.PROVEN,
            ("designer/certificate/norms.py:Norm", "designer/tradeoff/functions.py:Gaussian"),
            "tests/tradeoff/test_accounting.py::test_gaussian_delta_is_its_integral",
            promises("Lemma 43*"),
        ),
        Row(
            "Definition 44",
            "Neyman structure: the same size given every value of the statistic",
            Verdict.PROVEN,
            ("designer/odds_ratio/umpu.py:NoisyCountTest",),
            f"{UMPU}::test_size_is_exact",
        ),
        Row(
            "Lemma 45",
            "the best test with Neyman structure is the best unbiased one",
            Verdict.PROVEN,
            ("designer/odds_ratio/umpu.py:NoisyCountTest",),
            f"{UMPU}::test_no_private_test_is_more_powerful",
        ),
        Row(
            "Lemma 46",
            "for 2 x 2 tables: size alpha given the margins is enough",
            Verdict.PROVEN,
            ("designer/odds_ratio/umpu.py:Margins",),
            f"{UMPU}::test_size_is_exact",
        ),
        Row(
            "Lemma 47",
            "the most powerful f-private test, in three forms",
            Verdict.PROVEN,
            ("designer/odds_ratio/umpu.py:NoisyCountTest",),
            f"{UMPU}::test_first_form_of_the_test",
        ),
        Row(
            "Algorithm 4",
            "naive Laplace noise",
            Verdict.PROVEN,
            ("designer/designing/group_privacy.py:group_laplace",),
            "tests/designing/test_semi_dp.py::test_group_privacy_in_closed_form",
            (of_example(semi_dp_tables, "4 x 4, A_3, naive l1 of the paper", read=Read.THEOREM),),
        ),
        Row(
            "Algorithm 5",
            "naive l2 noise: a direction and a radius of shape d",
            Verdict.PROVEN,
            ("designer/designing/group_privacy.py:group_l2_ball",),
            "tests/designing/test_semi_dp.py::test_exact_errors_of_baselines_against_draws",
            (of_example(semi_dp_tables, "2 x 2, A_2, group_l2_ball", "3 x 3, A_3, group_l2_ball", read=Read.THEOREM),),
        ),
        Row(
            "Algorithm 6",
            "naive l-infinity noise: a point of the cube and a radius of shape d + 1",
            Verdict.PROVEN,
            ("designer/designing/group_privacy.py:group_box",),
            "tests/designing/test_semi_dp.py::test_exact_errors_of_baselines_against_draws",
            (of_example(semi_dp_tables, "2 x 2, A_2, group_box", "3 x 3, A_3, group_box", read=Read.THEOREM),),
        ),
    ),
)
SECTIONS = (TEST, CENSUS, APPENDIX)
