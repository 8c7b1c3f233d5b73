"""Releases as files that others can check: one closed, versioned JSON format for every kind of release.

A file says which spec made it (its fingerprint), when, what one row was, the answers with their standard errors, what was
published exactly, the guarantee, the entry of a ledger where one was kept, and a seal. `verify_release` rebuilds the release
from the whole numbers in the file and from the spec, and compares every key. `dp-designer schema release`
prints the schema.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from designer.base.checks import shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import PERIOD, UTC_TIME, canonical, is_utc_text, plain, readable_text, require_keys, utc_text
from designer.base.output import write_whole
from designer.base.progress import step
from designer.base.schema import (
    COUNT,
    HASH,
    Named,
    Schema,
    either,
    exactly,
    keys,
    list_of,
    noted,
    one_of,
    or_null,
    record,
    text,
)
from designer.certificate.agreement import PUBLISHED, RELEASE_FORMAT, RESTORE, ReleaseForm, ReleaseKeys
from designer.certificate.frozen import FORMAT_VERSION, FrozenMechanism, Released, about_entry, seal
from designer.certificate.guarantee import About, Guarantee
from designer.files.kinds import KINDS
from designer.files.signatures import Trusted
from designer.files.spec import load, proven_statement, read_signed, reading
from designer.relations.records.row_unit import RowUnit

RELEASE_VERSION = 1
SPEC = Named("spec", record({"format": one_of(*KINDS), "version": exactly(FORMAT_VERSION)}))
ENTRY = Named(
    "ledger_entry",
    record(
        {"id": text("^[0-9a-f]{32}$"), "dataset": text(), "reservation": COUNT, "entry": COUNT, "head": HASH},
        {"period": text(f"^{PERIOD}$"), "replaces": COUNT},
        note="Where a ledger recorded this: its identifier, the data set, the numbers of two entries, the hash of the second, "
        "the period of the data, and the entry of the release that this one corrects.",
    ),
)
REQUIRED: ReleaseKeys = {
    "format": exactly(RELEASE_FORMAT),
    "version": exactly(RELEASE_VERSION),
    "spec": SPEC,
    "fingerprint": noted("SHA-256 of the `mechanism` of the spec that made this.", either(HASH)),
    "time": noted("UTC.", text(f"^{UTC_TIME}$")),
    "rows": noted("What one row was, of a release from a table that an engine read; null elsewhere.", or_null(RowUnit.schema)),
    "published": noted("What no noise enters, as far as this file tells it.", either(PUBLISHED)),
    "guarantee": Guarantee.schema,
    "ledger": or_null(ENTRY),
    "seal": noted("SHA-256 of the whole object without `seal`.", either(HASH)),
}
CAUTIONS: ReleaseKeys = {
    "vacuous": noted("Why nothing is hidden.", text()),
    "exact": noted("The names of the answers that no noise reaches.", list_of(text())),
}
OPTIONAL: ReleaseKeys = {**CAUTIONS, "about": About.schema}
FREE = ("format", "version", "spec", "fingerprint", "time", "rows", "ledger", "seal")  # what no spec decides
FLOAT_TOLERANCE = 1e-9  # of two floats that different machines compute from the same whole numbers, relative
SAID = "Whether the words of the maker are true, such as title, data, period and units."
UNSEEN = (
    ("the operating system's random bits", "taken as uniform and independent; whoever controls them knows the noise"),
    ("the relation itself", "whether it is what the data's owner means is for people to judge"),
)
OUTSIDE = (
    "Whether the data were true and complete, and whether the noise was drawn as the spec says: no file shows that.",
    "Whether the time is right: who holds the ledger, or a signature, vouches for it.",
)


@dataclass(frozen=True)
class ReleaseVerdict:
    """What was checked of a release file, in sentences, and what cannot be seen from outside.

    fingerprint: of the mechanism. time: of the release, as the file states it. checked: what holds. unchecked: what no file
    shows.
    """

    fingerprint: str
    time: str
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def to_text(self) -> str:
        """A line for each sentence."""
        lines = [*(f"Checked:     {line}" for line in self.checked), *(f"Not checked: {line}" for line in self.unchecked)]
        return "\n".join([*lines, f"Fingerprint {self.fingerprint}, released {self.time}"])


@cache
def form_of(format: str) -> ReleaseForm[Any, Any]:
    """How releases of a format of specs are written, imported when it is needed."""
    form: ReleaseForm[Any, Any] = KINDS[format].part("release_form")()
    return form


def release_schema(format: str) -> Schema:
    """The schema of release files of one format of specs."""
    own = {**REQUIRED, **form_of(format).schema}
    return record({**own, "spec": record({"format": exactly(format), "version": exactly(FORMAT_VERSION)})}, OPTIONAL)


def release_document(
    mechanism: FrozenMechanism, released: Released, *, ledger: Mapping[str, Any] | None = None, time: datetime | None = None
) -> dict[str, Any]:
    """Give a release as the plain data of its file, sealed. Raises `InvalidProblem` where the release is of another mechanism.

    Parameters
    ----------
    mechanism : what made it.
    released : what a release of the mechanism returned.
    ledger : number and hash of its entry and the head of the ledger, as the ledger gives them; None where none is kept.
    time : of the release, aware of its zone; now unless given.
    """
    if released.fingerprint != mechanism.fingerprint:
        raise InvalidProblem("released: was not made by this mechanism; give the mechanism whose `release` made it.")
    row = getattr(released, "row", None)
    body = {
        "format": RELEASE_FORMAT,
        "version": RELEASE_VERSION,
        "spec": {"format": mechanism.format, "version": FORMAT_VERSION},
        "fingerprint": mechanism.fingerprint,
        "time": utc_text(time),
        "rows": None if row is None else row.to_dict(),
        **_content(mechanism, released),
        "guarantee": released.guarantee.to_dict(),
        "ledger": None if ledger is None else dict(ledger),
    }
    return sealed({**plain(body), **about_entry(mechanism)})


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Seal a document by its contents, in the place of any seal that it has; for what was put into it afterwards.

    document: a spec or a release, with or without a seal.
    """
    return {**document, "seal": seal(document)}


