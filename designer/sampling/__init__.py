"""Exact samplers on integer grids, and where their randomness comes from."""
