"""The norm ball of a mechanism in the coordinates that a reader chooses."""

from __future__ import annotations

from collections.abc import Sequence

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.mechanism.interface import Mechanism
from designer.publish.pictures.balls import ball_drawing
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.of_mechanisms import ball_of


def norm_ball(mechanism: Mechanism, queries: Sequence[str] | None = None) -> Drawing:
    """Draw the norm ball of the noise with the protected differences that it must contain. Raises `InvalidProblem` for noise
    without a norm, for names that are unmeasured or get no noise, and for balls of other dimensions without two names.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    queries
        two names of measured answers, on which the shadow of a ball in more dimensions falls. By default the whole ball, in
        two or three.
    """
    ball = ball_of(mechanism)
    if ball is None:
        raise InvalidProblem(f"norm_ball: the noise of {mechanism.family} follows no norm; its cloud is the picture 'noise'.")
    names = [ball.names[k] for k in ball.heard]
    if queries is not None:
        for name in queries:
            if name not in names:
                near = meant(str(name), names)
                raise InvalidProblem(
                    f"queries: {shown(name)} is not measured with noise; {near}there are {shown(names)}.", value=name
                )
    made = ball_drawing(ball, None if queries is None else [names.index(name) for name in queries])
    if made is None:
        raise InvalidProblem(f"norm_ball: has {len(names)} dimensions; choose two of {shown(names)} for its shadow.")
    return made
