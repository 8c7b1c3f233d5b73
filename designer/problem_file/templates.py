"""Starting files: a commented problem file of each kind, made of the names of the columns of a file of records.

What the records hold is confidential and never looked at, so everything that would tell of it (values of categories, bounds,
numbers of records) is left to be filled in from public knowledge: places that begin with `FILL IN`, each refused by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from designer.base.checks import meant, shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.files.data_files import FileColumn
from designer.limits import MOST_TYPED
from designer.problem.reading import UNSAID, Reading
from designer.problem_file.forms import DEFAULT
from designer.problem_file.sections import MARK, key

HEAD = """\
# A starting file for dp-designer. It was made of the {source}: no row of the data was read, and nothing here
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
# many there are: age = 120. Numbers and days in groups: age = {{ bins = [0, 15, 25, 65] }}, and
# day = {{ bins = "year", values = [2025, 2026] }}. Delete the columns that are not asked about.
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
SAID_BY_DICTIONARY = """
# The labels and missing codes below are a proposal, copied from the dictionary of the file. Somebody may have edited it after
# looking at the records. So decide of each line whether it was public before: the codes (a code that only some record has tells
# of it; one that no record has must stay), the labels, and which codes are missing. A code that the file declares missing is a
# category here; to count it as an empty cell, write it into `missing = [..]` beside `labels`, and not among the values.
"""
SHEET = """
[records]
sheet = {sheet}
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
            f"{key(column.name)} = {_proposed(column)}"
            + (f"  # {told}" if (told := printed(column.label or column.type)) else "")
            for column in self.categories
        ]
        rest = [
            f"# {printed(column.name)} holds numbers: {{ bins = [..] }} makes an attribute of them"
            for column in self.columns
            if column.name in self.numbers
        ]
        missing = [
            f"# The file declares missing codes of {printed(c.name)}: {_declared(c)}" for c in self.categories if c.missing
        ]
        return self.proposal + DOMAIN.format(values="\n".join([*values, *missing, *rest]))

    @property
    def proposal(self) -> str:
        """What an office has to decide about what a dictionary says; nothing where it says nothing."""
        return SAID_BY_DICTIONARY if any(column.labels or column.missing for column in self.columns) else ""

    @property
    def tables(self) -> str:
        return ", ".join(f"[{names_of([column])}]" for column in self.categories)

    @property
    def budgets(self) -> str:
        """[relation] with a place for the budget of each column."""
        places = (f"{key(column.name)} = {left(BUDGET)}" for column in self.categories)
        return BY_ATTRIBUTE.format(budgets=", ".join(places))


def _proposed(column: FileColumn) -> str:
    """The values of an attribute: what a dictionary lists, or a place for them."""
    if not column.labels:
        return f"[{left(f'the public values of {column.name}')}]"
    return f"{{ values = [{', '.join(map(_quoted, column.labels))}], {_labels(column)} }}".replace(",  }", " }")


def _labels(column: FileColumn) -> str:
    """The labels of a dictionary; those that several codes have with the code behind them, since each is of one code."""
    texts = [printed(text) for text in column.labels.values()]
    named = {
        code: text if texts.count(text) == 1 else f"{text} ({code})"
        for code, text in zip(column.labels, texts, strict=True)
        if text
    }
    inner = ", ".join(f"{_quoted(code)} = {_quoted(text)}" for code, text in named.items())
    return f"labels = {{ {inner} }}" if named else ""


def _declared(column: FileColumn) -> str:
    """The missing codes of a dictionary, as TOML writes them."""
    written = (f"[{own[0]}, {own[1]}]" if isinstance(own, tuple) else _quoted(own) for own in column.missing)
    return f"[{', '.join(written)}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


EVERYBODY_LEFT = EVERYBODY.format(epsilon=left(BUDGET))
RECORDS_LEFT = RECORDS.format(records=left("a whole number"))


def _linear(start: Start) -> str:
    return f"""{start.domain}
