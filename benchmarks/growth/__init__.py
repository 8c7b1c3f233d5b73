"""How designs grow with the size of what is asked: ``python -m benchmarks.growth``."""
