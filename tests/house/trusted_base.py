"""The trusted base, traced: which functions run when specs are loaded, verified and released, and their costs added up,
counted in lines.

`python -m tests.house.trusted_base SPEC ...` prints the table for these specs; without one that of all specimens, one of every
format and kind, and the lines that run between the first random word of a release and its numbers.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WIDTH = 124
# What runs and can break no promise, with the reason.
HARMLESS = {
    "designer/base/errors.py": "texts of refusals",
    "designer/base/progress.py": "progress bars",
    "designer/base/progress_line.py": "the line that progress is told in",
    "solvers/work.py": "how long a search may take",
    "solvers/solution.py": "names of outcomes",
    "solvers/programs/tails.py": "expected sizes of noise, which decide nothing",
    "solvers/programs/nearest_sums.py": "what MWEM makes of noisy measurements",
}
# The order to read in: what must be true there, the folders, and the pages that prove it.
STAGES = (
    (
        "What a file may say",
        "A file names nothing but entries of closed lists, is compared with what its object proves, and runs nothing.",
        ("designer/files/", "designer/base/"),
        "[closed lists](decisions/closed_lists.md)",
    ),
    (
        "What must be hidden",
        "Every protected pair is listed, or implied by some that are; no budget, exact or float, is above the stated one.",
        ("designer/problem/", "designer/relations/", "designer/tables/policies/"),
        "[foundations](../theory/foundations.md) 1 and 4, [metrics](../theory/metrics.md), "
        "[invariants](../theory/invariants.md), [records](../theory/records.md)",
    ),
    (
        "The certificate",
        "The worst ratio is at least that of every pair; exact numbers decide, and every rounding is away from 1.",
        ("designer/certificate/", "designer/tradeoff/"),
        "[foundations](../theory/foundations.md) 2, [very many pairs](../theory/million.md), "
        "[one delta](../theory/approximate.md), [tradeoffs](../theory/tradeoff.md)",
    ),
    (
        "What is released",
        "Exact integers meet noise of the law that was certified, and only the sum of the two goes on.",
        (
            *("designer/mechanism/", "designer/tables/", "designer/domains/", "designer/lattice/", "designer/local/"),
            *("designer/selection/", "designer/synthetic/", "designer/odds_ratio/"),
        ),
        "[foundations](../theory/foundations.md) 3, [lattice](../theory/lattice.md), [staircase](../theory/staircase.md), "
        "[structured](../theory/structured.md), [marginals](../theory/marginals.md), [selection](../theory/selection.md), "
        "[synthetic](../theory/synthetic.md), [tables](../theory/tables.md)",
    ),
    (
        "The samplers",
        "The law of a draw is the stated one, exactly; words of entropy are used once, and floats decide nothing in doubt.",
        (
            *("designer/sampling/", "designer/lattice/chain.py", "designer/lattice/gaussian.py"),
            *("designer/lattice/sampler_choice.py", "designer/lattice/table_gaussians.py"),
        ),
        "[sampling](../theory/sampling.md), [lattice](../theory/lattice.md) 2 to 6",
    ),
    (
        "What several releases cost",
        "No number is below what all of them together spend on a change that all of them protect.",
        ("designer/accounts/composition/",),
        "[composition](../theory/composition.md), [tradeoffs](../theory/tradeoff.md)",
    ),
    (
        "The mathematics beneath",
        "Exact numbers and balls, bounds on groups of pairs, hulls that are proven after they were proposed, integer kernels.",
        ("solvers/exact/", "solvers/dual_tree.py", "solvers/polytopes/", "solvers/lattices/", "solvers/trees.py"),
        "[hull](../theory/hull.md), [lattice](../theory/lattice.md) 0 and 1, [very many pairs](../theory/million.md) 1",
    ),
)


def place_of(file: str) -> str:
    """The folder or file of a stage that a file is in, the longest one; "" for what is in none."""
    return max((place for _, _, places, _ in STAGES for place in places if file.startswith(place)), key=len, default="")


def released(loaded: Any) -> None:
    """A release of invented data that fit what is public: margins, numbers of records, tables that agree."""
    from designer import InvalidProblem

    if loaded.format == "dp-designer/odds-ratio-test":
        loaded.release([[3, 3], [2, 2]])
    elif hasattr(loaded, "universe"):
        rest = [0] * (len(loaded.universe.elements) - 1)
        for first in ([6, *rest], [3, *rest], [0, *rest]):
            try:
                loaded.release(first)
                return
            except InvalidProblem:
                continue
    else:
        _of_records(loaded)


def _of_records(loaded: Any) -> None:
    if loaded.format == "dp-designer/table-plan":
        import ibis

        counties = (("DE", 1), ("DE", 2), ("RI", 3), ("NV", 1))
        rows = [(str(k), *counties[k % 4], "111", 10 * k, k / 4) for k in range(40)]
        columns = zip(("id", "state", "county", "naics", "emp", "pay"), zip(*rows, strict=True), strict=True)
        loaded.release(ibis.memtable({name: list(values) for name, values in columns}))
        return
    domain = loaded.workload.domain
    loaded.release({name: [values[0], values[-1]] for name, values in zip(domain.attributes, domain.values, strict=True)})


def runs(paths: Sequence[str]) -> dict[str, dict[str, list[int]]]:
    """For each spec the first lines, file by file, of all functions of the packages that run when it is loaded, verified
    and released, and when two such releases are added up.

    Everything is done twice, and the second time is traced, with what the first kept forgotten: what an import runs is no
    part of it. Entropy is seeded, so that the same is found every time.
    """
    _seed_entropy()
    for path in paths:
        _load_verify_release(path)
    return {path: _traced(path) for path in paths}


def _load_verify_release(path: str) -> None:
    from designer import load

    loaded = load(path, allow_vacuous=True)
    assert loaded.verify().holds
    released(loaded)
    _add_up(loaded)


def _add_up(loaded: Any) -> None:
    """What two such releases cost together, where that has an answer."""
    from designer import InvalidProblem
    from designer.accounts.composition.cost_record import expense_of, spent

    try:
        spent([expense_of(loaded)] * 2).epsilon_at("1e-6")
    except InvalidProblem:
        return


def _traced(path: str) -> dict[str, list[int]]:
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] in ("designer", "solvers")]:
        for kept in list(vars(module).values()):
            if callable(getattr(kept, "cache_clear", None)):
                kept.cache_clear()
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    sys.setprofile(note)
    try:
        _load_verify_release(path)
    finally:
        sys.setprofile(None)
    found: dict[str, list[int]] = {}
    for code in seen:
        file = Path(code.co_filename)
        if ROOT in file.parents and file.relative_to(ROOT).parts[0] in ("designer", "solvers"):
            found.setdefault(file.relative_to(ROOT).as_posix(), []).append(code.co_firstlineno)
    return found


def drawn(paths: Sequence[str]) -> dict[str, dict[str, list[int]]]:
    """For each spec the lines, file by file, that run in a release once the first random word has been drawn; a file named ""
    holds the number of words. Each release is made twice, and the second time is traced."""
    from designer import load
    from designer.sampling.entropy import SystemEntropy

    _seed_entropy()
    seeded, taken = SystemEntropy.random_words, [0]

    def words(self: SystemEntropy, count: int) -> Any:
        taken[0] += count
        return seeded(self, count)

    SystemEntropy.random_words = words  # type: ignore[method-assign]
    found = {}
    for path in paths:
        loaded = load(path, allow_vacuous=True)
        released(loaded)
        taken[0], lines = 0, dict[str, set[int]]()
        _note_lines(loaded, taken, lines)
        found[path] = {"": [taken[0]], **{file: sorted(own) for file, own in lines.items()}}
    return found


def _note_lines(loaded: Any, taken: list[int], lines: dict[str, set[int]]) -> None:
    """Release, and note the lines of the packages that run after a word was taken."""

    def note(frame: FrameType, event: str, argument: object) -> Any:
        file = Path(frame.f_code.co_filename)
        if ROOT not in file.parents or file.relative_to(ROOT).parts[0] not in ("designer", "solvers"):
            return None
        if event == "line" and taken[0]:
            lines.setdefault(file.relative_to(ROOT).as_posix(), set()).add(frame.f_lineno)
        return note

    sys.settrace(note)
    try:
        released(loaded)
    finally:
        sys.settrace(None)


def _seed_entropy() -> None:
    """Words of a seed where a release takes those of the operating system: here alone, on invented data."""
    from numpy.random import Philox

    from designer.sampling.entropy import SystemEntropy

    own, stream = SystemEntropy.random_words, Philox(0)

    def words(self: SystemEntropy, count: int) -> Any:
        own(self, count)
        return stream.random_raw(count)

    SystemEntropy.random_words = words  # type: ignore[method-assign]


def traced(paths: Sequence[str], what: str = "--trace") -> dict[str, dict[str, list[int]]]:
    """`runs`, or `drawn` ("--drawn"), in a fresh interpreter."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.house.trusted_base", what, *paths]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[int]]] = json.loads(done.stdout)
    return found


