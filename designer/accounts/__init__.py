"""What several releases of one data set cost together, and a ledger of it: one local file, entries chained by hash, totals that
are never exceeded."""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names

if TYPE_CHECKING:
    from designer.accounts.check import Checked, checked
    from designer.accounts.composition.composed_guarantee import Composed
    from designer.accounts.composition.composition import composed
    from designer.accounts.composition.cost_record import Expense, Spent, expense_of, spent
    from designer.accounts.dataset_state import Balance
    from designer.accounts.ledger import DataSet, Forecast, Ledger, Recorded, Reservation, Signer
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
        "designer.accounts.dataset_state": "Balance",
        "designer.accounts.check": "Checked checked",
        "designer.accounts.ledger": "DataSet Forecast Ledger Recorded Reservation Signer",
        "designer.accounts.composition.composed_guarantee": "Composed",
        "designer.accounts.composition.cost_record": "Expense Spent expense_of spent",
        "designer.accounts.composition.composition": "composed",
        "designer.accounts.totals": "Total",
    },
)
