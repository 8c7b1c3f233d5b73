"""The statement for several releases together, complete enough to be read without the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from designer.base.errors import InvalidProblem
from designer.certified.frozen import Specified
from designer.certified.guarantee import APPROXIMATE, NOTIONS, POST_PROCESSING, Guarantee, budget_range
from designer.mechanisms.additive.mechanism import DELTAS_ADD
from designer.problem.relation import Relation
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.joint_promises import joint_fingerprint
from solvers.exact.rational import float_above

WORDS = {"pure": NOTIONS["exponential"], "zcdp": NOTIONS["gaussian"]}


def statement_of(
    mechanisms: Sequence[Specified], relation: Relation, notion: str | None, delta: Fraction | None, notes: tuple[str, ...]
) -> Guarantee:
    """The statement: the joint relation and notion, and of everything else what the parts say, each sentence once."""
    statements = [mechanism.guarantee for mechanism in mechanisms]
    told = joined(statements)
    return replace(
        told,
        unit=relation.protected_unit(),
        relation=relation.sentence(),
        unprotected=tuple(dict.fromkeys((*told.unprotected, *relation.unprotected(), *notes))),
        notion=WORDS.get(notion or "") or APPROXIMATE.format(delta=_below_one(delta)),
        parameters=_parameters(relation, statements, delta),
        post_processing=POST_PROCESSING if notion in WORDS else DELTAS_ADD,
    )


def joined(statements: Sequence[Guarantee]) -> Guarantee:
    """The first statement, with what the others say of mechanisms, sampling, numbers, time and what is unprotected."""
    every: Callable[[Iterable[str]], str] = lambda lines: " ".join(dict.fromkeys(lines))  # noqa: E731
    return replace(
        statements[0],
        unprotected=tuple(dict.fromkeys(line for statement in statements for line in statement.unprotected)),
        mechanism="Together: " + " ".join(f"({m + 1}) {statement.mechanism}" for m, statement in enumerate(statements)),
        sampling=every(statement.sampling for statement in statements),
        floating_point=every(statement.floating_point for statement in statements),
        timing=every(statement.timing for statement in statements),
        fingerprint=joint_fingerprint("composition", [statement.fingerprint for statement in statements]),
    )


def _below_one(delta: Fraction | None) -> float:
    together = float_above(delta or Fraction(0))
    if together >= 1:
        raise InvalidProblem(f"mechanisms: their deltas add up to {together!r}, which promises nothing; compose fewer.")
    return together


def _parameters(relation: Relation, statements: Sequence[Guarantee], delta: Fraction | None) -> dict[str, float | int | None]:
    ratios = [statement.parameters.get("worst_ratio") for statement in statements]
    known = [ratio for ratio in ratios if ratio is not None]
    # Each release spends at most its own worst part of its budgets, so all spend at most the worst of these of the whole;
    # lengths under a delta do not add up as budgets do, so their ratios say nothing of the sum.
    worst = max(known) if len(known) == len(ratios) and delta is None else None
    more = {} if delta is None else {"delta": _below_one(delta)}
    if isinstance(relation, InvariantDistance):
        return {"worst_ratio": worst, **relation.facts()}
    if isinstance(relation, ChangeRelation):
        return {"largest_finite_budget": relation.largest_budget(), "worst_ratio": worst, **more, **relation.facts()}
    least, most = budget_range(relation)
    return {"smallest_budget": least, "largest_finite_budget": most, "worst_ratio": worst, **relation.facts(), **more}
