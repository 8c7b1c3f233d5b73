"""One kind of frozen mechanism, as the rest of the house knows it: a value that names its parts, wherever they live.

Parts are named as entry points are, `module:name`, and imported when they are first asked for: so a kind can name its page or
its pictures, which live above it, and who loads a spec imports neither. `designer.files.kinds` lists all kinds there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

Part = Literal["mechanism", "release_form", "agreement", "composition", "inspection", "noise_law", "page", "pictures"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of frozen mechanism: the format of its specs, and the addresses of its parts.

    mechanism: the frozen class, a `Specified`, which reads and certifies specs. release_form: the `ReleaseForm` of its releases
    as files. agreement: the `Agreement` that makes tables of a release agree; None where there are no tables of sums of cells.
    composition: the `Composition` by which releases add up. inspection: the `Inspection` of deep verification.
    noise_law: the function that tells other tools the law of the noise; None where there is none that the data leave alone.
    page: the `Contributor` of its page for a board, with the sketches of its proofs. pictures: the function from a mechanism to
    its `Drawing`s; None where nothing is drawn of it. Every part is stated, so that none is forgotten.
    """

    format: str
    mechanism: str
    release_form: str
    agreement: str | None
    composition: str
    inspection: str
    noise_law: str | None
    page: str
    pictures: str | None

    def part(self, name: Part) -> Any:
        """What a part is, imported now if it was not; None where this kind has none."""
        address = getattr(self, name)
        return None if address is None else _named(address)


@cache
def _named(address: str) -> Any:
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)
