"""A year of one data set: a survey, monthly counts, a selection and running totals, by several people, within one total.

Six releases of three kinds of mechanism are recorded in a ledger whose total is epsilon = 3 with delta = 1e-6. Each costs what
its own certificate says, and what is left is printed after each. A seventh is refused before data are touched, and the ledger
shows that nothing happened. What is spent is compared with sums that are computed here, from the budgets alone.

    python -m examples.ledger_year
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from designer import OverTotal, Problem, SelectionProblem, Workload, design, metrics
from designer.accounts import Ledger, Total, checked
from designer.selection.scores import Linear
from examples.reproduction import Result, show

DIFFERENCES: dict[str, str] = {}
RUNNING = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]  # and not the total, which no change moves: it would be published exactly
COUNTS = [120, 40, 75, 31]
PUBLIC = (
    "The number of records is public.",
    "The candidates and their targets are public and must not have been chosen by looking at the data.",
)
PURE = {"survey": 0.5, "January": 0.125, "February": 0.125, "March": 0.125}  # the budgets of pure releases
SELECTED, TABLE = 0.25, 0.25  # of a selection, and of Gaussian noise


@cache
def laplace(epsilon: float) -> Any:
    """Four counts with Laplace noise."""
    return design(Problem(Workload.identity(4), metrics.uniform(4, epsilon)), "laplace").mechanism


@cache
def planned() -> tuple[tuple[str, str, Any], ...]:
    """Who releases what, in this order."""
    table = design(Problem(Workload(RUNNING), metrics.uniform(4, TABLE), notion="zcdp"), "gaussian").mechanism
    chosen = design(SelectionProblem(Linear(Workload.identity(4)), metrics.uniform(4, SELECTED))).mechanism
    pure = tuple(("Ada", name, laplace(epsilon)) for name, epsilon in PURE.items())
    return (*pure, ("Eve", "the largest", chosen), ("Max", "running totals", table))


def year(path: Path) -> tuple[Ledger, bool]:
    """All releases, with what is left after each; and whether one more was refused."""
    Ledger.create(path, who="the council").state("people", Total(epsilon=3, delta="1e-6"), publishes=PUBLIC)
    for who, name, mechanism in planned():
        people = Ledger(path, who=who).dataset("people")
        people.release(mechanism, COUNTS)
        spent = people.balance().spent
        print(f"{name}, by {who}: epsilon {spent.epsilon_at(Fraction('1e-6')):.3f} of 3 spent, at delta 1e-6")
    ledger = Ledger(path)
    before = ledger.head
    try:
        ledger.dataset("people").release(laplace(1.5), COUNTS)
    except OverTotal as refusal:
        print(f"Refused: {refusal}")
        return ledger, ledger.head == before
    return ledger, False


def reproduce(full: bool = False) -> Result:
    """What is spent at the end of the year, beside sums of the budgets."""
    with tempfile.TemporaryDirectory() as folder:
        ledger, refused = year(Path(folder) / "ledger")
        spent = ledger.dataset("people").balance().spent
        found = checked(ledger)
    pure = float(sum(map(Fraction, PURE.values()), Fraction(SELECTED)))
    computed = {
        "releases": float(len(found.balances[0].reserves)),
        "open reservations": float(len(found.open)),
        "the seventh refused, nothing recorded": float(refused),
        "rho": float(spent.rho or 0),
        "delta at epsilon 3": spent.delta_at(3),
        "epsilon at delta 1e-6": spent.epsilon_at(Fraction("1e-6")) or 0.0,
    }
    # rho of Gaussian noise is budget^2 / 2, of a pure promise at most that; epsilon is at most the sum of the pure budgets and
    # what Gaussian noise of this rho has at 1e-6, rho + 2 sqrt(rho log(1 / delta)) = 1.35.
    most = sum(budget**2 / 2 for budget in (*PURE.values(), SELECTED, TABLE))
    published = {
        "releases": (6.0, 6.0),
        "open reservations": (0.0, 0.0),
        "the seventh refused, nothing recorded": (1.0, 1.0),
        "rho": (TABLE**2 / 2, most),
        "delta at epsilon 3": (0.0, 1e-6),
        "epsilon at delta 1e-6": (0.5, pure + 1.35),
    }
    return computed, published


if __name__ == "__main__":
    show("A year of releases from one data set", reproduce, DIFFERENCES)
