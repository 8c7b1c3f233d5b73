"""Every size beyond which the program refuses: the number, its unit, and what more would cost.

A refused size is a number of at least 2 that an `if` compares before it raises, or above which a family is not started: it
stands here, or in `solvers/limits.py`, and nowhere else (`tests/house/test_limits.py`). Tolerances, lengths of what is shown,
chunks, efforts of a search, and ranges of floats and of 64-bit integers are no such sizes and stand where they are used. The
second verifier imports nothing of the program and states its own.
"""

from fractions import Fraction

NO_PROTECTION = 1_000  # a smallest budget, odds of exp(1,000) to 1: a typing error rather than a promise

# Text, files and numbers that are given
MOST_JSON_BYTES = 256 * 2**20  # bytes of a JSON file; beyond, reading takes gigabytes
MOST_ENTRIES_OF_RUNS = 2**20  # entries that the runs of one list stand for; a short file could name terabytes
MOST_ENTRIES_OF_FILE = 8 * MOST_ENTRIES_OF_RUNS  # entries of all runs of a file: a large design has seven or eight lists
MOST_SIGNATURE_BYTES = 2**16  # bytes of a signature file, which has a few hundred; more is no signature
MOST_FIELD_BYTES = 2**31 - 1  # bytes of a field of CSV, which Python's reader counts in 32 bits
MOST_COLUMN_NAME_CHARACTERS = 1000  # characters of the name of a column; a longer one is a table without a header
MOST_NAME_CHARACTERS = 200  # characters of the name of a query, a unit, a data set or a signer, which reports set in one line
MOST_LEDGER_TEXT_CHARACTERS = 500  # characters of a text of a ledger's entry, of which lists show a line each
LONGEST_ABOUT = {"title": 200, "data": 1000, "period": 200, "publisher": 200, "contact": 500, "record": 500}  # characters
MOST_UNIT_CHARACTERS = 80  # characters of a unit of measurement, which stands beside numbers in tables
MOST_QUERY_NAME_CHARACTERS = 1000  # characters of the name of a query that a unit is stated for
MOST_STATED_UNITS = 10_000  # queries that units are stated for one by one; "all" states one for the rest
MOST_DERIVED_ROWS = 1000  # rows of a table of ratios, each with an interval from draws of the noise: 10 ms each
MOST_READ_RECORDS = 10_000  # records of a count whose best estimates are sought: some seconds, in proportion
MOST_READ_ABSOLUTE = 100  # the same for absolute errors, a linear program of the square of it: a second
MOST_READ_IN_CELLS = 2_000  # records of several counts whose best estimates are sought; beyond, floats lose the rare ones
MOST_READ_LOSS = 16  # records for each of several counts, times epsilon; beyond, estimates gain less than an eighth
MOST_COMBINED_COLUMNS = 12  # columns of a file that are added up or multiplied for one
MOST_TYPED = 1000  # combinations of values typed at a prompt, which a template writes out; more belong in a table
LARGEST_NUMBER = Fraction(2) ** 1000  # a number that is given: its square root, and what is a little larger, are floats
MOST_DENOMINATOR_DIGITS = 400  # digits of a denominator; specs hold no longer ones
LARGEST_WEIGHT = 1e100  # weight of a query, and one over the lightest; beyond, losses leave the floats
LARGEST_FUNCTION_VALUE = 1e100  # size of a number of a function of records; beyond, squares leave the floats
LARGEST_LIPSCHITZ_CONSTANT = 1e100  # Lipschitz constant of queries for synthetic data; beyond, squares leave the floats
LARGEST_STEP_EXPONENT = 400  # exponent of a query's step, either way; beyond, squares of answers to 2^53 records are no floats
LARGEST_PUBLISHED_COUNT = 2**53  # published count; beyond, floats do not tell whole numbers apart
LARGEST_DEVICE_DENOMINATOR = 2**53  # denominator of an exported channel; beyond, JavaScript does not tell whole numbers apart