# What is asked: one table for each column; ["a", "b"] is the table of both. Instead of marginals: builder = "identity" (every
# cell), or predicates = {{ "young women" = {{ sex = "F", age = [0, 1] }} }}. Regions and their counties: "Nested
# units" in docs/guides/problem_files.md.
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
    groups = start.proposal + "".join(_group(column) for column in start.categories)
    sums = "".join(_sum(column) for column in start.columns if column.name in start.numbers)
    return f"""
# Counts and sums of records by group, run where the records live. The groups are public; others = true adds one for all records
# whose labels are not listed. Ranks: ask = "quantile"; averages: ask = "average"; every key is in docs/guides/problem_files.md.
# The table of two columns: columns = ["a", "b"], keys = {{ a = [..], b = [..] }}. A standard error may be asked for in place of
# each variance: [targets], standard_error = {{ "records by a" = 50 }}.
{groups}{sums}"""


def _group(column: FileColumn) -> str:
    labels, codes = _labels(column), ", ".join(map(_quoted, column.labels))
    named = f"\n[columns.{key(column.name)}]\n{labels}\n" if labels else ""
    return f"""{named}
[groups.{key(column.name)}]
columns = [{names_of([column])}]
keys = [{codes or left(f"the public labels of {column.name}")}]
others = true

[queries.{key(f"records by {column.name}")}]
ask = "count"
groups = {names_of([column])}
variance = {left("the variance of the noise: 100 for a standard error of 10")}
"""


def _sum(column: FileColumn) -> str:
    missing = f"\n[columns.{key(column.name)}]\nmissing = {_declared(column)}\n" if column.missing else ""
    return f"""{missing}
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
    return f"""{_synthetic(start)}
# Rounds of a choice and a measurement; left out, as many as make the proven bound least.
[mwem]
selection = "permute_and_flip"
output = "replay"
"""


def _small_db(start: Start) -> str:
    return f"""{_synthetic(start)}
# One of all histograms of so few records is chosen: few cells and few queries only.
[small_db]
size = {left("the number of synthetic records, such as 10")}
selection = "permute_and_flip"

