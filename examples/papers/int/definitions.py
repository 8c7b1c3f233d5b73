"""Rows of sections 2 and 3 of the paper on integer subspace privacy, and of the appendices that prove them."""

from __future__ import annotations

from examples.papers.frame import Erratum, Numbers, Read, Row, Section, Severity, Verdict
from examples.papers.int import computed, errata

SMOOTHING, TAILS = "designer/lattice/smoothing.py", "designer/lattice/tails.py"
SMOOTH, TAIL = "tests/lattice/test_smooth_privacy.py", "tests/lattice/test_lattice_tails.py"
MECHANISM, LATTICE = "tests/lattice/test_lattice_mechanism.py", "tests/solvers/lattices/test_lattice.py"


def definitions(*names: str, read: Read = Read.THEOREM) -> tuple[Numbers, ...]:
    """Numbers of `computed.definitions`."""
    return (Numbers(computed.definitions, names, read),)


def tails(*names: str, read: Read = Read.THEOREM) -> tuple[Numbers, ...]:
    """Numbers of `computed.tails`."""
    return (Numbers(computed.tails, names, read),)


PRIVACY = Section(
    "Section 2: integer subspace privacy",
    (
        Row(
            "Definition 1",
            "published counts over sets of cells; outputs keep them",
            Verdict.PROVEN,
            ("designer/relations/invariants/invariant.py:Invariant",),
            f"{MECHANISM}::test_releases_keep_the_data_s_statistics",
            definitions("4 x 4: largest change of a margin*", read=Read.WORDS),
        ),
        Row(
            "Equation 2",
            "smooth privacy: epsilon grows with the distance, and is the same as equation (1) for a norm",
            Verdict.ERRATUM,
            (f"{SMOOTHING}:SmoothPrivacy",),
            f"{SMOOTH}::test_a_norm_that_is_longer_than_the_distance_is_refused",
            errata=(
                Erratum(
                    "neighbours do not decide in l2 (the sentence after equation 2, with its footnote)",
                    "It is said that for any norm the definition by neighbours at distance 1 and the smooth one are the same. "
                    "That needs shortest paths of steps of length 1: in l1 there are such, in l2 there are not. Independent "
                    "double geometric noise is private with epsilon for all databases at l2 distance 1, which differ in one "
                    "cell; databases that differ by (1, 1) are root 2 apart and lose 2 epsilon. Here budgets per distance are "
                    "certified in the distance that is asked for.",
                    "at most",
                    errata.smooth_privacy_in_l2,
                    severity=Severity.THEOREM,
                    force="equations (1) and (2) with the l2 distance",
                ),
            ),
        ),
        Row(
            "Definition 2",
            "privacy among databases with equal statistics, fading with distance",
            Verdict.PROVEN,
            (f"{SMOOTHING}:smooth_privacy", "designer/relations/invariants/changes.py:InvariantDistance"),
            f"{SMOOTH}::test_exponential_noise_keeps_it_without_a_delta",
            definitions("pure noise: epsilon*"),
        ),
        Row(
            "Example 3",
            "one set of all cells: ordinary bounded privacy",
            Verdict.ERRATUM,
            ("designer/relations/invariants/invariant.py:total",),
            f"{SMOOTH}::test_adjacency_of_records",
            definitions("one record replaced*", read=Read.OWN),
            errata=(
                Erratum(
                    "databases with equal totals are at least 2 apart (Example 3)",
                    "Neighbours are at distance 1, and no two databases with equal totals are: replacing a record moves 2 in "
                    "l1. So (epsilon, 0) of Definition 2 is 2 epsilon of bounded privacy, not epsilon. The comparison in "
                    "appendix E.4, for databases at distance 1 under a fixed sum, is between databases that do not exist.",
                    "equal",
                    errata.nearest_equivalent,
                    severity=Severity.SLIP,
                    force="Definition 2 with the l1 distance of histograms",
                ),
            ),
        ),
        Row(
            "Example 4",
            "state totals: a partition of the cells",
            Verdict.PROVEN,
            ("designer/relations/invariants/invariant.py:partition",),
            "tests/lattice/test_structured_lattices.py::test_3143_counties_within_their_states",
            definitions("states a and b*"),
        ),
        Row(
            "Example 5",
            "rows and columns of a table",
            Verdict.ERRATUM,
            ("designer/relations/invariants/invariant.py:margins",),
            f"{MECHANISM}::test_noise_is_integer_keeps_every_statistic_and_spends_the_whole_budget",
            errata=(
                Erratum(
                    "margins of a table are not of full rank (Example 5)",
                    "Definition 9 and Theorems 10 to 15 ask for a collection of full rank. The rows and columns of Example 5 "
                    "are not: both add up to the total. So the paper's own experiment with a 4 x 4 table is outside its "
                    "theorems, by one row. Here dependent rows play no part (`docs/theory/lattice.md`, section 0).",
                    "equal",
                    errata.rank_of_margins,
                    severity=Severity.GAP,
                    force="the full rank that Definition 9 and Theorems 10 to 15 ask for",
                ),
            ),
        ),
        Row(
            "Proposition 6",
            "epsilons and deltas of several releases add up",
            Verdict.ERRATUM,
            (f"{SMOOTHING}:composed_smooth",),
            f"{SMOOTH}::test_deltas_and_growth_compose",
            definitions("two releases*"),
            errata=(
                Erratum(
                    "the proof of Proposition 6 bounds single outputs",
                    "Appendix A bounds the chance of every single output by e^epsilon times the other, plus delta. For delta "
                    "above 0 that says nothing about events: laws on ten different outputs each keep it with delta = 1/10, "
                    "and are told apart for certain. The proposition itself is true: events compose as usual for each "
                    "distance, and the growth of delta is below the joint one for distances of at least 1 "
                    "(`docs/theory/lattice.md`, section 7).",
                    "at most",
                    errata.chance_of_an_event,
                    severity=Severity.GAP,
                    force="equation (2) for events, delta above 0",
                ),
            ),
        ),
        Row(
            "Proposition 7",
            "functions of the output keep the promise",
            Verdict.PROVEN,
            ("designer/lattice/mechanism.py:LatticeRelease",),
            f"{MECHANISM}::test_answers_are_those_of_the_released_table",
        ),
    ),
)

