"""Convex programs, convex hulls and lattice problems: numbers in, `Solution` out.
Nothing here knows what the numbers protect."""