def save_release(
    mechanism: FrozenMechanism,
    released: Released,
    path: str | Path,
    *,
    ledger: Mapping[str, Any] | None = None,
    time: datetime | None = None,
    replace: bool = True,
) -> Path:
    """Write a release as a file that others can check, and return its path. Raises `InvalidProblem` where the file cannot be
    written, or the release is of another mechanism.

    Parameters
    ----------
    mechanism : what made it.
    released : what a release of the mechanism returned.
    path : of the file.
    ledger, time : as for `release_document`.
    replace : may a regular file of that name be replaced?
    """
    document = release_document(mechanism, released, ledger=ledger, time=time)
    return write_whole(Path(path), readable_text(document), replace=replace)


@step("verifying a release")
def verify_release(
    spec: FrozenMechanism | str | Path,
    release: str | Path | Mapping[str, Any],
    *,
    trusted: Trusted | None = None,
    allow_vacuous: bool = False,
) -> ReleaseVerdict:
    """Check a release against its spec, which is certified anew: everything that can be seen without the data. Raises
    `InvalidSpec` where the file was altered, is of another spec, or holds what the mechanism cannot have released.

    Parameters
    ----------
    spec : a mechanism, or the path of its file.
    release : the path of the file, or its plain data; a signature beside a file (`.sig`) is always checked.
    trusted : public keys, or their files, one of which must have signed the release.
    allow_vacuous : accept a spec that hides nothing, and says so.
    """
    mechanism, given, _ = _verified(spec, release, trusted, allow_vacuous)
    said = (SAID,) if "about" in given else ()
    unchecked = (*form_of(mechanism.format).unchecked(mechanism), *_recorded(given), *said, *OUTSIDE)
    return ReleaseVerdict(mechanism.fingerprint, given["time"], _checked(mechanism), unchecked)


