"""What does not hold in REC: a paragraph for each, and the counter-example."""

from __future__ import annotations

from examples.papers.frame import Erratum
from examples.papers.rec import counterexamples as counter

LEMMA_4_8 = Erratum(
    "Lemma 4.8's constant",
    """Replacing a sensitive record by another is a removal and an addition, and losses of zCDP do not add: their roots do.
    Two
    sensitive records cost up to `(sqrt(rho) + sqrt(rho))^2 = 4 rho`, which a Gaussian sum attains where they differ in sign.
    For
    an arbitrary r' nothing bounds the loss at all, as P(r') is not bounded. `one_sided_loss` is the corrected statement; `2
    rho`
    is right where the two records move different cells. See section 4 of [the theory of records](../theory/records.md).""",
    "at most",
    counter.one_sided,
)
EXAMPLE_5_8 = Erratum(
    "Example 5.8 finds groups without a delta",
    """The example spends rho_1 on private partition selection and adds it to the policy. A group that only one record is in
    is
    named with some probability, and never without that record: no policy of finite losses allows that (definition 3.2 would
    have the probability be 0). Selection costs a delta besides, for every record by its number of rows. `PartitionSelection`
    takes it, and a plan states it for each record (`TablePlan.delta`). The factors 9, 4 and 1 of the policy are right.""",
    "equal",
    counter.found_groups,
)
FIGURE_1 = Erratum(
    "Figure 1 divides squares by what is not squared",
    """The figure shows the mean *squared* error over the expectation, and the text reads values above 1 as noise that
    exceeds the
    sum's expected value by orders of magnitude, in every case. The ratio has the unit of the data (cents for dollars
    multiply it by
    100). For 1,000 values of tail 3/2 at Delta = 100 and rho = 1 the variance of the noise is 1/1800 of the squared
    expectation:
    its standard deviation is 2.4 % of the sum.""",
    "at least",
    counter.noise_beside_signal,
)
FIGURE_1_ERROR = Erratum(
    "the same with the error of clipping",
    """The root mean squared error there, clipping and sampling included, is 9 % of the expectation. The largest over three
    tails (1.2, 1.5, 1.8), three budgets (0.1, 1, 10) and the best Delta of each is in the table above, 30 %. That clipping
    costs more with
    heavier tails is so, and splitting does away with it.""",
    "at least",
    counter.mean_squared_error,
)
SECTION_6_2 = Erratum(
    "the order of the least variance in section 6.2",
    """The section says that rho-zCDP needs a variance of the order `Delta / rho^2` at least. The Gaussian mechanism of
    Definition
    2.7 has `Delta^2 / (2 rho)`, which is smaller by any factor as rho falls. The order that is right is `Delta^2 / rho`.""",
    "at least",
    counter.least_variance,
)
