"""Norm balls in two and three dimensions, with the differences that they must contain; shadows of higher ones on two axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.norms import Gauge, Norm
from designer.certificate.sensitivity import Pairs, SensitivitySet
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.labels import as_text, legend, shortened
from designer.publish.pictures.numerals import ticks_for_people
from designer.publish.pictures.style import colour, ink
from solvers.lattices.kernel import pseudo_inverse

MOST_PAIRS = 3000  # differences that are drawn, those of largest ratio
TURNS, RISES = 720, 41
LONGEST = 8.0  # side of a picture, over the other, up to which both axes have one scale
MOST_ROWS = 40  # of a map in the plane whose corners are looked for between every two


@dataclass(frozen=True, eq=False)
class DrawnBall:
    """A norm on the coordinates that get noise, with their names and the differences, u / b, that it must contain."""

    norm: Norm
    sensitivity: SensitivitySet
    names: Sequence[str]

    @property
    def heard(self) -> Any:
        """Places of the coordinates that get noise."""
        return np.flatnonzero(~self.norm.silent)

    def length(self, vectors: Floats) -> Floats:
        """The norm of vectors, (n, s), given in the s coordinates that get noise."""
        return self.norm.length(self.norm.image(self._whole(vectors)))

    def reached(self, rays: Floats) -> Floats:
        """Where rays, (n, s), leave the ball, (n, s)."""
        return np.asarray(rays / self.length(rays)[:, None])

    def _whole(self, vectors: Floats) -> Floats:
        full = np.zeros((len(vectors), self.norm.dimension))
        full[:, self.heard] = vectors
        return full

    @cached_property
    def _pairs(self) -> tuple[Pairs, bool]:
        """The pairs that are drawn, and whether these are all."""
        try:
            return self.sensitivity.all_pairs(MOST_PAIRS), True
        except DesignFailed:
            return self.sensitivity.worst(self.norm, MOST_PAIRS)[1], False

    @property
    def words(self) -> str:
        """What the points stand for."""
        return "protected differences u / b" + ("" if self._pairs[1] else ", those of largest norm")

    def differences(self) -> Floats:
        """All u / b, (M, s), both ways; above `MOST_PAIRS` the worst partners of as many points."""
        found = self._pairs[0]
        one_way = found.normalised[:, self.heard]
        one_way = one_way[np.isfinite(one_way).all(axis=1)]
        return np.unique(np.concatenate([one_way, -one_way]), axis=0)


def ball_drawing(ball: DrawnBall, onto: Sequence[int] | None = None) -> Drawing | None:
    """The ball of a norm; None where it has neither two nor three dimensions and no two were chosen.

    onto: two places among the coordinates that get noise, on which its shadow is drawn. `InvalidProblem` for others.
    """
    s = len(ball.heard)
    if onto is not None:
        if len(onto) != 2 or len(set(onto)) != 2 or not all(type(k) is int and 0 <= k < s for k in onto):
            raise InvalidProblem(
                f"onto: {shown(onto)} are no two of the {s} coordinates that get noise; give two places, from 0.", value=onto
            )
        if s > 2:
            return _drawing(ball, lambda axes: _draw_shadow(axes, ball, list(onto)), f", its shadow from {s} dimensions", 2)
    if s not in (2, 3):
        return None
    return _drawing(ball, lambda axes: (_draw_plane if s == 2 else _draw_space)(axes, ball), "", s)


def _drawing(ball: DrawnBall, draw: Callable[[Any], None], what: str, s: int) -> Drawing:
    alt = (
        f"The unit ball of {ball.norm.sentence}{what}, around the origin, with a point for every protected difference divided "
        "by its budget: all points lie within, the tightest on the boundary."
    )
    return Drawing("ball", "Norm ball and protected differences", alt, draw, s == 3, 6.0, 4.6 if s == 2 else 5.0)


def boundary(ball: DrawnBall) -> Floats:
    """The boundary of a ball in the plane, (n, 2), closed, with its corners among the points."""
    turns = np.linspace(0.0, 2 * np.pi, TURNS, endpoint=False)
    rays = np.concatenate([np.stack([np.cos(turns), np.sin(turns)], axis=1), _corner_rays(ball)])
    found = ball.reached(rays)
    found = found[np.argsort(np.arctan2(found[:, 1], found[:, 0]), kind="stable")]
    return np.concatenate([found, found[:1]])


def _corner_rays(ball: DrawnBall) -> Floats:
    """Directions in which the boundary of a ball in the plane may have a corner, (n, 2)."""
    norm, rows = ball.norm, ball.norm.factor
    if isinstance(norm, Gauge):
        given = norm.differences[:, ball.heard]
        return np.concatenate([given, -given])[np.tile(given.any(axis=1), 2)]
    if norm.order == "l1":
        normals = rows
    elif norm.order == "linf" and len(rows) <= MOST_ROWS:
        normals = np.array([a + sign * b for a, b in combinations(rows, 2) for sign in (1, -1)]).reshape(-1, 2)
    else:
        return np.empty((0, 2))
    normals = normals[normals.any(axis=1)]
    across = np.stack([-normals[:, 1], normals[:, 0]], axis=1)
    return np.concatenate([across, -across])


def _draw_plane(axes: Any, ball: DrawnBall) -> None:
    names = shortened([ball.names[k] for k in ball.heard])
    _draw_flat(axes, boundary(ball), ball.differences(), names, ("norm ball", ball.words))


def _draw_flat(axes: Any, outline: Floats, points: Floats, names: Sequence[str], called: Sequence[str]) -> None:
    (line,) = axes.plot(*outline.T, color=colour(0), linewidth=1.5)
    axes.fill(*outline.T, color=colour(0), alpha=0.12, linewidth=0)
    dots = axes.scatter(*points.T, s=12, color=colour(1), zorder=3, linewidths=0)
    _cross(axes)
    wide, tall = np.ptp(np.concatenate([outline, points]), axis=0)
    if max(wide, tall) < LONGEST * min(wide, tall):
        axes.set_aspect("equal", adjustable="datalim")
    for axis, name in zip((axes.xaxis, axes.yaxis), names, strict=True):
        as_text(axis.set_label_text(f"change of {name}"))
        ticks_for_people(axis)
    legend(axes, [line, dots], called, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _cross(axes: Any) -> None:
    for drawn in (axes.axhline, axes.axvline):
        drawn(0.0, color=ink(axes), linewidth=0.5, alpha=0.6, zorder=0)


def shadow(ball: DrawnBall, onto: Sequence[int]) -> Floats:
    """The shadow of a ball on two coordinates, (n, 2), closed: the hull of the shadows of its corners, or, of round balls, a
    polygon around it, each side touching: that in direction t lies at the dual norm of t (`Norm.reach`)."""
    found = ball_corners(ball)
    if found is not None:
        from scipy.spatial import ConvexHull

        flat = found[:, list(onto)]
        around = flat[ConvexHull(flat / np.abs(flat).max(axis=0)).vertices]
    else:
        around = _tangents(ball, onto)
    return np.concatenate([around, around[:1]])


def _tangents(ball: DrawnBall, onto: Sequence[int]) -> Floats:
    """The corners of a polygon of `TURNS` sides that touch the shadow of a ball, (TURNS, 2), in units of its widths."""
    turns, step = np.linspace(0.0, 2 * np.pi, TURNS, endpoint=False), 2 * np.pi / TURNS
    outward, beside = np.stack([np.cos(turns), np.sin(turns)], axis=1), np.stack([-np.sin(turns), np.cos(turns)], axis=1)
    sides = np.zeros((TURNS + 2, len(ball.heard)))
    sides[[-2, -1], list(onto)] = 1.0
    widths = ball.norm.reach(sides[-2:])
    sides[:TURNS, list(onto)] = outward / widths
    reach = ball.norm.reach(sides[:TURNS])
    along = (np.roll(reach, -1) - reach * np.cos(step)) / np.sin(step)
    return np.asarray((reach[:, None] * outward + along[:, None] * beside) * widths)


def _draw_shadow(axes: Any, ball: DrawnBall, onto: Sequence[int]) -> None:
    names = shortened([ball.names[ball.heard[k]] for k in onto])
    _draw_flat(axes, shadow(ball, onto), ball.differences()[:, list(onto)], names, ("shadow of the norm ball", ball.words))


def ball_corners(ball: DrawnBall) -> Floats | None:
    """The corners of a ball that is a polytope with few of them, (n, s); None for the others."""
    norm, rows = ball.norm, ball.norm.factor
    if isinstance(norm, Gauge):
        half = norm.scale * norm.body.vertices.floats
        return np.concatenate([half, -half])
    if type(norm) is not Norm or norm.order == "l2" or rows.shape[0] != rows.shape[1]:
        return None
    inverse = np.linalg.inv(rows)
    if norm.order == "l1":
        return np.concatenate([inverse.T, -inverse.T])
    return np.asarray(np.array(list(product((-1.0, 1.0), repeat=len(rows)))) @ inverse.T)


def faces(points: Floats) -> list[Floats]:
    """The faces of the hull of points in space, (n, 3): the corners of each in order, (m, 3)."""
    from scipy.spatial import ConvexHull

    widths = np.abs(points).max(axis=0)
    hull = ConvexHull(points / widths)
    groups: dict[tuple[float, ...], set[int]] = {}
    for plane, corners_of in zip(np.round(hull.equations, 7).tolist(), hull.simplices.tolist(), strict=True):
        groups.setdefault(tuple(plane), set()).update(corners_of)
    return [_in_order(points, widths, np.array(plane[:3]), sorted(places)) for plane, places in groups.items()]


def _in_order(points: Floats, widths: Floats, normal: Floats, places: Sequence[int]) -> Floats:
    """Corners of a face, one after the other around its middle."""
    flat = points[list(places)] / widths
    first = flat[0] - flat.mean(axis=0)
    second = np.cross(normal, first)
    around = (flat - flat.mean(axis=0)) @ np.stack([first, second], axis=1)
    return points[list(places)][np.argsort(np.arctan2(around[:, 1], around[:, 0]))]


def _draw_space(axes: Any, ball: DrawnBall) -> None:
    points, found = ball.differences(), ball_corners(ball)
    if found is None:
        _draw_shell(axes, ball)
    else:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        axes.add_collection3d(
            Poly3DCollection(faces(found), alpha=0.18, facecolor=colour(0), edgecolor=colour(0), linewidth=0.8)
        )
    axes.scatter(*points.T, s=8, color=colour(1), depthshade=False, linewidths=0)
    reach = 1.05 * np.abs(np.concatenate([points, ball.reached(np.eye(3)), *([] if found is None else [found])])).max(axis=0)
    names = shortened([ball.names[k] for k in ball.heard], 24)
    for axis, name, far in zip("xyz", names, reach.tolist(), strict=True):
        _space_axis(axes, axis, f"change of {name}", far)
    axes.set_box_aspect((1, 1, 1), zoom=0.82)


def _space_axis(axes: Any, axis: str, label: str, far: float) -> None:
    from matplotlib.ticker import MaxNLocator

    line = getattr(axes, f"{axis}axis")
    getattr(axes, f"set_{axis}lim")(-far, far)
    line.set_pane_color((0.5, 0.5, 0.5, 0.07))
    line.set_major_locator(MaxNLocator(4))
    as_text(line.set_label_text(label))
    line.labelpad = 7
    ticks_for_people(line)


def _draw_shell(axes: Any, ball: DrawnBall) -> None:
    """A round ball as a net of lines over its boundary."""
    turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 2 * RISES - 1), np.linspace(0, np.pi, RISES))
    rays = np.stack([np.cos(turn) * np.sin(rise), np.sin(turn) * np.sin(rise), np.cos(rise)], axis=-1).reshape(-1, 3)
    shell = ball.reached(rays @ _spread(ball.norm).T).T.reshape(3, *turn.shape)
    axes.plot_surface(*shell, color=colour(0), alpha=0.15, linewidth=0, shade=False)
    axes.plot_wireframe(*shell, color=colour(0), alpha=0.45, linewidth=0.5, rstride=2, cstride=2)


def _spread(norm: Norm) -> Floats:
    """A map of rays, (3, 3), that a long, thin ball spreads out evenly."""
    if norm.order == "l2" and norm.factor.shape[0] == norm.factor.shape[1]:
        return np.asarray(np.linalg.inv(norm.factor))
    return np.diag(np.linalg.norm(pseudo_inverse(norm.factor), axis=1))
