"""The frozen mechanism of noisy marginals: a precision for every residual, certified in exact rationals.
No proof, no mechanism.

The law and its cost: docs/theory/marginals.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import array, flagged_vacuous
from designer.base.schema import (
    BUDGETS,
    NAMES,
    PLACE,
    POSITIVE_VECTOR,
    VACUOUS,
    VALUES,
    Named,
    either,
    keys,
    list_of,
    noted,
    record,
)
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate
from designer.certificate.frozen import SpecForm, below_by_noise, deviations_in_units
from designer.certificate.guarantee import BUDGET_RANGE, Guarantee, Optimality
from designer.domains.marginals_noise import (
    ResidualNoise,
    assemble,
    kronecker_product,
    squared_synthesis,
    synthesis,
    true_residuals,
)
from designer.domains.marginals_tables import Tables
from designer.domains.marginals_workload import MarginalWorkload, Subsets, positions
from designer.domains.mechanism import (
    LAWS,
    MOST_ENTRIES,
    PROTECTION,
    Change,
    DomainAnswers,
    DomainMechanism,
    DomainRelease,
    Protection,
    changes,
    domain_of_core,
    protection_from_spec,
    protection_to_spec,
)
from designer.problem.histogram import IN_SPECS
from designer.sampling.entropy import Entropy
from designer.sampling.integer_margins import sum_of_gaussians_margin, sums_are_nearly_normal
from designer.sampling.margins import NoiseFacts, NoiseReach, seed_of


@dataclass(frozen=True, eq=False)
class Residuals(DomainAnswers):
    """Tables of a mechanism's subsets from noisy contrasts, `residuals[A]` for every measured subset A.

    The residual of sizes (n_1, ..., n_r) has shape (n_1 - 1, ..., n_r - 1). docs/theory/marginals.md, section 1.
    """

    @cached_property
    def residuals(self) -> Mapping[tuple[int, ...], NDArray[Any]]:
        """The noisy integers by measured subset, from which anyone recomputes the tables in exact arithmetic."""
        return dict(zip(self.mechanism.position, self.measured, strict=True))

    def table_at(self, place: int) -> Floats:
        return self.table(self.mechanism.workload.names_of(place))

    def table(self, subset: Sequence[str]) -> Floats:
        """The noisy table over a requested subset, or any part of one; axes follow the domain. Unbiased; cells may be negative.

        All tables come from the same residuals, so they agree: summing one over an axis gives the other, up to float rounding.
        A table that no noise enters holds the counts themselves, as whole numbers.
        """
        axes = self.mechanism.axes(subset)
        table = assemble(axes, self.mechanism.workload.shape(axes), lambda part: self.residuals[part].astype(np.float64))
        return np.rint(table) + 0.0 if self.mechanism.is_exact(subset) else table

    def tables(self) -> dict[tuple[str, ...], Floats]:
        """All requested tables."""
        workload = self.mechanism.workload
        return {names: self.table(names) for names in map(workload.names, workload.subsets.tuples())}


@dataclass(frozen=True, eq=False)
class MarginalRelease(DomainRelease, Residuals):
    """Noisy marginals, with the guarantee they carry and the fingerprint of the mechanism that made them."""

    def _display_facts(self) -> Mapping[str, object]:
        """How many tables, and the fingerprint."""
        return {"tables": len(self.mechanism.workload.subsets), **super()._display_facts()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: tables by the names of their attributes, the variance of their cells, the guarantee, the fingerprint."""
        return {
            "tables": [
                {"attributes": list(names), "counts": table.tolist(), "variances": self.mechanism.variances(names).tolist()}
                for names, table in self.tables().items()
            ],
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class SimulatedTables(Residuals):
    """Tables of noise alone, with a `stamp` that says that they are not private."""

    stamp: str


MOST_CELLS = 2**20  # of a table whose variances are computed one by one
THEOREM = (
    "Integer contrasts of every measured residual get independent discrete Gaussian noise of variance (squared norm of the "
    "contrast) / s_A; a protected change moves them by a lattice vector of squared length sum_A s_A |projection|^2 / b^2 "
    "(docs/theory/marginals.md, 2), so its Renyi divergence of every order alpha is at most alpha b^2 / 2 (Poisson "
    "summation; docs/theory/foundations.md, 1)."
)


INTEGERS = (
    "Contrasts before noise and their noise are integers, summed exactly; the noisy integers are part of the release. "
    "Tables are floats computed from those integers alone."
)


SUBSETS = noted(
    "Positions of attributes, rising; an empty subset is the total.",
    list_of(list_of(PLACE, least=0, distinct=True), distinct=True),
)


@dataclass(frozen=True, eq=False)
class MarginalMechanism(DomainMechanism[MarginalRelease, SimulatedTables]):
    """Noisy marginals from independent noise in their residuals: residual A is measured with precision `s_A = 1 / sigma_A^2`.

    workload: the tables. protection: what is hidden, `metrics.hamming(domain, budgets)` or `Presence(mu=...)`.
    precisions: (M,), one for each of `workload.measured`; infinite where no protected change moves the residual, which is then
    published exactly. allow_vacuous: accept tables that are all published exactly; they are refused otherwise. Construction
    certifies `sum_A s_A length_A <= b^2` for every protected change, and raises `NotPrivate` otherwise.
    """

    format = "dp-designer/marginals"
    spec_form = SpecForm(
        Named(
            "marginals",
            record(
                {
                    "attributes": NAMES,
                    "values": VALUES,
                    "subsets": SUBSETS,
                    "weights": POSITIVE_VECTOR,
                    "protection": PROTECTION,
                    "precisions": noted('"inf": published exactly, because no protected change moves it.', either(BUDGETS)),
                },
                {"vacuous": VACUOUS, **IN_SPECS},
                note="Tables over subsets of attributes; a precision, one over the variance, for every measured residual.",
            ),
        ),
        Named("parameters_of_marginals", record(BUDGET_RANGE)),
    )
    takes = ("records",)
    _alone = "tables over them alone published exactly"
    _release_type, _simulated_type = MarginalRelease, SimulatedTables

    workload: MarginalWorkload
    protection: Protection
    precisions: Floats
    optimality: Optimality | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    allow_vacuous: bool = False
    noise: ResidualNoise = field(init=False, repr=False)
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        precisions = np.asarray(self.precisions, dtype=np.float64)
        if precisions.shape != (len(self.workload.measured),) or not (precisions > 0).all():
            raise InvalidProblem(f"precisions: must be {len(self.workload.measured)} positive numbers, one for each residual.")
        self._require_protection()
        assign(self, precisions=frozen(precisions))
        assign(self, noise=ResidualNoise(self.workload, self.precisions))
        assign(self, privacy=self.verify().require())
        self._require_substance()

    @cached_property
    def vacuous(self) -> str | None:
        return None if self.changes and np.isfinite(self.precisions).any() else NOTHING_MOVES

    @property
    def exact(self) -> tuple[str, ...]:
        """The tables that are published without noise, by the names of their attributes."""
        noisy = self.workload.cell_variances @ np.isfinite(self.precisions)
        subsets = zip(self.workload.subsets.tuples(), noisy, strict=True)
        return tuple(" x ".join(self.workload.names(subset)) or "total" for subset, noise in subsets if not noise)

    def verify(self) -> PrivacyCertificate:
        """The privacy certificate: the largest `||u|| / b` over the kinds of protected changes,
        recomputed in exact rationals."""
        return self._certificate_of([change.load(self.precisions) for change in self.changes], THEOREM)

    @property
    def law(self) -> str:
        return "gaussian"

    @property
    def _counted(self) -> MarginalWorkload:
        return self.workload

    @cached_property
    def changes(self) -> list[Change]:
        """The kinds of protected changes that imply all others."""
        return changes(self.protection, self.workload.domain, self.workload.measured)

    @cached_property
    def position(self) -> dict[tuple[int, ...], int]:
        """Place of every measured subset."""
        return {subset: k for k, subset in enumerate(self.workload.measured.tuples())}

    def cell_variance(self, subset: Sequence[str]) -> float:
        """Variance of every cell of a table for Gaussian noise, `sum_A V_BA / s_A`;
        `variances` has the law that is in fact drawn.

        subset: the attributes of the table.
        """
        return float(self.variances(subset, planned=True).max())

    def variances(self, subset: Sequence[str], *, planned: bool = False) -> Floats:
        """Variance of every cell of the table over `subset`, any subset of a requested one; exact for the discrete noise drawn.

        Axes follow the domain. Within a table all cells have one variance, except where noise is so narrow (a coordinate's
        variance below 4) that the integers show: there it is smaller, and not the same for all.
        `planned` gives that of continuous noise.

        subset: the attributes of the table.
        """
        axes = self.axes(subset)
        noise = self.noise.planned if planned else self.noise.variance
        return assemble(axes, self.workload.shape(axes), lambda part: noise(self.position[part]), squared_synthesis)

    def is_exact(self, subset: Sequence[str]) -> bool:
        """Does no noise enter the table over `subset`, so that its cells are counts of records?

        subset: the attributes of the table.
        """
        axes = tuple(i for i in self.axes(subset) if self.workload.domain.shape[i] > 1)
        return all(
            np.isinf(self.precisions[self.position[part]]) for size in range(len(axes) + 1) for part in combinations(axes, size)
        )

    def axes(self, subset: Sequence[str]) -> tuple[int, ...]:
        """Sorted positions of a subset that the measured residuals determine.

        subset: names of attributes.
        """
        axes = tuple(sorted(positions(self.workload.domain, subset)))
        if tuple(i for i in axes if self.workload.domain.shape[i] > 1) not in self.position:
            raise InvalidProblem(
                f"subset: {list(subset)} is within no requested marginal; request it, or one that contains it."
            )
        return axes

    def error(self, loss: str = "squared") -> float:
        """Expected loss of all requested tables, weighted: "squared" adds weight times variance over all cells,
        "max" takes the largest.

        loss: "squared" or "max".
        """
        if loss not in ("squared", "max"):
            raise InvalidProblem(f'loss: {loss!r} is unknown; use "squared" or "max".', value=loss)
        if loss == "max" and not self.noise.wide:
            return max(float(weight * self.variances_of(k).max()) for k, weight in enumerate(self.workload.weights))
        if loss == "squared":
            return float(
                self.workload.summed_variances(self.workload.weights * self.workload.cells) @ self.noise.mean_variances
            )
        return float((self.workload.weights * (self.workload.cell_variances @ self.noise.mean_variances)).max())

    def variances_of(self, place: int) -> Floats:
        return self.variances(self.workload.names_of(place))

    def _true(self, tables: Tables) -> list[NDArray[Any]]:
        exact = true_residuals(self.position, tables)
        return [exact[subset] for subset in self.position]

    def _drawn(self, entropy: Entropy) -> list[NDArray[np.int64]]:
        return list(self.noise.draw(entropy))

    def draw_flat(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.noise.draw_flat(size, entropy)

    def _noise_reach(self) -> NoiseReach:
        return reach_of_cells(self)

    def _core_of_kind(self) -> dict[str, Any]:
        return {
            "subsets": list(map(list, self.workload.subsets.tuples())),
            "weights": self.workload.weights,
            "protection": protection_to_spec(self.protection),
            "precisions": self.precisions,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> MarginalMechanism:
        allowed = flagged_vacuous(core, keys(cls.spec_form.core) | ({"unlisted"} & core.keys()))
        domain = domain_of_core(core)
        if not all(type(i) is int and 0 <= i < len(domain.attributes) for subset in core["subsets"] for i in subset):
            raise InvalidSpec(f"subsets: must hold positions from 0 to {len(domain.attributes) - 1}.")
        workload = MarginalWorkload(domain, Subsets.of(core["subsets"]), array(core["weights"], 1, "weights"))
        precisions = array(core["precisions"], 1, "precisions")
        return cls(workload, protection_from_spec(core["protection"], domain, "zcdp"), precisions, allow_vacuous=allowed)

    def _statement(self) -> Guarantee:
        return self._promise(
            f"Marginals of {len(self.workload.subsets)} subsets of {len(self.workload.domain.attributes)} attributes: "
            f"independent integer noise in the contrasts of {len(self.precisions)} residuals, P(z) proportional to "
            "exp(-z^2 / (2 variance)); tables are a fixed linear map of them.",
            INTEGERS,
            ", each with its own budget",
        )


@deviations_in_units.register(MarginalMechanism)
def _deviations_in_units(mechanism: MarginalMechanism) -> Iterable[tuple[str, float]]:
    """Of every requested table that of the cell with the least noise."""
    means = (mechanism.workload.cell_variances @ mechanism.noise.mean_variances).tolist()
    for k, (title, mean, cells) in enumerate(zip(mechanism.workload.titles, means, mechanism.workload.cells, strict=True)):
        yield title, float(np.sqrt(mean if mechanism.noise.wide or cells > MOST_CELLS else mechanism.variances_of(k).min()))


below_by_noise.register(MarginalMechanism, lambda mechanism, table: table.answers < 0)


# How far the noise of the cells of marginals reaches with a given probability (docs/theory/intervals.md, 5).


def reach_of_cells(mechanism: MarginalMechanism) -> NoiseReach:
    """The noise of all cells of all requested tables in order."""
    workload, noise = mechanism.workload, mechanism.noise
    names = map(workload.names, workload.subsets.tuples())
    deviations = np.sqrt(np.concatenate([mechanism.variances(own, planned=True).ravel() for own in names]))
    planned = [noise.planned(k) for k in range(len(noise.shapes))]
    heard = [own for own in planned if own.size and own.min() > 0]
    least, coordinates = min((float(own.min()) for own in heard), default=0.0), sum(own.size for own in heard)
    size = sum(own.size for own in planned)
    few = size * len(deviations) <= MOST_ENTRIES
    return NoiseReach(
        lambda level: deviations * sum_of_gaussians_margin(least, coordinates, 1 - level),
        lambda draws, entropy: mechanism.draw_flat(draws, entropy) @ cells_of_contrasts(mechanism).T,
        deviations == 0,
        NoiseFacts(LAWS[mechanism.law], sums_are_nearly_normal(least, coordinates), size if few else math.inf),
        seed_of(mechanism.fingerprint),
        "the marginals",
    )


def cells_of_contrasts(mechanism: MarginalMechanism) -> Floats:
    """The matrix that makes the cells of all requested tables of the contrasts of all residuals, end to end."""
    workload, shapes = mechanism.workload, mechanism.noise.shapes
    starts = np.cumsum([0, *(math.prod(n - 1 for n in shape) for shape in shapes)])
    found = []
    for subset in workload.subsets.tuples():
        shape = workload.shape(subset)
        table = np.zeros((math.prod(shape), int(starts[-1])))
        for inside in product((False, True), repeat=len(subset)):
            if all(n > 1 for n, chosen in zip(shape, inside, strict=True) if chosen):
                k = mechanism.position[tuple(a for a, chosen in zip(subset, inside, strict=True) if chosen)]
                parts = [synthesis(n)[:, 1:] if c else synthesis(n)[:, :1] for n, c in zip(shape, inside, strict=True)]
                table[:, starts[k] : starts[k + 1]] = kronecker_product(parts)
        found.append(table)
    return np.concatenate(found)