# Elements, domains and relations
MOST_VALUES_OF_ATTRIBUTE = 10**7  # values of one attribute, each of which is kept as a text
MOST_NAMED_ELEMENTS = 2**24  # elements of a universe, each of which is kept with its name
MOST_DENSE_ENTRIES = 2**31  # entries of a workload's matrix, of 8 bytes: 16 GB
MOST_EXPANDED_ENTRIES = 2**28  # entries that described rows are written out to: 2 GB
MOST_NETWORKX_EDGES = 500_000  # edges handed to networkx, which keeps about 500 bytes for each
MOST_PRESENCE_ELEMENTS = 10**8  # elements whose records appear or vanish: 0.8 GB a row
MOST_GRAPH_NODES = 10**6  # nodes of a graph; building one of so many takes 0.7 s
DEEPEST_NESTING = 8  # levels of metrics, or policies, in each other; sums of scaled products take five
LARGEST_METRIC_BUDGET = 1e200  # budget between two elements; larger ones are cut there before they are added and scaled
LARGEST_METRIC_FACTOR = 1e90  # factor of a scaled metric; beyond, scaled budgets leave the floats
MOST_ELEMENTS_WITH_DELTA = 40_000  # elements with several budgets under (epsilon, delta): 8 x 10^8 pairs, some minutes a scan
MOST_INVARIANT_ENTRIES = 10**8  # elements, or entries of a published statistic: 0.8 GB a statistic
MOST_LINKED_CELLS = 6_000  # cells of linked tables together, each a column of one dense matrix of sums
LARGEST_STATISTIC_ENTRY = 2**31  # entry of a published statistic; beyond, its product with 2^32 records leaves 64 bits
MOST_BOUNDED_CELLS = 1_500  # cells whose changes are bounded by a linear program each: some minutes
LARGEST_SEARCHED_RANK = 200  # rank of a lattice whose short vectors are listed; beyond, minutes pass and no list is found
MOST_SEARCHED_MULTISETS = 1_000_000  # multisets among which one change is looked for, held at once: 0.06 GB
MOST_TRANSPORTED_RECORDS = 6  # records r moved at once: the cost is the best of r! assignments, each added up in rationals
MOST_ROWS_PER_ENTITY = 1000  # rows of one entity; the loss grows with their square
MOST_DECIMAL_DIGITS = 38  # digits of a decimal column, which DuckDB has
MOST_CROSSED_CELLS = 2**22  # cells of a table written at all combinations of its categories: 30 MB of text
MOST_SHEET_ROWS = 2**20  # rows of a sheet, which Excel has
MOST_SHEET_CHARACTERS = 32_767  # characters of a cell, which Excel has
LARGEST_SHEET_NUMBER = 10**15  # whole number of a cell; beyond, Excel keeps no further digits

# Certificates and tradeoff functions
MOST_SIMPLICES = 200_000  # simplices of a norm's unit ball: 4 x 4 tables have 68,000 (3 s), the time grows in proportion
MOST_SIGN_COORDINATES = 16  # coordinates whose 2^R signs are listed as corners or facets
MOST_FACET_ENTRIES = 2**27  # entries of the facets of all bundles, written out: 1 GiB
MOST_COMPARED_PAIRS = 1e12  # pairs compared for the largest ratio, 5 x 10^7 a second: some hours
MOST_AGREEING_CELLS = 20_000  # cells of tables that are made to agree, all unknowns of one quadratic program
LARGEST_GROUP = 100  # records of a group under (epsilon, delta), delta > 0: corners take 4 s, growing with the cube
MOST_LOSSES = 4097  # sizes of a loss of one mechanism, all of which enter every composition
LARGEST_PURE_GROUP = 4096  # records of a group under pure epsilon, whose corners are known: a second for a thousand

