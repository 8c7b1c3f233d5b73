"""Rows of the paper on integer subspace differential privacy (Dharangutte, Gao, Gong and Yu)."""