# The queries are rounded to multiples of 2^exponent; coarser ones make fewer histograms that differ.
[preprocessing]
exponent = 0
"""


def _synthetic(start: Start) -> str:
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
    columns: Sequence[FileColumn],
    title: str,
    kind: str = DEFAULT,
    numbers: Sequence[str] = (),
    only: Sequence[str] = (),
    reading: Reading = UNSAID,
) -> str:
    """The text of a starting file of a kind. numbers: columns that hold numbers, beside those that the file says; only: those
    that are asked about, all if none are named. reading: how the file is to be read."""
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
    source = "dictionary of the file alone" if any(column.labels for column in kept) else "names of the columns alone"
    head = HEAD.format(
        source=source, mark=MARK, kind=named, title=json.dumps(printed(title), ensure_ascii=False), unlisted=rule
    )
    sheet = SHEET.format(sheet=_quoted(reading.sheet)) if reading.sheet else ""
    return head + sheet + STARTS[kind](Start(title, kept, found))


# Seven questions that end in a problem file: the one table of them, for the terminal, the page and the tests.
#
# A question that earlier answers leave only one answer to is not asked.


Answers = Mapping[str, str]  # by the name of the question: the name of a choice, or what was typed
DELTA = 1e-6
# The epsilon of rho = mu^2 / 2 at that delta, rounded up, for each strength.
AT_DELTA = {"1": "5.222", "0.1": "0.43", "3": "19.23"}
NUMBER = re.compile(r"([^:;]*[^:;\s][^:;]*):\s*(-?[0-9]{1,15})\s+to\s+(-?[0-9]{1,15})\s*")
FROM_ANSWERS = "# From the answers of `dp-designer init --ask`; every other key is in docs/guides/problem_files.md.\n"
SHOWN_COLUMNS = "region: north, east, south"
EXACT = ("margins", "margin")  # answers of what is published exactly


def always(answers: Answers) -> bool:
    """After whatever was answered."""
    return True


@dataclass(frozen=True)
class Option:
    """An answer: its name, its words, and after which answers it is there."""

    name: str
    words: str
    there: Callable[[Answers], bool] = always


@dataclass(frozen=True)
class Question:
    """A question; the first of the choices is the default. typed: the default of a question without choices."""

    name: str
    words: str
    choices: tuple[Option, ...] = ()
    typed: str = ""

    def open_choices(self, answers: Answers) -> tuple[Option, ...]:
        """Those that earlier answers leave."""
        return tuple(choice for choice in self.choices if choice.there(answers))

    def answer(self, given: str, answers: Answers) -> str:
        """What a line means: a number of a choice, its name, or nothing for the default. `InvalidProblem` for anything else."""
        left, words = self.open_choices(answers), given.strip()
        if not self.choices:
            columns_of(words or self.typed)
            return words or self.typed
        for number, choice in enumerate(left, 1):
            if words in (str(number), choice.name) or (not words and number == 1):
                return choice.name
        raise InvalidProblem(f"answer: {shown(words)} is none of 1 to {len(left)}; give one of these numbers.", value=words)


def trusted(answers: Answers) -> bool:
    """Does somebody hold the records?"""
    return answers["holder"] == "organisation"


def one_column(answers: Answers) -> bool:
    """Has a record one value?"""
    return len(columns_of(answers["values"])) == 1


def two_columns(answers: Answers) -> bool:
    """Has a record values in several columns?"""
    return len(columns_of(answers["values"])) > 1


def of_number(answers: Answers) -> bool:
    """Are sums or averages asked for?"""
    return answers["asked"] in ("sum", "average")


def has_number(answers: Answers) -> bool:
    """Has a record a number that can be added up?"""
    return trusted(answers) and bool(_numbers_of(answers["values"]))


QUESTIONS = (
    Question(
        "holder",
        "Who holds the records?",
        (
            Option("organisation", "An organisation that is trusted with them"),
            Option("nobody", "No one: each person sends one noisy report"),
        ),
    ),
    Question(
        "values",
        "Which values can a record have? Give columns and their public values, as in `region: north, east; sex: F, M`; a "
        "range, as in `age: 0-95`, groups, as in `age: 0-95 by 10`; or a number to add up, as in `pay: 0 to 5000`.",
        typed=SHOWN_COLUMNS,
    ),
    Question(
        "asked",
        "What do you want to learn?",
        (
            Option("cells", "The number of records with each value, or combination of values", trusted),
            Option("sum", "The sum of the number, for each value or combination of values", has_number),
            Option("average", "The average of the number, for each value or combination of values", has_number),
            Option("totals", "Running totals, in the order of the values", lambda a: trusted(a) and one_column(a)),
            Option("tables", "One table for each column", lambda a: trusted(a) and two_columns(a)),
            Option("value", "The exact value, with the fewest errors", lambda a: not trusted(a)),
            Option("near", "A nearby value, in the order of the values", lambda a: not trusted(a) and one_column(a)),
        ),
    ),
    Question(
        "public",
        "What is public besides the release?",
        (
            Option("number", "The number of records", lambda a: not of_number(a)),
            Option("nothing", "Nothing, not even the number of records", trusted),
            Option(
                "margins", "The totals of each column, published exactly", lambda a: a["asked"] == "cells" and two_columns(a)
            ),
            Option(
                "margin",
                "The totals of the first column, published exactly",
                lambda a: a["asked"] == "cells" and two_columns(a),
            ),
        ),
    ),
    Question(
        "protected",
        "Which values must be hard to distinguish?",
        (
            Option("any", "Any value of one record from any other", lambda a: a["asked"] != "near"),
            Option(
                "near", "Nearby values of one record; distant ones less", lambda a: a["public"] == "number" and one_column(a)
            ),
            Option("columns", "The values of each column separately", lambda a: a["public"] == "number" and two_columns(a)),
        ),
    ),
    Question(
        "strength",
        "How strongly? The budget is for each step between nearby values, or for each column.",
        (
            Option("1", "As usual: 1 (pure, epsilon 1: odds shift by at most 2.72 times)"),
            Option("0.1", "Strongly: 0.1 (pure, epsilon 0.1: odds shift by at most 1.11 times)"),
            Option("3", "Weakly: 3 (pure, epsilon 3: odds shift by at most 20.1 times)"),
        ),
    ),
    Question(
        "promise",
        "Which notion of privacy?",
        (
            Option("pure", "Pure: the limit on odds holds without exception", lambda a: not of_number(a)),
            Option(
                "zcdp",
                "zCDP: less noise for many queries, and a weaker guarantee; as (epsilon, delta) it is "
                f"{' or '.join(f'({at}, 1e-6) for mu {mu}' for mu, at in AT_DELTA.items())}",
                trusted,
            ),
            Option("approximate", "(epsilon, delta), with delta 1e-6", lambda a: trusted(a) and not of_number(a)),
        ),
    ),
)


def columns_of(typed: str) -> dict[str, list[str]]:
    """Columns and their values, from a line. `InvalidProblem` for what is no such line.

    A part without a name has further values of the column before. One range of whole numbers stands for all of them, and for
    groups of them behind `by`.

    >>> columns_of("region: 01; 02; sex: F, M; age: 0-35 by 20")
    {'region': ['01', '02'], 'sex': ['F', 'M'], 'age': ['0-19', '20+']}
    """
    found: dict[str, list[str]] = {}
    size = 1
    if len(numbers := _numbers_of(typed)) > 1:
        raise InvalidProblem(f"answer: {shown([*numbers])} are several numbers to add up; give one.", value=typed)
    for part in _parts(typed):
        name, colon, listed = part.partition(":")
        values = _of_range(listed) or [value.strip() for value in listed.split(",")]
        taken = not name.strip() or name.strip() in {**found, **numbers}
        if not colon or taken or "" in values or len({*values}) < max(2, len(values)):
            raise InvalidProblem(
                f"answer: {shown(part.strip())} is not a column; give its name once and two or more different values, as in "
                f"{SHOWN_COLUMNS}, or a range, as in age: 0-95 by 10.",
                value=typed,
            )
        found[name.strip()] = values
        size *= len(values)
    if not found:
        raise InvalidProblem(
            f"answer: {shown(typed)} has no column of values; give the one by which {shown(*numbers)} is added up.", value=typed
        )
    if size > MOST_TYPED:
        raise InvalidProblem(f"answer: makes {size:,} combinations of values; give at most {MOST_TYPED:,} here.", value=size)
    return found


def _of_range(listed: str) -> list[str]:
    """The values of `0-95`, or the groups of `0-95 by 10`, of which the last is open; empty for anything else."""
    if not (match := re.fullmatch(r"\s*([0-9]{1,9})\s*-\s*([0-9]{1,9})(?:\s+by\s+([0-9]{1,9}))?\s*", listed)):
        return []
    low, high, width = int(match[1]), int(match[2]), int(match[3] or 1)
    if not low < high or not width or (high - low) // width > MOST_TYPED:
        return []
    lower = range(low, high + 1, width)
    return [str(at) for at in lower] if width == 1 else [*(f"{at}-{at + width - 1}" for at in lower[:-1]), f"{lower[-1]}+"]


def _bins_of(typed: str) -> dict[str, str]:
    """For columns that are groups of a range, the line that says so."""
    return {
        name: f"bins = [{', '.join(value.partition('-')[0].rstrip('+') for value in values)}]"
        for (name, values), part in zip(columns_of(typed).items(), _parts(typed), strict=True)
        if _of_range(part.partition(":")[2]) and values[-1].endswith("+")
    }


def _parts(typed: str) -> list[str]:
    """What a line says of each column of values; a part without a name goes on with the one before."""
    return [part for part in re.sub(r";(?=[^:;]*(;|$))", ",", typed).split(";") if not _numbers_of(part)]


def _numbers_of(typed: str) -> dict[str, tuple[int, int]]:
    """The numbers that can be added up, with their bounds."""
    found = (NUMBER.fullmatch(part) for part in typed.split(";"))
    return {match[1].strip(): (int(match[2]), int(match[3])) for match in found if match and int(match[2]) < int(match[3])}


def _plan_file(answers: Answers, columns: Mapping[str, list[str]]) -> str:
    """The table plan of a sum or an average, whose record costs at most rho = mu^2 / 2: half for each part of an average."""
    ((number, (low, high)),) = _numbers_of(answers["values"]).items()
    rho = Fraction(answers["strength"]) ** 2 / 2
    asked = answers["asked"]
    parts = {"sum": [("loss", rho)], "average": [("loss", rho / 2), ("count_loss", rho / 2)]}[asked]
    sizes = {"loss": f"size = {max(abs(low), abs(high))}, ", "count_loss": ""}
    title = f"{asked.capitalize()} of {number} by {' and '.join(columns)}"
    keys = json.dumps([list(row) for row in product(*columns.values())], ensure_ascii=False)
    return (
        "\n\n".join(
            [
                f'{FROM_ANSWERS}kind = "table_plan"\ntitle = {json.dumps(title, ensure_ascii=False)}',
                "# Public bounds; numbers beyond them are clipped.\n"
                + _section(f"measures.{key(number)}", f"lower = {low}", f"upper = {high}"),
                "# The public values of each column, from a code book and not from the records.\n"
                + _section("groups.asked", f"columns = {json.dumps([*columns], ensure_ascii=False)}", f"keys = {keys}"),
                *(_section(f"columns.{key(name)}", bins) for name, bins in _bins_of(answers["values"]).items()),
                _section(
                    f"queries.{asked}",
                    *(f'ask = "{asked}"', f"measure = {json.dumps(number, ensure_ascii=False)}", 'groups = "asked"'),
                    *(f"{name} = {{ {sizes[name]}rho = {float(share):g} }}" for name, share in parts),
                ),
            ]
        )
        + "\n"
    )


def paths(typed: tuple[str, ...], answers: Answers | None = None) -> Iterator[dict[str, str]]:
    """Every way through the questions, with each of these lines where something is typed."""
    known = dict(answers or {})
    question = next((one for one in QUESTIONS if one.name not in known), None)
    if question is None:
        yield known
        return
    for name in [choice.name for choice in question.open_choices(known)] or typed:
        yield from paths(typed, {**known, question.name: name})


def decided_file(answers: Answers) -> str:
    """The problem file that the answers lead to."""
    columns = columns_of(answers["values"])
    if of_number(answers):
        return _plan_file(answers, columns)
    bins = _bins_of(answers["values"]) if trusted(answers) else {}  # nobody reads records of own reports
    domain = [
        f"{key(name)} = {f'{{ {bins[name]} }}' if name in bins else json.dumps(values, ensure_ascii=False)}"
        for name, values in columns.items()
    ]
    kind = 'kind = "own_report"\n' if not trusted(answers) else ""
    title = f"{'Counts' if trusted(answers) else 'Own reports'} by {' and '.join(columns)}"
    hidden = _section("relation", *_relation(answers, columns))
    parts = [
        FROM_ANSWERS + f"{kind}title = {json.dumps(title, ensure_ascii=False)}",
        "# The public values of each column, from a code book and not from the records.\n" + _section("domain", *domain),
        *_question(answers, columns),
        f"# What one record may change to, and the budget of that change.\n{hidden}",
    ]
    if answers["public"] in EXACT:
        published = columns if answers["public"] == "margins" else [*columns][:1]
        parts.append("# Published exactly beside this.\n" + _section("invariant", f"margins = {_each(published)}"))
    further = [f'notion = "{answers["promise"]}"', f"delta = {DELTA:g}"][: {"pure": 0, "zcdp": 1}.get(answers["promise"], 2)]
    if answers["asked"] == "tables":
        further += ["# A larger weight lowers the error of its number.", f"weights = {[1] * sum(map(len, columns.values()))}"]
    parts += [_section("problem", *further)] if further else []
    return "\n\n".join(parts) + "\n"


def _section(name: str, *lines: str) -> str:
    return "\n".join([f"[{name}]", *lines])


def _each(columns: Iterable[str]) -> str:
    return json.dumps([[name] for name in columns], ensure_ascii=False)


def _question(answers: Answers, columns: Mapping[str, list[str]]) -> list[str]:
    """[workload], or [report] where nobody holds the records."""
    line = {
        "cells": 'builder = "identity"',
        "totals": 'builder = "prefix"',
        "tables": f"marginals = {_each(columns)}",
        "value": 'loss = "zero_one"',
        "near": 'loss = "distance"',
    }[answers["asked"]]
    return [_section("workload" if trusted(answers) else "report", line)]


def _relation(answers: Answers, columns: Mapping[str, list[str]]) -> list[str]:
    budget = answers["strength"]
    priced = f"{'mu' if answers['promise'] == 'zcdp' else 'epsilon'} = {budget}"
    if answers["public"] in EXACT:
        return [priced]
    if answers["public"] == "nothing":
        return ['metric = "add_remove"', priced]
    if answers["protected"] == "near":
        (values,) = columns.values()
        return [
            'metric = "line"',
            f"values = {list(range(len(values)))}  # one step apart",
            "period = 1",
            priced,
        ]
    if answers["protected"] == "columns":
        budgets = ", ".join(f"{key(name)} = {budget}" for name in columns)
        return ['metric = "hamming"', f"budgets = {{ {budgets} }}"]
    return ['metric = "uniform"', priced]
