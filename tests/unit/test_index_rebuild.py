"""Indexes that are made anew by several processes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pamctl
from pamctl.cli.commands import index

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
