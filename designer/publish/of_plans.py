"""What plans of tables say of themselves: the loss of a record is a public function of it, shown at several sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from designer.accounts.composition.cost_record import cost_of_entity
from designer.base.display import closest, counted
from designer.base.errors import InvalidProblem
from designer.limits import MOST_MEASURE_STEPS
from designer.publish.content import Entries, Piece, Prose, Sheet, named, some, verbatim_of
from designer.publish.contributor import ROWS, Contributor, ProofSketch, Topic, Worst, epsilon_delta, left_out_note, listed
from designer.publish.meanings import Meaning, Risk, above, off_by
from designer.tables.other_noise import PureSum, Quantile, SlowlyScaledSum
from designer.tables.plan import TablePlan
from designer.tables.plan_words import OF_OTHER_NOISE
from designer.tables.plan_words import THEOREM as OF_PLANS
from designer.tables.queries import Additive, Average, Count, CountDistinct, Query, Sum
from designer.tables.spec import cost_of_amounts
from designer.tradeoff.costs import Cost

SIZES = (Fraction(1), Fraction(2), Fraction(10), Fraction(100))  # of a record, in thresholds
SHARES = tuple(Fraction(1, part) for part in (10_000, 1_000, 100, 10, 1))  # of a record, of the bounds of its measures
KINDS: Mapping[str, tuple[type[Query], ...]] = {
    "counts": (Count, CountDistinct),
    "sums": (Sum, PureSum, SlowlyScaledSum),
    "averages": (Average,),
    "quantiles": (Quantile,),
}
FRACTION = re.compile(r"([0-9]+)/([0-9]+)")
COLUMNS = (
    "A record with",
    "rho",
    "odds shift by at most",
    "a chance of 1 in 20 (5 %) becomes at most",
    "right guesses at most",
)


_WITH_NORMAL_NOISE = ProofSketch(
    "Whether a record r is in the table changes the outputs by a Renyi divergence of at most a P(r), for all orders a above 1.",
    "docs/theory/tables.md, sections 1 and 2",
)
OF_TABLES: Mapping[str, ProofSketch] = {
    OF_PLANS: _WITH_NORMAL_NOISE,
    OF_PLANS + OF_OTHER_NOISE: ProofSketch(_WITH_NORMAL_NOISE.claim, "docs/theory/tables.md, sections 1, 2 and 7"),
}


class QueriesOfTables(Contributor[TablePlan]):
    """Counts, sums, averages and quantiles of records, by group."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        return OF_TABLES

    def about_whom(self, made: TablePlan) -> str:
        columns = sorted({measure.column for measure in made.measures})
        return f"Records of a table{f' with amounts in {some(columns)}' if columns else ''}"

    def published(self, made: TablePlan) -> Topic:
        found = any(level.selection for level in made.levels)
        kinds = [words for words, kind in KINDS.items() if any(isinstance(query, kind) for query in made.queries)]
        sentence = f"Noisy {', '.join(kinds)} by group." + (
            " Which groups there are is found with noise, too: small groups stay out." if found else ""
        )
        names = listed([query.name for query in made.queries], "queries")
        return Topic(f"{counted(len(made.queries), 'noisy table')}", sentence, names)

    def rows(self, made: TablePlan, bound: int | None = None) -> list[tuple[Meaning, Cost | None]]:
        """Records of several sizes, each with what its presence costs, whatever groups it is in."""
        who = "one record with" if bound is None else f"one entity of {counted(bound, 'row')}, each with"
        return [
            (Meaning(f"{who} {words} is in the table or not", None, sized=True), _cost(made, amounts, bound))
            for words, amounts in _examples(made)
        ]

    def budgets(self, made: TablePlan, bound: int | None = None) -> tuple[Piece, ...]:
        known = [(words, _cost(made, amounts, bound)) for words, amounts in _examples(made)]
        costs = [(words, cost) for words, cost in known if cost is not None]
        if len(costs) < len(known):
            return (Prose(NO_GROUPS_OF_ROWS, "warning"),)
        cells = tuple((words, above(cost.rho or 0), *Risk.of(cost).cells()) for words, cost in costs)
        but_for = next((risk.but_for for _, cost in costs if (risk := Risk.of(cost)).delta), "")
        left_out = f" Odds and chances hold{but_for}." if but_for else ""
        whose = "one such record" if bound is None else f"one entity of {counted(bound, 'such row')}"
        note = f"The presence of {whose}, whatever its groups.{left_out} Rounded up."
        formula = Entries(
            (("Loss of a record, a public function", verbatim_of(readable(made.policy.sentence()), "guarantee.mechanism")),)
        )
        columns = COLUMNS if bound is None else (f"An entity of {counted(bound, 'row')}, each with", *COLUMNS[1:])
        title = f"What {'a record' if bound is None else 'an entity with rows'} of each size may lose"
        sheet = Sheet(title, columns, cells, frozenset(range(1, 5)), note)
        return (formula, sheet, *left_out_note(made, bound), *epsilon_delta(self.worst(made, bound).cost))

    def worst(self, made: TablePlan, bound: int | None = None) -> Worst:
        known = super().worst(made, bound)
        if known.cost is None:
            return known
        who = "a record" if bound is None else f"an entity with {counted(bound, 'row')}, each"
        return Worst(f"{who} of the largest size that counts comes or goes", known.cost)

    def accuracy(self, made: TablePlan) -> Topic:
        owned = [(query, row) for query in made.queries[:ROWS] for row in _accuracy_rows(query)]
        rows = tuple(row for _, row in owned)
        left_out = f" The first {ROWS:,} of {len(made.queries):,} queries." if len(made.queries) > ROWS else ""
        columns = ("Query", "groups", "standard error of one number")
        sheet = Sheet("Accuracy of each query", columns, rows, frozenset({2}), f"In the unit of the query.{left_out}")
        details = "About 95 % of numbers are within two standard errors."
        first = "; ".join(f"{name} {told}{_unit(made, query)}" for query, (name, _, told) in owned[:MOST_NAMED])
        more = f"; and {counted(len(rows) - MOST_NAMED, 'more number')}" if len(rows) > MOST_NAMED else ""
        return Topic(f"standard error of {first}{more}", details, (Prose(details), sheet))

    def certificate(self, made: TablePlan) -> tuple[Piece, ...]:
        proof = made.privacy
        rows = [("Verdict", "holds" if proof.holds else "does not hold"), ("Computed in", proof.arithmetic)]
        rows += [] if made.rho is None else [("Loss of a split row", f"rho {above(made.rho, 6)} at most")]
        return (Entries(tuple(rows)),)

    def open_points(self, made: TablePlan) -> tuple[str, ...]:
        listed = any(level.keys is not None and level.columns for level in made.levels)
        groups = ("Whether the listed groups were chosen without looking at the data.",) if listed else ()
        return (*groups, "Whether each row is one record to be protected.")


