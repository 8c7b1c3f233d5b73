"""This package beside its peers: their published numbers, or numbers that their own code gave, and ours for the same problem.

`python -m benchmarks.peers --page docs/benchmarks.md` computes ours anew and writes the page.
"""
