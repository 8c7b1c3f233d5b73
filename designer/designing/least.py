"""`least_budget`: the smallest factor on all budgets at which answers are as accurate as asked, by family, with its proof.

A least budget as tables for the terminal: by family, and error against budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from designer.base.checks import count, positive, shown
from designer.base.display import (
    HEAD,
    SHOWN_ROWS,
    WIDTH,
    Column,
    Displayed,
    Preview,
    at_least,
    at_most,
    closest,
    in_markdown,
    printed,
    text_table,
    wrapped,
)
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.frames import frame_of_rows
from designer.base.progress import each_of, track
from designer.base.progress_line import time_words
from designer.designing.auto import (
    SEVERAL,
    FamilyRun,
    WorkBudget,
    automatic_families,
    cap_of,
    chosen_families,
    cut_words,
    runs_for,
    said_once,
    units_of,
    weight_of,
)
from designer.designing.design_result import Design, rank_by_consistency
from designer.designing.dispatch import design, reason
from designer.designing.factor_search import Builder, FamilyFactor, Reached, factor_of_family, made_at, reached_by, worst_of
from designer.designing.problem_kinds import problem_kind
from designer.mechanism.interface import Mechanism
from designer.problem.targets import Targets, require_targets
from designer.relations.problem import Problem
from solvers.work import OutOfWork, within

FACTOR = 6  # digits of factors


def families_text(rows: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """A line for each family with a factor, least first, and why the others have none."""
    done = sorted((row for row in rows if row["factor"] is not None), key=lambda row: row["factor"])
    bounds = [row["lower_bound"] for row in done]
    columns = [
        Column("factor", tuple(at_most(row["factor"], FACTOR) for row in done)),
        Column("no less than", tuple("" if low is None else at_least(low, FACTOR) for low in bounds)),
        Column("missed at", tuple(at_least(row["missed_at"], FACTOR) for row in done)),
        Column("loss there", tuple(at_most(row["loss"]) for row in done)),
        Column("time", tuple(time_words(row["seconds"]) for row in done)),
        Column("nearest to missing", tuple(printed(row["worst"]) for row in done), number=False),
    ]
    names = Column("family", tuple(printed(row["family"]) for row in done), number=False)
    told = [line for row in done if row["note"] for line in wrapped(f"{printed(row['family'])}: {row['note']}", width)]
    failed = said_once((row["family"], row["note"]) for row in rows if row["factor"] is None)
    without = [line for reason in failed for line in wrapped(printed(reason), width)]
    return [*text_table([names, *columns], width), *told, *(["", "Without a factor:", *without] if without else [])]


def curve_text(points: Sequence[tuple[float, int, int, str, float, float]], width: int) -> list[str]:
    """A line for each factor: how many targets are met, of how many, the query farthest from its own, what it reaches, and what
    it should."""
    factors, met, of, farthest, reached, wanted = zip(*points, strict=True)
    columns = [
        Column("factor", tuple(map(closest, factors)), number=False),
        Column("targets met", tuple(f"{a} of {b}" for a, b in zip(met, of, strict=True))),
        Column("reached", tuple(map(at_most, reached))),
        Column("target", tuple(map(closest, wanted))),
        Column("farthest from its target", tuple(map(printed, farthest)), number=False),
    ]
    return text_table(columns, width)


STEP = 1e-4
POINTS = 9  # of the curve
DESIGNS = 3.0  # behind a factor, where noise can be stretched; where it cannot, the end of its work ends a search
SPAN = 8.0  # the curve goes from the factor over this to the factor times it
HEADS = {
    "family": "family",
    "factor": "factor on budgets",
    "rho_factor": "factor on rho",
    "lower_bound": "no less than",
    "missed_at": "missed at",
    "worst": "nearest to missing",
    "loss": "loss there",
    "seconds": "seconds",
    "note": "note",
}


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """What every target's query reaches at one factor."""

    factor: float
    reached: tuple[Reached, ...]


