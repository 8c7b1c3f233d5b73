"""A second verifier of specs and releases: one file, standalone.py, that imports nothing of the project."""
