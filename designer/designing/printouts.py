"""Designs and frozen mechanisms of every kind as text for people: a summary for the terminal, a page in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from designer.base.checks import meant, shown
from designer.base.display import (
    WIDTH,
    Column,
    at_least,
    at_most,
    in_markdown,
    printed,
    share_at_least,
    share_at_most,
    text_table,
    wrapped,
)
from designer.base.errors import InvalidProblem
from designer.base.progress_line import time_words
from designer.certificate.frozen import FrozenMechanism, page_lines, summary_lines
from designer.certificate.guarantee import Optimality
from designer.designing.auto import is_unfinished, remedy_for, said_once
from designer.designing.design_result import Design
from designer.designing.factor_search import standing_words, worst_of
from designer.designing.least import LeastBudget
from designer.designing.least_noise import LOOSE, Limit
from designer.mechanism.caution_lines import cautions
from designer.mechanism.interface import Mechanism, design_lines
from designer.relations.problem import Problem

ROWS_SHOWN, FEW = 12, 3
DETAILS = ("Workload:", "Relation:", "Norm ball:", "Fingerprint:", " " * 13)  # lines of a design that only a full one shows


def summary(made: FrozenMechanism) -> str:
    """What a frozen object does and what proves it, in a dozen lines."""
    return "\n".join([*cautions(made), *made.about.heading(), *summary_lines(made)])


def page(made: FrozenMechanism, told: str = "") -> str:
    """A page in Markdown: the guarantee, the certificate, a line that is told besides, and where the object comes from."""
    paragraphs = [line for caution in cautions(made) for line in (f"**{in_markdown(caution)}**", "")]
    return "\n".join(
        [
            *paragraphs,
            *page_lines(made),
            "",
            *([in_markdown(told), ""] if told else []),
            "## Provenance",
            "",
            *_provenance_lines(made),
            "",
        ]
    )


def _provenance_lines(made: FrozenMechanism) -> list[str]:
    notes = [f"- {in_markdown(key)}: {in_markdown(value)}" for key, value in made.provenance.items()]
    return ["Notes of the maker, not verified:", "", *notes]


def optimality_lines(found: Optimality | None) -> list[str]:
    if found is None:
        return []
    return [
        f"Optimality:  {at_most(found.value, 6)} reached, at least {at_least(found.lower_bound, 6)} needed "
        f"(gap {share_at_most(found.gap)})",
        f"             minimised: {found.objective}",
    ]


def design_in_brief(title: str, made: Design[Mechanism]) -> str:
    """What was designed, the noise of each answer, that it holds, and how much of the loss no noise can save."""
    title, mechanism = printed(title), made.mechanism
    lines = [title, "=" * len(title), *cautions(mechanism)]
    lines += [line for line in design_lines(mechanism) if not line.startswith(DETAILS)]
    if made.efficiency is not None and made.limit is not None:
        share, few = share_at_least(made.efficiency), made.limit.least_records
        where = f", from {few} records on" if few > 1 else ""
        lines.append(f"Efficiency:  {share}: no additive noise with this guarantee has less than {share} of this loss{where}")
        lines += [f"             {LOOSE}"] * made.limit.tree
    return "\n".join([*lines, *_target_lines(mechanism, FEW), *_cut_lines(made.cut), *_unfinished_lines(mechanism)])


def _unfinished_lines(made: FrozenMechanism) -> list[str]:
    """What "auto" did not finish, and how to have more of it."""
    names = [name for name, words in made.provenance.get("tried", {}).items() if is_unfinished(words)]
    more = remedy_for(made.provenance.get("effort", "normal"), named=False)
    return [f"Not finished: {printed(', '.join(names))}; {more} gives them more work"] if names else []


def design_summary(title: str, made: Design[Mechanism]) -> str:
    title = printed(title)
    about = made.mechanism.about.lines()
    lines = [title, "=" * len(title), *about, *cautions(made.mechanism), *design_lines(made.mechanism)]
    lines += optimality_lines(made.optimality)
    if made.efficiency is not None and made.limit is not None:
        lines.append(
            f"Efficiency:  {share_at_least(made.efficiency)}, the part of the loss that is needed by {made.limit.reason}"
        )
        lines += [f"             {sentence}" for sentence in made.limit.scope]
    lines += [*_target_lines(made.mechanism), *_solver_lines(made)]
    return "\n".join([*lines, *closing_lines(made)])


def closing_lines(made: Design[Any]) -> list[str]:
    """What ended a search, its time, and what was tried."""
    return [*_cut_lines(made.cut), f"Time:        {time_words(made.seconds)}", *_tried_lines(made.mechanism)]


def _cut_lines(cut: str) -> list[str]:
    """That a search was ended before it was done."""
    return [f"Cut off:     {cut}"] if cut else []


def _target_lines(made: FrozenMechanism, most: int = ROWS_SHOWN) -> list[str]:
    """What was asked and what is reached, of the first targets; a design that is shown meets the others, too."""
    found = made.provenance.get("targets", ())
    lines = [f"Target:      {printed(sentence)}" for sentence in found[:most]]
    left = len(found) - most
    return lines + ([f"             ... and {left} more, which are met as well"] if left > 0 else [])


def _tried_lines(made: FrozenMechanism) -> list[str]:
    """What "auto" tried, what it did not and why, and how to have more of it."""
    tried = made.provenance.get("tried", {})
    made_ones = [f"{name}: {words}" for name, words in tried.items() if words.startswith("loss ")]
    others = said_once((name, words) for name, words in tried.items() if not words.startswith("loss "))
    lines = [f"Tried:       {printed(words)}" for words in (*made_ones, *others)]
    more = remedy_for(made.provenance.get("effort", "normal"), named=False)
    short = any(map(is_unfinished, tried.values()))
    return [*lines, *([f"             {more} gives more work to what was not started or cut off."] if short else [])]


def _solver_lines(made: Design[Mechanism]) -> list[str]:
    """The solver of CVXPY that was named, and how far its answer was off before it was repaired."""
    notes = made.mechanism.provenance
    if "solver" not in notes:
        return []
    off = notes["raw_violation"]
    broke = f"broke a budget by {off:.2g} of it before repair" if off else "kept every budget"
    return [
        f"Solver:      {printed(notes['solver'])}, {printed(notes['status'])} in {notes['rounds']} rounds; its answer {broke}"
    ]


def budget_summary(title: str, found: LeastBudget, width: int = WIDTH) -> str:
    """The least factor on the budgets, what shows it, the table by family and the curve, within a width."""
    title, worst, missed = printed(title), worst_of(found.reached), found.best.missed
    rho = "" if found.rho_factor is None else f", which is {at_most(found.rho_factor, 6)} times rho"
    low = found.lower_bound
    proven = "none is proven" if low is None else f"{at_least(low, 6)}, for every design of {found.best.family}"
    return "\n".join(
        [
            title,
            "=" * len(title),
            *cautions(found.design.mechanism),
            f"Least factor: {at_most(found.factor, 6)} times all budgets{rho}, with {printed(found.way)}",
            *([f"              {found.best.words}"] if found.uncertain else []),
            f"Met there:    {_all_targets(len(found.reached))}; nearest to missing: {printed(worst.sentence())}",
            f"Missed at:    {at_least(found.missed_at, 6)}, smaller by {found.step:.3g}: {printed(missed.sentence())}",
            f"Lower bound:  {proven}",
            *([f"Cut off:      {found.cut}"] if found.cut else []),
            *(
                f"Accuracy:     {line}"
                for line in standing_words(found.design.mechanism, [one.target for one in found.reached])
            ),
            "",
            found.to_text(width),
            "",
            *design_lines(found.design.mechanism),
        ]
    )


def _all_targets(count: int) -> str:
    return f"all {count} targets" if count > 1 else "the one target"


# A comparison as text for people: a table for the terminal, best first, and one in Markdown.
#
# A comparison as a table of LaTeX, for a paper: rules of booktabs, names escaped, bounds rounded to their own side.


COLUMNS = {
    "family": "family",
    "loss": "loss",
    "squared": "squared error",
    "absolute": "absolute error",
    "max": "worst query variance",
    "improvement": "IF(Q)",
    "efficiency": "efficiency",
    "gap": "gap",
    "worst_ratio": "worst ratio",
    "seconds": "seconds",
    "note": "note",
}
Row = Mapping[str, Any]
Cell = Callable[[Any], str]
LOSSES = {
    "squared": "expected total squared error",
    "absolute": "expected total absolute error",
    "max": "largest variance of an answer",
}
LESS = 1e-3  # of a loss: what is said of a difference
SHORT = 5  # families in a short table, beside one budget for all
CELLS: dict[str, Cell] = {
    **dict.fromkeys(("loss", "squared", "absolute", "max", "worst_ratio"), at_most),
    **dict.fromkeys(("improvement", "efficiency"), at_least),
    "gap": lambda value: at_most(value, 2),
    "seconds": lambda value: f"{value:.2f}",
}
LEGEND = {
    "typical": "typical, worst: standard error of an answer, root mean square and largest",
    "efficiency": "efficiency: a loss that no additive noise is below, proven, over the loss",
    "gain": "gain: how many times wider noise with one budget for all is, geometric mean over the answers, IF(Q)",
    "gap": "gap: how far the loss may be above the least of its own kind, proven; empty where nothing is",
}


def rank(loss: float, baseline: bool) -> tuple[float, bool]:
    """What is better comes first: less loss to six digits, and of equal ones what is no baseline."""
    return float(f"{loss:.6g}"), baseline


def sorted_rows(rows: Sequence[Row]) -> list[Row]:
    """The best first, by `rank`, and those without a mechanism last."""
    return sorted(rows, key=lambda row: rank(math.inf if row["loss"] is None else row["loss"], bool(row.get("baseline"))))


def loss_words(problem: Any) -> str:
    if not isinstance(problem, Problem):
        return str(problem.loss_words)
    return ("" if (problem.costs == 1).all() else "weighted ") + LOSSES[problem.loss]


def comparison_markdown(rows: Sequence[Row], limit: Limit | None, remedy: str) -> str:
    """A table of everything, best first, with the families that failed at the end, which were not finished and what gives them
    more work, and what efficiency means."""
    lines = ["| " + " | ".join(COLUMNS.values()) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(_cell(name, row[name]) for name in COLUMNS) + " |" for row in sorted_rows(rows)]
    for told in (_open_lines(rows, remedy), limit_lines(limit)):
        lines += ["", *map(in_markdown, told)] if told else []
    return "\n".join(lines) + "\n"


def limit_lines(limit: Limit | None) -> list[str]:
    if limit is None:
        return []
    return [f"Efficiency: {at_least(limit.value)} over the loss, by {limit.reason}.", *limit.scope]


def comparison_text(rows: Sequence[Row], problem: Any, limit: Limit | None, width: int, remedy: str, full: bool = True) -> str:
    """The winner in a sentence, what was not finished, the table, what its columns mean, and notes; in full also every family,
    what the limit rests on, and why others failed; in short what each family is, and which others there are."""
    done = [row for row in sorted_rows(rows) if row["loss"] is not None]
    listed = done if full else _short(done)
    failed = list(map(printed, said_once((row["family"], row["note"]) for row in rows if row["loss"] is None)))
    notes = list(dict.fromkeys(row["note"] for row in listed if row["note"]))
    table = text_table(comparison_columns(listed, problem, notes, full), width) if done else []
    shown = [LEGEND[head] for head in LEGEND if table and head in table[0].split()]
    marked = [f"[{number}] {printed(note)}" for number, note in enumerate(notes, 1)]
    without = ["Without a mechanism:", *failed] if failed else []
    if failed and done and not full:
        names = [printed(row["family"]) for row in rows if row["loss"] is None]
        without = [f"Without a mechanism: {', '.join(names)}."]
    unfinished = _open_lines(rows, remedy)
    called = [] if full else [f"{printed(row['family'])}: {printed(row['title'])}" for row in listed if row.get("title")]
    others = [printed(row["family"]) for row in done if row not in listed]
    if others:
        called.append(f"{len(others)} more, with --full: {', '.join(others)}.")
    blocks = [
        [_winner(done, problem, bool(unfinished)), *unfinished],
        table,
        called,
        [*shown, *marked],
        limit_lines(limit) if done and full else [],
        without,
    ]
    told = [
        "\n".join(own if own is table else [line for part in own for line in wrapped(part, width)]) for own in blocks if own
    ]
    return "\n\n".join(told) + "\n"


def comparison_columns(done: Sequence[Row], problem: Any, notes: Sequence[str], full: bool = True) -> list[Column]:
    """A line for each mechanism, the columns that matter most first, in short those alone; errors of a typical answer where all
    answers count records, as others may be in different units."""
    linear = isinstance(problem, Problem)
    count, alike = (problem.workload.shape[0], problem.workload.counts_records) if linear else (1, False)
    named = [printed(row["family"]) + (f" [{notes.index(row['note']) + 1}]" if row["note"] else "") for row in done]
    figures: dict[str, list[str]] = {
        "loss": [at_most(row["loss"]) for row in done],
        "typical": [at_most(math.sqrt(row["squared"] / count)) if alike and row["squared"] is not None else "" for row in done],
        "worst": [at_most(math.sqrt(row["max"])) if alike and row["max"] is not None else "" for row in done],
        "efficiency": [_or_nothing(share_at_least, row["efficiency"]) for row in done],
    }
    if full:
        figures["gain"] = [_or_nothing(lambda value: at_least(value, 3), row["improvement"]) for row in done]
        figures["time"] = [time_words(row["seconds"]) for row in done]
        figures["gap"] = [_or_nothing(share_at_most, row["gap"]) for row in done]
    told = {head: tuple(cells) for head, cells in figures.items() if any(cells)}
    return [Column("family", tuple(named), number=False), *(Column(*one) for one in told.items())]


def _short(done: Sequence[Row]) -> list[Row]:
    """The best five, baselines apart, and one budget for all."""
    own = [row["family"] for row in done if not row.get("baseline")][:SHORT]
    return [row for row in done if row["family"] in (*own, "uniform_budget")]


def _open_lines(rows: Sequence[Row], remedy: str) -> list[str]:
    """Which families were not started for want of work or time, or their searches cut off, and what gives them more."""
    names = [printed(row["family"]) for row in rows if row["cut"] or (row["loss"] is None and is_unfinished(row["note"]))]
    more = f" {remedy[0].upper()}{remedy[1:]} gives them more work." if remedy else ""
    return [f"Not finished: {'; '.join(names)}.{more}"] if names else []


def _winner(done: Sequence[Row], problem: Any, unfinished: bool) -> str:
    """Which family loses least, and how much less than the next and than one budget for all."""
    if not done:
        return "No family has a mechanism for this problem."
    best, others = done[0], done[1:]
    even = [printed(row["family"]) for row in others if _saved(best, row) < LESS]
    least = f"the least {loss_words(problem)}{' of those that were finished' if unfinished else ''}"
    words = [f"{printed(best['family'])} has {least}, {at_most(best['loss'])}"]
    if even:
        words.append(f"the same as {even[0]}" + (f" and {len(even) - 1} more" if len(even) > 1 else ""))
    behind = [row for row in others if _saved(best, row) >= LESS]
    plain = [row for row in behind[1:] if row["family"] == "uniform_budget"]
    for row, why in ((behind[:1], "the next"), (plain, "one budget for all")):
        words += [f"{share_at_least(_saved(best, one))} less than {printed(one['family'])}, {why}" for one in row]
    return "; ".join(words) + "."


def _saved(best: Row, other: Row) -> float:
    """What part of the loss of another the best one saves."""
    return 1 - best["loss"] / other["loss"] if other["loss"] else 0.0


def _or_nothing(write: Cell, value: Any) -> str:
    return "" if value is None or not math.isfinite(value) else write(value)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    return CELLS[name](value) if name in CELLS else in_markdown(value)


DEFAULT = ("loss", "squared", "absolute", "max", "improvement", "efficiency")
_LATEX = str.maketrans(
    {mark: "\\" + mark for mark in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"}
)
_POWER = re.compile(r"e([+-]?)(\d+)$")


def in_latex(name: object) -> str:
    """A name fit for a cell of LaTeX: `printed`, and nothing in it is taken for a command.

    >>> print(in_latex("k_norm & 50% of {a^b}"))
    k\\_norm \\& 50\\% of \\{a\\textasciicircum{}b\\}
    """
    return printed(name).translate(_LATEX)


def comparison_latex(rows: Sequence[Row], limit: Limit | None, columns: Sequence[str] | None, remedy: str) -> str:
    """The families with a mechanism, best first; those without one, and what efficiency means, in comments above the table.

    columns: keys of `COLUMNS` behind the family; those of `DEFAULT` that hold a number where none are given.
    """
    done = [row for row in sorted_rows(rows) if row["loss"] is not None]
    chosen = _columns(done, columns)
    remarks = [r"needs \usepackage{booktabs}", *_open_lines(rows, remedy), *limit_lines(limit)]
    remarks += [f"{row['family']}: {row['note']}" for row in sorted_rows(rows) if row["note"]]
    head = " & ".join(in_latex(COLUMNS[name]) for name in chosen)
    body = [" & ".join(_latex_table_cell(name, row) for name in chosen) + r" \\" for row in done]
    aligned = "".join("r" if name in CELLS else "l" for name in chosen)
    table = [
        rf"\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*(f"% {printed(remark)}" for remark in remarks), *table]) + "\n"


def _columns(done: Sequence[Row], asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked is None:
        return ("family", *(name for name in DEFAULT if any(row[name] is not None for row in done)))
    if isinstance(asked, str) or not asked:
        raise InvalidProblem(f"columns: {shown(asked)} is no list of columns; give some of {list(COLUMNS)[1:]}.", value=asked)
    for name in asked:
        if name not in COLUMNS:
            raise InvalidProblem(
                f"columns: {shown(name)} is unknown; {meant(name, COLUMNS)}use some of {list(COLUMNS)[1:]}.", value=name
            )
    return ("family", *(name for name in asked if name != "family"))


def _latex_table_cell(name: str, row: Row) -> str:
    value = row[name]
    if name not in CELLS:
        return in_latex(value)
    if value is None or math.isnan(value):
        return "--"
    return _POWER.sub(lambda found: rf"$\,\cdot 10^{{{found[1].strip('+')}{found[2].lstrip('0')}}}$", CELLS[name](value))
