"""Pictures of a plan: the noise of each query, and what a record loses by each of its measures.

What is drawn of every mechanism for linear queries: the noise of each answer, its cloud, and the norm ball behind it.

One draw of integer noise on a table as a picture: the cells in colours, where every published sum is 0.

The standard errors of marginal tables as a picture.

How likely a selection is to prefer the worse of two candidates, by the gap between their scores.

The profile of stairs: how probable each step of the noise is.

The errors of products of queries as a picture, term by term.

Tradeoff functions as curves: the type II error of the best test by its type I error, and delta by epsilon.

What a record loses under policies, by the value of one of its measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.norms import Norm
from designer.mechanism.interface import Mechanism
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import Stairs
from designer.problem.relation import Relation
from designer.publish.pictures.balls import DrawnBall, ball_drawing, boundary
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.figures import bars_by_name, remark, size_for, table_in_colours
from designer.publish.pictures.labels import as_text, legend, shortened, with_unit
from designer.publish.pictures.maps import map_drawing, neighbourhood_drawing
from designer.publish.pictures.numerals import for_people, no_less, ticks_for_people
from designer.publish.pictures.style import colour, ink, series_style
from designer.relations.metrics.points import GreatCircle

if TYPE_CHECKING:
    from designer.domains.marginals import MarginalMechanism
    from designer.domains.products import StructuredMechanism
    from designer.lattice.mechanism import LatticeMechanism
    from designer.local.mechanism import Channel
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.selection.mechanism import Selection
    from designer.tables.plan import TablePlan

DRAWS, SEED = 2000, 0
MOST_DRAWN = 10_000  # answers, whose draws take 160 MB; of more there is no cloud
LEVELS = (1.0, 2.0, 4.0)  # lengths at which the ball is drawn around a cloud


def mechanism_drawings(mechanism: Mechanism) -> tuple[Drawing, ...]:
    """The standard error of every answer, a cloud of noise in the first two where answers are not too many, the norm ball in
    two or three dimensions, and the neighbourhoods of places on the globe."""
    ball = ball_of(mechanism)
    cloud = noise_drawing(mechanism) if mechanism.workload.shape[0] <= MOST_DRAWN else None
    found = [_errors_where_known(mechanism), cloud, None if ball is None else ball_drawing(ball)]
    found.append(neighbourhoods(mechanism.relation, mechanism.workload.elements))
    return tuple(drawing for drawing in found if drawing is not None)


def neighbourhoods(relation: Relation, elements: Sequence[str]) -> Drawing | None:
    """Around each place the distance that costs a budget of 1, where budgets are distances on the globe."""
    if not isinstance(relation, GreatCircle):
        return None
    return neighbourhood_drawing(relation.places, np.full(relation.size, 1 / relation.per_km), elements)


def staircase_drawings(mechanism: StaircaseMechanism) -> tuple[Drawing, ...]:
    """The same, and the profile of the noise where it is one of stairs."""
    noise = mechanism.noise
    profile = (stairs_drawing(noise, float(mechanism.grid.step(0))),) if isinstance(noise, Stairs) else ()
    return (*mechanism_drawings(mechanism), *profile)


def lattice_drawings(mechanism: LatticeMechanism) -> tuple[Drawing, ...]:
    """The same, and one draw of the noise on the cells of the table."""
    return (*mechanism_drawings(mechanism), *noise_on_cells(mechanism))


def choice_drawings(mechanism: Selection) -> tuple[Drawing, ...]:
    """How likely the worse of two candidates is preferred, by the gap between their scores."""
    return selection_drawings(mechanism.law, mechanism.rate, mechanism.shortfall_bound(TAIL))


def channel_drawings(mechanism: Channel) -> tuple[Drawing, ...]:
    """Where the reports of the most central value fall: on a map where values and reports are places, as bars elsewhere."""
    names, reports = list(map(str, mechanism.elements)), list(map(str, mechanism.reports))
    centre = int(mechanism.relation.distances().sum(axis=1).argmin())
    chances = mechanism.channel[centre]
    title = f"Where reports of {names[centre]} fall"
    place = {name: k for k, name in enumerate(names)}
    if isinstance(mechanism.relation, GreatCircle) and set(reports) <= set(place):
        spots = mechanism.relation.places[[place[name] for name in reports]]
        return (map_drawing(spots, chances, reports, title, "probability of a report", "reports"),)
    most = int(chances.argmax())
    alt = (
        f"Bars for the probabilities of {len(reports)} reports of {names[centre]}, the largest "
        f"{for_people(float(chances[most]))} ({reports[most]})."
    )

    def draw(axes: Any) -> None:
        bars_by_name(axes, reports, chances, "probability of a report")

    return (Drawing("reports", title, alt, draw, **size_for(reports)),)


def odds_ratio_drawings(mechanism: OddsRatioTest) -> tuple[Drawing, ...]:
    """The tradeoff function that is promised."""
    return (tradeoff_drawing({"the promise": mechanism.tradeoff}),)


def release_maps(mechanism: Any, tables: Sequence[AnswerTable]) -> tuple[Drawing, ...]:
    """Released counts of places at their places; none where elements are no places, or other queries were asked."""
    if len(tables) != 1 or not isinstance(getattr(mechanism, "relation", None), GreatCircle):
        return ()
    if not hasattr(mechanism, "workload") or not mechanism.workload.is_identity:
        return ()
    names = mechanism.workload.elements
    label = with_unit("noisy answer", mechanism.about.unit(names[0]))
    return (map_drawing(mechanism.relation.places, tables[0].answers, names, "Noisy answers on a map", label),)


def ball_of(mechanism: Mechanism) -> DrawnBall | None:
    """The norm that the noise follows with what it must contain, in measured coordinates; None for noise without a norm."""
    norm = getattr(mechanism, "norm", None)
    if not isinstance(norm, Norm) or norm.silent.all():
        return None
    own = norm.dimension == mechanism.workload.shape[0] and _on_answers(mechanism)
    names = mechanism.workload.queries if own else [f"measurement {k + 1}" for k in range(norm.dimension)]
    return DrawnBall(norm, mechanism.sensitivity(), names)


def errors_of(mechanism: Mechanism) -> tuple[Sequence[str], Floats, str]:
    """The names of the answers, their standard errors, (K,), and what the axis of these is called; what an answer is counted in
    stands beside its name, or, where it is the same for all, beside the label."""
    names, unit = mechanism.workload.queries, mechanism.about.unit
    units = {unit(name) for name in names}
    label = "standard error of the noise"
    if len(units) == 1:
        return names, mechanism.standard_errors(), with_unit(label, units.pop())
    return [with_unit(name, unit(name)) for name in names], mechanism.standard_errors(), label


def _errors_where_known(mechanism: Mechanism) -> Drawing | None:
    try:
        return errors_drawing(mechanism)
    except DesignFailed:  # no variance of a chain is proven
        return None


def errors_drawing(mechanism: Mechanism) -> Drawing:
    """Bars: the standard error of every answer, the largest thirty of many."""
    names, errors, label = errors_of(mechanism)
    low, high = int(errors.argmin()), int(errors.argmax())
    ends = f"from {no_less(errors[low])} ({names[low]}) to {no_less(errors[high])} ({names[high]})"
    if len({mechanism.about.unit(name) for name in mechanism.workload.queries}) > 1:
        ends = "each in its own unit"
    alt = f"Bars for the standard errors of {len(errors)} answers, {ends}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, label)

    return Drawing("errors", "Standard error of each answer", alt, draw, **size_for(names))


def noise_drawing(mechanism: Mechanism, first: int = 0, second: int = 1) -> Drawing:
    """Simulated draws of the noise in two answers, with the norm ball around them where it lives on these; of a single answer
    its histogram."""
    if mechanism.workload.shape[0] == 1:
        alt = f"Histogram of {DRAWS} simulated draws of the noise in the answer."
        return Drawing("noise", "Simulated noise", alt, lambda axes: _draw_histogram(axes, mechanism))
    names = [mechanism.workload.queries[k] for k in (first, second)]
    alt = f"A cloud of {DRAWS} simulated draws of the noise in the answers {names[0]} and {names[1]}, around no noise."
    return Drawing("noise", "Simulated noise in two answers", alt, lambda axes: _draw_cloud(axes, mechanism, first, second))


def _draw_histogram(axes: Any, mechanism: Mechanism) -> None:
    draws = np.asarray(mechanism.simulate(DRAWS, seed=SEED))[:, 0]
    axes.hist(draws, bins=41, color=colour(0), alpha=0.8)
    error = float(mechanism.standard_errors()[0])
    for place in (-error, error):
        axes.axvline(place, color=ink(axes), linewidth=1, linestyle="--")
    as_text(axes.set_xlabel(noise_label(mechanism, 0)))
    remark(axes, "a simulation, no release; dashed: one standard error")
    axes.set_ylabel(f"of {DRAWS} simulated draws")
    ticks_for_people(axes.xaxis)


def _draw_cloud(axes: Any, mechanism: Mechanism, first: int, second: int) -> None:
    draws = np.asarray(mechanism.simulate(DRAWS, seed=SEED))[:, [first, second]]
    dots = axes.scatter(*draws.T, s=5, color=colour(1), alpha=0.45, linewidths=0, rasterized=True)
    handles, names = [dots], [f"{DRAWS} simulated draws"]
    for level, outline in levels(mechanism):
        (line,) = axes.plot(*outline.T, color=colour(0), linewidth=1.1)
        if level == LEVELS[0]:
            handles.append(line)
            names.append(f"shifts that spend {', '.join(for_people(level) for level in LEVELS)}")
    reach = 1.05 * np.abs(draws).max(axis=0, initial=0.0)
    for axis, far, place in zip("xy", reach.tolist(), (first, second), strict=True):
        if far:
            getattr(axes, f"set_{axis}lim")(-far, far)
        line = getattr(axes, f"{axis}axis")
        as_text(line.set_label_text(noise_label(mechanism, place)))
        ticks_for_people(line)
    legend(axes, handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2.0)
    remark(axes, "a simulation, no release")


def noise_label(mechanism: Mechanism, place: int) -> str:
    """What an axis of noise in one answer is called, with its unit."""
    query = mechanism.workload.queries[place]
    return with_unit(f"noise in {shortened([query])[0]}", mechanism.about.unit(query))


def levels(mechanism: Mechanism) -> list[tuple[float, Floats]]:
    """Shifts of two answers that spend the same, for the budgets `LEVELS`, (n, 2) each, in the order of turns; none where the
    norm does not live on these two answers."""
    ball = ball_of(mechanism)
    if ball is None or len(ball.heard) != 2 or mechanism.workload.shape[0] != 2 or not _on_answers(mechanism):
        return []
    outline = boundary(ball)
    return [(level, level * outline) for level in LEVELS]


def _on_answers(mechanism: Mechanism) -> bool:
    return getattr(mechanism, "measured", None) is None and getattr(mechanism, "cells", None) is None


MOST_CELLS = 4000
MOST_SIDE = 60


@dataclass(frozen=True, eq=False)
class CellOrder:
    """The cells of a table by rows and columns: `places`, (n, m), of its elements, with the names of both."""

    places: NDArray[np.intp]
    rows: Sequence[str]
    columns: Sequence[str]


def noise_on_cells(mechanism: LatticeMechanism) -> tuple[Drawing, ...]:
    """A draw of noise on the table where it has rows and columns; none elsewhere."""
    order = cell_order(mechanism)
    if order is None:
        return ()
    rows, columns = order.places.shape
    alt = f"A table of {rows} rows and {columns} columns: a simulated draw of the noise, which leaves published sums alone."
    width, height = 3.6 + min(0.5 * columns, 9.0), 1.9 + min(0.32 * rows, 8.0)

    def draw(axes: Any) -> None:
        noise = mechanism.draw(1, SEED)[0][order.places].astype(np.float64)
        table_in_colours(axes, noise, order.rows, order.columns, "noise")
        remark(axes, "a simulation, no release")

    return (Drawing("table", "A draw of the noise, cell by cell", alt, draw, width=width, height=height),)


def cell_order(mechanism: LatticeMechanism) -> CellOrder | None:
    """Rows and columns of the table, by the columns that name its elements, or by two published margins that cross; None
    where it has other shapes, or more cells than a picture shows."""
    keys, structure = mechanism.workload.keys, mechanism.relation.invariant.structure
    size = mechanism.relation.size
    if size > MOST_CELLS:
        return None
    if keys is not None and len(keys.columns) == 2:
        rows, columns = (list(dict.fromkeys(row[k] for row in keys.rows)) for k in (0, 1))
        if len(rows) * len(columns) == size and max(len(rows), len(columns)) <= MOST_SIDE:
            known = {row: place for place, row in enumerate(keys.rows)}
            places = np.array([[known[row, column] for column in columns] for row in rows])
            return CellOrder(places, rows, columns)
    if structure is not None and structure.kind == "margins" and len(structure.levels) == 2 and structure.repeats == 1:
        n, m = structure.levels
        named = [f"row {k + 1}" for k in range(n)], [f"column {k + 1}" for k in range(m)]
        return CellOrder(structure.order.reshape(n, m), *named) if max(n, m) <= MOST_SIDE else None
    return None


def marginal_drawings(mechanism: MarginalMechanism) -> tuple[Drawing, ...]:
    """Bars: the largest standard error of a cell of each table, the largest thirty of many."""
    errors = np.array([math.sqrt(mechanism.variances_of(k).max()) for k in range(len(mechanism.workload.subsets))])
    words = "standard error of a cell"
    return _bars_of_tables(mechanism, errors, "Standard error of the cells of each table", words, f"largest {words}", "tables")


def _bars_of_tables(
    mechanism: MarginalMechanism | StructuredMechanism, errors: Floats, title: str, axis: str, words: str, tables: str
) -> tuple[Drawing, ...]:
    """Bars of the errors, (T,), of tables or terms."""
    names, (low, high) = list(mechanism.workload.titles), (no_less(float(own)) for own in (errors.min(), errors.max()))
    alt = f"Bars for the {words} of each of {len(names)} {tables}, from {low} to {high}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, axis)

    return (Drawing("errors", title, alt, draw, **size_for(names)),)


TAIL = 0.05
REACH = 8.0  # of the axis, in units of 1 / rate


def chance_of_worse(law: str, rate: float, gaps: Floats) -> Floats:
    """The probability that the worse of two candidates is chosen, whose scores lie so far apart, (n,).

    The exponential law chooses with weights `exp(rate score)`; permutation and flip takes the worse one first half of the time,
    and keeps it with probability `exp(-rate gap)`.
    """
    falling = np.exp(-rate * np.asarray(gaps, dtype=np.float64))
    return np.asarray(falling / (1 + falling) if law == "exponential" else falling / 2)


def selection_drawings(law: str, rate: float, shortfall: float) -> tuple[Drawing, ...]:
    """A curve of that probability, and the gap that the chosen candidate exceeds with probability 5 % at most.

    shortfall: that gap, among all candidates.
    """
    far = max(REACH / rate, 1.1 * shortfall)
    alt = (
        f"A falling curve: of two candidates the worse one is chosen with probability 1/2 where their scores are equal, and "
        f"{for_people(float(chance_of_worse(law, rate, np.array([far / 2]))[0]))} where they lie {for_people(far / 2)} apart."
    )

    def draw(axes: Any) -> None:
        gaps = np.linspace(0.0, far, 401)
        (line,) = axes.plot(gaps, chance_of_worse(law, rate, gaps), color=colour(0))
        bound = axes.axvline(shortfall, color=ink(axes), linestyle="--", linewidth=1)
        axes.set_xlabel("gap between the scores of two candidates")
        axes.set_ylabel("probability of choosing the worse")
        axes.set_ylim(0.0, 0.52)
        ticks_for_people(axes.xaxis)
        names = ["the worse of two", f"with {1 - TAIL:.0%} the choice lies within {for_people(shortfall)} of the best"]
        legend(axes, [line, bound], names, loc="upper right")

    return (Drawing("choice", "Choosing the worse of two candidates", alt, draw),)


FLOORS = 8  # of the stairs to each side that are drawn


def profile(noise: Stairs, steps: NDArray[Any]) -> Floats:
    """The probability of each of some numbers of steps, (n,): constant up to the top, then `exp(-unit)` times less with every
    width."""
    levels = np.maximum(0, -((noise.top - np.abs(steps)) // noise.width))
    ratio = math.exp(-float(noise.unit))
    total = 2 * noise.top + 1 + 2 * noise.width * ratio / (1 - ratio)
    return np.asarray(ratio**levels / total)


def stairs_drawing(noise: Stairs, step: float) -> Drawing:
    """The probabilities of multiples of a step, as a line of stairs."""
    reach = noise.top + FLOORS * noise.width
    share, fall = float(profile(noise, np.zeros(1))[0]) * (2 * noise.top + 1), for_people(math.exp(-float(noise.unit)))
    alt = f"Stairs around 0: {for_people(share)} of the probability is on the top; each floor has {fall} times that before it."

    def draw(axes: Any) -> None:
        ends = np.array([-reach, *_edges(noise), reach])
        middles = np.round((ends[:-1] + ends[1:]) / 2)
        axes.stairs(profile(noise, middles) / step, ends * step, color=colour(0), fill=True, alpha=0.8)
        axes.set_xlabel("noise")
        axes.set_ylabel("probability density")
        ticks_for_people(axes.xaxis)
        ticks_for_people(axes.yaxis)

    return Drawing("profile", "The law of the noise", alt, draw)


def _edges(noise: Stairs) -> list[float]:
    """Where a floor ends, half a step beyond its last one."""
    right = [noise.top + k * noise.width + 0.5 for k in range(FLOORS)]
    return [-edge for edge in reversed(right)] + right


MOST_TERMS = 2000


def term_drawings(mechanism: StructuredMechanism) -> tuple[Drawing, ...]:
    """Bars: the root mean squared error of an answer of each term; none of thousands of terms."""
    if len(mechanism.workload.terms) > MOST_TERMS:
        return ()
    errors = np.sqrt(mechanism.term_errors / np.array(mechanism.workload.counts, dtype=np.float64))
    words = "root mean squared error of an answer"
    return _bars_of_tables(mechanism, errors, "Error of the answers of each term", words, words, "terms")


PLACES = 401


class TypeTwo(Protocol):
    """A tradeoff function."""

    def type_two(self, alpha: Any) -> Floats:
        """beta(alpha)."""


def tradeoff_drawing(curves: Mapping[str, TypeTwo]) -> Drawing:
    """Draw the curves by name in one picture, with the line on which nothing at all is learnt.

    curves: by name, each the least error of the second kind for an error of the first.
    """
    middle = ", ".join(f"{for_people(float(curve.type_two(0.05)))} for {name}" for name, curve in curves.items())
    alt = f"Type II error by type I error of the best test between neighbouring data sets; at a type I error of 5 %: {middle}."

    def draw(axes: Any) -> None:
        alphas = np.linspace(0.0, 1.0, PLACES)
        handles = []
        for series, curve in enumerate(curves.values()):
            handles += axes.plot(alphas, curve.type_two(alphas), **{**series_style(series), "marker": None, "linewidth": 1.6})
        handles += axes.plot([0, 1], [1, 0], color=ink(axes), linestyle="--", linewidth=0.9)
        axes.set(xlabel="type I error", ylabel="least type II error", xlim=(0, 1), ylim=(0, 1))
        axes.set_aspect("equal")
        legend(axes, handles, [*curves, "nothing is learnt"], loc="upper right")

    return Drawing("tradeoff", "What any test can tell", alt, draw, width=5.0, height=4.6)


def delta_drawing(delta_at: Callable[[float], float], most: float, name: str) -> Drawing:
    """Draw delta by epsilon, from 0 to the largest that is of interest, on a logarithmic axis.

    Parameters
    ----------
    delta_at : delta at an epsilon.
    most : the largest epsilon.
    name : of the curve.
    """
    half = for_people(delta_at(most / 2))
    alt = f"Delta by epsilon of {name}: {half} at epsilon {for_people(most / 2)}, falling."

    def draw(axes: Any) -> None:
        epsilons = np.linspace(0.0, most, 33)
        deltas = np.array([delta_at(float(epsilon)) for epsilon in epsilons])
        seen = deltas > 0
        axes.plot(epsilons[seen], deltas[seen], **series_style(0))
        axes.set_yscale("log")
        axes.set(xlabel="epsilon", ylabel="least delta")
        axes.grid(alpha=0.25)
        ticks_for_people(axes.xaxis)
        ticks_for_people(axes.yaxis)

    return Drawing("delta", "Delta by epsilon", alt, draw)


SCAN: Floats = np.power(10.0, np.arange(-9, 16))  # where a policy is looked at to find the values at which it changes
RISE, RISEN = 1.02, 1e4
LOSSES_DRAWN = 241


class LosesByRecord(Protocol):
    """A policy, as far as its picture goes."""

    @property
    def attributes(self) -> tuple[str, ...]: ...
    @property
    def unit(self) -> str: ...
    def keys(self) -> dict[str, tuple[str | int, ...]]: ...
    def __call__(self, columns: Mapping[str, NDArray[Any]]) -> Floats: ...


def measures_of(policy: LosesByRecord) -> list[str]:
    """The numeric attributes that a policy reads."""
    known = policy.keys()
    return [name for name in policy.attributes if name not in known]


def losses_along(policy: LosesByRecord, measure: str, values: Floats) -> Floats:
    """The losses, (n,), of records of which one measure has the values, (n,), all others 0, and every key its first value."""
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(values)) for name in measures_of(policy)}
    columns |= {name: np.array([known[0]] * len(values), dtype=object) for name, known in policy.keys().items()}
    return policy(columns | {measure: np.asarray(values, dtype=np.float64)})


def policy_drawing(policies: Mapping[str, LosesByRecord], measure: str) -> Drawing:
    """Draw loss against the value of one measure, both logarithmic, a curve for each policy by its name. Raises
    `InvalidProblem` for a measure that none of them reads.

    Parameters
    ----------
    policies : each by its name.
    measure : the one whose values are on the axis.
    """
    known = sorted({name for policy in policies.values() for name in measures_of(policy)})
    if measure not in known:
        raise InvalidProblem(
            f"measure: {shown(measure)} is read by none of the policies; use one of {shown(known)}.", value=measure
        )
    reading = {name: policy for name, policy in policies.items() if measure in measures_of(policy)}
    values = _values(list(reading.values()), measure)
    losses = {name: losses_along(policy, measure, values) for name, policy in reading.items()}
    ends = "; ".join(f"{name} from {for_people(float(y[0]))} to {for_people(float(y[-1]))}" for name, y in losses.items())
    alt = f"For {measure} from {for_people(values[0])} to {for_people(values[-1])}: {ends}."
    units = {policy.unit for policy in reading.values()}
    unit = {"zcdp": " (rho)", "pure": " (epsilon)"}[units.pop()] if len(units) == 1 else ""
    name = f"loss_{known.index(measure) + 1}" if len(known) > 1 else "loss"

    def draw(axes: Any) -> None:
        _draw(axes, values, losses, measure, f"loss of the record{unit}")

    return Drawing(name, f"What a record loses by its {measure}", alt, draw)


def policy_drawings(policies: Mapping[str, LosesByRecord]) -> tuple[Drawing, ...]:
    """A picture for each measure that the policies read."""
    known = sorted({name for policy in policies.values() for name in measures_of(policy)})
    return tuple(policy_drawing(policies, name) for name in known)


def _values(policies: list[LosesByRecord], measure: str) -> Floats:
    """Values between where the first loss begins to rise and where it is large, (LOSSES_DRAWN,)."""
    starts, ends = [], []
    for policy in policies:
        losses = losses_along(policy, measure, SCAN)
        rising = np.flatnonzero(losses > RISE * losses[0])
        first = int(rising[0]) if len(rising) else 0
        beyond = np.flatnonzero(losses > RISEN * max(losses[0], losses[first] / 100))
        starts.append(max(first - 1, 0))
        ends.append(min(int(beyond[0]) if len(beyond) else len(SCAN) - 1, first + 5))
    return np.geomspace(SCAN[min(starts)], SCAN[max([*ends, min(starts) + 1])], LOSSES_DRAWN)


def _draw(axes: Any, values: Floats, losses: Mapping[str, Floats], measure: str, label: str) -> None:
    handles = []
    for series, y in enumerate(losses.values()):
        handles += axes.plot(values, y, **{**series_style(series), "marker": None, "linewidth": 1.6})
    axes.set_xscale("log")
    if all((y > 0).all() for y in losses.values()):
        axes.set_yscale("log")
    as_text(axes.set_xlabel(f"{measure} of the record"))
    as_text(axes.set_ylabel(label))
    axes.grid(alpha=0.25)
    ticks_for_people(axes.xaxis)
    ticks_for_people(axes.yaxis)
    if len(losses) > 1:
        legend(axes, handles, list(losses), loc="upper left")


def plan_drawings(plan: TablePlan) -> tuple[Drawing, ...]:
    """What a record loses by each measure, and the standard error of each query."""
    policies = {"policy": plan.policy, **({} if plan.splitting is None else {"by split rows": plan.split_policy})}
    noise = _noise(plan)
    return (*policy_drawings(policies), *([] if noise is None else [noise]))


def _noise(plan: TablePlan) -> Drawing | None:
    """Bars: the standard error of every sum and count with Gaussian noise, the largest where groups differ."""
    from designer.tables.queries import Additive

    drawn = [query for query in plan.noisy if isinstance(query, Additive)]
    if not drawn:
        return None
    names: Sequence[str] = [with_unit(query.name, plan.about.unit(query.name)) for query in drawn]
    errors = np.sqrt([float(max(query.variances)) for query in drawn])
    low, high = no_less(float(errors.min())), no_less(float(errors.max()))
    alt = f"Bars for the standard errors of {len(names)} queries, per group, from {low} to {high}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, "standard error of the noise in a group")

    return Drawing("errors", "Standard error of each query", alt, draw, **size_for(names))
