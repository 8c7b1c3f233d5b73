"""The private test of the odds ratio of a 2 x 2 table with published margins."""
