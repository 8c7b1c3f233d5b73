"""Convex programs of one kind each, with proven bounds."""
