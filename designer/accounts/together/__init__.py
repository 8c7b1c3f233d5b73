"""Several releases together: what they cost, as numbers for a ledger and as a statement for every change."""

from designer.accounts.together.elements import Composed
from designer.accounts.together.expense import Expense, Spent, expense_of, spent
from designer.accounts.together.together import composed

__all__ = ["Composed", "Expense", "Spent", "composed", "expense_of", "spent"]
