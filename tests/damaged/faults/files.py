"""Faults of the store's files, and of what is derived from the ledgers."""

from __future__ import annotations

import json
import os

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.store.layout import ScopeLayout
from tests.damaged.faults.declared import gives
from tests.damaged.healthy import SCOPE, Patient


@gives("store-file-invalid")
def store_file_gone(patient: Patient) -> None:
    patient.store.store_file.unlink()


@gives("store-file-invalid")
def store_file_not_canonical(patient: Patient) -> None:
    value = json.loads(patient.store.store_file.read_bytes())
    patient.store.store_file.write_text(json.dumps(value) + "\n")


@gives("store-file-invalid")
def store_file_says_nothing(patient: Patient) -> None:
    patient.store.store_file.write_bytes(b"{}\n")


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
def key_record_that_is_too_long(patient: Patient) -> None:
    path = patient.store.keys / "main.json"
    value = json.loads(path.read_bytes())
    path.write_bytes(canonical({**value, "reason": "r" * 70_000}) + b"\n")


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
