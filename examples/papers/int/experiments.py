"""Rows of sections 4 and 5 of the paper on integer subspace privacy, and of its appendices D and E."""

from __future__ import annotations

from examples import int_convergence, int_counties, int_delinquent, int_intersecting, int_projection
from examples.papers.frame import Erratum, Numbers, Picture, Read, Row, Section, Severity, Verdict, of_example
from examples.papers.int import computed, errata

CHAIN = "tests/solvers/lattices/test_chain.py"
NO_DEMONSTRATION_DATA = (
    "The census's demonstration data of November 2020 (Van Riper et al., IPUMS NHGIS) are given out to registered users only, "
    "and do not ship here, so the red dots are not drawn. What the figure says of the noise of this paper, whole numbers, no "
    "bias, no trend with population, is computed for every state beside."
)
GAMMA = "The county Gamma is printed with a total of 35, its cells add up to 25. The grand total of 135 needs the 25."


def jumps(*names: str, read: Read = Read.TABLE) -> Numbers:
    """Numbers of `computed.jumps`."""
    return Numbers(computed.jumps, names, read, {"Table 2: row totals that are as printed": GAMMA})


SAMPLING = Section(
    "Section 4 and appendix D: sampling",
    (
        Row(
            "Theorem 16",
            "an exact sampler of lattice Gaussians that are wide enough",
            Verdict.PROVEN,
            ("designer/lattice/gaussian.py:LatticeGaussian",),
            "tests/sampling/test_lattice_samplers.py::test_gaussians_follow_the_enumerated_law_and_wrong_variances_do_not",
        ),
        Row(
            "Equation 11",
            "jumps: double geometric coefficients of the Smith basis",
            Verdict.PROVEN,
            ("solvers/lattices/chain.py:JumpLaw",),
            f"{CHAIN}::test_jumps_have_their_mass",
            (jumps("double geometric jumps*", read=Read.THEOREM),),
        ),
        Row(
            "Algorithm 1",
            "a Metropolis chain with the Laplace noise as its target",
            Verdict.PROVEN,
            ("solvers/lattices/chain.py:Chain.step", "examples/int_setting.py:published_chain"),
            f"{CHAIN}::test_many_chains_end_in_the_target",
            (of_example(int_convergence, "2 x 2 table*", "three cells*", read=Read.OWN),),
        ),
        Row(
            "Algorithm 2",
            "two chains a lag apart, coupled",
            Verdict.ERRATUM,
            ("solvers/lattices/chain.py:Chain.step_pair",),
            f"{CHAIN}::test_both_chains_of_a_pair_follow_the_single_kernel",
            errata=(
                Erratum(
                    "Algorithm 2 moves one coefficient only",
                    "Line 4, which sets the proposals back to the two states, stands within the loop over the coefficients, "
                    "so every jump but the last is forgotten, and chains that differ elsewhere never meet. In Algorithm 1 the "
                    "same line stands before the loop, as it has to. (Line 11 sets w twice where the first is to be the one L "
                    "steps behind.) Coupled is here the kernel of Algorithm 1.",
                    "equal",
                    errata.coefficients_that_jump,
                    severity=Severity.SLIP,
                    force="Algorithm 2 as printed, beside Algorithm 1",
                ),
            ),
        ),
        Row(
            "Algorithm 3",
            "the time at which such chains meet",
            Verdict.PROVEN,
            ("solvers/lattices/chain.py:Chain.meeting_times", "solvers/lattices/chain.py:variation_bound"),
            f"{CHAIN}::test_variation_bound_holds_for_the_exact_distance",
        ),
    ),
    (
        Picture(
            int_convergence.draw,
            ("int_convergence.svg",),
            "The distance of Algorithm 1 from its target: exactly, and as the coupling bounds it.",
        ),
    ),
    "None of the experiments needs a chain: all of these laws are drawn exactly (`docs/theory/lattice.md`, sections 2 to 4). "
    "The chain is kept for statistics where nothing exact is feasible, and its distance from the target is then stated as an "
    "estimate.",
)

