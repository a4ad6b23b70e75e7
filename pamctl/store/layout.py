"""Where everything is in a `.pam` directory: names and paths, and no I/O.

Paths are put together once: a commit asks for a dozen of them.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path

from pamctl.encoding.digests import is_sha256_digest, sha256_hex
from pamctl.limits import SLUG_CHARS_MAX

STORE_FOLDER = ".pam"
FORMAT = "pam-store"
FORMAT_VERSION = 1
"""The one format version that this pamctl reads and writes; any other is refused."""

FOUNDING_ENTRIES = 2
"""Entries of a scope that nothing has happened in: what binds it to its store, and a policy."""


class _Rooted:
    """Paths below one: two of one kind are equal where that is. By hand, because a frozen
    dataclass takes half a millisecond to make, and every command needs these."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.root == self.root

    def __hash__(self) -> int:
        return hash(self.root)


class StoreLayout(_Rooted):
    """Paths of a store. `root` is the `.pam` directory itself."""

    @cached_property
    def store_file(self) -> Path:
        return self.root / "store.json"

    @cached_property
    def lock(self) -> Path:
        """Held while a scope is made."""
        return self.root / "lock"

    @cached_property
    def scopes(self) -> Path:
        return self.root / "scopes"

    @cached_property
    def keys(self) -> Path:
        return self.root / "keys"

    @cached_property
    def projections(self) -> Path:
        return self.root / "projections"

    @cached_property
    def index(self) -> Path:
        return self.root / "index"

    @cached_property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        return (self.scopes, self.keys, self.projections, self.index, self.quarantine)

    def scope(self, scope_id: str) -> ScopeLayout:
        """Where the scope is, or would be."""
        folder = scope_folder(scope_id)
        return ScopeLayout(self.scopes / folder)

    def index_file(self, scope: ScopeLayout) -> Path:
        return self.index / f"{scope.root.name}.sqlite"


class ScopeLayout(_Rooted):
    """Paths of one scope. `root` is its folder under `scopes/`."""

    @cached_property
    def scope_file(self) -> Path:
        return self.root / "scope.json"

    @cached_property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    @cached_property
    def versions(self) -> Path:
        return self.root / "versions"

    @cached_property
    def packs(self) -> Path:
        return self.root / "packs"

    @cached_property
    def subscriptions(self) -> Path:
        return self.root / "subscriptions"

    @cached_property
    def embeddings(self) -> Path:
        """Vectors, by Embedding Space; derived."""
        return self.root / "embeddings"

    @cached_property
    def custody(self) -> Path:
        """What imports brought into the scope, and from where."""
        return self.root / "custody.jsonl"

    @cached_property
    def staging(self) -> Path:
        """Files on their way to their names. What stands here while nobody holds the lock
        was left by a writer that died."""
        return self.root / "tmp"

    @cached_property
    def lock(self) -> Path:
        return self.root / "lock"

    def version_file(self, address: str) -> Path:
        """The file of the version with this address (`sha256:` and 64 digits)."""
        digits = address_digits(address)
        return self.versions.joinpath(digits[:2], f"{digits[2:]}.json")

    def stub_file(self, address: str) -> Path:
        """What stands in the place of an erased version."""
        return self.version_file(address).with_suffix(".erased.json")

    def pack_file(self, name: str) -> Path:
        return Path(self.pack_path(name))

    def pack_path(self, name: str) -> str:
        """As `pack_file`, in a tenth of the time, for whoever opens one for each thing."""
        return f"{self._packs_path}/{name}.jsonl"

    @cached_property
    def _packs_path(self) -> str:
        return os.fspath(self.packs)


def scope_folder(scope_id: str) -> str:
    """The folder name of a scope: what a person can read, then what makes it unique.

    Scope ids that differ by case, Unicode form or a character that the readable part
    drops differ in the twelve hexadecimal digits.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", scope_id.lower()).strip("-")[:SLUG_CHARS_MAX].strip("-")
    return f"{slug or 'scope'}-{sha256_hex(scope_id.encode())[:12]}"


def address_digits(address: str) -> str:
    """The 64 digits of an address. Raises ValueError for anything else: an address read
    from a hostile store must never become a path."""
    if not is_sha256_digest(address):
        raise ValueError(f"not a version address: {address[:80]!r}")
    return address.removeprefix("sha256:")


def pack_name(file_name: str) -> str | None:
    """The name of the pack in the file of this name, None if it is no pack."""
    name, dot, suffix = file_name.partition(".")
    return name if dot and suffix == "jsonl" and is_pack_name(name) else None


def is_pack_name(value: object) -> bool:
    """Whether `value` names a pack. What does not must never become a path."""
    return isinstance(value, str) and is_sha256_digest(f"sha256:{value}")