def read_release(
    spec: FrozenMechanism | str | Path,
    release: str | Path | Mapping[str, Any],
    *,
    trusted: Trusted | None = None,
    allow_vacuous: bool = False,
) -> Released:
    """Read a saved release, verify it as `verify_release` does, and rebuild it from its whole numbers. It comes with its
    guarantee, its answer tables and their intervals, which follow from the spec and are in no file. Raises as `verify_release`.

    Parameters
    ----------
    spec, release, trusted, allow_vacuous : as for `verify_release`.
    """
    return _verified(spec, release, trusted, allow_vacuous)[2]


def _verified(
    spec: FrozenMechanism | str | Path, release: str | Path | Mapping[str, Any], trusted: Trusted | None, allow_vacuous: bool
) -> tuple[FrozenMechanism, dict[str, Any], Released]:
    """The mechanism, the plain data of the file, all of which follow from it, and the release that they tell of."""
    mechanism = spec if isinstance(spec, FrozenMechanism) else load(spec, allow_vacuous=allow_vacuous)
    given = read_signed(release, trusted)[0]
    _require_frame(given)
    if (given["fingerprint"], given["spec"]["format"]) != (mechanism.fingerprint, mechanism.format):
        raise InvalidSpec(
            f"fingerprint: the release was made by {shown(given['fingerprint'])}, and this spec is {mechanism.fingerprint!r}; "
            "give the spec that it was made by."
        )
    form = form_of(mechanism.format)
    _require_keys(given, form)
    _require_same_words(mechanism, given)
    rebuilt = reading("release", lambda: form.rebuilt(mechanism, given))
    _compare(given, _proven(mechanism, given, rebuilt))
    if given["rows"] is None:
        return mechanism, given, rebuilt
    row = RowUnit.from_dict(given["rows"])
    return mechanism, given, replace(rebuilt, row=row, guarantee=_guarantee_for(mechanism, row))


def _content(mechanism: FrozenMechanism, released: Any) -> dict[str, Any]:
    """What depends on the format of the spec, and what readers must not miss."""
    form = form_of(mechanism.format)
    cautions = {key: value for key in CAUTIONS if (value := getattr(mechanism, key))}
    return {**form.content(mechanism, released), "published": form.published(mechanism, released), **cautions}


def _require_frame(given: Mapping[str, Any]) -> None:
    """What every release file has, before the spec is looked at: the format, the version, the seal."""
    if given.get("format") in list(KINDS):
        raise InvalidSpec("release: is a spec; give the release behind its spec: dp-designer verify SPEC RELEASE.")
    if given.get("format") != RELEASE_FORMAT or type(given.get("version")) is not int or given["version"] != RELEASE_VERSION:
        raise InvalidSpec(
            f"release: format {shown(given.get('format'))} version {shown(given.get('version'))}; this program reads "
            f"{RELEASE_FORMAT!r} version {RELEASE_VERSION}."
        )
    if missing := sorted(set(REQUIRED) - set(given)):
        raise InvalidSpec(f"release: has no {missing[0]!r}; {RESTORE}")
    if given["seal"] != seal(given):
        raise InvalidSpec(f"seal: does not match the contents; the file was altered or damaged: {RESTORE}")
    require_keys(given["spec"], keys(SPEC), "spec")
    version = given["spec"]["version"]
    if given["spec"]["format"] not in list(KINDS) or type(version) is not int or version != FORMAT_VERSION:
        raise InvalidSpec(
            f"spec: {shown(given['spec'])} is no format and version of a spec that this program reads.", value=given["spec"]
        )
    if not is_utc_text(given["time"]):
        raise InvalidSpec(
            f"time: {shown(given['time'])} is no time in UTC such as 2026-01-31T12:00:00Z; {RESTORE}", value=given["time"]
        )
    _require_entry(given["ledger"])