LATTICES = Section(
    "Section 3.1: lattices",
    (
        Row(
            "Proposition 8",
            "outputs that keep the counts differ from the data by a lattice, found by the Smith form",
            Verdict.ERRATUM,
            ("solvers/lattices/kernel.py:integer_kernel", "solvers/exact/points.py:smith_transforms"),
            f"{LATTICE}::test_kernel_holds_exactly_the_integer_solutions",
            definitions("4 x 4: U A V*", "4 x 4: |det V|", "4 x 4: d - rank*"),
            errata=(
                Erratum(
                    "the basis stands in columns (Proposition 8)",
                    "The proof takes the bottom d - k rows of V as the basis. Solutions are V w with w zero in its first k "
                    "places, so it is the last d - k columns. For the sum of three cells the rows are no solutions.",
                    "equal",
                    errata.rows_of_smith,
                    severity=Severity.SLIP,
                    force="the Smith form U A V = D as printed",
                ),
            ),
        ),
    ),
)

LAPLACE = Section(
    "Section 3.2 and appendix B: generalised Laplace noise",
    (
        Row(
            "Definition 9",
            "noise proportional to exp(-epsilon ||z||) on the lattice",
            Verdict.PROVEN,
            ("designer/lattice/design.py:lattice_laplace", "designer/lattice/law.py:LatticeLaw"),
            "tests/sampling/test_lattice_samplers.py::test_samplers_follow_the_enumerated_law_and_wrong_rates_do_not",
            definitions("no invariant, d = 1*"),
        ),
        Row(
            "Theorem 10",
            "that noise is (epsilon, 0)-private",
            Verdict.PROVEN,
            ("designer/certificate/certificate.py:certify", "designer/relations/invariants/changes.py:InvariantDistance"),
            f"{SMOOTH}::test_exponential_noise_keeps_it_without_a_delta",
            definitions("sum of three*"),
        ),
        Row(
            "Lemma 11",
            "how many lattice points lie in a ball, for large radii",
            Verdict.PROVEN,
            (f"{TAILS}:theorem_constant", "examples/papers/int/computed.py:tails"),
            f"{TAIL}::test_the_constant_of_the_paper",
            tails("sum of three: lattice points*"),
        ),
        Row(
            "Theorem 12",
            "the noise is unbiased, with tails K t^m exp(-epsilon t) for large t",
            Verdict.PROVEN,
            (f"{TAILS}:theorem_12_tail", f"{TAILS}:noise_tail"),
            f"{TAIL}::test_the_constant_of_the_paper",
            tails("sum of three, l2*"),
        ),
        Row(
            "Theorem 17",
            "volumes approximate numbers of lattice points (Landau)",
            Verdict.ERRATUM,
            ("solvers/lattices/kernel.py:Lattice.squared_determinant",),
            f"{TAIL}::test_the_constant_of_the_paper",
            errata=(
                Erratum(
                    "the volume of an ellipsoid (after Theorem 17)",
                    "It is printed as V_l (s^2 / det Q)^(l/2). The determinant belongs under one root, whatever the "
                    "dimension: V_l s^l / root(det Q), which equation (12) below it uses. For Q = 4 I in the plane and s = "
                    "200 the ellipse holds 31,417 integer points; the printed volume is a quarter of that.",
                    "equal",
                    errata.points_in_an_ellipse,
                    severity=Severity.SLIP,
                    force="the volume of {v : v'Qv at most s^2} in l dimensions",
                ),
            ),
        ),
    ),
    text="`K` falls with the dimension only in the end: 2^m V_m rises to 3 x 10^4 at m = 25 before it goes to 0. Our bound, "
    "(e epsilon t / m)^m exp(-epsilon t), is proven for every t above m / epsilon (`docs/theory/lattice.md`, section 8).",
)

