"""Breaks of releases as files and of signatures: what was altered, is of another spec or of another key, and passes."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        "designer/files/releases.py",
        '    if given["seal"] != seal(given):\n',
        '    if len(given["seal"]) != 64:\n',
        "the seal of a release is not compared",
        ("tests/files/test_releases.py::test_every_alteration_is_found_by_the_seal",),
    ),
    Mutant(
        "designer/files/releases.py",
        "    _compare(given, _proven(mechanism, given, rebuilt))\n",
        "",
        "what a release says is not compared with its spec",
        ("tests/files/test_releases.py::test_a_forger_with_a_fresh_seal_is_found_out_unless_the_mechanism_could_have_made_it",),
    ),
    Mutant(
        "designer/files/releases.py",
        "    if released.fingerprint != mechanism.fingerprint:\n",
        "    if False:\n",
        "a release is written for a mechanism that did not make it",
        ("tests/files/test_releases.py::test_a_release_of_another_mechanism_is_not_written",),
    ),
    Mutant(
        "designer/files/releases.py",
        '    if not is_utc_text(given["time"]):\n',
        "    if False:\n",
        "the time of a release may be anything",
        ("tests/files/test_releases.py::test_times_that_are_none_are_refused",),
    ),
    Mutant(
        "designer/files/signatures.py",
        "return hashlib.sha256(canonical_text(dict(content))).hexdigest()",
        "return hashlib.sha256(canonical_text(sorted(content))).hexdigest()",
        "what is signed is the keys of a file, not what they hold",
        ("tests/files/test_signatures.py::test_the_form_of_a_file_does_not_matter_but_its_content_does",),
    ),
    Mutant(
        "designer/files/signatures.py",
        "& 0o077:",
        "& 0o007:",
        "a private key may be read by a group",
        ("tests/files/test_signatures.py::test_a_private_key_is_its_owners_alone",),
    ),
)
