"""What settings share: designs that several items have in common."""

from __future__ import annotations

from examples.papers.frame import Choice, Setting

STATED = Setting("numbers that the paper states, from inputs that it states")
INSTANCE = Setting(
    "a statement for all instances, without numbers",
    (
        Choice(
            "the instance that the quantities name",
            "the numbers; what is said of them here holds for each instance, and the test of the item tries others",
        ),
    ),
)
