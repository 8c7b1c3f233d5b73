"""The families of mechanisms, one file each: formulate the program, hand it to a solver, recover the mechanism."""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names

if TYPE_CHECKING:
    from designer.designing.family import Family
    from designer.designing.listed import FAMILIES, family_named, forget, known_families, register

__all__ = ["FAMILIES", "Family", "family_named", "forget", "known_families", "register"]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "designer.designing.family": "Family",
        "designer.designing.listed": "FAMILIES family_named forget known_families register",
    },
)
