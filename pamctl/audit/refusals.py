"""Why a checkpoint is refused: the closed list of reasons, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Reason = Literal[
    "checkpoint_invalid",
    "signature_invalid",
    "unknown_signer",
    "witness_missing",
    "wrong_log",
    "edited",
    "cut",
    "forked",
    "reordered",
    "proof_invalid",
    "proof_of_another_checkpoint",
    "not_included",
]

REASONS: Mapping[Reason, str] = {
    "checkpoint_invalid": "The file is no checkpoint.",
    "signature_invalid": "A signature names a trusted key and is not its: the checkpoint was "
    "changed after it was signed.",
    "unknown_signer": "No key that is trusted has signed this as the log that it is of.",
    "witness_missing": "A witness that is asked for has not cosigned it.",
    "wrong_log": "The ledger, or the proof, is of another store or scope.",
    "edited": "A line of the ledger is not the one that was signed, and the next one shows it.",
    "cut": "Lines that were signed are gone, from the end or from between.",
    "forked": "The ledger is sound and is not the one that was signed: it was written anew from "
    "some entry on, it is another branch, or its last entry was changed.",
    "reordered": "Lines of the ledger stand in another order.",
    "proof_invalid": "The file is no proof.",
    "proof_of_another_checkpoint": "The proof leads to another checkpoint than this one.",
    "not_included": "The line in the proof is not in the ledger that was signed.",
}
"""Every reason that a verdict can give, and what it means."""


class Refused(Exception):
    """A step failed."""

    def __init__(self, reason: Reason, explanation: str, **facts: Any) -> None:
        super().__init__(explanation)
        self.reason = reason
        self.explanation = explanation
        self.facts = facts
