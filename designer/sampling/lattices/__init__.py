"""Exact noise on integer lattices, and the chain where none is feasible."""
