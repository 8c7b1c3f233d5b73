"""Deep verification of frozen objects: what is proven, what is tested and with which power, what is not looked at."""

from typing import TYPE_CHECKING

from designer.base.lazy_imports import public_names

if TYPE_CHECKING:
    from designer.audit.deep import audit
    from designer.audit.verdict import DeepVerdict, Finding, TestPower

__all__ = ["DeepVerdict", "Finding", "TestPower", "audit"]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "designer.audit.deep": "audit",
        "designer.audit.verdict": "DeepVerdict Finding TestPower",
    },
)
