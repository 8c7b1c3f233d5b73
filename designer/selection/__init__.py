"""Choosing one of finitely many candidates by private scores: mechanism, scores and problem file."""
