"""Relations read from plain data: what is accepted is what this program writes."""

from __future__ import annotations

import pytest

from designer import InvalidSpec, metrics
from designer.problem.relation import Relation
from designer.relations.kinds import relation_from_spec


@pytest.mark.parametrize("relation", [metrics.uniform(3, 1.0), metrics.line([0, 1, 3], period=1, epsilon=2.0)])
def test_a_relation_is_written_as_this_program_writes_it(relation: Relation) -> None:
    """A budget without its point is the same number, and another fingerprint of the same promise."""
    spec = relation.to_spec()
    spec = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in spec.items()}
    assert relation_from_spec(spec).exact_budget(0, 1) == relation.exact_budget(0, 1)
    with pytest.raises(InvalidSpec, match="exactly"):
        relation_from_spec({**spec, "epsilon": int(spec["epsilon"])})
