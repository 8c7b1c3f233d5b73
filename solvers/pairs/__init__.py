"""Pairs of very many points: trees that settle most of them by bounds on whole groups."""
