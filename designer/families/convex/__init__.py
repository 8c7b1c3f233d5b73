"""Convex programs stated in CVXPY: what every one of them can do, whatever it designs."""
