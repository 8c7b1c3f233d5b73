"""The one wrapper around everything that reads confidential data: an engine, a file, or objects of the caller,
whose own messages may quote records."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate
from designer.base.progress import unseen

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

WITHHELD = (
    "records: reading or counting them failed. Nothing was released; what failed is withheld, because its message may quote "
    "records. Try invented data of the same form."
)
MEMORY = "records: reading or counting them needs more memory than there is. Nothing was released."


def withholding(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
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
            told = _told(error)
        # Outside the handler, so that not even the context of the exception holds what failed.
        signature.bind(*args, **kwargs)
        raise told

    return guarded


def _told(error: BaseException) -> BaseException:
    """What may be said of an error."""
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, MemoryError):
        return InvalidProblem(MEMORY)
    own = next((kind for kind in (DesignFailed, InvalidProblem, InvalidSpec, NotPrivate) if type(error) is kind), None)
    return InvalidProblem(WITHHELD) if own is None else own(*error.args)  # without its value
