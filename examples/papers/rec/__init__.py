"""Rows of the paper on per-record zero-concentrated privacy (Seeman, Sexton, Pujol and Machanavajjhala)."""
