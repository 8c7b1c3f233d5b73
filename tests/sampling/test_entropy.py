"""The words that noise is made of: fresh every time, of all bits, and repeated by a seed alone."""

from __future__ import annotations

import numpy as np

from designer.sampling.entropy import SeededEntropy, SystemEntropy


def test_no_word_of_the_operating_system_comes_twice() -> None:
    """Two of 4,000 words of 64 bits agree with probability below 2^-41."""
    source = SystemEntropy()
    words = np.concatenate([source.random_words(2000), source.random_words(1999), SystemEntropy().random_words(1)])
    assert len(np.unique(words)) == 4000


def test_every_bit_of_a_word_is_one_half_of_the_time() -> None:
    """Of 10,000 bits each, within six deviations: fails with probability below 64 x 2e-9."""
    for source in (SystemEntropy(), SeededEntropy(3)):
        words = source.random_words(10_000)
        ones = np.array([int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)])
        assert np.abs(ones - 5000).max() < 6 * 50


def test_a_seeded_stream_goes_on() -> None:
    whole, parts = SeededEntropy(4), SeededEntropy(4)
    assert whole.random_words(20).tolist() == [*parts.random_words(7), *parts.random_words(13)]
