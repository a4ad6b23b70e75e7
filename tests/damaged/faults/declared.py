"""Where faults are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pamctl.audit.pins import Pin
from tests.damaged.healthy import Patient

Fault = Callable[[Patient], Pin | None]
"""Damages a store; may answer a pin with which it has to be checked."""

FAULTS: dict[str, list[Fault]] = {}
"""The faults by the id of the finding that each must give."""


def gives(finding: str) -> Callable[[Fault], Fault]:
    def declare(fault: Fault) -> Fault:
        FAULTS.setdefault(finding, []).append(fault)
        return fault

    return declare


def of_kind(kind: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a ledger entry is of a kind."""
    return lambda entry: entry["kind"] == kind
