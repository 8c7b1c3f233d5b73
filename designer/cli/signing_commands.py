"""Keys and signatures: keys, sign; and the options by which other commands sign, or ask who signed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.json_text import signature_path
from designer.base.output import checked_target
from designer.files.signatures import PublicKey, SigningKey, new_key, sign_file


def add_keys(made: argparse.ArgumentParser) -> None:
    """keys."""
    made.set_defaults(run=_keys)
    made.add_argument(
        "action", choices=["new", "show"], help="make KEYFILE and KEYFILE.pub, or print the fingerprint of a .pub"
    )
    made.add_argument("file", type=Path, metavar="KEYFILE", help="key file (PEM)")
    _add_passphrase(made)


def add_sign(made: argparse.ArgumentParser) -> None:
    """sign."""
    made.set_defaults(run=_sign)
    made.add_argument("--key", type=Path, required=True, help="key file (PEM), as `keys new` writes it")
    made.add_argument("--force", action="store_true", help="replace a signature that is there")
    _add_name(made)


def add_sign_options(made: argparse.ArgumentParser) -> None:
    """Sign what -o saves."""
    made.add_argument("--name", default="", help="whom the signature says to be from")
    add_key_options(made, "also sign what -o saves, into a file with .sig behind")


def add_key_options(made: argparse.ArgumentParser, help_text: str) -> None:
    """Sign with a key file."""
    made.add_argument("--sign", type=Path, metavar="KEYFILE", help=help_text)
    _add_passphrase(made)


def given_key(options: argparse.Namespace) -> SigningKey | None:
    """The key to sign with; None where none is asked for."""
    return None if options.sign is None else SigningKey.read(options.sign, _passphrase(options))


def signing_key(options: argparse.Namespace) -> SigningKey | None:
    """The key to sign what is saved with, read before anything is computed or spent; None where none is asked for."""
    if options.sign is None:
        return None
    if options.output is None:
        raise InvalidProblem("--sign: signs the file that is saved; give -o, too.")
    checked_target(signature_path(options.output), inputs=[options.sign], replace=options.force)
    return given_key(options)


def signed_line(options: argparse.Namespace, key: SigningKey | None) -> list[str]:
    """Sign what was saved, and say where."""
    if key is None:
        return []
    path = sign_file(options.output, key, options.name, replace=options.force)
    return [f"Signed with the key {key.public.fingerprint}: {printed(path)}."]


def _add_passphrase(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--passphrase-file", type=Path, help="the first line of this file encrypts the key (default: no encryption)"
    )


def _add_name(made: argparse.ArgumentParser) -> None:
    made.add_argument("--name", default="", help="whom the signature says to be from")
    _add_passphrase(made)


def _passphrase(options: argparse.Namespace) -> str | None:
    """The first line of a file, because what is typed on a command line is seen by others."""
    if options.passphrase_file is None:
        return None
    return next(iter(options.passphrase_file.read_text(encoding="utf-8").splitlines()), "")


def _keys(options: argparse.Namespace) -> tuple[str, Any]:
    """Keys for signatures: `keys new KEYFILE` writes a private key that only its owner can read, and KEYFILE.pub for all."""
    if options.action == "show":
        public = PublicKey.read(options.file)
        return f"{printed(options.file)}: {public.fingerprint}", {"key": public.digits, "key_fingerprint": public.fingerprint}
    private, path = new_key(options.file, _passphrase(options))
    public = PublicKey.read(path)
    data = {"private": str(private), "public": str(path), "key": public.digits, "key_fingerprint": public.fingerprint}
    kept = "encrypted" if options.passphrase_file else "not encrypted"
    text = (
        f"Private key: {printed(private)} ({kept}; keep it secret)\nPublic key:  {printed(path)} (give it to those who verify)"
    )
    return f"{text}\nFingerprint: {public.fingerprint}", data


def _sign(options: argparse.Namespace) -> tuple[str, Any]:
    checked_target(signature_path(options.file), inputs=[options.file, options.key], replace=options.force)
    key = SigningKey.read(options.key, _passphrase(options))
    path = sign_file(options.file, key, options.name, replace=options.force)
    return f"Signed with the key {key.public.fingerprint}: {printed(path)}.", {"path": str(path), "key": key.public.digits}
