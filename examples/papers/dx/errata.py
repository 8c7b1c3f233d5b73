"""What does not hold in DX: a paragraph for each, and the counter-example."""

from __future__ import annotations

from examples.papers.dx import counterexamples as counter
from examples.papers.frame import Erratum, Severity

THEOREM_4 = Erratum(
    "the sign of Theorem 4",
    """The theorem adds `delta = max |u - u'|` to the best surrogate score. The proof bounds the probability of a bad u', and
    `u >= u' - delta` then gives `P(u(Z) <= max u' - delta - 2 c (ln(R / R*) + t)) <= exp(-t)`: delta enters with a minus.
    With two
    candidates of scores u = -1 and surrogate scores u' = 0 the printed event is certain, where the theorem allows it a
    probability of one half. The corrected bound, with delta = 0 as selection here scores by u itself, is in section 4 of
    [the theory of selection](../theory/selection.md), and it is attained.""",
    "at most",
    counter.exponential_mechanism,
    severity=Severity.THEOREM,
    force="Theorem 4 as printed, under Definition 9",
)
SMALL = """Algorithm 1 draws a histogram y of `m = log K / alpha^2` records and compares its answers with those of n records,
and
    the paper answers with c q'(y). A query that counts all records is then wrong by |n - m|, whatever is drawn. The source of
    the theorem speaks of *fractions* of records; for counts, y has to be scaled to n records before it is compared and
    before it
    answers. `small_db` does so, and its bound is tested (`tests/synthetic/test_small_db.py::test_bound_holds`);
    see section 3 of [the theory of synthetic data](../theory/synthetic.md)."""
