"""What does not hold in REC: a paragraph for each, and the counter-example."""

from __future__ import annotations

from examples.papers.frame import Erratum, Severity
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
    severity=Severity.PRIVACY,
    force="Definition 4.7 for every pair of records that it allows",
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
    severity=Severity.PRIVACY,
    force="Definition 3.2, which has no delta",
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
    severity=Severity.SLIP,
    force="the sentence under Figure 1, noise beside the expectation in one unit",
)
FIGURE_1_ERROR = Erratum(
    "the same with the error of clipping",
    """The root mean squared error there, clipping and sampling included, is 9 % of the expectation. The largest over three
    tails (1.2, 1.5, 1.8), three budgets (0.1, 1, 10) and the best Delta of each is in the table above, 30 %. That clipping
    costs more with
    heavier tails is so, and splitting does away with it.""",
    "at least",
    counter.mean_squared_error,
    severity=Severity.SLIP,
    force="the sentence under Figure 1, noise beside the expectation in one unit",
    follows="Figure 1 divides squares by what is not squared",
)
SECTION_6_2 = Erratum(
    "the order of the least variance in section 6.2",
    """The section says that rho-zCDP needs a variance of the order `Delta / rho^2` at least. The Gaussian mechanism of
    Definition
    2.7 has `Delta^2 / (2 rho)`, which is smaller by any factor as rho falls. The order that is right is `Delta^2 / rho`.""",
    "at least",
    counter.least_variance,
    severity=Severity.SLIP,
    force="Definition 2.7",
)

LEMMA_4_2 = Erratum(
    "the proof of Lemma 4.2 is for mechanisms that do not adapt",
    """The lemma is for M2(M1(D), D), where the second mechanism sees the first output. Its proof sets the divergence of the
    pair equal to the sum of the divergences of the two outputs by themselves, which holds where they are independent. In the
    example both of these are 0, and the pair tells the data. The lemma is true where M2 keeps P2 for every first output, and P2
    was fixed before: by the chain rule the divergence of the pair is at most that of M1 plus the largest of M2 given an output.
    That is the condition here; policies that are chosen after an output need a filter
    ([composition](../theory/composition.md)).""",
    "equal",
    counter.adaptive_pair,
    severity=Severity.GAP,
    force="M2(M1(D), D), P1 and P2 chosen before either runs",
)
LEMMA_4_5 = Erratum(
    "Lemma 4.5 has a factor too much in its last term",
    """Iterating the inequality of Bun and Steinke J - 1 times leaves `k^(J-1) P(r_(J))` for the last record, as the paper's own
    calculation for J = 2 has it; the printed sum ends with `k^J / (k - 1)`, which is larger by k / (k - 1). So the
    printed bound
    holds, but for two records of equal loss P it is 5.83 P, where Lemma 4.4 has 4 P, and it does not agree with the
    global result,
    as is said. `advanced_group_loss` is the printed infimum; `group_loss`, the square of the sum of roots, is below both.""",
    "equal",
    counter.two_equal_records,
    severity=Severity.SLIP,
    force="Lemma 4.5 as printed, beside its own calculation for J = 2",
)
ALGORITHM_1 = Erratum(
    "Algorithm 1 makes no row of a record without amounts",
    """The smallest integer m with m T(a) at least r(a) for all a is 0 where all amounts are 0 (and there is none where
    an amount
    may be negative). Such a record is split into no rows, so COUNT_DISTINCT does not count it and Lemma 5.2 fails. Meant is the
    smallest positive integer; `UnitSplitting` makes at least one row.""",
    "equal",
    counter.rows_of_nothing,
    severity=Severity.SLIP,
    force="Algorithm 1 as printed, with the COUNT of Table 3 and Lemma 5.2",
)

APPENDIX_A_4 = Erratum(
    "the order of the records in appendix A.4",
    """After the calculation for two records the appendix says that the bound improves on Lemma 4.4 in the most favourable order
    alone, and that Lemma 4.4 is the tighter one of the bounds that hold in any order. The calculation has the weights
    `k / (k - 1)` and `k`; their least sum, `P_(1) + P_(2) + 2 sqrt(P_(1) P_(2))`, is the same in both orders. For losses of 4
    and 1 in the least favourable order it is 9, at k = 3/2, where Lemma 4.4 has 10. `group_loss`, the square of the sum of
    roots, needs no order for any number of records. (The line before has alpha twice: `k* alpha P` within `alpha [...]`.)""",
    "at least",
    counter.least_favourable_order,
    severity=Severity.THEOREM,
    force="appendix A.4, its own calculation for J = 2",
)
