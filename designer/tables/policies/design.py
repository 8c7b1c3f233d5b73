"""Noise for sums over all groups of a hierarchy: the precisions of least policy that meet accuracy targets, certified.

    design_records(hierarchy, [Accuracy...], PriorRecords...)  ->  RecordDesign

Every measure a has one precision `s = 1 / sigma^2` for each level (or family of groups); answers are made consistent by least
squares. A record then loses `P(r) = sum_a r_a^2 / 2 * sum_f s_af` (exact policy, f over the families on its path), linear in s,
and variances of consistent answers are convex in s: a convex program (docs/theory/record_design.md, 2), solved by
`solvers.programs.loads` with a proven bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import assign, names, positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.guarantee import Optimality, bounded
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.policies.policies import GaussianSums
from solvers.solution import Solution

# What a design of per-record noise starts from, all of it public: accuracy targets, and records for which the policy shall be
# small.


COUNT = "count"  # the measure that is 1 for every record


@dataclass(frozen=True, eq=False)
class Accuracy(Immutable):
    """Targets for one measure: `deviations` (n,), the largest standard deviation of each group's answer,
    infinite where there is no target.

    measure: its name, `COUNT` for the number of records.
    on_average: only the mean of `(deviation / target)^2` must be at most 1.
    """

    measure: str
    deviations: Floats
    on_average: bool = False

    def __post_init__(self) -> None:
        deviations = real_array(self.deviations, "deviations", 1, allow_inf=True)
        if not (deviations > 0).all() or np.isinf(deviations).all():
            raise InvalidProblem(f"deviations: targets of {self.measure!r} must be positive, at least one of them finite.")
        assign(self, deviations=deviations)

    @classmethod
    def relative(
        cls,
        measure: str,
        totals: object,
        error: float,
        *,
        confidence: float = 0.95,
        share: float = 1.0,
        asked: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Fitness for use: `|noise| <= error * |total|` with probability `confidence`,
        for at least a `share` of the groups `asked`.

        totals: (n,) PUBLIC estimates, last year's for instance. The deviation is `error |total| / z`, z the normal quantile
        (1.96 at 95 %). Exempt are groups of total 0 and those of the smallest totals.
        Source: Seeman et al., section 6.4 (QueryRelErr).

        >>> Accuracy.relative("emp", [1000, 100, 1], 0.1, share=0.66).deviations.round(2)
        array([51.02,  5.1 ,   inf])
        """
        sizes = np.abs(real_array(totals, "totals", 1))
        if not error > 0 or not 0 < confidence < 1 or not 0 < share <= 1:
            raise InvalidProblem(
                f"error, confidence, share: {error}, {confidence}, {share} must be positive, at most 1 for the last two."
            )
        wanted = (sizes > 0) & (True if asked is None else np.asarray(asked, dtype=bool))
        order = np.flatnonzero(wanted)[np.argsort(sizes[wanted], kind="stable")]
        wanted[order[: int((1 - share) * len(order) + 1e-9)]] = False
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return cls(measure, np.where(wanted, error * sizes / z, np.inf))


