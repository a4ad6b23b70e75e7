"""One fault for every finding: each damages a healthy store in one way, which gives that
finding and no other."""

from tests.damaged.faults import files, ledgers, sealed, versions
from tests.damaged.faults.declared import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "files", "ledgers", "sealed", "versions"]
