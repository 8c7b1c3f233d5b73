"""An attacker who knows the exact law of a release, beside every number that people read of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.accounts import Ledger, Total
from designer.accounts.check import checked
from designer.accounts.ledger_text import balance_lines
from designer.certificate.frozen import FrozenMechanism, rate_of_left_out
from designer.exchange.registry import registry_entry
from designer.files.releases import release_document, verify_release
from designer.problem.domain import Domain
from designer.publish.content import Evidence, SeenLedger, SeenRelease
from designer.publish.page import board_page, html_of
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from tests.oracles.small_laws import Atoms, both, excess, integers, law, loss_atoms

DOMAIN = Domain.of({"sex": ["F", "M"]})
ALL, EACH, PRESENT = Workload.marginals(DOMAIN, [[]]), Workload.identity(DOMAIN), metrics.add_remove(2, 0.5)
MADE: dict[str, Callable[[], Any]] = {
    "laplace": lambda: design(Problem(ALL, PRESENT), "laplace").mechanism,
    "gaussian": lambda: design(Problem(ALL, metrics.add_remove(2, 0.25), notion="zcdp"), "gaussian").mechanism,
    "selection": lambda: best_selection(Linear(EACH), PRESENT),
    "permute-and-flip": lambda: best_selection(Linear(EACH), PRESENT, "permute_and_flip"),
}
PRIOR, NUMBER = 0.05, r"([0-9][0-9.,]*[0-9]|[0-9])"
# What is said, by how it is written: the numbers that a pattern finds.
SAID = {
    "odds": (rf"×{NUMBER}",),
    "guess": (rf"right in at most {NUMBER} %", rf"×{NUMBER} ?\)? {NUMBER} % {NUMBER} %"),
    "chance": (rf"×{NUMBER} ?\)? {NUMBER} % {NUMBER} %",),
    "epsilon": (rf"Epsilon {NUMBER}, delta 0 ", rf"epsilon {NUMBER} \(pure\)(?! for)", rf"(?m)^ +epsilon: {NUMBER}$"),
    "rho": (rf"rho {NUMBER}", rf"(?m)^ +rho: {NUMBER}$", rf"(?<![/0-9.]){NUMBER}-zCDP"),
}


def law_of(made: FrozenMechanism, x: tuple[int, int]) -> dict[Any, float]:
    if getattr(made, "law", "") != "permute_and_flip":
        return law(made.format, made.core(), x)
    return dict(enumerate(made.probabilities(x).tolist()))  # type: ignore[attr-defined]


def attack(made: FrozenMechanism, rows: int) -> Atoms:
    """An entity of twice as many rows as count, all in one cell, or nobody: what it does to the answers and to the number of
    rows left out, whose laws are independent. Of two candidates the other one is ahead by the rows that count."""
    answers = loss_atoms(law_of(made, (3, 3 + rows)), law_of(made, (3 + rows, 3 + rows)))
    rate = float(rate_of_left_out(made) or 0)
    left = integers(lambda z: rate * abs(z))
    return both(answers, loss_atoms(left, {z + rows: p for z, p in left.items()}))


def number(text: str) -> float:
    return float(text.replace(",", ""))


def read(text: str, patterns: tuple[str, ...], group: int) -> list[float]:
    return [number(found[group]) for p in patterns for found in re.finditer(p, text)]


@pytest.mark.parametrize("name", MADE)
def test_no_number_that_people_read_is_below_what_an_attacker_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page with its annexes and its ledger, the ledger's lines and the registry's entries, of one release of entities."""
    pytest.importorskip("ibis")
    monkeypatch.setattr("designer.publish.page.drawings_of", lambda made, released: ())
    made = MADE[name]()
    for rows in (1, 2, 8):
        told_truly(name, made, rows, Ledger.create(tmp_path / f"{rows}.ledger"))


def told_truly(name: str, made: Any, rows: int, ledger: Ledger) -> None:
    total = Total(rho=50) if name == "gaussian" else Total(epsilon=50)
    people = ledger.state("people", total, publishes=made.guarantee.unprotected)
    released = people.release(made, {"sex": ["F", "M"], "who": ["a", "b"]}, entity="who", rows_per_entity=rows).released
    document, balance = release_document(made, released), people.balance()
    seen = SeenRelease("r.json", released, document, verify_release(made, document))
    page = html_of(board_page(Evidence(made=made, release=seen, ledger=SeenLedger("l", checked(ledger), balance))))
    page = re.sub(r"(?s)<style.*?</style>|<[^>]+>", " ", page).partition(" approximate privacy ")[0]  # its glossary follows
    texts = {
        "page": " ".join(unescape(page).split()),
        "ledger": "\n".join(balance_lines(balance)),
        "registry": registry_entry(made, release=document).to_yaml(),
        "registry of a ledger": registry_entry(made, balance=balance).to_yaml(),
    }
    p, q = attack(made, rows)
    inner = (p > 1e-12) & (q > 1e-12)
    losses = np.log(p[inner] / q[inner])
    most = float(np.abs(losses).max())
    divergence = max(float(losses @ p[inner]), float(-losses @ q[inner]))
    guess = 50 + 25 * float(np.abs(p - q).sum())
    told = {what: {where: read(text, SAID[what], 1) for where, text in texts.items()} for what in SAID}
    guesses = read(texts["page"], SAID["guess"][:1], 1) + read(texts["page"], SAID["guess"][1:], 3)
    assert len(guesses) >= 2 and min(guesses) >= guess * (1 - 1e-9)
    if name == "gaussian":
        assert all(told["rho"][where] and min(told["rho"][where]) >= divergence * (1 - 1e-9) for where in texts)
        (rare,) = set(re.findall(r"a chance of at most (1 in [0-9,]+) ", texts["page"]))
        table = re.findall(rf"(1 in [0-9,]+) {NUMBER} ×{NUMBER}", texts["page"])
        assert len(table) >= 3
        for chance, epsilon, _ in table:
            assert excess((p[inner], q[inner]), number(epsilon)) <= 1 / number(chance.removeprefix("1 in "))
        for chance, odds in [(rare, told["odds"]["page"][0]), *((chance, number(odds)) for chance, _, odds in table)]:
            beyond = max(p[inner][losses > math.log(odds)].sum(), q[inner][-losses > math.log(odds)].sum())
            assert beyond <= 1 / number(chance.removeprefix("1 in "))
        return
    assert all(told["epsilon"][where] and min(told["epsilon"][where]) >= most * (1 - 1e-9) for where in texts)
    assert all(not told["rho"][where] or min(told["rho"][where]) >= divergence * (1 - 1e-9) for where in texts)
    odds, chances = told["odds"]["page"], read(texts["page"], SAID["chance"], 2)
    assert len(odds) >= 2 and min(odds) >= math.exp(most) * (1 - 1e-9)
    assert chances and min(chances) >= 100 * PRIOR * math.exp(most) / (1 - PRIOR + PRIOR * math.exp(most)) * (1 - 1e-9)
