"""pytest in forks of a process that has imported what no mutant changes: most of the time of a short test.

`python -m tests.mutation.forks`, run in a copy of the project, reads from its input one request a line, tests and a limit in
seconds, and answers each by a line: the exit code of pytest (null when it was stopped), what it printed, and the seconds.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

OPTIONS = (
    "-x",
    "--tier",
    "-q",
    "-n",
    "0",
    "-p",
    "no:cacheprovider",
    "-p",
    "tests.mutation.unshrunk",
    "-rfE",
    "--tb=line",
    "--no-header",
)
SHARED = (
    "pytest",
    "xdist.plugin",
    "hypothesis",
    "numpy",
    "flint",
    "scipy.spatial.distance",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
)
POLLED = 0.02  # seconds between two looks at a fork
MEMORY = 8 << 30  # bytes of address space: a broken loop may ask for all


@dataclass(frozen=True)
class Ran:
    """A run of pytest: its exit code, None when it was stopped at its limit; what it printed; its seconds."""

    code: int | None
    text: str
    seconds: float


class Forks:
    """The process in a copy of the project at `tree`, asked for runs of tests."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.mutation.forks"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=tree, env=environment, text=True, **pipes)  # type: ignore[call-overload]

    def run(self, tests: Sequence[str], limit: float) -> Ran:
        """pytest over `tests` as the copy is now, stopped, and all that it started, after `limit` seconds."""
        self.process.stdin.write(json.dumps({"tests": list(tests), "limit": limit}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(
                f"the process that forks for {self.tree} ended with {self.process.wait()}, perhaps for want of memory."
            )
        return Ran(**json.loads(answer))

    def close(self) -> None:
        """The process ends when its input does."""
        self.process.stdin.close()
        self.process.wait()


def answered(tests: Sequence[str], limit: float) -> Ran:
    """pytest in a fork."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if not child:
            _in_fork(tests, output)
        code = None
        while code is None and time.monotonic() - started < limit:
            done, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if done else None
            time.sleep(POLLED)
        if code is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        output.seek(0)
        return Ran(code, output.read().decode(errors="replace"), time.monotonic() - started)


def _in_fork(tests: Sequence[str], output: BinaryIO) -> None:
    """Never returns: a process group of its own, with its output in a file."""
    code = 3
    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = int(import_module("pytest").main([*OPTIONS, *tests]))
        sys.stdout.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Answers requests until there are no more."""
    for name in SHARED:
        import_module(name)
    for request in sys.stdin:
        print(json.dumps(vars(answered(**json.loads(request)))), flush=True)


if __name__ == "__main__":
    main()
