"""Stores and scopes made with nothing but pamctl.store, and processes that die on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from pamctl.store.commit import NewEntry, NewTransaction, NewVersion, ScopeWriter
from pamctl.store.directory import StoreDirectory
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import START, Position, Transaction

SCOPE_ID = "workspace:default"
SCOPE = {"scope_id": SCOPE_ID, "scope_kind": "workspace"}
CONFIG = {
    "format": "pam-store",
    "format_version": 1,
    "store_id": "store:00000000000000000000000000000001",
    "created_at": "2026-01-01T00:00:00.000000Z",
}


def new_store(root: Path) -> StoreDirectory:
    return StoreDirectory.create(root, CONFIG)


def scope_entry(scope_id: str = SCOPE_ID) -> NewEntry:
    body = {**SCOPE, "scope_id": scope_id, "store_id": CONFIG["store_id"], "created_at": "t"}
    return NewEntry("scope", body)


def new_scope(root: Path) -> ScopeLayout:
    """A scope in a new store, its ledger holding one entry."""
    return new_store(root).create_scope(SCOPE, [[scope_entry()]])


def quarantine(layout: ScopeLayout) -> Path:
    return layout.root.parents[1] / "quarantine"


def version(number: int, content: Any = None) -> NewVersion:
    """A version whose bytes follow from its number."""
    envelope = {"object_id": f"mem:{number}", "canonical_content": content}
    return NewVersion.seal(envelope, number.to_bytes(16, "big"))


def event(sequence: int, committed: NewVersion | None = None) -> NewEntry:
    return NewEntry("event", {"sequence": sequence}, committed)


def creation(sequence: int) -> NewTransaction:
    """An event with its version, and the record of the request's key."""
    record = {"key": f"key {sequence}", "operation": "create"}
    return [event(sequence, version(sequence)), NewEntry("idempotency", record)]


def commit(layout: ScopeLayout, *transactions: NewTransaction) -> list[Transaction]:
    """Commit behind whatever is there, as a new writer does."""
    with ScopeWriter(layout, quarantine(layout)) as writer:
        base = end(layout)
        writer.recover(base)
        return writer.commit(base, transactions)


def transactions(layout: ScopeLayout) -> list[Transaction]:
    return list(Ledger(layout).transactions(START))


def end(layout: ScopeLayout) -> Position:
    """Behind the last complete transaction."""
    found = transactions(layout)
    return found[-1].after if found else START


def files_below(root: Path) -> dict[str, bytes]:
    """Every file below `root`, by its path there."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


_DYING = """
import os, sys

calls_left = int(sys.argv[1])

def dying(real):
    def call(*arguments, **options):
        global calls_left
        calls_left -= 1
        if calls_left < 0:
            os._exit(137)
        return real(*arguments, **options)
    return call

def arm():
    for name in ("write", "pwrite", "fsync", "rename", "link", "unlink", "mkdir", "ftruncate"):
        setattr(os, name, dying(getattr(os, name)))

"""
DIED = 137


def run_until(calls: int, program: str, *arguments: str) -> int:
    """Run a program that dies, once it has said `arm()`, instead of the durable call that
    follows `calls` of them. Its status: DIED, or 0 when it got to its end before."""
    finished = subprocess.run(
        [sys.executable, "-c", _DYING + program, str(calls), *arguments],
        cwd=Path(__file__).resolve().parents[1],
        check=False,
        timeout=60,
    )
    assert finished.returncode in (0, DIED)
    return finished.returncode
