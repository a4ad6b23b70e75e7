"""What came in, once it was found right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pamctl.index.scope_index import ScopeIndex
from pamctl.store.records import START, Position

Json = dict[str, Any]


@dataclass
class Pack:
    """A pack that an import is to write: its versions and their bytes, newlines included."""

    name: str = ""
    versions: int = 0
    size: int = 0


@dataclass
class Arrived:
    """One scope of a bundle that was found right.

    told: what the header says of it.
    here: the position of this store's own ledger of it, START where there is none.
    meets: whether the line that `here` ends with stands at its place in the bundle.
    packs: of the versions behind `here`.
    withheld, signed: how many of those come without content, and with a signature that holds.
    erased: by address, the stubs of versions that were committed up to `here` and erased
        behind it.
    index: of all of it; whoever gets this closes it.
    """

    told: Json
    here: Position
    end: Position = START
    meets: bool = False
    packs: list[Pack] = field(default_factory=list)
    withheld: int = 0
    signed: int = 0
    erased: dict[str, bytes] = field(default_factory=dict)
    index: ScopeIndex = field(default_factory=ScopeIndex.scratch)