CHILDREN = Section(
    "Section 5 and appendix E.3: delinquent children",
    (
        Row(
            "Table 2",
            "the table, 135 children by county and education",
            Verdict.ERRATUM,
            ("examples/int_delinquent.py:table",),
            "python -m examples.int_delinquent",
            (jumps("Table 2*"),),
            errata=(
                Erratum(
                    "the total of Gamma (Table 2)",
                    GAMMA,
                    "equal",
                    errata.total_of_gamma,
                    severity=Severity.SLIP,
                    force="the cells of Table 2",
                ),
            ),
        ),
        Row(
            "Table 1",
            "one draw of l1 noise with all margins 0",
            Verdict.CONSISTENT,
            ("examples/int_delinquent.py:noise",),
            "python -m examples.int_delinquent",
            (jumps("Table 1*"), of_example(int_delinquent, "l1: rank*", "l1: margins*", read=Read.OWN)),
        ),
        Row(
            "Table 3",
            "one draw of l2 noise with all margins 0",
            Verdict.CONSISTENT,
            ("examples/int_delinquent.py:noise",),
            "python -m examples.int_delinquent",
            (jumps("Table 3*"), of_example(int_delinquent, "l2: rank*", "l2: margins*", read=Read.OWN)),
        ),
        Row(
            "Figure 1",
            "the bound of the l1 chain falls after about 10^4 steps",
            Verdict.CONSISTENT,
            ("examples/int_setting.py:bound_of",),
            "python -m examples.int_delinquent",
            (of_example(int_delinquent, "l1: steps*", "l1: margins*", read=Read.PLOT),),
        ),
        Row(
            "Figure 6",
            "the bound of the l2 chain falls after about 10^5 steps",
            Verdict.CONSISTENT,
            ("examples/int_setting.py:bound_of",),
            "python -m examples.int_delinquent",
            (of_example(int_delinquent, "l2: steps*", "l2: margins*", read=Read.PLOT),),
        ),
        Row(
            "Figure 7",
            "errors by cell: whole, unbiased",
            Verdict.CONSISTENT,
            ("examples/int_delinquent.py:noise",),
            "python -m examples.int_delinquent",
            (of_example(int_delinquent, "l1: largest bias*", "l2: largest bias*", read=Read.WORDS),),
        ),
    ),
    (Picture(int_delinquent.draw, ("int_delinquent.svg",), "Figures 1, 6 and 7: bounds of the chains, and exact draws."),),
)

INTERSECTING = Section(
    "Section 5 and appendix E.2: intersecting constraints",
    (
        Row(
            "Figure 3",
            "three sets that intersect in every way, over 14 records",
            Verdict.DIFFERS,
            ("examples/int_intersecting.py:constraints",),
            "python -m examples.int_intersecting",
            because="The figure is a sketch: it does not say how many of the 14 records lie in which of the seven regions. "
            "Two are put into each here. All that follows was checked for that choice only.",
        ),
        Row(
            "Figure 4",
            "bounds of the chains fall after about 10^5 (l1) and 10^6 (l2) steps",
            Verdict.CONSISTENT,
            ("examples/int_intersecting.py:published_bound",),
            "python -m examples.int_intersecting",
            (of_example(int_intersecting, "l1: steps*", "l2: steps*", "l1: worst*", "l2: worst*", read=Read.PLOT),),
        ),
        Row(
            "Figure 5",
            "errors by record: whole, unbiased",
            Verdict.CONSISTENT,
            ("examples/int_intersecting.py:noise",),
            "python -m examples.int_intersecting",
            (
                of_example(
                    int_intersecting,
                    "l1: largest bias*",
                    "l2: largest bias*",
                    "l1: standard*",
                    "l2: standard*",
                    read=Read.WORDS,
                ),
            ),
        ),
    ),
    (Picture(int_intersecting.draw, ("int_intersecting.svg",), "Figures 4 and 5."),),
)

