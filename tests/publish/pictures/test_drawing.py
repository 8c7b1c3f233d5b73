"""A drawing draws into the axes that it is given and nothing else; its files are the same bytes twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from designer.base.errors import InvalidProblem
from designer.base.version import installing_with
from designer.publish.pictures.drawing import Drawing, chosen, side_by_side

figures = pytest.importorskip("matplotlib.figure")
ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())


def line(axes: Any) -> None:
    axes.plot([0, 1], [2, 3])
    axes.set_xlabel("time")


FLAT = Drawing("line", "A <line> & more", "A line from 2 to 3.", line)
DEEP = Drawing("deep", "Depth", "A line in space.", lambda axes: axes.plot([0, 1], [0, 1], [0, 1]), depth=True)


def settings(given: Any) -> dict[str, Any]:
    """All but the screen, which is chosen when it is read."""
    return {name: given[name] for name in given if name != "backend"}


def test_given_axes_are_drawn_into_and_nothing_else() -> None:
    import matplotlib

    before = settings(matplotlib.rcParams)
    figure = figures.Figure(figsize=(3, 2))
    left, right = figure.subplots(1, 2)
    right.set_title("mine")
    assert FLAT.plot(left) is left and FLAT.plot(ax=left) is left
    assert len(left.lines) == 2 and not right.lines and right.get_title() == "mine" and left.get_title() == ""
    assert (
        figure.axes == [left, right] and tuple(figure.get_size_inches()) == (3, 2) and settings(matplotlib.rcParams) == before
    )


def test_axes_of_its_own_have_the_title_and_no_screen() -> None:
    axes = FLAT.plot()
    assert axes.get_title(loc="left") == FLAT.title and axes.lines[0].get_xydata().tolist() == [[0, 2], [1, 3]]
    assert DEEP.plot().name == "3d" and len(side_by_side([FLAT, FLAT]).axes) == 2


def test_axes_of_other_dimensions_and_what_are_no_axes_are_refused() -> None:
    flat, deep = figures.Figure().subplots(), figures.Figure().add_subplot(projection="3d")
    with pytest.raises(InvalidProblem, match='needs axes with projection="3d"'):
        DEEP.plot(flat)
    with pytest.raises(InvalidProblem, match="needs axes with two dimensions"):
        FLAT.plot(deep)
    for other in (figures.Figure(), "axes", 3):
        with pytest.raises(InvalidProblem, match="are no axes of matplotlib"):
            FLAT.plot(other)


def test_an_element_for_pages_has_its_words_and_the_colour_of_the_page() -> None:
    text = FLAT.svg()
    root = ElementTree.fromstring(text)
    named = {child.tag.rpartition("}")[2]: child.text for child in root}
    assert named["title"] == FLAT.title and named["desc"] == FLAT.alt and root.get("role") == "img"
    assert text.startswith("<svg ") and "currentColor" in text and "<?xml" not in text and "metadata" not in text
    assert "time" in text and text == FLAT.svg()  # letters are letters
    identifiers = [element.get("id") for element in root.iter() if element.get("id")]
    assert identifiers and all(name.startswith("line-") for name in identifiers) and len(set(identifiers)) == len(identifiers)
    assert "#000000" not in text and "*{" not in text.replace("line-figure_1 *{", "")


@pytest.mark.nightly
def test_files_are_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    code = (
        "from designer.publish.pictures.drawing import Drawing; import sys\n"
        "for end in ('svg', 'png', 'pdf'):\n"
        "    Drawing('line', 'A line', 'Alt.', lambda axes: axes.plot([0, 1], [2, 3])).save(sys.argv[1] + '.' + end)"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "SOURCE_DATE_EPOCH": seed + "000000"}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / seed)], check=True, env=environment, cwd=tmp_path)
    for end in ("svg", "png", "pdf"):
        first, second = ((tmp_path / f"{seed}.{end}").read_bytes() for seed in ("1", "2"))
        assert first == second and len(first) > 500


def test_pyplot_knows_of_a_figure_where_it_is_used_and_is_not_loaded_otherwise() -> None:
    code = (
        "import sys; from designer.publish.pictures.drawing import Drawing\n"
        "line = Drawing('line', 'A line', 'Alt.', lambda axes: axes.plot([0, 1], [2, 3]))\n"
        "line.plot(); line.svg(); print('matplotlib.pyplot' in sys.modules)\n"
        "import matplotlib.pyplot as pyplot\n"
        "axes = line.plot(); line.svg(); print(pyplot.get_fignums(), pyplot.gcf() is axes.figure)"
    )
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.stdout.split("\n") == ["False", "[1] True", ""], done.stderr


def test_without_matplotlib_everything_is_refused_clearly() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from designer import Problem, Workload, design, metrics, plot\n"
        "made = design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), 'laplace')\n"
        "for thing in (made, made.mechanism, made.mechanism.release([1, 2])):\n"
        "    try: plot(thing)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    assert all(line.startswith(f"InvalidProblem plot: pictures need matplotlib; {installing_with('plot')}") for line in lines)


def test_other_names_are_refused_with_those_that_there_are() -> None:
    assert chosen([FLAT, DEEP], None, "a thing") is FLAT and chosen([FLAT, DEEP], "deep", "a thing") is DEEP
    with pytest.raises(InvalidProblem, match=r"kind: 'x' is no picture of a thing; use one of \['line', 'deep'\]"):
        chosen([FLAT, DEEP], "x", "a thing")
    with pytest.raises(InvalidProblem, match="there is no picture of a thing"):
        chosen([], None, "a thing")
    with pytest.raises(InvalidProblem, match="cannot be drawn; end its name"):
        FLAT.save("line.docx")
