"""Draws per second of exact K-norm noise against rejection from the bounding cube, on the same hulls, in one run.

The usual way draws uniform points in the smallest cube (here even: box) around the hull, keeps those inside, and stretches them
by a Gamma radius. Inside is decided either by all facets at once, in floats, which takes facets that this package recovered, or
by a linear program over the vertices for each proposal, which is what is left without facets. Ours are exact draws on a grid of
2^-40, from the operating system's entropy, by star triangulation; one in about 2^10 is rejected. Where facets decide, a sixth
of the box is accepted at 3x3, and exact draws are on a par with float rejection, float draws 8 times as many;
at 4x4 exact ones are 2,300 times as many.

    OMP_NUM_THREADS=1 python -m benchmarks.knorm_sampler [--no-4x4]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from benchmarks.hull_facets import metric_differences, table_moves
from designer.certified.norms import Gauge
from designer.mechanisms.additive.noise import gauge_grid
from designer.sampling.bodies.round_and_reject import RoundAndReject
from designer.sampling.entropy import SystemEntropy

LINEAR_PROGRAMS = 400
SECONDS = 1.0


def hulls() -> Iterator[tuple[str, Gauge]]:
    """Names and gauges, small first. Tables hide basic moves under adjacency 2 (budget 2 a move),
    in coordinates of their span."""
    sizes = [(3, 3), (3, 4)] + ([] if "--no-4x4" in sys.argv else [(4, 4)])
    for k in (4, 6):
        moves = metric_differences(k, 50).floats
        yield f"K = {k}, N = 50, metric budgets", Gauge(moves, np.ones(len(moves)))
    for r, c in sizes:
        moves = table_moves(r, c).floats
        yield f"{r}x{c} tables, basic moves", Gauge(moves, np.full(len(moves), 2.0))


def sampler(norm: Gauge) -> RoundAndReject:
    """The exact sampler on a grid whose steps are 2^-40 of the hull's reach."""
    step = Fraction(2) ** int(np.frexp(np.abs(norm.scale * norm.body.vertices.floats).max())[1] - 40)
    return RoundAndReject(gauge_grid(norm, (step,) * norm.dimension))


def rate(draw: Callable[[], int]) -> float:
    """What `draw` counts, per second, over batches that last `SECONDS` in all; a batch before that warms up."""
    draw()
    count, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < SECONDS:
        count += draw()
    return count / spent


def by_facets(norm: Gauge, generator: np.random.Generator) -> int:
    """One batch of proposals in the bounding box, of which those inside become noise; their number before rejection.

    The exact share of the volume says how many are accepted: at 4x4 none may be in a second.
    Half of the facets decide, by symmetry.
    """
    s, reach = norm.dimension, np.abs(norm.scale * norm.body.vertices.floats).max(axis=0)
    batch = min(100_000, max(10_000, 2**24 // len(norm.map)))
    proposed = generator.uniform(-reach, reach, (batch, s))
    inside = proposed[np.abs(proposed @ norm.map.T).max(axis=1) <= 1]
    inside *= generator.gamma(s + 1, size=(len(inside), 1))
    return batch


def by_star(norm: Gauge, generator: np.random.Generator) -> int:
    """A batch of the same triangulation in floats, as rejection is: what exactness on the grid costs."""
    s, batch = norm.dimension, 10_000
    vertices = norm.scale * norm.body.vertices.floats
    simplices = np.concatenate([vertices, -vertices])[norm.body.simplices]
    chosen = simplices[generator.choice(len(simplices), batch, p=norm.body.weights)]
    parts = generator.standard_exponential((batch, s)) * generator.choice((-1.0, 1.0), (batch, 1))
    return len(np.einsum("ni,nij->nj", parts, chosen))


def by_programs(norm: Gauge, generator: np.random.Generator) -> float:
    """Proposals per second when a linear program over the vertices decides: `min |w|_1`, `V'w = z`, at most 1."""
    from scipy.optimize import linprog

    corners = norm.scale * norm.body.vertices.floats
    reach, both = np.abs(corners).max(axis=0), np.concatenate([corners, -corners]).T
    start = time.perf_counter()
    for point in generator.uniform(-reach, reach, (LINEAR_PROGRAMS, len(reach))):
        linprog(np.ones(both.shape[1]), A_eq=both, b_eq=point, method="highs")
    return LINEAR_PROGRAMS / (time.perf_counter() - start)


def main() -> None:
    """Prints one Markdown row a hull."""
    print(
        "| hull | s | facets | share of the box | exact, /s | star in floats, /s | box and facets, /s | ratio | box and "
        "programs, /s | ratio | prepared in s |"
    )
    print("|" + " --- |" * 11)
    generator, entropy = np.random.default_rng(1), SystemEntropy()
    start = time.perf_counter()
    for name, norm in hulls():
        exact = sampler(norm)
        prepared = time.perf_counter() - start
        s, facets = norm.dimension, len(norm.map)
        share = float(norm.body.volume) / float(np.prod(2 * np.abs(norm.body.vertices.floats).max(axis=0)))
        ours = rate(lambda exact=exact: len(exact.draw(10_000, entropy)))  # type: ignore[misc]
        theirs = share * rate(lambda norm=norm: by_facets(norm, generator))  # type: ignore[misc]
        star = rate(lambda norm=norm: by_star(norm, generator))  # type: ignore[misc]
        programs = by_programs(norm, generator) * share
        numbers = (
            f"{s} | {2 * facets} | {share:.2e} | {ours:.3g} | {star:.3g} | {theirs:.3g} | {ours / theirs:.3g} | "
            f"{programs:.3g} | {ours / programs:.3g}"
        )
        print(f"| {name} | {numbers} | {prepared:.1f} |", flush=True)
        start = time.perf_counter()


if __name__ == "__main__":
    main()
