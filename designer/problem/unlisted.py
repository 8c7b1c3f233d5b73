"""What happens to a record with a value that is not listed: one rule for all kinds of releases from records.

Let T be what counting makes of the records; the relation speaks of T of them (docs/theory/entities.md).

- "refuse", the default: nothing is released from data that hold such a record. T is the identity on all other data, so the
  promise holds between any two of these; the refusal is one bit about the data, in one fixed text, that nothing bounds.
- "count as others": such a value counts as `OTHERS`, which its column lists. T acts on each record alone and leaves none out,
  so one changed record is one changed record, with the budget between what the two count as.
- "drop": such a record counts nowhere. One that comes to be unlisted disappears from T, so this needs a relation in which a
  record may disappear; where the number of records is public it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.schema import Fragment, noted, one_of

OTHERS = "(all others)"  # the value that stands for every one that is not listed, missing ones among them
Unlisted = Literal["refuse", "count as others", "drop"]
RULES: tuple[Unlisted, ...] = ("refuse", "count as others", "drop")
REFUSE = RULES[0]
NOTE = (
    'What happens to a record with a value that is not listed, or missing: "refuse" (unless given) releases nothing, '
    f'"count as others" counts the value as "{OTHERS}", which must be listed, "drop" leaves the record out.'
)
IN_FILES: dict[str, Fragment] = {"unlisted": noted(NOTE, one_of(*RULES))}  # of a problem
IN_SPECS: dict[str, Fragment] = {"unlisted": noted(NOTE, one_of(*RULES[1:]))}
UNREADABLE = (
    "records: a column of numbers holds a value that is none; correct it, say how numbers are written (--decimal, --thousands) "
    'or state that such values count as missing: unlisted = "count as others" or "drop". dp-designer check, for the holder of '
    "the data, says which they are. Nothing was released."
)
WORDS: dict[str, str] = {
    "refuse": (
        "Nothing is released from data in which a record has a value that is not listed, or lacks one; that they are refused "
        "is outside the guarantee."
    ),
    "count as others": (f'A value that is not listed, or missing, counts as "{OTHERS}", and is protected as that value is.'),
    "drop": "A record with a value that is not listed, or without one, is left out, and is protected as an absent record is.",
}


def checked_rule(rule: object) -> Unlisted:
    """One of `RULES`."""
    for known in RULES:
        if rule == known:
            return known
    raise InvalidProblem(f"unlisted: {shown(rule)} is unknown; {meant(str(rule), RULES)}use one of {list(RULES)}.", value=rule)


def rule_entry(rule: Unlisted) -> dict[str, Any]:
    """What a spec says of the rule; nothing where it is the one that holds unless another is stated."""
    return {} if rule == REFUSE else {"unlisted": rule}


def rule_from(spec: Mapping[str, Any]) -> Unlisted:
    """The rule of a spec, which states any but the first; `InvalidSpec` for another."""
    if "unlisted" not in spec:
        return REFUSE
    if spec["unlisted"] not in RULES[1:]:
        raise InvalidSpec(f"unlisted: {shown(spec['unlisted'])} is none of {list(RULES[1:])}.", value=spec["unlisted"])
    return checked_rule(spec["unlisted"])


def needs_others(where: str, remedy: str) -> InvalidProblem:
    """The refusal of a list without a value for all that are not listed; for the caller to raise."""
    return InvalidProblem(f'unlisted: "count as others" needs "{OTHERS}" {where}; {remedy}, or take another rule.')
