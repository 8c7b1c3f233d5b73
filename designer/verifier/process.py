"""Run a second verifier, or a copy of it from outside the installation, as a process of its own."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

INSTALLED = Path(__file__).with_name("standalone.py")
EXIT = {"holds": 0, "does not hold": 4, "cannot check": 3}


class NoVerdict(ValueError):
    """The file that was run as a verifier answered with no verdict."""


def verify(file: Path, content: bytes, release: Path | None = None) -> tuple[str, list[str]]:
    """Run `file` on the bytes of a spec or ledger in a process of its own; `NoVerdict` where it gives no verdict."""
    command = [sys.executable, "-I", str(file.resolve()), "--json", "-", *([str(release.resolve())] if release else [])]
    ran = subprocess.run(command, input=content, capture_output=True, check=False)
    with suppress(ValueError, KeyError, TypeError):
        answer = json.loads(ran.stdout)
        if EXIT[answer["verdict"]] == ran.returncode:
            return answer["verdict"], [str(sentence) for sentence in answer["sentences"]]
    raise NoVerdict(f"exit code {ran.returncode}")
