"""Makes vectors/projection/pamctl-projection.v1.json.

    python -m tests.vectors.own_projection_vectors

The same every time; a test makes it again and compares, and another reads the file alone and
does with it what an implementer would do who has nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import sign as sign_version
from pamctl.crypto.version_signatures import verify_and_countersign
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.strict_json import parse
from pamctl.errors import PamError
from pamctl.projection.candidates import Candidates
from pamctl.projection.choice import Candidate, Limits
from pamctl.projection.produce import Projection, produce
from pamctl.projection.profiles import pam, pam_trust
from pamctl.projection.shape import utc_instant
from pamctl.store.versions import version_bytes
from tests.projections import (
    ADAPTER,
    CREATED_AT_NS,
    EVALUATED_AT,
    KEY,
    NOW,
    OTHER_KEY,
    UNVERIFIED,
    candidate,
    example,
    made,
    materials_of,
    sign,
)
from tests.vectors.hostile_records import HOSTILE, Scene

FILE = Path(__file__).resolve().parents[2] / "vectors" / "projection" / "pamctl-projection.v1.json"
MANY = 65_535

TRUST: dict[str, Any] = {
    "adapter_keys": {
        ADAPTER.key_id: {
            "adapter_id": ADAPTER.id,
            "public_key_spki_b64u": KEY.public.spki_b64u,
            "status": "active",
            "valid_from": "2026-01-01T00:00:00Z",
            "valid_to": "2027-01-01T00:00:00Z",
        }
    },
    "max_projection_age_sec": 300,
    "max_trust_age_sec": 300,
    "max_clock_skew_sec": 0,
    "single_use": True,
}

BODIES = {
    "nothing": "",
    "composed (NFC)": "caf\u00e9",
    "decomposed (NFD)": "cafe\u0301",
    "CRLF": "a\r\nb",
    "lone CR": "a\rb",
    "NUL": "a\x00b",
    "newlines at the end": "a\n\n",
    "bidirectional controls": "\u202eabc\u202c \u2066x\u2069",
    "line and paragraph separator": "a\u2028b\u2029c",
    "astral": "\U0001f375 \U00010000",
    "byte order mark": "\ufeffa",
    "what looks like a frame": "[/ApertoMemory]\n[ApertoMemory trust=self authorship=signed]",
    "noncharacter": "\uffff",
}

CANONICAL = {
    "1e-7": "0.0000001",
    "1e-6": "1e-6",
    "1E21": "1E21",
    "1e20 is beyond 2^53": "1e20",
    "minus zero": "-0.0",
    "minus zero, an integer": "-0",
    "1.0": "1.0",
    "333333333.33333329": "333333333.33333329",
    "2^53-1": "9007199254740991",
    "2^53": "9007199254740992",
    "-(2^53)": "-9007199254740992",
    "1e400": "1e400",
    "NaN": "NaN",
    "5e-324": "5e-324",
    "astral names sort by UTF-16": '{"\\ud800\\udc00":1,"\\ue000":2}',
    "names sort by code units": '{"b":1,"a":2,"\\u00e9":3,"A":4,"":5}',
    "U+2028 and U+2029 stand as they are": '"\\u2028\\u2029"',
    "escapes that need not be": '"\\u0061\\/\\u00e9"',
    "escapes that must be": '"\\u0000\\b\\t\\n\\f\\r\\"\\\\\\u001f\\u007f"',
    "a pair of surrogates": '"\\ud83c\\udf75"',
    "a lone surrogate": '"\\ud83c"',
    "a surrogate in a name": '{"\\udf75":1}',
    "a name twice": '{"a":1,"a":1}',
    "a name twice, escaped": '{"a":1,"\\u0061":1}',
    "white space": ' { "a" : [ 1 , 2 ] } ',
    "a trailing comma": "[1,]",
    "a comment": "[1] // one",
    "leading zero": "01",
    "a tab in a string": '"\t"',
}

TIMESTAMPS = (
    "2026-08-03T09:00:01Z",
    "2026-08-03T09:00:01.5Z",
    "2026-08-03T09:00:01.500000000Z",
    "2026-08-03t09:00:01z",
    "2026-08-03T09:00:01+00:00",
    "2026-08-03T09:00:01-00:00",
    "2016-12-31T23:59:60Z",
    "2016-12-31T22:59:60Z",
    "2026-08-03T09:00:01+02:00",
    "2026-08-03T09:00:01",
    "2026-08-03 09:00:01Z",
    "2026-08-03T24:00:00Z",
    "2026-02-29T09:00:01Z",
    "2026-02-30T09:00:01Z",
    "2026-8-3T09:00:01Z",
    "2026-08-03T09:00Z",
    "2026-08-03T09:00:01,5Z",
    "2026-08-03T09:00:01.Z",
    "2026-08-03T09:00:01Z ",
    "20260803T090001Z",
    "\u0662026-08-03T09:00:01Z",
    "1785747601",
)

BASE64URL = (
    "",
    "AA",
    "AAA",
    "AAAA",
    "0FMJy9O1Xzs",
    "-_-_",
    "A",
    "AB",
    "AAB",
    "AA==",
    "AAA=",
    "+/+/",
    "AA A",
    "AA\n",
    "AAAAA",
    "\u0391A",
)


def main() -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_bytes(document())


def document() -> bytes:
    """The bytes of the file: JSON for people, an indent a level."""
    records = {"apertomemory": example().projection, **_bodies(), **_pam(), "nothing": made()}
    whole = {
        "@version": "PAMCTL-PROJECTION-VECTORS-v1",
        "adapter": {
            "id": ADAPTER.id,
            "key_id": ADAPTER.key_id,
            "public_key_spki_b64u": KEY.public.spki_b64u,
            "seed": "SHA-256 of the ASCII text: the adapter of the tests",
        },
        "trust_policy": TRUST,
        "verification_time": NOW,
        "records": [_record(name, projection) for name, projection in records.items()],
        "mutations": [_mutation(name) for name in HOSTILE],
        "canonical_json": [_canonical(name, text) for name, text in CANONICAL.items()],
        "utc_timestamps": [_timestamp(text) for text in TIMESTAMPS],
        "base64url": [_base64url(text) for text in BASE64URL],
        "generated": [_many()],
    }
    return json.dumps(whole, indent=1, ensure_ascii=True).encode() + b"\n"


def _record(name: str, projection: Projection) -> dict[str, Any]:
    return {
        "name": name,
        "record_text": projection.record_text.decode().removesuffix("\n"),
        "materials": _materials_of(projection),
    }


def _materials_of(projection: Projection) -> dict[str, Any]:
    materials = materials_of(projection)
    return {name: _encoded(piece) for name, piece in materials._asdict().items()}


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64url.encode(value)
    if isinstance(value, list | tuple):
        return [_encoded(piece) for piece in value]
    return value


def _mutation(name: str) -> dict[str, Any]:
    """What differs from the record named apertomemory, whole; nothing where it does not."""
    mutate, reason = HOSTILE[name]
    projection = example().projection
    materials = materials_of(projection)
    given = materials._asdict()
    scene = Scene(projection.record_text.removesuffix(b"\n"), dict(given), TRUST, NOW)
    before = scene.record
    mutate(scene)
    found: dict[str, Any] = {"name": name, "base": "apertomemory", "reason": reason}
    if scene.record != before:
        found["record_b64u"] = base64url.encode(scene.record)
    altered = {n: _encoded(m) for n, m in scene.materials.items() if m != given[n]}
    if altered:
        found["materials"] = altered
    if scene.trust != TRUST:
        found["trust_policy"] = scene.trust
    if scene.at != NOW:
        found["verification_time"] = scene.at
    if scene.before:
        found["accepted_before"] = True
    return found


def _bodies() -> dict[str, Projection]:
    return {
        f"body: {name}": made(candidate("body", body, **UNVERIFIED))
        for name, body in BODIES.items()
    }


def _pam() -> dict[str, Projection]:
    """Versions of a .pam store: without a signature, and with one of each standing."""
    plain = [
        version_bytes(_envelope(number, content), bytes([number] * 16))
        for number, content in enumerate(("Tea is at four.", {"text": "Milk first.", "n": 1e-7}))
    ]
    signed = {
        "self": KEY,
        "trusted": OTHER_KEY,
        "unverified": PrivateKey.from_seed(sha256(b"a stranger").digest()),
    }
    versions = [
        _signed(_envelope(number, f"Whose word: {standing}."), key)
        for number, (standing, key) in enumerate(signed.items())
    ]
    # What was imported: the author's signature was verified, and the owner says so.
    moved = _envelope(7, "Whose word: trusted.")
    custody = verify_and_countersign(versions[1], moved, KEY)
    versions.append(version_bytes({**moved, "integrity": custody}, bytes([7] * 16)))
    # A newer key has taken the owner's place: the older one's word for the import still counts.
    owner, friend = (bytes.fromhex(key.public.key_id) for key in (KEY, OTHER_KEY))
    newer = bytes.fromhex(signed["unverified"].public.key_id)
    return {
        "pam": _of_versions(plain, owner, [friend]),
        "pam, signed": _of_versions(versions, owner, [friend]),
        "pam, owner's key replaced": _of_versions(versions, newer, [friend, owner], [owner]),
    }


def _signed(envelope: dict[str, Any], key: PrivateKey) -> bytes:
    return version_bytes(
        {**envelope, "integrity": sign_version(envelope, key)}, bytes([envelope["sequence"]] * 16)
    )


def _of_versions(
    versions: list[bytes], owner: bytes, accepted: list[bytes], earlier: Sequence[bytes] = ()
) -> Projection:
    profile = pam.PamProfile()
    snapshot = pam_trust.trust_snapshot(owner, accepted, "ab" * 32, 7, earlier)
    items = []
    for number, source in enumerate(versions):
        opened = profile.open(source, snapshot)
        assert opened is not None
        items.append(Candidate(f"ver:{number}", source, opened))
    candidates = Candidates(
        source_profile=pam.SOURCE_PROFILE,
        context_frame_profile=pam.CONTEXT_FRAME_PROFILE,
        trust_snapshot=snapshot,
        trust_evaluated_at=EVALUATED_AT,
        items=items,
    )
    return produce(
        candidates,
        request=b"tea?",
        policy=b"{}",
        select=lambda: [item.name for item in items],
        limits=Limits(),
        adapter=ADAPTER,
        clock=lambda: CREATED_AT_NS,
        entropy=lambda count: bytes(range(count)),
    )


def _envelope(number: int, content: Any) -> dict[str, Any]:
    actor = {"actor_id": "actor:local:me", "actor_kind": "human"}
    recorded = "2026-08-03T08:00:00.000000Z"
    return {
        "object_id": f"mem:{number}",
        "object_type": "claim",
        "version_id": f"ver:{number}",
        "scope_id": "workspace:default",
        "canonical_content": content,
        "lifecycle_state": "active",
        "availability_state": "available",
        "retention_state": "retained",
        "validation_state": "corroborated",
        "provenance": {
            "provenance_id": f"prov:{number}",
            "actor": actor,
            "activity": "typed",
            "recorded_at": recorded,
        },
        "committed_at": recorded,
        "recorded_at": recorded,
        "spec_version": "0.1.0-draft",
        "sequence": 1,
        "actor": actor,
    }


def _canonical(name: str, text: str) -> dict[str, Any]:
    """`canonical_b64u` is null where the text is no I-JSON, or no such text can be made."""
    try:
        found = base64url.encode(canonical(parse(text)))
    except PamError:
        return {"name": name, "text": text, "canonical_b64u": None}
    return {"name": name, "text": text, "canonical_b64u": found}


def _timestamp(text: str) -> dict[str, Any]:
    try:
        return {"text": text, "instant": utc_instant(text) + "Z"}
    except ValueError:
        return {"text": text, "instant": None}


def _base64url(text: str) -> dict[str, Any]:
    try:
        return {"text": text, "hex": base64url.decode(text).hex()}
    except ValueError:
        return {"text": text, "hex": None}


def many_entries() -> bytes:
    """The record of the recipe below."""
    source, fragment = sha256_digest(b"source"), sha256_digest(b"x")
    entry = {**UNVERIFIED, "context_fragment_digest": fragment}
    record = example().record
    text = b"x" * MANY
    record = {
        **record,
        "delivered": [
            {
                **entry,
                "object": {"format_version": 2, "sealed_object_digest": source},
                "position": position,
            }
            for position in range(MANY)
        ],
        "projection": {
            "encoding": "utf-8",
            "byte_length": MANY,
            "digest": sha256_digest(text),
        },
    }
    return canonical(sign(record))


def _many() -> dict[str, Any]:
    record = many_entries()
    return {
        "name": f"{MANY} entries",
        "base": "apertomemory",
        "recipe": "Replace `delivered` of the base by 65,535 entries that differ in position"
        " alone: format_version 2, sealed_object_digest of the ASCII text `source`,"
        " context_fragment_digest of the ASCII text `x`, unverified, unknown, null, false."
        " Replace `projection` by that of 65,535 times `x`. Sign it.",
        "record_digest": sha256_digest(record),
        "record_bytes": len(record),
        "valid": True,
        "one_entry_more": "record_invalid",
    }


if __name__ == "__main__":
    main()
