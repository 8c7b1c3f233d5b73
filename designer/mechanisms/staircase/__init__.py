"""Noise of least expected loss on a lattice of few dimensions: its law, its certificate and its release."""