THEOREM_9 = Erratum(
    "Theorem 9 compares m records with n",
    SMALL,
    "at most",
    counter.small_databases,
    severity=Severity.THEOREM,
    force="counts of n records (section 2.1), Algorithm 1 as printed",
)
PROPOSITION_1 = Erratum(
    "Algorithm 1 and Proposition 1 answer for m records",
    """The bound of Proposition 1 rests on Theorem 9 (below). For two queries, one of which counts the 1,000 records, the
    error
    of the answers c q'(y) is certain and above the bound that the proposition gives with probability one half. With y scaled
    to
    n records before it is compared and before it answers, the proposition holds for queries of range at most 1
    (`proposition_1`), and the bound that `SmallDB` states is sharper.""",
    "at most",
    counter.proposition_1,
    severity=Severity.THEOREM,
    force="counts of n records (section 2.1), answers c q'(y) as printed",
    follows="Theorem 9 compares m records with n",
)
THEOREM_6 = Erratum(
    "Theorem 6 inherits it",
    """With the alpha that the theorem calls appropriate, y has 5,797 records where the data have 1,000. The error of the
    query
    that counts them is certain. With y scaled, the price `(c n^2 gamma)^(1/3)` is right (`theorem_6_price`), and that of the
    best whole number of records is lower (`small_db_price`).""",
    "at most",
    counter.theorem_6,
    severity=Severity.THEOREM,
    force="counts of n records (section 2.1), answers c q'(y) as printed",
    follows="Theorem 9 compares m records with n",
)
ALGORITHM_2 = Erratum(
    "Algorithm 2 compares two scales",
    """The measurement `m = c q'(x) + Y` is on the scale of c q', and the update compares it with `q'(y)`. A histogram that
    answers exactly is therefore moved away by a measurement without noise, whenever c is not 1: the algorithm converges to
    answers that are wrong by a factor c. The comparison has to be with `c q'(y)`; `mwem` does that, and a test shows that
    more
    rounds help the corrected algorithm and harm the printed one
    (`tests/synthetic/test_mwem.py::test_algorithm_2_as_printed_compares_on_two_scales`).""",
    "equal",
    counter.multiplicative_weights,
    severity=Severity.SLIP,
    force="Algorithm 2 as printed; its privacy (Theorem 7) is not touched",
)
ALGORITHM_3 = Erratum(
    "Algorithm 3 lacks a convention for 0/0",
    """The loop ends when every increment is 0. With one query and two elements the first round spends the whole budget; then
    step 1 divides by the budget that is left, which is 0, and step 2 is 0/0. The same happens where a row of Q is constant or
    all queries agree on a pair. With 1/0 read as infinity and 0/0 as 0 it ends after that round. `strategy_3` lets a
    query leave the loop once a pair that it moves has no budget left, and ends
    when no query gains more than 1e-12 of its weight; it is a baseline, as the optimum of the program is found and certified
    (`laplace`).""",
    "equal",
    counter.parameter_selection,
    severity=Severity.ARGUABLE,
    force="real arithmetic, in which 0/0 and 1/0 have no value",
)
DEFINITION_11 = Erratum(
    "the minimum of two budgets is no metric",
    """After Definition 11, `d(u, v) = min(eps_u, eps_v)` is named as an instance of the metric. It breaks the triangle
    inequality as soon as the second largest budget is above twice the smallest. The authors say so themselves of the same
    minimum in section 5, where they take the sum for attributes of more than two values; here the instance is still named.
    What is then guaranteed is the closure, 2 and not 3 in the example. `instance` refuses such budgets, names the three
    elements, and takes `closure=True`.""",
    "at most",
    counter.instance_budgets,
    severity=Severity.ARGUABLE,
    force="Definition 2, which asks for the triangle inequality",
)
PROGRAM_4 = Erratum(
    "program (4) has a constraint for each pair, not 2^N",
    """The constraints of program (4) are one for each pair of elements, N (N - 1) / 2, each on an l1 norm, which K further
    variables make linear. The text has about 2^N. What is exponential is N itself, in the number of attributes.""",
    "equal",
    counter.constraints_of_program_4,
    severity=Severity.SLIP,
    force="N is the number of elements of X (section 2.1)",
)
THEOREM_8_RANGE = Erratum(
    "Theorem 8 lacks a condition on the range of the queries",
    """The bound is that of Hardt, Ligett and McSherry, whose queries lie within [-1, 1]; Theorem 8 has no such condition. Both
    sides must grow with the queries, and the first term does not: multiplied by 100 (with the metric), queries of range 1 have
    100 times the error at the same c. In the example the output is the average over t < 1, the uniform histogram, so the error
    is certain. `theorem_8` multiplies the first term by the largest entry.""",
    "at most",
    counter.range_in_theorem_8,
    severity=Severity.THEOREM,
    force="Theorem 8 as printed: any set of linear queries, any T and c > 0",
)
THEOREM_8_SCALES = Erratum(
    "Theorem 8 inherits the fault of Algorithm 2",
    """The proof follows that of Hardt, Ligett and McSherry with 1 / c in the place of epsilon, which is right where the update
    compares the measurement with c q'(y). As printed it compares it with q'(y), so that the histogram settles where
    `q'(y) = c q'(x)`: at c times the truth. For c = 1/10 and half of a million records in the first element it settles at a
    tenth of them; the noise has the scale 20.""",
    "at most",
    counter.scales_in_theorem_8,
    severity=Severity.THEOREM,
    force="Theorem 8 for Algorithm 2 as printed, queries of range at most 1",
    follows="Algorithm 2 compares two scales",
)
BLOWFISH = Erratum(
    "the printed d_Blow is no metric",
    """epsilon within the threshold and infinity beyond it breaks the triangle inequality wherever a chain of near points joins
    two far ones. The paragraph before says that a transformation may have to make it a metric, and the printed formula is
    before any. The metric that any such mechanism keeps is the closure, epsilon times the hops, which `blowfish` is.""",
    "at most",
    counter.threshold_as_printed,
    severity=Severity.ARGUABLE,
    force="Definition 2, which asks for the triangle inequality",
)
UNBOUNDED = Erratum(
    "the number of records gets no noise under unbounded privacy",
    """The section says that the Laplace mechanism with c q' = q applies to unbounded privacy as well, since n is not
    needed. But
    its constraints compare elements with each other only. A query that is the same for all elements, the number of records,
    gets the scale 0 and is published as it is; queries that count nearly everything get too little noise. A budget for the
    presence of a record is needed beside the metric: `appear_or_change`, or the number of records with noise of its own first,
    `after_noisy_total`. The sentence before it, which spends a part of the budget on n, is that second way.""",
    "at most",
    counter.count_of_all_records,
    severity=Severity.PRIVACY,
    force="unbounded differential privacy: one record more or less is a neighbour",
)
