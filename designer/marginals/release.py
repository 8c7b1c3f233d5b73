"""Releases of marginals: the one place where true tables meet noise, and tables put together from noisy residuals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.confidential import withholding
from designer.engines.row_unit import RowUnit
from designer.frozen import Floats, count, frozen
from designer.guarantee import Guarantee
from designer.marginals.protection import Presence, Protection
from designer.marginals.residuals import assemble, residual
from designer.marginals.tables import Tables, tables_of_database
from designer.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from solvers.rational import float_above

if TYPE_CHECKING:
    from designer.marginals.mechanism import MarginalMechanism


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Tables of a mechanism's subsets from noisy contrasts, `residuals[A]` for every measured subset A."""

    mechanism: MarginalMechanism
    residuals: Mapping[tuple[int, ...], NDArray[Any]]

    def table(self, subset: Sequence[str]) -> Floats:
        """The noisy table over a requested subset, or any part of one; axes follow the domain. Unbiased; cells may be negative.

        All tables come from the same residuals, so they agree: summing one over an axis gives the other, up to float rounding.
        """
        axes = self.mechanism.axes(subset)
        return assemble(axes, self.mechanism.workload.shape(axes), lambda part: self.residuals[part].astype(np.float64))

    def tables(self) -> dict[tuple[str, ...], Floats]:
        """All requested tables."""
        workload = self.mechanism.workload
        return {names: self.table(names) for names in map(workload.names, workload.subsets.tuples())}


@dataclass(frozen=True, eq=False)
class MarginalRelease(_Residuals):
    """Noisy marginals, with the guarantee they carry and the fingerprint of the mechanism that made them.

    residuals: the noisy integers themselves, from which anyone recomputes the tables in exact arithmetic.
    """

    guarantee: Guarantee
    fingerprint: str

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
class SimulatedTables(_Residuals):
    """Tables of noise alone, with a `stamp` that says that they are not private."""

    stamp: str


@withholding
def release(mechanism: MarginalMechanism, count_tables: Callable[[], Tables]) -> MarginalRelease:
    """Exact integer contrasts of the true tables plus exact noise from the operating system's entropy."""
    exact = true_residuals(mechanism, count_tables())
    noisy = {subset: _stored(exact[subset] + noise) for subset, noise in _drawn(mechanism, SystemEntropy()).items()}
    return MarginalRelease(mechanism, noisy, mechanism.guarantee, mechanism.fingerprint)


@withholding
def release_rows(mechanism: MarginalMechanism, table: Any, unit: RowUnit) -> MarginalRelease:
    """The same of the rows of an Ibis table that count, with a guarantee that says what a row is."""
    columns = mechanism.workload.columns
    rows = unit.rows(table, columns)
    if not isinstance(mechanism.protection, Presence):
        unit.require_fixed_rows(table, columns)
    released = release(mechanism, lambda: tables_of_database(mechanism.workload, rows))
    return replace(released, guarantee=_of_entities(mechanism.protection, unit, unit.stated(mechanism.guarantee)))


def _of_entities(protection: Protection, unit: RowUnit, stated: Guarantee) -> Guarantee:
    """Noise that a record moves by a length is moved by an entity of k rows by k lengths at most: k times the budget."""
    if unit.rows_per_entity is None or not isinstance(protection, Presence):
        return stated
    budget = float_above(unit.rows_per_entity * Fraction(protection.epsilon))
    return replace(stated, parameters={**stated.parameters, "budget_of_an_entity": budget})


def _stored(noisy: NDArray[Any]) -> NDArray[Any]:
    """64-bit or Python integers, by the noisy numbers: the type that the true ones took would tell how large they are."""
    wide = np.abs(noisy.astype(np.float64)).max(initial=0.0) >= 2.0**62
    return frozen(noisy.astype(object if wide else np.int64))


def simulate(mechanism: MarginalMechanism, seed: int | None) -> SimulatedTables:
    """One draw of the noise, stamped."""
    entropy = SystemEntropy() if seed is None else SeededEntropy(count(seed, "seed", least=0))
    stamp = "simulation, not private: " + ("no seed" if seed is None else f"seed {seed}")
    return SimulatedTables(mechanism, _drawn(mechanism, entropy), stamp)


def _drawn(mechanism: MarginalMechanism, entropy: Entropy) -> dict[tuple[int, ...], NDArray[np.int64]]:
    return dict(zip(mechanism.position, mechanism.noise.draw(entropy), strict=True))


def true_residuals(mechanism: MarginalMechanism, tables: Tables) -> dict[tuple[int, ...], NDArray[Any]]:
    """The contrasts of every measured subset, each from one largest table that contains it; confidential.

    |contrasts| are at most the number of records times the product of n - 1: where that leaves 62 bits, Python integers take over.
    """
    result: dict[tuple[int, ...], NDArray[Any]] = {}
    wanted = mechanism.position
    for subset, table in tables.items():
        largest = table.astype(np.float64).sum() * float(np.prod(table.shape, dtype=np.float64))
        exact = table if largest < 2.0**62 else table.astype(object)
        for part in _parts(subset):
            if part in wanted and part not in result:
                dropped = tuple(k for k, axis in enumerate(subset) if axis not in part)
                result[part] = np.asarray(residual(np.asarray(exact.sum(axis=dropped))))
    return result


def _parts(subset: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [part for size in range(len(subset) + 1) for part in combinations(subset, size)]
