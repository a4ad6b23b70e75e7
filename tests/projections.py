"""Records, keys and materials that the projection tests start from."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import Any

from pamctl.crypto.keys import PrivateKey
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.projection.candidates import Candidates
from pamctl.projection.choice import Candidate, Limits
from pamctl.projection.materials import Materials
from pamctl.projection.produce import Adapter, Projection, produce
from pamctl.projection.profiles import apertomemory
from pamctl.projection.reasons import Verdict
from pamctl.projection.record import NativeResult, signing_bytes
from pamctl.projection.source import OpenedSource
from pamctl.projection.trust import AdapterPin, TrustPolicy
from pamctl.projection.verify import verify

KEY = PrivateKey.from_seed(hashlib.sha256(b"the adapter of the tests").digest())
OTHER_KEY = PrivateKey.from_seed(hashlib.sha256(b"another adapter").digest())
ADAPTER = Adapter("urn:example:adapter:1", "adapter-key-1", KEY)

EVALUATED_AT = "2026-08-03T09:00:00Z"
CREATED_AT_NS = 1_785_747_601_000_000_000  # 2026-08-03T09:00:01Z
NOW = "2026-08-03T09:01:00Z"

OWNER_KEY_ID = bytes.fromhex("63c1e89c009c5ad7")
AUTHOR_KEY_ID = bytes.fromhex("d05309cbd3b55f3b")


def native(source: bytes, **labels: Any) -> NativeResult:
    """The native result of `source`; trusted and attested unless `labels` say otherwise."""
    result: NativeResult = {
        "format_version": 2,
        "sealed_object_digest": sha256_digest(source),
        "derived_trust": "trusted",
        "authorship": "attested",
        "author_key_id_b64u": base64url.encode(AUTHOR_KEY_ID),
        "custody_present": True,
    }
    result.update(labels)  # type: ignore[typeddict-item]
    return result


UNVERIFIED = {
    "derived_trust": "unverified",
    "authorship": "unknown",
    "author_key_id_b64u": None,
    "custody_present": False,
}


def candidate(name: str, body: str, **labels: Any) -> Candidate:
    """An ApertoMemory object that was opened elsewhere, with `body` as its content."""
    source = b"sealed object " + name.encode()
    result = native(source, **labels)
    return Candidate(
        name, source, OpenedSource(result, apertomemory.context_fragment(result, body))
    )


def candidates(*items: Candidate) -> Candidates:
    return Candidates(
        source_profile=apertomemory.SOURCE_PROFILE,
        context_frame_profile=apertomemory.CONTEXT_FRAME_PROFILE,
        trust_snapshot=apertomemory.trust_snapshot(OWNER_KEY_ID, [AUTHOR_KEY_ID]),
        trust_evaluated_at=EVALUATED_AT,
        items=items,
    )


def made(*items: Candidate, eligible: list[str] | None = None, **settings: Any) -> Projection:
    """A projection of `items`, or of those named in `eligible`."""
    arguments: dict[str, Any] = {
        "request": b"what does she prefer?",
        "policy": b"{}",
        "select": lambda: [item.name for item in items] if eligible is None else eligible,
        "limits": Limits(),
        "adapter": ADAPTER,
        "clock": lambda: CREATED_AT_NS,
        "entropy": lambda count: bytes(range(count)),
    }
    return produce(candidates(*items), **{**arguments, **settings})


def policy(**changes: Any) -> TrustPolicy:
    """The relying party's policy: KEY is pinned for its adapter, everything five minutes."""
    pin = changes.pop("pin", None) or AdapterPin(KEY.public, adapter_id=ADAPTER.id)
    settings: dict[str, Any] = {
        "adapter_keys": {ADAPTER.key_id: pin},
        "max_projection_age_sec": 300,
        "max_trust_age_sec": 300,
    }
    return TrustPolicy(**{**settings, **changes})


def materials_of(projection: Projection, /, **changes: Any) -> Materials:
    """All that `projection` commits to, with the native results its record carries."""
    pieces: dict[str, Any] = {
        "request": projection.request,
        "policy": projection.policy,
        "trust_snapshot": projection.trust_snapshot,
        "projection": projection.text,
        "sources": projection.sources,
        "fragments": projection.fragments,
        "native_results": [
            {name: {**entry, **entry["object"]}[name] for name in NativeResult.__annotations__}
            for entry in projection.record["delivered"]
        ],
    }
    return Materials(**{**pieces, **changes})


def sign(record: dict[str, Any], key: PrivateKey = KEY) -> dict[str, Any]:
    """`record` with a fresh signature of `key`."""
    proof = {**record["proof"], "signature_b64u": base64url.encode(key.sign(signing_bytes(record)))}
    return {**record, "proof": proof}


def changed(record: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A deep copy of `record` with the member at a JSON Pointer set to `value`, or taken
    away when `value` is ABSENT."""
    result = copy.deepcopy(record)
    *steps, last = pointer.removeprefix("/").split("/")
    parent: Any = result
    for step in steps:
        parent = parent[int(step) if isinstance(parent, list) else step]
    if value is ABSENT:
        del parent[last]
    else:
        parent[int(last) if isinstance(parent, list) else last] = value
    return result


ABSENT = object()


@dataclass
class Case:
    """A good projection, and what becomes of its verdict when something is changed."""

    projection: Projection

    @property
    def record(self) -> dict[str, Any]:
        return self.projection.record

    def verdict(self, record: dict[str, Any] | bytes | None = None, **settings: Any) -> Verdict:
        """The full verdict on `record`, the projection's own unless another is given."""
        data = self.record if record is None else record
        return verify(
            data if isinstance(data, bytes) else canonical(data),
            policy=settings.pop("policy", None) or policy(),
            at=settings.pop("at", NOW),
            materials=settings.pop("materials", materials_of(self.projection)),
            **settings,
        )

    def reason(self, record: dict[str, Any] | bytes | None = None, **settings: Any) -> str | None:
        return self.verdict(record, **settings)["reason"]


def example() -> Case:
    """Three delivered objects of every trust, and one that the policy left out."""
    items = [
        candidate("attested", "She prefers tea."),
        candidate(
            "own",
            "Formal e-mails.\r\nNot chat.",
            derived_trust="self",
            authorship="signed",
            author_key_id_b64u=base64url.encode(OWNER_KEY_ID),
            custody_present=False,
        ),
        candidate("unverified", "Caf\u00e9 or cafe\u0301 \U0001f375", **UNVERIFIED),
        candidate("filtered", "Not for this request."),
    ]
    return Case(made(*items, eligible=["attested", "own", "unverified"]))
