"""Faults of events, and of the versions that they name."""

from __future__ import annotations

import json
from typing import Any

from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import sign
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.limits import DOCUMENT_BYTES_MAX
from tests.damaged.faults.declared import gives, of_kind
from tests.damaged.healthy import ACTOR, OTHER_SCOPE, PROVENANCE, SCOPE, Patient

SIGNING_KEY = PrivateKey.from_seed(b"\x01" * 32)


@gives("event-sequence-gap")
def sequence_left_out(patient: Patient) -> None:
    event = patient.event()
    patient.append(("event", {**event, "sequence": event["sequence"] + 1}))


@gives("event-sequence-reused")
def sequence_again(patient: Patient) -> None:
    event = patient.event()
    patient.append(("event", {**event, "sequence": event["sequence"] - 1}))


@gives("event-id-reused")
def event_id_again(patient: Patient) -> None:
    event = patient.event()
    patient.append(("event", event))
    patient.append(("event", {**patient.event(), "event_id": event["event_id"]}))


@gives("event-wrong-scope")
def event_of_another_scope(patient: Patient) -> None:
    patient.append(("event", patient.event(scope_id=OTHER_SCOPE)))


@gives("event-without-version")
def version_taken_from_an_event(patient: Patient) -> None:
    patient.commit(patient.next_version("mem:alone"))
    patient.change(of_kind("event"), lambda entry: entry.pop("version"))


@gives("event-without-version")
def version_given_to_a_refusal(patient: Patient) -> None:
    address = patient.store_version(patient.next_version("mem:alone"))
    patient.append(("event", patient.event("access_denied")), version=address)


@gives("event-version-mismatch")
def recorded_at_another_time(patient: Patient) -> None:
    patient.commit(patient.next_version("mem:alone"), recorded_at="2028-01-01T00:00:00.000000Z")


@gives("event-version-mismatch")
def version_of_another_actor(patient: Patient) -> None:
    other = {"actor_id": "actor:local:somebody", "actor_kind": "human"}
    patient.commit(patient.next_version("mem:alone", actor=other))


@gives("version-missing")
def version_file_gone(patient: Patient) -> None:
    patient.path(patient.address("mem:alone")).unlink()


@gives("version-missing")
def pack_gone(patient: Patient) -> None:
    patient.pack().unlink()


@gives("version-altered")
def byte_changed_in_a_version(patient: Patient) -> None:
    path = patient.path(patient.address("mem:alone"))
    path.write_bytes(path.read_bytes().replace(b"alone", b"alOne"))


@gives("version-altered")
def version_file_empty(patient: Patient) -> None:
    patient.path(patient.address("mem:alone")).write_bytes(b"")


