"""One fault for every finding: each damages a healthy store in one way, which gives that
finding and no other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from pamctl.audit.pins import Pin
from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import sign
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout
from tests.damaged.healthy import ACTOR, OTHER_SCOPE, PROVENANCE, SCOPE, Patient, chained

SPACE_ID = "space:made-up:1"
SIGNING_KEY = PrivateKey.from_seed(b"\x01" * 32)

Fault = Callable[[Patient], Pin | None]
"""Damages a store; may answer a pin with which it has to be checked."""

FAULTS: dict[str, list[Fault]] = {}
"""The faults by the id of the finding that each must give."""


def gives(finding: str) -> Callable[[Fault], Fault]:
    def declare(fault: Fault) -> Fault:
        FAULTS.setdefault(finding, []).append(fault)
        return fault

    return declare


def _of_kind(kind: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: entry["kind"] == kind


# The store and its files


@gives("store-file-invalid")
def store_file_gone(patient: Patient) -> None:
    patient.store.store_file.unlink()


@gives("store-file-invalid")
def store_file_not_canonical(patient: Patient) -> None:
    value = json.loads(patient.store.store_file.read_bytes())
    patient.store.store_file.write_text(json.dumps(value) + "\n")


@gives("format-version-unknown")
def newer_format(patient: Patient) -> None:
    value = json.loads(patient.store.store_file.read_bytes())
    patient.store.store_file.write_bytes(canonical({**value, "format_version": 2}) + b"\n")


@gives("scope-file-invalid")
def scope_file_with_more(patient: Patient) -> None:
    value = {"scope_id": SCOPE, "scope_kind": "workspace", "colour": "green"}
    patient.layout.scope_file.write_bytes(canonical(value) + b"\n")


@gives("scope-file-invalid")
def scope_file_gone(patient: Patient) -> None:
    patient.layout.scope_file.unlink()


@gives("scope-file-invalid")
def scope_of_another_kind(patient: Patient) -> None:
    value = {"scope_id": SCOPE, "scope_kind": "conversation"}
    patient.layout.scope_file.write_bytes(canonical(value) + b"\n")


@gives("scope-folder-misnamed")
def scope_moved(patient: Patient) -> None:
    patient.layout.root.rename(patient.store.scopes / "workspace-default-000000000000")


@gives("scope-id-repeated")
def scope_copied(patient: Patient) -> None:
    copy = ScopeLayout(patient.store.scopes / "zcopy-000000000000")
    copy.root.mkdir()
    copy.scope_file.write_bytes(patient.layout.scope_file.read_bytes())


@gives("name-collision")
def names_that_differ_by_case(patient: Patient) -> None:
    (patient.layout.root / "Ledger.jsonl").write_bytes(b"")


@gives("name-collision")
def names_that_differ_by_form(patient: Patient) -> None:
    (patient.root / "caf\u00e9").write_bytes(b"")
    (patient.root / "cafe\u0301").write_bytes(b"")


@gives("unexpected-file-kind")
def version_is_a_link(patient: Patient) -> None:
    path = patient.path(patient.address("mem:alone"))
    path.rename(patient.root / "elsewhere.json")
    path.symlink_to(patient.root / "elsewhere.json")


@gives("unexpected-file-kind")
def ledger_is_a_pipe(patient: Patient) -> None:
    patient.ledger.unlink()
    os.mkfifo(patient.ledger)


@gives("unexpected-file-kind")
def scopes_are_elsewhere(patient: Patient) -> None:
    elsewhere = patient.root.parent / "elsewhere"
    patient.store.scopes.rename(elsewhere)
    patient.store.scopes.symlink_to(elsewhere)


@gives("unexpected-file-kind")
def pipe_among_the_packs(patient: Patient) -> None:
    os.mkfifo(patient.layout.packs / f"{'0' * 64}.jsonl")


@gives("key-permissions-loose")
def key_for_all_to_read(patient: Patient) -> None:
    (patient.store.keys / "main.pem").chmod(0o644)


@gives("key-record-invalid")
def key_record_of_another_key(patient: Patient) -> None:
    path = patient.store.keys / "main.json"
    value = json.loads(path.read_bytes())
    path.write_bytes(canonical({**value, "key_id": "0" * 16}) + b"\n")


@gives("key-record-invalid")
def key_record_with_a_time_that_is_none(patient: Patient) -> None:
    path = patient.store.keys / "main.json"
    value = json.loads(path.read_bytes())
    path.write_bytes(canonical({**value, "valid_to": "tomorrow"}) + b"\n")


@gives("key-record-invalid")
def key_record_of_a_number(patient: Patient) -> None:
    path = patient.store.keys / "main.json"
    value = json.loads(path.read_bytes())
    path.write_bytes(canonical({**value, "actor_id": 7}) + b"\n")


@gives("projection-entry-invalid")
def register_entry_misnamed(patient: Patient) -> None:
    folder = patient.store.projections / "issued"
    folder.mkdir()
    (folder / f"{'0' * 64}.json").write_bytes(b'{"projection_id":"proj:1"}\n')


@gives("leftover-file")
def unfinished_version(patient: Patient) -> None:
    (patient.layout.staging / ".abc.json.1-0.new").write_bytes(b"{")


@gives("leftover-file")
def unfinished_scope(patient: Patient) -> None:
    (patient.store.scopes / ".garden-000000000000.1-0.new").mkdir()


@gives("git-files-missing")
def git_attributes_gone(patient: Patient) -> None:
    (patient.root / ".gitattributes").unlink()


@gives("git-files-missing")
def git_ignores_no_index(patient: Patient) -> None:
    (patient.root / ".gitignore").write_bytes(b"/keys/*.pem\n")


@gives("quarantine-occupied")
def something_set_aside(patient: Patient) -> None:
    patient.store.quarantine.mkdir(exist_ok=True)
    (patient.store.quarantine / "staged.abc").write_bytes(b"{")


# The ledger


@gives("ledger-missing")
def ledger_gone(patient: Patient) -> None:
    patient.ledger.unlink()


@gives("ledger-missing")
def ledger_empty(patient: Patient) -> None:
    patient.ledger.write_bytes(b"")


@gives("ledger-wrong-scope")
def ledger_of_another_store(patient: Patient) -> None:
    patient.change(_of_kind("scope"), lambda e: e["body"].update(store_id="store:" + "0" * 32))


@gives("ledger-wrong-scope")
def two_scope_entries(patient: Patient) -> None:
    patient.append(("scope", patient.entries()[0]["body"]))


@gives("ledger-line-too-long")
def gigantic_line(patient: Patient) -> None:
    with open(patient.ledger, "ab") as ledger:
        ledger.write(b"x" * (DOCUMENT_BYTES_MAX + 1) + b"\n")


@gives("ledger-line-mangled")
def line_endings_of_windows(patient: Patient) -> None:
    patient.put_lines([line.replace(b"\n", b"\r\n") for line in patient.lines()])


@gives("ledger-line-mangled")
def byte_order_mark(patient: Patient) -> None:
    patient.ledger.write_bytes(b"\xef\xbb\xbf" + patient.ledger.read_bytes())


@gives("ledger-line-mangled")
def conflict_left_by_git(patient: Patient) -> None:
    *common, ours = patient.lines()
    branch = Patient(patient.root)
    branch.append(("event", branch.event()))
    *_, theirs = chained([*patient.entries()[:-2], patient.entries()[-1]])
    patient.put_lines([*common, b"<<<<<<< HEAD\n", ours, b"=======\n", theirs, b">>>>>>> other\n"])


@gives("ledger-line-not-json")
def line_cut_in_the_middle(patient: Patient) -> None:
    lines = patient.lines()
    lines[-3] = lines[-3][:40] + b"\n"
    patient.put_lines(lines)


@gives("ledger-member-repeated")
def member_twice(patient: Patient) -> None:
    patient.append(("event", patient.event()))
    lines = patient.lines()
    lines[-1] = lines[-1].replace(b'"i":1', b'"i":1,"i":1')
    patient.put_lines(lines)


@gives("ledger-line-not-canonical")
def line_with_spaces(patient: Patient) -> None:
    patient.append(("event", patient.event()))
    lines = patient.lines()
    lines[-1] = lines[-1].replace(b'"i":1', b'"i": 1')
    patient.put_lines(lines)


@gives("ledger-entry-invalid")
def policy_that_is_none(patient: Patient) -> None:
    patient.change(_of_kind("policy"), lambda entry: entry["body"].update(policy={}))


@gives("ledger-entry-invalid")
def snapshot_without_anything(patient: Patient) -> None:
    patient.append(("snapshot", {}))


@gives("ledger-chain-broken")
def entry_edited(patient: Patient) -> None:
    lines = patient.lines()
    lines[3] = lines[3].replace(b'"operation_id":"op:', b'"operation_id":"op:edited-')
    patient.put_lines(lines)


@gives("ledger-chain-broken")
def entry_removed(patient: Patient) -> None:
    lines = patient.lines()
    del lines[3]
    patient.put_lines(lines)


@gives("ledger-forked")
def two_entries_follow_one(patient: Patient) -> None:
    before = patient.lines()
    patient.append(("event", patient.event()))
    one = patient.lines()[-1]
    patient.put_lines(before)
    patient.append(("event", patient.event()))
    patient.put_lines([*before, one, patient.lines()[-1]])


@gives("ledger-forked")
def rewritten_with_a_fitting_chain(patient: Patient) -> Pin:
    lines = patient.lines()
    pin = Pin(sha256_hex(lines[-1].rstrip()), len(lines), "was seen")
    patient.append(("event", patient.event()))
    entries = patient.entries()
    entries[-2]["body"]["payload"] = {"note": "not what was there"}
    patient.put(entries)
    return pin


@gives("ledger-reordered")
def two_lines_swapped(patient: Patient) -> None:
    lines = patient.lines()
    lines[5], lines[6] = lines[6], lines[5]
    patient.put_lines(lines)


@gives("ledger-counters-wrong")
def counter_that_jumps(patient: Patient) -> None:
    patient.change(_of_kind("policy"), lambda entry: entry.update(n=entry["n"] + 5))


@gives("ledger-counters-wrong")
def counter_that_is_true(patient: Patient) -> None:
    patient.append(("event", patient.event()))
    entries = patient.entries()
    entries[-1]["i"] = True
    patient.put(entries)


@gives("ledger-bytes-lost")
def block_of_zeros(patient: Patient) -> None:
    lines = patient.lines()
    lines[4] = b"\x00" * (len(lines[4]) - 1) + b"\n"
    patient.put_lines(lines)


@gives("ledger-torn-tail")
def half_a_line(patient: Patient) -> None:
    patient.append(("event", patient.event()))
    patient.ledger.write_bytes(patient.ledger.read_bytes()[:-30])


@gives("ledger-torn-tail")
def zeros_at_the_end(patient: Patient) -> None:
    with open(patient.ledger, "ab") as ledger:
        ledger.write(b"\x00" * 300)


@gives("ledger-torn-tail")
def a_line_of_zeros_at_the_end(patient: Patient) -> None:
    with open(patient.ledger, "ab") as ledger:
        ledger.write(b"\x00" * 300 + b"\n")


@gives("ledger-transaction-incomplete")
def half_a_transaction(patient: Patient) -> None:
    envelope = patient.next_version("mem:alone")
    address = patient.store_version(envelope)
    event = patient.event(
        "object_updated", object_id="mem:alone", version_id=envelope["version_id"]
    )
    patient.append(("event", event), version=address, of=2)


@gives("ledger-tail-cut")
def last_transaction_cut_off(patient: Patient) -> Pin:
    lines = patient.lines()
    patient.put_lines(lines[:-1])
    return Pin(sha256_hex(lines[-1].rstrip()), len(lines), "was seen")


@gives("ledger-tail-cut")
def a_head_that_is_nowhere(patient: Patient) -> Pin:
    lines = patient.lines()
    patient.put_lines(lines[:-1])
    return Pin(sha256_hex(lines[-1].rstrip()), None, "was seen")


@gives("ledger-tail-cut")
def fewer_entries_than_were_counted(patient: Patient) -> Pin:
    lines = patient.lines()
    patient.put_lines(lines[:-1])
    return Pin(None, len(lines), "was seen")


@gives("ledger-tail-unpinned")
def nothing_pins_it(patient: Patient) -> None:
    """The healthy store, checked without a pin."""


@gives("ledger-kind-unknown")
def kind_of_the_future(patient: Patient) -> None:
    patient.append(("prophecy", {"text": "rain"}))


# Events and versions


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
    patient.change(_of_kind("event"), lambda entry: entry.pop("version"))


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
    patient.change(_of_kind("pack"), lambda entry: entry["body"].update(versions=9))


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
        _of_kind("idempotency"), lambda entry: entry["body"]["result"].update(object_id="mem:tea")
    )


@gives("idempotency-mismatch")
def result_of_another_transaction(patient: Patient) -> None:
    entries = patient.entries()
    event_id = next(e["body"]["event_id"] for e in entries if e["kind"] == "event")
    patient.change(
        _of_kind("idempotency"),
        lambda entry: entry["body"]["result"].update(event_id=event_id),
    )


@gives("clock-backwards")
def earlier_than_the_one_before(patient: Patient) -> None:
    patient.append(("event", patient.event(recorded_at="2020-01-01T00:00:00.000000Z")))


# What is derived


@gives("index-out-of-step")
def index_of_another_ledger(patient: Patient) -> None:
    entries = patient.entries()
    entries[-1]["body"]["payload"] = {"note": "another ledger"}
    patient.put(entries)


@gives("index-out-of-step")
def index_that_is_none(patient: Patient) -> None:
    patient.store.index_file(patient.layout).write_bytes(b"no database at all")


@gives("subscription-invalid")
def cursor_beyond_the_ledger(patient: Patient) -> None:
    name = sha256_hex(b"sub:1")
    patient.layout.subscriptions.mkdir(exist_ok=True)
    cursor = {
        "subscription_id": "sub:1",
        "delivered_sequence": 999,
        "acknowledged_sequence": 0,
    }
    path = patient.layout.subscriptions / f"{name}.cursor.json"
    path.write_bytes(canonical(cursor) + b"\n")


@gives("subscription-invalid")
def descriptor_under_a_strange_name(patient: Patient) -> None:
    patient.layout.subscriptions.mkdir(exist_ok=True)
    path = patient.layout.subscriptions / f"{'0' * 64}.json"
    path.write_bytes(canonical({"subscription_id": "sub:1"}) + b"\n")


# Snapshots, spaces and vectors


def _by_actor(patient: Patient, **members: Any) -> dict[str, Any]:
    return {"actor": ACTOR, "recorded_at": patient.event()["recorded_at"], **members}


def _space(patient: Patient, dimensions: int = 2) -> tuple[str, dict[str, Any]]:
    labels = ("provider", "model", "model_revision", "distance_metric", "normalization")
    more = ("preprocessing_profile", "embedding_kind", "canonicalization_rules")
    described: dict[str, Any] = dict.fromkeys((*labels, *more), "made-up")
    described |= {"embedding_space_id": SPACE_ID, "dimensions": dimensions}
    return "space", _by_actor(patient, space=described)


def _snapshot(patient: Patient, *, sealed_at: int, **members: Any) -> tuple[str, dict[str, Any]]:
    snapshot = {
        "snapshot_id": "snap:1",
        "scope_id": SCOPE,
        "sealed": True,
        "created_at": "2027-01-01T00:00:00Z",
        "ledger_sequence_high_watermark": sealed_at,
        **members,
    }
    return "snapshot", _by_actor(patient, snapshot=snapshot, sealed_at_sequence=sealed_at)


def _events(patient: Patient) -> int:
    return sum(entry["kind"] == "event" for entry in patient.entries())


def _vectors(patient: Patient, *rows: dict[str, str], dimensions: int = 2) -> None:
    folder = patient.layout.embeddings / "space"
    folder.mkdir(parents=True)
    space = {"dimensions": dimensions, "embedding_space_id": SPACE_ID}
    (folder / "space.json").write_bytes(canonical(space) + b"\n")
    (folder / "00000001.f32").write_bytes(bytes(4 * dimensions * len(rows)))
    lines = b"".join(canonical(row) + b"\n" for row in rows)
    (folder / "00000001.jsonl").write_bytes(lines)


@gives("descriptor-invalid")
def a_space_described_twice(patient: Patient) -> None:
    patient.append(_space(patient))
    patient.append(_space(patient))


@gives("descriptor-invalid")
def a_snapshot_id_used_twice(patient: Patient) -> None:
    for _ in range(2):
        patient.append(_snapshot(patient, sealed_at=_events(patient)))


@gives("descriptor-invalid")
def a_snapshot_sealed_at_another_event(patient: Patient) -> None:
    patient.append(_snapshot(patient, sealed_at=_events(patient) - 1))


@gives("descriptor-invalid")
def a_snapshot_of_the_future(patient: Patient) -> None:
    now = _events(patient)
    patient.append(_snapshot(patient, sealed_at=now, ledger_sequence_high_watermark=now + 1))


@gives("snapshot-digest-wrong")
def a_snapshot_of_something_else(patient: Patient) -> None:
    sealed = {
        "digest": f"sha256:{'0' * 64}",
        "digest_algorithm": "sha-256",
        "canonicalization_profile": "pamctl-snapshot-1",
    }
    patient.append(_snapshot(patient, sealed_at=_events(patient), **sealed))


@gives("descriptor-invalid")
def a_snapshot_of_a_space_that_came_later(patient: Patient) -> None:
    included = {"included_embedding_space_ids": [SPACE_ID]}
    patient.append(_snapshot(patient, sealed_at=_events(patient), **included))
    patient.append(_space(patient))


@gives("embedding-orphaned")
def vectors_of_no_space(patient: Patient) -> None:
    _vectors(patient)


@gives("embedding-orphaned")
def vectors_of_other_dimensions(patient: Patient) -> None:
    patient.append(_space(patient, dimensions=3))
    _vectors(patient)


@gives("embedding-orphaned")
def a_vector_of_no_version(patient: Patient) -> None:
    patient.append(_space(patient))
    known = patient.current("mem:alone")
    of_none = {"object_id": "mem:alone", "version_id": f"ver:{'9' * 32}"}
    of_one = {"object_id": "mem:alone", "version_id": known["version_id"]}
    _vectors(patient, of_one, of_none)


@gives("embedding-orphaned")
def vectors_under_no_name(patient: Patient) -> None:
    (patient.layout.embeddings / "space").mkdir(parents=True)


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
