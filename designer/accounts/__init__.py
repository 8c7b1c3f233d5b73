"""A ledger of what was spent of confidential data: one local file, entries chained by hash, totals that are never exceeded."""

from designer.accounts.balances import Balance
from designer.accounts.check import Checked, checked
from designer.accounts.ledger import DataSet, Forecast, Ledger, Recorded, Reservation, Signer
from designer.accounts.totals import Total

__all__ = [
    "Balance",
    "Checked",
    "DataSet",
    "Forecast",
    "Ledger",
    "Recorded",
    "Reservation",
    "Signer",
    "Total",
    "checked",
]