@cache
def code_lines(file: str) -> frozenset[int]:
    """The lines of a file that hold code: no comments, no empty lines, no docstrings."""
    source = (ROOT / file).read_text()
    passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in passed_over:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return frozenset(lines)


def lines_that_ran(file: str, firsts: Iterable[int]) -> int:
    """The lines of code of the functions and methods, what is defined inside them included, that begin around some lines."""
    ran: set[int] = set()
    functions = list(spans(ast.parse((ROOT / file).read_text()).body))
    for first in firsts:
        ran |= {line for start, end in functions if start <= first <= end for line in range(start, end + 1)}
    return len(ran & code_lines(file))


def spans(body: Sequence[ast.stmt]) -> Iterable[tuple[int, int]]:
    """First and last lines of functions and of the methods of classes."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from spans(node.body)
        elif isinstance(node, FUNCTIONS):
            yield min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node.end_lineno or node.lineno


def together(found: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, set[int]]:
    """What ran of any spec."""
    union: dict[str, set[int]] = {}
    for files in found.values():
        for file, firsts in files.items():
            union.setdefault(file, set()).update(firsts)
    return union


def first_sentence(file: str) -> str:
    """What a file says it is for."""
    text = " ".join((ast.get_docstring(ast.parse((ROOT / file).read_text())) or "").split("\n\n")[0].split())
    return text.rstrip(".:").replace("|", "\\|")


def table(found: Mapping[str, Mapping[str, Sequence[int]]]) -> str:
    """The tables in Markdown: how much each spec takes where they have names, and the files, stage by stage."""
    union = together(found)
    counted = {file: lines_that_ran(file, firsts) for file, firsts in union.items() if file not in HARMLESS}
    lines = [
        f"{len(counted)} files; {sum(counted.values())} lines of code run, of {sum(len(code_lines(file)) for file in counted)} "
        "in these files.",
        "",
    ]
    for title, duty, folders, pages in STAGES:
        own = sorted(file for file in counted if place_of(file) in folders)
        if not own:
            continue
        ran = sum(counted[file] for file in own)
        lines += [
            f"## {title}: {ran} lines",
            "",
            fill(f"{duty} Proven in {pages}.", WIDTH, break_on_hyphens=False),
            "",
            "| file | lines that run | of | what it does |",
        ]
        lines += ["| --- | --- | --- | --- |"]
        lines += [f"| `{file}` | {counted[file]} | {len(code_lines(file))} | {first_sentence(file)} |" for file in own]
        lines += [""]
    passed = [f"`{file}` ({HARMLESS[file]})" for file in sorted(union) if file in HARMLESS]
    return "\n".join([*lines, fill(f"Not counted, although they run: {', '.join(passed)}.", WIDTH, break_on_hyphens=False), ""])


def formats(found: Mapping[str, Mapping[str, Sequence[int]]], kinds: Mapping[str, str]) -> str:
    """How many lines run for the specs of each format, as a table; kinds: the format of each spec."""
    lines = ["| format | files | lines that run |", "| --- | --- | --- |"]
    for kind in sorted(set(kinds.values())):
        union = together({path: files for path, files in found.items() if kinds[path] == kind})
        counted = [lines_that_ran(file, firsts) for file, firsts in union.items() if file not in HARMLESS]
        lines.append(f"| {kind} | {len(counted)} | {sum(counted)} |")
    return "\n".join([*lines, ""])


def of_law(spec: Mapping[str, Any]) -> tuple[str, str]:
    """What decides how a spec's noise is drawn, in words, and its family."""
    core = spec["mechanism"]
    norm, noise, score = core.get("norm", {}), core.get("noise"), core.get("score", {})
    parts = [norm.get("order"), core.get("falloff"), noise.get("kind") if isinstance(noise, dict) else noise]
    parts += ["full matrix" if isinstance(norm.get("map"), list) and isinstance(norm["map"][0], list) else None]
    parts += ["chain" if core.get("chain") else None, core.get("law"), core.get("selection"), score.get("kind")]
    parts += [core["tradeoff"]["kind"] if "tradeoff" in core else None]
    kind = spec["format"].removeprefix("dp-designer/")
    return ", ".join([kind, *(part for part in parts if part)]), core.get("family", "")


