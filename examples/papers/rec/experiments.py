"""REC section 6: experiments, as releases of table plans."""

from __future__ import annotations

import examples.rec_business as business
import examples.rec_plants as plants
import examples.rec_sim as simulated
from examples.papers.frame import Numbers, Picture, Read, Row, Section, Verdict, of_example
from examples.papers.rec import errata, numbers

OTHER_DRAW = """The paper's establishments are synthetic data that the Census Bureau gave its authors, and not public. Others
are drawn within published cells instead, with constants that were chosen by these percentiles, and these are off by one
point."""
CATTLE = """The cattle inventory is not public by county. Power plants stand for counties: generation for the number of
cattle, a rate between 0 and 1 for the rent of pasture, state and state by fuel for state and state by district.
What the figure shows holds for them, too: errors fall with more split records and with more rho,
and no more than the stated share of records loses more than rho. Its values are not comparable."""
SETUP = Section(
    "Section 6.1: data, queries and metrics",
    (
        Row(
            "Equations (7) to (13)",
            "policy loss, realised loss, relative errors, least loss of a policy",
            Verdict.DEFINITION,
            (
                "designer/tables/policies/metrics.py:policy_losses",
                "designer/tables/policies/metrics.py:realized_losses",
                "designer/tables/policies/metrics.py:gaussian_relative_error",
                "designer/tables/policies/metrics.py:absolute_relative_error",
                "designer/tables/policies/metrics.py:policy_min",
            ),
            "tests/tables/policies/test_record_metrics.py::test_realized_loss_of_records_and_firms_is_the_divergence_without_them",
        ),
        Row(
            "Table 4",
            "two Pareto variables and a category of 1,000 values; its law is not given, Dirichlet(5, ..., 5) here",
            Verdict.CONSISTENT,
            ("examples/rec_sim.py:simulate",),
            "tests/tables/policies/test_record_experiments.py::test_simulated_tails_are_pareto",
            (Numbers(numbers.table_4, (), Read.THEOREM),),
        ),
        Row(
            "Table 5",
            "sums and averages of cattle and rents by state and district",
            Verdict.DIFFERS,
            ("examples/rec_plants.py:sums", "examples/rec_plants.py:averages"),
            "python -m examples.rec_plants",
            because="The four queries are asked of power plants, as the paragraph on Figure 2 says.",
        ),
        Row(
            "Table 6",
            "counts and three sums by county at every level of an industry code",
            Verdict.DEFINITION,
            ("examples/rec_business.py:plan",),
            "python -m examples.rec_business",
        ),
    ),
    text="""All answers below are releases of `TablePlan`s: the queries run on the database engine, the noise is discrete,
    and the policy is
    the one that the plan certifies. Only the data are simulated, and so is the release stamped.""",
)
TRADE_OFFS = Section(
    "Sections 6.2 and 6.3: heavy tails",
    (
        Row(
            "Figure 1",
            "noise to signal of clipped sums; the best Delta grows with rho and with heavier tails",
            Verdict.ERRATUM,
            ("examples/rec_sim.py:noise_to_signal",),
            "tests/tables/policies/test_record_experiments.py::test_noise_to_signal_agrees_with_quadrature",
            (
                of_example(simulated, "Figure 1: least growth*", read=Read.WORDS),
                of_example(simulated, "Figure 1: least noise*", read=Read.PLOT),
                of_example(simulated, "Figure 1: the same*", "Figure 1: largest root*", read=Read.OWN),
                Numbers(simulated.moved, ("least noise*",), Read.OWN),
            ),
            errata=(errata.FIGURE_1, errata.FIGURE_1_ERROR),
        ),
        Row(
            "Section 6.2, least variance",
            "any zCDP mechanism needs a variance of the order Delta / rho^2",
            Verdict.ERRATUM,
            ("designer/tables/queries.py:variance_for",),
            "tests/tables/test_table_plan.py::test_noise_has_the_law_that_is_stated",
            errata=(errata.SECTION_6_2,),
        ),
        Row(
            "Figure 2 (a)",
            "simulated sums: a median error of 10 % at rho = 1 with less than 1 % of the records above it",
            Verdict.CONSISTENT,
            ("examples/rec_sim.py:plan", "examples/rec_sim.py:errors"),
            "python -m examples.rec_sim",
            (
                of_example(simulated, "Figure 2: median*", "Figure 2: share*"),
                of_example(simulated, "Figure 2: largest*", read=Read.WORDS),
                of_example(simulated, "exact over*", "design: relative gap", "design: sums*", read=Read.OWN),
                Numbers(simulated.moved, ("median*",), Read.OWN),
            ),
        ),
        Row(
            "Figure 2",
            "(b): the same trade-off for cattle by state and district",
            Verdict.DIFFERS,
            ("examples/rec_plants.py:sums", "examples/rec_plants.py:errors"),
            "python -m examples.rec_plants",
            (
                of_example(plants, "largest change*", read=Read.WORDS),
                of_example(plants, "share of plants*", "median ARE*", read=Read.OWN),
            ),
            because=CATTLE,
        ),
    ),
    (
        Picture(simulated.draw, ("rec_sim.svg",), "Figures 1 and 2 (a): noise to signal; errors and losses of simulated sums."),
        Picture(plants.draw, ("rec_plants.svg",), "Figure 2 (b) on power plants, and a consistent design beside it."),
    ),
)
BUSINESS = Section(
    "Section 6.4: County Business Patterns",
    (
        Row(
            "Table 7",
            "top codes of three schemes",
            Verdict.DEFINITION,
            ("examples/rec_business.py:TOP_CODES",),
            "python -m examples.rec_business",
        ),
        Row(
            "Table 8",
            "thresholds of three splitting schemes and their percentiles",
            Verdict.DIFFERS,
            ("examples/rec_business.py:THRESHOLDS", "examples/rec_business.py:PERCENTILES"),
            "python -m examples.rec_business",
            (
                Numbers(
                    numbers.table_8,
                    (),
                    Read.TABLE,
                    dict.fromkeys(
                        ("Conservative, EMP", "Moderate, EMP", "Moderate, PAYQTR1", "Median, EMP", "Median, PAYQTR1"),
                        OTHER_DRAW,
                    ),
                ),
                Numbers(
                    business.moved,
                    (*(f"sigma {spread:g}: largest distance*" for spread in business.MOVED), "sigma of wages*"),
                    Read.OWN,
                ),
            ),
            because="""The paper's establishments are synthetic data of the Census Bureau, and not public. Each published cell
            of New Jersey is filled with its published number of establishments instead. Two constants that the paper does not
            name, the spread of jobs and of wages within a cell, were chosen such that the percentiles come out within a point
            of the paper's: the agreement is by choice, and says nothing of the paper.""",
        ),
        Row(
            "Figure 3",
            "errors of top-coding and of splitting: most top-coded sums miss 5 %, splitting is far below",
            Verdict.CONSISTENT,
            ("examples/rec_business.py:plan", "examples/rec_business.py:errors"),
            "python -m examples.rec_business",
            (
                of_example(business, "Figure 3: queries above 5 % ARE, top-coded*", "Figure 3: median*", read=Read.WORDS),
                of_example(business, "Figure 3: queries above 5 % ARE, split*", read=Read.OWN),
                Numbers(business.moved, ("sigma 1, Figure 3*", "sigma 2, Figure 3*"), Read.OWN),
            ),
        ),
        Row(
            "Figure 4",
            "least policies for a goal: smaller for most establishments at lower thresholds, and at a larger error",
            Verdict.CONSISTENT,
            ("examples/rec_business.py:least_rho", "designer/tables/policies/design.py:design_records"),
            "python -m examples.rec_business",
            (
                of_example(business, "Figure 4: largest*", "Figure 4: least share*", read=Read.WORDS),
                of_example(business, "Figure 4: share below*", "Figure 4: median loss*", "design for*", read=Read.OWN),
                Numbers(business.moved, ("sigma 1, Figure 4*", "sigma 2, Figure 4*"), Read.OWN),
            ),
        ),
        Row(
            "Figure 5",
            "policy and realised losses of establishments and firms: realised ones are below, and the gap shrinks",
            Verdict.CONSISTENT,
            ("examples/rec_business.py:realized_losses", "designer/tables/policies/renyi.py:group_losses"),
            "python -m examples.rec_business",
            (
                of_example(business, "Figure 5: largest*", read=Read.WORDS),
                of_example(business, "Figure 5: firms alone, an input", "Figure 5: median*", read=Read.OWN),
                Numbers(business.moved, ("sigma 1, Figure 5*", "sigma 2, Figure 5*"), Read.OWN),
            ),
        ),
    ),
    (Picture(business.draw, ("rec_business.svg",), "Figures 3, 4 and 5, with the designed policy beside those of Figure 4."),),
    """Statements about pictures are turned into inequalities, and hold for establishments that are drawn within published
    cells of
    New Jersey (`examples/data/README.md`).""",
)
