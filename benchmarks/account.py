"""What releases promise together, beside another accountant: time and tightness of delta and epsilon.

For each mix: both libraries' delta at one epsilon, the distance of ours from its own proven lower bound, and seconds. Theirs is
run at its default discretisation (1e-4) and rounds pessimistically, in floats.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from designer.accounting import Account, EpsilonDelta, Gaussian, poisson_subsampled
from designer.promises.laplace import LaplaceTradeoff
from designer.promises.order import Resolution, power_below


def timed(run: Callable[[], float]) -> tuple[float, float]:
    """Seconds and value."""
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, value


def mixes() -> list[tuple[str, Account, float, Callable[[Any], Any]]]:
    """Name, account, epsilon, and the same of the other library."""
    return [
        (
            "10 pure, eps 1",
            Account.of([(EpsilonDelta(1), 10)]),
            5.0,
            lambda pld: pld.from_randomized_response(2 / (1 + 2.718281828459045), 2).self_compose(10),
        ),
        (
            "10 Laplace, eps 1/2",
            Account.of([(LaplaceTradeoff("1/2"), 10)]),
            2.0,
            lambda pld: pld.from_laplace_mechanism(2.0).self_compose(10),
        ),
        (
            "5 Laplace eps 1, normal mu 1",
            Account.of([(LaplaceTradeoff(1), 5), Gaussian.of(1)]),
            3.0,
            lambda pld: pld.from_laplace_mechanism(1.0).self_compose(5).compose(pld.from_gaussian_mechanism(1.0)),
        ),
        (
            "1000 Laplace, eps 1/100",
            Account.of([(LaplaceTradeoff("1/100"), 1000)]),
            1.0,
            lambda pld: pld.from_laplace_mechanism(100.0).self_compose(1000),
        ),
        (
            "100 normal mu 1, sampled 1 %",
            Account.of([(poisson_subsampled(Gaussian.of(1), Fraction(1, 100)), 100)]),
            1.0,
            lambda pld: pld.from_gaussian_mechanism(1.0, sampling_prob=0.01).self_compose(100),
        ),
    ]


def main() -> None:
    """Print one line for each mix, and what tangents alone gave for ten pure promises."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    Account.of([(LaplaceTradeoff(2), 2)]).delta_at(1)  # imports, outside the measurement
    print(f"{'releases':30} {'delta, ours':>15} {'proven gap':>11} {'theirs':>15} {'ours, s':>8} {'theirs, s':>9}")
    for name, account, epsilon, other in mixes():
        theirs_seconds, theirs = timed(lambda e=epsilon, o=other: o(pld).get_delta_for_epsilon(e))  # type: ignore[misc]
        seconds, ours = timed(lambda a=account, e=epsilon: a.delta_at(e))  # type: ignore[misc]
        gap = 1 - account.delta_below(epsilon) / ours
        print(f"{name:30} {ours:15.9e} {gap:11.1e} {theirs:15.9e} {seconds:8.3f} {theirs_seconds:9.3f}")
    seconds, before = timed(lambda: power_below(EpsilonDelta(1), 10, Resolution()).delta_at(5))
    print(f"{'10 pure, by tangents':30} {before:15.9e} {'':11} {'':15} {seconds:8.3f}")


if __name__ == "__main__":
    main()
