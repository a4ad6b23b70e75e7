"""Ledgers as lines, wherever they are: in a store, or in an export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from pamctl.audit.pinned_ledger import Leaf, Ledger
from pamctl.audit.reading import Line, entries, kind_of, ledger_lines
from pamctl.crypto.checkpoints import origin_of
from pamctl.errors import InvalidRequest, StoreNotFound
from pamctl.model.bundles import Fault, scan_bundle
from pamctl.store.layout import StoreLayout


def store_ledgers(root: Path) -> Iterator[Ledger]:
    """The ledgers of the store at `root`, in the order of their folders. Nothing in it is
    believed. Raises StoreNotFound."""
    layout = StoreLayout(root)
    if kind_of(layout.scopes) != "folder":
        raise StoreNotFound(f"there is no store at {root}", hint="name one with --store DIR")
    return (
        Ledger(_lines_of(Path(folder.path) / "ledger.jsonl"))
        for folder in entries(layout.scopes)
        if not folder.name.startswith(".")
    )


def bundle_ledgers(opener: Callable[[], IO[bytes]]) -> Iterator[Ledger]:
    """The ledgers of a bundle, in its order. `opener` opens it from its beginning. Raises
    InvalidRequest for what has no header of a bundle."""
    with opener() as source:
        header = next(scan_bundle(source), None)
    if header is None or isinstance(header, Fault):
        raise InvalidRequest(
            "this is no bundle of pamctl" + ("" if header is None else f": {header.message}"),
            hint="`pamctl export` makes one",
        )
    for place, scope in enumerate(header.value["scopes"]):
        stated = origin_of(scope["store_id"], scope["scope_id"])
        yield Ledger(_part_of(opener, place), stated)


def _lines_of(path: Path) -> Callable[[], Iterator[Line | Leaf]]:
    return lambda: ledger_lines(path)


def _part_of(opener: Callable[[], IO[bytes]], place: int) -> Callable[[], Iterator[Line | Leaf]]:
    """The ledger lines of the scope at that place, as a bundle has them."""

    def read() -> Iterator[Line | Leaf]:
        at = -1
        with opener() as source:
            for item in scan_bundle(source):
                if isinstance(item, Fault):
                    continue
                at += item.kind == "scope"
                if at > place:
                    return
                if at == place and item.kind == "ledger":
                    yield Line(item.offset, item.data, True)
                elif at == place and item.kind == "leaf":
                    yield Leaf(bytes.fromhex(item.value), item.offset)

    return read
