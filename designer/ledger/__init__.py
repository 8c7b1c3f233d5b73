"""A ledger of what was spent of confidential data: one local file, entries chained by hash, totals that are never exceeded."""

from designer.ledger.balances import Balance
from designer.ledger.check import Checked, checked
from designer.ledger.ledger import DataSet, Forecast, Ledger, Recorded, Reservation, Signer
from designer.ledger.totals import Total

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
