"""Choosing one of finitely many candidates by private scores: the exponential mechanism and permute-and-flip."""

from designer.selection.mechanism import Choice, Selection, largest_rate

__all__ = ["Choice", "Selection", "largest_rate"]
