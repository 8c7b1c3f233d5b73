"""Exact arithmetic: rationals, balls, integer forms and points."""
