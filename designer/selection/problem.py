"""The problem of choosing one candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from designer.problem.relation import Relation
    from designer.selection.mechanism import RateConstant
    from designer.selection.scores import Score


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """A choice among the candidates of a score. The rate is the largest that is private, `min b / (max v - min v)` over all
    protected changes; constant="theorem_3" takes DX Theorem 3's `min b / (2 max |v|)` instead, which is never larger.

    Raises `InvalidProblem` where score and relation speak of different elements. Source: docs/theory/selection.md.

    score: of the candidates. relation: over the elements of the score. constant: "range" or "theorem_3".

    >>> from designer import Workload, design, metrics
    >>> from designer.selection.scores import Linear
    >>> made = design(SelectionProblem(Linear(Workload.identity(3)), metrics.uniform(3, 1.0)))
    >>> round(made.mechanism.rate, 6), made.privacy.holds
    (0.5, True)
    """

    score: Score
    relation: Relation
    constant: RateConstant = "range"
    notion: ClassVar[str] = "pure"
    loss: ClassVar[str] = "shortfall"
    loss_words: ClassVar[str] = "shortfall of the score that is exceeded with probability 5 % at most"
    families: ClassVar[tuple[str, ...]] = ("exponential", "permute_and_flip")

    def __post_init__(self) -> None:
        from designer.selection.mechanism import require_parts

        require_parts(self.score, self.relation)
