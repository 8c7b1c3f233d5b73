"""Signatures of specs, releases and entries of ledgers, keys in files, and attacks on all of them."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import InvalidProblem, InvalidSpec
from designer.certified.specified import seal, to_spec
from designer.cli import main
from designer.files.releases import release_document
from designer.files.signatures import (
    EntryCheck,
    EntrySigner,
    PublicKey,
    SigningKey,
    file_signer,
    new_key,
    sign_file,
    signature_path,
    signer_of,
    trusted_keys,
)
from tests.files.test_spec import changed, delete, double, edits, get, leaves, put
from tests.oracles.release_specimens import releases

pytest.importorskip("cryptography")
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "signature.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[SigningKey, SigningKey]:
    """Two keys from files."""
    folder = tmp_path_factory.mktemp("keys")
    return tuple(SigningKey.read(new_key(folder / name)[0]) for name in "ab")  # type: ignore[return-value]


def content(kind: str) -> dict[str, Any]:
    maker, released = releases()["laplace uniform"]
    made = to_spec(maker) if kind == "spec" else release_document(maker, released, time=NOON)
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def written(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.json"
    path.write_text(json.dumps(content(kind), indent=1))
    return path


@pytest.mark.parametrize("kind", ["spec", "release"])
def test_a_signature_says_who_signed(kind: str, tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    path = written(tmp_path, kind)
    VALIDATOR.validate(json.loads(sign_file(path, keys[0], "Statistics Office").read_text()))
    for trusted in (None, [keys[0].public], [keys[1].public, keys[0].public]):
        signer = file_signer(path, content(kind), trusted)
        assert signer is not None and (signer.key, signer.name) == (keys[0].public, "Statistics Office")
        assert signer.trusted == (trusted is not None) and keys[0].public.fingerprint in signer.sentence()


def test_the_form_of_a_file_does_not_matter_but_its_content_does(tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    path = written(tmp_path, "spec")
    sign_file(path, keys[0])
    spec = content("spec")
    path.write_text(json.dumps(dict(reversed(spec.items()))))
    assert file_signer(path, json.loads(path.read_text()), [keys[0].public]) is not None
    spec["provenance"]["family"] = "another"
    with pytest.raises(InvalidSpec, match="another content"):
        file_signer(path, {**spec, "seal": seal(spec)}, [keys[0].public])


def test_a_signature_of_another_key_file_or_kind_is_refused(keys: tuple[SigningKey, SigningKey]) -> None:
    one, other = keys
    spec, release = content("spec"), content("release")
    signature = one.sign("spec", spec)
    with pytest.raises(InvalidSpec, match="not among those asked for"):
        signer_of(signature, "spec", spec, [other.public])
    with pytest.raises(InvalidSpec, match="not among those asked for: none"):
        signer_of(signature, "spec", spec, [])
    with pytest.raises(InvalidSpec, match="another content"):
        signer_of(signature, "spec", {**spec, "version": 2}, [one.public])
    with pytest.raises(InvalidSpec, match="of a spec, and this is a release"):
        signer_of(signature, "release", release, [one.public])
    with pytest.raises(InvalidSpec, match="was not made with the key"):  # the kind is signed, too
        signer_of({**one.sign("spec", release), "kind": "release"}, "release", release, [one.public])
    with pytest.raises(InvalidSpec, match="was not made with the key"):
        signer_of({**signature, "key": other.public.digits}, "spec", spec, [other.public])


@pytest.mark.parametrize("key", ["format", "version", "kind", "digest", "name", "time", "key", "signature"])
def test_every_alteration_of_a_signature_is_found(key: str, keys: tuple[SigningKey, SigningKey]) -> None:
    spec = content("spec")
    signature = keys[0].sign("spec", spec, "Office", NOON)
    signer_of(signature, "spec", spec)
    truncated = (
        [put(signature[key][:-2]), put(signature[key][2:] + signature[key][:2])]
        if isinstance(signature[key], str) and len(signature[key]) > 3
        else []
    )
    for edit in [delete, double, *edits(signature[key]), *truncated]:
        mutant = changed(signature, (key,), edit)
        if mutant != signature or type(mutant.get(key)) is not type(signature[key]):
            with pytest.raises(InvalidSpec):
                signer_of(mutant, "spec", spec)
    for digit in range(0, 128, 9) if key == "signature" else ():
        flipped = format(int(signature[key][digit], 16) ^ 1, "x")
        with pytest.raises(InvalidSpec):
            signer_of({**signature, key: signature[key][:digit] + flipped + signature[key][digit + 1 :]}, "spec", spec)
    with pytest.raises(InvalidSpec):
        signer_of({**signature, "more": 1}, "spec", spec)


def test_a_stripped_signature_is_missed_where_one_is_asked_for(tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    path = written(tmp_path, "release")
    beside = sign_file(path, keys[0])
    assert beside == signature_path(path)
    beside.unlink()
    assert file_signer(path, content("release")) is None
    with pytest.raises(InvalidSpec, match="is not there, and a signature was asked for"):
        file_signer(path, content("release"), [keys[0].public])


def test_signature_files_with_two_meanings_are_refused(tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    path = written(tmp_path, "spec")
    text = sign_file(path, keys[0]).read_text()
    for bad in (text.rstrip()[:-1] + ', "name": "another"}', text[:-30], "[]", "", text + "{}"):
        signature_path(path).write_text(bad)
        with pytest.raises(InvalidSpec):
            file_signer(path, content("spec"))


def test_signatures_of_files_and_of_entries_are_none_of_each_other(keys: tuple[SigningKey, SigningKey]) -> None:
    one, other = keys
    message = ("0" * 64).encode()
    signer, check = EntrySigner(one), EntryCheck((one.public,))
    check(signer.key, message, signer.sign(message))
    EntryCheck()(signer.key, message, signer.sign(message))
    file_signature = one.sign("spec", content("spec"))["signature"]
    for key, text, signature in (
        (signer.key, ("1" * 64).encode(), signer.sign(message)),
        (signer.key, message, file_signature),
        (signer.key, message, one.private.sign(message).hex()),  # without the words before
        (signer.key, message, signer.sign(message)[:-2]),
        (other.public.digits, message, signer.sign(message)),
        (other.public.digits, message, EntrySigner(other).sign(message)),
        ("", message, signer.sign(message)),
    ):
        with pytest.raises(InvalidSpec):
            check(key, text, signature)


def test_a_private_key_is_its_owners_alone(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert SigningKey.read(private).public == PublicKey.read(public)
    assert SigningKey.read(private).public.digits not in private.read_text()
    private.chmod(0o640)
    with pytest.raises(InvalidProblem, match="chmod 600"):
        SigningKey.read(private)
    with pytest.raises(InvalidProblem, match="exists"):
        new_key(private)
    with pytest.raises(InvalidProblem, match="exists"):
        new_key(tmp_path / "key")


def test_a_key_is_written_so_even_where_files_are_open_to_all(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert stat.S_IMODE(new_key(tmp_path / "key")[0].stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_passphrase_is_needed_again(tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "key", "open sesame")
    assert "ENCRYPTED" in private.read_text()
    assert SigningKey.read(private, "open sesame").public == PublicKey.read(public)
    for wrong in (None, "open barley", ""):
        with pytest.raises(InvalidProblem, match="passphrase"):
            SigningKey.read(private, wrong)
    with pytest.raises(InvalidProblem, match="passphrase: is empty"):
        new_key(tmp_path / "other", "")
    assert not (tmp_path / "other").exists()


def test_nothing_of_a_private_key_is_shown(tmp_path: Path) -> None:
    key = SigningKey.read(new_key(tmp_path / "key")[0])
    raw = key.private.private_bytes_raw()
    assert raw.hex() not in repr(key) + str(vars(key)) and repr(raw) not in repr(key)
    assert raw.hex() not in json.dumps(key.sign("spec", content("spec")))


def test_other_keys_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    other = X25519PrivateKey.generate()
    (tmp_path / "x").write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "x").chmod(0o600)
    (tmp_path / "x.pub").write_bytes(other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(InvalidProblem, match="no private Ed25519 key"):
        SigningKey.read(tmp_path / "x")
    private, public = new_key(tmp_path / "key")
    for path in (tmp_path / "x.pub", private):
        with pytest.raises(InvalidProblem, match="no public Ed25519 key"):
            PublicKey.read(path)
    with pytest.raises(InvalidProblem, match="cannot read"):
        PublicKey.read(tmp_path / "none.pub")
    with pytest.raises(InvalidProblem, match="no private Ed25519 key"):
        public.chmod(0o600)
        SigningKey.read(public)


def test_only_specs_and_releases_are_signed_as_files(tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    path = written(tmp_path, "spec")
    beside = sign_file(path, keys[0])
    (tmp_path / "other.json").write_text('{"format": "of another program", "seal": ""}')
    for wrong in (beside, tmp_path / "other.json"):
        with pytest.raises(InvalidSpec, match="neither a spec nor a release"):
            sign_file(wrong, keys[0])
    with pytest.raises(InvalidProblem, match="kind"):
        keys[0].sign("problem", {})
    for name in ("two\nlines", "x" * 201, None):
        with pytest.raises(InvalidProblem, match="name"):
            keys[0].sign("spec", content("spec"), name)  # type: ignore[arg-type]


def test_a_folder_of_keys_may_be_trusted(tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    made = [new_key(tmp_path / name)[1] for name in ("a", "b")]
    assert trusted_keys([tmp_path]) == [PublicKey.read(path) for path in made]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidProblem, match=r"no \.pub or \.pem file"):
        trusted_keys([tmp_path / "empty"])


PROBLEM = """
title = "Two counts"
[workload]
columns = ["first", "others"]
[elements]
table = "elements.csv"
names = ["name"]
[relation]
metric = "uniform"
epsilon = 0.5
[design]
family = "laplace"
"""


def test_the_command_line_signs_and_asks_who_signed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """design --sign, release --sign, sign, keys; verify with the right key, a wrong one, none, and a stripped signature."""

    def said(code: int, *arguments: object) -> str:
        assert main([str(a) for a in arguments]) == code, capsys.readouterr()
        captured = capsys.readouterr()
        return captured.out + captured.err

    at = tmp_path.joinpath
    at("problem.toml").write_text(PROBLEM)
    at("elements.csv").write_text("name,first,others\na,1,0\nb,0,1\nc,0,1\n")
    at("counts.csv").write_text("name,count\na,5\nb,6\nc,7\n")
    at("words").write_text("open sesame\nmore\n")
    fingerprint = json.loads(said(0, "keys", "new", at("one"), "--json"))["key_fingerprint"]
    said(0, "keys", "new", at("two"), "--passphrase-file", at("words"))
    assert fingerprint in said(0, "keys", "show", at("one.pub"))
    asked = ["--sign", at("one"), "--name", "Office"]
    assert "give -o, too" in said(2, "design", at("problem.toml"), *asked)
    assert not at("spec.json").exists()
    said(0, "design", at("problem.toml"), "-o", at("spec.json"), *asked)
    said(0, "release", at("spec.json"), "--histogram", at("counts.csv"), "--column", "count", "-o", at("release.json"), *asked)
    for files in (["spec.json"], ["spec.json", "release.json"]):
        paths = [at(name) for name in files]
        assert fingerprint in said(0, "verify", *paths) and "nobody vouched for" in said(0, "verify", *paths)
        assert "a key that was asked for" in said(0, "verify", *paths, "--signer", at("one.pub"))
        told = json.loads(said(0, "verify", *paths, "--json", "--signer", at("two.pub"), "--signer", at("one.pub")))["signer"]
        assert (told["name"], told["trusted"], told["key_fingerprint"]) == ("Office", True, fingerprint)
        assert "not among those asked for" in said(4, "verify", *paths, "--signer", at("two.pub"))
    at("release.json.sig").write_bytes(at("spec.json.sig").read_bytes())
    assert "is one of a spec, and this is a release" in said(4, "verify", at("spec.json"), at("release.json"))
    at("release.json.sig").unlink()
    assert "was asked for" in said(4, "verify", at("spec.json"), at("release.json"), "--signer", at("one.pub"))
    said(0, "verify", at("spec.json"), at("release.json"))
    assert "passphrase" in said(2, "sign", at("release.json"), "--key", at("two"))
    said(0, "sign", at("release.json"), "--key", at("two"), "--passphrase-file", at("words"))
    assert "exists" in said(2, "sign", at("release.json"), "--key", at("one"))
    said(0, "verify", at("spec.json"), at("release.json"), "--signer", at("two.pub"))
    assert "is a release; give its spec" in said(4, "verify", at("release.json"))


def test_a_key_that_cannot_be_read_stops_a_release_before_it_spends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from designer.additive.mechanism import AdditiveMechanism

    path = written(tmp_path, "spec")
    monkeypatch.setattr(AdditiveMechanism, "release", lambda *_: pytest.fail("data were touched"))
    counts = tmp_path / "counts.csv"
    counts.write_text("count\n" + "1\n" * 3)
    options = ["--histogram", str(counts), "-o", str(tmp_path / "r.json"), "--sign", str(tmp_path / "none")]
    assert main(["release", str(path), *options]) == 2
    assert "cannot read" in capsys.readouterr().err and not (tmp_path / "r.json").exists()


def test_every_key_of_a_signature_is_in_the_schema(keys: tuple[SigningKey, SigningKey]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    signature = keys[0].sign("release", content("release"))
    for path in leaves(signature):
        if path:
            assert not VALIDATOR.is_valid(changed(signature, path, delete)), path
            assert not VALIDATOR.is_valid(changed(signature, path, put([]))), get(signature, path)
    assert not VALIDATOR.is_valid({**signature, "more": 1})