@gives("version-not-canonical")
def version_with_spaces(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    text = json.dumps({"envelope": envelope, "salt": "A" * 22}, sort_keys=True)
    _commit_bytes(patient, envelope, text.encode())


@gives("version-invalid")
def version_of_no_type(patient: Patient) -> None:
    patient.commit(patient.next_version("mem:alone", object_type=""))


@gives("signature-invalid")
def signature_of_something_else(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    signed = sign({**envelope, "canonical_content": "another"}, SIGNING_KEY)
    patient.commit({**envelope, "integrity": signed})


@gives("signature-invalid")
def signature_that_is_none(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    signed = sign(envelope, SIGNING_KEY)
    patient.commit({**envelope, "integrity": {**signed, "signature": "AAAA"}})


@gives("signature-missing")
def unsigned_by_a_bound_actor(patient: Patient) -> None:
    patient.bind(ACTOR["actor_id"], SIGNING_KEY)
    patient.commit(patient.next_version("mem:alone"))


@gives("signature-missing")
def signed_with_a_key_of_somebody_else(patient: Patient) -> None:
    patient.bind(ACTOR["actor_id"], SIGNING_KEY)
    envelope = patient.next_version("mem:alone")
    other = PrivateKey.from_seed(b"\x02" * 32)
    patient.commit({**envelope, "integrity": sign(envelope, other)})


@gives("version-too-long")
def gigantic_version(patient: Patient) -> None:
    path = patient.path(patient.address("mem:alone"))
    with open(path, "r+b") as file:
        file.truncate(DOCUMENT_BYTES_MAX + 1)


@gives("version-id-reused")
def version_id_again(patient: Patient) -> None:
    version_id = patient.current("mem:alone")["version_id"]
    patient.commit(patient.next_version("mem:alone", version_id=version_id))


@gives("version-committed-twice")
def address_again(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    address = patient.commit(envelope)
    event = patient.event(
        "object_updated",
        object_id="mem:alone",
        version_id=envelope["version_id"],
        recorded_at=envelope["recorded_at"],
    )
    patient.append(("event", event), version=address)


@gives("version-sequence-gap")
def number_left_out(patient: Patient) -> None:
    patient.commit(patient.next_version("mem:alone", sequence=3))


@gives("version-orphaned")
def version_that_nobody_names(patient: Patient) -> None:
    patient.store_version(patient.next_version("mem:alone"))


@gives("version-orphaned")
def pack_that_nobody_names(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    data = canonical({"envelope": envelope, "salt": "A" * 22}) + b"\n"
    patient.layout.pack_file(sha256_hex(data)).write_bytes(data)


@gives("version-orphaned")
def stub_of_an_erasure_that_never_was(patient: Patient) -> None:
    patient.layout.stub_file(patient.address("mem:alone")).write_bytes(_stub(patient))


@gives("erasure-without-authority")
def stub_in_the_place_of_a_version(patient: Patient) -> None:
    address = patient.address("mem:alone")
    patient.layout.stub_file(address).write_bytes(_stub(patient))
    patient.path(address).unlink()


@gives("erasure-incomplete")
def erased_and_still_there(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    address = patient.commit(envelope)
    event = patient.event()
    erased = {"address": address, "event_id": event["event_id"], "erased_at": event["recorded_at"]}
    stub = canonical({"envelope": _without_content(envelope), "erased": erased})
    body = {**erased, "version_id": envelope["version_id"], "stub": f"sha256:{sha256_hex(stub)}"}
    patient.layout.stub_file(address).write_bytes(stub)
    patient.append(("event", event), ("erasure", body))


@gives("stub-mismatch")
def stub_that_says_something_else(patient: Patient) -> None:
    path = patient.layout.stub_file(patient.erased_address())
    value = json.loads(path.read_bytes())
    value["envelope"]["actor"] = {"actor_id": "actor:local:somebody", "actor_kind": "human"}
    path.write_bytes(canonical(value))


@gives("stub-mismatch")
def stub_with_content(patient: Patient) -> None:
    path = patient.layout.stub_file(patient.erased_address())
    value = json.loads(path.read_bytes())
    value["envelope"]["canonical_content"] = "still here"
    path.write_bytes(canonical(value))


@gives("custody-invalid")
def custody_of_nobody(patient: Patient) -> None:
    patient.layout.custody.write_bytes(b'{"imported_at":"yesterday"}\n')


@gives("custody-unfinished")
def custody_of_an_import_that_died(patient: Patient) -> None:
    record = {
        "bundle": f"sha256:{'0' * 64}",
        "origin": {"scope_id": SCOPE, "store_id": f"store:{'0' * 32}", "head": "0" * 64},
        "imported_at": "2026-01-01T00:00:00Z",
        "actor": ACTOR,
        "from_entry": 1,
        "to_entry": 900,
        "withheld": 0,
        "signed": 0,
        "packs": [],
    }
    patient.layout.custody.write_bytes(canonical(record) + b"\n")


@gives("withheld-without-custody")
def content_withheld_by_nobody(patient: Patient) -> None:
    address = patient.address("mem:alone")
    path = patient.path(address)
    envelope = json.loads(path.read_bytes())["envelope"]
    stub = canonical({"envelope": _without_content(envelope), "withheld": {"address": address}})
    path.with_suffix(".erased.json").write_bytes(stub)
    path.unlink()


@gives("pack-misnamed")
def pack_renamed(patient: Patient) -> None:
    pack = patient.pack()
    pack.rename(pack.with_name(f"{'0' * 64}.jsonl"))


@gives("pack-line-invalid")
def pack_with_something_else(patient: Patient) -> None:
    pack = patient.pack()
    data = pack.read_bytes() + b'"no version"\n'
    pack.unlink()
    patient.layout.pack_file(sha256_hex(data)).write_bytes(data)


@gives("pack-count-wrong")
def pack_with_fewer_lines_than_announced(patient: Patient) -> None:
    patient.change(of_kind("pack"), lambda entry: entry["body"].update(versions=9))


@gives("transition-illegal")
def back_to_scratch(patient: Patient) -> None:
    patient.commit(
        patient.next_version("mem:alone", lifecycle_state="scratch"), "lifecycle_transitioned"
    )


@gives("transition-illegal")
def reactivated_without_review(patient: Patient) -> None:
    patient.commit(
        patient.next_version("mem:tea", lifecycle_state="active"), "lifecycle_transitioned"
    )


@gives("tombstone-followed")
def risen_from_the_grave(patient: Patient) -> None:
    patient.commit(patient.next_version("mem:gone", availability_state="available"))


@gives("relationship-dangling")
def related_to_nothing(patient: Patient) -> None:
    entries = patient.entries()
    ident = next(
        entry["body"]["relationship_id"]
        for entry in entries
        if entry["body"].get("event_type") == "relationship_created"
    )
    envelope = patient.next_version(ident, target_object_id="mem:nowhere")
    patient.commit(envelope, "relationship_updated")


@gives("idempotency-key-reused")
def key_again(patient: Patient) -> None:
    record = next(e["body"] for e in patient.entries() if e["kind"] == "idempotency")
    refusal = {name: record[name] for name in ("key", "operation", "request_digest")}
    error = {
        "code": "invalid_request",
        "message": "no",
        "retryable": False,
        "operation_id": "op:" + "0" * 32,
        "details": {},
    }
    patient.append(("idempotency", {**refusal, "salt": "A" * 22, "error": error}))


@gives("idempotency-mismatch")
def result_of_another_object(patient: Patient) -> None:
    patient.change(
        of_kind("idempotency"), lambda entry: entry["body"]["result"].update(object_id="mem:tea")
    )


@gives("idempotency-mismatch")
def result_of_another_transaction(patient: Patient) -> None:
    entries = patient.entries()
    event_id = next(e["body"]["event_id"] for e in entries if e["kind"] == "event")
    patient.change(
        of_kind("idempotency"),
        lambda entry: entry["body"]["result"].update(event_id=event_id),
    )


@gives("clock-backwards")
def earlier_than_the_one_before(patient: Patient) -> None:
    patient.append(("event", patient.event(recorded_at="2020-01-01T00:00:00.000000Z")))


def _commit_bytes(patient: Patient, envelope: dict[str, Any], data: bytes) -> None:
    address = patient.store_bytes(data)
    event = patient.event(
        "object_updated",
        object_id=envelope["object_id"],
        version_id=envelope["version_id"],
        recorded_at=envelope["recorded_at"],
    )
    patient.append(("event", event), version=address)


def _without_content(envelope: dict[str, Any]) -> dict[str, Any]:
    return {n: m for n, m in envelope.items() if n not in ("canonical_content", "integrity")}


def _stub(patient: Patient) -> bytes:
    """A stub of a version that nobody erased."""
    erased = {
        "address": patient.address("mem:alone"),
        "event_id": "evt:" + "0" * 32,
        "erased_at": "2027-01-01T00:00:00.000000Z",
    }
    envelope = _without_content(patient.current("mem:alone"))
    return canonical({"envelope": {**envelope, "provenance": _kept(envelope)}, "erased": erased})


def _kept(envelope: dict[str, Any]) -> dict[str, Any]:
    return {**PROVENANCE, **envelope["provenance"]}
