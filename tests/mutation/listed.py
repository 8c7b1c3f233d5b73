"""All mutants, room by room."""

from __future__ import annotations

from tests.mutation import (
    accounts,
    certified,
    composition,
    documents,
    exchanged,
    families,
    front_door,
    frozen,
    handed_on,
    intervals,
    lattices,
    ledgers,
    mechanisms,
    pages,
    promises,
    relations,
    released,
    sampling,
    solvers,
    tables,
    verified,
)

ROOMS = (
    sampling,
    certified,
    released,
    promises,
    accounts,
    relations,
    lattices,
    tables,
    mechanisms,
    pages,
    composition,
    ledgers,
    frozen,
    documents,
    exchanged,
    front_door,
    intervals,
    handed_on,
    solvers,
    families,
    verified,
)
MUTANTS = tuple(mutant for room in ROOMS for mutant in room.MUTANTS)
