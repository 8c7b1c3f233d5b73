"""Integer lattices: kernels, short vectors, chains, tables with given margins."""
