"""What the families look like: their norm balls for two and three queries, clouds of their noise,
and error against the time to design it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

from designer import Design, DesignFailed, Problem, Workload, design, metrics
from designer.extend import figure
from examples.reproduction import Floats, Result, show

BALLS = ("k_norm", "ellipsoid", "box", "l2_ball", "laplace")
CLOUDS = ("k_norm", "strategy_laplace", "ellipsoid", "box", "l2_ball", "laplace")
COLOURS = {
    "k_norm": "tab:blue",
    "strategy_laplace": "tab:cyan",
    "ellipsoid": "tab:orange",
    "box": "tab:green",
    "l2_ball": "tab:purple",
    "laplace": "tab:red",
}
SIDE = 7
DIRECTIONS = 2**14
DIFFERENCES: dict[str, str] = {}


def setting(queries: int) -> Problem:
    """Random real queries on the 49 points of a square grid with unit steps.

    Points drawn at random have one pair that is much closer than all others, and hulls that are little more than its needle.
    """
    places = np.stack(np.divmod(np.arange(SIDE**2), SIDE), axis=1)
    return Problem(Workload.random(queries, SIDE**2, seed=2), metrics.euclidean(places))


@cache
def designed(family: str, queries: int) -> Design:
    """The design of a family for `setting(queries)`."""
    return design(setting(queries), family)


def points(queries: int, family: str = "k_norm") -> Floats:
    """All u / b with both signs, (M, K), on the grid of a family's design: every private norm ball contains them.

    The grids differ from the workload by 2^-40 noise scales, and the balls follow their grids.
    """
    one_way = designed(family, queries).mechanism.sensitivity().all_pairs().normalised
    return np.concatenate([one_way, -one_way])


def boundary(family: str) -> Floats:
    """The boundary of a norm ball for K = 2, (DIRECTIONS + 1, 2), closed."""
    turn = np.linspace(0, 2 * np.pi, DIRECTIONS + 1)
    rays = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(rays / designed(family, 2).mechanism.norm(rays)[:, None])


def area(family: str) -> float:
    """Area of a norm ball for K = 2: of the polytope exactly, of the others by their formulas."""
    norm = designed(family, 2).mechanism.norm
    if family == "k_norm":
        return float(norm.body.volume) * norm.scale**2
    unit = {"l1": 2.0, "l2": np.pi, "linf": 4.0}[norm.order]
    return float(unit / abs(np.linalg.det(norm.factor)))


def polygon_area(corners: Floats) -> float:
    """Shoelace formula for a closed polygon."""
    (x, y), (along, up) = corners[:-1].T, corners[1:].T
    return float(abs((x * up - along * y).sum()) / 2)


def reproduce(full: bool = False) -> Result:
    """Every ball contains every u / b and touches one; areas by formula, by the traced boundary and, for the hull, by Qhull."""
    from scipy.spatial import ConvexHull

    hull_area = ConvexHull(points(2)).volume
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}

    def claim(name: str, value: float, low: float, high: float) -> None:
        computed[name], published[name] = value, (low, high)

    for family in BALLS:
        for queries in (2, 3):
            made = designed(family, queries)
            assert made.privacy.worst_ratio is not None
            largest = float(made.mechanism.norm(points(queries, family)).max())
            claim(f"{family}, K = {queries}: largest norm of a u / b", largest, 1 - 1e-6, 1.0)
            claim(f"{family}, K = {queries}: the same, exactly", float(made.privacy.worst_ratio), 1 - 1e-6, 1.0)
        claim(f"{family}: area by boundary / by formula", polygon_area(boundary(family)) / area(family), 1 - 1e-5, 1 + 1e-5)
        claim(
            f"{family}: area / that of the hull by Qhull",
            area(family) / hull_area,
            1.0,
            1 + 1e-6 if family == "k_norm" else np.inf,
        )
        if full:
            claim(f"{family}: mean square of 20,000 draws / stated error", drawn_error(family), 0.93, 1.07)
    return computed, published


def drawn_error(family: str) -> float:
    """Mean of |z|^2 over simulated noise over the stated squared error.

    |z|^2 has a standard deviation of at most 2.3 times its mean in all families here (Laplace on one line: sqrt 5), so the mean
    of 20,000 is off by at most 1.6 % (one standard error): 7 % is above four of them.
    """
    mechanism = designed(family, 2).mechanism
    return float((np.asarray(mechanism.simulate(20_000, seed=5)) ** 2).sum(axis=1).mean() / mechanism.error())


def draw_plane(folder: Path) -> Path:
    """K = 2: the balls and the points that they must contain."""
    drawing, axis = figure(width=7.0, height=5.0)
    axis.plot(*points(2).T, linestyle="", marker=".", markersize=3, color="0.45", label="±u / b of all pairs")
    for family in BALLS:
        filled = "k_norm (the hull)" if family == "k_norm" else family
        axis.plot(*boundary(family).T, color=COLOURS[family], label=f"{filled}, area {area(family):.3g}")
    axis.set_aspect("equal")
    axis.set_xlabel("answer to query 1")
    axis.set_ylabel("answer to query 2")
    axis.set_title("Unit balls of the designed norms, K = 2")
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path = folder / "norm_balls_2.png"
    drawing.savefig(path, dpi=150)
    return path


def shell(family: str) -> Floats:
    """The boundary of a norm ball for K = 3 over a mesh of directions, (3, 13, 25)."""
    turn, height = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    rays = np.stack([np.cos(turn) * np.sin(height), np.sin(turn) * np.sin(height), np.cos(height)], axis=-1).reshape(-1, 3)
    return np.asarray((rays / designed(family, 3).mechanism.norm(rays)[:, None]).T.reshape(3, *turn.shape))


def draw_space(folder: Path) -> Path:
    """K = 3: the hull with the points that it must contain, and the same hull within the best ellipsoid."""
    from matplotlib.ticker import MaxNLocator
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    drawing, _ = figure(columns=2, width=6.0, height=5.5)
    drawing.clear()
    axes = drawing.subplots(1, 2, subplot_kw={"projection": "3d"})
    norm = designed("k_norm", 3).mechanism.norm
    half = np.array([norm.body.corners(t) for t in range(norm.body.simplex_count // 2)]) * norm.scale
    for axis, opacity in zip(axes, (0.15, 0.8), strict=True):
        faces = {"alpha": opacity, "facecolor": "lightsteelblue", "edgecolor": "navy", "linewidth": 0.6}
        hull = Poly3DCollection(
            np.concatenate([half, -half]), label=f"k_norm (the hull), {2 * len(norm.body.facets)} facets", **faces
        )
        axis.add_collection3d(hull)
        # Room for the labels of the axes, which the layout does not see.
        axis.set_box_aspect((1, 1, 1), zoom=0.85)
        axis.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), zlim=(-1.1, 1.1))
        for k, line in enumerate((axis.xaxis, axis.yaxis, axis.zaxis), start=1):
            line.set_label_text(f"answer to query {k}")
            line.set_major_locator(MaxNLocator(4))
            line.labelpad = 8
    axes[0].scatter(*points(3).T, s=2, color="tab:red", depthshade=False, label="±u / b of all pairs")
    axes[1].plot_wireframe(*shell("ellipsoid"), color=COLOURS["ellipsoid"], linewidth=0.6, alpha=0.7, label="ellipsoid")
    for axis in axes:
        axis.legend(fontsize=8, loc="upper left")
    drawing.suptitle("Unit balls of designed norms, K = 3")
    path = folder / "norm_balls_3.png"
    drawing.savefig(path, dpi=150)
    return path


def draw_clouds(folder: Path) -> Path:
    """K = 2: 2,000 draws of the noise of each family, on one scale, with the unit ball where the norm lives on the answers."""
    drawing, _ = figure(columns=3, width=4.0, height=8.0)
    drawing.clear()
    axes = drawing.subplots(2, 3, sharex=True, sharey=True)
    reach = 3.5 * np.sqrt(designed("laplace", 2).error / 2)
    for family, axis in zip(CLOUDS, axes.flat, strict=True):
        made = designed(family, 2)
        axis.plot(
            *np.asarray(made.mechanism.simulate(2000, seed=1)).T,
            linestyle="",
            marker=".",
            markersize=2,
            color=COLOURS[family],
        )
        if family in BALLS:
            axis.plot(*boundary(family).T, color="black", linewidth=1)
        axis.set_title(f"{family}: squared error {made.error:.3g}")
        axis.set_xlim(-reach, reach)
        axis.set_ylim(-reach, reach)
        axis.set_aspect("equal")
    drawing.supxlabel("noise in the answer to query 1")
    drawing.supylabel("noise in the answer to query 2 (black: the unit ball of the norm)")
    path = folder / "noise_clouds.png"
    drawing.savefig(path, dpi=150)
    return path


def draw_trade_off(folder: Path) -> Path:
    """Error relative to the optimal independent Laplace noise against seconds to design, K = 4 and K = 6."""
    from matplotlib.ticker import NullLocator

    drawing, axes = figure(columns=2)
    design(setting(2), "strategy_laplace")  # imports, outside the measurement
    for queries, axis in zip((4, 6), axes, strict=True):
        reference = design(setting(queries), "laplace").error
        for family in CLOUDS:
            start = perf_counter()
            try:
                made = design(setting(queries), family)
            except DesignFailed:
                continue
            seconds = perf_counter() - start
            axis.plot(seconds, made.error / reference, marker="o", color=COLOURS[family])
            side = "right" if family in ("l2_ball", "strategy_laplace", "box") else "left"
            shift = (-6 if side == "right" else 6, {"l2_ball": -11, "box": 5}.get(family, -3))
            axis.annotate(
                family,
                (seconds, made.error / reference),
                shift,
                textcoords="offset points",
                horizontalalignment=side,
                fontsize=9,
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(5e-4, 20)
        axis.set_ylim(0.15, 1.5)
        ticks = (0.2, 0.3, 0.5, 0.7, 1.0)
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("seconds to design and certify")
        axis.set_ylabel("squared error / that of laplace")
        axis.set_title(f"K = {queries} queries, N = {SIDE**2}")
    path = folder / "family_trade_off.png"
    drawing.savefig(path, dpi=150)
    return path


def draw(folder: Path) -> str:
    """All four pictures."""
    return ", ".join(str(picture(folder)) for picture in (draw_plane, draw_space, draw_clouds, draw_trade_off))


if __name__ == "__main__":
    show("Norm balls and noise of the families", reproduce, DIFFERENCES, draw)
