"""What a writer does first: set aside what another one left when it died.

Nothing is dropped. Torn bytes of a ledger, records of imports that came to nothing and files
that never reached their names go to `quarantine/`, under names that say where they were found.
"""

from __future__ import annotations

import os
from pathlib import Path

from pamctl.encoding.digests import sha256_hex
from pamctl.errors import StoreDamaged
from pamctl.store import files
from pamctl.store.custody import unfinished
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.plain_files import open_plain
from pamctl.store.records import Position


def set_aside_torn_tail(layout: ScopeLayout, quarantine: Path, end: Position) -> str | None:
    """Cut the ledger back to its last complete transaction, keeping what followed.

    The caller holds the scope's lock and has read up to `end`, so nobody is writing these
    bytes. Returns a sentence for the user, None when there was nothing to do. Raises
    StoreDamaged when `end` is not where the ledger ends.
    """
    with os.fdopen(open_plain(layout.ledger), "rb") as ledger:
        length = ledger.seek(0, os.SEEK_END)
        ledger.seek(end.offset)
        tail = ledger.read()
    if length == end.offset:
        return None
    # What was acknowledged is never cut, whoever says that it ends here.
    if length < end.offset or next(Ledger(layout).transactions(end), None) is not None:
        raise StoreDamaged(
            f"{layout.ledger} does not end at byte {end.offset}, as it did when it was read; "
            "nothing was changed",
            hint="delete the index; if that does not help, run `pamctl fsck`",
            path=str(layout.ledger),
            offset=end.offset,
        )
    if _whole_entries_behind_lost_bytes(tail):
        raise StoreDamaged(
            f"{layout.ledger} lost bytes behind byte {end.offset}, and entries stand behind them "
            "that may have been acknowledged; nothing was changed",
            hint="run `pamctl fsck` to see what is damaged, `pamctl repair` to go on without it",
            path=str(layout.ledger),
            offset=end.offset,
        )
    folder = _folder(quarantine, layout)
    kept = folder / f"ledger-tail-at-{end.offset}-{sha256_hex(tail)[:12]}.jsonl"
    files.create_idempotent(kept, tail)
    files.cut_durably(layout.ledger, end.offset)
    return (
        f"a writer died while it appended to {layout.ledger}; the {len(tail)} bytes that were "
        f"never acknowledged are kept in {kept}"
    )


def _whole_entries_behind_lost_bytes(tail: bytes) -> bool:
    """Whether a line that could be an entry follows zero bytes. A torn append may leave that
    too, but so does a device that lost a block in the middle: a person decides."""
    _, zeros, rest = tail.partition(b"\x00")
    lines = rest.split(b"\n")[1:-1] if zeros else []
    return any(line.startswith(b'{"body":') and line.endswith(b"}") for line in lines)


def set_aside_staged_files(layout: ScopeLayout, quarantine: Path) -> str | None:
    """Move files that a dead writer left on their way to their names.

    The caller holds the scope's lock. Returns a sentence for the user, or None.
    """
    with os.scandir(layout.staging) as entries:
        left = [entry.name for entry in entries]
    if not left:
        return None
    folder = _folder(quarantine, layout)
    for name in left:
        files.set_aside(layout.staging / name, folder / f"staged{name}")
    return f"a writer died before it committed; {len(left)} unfinished files are in {folder}"


def set_aside_unfinished_custody(
    layout: ScopeLayout, quarantine: Path, end: Position
) -> str | None:
    """Cut off what the custody says of an import that died before its ledger stood in its
    place. Once the ledger has grown, nobody could tell it from one that came to its end.

    The caller holds the scope's lock; `end` is where the ledger ends. Returns a sentence for
    the user, or None.
    """
    at, tail = unfinished(layout, end.entries)
    if not tail:
        return None
    folder = _folder(quarantine, layout)
    kept = folder / f"custody-tail-at-{at}-{sha256_hex(tail)[:12]}.jsonl"
    files.create_idempotent(kept, tail)
    files.cut_durably(layout.custody, at)
    return (
        f"an import into {layout.root} died, and nothing of it is there; what it had noted is "
        f"kept in {kept}"
    )


def _folder(quarantine: Path, layout: ScopeLayout) -> Path:
    files.ensure_directory(quarantine)
    folder = quarantine / layout.root.name
    files.ensure_directory(folder)
    return folder
