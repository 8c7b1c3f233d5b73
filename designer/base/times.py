"""Times in files: UTC, to the second, in one form."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from designer.base.checks import shown
from designer.base.errors import InvalidProblem

UTC_TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
FORM = "%Y-%m-%dT%H:%M:%SZ"


def utc_text(time: datetime | None = None) -> str:
    """A time as files hold it; now unless given. `InvalidProblem` for one that says no zone.

    >>> utc_text(datetime(2026, 1, 31, 12, tzinfo=UTC)), utc_text(datetime(999, 1, 1, tzinfo=UTC))
    ('2026-01-31T12:00:00Z', '0999-01-01T00:00:00Z')
    """
    moment = datetime.now(UTC) if time is None else time
    if moment.tzinfo is None:
        raise InvalidProblem(
            f"time: {shown(str(time))} says no zone; give one that does, such as datetime.now(UTC).", value=time
        )
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"  # strftime pads no year


def is_utc_text(text: object) -> bool:
    """Whether a value from a file is a time of this form."""
    if not isinstance(text, str) or not re.fullmatch(UTC_TIME, text):
        return False
    try:
        datetime.strptime(text, FORM)
    except ValueError:
        return False
    return True
