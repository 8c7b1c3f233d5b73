"""Several releases together: what they cost, as numbers for a ledger and as a statement for every change."""

from designer.composition.elements import Composed
from designer.composition.expense import Expense, Spent, expense_of, spent
from designer.composition.together import composed

__all__ = ["Composed", "Expense", "Spent", "composed", "expense_of", "spent"]