# Designs
MOST_CONSISTENT_ANSWERS = 2000  # answers that agree by least squares: seconds of a decomposition, growing with the cube
MOST_CONSISTENT_ENTRIES = 2**25  # entries of their queries, written out: 256 MB
MOST_AUTO_ELEMENTS = 5000  # elements for which "auto" starts families that scan all pairs often; a scan of more takes a second
MOST_LISTED_NUMBERS = 50_000_000  # numbers of pairs times queries that splitting a budget writes out: 0.4 GB
MOST_JOINT_UNKNOWNS = 4000  # queries times elements fitted together: a minute or two; more than in proportion beyond
MOST_TREE_ENTRIES = 2**25  # entries of queries of trees and of strategies of many cells, and of their matrices: 256 MB each
MOST_LINE_RANGES = 2**21  # ranges that are sums of nodes of a tree over a line, 2.2 kB each: 5 GB
MOST_NESTED_ENTRIES = 2**27  # entries of nested queries and of their counts, compressed: 2 GB
MOST_HULL_DIMENSIONS = 12  # dimensions of a hull of changes; its facets grow with a power of the dimension
MOST_HULL_PAIRS = 400_000  # pairs of elements whose changes are listed for hulls and bundles
MOST_BUNDLED_DIMENSIONS = 48  # dimensions whose bundles are sought, by merging every two of them
MOST_BUNDLE_COORDINATES = 6  # coordinates in one hull of a bundle, of which a design has many
MOST_CAPPED_DIMENSIONS = 128  # dimensions of capped l1 noise; beyond, floats leave too many draws to ball arithmetic
MOST_BALL_DIMENSIONS = 1_000  # dimensions of a ball that is drawn from: 800 take ten seconds, growing with the cube
MOST_STRATEGY_PAIRS = 40_000  # pairs of elements whose changes a search for strategies lists
MOST_STRATEGY_ELEMENTS = 512  # elements of a search for strategies, each step of which takes the cube of it
MOST_STRATEGY_UNIT_ELEMENTS = 1024  # the same where records appear or vanish: 16 s of processor; 2,048 take minutes and 1.5 GB
MOST_REPAIR_PAIRS = 10**8  # pairs of elements scanned for the least budgets between atoms: three to six seconds
MOST_REPAIR_NUMBERS = 5 * 10**7  # numbers of changes of several records that are written out: 0.4 GB
LARGEST_STAIRCASE_BUDGET = 300.0  # nats of a budget: the program holds e^budget, and products of two of them, as floats
MOST_STAIRCASE_DIMENSIONS = 4  # dimensions of a staircase, whose table grows with that power
MOST_STAIRCASE_STEPS = 800  # protected differences on the lattice, both signs, each a row of the program at every place
MOST_STAIRCASE_PEAKS = 100_000  # places of a staircase with levels of their own, all of which a file lists
LARGEST_STAIRCASE_COST = 2**44  # budget of a level, in units; a larger unit serves
LARGEST_STAIRCASE_BASIS = 2**45  # entry of a basis, in steps of the grid; beyond, noise leaves 64 bits
LARGEST_STAIRCASE_COORDINATE = 10**6  # coordinate of a peak or a difference, in the basis; longer rows or units serve
MOST_PROJECTED_ELEMENTS = 6_000  # elements whose noise is projected: two dense matrices of 0.3 GB
LARGEST_MULTIPLE = 2**52  # steps of a measured entry; beyond, sums with noise are not exact in float64 and int64
LARGEST_COUNT_RATE = 300.0  # rate of the noise of a count, which is then other than 0 with a probability below 1e-130
MOST_DRAWN_NUMBERS = 2**27  # numbers that a mean absolute error is drawn from: 1 GiB
LARGEST_GRID_EXPONENT = 2000  # exponent of a step of a grid, either way; floats have steps of up to 1074

