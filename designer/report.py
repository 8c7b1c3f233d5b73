"""Designs and frozen mechanisms of every kind as text for people: a summary for the terminal, a page in Markdown."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from designer.additive.mechanism import Mechanism
from designer.certified.optimality import Optimality
from designer.certified.specified import Specified
from designer.designing.best import Design
from designer.designing.unbiased_limit import Limit
from designer.values.json_text import plain
from designer.values.printing import in_markdown, printed

ROWS_SHOWN = 12


def cautions(made: Specified) -> list[str]:
    """Lines that must not be missed: that the object hides nothing, and which answers it publishes without noise."""
    listed = ", ".join(map(printed, made.exact[:ROWS_SHOWN])) + (
        f" and {len(made.exact) - ROWS_SHOWN} more" if len(made.exact) > ROWS_SHOWN else ""
    )
    return [*made.warning, *([f"EXACT, without any noise: {listed}."] if listed else [])]


def summary(made: Specified) -> str:
    """What a frozen object does and what proves it, in a dozen lines."""
    if isinstance(made, Mechanism):
        return mechanism_summary(made)
    return "\n".join(
        [
            *cautions(made),
            made.guarantee.to_text(),
            f"Certificate{' (empty)' if made.vacuous else ''}: {certificate_words(made)}",
        ]
    )


def certificate_words(made: Specified) -> str:
    """The certificate in a sentence or a line for each of its values, and the fingerprint."""
    if isinstance(made, Mechanism):
        certificate = made.privacy
        worst = (
            "no protected change moves an answer" if certificate.witness is None else f"attained at {certificate.witness.words}"
        )
        return (
            f"Worst ratio of loss to budget over {certificate.pairs:,} pairs: {float(certificate.worst_ratio or 0)!r} ({worst}).\n"
            f"{certificate.arithmetic}\nFingerprint {made.fingerprint}"
        )
    values = "\n".join(f"{name.replace('_', ' ')}: {printed(value)}" for name, value in plain(asdict(made.privacy)).items())
    return f"{values}\nFingerprint {made.fingerprint}"


def page(made: Specified) -> str:
    """A page in Markdown: the guarantee, the certificate and where the object comes from."""
    if isinstance(made, Mechanism):
        return mechanism_report(made)
    certificate = [f"- {name.replace('_', ' ')}: {in_markdown(value)}" for name, value in plain(asdict(made.privacy)).items()]
    return "\n".join(
        [
            *_caution_paragraphs(made),
            f"# {type(made).__name__} {made.fingerprint[:12]}",
            *("", "## Guarantee", "", "```", made.guarantee.to_text(), "```"),
            *("", "## Privacy certificate", "", *certificate),
            *("", "## Provenance", "", *_provenance_lines(made), ""),
        ]
    )


def optimality_words(best: Optimality | None) -> str:
    """A claim of optimality in Markdown; that of a file is its own note, without a gap, which would pass for a proof."""
    if best is None:
        return "No claim of optimality."
    asked, how = in_markdown(best.objective), in_markdown(best.method)
    if not best.verified:
        return f"The file's own note, not verified: minimised {asked}; reached {best.value:.8g}, at least {best.lower_bound:.8g} ({how})."
    return f"Minimised: {asked}. Reached {best.value:.8g}; no design of its kind reaches less than {best.lower_bound:.8g} (gap {best.gap:.1e}, {how})."


def _provenance_lines(made: Specified) -> list[str]:
    notes = [f"- {in_markdown(key)}: {in_markdown(value)}" for key, value in made.provenance.items()]
    return ["Notes of the maker, not verified:", "", *notes]


def design_summary(title: str, made: Design) -> str:
    """What was designed, how good it is, and what proves it."""
    title = printed(title)
    lines = [title, "=" * len(title), summary(made.mechanism)]
    if not isinstance(made.mechanism, Mechanism):
        lines.append(f"Error:       expected total squared error {made.error:.6g} of the answers")
    if made.optimality:
        lines.append(
            f"Optimality:  {made.optimality.value:.6g} reached, at least {made.optimality.lower_bound:.6g} needed (gap {made.optimality.gap:.1e})"
        )
        lines.append(f"             minimised: {made.optimality.objective}")
    if made.efficiency is not None and made.limit is not None:
        lines.append(
            f"Efficiency:  {made.efficiency:.3f}: no unbiased mechanism, of any kind, has less than this part of the loss, {_where(made.limit)}"
        )
    lines.append(f"Time:        {made.seconds:.2f} s")
    return "\n".join(lines)


def _where(limit: Limit) -> str:
    """The databases of which a limit speaks."""
    if not limit.records:
        return "at any database"
    return f"at databases from which every protected change is possible; from {limit.records} records on there are some"


def mechanism_summary(mechanism: Mechanism) -> str:
    """Size, noise of each query, certificate and fingerprint, in a dozen lines."""
    queries, elements = mechanism.workload.shape
    certificate = mechanism.privacy
    worst = "no protected change moves an answer" if certificate.witness is None else f"attained at {certificate.witness.words}"
    return "\n".join(
        [
            *cautions(mechanism),
            f"Workload:    {queries} queries over {elements} universe elements",
            f"Relation:    {printed(mechanism.relation.words())}",
            f"Mechanism:   {mechanism.family}; expected total squared error {mechanism.error():.6g}",
            *_noise_lines(mechanism),
            f"Certificate: {'empty' if mechanism.vacuous else 'holds'}; worst loss / budget {float(certificate.worst_ratio or 0):.12f} over {certificate.pairs:,} pairs, {worst}",
            f"             {certificate.arithmetic}",
            f"Fingerprint: {mechanism.fingerprint}",
        ]
    )


def _noise_lines(mechanism: Mechanism) -> list[str]:
    deviations = np.sqrt(mechanism.query_variances())
    names = list(map(printed, mechanism.workload.queries))
    width = min(40, max(map(len, names)))
    shown = [
        f"  {name:{width}} noise of standard deviation {s:,.6g}"
        if s
        else f"  {name:{width}} published exactly: no protected change moves it"
        for name, s in list(zip(names, deviations, strict=True))[:ROWS_SHOWN]
    ]
    return shown + ([f"  ... and {len(deviations) - ROWS_SHOWN} more"] if len(deviations) > ROWS_SHOWN else [])


def _caution_paragraphs(made: Specified) -> list[str]:
    return [line for caution in cautions(made) for line in (f"**{in_markdown(caution)}**", "")]


def _noise_rows(mechanism: Mechanism) -> list[str]:
    """A row of the table in Markdown for every query."""
    deviations = np.sqrt(mechanism.query_variances())
    return [
        f"| {in_markdown(name)} | {f'{s:.6g}' if s else 'none: exact'} |"
        for name, s in zip(mechanism.workload.queries, deviations, strict=True)
    ]


def _witness_lines(mechanism: Mechanism) -> list[str]:
    witness = mechanism.privacy.witness
    if witness is None:
        return []
    return [f"The worst pair: {in_markdown(witness.words)}, budget {witness.budget:.8g}."]


def mechanism_report(mechanism: Mechanism) -> str:
    """A page: the guarantee, the noise of every query, the certificate, optimality and provenance."""
    certificate = mechanism.privacy
    return "\n".join(
        [
            *_caution_paragraphs(mechanism),
            f"# Mechanism {mechanism.fingerprint[:12]}",
            "",
            "## Guarantee",
            "",
            "```",
            mechanism.guarantee.to_text(),
            "```",
            "",
            "## Noise",
            "",
            f"Expected total squared error: {mechanism.error():.8g}.",
            "",
            "| query | standard deviation |",
            "| --- | --- |",
            *_noise_rows(mechanism),
            "",
            "## Privacy certificate",
            "",
            f"{'Empty' if mechanism.vacuous else 'Holds'}. Worst loss over budget: {float(certificate.worst_ratio or 0)!r}, over {certificate.pairs:,} pairs. {certificate.arithmetic}.",
            *_witness_lines(mechanism),
            certificate.theorem,
            "",
            "## Optimality",
            "",
            optimality_words(mechanism.optimality),
            "",
            "## Provenance",
            "",
            *_provenance_lines(mechanism),
            "",
        ]
    )
