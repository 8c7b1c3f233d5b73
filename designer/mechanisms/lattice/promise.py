"""What integer noise on a lattice promises, in words: the theorem, the notion and the arithmetic that guarantees quote.

Proofs: docs/theory/lattice.md, sections 5 and 7.
"""

THEOREMS = {
    "exponential": (
        "P(z) is proportional to exp(-||z||) on the integer kernel of the invariant, which contains every protected change "
        "v, so adding v changes it by at most exp(||v||) <= exp(b) (triangle inequality; INT Theorem 10 for the norm of the "
        "distance itself)."
    ),
    "gaussian": (
        "P(z) is proportional to exp(-||z||^2 / 2) on the integer kernel of the invariant, ||.|| Euclidean, so adding a "
        "kernel vector v has Renyi divergence of every order alpha at most alpha ||v||^2 / 2 <= alpha b^2 / 2 (Poisson "
        "summation; docs/theory/lattice.md)."
    ),
}
NOTIONS = {
    "exponential": (
        "Pure: for every protected change with budget b, every set of outputs has probabilities within a factor exp(b)."
    ),
    "gaussian": (
        "Zero-concentrated: for every protected change with budget b, the Renyi divergence of order alpha is at most alpha "
        "b^2 / 2, that is b^2/2-zCDP for the change."
    ),
}
WHOLE = (
    "The released table is the true table plus integer noise, added in integers; it is checked to keep every invariant "
    "statistic before it is released. Answers to queries are computed from that table alone."
)
