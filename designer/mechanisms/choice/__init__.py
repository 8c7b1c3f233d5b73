"""Choosing one of finitely many candidates by private scores: the exponential mechanism and permute-and-flip."""
