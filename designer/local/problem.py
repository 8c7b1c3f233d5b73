"""One person's own report: what a person may hold, what a report may say, what counts as good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import assign, names, positive, shown
from designer.base.errors import InvalidProblem
from designer.limits import MOST_DESCRIBED, MOST_REPORTED
from designer.local.collector import queries_of
from designer.local.mechanism import checked_prior, require_finite
from designer.local.peaks import points_of, rate_of
from designer.problem.histogram import Keys, Universe
from designer.problem.relation import Indices
from designer.problem.workload import Workload
from designer.relations.delta_lengths import with_budgets_times
from designer.relations.metrics.algebra import ROUNDING
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.points import Chebyshev, Euclidean, GreatCircle, Line, Manhattan, Ordered

LOSSES = {"distance": "expected distance", "squared": "expected squared distance", "zero_one": "chance of a wrong report"}
MATRIX, ESTIMATES = "matrix", "estimates"
OF_NORMS = frozenset({Euclidean, Line, GreatCircle, Chebyshev, Manhattan})  # no way round is shorter: nothing is to be asked
FAMILIES = (
    "channel",
    "poles",
    "exponential",
    "randomised_response",
    "subset_selection",
    "geometric",
    "planar",
)


@dataclass(frozen=True, eq=False)
class ReportProblem(Immutable):
    """A report that each person makes alone, with no trusted party: from N values, under a metric of finite budgets.

    reports: what may be said. None: the values themselves; names of some of them; points, (M, dimensions), where the metric has
    points; or M names, with a matrix as loss. prior: (N,), how likely each value is; equal by default; "worst" counts the loss
    at the worst value. loss: "distance" between value and report, in the units of the points, or in budgets where the metric
    has none. Or "squared"; "zero_one", 1 where they differ; a matrix, (N, M); a function of the names of a value and of a
    report. Or a `Workload`: the expected squared error, for each person, of unbiased estimates of its answers, from reports
    that are the channel's own. elements: names of the values.
    keys: columns that hold them. Raises `InvalidProblem` for what is none of these. Source: docs/theory/own_reports.md.

    >>> from designer import design, metrics
    >>> made = design(ReportProblem(metrics.uniform(3, epsilon=1.0), loss="zero_one"), "randomised_response")
    >>> made.privacy.holds, round(made.error, 6)
    (True, 0.423883)
    """

    metric: Metric
    reports: Any = None
    prior: Any = None
    loss: Any = "distance"
    elements: Sequence[object] | None = None
    keys: Keys | None = None
    worst: bool = field(init=False, repr=False)  # is it the loss at the worst value that counts?
    losses: Floats = field(init=False, repr=False)  # (N, M)
    places: Indices | None = field(init=False, repr=False)  # of the reports among the values, (M,)
    report_points: Floats | None = field(init=False, repr=False)
    queries: Workload | None = field(init=False, repr=False)  # whose estimates count
    notion: ClassVar[str] = "pure"
    delta: ClassVar[None] = None
    families: ClassVar[tuple[str, ...]] = FAMILIES

    def __post_init__(self) -> None:
        require_finite(self.metric)
        size = self.metric.size
        if size < 2:
            raise InvalidProblem("metric: has one element, so there is nothing to report; give at least two.")
        if size > MOST_REPORTED:
            raise InvalidProblem(
                f"metric: {size} elements; own reports are designed for at most {MOST_REPORTED}: merge near ones.",
                value=size,
            )
        given = self.elements if self.elements is not None or self.keys is None else self.keys.names
        assign(self, elements=names(given, size, "elements", "e"))
        if self.keys is not None:
            self.keys.require_spelled(Universe(self._named).elements)
        self._require_budgets()
        worst = isinstance(self.prior, str) and self.prior == "worst"
        equal = self.prior is None or worst
        assign(self, worst=worst, prior=frozen(np.full(size, 1 / size)) if equal else checked_prior(self.prior, size))
        assign(self, **self._stated_reports())
        if size * len(self.report_names) > MOST_DESCRIBED:
            raise InvalidProblem(
                f"reports: {len(self.report_names)} for {size} elements; allow fewer, or merge elements: a channel has at most "
                f"{MOST_DESCRIBED} probabilities."
            )

    @property
    def relation(self) -> Metric:
        """The metric."""
        return self.metric

    @property
    def _named(self) -> tuple[str, ...]:
        return tuple(map(str, self.elements or ()))

    def _require_budgets(self) -> None:
        """Budgets above 0 that keep the triangle inequality."""
        budgets = self.budgets
        if not (budgets + np.eye(len(budgets)) > 0).all():
            i, j = (int(k) for k in np.argwhere(budgets + np.eye(len(budgets)) <= 0)[0])
            raise InvalidProblem(
                f"metric: {self._named[i]!r} and {self._named[j]!r} have budget 0, so no report may tell them apart; merge "
                "them into one element.",
                value=0.0,
            )
        for k in () if type(self.metric) in OF_NORMS else range(len(budgets)):
            broken = budgets > (budgets[:, k, None] + budgets[None, k]) * (1 + max(ROUNDING, 4 * self.metric.budget_error))
            if broken.any():
                i, j = (int(place) for place in np.argwhere(broken)[0])
                via = budgets[i, k] + budgets[k, j]
                raise InvalidProblem(
                    f"metric: breaks the triangle inequality: the budget of {self._named[i]!r} and {self._named[j]!r} is "
                    f"{budgets[i, j]}, and {via} by way of {self._named[k]!r}, which is what would be promised; use "
                    "metrics.from_matrix(metric.distances(), closure=True).",
                    value=float(budgets[i, j]),
                )

    def _stated_reports(self) -> dict[str, Any]:
        """What the reports are called, and what each costs from each value."""
        given, size = self.reports, self.metric.size
        if isinstance(self.loss, Workload):
            return self._estimates(self.loss)
        asked = self._of_function(self.loss) if callable(self.loss) else self.loss
        matrix = None if isinstance(asked, str) else real_array(asked, "loss", 2)
        if matrix is None and self.loss not in LOSSES:
            raise InvalidProblem(
                f"loss: {shown(self.loss)} is unknown; use one of {sorted(LOSSES)}, a matrix, a function, or a Workload.",
                value=self.loss,
            )
        if matrix is not None and (matrix.shape[0] != size or (matrix < 0).any()):
            raise InvalidProblem(
                f"loss: shape {matrix.shape}, least entry {float(matrix.min())!r}; give a row of losses from 0 on for each of "
                f"{size} elements."
            )
        places, points, called = None, None, None
        if given is None and (matrix is None or matrix.shape[1] == size):
            places, called = np.arange(size), self._named
        elif given is None:
            assert matrix is not None
            called = names(None, matrix.shape[1], "reports", "r")
        elif _is_list_of_names(given):
            called = names(given, len(given), "reports", "r")
            known = {name: k for k, name in enumerate(self._named)}
            if set(called) <= set(known):
                places = np.array([known[name] for name in called])
            elif matrix is None:
                wrong = next(name for name in called if name not in known)
                raise InvalidProblem(
                    f"reports: {shown(wrong)} is no element, so its distance is unknown; name elements, give points, or a "
                    "matrix as loss.",
                    value=wrong,
                )
        else:
            points = real_array(given, "reports", 2) if np.ndim(given) != 1 else real_array(given, "reports", 1)[:, None]
            called = names(None, len(points), "reports", "r")
            self._require_points(points)
        if matrix is not None and matrix.shape[1] != len(called):
            raise InvalidProblem(f"loss: {matrix.shape[1]} columns for {len(called)} reports; give one for each.")
        losses = matrix if matrix is not None else self._losses(places, points)
        loss = MATRIX if matrix is not None else self.loss
        stated = {"reports": called, "losses": frozen(losses), "loss": loss, "places": places, "report_points": points}
        return {**stated, "queries": None}

    def _of_function(self, loss: Callable[[str, str], float]) -> list[list[float]]:
        """A function of the names of a value and of a report, as a matrix."""
        if self.reports is not None and not _is_list_of_names(self.reports):
            raise InvalidProblem("loss: a function is of names, and reports are points; name the reports, or give a matrix.")
        said = self._named if self.reports is None else tuple(self.reports)
        return [[loss(value, report) for report in said] for value in self._named]

    def _estimates(self, asked: Workload) -> dict[str, Any]:
        """The channel has reports of its own, which cost what the estimates make of them: nothing is known of that yet."""
        size = self.metric.size
        if self.reports is not None or self.worst:
            named = "reports" if self.reports is not None else "prior"
            raise InvalidProblem(
                f"{named}: a channel for estimates has reports of its own, and a prior of probabilities; leave {named} out.",
                value=getattr(self, named),
            )
        queries, _ = queries_of(asked, self._named)
        if not queries.any():
            raise InvalidProblem("loss: every query of the workload is 0, and needs no reports; ask for something.")
        stated = {"reports": self._named, "losses": frozen(np.zeros((size, size))), "loss": ESTIMATES, "queries": asked}
        return {**stated, "places": np.arange(size), "report_points": None}

    def _losses(self, places: Any, points: Any) -> Floats:
        distances = self.distances[:, places] if points is None else self.budgets_to(points) / self.rate
        if self.loss == "zero_one":
            if points is not None:
                raise InvalidProblem("loss: 'zero_one' compares values with reports that are values; name elements as reports.")
            return np.asarray(np.arange(self.metric.size)[:, None] != places).astype(np.float64)
        return np.asarray(distances if self.loss == "distance" else distances**2)

    def _require_points(self, points: Floats) -> None:
        own = self.points
        if own is None or own.shape[1] != points.shape[1]:
            has = "no points" if own is None else f"points of {own.shape[1]} coordinates"
            raise InvalidProblem(
                f"reports: are points of {points.shape[1]} coordinates, the metric has {has}; name elements, or give names "
                "and a matrix as loss."
            )

    @property
    def report_names(self) -> tuple[str, ...]:
        """What may be said, M names."""
        return tuple(self.reports)

    @cached_property
    def budgets(self) -> Floats:
        """Budgets of all pairs, (N, N), as floats."""
        return frozen(self.metric.distances())

    @property
    def points(self) -> Floats | None:
        """The points of the values, (N, dimensions); None where the metric has none."""
        return points_of(self.metric)

    @property
    def rate(self) -> float:
        """Budget for a distance of 1; 1 where distances are budgets."""
        return rate_of(self.metric)

    def with_budgets_times(self, factor: float) -> ReportProblem:
        """The problem with every budget multiplied by a positive factor, and losses as they are."""
        times = positive(factor, "factor")
        reports: Any = self.report_names if self.report_points is None else self.report_points
        loss: Any = self.losses if self.loss == MATRIX else self.loss
        if self.queries is not None:
            reports, loss = None, self.queries
        metric = self.metric
        if isinstance(metric, GreatCircle):
            return self._again(replace(metric, per_km=metric.per_km * times), reports, loss)
        if isinstance(metric, Ordered):
            return self._again(replace(metric, epsilon=metric.epsilon * times), reports, loss)
        if isinstance(metric, (Euclidean, Chebyshev, Manhattan)):
            return self._again(replace(metric, per_unit=metric.per_unit * times), reports, loss)
        wider = with_budgets_times(times, metric)
        assert isinstance(wider, Metric)
        return self._again(wider, reports, loss if self.loss in ("zero_one", ESTIMATES) else self.losses)

    def _again(self, metric: Metric, reports: Any, loss: Any) -> ReportProblem:
        prior = "worst" if self.worst else self.prior
        return ReportProblem(metric, reports, prior, loss, self.elements, self.keys)

    @cached_property
    def distances(self) -> Floats:
        """Of all pairs, (N, N): in the units of the points (kilometres on the Earth), or in budgets."""
        return frozen(self.budgets / self.rate)

    def budgets_to(self, points: Floats) -> Floats:
        """Budgets, (N, M), from the values to other points of the same space."""
        size = self.metric.size
        if isinstance(self.metric, Ordered):
            wider: Metric = replace(self.metric, values=np.concatenate([self.metric.values, points[:, 0]]))
        else:
            wider = replace(self.metric, places=np.concatenate([self.points, points]))  # type: ignore[type-var]
        return np.asarray(wider.rectangle(slice(0, size), slice(size, size + len(points))))

    @property
    def loss_words(self) -> str:
        """What the loss is, in words."""
        if self.queries is not None:
            return "expected squared error of all estimates, for each person"
        words = LOSSES.get(self.loss, "expected loss") + (" at the worst value" if self.worst else "")
        unit = "units of the points" if self.points is not None else "nats"
        unit = "kilometres" if isinstance(self.metric, GreatCircle) else unit
        return words if self.loss in ("zero_one", MATRIX) else f"{words}, in {unit}"


def _is_list_of_names(given: object) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(isinstance(name, str) for name in given)
