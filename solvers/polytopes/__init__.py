"""Convex hulls, facets and triangulations, proven in rationals."""
