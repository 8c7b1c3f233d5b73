"""Seven questions that end in a problem file: the one table of them, for the terminal, the page and the tests.

A question that earlier answers leave only one answer to is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.files.problem.unfilled import key

Answers = Mapping[str, str]  # by the name of the question: the name of a choice, or what was typed
DELTA = 1e-6
# The epsilon of rho = mu^2 / 2 at that delta, rounded up, for each strength.
AT_DELTA = {"1": "5.222", "0.1": "0.43", "3": "19.23"}
SHOWN_COLUMNS = "region: north, east, south"
ENOUGH_VALUES = 1000
EXACT = ("margins", "margin")  # answers of what is published exactly


def always(answers: Answers) -> bool:
    """After whatever was answered."""
    return True


@dataclass(frozen=True)
class Choice:
    """An answer: its name, its words, and after which answers it is there."""

    name: str
    words: str
    there: Callable[[Answers], bool] = always


@dataclass(frozen=True)
class Question:
    """A question; the first of the choices is the default. typed: the default of a question without choices."""

    name: str
    words: str
    choices: tuple[Choice, ...] = ()
    typed: str = ""

    def open_choices(self, answers: Answers) -> tuple[Choice, ...]:
        """Those that earlier answers leave."""
        return tuple(choice for choice in self.choices if choice.there(answers))

    def answer(self, given: str, answers: Answers) -> str:
        """What a line means: a number of a choice, its name, or nothing for the default. `InvalidProblem` for anything else."""
        left, words = self.open_choices(answers), given.strip()
        if not self.choices:
            columns_of(words or self.typed)
            return words or self.typed
        for number, choice in enumerate(left, 1):
            if words in (str(number), choice.name) or (not words and number == 1):
                return choice.name
        raise InvalidProblem(f"answer: {shown(words)} is none of 1 to {len(left)}; give one of these numbers.", value=words)


def trusted(answers: Answers) -> bool:
    """Does somebody hold the records?"""
    return answers["holder"] == "organisation"


def one_column(answers: Answers) -> bool:
    """Has a record one value?"""
    return len(columns_of(answers["values"])) == 1


def two_columns(answers: Answers) -> bool:
    """Has a record values in several columns?"""
    return not one_column(answers)


QUESTIONS = (
    Question(
        "holder",
        "Who holds the records?",
        (
            Choice("organisation", "An organisation that is trusted with them"),
            Choice("nobody", "No one: each person sends one noisy report"),
        ),
    ),
    Question(
        "values",
        "Which values can a record have? Give columns and their public values, as in `region: north, east; sex: F, M`.",
        typed=SHOWN_COLUMNS,
    ),
    Question(
        "asked",
        "What do you want to learn?",
        (
            Choice("cells", "The number of records with each value, or combination of values", trusted),
            Choice("totals", "Running totals, in the order of the values", lambda a: trusted(a) and one_column(a)),
            Choice("tables", "One table for each column", lambda a: trusted(a) and two_columns(a)),
            Choice("value", "The exact value, with the fewest errors", lambda a: not trusted(a)),
            Choice("near", "A nearby value, in the order of the values", lambda a: not trusted(a) and one_column(a)),
        ),
    ),
    Question(
        "public",
        "What is public besides the release?",
        (
            Choice("number", "The number of records"),
            Choice("nothing", "Nothing, not even the number of records", trusted),
            Choice(
                "margins", "The totals of each column, published exactly", lambda a: a["asked"] == "cells" and two_columns(a)
            ),
            Choice(
                "margin",
                "The totals of the first column, published exactly",
                lambda a: a["asked"] == "cells" and two_columns(a),
            ),
        ),
    ),
    Question(
        "protected",
        "Which values must be hard to distinguish?",
        (
            Choice("any", "Any value of one record from any other", lambda a: a["asked"] != "near"),
            Choice(
                "near", "Nearby values of one record; distant ones less", lambda a: a["public"] == "number" and one_column(a)
            ),
            Choice("columns", "The values of each column separately", lambda a: a["public"] == "number" and two_columns(a)),
        ),
    ),
    Question(
        "strength",
        "How strongly? The budget is for each step between nearby values, or for each column.",
        (
            Choice("1", "As usual: 1 (pure, epsilon 1: odds shift by at most 2.72 times)"),
            Choice("0.1", "Strongly: 0.1 (pure, epsilon 0.1: odds shift by at most 1.11 times)"),
            Choice("3", "Weakly: 3 (pure, epsilon 3: odds shift by at most 20.1 times)"),
        ),
    ),
    Question(
        "promise",
        "Which notion of privacy?",
        (
            Choice("pure", "Pure: the limit on odds holds without exception"),
            Choice(
                "zcdp",
                "zCDP: less noise for many queries, and a weaker guarantee; as (epsilon, delta) it is "
                f"{' or '.join(f'({at}, 1e-6) for mu {mu}' for mu, at in AT_DELTA.items())}",
                trusted,
            ),
            Choice("approximate", "(epsilon, delta), with delta 1e-6", trusted),
        ),
    ),
)


def columns_of(typed: str) -> dict[str, list[str]]:
    """Columns and their values, from a line. `InvalidProblem` for what is no such line.

    >>> columns_of("region: north, east; sex: F, M")
    {'region': ['north', 'east'], 'sex': ['F', 'M']}
    """
    found: dict[str, list[str]] = {}
    size = 1
    for part in typed.split(";"):
        name, colon, listed = part.partition(":")
        values = [value.strip() for value in listed.split(",")]
        if not colon or not name.strip() or name.strip() in found or "" in values or len({*values}) < max(2, len(values)):
            raise InvalidProblem(
                f"answer: {shown(part.strip())} is no column; give its name once and two or more different values, as in "
                f"{SHOWN_COLUMNS}.",
                value=typed,
            )
        found[name.strip()] = values
        size *= len(values)
    if size > ENOUGH_VALUES:
        raise InvalidProblem(f"answer: makes {size:,} combinations of values; give at most {ENOUGH_VALUES:,} here.", value=size)
    return found


def paths(typed: tuple[str, ...], answers: Answers | None = None) -> Iterator[dict[str, str]]:
    """Every way through the questions, with each of these lines where something is typed."""
    known = dict(answers or {})
    question = next((one for one in QUESTIONS if one.name not in known), None)
    if question is None:
        yield known
        return
    for name in [choice.name for choice in question.open_choices(known)] or typed:
        yield from paths(typed, {**known, question.name: name})


def decided_file(answers: Answers) -> str:
    """The problem file that the answers lead to."""
    columns = columns_of(answers["values"])
    domain = [f"{key(name)} = {json.dumps(values, ensure_ascii=False)}" for name, values in columns.items()]
    kind = 'kind = "own_report"\n' if not trusted(answers) else ""
    title = f"{'Counts' if trusted(answers) else 'Own reports'} by {' and '.join(columns)}"
    hidden = _section("relation", *_relation(answers, columns))
    parts = [
        f"# From the answers of `dp-designer init --ask`; every other key is in docs/guides/problem_files.md.\n"
        f"{kind}title = {json.dumps(title, ensure_ascii=False)}",
        "# The public values of each column, from a code book and not from the records.\n" + _section("domain", *domain),
        *_asked(answers, columns),
        f"# What one record may change to, and the budget of that change.\n{hidden}",
    ]
    if answers["public"] in EXACT:
        published = columns if answers["public"] == "margins" else [*columns][:1]
        parts.append("# Published exactly beside this.\n" + _section("invariant", f"margins = {_each(published)}"))
    if answers["promise"] != "pure":
        delta = [f"delta = {DELTA:g}"] if answers["promise"] == "approximate" else []
        parts.append(_section("problem", f'notion = "{answers["promise"]}"', *delta))
    return "\n\n".join(parts) + "\n"


def _section(name: str, *lines: str) -> str:
    return "\n".join([f"[{name}]", *lines])


def _each(columns: Iterable[str]) -> str:
    return json.dumps([[name] for name in columns], ensure_ascii=False)


def _asked(answers: Answers, columns: Mapping[str, list[str]]) -> list[str]:
    """[workload], or [report] where nobody holds the records."""
    line = {
        "cells": 'builder = "identity"',
        "totals": 'builder = "prefix"',
        "tables": f"marginals = {_each(columns)}",
        "value": 'loss = "zero_one"',
        "near": 'loss = "distance"',
    }[answers["asked"]]
    return [_section("workload" if trusted(answers) else "report", line)]


def _relation(answers: Answers, columns: Mapping[str, list[str]]) -> list[str]:
    budget = answers["strength"]
    priced = f"{'mu' if answers['promise'] == 'zcdp' else 'epsilon'} = {budget}"
    if answers["public"] in EXACT:
        return [priced]
    if answers["public"] == "nothing":
        return ['metric = "add_remove"', priced]
    if answers["protected"] == "near":
        (values,) = columns.values()
        return [
            'metric = "line"',
            f"values = {list(range(len(values)))}  # one step apart",
            "period = 1",
            priced,
        ]
    if answers["protected"] == "columns":
        budgets = ", ".join(f"{key(name)} = {budget}" for name in columns)
        return ['metric = "hamming"', f"budgets = {{ {budgets} }}"]
    return ['metric = "uniform"', priced]
