"""The verdict on a checkpoint: whose it is, and whether a ledger or a proof is what it says.

1. The checkpoint is read (C2SP signed-note, tlog-checkpoint).
2. Its signatures are held against the keys that the caller trusts, and no others: one of
   `trusted` must have signed it as its log, and each of `witnesses` must have cosigned it.
3. A ledger: its first entry must give the checkpoint's origin, its chain must hold up to the
   entry that the checkpoint is of, and the root over its lines must be the one that was signed.
4. A proof: the hashes in it must lead to the root that was signed; of growth, from it to the
   later one, whose signatures are held to the same keys.

The first step that fails gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from pamctl.audit.pinned_ledger import Ledger, held_against
from pamctl.audit.reading import parsed
from pamctl.audit.refusals import Reason, Refused
from pamctl.crypto.checkpoints import Checkpoint, parse_checkpoint
from pamctl.crypto.ledger_proofs import ConsistencyProof, Proof, parse_proof
from pamctl.crypto.signed_notes import (
    COSIGNATURE,
    ED25519,
    Checked,
    Note,
    TrustedKey,
    check_signatures,
)
from pamctl.errors import InvalidRequest
from pamctl.named_tuples import NamedTuple


class Signed(TypedDict):
    """One signature: `role` is log or witness, `status` verified, invalid or unknown."""

    name: str
    role: str
    status: str
    key_id: str | None
    time: str | None


class CheckpointVerdict(TypedDict):
    """The verdict. `against` is what the checkpoint was held against: signatures, a ledger or
    a proof; `facts` are about that."""

    checkpoint: str
    valid: bool
    reason: Reason | None
    explanation: str | None
    origin: str | None
    size: int | None
    root: str | None
    head: str | None
    against: str
    signatures: list[Signed]
    facts: dict[str, Any]


class Trust(NamedTuple):
    """Whom the caller believes: owners of ledgers, and witnesses that must have cosigned."""

    owners: Sequence[TrustedKey]
    witnesses: Sequence[TrustedKey] = ()


def judge(
    data: bytes,
    name: str,
    trust: Trust,
    *,
    ledgers: Iterable[Ledger] | None = None,
    proof: tuple[str, bytes] | None = None,
) -> CheckpointVerdict:
    """The verdict on the checkpoint in `data`.

    ledgers: of a store or a bundle, among which the checkpoint's is looked for; proof: the
    name and the bytes of one. Without either, signatures alone decide.
    """
    against = "proof" if proof is not None else "signatures" if ledgers is None else "ledger"
    checkpoint: Checkpoint | None = None
    signatures: list[Signed] = []
    facts: dict[str, Any] = {}
    reason: Reason | None = None
    explanation = None
    try:
        checkpoint, note = _read(data, name)
        checked = check_signatures(note, (*trust.owners, *trust.witnesses))
        signatures = [_signed(one, checkpoint) for one in checked]
        require_signed(checkpoint, note, trust)
        if ledgers is not None:
            facts = held_against(checkpoint, ledgers)
        if proof is not None:
            facts = _proved(checkpoint, *proof, trust)
    except Refused as refused:
        reason, explanation, facts = refused.reason, str(refused), refused.facts
    return {
        "checkpoint": name,
        "valid": reason is None,
        "reason": reason,
        "explanation": explanation,
        "origin": None if checkpoint is None else checkpoint.origin,
        "size": None if checkpoint is None else checkpoint.size,
        "root": None if checkpoint is None else checkpoint.root.hex(),
        "head": None if checkpoint is None else checkpoint.head,
        "against": against,
        "signatures": signatures,
        "facts": facts,
    }


def require_signed(checkpoint: Checkpoint, note: Note, trust: Trust) -> None:
    """Step 2. Raises Refused."""
    by_owner = [
        one
        for one in check_signatures(note, trust.owners)
        if one.name == checkpoint.origin and one.algorithm in (None, ED25519)
    ]
    by_witness = [check_signatures(note, [witness]) for witness in trust.witnesses]
    for one in (*by_owner, *(one for found in by_witness for one in found)):
        if one.status == "invalid":
            raise Refused(
                "signature_invalid",
                f"the signature of {one.name} is not that of the key that it names",
            )
    if not any(one.status == "verified" for one in by_owner):
        raise Refused(
            "unknown_signer",
            f"no trusted key has signed this as {checkpoint.origin}"
            if trust.owners
            else "no key is trusted, so nobody's signature counts: name one with --trust",
        )
    for witness, found in zip(trust.witnesses, by_witness, strict=True):
        # As the log's, a signature says nothing about what its signer has seen.
        if not any(one.status == "verified" and one.algorithm == COSIGNATURE for one in found):
            raise Refused(
                "witness_missing",
                f"the witness {witness.name or witness.public.key_id} has not cosigned it",
            )


def _proved(checkpoint: Checkpoint, name: str, data: bytes, trust: Trust) -> dict[str, Any]:
    """Step 4. Raises Refused."""
    try:
        proof: Proof = parse_proof(data, what=name)
    except InvalidRequest as cause:
        raise Refused("proof_invalid", cause.message) from cause
    leads_to = proof.checkpoint
    if leads_to.origin != checkpoint.origin:
        raise Refused("wrong_log", f"the proof is about {leads_to.origin}")
    if isinstance(proof, ConsistencyProof):
        return _grew(checkpoint, proof, trust)
    same_head = leads_to.head == checkpoint.head or None in (leads_to.head, checkpoint.head)
    if (leads_to.size, leads_to.root) != (checkpoint.size, checkpoint.root) or not same_head:
        raise Refused(
            "proof_of_another_checkpoint",
            f"the proof leads to the ledger of {leads_to.size} entries, and the checkpoint is of "
            f"{checkpoint.size}",
        )
    if not proof.holds():
        raise Refused(
            "not_included",
            f"the line in the proof is not entry {proof.n} of the ledger that was signed",
            entry=proof.n,
        )
    if proof.note.signatures:
        require_signed(leads_to, proof.note, Trust(trust.owners))
    return {"kind": "inclusion", "entry": proof.n, "line": parsed(proof.line)}


def _grew(checkpoint: Checkpoint, proof: ConsistencyProof, trust: Trust) -> dict[str, Any]:
    if (proof.old_size, proof.old_root) != (checkpoint.size, checkpoint.root):
        raise Refused(
            "proof_of_another_checkpoint",
            f"the proof begins at the ledger of {proof.old_size} entries, and the checkpoint is "
            f"of {checkpoint.size}",
        )
    if not proof.holds():
        raise Refused(
            "forked",
            f"the ledger of {proof.checkpoint.size} entries does not begin with the "
            f"{checkpoint.size} that were signed",
            entries=proof.checkpoint.size,
        )
    signed = bool(proof.note.signatures)
    if signed:
        require_signed(proof.checkpoint, proof.note, Trust(trust.owners))
    return {
        "kind": "consistency",
        "from": proof.old_size,
        "to": proof.checkpoint.size,
        "root": proof.checkpoint.root.hex(),
        "signed": signed,
    }


def _read(data: bytes, name: str) -> tuple[Checkpoint, Note]:
    try:
        return parse_checkpoint(data, what=name)
    except InvalidRequest as cause:
        raise Refused("checkpoint_invalid", cause.message) from cause


def _signed(one: Checked, checkpoint: Checkpoint) -> Signed:
    is_log = one.name == checkpoint.origin and one.algorithm in (None, ED25519)
    return {
        "name": one.name,
        "role": "log" if is_log else "witness",
        "status": one.status,
        "key_id": None if one.key is None else one.key.key_id,
        "time": _moment(one.time_sec),
    }


def _moment(time_sec: int | None) -> str | None:
    if time_sec is None:
        return None
    try:
        return datetime.fromtimestamp(time_sec, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{time_sec} s"
