"""A problem at many budgets: what every family reaches, what no noise can, and what an attacker gains, as plain data.

Every number is one that `design`, or a limit, gives for the problem file with the other budget in it, as the text that a
reader sees. Where a search is long and its noise has the same shape at all budgets, one search is certified anew at each
(`stretched`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from designer.accounts.composition.privacy_in_words import asked_words
from designer.base.checks import count, shown
from designer.base.display import at_least, at_most
from designer.base.errors import DesignFailed, InvalidProblem, NoFeasibleAttribute, Refusal
from designer.base.progress import each_of, step
from designer.base.version import VERSION
from designer.certificate.implicit_rows import LARGE
from designer.designing.auto import CHEAP, SEVERAL, FamilyRun, chosen_families, estimated, runs_for, units_of
from designer.designing.comparison import compare
from designer.designing.design_result import Design
from designer.designing.dispatch import design
from designer.designing.factor_search import largest_biases
from designer.designing.family import Sizes
from designer.designing.least_noise import PROGRAM_ROWS, least_half_widths, limit
from designer.designing.printouts import loss_words, rank
from designer.designing.problem_kinds import REPORT, problem_kind
from designer.designing.rescale import certificate_work, stretched, stretches
from designer.limits import MOST_EXPLORED_POINTS
from designer.problem.relation import Relation
from designer.problem_file.forms import ProblemFile
from designer.problem_file.what_if import Varied, varied_file
from designer.publish.content import named
from designer.publish.contributor import odds_but_for, odds_row
from designer.publish.meanings import Meaning, below, meanings_of, move_by, off_by, percent, scale_of, telling_distances
from designer.publish.page import DARK, LIGHT, POLICY, TEMPLATES, contributor_of, template, variables
from designer.publish.pictures.style import PALETTE
from designer.relations.delta_lengths import with_changes_of
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.problem import Problem
from solvers.work import OutOfWork, spend, within

POINTS = 20
DECADES = 2.0  # from the smallest budget to the largest
ANSWERS = 30  # that are told one by one
RECORDS = 1000  # of the made-up table
SMALL, LARGE_LIMIT = 500, 1.5e6  # entries of a workload, and of its differences, up to which the limit takes a moment
DISTANCES = 12
WITHIN = "off by at most, 95 % of the time"
GUESSES = "right guesses of somebody who knows the prior and sees one report"
DRAWN, BASELINE = 3, "uniform_budget"  # the best families at first, and what one budget for all takes
NOT_PROVEN, LEFT_OUT = "not proven", "left out"
MOST_WIDTHS = 1000  # of answers at all points, of all families: where they are simulated, 100,000 draws each, 25 s together
REPORTS = {
    "channel": "the report of least loss",
    "poles": "the best mixture of exponential reports",
    "exponential": "exponential mechanism",
    "randomised_response": "randomised response",
    "subset_selection": "subset selection",
    "geometric": "geometric noise, cut to the values",
    "planar": "planar Laplace noise, moved to the nearest value",
}
Values = Mapping[str, str]


@dataclass(eq=False)
class Explorer:
    """A problem file, the families that are tried on it, and their designs at its own budget.

    choices: the numbers of each place of the file, as texts, the budget last. base: the designs at the numbers of the file.
    ways: how each of these families is designed; None of reports. work: about how many units that takes. telling: how many
    what is told of a design took at the budget of the file. skipped: families and places of the grid for which the work does
    not reach. notes: what a reader should know.
    """

    file: Varied
    request: ProblemFile
    effort: str
    choices: dict[str, tuple[str, ...]]
    base: dict[str, Design[Any]]
    ways: dict[str, FamilyRun | None] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    telling: dict[str, float] = field(default_factory=dict)
    skipped: set[tuple[str, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    _bases: dict[tuple[str, ...], Design[Any]] = field(default_factory=dict)

    @cached_property
    def problem(self) -> Any:
        return self.request.compared

    @cached_property
    def grid(self) -> list[tuple[Values, Any]]:
        """The numbers of every point, by place, and the problem there; an invariant leaves the same changes at every budget."""
        chosen = [dict(zip(self.choices, numbers, strict=True)) for numbers in product(*self.choices.values())]
        found = [self.problem if values == self.file.own else self.file.request(values).compared for values in chosen]
        for values, problem in zip(chosen, found, strict=True):
            known = found[chosen.index(dict(self.at_own_budget(values)))].relation
            if isinstance(known, (InvariantChanges, LinkedChanges, InvariantMetric)) and problem.relation is not known:
                with suppress(NoFeasibleAttribute):  # more than are listed
                    _ = known.listed and known.changes
                with_changes_of(known, problem.relation)
        return list(zip(chosen, found, strict=True))

    @cached_property
    def distances(self) -> list[Any]:
        """How far a record moves in what is told of the attacker; empty where budgets are no multiples of a distance."""
        relation = self.problem.relation
        return telling_distances(relation, DISTANCES) if scale_of(relation) else []

    @cached_property
    def wide(self) -> set[str]:
        """The families of which widths are told at every point, the best at the budget of the file; a note names the others,
        whose widths are told where they are best."""
        order = sorted(self.ways, key=lambda name: self.rank(name, self.base[name].loss))
        answers = 1 if problem_kind(self.problem) is REPORT else len(self.problem.workload.queries)
        kept = max(DRAWN, MOST_WIDTHS // (answers * len(self.grid)))
        told = {name for place, name in enumerate(order) if place < kept or name == BASELINE}
        if left := [name for name in order if name not in told]:
            self.notes.append(f"{', '.join(left)}: how far off answers are is left out where another family loses less")
        return told

    def at_own_budget(self, values: Values) -> Values:
        """The same numbers, but for the budget, which is that of the file."""
        return {**values, "budget": self.file.own["budget"]}

    def rank(self, name: str, loss: float) -> tuple[float, bool]:
        """The order of families that lose so much, as in a comparison."""
        way = self.ways[name]
        return rank(loss, way is not None and way.family.baseline)

    def is_scaled(self, name: str) -> bool:
        """Whether one search does for all budgets."""
        return self.work[name] > CHEAP and stretches(self.base[name])

    def designed(self, name: str, values: Values, problem: Any) -> Design[Any]:
        """A family at other numbers: its own design there, or the one of a long search narrower or wider."""
        if values == self.file.own:
            return self.base[name]
        own = self.at_own_budget(values)
        if self.is_scaled(name) and values != own:
            key = (name, *own.values())
            if key not in self._bases:
                self._bases[key] = self.designed(name, own, self.file.request(own).compared)
            return stretched(self._bases[key], float(values["budget"]) / float(own["budget"]), problem)
        way = self.ways[name]
        if way is None:
            return design(problem, name)
        return design(problem, way.family.name, effort=self.effort, **way.options)

    def points(self) -> list[dict[str, Any]]:
        """What is told at all places of the grid, those near the budget of the file first, where it tells how much the others
        take; what the work does not reach is left out, with a note."""
        near, made = sorted(range(len(self.grid)), key=self._distance), dict[int, dict[str, Any]]()
        allowed = SEVERAL * units_of(self.effort)
        with within() as counted:
            made[near[0]] = self.point(near[0], lambda: False)
            told = self.forecast(allowed - counted.spent, near[1:])
            left = 0
            with step(f"budgets, about {told:.3g} units of work"):
                for place in each_of(near[1:], "budgets"):
                    before = len(self.skipped)
                    made[place] = self.point(place, lambda: counted.spent >= allowed)
                    left += len(self.skipped) > before
        if left:
            self.notes.append(f"{left} of {len(near)} points: some families left out when all {allowed:g} units were spent")
        return [made[place] for place in range(len(near))]

    def point(self, place: int, is_over: Callable[[], bool]) -> dict[str, Any]:
        """What is told at one place of the grid, of the families that come before the work is over."""
        values, problem = self.grid[place]
        designs: dict[str, Design[Any]] = {}
        for name in self.ways:
            if (name, place) not in self.skipped and is_over():
                self.skipped.add((name, place))
            if (name, place) not in self.skipped:
                with suppress(Refusal, ArithmeticError, ValueError, OutOfWork):
                    designs[name] = self.designed(name, values, problem)
                    spend(0.0 if values == self.file.own else certificate_work(self.base[name]))
        best = min(designs, key=lambda name: self.rank(name, designs[name].loss), default=None)
        answers = dict[str, list[str]]()
        for name, made in designs.items():
            with within() as counted:
                answers[name] = _answers_of(made, name in self.wide or name == best)
            self.telling.setdefault(name, counted.spent)
        return {
            "families": answers,
            "floor": _floor(problem, designs),
            "best": best,
            "privacy": asked_words(problem.relation, problem.notion, problem.delta),
            "odds": [] if best is None else self._odds(designs[best].mechanism, problem.relation),
        }

    def _odds(self, made: Any, relation: Relation) -> list[Sequence[str]]:
        """What changes mean, and behind it but for what that holds: the same distances at every budget, and the farthest; or
        those of a report."""
        told = meanings_of(relation, contributor_of(made).elements(made))
        moves: list[Meaning] = [move_by(distance, relation) for distance in self.distances]
        return [(*odds_row(made, meant), odds_but_for(made, meant)) for meant in ((*moves, told[-1]) if moves else told)]

    def forecast(self, left: float, near: Sequence[int]) -> float:
        """Skip what does not fit into the units that are left, families of the least work and nearest budgets first; how many
        the rest takes, about.

        Raises `DesignFailed` where no family is designed at another budget than its own.
        """
        allowed = left
        wanted = {name: sum(self._units(name, place) for place in near) for name in self.ways}
        for name in sorted(wanted, key=lambda name: (wanted[name], self.base[name].loss)):
            for place in near:
                units = self._units(name, place)
                if units > left:
                    self.skipped.add((name, place))
                else:
                    left -= units
            missing = sum(skipped == name for skipped, _ in self.skipped)
            if missing:
                self.notes.append(
                    f"{name}: not designed at {missing} of {len(self.grid)} points; all take about {wanted[name]:.3g} units of "
                    f"work, and all families have {allowed:.3g} together"
                )
            elif self.is_scaled(name):
                self.notes.append(f"{name}: one search, certified anew at each budget")
        if len(self.skipped) == len(self.ways) * len(near) > 0:
            raise DesignFailed(
                f"explore: {'; '.join(self.notes)}. Take fewer budgets (--points), one family (--family), or --effort thorough."
            )
        return allowed - left

    def _distance(self, place: int) -> tuple[bool, bool, float]:
        """The numbers of the file first, then places at its budget, then the nearest."""
        values = self.grid[place][0]
        own, here = float(self.file.own["budget"]), float(values["budget"])
        return values != self.file.own, here != own, abs(math.log(here / own))

    def _units(self, name: str, place: int) -> float:
        """About how much work a design, its certificate and what is told of it are there; infinite where it is that of another
        one, which is skipped."""
        values, problem = self.grid[place]
        told = certificate_work(self.base[name]) + self.telling.get(name, 0.0)
        if self.is_scaled(name) and (own := self.at_own_budget(values)) != values:
            first = next(k for k, (numbers, _) in enumerate(self.grid) if numbers == own)
            return math.inf if (name, first) in self.skipped else told
        way = self.ways[name]
        if way is None or self.base[name].cut:
            return self.work[name] + told
        return estimated(way.family, way.options, Sizes(problem)) + told


def explored(
    path: Path, families: Sequence[str] | None = None, *, effort: str = "normal", points: int = POINTS
) -> dict[str, Any]:
    """What a problem file leads to at `points` budgets, from a tenth of its own on to nearly ten times, as plain data.

    families: named ones with every choice of their options; where none are named, of those that take a moment the three that
    lose least at the budget of the file, and notes name the others. effort: the counted work of each search. All that follow
    the first comparison, with their certificates and what is told of answers, have as much together as it may have: what does
    not fit by a forecast, or comes when that is spent, is left out, with a note. Raises `InvalidProblem` for a file that has no
    one number for its budgets, and `DesignFailed` where nothing fits.
    """
    if not 3 <= count(points, "points") <= MOST_EXPLORED_POINTS:
        raise InvalidProblem(
            f"points: {shown(points)} is not from 3 to {MOST_EXPLORED_POINTS}; {POINTS} make smooth curves.", value=points
        )
    file, request = varied_file(path)
    found = Explorer(file, request, effort, _choices(file, points), {})
    with step("the budget of the file"):
        _compare(found, families)
    if not found.base:
        raise DesignFailed("explore: no family has a mechanism at the budget of the file; dp-designer compare says why.")
    return _plain(found, found.points())


def _choices(file: Varied, points: int) -> dict[str, tuple[str, ...]]:
    """Other numbers for each place: budgets in equal ratios, adjacencies of one more and less, deltas ten times as large and
    small."""
    own, digits = float(file.own["budget"]), 2 if points <= POINTS else 3
    found: dict[str, tuple[str, ...]] = {}
    if "adjacency" in file.own:
        known = int(file.own["adjacency"])
        found["adjacency"] = tuple(text for text in map(str, (known - 1, known, known + 1)) if _reads(file, adjacency=text))
    if "delta" in file.own:
        delta = file.own["delta"]
        near = (f"{float(delta) / 10:.2g}", delta, f"{float(delta) * 10:.2g}")
        found["delta"] = tuple(text for text in near if _reads(file, delta=text))
    first = -(points // 2)
    ratios = [10 ** (DECADES * k / points) for k in range(first, first + points)]
    found["budget"] = tuple(file.own["budget"] if ratio == 1 else f"{own * ratio:.{digits}g}" for ratio in ratios)
    return found


def _reads(file: Varied, **values: str) -> bool:
    """Whether the file is one with these numbers in it."""
    try:
        _ = file.request({**file.own, **values}).compared
    except InvalidProblem:
        return False
    return True


def _compare(found: Explorer, families: Sequence[str] | None) -> None:
    """The designs at the budget of the file, and what each takes; reports have no ways, but a name alone."""
    problem, effort = found.problem, found.effort
    if problem_kind(problem) is REPORT:
        for name in each_of(list(families or problem.families), "families"):
            with within() as counted:
                made = compare(problem, [name], effort=effort).designs
            if made:
                found.base |= made
                found.work[name], found.ways[name] = counted.spent, None
        return
    ways = runs_for(chosen_families(families), problem)
    first = ways if families is not None else _first(ways, problem)
    for way in each_of(first, "families"):
        with suppress(Refusal, ArithmeticError, ValueError, OutOfWork), within() as counted:
            found.base[way.name] = design(problem, way.family.name, effort=effort, **way.options)
            found.work[way.name], found.ways[way.name] = counted.spent, way
    if families is None:
        _keep_best(found, [way for way in ways if way not in first and _is_compared(way, problem)])


def _first(ways: Sequence[FamilyRun], problem: Problem) -> list[FamilyRun]:
    """Those that take a moment, or where there are none the first."""
    asked = [way for way in ways if _is_compared(way, problem)]
    return [way for way in asked if way.work <= CHEAP] or asked[:DRAWN]


def _is_compared(way: FamilyRun, problem: Problem) -> bool:
    """Whether `compare` tries a family without its name."""
    return not way.family.on_request and way.family.serves(problem) and way.family.concerns(problem)


def _keep_best(found: Explorer, later: Sequence[FamilyRun]) -> None:
    """Leave the best families and what one budget for all takes, with notes on the others and on those not begun."""
    order = sorted(found.ways, key=lambda name: found.rank(name, found.base[name].loss))
    if left := [name for name in order[DRAWN:] if name != BASELINE]:
        found.notes.append(f"{', '.join(left)}: left out, others lose less at the budget of the file; --family NAME adds one")
        found.ways = {name: way for name, way in found.ways.items() if name not in left}
        found.base = {name: found.base[name] for name in found.ways}
    if later:
        told = ", ".join(f"{way.name} (about {way.work:.2g})" for way in later)
        found.notes.append(f"not designed, by units of work at one budget: {told}; --family NAME adds one")


def _answers_of(made: Design[Any], wide: bool = True) -> list[str]:
    """How far off every answer is, where `wide` asks for that, and the loss; of a report its loss, and how often its value is
    guessed."""
    if problem_kind(made.problem) is REPORT:
        return [at_most(made.loss), percent(made.mechanism.best_guess)]
    widths = [LEFT_OUT] * min(ANSWERS, len(made.problem.workload.queries))
    if wide:
        try:
            off = made.mechanism.margins() + largest_biases(made.mechanism, made.problem)
            widths = [off_by(width) for width in off[:ANSWERS].tolist()]
        except (DesignFailed, InvalidProblem):
            widths = [NOT_PROVEN] * len(widths)
    return [*widths, at_most(made.loss)]


def _floor(problem: Any, designs: Mapping[str, Design[Any]]) -> list[str]:
    """What is proven to be needed: of each answer, and of the loss; empty where nothing is."""
    if problem_kind(problem) is REPORT:
        proven = [made.optimality.lower_bound for made in designs.values() if made.optimality is not None]
        return [at_least(max(proven)) if proven else "", ""]
    answers = min(ANSWERS, len(problem.workload.queries))
    widths, sizes = least_half_widths(problem), Sizes(problem)
    rows = PROGRAM_ROWS if sizes.queries * sizes.elements <= SMALL else 0
    found = limit(problem, rows=rows, closed=sizes.queries * sizes.pairs > LARGE_LIMIT)
    each = [""] * answers if widths is None else [below(width) for width in widths[:answers].tolist()]
    return [*each, "" if found is None else at_least(found.value)]


def _quantities(problem: Any, request: ProblemFile) -> list[dict[str, str]]:
    """What is told of every design: of what, in which unit, and what the number is."""
    together = {"name": "all answers together", "unit": "", "words": loss_words(problem)}
    if problem_kind(problem) is REPORT:
        return [{**together, "name": "a report"}, {"name": "an attacker", "unit": "", "words": GUESSES}]
    queries = problem.workload.queries[:ANSWERS]
    return [{"name": named(name), "unit": named(request.about.unit(name)), "words": WITHIN} for name in queries] + [together]


def _made_up(problem: Any) -> list[float] | None:
    """The answers of a table in which the k-th element has a k-th of the records of the first; None where a table of records
    has to agree with others, or is too large."""
    if problem_kind(problem) is REPORT or problem.relation.counted_tables or math.prod(problem.workload.shape) > LARGE:
        return None
    shares = 1 / np.arange(1, problem.workload.shape[1] + 1)
    counts = np.round(RECORDS * shares / shares.sum())
    return [float(f"{answer:.4g}") for answer in (problem.workload.dense()[:ANSWERS] @ counts).tolist()]


def _plain(found: Explorer, points: list[dict[str, Any]]) -> dict[str, Any]:
    """Plain data, families that are the same at every point as one."""
    same: dict[str, list[str]] = {}
    for name in sorted(found.ways, key=lambda name: found.rank(name, found.base[name].loss)):
        same.setdefault(repr([point["families"].get(name) for point in points]), []).append(name)
    first = {name: names[0] for names in same.values() for name in names}
    for point in points:
        point["families"] = {name: told for name, told in point["families"].items() if first[name] == name}
        point["best"] = first.get(point["best"])
    problem = found.problem
    return {
        "title": named(found.request.title, 200),
        "file": named(found.file.path.name),
        "reports": problem_kind(problem) is REPORT,
        "label": found.file.label,
        "choices": [
            {"name": name, "values": values, "own": values.index(found.file.own[name])}
            for name, values in found.choices.items()
        ],
        "pieces": found.file.pieces,
        "families": [
            {
                "name": names[0],
                "words": _words(found, names[0]),
                "same": [_words(found, name) for name in names[1:]],
                "drawn": place < DRAWN or BASELINE in names,
            }
            for place, names in enumerate(same.values())
        ],
        "answers": _quantities(problem, found.request),
        "more": max(0, len(problem.workload.queries) - ANSWERS) if isinstance(problem, Problem) else 0,
        "records": RECORDS,
        "made_up": _made_up(problem),
        "notes": found.notes,
        "points": points,
    }


def _words(found: Explorer, name: str) -> str:
    """A family as people call it, and the options where there is a choice."""
    way, (_, _, options) = found.ways[name], name.partition(", ")
    if way is None:
        return REPORTS[name]
    return way.family.title + (f" ({options})" if options else "").replace("search False", "without a search")


# The page to explore a problem at many budgets: one file of HTML with its numbers, its style and its script within it.


def explorer_html(found: Mapping[str, Any]) -> str:
    """What `explored` found as a page that loads nothing: the same numbers give the same bytes.

    Raises `InvalidProblem` where Jinja2 (extra `report`) is missing.
    """
    from markupsafe import Markup

    script = (TEMPLATES / "explore.js").read_text(encoding="utf-8")
    # Browsers run the one script of this digest, whatever a name in the data says.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    numbers = json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    made: str = template("explore.html.jinja").render(
        title=found["title"],
        software=f"dp-designer {VERSION}",
        policy=f"{POLICY}; script-src 'sha256-{digest}'",
        light=variables(LIGHT),
        dark=variables(DARK),
        palette=PALETTE,
        script=Markup(script),
        numbers=Markup(numbers.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")),
        choices=found["choices"],
        reports=found["reports"],
    )
    return made
