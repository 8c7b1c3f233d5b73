"""What is installed, what each extra would add, and how to get what is missing: doctor."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from threading import Timer
from typing import Any

from designer.base.display import printed
from designer.base.progress import track
from designer.base.version import VERSION, installed_from
from designer.cli import environment_checks as probes
from designer.cli.environment_checks import BROKEN, MISSING, OK

# What dp-designer asks of a machine, and what is there: packages and their ranges, solvers, random bits, Java.


OUTSIDE = "outside"  # there, but of another version than was asked for
NAME = "dp-designer"
RELEASES, FRAMES, DESIGNS = "every release", "data frames", "designs"
WITHOUT_EXTRA = (RELEASES, FRAMES, DESIGNS)
# What releases and data frames need; of the dependencies, the others serve designs.
SERVES = {"numpy": RELEASES, "scipy": RELEASES, "python-flint": RELEASES, "narwhals": FRAMES}
ADDS = {
    RELEASES: "loading, verifying and releasing",
    FRAMES: "counts and answers as frames of pandas, polars or Arrow",
    DESIGNS: "designing new mechanisms",
    "solvers": 'HiGHS beside the solvers that CVXPY brings, for solver = "HIGHS"',
    "hull": 'a second hull by cdd, which checks small ones of programs.hull by itself, and backend = "cdd"',
    "plot": "pictures (--plot)",
    "parquet": "Parquet files",
    "xlsx": "tables of a release as an Excel workbook",
    "files": "records of SPSS, Stata, SAS and Excel",
    "progress": "progress bars",
    "tables": "releases from tables of records (--table), by Ibis and DuckDB",
    "spark": "the same tables on Spark; needs Java as well",
    "signing": "signatures (keys, sign, verify --signer)",
    "postgres": 'a ledger in PostgreSQL, Ledger("postgresql://...")',
    "report": "reports as HTML pages",
    "opendp": "measurements of OpenDP",
}
NO_EXTRAS = ("all", "docs", "dev")  # all of them together; what the site and developers need
MODULES = {
    "python-flint": "flint",
    "pycddlib-standalone": "cdd",
    "ibis-framework": "ibis",
    "Jinja2": "jinja2",
    "PyYAML": "yaml",
    "python-calamine": "python_calamine",
}
BUILT_OTHERWISE = {"pycddlib-standalone": "pycddlib"}  # the same module, from another distribution
OLDEST_JAVA = 17
GET_JAVA = f"install a JDK, {OLDEST_JAVA} or later, or set JAVA_HOME to one; nothing but Spark needs it"
PATIENCE = 120.0  # seconds until a trial counts as hanging
Requirement = tuple[str, str]  # of a distribution: its name and the range of versions


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked for. state: "ok", "missing", "broken" or "outside" the range that is asked for.

    purpose: what it serves, an extra or "every release" or "designs". asked: the range of versions. words: what was seen.
    remedy: how to get it, where something is to be done.
    """

    name: str
    purpose: str
    state: str
    version: str = ""
    asked: str = ""
    words: str = ""
    remedy: str = ""

    @property
    def breaks(self) -> bool:
        """Is something needed broken? Who releases what was made elsewhere needs no designs and no frames."""
        return self.purpose in WITHOUT_EXTRA and (self.state == BROKEN or (self.purpose, self.state) == (RELEASES, MISSING))


def requirements() -> dict[str, list[Requirement]]:
    """What is asked for, by purpose: of the source tree where the package lies in one, otherwise of the installed package."""
    source = Path(__file__).parents[2] / "pyproject.toml"
    if source.is_file():
        project = tomllib.loads(source.read_text(encoding="utf-8"))["project"]
        extras = {
            name: [_requirement(entry) for entry in entries] for name, entries in project["optional-dependencies"].items()
        }
        return _by_purpose([_requirement(entry) for entry in project["dependencies"]], extras)
    needed: list[Requirement] = []
    asked: dict[str, list[Requirement]] = {}
    for entry in metadata.requires(NAME) or []:
        text, _, marker = entry.partition(";")
        extra = re.search(r"extra == ['\"](.+?)['\"]", marker)
        (asked.setdefault(extra[1], []) if extra else needed).append(_requirement(text))
    return _by_purpose(needed, asked)


def _by_purpose(needed: list[Requirement], extras: dict[str, list[Requirement]]) -> dict[str, list[Requirement]]:
    own = {purpose: [entry for entry in needed if SERVES.get(entry[0], DESIGNS) == purpose] for purpose in WITHOUT_EXTRA}
    # What one extra asks of another is listed there.
    chosen = {name: [entry for entry in asked if entry[0] != NAME] for name, asked in extras.items() if name not in NO_EXTRAS}
    return {**own, **chosen}