@dataclass(frozen=True, eq=False)
class LeastBudget(Displayed):
    """The least factor on all budgets that meets the targets, of the best family, and the table by family. Families whose noise
    breaks what is published, or has fractions where counts are asked, come after all others, as in `design`.

    factor: at which `design`, certified, meets every target (`reached`); at `missed_at`, smaller by the relative `step`, the
    same family's design does not. Where standard errors are simulated, `uncertain` says to which share the factor is told, and
    no step is smaller. In the notion zcdp rho takes the square, `rho_factor`. lower_bound: no design of the
    family meets the targets below it, where its program proves one. With continuous noise errors are inversely proportional to
    the factor (docs/theory/foundations.md, 6). rows: one dict for each family that was tried, keys of `HEADS`. curve: error
    against budget of the best family.
    """

    problem: Problem
    targets: Targets
    best: FamilyFactor
    rows: tuple[Mapping[str, Any], ...]
    curve: tuple[CurvePoint, ...]

    @property
    def factor(self) -> float:
        """The least factor on all budgets."""
        return self.best.factor

    @property
    def step(self) -> float:
        """How near the factor is to one that does not do, relatively."""
        return self.best.step

    @property
    def uncertain(self) -> float:
        """To which share the factor is told; 0 where the accuracy is computed, not simulated."""
        return self.best.uncertain

    @property
    def rho_factor(self) -> float | None:
        """The factor on rho in the notion zcdp, the square of that on the budgets; None in the pure one."""
        return self.best.rho_factor

    @property
    def design(self) -> Design[Mechanism]:
        """The certified design at the factor, of the problem with its budgets multiplied."""
        return self.best.design

    @property
    def reached(self) -> tuple[Reached, ...]:
        """What it reaches of every target."""
        return self.best.reached

    @property
    def missed_at(self) -> float:
        """The factor, smaller by the relative step, at which the family's design misses a target."""
        return self.best.missed_at

    @property
    def lower_bound(self) -> float | None:
        """No factor below it meets the targets, by the family's own bound; None where there is none."""
        return self.best.lower_bound

    @property
    def way(self) -> str:
        """The family, with the options that were chosen for it."""
        return str(self._row["family"])

    @property
    def cut(self) -> str:
        """Why the search of the best family was ended before it was done; empty where nothing was cut off."""
        return str(self._row["cut"])

    @property
    def _row(self) -> Mapping[str, Any]:
        mine = [row for row in self.rows if row["factor"] == self.factor]
        return next((row for row in mine if str(row["family"]).startswith(self.best.family)), mine[0])

    def to_markdown(self) -> str:
        """Write the table by family, least factor first."""
        heads = {key: head for key, head in HEADS.items() if key != "rho_factor" or self.rho_factor is not None}
        lines = ["| " + " | ".join(heads.values()) + " |", "|" + " --- |" * len(heads)]
        for row in sorted(self.rows, key=lambda row: np.inf if row["factor"] is None else row["factor"]):
            lines.append("| " + " | ".join(_cell(row[key]) for key in heads) + " |")
        return "\n".join(lines) + "\n"

    def _display_facts(self) -> Mapping[str, object]:
        made = self.design.mechanism
        known = {"factor": self.factor, "rho factor": self.rho_factor, "no less than": self.lower_bound}
        cut = {"cut": self.cut} if self.cut else {}
        return {**known, "family": self.best.family, "fingerprint": made.fingerprint[:HEAD], **cut}

    def _display_rows(self) -> Preview | None:
        first = [(one.target.query, one.target.kind, one.target.value, one.in_units) for one in self.reached[:SHOWN_ROWS]]
        return Preview(("query", "target on", "target", "reached"), first, len(self.reached))

    def to_frame(self, backend: str = "pandas") -> Any:
        """The curve, a row for each factor and query with a target: error against budget.

        backend: "pandas", "polars" or "pyarrow"."""
        rows = [{"factor": point.factor, **_row_of(one)} for point in self.curve for one in point.reached]
        return frame_of_rows(rows, ("factor", "query", "kind", "target", "reached"), backend)

    def to_text(self, width: int = WIDTH) -> str:
        """Both tables for people, no wider than so many characters: factors and errors rounded up, bounds from below down."""
        return "\n".join([*families_text(self.rows, width), "", "Error against budget", "", *curve_text(self._points(), width)])

    def _points(self) -> list[tuple[float, int, int, str, float, float]]:
        """The curve as a table: factor, targets met, all targets, the farthest, what it reaches, and its target."""
        worst = [(point, worst_of(point.reached)) for point in self.curve]
        return [
            (p.factor, sum(one.ratio <= 1 for one in p.reached), len(p.reached), w.target.query, w.in_units, w.target.value)
            for p, w in worst
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for machines."""
        return {
            "factor": self.factor,
            "rho_factor": self.rho_factor,
            "family": self.best.family,
            "step": self.step,
            "uncertain": self.uncertain,
            "missed_at": self.missed_at,
            "missed": _row_of(self.best.missed),
            "lower_bound": self.lower_bound,
            "fingerprint": self.design.mechanism.fingerprint,
            "reached": [_row_of(one) for one in self.reached],
            "families": [dict(row) for row in self.rows],
            "curve": [{"factor": p.factor, "reached": [_row_of(one) for one in p.reached]} for p in self.curve],
        }


def least_budget(problem: Any, targets: Targets, family: str = "auto", **options: Any) -> Any:
    """Find the least factor on all budgets at which designs meet the targets, by family.

    Once a family has an answer, none is started that will not fit into the work that is left. One that takes more than thought
    is stopped. Queries without a target get what noise is left by those that have one; give them targets to keep them useful.
    Raises `InvalidProblem` for targets of unknown queries and unusable numbers, `DesignFailed` where there is no such factor.

    Parameters
    ----------
    problem : of any kind with targets.
    targets : what the answers must reach.
    family : a name, or "auto" for all that `design` would try.
    **options
        of the family's builder, and those of the search. `step`: how near the factor is to one that is shown not to do,
        relatively. `curve`: on how many factors, from an eighth of the least to eight times it, error against budget is
        designed. `effort`, with "auto": how much counted work all families have together, three times as much as those of
        `design`. `seconds`: a limit on the clock besides, none by default.

    >>> import math
    >>> from designer import Problem, Targets, Workload, metrics
    >>> one = Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0))
    >>> found = least_budget(one, Targets(standard_error=0.5), "laplace")  # a variance of 1 / (2 sinh^2(factor / 2))
    >>> found.missed_at < 2 * math.asinh(2**0.5) <= found.factor < 2 * math.asinh(2**0.5) * 1.0001
    True
    """
    return problem_kind(problem).part("least_budget")(problem, targets, family, **options)


def least_linear(
    problem: Problem,
    targets: Targets,
    family: str = "auto",
    *,
    step: float = STEP,
    curve: int = POINTS,
    effort: str = "normal",
    seconds: float | None = None,
    **options: Any,
) -> LeastBudget:
    require_targets(targets).of(problem.workload.queries)
    relative = positive(step, "step")
    if not 1e-9 <= relative <= 1:
        raise InvalidProblem(f"step: {relative} is not from 1e-9 to 1; give the relative width of the answer.", value=relative)
    points, units, cap = count(curve, "curve"), SEVERAL * units_of(effort), cap_of(seconds)
    if family == "auto" and options:
        raise InvalidProblem(
            f"options: {shown(sorted(options))} unknown to 'auto'; name a family beside them. What limits a "
            "search is effort and seconds."
        )
    if family == "auto":
        # For zCDP no limit tells at which budgets pure noise could be ahead.
        tried = [one for one in automatic_families(problem) if problem.notion != "zcdp" or one.notion == "zcdp"]
        ways = runs_for(tried, problem, DESIGNS)
    else:
        ways = runs_for(chosen_families([family]), problem, DESIGNS, options)
    if family == "auto" or len(ways) > 1:
        allowance = WorkBudget(problem, units, cap, gap=False, any_size=family != "auto")
        found, rows = _by_family(problem, targets, relative, effort, allowance, ways)
    else:
        (named,) = chosen_families([family])
        made = maker(family, options, effort)
        with within(seconds=cap) as spent:
            try:
                only = factor_of_family(problem, targets, named.name, made, relative)
            except OutOfWork as stopped:
                raise DesignFailed(f"{named.name}: no factor yet; {cut_words(effort, True, spent.clock)}.") from stopped
        found, rows = [(only, made)], [_factor_row(only, named.name, cut_words(effort, True, spent.clock) if spent.cut else "")]
    if not found:
        raise DesignFailed(f"least_budget: no family has a least factor: { {row['family']: row['note'] for row in rows} }")
    best, make = min(found, key=lambda one: (rank_by_consistency(problem, one[0].design)[0], one[0].factor))
    return LeastBudget(problem, targets, best, tuple(rows), _curve(problem, targets, best, make, points))


def _by_family(
    problem: Problem, targets: Targets, step: float, effort: str, allowance: WorkBudget, ways: Sequence[FamilyRun]
) -> tuple[list[tuple[FamilyFactor, Builder]], list[dict[str, Any]]]:
    """The factor of every way, with the maker of its designs, and a row for each."""
    found: list[tuple[FamilyFactor, Builder]] = []
    rows: list[dict[str, Any]] = []
    wrong: InvalidProblem | None = None  # of the problem itself, where no family takes it; of one family's noise, otherwise
    for way in each_of(ways, "least budget", weight_of, allowance.units):
        if why := allowance.refusal(way, math.inf if found else None):
            rows.append(_failed(way.name, why))
            continue
        make = maker(way.family.name, way.options, effort)
        try:
            with allowance.running(way, bool(found)) as spent:
                found.append((factor_of_family(problem, targets, way.family.name, make, step), make))
            row = _factor_row(found[-1][0], way.name, cut_words(effort, False, spent.clock) if spent.cut else "")
            words = rank_by_consistency(problem, found[-1][0].design)[1]
            rows.append(row | {"note": "; ".join(filter(None, (words, row["note"])))})
        except Exception as failure:
            wrong = wrong or (failure if isinstance(failure, InvalidProblem) else None)
            rows.append(_failed(way.name, reason(failure)))
    if wrong and not found:
        raise wrong
    return found, rows


def maker(family: str, options: Mapping[str, Any], effort: str = "normal") -> Builder:
    return lambda problem: design(problem, family, effort=effort, **options)


def _curve(problem: Problem, targets: Targets, best: FamilyFactor, make: Builder, points: int) -> tuple[CurvePoint, ...]:
    """Designs at factors around the least one, which is among them; factors at which none is found are left out."""
    around = best.factor * np.geomspace(1 / SPAN, SPAN, points) if points > 1 else np.array([best.factor])
    found = [CurvePoint(best.factor, best.reached)]
    for factor in track(around.tolist(), "error against budget"):
        if abs(factor / best.factor - 1) > 1e-9:
            try:
                made = made_at(factor, best.base, make)
            except DesignFailed:
                continue
            found.append(CurvePoint(factor, reached_by(made.mechanism, problem, targets)))
    return tuple(sorted(found, key=lambda point: point.factor))


def _factor_row(one: FamilyFactor, name: str, cut: str) -> dict[str, Any]:
    worst = worst_of(one.reached)
    return {
        "family": name,
        "factor": one.factor,
        "rho_factor": one.rho_factor,
        "lower_bound": one.lower_bound,
        "missed_at": one.missed_at,
        "worst": worst.target.query,
        "loss": one.design.loss,
        "seconds": one.seconds,
        "note": "; ".join(filter(None, (one.words, cut))),
        "cut": cut,
    }


def _failed(family: str, note: str) -> dict[str, Any]:
    return {**dict.fromkeys(HEADS), "family": family, "note": note, "cut": ""}


def _row_of(one: Reached) -> dict[str, Any]:
    return {"query": one.target.query, "kind": one.target.kind, "target": one.target.value, "reached": one.in_units}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else in_markdown(value)
