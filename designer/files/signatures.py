"""Who vouches for what: Ed25519 signatures of specs and releases, in files of their own beside them, and of entries of ledgers.

What is signed are the canonical bytes of a statement: what kind of file it is, its digest, the name that the signer states, the
time, and the key. So a signature fits one content of one kind. Keys are PEM files: PKCS #8 for the private part, readable by
its owner alone, the public part beside it. The cryptography is that of the library `cryptography` (extra `signing`).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from designer.base.checks import shown, system_words
from designer.base.display import printed
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import (
    UTC_TIME,
    canonical_text,
    is_utc_text,
    read_json,
    readable_text,
    require_keys,
    signature_path,
    utc_text,
)
from designer.base.output import checked_target, mistaken, write_whole
from designer.base.schema import HASH, exactly, keys, noted, one_of, record, text
from designer.limits import MOST_NAME_CHARACTERS, MOST_SIGNATURE_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNATURE_FORMAT = "dp-designer/signature"
SIGNATURE_VERSION = 1
KINDS = ("spec", "release")
# What is signed begins so: a signature of one use is none of another.
OF_FILES = b"dp-designer signature, version 1\n"
OF_ENTRIES = b"dp-designer ledger entry, version 1\n"
SIGNATURE = record(
    {
        "format": exactly(SIGNATURE_FORMAT),
        "version": exactly(SIGNATURE_VERSION),
        "kind": one_of(*KINDS),
        "digest": noted("SHA-256 of the content: keys sorted, no spaces.", {"anyOf": [HASH]}),
        "name": noted("Whom the signer says to be; the key is what counts.", {**text(), "maxLength": 200}),
        "time": noted("UTC, as the signer says.", text(f"^{UTC_TIME}$")),
        "key": noted("The public key, 32 bytes.", text("^[0-9a-f]{64}$")),
        "signature": noted("Ed25519, of all other keys.", text("^[0-9a-f]{128}$")),
    }
)
RESIGN = "restore the file, or ask the signer to sign it again."


@dataclass(frozen=True)
class PublicKey:
    """The public part of a key, 32 bytes in hexadecimal digits.

    digits: 64 hexadecimal digits.
    """

    digits: str

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key, by which people compare keys."""
        return hashlib.sha256(bytes.fromhex(self.digits)).hexdigest()

    @classmethod
    def read(cls, path: str | Path) -> PublicKey:
        """From a PEM file; `InvalidProblem` for anything but an Ed25519 key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        content = _read(Path(path))
        try:
            key = load_pem_public_key(content)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise InvalidProblem(f"signer: {printed(path)} holds no public Ed25519 key; give the .pub file of a key.")
        return cls(key.public_bytes_raw().hex())


Trusted = PublicKey | str | Path | Sequence[PublicKey | str | Path]  # public keys, their files, or folders of them


@dataclass(frozen=True, eq=False)
class SigningKey:
    """A private key, which never leaves this object, and its public part.

    private: the key itself. public: its public part, which signatures name.
    """

    private: Ed25519PrivateKey
    public: PublicKey

    def __repr__(self) -> str:
        return f"SigningKey({self.public.fingerprint})"

    @classmethod
    def read(cls, path: str | Path, passphrase: str | None = None) -> SigningKey:
        """From a PEM file that only its owner can read. `InvalidProblem` for any other, and for a wrong passphrase."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        content = _read(Path(path))
        if not content.lstrip().startswith(b"-----BEGIN"):
            told = mistaken(content, "a key") or "is no key (PEM); give the file that `dp-designer keys new` wrote"
            raise InvalidProblem(f"key: {printed(path)} {told}.")
        if os.name == "posix" and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
            raise InvalidProblem(f"key: {printed(path)} can be read by others than its owner; make it private with chmod 600.")
        try:
            key = load_pem_private_key(content, None if passphrase is None else passphrase.encode())
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InvalidProblem(
                f"key: {printed(path)} holds no private Ed25519 key that this passphrase, or none, opens; give the key file "
                "that `dp-designer keys new` wrote, and its passphrase."
            )
        return cls(key, PublicKey(key.public_key().public_bytes_raw().hex()))

    def sign(self, kind: str, content: Mapping[str, Any], name: str = "", time: datetime | None = None) -> dict[str, Any]:
        """A signature of the plain data of a file.

        kind: one of `KINDS`. name: whom the signer says to be. time: aware of its zone; now unless given.
        """
        if kind not in KINDS:
            raise InvalidProblem(f"kind: {shown(kind)} is unknown; use one of {list(KINDS)}.", value=kind)
        if not isinstance(name, str) or len(name) > MOST_NAME_CHARACTERS or not (name.isprintable()):
            raise InvalidProblem(
                f"name: {shown(name)} is no printable text of up to {MOST_NAME_CHARACTERS} characters.", value=name
            )
        statement = {
            "format": SIGNATURE_FORMAT,
            "version": SIGNATURE_VERSION,
            "kind": kind,
            "digest": digest(content),
            "name": name,
            "time": utc_text(time),
            "key": self.public.digits,
        }
        return {**statement, "signature": self.private.sign(OF_FILES + canonical_text(statement)).hex()}


