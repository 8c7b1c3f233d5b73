"""The pairs that a program states one by one, each once: left and right point, budget, and its column."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.certified.sensitivity import SensitivitySet
from designer.problem.relation import Indices, Relation


class ActivePairs:
    """Pairs of points of a relation between elements; a point beyond the elements is the origin, where a record is absent."""

    def __init__(self, relation: Relation) -> None:
        self.size = relation.size
        self.left = self.right = np.empty(0, dtype=np.intp)
        self.budgets = np.empty(0)

    def __len__(self) -> int:
        return len(self.budgets)

    def add(self, left: Indices, right: Indices, budgets: Floats) -> int:
        """Take in pairs of positive budget that are not known yet, each (m,); returns how many."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        keys = low * (self.size + 1) + np.minimum(high, self.size)
        _, first = np.unique(keys, return_index=True)
        new = first[~np.isin(keys[first], self._keys) & (budgets[first] > 0)]
        self.left, self.right = np.append(self.left, low[new]), np.append(self.right, high[new])
        self.budgets = np.append(self.budgets, budgets[new])
        return len(new)

    def add_all(self, relation: Relation) -> None:
        """Take in every pair of finite, positive budget; `DesignFailed` where they are too many."""
        pairs = SensitivitySet.of(np.eye(self.size), relation).all_pairs()
        self.add(pairs.left, pairs.right, pairs.budgets)

    @property
    def _keys(self) -> Indices:
        return np.asarray(self.left * (self.size + 1) + np.minimum(self.right, self.size))

    @property
    def columns(self) -> Any:
        """`e_left - e_right` side by side, (N, M), sparse: rows times it are the differences of the pairs."""
        from scipy.sparse import csc_array

        pairs = np.arange(len(self))
        inside = self.right < self.size
        values = np.concatenate([np.ones(len(pairs)), -np.ones(int(inside.sum()))])
        rows = np.concatenate([self.left, self.right[inside]])
        return csc_array((values, (rows, np.concatenate([pairs, pairs[inside]]))), shape=(self.size, len(self)))