@dataclass(frozen=True, eq=False)
class PriorRecords(Immutable):
    """K PUBLIC records and how much their losses matter: the functional is `sum_k weights_k P(r_k)`,
    or the largest `weights_k P(r_k)`.

    measures: d names; values: (K, d); weights: (K,), positive; `largest` chooses the second form. groups: (K,), the place of
    each record's finest group, needed only where noise differs between groups of one level.
    """

    measures: tuple[str, ...]
    values: Floats
    weights: Floats
    largest: bool = False
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        values = real_array(self.values, "values", 2)
        weights = real_array(self.weights, "weights", 1)
        if weights.shape != (len(values),) or not (weights > 0).all():
            raise InvalidProblem(f"weights: shape {weights.shape}; give {len(values)} positive numbers, one for each record.")
        if self.groups is not None and np.shape(self.groups) != (len(values),):
            raise InvalidProblem(f"groups: shape {np.shape(self.groups)}; give {len(values)} places of groups.")
        assign(
            self,
            measures=names(self.measures, values.shape[1], "measures", "measure"),
            values=frozen(np.abs(values)),
            weights=weights,
            groups=None if self.groups is None else frozen(np.asarray(self.groups, dtype=np.int64)),
        )

    @classmethod
    def sample(cls, columns: Mapping[str, object], groups: NDArray[np.int64] | None = None) -> Self:
        """The mean of the policy over public or synthetic records.

        groups: (n,), the group of each record; None for single records.
        """
        values = _columns(columns)
        return cls(tuple(columns), values, np.full(len(values), 1 / len(values)), groups=groups)

    @classmethod
    def quantiles(cls, columns: Mapping[str, object], levels: Sequence[float], allowed: Sequence[float] | None = None) -> Self:
        """The policy at the records whose measures are all at their own quantile `level`.

        allowed: the largest `P(r) / allowed` counts; otherwise the sum of the losses.

        >>> PriorRecords.quantiles({"emp": [1, 2, 3, 100]}, [0.5, 0.99], allowed=[0.1, 10]).values.round(1)
        array([[ 2.5],
               [97.1]])
        """
        values = np.quantile(_columns(columns), np.asarray(levels, dtype=np.float64), axis=0)
        weights = np.ones(len(values)) if allowed is None else 1 / real_array(allowed, "allowed", 1)
        return cls(tuple(columns), values, weights, largest=allowed is not None)

    @classmethod
    def cap(cls, caps: Mapping[str, float]) -> Self:
        """The largest loss of a record with no measure above its cap: that of the record at the caps,
        because policies do not decrease.

        caps: for each measure its size.
        """
        return cls(tuple(caps), np.array([list(caps.values())], dtype=np.float64), np.ones(1))

    def squares(self, measures: Sequence[str]) -> Floats:
        """(K, len(measures)) of `r_a^2 / 2`, 1/2 for `COUNT`: what precision 1 costs."""
        missing = [name for name in measures if name not in (*self.measures, COUNT)]
        if missing:
            raise InvalidProblem(f"prior: has no measure {missing[0]!r}; it has {list(self.measures)}.")
        return np.stack([self.column(name) ** 2 / 2 for name in measures], axis=1)

    def column(self, measure: str) -> Floats:
        """(K,) values of a measure.

        measure: its name.
        """
        if measure in self.measures:
            return np.asarray(self.values[:, self.measures.index(measure)])
        return np.ones(len(self.values))

    @property
    def form(self) -> Literal["sum", "largest"]:
        """How losses are put together."""
        return "largest" if self.largest else "sum"

    def combine(self, losses: Floats) -> float:
        """The functional of (K,) losses."""
        weighted = self.weights * losses
        return float(weighted.max() if self.largest else weighted.sum())


def _columns(columns: Mapping[str, object]) -> Floats:
    if not columns:
        raise InvalidProblem("columns: empty; give at least one measure.")
    return np.stack([real_array(column, f"columns[{name!r}]", 1) for name, column in columns.items()], axis=1)


