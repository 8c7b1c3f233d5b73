"""How time and memory grow with size, case by case; `python -m benchmarks.growth` runs them.

A million elements: million. Every family under every kind of relation: each_family. Hulls, biased designs, matrices and
strategies at any size: knorm, matrices, strategies, bundles. Graphs: graphs. Invariants without lists, and linked tables:
invariants. Lattices of known structure: structured_lattices. Tables of records: record_tables. Products of queries:
structured_workloads. Marginals: marginals. Nested counts: nested_counts. Whole numbers: whole_numbers. Releases as folders of
files: tables_out.
"""
