"""The ledger reader: transactions, positions, and where it stops."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.errors import StoreDamaged
from pamctl.store.commit import NewEntry
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import CHAIN_START, START, Position, Transaction
from tests.scope_ledgers import (
    commit,
    creation,
    end,
    event,
    files_below,
    new_scope,
    quarantine,
    scope_entry,
    transactions,
    version,
)


@pytest.fixture
def layout(tmp_path: Path) -> ScopeLayout:
    """A scope whose ledger has transactions of one, two and three entries, one of a pack."""
    layout = new_scope(tmp_path / ".pam")
    commit(layout, creation(1))
    commit(layout, [event(2, version(2))], creation(3), [event(4)])
    note = NewEntry("policy", {"policy": {"note": "naïve ☃ \x00 \n"}})
    commit(layout, [event(5, version(5)), event(6), note])
    return layout


def test_transactions_as_they_were_committed(layout: ScopeLayout) -> None:
    found = transactions(layout)
    kinds = [[entry.kind for entry in transaction.entries] for transaction in found]
    assert kinds == [
        ["scope"],
        ["event", "idempotency"],
        ["pack"],
        ["event"],
        ["event", "idempotency"],
        ["event"],
        ["event", "event", "policy"],
    ]
    assert [entry.n for one in found for entry in one.entries] == list(range(1, 12))
    assert [one.after.sequence for one in found] == [0, 1, 1, 2, 3, 4, 6]
    for number in (1, 2, 3, 5):
        sealed = version(number)
        (stored,) = [
            one.versions[sealed.address] for one in found if sealed.address in one.versions
        ]
        assert stored.envelope == sealed.envelope
        assert (stored.pack is None) == (number in (1, 5))


def test_every_line_is_canonical_and_chained(layout: ScopeLayout) -> None:
    data = layout.ledger.read_bytes()
    assert data.endswith(b"\n")
    previous = CHAIN_START
    for n, line in enumerate(data[:-1].split(b"\n"), 1):
        entry = Ledger(layout).line(data.index(line), len(line))
        assert canonical(entry) == line
        assert (entry["n"], entry["prev"]) == (n, previous)
        previous = sha256_hex(line)
    assert end(layout).head == previous


def test_positions_say_where_their_head_is(layout: ScopeLayout) -> None:
    data = layout.ledger.read_bytes()
    for transaction in transactions(layout):
        after = transaction.after
        line = data[after.offset - after.head_bytes : after.offset]
        assert line.endswith(b"\n")
        assert sha256_hex(line[:-1]) == after.head
        assert data[: after.offset].count(b"\n") == after.entries
        last = transaction.entries[-1]
        assert data[last.offset : last.offset + last.length] == line[:-1]


def test_reading_goes_on_from_any_position(layout: ScopeLayout) -> None:
    found = transactions(layout)
    ledger = Ledger(layout)
    for number, transaction in enumerate(found, 1):
        assert list(ledger.transactions(transaction.after)) == found[number:]


def test_a_ledger_holds_the_positions_it_gave_and_no_others(layout: ScopeLayout) -> None:
    ledger = Ledger(layout)
    positions = [transaction.after for transaction in transactions(layout)]
    assert all(ledger.holds(position) for position in [START, *positions])
    last = positions[-1]
    others = [
        Position(last.offset, last.entries, last.sequence, "1" * 64, last.head_bytes),
        Position(last.offset - 1, last.entries, last.sequence, last.head, last.head_bytes),
        Position(last.offset, last.entries, last.sequence, last.head, last.head_bytes - 1),
        Position(last.offset + 9, last.entries, last.sequence, last.head, last.head_bytes),
        Position(5, 1, 1, last.head, 9),
    ]
    assert not any(ledger.holds(position) for position in others)
    os.truncate(layout.ledger, positions[-2].offset)
    assert ledger.holds(positions[-2])
    assert not ledger.holds(positions[-1])


def test_an_abandoned_reading_leaves_nothing_behind(layout: ScopeLayout) -> None:
    # Packed versions are noted while their pack's transactions are read. A reading that is
    # given up half way must not make the next one think that it has seen the pack.
    ledger = Ledger(layout)
    whole = transactions(layout)
    for seen in range(len(whole)):
        reading = ledger.transactions(START)
        for _ in range(seen):
            next(reading)
        del reading
        assert list(ledger.transactions(START)) == whole


def test_a_missing_version_is_not_the_ledgers_damage(layout: ScopeLayout) -> None:
    gone = version(1)
    layout.version_file(gone.address).unlink()
    found = transactions(layout)
    stored = found[1].versions[gone.address]
    assert (stored.envelope, stored.length) == (None, 0)
    assert len(found) == 7


def test_a_missing_ledger_is_damage(layout: ScopeLayout) -> None:
    layout.ledger.unlink()
    with pytest.raises(StoreDamaged, match="missing"):
        Ledger(layout).size()


# Torn tails


def complete(layout: ScopeLayout, length: int) -> list[Transaction]:
    return [one for one in transactions(layout) if one.after.offset <= length]


def test_cut_at_every_byte_it_yields_the_complete_transactions(layout: ScopeLayout) -> None:
    data = layout.ledger.read_bytes()
    whole = transactions(layout)
    for length in range(len(data) - 1, -1, -1):
        os.truncate(layout.ledger, length)
        expected = [one for one in whole if one.after.offset <= length]
        assert transactions(layout) == expected, length


def test_nuls_in_the_place_of_what_was_to_be_written(layout: ScopeLayout) -> None:
    # A power cut can lengthen a file and lose what was to be in it.
    data = layout.ledger.read_bytes()
    whole = transactions(layout)
    start = whole[-2].after.offset
    for place in range(start, len(data), 7):
        for tail in (
            b"\x00" * (len(data) - place),
            b"\x00" * 4096,
            b"\x00\n" + data[place:],
            b"\x00" + data[place + 1 :],
        ):
            layout.ledger.write_bytes(data[:place] + tail)
            assert transactions(layout) == whole[:-1], (place, tail)
    layout.ledger.write_bytes(data + b"\x00" * 4096)
    assert transactions(layout) == whole


def test_a_reader_meets_a_writer_at_work(layout: ScopeLayout) -> None:
    """Bytes that arrive while a reading is under way are read by it or by the next."""
    data = layout.ledger.read_bytes()
    whole = transactions(layout)
    os.truncate(layout.ledger, whole[2].after.offset + 10)
    reading = Ledger(layout).transactions(START)
    found = [next(reading)]
    layout.ledger.write_bytes(data)
    found += list(reading)
    assert found == whole[: len(found)]
    assert found + list(Ledger(layout).transactions(found[-1].after)) == whole


@pytest.mark.parametrize("read_bytes", [50, 256 * 1024])
def test_a_reader_meets_the_recovery_of_a_torn_tail(
    layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    """Part of the torn bytes was read before they were cut, the rest where others now stand."""
    monkeypatch.setattr("pamctl.store.ledger._READ_BYTES", read_bytes)
    before = layout.ledger.read_bytes()
    tails = []
    for transaction in ([event(7), event(8), event(9), event(10)], [event(7), event(8), event(9)]):
        commit(layout, transaction)
        tails.append(layout.ledger.read_bytes()[len(before) :])
        os.truncate(layout.ledger, len(before))
    torn, new = tails
    layout.ledger.write_bytes(before + new)
    whole = transactions(layout)
    for length in range(len(torn)):
        layout.ledger.write_bytes(before + torn[:length])
        reading = Ledger(layout).transactions(START)
        found = [next(reading) for _ in range(len(whole) - 1)]
        layout.ledger.write_bytes(before + new)
        assert found + list(reading) in (whole, whole[:-1]), length


def test_where_a_read_ends_makes_no_difference(
    layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = transactions(layout)
    for read_bytes in (*range(1, 40), 150, 151, 152, 1000):
        monkeypatch.setattr("pamctl.store.ledger._READ_BYTES", read_bytes)
        assert transactions(layout) == whole


# Bounds


def test_a_line_of_the_greatest_length_is_read(
    layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = max(len(line) for line in layout.ledger.read_bytes().split(b"\n"))
    monkeypatch.setattr("pamctl.store.ledger.DOCUMENT_BYTES_MAX", longest)
    assert len(transactions(layout)) == 7
    monkeypatch.setattr("pamctl.store.ledger.DOCUMENT_BYTES_MAX", longest - 1)
    with pytest.raises(StoreDamaged, match="DOCUMENT_BYTES_MAX") as damage:
        transactions(layout)
    line = next(x for x in layout.ledger.read_bytes().split(b"\n") if len(x) == longest)
    assert damage.value.details["offset"] == layout.ledger.read_bytes().index(line)


@pytest.mark.parametrize("byte", [b"a", b"\x00"])
def test_a_giant_line_is_refused_without_reading_it_all(layout: ScopeLayout, byte: bytes) -> None:
    size = layout.ledger.stat().st_size
    with open(layout.ledger, "ab") as ledger:
        ledger.write(b'{"' + byte * (16 * 1024 * 1024))
    with pytest.raises(StoreDamaged, match="DOCUMENT_BYTES_MAX") as damage:
        transactions(layout)
    assert damage.value.details["offset"] == size
    with pytest.raises(StoreDamaged, match="DOCUMENT_BYTES_MAX"):
        Ledger(layout).line(size, 2**40)


def test_what_stands_at_an_offset_may_be_no_entry(layout: ScopeLayout) -> None:
    size = layout.ledger.stat().st_size
    for offset, length in ((3, 9), (size, 10), (size - 4, 3)):
        with pytest.raises(StoreDamaged) as damage:
            Ledger(layout).line(offset, length)
        assert damage.value.details["offset"] == offset


def test_reading_writes_nothing(layout: ScopeLayout) -> None:
    layout.ledger.write_bytes(layout.ledger.read_bytes()[:-5])
    before = files_below(layout.root)
    transactions(layout)
    assert files_below(layout.root) == before
    assert not quarantine(layout).exists()


def test_one_scope_entry_is_a_ledger(tmp_path: Path) -> None:
    layout = new_scope(tmp_path / ".pam")
    (first,) = transactions(layout)
    assert first.entries[0].body == scope_entry().body
    assert first.after.sequence == 0
