"""Deep verification of frozen objects: what is proven, what is tested and with which power, what is not looked at."""

from designer.audit.deep import audit
from designer.audit.verdict import DeepVerdict, Finding, TestPower

__all__ = ["DeepVerdict", "Finding", "TestPower", "audit"]
