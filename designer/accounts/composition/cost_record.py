"""What a release costs as plain data, so that releases are added up long after, without the objects that made them.

An expense speaks of the change of its relation that costs most. Expenses add up on a change that all of them protect: one
record, or the few records that an invariant leaves to change (docs/theory/composition.md, section 5).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

from designer.accounts.composition.common_relation import Speaks
from designer.accounts.composition.terms import largest_budget, protected_by, rule_of
from designer.base.arrays import Immutable
from designer.base.checks import count, shown
from designer.base.display import counted
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import canonical, require_keys
from designer.base.progress import step
from designer.base.schema import BOOLEAN, COUNT, HASH, RATIONAL, Named, as_data, keys, list_of, one_of, or_null, record, text
from designer.certificate.frozen import FrozenMechanism, rate_of_left_out
from designer.mechanism.composition import Protected
from designer.problem.relation import Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.metrics.presence import AddRemove, AppearOrChange, Presence
from designer.relations.row_groups import RowGroups
from designer.tradeoff.comparison import TRADEOFFS, tradeoff_from_spec
from designer.tradeoff.costs import Cost, TotalCost
from designer.tradeoff.functions import Tradeoff
from solvers.exact.rational import root_above

Moves = Literal["appear", "replace", "either", "keep", "l1", "l2"]
UNITS: dict[str, str] = {
    "appear": "one record appears or disappears",
    "replace": "one record changes, and the number of records is public",
    "either": "one record appears, disappears or changes",
    "keep": "at most {records} {change}, and what is published exactly does not",
    "l1": "any records change, and what is published exactly does not; for each unit of l1 distance of the histograms",
    "l2": "any records change, and what is published exactly does not; for each unit of l2 distance of the histograms",
}
OF_ENTITIES: dict[str, str] = {
    "appear": "one entity appears or disappears with its at most {rows}",
    "replace": "one entity changes with its at most {rows}, and how many rows count is public",
    "either": "one entity appears, disappears or changes with its at most {rows}",
}
ENTITY = re.compile(r"^one entity .* with its at most ([0-9,]+) rows?\b")
DISTANCES = ("l1", "l2")
_PRESENCE: tuple[Moves, int, bool] = ("appear", 1, False)
NOTIONS_OF_EXPENSES = ("pure", "zcdp", "approximate")


@dataclass(frozen=True, kw_only=True)
class Expense(Immutable):
    """What one release of a frozen object costs at most, over all changes that it protects; numbers are exact, and rounded up.

    notion: "pure", "zcdp" (with a delta: but for events of that probability) or "approximate" ((epsilon, delta)). unit: what
    one change is, in words; moves, records, replaced: the same for adding up. scope: a hash of which changes are protected at
    all, whatever their budgets; None where every change of one record is. epsilon: with delta; pure where delta is None. rho:
    zCDP, which pure promises have too; where epsilon is None, delta belongs to rho. mu_squared: Gaussian differential privacy.
    shapes: tradeoff functions whose product says more of every change than these numbers; none where they say all.
    unprotected: what has no finite budget or is published exactly.
    """

    fingerprint: str
    format: str
    notion: str
    unit: str
    moves: Moves
    records: int
    replaced: bool
    scope: str | None
    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None = None
    mu_squared: Fraction | None = None
    shapes: tuple[Tradeoff, ...] = ()
    unprotected: tuple[str, ...] = ()
    schema = Named(
        "expense",
        record(
            {
                "fingerprint": HASH,
                "format": text(),
                "notion": one_of(*NOTIONS_OF_EXPENSES),
                "unit": text(),
                "moves": one_of(*UNITS),
                "records": COUNT,
                "replaced": BOOLEAN,
                "scope": or_null(HASH),
                "epsilon": or_null(RATIONAL),
                "rho": or_null(RATIONAL),
                "delta": or_null(RATIONAL),
                "mu_squared": or_null(RATIONAL),
                "shapes": list_of(TRADEOFFS, least=0),
                "unprotected": list_of(text(), least=0),
            },
            note="What one release costs at most; fractions as texts.",
        ),
    )

    @property
    def rows_per_entity(self) -> int | None:
        """How many rows of an entity its unit speaks of; None of records."""
        found = ENTITY.search(self.unit)
        return None if found is None else int(found[1].replace(",", ""))

    @property
    def cost(self) -> Cost:
        """The numbers alone."""
        return Cost(self.epsilon, self.rho, self.delta or Fraction(0), self.mu_squared, self.shapes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: fractions as texts."""
        held = {part.name: getattr(self, part.name) for part in fields(self)}
        numbers = {name: None if (value := held[name]) is None else str(value) for name in _FRACTIONS}
        return {**held, **numbers, "shapes": as_data(self.shapes), "unprotected": list(self.unprotected)}

    @classmethod
    def from_dict(cls, data: Any) -> Expense:
        """The inverse of `to_dict`; `InvalidSpec` where a key is missing, unknown or of another type."""
        require_keys(data, keys(cls.schema), "expense")
        numbers = {name: _fraction(data[name], name) for name in _FRACTIONS}
        _require_types(data)
        try:
            shapes = tuple(map(tradeoff_from_spec, data["shapes"]))
        except InvalidProblem as refusal:
            raise InvalidSpec(f"expense.shapes: {refusal}") from None
        return cls(**{**data, **numbers, "shapes": shapes, "unprotected": tuple(data["unprotected"])})


