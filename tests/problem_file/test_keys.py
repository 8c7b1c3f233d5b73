"""A key of a problem file stands in one place: schema, reference, refusals and reader follow from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from designer import InvalidProblem, metrics
from designer.base.schema import POSITIVE, list_of, number
from designer.designing.listed import FAMILIES
from designer.problem_file import relations
from designer.problem_file.keys import Field, Form
from designer.problem_file.linear import read_problem
from designer.problem_file.linear_forms import design_forms, options_of
from designer.problem_file.relations import METRICS, metric_forms
from designer.relations.kinds import RELATIONS
from designer.relations.metrics.metric import Metric
from tests.problem_file.good_files import write

PACKAGE = Path(relations.__file__).parents[1]
READER = re.compile(r"^class \w+\((?:\w+, )*(?:\w*Reader|Sections)\b", re.MULTILINE)
HIDDEN = re.compile(r"""getattr\(self, f["']|__dict__""")
DERIVED = {"restriction": "restricted"}  # a metric whose function is called otherwise than its kind


def test_no_reader_is_found_by_the_text_of_its_name() -> None:
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    readers = {path: text for path, text in texts.items() if READER.search(text)}
    assert len(readers) > 8 and [path for path, text in readers.items() if HIDDEN.search(text)] == []


def test_a_metric_of_one_entry_is_read_refused_and_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy: two elements side by side differ by a step; its entry alone makes the schema, the refusals and the reader."""
    toy = Form[Any](
        "steps",
        [Field("step", POSITIVE, "Budget of a step."), Field("at", list_of(number()), "Where the elements are.")],
        lambda file, step, at: metrics.manhattan(np.array(at)[: file.size, None], step),
    )
    monkeypatch.setattr(relations, "METRICS", (*METRICS, toy))
    monkeypatch.setattr(relations, "RELATIONS", {**relations.RELATIONS, toy.name: toy})
    head = '[workload]\nbuilder = "identity"\nsize = 3\n[relation]\nmetric = "steps"\nat = [0, 1, 3]\n'
    read = read_problem(write(tmp_path, head + "step = 0.5")).problem.relation
    assert isinstance(read, Metric)
    assert read.distances().tolist() == [[0, 0.5, 1.5], [0.5, 0, 1.0], [1.5, 1.0, 0]]
    for wrong, words in {
        "": r"\[relation\] step is missing; give it, as a number",
        'step = "0.5"': r"\[relation\] step = '0.5': should be a number without quotes",
        "step = -1": r"\[relation\] step: -1.0 is not a positive",
        "step = 1\nstride = 2": r"\[relation\] stride = 2: does not go with metric 'steps'; .*\['at', 'metric', 'step'\]",
    }.items():
        with pytest.raises(InvalidProblem, match=words):
            read_problem(write(tmp_path, head + wrong))
    published = json.dumps(metric_forms()[0].body, default=lambda named: named.body)
    assert "Budget of a step." in published


@pytest.mark.parametrize("form", relations.RELATIONS.values(), ids=lambda form: form.name)
def test_every_key_says_what_it_means(form: Form[Any]) -> None:
    for key, value in form.schema["properties"].items():
        body = getattr(value, "body", value)
        assert "const" in body or body.get("description"), f"give Field({key!r}, ...) of {form.name!r} a sentence"


def test_every_metric_that_a_spec_holds_can_be_written_in_a_file() -> None:
    """What a recipe forgets: the entry in problem files of a metric that is listed, or the listing of one that has an entry."""
    written = {DERIVED.get(name, name) for name in relations.RELATIONS}
    listed = {kind for kind, cls in RELATIONS.items() if issubclass(cls, Metric)}
    missing = sorted(listed - written - {"metric_and_invariant"})
    assert not missing, f"give {missing} an entry of METRICS in designer/problem_file/relations.py"


def test_an_option_of_a_family_is_one_annotated_parameter() -> None:
    def build(problem: object, turns: Annotated[int | None, "How often."] = None, way: Literal["up", "down"] = "up") -> None:
        """A builder."""

    assert [(key.name, key.form, key.note) for key in options_of(build)] == [
        ("turns", {"type": "integer"}, "How often."),
        ("way", {"enum": ["up", "down"]}, ""),
    ]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_option_of_a_family_says_what_it_means(family: Any) -> None:
    silent = [key.name for key in options_of(family.build) if not key.note]
    assert not silent, f"annotate {silent} of {family.name}: Annotated[type, sentence]"
    assert design_forms()
