"""Several releases together: what they cost, as numbers and as a statement for every change."""
