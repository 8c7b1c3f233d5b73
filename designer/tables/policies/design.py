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
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import positive
from designer.base.declared import assign
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certified.guarantee import Optimality, bounded
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.policies.policies import GaussianSums
from designer.tables.policies.targets import COUNT, Accuracy, PriorRecords
from solvers.solution import Solution


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
    """The precisions of least functional of the exact policy for which consistent answers meet all targets.

    accuracies: targets of each measure, deviations (n,) in the order of the groups. prior: whose losses count. families: (n,),
    groups with the same number share one precision for each measure; by default every level is one.
    Errors: `DesignFailed` when the bound stays open.
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
