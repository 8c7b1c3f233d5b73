"""Fuzzing of spec files and problem files: `python -m tests.oracles.fuzz_files --cases 100000 [--seed 1] [--workers 2]`.

A case alters one to three places of a spec of any format (its core mostly; its claims, its shape and its bytes as well), seals
it anew and loads it, or alters a problem file, reads it and designs what it says. Every case must end in a refusal
(`InvalidSpec`, `NotPrivate`, `InvalidProblem`, `DesignFailed`) or in a mechanism that keeps the promise of its file by the
recomputation in `promises.py`, which shares no formula with the package; within 10 s and 2 GB of address space beyond the
start. Prints a line for each failure, then the counts.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from datetime import date
from functools import cache, partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from designer import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate, design, load, read_problem
from designer.base.json_text import plain
from designer.certificate.frozen import FrozenMechanism, to_spec
from designer.cli import main
from tests.files.test_spec import changed, delete, double, get, leaves, mechanisms, put, resealed
from tests.files.test_spec_formats import core_edits, refused_or_loaded
from tests.oracles.additive_promises import additive
from tests.oracles.lazy import Lazy
from tests.oracles.promises import LOSSES, keeps_tradeoff
from tests.oracles.spec_specimens import specimens
from tests.problem_file.test_problem_file import DOMAIN, ELEMENTS, GOOD, IDENTITY, TABLE
from tests.problem_file.test_relation_file import GOOD as RELATIONS
from tests.problem_file.test_relation_file import HEAD
from tests.problem_file.test_relation_file import TABLE as PLACES

SECONDS = 10
MEMORY = 2 << 30
LONGEST = 6000  # characters of a message
ORACLES = {"dp-designer/mechanism": additive, **LOSSES}
REFUSALS = (InvalidSpec, NotPrivate, InvalidProblem, DesignFailed)


class TooLong(BaseException):
    """Raised by the alarm; not an `Exception`, so that nothing swallows it."""


def overdue(*_: object) -> None:
    raise TooLong


@cache
def subjects() -> Lazy[FrozenMechanism]:
    """The mechanisms whose specs are altered: every format, every kind of part, every norm, sparse and dense queries."""
    others = {f"{name} by norm or name": partial(mechanisms().__getitem__, name) for name in mechanisms()}
    return Lazy({name: partial(specimens().__getitem__, name) for name in specimens()} | others)


def with_one_place_altered(spec: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Mostly in its core."""
    inside = "mechanism" if dice.random() < 0.8 else dice.choice(sorted(set(spec) - {"seal"}))
    paths = [path for path in leaves(spec[inside]) if path] if isinstance(spec.get(inside), (dict, list)) else []
    if not paths:
        return spec
    path = dice.choice(paths)
    value = get(spec[inside], path)
    if isinstance(value, int) and abs(value) > 2**1000:  # altered before, and no edit scales it
        return spec
    return changed(spec, (inside, *path), dice.choice(core_edits(value)))


