"""Several releases together: what they cost, as numbers for a ledger and as a statement for every pair."""

from designer.composition.expense import Expense, Spent, expense_of, spent

__all__ = ["Expense", "Spent", "expense_of", "spent"]
