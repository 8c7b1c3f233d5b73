"""Noise that is drawn row by row and balanced: moments of two crossed margins, from the law of a row by convolution.

Independent noise in many coordinates, several of one law: products of queries, residuals of marginals, answers of tables.

The noise of tests of odds ratios: its distribution function by the recursion that makes it canonical.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.audit.balance_tests import Integers, StatedLaw
from designer.audit.enumerated_laws import balance_watch, table_source
from designer.audit.mean_tests import Columns, Source, in_a_row
from designer.audit.verdict import Finding, proven
from designer.base.arrays import Floats
from designer.sampling.entropy import Entropy
from designer.tradeoff.functions import Gaussian, Tradeoff

if TYPE_CHECKING:
    from designer.domains.marginals import MarginalMechanism
    from designer.domains.products import StructuredMechanism
    from designer.lattice.row_mechanism import RowMechanism
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.tables.plan import TablePlan
    from designer.tables.queries import Aggregated

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


def domain_source(made: StructuredMechanism | MarginalMechanism, entropy: Entropy) -> Source:
    """The noise of all products, block by block, or of all residuals that get any: coordinate (k, l, ...) of a residual has
    precision s over k (k + 1) l (l + 1) ..."""
    from designer.domains.products import StructuredMechanism

    if isinstance(made, StructuredMechanism):
        norms = [np.ones([len(made.matrices[axis][place].rows) for axis, place in b.parts.items()]) for b in made.blocks]
        strengths, parts = np.array([block.strength for block in made.blocks]), "products"
    else:
        norms = [
            reduce(np.multiply.outer, (np.arange(1, n) * np.arange(2, n + 1) for n in made.workload.shape(subset)), np.ones(()))
            for subset in made.workload.measured.tuples()
        ]
        strengths, parts = made.precisions, "residuals"
    owner, norm = np.repeat(np.arange(len(norms)), [own.size for own in norms]), np.concatenate([own.ravel() for own in norms])
    noisy = np.flatnonzero(np.isfinite(strengths)[owner])
    kept = noisy[_some(len(noisy))]
    energies = (laplace_energies if made.law == "laplace" else gaussian_energies)(strengths[owner[kept]] / norm[kept])

    def draw(size: int) -> Integers:
        return made.draw_flat(size, entropy)[:, kept]

    law = f"independent {made.law} noise of {int(np.isfinite(strengths).sum())} {parts}, {len(noisy)} coordinates"
    return Source("noise", law, draw, balance_watch(independent_law(energies, owner[kept].tolist())), width=len(kept))


def plan_sources(made: TablePlan, entropy: Entropy) -> list[Source]:
    """The noise of every sum and count of a plan."""
    return [_query_source(query, entropy) for query in made.noisy]


def _query_source(query: Aggregated, entropy: Entropy) -> Source:
    from designer.tables.queries import Additive
    from designer.tables.scans import noisy_integers

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
    from designer.tables.other_noise import OtherNoise, PureSum, SlowlyScaledSum
    from designer.tables.policies.slow_policies import StudentNoise
    from designer.tables.queries import Additive

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


SHARES = (0.002, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98, 0.998)
TABLE_STEP = 2.0**-8
MOST_STEPS = 4096  # of the recursion
COARSE = 1 / 8  # of the enumerated outputs


def canonical_cdf(promise: Tradeoff, normal: bool) -> Callable[[Floats], Floats]:
    """F with `F(x) = f(F(x + 1))` to the left of -1/2 and symmetric, f in the paper's convention: linear between its fixed
    point and the mirror image of that, or normal."""
    if normal:
        assert isinstance(promise, Gaussian)
        from scipy.special import ndtr

        return lambda x: np.asarray(ndtr(x * float(promise.mu)))
    low = _fixed_point(promise)

    def left(x: Floats) -> Floats:
        steps = np.clip(np.ceil(-x - 0.5), 0, MOST_STEPS)
        inner = np.maximum(x + steps, -0.5)
        value = low + (1 - 2 * low) * (inner + 0.5)
        for k in range(int(steps.max(initial=0))):
            value = np.where(steps > k, promise.paper_convention(value), value)
        return np.asarray(value)

    return lambda x: np.where(x <= 0, left(-np.abs(x)), 1 - left(-np.abs(x)))


def _fixed_point(promise: Tradeoff) -> float:
    """c with `beta(c) = c`, by bisection."""
    low, high = 0.0, 0.5
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if float(promise.type_two(middle)) > middle else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class LineWatch:
    """Draws are numbers of grid steps, each the noise rounded down. edges: (E,), where shares are counted."""

    step: float
    cdf: Callable[[Floats], Floats]
    edges: Floats  # in steps
    mean: float  # of the absolute middle of a step
    offset: bool

    @classmethod
    def of(cls, step: float, cdf: Callable[[Floats], Floats], pilot: Any) -> LineWatch:
        """From draws (n,) that are not tested again."""
        values = pilot.astype(np.float64)
        width = max(step, TABLE_STEP)
        far = 1.0 + float(np.abs(values).max()) * step * 3
        ends = np.arange(0, math.ceil(far / width) + 1) * width
        mean = 2 * float((np.diff(cdf(np.asarray(ends, dtype=np.float64))) * (ends[:-1] + width / 2)).sum())
        edges: Floats = np.unique(np.quantile(values, SHARES, method="lower")).astype(np.float64)
        return cls(step, cdf, edges, mean, step <= 2.0**-16)

    def columns(self, draws: Any) -> Columns:
        """Shares below edges, the mean size, the sign, and products in a row."""
        whole = draws.astype(np.float64)
        size, sign = np.abs(whole + 0.5) * self.step - self.mean, np.sign(whole + 0.5)
        shares = self.cdf(self.edges * self.step)
        kinds = [("scale", size), ("sign", sign)]
        kinds += [(f"below {share:.4f}", (whole < edge) - share) for edge, share in zip(self.edges, shares, strict=True)]
        kinds += [("in a row: scale", in_a_row(size)), ("in a row: sign", in_a_row(sign))]
        if self.offset:
            parts = np.array([int(z) % 6 for z in draws])
            kinds += [("residue of 2", parts % 2 - 0.5), ("residue of 3", parts % 3 - 1.0)]
        known = np.zeros(len(kinds))
        known[2 : 2 + len(shares)] = np.sqrt(shares * (1 - shares))
        return Columns(tuple(name for name, _ in kinds), np.column_stack([values for _, values in kinds]), known)

    def effects(self, pilot: Any, sees: float) -> Mapping[str, float]:
        """A scale moves the mean size in proportion."""
        return {"scale": sees * self.mean}


def odds_ratio_source(made: OddsRatioTest, entropy: Entropy) -> Source:
    """The noise of the count, in steps of the grid."""
    cdf = canonical_cdf(made.tradeoff, made.noise == "closed_form" and isinstance(made.tradeoff, Gaussian))
    step = 2.0**-made.exponent
    return Source(
        "noise",
        "the canonical law of the tradeoff function, by its recursion",
        lambda size: made.law.draw(size, made.exponent, entropy),
        lambda pilot: LineWatch.of(step, cdf, pilot),
    )


def enumerated_test(made: OddsRatioTest) -> Finding:
    """The best tests between two neighbours on a coarse grid of outputs, from the law's own balls: none beats the promise."""
    from solvers.exact.balls import working_precision

    half = min(64.0, 2 + 40 / max(1 - 2 * _fixed_point(made.tradeoff), 0.02))
    ends = np.arange(-half, half + 1.5, COARSE)
    with working_precision(128):
        below = np.array([float(made.law.ball(Fraction(float(x)))) for x in ends])
    cells = np.maximum(np.diff(below), 0.0)
    moved = round(1 / COARSE)
    first, second = cells[moved:], cells[:-moved]
    order = np.argsort(-(second / np.maximum(first, 1e-300)))
    alpha, power = np.cumsum(first[order]), np.cumsum(second[order])
    beta = np.clip(1 - power, 0.0, 1.0)
    gap = float((beta - made.tradeoff.type_two(np.clip(alpha, 0.0, 1.0))).min())
    words = (
        f"all best tests between two neighbours on a grid of {COARSE:g} ({len(cells)} outputs): errors of the second kind "
        f"exceed what is promised by {gap:.2g} or more (rounding 1e-9)"
    )
    return proven("law, enumerated", words, gap >= -1e-9, least_excess=gap)


