"""Averages of functions of the records, without ever writing out the domain."""

from designer.statistical_queries.queries import Statistic, StatisticalQueries, Term

__all__ = ["Statistic", "StatisticalQueries", "Term"]
