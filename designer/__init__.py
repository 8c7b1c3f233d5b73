"""Designs the noise of privacy mechanisms for linear queries, and proves it."""
