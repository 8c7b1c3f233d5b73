"""Starting files: a commented problem file of each kind, made of the names of the columns of a file of records.

What the records hold is confidential and never looked at, so everything that would tell of it (values of categories, bounds,
numbers of records) is left to be filled in from public knowledge: places that begin with `FILL IN`, each refused by its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.printing import printed
from designer.files.headers import FileColumn
from designer.files.problem.kind import DEFAULT
from designer.files.problem.unfilled import MARK, key

HEAD = """\
# A starting file for dp-designer. It was made of the names of the columns alone: no row of the data was read, and nothing here
# may be chosen by looking at the rows. Whatever begins with "{mark}" is yours to say, from public knowledge such as a code
# book; `dp-designer design` names the places that are left. Lines that begin with # are comments; delete what you do not need.
{kind}title = {title}
{unlisted}
# What readers of a release are told beside it; nothing proves it.
# [about]
# data = "register of residents"
# period = 2024
# publisher = "Office of Statistics"
# record = "one resident"
"""
UNLISTED = """
# What happens to a record with a value that is not listed, or an empty cell: "refuse" releases nothing, and `dp-designer check`
# tells the holder of the data which they are; "count as others" needs the value "(all others)" in every list; "drop" leaves the
# record out, and needs a relation in which a record may appear or disappear.
# unlisted = "refuse"
"""
DOMAIN = """
# What a record can be: the public values of each column, those of the code book and not those that the file happens to hold
# (a value that only some record has would tell of it). Every combination is a cell. Whole numbers from 0 may be given by how
# many there are: age = 120. Group numbers such as incomes into ranges first, and delete the columns that are not asked about.
[domain]
{values}
"""
EVERYBODY = """
# What must be hidden: a record may change in any way, at the cost of epsilon. With 1, everything that is released is at most
# 2.7 times as likely with one value of a record as with any other; with 0.1, 1.1 times. Others: docs/guides/problem_files.md.
[relation]
metric = "uniform"
epsilon = {epsilon}
"""
BY_ATTRIBUTE = """
# What must be hidden: a budget for each attribute; a record that changes in several costs their sum. inf: not protected.
[relation]
metric = "hamming"
budgets = {{ {budgets} }}
"""
RECORDS = """
# The number of records, which is published with this.
[problem]
records = {records}
"""
TARGETS = """
# How accurate the answers must be, for all alike or by name; `dp-designer budget` finds the least budget for it.
# [targets]
# standard_error = 50
"""
BUDGET = "a positive number, such as 0.5"


def left(what: str) -> str:
    """A place to be filled in, in TOML."""
    return json.dumps(f"{MARK}: {what}", ensure_ascii=False)


def names_of(columns: Sequence[FileColumn]) -> str:
    """Names in a list of TOML, without its brackets."""
    return ", ".join(json.dumps(column.name, ensure_ascii=False) for column in columns)


@dataclass(frozen=True)
class Start:
    """What a starting file is made of: a title, the columns, and which of them hold numbers."""

    title: str
    columns: tuple[FileColumn, ...]
    numbers: frozenset[str]

    @property
    def categories(self) -> tuple[FileColumn, ...]:
        """The columns that are not known to hold numbers; all, where every one does."""
        return tuple(column for column in self.columns if column.name not in self.numbers) or self.columns

    @property
    def domain(self) -> str:
        """[domain] with a place for the values of each column."""
        values = [
            f"{key(column.name)} = [{left(f'the public values of {column.name}')}]"
            + (f"  # {column.type}" if column.type else "")
            for column in self.categories
        ]
        rest = [
            f"# {printed(column.name)} holds numbers: group them into ranges to make an attribute of them"
            for column in self.columns
            if column.name in self.numbers
        ]
        return DOMAIN.format(values="\n".join([*values, *rest]))

    @property
    def tables(self) -> str:
        """A table for each column."""
        return ", ".join(f"[{names_of([column])}]" for column in self.categories)

    @property
    def budgets(self) -> str:
        """[relation] with a place for the budget of each column."""
        places = (f"{key(column.name)} = {left(BUDGET)}" for column in self.categories)
        return BY_ATTRIBUTE.format(budgets=", ".join(places))


EVERYBODY_LEFT = EVERYBODY.format(epsilon=left(BUDGET))
RECORDS_LEFT = RECORDS.format(records=left("a whole number"))


def _linear(start: Start) -> str:
    return f"""{start.domain}
