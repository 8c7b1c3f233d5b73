"""The ways a call is refused. Each is a ValueError whose message names the field, the value and the remedy."""

from __future__ import annotations

LONGEST = 2000


class Refusal(ValueError):
    """A sentence of at most 2,000 characters, whatever names and values are in it: of a
    longer one the beginning and the remedy stay."""

    def __init__(self, message: object = "") -> None:
        text = str(message)
        super().__init__(text if len(text) <= LONGEST else f"{text[:1400]} ... {text[-(LONGEST - 1405) :]}")


class InvalidProblem(Refusal):
    """The problem, a part of it or a problem file is not well formed.

    Raised for whatever a caller gives: arguments, problem files, options, tables. Exit code 2.
    """


class DesignFailed(Refusal):
    """The problem is well formed, but this family has no mechanism for it within the stated limits.

    The message says what would do: another family, larger budgets, fewer elements. Exit code 3.
    """


class NoAttribute(InvalidProblem, AttributeError):
    """This object has no such attribute, and the message says why; `hasattr` is False. Exit code 2."""


class NoFeasibleAttribute(DesignFailed, AttributeError):
    """The attribute cannot be computed within the stated limits; `hasattr` is False. Exit code 3."""


class NotPrivate(Refusal):
    """The mechanism breaks the promise: the message names the protected pair and the excess.

    Raised by the constructor of every mechanism, so that there is none that is not private. Exit code 4.
    """


class InvalidSpec(Refusal):
    """The spec file is malformed, too large, altered, or claims what it does not prove.

    Raised by `load` and `verify_release`. Exit code 4.
    """


class OverTotal(Refusal):
    """The release would spend more of a data set than its ledger allows, or leave unprotected what must not be."""


class InvalidLedger(Refusal):
    """The ledger is damaged or altered, or is an older copy of itself."""


class UntrueBound(ArithmeticError):
    """A proven bound exceeds the value that was reached: an error of the program; neither of them is shown."""
