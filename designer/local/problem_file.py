"""Files for one person's own report, drawn with no trusted party: kind = "own_report".

[elements], [domain], [relation]   as for linear queries; the relation is a metric, all of its budgets finite
[report]  loss = "distance" | "squared" | "zero_one" | [[..], ..] or a file of a matrix, a row for each value;
          reports = [names] (of values, or of the columns of a matrix), prior = "equal" | "worst" | [..] or a file,
          family; all optional
[targets] loss: the most that a report may lose, which `budget` finds the least budgets for
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from designer.base.checks import shown
from designer.base.display import at_least, at_most
from designer.base.errors import InvalidProblem
from designer.base.schema import (
    MATRIX,
    POSITIVE,
    POSITIVE_VECTOR,
    Fragment,
    Schema,
    either,
    list_of,
    noted,
    one_of,
    record,
    text,
)
from designer.certificate.frozen import FrozenMechanism
from designer.designing.least import STEP
from designer.files.data_files import read_matrix
from designer.local.design import least_report
from designer.local.mechanism import Channel
from designer.local.problem import FAMILIES, LOSSES, ReportProblem
from designer.problem.targets import Targets
from designer.problem_file.counts_sections import AskingReader
from designer.problem_file.forms import ProblemFile
from designer.problem_file.linear import listing_of
from designer.problem_file.linear_forms import DOMAIN, ELEMENTS
from designer.problem_file.relations import by_notion, metric_forms
from designer.problem_file.sections import Choices, ExpectedValues, Outcome, naming

SECTION = record(
    {},
    {
        "loss": noted(
            "What a report costs: distance or squared distance between value and report, 1 where they differ, or a matrix of "
            "numbers from 0 on, here or in a file, with a row for each value and a column for each report.",
            either(text(), MATRIX),
            "distance",
        ),
        "reports": noted(
            "Names of what may be said: of values, or of the columns of a matrix.", list_of(text(), distinct=True)
        ),
        "prior": noted(
            "How likely each value is: equal, worst for the loss at the worst value, or probabilities that sum to 1, here or "
            "in a file.",
            either(text(), POSITIVE_VECTOR),
            "equal",
        ),
        "family": noted("How the channel is found; auto takes the best one.", one_of("auto", *FAMILIES), "auto"),
    },
    note="What a report costs, and what it may say.",
)


class ReportReader(AskingReader):
    """One file for an own report being read."""

    def shared(self) -> dict[str, Any]:
        """There are no queries; all counts stand for them, so that relations know how many elements there are."""
        if not {"elements", "domain"} & set(self.data):
            raise InvalidProblem(f"{self.path}: [elements] or [domain] is missing; name the values that a person can have.")
        return {**super().shared(), "workload": {"builder": "identity"}}

    def read(self) -> Mapping[str, Any]:
        counted, section = self.workload(), self.data.get("report", {})
        with self.at("relation"):
            metric: Any = self.question.relation()
        with self.at("report"):
            problem = ReportProblem(
                metric,
                section.get("reports"),
                self._prior(),
                self._loss(),
                counted.elements,
                counted.keys,
            )
        with self.at("targets"):
            targets = Targets(**self.data["targets"]) if "targets" in self.data else None
        return {"problem": problem, "family": section.get("family", "auto"), "targets": targets}

    def _loss(self) -> Any:
        given = self.get("report", "loss", (str, list), "distance")
        if not isinstance(given, str) or given in LOSSES:
            return given
        if "." not in given:
            raise self.refuse("report", "loss", given, f"is unknown; use one of {sorted(LOSSES)}, or the name of a file")
        return read_matrix(self.file("report", "loss"))

    def _prior(self) -> Any:
        given = self.get("report", "prior", (str, list), "equal")
        if given in ("equal", "worst"):
            return None if given == "equal" else given
        if isinstance(given, str) and "." not in given:
            raise self.refuse("report", "prior", given, f"is unknown; say equal, worst, numbers, or a file, not {shown(given)}")
        return self.row_of_numbers("report", "prior")


class ReportFile(ProblemFile):
    """A channel to be made."""

    kind = "own_report"
    from_records = False
    note = "A report that each person draws alone, with no trusted party."
    reader = ReportReader
    choices = ("family",)
    explored = True
    problem: ReportProblem

    @classmethod
    def form(cls) -> Schema:
        metric, _ = metric_forms()
        targets = record(
            {"loss": noted("The most that a report may lose, as [report] measures it.", POSITIVE)},
            note="How good reports must be.",
        )
        free: dict[str, Fragment] = {"elements": ELEMENTS, "domain": DOMAIN, "report": SECTION, "targets": targets}
        return record({"relation": metric}, free, **by_notion())

    def make(self, choices: Choices) -> FrozenMechanism:
        with naming(self.files[0], "report"):
            return super().make(choices)

    def least(self, choices: Choices | None = None, *, step: float | None = None) -> Outcome:
        """The least factor on all budgets at which a report loses no more than [targets] says."""
        if self.targets is None:
            raise InvalidProblem(f"{self.files[0]}: section [targets] is missing; say there what a report may lose, as loss.")
        family = self.checked_choices(choices).family or self.family
        with naming(self.files[0], "report"):
            found = least_report(self.problem, self.targets, family, step=STEP if step is None else step)
        lines = (
            f"Least factor: {at_most(found.factor, 6)} times all budgets",
            f"Missed at:    {at_least(found.missed_at, 6)}, smaller by {found.step:g}",
            *([f"Lower bound:  {at_least(found.lower_bound, 6)}, for every private channel"] if found.lower_bound else []),
        )
        return replace(self, problem=found.problem).least_outcome(found, lines, found.reached)

    @property
    def compared(self) -> ReportProblem:
        return self.problem

    def listing(self) -> ExpectedValues:
        return listing_of([self.problem.keys])

    def description(self) -> Mapping[str, object]:
        return {
            "kind": self.kind,
            "values": len(self.problem.prior),
            "reports": len(self.problem.report_names),
            "loss": self.problem.loss_words,
            "relation": self.problem.metric.sentence(),
        }

    def accuracy_lines(self, made: Any) -> list[str]:
        """The loss, and how well a value is guessed from its report."""
        assert isinstance(made, Channel)
        loss = made.worst_loss if self.problem.worst else made.loss
        return [
            f"Accuracy:    {self.problem.loss_words}: {loss:.4g}",
            f"Attacker:    who knows the prior guesses the value from a report in {100 * made.best_guess:.3g} % of all cases",
        ]
