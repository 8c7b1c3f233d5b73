"""What does not hold in DX: a paragraph for each, and the counter-example."""

from __future__ import annotations

from examples.papers.dx import counterexamples as counter
from examples.papers.frame import Erratum

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
)
SMALL = """Algorithm 1 draws a histogram y of `m = log K / alpha^2` records and compares its answers with those of n records,
and
    the paper answers with c q'(y). A query that counts all records is then wrong by |n - m|, whatever is drawn. The source of
    the theorem speaks of *fractions* of records; for counts, y has to be scaled to n records before it is compared and
    before it
    answers. `small_db` does so, and its bound is tested (`tests/mechanisms/synthetic/test_small_db.py::test_bound_holds`);
    see section 3 of [the theory of synthetic data](../theory/synthetic.md)."""
THEOREM_9 = Erratum(
    "Theorem 9 compares m records with n", SMALL, "at most", counter.small_databases, (counter.size_of_small_database,)
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
    (counter.size_of_small_database,),
)
THEOREM_6 = Erratum(
    "Theorem 6 inherits it",
    """With the alpha that the theorem calls appropriate, y has 5,797 records where the data have 1,000. The error of the
    query
    that counts them is certain. With y scaled, the price `(c n^2 gamma)^(1/3)` is right (`theorem_6_price`), and that of the
    best whole number of records is lower (`small_db_price`).""",
    "at most",
    counter.theorem_6,
    (counter.size_of_small_database,),
)
ALGORITHM_2 = Erratum(
    "Algorithm 2 compares two scales",
    """The measurement `m = c q'(x) + Y` is on the scale of c q', and the update compares it with `q'(y)`. A histogram that
    answers exactly is therefore moved away by a measurement without noise, whenever c is not 1: the algorithm converges to
    answers that are wrong by a factor c. The comparison has to be with `c q'(y)`; `mwem` does that, and a test shows that
    more
    rounds help the corrected algorithm and harm the printed one
    (`tests/mechanisms/synthetic/test_mwem.py::test_algorithm_2_as_printed_compares_on_two_scales`).""",
    "equal",
    counter.multiplicative_weights,
)
ALGORITHM_3 = Erratum(
    "Algorithm 3 divides by zero before it ends",
    """The loop ends when every increment is 0. With one query and two elements the first round spends the whole budget, and
    step 1 of the second divides by the budget that is left, which is 0. The same happens where a row of Q is constant or all
    queries agree on a pair. `strategy_3` lets a query leave the loop once a pair that it moves has no budget left, and ends
    when
    no query gains more than 1e-12 of its weight; it is a baseline, as the optimum of the program is found and certified
    (`laplace`).""",
    "equal",
    counter.parameter_selection,
)
DEFINITION_11 = Erratum(
    "the minimum of two budgets is no metric",
    """After Definition 11, `d(u, v) = min(eps_u, eps_v)` is named as an instance of the metric. It breaks the triangle
    inequality as soon as the second largest budget is above twice the smallest. What is then guaranteed is its closure, 2
    and not 3 in the example. `instance` refuses such budgets, names the three elements, and takes `closure=True`.""",
    "at most",
    counter.instance_budgets,
)
