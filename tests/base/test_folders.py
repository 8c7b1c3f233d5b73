"""Folders appear whole or not at all, whatever stands there, fails, or comes between."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from designer import CannotWrite, InvalidProblem
from designer.base import output as folders
from designer.base.output import INDEX, checked_folder, names_folder, write_folder

ROOT = Path(__file__).parents[2]


def fill(folder: Path) -> Iterator[tuple[str, bytes]]:
    yield "a.csv", b"1\n"
    yield INDEX, json.dumps({"files": ["a.csv", "release.json"]}).encode()


def held(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def test_a_folder_is_meant_by_a_slash_or_by_being_one(tmp_path: Path) -> None:
    assert names_folder("new/") and names_folder(str(tmp_path)) and not names_folder(str(tmp_path / "new"))


def test_a_new_folder_and_an_empty_one_are_filled_and_nothing_is_left_beside(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        write_folder(tmp_path / name, fill)
        assert set(held(tmp_path / name)) == {"a.csv", INDEX}
    assert sorted(os.listdir(tmp_path)) == ["empty", "new"]


def test_a_folder_that_was_written_is_replaced_only_where_that_is_asked_for(tmp_path: Path) -> None:
    target = write_folder(tmp_path / "t", fill)
    with pytest.raises(InvalidProblem, match=r"exists; name another folder, or replace it with --force"):
        write_folder(target, fill)
    (target / "a.csv").write_text("older")
    write_folder(target, fill, replace=True)
    assert held(target)["a.csv"] == b"1\n" and os.listdir(tmp_path) == ["t"]


@pytest.mark.parametrize("strange", ["mine.txt", "folder"])
def test_what_somebody_else_put_into_a_folder_is_never_replaced(tmp_path: Path, strange: str) -> None:
    target = write_folder(tmp_path / "t", fill)
    (target / strange).mkdir() if strange == "folder" else (target / strange).write_text("kept")
    with pytest.raises(InvalidProblem, match=f"holds '{strange}', which this program did not write there"):
        write_folder(target, fill, replace=True)
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / "thesis.tex").write_text("kept")
    with pytest.raises(InvalidProblem, match=r"thesis.tex"):
        write_folder(tmp_path / "u", fill, replace=True)
    assert (target / strange).exists() and (tmp_path / "u" / "thesis.tex").read_text() == "kept"


def test_files_links_inputs_and_missing_parents_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    os.symlink("nowhere", tmp_path / "link")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "records.csv").write_text("x")
    with pytest.raises(InvalidProblem, match="is a file"):
        checked_folder(tmp_path / "file")
    with pytest.raises(InvalidProblem, match="create it first"):
        checked_folder(tmp_path / "missing" / "t")
    with pytest.raises(InvalidProblem, match="holds an input"):
        checked_folder(tmp_path / "data", inputs=[tmp_path / "data" / "records.csv"], replace=True)
    with pytest.raises(InvalidProblem, match="path: "):
        checked_folder(Path("/"))
    assert checked_folder(tmp_path / "link") == tmp_path / "nowhere"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_takes_nothing_is_refused_before(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidProblem, match="takes no new folder"):
        checked_folder(tmp_path / "t")
    tmp_path.chmod(0o700)


def test_a_parent_that_takes_no_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *rest: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CannotWrite, match=r"takes no new folder \(Read-only file system\)"):
        checked_folder(tmp_path / "t")


@pytest.mark.parametrize("replace", [False, True])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool) -> None:
    target = tmp_path / "t"
    if replace:
        write_folder(target, fill)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders.os, "fsync", full)
    with pytest.raises(CannotWrite, match=r"was not written \(No space left on device\); nothing was left there"):
        write_folder(target, fill, replace=replace)
    assert os.listdir(tmp_path) == (["t"] if replace else [])
    assert not replace or held(target)["a.csv"] == b"1\n"


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> Iterator[tuple[str, bytes]]:
        yield "a.csv", b"1\n"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "t", interrupted)
    assert os.listdir(tmp_path) == []


def test_a_rename_that_fails_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write_folder(tmp_path / "t", fill)
    rename, calls = os.rename, []

    def second_fails(source: object, destination: object) -> None:
        calls.append(destination)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        rename(source, destination)  # type: ignore[arg-type]

    monkeypatch.setattr(folders.os, "rename", second_fails)
    with pytest.raises(InvalidProblem, match="path: "):
        write_folder(target, fill, replace=True)
    assert set(held(target)) == {"a.csv", INDEX} and os.listdir(tmp_path) == ["t"]


def test_of_many_writers_at_once_one_writes_and_all_others_are_told(tmp_path: Path) -> None:
    told: list[str] = []

    def write(number: int) -> None:
        def own(folder: Path) -> Iterator[tuple[str, bytes]]:
            for name in ("a.csv", "b.csv"):
                yield name, str(number).encode()

        try:
            write_folder(tmp_path / "t", own)
        except InvalidProblem as refusal:
            told.append(str(refusal))
        else:
            told.append("")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told.count("") == 1 and all("exists" in text for text in told if text)
    assert len(set(held(tmp_path / "t").values())) == 1 and os.listdir(tmp_path) == ["t"]


def test_a_folder_that_appears_while_one_is_asked_for_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Path.is_dir

    def appearing(self: Path) -> bool:
        there = asked(self)
        if self == tmp_path / "t" and not there:
            self.mkdir()
            (self / "a.csv").write_bytes(b"1")
        return there

    monkeypatch.setattr(Path, "is_dir", appearing)
    try:
        write_folder(tmp_path / "t", lambda folder: iter([("a.csv", b"2")]))
    except InvalidProblem as refusal:
        assert "is a file" not in str(refusal) and "exists" in str(refusal)


SLOW = """
import sys, time
from pathlib import Path
from designer.base.output import write_folder

def fill(folder):
    for k in range(1000):
        yield f"{k}.csv", b"x" * 1000
        print(k, flush=True)
        time.sleep(0.01)

write_folder(Path(sys.argv[1]), fill)
"""


def test_a_killed_process_shows_no_folder(tmp_path: Path) -> None:
    running = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path / "t")], cwd=ROOT, stdout=subprocess.PIPE)
    assert running.stdout is not None and running.stdout.readline() == b"0\n"
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "t").exists() and all(name.startswith(".") for name in os.listdir(tmp_path))
    write_folder(tmp_path / "t", fill)


def test_what_somebody_else_puts_there_while_a_folder_is_filled_is_kept(tmp_path: Path) -> None:
    target = write_folder(tmp_path / "t", fill)

    def with_a_guest(made: Path) -> Iterator[tuple[str, bytes]]:
        (target / "mine.txt").write_text("kept")
        yield from fill(made)

    with pytest.raises(InvalidProblem, match=r"holds 'mine\.txt', which this program did not write there"):
        write_folder(target, with_a_guest, replace=True)
    assert (target / "mine.txt").read_text() == "kept" and os.listdir(tmp_path) == ["t"]