_FRACTIONS = ("epsilon", "rho", "delta", "mu_squared")
_TEXTS = ("fingerprint", "format", "notion", "unit")


def _fraction(value: Any, name: str) -> Fraction | None:
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", value):
        raise InvalidSpec(f"expense.{name}: {shown(value)} is no fraction such as 1/20.", value=value)
    return Fraction(value)


def _require_types(data: Mapping[str, Any]) -> None:
    """Refuse what no expense holds, before anything is computed from it."""
    texts = all(isinstance(data[name], str) for name in _TEXTS) and isinstance(data["scope"], (str, type(None)))
    known = data["moves"] in UNITS and data["notion"] in NOTIONS_OF_EXPENSES
    lines = data["unprotected"]
    listed = isinstance(lines, list) and all(isinstance(line, str) for line in lines) and isinstance(data["shapes"], list)
    whole = type(data["records"]) is int and data["records"] >= 1 and type(data["replaced"]) is bool
    if not (texts and known and listed and whole):
        raise InvalidSpec("expense: holds a value that is none of an expense; restore it.")
    if data["epsilon"] is None and data["rho"] is None:
        raise InvalidSpec("expense: has neither an epsilon nor a rho; restore it.")


@step("what a mechanism costs")
def expense_of(mechanism: FrozenMechanism, *, rows_per_entity: int | None = None) -> Expense:
    """Find what one release of a frozen object costs at most. Raises `InvalidProblem` for what cannot be added up: noise of a
    Markov chain, relations that protect nothing, policies that are bounded in name only.

    Parameters
    ----------
    mechanism : a frozen object of any format.
    rows_per_entity
        how many rows of an entity count, for objects that release from records. The cost is that of the entity, in the
        answers and in the number of rows left out. None for single records.
    """
    if not isinstance(mechanism, FrozenMechanism):
        raise InvalidProblem(f"mechanism: {shown(mechanism)} is no frozen object; load a spec, or design one.", value=mechanism)
    rows = None if rows_per_entity is None else count(rows_per_entity, "rows_per_entity")
    made = _known.get(mechanism)
    if made is None:
        made = _known[mechanism] = _of_one(mechanism)
    return made if rows is None else _of_entity(mechanism, made, rows)


_known: WeakKeyDictionary[FrozenMechanism, Expense] = WeakKeyDictionary()  # it follows from what the fingerprint is of


def _of_one(mechanism: FrozenMechanism) -> Expense:
    cost, moves = costliest(mechanism)
    if rule_of(mechanism).by_record:
        return _stated(mechanism, cost, moves, None)
    return _stated(mechanism, cost.as_pure(), moves, _scope(mechanism, protected_by(mechanism)))


def costliest(mechanism: FrozenMechanism) -> tuple[Cost, tuple[Moves, int, bool]]:
    """What the protected change that costs most costs in one release, as it is promised, and what one change is: its kind, how
    many records it moves, and whether they are replaced. Raises what `expense_of` does."""
    rule = rule_of(mechanism)
    rule.require_proven(mechanism)
    if rule.by_record:
        return rule.largest(mechanism), _PRESENCE
    protected = rule.protected(mechanism)
    if not isinstance(protected, Presence) and protected.is_vacuous():
        raise InvalidProblem(
            "mechanism: its relation protects no change at all, so there is no cost to add up; nothing is hidden."
        )
    return rule.cost(mechanism, largest_budget(protected)), moves_of(protected)


def _scope(mechanism: FrozenMechanism, protected: Protected) -> str | None:
    """The hash of which changes are protected at all; None where every change of one record is. The same changes that are
    written in another way have another hash."""
    bounds = None if isinstance(protected, Presence) else _bounds(protected)
    if bounds is None:
        return None
    spoken = Speaks.of(mechanism)
    domain = spoken.domain
    elements = spoken.names if domain is None else [domain.attributes, domain.values]
    return hashlib.sha256(canonical({"elements": elements, "bounds": bounds})).hexdigest()