def _require_entry(entry: Any) -> None:
    if entry is None:
        return
    editions = {"period", "replaces"} & set(entry) if isinstance(entry, dict) else set()
    require_keys(entry, keys(ENTRY) | editions, "ledger")
    numbers = [entry[key] for key in ("reservation", "entry", *(editions & {"replaces"}))]
    patterns = {"id": "[0-9a-f]{32}", "head": "[0-9a-f]{64}", "dataset": "(?s).*", "period": PERIOD}
    texts = {key: entry[key] for key in patterns if key in entry}
    named = all(isinstance(text, str) and re.fullmatch(patterns[key], text) for key, text in texts.items())
    if not named or not all(type(number) is int and number >= 1 for number in numbers):
        raise InvalidSpec(
            f"ledger: {shown(entry)} is not what a ledger says of a release that it recorded; {RESTORE}", value=entry
        )


def _require_keys(given: Mapping[str, Any], form: ReleaseForm[Any, Any]) -> None:
    needed = {*REQUIRED, *form.schema}
    if not needed <= set(given) <= needed | set(OPTIONAL):
        raise InvalidSpec(f"release: has the keys {shown(sorted(given))}; exactly {sorted(needed)} are needed; {RESTORE}")


def _require_same_words(mechanism: FrozenMechanism, given: Mapping[str, Any]) -> None:
    """Words for readers are those of the spec; a release may say none, as of a spec that was described later."""
    if "about" in given and canonical(given["about"]) != canonical(mechanism.about.to_dict()):
        raise InvalidSpec(
            "about: the release describes itself in other words than its spec; give the spec that it was released from, or "
            f"{RESTORE}"
        )


def _proven(mechanism: FrozenMechanism, given: Mapping[str, Any], rebuilt: Any) -> dict[str, Any]:
    """What the file has to say about what cannot be chosen freely."""
    row = None if given["rows"] is None else reading("rows", lambda: RowUnit.from_dict(given["rows"]))
    guarantee = mechanism.guarantee if row is None else reading("rows", lambda: _guarantee_for(mechanism, row))
    stated = plain(Guarantee.from_dict(guarantee.to_dict()).to_dict())
    free = {key: given[key] for key in (*FREE, "about") if key in given}
    return {**free, **plain(_content(mechanism, rebuilt)), "guarantee": stated}


def _guarantee_for(mechanism: Any, row: RowUnit) -> Guarantee:
    guarantee: Guarantee = mechanism.guarantee_for(row)
    return guarantee


def _compare(given: Mapping[str, Any], proven: Mapping[str, Any]) -> None:
    """Every key of the file against what follows from its whole numbers; the first that differs is named."""
    claimed = dict(given)
    if isinstance(claimed["guarantee"], dict):
        claimed["guarantee"] = proven_statement(claimed["guarantee"], proven["guarantee"])
    place = _difference(claimed, dict(proven), "")
    if place is not None:
        raise InvalidSpec(f"{place or 'release'}: is not what follows from the spec and the released numbers; {RESTORE}")


def _difference(one: Any, other: Any, place: str) -> str | None:
    """Where two plain values differ by more than the last digits of floats; None where they do not."""
    if type(one) is not type(other):
        return place
    if isinstance(one, dict):
        if set(one) != set(other):
            return place
        pairs = ((f"{place}.{printed(key)}" if place else key, one[key], other[key]) for key in one)
    elif isinstance(one, list):
        if len(one) != len(other):
            return place
        if canonical(one) == canonical(other):
            return None
        pairs = ((f"{place}[{k}]", a, b) for k, (a, b) in enumerate(zip(one, other, strict=True)))
    else:
        same = math.isclose(one, other, rel_tol=FLOAT_TOLERANCE, abs_tol=0.0) if isinstance(one, float) else one == other
        return None if same else place
    return next((found for where, a, b in pairs if (found := _difference(a, b, where)) is not None), None)


def _checked(mechanism: FrozenMechanism) -> tuple[str, ...]:
    """What a file that passed has been checked for."""
    return (
        "The seal fits, and the spec that made it, which was certified anew, has its fingerprint.",
        "The guarantee is the one that the spec proves.",
        *form_of(mechanism.format).checked,
    )


def _recorded(given: Mapping[str, Any]) -> tuple[str, ...]:
    """That the ledger of a release was not looked at."""
    if given["ledger"] is None:
        return ()
    return (f"It names entry {given['ledger']['entry']} of a ledger; verify the ledger to see that it is there.",)
