"""The commands that draw: `explore`, a page with sliders for budgets, and `plot`, a picture of a spec, release or problem."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from designer.base.display import counted, printed
from designer.base.errors import InvalidProblem
from designer.base.output import write_whole
from designer.certificate.frozen import FrozenMechanism, Released
from designer.cli.options import add_output, check_output, loaded, refuse_signer, release_and_signer
from designer.files.releases import read_release
from designer.problem_file.kinds import read_request
from designer.problem_file.linear import LinearFile
from designer.problem_file.sections import Choices
from designer.publish.exploring import POINTS, explored, explorer_html
from designer.publish.page import template
from designer.publish.pictures.drawing import Drawing, chosen
from designer.publish.pictures.figures import check_picture
from designer.publish.pictures.kinds import drawings_of, problem_drawings
from designer.publish.pictures.places import LATITUDE, LONGITUDE, placed_drawing

LIST = "list"


def add_explore(made: argparse.ArgumentParser) -> None:
    """explore."""
    made.set_defaults(run=_explore)
    made.add_argument("--family", action="append", help="only this family; may be given several times")
    made.add_argument("--points", type=int, default=POINTS, help=f"how many budgets (default {POINTS})")
    made.add_argument("--effort", help="how much work each search has: quick, normal (the default) or thorough")
    add_output(made, "-o", "the page to write: .html (needs Jinja2)")


def _explore(options: argparse.Namespace) -> tuple[str, Any]:
    if options.output is None or options.output.suffix.lower() != ".html":
        raise InvalidProblem("-o: explore writes a page; name it, such as -o explore.html.")
    check_output(options, read_request(options.file).files)
    template("explore.html.jinja")  # refused at once where it cannot be drawn
    found = explored(options.file, options.family, effort=options.effort or "normal", points=options.points)
    write_whole(options.output, explorer_html(found), replace=options.force)
    told = f"{counted(len(found['points']), 'point')}, {counted(len(found['families']), 'family', 'families')}"
    lines = [f"Written to {printed(options.output)}: {told}; open it in a browser.", *map(printed, found["notes"])]
    return "\n".join(lines), {"path": str(options.output), **found}


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
    if not isinstance(request, LinearFile):
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
    options: argparse.Namespace, mechanism: FrozenMechanism, released: Released | None, drawings: tuple[Drawing, ...]
) -> tuple[Drawing, ...]:
    """With a map of answers or errors in front, where a table of places is given."""
    if options.places is None:
        return drawings
    placed = placed_drawing(mechanism, released, options.places, options.latitude, options.longitude)
    return (placed, *(drawing for drawing in drawings if drawing.name != placed.name))
