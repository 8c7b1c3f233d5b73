"""Counter-examples to statements of DX, in exact numbers: each gives (what the paper states, what is so)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def exponential_mechanism() -> tuple[Fraction, Fraction]:
    """The probability that u(x, Z) <= delta + max u' - 2 c (ln(R / R*) + t), at t = ln 2:
    stated at most, and as it is."""
    real, surrogate = (Fraction(-1), Fraction(-1)), (Fraction(0), Fraction(0))  # u and u' of the two candidates
    c, chances = Fraction(1, 4), (Fraction(1, 2), Fraction(1, 2))  # equal surrogate scores: equally likely
    delta = max(abs(u - v) for u, v in zip(real, surrogate, strict=True))
    threshold = float(delta + max(surrogate)) - 2 * float(c) * math.log(2)  # R* = R = 2
    found = sum((p for p, u in zip(chances, real, strict=True) if float(u) <= threshold), Fraction(0))
    return Fraction(1, 2), found


def size_of_small_database(queries: int, alpha: float) -> int:
    """The paper's log K / alpha^2 records, rounded up."""
    return math.ceil(math.log(queries) / alpha**2)


def small_databases() -> tuple[float, int]:
    """Theorem 9 for two queries, one of which counts all 1,000 records, alpha = 1/10:
    alpha n, and the error of every y."""
    records, alpha = 1000, 0.1
    return alpha * records, abs(records - size_of_small_database(2, alpha))


def proposition_1() -> tuple[float, int]:
    """The bound of Proposition 1 for the same queries, cq' = q, c = 1/1000 and beta =
    1/2, and the error, which is certain."""
    records, alpha, c, elements = 1000, 0.1, 0.001, 2
    choice = 2 * c * (math.log(elements) * math.log(2) / alpha**2 + math.log(2))
    return round(alpha * records + choice, 3), abs(records - size_of_small_database(2, alpha))


def theorem_6() -> tuple[float, int]:
    """Theorem 6 with the alpha that makes its two forms equal, (c gamma / n)^(1/3), and
    the error of every y."""
    records, c, elements = 1000, 0.001, 2
    gamma = 16 * math.log(elements) * math.log(2) + 4 * math.log(2)
    alpha = (c * gamma / records) ** (1 / 3)
    return round(alpha * records, 3), abs(records - size_of_small_database(2, alpha / 2))


def multiplicative_weights() -> tuple[Fraction, Fraction]:
    """How far a round of Algorithm 2 moves the log-odds of the two elements when its
    histogram answers exactly, without noise."""
    records, c, query = 1, Fraction(2), (Fraction(1), Fraction(0))
    stand_in = [value / c for value in query]  # q', where c q' = q
    x = y = (Fraction(1, 2), Fraction(1, 2))  # the data are uniform, and so is the first histogram
    measured = c * sum(a * b for a, b in zip(stand_in, x, strict=True))
    answered = sum(a * b for a, b in zip(stand_in, y, strict=True))  # the algorithm's q'(y), where m is on the scale of c q'
    return Fraction(0), (stand_in[0] - stand_in[1]) * (measured - answered) / (2 * records)


def parameter_selection() -> tuple[int, int]:
    """Divisions by zero in Algorithm 3 for one query (0, 1) and two elements at distance
    1, before T = 0 ends it."""
    left, increment, total = Fraction(1), Fraction(1), Fraction(0)
    while increment != 0:
        try:
            alone = Fraction(1) / left  # step 1, |q_1 - q_2| / d
            share = left * (1 / alone) / (1 / alone)  # step 2
            increment = 1 / (Fraction(1) / share)  # steps 3 and 5
            left, total = left - increment, total + increment
        except ZeroDivisionError:
            return 0, 1
    return 0, 0


def instance_budgets() -> tuple[int, int]:
    """d(u, v) = min(eps_u, eps_v) with budgets 3, 1, 3: the way through the second
    element, and the budget of the first and third."""
    budgets = (3, 1, 3)
    return min(budgets[0], budgets[1]) + min(budgets[1], budgets[2]), min(budgets[0], budgets[2])


def constraints_of_program_4() -> tuple[int, int]:
    """Constraints of program (4) for N = 10 elements: "about 2^N", and one for each pair."""
    elements = 10
    return 2**elements, sum(1 for i in range(elements) for j in range(i))


def range_in_theorem_8() -> tuple[int, int]:
    """Theorem 8 for T = 1, c = 1, eight queries (100 k / 8, 0) on two elements, all 1,000 records in the first: the bound that
    is to hold with probability 1 - 2 / 8, and the error of (100, 0). The output is the average over t < 1, which is y^0."""
    records, rounds, c, queries = 1000, 1, 1, 8
    bound = 2 * records * math.sqrt(math.log(2) / rounds) + 10 * rounds * c * math.log(queries)
    x, start = (records, 0), (records / 2, records / 2)
    return round(bound), round(abs(100 * start[0] - 100 * x[0]))


def scales_in_theorem_8() -> tuple[int, int]:
    """Theorem 8 for queries (k / 400, 0), k = 1 to 400, a million records spread evenly, c = 1/10, T = 100: the bound, which is
    to hold with probability 1/2, and the error of (1, 0) in a run of Algorithm 2 as printed."""
    records, rounds, c, queries = 10**6, 100, 0.1, 400
    bound = 2 * records * math.sqrt(math.log(2) / rounds) + 10 * rounds * c * math.log(queries)
    stand_ins = np.arange(1, queries + 1) / queries / c  # the first entry of each q', where c q' = q; the second is 0
    generator, odds, truth, states = np.random.default_rng(0), 0.0, records / 2, []
    for _ in range(rounds):
        states.append(records / (1 + math.exp(-odds)))  # y^(t-1) at the first element, from its log-odds
        scores = c * stand_ins * abs(states[-1] - truth) / (4 * c * rounds)
        chosen = generator.choice(stand_ins, p=np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum())
        measured = c * chosen * truth + generator.laplace(scale=2 * c * rounds)
        odds += chosen * (measured - chosen * states[-1]) / (2 * records)  # step 3: q'(y) beside a measurement of c q'(x)
    return round(bound), round(abs(float(np.mean(states)) - truth))


def threshold_as_printed() -> tuple[int, float]:
    """Three points on a line at 0, T and 2 T, epsilon = 1: the way through the second, and the printed d_Blow of the ends."""

    def budget(apart: int) -> float:
        return 0 if apart == 0 else 1 if apart <= 1 else math.inf  # in units of T

    return int(budget(1) + budget(1)), budget(2)


def count_of_all_records() -> tuple[int, int]:
    """c q' = q = (1, 1, 1) under a metric with all distances 1, where one record more is a neighbour (unbounded): the chance
    of the output n + 1 from n records, and from n + 1; the second is to be at most e^epsilon times the first."""
    query = (1, 1, 1)
    scale = max(abs(a - b) for a in query for b in query)  # c of section 4.1: no pair of elements moves q
    assert scale == 0  # so the answer is the number of records, without noise
    return 0, 1
