"""Arrays become the JSON values that their entries become one by one. Long lists in files as runs: there and back, one way to
write each, and nothing that fills the memory. What is said of files that are no JSON.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer.base.errors import InvalidSpec
from designer.base.json_text import canonical, json_object, plain, read_json
from designer.base.run_length import SHORT, in_runs, names_from, names_in_runs, numbers_from
from designer.limits import MOST_ENTRIES_OF_RUNS

ARRAYS = {
    "finite": np.array([[0.1, -0.0], [5e-324, 1.7976931348623157e308]]),
    "infinite": np.array([[np.inf, 1.0], [-np.inf, np.nan]]),
    "integers": np.array([[2**62, -1]], dtype=np.int64),
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
    "short floats": np.array([0.1], dtype=np.float32),
    "booleans": np.array([True, False]),
    "fractions": np.array([Fraction(1, 3), 2], dtype=object),
    "texts": np.array(["a", "é"]),
    "no entries": np.empty((0, 3)),
    "no dimension": np.array(2.5),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_written_as_its_entries_are(name: str) -> None:
    def entries(array: Any) -> Any:
        return [entries(part) for part in array] if getattr(array, "ndim", 0) else array

    given = ARRAYS[name]
    assert canonical({"a": given}) == canonical({"a": entries(given)})
    assert repr(plain(given)) == repr(plain(entries(given)))


@pytest.mark.parametrize("last", [1.5, float("inf"), float("-inf"), float("nan"), 2, True, None, "inf", [0.5], Fraction(1, 3)])
def test_lists_of_floats_are_written_as_their_entries_are(last: Any) -> None:
    """What is written at once is what is written one by one."""
    assert plain([0.5, -0.0, last]) == [0.5, -0.0, plain(last)] and plain((last, last)) == [plain(last)] * 2


BEYOND = ["1e309", "-1E+309", "1e0400 ", "1.5e99999", "1" * 250 + "e99", "-" + "1" * 250 + ".5E+80", "17e308\n"]


@pytest.mark.parametrize("number", BEYOND)
@pytest.mark.parametrize("around", ['{"a": %s}', '{"a": [0.5, %s]}', '{"a": [%s, 0.5], "hash": "1e234"}'])
def test_numbers_beyond_the_floats_are_refused_however_they_are_written(number: str, around: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(around % number, encoding="utf-8")
    with pytest.raises(InvalidSpec, match="beyond the floats"):
        read_json(path)


def test_numbers_within_the_floats_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": [1e308, 1.7976931348623157e+308, 5e-324, 1e-400, 0.1, 12e2], "e123": "3e999"}', encoding="utf-8")
    assert read_json(path)["a"] == [1e308, 1.7976931348623157e308, 5e-324, 0.0, 0.1, 1200.0]


LISTS: dict[str, Any] = {
    "short": list(range(SHORT)),
    "rising": list(range(5000)),
    "falling by threes, then one": [*range(9000, 0, -3), 7],
    "two plateaus": [0.25] * 2000 + [np.inf] * 2000,
    "one after the other": list(np.arange(3000) % 2),
    "steps that meet": [0, 0, 0, 5, 5, 5, *range(4000)],
    "irregular": list(np.random.default_rng(1).integers(0, 1000, 3000)),
    "real": list(np.random.default_rng(2).random(3000)),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_comes_back_as_it_was(name: str) -> None:
    values = np.array(LISTS[name])
    written = in_runs(values)
    back = numbers_from(written, "values")
    assert np.array_equal(np.asarray(back), values) and np.asarray(back).dtype.kind == values.dtype.kind
    assert isinstance(written, dict) == (name in ("rising", "falling by threes, then one", "two plateaus", "steps that meet"))


def test_names_come_back_as_they_were() -> None:
    numbered = [f"e{k}" for k in range(3000)]
    for names in (
        numbered,
        [*numbered, "total"],
        ["a0", "total", *numbered],
        [f"q{k}x" for k in range(2000)],
        ["01", *numbered],
    ):
        assert names_from(names_in_runs(names), "names") == names
    assert names_in_runs(numbered) == {"runs": [["e", 0, 3000]]} and isinstance(names_in_runs(numbered[:SHORT]), list)
    assert isinstance(names_in_runs([f"{k}x" for k in range(2000)]), list)


def test_what_is_longer_than_runs_are_read_to_is_written_as_a_list() -> None:
    long = np.zeros(MOST_ENTRIES_OF_RUNS + 1, dtype=np.int64)
    names = [f"e{k}" for k in range(MOST_ENTRIES_OF_RUNS + 1)]
    assert in_runs(long) is long and names_in_runs(names) == names
    assert isinstance(in_runs(long[1:]), dict) and len(numbers_from(in_runs(long[1:]), "values")) == MOST_ENTRIES_OF_RUNS


@pytest.mark.parametrize(
    "spec", [{"runs": [["e", 0, MOST_ENTRIES_OF_RUNS + 1]]}, {"runs": [["e", -1, 3]]}, {"runs": [[1, 0, 3]]}, {"runs": 3}, {}]
)
def test_names_that_are_no_runs_are_refused(spec: Any) -> None:
    with pytest.raises(InvalidSpec, match="names"):
        names_from(spec, "names")


@pytest.mark.parametrize(("content", "words"), [(b'{"a": 1, "b"', "it ends in the middle"), (b'{"a" 1}', "give a spec")])
def test_a_file_that_is_cut_off_is_told_from_one_that_is_wrong(content: bytes, words: str) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        json_object(content, "the file")
    assert words in str(refusal.value)


def by_ecmascript(x: float) -> str:
    """A float as `JSON.stringify` and RFC 8785 write it: ECMAScript's Number::toString, from the digits that both have."""
    if x == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    text, k = "".join(map(str, digits)), len(digits)
    n = int(exponent) + k
    if k <= n <= 21:
        text += "0" * (n - k)
    elif 0 < n <= 21:
        text = f"{text[:n]}.{text[n:]}"
    elif -6 < n <= 0:
        text = f"0.{'0' * -n}{text}"
    else:
        text = f"{text[0]}{'.' if k > 1 else ''}{text[1:]}e{n - 1:+d}"
    return "-" * sign + text


