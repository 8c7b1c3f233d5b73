"""Additive mechanisms: integer noise on a grid around the answers of a fixed matrix, certified, released and bounded."""
