"""Synthetic histograms for many queries: MWEM, SmallDB, and the preprocessing of their queries."""
