"""The command line on a real county file whose total is published: design, release, verify, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from designer import datasets
from designer.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_real_county_file_with_its_state_total_from_problem_file_to_verified_release(tmp_path, capsys):
    """The 102 counties of examples/illinois.toml: integers out, the state's total that of the data, the guarantee printed."""
    spec, release, data = tmp_path / "spec.json", tmp_path / "release.json", datasets.us_counties_illinois().path
    assert main(["design", str(EXAMPLES / "illinois.toml"), "-o", str(spec), "--full"]) == 0
    assert "every unit of l1 distance" in capsys.readouterr().out
    assert main(["release", str(spec), "--histogram", str(data), "--column", "population", "-o", str(release), "--full"]) == 0
    printed = capsys.readouterr().out
    assert "Cook County" in printed and "published exactly" in printed and "Exact: random bits" in printed
    for command in (
        ["verify", str(spec)],
        ["sample", str(spec), "-n", "50", "--seed", "1"],
        ["show", str(spec)],
        ["report", str(spec)],
    ):
        assert main(command) == 0
    table = json.loads(release.read_text())["table"]
    counts = np.genfromtxt(data, delimiter=",", skip_header=1, usecols=4)
    noise = np.array(list(table.values())) - counts
    assert all(type(cell) is int for cell in table.values()) and noise.sum() == 0
    # Each cell is two-sided geometric of mean absolute value 1 / sinh(0.192) = 5.2, but for the total; 102 of them.
    assert 3 < np.abs(noise).mean() < 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('per_distance = "l1"', 'per_distance = "l3"'), "per_distance"),
        (('per_distance = "l1"', "per_distance = 1"), "per_distance"),
        (("total = true", "total = true\nadjacency = 2"), "adjacency"),
        (('shape = "l1"', 'shape = "hull"'), "norm of that distance"),
        (('shape = "l1"', 'shape = "l1"\nsteps = 5'), "chain = true"),
        (('shape = "l1"', 'shape = "l1"\nchain = 1'), "options.chain"),
        (('family = "lattice_laplace"', 'family = "k_norm"'), "options"),
    ],
)
def test_budgets_per_distance_are_refused_where_they_make_no_sense(tmp_path, capsys, change, message):
    (tmp_path / "data").symlink_to(datasets.us_counties_illinois().path.parent)
    text = (EXAMPLES / "illinois.toml").read_text()
    assert change[0] in text
    (tmp_path / "illinois.toml").write_text(text.replace(*change))
    assert main(["design", str(tmp_path / "illinois.toml")]) in (2, 3)
    assert message in capsys.readouterr().err