@dataclass(frozen=True)
class EntrySigner:
    """A key as a ledger takes it: `Ledger(path, signer=EntrySigner(key))` signs the hash of every entry that it adds.

    signing: the key that signs.
    """

    signing: SigningKey

    @property
    def key(self) -> str:
        """The public key, in hexadecimal digits: what entries name."""
        return self.signing.public.digits

    def sign(self, message: bytes) -> str:
        """The signature of the hash of an entry."""
        return self.signing.private.sign(OF_ENTRIES + message).hex()


@dataclass(frozen=True)
class EntryCheck:
    """What verifies the signatures of entries: any key's, or only those of some trusted keys.

    trusted: the keys that are accepted; None accepts any key.
    """

    trusted: tuple[PublicKey, ...] | None = None

    def __call__(self, key: str, message: bytes, signature: str) -> None:
        """`InvalidSpec` where the signature is not that of the key, or the key is not trusted."""
        if not re.fullmatch("[0-9a-f]{64}", key) or not re.fullmatch("[0-9a-f]{128}", signature):
            raise InvalidSpec(f"signature: {shown(key)} and its signature are not of Ed25519; {RESIGN}", value=key)
        _require_trusted(PublicKey(key), self.trusted)
        _require_made(PublicKey(key), OF_ENTRIES + message, signature)


@dataclass(frozen=True)
class SignedBy:
    """Who signed: the key, the name that it states, when, and whether the key is one that was trusted beforehand.

    time: when it was signed, as the signer states it.
    """

    key: PublicKey
    name: str
    time: str
    trusted: bool

    def sentence(self) -> str:
        """One line; a name is a statement of the signer, the key is what was checked."""
        name = f"states the name {printed(self.name)!r}" if self.name else "states no name"
        trust = "a key that was asked for" if self.trusted else "a key that nobody vouched for here; compare its fingerprint"
        return f"Signed at {self.time} with {trust}: {self.key.fingerprint}; the signer {name}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        said = {"name": self.name, "time": self.time, "trusted": self.trusted}
        return {"key": self.key.digits, "key_fingerprint": self.key.fingerprint, **said}


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of plain data: keys sorted, no spaces."""
    return hashlib.sha256(canonical_text(dict(content))).hexdigest()


def signer_of(
    signature: Mapping[str, Any], kind: str, content: Mapping[str, Any], trusted: Sequence[PublicKey] | None = None
) -> SignedBy:
    """Find who signed this content; `InvalidSpec` for any signature that does not fit it.

    Parameters
    ----------
    signature : plain data, as `SigningKey.sign` makes them.
    kind : what was signed, such as "spec".
    content : the plain data that was signed.
    trusted : refuse any key but these; None asks for none.
    """
    require_keys(dict(signature), keys(SIGNATURE), "signature")
    _require_forms(signature)
    if signature["kind"] != kind:
        raise InvalidSpec(f"signature: is one of a {signature['kind']}, and this is a {kind}; {RESIGN}")
    if signature["digest"] != digest(content):
        raise InvalidSpec(
            f"signature: is of another content; the file was altered, or the signature is that of another: {RESIGN}"
        )
    key = PublicKey(signature["key"])
    _require_trusted(key, trusted)
    statement = {name: value for name, value in signature.items() if name != "signature"}
    _require_made(key, OF_FILES + canonical_text(statement), signature["signature"])
    return SignedBy(key, signature["name"], signature["time"], trusted is not None)


def _require_trusted(key: PublicKey, trusted: Sequence[PublicKey] | None) -> None:
    if trusted is not None and key not in trusted:
        wanted = ", ".join(sorted(other.fingerprint for other in trusted)) or "none"
        raise InvalidSpec(f"signature: was made with the key {key.fingerprint}, which is not among those asked for: {wanted}.")


def _require_made(key: PublicKey, message: bytes, signature: str) -> None:
    """The library's verdict on a signature."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.digits)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        raise InvalidSpec(f"signature: was not made with the key that it names; {RESIGN}") from None


