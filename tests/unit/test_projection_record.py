"""The record's shape: our checks, and the schema that we publish, say the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pamctl.encoding.canonical import canonical
from pamctl.limits import PROJECTION_ENTRIES_MAX
from pamctl.model.documents import is_valid
from pamctl.projection import record as records
from pamctl.projection.reasons import Refusal
from pamctl.projection.record import parse, signing_bytes
from pamctl.projection.shape import NAME_CHARS_MAX
from pamctl.projection.verify import Verifier
from tests.projections import (
    ABSENT,
    NOW,
    UNVERIFIED,
    candidate,
    changed,
    example,
    made,
    policy,
    sign,
)

RECORD = example().record

ALTERATIONS: list[tuple[str, Any]] = [
    ("/@version", "MEMORY-PROJECTION-RECORD-v2"),
    ("/source_profile", ""),
    ("/source_profile", "x" * 1024),
    ("/source_profile", "x" * 1025),
    ("/projection_id", "relative"),
    ("/projection_id", "urn:a b"),
    ("/projection_id", "urn:x:" + "y" * 2042),
    ("/projection_id", "urn:x:" + "y" * 2043),
    ("/created_at", "2026-08-03t09:00:01.50z"),
    ("/created_at", "2026-08-03T09:00:01+00:00"),
    ("/created_at", "2026-08-03T09:00:01-00:00"),
    ("/created_at", "2026-08-03T09:00:01+01:00"),
    ("/created_at", "2026-08-03T09:00:01." + "0" * 43 + "Z"),
    ("/created_at", "2026-08-03T09:00:01." + "0" * 44 + "Z"),
    ("/created_at", "2026-02-30T09:00:01Z"),
    ("/created_at", "2016-12-31T23:59:60Z"),
    ("/created_at", "2016-12-31T22:59:60Z"),
    ("/adapter/key_id", ABSENT),
    ("/adapter/name", "x"),
    ("/selection_context/trust_snapshot_digest", "sha256:" + "A" * 64),
    ("/delivered", []),
    ("/delivered", {}),
    ("/delivered/0", None),
    ("/delivered/0/position", 2**53),
    ("/delivered/0/position", -1),
    ("/delivered/0/position", 0.5),
    ("/delivered/0/object/format_version", 0),
    ("/delivered/0/object/format_version", True),
    ("/delivered/0/derived_trust", "Self"),
    ("/delivered/0/derived_trust", "unverified"),
    ("/delivered/0/custody_present", False),
    ("/delivered/0/custody_present", 1),
    ("/delivered/0/author_key_id_b64u", "AB"),
    ("/delivered/0/author_key_id_b64u", "AA"),
    ("/delivered/0/author_key_id_b64u", "A"),
    ("/delivered/0/author_key_id_b64u", ""),
    ("/delivered/0/author_key_id_b64u", "AA=="),
    ("/delivered/0/author_key_id_b64u", "AAA\n"),
    ("/delivered/0/author_key_id_b64u", "A" * 1024),
    ("/delivered/0/author_key_id_b64u", "A" * 1028),
    ("/delivered/0/author_key_id_b64u", None),
    ("/delivered/2/author_key_id_b64u", "AAA"),
    ("/delivered/2/authorship", "signed"),
    ("/exclusions/total", -1),
    ("/exclusions/total", 5),
    ("/exclusions/by_reason/context_limit", ABSENT),
    ("/exclusions/by_reason/unknown", 0),
    ("/projection/encoding", "utf8"),
    ("/projection/byte_length", 2**53 - 1),
    ("/nonclaims/model_use", ABSENT),
    ("/nonclaims/other", "NOT_ESTABLISHED"),
    ("/proof/alg", "EdDSA"),
    ("/proof/signature_b64u", "A" * 86),
    ("/proof/signature_b64u", "A" * 85 + "B"),
    ("/proof/signature_b64u", "A" * 87),
]


@pytest.mark.parametrize(("pointer", "value"), ALTERATIONS)
def test_checks_and_schema_agree(pointer: str, value: Any) -> None:
    altered = changed(RECORD, pointer, value)
    if is_valid("projection-record", altered):
        records.check_shape(altered)
    else:
        with pytest.raises(Refusal):
            records.check_shape(altered)


@pytest.mark.parametrize("pointer", ["/delivered/1/object/sealed_object_digest", "/proof/alg", ""])
def test_a_fault_is_named_by_its_pointer(pointer: str) -> None:
    altered = changed(RECORD, pointer, "x") if pointer else {**RECORD, "x": 1}
    with pytest.raises(Refusal) as refused:
        records.check_shape(altered)
    assert refused.value.details["pointer"] == pointer
    assert (pointer or "the record") in refused.value.details["problem"]


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=NAME_CHARS_MAX)


@given(names, names, st.integers(0, 2**53 - 1))
def test_signed_bytes_are_canonical_json(profile: str, key_id: str, length: int) -> None:
    """They are written by another writer than canonical JSON's; RFC 8785's is the arbiter."""
    import rfc8785

    record = {**RECORD, "source_profile": profile, "adapter": {"id": "urn:x:y", "key_id": key_id}}
    record["projection"] = {**RECORD["projection"], "byte_length": length}
    record["proof"] = {**RECORD["proof"], "key_id": key_id}
    records.check_shape(record)
    unsigned = {name: member for name, member in record.items() if name != "proof"}
    assert signing_bytes(record) == b"MEMORY-PROJECTION-RECORD-v1\x00" + rfc8785.dumps(unsigned)


@given(st.sampled_from([None, 1, 2]), st.booleans(), st.text(max_size=2))
def test_spelling_does_not_change_the_record(
    indent: int | None, ascii_only: bool, tail: str
) -> None:
    text = json.dumps(RECORD, indent=indent, ensure_ascii=ascii_only).encode()
    assert parse(text).members == RECORD
    assert parse(canonical(RECORD) + b"\n").members == RECORD
    if tail.strip(" \t\r\n"):
        with pytest.raises(Refusal):
            parse(text + tail.encode("utf-8", "surrogatepass"))


def test_a_record_has_bounds() -> None:
    entry = RECORD["delivered"][0]
    most = [{**entry, "position": i} for i in range(PROJECTION_ENTRIES_MAX)]
    full = sign({**RECORD, "delivered": most})
    verifier = Verifier(policy(), at=NOW)
    assert verifier.verify(canonical(full))["reason"] is None
    beyond = sign({**full, "delivered": [*most, {**entry, "position": len(most)}]})
    assert verifier.verify(canonical(beyond))["reason"] == "record_invalid"


def test_a_record_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = canonical(RECORD)
    monkeypatch.setattr(records, "PROJECTION_RECORD_BYTES_MAX", len(text))
    assert parse(text).members == RECORD
    with pytest.raises(Refusal, match="longer than"):
        parse(text + b"\n")


def test_a_long_delivery_is_read_in_any_spelling() -> None:
    many = made(*[candidate(str(i), "x", **UNVERIFIED) for i in range(300)]).record
    assert parse(json.dumps(many, indent=1).encode()).members == many


def test_nesting_without_end_is_refused() -> None:
    for depth in (100, 1000, 100_000):
        text = b'{"delivered":' + b"[" * depth + b"]" * depth + b"}"
        with pytest.raises(Refusal):
            parse(text)
