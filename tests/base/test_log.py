"""The logger: one line for what was done, and nothing of data in any of them."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from designer import Problem, Workload, design, load, metrics
from designer.accounts import Ledger, Total
from designer.base.errors import InvalidProblem

CANARY = 987_654_321


def test_what_is_done_is_logged_and_no_line_holds_data(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        mechanism = design(Problem(Workload.identity(3), metrics.add_remove(3, 2.0**40)), "laplace").mechanism
        mechanism.save(tmp_path / "spec.json")
        loaded: Any = load(tmp_path / "spec.json")
        people = Ledger.create(tmp_path / "ledger", who="Ada").state("people", Total(epsilon=2.0**43))
        made = people.release(loaded, [CANARY, CANARY, CANARY])
        with pytest.raises(InvalidProblem):
            people.release(loaded, [CANARY, -CANARY, CANARY])
    assert CANARY in made.released.answers  # the noise is far below 1, so that any answer in a line would be seen
    lines = [record.getMessage() for record in caplog.records if record.name == "dp-designer"]
    assert lines[0] == f"designed dp-designer/mechanism: {mechanism.fingerprint}"
    assert lines[1] == f"loaded dp-designer/mechanism: {mechanism.fingerprint}"
    entries = [line.rsplit(", ", 1)[1] for line in lines if line.startswith("ledger ")]
    assert entries == ["stated", "reserved", "released"]
    assert f"drawing a release from {mechanism.fingerprint}" in lines
    assert not any(str(CANARY) in record.getMessage() + str(record.args) for record in caplog.records)


def test_nobody_who_does_not_log_loads_the_module() -> None:
    code = "import sys, designer.base.progress_line as made; made.logged('a %s', 1); print('logging' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
