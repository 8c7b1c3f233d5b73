"""Rows of the paper on metric privacy for linear queries (Kamalaruban, Perrier, Asghar and Kaafar)."""
