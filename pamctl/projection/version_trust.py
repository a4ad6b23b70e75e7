"""What can be said of one version's signature, for whoever asks. It is what the label of its
projection would say now, under this keyring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from pamctl.crypto.version_signatures import SignatureFault, verified
from pamctl.projection.profiles.pam_trust import UNVERIFIED, KnownKeys, labels
from pamctl.projection.source import SourceRefused

SignatureState = Literal["valid", "invalid", "none", "withheld"]


class VersionTrust(TypedDict):
    """The judgement on a signature.

    signature: `valid`; `invalid` where the version says that it is signed and is not; `none`;
        or `withheld`, where what it covers is not shown to this reader.
    key_id, custodian_key_id, original: of a signature that holds: whose it is, and in custody
        by whose word, and the address of the version as it came.
    derived_trust, authorship: in the words of MPR §4.3.
    problem: why it does not hold, or does not count.
    """

    signature: SignatureState
    key_id: str | None
    custodian_key_id: str | None
    original: str | None
    derived_trust: str
    authorship: str
    problem: str | None


def version_trust(known: KnownKeys, envelope: Mapping[str, Any]) -> VersionTrust:
    """What the signature of a version is worth under a store's keyring."""
    told: VersionTrust = {
        "signature": "none",
        "key_id": None,
        "custodian_key_id": None,
        "original": None,
        "derived_trust": UNVERIFIED.derived_trust,
        "authorship": UNVERIFIED.authorship,
        "problem": None,
    }
    try:
        signature = verified(envelope)
    except SignatureFault as fault:
        return {**told, "signature": "invalid", "problem": str(fault)}
    if signature is None:
        tombstone = envelope.get("canonical_content") == {"tombstone": True}
        return {**told, "signature": "withheld" if tombstone else "none"}
    custodian = signature.custodian
    told["signature"] = "valid"
    told["key_id"] = signature.author.key_id
    told["custodian_key_id"] = None if custodian is None else custodian.key_id
    told["original"] = signature.original
    trust = known.trust
    try:
        known.admit(signature, envelope["committed_at"], trust)
    except SourceRefused as refused:
        return {**told, "problem": str(refused)}
    found = labels(signature, trust)
    told["derived_trust"], told["authorship"] = found.derived_trust, found.authorship
    if found.derived_trust == UNVERIFIED.derived_trust:
        told["problem"] = "the key is not one that counts here"
    return told