def altered_spec(name: str, dice: random.Random) -> bytes:
    """A spec with one to three places altered, and sealed anew."""
    spec = json.loads(json.dumps(plain(to_spec(subjects()[name]))))
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        spec = with_one_place_altered(spec, dice)
    try:
        text = json.dumps(resealed(spec), ensure_ascii=dice.random() < 0.5)
        data = text.encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError):  # not JSON any more: infinite numbers, cycles
        return b"{}"
    return damaged(data, dice) if dice.random() < 0.05 else data


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Bytes cut, doubled or replaced."""
    at = dice.randrange(len(data))
    return dice.choice([data[:at], data[at:], data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :], data[:at] + data])


def load_case(folder: Path, dice: random.Random) -> str:
    """One spec, loaded; what it promises, recomputed. Where only its claims are refused, it is judged with the right ones."""
    data = altered_spec(dice.choice(sorted(subjects())), dice)
    path = folder / "s.json"
    path.write_bytes(data)
    try:
        made, outcome = load(path, allow_vacuous=dice.random() < 0.5), "loaded"
    except REFUSALS:
        made, outcome = rebuilt(folder, data), "core accepted under other claims"
        if made is None:
            raise
    return judged(made, outcome)


def judged(made: Any, outcome: str) -> str:
    """The outcome, once the promise is recomputed; AssertionError for an over-claim."""
    core = json.loads(json.dumps(plain(made.core())))
    assert made.privacy.holds and made.guarantee.to_text()
    if made.format == "dp-designer/odds-ratio-test":
        assert keeps_tradeoff(core["tradeoff"], made.law.cdf), "an over-claim"
    loss = ORACLES.get(made.format, lambda core: None)(core)
    ratio = min(1.0, float(getattr(made.privacy, "worst_ratio", None) or 0))
    assert loss is None or loss <= ratio * (1 + 1e-6) + 1e-9, f"an over-claim: {loss!r} where {ratio!r} is proven"
    assert loss != 0 or ratio > 0 or made.vacuous, "hides nothing, and does not say so"
    return f"{outcome}{'' if loss is None else ', recomputed'}"


def rebuilt(folder: Path, data: bytes) -> Any:
    """What a file would load as with the claims that its core proves; None where the core itself is refused."""
    try:
        spec = json.loads(data)
        return refused_or_loaded(folder, spec) if isinstance(spec, dict) and "mechanism" in spec else None
    except (ValueError, RecursionError, *REFUSALS):
        return None


TEXTS = ["", "x", "café", "a\nb", "inf", "../x", "/dev/null", "age", "sex", "lat"]
NUMBERS = [0, -1, 1, 2, 1e-9, 1e9, 1e300, 5e-324, 2**31, 2**53, 2**63, 10**30]
QUICK = {
    "pure": ("laplace", "laplace", "laplace", "strategy_3", "k_norm", "box", "ellipsoid"),
    "zcdp": ("diagonal_gaussian", "gaussian", "l2_ball"),
}
OTHERS: list[Any] = [True, False, [], {}, [1], ["x"], [[1.0]], {"a": 1}, float("inf"), float("nan"), *TEXTS, *NUMBERS]


def toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, (bool, date)):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else repr(value)


def problem_text(data: dict[str, Any]) -> str:
    """A problem file in TOML: plain values first, a section for each table."""
    lines = [f"{key} = {toml(value)}" for key, value in data.items() if not isinstance(value, dict)]
    for key, value in data.items():
        if isinstance(value, dict):
            lines += [f"[{json.dumps(key)}]", *(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items())]
    return "\n".join(lines) + "\n"


CELLS = DOMAIN.replace("3", "2") + '[workload]\nbuilder = "identity"\n[relation]\nepsilon = 0.5\n'
PROBLEMS = [
    *(text for text, _, _ in GOOD.values()),
    *(HEAD + text for text, _ in RELATIONS.values()),
    CELLS + '[invariant]\nmargins = [["sex"], ["age"]]\nadjacency = 2\n',
    CELLS.replace("epsilon", "mu") + '[invariant]\ntotal = true\n[problem]\nnotion = "zcdp"\n',
    CELLS + 'per_distance = "l2"\n[invariant]\ntotal = true\n[design]\nfamily = "lattice_laplace"\nshape = "l2"\n',
    ELEMENTS + IDENTITY + '[relation]\nepsilon = 0.5\n[invariant]\npartition = "state"\n',
    IDENTITY + '[relation]\nmetric = "uniform"\nepsilon = 1\n[invariant]\nmatrix = "rows.csv"\nadjacency = 2\n',
]


def altered_problem(dice: random.Random) -> bytes:
    """A good problem file with one to three places altered, or a section of another one put in."""
    import tomllib

    parsed = [tomllib.loads(text) for text in PROBLEMS]
    data = dice.choice(parsed)
    for _ in range(dice.choice([1, 1, 2, 3])):
        if dice.random() < 0.25:
            other = dice.choice(parsed)
            section = dice.choice(sorted(other))
            data = {**data, section: other[section]}
            continue
        path = dice.choice([path for path in leaves(data) if path])
        edit: Callable[[Any, Any], None] = dice.choice([delete, double, *(put(value) for value in OTHERS)])
        data = changed(data, path, edit)
    text = problem_text(data).encode("utf-8", "surrogatepass")
    return damaged(text, dice) if dice.random() < 0.05 else text


def problem_case(folder: Path, dice: random.Random) -> str:
    """One problem file, read, and designed by a quick family; every tenth by the command line."""
    path = folder / "problem.toml"
    path.write_bytes(altered_problem(dice))
    if dice.random() < 0.1:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
            code = main(["show", str(path)])
        assert code in (0, 2, 3, 4) and "Traceback" not in errors.getvalue(), f"exit code {code}"
        return f"command line, exit code {code}"
    return judged(designed(path, dice.random()), "designed")


def designed(path: Path, which: float = 0.0) -> Any:
    """By the family of the file where that is for tables with invariants,
    elsewhere by a quick one: the first for `which` = 0."""
    file = read_problem(path)
    if str(file.family).startswith("lattice"):
        return design(file.problem, file.family, **file.options).mechanism
    families = QUICK[file.problem.notion]
    return design(file.problem, families[int(which * len(families))]).mechanism


def tried(number: int, kind: str) -> str:
    """The outcome of one case; whatever goes wrong is raised."""
    dice = random.Random(number)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        if kind == "spec":
            return load_case(folder, dice)
        prepare(folder)
        return problem_case(folder, dice)


def one(case: tuple[int, str]) -> tuple[str, str, float]:
    """The outcome of one case, its failure in words, its seconds."""
    start = time.perf_counter()
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(SECONDS)
    try:
        outcome, failure = tried(*case), ""
    except REFUSALS as refusal:
        length = len(str(refusal))
        outcome, failure = f"refused: {type(refusal).__name__}", f"a message of {length} characters" if length > LONGEST else ""
    except TooLong:
        outcome, failure = "failed", f"more than {SECONDS} s"
    except BaseException as error:  # panics of compiled code and exits are no `Exception`
        outcome, failure = "failed", f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    return outcome, failure, time.perf_counter() - start


def prepare(folder: Path) -> None:
    """The files that the good problem files name."""
    (folder / "cities.csv").write_text(TABLE)
    (folder / "t.csv").write_text(PLACES)
    (folder / "edges.csv").write_text("0,1,1\n1,2,0.5\n")
    (folder / "q.csv").write_text("a,b,c\n1,0,2\n0,1,0.5\n")
    (folder / "plain.csv").write_text("1,0,2\n0,1,0.5\n")
    np.save(folder / "q.npy", np.array([[1.0, 0, 2], [0, 1, 0.5]]))
    (folder / "rows.csv").write_text("1,1,0\n")
    (folder / "d.csv").write_text("0,1,2\n1,0,1\n2,1,0\n")
    (folder / "open.csv").write_text("0,1,9\n1,0,1\n9,1,0\n")


def start_worker() -> None:
    """Make the mechanisms once, then allow so much more memory."""
    subjects()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def run(cases: int, seed: int, workers: int) -> tuple[Counter[str], list[str], float]:
    """Counts of outcomes, failures in words, the longest case in seconds; a fifth of the cases are problem files."""
    dice = random.Random(seed)
    listed = [(seed * 10**9 + k, "problem" if dice.random() < 0.2 else "spec") for k in range(cases)]
    counts: Counter[str] = Counter()
    failures, longest = [], 0.0
    with ProcessPoolExecutor(workers, get_context("spawn"), start_worker) as pool:
        for case, (outcome, failure, seconds) in zip(listed, pool.map(one, listed, chunksize=50), strict=True):
            counts[f"{case[1]}, {outcome}"] += 1
            longest = max(longest, seconds)
            if failure:
                failures.append(f"{case[1]} {case[0]}: {failure}")
                print(failures[-1], flush=True)
            if sum(counts.values()) % 5000 == 0:
                print(f"{sum(counts.values()):,} cases", file=sys.stderr, flush=True)
    return counts, failures, longest


def command_line() -> int:
    """Run the fuzz and print what came of it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--cases", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    counts, failures, longest = run(given.cases, given.seed, given.workers)
    for outcome, number in sorted(counts.items()):
        print(f"{number:8,}  {outcome}")
    print(f"{sum(counts.values()):,} cases, {len(failures)} failures, the longest {longest:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(command_line())
