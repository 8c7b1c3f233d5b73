"""Exact integer laws in one dimension: Laplace, Gaussian, Student."""
