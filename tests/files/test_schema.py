"""The published schemas are what the classes say of themselves, and every reader takes its keys from the same place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from designer.base.errors import InvalidSpec
from designer.base.schema import Named, bundle, keys, list_of, number, record, refer, whole
from designer.files.kinds import KINDS
from designer.files.schema import main, spec_schema, written
from designer.promises.piecewise import from_distributions
from designer.relations.kinds import RELATIONS, relation_from_spec

DOCS = Path(__file__).parents[2] / "docs"


def test_the_published_schema_is_what_the_classes_say() -> None:
    """After a change of a class: `python -m designer.files.schema > docs/spec.schema.json`."""
    assert (DOCS / "spec.schema.json").read_text(encoding="utf-8") == written(spec_schema())


def test_the_module_prints_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, name in (
        ([], "spec"),
        (["spec"], "spec"),
        (["release"], "release"),
        (["signature"], "signature"),
    ):
        main(arguments)
        assert capsys.readouterr().out == (DOCS / f"{name}.schema.json").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["ledger"])


def test_every_format_and_every_relation_states_its_own_keys() -> None:
    for stated in KINDS.values():
        names = {name for cls in stated.part("mechanism").__mro__ for name in vars(cls)}
        assert {"schema", "parameters_schema"} <= names
    for kind, cls in RELATIONS.items():
        assert cls.schema.body["properties"]["kind"] == {"const": kind}
    assert keys(from_distributions([3, 1], [1, 3]).schema) == {"kind", "alphas", "betas"}


@pytest.mark.parametrize("kind", RELATIONS)
def test_relations_are_refused_with_a_key_more_or_less(kind: str) -> None:
    known = keys(RELATIONS[kind].schema)
    for wrong in (known - {sorted(known - {"kind"})[0]}, known | {"own"}):
        with pytest.raises(InvalidSpec, match="exactly the keys"):
            relation_from_spec({key: kind if key == "kind" else 1 for key in wrong})


def test_a_bundle_defines_each_name_once_and_refuses_what_it_cannot() -> None:
    tree = Named("tree", record({"value": number(above=0)}, {"below": list_of(refer("tree"), least=0)}))
    made = bundle(record({"left": tree, "right": tree}))
    assert made["properties"] == {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}
    assert list(made["$defs"]) == ["tree"]
    with pytest.raises(ValueError, match="two different fragments are called 'tree'"):
        bundle(record({"left": tree, "right": Named("tree", whole())}))
    with pytest.raises(ValueError, match="refers to \\['twig'\\]"):
        bundle(list_of(refer("twig")))
    assert json.loads(json.dumps(made)) == made
