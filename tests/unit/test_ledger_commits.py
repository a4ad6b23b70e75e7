"""The short way through a ledger: it tells what reading every entry tells, and sees as much."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pamctl
from pamctl.encoding.canonical import canonical
from pamctl.errors import StoreDamaged
from pamctl.index.scope_index import ScopeIndex
from pamctl.store import ledger
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.plain_lines import is_plain_line
from pamctl.store.records import START, Commit, Position, Transaction
from tests.conftest import FixedClock, FixedEntropy
from tests.hand_made_ledger import table_rows

SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:ada", "actor_kind": "human"}
Found = list[Transaction | Commit]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> ScopeLayout:
    """A scope in which some of nearly everything happened."""
    store = pamctl.init_store(
        tmp_path_factory.mktemp("commits") / ".pam",
        default_scope=SCOPE,
        clock=FixedClock(),
        entropy=FixedEntropy(),
    )
    asked: dict[str, Any] = {"scope_id": SCOPE, "actor": ACTOR}
    noted: dict[str, Any] = {**asked, "provenance": {"activity": "noted"}}
    with store.group() as group:
        for number in range(6):
            group.perform(
                "create",
                {
                    **noted,
                    "object_id": f"mem:{number}",
                    "object_type": "claim",
                    "canonical_content": {"text": f"tea and cake {number}", "of": ["日本語"]},
                    "idempotency_key": f"key:{number}" if number % 2 else f"schlüssel:{number}",
                },
            )
    with store.group(atomic=True) as group:
        for number in (7, 8):
            named = {"object_id": f"mem:{number}", "idempotency_key": f"key:{number}"}
            content = {"object_type": "claim", "canonical_content": f"together {number}"}
            group.perform("create", {**noted, **named, **content})

    def expected(number: int) -> dict[str, Any]:
        current = store.read(scope_id=SCOPE, object_id=f"mem:{number}")
        return {"object_id": f"mem:{number}", "expected_version_id": current["version_id"]}

    store.update(**noted, **expected(1), canonical_content={"text": "coffee"}, idempotency_key="u")
    states: dict[str, Any] = {"dimension": "lifecycle", "target_state": "archived"}
    store.transition(**asked, **expected(2), **states, idempotency_key="t")
    store.relate(
        **noted,
        source_object_id="mem:0",
        target_object_id="mem:1",
        relationship_type="supports",
        directionality="directed",
        idempotency_key="r",
    )
    store.delete(**asked, **expected(3), idempotency_key="d")
    store.pack(scope_id=SCOPE)
    store.delete(**asked, **expected(4), erase=True, policy_basis="policy:subject")
    store.update(**noted, **expected(1), canonical_content="coffee and milk")
    layout = store.open_scope(SCOPE).layout
    store.close()
    return layout


def places(found: Iterable[Transaction | Commit]) -> list[Position]:
    return [one.after for one in found]


def outcome(read: Callable[[], Iterable[Transaction | Commit]]) -> tuple[list[Position], str]:
    """Where each that was found ends, and what was wrong then."""
    found: Found = []
    try:
        found.extend(read())
    except StoreDamaged as damage:
        return places(found), str(damage)
    return places(found), ""


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ledger is long enough for the short way."""
    monkeypatch.setattr(ledger, "_LONG_BYTES", 0)


def test_a_short_ledger_is_read_entry_by_entry(layout: ScopeLayout) -> None:
    assert list(Ledger(layout).commits()) == list(Ledger(layout).transactions(START))


@pytest.mark.usefixtures("long")
def test_a_commit_tells_what_its_entries_tell(layout: ScopeLayout) -> None:
    long, short = list(Ledger(layout).transactions(START)), list(Ledger(layout).commits())
    assert places(short) == places(long)
    commits = [one for one in short if isinstance(one, Commit)]
    assert 8 <= len(commits) < len(long)
    for commit, transaction in zip(short, long, strict=True):
        if isinstance(commit, Transaction):
            assert commit == transaction
            continue
        event, *rest = transaction.entries
        told = (event.body[name] for name in ("sequence", "event_type", "event_id", "recorded_at"))
        assert commit.event == tuple(told)
        assert commit.line == (event.n, event.offset, event.length)
        named = event.body.get("object_id"), event.body.get("relationship_id")
        assert commit.named == named
        assert event.version is not None
        assert commit.version == transaction.versions[event.version]
        keys = [(entry.body["key"], entry.n, entry.offset, entry.length) for entry in rest]
        assert ([] if commit.key is None else [commit.key]) == keys
    assert {len(commit.key or ()) for commit in commits} == {0, 4}
    assert any(commit.named[1] for commit in commits)


@pytest.mark.usefixtures("long")
def test_an_index_of_either_is_the_same(layout: ScopeLayout) -> None:
    taken_in = ScopeIndex(None)
    transactions = list(Ledger(layout).transactions(START))
    assert taken_in.apply(START, transactions)
    rows = table_rows(taken_in)
    assert rows["version"]
    assert rows["text"]
    assert table_rows(ScopeIndex.made_of(Ledger(layout).commits())) == rows
    assert table_rows(ScopeIndex.made_of(transactions)) == rows


