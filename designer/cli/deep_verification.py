"""`verify --deep`: beside the certificate, laws written out and the sampler's own draws."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from designer.base.errors import InvalidProblem, NotPrivate
from designer.base.json_text import plain
from designer.certified.frozen import Specified

if TYPE_CHECKING:
    from designer.audit.verdict import DeepVerdict


def add_deep_options(made: argparse.ArgumentParser) -> None:
    """The options of `verify` that are about it."""
    made.add_argument("--deep", action="store_true", help="also enumerate laws and test the sampler that was built")
    made.add_argument("--seconds", type=float, help="for the draws of --deep (default 60); more see smaller errors")


def refuse_deep(options: argparse.Namespace) -> None:
    """What has no sampler is not verified deeply."""
    if options.deep or options.seconds is not None:
        raise InvalidProblem("--deep, --seconds: test the sampler of a spec; leave them out for releases and ledgers.")


def deep_lines(mechanism: Specified, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The verdict in words and as data; nothing where it was not asked for. `NotPrivate`, once printed, where it fails."""
    if not options.deep:
        if options.seconds is not None:
            raise InvalidProblem("--seconds: is for the draws of --deep; give both, or neither.")
        return "", {}
    verdict = deeply(mechanism, options)
    text, data = verdict.to_text(), {"deep": verdict.to_dict()}
    if not verdict.holds:
        print(json.dumps(plain(data), allow_nan=False) if options.json else text, flush=True)
        subjects = ", ".join(finding.subject for finding in verdict.failures)
        raise NotPrivate(f"{options.file}: fails its deep verification ({subjects}); release nothing with it.")
    return f"\n\n{text}", data


def deeply(mechanism: Specified, options: argparse.Namespace) -> DeepVerdict:
    """The verdict on a mechanism, of as many seconds of draws as are asked for."""
    from designer.audit.deep import SECONDS, audit

    return audit(mechanism, seconds=SECONDS if options.seconds is None else options.seconds)
