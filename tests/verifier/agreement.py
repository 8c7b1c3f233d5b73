"""How the two verifiers agree, counted: `python -m tests.verifier.agreement ALTERED DESIGNED` prints the table of the page on
auditing.

ALTERED: how many specs to alter at random. DESIGNED: how many to design anew, which takes longest. All that are known are
compared besides.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.base.errors import Refusal
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from tests.oracles.metric_kinds import SPECIMENS as RELATIONS
from tests.verifier.altered import altered, bytes_of, main_verdict, standalone_verdict

Verdicts = Counter[tuple[str, str]]
FAMILIES = {
    "pure": (
        "laplace",
        "laplace_joint",
        "k_norm",
        "box",
        "l2_ball",
        "strategy_laplace",
        "strategy_geometric",
        "bundles",
        "staircase",
        "by_moves",
    ),
    "zcdp": ("gaussian", "diagonal_gaussian", "isotropic_gaussian", "strategy_gaussian"),
    "approximate": ("gaussian", "laplace", "truncated_geometric"),
}


def designed(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Specs of random small workloads under the relations of the tests and others, by families in turn."""
    chance, generator = random.Random(seed), np.random.default_rng(seed)
    while number:
        notion = chance.choice(sorted(FAMILIES))
        family = chance.choice(FAMILIES[notion])
        size, ways = chance.randrange(2, 7), chance.randrange(3)
        own = generator.uniform(0.1, 2, size)
        relation = [
            metrics.uniform(size, float(own[0])),
            metrics.add_remove(size, own.tolist()),
            chance.choice([*RELATIONS.values()]),
        ][ways]
        asked = generator.integers(-3, 4, (chance.randrange(1, 4), relation.size)).astype(float)
        if ways == 0:
            asked += generator.random(asked.shape).round(3)
        delta = {"delta": 1e-6} if notion == "approximate" else {}
        try:
            made = design(Problem(Workload(asked), relation, notion=notion, **delta), family).mechanism  # type: ignore[arg-type]
        except Refusal:
            continue
        number -= 1
        yield json.loads(json.dumps(plain(to_spec(made))))


def compared(spec: dict[str, Any]) -> tuple[tuple[str, str], float, float, list[str]]:
    """Both verdicts of a spec, the seconds of processor that they took, and what the second one said."""
    content, start = bytes_of(spec), process_time()
    first, middle = main_verdict(content), process_time()
    second, sentences = standalone_verdict(content)
    return (first, second), middle - start, process_time() - middle, sentences


def of_known(slowest: list[tuple[float, float, int, str]]) -> Verdicts:
    """Of the corpus and the specimens; `slowest` gets the seconds of each, of the second verifier and of the first."""
    from tests.verifier.test_standalone import all_specs

    found: Verdicts = Counter()
    for name, spec in all_specs().items():
        verdicts, first, second, _ = compared(spec)
        found[verdicts] += 1
        slowest.append((second, first, len(bytes_of(spec)), name))
    return found


def of_designed(number: int) -> Iterator[tuple[str, str]]:
    """Of specs that are designed anew, one by one; what only the second verifier refuses is printed."""
    for spec in designed(number, 7):
        verdicts, _, _, sentences = compared(spec)
        if verdicts == ("holds", "does not hold"):
            print(spec["mechanism"].get("family"), spec["mechanism"]["relation"]["kind"], sentences)
        yield verdicts


def of_altered(number: int) -> Iterator[tuple[str, str]]:
    """Of specs that are altered at random, one by one; a disagreement that no sentence names is printed."""
    from tests.verifier.test_standalone import checked, require_agreement

    chance, listed = random.Random(7), list(checked())
    for _ in range(number):
        name, found = chance.choice(listed), Verdicts()
        spec, way = altered(checked()[name], chance)
        try:
            require_agreement(spec, way, found)
            yield next(iter(found))
        except AssertionError as disagreement:
            print(name, disagreement)
            first, second = next(iter(found))
            yield first, f"{second}, which nothing explains"


def rows(table: dict[str, Verdicts]) -> list[str]:
    """The table of the page."""
    lines = [
        "| specs | number | both accept | both refuse | the second accepts less | more, in what it names | more, otherwise |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for kind, found in table.items():
        both = found["holds", "holds"]
        less = sum(n for (first, second), n in found.items() if first == "holds" and not second.startswith("holds"))
        named = sum(n for (first, second), n in found.items() if second == "holds" != first)
        more = sum(n for (first, second), n in found.items() if second.startswith("holds,") and first != "holds")
        neither = found.total() - both - less - named - more
        lines.append(f"| {kind} | {found.total():,} | {both:,} | {neither:,} | {less:,} | {named:,} | {more:,} |")
    return lines


def main(arguments: list[str]) -> None:
    """What the module does: see there."""
    slowest: list[tuple[float, float, int, str]] = []
    known, (altered_ones, designed_ones) = of_known(slowest), map(int, arguments)
    changed = Counter(of_altered(altered_ones))
    table = {"corpus and specimens": known, "designed": Counter(of_designed(designed_ones)), "altered": changed}
    print("", *rows(table), "", sep="\n")
    for second, first, size, name in sorted(slowest)[-4:]:
        print(f"{name}: {size:,} bytes, {second:.2f} s, the first verifier {first:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
