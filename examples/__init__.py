"""Reproductions and walks through real data. Each module has `reproduce(full)` returning (computed, published);
run one with `python -m`."""
