"""Which pictures there are of a mechanism, and of one of its releases, in the order in which a page shows them."""

from __future__ import annotations

from designer.certified.specified import Released, Specified
from designer.pictures.drawing import Drawing


def drawings_of(mechanism: Specified, released: Released | None = None) -> tuple[Drawing, ...]:
    """The pictures of a mechanism, and of the answers of one of its releases, each with a title and a sentence in its place.

    Their names differ. None where nothing can be drawn. Raises `InvalidProblem` for a release of another mechanism.
    """
    return mechanism.drawings(released)
