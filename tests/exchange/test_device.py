"""Channels as JavaScript and C: the same reports from the same bytes, run by node and by a compiler where there are any."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Channel, InvalidProblem, ReportProblem, design, metrics
from designer.exchange.device import device_text
from designer.sampling.integer_samplers import draw_from_table
from tests.oracles.hostile_names import HOSTILE
from tests.oracles.spec_specimens import specimens

COUNT = 400
BYTES = np.random.default_rng(8).bytes(8 * 40 * COUNT)


class Known:
    """Random words from known bytes, one after the other."""

    private = False

    def __init__(self) -> None:
        self.place = 0

    def random_words(self, count: int) -> Any:
        found = np.frombuffer(BYTES, dtype="<u8", count=count, offset=8 * self.place)
        self.place += count
        return found


def channels() -> dict[str, Channel]:
    grid = metrics.euclidean([[0, 0], [0, 1], [1, 0], [1, 1]], 1.0)
    hostile: Any = (*HOSTILE[:3], 'a "b" \\ ??/ é\n*/')
    thirds = ((3, 1, 1), (1, 3, 1), (1, 1, 3))
    names = ("x", "y", "z")
    return {
        "grid": design(ReportProblem(grid), "poles").mechanism,
        "hostile": design(ReportProblem(metrics.uniform(4, 1.0), elements=hostile), "exponential").mechanism,
        "fifths": Channel(metrics.uniform(3, 1.2), names, names, thirds, 5, [1 / 3] * 3, 1 - np.eye(3)),
        "one report": Channel(metrics.uniform(3, 1.0), names, ("z",), ((1,), (1,), (1,)), 1, [1 / 3] * 3, np.ones((3, 1))),
        "large": Channel(
            metrics.uniform(2, 40.0), ["a", "b"], ["a", "b"], ((2**53 - 2, 2), (2, 2**53 - 2)), 2**53, [0.5, 0.5], 1 - np.eye(2)
        ),
    }


def expected(made: Channel) -> list[int]:
    """One report for each value in turn, from the known bytes."""
    source = Known()
    return [int(draw_from_table(made.numerators[k % len(made.elements)], 1, source)[0]) for k in range(COUNT)]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, so no JavaScript can be run")
@pytest.mark.parametrize("name", list(channels()))
def test_javascript_reports_what_python_does(name: str, tmp_path: Path) -> None:
    made = channels()[name]
    (tmp_path / "channel.js").write_text(device_text(made, "javascript"), encoding="utf-8")
    (tmp_path / "bytes").write_bytes(BYTES)
    (tmp_path / "run.js").write_text(
        """const c = require("./channel.js"), b = require("fs").readFileSync(__dirname + "/bytes");
        let at = 0; const take = (n) => b.subarray(at, at += n);
        const found = [];
        for (let k = 0; k < COUNT; k++) found.push(c.report(c.elements[k % c.elements.length], take));
        let refused = 0; try { c.report("no such value"); } catch (e) { refused = 1; }
        for (let k = 0; k < 50; k++) if (!c.reports.includes(c.report(c.elements[0]))) throw new Error("no report");
        console.log(JSON.stringify([c.elements, c.reports, found, refused]));""".replace("COUNT", str(COUNT))
    )
    run = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, text=True, check=True, encoding="utf-8")
    elements, reports, found, refused = json.loads(run.stdout)
    assert refused and elements == list(map(str, made.elements)) and reports == list(map(str, made.reports))
    assert found == [str(made.reports[place]) for place in expected(made)]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, so no JavaScript can be run")
def test_a_remembering_device_draws_once_for_each_value_and_no_more_often_than_it_may(tmp_path: Path) -> None:
    (tmp_path / "channel.js").write_text(device_text(channels()["fifths"], "javascript"), encoding="utf-8")
    (tmp_path / "run.js").write_text(
        """const c = require("./channel.js"); let drawn = 0; const sent = new Map();
        const take = (n) => { drawn++; const b = new Uint8Array(n); b[7] = drawn === 1 ? 0x60 : 0x00; return b; };
        const device = c.remembered(2, sent, take), found = [];
        for (const x of ["x", "z", "x", "x", "z"]) found.push(device(x));
        let refused = 0; try { device("y"); } catch (e) { refused = 1; }
        try { c.remembered(1)("no such value"); } catch (e) { refused++; }
        const later = c.remembered(2, sent, take);
        console.log(JSON.stringify([found, drawn, refused, later("x"), sent.size]));"""
    )
    run = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, text=True, check=True, encoding="utf-8")
    assert json.loads(run.stdout) == [["y", "x", "y", "y", "x"], 2, 2, "y", 2]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
@pytest.mark.parametrize("name", list(channels()))
def test_c_reports_what_python_does(name: str, tmp_path: Path) -> None:
    made = channels()[name]
    (tmp_path / "bytes").write_bytes(BYTES)
    program = f"""
    static FILE *known;
    static int take(unsigned char *into, size_t count) {{ return fread(into, 1, count, known) == count; }}
    int main(void) {{
      known = fopen("{tmp_path / "bytes"}", "rb");
      for (int k = 0; k < DP_ELEMENTS; k++) {{ fputs(dp_elements[k], stdout); putchar(0); }}
      for (int k = 0; k < DP_REPORTS; k++) {{ fputs(dp_reports[k], stdout); putchar(0); }}
      for (int k = 0; k < {COUNT}; k++) printf("%d ", dp_report_from(k % DP_ELEMENTS, take));
      printf("%d %d", dp_report(DP_ELEMENTS), dp_report(0) >= 0);
      return 0;
    }}"""
    (tmp_path / "channel.c").write_text(device_text(made, "c") + program)
    compile_ = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(tmp_path / "run"), str(tmp_path / "channel.c")]
    subprocess.run(compile_, check=True, capture_output=True)
    *named, drawn = subprocess.run([str(tmp_path / "run")], capture_output=True, check=True).stdout.decode().split("\0")
    assert named == [*map(str, made.elements), *map(str, made.reports)]
    assert list(map(int, drawn.split())) == [*expected(made), -1, 1]


def test_what_is_no_channel_or_too_fine_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="design a ReportProblem"):
        device_text(specimens()["laplace uniform"], "c")
    fine = 2**60
    rows = ((fine // 2 + 1, fine // 2 - 1), (fine // 2, fine // 2))
    made = Channel(metrics.uniform(2, 1.0), ["a", "b"], ["a", "b"], rows, fine, [0.5, 0.5], 1 - np.eye(2))
    with pytest.raises(InvalidProblem, match="has 61 bits"):
        device_text(made, "javascript")


def test_no_name_ends_a_script() -> None:
    text = device_text(channels()["hostile"], "javascript")
    assert "</" not in text and "<script" not in text and text.isascii()
