"""Structured workloads: Kronecker products of queries of single attributes and unions of them, of any number of queries."""