def new_key(path: str | Path, passphrase: str | None = None) -> tuple[Path, Path]:
    """Make a key: the private part at `path`, readable by its owner alone, the public part at `path` with `.pub` behind.

    Nothing is ever replaced. Returns both paths. Raises `InvalidProblem` where a file of one of these names is there.

    Parameters
    ----------
    path : of the private part.
    passphrase : encrypts the private part.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    private, public = Path(path), Path(f"{path}.pub")
    if passphrase is not None and not passphrase:
        raise InvalidProblem("passphrase: is empty; give one, or leave it out for a key without.")
    for target in (private, public):
        checked_target(target)
    key = Ed25519PrivateKey.generate()
    cipher = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase.encode())
    write_whole(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), replace=False)
    write_whole(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher), replace=False, secret=True)
    return private, public


def content_kind(content: Mapping[str, Any]) -> str:
    """What kind of file plain data are of, by their format."""
    return "release" if content.get("format") == "dp-designer/release" else "spec"


def sign_file(path: str | Path, key: SigningKey, name: str = "", *, replace: bool = True) -> Path:
    """Sign a spec or a release as it stands in a file; the signature is written beside it. Returns its path. Raises
    `InvalidSpec` for a file that is no spec and no release.

    Parameters
    ----------
    path : of the spec or release.
    key : with which it is signed.
    name : whom the signature says to be from, which nothing proves.
    replace : may a signature that is there be replaced?
    """
    content = read_json(Path(path))
    known = str(content.get("format")).startswith("dp-designer/") and content.get("format") != SIGNATURE_FORMAT
    if not known or "seal" not in content:
        raise InvalidSpec(f"file: {printed(path)} is neither a spec nor a release; give one of them.")
    signed = key.sign(content_kind(content), content, name)
    return write_whole(signature_path(path), readable_text(signed), replace=replace)


def file_signer(path: str | Path, content: Mapping[str, Any], trusted: Sequence[PublicKey] | None = None) -> SignedBy | None:
    """Who signed a spec or a release, by the signature beside its file; None where there is none and none was asked for.

    content: what was read from the file. trusted: the keys one of which must have signed; None asks for no signature, but
    refuses one that does not fit.
    """
    beside = signature_path(path)
    if beside.exists():
        return signer_of(read_json(beside, MOST_SIGNATURE_BYTES), content_kind(content), content, trusted)
    if trusted is None:
        return None
    raise InvalidSpec(f"signature: {printed(beside)} is not there, and a signature was asked for; ask the signer for it.")


def public_keys(trusted: Trusted) -> list[PublicKey]:
    """The keys that are trusted: given themselves, or by their files and folders."""
    given = [trusted] if isinstance(trusted, (PublicKey, str, Path)) else list(trusted)
    return [key for one in given for key in ([one] if isinstance(one, PublicKey) else trusted_keys([one]))]


def trusted_keys(paths: Sequence[str | Path]) -> list[PublicKey]:
    """The public keys of some files, and of all `.pub` and `.pem` files of some folders."""
    found: list[PublicKey] = []
    for given in paths:
        if given in ("", Path()):  # Path("") is the working folder, where anybody's key may lie
            raise InvalidProblem("signer: is empty; name a public key or a folder of them ('.' is the working folder).")
        path = Path(given)
        files = sorted([*path.glob("*.pub"), *path.glob("*.pem")]) if path.is_dir() else [path]
        if not files:
            raise InvalidProblem(f"signer: {printed(path)} holds no .pub or .pem file; put the public keys there.")
        found += map(PublicKey.read, files)
    return found


def _require_forms(signature: Mapping[str, Any]) -> None:
    """Every value is of the form that the schema says."""
    hexadecimal = {"digest": 64, "key": 64, "signature": 128}
    patterns = {name: f"[0-9a-f]{{{size}}}" for name, size in hexadecimal.items()} | {"kind": "|".join(KINDS), "time": "(?s).*"}
    patterns["name"] = f"(?s).{{0,{MOST_NAME_CHARACTERS}}}"
    fits = all(isinstance(signature[name], str) and re.fullmatch(patterns[name], signature[name]) for name in patterns)
    version = signature["version"]
    head = (signature["format"], type(version), version) == (SIGNATURE_FORMAT, int, SIGNATURE_VERSION)
    if not (fits and head and is_utc_text(signature["time"])):
        raise InvalidSpec(f"signature: is not one of {SIGNATURE_FORMAT!r} version {SIGNATURE_VERSION}; {RESIGN}")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_SIGNATURE_BYTES)
    except (OSError, ValueError) as error:
        raise InvalidProblem(
            f"key: cannot read {printed(path)} ({system_words(error)}); give a file that can be read."
        ) from None
