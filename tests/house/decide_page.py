"""The page docs/guides/decide.md and its diagram, made of the table of questions that `dp-designer init --ask` asks.

    python -m tests.house.decide_page

writes both anew; a test holds that neither is stale.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from textwrap import fill, wrap

from designer.files.problem.deciding import QUESTIONS, Choice, Question, decided_file, paths

DOCS = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file()) / "docs"
PAGE, PICTURE = DOCS / "guides" / "decide.md", DOCS / "_static" / "decide.svg"
TYPED = ("region: north, east, south", "region: north, east; sex: F, M")
LEAVES = list(paths(TYPED))
HEAD = """# Choosing a problem file

Seven questions lead to a problem file. `dp-designer init --ask` asks them in a terminal (an empty line takes the first
answer), writes the file, designs its mechanism, and prints the expected error and the guarantee. A question with only
one possible answer is not asked.

```{image} ../_static/decide.svg
:alt: Seven questions from top to bottom, each with its answers beside it; every way through them ends in a problem file.
```
"""
FOOT = """## With the first answer to each

{default}
Next: [choosing a noise family](which_family.md). What the budget means for people: [choosing what is
protected](choosing_protection.md). Every key: [problem files](problem_files.md). To see what another budget would cost:
`dp-designer explore problem.toml -o explore.html` ([on the command line](on_the_command_line.md)).
"""


def where(question: Question, choice: Choice) -> str:
    """After which answers a choice is there, in words; empty where it always is."""
    with_it = [leaf for leaf in LEAVES if leaf[question.name] == choice.name]
    told, unless = [], []
    for earlier in QUESTIONS[: QUESTIONS.index(question)]:
        known, left = {leaf[earlier.name] for leaf in LEAVES}, {leaf[earlier.name] for leaf in with_it}
        if len(left) == 1 < len(known):
            told.append(words_of(earlier, *left))
        unless += [f"not with {words_of(earlier, name)}" for name in sorted(known - left) if len(known - left) == 1]
    return "; ".join(told or unless)


def words_of(question: Question, name: str) -> str:
    """An earlier answer."""
    if not question.choices:
        return "one column" if name == TYPED[0] else "several columns"
    number = QUESTIONS.index(question) + 1
    place = [choice.name for choice in question.choices].index(name) + 1
    return f"answer {place} to question {number}"


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for number, question in enumerate(QUESTIONS, 1):
        parts.append(f"## {number}. {question.words.partition('?')[0]}?\n")
        rest = question.words.partition("?")[2].strip()
        if rest:
            parts.append(fill(f"{rest} Default: `{question.typed}`.", 120) + "\n")
        if question.choices:
            parts.append("| answer | where |\n| --- | --- |")
            rows = [f"| {escape(choice.words)} | {where(question, choice) or 'always'} |" for choice in question.choices]
            parts.append("\n".join(rows) + "\n")
    default = decided_file(LEAVES[0])
    parts.append(FOOT.format(default=f"```toml\n{default}```\n"))
    return "\n".join(parts)


def picture() -> str:
    """The diagram: a box for each question, its answers beside it."""
    body, y = [], 10
    for number, question in enumerate(QUESTIONS, 1):
        answers = [choice.words.partition(":")[0] for choice in question.choices] or [f"for example {question.typed}"]
        lines = wrap(f"{number}. {question.words.partition('?')[0]}?", 31)
        height = max(22 * len(answers), 18 * len(lines)) + 14
        body.append(f'<rect class="box" x="10" y="{y}" width="270" height="{height}" rx="6"/>')
        body += [f'<text class="ask" x="22" y="{y + 24 + 18 * k}">{escape(line)}</text>' for k, line in enumerate(lines)]
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


if __name__ == "__main__":
    PAGE.write_text(page())
    PICTURE.write_text(picture())
