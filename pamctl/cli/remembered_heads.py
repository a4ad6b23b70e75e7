"""The head of each ledger that this user saw last, kept outside the store.

A store cannot vouch for its own end; what was seen before can. The file is the user's, under
`$XDG_STATE_HOME/pamctl/heads/` or `~/.local/state/pamctl/heads/`, one a store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pamctl.cli.paths import state_folder
from pamctl.encoding.digests import is_sha256_digest, sha256_hex
from pamctl.named_tuples import NamedTuple

_STORE_ID = re.compile(r"store:[0-9a-f]{32}\Z")


class RememberedHead(NamedTuple):
    """A head, and after how many entries it was the head."""

    head: str
    entries: int


class RememberedHeads:
    """What is remembered of one store."""

    def __init__(self, environment: Mapping[str, str], store_id: str) -> None:
        # An id is what a store says; one that no pamctl made must not become a path.
        name = store_id if _STORE_ID.match(store_id) else sha256_hex(store_id.encode())
        self.path = state_folder(environment) / "heads" / f"{name}.json"

    def load(self) -> dict[str, RememberedHead]:
        """By scope id. What cannot be read, or makes no sense, is not remembered."""
        import orjson

        try:
            value = orjson.loads(self.path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        heads = value.get("heads") if isinstance(value, dict) else None
        if not isinstance(heads, dict):
            return {}
        return {
            scope_id: RememberedHead(one["head"], one["entries"])
            for scope_id, one in heads.items()
            if _is_head(one)
        }

    def save(self, heads: Mapping[str, RememberedHead]) -> None:
        """Remember these. Raises ServiceUnavailable or OSError where that cannot be done."""
        from pamctl.encoding.canonical import canonical
        from pamctl.store import files

        files.ensure_directories(self.path.parent, mode=0o700)
        document = {"heads": {scope_id: one._asdict() for scope_id, one in heads.items()}}
        files.replace_whole(self.path, canonical(document) + b"\n", mode=0o600)


def _is_head(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("head"), str)
        and is_sha256_digest(f"sha256:{one['head']}")
        and type(one.get("entries")) is int
    )
