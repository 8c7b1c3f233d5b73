"""What several releases of one data set cost together, and a ledger of it: one local file, entries chained by hash, totals that
are never exceeded."""

from typing import TYPE_CHECKING

from designer.base.lazily import public_names

if TYPE_CHECKING:
    from designer.accounts.balances import Balance
    from designer.accounts.check import Checked, checked
    from designer.accounts.ledger import DataSet, Forecast, Ledger, Recorded, Reservation, Signer
    from designer.accounts.together.elements import Composed
    from designer.accounts.together.expense import Expense, Spent, expense_of, spent
    from designer.accounts.together.together import composed
    from designer.accounts.totals import Total

__all__ = [
    "Balance",
    "Checked",
    "Composed",
    "DataSet",
    "Expense",
    "Forecast",
    "Ledger",
    "Recorded",
    "Reservation",
    "Signer",
    "Spent",
    "Total",
    "checked",
    "composed",
    "expense_of",
    "spent",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "balances": "Balance",
        "check": "Checked checked",
        "ledger": "DataSet Forecast Ledger Recorded Reservation Signer",
        "together.elements": "Composed",
        "together.expense": "Expense Spent expense_of spent",
        "together.together": "composed",
        "totals": "Total",
    },
)
