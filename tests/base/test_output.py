"""What the program writes: whole or not at all, never over an input or a device, over a file only where that is asked for."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from designer import CannotWrite, InvalidProblem, Problem, Workload, compare, design, metrics, plot
from designer.base import output
from designer.base.output import checked_target, write_whole
from designer.cli import main
from designer.mechanism.release import Release

ROOT = Path(__file__).parents[2]
PROBLEM = """
[elements]
table = "towns.csv"
names = ["name"]
[workload]
columns = ["height"]
[relation]
metric = "matrix"
matrix = "distances.csv"
"""


@pytest.fixture(scope="module")
def made() -> object:
    return design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism


@pytest.fixture
def folder(tmp_path: Path, made, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "towns.csv").write_text("name,height\nA,1\nB,2\nC,4\n")
    (tmp_path / "distances.csv").write_text("0,1,1\n1,0,1\n1,1,0\n")
    (tmp_path / "problem.toml").write_text(PROBLEM)
    (tmp_path / "counts.csv").write_text("count\n5\n1\n0\n")
    (tmp_path / "other.json").write_text("kept")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.symlink("counts.csv", tmp_path / "link_to_counts")
    os.symlink("spec.json", tmp_path / "link_to_spec.md")
    os.link(tmp_path / "counts.csv", tmp_path / "second_name_of_counts")
    os.symlink("pipe", tmp_path / "link_to_pipe")
    made.save(tmp_path / "spec.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


RELEASE = ["release", "spec.json", "--histogram", "counts.csv", "-o"]
COMMANDS = {
    "design": ["design", "problem.toml", "--family", "laplace", "-o"],
    "compare": ["compare", "problem.toml", "--family", "laplace", "--plot"],
    "release": RELEASE,
    "sample": ["sample", "spec.json", "-n", "2", "-o"],
    "report": ["report", "spec.json", "-o"],
}
INPUTS = {
    "design": ["problem.toml", "towns.csv", "distances.csv", "./folder/../towns.csv"],
    "compare": ["problem.toml", "towns.csv"],
    "release": ["spec.json", "counts.csv", "link_to_counts", "second_name_of_counts"],
    "sample": ["spec.json"],
    "report": ["link_to_spec.md"],
}


def contents(folder: Path) -> dict[str, bytes | int]:
    return {path.name: path.read_bytes() if path.is_file() else stat.S_IFMT(path.lstat().st_mode) for path in folder.iterdir()}


def refused(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str], expected: int = 2) -> str:
    """The message of a command that must be refused, with everything as it was."""
    before = contents(folder)
    capsys.readouterr()
    code = main(arguments)
    told = capsys.readouterr()
    assert (code, told.out) == (expected, "")
    assert contents(folder) == before
    return told.err


@pytest.mark.parametrize(("command", "target"), [(c, t) for c, targets in INPUTS.items() for t in targets])
def test_an_input_is_never_replaced(command: str, target: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for force in ([], ["--force"]):
        assert "input" in refused([*COMMANDS[command], target, *force], folder, capsys)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("target", ["folder", "pipe", "link_to_pipe", "/dev/null", "/dev/stdout"])
def test_what_is_no_regular_file_is_never_replaced(
    command: str, target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder", "kept").write_text("kept")  # a release fills an empty folder with tables
    assert target in refused([*COMMANDS[command], target, "--force"], folder, capsys)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_is_replaced_only_by_force(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = {"compare": "other.png", "report": "other.md"}.get(command, "other.json")
    Path(target).write_text("kept")
    assert "--force" in refused([*COMMANDS[command], target], folder, capsys)
    assert main([*COMMANDS[command], target, "--force"]) == 0
    assert Path(target).read_bytes() not in (b"kept", b"")


@pytest.mark.parametrize("name", ["none/x.json", "other.json", "counts.csv", "x" * 300])
def test_nothing_is_drawn_before_the_target_is_known_to_be_good(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def spent(*_: object) -> Release:
        raise AssertionError("the budget was spent for a release that cannot be written")

    monkeypatch.setattr("designer.mechanism.additive.AdditiveMechanism.release", spent)
    refused([*RELEASE, name], folder, capsys)


def test_a_folder_that_takes_no_files_is_known_before_a_release(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may write anywhere, so the system call refuses in its place."""
    opened = os.open

    def read_only(path: object, flags: int, *rest: int, **named: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("designer.mechanism.additive.AdditiveMechanism.release", lambda *_: pytest.fail("spent"))
    monkeypatch.setattr(os, "open", read_only)
    assert "Permission denied" in refused([*RELEASE, "new.json"], folder, capsys, 11)


def test_the_mask_of_the_user_and_the_mode_of_a_replaced_file_are_kept(folder: Path, made) -> None:
    old = os.umask(0o077)
    try:
        made.save("private.json")
        os.umask(0o002)
        made.save("shared.json")
        os.chmod("private.json", 0o640)
        made.save("private.json")
    finally:
        os.umask(old)
    modes = {name: stat.S_IMODE(os.stat(name).st_mode) for name in ("private.json", "shared.json")}
    assert modes == {"private.json": 0o640, "shared.json": 0o664}


def test_the_file_and_its_folder_are_synced(folder: Path, made, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def noticed(handle: int) -> None:
        synced.append(stat.S_IFMT(os.fstat(handle).st_mode))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noticed)
    made.save("synced.json")
    assert synced == [stat.S_IFREG, stat.S_IFDIR]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_write_leaves_everything_as_it_was(
    step: str, failure: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise failure

    before = contents(folder)
    monkeypatch.setattr(os, step, fails)
    with pytest.raises((KeyboardInterrupt, CannotWrite)):
        write_whole(Path("other.json"), "new")
    assert contents(folder) == before


def test_a_file_that_appears_meanwhile_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(source: str, target: Path) -> None:
        Path("late.json").write_text("of somebody else")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(InvalidProblem, match="exists"):
        write_whole(Path("late.json"), "new", replace=False)
    assert Path("late.json").read_text() == "of somebody else"
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_a_folder_without_hard_links_serves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", unknown)
    assert write_whole(Path("new.json"), "new", replace=False).read_text() == "new"


def test_without_hard_links_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes when all is written and the name is to be given."""
    target = tmp_path / "new.json"

    def late(*_: object) -> None:
        target.write_text("of another")
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(InvalidProblem, match="exists; name another file"):
        write_whole(target, "new", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == ["new.json"] and target.read_text() == "of another"


def test_save_replaces_a_file_and_nothing_else(folder: Path, made) -> None:
    assert json.loads(made.save("other.json").read_text())["fingerprint"] == made.fingerprint
    os.symlink("other.json", "link")
    Path("other.json").write_text("old")
    made.save("link")
    assert Path("link").is_symlink() and json.loads(Path("other.json").read_text())["fingerprint"] == made.fingerprint
    for target in ("folder", "pipe", "link_to_pipe", "/dev/null", "none/x.json", "\0", "x" * 300, ""):
        with pytest.raises(InvalidProblem, match="path"):
            made.save(target)
    comparison = compare(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), ["laplace"])
    for target in ("/dev/null", "pipe.png/x.png", "picture", "picture.xyz"):
        with pytest.raises(InvalidProblem):
            plot(comparison, target)
    assert plot(comparison, "picture.png").read_bytes() == plot(comparison, "picture.png").read_bytes() != b""


def test_draws_are_saved_under_the_name_that_was_given(folder: Path) -> None:
    assert main(["sample", "spec.json", "-n", "3", "--seed", "1", "-o", "draws"]) == 0
    assert np.load("draws").shape == (3, 3)


def test_many_threads_that_save_leave_one_whole_file(folder: Path, made) -> None:
    threads = [threading.Thread(target=made.save, args=("other.json",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads(Path("other.json").read_text())["fingerprint"] == made.fingerprint
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_a_killed_program_leaves_the_target_alone(folder: Path) -> None:
    """Killed with the new file written and not yet moved: the worst moment."""
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom designer.base.output import write_whole\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nwrite_whole(Path('other.json'), 'new' * 10**6)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path("other.json").read_text() == "kept"


def test_targets_are_checked_without_a_trace(folder: Path) -> None:
    before = contents(folder)
    assert checked_target(Path("new.json"), inputs=[Path("counts.csv"), Path("absent")]) == folder / "new.json"
    assert contents(folder) == before
    assert output.__doc__
