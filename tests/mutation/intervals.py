"""Breaks of how far noise is said to reach: quantiles a step short, ranks one too low, misses that are not divided."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

DRAWN, REACH = "designer/sampling/simulated_reach.py", "designer/sampling/reach.py"
INTEGERS, ANSWERS = "designer/sampling/integers/margins.py", "designer/base/answer_table.py"
PLANS, LATTICES = "designer/tables/intervals.py", "designer/mechanisms/lattice/accuracy.py"
OF_REACH, OF_LAWS = ("tests/sampling/test_reach.py",), ("tests/mechanisms/additive/test_margins.py",)
OF_RELEASES, OF_PLANS = ("tests/files/test_read_release.py",), ("tests/tables/test_intervals.py",)
COVERING = ("tests/throughout/test_interval_coverage.py",)

MUTANTS = (
    Mutant(
        DRAWN,
        "found = np.partition(sizes, rank - 1, axis=0)[rank - 1]",
        "found = np.partition(sizes, rank - 2, axis=0)[rank - 2]",
        "of the draws of an answer the one below the safe rank is taken",
        OF_REACH,
    ),
    Mutant(
        DRAWN,
        "np.partition(found, rank - 1)[rank - 1]",
        "np.partition(found, rank - 2)[rank - 2]",
        "of the draws of all answers the one below the safe rank is taken",
        OF_REACH,
    ),
    Mutant(DRAWN, "binom.sf(middle - 1, draws", "binom.sf(middle, draws", "the safe rank is one too low", OF_REACH),
    Mutant(
        DRAWN,
        "FAILURE / draws.answers",
        "FAILURE",
        "the order statistics of many answers fail more often than is said",
        OF_REACH,
    ),
    Mutant(
        DRAWN,
        "np.where(own[:, ~noisy].any(axis=1), np.inf, within)",
        "within",
        "noise where none is to be counts for nothing",
        OF_REACH,
    ),
    Mutant(
        REACH,
        "share = (1 - level) / shares if apart is None",
        "share = (1 - level) if apart is None",
        "misses of all answers are not divided among them",
        OF_REACH,
    ),
    Mutant(
        REACH,
        "-math.expm1(math.log(level) / shares)",
        "-math.expm1(math.log(level))",
        "each of many independent coordinates has the whole level",
        COVERING,
    ),
    Mutant(
        REACH,
        "    while 1 - confidence > share:\n",
        "    while False:\n",
        "a small share of misses is rounded up",
        OF_REACH,
    ),
    Mutant(
        INTEGERS,
        "/ rate * (1 + DOUBT)) - 1)",
        "/ rate * (1 + DOUBT)) - 2)",
        "quantiles of discrete Laplace noise are a step too small",
        OF_LAWS,
    ),
    Mutant(
        INTEGERS,
        "return float(np.argmax(np.append(tails * (1 + DOUBT), 0.0) <= beyond))",
        "return float(max(0, np.argmax(np.append(tails * (1 + DOUBT), 0.0) <= beyond) - 1))",
        "quantiles of discrete Gaussians are a step too small",
        OF_LAWS,
    ),
    Mutant(
        INTEGERS,
        "math.exp(-coordinates * math.log1p(rough))",
        "1.0",
        "sums of narrow Gaussians are taken for normal",
        OF_REACH,
    ),
    Mutant(
        ANSWERS,
        "lower, upper = answers - margins - slack, answers + margins + slack\n",
        "lower, upper = answers - slack, answers + slack\n",
        "intervals have no width",
        ("tests/base/test_answer_table.py",),
    ),
    Mutant(
        ANSWERS,
        "inner = np.ceil(lower) + 0.0, np.floor(upper) + 0.0",
        "inner = np.ceil(lower), np.floor(upper)",
        "an interval ends at minus nothing",
        ("tests/base/test_answer_table.py",),
    ),
    Mutant(
        ANSWERS,
        "shrunk = whole & (margins > 0)",
        "shrunk = (margins > 0)",
        "intervals of fractions shrink to whole numbers",
        ("tests/base/test_answer_table.py",),
    ),
    Mutant(
        ANSWERS,
        " & (inner[0] <= inner[1])\n",
        "\n",
        "an interval without a whole number is turned around",
        ("tests/base/test_answer_table.py",),
    ),
    Mutant(
        ANSWERS,
        "own = slice(self.first, self.first + len(self.answers))",
        "own = slice(0, len(self.answers))",
        "every table of a release has the intervals of the first",
        OF_RELEASES,
    ),
    Mutant(
        PLANS,
        "-math.expm1(math.log(level) / max(1, numbers)) if simultaneous",
        "1 - level if simultaneous",
        "all numbers of a plan at once are missed no more often than each",
        OF_PLANS,
    ),
    Mutant(
        PLANS,
        "np.maximum(counts.lower, 1.0), np.maximum(counts.upper, 1.0)",
        "np.maximum(counts.upper, 1.0), np.maximum(counts.upper, 1.0)",
        "an average has no noise in its count",
        OF_PLANS,
    ),
    Mutant(
        PLANS,
        "    k = two_gaussians(of_sum, of_count, share)\n",
        "    k = two_gaussians(of_sum, of_count, 4 * share)\n",
        "averages are missed four times as often as is said",
        OF_PLANS,
    ),
    Mutant(
        PLANS,
        "student_margin(float(noise.scale), noise.power, step, share)",
        "student_margin(float(noise.scale), noise.power, step, 2 * share)",
        "of Student noise one side is counted",
        OF_PLANS,
    ),
    Mutant(
        PLANS,
        "np.floor(margins) * float(query.step)",
        "np.floor(margins)",
        "intervals of sums are in steps, not in units",
        OF_PLANS,
    ),
    Mutant(
        LATTICES,
        "normal = math.sqrt(2 * math.log(2 / beyond))",
        "normal = math.sqrt(math.log(2 / beyond))",
        "bounds of lattice noise lose a factor of root 2",
        ("tests/mechanisms/lattice/test_answer_bounds.py",),
    ),
    Mutant(
        LATTICES,
        "logs = -np.log1p(-np.multiply.outer(rates**2, squares)).sum(axis=1)",
        "logs = -np.log1p(-np.multiply.outer(rates**2, squares)).max(axis=1)",
        "of Laplace noise on a lattice the largest coordinate counts",
        ("tests/mechanisms/lattice/test_answer_bounds.py",),
    ),
    Mutant(
        "designer/mechanisms/products/accuracy.py",
        "logs = -np.log1p(-(TILTS[:, None] ** 2)) * shares",
        "logs = np.log1p(-(TILTS[:, None] ** 2)) * shares",
        "moments of Laplace noise make its sums narrower",
        OF_REACH,
    ),
    Mutant(
        "designer/designing/products_plan.py",
        "return 0.5 / math.sinh(epsilon / 2) ** 2 * ROUNDED if epsilon < LOUD else 0.0",
        "return 2 / epsilon**2 * ROUNDED if epsilon < LOUD else 0.0",
        "the bound of whole-number noise is that of continuous noise",
        ("tests/designing/test_bounds_of_all_families.py",),
    ),
    Mutant(
        "designer/mechanisms/marginals/plan.py",
        "if kept.min() >= CONTINUOUS:",
        "if kept.min() >= 0:",
        "marginals are bounded by the largest share alone",
        ("tests/mechanisms/marginals/test_least_marginals.py",),
    ),
    Mutant(
        "designer/families/least_noise.py",
        "sums = [np.maximum(sign * protected, 0).sum(axis=1) for sign in (1, -1)]",
        "sums = [np.maximum(sign * protected, 0).max(axis=1) for sign in (1, -1)]",
        "a limit is told for fewer records than its changes need",
        ("tests/designing/test_limit.py",),
    ),
    Mutant(
        "designer/families/least_noise.py",
        "less = math.exp(-budget * (records // 2)) / (2.0 if records % 2 else 1 + math.exp(-budget))",
        "less = math.exp(-budget * records / 2) / (1 + math.exp(-budget))",
        "the least variance at an odd number of records is that of half a record more",
        ("tests/designing/test_limit.py",),
    ),
    Mutant(
        "designer/families/least_noise.py",
        "return int(records) if replaced and one and pairs.move_one_answer_each else None",
        "return int(records) if replaced and pairs.move_one_answer_each else None",
        "the least variance of one count is told of several",
        ("tests/designing/test_limit.py",),
    ),
    Mutant(
        "designer/families/least_noise.py",
        "replaced = relation.single_records and not relation.absence",
        "replaced = relation.single_records",
        "the least variance at a public number of records is told where records appear",
        ("tests/designing/test_limit.py",),
    ),
    Mutant(
        "designer/families/least_noise.py",
        "replaced = bool((protected.sum(axis=1) == 0).all() and (np.abs(protected).sum(axis=1) == 2).all())",
        "replaced = bool((protected.sum(axis=1) == 0).all())",
        "the least variance of a count whose records change alone is told of swaps",
        ("tests/designing/test_limit.py",),
    ),
)