def installing(module: str) -> str:
    """What to give to `pip install` for a module that is not there: where this was installed from with the extra, or the
    package itself where it needs none.

    >>> installing("cryptography.hazmat").endswith("[signing]")
    True
    """
    for purpose, entries in requirements().items():
        for name, asked in entries:
            if _module(name) == module.split(".")[0]:
                return _got_by(name, asked, purpose)
    return f"{installed_from()}[all]"


def _got_by(name: str, asked: str, purpose: str) -> str:
    return f"{name}{asked}" if purpose in WITHOUT_EXTRA else f"{installed_from()}[{purpose}]"


def _requirement(text: str) -> Requirement:
    """The name and the range of an entry such as `ibis-framework[duckdb]>=12,<13`."""
    match = re.match(r"\s*([A-Za-z0-9._-]+)(?:\[.*?\])?(.*)", text)
    return (match[1], match[2].strip()) if match else (text, "")


def fits(version: str, asked: str) -> bool:
    """Whether a version lies in a range; of both, the numbers before any letter are compared.

    >>> fits("2.10.1", ">=1.26,<3"), fits("12.0", "<12,>=1"), fits("3", ">=3.0")
    (True, False, True)
    """
    return all(_keeps(version, *part) for part in re.findall(r"(>=|<=|<|>|==)\s*([0-9.]+)", asked))


def _keeps(version: str, sign: str, limit: str) -> bool:
    """Whether a version keeps one limit."""
    pairs = list(zip_longest(_numbers(version), _numbers(limit), fillvalue=0))
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return {">=": left >= right, "<=": left <= right, "<": left < right, ">": left > right, "==": left == right}[sign]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", re.split(r"[^0-9.]", version)[0])]


def found_here() -> list[Diagnosis]:
    """Everything that was looked for, each by a trial of its own; whatever fails is part of the answer."""
    asked = requirements()
    modules = [_module(name) for entries in asked.values() for name, _ in entries]
    states = trials([*dict.fromkeys(modules), *probes.TRIALS])
    packages = [_package(name, purpose, limits, states) for purpose, entries in asked.items() for name, limits in entries]
    trial = [_trial(name, purpose, states) for name, purpose in OF_TRIALS.items() if _worth(name, states)]
    return [*packages, *trial, java()]


OF_TRIALS = {
    "entropy": RELEASES,
    "exact arithmetic": RELEASES,
    "a whole release": DESIGNS,
    "solvers of CVXPY": DESIGNS,
    "arithmetic of cdd": "hull",
}


def _worth(name: str, states: dict[str, tuple[str, str]]) -> bool:
    """What a missing package decides is not said twice."""
    return not (states[name][0] == MISSING and name in ("solvers of CVXPY", "arithmetic of cdd"))


def _module(name: str) -> str:
    return MODULES.get(name, name.replace("-", "_").lower())


def _package(name: str, purpose: str, asked: str, states: dict[str, tuple[str, str]]) -> Diagnosis:
    """What became of the import of one package."""
    state, words = states[_module(name)]
    version = "" if state == MISSING else version_of(name)
    if state == OK and version and not fits(version, asked):
        state, words = OUTSIDE, f"dp-designer was tried with {asked}"
    get = f'pip install {"--force-reinstall " if state == BROKEN else ""}"{_got_by(name, asked, purpose)}"'
    return Diagnosis(
        name,
        purpose,
        state,
        version,
        asked,
        words,
        "" if state == OK else get,
    )


def version_of(name: str) -> str:
    """The version of a distribution; nothing where none of that name is installed."""
    for known in (name, BUILT_OTHERWISE.get(name, name)):
        try:
            return metadata.version(known)
        except Exception:  # none of that name, or records of it that cannot be read
            continue
    return ""


def _trial(name: str, purpose: str, states: dict[str, tuple[str, str]]) -> Diagnosis:
    state, words = states[name]
    remedies = {
        "entropy": "nothing may be released here until the operating system's generator works",
        "exact arithmetic": 'pip install --force-reinstall "python-flint"',
    }
    return Diagnosis(
        name, purpose, state, words=words, remedy="" if state == OK else remedies.get(name, "see the packages above")
    )


