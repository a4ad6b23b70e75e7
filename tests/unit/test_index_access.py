"""Indexes that queries make for themselves: when, which, and what happens where they cannot."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pamctl.index import access
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import Look, Range, StructuredQuery
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date

OBJECTS = 40


@pytest.fixture
def ledger() -> HandMadeLedger:
    made = HandMadeLedger()
    for number in range(OBJECTS):
        made.create(
            f"mem:{number:02}",
            object_type="task" if number == 7 else "claim",
            actor={"actor_id": f"actor:{number % 2}", "actor_kind": "human"},
            validation_state="corroborated" if number > 30 else "unverified",
            observed_at=f"2026-01-{number % 28 + 1:02}T00:00:00Z",
        )
    return made


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope of forty is large, ten are few, and four tell how dense versions lie."""
    monkeypatch.setattr(access, "INDEXED_FROM_VERSIONS", OBJECTS)
    monkeypatch.setattr(access, "_RARE", 10)
    monkeypatch.setattr(access, "_FIRST", 4)


def looked(index: ScopeIndex, **asked: Any) -> tuple[list[str], Look]:
    look = Look()
    page = index.search(StructuredQuery(look=look, **asked))
    return [row.object_id for row in page.rows], look


def made(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
    return {name for (name,) in rows if name in access._COLUMNS}


def test_a_small_scope_has_none(tmp_path: Path, ledger: HandMadeLedger) -> None:
    index = ledger.index(tmp_path / "index.sqlite")
    assert looked(index, object_type=["task"])[0] == ["mem:07"]
    index.close()
    assert made(tmp_path / "index.sqlite") == set()


@pytest.mark.usefixtures("_large")
def test_what_is_asked_for_is_indexed_and_nothing_else(
    tmp_path: Path, ledger: HandMadeLedger
) -> None:
    index = ledger.index(tmp_path / "index.sqlite")
    found, look = looked(index, object_type=["task"])
    assert found == ["mem:07"]
    assert look.rows == 1
    looked(index, text="word")
    looked(index, object_id=["mem:01"])
    index.close()
    assert made(tmp_path / "index.sqlite") == {"version_by_object_type"}


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize(
    ("asked", "name", "most"),
    [
        # One value is rare, the other is not: by the rare one, whichever it is.
        ({"object_type": ["task"], "actor_id": ["actor:1"]}, "version_by_object_type", 1),
        # Neither is: by the one whose versions lie further apart.
        ({"object_type": ["claim"], "actor_id": ["actor:1"], "limit": 3}, "by_actor_id", 5),
        ({"ranges": [Range("observed_at", None, "2026-01-02T00:00:00Z")]}, "by_observed_at", 4),
        ({"order_by": ["observed_at:desc"], "limit": 2}, "version_by_observed_at", 4),
        ({"order_by": ["observed_at"], "object_type": ["task"]}, "version_by_object_type", 2),
        ({"order_by": ["object_id"], "limit": 2}, "version_by_object", 4),
        (
            {
                "validation_state": ["corroborated"],
                "lifecycle_state": ["active"],
                "availability_state": ["available"],
                "retention_state": ["retained"],
            },
            "version_by_states",
            9,
        ),
    ],
)
def test_the_way_that_looks_at_least(
    ledger: HandMadeLedger, asked: dict[str, Any], name: str, most: int
) -> None:
    small = HandMadeLedger.index(ledger)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(access, "INDEXED_FROM_VERSIONS", OBJECTS + 1)
        expected = looked(small, **asked)[0]
    found, look = looked(ledger.index(), **asked)
    assert found == expected
    assert any(name in step for step in look.steps)
    assert look.rows <= most


@pytest.mark.usefixtures("_large")
def test_an_index_is_kept_up_to_date(tmp_path: Path, ledger: HandMadeLedger) -> None:
    index = ledger.index(tmp_path / "index.sqlite")
    looked(index, object_type=["task"])
    ledger.create("mem:new", object_type="task")
    ledger.revise("mem:07", object_type="claim")
    bring_up_to_date(index, ledger)
    assert looked(index, object_type=["task"])[0] == ["mem:new"]


@pytest.mark.usefixtures("_large")
def test_who_may_only_read_goes_without(tmp_path: Path, ledger: HandMadeLedger) -> None:
    path = tmp_path / "index.sqlite"
    ledger.index(path).close()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as reading:
        way = access.access(reading, StructuredQuery(object_type=["task"]), _in_ledger_order())
        assert way.page == "NOT INDEXED"
    assert made(path) == set()


@pytest.mark.usefixtures("_large")
def test_who_meets_a_writer_goes_without(tmp_path: Path, ledger: HandMadeLedger) -> None:
    path = tmp_path / "index.sqlite"
    index = ledger.index(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        assert looked(index, object_type=["task"])[0] == ["mem:07"]
        writing.execute("ROLLBACK")
    assert made(path) == set()
    assert looked(index, object_type=["task"])[0] == ["mem:07"]
    assert made(path) == {"version_by_object_type"}


def _in_ledger_order() -> Any:
    from pamctl.index.ordering import order

    return order(StructuredQuery())
