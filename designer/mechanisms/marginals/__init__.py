"""Marginals of a product domain of any size, with a budget for each attribute: asked, planned, certified, released,
put together."""
