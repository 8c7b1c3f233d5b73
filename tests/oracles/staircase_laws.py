"""Staircase laws by their definition: Dijkstra over the steps of the grid, on no box at all, from the plain data of a spec."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from designer.base.run_length import numbers_from
from tests.oracles.additive_promises import answers, changes_and_budgets

Core = dict[str, Any]
Vector = tuple[int, ...]


def moved_steps(core: Core) -> dict[Vector, float]:
    """Every protected difference of the heard answers in steps of the grid, both signs, with its least budget."""
    target = answers(core["workload"]) if core["measured"] is None else np.array(core["measured"], dtype=float)
    steps = 2.0 ** np.array(core["grid"], dtype=float)[:, None]
    found = changes_and_budgets(core["relation"], np.rint(target / steps))
    assert found is not None
    finite = [(np.rint(u).astype(int), b) for u, b in found if math.isfinite(b) and np.any(u)]
    heard = np.any([u != 0 for u, _ in finite], axis=0)
    least: dict[Vector, float] = {}
    for u, budget in finite:
        for v in (u[heard], -u[heard]):
            least[tuple(v.tolist())] = min(budget, least.get(tuple(v.tolist()), math.inf))
    return least


def lowest_heights(noise: Core, least: dict[Vector, float], count: int) -> dict[Vector, int]:
    """The `count` lowest points of a law of peaks, in steps of the grid, with their heights."""
    unit = Fraction(noise["unit"])
    costs = {u: math.floor(Fraction(b) / unit * (1 + Fraction(1, 10**12))) for u, b in least.items()}
    basis = np.array(noise["basis"], dtype=object)
    waiting = [
        (level, tuple(int(x) // 2 for x in np.array(peak, dtype=object) @ basis))
        for peak, level in zip(noise["peaks"], noise["levels"], strict=True)
    ]
    heapq.heapify(waiting)
    settled: dict[Vector, int] = {}
    while waiting and len(settled) < count:
        height, z = heapq.heappop(waiting)
        if z in settled:
            continue
        settled[z] = height
        for u, cost in costs.items():
            further = tuple(a + c for a, c in zip(z, u, strict=True))
            if further not in settled:
                heapq.heappush(waiting, (height + cost, further))
    return settled


def stair_height(noise: Core, z: int) -> int:
    return max(0, -(-(abs(z) - noise["top"]) // noise["width"]))


def _rate_of_one_step(noise: Core, u: Vector) -> float:
    """The rate of the count that a difference moves by one step, if its law, written out, keeps delta; else infinite."""
    moved = [k for k, step in enumerate(u) if step]
    if sum(map(abs, u)) != 1:
        return math.inf
    rates = list(numbers_from(noise["rates"], "rates"))
    (rate,), delta = [float(rates[k]) for k in moved], noise["delta"]
    a = math.exp(-rate)
    tails = [a * (1 - delta) / (1 + a)]
    while tails[-1] > 0:
        tails.append(max(0.0, a * (tails[-1] - delta)))
    half = [1 - 2 * tails[0], *(here - further for here, further in pairwise(tails))]
    law = [*half[:0:-1], *half, 0.0]
    broken = sum(max(0.0, here - further / a) for here, further in pairwise(law))
    return rate if broken <= delta * (1 + 1e-9) + 1e-13 else math.inf


def largest_loss(core: Core, count: int = 1500) -> float | None:
    """The largest `|log P(z) - log P(z + u)| / b` over what is enumerated."""
    with np.errstate(all="ignore"):
        found = changes_and_budgets(core["relation"], answers(core["workload"]))
    if found is None:
        return None
    noise, least = core["noise"], moved_steps(core)
    if noise["kind"] == "truncated":
        return max(_rate_of_one_step(noise, u) / b for u, b in least.items())
    unit = Fraction(noise["unit"])
    if noise["kind"] == "moves":
        size = noise["cells"]
        points = [(*first, -sum(first)) for first in product(range(-3, 4), repeat=size - 1)]
        moved = {u: max(abs(sum(map(abs, map(sum, zip(z, u, strict=True)))) - sum(map(abs, z))) for z in points) for u in least}
        return math.inf if any(map(sum, least)) else max(float(unit * moved[u] / 2 / Fraction(b)) for u, b in least.items())
    if noise["kind"] == "stairs":
        edge = [noise["top"] + k * noise["width"] + d for k in range(4) for d in (-1, 0, 1)]
        moves = [(abs(stair_height(noise, z + u[0]) - stair_height(noise, z)), b) for u, b in least.items() for z in edge]
        return float(max(unit * move / Fraction(b) for move, b in moves))
    known = lowest_heights(noise, least, count)
    worst = Fraction(0)
    for u, budget in least.items():
        ends = ((h, known.get(tuple(a + c for a, c in zip(z, u, strict=True)))) for z, h in known.items())
        rise = max((abs(other - h) for h, other in ends if other is not None), default=0)
        worst = max(worst, unit * rise / Fraction(budget))
    return float(worst)