@dataclass(frozen=True, eq=False)
class RecordDesign(Immutable):
    """Precisions of the noise in every answer, and how good they are.

    measures: A names. families: (n,), the family of every group.
    precisions: (A, F), one for each measure and family, 0 where nothing is asked.
    schemes: the functional of fixed ways to divide, each scaled to meet the same targets, next to `optimality.value`.
    provenance: how a program of the user's own was solved (`designer.programs.records`).
    """

    hierarchy: Hierarchy
    prior: PriorRecords
    measures: tuple[str, ...]
    families: NDArray[np.int64]
    precisions: Floats
    optimality: Optimality | None = None
    schemes: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    provenance: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        precisions = np.asarray(self.precisions, dtype=np.float64)
        shape = (len(self.measures), int(self.families.max()) + 1)
        if precisions.shape != shape or not np.isfinite(precisions).all() or (precisions < 0).any():
            raise InvalidProblem(f"precisions: shape {precisions.shape}; give {shape} finite numbers of at least 0.")
        assign(
            self,
            precisions=frozen(precisions),
            families=frozen(self.families),
            schemes=MappingProxyType(dict(self.schemes)),
            provenance=MappingProxyType(dict(self.provenance)),
        )

    @property
    def sigmas(self) -> Floats:
        """(A, F) standard deviations of the noise, infinite where nothing is asked."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.sqrt(self.precisions), dtype=np.float64)

    def deviations(self, measure: str) -> Floats:
        """(n,) standard deviations of the consistent answers of a measure."""
        return np.asarray(np.sqrt(self.hierarchy.variances(self.group_precisions(measure))))

    def group_precisions(self, measure: str) -> Floats:
        """(n,) precisions of the noisy answers of a measure: what `hierarchy.estimate` takes as weights."""
        return np.asarray(self.precisions[self.row(measure)][self.families])

    def row(self, measure: str) -> int:
        """The place of a measure."""
        if measure not in self.measures:
            raise InvalidProblem(f"measure: {measure!r} is not one of {list(self.measures)}.", value=measure)
        return self.measures.index(measure)

    @cached_property
    def paths(self) -> Floats:
        """(n, F), how many groups of each family there are from a root down to a group."""
        paths = np.zeros((self.hierarchy.size, self.precisions.shape[1]))
        paths[np.arange(self.hierarchy.size), self.families] = 1.0
        for level in self.hierarchy.slices[1:]:
            paths[level] += paths[self.hierarchy.parents[level]]
        return paths

    @property
    def charged(self) -> Floats:
        """(A, F), the precisions times how often the last, finest group meets each family: what its records pay for."""
        return np.asarray(self.precisions * self.paths[-1])

    @property
    def uniform(self) -> bool:
        """Do all records of the same measures lose the same, whatever their groups?"""
        finest = self.paths[~self.hierarchy.inner]
        return bool((finest == finest[0]).all())

    def policy(self, group: str | None = None) -> GaussianSums:
        """The exact policy, of the records of one finest group where noise differs between groups."""
        if group is None and not self.uniform:
            raise InvalidProblem("group: noise differs between groups; name one of the finest, each has its own policy.")
        leaf = int(np.flatnonzero(~self.hierarchy.inner)[0]) if group is None else self.hierarchy.place[group]
        sums = {}
        for name, row in zip(self.measures, self.precisions, strict=True):
            total = sum(
                (Fraction(s) * int(times) for s, times in zip(row.tolist(), self.paths[leaf], strict=True)), Fraction(0)
            )
            if total:
                sums[name] = 1 / total
        counts = (sums.pop(COUNT),) if COUNT in sums else ()
        return GaussianSums(sums, counts)

    def losses(self, records: PriorRecords) -> Floats:
        """(K,) losses of public records under the exact policy."""
        return np.asarray(record_loads(self, records) @ self.precisions.ravel())

    @property
    def value(self) -> float:
        """The functional of the exact policy."""
        return self.prior.combine(self.losses(self.prior))

    def within(self, limit: float) -> RecordDesign:
        """The same division with the functional at `limit`: deviations grow by `sqrt(value / limit)`.

        It is the division of least largest deviation over target for this limit, because both are homogeneous.
        """
        factor = positive(limit, "limit") / self.value
        return RecordDesign(self.hierarchy, self.prior, self.measures, self.families, self.precisions * factor)


def record_loads(design: RecordDesign, records: PriorRecords) -> Floats:
    """(K, A F), what precision 1 of every measure and family costs every record."""
    squares = records.squares(design.measures)
    if records.groups is not None:
        paths = design.paths[records.groups]
    elif design.uniform:
        paths = np.repeat(design.paths[-1:], len(squares), axis=0)
    else:
        raise InvalidProblem("prior: noise differs between groups; give the finest group of every record.")
    return np.asarray((squares[:, :, None] * paths[:, None, :]).reshape(len(squares), -1))


def design_records(
    hierarchy: Hierarchy,
    accuracies: Sequence[Accuracy],
    prior: PriorRecords,
    *,
    families: NDArray[np.int64] | None = None,
    tolerance: float = 1e-6,
) -> RecordDesign:
    """Find the precisions of least functional of the exact policy for which consistent answers meet all targets. Errors:
    `DesignFailed` when the bound stays open.

    Parameters
    ----------
    hierarchy : the groups.
    accuracies : targets of each measure, deviations (n,) in the order of the groups.
    prior : whose losses count.
    families : (n,), groups with the same number share one precision for each measure; by default every level is one.
    tolerance : the relative gap at which the search ends.
    """
    return _solve(precision_program(hierarchy, accuracies, prior, families), tolerance)


def precision_program(
    hierarchy: Hierarchy, accuracies: Sequence[Accuracy], prior: PriorRecords, families: NDArray[np.int64] | None
) -> PrecisionProgram:
    """The numbers of the program of `design_records`, whose arguments these are, checked. families: (n,)."""
    if not accuracies or len({accuracy.measure for accuracy in accuracies}) != len(accuracies):
        raise InvalidProblem("accuracies: give one for each measure, at least one.")
    for accuracy in accuracies:
        if accuracy.deviations.shape != (hierarchy.size,):
            raise InvalidProblem(
                f"deviations: {accuracy.deviations.shape} targets of {accuracy.measure!r}; give {hierarchy.size}."
            )
    kinds = hierarchy.level if families is None else np.unique(np.asarray(families), return_inverse=True)[1].reshape(-1)
    if kinds.shape != (hierarchy.size,):
        raise InvalidProblem(f"families: shape {kinds.shape}; give one number for each of {hierarchy.size} groups.")
    return PrecisionProgram(hierarchy, tuple(accuracies), prior, kinds)


@dataclass(frozen=True, eq=False)
class PrecisionProgram:
    """The convex program: loads of the prior's records, and errors of consistent answers, over (A, F) precisions laid flat.

    families: (n,), the family of every group.
    """

    hierarchy: Hierarchy
    accuracies: tuple[Accuracy, ...]
    prior: PriorRecords
    families: NDArray[np.int64]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(A, F)."""
        return len(self.accuracies), int(self.families.max()) + 1

    @cached_property
    def loads(self) -> Floats:
        """(K or 1, A F)."""
        empty = self.freeze(np.zeros(self.shape))
        loads = self.prior.weights[:, None] * record_loads(empty, self.prior)
        loads = loads if self.prior.largest else loads.sum(axis=0, keepdims=True)
        if not loads.any(axis=0).all():
            raise InvalidProblem(
                "prior: no record has a positive value in some measure (and family); its noise would cost nothing."
            )
        return np.asarray(np.unique(loads, axis=0))

    @cached_property
    def weights(self) -> list[Floats]:
        """For each measure (n,), the inverse squares of the targets; averaged ones divided by their number."""
        squares = [accuracy.deviations**-2.0 for accuracy in self.accuracies]
        return [np.asarray(w / (w > 0).sum() if a.on_average else w) for w, a in zip(squares, self.accuracies, strict=True)]

    @cached_property
    def direct(self) -> Floats:
        """(A, F): what every family needs without the help of the others;
        finest ones at least a millionth of the largest need."""
        need = np.zeros(self.shape)
        for a, accuracy in enumerate(self.accuracies):
            (np.add if accuracy.on_average else np.maximum).at(need[a], self.families, self.weights[a])
        return np.asarray(np.maximum(need, 1e-6 * need.max(axis=1, keepdims=True)))

    def errors(self, flat: Floats) -> tuple[Floats, Floats]:
        """`(deviation / target)^2` of the worst group of each level, or the mean, with slopes, for every measure.

        flat: (A F,), precisions.
        """
        values, slopes = [], []
        for a, row in enumerate(flat.reshape(self.shape)):
            for value, by_family in self.measure_errors(a, row):
                slope = np.zeros(self.shape)
                slope[a] = by_family
                values.append(value)
                slopes.append(slope.ravel())
        return np.array(values), np.array(slopes)

    def measure_errors(self, a: int, row: Floats) -> list[tuple[float, Floats]]:
        """The errors of one measure at its precisions (F,), each with its slopes (F,)."""
        weights, precisions = self.weights[a], row[self.families]
        relative = self.hierarchy.variances(precisions) * weights
        found = []
        for chosen in self._chosen(a, relative):
            slopes = self.hierarchy.slopes(precisions, np.where(chosen, weights, 0.0))
            found.append((float(relative[chosen].sum()), np.bincount(self.families, slopes, minlength=len(row)).astype(float)))
        return found

    def _chosen(self, a: int, relative: Floats) -> list[NDArray[np.bool_]]:
        """The groups whose errors are added up, once for each error to report."""
        places = np.arange(self.hierarchy.size)
        if self.accuracies[a].on_average:
            return [np.ones(len(places), dtype=bool)]
        worst = [level.start + int(relative[level].argmax()) for level in self.hierarchy.slices]
        return [places == place for place in worst if relative[place] > 0]

    def scaled(self, precisions: Floats, *, jointly: bool = False) -> Floats:
        """Precisions (A, F) with each measure (or all by one factor) scaled so that its targets are just met."""
        factors = np.array([max(value for value, _ in self.measure_errors(a, row)) for a, row in enumerate(precisions)])
        return np.asarray(precisions * (factors.max() if jointly else factors[:, None]))

    def freeze(self, precisions: Floats) -> RecordDesign:
        """A design, not yet judged, of precisions (A, F), or laid flat."""
        names = tuple(accuracy.measure for accuracy in self.accuracies)
        return RecordDesign(self.hierarchy, self.prior, names, self.families, precisions.reshape(self.shape))


