"""What imports are said to have brought into a scope, held to its form.

Nothing signs these records: whoever can write to the store can write them. They excuse two
things, and no more: that a ledger began in another store, and that versions up to an entry came
without their content.
"""

from __future__ import annotations

import os
from pathlib import Path

from pamctl.audit.findings import Findings
from pamctl.audit.reading import lines, open_plain, parsed, shown
from pamctl.audit.surroundings import ScopeFolder
from pamctl.encoding.canonical import is_canonical
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.documents import is_valid
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import StoreLayout


class Custody(NamedTuple):
    """What the records excuse.

    store_id: of the store that the ledger began in; None for this one.
    to_entry: the last entry that an import brought, 0 for none.
    """

    store_id: str | None = None
    to_entry: int = 0


def read_custody(store: StoreLayout, scope: ScopeFolder, findings: Findings) -> Custody:
    """The custody of a scope. A line that is not ended is what a dying import left, and so is
    a record of entries that the ledger does not have: it excuses nothing."""
    path = scope.layout(store).custody
    descriptor = open_plain(path)
    if descriptor is None:
        return Custody()
    found = Custody()
    entries = _entries(scope.layout(store).ledger)
    try:
        for line in lines(descriptor, os.fstat(descriptor).st_size):
            if not line.ended:
                break
            record = None if line.data is None else parsed(line.data)
            if (
                line.data is None
                or record is None
                or not is_canonical(record, line.data)
                or not is_valid("custody", record)
                or record["from_entry"] > record["to_entry"]
                or (record["from_entry"] == 1 and record["origin"]["scope_id"] != scope.scope_id)
            ):
                findings.add(
                    "custody-invalid",
                    "the record is not as its schema says, or is of another scope",
                    scope_id=scope.scope_id,
                    path=shown(store.root, path),
                    offset=line.offset,
                )
                continue
            if entries is not None and record["to_entry"] > entries:
                findings.add(
                    "custody-unfinished",
                    f"the import brought entries up to {record['to_entry']}, and the ledger has "
                    f"{entries}",
                    scope_id=scope.scope_id,
                    path=shown(store.root, path),
                    offset=line.offset,
                )
                continue
            store_id = found.store_id
            if record["from_entry"] == 1:
                store_id = record["origin"].get("store_id")
            found = Custody(store_id, max(found.to_entry, record["to_entry"]))
    finally:
        os.close(descriptor)
    return found


def _entries(ledger: Path) -> int | None:
    """The number of the last entry of a ledger that ends in a whole one, by its own word."""
    descriptor = open_plain(ledger)
    if descriptor is None:
        return None
    try:
        size = os.fstat(descriptor).st_size
        # One byte more than the longest entry and its newline, which is that of the one before.
        longest = DOCUMENT_BYTES_MAX + 2
        tail = os.pread(descriptor, longest, max(0, size - longest))
    finally:
        os.close(descriptor)
    value = parsed(tail[: tail.rfind(b"\n") + 1].rstrip(b"\n").rpartition(b"\n")[2])
    n = None if value is None else value.get("n")
    return n if type(n) is int else None
