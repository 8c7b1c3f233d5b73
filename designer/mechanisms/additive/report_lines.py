"""An additive mechanism as text for people: the noise of every query, beside the certificate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.printing import in_markdown, printed
from designer.base.rounding import at_most
from designer.certified.guarantee import Optimality
from designer.mechanisms.additive.interface import Mechanism

ROWS_SHOWN = 12


def certificate_words(mechanism: Mechanism) -> str:
    """The certificate in sentences, and the fingerprint."""
    lines = mechanism.privacy.lines()
    return "\n".join([*lines, f"{delta_words(mechanism)}Fingerprint {mechanism.fingerprint}"])


def delta_words(mechanism: Mechanism) -> str:
    """A line on the delta that the worst pair spends; nothing where the promise has none."""
    spent = mechanism.spent_delta()
    return "" if spent is None else f"That pair spends delta {spent!r} of {mechanism.delta!r}, recomputed in balls.\n"


def summary_lines(mechanism: Mechanism) -> list[str]:
    """Size, noise of each query, certificate and fingerprint, in a dozen lines."""
    queries, elements = mechanism.workload.shape
    certificate = mechanism.privacy
    return [
        f"Workload:    {queries} queries over {elements} universe elements",
        f"Relation:    {printed(mechanism.relation.sentence())}",
        f"Mechanism:   {mechanism.family}; expected total squared error {at_most(mechanism.error(), 6)}",
        *_noise_lines(mechanism),
        *([f"Norm ball:   {mechanism.ball_words}"] if mechanism.ball_words else []),
        f"Certificate: {'empty' if mechanism.vacuous else 'holds'}; worst loss / budget "
        f"{at_most(certificate.ratio or 0.0, 6)} over {certificate.pairs:,} pairs, {certificate.place}",
        f"             {certificate.arithmetic}",
        *(f"             {line}" for line in delta_words(mechanism).splitlines()),
        f"Fingerprint: {mechanism.fingerprint}",
    ]


def _noise_lines(mechanism: Mechanism) -> list[str]:
    deviations = np.sqrt(mechanism.query_variances())
    queries = mechanism.workload.queries[:ROWS_SHOWN]
    names = list(map(printed, queries))
    units = [printed(mechanism.about.unit(name)) for name in queries]
    width = min(40, max(map(len, names)))
    shown = [
        f"  {name:{width}} noise of standard deviation {at_most(s)}{unit and f' {unit}'}"
        if s
        else f"  {name:{width}} published exactly: {_why_exact(mechanism, name)}"
        for name, s, unit in zip(names, deviations, units, strict=False)
    ]
    return shown + ([f"  ... and {len(deviations) - ROWS_SHOWN} more"] if len(deviations) > ROWS_SHOWN else [])


def fraction_lines(rebuilt: Floats | None, noisy: NDArray[np.bool_], exponents: Sequence[int]) -> list[str]:
    """That whole-number measurements make answers that are no whole numbers.

    rebuilt: the reconstruction of answers that are asked to be whole numbers, (K, R), or None. noisy: (R,), the coordinates
    with noise. exponents: (R,), of the grid.
    """
    if rebuilt is None or not noisy.any() or any(e < 0 for e, one in zip(exponents, noisy, strict=True) if one):
        return []
    shares = rebuilt[:, noisy]
    whole = (shares == np.rint(shares)).all()
    return [] if whole else ["Answers:     unbiased, not whole numbers: weighted sums of noisy counts"]


def _why_exact(mechanism: Mechanism, name: str) -> str:
    """Why an answer has no noise: no protected change moves it, or its noise is too small for a float to tell."""
    exact = mechanism.exact
    return "no protected change moves it" if name in exact else "its noise is smaller than floats tell, so it hides nothing"


def page_lines(mechanism: Mechanism) -> list[str]:
    """A page in Markdown: the guarantee, the noise of every query, the certificate and optimality."""
    certificate = mechanism.privacy
    deviations = np.sqrt(mechanism.query_variances())
    noise = [
        f"| {in_markdown(name)} | {f'{s:.6g}' if s else 'none: exact'} |"
        for name, s in zip(mechanism.workload.queries, deviations, strict=True)
    ]
    return [
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
        *noise,
        "",
        *_proof_lines(mechanism),
        f"{'Empty' if mechanism.vacuous else 'Holds'}. Worst loss over budget: {certificate.ratio or 0.0!r}, over "
        f"{certificate.pairs:,} pairs. {certificate.arithmetic}.",
        *_worst_pair(mechanism),
        certificate.theorem,
        "",
        "## Optimality",
        "",
        optimality_words(mechanism.optimality),
    ]


def _worst_pair(mechanism: Mechanism) -> list[str]:
    """The worst pair in Markdown, with its budget or, under a delta, the length that it may have."""
    witness = mechanism.privacy.witness
    if witness is None:
        return []
    told = "budget" if mechanism.delta is None else "a length of at most"
    return [f"The worst pair: {in_markdown(witness.words)}, {told} {witness.budget:.8g}.", *delta_words(mechanism).splitlines()]


def _proof_lines(mechanism: Mechanism) -> list[str]:
    """Who proposed the norm ball, where somebody did, above what proves the mechanism."""
    words = mechanism.ball_words
    return [*([f"Norm ball: {words}.", ""] if words else []), "## Privacy certificate", ""]


def optimality_words(best: Optimality | None) -> str:
    """A claim of optimality in Markdown; that of a file is its own note, without a gap, which would pass for a proof."""
    if best is None:
        return "No claim of optimality."
    asked, how = in_markdown(best.objective), in_markdown(best.method)
    if not best.verified:
        return (
            f"The file's own note, not verified: minimised {asked}; reached {best.value:.8g}, at least "
            f"{best.lower_bound:.8g} ({how})."
        )
    return (
        f"Minimised: {asked}. Reached {best.value:.8g}; no design of its kind reaches less than {best.lower_bound:.8g} (gap "
        f"{best.gap:.1e}, {how})."
    )