GAUSSIAN = Section(
    "Section 3.3 and appendix C: generalised Gaussian noise",
    (
        Row(
            "Definition 13",
            "Gaussian noise on the lattice, its variance with a constant c_A of the lattice",
            Verdict.ERRATUM,
            (f"{TAILS}:definition_13_variance", "designer/tradeoff/conversions.py:smooth_deviation"),
            f"{TAIL}::test_what_the_proof_without_a_dimension_saves",
            tails("2 x 2: variance*", "4 x 4: variance*", "10 x 10: variance*", "least variance*", read=Read.OWN),
            errata=(
                Erratum(
                    "c_A can be 0 (Definition 13)",
                    "The constant is given as O(max{(d - k) ln(d - k), ln K}). Read literally, as at most a multiple of that, "
                    "it is 0 for one line of 256 alternating cells, where both terms are, and the paper's own inequality (17) "
                    "needs c_A = 1.38 there, at epsilon = 0.25 and delta = 1e-6. An order that is meant up to an added "
                    "constant is not touched by this. No such constant is needed at all: lattice Gaussian noise "
                    "of variance s^2 is |v|^2 / (2 s^2)-zCDP for every change v, whatever the lattice "
                    "(`docs/theory/lattice.md`, section 5). That takes the variance of `smooth_deviation`, 5.5 times less for "
                    "4 x 4 tables and 49 times less for 10 x 10.",
                    "at most",
                    errata.constant_of_definition_13,
                    severity=Severity.ARGUABLE,
                    force="the printed order, read literally: at most a multiple of the maximum",
                ),
                Erratum(
                    "sigma is no variance (equation 8)",
                    "Above equation (8) sigma is called the variance of the lattice Gaussian, whose law has 2 sigma^2 in the "
                    "denominator. On the whole numbers, sigma = 4 has the variance 16. Nor is sigma^2 more than a parameter: "
                    "where the lattice is coarse beside it the variance is less, 0.215 on the whole numbers at sigma^2 = 1/4. "
                    "Definition 13, which calls sigma^2 the variance, is built with that parameter.",
                    "equal",
                    errata.variance_of_equation_8,
                    severity=Severity.SLIP,
                    force="equation (8), sigma as the sentence before it names it",
                ),
            ),
        ),
        Row(
            "Theorem 14",
            "that noise is (epsilon, delta)-private for delta < epsilon < 1/e",
            Verdict.PROVEN,
            ("designer/tradeoff/conversions.py:smooth_epsilon",),
            f"{SMOOTH}::test_gaussian_noise_keeps_definition_2_at_every_distance",
            tails("delta of the variance that suffices*"),
        ),
        Row(
            "Theorem 15",
            "it is unbiased, with tails K t^m exp(-t^2 / (2 sigma^2)) for large t",
            Verdict.PROVEN,
            (f"{TAILS}:theorem_15_tail",),
            f"{TAIL}::test_the_constant_of_the_paper",
            tails("sum of three, Gaussian*"),
        ),
        Row(
            "Proposition 18",
            "the same for any lattice",
            Verdict.ERRATUM,
            (f"{TAILS}:theorem_15_tail", f"{TAILS}:noise_tail"),
            f"{TAIL}::test_bounds_hold_for_enumerated_laws",
            errata=(
                Erratum(
                    "two constants K (Proposition 18)",
                    "The proposition takes K from Theorem 12, 4 x 2^m V_m / root(det). Its proof ends with half of it: the "
                    "factor 2 of the ratio test, which the proof of Theorem 12 keeps, is lost. The larger one is used here.",
                    "equal",
                    errata.constant_of_theorem_15,
                    severity=Severity.SLIP,
                    force="K as Theorem 12 defines it",
                ),
            ),
        ),
    ),
)
SECTIONS = (PRIVACY, LATTICES, LAPLACE, GAUSSIAN)
