"""Putting several frozen mechanisms into one statement."""

from __future__ import annotations

from designer.certified.frozen import Specified
from designer.accounts.together.elements import Composed, ComposedElements
from designer.accounts.together.records import ComposedRecords, speaks_of_rows
from designer.accounts.together.universes import Speaks
from designer.base.errors import InvalidProblem
from designer.mechanisms.marginals.protection import Presence
from designer.base.progress import step
from designer.tables.plan import TablePlan
from designer.base.checks import shown


@step("composing mechanisms")
def composed(*mechanisms: Specified) -> Composed:
    """What several frozen mechanisms, all of which release about the same records, promise together; of every kind that
    `designer.load` reads, under any relations and notions.

    Questions and families may be chosen after earlier answers were seen; budgets, relations and published statistics are
    fixed before the first release. Where those are chosen by answers, this speaks only of the changes that every choice which
    might have been made protects.

    Of a change the costs add up, in the notion that proves most (`Composed.epsilon`, `.delta`); what one of them leaves
    unprotected is unprotected in the whole, and what any of them publishes exactly is public. Elements are joined by name. A
    plan of a table goes with what hides the presence of a row.
    Raises `InvalidProblem`, with the reason, where mechanisms speak of different universes or units, where one has no proof
    that adds up, and where no change is protected by all.

    >>> from designer import Problem, Workload, design, metrics
    >>> made = design(Problem(Workload([[0, 1, 2]]), metrics.uniform(3, 0.5)), "laplace").mechanism
    >>> both = composed(made, made)
    >>> both.notion, both.exact_budget(0, 2), both.delta(1)
    ('pure', Fraction(1, 1), 0.0)
    """
    if not mechanisms:
        raise InvalidProblem("mechanisms: none is given; give at least one.")
    for place, mechanism in enumerate(mechanisms):
        if not isinstance(mechanism, Specified):
            raise InvalidProblem(f"mechanisms[{place}]: {shown(mechanism)} is no frozen object; load a spec, or design one.")
    tables = any(isinstance(mechanism, TablePlan) for mechanism in mechanisms)
    if tables or _hide_rows_of_different_universes(mechanisms):
        return ComposedRecords.of(mechanisms)
    return ComposedElements.of(mechanisms)


def _hide_rows_of_different_universes(mechanisms: tuple[Specified, ...]) -> bool:
    """Do all hide the presence of a row, over attributes that are not the same?"""
    if not all(map(speaks_of_rows, mechanisms)):
        return False
    spoken = [Speaks.of(mechanism) for mechanism in mechanisms]
    domains = {one.domain for one in spoken}
    return all(isinstance(one.protected, Presence) for one in spoken) and len(domains) > 1
