"""A mutation run of the tests: breaks made on purpose, and which test sees each (`python -m tests.mutation`)."""