# What is asked: one table for each column; ["a", "b"] is the table of both. Instead of marginals: builder = "identity" (every
# cell), or predicates = {{ "young women" = {{ sex = "F", age = [0, 1] }} }}.
[workload]
marginals = [{start.tables}]
{EVERYBODY_LEFT}
# Where margins are published exactly beside this, [invariant] keeps them, and [relation] has epsilon alone: a metric there
# would cost epsilon for every record that moves. For several tables of the same records: "Published margins" in
# docs/guides/problem_files.md.
# [invariant]
# margins = [["a"], ["b"]]
{TARGETS}
# The best family of mechanisms is chosen; `dp-designer compare` shows all that apply.
[design]
family = "auto"
"""


def _marginals(start: Start) -> str:
    return f"""{start.domain}
# What is asked: one table for each column; ["a", "b"] is the table of both, [] the total. up_to = 2: all of one or two.
[workload]
tables = [{start.tables}]
{start.budgets}
# A table over attributes that all have the budget inf is published exactly. To publish the margins of a table and protect its
# cells, use the kind linear_queries: "Published margins" in docs/guides/problem_files.md.
{TARGETS}"""


def _table_plan(start: Start) -> str:
    groups = "".join(_group(column) for column in start.categories)
    sums = "".join(_sum(column) for column in start.columns if column.name in start.numbers)
    return f"""
# Counts and sums of records by group, run where the records live. The groups are public; others = true adds one for all records
# whose labels are not listed. Ranks: ask = "quantile"; averages: ask = "average"; every key is in docs/guides/problem_files.md.
# The table of two columns: columns = ["a", "b"], keys = {{ a = [..], b = [..] }}. A standard error may be asked for in place of
# each variance: [targets], standard_error = {{ "records by a" = 50 }}.
{groups}{sums}"""


def _group(column: FileColumn) -> str:
    return f"""
[groups.{key(column.name)}]
columns = [{names_of([column])}]
keys = [{left(f"the public labels of {column.name}")}]
others = true

[queries.{key(f"records by {column.name}")}]
ask = "count"
groups = {names_of([column])}
variance = {left("the variance of the noise: 100 for a standard error of 10")}
"""


def _sum(column: FileColumn) -> str:
    return f"""
# Values are rounded to multiples of step and cut to public bounds; lower must not be above 0.
[measures.{key(column.name)}]
column = {names_of([column])}
step = 1
lower = 0
upper = {left(f"a public bound of {column.name}")}

[queries.{key(f"sum of {column.name}")}]
ask = "sum"
measure = {names_of([column])}
variance = {left("the variance of the noise, in squares of the unit of the column")}
"""


def _selection(start: Start) -> str:
    first = names_of(start.categories[:1])
    return f"""{start.domain}
# What there is to choose from: the cells of this table, by their names.
[workload]
marginals = [[{first}]]
{EVERYBODY_LEFT}
# The cell with the most records is chosen, or one nearly as large. Other scores: "absolute_error" and "closeness" (to targets),
# "largest_error", "tabulated".
[selection]
score = "linear"
law = "permute_and_flip"
"""


def _mwem(start: Start) -> str:
    return f"""{_asked(start)}
# Rounds of a choice and a measurement; left out, as many as make the proven bound least.
[mwem]
selection = "permute_and_flip"
output = "replay"
"""


def _small_db(start: Start) -> str:
    return f"""{_asked(start)}
# One of all histograms of so few records is chosen: few cells and few queries only.
[small_db]
size = {left("the number of synthetic records, such as 10")}
selection = "permute_and_flip"

