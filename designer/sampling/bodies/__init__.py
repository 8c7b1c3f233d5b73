"""Exact noise with the fall-off of a convex body, on a grid."""
