"""Breaks of what a board is told: odds, chances and guesses too small, budgets of changes too small, names that break out."""

from __future__ import annotations

from tests.mutation.mutant import Mutant

ODDS, MEANINGS, HTML = "designer/reports/odds.py", "designer/reports/meanings.py", "designer/reports/html.py"
OF_ODDS, OF_MEANINGS = ("tests/reports/test_odds.py",), ("tests/reports/test_meanings.py",)
OF_PAGES = ("tests/reports/test_board_page.py",)

MUTANTS = (
    Mutant(
        ODDS,
        "return _on_its_side(value, digits, ROUND_CEILING)",
        "return _on_its_side(value, digits, ROUND_FLOOR)",
        "odds are told rounded down",
        OF_ODDS,
    ),
    Mutant(ODDS, "(1 - prior) / prior", "prior / (1 - prior)", "the chance afterwards is that of the opposite", OF_ODDS),
    Mutant(
        ODDS,
        "chance_after(pure, Fraction(1, 2))",
        "chance_after(pure / 2, Fraction(1, 2))",
        "an attacker is told to guess worse",
        OF_ODDS,
    ),
    Mutant(
        ODDS,
        "rational_ball((1 + advantage) / 2)",
        "rational_ball((1 + advantage / 2) / 2)",
        "guesses on normal noise are told as worse",
        OF_ODDS,
    ),
    Mutant(MEANINGS, "distance * scale[0])", "distance * scale[0] / 2)", "a distance is told at half its budget", OF_MEANINGS),
    Mutant(
        MEANINGS,
        "None if inner.budget is None else inner.budget * Fraction(relation.factor)",
        "inner.budget",
        "scaled budgets are told without their factor",
        OF_MEANINGS,
    ),
    Mutant(
        "designer/reports/explorer.py",
        '.replace("<", "\\\\u003c")',
        "",
        "a name ends the script of the explorer's numbers",
        ("tests/cli/test_explore.py",),
    ),
    Mutant(
        "designer/reports/exploring.py",
        'stretched(self._bases[key], float(values["budget"]) / float(own["budget"]), problem)',
        "self._bases[key]",
        "numbers of another budget are told",
        ("tests/cli/test_explore.py",),
    ),
    Mutant(HTML, "        autoescape=True,\n", "        autoescape=False,\n", "names are written as HTML", OF_PAGES),
    Mutant(
        HTML, "return one_line(value).replace(", "return value.replace(", "marks that turn text around reach the page", OF_PAGES
    ),
)
