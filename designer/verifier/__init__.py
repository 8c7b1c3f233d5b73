"""A second verifier of specs and releases: one file, standalone.py, that imports nothing of the project."""

from designer.verifier.process import INSTALLED, NoVerdict, verify

__all__ = ["INSTALLED", "NoVerdict", "verify"]