def _bounds(relation: Relation) -> list[Any] | None:
    """What keeps changes of one record from being protected; None where nothing does."""
    if isinstance(relation, (ChangeRelation, InvariantDistance)):
        kept = [row for row in relation.invariant.constraints.tolist() if len(set(row)) > 1]
        further = [] if isinstance(relation, InvariantDistance) or relation.spans_kernel else [relation.to_spec()]
        inner = [_bounds(part) for part in relation.inner()]
        if not (kept or further or any(inner)):
            return None
        return [list(moves_of(relation)), kept, further, inner]
    if isinstance(relation, RowGroups):
        inner = [_bounds(part) for part in relation.parts]
        return inner if any(inner) else None
    parts = relation.components()
    return parts.tolist() if parts.any() else None


def moves_of(protected: Protected) -> tuple[Moves, int, bool]:
    """What one protected change is: its kind, how many records it moves, and whether they are replaced."""
    if isinstance(protected, (Presence, AddRemove)):
        return _PRESENCE
    if isinstance(protected, AppearOrChange):
        return "either", 1, False
    if isinstance(protected, ChangeRelation):
        return "keep", protected.adjacency, protected.invariant.records_public
    if isinstance(protected, InvariantDistance):
        return protected.distance, 1, protected.invariant.records_public
    return "replace", 1, True


def _stated(mechanism: FrozenMechanism, cost: Cost, moves: tuple[Moves, int, bool], scope: str | None) -> Expense:
    kind, records, replaced = moves
    words = _words(kind, records, replaced)
    return Expense(
        fingerprint=mechanism.fingerprint,
        format=mechanism.format,
        notion=_notion(cost),
        unit=words,
        moves=kind,
        records=records,
        replaced=replaced,
        scope=scope,
        epsilon=cost.epsilon,
        rho=cost.rho,
        delta=cost.delta or None,
        mu_squared=cost.mu_squared,
        shapes=cost.shapes,
        unprotected=mechanism.guarantee.unprotected,
    )


def _notion(cost: Cost) -> str:
    if cost.epsilon is not None:
        return "approximate" if cost.delta else "pure"
    return "zcdp"


def _of_entity(mechanism: FrozenMechanism, one: Expense, rows: int) -> Expense:
    unit = change_words((one.moves, one.records, one.replaced), rows)
    cost = cost_of_entity(mechanism, one.cost, rows)
    known = replace(one, unit=unit, epsilon=cost.epsilon, rho=cost.rho, delta=cost.delta or None)
    return replace(known, mu_squared=cost.mu_squared, shapes=cost.shapes)


def cost_of_entity(mechanism: FrozenMechanism, one: Cost, rows: int) -> Cost:
    """What at most so many rows of an entity cost, of which each costs `one`: in the answers, and in the number of rows left
    out, which an entity moves by at most as many."""
    return cost_of_rows(one, rows, rate_of_left_out(mechanism))


def cost_of_rows(one: Cost, rows: int, rate: Fraction | None) -> Cost:
    """The same for a rate of the noise in the number of rows left out; None where that number is public."""
    cost = one.of_group(rows)
    return cost if rate is None else cost.with_pure(rate * rows)


@dataclass(frozen=True)
class Spent(Immutable):
    """What several releases cost together on the changes that all of them protect; every number is rounded up.

    unit: that change, in words. total: its numbers, in each notion.
    """

    unit: str
    total: TotalCost
    unprotected: tuple[str, ...]
    records: int = 1
    replaced: bool = False
    expenses: tuple[Expense, ...] = field(default=(), repr=False)

    @property
    def epsilon(self) -> Fraction | None:
        """Pure; None where one of them has no pure promise."""
        return self.total.epsilon

    @property
    def rho(self) -> Fraction | None:
        """zCDP; None where one of them has none, or one with a delta (`approximate_rho`)."""
        return self.total.rho

    @property
    def approximate_rho(self) -> tuple[Fraction, Fraction] | None:
        """(rho, delta): zCDP but for events of probability delta."""
        return self.total.approximate_rho

    @cached_property
    def approximate(self) -> tuple[Fraction, Fraction] | None:
        """(epsilon, delta), added plainly; None where one of them has none."""
        return self.total.plain

    def epsilon_at(self, delta: object) -> float | None:
        """The least epsilon proven at delta; None where none is."""
        return self.total.epsilon_at(delta)

    def delta_at(self, epsilon: object) -> float:
        """The least delta proven at epsilon; 1 where nothing is promised."""
        return self.total.delta_at(epsilon)


