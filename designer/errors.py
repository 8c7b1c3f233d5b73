"""The ways a call is refused. Each is a ValueError whose message names the field, the value and the remedy."""

from __future__ import annotations


class InvalidProblem(ValueError):
    """The problem, a part of it or a problem file is not well formed."""


class DesignFailed(ValueError):
    """The problem is well formed, but this family has no mechanism for it within the stated limits."""


class NotPrivate(ValueError):
    """The mechanism breaks the promise: the message names the protected pair and the excess."""


class InvalidSpec(ValueError):
    """The spec file is malformed, too large, altered, or claims what it does not prove."""