# Samplers
LARGEST_GAUSSIAN_VARIANCE = 4**55  # variance of discrete Gaussian noise, in steps: beyond 2^63 lies a mass below exp(-2^14)
LARGEST_CENTRED_VARIANCE = 2**80  # variance of a coefficient that is drawn around a centre, in steps; other units serve
LARGEST_TAIL_SCALE = 2**32  # scale of noise with heavy tails, in steps; a coarser grid serves
LARGEST_TAIL_POWER = 64  # power of noise with heavy tails; beyond, it is Gaussian noise
LARGEST_STAIR = 2**50  # width and top of a stair, in steps; a coarser grid serves
MOST_COUNT_DIFFERENCES = 2**21  # protected pairs times counts that noise of counts in closed form is for; some seconds
MOST_TRUNCATED = 2**15  # values on either side of 0 that noise under (epsilon, delta) takes; a table of them is drawn from
LARGEST_STAIR_UNIT = Fraction(2**10)  # nats of a step of a stair; beyond, noise is always 0
LARGEST_NORMAL_DEVIATION = Fraction(2) ** 55  # deviation of rounded normal noise, in steps: 64 of them fit 61 bits
MOST_GAUSSIAN_CELLS = 2**20  # cells of a table with Gaussian noise that keeps its margins, drawn as one vector
LARGEST_GAUSSIAN_SPREAD = 2**108  # variance times cells cubed: 64 deviations of a sum, over a denominator, fit 62 bits
MOST_CHAIN_STEPS = 100_000  # steps in which coupled Markov chains meet, and pairs of them; each draw takes so many steps
MOST_CHAIN_WORK = 12_000_000  # steps of single chains that an assessment takes, at every load: about ten seconds
MOST_LATTICE_RANK = 1000  # rank of a lattice whose basis is reduced: a minute
MOST_LISTED_LATTICE_ELEMENTS = 400  # elements of a lattice whose short vectors a limit lists; no work ends that: 5 s

# Products and marginals
MOST_SUBSET_PAIRS = 2**25  # pairs of a requested marginal and a subset of it; all of up to 3 of 100 attributes: 1.3 million
MOST_MARGINAL_CELLS = 2**28  # cells of one marginal: 2 GB; tables and the whole domain are not bounded
MOST_ATTRIBUTES = 2**15 - 1  # attributes of a domain, whose places are 16-bit numbers
MOST_WHOLE_TABLE_CELLS = 2**18  # combinations of all attributes asked about, a histogram over which whole tables are fitted to
MOST_HISTOGRAM_CELLS = 2**20  # combinations of values that are counted one by one
MOST_RESIDUALS = 1_000_000  # residuals of a structured design, each with a variance that is optimised
MOST_TERM_ANSWERS = 2**26  # answers of a term that are written out together: 512 MB
MOST_MEASURED = 2**25  # coordinates that one release draws noise for: 256 MB
LARGEST_MEASURED_ENTRY = 2**24  # entry of the rows that measure one attribute: squared lengths of columns are 64-bit integers
MOST_MEASURED_ROWS = 2**12  # rows that measure one attribute: squared lengths of columns are 64-bit integers
MOST_STRUCTURED_VALUES = 2048  # values of an attribute whose queries have a structure: its Gram matrix is written out
MOST_ROW_ENTRIES = 2**24  # entries of rows that are written out at once: 128 MB
MOST_TERMS = 200_000  # terms of a structured workload
MOST_WRITTEN_ENTRIES = 2**26  # entries of a structured workload that is written out: 512 MB

