"""The questions that `dp-designer init --ask` asks, as a diagram, tables, and the file that the first answers lead to."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape
from textwrap import fill, wrap

from designer.problem_file.templates import (
    QUESTIONS,
    Option,
    Question,
    decided_file,
    paths,
)

TYPED = (
    "region: north, east, south",
    "region: north, east; sex: F, M",
    "region: north, east; sex: F, M; pay: 0 to 5000",
)
LEAVES = list(paths(TYPED))


def where(question: Question, choice: Option) -> str:
    """After which answers a choice is there, in words; empty where it always is."""
    with_it = [leaf for leaf in LEAVES if leaf[question.name] == choice.name]
    told, unless = [], []
    for earlier in QUESTIONS[: QUESTIONS.index(question)]:
        known, left = (
            {leaf[earlier.name] for leaf in LEAVES},
            {leaf[earlier.name] for leaf in with_it},
        )
        if len(left) == 1 < len(known):
            told.append(words_of(earlier, *left))
        unless += [
            f"not with {words_of(earlier, name)}"
            for name in sorted(known - left)
            if len(known - left) == 1
        ]
    return "; ".join(told or unless)


def words_of(question: Question, name: str) -> str:
    """An earlier answer."""
    if not question.choices:
        return dict(
            zip(
                TYPED,
                ("one column", "several columns", "a number to add up"),
                strict=True,
            )
        )[name]
    number = QUESTIONS.index(question) + 1
    place = [choice.name for choice in question.choices].index(name) + 1
    return f"answer {place} to question {number}"


def questions(_: str) -> Iterator[str]:
    """The diagram, the questions with their answers, and the file of the first answers."""
    yield f"```{{image}} data:image/svg+xml;base64,{b64encode(picture().encode()).decode()}"
    yield ":alt: Seven questions from top to bottom, each with its answers beside it; every way ends in a problem file."
    yield "```\n"
    for number, question in enumerate(QUESTIONS, 1):
        asked, _, rest = question.words.partition("?")
        yield f"## {number}. {asked}?\n"
        if rest.strip():
            yield fill(f"{rest.strip()} Default: `{question.typed}`.", 120) + "\n"
        if question.choices:
            yield "| answer | where |\n| --- | --- |"
            yield from (
                f"| {escape(choice.words)} | {where(question, choice) or 'always'} |"
                for choice in question.choices
            )
            yield ""
    yield f"## With the first answer to each\n\n```toml\n{decided_file(LEAVES[0])}```"


def picture() -> str:
    """The diagram: a box for each question, its answers beside it."""
    body, y = [], 10
    for number, question in enumerate(QUESTIONS, 1):
        answers = [choice.words.partition(":")[0] for choice in question.choices] or [
            f"for example {question.typed}"
        ]
        lines = wrap(f"{number}. {question.words.partition('?')[0]}?", 31)
        height = max(22 * len(answers), 18 * len(lines)) + 14
        body.append(
            f'<rect class="box" x="10" y="{y}" width="270" height="{height}" rx="6"/>'
        )
        body += [
            f'<text class="ask" x="22" y="{y + 24 + 18 * k}">{escape(line)}</text>'
            for k, line in enumerate(lines)
        ]
        for k, answer in enumerate(answers):
            row = y + 22 + 22 * k
            body.append(
                f'<path class="way" d="M280 {y + height / 2:g}L310 {row - 4}"/><text x="318" y="{row}">{escape(answer)}</text>'
            )
        body.append(f'<path class="way" d="M145 {y + height}v18"/>')
        y += height + 18
    body.append(f'<rect class="end" x="10" y="{y}" width="270" height="40" rx="6"/>')
    body.append(f'<text class="ask" x="22" y="{y + 25}">problem.toml, designed</text>')
    style = (
        ".box{fill:#eef3fb;stroke:#3a5ce1}.end{fill:#e8f3e8;stroke:#27752b}.way{stroke:#4a535e;fill:none}"
        "text{font:13px system-ui,sans-serif;fill:#1b1f24}.ask{font-weight:600}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {y + 50}" role="img" aria-label="Seven questions">'
    paper = f'<rect width="760" height="{y + 50}" fill="#ffffff"/>'
    return "\n".join([head, f"<style>{style}</style>", paper, *body, "</svg>"]) + "\n"
