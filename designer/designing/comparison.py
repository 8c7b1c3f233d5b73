"""Strategies side by side on one problem: noise, error, improvement over one budget for all, certificate, time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import count
from designer.base.display import NARROWEST, SHOWN_ROWS, WIDTH, Displayed, Preview, printed
from designer.base.errors import DesignFailed, InvalidProblem, NoFeasibleAttribute
from designer.base.frames import frame_of_rows
from designer.base.progress import each_of
from designer.designing.auto import (
    SEVERAL,
    FamilyRun,
    WorkBudget,
    cap_of,
    chosen_families,
    longer_by_delta,
    needing_rows,
    remedy_for,
    runs_for,
    units_of,
    weight_of,
)
from designer.designing.design_result import Design, rank_by_consistency
from designer.designing.dispatch import design, reason
from designer.designing.family import pure_twin
from designer.designing.least_noise import Limit, limit, part_of_loss
from designer.designing.printouts import (
    COLUMNS,
    comparison_columns,
    comparison_latex,
    comparison_markdown,
    comparison_text,
    sorted_rows,
)
from designer.designing.problem_kinds import problem_kind
from designer.mechanism.interface import Mechanism
from designer.relations.problem import Problem


@dataclass(frozen=True)
class Comparison(Displayed):
    """One row for each family: a dict with the keys of `COLUMNS` and `scales`, `improvements` (for each query);
    None where undefined.

    "loss" is the problem's own, weights included; the other errors are unweighted. limit: what efficiency is measured by,
    with the theorem that it rests on and for whom it is proven; None where no limit is known. rows are sorted by loss; designs:
    those that succeeded, by family. remedy: what gives more work to families that were not finished.
    """

    problem: Any
    rows: list[dict[str, Any]]
    designs: dict[str, Design[Any]]
    limit: Limit | None = None
    remedy: str = ""

    @property
    def best(self) -> Design[Any]:
        """The design of least loss for the problem's own loss; of losses that are equal to six digits, no baseline's."""
        if not self.designs:
            raise NoFeasibleAttribute("compare: no family has a mechanism for this problem; the rows say why.")
        best: str = sorted_rows(self.rows)[0]["family"]
        return self.designs[best]

    def to_markdown(self) -> str:
        """Write a table of everything, best first, with the families that failed at the end, which were not finished, and what
        efficiency means."""
        return comparison_markdown(self.rows, self.limit, self.remedy)

    def to_latex(self, columns: Sequence[str] | None = None) -> str:
        """Write the same as a `tabular` for a paper (booktabs), names escaped; families without a mechanism in comments.

        columns: keys of `COLUMNS` behind the family, such as ["loss", "efficiency"]; losses, errors and gains where none are
        given. `InvalidProblem` for another one.
        """
        return comparison_latex(self.rows, self.limit, columns, self.remedy)

    def to_text(self, width: int = WIDTH, *, full: bool = True) -> str:
        """Write the same for people: which loses least and by how much, and a table with the figures that matter, losses and
        errors rounded up, efficiencies and gains down.

        width: of the longest line, in characters; columns that matter less are left out where they do not fit. full: with what
        the limit rests on, and why families have no mechanism.
        """
        wide = count(width, "width", least=NARROWEST)
        return comparison_text(self.rows, self.problem, self.limit, wide, self.remedy, full)

    def _display_facts(self) -> Mapping[str, object]:
        best = min(self.designs, key=lambda name: self.designs[name].loss, default=None)
        return {"families": len(self.rows), "best": best, "loss": self.problem.loss}

    def _display_rows(self) -> Preview | None:
        """The table of the terminal, and at its end the families without a mechanism."""
        done, failed = [[r for r in sorted_rows(self.rows) if (r["loss"] is None) is no_loss] for no_loss in (False, True)]
        columns = comparison_columns([{**row, "note": ""} for row in done], self.problem, ())
        rows = [*zip(*(column.cells for column in columns), strict=True)]
        rows += [(row["family"], "no mechanism", *[""] * (len(columns) - 2)) for row in failed]
        return Preview([column.head for column in columns], rows[:SHOWN_ROWS], len(rows))

    def to_frame(self, backend: str = "pandas") -> Any:
        """A row for each family, by loss, under the keys of `COLUMNS`; NaN where a number is undefined.

        backend: "pandas", "polars" or "pyarrow".
        """
        return frame_of_rows(sorted_rows(self.rows), COLUMNS, backend)


def compare(
    problem: Any,
    families: str | Sequence[str] | None = None,
    *,
    effort: str = "normal",
    seconds: float | None = None,
) -> Comparison:
    """Design every applicable family and baseline for one problem, with every choice of options that "auto" would try. Named
    ones are designed as they are.

    IF(q) of DX section 4.1 is the standard deviation of the uniform-budget Laplace noise over that of the family, for each
    query. IF(Q) of section 4.2 is the geometric mean over the queries that get noise. It is not defined, as the note says,
    where one of them gets none from the uniform budget. Efficiency is the limit of `designer.designing.least_noise`, which no
    additive noise beats, over the loss. For whom, and at which numbers of records, the comparison's `limit` says. It is not
    defined for biased designs. A family that fails, in whatever way, keeps its row with the reason as its note. A limit or a
    baseline that fails leaves its column empty, with the reason in every note. One that does not fit into what is left is
    not started, a search that would go on is cut off. Its row says so, and `remedy` what gives it more. A family is not started
    where a bound of its own proves that another is no worse. Its note says what its loss cannot be below. Raises
    `InvalidProblem` for a family or an effort that there is not.

    Parameters
    ----------
    problem : of any kind that `design` takes.
    families : which are tried, by name; None for all that serve the problem.
    effort
        how much counted work all families have together, three times as much as those of `design`. Named ones have the work
        of the effort each ("quick", "normal" or "thorough").
    seconds : a limit on the clock, none by default.

    >>> from designer import Problem, Workload, metrics
    >>> table = compare(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), ["laplace", "uniform_budget"])
    >>> [(row["family"], round(row["loss"], 2)) for row in table.rows]
    [('laplace', 15.67), ('uniform_budget', 15.67)]
    """
    made: Comparison = problem_kind(problem).part("compare")(problem, families, effort=effort, seconds=seconds)
    return made


def compare_linear(
    problem: Problem,
    families: str | Sequence[str] | None = None,
    *,
    effort: str = "normal",
    seconds: float | None = None,
) -> Comparison:
    if families is None:
        asked = [family for family in chosen_families() if family.serves(problem) and family.concerns(problem)]
        ways = runs_for([family for family in asked if not family.on_request], problem)
    else:
        ways = [FamilyRun(family, {}) for family in chosen_families([families] if isinstance(families, str) else families)]
    if not ways:
        raise InvalidProblem("families: empty; name at least one family, or pass None for all.")
    allowance = WorkBudget(problem, SEVERAL * units_of(effort), cap_of(seconds), gap=False, any_size=True)
    reference, no_reference = _attempt(lambda: _reference(problem))
    least, no_limit = _attempt(lambda: limit(problem))
    notes = [f"{COLUMNS[name]}: {why}" for name, why in (("improvement", no_reference), ("efficiency", no_limit)) if why]
    compared = _Compared(problem, reference, least, notes)
    rows, designs = compared.rows, compared.designs

    def run(ways: Sequence[FamilyRun]) -> None:
        for way in each_of(ways, "comparing families", weight_of, allowance.units):
            if families is None and (why := allowance.refusal(way, compared.lowest if designs else None)):
                rows.setdefault(way.name, empty_row(way.name, why))
                continue
            try:
                with allowance.running(way, families is None and bool(designs), timed=families is not None):
                    made = design(problem, way.family.name, effort=effort, **way.options)
                compared.take(way, made)
            except Exception as failure:
                rows.setdefault(way.name, empty_row(way.name, reason(failure)))

    pure = [way for way in ways if families is None and problem.notion != "pure" and way.family.notion == "pure"]
    run([way for way in ways if way not in pure])
    if pure and (why := allowance.no_pure_room(compared.lowest, pure)):
        rows |= {way.name: empty_row(way.name, f"not started: {why}") for way in pure if not way.family.biased}
        run([way for way in pure if way.family.biased])
    elif pure:
        # With work of its own, as it is compared without this problem.
        left = max(allowance.seconds_left, 1e-3) if allowance.seconds < math.inf else None
        twin = compare_linear(pure_twin(problem), effort=effort, seconds=left)
        rows |= {row["family"]: empty_row(row["family"], row["note"]) for row in twin.rows if row["family"] not in twin.designs}
        for way in pure:
            if way.name in twin.designs:
                compared.take(way, replace(twin.designs[way.name], problem=problem))
    run(longer_by_delta(pure, problem))
    if families is None:
        rows |= {name: empty_row(name, why) for name, why in needing_rows(problem).items()}
    ended = allowance.seconds if allowance.late else math.inf
    return Comparison(problem, list(rows.values()), designs, least, remedy_for(effort, families is not None, ended))


@dataclass
class _Compared:
    """The rows and designs so far, and the least loss of those that the default may take."""

    problem: Problem
    reference: Floats | None
    least: Limit | None
    notes: list[str]
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    designs: dict[str, Design[Mechanism]] = field(default_factory=dict)
    lowest: float = math.inf

    def take(self, way: FamilyRun, made: Design[Mechanism]) -> None:
        """The design of a run, unless an earlier one of its name loses no more."""
        if way.name in self.designs and self.designs[way.name].loss <= made.loss:
            return
        row = _row(way.name, made, self.reference, self.least)
        row |= {"title": way.family.title, "baseline": way.family.baseline}
        place, words = rank_by_consistency(self.problem, made)
        told = [*self.notes, *([words] if words else []), *_unmatched(self.problem, row), *([made.cut] if made.cut else [])]
        self.rows[way.name] = row | {"note": "; ".join(told), "cut": bool(made.cut)}
        self.designs[way.name] = made
        self.lowest = self.lowest if place else min(self.lowest, made.loss)


def empty_row(name: str, why: str) -> dict[str, Any]:
    return {**dict.fromkeys([*COLUMNS, "scales", "improvements"]), "cut": False, "family": name, "note": why}


T = TypeVar("T")


def _attempt(compute: Callable[[], T]) -> tuple[T | None, str]:
    """What is computed, or None and the reason."""
    try:
        return compute(), ""
    except Exception as failure:
        return None, reason(failure)


def _reference(problem: Problem) -> Floats | None:
    """Standard deviation of the uniform-budget Laplace noise for each query; None where that baseline does not exist."""
    try:
        baseline = design(problem, "uniform_budget")
    except DesignFailed as refusal:
        if refusal.__cause__ is not None:  # it exists, and its arithmetic stopped
            raise
        return None
    return np.sqrt(baseline.mechanism.query_variances())


def _row(name: str, made: Design[Mechanism], reference: Floats | None, least: Limit | None) -> dict[str, Any]:
    mechanism = made.mechanism
    deviations = np.sqrt(mechanism.query_variances())
    noisy = deviations > 0
    factors = None if reference is None else reference[noisy] / deviations[noisy]
    mean = None if factors is None or not len(factors) or not factors.all() else float(np.exp(np.log(factors).mean()))
    measurable = made.loss and not made.is_biased
    return {
        "family": name,
        "loss": made.loss,
        "squared": mechanism.error("squared"),
        "absolute": mechanism.error("absolute"),
        "max": mechanism.error("max"),
        "improvement": mean,
        "efficiency": part_of_loss(least, made.problem, mechanism, made.loss) if least and measurable else None,
        "gap": made.optimality.gap if made.optimality else None,
        "worst_ratio": made.privacy.ratio,
        "seconds": made.seconds,
        "scales": (deviations / np.sqrt(2)).tolist(),
        "improvements": None if factors is None else factors.tolist(),
    }


def _unmatched(problem: Problem, row: Mapping[str, Any]) -> list[str]:
    """Why IF(Q) is not defined: the answers that get noise here, and none where there is one budget for all."""
    if not row["improvements"] or all(row["improvements"]):
        return []
    noisy = [name for name, scale in zip(problem.workload.queries, row["scales"], strict=True) if scale]
    more = [printed(name) for name, factor in zip(noisy, row["improvements"], strict=True) if not factor]
    told = ", ".join(more[:3]) + (" and others" if len(more) > 3 else "")
    return [f"{COLUMNS['improvement']}: one budget for all needs no noise in {told}"]
