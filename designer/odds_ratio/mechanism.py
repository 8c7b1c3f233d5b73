"""The private test of the odds ratio of a 2x2 table whose margins are public: a frozen object, its release, its guarantee."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from designer.base.answer_table import AnswerTable, ConfidenceLimits, Tabular
from designer.base.checks import assign, count, probability, shown
from designer.base.errors import InvalidProblem, InvalidSpec, NotPrivate, hides_data_in_errors
from designer.base.json_text import require_keys
from designer.base.schema import COUNT, SIGNED_RATIONAL, Named, either, keys, list_of, number, one_of, or_null, record, whole
from designer.certificate.agreement import RESTORE, ReleaseForm, ReleaseKeys, as_entry
from designer.certificate.certificate import PrivacyCertificate, Witness
from designer.certificate.frozen import FrozenMechanism, SpecForm
from designer.certificate.guarantee import TRADEOFFS_MULTIPLY, Guarantee
from designer.mechanism.composition import Composition, Protected
from designer.mechanism.release import SimulatedNoise, require_no_data
from designer.odds_ratio.noise import CanonicalNoise, PiecewiseNoise, Tulap, canonical_noise, is_canonical
from designer.odds_ratio.umpu import Margins, NoisyCountTest, interval, p_value_above
from designer.problem.histogram import Counts, Labelled, Universe, bare, carries_names
from designer.relations.invariants.invariant import margins
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.records.counting import require_no_rows
from designer.relations.records.row_unit import row_unit_of
from designer.sampling.entropy import simulation_entropy
from designer.tradeoff.comparison import TRADEOFFS, tradeoff_from_spec
from designer.tradeoff.costs import Cost, cost_of_tradeoff
from designer.tradeoff.functions import Tradeoff

TWO_COUNTS = Named("two_counts", list_of(whole(least=0), least=2, most=2))
THEOREM = "Cho and Awan, Theorem 37; Awan and Vadhan 2023, Theorem 3.9; docs/theory/tradeoff.md, section 7"
# One text for every unusable table, so that the refusal says nothing about the data.
UNUSABLE = "table: must hold two rows of two nonnegative whole numbers with the public margins; nothing was released."
NAMED = (
    "table: carries names, which public margins have not; give the plain array ((x11, x12), (x21, x22)). Nothing was released."
)
CHECKED = [Fraction(-place, 4) for place in range(2, 42)]
# Least 1 - (alpha + beta). A draw by Lemma 36 walks 1 / loss steps and more: at 2^-9 0.5 s for G_mu and 3 s for groups of 100.
# Other noise fits 64 bits while its rate is above 2^-55.
LEAST_LOSS = {True: 2.0**-9, False: 2.0**-40}


@dataclass(frozen=True, eq=False)
class OddsRatioTest(FrozenMechanism):
    """Releases `U = floor_h(x11 + N)`, N canonical for `tradeoff`: what the most powerful
    unbiased private test of the odds ratio needs.

    margins: public. tradeoff: the promise for databases with these margins of which at most `adjacency` records differ, 2 or 3.
    Both mean one basic move, x11 changes by 1. noise: "closed_form" (Tulap, normal, or Lemma 36 where there is none) or
    "piecewise" (Lemma 36).
    exponent: the grid h = 2^-exponent; rounding down to it is post-processing, and towards larger p-values.

    >>> from designer.tradeoff.functions import EpsilonDelta
    >>> test = OddsRatioTest(Margins((30, 20), (25, 25)), EpsilonDelta(1))
    >>> round(test.test.power(0.05, 5.0), 2), test.privacy.holds
    (0.7, True)
    """

    format = "dp-designer/odds-ratio-test"
    spec_form = SpecForm(
        Named(
            "odds_ratio_test",
            record(
                {
                    "rows": TWO_COUNTS,
                    "columns": TWO_COUNTS,
                    "tradeoff": TRADEOFFS,
                    "adjacency": one_of(2, 3),
                    "noise": one_of("closed_form", "piecewise"),
                    "exponent": whole(least=1, most=64),
                },
                note=(
                    "The count x11 of a 2x2 table with these margins plus canonical noise, rounded down to multiples of "
                    "2^-exponent."
                ),
            ),
        ),
        Named("parameters_of_tests", record({"adjacency": COUNT, "least_alpha_plus_beta": number(above=0, below=1)})),
    )

    margins: Margins
    tradeoff: Tradeoff
    adjacency: int = 3
    noise: Literal["closed_form", "piecewise"] = "closed_form"
    exponent: int = 40
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.margins, Margins) or not isinstance(self.tradeoff, Tradeoff):
            raise InvalidProblem(
                "margins, tradeoff: give `Margins(rows, columns)` and a tradeoff function of designer.tradeoff.functions."
            )
        if count(self.adjacency, "adjacency", least=0) < 2:
            raise InvalidProblem(
                f"adjacency: {self.adjacency}; two databases with equal margins differ in two records or more, so nothing "
                "would be protected. Give 2 or 3."
            )
        if self.adjacency > 3:
            raise InvalidProblem(
                f"adjacency: {self.adjacency}; the test is proven for one basic move. Give 2 or 3: more records are promised "
                "`tradeoff.group(records // 2)`."
            )
        if not isinstance(self.noise, str) or self.noise not in ("closed_form", "piecewise"):
            raise InvalidProblem(f"noise: {shown(self.noise)} is unknown; one of closed_form, piecewise.", value=self.noise)
        if not 1 <= count(self.exponent, "exponent") <= 64:
            raise InvalidProblem(f"exponent: {self.exponent} is beyond 64; the grid is 2^-exponent.", value=self.exponent)
        if len(self.margins.support) < 2:
            raise InvalidProblem(
                f"margins: {self.margins.rows}, {self.margins.columns} leave a single table, which they publish; there is "
                "nothing to protect or test."
            )
        self._require_drawable()
        certificate = self.verify()
        if not certificate.holds:
            raise NotPrivate("noise: does not spend its tradeoff function as canonical noise does; take the piecewise noise.")
        assign(self, privacy=certificate)

    def _require_drawable(self) -> None:
        """The noise must be narrow enough to be drawn, and the promise one at all."""
        slow, least = isinstance(self.law, PiecewiseNoise), float(self.tradeoff.fixed_point())
        if not least > 0:
            raise InvalidProblem(
                "tradeoff: allows errors whose sum is 0, or below the floats, which protects nobody; allow less loss."
            )
        # The steps of Tulap noise are of the size of epsilon, whatever delta is.
        loss = min(1 - 2 * least, float(self.law.tradeoff.epsilon) if isinstance(self.law, Tulap) else 1.0)
        if loss < LEAST_LOSS[slow]:
            raise InvalidProblem(
                f"tradeoff: allows a loss of {loss:.2g}, below {LEAST_LOSS[slow]:.2g}: {type(self.law).__name__} would be "
                "too wide to draw; allow more loss, or take closed_form noise where there is one."
            )

    @cached_property
    def law(self) -> CanonicalNoise:
        """The noise law."""
        return PiecewiseNoise(self.tradeoff) if self.noise == "piecewise" else canonical_noise(self.tradeoff)

    @property
    def test(self) -> NoisyCountTest:
        """The test as a function of laws: critical value, rejection probabilities, size, power."""
        return NoisyCountTest(self.margins, self.law)

    def verify(self) -> PrivacyCertificate:
        """Changes within the margins are multiples k of (1, -1, -1, 1), of l1 norm 4 |k| <= 2 adjacency;
        the noise is checked in balls."""
        moves = 2 * self.adjacency // 4
        canonical = is_canonical(self.law, CHECKED)
        witness = Witness(0, 1, "one basic move: (x11, x12, x21, x22) changes by (1, -1, -1, 1)", (float(moves),), 1.0)
        arithmetic = (
            "the sensitivity in integers; F(x) = f(F(x + 1)) and symmetry of the noise in balls of 128 bits at "
            f"{len(CHECKED)} points"
        )
        return PrivacyCertificate(canonical and moves <= 1, Fraction(moves), witness, 2 * moves, arithmetic, THEOREM)

    @hides_data_in_errors
    def check(
        self, data: object, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        """See `FrozenMechanism.check`: a table of two by two counts with these margins."""
        super().check(data)
        require_no_rows(row_unit_of(unit, entity, rows_per_entity, self.about.records))
        first_cell(_table(data), self.margins)

    @hides_data_in_errors
    def release(
        self, data: object, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> OddsRatioRelease:
        """The noisy count of a table with these margins, and what follows from it alone. Spends the budget once.

        data: the counts ((x11, x12), (x21, x22)), or `Counts` of the four of them, row by row. unit, entity, rows_per_entity:
        None, since counts have no rows.
        """
        require_no_rows(row_unit_of(unit, entity, rows_per_entity, self.about.records))
        first = first_cell(_table(data), self.margins)
        return self._release_of(first * 2**self.exponent + int(self.law.draw(1, self.exponent, self._release_entropy())[0]))

    def simulate(self, size: int, seed: int | None = None, *, data: Any = None) -> SimulatedNoise:
        """`size` draws of the noise in the first cell, (size, 1), in steps of the grid of the release, rounded down as there:
        for simulation only, stamped as not private."""
        require_no_data(data)
        drawn = self.law.draw(count(size, "size"), self.exponent, simulation_entropy(seed))
        return SimulatedNoise.of(np.array([float(Fraction(int(z), 2**self.exponent)) for z in drawn])[:, None], seed)

    def _release_of(self, cell: int) -> OddsRatioRelease:
        """The release of a noisy count of so many steps of the grid."""
        return OddsRatioRelease(self, Fraction(cell, 2**self.exponent), self.guarantee, self.fingerprint)

    def core(self) -> dict[str, Any]:
        return {
            "rows": list(self.margins.rows),
            "columns": list(self.margins.columns),
            "tradeoff": self.tradeoff.to_spec(),
            "adjacency": self.adjacency,
            "noise": self.noise,
            "exponent": self.exponent,
        }

    @classmethod
    def from_core(cls, core: Mapping[str, Any]) -> OddsRatioTest:
        require_keys(core, keys(cls.spec_form.core), "mechanism")
        margins = Margins(core["rows"], core["columns"])
        return cls(margins, tradeoff_from_spec(core["tradeoff"]), core["adjacency"], core["noise"], core["exponent"])

    def _statement(self) -> Guarantee:
        rows, columns = self.margins.rows, self.margins.columns
        return Guarantee(
            unit=f"The values of up to {self.adjacency} records, changed so that all margins stay.",
            relation=(
                f"Databases with row sums {rows} and column sums {columns} of which at most {self.adjacency} records "
                "differ: x11 changes by at most 1. Databases with other margins are not protected from each other."
            ),
            unprotected=(f"Row sums {rows} and column sums {columns} are public and exact.",),
            notion=(
                "f-private given the margins: telling two such databases apart is at least as hard as "
                f"{self.tradeoff.sentence()} says."
            ),
            parameters={"adjacency": self.adjacency, "least_alpha_plus_beta": 2 * float(self.tradeoff.fixed_point())},
            mechanism=(
                f"x11 + N with N canonical for the tradeoff function ({type(self.law).__name__}); p-values and limits "
                "follow from it."
            ),
            sampling=(
                "Exact: random bits of the operating system, drawn until ball arithmetic proves between which grid "
                "points the noise lies."
            ),
            floating_point=(
                f"The statistic is an integer multiple of 2^-{self.exponent}, the exact real statistic rounded down."
            ),
            timing="The number of random bits and of search steps depends on the noise; the time of a release is not covered.",
            post_processing=TRADEOFFS_MULTIPLY,
            fingerprint=self.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class OddsRatioRelease(Tabular):
    """A noisy count, (x11 + N) rounded down to the grid, and what is computed from it without the data."""

    test: OddsRatioTest
    statistic: Fraction
    guarantee: Guarantee
    fingerprint: str

    @cached_property
    def p_greater(self) -> float:
        """p-value of omega <= 1 against omega > 1 (SEMI eq. 6), rounded up: uniform up to 2^-exponent at omega = 1."""
        return p_value_above(self.test.margins, self.test.law, self.statistic)

    @cached_property
    def p_less(self) -> float:
        """p-value of omega >= 1 against omega < 1, from the table with its columns exchanged, rounded up."""
        mirrored = Margins(self.test.margins.rows, self.test.margins.columns[::-1])
        return p_value_above(mirrored, self.test.law, mirrored.rows[0] - self._cell[1])

    @property
    def p_two_sided(self) -> float:
        """Twice the smaller one: valid; no claim that it is the best."""
        return min(1.0, 2 * min(self.p_greater, self.p_less))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Limits that hold the odds ratio with at least this probability,
        whatever it is: the tests of all odds ratios, inverted."""
        return interval(self.test.margins, self.test.law, self._cell, 1 - probability(confidence, "confidence"))

    @property
    def _cell(self) -> tuple[Fraction, Fraction]:
        return self.statistic, self.statistic + Fraction(1, 2**self.test.exponent)

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The noisy count and the p-values; what is uncertain in them is what `interval` says of the odds ratio."""
        values = np.array([float(self.statistic), self.p_greater, self.p_less, self.p_two_sided])
        keys = tuple((name,) for name in ("noisy count", "p-value, greater", "p-value, less", "p-value, two-sided"))
        return (AnswerTable("test", ("number",), keys, values, None, limits=_no_limits),)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: statistic, p-values, 95 % interval, the guarantee, the fingerprint."""
        return {
            "statistic": str(self.statistic),
            "p_greater": self.p_greater,
            "p_less": self.p_less,
            "interval_95": self.interval(),
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


def _no_limits(level: float, simultaneous: bool) -> ConfidenceLimits:
    raise InvalidProblem("intervals: a p-value has none; `released.interval(confidence)` holds the odds ratio.")


def first_cell(table: object, margins: Margins) -> int:
    """x11 of two rows and two columns of counts that have the margins; whatever else is wrong is refused with one text."""
    if carries_names(table):
        raise InvalidProblem(NAMED)
    try:
        array = np.asarray(table)
    except (TypeError, ValueError):
        raise InvalidProblem(UNUSABLE) from None
    if array.shape != (2, 2) or array.dtype.kind not in "iu" or (array < 0).any() or margins != _margins(array):
        raise InvalidProblem(UNUSABLE)
    return int(array[0, 0])


def _margins(array: Any) -> Margins | None:
    rows, columns = array.astype(object).sum(axis=1), array.astype(object).sum(axis=0)
    try:
        return Margins((int(rows[0]), int(rows[1])), (int(columns[0]), int(columns[1])))
    except InvalidProblem:
        return None


def _table(data: object) -> Any:
    """The counts as two rows: as they are, or of `Counts`, as a file holds them, four of them in a row."""
    if not isinstance(data, Counts):
        return data
    given: Any = bare(data)
    given = given.counts if isinstance(given, Labelled) and not given.columns else given
    return np.reshape(given, (2, 2)) if not carries_names(given) and np.shape(given) == (4,) else given


# Releases of the test of an odds ratio as files: a noisy count on a grid, and the p-values that follow from it.
#
# What releases cost together: tradeoff functions multiply.


LIMIT = either(number(least=0), one_of("inf"))
P_VALUE = number(least=0, most=1)


class OddsRatioForm(ReleaseForm[OddsRatioTest, OddsRatioRelease]):
    """The noisy count with its standard error where the law has one in closed form, p-values and limits."""

    schema: ClassVar[ReleaseKeys] = {
        "statistic": SIGNED_RATIONAL,
        "standard_error": or_null(number(least=0)),
        "p_greater": P_VALUE,
        "p_less": P_VALUE,
        "interval_95": list_of(LIMIT, least=2, most=2),
    }
    checked = (
        "The statistic is a multiple of its step that the noise can reach from some table with the public margins.",
        "The p-values and the limits are those that follow from it.",
    )

    def content(self, mechanism: OddsRatioTest, released: OddsRatioRelease) -> dict[str, Any]:
        stated = released.to_dict()
        own = {key: stated[key] for key in ("statistic", "p_greater", "p_less", "interval_95")}
        return {**own, "standard_error": mechanism.law.standard_deviation()}

    def published(self, mechanism: OddsRatioTest, released: OddsRatioRelease) -> list[dict[str, Any]]:
        margins = mechanism.margins
        return [as_entry("row sums", list(margins.rows)), as_entry("column sums", list(margins.columns))]

    def rebuilt(self, mechanism: OddsRatioTest, content: Mapping[str, Any]) -> OddsRatioRelease:
        given = content["statistic"]
        if not isinstance(given, str) or not re.fullmatch("-?[0-9]{1,40}(/[1-9][0-9]{0,39})?", given):
            raise InvalidSpec(f"statistic: is not a fraction; {RESTORE}")
        steps = Fraction(given) * 2**mechanism.exponent
        if steps.denominator != 1:
            raise InvalidSpec(f"statistic: is no multiple of 2^-{mechanism.exponent}, as every release is; {RESTORE}")
        least, most = mechanism.margins.support[0], mechanism.margins.support[-1]
        above, below = float(Fraction(given) - least) + 2.0**-mechanism.exponent, float(most - Fraction(given))
        if not (mechanism.law.cdf(above) > 0 and mechanism.law.cdf(below) > 0):
            raise InvalidSpec(f"statistic: is farther from every possible count than the noise reaches; {RESTORE}")
        return mechanism._release_of(int(steps))


class OddsRatioComposition(Composition[OddsRatioTest]):
    """The stated tradeoff function for any protected change: one budget, whose number says nothing. Cells go row by row."""

    def protected(self, made: OddsRatioTest) -> Protected:
        return InvariantChanges(margins((2, 2)), made.adjacency, 1.0)

    def counted(self, made: OddsRatioTest) -> Universe:
        return Universe.of_size(4)

    def of_budget(self, made: OddsRatioTest, budget: Fraction) -> Cost:
        return cost_of_tradeoff(made.tradeoff)
