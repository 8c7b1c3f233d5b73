"""The privacy certificate: `||u|| <= b` over the whole sensitivity set, recomputed from frozen numbers, no solver in sight.

Every pair is first bounded in floating point with a proven error; the pairs that could be the worst, and every pair whose bound
does not settle `<= 1`, are then evaluated in exact rational arithmetic. So the verdict is exact, at the price of one float
scan. What is certified, and in which arithmetic: docs/theory/foundations.md, section 2. At the end: what two machines may
state differently of one certificate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import assign
from designer.base.display import printed
from designer.base.errors import DesignFailed, NotPrivate
from designer.base.json_text import canonical
from designer.base.progress import step
from designer.base.schema import PLACE, Named, exactly, list_of, noted, number, or_null, record, text, whole
from designer.certificate.change_norms import ByLength, Longest
from designer.certificate.norms import Norm, RatioBounds
from designer.certificate.sensitivity import SensitivitySet
from designer.problem.relation import Block
from designer.problem.workload import Workload
from solvers.exact.rational import float_above, max_float
from solvers.rounding import rounded_up

# Pairs whose float bound already proves <= 1 are evaluated exactly only up to this many, fewer where a norm takes many
# products; the others are covered by their bound. Where all pairs tie (identity queries, N = 64, one budget)
# 512 would take 5 s.
EXACT_PAIRS, EXACT_PRODUCTS = 512, 100_000
WORST_SEEN = "percent above the worst pair seen"
NOTHING_MOVES = "no protected change moves anything that is released, so the promise is kept whatever is published"


@dataclass(frozen=True)
class Witness:
    """A protected pair: point indices, the pair in words fit to print,
    its difference u and its budget b (rounded to floats for reading)."""

    left: int
    right: int
    words: str
    difference: tuple[float, ...]
    budget: float
    schema = Named(
        "witness",
        record(
            {
                "left": PLACE,
                "right": PLACE,
                "words": text(),
                "difference": noted("Empty where words say all.", list_of(number(), least=0)),
                "budget": number(least=0),
            }
        ),
    )

    def __post_init__(self) -> None:
        assign(self, words=printed(self.words))


@dataclass(frozen=True)
class PrivacyCertificate:
    """`worst_ratio >= ||u|| / b` for every protected pair; `holds` when it is at most 1. None means infinite.

    `witness` attains the worst ratio up to the stated arithmetic. That says so where the worst ratio is a bound and the witness
    the worst pair that was seen. None when no protected change moves an answer. pairs: how many were checked. theorem: what
    makes the inequality a promise.
    """

    holds: bool
    worst_ratio: Fraction | None
    witness: Witness | None
    pairs: int
    arithmetic: str
    theorem: str
    schema = Named(
        "certificate",
        record(
            {
                "holds": exactly(True),
                "worst_ratio": noted("A fraction of whole numbers, at most 1.", text("^[0-9]{1,4000}(/[1-9][0-9]{0,3999})?$")),
                "witness": or_null(Witness.schema),
                "pairs": whole(least=0),
                "arithmetic": text(),
                "theorem": text(),
            }
        ),
    )

    @property
    def ratio(self) -> float | None:
        """The worst ratio as it is stated: rounded up to a float, above 0 where it is; None where it is infinite."""
        return None if self.worst_ratio is None else float_above(self.worst_ratio)

    @property
    def place(self) -> str:
        """Where the worst ratio is attained, in words, or what is known where it is a bound."""
        if self.witness is None:
            return "no protected change moves an answer"
        verb = "a bound; the worst pair seen is" if self.arithmetic.endswith(WORST_SEEN) else "attained at"
        return f"{verb} {self.witness.words}"

    def lines(self) -> list[str]:
        """In sentences: the worst ratio rounded up to a float, and where it is attained; by which arithmetic."""
        over = f" over {self.pairs:,} pairs" if self.pairs else ""
        ratio = "infinite" if self.ratio is None else repr(self.ratio)
        return [f"Worst ratio of loss to budget{over}: {ratio} ({self.place}).", self.arithmetic]

    def require(self) -> PrivacyCertificate:
        """Itself when it holds; otherwise `NotPrivate` names the pair and the excess."""
        if self.holds:
            return self
        assert self.witness is not None
        excess = "infinitely often" if self.ratio is None else f"{self.ratio!r} times"
        raise NotPrivate(
            f"mechanism: the change {self.witness.words} spends its budget {self.witness.budget!r} {excess}; at most 1 is "
            "allowed. Widen the noise (smaller weights) by that factor, or raise the budget of the pair."
        )


@dataclass
class _RatioSearch:
    """Running maximum of exact ratios, with the float bound that covers what was not evaluated exactly."""

    sensitivity: SensitivitySet
    norm: Norm
    best: Fraction = Fraction(-1)
    pair: tuple[int, int] | None = None
    covered: float = 0.0
    passed_over: float = 0.0
    pairs: int = 0
    exact: int = 0
    infinite: bool = False
    floor: float = 0.0
    tolerance: float = 0.0
    waiting: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def settled_limit(self) -> int:
        """How many pairs that floats settle are evaluated exactly all the same."""
        return max(16, min(EXACT_PAIRS, EXACT_PRODUCTS // self.norm.map.size))

    @property
    def failed(self) -> bool:
        """Whether a pair is known, exactly, to spend more than its budget."""
        return self.infinite or self.best > 1

    def add(self, block: Block, upper: Floats, lower: Floats) -> None:
        """Queue the pairs of a block that may be the worst; evaluate now those that floats cannot settle."""
        self.floor = max(self.floor, float(lower.max(initial=0.0)))
        # The lower bounds are too high where budgets were clipped,
        # so no pair above 1 is passed over for them until one has failed.
        near = upper >= self.floor
        flat = np.flatnonzero((near if self.failed else near | (upper > 1)) & (upper > 0))
        values = upper.ravel()[flat]
        for position, value in zip(flat[values > 1].tolist(), values[values > 1].tolist(), strict=True):
            if not self.failed or value >= self.floor:
                self.evaluate(*block.pair(position))
        passed_over = ~near if self.failed else ~near & (upper <= 1)
        self.passed_over = max(self.passed_over, float(upper[passed_over].max(initial=0.0)))
        settled = flat[values <= 1]
        settled = settled[np.argsort(-upper.ravel()[settled])]
        for position in settled[: self.settled_limit]:
            self.waiting.append((float(upper.ravel()[position]), *block.pair(int(position))))
        if len(settled) > self.settled_limit:
            self.covered = max(self.covered, float(upper.ravel()[settled[self.settled_limit]]))

    def finish(self) -> None:
        """Evaluate the waiting pairs from the largest bound down, until no bound exceeds the best exact ratio. Of pairs that
        have the same ratio, the first is evaluated for all."""
        waiting = sorted(self.waiting, reverse=True)[: self.settled_limit + 1]
        counted = dict[object, int]()
        for rank, ((upper, left, right), ratio) in enumerate(zip(waiting, self._ratios_alike(waiting), strict=True)):
            if Fraction(upper) <= self.best:
                return
            if rank == self.settled_limit:
                self.covered = max(self.covered, upper)
                return
            if ratio in counted:
                self.exact += counted[ratio]
                continue
            before = self.exact
            self.evaluate(left, right)
            counted[ratio] = self.exact - before

    def _ratios_alike(self, waiting: list[tuple[float, int, int]]) -> Iterable[object]:
        """A key for each pair; pairs of equal keys have equal exact ratios: equal budgets, and exact differences that the norm
        does not tell apart. Between whole numbers below 2^52 floats subtract exactly; other points get keys of their own."""
        left, right = np.array([pair[1:] for pair in waiting], dtype=np.intp).reshape(-1, 2).T
        first, second = self.sensitivity.points[left], self.sensitivity.points[right]
        whole = all((part == np.rint(part)).all() and np.abs(part).max(initial=0.0) < 2.0**52 for part in (first, second))
        if not whole:
            return range(len(waiting))
        rows = self.norm.alike(first - second) + 0.0  # no -0
        exact = self.sensitivity.relation.exact_budget
        return ((row.tobytes(), exact(i, j)) for row, (_, i, j) in zip(rows, waiting, strict=True))

    def evaluate(self, left: int, right: int) -> None:
        """One pair in exact arithmetic."""
        if np.array_equal(self.sensitivity.points[left], self.sensitivity.points[right]):
            return
        u, budget = self.sensitivity.exact(left, right)
        if budget is None:
            return
        self.exact += 1
        length = self.norm.exact(u)
        if length is None or budget == 0:
            self.infinite, self.pair = True, (left, right)
        elif not self.infinite and length / budget > self.best:
            self.best, self.pair = length / budget, (left, right)


def moves_nothing(certificate: PrivacyCertificate, sensitivity: Callable[[], SensitivitySet]) -> bool:
    """Whether no protected change moves what is released, so that the promise is kept by anything, true answers among it."""
    if certificate.worst_ratio == 0:
        return True
    # Without a witness the ratio is that of an error bound, and equal points settle it.
    return certificate.witness is None and bool(sensitivity().silent_coordinates().all())


def rounding_error(sensitivity: SensitivitySet, norm: Norm) -> float:
    """Bound of the relative error of float lengths `||u||`, beside the absolute one of `Norm.image_error`."""
    return (sensitivity.dimension + len(norm.map) + 8) * 2.0**-50


@step("recomputing the certificate")
def certify(
    sensitivity: SensitivitySet, norm: Norm, theorem: str = "", elements: Sequence[str] | None = None
) -> PrivacyCertificate:
    """The certificate of `norm` over `sensitivity`; what is not private is refused by `require`, not here.

    `DesignFailed` where lengths leave the floats for more pairs than are looked at one by one.
    """
    longest = sensitivity.longest(norm)
    if longest is not None:
        return _by_length(sensitivity, norm, longest, theorem, elements)
    search = _RatioSearch(sensitivity, norm)
    _check_silent(search)
    relative = sensitivity.relation.budget_error + rounding_error(sensitivity, norm)
    bounds = RatioBounds(norm.image_error(sensitivity.points), relative)
    for block, ratios in _that_decide(search, bounds):
        search.add(block, bounds.upper(block, ratios), bounds.lower(block, ratios))
    search.finish()
    return _verdict(search, theorem, elements)


def _that_decide(search: _RatioSearch, bounds: RatioBounds) -> Iterator[tuple[Block, Floats]]:
    """All pairs with their float ratios; of very many, those that bounds on groups of elements do not settle."""
    sensitivity, norm = search.sensitivity, search.norm
    if sensitivity.searches(norm) and norm.silent.all():  # no pair has a length
        search.pairs = sensitivity.relation.pair_count()
        return
    hunt = sensitivity.hunt(norm, EXACT_PAIRS, bounds, below=1.0) if sensitivity.searches(norm) else None
    if hunt is None:
        for block, ratios in sensitivity.ratios(norm):
            search.pairs += int(np.isfinite(block.budgets).sum())
            yield block, ratios
        return
    search.pairs, search.covered, search.tolerance = sensitivity.relation.pair_count(), hunt.covered, hunt.tolerance
    found = sensitivity.in_step(hunt.left, hunt.right)
    yield found, sensitivity.ratios_of(norm, found)
    for block in sensitivity.relation.beside():
        yield block, sensitivity.ratios_of(norm, block)


def _by_length(
    sensitivity: SensitivitySet, norm: Norm, longest: Longest, theorem: str, elements: Sequence[str] | None
) -> PrivacyCertificate:
    """The certificate of a set whose largest norm is known: exact rationals, and one change that was measured."""
    relation = sensitivity.relation
    assert isinstance(relation, ByLength)
    infinite = bool(norm.silent.any()) and not sensitivity.among(norm.silent).silent_coordinates().all()
    ratio = None if infinite else longest.bound / relation.cost(longest.change)
    tight = longest.reached == longest.bound
    arithmetic = (
        f"exact rationals: {'the largest length of all' if tight else 'a bound for the length of all'} {longest.proof}"
        f"{', which the witness has' if tight else ', and the witness is the longest known'}"
    )
    witness = None
    if longest.change:
        named = elements or [str(i) for i in range(relation.size)]
        witness = Witness(0, 1, relation.change_words(longest.change, list(named)), (), float(relation.cost(longest.change)))
    return PrivacyCertificate(ratio is not None and ratio <= 1, ratio, witness, 0, arithmetic, theorem)


def _check_silent(search: _RatioSearch) -> None:
    """A coordinate without noise must not move under any protected change; if one does, find the pair that shows it."""
    moving = search.norm.silent & ~search.sensitivity.silent_coordinates()
    if not moving.any():
        return
    points = search.sensitivity.points[:, moving]
    for block in search.sensitivity.relation.blocks():
        where = np.nonzero(np.isfinite(block.budgets))
        left, right = block.left[where[0]], block.right[where[-1]]
        moved = np.flatnonzero((points[left] != points[right]).any(axis=1))
        if len(moved):
            search.evaluate(int(left[moved[0]]), int(right[moved[0]]))
            return


def describe_pair(sensitivity: SensitivitySet, left: int, right: int, elements: Sequence[str] | None) -> Witness:
    """A pair with finite budget in words and rounded numbers."""
    u, budget = sensitivity.exact(left, right)
    assert budget is not None
    named = elements or [str(i) for i in range(sensitivity.relation.size)]
    words = sensitivity.relation.pair_words(left, right, named)
    told = float(min(budget, Fraction(max_float))) or float_above(budget)  # within the floats, and above 0 where it is
    return Witness(left, right, words, tuple(float_above(c) for c in u), told)


def attains(sensitivity: SensitivitySet, norm: Norm, witness: Witness, ratio: Fraction, elements: Sequence[str] | None) -> bool:
    """Is `witness` a pair of this set, correctly described,
    whose ratio is within 2^-40 of `ratio`? Several pairs may attain the worst."""
    points = range(len(sensitivity.points))
    if witness.left not in points or witness.right not in points or witness.left == witness.right:
        return False
    u, budget = sensitivity.exact(witness.left, witness.right)
    length = norm.exact(u)
    if not budget or length is None or abs(length / budget - ratio) > Fraction(1, 1 << 40):
        return False
    described = describe_pair(sensitivity, witness.left, witness.right, elements)
    return canonical(asdict(witness)) == canonical(asdict(described))  # 1, 1.0 and true are equal only to Python


def _verdict(search: _RatioSearch, theorem: str, elements: Sequence[str] | None) -> PrivacyCertificate:
    """The certificate that the search amounts to."""
    witness = None
    if search.pair is not None:
        witness = describe_pair(search.sensitivity, *search.pair, elements)
    if not search.infinite and np.inf in (search.covered, search.passed_over):
        raise DesignFailed(
            "mechanism: answers times noise weights, or their ratios to budgets, leave the floats for very many pairs, so no "
            "worst ratio is proven; choose units of answers and budgets in which they lie between 1e-100 and 1e100."
        )
    worst = None if search.infinite else max(search.best, Fraction(search.covered), Fraction(search.passed_over), Fraction(0))
    arithmetic = (
        f"exact rationals for the {search.exact} pairs that decide, floating-point upper bounds with a proven error for all "
        f"{search.pairs}"
    )
    above = 1.01 * float_above(worst / search.best - 1) if worst and search.best > 0 else 0.0  # in three digits, too
    if tolerance := search.tolerance or (above if above > 2.0**-40 else 0.0):
        arithmetic += f", which for whole groups of pairs are up to {100 * tolerance:.3g} {WORST_SEEN}"
    return PrivacyCertificate(worst is not None and worst <= 1, worst, witness, search.pairs, arithmetic, theorem)


# How far above its pair the claim says that it is, in percent.
BOUND = re.compile(
    rf"[^,]*, [^,]*, which for whole groups of pairs are up to ([0-9]{{1,3}}(?:[.][0-9]{{1,3}})?(?:e-[0-9]{{2}})?) {WORST_SEEN}"
)


class Certified(Protocol):
    """What a certificate over the sensitivity set speaks of; additive mechanisms and selections have it."""

    @property
    def workload(self) -> Workload: ...
    @property
    def norm(self) -> Any: ...
    def sensitivity(self) -> SensitivitySet: ...


def settled_claim(mechanism: Certified, claimed: dict[str, Any], proven: dict[str, Any]) -> dict[str, Any]:
    """The worst ratio's float-covered digits may differ between machines, and so may the pair where several attain it: a claim
    within 2^-40 of the proven ratio is the same claim, and another pair is checked by itself. A larger bound claims less:
    another version searched otherwise, and its claim is true if its pair is as near to the bound as it says."""
    ratio = claimed.get("worst_ratio")
    # Only digits and a bar: an exponent in a few bytes would ask for a number that fills the memory.
    if not isinstance(ratio, str) or not re.fullmatch(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", ratio):
        return claimed
    if Fraction(proven["worst_ratio"]) <= Fraction(ratio) <= 1 and _is_bound(claimed, Fraction(ratio), mechanism):
        return {**claimed, **{key: proven[key] for key in ("worst_ratio", "arithmetic", "witness")}}
    near = abs(Fraction(ratio) - Fraction(proven["worst_ratio"])) <= Fraction(1, 1 << 40)
    sentence = re.sub("[0-9]+", "", str(claimed.get("arithmetic"))) == re.sub("[0-9]+", "", proven["arithmetic"])
    if not (near and sentence):
        return claimed
    same = {**claimed, "worst_ratio": proven["worst_ratio"], "arithmetic": proven["arithmetic"]}
    pair = claimed.get("witness")
    if canonical(pair) == canonical(proven["witness"]) or _is_witness(pair, proven["witness"], mechanism):
        same["witness"] = proven["witness"]
    return same


def _is_witness(claimed: Any, proven: dict[str, Any] | None, mechanism: Certified) -> bool:
    """Is the claimed witness a pair with the ratio of the proven one, which may be below a worst ratio that is a bound?"""
    witness = _witness(claimed)
    if proven is None or witness is None:
        return False
    sensitivity = mechanism.sensitivity()
    u, budget = sensitivity.exact(proven["left"], proven["right"])
    length: Fraction | None = mechanism.norm.exact(u)
    assert budget and length is not None
    return attains(sensitivity, mechanism.norm, witness, length / budget, mechanism.workload.elements)


def _is_bound(claimed: dict[str, Any], ratio: Fraction, mechanism: Certified) -> bool:
    """Is the claimed ratio as little above that of the claimed pair as the claim says?"""
    said, witness = BOUND.fullmatch(str(claimed.get("arithmetic"))), _witness(claimed.get("witness"))
    if said is None or witness is None:
        return False
    sensitivity = mechanism.sensitivity()
    points = range(len(sensitivity.points))
    if witness.left not in points or witness.right not in points or witness.left == witness.right:
        return False
    u, budget = sensitivity.exact(witness.left, witness.right)
    length: Fraction | None = mechanism.norm.exact(u)
    if not budget or length is None or ratio > length / budget * (1 + Fraction(said[1]) / 100) + Fraction(1, 1 << 40):
        return False
    return attains(sensitivity, mechanism.norm, witness, length / budget, mechanism.workload.elements)


def _witness(claimed: Any) -> Witness | None:
    """A claimed witness, if it has the form of one."""
    if not isinstance(claimed, dict) or set(claimed) != {field.name for field in fields(Witness)}:
        return None
    if type(claimed["left"]) is not int or type(claimed["right"]) is not int or not isinstance(claimed["difference"], list):
        return None
    return Witness(**{**claimed, "difference": tuple(claimed["difference"])})


# What no family can handle, refused once and in the same words: budgets of 0 that bind, and numbers beyond the floats.


def refuse_extreme(values: Floats) -> None:
    """Differences u, lengths and ratios u / b must have squares, and sums of squares, within the floats.

    values: (n,). `DesignFailed` elsewhere.
    """
    if values.size and not 1e-100 < values.min() <= values.max() < 1e100:
        raise DesignFailed(
            f"problem: differences of the answers, or their ratios to the budgets, reach from {values.min()} to "
            f"{values.max()}; choose units of queries and budgets in which they lie between 1e-100 and 1e100."
        )


def refuse_infinite(sensitivity: SensitivitySet, norm: Norm) -> float:
    """The largest `||u|| / b`; a pair with budget 0 that moves the answers makes every unbiased mechanism impossible."""
    worst, pairs = sensitivity.worst(norm)
    if worst > 0 and not (np.isinf(worst) and pairs.budgets[0] == 0):
        refuse_extreme(np.array([worst]))
    if np.isinf(worst):
        left, right = int(pairs.left[0]), int(pairs.right[0])
        raise DesignFailed(
            f"relation: elements {left} and {right} have budget 0, so no answer may tell them apart, but their columns of "
            "the workload differ; give the pair a positive budget or make the columns equal."
        )
    return worst


# Repair towards privacy: the factor by which a norm is divided so that every pair is proven within its budget.
#
# Why the certificate then holds: docs/theory/foundations.md, section 2.


# Norms are divided by this much beyond the exact requirement, so that a certificate recomputed on another machine, whose float
# scan may round otherwise, still holds.
MARGIN = 2.0**-40


def scale_up_to_private(sensitivity: SensitivitySet, norm: Norm) -> float:
    """A factor, at least 1, by which the norm must be divided so that every pair is proven within its budget,
    with `MARGIN` to spare.

    A first float scan with its error allowance makes the norm private for certain; the certificate of that norm then says,
    almost exactly or as a bound, how much of the allowance was not needed. What is needed is rounded up to a short number, so
    that the last digits of a processor do not change it.
    """
    if norm.silent.all():
        return 1.0
    worst = refuse_infinite(sensitivity, norm)
    if worst == 0.0:
        return 1.0
    if sensitivity.longest(norm) is not None:
        return max(1.0, rounded_up(worst) * (1 + MARGIN))
    # An error of the float scan on the length of a pair weighs most at the smallest budget.
    least = sensitivity.relation.least_budget(positive=True)
    # Where many pairs tie, floats must settle them: K = 300 equal coordinates would otherwise ask for every pair in rationals.
    margin = 1 + max(MARGIN, 4 * rounding_error(sensitivity, norm))
    safe = (worst + 2 * (sensitivity.relation.budget_error + norm.image_error(sensitivity.points) / least)) * margin
    if sensitivity.searches(norm):
        safe *= 2.0  # room for a worst ratio that is a bound, and for a worst pair that such a search did not see
    proven = certify(sensitivity, norm.divided(safe)).worst_ratio
    return safe if proven is None else max(1.0, rounded_up(safe * float_above(proven)) * margin)
