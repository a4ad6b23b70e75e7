"""Changes to `store.json`: the defaults of a store, never what the store is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest, StoreDamaged
from pamctl.model.documents import check
from pamctl.store import files
from pamctl.store.directory import StoreDirectory
from pamctl.store.layout import StoreLayout
from pamctl.store.lock import exclusive

IDENTITY = ("format", "format_version", "store_id", "created_at")
"""What a store is. It never changes."""


def configure(layout: StoreLayout, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Set members of `store.json`, or take away those that `changes` gives as None; answer it
    as it is then. It is replaced whole, durably, while the store's lock is held.

    Raises InvalidRequest for a value that its schema does not allow, ServiceUnavailable where
    it cannot be written, and what opening the store raises.
    """
    assert not changes.keys() & set(IDENTITY)
    with exclusive(layout.lock):
        before = StoreDirectory.open(layout.root).config
        after = {name: value for name, value in {**before, **changes}.items() if value is not None}
        try:
            check("store", after)
        except StoreDamaged as fault:
            # So it is called in a file that is there; here it is still a wish.
            raise InvalidRequest(fault.message, pointer=fault.details["pointer"]) from fault
        if after != before:
            files.replace_whole(layout.store_file, canonical(after) + b"\n")
    return after
