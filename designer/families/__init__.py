"""The families of mechanisms, one file each: formulate the program, hand it to a solver, recover the mechanism."""

from designer.families.family import Family
from designer.families.listed import FAMILIES, family_named, forget, known_families, register

__all__ = ["FAMILIES", "Family", "family_named", "forget", "known_families", "register"]
