"""Metropolis chains on lattices, their coupling, and what the meeting times say about convergence.

For laws `P(z)` proportional to `exp(-energy(z))` on the integer combinations of some directions, where nothing exact is
feasible. Many chains run side by side in the rows of one array. What these chains return is close to the law, never exactly it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.lattices.kernel import pseudo_inverse

Floats = NDArray[np.float64]
States = NDArray[np.int64]
Energy = Callable[[States], Floats]


class Words(Protocol):
    """A source of independent uniform 64-bit words."""

    def random_words(self, count: int) -> NDArray[np.uint64]: ...


def l1_energy(rate: float) -> Energy:
    """`rate |z|_1` of the rows."""
    return lambda z: rate * np.abs(z).sum(axis=1)


def l2_energy(rate: float) -> Energy:
    """`rate |z|_2` of the rows."""
    return lambda z: rate * np.sqrt((z * z).sum(axis=1))


def uniforms(shape: tuple[int, ...], source: Words) -> Floats:
    """Numbers in (0, 1), the middles of 2^52 equal parts: with 2^53 of them the last would round to 1."""
    words = source.random_words(math.prod(shape)) >> np.uint64(12)
    return ((words.astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)


@dataclass(frozen=True)
class JumpLaw:
    """Symmetric integer jumps: a mixture, in equal parts, of the laws `(1 - a) / (1 + a) a^|e|`, a one of `decays`.

    One decay is the double geometric jump of the paper (INT section 4); several of different width let a chain walk and creep.

    decays: each between 0 and 1; the larger, the wider the jumps.
    """

    decays: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.decays or not all(0 < a < 1 for a in self.decays):
            raise ValueError(f"decays: {self.decays}; give at least one, each between 0 and 1.")

    def draw(self, shape: tuple[int, ...], source: Words) -> States:
        """Independent jumps."""
        a = np.array(self.decays)
        a = a[(uniforms(shape, source) * len(a)).astype(np.intp)] if len(a) > 1 else a[0]
        u, sign = uniforms((2, *shape), source)
        size = np.floor(np.log(u) / np.log(a)).astype(np.int64)
        return np.asarray(np.where(sign * (1.0 + a) < 1.0, size, -1 - size))

    def mass(self, e: States) -> Floats:
        """P(e)."""
        a = np.array(self.decays)
        return np.asarray(((1 - a) / (1 + a) * a ** np.abs(e)[..., None]).mean(axis=-1))


@dataclass(frozen=True, eq=False)
class Chain:
    """Metropolis with jumps `e @ directions`; `jointly` all coefficients jump at once, else one direction chosen at random.

    directions: (J, d) integers. With the Smith basis (`smith_transforms`) and `jointly` this is INT Algorithm 1. Reduced bases
    and short vectors, which are allowed to be dependent, mix better one at a time, because their jumps change the energy less.
    """

    directions: States
    energy: Energy
    law: JumpLaw
    jointly: bool = False
    _squares: Floats = field(init=False, repr=False)
    _dual: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        directions = np.array(self.directions, dtype=np.int64)
        if directions.ndim != 2 or not directions.size or not directions.any(axis=1).all():
            raise ValueError(f"directions: shape {directions.shape}; give at least one nonzero row.")
        if self.jointly and np.linalg.matrix_rank(directions) < len(directions):
            raise ValueError(f"directions: {len(directions)} are dependent; jump along one of them at a time, or give a basis.")
        squares = (directions.astype(np.float64) ** 2).sum(axis=1)
        dual = pseudo_inverse(directions.astype(np.float64)) if self.jointly else np.zeros((0, 0))
        for name, array in (("directions", directions), ("_squares", squares), ("_dual", dual)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def start(self, chains: int) -> States:
        """All chains at the origin, (chains, d)."""
        return np.zeros((chains, self.directions.shape[1]), dtype=np.int64)

    def step(self, states: States, energies: Floats, source: Words) -> float:
        """One step of n chains in place, states (n, d) and their energies (n,); returns the part of them that accepted."""
        proposed = states + self._combined(*self._jumps(len(states), source))
        return self._settle(states, energies, proposed, uniforms((len(states),), source))

    def run(self, states: States, steps: int, source: Words, thin: int = 0) -> tuple[States, float, States]:
        """Final states, acceptance rate, and every `thin`-th state, (steps // thin, chains, d), none for thin = 0."""
        states, kept, rate = states.copy(), [], 0.0
        energies = self.energy(states)
        for t in range(1, steps + 1):
            rate += self.step(states, energies, source) / steps
            if thin and t % thin == 0:
                kept.append(states.copy())
        return states, rate, np.array(kept, dtype=np.int64).reshape(len(kept), *states.shape)

    def step_pair(self, first: tuple[States, Floats], second: tuple[States, Floats], source: Words) -> None:
        """One step of n pairs of chains in place, each alone a step of `step`: INT Algorithm 2.

        first, second: states (n, d) and energies (n,).

        Jumps are coupled so that the proposals agree as often as possible (maximally, coefficient by coefficient), and one
        uniform number decides both acceptances. Chains that have met stay together.
        """
        rows = len(first[0])
        chosen, jump = self._jumps(rows, source)
        gap = self._coefficients(first[0] - second[0], chosen)
        other = coupled_jump(jump, gap, self.law, source)
        threshold = uniforms((rows,), source)
        proposals = [first[0] + self._combined(chosen, jump), second[0] + self._combined(chosen, other)]
        for (states, energies), proposed in zip((first, second), proposals, strict=True):
            self._settle(states, energies, proposed, threshold)

    def meeting_times(
        self, lag: int, pairs: int, source: Words, limit: int, start: Callable[[int], States] | None = None
    ) -> NDArray[np.int64]:
        """tau of `pairs` independent pairs, the first time t >= lag with `z(t) = z'(t - lag)`: INT Algorithm 3;
        -1 beyond `limit`.

        `start(n)` draws n independent initial states, the origin by default.
        """
        begin = start or self.start
        first, second, alone = begin(pairs), begin(pairs), np.arange(pairs)
        times = np.full(pairs, -1, dtype=np.int64)
        states, _, _ = self.run(first, lag, source)
        one, two = (states, self.energy(states)), (second, self.energy(second))
        for t in range(lag, limit + 1):
            met = (one[0] == two[0]).all(axis=1)
            if met.any():
                times[alone[met]] = t
                alone, one, two = alone[~met], (one[0][~met], one[1][~met]), (two[0][~met], two[1][~met])
            if not len(alone):
                break
            self.step_pair(one, two, source)
        return times

    def _jumps(self, rows: int, source: Words) -> tuple[NDArray[np.intp] | None, States]:
        """The directions chosen, (n,), None for all of them, and the jumps, (n,) or (n, J)."""
        if self.jointly:
            return None, self.law.draw((rows, len(self.directions)), source)
        # 52 bits times J: a direction is favoured by less than J 2^-52.
        chosen = (uniforms((rows,), source) * len(self.directions)).astype(np.intp)
        return chosen, self.law.draw((rows,), source)

    def _combined(self, chosen: NDArray[np.intp] | None, jump: States) -> States:
        if chosen is None:
            # Exact in float64 and ten times as fast as in integers, as long as no sum reaches 2^53.
            return np.rint(jump.astype(np.float64) @ self.directions.astype(np.float64)).astype(np.int64)
        return jump[:, None] * self.directions[chosen]

    def _coefficients(self, gap: States, chosen: NDArray[np.intp] | None) -> States:
        """What the second chain has to jump more than the first, for them to agree: in the chosen direction, or in all."""
        if chosen is None:
            return np.rint(gap.astype(np.float64) @ self._dual).astype(np.int64)
        return np.asarray(np.rint((gap * self.directions[chosen]).sum(axis=1) / self._squares[chosen]).astype(np.int64))

    def _settle(self, states: States, energies: Floats, proposed: States, threshold: Floats) -> float:
        new = self.energy(proposed)
        with np.errstate(over="ignore"):
            accept = threshold <= np.exp(np.minimum(energies - new, 0.0))
        states[accept], energies[accept] = proposed[accept], new[accept]
        return float(accept.mean())


def coupled_jump(jump: States, gap: States, law: JumpLaw, source: Words) -> States:
    """Jumps e' with the law of e and `e' = e + gap` as often as possible: the maximal coupling of `v + e` and `w + e'`,
    gap = v - w."""
    wanted: States = np.asarray(jump + gap)
    agree = uniforms(jump.shape, source) * law.mass(jump) <= law.mass(wanted)
    other, far, open_ = wanted.ravel(), np.broadcast_to(gap, jump.shape).ravel(), np.flatnonzero(~agree)
    while len(open_):
        tried = law.draw((len(open_),), source)
        apart = uniforms((len(open_),), source) * law.mass(tried) > law.mass(tried - far[open_])
        other[open_[apart]] = tried[apart]
        open_ = open_[~apart]
    return other.reshape(jump.shape)


# What coupled and parallel chains say about convergence: total variation, R-hat, and the choice of a jump scale.


@dataclass(frozen=True, eq=False)
class VariationBound:
    """Estimates of an upper bound on the total variation distance after `steps`, with pointwise confidence limits; arrays (n,).

    An estimate from finitely many pairs, not a proof. `censored` pairs had not met. They count as if they met where the search
    stopped, so the estimate is too small, and not to be used, where there are any.

    steps: (n,), numbers of steps. estimate: of the bound after each. low: the lower confidence limit. high: the upper one.
    pairs: how many were run. censored: how many had not met.
    """

    steps: NDArray[np.int64]
    estimate: Floats
    low: Floats
    high: Floats
    pairs: int
    censored: int

    def steps_for(self, distance: float) -> int | None:
        """The first of `steps` from which on the upper confidence limit stays at most `distance`; None if there is none."""
        bad = np.flatnonzero(self.high > distance)
        place = int(bad[-1]) + 1 if len(bad) else 0
        return None if self.censored or place >= len(self.steps) else int(self.steps[place])


def variation_bound(
    times: ArrayLike, lag: int, steps: ArrayLike, confidence: float = 0.95, limit: int | None = None
) -> VariationBound:
    """Estimate `E max(0, ceil((tau - lag - t) / lag))` over the meeting times tau (Biswas, Jacob, Vanetti 2019, Theorem 2.5).

    Limits are Student's, for each t by itself. Where all pairs have met before t the upper limit is `1 - (1 -
    confidence)^(1/n)`, the largest chance of not meeting that n met pairs leave credible. ValueError where pairs have not met
    and no limit is given.

    Parameters
    ----------
    times : (n,) meeting times of independent pairs, -1 where a pair has not met.
    lag : between the two chains of a pair, in steps.
    steps : t: (T,), where the bound is asked.
    confidence : of the limits, between 0 and 1.
    limit : where the search for meetings stopped.
    """
    from scipy import stats

    tau, at = np.asarray(times, dtype=np.int64), np.asarray(steps, dtype=np.int64)
    censored = int((tau < 0).sum())
    if censored and limit is None:
        raise ValueError(f"times: {censored} pairs have not met; give the limit of the search, or search longer.")
    tau = np.where(tau < 0, limit or 0, tau)
    n = len(tau)
    values = np.maximum(0, -((tau[None, :] - lag - at[:, None]) // -lag)).astype(np.float64)
    mean = values.mean(axis=1)
    margin = stats.t.ppf((1 + confidence) / 2, n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n)
    never = 1 - (1 - confidence) ** (1 / n)
    return VariationBound(at, mean, np.maximum(0, mean - margin), np.maximum(mean + margin, never), n, censored)


def r_hat(trace: NDArray[np.int64]) -> Floats:
    """Compute Gelman and Rubin's potential scale reduction of every coordinate, from `trace` (draws, chains, d); chains are
    split in half.

    trace: (draws, chains, d), the states of the chains.

    >>> r_hat(np.tile(np.arange(8)[:, None, None] % 2, (1, 3, 1))).round(3).tolist()
    [0.866]
    """
    half = len(trace) // 2
    if half < 2:
        raise ValueError(f"trace: {len(trace)} draws a chain; give at least 4.")
    parts = np.concatenate([trace[:half], trace[half : 2 * half]], axis=1).astype(np.float64)
    within, between = parts.var(axis=0, ddof=1).mean(axis=0), parts.mean(axis=0).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, ratio, np.where(between > 0, np.inf, 1.0))


def tuned_decay(
    build: Callable[[float], Chain], candidates: Sequence[float], source: Words, chains: int = 64, steps: int = 2000
) -> float:
    """The decay whose chain travels farthest: the largest mean squared length of a step after a short run, of those tried."""

    def travelled(decay: float) -> float:
        chain = build(decay)
        states, _, _ = chain.run(chain.start(chains), steps, source)
        after, _, _ = chain.run(states, 50, source)
        return float(((after - states).astype(np.float64) ** 2).sum(axis=1).mean())

    return max(candidates, key=travelled)
