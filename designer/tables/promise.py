"""What a table plan promises, in words: the theorem and the notion that guarantees quote. Proofs: docs/theory/tables.md."""

from __future__ import annotations

THEOREM = (
    "A record r moves the exact integer of one group of each query by at most its amount, so discrete Gaussian noise of "
    "variance v costs it amount^2 / (2 v) of zCDP; costs add up over queries and levels (docs/theory/tables.md, 1 and 2; "
    "Seeman et al., Lemmas 4.2 and 5.3)."
)
NOTION = (
    "Per-record zero-concentrated privacy: for all data sets that differ in the record r, the Renyi divergence of order "
    "alpha is at most alpha P(r), for every alpha > 1."
)
FOUND = (
    " But for events of probability delta(r) on one side (delta(r)-approximate, Bun and Steinke 2016, Definition 8.1): that "
    "r alone makes a group be found. delta(r) is a public function, too."
)
OF_ENTITIES = (
    " An entity loses at most (sum of sqrt(P(r)))^2 over its at most {k} rows that count, so at most {k}^2 times the "
    "largest P(r). The stated delta is that of {k} such rows."
)
