"""The schemas that `dp-designer schema` prints, and every reader takes its keys from the same place."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from designer.base.errors import InvalidSpec
from designer.base.schema import Named, bundle, keys, list_of, number, record, refer, whole
from designer.certificate.guarantee import BUDGET_RANGE
from designer.cli import main
from designer.cli.export_commands import SCHEMAS
from designer.files.kinds import KINDS
from designer.files.schema import spec_schema
from designer.relations.kinds import RELATIONS, relation_from_spec
from designer.tradeoff.piecewise import from_distributions

SPEC = Path(__file__).parents[1] / "data" / "specs" / "laplace_product.json"


def test_a_guarantee_of_additive_noise_needs_the_range_of_budgets() -> None:
    schema = spec_schema()
    form = jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/parameters_of_additive_noise"})
    stated = json.loads(SPEC.read_text())["guarantee"]["parameters"]
    form.validate(stated)
    for name in BUDGET_RANGE:
        assert not form.is_valid({key: value for key, value in stated.items() if key != name}), name


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_command_prints_and_writes_a_schema(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schema.json"
    assert main(["schema", name]) == 0
    told = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(told)
    assert told["$id"].endswith(f"/{name}.schema.json") and told == SCHEMAS[name]()
    assert main(["schema", name, "-o", str(file)]) == 0 and json.loads(file.read_text(encoding="utf-8")) == told
    capsys.readouterr()
    assert main(["schema", name, "-o", str(file)]) == 2 and "--force" in capsys.readouterr().err


def test_every_format_and_every_relation_states_its_own_keys() -> None:
    for stated in KINDS.values():
        form = stated.part("mechanism").spec_form
        assert keys(form.core) and form.parameters.body["properties"]
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
