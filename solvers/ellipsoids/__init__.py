"""Ellipsoid programs: the least trace or maximum of a covariance under norm constraints, with their duals."""
