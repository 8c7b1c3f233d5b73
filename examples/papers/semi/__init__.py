"""Rows of the paper on formal privacy guarantees with invariant statistics (Cho and Awan)."""