def _unit(made: TablePlan, query: Query) -> str:
    """What an answer is counted in, behind a number; nothing where that is not said."""
    unit = "" if isinstance(query, Average) else made.about.unit(query.name)
    return f" {named(unit)}" if unit else ""


MOST_NAMED = 2  # numbers of the first screen
NO_GROUPS_OF_ROWS = (
    "Nothing that adds up over rows is proven of groups that are found privately, so no odds of an entity are known."
)


def readable(formula: str) -> str:
    """A formula whose fractions of many digits are shown to six digits.

    >>> readable("jobs^2 / (2 * 3777893186295716/7791917846406) + 1/100")
    'jobs^2 / (2 * 484.848) + 1/100'
    """
    return FRACTION.sub(
        lambda found: closest(Fraction(found[0]), 6) if len(found[0]) > 14 and int(found[2]) else found[0], formula
    )


def _examples(made: TablePlan) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records whose amounts are so many thresholds, or such a share of the bounds; one without amounts where none count."""
    if not made.measures:
        yield "any values", {}
        return
    limits = {measure.column: max(map(abs, measure.bounds)) * measure.step for measure in made.measures}
    units, sizes = _units(made, limits)
    seen: set[tuple[Fraction, ...]] = set()
    for size in sizes:
        amounts = {column: min(size * units[column], limits[column]) for column in limits}
        if (key := tuple(amounts.values())) not in seen:
            seen.add(key)
            words = ", ".join(f"{named(column)} {closest(amount, 6)}" for column, amount in list(amounts.items())[:6])
            yield words, amounts


def _units(made: TablePlan, limits: dict[str, Fraction]) -> tuple[dict[str, Fraction], tuple[Fraction, ...]]:
    """What sizes are counted in: thresholds of splitting where there are any; bounds where they are stated, else steps."""
    if made.splitting is not None:
        split = dict(zip((m.column for m in made.splitting.measures), made.splitting.thresholds, strict=True))
        return {column: split.get(column, limit / 100) for column, limit in limits.items()}, SIZES
    bounded = {m.column: m.upper < (MOST_MEASURE_STEPS - 1) * m.step for m in made.measures}
    if all(bounded.values()):
        return limits, SHARES
    steps = {m.column: m.step for m in made.measures}
    return steps, tuple(Fraction(10) ** power for power in range(5))


def _cost(made: TablePlan, amounts: dict[str, Any], bound: int | None) -> Cost | None:
    """What a record with these amounts costs, or so many rows of an entity, each with them; None where nothing is proven."""
    try:
        one = _largest(made, amounts)
        return one if bound is None else cost_of_entity(made, one, bound)
    except InvalidProblem:
        return None


def _largest(made: TablePlan, amounts: dict[str, Any]) -> Cost:
    """The cost of a record with these amounts in the group where it costs most."""
    known = {name: (*values, None) for name, values in made.policy.keys().items()}
    records = [{**amounts, **dict(zip(known, chosen, strict=True))} for chosen in product(*known.values())]
    return max((cost_of_amounts(made, record) for record in records), key=lambda cost: (cost.rho, cost.epsilon))


def _accuracy_rows(query: Query) -> Iterator[tuple[str, str, str]]:
    """A row for each noisy number that a query is made of."""
    parts = query.parts if isinstance(query, Average) else (query,)
    for part in parts:
        groups = named(query.groups.sentence(), 200)
        if isinstance(part, Additive):
            least, most = (off_by(math.sqrt(v)) for v in (min(part.variances), max(part.variances)))
            told = most if least == most else f"{least} to {most} by group"
        else:
            told = "depends on the data: see the query"
        yield named(part.name), groups, told
