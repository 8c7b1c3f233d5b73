"""
What an attacker can tell, and what a private test can
======================================================

A promise of privacy is a curve. Whoever wants to know from an output whether somebody's record was changed makes two kinds of
mistakes, and the curve is the least of the second kind for every level of the first. Left: the higher the curve, the less can
be told; on the dashed line nothing can.

The same curve says how well honest questions are answered. Right: do women with a doctorate earn more than 50,000 dollars as
often as men? Of 594 doctorate holders both margins are public, and the most powerful unbiased test that keeps the promise
finds a given odds ratio with this probability, at a level of 5 %. An odds ratio of 2 is found with 84 % under a budget of 1,
with 87 % by
Fisher's test, which keeps no promise, and with 15 % under a budget of 1/10.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from designer import datasets
from designer.accounting import EpsilonDelta, Gaussian
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins, fisher_test

promises = {
    "epsilon 1/10": (EpsilonDelta(Fraction(1, 10)), "#3a5ce1", "-"),
    "mu 1/2": (Gaussian.of(Fraction(1, 2)), "#27752b", "-."),
    "epsilon 1": (EpsilonDelta(1), "#dc6008", "--"),
}
table = datasets.adult_doctorates()["count"].reshape(2, 2)  # women, men by more than 50K, at most 50K
margins = Margins(tuple(map(int, table.sum(axis=1))), tuple(map(int, table.sum(axis=0))))
ratios = np.geomspace(1, 4, 25)
power = {
    name: [OddsRatioTest(margins, promise).test.power(0.05, ratio) for ratio in ratios]
    for name, (promise, *_) in promises.items()
}
fisher = fisher_test(margins, 0.05)
best = [float(fisher @ margins.pmf(ratio)) for ratio in ratios]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
levels = np.linspace(0, 1, 401)
for name, (promise, colour, dashes) in promises.items():
    left.plot(levels, promise.type_two(levels), color=colour, linestyle=dashes, linewidth=2, label=name)
    right.plot(ratios, power[name], color=colour, linestyle=dashes, linewidth=2, label=name)
left.plot([0, 1], [1, 0], ":", color="0.4", label="nothing is told")
right.plot(ratios, best, ":", color="black", label="Fisher's test, not private")
left.set_xlabel("mistakes of the first kind (level)")
left.set_ylabel("least mistakes of the second kind")
left.set_title("What an attacker can tell")
right.set_xscale("log", base=2)
right.set_xticks([1, 2, 4], ["1", "2", "4"])
right.set_xlabel("true odds ratio")
right.set_ylabel("power at level 5 %")
right.set_title("Power of the test, 594 doctorate holders")
left.legend(frameon=False)
right.legend(frameon=False, loc="upper left")
right.set_ylim(0, 1.45)
right.set_yticks(np.linspace(0, 1, 6))
plt.show()
