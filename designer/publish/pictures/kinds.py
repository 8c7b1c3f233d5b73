"""The pictures of everything that has some, and `plot`, which draws one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.lazy_imports import at_addresses
from designer.base.output import write_whole
from designer.certificate.frozen import FrozenMechanism, Released
from designer.designing.comparison import Comparison
from designer.designing.design_result import Design, Designed
from designer.designing.least import LeastBudget
from designer.designing.problem_kinds import STRUCTURED, problem_kind
from designer.files.kinds import mechanism_kind
from designer.limits import MOST_DRAWN_ELEMENTS
from designer.publish.pictures.answers import answer_drawings, tables_to_draw
from designer.publish.pictures.drawing import Drawing, chosen, side_by_side
from designer.publish.pictures.figures import check_picture, picture_bytes, require_matplotlib, styled
from designer.publish.pictures.of_designs import budget_drawings, comparison_drawings, relation_drawing, with_limits
from designer.publish.pictures.of_mechanisms import neighbourhoods, policy_drawings, release_maps
from designer.relations.problem import Problem

# Pictures of a user's own, by the name under which they were registered, and files of pictures of every kind.


# From a comparison to a figure of matplotlib, such as `figure` makes.
Draw = Callable[[Any], Any]
OWN = ("families", "deviations", "budget", "relation")  # of comparisons and least budgets, never a user's

_PICTURES: dict[str, Draw] = {}


def register_picture(name: str, draw: Draw) -> None:
    """Let `designer.plot(comparison, path, kind=name)` draw `draw(comparison)`, a figure of matplotlib, in this process.

    Nothing in a problem file or a spec names a picture.
    Raises `InvalidProblem` for a name that is taken, and for no name or no function.

    Parameters
    ----------
    name : of the kind of picture.
    draw : a function from a comparison to a figure.
    """
    if not isinstance(name, str) or not name or name in (*OWN, *_PICTURES):
        there = sorted({*OWN, *_PICTURES})
        raise InvalidProblem(f"picture: the name {shown(name)} is taken, or is no name; {there} are there.")
    if not callable(draw):
        raise InvalidProblem(
            f"picture: {shown(draw)} draws nothing; give a function from a comparison to a figure.", value=draw
        )
    _PICTURES[name] = draw


def registered_figure(kind: str, comparison: Any) -> Any:
    """The figure that a registered picture draws; None where none of that name is registered."""
    if kind not in list(_PICTURES):
        return None
    require_matplotlib()
    made = _PICTURES[kind](comparison)
    if not callable(getattr(made, "savefig", None)):
        raise InvalidProblem(
            f"plot: {shown(kind)} gave {shown(type(made).__name__)}; return a figure of matplotlib.", value=kind
        )
    return made


def kind_among(drawings: Sequence[Drawing], kind: object) -> Drawing:
    """The picture of that name among those of a comparison; the refusal of any other names the registered ones, too."""
    if kind not in {drawing.name for drawing in drawings}:
        there = sorted({*(drawing.name for drawing in drawings), *_PICTURES})
        raise InvalidProblem(
            f"plot: {shown(kind)} is no picture; use one of {there}, or register_picture one of your own first.", value=kind
        )
    return chosen(drawings, str(kind), "this comparison")


def save_figure(made: Any, path: Path, *, replace: bool = True) -> Path:
    """Write a figure, or what a function draws, whole or not at all, in the format that the ending of its name says."""
    check_picture(path)
    with styled():
        return write_whole(path, picture_bytes(made() if callable(made) else made, path.suffix), replace=replace)


Drawings = tuple[Drawing, ...]


def drawings_of(thing: Any, released: Released | None = None) -> Drawings:
    """List the pictures of a mechanism, a release, a design, a comparison, a least budget or a policy, in the order of a page.

    Their names differ. None where nothing can be drawn. Raises `InvalidProblem` for a release of another mechanism, and for
    what has no pictures.

    Parameters
    ----------
    thing : what is drawn.
    released : a release of the mechanism, whose answers come first.
    """
    if released is not None:
        return _with_answers(thing, released)
    for kind, drawn in _OF:
        if isinstance(thing, kind):
            return drawn(thing)
    if callable(getattr(thing, "answer_tables", None)):
        return answer_drawings(tables_to_draw(thing))
    if isinstance(thing, at_addresses(["designer.tables.policies.policy:Policy"])):
        return policy_drawings({"policy": thing})
    raise InvalidProblem(
        f"plot: a {shown(type(thing).__name__)} has no pictures; give a mechanism, a release, a design, a comparison, a least "
        "budget or a policy."
    )


def plot(
    thing: Any,
    path: str | Path | None = None,
    *,
    ax: Any = None,
    kind: str | None = None,
    released: Released | None = None,
    replace: bool = True,
) -> Any:
    """Draw one picture of something into a file, which is returned, or into axes of matplotlib, by default new ones, which are
    returned. Needs matplotlib (extra `plot`).

    Without a kind, the file of a comparison shows losses and deviations side by side. Raises `InvalidProblem` for other names,
    and for axes that have not the dimensions of the picture.

    Parameters
    ----------
    thing : what `drawings_of` takes.
    path : of a picture; its ending says of which format.
    ax : axes that have the dimensions of the picture.
    kind
        the name of one of `drawings_of(thing, released)`, by default the first; of a comparison also a picture of your own,
        into a file, see `designer.register_picture`.
    released : a release of the mechanism.
    replace : may a regular file of that name be replaced?
    """
    if path is not None and ax is not None:
        raise InvalidProblem("plot: draws into a file or into axes; give path or ax, not both.")
    if path is not None:
        check_picture(Path(path))
    own = registered_figure(kind, thing) if kind is not None and isinstance(thing, Comparison) else None
    if own is not None:
        if path is None:
            raise InvalidProblem(f"kind: {shown(kind)} makes a figure of its own; give a path to write it to.", value=kind)
        return save_figure(own, Path(path), replace=replace)
    found = drawings_of(thing, released)
    if isinstance(thing, Comparison) and path is not None and kind is None and found:
        return save_figure(lambda: side_by_side(found[:2]), Path(path), replace=replace)
    compared = isinstance(thing, Comparison) and kind is not None
    drawing = kind_among(found, kind) if compared else chosen(found, kind, type(thing).__name__)
    return drawing.plot(ax) if path is None else drawing.save(path, replace=replace)


def _with_answers(mechanism: Any, released: Released) -> Drawings:
    if not isinstance(mechanism, FrozenMechanism):
        raise InvalidProblem("released: goes with the mechanism that made it; give that mechanism, or the release alone.")
    if released.fingerprint != mechanism.fingerprint:
        raise InvalidProblem(
            f"released: was made by {shown(released.fingerprint)}, not by this mechanism, {shown(mechanism.fingerprint)}; "
            "give the mechanism that made it."
        )
    tables = tables_to_draw(released)
    return (*answer_drawings(tables, mechanism.about.unit), *drawings_of(mechanism), *release_maps(mechanism, tables))


def _of_kind(made: FrozenMechanism) -> Drawings:
    kind = mechanism_kind(made)
    draw: Callable[[Any], Drawings] | None = None if kind is None else kind.part("pictures")
    return () if draw is None else draw(made)


def _of_comparison(found: Comparison) -> Drawings:
    """Losses, and of linear queries that are written out the noise of each answer and what may change."""
    drawn = comparison_drawings(found.problem, found.rows, found.limit)
    if not isinstance(found.problem, Problem):
        return drawn
    relation = found.problem.relation
    graph = relation.single_records and relation.size <= MOST_DRAWN_ELEMENTS
    return (*drawn, relation_drawing(relation, found.problem.workload.elements)) if graph else drawn


# The first class that a thing is an instance of.
_OF: tuple[tuple[type, Callable[[Any], Drawings]], ...] = (
    (FrozenMechanism, _of_kind),
    (Design, lambda made: with_limits(drawings_of(made.mechanism), made.problem, made.mechanism)),
    (Designed, lambda made: drawings_of(made.mechanism)),
    (Comparison, _of_comparison),
    (LeastBudget, budget_drawings),
)


# The pictures of what a problem file asks for: what it protects, before anything is designed, and the design.


def problem_drawings(problem: Any) -> tuple[Drawing, ...]:
    """What a problem protects: the graph of few elements, and the neighbourhoods of places on the globe."""
    if problem_kind(problem) is STRUCTURED:
        return ()
    relation, elements = problem.relation, problem.workload.elements
    graph = relation.single_records and relation.size <= MOST_DRAWN_ELEMENTS
    around = neighbourhoods(relation, elements)
    return (*([relation_drawing(relation, elements)] if graph else []), *([] if around is None else [around]))
