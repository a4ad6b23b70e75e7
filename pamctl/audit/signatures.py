"""Signatures of versions: whether each holds, and whether actors that are bound to keys here
wrote what is said to be theirs. `store-format/signatures.md`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamctl.audit.reading import entries, parsed, whole
from pamctl.encoding.timestamps import instant, is_timestamp
from pamctl.store.layout import StoreLayout

Finding = tuple[str, str]
"""The id of a finding, and a sentence."""

_OURS = ("urn:pamctl:version-signature:v1", "urn:pamctl:version-custody:v1")


class SignatureCheck:
    """Judges versions one by one.

    bound: the actors that are bound to keys here: for each key its id, and since when.
    """

    def __init__(self, bound: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._bound = bound or {}

    @classmethod
    def of_store(cls, layout: StoreLayout) -> SignatureCheck:
        """With the bindings that the key records of a store make. A record that is wrong is
        another check's to report."""
        bound: dict[str, dict[str, str]] = {}
        for folder, role in ((layout.keys, None), (layout.keys / "trusted", "author")):
            for entry in entries(folder):
                if not entry.name.endswith(".json"):
                    continue
                record = parsed(whole(Path(entry.path)) or b"")
                actor_id, key_id, since = _named(record, role)
                if actor_id is not None:
                    bound.setdefault(actor_id, {})[key_id] = since
        return cls(bound)

    def judge(self, envelope: Mapping[str, Any]) -> Finding | None:
        """What is wrong with a version that is as its schema says; None where nothing is."""
        if not self._bound and "integrity" not in envelope:
            return None
        integrity = envelope.get("integrity", {})
        keys = self._bound.get(envelope["actor"]["actor_id"])
        if integrity.get("canonicalization_profile") not in _OURS:
            return None if keys is None else _missing(envelope, keys)
        # Imported here: a store without signatures is checked without cryptography.
        from pamctl.crypto.version_signatures import SignatureFault, verified

        try:
            signature = verified(envelope)
        except SignatureFault as fault:
            return "signature-invalid", f"the version says that it is signed: {fault}"
        if keys is None or signature is None or signature.author.key_id in keys:
            return None
        return _missing(envelope, keys)


def _named(record: Any, role: str | None) -> tuple[str | None, str, str]:
    """Which actor a record binds, to which key, since when."""
    if not isinstance(record, Mapping) or (role and role not in record.get("roles", ())):
        return None, "", ""
    actor_id, key_id = record.get("actor_id"), record.get("key_id")
    since = record.get("created_at")
    if not (isinstance(actor_id, str) and isinstance(key_id, str) and is_timestamp(since)):
        return None, "", ""
    return actor_id, key_id, instant(str(since))


def _missing(envelope: Mapping[str, Any], keys: Mapping[str, str]) -> Finding | None:
    """What was written before the actor's first key was made here needs no signature."""
    if instant(envelope["committed_at"]) < min(keys.values()):
        return None
    actor_id = envelope["actor"]["actor_id"]
    return "signature-missing", f"{actor_id} is bound to a key here, which did not sign this"
