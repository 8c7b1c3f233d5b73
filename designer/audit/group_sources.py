"""Independent noise in many coordinates, several of one law: products of queries, residuals of marginals, answers of tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from designer.audit.noise_sources import balance_watch
from designer.audit.stated_law import Integers, StatedLaw
from designer.audit.tally import Source
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.tables.policies.slow_policies import StudentNoise
from designer.sampling.entropy import Entropy
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.tables.other_noise import OtherNoise, PureSum, SlowlyScaledSum
from designer.tables.plan import TablePlan
from designer.tables.queries import Additive, Aggregated
from designer.tables.run import noisy_integers
from designer.base.arrays import Floats

MOST_KEPT = 4096  # coordinates of a draw that are looked at
MOST_KEYS = 64  # groups of a query whose noise is drawn together


def independent_law(energies: Callable[[Floats], Floats], groups: Sequence[int]) -> StatedLaw:
    """Independent coordinates with these energies, (n, m) to (n, m); groups: (m,) rising, which of them are averaged."""
    size = len(groups)
    return StatedLaw(
        lambda z: energies(z).sum(axis=1),
        np.eye(size, dtype=np.int64),
        np.eye(size),
        energies,
        np.unique(np.asarray(groups, dtype=np.intp), return_inverse=True)[1].astype(np.intp),
    )


def laplace_energies(rates: Floats) -> Callable[[Floats], Floats]:
    """`rate |z|`, rates (m,)."""
    return lambda z: np.asarray(np.abs(z) * rates)


def gaussian_energies(precisions: Floats) -> Callable[[Floats], Floats]:
    """`precision z^2 / 2`, precisions (m,)."""
    return lambda z: np.asarray(z**2 * precisions / 2)


def structured_source(made: StructuredMechanism, entropy: Entropy) -> Source:
    """The noise of all products, block by block."""
    sizes = [math.prod(len(made.matrices[axis][place].rows) for axis, place in block.parts.items()) for block in made.blocks]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    kept = _some(len(owner))
    strengths = np.array([block.strength for block in made.blocks])[owner[kept]]
    energies = (laplace_energies if made.noise == "laplace" else gaussian_energies)(strengths)

    def draw(size: int) -> Integers:
        return np.hstack([part.reshape(size, -1) for part in made.draw_blocks(size, entropy)])[:, kept]

    law = f"independent {made.noise} noise of {len(sizes)} products, {len(owner)} coordinates"
    return Source("noise", law, draw, balance_watch(independent_law(energies, owner[kept].tolist())), width=len(kept))


def marginal_source(made: MarginalMechanism, entropy: Entropy) -> Source:
    """The noise of all residuals that get any; coordinate (k, l, ...) has precision s over k (k + 1) l (l + 1) ..."""
    noisy = np.isfinite(made.precisions)
    norms, owners = [], []
    for place, subset in enumerate(made.workload.measured.tuples()):
        lengths = np.ones(())
        for n in made.workload.shape(subset):
            lengths = np.multiply.outer(lengths, np.arange(1, n) * np.arange(2, n + 1))
        norms.append(lengths.ravel())
        owners.append(np.full(lengths.size, place))
    owner, norm = np.concatenate(owners), np.concatenate(norms)
    heard = np.flatnonzero(noisy[owner])
    kept = heard[_some(len(heard))]
    energies = gaussian_energies(made.precisions[owner[kept]] / norm[kept])

    def draw(size: int) -> Integers:
        return made.noise.draw_flat(size, entropy)[:, kept]

    law = f"independent gaussian noise of {int(noisy.sum())} residuals, {len(heard)} coordinates"
    return Source("noise", law, draw, balance_watch(independent_law(energies, owner[kept].tolist())), width=len(kept))


def plan_sources(made: TablePlan, entropy: Entropy) -> list[Source]:
    """The noise of every sum and count of a plan."""
    return [_query_source(query, entropy) for query in made.noisy]


def _query_source(query: Aggregated, entropy: Entropy) -> Source:
    known = query.groups.keys
    listed = (("any",) * len(query.groups.columns),) if known is None else tuple(known)
    one_law = not isinstance(query, Additive) or len(query.grid_variances(listed)) == 1
    keys = listed[:MOST_KEYS]
    energies = _energies_of(query, keys)

    def together(size: int) -> Integers:
        answer = noisy_integers(query, keys * size, [0] * (len(keys) * size), entropy)
        return np.array(answer, dtype=np.int64).reshape(size, len(keys))

    def one_by_one(size: int) -> Integers:
        rows = [noisy_integers(query, listed, [0] * len(listed), entropy)[: len(keys)] for _ in range(size)]
        return np.array(rows, dtype=np.int64)

    law = independent_law(energies, [0] * len(keys))
    words = f"the stated noise of {query.name!r} in {len(keys)} of its groups"
    return Source(f"noise of {query.name}", words, together if one_law else one_by_one, balance_watch(law), width=len(keys))


def _energies_of(query: Aggregated, keys: Sequence[Any]) -> Callable[[Floats], Floats]:
    """The law of a query's noise in its own steps, from what the plan states."""
    if isinstance(query, Additive):
        return gaussian_energies(np.array([float(query.step**2 / Fraction(query.variance_of(key))) for key in keys]))
    assert isinstance(query, OtherNoise)
    if isinstance(query, PureSum):
        return laplace_energies(np.full(len(keys), float(query.step / Fraction(query.scale))))
    assert isinstance(query, SlowlyScaledSum)
    noise = query.noise
    if isinstance(noise, StudentNoise):
        wide, power = float(noise.scale / noise.step), noise.power
        return lambda z: np.asarray(power * np.log1p((z / wide) ** 2))
    return gaussian_energies(np.full(len(keys), float((noise.step / noise.deviation) ** 2)))


def _some(size: int) -> Any:
    """All places, or some of many, evenly spread."""
    return np.arange(size) if size <= MOST_KEPT else np.unique(np.linspace(0, size - 1, MOST_KEPT).astype(np.intp))
