"""What retention stops. PAMSPEC §9.4, §9.6, §10.11."""

from __future__ import annotations

from pamctl.errors import LegalHold


def require_no_hold(retention_state: str, operation: str) -> None:
    """Raises LegalHold when an operation that would lose or hide content meets a hold."""
    if retention_state == "legal_hold":
        raise LegalHold(
            f"a legal hold forbids to {operation} this object",
            hint="release the hold first: pamctl transition OBJECT retention retained …",
        )
