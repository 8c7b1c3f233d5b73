"""The ways a call is refused. Each is a ValueError whose message names the field, the value and the remedy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar

from designer.base.progress import unseen

LONGEST = 2000
FIELD = re.compile(r"((?:[^:]|:(?! ))*): ")
CLAUSES = re.compile(r"; |(?<=[.)]) (?=[A-Z])")


class Refusal(ValueError):
    """The base of all errors that this program raises on purpose: `field: what is wrong; what to do.`

    field: what is wrong, such as an argument, a key of a file, or a part of a spec. value: what was given for it, where one
    value is wrong; None where it is not one value, and always where it might be confidential. remedy: what to do, in the words
    of the message. The message has at most 2,000 characters, whatever names and values are in it: of a longer one the beginning
    and the remedy stay. Source: docs/explanation/trust.md.

    >>> from designer import Refusal, metrics
    >>> try:
    ...     metrics.uniform(3, epsilon=-1.0)
    ... except Refusal as refused:
    ...     print(refused.field, refused.value, refused.remedy, sep=" | ")
    epsilon | -1.0 | give one above 0.
    """

    def __init__(
        self, message: object = "", *, field: str | None = None, value: object = None, remedy: str | None = None
    ) -> None:
        text = str(message)
        super().__init__(text if len(text) <= LONGEST else f"{text[:1400]} ... {text[-(LONGEST - 1405) :]}")
        self._field, self._remedy = field, remedy
        self.value = value

    @property
    def field(self) -> str:
        """What is wrong, by its name; empty where the message names none."""
        found = FIELD.match(str(self))
        return self._field or (found[1] if found else "")

    @property
    def remedy(self) -> str:
        """What to do: what the message says after what is wrong, or all of it where that says what is needed."""
        said = str(self).removeprefix(f"{self.field}: ")
        return self._remedy or CLAUSES.split(said, maxsplit=1)[-1]

    def within(self, place: str) -> Self:
        """The same refusal, whose message begins with the place where it was found."""
        return type(self)(f"{place}{self}", field=self.field, value=self.value, remedy=self.remedy)


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


class OtherFile(InvalidSpec):
    """The file is of another kind, such as a problem file where a spec is needed. Exit code 2."""


class OverTotal(Refusal):
    """The release would spend more of a data set than its ledger allows, or leave unprotected what must not be."""


class InvalidLedger(Refusal):
    """The ledger is damaged or altered, or is an older copy of itself.

    A `Ledger` that has raised it raises it for ever; open the file again once it is restored. Exit code 7.
    """


class LedgerUnavailable(Refusal):
    """The ledger cannot be used at the moment: it is held by another process, on a full or failing disk, or may not be written.

    transient: it is busy, and the same call may succeed later; elsewhere a person has to act first. spent: False where nothing
    was recorded, so that a repeated call spends once. True where a reservation stays, so that a repeated call spends again.
    None where only the ledger can say which. A repeated call never exceeds a total. Exit code 10.
    """

    def __init__(self, message: object = "", *, transient: bool = False, spent: bool | None = False, **said: Any) -> None:
        super().__init__(message, **said)
        self.transient, self.spent = transient, spent

    def within(self, place: str) -> Self:
        there = super().within(place)
        there.transient, there.spent = self.transient, self.spent
        return there


class CannotWrite(Refusal):
    """A file or standard output cannot be written: the disk is full or fails, the folder takes no file, or nobody reads.

    What stood there before stays, and no part of the new file. Exit code 11.
    """


class UntrueBound(ArithmeticError):
    """A proven bound exceeds the value that was reached: an error of the program; neither of them is shown."""


# Progress of long steps, by name and with the time left, shown only where somebody asked for it (`progress_line.py`): the
# command line does on a terminal. Nothing is written where nobody asked.
#
# While confidential data are read (`unseen`), nothing but the step that was under way before is shown: no counts, no time
# left and no names of inner steps, which may follow from the data.


# The one wrapper around everything that reads confidential data: an engine, a file, or objects of the caller, whose own
# messages may quote records.


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

WITHHELD = (
    "records: reading or counting them failed. Nothing was released; what failed is withheld, because its message may quote "
    "records. Try invented data of the same form."
)
MEMORY = "records: reading or counting them needs more memory than there is. Nothing was released."


def hides_data_in_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same function, whose failures say nothing of the data.

    Nor does progress, which shows nothing of what happens within. Refusals of this program, whose texts are fixed, are raised
    anew without cause, context or inner frames. Anything else, from wherever it comes, becomes an `InvalidProblem` with one
    text. Calls with wrong arguments fail as they do anywhere, which is asked only where a call has failed.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            with unseen():
                return function(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            told = _sayable(error)
        # Outside the handler, so that not even the context of the exception holds what failed.
        signature.bind(*args, **kwargs)
        raise told

    return guarded


def _sayable(error: BaseException) -> BaseException:
    """What may be said of an error."""
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, MemoryError):
        return InvalidProblem(MEMORY)
    own = next((kind for kind in (DesignFailed, InvalidProblem, InvalidSpec, NotPrivate) if type(error) is kind), None)
    return InvalidProblem(WITHHELD) if own is None else own(*error.args)  # without its value