@step("adding up expenses")
def spent(expenses: Sequence[Expense], *, times: Sequence[int] = (), records_public: bool = False) -> Spent:
    """Add up what releases about the same records cost. Each may be chosen after the last; what they may publish and which
    changes they may protect is fixed before the first.

    They are added up on a change that all of them protect. A release that hides the presence of one record hides that it
    changes at twice the budget. One that hides a change hides a of them at a times the budget. What one of them leaves public
    is public in the whole. Where an invariant is published, only changes that keep it are left, of as many records as all speak
    of. Raises `InvalidProblem` where no change is protected by all.

    Parameters
    ----------
    expenses : what each mechanism costs, as `expense_of` finds it.
    times : how many releases cost each; none, one of each.
    records_public : a release that was not made might have published the number of records, so changes are counted.
    """
    listed = tuple(expenses)
    if not all(isinstance(expense, Expense) for expense in listed):
        raise InvalidProblem(
            "expenses: one of them is none; make them with `expense_of`, or read them with `Expense.from_dict`."
        )
    if not listed:
        return Spent("nothing was released", TotalCost(()), ())
    radius, replaced = _common(listed, records_public)
    costs = tuple(_cost_of_common(expense, _factor(expense, radius, replaced)) for expense in listed)
    unprotected = tuple(dict.fromkeys(line for expense in listed for line in expense.unprotected))
    records = radius // 2 if replaced else radius
    return Spent(_unit(listed, records, replaced), TotalCost(costs, tuple(times)), unprotected, records, replaced, listed)


def _common(expenses: Sequence[Expense], records_public: bool) -> tuple[int, bool]:
    """The l1 length of the change that all protect, and whether its records are replaced."""
    if all(expense.moves in DISTANCES for expense in expenses):
        return 1, False
    kept = [e.records * (2 if e.replaced else 1) for e in expenses if e.moves == "keep"]
    public = records_public or any(expense.replaced for expense in expenses)
    radius = min(kept) if kept else 2 if public else 1
    if public and radius < 2:
        raise InvalidProblem(
            "expenses: one protects a single record that appears under an invariant, another publishes the number of records, "
            "so no change is protected by both; design them for one relation."
        )
    return (radius - radius % 2, True) if public else (radius, False)


def _cost_of_common(expense: Expense, times: Fraction | int) -> Cost:
    """So many changes, one after the other; or, where budgets are those of a distance, one that is so long."""
    return expense.cost.of_length(times) if expense.moves in DISTANCES else expense.cost.of_group(times)


def _factor(expense: Expense, radius: int, replaced: bool) -> Fraction | int:
    """How many changes of an expense make up the common one."""
    if expense.moves == "keep":
        return 1
    if expense.moves == "replace" or (expense.moves == "either" and replaced):
        return radius // 2
    if expense.moves == "l2" and replaced:
        return root_above(Fraction(radius**2, 2))  # in l2, all records from one cell to another
    return radius


def _unit(expenses: Sequence[Expense], records: int, replaced: bool) -> str:
    units = {expense.unit for expense in expenses}
    bounds = [expense.rows_per_entity for expense in expenses]
    if any(bounds) and len(units) > 1:
        most = max(bound or 1 for bound in bounds)
        return OF_ENTITIES["replace" if replaced else "appear"].format(rows=counted(most, "row"))
    if len(units) == 1 and (not replaced or expenses[0].replaced):
        return units.pop()
    if units <= {UNITS[kind] for kind in DISTANCES}:
        return UNITS["l1"]  # no l2 distance is larger
    if not any(expense.moves in ("keep", *DISTANCES) for expense in expenses):
        return UNITS["replace" if replaced else "appear"]
    return _words("keep", records, replaced)


def change_words(moves: tuple[Moves, int, bool], rows: int | None = None) -> str:
    """What one change is, in a phrase: of a record, or of an entity of which at most so many rows count."""
    if rows is None:
        return _words(*moves)
    if moves[0] not in OF_ENTITIES:
        raise InvalidProblem(
            f"rows_per_entity: {rows}, but the object protects changes of records that keep published statistics, which says "
            "nothing of entities; leave it out."
        )
    return OF_ENTITIES[moves[0]].format(rows=counted(rows, "row"))


def _words(kind: Moves, records: int, replaced: bool) -> str:
    """What a change is, in a phrase with its number of records."""
    moved = f"{'replaced' if replaced else 'added or removed'} record"
    return UNITS[kind].format(records=counted(records, moved), change="changes" if records == 1 else "change")
