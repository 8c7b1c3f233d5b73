"""The families of mechanisms, one file each: formulate the program, hand it to a solver, recover the mechanism."""

from typing import TYPE_CHECKING

from designer.base.lazily import public_names

if TYPE_CHECKING:
    from designer.families.family import Family
    from designer.families.listed import FAMILIES, family_named, forget, known_families, register

__all__ = ["FAMILIES", "Family", "family_named", "forget", "known_families", "register"]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "family": "Family",
        "listed": "FAMILIES family_named forget known_families register",
    },
)