def trials(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """State and words of each module or trial, from interpreters of their own: where one ends early,
    what it was at is broken, and another goes on behind it."""
    return {name: (state, words) for name, state, words in track(_tried_in_turn(names), "trying what is installed")}


def _tried_in_turn(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    left = list(names)
    while left:
        ended = yield from _until_it_ends(left)
        if left:
            yield left.pop(0), BROKEN, ended


def _until_it_ends(left: list[str]) -> Generator[tuple[str, str, str], None, str]:
    """What one interpreter finds of the names that are left, which it is taken from; returns how it ended."""
    command = [sys.executable, "-P", str(Path(probes.__file__)), *left]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.curdir for entry in sys.path)}
    try:
        process = subprocess.Popen(command, env=path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError as error:
        return f"no interpreter could be started to try it ({error.strerror})"
    clock = Timer(PATIENCE, process.kill)
    clock.start()
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            left.remove(told["name"])
            yield told["name"], told["state"], told["words"]
    hung = not clock.is_alive()
    clock.cancel()
    return f"its trial took longer than {PATIENCE:g} seconds" if hung else _ending(process.returncode)


def _ending(code: int) -> str:
    return f"its trial ended the interpreter ({f'signal {-code}' if code < 0 else f'exit code {code}'})"


def java() -> Diagnosis:
    """The Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if program is None:
        where = "JAVA_HOME has none" if home else "there is none on the path"
        return Diagnosis("Java", "spark", MISSING, asked=f">={OLDEST_JAVA}", words=where, remedy=GET_JAVA)
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return Diagnosis("Java", "spark", BROKEN, asked=f">={OLDEST_JAVA}", words=f"{program}: {error}", remedy=GET_JAVA)
    match = re.search(r'version "([0-9.]+)', told)
    if match is None:
        return Diagnosis(
            "Java", "spark", BROKEN, asked=f">={OLDEST_JAVA}", words=f"{program} -version says none", remedy=GET_JAVA
        )
    fitting = fits(match[1], f">={OLDEST_JAVA}")
    return Diagnosis(
        "Java", "spark", OK if fitting else OUTSIDE, match[1], f">={OLDEST_JAVA}", program, "" if fitting else GET_JAVA
    )


SICK = 8  # the exit code where something needed is broken
MARKS = {"ok": "ok", "missing": "--", "broken": "!!", "outside": "??"}


def add_doctor(made: argparse.ArgumentParser) -> None:
    """doctor."""
    made.set_defaults(run=_doctor, exit_code=lambda data: 0 if data["healthy"] else SICK)


def _doctor(options: argparse.Namespace) -> tuple[str, Any]:
    machine = {
        "dp_designer": VERSION,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }
    found = found_here()
    healthy = not any(entry.breaks for entry in found)
    return "\n".join(_lines(machine, found)), {
        **machine,
        "healthy": healthy,
        "purposes": {purpose: ADDS.get(purpose, "") for purpose in _purposes(found)},
        "found": [asdict(entry) for entry in found],
    }


def _purposes(found: Sequence[Diagnosis]) -> list[str]:
    return list(dict.fromkeys(entry.purpose for entry in found))


def _lines(machine: dict[str, str], found: Sequence[Diagnosis]) -> list[str]:
    """The findings by purpose, and what they come to."""
    lines = [f"dp-designer {machine['dp_designer']}, {machine['python']}, {machine['system']}"]
    absent = _absent(found)
    for purpose in _purposes(found):
        if purpose not in absent:
            lines += ["", _heading(purpose)]
            lines += [line for entry in found if entry.purpose == purpose for line in _of_one(entry)]
    if absent:
        lines += ["", "Not installed, and needed for nothing above:"]
        lines += [
            line for name in absent for line in (f"  {name:<12} {ADDS.get(name, '')}", f"  {'':<12} {_remedy(name, found)}")
        ]
    return [*lines, "", _verdict(found)]


def _absent(found: Sequence[Diagnosis]) -> list[str]:
    """The extras that nobody asked for: no package that is theirs alone is there."""
    shared = [entry.name for entry in found]
    own = {
        purpose: [entry for entry in found if entry.purpose == purpose and shared.count(entry.name) == 1]
        for purpose in _purposes(found)
        if purpose not in WITHOUT_EXTRA
    }
    return [
        name
        for name, entries in own.items()
        if entries and all(entry.state == MISSING or entry.name == "Java" for entry in entries)
    ]


def _remedy(purpose: str, found: Sequence[Diagnosis]) -> str:
    """How to get an extra."""
    return next((entry.remedy for entry in found if entry.purpose == purpose and entry.remedy), "")


def _heading(purpose: str) -> str:
    title = f"For {purpose}" if purpose in WITHOUT_EXTRA else f"Extra {purpose}"
    return f"{title}: {ADDS[purpose]}" if ADDS.get(purpose) else title


def _of_one(entry: Diagnosis) -> list[str]:
    """What was found, and below it how to mend it."""
    parts = [part for part in (entry.version, entry.words) if part]
    state = "" if entry.state == OK else f"{entry.state if entry.state != 'outside' else 'outside the range'}: "
    line = f"  {MARKS[entry.state]} {entry.name:<20} {state}{printed('; '.join(parts)) if parts else ''}".rstrip(": ")
    return [line, *([f"     {'':<20} {entry.remedy}"] if entry.remedy else [])]


def _verdict(found: Sequence[Diagnosis]) -> str:
    broken = [entry.name for entry in found if entry.breaks]
    if broken:
        return f"Broken, and needed: {', '.join(broken)}."
    absent = _absent(found)
    lacking = [
        name
        for name in _purposes(found)
        if name not in absent and any(entry.purpose == name and entry.state != OK for entry in found)
    ]
    return "Everything that is needed works." + (f" Not complete: {', '.join(lacking)}." if lacking else "")