def _solve(program: PrecisionProgram, tolerance: float) -> RecordDesign:
    alike = program.freeze(np.zeros(program.shape)).uniform
    found, bound, method = (_each_measure if alike else _all_measures)(program, tolerance)
    schemes = fixed_schemes(program)
    candidates = [found, tidied(program, found), *(p for name, p in schemes.items() if name != "direct")]
    values = [float((program.loads @ p.ravel()).max()) for p in candidates]
    value = min(values)
    words = f"{program.prior.form} of weight times exact policy over {len(program.prior.values)} prior records"
    return replace(
        program.freeze(candidates[values.index(value)]),
        optimality=bounded(words, value, bound, method, value * (program.loads.shape[1] + 16) * 2.0**-50),
        schemes={name: float((program.loads @ p.ravel()).max()) for name, p in schemes.items()},
    )


def _each_measure(program: PrecisionProgram, tolerance: float) -> tuple[Floats, float, str]:
    """Where all records meet the same families, `P(r) = sum_a r_a^2 / 2 S_a` with `S_a`
    a sum of precisions that only measure a's targets bound.

    The least `S_a` of each measure make the least policy at every record at once, and so for every functional.
    """
    from solvers.programs.loads import least_load

    path = program.freeze(np.zeros(program.shape)).paths[-1]
    rows, bounds, rounds = [], [], 0
    for a, start in enumerate(program.direct):

        def errors(row: Floats, a: int = a) -> tuple[Floats, Floats]:
            values, slopes = zip(*program.measure_errors(a, row), strict=True)
            return np.array(values), np.array(slopes)

        solution = least_load(path[None], errors, start, tolerance=tolerance)
        rows.append(_usable(solution))
        bounds.append(solution.lower_bound)
        rounds += solution.iterations
    prices = program.loads.reshape(-1, *program.shape)[:, :, 0] / path[0]
    return (
        np.array(rows),
        float((prices @ bounds).max()),
        f"cutting planes for each measure, {rounds} rounds; least at every record",
    )


