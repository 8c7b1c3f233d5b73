"""The words of the field that a page uses, each with what it means to somebody who is new to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

# Each word as the list shows it, with the forms that a text may have it in.
FORMS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("accuracy",),
    "approximate privacy": ("approximate privacy", "approximate dX-privacy", "(epsilon, delta)"),
    "budget": ("budgets", "budget"),
    "candidate": ("candidates", "candidate"),
    "certificate": ("certificates", "certificate"),
    "deep verification": ("deep verification",),
    "delta": ("deltas", "delta"),
    "differential privacy": ("differential privacy", "dX-privacy"),
    "epsilon": ("epsilons", "epsilon"),
    "family": ("families", "family"),
    "fingerprint": ("fingerprints", "fingerprint"),
    "guarantee": ("guarantees", "guarantee"),
    "ledger": ("ledgers", "ledger"),
    "limit": ("no additive noise is below",),
    "margin": ("margins", "margin"),
    "noise": ("noise",),
    "norm": ("norm balls", "norm ball", "norms", "norm"),
    "odds": ("odds",),
    "policy": ("policies", "policy"),
    "pure privacy": ("pure dX-privacy", "pure privacy", "pure promises", "pure promise"),
    "record": ("records", "record"),
    "Renyi divergence": ("Renyi divergences", "Renyi divergence"),
    "rho": ("rho",),
    "right guesses": ("right guesses",),
    "seal": ("seal",),
    "signature": ("signatures", "signature"),
    "spec": ("specs", "spec"),
    "split row": ("split rows", "split row"),
    "standard error": ("standard errors", "standard error"),
    "synthetic table": ("synthetic tables", "synthetic table"),
    "theorem": ("theorems", "theorem"),
    "tradeoff function": ("tradeoff functions", "tradeoff function"),
    "zero-concentrated privacy": (
        "zero-concentrated privacy", "zero-concentrated dX-privacy", "zero-concentrated", "zCDP",
    ),
}  # fmt: skip
MEANINGS: Mapping[str, str] = {
    "accuracy": (
        "How near released numbers are to the true ones. Noise is random, so it is told as what holds 95 % of the time."
    ),
    "approximate privacy": (
        "A promise written (epsilon, delta): before and after the change, no set of outputs has a probability P above "
        "exp(epsilon) times the other one plus delta. Odds may shift by more than exp(epsilon) with a chance that is larger "
        "than delta."
    ),
    "budget": (
        "What a change of the data may cost: a number b. Of a pure promise, no output is more than exp(b) times as likely "
        "before the change as after it, which is nearly 1 + b where b is small. A small budget protects well, an infinite "
        "one not at all."
    ),
    "candidate": "One of the things that may be chosen and released; all candidates are public beforehand.",
    "certificate": (
        "The result of computing, from the file alone and without trusting who made it, that no protected change spends more "
        "than its budget."
    ),
    "deep verification": (
        "Checks beyond the certificate: small cases written out in full, and the random numbers tested as drawn."
    ),
    "delta": (
        "What probabilities may differ by beyond a factor of exp(epsilon). It bounds the chance that nothing is hidden at "
        "all, and not the chance that odds shift by more than exp(epsilon), which is larger. It should be far below 1 over "
        "the number of people."
    ),
    "differential privacy": (
        "The promise that what is released comes out nearly as likely whether or not one record is changed and the others are "
        "not, so that it tells little about the record to somebody who knows all others."
    ),
    "epsilon": "One budget for all changes; without a delta, odds shift by a factor of at most exp(epsilon).",
    "family": "A way of making noise. Several may serve the same questions; a design is the best that one of them gives.",
    "fingerprint": (
        "64 characters computed from everything that decides what a release does. Equal fingerprints: the same mechanism."
    ),
    "guarantee": "The full statement of what is promised, in fixed sentences; every release carries it.",
    "ledger": "The book in which every release from a data set is entered before it is made, with what it costs.",
    "limit": (
        "A loss that no noise which is added to the answers can be below, by a theorem; so it tells how much better other "
        "noise could possibly be."
    ),
    "margin": "Of a table: its sums along rows or columns. Of an answer: what its noise stays below 95 % of the time.",
    "noise": "Random numbers that are added to true answers, so that nobody can tell from an answer whose record is behind it.",
    "norm": "A way to measure lengths. Noise falls off with its length; a norm ball is the set of all noise up to a length.",
    "odds": (
        "How likely one thing is against another: odds of 1 to 19 are a chance of 1 in 20. The odds of one value of a record "
        "against another, the other records given, shift by at most the stated factor, up or down, when a release is seen."
    ),
    "policy": "A public function of a record that says how much the record may lose.",
    "pure privacy": "A promise on odds that holds for every output without exception.",
    "record": "What is protected: usually the data of one person. What one row is must be judged by those who know the data.",
    "Renyi divergence": "A measure of how different two lists of probabilities are, for each order above 1; 0 means equal.",
    "rho": (
        "The budget of zero-concentrated privacy: b^2 / 2 for a budget of b. It converts into (epsilon, delta) in many ways."
    ),
    "right guesses": (
        "The share of right answers of the best possible attacker who sees the release and must tell two equally likely cases "
        "apart; 50 % is chance."
    ),
    "seal": "A number in a file that changes when the file is altered by accident. It protects from nobody who means it.",
    "signature": "A proof that the holder of a secret key has signed exactly this file.",
    "spec": "The file that holds a frozen mechanism whole: everything that decides what it releases, and what it claims.",
    "split row": "A large record counts as several rows of limited size, so that its loss can be stated for each such row.",
    "standard error": "The typical size of the noise in an answer: its standard deviation.",
    "synthetic table": "A made-up table that answers certain queries nearly as the true one. None of its records is real.",
    "theorem": "The mathematical sentence that turns what was computed into the promise; this page has the steps of its proof.",
    "tradeoff function": "How many misses somebody must have who tells two cases apart with a given share of false alarms.",
    "zero-concentrated privacy": (
        "A promise on averages of powers of odds, as normal noise keeps it. It implies (epsilon, delta) at every delta; the "
        "table of deltas on the page shows it at several."
    ),
}
_TERM_OF = {form.lower(): term for term, forms in FORMS.items() for form in forms}
LETTERS = ("delta", "deltas", "epsilon", "epsilons", "rho")
_ANY = re.compile(
    r"(?<![\w-])(" + "|".join(re.escape(form) for form in sorted(_TERM_OF, key=len, reverse=True)) + r")(?![\w-])",
    re.IGNORECASE,
)


def _is_name(text: str, found: re.Match[str]) -> bool:
    """Is it a part of a name, such as Delta County or Seal Beach, rather than a word that begins a sentence?"""
    word = found.group()
    return word.istitle() and (word.lower() in LETTERS or re.match(r" [A-Z]", text[found.end() :]) is not None)


def anchor_of(term: str) -> str:
    """What links to a word of the glossary point to.

    >>> anchor_of("standard error")
    'word-standard-error'
    """
    return "word-" + term.lower().replace(" ", "-")


def with_terms(text: str) -> Iterator[tuple[str, str | None]]:
    """A text in pieces: each with the word of the glossary that it is a form of, or None."""
    end = 0
    for found in _ANY.finditer(text):
        if _is_name(text, found):
            continue
        if found.start() > end:
            yield text[end : found.start()], None
        yield found.group(), _TERM_OF[found.group().lower()]
        end = found.end()
    if end < len(text):
        yield text[end:], None
