"""Drawn breaks that no test sees and none has to, each with the reason why nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.mutant import Mutant

EQUIVALENT: tuple[Mutant, ...] = ()


def reason_for(mutant: Mutant, tree: Path) -> str | None:
    """Why nothing is lost by a break, where that is known of the same file with the same change."""
    becomes = mutant.becomes(tree)
    return next((one.breaks for one in EQUIVALENT if one.file == mutant.file and one.becomes(tree) == becomes), None)
