"""What follows from what a problem file or a spec protects: account."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from designer.base.checks import count, shown
from designer.base.display import at_most, counted, printed
from designer.base.errors import DesignFailed, InvalidProblem, NoAttribute
from designer.cli.options import loaded, refuse_signer
from designer.files.kinds import TABLE_PLAN

if TYPE_CHECKING:
    from designer.problem.relation import Relation
    from designer.relations.invariants.changes import InvariantDistance
    from designer.relations.invariants.invariant import Invariant
    from designer.relations.invariants.statistics import Statistics
    from designer.tables.plan import TablePlan

GROUPS = (2, 5)
LARGER = (10, 100)  # how many times as large measures: does the loss grow like their square, or slowly?
TextAndData = tuple[list[str], dict[str, Any]]


def add_account(made: argparse.ArgumentParser) -> None:
    """account."""
    made.add_argument(
        "--totals", help="the published values of the statistics, in their order, separated by commas: what is a(t) there?"
    )
    made.add_argument(
        "--record", action="append", default=[], help="a public or invented record, such as emp=150,pay=2000: its loss; several"
    )
    made.add_argument("--group", help="sizes of groups, separated by commas (default 2,5)")
    made.add_argument("--delta", help="also say which epsilon a loss of zCDP, or Gaussian noise by distance, has at this delta")
    made.set_defaults(run=_account)


def _account(options: argparse.Namespace) -> tuple[str, Any]:
    asked = _subject(options)
    sizes = GROUPS if options.group is None else tuple(_whole(part, "--group") for part in options.group.split(","))
    if not isinstance(asked, tuple):
        _refuse(options.totals, "--totals", "a table plan publishes no statistics exactly; name records by --record")
        lines, data = _of_policy(asked, [_record(text) for text in options.record], sizes, options.delta)
    else:
        relation, notion, delta = asked
        _refuse(options.record or None, "--record", "goes with a table plan, whose records differ in their losses")
        lines, data = _of_relation(relation, notion, delta, options, sizes)
    return "\n".join(lines), data


def _subject(options: argparse.Namespace) -> Any:
    """The table plan, or the relation with its notion and its delta."""
    from designer.problem.relation import Relation

    if options.file.suffix == ".toml":
        from designer.problem_file.kinds import read_request
        from designer.problem_file.linear import LinearFile
        from designer.problem_file.sections import Choices

        refuse_signer(options)
        file = read_request(options.file)
        if file.kind == "table_plan":
            return file.make(Choices())
        if isinstance(file, LinearFile) and isinstance(file.problem.relation, Relation):
            return file.problem.relation, file.problem.notion, file.problem.delta
        raise InvalidProblem(
            f"{options.file}: kind {file.kind!r} has nothing to account for; give linear queries or a table plan, or design it "
            "and give the spec."
        )
    mechanism = loaded(options)
    relation = getattr(mechanism, "relation", None)
    if mechanism.format == TABLE_PLAN.format:
        return mechanism
    if not isinstance(relation, Relation):
        raise InvalidProblem(
            f"{options.file}: its promise is not that of a relation of records; `dp-designer show` says what it promises."
        )
    falloff, delta = str(getattr(mechanism, "falloff", "")), getattr(mechanism, "delta", None)
    notion = "approximate" if delta is not None else "zcdp" if "gaussian" in falloff else "pure"
    return relation, notion, delta


def _of_relation(
    relation: Relation, notion: str, delta: float | None, options: argparse.Namespace, sizes: Sequence[int]
) -> TextAndData:
    from designer.relations.invariants.changes import ChangeRelation, InvariantDistance

    if isinstance(relation, InvariantDistance):
        _refuse(options.totals, "--totals", "a budget per distance needs no a(t)")
        return _of_distance(relation, notion, options.delta, sizes)
    statistics = getattr(relation, "invariant", None)
    found: TextAndData = ([], {})
    if isinstance(relation, ChangeRelation) and statistics is not None:
        found = _of_invariant(relation, statistics, options.totals)
    else:
        _refuse(options.totals, "--totals", "no statistics are published exactly: the relation has no invariant")
    budgets = _of_budgets(relation, notion, delta, options.delta, sizes, bool(found[0]))
    return [*found[0], *budgets[0]], {**found[1], **budgets[1]}


def _of_invariant(relation: Any, statistics: Statistics, totals: str | None) -> TextAndData:
    """a(t), what is protected, and what a promise for one record becomes."""
    from designer.relations.invariants.adjacency import semi_adjacency

    invariant = _invariant(statistics)
    data: dict[str, Any] = {"statistics": len(statistics.names), "degrees_of_freedom": statistics.freedom}
    lines, value = [], None
    try:
        value = data["semi_adjacency_bound"] = invariant.semi_adjacency_bound
    except NoAttribute:
        data["semi_adjacency_bound"] = None
    if totals is not None:
        given = [_whole(part, "--totals", 0) for part in totals.split(",")]
        try:
            worst = semi_adjacency(invariant, given)
            value = data["semi_adjacency"] = worst.value
            data["how"] = worst.method
            lines.append(f"a(t) = {worst.value} at these totals: {_records_words(worst.value)} ({worst.method}).")
            literal = semi_adjacency(invariant, given, "literal").value
            data["semi_adjacency_literal"] = literal
            lines.append(f"Read literally, where the first database may be chosen, too, a(t) = {literal}.")
        except DesignFailed as unproven:
            lines.append(str(unproven))
    elif value is not None:
        lines.append(f"a(t) is at most {value}, whatever the totals are: {_records_words(value)}.")
    else:
        lines.append("No bound of a(t) is known for these statistics; give their published values by --totals.")
    adjacency = getattr(relation, "adjacency", None)
    data["adjacency"] = adjacency
    if value is not None:
        lines.append(
            f"A mechanism that promises epsilon for one replaced record promises {value} epsilon here; rho-zCDP becomes "
            f"{value**2} rho, mu-GDP {value} mu."
        )
    if adjacency is not None and value is not None and adjacency < value:
        lines.append(
            f"Caution: protected are changes of up to {counted(adjacency, 'record')}, fewer than a(t): some record cannot pass "
            "for having every other value."
        )
    return lines, data


def _of_budgets(
    relation: Relation, notion: str, delta: float | None, at: str | None, sizes: Sequence[int], chained: bool
) -> TextAndData:
    """The least and the largest budget of a change, and what groups of records, or chains of changes, have."""
    from designer.tradeoff.conversions import zcdp_epsilon
    from solvers.exact.rational import float_above

    largest, least = relation.largest_budget(), relation.least_budget()
    data: dict[str, Any] = {"notion": notion, "largest_budget": largest, "least_budget": least, "groups": {}}
    lines = [f"Protected: {relation.sentence()}"]
    few = "" if least == largest else f", and as little as {_cost(least, notion)} for some"
    also = "" if delta is None else f", at delta {delta:g}"
    lines.append(f"One such change costs at most {_cost(largest, notion)}{few}{also}.")
    if notion == "approximate":
        _refuse(at, "--delta", "the promise has a delta of its own")
        lines.append("Budgets of a group do not add up under one delta: ask `privacy_loss` of the mechanism for its change.")
        return lines, {**data, "delta": delta}
    for size in sizes:
        total = float_above(Fraction(largest) * size)
        cost = {"epsilon": total} if notion == "pure" else {"rho": math.nextafter(total * total / 2, math.inf)}
        if notion == "zcdp" and at is not None:
            cost["epsilon_at_delta"] = zcdp_epsilon(cost["rho"], _delta(at))
        data["groups"][size] = cost
        what = f"Databases joined by {size} such changes" if chained else f"A group of {counted(size, 'record')}"
        also = f", epsilon {at_most(cost['epsilon_at_delta'])} at delta {at}" if len(cost) > 1 else ""
        lines.append(f"{what}: at most {_cost(total, notion)}{also}.")
    if notion == "pure":
        _refuse(at, "--delta", "the promise is pure and has no delta")
    return lines, data


def _of_distance(relation: InvariantDistance, notion: str, at: str | None, sizes: Sequence[int]) -> TextAndData:
    """What databases have that are so far apart, and those that differ in so many records."""
    from designer.lattice.smoothing import SmoothPrivacy
    from designer.tradeoff.conversions import smooth_epsilon

    data: dict[str, Any] = {"notion": notion, "budget_per_distance": relation.epsilon, "distance": relation.distance}
    unit = f"unit of {relation.distance} distance"
    if notion == "zcdp" and at is None:
        head = f"Every {unit} r costs at most rho {at_most(relation.epsilon**2 / 2)} r^2; give --delta for epsilons."
        return [head, f"Protected: {relation.sentence()}"], data
    delta = 0.0 if at is None else _delta(at)
    if notion == "zcdp":
        kept = SmoothPrivacy(smooth_epsilon(relation.epsilon, delta), delta, relation.distance)
    else:
        _refuse(at, "--delta", "the promise is pure and has no delta")
        kept = SmoothPrivacy(relation.epsilon, 0.0, relation.distance)
    data |= {"epsilon": kept.epsilon, "delta": kept.delta, "groups": {}}
    lines = [
        f"Every {unit} costs at most epsilon {at_most(kept.epsilon)}" + (f" at delta {at}." if at else "."),
        f"Protected: {relation.sentence()}",
    ]
    for size in (1, *sizes):
        epsilon, grown = kept.for_records(size, relation.invariant.records_public)
        data["groups"][size] = {"epsilon": epsilon, "delta": grown if grown < 1 else 1.0}
        who, also = counted(size, "record that changes", "records that change"), f", delta {at_most(grown)}" if grown else ""
        lines.append(f"{who}: at most epsilon {at_most(epsilon)}{also}.")
    return lines, data


def _of_policy(plan: TablePlan, records: list[dict[str, Any]], sizes: Sequence[int], at: str | None) -> TextAndData:
    """The losses of records, of records whose measures are larger, and of groups."""
    from designer.tables.policies.metrics import policy_min
    from designer.tables.policies.renyi import group_loss
    from designer.tradeoff.conversions import zcdp_epsilon
    from solvers.exact.rational import float_above

    unit = plan.policy.unit
    name, least = ("rho" if unit == "zcdp" else "epsilon"), policy_min(plan.policy)
    data: dict[str, Any] = {"unit": unit, "policy": plan.policy.sentence(), "least": float_above(least), "records": []}
    formula = plan.policy.sentence()
    lines = [f"A record loses at most P = {formula}, in {name}; the least value of P is {at_most(float_above(least))}."]

    def words(loss: Fraction) -> str:
        told = f"{name} {at_most(float_above(loss))}"
        if at is None or unit != "zcdp":
            return told
        return f"{told}, epsilon {at_most(zcdp_epsilon(loss, _delta(at)))} at delta {at}"

    losses = []
    for record in records:
        loss = plan.loss(record)
        losses.append(loss)
        larger = {times: plan.loss(_times(record, times)) for times in LARGER}
        groups = {size: group_loss([loss] * size, unit) for size in sizes}
        named = ", ".join(f"{printed(key)} = {printed(value)}" for key, value in record.items())
        lines.append(f"{named}: at most {words(loss)}.")
        grown = (f"with measures {times} times as large: {name} {at_most(float_above(x))}" for times, x in larger.items())
        lines.append("  " + "; ".join(grown))
        lines.append("  " + "; ".join(f"{size} such records together: {words(x)}" for size, x in groups.items()))
        data["records"].append(
            {
                "record": {key: value if isinstance(value, str) else float(value) for key, value in record.items()},
                "loss": float_above(loss),
                "larger": {times: float_above(x) for times, x in larger.items()},
                "groups": {size: float_above(x) for size, x in groups.items()},
                **({"epsilon": zcdp_epsilon(loss, _delta(at))} if at is not None and unit == "zcdp" else {}),
            }
        )
    if unit == "pure":
        _refuse(at, "--delta", "the losses are pure and have no delta")
    if len(losses) > 1:
        data["together"] = float_above(group_loss(losses, unit))
        lines.append(f"All {len(losses)} together: at most {words(group_loss(losses, unit))}.")
    if not records:
        lines.append("Give public or invented records by --record, such as emp=150,pay=2000, for their losses.")
    return lines, data


def _invariant(statistics: Statistics) -> Invariant:
    """The invariant of statistics, as a spec has them."""
    from designer.relations.invariants.invariant import Invariant

    if isinstance(statistics, Invariant):
        return statistics
    known = statistics
    return Invariant(known.matrix, known.names, known.records_public, known.groups, known.impossible)


def _records_words(value: int) -> str:
    if value == 0:
        return "one database alone has them, and nothing is left to protect"
    return f"for a record to have another value, up to {counted(value, 'record')} change, itself counted"


def _cost(budget: float, notion: str) -> str:
    return f"rho {at_most(budget**2 / 2)}" if notion == "zcdp" else f"epsilon {at_most(budget)}"


def _times(record: Mapping[str, Any], times: int) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else value * times for name, value in record.items()}


def _record(text: str) -> dict[str, Any]:
    """`emp=150,sector=retail`: numbers exactly, anything else as a text."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name or name in found:
            raise InvalidProblem(f"--record: {shown(text)} is no list of name=value, each name once; give emp=150,pay=2000.")
        found[name] = _number(value)
    return found


def _number(text: str) -> Any:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    if not value.is_finite():
        return text
    return int(value) if value == value.to_integral_value() and abs(value) < 10**18 else value


def _whole(text: str, field: str, least: int = 1) -> int:
    try:
        return count(int(text), field, least=least)
    except ValueError:
        raise InvalidProblem(
            f"{field}: {shown(text)} is no whole number of at least {least}; separate several by commas."
        ) from None


def _delta(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise InvalidProblem(f"--delta: {shown(text)} is no number between 0 and 1; give one such as 1e-6.")
    return value


def _refuse(given: object, flag: str, why: str) -> None:
    if given is not None:
        raise InvalidProblem(f"{flag}: {why}; leave it out.")