def between_words_and_numbers(paths: Sequence[str]) -> str:
    """What runs in a release after its first random word: a table by law, and the functions with their lines."""
    found, laws = traced(paths, "--drawn"), dict[str, tuple[set[str], int, dict[str, set[int]]]]()
    for path, files in found.items():
        law, family = of_law(json.loads(Path(path).read_text()))
        families, words, union = laws.get(law, (set(), 0, {}))
        for file, noted in files.items():
            if file and file not in HARMLESS:
                union.setdefault(file, set()).update(set(noted) & code_lines(file))
        laws[law] = (families | {family} - {""}, max(words, *files[""]), union)
    told = ["| law of the noise | families | words | files | lines |", "| --- | --- | --- | --- | --- |"]
    for law, (families, words, union) in sorted(laws.items()):
        told.append(f"| {law} | {', '.join(sorted(families))} | {words} | {len(union)} | {sum(map(len, union.values()))} |")
    told += ["", "| file | lines that run | functions, with their lines |", "| --- | --- | --- |"]
    every: dict[str, set[int]] = {}
    for _, _, union in laws.values():
        for file, lines in union.items():
            every.setdefault(file, set()).update(lines)
    for file, ran in sorted(every.items()):
        own = [f"{name} {count}" for name, start, end in named_spans(file) if (count := len(ran & set(range(start, end + 1))))]
        told.append(f"| `{file}` | {len(ran)} | {', '.join(own)} |")
    return "\n".join([*told, ""])


