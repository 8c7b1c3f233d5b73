"""What the first screen says of accuracy: no median over answers of different units, one law, one rounding."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Problem, Workload, design, invariants, metrics
from designer.accounts.chain import DatasetTerms
from designer.accounts.totals import Total
from designer.certificate.guarantee import About
from designer.publish.meanings import off_by
from designer.publish.of_linear_queries import LinearQueries
from designer.publish.pictures.kinds import drawings_of
from designer.publish.pictures.numerals import no_less
from designer.publish.summary import _restated

MIXED = Workload([[10.5, 3.25, 8.0], [1200, 800, 300], [1, 1, 0]], queries=["latitude", "height", "residents"])
UNITS = {"latitude": "degrees", "height": "metres", "residents": "residents"}


def test_answers_of_different_units_have_no_typical_error() -> None:
    made = design(Problem(MIXED, metrics.uniform(3, 1.0)), "laplace").mechanism
    told = LinearQueries().accuracy(made.described(About("Mixed", units=UNITS)))
    margins = made.margins()
    stated = ", ".join(f"{off_by(m)} {unit}" for m, unit in zip(margins.tolist(), UNITS.values(), strict=True))
    assert told.answer == f"±{stated} at most" and "median" not in told.details
    silent = LinearQueries().accuracy(made)
    assert silent.answer.endswith("each answer in its own unit") and "median" not in silent.details


def test_answers_of_one_unit_and_counts_have_one() -> None:
    made = design(Problem(MIXED, metrics.uniform(3, 1.0)), "laplace").mechanism
    same = LinearQueries().accuracy(made.described(About("Alike", units="persons")))
    assert same.answer == f"±{off_by(float(np.median(made.margins())))} persons for a typical answer"
    counts = design(Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    assert "each answer in its own unit" not in LinearQueries().accuracy(counts).answer


@pytest.mark.parametrize("shape", ["l1", "l2", "hull"])
def test_numbers_of_one_page_are_those_of_one_law_with_one_rounding(shape: str) -> None:
    """Headline, table, picture, the release's intervals and targets: the same margins and standard errors."""
    problem = Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0))
    made = design(problem, "lattice_laplace", shape=shape).mechanism
    told, errors = LinearQueries().accuracy(made), made.standard_errors()
    margins, law = made.reach_of_answers(0.95, False)
    assert np.array_equal(margins, made.margins()) and law and np.allclose(errors, np.sqrt(made.query_variances()), rtol=1e-7)
    (sheet,) = [piece for piece in told.pieces if hasattr(piece, "columns")]
    assert [row[1] for row in sheet.rows] == [off_by(error) for error in errors.tolist()]
    assert [row[2] for row in sheet.rows] == [f"±{off_by(margin)}" for margin in margins.tolist()]
    assert all(off_by(error) == no_less(error) for error in errors.tolist())
    assert made.accuracy_words in sheet.note and ("simulated" in sheet.note) == (shape == "hull")
    picture = next(drawing for drawing in drawings_of(made) if drawing.name == "errors")
    assert f"from {off_by(float(errors.min()))} (" in picture.alt and f"to {off_by(float(errors.max()))} (" in picture.alt


def test_a_total_that_was_stated_anew_is_not_told_to_be_raised() -> None:
    first, same, more = (DatasetTerms(Total(epsilon=e), p) for e, p in ((1, ()), (1, ("a total",)), (2, ())))
    assert _restated([first]) == ""
    assert _restated([first, more]) == " The total was raised once."
    assert _restated([first, same]) == " The terms were stated anew once, not with a larger total."
    assert (
        _restated([first, same, more])
        == " The total was raised once. The terms were stated anew once, not with a larger total."
    )
    assert "raised" not in _restated([more, first])
