"""What imports are said to have brought into a scope, held to its form.

Nothing signs these records: whoever can write to the store can write them. They excuse two
things, and no more: that a ledger began in another store, and that versions up to an entry came
without their content.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from pamctl.audit.findings import Findings
from pamctl.audit.reading import lines, open_plain, parsed, shown
from pamctl.audit.surroundings import ScopeFolder
from pamctl.encoding.canonical import is_canonical
from pamctl.model.documents import is_valid
from pamctl.store.layout import StoreLayout


class Custody(NamedTuple):
    """What the records excuse.

    store_id: of the store that the ledger began in; None for this one.
    to_entry: the last entry that an import brought, 0 for none.
    """

    store_id: str | None = None
    to_entry: int = 0


def read_custody(store: StoreLayout, scope: ScopeFolder, findings: Findings) -> Custody:
    """The custody of a scope. A line that is not ended is what a dying import left."""
    path = scope.layout(store).custody
    descriptor = open_plain(path)
    if descriptor is None:
        return Custody()
    found = Custody()
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
            store_id = found.store_id
            if record["from_entry"] == 1:
                store_id = record["origin"].get("store_id")
            found = Custody(store_id, max(found.to_entry, record["to_entry"]))
    finally:
        os.close(descriptor)
    return found
