#!/usr/bin/env bash
# The canonical JSON of a number is not what its reader canonicalises again.
#
# Guess before running: rfc8785.dumps is stable: a text that it wrote, parsed by json and written again, is the same text; floats and
# integers outside of what a double holds exactly are refused.
# Seen: the float 2.0 is written as 2, and 2.0**60 as 1152921504606847000 (both as ECMAScript has it). Python's json reads integers
# there; the first is stable, and the second is refused as an integer outside the safe domain. So a signature over a document with a
# float from 2**53 on can be made, and cannot be checked by who parses the document and canonicalises it.
# This program writes a float with a point or an exponent, so that every JSON reader of Python gives it back as a float.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rfc8785==0.1.4 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import json
from importlib.metadata import version

import rfc8785

outcomes = {}
for number in (2.0, 2.0**53, 2.0**60, 1e20, 1e21, 1e22):
    text = rfc8785.dumps(number)
    try:
        outcomes[number] = text.decode(), rfc8785.dumps(json.loads(text)) == text
    except rfc8785.CanonicalizationError as error:
        outcomes[number] = text.decode(), type(error).__name__
for number, (text, again) in outcomes.items():
    print(number, "->", text, "-> again:", again)
print("rfc8785", version("rfc8785"))
assert outcomes[2.0] == ("2", True) and outcomes[1e21][1] is True, "the behaviour has changed"
assert outcomes[2.0**60] == ("1152921504606847000", "IntegerDomainError"), "the behaviour has changed"
print("as stated")
PYTHON
