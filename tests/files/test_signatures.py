"""Signatures of specs, releases and entries of ledgers, keys in files, and attacks on all of them."""

from __future__ import annotations

import argparse
import base64
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from types import MappingProxyType
from typing import Any

import jsonschema
import numpy as np
import pytest

from designer import InvalidProblem, InvalidSpec, load
from designer.accounts import Ledger, Total
from designer.base.json_text import signature_path
from designer.certificate.frozen import seal, to_spec
from designer.cli import main, parser
from designer.files.releases import release_document
from designer.files.schema import signature_schema
from designer.files.signatures import (
    EntryCheck,
    EntrySigner,
    PublicKey,
    SigningKey,
    file_signer,
    new_key,
    public_keys,
    sign_file,
    signer_of,
    trusted_keys,
)
from tests.files.test_spec import changed, delete, double, edits, get, leaves, put
from tests.oracles.release_specimens import releases

pytest.importorskip("cryptography")
ROOT = Path(__file__).parents[2]
SCHEMA = signature_schema()
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


@pytest.mark.skipif(not all(map(which, ("bash", "sqlite3", "xxd", "openssl"))), reason="needs sqlite3, xxd and openssl")
def test_openssl_verifies_an_entry_as_the_page_says(tmp_path: Path, keys: tuple[SigningKey, SigningKey]) -> None:
    page = (ROOT / "docs" / "guides" / "ledger.md").read_text()
    (block,) = [part for part in page.split("\n\n") if "openssl pkeyutl" in part]
    commands = block.replace("agency.ledger", "l").replace("council.pub", "office.pub").replace("number = 4", "number = 2")
    public = keys[0].public.digits
    prefix = bytes.fromhex("302a300506032b6570032100")  # of a PEM file of Ed25519, RFC 8410
    text = base64.b64encode(prefix + bytes.fromhex(public)).decode()
    (tmp_path / "office.pub").write_text(f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
    Ledger.create(tmp_path / "l", signer=EntrySigner(keys[0])).state("people", Total(epsilon=1))
    for command, code in ((commands, 0), (commands.replace("version 1'", "version 2'"), 1)):
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code and ("Verified Successfully" in done.stdout) == (code == 0), done


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


@pytest.mark.parametrize("nothing", ["", [""], Path(""), [Path("")], ("key.pub", "")])
def test_an_empty_name_trusts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: tuple[SigningKey, SigningKey], nothing: Any
) -> None:
    """An unset variable of a shell must not trust whatever key lies in the working folder."""
    monkeypatch.chdir(tmp_path)
    new_key("key")
    with pytest.raises(InvalidProblem, match="signer: is empty"):
        public_keys(nothing)
    assert public_keys(".") == public_keys("key.pub") == [PublicKey.read("key.pub")]


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
    from designer.mechanism.additive import AdditiveMechanism

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


def signed_and_altered(folder: Path, key: SigningKey) -> tuple[Path, Path, Path]:
    """A signed spec and release whose numbers somebody made into another valid spec, and the counts."""
    spec, release = written(folder, "spec"), written(folder, "release")
    for path in (spec, release):
        sign_file(path, key)
        altered = {**json.loads(path.read_text()), "about": {"title": "another"}}
        path.write_text(json.dumps({**altered, "seal": seal(altered)}))
    counts = folder / "counts.npy"
    np.save(counts, np.zeros(len(json.loads(spec.read_text())["mechanism"]["workload"]["elements"]), dtype=np.int64))
    return spec, release, counts


def commands_of_specs(spec: Path, release: Path, counts: Path, folder: Path) -> dict[str, list[str]]:
    """A call of every command that reads a spec, or a release behind it."""
    ledger = folder / "people.ledger"
    main(["ledger", "create", str(ledger), "--dataset", "people", "--epsilon", "9", "--allow-unprotected"])
    plan = ["ledger", "plan", str(spec), "--ledger", str(ledger), "--dataset", "people"]
    return {
        "verify": ["verify", str(spec)],
        "verify of a release": ["verify", str(spec), str(release)],
        "show": ["show", str(spec)],
        "account": ["account", str(spec)],
        "release": ["release", str(spec), "--histogram", str(counts)],
        "release with a ledger": ["release", str(spec), "--histogram", str(counts), *plan[3:]],
        "sample": ["sample", str(spec), "-n", "3"],
        "tables": ["tables", str(spec), str(release)],
        "report": ["report", str(spec)],
        "report of a release": ["report", str(spec), str(release), "-o", str(folder / "page.html"), "--force"],
        "export": ["export", str(spec), "--as", "noise"],
        "export of a release": ["export", str(spec), "--as", "registry", "--release", str(release)],
        "plot": ["plot", str(spec), "--kind", "list"],
        "plot of a release": ["plot", str(spec), str(release), "--kind", "list"],
        "ledger plan": plan,
    }