COUNTIES = Section(
    "Section 5 and appendix E.4: counties",
    (
        Row(
            "Section E.4",
            "the budget of the county query, and scale reductions below 1.01 after 10^6 steps",
            Verdict.CONSISTENT,
            ("examples/int_convergence.py:scale_reduction", "solvers/lattices/chain.py:r_hat"),
            "python -m examples.int_convergence",
            (
                Numbers(computed.budgets, ()),
                of_example(int_convergence, "Delaware*", "Wyoming*", "Illinois*"),
            ),
        ),
        Row(
            "Figure 2",
            "noise of the counties of Illinois: whole, unbiased, total kept; the census's noise is biased",
            Verdict.DIFFERS,
            ("examples/int_counties.py:noise", "examples/int_counties.py:draw"),
            "python -m examples.int_counties",
            (of_example(int_counties, "state totals that changed", "largest bias*", read=Read.WORDS),),
            NO_DEMONSTRATION_DATA,
        ),
        Row(
            "Figure 8",
            "the same for ten further states",
            Verdict.DIFFERS,
            ("examples/int_counties.py:noise", "examples/int_counties.py:draw_states", "examples/int_counties.py:trend"),
            "python -m examples.int_counties",
            (of_example(int_counties, "states of ten*", "steepest trend*", "share of noise*", read=Read.WORDS),),
            "The paper does not name the states; all of them are drawn and checked, the ten among them. The red dots are "
            "missing, as in Figure 2.",
        ),
        Row(
            "Figure 9",
            "continues Figure 8",
            Verdict.DIFFERS,
            ("examples/int_counties.py:draw_states",),
            "python -m examples.int_counties",
            because="It is the second part of Figure 8, and stands with it.",
        ),
        Row(
            "Figure 10",
            "the same beside noise that is projected afterwards: of about the same size",
            Verdict.ERRATUM,
            ("examples/int_counties.py:projected", "examples/int_projection.py:released"),
            "python -m examples.int_projection",
            (
                of_example(
                    int_counties,
                    "46 states*",
                    "Connecticut*",
                    "Delaware*",
                    "Hawaii*",
                    "Rhode Island*",
                    "draws in which*",
                    read=Read.WORDS,
                ),
                of_example(int_projection, "lattice over*", "lattice*", "projected*", read=Read.WORDS),
            ),
            errata=(
                Erratum(
                    "Figure 10 is captioned as another experiment",
                    "The caption says that non-negativity is enforced on the noise of this paper (green). Appendix E.4 says of "
                    "the same figure that the green boxes are discrete Laplace noise, projected and rounded, and that no "
                    "non-negativity constraints are considered. The two do not look alike: by E.4 itself truncation changes "
                    "nothing in any of 1,000 draws, so that green and blue would be one law; projected noise is wider, for a "
                    "state of three counties by more than a quarter. Reproduced here is what E.4 says.",
                    "equal",
                    errata.green_boxes,
                    severity=Severity.SLIP,
                    force="appendix E.4, the paragraph on projected discrete Laplace noise",
                ),
            ),
        ),
        Row(
            "Figure 11",
            "continues Figure 10",
            Verdict.DIFFERS,
            ("examples/int_counties.py:draw_states",),
            "python -m examples.int_counties",
            because="It is the second part of Figure 10, and stands with it.",
        ),
        Row(
            "Figure 12",
            "continues Figure 10",
            Verdict.DIFFERS,
            ("examples/int_counties.py:draw_states",),
            "python -m examples.int_counties",
            because="It is the third part of Figure 10, and stands with it.",
        ),
    ),
    (
        Picture(int_counties.draw, ("int_counties.svg",), "Figures 2 and 10: the counties of Illinois."),
        Picture(
            int_counties.draw_states,
            ("int_states.png",),
            "Figures 8 to 12, all states: quantiles of the noise by county, in increasing population; blue: exact lattice "
            "noise, green: projected noise.",
        ),
    ),
    "Section 5 names Algorithm 2 as the sampler of this experiment; it is Algorithm 1. The exact noise of "
    "all 3,143 counties is drawn at once, and nothing is rejected.",
)
SECTIONS = (SAMPLING, CHILDREN, INTERSECTING, COUNTIES)
