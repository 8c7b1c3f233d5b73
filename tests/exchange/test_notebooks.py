"""The notebooks: stored without outputs, with public names alone, and they run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.public_imports import inner_names

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_numbers(path: Path) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path)) and len(cells(path)) >= 5
    assert "/home/" not in path.read_text() and "/tmp/" not in path.read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_imports_public_names_alone(path: Path) -> None:
    program = "\n".join("".join(cell["source"]) for cell in cells(path))
    assert program.count("from designer") >= 2 and inner_names(program) == set()


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat: Any = pytest.importorskip("nbformat", reason="nbformat reads notebooks")
    nbclient: Any = pytest.importorskip("nbclient", reason="nbclient runs notebooks")
    pytest.importorskip("opendp", reason="OpenDP is an optional extra")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", []))
    assert {"first_release": "Not checked", "locations": "fields are left to people"}[path.stem] in printed
    assert list(tmp_path.iterdir())
