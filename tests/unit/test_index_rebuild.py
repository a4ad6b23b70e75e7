"""Indexes that are made anew, by several processes or because there is none."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import Any

import pytest

import pamctl
from pamctl.cli.commands import index
from pamctl.index import making
from pamctl.index.intake import Intake
from pamctl.index.scope_index import ScopeIndex
from pamctl.service import open_scope
from tests.hand_made_ledger import HandMadeLedger, table_rows

HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
SCOPES = ("workspace:a", "workspace:b")


@pytest.mark.parametrize("worth_it", [0, 1 << 30])
def test_it_makes_no_difference_who_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worth_it: int
) -> None:
    monkeypatch.setattr(index, "_WORTH_IT", worth_it)
    store = pamctl.init_store(tmp_path / ".pam", default_scope=SCOPES[0])
    for scope_id in SCOPES:
        store.create(
            scope_id=scope_id,
            object_type="claim",
            object_id="mem:tea",
            canonical_content="tea",
            actor=HUMAN,
            provenance={"activity": "observed"},
        )
    call: Any = SimpleNamespace(store=store, actor=HUMAN)
    states = index._rebuilt(call, list(SCOPES), 2)
    assert [states[scope_id]["ledger_sequence"] for scope_id in SCOPES] == [2, 2]
    for scope_id in SCOPES:
        assert store.read(scope_id=scope_id, object_id="mem:tea")["canonical_content"] == "tea"
        events = store.log(scope_id=scope_id)["items"]
        assert [event["event_type"] for event in events] == ["object_created", "index_rebuilt"]
        assert events[1]["actor"] == HUMAN
    store.close()


def test_an_index_that_is_gone_is_made_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(pamctl.init_store(tmp_path / ".pam", default_scope=SCOPES[0])) as store:
        for number in range(3):
            store.create(
                scope_id=SCOPES[0],
                object_type="claim",
                object_id=f"mem:{number}",
                canonical_content=f"tea {number}",
                actor=HUMAN,
                provenance={"activity": "observed"},
            )
        before = table_rows(store.open_scope(SCOPES[0]).index)
    rmtree(tmp_path / ".pam" / "index")
    monkeypatch.setattr(open_scope, "_AT_ONCE_BYTES", 0)
    # Nothing is taken in by and by, and what is written next is.
    monkeypatch.setattr(open_scope, "portions", lambda *_: [])
    with closing(pamctl.open_store(tmp_path / ".pam")) as store:
        scope = store.open_scope(SCOPES[0], fresh=True)
        assert table_rows(scope.index) == before
        assert any((tmp_path / ".pam" / "index").iterdir())
        row = scope.index.current("mem:1")
        assert row is not None
        store.delete(
            scope_id=SCOPES[0],
            object_id="mem:1",
            expected_version_id=row.version_id,
            actor=HUMAN,
        )
        assert scope.index.counts() == {"objects": 3, "versions": 4, "events": 4}


@pytest.mark.parametrize("kind", ["keys", "others"])
def test_rows_are_put_in_as_they_come_whatever_they_are(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A ledger may hold any number of refusals that are on record, or of what is no event."""
    monkeypatch.setattr(making, "_ENTRIES_AT_ONCE", 4)
    monkeypatch.setattr(making, "_ROWS_AT_ONCE", 8)
    held: list[int] = []
    insert = making.insert_rows

    def insert_rows(database: Any, intake: Intake, *texts: Any) -> tuple[int, int, int]:
        held.append(len(getattr(intake, kind)))
        return insert(database, intake, *texts)

    monkeypatch.setattr(making, "insert_rows", insert_rows)
    ledger = HandMadeLedger()
    for number in range(40):
        if kind == "keys":
            ledger.entry("idempotency", {"key": f"key {number}"})
        else:
            ledger.entry("checkpoint", {})
    ScopeIndex.made_of(ledger.transactions).close()
    assert sum(held) == 40
    assert max(held) <= 12