def _all_measures(program: PrecisionProgram, tolerance: float) -> tuple[Floats, float, str]:
    """The program as a whole."""
    from solvers.programs.loads import least_load

    solution = least_load(program.loads, program.errors, program.direct.ravel(), tolerance=tolerance)
    found = program.scaled(_usable(solution).reshape(program.shape))
    return found, solution.lower_bound, f"cutting planes, {solution.iterations} rounds"


def _usable(solution: Solution[Floats]) -> Floats:
    if not solution.status.usable:
        raise DesignFailed(f"design_records: {solution.status.value}")
    return solution.point


def tidied(program: PrecisionProgram, precisions: Floats) -> Floats:
    """Queries that cost less than a ten-thousandth of the policy are not asked, wherever their groups have children; (A, F)."""
    finest = np.zeros(program.shape[1], dtype=bool)
    finest[program.families[~program.hierarchy.inner]] = True
    costs = program.loads.max(axis=0).reshape(program.shape) * precisions
    return program.scaled(np.where(finest | (costs > 1e-4 * costs.sum()), precisions, 0.0))


def fixed_schemes(program: PrecisionProgram) -> dict[str, Floats]:
    """Fixed divisions (A, F), scaled to meet the same targets.

    "direct": every family meets its own targets, without least squares. With least squares: "proportional", the same ratios for
    each measure; "equal", every family of a measure costs the same; "one_rho", all families of all measures cost the same, as
    in Seeman et al. And "finest": only groups without children are asked and sums are added up from them.
    """
    direct, equal = program.direct, (1 / program.loads.max(axis=0)).reshape(program.shape)
    finest = np.zeros(program.shape)
    finest[:, program.families[~program.hierarchy.inner]] = 1.0
    # Averaged errors of F families, 1 / F each, add up to 1.
    averaged = np.array([program.shape[1] if accuracy.on_average else 1 for accuracy in program.accuracies])
    return {
        "direct": direct * averaged[:, None],
        "proportional": program.scaled(direct),
        "equal": program.scaled(equal),
        "one_rho": program.scaled(equal, jointly=True),
        "finest": program.scaled(finest),
    }
