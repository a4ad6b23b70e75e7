"""Faults of a ledger: its lines, their chain and its end."""

from __future__ import annotations

from pamctl.audit.pins import Pin
from pamctl.encoding.digests import sha256_hex
from pamctl.limits import DOCUMENT_BYTES_MAX
from tests.damaged.faults.declared import gives, of_kind
from tests.damaged.healthy import Patient, chained


@gives("ledger-missing")
def ledger_gone(patient: Patient) -> None:
    patient.ledger.unlink()


@gives("ledger-missing")
def ledger_empty(patient: Patient) -> None:
    patient.ledger.write_bytes(b"")


@gives("ledger-wrong-scope")
def ledger_of_another_store(patient: Patient) -> None:
    patient.change(of_kind("scope"), lambda e: e["body"].update(store_id="store:" + "0" * 32))


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
    patient.change(of_kind("policy"), lambda entry: entry["body"].update(policy={}))


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
    patient.change(of_kind("policy"), lambda entry: entry.update(n=entry["n"] + 5))


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
