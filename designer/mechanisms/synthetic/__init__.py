"""Synthetic histograms for many queries: MWEM, SmallDB and the preprocessing that fits their queries to a metric."""
