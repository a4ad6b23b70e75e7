"""What is derived from a ledger, held against it. Whoever knows how to read an index looks up
how far it says that it has read; here that is only compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pamctl.audit.findings import Finding
from pamctl.audit.reading import open_plain
from pamctl.encoding.digests import sha256_hex
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import scope_folder


class IndexPosition(NamedTuple):
    """How far an index says that it has read: entries, and the line that it ended with."""

    entries: int
    offset: int
    head: str
    head_bytes: int


def add_index(
    answer: dict[str, Any], root: Path, scope_id: str, path: str, index: IndexPosition | None
) -> None:
    """Add to an answer of `check_store` what is wrong with how far a scope's index has read.

    index: as it was looked up after the check; None for a file that is no index.
    """
    entries_read = next(s["entries"] for s in answer["scopes"] if s["scope_id"] == scope_id)
    fault = "it is no index of this pamctl's"
    if index is not None:
        found = _index_fault(root, scope_folder(scope_id), index, entries_read)
        if found is None:
            return
        fault = found
    finding = Finding("index-out-of-step", fault, scope_id=scope_id, path=path)
    answer["findings"].append(finding.document())
    answer["counts"][finding.id] = answer["counts"].get(finding.id, 0) + 1
    answer["clean"] = False


def _index_fault(root: Path, folder: str, index: IndexPosition, entries_read: int) -> str | None:
    if index.entries < entries_read:
        return f"it has read {index.entries} of {entries_read} entries"
    if index.entries == 0:
        return None
    descriptor = open_plain(root / "scopes" / folder / "ledger.jsonl")
    line = b""
    if descriptor is not None:
        start = index.offset - index.head_bytes
        if start >= 0 and index.head_bytes <= DOCUMENT_BYTES_MAX + 1:
            line = os.pread(descriptor, index.head_bytes, start)
        os.close(descriptor)
    if not line.endswith(b"\n") or sha256_hex(line[:-1]) != index.head:
        return "it has read another ledger than this one"
    return None