def test_floats_are_written_otherwise_than_by_rfc_8785_where_the_decision_says_and_whole_numbers_stay_exact() -> None:
    dice = random.Random(1)
    drawn = [dice.choice((-1, 1)) * dice.random() * 10.0 ** dice.randrange(-40, 40) for _ in range(3000)]
    drawn += [float(round(x)) for x in drawn] + [s * 10.0**k for k in range(-320, 308) for s in (1, -7)]
    drawn += [0.0, -0.0, 1e21, 999999999999999900000.0, 2.0**53, 2.0**53 + 2, 1e16, 9999999999999998.0, 5e-324]
    for x in drawn:
        whole, small = x == int(x) and abs(x) < 1e21, 1e-9 <= abs(x) < 1e-4
        ours, theirs = canonical(x).decode(), by_ecmascript(x)
        assert float(ours) == float(theirs) == x and (ours != theirs) == (whole or small), (ours, theirs)
    for n in (2**53 + 1, -(2**63) - 1, 10**30 + 1):
        assert canonical(n) == str(n).encode() and json_object(b'{"n":%d}' % n, "it") == {"n": n}


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on this machine")
def test_node_writes_floats_by_the_rule_above() -> None:
    numbers = [1.0, 0.1, 1e16, 123456789012345680000.0, 1e21, 1.5e300, 1e-5, 1e-6, 1e-7, 1.25e-9, 1e-10, 2.0**53 + 2, 5e-324]
    script = f"console.log(JSON.stringify({json.dumps(numbers)}.map(x => JSON.stringify(x))))"
    found = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(found) == list(map(by_ecmascript, numbers))
