"""The command `plot`: a picture of a spec, of a release, or of what a problem file asks for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.printing import printed
from designer.certified.frozen import Released, Specified
from designer.cli.options import add_output, check_output, loaded, refuse_signer, release_and_signer
from designer.files.problem.kinds import read_request
from designer.files.problem.linear_request import ProblemFile
from designer.files.problem.request import Choices
from designer.files.releases import read_release
from designer.reports.pictures.drawing import Drawing, chosen
from designer.reports.pictures.figures import check_picture
from designer.reports.pictures.kinds import drawings_of
from designer.reports.pictures.places import LATITUDE, LONGITUDE, placed_drawing
from designer.reports.pictures.requested import problem_drawings

LIST = "list"


def add_plot(made: argparse.ArgumentParser) -> None:
    """plot."""
    made.set_defaults(run=_plot)
    made.add_argument("release", type=Path, nargs="?", help="a release (JSON) of the spec, to draw its answers")
    made.add_argument("--kind", help=f"which picture (default: the first); {LIST!r} prints the names of all")
    made.add_argument("--places", type=Path, help="a table of places (CSV, Parquet), to draw answers or errors on a map")
    made.add_argument("--latitude", default=LATITUDE, help=f"its column of latitudes (default {LATITUDE})")
    made.add_argument("--longitude", default=LONGITUDE, help=f"its column of longitudes (default {LONGITUDE})")
    add_output(made, "-o", "the picture to write: .svg, .png or .pdf (needs matplotlib)")


def _plot(options: argparse.Namespace) -> tuple[str, Any]:
    listing = options.kind == LIST
    if options.output:
        check_output(options, [path for path in (options.file, options.release, options.places) if path is not None])
        check_picture(options.output)
    drawings = _drawings(options)
    if listing:
        lines = [f"{drawing.name:16}{printed(drawing.title)}" for drawing in drawings]
        data = [{"kind": drawing.name, "title": drawing.title, "alt": drawing.alt} for drawing in drawings]
        return "\n".join(lines) or "No picture.", {"kinds": data}
    drawing = chosen(drawings, options.kind, printed(options.file))
    if options.output is None:
        names = [one.name for one in drawings]
        raise InvalidProblem(f"-o: missing; name the picture to write, such as -o {drawing.name}.svg. There are {names}.")
    drawing.save(options.output, replace=options.force)
    text = f"Drawn to {printed(options.output)}: {printed(drawing.alt)}"
    return text, {"path": str(options.output), "kind": drawing.name, "title": drawing.title, "alt": drawing.alt}


def _drawings(options: argparse.Namespace) -> tuple[Drawing, ...]:
    if options.file.suffix == ".toml":
        refuse_signer(options)
        if options.release is not None:
            raise InvalidProblem("release: goes with the spec that made it; give the spec in the place of the problem file.")
        return _of_problem(options)
    mechanism = loaded(options)
    released = None
    if options.release is not None:
        released = read_release(mechanism, release_and_signer(options)[0], allow_vacuous=options.allow_vacuous)
    return _with_map(options, mechanism, released, drawings_of(mechanism, released))


def _of_problem(options: argparse.Namespace) -> tuple[Drawing, ...]:
    """What a problem file protects; the rest needs a design, and is not designed for a picture that needs none."""
    request = read_request(options.file)
    if not isinstance(request, ProblemFile):
        mechanism = request.make(Choices())
        return _with_map(options, mechanism, None, drawings_of(mechanism))
    own = problem_drawings(request.problem)
    if options.kind in {drawing.name for drawing in own}:
        return own
    made = request.designed(Choices())
    known = {drawing.name for drawing in own}
    drawn = tuple(drawing for drawing in drawings_of(made) if drawing.name not in known)
    return _with_map(options, made.mechanism, None, (*drawn, *own))


def _with_map(
    options: argparse.Namespace, mechanism: Specified, released: Released | None, drawings: tuple[Drawing, ...]
) -> tuple[Drawing, ...]:
    """With a map of answers or errors in front, where a table of places is given."""
    if options.places is None:
        return drawings
    placed = placed_drawing(mechanism, released, options.places, options.latitude, options.longitude)
    return (placed, *(drawing for drawing in drawings if drawing.name != placed.name))
