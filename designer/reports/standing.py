"""What was recomputed for a page, what is only noted, what nothing here checks, and how to check it oneself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from designer.audit.deep import UNSEEN
from designer.audit.verdict import TITLES
from designer.base.json_text import plain
from designer.base.printing import counted
from designer.base.rounding import closest
from designer.base.version import VERSION, WHEEL, wheel_hash
from designer.files.releases import OUTSIDE
from designer.files.signatures import SignedBy
from designer.reports.content import Entries, Listing, PageSection, Prose, Sheet, Typed
from designer.reports.contributor import Contributor
from designer.reports.evidence import Evidence
from designer.reports.names import named

FINGERPRINT = (
    'import hashlib, json, sys; m = json.load(open(sys.argv[1]))["mechanism"]; '
    'print(hashlib.sha256(json.dumps(m, sort_keys=True, separators=(",", ":")).encode()).hexdigest())'
)
SPEC_CHECKED = (
    "The seal of the spec fits its contents.",
    "The mechanism was built anew from the numbers in the spec, and its fingerprint is the one in the spec.",
    "The certificate and the guarantee were computed anew, and the claims of the spec agree with them.",
)
MADE_CHECKED = ("The certificate was computed when the mechanism was built, in this program; no file was read.",)
BUILT = "The sampler was built: this program can draw the noise that is promised."


def verification(evidence: Evidence, time: str, contributor: Contributor[Any]) -> PageSection:
    """What was recomputed now, and what is only noted."""
    release = evidence.release
    checked = [*(SPEC_CHECKED if evidence.loaded else MADE_CHECKED), BUILT]
    checked += release.verdict.checked if release else ()
    checked += [_signed(signer, what) for what, signer in signers(evidence) if signer is not None]
    if evidence.ledger is not None:
        followed = counted(len(evidence.ledger.checked.entries), "entry", "entries")
        checked.append(f"The ledger was followed from its first entry to its last, {followed}; no total is exceeded.")
    pieces = (
        Prose(f"Recomputed by dp-designer {VERSION}, {time}:"),
        Listing(tuple(checked)),
        Prose("Noted by the maker, and neither believed nor recomputed:"),
        *_noted(evidence),
        Prose("Not checked by anything here:"),
        Listing(open_points(evidence, contributor)),
    )
    return PageSection("verification", "What was verified, and what was not", pieces)


def signers(evidence: Evidence) -> Iterator[tuple[str, SignedBy | None]]:
    """Each file that was looked at, and who signed it; None where nobody did."""
    yield "spec", evidence.signer
    yield "release", evidence.release.signer if evidence.release else None


def _signed(signer: SignedBy, what: str) -> str:
    return f"Signature of the {what}: {signer.sentence()}"


def _noted(evidence: Evidence) -> Iterator[Listing | Entries]:
    known = {key: value for key, value in evidence.made.provenance.items() if key != "tried" and value not in ({}, [], None)}
    notes = [(named(key), closest(v, 6) if isinstance(v, float) else named(plain(v), 300)) for key, v in known.items()]
    best = evidence.made.optimality
    if best is not None:
        reached = f"{closest(best.value, 6)} reached, at least {closest(best.lower_bound, 6)} needed"
        notes.append(("optimality", f"{reached} ({named(best.objective, 200)})"))
    yield Entries(tuple(notes)) if notes else Listing(("Nothing.",))


def open_points(evidence: Evidence, contributor: Contributor[Any]) -> tuple[str, ...]:
    """What nothing here checks, in sentences."""
    found = list(contributor.open_points(evidence.made))
    if evidence.ledger is None:
        found.append(
            "What else was released from the same data: no ledger was looked at, and losses of several releases add up."
        )
    if evidence.deep is None:
        found.append("Whether the sampler draws what it should: deep verification tests that, and was not run for this page.")
    if not any(signer for _, signer in signers(evidence)):
        found.append("Who made the files: no signature was looked at.")
    found += evidence.release.verdict.unchecked if evidence.release else OUTSIDE[:1]
    found += [f"{subject[0].upper()}{subject[1:]}: {words}." for subject, words in UNSEEN]
    return tuple(dict.fromkeys(found))


def deep_section(evidence: Evidence) -> tuple[PageSection, ...]:
    """The verdict of a deep verification, where one was run."""
    verdict = evidence.deep
    if verdict is None:
        return ()
    rows = tuple((named(f.subject), TITLES[f.manner].lower(), _held(f.holds), named(f.words, 600)) for f in verdict.findings)
    held = "Nothing that was looked at fails." if verdict.holds else "Some of the lines below FAIL: release nothing with this."
    asked = (
        f"Each test would see an error of {100 * verdict.power.sees:g} % with a probability of {verdict.power.probability:g}; "
        f"all together they reject a correct sampler with a probability of {verdict.power.false_alarm:g}, by laws that many "
        "draws follow approximately (normal, chi-square)."
    )
    sheet = Sheet("Findings", ("What", "how", "holds", "found"), rows)
    return (
        PageSection("deep", "Deep verification", (Prose(held, "plain" if verdict.holds else "warning"), Prose(asked), sheet)),
    )


def _held(holds: bool | None) -> str:
    return {True: "yes", False: "NO, it fails", None: "not looked at"}[holds]


def _known_wheel() -> str:
    """Which wheel is meant, and where it comes from."""
    known = wheel_hash()
    compared = (
        "This page was made from a source tree: ask the publisher for the SHA-256 of the wheel, and compare it with the "
        "first line."
        if known is None
        else f"This page was made by the wheel whose SHA-256 is {known}, which the first line must print."
    )
    return (
        f"{compared} Install that file, and nothing by the name dp-designer from a package index: nobody owns the name there. "
        "The wheel can be built again from the source, the same to the byte: docs/guides/installing.md says how."
    )


def by_oneself(evidence: Evidence) -> PageSection:
    """The commands that repeat what this page says."""
    spec, release = shlex.quote(evidence.spec_name), evidence.release
    lines = [f"sha256sum {WHEEL}", f"python -m pip install ./{WHEEL}"]
    lines += [f"dp-designer verify {spec}", f"dp-designer verify --deep {spec}"]
    lines += [f"dp-designer verify {spec} {shlex.quote(release.name)}"] if release else []
    lines += [f"dp-designer ledger check {shlex.quote(evidence.ledger.name)}"] if evidence.ledger else []
    return PageSection(
        "check",
        "How to check it oneself",
        (
            Prose(f"With these files and the wheel {WHEEL}, on any computer with Python. {_known_wheel()}"),
            Typed(tuple(lines)),
            Prose("The fingerprint can be computed without this program:"),
            Typed((f"python3 -c {shlex.quote(FINGERPRINT)} {spec}",)),
            Prose(f"It must print {evidence.made.fingerprint}."),
        ),
    )