def named_spans(file: str) -> Iterable[tuple[str, int, int]]:
    """Name, first and last line of the functions and methods of a file."""
    for node in ast.parse((ROOT / file).read_text()).body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, FUNCTIONS):
                name = f"{node.name}.{inner.name}" if isinstance(node, ast.ClassDef) else inner.name
                yield name, inner.lineno, inner.end_lineno or inner.lineno


def of_specimens(folder: Path) -> str:
    """The tables of the page: a specimen of every format and kind, saved in a folder, loaded, verified and released."""
    from tests.oracles.spec_specimens import specimens

    kinds = {str(made.save(folder / f"{number}.json")): made.format for number, made in enumerate(specimens().values())}
    stored = sorted((ROOT / "tests" / "data" / "specs").glob("family_*.json"))  # of norms that no specimen has
    kinds |= {str(path): json.loads(path.read_text())["format"] for path in stored}
    found = traced(list(kinds))
    between = (
        "## Between the random bits and a number\n\nThe lines of code that run in a release once its first word of "
        "`os.urandom` has been drawn, of\none release of invented data for each spec. What comes before touches no noise; "
        "rare branches may be missing.\n\n"
    )
    return formats(found, kinds) + "\n" + table(found) + "\n" + between + between_words_and_numbers(list(kinds))


def main(arguments: Sequence[str]) -> None:
    """What the module does: see there."""
    if arguments[:1] == ["--trace"]:
        print(json.dumps(runs(arguments[1:])))
    elif arguments[:1] == ["--drawn"]:
        print(json.dumps(drawn(arguments[1:])))
    elif not arguments:
        with TemporaryDirectory() as folder:
            print(of_specimens(Path(folder)), end="")
    else:
        print(table(traced([str(Path(path).resolve()) for path in arguments])))


if __name__ == "__main__":
    main(sys.argv[1:])
