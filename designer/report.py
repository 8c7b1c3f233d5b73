"""Designs and frozen mechanisms of every kind as text for people: a summary for the terminal, a page in Markdown."""

from __future__ import annotations

from designer.additive.interface import Mechanism
from designer.certified.optimality import Optimality
from designer.certified.specified import Specified
from designer.designing.accuracy import worst_of
from designer.designing.least import LeastBudget
from designer.designing.made import Design
from designer.designing.structured_problem import StructuredDesign
from designer.values.printing import in_markdown, printed, printed_below

ROWS_SHOWN = 12


def cautions(made: Specified) -> list[str]:
    """Lines that must not be missed: that the object hides nothing, which answers it publishes without noise, and what was
    changed in the form of its file."""
    listed = ", ".join(map(printed, made.exact[:ROWS_SHOWN])) + (
        f" and {len(made.exact) - ROWS_SHOWN} more" if len(made.exact) > ROWS_SHOWN else ""
    )
    exact = [f"EXACT, without any noise: {listed}."] if listed else []
    return [*made.warning, *exact, *(f"MIGRATED: {note}" for note in made.migrations)]


def summary(made: Specified) -> str:
    """What a frozen object does and what proves it, in a dozen lines."""
    return "\n".join([*cautions(made), *made.about.heading(), *made.summary_lines()])


def page(made: Specified) -> str:
    """A page in Markdown: the guarantee, the certificate and where the object comes from."""
    paragraphs = [line for caution in cautions(made) for line in (f"**{in_markdown(caution)}**", "")]
    return "\n".join([*paragraphs, *made.page_lines(), "", "## Provenance", "", *_provenance_lines(made), ""])


def _provenance_lines(made: Specified) -> list[str]:
    notes = [f"- {in_markdown(key)}: {in_markdown(value)}" for key, value in made.provenance.items()]
    return ["Notes of the maker, not verified:", "", *notes]


def structured_summary(title: str, made: StructuredDesign) -> str:
    """The same of queries that nobody writes out."""
    title, mechanism = printed(title), made.mechanism
    lines = [title, "=" * len(title), *cautions(mechanism), *mechanism.summary_lines()]
    lines.append(f"Error:       root mean squared error {mechanism.root_mean_squared_error:.6g} of an answer")
    lines += [*optimality_lines(made.optimality), f"Time:        {made.seconds:.2f} s"]
    return "\n".join([*lines, *_tried_lines(mechanism)])


def optimality_lines(found: Optimality | None) -> list[str]:
    """What was reached, and what is needed."""
    if found is None:
        return []
    return [
        f"Optimality:  {found.value:.6g} reached, at least {found.lower_bound:.6g} needed (gap {found.gap:.1e})",
        f"             minimised: {found.objective}",
    ]


def design_summary(title: str, made: Design[Mechanism]) -> str:
    """What was designed, how good it is, and what proves it."""
    title = printed(title)
    lines = [title, "=" * len(title), *cautions(made.mechanism), *made.mechanism.design_lines()]
    lines += optimality_lines(made.optimality)
    if made.efficiency is not None and made.limit is not None:
        lines.append(
            f"Efficiency:  {printed_below(made.efficiency, 3)}, the part of the loss that is needed by {made.limit.reason}"
        )
        lines += [f"             {sentence}" for sentence in made.limit.scope]
    targets = [f"Target:      {printed(sentence)}" for sentence in made.mechanism.provenance.get("targets", ())]
    lines += [*targets, *_solver_lines(made), f"Time:        {made.seconds:.2f} s", *_tried_lines(made.mechanism)]
    return "\n".join(lines)


def _tried_lines(made: Specified) -> list[str]:
    """What "auto" tried, what it did not and why, and how to have more of it."""
    tried = made.provenance.get("tried", {})
    lines = [f"Tried:       {printed(name)}: {printed(words)}" for name, words in tried.items()]
    unstarted = any(words.startswith("not started") and words.endswith(("left", "over")) for words in tried.values())
    more = "             More time (seconds) lets those be started that were not; any can be asked for by its name."
    return [*lines, *([more] if unstarted else [])]


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


def budget_summary(title: str, found: LeastBudget) -> str:
    """The least factor on the budgets, what shows it, the table by family and the curve."""
    title, worst, missed = printed(title), worst_of(found.reached), found.best.missed
    rho = "" if found.rho_factor is None else f", which is {found.rho_factor:.6g} times rho"
    proven = (
        "none is proven" if found.lower_bound is None else f"{found.lower_bound:.6g}, for every design of {found.best.family}"
    )
    return "\n".join(
        [
            title,
            "=" * len(title),
            *cautions(found.design.mechanism),
            f"Least factor: {found.factor:.6g} times all budgets{rho}, with {found.best.family}",
            f"Met there:    all {len(found.reached)} targets; nearest to missing: {printed(worst.sentence())}",
            f"Missed at:    {found.missed_at:.6g}, smaller by {found.step:g}: {printed(missed.sentence())}",
            f"Lower bound:  {proven}",
            "",
            found.to_markdown(),
            "Error against budget",
            "",
            found.curve_to_markdown(),
            *found.design.mechanism.design_lines(),
        ]
    )
