"""The chart: questions, and families that the measured table speaks for, or a rule of thumb that says that it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from benchmarks.which_family.measuring import Measured

NEAR = 0.011  # an advised family is at most so far above the least loss, relatively


@dataclass(frozen=True)
class Advice:
    """A leaf of the chart.

    when: what the problem is like. use: families, of which each problem has one within `NEAR` of its least loss. shown: keys
    of the grid that show it; none for a rule of thumb. words: what else to know.
    """

    when: str
    use: tuple[str, ...]
    shown: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True)
class Branch:
    """A question of the chart and its answers."""

    question: str
    leaves: tuple[Advice, ...]


PURE = Branch(
    "A pure promise, and nothing is published exactly",
    (
        Advice(
            "The number of records is public and small, and so is the budget",
            ("k_norm_joint",),
            ("few records",),
            "Its answers are biased on purpose, and the loss counts the bias at its worst. Give `records=`.",
        ),
        Advice(
            "Disjoint cells, and a record appears or disappears",
            ("laplace",),
            ("histogram of 10", "histogram of 100"),
            "Nothing is better, whatever the family ([T4](../theory/least_noise.md)).",
        ),
        Advice(
            "A record moves one answer at a time along an order (running totals with a budget for each step, thresholds)",
            ("laplace",),
            ("prefix sums by distance", "thresholds"),
        ),
        Advice(
            "A few whole-number counts that move in up to 3 dimensions, 4 with symmetry",
            ("staircase", "strategy_geometric"),
            ("one count", "two counts", "three counts", "worst answer"),
        ),
        Advice("At most k of K items, or votes on them", ("capped_l1",), ("ballots",)),
        Advice(
            "Running totals, ranges, and dozens of counts that overlap",
            ("strategy_geometric", "by_moves"),
            ("prefix sums of 16", "prefix sums of 64", "ranges of 12", "random counts"),
            "Over several attributes `StructuredProblem` comes near without writing the queries out.",
        ),
        Advice(
            "Sums of real numbers, by distance",
            ("strategy_laplace",),
            ("cities, one sum", "cities, three sums"),
            "One sum: every family but `staircase` is the same.",
        ),
        Advice(
            "Disjoint cells, and a record changes",
            ("by_moves",),
            ("histogram of 10, changes", "histogram of 100, changes"),
            "It is far from the limit there; no family is known to be nearer.",
        ),
        Advice(
            "Other answers of up to 12 dimensions, such as tables of several attributes",
            ("k_norm",),
            ("one-way marginals", "budgets per attribute"),
            "`bundles` is the same of separate tables, and goes to 48 dimensions.",
        ),
    ),
)
PUBLISHED = Branch(
    "Statistics are published exactly (an invariant)",
    (
        Advice("Whole tables of up to 12 dimensions", ("lattice_laplace",), ("margins 3 x 3", "totals of districts")),
        Advice(
            "Larger tables, as long as an exact sampler is feasible",
            ("lattice_laplace",),
            ("margins 10 x 10",),
            'The shape `l1`; ask for it by name, or give `design` the effort "thorough".',
        ),
        Advice("Still larger tables", ("lattice_rows",), ("margins 12 x 12",)),
        Advice(
            "A budget for every unit of distance",
            ("lattice_laplace",),
            ("margins by distance",),
            "No other pure family is as near.",
        ),
        Advice("zCDP", ("lattice_gaussian",), ("margins 3 x 3, zCDP",), "As private as the continuous one, and whole numbers."),
    ),
)
OTHER_NOTIONS = Branch(
    "zCDP, or (ε, δ)",
    (
        Advice(
            "zCDP, whatever is asked",
            ("gaussian",),
            ("two counts, zCDP", "histogram of 100, zCDP", "prefix sums of 64, zCDP", "marginals, zCDP"),
            "It is the optimal Gaussian mechanism, with a proof.",
        ),
        Advice(
            "zCDP over a domain that is too large to write out",
            ("MarginalProblem", "StructuredProblem"),
            ("marginals, zCDP", "prefix sums of 64, zCDP"),
            "The same error, and no product of domains is formed: [a million elements](../theory/million.md).",
        ),
        Advice(
            "(ε, δ), disjoint cells, and a record appears or disappears",
            ("truncated_geometric",),
            (),
            "Nothing in whole numbers is better ([theory](../theory/staircase.md)).",
        ),
        Advice(
            "(ε, δ), whole-number counts",
            ("strategy_geometric",),
            ("two counts, δ", "histogram of 100, δ", "prefix sums of 64, δ", "random counts, δ"),
        ),
        Advice("(ε, δ), a record moves many answers that are no sums of few counts", ("gaussian",)),
    ),
)
ELSEWHERE = Branch(
    "Something else than answers to linear queries",
    (
        Advice("One of many candidates", ("designer.selection",)),
        Advice("Marginals of microdata, whole tables that agree", ("designer.domains",)),
        Advice("Skewed records of firms, sums, averages, quantiles", ("designer.tables",)),
        Advice("A synthetic histogram for very many queries", ("designer.synthetic",)),
        Advice("A test of an odds ratio", ("designer.odds_ratio",)),
    ),
)
CHART = (PURE, PUBLISHED, OTHER_NOTIONS, ELSEWHERE)


def chart_lines(figures: Sequence[Measured]) -> list[str]:
    """The chart as a nested list in Markdown, with what the table says."""
    by_key = {one.key: one for one in figures}
    lines = []
    for branch in CHART:
        lines.append(f"- **{branch.question}**")
        lines += [_wrapped(f"  - {_leaf(leaf, by_key)}") for leaf in branch.leaves]
    return lines


def _wrapped(line: str) -> str:
    return fill(line, 128, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _leaf(leaf: Advice, by_key: dict[str, Measured]) -> str:
    advised = " or ".join(f"**`{name}`**" for name in leaf.use)
    ending = f" {leaf.words}" if leaf.words else ""
    if not leaf.shown:
        return f"{leaf.when}: {advised}. (Rule of thumb; not benchmarked.){ending}"
    return f"{leaf.when}: {advised}.{ending} *{_evidence(leaf, [by_key[key] for key in leaf.shown])}.*"


def _evidence(leaf: Advice, shown: list[Measured]) -> str:
    """The problems that show it, and how far the next other family and plain noise with one budget are above the best."""
    nexts = [
        next((row for row in one.rows if row.family.split(",")[0] not in leaf.use and not row.baseline), None) for one in shown
    ]
    farther = [row.ratio for row in nexts if row is not None]
    told = [f"runner-up: {_range(farther)} the loss"] if farther else ["no other family"]
    plain = [row.ratio for one in shown for row in one.rows if row.family in ("uniform_budget", "isotropic_gaussian")]
    if plain:
        told.append(f"plain noise: {_range(plain)}")
    return f"Evidence: {'; '.join(one.key for one in shown)} ({', '.join(told)})"


def _range(ratios: list[float]) -> str:
    """The least and the largest ratio.

    >>> _range([1.0, 1.0862]), _range([1.25]), _range([2.4, 1933014.3])
    ('× 1.00 to 1.09', '× 1.25', '× 2.4 to 1.9e+06')
    """
    least, most = min(ratios), max(ratios)
    return f"× {ratio_text(least)}" if ratio_text(least) == ratio_text(most) else f"× {ratio_text(least)} to {ratio_text(most)}"


def ratio_text(ratio: float) -> str:
    """A ratio to three digits; below 2 with two decimals."""
    if ratio < 2:
        return f"{ratio:.2f}"
    return (
        f"{ratio:.2g}"
        if ratio >= 1000
        else f"{ratio:.3g}"
        if ratio >= 100
        else f"{ratio:.2g}"
        if ratio < 10
        else f"{ratio:.0f}"
    )
