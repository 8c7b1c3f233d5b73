"""Averages of functions of the records, without ever writing out the domain."""
