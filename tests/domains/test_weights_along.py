"""What answers take of measured numbers, where floats leave a residue of what is none."""

import numpy as np

from designer.domains.directions import weights_along


def test_a_residue_of_rounding_is_no_weight_and_small_weights_stay() -> None:
    rows, directions = np.array([[0.1, 0.2, -0.3], [1.0, 0.0, 0.0]]), np.array([[1.0, 1e-9], [1.0, 0.0], [1.0, 0.0]])
    assert (rows @ directions)[0, 0] != 0
    assert weights_along(rows, directions).tolist() == [[0.0, 0.1 * 1e-9], [1.0, 1e-9]]
