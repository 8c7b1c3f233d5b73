"""The commands that write pages and pictures: `report`, a spec as a page to read; `explore`, a page with sliders for budgets;
and `plot`, a picture of a spec, release or problem."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from designer.accounts.check import checked, require_recorded
from designer.accounts.composition.privacy_in_words import LABEL, privacy_words
from designer.accounts.ledger import Ledger
from designer.base.checks import shown
from designer.base.display import counted, printed
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate
from designer.base.output import write_whole
from designer.certificate.frozen import FrozenMechanism, Released
from designer.cli.options import add_output, check_output, loaded, refuse_signer, release_and_signer, spec_and_signer
from designer.cli.spec_commands import add_deep_options, deeply
from designer.designing.comparison import Comparison, compare
from designer.designing.printouts import page
from designer.files.releases import read_release, verify_release
from designer.files.signatures import EntryCheck, trusted_keys
from designer.mechanism.interface import Mechanism
from designer.problem_file.kinds import read_request
from designer.problem_file.linear import LinearFile
from designer.problem_file.sections import Choices
from designer.publish.content import Evidence, SeenLedger, SeenRelease
from designer.publish.exploring import POINTS, explored, explorer_html
from designer.publish.page import board_page, html_of, template
from designer.publish.pictures.drawing import Drawing, chosen
from designer.publish.pictures.figures import check_picture
from designer.publish.pictures.kinds import drawings_of, problem_drawings
from designer.publish.pictures.places import LATITUDE, LONGITUDE, placed_drawing
from designer.relations.problem import Problem
from designer.relations.records.row_unit import row_as_stated

if TYPE_CHECKING:
    from designer.audit.verdict import DeepVerdict

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


# A spec as a page to read: for the terminal and in Markdown, or whole in HTML, for a board that decides.


ENDINGS = (".html", ".md")


def add_report(made: argparse.ArgumentParser) -> None:
    """report."""
    made.set_defaults(run=_report)
    made.add_argument("release", type=Path, nargs="?", help="also a release (JSON) of it, which is verified")
    made.add_argument("--ledger", type=Path, help="also what this ledger says of the data set")
    made.add_argument("--dataset", help="the data set of the ledger")
    made.add_argument("--compare", action="store_true", help="also design every other family for the same questions")
    add_deep_options(made)
    add_output(made, "-o", "save the page: .html for the whole of it, .md for Markdown")


def _report(options: argparse.Namespace) -> tuple[str, Any]:
    ending = "" if options.output is None else options.output.suffix.lower()
    _require_possible(options, ending)
    check_output(options, [path for path in (options.file, options.release, options.ledger) if path])
    evidence = _evidence(options)
    text = html_of(board_page(evidence)) if ending == ".html" else _markdown(evidence)
    if options.output is not None:
        write_whole(options.output, text, replace=options.force)
    _require_held(options, evidence, text)
    if options.output is None:
        return text, {"markdown": text}
    return f"Written to {printed(options.output)}.", {"path": str(options.output)}


def _require_held(options: argparse.Namespace, evidence: Evidence, text: str) -> None:
    """`NotPrivate`, once the page is written or printed, where a deep verification fails."""
    if evidence.deep is None or evidence.deep.holds:
        return
    if options.output is None:
        print(text, flush=True)
    raise NotPrivate(f"{options.file}: fails its deep verification, as the page says; release nothing with it.")


def _require_possible(options: argparse.Namespace, ending: str) -> None:
    """Refuse what the page asked for cannot hold."""
    if options.output is not None and ending not in ENDINGS:
        raise InvalidProblem(
            f"-o: {printed(options.output)} ends in neither {' nor '.join(ENDINGS)}; a page is written as one of these. For "
            "PDF, open the HTML in a browser and print it."
        )
    if (options.ledger is None) != (options.dataset is None):
        raise InvalidProblem("--ledger, --dataset: one is given without the other; give both, or neither.")
    if options.seconds is not None and not options.deep:
        raise InvalidProblem("--seconds: is for the draws of --deep; give both, or neither.")
    extra = {"RELEASE": options.release, "--ledger": options.ledger, "--compare": options.compare}
    if ending != ".html" and (given := [name for name, value in extra.items() if value]):
        raise InvalidProblem(f"{', '.join(given)}: the page in Markdown has no place for that; give -o page.html.")


def _markdown(evidence: Evidence) -> str:
    found = evidence.deep
    text = page(evidence.made, f"{LABEL} {privacy_words(evidence.made)}.")
    return text if found is None else "\n".join([text, *found.page_lines(), ""])


def _evidence(options: argparse.Namespace) -> Evidence:
    made, signer = spec_and_signer(options)
    if options.release is not None and signer is not None:  # whose signature names its spec, which need not be signed
        signer = replace(signer, trusted=signer.key in trusted_keys(options.signer or ()))
    release = _release(options, made)
    return Evidence(
        made=made,
        spec=options.file,
        release=release,
        ledger=_ledger(options, made, release),
        deep=_deep(options, made),
        comparison=_comparison(made) if options.compare else None,
        signer=signer,
    )


def _deep(options: argparse.Namespace, made: FrozenMechanism) -> DeepVerdict | None:
    return deeply(made, options) if options.deep else None


def _release(options: argparse.Namespace, made: FrozenMechanism) -> SeenRelease | None:
    """The release, verified; the signature that is asked for is its own, which names its spec."""
    if options.release is None:
        return None
    document, signer = release_and_signer(options)
    verdict = verify_release(made, document, allow_vacuous=options.allow_vacuous)
    released = read_release(made, document, allow_vacuous=options.allow_vacuous)
    return SeenRelease(options.release.name, released, document, verdict, signer)


def _ledger(options: argparse.Namespace, made: FrozenMechanism, release: SeenRelease | None) -> SeenLedger | None:
    """The ledger, followed to its end; a release that names an entry must be there, without one the next is forecast."""
    if options.ledger is None:
        return None
    ledger = Ledger(options.ledger)
    found, dataset = checked(ledger, trusted=EntryCheck(), accepted=None), ledger.dataset(options.dataset)
    if release is not None:
        require_recorded(found.entries, release.document)
        _require_of(options, release.document["ledger"]["dataset"])
        return SeenLedger(options.ledger.name, found, dataset.balance())
    balance = dataset.balance()
    row = balance.standing.row or row_as_stated(made.about.records)
    return SeenLedger(options.ledger.name, found, balance, dataset.forecast(made, row))


def _require_of(options: argparse.Namespace, name: str) -> None:
    if name != options.dataset:
        raise InvalidProblem(f"--dataset: the release is of {shown(name)}, not of {shown(options.dataset)}; give its own.")


def _comparison(made: FrozenMechanism) -> Comparison | str:
    """Other families for the same queries, relation and notion; the reason where there are none."""
    if not isinstance(made, Mechanism):
        return f"Other families were asked for, but only noise for listed queries has any; this is {made.format}."
    noise: Literal["pure", "zcdp"] = "pure" if made.falloff == "exponential" else "zcdp"
    try:
        return compare(Problem(made.workload, made.relation, "approximate" if made.delta else noise, delta=made.delta))
    except (DesignFailed, InvalidProblem) as refusal:
        return f"Other families were asked for, but cannot be compared: {refusal}"