# The queries are rounded to multiples of 2^exponent; coarser ones make fewer histograms that differ.
[preprocessing]
exponent = 0
"""


def _asked(start: Start) -> str:
    return f"""{start.domain}
# What the synthetic records should answer well: one table for each column; ["a", "b"] is the table of both.
[workload]
marginals = [{start.tables}]
{EVERYBODY_LEFT}{RECORDS_LEFT}"""


def _averages(start: Start) -> str:
    asked = "\n".join(
        f"{key(f'mean of {column.name}')} = {{ of = {names_of([column])}, values = {left('a number for each value')} }}"
        for column in start.categories
    )
    return f"""{start.domain}
# Averages over all records: of = the column; values = "number" where its values are numbers themselves, otherwise a number for
# each value: {{ F = 1, M = 0 }} is the share of F. Functions of several columns: docs/guides/problem_files.md.
[statistics]
{asked}
{start.budgets}{RECORDS_LEFT}
# Answers with a bias where it pays; "auto" for the best family without.
[design]
family = "separable"
"""


def _odds_ratio(start: Start) -> str:
    two = [printed(column.name) for column in start.categories[:2]]
    about = f" of {' and '.join(two)}" if len(two) == 2 else ""
    return f"""
# A 2x2 table{about}: rows are the two values of one column, columns those of the other.
# Its margins are PUBLISHED EXACTLY with the test; use this only where they are public already.
[margins]
rows = [{left("records in the first row")}, {left("records in the second row")}]
columns = [{left("records in the first column")}, {left("records in the second column")}]

# What is promised for a change of the cells that keeps the margins. Others: "gaussian" (mu), "laplace", "piecewise_linear".
[promise]
kind = "epsilon_delta"
epsilon = {left(BUDGET)}
delta = 0
"""


def _own_report(start: Start) -> str:
    return f"""{start.domain}{start.budgets}
# Each person draws a report alone. What it costs: "zero_one", 1 where report and value differ; "distance" and "squared", by the
# budgets between them; or a file of a matrix, a row for each cell. prior: "equal", "worst", or a file of probabilities.
[report]
loss = "distance"
prior = "equal"
"""


STARTS: Mapping[str, Callable[[Start], str]] = {
    DEFAULT: _linear,
    "marginals": _marginals,
    "table_plan": _table_plan,
    "selection": _selection,
    "mwem": _mwem,
    "small_db": _small_db,
    "statistical_queries": _averages,
    "odds_ratio_test": _odds_ratio,
    "own_report": _own_report,
}


def starting_file(
    columns: Sequence[FileColumn], title: str, kind: str = DEFAULT, numbers: Sequence[str] = (), only: Sequence[str] = ()
) -> str:
    """The text of a starting file of a kind. numbers: columns that hold numbers, beside those that the file says; only: those
    that are asked about, all if none are named."""
    if kind not in STARTS:
        raise InvalidProblem(f"--kind: {shown(kind)} is unknown; {meant(kind, STARTS)}use one of {list(STARTS)}.", value=kind)
    known = [column.name for column in columns]
    for option, asked in (("--number", numbers), ("--column", only)):
        for name in asked:
            if name not in known:
                raise InvalidProblem(
                    f"{option}: {shown(name)} is no column; {meant(name, known)}name one of the file's columns.", value=name
                )
    for name in numbers:
        if only and name not in only:
            raise InvalidProblem(
                f"--number: {shown(name)} is not among the columns to ask about; name it with --column, too.", value=name
            )
    kept = tuple(column for column in columns if not only or column.name in only)
    found = frozenset(column.name for column in kept if column.is_number or column.name in numbers)
    named = "" if kind == DEFAULT else f"kind = {json.dumps(kind)}\n"
    rule = "" if kind == "odds_ratio_test" else UNLISTED
    head = HEAD.format(mark=MARK, kind=named, title=json.dumps(printed(title), ensure_ascii=False), unlisted=rule)
    return head + STARTS[kind](Start(title, kept, found))