MOST_CELLS = 24
REACH = 45.0  # of `rate |y|` in the tables of laws


@dataclass(frozen=True, eq=False)
class RowsWatch:
    """Draws are tables, (n, cells). cells: (c,), the watched ones. square: the variance of
    a cell, where it is known; None for signs alone."""

    cells: NDArray[np.intp]
    square: float | None
    alike: tuple[tuple[int, int, float], ...]  # pairs of places in `cells` with their correlation

    def columns(self, draws: Integers) -> Columns:
        """Means, squares, products, and products in a row, of draws (n, cells)."""
        z = draws[:, self.cells].astype(np.float64) / np.sqrt(self.square or 1.0)
        kinds = [("shift", z)]
        if self.square is not None:
            total = (draws.astype(np.float64) ** 2).mean(axis=1, keepdims=True) / self.square - 1
            crossed = [z[:, j] * z[:, k] - known for j, k, known in self.alike]
            kinds += [("scale", z**2 - 1), ("scale of all", total), ("crossed", np.column_stack(crossed))]
        kinds.append(("in a row: shift", in_a_row(z)))
        names = tuple(f"{name} {k + 1}" if v.shape[1] > 1 else name for name, v in kinds for k in range(v.shape[1]))
        return Columns(names, np.hstack([values for _, values in kinds]))

    def effects(self, pilot: Integers, sees: float) -> Mapping[str, float]:
        """A scale moves squares by twice its share; pilot: (n, cells)."""
        if self.square is None:
            return {}
        return {"scale of all": 2 * sees} | {f"scale {k + 1}": 2 * sees for k in range(len(self.cells))}


