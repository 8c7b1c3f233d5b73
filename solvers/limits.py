"""Every size beyond which a solver refuses: number, unit, and what more would cost. The rule: `designer/limits.py`."""

MOST_INTERIOR_BYTES = 1.5e9  # bytes of an interior-point step over a channel
MOST_NUMERATOR_BITS = 53  # bits of numerators; beyond, floats do not hold them
LARGEST_COORDINATE = 1e150  # coordinate of a point; beyond, a product of two overflows
LARGEST_SUM = 2.0**53  # sum of counts that agree; beyond, floats do not tell whole numbers apart
LARGEST_TOTAL = 2.0**52  # total of a table; beyond, sums of two are not exact floats
MOST_MULTISETS = 5_000_000  # multisets of columns held at a time: about 0.3 GB
MOST_EQUAL_PAIRS = 50_000_000  # pairs of equal fingerprints looked at: about 10 s
MOST_PARTIAL_VECTORS = 1_000_000  # partial vectors of one level that an enumeration holds
MOST_TABLE_PLACES = 3_000_000  # places of a table of a law: 24 MB, and a second or two for a dozen steps
MOST_WORKING_PLACES = 500_000  # places of the box in which a program counts what lies outside its domain
MOST_TRANSPORT_STEPS = 200_000  # steps of a whole program; 10 x 10 tables take about 1,000
MOST_CUBE_DIMENSIONS = 14  # dimensions in which the 2^s sign vectors are listed