def test_every_command_that_reads_a_spec_is_among_those_that_are_tried(tmp_path: Path) -> None:
    def spec_commands(made: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[str]:
        for action in made._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word, inner in action.choices.items():
                    yield from spec_commands(inner, (*words, word))
            elif action.dest == "allow_vacuous":
                yield " ".join(words)

    found = set(spec_commands(parser())) - {"design", "budget"}  # which read problem files
    tried = commands_of_specs(Path("a"), Path("b"), Path("c"), tmp_path)
    assert found == {name.split(" of a ")[0].split(" with a ")[0] for name in tried}


def test_every_command_refuses_a_signature_that_does_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: tuple[SigningKey, SigningKey]
) -> None:
    spec, release, counts = signed_and_altered(tmp_path, keys[0])
    for name, call in commands_of_specs(spec, release, counts, tmp_path).items():
        capsys.readouterr()
        assert main(call) == 4, name
        told = capsys.readouterr()
        assert "signature: is of another content" in told.err and not told.out, name
    # the signature of the release alone does not fit: every command that reads it says so
    sign_file(spec, keys[0])
    for name, call in commands_of_specs(spec, release, counts, tmp_path).items():
        assert main(call) == (4 if str(release) in call else 0), (name, capsys.readouterr().err)


def test_every_command_asks_for_a_signer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: tuple[SigningKey, SigningKey]
) -> None:
    spec, release, counts = signed_and_altered(tmp_path, keys[0])
    sign_file(spec, keys[0])
    sign_file(release, keys[0])
    for name in ("a", "b"):
        new_key(tmp_path / name)
    asked, other = tmp_path / "asked.pub", tmp_path / "b.pub"
    asked.write_bytes(public_bytes(keys[0]))
    for name, call in commands_of_specs(spec, release, counts, tmp_path).items():
        assert main([*call, "--signer", str(other)]) == 4, name
        assert "not among those asked for" in capsys.readouterr().err, name
        assert main([*call, "--signer", str(asked)]) == 0, (name, capsys.readouterr().err)
    for path in (spec, release):
        signature_path(path).unlink()
    for name, call in commands_of_specs(spec, release, counts, tmp_path).items():
        assert main([*call, "--signer", str(asked)]) == 4, name
        assert "is not there, and a signature was asked for" in capsys.readouterr().err, name


def test_load_checks_the_signature_of_what_it_read_and_reads_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: tuple[SigningKey, SigningKey]
) -> None:
    """Whoever swaps the file between a check and its use finds no second reading."""
    spec = written(tmp_path, "spec")
    sign_file(spec, keys[0])
    opened: list[str] = []
    original = Path.open

    def counting(path: Path, *args: Any, **options: Any) -> Any:
        opened.append(path.name)
        return original(path, *args, **options)

    monkeypatch.setattr(Path, "open", counting)
    made = load(spec, trusted=[keys[0].public])
    assert opened.count("spec.json") == 1 and opened.count("spec.json.sig") == 1
    (tmp_path / "key.pub").write_bytes(public_bytes(keys[0]))
    assert load(spec, trusted=tmp_path / "key.pub") == load(spec, trusted=keys[0].public) == load(spec) == made
    with pytest.raises(InvalidSpec, match="not among those asked for"):
        load(spec, trusted=[keys[1].public])
    with pytest.raises(InvalidSpec, match="not among those asked for: none"):
        load(spec, trusted=[])
    altered = {**content("spec"), "about": {"title": "another"}}
    spec.write_text(json.dumps({**altered, "seal": seal(altered)}))
    with pytest.raises(InvalidSpec, match="is of another content"):
        load(spec)


def test_load_takes_bytes_and_plain_data(keys: tuple[SigningKey, SigningKey]) -> None:
    plain_spec, maker = content("spec"), releases()["laplace uniform"][0]
    assert load(plain_spec) == load(json.dumps(plain_spec).encode()) == load(to_spec(maker)) == maker
    assert load(MappingProxyType(plain_spec)) == maker
    for wrong in (5, None, ["spec.json"]):
        with pytest.raises(InvalidProblem, match="is no path, bytes or mapping"):
            load(wrong)  # type: ignore[arg-type,call-overload]
    with pytest.raises(InvalidSpec, match="more than 10"):
        load(json.dumps(plain_spec).encode(), size_limit=10)
    with pytest.raises(InvalidSpec, match="is not a JSON file"):
        load(b"{")
    for source in (plain_spec, json.dumps(plain_spec).encode()):
        with pytest.raises(InvalidSpec, match="stands beside a file only"):
            load(source, trusted=[keys[0].public])


def public_bytes(key: SigningKey) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public.digits))
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