def edited(line: bytes, **members: Any) -> bytes:
    return canonical({**json.loads(line), **members})


def test_every_damage_is_met_where_a_reader_of_entries_meets_it(
    layout: ScopeLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters, `prev`, order and form are altered in each line, and some bytes anywhere."""
    whole = layout.ledger.read_bytes()
    lines = whole.splitlines(keepends=True)
    damaged = []
    for at, line in enumerate(lines):
        entry = json.loads(line)
        before, behind = b"".join(lines[:at]), b"".join(lines[at + 1 :])
        for name in ("n", "tx", "i", "of"):
            damaged += [
                before + edited(line, **{name: value}) + b"\n" + behind
                for value in (entry[name] + 1, True)
            ]
        damaged.append(before + edited(line, prev="0" * 64) + b"\n" + behind)
        body = {**entry["body"], "sequence": 3}
        damaged.append(before + edited(line, body=body) + b"\n" + behind)
        damaged.append(before + line.replace(b'"tx":', b'"tx": ') + behind)
        damaged.append(before + line + line + behind)
        damaged.append(before + behind)
        damaged.append(before + line[: len(line) // 2])
    chance = random.Random(7)
    for _ in range(60):
        flipped = bytearray(whole)
        flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(flipped))
    other = ScopeLayout(tmp_path / layout.root.name)
    shutil.copytree(layout.root, other.root)
    reader = Ledger(other)
    met = set()
    for data in damaged:
        other.ledger.write_bytes(data)
        entries = outcome(lambda: reader.transactions(START))
        with monkeypatch.context() as patched:  # where plain lines are told from others
            patched.setattr(ledger, "_LONG_BYTES", 0)
            assert outcome(lambda: reader.transactions(START)) == entries
            assert outcome(reader.commits) == entries
        met.add(entries[1].split(":")[0].partition("byte ")[2].partition(" ")[2])
    assert len(met) > 5


def lines_of(layout: ScopeLayout) -> list[bytes]:
    return layout.ledger.read_bytes().splitlines()


def test_the_usual_lines_are_plain(layout: ScopeLayout) -> None:
    kinds = {
        (json.loads(line)["kind"], json.loads(line)["body"].get("event_type"))
        for line in lines_of(layout)
        if is_plain_line(line)
    }
    changes = "object_created", "object_updated", "lifecycle_transitioned", "object_deleted"
    events = {*changes, "relationship_created"}
    assert {("idempotency", None)} | {("event", name) for name in events} <= kinds


PLAIN = (
    b'{"body":{"actor":{"actor_id":"a","actor_kind":"human"},"event_id":"e","event_type":"t",'
    b'"object_id":"o","operation_id":"p","payload":{"object_type":"claim"},"recorded_at":"r",'
    b'"scope_id":"s","sequence":12,"version_id":"v"},"i":1,"kind":"event","n":34,"of":2,'
    b'"prev":"%b","tx":34,"version":"sha256:%b"}' % (b"0" * 64, b"a" * 64)
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"s"', '"ß"'.encode()),
        (b'"s"', b'"\\u0073"'),
        (b'"s"', b'"\\/"'),
        (b'"s"', b'"a\tb"'),
        (b'"s"', b"1"),
        (b":12", b":012"),
        (b":12", b":12.0"),
        (b":12", b":1e2"),
        (b":12", b":-12"),
        (b":12", b":0"),
        (b":12", b":1234567890123456"),
        (b'"tx":34', b'"tx":34,"tx":34'),
        (b'"object_id":"o",', b'"object_id":"o","object_id":"o",'),
        (b'"i":1,"kind":"event"', b'"kind":"event","i":1'),
        (b'"kind":"event"', b'"kind":"idempotency"'),
        (b'"kind":"event"', b'"kind":"pack"'),
        (b"aaaa", b"AAAA"),
        (b"aaaa", b"aaa"),
        (b"}", b"} "),
        (b'"tx":34', b'"tx":34\n'),
        (b'{"object_type":"claim"}', b'{"object_type":["claim"]}'),
        (b'{"object_type":"claim"}', b'{"object_type":"claim","a":"b"}'),
    ],
)
def test_lines_that_need_a_closer_look(old: bytes, new: bytes) -> None:
    assert is_plain_line(PLAIN)
    assert old in PLAIN
    assert not is_plain_line(PLAIN.replace(old, new, 1))


_INSERTED = st.sampled_from([b'"', b"\\", b",", b"}", b"{", b"0", b"1", b" ", b":", b"e", b"\xc3"])


@settings(max_examples=150)
@given(st.data())
def test_what_is_plain_is_canonical(data: Any) -> None:
    line = bytearray(PLAIN)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(line)))
        line[at : at + data.draw(st.integers(0, 2))] = data.draw(_INSERTED | st.binary(max_size=2))
    changed = bytes(line)
    if is_plain_line(changed):
        assert canonical(json.loads(changed)) == changed
