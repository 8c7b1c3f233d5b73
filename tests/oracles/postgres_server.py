"""A PostgreSQL server of its own for tests: in a new folder, reached by a socket there, stopped and removed afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = ("initdb", "pg_ctl", "postgres")


def programs() -> Path | None:
    """The folder with the programs of a server: that of the path, or of Debian's newest; None where there is none."""
    folders = [Path(found).parent for name in ("pg_ctl",) if (found := shutil.which(name))]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda f: int(f.parent.name), reverse=True)
    return next((folder for folder in folders if all((folder / name).exists() for name in NEEDED)), None)


class Server:
    """A running server. address: of its database."""

    def __init__(self, folder: Path, own: Path, user: str | None) -> None:
        self.folder, self.own, self.user = folder, own, user
        self.address = f"postgresql://ledger@/postgres?host={own}"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs, as a user who is not root."""
        subprocess.run(
            [self.folder / program, "-D", self.own / "data", *arguments],
            user=self.user, cwd=self.own, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.run("pg_ctl", "-w", "-l", str(self.own / "log"), "-o", f"-k {self.own} -c listen_addresses=''", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `immediate` as a crash does."""
        self.run("pg_ctl", "-w", "-m", mode, "stop")


@contextmanager
def running() -> Iterator[Server]:
    """A new server; root hands it to the user `postgres`, or `nobody`, because it refuses to run as root."""
    folder = programs()
    assert folder is not None
    user = None
    if os.geteuid() == 0:
        user = "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"
    own = Path(tempfile.mkdtemp(prefix="pg"))
    if user is not None:
        shutil.chown(own, user)
    server = Server(folder, own, user)
    try:
        server.run("initdb", "-A", "trust", "-U", "ledger", "-N")
        server.start()
        yield server
        server.stop("immediate")
    finally:
        shutil.rmtree(own, ignore_errors=True)