def row_source(made: RowMechanism, entropy: Entropy) -> Source:
    """The noise of the table."""
    cells = np.unique(np.linspace(0, made.relation.size - 1, MOST_CELLS).astype(np.intp))
    square, alike = _known(made, cells)
    words = "second moments, from the law of a row by convolution" if square else "signs (the law has no formula here)"
    return table_source(made, words, entropy, lambda _: RowsWatch(cells, square, alike))


def _known(made: RowMechanism, cells: NDArray[np.intp]) -> tuple[float | None, tuple[tuple[int, int, float], ...]]:
    """The variance of every cell of two margins with a cell for each combination, and correlations of the watched ones."""
    crossed: Any = made.crossed
    if len(crossed.levels) != 2 or crossed.repeats != 1:
        return None, ()
    rows, columns = crossed.levels[made.axis], crossed.levels[1 - made.axis]
    one = row_law(columns, float(made.norm.map[0]))
    reach = len(one) // 2
    values = np.arange(-reach, reach + 1)
    summed = _sum_law(one, rows)
    part = np.mod(np.arange(len(summed)) - len(summed) // 2, rows) / rows
    square = ((rows - 1) * float(one @ values**2) + rows * float(summed @ (part * (1 - part)))) / rows
    place = [divmod(int(k), crossed.levels[1]) for k in np.argsort(crossed.order)[cells]]
    levels = crossed.levels
    alike = []
    for j in range(len(cells)):
        for k in range(j + 1, len(cells)):
            same = [place[j][axis] == place[k][axis] for axis in (0, 1)]
            alike.append((j, k, float(np.prod([1.0 if s else -1 / (levels[axis] - 1) for axis, s in enumerate(same)]))))
    return square, tuple(alike[:60])


def row_law(columns: int, rate: float) -> Floats:
    """The law of one cell of a row of `columns` cells with `P(y) ~ exp(-rate |y|_1)` on sum 0: `g(a)` times the chance that the
    others add up to -a."""
    reach = int(np.ceil(REACH / rate))
    values = np.arange(-reach, reach + 1)
    alone = np.exp(-rate * np.abs(values))
    alone /= alone.sum()
    others = _sum_law(alone, columns - 1)
    middle = len(others) // 2
    joint = alone * others[middle - values]
    return np.asarray(joint / joint.sum())


def _sum_law(one: Floats, count: int) -> Floats:
    """The law of a sum of independent numbers, by Fourier transforms; centred."""
    width = (len(one) - 1) * count + 1
    transformed = np.fft.rfft(one, 2 * width) ** count
    return np.asarray(np.maximum(np.fft.irfft(transformed, 2 * width)[:width], 0.0))