# Own reports
MOST_REPORTED = 4000  # values whose own reports are designed; all budgets between them are held at once
MOST_DESCRIBED = 8_000_000  # probabilities of a channel that is described: 64 MB, certified in half a minute
MOST_DESCRIBED_BITS = 52  # bits of the denominator of a channel that is described; beyond, floats do not hold its numerators
MOST_CHANNEL_PEAKS = 1_000_000  # peaks by which a channel is described
MOST_EXACT_DECISIONS = 200_000  # entries that floats do not settle, each of which is decided in rationals
MOST_CHANNEL_ENTRIES = 1_000_000  # probabilities of a channel written out: a spec of some megabytes, certified in seconds
MOST_CHANNEL_BITS = 512  # bits of the denominator of a channel that is written out
MOST_REPORTED_SUBSETS = 5000  # subsets of values that are reports
MOST_ESTIMATED_VALUES = 200  # values of a channel searched for with estimates: 20 s for 25, a minute for 200
MOST_PLANAR_POINTS = 1_000_000  # points of a lattice in the plane that carry the tail of a report

# Averages, odds ratios, choices and synthetic data
MOST_IMAGES = 2000  # different answers over one group of attributes; the closure of M of them takes M^3 steps: 8 s
MOST_AVERAGE_CELLS = 10**7  # combinations of the attributes of a group, and cells times statistics: 80 MB
MOST_AVERAGE_TARGETS = 4000  # statistics times images fitted together in a minute or two
MOST_TESTED_RECORDS = 100_000  # records of a 2 x 2 table, whose laws are exact sums over all of them
MOST_CANDIDATES = 2**20  # candidates of a choice; an exact exponential takes 10 microseconds: 10 s
MOST_TABULATED_ENTRIES = 2_000_000  # protected pairs of databases, and entries of a table of scores: a few seconds
MOST_ROUNDS = 10_000  # rounds of multiplicative weights
MOST_CLOSURE_ELEMENTS = 2500  # elements N of the least Lipschitz constant: N^3 steps, 0.5 s at 741, 20 s here
MOST_SMALL_DATABASES = 50_000  # distinct answers of small databases, a choice among which takes half a second
MOST_SMALL_DATABASE_SUMS = 1_000_000  # candidates of one size times columns, held at once
MOST_SMALL_DATABASE_STEPS = 40_000_000  # the same over all sizes: 4 s, and 600 MB to find the way back

# Plans over tables
MOST_PLAN_QUERIES = 1000  # queries of a plan, each a scan or a part of one
MOST_LABEL_COMBINATIONS = 10**6  # combinations of labels of several key columns that are asked about
MOST_HIERARCHY_AXES = 12  # axes of a hierarchy, whose intervals multiply
MOST_MEASURE_STEPS = 2**52  # steps of a measure; below, floats hold every half, so that floor(v + 1/2) is correctly rounded
MOST_QUANTILE_CANDIDATES = 256  # candidates of a quantile; the exact certificate takes 0.5 s for 100, 1.4 s for 256
LARGEST_QUANTILE_RHO = 10**6  # rho of the choice of a quantile, which hides nothing any more
LARGEST_POLICY_EXPONENT = 128  # power of two of a policy's parameter, either way; beyond, engines over- or underflow

# Accounts, exchange, programs and pictures
MOST_COMPOSED_PAIRS = 20_000  # pairs of elements, or changes, whose costs are composed one by one: a second
MOST_COMPOSED_CELLS = 10**6  # cells of a domain written out to be joined with elements
MOST_EXPORTED_ENTRIES = 1_000_000  # entries of matrix and reconstruction that an exported program writes out
MOST_STATED_RATIOS = 2_000_000  # inequalities of a channel that CVXPY is handed
MOST_SEMIDEFINITE_COORDINATES = 40  # coordinates of a semidefinite program: minutes beyond; ours takes seconds
MOST_PROGRAM_ENTRIES = 2_000_000  # entries of the matrices of a program for marginals
MOST_PROGRAM_WEIGHTS = 250_000  # groups times groups whose weights are unknowns when every standard error is asked for
MOST_DRAWN_ELEMENTS = 60  # elements of a drawn graph: a layout of so many takes two seconds, and more are a smear
MOST_EXPLORED_POINTS = 100  # budgets at which an explorer shows a problem, each a design or a scaled one
MOST_AUDIT_SECONDS = 1e7  # seconds that a deep audit may be asked to take: four months
