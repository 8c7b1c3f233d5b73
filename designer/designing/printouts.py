"""Designs and frozen mechanisms of every kind as text for people: a summary for the terminal, a page in Markdown."""

from __future__ import annotations

from designer.base.on_terminal import WIDTH
from designer.base.printing import in_markdown, printed
from designer.base.progress_line import time_words
from designer.base.rounding import at_least, at_most, share_at_least, share_at_most
from designer.certified.frozen import Specified
from designer.certified.guarantee import Optimality
from designer.designing.accuracy import standing_words, worst_of
from designer.designing.caution_lines import cautions
from designer.designing.choosing import is_unfinished, remedy_for, said_once
from designer.designing.least import LeastBudget
from designer.designing.structured_problem import StructuredDesign
from designer.families.made import Design
from designer.mechanisms.additive.interface import Mechanism

ROWS_SHOWN, FEW = 12, 3
DETAILS = ("Workload:", "Relation:", "Norm ball:", "Fingerprint:", " " * 13)  # lines of a design that only a full one shows


def summary(made: Specified) -> str:
    """What a frozen object does and what proves it, in a dozen lines."""
    return "\n".join([*cautions(made), *made.about.heading(), *made.summary_lines()])


def page(made: Specified, told: str = "") -> str:
    """A page in Markdown: the guarantee, the certificate, a line that is told besides, and where the object comes from."""
    paragraphs = [line for caution in cautions(made) for line in (f"**{in_markdown(caution)}**", "")]
    return "\n".join(
        [
            *paragraphs,
            *made.page_lines(),
            "",
            *([in_markdown(told), ""] if told else []),
            "## Provenance",
            "",
            *_provenance_lines(made),
            "",
        ]
    )


def _provenance_lines(made: Specified) -> list[str]:
    notes = [f"- {in_markdown(key)}: {in_markdown(value)}" for key, value in made.provenance.items()]
    return ["Notes of the maker, not verified:", "", *notes]


def structured_summary(title: str, made: StructuredDesign) -> str:
    """The same of queries that nobody writes out."""
    title, mechanism = printed(title), made.mechanism
    lines = [title, "=" * len(title), *mechanism.about.lines(), *cautions(mechanism), *mechanism.summary_lines()]
    lines.append(f"Error:       root mean squared error {at_most(mechanism.root_mean_squared_error)} of an answer")
    lines += [*optimality_lines(made.optimality), *_cut_lines(made.cut), f"Time:        {time_words(made.seconds)}"]
    return "\n".join([*lines, *_tried_lines(mechanism)])


def optimality_lines(found: Optimality | None) -> list[str]:
    """What was reached, and what is needed."""
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
    lines += [line for line in mechanism.design_lines() if not line.startswith(DETAILS)]
    if made.efficiency is not None and made.limit is not None:
        share, few = share_at_least(made.efficiency), made.limit.least_records
        where = f", from {few} records on" if few > 1 else ""
        lines.append(f"Efficiency:  {share}: no additive noise with this guarantee has less than {share} of this loss{where}")
    return "\n".join([*lines, *_target_lines(mechanism, FEW), *_cut_lines(made.cut), *_unfinished_lines(mechanism)])


def _unfinished_lines(made: Specified) -> list[str]:
    """What "auto" did not finish, and how to have more of it."""
    names = [name for name, words in made.provenance.get("tried", {}).items() if is_unfinished(words)]
    more = remedy_for(made.provenance.get("effort", "normal"), named=False)
    return [f"Not finished: {printed(', '.join(names))}; {more} gives them more work"] if names else []


def design_summary(title: str, made: Design[Mechanism]) -> str:
    """What was designed, how good it is, and what proves it."""
    title = printed(title)
    about = made.mechanism.about.lines()
    lines = [title, "=" * len(title), *about, *cautions(made.mechanism), *made.mechanism.design_lines()]
    lines += optimality_lines(made.optimality)
    if made.efficiency is not None and made.limit is not None:
        lines.append(
            f"Efficiency:  {share_at_least(made.efficiency)}, the part of the loss that is needed by {made.limit.reason}"
        )
        lines += [f"             {sentence}" for sentence in made.limit.scope]
    lines += [*_target_lines(made.mechanism), *_solver_lines(made)]
    lines += [*_cut_lines(made.cut), f"Time:        {time_words(made.seconds)}", *_tried_lines(made.mechanism)]
    return "\n".join(lines)


def _cut_lines(cut: str) -> list[str]:
    """That a search was ended before it was done."""
    return [f"Cut off:     {cut}"] if cut else []


def _target_lines(made: Specified, most: int = ROWS_SHOWN) -> list[str]:
    """What was asked and what is reached, of the first targets; a design that is shown meets the others, too."""
    found = made.provenance.get("targets", ())
    lines = [f"Target:      {printed(sentence)}" for sentence in found[:most]]
    left = len(found) - most
    return lines + ([f"             ... and {left} more, which are met as well"] if left > 0 else [])


def _tried_lines(made: Specified) -> list[str]:
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
            f"Met there:    all {len(found.reached)} targets; nearest to missing: {printed(worst.sentence())}",
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
            *found.design.mechanism.design_lines(),
        ]
    )
